"""Validation of resource slices.

Upstream: pkg/apis/resource/validation/validation.go, validateResourceSliceSpec
"""

from __future__ import annotations

import re
from typing import Any, Final

from podwright.apimachinery.objects import Document, Quantity, format_quantity, parse_quantity
from podwright.apimachinery.schema.validation.dynamic_resources.devices import (
    validate_attribute_name,
    validate_binding_conditions,
    validate_distinct,
    validate_named,
    validate_pool_name,
    validate_taint,
)
from podwright.apimachinery.schema.validation.field_errors import FieldErrors, internal_form, same
from podwright.apimachinery.schema.validation.names import dns_label, dns_subdomain
from podwright.apimachinery.schema.validation.pods.resources import is_native
from podwright.apimachinery.schema.validation.pods.scheduling import validate_node_selector
from podwright.apimachinery.schema.validation.pods.volume_sources import validate_driver_name

_MOST_DEVICES: Final = 128
_MOST_DEVICES_WITH_ADVANCED_FEATURES: Final = 64
_MOST_FACTS: Final = 32
"""The attributes and capacities of a device."""
_MOST_VALUES: Final = 48
_KEY_MAX: Final = 63 + 1 + 32
_MOST_COUNTER_SETS: Final = 8
_MOST_COUNTERS: Final = 32
_MOST_CONSUMED_SETS: Final = 2
_MOST_TAINTS: Final = 16
_MOST_VALID_VALUES: Final = 10
_VALUE_MAX_BYTES: Final = 64
_LISTS: Final = ("bools", "ints", "strings", "versions")
_SCALARS: Final = ("bool", "int", "string", "version")
_NUMBER: Final = r"(0|[1-9]\d*)"
_PRERELEASE: Final = r"(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)"
_BUILD: Final = r"[0-9a-zA-Z-]+"
_SEMANTIC_VERSION: Final = re.compile(
    rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(-{_PRERELEASE}(\.{_PRERELEASE})*)?(\+{_BUILD}(\.{_BUILD})*)?",
    re.ASCII,
)
_WHERE: Final = (
    "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"
)
_WHERE_DEVICE: Final = (
    "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when"
    " `perDeviceNodeSelection` is set to true in the ResourceSlice spec"
)
_ONLY_PER_DEVICE: Final = (
    "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set"
    " to true in the ResourceSlice spec"
)


def validate_resource_slice(errors: FieldErrors, resource_slice: Document) -> None:
    """Check a new ResourceSlice."""
    _validate_spec(errors, resource_slice.get("spec") or {}, None)


def validate_resource_slice_update(errors: FieldErrors, new: Document, old: Document) -> None:
    """Check a changed ResourceSlice, which keeps its driver, pool and node."""
    _validate_spec(errors, new.get("spec") or {}, old.get("spec") or {})


def _validate_spec(errors: FieldErrors, spec: Document, old: Document | None) -> None:
    validate_driver_name(errors, "spec.driver", spec.get("driver") or "")
    pool = spec.get("pool") or {}
    validate_pool_name(errors, "spec.pool.name", pool.get("name") or "")
    count, generation = (pool.get(name) or 0 for name in ("resourceSliceCount", "generation"))
    if count <= 0:
        errors.invalid("spec.pool.resourceSliceCount", count, "must be greater than zero")
    if generation < 0:
        text = "must be greater than or equal to zero"
        errors.invalid("spec.pool.generation", generation, text)
    if old is not None:
        former = (old.get("pool") or {}).get("name")
        errors.immutable("spec.pool.name", pool.get("name"), former)
        for name in ("driver", "nodeName"):
            errors.immutable(f"spec.{name}", spec.get(name), old.get(name))
    _validate_place(errors, spec)
    devices, counters = spec.get("devices"), spec.get("sharedCounters")
    if devices is not None and counters is not None:
        errors.invalid("spec", "", "only one of `sharedCounters` or `devices` is allowed")
    before = {each.get("name"): each for each in (old or {}).get("devices") or ()}
    is_per_device = bool(spec.get("perDeviceNodeSelection"))

    def check(errors: FieldErrors, path: str, device: Document) -> None:
        former = before.get(device.get("name"))
        _validate_device(errors, path, device, former, is_per_device=is_per_device)

    most = _MOST_DEVICES_WITH_ADVANCED_FEATURES if _is_advanced(spec) else _MOST_DEVICES
    validate_named(errors, "spec.devices", devices, most, check)
    path = "spec.sharedCounters"
    validate_named(errors, path, counters, _MOST_COUNTER_SETS, _validate_counter_set)


