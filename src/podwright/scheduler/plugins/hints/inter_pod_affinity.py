"""InterPodAffinity: pods that match terms, and nodes that change domains.

Upstream: pkg/scheduler/framework/plugins/interpodaffinity/plugin.go
"""

from __future__ import annotations

from collections.abc import Sequence

from podwright.apimachinery.objects import Node, Pod, PodAffinityTerm, label_selector
from podwright.scheduler.framework import NODE, POD, ActionType, EventHint, Hint
from podwright.scheduler.plugins.hints.objects import changed, only, queue_if


def events_to_register() -> tuple[EventHint, ...]:
    """Return pods that come, go or are relabelled, and the labels of nodes."""
    pod_actions = ActionType.ADD | ActionType.UPDATE_POD_LABEL | ActionType.DELETE
    return (
        EventHint(POD, pod_actions, after_pod_change),
        EventHint(NODE, ActionType.ADD | ActionType.UPDATE_NODE_LABEL, after_node_change),
    )


def after_pod_change(pod: Pod, old: object | None, new: object | None) -> Hint:
    """Queue if another pod started to help or ceased to hurt, or the pod itself changed."""
    before = None if old is None else only(Pod, old)
    after = None if new is None else only(Pod, new)
    if after is not None and before is not None and after.metadata.uid == pod.metadata.uid:
        return Hint.QUEUE
    if any(other is not None and not _has_node(other) for other in (before, after)):
        return Hint.SKIP
    affinity, anti_affinity = _required(pod)
    if after is None:
        gone = only(Pod, old)
        return queue_if(
            _meets_all(pod, anti_affinity, gone) or _meets_all(gone, _required(gone)[1], pod)
        )
    if before is None:
        return queue_if(_meets_all(pod, affinity, after))
    return queue_if(
        (_meets_all(pod, affinity, after) and not _meets_all(pod, affinity, before))
        or (_meets_all(pod, anti_affinity, before) and not _meets_all(pod, anti_affinity, after))
    )


def after_node_change(pod: Pod, old: object | None, new: object | None) -> Hint:
    """Queue if the node joined a domain that could help, or left one that hurt."""
    before, after = changed(Node, old, new)
    affinity, anti_affinity = _required(pod)
    has = after.metadata.labels
    if before is None:
        # A new node has no pods, so nothing keeps the pod off it.
        return queue_if(anti_affinity or any(term.topology_key in has for term in affinity))
    had = before.metadata.labels
    joined = any(
        term.topology_key in has and has[term.topology_key] != had.get(term.topology_key)
        for term in affinity
    )
    left = any(
        term.topology_key in had and had[term.topology_key] != has.get(term.topology_key)
        for term in anti_affinity
    )
    return queue_if(joined or left)


def _has_node(other: Pod) -> bool:
    # Upstream, isSchedulableAfterPodChange: a nominated pod counts on its node as a placed one.
    return bool(other.spec.node_name or other.status.nominated_node_name)


def _required(pod: Pod) -> tuple[tuple[PodAffinityTerm, ...], tuple[PodAffinityTerm, ...]]:
    """Return the pod's required terms of affinity and of anti-affinity."""
    spec = pod.spec
    return (
        spec.pod_affinity.required,
        spec.pod_anti_affinity.required,
    )


def _meets_all(owner: Pod, terms: Sequence[PodAffinityTerm], other: Pod) -> bool:
    """Return whether a pod meets every one of the owner's terms; no terms are not met."""
    return bool(terms) and all(_matches(owner, term, other) for term in terms)


def _matches(owner: Pod, term: PodAffinityTerm, other: Pod) -> bool:
    namespaces = term.namespaces
    if not namespaces and term.namespace_selector is None:
        namespaces = (owner.metadata.namespace,)
    # Upstream's hints compare the namespace selector with no labels at all, so one that requires
    # a label never matches here; see golden case hints-t-0198.
    in_namespace = other.metadata.namespace in namespaces or (
        label_selector(term.namespace_selector).matches({})
    )
    return in_namespace and label_selector(term.label_selector).matches(other.metadata.labels)
