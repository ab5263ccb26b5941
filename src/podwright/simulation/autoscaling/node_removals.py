"""Explanations: which nodes an autoscaler would remove, and what keeps the others.

Pending pods that fit are placed first, as in the autoscaler's loop. No time passes: how long a node
was unneeded, and delays after a scale-up, are left out.

Upstream: cluster-autoscaler/core/scaledown/status/status.go, UnremovableNode;
simulator/cluster.go, UnremovableReason; simulator/drainability, BlockingPodReason
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Unpack

import msgspec

from podwright.apimachinery.objects import (
    Condition,
    Node,
    Object,
    OwnerReference,
    Pod,
    PodDisruptionBudget,
    api_group,
    decode,
    timestamp_ns,
    with_fields,
)
from podwright.cluster.api import Rejection, UpdateObject, decide_eviction
from podwright.cluster.controllers import DisruptionController, Lister
from podwright.cluster.store import POD
from podwright.scheduler.config import KubeSchedulerConfiguration
from podwright.scheduler.machine import DecisionKeywords, SchedulerOptions, names_decision_keywords
from podwright.simulation.autoscaling.drainability import BUDGET, Unremovable
from podwright.simulation.autoscaling.explaining import question_inputs
from podwright.simulation.autoscaling.node_groups import Autoscaling, pool_of
from podwright.simulation.autoscaling.scale_down import Candidate, ScaleDown
from podwright.simulation.autoscaling.trial_cluster import TrialCluster, is_expendable

_READY: Final = (Condition(type="Ready", status="True"),)


class NodeRemoval(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Whether an autoscaler would remove a node.

    Attributes
    ----------
    node : str
    group : str
        "" for a node of no group.
    moves : tuple of str
        The pods that would move to other nodes, if it would be removed.
    reason : str
        Upstream's name of what keeps the node; "" if it would be removed.
    message : str
        Such as the pod that keeps it.
    """

    node: str
    group: str
    moves: tuple[str, ...] = ()
    reason: str = ""
    message: str = ""


@names_decision_keywords
def explain_scale_down(
    objects: Iterable[Object],
    autoscaling: Autoscaling,
    configuration: KubeSchedulerConfiguration | SchedulerOptions | None = None,
    *,
    now_ns: int = 0,
    expands_workloads: bool = True,
    **keywords: Unpack[DecisionKeywords],
) -> list[NodeRemoval]:
    """Explain which nodes an autoscaler would remove, and what keeps the others.

    Parameters
    ----------
    objects, autoscaling, configuration, expands_workloads
        As for `explain_autoscaling`. Owners of pods may be left out, and budgets without a status
        get the one of their controller.
    now_ns : int
        The time, which decides about pods of `kube-system`; by default the latest one of a pod or
        of a node's condition.
    plugins, gates, seed, tie_rule, draws_preemption_offset
        As for `Scheduler`.

    Returns
    -------
    list of NodeRemoval
        In the order of the nodes.

    Raises
    ------
    InputError
        If a group is wrong.

    Examples
    --------
    >>> import podwright as pw
    >>> template = pw.NodeTemplate(allocatable={"cpu": "4"})
    >>> groups = pw.Autoscaling(groups=(pw.NodeGroup(name="a", max_size=2, template=template),))
    >>> nodes = [pw.testing.make_node(name, labels={"pool": "a"}) for name in ("n1", "n2")]
    >>> for each in pw.explain_scale_down([*nodes, pw.testing.make_pod("web", node="n1")], groups):
    ...     print(each.node, each.reason, each.message)
    n1 NotReplicated default/web is not replicated
    n2
    """
    given, options = question_inputs(
        objects, autoscaling, configuration, keywords, expands_workloads=expands_workloads
    )
    trial = TrialCluster(options, autoscaling.options.pool_label)
    trial.add(given)
    nodes = [obj for obj in given if isinstance(obj, Node)]
    names = frozenset(node.name for node in nodes)
    groups = {each.name: each for each in autoscaling.groups}
    pools = {node.name: pool_of(node, autoscaling.options.pool_label) for node in nodes}
    group_of = {name: pool for name, pool in pools.items() if pool in groups}
    sizes = Counter(group_of.values())
    spare = {name: sizes[name] - group.min_size for name, group in groups.items()}
    above = [node for node in nodes if spare.get(group_of.get(node.name, ""), 0) > 0]
    now_ns = now_ns or max(_times_ns(given), default=0)
    with trial.forked():
        cutoff = autoscaling.options.expendable_pods_priority_cutoff
        trial.withdraw_expendable(cutoff)
        for pod in trial.scheduler.in_queue_order():
            if pod.status.nominated_node_name in names:
                trial.put_pod(pod, pod.status.nominated_node_name)
            elif not is_expendable(pod, cutoff):
                trial.schedule(pod, names)
        lister = _lister(given, now_ns)
        scale_down = ScaleDown(lister, autoscaling.options, trial)
        scale_down.update(above, names, now_ns, is_question=True)
    candidates = scale_down.candidates
    kept = {name: Unremovable("NotAutoscaled", "it is of no node group") for name in names}
    for name, pool in group_of.items():
        least = f"minSize is {groups[pool].min_size}"
        kept[name] = Unremovable("NodeGroupMinSizeReached", least)
    enough = f"{len(candidates)} other nodes are unneeded, and no more are looked for"
    unneeded = {each.node.name for each in candidates}
    for node in above:
        if node.name not in unneeded:
            unknown = Unremovable("NotUnneededOtherReason", enough)
            kept[node.name] = scale_down.unremovable.get(node.name, unknown)
    moves: dict[str, tuple[str, ...]] = {}
    for found in sorted(candidates, key=lambda each: (bool(each.pods), each.is_risky)):
        name = found.node.name
        refused = next(_refused(found, lister, now_ns), None)
        if refused is not None:
            kept[name] = refused
            continue
        if spare[group_of[name]] > 0:
            spare[group_of[name]] -= 1
            moves[name] = tuple(pod.key for pod in found.pods)
            kept[name] = Unremovable("", "")
    return [
        NodeRemoval(
            node=node.name,
            group=group_of.get(node.name, ""),
            moves=moves.get(node.name, ()),
            reason=kept[node.name].reason,
            message=kept[node.name].message,
        )
        for node in nodes
    ]


