"""Explanations: which node groups would help a pending pod, and why the others would not.

Each group is asked alone: a node of its template is added in a fork, and the filters of the
scheduler decide. What keeps a group from growing is said beside, as in upstream's Events.

Upstream: cluster-autoscaler/core/scaleup/orchestrator/orchestrator.go, SchedulablePodGroups;
processors/status/eventing_scale_up_processor.go, ReasonsMessage
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Final, Unpack

import msgspec

from podwright.apimachinery.documents import did_you_mean, problem, struct_errors
from podwright.apimachinery.objects import (
    InputError,
    NamespacedName,
    Node,
    Object,
    require_type,
)
from podwright.cluster.controllers import expand
from podwright.scheduler.config import KubeSchedulerConfiguration
from podwright.scheduler.machine import DecisionKeywords, SchedulerOptions, names_decision_keywords
from podwright.simulation.autoscaling.drainability import is_of_daemon_set
from podwright.simulation.autoscaling.expanders import Choice, equal_options
from podwright.simulation.autoscaling.node_groups import Autoscaling, pool_of
from podwright.simulation.autoscaling.scale_up import (
    MAX_SIZE,
    GroupOffer,
    expansion_options,
    pod_groups,
)
from podwright.simulation.autoscaling.trial_cluster import TrialCluster, is_expendable


class GroupHelp(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Whether a node group would help a pod.

    Attributes
    ----------
    group : str
    helps : bool
        Whether the pod fits on a new node, and the group may get one.
    reasons : tuple of str
        Why not: the scheduler's words about the new node, or what keeps the group from growing.
    size : int
        The nodes that it has.
    max_size : int, optional
        The nodes that it may have; None if no limit is known.
    """

    group: str
    helps: bool
    reasons: tuple[str, ...]
    size: int
    max_size: int | None


class AutoscalingExplanation(msgspec.Struct, frozen=True, kw_only=True):
    """What an autoscaler would do about a pending pod.

    Attributes
    ----------
    pod : str
    node : str
        The node on which it fits without a scale-up; "" if there is none.
    groups : tuple of GroupHelp
        In the order of the file; none if it fits.
    chosen : tuple of str
        The groups that the expanders leave; if there are several, one of them is drawn.
    """

    pod: NamespacedName
    node: str
    groups: tuple[GroupHelp, ...]
    chosen: tuple[str, ...]

    @property
    def is_helped(self) -> bool:
        """Whether the pod fits, or a group would help."""
        return bool(self.node or self.chosen)


