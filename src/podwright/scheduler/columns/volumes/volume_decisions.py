"""Volume decisions: bound volumes, matching volumes and dynamic provisioning, for every slot.

All slots are evaluated together, in the order of upstream's checks. The conflicts of a slot are
bits, because one node may have several; within bound claims, and within claims to be
provisioned, the first failure decides.

Upstream: pkg/scheduler/framework/plugins/volumebinding/binder.go, `FindPodVolumes`;
pkg/scheduler/framework/plugins/volumebinding/volume_binding.go, `Score`; scorer.go.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from podwright._arrays import I32Array, I64Array, Mask
from podwright.apimachinery.objects import (
    NodeSelector,
    PersistentVolume,
    PersistentVolumeClaim,
    Requirement,
    StorageClass,
    quantity_value,
)
from podwright.scheduler.columns.node_selector import labels_mask, node_selector_mask, value_mask
from podwright.scheduler.columns.nodes import NodeColumns
from podwright.scheduler.columns.volumes.class_volumes import (
    NO_VOLUME,
    ClassVolumes,
    Matches,
    required_affinity,
    storage_nano,
)
from podwright.scheduler.columns.volumes.csi_migration import (
    TranslationError,
    migrated_affinity,
    migration_of,
)
from podwright.scheduler.columns.volumes.storage import StorageIndex, class_of

SELECTED_NODE = "volume.kubernetes.io/selected-node"
"""The annotation that requests provisioning of a claim for a node."""

NO_PROVISIONER = "kubernetes.io/no-provisioner"

NODE_CONFLICT, BIND_CONFLICT, NOT_ENOUGH_SPACE, VOLUME_MISSING, FAILED = 1, 2, 4, 8, 16
"""The conflicts of a slot; the first four in the order of the reasons."""


class PodClaims(NamedTuple):
    """The claims of a pod, in the order of its volumes."""

    bound: tuple[PersistentVolumeClaim, ...]
    waiting: tuple[PersistentVolumeClaim, ...]


class Decisions:
    """The decisions for the claims of one pod.

    Attributes
    ----------
    conflicts : (k,) int64
        Per row the bits of its conflicts; 0: the pod can use its volumes there.
    error : str
        What failed on the rows that have the bit `FAILED`.
    """

    __slots__ = ("_matched", "_matches", "_provisions", "conflicts", "error")

    def __init__(self, nodes: NodeColumns, rows: I32Array) -> None:
        self.conflicts: I64Array = np.zeros(len(rows), dtype=np.int64)
        self.error = ""
        self._matches = Matches(nodes, rows)
        self._matched: list[PersistentVolumeClaim] = []
        self._provisions: list[tuple[PersistentVolumeClaim, Mask]] = []

    def bindings(self, row: int) -> list[tuple[PersistentVolumeClaim, PersistentVolume]]:
        """Return the claims that get existing volumes on a row."""
        volumes = [self._matches.volume(i, row) for i in range(len(self._matched))]
        pairs = zip(self._matched, volumes, strict=True)
        return [(claim, volume) for claim, volume in pairs if volume is not None]

    def provisions(self, row: int) -> list[PersistentVolumeClaim]:
        """Return the claims to be provisioned on a row."""
        return [claim for claim, mask in self._provisions if mask[row]]

    def matched(self) -> Iterator[tuple[PersistentVolumeClaim, ClassVolumes, I64Array]]:
        """Yield the matched claims, and per row the number of the volume."""
        for claim, (class_volumes, chosen) in zip(self._matched, self._matches.chosen, strict=True):
            yield claim, class_volumes, chosen

    def to_provision(self) -> Iterator[tuple[PersistentVolumeClaim, Mask]]:
        """Yield the claims to be provisioned, and the rows."""
        yield from self._provisions

    def match(self, claim: PersistentVolumeClaim, storage: StorageIndex) -> Mask:
        """Choose a volume for the next claim; return which rows have one: (k,) bool."""
        self._matched.append(claim)
        return self._matches.choose(claim, storage.class_volumes(class_of(claim)))

    def provision(self, claim: PersistentVolumeClaim, mask: Mask) -> None:
        """Record that a claim is to be provisioned on the rows in `mask`."""
        self._provisions.append((claim, mask))


def decide(
    claims: PodClaims, storage: StorageIndex, nodes: NodeColumns, rows: I32Array
) -> Decisions:
    """Find volumes for the claims of a pod on each of the slots in `rows`."""
    decisions = Decisions(nodes, rows)
    _check_bound(claims.bound, storage, nodes, rows, decisions)
    if claims.waiting:
        _check_waiting(claims.waiting, storage, nodes, rows, decisions)
    return decisions


# --------------------------------------------------------------------------- bound claims


def _check_bound(
    claims: tuple[PersistentVolumeClaim, ...],
    storage: StorageIndex,
    nodes: NodeColumns,
    rows: I32Array,
    decisions: Decisions,
) -> None:
    undecided: Mask = np.ones(len(rows), dtype=np.bool_)
    for claim in claims:
        volume = storage.volume(claim.spec.volume_name)
        if volume is None:
            decisions.conflicts[undecided] |= VOLUME_MISSING
            return
        reachable, failed, error = _reachable(volume, storage, nodes, rows)
        if failed is not None:
            decisions.error = decisions.error or error
            decisions.conflicts[undecided & failed] = FAILED
            undecided &= ~failed
        decisions.conflicts[undecided & ~reachable] |= NODE_CONFLICT
        undecided &= reachable


def _reachable(
    volume: PersistentVolume, storage: StorageIndex, nodes: NodeColumns, rows: I32Array
) -> tuple[Mask, Mask | None, str]:
    """Return the rows that can access a volume, and the error of its node affinity."""
    reachable = _affinity_mask(required_affinity(volume), nodes, rows)
    migration = migration_of(volume)
    if migration is None or not migration.name_field:
        return reachable, None, ""
    column = storage.csi_nodes.migrated(migration.plugin)
    if column is None:
        return reachable, None, ""
    migrated: Mask = column[rows] != 0
    try:
        affinity = migrated_affinity(volume, migration)
    except TranslationError as error:
        return reachable, migrated, f"could not translate pv: {error}"
    there = _affinity_mask(affinity, nodes, rows)
    return np.where(migrated, there, reachable), None, ""


def _affinity_mask(selector: NodeSelector | None, nodes: NodeColumns, rows: I32Array) -> Mask:
    if selector is None:
        everywhere: Mask = np.ones(len(rows), dtype=np.bool_)
        return everywhere
    return node_selector_mask(selector, nodes, rows, with_fields=False)


# ------------------------------------------------------------------------- waiting claims


def _check_waiting(
    claims: tuple[PersistentVolumeClaim, ...],
    storage: StorageIndex,
    nodes: NodeColumns,
    rows: I32Array,
    decisions: Decisions,
) -> None:
    considered: Mask = np.ones(len(rows), dtype=np.bool_)
    to_provision: list[tuple[PersistentVolumeClaim, Mask | None]] = []
    to_match: list[PersistentVolumeClaim] = []
    for claim in claims:
        selected = claim.metadata.annotations.get(SELECTED_NODE)
        if selected is None:
            to_match.append(claim)
        else:
            considered &= rows == nodes.slot_of.get(selected, -1)
            to_provision.append((claim, None))
    failed = decisions.conflicts == FAILED
    considered &= ~failed
    decisions.conflicts[~considered & ~failed] |= BIND_CONFLICT
    if not considered.any():
        # Upstream returns before it checks any volume.
        return
    # Smallest first, as in upstream's `findMatchingVolumes`.
    to_provision += [
        (claim, ~decisions.match(claim, storage)) for claim in sorted(to_match, key=_size)
    ]
    for claim, where in to_provision:
        checked = considered if where is None else considered & where
        if checked.any():
            possible = _check_provision(claim, storage, nodes, rows, checked, decisions)
            # The first claim that cannot be provisioned decides for its rows.
            considered &= ~checked | possible
            decisions.provision(claim, checked & possible)


def _check_provision(
    claim: PersistentVolumeClaim,
    storage: StorageIndex,
    nodes: NodeColumns,
    rows: I32Array,
    checked: Mask,
    decisions: Decisions,
) -> Mask:
    """Note the conflicts of making a claim's volume; return where there are none."""
    storage_class = storage.classes.get(class_of(claim))
    if storage_class is None:
        # PreFilter has checked the class; other callers may not have.
        decisions.error = f'failed to find storage class "{class_of(claim)}"'
        decisions.conflicts[checked] = FAILED
        return ~checked
    if storage_class.provisioner in ("", NO_PROVISIONER):
        decisions.conflicts[checked] |= BIND_CONFLICT
        return ~checked
    allowed = _topology_mask(storage_class, nodes, rows)
    decisions.conflicts[checked & ~allowed] |= BIND_CONFLICT
    roomy = _capacity_mask(claim, storage_class, storage, nodes, rows)
    decisions.conflicts[checked & allowed & ~roomy] |= NOT_ENOUGH_SPACE
    return allowed & roomy


