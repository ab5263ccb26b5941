"""Plans of drains: in which order nodes can be drained, what moves where, and what blocks.

Theory of operation
-------------------
The plan is what happens in a world: it starts with the cluster, cordons the nodes and drains them
in steps. A step has the nodes whose evictions the budgets allow at that time, all together; if
there is no such node, the one that has to wait least. A step ends when all evicted pods are gone
and those that replace them are running. A step that is still blocked after a while is discarded,
and the world continues from a copy that was made before it: its node cannot be drained, and the
plan says by which budget.

A surge upgrade of nodes adds new nodes before each step, and deletes the drained ones after it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias, Unpack

import msgspec

from podwright.apimachinery.devices import CARDS, copied_slices
from podwright.apimachinery.documents import did_you_mean, problem
from podwright.apimachinery.objects import (
    SECOND_NS,
    FieldError,
    InputError,
    NamespacedName,
    Object,
    Pod,
    PodDisruptionBudget,
    encode,
    is_ready,
    label_selector,
    parse_label_selector,
    pending_requests,
    require_type,
    workload_of,
)
from podwright.cluster.controllers import (
    DEVICE_CARDS,
    Controller,
    Lister,
    lacks_pods,
    scaled_value,
)
from podwright.scheduler.assembly import Scheduler
from podwright.scheduler.config import KubeSchedulerConfiguration
from podwright.scheduler.framework import CallExtender
from podwright.scheduler.machine import DecisionKeywords, SchedulerOptions, names_decision_keywords
from podwright.simulation.autoscaling import SAFE_TO_EVICT
from podwright.simulation.capacity.filling import Advance, unwatched
from podwright.simulation.capacity.node_types import type_of
from podwright.simulation.capacity.stand_ins import with_stand_ins
from podwright.simulation.recording import is_movable_pod
from podwright.simulation.world import (
    START_NS,
    Apply,
    Cordon,
    Delete,
    Drain,
    Observer,
    Put,
    Report,
    World,
    WorldCopy,
    with_job_duration,
)

_SETTLE_NS: Final = 10_000_000_000
_PATIENCE: Final = 60
"""So many intervals of settling without a change mean that a drain is blocked."""
_LONGEST: Final = 720
_REMEDIES_SHOWN: Final = 2
_PROTECTING: Final = ((SAFE_TO_EVICT, "false"), ("karpenter.sh/do-not-disrupt", "true"))
"""Annotations of pods whose nodes cluster-autoscaler and Karpenter do not remove.

Upstream: karpenter's pkg/utils/pod/scheduling.go, HasDoNotDisrupt
"""
_JOB_DURATION_NS: Final = 10 * 365 * 24 * 3600 * SECOND_NS

_Covering: TypeAlias = dict[str, list[tuple[NamespacedName, Callable[[Mapping[str, str]], bool]]]]
"""By namespace, the budgets, and which labels their selectors match."""


class Move(msgspec.Struct, frozen=True, kw_only=True):
    """A pod that leaves a node, and the one that replaces it.

    Attributes
    ----------
    pod, node : str
        What leaves, and from where.
    replacement, to : str
        The new pod and its node; "" if there is none yet.
    requests : dict of str to int
        Milli-CPU, and the other resources in their units.
    """

    pod: NamespacedName
    node: str
    replacement: NamespacedName = ""
    to: str = ""
    requests: Mapping[str, int] = {}


class Unfit(msgspec.Struct, frozen=True, kw_only=True):
    """A pod that finds no node.

    Attributes
    ----------
    pod : str
        Its `namespace/name`.
    message : str
        The scheduler's.
    remedies : tuple of str
        Changes after which it fits, each tried.
    """

    pod: NamespacedName
    message: str
    remedies: tuple[str, ...] = ()


class DrainStep(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Nodes that are drained at the same time.

    Attributes
    ----------
    nodes : tuple of str
    added : tuple of str
        The nodes that are added before, by a surge upgrade; the drained ones are deleted after it.
    waits_for : tuple of str
        The budgets that allow the evictions only one after the other; none if no eviction is
        rejected.
    seconds : float
        From the first eviction until all replacements run.
    moves : tuple of Move
    gone : tuple of str
        Pods that no controller recreates.
    local_data : tuple of str
        Pods that lose the data of an emptyDir.
    protected : tuple of str
        Pods that ask autoscalers not to evict them. A drain evicts them.
    unfit : tuple of Unfit
        Pods that have no node after the step and had one before, and pods that are not created
        again.
    """

    nodes: tuple[str, ...]
    added: tuple[str, ...] = ()
    waits_for: tuple[str, ...] = ()
    seconds: float = 0
    moves: tuple[Move, ...] = ()
    gone: tuple[NamespacedName, ...] = ()
    local_data: tuple[NamespacedName, ...] = ()
    protected: tuple[NamespacedName, ...] = ()
    unfit: tuple[Unfit, ...] = msgspec.field(default=(), name="pending")


