"""Timing models: what takes how long in a world, off by default; see `model.py`."""
