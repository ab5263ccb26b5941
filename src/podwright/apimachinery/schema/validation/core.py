"""Validation of namespaces, quotas, limit ranges, configuration, events, leases and the like.

Upstream: pkg/apis/core/validation/validation.go, events.go;
pkg/apis/coordination/validation/validation.go; pkg/apis/node/validation/validation.go;
pkg/apis/core/validation/validation.go, ValidateSecret; pkg/apis/core/validation/events.go.
"""

from __future__ import annotations

import base64
from typing import Any, Final

import msgspec

from podwright.apimachinery.objects import Document, Quantity, format_quantity, go_json_error
from podwright.apimachinery.schema.validation.annotation_lists import JSON_TYPES
from podwright.apimachinery.schema.validation.field_errors import (
    FieldErrors,
    internal_form,
    repeats,
)
from podwright.apimachinery.schema.validation.metadata import (
    validate_labels,
    validate_qualified_finalizer,
)
from podwright.apimachinery.schema.validation.names import (
    config_key,
    dns_label,
    qualified_name,
)
from podwright.apimachinery.schema.validation.pods.resources import (
    is_overcommit_allowed,
    is_standard_quota,
    validate_amount,
    validate_container_resource_name,
    validate_quantity,
    validate_requirements,
    validate_resource_name,
)
from podwright.apimachinery.schema.validation.pods.scheduling import validate_tolerations

_SECRET_MAX_BYTES: Final = 1024 * 1024
_COMPUTE: Final = frozenset(
    {
        "cpu",
        "memory",
        "limits.cpu",
        "limits.memory",
        "requests.cpu",
        "requests.memory",
    }
)
_SCOPES: Final[dict[str, frozenset[str]]] = {
    "Terminating": _COMPUTE | {"pods"},
    "NotTerminating": _COMPUTE | {"pods"},
    "BestEffort": frozenset({"pods"}),
    "NotBestEffort": _COMPUTE | {"pods"},
    "PriorityClass": _COMPUTE | {"pods"},
    "CrossNamespacePodAffinity": _COMPUTE | {"pods"},
    "VolumeAttributesClass": frozenset({"persistentvolumeclaims", "requests.storage"}),
}
_EXISTING_SCOPES: Final = frozenset(_SCOPES) - {"PriorityClass", "VolumeAttributesClass"}
_CONFLICTS: Final = ({"BestEffort", "NotBestEffort"}, {"Terminating", "NotTerminating"})


def validate_namespace(errors: FieldErrors, namespace: Document) -> None:
    """Check a new namespace."""
    for finalizer in (namespace.get("spec") or {}).get("finalizers") or ():
        errors.each("spec.finalizers", finalizer, qualified_name(finalizer))
        validate_qualified_finalizer(errors, "spec.finalizers", finalizer)


# ------------------------------------------------------------------------------------ quotas


def validate_resource_quota(errors: FieldErrors, quota: Document) -> None:
    """Check a new quota."""
    _validate_quota_spec(errors, quota.get("spec") or {})
    status = quota.get("status") or {}
    for kind in ("hard", "used"):
        _validate_hard(errors, f"status.{kind}", status.get(kind) or {})


def validate_resource_quota_update(errors: FieldErrors, new: Document, old: Document) -> None:
    """Check a changed quota, whose scopes are immutable."""
    spec, before = new.get("spec") or {}, old.get("spec") or {}
    _validate_quota_spec(errors, spec)
    if {*(spec.get("scopes") or ())} != {*(before.get("scopes") or ())}:
        errors.invalid("spec.scopes", spec.get("scopes"), "field is immutable")


def validate_resource_quota_status(errors: FieldErrors, new: Document, _old: Document) -> None:
    """Check the changed status of a quota."""
    status = new.get("status") or {}
    for kind in ("hard", "used"):
        _validate_hard(errors, f"status.{kind}", status.get(kind) or {})


def _validate_hard(errors: FieldErrors, path: str, amounts: Document) -> None:
    for name, text in sorted(amounts.items()):
        at = f"{path}[{name}]"
        validate_resource_name(errors, at, name)
        if "/" not in name and not is_standard_quota(name):
            errors.invalid(at, name, "must be a standard resource for quota")
        amount = validate_quantity(errors, at, text)
        if amount is not None:
            validate_amount(errors, at, name, amount)


