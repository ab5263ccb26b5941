"""Which Kubernetes Events repeat a recent one, and are counted in its object.

Upstream: staging/src/k8s.io/client-go/tools/events/event_broadcaster.go;
staging/src/k8s.io/client-go/tools/record/events_cache.go
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Final, Generic, TypeVar

import msgspec

from podwright.apimachinery.objects.decode import Document
from podwright.apimachinery.objects.texts.times import timestamp_text_micro

RECENT_MAX: Final = 4096
"""The number of recent Events with which new ones are compared."""

SERIES_NS: Final = 360_000_000_000
"""How long after its last occurrence an Event of the scheduler has ended (`finishTime`)."""

REFRESH_NS: Final = 1_800_000_000_000
"""How often the counts of series are written (`refreshTime`)."""

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
    """The recent Events, by what equal ones have in common.

    The first repetition of an Event makes its object a series of two. Further ones are only
    counted: the count is written each half hour, and when the series has ended. An Event that was
    not repeated, and a series, end six minutes after their last occurrence; upstream looks for
    them every six minutes.
    """

    def __init__(self) -> None:
        self._recent: Recent[Signature, RecentEvent] = Recent()
        self._finished_ns = self._refreshed_ns = -1

    def due(self, now_ns: int) -> list[RecentEvent]:
        """Return the series whose count is to be written; forget those that have ended.

        To be called before an Event is taken.
        """
        if self._finished_ns < 0:
            self._finished_ns = self._refreshed_ns = now_ns
        finishes = now_ns - self._finished_ns >= SERIES_NS
        refreshes = now_ns - self._refreshed_ns >= REFRESH_NS
        if not (finishes or refreshes):
            return []
        self._finished_ns += (now_ns - self._finished_ns) // SERIES_NS * SERIES_NS
        self._refreshed_ns += (now_ns - self._refreshed_ns) // REFRESH_NS * REFRESH_NS
        ended = [
            signature
            for signature, recent in self._recent.items()
            if self._finished_ns - recent.last_ns > SERIES_NS
        ]
        over = [self._recent.pop(signature) for signature in ended]
        found = [*over, *self._recent.values()] if refreshes else over
        return [recent for recent in found if recent.count > 1]

    def repeated(self, signature: Signature, now_ns: int) -> RecentEvent | None:
        """Return the recent Event that an Event repeats, counted once more; None for a new one.

        Its object is to be patched if the count is 2.
        """
        recent = self._recent.used(signature)
        if recent is not None:
            recent.count += 1
            recent.last_ns = now_ns
        return recent

    def begin(self, signature: Signature, path: str, now_ns: int) -> None:
        """Take a new Event object."""
        self._recent.put(signature, RecentEvent(path, 1, now_ns))

    def forget(self, signature: Signature) -> None:
        """Take note that an Event was not written: the next one starts a new object."""
        self._recent.pop(signature, None)
