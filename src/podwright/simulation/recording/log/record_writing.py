"""Writing records of changes: one JSON line per change, as `files.record` reads them.

A line is `{"time": ..., "event": ..., "resource": ...}` in this order. An Add and an Update
have the whole object; a Delete has no more than says which object it was, with `"namespace":""`
outside of namespaces. Times are in UTC, with nine digits after the second.

Objects that are there at the start are written as Adds in the order in which upstream's
recorder starts to watch kinds, so that what others need is there before them.

Upstream: kube-scheduler-simulator simulator/recorder/recorder.go
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from podwright.apimachinery.objects import (
    KubernetesObject,
    Namespace,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    PriorityClass,
    StorageClass,
    encode,
    timestamp_text_nano,
)
from podwright.cluster.store import GroupKind, WatchEvent, group_kind, kind_of
from podwright.scheduler.machine import ObjectDeleted, ObjectPut
from podwright.simulation.files import ChangeType, RecordLine
from podwright.simulation.recording.log.decision_log import DecisionLog

_ORDER = [
    group_kind(cls)
    for cls in (
        Namespace,
        PriorityClass,
        StorageClass,
        PersistentVolumeClaim,
        Node,
        PersistentVolume,
    )
]
_POD = group_kind(Pod)
_EVENT_OF: dict[str, ChangeType] = {"ADDED": "Add", "MODIFIED": "Update", "DELETED": "Delete"}


def record_line(time_ns: int, event: ChangeType, obj: KubernetesObject) -> bytes:
    """Encode one change, with its line feed.

    Parameters
    ----------
    time_ns : int
        In nanoseconds since 1970.
    obj : KubernetesObject
        After the change; of a Delete only its name counts.
    """
    resource = _name_of(obj) if event == "Delete" else encode(obj)
    line = {"time": timestamp_text_nano(time_ns), "event": event, "resource": resource}
    return msgspec.json.encode(line) + b"\n"


def write_record(lines: Iterable[RecordLine]) -> bytes:
    """Encode changes that were read."""
    return b"".join([record_line(one.seen_ns, one.event, one.object) for one in lines])


def initial_lines(objects: Iterable[KubernetesObject], time_ns: int) -> Iterator[bytes]:
    """Encode existing objects as additions at one time.

    They keep their order within their kind. The kinds that upstream's recorder does not know
    come before the pods.
    """
    for obj in sorted(objects, key=_rank):
        yield record_line(time_ns, "Add", obj)


def record_of_watch(events: Iterable[tuple[int, WatchEvent]]) -> Iterator[bytes]:
    """Encode the events of a watch of a store, with their times, without bookmarks."""
    for time_ns, event in events:
        if event.object is not None:
            yield record_line(time_ns, _EVENT_OF[event.type], event.object)


def record_of_log(log: DecisionLog) -> Iterator[bytes]:
    """Encode the changes of objects in a recorded run, at their times.

    An object that the machine received twice without a change is written once. An object that
    is gone before the machine received it is left out.
    """
    known: dict[tuple[GroupKind, str], KubernetesObject] = {}
    for entry in log.entries():
        match entry.event:
            case ObjectPut(obj):
                key = (kind_of(obj), obj.key)
                before = known.get(key)
                if before is not obj and (before is None or encode(before) != encode(obj)):
                    event: ChangeType = "Add" if before is None else "Update"
                    yield record_line(entry.now_ns, event, obj)
                known[key] = obj
            case ObjectDeleted(obj):
                if known.pop((kind_of(obj), obj.key), None) is not None:
                    yield record_line(entry.now_ns, "Delete", obj)
            case _:
                continue


def _name_of(obj: KubernetesObject) -> dict[str, Any]:
    return {
        "apiVersion": obj.api_version,
        "kind": obj.kind,
        "metadata": {"name": obj.name, "namespace": obj.namespace},
    }


def _rank(obj: KubernetesObject) -> int:
    kind = kind_of(obj)
    if kind in _ORDER:
        return _ORDER.index(kind)
    return len(_ORDER) + (kind == _POD)
