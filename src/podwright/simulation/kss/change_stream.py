"""The stream `listwatchresources`: the objects of seven kinds, and their changes, as JSON lines.

Upstream: kube-scheduler-simulator simulator/resourcewatcher/resourcewatcher.go,
simulator/resourcewatcher/streamwriter
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from podwright.apimachinery.objects import PodwrightError
from podwright.simulation.kss.snapshot_import import SnapshotKind

PARAMETERS: Final[Mapping[str, str]] = {
    "pods": "podsLastResourceVersion",
    "nodes": "nodesLastResourceVersion",
    "pvs": "pvsLastResourceVersion",
    "pvcs": "pvcsLastResourceVersion",
    "storageClasses": "scsLastResourceVersion",
    "priorityClasses": "pcsLastResourceVersion",
    "namespaces": "namespaceLastResourceVersion",
}
"""The query parameter with the last version that the client knows, by the key of the kind."""

_EVENT_TYPES: Final = frozenset({"ADDED", "MODIFIED", "DELETED"})
_TYPE_FIELDS: Final = ("kind", "apiVersion")


class StreamEnded(PodwrightError):  # noqa: N818 - named for what happened
    """The watch of a kind reported an error, so the stream ends."""


class Change(msgspec.Struct, frozen=True):
    """An event of the stream.

    Attributes
    ----------
    kind : SnapshotKind
    type : str
        ADDED, MODIFIED or DELETED.
    obj : dict of str to Raw
        The object without kind and apiVersion.
    """

    kind: SnapshotKind
    type: str
    obj: dict[str, msgspec.Raw]

    def line(self, annotations: Mapping[str, str] | None = None) -> bytes:
        """Return the line, with further annotations of the object."""
        obj = self.obj
        if annotations:
            metadata = msgspec.json.decode(obj["metadata"])
            metadata["annotations"] = {**(metadata.get("annotations") or {}), **annotations}
            obj = {**obj, "metadata": msgspec.Raw(msgspec.json.encode(metadata))}
        event = {"Kind": self.kind.resource, "EventType": self.type, "Obj": obj}
        return msgspec.json.encode(event) + b"\n"


class _List(msgspec.Struct, frozen=True):
    metadata: dict[str, str | int]
    items: list[dict[str, msgspec.Raw]]


class _WatchLine(msgspec.Struct, frozen=True):
    type: str
    object: dict[str, msgspec.Raw]


def last_version(parameters: Mapping[str, str], kind: SnapshotKind) -> str:
    """Return the version after which a client continues; "" for all objects first.

    The documentation of kube-scheduler-simulator writes the parameters with a small `l`.
    """
    name = PARAMETERS[kind.key]
    return parameters.get(name) or parameters.get(name.replace("Last", "last")) or ""


def listed(kind: SnapshotKind, body: bytes) -> tuple[list[Change], str]:
    """Return the events for the objects of a list, and the version of the list."""
    found = msgspec.json.decode(body, type=_List)
    changes = [Change(kind, "ADDED", _without_type(item)) for item in found.items]
    return changes, str(found.metadata["resourceVersion"])


def change_of(kind: SnapshotKind, line: bytes) -> Change | None:
    """Return the event of a line of a watch; None for a bookmark.

    Raises
    ------
    StreamEnded
        The line is an error.
    """
    event = msgspec.json.decode(line, type=_WatchLine)
    if event.type == "ERROR":
        message = msgspec.json.decode(event.object.get("message", msgspec.Raw(b'""')))
        raise StreamEnded(f"the watch of {kind.resource} ended: {message}")
    if event.type not in _EVENT_TYPES:
        return None
    return Change(kind, event.type, _without_type(event.object))


def _without_type(obj: dict[str, msgspec.Raw]) -> dict[str, msgspec.Raw]:
    return {name: value for name, value in obj.items() if name not in _TYPE_FIELDS}
