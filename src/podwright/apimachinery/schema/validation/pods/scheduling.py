"""Validation of what a pod says about nodes: affinity, tolerations, spreading and gates.

Upstream: pkg/apis/core/validation/validation.go, validateAffinity, ValidateTolerations,
validateTopologySpreadConstraints, ValidateNodeSelector
"""

from __future__ import annotations

from typing import Final

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema.validation.field_errors import FieldErrors
from podwright.apimachinery.schema.validation.metadata import validate_label_selector
from podwright.apimachinery.schema.validation.names import (
    decimal_integer,
    dns_label,
    dns_subdomain,
    label_value,
    qualified_name,
)

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_IN: Final = "must be specified when `operator` is 'In' or 'NotIn'"
_EXISTS: Final = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
_BOTH: Final = "exists in both matchLabelKeys and "


def validate_affinity(errors: FieldErrors, path: str, affinity: Document | None) -> None:
    """Check the affinity of a pod; None passes."""
    if not affinity:
        return
    if node := affinity.get("nodeAffinity"):
        at = f"{path}.nodeAffinity"
        if node.get(_REQUIRED) is not None:
            validate_node_selector(errors, f"{at}.{_REQUIRED}", node[_REQUIRED])
        for index, term in enumerate(node.get(_PREFERRED) or ()):
            _validate_weight(errors, f"{at}.{_PREFERRED}[{index}]", term)
            preference = term.get("preference") or {}
            _validate_node_term(
                errors, f"{at}.{_PREFERRED}[{index}].preference", preference, checks_values=False
            )
    for name in ("podAffinity", "podAntiAffinity"):
        pods = affinity.get(name) or {}
        at = f"{path}.{name}"
        for index, term in enumerate(pods.get(_REQUIRED) or ()):
            _validate_pod_term(errors, f"{at}.{_REQUIRED}[{index}]", term)
        for index, term in enumerate(pods.get(_PREFERRED) or ()):
            _validate_weight(errors, f"{at}.{_PREFERRED}[{index}]", term)
            pod_term = term.get("podAffinityTerm") or {}
            _validate_pod_term(errors, f"{at}.{_PREFERRED}[{index}].podAffinityTerm", pod_term)


def _validate_weight(errors: FieldErrors, path: str, term: Document) -> None:
    weight = term.get("weight") or 0
    if not 1 <= weight <= 100:
        errors.invalid(f"{path}.weight", weight, "must be in the range 1-100")


def validate_node_selector(errors: FieldErrors, path: str, selector: Document) -> None:
    """Check a node selector, which has at least one term."""
    terms = selector.get("nodeSelectorTerms")
    if not terms:
        text = "must have at least one node selector term"
        errors.required(f"{path}.nodeSelectorTerms", text)
        return
    for index, term in enumerate(terms):
        at = f"{path}.nodeSelectorTerms[{index}]"
        _validate_node_term(errors, at, term, checks_values=True)


def _validate_node_term(
    errors: FieldErrors, path: str, term: Document, *, checks_values: bool
) -> None:
    for index, each in enumerate(term.get("matchExpressions") or ()):
        at = f"{path}.matchExpressions[{index}]"
        _validate_node_requirement(errors, at, each, checks_values=checks_values)
    for index, each in enumerate(term.get("matchFields") or ()):
        _validate_node_field(errors, f"{path}.matchFields[{index}]", each)


def _validate_node_requirement(
    errors: FieldErrors, path: str, term: Document, *, checks_values: bool
) -> None:
    operator, values = term.get("operator") or "", term.get("values") or ()
    match operator:
        case "In" | "NotIn":
            if not values:
                errors.required(f"{path}.values", _IN)
        case "Exists" | "DoesNotExist":
            if values:
                errors.forbidden(f"{path}.values", _EXISTS)
        case "Gt" | "Lt":
            if len(values) != 1:
                text = "must be specified single value when `operator` is 'Lt' or 'Gt'"
                errors.required(f"{path}.values", text)
        case _:
            errors.invalid(f"{path}.operator", operator, "not a valid selector operator")
    key = term.get("key") or ""
    if details := qualified_name(key):
        errors.each(f"{path}.key", key, details)
    if checks_values:
        for index, value in enumerate(values):
            if details := label_value(value):
                errors.each(f"{path}.values[{index}]", value, details)


def _validate_node_field(errors: FieldErrors, path: str, term: Document) -> None:
    operator, values = term.get("operator") or "", term.get("values") or ()
    if operator not in ("In", "NotIn"):
        errors.invalid(f"{path}.operator", operator, "not a valid selector operator")
    elif len(values) != 1:
        text = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        errors.required(f"{path}.values", text)
    if term.get("key") != "metadata.name":
        errors.invalid(f"{path}.key", term.get("key") or "", "not a valid field selector key")
        return
    for index, value in enumerate(values):
        errors.each(f"{path}.values[{index}]", value, dns_subdomain(value))


def _validate_pod_term(errors: FieldErrors, path: str, term: Document) -> None:
    for name in ("labelSelector", "namespaceSelector"):
        if selector := term.get(name):
            validate_label_selector(errors, f"{path}.{name}", selector)
    for name in term.get("namespaces") or ():
        errors.each(f"{path}.namespace", name, dns_label(name))
    _validate_label_keys(errors, path, term)
    key = term.get("topologyKey") or ""
    if not key:
        errors.required(f"{path}.topologyKey", "can not be empty")
    if details := qualified_name(key):
        errors.each(f"{path}.topologyKey", key, details)


