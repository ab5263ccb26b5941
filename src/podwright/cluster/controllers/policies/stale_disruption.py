"""Stale DisruptionTarget conditions: announced disruptions that did not happen.

A component that is about to delete a pod first sets its condition DisruptionTarget. If the pod is
not deleted within two minutes, this controller sets the condition to False.

Upstream: pkg/controller/disruption/disruption.go, syncStalePodDisruption
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from podwright.apimachinery.objects import (
    Condition,
    Document,
    KubernetesObject,
    NamespacedName,
    Pod,
    condition_of,
    timestamp_ns,
    timestamp_text,
)
from podwright.cluster.api import patched, section
from podwright.cluster.controllers.interface import (
    ControllerAction,
    PodChange,
    StatelessController,
    SyncAt,
    SyncDue,
    UpdateObject,
)
from podwright.cluster.controllers.kinds import POD, GroupKind
from podwright.cluster.controllers.lister import Lister

TIMEOUT_NS: Final = 120_000_000_000

_TARGET: Final = "DisruptionTarget"
_BY_KUBELET: Final = "TerminationByKubelet"


class StaleDisruptionController(StatelessController):
    """Resets stale DisruptionTarget conditions."""

    name = "stale-pod-disruption"
    kinds: Sequence[GroupKind] = (POD,)
    pod_changes = PodChange.DISRUPTION_TARGET | PodChange.ADDED

    def __init__(self, lister: Lister) -> None:
        self._lister = lister

    def observe(
        self, old: KubernetesObject | None, new: KubernetesObject | None
    ) -> Iterable[NamespacedName]:
        """Return a pod with the condition that is not terminating."""
        return (new.key,) if isinstance(new, Pod) and _stale_target(new) is not None else ()

    def sync(self, key: NamespacedName, now_ns: int) -> list[ControllerAction]:
        """Reset the condition, or requeue the pod for the time when it becomes stale."""
        pod = self._lister.get(POD, key)
        target = _stale_target(pod) if isinstance(pod, Pod) else None
        if not isinstance(pod, Pod) or target is None:
            return []
        due_ns = (timestamp_ns(target.last_transition_time) or 0) + TIMEOUT_NS
        if due_ns > now_ns:
            return [SyncAt(due_ns, SyncDue(self.name, key))]
        taken_back: Document = {
            "type": _TARGET,
            "status": "False",
            "lastProbeTime": None,
            "lastTransitionTime": timestamp_text(now_ns),
        }
        if pod.metadata.generation:
            taken_back["observedGeneration"] = pod.metadata.generation
        conditions = [
            taken_back if each.get("type") == _TARGET else each
            for each in section(pod, "status").get("conditions") or ()
        ]
        new = patched(pod, status={"conditions": conditions})
        return [UpdateObject(new, "status", self.name)]


def _stale_target(pod: Pod) -> Condition | None:
    """Return the condition that can become stale; one set by a kubelet cannot.

    Upstream: nonTerminatingPodHasStaleDisruptionCondition
    """
    target = condition_of(pod, _TARGET)
    if target is None or target.status != "True" or target.reason == _BY_KUBELET:
        return None
    return None if pod.is_terminating or pod.is_terminal else target