def _validate_quota_spec(errors: FieldErrors, spec: Document) -> None:
    hard = spec.get("hard") or {}
    _validate_hard(errors, "spec.hard", hard)
    scopes: list[str] = spec.get("scopes") or []
    for scope in scopes:
        if scope not in _SCOPES:
            errors.invalid("spec.scopes", scopes, "unsupported scope")
        _validate_scope_resources(errors, "spec.scopes", scope, hard, scopes)
    _validate_conflicts(errors, "spec.scopes", scopes, scopes)
    if (selector := spec.get("scopeSelector")) is not None:
        _validate_scope_selector(errors, selector, hard, spec.get("scopes"))


def _validate_scope_resources(
    errors: FieldErrors, path: str, scope: str, hard: Document, shown: Any
) -> None:
    for name in sorted(hard):
        if is_standard_quota(name) and scope in _SCOPES and name not in _SCOPES[scope]:
            errors.invalid(path, shown, "unsupported scope applied to resource")


def _validate_conflicts(errors: FieldErrors, path: str, scopes: list[str], shown: Any) -> None:
    for pair in _CONFLICTS:
        if pair <= {*scopes}:
            errors.invalid(path, shown, "conflicting scopes")


def _validate_scope_selector(
    errors: FieldErrors, selector: Document, hard: Document, scopes: list[str] | None
) -> None:
    path, named = "spec.scopeSelector.matchExpressions", []
    for term in selector.get("matchExpressions") or ():
        scope, operator = term.get("scopeName") or "", term.get("operator") or ""
        values = term.get("values") or []
        named.append(scope)
        if scope not in _SCOPES:
            errors.invalid(f"{path}.scopeName", scope, "unsupported scope")
        shown = internal_form(selector, "ScopeSelector")
        _validate_scope_resources(errors, path, scope, hard, shown)
        if scope in _EXISTING_SCOPES and operator != "Exists":
            text = (
                "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating,"
                " ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort,"
                " ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"
            )
            errors.invalid(f"{path}.operator", operator, text)
        if operator in ("In", "NotIn"):
            if not values:
                text = (
                    "must be at least one value when `operator` is 'In' or 'NotIn' for scope"
                    " selector"
                )
                errors.required(f"{path}.values", text)
        elif operator in ("Exists", "DoesNotExist"):
            if values:
                text = (
                    "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope"
                    " selector"
                )
                errors.invalid(f"{path}.values", values, text)
        else:
            errors.invalid(f"{path}.operator", operator, "not a valid selector operator")
    _validate_conflicts(errors, path, named, scopes)


# ------------------------------------------------------------------------------ limit ranges


def validate_limit_range(errors: FieldErrors, limit_range: Document) -> None:
    """Check a limit range."""
    seen: set[str] = set()
    for index, limit in enumerate((limit_range.get("spec") or {}).get("limits") or ()):
        at, kind = f"spec.limits[{index}]", limit.get("type") or ""
        errors.each(f"{at}.type", kind, qualified_name(kind))
        if (
            not qualified_name(kind)
            and "/" not in kind
            and kind not in ("Pod", "Container", "PersistentVolumeClaim")
        ):
            text = "must be a standard limit type or fully qualified"
            errors.invalid(f"{at}.type", kind, text)
        if kind in seen:
            errors.duplicate(f"{at}.type", kind)
        seen.add(kind)
        _validate_limit(errors, at, kind, limit)


def _validate_limit(errors: FieldErrors, path: str, kind: str, limit: Document) -> None:
    rule = (
        validate_container_resource_name if kind in ("Pod", "Container") else validate_resource_name
    )
    amounts: dict[str, dict[str, Quantity]] = {}
    for name in ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio"):
        amounts[name] = {}
        if kind == "Pod" and name in ("default", "defaultRequest"):
            if limit.get(name):
                errors.forbidden(f"{path}.{name}", "may not be specified when `type` is 'Pod'")
            continue
        if name == "maxLimitRequestRatio":
            _validate_storage_limit(errors, path, kind, amounts)
        for resource, text in sorted((limit.get(name) or {}).items()):
            rule(errors, f"{path}.{name}[{resource}]", resource)
            amount = validate_quantity(errors, f"{path}.{name}[{resource}]", text)
            if amount is not None:
                amounts[name][resource] = amount
    for resource in sorted({each for one in amounts.values() for each in one}):
        _validate_relations(
            errors, path, resource, {k: v.get(resource) for k, v in amounts.items()}
        )


