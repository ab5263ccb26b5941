"""Timelines: the changes of a run as columns of deltas, made by a replay.

`columns` has the columns and the state at a time. `feed` makes them from the states of a machine,
`replayed` from a decision log, and `chunks` encodes them for other programs. `present_state` has
the same fields of the nodes of a machine that runs.
"""

from podwright.simulation.recording.timelines.columns import (
    PHASES as PHASES,
    PLACES as PLACES,
    TIMELINE_MEDIA_TYPE as TIMELINE_MEDIA_TYPE,
    Timeline as Timeline,
    decode_chunks as decode_chunks,
    encode_chunks as encode_chunks,
)
from podwright.simulation.recording.timelines.feed import (
    TimelineFeed as TimelineFeed,
    timeline_of_log as timeline_of_log,
)
from podwright.simulation.recording.timelines.present_state import (
    CountPods as CountPods,
    PresentState as PresentState,
    counted_pods as counted_pods,
)
