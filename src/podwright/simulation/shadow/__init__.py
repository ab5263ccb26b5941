"""Shadow: compares the decisions of a real scheduler with podwright's.

The input is the record of a real cluster (`files/record.py`), optionally with the log of its
scheduler. The room reports each binding and preemption that differs, and whether the difference
can be explained. It does not connect to a cluster and does not simulate one.

Words used here:

- An *attempt* is one scheduling attempt of the real scheduler.
- A *result* of an attempt is a change in the record that the attempt caused: the binding, the
  nomination, deleted victims, bound volumes.
- A *position* is how many changes of one kind the real scheduler had observed.
- An *observed state* is the positions and the assumed pods that the scheduler may have had.
- A *finding* is the comparison of one attempt.

Start with `record_shadow.py` (the comparison of a record), then `comparison.py` (the comparison of
one decision), `attempts.py` (the attempts and the states in which they were made), and
`recorded_cluster.py` (the cluster at a position). `live_shadow.py` compares decisions while they
are made.
"""

from podwright.simulation.shadow.comparison import Finding as Finding
from podwright.simulation.shadow.live_shadow import (
    LiveShadow as LiveShadow,
    ShadowReport as ShadowReport,
    report_of as report_of,
)
from podwright.simulation.shadow.record_shadow import Shadow as Shadow
