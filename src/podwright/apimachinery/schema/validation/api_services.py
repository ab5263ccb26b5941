"""Validation of APIServices.

Upstream: staging/src/k8s.io/kube-aggregator/pkg/apis/apiregistration/validation/validation.go
"""

from __future__ import annotations

from base64 import b64decode
from typing import Final

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema.validation.field_errors import FieldErrors
from podwright.apimachinery.schema.validation.names import (
    dns_1035_label,
    dns_subdomain,
    port_number,
)

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
