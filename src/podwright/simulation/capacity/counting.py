"""How many more pods fit into a cluster, where, and what stops the next one.

The scheduler finds it: pods of the templates are scheduled one after the other in its cluster until
one does not fit. Pending pods of the cluster are scheduled before, as the queue hands them out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final, Literal, TypeAlias, Unpack, get_args

import msgspec

from podwright._garbage import gc_paused
from podwright.apimachinery.documents import did_you_mean, problem
from podwright.apimachinery.objects import (
    InputError,
    KubernetesObject,
    NamespacedName,
    Node,
    Object,
    Pod,
    require_objects,
    workload_of,
)
from podwright.cluster.controllers import expand
from podwright.scheduler.assembly import Scheduler
from podwright.scheduler.config import KubeSchedulerConfiguration
from podwright.scheduler.framework import CallExtender
from podwright.scheduler.machine import DecisionKeywords, SchedulerOptions, names_decision_keywords
from podwright.simulation.autoscaling import pool_of
from podwright.simulation.capacity.filling import (
    Advance,
    CapacityStop,
    fill,
    forked,
    is_recreated,
    settle,
    unwatched,
    zone_of,
)
from podwright.simulation.capacity.losses import Loss, losses
from podwright.simulation.capacity.templates import (
    Template,
    is_template,
    sources_of,
    templates_of,
)

HEADROOM_LIMIT: Final = 1000
"""The most pods that are counted of an existing workload."""

LossOf: TypeAlias = Literal["node", "zone", "pool"]
LOSSES: Final[tuple[LossOf, ...]] = get_args(LossOf)


class CapacityScope(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What is counted besides some pods, and how.

    Attributes
    ----------
    ratio : tuple of int
        How many pods of each a set has. By default the replicas of workloads, and one of each pod.
    preemption : bool
        Whether pods of lower priority are evicted to make room.
    max_limit : int
        The most pods; 0 for no limit.
    exclude_nodes : tuple of str
        Nodes that are left out, with their pods.
    pool_label : str
        The label of nodes that names their pool; "" for the known ones.
    headroom : bool
        Whether to count how many more pods of each existing workload fit, each one alone.
    loss : tuple of str
        Of what the loss is tried, one after the other: `node`, `zone`, `pool`.
    """

    ratio: tuple[int, ...] = ()
    preemption: bool = False
    max_limit: int = 0
    exclude_nodes: tuple[str, ...] = ()
    pool_label: str = ""
    headroom: bool = False
    loss: tuple[LossOf, ...] = ()


class CapacityQuestion(CapacityScope, frozen=True, kw_only=True):
    """What to count, and how.

    Attributes
    ----------
    pods : tuple of Object
        Pods and workloads, whose pods are scheduled in turn; other objects among them are added to
        the cluster. None are needed for `headroom` and `loss`.
    ratio, preemption, max_limit, exclude_nodes, pool_label, headroom, loss
        As for `CapacityScope`.
    """

    pods: tuple[Object, ...] = ()


class TemplateCapacity(msgspec.Struct, frozen=True, kw_only=True):
    """How many pods of one template fit.

    Attributes
    ----------
    name, kind : str
        The name as results show it, and the kind of the template.
    pod : Object
        The template.
    weight : int
        How many pods of it a set has.
    count : int
    nodes, zones, pools : dict of str to int
        How many of them each node, zone and pool gets; "" for nodes without one.
    """

    name: str
    kind: str
    pod: Object
    weight: int
    count: int
    nodes: dict[str, int]
    zones: dict[str, int]
    pools: dict[str, int]


class Headroom(msgspec.Struct, frozen=True, kw_only=True):
    """How many more pods of an existing workload fit, if nothing else is added.

    Attributes
    ----------
    kind, key : str
    running : int
        How many pods it has on nodes.
    count : int
        How many more fit.
    stop : CapacityStop
    """

    kind: str
    key: NamespacedName
    running: int
    count: int
    stop: CapacityStop


