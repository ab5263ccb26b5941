"""The fragmentation of resources over a run: time-weighted means, independent of samples.

`fragmentation` defines the measure. Like utilization, it is measured each time virtual time
advances. Per node and resource, the meter keeps the free amount and the number of typical pods that
cannot use it; for a resource that is the sum of shared devices, per device. The sums of their
products are integers, so that nodes can be exchanged one by one without rounding errors. Everything
is computed again when the typical pods change.

Notes
-----
Upstream: hkust-adsl/kubernetes-scheduler-simulator pkg/utils/frag.go, NodeGpuShareFragAmount,
GetTypicalPods. See "Beware of Fragmentation", USENIX ATC 2023, section 4.2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import mul
from types import MappingProxyType
from typing import Final, TypeAlias

import numpy as np

from podwright._arrays import F64Array, F64Matrix, I64Array, I64Matrix
from podwright._checkpointed import Checkpointed, Saved
from podwright.apimachinery.devices import DeviceIndex
from podwright.apimachinery.objects import Pod, is_extended_resource, pending_requests
from podwright.scheduler.columns import PODS
from podwright.simulation.recording.usage.utilization import (
    ABSENT,
    NodeAmounts,
    TimeWeightedShare,
    requested_shares,
)

_INT64_BITS = 62
_ROWS_AT_ONCE = 8_192
"""So many nodes are compared with all typical pods at once; it bounds the memory."""


class FragmentationMeter(Checkpointed):
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

    shares: Saved[dict[str, TimeWeightedShare]]

    def __init__(self, pods: TypicalPods) -> None:
        self._pods = pods
        self.shares = {}
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


# The fragmentation of free resources, as FGD (fragmentation gradient descent) defines it.
#
# The fragmentation of a resource is the free amount that the next pod cannot use, expected over
# the typical pods: the most frequent shapes (requests) that make up 95 % of the pods so far. For
# each typical pod, the free amounts on the nodes without room for it are added, weighted by the
# frequency of its shape. Idle devices (extended resources, such as GPUs) are also unusable for
# pods that do not request them; so CPU-only pods count all idle GPUs.
#
# FGD is defined for GPUs and their shares. Here the measure is applied to every resource. A
# resource is one amount for each node, or, where its nodes publish devices that allocations share
# (see `device_shares`), one amount for each device: a pod has room only if enough devices have its
# share, and then the devices with less are unusable.

Shape: TypeAlias = tuple[tuple[str, int], ...]
"""The requests of a pod: resources and amounts, in the units of the node columns.

