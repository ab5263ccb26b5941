"""The object store: one increasing resourceVersion, commits, lists and watches.

Theory of operation. A writer (`api`) reads the current object, computes the new one, and commits
one or two changes. Each change has the next version. A commit is written to the journal first, if
there is one, and then to the tables and the history. So a write that has returned is durable, and
a write that the journal rejected has no effect.

Writes in a `batch` are committed together: they are in memory at once, where the next write of the
batch finds them, and in the journal when the batch ends. Until then the horizon `durable_version`
stays where it was, and no watch reads beyond it. A driver sends the replies of a batch after its
end, so no client sees what a crash could take back.

Current objects are read from the tables (`table`), older states and watches from the window of
changes (`history`). Objects of kinds that no component holds, and with a journal older changes, are
at rest (`at_rest`): read from the journal (`sqlite_store`), or decompressed, when they are used.

This module reads no clock and draws no random numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set as AbstractSet
from contextlib import contextmanager, suppress
from functools import partial
from operator import attrgetter
from typing import Final, TypeAlias, TypeVar, overload
from weakref import WeakSet

from podwright.apimachinery.objects import (
    EVERYTHING,
    FieldSelector,
    KubernetesObject,
    NamespacedName,
    Selector,
)
from podwright.cluster.store.at_rest import CompressedTexts, ObjectsAtRest
from podwright.cluster.store.encodings import Encodings
from podwright.cluster.store.errors import (
    Expired,
    FutureVersion,
    GroupKind,
    KindLike,
    NotFound,
    UnusableStore,
    group_kind,
    kind_of,
)
from podwright.cluster.store.history import (
    Change,
    FreshChange,
    History,
    PastState,
    PastStates,
    RestingChange,
    at_version,
    change_of,
    with_document,
    with_metadata,
)
from podwright.cluster.store.pages import (
    NEWEST,
    ObjectReader,
    Page,
    read_page,
    read_token,
    token_for,
)
from podwright.cluster.store.query import NO_FIELDS, Query, query_for
from podwright.cluster.store.stored import LARGE_BYTES, Journal, Mark, Saved, Stored, WriteTimes
from podwright.cluster.store.table import KindTables
from podwright.cluster.store.watch import Cursor, InitialEvents

T = TypeVar("T", bound=KubernetesObject)
Changes: TypeAlias = list[Change]

FIRST_VERSION = 1
"""The version of an empty store; 0 means "any version" to clients."""

DEFAULT_WINDOW = 20_000
"""The default number of changes that are kept for watches and pages."""

TIMES_KEPT_NS: Final = 2 * 3_600 * 1_000_000_000
"""How long the store knows when versions were written."""

AWAKE_MAX: Final = 4_096
"""How many of the last changes do not rest: watches and components have usually read all others."""

_TRIMMED_MAX: Final = 1_000
"""The most changes that one commit discards, so that none takes long."""


class ObjectStore:
    """Objects of all kinds under one increasing version.

    Parameters
    ----------
    seed : int
        The seed of uids and generated names; stored with the objects.
    window : int
        The number of changes that are kept for watches and for lists in pages. Up to a quarter
        more, and at most a thousand more, is kept between two compactions.
    window_ns : int, optional
        How long changes are kept; needs a driver that sets the time by `advance`.
    window_bytes : int, optional
        The largest size of the kept changes, as JSON.
    journal : Journal, optional
        The durable log of changes; without one the store is in memory only.
    encodings : Encodings, optional
        The JSON of objects, shared with the journal.

    Attributes
    ----------
    encodings : Encodings
    keeps_encodings : bool
        Whether the JSON of each new object is kept, because the sizes of changes are bounded.
    large : dict of (str, str) to set of str
        The names of the large objects of each kind that has any; empty if the store does not bound
        the size of its changes.
    """

    def __init__(
        self,
        *,
        seed: int = 0,
        window: int = DEFAULT_WINDOW,
        window_ns: int | None = None,
        window_bytes: int | None = None,
        journal: Journal | None = None,
        encodings: Encodings | None = None,
    ) -> None:
        self.seed = seed
        self.encodings = encodings or Encodings()
        self._window = window
        self._window_ns = window_ns
        self._window_bytes = window_bytes
        self.keeps_encodings = window_bytes is not None
        # More than the window, so that compactions are rare.
        self._kept_max = window + min(window // 4, _TRIMMED_MAX)
        self._times = WriteTimes(TIMES_KEPT_NS)
        self._now_ns = -1
        # The oldest version of the window by age; it changes with the marks.
        self._oldest_in_time = 0
        self._journal = journal
        self._at_rest = ObjectsAtRest(CompressedTexts() if journal is None else journal)
        self._tables = KindTables(self._at_rest)
        self._history = History(FIRST_VERSION)
        self._past_states = PastStates()
        self._readers: WeakSet[ObjectReader] = WeakSet()
        self._batch: list[Change] | None = None
        self._batch_marks: list[Mark] = []
        self.large: dict[GroupKind, set[NamespacedName]] = {}
        self._followers: list[Changes] = []
        self._followers_of: dict[GroupKind, list[Changes]] = {}
        self._broken = ""

    # --------------------------------------------------------------------- versions

    @property
    def resource_version(self) -> int:
        """The version of the last change of any object."""
        return self._history.current

    @property
    def oldest_version(self) -> int:
        """The oldest version that can be listed and watched from."""
        return self._history.oldest

    @property
    def durable_version(self) -> int:
        """The version up to which changes are durable; less than the current one in a batch."""
        return self._history.durable

    @property
    def failure(self) -> str:
        """Why the store cannot be used any more; empty if it can."""
        return self._broken

    def time_of(self, version: int) -> int | None:
        """Return when a version was written, up to a second too early, in nanoseconds since 1970.

        None if the version is older than two hours, or was written without a time.
        """
        return self._times.time_of(version)

    @property
    def examined_count(self) -> int:
        """The total number of objects that lists have examined; indexes reduce it."""
        return sum(table.examined_count for table in self._tables.values())

    # ------------------------------------------------------------------------ writes

    def keys(self, kind: KindLike) -> AbstractSet[NamespacedName]:
        """Return the keys of the objects of a kind; not a copy, and nothing is decoded."""
        return self._tables[group_kind(kind)].objects.keys()

    def require(self, kind: GroupKind, key: NamespacedName) -> KubernetesObject:
        """Return an object that must exist.

        Raises
        ------
        NotFound
            The object does not exist.
        """
        table = self._tables.get(kind)
        current = table.objects.get(key) if table is not None else None
        if current is None:
            raise NotFound(kind, key)
        return current

    def advance(self, now_ns: int) -> None:
        """Set the time of the next writes, in nanoseconds since 1970; it never goes back."""
        self._now_ns = max(self._now_ns, now_ns)

    def commit(self, *changes: Change) -> None:
        """Commit the changes of one write, which have the next versions in order.

        Raises
        ------
        UnusableStore
            The journal rejected the changes; nothing has changed.
        """
        if self._broken:
            raise UnusableStore(f"{self._broken}; open the store again")
        history = self._history
        marks: tuple[Mark, ...] = ()
        if self._now_ns >= self._times.next_mark_ns:
            marks = self._mark()
        if self._batch is not None:
            self._batch.extend(changes)
            self._batch_marks.extend(marks)
        elif self._journal is not None:
            self._journal.append(changes, marks)
        for change in changes:
            kind = change.kind
            self._tables[kind].put(change.key, change.old, change.new)
            size_bytes = self.encodings.size_of(change.object.raw) if self.keeps_encodings else 0
            history.append(change, size_bytes)
            if self.large or size_bytes >= LARGE_BYTES:
                self._note_size(change, size_bytes)
            for follower in self._followers:
                follower.append(change)
            if kind in self._followers_of:
                for follower in self._followers_of[kind]:
                    follower.append(change)
        if self._batch is None:
            history.durable = history.current
            self._trim()

    def _mark(self) -> tuple[Mark, ...]:
        """Note the time of the next versions."""
        mark = self._times.note(self._history.current, self._now_ns)
        if mark is None:
            return ()
        if self._window_ns is not None:
            self._oldest_in_time = self._times.last_written_before(mark.time_ns - self._window_ns)
        return (mark,)

    def _note_size(self, change: Change, size_bytes: int) -> None:
        """Note whether the object of a change is large now."""
        kind = change.kind
        if size_bytes >= LARGE_BYTES and not change.is_removal:
            self.large.setdefault(kind, set()).add(change.key)
        elif kind in self.large:
            self.large[kind].discard(change.key)
            if not self.large[kind]:
                del self.large[kind]

    def put(self, obj: KubernetesObject) -> Stored:
        """Create or replace an object as it is; only its version is assigned by the store.

        For objects whose uid, timestamps and generation were set elsewhere: records, snapshots,
        mirrors.
        """
        kind = kind_of(obj)
        obj = with_document(obj)
        assert obj.name, f"{kind[1]}: an object without a name cannot be put"
        table = self._tables[kind]
        current = table.objects.get(obj.key)
        if current is not None:
            same = with_metadata(obj, resource_version=current.metadata.resource_version)
            if same.raw == current.raw:
                return Stored(current, int(current.metadata.resource_version), "unchanged")
        version = self._history.current + 1
        new = at_version(obj, version)
        self.commit(change_of(version, kind, obj.key, current, new))
        return Stored(new, version, "created" if current is None else "updated")

    def drop(self, kind: KindLike, key: NamespacedName) -> Stored:
        """Remove an object immediately, regardless of finalizers; the counterpart of `put`.

        Raises
        ------
        NotFound
            The object does not exist.
        """
        kind = group_kind(kind)
        current = self.require(kind, key)
        version = self._history.current + 1
        change = change_of(version, kind, key, current, None)
        self.commit(change)
        return Stored(change.object, version, "deleted")

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Write the changes of a block to the journal together, when the block ends.

        Each write in the block is separate, and visible to reads immediately. Watches read it when
        the block has ended. A failed write, or an exception that leaves the block, does not roll
        back the other writes.

        Raises
        ------
        UnusableStore
            The journal rejected the changes. The state in memory is not durable, so the store
            cannot be used any more and must be reopened.
        """
        assert self._batch is None, "nested batches are not supported"
        self._batch = []
        try:
            yield
        finally:
            changes, self._batch = self._batch, None
            marks, self._batch_marks = self._batch_marks, []
            if changes and self._journal is not None:
                try:
                    self._journal.append(changes, marks)
                except UnusableStore as error:
                    self._broken = str(error)
                    raise
            self._history.durable = self._history.current
            self._trim()

    def order_keys(self) -> None:
        """Keep the keys of all kinds in order from now on.

        Otherwise the first list or count in a namespace sorts those of its kind, which takes 60 ms
        for 50,000 objects.
        """
        self._tables.order_keys()

    # ------------------------------------------------------------------------- reads

    @overload
    def get(self, kind: type[T], key: NamespacedName) -> T | None: ...
    @overload
    def get(self, kind: GroupKind, key: NamespacedName) -> KubernetesObject | None: ...
    def get(self, kind: KindLike, key: NamespacedName) -> KubernetesObject | None:
        """Return an object, None if it does not exist."""
        table = self._tables.get(kind if type(kind) is tuple else group_kind(kind))
        return None if table is None else table.objects.get(key)

    def version_of(self, kind: KindLike, key: NamespacedName) -> int | None:
        """Return the version of an object, None if it does not exist; nothing is decoded."""
        table = self._tables.get(group_kind(kind))
        return table.version_of(key) if table else None

    def versions(self, kind: KindLike) -> Iterator[tuple[NamespacedName, int]]:
        """Yield the keys and versions of the objects of a kind; nothing is decoded."""
        for key, version, _ in self._tables[group_kind(kind)].states():
            yield key, version

    def kinds(self) -> list[GroupKind]:
        """Return the kinds that have objects, sorted."""
        return sorted(kind for kind, table in self._tables.items() if table.objects)

    def count(self, kind: KindLike, namespace: str | None = None) -> int:
        """Return the number of objects of a kind, in all namespaces or in one."""
        table = self._tables.get(group_kind(kind))
        return table.count(namespace) if table else 0

    def list(
        self,
        kind: KindLike,
        *,
        namespace: str | None = None,
        labels: Selector = EVERYTHING,
        fields: FieldSelector = NO_FIELDS,
        owner_uid: str | None = None,
        limit: int | None = None,
        continue_token: str = "",
        at: int | None = None,
    ) -> Page:
        """Return the objects of a kind, or one page of them, in the order of their keys.

        Parameters
        ----------
        kind : KindLike
            The kind.
        namespace, labels, fields, owner_uid
            Conditions that must all hold.
        limit : int, optional
            The maximum number of objects of a page.
        continue_token : str
            The token of the previous page. All pages show the state of the first.
        at : int, optional
            The version of the state; default: the newest.

        Raises
        ------
        Expired
            The history of that version was discarded.
        FutureVersion
            The store has not reached the version.
        InvalidContinue
            The token is not valid.
        SelectorError
            The kind does not support a field.
        """
        kind = group_kind(kind)
        query = query_for(
            kind, namespace=namespace, labels=labels, fields=fields, owner_uid=owner_uid
        )
        after: NamespacedName | None = None
        if continue_token:
            at, after = read_token(continue_token)
        version = self._history.current if at is None or at == NEWEST else at
        if version > self._history.current:
            raise FutureVersion(version, current=self._history.current)
        try:
            past = self._past_state(kind, version)
        except Expired as error:
            if after is None:
                raise
            raise Expired(
                version,
                oldest=error.oldest,
                current=error.current,
                continue_token=token_for(NEWEST, after),
            ) from None
        return read_page(
            self._tables[kind], query, version=version, past=past, after=after, limit=limit
        )

    def reader(
        self,
        kind: KindLike,
        *,
        namespace: str | None = None,
        labels: Selector = EVERYTHING,
        fields: FieldSelector = NO_FIELDS,
    ) -> ObjectReader:
        """Return a reader of the objects of a kind as they are now, which are read later.

        Parameters
        ----------
        kind : KindLike
            The kind.
        namespace, labels, fields
            Conditions that must all hold.

        Raises
        ------
        SelectorError
            The kind does not support a field.
        """
        kind = group_kind(kind)
        return self._reader(
            kind, query_for(kind, namespace=namespace, labels=labels, fields=fields)
        )

    def _reader(self, kind: GroupKind, query: Query) -> ObjectReader:
        reader = ObjectReader(self._tables[kind], kind, query, self._history)
        self._readers.add(reader)
        return reader

    def _past_state(self, kind: GroupKind, version: int) -> PastState | None:
        """Return the state of a kind at a version; None if it is the current one.

        Raises
        ------
        Expired
            The history of that version was discarded.
        """
        history = self._history
        if not history.since(version, kind):
            return None
        state = self._past_states.find(kind, version)
        state.take_up(history.since(state.until, kind), history.current)
        return state

    # ----------------------------------------------------------------------- watches

    def watch(
        self,
        kind: KindLike | None = None,
        *,
        since: int | None = None,
        namespace: str | None = None,
        labels: Selector = EVERYTHING,
        fields: FieldSelector = NO_FIELDS,
        owner_uid: str | None = None,
        reads_batch: bool = False,
    ) -> Cursor:
        """Return a cursor over the changes of a kind, or of all kinds.

        Parameters
        ----------
        kind : KindLike, optional
            The kind; default: all kinds.
        since : int, optional
            The watch starts after this version. With a future version it has no events until the
            store reaches that version. Without one the current objects come first, as ADDED,
            followed by a bookmark.
        namespace, labels, fields, owner_uid
            Conditions that must all hold.
        reads_batch : bool
            Whether the changes of a batch are read before it ends: for components whose results
            leave the process only after the batch.

        Raises
        ------
        Expired
            The history after that version was discarded.
        SelectorError
            The kind does not have a field.
        """
        watched = None if kind is None else group_kind(kind)
        query = query_for(
            watched, namespace=namespace, labels=labels, fields=fields, owner_uid=owner_uid
        )
        if since is not None:
            if since < self._history.oldest:
                raise Expired(since, oldest=self._history.oldest, current=self._history.current)
            return Cursor(self._history, watched, query, since, reads_batch=reads_batch)
        version = self._history.current
        kinds = [watched] if watched is not None else self.kinds()
        initial = InitialEvents([self._reader(each, query) for each in kinds], version)
        return Cursor(self._history, watched, query, version, initial, reads_batch=reads_batch)

    def follow(self, *kinds: GroupKind) -> Changes:
        """Return a list to which all later changes are appended; the caller empties it.

        Parameters
        ----------
        *kinds : GroupKind
            The followed kinds; all without any.
        """
        changes: Changes = []
        if not kinds:
            self._followers.append(changes)
        for kind in kinds:
            self._followers_of.setdefault(kind, []).append(changes)
        return changes

    def creations(self) -> Changes:
        """Return the current objects as changes that create them, in the order of versions.

        Objects at rest stay at rest.
        """
        found: Changes = []
        for kind, table in self._tables.items():
            for key, version, obj in table.states():
                if obj is None:
                    found.append(RestingChange(version, kind, key, self._at_rest))
                else:
                    found.append(change_of(version, kind, key, None, obj))
        found.sort(key=attrgetter("version"))
        return found

    # ------------------------------------------------------------------ housekeeping

    def compact(self, before: int) -> None:
        """Discard the history before a version; older watches and pages are `Expired`."""
        assert self._batch is None, "a batch cannot be compacted"
        oldest = min(before, self._history.current)
        if oldest > self._history.oldest:
            for reader in self._readers:
                # No further: lists of many clients that read slowly would hold this commit.
                reader.take_up(oldest)
            discarded = self._history.until(oldest)
            if self._journal is not None:
                self._journal.discard(oldest, discarded, self._times.trim())
            # No watch or list shows these versions any more.
            has_encodings, tables = not self.encodings.is_empty, self._tables
            for change in discarded:
                rests = tables[change.kind].rests
                if rests and change.previous:
                    self._at_rest.forget(change.previous)
                if (has_encodings or rests) and isinstance(change, FreshChange):
                    self._release(change)
        self._history.discard_before(oldest)
        self._past_states.discard_before(oldest)

    def _release(self, change: FreshChange) -> None:
        """Release what a change alone still needs, and let its object rest if it is current."""
        new = change.new
        if change.old is not None:
            self.encodings.forget(change.old.raw)
        if new is None:
            self.encodings.forget(change.object.raw)
            return
        table = self._tables[change.kind]
        if table.rests and table.rest(change):
            self._keep_text(change.version, new)

    def _keep_text(self, version: int, obj: KubernetesObject) -> None:
        """Keep an object at rest as JSON."""
        document = obj.raw
        text = partial(self.encodings.peek_formed, document)
        self._at_rest.texts.keep(version, kind_of(obj), text)
        self.encodings.forget(document)

    def _let_rest(self) -> None:
        """Let the next changes rest that are not among the last ones.

        In memory these are the changes of kinds whose objects rest. An object that was updated, as
        a lease is renewed, is likely to be updated again. As long as it is current, its change
        stays awake, and rests with the next one of the object or when it is discarded.

        Of the other kinds the JSON of states that are not current is released.
        """
        history, in_file = self._history, self._journal is not None
        for change in history.to_rest(AWAKE_MAX, _TRIMMED_MAX):
            table = self._tables[change.kind]
            if isinstance(change, RestingChange):
                continue
            if not (in_file or table.rests):
                if change.old is not None:
                    self.encodings.forget(change.old.raw)
                continue
            if change.old is not None:
                before = history.at(change.previous)
                if isinstance(before, FreshChange):
                    self._put_to_rest(before)
                if table.is_awake(change):
                    continue
            self._put_to_rest(change)

    def _put_to_rest(self, change: FreshChange) -> None:
        """Replace a change by its versions, whose JSON is kept in memory or is in the file."""
        table, new = self._tables[change.kind], change.new
        if table.rests:
            if change.old is not None:
                self._keep_text(change.previous, change.old)
            if new is not None and not table.is_awake(change):
                self._keep_text(change.version, new)
        self._release(change)
        self._history.replace(
            RestingChange(
                change.version,
                change.kind,
                change.key,
                self._at_rest,
                change.previous,
                change.is_removal,
            )
        )

    def _trim(self) -> None:
        """Discard a part of what exceeds the window, if there is enough of it."""
        history = self._history
        if len(history) > AWAKE_MAX:
            self._let_rest()
        oldest = history.oldest
        excess = 0
        if history.current - oldest > self._kept_max:
            excess = history.current - oldest - self._window
        if oldest < self._oldest_in_time:
            excess = max(excess, self._oldest_in_time - oldest)
        if self._window_bytes is not None and history.size_bytes > self._window_bytes:
            # A sixteenth less, so that not every commit discards a change.
            within = history.version_within(self._window_bytes * 15 // 16)
            excess = max(excess, within - oldest)
        if excess > 0:
            # The write itself succeeded. If the disk is full, the next write fails, not this one.
            with suppress(UnusableStore):
                self.compact(oldest + min(excess, _TRIMMED_MAX))

    def restore(self, objects: Iterable[KubernetesObject], oldest: int) -> None:
        """Set the state of a version in an empty store."""
        assert not self._tables, "the store is not empty"
        for obj in objects:
            self._tables[kind_of(obj)].put(obj.key, None, obj)
        self._history = History(oldest)

    def restore_saved(self, saved: Saved) -> None:
        """Set the state of a file in an empty store."""
        self.restore(saved.objects, saved.oldest)
        for kind, versions in saved.resting.items():
            self._tables[kind].restore_resting(versions)
        for each in saved.changes:
            change = RestingChange(
                each.version, each.kind, each.key, self._at_rest, each.previous, each.is_removal
            )
            self._history.append(change, each.size_bytes)
        self._history.durable = self._history.current
        self._times.restore(saved.marks)
        if self.keeps_encodings:
            self.large.update(saved.large)

    def validate(self) -> None:
        """Check the invariants of indexes, versions and the window."""
        history = self._history
        assert history.oldest <= history.current, f"{history.oldest} > {history.current}"
        assert history.durable <= history.current, f"{history.durable} > {history.current}"
        self._times.validate()
        for table in self._tables.values():
            table.validate()
            for key, obj in table.objects.items():
                version = int(obj.metadata.resource_version)
                assert version <= history.current, f"{key} has version {version}"
                written = obj.raw["metadata"]["resourceVersion"]
                assert written == str(version), f"{key}: {written} in the document, not {version}"

    def leave_file(self) -> None:
        """Leave the file to the process of which this one is a copy.

        The store is read as it was; objects at rest cannot be read, and nothing can be written.
        """
        if self._journal is not None:
            self._journal.leave()
            self._broken = "the file of the store is that of another process"

    def close(self) -> None:
        """Close the file, if there is one."""
        if self._journal is not None:
            self._journal.close()
        self._broken = "the store is closed"
