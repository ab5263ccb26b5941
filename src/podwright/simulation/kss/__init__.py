"""kss: what kube-scheduler-simulator reads and writes, without I/O.

The room makes the pod annotations of kube-scheduler-simulator from a decision log, the snapshots
and the stream of its HTTP API from replies of the Kubernetes API, forwards calls to extenders, and
reads its configuration. `apiserver.kss_api` serves them. "The original" is
kube-scheduler-simulator; "the history" is the annotation in which it keeps the results of all
attempts of a pod.

Start with `annotations.py` (the annotations of an attempt), then `results.py` (the format of the
results); for the HTTP API with `snapshot_import.py`.
"""

from podwright.simulation.kss.annotations import (
    annotations_after as annotations_after,
    kss_annotations as kss_annotations,
    kss_history as kss_history,
    within_limit as within_limit,
)
from podwright.simulation.kss.extender_proxy import (
    VERBS as VERBS,
    ExtenderFailed as ExtenderFailed,
    ExtenderProxy as ExtenderProxy,
    UnknownExtender as UnknownExtender,
)
from podwright.simulation.kss.live_results import (
    Change as Change,
    LiveResults as LiveResults,
    change_of as change_of,
    last_version as last_version,
    listed as listed,
)
from podwright.simulation.kss.results import PREFIX as PREFIX
from podwright.simulation.kss.simulator_configuration import (
    SimulatorConfiguration as SimulatorConfiguration,
    read_simulator_configuration as read_simulator_configuration,
)
from podwright.simulation.kss.snapshot_import import (
    PREPARING_WAVES as PREPARING_WAVES,
    SnapshotImport as SnapshotImport,
    SnapshotKind as SnapshotKind,
    UndecodableSnapshot as UndecodableSnapshot,
    apply_request as apply_request,
    claim_request as claim_request,
    list_request as list_request,
    owners_of as owners_of,
    snapshot_kinds as snapshot_kinds,
    watch_request as watch_request,
    with_claim as with_claim,
    without_owners as without_owners,
)
