"""Explanations as structs and plain documents, for commands and for the HTTP API alike."""
