"""The advice for a pod that does not fit: remedies that were tried, and what they do not cover.

Three things limit the advice. A claim that does not exist is not made up. The
rule of a custom plugin is not known, so changes of nodes are guessed. And in a recorded run, an
extender cannot be called again.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from podwright.apimachinery.objects import Pod, PriorityClass, with_fields
from podwright.scheduler.advice.device_refusals import DeviceRefusals
from podwright.scheduler.advice.edits import Change, Plan
from podwright.scheduler.advice.fixes import DEVICES
from podwright.scheduler.advice.rejections import rejection_of
from podwright.scheduler.advice.remedies import (
    Outcome,
    Remedy,
    Search,
    SearchResult,
    Trial,
    UnknownReply,
)
from podwright.scheduler.columns import Cluster
from podwright.scheduler.config import DEFAULT_GATES, Gates
from podwright.scheduler.framework import Explanation, Status

_CHANGES_SHOWN: Final = 4
_CLASSES_SHOWN: Final = 10
_NO_PLUGINS: Container[str] = frozenset()


class Advice(msgspec.Struct, frozen=True, kw_only=True):
    """The advice for a pod.

    Parameters
    ----------
    remedies : tuple of Remedy
        Changes after which the pod fits, the smallest first; each was tried.
    limits : tuple of str
        What could not be tried, and changes of nodes that do not help; a sentence each.
    """

    remedies: tuple[Remedy, ...] = ()
    limits: tuple[str, ...] = ()


def find_advice(
    explanation: Explanation,
    cluster: Cluster,
    trial: Trial,
    *,
    gates: Gates = DEFAULT_GATES,
    priority_classes: Mapping[str, PriorityClass] | None = None,
    custom_plugins: Container[str] = _NO_PLUGINS,
) -> Advice:
    """Return changes after which a pod fits, and what limits them.

    Parameters
    ----------
    explanation : Explanation
        Of a pod that does not fit.
    cluster : Cluster
        In the state of the explanation.
    trial : Trial
    gates : Gates
        With which the explanation was made.
    priority_classes : mapping of str to PriorityClass, optional
    custom_plugins : container of str
        The names of the plugins whose rules are not known.

    Returns
    -------
    Advice
        Empty if the pod fits.
    """
    if explanation.decision.node or explanation.decision.ignored:
        return Advice()
    gated_by = explanation.decision.gated_by
    if gated_by is not None and gated_by.is_rejection and gated_by.plugin == DEVICES:
        return Advice(limits=(_claims_limit(explanation.pod, gated_by, trial),))
    search = Search(
        explanation,
        cluster,
        trial,
        gates=gates,
        classes=priority_classes or {},
        custom_plugins=custom_plugins,
    )
    result = search.run()
    unusable = explanation.pre_filter
    if gated_by is None and unusable.is_rejection and unusable.plugin == DEVICES:
        classes = tuple(_missing_classes(DeviceRefusals(explanation.pod, cluster, gates), cluster))
        if result.remedies:
            return Advice(remedies=result.remedies, limits=classes)
        first = _claims_limit(explanation.pod, unusable, trial, result.failed)
        return Advice(limits=(first, *classes))
    limits = (
        *_custom_limits(explanation, custom_plugins, result),
        *_extender_limit(result),
        *_preemption_limit(result, len(explanation.node_names)),
    )
    return Advice(remedies=result.remedies, limits=limits)


def _missing_classes(refusals: DeviceRefusals, cluster: Cluster) -> Iterator[str]:
    """Yield, for each DeviceClass that does not exist, which ones do."""
    known = sorted(cluster.devices.classes)
    more = len(known) - _CLASSES_SHOWN
    names = ", ".join(known[:_CLASSES_SHOWN]) + (f" and {more} more" if more > 0 else "")
    for name in dict.fromkeys(choice.class_name for _, choice in refusals.without_class()):
        yield f"DeviceClass {name} does not exist; the cluster has {names or 'none'}"


def _claims_limit(pod: Pod, status: Status, trial: Trial, failed: Sequence[Plan] = ()) -> str:
    """Return that the claims are not usable, and whether the pod fits without them."""
    reasons = "; ".join(status.reasons)
    tried = f"and this does not suffice: {_texts(failed)}" if failed else "so no change was tried"
    text = f"the resource claims have to be usable first ({reasons}), {tried}"
    if not pod.spec.resource_claims:
        return text
    try:
        outcome = trial.run(Change(with_fields(pod, "spec", resource_claims=())))
    except UnknownReply:
        return text
    return f"{text}; {_without_claims(outcome)}"


def _without_claims(outcome: Outcome | None) -> str:
    if outcome is None:
        return "without its claims the pod would not fit either"
    nodes = f"{outcome.feasible_count} node{'s' * (outcome.feasible_count != 1)}"
    such_as = ", such as" if outcome.feasible_count > 1 else ":"
    return f"without its claims the pod would fit on {nodes}{such_as} {outcome.node}"


def _custom_limits(
    explanation: Explanation, custom_plugins: Container[str], result: SearchResult
) -> Iterator[str]:
    """Yield, for each custom plugin that rejects the pod, what does not help."""
    gated_by = explanation.decision.gated_by
    if gated_by is not None:
        if gated_by.plugin in custom_plugins:
            yield (
                f"the rule of the custom plugin {gated_by.plugin}, which holds the pod in"
                " PreEnqueue, is not known"
            )
        return
    rejected: dict[str, dict[str, None]] = {}
    for node in explanation.node_names:
        first = rejection_of(explanation, node)
        if first.plugin in custom_plugins:
            rejected.setdefault(first.plugin, {})[node] = None
    for answer in explanation.filters:
        if answer.plugin in custom_plugins and answer.rejected:
            rejected.setdefault(answer.plugin, {}).update(dict.fromkeys(answer.rejected))
    for plugin, nodes in rejected.items():
        count = f"{len(nodes)} node{'s' * (len(nodes) != 1)}"
        text = f"the rule of the custom plugin {plugin}, which rejects {count}, is not known"
        failed = [plan for plan in result.failed if _is_of_nodes(plan, nodes)]
        if failed:
            text += f"; these changes of nodes do not help: {_texts(failed)}"
        yield text


def _is_of_nodes(plan: Plan, nodes: Mapping[str, None]) -> bool:
    """Return whether a plan changes only some nodes, or adds nodes."""
    return all(
        edit.key == ("add node",) or (edit.on_node is not None and edit.node in nodes)
        for edit in plan
    )


def _extender_limit(result: SearchResult) -> Iterator[str]:
    if result.untried:
        count = len(result.untried)
        yield (
            f"{count} change{'s' * (count != 1)} could not be tried, because an extender would have"
            " to be called again, and a recorded run has only the replies to its own calls:"
            f" {_texts(result.untried)}"
        )


def _preemption_limit(result: SearchResult, node_count: int) -> Iterator[str]:
    if result.without_dry_run:
        count = result.without_dry_run
        changes = "1 change was" if count == 1 else f"{count} changes were"
        yield (
            f"{changes} not tried together with a higher priority, because each trial looks for"
            f" pods to evict on {node_count} nodes"
        )


def _texts(plans: Sequence[Plan]) -> str:
    texts = list(dict.fromkeys(" and ".join(edit.text for edit in plan) for plan in plans))
    more = len(texts) - _CHANGES_SHOWN
    return "; ".join(texts[:_CHANGES_SHOWN]) + (f"; and {more} more" if more > 0 else "")
