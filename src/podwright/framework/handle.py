"""What plugins that look beyond one pod may ask of the machine, and ask it to do.

Most plugins decide about one pod and need nothing but their `Cycle`. A plugin that keeps
pods together also has to know the others: it says which group a pod belongs to
(`Plugin.group_of`), and the machine, which sees every pod come and go, keeps the groups.
Through its `handle` such a plugin looks a group up, lets waiting members go or refuses them,
and brings members back into the queue.

A plugin has a handle only inside a machine (`Plugin.handle` is None elsewhere).

Upstream: k8s.io/kube-scheduler/framework/interface.go, `Handle`, `PodGroupManager`
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Protocol, TypeVar

from podwright.objects import KubernetesObject, NamespacedName, Pod

Kind = TypeVar("Kind", bound=KubernetesObject)


class Members:
    """The pods of one group; to read.

    Attributes
    ----------
    pods : dict of str to Pod
        All that exist and have not ended, by uid, in order of arrival.
    scheduled : set of str
        The uids of those that count on a node: bound, assumed, or placed in a dry run.
    """

    __slots__ = ("pods", "scheduled")

    def __init__(self) -> None:
        self.pods: dict[str, Pod] = {}
        self.scheduled: set[str] = set()

    def unscheduled(self) -> list[Pod]:
        """Return the pods that do not count on a node, in order of names."""
        pods = [pod for uid, pod in self.pods.items() if uid not in self.scheduled]
        return sorted(pods, key=lambda pod: pod.key)


NO_MEMBERS = Members()
"""A group of which no pod exists."""


class Handle(Protocol):
    """The machine, as its plugins see it."""

    @property
    def now_ns(self) -> int:
        """The time of the event that is being handled, in nanoseconds since 1970."""

    def find(self, kind: type[Kind], name: NamespacedName) -> Kind | None:
        """Return an object by `namespace/name`; None if there is none."""

    def members(self, plugin: str, group: Hashable) -> Members:
        """Return the pods for which a plugin's `group_of` answers `group`."""

    def waiting(self) -> tuple[str, ...]:
        """Return the uids of the pods that Permit plugins hold, in the order they came."""

    def allow(self, uid: str, plugin: str) -> None:
        """Let a waiting pod go, as far as a plugin is concerned."""

    def reject(self, uid: str, plugin: str, message: str) -> None:
        """Refuse a waiting pod."""

    def activate(self, pods: Iterable[Pod]) -> None:
        """Bring pods back into the active queue, whatever they wait for."""
