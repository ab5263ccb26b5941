"""What a kubelet knows about a pod: the state of its sandbox and of its containers.

It is what the container runtime of a node has, with the back-offs of the kubelet. Times are exact,
unlike those of a pod's status, which has whole seconds. `record_of` reads a record from a status,
after a restart.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from typing import Any, Final, Literal, TypeAlias

import msgspec

from podwright.apimachinery.objects import Document, timestamp_ns
from podwright.cluster.kubelets.kubelet.containers.process import Process

ContainerKind: TypeAlias = Literal["init", "sidecar", "app", "ephemeral"]

STATUS_FIELDS: Final = {
    "init": "initContainerStatuses",
    "sidecar": "initContainerStatuses",
    "app": "containerStatuses",
    "ephemeral": "ephemeralContainerStatuses",
}
_STATUS_LISTS: Final = {
    "initContainers": "initContainerStatuses",
    "containers": "containerStatuses",
    "ephemeralContainers": "ephemeralContainerStatuses",
}
TERMINAL_PHASES: Final = ("Succeeded", "Failed")


class Ended(msgspec.Struct, frozen=True):
    """A run of a container that has ended."""

    exit_code: int
    reason: str
    message: str
    started_ns: int
    finished_ns: int
    container_id: str


class ProbeRecord(msgspec.Struct):
    """The state of a probe.

    Attributes
    ----------
    next_ns : int, optional
        When it is executed next; None if its result can no longer change.
    successes, failures : int
        In a row.
    is_success : bool
        The result so far.
    """

    next_ns: int | None
    is_success: bool
    successes: int = 0
    failures: int = 0


class Hook(msgspec.Struct, frozen=True):
    """A lifecycle hook that was started.

    Attributes
    ----------
    ends_ns : int, optional
        None if it does not end by itself.
    error : str
        Why it fails; empty if it succeeds.
    """

    ends_ns: int | None
    error: str = ""


class RunRecord(msgspec.Struct):
    """A running container.

    Attributes
    ----------
    spec : Document
        The container that was started, to find changes of it.
    ends_ns : int, optional
        When its program ends, or when it is killed; None if it runs until it is stopped.
    exit_code : int
        With which it ends.
    reason : str
        Why it ends; by default `Completed` or `Error`.
    is_stopping : bool
        Whether it is being stopped.
    process : Process, optional
        None before it is started.
    term_ns : int, optional
        When SIGTERM is delivered; None if it is not to be, or if it was.
    turn_ns : int, optional
        From when it waits for the containers that are stopped before it; None if it does not.
    post_start : Hook, optional
    """

    started_ns: int
    container_id: str
    spec: Document
    ends_ns: int | None = None
    exit_code: int = 0
    process: Process | None = None
    term_ns: int | None = None
    turn_ns: int | None = None
    reason: str = ""
    is_stopping: bool = False
    is_started: bool = False
    is_ready: bool = False
    post_start: Hook | None = None
    startup: ProbeRecord | None = None
    readiness: ProbeRecord | None = None
    liveness: ProbeRecord | None = None


class ContainerRecord(msgspec.Struct):
    """A container of a pod.

    Attributes
    ----------
    starting : RunRecord, optional
        A run whose post-start hook has not succeeded yet. The status does not have it, and nothing
        else of the pod starts meanwhile.
    ended : Ended, optional
        Its last run, if it does not run.
    last : Ended, optional
        The run before the current or last one.
    waiting : tuple of str
        Reason and message, if it cannot be started now.
    retry_ns : int
        The earliest time of the next try to start it.
    back_off_ns, back_off_at_ns : int
        The back-off of restarts, and when it was set.
    back_off_key : tuple, optional
        The image and the allocated resources for which the back-off counts.
    pull_back_off_ns, pull_retry_ns : int
        The back-off of image pulls, and when it ends.
    must_restart : bool
        Whether it starts again in any case: its definition changed, or a probe failed.
    """

    name: str
    kind: ContainerKind
    restart_count: int = 0
    starting: RunRecord | None = None
    running: RunRecord | None = None
    ended: Ended | None = None
    last: Ended | None = None
    waiting: tuple[str, str] | None = None
    retry_ns: int = 0
    back_off_ns: int = 0
    back_off_at_ns: int = 0
    back_off_key: tuple[Any, Any] | None = None
    pull_back_off_ns: int = 0
    pull_retry_ns: int = 0
    must_restart: bool = False

    @property
    def has_succeeded(self) -> bool:
        """Whether its last run ended with exit code 0."""
        return self.ended is not None and self.ended.exit_code == 0


class PodRecord(msgspec.Struct, kw_only=True):
    """A pod on a node.

    Attributes
    ----------
    uid, node : str
    start_ns : int
        When the kubelet received it first.
    has_sandbox : bool
        Whether its volumes are mounted and its network is set up.
    is_finished : bool
        Whether nothing runs, and nothing is to be started any more.
    stop : tuple of str, optional
        Reason and message of the end that the kubelet decided.
    stop_ns : int, optional
        When the pod started to be stopped.
    stop_grace_ns : int
        The grace period of the stop, which can only become shorter.
    stop_deadline_ns : int, optional
        When the grace period ends.
    mount_retry_ns, mount_back_off_ns : int
    containers : dict
        By name, in the order of the pod.
    files : dict
        The contents of the files that its containers wrote, by path or by volume and path.
    allocated : dict
        Per container, the resources that are allocated.
    resize : tuple of str, optional
        Reason, message and generation of a resize that is pending.
    status : Document, optional
        The status that was written last.
    seen : tuple
        What the last sync read besides the status.
    """

    uid: str
    node: str
    start_ns: int
    pod_ip: str = ""
    has_sandbox: bool = False
    is_finished: bool = False
    stop: tuple[str, str] | None = None
    stop_ns: int | None = None
    stop_grace_ns: int = 0
    stop_deadline_ns: int | None = None
    mount_retry_ns: int = 0
    mount_back_off_ns: int = 0
    containers: dict[str, ContainerRecord] = {}
    files: dict[str, str | None] = {}
    allocated: dict[str, Document] = {}
    resize: tuple[str, str, int] | None = None
    status: Document | None = None
    seen: tuple[Any, ...] | None = None

    @property
    def running(self) -> list[tuple[ContainerRecord, RunRecord]]:
        """The containers that run, with their runs."""
        return [(each, each.running) for each in self.containers.values() if each.running]

    @property
    def is_starting(self) -> bool:
        """Whether the post-start hook of a container runs, or its container is stopped for it."""
        return any(each.starting is not None for each in self.containers.values())


def containers_of(spec: Document) -> list[tuple[ContainerKind, Document]]:
    """Return the containers of a pod with their kinds, in the order in which they start.

    Upstream: kuberuntime_manager.go, SyncPod
    """
    found: list[tuple[ContainerKind, Document]] = [
        ("ephemeral", entry) for entry in spec.get("ephemeralContainers") or ()
    ]
    found += [
        ("sidecar" if entry.get("restartPolicy") == "Always" else "init", entry)
        for entry in spec.get("initContainers") or ()
    ]
    found += [("app", entry) for entry in spec.get("containers") or ()]
    return found


def container_id(uid: str, name: str, restart_count: int) -> str:
    """Return the id of a container, which depends on the pod and the number of restarts."""
    digest = sha256(f"{uid}/{name}/{restart_count}".encode()).hexdigest()
    return f"containerd://{digest}"


def record_of(pod: Document, now_ns: int) -> PodRecord:
    """Return the record of a pod, as far as its status contains it.

    The containers of a pod that is Running without their statuses, as in a shortened dump, have run
    since its start.
    """
    metadata, spec = pod["metadata"], pod.get("spec") or {}
    status = pod.get("status") or {}
    record = PodRecord(
        uid=metadata.get("uid") or "",
        node=spec.get("nodeName") or "",
        start_ns=timestamp_ns(status.get("startTime") or "") or now_ns,
        pod_ip=status.get("podIP") or "",
        containers={},
        files={},
        allocated={},
    )
    record.is_finished = status.get("phase") in TERMINAL_PHASES
    is_running = status.get("phase") == "Running"
    record.has_sandbox = (bool(record.pod_ip) or is_running) and not record.is_finished
    known = {
        entry["name"]: entry
        for field in STATUS_FIELDS.values()
        for entry in status.get(field) or ()
    }
    containers = containers_of(spec)
    if is_running and any(container["name"] not in known for _, container in containers):
        known = _presumed(containers, status, metadata) | known
    for kind, container in containers:
        name = container["name"]
        record.containers[name] = _container_record(
            kind, container, known.get(name) or {}, record.uid
        )
    for kind, container in containers:
        actual = (known.get(container["name"]) or {}).get("resources")
        if actual is not None and kind != "ephemeral":
            claims = (container.get("resources") or {}).get("claims")
            record.allocated[container["name"]] = actual | ({"claims": claims} if claims else {})
    return record


def _presumed(
    containers: Iterable[tuple[ContainerKind, Document]], status: Document, metadata: Document
) -> dict[str, Document]:
    """Return statuses by container for a pod that is Running: as if nothing had gone wrong."""
    since = status.get("startTime") or metadata.get("creationTimestamp") or ""
    is_ready = not any(
        condition.get("type") == "Ready" and condition.get("status") == "False"
        for condition in status.get("conditions") or ()
    )
    running = {"running": {"startedAt": since}}
    ended = {"exitCode": 0, "reason": "Completed", "startedAt": since, "finishedAt": since}
    return {
        container["name"]: {
            "ready": is_ready,
            "started": True,
            "state": {"terminated": ended} if kind == "init" else running,
        }
        for kind, container in containers
        if kind != "ephemeral"
    }


def has_all_statuses(pod: Document) -> bool:
    """Whether the status of a pod that runs has every part that a kubelet writes."""
    status = pod.get("status") or {}
    if status.get("phase") != "Running" or not status.get("podIP"):
        return False
    spec = pod.get("spec") or {}
    return "startTime" in status and all(
        len(status.get(statuses) or ()) == len(spec[field])
        for field, statuses in _STATUS_LISTS.items()
        if spec.get(field)
    )


def _container_record(
    kind: ContainerKind, container: Document, status: Document, uid: str
) -> ContainerRecord:
    name, count = container["name"], int(status.get("restartCount") or 0)
    record = ContainerRecord(name, kind, count)
    state, last = status.get("state") or {}, status.get("lastState") or {}
    if (ended := last.get("terminated")) is not None:
        record.last = _ended(ended)
    if (ended := state.get("terminated")) is not None:
        record.ended = _ended(ended)
    elif (running := state.get("running")) is not None:
        started_ns = timestamp_ns(running.get("startedAt")) or 0
        record.running = RunRecord(
            started_ns=started_ns,
            container_id=status.get("containerID") or container_id(uid, name, count),
            spec=container,
            is_started=bool(status.get("started")),
            is_ready=bool(status.get("ready")),
        )
    else:
        record.ended, record.last = record.last, None
    return record


def _ended(state: Document) -> Ended:
    return Ended(
        int(state.get("exitCode") or 0),
        state.get("reason") or "",
        state.get("message") or "",
        timestamp_ns(state.get("startedAt") or "") or 0,
        timestamp_ns(state.get("finishedAt") or "") or 0,
        state.get("containerID") or "",
    )
