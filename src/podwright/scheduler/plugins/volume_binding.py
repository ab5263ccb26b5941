"""VolumeBinding: nodes must be able to access, bind or provision the pod's volumes.

**What it does.** Sorts the pod's claims into bound ones, ones that wait for the pod
(WaitForFirstConsumer), and ones that should be bound already; the last reject the pod. On each
node the volumes of the bound claims must be accessible; each waiting claim, the smallest first,
gets the smallest free volume that matches and is accessible; a claim without one must be
provisionable there: a class with a provisioner, the class's allowed topologies, and enough
CSIStorageCapacity if the driver reports it. Reserve assumes the decisions for the chosen node,
so that the next pod does not get the same volume.

**Why it matters.** A pod on a node that cannot access its volume never starts.

**Configuration.** ``bindTimeoutSeconds`` (600): how long PreBind waits for the volumes. With
the gate StorageCapacityScoring, which is off by default, nodes are scored by the requested
share of the storage that they provide, and ``shape`` maps shares to scores; without it PreScore
skips.

**Example.** A claim of a local volume on n1 restricts its pod to n1; other nodes are rejected
with ``node(s) didn't match PersistentVolume's node affinity``.

Upstream: pkg/scheduler/framework/plugins/volumebinding/volume_binding.go, binder.go and scorer.go
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import ClassVar

import numpy as np

from podwright._arrays import I64Array
from podwright.apimachinery.objects import (
    Object,
    ObjectReference,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    node_selector,
    with_fields,
)
from podwright.scheduler.columns import (
    BIND_CONFLICT,
    FAILED,
    NODE_CONFLICT,
    NOT_ENOUGH_SPACE,
    SELECTED_NODE,
    VOLUME_MISSING,
    NodeColumns,
    PodClaims,
    Reads,
    StorageIndex,
    claim_uses,
    class_of,
    decide,
    has_ephemeral_claims,
    is_bound_to,
    is_fully_bound,
    ownership_error,
    utilization,
)
from podwright.scheduler.config import DEFAULT_GATES, Gates, VolumeBindingArgs
from podwright.scheduler.framework import (
    ClaimUpdate,
    Cycle,
    EventHint,
    Pending,
    Plugin,
    PreFilterResult,
    Progress,
    Scores,
    StateKey,
    Status,
    Verdicts,
    VolumeUpdate,
    shape_table,
    volumes_fragment,
)
from podwright.scheduler.plugins import hints

BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"

REASONS = (
    (NODE_CONFLICT, "node(s) didn't match PersistentVolume's node affinity"),
    (BIND_CONFLICT, "node(s) didn't find available persistent volumes to bind"),
    (NOT_ENOUGH_SPACE, "node(s) did not have enough free storage"),
    (
        VOLUME_MISSING,
        "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)",
    ),
)
"""The reasons of a rejected node, in upstream's order."""


class Assumed:
    """The changed copies that Reserve assumed, for PreBind to write to the API server.

    Attributes
    ----------
    bindings : tuple of (PersistentVolumeClaim, PersistentVolume)
        Claims, and their volumes with the reference to the claim.
    provisions : tuple of PersistentVolumeClaim
        Claims with the annotation that selects the node.
    """

    __slots__ = ("bindings", "provisions")

    def __init__(
        self,
        bindings: tuple[tuple[PersistentVolumeClaim, PersistentVolume], ...] = (),
        provisions: tuple[PersistentVolumeClaim, ...] = (),
    ) -> None:
        self.bindings = bindings
        self.provisions = provisions


_CHECK_INTERVAL_NS = 1_000_000_000


