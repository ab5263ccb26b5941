"""The `handle` of plugins in `Scheduler`: what they can read besides the cluster.

A `Scheduler` has no clock, places pods at once and does not run Permit. So its time is always 0,
no pod waits, and pending pods need no activation.
"""

from __future__ import annotations

from collections.abc import Container, Hashable, Iterable, Sequence
from typing import TypeVar, overload

from podwright.apimachinery.objects import (
    CoschedulingPodGroup,
    KubernetesObject,
    NamespacedName,
    Object,
    Pod,
    PodGroup,
)
from podwright.scheduler.columns import DeviceClassIndex
from podwright.scheduler.framework import ApiCall, Members, Profile
from podwright.scheduler.machine import GANG_SCHEDULING, Groups, notify_pod_ended, object_key

Kind = TypeVar("Kind", bound=KubernetesObject)


class SchedulerHandle:
    """What plugins can read in one `Scheduler`; see `framework.handle`.

    Parameters
    ----------
    profiles : iterable of Profile
        Their plugins get this handle.
    """

    def __init__(self, profiles: Iterable[Profile]) -> None:
        plugins = [plugin for profile in profiles for plugin in profile.all_plugins()]
        self._classes = DeviceClassIndex()
        self._objects: dict[tuple[str, str], Object] = {}
        self._pods: dict[NamespacedName, Pod] = {}
        self._groups = Groups(plugins)
        self._releasing = tuple(plugin for plugin in plugins if plugin.implements("pod_ended"))
        for plugin in plugins:
            plugin.handle = self

    # ------------------------------------------------------------ for plugins

    @property
    def binds(self) -> bool:
        """Always false: what Reserve sets aside counts as written."""
        return False

    @property
    def now_ns(self) -> int:
        """Always 0: no time passes."""
        return 0

    @overload
    def find(self, kind: type[Kind], name: NamespacedName) -> Kind | None: ...
    @overload
    def find(self, kind: str, name: NamespacedName) -> KubernetesObject | None: ...
    def find(self, kind: type[Kind] | str, name: NamespacedName) -> KubernetesObject | None:
        """Return an object by `namespace/name`; None if there is none."""
        found = self._objects.get(object_key(kind, name))
        return found if isinstance(kind, str) or isinstance(found, kind) else None

    def members(self, plugin: str, group: Hashable) -> Members:
        """Return the pods for which a plugin's `group_of` returns `group`."""
        return self._groups.members(plugin, group)

    def waiting(self) -> tuple[str, ...]:
        """Return nothing: Permit is not run."""
        return ()

    def allow(self, uid: str, plugin: str) -> None:
        """Do nothing: no pod waits."""

    def reject(self, uid: str, plugin: str, message: str) -> None:
        """Do nothing: no pod waits."""

    def device_class_of(self, resource: str) -> str:
        """Return the device class that backs an extended resource; "" if there is none."""
        return self._classes.class_of(resource)

    def request(self, call: ApiCall, pod: Pod | None = None) -> None:
        """Do nothing: there is no API server."""

    def record_event(self, pod: Pod, reason: str, note: str) -> None:
        """Do nothing: no Events are recorded."""

    def count(self, metric: str, labels: tuple[str, ...]) -> None:
        """Do nothing: no metrics are counted."""

    def observe(self, metric: str, labels: tuple[str, ...], duration_ns: int) -> None:
        """Do nothing: no metrics are counted."""

    def activate(self, pods: Iterable[Pod]) -> None:
        """Do nothing: all pending pods are active."""

    # ------------------------------------------------------------ for the scheduler

    def put(self, obj: Object) -> None:
        """Add an object that is not a pod, or a new version of it."""
        self._objects[object_key(obj, obj.key)] = obj
        self._classes.put(obj)

    def remove(self, obj: Object) -> None:
        """Remove an object that is not a pod."""
        self._objects.pop(object_key(obj, obj.key), None)
        self._classes.delete(obj)

    @property
    def has_groups(self) -> bool:
        """Whether any plugin defines groups: otherwise pods are not kept."""
        return self._groups.is_used

    def put_pod(self, pod: Pod) -> None:
        """Add a pod that has not ended, or a new version of it."""
        if not self._groups.is_used:
            return
        old = self._pods.get(pod.key)
        if old is pod:
            return
        self._pods[pod.key] = pod
        if old is None:
            self._groups.put(pod)
        else:
            self._groups.replace(old, pod)

    def mark(self, pod: Pod, *, is_placed: bool) -> None:
        """Record that a pod counts on a node from now on, or does not."""
        self._groups.mark(pod, is_scheduled=is_placed)

    def mark_all(self, placed: Container[NamespacedName]) -> None:
        """Record for all pods whether they count on a node."""
        for key, pod in self._pods.items():
            self._groups.mark(pod, is_scheduled=key in placed)

    def group_of(self, plugin: str, pod: Pod) -> Hashable | None:
        """Return the group of a pod by a plugin; None if it has none."""
        return self._groups.group_of(plugin, pod)

    def unplaced_siblings(self, plugin: str, pod: Pod) -> Sequence[Pod]:
        """Return the pods without a node of the group of a pod, itself included."""
        group = self.group_of(plugin, pod)
        return () if group is None else self.members(plugin, group).unscheduled()

    def gang_of(self, pod: Pod) -> tuple[Object, int] | None:
        """Return what `DecidingScheduler.gang_of` does."""
        found: tuple[Object, int] | None = None
        if isinstance(key := self.group_of(plugin := GANG_SCHEDULING, pod), str):
            group = self.find(PodGroup, key)
            gang = None if group is None else group.spec.scheduling_policy.gang
            if group is not None and gang is not None:
                found = group, gang.min_count
        elif isinstance(key := self.group_of(plugin := "Coscheduling", pod), str):
            labelled = self.find(CoschedulingPodGroup, key)
            if labelled is not None:
                found = labelled, labelled.spec.min_member
        if found is None or len(self.members(plugin, key).scheduled) >= found[1]:
            return None
        return found

    def remove_pod(self, key: NamespacedName, placed: Pod | None) -> None:
        """Remove a pod that has ended.

        Parameters
        ----------
        placed : Pod or None
            The pod with its node's name; None if it had no node.
        """
        old = self._pods.pop(key, None)
        if old is not None:
            self._groups.remove(old)
        if placed is not None:
            notify_pod_ended(self._releasing, placed, None)
