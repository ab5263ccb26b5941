"""A simulation from its files to its folder: inputs, the run, tables, checkpoints.

Start with `simulation.py` (a run from its beginning to its end), then `inputs.py` (what it
plays) and `tables.py` (what it notes).
"""
