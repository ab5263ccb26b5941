"""Horizontal autoscaling by the usage that pods declare.

Every 15 s, a target with more than `maxReplicas` or fewer than `minReplicas` is scaled to that
bound, and any other one to the number of replicas that its metrics ask for. The metrics of
resources are what the pods declare (`DeclaredUsages`). Where none of them does, and for all other
metrics, the status and the Events say what those of a cluster without metrics server do.

Upstream: pkg/controller/podautoscaler/horizontal.go, reconcileAutoscaler
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, Final, NamedTuple

from podwright._checkpointed import Saved
from podwright.apimachinery.objects import (
    Document,
    KubernetesObject,
    NamespacedName,
    Pod,
    Quantity,
    QuantityFormat,
    ReplicationController,
    Selector,
    api_group,
    encode,
    format_quantity,
    labels_as_selector,
    parse_quantity,
    quantity_milli_value,
    timestamp_text,
)
from podwright.apimachinery.schema import decode
from podwright.cluster.api import (
    USAGE_KINDS,
    DeclaredUsages,
    UsageError,
    conditions_with,
    patched,
    section,
)
from podwright.cluster.controllers.adoption import selector_of
from podwright.cluster.controllers.autoscaling.declared_usage import declares_usage
from podwright.cluster.controllers.autoscaling.replica_calculation import (
    CalculationError,
    ResourceTarget,
    Tolerance,
    measured,
    proposed_replicas,
)
from podwright.cluster.controllers.autoscaling.scaling_limits import ScalingHistory, within_limits
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
from podwright.cluster.store import POD, GroupKind, kind_of

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


class FoundMetric(NamedTuple):
    """A metric, and the number of replicas that it asks for.

    Attributes
    ----------
    name : str
        As messages name it.
    replicas : int
    status : dict
        Its entry in the status.
    """

    name: str
    replicas: int
    status: Document


class HorizontalAutoscalerController(Controller):
    """Scales targets within their bounds, and reports the missing metrics.

    Parameters
    ----------
    needs_usage : bool
        Whether autoscalers of targets within their bounds whose template declares no usage are left
        alone.
    """

    name = "horizontal-pod-autoscaler"
    kinds = (HPA, *_RESOURCES, *USAGE_KINDS)
    _due_ns: Saved[dict[NamespacedName, int]]
    _histories: Saved[dict[NamespacedName, ScalingHistory]]

    def __init__(self, lister: Lister, *, needs_usage: bool = False) -> None:
        super().__init__(lister)
        self._needs_usage = needs_usage
        # When each autoscaler is next reconciled.
        self._due_ns = {}
        self._histories = {}

    def observe(self, old: Version, new: Version) -> Keys:
        """Return the autoscalers that may begin; changes of others are seen in the next period."""
        changed = old if new is None else new
        assert changed is not None, "an object was added, changed or removed"
        if kind_of(changed) != HPA:
            if not self._needs_usage or new is None:
                return ()
            autoscalers = self._objects_of(HPA, new.namespace)
            return [each.key for each in autoscalers if each.key not in self._due_ns]
        if new is None:
            self._due_ns.pop(changed.key, None)
            self._histories.pop(changed.key, None)
            return ()
        return () if new.key in self._due_ns else (new.key,)

    def sync(self, key: NamespacedName, now_ns: int) -> Actions:
        """Reconcile an autoscaler that is due; a new one is due after the first period."""
        autoscaler = self._lister.get(HPA, key)
        if autoscaler is None:
            return []
        if self._needs_usage:
            spec = section(autoscaler, "spec")
            target = self._target(autoscaler, spec)
            usages = chain(*(self._objects_of(kind, "") for kind in USAGE_KINDS))
            if isinstance(target, str) or not (
                _bound(spec, _replicas(target)) or declares_usage(target, usages)
            ):
                self._due_ns.pop(key, None)
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
        current = _replicas(target)
        note = "the HPA controller was able to get the target's current scale"
        able = condition("AbleToScale", "True", "SucceededGetScale", note, now_ns)
        history = self._histories.setdefault(
            autoscaler.key, ScalingHistory(recommendations=[(now_ns, current)])
        )
        bound = _bound(spec, current)
        if bound is not None:
            if spec.get("behavior"):
                history.changes.append((now_ns, bound[0] - current))
            return self._rescaled(autoscaler, target, current, *bound, now_ns)

        def inactive(reason: str, note: str, **counts: Any) -> Actions:
            off = condition("ScalingActive", "False", reason, note, now_ns)
            return self._written(autoscaler, [able, off], currentReplicas=current, **counts)

        if not current:
            note = "scaling is disabled since the replica count of the target is zero"
            return inactive("ScalingDisabled", note, desiredReplicas=0, currentMetrics=None)
        pods = self._pods(target)
        if rivals := self._rivals(autoscaler, pods):
            names = " ".join(f"{{{each.name} {each.namespace}}}" for each in rivals)
            which = f"pods by selector {_selector(target)}"
            note = f"{which} are controlled by multiple HPAs: [{names}]"
            return [
                self.warning(autoscaler, "AmbiguousSelector", note),
                *inactive("AmbiguousSelector", note, currentMetrics=None),
                self.warning(autoscaler, "FailedComputeMetricsReplicas", note),
            ]
        usages = DeclaredUsages(self._lister.get, self._objects_of, now_ns)
        found = [_read(each, spec, pods, usages, current, now_ns) for each in _metrics(spec)]
        missing = [each for each in found if isinstance(each, MissingMetric)]
        best = max(
            (each for each in found if isinstance(each, FoundMetric)),
            key=lambda each: each.replicas,
            default=None,
        )
        warnings = [self.warning(autoscaler, each.reason, each.message) for each in missing]
        statuses = [
            each.status if isinstance(each, FoundMetric) else {"type": ""} for each in found
        ]
        if best is None or (missing and best.replicas < current):
            first = missing[0]
            why = f"the HPA was unable to compute the replica count: {first.message}"
            note = (
                f"invalid metrics ({len(missing)} invalid out of {len(found)}), first error is:"
                f" failed to get {first.what} metric value: {first.message}"
            )
            return [
                *warnings,
                *inactive(first.reason, why, currentMetrics=statuses),
                self.warning(autoscaler, "FailedComputeMetricsReplicas", note),
            ]
        return [*warnings, *self._scaled(autoscaler, target, current, best, statuses, now_ns)]

    def _scaled(
        self,
        autoscaler: KubernetesObject,
        target: KubernetesObject,
        current: int,
        best: FoundMetric,
        statuses: list[Document],
        now_ns: int,
    ) -> Actions:
        """Scale to what a metric asks for, as quickly as the behavior allows."""
        spec = section(autoscaler, "spec")
        history = self._histories[autoscaler.key]
        limited = within_limits(spec, history, current, best.replicas, now_ns)
        note = f"the HPA was able to successfully calculate a replica count from {best.name}"
        conditions = [
            condition("AbleToScale", "True", *limited.stabilized, now_ns),
            condition("ScalingActive", "True", "ValidMetricFound", note, now_ns),
            condition("ScalingLimited", str(limited.is_limited), *limited.limit, now_ns),
        ]
        desired = limited.replicas
        if desired != current:
            if spec.get("behavior"):
                history.changes.append((now_ns, desired - current))
            reason = ""  # upstream, of a recommendation before
            if best.replicas > current:
                reason = f"{best.name} above target"
            elif best.replicas < current:
                reason = "All metrics below target"
            return self._rescaled(
                autoscaler, target, current, desired, reason, now_ns, statuses, conditions
            )
        return self._written(
            autoscaler,
            conditions,
            currentReplicas=current,
            desiredReplicas=current,
            currentMetrics=statuses,
        )

    def _rivals(self, autoscaler: KubernetesObject, pods: list[Pod]) -> list[KubernetesObject]:
        """Return the autoscalers of some pods by name, if there are others."""
        found = []
        for other in self._lister.in_namespace(HPA, autoscaler.namespace).values():
            target = self._target(other, section(other, "spec"))
            if not isinstance(target, str):
                selector = _selector(target)
                if any(selector.matches(pod.metadata.labels) for pod in pods):
                    found.append(other)
        return sorted(found, key=lambda each: each.name) if len(found) > 1 else []

    def _objects_of(self, kind: GroupKind, namespace: str) -> Iterable[KubernetesObject]:
        """Return the objects of a kind in a namespace, or in all of them if it is empty."""
        lister = self._lister
        found = lister.in_namespace(kind, namespace) if namespace else lister.all(kind)
        return found.values()

    def _pods(self, target: KubernetesObject) -> list[Pod]:
        """Return the pods that the selector of a target matches."""
        selector = _selector(target)
        pods = self._objects_of(POD, target.namespace)
        return [
            pod for pod in pods if isinstance(pod, Pod) and selector.matches(pod.metadata.labels)
        ]

    def _target(self, autoscaler: KubernetesObject, spec: Document) -> KubernetesObject | str:
        """Return the target, or why it cannot be scaled."""
        # Edited dumps may lack what a server requires.
        reference = spec.get("scaleTargetRef") or {}
        name = reference.get("name") or ""
        kind = (api_group(reference.get("apiVersion") or "v1"), reference.get("kind") or "")
        resource = _RESOURCES.get(kind)
        if resource is None:
            return f"podwright scales {', '.join(_RESOURCES.values())}, and not {kind[1]}"
        found = self._lister.get(kind, f"{autoscaler.namespace}/{name}")
        return f'{resource} "{name}" not found' if found is None else found

    def _rescaled(
        self,
        autoscaler: KubernetesObject,
        target: KubernetesObject,
        current: int,
        desired: int,
        reason: str,
        now_ns: int,
        statuses: list[Document] | None = None,
        conditions: Iterable[Document] = (),
    ) -> Actions:
        note = f"the HPA controller was able to update the target scale to {desired}"
        able = condition("AbleToScale", "True", "SucceededRescale", note, now_ns)
        note = f"New size: {desired}; reason: {reason}"
        return [
            self.update(patched(target, spec={"replicas": desired})),
            self.event(autoscaler, "SuccessfulRescale", note),
            *self._written(
                autoscaler,
                [*conditions, able],
                currentReplicas=current,
                desiredReplicas=desired,
                currentMetrics=statuses,
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


def _selector(target: KubernetesObject) -> Selector:
    if isinstance(target, ReplicationController):
        return labels_as_selector(target.spec.selector)
    return selector_of(target)


def _replicas(target: KubernetesObject) -> int:
    replicas = section(target, "spec").get("replicas")
    return 1 if replicas is None else int(replicas)


def _bound(spec: Document, current: int) -> tuple[int, str] | None:
    """Return the bound that a number of replicas exceeds, and the reason of the change."""
    minimum = 1 if spec.get("minReplicas") is None else spec["minReplicas"]
    maximum = spec.get("maxReplicas") or 0
    if current and current > maximum:
        return maximum, "Current number of replicas above Spec.MaxReplicas"
    if current and current < minimum:
        return minimum, "Current number of replicas below Spec.MinReplicas"
    return None


def _metrics(spec: Document) -> Sequence[Document]:
    """Return the metrics of an autoscaler; the default one of the API without any."""
    percentage = spec.get("targetCPUUtilizationPercentage") or 80
    target = {"type": "Utilization", "averageUtilization": percentage}
    default = {"type": "Resource", "resource": {"name": "cpu", "target": target}}
    return spec.get("metrics") or (default,)


def _read(
    metric: Document,
    spec: Document,
    pods: list[Pod],
    usages: DeclaredUsages,
    current: int,
    now_ns: int,
) -> FoundMetric | MissingMetric:
    """Return the number of replicas that a metric asks for, or why there is none."""
    kind = metric["type"]
    if kind not in {"Resource", "ContainerResource"}:
        return _missing(metric)
    source = metric[kind[0].lower() + kind[1:]]
    name, wanted = source["name"], source["target"]
    average = wanted.get("averageValue")
    target = ResourceTarget(
        resource=name,
        container=source.get("container", ""),
        utilization=wanted.get("averageUtilization") if average is None else None,
        average_milli=0 if average is None else quantity_milli_value(average),
    )
    try:
        metrics = measured(pods, target, usages)
        if metrics is None:
            return _missing(metric)
        proposal = proposed_replicas(pods, metrics, target, current, _tolerance(spec), now_ns)
    except (CalculationError, UsageError) as error:
        missing = _missing(metric)
        why = f"unable to get metrics for resource {name}: {error}"
        usage = missing.message.partition(": ")[0]
        return missing._replace(
            message=f"{usage}: {why if isinstance(error, UsageError) else error}"
        )
    unit: QuantityFormat = "BinarySI" if name == "memory" else "DecimalSI"
    shown: Document = {
        "averageValue": format_quantity(Quantity(proposal.average_milli, -3, format=unit))
    }
    title = f"{name} resource"
    if proposal.utilization is not None:
        shown["averageUtilization"] = proposal.utilization
        which = "container resource" if target.container else "resource"
        title = f"{name} {which} utilization (percentage of request)"
    named = {each: source[each] for each in ("name", "container") if each in source}
    status = {"type": kind, kind[0].lower() + kind[1:]: {**named, "current": shown}}
    return FoundMetric(title, proposal.replicas, status)


def _tolerance(spec: Document) -> Tolerance:
    behavior = spec.get("behavior") or {}
    given = ((behavior.get(each) or {}).get("tolerance") for each in ("scaleDown", "scaleUp"))
    return Tolerance(
        *(
            default if text is None else parse_quantity(text).nano / 1e9
            for text, default in zip(given, Tolerance(), strict=True)
        )
    )


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
