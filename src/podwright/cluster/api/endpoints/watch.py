"""Watches: initial events, changes, bookmarks, and the end by time or by an error.

A `Watch` is polled; it reads no clock and has no thread.

Upstream: staging/src/k8s.io/apiserver/pkg/endpoints/handlers/watch.go;
staging/src/k8s.io/apiserver/pkg/storage/cacher/{cacher,cache_watcher}.go
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Final

from podwright.apimachinery.objects import (
    SECOND_NS,
    Document,
    FieldRequirement,
    FieldSelector,
)
from podwright.cluster.api.endpoints.calls import Backend, Call
from podwright.cluster.api.endpoints.options import ListOptions, list_options, parsed_version
from podwright.cluster.api.endpoints.read import stored_fields
from podwright.cluster.api.endpoints.replies.negotiation import MediaType, check_stream
from podwright.cluster.api.endpoints.replies.responses import (
    CACHE_CONTROL,
    included,
    partial,
    table_of,
    warning_headers,
)
from podwright.cluster.api.endpoints.request import Headers, HttpReply
from podwright.cluster.api.endpoints.shared_lines import InitialParts, encoded_line, event_line
from podwright.cluster.api.rejections import (
    Rejection,
    bad_request,
    expired,
    version_too_large,
)
from podwright.cluster.store import Cursor, Expired, WatchEvent

INITIAL_EVENTS_END: Final = "k8s.io/initial-events-end"
BOOKMARK_PERIOD_NS: Final = 60_000_000_000
BOOKMARK_BEFORE_END_NS: Final = 2_000_000_000
DEFAULT_TIMEOUT_NS: Final = 1_800_000_000_000
"""The shortest timeout that upstream chooses; it draws up to twice as much."""

_POLL_MAX: Final = 200

_TABLES_MAX: Final = 20
_TABLE_PART_BYTES: Final = 8 * 1024
"""A table takes ten times as long as an object that is encoded already."""


class Watch:
    """A stream of events, which the driver polls and sends.

    Parameters
    ----------
    call : Call
    cursor : Cursor or None
        The changes; None for a stream that is only an error.
    options : ListOptions
    error : Rejection, optional
        The error that ends the stream at once.

    Attributes
    ----------
    status : int
    headers : tuple of pairs
        What is sent before the first event.
    deadline_ns : int
        When the stream ends.
    """

    def __init__(
        self,
        call: Call,
        cursor: Cursor | None,
        options: ListOptions,
        error: Rejection | None = None,
    ) -> None:
        self.status = 200
        self.headers: Headers = (
            CACHE_CONTROL,
            ("content-type", call.media.content_type),
            *warning_headers(call.warnings),
        )
        timeout_ns = _go_duration(options.timeout_seconds or 0) or DEFAULT_TIMEOUT_NS
        self.deadline_ns = call.now_ns + timeout_ns
        self._call = call
        self._cursor = cursor
        self._error = error
        self._allows_bookmarks = options.allows_bookmarks
        self._next_bookmark_ns = self._bookmark_after(call.now_ns)
        self._has_columns = True
        self._now_ns = call.now_ns
        # A table has ages, and its columns only once.
        self._is_alone = call.media.transformation == "Table"
        self._stream = self._identity()
        self._initial: InitialParts | None = None
        if cursor is not None and cursor.has_initial_events:
            is_alone, version = self._is_alone, cursor.initial_version
            self._initial = (
                InitialParts(_TABLE_PART_BYTES)
                if is_alone
                else call.lines.initial(self._stream, version)
            )
        self._is_closed = call.media.transformation == "PartialObjectMetadataList"
        self._is_closed = self.is_closed(call.now_ns)  # at once also if the timeout overflows

    def _identity(self) -> Hashable:
        """Return what determines the lines of the stream between two versions."""
        call, request = self._call, self._call.request
        return (
            call.resource,
            call.info.namespace,
            call.info.name,
            request.parameter("labelSelector"),
            request.parameter("fieldSelector"),
            call.media.transformation,
            call.media.version,
        )

    def is_closed(self, now_ns: int) -> bool:
        """Whether the stream has ended; `poll` returned the last events."""
        return self._is_closed or now_ns >= self.deadline_ns

    @property
    def next_due_ns(self) -> int:
        """When the stream needs to be polled although nothing has changed."""
        if not self._allows_bookmarks:
            return self.deadline_ns
        return min(self.deadline_ns, self._next_bookmark_ns)

    @property
    def is_behind(self) -> bool:
        """Whether there are changes that were not polled."""
        return self._error is not None or (self._cursor is not None and self._cursor.is_behind)

    def _bookmark_after(self, now_ns: int) -> int:
        """Return the time of the next bookmark: once a period, and shortly before the end."""
        last_ns = self.deadline_ns - BOOKMARK_BEFORE_END_NS
        if now_ns >= last_ns:
            return self.deadline_ns
        return min(now_ns + BOOKMARK_PERIOD_NS, last_ns)

    def poll(self, now_ns: int) -> list[bytes]:
        """Return the events since the last call, each a line of JSON.

        Parameters
        ----------
        now_ns : int
            The time, in nanoseconds since 1970.
        """
        texts = [self.read(now_ns)]
        while self.is_behind and not self._is_closed:
            texts.append(self.read(now_ns))
        return b"".join(texts).splitlines(keepends=True)

    def read(self, now_ns: int) -> bytes:
        """Return the lines of the next events, as many as take about a millisecond.

        The others are left for the next call.

        Parameters
        ----------
        now_ns : int
            The time, in nanoseconds since 1970.
        """
        if self._is_closed:
            return b""
        self._now_ns = now_ns
        if self._error is not None or self._cursor is None:
            assert self._error is not None, "a stream without changes has an error"
            self._is_closed = True
            return encoded_line("ERROR", self._error.status)
        try:
            # Also a watch without news reads on, so that it does not expire.
            text = self._next_lines(self._cursor)
        except Expired as error:
            self._is_closed = True
            return encoded_line("ERROR", too_old(error).status)
        except Rejection as error:  # of the conversion of an object
            self._is_closed = True
            return encoded_line("ERROR", error.status)
        is_due = self._next_bookmark_ns <= now_ns < self.deadline_ns and not self._cursor.is_behind
        if self._allows_bookmarks and is_due:
            self._next_bookmark_ns = self._bookmark_after(now_ns)
            return text + self._bookmark(self._cursor.bookmark())
        return text

    def _next_lines(self, cursor: Cursor) -> bytes:
        """Return the next lines, which other watches may have read already."""
        if self._initial is not None:
            return self._next_initial(cursor, self._initial)
        shared, since, until = self._call.lines, cursor.resource_version, cursor.horizon
        if self._is_alone or since >= until:
            return self._lines_of(cursor.poll(_TABLES_MAX if self._is_alone else _POLL_MAX))
        known = shared.find(self._stream, since, until)
        if known is not None:
            cursor.skip_to(known[1])
            return known[0]
        text = self._lines_of(cursor.poll(_POLL_MAX))
        shared.keep(self._stream, since, until, text, cursor.resource_version)
        return text

    def _next_initial(self, cursor: Cursor, parts: InitialParts) -> bytes:
        """Return the next part of the initial events."""
        place = cursor.initial_place
        known = parts.find(place)
        if known is not None:
            text, next_place = known
            cursor.skip_initial(next_place)
            return text
        events = cursor.poll(parts.count)
        if cursor.has_initial_events:
            text = self._lines_of(events)
            if cursor.initial_place != place:  # else they wait for the end of a batch
                parts.keep(place, text, cursor.initial_place, len(events))
            return text
        text = self._lines_of(events)
        self._initial = None
        return text

    def _lines_of(self, events: Sequence[WatchEvent]) -> bytes:
        return b"".join(line for event in events if (line := self._event(event)))

    def _event(self, event: WatchEvent) -> bytes | None:
        if event.object is None:
            return self._bookmark(event) if self._allows_bookmarks else None
        stored, served = event.object.raw, self._call.resource.served(event.object.raw)
        if served is stored and not self._call.media.transformation:
            # Initial events of objects at rest are decoded for this alone.
            encodings, is_initial = self._call.encodings, self._initial is not None
            return event_line(
                event.type, encodings.peek(stored) if is_initial else encodings.of(stored)
            )
        return encoded_line(event.type, self._shown(served))

    def _bookmark(self, event: WatchEvent) -> bytes:
        metadata: Document = {"resourceVersion": str(event.resource_version)}
        if event.ends_initial:
            metadata["annotations"] = {INITIAL_EVENTS_END: "true"}
        return encoded_line("BOOKMARK", self._shown(self._call.resource.bookmark(metadata)))

    def _shown(self, document: Document) -> Document:
        media: MediaType = self._call.media
        if media.transformation == "PartialObjectMetadata":
            return partial(document, media.version)
        if media.transformation == "Table":
            version = (document.get("metadata") or {}).get("resourceVersion")
            metadata = {"resourceVersion": version}
            has_columns, self._has_columns = self._has_columns, False
            return table_of(
                self._call, [document], metadata, has_columns=has_columns, now_ns=self._now_ns
            )
        return document


def _go_duration(seconds: int) -> int:
    """Return seconds in nanoseconds, as Go's Duration of 64 bits holds them."""
    return (seconds * SECOND_NS + 2**63) % 2**64 - 2**63


