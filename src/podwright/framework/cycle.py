"""What plugins know while one pod is being scheduled."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import msgspec

from podwright.columns import Cluster
from podwright.objects import Pod

S = TypeVar("S")


class StateKey(Generic[S]):
    """The name under which a plugin keeps state in a cycle; typed by what it keeps.

    Parameters
    ----------
    name : str
    missing : str, optional
        What the plugin says if the state is read and was never written; ``{}`` is the quoted
        name.
    """

    __slots__ = ("missing", "name")

    def __init__(self, name: str, missing: str = "reading {} from cycleState: not found") -> None:
        self.name = name
        self.missing = missing.replace("{}", f'"{name}"')


class MissingStateError(KeyError):
    """State was read that no extension point before has written.

    So the plugin takes part at one extension point and not at the one that prepares it, which
    a configuration may say; then it fails as upstream's plugins do.
    """

    def __str__(self) -> str:
        """Return what the plugin says; a KeyError would put it into quotes."""
        return str(self.args[0])


class Cycle:
    """One pod, the cluster, and what plugins remember between their extension points.

    Attributes
    ----------
    pod : Pod
        The pod that is being scheduled. Where answers are shared by pods with one key, this
        is any of them: a plugin may rely only on what its `pod_key` covers.
    cluster : Cluster
        Everything else, to read.
    """

    __slots__ = ("_state", "cluster", "pod")

    def __init__(self, pod: Pod, cluster: Cluster) -> None:
        self.pod = pod
        self.cluster = cluster
        self._state: dict[str, Any] = {}

    def of(self, pod: Pod) -> Cycle:
        """Return this cycle with its state, seen as that of another pod with the same key."""
        if pod is self.pod:
            return self
        shared = Cycle(pod, self.cluster)
        shared._state = self._state
        return shared

    def own(self, pod: Pod) -> Cycle:
        """Return a cycle of `pod`'s own that begins with this one's state.

        From Reserve on plugins write what concerns one pod and no other with the same key.
        """
        copy = Cycle(pod, self.cluster)
        copy._state = dict(self._state)
        return copy

    def write(self, key: StateKey[S], value: S) -> None:
        """Remember `value` for later extension points of this cycle."""
        self._state[key.name] = value

    def read(self, key: StateKey[S]) -> S:
        """Return what was remembered; MissingStateError, a KeyError, if nothing was."""
        try:
            value: S = self._state[key.name]
        except KeyError:
            raise MissingStateError(key.missing) from None
        return value

    def find(self, key: StateKey[S]) -> S | None:
        """Return what was remembered, or None."""
        return self._state.get(key.name)

    @property
    def state(self) -> dict[str, Any]:
        """All that plugins remembered, by the names of their keys; to read."""
        return self._state

    def begin_recording(self) -> dict[str, Any]:
        """Set the state aside so that what is written next can be told apart."""
        before = self._state
        self._state = dict(before)
        return before

    def end_recording(self, before: dict[str, Any]) -> dict[str, Any]:
        """Return what was written since `begin_recording` returned `before`."""
        return {name: value for name, value in self._state.items() if before.get(name) is not value}

    def take(self, written: dict[str, Any]) -> None:
        """Take over what a plugin wrote in another cycle of a pod with the same key."""
        self._state.update(written)

    def clone(self) -> Cycle:
        """Return a cycle whose state can be changed without changing this one's.

        State objects with a `clone` method are cloned, others are shared.
        """
        copy = Cycle(self.pod, self.cluster)
        copy._state = {
            name: value.clone() if hasattr(value, "clone") else value
            for name, value in self._state.items()
        }
        return copy


class PreFilterResult(msgspec.Struct, frozen=True):
    """The nodes that a pod is restricted to.

    Parameters
    ----------
    node_names : frozenset of str, optional
        None: no restriction.
    """

    node_names: frozenset[str] | None = None
