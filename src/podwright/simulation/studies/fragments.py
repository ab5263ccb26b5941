"""How much of the free GPUs of a node the typical pods of a workload cannot use.

The typical pods are the most frequent kinds of request of a workload. For each of them, what is
left of a node's devices is usable, or a fragment: the pod does not accept the node's model, lacks
CPU or devices there, or needs no GPU. The fragment of a node is the mean of these amounts,
weighted with the frequencies. The FGD policy places a pod where it grows least.

Upstream: hkust-adsl/kubernetes-scheduler-simulator pkg/utils/frag.go, `NodeGpuShareFragAmount`,
`GetNodePodFrag`; pkg/simulator/analysis.go
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Final, NamedTuple

import msgspec
import numpy as np

from podwright._arrays import F64Array, I64Array, I64Matrix, Mask

TYPICAL_SHARE: Final = 0.95
"""Kinds of request are typical until so many of the pods have one of them."""


class TypicalPod(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A kind of request, and how often it occurs.

    Parameters
    ----------
    milli_cpu, gpu_milli, gpu_count : int
    models : str
        The accepted models, joined by ``|``; empty: any.
    frequency : float
        The share of pods of this kind.
    """

    milli_cpu: int = 0
    gpu_milli: int = 0
    gpu_count: int = 0
    models: str = ""
    frequency: float = 0.0


def typical_pods(kinds: Iterable[TypicalPod]) -> tuple[TypicalPod, ...]:
    """Return the most frequent kinds, until they are `TYPICAL_SHARE` of all pods.

    Parameters
    ----------
    kinds : iterable of TypicalPod
        One for each pod, without a frequency. Those that are equally frequent are descending.

    Notes
    -----
    The frequencies are quotients of two quotients, as upstream computes them: scores are
    truncated, so the last bit matters.
    """
    counts = Counter(kinds)
    total = counts.total()
    ordered = sorted(
        counts.items(), key=lambda item: (item[1], *msgspec.structs.astuple(item[0])), reverse=True
    )
    earlier = accumulate((count for _, count in ordered), initial=0)
    taken = [item for item, n in zip(ordered, earlier, strict=False) if n < TYPICAL_SHARE * total]
    covered = sum(count for _, count in taken)
    return tuple(
        msgspec.structs.replace(kind, frequency=(count / total) / (covered / total))
        for kind, count in taken
    )


class Workload(NamedTuple):
    """Typical pods as arrays, in their order.

    Attributes
    ----------
    milli_cpu, gpu_count : (t, 1) int64
    frequency : (t, 1) float64
    needs_gpu : (t, 1) bool
    millis : (m,) int64
        The distinct thousandths of devices.
    milli_index : (t,) int64
        Positions in `millis`.
    models : tuple of tuple of str
        The accepted models of each.
    """

    milli_cpu: I64Matrix
    gpu_count: I64Matrix
    frequency: F64Array
    needs_gpu: Mask
    millis: I64Array
    milli_index: I64Array
    models: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, typical: Sequence[TypicalPod]) -> Workload:
        """Return the arrays of typical pods."""
        gpu_milli = np.array([pod.gpu_milli for pod in typical], dtype=np.int64)
        millis, index = np.unique(gpu_milli, return_inverse=True)
        return cls(
            milli_cpu=np.array([[pod.milli_cpu] for pod in typical], dtype=np.int64),
            gpu_count=np.array([[pod.gpu_count] for pod in typical], dtype=np.int64),
            frequency=np.array([[pod.frequency] for pod in typical], dtype=np.float64),
            needs_gpu=gpu_milli[:, np.newaxis] > 0,
            millis=millis,
            milli_index=index,
            models=tuple(tuple(pod.models.split("|")) if pod.models else () for pod in typical),
        )


def fragments(
    workload: Workload, milli_cpu: I64Array, left: I64Matrix, accepting: Mask
) -> F64Array:
    """Return how much of the free GPUs of nodes is a fragment.

    Parameters
    ----------
    milli_cpu : (k,) int64
        Free CPU of each node.
    left : (k, width) int64
        What is left of each device; negative where there is none.
    accepting : (t, k) bool
        Which typical pods accept the node's model.

    Returns
    -------
    (k,) float64
        Thousandths of GPUs.

    Notes
    -----
    Upstream adds the amounts of each class up in the order of the typical pods, and then the
    classes: lack of both, of GPUs, of CPU, pods without GPUs that fit and that do not, models.
    Scores are truncated, so this order is kept; `cumsum` adds one after the other, `sum` does not.
    """
    free = np.where(left > 0, left, 0)
    total = free.sum(axis=1)
    fits = left >= workload.millis[:, np.newaxis, np.newaxis]
    fitting = fits.sum(axis=2)[workload.milli_index]
    unusable = np.where(fits, 0, free).sum(axis=2)[workload.milli_index]

    needs_gpu, frequency = workload.needs_gpu, workload.frequency
    has_cpu = milli_cpu >= workload.milli_cpu
    has_gpu = fitting >= workload.gpu_count
    usable_model = needs_gpu & accepting
    whole = frequency * total
    lacks_gpu = np.where(has_gpu, frequency * unusable, whole)
    classes = (
        np.where(usable_model & ~has_gpu & ~has_cpu, whole, 0.0),
        np.where(usable_model & has_cpu, lacks_gpu, 0.0),
        np.where(usable_model & has_gpu & ~has_cpu, whole, 0.0),
        np.where(~needs_gpu & has_cpu, whole, 0.0),
        np.where(~needs_gpu & ~has_cpu, whole, 0.0),
        np.where(needs_gpu & ~accepting, whole, 0.0),
    )
    return sum((np.cumsum(each, axis=0)[-1] for each in classes), np.zeros(len(milli_cpu)))
