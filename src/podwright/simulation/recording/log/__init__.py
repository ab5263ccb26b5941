"""The decision log: its format, its writer, its reader, its checkpoints."""
