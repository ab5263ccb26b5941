"""The claim for extended resources that device classes back.

Upstream: pkg/scheduler/framework/plugins/dynamicresources/extendeddynamicresources.go
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import msgspec

from podwright.apimachinery.devices import EXTENDED_RESOURCE_CLAIM
from podwright.apimachinery.objects import (
    Container,
    DeviceClaim,
    DeviceRequest,
    ExactDeviceRequest,
    ObjectMeta,
    OwnerReference,
    Pod,
    ResourceClaim,
    ResourceClaimSpec,
    is_extended_resource,
    parse_quantity,
)
from podwright.scheduler.columns import DEVICE_CLASS_PREFIX, DeviceClassIndex

IN_MEMORY_NAME: Final = "<extended-resources>"
"""The name of a claim that is not written yet; no object can have it."""

_MOST_BITS = 63
"""A container that requests more devices gets no request: upstream's AsInt64 fails."""


class RequestMapping(NamedTuple):
    """Which request of the claim provides a container's extended resource."""

    container: str
    resource: str
    request: str


class NodeClaim(NamedTuple):
    """The claim as a node needs it.

    Attributes
    ----------
    claim : ResourceClaim
    mappings : tuple of RequestMapping
    """

    claim: ResourceClaim
    mappings: tuple[RequestMapping, ...]


def in_memory_claim(pod: Pod) -> ResourceClaim:
    """Return the claim of a pod's extended resources before it is written, without requests."""
    owner = OwnerReference(
        api_version="v1",
        kind="Pod",
        name=pod.metadata.name,
        uid=pod.metadata.uid,
        controller=True,
    )
    return ResourceClaim(
        metadata=ObjectMeta(
            name=IN_MEMORY_NAME,
            namespace=pod.metadata.namespace,
            generate_name=f"{pod.metadata.name}-extended-resources-",
            # It identifies the pending allocation.
            uid=f"{IN_MEMORY_NAME} {pod.metadata.uid}",
            annotations={EXTENDED_RESOURCE_CLAIM: "true"},
            owner_references=(owner,),
        )
    )


def is_in_memory(claim: ResourceClaim) -> bool:
    """Return whether a claim is not written yet."""
    return claim.metadata.name == IN_MEMORY_NAME


def claim_for_node(
    claim: ResourceClaim, pod: Pod, resources: Iterable[str], classes: DeviceClassIndex
) -> NodeClaim:
    """Return the claim with the requests for some extended resources.

    Parameters
    ----------
    resources : iterable of str
        Those that the node provides through device classes.
    """
    requests: list[DeviceRequest] = []
    mappings: list[RequestMapping] = []
    for resource in sorted(resources):
        class_name = classes.class_of(resource)
        if class_name:
            found, mapped = _requests_of(pod, resource, class_name)
            requests += found
            mappings += mapped
    requests.sort(key=lambda request: request.name)
    spec = ResourceClaimSpec(DeviceClaim(requests=tuple(requests)))
    return NodeClaim(msgspec.structs.replace(claim, spec=spec, raw={}), tuple(mappings))


def _requests_of(
    pod: Pod, resource: str, class_name: str
) -> tuple[list[DeviceRequest], list[RequestMapping]]:
    """Return the requests of all containers for one resource, and their mappings."""
    init_count = len(pod.spec.init_containers)
    containers = (*pod.spec.init_containers, *pod.spec.containers)
    short_lived = [
        i for i, container in enumerate(containers) if i < init_count and not container.is_sidecar
    ]
    long_requests: list[DeviceRequest | None] = [None] * len(containers)
    mappings: list[RequestMapping] = []
    for i, container in enumerate(containers):
        if i not in short_lived:
            long_requests[i], mapped = _request_of(i, container, resource, class_name, ())
            mappings += mapped
    largest: DeviceRequest | None = None
    names: set[str] = set()
    short_mappings: list[RequestMapping] = []
    for i in short_lived:
        own, mapped = _request_of(i, containers[i], resource, class_name, long_requests[i:])
        short_mappings += mapped
        if own is not None:
            names.add(own.name)
            if largest is None or _count(largest) < _count(own):
                largest = own
    # Ordinary init containers run one after the other, so the largest request is enough.
    if largest is not None:
        short_mappings = [
            mapping._replace(request=largest.name) if mapping.request in names else mapping
            for mapping in short_mappings
        ]
    found = [] if largest is None else [largest]
    found += [request for request in long_requests if request is not None]
    return found, mappings + short_mappings


def _count(request: DeviceRequest) -> int:
    exactly = request.exactly
    assert exactly is not None, f"{request.name} has alternatives"
    return exactly.count


def _request_of(
    index: int,
    container: Container,
    resource: str,
    class_name: str,
    reusable: Sequence[DeviceRequest | None],
) -> tuple[DeviceRequest | None, list[RequestMapping]]:
    """Return the request of one container, and where its devices come from.

    Parameters
    ----------
    index : int
        The container's index, init containers first.
    reusable : sequence of DeviceRequest or None
        Requests whose devices the container can use before they are needed.
    """
    requested = container.resources.requests
    if resource not in requested:
        return None, []
    quantity = parse_quantity(requested[resource])
    amount, part = divmod(quantity.nano, 10**9)
    if quantity.is_decimal or part or not amount or amount.bit_length() > _MOST_BITS:
        return None, []
    total = 0
    mappings: list[RequestMapping] = []
    for other in reusable:
        if other is None:
            continue
        total += _count(other)
        mappings.append(RequestMapping(container.name, resource, other.name))
        if total >= amount:
            return None, mappings
    name = f"container-{index}-request-{sorted(requested).index(resource)}"
    exactly = ExactDeviceRequest(
        device_class_name=class_name, allocation_mode="ExactCount", count=amount - total
    )
    mappings.append(RequestMapping(container.name, resource, name))
    return DeviceRequest(name=name, exactly=exactly), mappings


# Which extended resources of a pod device classes may back.


def extended_requests(pod: Pod) -> tuple[str, ...]:
    """Return the extended resources in a pod's spec, sorted.

    A pod may request an amount of 0 of them, which only the sum of its requests shows.
    """
    spec = pod.spec
    named = [container.resources.requests for container in spec.containers]
    named += [container.resources.requests for container in spec.init_containers]
    if spec.resources is not None:
        named.append(spec.resources.requests)
    if spec.overhead:
        named.append(spec.overhead)
    # Neither prefixes nor extended resources are without a slash, as nearly all names are.
    names = {name for requests in named for name in requests if "/" in name}
    return tuple(sorted(filter(_may_be_backed, names))) if names else ()


def _may_be_backed(name: str) -> bool:
    return name.startswith(DEVICE_CLASS_PREFIX) or is_extended_resource(name)
