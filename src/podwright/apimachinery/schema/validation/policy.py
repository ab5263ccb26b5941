"""Validation of disruption budgets, priority classes, workloads and pod groups.

Upstream: pkg/apis/policy/validation/validation.go; pkg/apis/scheduling/validation/validation.go;
pkg/apis/scheduling/v1alpha2/zz_generated.validations.go
"""

from __future__ import annotations

from typing import Any, Final

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema.validation.field_errors import FieldErrors
from podwright.apimachinery.schema.validation.internal_structs import internal_form
from podwright.apimachinery.schema.validation.metadata import validate_label_selector
from podwright.apimachinery.schema.validation.names import (
    dns_label,
    dns_subdomain,
    path_segment,
    qualified_name,
)
from podwright.apimachinery.schema.validation.workloads import (
    validate_at_most_all,
    validate_int_or_percent,
)

_USER_PRIORITY_MAX: Final = 1_000_000_000
_SYSTEM: Final = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}
_PREEMPTION: Final = ("PreemptLowerPriority", "Never")


def validate_disruption_budget(errors: FieldErrors, budget: Document) -> None:
    """Check a disruption budget."""
    spec = budget.get("spec") or {}
    least, most = spec.get("minAvailable"), spec.get("maxUnavailable")
    selector, policy = spec.get("selector"), spec.get("unhealthyPodEvictionPolicy")
    if least is not None and most is not None:
        shown = internal_form(spec, "PodDisruptionBudgetSpec")
        errors.invalid("spec", shown, "minAvailable and maxUnavailable cannot be both set")
    for name, value in (("minAvailable", least), ("maxUnavailable", most)):
        if value is not None:
            validate_int_or_percent(errors, f"spec.{name}", value)
            validate_at_most_all(errors, f"spec.{name}", value)
    validate_label_selector(errors, "spec.selector", selector)
    choices = ("AlwaysAllow", "IfHealthyBudget")
    if policy is not None and policy not in choices:
        errors.unsupported("spec.unhealthyPodEvictionPolicy", policy, choices)


def validate_disruption_budget_update(errors: FieldErrors, new: Document, old: Document) -> None:
    """Check a changed disruption budget, whose spec may change."""
    del old
    validate_disruption_budget(errors, new)


def validate_priority_class(errors: FieldErrors, priority_class: Document) -> None:
    """Check a new priority class."""
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
    policy = priority_class.get("preemptionPolicy")
    if policy == "":
        errors.required("preemptionPolicy")
    elif policy is not None and policy not in _PREEMPTION:
        errors.unsupported("preemptionPolicy", policy, _PREEMPTION)


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
    policy = "preemptionPolicy"
    errors.immutable(policy, new.get(policy), old.get(policy))


# ------------------------------------------------------------------- workloads and pod groups


def validate_pod_group(errors: FieldErrors, group: Document) -> None:
    """Check a new pod group."""
    spec = group.get("spec") or {}
    reference = spec.get("podGroupTemplateRef")
    if reference is not None:
        workload = reference.get("workload")
        if workload is None:
            errors.invalid("spec.podGroupTemplateRef", "", "must specify one of: `workload`")
        else:
            at = "spec.podGroupTemplateRef.workload"
            _validate_name(errors, f"{at}.workloadName", workload.get("workloadName"), is_long=True)
            name = workload.get("podGroupTemplateName")
            _validate_name(errors, f"{at}.podGroupTemplateName", name)
    _validate_group_spec(errors, "spec", spec)


def validate_pod_group_update(errors: FieldErrors, new: Document, old: Document) -> None:
    """Check a changed pod group, whose spec is immutable."""
    spec, before = new.get("spec") or {}, old.get("spec") or {}
    for name in (
        "podGroupTemplateRef",
        "schedulingPolicy",
        "schedulingConstraints",
        "resourceClaims",
        "disruptionMode",
        "priorityClassName",
        "priority",
    ):
        errors.immutable(f"spec.{name}", spec.get(name), before.get(name))


