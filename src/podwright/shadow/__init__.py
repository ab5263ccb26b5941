"""A real scheduler's decisions, laid beside ours, from the record of its cluster.

Start with `shadow.py` (a record played), then `judge.py` (whether we would have done so) and
`moments.py` (what the scheduler may have known).
"""
