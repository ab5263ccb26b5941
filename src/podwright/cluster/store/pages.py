"""Pages of a list, and their continue tokens.

A token has upstream's form: the version of the first page and the start key of the next.
Version -1 continues with the current state.

Upstream: staging/src/k8s.io/apiserver/pkg/storage/continue.go
"""

from __future__ import annotations

import binascii
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TypeAlias

import msgspec

from podwright.apimachinery.objects import KubernetesObject, NamespacedName, go_json_error
from podwright.cluster.store.errors import GroupKind, InvalidContinue
from podwright.cluster.store.history import History, PastState
from podwright.cluster.store.query import Query
from podwright.cluster.store.table import KindTable

Before: TypeAlias = Mapping[NamespacedName, KubernetesObject | None]
"""The objects that changed since a version, in their state of that version; None if absent."""

_UNCHANGED: Before = {}

_TOKEN_VERSION = "meta.k8s.io/v1"
_WRONG_VERSION = (
    f"continue key is not valid: incorrect encoded start resourceVersion (version {_TOKEN_VERSION})"
)
_EMPTY_START = f"continue key is not valid: encoded start key empty (version {_TOKEN_VERSION})"
_CLEAN = re.compile(r"/?(?!\.{1,2}(?:/|$))[^/]+(?:/(?!\.{1,2}(?:/|$))[^/]+)*")
_LAST_LETTER = "\U0010ffff"
NEWEST = -1
"""The version of a token that continues with the current state."""


_LIMIT_MAX = 2**31
"""More objects than there can be."""


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
    v: str = ""
    rv: int = 0
    start: str = ""


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
        decoded = urlsafe_b64decode(padded)
    except (ValueError, binascii.Error) as error:
        raise InvalidContinue(f"continue key is not valid: {error}") from None
    try:
        token = msgspec.json.decode(decoded, type=_Token)
    except msgspec.ValidationError as error:
        raise InvalidContinue(f"continue key is not valid: {error}") from None
    except msgspec.DecodeError as error:
        text = go_json_error(decoded, error)
        raise InvalidContinue(f"continue key is not valid: {text}") from None
    if token.v != _TOKEN_VERSION:
        text = "continue key is not valid: server does not recognize this encoded version"
        raise InvalidContinue(f"{text} {token.v}")
    if token.rv == 0 or token.rv < NEWEST:
        raise InvalidContinue(_WRONG_VERSION)
    if not token.start:
        raise InvalidContinue(_EMPTY_START)
    if not _CLEAN.fullmatch(token.start):
        raise InvalidContinue(f"continue key is not valid: {token.start}")
    if token.start.endswith("\0"):
        return token.rv, token.start[:-1]
    # A key that no page ended with: the last one before it.
    return token.rv, f"{token.start[:-1]}{chr(ord(token.start[-1]) - 1)}{_LAST_LETTER}"


