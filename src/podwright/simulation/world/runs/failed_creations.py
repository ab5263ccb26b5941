"""What could not be created in a run, because admission rejected it."""

from __future__ import annotations

import msgspec

from podwright._checkpointed import Checkpointed, Saved
from podwright.apimachinery.objects import KubernetesObject, timestamp_text_nano


class FailedCreation(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The objects of one owner that were rejected, or an object without an owner.

    Attributes
    ----------
    owner : str
        Such as `replicaset/default/web-589dcf6bf9`.
    created_kind : str
        The kind of the rejected objects, such as `Pod`.
    count : int
        At how many times.
    first, last : str
        When.
    message : str
        The reason for the last rejection.
    """

    owner: str
    created_kind: str
    count: int
    first: str
    last: str
    message: str


class FailedCreations(Checkpointed):
    """Observes what could not be created."""

    _found: Saved[dict[str, FailedCreation]]

    def __init__(self) -> None:
        self._found = {}

    def creation_rejected(self, obj: KubernetesObject, message: str, now_ns: int) -> None:
        """Receive `obj`, whose creation was rejected at `now_ns` with `message`."""
        owner = obj.metadata.controller or obj
        name = f"{owner.kind.lower()}/{obj.namespace}/{owner.name}"
        time, before = timestamp_text_nano(now_ns), self._found.get(name)
        self._found[name] = FailedCreation(
            owner=name,
            created_kind=obj.kind,
            count=(before.count + (before.last != time)) if before else 1,
            first=before.first if before else time,
            last=time,
            message=message,
        )

    @property
    def all(self) -> tuple[FailedCreation, ...]:
        """The rejected objects by owner, in the order of the first rejections."""
        return tuple(self._found.values())
