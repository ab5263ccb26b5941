"""Validation of resource names, quantities and resource requirements.

Upstream: pkg/apis/core/validation/validation.go, validateResourceRequirements,
ValidateResourceQuantityValue; pkg/apis/core/helper/helpers.go
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final, TypeAlias

from podwright.apimachinery.objects import (
    Document,
    Quantity,
    QuantityError,
    format_quantity,
    parse_quantity,
)
from podwright.apimachinery.schema.validation import rules as r
from podwright.apimachinery.schema.validation.field_errors import FieldErrors
from podwright.apimachinery.schema.validation.names import dns_label, qualified_name

Quantities: TypeAlias = Mapping[str, Any]
ResourceNameRule: TypeAlias = Callable[[FieldErrors, str, str], bool]

_HUGE: Final = "hugepages-"
_CONTAINER: Final = frozenset({"cpu", "memory", "ephemeral-storage"})
_COUNTED: Final = frozenset(
    {
        "pods",
        "resourcequotas",
        "services",
        "replicationcontrollers",
        "secrets",
        "configmaps",
        "persistentvolumeclaims",
        "services.nodeports",
        "services.loadbalancers",
    }
)
_STANDARD: Final = (
    _CONTAINER
    | _COUNTED
    | {f"{kind}.{name}" for kind in ("requests", "limits") for name in _CONTAINER}
    | {"storage", "requests.storage"}
)
_QUOTA: Final = _STANDARD - {"storage"}


def is_huge_page(name: str) -> bool:
    """Whether a resource is a size of huge pages."""
    return name.startswith(_HUGE)


def is_native(name: str) -> bool:
    """Whether a resource belongs to Kubernetes, and not to a device plugin or a vendor."""
    return "/" not in name or "kubernetes.io/" in name


def is_overcommit_allowed(name: str) -> bool:
    """Whether the request of a resource may be below its limit."""
    return is_native(name) and not is_huge_page(name)


def is_extended(name: str) -> bool:
    """Whether a resource is an extended resource with a valid name."""
    if is_native(name) or name.startswith("requests."):
        return False
    return not qualified_name(f"requests.{name}")


def is_standard_quota(name: str) -> bool:
    """Whether a resource without a domain can be limited by a quota."""
    return name in _QUOTA or name.startswith((_HUGE, "requests.hugepages-"))


def validate_quantity(errors: FieldErrors, path: str, text: Any) -> Quantity | None:
    """Parse a quantity; a malformed one is an error and returns None."""
    try:
        return parse_quantity(text)
    except QuantityError as error:
        errors.invalid(path, text, str(error))
        return None


def quantity(test: Callable[[int], bool], detail: str) -> r.Rule:
    """Return the rule of a quantity that must pass a test of its nano-units."""

    def check(errors: FieldErrors, path: str, text: Any) -> None:
        amount = validate_quantity(errors, path, text)
        if amount is not None and not test(amount.nano):
            errors.invalid(path, format_quantity(amount), detail)

    return check


def validate_amount(errors: FieldErrors, path: str, name: str, amount: Quantity) -> None:
    """Check that the amount of a resource is not negative, and whole if it must be."""
    if amount.unscaled < 0:
        errors.invalid(path, format_quantity(amount), "must be greater than or equal to 0")
    if (name in _COUNTED or is_extended(name)) and amount.milli_value() % 1000:
        errors.invalid(path, format_quantity(amount), "must be an integer")


def validate_amounts(errors: FieldErrors, path: str, amounts: Quantities | None, join: str) -> None:
    """Check the amounts of a list of resources, as of a node.

    Parameters
    ----------
    join : str
        How a resource's name is written in the path: `.{}` or `[{}]`.
    """
    for name, text in sorted((amounts or {}).items()):
        at = path + join.format(name)
        amount = validate_quantity(errors, at, text)
        if amount is not None:
            validate_amount(errors, at, name, amount)


def validate_resource_name(errors: FieldErrors, path: str, name: str) -> bool:
    """Check a resource's name; whether it is valid."""
    if details := qualified_name(name):
        errors.each(path, name, details)
        return False
    if "/" not in name and not (
        name in _STANDARD or name.startswith((_HUGE, "requests.hugepages-"))
    ):
        errors.invalid(path, name, "must be a standard resource type or fully qualified")
        return False
    return True


def validate_container_resource_name(errors: FieldErrors, path: str, name: str) -> bool:
    """Check the name of a resource of a container; whether it is valid."""
    is_valid = validate_resource_name(errors, path, name)
    if "/" not in name:
        if not (name in _CONTAINER or is_huge_page(name)):
            errors.invalid(path, name, "must be a standard resource for containers")
            return False
    elif not is_native(name) and not is_extended(name):
        errors.invalid(path, name, "doesn't follow extended resource name standard")
        return False
    return is_valid