class BlockedNode(msgspec.Struct, frozen=True, kw_only=True):
    """A node that cannot be drained.

    Attributes
    ----------
    node : str
        Its name.
    budgets : tuple of str
        The budgets that reject an eviction, as `namespace/name`.
    pods : tuple of str
        The pods that cannot be evicted.
    message : str
        The first rejection.
    remedy : str
        What would allow the eviction.
    unfit : tuple of Unfit
        Pods that have no node because of the drain, and so are not healthy.
    """

    node: str
    budgets: tuple[str, ...]
    pods: tuple[NamespacedName, ...]
    message: str
    remedy: str
    unfit: tuple[Unfit, ...] = msgspec.field(default=(), name="pending")


class DrainPlan(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """In which order nodes can be drained.

    Attributes
    ----------
    steps : tuple of DrainStep
        In their order.
    blocked : tuple of BlockedNode
        The nodes that cannot be drained after these steps.
    is_complete : bool
        Whether all nodes are drained and all pods find a node.
    idle_budgets : tuple of str
        The budgets that select no pod of the cluster and so protect nothing.
    """

    steps: tuple[DrainStep, ...]
    blocked: tuple[BlockedNode, ...]
    is_complete: bool
    idle_budgets: tuple[NamespacedName, ...] = ()

    def __repr__(self) -> str:
        return f"<DrainPlan: {len(self.steps)} steps, {len(self.blocked)} nodes blocked>"


@names_decision_keywords
def drain_plan(
    objects: Iterable[Object],
    nodes: Sequence[str] = (),
    configuration: KubeSchedulerConfiguration | SchedulerOptions | None = None,
    *,
    selector: str = "",
    surge: int = 0,
    most_nodes: int = 0,
    call_extender: CallExtender | None = None,
    advance: Callable[[int, int], None] = unwatched,
    **keywords: Unpack[DecisionKeywords],
) -> DrainPlan:
    """Plan the drains of nodes.

    Parameters
    ----------
    objects : iterable of object
        The cluster.
    nodes : str or sequence of str
        The nodes to drain, besides those of `selector`.
    configuration : KubeSchedulerConfiguration or SchedulerOptions, optional
        The default profile if left out.
    selector : str
        A label selector of nodes, as kubectl writes it.
    surge : int
        Upgrade the nodes: so many new nodes are added before each step. 0: drain only.
    most_nodes : int
        The most nodes of a step; 0 for no limit.
    call_extender, plugins, gates, seed, tie_rule, draws_preemption_offset
        As for `World`.
    advance : callable
        Receives how many nodes are planned, and how many there are.

    Raises
    ------
    InputError
        If there is no such node, a number is negative, or a budget that was not read from an API
        server selects no pod.
    """
    options = SchedulerOptions.of(configuration, **keywords)
    if not options.start_ns:
        options = msgspec.structs.replace(options, start_ns=START_NS)
    given = (nodes,) if isinstance(nodes, str) else nodes
    for index, name in enumerate(given):
        require_type(name, str, f"nodes[{index}]", "the name of a node")
    objects = tuple(objects)
    world = planned_world(objects, options, call_extender)
    numbers = {"surge": surge, "mostNodes": most_nodes}
    idle = tuple(_idle_budgets(world))
    # Real clusters have budgets that select no pod; in a file that somebody wrote, it is a mistake.
    recorded = {
        obj.key
        for obj in objects
        if isinstance(obj, PodDisruptionBudget) and obj.metadata.is_from_server
    }
    names = _checked(world, given, selector, numbers, [key for key in idle if key not in recorded])
    planner = _Planner(world, options, surge=surge, most_nodes=surge or most_nodes)
    return msgspec.structs.replace(planner.plan(names, advance), idle_budgets=idle)


def planned_world(
    objects: Iterable[Object],
    options: SchedulerOptions,
    call_extender: CallExtender | None = None,
    *,
    controllers: Iterable[Callable[[Lister], Controller]] | None = None,
    observers: Iterable[Observer] = (),
    advance: Advance = unwatched,
) -> World:
    """Return a world with a cluster that has settled.

    Parameters
    ----------
    objects, options, call_extender
        As for `drain_plan`; `options` are those of the scheduler.
    controllers, observers
        As for `World`.
    advance
        As for `settle_world`.
    """
    # Nothing says when a running Job ends, and its pods have to move meanwhile.
    given = [
        obj if obj.kind == "CronJob" else with_job_duration(obj, _JOB_DURATION_NS)
        for obj in with_stand_ins(objects)
    ]
    if any(obj.metadata.uid for obj in given):
        # Uids are functions of the seed: new pods must not get those of the cluster's pods.
        options = msgspec.structs.replace(options, seed=options.seed ^ 1)
    world = World(
        options, call_extender=call_extender, controllers=controllers, observers=observers
    )
    for obj in given:
        world.do(Put(obj) if obj.uid else Apply(obj))
    settle_world(world, advance)
    return world


def settle_world(world: World, advance: Advance = unwatched) -> bool:
    """Let `world` run until its drains are done and its pods run, or nothing changes any more.

    Parameters
    ----------
    world : World
    advance : callable
        Receives the number of the round, and 0, since the number of rounds is not known.

    Returns
    -------
    bool
        Whether the drains are done.
    """
    before: object = None
    unchanged = 0
    for number in range(_LONGEST):
        advance(number, 0)
        world.run_until_ns(world.now_ns + _SETTLE_NS, progress=False)
        pods = [pod for pod in world.pods if not pod.is_terminal]
        state = [(pod.uid, pod.spec.node_name, is_ready(pod)) for pod in pods]
        if (
            not world.draining_nodes
            and all(pod_is_ready for _, _, pod_is_ready in state)
            and not any(pod.is_terminating for pod in pods)
            and not any(map(lacks_pods, world.store.list(("batch", "Job")).objects))
        ):
            return True
        unchanged = unchanged + 1 if state == before else 0
        before = state
        if unchanged >= (_PATIENCE if world.draining_nodes else 6):
            break
    return not world.draining_nodes


def _checked(
    world: World,
    nodes: Sequence[str],
    selector: str,
    numbers: Mapping[str, int],
    wrong_budgets: Iterable[NamespacedName],
) -> list[str]:
    """Return the nodes to drain, if the question is valid."""
    known = {node.name: node for node in world.nodes}
    errors = [
        problem(path, f"{number} is negative") for path, number in numbers.items() if number < 0
    ]
    errors += [
        problem(f"nodes[{index}]", f'no node "{name}"{did_you_mean(name, known)}')
        for index, name in enumerate(nodes)
        if name not in known
    ]
    selected: list[str] = []
    if selector:
        try:
            matches = parse_label_selector(selector).matches
            selected = [name for name, node in known.items() if matches(node.metadata.labels)]
            if not selected:
                errors.append(problem("selector", f'"{selector}" selects no node'))
        except ValueError as error:
            errors.append(problem("selector", str(error)))
    elif not nodes:
        errors.append(problem("nodes", "name at least one node"))
    errors += [
        FieldError(
            source=f"PodDisruptionBudget {key}",
            path="spec.selector",
            message="selects no pod of the cluster",
        )
        for key in wrong_budgets
    ]
    if errors:
        raise InputError(errors)
    return list(dict.fromkeys([*nodes, *selected]))


def _idle_budgets(world: World) -> Iterator[NamespacedName]:
    """Yield the budgets that select no pod: they protect nothing."""
    pods = world.pods
    for budget in budgets_of(world):
        matches = label_selector(budget.spec.selector).matches
        if not any(
            pod.namespace == budget.namespace and matches(pod.metadata.labels) for pod in pods
        ):
            yield budget.key


def budgets_of(world: World) -> list[PodDisruptionBudget]:
    """Return the budgets of a world."""
    found = world.store.list(PodDisruptionBudget).objects
    return [obj for obj in found if isinstance(obj, PodDisruptionBudget)]


class _Planner:
    """Drains nodes in a world, step by step.

    Parameters
    ----------
    world : World
    options : SchedulerOptions
        Those of its scheduler.
    surge, most_nodes : int
    """

    def __init__(
        self, world: World, options: SchedulerOptions, *, surge: int, most_nodes: int
    ) -> None:
        self._world = world
        self._options = options
        self._surge = surge
        self._most_nodes = most_nodes
        self._cordoned: frozenset[str] = frozenset()

    def plan(self, nodes: Sequence[str], advance: Advance) -> DrainPlan:
        """Plan the drains of some nodes."""
        if not self._surge:
            self._cordoned = frozenset(nodes)
            for name in nodes:
                self._world.do(Cordon(name))
        steps: list[DrainStep] = []
        blocked: list[BlockedNode] = []
        left = list(nodes)
        while left:
            chosen, waits_for = self._choose(left)
            step, why = self._step(chosen, waits_for)
            done = {each.node for each in why} if step is None else set(chosen)
            left = [name for name in left if name not in done]
            if step is not None:
                steps.append(step)
                # What was blocked may be possible now.
                left += [each.node for each in blocked if each.node not in left]
                blocked.clear()
            else:
                blocked += why
            advance(len(nodes) - len(left), len(nodes))
        is_complete = not blocked and not any(step.unfit for step in steps)
        return DrainPlan(steps=tuple(steps), blocked=tuple(blocked), is_complete=is_complete)

    def _choose(self, nodes: Sequence[str]) -> tuple[list[str], tuple[str, ...]]:
        """Return the nodes of the next step, and the budgets for which they have to wait."""
        budgets = budgets_of(self._world)
        room = {budget.key: budget.status.disruptions_allowed for budget in budgets}
        covering = _matches_by_namespace(budgets)
        evicted = evicted_pods(self._world)
        needs = {name: _needs(evicted.get(name, ()), covering) for name in nodes}
        chosen: list[str] = []
        for name in sorted(nodes, key=lambda each: needs[each].total()):
            if self._most_nodes and len(chosen) == self._most_nodes:
                break
            if all(room[key] >= count for key, count in needs[name].items()):
                chosen.append(name)
                for key, count in needs[name].items():
                    room[key] -= count
        if chosen:
            return chosen, ()
        least = min(
            nodes,
            key=lambda each: sum(max(0, count - room[key]) for key, count in needs[each].items()),
        )
        return [least], tuple(key for key, count in needs[least].items() if count > room[key])

    def _step(
        self, nodes: Sequence[str], waits_for: tuple[str, ...]
    ) -> tuple[DrainStep | None, list[BlockedNode]]:
        """Try a step; the world is the one after it if it succeeds."""
        world = self._world
        copy = WorldCopy(world)
        pods, evicted = world.pods, evicted_pods(world)
        before = {pod.uid for pod in pods}
        was_pending = {pod.key for pod in pods if not pod.spec.node_name}
        leaving = [pod for name in nodes for pod in evicted.get(name, ())]
        added = [self._new_node(world, name) for name in nodes] if self._surge else []
        if added:
            settle_world(world)
        start_ns, former = world.now_ns, world.report()
        for name in nodes:
            world.do(Drain(name))
        is_done = settle_world(world)
        unfit = [
            pod for pod in world.pods
            if not pod.spec.node_name and not pod.is_terminal and pod.key not in was_pending
        ]  # fmt: skip
        if not is_done:
            blocked = list(self._blocked(world, tuple(self._unfit(world, unfit))))
            self._world = copy.world()
            return None, blocked
        report = world.report()
        assert len(report.drains) == len(former.drains) + len(nodes), report.drains
        if report.evictions.rejected == former.evictions.rejected:
            waits_for = ()
        elif not waits_for:
            waits_for = tuple(budget.key for budget in budgets_of(world))
        after = [pod for pod in world.pods if pod.uid not in before]
        moves = list(moves_of(leaving, after))
        if self._surge:
            for name in nodes:
                world.do(Delete(("", "Node"), name))
        step = DrainStep(
            nodes=tuple(nodes),
            added=tuple(added),
            waits_for=waits_for,
            seconds=(world.now_ns - start_ns) / 1e9,
            moves=tuple(moves),
            gone=tuple(pod.key for pod in leaving if pod.metadata.controller is None),
            local_data=tuple(pod.key for pod in leaving if _has_local_data(pod)),
            protected=tuple(pod.key for pod in leaving if _is_protected(pod)),
            unfit=(
                *self._unfit(world, unfit),
                *_not_replaced(moves, leaving, unfit, _rejections(former, report)),
            ),
        )
        return step, []

    def _unfit(self, world: World, pods: Sequence[Pod]) -> Iterator[Unfit]:
        """Yield why pods do not fit, and changes after which they would without the nodes."""
        if not pods:
            return
        scheduler = Scheduler(self._options, call_extender=world.components.options.call_extender)
        scheduler.add(*world.machine.objects())
        messages = [scheduler.explain(pod.key).decision.message for pod in pods]
        # To use the nodes again would undo the drain.
        scheduler.remove(*(node for node in world.nodes if node.name in self._cordoned))
        tried: dict[tuple[object, str], tuple[Pod, tuple[str, ...]]] = {}
        for pod, message in zip(pods, messages, strict=True):
            alike, remedies = tried.get((workload_of(pod), message), (None, ()))
            # Pods of a stateful set differ in their claims.
            if alike is None or alike.spec != pod.spec:
                remedies = _remedies(scheduler, pod)
                tried[workload_of(pod), message] = pod, remedies
            yield Unfit(pod=pod.key, message=message, remedies=remedies)

    def _new_node(self, world: World, name: str) -> str:
        """Add a node like another one, and return its name."""
        node, new = next(node for node in world.nodes if node.name == name), f"{name}-new"
        world.do(Apply(type_of(node, name).node(new)))
        # Cards that are described here are published for the new node, too.
        cards = {each.name for each in world.store.list(DEVICE_CARDS).objects}
        slices = world.machine.cluster.devices.slice_objects()
        others = (each for each in slices if each.metadata.annotations.get(CARDS) not in cards)
        csi_node = world.machine.cluster.storage.csi_nodes.copy_for(name, new)
        for each in (*copied_slices(others, name, new), *filter(None, [csi_node])):
            world.do(Apply(each))
        return new

    def _blocked(self, world: World, unfit: tuple[Unfit, ...]) -> Iterator[BlockedNode]:
        budgets = {budget.key: budget for budget in budgets_of(world)}
        evicted = evicted_pods(world)
        for drain in world.report().drains:
            if drain.node not in world.draining_nodes:
                continue
            pods = tuple(each.pod for each in drain.blocked_pods)
            yield BlockedNode(
                node=drain.node,
                budgets=drain.blocked_by,
                pods=pods or tuple(pod.key for pod in evicted.get(drain.node, ())),
                message=drain.blocked_pods[0].message if pods else "evicted pods do not end",
                remedy="; ".join(_remedy(budgets[key]) for key in drain.blocked_by),
                unfit=unfit,
            )


def _remedy(budget: PodDisruptionBudget) -> str:
    """Return what would allow an eviction that a budget rejects."""
    status = budget.status
    missing = status.desired_healthy + 1 - status.current_healthy
    if status.expected_pods > status.desired_healthy:
        return (
            f"{missing} more healthy pod{'s' * (missing != 1)} of budget {budget.key}: it has"
            f" {status.current_healthy} of {status.expected_pods}"
        )
    least, count = budget.spec.min_available, status.expected_pods + 1
    is_helped = least is not None and scaled_value(least, count, round_up=True) < count
    return (
        f"budget {budget.key} never allows an eviction: it needs all of its {status.expected_pods}"
        f" pods; allow one disruption{', or add a replica' * is_helped}"
    )


def evicted_pods(world: World) -> dict[str, list[Pod]]:
    """Return, by node, the pods that its drain evicts."""
    found: dict[str, list[Pod]] = {}
    for pod in world.pods:
        if pod.spec.node_name and is_movable_pod(pod) and not pod.is_terminal:
            found.setdefault(pod.spec.node_name, []).append(pod)
    return found


def _matches_by_namespace(budgets: Iterable[PodDisruptionBudget]) -> _Covering:
    """Return, by namespace, the budgets, and which labels their selectors match."""
    found: _Covering = {}
    for budget in budgets:
        matches = label_selector(budget.spec.selector).matches
        found.setdefault(budget.namespace, []).append((budget.key, matches))
    return found


def _needs(pods: Iterable[Pod], covering: _Covering) -> Counter[NamespacedName]:
    """Return how many disruptions of each budget the eviction of some pods takes."""
    found: Counter[NamespacedName] = Counter()
    for pod in pods:
        labels = pod.metadata.labels
        found.update(key for key, matches in covering.get(pod.namespace, ()) if matches(labels))
    return found


def moves_of(leaving: Sequence[Pod], after: Iterable[Pod]) -> Iterator[Move]:
    """Pair the pods that left with those of their owners that are new."""
    new: dict[object, list[Pod]] = {}
    for pod in after:
        new.setdefault(workload_of(pod) or pod.key, []).append(pod)
    for pod in leaving:
        found = new.get(workload_of(pod) or pod.key)
        replacement = found.pop(0) if found else None
        yield Move(
            pod=pod.key,
            node=pod.spec.node_name,
            replacement="" if replacement is None else replacement.key,
            to="" if replacement is None else replacement.spec.node_name,
            requests=pending_requests(pod),
        )


def _rejections(former: Report, report: Report) -> dict[str, str]:
    """Return why objects were rejected between two reports, by owner."""
    known = {each.owner: each for each in former.failed_creations}
    return {
        each.owner: each.message
        for each in report.failed_creations
        if each != known.get(each.owner)
    }


def _not_replaced(
    moves: Iterable[Move],
    leaving: Iterable[Pod],
    unfit: Iterable[Pod],
    rejections: Mapping[str, str],
) -> Iterator[Unfit]:
    """Yield the pods whose controllers created no others, and do not wait for a pending one."""
    waiting = {workload_of(pod) for pod in unfit}
    for move, pod in zip(moves, leaving, strict=True):
        owner = pod.metadata.controller
        if owner is None or move.replacement or workload_of(pod) in waiting:
            continue
        note = rejections.get(f"{owner.kind.lower()}/{pod.namespace}/{owner.name}")
        message = f"{owner.kind} {owner.name} creates no pod in its place"
        yield Unfit(pod=pod.key, message=f"{message}: {note}" if note else message)


def _has_local_data(pod: Pod) -> bool:
    return any("emptyDir" in volume for volume in encode(pod)["spec"].get("volumes") or ())


def _is_protected(pod: Pod) -> bool:
    return any(pod.metadata.annotations.get(key) == value for key, value in _PROTECTING)


def _remedies(scheduler: Scheduler, pod: Pod) -> tuple[str, ...]:
    """Return changes after which a pod fits in a cluster without the drained nodes."""
    explanation = scheduler.explain(pod.key)
    if explanation.decision.node:
        return ("delete the drained nodes",)
    found = scheduler.remedies(explanation)
    return tuple(remedy.text for remedy in found[:_REMEDIES_SHOWN])
