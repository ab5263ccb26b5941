"""Selectors of labels, fields and nodes."""
