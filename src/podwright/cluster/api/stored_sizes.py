"""The largest object that etcd stores, and what it answers about a larger one.

etcd limits the size of a request, and kube-apiserver stores custom resources as JSON, all other
objects as protobuf. Its size is computed from the document, without the numbers of the fields: one
byte for the number, one to three for the length of what follows, and no names but those of maps.

Upstream: etcd server/embed/config.go, DefaultMaxRequestBytes; etcd server/etcdserver/v3_server.go,
processInternalRaftRequestOnce
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from podwright._interludes import interlude
from podwright.apimachinery.objects import Document
from podwright.cluster.api.rejections import Rejection

REQUEST_MAX_BYTES: Final = 3 * 512 * 1024
"""etcd's `--max-request-bytes`."""

_REQUEST_BYTES: Final = 160
"""What a request has besides the object, without its key."""

SIZE_MAX_BYTES: Final = REQUEST_MAX_BYTES - _REQUEST_BYTES
"""The largest size of an object."""

_MAPS: Final = frozenset(
    {
        *("annotations", "binaryData", "data", "labels", "matchLabels", "nodeSelector"),
        *("allocatable", "capacity", "hard", "limits", "parameters", "requests", "used"),
        *("attributes", "options", "optionalNodeSelector", "selector", "volumeAttributes"),
    }
)
_TIMES: Final = ("Time", "Timestamp")
_TIME_BYTES: Final = 8


def storable(document: Document, *, is_custom: bool) -> Document:
    """Return an object as etcd can store it: one that is too large loses its managed fields.

    Upstream: staging/src/k8s.io/apiserver/pkg/endpoints/handlers/create.go, isTooLargeError

    Raises
    ------
    Rejection
        It is too large even so.
    """
    with interlude():
        if _fits(document, is_custom=is_custom):
            return document
        metadata = {**(document.get("metadata") or {})}
        metadata.pop("managedFields", None)
        bare = document | {"metadata": metadata}
        if not _fits(bare, is_custom=is_custom):
            # Upstream has no status for errors of etcd: it answers them as its own.
            raise Rejection(500, "", "etcdserver: request is too large")
        return bare


def _fits(document: Document, *, is_custom: bool) -> bool:
    size = len(msgspec.json.encode(document))
    if size > SIZE_MAX_BYTES and not is_custom:
        size = protobuf_size(document)
    return size <= SIZE_MAX_BYTES


def protobuf_size(document: Document) -> int:
    """Return about how many bytes an object of a built-in kind takes as protobuf."""
    return _of_fields(document, has_names=False)


def _of_fields(fields: dict[str, Any], *, has_names: bool) -> int:
    total = 0
    for name, value in fields.items():
        if has_names:
            entry = _with_length(len(name.encode())) + _of_field("", value)
            total += _with_length(entry)
        elif isinstance(value, list):
            total += sum(_of_field(name, each) for each in value)
        else:
            total += _of_field(name, value)
    return total


def _of_field(name: str, value: Any) -> int:
    if isinstance(value, str):
        if name.endswith(_TIMES):
            return _with_length(_TIME_BYTES)
        return _with_length(len(value.encode()))
    if isinstance(value, dict):
        if name == "fieldsV1":
            return _with_length(_with_length(len(msgspec.json.encode(value))))
        return _with_length(_of_fields(value, has_names=name in _MAPS))
    if isinstance(value, list):
        return _with_length(sum(_of_field(name, each) for each in value))
    if isinstance(value, bool) or value is None:
        return 2
    return 1 + max(1, (int(value).bit_length() + 6) // 7)


def _with_length(size: int) -> int:
    """Return the size of a field with a length."""
    return size + 2 + (size >= 1 << 7) + (size >= 1 << 14) + (size >= 1 << 21)
