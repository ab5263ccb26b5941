"""DynamicResources: claims that become usable, and where devices are.

Upstream: pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go
"""

from __future__ import annotations

from typing import Any

from podwright.framework.events import (
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
    """Queue if a claim of the pod is new, or its status changed."""
    before, after = changed(KubernetesObject, old, new)
    if (
        after.metadata.namespace != pod.metadata.namespace
        or after.metadata.name not in _claim_names(pod)
    ):
        # An allocation that was given back may be what this pod needs.
        return queue_if(
            before is not None
            and _status(before, "allocation")
            and not _status(after, "allocation")
        )
    if before is None:
        return Hint.QUEUE
    return queue_if(
        any(
            _status(before, field) != _status(after, field)
            for field in ("allocation", "reservedFor")
        )
    )


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


def _status(claim: KubernetesObject, field: str) -> Any:
    return (claim.raw.get("status") or {}).get(field)
