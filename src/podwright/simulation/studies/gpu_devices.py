"""The GPUs of nodes as devices that pods share, from the annotations of the openb trace.

A node has `alibabacloud.com/gpu-count` devices with 1000 thousandths each. A pod requests
`gpu-count` devices and `gpu-milli` thousandths of each; `gpu-index` names the devices that it got.

Upstream: hkust-adsl/kubernetes-scheduler-simulator pkg/type/open-gpu-share/utils/pod.go,
pkg/type/open-gpu-share/cache/deviceinfo.go
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np

from podwright._arrays import I64Array, I64Matrix
from podwright.apimachinery.objects import (
    GPU_CARD_MODEL,
    GPU_COUNT,
    GPU_INDEX,
    GPU_MILLI,
    Pod,
    pending_requests,
    quantity_value,
)
from podwright.scheduler.columns import Cluster

WHOLE_MILLI: Final = 1000
"""Thousandths of one device."""

NO_DEVICE: Final = -1
"""What is left of a device that a node does not have."""

_LEAST_WIDTH: Final = 8


class GpuRequest(NamedTuple):
    """What a pod requests of GPUs; all zero for a pod that requests none.

    Attributes
    ----------
    milli : int
        Thousandths of each device, at most 1000.
    devices : int
        How many of them.
    models : tuple of str
        The models of which the node must have one; empty: any node.
    """

    milli: int
    devices: int
    models: tuple[str, ...]

    @property
    def is_share(self) -> bool:
        """Whether the pod shares one device with others."""
        return self.devices == 1 and self.milli < WHOLE_MILLI

    @property
    def total_milli(self) -> int:
        """Thousandths of all devices."""
        return self.milli * self.devices

    @property
    def tag(self) -> int:
        """The bit of this kind of request in `GpuDevices.tags`; 0 without GPUs."""
        if not self.devices:
            return 0
        return 1 if self.is_share else 1 << self.devices


NO_GPUS: Final = GpuRequest(0, 0, ())


def gpu_request(pod: Pod) -> GpuRequest:
    """Read the annotations of a pod. Amounts that are not numbers count as 0, as upstream."""
    annotations = pod.metadata.annotations
    if GPU_COUNT not in annotations:
        return NO_GPUS
    return _request(
        annotations[GPU_COUNT], annotations.get(GPU_MILLI, ""), annotations.get(GPU_CARD_MODEL, "")
    )


def requested_milli_cpu(pod: Pod) -> int:
    """Return the CPU that a pod requests."""
    return pending_requests(pod).get("cpu", 0)


@lru_cache(maxsize=4096)
def _request(devices: str, milli: str, models: str) -> GpuRequest:
    amounts = [int(text) if text.isascii() and text.isdigit() else 0 for text in (devices, milli)]
    if not all(amounts):
        return NO_GPUS
    accepted = tuple(models.split("|")) if models else ()
    return GpuRequest(min(amounts[1], WHOLE_MILLI), amounts[0], accepted)


def least_sufficient(left: I64Array, request: GpuRequest) -> list[int]:
    """Return the devices with the least left that suffices, the first of equal ones first.

    Whole devices are equal, so these are those with the lowest numbers.
    """
    fitting = np.where(left >= request.milli, left, np.iinfo(np.int64).max)
    order = np.argsort(fitting, kind="stable")[: request.devices]
    return [int(device) for device in order if left[device] >= request.milli]


class GpuDevices:
    """What is left of each device of each node.

    Attributes
    ----------
    left : (n_slots, width) int64
        Thousandths; `NO_DEVICE` where there is no device.
    tags : (n_slots,) int64
        Which kinds of GPU pods are on the node, as bits: bit 0 for pods that share a device, bit
        n for pods with n whole devices.
    versions : (n_slots,) int64
        Grows with every change of the node or its pods.
    """

    def __init__(self) -> None:
        self.left: I64Matrix = np.empty((0, _LEAST_WIDTH), dtype=np.int64)
        self.tags: I64Array = np.empty(0, dtype=np.int64)
        self.versions: I64Array = np.empty(0, dtype=np.int64)
        self._assigned: dict[str, list[int]] = {}
        self._read: tuple[int, int, int] | None = None

    def assign(self, pod: Pod, devices: list[int]) -> None:
        """Note which devices a pod has, until its annotation says so."""
        self._assigned[pod.metadata.uid] = devices

    def release(self, pod: Pod) -> None:
        """Forget the devices of a pod that has ended, or whose attempt failed."""
        self._assigned.pop(pod.metadata.uid, None)

    @property
    def has_unwritten(self) -> bool:
        """Whether pods have devices that only this object knows."""
        return bool(self._assigned)

    def bring_up_to_date(self, cluster: Cluster) -> None:
        """Count the pods of all slots that changed since the last call again."""
        nodes = cluster.nodes
        now = (cluster.numbering, nodes.node_journal.version, nodes.pods_journal.version)
        if now == self._read:
            return
        changed = self._changed(cluster)
        self._read = now
        if nodes.n_slots != len(self.left):
            self.left = _resized(self.left, (nodes.n_slots, self.left.shape[1]), NO_DEVICE)
            self.tags = _resized(self.tags, (nodes.n_slots,), 0)
            self.versions = _resized(self.versions, (nodes.n_slots,), 0)
        for slot in changed:
            left, self.tags[slot] = self.left_of(cluster, slot)
            if len(left) > self.left.shape[1]:
                self.left = _resized(self.left, (nodes.n_slots, len(left)), NO_DEVICE)
            self.left[slot] = NO_DEVICE
            self.left[slot, : len(left)] = left
            self.versions[slot] += 1

    def _changed(self, cluster: Cluster) -> list[int]:
        nodes = cluster.nodes
        if self._read is not None and self._read[0] == cluster.numbering:
            node_slots = nodes.node_journal.since(self._read[1])
            pod_slots = nodes.pods_journal.since(self._read[2])
            if node_slots is not None and pod_slots is not None:
                return list(dict.fromkeys((*node_slots.tolist(), *pod_slots.tolist())))
        return list(range(nodes.n_slots))

    def left_of(self, cluster: Cluster, slot: int, without: str = "") -> tuple[I64Array, int]:
        """Return what is left of the devices of a node, and its tags.

        Parameters
        ----------
        without : str
            The UID of a pod on the node that does not count.

        Returns
        -------
        (width,) int64, int
        """
        node = cluster.nodes.objects[slot]
        allocatable = {} if node is None else node.status.allocatable
        count = quantity_value(allocatable.get(GPU_COUNT, "0"))
        left: I64Array = np.full(max(count, _LEAST_WIDTH), NO_DEVICE, dtype=np.int64)
        left[:count] = WHOLE_MILLI
        tags = 0
        for placed in cluster.pods_on[slot].values():
            pod = placed.pod
            request = gpu_request(pod)
            if not request.devices or pod.metadata.uid == without:
                continue
            left[self._devices_of(pod, left, request)] -= request.milli
            tags |= request.tag
        return left, tags

    def _devices_of(self, pod: Pod, left: I64Array, request: GpuRequest) -> list[int]:
        """Return the devices of a placed pod.

        Those of a pod of another scheduler, which names none, are taken to be the ones with the
        least left.
        """
        text = pod.metadata.annotations.get(GPU_INDEX)
        if text is None:
            assigned = self._assigned.get(pod.metadata.uid)
            return least_sufficient(left, request) if assigned is None else assigned
        self._assigned.pop(pod.metadata.uid, None)
        numbers = [int(part) for part in text.split("-") if part.isascii() and part.isdigit()]
        return [number for number in numbers if number < len(left) and left[number] >= 0]


def _resized(array: I64Matrix, shape: tuple[int, ...], new: int) -> I64Matrix:
    """Return an array with another shape: shorter, or with new entries."""
    resized: I64Matrix = np.full(shape, new, dtype=np.int64)
    kept = tuple(slice(min(sizes)) for sizes in zip(array.shape, shape, strict=True))
    resized[kept] = array[kept]
    return resized
