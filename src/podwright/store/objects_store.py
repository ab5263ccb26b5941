"""Versioned objects: one growing resourceVersion, compare-and-swap, lists and watches.

Theory of operation. A write looks at the object as it is, works out the object as it will be
(`lifecycle`), and commits one or two changes. Each change has the next version. A commit
first goes to the journal, if the store has one, and then to the tables and the history; so
what a write has returned is on disk, and what the journal refused has not happened.

Everything is read from memory: current objects by indexes (`table`), and older states and
watches from the window of changes (`history`). The journal (`sqlite_store`) is read once, when
a store is opened.

Nothing here reads a clock or draws: `now_ns` is an argument, uids and generated names are
functions of the seed and of the version.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TypeAlias, TypeVar, cast, overload

from podwright.objects import (
    EVERYTHING,
    FieldSelector,
    KubernetesObject,
    NamespacedName,
    Pod,
    Selector,
)
from podwright.store.errors import (
    AlreadyExists,
    Conflict,
    Expired,
    FutureVersion,
    NotFound,
    UnusableStore,
)
from podwright.store.history import Change, History, change_of
from podwright.store.identity import generated_name, uid_at
from podwright.store.kinds import (
    CUSTOM,
    POD,
    RULES,
    GroupKind,
    KindLike,
    KindRules,
    group_kind,
    kind_of,
)
from podwright.store.lifecycle import (
    Propagation,
    Scope,
    at_version,
    binding_refusal,
    bound,
    created,
    deletion,
    is_released,
    updated,
    with_document,
    with_metadata,
)
from podwright.store.pages import NEWEST, Page, read_page, read_token, token_for
from podwright.store.preconditions import check, check_body
from podwright.store.query import NO_FIELDS, query_for
from podwright.store.stored import Journal, Stored
from podwright.store.table import KindTable
from podwright.store.watch import Cursor, initial_events

T = TypeVar("T", bound=KubernetesObject)
Changes: TypeAlias = list[Change]

FIRST_VERSION = 1
"""The version of an empty store; 0 means "any version" to clients."""

DEFAULT_WINDOW = 20_000
"""How many changes are kept for watches and pages."""


class ObjectStore:
    """Objects of all kinds under one growing version.

    Parameters
    ----------
    seed : int
        What uids and generated names are derived from.
    window : int
        How many changes are kept for watches and for lists in pages. A little more is kept
        between two clean-ups.
    journal : Journal, optional
        Where changes are kept; without one the store is in memory only.
    """

    def __init__(
        self, *, seed: int = 0, window: int = DEFAULT_WINDOW, journal: Journal | None = None
    ) -> None:
        self.seed = seed
        self._window = window
        self._kept_max = window * 5 // 4  # a quarter more, so that trimming is rare
        self._journal = journal
        self._rules = dict(RULES)
        self._tables: dict[GroupKind, KindTable] = {}
        self._history = History(FIRST_VERSION)
        self._batch: list[Change] | None = None
        self._followers: list[Changes] = []
        self._broken = ""

    # --------------------------------------------------------------------- versions

    @property
    def resource_version(self) -> int:
        """The version of the last change of any object."""
        return self._history.current

    @property
    def oldest_version(self) -> int:
        """The oldest version that can be listed, and watched from."""
        return self._history.oldest

    @property
    def examined_count(self) -> int:
        """How many objects lists have looked at, ever: the work that indexes save."""
        return sum(table.examined_count for table in self._tables.values())

    def define(self, kind: KindLike, rules: KindRules) -> None:
        """Say how objects of a custom kind are written."""
        self._rules[group_kind(kind)] = rules

    # ------------------------------------------------------------------------ writes

    def create(self, obj: KubernetesObject, now_ns: int) -> Stored:
        """Store a new object, its status included.

        Parameters
        ----------
        obj : KubernetesObject
            With a name or a `generateName`. The server's metadata in it is replaced.
        now_ns : int
            The time of creation.

        Raises
        ------
        AlreadyExists
            There is one of that name.
        """
        kind = kind_of(obj)
        obj = with_document(obj)
        table = self._table(kind)
        version = self._history.current + 1
        name, namespace = obj.metadata.name, obj.metadata.namespace
        if not name:
            prefix = obj.metadata.generate_name
            assert prefix, f"{kind[1]}: neither name nor generateName"
            name = generated_name(
                prefix, namespace=namespace, taken=table.objects, seed=self.seed, version=version
            )
        key = f"{namespace}/{name}" if namespace else name
        present = table.objects.get(key)
        if present is not None:
            is_terminating = present.metadata.deletion_timestamp is not None
            raise AlreadyExists(kind, key, is_terminating=is_terminating)
        made = created(
            obj,
            rules=self._rules.get(kind, CUSTOM),
            name=name,
            uid=uid_at(self.seed, version),
            version=version,
            now_ns=now_ns,
        )
        self._commit(table, change_of(version, kind, key, None, made))
        return Stored(made, version, "created")

    def update(
        self, obj: KubernetesObject, *, scope: Scope = "main", expected: int | None = None
    ) -> Stored:
        """Change an object that is there.

        Parameters
        ----------
        obj : KubernetesObject
            The object as it is to be. A uid in it is a precondition.
        scope : str
            `main` leaves the status as it is where status is a subresource, `status` leaves
            all but the status and metadata, `whole` writes both.
        expected : int, optional
            The version that must be there. Without it the `resourceVersion` in the object
            is meant, and without that the write is unconditional.

        Returns
        -------
        Stored
            `unchanged` if the object is so already; `deleted` if it was being deleted and
            this took its last finalizer.

        Raises
        ------
        NotFound
            There is none of that name.
        Conflict
            It has another version or uid.
        """
        kind = kind_of(obj)
        obj = with_document(obj)
        key = obj.key
        table, current = self._require(kind, key)
        check_body(kind, current, obj, expected)
        version = self._history.current + 1
        rules = self._rules.get(kind, CUSTOM)
        new = updated(current, obj, scope=scope, rules=rules, version=version)
        if new is None:
            return Stored(current, int(current.metadata.resource_version), "unchanged")
        if is_released(kind, current, new):
            self._commit(table, change_of(version, kind, key, current, None))
            return Stored(new, version, "deleted")
        self._commit(table, change_of(version, kind, key, current, new))
        return Stored(new, version, "updated")

    def bind(
        self,
        key: NamespacedName,
        node: str,
        now_ns: int,
        *,
        uid: str = "",
        expected: int | None = None,
    ) -> Stored:
        """Put a pod on a node, as `pods/binding` does.

        Sets `spec.nodeName` and the condition PodScheduled, clears the nominated node, and
        leaves the generation.

        Raises
        ------
        NotFound
            There is no such pod.
        Conflict
            It has a node, is being deleted, has scheduling gates, or is another pod.
        """
        table, there = self._require(POD, key)
        pod = cast(Pod, there)
        check(POD, pod, uid=uid, expected=expected)
        refusal = binding_refusal(pod)
        if refusal:
            raise Conflict(POD, key, refusal)
        version = self._history.current + 1
        new = bound(pod, node, now_ns=now_ns, version=version)
        self._commit(table, change_of(version, POD, key, pod, new))
        return Stored(new, version, "updated")

    def delete(
        self,
        kind: KindLike,
        key: NamespacedName,
        now_ns: int,
        *,
        uid: str = "",
        expected: int | None = None,
        grace_seconds: int | None = None,
        propagation: Propagation | None = None,
    ) -> Stored:
        """Delete an object, or begin to.

        An object with finalizers is marked and goes when the last is taken away. A pod with a
        node that has not ended is marked and goes when it is deleted with grace 0.

        Parameters
        ----------
        kind, key
            Which.
        now_ns : int
            When.
        uid, expected
            Preconditions; not given, they hold.
        grace_seconds : int, optional
            How long a pod has to stop; its `terminationGracePeriodSeconds` otherwise.
        propagation : str, optional
            Foreground and Orphan add the finalizers that ask for it, Background takes them away.

        Returns
        -------
        Stored
            `deleted` if it is gone, `updated` if it is now marked, `unchanged` if it was.

        Raises
        ------
        NotFound
            There is none of that name.
        Conflict
            A precondition does not hold.
        """
        kind = group_kind(kind)
        table, current = self._require(kind, key)
        check(kind, current, uid=uid, expected=expected)
        version = self._history.current + 1
        step = deletion(
            kind,
            current,
            rules=self._rules.get(kind, CUSTOM),
            version=version,
            now_ns=now_ns,
            grace_seconds=grace_seconds,
            propagation=propagation,
        )
        changes: list[Change] = []
        last = current
        if step.marked is not None:
            changes.append(change_of(version, kind, key, current, step.marked))
            last = step.marked
        if step.is_removed:
            version = self._history.current + len(changes) + 1
            changes.append(change_of(version, kind, key, last, None))
        if not changes:
            return Stored(current, int(current.metadata.resource_version), "unchanged")
        self._commit(table, *changes)
        return Stored(changes[-1].object, version, "deleted" if step.is_removed else "updated")

    def put(self, obj: KubernetesObject) -> Stored:
        """Store an object as it is, new or not: only its version becomes ours.

        For objects whose uid, times and generation somebody else has decided: records,
        snapshots, mirrors.
        """
        kind = kind_of(obj)
        obj = with_document(obj)
        assert obj.name, f"{kind[1]}: an object without a name cannot be put"
        table = self._table(kind)
        current = table.objects.get(obj.key)
        if current is not None:
            same = with_metadata(obj, resource_version=current.metadata.resource_version)
            if same.raw == current.raw:
                return Stored(current, int(current.metadata.resource_version), "unchanged")
        version = self._history.current + 1
        new = at_version(obj, version)
        self._commit(table, change_of(version, kind, obj.key, current, new))
        return Stored(new, version, "created" if current is None else "updated")

    def drop(self, kind: KindLike, key: NamespacedName) -> Stored:
        """Remove an object at once, whoever holds it; the other half of `put`.

        Raises
        ------
        NotFound
            There is none of that name.
        """
        kind = group_kind(kind)
        table, current = self._require(kind, key)
        version = self._history.current + 1
        change = change_of(version, kind, key, current, None)
        self._commit(table, change)
        return Stored(change.object, version, "deleted")

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Commit the writes of a block together; they are safe when the block ends.

        Each is a write of its own and is seen by reads and watches at once: one that fails
        takes none back. An exception that leaves the block does not either.

        Raises
        ------
        UnusableStore
            The journal refused them. What is in memory is not on disk, so the store is of no
            more use and must be opened again.
        """
        assert self._batch is None, "a batch within a batch"
        self._batch = []
        try:
            yield
        finally:
            changes, self._batch = self._batch, None
            if changes and self._journal is not None:
                try:
                    self._journal.append(changes)
                except UnusableStore as error:
                    self._broken = str(error)
                    raise
            self._trim()

    def _commit(self, table: KindTable, *changes: Change) -> None:
        """Make changes of objects of one kind."""
        if self._broken:
            raise UnusableStore(f"{self._broken}; open the store again")
        if self._batch is not None:
            self._batch.extend(changes)
        elif self._journal is not None:
            self._journal.append(changes)
        history = self._history
        for change in changes:
            table.put(change.key, change.new)
            history.append(change)
            for follower in self._followers:
                follower.append(change)
        if self._batch is None:
            self._trim()

    def _require(self, kind: GroupKind, key: NamespacedName) -> tuple[KindTable, KubernetesObject]:
        table = self._tables.get(kind)
        current = table.objects.get(key) if table is not None else None
        if table is None or current is None:
            raise NotFound(kind, key)
        return table, current

    def _table(self, kind: GroupKind) -> KindTable:
        table = self._tables.get(kind)
        if table is None:
            table = self._tables[kind] = KindTable(kind)
        return table

    # ------------------------------------------------------------------------- reads

    @overload
    def get(self, kind: type[T], key: NamespacedName) -> T | None: ...
    @overload
    def get(self, kind: GroupKind, key: NamespacedName) -> KubernetesObject | None: ...
    def get(self, kind: KindLike, key: NamespacedName) -> KubernetesObject | None:
        """Return an object, None if there is none."""
        table = self._tables.get(group_kind(kind))
        return table.objects.get(key) if table else None

    def kinds(self) -> list[GroupKind]:
        """Return the kinds that have objects, sorted."""
        return sorted(kind for kind, table in self._tables.items() if table.objects)

    def count(self, kind: KindLike, namespace: str | None = None) -> int:
        """Return how many objects of a kind there are, everywhere or in a namespace."""
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
            Which kind.
        namespace, labels, fields, owner_uid
            Conditions that must all hold.
        limit : int, optional
            How many objects a page has at most.
        continue_token : str
            From the page before. All pages show the state of the first.
        at : int, optional
            The version whose state is wanted; the newest otherwise.

        Raises
        ------
        Expired
            The history of that version was discarded.
        FutureVersion
            The version is not reached yet.
        InvalidContinue
            The token is none.
        SelectorError
            The kind does not have a field.
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
            changes = self._history.after(version, kind)
        except Expired as error:
            if after is None:
                raise
            raise Expired(
                version,
                oldest=error.oldest,
                current=error.current,
                continue_token=token_for(NEWEST, after),
            ) from None
        before: dict[NamespacedName, KubernetesObject | None] = {}
        for change in changes:
            before.setdefault(change.key, change.old)
        return read_page(
            self._table(kind), query, version=version, before=before, after=after, limit=limit
        )

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
    ) -> Cursor:
        """Return a cursor over the changes of a kind, or of all kinds.

        Parameters
        ----------
        kind : KindLike, optional
            Which kind; without one all changes, of which `since` must be given.
        since : int, optional
            The version that is known; changes after it follow. One in the future is silent
            until it is reached. Without it the objects that are there come first, as ADDED,
            and a bookmark ends them.
        namespace, labels, fields, owner_uid
            Conditions that must all hold.

        Raises
        ------
        Expired
            The history after that version was discarded.
        SelectorError
            The kind does not have a field.
        """
        wanted = None if kind is None else group_kind(kind)
        query = query_for(
            wanted, namespace=namespace, labels=labels, fields=fields, owner_uid=owner_uid
        )
        if since is not None:
            if since < self._history.oldest:
                raise Expired(since, oldest=self._history.oldest, current=self._history.current)
            return Cursor(self._history, wanted, query, since)
        version = self._history.current
        objects = [
            obj
            for each in ([wanted] if wanted is not None else self.kinds())
            for obj in read_page(self._table(each), query, version=version).objects
        ]
        return Cursor(self._history, wanted, query, version, initial_events(objects, version))

    def follow(self) -> Changes:
        """Return a list to which every change from now on is added; it is the caller's to empty."""
        changes: Changes = []
        self._followers.append(changes)
        return changes

    # ------------------------------------------------------------------ housekeeping

    def compact(self, before: int) -> None:
        """Discard the history before a version; watches and pages from there are `Expired`."""
        assert self._batch is None, "a compaction within a batch"
        oldest = min(before, self._history.current)
        if self._journal is not None and oldest > self._history.oldest:
            self._journal.discard(oldest, self._history.until(oldest))
        self._history.discard_before(oldest)

    def _trim(self) -> None:
        if self._history.current - self._history.oldest <= self._kept_max:
            return
        # What was written is written; a full disk refuses the next write, not this one.
        with suppress(UnusableStore):
            self.compact(self._history.current - self._window)

    def restore(self, objects: Iterable[KubernetesObject], oldest: int) -> None:
        """Set up the state of a version, in a store that is empty."""
        assert not self._tables, "a store that is not empty"
        for obj in objects:
            self._table(kind_of(obj)).put(obj.key, obj)
        self._history = History(oldest)

    def replay(self, changes: Iterable[Change]) -> None:
        """Set up changes that the journal has already."""
        for change in changes:
            self._table(change.kind).put(change.key, change.new)
            self._history.append(change)

    def validate(self) -> None:
        """Check what must always hold: indexes, versions, the window."""
        history = self._history
        assert history.oldest <= history.current, f"{history.oldest} > {history.current}"
        for table in self._tables.values():
            table.validate()
            for key, obj in table.objects.items():
                version = int(obj.metadata.resource_version)
                assert version <= history.current, f"{key} has version {version}"
                written = obj.raw["metadata"]["resourceVersion"]
                assert written == str(version), f"{key}: {written} in the document, not {version}"

    def close(self) -> None:
        """Let go of the file, if there is one."""
        if self._journal is not None:
            self._journal.close()
        self._broken = "the store is closed"
