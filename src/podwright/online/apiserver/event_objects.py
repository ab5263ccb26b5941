"""Kubernetes Events as objects of the cluster.

An Event that equals a recent one increases the count of that object, as with the recorders of
client-go. Events of the scheduler are written as events.k8s.io/v1, others as v1, whose number is
limited (`event_correlation`); the API server stores one kind.

Upstream: staging/src/k8s.io/client-go/tools/events/event_broadcaster.go;
staging/src/k8s.io/client-go/tools/record/events_cache.go
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable
from typing import Any, Final, TypeAlias

import msgspec

from podwright.apimachinery.objects import (
    Document,
    EventSeries,
    KubernetesObject,
    timestamp_text,
    timestamp_text_micro,
)
from podwright.cluster.api.endpoints import ApiServer, HttpReply, HttpRequest, User
from podwright.cluster.store import ObjectStore
from podwright.online.apiserver.event_correlation import EventCorrelator
from podwright.online.apiserver.wire.defects import answered
from podwright.simulation.world import KubernetesEvent

_WRITER: Final = User("system:apiserver", groups=("system:masters",))
_JSON: Final = {"content-type": "application/json", "accept": "application/json"}
_MERGE_PATCH: Final = {"content-type": "application/merge-patch+json"}
_OF_AGENTS: Final = {
    agent: _JSON | {"user-agent": agent}
    for agent in ("kube-scheduler", "kube-controller-manager", "kubelet", "kwok")
}
"""The headers of creations, by the user agent of the component."""
_REFERENCED_MAX: Final = 230
"""The characters of an object's name in the names of its Events, which have at most 253."""

_DEFAULT_NAMESPACE: Final = "default"

Signature: TypeAlias = tuple[str, ...]


class EventObjects:
    """An observer of a world that writes its Events as objects.

    Events are collected, and written by `write`: an observer must not change the store.

    Attributes
    ----------
    dropped : int
        The number of Events that the API server rejected, for example in a namespace that is
        terminating.
    """

    def __init__(self) -> None:
        self.dropped = 0
        self._pending: deque[tuple[KubernetesEvent, int]] = deque()
        self._series: EventSeries[Signature] = EventSeries()
        self._correlators: defaultdict[str, EventCorrelator] = defaultdict(EventCorrelator)
        self._count = 0

    def event_recorded(self, event: KubernetesEvent, now_ns: int) -> None:
        """Collect an Event."""
        self._pending.append((event, now_ns))

    @property
    def has_pending(self) -> bool:
        """Whether there are Events to write."""
        return bool(self._pending)

    def write(self, server: ApiServer, store: ObjectStore, is_over: Callable[[], bool]) -> None:
        """Write the collected Events in order, at least one, until the caller ends the slice."""
        while self._pending:
            event, now_ns = self._pending.popleft()
            self._write(server, store, event, now_ns)
            if is_over():
                return

    def _write(
        self, server: ApiServer, store: ObjectStore, event: KubernetesEvent, now_ns: int
    ) -> None:
        if event.action:
            self._write_series(server, store, event, now_ns)
        else:
            self._write_counted(server, store, event, now_ns)

    def _write_series(
        self, server: ApiServer, store: ObjectStore, event: KubernetesEvent, now_ns: int
    ) -> None:
        """Write an Event of a scheduler."""
        for series in self._series.due(now_ns):
            _is_patched(server, event, series.path, series.series, now_ns)
        # What upstream's `getKey` takes, without the note.
        signature = (
            event.source,
            event.key,
            event.uid,
            event.resource_version,
            event.type,
            event.reason,
            event.action,
        )
        recent = self._series.repeated(signature, now_ns)
        if recent is not None and (
            recent.count > 2 or _is_patched(server, event, recent.path, recent.series, now_ns)
        ):
            return
        path = self._created(server, store, event, now_ns)
        if path is not None:
            self._series.begin(signature, path, now_ns)

    def _write_counted(
        self, server: ApiServer, store: ObjectStore, event: KubernetesEvent, now_ns: int
    ) -> None:
        """Write an Event of a controller or a kubelet, if it may write more of them."""
        correlator = self._correlators[event.source]
        event, counted = correlator.count(event, now_ns)
        if not correlator.is_allowed(event, now_ns):
            return
        last = timestamp_text(now_ns)
        body = {"count": counted.count, "lastTimestamp": last, "message": event.note}
        if counted.path and _is_patched(server, event, counted.path, body, now_ns):
            return
        counted.path = self._created(server, store, event, now_ns) or ""
        counted.count = 1

    def _created(
        self, server: ApiServer, store: ObjectStore, event: KubernetesEvent, now_ns: int
    ) -> str | None:
        """Create the object of an Event, and return its path; None if it is rejected."""
        # Events of one object at one time need different names.
        self._count += 1
        path = self._create(server, store, event, now_ns, f"{now_ns + self._count:x}")
        self.dropped += path is None
        return path

    def _create(
        self,
        server: ApiServer,
        store: ObjectStore,
        event: KubernetesEvent,
        now_ns: int,
        suffix: str,
    ) -> str | None:
        """Create the object of an Event, and return its path; None if it is rejected."""
        obj = None
        if not event.action:
            obj = store.get((event.group, event.object_kind), event.key)
            if obj is not None and obj.metadata.uid != event.uid:
                obj = None
        place, _, referenced = event.key.rpartition("/")
        name = f"{referenced[:_REFERENCED_MAX]}.{suffix}"
        group = "apis/events.k8s.io/v1" if event.action else "api/v1"
        path = f"/{group}/namespaces/{place or _DEFAULT_NAMESPACE}/events"
        body = msgspec.json.encode(_document(event, obj, now_ns, name))
        request = HttpRequest("POST", path, "", _headers_of(event), body)
        return f"{path}/{name}" if _is_accepted(server, request, now_ns) else None