class _Work:
    """How far PreBind has come.

    Attributes
    ----------
    updates : tuple of VolumeUpdate or ClaimUpdate
        The objects to write, in order.
    written_count : int
        How many of them were started with.
    written : dict of str to object
        The objects as the API server returned them, by name.
    look_count : int
        The number of times that the claims were checked.
    """

    __slots__ = ("look_count", "updates", "written", "written_count")

    def __init__(self, updates: tuple[VolumeUpdate | ClaimUpdate, ...]) -> None:
        self.updates = updates
        self.written_count = 0
        self.written: dict[str, Object] = {}
        self.look_count = 0

    def next_step(self) -> Pending:
        """Return the next object to write, or a delay until the next check of the claims."""
        if self.written_count == len(self.updates):
            return Pending(delay_ns=_CHECK_INTERVAL_NS)
        self.written_count += 1
        return Pending(calls=(self.updates[self.written_count - 1],))


_STATE: StateKey[PodClaims] = StateKey("VolumeBinding", "not found")
_WORK: StateKey[_Work] = StateKey("VolumeBinding/Work")

ASSUMED: StateKey[Assumed] = StateKey("VolumeBinding/Assumed")
"""The volumes to bind for the chosen node; missing if every claim is bound already."""


class VolumeBinding(Plugin):
    """Put pods where their volumes are, can be bound or can be made."""

    name = "VolumeBinding"
    key_reads_all_labels = False
    Args: ClassVar = VolumeBindingArgs
    pre_filter_reads: ClassVar[Reads] = Reads.STORAGE
    filter_reads: ClassVar[Reads] = Reads.NODE | Reads.STORAGE
    pre_score_reads: ClassVar[Reads] = Reads.NOTHING
    score_reads: ClassVar[Reads] = Reads.NODE | Reads.STORAGE
    scores_in_range: ClassVar[bool] = True
    rests_when_skipped: ClassVar[bool] = True

    takes_gates: ClassVar[bool] = True

    def __init__(
        self, args: VolumeBindingArgs | None = None, *, gates: Gates = DEFAULT_GATES
    ) -> None:
        self.args = VolumeBindingArgs() if args is None else args
        self._scores: I64Array | None = None
        if "StorageCapacityScoring" in gates:
            assert self.args.shape, "set_defaults fills the shape in"
            self._scores = shape_table(self.args.shape)

    def events_to_register(self) -> tuple[EventHint, ...]:
        """Return the events that could undo a rejection, with their hint functions."""
        return hints.volume_binding.events_to_register()

    def sign_pod(self, pod: Pod) -> Mapping[str, object]:
        """Return the volumes."""
        return volumes_fragment(pod)

    def pod_key(self, pod: Pod) -> Hashable:
        """Return the claims; with ephemeral ones, also whose they are."""
        uses = claim_uses(pod)
        if not uses:
            return ()
        owner = (pod.key, pod.metadata.uid) if has_ephemeral_claims(pod.spec) else ()
        return (pod.metadata.namespace, uses, owner)

    def key_is_of_template(self, pod: Pod) -> bool:
        """Return whether no claim is named after the pod."""
        return not has_ephemeral_claims(pod.spec)

    # ------------------------------------------------------------ filtering

    def pre_filter(self, cycle: Cycle) -> Status | PreFilterResult:
        """Sort the claims; reject the pod if one is missing, lost or should be bound."""
        pod, storage = cycle.pod, cycle.cluster.storage
        uses = claim_uses(pod)
        if not uses:
            return Status.SKIPPED
        namespace = pod.metadata.namespace
        for name, is_ephemeral in uses:
            error = _claim_error(pod, name, storage, is_ephemeral=is_ephemeral)
            if error:
                return Status.unresolvable(error)
        bound: list[PersistentVolumeClaim] = []
        waiting: list[PersistentVolumeClaim] = []
        has_unbound = False
        for name, _ in uses:
            claim = storage.claim(f"{namespace}/{name}")
            assert claim is not None, f"claim {namespace}/{name} was there a moment ago"
            if is_fully_bound(claim):
                bound.append(claim)
                continue
            storage_class = storage.classes.get(class_of(claim)) if class_of(claim) else None
            if storage_class is not None and storage_class.volume_binding_mode is None:
                return Status.error(
                    f'VolumeBindingMode not set for StorageClass "{class_of(claim)}"'
                )
            waits = (
                storage_class is not None
                and storage_class.volume_binding_mode == "WaitForFirstConsumer"
            )
            # A claim that names its volume is for the volume controller to bind.
            if waits and not claim.spec.volume_name:
                waiting.append(claim)
            else:
                has_unbound = True
        if has_unbound:
            return Status.unresolvable("pod has unbound immediate PersistentVolumeClaims")
        cycle.write(_STATE, PodClaims(tuple(bound), tuple(waiting)))
        return Status.OK

    def filter_columns(self, cycle: Cycle, nodes: NodeColumns, out: Verdicts) -> None:
        """Reject the slots where some claim can neither be reached, bound nor provisioned."""
        rows = out.rows
        decisions = decide(cycle.read(_STATE), cycle.cluster.storage, nodes, rows)
        conflicts = decisions.conflicts
        for bits in np.flatnonzero(np.bincount(conflicts)).tolist():
            if bits:
                status = (
                    Status.error(decisions.error)
                    if bits & FAILED
                    else Status.unresolvable(*(text for bit, text in REASONS if bits & bit))
                )
                out.codes[rows[conflicts == bits]] = out.code_of(status)

    # ------------------------------------------------------------ scoring

    def pre_score(self, cycle: Cycle) -> Status:
        """Skip, unless the gate StorageCapacityScoring is on."""
        return Status.SKIPPED if self._scores is None else Status.OK

    def score_columns(self, cycle: Cycle, nodes: NodeColumns, out: Scores) -> None:
        """Score the mean over the classes of the pod's volumes; 0 for pods without any."""
        rows, claims = out.rows, cycle.find(_STATE)
        out.values[rows] = 0
        if self._scores is None or claims is None:
            return
        storage = cycle.cluster.storage
        decisions = decide(claims, storage, nodes, rows)
        total: I64Array = np.zeros(len(rows), dtype=np.int64)
        count: I64Array = np.zeros(len(rows), dtype=np.int64)
        for percent, counts in utilization(decisions, storage, nodes, rows):
            total[counts] += self._scores[percent[counts]]
            count += counts
        # Halves are rounded up, as Go's math.Round does for positive numbers.
        out.values[rows] = (2 * total + count) // np.maximum(2 * count, 1)

    # ------------------------------------------------------------ placing

    def reserve(self, cycle: Cycle, node_name: str) -> Status:
        """Assume the volumes and claims that were decided on for the chosen node."""
        claims = cycle.read(_STATE)
        if not claims.waiting:
            return Status.OK
        cluster, storage = cycle.cluster, cycle.cluster.storage
        # Nothing that the filter read has changed since, so evaluating one node again gives the
        # same decisions; upstream keeps those of all nodes.
        row = np.array([cluster.nodes.slot_of[node_name]], dtype=np.int32)
        decisions = decide(claims, storage, cluster.nodes, row)
        bindings: list[tuple[PersistentVolumeClaim, PersistentVolume]] = []
        for claim, matched in decisions.bindings(0):
            # The decision may have used an older, equivalent version. PreBind writes, and the
            # API server accepts only changes of the latest version.
            volume = storage.volume(matched.metadata.name) or matched
            bound = bind_volume(volume, claim)
            if bound is not volume:
                storage.assume_volume(bound)
            bindings.append((claim, bound))
        provisions: list[PersistentVolumeClaim] = []
        for decided in decisions.provisions(0):
            claim = storage.claim(decided.key) or decided
            annotations = claim.metadata.annotations | {SELECTED_NODE: node_name}
            selected = with_fields(claim, "metadata", annotations=annotations)
            storage.assume_claim(selected)
            provisions.append(selected)
        cycle.write(ASSUMED, Assumed(tuple(bindings), tuple(provisions)))
        return Status.OK

    def pre_bind_pre_flight(self, cycle: Cycle, node_name: str) -> Status:
        """Skip pods whose claims are all bound."""
        return Status.SKIPPED if cycle.find(ASSUMED) is None else Status.OK

    def pre_bind(self, cycle: Cycle, node_name: str) -> Status | Pending:
        """Write the assumed objects, one after the other."""
        assumed = cycle.find(ASSUMED)
        if assumed is None:
            return Status.OK
        updates = [VolumeUpdate(volume) for _, volume in assumed.bindings]
        work = _Work((*updates, *(ClaimUpdate(claim) for claim in assumed.provisions)))
        cycle.write(_WORK, work)
        return work.next_step()

    def continue_pre_bind(
        self, cycle: Cycle, node_name: str, progress: Progress
    ) -> Status | Pending:
        """Write the next object; then check once per second until all claims are bound."""
        work = cycle.read(_WORK)
        for answer in progress.answers:
            if answer.error is not None:
                return Status.error(answer.error.message)
            if answer.obj is not None:
                work.written[answer.obj.key] = answer.obj
        if progress.answers:
            return work.next_step()
        work.look_count += 1
        outcome = _check_bindings(cycle, cycle.read(ASSUMED), work, node_name)
        # There is one check per second, so the count of checks is the time in seconds.
        if outcome is None and work.look_count >= self.args.bind_timeout_seconds:
            outcome = "context deadline exceeded"
        if outcome is None:
            return work.next_step()
        return Status.error(f"binding volumes: {outcome}") if outcome else Status.OK

    def unreserve(self, cycle: Cycle, node_name: str) -> None:
        """Drop the assumed objects."""
        assumed = cycle.find(ASSUMED)
        if assumed is None:
            return
        storage = cycle.cluster.storage
        for _, volume in assumed.bindings:
            storage.restore_volume(volume.metadata.name)
        for claim in assumed.provisions:
            storage.restore_claim(claim.key)


