"""Recorded runs, looked at again: to a moment, a cycle, step by step, or with a change.

Start with `replay.py` (a machine as it was), then `explain.py` (one cycle in full).
"""