def _validate_storage_limit(
    errors: FieldErrors, path: str, kind: str, amounts: dict[str, dict[str, Quantity]]
) -> None:
    has_storage = "storage" in amounts["min"] or "storage" in amounts["max"]
    if kind == "PersistentVolumeClaim" and not has_storage:
        text = "either minimum or maximum storage value is required, but neither was provided"
        errors.required(f"{path}.limits", text)


def _validate_relations(
    errors: FieldErrors, path: str, resource: str, amounts: dict[str, Quantity | None]
) -> None:
    """Check that minimum, defaults and maximum of a resource are in order."""
    names = {
        "min": "min value",
        "max": "max value",
        "default": "default value",
        "defaultRequest": "default request value",
    }
    # Where the error is, which amount it shows, and the two that are compared.
    for place, shown, low, high, upper in (
        ("min", "min", "min", "max", "max value"),
        ("defaultRequest", "defaultRequest", "min", "defaultRequest", "default request value"),
        ("defaultRequest", "defaultRequest", "defaultRequest", "max", "max value"),
        ("defaultRequest", "defaultRequest", "defaultRequest", "default", "default limit value"),
        ("default", "min", "min", "default", "default value"),
        ("default", "max", "default", "max", "max value"),
    ):
        a, b = amounts[low], amounts[high]
        if a is not None and b is not None and a.nano > b.nano:
            text = f"{names[low]} {format_quantity(a)} is greater than {upper} {format_quantity(b)}"
            value = amounts[shown]
            assert value is not None, shown
            errors.invalid(f"{path}.{place}[{resource}]", format_quantity(value), text)
    ratio = amounts["maxLimitRequestRatio"]
    at = f"{path}.maxLimitRequestRatio[{resource}]"
    if ratio is not None and ratio.nano < 10**9:
        text = f"ratio {format_quantity(ratio)} is less than 1"
        errors.invalid(at, format_quantity(ratio), text)
    least, most = amounts["min"], amounts["max"]
    if ratio is not None and least is not None and most is not None and least.nano:
        limit = most.milli_value() / least.milli_value()
        if ratio.milli_value() / 1000 > limit:
            text = f"ratio {format_quantity(ratio)} is greater than max/min = {limit:f}"
            errors.invalid(at, format_quantity(ratio), text)
    default, request = amounts["default"], amounts["defaultRequest"]
    if is_overcommit_allowed(resource) or default is None or request is None:
        return
    if default.nano != request.nano:
        text = (
            f"default value {format_quantity(default)} must equal to defaultRequest value"
            f" {format_quantity(request)} in {resource}"
        )
        errors.invalid(f"{path}.defaultRequest[{resource}]", format_quantity(request), text)


# ----------------------------------------------------------------------------- configuration


def validate_config_map(errors: FieldErrors, config_map: Document) -> None:
    """Check a new ConfigMap."""
    data, binary = config_map.get("data") or {}, config_map.get("binaryData") or {}
    size = 0
    for key, value in sorted(data.items()):
        errors.each(f"data[{key}]", key, config_key(key))
        if key in binary:
            errors.invalid(f"data[{key}]", key, "duplicate of key present in binaryData")
        size += len((value or "").encode())
    for key, value in sorted(binary.items()):
        errors.each(f"binaryData[{key}]", key, config_key(key))
        size += _decoded_length(value)
    if size > _SECRET_MAX_BYTES:
        # Upstream's path has one part without a name, which it prints as an index.
        errors.too_long("[]", _SECRET_MAX_BYTES)


def _decoded_length(value: str | None) -> int:
    return len(base64.b64decode(value or ""))


def validate_immutable_config_map(errors: FieldErrors, new: Document, old: Document) -> None:
    """Check that an immutable ConfigMap keeps its data."""
    _validate_immutable_data(errors, new, old, ("data", "binaryData"))


def _validate_immutable_data(
    errors: FieldErrors, new: Document, old: Document, fields: tuple[str, ...]
) -> None:
    if not old.get("immutable"):
        return
    text = "field is immutable when `immutable` is set"
    if not new.get("immutable"):
        errors.forbidden("immutable", text)
    for field in fields:
        # `reflect.DeepEqual` tells an empty map from none, and what is stored is never empty.
        if new.get(field) != (old.get(field) or None):
            errors.forbidden(field, text)