def validate_pod_resource_name(errors: FieldErrors, path: str, name: str) -> bool:
    """Check the name of a resource of a whole pod; whether it is valid."""
    if not validate_resource_name(errors, path, name):
        return False
    if name not in ("cpu", "memory") and not is_huge_page(name):
        errors.unsupported(path, name, ("cpu", "hugepages-", "memory"))
        return False
    return True


def validate_requirements(
    errors: FieldErrors,
    path: str,
    resources: Document,
    claim_names: set[str],
    name_rule: ResourceNameRule = validate_container_resource_name,
) -> None:
    """Check the requests, limits and claims of a container or pod.

    Parameters
    ----------
    claim_names : set of str
        The names in the pod's `spec.resourceClaims`.
    """
    written_limits: Quantities = resources.get("limits") or {}
    written_requests: Quantities = resources.get("requests") or {}
    limits: dict[str, Quantity] = {}
    for name, text in sorted(written_limits.items()):
        amount = _plain(name, text, name_rule) or _validated(
            errors, f"{path}.limits[{name}]", name, text, name_rule
        )
        if amount is not None:
            limits[name] = amount
    for name, text in sorted(written_requests.items()):
        amount = _plain(name, text, name_rule) or _validated(
            errors, f"{path}.requests[{name}]", name, text, name_rule
        )
        if name not in written_limits:
            if not is_overcommit_allowed(name):
                detail = "Limit must be set for non overcommitable resources"
                errors.required(f"{path}.limits", detail)
        elif amount is not None and name in limits:
            _validate_request(errors, f"{path}.requests", name, amount, limits[name])
    names = {*written_limits, *written_requests}
    if any(map(is_huge_page, names)) and not names & {"cpu", "memory"}:
        errors.forbidden(path, "HugePages require cpu or memory")
    if claims := resources.get("claims"):
        _validate_claims(errors, f"{path}.claims", claims, claim_names)


def validate_overhead(errors: FieldErrors, path: str, amounts: Quantities) -> None:
    """Check what a pod needs beside its containers."""
    # Upstream checks these amounts as limits.
    validate_requirements(errors, path, {"limits": amounts}, set())


def _validated(
    errors: FieldErrors, path: str, name: str, text: Any, name_rule: ResourceNameRule
) -> Quantity | None:
    name_rule(errors, path, name)
    amount = validate_quantity(errors, path, text)
    if amount is None:
        return None
    validate_amount(errors, path, name, amount)
    if is_huge_page(name) and not _is_multiple(name, amount):
        written = format_quantity(amount)
        errors.invalid(path, written, f"{written} is not positive integer multiple of {name}")
    return amount


@lru_cache(maxsize=4_096, typed=True)
def _plain(name: str, text: Any, name_rule: ResourceNameRule) -> Quantity | None:
    """Return a valid amount of a valid resource; None for another."""
    errors = FieldErrors()
    amount = _validated(errors, "", name, text, name_rule)
    return None if errors.problems else amount


def _validate_request(
    errors: FieldErrors, path: str, name: str, request: Quantity, limit: Quantity
) -> None:
    if request.nano != limit.nano and not is_overcommit_allowed(name):
        relation = "equal to"
    elif request.nano > limit.nano:
        relation = "less than or equal to"
    else:
        return
    text = f"must be {relation} {name} limit of {format_quantity(limit)}"
    errors.invalid(path, format_quantity(request), text)


def _is_multiple(name: str, amount: Quantity) -> bool:
    try:
        size = parse_quantity(name.removeprefix(_HUGE))
    except QuantityError:
        return False
    if size.unscaled <= 0 or size.milli_value() % 1000:
        return False
    return amount.value() % size.value() == 0


def _validate_claims(
    errors: FieldErrors, path: str, claims: list[Document], claim_names: set[str]
) -> None:
    seen: set[str] = set()
    with_request: set[str] = set()
    listed = f": {', '.join(sorted(claim_names))}" if claim_names else " which is empty"
    for index, claim in enumerate(claims):
        at, name, request = f"{path}[{index}]", claim.get("name"), claim.get("request")
        if not name:
            errors.required(at)
            continue
        if name in seen:
            errors.duplicate(at, name)
        else:
            key = name
            if request:
                errors.each(f"{at}.request", request, dns_label(request))
                key = f"{name}/{request}"
                with_request.add(name)
            if key in seen:
                errors.duplicate(at, key)
            elif not request and name in with_request:
                errors.duplicate(at, name)
            seen.add(key)
        if name not in claim_names:
            detail = f"must be one of the names in pod.spec.resourceClaims{listed}"
            errors.not_found(at, name, detail)
