"""Validation of the options of containers on Windows.

Upstream: pkg/apis/core/validation/validation.go, validateWindowsSecurityContextOptions,
validateWindowsHostProcessPod
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema.validation.field_errors import FieldErrors
from podwright.apimachinery.schema.validation.names import dns_subdomain

_SPEC_KIB_MAX: Final = 64
_DOMAIN_MAX: Final = 256
_USER_MAX: Final = 104
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_NETBIOS: Final = re.compile(r'[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}')
_LABEL: Final = r"[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
_DNS: Final = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
_BAD_USER: Final = re.compile(r'["/\\:;|=,+*?<>@\[\]]')
_DOTS: Final = re.compile(r"[. ]+")


def validate_windows_options(errors: FieldErrors, path: str, options: Document | None) -> None:
    """Check the options of a pod or a container."""
    if not options:
        return
    if (name := options.get("gmsaCredentialSpecName")) is not None:
        errors.each(f"{path}.gmsaCredentialSpecName", name, dns_subdomain(name))
    if (spec := options.get("gmsaCredentialSpec")) is not None:
        at = f"{path}.gmsaCredentialSpec"
        if not spec:
            errors.invalid(at, spec, "gmsaCredentialSpec cannot be an empty string")
        elif len(spec.encode()) > _SPEC_KIB_MAX * 1024:
            errors.invalid(at, spec, f"gmsaCredentialSpec size must be under {_SPEC_KIB_MAX} KiB")
    if (user := options.get("runAsUserName")) is not None:
        errors.each(f"{path}.runAsUserName", user, _user_problems(user))


def _user_problems(text: str) -> Iterator[str]:
    """Yield what is wrong with the name of a user."""
    parts = text.split("\\")
    if not text:
        yield "runAsUserName cannot be an empty string"
    elif _CONTROL.search(text):
        yield "runAsUserName cannot contain control characters"
    elif len(parts) > 2:
        yield "runAsUserName cannot contain more than one backslash"
    else:
        domain, user = (parts[0] if len(parts) == 2 else None), parts[-1]
        if domain is not None:
            if len(domain.encode()) >= _DOMAIN_MAX:
                yield f"runAsUserName's Domain length must be under {_DOMAIN_MAX} characters"
            if not (_NETBIOS.fullmatch(domain) or _DNS.fullmatch(domain)):
                yield "runAsUserName's Domain doesn't match the NetBios nor the DNS format"
        if not user:
            yield "runAsUserName's User cannot be empty"
        elif len(user.encode()) > _USER_MAX:
            yield f"runAsUserName's User length must not be longer than {_USER_MAX} characters"
        if _DOTS.fullmatch(user):
            yield "runAsUserName's User cannot contain only periods or spaces"
        if _BAD_USER.search(user):
            yield (
                "runAsUserName's User cannot contain the following characters: \"/\\:;|=,+*?<>@[]"
            )


def validate_host_processes(errors: FieldErrors, path: str, spec: Document) -> None:
    """Check that either all containers of a pod are processes of the host, or none."""
    of_pod = _is_host_process(spec)
    found = 0
    count = 0
    for field in ("initContainers", "containers", "ephemeralContainers"):
        for index, container in enumerate(spec.get(field) or ()):
            own = _is_host_process(container)
            count += 1
            found += own is True or (own is None and of_pod is True)
            if of_pod is not None and own is not None and of_pod != own:
                errors.invalid(
                    f"{path}.{field}[{index}].securityContext.windowsOptions.hostProcess",
                    own,
                    "pod hostProcess value must be identical if both are specified, was"
                    f" {str(of_pod).lower()}",
                )
    if not found:
        return
    if found != count:
        text = "If pod contains any hostProcess containers then all containers must be"
        errors.invalid(path, "", f"{text} HostProcess containers")
    if not spec.get("hostNetwork"):
        text = "hostNetwork must be true if pod contains any hostProcess containers"
        errors.invalid(f"{path}.hostNetwork", spec.get("hostNetwork") or False, text)


def _is_host_process(holder: Document) -> bool | None:
    security: Document = holder.get("securityContext") or {}
    value: bool | None = (security.get("windowsOptions") or {}).get("hostProcess")
    return value


_NOT_FOR_WINDOWS: Final = (
    "securityContext.appArmorProfile",
    "securityContext.seLinuxOptions",
    "hostUsers",
    "hostPID",
    "hostIPC",
    "securityContext.seccompProfile",
    "securityContext.fsGroup",
    "securityContext.fsGroupChangePolicy",
    "securityContext.sysctls",
    "shareProcessNamespace",
    "securityContext.runAsUser",
    "securityContext.runAsGroup",
    "securityContext.supplementalGroups",
    "securityContext.supplementalGroupsPolicy",
    "securityContext.seLinuxChangePolicy",
)
_NOT_FOR_CONTAINERS: Final = (
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "capabilities",
    "readOnlyRootFilesystem",
    "privileged",
    "allowPrivilegeEscalation",
    "procMount",
    "runAsUser",
    "runAsGroup",
)
_FALSE_IS_ABSENT: Final = ("hostPID", "hostIPC")


def validate_operating_system(errors: FieldErrors, path: str, spec: Document) -> None:
    """Check a pod for what its operating system does not have.

    Upstream: validateOS, validateLinux, validateWindows
    """
    match (spec.get("os") or {}).get("name"):
        case None | "":
            errors.required(f"{path}.os.name")
        case "linux":
            _validate_linux(errors, path, spec)
        case "windows":
            _validate_windows(errors, path, spec)
        case name:
            errors.unsupported(f"{path}.os", name, ("linux", "windows"))


def _validate_linux(errors: FieldErrors, path: str, spec: Document) -> None:
    for at, security in _security_contexts(path, spec):
        if security.get("windowsOptions") is not None:
            text = "windows options cannot be set for a linux pod"
            errors.forbidden(f"{at}.windowsOptions", text)


def _validate_windows(errors: FieldErrors, path: str, spec: Document) -> None:
    text = "cannot be set for a windows pod"
    for name in _NOT_FOR_WINDOWS:
        outer, _, inner = name.rpartition(".")
        value = (spec.get(outer) or {} if outer else spec).get(inner)
        if value is not None and (value or name not in _FALSE_IS_ABSENT):
            errors.forbidden(f"{path}.{name}", text)
    for at, security in _security_contexts(path, spec):
        for name in _NOT_FOR_CONTAINERS if at != f"{path}.securityContext" else ():
            if security.get(name) is not None:
                errors.forbidden(f"{at}.{name}", text)


def _security_contexts(path: str, spec: Document) -> Iterator[tuple[str, Document]]:
    """Yield the paths and security contexts of a pod and of its containers."""
    yield f"{path}.securityContext", spec.get("securityContext") or {}
    for field in ("initContainers", "containers", "ephemeralContainers"):
        for index, container in enumerate(spec.get(field) or ()):
            at = f"{path}.{field}[{index}].securityContext"
            yield at, container.get("securityContext") or {}
