"""Horizontal autoscaling in a cluster without metrics: bounds are kept, and metrics are missing.

Every 15 s, a target with more than `maxReplicas` or fewer than `minReplicas` is scaled to that
bound. All else needs metrics, and no pod of a simulated kubelet has any: the status and the Events
say so, as those of a cluster without metrics server do.

Upstream: pkg/controller/podautoscaler/horizontal.go, reconcileAutoscaler; replica_calculator.go
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from podwright._checkpointed import Saved
from podwright.apimachinery.objects import (
    Document,
    KubernetesObject,
    NamespacedName,
    api_group,
    encode,
    timestamp_text,
)
from podwright.apimachinery.schema import decode
from podwright.cluster.api import conditions_with, patched, section
from podwright.cluster.controllers.interface import Actions, Controller, Keys, Version
from podwright.cluster.controllers.kinds import (
    DEPLOYMENT,
    HPA,
    REPLICA_SET,
    REPLICATION_CONTROLLER,
    STATEFUL_SET,
)
from podwright.cluster.controllers.lister import Lister
from podwright.cluster.controllers.workload_fields import condition
from podwright.cluster.store import GroupKind

_PERIOD_NS: Final = 15_000_000_000
_RESOURCES: Final[dict[GroupKind, str]] = {
    DEPLOYMENT: "deployments.apps",
    REPLICA_SET: "replicasets.apps",
    STATEFUL_SET: "statefulsets.apps",
    REPLICATION_CONTROLLER: "replicationcontrollers",
}
_FETCH: Final = "unable to fetch metrics from"
_NO_RESOURCE: Final = "the server could not find the requested resource"
_CUSTOM: Final = f"{_FETCH} custom metrics API: no custom metrics API (custom.metrics.k8s.io)"


class MissingMetric(NamedTuple):
    """Why a metric is missing.

    Attributes
    ----------
    reason : str
        Of the condition and the Event.
    what : str
        Which value it is.
    message : str
    """

    reason: str
    what: str
    message: str


class HorizontalAutoscalerController(Controller):
    """Keeps the bounds of autoscalers, and reports the missing metrics."""

    name = "horizontal-pod-autoscaler"
    kinds = (HPA,)
    _due_ns: Saved[dict[NamespacedName, int]]

    def __init__(self, lister: Lister) -> None:
        super().__init__(lister)
        # When each autoscaler is next reconciled.
        self._due_ns = {}

    def observe(self, old: Version, new: Version) -> Keys:
        """Return a new autoscaler; changes of it are seen in the next period."""
        if new is None and old is not None:
            self._due_ns.pop(old.key, None)
        return () if new is None or new.key in self._due_ns else (new.key,)

    def sync(self, key: NamespacedName, now_ns: int) -> Actions:
        """Reconcile an autoscaler that is due; a new one is due after the first period."""
        autoscaler = self._lister.get(HPA, key)
        if autoscaler is None:
            return []
        due_ns = self._due_ns.get(key)
        if due_ns is not None and now_ns < due_ns:
            return []
        actions = [] if due_ns is None else self._reconciled(autoscaler, now_ns)
        self._due_ns[key] = now_ns + _PERIOD_NS
        return [*actions, self.sync_at(key, now_ns + _PERIOD_NS)]

    def _reconciled(self, autoscaler: KubernetesObject, now_ns: int) -> Actions:
        spec = section(autoscaler, "spec")
        target = self._target(autoscaler, spec)
        if isinstance(target, str):
            note = f"the HPA controller was unable to get the target's current scale: {target}"
            return [
                self.warning(autoscaler, "FailedGetScale", target),
                *self._written(
                    autoscaler, [condition("AbleToScale", "False", "FailedGetScale", note, now_ns)]
                ),
            ]
        replicas = section(target, "spec").get("replicas")
        current = 1 if replicas is None else replicas
        note = "the HPA controller was able to get the target's current scale"
        able = condition("AbleToScale", "True", "SucceededGetScale", note, now_ns)
        bound = _bound(spec, current)
        if bound is not None:
            return self._rescaled(autoscaler, target, current, *bound, now_ns)
        if not current:
            note = "scaling is disabled since the replica count of the target is zero"
            off = condition("ScalingActive", "False", "ScalingDisabled", note, now_ns)
            return self._written(
                autoscaler, [able, off], currentReplicas=0, desiredReplicas=0, currentMetrics=None
            )
        missing = [_missing(each) for each in _metrics(spec)]
        first = missing[0]
        note = f"the HPA was unable to compute the replica count: {first.message}"
        off = condition("ScalingActive", "False", first.reason, note, now_ns)
        count = len(missing)
        error = f"failed to get {first.what} metric value: {first.message}"
        note = f"invalid metrics ({count} invalid out of {count}), first error is: {error}"
        return [
            *(self.warning(autoscaler, each.reason, each.message) for each in missing),
            *self._written(
                autoscaler,
                [able, off],
                currentReplicas=current,
                currentMetrics=[{"type": ""} for _ in missing],
            ),
            self.warning(autoscaler, "FailedComputeMetricsReplicas", note),
        ]

    def _target(self, autoscaler: KubernetesObject, spec: Document) -> KubernetesObject | str:
        """Return the target, or why it cannot be scaled."""
        reference = spec["scaleTargetRef"]
        kind = (api_group(reference.get("apiVersion") or "v1"), reference["kind"])
        resource = _RESOURCES.get(kind)
        if resource is None:
            return f"podwright scales {', '.join(_RESOURCES.values())}, and not {kind[1]}"
        found = self._lister.get(kind, f"{autoscaler.namespace}/{reference['name']}")
        return f'{resource} "{reference["name"]}" not found' if found is None else found

    def _rescaled(
        self,
        autoscaler: KubernetesObject,
        target: KubernetesObject,
        current: int,
        desired: int,
        reason: str,
        now_ns: int,
    ) -> Actions:
        note = f"the HPA controller was able to update the target scale to {desired}"
        able = condition("AbleToScale", "True", "SucceededRescale", note, now_ns)
        note = f"New size: {desired}; reason: {reason}"
        return [
            self.update(patched(target, spec={"replicas": desired})),
            self.event(autoscaler, "SuccessfulRescale", note),
            *self._written(
                autoscaler,
                [able],
                currentReplicas=current,
                desiredReplicas=desired,
                currentMetrics=None,
                lastScaleTime=timestamp_text(now_ns),
            ),
        ]

    def _written(
        self, autoscaler: KubernetesObject, conditions: Iterable[Document], **counts: Any
    ) -> Actions:
        """Return the write of the status, if it changes."""
        document = encode(autoscaler)
        status = document.get("status") or {}
        found = {"desiredReplicas": 0, **status, **counts}
        for each in conditions:
            found["conditions"] = conditions_with(found.get("conditions") or (), each)
        if document["apiVersion"] == "autoscaling/v1":  # has neither of them
            found.pop("conditions", None)
            found.pop("currentMetrics", None)
            found.setdefault("currentReplicas", 0)
        new = decode(document | {"status": found})
        return [] if new == autoscaler else [self.update(new, "status")]


def _bound(spec: Document, current: int) -> tuple[int, str] | None:
    """Return the bound that a number of replicas exceeds, and the reason of the change."""
    minimum = 1 if spec.get("minReplicas") is None else spec["minReplicas"]
    if current and current > spec["maxReplicas"]:
        return spec["maxReplicas"], "Current number of replicas above Spec.MaxReplicas"
    if current and current < minimum:
        return minimum, "Current number of replicas below Spec.MinReplicas"
    return None


def _metrics(spec: Document) -> Sequence[Document]:
    """Return the metrics of an autoscaler; the default one of the API without any."""
    percentage = spec.get("targetCPUUtilizationPercentage") or 80
    target = {"type": "Utilization", "averageUtilization": percentage}
    default = {"type": "Resource", "resource": {"name": "cpu", "target": target}}
    return spec.get("metrics") or (default,)


def _missing(metric: Document) -> MissingMetric:
    """Return why a metric is missing in a cluster that serves no metrics."""
    kind = metric["type"]
    source = metric[kind[0].lower() + kind[1:]]
    if kind in {"Resource", "ContainerResource"}:
        name = source["name"]
        usage = "usage" if "averageValue" in source["target"] else "utilization"
        message = (
            f"failed to get {name} {usage}: unable to get metrics for resource {name}: {_FETCH}"
            f" resource metrics API: {_NO_RESOURCE} (get pods.metrics.k8s.io)"
        )
        what = f"{name} resource" if kind == "Resource" else f"{source['container']} container"
        return MissingMetric(f"FailedGet{kind}Metric", what, message)
    name = source["metric"]["name"]
    if kind == "External":
        message = (
            f"unable to get external metric {name}: {_FETCH} external metrics API: {_NO_RESOURCE}"
            f" (get {name}.external.metrics.k8s.io)"
        )
    else:
        message = f"unable to get metric {name}: {_CUSTOM} registered"
    return MissingMetric(f"FailedGet{kind}Metric", kind.lower(), message)