The name `EACH` and a resource stands for the share of each device: the amount of the resource is
the sum."""

EACH: Final = "each "

_TYPICAL_PERCENT: Final = 95
_TYPICAL_MOST: Final = 128
_RECOUNTED_PERCENT: Final = 102
"""Typical shapes are computed again when the number of pods has grown to this percentage."""
_CACHED_SPECS: Final = 4096
_NOWHERE: Final = 2**62
"""A number of pods that no node has room for."""


class TypicalPods(Checkpointed):
    """Counts the shapes of pods, and finds the typical ones.

    Attributes
    ----------
    typical_count : int
        The number of pods with a typical shape, as of the last update.
    """

    _counts: Saved[dict[Shape, int]]
    _typical: Saved[tuple[tuple[Shape, int], ...]]
    _pod_count: Saved[int]
    _typical_pod_count: Saved[int]

    def __init__(self) -> None:
        self.typical_count = 0
        self._counts = {}
        self._pod_count = 0
        # Pods of one template share their spec. A spec that is here keeps its address.
        self._shape_of: dict[int, tuple[object, Shape]] = {}
        self._typical = ()
        self._typical_pod_count = 0
        # Of the typical shapes, by the columns of the resources: see `set_columns`.
        self._requests: I64Matrix = np.zeros((0, 0), dtype=np.int64)
        self._concerned: F64Matrix = np.zeros((0, 0), dtype=np.float64)
        self._unconcerned: F64Array = np.zeros(0, dtype=np.float64)
        # Of the typical shapes, by the positions of shared devices: the share of each device, and
        # how many devices, by the resource.
        self._column_of: I64Array = np.zeros(0, dtype=np.int64)
        self._each: I64Matrix = np.zeros((0, 0), dtype=np.int64)

    def add(self, pod: Pod, devices: DeviceIndex | None = None) -> None:
        """Count a new pod.

        Parameters
        ----------
        devices : DeviceIndex, optional
            The claims of the pod.
        """
        spec = pod.spec
        known = self._shape_of.get(id(spec))
        if known is None:
            if len(self._shape_of) >= _CACHED_SPECS:
                self._shape_of.clear()
            requests = pending_requests(pod)
            if devices is not None and pod.spec.resource_claims:
                shares = dict(requested_shares(devices, pod, requests))
                requests = requests | {EACH + name: amount for name, amount in shares.items()}
            shape = tuple(sorted(requests.items()))
            known = self._shape_of[id(spec)] = (spec, shape)
        self._pod_count += 1
        self._counts[known[1]] = self._counts.get(known[1], 0) + 1

    def update(self) -> bool:
        """Find the typical shapes again if they are due; return whether they were found again."""
        if _RECOUNTED_PERCENT * self._typical_pod_count >= 100 * self._pod_count:
            return False
        self._typical_pod_count = self._pod_count
        ranked = sorted(self._counts.items(), key=lambda entry: (-entry[1], entry[0]))
        chosen, count = [], 0
        for entry in ranked[:_TYPICAL_MOST]:
            if 100 * count >= _TYPICAL_PERCENT * self._pod_count:
                break
            chosen.append(entry)
            count += entry[1]
        self._typical = tuple(chosen)
        self._derive()
        return True

    def _derive(self) -> None:
        self.typical_count = sum(count for _, count in self._typical)

    def set_columns(self, columns: Mapping[str, int], device_columns: Sequence[int] = ()) -> None:
        """Set the columns for `weights`; also after an update.

        Parameters
        ----------
        columns : mapping of str to int
            The column of each resource.
        device_columns : sequence of int
            For each position of a shared device, the column of its resource.
        """
        names = {column: name for name, column in columns.items()}
        self._column_of = np.array(device_columns, dtype=np.int64)
        self._each = np.array(
            [
                [dict(shape).get(EACH + names[column], 0) for column in device_columns]
                for shape, _ in self._typical
            ],
            dtype=np.int64,
        ).reshape(len(self._typical), len(device_columns))
        shape = (len(self._typical), len(columns))
        requests = np.zeros(shape, dtype=np.int64)
        concerned = np.zeros(shape, dtype=np.float64)
        # Every pod takes one of `pods`, which is not among its requests.
        requests[:, PODS] = 1
        devices = [column for name, column in columns.items() if is_extended_resource(name)]
        for index, (amounts, count) in enumerate(self._typical):
            concerned[index] = count
            concerned[index, devices] = 0
            for name, amount in amounts:
                column = columns.get(name)
                if not amount or name.startswith(EACH):
                    continue
                if column is not None:
                    requests[index, column] = amount
                    concerned[index, column] = count
                else:
                    # No node has room for a resource that no node has.
                    requests[index, PODS] = _NOWHERE
        self._requests, self._concerned = requests, concerned
        self._unconcerned = self.typical_count - concerned.sum(axis=0)

    def weights(self, free: I64Matrix) -> I64Matrix:
        """Return how many typical pods cannot use the free amounts of nodes.

        Parameters
        ----------
        free : (n_nodes, n_resources + n_positions) int64
            By the columns that were set, then of each shared device, at least 0; -1 where a node
            has no device at the position.

        Returns
        -------
        (n_nodes, n_resources + n_positions) int64
            Pods without room on the node, or for which the device has too little; of a device, also
            all pods that do not request it.
        """
        has_no_room = np.zeros((len(free), len(self._requests)), dtype=np.bool_)
        n_resources = self._requests.shape[1]
        shares = free[:, n_resources:]
        is_short = shares[:, None, :] < self._each
        for column in range(n_resources):
            has_no_room |= free[:, column, None] < self._requests[:, column]
        for column in np.unique(self._column_of):
            at = self._column_of == column
            each = self._each[:, at][:, 0]
            lacks = (~is_short[:, :, at]).sum(axis=2) * each < self._requests[:, column]
            # Without a share of each device, a request is one of the sum.
            has_no_room |= lacks & (each > 0) & (shares[:, None, at] >= 0).any(axis=2)
        # Floats represent these integers exactly, and NumPy multiplies floats many times faster.
        found = has_no_room.astype(np.float64) @ self._concerned + self._unconcerned
        if len(self._column_of):
            lost = (has_no_room[:, :, None] | is_short) * self._concerned[:, self._column_of]
            found = np.hstack((found, lost.sum(axis=1) + self._unconcerned[self._column_of]))
        weights: I64Matrix = found.astype(np.int64)
        return weights