@names_decision_keywords
def explain_autoscaling(
    objects: Iterable[Object],
    autoscaling: Autoscaling,
    pods: Iterable[NamespacedName] = (),
    configuration: KubeSchedulerConfiguration | SchedulerOptions | None = None,
    *,
    expands_workloads: bool = True,
    **keywords: Unpack[DecisionKeywords],
) -> list[AutoscalingExplanation]:
    """Explain for pending pods which node group would help, and why the others would not.

    Parameters
    ----------
    objects : iterable of object
        The cluster with its pods, as for `Scheduler.add`.
    autoscaling : Autoscaling
        As `read_node_groups` returns it, or `pool_groups`.
    pods : iterable of str
        `namespace/name`; without them, all pending pods. Pods of DaemonSets, for which no
        autoscaler adds nodes, are listed only if they fit or are named.
    configuration : KubeSchedulerConfiguration or SchedulerOptions, optional
        The default profile if left out.
    expands_workloads : bool
        Whether workloads are expanded into the pods that their controllers would create.
    plugins, gates, seed, tie_rule, draws_preemption_offset
        As for `Scheduler`.

    Returns
    -------
    list of AutoscalingExplanation
        In the order in which the pods are scheduled. Those that fit have been placed before the
        next one; new nodes are for one pod.

    Raises
    ------
    InputError
        If a pod is not pending, or a group is wrong.

    Examples
    --------
    >>> import podwright as pw
    >>> template = pw.NodeTemplate(allocatable={"cpu": "4", "memory": "16Gi"})
    >>> groups = pw.Autoscaling(groups=(pw.NodeGroup(name="a", max_size=2, template=template),))
    >>> pods = [pw.testing.make_pod("web", cpu="2"), pw.testing.make_pod("huge", cpu="8")]
    >>> for found in pw.explain_autoscaling(pods, groups):
    ...     print(found.pod, found.chosen, found.groups[0].reasons)
    default/web ('a',) ()
    default/huge () ('Insufficient cpu',)
    """
    given, options = question_inputs(
        objects, autoscaling, configuration, keywords, expands_workloads=expands_workloads
    )
    trial = TrialCluster(options, autoscaling.options.pool_label)
    trial.add(given)
    pending = {pod.key: pod for pod in trial.scheduler.in_queue_order()}
    names = list(pods)
    errors = [
        problem(f"pods[{index}]", f"{name} is not a pending pod{did_you_mean(name, pending)}")
        for index, name in enumerate(names)
        if name not in pending
    ]
    if errors:
        raise InputError(errors)
    nodes = [obj for obj in given if isinstance(obj, Node)]
    daemon_sets = tuple(obj for obj in given if obj.kind == "DaemonSet")
    label = autoscaling.options.pool_label
    cutoff = autoscaling.options.expendable_pods_priority_cutoff
    sizes = {
        group.name: sum(pool_of(node, label) == group.name for node in nodes)
        for group in autoscaling.groups
    }
    offers = [
        GroupOffer(
            group=group,
            template=group.node_template(label),
            daemon_sets=daemon_sets,
            limit=group.size_limit - sizes[group.name],
        )
        for group in autoscaling.groups
    ]
    choice = Choice(options=autoscaling.options, node_count=len(nodes))
    found = []
    node_names = frozenset(each.name for each in nodes)
    # Of pods that do not fit, since the last pod that did: nothing has changed for those alike.
    unfit: dict[Hashable, tuple[tuple[GroupHelp, ...], tuple[str, ...]] | None] = {}
    with trial.forked():
        # Pods that fit take their room from those behind them in the queue.
        for key, pod in pending.items():
            (alike,) = pod_groups([pod])
            form = alike.form
            node = pod.status.nominated_node_name
            if node in node_names:
                # The pods that it preempts are about to leave, as in the autoscaler's loop.
                trial.put_pod(pod, node)
            else:
                node = "" if form in unfit else trial.schedule(pod, node_names)
            if node:
                unfit.clear()
            else:
                unfit.setdefault(form, None)
            is_of_set = not node and is_of_daemon_set(pod)
            if key not in names if names else is_of_set:
                continue
            groups, chosen = ((), ()) if node else unfit[form] or ((), ())
            ignored = _OF_DAEMON_SET if is_of_set else ()
            if not node and is_expendable(pod, cutoff):
                ignored = (
                    f"its priority is below expendablePodsPriorityCutoff, which is {cutoff}",
                )
            if ignored:
                of_all = dict.fromkeys(sizes, ignored)
                groups, chosen = tuple(_help(each, sizes, of_all) for each in offers), ()
            elif not node and not groups:
                helping = expansion_options(trial, offers, [alike])
                groups = tuple(_help(each, sizes, alike.rejections) for each in offers)
                chosen = tuple(each.group.name for each in equal_options(helping, choice))
                unfit[form] = groups, chosen
            found.append(AutoscalingExplanation(pod=key, node=node, groups=groups, chosen=chosen))
    return found


def question_inputs(
    objects: Iterable[Object],
    autoscaling: Autoscaling,
    configuration: KubeSchedulerConfiguration | SchedulerOptions | None,
    keywords: DecisionKeywords,
    *,
    expands_workloads: bool,
) -> tuple[list[Object], SchedulerOptions]:
    """Return the objects of a question, with the pods of workloads, and the scheduler's options.

    Parameters
    ----------
    objects, autoscaling, configuration, expands_workloads
        As for `explain_autoscaling`.
    keywords : dict
        Its other arguments, by their names.

    Raises
    ------
    InputError
        If a group is wrong.
    """
    require_type(
        autoscaling, Autoscaling, "autoscaling", "the result of podwright.read_node_groups"
    )
    errors = struct_errors(autoscaling, "autoscaling")
    if errors:
        raise InputError(errors)
    given = list(objects)
    if expands_workloads:
        given = expand(given).with_objects(given)
    return given, SchedulerOptions.of(configuration, **keywords)


_OF_DAEMON_SET: Final[tuple[str, ...]] = ("no node is added for a pod of a DaemonSet",)


def _help(
    offer: GroupOffer, sizes: dict[str, int], rejections: dict[str, tuple[str, ...]]
) -> GroupHelp:
    name = offer.group.name
    reasons = rejections.get(name, ())
    if offer.limit < 1:
        reasons = (*reasons, MAX_SIZE)
    return GroupHelp(
        group=name,
        helps=not reasons,
        reasons=reasons,
        size=sizes[name],
        max_size=offer.group.max_size,
    )