def _is_advanced(spec: Document) -> bool:
    return any(
        device.get("taints")
        or device.get("consumesCounters")
        or any(
            attribute.get(name) is not None
            for attribute in (device.get("attributes") or {}).values()
            for name in _LISTS
        )
        for device in spec.get("devices") or ()
    )


def _validate_place(errors: FieldErrors, spec: Document) -> None:
    found = []
    if (node := spec.get("nodeName")) is not None:
        if node:
            found.append("`nodeName`")
            errors.each("spec.nodeName", node, dns_subdomain(node))
        else:
            text = "must be either unset or set to a non-empty string"
            errors.invalid("spec.nodeName", node, text)
    if (selector := spec.get("nodeSelector")) is not None:
        found.append("`nodeSelector`")
        validate_node_selector(errors, "spec.nodeSelector", selector)
        terms = selector.get("nodeSelectorTerms") or []
        if len(terms) != 1:
            path = "spec.nodeSelector.nodeSelectorTerms"
            shown = internal_form(terms, "[NodeSelectorTerm]") if terms else None
            errors.invalid(path, shown, "must have exactly one node selector term")
    for name in ("allNodes", "perDeviceNodeSelection"):
        _validate_flag(errors, f"spec.{name}", spec, name, found)
    if not found:
        errors.required("spec", _WHERE)
    elif len(found) > 1:
        text = f"{_WHERE}, but multiple fields are set"
        errors.invalid("spec", f"{{{', '.join(found)}}}", text)


def _validate_flag(
    errors: FieldErrors, path: str, part: Document, name: str, found: list[str]
) -> None:
    value = part.get(name)
    if value:
        found.append(f"`{name}`")
    elif value is not None:
        errors.invalid(path, value, "must be either unset or set to true")


# ----------------------------------------------------------------------------- devices


def _validate_device(
    errors: FieldErrors, path: str, device: Document, old: Document | None, *, is_per_device: bool
) -> None:
    errors.each(f"{path}.name", device.get("name") or "", dns_label(device.get("name") or ""))
    attributes, capacity = device.get("attributes") or {}, device.get("capacity") or {}
    count = len(attributes) + len(capacity)
    if count > _MOST_FACTS:
        text = f"the total number of attributes and capacities must not exceed {_MOST_FACTS}"
        errors.invalid(path, count, text)
    values = sum(map(_count_of_values, attributes.values()))
    if values > _MOST_VALUES:
        text = f"the total number of attribute values must not exceed {_MOST_VALUES}"
        errors.invalid(path, values, text)
    for name, attribute in sorted(attributes.items()):
        validate_attribute_name(errors, f"{path}.attributes", name, needs_domain=False)
        _validate_attribute(errors, f"{path}.attributes[{_key(name)}]", attribute)
    is_shared = bool(device.get("allowMultipleAllocations"))
    for name, amount in sorted(capacity.items()):
        validate_attribute_name(errors, f"{path}.capacity", name, needs_domain=False)
        _validate_capacity(errors, f"{path}.capacity[{_key(name)}]", amount, is_shared=is_shared)
    taints = device.get("taints") or []
    # Taints that were valid before the update are not validated again.
    if old is None or not same(old.get("taints"), taints):
        if len(taints) > _MOST_TAINTS:
            errors.too_many(f"{path}.taints", len(taints), _MOST_TAINTS)
        else:
            for index, taint in enumerate(taints):
                validate_taint(errors, f"{path}.taints[{index}]", taint)
    validate_distinct(
        errors, f"{path}.consumesCounters", device.get("consumesCounters"), _MOST_CONSUMED_SETS,
        _validate_consumption, lambda each: each.get("counterSet") or "",
    )  # fmt: skip
    _validate_place_of_device(errors, path, device, is_per_device=is_per_device)
    validate_binding_conditions(errors, path, device)
    _validate_mappings(errors, path, device)


