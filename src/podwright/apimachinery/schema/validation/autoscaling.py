"""Validation of horizontal pod autoscalers of autoscaling/v2.

Upstream: pkg/apis/autoscaling/validation/validation.go
"""

from __future__ import annotations

from typing import Final

from podwright.apimachinery.objects import Document, format_quantity
from podwright.apimachinery.schema.validation.field_errors import FieldErrors
from podwright.apimachinery.schema.validation.names import dns_label, path_segment
from podwright.apimachinery.schema.validation.pods.resources import (
    validate_container_resource_name,
    validate_quantity,
)

_SOURCES: Final = {
    "Object": "object",
    "External": "external",
    "Pods": "pods",
    "Resource": "resource",
    "ContainerResource": "containerResource",
}
_TYPES: Final = ("ContainerResource", "External", "Object", "Pods", "Resource")
_RESOURCE_CHOICE: Final = (
    "averageUtilization",
    "must set either a target raw value or a target utilization",
    "may not set both a target raw value and a target utilization",
)
# The field besides averageValue, and the texts for none and for both of them.
_CHOICES: Final = {
    "object": ("value", "must set either a target value or averageValue", ""),
    "external": (
        "value",
        "must set either a target value for metric or a per-pod target",
        "may not set both a target value for metric and a per-pod target",
    ),
    "resource": _RESOURCE_CHOICE,
    "containerResource": _RESOURCE_CHOICE,
}
_PERIOD_MAX_S: Final = 1800
_WINDOW_MAX_S: Final = 3600


def validate_autoscaler(errors: FieldErrors, autoscaler: Document) -> None:
    """Check a new autoscaler."""
    _validate(errors, autoscaler, needs_group=True)


def _validate(errors: FieldErrors, autoscaler: Document, *, needs_group: bool) -> None:
    spec = autoscaler.get("spec") or {}
    least, most = spec.get("minReplicas"), spec.get("maxReplicas") or 0
    if least is not None and least < 1:
        errors.invalid("spec.minReplicas", least, "must be greater than or equal to 1")
    if most == 0:
        errors.required("spec.maxReplicas", "must be set and greater than 0")
    elif most < 0:
        errors.invalid("spec.maxReplicas", most, "must be greater than or equal to 1")
    if least is not None and most < least:
        errors.invalid("spec.maxReplicas", most, "must be greater than or equal to `minReplicas`")
    target = spec.get("scaleTargetRef") or {}
    _validate_reference(errors, "spec.scaleTargetRef", target)
    if needs_group:
        _validate_group(errors, "spec.scaleTargetRef", target)
    for index, metric in enumerate(spec.get("metrics") or ()):
        _validate_metric(errors, f"spec.metrics[{index}]", metric)
    kinds = {metric.get("type") for metric in spec.get("metrics") or ()}
    if least == 0 and not kinds & {"Object", "External"}:
        text = "must specify at least one Object or External metric to support scaling to zero"
        errors.forbidden("spec.metrics", f"{text} replicas")
    behavior = spec.get("behavior") or {}
    for name in ("scaleUp", "scaleDown"):
        if (rules := behavior.get(name)) is not None:
            _validate_rules(errors, f"spec.behavior.{name}", rules)


def validate_autoscaler_update(errors: FieldErrors, new: Document, old: Document) -> None:
    """Check a changed autoscaler, all of whose fields may change."""
    before = FieldErrors()
    _validate_group(before, "", (old.get("spec") or {}).get("scaleTargetRef") or {})
    _validate(errors, new, needs_group=not before.problems)


def _validate_group(errors: FieldErrors, path: str, reference: Document) -> None:
    """Check that a reference has an API group; only replication controllers have none."""
    version = reference.get("apiVersion") or ""
    if "/" not in version and reference.get("kind") != "ReplicationController":
        errors.invalid(f"{path}.apiVersion", version, "apiVersion must specify API group")


def _validate_reference(errors: FieldErrors, path: str, reference: Document) -> None:
    for name in ("kind", "name"):
        if value := reference.get(name):
            errors.each(f"{path}.{name}", value, path_segment(value))
        else:
            errors.required(f"{path}.{name}")
    version = reference.get("apiVersion") or ""
    if version.count("/") > 1:
        text = f"unexpected GroupVersion string: {version}"
        errors.invalid(f"{path}.apiVersion", version, text)


