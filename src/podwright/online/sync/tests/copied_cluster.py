"""A destination in memory: executes what a mirror decides, as an API server would."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from podwright.apimachinery.objects import Document
from podwright.apimachinery.patching import merge_patched
from podwright.online.client import Write
from podwright.online.sync.mirror import Mirror
from podwright.online.sync.operations import (
    BindPod,
    Create,
    Delete,
    Operation,
    Settle,
    settling_writes,
)
from podwright.online.sync.settlement import Difference

_RESIZED = ("containers", "initContainers")


class CopiedCluster:
    """The objects of a destination, by resource and key.

    Attributes
    ----------
    objects : dict
    writes : list of str
        What was written: `create`, `delete`, and the methods and subresources of other requests.
    """

    def __init__(self, objects: Iterable[tuple[str, str, Document]] = ()) -> None:
        self.objects: dict[tuple[str, str], Document] = {}
        self.writes: list[str] = []
        self._count = 0
        for resource, key, obj in objects:
            self._put(resource, key, obj)

    def of(self, resource: str) -> dict[str, bytes]:
        """Return the objects of a kind as JSON, by key."""
        return {k: json.dumps(o).encode() for (r, k), o in self.objects.items() if r == resource}

    def pod(self, name: str = "p") -> Document:
        """Return a pod of the namespace `default`."""
        return self.objects["pods", f"default/{name}"]

    def execute(self, operations: Iterable[Operation]) -> None:
        """Execute operations that need no devices."""
        for operation in operations:
            self._execute(operation)

    def follow(self, mirror: Mirror, *changes) -> None:
        """Execute what a mirror makes of changes."""
        for each in changes:
            self.execute(mirror.take(each))

    def start(self, mirror: Mirror, listed: Sequence[Any]) -> None:
        """Execute what a mirror makes of the first lists, each of one kind."""
        for kind, changes in listed:
            for _, operations in mirror.compare(kind, changes, self.of(kind.resource)):
                self.execute(operations)

    def compared(self, mirror: Mirror, listed: Sequence[Any]) -> list[tuple[str, Difference]]:
        """Return how the first lists differ from the destination, which does not change."""
        found = []
        for kind, changes in listed:
            for _, operations in mirror.compare(kind, changes, self.of(kind.resource)):
                for each in operations:
                    if isinstance(each, Settle) and each.present is not None:
                        settlement = each.settled(each.present)
                        both = (*settlement.differences, *settlement.kept)
                        found += [(each.key, difference) for difference in both]
                    else:
                        found.append((each.key, Difference("", None, type(each).__name__)))
        return found

    def _execute(self, operation: Operation) -> None:
        place = (operation.kind.resource, operation.key)
        match operation:
            case Create(kind, key, obj):
                assert place not in self.objects, "the API server answers 409"
                self.writes.append("create")
                self._put(kind.resource, key, obj)
            case Delete():
                self.writes.append("delete")
                del self.objects[place]
            case BindPod(_, _, node):
                self.writes.append("bind")
                self.objects[place]["spec"]["nodeName"] = node
            case Settle():
                present = self.objects.get(place)
                if present is None:
                    assert operation.kind.resource == "pods"
                    return
                settlement = operation.settled(present)
                for write in settling_writes(operation, settlement, present):
                    self._write(place, write)
                assert not operation.settled(self.objects[place]).differences, settlement
            case _:
                raise AssertionError("devices are tested elsewhere")

    def _put(self, resource: str, key: str, obj: Document) -> None:
        self._count += 1
        server = {"uid": f"here-{self._count}", "resourceVersion": str(self._count)}
        obj = json.loads(json.dumps(obj))
        obj["metadata"] |= server
        self.objects[resource, key] = obj

    def _write(self, place: tuple[str, str], write: Write) -> None:
        present, body = self.objects[place], msgspec.json.decode(write.body)
        part = write.path.rpartition("/")[2]
        part = part if part in ("status", "resize") else ""
        self.writes.append(f"{write.method} {part}".strip())
        if write.method == "PUT":
            version = body["metadata"].get("resourceVersion")
            assert part or version == present["metadata"]["resourceVersion"], "409"
            self.objects[place] = {**present, "status": body.get("status")} if part else {
                **{k: v for k, v in body.items() if k != "status"},
                **({"status": present["status"]} if "status" in present else {}),
            }  # fmt: skip
        elif part == "resize":
            for field in _RESIZED:
                for one in body["spec"].get(field, ()):
                    for each in present["spec"][field]:
                        if each["name"] == one["name"]:
                            each["resources"] = one["resources"]
        else:
            self.objects[place] = merge_patched(present, body)
        self._count += 1
        self.objects[place]["metadata"]["resourceVersion"] = str(self._count)
