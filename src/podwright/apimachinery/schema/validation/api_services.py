"""Validation of APIServices and StorageVersionMigrations, which are about the API server itself.

Upstream: staging/src/k8s.io/kube-aggregator/pkg/apis/apiregistration/validation/validation.go;
pkg/apis/storagemigration/validation/validation.go.
"""

from __future__ import annotations

import re
from base64 import b64decode
from typing import Final

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema.validation.field_errors import FieldErrors
from podwright.apimachinery.schema.validation.internal_structs import internal_form
from podwright.apimachinery.schema.validation.names import (
    dns_1035_label,
    dns_subdomain,
    port_number,
)
from podwright.apimachinery.schema.validation.statuses import validate_conditions

_PRIORITIES_MAX: Final = {"groupPriorityMinimum": 20_000, "versionPriority": 1_000}


def validate_api_service(errors: FieldErrors, api_service: Document) -> None:
    """Check a new APIService, whose name is that of its version of an API."""
    metadata, spec = api_service.get("metadata") or {}, api_service.get("spec") or {}
    name, group, version = metadata.get("name"), spec.get("group") or "", spec.get("version") or ""
    if name and name != (needed := f"{version}.{group}"):
        errors.invalid("metadata.name", name, f'must be `spec.version+"."+spec.group`: "{needed}"')
    if group:
        errors.each("spec.group", group, dns_subdomain(group))
    elif version != "v1":
        text = "only v1 may have an empty group and it better be legacy kube"
        errors.required("spec.group", text)
    errors.each("spec.version", version, dns_1035_label(version))
    for field, most in _PRIORITIES_MAX.items():
        priority = spec.get(field) or 0
        if not 0 < priority <= most:
            errors.invalid(f"spec.{field}", priority, f"must be positive and less than {most}")
    if spec.get("service") is None:
        _validate_local(errors, spec)
    else:
        _validate_remote(errors, spec)


def _validate_local(errors: FieldErrors, spec: Document) -> None:
    if bundle := spec.get("caBundle"):
        text = "local APIServices may not have a caBundle"
        errors.invalid("spec.caBundle", f"{len(b64decode(bundle))} bytes", text)
    if spec.get("insecureSkipTLSVerify"):
        text = "local APIServices may not have insecureSkipTLSVerify"
        errors.invalid("spec.insecureSkipTLSVerify", spec["insecureSkipTLSVerify"], text)


def _validate_remote(errors: FieldErrors, spec: Document) -> None:
    service = spec["service"]
    for field in ("namespace", "name"):
        if not service.get(field):
            errors.required(f"spec.service.{field}")
    port = service.get("port") or 0
    if problems := port_number(port):
        text = f"port is not valid: {', '.join(problems)}"
        errors.invalid("spec.service.port", port, text)
    if spec.get("insecureSkipTLSVerify") and spec.get("caBundle"):
        text = "may not be true if caBundle is present"
        errors.invalid("spec.insecureSkipTLSVerify", spec["insecureSkipTLSVerify"], text)


# Validation of storage version migrations.

_VERSION: Final = re.compile("[1-9][0-9]*")


def validate_migration(errors: FieldErrors, migration: Document) -> None:
    """Check a new StorageVersionMigration."""
    of = (migration.get("spec") or {}).get("resource") or {}
    resource, group = of.get("resource") or "", of.get("group") or ""
    path = "spec.resource"
    if not resource:
        errors.required(f"{path}.resource", "resource is required to be set")
    elif details := list(dns_1035_label(resource)):
        errors.invalid(f"{path}.resource", resource, ",".join(details))
    if group and (details := list(dns_subdomain(group))):
        errors.invalid(f"{path}.group", group, ",".join(details))


def validate_migration_status(errors: FieldErrors, new: Document, old: Document) -> None:
    """Check a changed status: the version stays, and the end of a migration is final."""
    path = "status.resourceVersion"
    status, before = new.get("status") or {}, old.get("status") or {}
    version, former = status.get("resourceVersion") or "", before.get("resourceVersion") or ""
    if version and not _VERSION.fullmatch(version):
        errors.invalid(path, version, f"resource version is not well formed: {version}")
    conditions = status.get("conditions") or []
    validate_conditions(errors, "status.conditions", conditions)
    if former and version != former:
        errors.invalid(path, version, "field is immutable")
    true, was_true = _true_types(status), _true_types(before)
    shown = internal_form(conditions, "[Condition]")
    if {"Succeeded", "Failed"} <= true:
        text = "Both success and failed conditions cannot be true at the same time"
        errors.invalid("status.conditions", shown, text)
    for name, title in (("Succeeded", "Success"), ("Failed", "Failed")):
        if name in was_true - true:
            text = f"{title} condition cannot be set to false once it is true"
            errors.invalid("status.conditions", shown, text)


def _true_types(status: Document) -> set[str]:
    """Return the types of the conditions that are true; the first of each type counts."""
    first: dict[str, str] = {}
    for condition in status.get("conditions") or ():
        first.setdefault(condition.get("type") or "", condition.get("status") or "")
    return {name for name, status in first.items() if status == "True"}
