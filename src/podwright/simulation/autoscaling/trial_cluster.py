"""The cluster in which the autoscaler tries scheduling: a scheduler without scores, and forks.

As cluster-autoscaler's framework, it runs PreFilter, Filter and Reserve of the scheduler's
profiles. A plugin restricts the nodes; the first one that passes takes the pod.

Upstream: cluster-autoscaler/simulator/clustersnapshot/predicate/plugin_runner.go,
RunFiltersUntilPassingNode, RunFiltersOnNode
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Container, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import msgspec

from podwright.apimachinery.devices import DeviceId, Pool
from podwright.apimachinery.objects import (
    Node,
    Pod,
    pending_requests,
    with_fields,
    with_node_name,
)
from podwright.scheduler.assembly import Scheduler, SchedulerState
from podwright.scheduler.config import (
    KubeSchedulerConfiguration,
    KubeSchedulerProfile,
    Plugin as PluginEntry,
    Plugins,
    PluginSet,
)
from podwright.scheduler.framework import Cycle, Plugin, PreFilterResult
from podwright.scheduler.machine import SchedulerOptions
from podwright.simulation.autoscaling.companions import Companion, Companions

_NONE: Final = PluginSet(disabled=(PluginEntry(name="*"),))


class Destinations(Plugin):
    """Restricts pods to some nodes.

    Attributes
    ----------
    names : frozenset of str, optional
        None: to all nodes.
    """

    name = "Destinations"

    def __init__(self) -> None:
        self.names: frozenset[str] | None = frozenset()

    def pre_filter(self, cycle: Cycle) -> PreFilterResult:
        """Return the nodes."""
        return PreFilterResult(node_names=self.names)


def filter_options(options: SchedulerOptions) -> SchedulerOptions:
    """Return the options of a scheduler that only filters, by the same profiles.

    Extenders are left out, as upstream leaves them out.
    """
    given = options.configuration or KubeSchedulerConfiguration()
    profiles = given.profiles or (KubeSchedulerProfile(),)
    if given.rules_name != "modern":
        given, profiles = KubeSchedulerConfiguration(), (KubeSchedulerProfile(),)
    filtering = tuple(
        msgspec.structs.replace(profile, plugins=_without_scores(profile.plugins or Plugins()))
        for profile in profiles
    )
    return SchedulerOptions(
        configuration=msgspec.structs.replace(
            given, profiles=filtering, extenders=(), percentage_of_nodes_to_score=None
        ),
        plugins=(*options.plugins, Destinations),
        gates=options.gates,
        seed=options.seed,
        source=options.source,
    )


def _without_scores(plugins: Plugins) -> Plugins:
    own = PluginEntry(name=Destinations.name)
    return msgspec.structs.replace(
        plugins,
        pre_filter=msgspec.structs.replace(
            plugins.pre_filter, enabled=(*plugins.pre_filter.enabled, own)
        ),
        pre_score=_NONE,
        score=_NONE,
        post_filter=_NONE,
        permit=_NONE,
    )


class Fork:
    """A fork of a trial cluster.

    Attributes
    ----------
    is_kept : bool
        Whether it is not taken back at its end.
    """

    def __init__(self) -> None:
        self.is_kept = False


class TrialCluster:
    """The objects of a cluster, and forks of it in which pods are scheduled.

    Parameters
    ----------
    options : SchedulerOptions
        Of the scheduler of the cluster.
    pool_label : str
        As that of `AutoscalerOptions`.

    Attributes
    ----------
    scheduler : Scheduler
        It decides; to read.
    companions : Companions
    """

    def __init__(self, options: SchedulerOptions, pool_label: str = "") -> None:
        self.scheduler = Scheduler(filter_options(options))
        self.companions = Companions(self.scheduler.cluster, pool_label)
        self._destinations = [
            plugin
            for profile in self.scheduler.profiles.values()
            for plugin in profile.pre_filter
            if isinstance(plugin, Destinations)
        ]
        self._added: list[Node | Companion] = []
        self._removed: list[Node] = []

    def change(self, old: Any, new: Any) -> None:
        """Receive a change of an object; not within a fork."""
        if new is not None:
            self.add([new])
        elif old is not None:
            self.scheduler.remove(old)
            self.companions.remove(old)

    def add(self, objects: Iterable[Any]) -> None:
        """Add objects, or take over their new versions; not within a fork."""
        given = list(objects)
        self.scheduler.add(*given)
        self.companions.put(given)

    # ------------------------------------------------------------------------ forks

    @contextmanager
    def forked(self) -> Iterator[Fork]:
        """Take back at the end what happens to nodes and pods; forks may be nested.

        A fork that is kept is taken back with the one around it.
        """
        state = self.scheduler.state()
        added, removed = len(self._added), len(self._removed)
        fork = Fork()
        try:
            yield fork
        finally:
            if not fork.is_kept:
                self._take_back(state, added, removed)

    def _take_back(self, state: SchedulerState, added: int, removed: int) -> None:
        cluster = self.scheduler.cluster
        for node in self._removed[removed:]:
            cluster.put(node)
        state.restore()
        for obj in self._added[added:]:
            cluster.delete(obj)
        del self._added[added:], self._removed[removed:]

    def add_node(self, node: Node, pods: Iterable[Pod]) -> str:
        """Add a node with its pods and companions in a fork, and return its name."""
        added: list[Node | Companion] = [node, *self.companions.of(node)]
        for each in added:
            self.scheduler.cluster.put(each)
            self._added.append(each)
        for pod in pods:
            self.put_pod(pod, node.name)
        return node.name

    def waits_for_devices(self, node: Node) -> bool:
        """Return whether described devices of a node are not published yet.

        Upstream: processors/customresources/dra_processor.go, FilterOutNodesWithUnreadyResources
        """
        expected = self.companions.described(node).keys()
        if not expected:
            return False
        pools = self.scheduler.cluster.devices.pools_of(node.name, node.metadata.labels)
        return not expected <= {pool.id.driver for pool in pools if not pool.is_incomplete}

    def remove_node(self, name: str) -> list[Pod]:
        """Take the pods off a node, and the node out of all topologies, in a fork.

        It stays in its slot without labels; the caller no longer names it to `schedule`.
        """
        pods = self.pods_on(name)
        for pod in pods:
            self.scheduler.withdraw(pod.key)
        node = self.node(name)
        self.scheduler.cluster.put(with_fields(node, "metadata", labels={}))
        self._removed.append(node)
        return pods

    def put_pod(self, pod: Pod, node: str) -> None:
        """Place a pod on a node in a fork, whether it fits or not.

        Upstream: simulator/clustersnapshot/predicate/predicate_snapshot.go, ForceAddPod
        """
        cluster = self.scheduler.cluster
        self.scheduler.pending.pop(pod.key, None)
        cluster.place(pod, cluster.nodes.slot_of[node])

    def withdraw_expendable(self, cutoff: int) -> None:
        """Take the pods off their nodes in a fork that others would preempt at once.

        Upstream: core/static_autoscaler.go, RunOnce; core/utils/expendable.go
        """
        cluster = self.scheduler.cluster
        if cluster.has_pods_below(cutoff):
            for key, placed in list(cluster.pods.items()):
                if is_expendable(placed.pod, cutoff):
                    self.scheduler.withdraw(key)

    # ------------------------------------------------------------------------ decisions

    def schedule(self, pod: Pod, nodes: Collection[str]) -> str:
        """Place a pod in a fork on the first of some nodes that passes; "" if none does.

        A pod of another scheduler is tried with the first profile, as upstream tries all pods.
        """
        for plugin in self._destinations:
            plugin.names = frozenset(nodes)
        pending, profiles = self.scheduler.pending, self.scheduler.profiles
        if pod.key not in pending:
            pending[pod.key] = with_node_name(pod, "")
        if pending[pod.key].spec.scheduler_name not in profiles:
            first = next(iter(profiles))
            pending[pod.key] = with_fields(pending[pod.key], "spec", scheduler_name=first)
        return self.scheduler.schedule(pod.key).node

    def rejection(self, pod: Pod, node: str) -> tuple[str, ...] | None:
        """Return why a node does not take a pod, in the scheduler's words; None if it does."""
        with self.forked():
            return None if self.schedule(pod, (node,)) else self.reasons(pod, (node,))[node]

    def reasons(self, pod: Pod, nodes: Collection[str]) -> dict[str, tuple[str, ...]]:
        """Return why each of some nodes did not take a pod, in a fork in which it was tried."""
        explanation = self.scheduler.explain(pod.key)
        if explanation.pre_filter.is_rejection:
            # Perhaps another plugin restricts pods to other nodes: it alone is the reason.
            for plugin in self._destinations:
                plugin.names = None
            explanation = self.scheduler.explain(pod.key)
        restricting = [name for name in explanation.restricted_by if name != Destinations.name]
        if explanation.pre_filter.is_rejection:
            others = explanation.pre_filter.reasons or (explanation.pre_filter.message,)
        elif restricting == ["NodeAffinity"]:
            # Upstream calls its filter for the node, whatever PreFilter restricts.
            others = ("node(s) didn't match Pod's node affinity/selector",)
        elif restricting:
            others = (f"node(s) didn't satisfy plugin(s) [{' '.join(restricting)}]",)
        else:
            others = (explanation.decision.message,)
        rejected = explanation.rejected
        return {name: rejected[name].reasons if name in rejected else others for name in nodes}

    # ------------------------------------------------------------------------ reading

    def node(self, name: str) -> Node:
        """Return a node."""
        nodes = self.scheduler.cluster.nodes
        node = nodes.objects[nodes.slot_of[name]]
        assert node is not None, f"no node {name}"
        return node

    def use_of(self, name: str, resource: str, ignored: Iterable[Pod] = ()) -> float:
        """Return the share of a node's resource that its pods request, without some pods."""
        nodes = self.scheduler.cluster.nodes
        slot, index = nodes.slot_of[name], nodes.resource_index(resource)
        amount = int(nodes.allocatable[slot, index])
        used = amount - int(nodes.free[slot, index])
        less = sum(pending_requests(pod).get(resource, 0) for pod in ignored)
        return (used - less) / (amount - less) if amount > less else 0.0

    def device_use(self, name: str) -> tuple[str, float] | None:
        """Return the most used pool of a node's own devices, and the share that is in use.

        None if no slice is of the node alone. Of equal pools upstream returns any one.

        Upstream: simulator/dynamicresources/utils/utilization.go,
        HighestDynamicResourceUtilization
        """
        devices = self.scheduler.cluster.devices
        if devices.is_empty:
            return None
        used = frozenset(devices.allocated.all_used())
        uses = [
            (_pool_use(pool, used), f"{pool.id.driver}/{pool.id.pool}")
            for pool in devices.pools_of(name, self.node(name).metadata.labels)
            if any(each.slice.nodes.name == name for each in pool.devices)
        ]
        if not uses:
            return None
        most, pool_name = max(uses)
        return pool_name, most

    def pods_on(self, name: str) -> list[Pod]:
        """Return the pods on a node, by name."""
        cluster = self.scheduler.cluster
        placed = cluster.pods_on[cluster.nodes.slot_of[name]]
        return [placed[key].pod for key in sorted(placed)]


