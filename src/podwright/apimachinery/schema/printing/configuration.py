"""Cells of configuration, access control, quotas, admission and flow control.

Upstream: pkg/printers/internalversion/printers.go; pkg/printers/internalversion/printers.go,
printNode; pkg/printers/internalversion/printers.go, printPersistentVolume and others;
pkg/apis/core/helper/helpers.go; pkg/apis/storage/util/helpers.go.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Final

from podwright.apimachinery.objects import Document, format_quantity
from podwright.apimachinery.schema.printing.cells import (
    NONE,
    UNKNOWN,
    UNSET,
    Cell,
    marked_name,
    shortened,
    text_of,
)

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


def _of_health(component: Document, field: str) -> str:
    healthy = _condition(component.get("conditions") or (), "Healthy") or {}
    return text_of(healthy.get(field))


component_message: Final = partial(_of_health, field="message")
component_error: Final = partial(_of_health, field="error")


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
    status, reason = text_of(available.get("status")), available.get("reason")
    return f"{status} ({reason})" if status != "True" and reason else status


# ------------------------------------------------------------------------------ quotas


def _amounts(quota: Document, *, are_limits: bool) -> str:
    status = quota.get("status") or {}
    used = status.get("used") or {}
    return ", ".join(
        f"{name}: {format_quantity(used.get(name) or '0')}/{format_quantity(hard)}"
        for name, hard in sorted((status.get("hard") or {}).items())
        if name.startswith("limits.") == are_limits
    )


quota_requests: Final = partial(_amounts, are_limits=False)
quota_limits: Final = partial(_amounts, are_limits=True)
"""What a quota limits, the limits of containers apart: used of allowed amounts."""


# ---------------------------------------------------------------------- access control


def role(binding: Document) -> str:
    """Return the kind and the name of the role of a binding."""
    reference = binding.get("roleRef") or {}
    return f"{reference.get('kind') or ''}/{reference.get('name') or ''}"


def _subjects(binding: Document, kind: str) -> str:
    names = []
    for each in binding.get("subjects") or ():
        if each.get("kind") == kind:
            prefix = f"{each.get('namespace') or ''}/" if kind == "ServiceAccount" else ""
            names.append(f"{prefix}{each.get('name') or ''}")
    return ", ".join(names)


users: Final = partial(_subjects, kind="User")
groups: Final = partial(_subjects, kind="Group")
service_accounts: Final = partial(_subjects, kind="ServiceAccount")


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
    return UNSET if selector is None else printed_selector(selector)


def printed_selector(selector: Document) -> str:
    """Return a label selector, a document, as Go prints it."""
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
    return "?" if dangling is None else text_of(dangling.get("status"))


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


# Cells of nodes.

_ROLE_PREFIX = "node-role.kubernetes.io/"
_ROLE = "kubernetes.io/role"


def status(node: Document) -> str:
    """Return whether the node is ready, and whether it is cordoned."""
    conditions = (node.get("status") or {}).get("conditions") or ()
    # The last condition of the type counts, as in upstream's map.
    found = [each.get("status") for each in conditions if each.get("type") == "Ready"]
    ready = "Unknown" if not found else "Ready" if found[-1] == "True" else "NotReady"
    is_cordoned = (node.get("spec") or {}).get("unschedulable")
    return f"{ready},SchedulingDisabled" if is_cordoned else ready


def roles(node: Document) -> str:
    """Return the roles that labels give a node, sorted."""
    found = set()
    for key, value in ((node.get("metadata") or {}).get("labels") or {}).items():
        if key.startswith(_ROLE_PREFIX):
            found.add(key.removeprefix(_ROLE_PREFIX))
        elif key == _ROLE:
            found.add(value)
    return ",".join(sorted(found - {""})) or NONE


def kernel_version(node: Document) -> str:
    """Return the version of the kernel, with the architecture of the machine."""
    info = (node.get("status") or {}).get("nodeInfo") or {}
    version, architecture = info.get("kernelVersion") or UNKNOWN, info.get("architecture")
    return f"{version} ({architecture})" if architecture else text_of(version)


def _address(node: Document, address_type: str) -> str:
    for each in (node.get("status") or {}).get("addresses") or ():
        if each.get("type") == address_type:
            return text_of(each.get("address"))
    return NONE


internal_ip: Final = partial(_address, address_type="InternalIP")
external_ip: Final = partial(_address, address_type="ExternalIP")


# Cells of volumes, claims, classes and CSI objects.

_MODES = {
    "ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}  # fmt: skip
_CLASS = "volume.beta.kubernetes.io/storage-class"
_DEFAULT_CLASSES = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)


def phase(obj: Document) -> str:
    """Return the phase of a volume or claim, or that it is being deleted."""
    if (obj.get("metadata") or {}).get("deletionTimestamp"):
        return "Terminating"
    return text_of((obj.get("status") or {}).get("phase"))


def storage_class(obj: Document) -> str:
    """Return the storage class of a volume or claim; the old annotation comes first."""
    annotations = (obj.get("metadata") or {}).get("annotations") or {}
    if _CLASS in annotations:
        return text_of(annotations[_CLASS])
    return text_of((obj.get("spec") or {}).get("storageClassName"))


def volume_capacity(volume: Document) -> str:
    """Return the size of a volume."""
    return _storage((volume.get("spec") or {}).get("capacity"))


def volume_modes(volume: Document) -> str:
    """Return the access modes of a volume, abbreviated."""
    return _modes((volume.get("spec") or {}).get("accessModes"))


def claim_of_volume(volume: Document) -> str:
    """Return the namespace and the name of the claim that a volume is bound to."""
    reference = (volume.get("spec") or {}).get("claimRef")
    if reference is None:
        return ""
    return f"{reference.get('namespace') or ''}/{reference.get('name') or ''}"


def claim_capacity(claim: Document) -> str:
    """Return the size of the volume that a claim is bound to; "" if it is bound to none."""
    if not (claim.get("spec") or {}).get("volumeName"):
        return ""
    return _storage((claim.get("status") or {}).get("capacity"))


def claim_modes(claim: Document) -> str:
    """Return the access modes of the volume that a claim is bound to."""
    if not (claim.get("spec") or {}).get("volumeName"):
        return ""
    return _modes((claim.get("status") or {}).get("accessModes"))


def token_audiences(driver: Document) -> str:
    """Return the audiences of the tokens that a CSI driver requests."""
    requests = (driver.get("spec") or {}).get("tokenRequests")
    if requests is None:
        return UNSET
    return ",".join(each.get("audience") or "" for each in requests)


def lifecycle_modes(driver: Document) -> str:
    """Return the life cycle modes of a CSI driver."""
    return ",".join((driver.get("spec") or {}).get("volumeLifecycleModes") or ()) or NONE


def _storage(amounts: Document | None) -> str:
    return format_quantity((amounts or {}).get("storage") or "0")


def _modes(modes: Iterable[str] | None) -> str:
    present = set(modes or ())
    return ",".join(short for mode, short in _MODES.items() if mode in present)


class_name: Final = partial(marked_name, annotations=_DEFAULT_CLASSES)
