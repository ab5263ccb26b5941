"""Which Kubernetes Events repeat a recent one, and are counted in its object.

Upstream: staging/src/k8s.io/client-go/tools/events/event_broadcaster.go;
tools/record/events_cache.go
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Final, Generic, TypeVar

import msgspec

from podwright.objects.decode import Document
from podwright.objects.timestamps import timestamp_text_micro

RECENT_MAX: Final = 4096
"""The number of recent Events with which new ones are compared."""

SERIES_NS: Final = 360_000_000_000
"""How long after its last occurrence an Event of the scheduler begins a new object."""

Signature = TypeVar("Signature", bound=Hashable)
Value = TypeVar("Value")


class Recent(OrderedDict[Signature, Value], Generic[Signature, Value]):
    """The values of the keys that were used last, of `RECENT_MAX` at most."""

    def used(self, key: Signature) -> Value | None:
        """Return the value of a key, which is the last used one now."""
        if key not in self:
            return None
        self.move_to_end(key)
        return self[key]

    def put(self, key: Signature, value: Value) -> None:
        """Set the value of a key, and forget the key that was not used for the longest time."""
        count = len(self)
        self[key] = value
        if len(self) == count:
            self.move_to_end(key)
        elif count >= RECENT_MAX:
            self.popitem(last=False)


class RecentEvent(msgspec.Struct):
    """An Event object that was written.

    Attributes
    ----------
    path : str
        Of the object.
    count : int
    last_ns : int
        When the Event occurred last.
    """

    path: str
    count: int
    last_ns: int

    @property
    def series(self) -> Document:
        """The patch of an events.k8s.io/v1 object."""
        last = timestamp_text_micro(self.last_ns)
        return {"series": {"count": self.count, "lastObservedTime": last}}


class EventSeries(Generic[Signature]):
    """The recent Events, by what equal ones have in common."""

    def __init__(self) -> None:
        self._recent: Recent[Signature, RecentEvent] = Recent()

    def repeated(self, signature: Signature, now_ns: int) -> RecentEvent | None:
        """Return the recent Event that an Event repeats, counted once more; None for a new one."""
        recent = self._recent.used(signature)
        if recent is None or now_ns - recent.last_ns >= SERIES_NS:
            return None
        recent.count += 1
        recent.last_ns = now_ns
        return recent

    def begin(self, signature: Signature, path: str, now_ns: int) -> None:
        """Take a new Event object."""
        self._recent.put(signature, RecentEvent(path, 1, now_ns))

    def forget(self, signature: Signature) -> None:
        """Take note that an Event was not written: the next one begins a new object."""
        self._recent.pop(signature, None)
