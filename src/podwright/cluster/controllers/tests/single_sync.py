"""One controller over given objects, without a store: which keys it returns, and what it requests.

Requests are texts: an update is the fields that it changes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from podwright.apimachinery.objects import KubernetesObject, encode
from podwright.cluster.api import (
    CreateObject,
    DeleteObject,
    EvictPod,
    RecordEvent,
    UpdateObject,
)
from podwright.cluster.controllers.interface import Controller, ReportedWrite, SyncAt
from podwright.cluster.controllers.lister import Lister
from podwright.cluster.controllers.tests.staged_cluster import NOW, SECOND
from podwright.cluster.store import kind_of


class SingleSync:
    """A controller and the objects that it knows.

    Parameters
    ----------
    make : callable
        Constructs the controller for the lister.
    objects : KubernetesObject
        They are delivered in this order.
    """

    def __init__(self, make: Callable[[Lister], Controller], *objects: KubernetesObject) -> None:
        self.lister = Lister()
        self.controller = make(self.lister)
        for each in objects:
            self.put(each)

    def put(self, obj: KubernetesObject) -> list[str]:
        """Deliver a new version, and return the keys to sync."""
        old = self.lister.put(obj)
        return list(dict.fromkeys(self.controller.observe(old, obj)))

    def remove(self, obj: KubernetesObject) -> list[str]:
        """Deliver a removal, and return the keys to sync."""
        old = self.lister.delete(obj)
        return list(dict.fromkeys(self.controller.observe(old, None)))

    def sync(self, key: str, seconds: float = 0) -> list[str]:
        """Return what the controller requests at a time, in seconds since the start."""
        now_ns = NOW + int(seconds * SECOND)
        return [
            self.text(each)
            for action in self.controller.sync(key, now_ns)
            for each in (action, *getattr(action, "then", ()))
        ]

    def text(self, action: Any) -> str:
        match action:
            case CreateObject(obj=obj):
                return f"create {json.dumps(encode(obj))}"
            case UpdateObject(obj=obj, scope=scope):
                old = self.lister.get(kind_of(obj), obj.key)
                assert old is not None, f"{obj.key} does not exist"
                found = " ".join(changes(encode(old), encode(obj)))
                return f"update {obj.kind} {obj.key} {scope}: {found}"
            case DeleteObject(object_kind=kind, key=key, grace_seconds=grace):
                return f"delete {kind} {key}" + ("" if grace is None else f" within {grace}s")
            case EvictPod(pod=key):
                return f"evict {key}"
            case RecordEvent(object_kind=kind, key=key, type=severity, reason=reason, note=note):
                return f"{severity} {kind} {key} {reason} by {action.source}: {note}"
            case ReportedWrite(request=request, succeeded=event):
                return "; ".join(self.text(each) for each in (request, event) if each is not None)
            case SyncAt(due_ns=due_ns, event=event):
                return f"sync {event.key} at {(due_ns - NOW) / SECOND:g}"
            case _:
                raise AssertionError(f"unknown: {action}")


def changes(old: Any, new: Any, path: str = "") -> Iterator[str]:
    """Yield the fields that differ, with their new values."""
    for name in sorted(old.keys() | new.keys()):
        place = f"{path}.{name}" if path else name
        if name not in new:
            yield f"-{place}"
        elif isinstance(new[name], dict) and isinstance(old.get(name, {}), dict):
            yield from changes(old.get(name, {}), new[name], place)
        elif old.get(name) != new[name]:
            yield f"{place}={json.dumps(new[name])}"
