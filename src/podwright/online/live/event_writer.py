"""Events of the scheduler as objects; a repeated one is a series.

A preempted pod's Event has no `related`: upstream passes a wrapper of the preemptor to its
recorder, which makes no reference of it.

Upstream: staging/src/k8s.io/client-go/tools/events/event_broadcaster.go, event_recorder.go;
pkg/scheduler/framework/preemption/executor.go, podExecutorPreemptor
"""

from __future__ import annotations

from typing import Final

import msgspec

from podwright.apimachinery.objects import Document, EventSeries, RecentEvent, timestamp_text_micro
from podwright.online.live.api_calls import MERGE, ApiRequest
from podwright.scheduler.machine import EmitEvent

_NOTE_BYTES_MAX: Final = 1_024


class EventWriter:
    """Makes the requests of Events, without I/O.

    Parameters
    ----------
    host : str
        The name of the computer, which ends the reportingInstance.
    """

    def __init__(self, host: str) -> None:
        self._host = host
        self._series: EventSeries[EmitEvent] = EventSeries()
        self._count = 0

    def counts_due(self, now_ns: int) -> list[ApiRequest]:
        """Return the requests that write the counts of series that are due."""
        return [_counted(series) for series in self._series.due(now_ns)]

    def request(self, event: EmitEvent, now_ns: int) -> ApiRequest | None:
        """Return the request that writes an Event; None if it is only counted."""
        signature = _signature(event)
        recent = self._series.repeated(signature, now_ns)
        if recent is not None:
            return _counted(recent) if recent.count == 2 else None
        namespace, _, name = event.pod.rpartition("/")
        self._count += 1
        own = f"{name[:200]}.{now_ns + self._count:x}"
        collection = f"/apis/events.k8s.io/v1/namespaces/{namespace}/events"
        self._series.begin(signature, f"{collection}/{own}", now_ns)
        return ApiRequest("POST", collection, self._document(event, own, now_ns))

    def creation(self, event: EmitEvent, patch: ApiRequest, now_ns: int) -> ApiRequest:
        """Return the request that creates the object of a series that is absent."""
        path, _, own = patch.path.rpartition("/")
        return ApiRequest("POST", path, self._document(event, own, now_ns) | patch.body)

    def failed(self, event: EmitEvent) -> None:
        """Take note that an Event was not written: the next one is not a series."""
        self._series.forget(_signature(event))

    def _document(self, event: EmitEvent, own: str, now_ns: int) -> Document:
        namespace, _, name = event.pod.rpartition("/")
        regarding = {
            "apiVersion": "v1",
            "kind": "Pod",
            "namespace": namespace,
            "name": name,
            "uid": event.uid,
            "resourceVersion": event.resource_version,
        }
        return {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"name": own, "namespace": namespace},
            "eventTime": timestamp_text_micro(now_ns),
            "reportingController": event.controller,
            "reportingInstance": f"{event.controller}-{self._host}",
            "action": event.action,
            "reason": event.reason,
            "type": event.type,
            "note": _cut(event.note),
            "regarding": regarding,
        }


def _counted(series: RecentEvent) -> ApiRequest:
    return ApiRequest("PATCH", series.path, series.series, MERGE)


def _signature(event: EmitEvent) -> EmitEvent:
    """Return what equal Events have in common: all but the note (upstream: `getKey`)."""
    return msgspec.structs.replace(event, note="", related="")


def _cut(note: str) -> str:
    data = note.encode()
    if len(data) <= _NOTE_BYTES_MAX:
        return note
    return data[: _NOTE_BYTES_MAX - 4].decode(errors="ignore") + " ..."
