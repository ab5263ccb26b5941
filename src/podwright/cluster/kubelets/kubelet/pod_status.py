"""The status of a pod, from its record.

Upstream: pkg/kubelet/kubelet_pods.go, generateAPIPodStatus; pkg/kubelet/kubelet_pods.go, getPhase;
pkg/kubelet/status/generate.go; pkg/kubelet/allocation/allocation_manager.go,
handlePodResourcesResize; pkg/kubelet/events/resize.go.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import chain
from typing import Any, Final

import msgspec

from podwright.apimachinery.objects import (
    Condition,
    Container,
    ContainerStatus,
    Document,
    Pod,
    PodStatus,
    timestamp_text,
)
from podwright.apimachinery.schema import decode
from podwright.cluster.kubelets.kubelet.containers.container_statuses import (
    container_statuses,
    should_restart,
)
from podwright.cluster.kubelets.kubelet.kubelet_node import KubeletNode, Rejection
from podwright.cluster.kubelets.kubelet.pod_records import (
    STATUS_FIELDS,
    TERMINAL_PHASES,
    PodRecord,
    containers_of,
)

_replace = msgspec.structs.replace
_CONTAINER_FIELDS: Final = frozenset(STATUS_FIELDS.values())
_OWN_FIELDS: Final = _CONTAINER_FIELDS | {"conditions"}


def status_of(pod: Document, record: PodRecord, host_address: str, now_ns: int) -> Document:
    """Return the status that the kubelet writes for a pod."""
    old = pod.get("status") or {}
    spec = pod.get("spec") or {}
    now = timestamp_text(now_ns)
    statuses = container_statuses(pod, record)
    found = "Failed"
    if record.stop is None:
        found = phase_of(spec, record, is_terminal=record.stop_ns is not None)
    if record.is_finished:
        statuses = _located(spec, statuses)
        found = found if found in TERMINAL_PHASES else "Failed"
    # A pod is not terminal before its last container has ended, but its conditions are.
    is_ending = found in TERMINAL_PHASES and record.running
    phase = (old.get("phase") or "Running") if is_ending else found
    status = {
        name: value
        for name, value in old.items()
        if name not in _CONTAINER_FIELDS and name not in ("reason", "message")
    }
    status["phase"] = phase
    if phase == old.get("phase"):
        for name in ("reason", "message"):
            if old.get(name):
                status[name] = old[name]
    if record.stop is not None and phase == "Failed":
        status["reason"], status["message"] = record.stop
    generation = pod["metadata"].get("generation")
    if generation is not None:
        status["observedGeneration"] = generation
    status["conditions"] = conditions_of(pod, record, found, statuses, now)
    status["hostIP"] = host_address
    status["hostIPs"] = _addresses(host_address)
    if record.pod_ip:
        status["podIP"] = record.pod_ip
        status["podIPs"] = [{"ip": record.pod_ip}]
    status.setdefault("startTime", timestamp_text(record.start_ns))
    return status | statuses


_NOT_LOCATED: Final[Document] = {
    "exitCode": 137,
    "reason": "ContainerStatusUnknown",
    "message": "The container could not be located when the pod was terminated",
    "startedAt": None,
    "finishedAt": None,
}


def _located(spec: Document, statuses: dict[str, list[Document]]) -> dict[str, list[Document]]:
    """Return the statuses of a pod that has ended: containers that did not start have failed.

    Upstream: pkg/kubelet/status/status_manager.go, TerminatePod
    """
    inits = statuses.get("initContainerStatuses") or []
    apps = statuses.get("containerStatuses") or []
    started = [index for index, each in enumerate(inits) if _has_started(each)]
    reached = started[-1] + 1 if started else 1
    is_initialized = not inits or any(map(_has_started, apps))
    if not is_initialized:
        last, state = spec["initContainers"][-1], inits[-1]["state"]
        ended = state.get("terminated") or inits[-1]["lastState"].get("terminated")
        if last.get("restartPolicy") == "Always":
            is_initialized = "running" in state and bool(inits[-1].get("started"))
        else:
            is_initialized = ended is not None and ended["exitCode"] == 0
    found = {"initContainerStatuses": [*map(_ended, inits[:reached]), *inits[reached:]]}
    found["containerStatuses"] = [_ended(each) for each in apps] if is_initialized else apps
    return statuses | {name: each for name, each in found.items() if each}


def _has_started(status: Document) -> bool:
    return "waiting" not in status["state"] or "terminated" in status["lastState"]


def _ended(status: Document) -> Document:
    if "terminated" in status["state"]:
        return status
    return status | {"state": {"terminated": _NOT_LOCATED}}


@lru_cache(maxsize=16_384)
def _addresses(address: str) -> list[Document]:
    # One for all pods of a node, since documents are immutable by convention.
    return [{"ip": address}]


def rejected_status(pod: Document, rejection: Rejection, now_ns: int) -> Document:
    """Return the status of a pod that the kubelet rejected.

    Notes
    -----
    Nothing is left of what the kubelet reported before, and of its conditions, which include
    PodScheduled.
    Upstream: pkg/kubelet/kubelet.go, rejectPod; pkg/kubelet/status/status_manager.go,
    mergePodStatus
    """
    before = pod.get("status") or {}
    status: Document = {name: before[name] for name in _KEPT_FIELDS if name in before}
    kept = [
        each
        for each in before.get("conditions") or ()
        if each["type"] not in OWN_CONDITIONS and each["type"] not in RESIZE_CONDITIONS
    ]
    if kept:
        status["conditions"] = kept
    status["phase"], status["reason"] = "Failed", rejection.reason
    status["message"] = f"Pod was rejected: {rejection.message}"
    status.setdefault("startTime", timestamp_text(now_ns))
    generation = pod["metadata"].get("generation")
    if generation is not None:
        status["observedGeneration"] = generation
    return status


def with_status(pod: Pod, status: Document, record: PodRecord) -> Pod:
    """Return a pod with another status."""
    document = pod.raw | {"status": status}
    if record.resize is not None:
        changed = decode(document, source=f"the status of {pod.key}")
        assert isinstance(changed, Pod)
        return changed
    # The resources of the containers are those of the typed spec.
    bare = {name: value for name, value in status.items() if name not in _OWN_FIELDS}
    typed = msgspec.convert(bare, PodStatus)
    typed = _replace(
        typed,
        conditions=tuple([_typed_condition(**each) for each in status.get("conditions") or ()]),
        container_statuses=_typed(status.get("containerStatuses"), pod.spec.containers),
        init_container_statuses=_typed(
            status.get("initContainerStatuses"), pod.spec.init_containers
        ),
    )
    return _replace(pod, status=typed, raw=document)


@lru_cache(maxsize=1_024)
def _typed_condition(**condition: Any) -> Condition:
    # Many pods have the same one, as of their documents.
    return msgspec.convert(condition, Condition)


def _typed(
    statuses: list[Document] | None, containers: tuple[Container, ...]
) -> tuple[ContainerStatus, ...]:
    specs = {container.name: container for container in containers}
    return tuple(
        ContainerStatus(
            name=status["name"],
            allocated_resources=specs[status["name"]].resources.requests
            if "allocatedResources" in status
            else None,
            resources=_replace(specs[status["name"]].resources, claims=())
            if "resources" in status
            else None,
        )
        for status in statuses or ()
    )


# The phase and the conditions of a pod.

OWN_CONDITIONS: Final = (
    "PodReadyToStartContainers",
    "Initialized",
    "Ready",
    "ContainersReady",
    "PodScheduled",
)
RESIZE_CONDITIONS: Final = ("PodResizePending", "PodResizeInProgress")

_KEPT_FIELDS: Final = (
    "startTime", "qosClass", "resourceClaimStatuses", "extendedResourceClaimStatus"
)  # fmt: skip
"""What a rejected pod keeps of its status."""

_Condition = tuple[str, str, str]
"""Status, reason and message."""

_TRUE: Final[_Condition] = ("True", "", "")
_TERMINAL: Final = {"Succeeded": "PodCompleted", "Failed": "PodFailed"}


class _Counts(msgspec.Struct, kw_only=True):
    """Whether there are containers of a pod that do something; how many have stopped."""

    pending_init: bool = False
    pending_sidecars: bool = False
    failed_init: bool = False
    waiting: bool = False
    running: bool = False
    stopped: int = 0
    succeeded: int = 0
    restarting: bool = False


def phase_of(spec: Document, record: PodRecord, *, is_terminal: bool) -> str:
    """Return the phase of a pod.

    Parameters
    ----------
    is_terminal : bool
        Whether no container is started any more.
    """
    counts = _counts_of(spec, record)
    # Upstream: container/helpers.go, HasAnyRegularContainerStarted
    has_app = any(
        each.running is not None or (each.ended is not None and each.waiting is None)
        for each in record.containers.values()
        if each.kind == "app"
    )
    pending_sidecars = counts.pending_sidecars and not has_app
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
            counts.running |= run is not None
            counts.pending_sidecars |= run is not None and not run.is_started
            counts.waiting |= run is None and ended is None
            continue
        restarts = ended is not None and should_restart(kind, container, spec, ended.exit_code)
        if kind == "init":
            is_done = run is None and ended is not None and not ended.exit_code
            is_failed = run is None and ended is not None and bool(ended.exit_code) and not restarts
            counts.failed_init |= is_failed
            counts.pending_init |= not is_done and not is_failed
        elif run is not None:
            counts.running = True
        elif ended is None:
            counts.waiting = True
        else:
            counts.stopped += 1
            counts.succeeded += not ended.exit_code
            counts.restarting |= restarts
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
    can_start = record.has_sandbox and (phase not in _TERMINAL or record.running)
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
    if before is not None and before.get("status") == "True":
        return _TRUE
    # Upstream: pkg/kubelet/status/generate.go, GeneratePodInitializedCondition
    if any(each.running or each.ended for each in record.containers.values() if each.kind == "app"):
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


# Resizes of running pods in place: what is allocated, what is actual, and what has to wait.
#
# A resize that fits the node is allocated and actuated in one sync. One that does not fit is
# deferred and tried again.

RETRY_NS: Final = 10_000_000_000

_RESIZED: Final = ("requests", "limits")


class Resize(msgspec.Struct, frozen=True):
    """The outcome of a resize.

    Attributes
    ----------
    event : tuple of str
        Type, reason and note of its Event.
    restarts : list of str
        The containers that have to restart.
    """

    events: list[tuple[str, str, str]]
    restarts: list[str]


def resize(pod: Pod, record: PodRecord, node: KubeletNode) -> Resize | None:
    """Allocate and actuate the resources of a pod's spec; None if nothing changes.

    A resize that has to wait is in `record.resize` afterwards.
    """
    spec = pod.raw.get("spec") or {}
    changed = []
    for container in chain(spec.get("initContainers") or (), spec.get("containers") or ()):
        resources = _resources(container)
        allocated = record.allocated.setdefault(container["name"], resources)
        if allocated is not resources and _parts(allocated) != _parts(resources):
            changed.append((container, allocated))
    if not changed:
        record.resize = None
        return None
    generation = int(pod.raw["metadata"].get("generation") or 0)
    rejection = node.admit(pod)
    if rejection is not None:
        before, record.resize = record.resize, ("Deferred", rejection.message, generation)
        if before is not None and (before[0], before[2]) == ("Deferred", generation):
            return None
        # Upstream: the note has the reason of the admission, the condition has not.
        summary = _summary(spec, generation, rejection.message)
        note = f"Pod resize {rejection.reason}: {summary}"
        return Resize([("Warning", "ResizeDeferred", note)], [])
    record.resize = None
    restarts = []
    for container, allocated in changed:
        if _needs_restart(container, allocated, _resources(container)):
            restarts.append(container["name"])
        record.allocated[container["name"]] = _resources(container)
    text = _summary(spec, generation)
    events = [
        ("Normal", "ResizeStarted", f"Pod resize started: {text}"),
        ("Normal", "ResizeCompleted", f"Pod resize completed: {text}"),
    ]
    return Resize(events, restarts)


def _resources(container: Document) -> Document:
    found: Document = container.get("resources") or {}
    return found


def _parts(resources: Document) -> list[Any]:
    return [resources.get(part) or {} for part in _RESIZED]


def _needs_restart(container: Document, before: Document, after: Document) -> bool:
    """Whether a resource changes whose resize policy restarts the container."""
    policies = {
        policy["resourceName"]: policy.get("restartPolicy")
        for policy in container.get("resizePolicy") or ()
    }
    return any(
        policies.get(name) == "RestartContainer"
        and any(
            (before.get(part) or {}).get(name) != (after.get(part) or {}).get(name)
            for part in _RESIZED
        )
        for name in ("cpu", "memory")
    )


def _summary(spec: Document, generation: int, error: str = "") -> str:
    parts: Document = {}
    for field in ("initContainers", "containers"):
        entries = [
            {"name": container["name"], "resources": _resources(container)}
            for container in spec.get(field) or ()
        ]
        if entries:
            parts[field] = entries
    parts["generation"] = generation
    if error:
        parts["error"] = error
    return msgspec.json.encode(parts).decode()
