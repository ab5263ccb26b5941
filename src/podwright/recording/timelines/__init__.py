"""Timelines: the changes of a run as columns of deltas, made by a replay.

`columns` has the columns and the state at a time, `replayed` makes them from a decision log.
"""

from podwright.recording.timelines.columns import PLACES, State, Subject, Timeline
from podwright.recording.timelines.replayed import timeline_of_log

__all__ = ["PLACES", "State", "Subject", "Timeline", "timeline_of_log"]
