"""Timelines: the changes of a run as columns of deltas, made by a replay.

`columns` has the columns, the state at a time, and their encoding for other programs. `feed` makes
them from the states of a machine, or from a decision log. `present_state` has the same fields of
the nodes of a machine that runs.
"""
