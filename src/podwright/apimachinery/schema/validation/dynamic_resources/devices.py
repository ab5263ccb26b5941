"""Validation of resource claims and their templates, device classes and taint rules.

The expressions of selectors are limited in length here; whoever evaluates them compiles them.

Upstream: pkg/apis/resource/validation/validation.go
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema.validation.field_errors import FieldErrors, repeats, same
from podwright.apimachinery.schema.validation.internal_structs import internal_form
from podwright.apimachinery.schema.validation.metadata import validate_template_metadata
from podwright.apimachinery.schema.validation.names import (
    c_identifier,
    dns_label,
    dns_subdomain,
    label_value,
    qualified_name,
)
from podwright.apimachinery.schema.validation.pods.resources import is_extended
from podwright.apimachinery.schema.validation.pods.scheduling import validate_node_selector
from podwright.apimachinery.schema.validation.pods.volume_sources import validate_driver_name

RequestNames: TypeAlias = Mapping[str, frozenset[str]]
"""The names of the subrequests of each request."""

_MOST_REQUESTS: Final = 32
_MOST_ALTERNATIVES: Final = 8
_MOST_SELECTORS: Final = 32
_MOST_CONSTRAINTS: Final = 32
_MOST_CONFIGURATIONS: Final = 32
_MOST_RESULTS: Final = 32
_MOST_CONSUMERS: Final = 256
_MOST_CONDITIONS: Final = 8
_MOST_BINDING_CONDITIONS: Final = 4
_EXPRESSION_MAX_BYTES: Final = 10 * 1024
_PARAMETERS_MAX_BYTES: Final = 10 * 1024
_POOL_MAX_BYTES: Final = 253
_IDENTIFIER_MAX_BYTES: Final = 32
_EFFECTS: Final = ("NoExecute", "NoSchedule", "None")
_NO_REQUEST: Final = (
    "must be the name of a request in the claim or the name of a request and a subrequest separated"
    " by '/'"
)
_ONE_KIND: Final = "exactly one of `exactly` or `firstAvailable` is required"
_UUID: Final = re.compile("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")

# ------------------------------------------------------------------------------ claims


def validate_resource_claim(errors: FieldErrors, claim: Document) -> None:
    """Check a new ResourceClaim."""
    _validate_claim_spec(errors, "spec", claim.get("spec") or {})


def validate_resource_claim_template(errors: FieldErrors, template: Document) -> None:
    """Check a new ResourceClaimTemplate."""
    spec = template.get("spec") or {}
    metadata = spec.get("metadata") or {}
    validate_template_metadata(errors, "spec.metadata", metadata)
    _validate_claim_spec(errors, "spec.spec", spec.get("spec") or {})


def _validate_kept(
    errors: FieldErrors, struct: str, path: str, new: Document | None, old: Document | None
) -> None:
    if not same(new, old):
        errors.invalid(path, internal_form(new, struct), "field is immutable")


def _validate_claim_spec(errors: FieldErrors, path: str, spec: Document) -> None:
    devices = spec.get("devices") or {}
    at, names = f"{path}.devices", _request_names(devices)
    requests = devices.get("requests") or []
    validate_named(errors, f"{at}.requests", requests, _MOST_REQUESTS, _validate_request)
    _validate_each(
        errors, f"{at}.constraints", devices.get("constraints"), _MOST_CONSTRAINTS,
        lambda errors, path, each: _validate_constraint(errors, path, each, names),
    )  # fmt: skip
    _validate_each(
        errors, f"{at}.config", devices.get("config"), _MOST_CONFIGURATIONS,
        lambda errors, path, each: _validate_claim_configuration(errors, path, each, names),
    )  # fmt: skip


def _request_names(devices: Document) -> RequestNames:
    return {
        request.get("name") or "": frozenset(
            each.get("name") or "" for each in request.get("firstAvailable") or ()
        )
        for request in devices.get("requests") or ()
    }


Check: TypeAlias = Callable[[FieldErrors, str, Any], None]


def _validate_each(
    errors: FieldErrors, path: str, items: list[Any] | None, most: int, check: Check
) -> bool:
    """Check the items of a list unless there are too many; return whether they were checked."""
    found = items or []
    if len(found) > most:
        errors.too_many(path, len(found), most)
        return False
    for index, item in enumerate(found):
        check(errors, f"{path}[{index}]", item)
    return True


def validate_distinct(
    errors: FieldErrors, path: str, items: list[Any] | None, most: int, check: Check,
    key_of: Callable[[Any], Any] = lambda item: item,
) -> None:  # fmt: skip
    """Check the items of a list, none of which may have the key of another."""
    if not _validate_each(errors, path, items, most, check):
        return
    keys = [key_of(item) for item in items or ()]
    for index, is_repeated in enumerate(repeats(keys)):
        if is_repeated:
            errors.duplicate(f"{path}[{index}]", keys[index])


def validate_named(
    errors: FieldErrors, path: str, items: list[Any] | None, most: int, check: Check
) -> None:
    """Check the items of a list whose names are distinct."""
    validate_distinct(errors, path, items, most, check, lambda item: item.get("name") or "")


def _validate_request(errors: FieldErrors, path: str, request: Document) -> None:
    errors.each(f"{path}.name", request.get("name") or "", dns_label(request.get("name") or ""))
    exactly, alternatives = request.get("exactly"), request.get("firstAvailable") or []
    if exactly is None and not alternatives:
        errors.required(path, _ONE_KIND)
    elif exactly is not None and alternatives:
        errors.invalid(path, None, f"{_ONE_KIND}, but multiple fields are set")
    elif exactly is not None:
        _validate_devices(errors, f"{path}.exactly", exactly)
    else:
        at = f"{path}.firstAvailable"
        validate_named(errors, at, alternatives, _MOST_ALTERNATIVES, _validate_alternative)


def _validate_alternative(errors: FieldErrors, path: str, request: Document) -> None:
    errors.each(f"{path}.name", request.get("name") or "", dns_label(request.get("name") or ""))
    _validate_devices(errors, path, request)


def _validate_devices(errors: FieldErrors, path: str, request: Document) -> None:
    if name := request.get("deviceClassName"):
        errors.each(f"{path}.deviceClassName", name, dns_subdomain(name))
    else:
        errors.required(f"{path}.deviceClassName")
    _validate_selectors(errors, f"{path}.selectors", request.get("selectors"))
    mode, count = request.get("allocationMode"), request.get("count") or 0
    if mode == "All":
        if count:
            text = f"must not be specified when allocationMode is '{mode}'"
            errors.invalid(f"{path}.count", count, text)
    elif mode == "ExactCount":
        if count <= 0:
            errors.invalid(f"{path}.count", count, "must be greater than zero")
    else:
        errors.unsupported(f"{path}.allocationMode", mode, ("All", "ExactCount"))
    for index, toleration in enumerate(request.get("tolerations") or ()):
        _validate_toleration(errors, f"{path}.tolerations[{index}]", toleration)


def _validate_selectors(errors: FieldErrors, path: str, selectors: list[Any] | None) -> None:
    _validate_each(errors, path, selectors, _MOST_SELECTORS, _validate_selector)


def _validate_selector(errors: FieldErrors, path: str, selector: Document) -> None:
    cel = selector.get("cel")
    if cel is None:
        errors.required(f"{path}.cel")
    elif len((cel.get("expression") or "").encode()) > _EXPRESSION_MAX_BYTES:
        errors.too_long(f"{path}.cel.expression", _EXPRESSION_MAX_BYTES)


def _validate_toleration(errors: FieldErrors, path: str, toleration: Document) -> None:
    key, value = toleration.get("key"), toleration.get("value") or ""
    if key:
        errors.each(f"{path}.key", key, qualified_name(key))
    match toleration.get("operator"):
        case "Exists":
            if value:
                errors.invalid(f"{path}.value", value, "must be empty for operator `Exists`")
        case "Equal":
            errors.each(f"{path}.value", value, label_value(value))
        case None | "":
            errors.required(f"{path}.operator")
        case operator:
            errors.unsupported(f"{path}.operator", operator, ("Equal", "Exists"))
    effect = toleration.get("effect")
    if effect and effect not in _EFFECTS:
        errors.unsupported(f"{path}.effect", effect, _EFFECTS)


def _validate_constraint(
    errors: FieldErrors, path: str, constraint: Document, names: RequestNames
) -> None:
    _validate_references(errors, f"{path}.requests", constraint.get("requests"), names)
    for name in ("matchAttribute", "distinctAttribute"):
        if (attribute := constraint.get(name)) is not None:
            validate_attribute_name(errors, f"{path}.{name}", attribute, needs_domain=True)
            return
    text = (
        'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields'
        " are set"
    )
    errors.required(path, text)


def _validate_references(
    errors: FieldErrors, path: str, references: list[Any] | None, names: RequestNames
) -> None:
    def check(errors: FieldErrors, path: str, name: str) -> None:
        _validate_reference(errors, path, name, names)

    validate_distinct(errors, path, references, _MOST_REQUESTS, check)


def _validate_reference(errors: FieldErrors, path: str, name: str, names: RequestNames) -> None:
    request, separator, alternative = name.partition("/")
    if "/" in alternative:
        errors.invalid(path, name, _NO_REQUEST)
        return
    for part in (request, alternative) if separator else (request,):
        errors.each(path, part, dns_label(part))
    if request not in names or (separator and alternative not in names[request]):
        errors.invalid(path, name, _NO_REQUEST)


def validate_attribute_name(
    errors: FieldErrors, path: str, name: str, *, needs_domain: bool
) -> None:
    """Check the name of a device attribute or capacity."""
    parts = name.split("/")
    if len(parts) == 1:
        _validate_identifier(errors, path, name)
    elif len(parts) == 2:
        domain, identifier = parts
        if domain:
            validate_driver_name(errors, path, domain)
        else:
            errors.invalid(path, "", "the domain must not be empty")
        if identifier:
            _validate_identifier(errors, path, identifier)
        else:
            errors.invalid(path, "", "the name must not be empty")
    if needs_domain and len(parts) == 1:
        text = "a fully qualified name must be a domain and a name separated by a slash"
        errors.invalid(path, name, text)


def _validate_identifier(errors: FieldErrors, path: str, name: str) -> None:
    if len(name) > _IDENTIFIER_MAX_BYTES:
        errors.too_long(path, _IDENTIFIER_MAX_BYTES)
    errors.each(path, name, c_identifier(name))


def _validate_claim_configuration(
    errors: FieldErrors, path: str, configuration: Document, names: RequestNames
) -> None:
    _validate_references(errors, f"{path}.requests", configuration.get("requests"), names)
    _validate_configuration(errors, path, configuration)


def _validate_configuration(errors: FieldErrors, path: str, configuration: Document) -> None:
    opaque = configuration.get("opaque")
    if opaque is None:
        errors.required(f"{path}.opaque")
        return
    validate_driver_name(errors, f"{path}.opaque.driver", opaque.get("driver") or "")
    _validate_parameters(errors, f"{path}.opaque.parameters", opaque.get("parameters"))


def _validate_parameters(errors: FieldErrors, path: str, parameters: Any) -> None:
    """Check a value that only its reader understands.

    Upstream: pkg/apis/resource/validation/validation.go, validateRawExtension
    """
    if parameters is None:
        errors.required(path)
    elif len(json.dumps(parameters, separators=(",", ":")).encode()) > _PARAMETERS_MAX_BYTES:
        errors.too_long(path, _PARAMETERS_MAX_BYTES)
    elif not isinstance(parameters, dict):
        errors.invalid(path, "<value omitted>", "must be a valid JSON object")


# ----------------------------------------------------------------------- state of claims


def validate_resource_claim_status(errors: FieldErrors, new: Document, old: Document) -> None:
    """Check a changed status of a ResourceClaim."""
    status, before = new.get("status") or {}, old.get("status") or {}
    consumers, allocation = status.get("reservedFor") or [], status.get("allocation")
    path = "status.reservedFor"
    validate_distinct(
        errors, path, consumers, _MOST_CONSUMERS, _validate_consumer, lambda each: each.get("uid")
    )
    allocated = [_device_of(each) for each in _results(allocation)]
    _validate_device_statuses(errors, status.get("devices"), allocated)
    if consumers and allocation is None:
        errors.forbidden(path, "may not be specified when `allocated` is not set")
    elif (new.get("metadata") or {}).get("deletionTimestamp") is not None and any(
        each not in (before.get("reservedFor") or []) for each in consumers
    ):
        text = (
            "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are"
            " set"
        )
        errors.forbidden(path, text)
    former = before.get("allocation")
    if allocation is not None and former is not None:
        _validate_kept(errors, "AllocationResult", "status.allocation", allocation, former)
    elif allocation is not None:
        names = _request_names((new.get("spec") or {}).get("devices") or {})
        _validate_allocation(errors, allocation, names)


def _results(allocation: Document | None) -> list[Document]:
    return ((allocation or {}).get("devices") or {}).get("results") or []


def _device_of(part: Document) -> tuple[Any, ...]:
    return tuple(part.get(name) or "" for name in ("driver", "pool", "device", "shareID"))


def _validate_consumer(errors: FieldErrors, path: str, consumer: Document) -> None:
    for name in ("resource", "name", "uid"):
        if not consumer.get(name):
            errors.required(f"{path}.{name}")


def _validate_allocation(errors: FieldErrors, allocation: Document, names: RequestNames) -> None:
    devices, path = allocation.get("devices") or {}, "status.allocation.devices"
    _validate_each(
        errors, f"{path}.results", devices.get("results"), _MOST_RESULTS,
        lambda errors, path, each: _validate_result(errors, path, each, names),
    )  # fmt: skip
    _validate_each(
        errors, f"{path}.config", devices.get("config"), 2 * _MOST_CONFIGURATIONS,
        lambda errors, path, each: _validate_allocated_configuration(errors, path, each, names),
    )  # fmt: skip
    if (selector := allocation.get("nodeSelector")) is not None:
        validate_node_selector(errors, "status.allocation.nodeSelector", selector)


def _validate_result(errors: FieldErrors, path: str, result: Document, names: RequestNames) -> None:
    _validate_reference(errors, f"{path}.request", result.get("request") or "", names)
    _validate_device(errors, path, result)
    validate_binding_conditions(errors, path, result)
    for index, toleration in enumerate(result.get("tolerations") or ()):
        _validate_toleration(errors, f"{path}.tolerations[{index}]", toleration)
    _validate_share(errors, path, result)


def _validate_device(errors: FieldErrors, path: str, part: Document) -> None:
    validate_driver_name(errors, f"{path}.driver", part.get("driver") or "")
    validate_pool_name(errors, f"{path}.pool", part.get("pool") or "")
    device = part.get("device") or ""
    errors.each(f"{path}.device", device, dns_label(device))


def _validate_share(errors: FieldErrors, path: str, part: Document) -> None:
    share = part.get("shareID")
    if share is not None and not _UUID.fullmatch(share):
        text = (
            "uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with"
            " lowercase hexadecimal characters"
        )
        errors.invalid(f"{path}.shareID", share, text)


def _validate_allocated_configuration(
    errors: FieldErrors, path: str, configuration: Document, names: RequestNames
) -> None:
    source, sources = configuration.get("source") or "", ("FromClaim", "FromClass")
    if not source:
        errors.required(f"{path}.source")
    elif source not in sources:
        errors.unsupported(f"{path}.source", source, sources)
    _validate_claim_configuration(errors, path, configuration, names)


def _validate_device_statuses(
    errors: FieldErrors, devices: list[Any] | None, allocated: list[tuple[Any, ...]]
) -> None:
    for index, device in enumerate(devices or ()):
        path = f"status.devices[{index}]"
        _validate_device(errors, path, device)
        _validate_share(errors, path, device)
        if _device_of(device) not in allocated:
            names = ("Driver", "Pool", "Device", "ShareID")
            shown = dict(zip(names, _device_of(device), strict=True))
            errors.invalid(path, shown, "must be an allocated device in the claim")
        conditions = device.get("conditions") or []
        if len(conditions) > _MOST_CONDITIONS:
            errors.too_many(f"{path}.conditions", len(conditions), _MOST_CONDITIONS)
        if device.get("data") is not None:
            _validate_parameters(errors, f"{path}.data", device["data"])


def validate_pool_name(errors: FieldErrors, path: str, name: str) -> None:
    """Check the name of a pool of devices."""
    if not name:
        errors.required(path)
        return
    if len(name) > _POOL_MAX_BYTES:
        errors.too_long(path, _POOL_MAX_BYTES)
    for part in name.split("/"):
        errors.each(path, part, dns_subdomain(part))


def validate_binding_conditions(errors: FieldErrors, path: str, part: Document) -> None:
    """Check the conditions for which binding waits, and those with which it fails."""
    waited, failing = part.get("bindingConditions"), part.get("bindingFailureConditions")
    fields = (("bindingConditions", waited), ("bindingFailureConditions", failing))
    awaited = frozenset(waited or ())
    for name, conditions in fields:
        _validate_each(
            errors, f"{path}.{name}", conditions, _MOST_BINDING_CONDITIONS, _validate_condition
        )
    for name, conditions in fields:
        are_repeated = repeats(conditions or ())
        for index, (condition, is_repeated) in enumerate(
            zip(conditions or (), are_repeated, strict=True)
        ):
            at = f"{path}.{name}[{index}]"
            if is_repeated:
                errors.duplicate(at, condition)
            if name == "bindingFailureConditions" and condition in awaited:
                text = "bindingFailureConditions must not overlap with bindingConditions"
                errors.invalid(at, condition, text)
    if failing and not waited:
        text = "bindingConditions are required to use bindingFailureConditions"
        errors.invalid(f"{path}.bindingConditions", waited, text)
    if waited and not failing:
        text = "bindingFailureConditions are required to use bindingConditions"
        errors.invalid(f"{path}.bindingFailureConditions", failing, text)


def _validate_condition(errors: FieldErrors, path: str, condition: str) -> None:
    errors.each(path, condition, qualified_name(condition))


# ---------------------------------------------------------------------- device classes


def validate_device_class(errors: FieldErrors, device_class: Document) -> None:
    """Check a new DeviceClass."""
    spec = device_class.get("spec") or {}
    _validate_selectors(errors, "spec.selectors", spec.get("selectors"))
    configurations = spec.get("config")
    _validate_each(
        errors, "spec.config", configurations, _MOST_CONFIGURATIONS, _validate_configuration
    )
    name = spec.get("extendedResourceName")
    if name is not None and not is_extended(name):
        text = "must be a valid extended resource name"
        errors.invalid("spec.extendedResourceName", name, text)


# ------------------------------------------------------------------------------- taints


def validate_taint(errors: FieldErrors, path: str, taint: Document) -> None:
    """Check a taint of a device."""
    key, value, effect = (taint.get(name) or "" for name in ("key", "value", "effect"))
    errors.each(f"{path}.key", key, qualified_name(key))
    if value:
        errors.each(f"{path}.value", value, label_value(value))
    if not effect:
        errors.required(f"{path}.effect")
    elif effect not in _EFFECTS:
        errors.unsupported(f"{path}.effect", effect, _EFFECTS)


def validate_taint_rule(errors: FieldErrors, rule: Document) -> None:
    """Check a new DeviceTaintRule."""
    spec, path = rule.get("spec") or {}, "spec.deviceSelector"
    selector = spec.get("deviceSelector") or {}
    if (driver := selector.get("driver")) is not None:
        validate_driver_name(errors, f"{path}.driver", driver)
    if (pool := selector.get("pool")) is not None:
        validate_pool_name(errors, f"{path}.pool", pool)
    if (device := selector.get("device")) is not None:
        errors.each(f"{path}.device", device, dns_label(device))
    validate_taint(errors, "spec.taint", spec.get("taint") or {})
