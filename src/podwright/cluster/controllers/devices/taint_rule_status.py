"""The status of DeviceTaintRules: whether an eviction is in progress, and how many pods it takes.

Upstream: pkg/controller/devicetainteviction/device_taint_eviction.go, maybeUpdateRuleStatus
"""

from __future__ import annotations

from typing import Final

import msgspec

from podwright.apimachinery.objects import SECOND_NS, DeviceTaintRule, Document, timestamp_text
from podwright.cluster.api import section

STATUS_PERIOD_NS: Final = 10 * SECOND_NS
"""The least time between two writes of one status."""

_IN_PROGRESS: Final = "EvictionInProgress"


class EvictionCount(msgspec.Struct, frozen=True, kw_only=True):
    """What a rule selects.

    Parameters
    ----------
    pods, namespaces : int
        The pods that are to be deleted because of it, and how many namespaces they are in.
    evicted : int
        The pods that were deleted because of it.
    published, allocated : int
        The selected devices in slices, and in allocations.
    """

    pods: int = 0
    namespaces: int = 0
    evicted: int = 0
    published: int = 0
    allocated: int = 0


def known_condition(rule: DeviceTaintRule) -> Document | None:
    """Return the condition EvictionInProgress that a rule has."""
    for condition in section(rule, "status").get("conditions") or ():
        if condition.get("type") == _IN_PROGRESS:
            found: Document = condition
            return found
    return None


def eviction_condition(rule: DeviceTaintRule, count: EvictionCount, now_ns: int) -> Document | None:
    """Return the condition EvictionInProgress of a rule; None if it has it already."""
    status, reason, message = "False", "OtherEffect", ""
    match rule.spec.taint.effect:
        case "NoExecute" if count.pods:
            status, reason = "True", "PodsPendingEviction"
            need = "pod needs" if count.pods == 1 else "pods need"
            message = f"{count.pods} {need} to be evicted in {_namespaces(count)}."
        case "NoExecute":
            reason = "Completed" if count.evicted else "NotStarted"
        case "None":
            reason = "NoEffect"
            message = (
                f"{_counted(count.published, 'published device')} selected."
                f" {_counted(count.allocated, 'allocated device')} selected."
                f" {_counted(count.pods, 'pod')} would be evicted in {_namespaces(count)} if the"
                " effect was NoExecute. This information will not be updated again. Recreate the"
                " DeviceTaintRule to trigger an update."
            )
        case _:
            message = "Eviction only happens for the NoExecute effect."
    if count.evicted:
        evicted = f"{_counted(count.evicted, 'pod')} evicted since starting the controller."
        message = f"{message} {evicted}".lstrip()
    condition: Document = {
        "type": _IN_PROGRESS,
        "status": status,
        "reason": reason,
        "message": message,
        "observedGeneration": rule.metadata.generation,
    }
    known = known_condition(rule)
    if known is not None and all(known.get(name) == value for name, value in condition.items()):
        return None
    return condition | {"lastTransitionTime": timestamp_text(now_ns)}


def _counted(count: int, name: str) -> str:
    return f"{count} {name}{'s' * (count != 1)}"


def _namespaces(count: EvictionCount) -> str:
    if count.namespaces == 1:
        return "1 namespace"
    return f"{count.namespaces} different namespaces"
