"""The fragmentation of resources over a run: time-weighted means, independent of samples.

`fragmentation` defines the measure. Like utilization, it is measured each time virtual time
advances. Per node and resource, the meter keeps the free amount and the number of typical pods that
cannot use it; for a resource that is the sum of shared devices, per device. The sums of their
products are integers, so that nodes can be exchanged one by one without rounding errors. Everything
is computed again when the typical pods change.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import mul
from types import MappingProxyType

import numpy as np

from podwright._arrays import I64Array, I64Matrix
from podwright.simulation.recording.usage.fragmentation import TypicalPods
from podwright.simulation.recording.usage.node_amounts import NodeAmounts
from podwright.simulation.recording.usage.time_weighted import ABSENT, TimeWeightedShare

_INT64_BITS = 62
_ROWS_AT_ONCE = 8_192
"""So many nodes are compared with all typical pods at once; it bounds the memory."""


class FragmentationMeter:
    """Measures the fragmentation of all resources of a cluster.

    Parameters
    ----------
    pods : TypicalPods
        Of the same run.

    Attributes
    ----------
    shares : dict of str to TimeWeightedShare
        Unusable divided by free, by resource.
    free : list of int
        The free amount of each resource, by column.
    unusable : list of float
        The part of it that the typical pods cannot use.
    """

    def __init__(self, pods: TypicalPods) -> None:
        self._pods = pods
        self.shares: dict[str, TimeWeightedShare] = {}
        self.free: list[int] = []
        self.unusable: list[float] = []
        self._free: I64Matrix = np.zeros((0, 0), dtype=np.int64)
        self._weights: I64Matrix = np.zeros((0, 0), dtype=np.int64)
        # By column, and behind the resources by the position of a device.
        self._free_sums: list[int] = []
        self._sums: list[int] = []
        # By the column of the resource: what is free of the devices of each slot.
        self._shares: dict[int, I64Matrix] = {}

    def advance(
        self,
        amounts: NodeAmounts,
        changed: I64Array | None,
        before_ns: int,
        shares: Mapping[str, I64Matrix] = MappingProxyType({}),
    ) -> None:
        """Count the current state from a time on.

        Parameters
        ----------
        changed : (k,) int64, optional
            The slots that the last updates of the amounts and the shares returned.
        before_ns : int
            The time of the last changes.
        shares : mapping of str to (n_slots, n_devices) int64
            What is free of shared devices, by resource; see `DeviceShares`.
        """
        self._shares = {
            amounts.columns[name]: free for name, free in shares.items() if name in amounts.columns
        }
        has_new_typical = self._pods.update()
        if has_new_typical or changed is None or len(self._free) != len(amounts.allocatable):
            self._measure_all(amounts)
        elif len(changed):
            self._measure(amounts, changed)
        else:
            return
        self._set_shares(amounts, before_ns)

    def end(
        self,
        amounts: NodeAmounts,
        changed: I64Array | None,
        now_ns: int,
        shares: Mapping[str, I64Matrix] = MappingProxyType({}),
    ) -> None:
        """Count the last state."""
        self.advance(amounts, changed, now_ns, shares)
        for share in self.shares.values():
            share.close(now_ns)

    def means(self) -> dict[str, float]:
        """Return the mean of each resource, after `end`."""
        return {name: share.mean for name, share in self.shares.items()}

    def _measure_all(self, amounts: NodeAmounts) -> None:
        self._free = self._free_of(amounts, slice(None))
        positions = self._positions()
        self._pods.set_columns(amounts.columns, positions)
        self._weights = np.zeros_like(self._free)
        at_once = _ROWS_AT_ONCE // (len(positions) + 1)
        for start in range(0, len(self._free), at_once):
            rows = slice(start, start + at_once)
            self._weights[rows] = self._pods.weights(self._free[rows])
        self._set_sums()

    def _free_of(self, amounts: NodeAmounts, slots: I64Array | slice) -> I64Matrix:
        """Return what is free in some slots: the resources, and behind them the devices."""
        # Pods that are created with a node may exceed its allocatable amounts.
        free = np.maximum(amounts.allocatable[slots] - amounts.requested[slots], 0)
        devices = [
            np.where(amounts.allocatable[slots, column, None] > 0, shares[slots], -1)
            for column, shares in self._shares.items()
        ]
        return np.hstack((free, *devices))

    def _positions(self) -> list[int]:
        """Return the column of the resource of each position of a device."""
        counts = [(column, free.shape[1]) for column, free in self._shares.items()]
        return [column for column, count in counts for _ in range(count)]

    def _set_sums(self) -> None:
        """Add everything up again."""
        free = self._counted(self._free)
        self._free_sums = free.sum(axis=0).tolist()
        self._sums = sums_of_products(free, self._weights)

    def _counted(self, free: I64Matrix) -> I64Matrix:
        """Return amounts that count each device, and not its node's sum too."""
        counted = np.maximum(free, 0)
        first = free.shape[1] - sum(shares.shape[1] for shares in self._shares.values())
        for column, shares in self._shares.items():
            last = first + shares.shape[1]
            counted[(free[:, first:last] >= 0).any(axis=1), column] = 0
            first = last
        return counted

    def _measure(self, amounts: NodeAmounts, slots: I64Array) -> None:
        """Exchange the amounts of some slots."""
        free = self._free_of(amounts, slots)
        weights = self._pods.weights(free)
        old, new = self._counted(self._free[slots]), self._counted(free)
        before = sums_of_products(old, self._weights[slots])
        after = sums_of_products(new, weights)
        self._free[slots], self._weights[slots] = free, weights
        changes: list[int] = (new - old).sum(axis=0).tolist()
        for column, change in enumerate(changes):
            self._free_sums[column] += change
            self._sums[column] += after[column] - before[column]

    def _set_shares(self, amounts: NodeAmounts, at_ns: int) -> None:
        count = self._pods.typical_count
        n_resources = len(amounts.columns)
        self.free, sums = self._free_sums[:n_resources], self._sums[:n_resources]
        for index, column in enumerate(self._positions(), n_resources):
            self.free[column] += self._free_sums[index]
            sums[column] += self._sums[index]
        self.unusable = [value / count if count else 0.0 for value in sums]
        for name, column in amounts.columns.items():
            has_any = bool(amounts.allocatable_sums[column])
            free = self.free[column]
            share = self.unusable[column] / free if free else 0.0
            known = self.shares.get(name)
            if known is not None:
                known.change(share if has_any else ABSENT, at_ns)
            elif has_any:
                self.shares[name] = TimeWeightedShare(share, at_ns)

    @classmethod
    def restore(cls, pods: TypicalPods, shares: dict[str, TimeWeightedShare]) -> FragmentationMeter:
        """Return a meter that continues from the `shares` of another one."""
        meter = cls(pods)
        meter.shares = dict(shares)
        return meter


def sums_of_products(amounts: I64Matrix, weights: I64Matrix) -> list[int]:
    """Return the exact sum of `amounts * weights` of each column.

    Parameters
    ----------
    amounts, weights : (n, n_columns) int64
        At least 0. The sums may exceed 64 bits.
    """
    bound = float(amounts.max(initial=0)) * float(weights.max(initial=0)) * len(amounts)
    if bound < 2**_INT64_BITS:
        sums: list[int] = (amounts * weights).sum(axis=0).tolist()
        return sums
    return [
        sum(map(mul, column, weight))
        for column, weight in zip(amounts.T.tolist(), weights.T.tolist(), strict=True)
    ]