def _validate_label_keys(errors: FieldErrors, path: str, term: Document) -> None:
    """Check `matchLabelKeys` and `mismatchLabelKeys`, which admission adds to the selector.

    Upstream: ValidateMatchLabelKeysAndMismatchLabelKeys
    """
    selector: Document | None = term.get("labelSelector")
    matched, mismatched = term.get("matchLabelKeys") or [], term.get("mismatchLabelKeys") or []
    if not matched and not mismatched:
        return
    for name, keys in (("matchLabelKeys", matched), ("mismatchLabelKeys", mismatched)):
        if keys and selector is None:
            text = "must not be specified when labelSelector is not set"
            errors.forbidden(f"{path}.{name}", text)
            continue
        for index, key in enumerate(keys):
            errors.each(f"{path}.{name}[{index}]", key, qualified_name(key))
    first = {key: index for index, key in reversed(list(enumerate(matched)))}
    if selector is not None:
        seen = set(selector.get("matchLabels") or ())
        for expression in selector.get("matchExpressions") or ():
            key = expression.get("key") or ""
            if key in first and key in seen:
                errors.invalid(f"{path}[{first[key]}]", key, f"{_BOTH}labelSelector")
            seen.add(key)
    excluded = frozenset(mismatched)
    for index, key in enumerate(matched):
        if key in excluded:
            errors.invalid(f"{path}.matchLabelKeys[{index}]", key, f"{_BOTH}mismatchLabelKeys")


def validate_taint_effect(
    errors: FieldErrors, path: str, effect: str, *, allows_empty: bool
) -> None:
    """Check the effect of a taint or toleration."""
    if not effect:
        if not allows_empty:
            errors.required(path)
    elif effect not in _EFFECTS:
        errors.unsupported(path, effect, _EFFECTS)


def validate_tolerations(errors: FieldErrors, path: str, tolerations: list[Document]) -> None:
    """Check tolerations."""
    for index, toleration in enumerate(tolerations):
        _validate_toleration(errors, f"{path}[{index}]", toleration)


def _validate_toleration(errors: FieldErrors, path: str, toleration: Document) -> None:
    key, operator = toleration.get("key") or "", toleration.get("operator") or ""
    value, effect = toleration.get("value") or "", toleration.get("effect") or ""
    if key:
        if details := qualified_name(key):
            errors.each(f"{path}.key", key, details)
    elif operator != "Exists":
        text = (
            "operator must be Exists when `key` is empty, which means"
            ' "match all values and all keys"'
        )
        errors.invalid(f"{path}.operator", operator, text)
    if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
        text = "effect must be 'NoExecute' when `tolerationSeconds` is set"
        errors.invalid(f"{path}.effect", effect, text)
    match operator:
        case "" | "Equal":
            # Upstream names the operator, although the value is wrong.
            if details := label_value(value):
                errors.invalid(f"{path}.operator", value, ";".join(details))
        case "Exists":
            if value:
                text = "value must be empty when `operator` is 'Exists'"
                errors.invalid(f"{path}.operator", value, text)
        case "Lt" | "Gt":
            # A server whose gate TaintTolerationComparisonOperators is off rejects them itself.
            errors.each(f"{path}.value", value, decimal_integer(value))
        case _:
            errors.unsupported(f"{path}.operator", operator, ("Equal", "Exists"))
    if effect:
        validate_taint_effect(errors, f"{path}.effect", effect, allows_empty=True)


def validate_spread_constraints(
    errors: FieldErrors, path: str, constraints: list[Document]
) -> None:
    """Check topology spread constraints."""
    pairs = [(each.get("topologyKey"), each.get("whenUnsatisfiable")) for each in constraints]
    last = {pair: index for index, pair in enumerate(pairs)}
    for index, constraint in enumerate(constraints):
        at = f"{path}[{index}]"
        _validate_spread(errors, at, constraint)
        key, action = pair = pairs[index]
        if last[pair] > index:
            name = f"{at}.{{topologyKey, whenUnsatisfiable}}"
            errors.duplicate(name, f"{{{key}, {action}}}")
        _validate_spread_options(errors, at, constraint)


def _validate_spread(errors: FieldErrors, path: str, constraint: Document) -> None:
    skew = constraint.get("maxSkew") or 0
    if skew <= 0:
        errors.invalid(f"{path}.maxSkew", skew, "must be greater than zero")
    if not constraint.get("topologyKey"):
        errors.required(f"{path}.topologyKey", "can not be empty")
    action = constraint.get("whenUnsatisfiable") or ""
    if action not in ("DoNotSchedule", "ScheduleAnyway"):
        choices = ("DoNotSchedule", "ScheduleAnyway")
        errors.unsupported(f"{path}.whenUnsatisfiable", action, choices)


def _validate_spread_options(errors: FieldErrors, path: str, constraint: Document) -> None:
    domains, action = constraint.get("minDomains"), constraint.get("whenUnsatisfiable") or ""
    if domains is not None:
        if domains <= 0:
            errors.invalid(f"{path}.minDomains", domains, "must be greater than zero")
        if action != "DoNotSchedule":
            text = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
            errors.invalid(f"{path}.minDomains", domains, text)
    for name in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
        policy = constraint.get(name)
        if policy is not None and policy not in ("Honor", "Ignore"):
            errors.unsupported(f"{path}.{name}", policy, ("Honor", "Ignore"))
    _validate_label_keys(errors, path, constraint)
    validate_label_selector(errors, f"{path}.labelSelector", constraint.get("labelSelector"))


def validate_gates(errors: FieldErrors, path: str, gates: list[Document]) -> None:
    """Check scheduling gates."""
    seen: set[str] = set()
    for index, gate in enumerate(gates):
        name = gate.get("name") or ""
        errors.each(f"{path}[{index}]", name, qualified_name(name))
        if name in seen:
            errors.duplicate(f"{path}[{index}]", name)
        seen.add(name)
