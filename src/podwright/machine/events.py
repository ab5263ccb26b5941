"""What the machine is told: the changes it watches, the answers to its actions, and time.

Every event is a small struct with a tag; `Event` is their union.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from podwright.config import ExtenderReply
from podwright.framework import CallError
from podwright.objects import NamespacedName, Object


class ObjectPut(msgspec.Struct, frozen=True, tag=True, tag_field="kind", gc=False):
    """An object appeared or changed; the machine knows which.

    Parameters
    ----------
    obj : object
        The object as it is now.
    """

    obj: Object


class ObjectDeleted(msgspec.Struct, frozen=True, tag=True, tag_field="kind", gc=False):
    """An object is gone.

    Parameters
    ----------
    obj : object
        The object as it last was, as far as is known.
    """

    obj: Object


class CycleDue(msgspec.Struct, frozen=True, tag=True, tag_field="kind", gc=False):
    """The next pod is to be scheduled; nothing happens if there is none."""


class TimerFired(msgspec.Struct, frozen=True, tag=True, tag_field="kind", gc=False):
    """A time that a `WakeAt` asked for has come; harmless at any other time."""


class FlushBackoff(msgspec.Struct, frozen=True, tag=True, tag_field="kind", gc=False):
    """Pods whose backoff is over may be tried again; meant for every whole second."""


class FlushUnschedulable(msgspec.Struct, frozen=True, tag=True, tag_field="kind", gc=False):
    """Pods that have waited long for an event may be tried again; meant for every 30 s."""


class CallDone(msgspec.Struct, frozen=True, tag=True, tag_field="kind", gc=False):
    """The answer to an action with a call number.

    Parameters
    ----------
    call : int
        The number of the action.
    error : CallError, optional
        None: it succeeded.
    obj : object, optional
        What the API server made of a volume or claim that was to be updated.
    """

    call: int
    error: CallError | None = None
    obj: Object | None = None


class ExtenderReplied(msgspec.Struct, frozen=True, tag=True, tag_field="kind", gc=False):
    """The answer to a `CallExtender`, or that there was none."""

    call: int
    reply: ExtenderReply


class PodAllowed(msgspec.Struct, frozen=True, tag=True, tag_field="kind", gc=False):
    """A Permit plugin lets a waiting pod go; nothing happens if the pod does not wait."""

    pod: NamespacedName
    plugin: str


class PodRejected(msgspec.Struct, frozen=True, tag=True, tag_field="kind", gc=False):
    """A Permit plugin refuses a waiting pod; nothing happens if the pod does not wait."""

    pod: NamespacedName
    plugin: str
    message: str


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
)
