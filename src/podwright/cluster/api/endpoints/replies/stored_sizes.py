"""Requests whose objects etcd does not store."""

from __future__ import annotations

from typing import Final

from podwright.apimachinery.objects import Document
from podwright.cluster.api.endpoints.calls import Call
from podwright.cluster.api.stored_sizes import REQUEST_MAX_BYTES, storable

_FEW_BYTES: Final = REQUEST_MAX_BYTES // 8
"""A body of this length, and an object of this size, make no object that is too large."""


def fitting(call: Call, document: Document, *, before_bytes: int = 0) -> Document:
    """Return an object as etcd can store it; see `storable`.

    Parameters
    ----------
    call : Call
    document : dict
        The object that will be stored.
    before_bytes : int
        The size of the object that it replaces.

    Raises
    ------
    Rejection
        It is too large.
    """
    body = call.request.body
    # Aliases, and operations of a JSON patch, say much in few bytes.
    says_much = b"&" in body or b'"copy"' in body
    if not says_much and len(body) + before_bytes <= _FEW_BYTES:
        return document
    return storable(document, is_custom=call.resource.is_custom)
