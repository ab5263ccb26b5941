"""The steps of writes: create, update, patch, delete, and what they share."""