def _size(claim: PersistentVolumeClaim) -> int:
    return storage_nano(claim.spec.resources.requests)


def _topology_mask(storage_class: StorageClass, nodes: NodeColumns, rows: I32Array) -> Mask:
    """Return which nodes are in the allowed topologies of a class; no term allows all."""
    terms = storage_class.allowed_topologies
    mask: Mask = np.full(len(rows), not terms, dtype=np.bool_)
    for term in terms:
        # A term without expressions selects nothing.
        inside: Mask = np.full(len(rows), bool(term.match_label_expressions), dtype=np.bool_)
        for expression in term.match_label_expressions:
            inside &= value_mask(expression.key, expression.values, nodes, rows)
        mask |= inside
    return mask


def _capacity_mask(
    claim: PersistentVolumeClaim,
    storage_class: StorageClass,
    storage: StorageIndex,
    nodes: NodeColumns,
    rows: I32Array,
) -> Mask:
    """Return which nodes have capacity for a new volume, where the driver reports capacity."""
    request = claim.spec.resources.requests.get("storage")
    driver = storage.csi_drivers.get(storage_class.provisioner)
    if request is None or driver is None or not driver.spec.storage_capacity:
        everywhere: Mask = np.ones(len(rows), dtype=np.bool_)
        return everywhere
    size = quantity_value(request)
    mask: Mask = np.zeros(len(rows), dtype=np.bool_)
    by_label: dict[str, list[str]] = {}
    for pool in storage.pools(storage_class.metadata.name):
        if pool.limit_bytes < size:
            continue
        match pool.nodes.requirements:
            case (Requirement(operator="In") as only,):
                # Usually a pool is one node or one zone: all of them make one test.
                by_label.setdefault(only.key, []).extend(only.values)
            case _:
                mask |= labels_mask(pool.nodes, nodes, rows)
    for key, values in by_label.items():
        mask |= value_mask(key, tuple(values), nodes, rows)
    return mask


