"""The autoscaler: a controller that changes the sizes of node groups.

Theory of operation
-------------------
The autoscaler runs a loop every scan interval, at whole multiples of it, as long as something
changes or a time of its own is still to come; otherwise it waits for the next change, so that it
does not keep a simulation running. A loop works in a fork of the cluster:

1. nodes that were requested and have not registered are added as nodes of the template;
2. pending pods that fit now are placed, and left out;
3. for the others, each group that may grow offers nodes (`scale_up`), and the expanders choose one
   (`expanders`). The group gets its nodes after its provisioning time;
4. without a scale-up, the nodes that are not needed are found, and those removed that were not for
   long enough (`scale_down`).

A request whose nodes do not register in time fails; its group is in backoff then.

Upstream: cluster-autoscaler/core/static_autoscaler.go, RunOnce; clusterstate/clusterstate.go,
updateScaleRequests, GetUpcomingNodes; utils/backoff/exponential_backoff.go. The sizes of groups are
those of the kwok provider: cloudprovider/kwok/kwok_provider.go, Refresh.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec

from podwright._checkpointed import Saved
from podwright.apimachinery.objects import (
    SECOND_NS,
    KubernetesObject,
    NamespacedName,
    Node,
    Object,
    Pod,
    condition_of,
    timestamp_ns,
    with_node_name,
)
from podwright.cluster.api import CreateObject
from podwright.cluster.controllers import Controller, ControllerAction, Lister, SyncAt, SyncDue
from podwright.cluster.store import kind_of
from podwright.scheduler.config import format_duration
from podwright.scheduler.machine import SchedulerOptions
from podwright.simulation.autoscaling.expanders import Choice, best_option
from podwright.simulation.autoscaling.node_groups import Autoscaling, NodeGroup, new_node, pool_of
from podwright.simulation.autoscaling.scale_down import (
    NAME,
    REMOVAL,
    ScaleDown,
    is_node_ready,
    object_event,
    status_event,
)
from podwright.simulation.autoscaling.scale_up import (
    BACKOFF,
    MAX_SIZE,
    MAX_TOTAL,
    NOT_READY,
    GroupOffer,
    PodGroup,
    expansion_options,
    pod_groups,
    reasons_text,
)
from podwright.simulation.autoscaling.trial_cluster import TrialCluster, is_expendable
from podwright.simulation.recording import is_movable_pod

_POD: Final = ("", "Pod")
_NODE: Final = ("", "Node")
_DAEMON_SET: Final = ("apps", "DaemonSet")
_UNREAD: Final = (("coordination.k8s.io", "Lease"), ("", "Event"), ("events.k8s.io", "Event"))
_LOOP: Final = "loop"
_ARRIVALS: Final = "arrivals"
_NEW_PODS_NS: Final = 2 * SECOND_NS
_STARTUP_NS: Final = 15 * 60 * SECOND_NS
_SIMILAR_EVENTS_NS: Final = 5 * 60 * SECOND_NS
_BEFORE_START_NS: Final = 60 * 60 * SECOND_NS
"""How long before its start the last changes are assumed (static_autoscaler.go)."""


class Arrival(msgspec.Struct, frozen=True, kw_only=True):
    """A node that was requested.

    Attributes
    ----------
    due_ns : int, optional
        When it registers; None for never.
    """

    group: str
    due_ns: int | None


class ScaleUpRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A scale-up whose nodes have not all registered.

    Attributes
    ----------
    increase : int
    time_ns, deadline_ns : int
        Of the last increase, and when its nodes must have registered.
    """

    increase: int
    time_ns: int
    deadline_ns: int


class Backoff(msgspec.Struct, frozen=True, kw_only=True):
    """The backoff of a group.

    Attributes
    ----------
    duration_ns, until_ns, failed_ns : int
    """

    duration_ns: int
    until_ns: int
    failed_ns: int


