"""The handle: what plugins can read and do besides their cycle.

Most plugins decide about one pod and need only their `Cycle`. With its `handle` a plugin finds
objects of any kind. A plugin that schedules groups of pods also needs the other members:
`Plugin.group_of` returns the group of a pod, and the machine, which receives every pod event,
maintains the groups. The plugin reads a group, allows or rejects waiting members, and moves
members back into the active queue.

A plugin has a handle in a machine, and a simpler one in `Scheduler`, which has no clock and no
waiting pods. `Plugin.handle` is None before, as in the constructor.

Upstream: k8s.io/kube-scheduler/framework/interface.go, `Handle`, `PodGroupManager`
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Protocol, TypeVar

from podwright.apimachinery.objects import KubernetesObject, NamespacedName, Pod
from podwright.scheduler.framework.binding import ApiCall

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
    def binds(self) -> bool:
        """Whether pods are bound after Reserve; False: they are placed at once."""

    @property
    def now_ns(self) -> int:
        """The time of the event that is being handled, in nanoseconds since 1970."""

    def find(self, kind: type[Kind], name: NamespacedName) -> Kind | None:
        """Return an object by `namespace/name`; None if there is none."""

    def members(self, plugin: str, group: Hashable) -> Members:
        """Return the pods for which a plugin's `group_of` returns `group`."""

    def waiting(self) -> tuple[str, ...]:
        """Return the uids of the pods that wait at Permit, in order of arrival."""

    def allow(self, uid: str, plugin: str) -> None:
        """Allow a waiting pod on behalf of one plugin (upstream: WaitingPod.Allow)."""

    def reject(self, uid: str, plugin: str, message: str) -> None:
        """Refuse a waiting pod."""

    def device_class_of(self, resource: str) -> str:
        """Return the device class that backs an extended resource; "" if there is none."""

    def request(self, call: ApiCall, pod: Pod | None = None) -> None:
        """Make a call to the API server for which nothing waits.

        Parameters
        ----------
        pod : Pod, optional
            The pod of a call that changes one, like `PodMetadataPatch`.
        """

    def record_event(self, pod: Pod, reason: str, note: str) -> None:
        """Record a normal Event about a pod, with the action `Scheduling`."""

    def activate(self, pods: Iterable[Pod]) -> None:
        """Move pods into the active queue, from wherever they wait."""

    def count(self, metric: str, labels: tuple[str, ...]) -> None:
        """Add 1 to a counter of kube-scheduler, named as in docs/reference/metrics.md."""

    def observe(self, metric: str, labels: tuple[str, ...], duration_ns: int) -> None:
        """Add a duration to a histogram of kube-scheduler."""
