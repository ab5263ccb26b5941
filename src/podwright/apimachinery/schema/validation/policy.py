"""Validation of disruption budgets, priority classes, workloads and pod groups.

Upstream: pkg/apis/policy/validation/validation.go; pkg/apis/scheduling/validation/validation.go;
pkg/apis/scheduling/v1alpha2/zz_generated.validations.go;
pkg/apis/autoscaling/validation/validation.go.
"""

from __future__ import annotations

from typing import Final

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema.validation import rules as r
from podwright.apimachinery.schema.validation.field_errors import (
    FieldErrors,
    internal_form,
    repeats,
)
from podwright.apimachinery.schema.validation.metadata import validate_label_selector
from podwright.apimachinery.schema.validation.pods.resources import (
    quantity,
    validate_container_resource_name,
)
from podwright.apimachinery.schema.validation.workloads import (
    validate_at_most_all,
    validate_int_or_percent,
)

_USER_PRIORITY_MAX: Final = 1_000_000_000
_SYSTEM: Final = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}


def _validate_budget(errors: FieldErrors, path: str, spec: Document) -> None:
    if spec.get("minAvailable") is not None and spec.get("maxUnavailable") is not None:
        shown = internal_form(spec, "PodDisruptionBudgetSpec")
        errors.invalid(path, shown, "minAvailable and maxUnavailable cannot be both set")


_INT_OR_PERCENT: Final = r.all_of(validate_int_or_percent, validate_at_most_all)
validate_disruption_budget: Final = r.of_spec(
    _validate_budget,
    r.struct(
        minAvailable=_INT_OR_PERCENT,
        maxUnavailable=_INT_OR_PERCENT,
        selector=validate_label_selector,
        unhealthyPodEvictionPolicy=r.one_of("AlwaysAllow", "IfHealthyBudget"),
    ),
)


def _validate_value(errors: FieldErrors, _path: str, priority_class: Document) -> None:
    name = (priority_class.get("metadata") or {}).get("name") or ""
    value = priority_class.get("value") or 0
    if name.startswith("system-"):
        if problem := _system_problem(priority_class, name, value):
            text = (
                "priority class names with 'system-' prefix are reserved for system use only."
                f" error: {problem}"
            )
            errors.forbidden("metadata.name", text)
    elif value > _USER_PRIORITY_MAX:
        text = f"maximum allowed value of a user defined priority is {_USER_PRIORITY_MAX}"
        errors.forbidden("value", text)


validate_priority_class: Final = r.of_object(
    _validate_value,
    r.struct(preemptionPolicy=r.nonempty(r.one_of("PreemptLowerPriority", "Never"))),
)


def _system_problem(priority_class: Document, name: str, value: int) -> str:
    """Upstream: pkg/apis/scheduling/v1/helpers.go, IsKnownSystemPriorityClass."""
    if name not in _SYSTEM:
        return f"{name} is not a known system priority class"
    if value != _SYSTEM[name]:
        return f"value of {name} PriorityClass must be {_SYSTEM[name]}"
    if priority_class.get("globalDefault"):
        return f"globalDefault of {name} PriorityClass must be false"
    return ""


def validate_priority_class_update(errors: FieldErrors, new: Document, old: Document) -> None:
    """Check a changed priority class, whose value and policy are immutable."""
    if (new.get("value") or 0) != (old.get("value") or 0):
        errors.forbidden("value", "may not be changed in an update.")


# ------------------------------------------------------------------- workloads and pod groups


def _union(*names: str) -> r.Rule:
    """Return the rule of a struct that has exactly one of some fields."""
    listed = ", ".join(f"`{name}`" for name in names)

    def check(errors: FieldErrors, path: str, value: Document | None) -> None:
        given = [name for name in names if (value or {}).get(name) is not None]
        if not given:
            errors.invalid(path, "", f"must specify one of: {listed}")
        elif len(given) > 1:
            shown = "{" + ", ".join(given) + "}"
            errors.invalid(path, shown, f"must specify exactly one of: {listed}")

    return r.always(check)


