"""Conditions in the status of a pod."""

from __future__ import annotations

from podwright.apimachinery.objects.meta import Condition
from podwright.apimachinery.objects.pods.pod import Pod


def condition_of(pod: Pod, condition_type: str) -> Condition | None:
    """Return the condition of a pod that has a type; None if there is none."""
    for condition in pod.status.conditions:
        if condition.type == condition_type:
            return condition
    return None


def is_ready(pod: Pod) -> bool:
    """Report whether a pod's condition Ready is true.

    Notes
    -----
    Upstream: pkg/api/v1/pod/util.go, IsPodReady
    """
    condition = condition_of(pod, "Ready")
    return condition is not None and condition.status == "True"
