"""The members of pod groups, kept for the plugins that define groups (`Plugin.group_of`)."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Final

from podwright.apimachinery.objects import Pod
from podwright.scheduler.framework import NO_MEMBERS, Members, Plugin

GANG_SCHEDULING: Final = "GangScheduling"
"""The plugin whose groups have their own scheduling cycle."""


class Groups:
    """The members of pod groups, by plugin and group.

    Parameters
    ----------
    plugins : iterable of Plugin
        Of all profiles; those without `group_of` are ignored. Of several with one name
        the first is called: what a group is does not depend on the profile.
    """

    def __init__(self, plugins: Iterable[Plugin]) -> None:
        self._plugins: dict[str, Plugin] = {}
        for plugin in plugins:
            if plugin.implements("group_of"):
                self._plugins.setdefault(plugin.name, plugin)
        self._members: dict[tuple[str, Hashable], Members] = {}
        self.is_used = bool(self._plugins)
        """Whether any plugin defines groups."""

    def has(self, plugin: str) -> bool:
        """Report whether a plugin of this name defines groups."""
        return plugin in self._plugins

    def members(self, plugin: str, group: Hashable) -> Members:
        """Return the pods for which a plugin's `group_of` returns `group`."""
        return self._members.get((plugin, group), NO_MEMBERS)

    def group_of(self, plugin: str, pod: Pod) -> Hashable | None:
        """Return the pod's group; None if it has none, or the plugin defines none."""
        defining = self._plugins.get(plugin)
        return None if defining is None else _group_of(defining, pod)

    def put(self, pod: Pod) -> None:
        """Add a pod, or a new version of one."""
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
        """Replace a pod by a new version; a changed label may move it to another group."""
        for name, plugin in self._plugins.items():
            group = _group_of(plugin, old)
            if group is not None and group != _group_of(plugin, pod):
                self._remove((name, group), old.metadata.uid)
        self.put(pod)

    def remove(self, pod: Pod) -> None:
        """Remove a pod."""
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
        """Record that a pod counts on a node from now on, or does not."""
        uid = pod.metadata.uid
        for name, plugin in self._plugins.items():
            group = _group_of(plugin, pod)
            members = None if group is None else self._members.get((name, group))
            if members is None or uid not in members.pods:
                continue
            if is_scheduled:
                members.scheduled.add(uid)
            # A pod that was seen with its node stays scheduled, whatever its binding cycle does.
            elif not members.pods[uid].spec.node_name:
                members.scheduled.discard(uid)

    def rebuild(self, pods: Iterable[Pod], assumed: Iterable[str]) -> None:
        """Rebuild the groups from the existing pods and the uids of the assumed ones."""
        self._members.clear()
        by_uid = {pod.metadata.uid: pod for pod in pods}
        for pod in by_uid.values():
            self.put(pod)
        for uid in assumed:
            if uid in by_uid:
                self.mark(by_uid[uid], is_scheduled=True)


def _group_of(plugin: Plugin, pod: Pod) -> Hashable | None:
    """Return the group of a pod by a plugin; None if the plugin fails.

    `RunningProfile.run_pre_enqueue` reports the failure and gates the pod.
    """
    try:
        group = plugin.group_of(pod)
        hash(group)
    except Exception:  # noqa: BLE001 - a user's plugin may raise anything
        return None
    return group
