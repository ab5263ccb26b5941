"""The start and the end of pods as nearly all are, without patches.

A pod that has been bound, and whose status says nothing about what is to come, starts; a pod that
has started so ends. What then becomes of its status is the same for all pods of one template that
start, and end, at one time, but for the addresses. So it is made once, as a document and typed,
by the patch that would do it for any pod, and shared. Pods that are not so go by way of patches;
a test holds one against the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import msgspec

from podwright.objects import Condition, ContainerStatus, Document, Pod, PodStatus
from podwright.world.stages.patches import plain_patch
from podwright.world.stages.pod_statuses import (
    STARTED,
    Named,
    ended_patch,
    named,
    ready_conditions,
    running_statuses,
)
from podwright.world.stages.stage import Moment, identity_of

_replace = msgspec.structs.replace


class _Shared(msgspec.Struct, frozen=True, gc=False):
    """What the statuses of many pods have in common: documents, and the same typed."""

    phase: str
    conditions: list[Document]
    statuses: list[Document]
    typed_conditions: tuple[Condition, ...]
    typed_statuses: tuple[ContainerStatus, ...]


def started(pod: Pod, moment: Moment) -> Pod | None:
    """Return a pod that has been bound as one that runs, None if it is not as nearly all are."""
    spec, status = pod.raw.get("spec"), pod.raw.get("status") or {}
    if (
        not spec
        or not spec.get("containers")
        or spec.get("initContainers")
        or spec.get("readinessGates")
        or spec.get("hostNetwork")
        or status.get("podIP")
    ):
        return None
    conditions = status.get("conditions") or ()
    if not _are_others(conditions):
        return None
    now, addresses = moment.now, moment.addresses
    containers = named(spec["containers"])
    shared = moment.shared.get(containers)
    if shared is None:
        shared = moment.shared[containers] = _start(containers, now)
    document = {
        **status,
        "phase": shared.phase,
        "hostIP": addresses.of_node(spec.get("nodeName") or ""),
        "podIP": addresses.of_pod(pod.metadata.uid or identity_of(pod.raw)),
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


def ended(pod: Pod, exit_code: int, moment: Moment) -> Pod | None:
    """Return a pod that runs as one that has ended, None if it has not `started` as above."""
    spec, status = pod.raw.get("spec"), pod.raw.get("status")
    if not spec or not status or not spec.get("containers") or not status.get("startTime"):
        return None
    containers, start_time = named(spec["containers"]), status["startTime"]
    start, conditions = _start(containers, start_time), status.get("conditions") or []
    before = max(len(conditions) - len(STARTED), 0)
    if (
        status.get("containerStatuses") != start.statuses
        or conditions[before:] != start.conditions
        or not _are_others(conditions[:before])
    ):
        return None
    shared = _end(containers, start_time, exit_code, moment.now)
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


def _are_others(conditions: Sequence[Document]) -> bool:
    """Whether none of the conditions is one of those that a start sets."""
    for condition in conditions:  # noqa: SIM110 - there is hardly ever more than one
        if condition["type"] in STARTED:
            return False
    return True


@lru_cache(maxsize=1_024)
def _start(containers: Named, now: str) -> _Shared:
    return _shared(
        {
            "phase": "Running",
            "conditions": ready_conditions(STARTED, now),
            "containerStatuses": running_statuses(containers, now),
        }
    )


@lru_cache(maxsize=1_024)
def _end(containers: Named, start_time: str, exit_code: int, now: str) -> _Shared:
    start = _start(containers, start_time)
    before = {"conditions": start.conditions, "containerStatuses": start.statuses}
    return _shared(plain_patch(before, ended_patch(start.statuses, exit_code, now)))


def _shared(status: dict[str, Any]) -> _Shared:
    typed = msgspec.convert(status, PodStatus)
    return _Shared(
        status["phase"],
        status["conditions"],
        status["containerStatuses"],
        typed.conditions,
        typed.container_statuses,
    )
