"""Edits of the pod: tolerations, selectors, requests, ports, spreading, affinity, priority."""

from __future__ import annotations

from collections.abc import Callable, Container as Collection, Iterable, Sequence
from functools import lru_cache
from typing import Any, TypeVar

import msgspec

from podwright.apimachinery.objects import (
    Container,
    Node,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    NodeTerms,
    ObjectMeta,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    PodAntiAffinity,
    PodSpec,
    PreferredSchedulingTerm,
    PriorityClass,
    ResourceRequirements,
    Taint,
    Toleration,
    TopologySpreadConstraint,
    Volume,
    WeightedPodAffinityTerm,
    node_selector,
    pending_requests,
    with_fields,
)
from podwright.scheduler.advice.amounts import format_amount, quantity_text
from podwright.scheduler.advice.edits import Edit, pod_edit, spec_edit

A = TypeVar("A", PodAffinity, PodAntiAffinity)

compiled: Callable[[NodeSelector], NodeTerms] = lru_cache(maxsize=256)(node_selector)

_PREFERRED_WEIGHT = 100
_LEAST_SHARE = 0.1
"""A request that would have to shrink to less than this share is not worth advising."""
_OWN_TAINTS = "node.kubernetes.io/"
_CONTROL_PLANE = "node-role.kubernetes.io/"


# ---------------------------------------------------------------- nodes that the pod accepts


def taint_text(taint: Taint) -> str:
    """Return a taint as kubectl writes it."""
    value = f"={taint.value}" if taint.value else ""
    return f"{taint.key}{value}:{taint.effect}"


def tolerate(taint: Taint) -> Edit:
    """Add a toleration of one taint."""
    toleration = Toleration(
        key=taint.key,
        operator="Equal" if taint.value else "Exists",
        value=taint.value,
        effect=taint.effect,
    )

    def change(pod: Pod) -> Pod:
        return with_fields(pod, "spec", tolerations=(*pod.spec.tolerations, toleration))

    # Taints of the node lifecycle and of the control plane are there for a reason.
    effort = 4.5 if taint.key.startswith((_OWN_TAINTS, _CONTROL_PLANE)) else 1.0
    text = f"add a toleration for taint {taint_text(taint)}"
    return pod_edit(("tolerate", taint.key, taint.value, taint.effect), text, effort, change)


def select_label(key: str, value: str, actual: str | None) -> Edit:
    """Change one label of nodeSelector to that of the node, or remove it if the node has none."""

    def change(pod: Pod) -> Pod:
        selector = dict(pod.spec.node_selector)
        del selector[key]
        if actual is not None:
            selector[key] = actual
        return with_fields(pod, "spec", node_selector=selector)

    if actual is None:
        return pod_edit(("select", key), f"remove {key}={value} from nodeSelector", 2.5, change)
    text = f"change {key} in nodeSelector from {value} to {actual}"
    return pod_edit(("select", key, actual), text, 2.0, change)


def accept_label(pod: Pod, node: Node) -> list[Edit]:
    """Extend the required node affinity so that it accepts the labels of a node.

    Returns
    -------
    list of Edit
        Empty if no term can be extended by adding values of In or removing values of NotIn.
    """
    required = pod.spec.node_affinity.required
    if required is None:
        return []
    for index, term in enumerate(required.node_selector_terms):
        edited = _extended(term, node)
        if edited is not None:
            new, texts = edited
            path = f"nodeSelectorTerms[{index}]"
            text = f"{' and '.join(texts)} in {path} of the required node affinity"
            return [
                pod_edit(("accept", index, *texts), text, 2.0 + len(texts) / 10, _with(index, new))
            ]
    return []


def _with(index: int, term: NodeSelectorTerm) -> Callable[[Pod], Pod]:
    def change(pod: Pod) -> Pod:
        required = pod.spec.node_affinity.required
        assert required is not None, "the affinity is gone"
        terms = list(required.node_selector_terms)
        terms[index] = term
        return _with_required(pod, NodeSelector(tuple(terms)))

    return change


