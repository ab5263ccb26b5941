"""What a scheduler did, recorded: the decision log, its checkpoints, and what is read from them.

The log is replayed to any moment; a past cycle is run again, explained, or run with a change.

Start with `decision_log.py`, then `replay.py` and `explain.py`. `log_format.py` is the format of
the bytes; `run_tables.py` and `tables.py` are the results as columns.
"""
