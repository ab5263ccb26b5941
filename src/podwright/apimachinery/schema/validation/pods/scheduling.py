"""Validation of what a pod says about nodes: affinity, tolerations, spreading and gates.

Upstream: pkg/apis/core/validation/validation.go, validateAffinity, ValidateTolerations,
validateTopologySpreadConstraints, ValidateNodeSelector
"""

from __future__ import annotations

from typing import Final

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema.validation import rules as r
from podwright.apimachinery.schema.validation.field_errors import FieldErrors
from podwright.apimachinery.schema.validation.metadata import validate_label_selector
from podwright.apimachinery.schema.validation.names import (
    decimal_integer,
    dns_label,
    dns_subdomain,
    label_value,
    qualified_name,
)

_IN: Final = "must be specified when `operator` is 'In' or 'NotIn'"
_EXISTS: Final = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
_BOTH: Final = "exists in both matchLabelKeys and "


def _validate_node_operator(errors: FieldErrors, path: str, term: Document) -> None:
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
    last = {key: index for index, key in enumerate(matched)}
    if selector is not None:
        seen = set(selector.get("matchLabels") or ())
        for expression in selector.get("matchExpressions") or ():
            key = expression.get("key")
            if key in last and key in seen:
                errors.invalid(f"{path}[{last[key]}]", key, f"{_BOTH}labelSelector")
            seen.add(key)
    excluded = frozenset(mismatched)
    for index, key in enumerate(matched):
        if key in excluded:
            errors.invalid(f"{path}.matchLabelKeys[{index}]", key, f"{_BOTH}mismatchLabelKeys")


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


_KEY: Final = r.always(r.QUALIFIED, "")
_MATCH_FIELDS: Final = r.each(_validate_node_field)
_EXPRESSION: Final = r.all_of(
    _validate_node_operator, r.struct(key=_KEY, values=r.each(r.LABEL_VALUE))
)
# Upstream does not check the values of preferred terms.
_PREFERRED: Final = r.all_of(_validate_node_operator, r.struct(key=_KEY))
_NODE_TERM: Final = r.struct(matchExpressions=r.each(_EXPRESSION), matchFields=_MATCH_FIELDS)
validate_node_selector: Final = r.struct(
    nodeSelectorTerms=r.required(
        r.each(_NODE_TERM), detail="must have at least one node selector term"
    )
)
_WEIGHT: Final = r.always(
    r.valid(lambda weight: 1 <= weight <= 100, "must be in the range 1-100"), 0
)
_PODS: Final = r.struct(
    requiredDuringSchedulingIgnoredDuringExecution=r.each(_validate_pod_term),
    preferredDuringSchedulingIgnoredDuringExecution=r.each(
        r.struct(weight=_WEIGHT, podAffinityTerm=r.always(_validate_pod_term, {}))
    ),
)
validate_affinity: Final = r.struct(
    nodeAffinity=r.struct(
        requiredDuringSchedulingIgnoredDuringExecution=validate_node_selector,
        preferredDuringSchedulingIgnoredDuringExecution=r.each(
            r.struct(
                weight=_WEIGHT,
                preference=r.struct(matchExpressions=r.each(_PREFERRED), matchFields=_MATCH_FIELDS),
            )
        ),
    ),
    podAffinity=_PODS,
    podAntiAffinity=_PODS,
)
TAINT_EFFECT: Final = r.nonempty(r.one_of("NoSchedule", "PreferNoSchedule", "NoExecute"))


def _validate_toleration(errors: FieldErrors, path: str, toleration: Document) -> None:
    key, operator = toleration.get("key"), toleration.get("operator") or ""
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
        TAINT_EFFECT(errors, f"{path}.effect", effect)


validate_tolerations: Final = r.each(_validate_toleration)


def validate_spread_constraints(
    errors: FieldErrors, path: str, constraints: list[Document]
) -> None:
    """Check topology spread constraints."""
    pairs = [(each.get("topologyKey"), each.get("whenUnsatisfiable")) for each in constraints]
    last = {pair: index for index, pair in enumerate(pairs)}
    for index, constraint in enumerate(constraints):
        at = f"{path}[{index}]"
        _SPREAD(errors, at, constraint)
        key, action = pair = pairs[index]
        if last[pair] > index:
            name = f"{at}.{{topologyKey, whenUnsatisfiable}}"
            errors.duplicate(name, f"{{{key}, {action}}}")
        _SPREAD_OPTIONS(errors, at, constraint)


def _validate_domains(errors: FieldErrors, path: str, constraint: Document) -> None:
    domains, action = constraint.get("minDomains"), constraint.get("whenUnsatisfiable") or ""
    if domains is not None and action != "DoNotSchedule":
        text = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
        errors.invalid(f"{path}.minDomains", domains, text)


_POSITIVE: Final = r.at_least(1, "must be greater than zero")
_POLICY: Final = r.one_of("Honor", "Ignore")
_SPREAD: Final = r.struct(
    maxSkew=r.always(_POSITIVE, 0),
    topologyKey=r.required(detail="can not be empty"),
    whenUnsatisfiable=r.always(r.one_of("DoNotSchedule", "ScheduleAnyway"), ""),
)
_SPREAD_OPTIONS: Final = r.all_of(
    r.struct(minDomains=_POSITIVE),
    _validate_domains,
    r.struct(nodeAffinityPolicy=_POLICY, nodeTaintsPolicy=_POLICY),
    _validate_label_keys,
    r.struct(labelSelector=validate_label_selector),
)
_GATE_NAMES: Final = r.distinct(r.QUALIFIED)


def validate_gates(errors: FieldErrors, path: str, gates: list[Document]) -> None:
    """Check scheduling gates."""
    _GATE_NAMES(errors, path, [gate.get("name") or "" for gate in gates])
