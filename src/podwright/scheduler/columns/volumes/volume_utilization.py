"""Storage utilization: requested and provided capacity per class, for every node.

Upstream: pkg/scheduler/framework/plugins/volumebinding/volume_binding.go, `Score`; scorer.go
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from podwright._arrays import I32Array, I64Array, Mask
from podwright.apimachinery.objects import PersistentVolumeClaim, quantity_value
from podwright.scheduler.columns.node_selector import labels_mask
from podwright.scheduler.columns.nodes import NodeColumns
from podwright.scheduler.columns.volumes.class_volumes import NO_VOLUME, ClassVolumes
from podwright.scheduler.columns.volumes.storage import StorageIndex, class_of
from podwright.scheduler.columns.volumes.volume_decisions import Decisions

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
