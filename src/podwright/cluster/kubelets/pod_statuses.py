"""The parts of a pod's status that a kubelet writes, as documents.

Pods of one template that start at the same time share most of these documents.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, TypeAlias

import msgspec

from podwright.apimachinery.objects import Condition, ContainerStatus, Document, Pod, PodStatus
from podwright.cluster.kubelets.patches import plain_patch
from podwright.cluster.kubelets.stages.stage import StageContext, identity_of

ContainerNames: TypeAlias = tuple[tuple[str, str], ...]
"""The name and the image of each container."""

START_CONDITIONS = ("Initialized", "Ready", "ContainersReady")
"""The conditions that are True for every started pod, besides its readiness gates."""


def container_names(containers: list[dict[str, Any]]) -> ContainerNames:
    """Return the names and images of containers."""
    return tuple([(entry.get("name") or "", entry.get("image") or "") for entry in containers])


def container_status(container: dict[str, Any], *, is_ready: bool) -> dict[str, Any]:
    """Return the status of a container, without its state."""
    return {
        "name": container["name"],
        "image": container.get("image") or "",
        "ready": is_ready,
        "restartCount": 0,
    }


def terminated_state(exit_code: int, started: str, finished: str) -> dict[str, Any]:
    """Return the state of a container that has exited."""
    reason = "Error" if exit_code else "Completed"
    return {
        "terminated": {
            "exitCode": exit_code,
            "reason": reason,
            "startedAt": started,
            "finishedAt": finished,
        }
    }


@lru_cache(maxsize=1_024)
def running_statuses(containers: ContainerNames, now: str) -> list[dict[str, Any]]:
    """Return the statuses of containers that have started."""
    return [
        {
            **container_status({"name": name, "image": image}, is_ready=True),
            "state": {"running": {"startedAt": now}},
        }
        for name, image in containers
    ]


@lru_cache(maxsize=1_024)
def completed_statuses(containers: ContainerNames, now: str) -> list[dict[str, Any]]:
    """Return the statuses of containers that exited immediately after their start."""
    return [
        {
            **container_status({"name": name, "image": image}, is_ready=False),
            "started": False,
            "state": terminated_state(0, now, now),
        }
        for name, image in containers
    ]


@lru_cache(maxsize=1_024)
def ready_conditions(types: tuple[str, ...], now: str) -> list[dict[str, Any]]:
    """Return conditions of these types with status True and a transition time of `now`."""
    return [{"type": name, "status": "True", "lastTransitionTime": now} for name in types]


def readiness_patch(
    status: str, now: str, reason: str | None = None, message: str | None = None
) -> list[dict[str, Any]]:
    """Return the patch of the conditions Ready and ContainersReady of a running pod."""
    # In a strategic merge patch, null removes the previous reason and message.
    return [
        {
            "type": name,
            "status": status,
            "reason": reason,
            "message": message,
            "lastTransitionTime": now,
        }
        for name in ("Ready", "ContainersReady")
    ]


def exit_patch(statuses: list[dict[str, Any]], exit_code: int, now: str) -> dict[str, Any]:
    """Return the status patch for a pod whose containers have exited and do not restart."""
    phase, reason = ("Failed", "PodFailed") if exit_code else ("Succeeded", "PodCompleted")
    return {
        "phase": phase,
        "containerStatuses": [
            {
                **status,
                "ready": False,
                "started": False,
                "state": terminated_state(exit_code, started_at(status, now), now),
            }
            for status in statuses
        ],
        "conditions": readiness_patch("False", now, reason),
    }


def pod_text(metadata: Mapping[str, Any]) -> str:
    """Return a pod as the kubelet names it in Events."""
    return f"{metadata['name']}_{metadata.get('namespace', '')}({metadata.get('uid', '')})"


def back_off_message(seconds: int, container: str, metadata: Mapping[str, Any]) -> str:
    """Return why a container is not started again yet, with the time as Go prints a duration.

    Notes
    -----
    Upstream: pkg/kubelet/kuberuntime/kuberuntime_manager.go, doBackOff
    """
    minutes, rest = divmod(seconds, 60)
    duration = f"{minutes}m{rest}s" if minutes else f"{rest}s"
    pod = pod_text(metadata)
    return f"back-off {duration} restarting failed container={container} pod={pod}"


def started_at(status: dict[str, Any], now: str) -> str:
    """Return the start time of a container, or `now` if its status has none."""
    running = (status.get("state") or {}).get("running") or {}
    return str(running.get("startedAt") or now)


# The annotations that define how long a pod runs and how it ends; see `built_in_stages`.

RUN_DELAY: Final = "pod-complete.stage.kwok.x-k8s.io/delay"
RUN_JITTER: Final = "pod-complete.stage.kwok.x-k8s.io/jitter-delay"
EXIT_CODE: Final = "pod-complete.stage.kwok.x-k8s.io/exit-code"
STOP_DELAY: Final = "pod-delete.stage.kwok.x-k8s.io/delay"
DELETION_TIME: Final = "alibabacloud.com/deletion-time"

_EXIT_CODE_MAX: Final = 255


def read_exit_code(annotations: Mapping[str, str]) -> int:
    """Return the exit code of a pod's containers.

    Raises
    ------
    ValueError
        The annotation is not a number below 256.
    """
    text = annotations.get(EXIT_CODE, "0")
    if not (text.isascii() and text.isdigit() and int(text) <= _EXIT_CODE_MAX):
        raise ValueError(f'{EXIT_CODE}: invalid exit code "{text}": must be a number below 256')
    return int(text)


# The fast path for starting and ending common pods, without patches.
#
# Pods of one template that start (or end) at the same time get the same status, except for their
# addresses. The status is computed once, as a document and as typed objects, with the patch that
# would produce it for any pod, and is then shared. A common pod is one that was bound and whose
# status has none of the fields that the start sets, or that this fast path started. All other pods
# are patched. A test compares the two ways.

_replace = msgspec.structs.replace


class _SharedStatus(msgspec.Struct, frozen=True, gc=False):
    """The shared parts of the statuses of many pods: documents, and the same typed."""

    phase: str
    conditions: list[Document]
    statuses: list[Document]
    typed_conditions: tuple[Condition, ...]
    typed_statuses: tuple[ContainerStatus, ...]


def started_pod(pod: Pod, context: StageContext) -> Pod | None:
    """Return a bound pod with a running status; None if the pod has to be patched."""
    spec, status = pod.raw.get("spec"), pod.raw.get("status") or {}
    if (
        not spec
        or spec.get("initContainers")
        or spec.get("readinessGates")
        or spec.get("hostNetwork")
        or status.get("podIP")
    ):
        return None
    containers, conditions = spec.get("containers"), status.get("conditions") or ()
    if not containers or not _lacks_start_conditions(conditions):
        return None
    now, addresses, key = context.now, context.addresses, id(containers)
    if key not in context.shared:
        # The cache entry holds the list, so that its id() is not reused by another object.
        context.shared[key] = containers, _start(container_names(containers), now)
    shared: _SharedStatus = context.shared[key][1]
    document = {
        **status,
        "phase": shared.phase,
        "hostIP": addresses.of_node(spec.get("nodeName") or ""),
        "podIP": addresses.take_for_pod(identity_of(pod.raw)),
        "startTime": now,
        "conditions": [*conditions, *shared.conditions],
        "containerStatuses": shared.statuses,
    }
    typed = _replace(
        pod.status,
        phase=shared.phase,
        start_time=now,
        conditions=(*pod.status.conditions, *shared.typed_conditions),
        container_statuses=shared.typed_statuses,
    )
    return _replace(pod, status=typed, raw=pod.raw | {"status": document})


def ended_pod(pod: Pod, exit_code: int, context: StageContext) -> Pod | None:
    """Return a running pod with a terminal status; None if `started_pod` did not start it."""
    status = pod.raw.get("status") or {}
    statuses, conditions = status.get("containerStatuses"), status.get("conditions")
    if not statuses or not conditions:
        return None
    key = (id(statuses), exit_code)
    if key not in context.shared:
        context.shared[key] = statuses, *_start_and_end(statuses, exit_code, context.now)
    _, start, shared = context.shared[key]
    before = len(conditions) - len(START_CONDITIONS)  # below zero, the rest is too short
    if (
        start is None
        or conditions[before:] != start.conditions
        or not _lacks_start_conditions(conditions[:before])
    ):
        return None
    document = {
        **status,
        "phase": shared.phase,
        "conditions": [*conditions[:before], *shared.conditions],
        "containerStatuses": shared.statuses,
    }
    typed = _replace(
        pod.status,
        phase=shared.phase,
        conditions=(*pod.status.conditions[:before], *shared.typed_conditions),
        container_statuses=shared.typed_statuses,
    )
    return _replace(pod, status=typed, raw=pod.raw | {"status": document})


def _lacks_start_conditions(conditions: Sequence[Document]) -> bool:
    """Whether the conditions include none of those that a start sets."""
    for condition in conditions:  # noqa: SIM110 - there is rarely more than one
        if condition["type"] in START_CONDITIONS:
            return False
    return True


@lru_cache(maxsize=1_024)
def _start(containers: ContainerNames, now: str) -> _SharedStatus:
    return _shared(
        {
            "phase": "Running",
            "conditions": ready_conditions(START_CONDITIONS, now),
            "containerStatuses": running_statuses(containers, now),
        }
    )


def _start_and_end(
    statuses: list[Document], exit_code: int, now: str
) -> tuple[_SharedStatus, _SharedStatus] | tuple[None, None]:
    """Return the shared status before and after the end; None if the pods started differently.

    Parameters
    ----------
    statuses : list of dict
        The container statuses before the end.
    """
    texts = [status.get(name) for status in statuses for name in ("name", "image")]
    if not all(isinstance(text, str) for text in texts):
        return None, None
    start = _start(container_names(statuses), started_at(statuses[0], now))
    if statuses != start.statuses:
        return None, None
    before = {"conditions": start.conditions, "containerStatuses": start.statuses}
    return start, _shared(plain_patch(before, exit_patch(start.statuses, exit_code, now)))


def _shared(status: dict[str, Any]) -> _SharedStatus:
    typed = msgspec.convert(status, PodStatus)
    return _SharedStatus(
        status["phase"],
        status["conditions"],
        status["containerStatuses"],
        typed.conditions,
        typed.container_statuses,
    )
