"""The inputs of the machine: changes of watched objects, answers to its actions, and time.

Every event is a small struct with a tag; `Event` is their union.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from podwright.apimachinery.objects import (
    KubernetesObject,
    NamespacedName,
    Object,
    ObjectDeleted,
    ObjectPut,
    Unknown,
    api_group,
)
from podwright.scheduler.config import ExtenderReply
from podwright.scheduler.framework import CallError


class CycleDue(msgspec.Struct, frozen=True, tag=True, tag_field="kind", gc=False):
    """Schedule the next pod; ignored if the active queue is empty."""


class TimerFired(msgspec.Struct, frozen=True, tag=True, tag_field="kind", gc=False):
    """The time of a `WakeAt` has come; harmless at any other time."""


class FlushBackoff(msgspec.Struct, frozen=True, tag=True, tag_field="kind", gc=False):
    """Flush the backoff queue; to be sent every second."""


class FlushUnschedulable(msgspec.Struct, frozen=True, tag=True, tag_field="kind", gc=False):
    """Flush pods that stayed unschedulable for too long; to be sent every 30 seconds."""


class CallDone(msgspec.Struct, frozen=True, tag=True, tag_field="kind", gc=False):
    """The answer to an action with a call number.

    Parameters
    ----------
    call : int
        The number of the action.
    error : CallError, optional
        None: it succeeded.
    obj : object, optional
        The volume or claim as the API server stored it.
    """

    call: int
    error: CallError | None = None
    obj: Object | None = None


class ExtenderReplied(msgspec.Struct, frozen=True, tag=True, tag_field="kind", gc=False):
    """The answer to a `CallExtender`, or its failure."""

    call: int
    reply: ExtenderReply


class PodAllowed(msgspec.Struct, frozen=True, tag=True, tag_field="kind", gc=False):
    """A Permit plugin allows a waiting pod; ignored if the pod does not wait."""

    pod: NamespacedName
    plugin: str


class PodRejected(msgspec.Struct, frozen=True, tag=True, tag_field="kind", gc=False):
    """A Permit plugin rejects a waiting pod; ignored if the pod does not wait."""

    pod: NamespacedName
    plugin: str
    message: str


class PodActivated(msgspec.Struct, frozen=True, tag=True, tag_field="kind", gc=False):
    """A user moves a waiting pod to the active queue; ignored if it is not in the queue.

    PreEnqueue still gates it. Upstream only lets plugins do this, by `Handle.Activate`.
    """

    pod: NamespacedName


Event: TypeAlias = (
    ObjectPut
    | ObjectDeleted
    | CycleDue
    | TimerFired
    | FlushBackoff
    | FlushUnschedulable
    | CallDone
    | ExtenderReplied
    | PodAllowed
    | PodRejected
    | PodActivated
)


def object_key(
    kind: type[KubernetesObject] | KubernetesObject | str, name: NamespacedName
) -> tuple[str, str]:
    """Return under what `State.objects` has an object.

    Parameters
    ----------
    kind : type, object or str
        A kind that has a struct, or any object of the kind. A kind without a struct, such as that
        of a custom resource, is named with its group: ``NodeMetric.slo.koordinator.sh``.
    """
    if isinstance(kind, str):
        return kind, name
    if isinstance(kind, Unknown):
        # Knative's Service, which has the name of a Service, and others.
        return kind.resource, name
    # Two groups have a PodGroup; no other kind that is read has a namesake.
    is_namesake = api_group(kind.api_version) == "scheduling.x-k8s.io"
    return f"{kind.kind}.x-k8s.io" if is_namesake else kind.kind, name
