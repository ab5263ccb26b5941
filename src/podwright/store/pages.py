"""Pages of a list, and their continue tokens.

A token has upstream's form: the version of the first page and the start key of the next.
Version -1 continues with the current state.

Upstream: staging/src/k8s.io/apiserver/pkg/storage/continue.go
"""

from __future__ import annotations

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

import msgspec

from podwright.objects import KubernetesObject, NamespacedName
from podwright.store.errors import InvalidContinue
from podwright.store.query import Query
from podwright.store.table import KindTable

Before: TypeAlias = Mapping[NamespacedName, KubernetesObject | None]
"""The objects that changed since a version, in their state of that version; None if absent."""

_UNCHANGED: Before = {}

_TOKEN_VERSION = "meta.k8s.io/v1"
NEWEST = -1
"""The version of a token that continues with the current state."""


class Page(msgspec.Struct, frozen=True, gc=False):
    """A list, or a part of one.

    Attributes
    ----------
    objects : tuple of KubernetesObject
        In the order of their keys, compared as text.
    resource_version : int
        The version of the state that all pages show.
    continue_token : str
        The token of the next page; empty on the last page.
    remaining_count : int or None
        The number of objects that follow; None if the list has conditions or nothing follows.
    """

    objects: tuple[KubernetesObject, ...]
    resource_version: int
    continue_token: str = ""
    remaining_count: int | None = None


class _Token(msgspec.Struct, frozen=True):
    v: str
    rv: int
    start: str


def token_for(version: int, last: NamespacedName) -> str:
    """Return the token for the page after a key."""
    token = msgspec.json.encode(_Token(_TOKEN_VERSION, version, f"{last}\0"))
    return urlsafe_b64encode(token).rstrip(b"=").decode()


def read_token(text: str) -> tuple[int, NamespacedName]:
    """Return the version and the last key of the page before.

    Raises
    ------
    InvalidContinue
        The text is not a valid token.
    """
    try:
        # `token_for` removes the padding, which the decoder requires.
        padded = text.encode("ascii") + b"=" * (-len(text) % 4)
        token = msgspec.json.decode(urlsafe_b64decode(padded), type=_Token)
    except (ValueError, binascii.Error, msgspec.MsgspecError) as error:
        raise InvalidContinue(f"continue key is not valid: {error}") from None
    if token.v != _TOKEN_VERSION or not token.start.endswith("\0") or token.rv < NEWEST:
        raise InvalidContinue("continue key is not valid: not made by a list of this store")
    return token.rv, token.start[:-1]


def read_page(
    table: KindTable,
    query: Query,
    *,
    version: int,
    before: Before = _UNCHANGED,
    after: NamespacedName | None = None,
    limit: int | None = None,
) -> Page:
    """Return the objects that match, or one page of them.

    Parameters
    ----------
    table : KindTable
        The current objects and their indexes. Its `examined_count` is increased.
    query : Query
        The conditions.
    version : int
        The version of the state.
    before : mapping
        The objects that changed since that version, as they were then.
    after : NamespacedName, optional
        The last key of the previous page.
    limit : int, optional
        The maximum number of objects; None or 0 for all.
    """
    found: list[KubernetesObject] = []
    left = 0
    # One object more than the limit shows whether there is a next page.
    read_limit = limit + 1 if limit and limit > 0 else None
    for run in _runs(table, query, before):
        start = 0 if after is None else bisect_right(run, after)
        missing = None if read_limit is None else read_limit - len(found)
        left += len(run) - _take(run, start, missing, table, before, query, found)
    if read_limit is None or len(found) < read_limit:
        return Page(tuple(found), version)
    page = tuple(found[:-1])
    is_counted = not query.has_conditions
    # The extra object was read but is not on the page, so it remains too: `left + 1`.
    return Page(page, version, token_for(version, page[-1].key), left + 1 if is_counted else None)


def _take(
    run: Sequence[NamespacedName],
    start: int,
    missing: int | None,
    table: KindTable,
    before: Before,
    query: Query,
    found: list[KubernetesObject],
) -> int:
    """Add the matching objects of a run to `found`; return the index after the last one read."""
    objects = table.objects
    stop = len(run) if missing is None else min(len(run), start + missing)
    if query.is_empty and not before:
        found.extend([objects[key] for key in run[start:stop]])
        table.examined_count += stop - start
        return stop
    matches = query.matches
    read_limit = None if missing is None else len(found) + missing
    for index in range(start, len(run)):
        if len(found) == read_limit:
            return index
        key = run[index]
        obj = before[key] if key in before else objects[key]
        table.examined_count += 1
        if obj is not None and matches(obj):
            found.append(obj)
    return len(run)


def _runs(table: KindTable, query: Query, before: Before) -> Iterable[Sequence[NamespacedName]]:
    """Return the keys to examine, in sorted runs that are in order."""
    candidates = table.candidates(query)
    if not before:
        return table.ordered(query.namespace) if candidates is None else [sorted(candidates)]
    keys = set(candidates or ())
    if candidates is None:
        for run in table.ordered(query.namespace):
            keys.update(run)
    # The indexes show the current state; an object that changed may have matched only before.
    for key, obj in before.items():
        if obj is None:
            keys.discard(key)
        elif query.matches(obj):
            keys.add(key)
    return [sorted(keys)]
