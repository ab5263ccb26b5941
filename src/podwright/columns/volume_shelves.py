"""The volumes of a class that claims could be bound to, and the best one for every node.

Upstream walks all volumes of the class for every node and takes the smallest that matches.
Here the volumes are kept in order of size; those that match a claim apart from the node are
picked once, and then the first that each node can reach is found for all nodes together:
volumes that name their nodes by one label (local volumes) through a table over label values,
others through a mask per distinct node affinity.

Volumes of equal size have no order upstream (a Go map); here the name decides.

Upstream: staging/src/k8s.io/component-helpers/storage/volume/pv_helpers.go,
`FindMatchingVolume`
"""

from __future__ import annotations

from bisect import bisect_left, insort

import numpy as np

from podwright._arrays import I32Array, I64Array, I64Matrix, Mask
from podwright.columns.node_selector import compile_node_selector, node_selector_mask
from podwright.columns.nodes import NodeColumns
from podwright.objects import (
    NodeSelector,
    PersistentVolume,
    PersistentVolumeClaim,
    ResourceList,
    label_selector,
)
from podwright.objects.quantity import parse_quantity

NO_VOLUME = -1
"""The number of the volume that a node does not have."""


def storage_nano(amounts: ResourceList) -> int:
    """Return the `storage` of a resource list in units of 10^-9 bytes, exact; 0 if missing."""
    text = amounts.get("storage")
    return 0 if text is None else parse_quantity(text).nano


def required_affinity(volume: PersistentVolume) -> NodeSelector | None:
    """Return the nodes that a volume can be reached from; None: all."""
    affinity = volume.spec.node_affinity
    return None if affinity is None else affinity.required


class VolumeShelf:
    """The volumes of one class; written by `StorageIndex` only."""

    __slots__ = ("_free", "_reserved", "_volumes")

    def __init__(self) -> None:
        self._volumes: dict[str, PersistentVolume] = {}
        self._free: list[tuple[int, str]] = []
        self._reserved: dict[str, list[str]] = {}

    def add(self, volume: PersistentVolume) -> None:
        """Take in a volume that is not there."""
        name = volume.metadata.name
        self._volumes[name] = volume
        if (owner := _owner(volume)) is not None:
            insort(self._reserved.setdefault(owner, []), name)
        elif _is_free(volume):
            insort(self._free, (storage_nano(volume.spec.capacity), name))

    def remove(self, volume: PersistentVolume) -> None:
        """Take out a volume that is there, in this version."""
        name = volume.metadata.name
        del self._volumes[name]
        if (owner := _owner(volume)) is not None:
            names = self._reserved[owner]
            names.remove(name)
            if not names:
                del self._reserved[owner]
        elif _is_free(volume):
            place = bisect_left(self._free, (storage_nano(volume.spec.capacity), name))
            del self._free[place]

    def reserved_for(self, claim: PersistentVolumeClaim) -> list[PersistentVolume]:
        """Return the volumes that are bound, by anybody, to this claim and suit it."""
        wanted = storage_nano(claim.spec.resources.requests)
        volumes = (self._volumes[name] for name in self._reserved.get(claim.key, ()))
        return [
            volume
            for volume in volumes
            if is_bound_to(volume, claim)
            and storage_nano(volume.spec.capacity) >= wanted
            and _suits(volume, claim)
            and volume.metadata.deletion_timestamp is None
        ]

    def free_for(self, claim: PersistentVolumeClaim) -> list[PersistentVolume]:
        """Return the unbound volumes that suit a claim wherever they are, smallest first.

        Raises
        ------
        SelectorError
            The claim's selector is invalid.
        """
        selector = None
        if claim.spec.selector is not None:
            selector = label_selector(claim.spec.selector)
        modes = set(claim.spec.access_modes)
        start = bisect_left(self._free, (storage_nano(claim.spec.resources.requests), ""))
        volumes = (self._volumes[name] for _, name in self._free[start:])
        return [
            volume
            for volume in volumes
            if _suits(volume, claim)
            and modes.issubset(volume.spec.access_modes)
            and (selector is None or selector.matches(volume.metadata.labels))
        ]


