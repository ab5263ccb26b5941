"""The nodes as columns over slots.

A node is a slot number. Slots are assigned in order of arrival and are not reused, so that the
order of slots is always the order of arrival; `Cluster` renumbers them when too many are dead.

Every public array is a view of exactly `n_slots` rows and is replaced when a node arrives: read
it from here at each use, and do not keep a reference.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import zip_longest
from typing import Any, Generic, TypeVar

import numpy as np

from podwright._arrays import I32Array, I64Array, I64Matrix, Mask
from podwright.apimachinery.objects import (
    Node,
    Taint,
    quantity_milli_value,
    quantity_value,
    zone_key,
)

CPU, MEMORY, EPHEMERAL_STORAGE, PODS = 0, 1, 2, 3
FIXED_RESOURCES = ("cpu", "memory", "ephemeral-storage", "pods")
"""The first resource columns; extended resources follow as they appear."""

ABSENT = -1
"""The value id of a label that a node does not have."""

_HUGE = 2**48
"""Sums and hundredfolds of amounts below it fit an int64 on every cluster (256Ti of memory)."""

_LEAST_ROWS = 16

_NO_LABELS: Mapping[str, str] = {}
_ABSENT_CELL: I32Array = np.full(1, ABSENT, dtype=np.int32)


class NodeColumns:
    """Node state over slots; written by `Cluster` only.

    Attributes
    ----------
    n_slots : int
        Slots ever given, dead ones included.
    capacity : int
        So many slots the columns have room for.
    alive : (n_slots,) bool
        False for deleted nodes.
    allocatable, requested : (n_slots, n_resources) int64
        Milli-CPU, bytes, and units of extended resources; column `PODS` is the number of
        pods allowed, and there.
    has_huge_amounts : bool
        Some amount has been so large, or negative, that scores may leave 0 to 100, as upstream's.
    non_zero_requested : (n_slots, 2) int64
        Milli-CPU and memory bytes that count for scoring (100m and 200Mi where a container
        names none).
    requested_cells, non_zero_cells : memoryview
        The same two, for single numbers.
    unschedulable : (n_slots,) bool
        `spec.unschedulable`.
    taint_set_ids, feature_set_ids : (n_slots,) int32
        Positions in `taint_sets.values` and `feature_sets.values`.
    node_journal, pods_journal : Journal
        Slots whose Node object changed; slots whose pods changed.
    topology_journal : Journal
        Slots whose node came, went, or has other labels or taints: what topology domains read.
    condition_journal : Journal
        Slots whose Node object changed only in what scheduling does not read: its conditions.
    """

    def __init__(self) -> None:
        self.n_slots = 0
        self.n_alive = 0
        self.names: list[str] = []
        self._name_ranks: I32Array = np.empty(0, dtype=np.int32)
        self.objects: list[Node | None] = []
        self.slot_of: dict[str, int] = {}
        self.resources: dict[str, int] = {name: i for i, name in enumerate(FIXED_RESOURCES)}
        self.taint_sets: Interner[tuple[Taint, ...]] = Interner()
        self.feature_sets: Interner[frozenset[str]] = Interner()
        self.label_values: Interner[str] = Interner()
        self.node_journal = Journal()
        self.pods_journal = Journal()
        self.topology_journal = Journal()
        self._having: tuple[Sequence[str], int, Mask] | None = None
        self.condition_journal = Journal()
        self.has_huge_amounts = False
        self._tree = NodeTree()
        self._order: I32Array | None = None
        self.capacity = _LEAST_ROWS
        self._alive_rows: Mask = np.zeros(_LEAST_ROWS, dtype=np.bool_)
        self._unschedulable_rows: Mask = np.zeros(_LEAST_ROWS, dtype=np.bool_)
        self._allocatable_rows: I64Matrix = np.zeros((_LEAST_ROWS, 4), dtype=np.int64)
        self._requested_rows: I64Matrix = np.zeros((_LEAST_ROWS, 4), dtype=np.int64)
        self._non_zero_rows: I64Matrix = np.zeros((_LEAST_ROWS, 2), dtype=np.int64)
        self._taint_set_rows: I32Array = np.zeros(_LEAST_ROWS, dtype=np.int32)
        self._feature_set_rows: I32Array = np.zeros(_LEAST_ROWS, dtype=np.int32)
        self._labeled_counts: dict[str, int] = {}
        self._label_rows: dict[str, I32Array] = {}
        self._label_views: dict[str, I32Array] = {}
        self._absent_rows: I32Array = np.broadcast_to(_ABSENT_CELL, _LEAST_ROWS)
        self._set_views()

    # ---------------------------------------------------------------- reading

    def label_ids(self, key: str) -> I32Array:
        """Return the value of label `key` per slot.

        A label that no node has, such as the topology key of any pod, gets no column.

        Returns
        -------
        (n_slots,) int32
            Positions in `label_values.values`; `ABSENT` where the node lacks the label.
        """
        view = self._label_views.get(key)
        if view is not None:
            return view
        if key in self._labeled_counts:
            return self._add_label_column(key)
        return self._absent_labels

    def having(self, keys: Sequence[str]) -> Mask:
        """Return per slot whether the node has all labels whose keys are in `keys`.

        The result is kept for the next call with the same object.

        Returns
        -------
        (n_slots,) bool
        """
        version = self.topology_journal.version
        known = self._having
        if known is not None and known[0] is keys and known[1] == version:
            return known[2]
        mask: Mask = np.ones(self.n_slots, dtype=np.bool_)
        for key in keys:
            mask &= self.label_ids(key) >= 0
            if not mask.any():
                break
        self._having = keys, version, mask
        return mask

    def has_label(self, key: str, value: str) -> Mask:
        """Return per slot whether label `key` has exactly `value`.

        Returns
        -------
        (n_slots,) bool
        """
        ids = self.label_ids(key)
        value_id = self.label_values.find(value)
        mask: Mask = ids == value_id if value_id >= 0 else np.zeros(self.n_slots, dtype=np.bool_)
        return mask

    def labels_of(self, slot: int) -> Mapping[str, str]:
        """Return the labels of the node in `slot`; empty if it was deleted."""
        node = self.objects[slot]
        return {} if node is None else node.metadata.labels

    @property
    def free(self) -> I64Matrix:
        """Allocatable minus requested: (n_slots, n_resources) int64, a new array."""
        free: I64Matrix = self.allocatable - self.requested
        return free

    def visiting_order(self) -> I32Array:
        """Return the live slots in the order in which upstream visits nodes.

        Returns
        -------
        (n_alive,) int32
            Round-robin over zones, see `NodeTree`.
        """
        if self._order is None:
            slot_of = self.slot_of
            self._order = np.array([slot_of[n] for n in self._tree.names()], dtype=np.int32)
        return self._order

    def name_ranks(self) -> I32Array:
        """Return the place of each slot's name among all names.

        Returns
        -------
        (n_slots,) int32
            Not changed later; includes dead slots.
        """
        if len(self._name_ranks) != self.n_slots:
            order = sorted(range(self.n_slots), key=self.names.__getitem__)
            self._name_ranks = np.empty(self.n_slots, dtype=np.int32)
            self._name_ranks[order] = np.arange(self.n_slots, dtype=np.int32)
        return self._name_ranks

    def names_by_zone(self) -> list[list[str]]:
        """Return the names of each zone, in the order that `visiting_order` follows."""
        return self._tree.by_zone()

    # ---------------------------------------------------------------- writing

    def reorder(self, by_zone: Iterable[Iterable[str]]) -> None:
        """Visit nodes in the order `by_zone`, which `names_by_zone` gave for the same nodes."""
        self._tree.reorder(by_zone)
        self._order = None

    def put(self, node: Node) -> tuple[int, bool]:
        """Add `node`, or update the node of its name.

        Returns
        -------
        (slot, bool)
            The slot, and whether anything that scheduling reads has changed.
        """
        name = node.metadata.name
        slot = self.slot_of.get(name)
        old = None
        if slot is None:
            slot = self._new_slot(name)
        else:
            old = self.objects[slot]
        self.objects[slot] = node
        # Kubelets keep updating conditions, which scheduling does not read.
        if old is not None and _is_equivalent(old, node):
            self.condition_journal.record(slot)
            return slot, False
        self._write(slot, node)
        self._count_labels(old, node)
        if self._tree.put(name, node.metadata.labels):
            self._order = None
        self.node_journal.record(slot)
        if old is None or _has_moved(old, node):
            self.topology_journal.record(slot)
        return slot, True

    def remove(self, name: str) -> int:
        """Mark the node `name` as deleted; return its slot."""
        slot = self.slot_of.pop(name)
        self._count_labels(self.objects[slot], None)
        self.objects[slot] = None
        self.alive[slot] = False
        self.n_alive -= 1
        self._tree.remove(name)
        self._order = None
        self.node_journal.record(slot)
        self.topology_journal.record(slot)
        return slot

    def renumber(self) -> None:
        """Forget all slots; the live nodes are put again, in the same order."""
        self.n_slots = self.n_alive = 0
        self.names = []
        self._name_ranks = np.empty(0, dtype=np.int32)
        self.objects = []
        self.slot_of = {}
        self._order = None
        self._requested_rows[:] = 0
        self._non_zero_rows[:] = 0
        self._labeled_counts = {}
        self._set_views()
        self.node_journal.forget()
        self.pods_journal.forget()
        self.topology_journal.forget()
        self.condition_journal.forget()

    def note_amounts(self, amounts: Iterable[int]) -> None:
        """Set `has_huge_amounts` if one of `amounts`, of a node or a pod, is huge or negative."""
        for amount in amounts:
            if not 0 <= amount < _HUGE:
                self.has_huge_amounts = True

    def resource_index(self, resource: str) -> int:
        """Return the column of `resource`, such as `cpu`, adding one if it is new."""
        index = self.resources.get(resource)
        if index is None:
            self.add_resources((resource,))
            index = self.resources[resource]
        return index

    def add_resources(self, resources: Iterable[str]) -> None:
        """Add columns for new ones of `resources`, at once: each addition copies all columns."""
        n_before = len(self.resources)
        for resource in resources:
            self.resources.setdefault(resource, len(self.resources))
        if len(self.resources) > n_before:
            self._widen()
            self._set_views()

    def _write(self, slot: int, node: Node) -> None:
        self.add_resources(node.status.allocatable)
        row = self.allocatable[slot]
        row[:] = 0
        for resource, quantity in node.status.allocatable.items():
            index = self.resource_index(resource)
            amount = quantity_milli_value(quantity) if index == CPU else quantity_value(quantity)
            row[index] = amount
            self.note_amounts((amount,))
        self.unschedulable[slot] = node.spec.unschedulable
        self.taint_set_ids[slot] = self.taint_sets.id_of(tuple(node.spec.taints))
        features = frozenset(node.status.declared_features)
        self.feature_set_ids[slot] = self.feature_sets.id_of(features)
        labels = node.metadata.labels
        for key, view in self._label_views.items():
            text = labels.get(key)
            view[slot] = ABSENT if text is None else self.label_values.id_of(text)

    def _new_slot(self, name: str) -> int:
        slot = self.n_slots
        if slot == self.capacity:
            self._lengthen()
        self.n_slots = slot + 1
        self.n_alive += 1
        self.names.append(name)
        self.objects.append(None)
        self.slot_of[name] = slot
        self._alive_rows[slot] = True
        self._set_views()
        self.node_journal.keep(self.n_slots // 4)
        self.pods_journal.keep(self.n_slots // 4)
        self.topology_journal.keep(self.n_slots // 4)
        self.condition_journal.keep(self.n_slots // 4)
        return slot

    def _count_labels(self, old: Node | None, new: Node | None) -> None:
        """Count the nodes of each label; the column of one that no node has any more goes."""
        before = old.metadata.labels if old is not None else _NO_LABELS
        after = new.metadata.labels if new is not None else _NO_LABELS
        if before.keys() == after.keys():
            return
        counts = self._labeled_counts
        for key in after:
            if key not in before:
                counts[key] = counts.get(key, 0) + 1
        for key in before:
            if key in after:
                continue
            counts[key] -= 1
            if not counts[key]:
                del counts[key]
                self._label_rows.pop(key, None)
                self._label_views.pop(key, None)

    def _add_label_column(self, key: str) -> I32Array:
        rows: I32Array = np.full(self.capacity, ABSENT, dtype=np.int32)
        id_of = self.label_values.id_of
        for slot, node in enumerate(self.objects):
            if node is not None:
                text = node.metadata.labels.get(key)
                if text is not None:
                    rows[slot] = id_of(text)
        self._label_rows[key] = rows
        view = self._label_views[key] = rows[: self.n_slots]
        return view

    def _lengthen(self) -> None:
        """Double the capacity in rows."""
        rows = self.capacity = 2 * self.capacity
        self._absent_rows = np.broadcast_to(_ABSENT_CELL, rows)
        self._alive_rows = _longer(self._alive_rows, rows)
        self._unschedulable_rows = _longer(self._unschedulable_rows, rows)
        self._allocatable_rows = _longer(self._allocatable_rows, rows)
        self._requested_rows = _longer(self._requested_rows, rows)
        self._non_zero_rows = _longer(self._non_zero_rows, rows)
        self._taint_set_rows = _longer(self._taint_set_rows, rows)
        self._feature_set_rows = _longer(self._feature_set_rows, rows)
        for key, column in self._label_rows.items():
            self._label_rows[key] = _longer(column, rows, ABSENT)

    def _widen(self) -> None:
        """Add the columns of new resources; rows stay contiguous for the kernels."""
        width = len(self.resources)
        for name in ("_allocatable_rows", "_requested_rows"):
            wide = np.zeros((self.capacity, width), dtype=np.int64)
            narrow = getattr(self, name)
            wide[:, : narrow.shape[1]] = narrow
            setattr(self, name, wide)

    def _set_views(self) -> None:
        n = self.n_slots
        self.alive: Mask = self._alive_rows[:n]
        self.unschedulable: Mask = self._unschedulable_rows[:n]
        self.allocatable: I64Matrix = self._allocatable_rows[:n]
        self.requested: I64Matrix = self._requested_rows[:n]
        self.non_zero_requested: I64Matrix = self._non_zero_rows[:n]
        self.requested_cells = self._requested_rows.data
        self.non_zero_cells = self._non_zero_rows.data
        self.taint_set_ids: I32Array = self._taint_set_rows[:n]
        self.feature_set_ids: I32Array = self._feature_set_rows[:n]
        self._label_views = {key: rows[:n] for key, rows in self._label_rows.items()}
        self._absent_labels: I32Array = self._absent_rows[:n]


def _longer(array: np.ndarray[Any, Any], rows: int, fill: int = 0) -> Any:
    """Return `array` with room for `rows` rows, the new ones holding `fill`."""
    grown = np.full((rows, *array.shape[1:]), fill, dtype=array.dtype)
    grown[: len(array)] = array
    return grown


def _is_equivalent(old: Node, new: Node) -> bool:
    """Return whether scheduling would see no difference between two versions of a node."""
    return (
        old.metadata.labels == new.metadata.labels
        and old.metadata.annotations == new.metadata.annotations
        and old.spec == new.spec
        and old.status.allocatable == new.status.allocatable
        and old.status.images == new.status.images
        and old.status.declared_features == new.status.declared_features
    )


def _has_moved(old: Node, new: Node) -> bool:
    """Return whether two versions of a node may belong to different topology domains."""
    return old.metadata.labels != new.metadata.labels or old.spec.taints != new.spec.taints


# Integer columns over slots by key, created at the first write and grown with the nodes.


class SlotColumns:
    """A dictionary of columns; slots that were not written contain `fill`."""

    __slots__ = ("_columns", "_fill", "_nodes")

    def __init__(self, nodes: NodeColumns, *, fill: int) -> None:
        self._nodes = nodes
        self._fill = fill
        self._columns: dict[str, I64Array] = {}

    def find(self, key: str) -> I64Array | None:
        """Return the column of `key`, (n_slots,) int64, or None if it was never written."""
        return self.of(key) if key in self._columns else None

    def of(self, key: str) -> I64Array:
        """Return the column of `key`, (n_slots,) int64, to read or write until a node comes."""
        n_slots = self._nodes.n_slots
        column = self._columns.get(key)
        if column is None or len(column) < n_slots:
            longer: I64Array = np.full(self._nodes.capacity, self._fill, dtype=np.int64)
            if column is not None:
                longer[: len(column)] = column
            column = self._columns[key] = longer
        return column[:n_slots]

    def clear(self) -> None:
        """Drop all columns."""
        self._columns.clear()


class NodeTree:
    """Names of nodes by zone, in order of arrival: the order in which nodes are evaluated.

    Nodes are kept in one list per zone (region and zone label together). The order takes the first
    node of each zone, then the second of each, and so on; zones are in the order in which their
    first node was added. A node whose zone changes goes to the end of its new zone.

    Upstream: pkg/scheduler/backend/cache/node_tree.go, `nodeTree.list`;
    staging/src/k8s.io/component-helpers/node/topology/helpers.go, `GetZoneKey`.
    """

    __slots__ = ("_names_of", "_zone_of")

    def __init__(self) -> None:
        self._names_of: dict[str, dict[str, None]] = {}
        self._zone_of: dict[str, str] = {}

    def put(self, name: str, labels: Mapping[str, str]) -> bool:
        """Add a node, or move it if its zone changed; return whether the order changed."""
        zone = zone_key(labels)
        old = self._zone_of.get(name)
        if old == zone:
            return False
        if old is not None:
            self.remove(name)
        self._zone_of[name] = zone
        self._names_of.setdefault(zone, {})[name] = None
        return True

    def remove(self, name: str) -> None:
        """Remove a node; a zone is removed with its last node."""
        zone = self._zone_of.pop(name)
        names = self._names_of[zone]
        del names[name]
        if not names:
            del self._names_of[zone]

    def by_zone(self) -> list[list[str]]:
        """Return the names of each zone, zones and names in their order."""
        return [list(names) for names in self._names_of.values()]

    def reorder(self, by_zone: Iterable[Iterable[str]]) -> None:
        """Restore an order that `by_zone` returned for the same nodes."""
        listed = [list(names) for names in by_zone]
        self._names_of = {
            self._zone_of[names[0]]: dict.fromkeys(names) for names in listed if names
        }

    def names(self) -> list[str]:
        """Return all names, round-robin over zones."""
        turns = zip_longest(*self._names_of.values())
        return [name for turn in turns for name in turn if name is not None]


# Interning: each distinct value gets a small integer.
#
# Kernels use the integers; a list returns the value of an integer.

T = TypeVar("T", bound=Hashable)


class Interner(Generic[T]):
    """Number distinct values from zero, in the order in which they first appear."""

    __slots__ = ("_ids", "values")

    def __init__(self) -> None:
        self._ids: dict[T, int] = {}
        self.values: list[T] = []

    def __len__(self) -> int:
        """How many distinct values there are."""
        return len(self.values)

    def id_of(self, value: T) -> int:
        """Return the number of `value`, giving it one if it is new."""
        number = self._ids.get(value)
        if number is None:
            number = self._ids[value] = len(self.values)
            self.values.append(value)
        return number

    def find(self, value: T) -> int:
        """Return the number of `value`, or -1 if it never appeared."""
        return self._ids.get(value, -1)


# A journal of slot changes with a growing version.
#
# A reader stores the version for which its result is valid and reads the later entries. The
# entries are in one array; `since` returns a view of it and copies nothing.

_LEAST_KEPT = 1_024


class Journal:
    """An append-only list of changed slots, of which the newest part is kept.

    `version` counts all entries ever made. A slot may be listed more than once.
    """

    __slots__ = ("_base", "_entries", "_kept", "version")

    def __init__(self) -> None:
        self._kept = _LEAST_KEPT
        self._entries: I32Array = np.empty(2 * _LEAST_KEPT, dtype=np.int32)
        self._base = 0
        self.version = 0

    def record(self, slot: int) -> None:
        """Record that `slot` changed."""
        index = self.version - self._base
        if index == len(self._entries):
            index = self._drop_old()
        self._entries[index] = slot
        self.version += 1

    def forget(self) -> None:
        """Make every reader start over: slots were renumbered, or everything changed."""
        self.version += 1
        self._base = self.version

    def since(self, version: int) -> I32Array | None:
        """Return the slots recorded after `version`, or None if the version is too old.

        Returns
        -------
        (k,) int32 view, or None
            None means: evaluate everything.
        """
        start = version - self._base
        if start < 0:
            return None
        return self._entries[start : self.version - self._base]

    def keep(self, entries: int) -> None:
        """Keep at least `entries` of the newest entries from now on."""
        if entries > self._kept:
            self._kept = entries
            grown: I32Array = np.empty(2 * entries, dtype=np.int32)
            used = self.version - self._base
            grown[:used] = self._entries[:used]
            self._entries = grown

    def _drop_old(self) -> int:
        """Keep the newest half; return the index of the next entry."""
        kept = self._kept
        self._entries[:kept] = self._entries[kept:]
        self._base = self.version - kept
        return kept
