"""Conversions of HorizontalPodAutoscalers between autoscaling/v1 and v2, the stored version.

What v1 has no fields for is in annotations: metrics in structs of v1, and the behavior with the
names of the internal struct, which Go reads in any case of their letters.

Upstream: pkg/apis/autoscaling/v1/conversion.go
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from podwright.apimachinery.objects import Document, write_go_json
from podwright.apimachinery.schema import Kind, built_in, internal_form

_PREFIX: Final = "autoscaling.alpha.kubernetes.io/"
_METRICS: Final = f"{_PREFIX}metrics"
_CONDITIONS: Final = f"{_PREFIX}conditions"
_CURRENT_METRICS: Final = f"{_PREFIX}current-metrics"
_BEHAVIOR: Final = f"{_PREFIX}behavior"
_ANNOTATIONS: Final = (_METRICS, _CONDITIONS, _CURRENT_METRICS, _BEHAVIOR)
_DEFAULT_UTILIZATION: Final = 80

Fields: TypeAlias = Mapping[str, tuple[tuple[str, str, str | None], ...]]

_TARGET: Final = ("target", "describedObject", None)
_METRIC_NAME: Final = ("metricName", "metric.name", "")
_NAME: Final = ("name", "name", "")
_CONTAINER: Final = ("container", "container", "")
_SOURCES: Final[Fields] = {
    "object": (
        _TARGET,
        _METRIC_NAME,
        ("targetValue", "target.value", "0"),
        ("selector", "metric.selector", None),
        ("averageValue", "target.averageValue", None),
    ),
    "pods": (
        _METRIC_NAME,
        ("targetAverageValue", "target.averageValue", "0"),
        ("selector", "metric.selector", None),
    ),
    "resource": (
        _NAME,
        ("targetAverageUtilization", "target.averageUtilization", None),
        ("targetAverageValue", "target.averageValue", None),
    ),
    "containerResource": (
        _NAME,
        ("targetAverageUtilization", "target.averageUtilization", None),
        ("targetAverageValue", "target.averageValue", None),
        _CONTAINER,
    ),
    "external": (
        _METRIC_NAME,
        ("metricSelector", "metric.selector", None),
        ("targetValue", "target.value", None),
        ("targetAverageValue", "target.averageValue", None),
    ),
}
"""By the field of a metric: names in v1 in their order, paths in v2, zero values in v1."""

_STATUSES: Final[Fields] = {
    "object": (
        _TARGET,
        _METRIC_NAME,
        ("currentValue", "current.value", "0"),
        ("selector", "metric.selector", None),
        ("averageValue", "current.averageValue", None),
    ),
    "pods": (
        _METRIC_NAME,
        ("currentAverageValue", "current.averageValue", "0"),
        ("selector", "metric.selector", None),
    ),
    "resource": (
        _NAME,
        ("currentAverageUtilization", "current.averageUtilization", None),
        ("currentAverageValue", "current.averageValue", "0"),
    ),
    "containerResource": (
        _NAME,
        ("currentAverageUtilization", "current.averageUtilization", None),
        ("currentAverageValue", "current.averageValue", "0"),
        _CONTAINER,
    ),
    "external": (
        _METRIC_NAME,
        ("metricSelector", "metric.selector", None),
        ("currentValue", "current.value", "0"),
        ("currentAverageValue", "current.averageValue", None),
    ),
}


def autoscaler_kind(version: str) -> Kind:
    """Return the kind of HorizontalPodAutoscalers in a version."""
    found = built_in().find(f"autoscaling/{version}", "HorizontalPodAutoscaler")
    assert found is not None, f"the table has no HorizontalPodAutoscaler of {version}"
    return found


def autoscaler_v2(document: Document) -> Document:
    """Return a HorizontalPodAutoscaler of autoscaling/v1 in the version v2."""
    metadata = dict(document.get("metadata") or {})
    annotations = dict(metadata.get("annotations") or {})
    spec, status = dict(document.get("spec") or {}), dict(document.get("status") or {})
    metrics = _metrics_v2(_parsed(annotations.pop(_METRICS, "")), _SOURCES)
    target = spec.pop("targetCPUUtilizationPercentage", None)
    if target is None and not metrics:
        target = _DEFAULT_UTILIZATION
    if target is not None:
        metrics.append(_cpu_metric("target", {"type": "Utilization", "averageUtilization": target}))
    spec["metrics"] = metrics
    if behavior := _external_names(_parsed(annotations.pop(_BEHAVIOR, ""))):
        spec["behavior"] = behavior
    used = status.pop("currentCPUUtilizationPercentage", None)
    # The metrics of the annotation have more in them.
    current = _metrics_v2(_parsed(annotations.pop(_CURRENT_METRICS, "")), _STATUSES)
    if not current and used is not None:
        current = [_cpu_metric("current", {"averageUtilization": used})]
    if current:
        status["currentMetrics"] = current
    if conditions := _parsed(annotations.pop(_CONDITIONS, "")):
        status["conditions"] = conditions
    metadata["annotations"] = annotations
    changes = {"apiVersion": "autoscaling/v2", "metadata": metadata, "spec": spec, "status": status}
    return autoscaler_kind("v2").go_form(document | changes)


def autoscaler_v1(document: Document) -> Document:
    """Return a HorizontalPodAutoscaler of autoscaling/v2 in the version v1."""
    metadata = dict(document.get("metadata") or {})
    annotations = dict(metadata.get("annotations") or {})
    for name in _ANNOTATIONS:
        annotations.pop(name, None)
    spec, status = dict(document.get("spec") or {}), dict(document.get("status") or {})
    others: list[Any] = []
    for metric in spec.pop("metrics", None) or ():
        share = _cpu_share(metric, "target")
        if share is None:
            others.append(_metric_v1(metric, _SOURCES))
        else:
            spec.setdefault("targetCPUUtilizationPercentage", share)
    _annotate(annotations, _METRICS, others)
    current = status.pop("currentMetrics", None) or ()
    for metric in current:
        if (share := _cpu_share(metric, "current")) is not None:
            status["currentCPUUtilizationPercentage"] = share
    _annotate(annotations, _CURRENT_METRICS, [_metric_v1(each, _STATUSES) for each in current])
    if (behavior := spec.pop("behavior", None)) is not None:
        shown = internal_form(behavior, "HorizontalPodAutoscalerBehavior")
        _annotate(annotations, _BEHAVIOR, shown)
    _annotate(annotations, _CONDITIONS, status.pop("conditions", None))
    metadata["annotations"] = annotations
    changes = {"apiVersion": "autoscaling/v1", "metadata": metadata, "spec": spec, "status": status}
    return autoscaler_kind("v1").go_form(document | changes)


def consistent_autoscaler(document: Document) -> Document:
    """Return a HorizontalPodAutoscaler of v1 as it is after a conversion to v2 and back."""
    if document.get("apiVersion") != "autoscaling/v1":
        return document
    return autoscaler_v1(autoscaler_v2(document))


def _cpu_metric(part: str, values: Document) -> Document:
    return {"type": "Resource", "resource": {"name": "cpu", part: values}}


def _cpu_share(metric: Document, part: str) -> int | None:
    """Return the average utilization of a metric of the CPU; None for any other."""
    resource = metric.get("resource") or {}
    if metric.get("type") != "Resource" or resource.get("name") != "cpu":
        return None
    share: int | None = (resource.get(part) or {}).get("averageUtilization")
    return share


def _metric_v1(metric: Document, fields: Fields) -> Document:
    made: Document = {"type": metric.get("type") or ""}
    for source, names in fields.items():
        if (found := metric.get(source)) is not None:
            values = {name: _at(found, path) for name, path, _ in names}
            made[source] = {
                name: zero if values[name] is None else values[name]
                for name, _, zero in names
                if values[name] is not None or zero is not None
            }
    return made


def _at(document: Document, path: str) -> Any:
    value: Any = document
    for name in path.split("."):
        value = (value or {}).get(name)
    return value


def _metrics_v2(metrics: Any, fields: Fields) -> list[Document]:
    found = metrics if isinstance(metrics, list) else []
    return [_metric_v2(each, fields) for each in found if isinstance(each, dict)]


def _metric_v2(metric: Document, fields: Fields) -> Document:
    made: Document = {"type": metric.get("type") or ""}
    for source, names in fields.items():
        if (found := metric.get(source)) is None:
            continue
        converted: Document = {}
        for name, path, _ in names:
            if (value := found.get(name)) is not None:
                outer, _, inner = path.rpartition(".")
                (converted.setdefault(outer, {}) if outer else converted)[inner] = value
        if fields is _SOURCES:
            _set_target_type(source, converted.setdefault("target", {}))
        made[source] = converted
    return made


def _set_target_type(source: str, target: Document) -> None:
    """Set the type of a target, which v1 does not have."""
    average = target.get("averageValue")
    if source in ("resource", "containerResource"):
        is_share = target.get("averageUtilization") is not None
        target["type"] = "Utilization" if is_share else "AverageValue"
    elif source == "external":
        target["type"] = "AverageValue" if target.get("value") is None else "Value"
    elif source == "object" and average is None:
        target["type"] = "Value"
    else:
        target["type"] = "AverageValue"
        # An absent value of an object is zero in v1.
        if target.get("value") == "0":
            del target["value"]


def _external_names(value: Any) -> Any:
    """Return a value of the internal struct with the names of the API, without null values."""
    if isinstance(value, list):
        return [_external_names(each) for each in value]
    if isinstance(value, dict):
        return {
            name[:1].lower() + name[1:]: _external_names(each)
            for name, each in value.items()
            if each is not None
        }
    return value


def _parsed(text: str) -> Any:
    if not text:
        return None
    try:
        return json.loads(text)
    except ValueError:
        return None


def _annotate(annotations: dict[str, str], name: str, value: Any) -> None:
    if value:
        annotations[name] = write_go_json(value, sort_keys=False)