_SECRET_KEYS: Final[dict[str, tuple[str, ...]]] = {
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
}


def validate_secret(errors: FieldErrors, secret: Document) -> None:
    """Check a new Secret."""
    encoded, texts = secret.get("data") or {}, secret.get("stringData") or {}
    data = {**encoded, **texts}
    for key in sorted(data):
        errors.each(f"data[{key}]", key, config_key(key))
    sizes = {key: _decoded_length(value) for key, value in encoded.items()}
    sizes |= {key: len((text or "").encode()) for key, text in texts.items()}
    if sum(sizes.values()) > _SECRET_MAX_BYTES:
        errors.too_long("data", _SECRET_MAX_BYTES)
    kind = secret.get("type") or "Opaque"
    for key in _SECRET_KEYS.get(kind, ()):
        if key not in data:
            errors.required(f"data[{key}]")
    if kind == "kubernetes.io/ssh-auth" and not data.get("ssh-privatekey"):
        errors.required("data[ssh-privatekey]")
    validate_docker_config(errors, secret)
    if kind == "kubernetes.io/basic-auth" and not data.keys() & {"username", "password"}:
        errors.required("data[username]")
        errors.required("data[password]")
    account = "kubernetes.io/service-account.name"
    annotations = (secret.get("metadata") or {}).get("annotations") or {}
    if kind == "kubernetes.io/service-account-token" and not annotations.get(account):
        errors.required(f"metadata.annotations[{account}]")


def validate_immutable_secret(errors: FieldErrors, new: Document, old: Document) -> None:
    """Check that a Secret keeps its type, and an immutable one its data."""
    errors.immutable("type", new.get("type"), old.get("type"))
    _validate_immutable_data(errors, new, old, ("data",))


# -------------------------------------------------------------------- leases, runtime classes


def validate_lease(errors: FieldErrors, lease: Document) -> None:
    """Check a lease."""
    spec = lease.get("spec") or {}
    duration, transitions = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
    if duration is not None and duration <= 0:
        errors.invalid("spec.leaseDurationSeconds", duration, "must be greater than 0")
    errors.not_negative("spec.leaseTransitions", transitions)
    if spec.get("preferredHolder") and not spec.get("strategy"):
        text = "may only be specified if `strategy` is defined"
        errors.forbidden("spec.preferredHolder", text)


def validate_runtime_class(errors: FieldErrors, runtime_class: Document) -> None:
    """Check a new runtime class."""
    handler = runtime_class.get("handler") or ""
    if not handler:
        errors.required("handler")
    else:
        errors.each("handler", handler, dns_label(handler))
    overhead = (runtime_class.get("overhead") or {}).get("podFixed") or {}
    validate_requirements(errors, "overhead", {"limits": overhead}, set())
    scheduling = runtime_class.get("scheduling") or {}
    validate_labels(errors, "scheduling.nodeSelector", scheduling.get("nodeSelector"))
    tolerations = scheduling.get("tolerations") or []
    validate_tolerations(errors, "scheduling.tolerations", tolerations)
    keys = (
        {name: v for name, v in toleration.items() if name != "tolerationSeconds"}
        for toleration in tolerations
    )
    for index, (toleration, is_repeated) in enumerate(zip(tolerations, repeats(keys), strict=True)):
        if is_repeated:
            shown = internal_form(toleration, "Toleration")
            errors.duplicate(f"scheduling.tolerations[{index}]", shown)


# Validation of the credentials of registries in Secrets.

_KEYS: Final = {
    "kubernetes.io/dockercfg": ".dockercfg",
    "kubernetes.io/dockerconfigjson": ".dockerconfigjson",
}
_REDACTED: Final = "<secret contents redacted>"


def validate_docker_config(errors: FieldErrors, secret: Document) -> None:
    """Check that a Secret with the credentials of registries has a JSON object."""
    key = _KEYS.get(secret.get("type") or "")
    if key is None:
        return
    path, data, texts = f"data[{key}]", secret.get("data") or {}, secret.get("stringData") or {}
    if key in texts:
        content = (texts[key] or "").encode()
    elif key in data:
        content = base64.b64decode(data[key] or "")
    else:
        errors.required(path)
        return
    try:
        # Go's decoder replaces wrong bytes of texts, and names them elsewhere.
        found = msgspec.json.decode(content.decode(errors="replace").encode())
    except msgspec.DecodeError as error:
        errors.invalid(path, _REDACTED, go_json_error(content, error))
        return
    if found is not None and not isinstance(found, dict):
        name = JSON_TYPES[type(found)]
        text = f"json: cannot unmarshal {name} into Go value of type map[string]interface {{}}"
        errors.invalid(path, _REDACTED, text)