def bind_volume(volume: PersistentVolume, claim: PersistentVolumeClaim) -> PersistentVolume:
    """Return a volume bound to a claim; the volume itself if it needs no change.

    Upstream: staging/src/k8s.io/component-helpers/storage/volume/pv_helpers.go,
    `GetBindVolumeToClaim`
    """
    bound = volume
    meta, reference = claim.metadata, volume.spec.claim_ref
    if reference is None or (reference.name, reference.namespace, reference.uid) != (
        meta.name,
        meta.namespace,
        meta.uid,
    ):
        reference = ObjectReference(
            api_version=claim.api_version,
            kind=claim.kind,
            namespace=meta.namespace,
            name=meta.name,
            uid=meta.uid,
            resource_version=meta.resource_version,
        )
        bound = with_fields(bound, "spec", claim_ref=reference)
    annotations = volume.metadata.annotations
    if not is_bound_to(volume, claim) and BOUND_BY_CONTROLLER not in annotations:
        bound = with_fields(
            bound, "metadata", annotations=annotations | {BOUND_BY_CONTROLLER: "yes"}
        )
    return bound


def _check_bindings(cycle: Cycle, assumed: Assumed, work: _Work, node_name: str) -> str | None:
    """Check whether the volume controller has bound all claims.

    Returns
    -------
    str or None
        "" if all claims are bound, None if the binding is in progress, otherwise the error.

    Notes
    -----
    The latest version of the API server counts, not the assumed one, because other pods may
    have other assumptions by now. Upstream: binder.go, `checkBindings`
    """
    cluster, pod = cycle.cluster, cycle.pod
    slot = cluster.nodes.slot_of.get(node_name)
    node = None if slot is None else cluster.nodes.objects[slot]
    if node is None:
        return f'failed to get node "{node_name}": node "{node_name}" not found'
    placed = cluster.pods.get(pod.key)
    if placed is None or placed.pod.metadata.uid != pod.metadata.uid:
        return f'pod does not exist any more: pod "{pod.metadata.name}" not found'
    storage, labels = cluster.storage, node.metadata.labels
    for claim, volume in assumed.bindings:
        outcome = _check_static(storage, work, claim, volume, node_name, labels)
        if outcome != "":
            return outcome
    for claim in assumed.provisions:
        outcome = _check_provisioned(storage, work, claim, node_name, labels)
        if outcome != "":
            return outcome
    return ""


