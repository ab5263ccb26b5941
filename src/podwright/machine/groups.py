"""Which pods belong together: kept for the plugins that say so (`Plugin.group_of`)."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Final

from podwright.framework import NO_MEMBERS, Members, Plugin
from podwright.objects import Pod

GANG_SCHEDULING: Final = "GangScheduling"
"""The plugin whose groups have a scheduling cycle of their own."""


class Groups:
    """Which pods belong together, for the plugins that say so.

    Parameters
    ----------
    plugins : iterable of Plugin
        Of all profiles; those without `group_of` are left aside. Of several with one name
        the first is asked: what a group is does not depend on the profile.
    """

    def __init__(self, plugins: Iterable[Plugin]) -> None:
        self._plugins: dict[str, Plugin] = {}
        for plugin in plugins:
            if plugin.implements("group_of"):
                self._plugins.setdefault(plugin.name, plugin)
        self._members: dict[tuple[str, Hashable], Members] = {}
        self.is_used = bool(self._plugins)
        """Whether any plugin keeps pods together."""

    def has(self, plugin: str) -> bool:
        """Tell whether a plugin of this name takes part."""
        return plugin in self._plugins

    def members(self, plugin: str, group: Hashable) -> Members:
        """Return the pods for which a plugin's `group_of` answers `group`."""
        return self._members.get((plugin, group), NO_MEMBERS)

    def group_of(self, plugin: str, pod: Pod) -> Hashable | None:
        """Return the pod's group; None if it has none, or the plugin takes no part."""
        asked = self._plugins.get(plugin)
        return None if asked is None else _group_of(asked, pod)

    def put(self, pod: Pod) -> None:
        """Take in a pod, or a new version of one."""
        uid = pod.metadata.uid
        for name, plugin in self._plugins.items():
            group = _group_of(plugin, pod)
            if group is None:
                continue
            members = self._members.setdefault((name, group), Members())
            members.pods[uid] = pod
            if pod.spec.node_name:
                members.scheduled.add(uid)

    def replace(self, old: Pod, pod: Pod) -> None:
        """Take in a new version; a label that changes may take a pod to another group."""
        for name, plugin in self._plugins.items():
            group = _group_of(plugin, old)
            if group is not None and group != _group_of(plugin, pod):
                self._remove((name, group), old.metadata.uid)
        self.put(pod)

    def remove(self, pod: Pod) -> None:
        """Take a pod out."""
        for name, plugin in self._plugins.items():
            group = _group_of(plugin, pod)
            if group is not None:
                self._remove((name, group), pod.metadata.uid)

    def _remove(self, key: tuple[str, Hashable], uid: str) -> None:
        members = self._members.get(key)
        if members is None:
            return
        members.pods.pop(uid, None)
        members.scheduled.discard(uid)
        if not members.pods:
            del self._members[key]

    def mark(self, pod: Pod, *, is_scheduled: bool) -> None:
        """Note that a pod counts on a node from now on, or does not."""
        uid = pod.metadata.uid
        for name, plugin in self._plugins.items():
            group = _group_of(plugin, pod)
            members = None if group is None else self._members.get((name, group))
            if members is None or uid not in members.pods:
                continue
            if is_scheduled:
                members.scheduled.add(uid)
            elif not members.pods[uid].spec.node_name:
                members.scheduled.discard(uid)

    def rebuild(self, pods: Iterable[Pod], assumed: Iterable[str]) -> None:
        """Begin anew with the pods that exist and the uids of those that are assumed."""
        self._members.clear()
        by_uid = {pod.metadata.uid: pod for pod in pods}
        for pod in by_uid.values():
            self.put(pod)
        for uid in assumed:
            if uid in by_uid:
                self.mark(by_uid[uid], is_scheduled=True)


def _group_of(plugin: Plugin, pod: Pod) -> Hashable | None:
    """Ask a plugin for the group of a pod; one that fails gives none.

    The pod hears of it where it is kept out of the queue; see `RunningProfile.run_pre_enqueue`.
    """
    try:
        group = plugin.group_of(pod)
        hash(group)
    except Exception:  # noqa: BLE001 - a user's plugin may raise anything
        return None
    return group