def _extended(term: NodeSelectorTerm, node: Node) -> tuple[NodeSelectorTerm, list[str]] | None:
    if term.match_fields:
        return None
    expressions: list[NodeSelectorRequirement] = []
    texts: list[str] = []
    for expression in term.match_expressions:
        if _matches(expression, node):
            expressions.append(expression)
            continue
        actual = node.metadata.labels.get(expression.key)
        if actual is None or expression.operator not in ("In", "NotIn"):
            return None
        if expression.operator == "In":
            values = (*expression.values, actual)
            texts.append(f"add {actual} to the values of {expression.key}")
            expressions.append(msgspec.structs.replace(expression, values=values))
            continue
        texts.append(f"remove {actual} from the excluded values of {expression.key}")
        values = tuple(value for value in expression.values if value != actual)
        if values:
            expressions.append(msgspec.structs.replace(expression, values=values))
    if not expressions or not texts:
        return None
    return NodeSelectorTerm(match_expressions=tuple(expressions)), texts


def _matches(expression: NodeSelectorRequirement, node: Node) -> bool:
    selector = NodeSelector((NodeSelectorTerm(match_expressions=(expression,)),))
    return compiled(selector).matches(node.name, node.metadata.labels)


def requires_other_nodes(pod: Pod, node: Node) -> bool:
    """Return whether the pod's required node affinity rejects a node."""
    required = pod.spec.node_affinity.required
    if required is None:
        return False
    return not compiled(required).matches(node.name, node.metadata.labels)


def prefer_nodes() -> Edit:
    """Make the required node affinity preferred."""

    def change(pod: Pod) -> Pod:
        required = pod.spec.node_affinity.required
        return pod if required is None else _with_required(pod, None, required.node_selector_terms)

    return pod_edit(("prefer nodes",), "make the required node affinity preferred", 3.0, change)


def _with_required(
    pod: Pod, required: NodeSelector | None, preferred: Iterable[NodeSelectorTerm] = ()
) -> Pod:
    nodes = pod.spec.node_affinity
    more = tuple(PreferredSchedulingTerm(_PREFERRED_WEIGHT, term) for term in preferred)
    changed = msgspec.structs.replace(
        nodes,
        required_during_scheduling_ignored_during_execution=required,
        preferred_during_scheduling_ignored_during_execution=(
            *nodes.preferred,
            *more,
        ),
    )
    return _with_affinity(pod, node_affinity=changed)


def _with_affinity(pod: Pod, **fields: object) -> Pod:
    affinity = pod.spec.affinity
    assert affinity is not None, "only what a pod has is changed"
    return with_fields(pod, "spec", affinity=msgspec.structs.replace(affinity, **fields))


# ---------------------------------------------------------------- requests and ports


def shrink(pod: Pod, resource: str, free: int) -> Edit | None:
    """Reduce a request to what is free on a node; None if too little is.

    Parameters
    ----------
    free : int
        In the units of the columns: milli-CPU, bytes, units.
    """
    requested = pending_requests(pod).get(resource, 0)
    target = min(free, requested - 1)
    if target < _LEAST_SHARE * requested:
        return None
    text = quantity_text(resource, target)
    reduced = _reduced(pod, resource, target)
    if reduced is None:
        return None
    before = format_amount(resource, requested)
    return pod_edit(
        ("shrink", resource),
        f"reduce the {resource} request from {before} to {text}",
        2.0 + (requested - target) / requested,
        lambda changed: _reduced(changed, resource, target) or changed,
    )


def remove_request(pod: Pod, resource: str, reason: str = "which no node provides") -> Edit:
    """Remove a request of a resource that the pod cannot get, with the reason."""
    amount = format_amount(resource, pending_requests(pod).get(resource, 0))
    text = f"remove the {resource} request of {amount}, {reason}"
    return pod_edit(("shrink", resource), text, 3.0, lambda each: _without_request(each, resource))


