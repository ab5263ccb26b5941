"""PodTopologySpread: pods that are counted, and nodes that change domains.

Upstream: pkg/scheduler/framework/plugins/podtopologyspread/plugin.go
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from podwright.apimachinery.objects import Node, Pod, Selector, TopologySpreadConstraint
from podwright.scheduler.framework import NODE, POD, ActionType, EventHint, Hint
from podwright.scheduler.plugins.hints.objects import only, queue_if

Constraints = Callable[[Pod], Sequence[TopologySpreadConstraint]]
SelectorOf = Callable[[TopologySpreadConstraint, Mapping[str, str]], Selector]


def events_to_register(
    selector_of: SelectorOf, *, default_constraints: Constraints | None = None
) -> tuple[EventHint, ...]:
    """Return pods that count, by their labels, and nodes, by their topology keys.

    Parameters
    ----------
    selector_of : callable
        Returns which pods a constraint counts, for a pending pod with these labels.
    default_constraints : callable or None
        The constraints, selectors included, of a pod that has none itself.
    """

    def hard_constraints(pod: Pod) -> list[TopologySpreadConstraint]:
        own = pod.spec.topology_spread_constraints
        if not own and default_constraints is not None:
            own = tuple(default_constraints(pod))
        return [spread for spread in own if spread.when_unsatisfiable == "DoNotSchedule"]

    def after_pod_change(pod: Pod, old: object | None, new: object | None) -> Hint:
        before = None if old is None else only(Pod, old)
        after = None if new is None else only(Pod, new)
        if not all(_is_involved(other, pod) for other in (before, after) if other is not None):
            return Hint.SKIP
        constraints = hard_constraints(pod)
        selectors = [selector_of(spread, pod.metadata.labels) for spread in constraints]
        if before is not None and after is not None:
            if _tolerates_more(pod, before, after, constraints):
                return Hint.QUEUE
            return _after_labels_change(before, after, selectors)
        other = before if after is None else after
        assert other is not None, "an event without an object"
        return queue_if(any(each.matches(other.metadata.labels) for each in selectors))

    def after_node_change(pod: Pod, old: object | None, new: object | None) -> Hint:
        before = None if old is None else only(Node, old)
        after = None if new is None else only(Node, new)
        keys = [spread.topology_key for spread in hard_constraints(pod)]
        was_domain = before is not None and _has_all(before.metadata.labels, keys)
        is_domain = after is not None and _has_all(after.metadata.labels, keys)
        if before is None or after is None or was_domain != is_domain:
            return queue_if(was_domain or is_domain)
        return queue_if(
            is_domain
            and (
                any(before.metadata.labels[key] != after.metadata.labels[key] for key in keys)
                or before.spec.taints != after.spec.taints
            )
        )

    return (
        EventHint(
            POD,
            ActionType.ADD
            | ActionType.UPDATE_POD_LABEL
            | ActionType.UPDATE_POD_TOLERATION
            | ActionType.DELETE,
            after_pod_change,
        ),
        EventHint(
            NODE,
            ActionType.ADD
            | ActionType.DELETE
            | ActionType.UPDATE_NODE_LABEL
            | ActionType.UPDATE_NODE_TAINT,
            after_node_change,
        ),
    )


def _tolerates_more(
    pod: Pod, before: Pod, after: Pod, constraints: Sequence[TopologySpreadConstraint]
) -> bool:
    return (
        after.metadata.uid == pod.metadata.uid
        and before.spec.tolerations != after.spec.tolerations
        and any(spread.node_taints_policy == "Honor" for spread in constraints)
    )


def _after_labels_change(before: Pod, after: Pod, selectors: Sequence[Selector]) -> Hint:
    had, has = before.metadata.labels, after.metadata.labels
    return queue_if(
        had != has and any(each.matches(had) != each.matches(has) for each in selectors)
    )


def _is_involved(other: Pod, pod: Pod) -> bool:
    # A deleted nominated pod was counted on its node; see golden case hints-t-0415.
    has_node = other.spec.node_name or other.status.nominated_node_name
    return other.metadata.uid == pod.metadata.uid or (
        bool(has_node) and other.metadata.namespace == pod.metadata.namespace
    )


def _has_all(labels: Mapping[str, str], keys: Sequence[str]) -> bool:
    return all(key in labels for key in keys)
