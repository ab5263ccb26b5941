"""Scale-up: how many nodes of each group the pending pods need.

Pods that a controller created alike are a group of pods. For each node group, first-fit decreasing:
the pods with the largest requests first, on the new nodes of the estimate, then on one more node.
Each step is a scheduling cycle on these nodes.

Upstream: cluster-autoscaler/core/scaleup/orchestrator/orchestrator.go, ScaleUp,
SchedulablePodGroups, ComputeExpansionOption; estimator/binpacking_estimator.go, Estimate;
estimator/decreasing_pod_orderer.go; core/scaleup/equivalence/groups.go, BuildPodGroups
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from itertools import chain
from typing import Final

import msgspec

from podwright.apimachinery.objects import Node, Object, Pod
from podwright.simulation.autoscaling.expanders import ScaleUpOption, capacity_of, requested
from podwright.simulation.autoscaling.node_groups import NodeGroup, NodeTemplate, new_node
from podwright.simulation.autoscaling.trial_cluster import TrialCluster, counted

MAX_SIZE: Final = "max node group size reached"
BACKOFF: Final = "in backoff after failed scale-up"
NOT_READY: Final = "not ready for scale-up"
MAX_TOTAL: Final = "max total nodes in cluster reached"

_KINDS_PER_CONTROLLER: Final = 10


class PodGroup(msgspec.Struct, frozen=True, kw_only=True):
    """Pods that are alike for the scheduler.

    Attributes
    ----------
    pods : list of Pod
    form : hashable
        Equal for pods that are decided alike in the same cluster: those of one group, and those of
        groups that have no controller, or too many kinds of pods for one.
    rejections : dict of str to tuple of str
        Why the nodes of a node group do not take them, by group.
    accepted_by : list of str
        The node groups whose nodes take them.
    """

    pods: list[Pod]
    form: Hashable
    rejections: dict[str, tuple[str, ...]]
    accepted_by: list[str]

    @property
    def is_schedulable(self) -> bool:
        """Whether a node group takes them."""
        return bool(self.accepted_by)


class GroupOffer(msgspec.Struct, frozen=True, kw_only=True):
    """A node group that may be scaled up.

    Attributes
    ----------
    group : NodeGroup
    template : NodeTemplate
    daemon_sets : tuple of Object
        The DaemonSets, whose pods new nodes get.
    limit : int
        The most nodes that can be added.
    """

    group: NodeGroup
    template: NodeTemplate
    daemon_sets: tuple[Object, ...]
    limit: int

    def new_node(self, name: str) -> tuple[Node, list[Pod]]:
        """Return a new node named `name` with its pods."""
        return new_node(self.template, name, self.daemon_sets)


def pod_groups(pods: Iterable[Pod]) -> list[PodGroup]:
    """Return pods in groups: those of one controller with the same labels and the same spec."""
    found: list[PodGroup] = []
    by_form: dict[Hashable, PodGroup] = {}
    kinds: Counter[str] = Counter()
    for pod in pods:
        owner, form = pod.metadata.controller, _form_of(pod)
        if owner is not None and form in by_form:
            by_form[form].pods.append(pod)
            continue
        group = PodGroup(pods=[pod], form=form, rejections={}, accepted_by=[])
        found.append(group)
        if owner is not None and kinds[owner.uid] < _KINDS_PER_CONTROLLER:
            kinds[owner.uid] += 1
            by_form[form] = group
    return found


def _form_of(pod: Pod) -> Hashable:
    meta, owner = pod.metadata, pod.metadata.controller
    owner_uid = "" if owner is None else owner.uid
    return meta.namespace, owner_uid, frozenset(meta.labels.items()), msgspec.json.encode(pod.spec)


def expansion_options(
    trial: TrialCluster, offers: Iterable[GroupOffer], groups: Sequence[PodGroup]
) -> list[ScaleUpOption]:
    """Return the groups that would help; why the others do not is written to the groups of pods."""
    found = []
    for offer in offers:
        fitting = _fitting(trial, offer, groups)
        option = _estimate(trial, offer, fitting) if fitting else None
        if option is not None:
            found.append(option)
    return found


def _fitting(trial: TrialCluster, offer: GroupOffer, groups: Iterable[PodGroup]) -> list[PodGroup]:
    """Return the groups of pods that fit on a node of a group."""
    found = []
    decided: dict[Hashable, tuple[str, ...] | None] = {}
    with trial.forked():
        name = trial.add_node(*offer.new_node(f"template-node-for-{offer.group.name}"))
        for each in groups:
            if each.form not in decided:
                decided[each.form] = trial.rejection(each.pods[0], name)
            reasons = decided[each.form]
            if reasons is None:
                each.accepted_by.append(offer.group.name)
                found.append(each)
            else:
                each.rejections[offer.group.name] = reasons
    return found


def _estimate(
    trial: TrialCluster, offer: GroupOffer, groups: Iterable[PodGroup]
) -> ScaleUpOption | None:
    """Return how many nodes of a group some pods need; None if they help none of them."""
    template = offer.template.node("template")
    ordered = sorted(groups, key=lambda each: -_size(each.pods[0], template))
    names: list[str] = []
    scheduled: dict[str, list[Pod]] = {}

    def fits(pod: Pod, nodes: Sequence[str]) -> bool:
        name = trial.schedule(pod, nodes) if nodes else ""
        if name:
            scheduled.setdefault(name, []).append(pod)
        return bool(name)

    with trial.forked():
        for each in ordered:
            number = 0
            while number < len(each.pods) and fits(each.pods[number], names):
                number += 1
            for pod in each.pods[number:]:
                if fits(pod, names[-1:]):
                    continue
                if (names and names[-1] not in scheduled) or len(names) >= offer.limit:
                    break
                name = f"template-node-for-{offer.group.name}-{len(names)}"
                names.append(trial.add_node(*offer.new_node(name)))
                if not fits(pod, names[-1:]):
                    break
    if not scheduled:
        return None
    pods = tuple(pod for name in names for pod in scheduled.get(name, ()))
    return ScaleUpOption(group=offer.group, node=template, count=len(scheduled), pods=pods)


def _size(pod: Pod, template: Node) -> float:
    """Return the requests of a pod as shares of a node."""
    return sum(
        requested([pod], resource) / amount
        for resource in ("cpu", "memory")
        if (amount := capacity_of(template, resource)) > 0
    )


def reasons_text(group: PodGroup, skipped: dict[str, str]) -> str:
    """Return why no node group helps some pods, in upstream's words.

    Upstream: processors/status/eventing_scale_up_processor.go, ReasonsMessage. There the order is
    that of a map, which is not fixed.
    """
    return counted(chain(*group.rejections.values(), skipped.values()))
