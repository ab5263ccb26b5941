"""Allocation results: what a solution writes into the status of a claim.

Upstream: staging/src/k8s.io/dynamic-resource-allocation/structured/internal/incubating/
allocator_incubating.go, `Allocate` and `createNodeSelector`;
pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go, `isClaimReadyForBinding` and
`isClaimTimeout`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import NamedTuple

from podwright.apimachinery.devices.allocator import Chosen, Solution
from podwright.apimachinery.devices.requests import requests_of
from podwright.apimachinery.objects import (
    AllocatedDeviceStatus,
    AllocationResult,
    Condition,
    DeviceAllocationConfiguration,
    DeviceAllocationResult,
    DeviceClass,
    DeviceRequestAllocationResult,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    ResourceClaim,
    format_quantity,
    go_quoted,
    timestamp_ns,
)

NODE_NAME = "metadata.name"
FROM_CLASS, FROM_CLAIM = "FromClass", "FromClaim"


class UnsupportedSelectorError(Exception):
    """A node selector has more than one term."""


def allocation_results(
    solution: Solution,
    claims: Sequence[ResourceClaim],
    classes: Mapping[str, DeviceClass],
    node_name: str,
) -> tuple[AllocationResult, ...]:
    """Return the allocation of each claim.

    Parameters
    ----------
    claims : sequence of ResourceClaim
        Those that were searched for.
    """
    found = []
    for claim, chosen, alternatives in zip(
        claims, solution.chosen, solution.alternatives, strict=True
    ):
        results = [_result(each, claim, place) for place, each in enumerate(chosen)]
        devices = DeviceAllocationResult(
            results=tuple(results), config=_configurations(claim, alternatives, classes)
        )
        selector = _node_selector(chosen, node_name)
        found.append(AllocationResult(devices=devices, node_selector=selector))
    return tuple(found)


def _result(chosen: Chosen, claim: ResourceClaim, place: int) -> DeviceRequestAllocationResult:
    choice, device = chosen.choice, chosen.device
    driver, pool, name = device.id
    return DeviceRequestAllocationResult(
        request=choice.full_name,
        driver=driver,
        pool=pool,
        device=name,
        admin_access=True if choice.is_admin else None,
        tolerations=choice.tolerations,
        binding_conditions=device.device.binding_conditions,
        binding_failure_conditions=device.device.binding_failure_conditions,
        share_id=None if chosen.consumed is None else _share_id(claim, str(device.id), place),
        # An amount in steps has no suffix, as upstream. The second call gives it the form in which
        # API servers store it: the status of a claim with another form could not be updated.
        consumed_capacity={
            capacity: format_quantity(format_quantity(amount))
            for capacity, amount in (chosen.consumed or {}).items()
        },
    )


def _share_id(claim: ResourceClaim, device: str, place: int) -> str:
    """Return the id of a share in the form of a random UUID.

    Notes
    -----
    Upstream's are random. This one is a function of the claim, the device and the place in the
    results, so that a run can be repeated.
    """
    text = f"{claim.metadata.uid}/{claim.metadata.resource_version}/{device}/{place}"
    digits = blake2b(text.encode(), digest_size=16).hexdigest()
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"


def _configurations(
    claim: ResourceClaim, alternatives: tuple[int, ...], classes: Mapping[str, DeviceClass]
) -> tuple[DeviceAllocationConfiguration, ...]:
    """Return the configurations of the classes, then those of the claim.

    Notes
    -----
    An entry of the claim that names two requests appears twice, as upstream writes it.
    """
    requests = requests_of(claim.spec)
    if not claim.spec.devices.config and not any(
        classes[choice.class_name].spec.config
        for request in requests
        for choice in request.choices
        if choice.class_name in classes
    ):
        return ()
    names_of_class: dict[str, list[str]] = {}
    for request, alternative in zip(requests, alternatives, strict=True):
        choice = request.choices[alternative]
        names_of_class.setdefault(choice.class_name, []).append(choice.full_name)
    found = [
        DeviceAllocationConfiguration(
            source=FROM_CLASS, requests=tuple(names), opaque=configuration.opaque
        )
        for class_name, names in names_of_class.items()
        for configuration in classes[class_name].spec.config
    ]
    for entry in claim.spec.devices.config:
        written = DeviceAllocationConfiguration(
            source=FROM_CLAIM, requests=entry.requests, opaque=entry.opaque
        )
        if not entry.requests:
            found.append(written)
            continue
        for request, alternative in zip(requests, alternatives, strict=True):
            full_name = request.choices[alternative].full_name
            if request.name in entry.requests or full_name in entry.requests:
                found.append(written)
    return tuple(found)


def _node_selector(chosen: tuple[Chosen, ...], node_name: str) -> NodeSelector | None:
    """Return the nodes from which all devices of a claim can be used; None: from all."""
    fields: list[NodeSelectorRequirement] = []
    expressions: list[NodeSelectorRequirement] = []
    for each in chosen:
        device = each.device
        nodes = device.slice.nodes if device.nodes is None else device.nodes
        if nodes.name or device.device.binds_to_node:
            return _only(node_name)
        if nodes.selector is None or not nodes.selector.node_selector_terms:
            continue
        term, *others = nodes.selector.node_selector_terms
        if others:
            raise UnsupportedSelectorError(
                f"unsupported ResourceSlice.NodeSelector with {len(others) + 1} terms"
            )
        _add_new(term.match_fields, fields)
        _add_new(term.match_expressions, expressions)
    if not fields and not expressions:
        return None
    term = NodeSelectorTerm(match_expressions=tuple(expressions), match_fields=tuple(fields))
    return NodeSelector((term,))


@lru_cache(maxsize=65_536)
def _only(node_name: str) -> NodeSelector:
    """Return a selector of one node."""
    own = NodeSelectorRequirement(NODE_NAME, "In", (node_name,))
    return NodeSelector((NodeSelectorTerm(match_fields=(own,)),))


def _add_new(
    requirements: tuple[NodeSelectorRequirement, ...], to: list[NodeSelectorRequirement]
) -> None:
    for new in requirements:
        if not any(
            present.key == new.key
            and present.operator == new.operator
            and set(present.values) == set(new.values)
            for present in to
        ):
            to.append(new)


# Binding conditions: whether allocated devices are ready for the pod to be bound.


class Readiness(NamedTuple):
    """Whether the devices of a claim are ready.

    Attributes
    ----------
    is_ready : bool
    failure : str
        Why binding failed; "" if it did not.
    """

    is_ready: bool
    failure: str = ""


READY, NOT_READY = Readiness(is_ready=True), Readiness(is_ready=False)


def readiness(claim: ResourceClaim) -> Readiness:
    """Return whether all binding conditions of a claim's devices are true."""
    allocation = claim.status.allocation
    if allocation is None:
        return NOT_READY
    for result in allocation.devices.results:
        if not result.binding_conditions:
            continue
        status = _status_of(claim, result)
        if status is None:
            return NOT_READY
        for name in result.binding_failure_conditions:
            failed = _true_condition(status, name)
            if failed is not None:
                return Readiness(
                    is_ready=False,
                    failure=f"device binding failed: claim={claim.metadata.name},"
                    f" reason={failed.reason}, message={go_quoted(failed.message)}",
                )
        if any(_true_condition(status, name) is None for name in result.binding_conditions):
            return NOT_READY
    return READY


def has_binding_conditions(claim: ResourceClaim) -> bool:
    """Return whether a claim has devices with binding conditions."""
    allocation = claim.status.allocation
    return allocation is not None and any(
        result.binding_conditions for result in allocation.devices.results
    )


def has_timed_out(claim: ResourceClaim, timeout_ns: int, now_ns: int) -> bool:
    """Return whether the time for the devices of a claim to become ready is over."""
    allocation = claim.status.allocation
    if allocation is None or not has_binding_conditions(claim):
        return False
    since_ns = timestamp_ns(allocation.allocation_timestamp)
    return since_ns is not None and since_ns + timeout_ns < now_ns


def _status_of(
    claim: ResourceClaim, result: DeviceRequestAllocationResult
) -> AllocatedDeviceStatus | None:
    for status in claim.status.devices:
        if (status.driver, status.pool, status.device) == (
            result.driver,
            result.pool,
            result.device,
        ):
            return status
    return None


def _true_condition(status: AllocatedDeviceStatus, name: str) -> Condition | None:
    for condition in status.conditions:
        if condition.type == name:
            return condition if condition.status == "True" else None
    return None
