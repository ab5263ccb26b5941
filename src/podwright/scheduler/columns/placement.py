"""A placed pod: a pod on a slot, with its interned parts."""

from __future__ import annotations

import msgspec

from podwright._arrays import I64Array
from podwright.apimachinery.objects import Pod
from podwright.scheduler.columns.ports import HostPort


class PodKeys(msgspec.Struct, frozen=True, eq=False):
    """The parts of a pod that count on the node where it is placed.

    Parameters
    ----------
    requests : (k,) int64
        Amount per resource column, pods (1) included; k may be less than the number of
        columns.
    non_zero : (2,) int64
        Milli-CPU and memory bytes for scoring.
    ports : tuple of HostPort
        Host ports in use.
    has_volumes : bool
        Whether the volume columns must be updated.
    class_id : int
        Number of the pod's (namespace, labels) in `SelectorCounters`.
    term_ids : tuple of int
        The pod's own (anti-)affinity terms in `SelectorCounters`, each as often as the pod
        has it.
    """

    requests: I64Array
    non_zero: I64Array
    ports: tuple[HostPort, ...]
    has_volumes: bool
    class_id: int
    term_ids: tuple[int, ...]


class PlacedPod:
    """A pod on a slot; `key` is its name, of all versions."""

    __slots__ = ("key", "keys", "pod", "slot")

    def __init__(self, pod: Pod, keys: PodKeys, slot: int, key: str = "") -> None:
        self.pod = pod
        self.key = key or pod.key
        self.keys = keys
        self.slot = slot

    @property
    def is_terminating(self) -> bool:
        """True once the pod is being deleted."""
        return self.pod.metadata.deletion_timestamp is not None