def _is_patched(
    server: ApiServer, event: KubernetesEvent, path: str, body: Document, now_ns: int
) -> bool:
    headers = _headers_of(event) | _MERGE_PATCH
    request = HttpRequest("PATCH", path, "", headers, msgspec.json.encode(body))
    return _is_accepted(server, request, now_ns)


def _is_accepted(server: ApiServer, request: HttpRequest, now_ns: int) -> bool:
    reply = answered(
        lambda request, now_ns: server.handle(request, _WRITER, now_ns), request, now_ns
    )
    return isinstance(reply, HttpReply) and reply.status < 300


def _headers_of(event: KubernetesEvent) -> dict[str, str]:
    """Return headers with the component that records an Event, which is its field manager."""
    if event.action:
        return _OF_AGENTS["kube-scheduler"]
    return _OF_AGENTS.get(event.source, _OF_AGENTS["kube-controller-manager"])


def _document(
    event: KubernetesEvent, obj: KubernetesObject | None, now_ns: int, name: str
) -> Document:
    """Return the object of a new Event about an object; None if that does not exist any more."""
    regarding = _reference(event, obj)
    namespace = regarding.get("namespace") or _DEFAULT_NAMESPACE
    metadata = {"name": name, "namespace": namespace}
    if event.action:
        return {
            "metadata": metadata,
            "type": event.type,
            "reason": event.reason,
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "eventTime": timestamp_text_micro(now_ns),
            "reportingController": event.source,
            "reportingInstance": f"{event.source}-podwright",
            "action": event.action,
            "note": event.note,
            "regarding": regarding,
        }
    time = timestamp_text(now_ns)
    source = {"component": event.source}
    document: Document = {"metadata": metadata, "type": event.type, "reason": event.reason}
    if event.host:
        source["host"] = document["reportingInstance"] = event.host
    return document | {
        "apiVersion": "v1",
        "kind": "Event",
        "involvedObject": regarding,
        "message": event.note,
        "source": source,
        "firstTimestamp": time,
        "lastTimestamp": time,
        "count": 1,
        "reportingComponent": event.source,
    }


def _reference(event: KubernetesEvent, obj: KubernetesObject | None) -> dict[str, Any]:
    """Return the reference to the object of an Event."""
    namespace, _, name = event.key.rpartition("/")
    reference = {
        "kind": event.object_kind,
        "name": name,
        "uid": event.uid,
        "fieldPath": event.field_path,
        "namespace": namespace,
    }
    if api_version := _api_version_of(event, obj):
        reference["apiVersion"] = api_version
        reference["resourceVersion"] = _version_of(event, obj)
    return {name: value for name, value in reference.items() if value}


def _api_version_of(event: KubernetesEvent, obj: KubernetesObject | None) -> str:
    if obj is None:
        # The scheduler has the pods of its Events.
        return "v1" if event.action else ""
    return str(obj.raw.get("apiVersion") or "v1")


def _version_of(event: KubernetesEvent, obj: KubernetesObject | None) -> str:
    return event.resource_version if obj is None else obj.metadata.resource_version