def _validate_place_of_device(
    errors: FieldErrors, path: str, device: Document, *, is_per_device: bool
) -> None:
    node, selector, flag = (device.get(n) for n in ("nodeName", "nodeSelector", "allNodes"))
    if not is_per_device:
        if not (node is None and selector is None and flag is None):
            errors.invalid(path, None, _ONLY_PER_DEVICE)
        return
    found = []
    if node:
        found.append("`nodeName`")
        errors.each(f"{path}.nodeName", node, dns_subdomain(node))
    elif node is not None:
        errors.invalid(f"{path}.nodeName", node, "must not be empty")
    if selector is not None:
        found.append("`nodeSelector`")
        validate_node_selector(errors, f"{path}.nodeSelector", selector)
    _validate_flag(errors, f"{path}.allNodes", device, "allNodes", found)
    if not found:
        errors.required(path, _WHERE_DEVICE)
    elif len(found) > 1:
        errors.invalid(path, f"{{{', '.join(found)}}}", _WHERE_DEVICE)


def _key(name: str) -> str:
    """Return a name as it is in paths: a long one without its middle."""
    kept = _KEY_MAX - len("...")
    if len(name) <= _KEY_MAX:
        return name
    return f"{name[: (kept + 1) // 2]}...{name[-(kept // 2) :]}"


def _count_of_values(attribute: Document) -> int:
    """Return the number of values of an attribute; one without a list counts as one."""
    return sum(len(attribute.get(name) or ()) for name in _LISTS) or 1


def _validate_mappings(errors: FieldErrors, path: str, device: Document) -> None:
    """Check how the capacities of a device become resources of its node.

    Upstream: validateNodeAllocatableResourceMappings
    """
    for name, mapping in sorted((device.get("nodeAllocatableResourceMappings") or {}).items()):
        at = f"{path}.nodeAllocatableResourceMappings[{name}]"
        if not is_native(name):
            errors.invalid(at, name, "must be a node allocatable resource name")
        multiplier, key = mapping.get("allocationMultiplier"), mapping.get("capacityKey")
        if multiplier is None and key is None:
            text = "at least one of allocationMultiplier or capacityKey must be set"
            errors.invalid(at, "", text)
        if multiplier is not None and (amount := parse_quantity(multiplier)).nano <= 0:
            errors.invalid(f"{at}.allocationMultiplier", _text(amount), "must be positive")
        if key == "":
            text = "capacityKey must not be an empty string"
            errors.invalid(f"{at}.capacityKey", key, text)
        elif key is not None and key not in (device.get("capacity") or {}):
            errors.not_found(f"{at}.capacityKey", key)


def _validate_attribute(errors: FieldErrors, path: str, attribute: Document) -> None:
    if (text := attribute.get("string")) is not None:
        _validate_length(errors, f"{path}.string", text)
    if (version := attribute.get("version")) is not None:
        _validate_version(errors, f"{path}.version", version)
    for name in _LISTS:
        values = attribute.get(name)
        if values == []:
            errors.invalid(f"{path}.{name}", values, "must not be empty if specified")
        for index, value in enumerate(values or ()):
            at = f"{path}.{name}[{index}]"
            if name == "strings":
                _validate_length(errors, at, value)
            elif name == "versions":
                _validate_version(errors, at, value)
    present = [name for name in (*_SCALARS, *_LISTS) if attribute.get(name) is not None]
    if len(present) != 1:
        shown = internal_form(attribute, "DeviceAttribute")
        text = "exactly one value must be specified"
        errors.invalid(path, shown if present else "", text)


def _validate_length(errors: FieldErrors, path: str, text: str) -> None:
    if len(text.encode()) > _VALUE_MAX_BYTES:
        errors.too_long(path, _VALUE_MAX_BYTES)


def _validate_version(errors: FieldErrors, path: str, version: str) -> None:
    if not _SEMANTIC_VERSION.fullmatch(version):
        text = "must be a string compatible with semver.org spec 2.0.0"
        errors.invalid(path, version, text)
    _validate_length(errors, path, version)


# ---------------------------------------------------------------------------- capacity


def _validate_capacity(
    errors: FieldErrors, path: str, capacity: Document, *, is_shared: bool
) -> None:
    policy = capacity.get("requestPolicy")
    if policy is None:
        return
    at = f"{path}.requestPolicy"
    if not is_shared:
        errors.forbidden(at, "allowMultipleAllocations must be true")
        return
    whole = parse_quantity(capacity.get("value") or "0")
    values, limits, default = (policy.get(n) for n in ("validValues", "validRange", "default"))
    if values and limits is not None:
        text = (
            'exactly one policy can be specified, cannot specify "validValues" and "validRange" at'
            " the same time"
        )
        errors.forbidden(at, text)
    elif values or limits is not None:
        name = "validValues" if values else "validRange"
        if default is None:
            errors.required(f"{at}.default", f"required when {name} is defined")
        elif values:
            _validate_values(errors, f"{at}.validValues", values, parse_quantity(default), whole)
        else:
            assert limits is not None
            _validate_range(errors, f"{at}.validRange", limits, parse_quantity(default), whole)


