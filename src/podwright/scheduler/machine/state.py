"""The state that the parts of the machine share: the cluster, the queue, and unfinished work.

The state makes no decisions. Each part of the machine is a class that reads and changes it;
`validate` checks what must hold between two events.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Final, NamedTuple

from podwright.apimachinery.objects import NamespacedName, Object, Pod
from podwright.scheduler.columns import Cluster
from podwright.scheduler.framework import NO_MEMBERS, Members, Plugin
from podwright.scheduler.machine.actions import Action
from podwright.scheduler.machine.cycles.binding import Binding
from podwright.scheduler.machine.cycles.eviction import Eviction
from podwright.scheduler.machine.cycles.failure import Failure
from podwright.scheduler.machine.cycles.waiting import WaitingPod
from podwright.scheduler.machine.metrics.machine_metrics import Metrics
from podwright.scheduler.machine.profiles import RunningProfile
from podwright.scheduler.queueing import PodQueue


class State:
    """Everything that survives from one event to the next.

    Attributes
    ----------
    cluster : Cluster
        Nodes, and the pods that count on them: those that have a node and assumed ones.
    queue : PodQueue
        Pending pods.
    profiles : dict of str to RunningProfile
        By schedulerName.
    pods : dict of str to Pod
        The last received version of every pod, by `namespace/name`; pods that have ended are
        not kept.
    objects : dict
        Every other object, by kind and name.
    assumed : dict of str to Binding
        Pods that count on a node without confirmation by the API server, by uid.
    expired : set of str
        Uids of pods that were bound and have been assumed for too long: they count nowhere
        until they are received again.
    waiting : dict of str to WaitingPod
        Pods that wait at Permit, by uid.
    bindings : dict of int to Binding
        The unfinished binding cycles, by number.
    bindings_by_uid : dict of str to Binding
        The same, by the pod's uid.
    evictions : dict of str to Eviction
        Unfinished asynchronous preemptions, by the preemptor's uid.
    calls : dict of int to Binding or Eviction
        What waits for the answer to a call; the answer to a call without an entry is ignored.
    requested : dict of int to Pod
        The pods of calls that plugins requested and do not wait for.
    ready : deque of Binding
        Binding cycles that are to continue at the end of the event.
    actions : list of Action
        The actions of this event so far.
    groups : Groups
        The members of pod groups.
    releasing : tuple of Plugin
        The plugins of all profiles that implement `pod_ended`.
    metrics : Metrics
        The counters of all parts.
    on_failure : callable, optional
        Called with every failed attempt: the pod, why, and when.
    on_ignored : callable, optional
        Called with every error of a plugin that has no effect.
    now_ns : int
        The time of this event.
    cycle_started_ns : int
        When the scheduling cycle started that runs, or ran last.
    """

    def __init__(
        self,
        cluster: Cluster,
        queue: PodQueue,
        profiles: Mapping[str, RunningProfile],
    ) -> None:
        self.cluster = cluster
        self.queue = queue
        self.profiles = dict(profiles)
        self.pods: dict[NamespacedName, Pod] = {}
        self.objects: dict[tuple[str, str], Object] = {}
        self.assumed: dict[str, Binding] = {}
        self.expired: set[str] = set()
        self.waiting: dict[str, WaitingPod] = {}
        self.bindings: dict[int, Binding] = {}
        self.bindings_by_uid: dict[str, Binding] = {}
        self.evictions: dict[str, Eviction] = {}
        self.calls: dict[int, Binding | Eviction] = {}
        self.requested: dict[int, Pod] = {}
        self.ready: deque[Binding] = deque()
        self.timers = Timers()
        self.actions: list[Action] = []
        plugins = [p for running in profiles.values() for p in running.profile.all_plugins()]
        self.groups = Groups(plugins)
        self.releasing = tuple(plugin for plugin in plugins if plugin.implements("pod_ended"))
        self.metrics = Metrics({name: running.profile for name, running in profiles.items()})
        self.on_failure: Callable[[Pod, Failure, int], None] | None = None
        self.on_ignored: Callable[[str], None] | None = None
        self.now_ns = 0
        self.cycle_started_ns = 0
        self.call_count = 0
        self.binding_count = 0
        self.waiting_count = 0

    def next_call(self) -> int:
        """Return a number for a call."""
        self.call_count += 1
        return self.call_count


# The timers of the machine, in order of time.


class Timer(NamedTuple):
    """A wake-up that was requested.

    Parameters
    ----------
    due_ns : int
    counter : int
        Orders equal times: the first timer added comes first.
    number : int
        Of the waiting pod, or of the binding cycle if no plugin is named.
    plugin : str
        The Permit plugin whose time is up; "" stands for the delay of a PreBind or Bind
        plugin.
    uid : str
        Of the pod.
    """

    due_ns: int
    counter: int
    number: int
    plugin: str
    uid: str


class Timers:
    """A heap of timers; a timer is never removed, and its owner ignores one that is outdated.

    Attributes
    ----------
    heap : list of Timer
        The timers; public, since every event tests whether there are any, and a call is slower.
    """

    def __init__(self) -> None:
        self.heap: list[Timer] = []
        self._counter = 0

    def add(self, due_ns: int, number: int, uid: str, plugin: str = "") -> int:
        """Schedule a timer; returns its counter."""
        self._counter += 1
        heapq.heappush(self.heap, Timer(due_ns, self._counter, number, plugin, uid))
        return self._counter

    def pop_due(self, now_ns: int) -> Timer | None:
        """Take out the first timer whose time has come; None if there is none."""
        if self.heap and self.heap[0].due_ns <= now_ns:
            return heapq.heappop(self.heap)
        return None

    def snapshot(self) -> tuple[int, tuple[Timer, ...]]:
        """Return how many timers there were, and those that are left, in order."""
        return self._counter, tuple(sorted(self.heap))

    def restore(self, counter: int, timers: Iterable[Timer]) -> None:
        """Restore a snapshot."""
        self._counter = counter
        self.heap = sorted(timers)

    def next_due_ns(self) -> int | None:
        """Return the earliest time; None if there are no timers."""
        return self.heap[0].due_ns if self.heap else None


# The members of pod groups, kept for the plugins that define groups (`Plugin.group_of`).

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
            if group != _group_of(plugin, pod):
                self._remove((name, group), old.metadata.uid)
        self.put(pod)

    def remove(self, pod: Pod) -> None:
        """Remove a pod."""
        for name, plugin in self._plugins.items():
            self._remove((name, _group_of(plugin, pod)), pod.metadata.uid)

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
            members = self._members.get((name, _group_of(plugin, pod)))
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