def _validate_templates(errors: FieldErrors, path: str, templates: list[Document]) -> None:
    if len(templates) > 8:
        errors.too_many(path, len(templates), 8)
        return
    names = [template.get("name") or "" for template in templates]
    for index, is_repeated in enumerate(repeats(names)):
        if is_repeated:
            errors.duplicate(f"{path}[{index}]", {"name": names[index]})
        _TEMPLATE(errors, f"{path}[{index}]", templates[index])


_CLAIM: Final = r.all_of(
    r.struct(name=r.required(r.LABEL)),
    _union("resourceClaimName", "resourceClaimTemplateName"),
    r.struct(resourceClaimName=r.SUBDOMAIN, resourceClaimTemplateName=r.SUBDOMAIN),
)
_GROUP: Final = r.struct(
    schedulingPolicy=r.always(
        r.all_of(
            _union("basic", "gang"), r.struct(gang=r.struct(minCount=r.required(r.at_least(1))))
        )
    ),
    schedulingConstraints=r.struct(
        topology=r.each(r.struct(key=r.required(r.QUALIFIED)), most=1, checks_too_many=True)
    ),
    resourceClaims=r.each(_CLAIM, most=4),
    disruptionMode=r.one_of("Pod", "PodGroup"),
    priorityClassName=r.optional(r.SUBDOMAIN),
    priority=r.at_most(_USER_PRIORITY_MAX),
)
_TEMPLATE: Final = r.all_of(r.struct(name=r.required(r.LABEL)), _GROUP)
validate_pod_group: Final = r.of_spec(
    r.struct(
        podGroupTemplateRef=r.all_of(
            _union("workload"),
            r.struct(
                workload=r.struct(
                    workloadName=r.required(r.SUBDOMAIN), podGroupTemplateName=r.required(r.LABEL)
                )
            ),
        )
    ),
    _GROUP,
)
validate_workload: Final = r.of_spec(
    r.struct(
        controllerRef=r.struct(
            apiGroup=r.optional(r.SUBDOMAIN), kind=r.required(r.SEGMENT), name=r.required(r.SEGMENT)
        ),
        podGroupTemplates=r.required(_validate_templates),
    )
)


# Validation of horizontal pod autoscalers of autoscaling/v2.

_SOURCES: Final = {
    "Object": "object",
    "External": "external",
    "Pods": "pods",
    "Resource": "resource",
    "ContainerResource": "containerResource",
}
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


def _validate_bounds(errors: FieldErrors, path: str, spec: Document) -> None:
    least, most = spec.get("minReplicas"), spec.get("maxReplicas") or 0
    if least is not None and most < least:
        text = "must be greater than or equal to `minReplicas`"
        errors.invalid(f"{path}.maxReplicas", most, text)


def _validate_zero(errors: FieldErrors, path: str, spec: Document) -> None:
    kinds = {metric.get("type") for metric in spec.get("metrics") or ()}
    if spec.get("minReplicas") == 0 and not kinds & {"Object", "External"}:
        text = "must specify at least one Object or External metric to support scaling to zero"
        errors.forbidden(f"{path}.metrics", f"{text} replicas")


def _validate_group(errors: FieldErrors, path: str, reference: Document) -> None:
    """Check that a reference has an API group; only replication controllers have none."""
    version = reference.get("apiVersion") or ""
    if "/" not in version and reference.get("kind") != "ReplicationController":
        errors.invalid(f"{path}.apiVersion", version, "apiVersion must specify API group")


def _validate_version(errors: FieldErrors, path: str, version: str) -> None:
    if version.count("/") > 1:
        errors.invalid(path, version, f"unexpected GroupVersion string: {version}")


def _validate_metric(errors: FieldErrors, path: str, metric: Document) -> None:
    kind = metric.get("type") or ""
    if not kind:
        errors.required(f"{path}.type", "must specify a metric source type")
    _TYPE(errors, f"{path}.type", kind)
    found = [name for name in _SOURCES.values() if metric.get(name) is not None]
    if found:
        at, source = f"{path}.{found[0]}", metric[found[0]]
        _SOURCE[found[0]](errors, at, source)
        _validate_chosen(errors, f"{at}.target", found[0], source.get("target") or {})
    # Upstream reports it where it looks for the source, too.
    _TYPE(errors, f"{path}.type", kind)
    expected = _SOURCES.get(kind, "")
    if expected and expected not in found:
        text = "must populate information for the given metric source"
        errors.required(f"{path}.{expected}", text)
    if len(found) != 1:
        for name in found:
            if name != expected:
                text = "must populate the given metric source only"
                errors.forbidden(f"{path}.{name}", text)


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


