"""The availability and the rollouts of workloads over a run, from their status.

The *target* of a workload is its number of replicas (of a DaemonSet, the number of nodes that
should run a pod). Its availability is measured from the time at which it first reached its target,
or from its creation if it never did. States that lasted no time do not count.

A rollout starts when a workload is created or its pod template changes. It is complete by the rules
of `kubectl rollout status`. Upstream: staging/src/k8s.io/kubectl/pkg/polymorphichelpers/
rollout_status.go
"""

from __future__ import annotations

from typing import Any, Final, Literal, TypeAlias

import msgspec

from podwright._checkpointed import Checkpointed, Saved
from podwright.apimachinery.objects import (
    Document,
    KubernetesObject,
    NamespacedName,
    Pod,
    encode,
    timestamp_text_nano,
)
from podwright.apimachinery.schema import built_in
from podwright.cluster.store import kind_of

RolloutStatus: TypeAlias = Literal["complete", "in progress", "superseded", "deleted"]

_WITHOUT_ROLLOUTS: Final = frozenset({"ReplicaSet", "ReplicationController"})


class Rollout(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A rollout of a workload.

    Attributes
    ----------
    workload : str
        Such as `deployment/default/web`.
    reason : str
        `created` or `updated`.
    started : str
    duration_ns : int
        Until it was complete, or until now.
    status : str
    updated, target : int
        The updated and the desired pods at its end.
    """

    workload: str
    reason: str
    started: str
    duration_ns: int
    status: RolloutStatus
    updated: int
    target: int


class Availability(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The availability of a workload.

    Attributes
    ----------
    workload : str
        Such as `deployment/default/web`.
    available, target : int
        At the end of the run, or when it was deleted.
    reached_ns : int, optional
        The time from its creation until it first reached its target; None if it never did.
    lowest, lowest_target : int
        The available pods and the target when the share was lowest.
    lowest_at : str
        The start of that state.
    below_target_ns : int
        The total time with fewer available pods than its target.
    is_deleted : bool
    """

    workload: str
    available: int
    target: int
    reached_ns: int | None
    lowest: int
    lowest_target: int
    lowest_at: str
    below_target_ns: int
    is_deleted: bool = msgspec.field(name="deleted")


class WorkloadRecord(msgspec.Struct, kw_only=True):
    """A workload so far."""

    kind: str
    key: NamespacedName
    created_ns: int
    is_deleted: bool = False
    available: int = 0
    target: int = 0
    updated: int = 0
    since_ns: int = 0
    reached_ns: int | None = None
    lowest: int = 0
    lowest_target: int = 0
    lowest_ns: int = 0
    below_ns: int = 0
    rollout_ns: int | None = None
    rollout_reason: str = "created"

    @property
    def name(self) -> str:
        """The name of the workload in reports."""
        return f"{self.kind.lower()}/{self.key}"


class WorkloadHealth(Checkpointed):
    """Observes the workloads of a world."""

    _workloads: Saved[dict[str, WorkloadRecord]]
    _rollouts: Saved[list[Rollout]]

    def __init__(self) -> None:
        self._workloads = {}
        self._rollouts = []

    def changed(
        self, old: KubernetesObject | None, new: KubernetesObject | None, now_ns: int
    ) -> None:
        """Receive a created, updated or deleted object."""
        obj = new if new is not None else old
        assert obj is not None, "neither an old nor a new object"
        # Most objects are pods, which are not workloads.
        if type(obj) is Pod or not _runs_continuously(obj) or _is_controlled(obj):
            return
        uid = obj.metadata.uid
        record = self._workloads.get(uid)
        if record is None:
            record = self._workloads[uid] = WorkloadRecord(
                kind=obj.kind, key=obj.key, created_ns=now_ns
            )
            if obj.kind not in _WITHOUT_ROLLOUTS:
                record.rollout_ns = now_ns
        if new is None:
            self._end_rollout(record, "deleted", now_ns)
            _close(record, now_ns)
            record.is_deleted = True
            return
        document = encode(new)
        spec, status = document.get("spec") or {}, document.get("status") or {}
        if old is not None and obj.kind not in _WITHOUT_ROLLOUTS:
            self._check_template(record, old, spec, now_ns)
        _update(record, spec, status, now_ns)
        if record.rollout_ns is not None and _is_complete(obj.kind, document):
            self._end_rollout(record, "complete", now_ns)

    def _check_template(
        self, record: WorkloadRecord, old: KubernetesObject, spec: Document, now_ns: int
    ) -> None:
        """Start a rollout if the pod template has changed."""
        before = encode(old).get("spec") or {}
        if before is spec or before.get("template") == spec.get("template"):
            return
        self._end_rollout(record, "superseded", now_ns)
        record.rollout_ns, record.rollout_reason = now_ns, "updated"

    def _end_rollout(self, record: WorkloadRecord, status: RolloutStatus, now_ns: int) -> None:
        if record.rollout_ns is not None:
            self._rollouts.append(_rollout(record, status, now_ns))
            record.rollout_ns = None

    def availability(self, now_ns: int) -> tuple[Availability, ...]:
        """Return the availability of all workloads, in the order of their creation."""
        return tuple(_availability(record, now_ns) for record in self._workloads.values())

    def rollouts(self, now_ns: int) -> tuple[Rollout, ...]:
        """Return all rollouts in the order of their ends, then those in progress."""
        open_rollouts = (
            _rollout(record, "in progress", now_ns)
            for record in self._workloads.values()
            if record.rollout_ns is not None
        )
        return (*self._rollouts, *open_rollouts)


def _runs_continuously(obj: KubernetesObject) -> bool:
    """Whether an object is a workload whose pods are to run all the time."""
    kind = kind_of(obj)
    # The workloads of the group batch run to completion.
    return kind in built_in().pod_templates and kind[0] != "batch"


def _is_controlled(obj: KubernetesObject) -> bool:
    return obj.metadata.controller is not None


def _update(record: WorkloadRecord, spec: Document, status: Document, now_ns: int) -> None:
    """Update the counts of a workload, and the time below its target."""
    if record.kind == "DaemonSet":
        target = _number(status, "desiredNumberScheduled")
        available = _number(status, "numberAvailable")
        updated = _number(status, "updatedNumberScheduled")
    else:
        target = _number(spec, "replicas", 1)
        available = _number(status, "availableReplicas")
        updated = _number(status, "updatedReplicas")
    record.updated = updated
    # The target of a DaemonSet is in its status, so it is not known before there is one.
    if record.kind == "DaemonSet" and not status:
        return
    if (available, target) == (record.available, record.target) and record.since_ns:
        return
    _close(record, now_ns)
    record.available, record.target, record.since_ns = available, target, now_ns
    if record.reached_ns is None and available >= target:
        # The time before the target was reached first is not a disruption.
        record.reached_ns, record.below_ns, record.lowest_ns = now_ns, 0, 0


def _is_lowest(record: WorkloadRecord) -> bool:
    """Tell whether the share of available pods is lower than before; without a target it is 1."""
    available, target = record.available, record.target
    lowest, lowest_target = record.lowest, record.lowest_target
    if not target:
        available = target = 1
    if not lowest_target:
        lowest = lowest_target = 1
    # Products instead of quotients: the comparison of the shares is exact.
    return not record.lowest_ns or available * lowest_target < lowest * target


def _close(record: WorkloadRecord, now_ns: int) -> None:
    """Count the current state until now, if it lasted."""
    if not record.since_ns or now_ns == record.since_ns:
        return
    if record.available < record.target:
        record.below_ns += now_ns - record.since_ns
    if _is_lowest(record):
        record.lowest, record.lowest_target = record.available, record.target
        record.lowest_ns = record.since_ns
    record.since_ns = now_ns


def _availability(record: WorkloadRecord, now_ns: int) -> Availability:
    # A copy: the run may be resumed.
    record = msgspec.structs.replace(record)
    if not record.is_deleted:
        _close(record, now_ns)
    if not record.lowest_ns:
        record.lowest, record.lowest_target = record.available, record.target
        record.lowest_ns = record.since_ns or record.created_ns
    reached_ns = record.reached_ns
    return Availability(
        workload=record.name,
        available=record.available,
        target=record.target,
        reached_ns=None if reached_ns is None else reached_ns - record.created_ns,
        lowest=record.lowest,
        lowest_target=record.lowest_target,
        lowest_at=timestamp_text_nano(record.lowest_ns),
        below_target_ns=record.below_ns,
        is_deleted=record.is_deleted,
    )


def _rollout(record: WorkloadRecord, status: RolloutStatus, now_ns: int) -> Rollout:
    assert record.rollout_ns is not None, f"{record.name} has no rollout"
    return Rollout(
        workload=record.name,
        reason=record.rollout_reason,
        started=timestamp_text_nano(record.rollout_ns),
        duration_ns=now_ns - record.rollout_ns,
        status=status,
        updated=record.updated,
        target=record.target,
    )


def _is_complete(kind: str, document: Document) -> bool:
    """Tell whether the rollout of a workload is complete."""
    spec, status = document.get("spec") or {}, document.get("status") or {}
    generation = _number(document.get("metadata") or {}, "generation")
    # Until the controller has observed the new spec, the status describes the old one.
    if not status or _number(status, "observedGeneration") < generation:
        return False
    match kind:
        case "DaemonSet":
            target = _number(status, "desiredNumberScheduled")
            available = _number(status, "numberAvailable")
            return available >= target and _number(status, "updatedNumberScheduled") >= target
        case "StatefulSet":
            target = _number(spec, "replicas", 1)
            if _number(status, "availableReplicas") < target:
                return False
            strategy = spec.get("updateStrategy") or {}
            if strategy.get("type") == "OnDelete":
                return True
            partition = _number(strategy.get("rollingUpdate") or {}, "partition")
            return _number(status, "updatedReplicas") >= target - partition
        case _:
            target, updated = _number(spec, "replicas", 1), _number(status, "updatedReplicas")
            return (
                updated >= target
                and _number(status, "replicas") <= updated
                and _number(status, "availableReplicas") >= updated
            )


def _number(section: Document, name: str, default: int = 0) -> int:
    value: Any = section.get(name)
    return default if value is None else int(value)