def _refused(found: Candidate, lister: Lister, now_ns: int) -> Iterator[Unremovable]:
    """Yield the pods of a node that may move, but whose eviction the API server rejects.

    A pod that is annotated as safe to evict may move whatever its budgets allow. Its eviction is
    rejected all the same, so that the removal of its node is tried and fails.

    Upstream: simulator/drainability/rules/rules.go, Default (safetoevict is before pdb);
    core/scaledown/status/status.go, NodeDeleteErrorFailedToEvictPods
    """
    budgets = [
        each for each in lister.all(BUDGET).values() if isinstance(each, PodDisruptionBudget)
    ]
    for pod in found.pods:
        known = lister.get(POD, pod.key)
        if not isinstance(known, Pod) or known.spec.node_name != found.node.name:
            continue  # It would come from another node that is removed.
        rejection = decide_eviction(known, budgets, now_ns)
        if isinstance(rejection, Rejection):
            message = f"its removal is tried and fails: {pod.key}: {rejection.message}"
            yield Unremovable("FailedToEvictPods", message)


def _times_ns(objects: Iterable[Object]) -> Iterator[int]:
    for obj in objects:
        texts = [obj.metadata.creation_timestamp] if isinstance(obj, Pod) else []
        if isinstance(obj, Node):
            texts += [each.last_heartbeat_time for each in obj.status.conditions]
        yield from (time_ns for text in texts if (time_ns := timestamp_ns(text)) is not None)


def _lister(objects: Sequence[Object], now_ns: int) -> Lister:
    """Return the objects that rules about pods look up, and what a dump may have left out."""
    lister = Lister()
    disruption = DisruptionController(lister)
    owners: Counter[tuple[str, OwnerReference]] = Counter()
    for obj in objects:
        known = obj
        owner = obj.metadata.controller
        if isinstance(obj, Pod) and obj.spec.node_name:
            # One of a file is ready, as it is in a simulation.
            status = {} if obj.status.conditions else {"phase": "Running", "conditions": _READY}
            known = with_fields(obj, "status", **status)
        if isinstance(obj, Pod) and owner is not None:
            owners[obj.namespace, owner] += 1
        lister.put(known)
    for (namespace, owner), count in owners.items():
        kind = (api_group(owner.api_version), owner.kind)
        if lister.get(kind, f"{namespace}/{owner.name}") is None:
            metadata = {"name": owner.name, "namespace": namespace, "uid": owner.uid}
            made = {"apiVersion": owner.api_version, "kind": owner.kind, "metadata": metadata}
            lister.put(decode(made | {"spec": {"replicas": count}}))
    for budget in objects:
        if isinstance(budget, PodDisruptionBudget) and not budget.status.conditions:
            disruption.observe(None, budget)
            for action in disruption.sync(budget.key, now_ns):
                if isinstance(action, UpdateObject):
                    lister.put(action.obj)
    return lister
