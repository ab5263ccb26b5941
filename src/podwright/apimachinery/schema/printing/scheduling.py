"""Cells of groups of pods, and of requests for the status of device pools.

Upstream: pkg/printers/internalversion/printers.go
"""

from __future__ import annotations

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema.printing.conversions import NONE, age


def group_policy(group: Document) -> str:
    """Return whether the pods of a group are scheduled together."""
    policy = (group.get("spec") or {}).get("schedulingPolicy") or {}
    return "Basic" if policy.get("gang") is None else "Gang"


def group_workload(group: Document) -> str:
    """Return the Workload of a group."""
    reference = (group.get("spec") or {}).get("podGroupTemplateRef")
    if reference is None:
        return NONE
    return str((reference.get("workload") or {}).get("workloadName") or "")


def group_status(group: Document) -> str:
    """Return whether a group is scheduled, or why it is disrupted."""
    conditions = (group.get("status") or {}).get("conditions") or ()
    found = {each.get("type"): each for each in conditions}
    if disruption := found.get("DisruptionTarget"):
        return str(disruption.get("reason") or "")
    scheduled = found.get("PodGroupScheduled")
    if scheduled is None:
        return "Pending"
    return "Scheduled" if scheduled.get("status") == "True" else "Unschedulable"


def pool_request_state(request: Document) -> str:
    """Return whether a request was answered, and with how many of the pools."""
    state, _ = _end(request)
    status = request.get("status") or {}
    shown, count = len(status.get("pools") or ()), status.get("poolCount") or 0
    return f"Complete ({shown}/{count} pools)" if state == "Complete" and count > shown else state


def pool_request_completion(request: Document, now_ns: int) -> str:
    """Return how long ago a request was answered."""
    state, time = _end(request)
    return age(time, now_ns) if state == "Complete" else NONE


def pool_count(request: Document) -> int:
    """Return the number of pools that a request is about."""
    return int((request.get("status") or {}).get("poolCount") or 0)


def total_devices(request: Document) -> str:
    """Return the devices of the pools."""
    return _sum(request, "totalDevices")


def available_devices(request: Document) -> str:
    """Return the devices of the pools that are free."""
    return _sum(request, "availableDevices")


def allocated_devices(request: Document) -> str:
    """Return the devices of the pools that are allocated."""
    return _sum(request, "allocatedDevices")


def unavailable_devices(request: Document) -> str:
    """Return the devices of the pools that cannot be allocated."""
    return _sum(request, "unavailableDevices")


def pool_errors(request: Document) -> str:
    """Return the number of pools that are not valid."""
    pools = _pools(request)
    if pools is None:
        return "-"
    return str(sum(pool.get("validationError") is not None for pool in pools))


def _sum(request: Document, field: str) -> str:
    pools = _pools(request)
    return "-" if pools is None else str(sum(pool.get(field) or 0 for pool in pools))


def _pools(request: Document) -> list[Document] | None:
    """Return the pools of an answer; None without an answer, or if it failed."""
    status = request.get("status")
    if status is None or _end(request)[0] == "Failed":
        return None
    return status.get("pools") or []


def _end(request: Document) -> tuple[str, str]:
    """Return how a request ended, and when."""
    for condition in (request.get("status") or {}).get("conditions") or ():
        if condition.get("type") in ("Complete", "Failed") and condition.get("status") == "True":
            return condition["type"], condition.get("lastTransitionTime") or ""
    return "Pending", ""
