"""The PersistentVolumes of a StorageClass, and the best match for a claim on every node.

Upstream walks all volumes of the class for every node and takes the smallest that matches. Here
free volumes that differ only in size and node affinity form one group. A group has lanes, each
with its volumes in order of size: one lane per label for the volumes whose node affinity uses
only that label (local volumes), and one per node affinity for the others. The first volume of a
lane that is large enough is found for all nodes together, with a table over label values or a
mask.

Volumes of equal size have no order upstream (a Go map); here the name decides.

Upstream: staging/src/k8s.io/component-helpers/storage/volume/pv_helpers.go,
`FindMatchingVolume`
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

import numpy as np

from podwright._arrays import I32Array, I64Array, I64Matrix, Mask
from podwright.apimachinery.objects import (
    NodeSelector,
    PersistentVolume,
    PersistentVolumeClaim,
    ResourceList,
    label_selector,
    parse_quantity,
)
from podwright.scheduler.columns.node_selector import compile_node_selector, node_selector_mask
from podwright.scheduler.columns.nodes import Interner, NodeColumns

_BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
"""The annotation of a claim whose binding is complete."""

NO_VOLUME = -1
"""The number of the volume that a node does not have."""

_Size: TypeAlias = tuple[int, str]
"""Size in 10^-9 bytes, and name: the order of preference."""


def storage_nano(amounts: ResourceList) -> int:
    """Return the `storage` of a resource list in units of 10^-9 bytes, exact; 0 if missing."""
    text = amounts.get("storage")
    return 0 if text is None else parse_quantity(text).nano


def required_affinity(volume: PersistentVolume) -> NodeSelector | None:
    """Return the nodes that can access a volume; None: all."""
    affinity = volume.spec.node_affinity
    return None if affinity is None else affinity.required


class _Properties(NamedTuple):
    """The properties of a volume that a claim may require besides size, nodes and labels."""

    volume_mode: str
    attributes_class: str
    access_modes: frozenset[str]


class _LabelLane:
    """Volumes that name their nodes by one label, one entry per value, in order of size."""

    __slots__ = ("numbers", "sizes", "value_ids")

    def __init__(self) -> None:
        self.sizes: list[_Size] = []
        self.value_ids: I64Array = np.empty(0, dtype=np.int64)
        self.numbers: I64Array = np.empty(0, dtype=np.int64)

    def add(self, size: _Size, value_ids: list[int], number: int) -> None:
        """Add a volume."""
        place = bisect_left(self.sizes, size)
        self.sizes[place:place] = [size] * len(value_ids)
        self.value_ids = np.insert(self.value_ids, place, value_ids)
        self.numbers = np.insert(self.numbers, place, [number] * len(value_ids))

    def remove(self, size: _Size, count: int) -> None:
        """Remove a volume that has `count` values."""
        place = bisect_left(self.sizes, size)
        removed = slice(place, place + count)
        del self.sizes[removed]
        self.value_ids = np.delete(self.value_ids, removed)
        self.numbers = np.delete(self.numbers, removed)


class _Group:
    """Free volumes with equal properties."""

    __slots__ = ("by_label", "by_selector")

    def __init__(self) -> None:
        self.by_label: dict[str, _LabelLane] = {}
        self.by_selector: dict[NodeSelector | None, list[_Size]] = {}


class ClassVolumes:
    """The volumes of one class; written by `StorageIndex` only.

    Attributes
    ----------
    volumes : dict of str to PersistentVolume
        By name.
    numbers : Interner of str
        Names to numbers; a name keeps its number.
    """

    __slots__ = ("_groups", "_nodes", "_reserved", "numbers", "volumes")

    def __init__(self, nodes: NodeColumns) -> None:
        self._nodes = nodes
        self.volumes: dict[str, PersistentVolume] = {}
        self.numbers: Interner[str] = Interner()
        self._groups: dict[_Properties, _Group] = {}
        self._reserved: dict[str, list[str]] = {}

    # ---------------------------------------------------------------- writing

    def add(self, volume: PersistentVolume) -> None:
        """Add a volume that is not contained yet."""
        name = volume.metadata.name
        self.volumes[name] = volume
        if (owner := _owner(volume)) is not None:
            insort(self._reserved.setdefault(owner, []), name)
        elif _is_free(volume):
            self._add_to_group(volume)

    def remove(self, volume: PersistentVolume) -> None:
        """Remove a volume; it must be the version that was added."""
        name = volume.metadata.name
        del self.volumes[name]
        if (owner := _owner(volume)) is not None:
            names = self._reserved[owner]
            names.remove(name)
            if not names:
                del self._reserved[owner]
        elif _is_free(volume):
            self._remove_from_group(volume)

    def _add_to_group(self, volume: PersistentVolume) -> None:
        group = self._groups.setdefault(_properties_of(volume), _Group())
        number = self.numbers.id_of(volume.metadata.name)
        selector = required_affinity(volume)
        single = _single_label(selector)
        if single is None:
            insort(group.by_selector.setdefault(selector, []), _size(volume))
            return
        key, values = single
        lane = group.by_label.setdefault(key, _LabelLane())
        lane.add(_size(volume), list(map(self._nodes.label_values.id_of, values)), number)

    def _remove_from_group(self, volume: PersistentVolume) -> None:
        group = self._groups[_properties_of(volume)]
        selector = required_affinity(volume)
        single = _single_label(selector)
        if single is None:
            sizes = group.by_selector[selector]
            sizes.remove(_size(volume))
            if not sizes:
                del group.by_selector[selector]
        else:
            key, values = single
            lane = group.by_label[key]
            lane.remove(_size(volume), len(values))
            if not lane.sizes:
                del group.by_label[key]

    # ---------------------------------------------------------------- reading

    def reserved_for(self, claim: PersistentVolumeClaim) -> list[PersistentVolume]:
        """Return the volumes whose claimRef is this claim and that satisfy it."""
        names = self._reserved.get(claim.key)
        if not names:
            return []
        requested = storage_nano(claim.spec.resources.requests)
        mode, attributes = _required_properties(claim)
        return [
            volume
            for volume in map(self.volumes.__getitem__, names)
            if is_bound_to(volume, claim)
            and storage_nano(volume.spec.capacity) >= requested
            and _properties_of(volume)[:2] == (mode, attributes)
            and volume.metadata.deletion_timestamp is None
        ]

    def groups_for(self, claim: PersistentVolumeClaim) -> Iterator[_Group]:
        """Return the groups with the volume mode, attributes class and access modes of a claim."""
        required = _required_properties(claim)
        modes = set(claim.spec.access_modes)
        for properties, group in self._groups.items():
            if properties[:2] == required and modes <= properties.access_modes:
                yield group


class Matches:
    """The volumes chosen for the claims of one pod, one claim after the other.

    Attributes
    ----------
    chosen : list of (ClassVolumes, (k,) int64)
        Per claim, the number of its volume on each of the rows, or `NO_VOLUME`, and the
        the `ClassVolumes` that these numbers belong to.
    """

    __slots__ = ("_nodes", "_rows", "chosen")

    def __init__(self, nodes: NodeColumns, rows: I32Array) -> None:
        self._nodes = nodes
        self._rows = rows
        self.chosen: list[tuple[ClassVolumes, I64Array]] = []

    def volume(self, claim_index: int, row: int) -> PersistentVolume | None:
        """Return the volume chosen for a claim on a row."""
        class_volumes, chosen = self.chosen[claim_index]
        number = chosen.item(row)
        return (
            None
            if number == NO_VOLUME
            else class_volumes.volumes[class_volumes.numbers.values[number]]
        )

    def choose(self, claim: PersistentVolumeClaim, class_volumes: ClassVolumes) -> Mask:
        """Choose the volume of the next claim on each row; return which rows have one: (k,) bool.

        A volume that was chosen for an earlier claim on a row is not chosen again.
        """
        taken = [numbers for other, numbers in self.chosen if other is class_volumes]
        chosen: I64Array = np.full(len(self._rows), NO_VOLUME, dtype=np.int64)
        undecided: Mask | None = None
        for volume in class_volumes.reserved_for(claim):
            number = class_volumes.numbers.id_of(volume.metadata.name)
            deciding: Mask = np.ones(len(self._rows), dtype=np.bool_)
            for numbers in taken:
                deciding &= numbers != number
            if undecided is not None:
                deciding &= undecided
            # If the node cannot access it, the claim has no volume on that node.
            chosen[deciding & self._reach(required_affinity(volume))] = number
            undecided = ~deciding if undecided is None else undecided & ~deciding
        if undecided is None:
            chosen = self._smallest(claim, class_volumes, taken)
        elif undecided.any():
            chosen[undecided] = self._smallest(claim, class_volumes, taken)[undecided]
        self.chosen.append((class_volumes, chosen))
        found: Mask = chosen != NO_VOLUME
        return found

    def _smallest(
        self, claim: PersistentVolumeClaim, class_volumes: ClassVolumes, taken: list[I64Array]
    ) -> I64Array:
        """Return per row the smallest volume that matches, is accessible and is not taken."""
        lanes, sets = _large_enough(claim, class_volumes)
        if not lanes and not sets:
            return np.full(len(self._rows), NO_VOLUME, dtype=np.int64)
        depth = len(taken) + 1  # as many may be taken, and one more
        numbers, ranks_of_lane, ranks_of_set = _ranked(lanes, sets, class_volumes)
        none = len(numbers)
        blocks: list[I64Matrix] = []
        for (key, lane), ranks in zip(lanes, ranks_of_lane, strict=True):
            ids = self._nodes.label_ids(key)[self._rows]  # may add values: before the table
            table = _table(lane.value_ids, ranks, len(self._nodes.label_values), depth, none)
            blocks.append(table[ids])
        for (selector, _), ranks in zip(sets, ranks_of_set, strict=True):
            block = np.full((len(self._rows), depth), none, dtype=np.int64)
            block[self._reach(selector), : len(ranks)] = ranks[:depth]
            blocks.append(block)
        ranks_of_row = np.concatenate(blocks, axis=1)
        # The rank `none` selects the last entry.
        candidates = np.append(numbers, NO_VOLUME)
        if not taken:
            smallest: I64Array = candidates[ranks_of_row.min(axis=1)]
            return smallest
        ranks_of_row.sort(axis=1)
        found = candidates[ranks_of_row]
        allowed: Mask = np.ones(found.shape, dtype=np.bool_)
        for chosen in taken:
            allowed &= found != chosen[:, np.newaxis]
        allowed |= found == NO_VOLUME
        first = found[np.arange(len(found)), allowed.argmax(axis=1)]
        return np.where(allowed.any(axis=1), first, NO_VOLUME)

    def _reach(self, selector: NodeSelector | None) -> Mask:
        if selector is None:
            everywhere: Mask = np.ones(len(self._rows), dtype=np.bool_)
            return everywhere
        return node_selector_mask(selector, self._nodes, self._rows, with_fields=False)


class _Slice(NamedTuple):
    """The part of a lane that is large enough (and has the right labels)."""

    sizes: list[_Size]
    value_ids: I64Array
    numbers: I64Array


def _large_enough(
    claim: PersistentVolumeClaim, class_volumes: ClassVolumes
) -> tuple[list[tuple[str, _Slice]], list[tuple[NodeSelector | None, list[_Size]]]]:
    """Return the volumes that satisfy a claim's size and labels.

    Returns
    -------
    (list, list)
        Parts of label lanes, with their label; and of the others, with their selector.

    Raises
    ------
    SelectorError
        The claim's selector is invalid.
    """
    # The empty name sorts first, so volumes of exactly this size are large enough.
    smallest = (storage_nano(claim.spec.resources.requests), "")
    lanes: list[tuple[str, _Slice]] = []
    sets: list[tuple[NodeSelector | None, list[_Size]]] = []
    for group in class_volumes.groups_for(claim):
        for key, lane in group.by_label.items():
            start = bisect_left(lane.sizes, smallest)
            sizes = lane.sizes[start:] if start else lane.sizes
            part = _Slice(sizes, lane.value_ids[start:], lane.numbers[start:])
            lanes.append((key, part))
        for selector, sizes in group.by_selector.items():
            sets.append((selector, sizes[bisect_left(sizes, smallest) :]))
    if claim.spec.selector is not None:
        label_match = label_selector(claim.spec.selector)

        def matches(size: _Size) -> bool:
            return label_match.matches(class_volumes.volumes[size[1]].metadata.labels)

        lanes = [(key, _only(part, list(map(matches, part.sizes)))) for key, part in lanes]
        sets = [(selector, list(filter(matches, sizes))) for selector, sizes in sets]
    return [x for x in lanes if x[1].sizes], [x for x in sets if x[1]]


def _only(part: _Slice, keep: list[bool]) -> _Slice:
    mask = np.array(keep, dtype=np.bool_)
    sizes = [size for size, kept in zip(part.sizes, keep, strict=True) if kept]
    return _Slice(sizes, part.value_ids[mask], part.numbers[mask])


def _ranked(
    lanes: list[tuple[str, _Slice]],
    sets: list[tuple[NodeSelector | None, list[_Size]]],
    class_volumes: ClassVolumes,
) -> tuple[I64Array, list[I64Array], list[I64Array]]:
    """Sort the volumes of all lanes into one order.

    Returns
    -------
    ((n,) int64, list, list)
        Numbers by rank, and the ranks of each lane's and set's volumes.
    """
    if len(lanes) == 1 and not sets:
        # With one lane, a rank per entry serves as a rank per volume, and no sort is needed.
        numbers = lanes[0][1].numbers
        return numbers, [np.arange(len(numbers), dtype=np.int64)], []
    listed = [part.sizes for _, part in lanes] + [sizes for _, sizes in sets]
    in_order = sorted({size for sizes in listed for size in sizes})
    rank_of = {size: rank for rank, size in enumerate(in_order)}
    numbers = np.array([class_volumes.numbers.id_of(name) for _, name in in_order], dtype=np.int64)
    ranks = [np.array([rank_of[size] for size in sizes], dtype=np.int64) for sizes in listed]
    return numbers, ranks[: len(lanes)], ranks[len(lanes) :]


def _table(value_ids: I64Array, ranks: I64Array, n_values: int, depth: int, none: int) -> I64Matrix:
    """Return the first `depth` ranks of each label value.

    Returns
    -------
    (n_values + 1, depth) int64
        `none` where there are no more; the last row is for nodes without the label.
    """
    table = np.full((n_values + 1, depth), none, dtype=np.int64)
    for column in range(depth):
        # Of several entries for one value the last one written stays: the smallest.
        table[value_ids[::-1], column] = ranks[::-1]
        if column + 1 < depth:
            left = table[value_ids, column] != ranks
            value_ids, ranks = value_ids[left], ranks[left]
    return table


def _single_label(selector: NodeSelector | None) -> tuple[str, tuple[str, ...]] | None:
    """Return the label and values of a selector with a single requirement on one label."""
    if selector is None:
        return None
    terms = compile_node_selector(selector).terms
    if len(terms) != 1:
        return None
    (term,) = terms
    if term.errors or len(term.labels.requirements) != 1:
        return None
    (requirement,) = term.labels.requirements
    if requirement.operator != "In":
        return None
    return requirement.key, tuple(dict.fromkeys(requirement.values))


def is_bound_to(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """Return whether a volume is reserved for a claim or bound to it."""
    reference = volume.spec.claim_ref
    return (
        reference is not None
        and reference.name == claim.metadata.name
        and reference.namespace == claim.metadata.namespace
        and reference.uid in ("", claim.metadata.uid)
    )


def is_fully_bound(claim: PersistentVolumeClaim) -> bool:
    """Return whether a claim's binding is complete; one that only names its volume is unbound."""
    return bool(claim.spec.volume_name) and _BIND_COMPLETED in claim.metadata.annotations


def _owner(volume: PersistentVolume) -> str | None:
    reference = volume.spec.claim_ref
    return None if reference is None else f"{reference.namespace}/{reference.name}"


def _is_free(volume: PersistentVolume) -> bool:
    return volume.status.phase == "Available" and volume.metadata.deletion_timestamp is None


def _size(volume: PersistentVolume) -> _Size:
    return storage_nano(volume.spec.capacity), volume.metadata.name


def _properties_of(volume: PersistentVolume) -> _Properties:
    spec = volume.spec
    return _Properties(
        spec.volume_mode or "Filesystem",
        spec.volume_attributes_class_name or "",
        frozenset(spec.access_modes),
    )


def _required_properties(claim: PersistentVolumeClaim) -> tuple[str, str]:
    spec = claim.spec
    return spec.volume_mode or "Filesystem", spec.volume_attributes_class_name or ""