def _validate_metric(errors: FieldErrors, path: str, metric: Document) -> None:
    kind = metric.get("type") or ""
    if not kind:
        errors.required(f"{path}.type", "must specify a metric source type")
    if kind not in _SOURCES:
        errors.unsupported(f"{path}.type", kind, _TYPES)
    found = [name for name in _SOURCES.values() if metric.get(name) is not None]
    if found:
        _validate_source(errors, f"{path}.{found[0]}", found[0], metric[found[0]])
    if kind not in _SOURCES:
        # Upstream reports it where it looks for the source, too.
        errors.unsupported(f"{path}.type", kind, _TYPES)
    expected = _SOURCES.get(kind, "")
    if expected and expected not in found:
        text = "must populate information for the given metric source"
        errors.required(f"{path}.{expected}", text)
    if len(found) != 1:
        for name in found:
            if name != expected:
                text = "must populate the given metric source only"
                errors.forbidden(f"{path}.{name}", text)


def _validate_source(errors: FieldErrors, path: str, kind: str, source: Document) -> None:
    if kind in ("resource", "containerResource"):
        if not source.get("name"):
            errors.required(f"{path}.name", "must specify a resource name")
        elif kind == "containerResource":
            validate_container_resource_name(errors, f"{path}.name", source["name"])
        if kind == "containerResource":
            _validate_container(errors, path, source.get("container"))
    else:
        if kind == "object":
            described = source.get("describedObject") or {}
            _validate_reference(errors, f"{path}.describedObject", described)
        name = (source.get("metric") or {}).get("name")
        if not name:
            errors.required(f"{path}.metric.name", "must specify a metric name")
        else:
            errors.each(f"{path}.metric.name", name, path_segment(name))
    _validate_target(errors, f"{path}.target", source.get("target") or {})
    _validate_chosen(errors, f"{path}.target", kind, source.get("target") or {})


def _validate_chosen(errors: FieldErrors, path: str, kind: str, target: Document) -> None:
    """Check that a target has one of the values that its source allows."""
    average = target.get("averageValue") is not None
    if kind == "pods":
        if not average:
            text = "must specify a positive target averageValue"
            errors.required(f"{path}.averageValue", text)
        return
    other, missing, both = _CHOICES[kind]
    has_other = target.get(other) is not None
    if not average and not has_other:
        field = "averageValue" if other == "value" else other
        errors.required(f"{path}.{field}", missing)
    elif average and has_other and both:
        field = "value" if other == "value" else "averageValue"
        errors.forbidden(f"{path}.{field}", both)


def _validate_container(errors: FieldErrors, path: str, name: str | None) -> None:
    if not name:
        errors.required(f"{path}.container", "must specify a container")
    else:
        errors.each(f"{path}.container", name, dns_label(name))


def _validate_target(errors: FieldErrors, path: str, target: Document) -> None:
    kind = target.get("type") or ""
    if not kind:
        errors.required(f"{path}.type", "must specify a metric target type")
    if kind not in ("Utilization", "Value", "AverageValue"):
        text = "must be either Utilization, Value, or AverageValue"
        errors.invalid(f"{path}.type", kind, text)
    for name in ("value", "averageValue"):
        if (written := target.get(name)) is not None:
            amount = validate_quantity(errors, f"{path}.{name}", written)
            if amount is not None and amount.nano <= 0:
                errors.invalid(f"{path}.{name}", format_quantity(amount), "must be positive")
    share = target.get("averageUtilization")
    if share is not None and share < 1:
        errors.invalid(f"{path}.averageUtilization", share, "must be greater than 0")


def _validate_rules(errors: FieldErrors, path: str, rules: Document) -> None:
    window, at = rules.get("stabilizationWindowSeconds"), f"{path}.stabilizationWindowSeconds"
    if window is not None and window < 0:
        errors.invalid(at, window, "must be greater than or equal to zero")
    if window is not None and window > _WINDOW_MAX_S:
        errors.invalid(at, window, f"must be less than or equal to {_WINDOW_MAX_S}")
    select, choices = rules.get("selectPolicy"), ("Disabled", "Max", "Min")
    if select is not None and select not in choices:
        errors.unsupported(f"{path}.selectPolicy", select, choices)
    if not (policies := rules.get("policies")):
        errors.required(f"{path}.policies", "must specify at least one Policy")
    for index, policy in enumerate(policies or ()):
        here, kind = f"{path}.policies[{index}]", policy.get("type") or ""
        if kind not in ("Pods", "Percent"):
            errors.unsupported(f"{here}.type", kind, ("Percent", "Pods"))
        for name in ("value", "periodSeconds"):
            if (policy.get(name) or 0) <= 0:
                errors.invalid(f"{here}.{name}", policy.get(name) or 0, "must be greater than zero")
        if (policy.get("periodSeconds") or 0) > _PERIOD_MAX_S:
            text = f"must be less than or equal to {_PERIOD_MAX_S}"
            errors.invalid(f"{here}.periodSeconds", policy["periodSeconds"], text)
    if (tolerance := rules.get("tolerance")) is not None:
        at = f"{path}.tolerance"
        amount = validate_quantity(errors, at, tolerance)
        if amount is not None and amount.nano < 0:
            errors.invalid(at, format_quantity(amount), "must be greater than or equal to 0")