def _validate_values(
    errors: FieldErrors, path: str, values: list[Any], default: Quantity, whole: Quantity
) -> None:
    amounts = [parse_quantity(value) for value in values]
    for index in range(1, len(amounts)):
        if amounts[index - 1].nano > amounts[index].nano:
            text = "values must be sorted in ascending order"
            errors.invalid(f"{path}[{index}]", _text(amounts[index]), text)

    def check(errors: FieldErrors, path: str, amount: Quantity) -> None:
        if amount.nano > whole.nano:
            text = f"option is larger than capacity value: {_text(whole)}"
            errors.invalid(path, _text(amount), text)

    validate_distinct(
        errors, path, amounts, _MOST_VALID_VALUES, check, lambda each: str(_whole(each))
    )
    # Upstream looks for the default only among values that are not too many.
    checked = amounts if len(amounts) <= _MOST_VALID_VALUES else []
    if default.nano not in {amount.nano for amount in checked}:
        text = "default value is not valid according to the requestPolicy"
        errors.invalid(path, _text(default), text)


def _validate_range(
    errors: FieldErrors, path: str, limits: Document, default: Quantity, whole: Quantity
) -> None:
    low, high, step = (
        None if limits.get(name) is None else parse_quantity(limits[name])
        for name in ("min", "max", "step")
    )
    if low is None:
        errors.required(f"{path}.min", "required when validRange is defined")
        return
    _validate_limits(errors, path, low, high, default, whole)
    if step is None:
        return
    if step.nano <= 0:
        errors.invalid(f"{path}.step", _text(step), "must be greater than zero")
        return
    end = Quantity(low.nano + step.nano, -9, format=low.format)
    if end.nano > whole.nano:
        text = f"one step {_text(end)} is larger than capacity value: {_text(whole)}"
        errors.invalid(f"{path}.step", _text(step), text)
    for amount in (default, high):
        if amount is not None and (_whole(amount) - _whole(low)) % _whole(step):
            text = f"value is not a multiple of a given step ({_text(step)}) from ({_text(low)})"
            errors.invalid(f"{path}.step", _text(amount), text)


def _validate_limits(
    errors: FieldErrors,
    path: str,
    low: Quantity,
    high: Quantity | None,
    default: Quantity,
    whole: Quantity,
) -> None:
    if low.nano > whole.nano:
        text = f"min is larger than capacity value: {_text(whole)}"
        errors.invalid(f"{path}.min", _text(low), text)
    if default.nano < low.nano:
        text = f"default is less than min: {_text(low)}"
        errors.invalid(f"{path}.min", _text(default), text)
    if high is None:
        return
    if low.nano > high.nano:
        errors.invalid(f"{path}.max", _text(low), f"min is larger than max: {_text(high)}")
    if high.nano > whole.nano:
        text = f"max is larger than capacity value: {_text(whole)}"
        errors.invalid(f"{path}.max", _text(high), text)
    if default.nano > high.nano:
        text = f"default is more than max: {_text(high)}"
        errors.invalid(f"{path}.max", _text(default), text)


def _whole(quantity: Quantity) -> int:
    """Return an amount rounded up; unlike `Quantity.value` it is not limited to 64 bits."""
    return -(-quantity.nano // 10**9)


def _text(quantity: Quantity) -> str:
    return format_quantity(quantity)


# ---------------------------------------------------------------------------- counters


def _validate_counter_set(errors: FieldErrors, path: str, counters: Document) -> None:
    _validate_counters(errors, path, "name", counters)


def _validate_consumption(errors: FieldErrors, path: str, consumption: Document) -> None:
    _validate_counters(errors, path, "counterSet", consumption)


def _validate_counters(errors: FieldErrors, path: str, name_field: str, part: Document) -> None:
    if name := part.get(name_field):
        errors.each(f"{path}.{name_field}", name, dns_label(name))
    else:
        errors.required(f"{path}.{name_field}")
    counters = part.get("counters") or {}
    if not counters:
        errors.required(f"{path}.counters")
    elif len(counters) > _MOST_COUNTERS:
        errors.too_many(f"{path}.counters", len(counters), _MOST_COUNTERS)
    else:
        for name in sorted(counters):
            errors.each(f"{path}.counters", name, dns_label(name))
