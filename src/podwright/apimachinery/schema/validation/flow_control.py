"""Validation of flow schemas and priority level configurations.

Upstream: pkg/apis/flowcontrol/validation/validation.go;
staging/src/k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap/default.go;
staging/src/k8s.io/apiserver/pkg/util/shufflesharding/shufflesharding.go.
"""

from __future__ import annotations

import math
from functools import cache
from importlib import resources
from typing import Final

import msgspec

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema.validation import rules as r
from podwright.apimachinery.schema.validation.field_errors import (
    FieldErrors,
    internal_form,
    repeats,
    same,
)
from podwright.apimachinery.schema.validation.names import dns_label

_EXEMPT: Final = "exempt"
_MANDATORY: Final = (_EXEMPT, "catch-all")
"""The names of objects whose specs are fixed; `spec.exempt` of the level may change."""
_PRECEDENCE_MAX: Final = 10_000
_QUEUES_MAX: Final = 10_000_000
_HASH_BITS_MAX: Final = 60
_NAMESPACE_ERROR: Final = "each member of this list must be '*' or a DNS-1123 label; "
_SUBJECTS: Final = {"ServiceAccount": "serviceAccount", "User": "user", "Group": "group"}
_VERBS: Final = (
    "create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch",
)  # fmt: skip


class FlowControl(msgspec.Struct, frozen=True, kw_only=True):
    """The names and specs of the objects that an API server creates at its first start, by kind."""

    levels: dict[str, Document]
    schemas: dict[str, Document]


@cache
def flow_control_specs() -> FlowControl:
    """Return the specs of the objects of API priority and fairness."""
    data = resources.files("podwright.apimachinery.schema").joinpath("flow_control.json")
    return msgspec.json.decode(data.read_bytes(), type=FlowControl)


def _name(document: Document) -> str:
    return (document.get("metadata") or {}).get("name") or ""


def _missing(values: str) -> str:
    return f"{values} must contain at least one value"


def _or_wildcard(missing: str, others: str, rule: r.Rule | None = None) -> r.Rule:
    """Return the rule of a list in which `*` is the only item, or each obeys a rule."""

    def check(errors: FieldErrors, path: str, values: list[str]) -> None:
        if "*" not in values:
            if rule:
                rule(errors, path, values)
        elif len(values) > 1:
            errors.invalid(path, values, f"if '*' is present, must not specify other {others}")

    return r.required(check, detail=missing)


# ------------------------------------------------------------------------- flow schemas


def _validate_precedence(errors: FieldErrors, _path: str, schema: Document) -> None:
    path = "spec.matchingPrecedence"
    value = (schema.get("spec") or {}).get("matchingPrecedence") or 0
    if value <= 0:
        errors.invalid(path, value, "must be a positive value")
    if value > _PRECEDENCE_MAX:
        errors.invalid(path, value, f"must not be greater than {_PRECEDENCE_MAX}")
    if value == 1 and _name(schema) != _EXEMPT:
        errors.invalid(path, value, "only the schema named 'exempt' may have matchingPrecedence 1")


def _validate_method(errors: FieldErrors, path: str, method: Document) -> None:
    if method.get("type") not in ("ByNamespace", "ByUser"):
        shown = internal_form(method, "FlowDistinguisherMethod")
        errors.unsupported(f"{path}.type", shown, ("ByNamespace", "ByUser"))


def _validate_subject(errors: FieldErrors, path: str, subject: Document) -> None:
    kind = subject.get("kind") or ""
    own = _SUBJECTS.get(kind)
    if own is None:
        errors.unsupported(f"{path}.kind", kind, sorted(_SUBJECTS))
        return
    _SUBJECT[own](errors, path, subject)
    for other, field in _SUBJECTS.items():
        if field != own and subject.get(field) is not None:
            text = f"{field} is forbidden when subject kind is not '{other}'"
            errors.forbidden(f"{path}.{field}", text)


def _subject(kind: str, **fields: r.Rule) -> r.Rule:
    field = _SUBJECTS[kind]
    detail = f"{field} is required when subject kind is '{kind}'"
    return r.struct(**{field: r.not_null(r.struct(**fields), detail=detail)})


def _validate_account_name(errors: FieldErrors, path: str, name: str) -> None:
    if name != "*":
        r.SUBDOMAIN(errors, path, name)