def _without_request(pod: Pod, resource: str) -> Pod:
    changes: dict[str, object] = {
        field: tuple(
            msgspec.structs.replace(each, resources=_without(each.resources, resource))
            for each in getattr(pod.spec, field)
        )
        for field in ("containers", "init_containers")
    }
    if pod.spec.resources is not None:
        changes["resources"] = _without(pod.spec.resources, resource)
    return _with_containers(pod, **changes)


def _without(resources: ResourceRequirements, resource: str) -> ResourceRequirements:
    return msgspec.structs.replace(
        resources,
        requests={name: text for name, text in resources.requests.items() if name != resource},
        limits={name: text for name, text in resources.limits.items() if name != resource},
    )


def _reduced(pod: Pod, resource: str, target: int) -> Pod | None:
    """Return the pod with a request of at most `target`, reducing the largest containers first."""
    over = pending_requests(pod).get(resource, 0) - target
    pod_level = pod.spec.resources
    if over > 0 and pod_level is not None and resource in pod_level.requests:
        # Upstream's validation requires a pod's request to cover those of its containers.
        inner = _reduced(with_fields(pod, "spec", resources=None), resource, target)
        if inner is None or over > _amount(pod_level, resource):
            return None
        return with_fields(inner, "spec", resources=_less(pod_level, resource, over))
    for _ in range(2 * (len(pod.spec.containers) + len(pod.spec.init_containers)) + 2):
        over = pending_requests(pod).get(resource, 0) - target
        if over <= 0:
            return pod
        best: Pod | None = None
        least = over + target
        for field in ("containers", "init_containers"):
            containers: tuple[Container, ...] = getattr(pod.spec, field)
            for index in _largest_first(containers, resource):
                changed = _container_reduced(pod, field, index, resource, over)
                left = pending_requests(changed).get(resource, 0)
                # The request is a maximum over init containers: reducing one may change nothing.
                if left < least:
                    best, least = changed, left
                    break
        if best is None:
            return None
        pod = best
    return None


def _amount(resources: ResourceRequirements, resource: str) -> int:
    return pending_requests(Pod(spec=PodSpec(containers=(Container(resources=resources),)))).get(
        resource, 0
    )


def _largest_first(containers: Sequence[Container], resource: str) -> list[int]:
    amounts = {index: _amount(each.resources, resource) for index, each in enumerate(containers)}
    return sorted((i for i, amount in amounts.items() if amount), key=lambda i: -amounts[i])


def _container_reduced(pod: Pod, field: str, index: int, resource: str, over: int) -> Pod:
    containers: list[Container] = list(getattr(pod.spec, field))
    resources = _less(containers[index].resources, resource, over)
    containers[index] = msgspec.structs.replace(containers[index], resources=resources)
    return _with_containers(pod, **{field: tuple(containers)})


def _less(resources: ResourceRequirements, resource: str, over: int) -> ResourceRequirements:
    """Return resources with a smaller request of one of them."""
    amount = quantity_text(resource, max(_amount(resources, resource) - over, 0))
    limits = resources.limits
    # Upstream's validation requires equal requests and limits of extended resources.
    if resource in limits and resource not in ("cpu", "memory", "ephemeral-storage"):
        limits = limits | {resource: amount}
    return msgspec.structs.replace(
        resources, requests=resources.requests | {resource: amount}, limits=limits
    )


def move_port(port: int, other: int) -> Edit:
    """Use another host port."""
    text = f"use hostPort {other} instead of {port}"
    return pod_edit(("port", port), text, 2.0, lambda pod: _with_port(pod, port, other))


def drop_port(port: int) -> Edit:
    """Use no host port."""
    text = f"remove hostPort {port}"
    return pod_edit(("port", port, "none"), text, 2.5, lambda pod: _with_port(pod, port, 0))