class Matches:
    """The volumes chosen for the claims of one pod, one claim after the other.

    Attributes
    ----------
    volumes : list of PersistentVolume
        By number.
    chosen : list of (k,) int64
        Per claim, the number of its volume on each of the rows, or `NO_VOLUME`.
    """

    __slots__ = ("_nodes", "_numbers", "_rows", "chosen", "volumes")

    def __init__(self, nodes: NodeColumns, rows: I32Array) -> None:
        self._nodes = nodes
        self._rows = rows
        self._numbers: dict[str, int] = {}
        self.volumes: list[PersistentVolume] = []
        self.chosen: list[I64Array] = []

    def choose(self, claim: PersistentVolumeClaim, shelf: VolumeShelf) -> Mask:
        """Choose the volume of the next claim on each row; tell which rows have one.

        A volume that a row's earlier claims have got is not chosen again.
        """
        chosen = np.full(len(self._rows), NO_VOLUME, dtype=np.int64)
        undecided: Mask = np.ones(len(self._rows), dtype=np.bool_)
        for volume in shelf.reserved_for(claim):
            number = self._number(volume)
            deciding = undecided & ~self._is_taken(number)
            # If the node cannot reach it, the claim has no volume there at all.
            chosen[deciding & self._reach(volume)] = number
            undecided &= ~deciding
        if undecided.any():
            best = self._smallest(shelf.free_for(claim))
            chosen[undecided] = best[undecided]
        self.chosen.append(chosen)
        found: Mask = chosen != NO_VOLUME
        return found

    def _smallest(self, volumes: list[PersistentVolume]) -> I64Array:
        """Return per row the number of the first volume that it reaches and has not taken."""
        depth = len(self.chosen) + 1  # as many may be taken, and one more
        none = len(volumes)
        tables, selectors = _by_affinity(volumes, depth)
        blocks: list[I64Matrix] = []
        find = self._nodes.label_values.find
        for key, places_of in tables.items():
            ids = self._nodes.label_ids(key)[self._rows]  # may add values: before the table
            table = np.full((len(self._nodes.label_values) + 1, depth), none, dtype=np.int64)
            for value, places in places_of.items():
                number = find(value)
                if number >= 0:
                    table[number, : len(places)] = places
            blocks.append(table[ids])
        for selector, places in selectors.items():
            block = np.full((len(self._rows), depth), none, dtype=np.int64)
            reached = self._reach_selector(selector)
            block[reached, : len(places)] = places
            blocks.append(block)
        if not blocks:
            return np.full(len(self._rows), NO_VOLUME, dtype=np.int64)
        if depth == 1:
            places_by_row = np.minimum.reduce(blocks)
        else:
            places_by_row = np.sort(np.concatenate(blocks, axis=1), axis=1)
        numbers = np.array([*map(self._number, volumes), NO_VOLUME], dtype=np.int64)
        candidates = numbers[places_by_row]
        if depth == 1:
            return candidates[:, 0]
        allowed = np.ones(candidates.shape, dtype=np.bool_)
        for taken in self.chosen:
            allowed &= candidates != taken[:, np.newaxis]
        allowed |= candidates == NO_VOLUME
        first = allowed.argmax(axis=1)
        picked = candidates[np.arange(len(first)), first]
        # Without any allowed column everything there was is taken.
        return np.where(allowed.any(axis=1), picked, NO_VOLUME)

    def _number(self, volume: PersistentVolume) -> int:
        number = self._numbers.setdefault(volume.metadata.name, len(self.volumes))
        if number == len(self.volumes):
            self.volumes.append(volume)
        return number

    def _is_taken(self, number: int) -> Mask:
        taken: Mask = np.zeros(len(self._rows), dtype=np.bool_)
        for chosen in self.chosen:
            taken |= chosen == number
        return taken

    def _reach(self, volume: PersistentVolume) -> Mask:
        return self._reach_selector(required_affinity(volume))

    def _reach_selector(self, selector: NodeSelector | None) -> Mask:
        if selector is None:
            everywhere: Mask = np.ones(len(self._rows), dtype=np.bool_)
            return everywhere
        return node_selector_mask(selector, self._nodes, self._rows, with_fields=False)


def _by_affinity(
    volumes: list[PersistentVolume], depth: int
) -> tuple[dict[str, dict[str, list[int]]], dict[NodeSelector | None, list[int]]]:
    """Group volumes by the nodes that reach them: the first `depth` of each group.

    Returns
    -------
    (dict, dict)
        Places in `volumes` by label and value, for volumes that ask for one label only; and
        by node affinity for the others.
    """
    tables: dict[str, dict[str, list[int]]] = {}
    selectors: dict[NodeSelector | None, list[int]] = {}
    for place, volume in enumerate(volumes):
        selector = required_affinity(volume)
        single = None if selector is None else _single_label(selector)
        if single is None:
            groups = [selectors.setdefault(selector, [])]
        else:
            key, values = single
            of_key = tables.setdefault(key, {})
            groups = [of_key.setdefault(value, []) for value in dict.fromkeys(values)]
        for group in groups:
            if len(group) < depth:
                group.append(place)
    return tables, selectors


def _single_label(selector: NodeSelector) -> tuple[str, tuple[str, ...]] | None:
    """Return the label and values of a selector that asks for nothing else."""
    terms = compile_node_selector(selector).terms
    if len(terms) != 1 or terms[0].errors or len(terms[0].labels.requirements) != 1:
        return None
    requirement = terms[0].labels.requirements[0]
    return (requirement.key, requirement.values) if requirement.operator == "In" else None


def is_bound_to(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """Tell whether a volume is reserved for a claim or bound to it."""
    reference = volume.spec.claim_ref
    return (
        reference is not None
        and reference.name == claim.metadata.name
        and reference.namespace == claim.metadata.namespace
        and reference.uid in ("", claim.metadata.uid)
    )


def _owner(volume: PersistentVolume) -> str | None:
    reference = volume.spec.claim_ref
    return None if reference is None else f"{reference.namespace}/{reference.name}"


def _is_free(volume: PersistentVolume) -> bool:
    return volume.status.phase == "Available" and volume.metadata.deletion_timestamp is None


def _suits(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """Compare what must be equal: the mode (a file system if not set) and attributes class."""
    ours, theirs = claim.spec, volume.spec
    return (ours.volume_mode or "Filesystem") == (theirs.volume_mode or "Filesystem") and (
        ours.volume_attributes_class_name or ""
    ) == (theirs.volume_attributes_class_name or "")
