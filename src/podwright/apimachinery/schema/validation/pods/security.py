"""Validation of security contexts.

Upstream: pkg/apis/core/validation/validation.go, ValidateSecurityContext,
validatePodSpecSecurityContext
"""

from __future__ import annotations

import re
from typing import Final

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema.validation.field_errors import FieldErrors
from podwright.apimachinery.schema.validation.internal_structs import internal_form
from podwright.apimachinery.schema.validation.names import relative_path, user_id
from podwright.apimachinery.schema.validation.pods.windows_options import validate_windows_options

_PROFILES: Final = ("Localhost", "RuntimeDefault", "Unconfined")
_SYSCTL_SEGMENT: Final = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SYSCTL: Final = rf"({_SYSCTL_SEGMENT}[\./])*{_SYSCTL_SEGMENT}"
_SYSCTL_RE: Final = re.compile(_SYSCTL)


def validate_container_security(
    errors: FieldErrors, path: str, security: Document, *, uses_host_users: bool
) -> None:
    """Check the security context of a container."""
    _validate_ids(errors, path, security, ("runAsUser", "runAsGroup"))
    if (mount := security.get("procMount")) is not None:
        if mount not in ("Default", "Unmasked"):
            errors.unsupported(f"{path}.procMount", mount, ("Default", "Unmasked"))
        if uses_host_users and mount == "Unmasked":
            text = "`hostUsers` must be false to use `Unmasked`"
            errors.invalid(f"{path}.procMount", mount, text)
    _validate_seccomp(errors, f"{path}.seccompProfile", security.get("seccompProfile"))
    if security.get("allowPrivilegeEscalation") is False:
        text = "cannot set `allowPrivilegeEscalation` to false and "
        if security.get("privileged"):
            shown = internal_form(security, "SecurityContext")
            errors.invalid(path, shown, f"{text}`privileged` to true")
        added = (security.get("capabilities") or {}).get("add") or ()
        if "CAP_SYS_ADMIN" in added:
            shown = internal_form(security, "SecurityContext")
            errors.invalid(path, shown, f"{text}`capabilities.Add` CAP_SYS_ADMIN")
    validate_windows_options(errors, f"{path}.windowsOptions", security.get("windowsOptions"))
    _validate_app_armor(errors, f"{path}.appArmorProfile", security.get("appArmorProfile"))


def validate_pod_security(
    errors: FieldErrors, path: str, security: Document, spec: Document
) -> None:
    """Check the security context of a pod."""
    _validate_ids(errors, path, security, ("fsGroup", "runAsUser", "runAsGroup"))
    for index, group in enumerate(security.get("supplementalGroups") or ()):
        errors.each(f"{path}.supplementalGroups[{index}]", group, user_id(group))
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        text = "ShareProcessNamespace and HostPID cannot both be enabled"
        errors.invalid(f"{path}.shareProcessNamespace", spec["shareProcessNamespace"], text)
    _validate_sysctls(errors, f"{path}.sysctls", security.get("sysctls") or [], spec)
    for name, choices in (
        ("fsGroupChangePolicy", ("Always", "OnRootMismatch")),
        ("supplementalGroupsPolicy", ("Merge", "Strict")),
        ("seLinuxChangePolicy", ("MountOption", "Recursive")),
    ):
        if (value := security.get(name)) is not None and value not in choices:
            errors.unsupported(f"{path}.{name}", value, choices)
    _validate_seccomp(errors, f"{path}.seccompProfile", security.get("seccompProfile"))
    validate_windows_options(errors, f"{path}.windowsOptions", security.get("windowsOptions"))
    _validate_app_armor(errors, f"{path}.appArmorProfile", security.get("appArmorProfile"))


def _validate_ids(
    errors: FieldErrors, path: str, security: Document, names: tuple[str, ...]
) -> None:
    for name in names:
        if (number := security.get(name)) is not None:
            errors.each(f"{path}.{name}", number, user_id(number))


def _validate_seccomp(errors: FieldErrors, path: str, profile: Document | None) -> None:
    if profile is None:
        return
    kind = profile.get("type") or ""
    if not kind:
        errors.required(f"{path}.type", "type is required when seccompProfile is set")
    elif kind not in _PROFILES:
        errors.unsupported(f"{path}.type", kind, _PROFILES)
    file = profile.get("localhostProfile")
    if kind == "Localhost":
        if file is None:
            text = "must be set when seccomp type is Localhost"
            errors.required(f"{path}.localhostProfile", text)
        else:
            relative_path(errors, f"{path}.localhostProfile", file)
    elif file is not None:
        text = "can only be set when seccomp type is Localhost"
        shown = internal_form(profile, "SeccompProfile")
        errors.invalid(f"{path}.localhostProfile", shown, text)


def _validate_app_armor(errors: FieldErrors, path: str, profile: Document | None) -> None:
    if profile is None:
        return
    kind, name = profile.get("type") or "", profile.get("localhostProfile")
    at = f"{path}.localhostProfile"
    if kind == "Localhost":
        stripped = (name or "").strip()
        if not stripped:
            errors.required(at, "must be set when AppArmor type is Localhost")
        elif stripped != name:
            errors.invalid(at, name, "must not be padded with whitespace")
    elif not kind:
        errors.required(f"{path}.type", "type is required when appArmorProfile is set")
    elif kind not in _PROFILES:
        errors.unsupported(f"{path}.type", kind, _PROFILES)
    elif name is not None:
        errors.invalid(at, name, "can only be set when AppArmor type is Localhost")


def _validate_sysctls(
    errors: FieldErrors, path: str, sysctls: list[Document], spec: Document
) -> None:
    seen: set[str] = set()
    for index, sysctl in enumerate(sysctls):
        at, name = f"{path}[{index}].name", sysctl.get("name") or ""
        if not name:
            errors.required(at)
        elif len(name) > 253 or not _SYSCTL_RE.fullmatch(name):
            text = f"must have at most 253 characters and match regex ^{_SYSCTL}$"
            errors.invalid(at, name, text)
        elif name in seen:
            errors.duplicate(at, name)
        if spec.get("hostNetwork") and name.startswith("net."):
            errors.invalid(at, name, "may not be specified when 'hostNetwork' is true")
        elif spec.get("hostIPC") and name.startswith(
            ("kernel.shm", "kernel.msg", "kernel.sem", "fs.mqueue.")
        ):
            errors.invalid(at, name, "may not be specified when 'hostIPC' is true")
        seen.add(name)