def counted(reasons: Iterable[str]) -> str:
    """Return reasons with their numbers, sorted as in upstream's FitError."""
    return ", ".join(sorted(f"{number} {reason}" for reason, number in Counter(reasons).items()))


def _pool_use(pool: Pool, used: Container[DeviceId]) -> float:
    """Return the share of a pool that is in use: of its whole devices, and of its counter sets.

    Upstream: simulator/dynamicresources/utils/utilization.go, calculatePoolUtil
    """
    whole = [each for each in pool.devices if not each.consumes]
    used_whole = sum(each.id in used for each in whole)
    whole_use = used_whole / len(whole) if whole else 0.0
    used_parts = [each for each in pool.devices if each.consumes and each.id in used]
    if not used_parts:
        return whole_use
    taken: Counter[tuple[str, str]] = Counter()
    for each in used_parts:
        for set_name, amounts in each.consumes:
            for counter, amount in amounts:
                taken[set_name, counter] += amount
    sets = {set_name for each in pool.devices for set_name, _ in each.consumes}
    highest = (
        max(
            (taken[name, counter] / total for counter, total in counters.items() if total),
            default=0,
        )
        for name, counters in pool.counters.items()
    )
    parts_use = sum(highest) / len(sets)
    if not used_whole:
        return parts_use
    return (parts_use * len(sets) + whole_use * len(whole)) / (len(sets) + len(whole))


def is_expendable(pod: Pod, cutoff: int) -> bool:
    """Return whether a pod does not matter for the number of nodes.

    Upstream: core/utils/expendable.go, IsExpendablePod
    """
    priority = pod.spec.priority
    preempts = pod.spec.preemption_policy in {None, "", "PreemptLowerPriority"}
    return preempts and priority is not None and priority < cutoff
