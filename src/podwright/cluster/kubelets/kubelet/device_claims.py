"""The resource claims of a pod, which the drivers of its node prepare before its sandbox starts.

A driver reports a prepared device in `status.devices` of the claim, with the condition Ready. The
devices are cleaned up with the allocation, which ends with the last pod that uses the claim.

Upstream: pkg/kubelet/cm/dra/manager.go, prepareResources
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from podwright.apimachinery.devices import (
    PREPARE_DELAY,
    generated_claims,
    is_reserved_for,
    slice_name,
)
from podwright.apimachinery.objects import (
    Document,
    KubernetesObject,
    Pod,
    ResourceClaim,
    condition_of,
    parse_duration,
    timestamp_ns,
    timestamp_text,
)
from podwright.cluster.api import UpdateObject, patched, section
from podwright.cluster.kubelets.kubelet.references import ObjectReader
from podwright.cluster.store import GroupKind

PREPARE_ERROR: Final = "podwright.dev/prepare-error"
"""The annotation of a claim whose devices cannot be prepared: the error of the driver."""

_RESOURCE_CLAIM: Final[GroupKind] = ("resource.k8s.io", "ResourceClaim")
_RESOURCE_SLICE: Final[GroupKind] = ("resource.k8s.io", "ResourceSlice")
_READY: Final = "Ready"


class PrepareError(Exception):
    """The claims cannot be prepared; the message is upstream's."""


class Preparation(NamedTuple):
    """What the drivers of a node do for a pod.

    Attributes
    ----------
    writes : list of UpdateObject
    due_ns : int
        When they are done; nothing is written before.
    """

    writes: list[UpdateObject]
    due_ns: int


def has_claims(pod: Pod) -> bool:
    """Return whether a pod has claims to prepare."""
    if pod.spec.resource_claims:
        return True
    status = pod.raw.get("status")
    return status is not None and bool(status.get("extendedResourceClaimStatus"))


def prepared_claims(pod: Pod, reader: ObjectReader, now_ns: int) -> Preparation:
    """Prepare the claims of a pod, and return the writes of the drivers.

    Drivers begin when the pod is bound, and all at once.

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
    due_ns = now_ns
    for claim in claims:
        devices = _device_statuses(claim, now_ns)
        if devices is not None:
            driver = devices[0]["driver"]
            writes.append(
                UpdateObject(patched(claim, status={"devices": devices}), "status", driver)
            )
            delay_ns = _delay_ns(claim, reader)
            if delay_ns:
                due_ns = max(due_ns, _bound_ns(pod, now_ns) + delay_ns)
    return Preparation(writes if due_ns <= now_ns else [], due_ns)


def _delay_ns(claim: ResourceClaim, reader: ObjectReader) -> int:
    """Return how long the drivers of a claim take.

    That is the annotation of the claim, or of the slices that a simulated driver publishes.
    """
    texts = [claim.metadata.annotations.get(PREPARE_DELAY)]
    if texts[0] is None and claim.status.allocation is not None:
        pools = {(each.driver, each.pool) for each in claim.status.allocation.devices.results}
        for driver, pool in sorted(pools):
            of = reader.get(_RESOURCE_SLICE, slice_name(pool, driver, 0))
            texts.append(None if of is None else of.metadata.annotations.get(PREPARE_DELAY))
    return max((_duration_ns(claim, text) for text in texts if text is not None), default=0)


def _duration_ns(claim: ResourceClaim, text: str) -> int:
    try:
        return max(parse_duration(text), 0)
    except ValueError:
        raise PrepareError(
            f"NodePrepareResources failed for ResourceClaim {claim.name}: {PREPARE_DELAY}:"
            f' "{text}" is not a duration such as 5s'
        ) from None


def _bound_ns(pod: Pod, now_ns: int) -> int:
    """Return when a pod was bound, in whole seconds."""
    condition = condition_of(pod, "PodScheduled")
    known = None if condition is None else timestamp_ns(condition.last_transition_time)
    return now_ns if known is None else known


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
