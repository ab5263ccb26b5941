"""Cells of pods.

Upstream: pkg/printers/internalversion/printers.go, printPod
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from podwright.apimachinery.objects import Document, timestamp_ns
from podwright.apimachinery.schema.printing.cells import NONE, human_duration


class _Containers(NamedTuple):
    """What the containers of a pod contribute to its row.

    Attributes
    ----------
    ready, total : int
    status : str
        The reason of the least advanced container; "" if the phase stands.
    restarts : int
    last_restart_ns : int or None
    """

    ready: int
    total: int
    status: str
    restarts: int
    last_restart_ns: int | None


def ready(pod: Document) -> str:
    """Return the number of ready containers, and of all that keep running."""
    containers = _containers(pod)
    return f"{containers.ready}/{containers.total}"


def status(pod: Document) -> str:
    """Return the phase of a pod, or the more specific state of its containers."""
    pod_status = pod.get("status") or {}
    phase = pod_status.get("phase") or ""
    is_deleted = bool((pod.get("metadata") or {}).get("deletionTimestamp"))
    if is_deleted and pod_status.get("reason") == "NodeLost":
        return "Unknown"
    if is_deleted and phase not in ("Succeeded", "Failed"):
        return "Terminating"
    return _containers(pod).status


def restarts(pod: Document, now_ns: int) -> str:
    """Return the number of restarts, and how long the last one is ago."""
    containers = _containers(pod)
    if not containers.restarts or containers.last_restart_ns is None:
        return str(containers.restarts)
    return f"{containers.restarts} ({human_duration(now_ns - containers.last_restart_ns)} ago)"


def address(pod: Document) -> str:
    """Return the first IP address."""
    addresses = (pod.get("status") or {}).get("podIPs") or ()
    return (addresses[0].get("ip") if addresses else "") or NONE


def readiness_gates(pod: Document) -> str:
    """Return how many readiness gates are true, and of how many."""
    gates = (pod.get("spec") or {}).get("readinessGates") or ()
    if not gates:
        return NONE
    conditions = (pod.get("status") or {}).get("conditions") or ()
    true = sum(_condition(conditions, gate.get("conditionType")) == "True" for gate in gates)
    return f"{true}/{len(gates)}"


def _containers(pod: Document) -> _Containers:
    spec, pod_status = pod.get("spec") or {}, pod.get("status") or {}
    init = spec.get("initContainers") or ()
    sidecars = {each.get("name") for each in init if each.get("restartPolicy") == "Always"}
    conditions = pod_status.get("conditions") or ()
    reason = pod_status.get("reason") or pod_status.get("phase") or ""
    for each in conditions:
        if each.get("reason") == "SchedulingGated" and each.get("type") == "PodScheduled":
            reason = "SchedulingGated"
    total = len(spec.get("containers") or ()) + len(sidecars)
    init_statuses = pod_status.get("initContainerStatuses") or ()
    ready_count, examined, init_reason = _initialization(init_statuses, sidecars, len(init))
    if init_reason and _condition(conditions, "Initialized") != "True":
        return _Containers(ready_count, total, init_reason, *_restarts(examined))
    statuses = pod_status.get("containerStatuses") or ()
    main_ready_count, reason = _main_state(statuses, init_reason or reason, conditions)
    # After initialization, only the restarts of sidecars count besides those of containers.
    counted = [each for each in examined if each.get("name") in sidecars]
    return _Containers(
        ready_count + main_ready_count, total, reason, *_restarts([*counted, *statuses])
    )


def _initialization(
    statuses: Iterable[Document], sidecars: set[Any], count: int
) -> tuple[int, list[Document], str]:
    """Return the state of init containers.

    Returns
    -------
    ready : int
        The number of ready sidecars.
    examined : list of dict
        The statuses up to the first container that has not ended; it hides those behind it.
    reason : str
        "" if all containers have ended or are started sidecars.
    """
    ready_count, examined = 0, list[Document]()
    for index, container in enumerate(statuses):
        examined.append(container)
        state = container.get("state") or {}
        terminated = state.get("terminated")
        if terminated is not None and not terminated.get("exitCode"):
            continue
        if container.get("name") in sidecars and container.get("started"):
            ready_count += bool(container.get("ready"))
            continue
        waiting = (state.get("waiting") or {}).get("reason")
        if terminated is not None:
            return ready_count, examined, f"Init:{_terminated(terminated)}"
        if waiting and waiting != "PodInitializing":
            return ready_count, examined, f"Init:{waiting}"
        return ready_count, examined, f"Init:{index}/{count}"
    return ready_count, examined, ""


def _main_state(
    statuses: Iterable[Document], reason: str, conditions: Iterable[Document]
) -> tuple[int, str]:
    """Return the number of ready containers and the status of the pod."""
    ready_count, failure, is_running = 0, "", False
    for container in reversed(list(statuses)):
        state = container.get("state") or {}
        waiting = (state.get("waiting") or {}).get("reason")
        terminated = state.get("terminated")
        if waiting:
            reason = waiting
        elif terminated is not None:
            reason = _terminated(terminated)
            if terminated.get("exitCode"):
                failure = reason
        elif container.get("ready") and state.get("running") is not None:
            is_running = True
            ready_count += 1
    if reason == "Completed":
        if is_running and _condition(conditions, "Ready") == "True":
            reason = "Running"
        elif failure:
            reason = failure
        elif is_running:
            reason = "NotReady"
    return ready_count, reason


def _terminated(terminated: Document) -> str:
    if reason := terminated.get("reason"):
        return str(reason)
    if signal := terminated.get("signal"):
        return f"Signal:{signal}"
    return f"ExitCode:{terminated.get('exitCode') or 0}"


def _restarts(statuses: Iterable[Document]) -> tuple[int, int | None]:
    """Return the number of restarts, and the time of the last one in nanoseconds since 1970."""
    count, last_ns = 0, None
    for container in statuses:
        count += container.get("restartCount") or 0
        terminated = (container.get("lastState") or {}).get("terminated") or {}
        ended_ns = timestamp_ns(terminated.get("finishedAt"))
        if ended_ns is not None and (last_ns is None or ended_ns > last_ns):
            last_ns = ended_ns
    return count, last_ns


def _condition(conditions: Iterable[Document], condition_type: str | None) -> str:
    """Return the status of a condition; "" if it is absent."""
    return next(
        (each.get("status") or "" for each in conditions if each.get("type") == condition_type), ""
    )