# Storage utilization: requested and provided capacity per class, for every node.

_FULL = 100


class _Amounts:
    """Requested and provided capacity of one class, per row.

    Attributes
    ----------
    requested, capacity : (k,) int64
        Bytes.
    counts : (k,) bool
        Where the class counts at all.
    """

    __slots__ = ("capacity", "counts", "requested")

    def __init__(self, n_rows: int) -> None:
        self.requested: I64Array = np.zeros(n_rows, dtype=np.int64)
        self.capacity: I64Array = np.zeros(n_rows, dtype=np.int64)
        self.counts: Mask = np.zeros(n_rows, dtype=np.bool_)


def utilization(
    decisions: Decisions, storage: StorageIndex, nodes: NodeColumns, rows: I32Array
) -> Iterator[tuple[I64Array, Mask]]:
    """Yield the utilization of each class with the pod, and the rows where it counts.

    On rows where a claim is matched with an existing volume, only such claims count, with the
    size of their volumes. On other rows the claims to be provisioned count, where the driver
    reports its capacity; claims of one class share it.

    Parameters
    ----------
    decisions : Decisions
        For the slots in `rows`.

    Yields
    ------
    (percent, counts)
        (k,) int64 from 0 to 100, and (k,) bool.

    Notes
    -----
    Of several pools with room the first one counts; upstream takes any.
    """
    k = len(rows)
    is_static: Mask = np.zeros(k, dtype=np.bool_)
    static: dict[str, _Amounts] = {}
    for claim, class_volumes, chosen in decisions.matched():
        here: Mask = chosen != NO_VOLUME
        amounts = static.setdefault(class_of(claim), _Amounts(k))
        amounts.requested[here] += _request(claim)
        amounts.capacity += _sizes(class_volumes, chosen)
        amounts.counts |= here
        is_static |= here
    made: dict[str, _Amounts] = {}
    for claim, mask in decisions.to_provision():
        pool_bytes = _pool_bytes(claim, storage, nodes, rows)
        here = mask & ~is_static & (pool_bytes >= 0)
        amounts = made.setdefault(class_of(claim), _Amounts(k))
        amounts.requested[here] += _request(claim)
        amounts.capacity[here] = pool_bytes[here]
        amounts.counts |= here
    for amounts in (*static.values(), *made.values()):
        is_full = (amounts.capacity == 0) | (amounts.requested > amounts.capacity)
        # The divisor 1 replaces 0 only where `is_full` decides.
        share = amounts.requested * _FULL // np.maximum(amounts.capacity, 1)
        yield np.where(is_full, _FULL, share), amounts.counts


def _request(claim: PersistentVolumeClaim) -> int:
    request = claim.spec.resources.requests.get("storage")
    return 0 if request is None else quantity_value(request)


def _sizes(class_volumes: ClassVolumes, chosen: I64Array) -> I64Array:
    """Return the sizes of the chosen volumes; 0 for none."""
    sizes: I64Array = np.zeros(len(chosen), dtype=np.int64)
    for number in np.unique(chosen).tolist():
        if number != NO_VOLUME:
            volume = class_volumes.volumes[class_volumes.numbers.values[number]]
            text = volume.spec.capacity.get("storage")
            sizes[chosen == number] = 0 if text is None else quantity_value(text)
    return sizes


def _pool_bytes(
    claim: PersistentVolumeClaim, storage: StorageIndex, nodes: NodeColumns, rows: I32Array
) -> I64Array:
    """Return the capacity of the pool from which a claim's volume would be made; -1 for none."""
    found: I64Array = np.full(len(rows), -1, dtype=np.int64)
    storage_class = storage.classes.get(class_of(claim))
    driver = None if storage_class is None else storage.csi_drivers.get(storage_class.provisioner)
    if driver is None or not driver.spec.storage_capacity:
        return found
    if "storage" not in claim.spec.resources.requests:
        return found
    size = _request(claim)
    for pool in storage.pools(class_of(claim)):
        if pool.limit_bytes >= size:
            found[(found < 0) & labels_mask(pool.nodes, nodes, rows)] = pool.capacity_bytes
    return found