def read_page(
    table: KindTable,
    query: Query,
    *,
    version: int,
    past: PastState | None = None,
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
    past : PastState, optional
        The state of that version if objects of the kind changed since.
    after : NamespacedName, optional
        The last key of the previous page.
    limit : int, optional
        The maximum number of objects; None or 0 for all.
    """
    # One object more than the limit shows whether there is a next page.
    read_limit = min(limit, _LIMIT_MAX) + 1 if limit is not None and limit > 0 else None
    keys = _keys(table, query, past, after, read_limit)
    if past is None and not query.has_conditions:
        objects = table.objects
        found = [objects[key] for key in islice(keys, read_limit)]
        table.examined_count += len(found)
    else:
        matching = _matching(table, query, past, keys)
        found = list(islice(matching, read_limit))
    if read_limit is None or len(found) < read_limit:
        if limit and len(found) == limit:
            # As upstream, which does not read on to see whether another object matches.
            last = found[-1].key
            after_last = table.after(last, query.namespace)
            if past is not None:
                after_last = past.keys(after_last, last, query.namespace)
            if next(iter(after_last), None) is not None:
                return Page(tuple(found), version, token_for(version, last))
        return Page(tuple(found), version)
    page = tuple(found[:-1])
    last = page[-1].key
    if query.has_conditions:
        return Page(page, version, token_for(version, last))
    left = table.count_after(last, query.namespace)
    if past is not None:
        left += past.count_change(last, query.namespace, table.objects.get)
    return Page(page, version, token_for(version, last), left)


def _matching(
    table: KindTable, query: Query, past: PastState | None, keys: Iterable[NamespacedName]
) -> Iterator[KubernetesObject]:
    objects, matches = table.objects, query.matches
    before: Before = _UNCHANGED if past is None else past.before
    for key in keys:
        obj = before[key] if key in before else objects[key]
        table.examined_count += 1
        if obj is not None and matches(obj):
            yield obj


def _keys(
    table: KindTable,
    query: Query,
    past: PastState | None,
    after: NamespacedName | None,
    read_limit: int | None,
) -> Iterable[NamespacedName]:
    """Return the keys to examine after a key, in order."""
    candidates = table.candidates(query)
    if candidates is not None and read_limit is not None:
        # A page of many candidates is found sooner in the order of all keys than by sorting them.
        found = len(candidates)
        if read_limit * table.count(query.namespace) < found * found:
            candidates = None
    if candidates is None:
        current = table.after(after, query.namespace)
        return current if past is None else past.keys(current, after, query.namespace)
    keys = candidates
    if past is not None:
        # The indexes show the current state; a changed object may have matched only before.
        was = {key for key, obj in past.before.items() if obj is not None and query.matches(obj)}
        keys = was.union(key for key in candidates if key not in past.before)
    return sorted(keys if after is None else (key for key in keys if key > after))


# Reading very many objects part by part, all in their state of one version.
#
# A copy of 50,000 references takes 20 ms, and as long again in each garbage collection while it is
# young. So a reader keeps only its place, and the objects that have changed since its version.

Place: TypeAlias = NamespacedName | int | None
"""How far a reader has read: the last key, or the number of objects of a few that it has found."""

EXAMINED_MAX = 1_000
"""The largest number of objects that one read examines: about two milliseconds."""


class ObjectReader:
    """Reads the objects that match a query as they are now, in the order of their keys.

    Created by `ObjectStore.reader`, which calls `take_up` before it discards history.

    Parameters
    ----------
    table : KindTable
        The current objects.
    kind : GroupKind
        Their kind.
    query : Query
        The conditions.
    history : History
        The changes of the store.

    Attributes
    ----------
    version : int
        The version of the state.
    is_done : bool
        Whether all objects were read.
    """

    def __init__(self, table: KindTable, kind: GroupKind, query: Query, history: History) -> None:
        self.version = history.current
        self.is_done = False
        self._table = table
        self._kind = kind
        self._query = query
        self._history = history
        self._past = PastState(self.version)
        self._last: NamespacedName | None = None
        self._found: Sequence[KubernetesObject] | None = None
        self._count = 0
        candidates = table.candidates(query)
        if candidates is not None and len(candidates) <= EXAMINED_MAX:
            self._found = read_page(table, query, version=self.version).objects

    @property
    def until(self) -> int:
        """The version up to which the reader knows all changes."""
        return self._past.until

    def take_up(self, until: int) -> None:
        """Take up the changes up to a version, which may then be discarded."""
        if until > self.until and not self.is_done and self._found is None:
            changes = self._history.after(self.until, self._kind, until)
            self._past.take_up(changes, until)

    def read(self, limit: int) -> list[KubernetesObject]:
        """Return the next objects, at most a limit; with conditions there may be none yet."""
        if self._found is not None:
            found = list(self._found[self._count : self._count + limit])
            self._count += len(found)
            self.is_done = len(found) < limit
            return found
        if self.is_done:
            return []
        self.take_up(self._history.current)
        has_conditions = self._query.has_conditions
        examined_max = EXAMINED_MAX if has_conditions else limit
        examined = list(islice(self._keys(), examined_max))
        objects, before, matches = self._table.objects, self._past.before, self._query.matches
        found = []
        for key in examined:
            self._last = key
            self._table.examined_count += 1
            obj = before[key] if key in before else objects[key]
            if obj is not None and (not has_conditions or matches(obj)):
                found.append(obj)
                if has_conditions and len(found) == limit:
                    return found
        self.is_done = len(examined) < examined_max
        return found

    @property
    def place(self) -> Place:
        """How far the reader has read."""
        return self._last if self._found is None else self._count

    def skip_to(self, place: Place) -> None:
        """Take as read what another reader of the same objects has read until a place."""
        if self._found is None:
            assert not isinstance(place, int), f"a number of objects: {place}"
            self._last = place
        else:
            assert isinstance(place, int), f"a key: {place}"
            self._count = place

    def parts(self, limit: int) -> Iterator[list[KubernetesObject]]:
        """Yield the results of `read` until all objects were read."""
        while not self.is_done:
            yield self.read(limit)

    def _keys(self) -> Iterator[NamespacedName]:
        """Yield the keys after the last one that existed at the version, in order."""
        namespace = self._query.namespace
        current = self._table.after(self._last, namespace)
        return self._past.keys(current, self._last, namespace) if self._past.before else current
