"""The fast path for starting and ending common pods, without patches.

Pods of one template that start (or end) at the same time get the same status, except for their
addresses. The status is computed once, as a document and as typed objects, with the patch that
would produce it for any pod, and is then shared. A common pod is one that was bound and whose
status has none of the fields that the start sets, or that this fast path started. All other pods
are patched. A test compares the two ways.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import msgspec

from podwright.apimachinery.objects import Condition, ContainerStatus, Document, Pod, PodStatus
from podwright.cluster.kubelets.patches import plain_patch
from podwright.cluster.kubelets.pod_statuses import (
    START_CONDITIONS,
    ContainerNames,
    container_names,
    exit_patch,
    ready_conditions,
    running_statuses,
    started_at,
)
from podwright.cluster.kubelets.stages.stage import StageContext, identity_of

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
        "podIP": addresses.take_for_pod(pod.metadata.uid or identity_of(pod.raw)),
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
    before = max(len(conditions) - len(START_CONDITIONS), 0)
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
