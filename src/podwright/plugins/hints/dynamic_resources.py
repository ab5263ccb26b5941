"""DynamicResources: claims that become allocatable, and new devices.

Upstream: pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go
"""

from __future__ import annotations

from podwright.framework import (
    DEVICE_CLASS,
    NODE,
    POD,
    RESOURCE_CLAIM,
    RESOURCE_SLICE,
    ActionType,
    EventHint,
    Hint,
)
from podwright.objects import KubernetesObject, Pod
from podwright.plugins.hints.objects import changed, queue_if


def events_to_register() -> tuple[EventHint, ...]:
    """Return nodes, claims, the pod's own generated claims, classes and slices."""
    add_or_update = ActionType.ADD | ActionType.UPDATE
    node_actions = (
        ActionType.ADD | ActionType.UPDATE_NODE_LABEL | ActionType.UPDATE_NODE_ALLOCATABLE
    )
    return (
        EventHint(NODE, node_actions),
        EventHint(RESOURCE_CLAIM, add_or_update, after_claim_change),
        EventHint(POD, ActionType.UPDATE_POD_GENERATED_RESOURCE_CLAIM, after_generated_claims),
        EventHint(DEVICE_CLASS, add_or_update),
        EventHint(RESOURCE_SLICE, add_or_update),
    )


def after_claim_change(pod: Pod, old: object | None, new: object | None) -> Hint:
    """Queue if any claim gave its devices back, or a claim of the pod is new or changed."""
    before, after = changed(KubernetesObject, old, new)
    names = _claim_names(pod)
    if None in names:
        # The pod waits until its claim is generated, whatever other events arrive.
        return Hint.SKIP
    had, has = (
        None if before is None else before.raw.get("status") or {},
        after.raw.get("status") or {},
    )
    if had is not None and had.get("allocation") and not has.get("allocation"):
        return Hint.QUEUE
    is_mine = after.metadata.namespace == pod.metadata.namespace and after.metadata.name in names
    return queue_if(is_mine and had != has)


def after_generated_claims(pod: Pod, old: object | None, new: object | None) -> Hint:
    """Queue if it is the pod itself and every claim it waits for exists."""
    _, after = changed(Pod, old, new)
    return queue_if(after.metadata.uid == pod.metadata.uid and None not in _claim_names(after))


def _claim_names(pod: Pod) -> list[str | None]:
    """Return the names of the pod's claims; None for one that is not generated yet."""
    status = pod.raw.get("status") or {}
    generated = {
        entry.get("name"): entry.get("resourceClaimName")
        for entry in status.get("resourceClaimStatuses") or ()
    }
    names = [
        claim.resource_claim_name or generated.get(claim.name) for claim in pod.spec.resource_claims
    ]
    extended = status.get("extendedResourceClaimStatus") or {}
    if extended.get("resourceClaimName"):
        names.append(extended["resourceClaimName"])
    return names
