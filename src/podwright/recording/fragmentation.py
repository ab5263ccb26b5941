"""The fragmentation of free resources, as FGD (fragmentation gradient descent) defines it.

The fragmentation of a resource is the free amount that the next pod cannot use, expected over the
typical pods: the most frequent shapes (requests) that make up 95 % of the pods so far. For each
typical pod, the free amounts on the nodes without room for it are added, weighted by the frequency
of its shape. Idle devices (extended resources, such as GPUs) are also unusable for pods that do not
request them; so CPU-only pods count all idle GPUs.

FGD is defined for GPUs and their shares. Here the measure is applied to every resource, and a
resource is one amount for each node: the free shares of a device are not known.

Upstream: pkg/utils/frag.go of hkust-adsl/kubernetes-scheduler-simulator (NodeGpuShareFragAmount,
GetTypicalPods); "Beware of Fragmentation", USENIX ATC 2023, section 4.2
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import mul
from typing import Final, TypeAlias

import msgspec
import numpy as np

from podwright._arrays import I64Array, I64Matrix, Mask
from podwright.columns import PODS
from podwright.objects import Pod, is_extended_resource, pending_requests

Shape: TypeAlias = tuple[tuple[str, int], ...]
"""The requests of a pod: resources and amounts, in the units of the node columns."""

_TYPICAL_PERCENT: Final = 95
_TYPICAL_MOST: Final = 128
_RECOUNTED_PERCENT: Final = 102
"""Typical shapes are computed again when the number of pods has grown to this percentage."""
_WHOLE_FLOATS: Final = 2**53
_CACHED_SPECS: Final = 4096


class TypicalPodsState(msgspec.Struct, frozen=True, kw_only=True):
    """`TypicalPods` as plain values."""

    shapes: tuple[tuple[Shape, int], ...]
    typical: tuple[tuple[Shape, int], ...]
    pod_count: int
    typical_pod_count: int


class TypicalPods:
    """Counts the shapes of pods, and measures fragmentation for the typical ones."""

    def __init__(self) -> None:
        self._counts: dict[Shape, int] = {}
        self._pod_count = 0
        # Pods of one template share their spec.
        self._shape_of: dict[int, tuple[object, Shape]] = {}
        self._typical: tuple[tuple[Shape, int], ...] = ()
        self._requests: dict[str, I64Array] = {}
        self._typical_pod_count = 0

    def add(self, pod: Pod) -> None:
        """Count a new pod."""
        spec = pod.spec
        known = self._shape_of.get(id(spec))
        if known is None or known[0] is not spec:
            if len(self._shape_of) >= _CACHED_SPECS:
                self._shape_of.clear()
            shape = tuple(sorted(pending_requests(pod).items()))
            known = self._shape_of[id(spec)] = (spec, shape)
        self._pod_count += 1
        self._counts[known[1]] = self._counts.get(known[1], 0) + 1

    def unusable(self, free: I64Matrix, columns: Mapping[str, int]) -> list[float]:
        """Return, for each resource, the free amount that typical pods cannot use.

        Parameters
        ----------
        free : (n_nodes, n_resources) int64
            At least 0, and its sums are int64 too.
        columns : mapping of str to int
            The column of each resource.
        """
        typical = self._typical_shapes()
        counts = [count for _, count in typical]
        total = sum(counts)
        if not total:
            return [0.0] * free.shape[1]
        has_no_room = np.zeros((len(typical), len(free)), dtype=np.bool_)
        # Every pod takes one of `pods`, which is not among its requests.
        has_no_room |= free[:, PODS] < 1
        nothing = np.zeros(len(free), dtype=np.int64)
        for name, amounts in self._requests.items():
            there = free[:, columns[name]] if name in columns else nothing
            has_no_room |= there < amounts[:, None]
        # Integers, so that the result does not depend on the order of additions.
        unusable = sums_of(has_no_room, free)
        for name, column in columns.items():
            if is_extended_resource(name):
                requests = self._requests.get(name)
                is_requested = False if requests is None else requests > 0
                unusable[~np.broadcast_to(is_requested, len(typical)), column] = free[
                    :, column
                ].sum()
        # Python integers: a count times the memory of a cluster may exceed 64 bits.
        per_resource: list[list[int]] = unusable.T.tolist()
        return [sum(map(mul, counts, amounts)) / total for amounts in per_resource]

    def _typical_shapes(self) -> tuple[tuple[Shape, int], ...]:
        """Return the most frequent shapes that make up 95 % of the pods, with their counts."""
        if _RECOUNTED_PERCENT * self._typical_pod_count < 100 * self._pod_count:
            self._typical_pod_count = self._pod_count
            ranked = sorted(self._counts.items(), key=lambda entry: (-entry[1], entry[0]))
            chosen, count = [], 0
            for entry in ranked[:_TYPICAL_MOST]:
                if 100 * count >= _TYPICAL_PERCENT * self._pod_count:
                    break
                chosen.append(entry)
                count += entry[1]
            self._set_typical(tuple(chosen))
        return self._typical

    def _set_typical(self, typical: tuple[tuple[Shape, int], ...]) -> None:
        self._typical = typical
        self._requests = _requests_of(typical)

    def state(self) -> TypicalPodsState:
        """Return what is needed to continue."""
        return TypicalPodsState(
            shapes=tuple(self._counts.items()),
            typical=self._typical,
            pod_count=self._pod_count,
            typical_pod_count=self._typical_pod_count,
        )

    @classmethod
    def restore(cls, state: TypicalPodsState) -> TypicalPods:
        """Return typical pods that continue from a state."""
        pods = cls()
        pods._counts = dict(state.shapes)
        pods._pod_count = state.pod_count
        pods._typical_pod_count = state.typical_pod_count
        pods._set_typical(state.typical)
        return pods


def _requests_of(typical: Sequence[tuple[Shape, int]]) -> dict[str, I64Array]:
    """Return, for each resource, the request of each shape."""
    shapes = [dict(shape) for shape, _ in typical]
    return {
        name: np.array([shape.get(name, 0) for shape in shapes], dtype=np.int64)
        for name in sorted({name for shape in shapes for name in shape})
    }


def sums_of(chosen: Mask, amounts: I64Matrix) -> I64Matrix:
    """Return, for each row of a mask, the sums of the amounts that it selects.

    Parameters
    ----------
    chosen : (n_rows, n) bool
    amounts : (n, n_columns) int64
        At least 0, and their sums are int64 too.

    Returns
    -------
    (n_rows, n_columns) int64
    """
    if amounts.sum(axis=0).max(initial=0) < _WHOLE_FLOATS:
        # Floats represent these integers exactly, and NumPy multiplies floats many times faster.
        return (chosen.astype(np.float64) @ amounts.astype(np.float64)).astype(np.int64)
    return np.array([amounts[row].sum(axis=0) for row in chosen], dtype=np.int64)