_SUBJECT: Final = {
    "serviceAccount": _subject(
        "ServiceAccount",
        name=r.required(_validate_account_name),
        namespace=r.required(r.LABEL, detail="must specify namespace for service account"),
    ),
    "user": _subject("User", name=r.required()),
    "group": _subject("Group", name=r.required()),
}


def _validate_verbs(errors: FieldErrors, path: str, verbs: list[str]) -> None:
    if not {*verbs} <= {*_VERBS}:
        errors.unsupported(path, verbs, _VERBS)


def _validate_url(errors: FieldErrors, path: str, url: str) -> None:
    problem = ""
    if not url:
        problem = "must not be empty"
    elif url == "/":
        return
    elif not url.startswith("/"):
        problem = "must start with slash"
    elif " " in url:
        problem = "must not contain white-space"
    elif "//" in url:
        problem = "must not contain double slash"
    elif "*" in url.removesuffix("/*"):
        problem = "wildcard can only do suffix matching"
    if problem:
        errors.invalid(path, url, problem)


def _validate_namespaces(errors: FieldErrors, path: str, rule: Document) -> None:
    if rule.get("namespaces") or not rule.get("clusterScope"):
        _NAMESPACES(errors, path, rule)


def _validate_any_rule(errors: FieldErrors, path: str, rule: Document) -> None:
    if not rule.get("resourceRules") and not rule.get("nonResourceRules"):
        text = "at least one of resourceRules and nonResourceRules has to be non-empty"
        errors.required(path, text)


_NAMESPACE: Final = r.form(lambda name: (_NAMESPACE_ERROR + each for each in dns_label(name)))
_NAMESPACES: Final = r.struct(
    namespaces=_or_wildcard(
        "resource rules that are not cluster scoped must supply at least one namespace",
        "namespaces",
        r.each(_NAMESPACE),
    )
)
_ONE_VERB: Final = _or_wildcard(_missing("verbs"), "verbs", _validate_verbs)
_RULE: Final = r.all_of(
    r.struct(subjects=r.required(r.each(_validate_subject), detail=_missing("subjects"))),
    _validate_any_rule,
    r.struct(
        resourceRules=r.each(
            r.all_of(
                r.struct(
                    verbs=_ONE_VERB,
                    apiGroups=_or_wildcard(
                        "resource rules must supply at least one api group", "api groups"
                    ),
                    resources=_or_wildcard(
                        "resource rules must supply at least one resource", "resources"
                    ),
                ),
                _validate_namespaces,
            )
        ),
        nonResourceRules=r.each(
            r.struct(
                verbs=_ONE_VERB,
                nonResourceURLs=_or_wildcard(
                    _missing("nonResourceURLs"), "non-resource URLs", r.each(_validate_url)
                ),
            )
        ),
    ),
)
_LEVEL_NAME: Final = r.required(r.SUBDOMAIN, detail="must reference a priority level")


def _validate_fixed_schema(errors: FieldErrors, _path: str, schema: Document) -> None:
    name, spec, go_type = _name(schema), schema.get("spec") or {}, "FlowSchemaSpec"
    if name in _MANDATORY and not same(spec, flow_control_specs().schemas[name], go_type):
        shown = internal_form(spec, go_type)
        errors.invalid("spec", shown, f"spec of '{name}' must equal the fixed value")


validate_flow_schema: Final = r.of_object(
    _validate_precedence,
    r.struct(
        spec=r.always(
            r.struct(
                distinguisherMethod=_validate_method,
                priorityLevelConfiguration=r.always(r.struct(name=_LEVEL_NAME)),
                rules=r.each(_RULE),
            )
        )
    ),
    _validate_fixed_schema,
)


def validate_flow_status(errors: FieldErrors, new: Document, _old: Document) -> None:
    """Check the changed status of a flow schema or of a priority level configuration."""
    types = [each.get("type") or "" for each in (new.get("status") or {}).get("conditions") or ()]
    for index, (kind, is_repeated) in enumerate(zip(types, repeats(types), strict=True)):
        path = f"status.conditions[{index}].type"
        if is_repeated:
            errors.duplicate(path, kind)
        if not kind:
            errors.required(path)


# ---------------------------------------------------------- priority level configurations


