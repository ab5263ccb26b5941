"""Binding conditions: whether allocated devices are ready for the pod to be bound.

Upstream: pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go,
`isClaimReadyForBinding` and `isClaimTimeout`
"""

from __future__ import annotations

from typing import NamedTuple

from podwright.apimachinery.objects import (
    AllocatedDeviceStatus,
    Condition,
    DeviceRequestAllocationResult,
    ResourceClaim,
    go_quoted,
    timestamp_ns,
)


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