def validate_workload(errors: FieldErrors, workload: Document) -> None:
    """Check a new workload."""
    spec = workload.get("spec") or {}
    if (controller := spec.get("controllerRef")) is not None:
        if group := controller.get("apiGroup"):
            errors.each("spec.controllerRef.apiGroup", group, dns_subdomain(group))
        for name in ("kind", "name"):
            at = f"spec.controllerRef.{name}"
            if value := controller.get(name):
                errors.each(at, value, path_segment(value))
            else:
                errors.required(at)
    templates = spec.get("podGroupTemplates") or []
    if not templates:
        errors.required("spec.podGroupTemplates")
    if len(templates) > 8:
        errors.too_many("spec.podGroupTemplates", len(templates), 8)
        return
    seen: set[str] = set()
    for index, template in enumerate(templates):
        at, name = f"spec.podGroupTemplates[{index}]", template.get("name") or ""
        if name in seen:
            errors.duplicate(at, {"name": name})
        seen.add(name)
        _validate_name(errors, f"{at}.name", name)
        _validate_group_spec(errors, at, template)


def validate_workload_update(errors: FieldErrors, new: Document, old: Document) -> None:
    """Check a changed workload, whose templates are immutable."""
    spec, before = new.get("spec") or {}, old.get("spec") or {}
    for name in ("controllerRef", "podGroupTemplates"):
        errors.immutable(f"spec.{name}", spec.get(name), before.get(name))


def _validate_group_spec(errors: FieldErrors, path: str, spec: Document) -> None:
    """Check what pod groups and their templates have in common."""
    policy = spec.get("schedulingPolicy") or {}
    at = f"{path}.schedulingPolicy"
    kinds = [kind for kind in ("basic", "gang") if policy.get(kind) is not None]
    if not kinds:
        errors.invalid(at, "", "must specify one of: `basic`, `gang`")
    elif len(kinds) > 1:
        listed = "{" + ", ".join(kinds) + "}"
        errors.invalid(at, listed, "must specify exactly one of: `basic`, `gang`")
    if (gang := policy.get("gang")) is not None:
        count = gang.get("minCount") or 0
        if not count:
            errors.required(f"{at}.gang.minCount")
        elif count < 1:
            errors.invalid(f"{at}.gang.minCount", count, "must be greater than or equal to 1")
    topology = (spec.get("schedulingConstraints") or {}).get("topology") or []
    if len(topology) > 1:
        errors.too_many(f"{path}.schedulingConstraints.topology", len(topology), 1)
    for index, constraint in enumerate(topology):
        here = f"{path}.schedulingConstraints.topology[{index}].key"
        if key := constraint.get("key"):
            errors.each(here, key, qualified_name(key))
        else:
            errors.required(here)
    _validate_group_claims(errors, f"{path}.resourceClaims", spec.get("resourceClaims") or [])
    mode = spec.get("disruptionMode")
    if mode is not None and mode not in ("Pod", "PodGroup"):
        errors.unsupported(f"{path}.disruptionMode", mode, ("Pod", "PodGroup"))
    if name := spec.get("priorityClassName"):
        errors.each(f"{path}.priorityClassName", name, dns_subdomain(name))
    priority = spec.get("priority")
    if priority is not None and priority > _USER_PRIORITY_MAX:
        text = f"must be less than or equal to {_USER_PRIORITY_MAX}"
        errors.invalid(f"{path}.priority", priority, text)


def _validate_group_claims(errors: FieldErrors, path: str, claims: list[Document]) -> None:
    if len(claims) > 4:
        errors.too_many(path, len(claims), 4)
        return
    for index, claim in enumerate(claims):
        at = f"{path}[{index}]"
        _validate_name(errors, f"{at}.name", claim.get("name"))
        names = ("resourceClaimName", "resourceClaimTemplateName")
        given = [name for name in names if claim.get(name) is not None]
        listed = ", ".join(f"`{name}`" for name in names)
        if not given:
            errors.invalid(at, "", f"must specify one of: {listed}")
        elif len(given) > 1:
            shown = "{" + ", ".join(given) + "}"
            errors.invalid(at, shown, f"must specify exactly one of: {listed}")
        for name in given:
            errors.each(f"{at}.{name}", claim[name], dns_subdomain(claim[name]))


def _validate_name(errors: FieldErrors, path: str, name: Any, *, is_long: bool = False) -> None:
    if not name:
        errors.required(path)
    else:
        errors.each(path, name, dns_subdomain(name) if is_long else dns_label(name))
