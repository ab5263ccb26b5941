"""Cells of configuration, access control, quotas, admission and flow control.

Upstream: pkg/printers/internalversion/printers.go
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from podwright.apimachinery.objects import Document, format_quantity
from podwright.apimachinery.schema.printing.conversions import NONE, UNSET, Cell, shortened

_MOST_VERSIONS = 3
_FINAL_STATES: Final = ("Issued", "Denied", "Failed")
_MIGRATION_STATES: Final = ("Running", "Failed", "Succeeded")


def config_map_size(config_map: Document) -> int:
    """Return the number of keys of a ConfigMap."""
    return len(config_map.get("data") or ()) + len(config_map.get("binaryData") or ())


def component_status(component: Document) -> str:
    """Return the health of a component of the control plane."""
    healthy = _condition(component.get("conditions") or (), "Healthy")
    if healthy is None:
        return "Unknown"
    return "Healthy" if healthy.get("status") == "True" else "Unhealthy"


def component_message(component: Document) -> str:
    """Return the message about the health of a component."""
    healthy = _condition(component.get("conditions") or (), "Healthy") or {}
    return str(healthy.get("message") or "")


def component_error(component: Document) -> str:
    """Return the error about the health of a component."""
    healthy = _condition(component.get("conditions") or (), "Healthy") or {}
    return str(healthy.get("error") or "")


def service_of_api(api_service: Document) -> str:
    """Return the service that answers for a version of the API; `Local` for the server itself."""
    service = (api_service.get("spec") or {}).get("service")
    if service is None:
        return "Local"
    return f"{service.get('namespace') or ''}/{service.get('name') or ''}"


def availability_of_api(api_service: Document) -> str:
    """Return whether a version of the API is available, and why it is not."""
    conditions = (api_service.get("status") or {}).get("conditions") or ()
    available = _condition(conditions, "Available")
    if available is None:
        return "Unknown"
    status, reason = str(available.get("status") or ""), available.get("reason")
    return f"{status} ({reason})" if status != "True" and reason else status


# ------------------------------------------------------------------------------ quotas


def quota_requests(quota: Document) -> str:
    """Return what a quota limits, apart from limits of containers: used of allowed amounts."""
    return _amounts(quota, are_limits=False)


def quota_limits(quota: Document) -> str:
    """Return the limits of containers that a quota limits."""
    return _amounts(quota, are_limits=True)


def _amounts(quota: Document, *, are_limits: bool) -> str:
    status = quota.get("status") or {}
    used = status.get("used") or {}
    return ", ".join(
        f"{name}: {format_quantity(used.get(name) or '0')}/{format_quantity(hard)}"
        for name, hard in sorted((status.get("hard") or {}).items())
        if name.startswith("limits.") == are_limits
    )


# ---------------------------------------------------------------------- access control


def role(binding: Document) -> str:
    """Return the kind and the name of the role of a binding."""
    reference = binding.get("roleRef") or {}
    return f"{reference.get('kind') or ''}/{reference.get('name') or ''}"


def users(binding: Document) -> str:
    """Return the users of a binding."""
    return _subjects(binding, "User")


def groups(binding: Document) -> str:
    """Return the groups of a binding."""
    return _subjects(binding, "Group")


def service_accounts(binding: Document) -> str:
    """Return the service accounts of a binding with their namespaces."""
    return _subjects(binding, "ServiceAccount")


def _subjects(binding: Document, kind: str) -> str:
    names = []
    for each in binding.get("subjects") or ():
        if each.get("kind") == kind:
            prefix = f"{each.get('namespace') or ''}/" if kind == "ServiceAccount" else ""
            names.append(f"{prefix}{each.get('name') or ''}")
    return ", ".join(names)


def signing_condition(request: Document) -> str:
    """Return whether a certificate was approved and issued."""
    status = request.get("status") or {}
    types = {each.get("type") for each in status.get("conditions") or ()}
    text = "Denied" if "Denied" in types else "Approved" if "Approved" in types else "Pending"
    if "Failed" in types:
        text += ",Failed"
    return f"{text},Issued" if status.get("certificate") else text


def pod_request_state(request: Document) -> str:
    """Return whether the certificate of a pod was issued, denied or failed."""
    conditions = (request.get("status") or {}).get("conditions") or ()
    found = [each["type"] for each in conditions if each.get("type") in _FINAL_STATES]
    return found[-1] if found else "Pending"


# ---------------------------------------------------------------------- storage migrations


def migrated_resource(migration: Document) -> str:
    """Return the resource that is migrated, with its group."""
    of = (migration.get("spec") or {}).get("resource") or {}
    return ".".join(part for part in (of.get("resource"), of.get("group")) if part)


def migration_state(migration: Document) -> str:
    """Return how far a migration is."""
    conditions = (migration.get("status") or {}).get("conditions") or ()
    found = [each["type"] for each in conditions
             if each.get("status") == "True" and each.get("type") in _MIGRATION_STATES]  # fmt: skip
    return found[-1] if found else "Unknown"


# --------------------------------------------------------------------------- admission


def parameter_kind(policy: Document) -> str:
    """Return the kind of the parameters of an admission policy."""
    kind = (policy.get("spec") or {}).get("paramKind")
    return UNSET if kind is None else f"{kind.get('apiVersion') or ''}/{kind.get('kind') or ''}"


def parameter_reference(binding: Document) -> str:
    """Return the parameters of a binding: an object, or a selector as Go prints it."""
    reference = (binding.get("spec") or {}).get("paramRef") or {}
    if name := reference.get("name"):
        return f"{reference.get('namespace') or '*'}/{name}"
    selector = reference.get("selector")
    return UNSET if selector is None else _printed_selector(selector)


def _printed_selector(selector: Document) -> str:
    labels = "".join(f"{k}: {v}," for k, v in sorted((selector.get("matchLabels") or {}).items()))
    expressions = ""
    for each in selector.get("matchExpressions") or ():
        key, operator = each.get("key") or "", each.get("operator") or ""
        values = " ".join(each.get("values") or ())
        fields = f"Key:{key},Operator:{operator},Values:[{values}],"
        expressions += f"LabelSelectorRequirement{{{fields}}},"
    return (
        f"&LabelSelector{{MatchLabels:map[string]string{{{labels}}},"
        f"MatchExpressions:[]LabelSelectorRequirement{{{expressions}}},}}"
    )


# ------------------------------------------------------- flow control, storage versions


def missing_priority_level(flow_schema: Document) -> str:
    """Return whether the priority level of a flow schema is missing; `?` if that is not known."""
    conditions = (flow_schema.get("status") or {}).get("conditions") or ()
    dangling = _condition(conditions, "Dangling")
    return "?" if dangling is None else str(dangling.get("status") or "")


def storage_versions(storage_version: Document) -> str:
    """Return in which version each API server stores a resource."""
    found = (storage_version.get("status") or {}).get("storageVersions") or ()
    return shortened(
        (f"{each.get('apiServerID') or ''}={each.get('encodingVersion') or ''}" for each in found),
        _MOST_VERSIONS,
    )


def capacity_share(level: Document) -> Cell:
    """Return the concurrency shares of a limited priority level."""
    limited = (level.get("spec") or {}).get("limited")
    if limited is None:
        return NONE
    return int(limited.get("nominalConcurrencyShares") or 0)


# ------------------------------------------------------------------------------ devices


def claim_state(claim: Document) -> str:
    """Return whether a resource claim is allocated and reserved."""
    status = claim.get("status") or {}
    is_deleted = bool((claim.get("metadata") or {}).get("deletionTimestamp"))
    states = ["deleted"] if is_deleted else []
    if status.get("allocation") is None:
        states += [] if is_deleted else ["pending"]
    else:
        states += ["allocated", "reserved"] if status.get("reservedFor") else ["allocated"]
    return ",".join(states)


def _condition(conditions: Iterable[Document], condition_type: str) -> Document | None:
    return next((each for each in conditions if each.get("type") == condition_type), None)
