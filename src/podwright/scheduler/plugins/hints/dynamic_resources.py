"""DynamicResources: claims that become allocatable, and new devices.

Upstream: pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go
"""

from __future__ import annotations

from functools import partial

from podwright.apimachinery.devices import FindClaim, MissingClaimError, claims_of_pod
from podwright.apimachinery.objects import Pod, ResourceClaim
from podwright.scheduler.framework import (
    DEVICE_CLASS,
    NODE,
    POD,
    RESOURCE_CLAIM,
    RESOURCE_SLICE,
    ActionType,
    Concerned,
    EventHint,
    Hint,
)
from podwright.scheduler.plugins.hints.objects import changed, queue_if


def events_to_register(find: FindClaim) -> tuple[EventHint, ...]:
    """Return nodes, claims, the pod's own generated claims, classes and slices.

    Parameters
    ----------
    find : callable
        Returns a claim by `namespace/name`.
    """
    add_or_update = ActionType.ADD | ActionType.UPDATE
    node_actions = (
        ActionType.ADD | ActionType.UPDATE_NODE_LABEL | ActionType.UPDATE_NODE_ALLOCATABLE
    )
    generated = ActionType.UPDATE_POD_GENERATED_RESOURCE_CLAIM
    return (
        EventHint(NODE, node_actions),
        EventHint(RESOURCE_CLAIM, add_or_update, partial(after_claim_change, find), users_of_claim),
        EventHint(POD, generated, partial(after_generated_claims, find), the_pod_itself),
        EventHint(DEVICE_CLASS, add_or_update),
        EventHint(RESOURCE_SLICE, add_or_update),
    )


def after_claim_change(find: FindClaim, pod: Pod, old: object | None, new: object | None) -> Hint:
    """Queue if any claim gave its devices back, or a claim of the pod is new or changed."""
    before, after = changed(ResourceClaim, old, new)
    try:
        claims = claims_of_pod(pod, find)
    except MissingClaimError:
        # The pod waits until its claims exist, whatever other events arrive.
        return Hint.SKIP
    if before is not None and before.status.allocation and not after.status.allocation:
        return Hint.QUEUE
    if not any(claim.metadata.uid == after.metadata.uid for claim in claims):
        return Hint.SKIP
    return queue_if(before is None or before.raw.get("status") != after.raw.get("status"))


def users_of_claim(old: object | None, new: object | None) -> Concerned | None:
    """Return the owner of a claim and the pods that name it; None if it gave its devices back."""
    before, after = changed(ResourceClaim, old, new)
    if before is not None and before.status.allocation and not after.status.allocation:
        return None
    owner = after.metadata.controller
    return Concerned("" if owner is None else owner.uid, after.key)


def the_pod_itself(old: object | None, new: object | None) -> Concerned | None:
    """Return the pod of the event."""
    uid = changed(Pod, old, new)[1].metadata.uid
    return Concerned(uid) if uid else None


def after_generated_claims(
    find: FindClaim, pod: Pod, old: object | None, new: object | None
) -> Hint:
    """Queue if it is the pod itself and every claim it waits for exists."""
    _, after = changed(Pod, old, new)
    if after.metadata.uid != pod.metadata.uid:
        return Hint.SKIP
    try:
        claims_of_pod(after, find)
    except MissingClaimError:
        return Hint.SKIP
    return Hint.QUEUE