def too_old(error: Expired) -> Rejection:
    """Return the error of a watch from a version whose history was discarded."""
    return expired(f"too old resource version: {error.requested} ({error.oldest})")


def watch(backend: Backend, call: Call) -> Watch | HttpReply:
    """Return a watch of a collection.

    Raises
    ------
    Rejection
        A parameter is not valid.
    """
    options = list_options(call.request, is_watch=True)
    if call.media.transformation == "Table":
        included(call)
    text = options.resource_version
    version = parsed_version(text)
    store = backend.store
    fields = options.fields
    if call.info.name:  # by the deprecated prefix of the path
        selected = (
            each.value
            for each in fields.requirements
            if each.field == "metadata.name" and not each.is_negated
        )
        if fields.requirements and next(selected, None) != call.info.name:
            raise bad_request("fieldSelector metadata.name doesn't match requested name")
        named = FieldRequirement("metadata.name", call.info.name)
        fields = FieldSelector((*fields.requirements, named))
    check_stream(call.media)
    if options.sends_initial_events and version > store.resource_version:
        return Watch(call, None, options, version_too_large(version, store.resource_version))
    since: int | None = version or None
    if options.sends_initial_events:
        since = None
    elif options.sends_initial_events is False and not version:
        since = store.resource_version
    try:
        cursor = store.watch(
            call.resource.storage,
            since=since,
            # The name of a watched Namespace is where other paths have a namespace.
            namespace=(call.info.namespace if call.resource.kind.row.namespaced else "") or None,
            labels=options.labels,
            fields=stored_fields(call.resource, fields),
        )
    except Expired as error:
        return Watch(call, None, options, too_old(error))
    return Watch(call, cursor, options)
