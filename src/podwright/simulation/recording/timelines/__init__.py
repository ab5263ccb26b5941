"""Timelines: the changes of a run as columns of deltas, made by a replay.

`columns` has the columns and the state at a time. `feed` makes them from the states of a machine,
`replayed` from a decision log, and `chunks` encodes them for other programs. `present_state` has
the same fields of the nodes of a machine that runs.
"""

from podwright.simulation.recording.timelines.chunks import (
    CHUNK_ROWS,
    TIMELINE_MEDIA_TYPE,
    decode_chunks,
    encode_chunks,
)
from podwright.simulation.recording.timelines.columns import (
    PHASES,
    PLACES,
    State,
    Subject,
    Timeline,
)
from podwright.simulation.recording.timelines.feed import TimelineFeed
from podwright.simulation.recording.timelines.present_state import (
    CountPods,
    PresentState,
    StateChanges,
    counted_pods,
)
from podwright.simulation.recording.timelines.replayed import timeline_of_log

__all__ = [
    "CHUNK_ROWS",
    "PHASES",
    "PLACES",
    "TIMELINE_MEDIA_TYPE",
    "CountPods",
    "PresentState",
    "State",
    "StateChanges",
    "Subject",
    "Timeline",
    "TimelineFeed",
    "counted_pods",
    "decode_chunks",
    "encode_chunks",
    "timeline_of_log",
]
