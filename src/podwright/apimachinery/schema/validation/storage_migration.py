"""Validation of storage version migrations.

Upstream: pkg/apis/storagemigration/validation/validation.go
"""

from __future__ import annotations

import re
from typing import Final

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema.validation.field_errors import FieldErrors
from podwright.apimachinery.schema.validation.internal_structs import internal_form
from podwright.apimachinery.schema.validation.names import dns_1035_label, dns_subdomain
from podwright.apimachinery.schema.validation.statuses import validate_conditions

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
