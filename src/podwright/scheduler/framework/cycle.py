"""The state of one scheduling cycle (upstream's CycleState), as plugins read and write it.

Notes
-----
Upstream: kube-scheduler-simulator simulator/scheduler/plugin/wrappedplugin.go,
`SimulatorHandle.AddCustomResult`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from podwright._arrays import I32Array
from podwright.apimachinery.objects import Pod
from podwright.scheduler.columns import Cluster
from podwright.scheduler.framework.status import MissingStateError, Status

if TYPE_CHECKING:
    from podwright.scheduler.framework.extenders.extender_calls import CalledExtender

S = TypeVar("S")


class StateKey(Generic[S]):
    """The name under which a plugin keeps state in a cycle; typed by the value.

    Parameters
    ----------
    name : str
    missing : str, optional
        The error message if the state is read before it was written; ``{}`` is the quoted name.
    """

    __slots__ = ("missing", "name")

    def __init__(self, name: str, missing: str = "reading {} from cycleState: not found") -> None:
        self.name = name
        self.missing = missing.replace("{}", f'"{name}"')


class Cycle:
    """One pod, the cluster, and the state that plugins keep between extension points.

    Attributes
    ----------
    pod : Pod
        The pod that is being scheduled. Where results are shared by pods with one key, this is
        any of these pods: a plugin may rely only on the fields that its `pod_key` covers.
    cluster : Cluster
        The rest of the cluster; read-only.
    """

    __slots__ = ("_state", "cluster", "pod")

    def __init__(self, pod: Pod, cluster: Cluster) -> None:
        self.pod = pod
        self.cluster = cluster
        self._state: dict[str, Any] = {}

    def of(self, pod: Pod) -> Cycle:
        """Return a cycle of `pod`, which has the same key, that shares this cycle's state."""
        if pod is self.pod:
            return self
        shared = Cycle(pod, self.cluster)
        shared._state = self._state
        return shared

    def own(self, pod: Pod) -> Cycle:
        """Return a cycle of `pod` that starts with a copy of this cycle's state.

        From Reserve on, plugins write state that belongs to one pod, not to all pods with its key.
        """
        copy = Cycle(pod, self.cluster)
        copy._state = dict(self._state)
        return copy

    def write(self, key: StateKey[S], value: S) -> None:
        """Store `value` under `key` for later extension points of this cycle."""
        self._state[key.name] = value

    def read(self, key: StateKey[S]) -> S:
        """Return the value of `key`; raise MissingStateError, a KeyError, if there is none."""
        try:
            value: S = self._state[key.name]
        except KeyError:
            raise MissingStateError(key.missing) from None
        return value

    def find(self, key: StateKey[S]) -> S | None:
        """Return the value of `key`, or None."""
        return self._state.get(key.name)

    @property
    def state(self) -> dict[str, Any]:
        """All stored values, by the names of their keys; read-only."""
        return self._state

    def begin_recording(self) -> dict[str, Any]:
        """Start to record which state is written; return the state before."""
        before = self._state
        self._state = dict(before)
        return before

    def end_recording(self, before: dict[str, Any]) -> dict[str, Any]:
        """Return what was written since `begin_recording` returned `before`."""
        return {name: value for name, value in self._state.items() if before.get(name) is not value}

    def take(self, written: dict[str, Any]) -> None:
        """Add `written`, what a plugin wrote in a cycle of another pod with the same key."""
        self._state.update(written)

    def clone(self) -> Cycle:
        """Return a cycle with a copy of the state.

        State objects with a `clone` method are cloned, others are shared.
        """
        copy = Cycle(self.pod, self.cluster)
        copy._state = {
            name: value.clone() if hasattr(value, "clone") else value
            for name, value in self._state.items()
        }
        return copy


# Custom results: texts that plugins add to the explanation of a pod.
#
# A plugin may add texts under keys that it chooses. They appear in the explanation of the cycle
# and among the annotations that kube-scheduler-simulator would write. They do not affect
# decisions.

_RESULTS: Final = StateKey[Mapping[str, str]]("podwright/custom-results")
_NONE: Final[Mapping[str, str]] = MappingProxyType({})


def add_custom_result(cycle: Cycle, key: str, result: str) -> None:
    """Add a text about the pod of a cycle.

    Parameters
    ----------
    cycle : Cycle
        The argument of any extension point.
    key : str
        The name of the annotation; an earlier text with the same key is replaced.
    """
    cycle.write(_RESULTS, {**custom_results(cycle), key: result})


def custom_results(cycle: Cycle) -> Mapping[str, str]:
    """Return all texts that were added, by key."""
    return cycle.find(_RESULTS) or _NONE


class FailedCycle(ABC):
    """A cycle that found no node, as PostFilter plugins see it.

    It is good until the cluster changes or the next cycle starts.

    Attributes
    ----------
    pod : Pod
        The pod that fits on no node.
    cycle : Cycle
        The plugins' state as PreFilter left it; clone it before changing it.
    now_ns : int
        The current time, in nanoseconds since 1970.
    seed, cycle_number : int
        Of draws.
    extenders : tuple of CalledExtender
        Those that are interested in the pod.
    """

    __slots__ = ("cycle", "cycle_number", "extenders", "now_ns", "pod", "seed")

    def __init__(self, pod: Pod, cycle: Cycle, extenders: tuple[CalledExtender, ...] = ()) -> None:
        self.pod = pod
        self.cycle = cycle
        self.now_ns = 0
        self.seed = 0
        self.cycle_number = 0
        self.extenders = extenders

    @property
    def cluster(self) -> Cluster:
        """Everything else, to read."""
        return self.cycle.cluster

    @abstractmethod
    def status_of(self, node_name: str) -> Status:
        """Return why the node `node_name` was rejected; unresolvable if it was not evaluated."""

    @abstractmethod
    def slots_where_preemption_may_help(self) -> I32Array:
        """Return the nodes whose rejection could be undone by removing pods.

        Returns
        -------
        (k,) int32
            Ascending: every node whose status has the code UNSCHEDULABLE.
        """
