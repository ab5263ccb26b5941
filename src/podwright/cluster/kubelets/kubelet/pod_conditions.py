"""The phase and the conditions of a pod.

Upstream: pkg/kubelet/kubelet_pods.go, getPhase; pkg/kubelet/status/generate.go
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

import msgspec

from podwright.apimachinery.objects import Document
from podwright.cluster.kubelets.kubelet.containers.restart_policies import should_restart
from podwright.cluster.kubelets.kubelet.pod_records import PodRecord, containers_of

OWN_CONDITIONS: Final = (
    "PodReadyToStartContainers",
    "Initialized",
    "Ready",
    "ContainersReady",
    "PodScheduled",
)
RESIZE_CONDITIONS: Final = ("PodResizePending", "PodResizeInProgress")

_Condition = tuple[str, str, str]
"""Status, reason and message."""

_TRUE: Final[_Condition] = ("True", "", "")
_TERMINAL: Final = {"Succeeded": "PodCompleted", "Failed": "PodFailed"}


class _Counts(msgspec.Struct):
    """The containers of a pod by what they do."""

    pending_init: int = 0
    pending_sidecars: int = 0
    failed_init: int = 0
    waiting: int = 0
    running: int = 0
    stopped: int = 0
    succeeded: int = 0
    restarting: int = 0


def phase_of(spec: Document, record: PodRecord, *, is_terminal: bool) -> str:
    """Return the phase of a pod.

    Parameters
    ----------
    is_terminal : bool
        Whether no container is started any more.
    """
    counts = _counts_of(spec, record)
    pending_sidecars = 0 if record.is_initialized else counts.pending_sidecars
    if counts.failed_init:
        return "Failed"
    if counts.pending_init or pending_sidecars or counts.waiting:
        return "Pending"
    if counts.running:
        return "Running"
    if not counts.stopped:
        return "Pending"
    if counts.restarting and not is_terminal:
        return "Running"
    return "Succeeded" if counts.stopped == counts.succeeded else "Failed"


def _counts_of(spec: Document, record: PodRecord) -> _Counts:
    counts = _Counts()
    for kind, container in containers_of(spec):
        known = record.containers.get(container["name"])
        if known is None or kind == "ephemeral":
            continue
        ended, run = known.ended, known.running
        if kind == "sidecar":
            counts.running += run is not None
            counts.pending_sidecars += (run is None and ended is None) or (
                run is not None and not run.is_started
            )
            counts.waiting += run is None and ended is None
            continue
        restarts = ended is not None and should_restart(kind, container, spec, ended.exit_code)
        if kind == "init":
            is_done = run is None and ended is not None and not ended.exit_code
            is_failed = run is None and ended is not None and bool(ended.exit_code) and not restarts
            counts.failed_init += is_failed
            counts.pending_init += not is_done and not is_failed
        elif run is not None:
            counts.running += 1
        elif ended is None:
            counts.waiting += 1
        else:
            counts.stopped += 1
            counts.succeeded += not ended.exit_code
            counts.restarting += restarts
    return counts


def conditions_of(
    pod: Document,
    record: PodRecord,
    phase: str,
    statuses: dict[str, list[Document]],
    now: str,
) -> list[Document]:
    """Return the conditions of a pod: those of others first, then those of the kubelet."""
    spec = pod.get("spec") or {}
    generation = pod["metadata"].get("generation")
    present = {
        condition["type"]: condition
        for condition in (pod.get("status") or {}).get("conditions") or ()
    }
    others = [
        condition
        for name, condition in present.items()
        if name not in OWN_CONDITIONS and name not in RESIZE_CONDITIONS
    ]
    containers_ready = _containers_ready(spec, phase, statuses)
    # The sandbox of a pod that ended is stopped.
    can_start = record.has_sandbox and phase not in _TERMINAL
    found: list[tuple[str, _Condition]] = [
        ("PodReadyToStartContainers", _TRUE if can_start else ("False", "", "")),
        ("Initialized", _initialized(spec, record, phase, present.get("Initialized"))),
        ("Ready", _ready(spec, containers_ready, present)),
        ("ContainersReady", containers_ready),
        ("PodScheduled", _TRUE),
    ]
    if record.resize is not None:
        reason, message, _ = record.resize
        found.insert(0, ("PodResizePending", ("True", reason, message)))
    own: list[Document] = []
    for name, (status, reason, message) in found:
        observed = generation
        if record.resize is not None and name == "PodResizePending":
            observed = record.resize[2]
        before = present.get(name) or {}
        is_same = before.get("status") == status and before.get("lastTransitionTime")
        since = before["lastTransitionTime"] if is_same else now
        own.append(_condition(name, status, observed, since, reason, message))
    return others + own


@lru_cache(maxsize=1_024)
def _condition(
    name: str, status: str, observed: int | None, since: str, reason: str, message: str
) -> Document:
    """Return a condition; pods that change at one time share it, as documents do not change."""
    condition: Document = {"type": name, "status": status, "lastProbeTime": None}
    if observed is not None:
        condition["observedGeneration"] = observed
    condition["lastTransitionTime"] = since
    if reason:
        condition["reason"] = reason
    if message:
        condition["message"] = message
    return condition


def _containers_ready(
    spec: Document, phase: str, statuses: dict[str, list[Document]]
) -> _Condition:
    if phase in _TERMINAL:
        return "False", _TERMINAL[phase], ""
    known = {
        entry["name"]: entry
        for field in ("initContainerStatuses", "containerStatuses")
        for entry in statuses.get(field) or ()
    }
    names = [
        container["name"] for kind, container in containers_of(spec) if kind in ("sidecar", "app")
    ]
    unknown = [name for name in names if name not in known]
    unready = [name for name in names if name in known and not known[name]["ready"]]
    parts = []
    if unknown:
        parts.append(f"containers with unknown status: {_go_list(unknown)}")
    if unready:
        parts.append(f"containers with unready status: {_go_list(unready)}")
    return ("False", "ContainersNotReady", ", ".join(parts)) if parts else _TRUE


def _ready(
    spec: Document, containers_ready: _Condition, present: dict[str, Document]
) -> _Condition:
    if containers_ready[0] != "True":
        return containers_ready
    parts = []
    for gate in spec.get("readinessGates") or ():
        name = gate["conditionType"]
        condition = present.get(name)
        if condition is None:
            parts.append(f'corresponding condition of pod readiness gate "{name}" does not exist.')
        elif condition.get("status") != "True":
            parts.append(
                f'the status of pod readiness gate "{name}" is not "True", but '
                f"{condition.get('status')}"
            )
    return ("False", "ReadinessGatesNotReady", ", ".join(parts)) if parts else _TRUE


def _initialized(
    spec: Document, record: PodRecord, phase: str, before: Document | None
) -> _Condition:
    if phase == "Succeeded":
        return "True", "PodCompleted", ""
    if record.is_initialized or (before is not None and before.get("status") == "True"):
        return _TRUE
    incomplete = []
    for container in spec.get("initContainers") or ():
        known = record.containers.get(container["name"])
        if known is None:
            continue
        is_done = (
            known.running is not None and known.running.is_started
            if known.kind == "sidecar"
            else known.has_succeeded
        )
        if not is_done:
            incomplete.append(container["name"])
    if not incomplete:
        return _TRUE
    message = f"containers with incomplete status: {_go_list(incomplete)}"
    return "False", "ContainersNotInitialized", message


def _go_list(names: Sequence[str]) -> str:
    return f"[{' '.join(names)}]"
