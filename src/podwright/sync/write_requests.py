"""The requests of operations, which a destination of podwright takes several at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

import msgspec

from podwright.sync.mirror import (
    AllocateClaim,
    AllocateExtended,
    BindPod,
    Create,
    Delete,
    Operation,
    PatchPod,
    Replace,
)
from podwright.sync.source_kinds import SourceKind

NOW: Final = {"gracePeriodSeconds": 0}
MERGE: Final = "application/merge-patch+json"
STRATEGIC: Final = "application/strategic-merge-patch+json"
WRITES: Final = "/podwright/v1/writes"
READ_FIRST: Final = frozenset({"persistentvolumes", "persistentvolumeclaims", "resourceclaims"})
"""Kinds of which the present object is read before it is written."""


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
    if operation.kind.resource in READ_FIRST:
        return True
    # Admission taints new nodes, which the next request takes back.
    return isinstance(operation, Create) and operation.kind.resource == "nodes"


def writes_of(operation: Operation) -> Sequence[Write]:
    """Return the requests of an operation that needs no replies in between."""
    path = path_of(operation.kind, operation.key)
    match operation:
        case Create(kind, _, obj):
            collection = kind.path(obj["metadata"].get("namespace", ""))
            return (Write("POST", collection, _raw(obj)),)
        case Replace(_, _, obj, has_status):
            body = _raw(obj)
            whole = Write("PUT", path, body)
            return (whole, Write("PUT", f"{path}/status", body)) if has_status else (whole,)
        case PatchPod(_, _, patch, subresource):
            content_type = STRATEGIC if subresource == "resize" else MERGE
            at = f"{path}/{subresource}" if subresource else path
            return (Write("PATCH", at, _raw(patch), content_type),)
        case BindPod(_, key, node):
            target = {"apiVersion": "v1", "kind": "Node", "name": node}
            binding = {"metadata": {"name": key.rpartition("/")[2]}, "target": target}
            return (Write("POST", f"{path}/binding", _raw(binding)),)
        case AllocateExtended() | AllocateClaim():
            raise AssertionError("what it writes depends on the pod")
        case Delete(kind):
            return (Write("DELETE", path, _raw(NOW if kind.resource == "pods" else None)),)


def _raw(document: object) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(document))


def path_of(kind: SourceKind, key: str) -> str:
    """Return the path of an object."""
    namespace, _, name = key.rpartition("/")
    return kind.path(namespace, name)