def _check_static(
    storage: StorageIndex,
    work: _Work,
    claim: PersistentVolumeClaim,
    volume: PersistentVolume,
    node_name: str,
    labels: Mapping[str, str],
) -> str | None:
    """Check a claim that is bound to an existing volume."""
    name = volume.metadata.name
    present = storage.volumes.get(name)
    if present is None:
        return f'failed to check binding: persistentvolumes "{name}" not found'
    bound = storage.claims.get(claim.key)
    if bound is None:
        return f'failed to check binding: persistentvolumeclaims "{claim.key}" not found'
    # Until the write is visible, the claimRef would seem to have been reset.
    if _is_older(present, work.written.get(name)):
        return None
    mismatch = _affinity_error(present, node_name, labels)
    if mismatch:
        return mismatch
    reference = present.spec.claim_ref
    if reference is None or not reference.uid:
        return f'ClaimRef got reset for pv "{name}"'
    return "" if is_fully_bound(bound) else None


def _check_provisioned(
    storage: StorageIndex,
    work: _Work,
    claim: PersistentVolumeClaim,
    node_name: str,
    labels: Mapping[str, str],
) -> str | None:
    """Check a claim that is being provisioned."""
    present = storage.claims.get(claim.key)
    if present is None:
        return f'failed to check provisioning pvc: persistentvolumeclaims "{claim.key}" not found'
    if _is_older(present, work.written.get(claim.key)):
        return None
    name = claim.metadata.name
    if "annotations" not in present.raw.get("metadata", {"annotations": None}):
        return f'selectedNode annotation reset for PVC "{name}"'
    # A provisioner that fails removes the annotation, so that the pod is scheduled again.
    if present.metadata.annotations.get(SELECTED_NODE) != node_name:
        return f'provisioning failed for PVC "{name}"'
    if present.spec.volume_name:
        volume = storage.volumes.get(present.spec.volume_name)
        if volume is None:
            # It may be seen later than the claim that names it.
            return None
        mismatch = _affinity_error(volume, node_name, labels)
        if mismatch:
            return mismatch
    return "" if is_fully_bound(present) else None


