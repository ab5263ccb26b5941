"""The parts of a pod's status that a kubelet writes, as documents.

Pods of one template that start at the same time share most of these documents.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, TypeAlias

ContainerNames: TypeAlias = tuple[tuple[str, str], ...]
"""The name and the image of each container."""

START_CONDITIONS = ("Initialized", "Ready", "ContainersReady")
"""The conditions that are True for every started pod, besides its readiness gates."""


def container_names(containers: list[dict[str, Any]]) -> ContainerNames:
    """Return the names and images of containers."""
    return tuple([(entry["name"], entry.get("image") or "") for entry in containers])


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


def started_at(status: dict[str, Any], now: str) -> str:
    """Return the start time of a container, or `now` if its status has none."""
    running = (status.get("state") or {}).get("running") or {}
    return str(running.get("startedAt") or now)


# The annotations that define how long a pod runs and how it ends; see `annotation_stages`.

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
