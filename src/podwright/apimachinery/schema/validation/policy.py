"""Validation of disruption budgets, priority classes, workloads and pod groups.

Upstream: pkg/apis/policy/validation/validation.go; pkg/apis/scheduling/validation/validation.go;
pkg/apis/scheduling/v1alpha2/zz_generated.validations.go
"""

from __future__ import annotations

from typing import Final

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema.validation import rules as r
from podwright.apimachinery.schema.validation.field_errors import FieldErrors, repeats
from podwright.apimachinery.schema.validation.internal_structs import internal_form
from podwright.apimachinery.schema.validation.metadata import validate_label_selector
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