# Validation of events.

_IMMUTABLE: Final = (
    ("regarding", "involvedObject"),
    ("reason", "reason"),
    ("note", "message"),
    ("deprecatedSource", "source"),
    ("deprecatedFirstTimestamp", "firstTimestamp"),
    ("deprecatedLastTimestamp", "lastTimestamp"),
    ("deprecatedCount", "count"),
    ("reason", "reason"),  # upstream checks it twice
    ("type", "type"),
    ("eventTime", "eventTime"),
    ("action", "action"),
    ("related", "related"),
    ("reportingController", "reportingController"),
    ("reportingInstance", "reportingInstance"),
)
"""The immutable fields of events.k8s.io/v1, with their names in upstream's errors."""
_TYPES: Final = {
    "regarding": "ObjectReference",
    "deprecatedSource": "EventSource",
    "deprecatedFirstTimestamp": "!Time",
    "deprecatedLastTimestamp": "!Time",
    "deprecatedCount": "int",
    "eventTime": "!MicroTime",
    "related": "*ObjectReference",
}
"""The internal types of these fields that are not strings."""


def validate_core_event(errors: FieldErrors, event: Document) -> None:
    """Check an event of the core group."""
    _validate(errors, event, event.get("involvedObject") or {}, "reportingComponent", "message")


def validate_legacy_event(errors: FieldErrors, event: Document, _old: Document) -> None:
    """Check an event of events.k8s.io/v1 as one of the core group."""
    _validate(errors, event, event.get("regarding") or {}, "reportingController", "note")


def validate_event(errors: FieldErrors, event: Document) -> None:
    """Check a new event of events.k8s.io/v1, which has stricter rules."""
    validate_legacy_event(errors, event, event)
    _validate_series(errors, event)
    if event.get("eventTime") is None:
        errors.required("eventTime")
    if (kind := event.get("type") or "") not in ("Normal", "Warning"):
        errors.invalid("type", "", f"has invalid value: {kind}")
    for field, name in (
        ("deprecatedFirstTimestamp", "firstTimestamp"),
        ("deprecatedLastTimestamp", "lastTimestamp"),
        ("deprecatedCount", "count"),
    ):
        if event.get(field):
            errors.invalid(name, "", "needs to be unset")
    if any((event.get("deprecatedSource") or {}).values()):
        errors.invalid("source", "", "needs to be unset")


def validate_event_update(errors: FieldErrors, new: Document, old: Document) -> None:
    """Check what only events.k8s.io/v1 does of a changed event: only its series changes."""
    if new.get("series") != old.get("series"):
        _validate_series(errors, new)
    for field, name in _IMMUTABLE:
        errors.immutable(name, new.get(field), old.get(field), _TYPES.get(field, "string"))


def _validate_series(errors: FieldErrors, event: Document) -> None:
    series = event.get("series")
    if series is None:
        return
    if (series.get("count") or 0) < 2:
        errors.invalid("series.count", "", "should be at least 2")
    if series.get("lastObservedTime") is None:
        errors.required("series.lastObservedTime")


def _validate(
    errors: FieldErrors, event: Document, regarding: Document, controller: str, note: str
) -> None:
    namespace = (event.get("metadata") or {}).get("namespace") or ""
    own = regarding.get("namespace") or ""
    text = "does not match event.namespace"
    if event.get("eventTime") is None:
        differs = own != namespace if own else namespace not in ("", "default")
        if differs:
            errors.invalid("involvedObject.namespace", own, text)
        return
    if not own and namespace not in ("default", "kube-system"):
        errors.invalid("involvedObject.namespace", own, text)
    name = event.get(controller) or ""
    if not name:
        errors.required(controller)
    errors.each(controller, name, qualified_name(name))
    for field, shown, limit in (
        ("reportingInstance", "reportingInstance", 128),
        ("action", "action", 128),
        ("reason", "reason", 128),
        (note, "message", 1024),
    ):
        value = event.get(field) or ""
        if not value and field != note:
            errors.required(shown)
        if len(value.encode()) > limit:
            errors.invalid(shown, "", f"can have at most {limit} characters")
