"""kss: what kube-scheduler-simulator reads and writes, without I/O.

The room makes the pod annotations of kube-scheduler-simulator from a decision log, the snapshots
and the stream of its HTTP API from replies of the Kubernetes API, forwards calls to extenders, and
reads its configuration. `apiserver.kss_api` serves them. "The original" is
kube-scheduler-simulator; "the history" is the annotation in which it keeps the results of all
attempts of a pod.

Start with `annotations.py` (the annotations of an attempt), then `results.py` (the format of the
results) and `history.py` (the annotation with all results); for the HTTP API with
`snapshot_kinds.py`.
"""

from podwright.simulation.kss.annotations import annotations_after, kss_annotations, kss_history
from podwright.simulation.kss.change_stream import (
    PARAMETERS,
    Change,
    StreamEnded,
    change_of,
    last_version,
    listed,
)
from podwright.simulation.kss.extender_proxy import (
    VERBS,
    ExtenderFailed,
    ExtenderProxy,
    UnknownExtender,
    proxied_configuration,
)
from podwright.simulation.kss.live_results import LiveResults
from podwright.simulation.kss.simulator_configuration import (
    SimulatorConfiguration,
    read_simulator_configuration,
)
from podwright.simulation.kss.snapshot_import import (
    PREPARING_WAVES,
    SnapshotImport,
    UndecodableSnapshot,
    apply_request,
    claim_request,
    owners_of,
    with_claim,
    without_owners,
)
from podwright.simulation.kss.snapshot_kinds import (
    SnapshotKind,
    list_request,
    snapshot_kinds,
    watch_request,
)

__all__ = [
    "PARAMETERS",
    "PREPARING_WAVES",
    "VERBS",
    "Change",
    "ExtenderFailed",
    "ExtenderProxy",
    "LiveResults",
    "SimulatorConfiguration",
    "SnapshotImport",
    "SnapshotKind",
    "StreamEnded",
    "UndecodableSnapshot",
    "UnknownExtender",
    "annotations_after",
    "apply_request",
    "change_of",
    "claim_request",
    "kss_annotations",
    "kss_history",
    "last_version",
    "list_request",
    "listed",
    "owners_of",
    "proxied_configuration",
    "read_simulator_configuration",
    "snapshot_kinds",
    "watch_request",
    "with_claim",
    "without_owners",
]
