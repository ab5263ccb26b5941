"""The claims of a pod.

Upstream: staging/src/k8s.io/dynamic-resource-allocation/resourceclaim/claim.go;
pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go, `foreachPodResourceClaim`
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TypeAlias

from podwright.apimachinery.objects import Pod, ResourceClaim, with_fields

EXTENDED_RESOURCE_CLAIM = "resource.kubernetes.io/extended-resource-claim"
"""The annotation of claims that the scheduler creates for extended resources."""

FindClaim: TypeAlias = Callable[[str], ResourceClaim | None]
"""Returns a claim by `namespace/name`."""


class MissingClaimError(Exception):
    """A claim of the pod cannot be used; the message is upstream's."""


def claims_of_pod(pod: Pod, find: FindClaim) -> list[ResourceClaim]:
    """Return the claims in `spec.resourceClaims`, in order.

    Raises
    ------
    MissingClaimError
        For the first claim that does not exist, is being deleted, or belongs to another pod.
    """
    found = []
    namespace, name = pod.metadata.namespace, pod.metadata.name
    generated: dict[str, str | None] | None = None
    for entry in pod.spec.resource_claims:
        claim_name: str | None = entry.resource_claim_name
        is_generated = False
        if claim_name is None:
            if entry.resource_claim_template_name is None:
                raise MissingClaimError(
                    f'pod "{namespace}/{name}", spec.resourceClaim "{entry.name}":'
                    " none of the supported fields are set"
                )
            if generated is None:
                generated = generated_claims(pod)
            if entry.name not in generated:
                raise MissingClaimError(f'pod "{namespace}/{name}": ResourceClaim not created yet')
            claim_name, is_generated = generated[entry.name], True
            if claim_name is None:
                # No claim is needed for this entry.
                continue
        claim = find(f"{namespace}/{claim_name}")
        if claim is None:
            raise MissingClaimError(f'could not find ResourceClaim "{namespace}/{claim_name}"')
        if claim.metadata.deletion_timestamp is not None:
            raise MissingClaimError(f'resourceclaim "{claim_name}" is being deleted')
        if is_generated:
            owner = claim.metadata.controller
            if owner is None or owner.uid != pod.metadata.uid:
                raise MissingClaimError(
                    f"ResourceClaim {namespace}/{claim_name} was not created for Pod"
                    f" {namespace}/{name} (Pod is not owner)"
                )
        found.append(claim)
    return found


def generated_claims(pod: Pod) -> dict[str, str | None]:
    """Return the claims that were created from templates, by the name of the pod's entry.

    None: no claim is needed.
    """
    status = pod.raw.get("status") or {}
    return {
        entry.get("name", ""): entry.get("resourceClaimName")
        for entry in status.get("resourceClaimStatuses") or ()
    }


def claim_without_users(claim: ResourceClaim, uids: Collection[str]) -> ResourceClaim | None:
    """Return a claim without some pods that use it; the last one gives the devices back.

    None if the scheduler made the claim for the extended resources of one of the pods: it makes
    another one.
    """
    owner = claim.metadata.controller
    is_special = claim.metadata.annotations.get(EXTENDED_RESOURCE_CLAIM) == "true"
    if is_special and owner is not None and owner.uid in uids:
        return None
    users = claim.status.reserved_for
    kept = tuple(user for user in users if user.uid not in uids)
    if len(kept) == len(users):
        return claim
    if kept:
        return with_fields(claim, "status", reserved_for=kept)
    return with_fields(claim, "status", reserved_for=(), allocation=None, devices=())


def is_reserved_for(claim: ResourceClaim, pod: Pod) -> bool:
    """Return whether a claim is reserved for a pod."""
    return any(user.uid == pod.metadata.uid for user in claim.status.reserved_for)
