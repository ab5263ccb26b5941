"""The parts of a pod's status that kubelets write, as documents.

Pods of one template that start at one time have most of them in common, and share them.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, TypeAlias

Named: TypeAlias = tuple[tuple[str, str], ...]
"""Containers: the name and the image of each."""

STARTED = ("Initialized", "Ready", "ContainersReady")
"""The conditions that are true of every pod that has started, besides its readiness gates."""


def named(containers: list[dict[str, Any]]) -> Named:
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


def terminated(exit_code: int, started: str, finished: str) -> dict[str, Any]:
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
def running_statuses(containers: Named, now: str) -> list[dict[str, Any]]:
    """Return the statuses of containers that have started."""
    return [
        {
            **container_status({"name": name, "image": image}, is_ready=True),
            "state": {"running": {"startedAt": now}},
        }
        for name, image in containers
    ]


@lru_cache(maxsize=1_024)
def completed_statuses(containers: Named, now: str) -> list[dict[str, Any]]:
    """Return the statuses of containers that were done as soon as they had started."""
    return [
        {
            **container_status({"name": name, "image": image}, is_ready=False),
            "started": False,
            "state": terminated(0, now, now),
        }
        for name, image in containers
    ]


@lru_cache(maxsize=1_024)
def ready_conditions(types: tuple[str, ...], now: str) -> list[dict[str, Any]]:
    """Return conditions that are true from now on."""
    return [{"type": name, "status": "True", "lastTransitionTime": now} for name in types]


def readiness(
    status: str, now: str, reason: str | None = None, message: str | None = None
) -> list[dict[str, Any]]:
    """Return the patch of the conditions that say whether a pod that runs is ready."""
    # In a strategic merge patch null takes away what is left of the last reason.
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


def ended_patch(statuses: list[dict[str, Any]], exit_code: int, now: str) -> dict[str, Any]:
    """Return the patch of the status of a pod whose containers have exited for good."""
    phase, reason = ("Failed", "PodFailed") if exit_code else ("Succeeded", "PodCompleted")
    return {
        "phase": phase,
        "containerStatuses": [
            {
                **status,
                "ready": False,
                "started": False,
                "state": terminated(exit_code, started_at(status, now), now),
            }
            for status in statuses
        ],
        "conditions": readiness("False", now, reason),
    }


def started_at(status: dict[str, Any], now: str) -> str:
    """Return when a container has started; now, if nobody says."""
    running = (status.get("state") or {}).get("running") or {}
    return str(running.get("startedAt") or now)