def _is_older(obj: PersistentVolume | PersistentVolumeClaim, than: Object | None) -> bool:
    """Return whether a version is from before a write."""
    if than is None:
        return False
    seen, written = obj.metadata.resource_version, than.metadata.resource_version
    return seen.isdecimal() and written.isdecimal() and int(seen) < int(written)


def _affinity_error(volume: PersistentVolume, node_name: str, labels: Mapping[str, str]) -> str:
    affinity = volume.spec.node_affinity
    if affinity is None or affinity.required is None:
        return ""
    if node_selector(affinity.required).matches(node_name, labels):
        return ""
    return (
        f'pv "{volume.metadata.name}" node affinity doesn\'t match node "{node_name}": '
        "no matching NodeSelectorTerms"
    )


def _claim_error(pod: Pod, name: str, storage: StorageIndex, *, is_ephemeral: bool) -> str:
    """Return why a pod cannot be scheduled with a claim, as the API server has it."""
    claim = storage.claims.get(f"{pod.metadata.namespace}/{name}")
    if claim is None:
        if is_ephemeral:
            return (
                "waiting for ephemeral volume controller to create the "
                f'persistentvolumeclaim "{name}"'
            )
        return f'persistentvolumeclaim "{name}" not found'
    if claim.status.phase == "Lost":
        return (
            f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume '
            f'"{claim.spec.volume_name}"'
        )
    if claim.metadata.deletion_timestamp is not None:
        return f'persistentvolumeclaim "{name}" is being deleted'
    return ownership_error(claim, pod) if is_ephemeral else ""
