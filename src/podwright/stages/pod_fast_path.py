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
from podwright.stages.patches import plain_patch
from podwright.stages.pod_statuses import (
    STARTED,
    Named,
    ended_patch,
    named,
    ready_conditions,
    running_statuses,
    started_at,
)
from podwright.stages.stage import StageContext, identity_of

_replace = msgspec.structs.replace


class _Shared(msgspec.Struct, frozen=True, gc=False):
    """What the statuses of many pods have in common: documents, and the same typed."""

    phase: str
    conditions: list[Document]
    statuses: list[Document]
    typed_conditions: tuple[Condition, ...]
    typed_statuses: tuple[ContainerStatus, ...]


def started(pod: Pod, moment: StageContext) -> Pod | None:
    """Return a pod that has been bound as one that runs, None if it is not as nearly all are."""
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
    if not containers or not _are_others(conditions):
        return None
    now, addresses, key = moment.now, moment.addresses, id(containers)
    if key not in moment.shared:
        # With the list itself, so that no other one can have its identity.
        moment.shared[key] = containers, _start(named(containers), now)
    shared: _Shared = moment.shared[key][1]
    document = {
        **status,
        "phase": shared.phase,
        "hostIP": addresses.of_node(spec.get("nodeName") or ""),
        "podIP": addresses.written_to_pod(pod.metadata.uid or identity_of(pod.raw)),
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


def ended(pod: Pod, exit_code: int, moment: StageContext) -> Pod | None:
    """Return a pod that runs as one that has ended, None if it has not `started` as above."""
    status = pod.raw.get("status") or {}
    statuses, conditions = status.get("containerStatuses"), status.get("conditions")
    if not statuses or not conditions:
        return None
    key = (id(statuses), exit_code)
    if key not in moment.shared:
        moment.shared[key] = statuses, *_start_and_end(statuses, exit_code, moment.now)
    _, start, shared = moment.shared[key]
    before = max(len(conditions) - len(STARTED), 0)
    if (
        start is None
        or conditions[before:] != start.conditions
        or not _are_others(conditions[:before])
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


def _start_and_end(
    statuses: list[Document], exit_code: int, now: str
) -> tuple[_Shared, _Shared] | tuple[None, None]:
    """Return what pods have in common before and after their end; None if they started otherwise.

    Parameters
    ----------
    statuses : list of dict
        Of their containers, before.
    """
    texts = [status.get(name) for status in statuses for name in ("name", "image")]
    if not all(isinstance(text, str) for text in texts):
        return None, None
    start = _start(named(statuses), started_at(statuses[0], now))
    if statuses != start.statuses:
        return None, None
    before = {"conditions": start.conditions, "containerStatuses": start.statuses}
    return start, _shared(plain_patch(before, ended_patch(start.statuses, exit_code, now)))


def _shared(status: dict[str, Any]) -> _Shared:
    typed = msgspec.convert(status, PodStatus)
    return _Shared(
        status["phase"],
        status["conditions"],
        status["containerStatuses"],
        typed.conditions,
        typed.container_statuses,
    )
