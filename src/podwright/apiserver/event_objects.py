"""Kubernetes Events as objects of the cluster.

An Event that equals a recent one increases the count of that object, as with the recorders of
client-go. Events of the scheduler are written as events.k8s.io/v1, others as v1; the API server
stores one kind.

Upstream: staging/src/k8s.io/client-go/tools/events/event_broadcaster.go;
tools/record/events_cache.go
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Any, Final, TypeAlias

import msgspec

from podwright.api.endpoints import ApiServer, HttpReply, HttpRequest, User
from podwright.apiserver.defects import answered
from podwright.objects import Document, timestamp_text, timestamp_text_nano
from podwright.simulation import KubernetesEvent
from podwright.store import ObjectStore

RECENT_MAX: Final = 4096
"""The number of recent Events with which new ones are compared."""

SERIES_NS: Final = 360_000_000_000
"""How long after its last occurrence an Event of the scheduler begins a new object."""

_WRITER: Final = User("system:apiserver", groups=("system:masters",))
_JSON: Final = {"content-type": "application/json", "accept": "application/json"}
_PATCH: Final = _JSON | {"content-type": "application/merge-patch+json"}
_REFERENCED_MAX: Final = 230
"""The characters of an object's name in the names of its Events, which have at most 253."""

_DEFAULT_NAMESPACE: Final = "default"

Signature: TypeAlias = tuple[str, ...]


class _Recent(msgspec.Struct):
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
        self._recent: OrderedDict[Signature, _Recent] = OrderedDict()
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
        signature = (
            event.source,
            event.object_kind,
            event.key,
            event.uid,
            event.type,
            event.reason,
            event.note,
            event.action,
            event.field_path,
        )
        recent = self._recent.get(signature)
        if recent is not None and now_ns - recent.last_ns < SERIES_NS:
            recent.count += 1
            recent.last_ns = now_ns
            self._recent.move_to_end(signature)
            body = _series_of(recent) if event.action else _count_of(recent)
            if self._is_accepted(server, "PATCH", recent.path, body, now_ns):
                return
        # Events of one object at one time need different names.
        self._count += 1
        document = _document(store, event, now_ns, suffix=f"{now_ns + self._count:x}")
        namespace = document["metadata"]["namespace"]
        group = "apis/events.k8s.io/v1" if event.action else "api/v1"
        path = f"/{group}/namespaces/{namespace}/events"
        if not self._is_accepted(server, "POST", path, document, now_ns):
            self.dropped += 1
            return
        self._recent[signature] = _Recent(f"{path}/{document['metadata']['name']}", 1, now_ns)
        if len(self._recent) > RECENT_MAX:
            self._recent.popitem(last=False)

    def _is_accepted(
        self, server: ApiServer, method: str, path: str, body: Document, now_ns: int
    ) -> bool:
        headers = _PATCH if method == "PATCH" else _JSON
        request = HttpRequest(method, path, "", headers, msgspec.json.encode(body))
        reply = answered(
            lambda request, now_ns: server.handle(request, _WRITER, now_ns), request, now_ns
        )
        return isinstance(reply, HttpReply) and reply.status < 300


def micro_time(now_ns: int) -> str:
    """Return a time as MicroTime: with six digits of the second."""
    return f"{timestamp_text_nano(now_ns)[:-4]}Z"


def _series_of(recent: _Recent) -> Document:
    last = micro_time(recent.last_ns)
    return {"series": {"count": recent.count, "lastObservedTime": last}}


def _count_of(recent: _Recent) -> Document:
    return {"count": recent.count, "lastTimestamp": timestamp_text(recent.last_ns)}


def _document(store: ObjectStore, event: KubernetesEvent, now_ns: int, *, suffix: str) -> Document:
    """Return the object of a new Event."""
    regarding = _reference(store, event)
    namespace = regarding.get("namespace") or _DEFAULT_NAMESPACE
    metadata = {"name": f"{regarding['name'][:_REFERENCED_MAX]}.{suffix}", "namespace": namespace}
    document: Document = {"metadata": metadata, "type": event.type, "reason": event.reason}
    if event.action:
        document |= {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "eventTime": micro_time(now_ns),
            "reportingController": event.source,
            "reportingInstance": f"{event.source}-podwright",
            "action": event.action,
            "note": event.note,
            "regarding": regarding,
        }
        if event.related:
            document["related"] = _pod_reference(event.related)
        return document
    time = timestamp_text(now_ns)
    source = {"component": event.source} | ({"host": event.host} if event.host else {})
    return document | {
        "apiVersion": "v1",
        "kind": "Event",
        "involvedObject": regarding,
        "message": event.note,
        "source": source,
        "firstTimestamp": time,
        "lastTimestamp": time,
        "count": 1,
    }


def _reference(store: ObjectStore, event: KubernetesEvent) -> dict[str, Any]:
    """Return the reference to the object of an Event."""
    namespace, _, name = event.key.rpartition("/")
    obj = store.get((event.group, event.object_kind), event.key)
    reference = {
        "kind": event.object_kind,
        "name": name,
        "uid": event.uid,
        "fieldPath": event.field_path,
    }
    if namespace:
        reference["namespace"] = namespace
    if obj is not None and obj.metadata.uid == event.uid:
        reference["apiVersion"] = str(obj.raw.get("apiVersion") or "v1")
        reference["resourceVersion"] = obj.metadata.resource_version
    return {name: value for name, value in reference.items() if value}


def _pod_reference(key: str) -> Document:
    namespace, _, name = key.rpartition("/")
    return {"kind": "Pod", "apiVersion": "v1", "namespace": namespace, "name": name}
