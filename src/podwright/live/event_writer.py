"""Events of the scheduler as objects; a repeated one is a series.

Upstream: staging/src/k8s.io/client-go/tools/events/event_broadcaster.go
"""

from __future__ import annotations

from typing import Final

from podwright.live.api_calls import MERGE, ApiRequest
from podwright.machine import EmitEvent
from podwright.objects import Document, EventSeries, timestamp_text_micro

_NOTE_BYTES_MAX: Final = 1_024


class EventWriter:
    """Makes the requests of Events, without I/O.

    Parameters
    ----------
    instance : str
        The reportingInstance.
    """

    def __init__(self, instance: str) -> None:
        self._instance = instance
        self._series: EventSeries[EmitEvent] = EventSeries()
        self._count = 0

    def request(self, event: EmitEvent, now_ns: int) -> ApiRequest:
        """Return the request that writes an Event."""
        recent = self._series.repeated(event, now_ns)
        if recent is not None:
            return ApiRequest("PATCH", recent.path, recent.series, MERGE)
        namespace, _, name = event.pod.rpartition("/")
        self._count += 1
        own = f"{name[:200]}.{now_ns + self._count:x}"
        collection = f"/apis/events.k8s.io/v1/namespaces/{namespace}/events"
        self._series.begin(event, f"{collection}/{own}", now_ns)
        return ApiRequest("POST", collection, self._document(event, own, now_ns))

    def creation(self, event: EmitEvent, patch: ApiRequest, now_ns: int) -> ApiRequest:
        """Return the request that creates the object of a series that is absent."""
        path, _, own = patch.path.rpartition("/")
        return ApiRequest("POST", path, self._document(event, own, now_ns) | patch.body)

    def failed(self, event: EmitEvent) -> None:
        """Take note that an Event was not written: the next one is no series."""
        self._series.forget(event)

    def _document(self, event: EmitEvent, own: str, now_ns: int) -> Document:
        namespace = event.pod.rpartition("/")[0]
        document: Document = {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"name": own, "namespace": namespace},
            "eventTime": timestamp_text_micro(now_ns),
            "reportingController": event.controller,
            "reportingInstance": self._instance,
            "action": event.action,
            "reason": event.reason,
            "type": event.type,
            "note": _cut(event.note),
            "regarding": _reference(event.pod) | {"uid": event.uid},
        }
        if event.related:
            document["related"] = _reference(event.related)
        return document


def _reference(key: str) -> Document:
    namespace, _, name = key.rpartition("/")
    return {"apiVersion": "v1", "kind": "Pod", "namespace": namespace, "name": name}


def _cut(note: str) -> str:
    data = note.encode()
    if len(data) <= _NOTE_BYTES_MAX:
        return note
    return data[: _NOTE_BYTES_MAX - 4].decode(errors="ignore") + " ..."