class Capacity(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a `CapacityQuestion`.

    Attributes
    ----------
    node_count : int
    pending_scheduled, pending_unscheduled : int
        How many pending pods of the cluster were scheduled before, and how many do not fit.
    templates : tuple of TemplateCapacity
    count : int
        How many pods fit.
    sets : int
        How many complete sets of all templates.
    stop : CapacityStop, optional
        What stops the next pod; None without templates.
    stopped_template : int
        Of the pod that does not fit; -1 if the limit was reached.
    evicted : tuple of str
        The pods that were evicted to make room.
    headroom : tuple of Headroom
        The least first.
    losses : tuple of Loss
        Those after which most pods are pending first.
    """

    node_count: int
    pending_scheduled: int = 0
    pending_unscheduled: int = 0
    templates: tuple[TemplateCapacity, ...] = ()
    count: int = 0
    sets: int = 0
    stop: CapacityStop | None = None
    stopped_template: int = -1
    evicted: tuple[NamespacedName, ...] = ()
    headroom: tuple[Headroom, ...] = ()
    losses: tuple[Loss, ...] = ()

    def __repr__(self) -> str:
        return f"<Capacity: {self.count} pods on {self.node_count} nodes>"


@names_decision_keywords
def capacity(
    objects: Iterable[Object],
    question: CapacityQuestion | Object | Iterable[Object],
    configuration: KubeSchedulerConfiguration | SchedulerOptions | None = None,
    *,
    expands_workloads: bool = True,
    call_extender: CallExtender | None = None,
    **keywords: Unpack[DecisionKeywords],
) -> Capacity:
    """Count how many more pods fit into a cluster.

    Parameters
    ----------
    objects : iterable of object
        The cluster, as for `Scheduler.add`.
    question : CapacityQuestion, object or iterable of object
        What to count; a pod, a workload or several of them stand for a question about them.
    configuration : KubeSchedulerConfiguration or SchedulerOptions, optional
        The default profile if left out.
    expands_workloads : bool
        Whether workloads are expanded into the pods that their controllers would create.
    call_extender, plugins, gates, seed, tie_rule, draws_preemption_offset
        As for `Scheduler`.

    Raises
    ------
    InputError
        If the question or the configuration is wrong.

    Examples
    --------
    >>> import podwright as pw
    >>> nodes = [pw.testing.make_node(name, cpu="4") for name in ("n1", "n2")]
    >>> found = pw.capacity(nodes, pw.testing.make_pod("web", cpu="1500m"))
    >>> found.count, found.stop.message.partition(". ")[0]
    (4, '0/2 nodes are available: 2 Insufficient cpu')
    """
    given = list(objects)
    if isinstance(question, KubernetesObject):
        question = CapacityQuestion(pods=(question,))
    elif not isinstance(question, CapacityQuestion):
        pods = tuple(question)
        require_objects(pods, "question")
        question = CapacityQuestion(pods=pods)
    with gc_paused():  # none of very many objects is garbage
        if expands_workloads:
            given = expand(given).with_objects(given)
        scheduler = Scheduler(configuration, call_extender=call_extender, **keywords)
        scheduler.add(*given)
        return capacity_in(scheduler, given, question)


def capacity_in(
    scheduler: Scheduler,
    objects: Sequence[Object],
    question: CapacityQuestion,
    advance: Advance = unwatched,
) -> Capacity:
    """Answer a question about the cluster of a scheduler.

    Parameters
    ----------
    scheduler : Scheduler
        It is changed: pods that fit stay in it, and excluded nodes are removed.
    objects : sequence of Object
        What it was given.
    question : CapacityQuestion
        What to count.
    advance : callable
        Receives how far the answer is: workloads, losses and then pods, and how many there are.
    """
    templates = _checked(question, objects)
    excluded = set(question.exclude_nodes)
    kept = [obj for obj in objects if not _is_on(obj, excluded)]
    scheduler.remove(*(obj for obj in objects if _is_on(obj, excluded)))
    others = [obj for obj in question.pods if not is_template(obj)]
    scheduler.add(*others)
    kept += others
    decisions = settle(scheduler, preemption=question.preemption)
    scheduled = sum(decision.slot >= 0 for decision in decisions.values())
    nodes = {obj.name: obj for obj in kept if isinstance(obj, Node)}
    headroom = _headroom(scheduler, kept, question, advance) if question.headroom else ()
    groups = [
        (of, name, members)
        for of in LOSSES
        if of in question.loss
        for name, members in _groups(of, nodes, question.pool_label).items()
    ]
    lost = losses(scheduler, groups, nodes, advance)
    answer = Capacity(
        node_count=len(nodes),
        pending_scheduled=scheduled,
        pending_unscheduled=len(decisions) - scheduled,
        headroom=tuple(headroom),
        losses=tuple(lost),
    )
    if not templates:
        return answer
    # At the end: very many pods do not have to be removed again.
    sources = sources_of(scheduler, templates, kept)
    filled = fill(
        scheduler,
        sources,
        preemption=question.preemption,
        limit=question.max_limit,
        advance=advance,
    )
    found = [
        _template_capacity(template, source.weight, counts, nodes, question.pool_label)
        for template, source, counts in zip(templates, sources, filled.nodes, strict=True)
    ]
    return msgspec.structs.replace(
        answer,
        templates=tuple(found),
        count=sum(each.count for each in found),
        sets=min(each.count // each.weight for each in found),
        stop=filled.stop,
        stopped_template=filled.stopped_source,
        evicted=filled.evicted,
    )


def _checked(question: CapacityQuestion, objects: Iterable[Object]) -> list[Template]:
    """Return the templates of a question whose fields are all valid."""
    known = {obj.name for obj in objects if isinstance(obj, Node)}
    errors = [
        problem(f"excludeNodes[{index}]", f'no node "{name}"{did_you_mean(name, known)}')
        for index, name in enumerate(question.exclude_nodes)
        if name not in known
    ]
    if not known:
        errors.append(problem("", "the cluster has no nodes"))
    if question.max_limit < 0:
        errors.append(problem("maxLimit", f"{question.max_limit} is negative; 0 is no limit"))
    label = question.pool_label
    if label and not any(label in obj.metadata.labels for obj in objects if isinstance(obj, Node)):
        errors.append(problem("poolLabel", f'no node has the label "{label}"'))
    if errors:
        raise InputError(errors)
    if not question.pods and (question.headroom or question.loss):
        return []
    return templates_of(question.pods, question.ratio)


def _is_on(obj: Object, nodes: set[str]) -> bool:
    """Return whether an object is one of some nodes, or a pod on one."""
    if isinstance(obj, Node):
        return obj.name in nodes
    return isinstance(obj, Pod) and obj.spec.node_name in nodes


def _template_capacity(
    template: Template, weight: int, counts: dict[str, int], nodes: dict[str, Node], label: str
) -> TemplateCapacity:
    zones: Counter[str] = Counter()
    pools: Counter[str] = Counter()
    for name, count in counts.items():
        zones[zone_of(nodes[name])] += count
        pools[pool_of(nodes[name], label)] += count
    return TemplateCapacity(
        name=template.name,
        kind=template.obj.kind,
        pod=template.obj,
        weight=weight,
        count=sum(counts.values()),
        nodes=counts,
        zones=dict(sorted(zones.items())),
        pools=dict(sorted(pools.items())),
    )


def _headroom(
    scheduler: Scheduler, objects: Sequence[Object], question: CapacityQuestion, advance: Advance
) -> list[Headroom]:
    """Count how many more pods of each workload fit, each from the same state."""
    declared = {(obj.kind, obj.key): obj for obj in objects if is_template(obj)}
    running: Counter[tuple[str, NamespacedName]] = Counter()
    first: dict[tuple[str, NamespacedName], Pod] = {}
    for placed in scheduler.cluster.pods.values():
        pod = placed.pod
        owner = pod.metadata.controller
        if owner is None or not is_recreated(pod):
            continue
        workload = workload_of(pod) or (owner.kind, f"{pod.namespace}/{owner.name}")
        running[workload] += 1
        first.setdefault(workload, pod)
    found = []
    for done, ((kind, key), count) in enumerate(running.items(), start=1):
        obj = declared.get((kind, key)) or first[kind, key]
        (template,) = templates_of([obj])
        sources = sources_of(scheduler, [template], objects)
        with forked(scheduler):
            filled = fill(
                scheduler,
                sources,
                preemption=question.preemption,
                limit=question.max_limit or HEADROOM_LIMIT,
            )
        sources[0].remove_objects()
        more = sum(filled.nodes[0].values())
        found.append(Headroom(kind=kind, key=key, running=count, count=more, stop=filled.stop))
        advance(done, len(running))
    return sorted(found, key=lambda each: each.count)


def _groups(of: LossOf, nodes: dict[str, Node], pool_label: str) -> dict[str, list[str]]:
    """Return the nodes of each node, zone or pool that has a name."""
    found: dict[str, list[str]] = {}
    for name, node in nodes.items():
        key = {"node": name, "zone": zone_of(node), "pool": pool_of(node, pool_label)}[of]
        if key:
            found.setdefault(key, []).append(name)
    return found
