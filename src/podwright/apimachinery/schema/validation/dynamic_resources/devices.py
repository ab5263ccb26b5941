"""Validation of resource claims and their templates, device classes and taint rules.

Upstream: pkg/apis/resource/validation/validation.go
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from podwright.apimachinery.cel import SelectorError, compile_new_selector
from podwright.apimachinery.objects import Document, go_quoted
from podwright.apimachinery.schema.validation import rules as r
from podwright.apimachinery.schema.validation.field_errors import (
    FieldErrors,
    internal_form,
    repeats,
    same,
)
from podwright.apimachinery.schema.validation.metadata import validate_template_metadata
from podwright.apimachinery.schema.validation.names import (
    c_identifier,
    dns_label,
    interface_address,
)
from podwright.apimachinery.schema.validation.pods.resources import is_extended
from podwright.apimachinery.schema.validation.pods.scheduling import validate_node_selector
from podwright.apimachinery.schema.validation.pods.volume_sources import validate_driver_name
from podwright.apimachinery.schema.validation.statuses import validate_conditions

RequestNames: TypeAlias = Mapping[str, frozenset[str]]
"""The names of the subrequests of each request."""

_MOST_REQUESTS: Final = 32
_MOST_CONSTRAINTS: Final = 32
_MOST_RESULTS: Final = 32
_MOST_CONSUMERS: Final = 256
_MOST_ADDRESSES: Final = 16
_MOST_BINDING_CONDITIONS: Final = 4
_PARAMETERS_MAX_BYTES: Final = 10 * 1024
_POOL_MAX_BYTES: Final = 253
_IDENTIFIER_MAX_BYTES: Final = 32
_NO_REQUEST: Final = (
    "must be the name of a request in the claim or the name of a request and a subrequest separated"
    " by '/'"
)
_ONE_KIND: Final = "exactly one of `exactly` or `firstAvailable` is required"
_UUID: Final = re.compile("[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_URN: Final = "urn:uuid:"
_EXPRESSION_MAX_BYTES: Final = 10 * 1024

# ------------------------------------------------------------------------------ claims


def _validate_kept(
    errors: FieldErrors, struct: str, path: str, new: Document | None, old: Document | None
) -> None:
    if not same(new, old):
        errors.invalid(path, internal_form(new, struct), "field is immutable")


def _validate_claim_spec(errors: FieldErrors, path: str, spec: Document) -> None:
    names = _request_names(spec.get("devices") or {})

    def check_constraint(errors: FieldErrors, path: str, constraint: Document) -> None:
        _validate_constraint(errors, path, constraint, names)

    devices = r.struct(
        requests=_validate_requests,
        constraints=r.each(check_constraint, most=_MOST_CONSTRAINTS),
        config=r.each(_claim_configuration(names), most=32),
    )
    r.struct(devices=devices)(errors, path, spec)


def _validate_requests(errors: FieldErrors, path: str, requests: list[Any]) -> None:
    validate_named(errors, path, requests, _MOST_REQUESTS, _validate_request)


def _request_names(devices: Document) -> RequestNames:
    return {
        request.get("name") or "": frozenset(
            each.get("name") or "" for each in request.get("firstAvailable") or ()
        )
        for request in devices.get("requests") or ()
    }


def _validate_each(
    errors: FieldErrors, path: str, items: list[Any] | None, most: int, check: r.Rule
) -> bool:
    """Check the items of a list unless there are too many; return whether they were checked."""
    r.each(check, most=most)(errors, path, items or ())
    return len(items or ()) <= most


def validate_distinct(
    errors: FieldErrors, path: str, items: list[Any] | None, most: int, check: r.Rule,
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
    errors: FieldErrors, path: str, items: list[Any] | None, most: int, check: r.Rule
) -> None:
    """Check the items of a list whose names are distinct."""
    validate_distinct(errors, path, items, most, check, lambda item: item.get("name") or "")


def _validate_request(errors: FieldErrors, path: str, request: Document) -> None:
    _NAME(errors, path, request)
    exactly, alternatives = request.get("exactly"), request.get("firstAvailable") or []
    if exactly is None and not alternatives:
        errors.required(path, _ONE_KIND)
    elif exactly is not None and alternatives:
        errors.invalid(path, None, f"{_ONE_KIND}, but multiple fields are set")
    elif exactly is not None:
        _DEVICES(errors, f"{path}.exactly", exactly)
    else:
        validate_named(errors, f"{path}.firstAvailable", alternatives, 8, r.all_of(_NAME, _DEVICES))


def _validate_count(errors: FieldErrors, path: str, request: Document) -> None:
    mode, count = request.get("allocationMode"), request.get("count") or 0
    if mode == "All" and count:
        text = f"must not be specified when allocationMode is '{mode}'"
        errors.invalid(f"{path}.count", count, text)
    elif mode == "ExactCount" and count <= 0:
        errors.invalid(f"{path}.count", count, "must be greater than zero")


def _validate_toleration(errors: FieldErrors, path: str, toleration: Document) -> None:
    value = toleration.get("value") or ""
    match toleration.get("operator"):
        case "Exists":
            if value:
                errors.invalid(f"{path}.value", value, "must be empty for operator `Exists`")
        case "Equal":
            r.LABEL_VALUE(errors, f"{path}.value", value)
        case operator:
            r.required(r.one_of("Equal", "Exists"))(errors, f"{path}.operator", operator)


def _validate_expression(errors: FieldErrors, path: str, expression: str) -> None:
    """Check the expression of a selector.

    Upstream: pkg/apis/resource/validation/validation.go, validateCELSelector
    """
    if len(expression.encode()) > _EXPRESSION_MAX_BYTES:
        errors.too_long(path, _EXPRESSION_MAX_BYTES)
        return
    try:
        compiled = compile_new_selector(expression)
    except SelectorError as error:
        errors.invalid(path, expression, str(error))
        return
    if compiled.is_too_expensive():
        errors.forbidden(path, "too complex, exceeds cost limit")


_EFFECT: Final = r.one_of("NoExecute", "NoSchedule", "None")
_TOLERATIONS: Final = r.each(
    r.all_of(
        r.struct(key=r.optional(r.QUALIFIED)),
        _validate_toleration,
        r.struct(effect=r.optional(_EFFECT)),
    )
)
_SELECTORS: Final = r.each(
    r.struct(cel=r.not_null(r.struct(expression=r.always(_validate_expression, "")))), most=32
)
_NAME: Final = r.struct(name=r.always(r.LABEL, ""))
_DEVICES: Final = r.all_of(
    r.struct(
        deviceClassName=r.required(r.SUBDOMAIN),
        selectors=_SELECTORS,
        allocationMode=r.always(r.one_of("All", "ExactCount")),
    ),
    _validate_count,
    r.struct(tolerations=_TOLERATIONS),
)


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
    if len(name.encode()) > _IDENTIFIER_MAX_BYTES:
        errors.too_long(path, _IDENTIFIER_MAX_BYTES)
    errors.each(path, name, c_identifier(name))


def _claim_configuration(names: RequestNames) -> r.Rule:
    """Return the rule of a configuration of a claim with requests of these names."""

    def check_requests(errors: FieldErrors, path: str, references: list[Any]) -> None:
        _validate_references(errors, path, references, names)

    return r.all_of(r.struct(requests=check_requests), _CONFIGURATION)


def validate_parameters(errors: FieldErrors, path: str, parameters: Any) -> None:
    """Check a value that only its reader understands.

    Upstream: pkg/apis/resource/validation/validation.go, validateRawExtension
    """
    if parameters is None:
        errors.required(path)
    elif (
        len(json.dumps(parameters, separators=(",", ":"), ensure_ascii=False).encode())
        > _PARAMETERS_MAX_BYTES
    ):
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
        errors, path, consumers, _MOST_CONSUMERS, _CONSUMER, lambda each: each.get("uid")
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


def _validate_allocation(errors: FieldErrors, allocation: Document, names: RequestNames) -> None:
    def check_result(errors: FieldErrors, path: str, result: Document) -> None:
        _validate_reference(errors, f"{path}.request", result.get("request") or "", names)

    configuration = r.all_of(
        r.struct(source=r.required(r.one_of("FromClaim", "FromClass"))), _claim_configuration(names)
    )
    devices = r.struct(
        results=r.each(r.all_of(check_result, _RESULT), most=_MOST_RESULTS),
        config=r.each(configuration, most=64),
    )
    r.struct(devices=devices, nodeSelector=validate_node_selector)(
        errors, "status.allocation", allocation
    )


def _validate_uid(errors: FieldErrors, path: str, uid: str) -> None:
    """Check that a text is a UUID in its normal form.

    Upstream: pkg/apis/resource/validation/validation.go, validateUID; github.com/google/uuid,
    Validate
    """
    if problem := _uuid_problem(uid):
        errors.invalid(path, uid, f"error validating uid: {problem}")
    elif len(uid) != 36 or uid != uid.lower():
        text = (
            "uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with"
            " lowercase hexadecimal characters"
        )
        errors.invalid(path, uid, text)


def _uuid_problem(text: str) -> str:
    match len(text.encode()):
        case 32:
            return "" if re.fullmatch("[0-9a-fA-F]{32}", text) else "invalid UUID format"
        case 38 if not (text[0] == "{" and text[-1] == "}"):
            return "invalid bracketed UUID format"
        case 45 if text[:9].lower() != _URN:
            return f"invalid urn prefix: {go_quoted(text[:9])}"
        case 36 | 38 | 45 as size:
            plain = {36: text, 38: text[1:-1], 45: text[9:]}[size]
            return "" if _UUID.fullmatch(plain) else "invalid UUID format"
        case size:
            return f"invalid UUID length: {size}"


_SHARE: Final = r.struct(shareID=_validate_uid)


def _validate_device_statuses(
    errors: FieldErrors, devices: list[Any] | None, allocated: list[tuple[Any, ...]]
) -> None:
    def shown(device: Document) -> dict[str, Any]:
        return dict(zip(("Driver", "Pool", "Device", "ShareID"), _device_of(device), strict=True))

    def check(errors: FieldErrors, path: str, device: Document) -> None:
        _IDENTITY(errors, path, device)
        _SHARE(errors, path, device)
        if _device_of(device) not in allocated:
            errors.invalid(path, shown(device), "must be an allocated device in the claim")
        _DEVICE_STATUS(errors, path, device)

    validate_distinct(errors, "status.devices", devices, sys.maxsize, check, shown)


def _validate_addresses(errors: FieldErrors, path: str, addresses: list[Any]) -> None:
    def check(errors: FieldErrors, path: str, address: str) -> None:
        errors.each(path, address, interface_address(address))

    validate_distinct(errors, path, addresses, _MOST_ADDRESSES, check)


def validate_pool_name(errors: FieldErrors, path: str, name: str) -> None:
    """Check the name of a pool of devices."""
    if not name:
        errors.required(path)
        return
    if len(name.encode()) > _POOL_MAX_BYTES:
        errors.too_long(path, _POOL_MAX_BYTES)
    r.every(r.SUBDOMAIN)(errors, path, name.split("/"))


_IDENTITY: Final = r.struct(
    driver=r.always(validate_driver_name),
    pool=r.always(validate_pool_name, ""),
    device=r.always(r.LABEL, ""),
)


def validate_binding_conditions(errors: FieldErrors, path: str, part: Document) -> None:
    """Check the conditions for which binding waits, and those with which it fails."""
    waited, failing = part.get("bindingConditions"), part.get("bindingFailureConditions")
    fields = (("bindingConditions", waited), ("bindingFailureConditions", failing))
    awaited = frozenset(waited or ())
    for name, conditions in fields:
        _validate_each(errors, f"{path}.{name}", conditions, _MOST_BINDING_CONDITIONS, r.QUALIFIED)
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


# ---------------------------------------------------------------------- device classes


# ------------------------------------------------------------------------------- taints


validate_resource_claim: Final = r.of_spec(_validate_claim_spec)
validate_resource_claim_template: Final = r.of_spec(
    r.struct(
        metadata=validate_template_metadata,
        spec=r.always(_validate_claim_spec, {}),
    )
)
_CONFIGURATION: Final = r.struct(
    opaque=r.not_null(
        r.struct(driver=r.always(validate_driver_name), parameters=r.always(validate_parameters))
    )
)
_CONSUMER: Final = r.struct(resource=r.required(), name=r.required(), uid=r.required())
_RESULT: Final = r.all_of(_IDENTITY, validate_binding_conditions, _SHARE)
_DEVICE_STATUS: Final = r.struct(
    conditions=r.all_of(r.each(r.all_of(), most=8), validate_conditions),
    data=validate_parameters,
    networkData=r.struct(
        interfaceName=r.max_bytes(256), hardwareAddress=r.max_bytes(128), ips=_validate_addresses
    ),
)
validate_device_class: Final = r.of_spec(
    r.struct(
        selectors=_SELECTORS,
        config=r.each(_CONFIGURATION, most=32),
        extendedResourceName=r.valid(is_extended, "must be a valid extended resource name"),
    )
)
validate_taint: Final = r.struct(
    key=r.always(r.QUALIFIED, ""), value=r.optional(r.LABEL_VALUE), effect=r.required(_EFFECT)
)
"""Rules of a taint of a device."""
validate_taint_rule: Final = r.of_spec(
    r.struct(
        deviceSelector=r.struct(
            driver=validate_driver_name, pool=validate_pool_name, device=r.LABEL
        ),
        taint=r.always(validate_taint),
    )
)
