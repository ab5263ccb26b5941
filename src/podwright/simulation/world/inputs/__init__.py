"""The inputs of a run: objects, operations, event lines, traces."""