def _validate_type(errors: FieldErrors, _path: str, level: Document) -> None:
    spec = level.get("spec") or {}
    kind = spec.get("type") or ""
    if (_name(level) == _EXEMPT) != (kind == "Exempt"):
        text = "must be 'Exempt' if and only if `name` is 'exempt'"
        errors.invalid("spec.type", kind, text)
    _TYPE.get(kind, _OTHER_TYPE)(errors, "spec", spec)


def _validate_queuing(errors: FieldErrors, path: str, queuing: Document) -> None:
    length, queues, hand = (
        queuing.get(field) or 0 for field in ("queueLengthLimit", "queues", "handSize")
    )
    if length <= 0:
        errors.invalid(f"{path}.queueLengthLimit", length, "must be positive")
    if queues <= 0:
        errors.invalid(f"{path}.queues", queues, "must be positive")
    elif queues > _QUEUES_MAX:
        errors.invalid(f"{path}.queues", queues, f"must not be greater than {_QUEUES_MAX}")
    problem = ""
    if hand <= 0:
        problem = "must be positive"
    elif hand > queues:
        problem = f"should not be greater than queues ({queues})"
    elif math.ceil(math.log2(queues) * hand) > _HASH_BITS_MAX:
        problem = (
            f"required entropy bits of deckSize {queues} and handSize {hand} should not be greater"
            f" than {_HASH_BITS_MAX}"
        )
    if problem:
        errors.invalid(f"{path}.handSize", hand, problem)


def _validate_response(errors: FieldErrors, path: str, response: Document | None) -> None:
    kind = (response or {}).get("type", "")
    _RESPONSE.get(kind, _OTHER_RESPONSE)(errors, path, response)


_UNLESS_QUEUED: Final = "if limited.limitResponse.type is"
_OTHER_RESPONSE: Final = r.struct(type=r.always(r.one_of("Queue", "Reject"), ""))
_RESPONSE: Final = {
    "Reject": r.struct(queuing=r.forbidden(f"must be nil {_UNLESS_QUEUED} not Limited")),
    "Queue": r.struct(
        queuing=r.not_null(_validate_queuing, detail=f"must not be empty {_UNLESS_QUEUED} Limited")
    ),
}


def _in_percent(percent: int) -> bool:
    return 0 <= percent <= 100


_SHARES: Final = r.at_least(0, "must be a non-negative integer")
_LENDABLE: Final = r.valid(_in_percent, "must be between 0 and 100, inclusive")
_LIMITED: Final = r.struct(
    nominalConcurrencyShares=_SHARES,
    limitResponse=r.always(_validate_response),
    lendablePercent=_LENDABLE,
    borrowingLimitPercent=r.at_least(0, "if specified, must be a non-negative integer"),
)
_OTHER_TYPE: Final = r.struct(type=r.always(r.one_of("Exempt", "Limited"), ""))
_TYPE: Final = {
    "Exempt": r.struct(
        limited=r.forbidden("must be nil if the type is not Limited"),
        exempt=r.struct(nominalConcurrencyShares=_SHARES, lendablePercent=_LENDABLE),
    ),
    "Limited": r.struct(
        exempt=r.forbidden("must be nil if the type is Limited"),
        limited=r.not_null(_LIMITED, detail="must not be empty when type is Limited"),
    ),
}
_ROUND_TRIP: Final = "flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares"


def _validate_annotations(errors: FieldErrors, _path: str, level: Document) -> None:
    if _ROUND_TRIP in ((level.get("metadata") or {}).get("annotations") or ()):
        errors.forbidden("metadata.annotations", f"annotation '{_ROUND_TRIP}' is forbidden")


def _validate_fixed_level(errors: FieldErrors, _path: str, level: Document) -> None:
    name, spec, go_type = _name(level), level.get("spec") or {}, "PriorityLevelConfigurationSpec"
    if name not in _MANDATORY:
        return
    fixed, but = flow_control_specs().levels[name], ""
    compared = spec
    if name == _EXEMPT:
        compared, but = spec | {"exempt": fixed["exempt"]}, " except the 'spec.exempt' field"
    if not same(compared, fixed, go_type):
        shown = internal_form(spec, go_type)
        errors.invalid("spec", shown, f"spec of '{name}'{but} must equal the fixed value")


validate_priority_level: Final = r.of_object(
    _validate_annotations, _validate_type, _validate_fixed_level
)