class ClusterAutoscaler(Controller):
    """Scales node groups.

    Parameters
    ----------
    lister : Lister
    autoscaling : Autoscaling
    scheduler : SchedulerOptions
        Of the scheduler of the cluster, whose rules decide what fits.
    """

    name = NAME
    kinds = (("*", "*"),)
    _arrivals: Saved[list[Arrival]]
    _requests: Saved[dict[str, ScaleUpRequest]]
    _backoffs: Saved[dict[str, Backoff]]
    _reported: Saved[dict[NamespacedName, tuple[str, int]]]
    _looped_ns: Saved[int]
    _due_ns: Saved[int | None]
    _start_ns: Saved[int]
    _scale_up_ns: Saved[int]
    _draws: Saved[int]
    _numbers: Saved[dict[str, int]]
    _scale_down: Saved[ScaleDown]

    def __init__(
        self, lister: Lister, *, autoscaling: Autoscaling, scheduler: SchedulerOptions
    ) -> None:
        super().__init__(lister)
        self._options = autoscaling.options
        self._groups = {each.name: each for each in autoscaling.groups}
        self._templates = {
            each.name: each.node_template(self._options.pool_label) for each in autoscaling.groups
        }
        self._seed = scheduler.seed
        self._trial = TrialCluster(scheduler, autoscaling.options.pool_label)
        self._arrivals = []
        self._requests = {}
        self._backoffs = {}
        # The last note about each pod that triggers no scale-up, and its time.
        self._reported = {}
        self._looped_ns = -1
        self._due_ns = None
        self._start_ns = -1
        self._scale_up_ns = 0
        self._has_delayed_pods = False  # in the present loop
        self._draws = 0
        # Of the next node of each group: names are not used twice.
        self._numbers = {}
        self._scale_down = ScaleDown(lister, autoscaling.options, self._trial)

    def observe(
        self, old: KubernetesObject | None, new: KubernetesObject | None
    ) -> Iterable[NamespacedName]:
        """Take over a change, and return the loop."""
        obj = old if new is None else new
        assert obj is not None, "neither an old nor a new object"
        if kind_of(obj) in _UNREAD:
            return ()
        self._trial.change(old, new)
        self._scale_down.count_change()
        return (_LOOP,)

    def sync(self, key: NamespacedName, now_ns: int) -> list[ControllerAction]:
        """Run a loop if it is due, or create the nodes that have been provisioned."""
        if self._start_ns < 0:
            self._start_ns = now_ns
            self._scale_up_ns = self._scale_down.removed_ns = now_ns - _BEFORE_START_NS
        if key == _ARRIVALS:
            return self._created(now_ns)
        if key.startswith(REMOVAL):
            return self._scale_down.continued(key.removeprefix(REMOVAL), now_ns)
        if self._due_ns is None:
            self._due_ns = self._next_scan_ns(now_ns - 1)
        if now_ns < self._due_ns or now_ns == self._looped_ns:
            self._due_ns = max(self._due_ns, self._next_scan_ns(self._looped_ns))
            return [self._loop_at(self._due_ns)]
        self._looped_ns, self._due_ns = now_ns, None
        actions = [*self._expired(now_ns), *self._loop(now_ns)]
        if self._has_timers(now_ns):
            self._due_ns = self._next_scan_ns(now_ns)
            actions.append(self._loop_at(self._due_ns))
        elif until_ns := self._scale_down.waits_until_ns:
            # Not a due time, so that changes before it are not made to wait.
            actions.append(self._loop_at(self._next_scan_ns(max(until_ns, now_ns))))
        return actions

    def _next_scan_ns(self, after_ns: int) -> int:
        """Return the first time of a loop after a time; a real clock is late for it."""
        interval_ns = self._options.scan_interval_ns
        return after_ns + interval_ns - (after_ns - self._start_ns) % interval_ns

    def _loop_at(self, due_ns: int) -> SyncAt:
        return SyncAt(due_ns, SyncDue(self.name, _LOOP))

    def _has_timers(self, now_ns: int) -> bool:
        """Whether a later loop may do something although nothing changes."""
        return (
            bool(self._arrivals)
            or self._has_delayed_pods
            or self._scale_down.has_timers
            or any(each.until_ns >= now_ns for each in self._backoffs.values())
        )

    # ------------------------------------------------------------------------ the cluster

    def _nodes(self) -> list[Node]:
        found = self._lister.all(_NODE)
        return [node for _, node in sorted(found.items()) if isinstance(node, Node)]

    def _group_of(self, node: Node) -> str:
        """Return the group of a node; "" if it belongs to none."""
        pool = pool_of(node, self._options.pool_label)
        return pool if pool in self._groups else ""

    def _sizes(self) -> dict[str, int]:
        """Return the sizes of the groups, with the nodes that were requested."""
        sizes = dict.fromkeys(self._groups, 0)
        names = [self._group_of(node) for node in self._nodes()]
        for name in (*names, *(each.group for each in self._arrivals)):
            if name:
                sizes[name] += 1
        return sizes

    def _daemon_sets(self) -> tuple[Object, ...]:
        found: list[Any] = [each for _, each in sorted(self._lister.all(_DAEMON_SET).items())]
        return tuple(found)

    def _starting(self, nodes: Iterable[Node], now_ns: int) -> list[Node]:
        """Return the nodes of groups that are not ready yet, or lack devices, and are new."""
        return [
            node
            for node in nodes
            if self._group_of(node)
            and (not is_node_ready(node) or self._trial.waits_for_devices(node))
            and _created_ns(node) + _STARTUP_NS > now_ns
        ]

    def _has_too_many(self, missing: int, count: int) -> bool:
        """Whether too many of some nodes are missing.

        Upstream: clusterstate/clusterstate.go, IsClusterHealthy, IsNodeGroupHealthy
        """
        options = self._options
        limit = options.max_total_unready_percentage / 100 * count
        return missing > max(options.ok_total_unready_count, limit)

    # ------------------------------------------------------------------------ the loop

    def _loop(self, now_ns: int) -> list[ControllerAction]:
        nodes = self._nodes()
        starting = self._starting(nodes, now_ns)
        present = [node for node in nodes if node not in starting]
        unready = sum(not is_node_ready(node) for node in present)
        if self._has_too_many(unready, len(nodes)):
            return [status_event("Warning", "ClusterUnhealthy", "Cluster is unhealthy")]
        actions: list[ControllerAction] = []
        daemon_sets = self._daemon_sets()
        upcoming = [each.group for each in self._arrivals] + [*map(self._group_of, starting)]
        with self._trial.forked():
            names = [node.name for node in present]
            self._trial.withdraw_expendable(self._options.expendable_pods_priority_cutoff)
            for number, group in enumerate(upcoming):
                made = new_node(self._templates[group], f"upcoming-{number}", daemon_sets)
                names.append(self._trial.add_node(*made))
            pods = self._unplaced(names, now_ns)
            if pods:
                actions = self._scale_up(pods, len(nodes) - unready, len(names), now_ns)
                if self._scale_up_ns == now_ns:
                    return actions
            if self._options.scale_down_enabled:
                is_waiting = any(isinstance(each, SyncAt) for each in actions)
                actions += self._scaled_down(present, is_waiting=is_waiting, now_ns=now_ns)
            if self._options.enforce_node_group_min_size:
                actions += self._with_least_sizes(now_ns)
        return actions

    def _scaled_down(
        self, nodes: Sequence[Node], *, is_waiting: bool, now_ns: int
    ) -> list[ControllerAction]:
        """Return the actions of a scale-down; none is started while new pods are waited for."""
        spare = {name: size - self._groups[name].min_size for name, size in self._sizes().items()}
        groups = {node.name: name for node in nodes if (name := self._group_of(node))}
        grouped = [node for node in nodes if node.name in groups]
        candidates = [node for node in grouped if spare[groups[node.name]] > 0]
        self._scale_down.update(candidates, [node.name for node in nodes], now_ns)
        is_cooling = self._scale_up_ns + self._options.delay_after_add_ns > now_ns
        started: list[ControllerAction] = []
        if not is_waiting and not is_cooling:
            started = self._scale_down.start(groups, spare, now_ns)
        return [*started, *self._scale_down.soft_taints(grouped)]

    def _with_least_sizes(self, now_ns: int) -> list[ControllerAction]:
        """Request the nodes that groups have too few of.

        Upstream: orchestrator.go, ScaleUpToNodeGroupMinSize
        """
        sizes = self._sizes()
        found: list[ControllerAction] = []
        for name, group in self._groups.items():
            count = group.min_size - sizes[name]
            if count > 0 and not self._skipped(name, sizes, now_ns):
                found += self._requested(group, sizes[name], count, now_ns)
                self._scale_up_ns = now_ns
        return found

    def _unplaced(self, names: Sequence[str], now_ns: int) -> list[Pod]:
        """Return the pods that need new nodes; pods that fit are placed.

        Upstream: core/podlistprocessor/pod_list_processor.go, filter_out_schedulable.go,
        filter_out_expendable.go
        """
        found = []
        for pod in self._unschedulable():
            nominated = pod.status.nominated_node_name
            if nominated in names:
                self._trial.put_pod(pod, nominated)
            elif not is_expendable(pod, self._options.expendable_pods_priority_cutoff):
                found.append(pod)
        for name, removal in self._scale_down.removals.items():
            # These pods will be pending soon.
            for pod in self._trial.pods_on(name) if removal.has_drain and name in names else ():
                if is_movable_pod(pod) and not pod.is_terminating:
                    self._trial.scheduler.withdraw(pod.key)
                    found.append(with_node_name(pod, ""))
        # Pods of one kind fail together, and others of their form until a pod is placed.
        failed: list[Pod] = []
        unfit: set[Hashable] = set()
        for group in pod_groups(sorted(found, key=lambda pod: -(pod.spec.priority or 0))):
            for index, pod in enumerate(group.pods):
                if group.form in unfit or not self._trial.schedule(pod, names):
                    unfit.add(group.form)
                    failed += group.pods[index:]
                    break
                unfit.clear()
        delay_ns = self._options.new_pod_scale_up_delay_ns
        due = [pod for pod in failed if _created_ns(pod) + delay_ns <= now_ns]
        self._has_delayed_pods = len(due) < len(failed)
        return due

    def _unschedulable(self) -> Iterator[Pod]:
        """Yield the pods that the scheduler found unschedulable, without those of DaemonSets.

        Upstream: utils/kubernetes/listers.go, UnschedulablePods
        """
        for pod in self._trial.scheduler.pending.copy().values():
            condition = condition_of(pod, "PodScheduled")
            owner = pod.metadata.controller
            if (
                condition is not None
                and condition.status == "False"
                and condition.reason == "Unschedulable"
                and not pod.is_terminating
                and (owner is None or owner.kind != "DaemonSet")
            ):
                yield pod

    def _scale_up(
        self, pods: Sequence[Pod], ready: int, node_count: int, now_ns: int
    ) -> list[ControllerAction]:
        """Return the actions of a scale-up, or the Events that say why there is none."""
        most = self._options.max_nodes_total
        groups = pod_groups(pods)
        if most and ready >= most:
            return self._not_triggered(groups, lambda _: MAX_TOTAL, now_ns)
        if min(map(_created_ns, pods)) + _NEW_PODS_NS > now_ns:
            return [self._loop_at(self._next_scan_ns(now_ns))]
        sizes = self._sizes()
        skipped = {name: why for name in sizes if (why := self._skipped(name, sizes, now_ns))}
        offers = [
            self._offer(group, sizes[name], node_count)
            for name, group in self._groups.items()
            if name not in skipped
        ]
        found = expansion_options(self._trial, offers, groups)
        choice = Choice(
            options=self._options, node_count=node_count, seed=self._seed, number=self._draws
        )
        best = best_option(found, choice)
        if best is None:
            return self._not_triggered(
                [each for each in groups if not each.is_schedulable],
                lambda each: reasons_text(each, skipped),
                now_ns,
            )
        self._draws += 1
        self._scale_up_ns = now_ns
        name, count, size = best.group.name, best.count, sizes[best.group.name]
        change = f"{name} {size}->{size + count} (max: {best.group.size_limit})"
        return [
            *self._requested(best.group, size, count, now_ns),
            *(
                object_event(pod, "TriggeredScaleUp", f"pod triggered scale-up: [{{{change}}}]")
                for pod in best.pods
            ),
        ]

    def _offer(self, group: NodeGroup, size: int, node_count: int) -> GroupOffer:
        """Return what a group offers.

        Upstream: estimator/sng_capacity_threshold.go, cluster_capacity_threshold.go,
        static_threshold.go
        """
        limits = [group.size_limit - size, self._options.max_nodes_per_scaleup]
        if self._options.max_nodes_total:
            limits.append(self._options.max_nodes_total - node_count)
        return GroupOffer(
            group=group,
            template=self._templates[group.name],
            daemon_sets=self._daemon_sets(),
            limit=min(limits),
        )

    def _skipped(self, name: str, sizes: dict[str, int], now_ns: int) -> str:
        """Return why a group is not scaled up now; "" if it may be.

        Upstream: orchestrator.go, filterValidScaleUpNodeGroups, IsNodeGroupReadyToScaleUp
        """
        request, backoff = self._requests.get(name), self._backoffs.get(name)
        ready = [is_node_ready(node) for node in self._nodes() if self._group_of(node) == name]
        least = sizes[name] - (0 if request is None else request.increase)
        if self._has_too_many(least - sum(ready), len(ready)):
            return NOT_READY
        if backoff is not None and backoff.until_ns >= now_ns:
            return BACKOFF
        return MAX_SIZE if sizes[name] >= self._groups[name].size_limit else ""

    def _not_triggered(
        self, groups: Iterable[PodGroup], why: Callable[[PodGroup], str], now_ns: int
    ) -> list[ControllerAction]:
        """Return the Events that say why pods trigger no scale-up, without similar ones."""
        found: list[ControllerAction] = []
        for group in groups:
            note = f"pod didn't trigger scale-up: {why(group)}"
            for pod in group.pods:
                last, time_ns = self._reported.get(pod.key, ("", 0))
                if last != note or now_ns >= time_ns + _SIMILAR_EVENTS_NS:
                    self._reported[pod.key] = note, now_ns
                    found.append(object_event(pod, "NotTriggerScaleUp", note))
        return found

    # ------------------------------------------------------------------------ nodes

    def _requested(
        self, group: NodeGroup, size: int, count: int, now_ns: int
    ) -> list[ControllerAction]:
        """Request nodes of a group.

        Upstream: core/scaleup/orchestrator/executor.go, executeScaleUp; clusterstate.go,
        registerOrUpdateScaleUpNoLock
        """
        deadline_ns = now_ns + self._options.max_node_provision_ns
        request = self._requests.get(group.name)
        increase = count + (0 if request is None else request.increase)
        self._requests[group.name] = ScaleUpRequest(
            increase=increase, time_ns=now_ns, deadline_ns=deadline_ns
        )
        since_ns = now_ns - self._start_ns
        is_out = any(each.start_ns <= since_ns < each.end_ns for each in group.outages)
        due_ns = None if is_out else now_ns + group.provisioning_ns
        self._arrivals += [Arrival(group=group.name, due_ns=due_ns) for _ in range(count)]
        to = f"{size + count} instead of {size} (max: {group.size_limit})"
        found: list[ControllerAction] = [
            status_event("Normal", "ScaledUpGroup", text)
            for text in (
                f"Scale-up: setting group {group.name} size to {to}",
                f"Scale-up: group {group.name} size set to {to}",
            )
        ]
        if due_ns is None:
            return found
        if due_ns <= now_ns:
            return [*found, *self._created(now_ns)]
        return [*found, SyncAt(due_ns, SyncDue(self.name, _ARRIVALS))]

    def _created(self, now_ns: int) -> list[ControllerAction]:
        """Create the nodes that have been provisioned."""
        taken = set(self._lister.all(_NODE))
        found: list[ControllerAction] = []
        waiting = []
        for each in self._arrivals:
            if each.due_ns is None or each.due_ns > now_ns:
                waiting.append(each)
                continue
            name = each.group
            while name == each.group or name in taken:
                number = self._numbers.get(each.group, 0)
                self._numbers[each.group] = number + 1
                name = f"{each.group}-{number}"
            node = self._templates[each.group].node(name)
            made = [node, *self._trial.companions.copied(node)]
            found += [CreateObject(obj, self.name) for obj in made]
        self._arrivals = waiting
        due_ns = min((each.due_ns for each in waiting if each.due_ns is not None), default=None)
        if due_ns is not None:
            found.append(SyncAt(due_ns, SyncDue(self.name, _ARRIVALS)))
        return found

    def _expired(self, now_ns: int) -> list[ControllerAction]:
        """End the requests whose nodes have registered, or have not in time.

        Upstream: clusterstate.go, updateScaleRequests; static_autoscaler.go,
        removeOldUnregisteredNodes
        """
        options = self._options
        for name, backoff in list(self._backoffs.items()):
            if backoff.failed_ns + options.backoff_reset_ns < now_ns:
                del self._backoffs[name]
        pending = {each.group for each in self._arrivals}
        pending |= {*map(self._group_of, self._starting(self._nodes(), now_ns))}
        found: list[ControllerAction] = []
        for name, request in list(self._requests.items()):
            if name not in pending:
                del self._requests[name]
            elif request.deadline_ns < now_ns:
                del self._requests[name]
                self._arrivals = [
                    each for each in self._arrivals if each.group != name or each.due_ns is not None
                ]
                after = format_duration(now_ns - request.time_ns)
                note = f"Nodes added to group {name} failed to register within {after}"
                found.append(status_event("Warning", "ScaleUpTimedOut", note))
                self._back_off(name, now_ns)
        return found

    def _back_off(self, name: str, now_ns: int) -> None:
        duration_ns = self._options.initial_backoff_ns
        known = self._backoffs.get(name)
        if known is not None:
            duration_ns = min(2 * known.duration_ns, self._options.max_backoff_ns)
        self._backoffs[name] = Backoff(
            duration_ns=duration_ns, until_ns=now_ns + duration_ns, failed_ns=now_ns
        )


def _created_ns(obj: KubernetesObject) -> int:
    return timestamp_ns(obj.metadata.creation_timestamp) or 0
