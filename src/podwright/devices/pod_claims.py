"""The claims of a pod.

Upstream: staging/src/k8s.io/dynamic-resource-allocation/resourceclaim/claim.go;
pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go, `foreachPodResourceClaim`
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from podwright.objects import Pod, ResourceClaim

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
    for entry in pod.spec.resource_claims:
        claim_name: str | None = entry.resource_claim_name
        is_generated = False
        if claim_name is None:
            if entry.resource_claim_template_name is None:
                raise MissingClaimError(
                    f'pod "{namespace}/{name}", spec.resourceClaim "{entry.name}":'
                    " none of the supported fields are set"
                )
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


def is_reserved_for(claim: ResourceClaim, pod: Pod) -> bool:
    """Return whether a claim is reserved for a pod."""
    return any(user.uid == pod.metadata.uid for user in claim.status.reserved_for)