def _validate_target_type(errors: FieldErrors, path: str, kind: str) -> None:
    if not kind:
        errors.required(path, "must specify a metric target type")
    if kind not in ("Utilization", "Value", "AverageValue"):
        errors.invalid(path, kind, "must be either Utilization, Value, or AverageValue")


_TYPE: Final = r.one_of(*sorted(_SOURCES))
_REFERENCE: Final = r.always(
    r.struct(kind=r.required(r.SEGMENT), name=r.required(r.SEGMENT), apiVersion=_validate_version)
)
_POSITIVE: Final = quantity(lambda nano: nano > 0, "must be positive")
_TARGET: Final = r.always(
    r.struct(
        type=r.always(_validate_target_type, ""),
        value=_POSITIVE,
        averageValue=_POSITIVE,
        averageUtilization=r.at_least(1, "must be greater than 0"),
    )
)
_METRIC: Final = r.always(r.struct(name=r.required(r.SEGMENT, detail="must specify a metric name")))
_NO_RESOURCE: Final = "must specify a resource name"
_SOURCE: Final = {
    "object": r.struct(describedObject=_REFERENCE, metric=_METRIC, target=_TARGET),
    "external": r.struct(metric=_METRIC, target=_TARGET),
    "pods": r.struct(metric=_METRIC, target=_TARGET),
    "resource": r.struct(name=r.required(detail=_NO_RESOURCE), target=_TARGET),
    "containerResource": r.struct(
        name=r.required(validate_container_resource_name, detail=_NO_RESOURCE),
        container=r.required(r.LABEL, detail="must specify a container"),
        target=_TARGET,
    ),
}
_MORE_THAN_ZERO: Final = r.always(r.at_least(1, "must be greater than zero"), 0)
_POLICY: Final = r.struct(
    type=r.always(r.one_of("Percent", "Pods"), ""),
    value=_MORE_THAN_ZERO,
    periodSeconds=r.always(
        r.all_of(r.at_least(1, "must be greater than zero"), r.at_most(1800)), 0
    ),
)
_RULES: Final = r.struct(
    stabilizationWindowSeconds=r.all_of(
        r.at_least(0, "must be greater than or equal to zero"), r.at_most(3600)
    ),
    selectPolicy=r.one_of("Disabled", "Max", "Min"),
    policies=r.required(r.each(_POLICY), detail="must specify at least one Policy"),
    tolerance=quantity(lambda nano: nano >= 0, "must be greater than or equal to 0"),
)
_TARGET_REF: Final = r.struct(scaleTargetRef=_REFERENCE)
_SPEC: Final = r.struct(
    minReplicas=r.at_least(1),
    maxReplicas=r.required(r.at_least(1), detail="must be set and greater than 0"),
)
_REST: Final = r.all_of(
    r.struct(metrics=r.each(_validate_metric)),
    _validate_zero,
    r.struct(behavior=r.struct(scaleUp=_RULES, scaleDown=_RULES)),
)
_BEFORE: Final = r.all_of(_SPEC, _validate_bounds, _TARGET_REF)
validate_autoscaler: Final = r.of_spec(
    _BEFORE, r.struct(scaleTargetRef=r.always(_validate_group, {})), _REST
)
_validate_without_group: Final = r.of_spec(_BEFORE, _REST)


def validate_autoscaler_update(errors: FieldErrors, new: Document, old: Document) -> None:
    """Check a changed autoscaler; a target without an API group may stay."""
    before = FieldErrors()
    _validate_group(before, "", (old.get("spec") or {}).get("scaleTargetRef") or {})
    (_validate_without_group if before.problems else validate_autoscaler)(errors, new)