def _with_port(pod: Pod, port: int, other: int) -> Pod:
    host_network = pod.spec.host_network
    fields: dict[str, tuple[Container, ...]] = {}
    for field in ("containers", "init_containers"):
        fields[field] = tuple(
            msgspec.structs.replace(
                container,
                ports=tuple(
                    each
                    if each.host_port != port
                    else msgspec.structs.replace(
                        each,
                        host_port=other,
                        # Upstream's validation requires both ports to be equal on the host network.
                        container_port=other if host_network else each.container_port,
                    )
                    for each in container.ports
                ),
            )
            for container in getattr(pod.spec, field)
        )
    return _with_containers(pod, **fields)


def _with_containers(pod: Pod, **fields: object) -> Pod:
    """Return the pod with changed containers, which keep what the structs do not have."""
    changed = with_fields(pod, "spec", **fields)
    if not pod.raw:
        return changed
    spec = dict(changed.raw["spec"])
    for field in ("containers", "initContainers"):
        present = {each["name"]: each for each in pod.raw["spec"].get(field) or ()}
        if present:
            spec[field] = [present[each["name"]] | each for each in spec[field]]
    return msgspec.structs.replace(changed, raw=changed.raw | {"spec": spec})


# ---------------------------------------------------------------- volumes


def remove_volume(volume: Volume) -> Edit:
    """Remove one volume, and its mounts."""
    claim = volume.persistent_volume_claim
    of = f" (PersistentVolumeClaim {claim.claim_name})" if claim is not None else ""
    return pod_edit(
        ("volume", volume.name),
        f"remove the volume {volume.name}{of}",
        3.8,
        lambda pod: without_volumes(pod, (volume.name,)),
    )


def without_volumes(pod: Pod, names: Collection[str]) -> Pod:
    """Return the pod without some volumes and their mounts."""
    volumes = tuple(each for each in pod.spec.volumes if each.name not in names)
    spec = msgspec.structs.replace(pod.spec, volumes=volumes)
    if not pod.raw:
        return msgspec.structs.replace(pod, spec=spec, raw={})
    # The structs have no mounts, and not all sources of volumes.
    written = dict(pod.raw["spec"])
    written["volumes"] = [
        each for each in written.get("volumes") or () if each["name"] not in names
    ]
    for field in ("containers", "initContainers", "ephemeralContainers"):
        if written.get(field):
            written[field] = [_without_mounts(container, names) for container in written[field]]
    return msgspec.structs.replace(pod, spec=spec, raw=pod.raw | {"spec": written})


def _without_mounts(container: dict[str, Any], names: Collection[str]) -> dict[str, Any]:
    mounts = {
        field: [each for each in container[field] if each["name"] not in names]
        for field in ("volumeMounts", "volumeDevices")
        if container.get(field)
    }
    return container | mounts


# ---------------------------------------------------------------- other pods


def _constraint_edit(index: int, key: str, text: str, effort: float, **fields: object) -> Edit:
    def change(pod: Pod) -> Pod:
        constraints = list(pod.spec.topology_spread_constraints)
        constraints[index] = msgspec.structs.replace(constraints[index], **fields)
        return with_fields(pod, "spec", topology_spread_constraints=tuple(constraints))

    where = f"topologySpreadConstraints[{index}]"
    return pod_edit((key, index), f"{text} in {where}", effort, change)


def raise_skew(index: int, constraint: TopologySpreadConstraint, more: int) -> Edit:
    """Raise maxSkew of one spread constraint by a number."""
    skew = constraint.max_skew + more
    text = f"raise maxSkew from {constraint.max_skew} to {skew}"
    effort = 2.0 + more / 100
    return _constraint_edit(index, "maxSkew", text, effort, max_skew=skew)


def spread_softly(index: int) -> Edit:
    """Make one spread constraint a preference."""
    return _constraint_edit(
        index,
        "whenUnsatisfiable",
        "set whenUnsatisfiable: ScheduleAnyway",
        3.0,
        when_unsatisfiable="ScheduleAnyway",
        # Upstream's validation allows minDomains with DoNotSchedule only.
        min_domains=None,
    )


