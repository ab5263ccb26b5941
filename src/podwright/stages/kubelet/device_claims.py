"""The resource claims of a pod, which the drivers of its node prepare before its sandbox starts.

A driver reports a prepared device in `status.devices` of the claim, with the condition Ready. The
devices are cleaned up with the allocation, which ends with the last pod that uses the claim.

Upstream: pkg/kubelet/cm/dra/manager.go, prepareResources
"""

from __future__ import annotations

from typing import Any, Final

from podwright.api import UpdateObject, patched, section
from podwright.devices import generated_claims, is_reserved_for
from podwright.objects import Document, KubernetesObject, Pod, ResourceClaim, timestamp_text
from podwright.stages.kubelet.references import ObjectReader
from podwright.store import GroupKind

PREPARE_ERROR: Final = "podwright.dev/prepare-error"
"""The annotation of a claim whose devices cannot be prepared: the error of the driver."""

_RESOURCE_CLAIM: Final[GroupKind] = ("resource.k8s.io", "ResourceClaim")
_READY: Final = "Ready"


class PrepareError(Exception):
    """The claims cannot be prepared; the message is upstream's."""


def prepared_claims(pod: Pod, reader: ObjectReader, now_ns: int) -> list[UpdateObject]:
    """Prepare the claims of a pod, and return the writes of the drivers.

    Raises
    ------
    PrepareError
        For the first claim that cannot be prepared; then none is.
    """
    claims = [_usable_claim(pod, name, reader) for name in _claim_names(pod)]
    for claim in claims:
        error = claim.metadata.annotations.get(PREPARE_ERROR)
        if error is not None:
            raise PrepareError(
                f"NodePrepareResources failed for ResourceClaim {claim.name}: {error}"
            )
    writes = []
    for claim in claims:
        devices = _device_statuses(claim, now_ns)
        if devices is not None:
            driver = devices[0]["driver"]
            writes.append(
                UpdateObject(patched(claim, status={"devices": devices}), "status", driver)
            )
    return writes


def _claim_names(pod: Pod) -> list[tuple[str, bool]]:
    """Return the names of the pod's claims, and whether each was made for the pod."""
    generated = generated_claims(pod)
    names: list[tuple[str, bool]] = []
    for entry in pod.spec.resource_claims:
        if entry.resource_claim_name is not None:
            names.append((entry.resource_claim_name, False))
        elif entry.resource_claim_template_name is None:
            raise PrepareError(
                f'pod "{pod.namespace}/{pod.name}", spec.resourceClaim "{entry.name}": none of the'
                " supported fields are set"
            )
        elif entry.name not in generated:
            raise PrepareError(f'pod "{pod.namespace}/{pod.name}": ResourceClaim not created yet')
        else:
            name = generated[entry.name]
            if name is not None:
                names.append((name, True))
    extended = section(pod, "status").get("extendedResourceClaimStatus") or {}
    if extended.get("resourceClaimName"):
        names.append((extended["resourceClaimName"], False))
    return names


def _usable_claim(pod: Pod, named: tuple[str, bool], reader: ObjectReader) -> ResourceClaim:
    """Return a claim whose devices the pod may use."""
    name, is_generated = named
    claim: KubernetesObject | None = reader.get(_RESOURCE_CLAIM, f"{pod.namespace}/{name}")
    if not isinstance(claim, ResourceClaim):
        raise PrepareError(
            f'fetch ResourceClaim {name}: resourceclaims.resource.k8s.io "{name}" not found'
        )
    owner = claim.metadata.controller
    if is_generated and (owner is None or owner.uid != pod.uid):
        raise PrepareError(
            f"ResourceClaim {claim.namespace}/{name} was not created for Pod"
            f" {pod.namespace}/{pod.name} (Pod is not owner)"
        )
    if not is_reserved_for(claim, pod):
        raise PrepareError(
            f"pod {pod.name} ({pod.uid}) is not allowed to use ResourceClaim {name} ({claim.uid})"
        )
    if claim.status.allocation is None:
        raise PrepareError(f"ResourceClaim {name}: not allocated")
    return claim


def _device_statuses(claim: ResourceClaim, now_ns: int) -> list[Document] | None:
    """Return `status.devices` with every device ready; None if it says so already."""
    statuses: list[Document] = [
        dict(each) for each in section(claim, "status").get("devices") or ()
    ]
    known = {_identity(each): each for each in statuses}
    has_changed = False
    for result in (section(claim, "status").get("allocation") or {})["devices"].get(
        "results"
    ) or ():
        status = known.get(_identity(result))
        if status is None:
            status = {field: result[field] for field in ("driver", "pool", "device")}
            if result.get("shareID"):
                status["shareID"] = result["shareID"]
            known[_identity(result)] = status
            statuses.append(status)
        conditions = status.get("conditions") or []
        if any(each.get("type") == _READY for each in conditions):
            continue
        ready = {
            "type": _READY,
            "status": "True",
            "reason": "Prepared",
            "message": "",
            "lastTransitionTime": timestamp_text(now_ns),
        }
        status["conditions"] = [*conditions, ready]
        has_changed = True
    return statuses if has_changed else None


def _identity(of: Document) -> tuple[Any, ...]:
    return of.get("driver"), of.get("pool"), of.get("device"), of.get("shareID")
