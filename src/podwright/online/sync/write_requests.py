"""The requests of operations, which a destination of podwright takes several at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

import msgspec

from podwright.apimachinery.objects import Document
from podwright.online.sync.operations import (
    AllocateClaim,
    AllocateExtended,
    BindPod,
    Create,
    Delete,
    Operation,
    Settle,
)
from podwright.online.sync.settlement import Settlement, pod_patches
from podwright.online.sync.source_kinds import SourceKind

NOW: Final = {"gracePeriodSeconds": 0}
MERGE: Final = "application/merge-patch+json"
STRATEGIC: Final = "application/strategic-merge-patch+json"
WRITES: Final = "/podwright/v1/writes"


class Write(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A request that changes something."""

    method: Literal["POST", "PUT", "PATCH", "DELETE"]
    path: str
    body: msgspec.Raw = msgspec.Raw(b"null")
    content_type: str = "application/json"


class Writes(msgspec.Struct, frozen=True):
    """Several requests, which are executed in order."""

    writes: Sequence[Write]


class Reply(msgspec.Struct, frozen=True):
    """The reply to one of several requests."""

    status: int
    body: msgspec.Raw


class Replies(msgspec.Struct, frozen=True):
    """The replies to several requests, one for each, in order."""

    replies: Sequence[Reply]


REPLIES: Final = msgspec.json.Decoder(Replies)


def is_separate(operation: Operation) -> bool:
    """Whether an operation needs what the destination has, or replies, before its next request."""
    if isinstance(operation, Create):
        # A volume refers to a claim; and admission taints new nodes, which is taken back.
        return operation.kind.resource in ("nodes", "persistentvolumes")
    return not isinstance(operation, BindPod | Delete)


def writes_of(operation: Operation) -> Sequence[Write]:
    """Return the requests of an operation that needs no replies in between."""
    path = path_of(operation.kind, operation.key)
    match operation:
        case Create(kind, _, obj):
            collection = kind.path(obj["metadata"].get("namespace", ""))
            return (Write("POST", collection, _raw(obj)),)
        case BindPod(_, key, node):
            target = {"apiVersion": "v1", "kind": "Node", "name": node}
            binding = {"metadata": {"name": key.rpartition("/")[2]}, "target": target}
            return (Write("POST", f"{path}/binding", _raw(binding)),)
        case Delete(kind):
            return (Write("DELETE", path, _raw(NOW if kind.resource == "pods" else None)),)
        case Settle() | AllocateExtended() | AllocateClaim():
            raise AssertionError("what it writes depends on what the destination has")


def settling_writes(
    operation: Settle, settlement: Settlement, present: Document
) -> Sequence[Write]:
    """Return the requests that settle an object; none if it is as it should be."""
    if not settlement.differences:
        return ()
    path = path_of(operation.kind, operation.key)
    if operation.kind.resource == "pods":
        return [
            Write(
                "PATCH", f"{path}/{subresource}" if subresource else path, _raw(patch),
                STRATEGIC if subresource == "resize" else MERGE,
            )
            for subresource, patch in pod_patches(settlement, present)
        ]  # fmt: skip
    of_status = [each.path.startswith("status") for each in settlement.differences]
    aim = settlement.obj
    writes = [] if all(of_status) else [Write("PUT", path, _raw(aim))]
    if any(of_status):
        # The first request has changed the version; and a status is that of the source whole.
        metadata = {k: v for k, v in aim["metadata"].items() if k != "resourceVersion"}
        writes.append(Write("PUT", f"{path}/status", _raw({**aim, "metadata": metadata})))
    return writes


def _raw(document: object) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(document))


def path_of(kind: SourceKind, key: str) -> str:
    """Return the path of an object."""
    namespace, _, name = key.rpartition("/")
    return kind.path(namespace, name)
