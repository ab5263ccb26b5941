"""The decisions of the scheduler as a Python object, and its state.

It keeps a cluster and the pods that are pending in it. `schedule` decides for one pod and
places it, `schedule_all` goes through the pending pods in the order of the queue, `explain`
decides with everything recorded and changes nothing.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn, Unpack

import msgspec

from podwright._html import facts, section
from podwright.apimachinery.objects import (
    FieldError,
    InputError,
    NamespacedName,
    Node,
    Object,
    Pod,
    PodwrightError,
    PriorityClass,
    admit,
    encode,
    require_objects,
    with_allocatable,
    with_fields,
    with_node_name,
    with_nominated_node_name,
    with_runtime_class,
    without_pod_level_resources,
)
from podwright.scheduler.advice import (
    PlacedPods,
    assumed_claims,
    release_claims,
    restore_claims,
)
from podwright.scheduler.assembly.build import prepare
from podwright.scheduler.assembly.machine import assemble
from podwright.scheduler.assembly.reserving import (
    Bookkeeping,
    Reservation,
    refused,
    reservation_for,
)
from podwright.scheduler.assembly.scheduler_handle import SchedulerHandle
from podwright.scheduler.assembly.without_effect import idle_arguments
from podwright.scheduler.columns import Cluster
from podwright.scheduler.config import (
    EffectiveConfiguration,
    ExtenderCall,
    ExtenderReply,
    KubeSchedulerConfiguration,
)
from podwright.scheduler.framework import (
    CalledExtender,
    CallExtender,
    Decision,
    Explanation,
    Placement,
    PostFilterResult,
    Profile,
    Runner,
    Status,
    confined,
    custom_results,
    run_steps,
)
from podwright.scheduler.machine import (
    GANG_SCHEDULING,
    DecisionKeywords,
    RunningProfile,
    SchedulerOptions,
    names_decision_keywords,
    sort_order,
    with_point,
)
from podwright.scheduler.preemption import Preemption

if TYPE_CHECKING:
    from podwright.scheduler.classic import ParallelizeUntil
    from podwright.scheduler.machine import Machine

_RUNTIME_CLASS = "RuntimeClass"
_AFTER_EVERYTHING_NS = 1 << 62
"""Preemption spares pods that have run for long. Pods that have not started count as started now;
there is no clock here, so now is later than every start."""


class UnknownPod(PodwrightError):  # noqa: N818 - named for what it is
    """The pod is not pending here."""


class SchedulerState:
    """What scheduling changes in a scheduler: pending, placed, nominated and reserved pods.

    Parameters
    ----------
    scheduler : DecidingScheduler
        Whose current state is kept.
    placed : PlacedPods
        Its placed and nominated pods now.

    Attributes
    ----------
    placed : PlacedPods
        The placed and the nominated pods.
    """

    def __init__(self, scheduler: DecidingScheduler, placed: PlacedPods) -> None:
        self._scheduler = scheduler
        self._pending = dict(scheduler.pending)
        self.placed = placed
        self._claims = assumed_claims(scheduler.cluster)
        self._bookkeeping = scheduler.bookkeeping()

    def since(self) -> list[str]:
        """Return the pods that were placed since, in order."""
        return self.placed.since()

    def release_reservations(self) -> None:
        """Undo the reservations that were made since."""
        self._scheduler.release_reservations(self._bookkeeping)

    def restore(self) -> None:
        """Return the scheduler to this state."""
        scheduler = self._scheduler
        self.release_reservations()
        self.placed.restore()
        scheduler.pending.clear()
        scheduler.pending.update(self._pending)
        scheduler.restore_bookkeeping(self._bookkeeping)
        # Reserving again may find other devices.
        restore_claims(scheduler.cluster, self._claims)
        scheduler.count_members()


class DecidingScheduler:
    """The decisions of a `Scheduler`, and the state to which trials return it."""

    @names_decision_keywords
    def __init__(
        self,
        configuration: KubeSchedulerConfiguration | SchedulerOptions | None = None,
        *,
        call_extender: CallExtender | None = None,
        parallelize_until: ParallelizeUntil | None = None,
        **keywords: Unpack[DecisionKeywords],
    ) -> None:
        options = SchedulerOptions.of(configuration, **keywords)
        ready, registry = prepare(options)
        wrong = idle_arguments(options, has_workers=parallelize_until is not None)
        if wrong:
            raise InputError(wrong)
        parts = assemble(ready, registry, options, parallelize_until=parallelize_until)
        self.configuration: EffectiveConfiguration = ready
        self.profiles: dict[str, Profile] = parts.profiles
        self._parts = parts
        self._read(parts.new_cluster())
        self._call_extender = call_extender
        self._extenders = parts.extenders
        self._order = sort_order(next(iter(self.profiles.values())))
        if self._extenders and call_extender is None:
            raise InputError([_missing_call_extender(self._extenders[0], options.source)])
        self.pending: dict[str, Pod] = {}
        self._bypassed: frozenset[int] = frozenset()
        self._custom_plugins = frozenset(plugin.name for plugin in options.plugins)
        self._priority_classes: dict[str, PriorityClass] = {}
        self._runtime_classes: dict[str, Object] = {}
        self._reservations: dict[str, Reservation] = {}
        self._has_placements = "TopologyAwareWorkloadScheduling" in self.configuration.gates
        self.cycle_number = 0
        self._handle = SchedulerHandle(self.profiles.values())

    def _read(self, cluster: Cluster) -> None:
        self.cluster: Cluster = cluster
        self._placement: Placement | None = None  # of the last gang
        self._placed: PlacedPods | None = None
        self._runners: dict[str, Runner] = self._parts.runners(cluster)
        self._running = {name: RunningProfile(runner) for name, runner in self._runners.items()}

    def __reduce__(self) -> NoReturn:
        """Refuse: plugins, their caches and reservations are live objects.

        Raises
        ------
        TypeError
        """
        raise TypeError(
            "a Scheduler cannot be pickled: its plugins and caches are live objects. Pickle a"
            " podwright.Scenario of the same objects and options, and call its scheduler()"
        )

    def __repr__(self) -> str:
        nodes = len(self.cluster.live_slots())
        return f"<Scheduler: {nodes} nodes, {len(self.pending)} pending pods>"

    def _repr_html_(self) -> str:
        counts = {"Nodes": len(self.cluster.live_slots()), "Pending pods": len(self.pending)}
        return section("Scheduler", facts(counts))

    # ---------------------------------------------------------------- objects

    def add(self, *objects: Object) -> None:
        """Add `objects`, or take over their new versions.

        Like kube-scheduler, it takes objects as they are; `podwright.load` validates files, and
        `World.add` validates objects. Pods are completed as the API server's admission does:
        requests from limits, priority from the priority class, the default scheduler's name, the
        overhead and the scheduling constraints of the runtime class. What is allocatable of a
        node is its capacity if it is not given.
        """
        require_objects(objects)
        # Pods come last, since admission looks at the priority classes.
        for obj in sorted(objects, key=lambda obj: isinstance(obj, Pod)):
            if isinstance(obj, Pod):
                self._add_pod(self._admit(obj))
            else:
                self._keep(obj)
                self.cluster.put(with_allocatable(obj) if isinstance(obj, Node) else obj)

    def take_over(self, machine: Machine) -> None:
        """Continue in the cluster of a machine: with its objects, next draw and search positions.

        Nothing is copied, so the machine must not handle events afterwards.

        Parameters
        ----------
        machine : Machine
            Of the same options; this scheduler has no objects yet.
        """
        self._read(machine.cluster)
        for obj in machine.objects_but_pods():
            self._keep(obj)
        # Pods with a node are many, and only plugins with groups read all of them.
        assumed, pods, placed = machine.assumed(), machine.pods(), self.cluster.pods
        for key in pods if self._handle.has_groups else [key for key in pods if key not in placed]:
            node = assumed.get(key)
            pod = with_node_name(pods[key], node) if node else pods[key]
            self._handle.put_pod(pod)
            if not pod.spec.node_name:
                self.pending[key] = pod
        self._restore_positions(machine.search_positions())
        self.cycle_number = machine.queue.scheduling_cycle

    def _keep(self, obj: Object) -> None:
        """Keep an object that is not a pod for admission and for plugins."""
        if isinstance(obj, PriorityClass):
            self._priority_classes[obj.metadata.name] = obj
        elif obj.kind == _RUNTIME_CLASS:
            self._runtime_classes[obj.metadata.name] = obj
        self._handle.put(obj)

    def remove(self, *objects: Object) -> None:
        """Take `objects` out, which are found by kind and name; unknown ones are ignored."""
        for obj in objects:
            if isinstance(obj, PriorityClass):
                self._priority_classes.pop(obj.metadata.name, None)
            elif obj.kind == _RUNTIME_CLASS:
                self._runtime_classes.pop(obj.metadata.name, None)
            if isinstance(obj, Pod):
                self.pending.pop(obj.key, None)
                # Its volumes stay its claims', as they do once they are bound.
                self._reservations.pop(obj.key, None)
                self._handle.remove_pod(obj.key, self._placed_pod(obj.key))
            else:
                self._handle.remove(obj)
            self.cluster.delete(obj)

    def _admit(self, pod: Pod) -> Pod:
        admitted = admit(pod, self._priority_classes.values())
        if not pod.metadata.uid:
            name = pod.spec.runtime_class_name
            if name in self._runtime_classes:
                runtime_class = encode(self._runtime_classes[name])
                admitted = with_runtime_class(admitted, runtime_class)
            # Manifests have none; plugins and groups tell pods apart by it.
            admitted = with_fields(admitted, "metadata", uid=pod.key)
        if "PodLevelResources" in self.configuration.gates:
            return admitted
        return without_pod_level_resources(admitted)

    def _add_pod(self, pod: Pod) -> None:
        placed = self._placed_pod(pod.key)
        self.cluster.put(pod)
        if pod.status.phase in ("Succeeded", "Failed"):
            self.pending.pop(pod.key, None)
            self._handle.remove_pod(pod.key, placed)
            return
        self._handle.put_pod(pod)
        if pod.spec.node_name:
            self.pending.pop(pod.key, None)
        else:
            self.pending[pod.key] = pod

    def _placed_pod(self, key: str) -> Pod | None:
        """Return a pod that has a node, with the node's name in its spec."""
        placed = self.cluster.pods.get(key)
        if placed is None:
            return None
        return with_node_name(placed.pod, self.cluster.nodes.names[placed.slot])

    @property
    def scheduler_names(self) -> tuple[str, ...]:
        """The schedulerName of each profile, in the order of the configuration."""
        return tuple(self._runners)

    def in_queue_order(self) -> list[Pod]:
        """Return the pending pods as the queue would hand them out.

        Priority first, then age (creation time, then the order in which they were added).
        A QueueSort plugin of the configuration decides instead, if there is one.
        """
        sort = next(iter(self.profiles.values())).queue_sort
        if not sort:
            return list(self.pending.values())
        plugin, order = sort[0], self._order
        # The API writes timestamps in UTC with whole seconds, so their texts sort by time.
        pods = sorted(self.pending.values(), key=lambda pod: pod.metadata.creation_timestamp or "")
        key_of = plugin.queue_sort_key if order is None else order.key_of
        ordered = [(key_of(pod, age), pod) for age, pod in enumerate(pods)]
        ordered.sort(key=lambda entry: entry[0])
        return [pod for _, pod in ordered]

    # ---------------------------------------------------------------- deciding

    def schedule(self, pod: Pod | str, *, post_filter: bool = True) -> Decision:
        """Decide for one pod and, if a node is found, place it there.

        What the Reserve plugins set aside stays set aside: the next pod does not get the same
        volume. If one of them refuses, the pod does not fit, with that reason.

        A pod that fits nowhere stays pending. If evicting others would make room for it, it is
        nominated to that node, as kube-scheduler does; no pod is evicted here, see
        `Decision.post_filter` for the victims.

        Parameters
        ----------
        pod : Pod or str
            A pod, which is added if it is new, or "namespace/name" of a pending one.
        post_filter : bool
            Whether it is found out where evicting others would make room.

        Raises
        ------
        UnknownPod
            If a name is given and no such pod is pending.
        """
        pod = self._find(pod)
        self._handle.put_pod(self.pending.setdefault(pod.key, pod))
        runner, refusal = self._runner_for(pod)
        if runner is None:
            return refusal
        self.cycle_number += 1
        decision = self._decide(runner, pod)
        if decision.slot >= 0:
            return self._place(runner, decision)
        if decision.node:
            # An extender chose a node that does not exist: the pod waits for it to appear.
            self.pending.pop(pod.key, None)
            bound = with_node_name(pod, decision.node)
            self.cluster.put(bound)
            self._handle.put_pod(bound)
            return decision
        if not post_filter:
            return decision
        decision = self._post_filter(runner, decision)
        if decision.post_filter is not None and decision.post_filter.nominated_node is not None:
            self._nominate(pod, decision.post_filter)
        return decision

    def _place(self, runner: Runner, decision: Decision) -> Decision:
        """Count the pod on its node, and let Reserve set aside what it needs there."""
        pod = decision.pod
        reservation = reservation_for(runner, decision)
        # The pod goes in as it is: pods of one template keep sharing their spec.
        self.cluster.place(pod, decision.slot)
        if reservation is not None:
            status = reservation.reserve()
            if not status.is_success:
                self.cluster.remove(pod.key)
                self._set_nomination(pod, "")
                return refused(decision, status)
            self._reservations[pod.key] = reservation
        self.pending.pop(pod.key, None)
        self._handle.mark(pod, is_placed=True)
        self.cluster.clear_nomination(pod)
        return decision

    def _decide(self, runner: Runner, pod: Pod) -> Decision:
        if not self._extenders:
            return runner.decide(pod, cycle_number=self.cycle_number)
        return run_steps(runner.steps(pod, cycle_number=self.cycle_number), self._call)

    def _post_filter(self, runner: Runner, decision: Decision) -> Decision:
        steps = runner.post_filter_steps(
            decision, cycle_number=self.cycle_number, now_ns=_AFTER_EVERYTHING_NS
        )
        return run_steps(steps, self._call)

    def _nominate(self, pod: Pod, result: PostFilterResult) -> None:
        """Note where preemption would make room; pods that were to go there lose their place."""
        if isinstance(result.details, Preemption):
            for other in result.details.cleared_nominations:
                self._set_nomination(other, "")
        assert result.nominated_node is not None, "no nomination"
        self._set_nomination(pod, result.nominated_node)

    def _set_nomination(self, pod: Pod, node: str) -> None:
        self.cluster.clear_nomination(pod)
        changed = with_nominated_node_name(self.pending[pod.key], node)
        self.pending[pod.key] = changed
        if node:
            self.cluster.nominate(changed, node)

    def schedule_all(self) -> Iterator[Decision]:
        """Decide for every pending pod, in the order of the queue, placing those that fit."""
        return self.schedule_each(pod.key for pod in self.in_queue_order())

    def schedule_each(
        self, keys: Iterable[NamespacedName], *, alone: Container[NamespacedName] = ()
    ) -> Iterator[Decision]:
        """Decide for the pods `keys` in this order, where they are pending.

        A gang is decided, and its decisions are yielded, when its first member is; members in
        `alone` are decided without it.
        """
        decided: set[NamespacedName] = set()
        for key in keys:
            # By name: a decision in between may have changed a nomination.
            if key in self.pending and key not in decided:
                together = [self._alone(key)] if key in alone else self.schedule_together(key)
                for decision in together:
                    decided.add(decision.pod.key)
                    yield decision

    def _alone(self, key: NamespacedName) -> Decision:
        """Decide for a member of a gang, where the whole gang would be placed."""
        runner = self._runners.get(self.pending[key].spec.scheduler_name)
        with confined(runner, self._placement_of(self.pending[key])):
            return self.schedule(key)

    def schedule_before(self, key: str) -> Iterator[Decision]:
        """Decide for the pending pods that the queue would hand out before one of them.

        Parameters
        ----------
        key : str
            "namespace/name" of a pending pod; that pod itself is left pending.

        Raises
        ------
        UnknownPod
            If no such pod is pending.
        """
        gang = {member.key for member in self._gang_of(self._find(key).key)}
        ahead = [pod.key for pod in self.in_queue_order()]
        # Whether its own gang has room is known after the pod itself.
        yield from self.schedule_each(ahead[: ahead.index(key)], alone=gang)

    def gang_of(self, pod: Pod) -> tuple[Object, int] | None:
        """Return the group without whose other members a pod gets no node, and their least number.

        Parameters
        ----------
        pod : Pod

        Returns
        -------
        (Object, int) or None
            None for a pod without a group, and if enough pods of its group have nodes already.
        """
        return self._handle.gang_of(pod)

    def schedule_together(self, key: NamespacedName, *, post_filter: bool = True) -> list[Decision]:
        """Decide for the pending pod `key`, and for the others of its gang, if it is in one.

        The gang is that of a PodGroup, with the feature gate GangScheduling. If fewer of its
        members fit than it needs, none is placed. With TopologyAwareWorkloadScheduling all are
        placed in one of its placements.

        Parameters
        ----------
        key : str
        post_filter : bool
            As for `schedule`.

        Notes
        -----
        Upstream: pkg/scheduler/schedule_one_podgroup.go, podGroupSchedulingAlgorithm
        """
        group = self._handle.group_of(GANG_SCHEDULING, self.pending[key])
        if group is None:
            return [self.schedule(key, post_filter=post_filter)]
        from podwright.scheduler.assembly.gangs import decide_gang

        gang, order = self._gang_of(key), list(self.pending)
        runner = self._runners.get(gang[0].spec.scheduler_name)
        on = str(group) if self._has_placements else ""
        decisions, self._placement = decide_gang(self, runner, gang, on, post_filter=post_filter)
        # Their order is their age.
        pending = {key: self.pending[key] for key in order if key in self.pending}
        self.pending.clear()
        self.pending.update(pending)
        return decisions

    def _gang_of(self, key: NamespacedName) -> list[Pod]:
        """Return the pending pods that are decided together with one, which is the first of equals.

        Upstream: pkg/scheduler/schedule_one_podgroup.go, podGroupInfoForPod
        """
        pod = self.pending[key]
        others = [
            self.pending[sibling.key]
            for sibling in self._handle.unplaced_siblings(GANG_SCHEDULING, pod)
            if sibling.key != key and sibling.key in self.pending
        ]
        return sorted([pod, *others], key=lambda member: -member.priority)

    def _with_gang(self, explanation: Explanation) -> Explanation:
        """Let a pod that fits be rejected if its gang does not; nothing is changed."""
        decision, pod = explanation.decision, explanation.pod
        if decision.slot < 0 or self._handle.group_of(GANG_SCHEDULING, pod) is None:
            return explanation
        if pod.key not in self.pending:
            return explanation
        state = self.state()
        decided = self.schedule_together(pod.key)
        state.restore()
        mine = next(each for each in decided if each.pod.key == pod.key)
        if mine.diagnosis is None:
            return explanation
        status = mine.diagnosis.rejections[0].status
        return msgspec.structs.replace(explanation, decision=refused(decision, status))

    def explain(self, pod: Pod | str, *, post_filter: bool = True) -> Explanation:
        """Decide for one pod with everything recorded; nothing is changed.

        If no profile has the pod's schedulerName, or PreEnqueue gates it, the explanation has
        only the decision with that reason.

        Parameters
        ----------
        pod : Pod or str
            The `namespace/name` of a pending pod; or a pod, which need not be in the cluster.
        post_filter : bool
            False leaves out preemption and what other PostFilter plugins would do.

        Raises
        ------
        UnknownPod
            If a name is given and no such pod is pending.
        """
        pod = self._find(pod)
        runner, refusal = self._runner_for(pod)
        if runner is None:
            nodes = self.cluster.nodes
            return Explanation(
                pod=pod,
                decision=refusal,
                node_names=tuple(nodes.names[slot] for slot in self.cluster.live_slots()),
                pre_filter=Status.OK,
                skipped_filters=frozenset(),
            )
        with confined(runner, self._placement_of(pod)):
            explanation = runner.explain(
                pod,
                cycle_number=self.cycle_number + 1,
                now_ns=_AFTER_EVERYTHING_NS,
                call_extender=self._call,
                post_filter=post_filter,
            )
        return self._with_gang(self._with_reserve(runner, explanation))

    def _placement_of(self, pod: Pod) -> Placement | None:
        """Return the placement on which the group of a pending pod is decided; None: all nodes."""
        if not self._has_placements or pod.key not in self.pending:
            return None
        if self._handle.group_of(GANG_SCHEDULING, pod) is None:
            return None
        state = self.state()
        self._placement = None
        self.schedule_together(pod.key, post_filter=False)
        state.restore()
        return self._placement

    def _with_reserve(self, runner: Runner, explanation: Explanation) -> Explanation:
        """Run Reserve for the chosen node, and undo it."""
        decision = explanation.decision
        reservation = reservation_for(runner, decision) if decision.slot >= 0 else None
        if reservation is None:
            return explanation
        self.cluster.place(decision.pod, decision.slot)
        status = reservation.reserve()
        if status.is_success:
            reservation.take_back()
        self.cluster.remove(decision.pod.key)
        if status.is_success:
            results = explanation.custom_results | dict(custom_results(reservation.cycle))
            return msgspec.structs.replace(explanation, custom_results=results)
        return msgspec.structs.replace(explanation, decision=refused(decision, status))

    def explain_again(self, key: str) -> Explanation:
        """Explain the placed pod `key` again, re-evaluated as if not yet placed.

        Raises
        ------
        UnknownPod
            If no such pod is placed.
        """
        with self.freed(key) as pod:
            return self.explain(pod)

    def visiting(self) -> dict[str, object]:
        """Return where each profile's search for nodes begins next; for `visiting_from`."""
        return {name: runner.search_position() for name, runner in self._runners.items()}

    @contextmanager
    def visiting_from(self, positions: Mapping[str, object]) -> Iterator[None]:
        """Let searches begin for a while where they did, to explain a decision that was made.

        Parameters
        ----------
        positions : mapping of str to object
            What `visiting` gave before that decision; no node may have come or gone since.
        """
        after = self.visiting()
        self._restore_positions(positions)
        try:
            yield
        finally:
            self._restore_positions(after)

    def _restore_positions(self, positions: Mapping[str, object]) -> None:
        for name, position in positions.items():
            self._runners[name].restore_search_position(position)

    @contextmanager
    def freed(self, key: str) -> Iterator[Pod]:
        """Take the placed pod `key` off its node and its devices for a while; gives it as pending.

        Raises
        ------
        UnknownPod
            If no such pod is placed.
        """
        placed = self.cluster.pods.get(key)
        if placed is None:
            raise UnknownPod(f"pod {key} is not placed on any node")
        node = self.cluster.nodes.names[placed.slot]
        claims = assumed_claims(self.cluster)
        reservation = self._reservations.get(key)
        if reservation is not None:
            reservation.take_back()
        self.cluster.remove(key)
        release_claims(self.cluster, [placed.pod])
        self._handle.mark(placed.pod, is_placed=False)
        try:
            yield with_node_name(placed.pod, "")
        finally:
            self.cluster.place(placed.pod, self.cluster.nodes.slot_of[node])
            self._handle.mark(placed.pod, is_placed=True)
            if reservation is not None:
                reservation.reserve()
            restore_claims(self.cluster, claims)

    # ---------------------------------------------------------------- advice

    def state(self) -> SchedulerState:
        """Return which pods are pending, placed and nominated now; for `rewound`."""
        # A copy of all pods takes long, and trials revert what they change.
        if self._placed is None or not self._placed.is_current():
            self._placed = PlacedPods(self.cluster)
        return SchedulerState(self, self._placed)

    @contextmanager
    def rewound(self, state: SchedulerState) -> Iterator[None]:
        """Go back to an earlier `state`, one that `state` returned, temporarily.

        Only what scheduling changes is reverted: no object may have been added or removed since.
        """
        after = self.state()
        state.restore()
        try:
            yield
        finally:
            after.restore()

    def bookkeeping(self) -> Bookkeeping:
        """Return the parts of the state that are neither pods nor objects."""
        return Bookkeeping(dict(self._reservations), self.visiting(), self.cycle_number)

    def release_reservations(self, kept: Bookkeeping) -> None:
        """Undo the reservations that were made after `kept`, the last one first."""
        for key, reservation in reversed(list(self._reservations.items())):
            if kept.reservations.get(key) is not reservation:
                reservation.take_back()
                del self._reservations[key]

    def restore_bookkeeping(self, kept: Bookkeeping) -> None:
        """Restore `kept`, a result of `bookkeeping`, after `release_reservations` and the pods."""
        for key, reservation in kept.reservations.items():
            if self._reservations.get(key) is not reservation:
                reservation.reserve()
        self._reservations = dict(kept.reservations)
        self._restore_positions(kept.positions)
        self.cycle_number = kept.cycle_number

    @contextmanager
    def bypassing(self, extenders: frozenset[int]) -> Iterator[None]:
        """Let the filters of `extenders`, their indexes in the configuration, accept every node.

        That ends with the context.
        """
        before = self._bypassed
        self._bypassed = extenders
        try:
            yield
        finally:
            self._bypassed = before

    def _call(self, call: ExtenderCall) -> ExtenderReply:
        if call.extender in self._bypassed and call.verb == "filter":
            return accepting_reply(call)
        assert self._call_extender is not None, "there are no extenders"
        return self._call_extender(call)

    def withdraw(self, pod: NamespacedName) -> None:
        """Take `pod` (`namespace/name`) off its node, or out of the pending ones; for trials.

        The devices that only it uses become free.
        """
        pending = self.pending.pop(pod, None)
        if pending is not None:
            self.cluster.clear_nomination(pending)
        reservation = self._reservations.pop(pod, None)
        if reservation is not None:
            reservation.take_back()
        placed = self.cluster.pods.get(pod)
        if placed is not None:
            self._handle.mark(placed.pod, is_placed=False)
            self.cluster.remove(pod)
            release_claims(self.cluster, [placed.pod])

    def count_members(self) -> None:
        """Count anew which members of groups are placed, after pods were moved."""
        self._handle.mark_all(self.cluster.pods)

    def _find(self, pod: Pod | str) -> Pod:
        if isinstance(pod, Pod):
            if self.pending.get(pod.key) is pod:
                return pod
            return self._admit(pod)
        found = self.pending.get(pod)
        if found is None:
            raise UnknownPod(f"pod {pod} is not pending")
        return found

    def _runner_for(self, pod: Pod) -> tuple[Runner | None, Decision]:
        """Return the runner for `pod`, or None and the decision with the reason."""
        runner = self._runners.get(pod.spec.scheduler_name)
        if runner is None:
            name = pod.spec.scheduler_name
            return None, Decision(pod=pod, ignored=f'no profile has schedulerName "{name}"')
        if pod.metadata.deletion_timestamp is not None:
            return None, Decision(pod=pod, ignored=f"skip schedule deleting pod: {pod.key}")
        gated = self._running[runner.profile.scheduler_name].run_pre_enqueue(pod, 0)
        if gated is None:
            return runner, _NOTHING
        point, plugin, status = gated
        status = status.by(plugin)
        if status.is_rejection:
            return None, Decision(pod=pod, gated_by=status)
        return None, Decision(pod=pod, error=with_point(status, point))


def accepting_reply(call: ExtenderCall) -> ExtenderReply:
    """Return the reply of a filter that accepts all nodes of a call."""
    body = msgspec.json.decode(call.body)
    kept = {name: body.get(name) for name in ("Nodes", "NodeNames")}
    return ExtenderReply(status=200, body=msgspec.json.encode(kept))


_NOTHING = Decision(pod=msgspec.convert({"metadata": {"name": ""}}, Pod))


def _missing_call_extender(extender: CalledExtender, source: str) -> FieldError:
    return FieldError(
        source=source,
        path=f"extenders[{extender.index}].urlPrefix",
        value=extender.settings.url_prefix,
        message="the configuration has extenders and call_extender is missing: pass "
        "call_extender=podwright.online.client.ExtenderClient(configuration).call, or leave "
        "extenders out",
    )
