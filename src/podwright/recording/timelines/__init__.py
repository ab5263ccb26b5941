"""Timelines: the changes of a run as columns of deltas, made by a replay.

`columns` has the columns and the state at a time, `replayed` makes them from a decision log, and
`chunks` encodes them for other programs. `present_state` has the same fields of a machine that
runs.
"""

from podwright.recording.timelines.chunks import (
    CHUNK_ROWS,
    TIMELINE_MEDIA_TYPE,
    decode_chunks,
    encode_chunks,
)
from podwright.recording.timelines.columns import PLACES, State, Subject, Timeline
from podwright.recording.timelines.present_state import PresentState, StateChanges
from podwright.recording.timelines.replayed import timeline_of_log

__all__ = [
    "CHUNK_ROWS",
    "PLACES",
    "TIMELINE_MEDIA_TYPE",
    "PresentState",
    "State",
    "StateChanges",
    "Subject",
    "Timeline",
    "decode_chunks",
    "encode_chunks",
    "timeline_of_log",
]