def honor_taints(index: int) -> Edit:
    """Leave nodes whose taints the pod does not tolerate out of one spread constraint."""
    return _constraint_edit(
        index, "nodeTaintsPolicy", "set nodeTaintsPolicy: Honor", 1.9, node_taints_policy="Honor"
    )


def drop_min_domains(index: int) -> Edit:
    """Remove minDomains of one spread constraint."""
    return _constraint_edit(index, "minDomains", "remove minDomains", 2.2, min_domains=None)


def prefer_pods(indexes: Sequence[int]) -> Edit:
    """Make required pod affinity terms preferred."""

    def change(pod: Pod) -> Pod:
        changed = _preferring(pod.spec.pod_affinity, indexes)
        return _with_affinity(pod, pod_affinity=changed)

    text = f"make the required podAffinity {_terms(indexes)} preferred"
    return pod_edit(("prefer pods", *indexes), text, 2.0 + len(indexes), change)


def avoid_pods_softly(indexes: Sequence[int]) -> Edit:
    """Make required pod anti-affinity terms preferred."""

    def change(pod: Pod) -> Pod:
        changed = _preferring(pod.spec.pod_anti_affinity, indexes)
        return _with_affinity(pod, pod_anti_affinity=changed)

    text = f"make the required podAntiAffinity {_terms(indexes)} preferred"
    return pod_edit(("avoid pods", *indexes), text, 2.0 + len(indexes), change)


def _terms(indexes: Sequence[int]) -> str:
    return f"term{'s' * (len(indexes) != 1)} {' and '.join(f'[{index}]' for index in indexes)}"


def _preferring(affinity: A, indexes: Sequence[int]) -> A:
    required: tuple[PodAffinityTerm, ...] = affinity.required
    preferred: tuple[WeightedPodAffinityTerm, ...] = affinity.preferred
    moved: list[WeightedPodAffinityTerm] = [
        WeightedPodAffinityTerm(_PREFERRED_WEIGHT, required[index]) for index in indexes
    ]
    return msgspec.structs.replace(
        affinity,
        required_during_scheduling_ignored_during_execution=tuple(
            term for index, term in enumerate(required) if index not in indexes
        ),
        preferred_during_scheduling_ignored_during_execution=(*preferred, *moved),
    )


def change_label(key: str, value: str) -> Edit:
    """Change one label of the pod, so that other pods' terms do not select it."""

    def change(pod: Pod) -> Pod:
        labels = dict(pod.metadata.labels)
        labels.pop(key, None)
        return with_fields(pod, "metadata", labels=labels)

    text = f"remove the label {key}={value} of the pod, which the anti-affinity of others selects"
    return pod_edit(("label", key), text, 4.0, change)


# ---------------------------------------------------------------- the queue


def raise_priority(value: int, known: PriorityClass | None, taken: Collection[str]) -> Edit:
    """Raise the priority to a value, by an existing PriorityClass or by a new one."""
    name = f"priority-{value}" if known is None else known.name
    while known is None and name in taken:
        name += "-x"
    new = None if known else PriorityClass(metadata=ObjectMeta(name=name), value=value)
    policy = (known.preemption_policy if known else None) or None
    edit = spec_edit(
        ("priority",),
        f"use priorityClassName {name} ({value})"
        if known
        else f"raise the priority to {value} with a new PriorityClass",
        3.0 if known else 3.5,
        priority=value,
        priority_class_name=name,
        preemption_policy=policy,
    )
    return edit if new is None else msgspec.structs.replace(edit, put=(new,))


def drop_gates(names: Sequence[str]) -> Edit:
    """Remove the scheduling gates."""
    text = f"remove the scheduling gate{'s' * (len(names) != 1)} {', '.join(names)}"
    return spec_edit(("gates",), text, 1.0, scheduling_gates=())
