"""Validation of security contexts.

Upstream: pkg/apis/core/validation/validation.go, ValidateSecurityContext,
validatePodSpecSecurityContext; pkg/apis/core/validation/validation.go,
ValidateSeccompPodAnnotations, ValidateAppArmorPodAnnotations, validateSeccompAnnotationsAndFields,
validateAppArmorAnnotationsAndFieldsMatchOnCreate; pkg/apis/core/validation/validation.go,
validateWindowsSecurityContextOptions, validateWindowsHostProcessPod.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema.validation import rules as r
from podwright.apimachinery.schema.validation.field_errors import (
    FieldErrors,
    internal_form,
    printed,
)
from podwright.apimachinery.schema.validation.names import relative_path, user_id

ALL_CONTAINERS: Final = ("initContainers", "containers", "ephemeralContainers")
_PROFILES: Final = ("Localhost", "RuntimeDefault", "Unconfined")
_SYSCTL_SEGMENT: Final = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SYSCTL: Final = rf"({_SYSCTL_SEGMENT}[\./])*{_SYSCTL_SEGMENT}"
_SYSCTL_RE: Final = re.compile(_SYSCTL)


def containers_of(
    path: str, spec: Document, fields: Sequence[str] = ALL_CONTAINERS
) -> Iterator[tuple[str, Document]]:
    """Yield the paths and the containers of a pod."""
    for field in fields:
        for index, container in enumerate(spec.get(field) or ()):
            yield f"{path}.{field}[{index}]", container


def validate_container_security(
    errors: FieldErrors, path: str, security: Document, *, uses_host_users: bool
) -> None:
    """Check the security context of a container."""
    _CONTAINER_IDS(errors, path, security)
    if uses_host_users and security.get("procMount") == "Unmasked":
        text = "`hostUsers` must be false to use `Unmasked`"
        errors.invalid(f"{path}.procMount", "Unmasked", text)
    _SECCOMP_PROFILE(errors, path, security)
    if security.get("allowPrivilegeEscalation") is False:
        added = (security.get("capabilities") or {}).get("add") or ()
        for is_set, what in (
            (security.get("privileged"), "`privileged` to true"),
            ("CAP_SYS_ADMIN" in added, "`capabilities.Add` CAP_SYS_ADMIN"),
        ):
            if is_set:
                shown = internal_form(security, "SecurityContext")
                text = f"cannot set `allowPrivilegeEscalation` to false and {what}"
                errors.invalid(path, shown, text)
    _OTHER_PROFILES(errors, path, security)


def validate_pod_security(
    errors: FieldErrors, path: str, security: Document, spec: Document
) -> None:
    """Check the security context of a pod."""
    _POD_IDS(errors, path, security)
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        text = "ShareProcessNamespace and HostPID cannot both be enabled"
        errors.invalid(f"{path}.shareProcessNamespace", spec["shareProcessNamespace"], text)
    _validate_sysctls(errors, f"{path}.sysctls", security.get("sysctls") or [], spec)
    _POD_POLICIES(errors, path, security)


def _validate_seccomp(errors: FieldErrors, path: str, profile: Document) -> None:
    _SECCOMP_TYPE(errors, path, profile)
    file = profile.get("localhostProfile")
    if profile.get("type") == "Localhost":
        if file is None:
            text = "must be set when seccomp type is Localhost"
            errors.required(f"{path}.localhostProfile", text)
        else:
            relative_path(errors, f"{path}.localhostProfile", file)
    elif file is not None:
        text = "can only be set when seccomp type is Localhost"
        shown = internal_form(profile, "SeccompProfile")
        errors.invalid(f"{path}.localhostProfile", shown, text)


def _validate_app_armor(errors: FieldErrors, path: str, profile: Document) -> None:
    kind, name = profile.get("type"), profile.get("localhostProfile")
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


# Validation of the annotations that stated security profiles before fields did.

_SECCOMP_POD: Final = "seccomp.security.alpha.kubernetes.io/pod"
_SECCOMP: Final = "container.seccomp.security.alpha.kubernetes.io/"
_APPARMOR: Final = "container.apparmor.security.beta.kubernetes.io/"
_SECURITY: Final = ".security."
"""What is in the keys of all these annotations."""
_LOCAL: Final = "localhost/"
_UNCONFINED: Final = ("unconfined",)
_VALUES: Final[dict[str, dict[str, tuple[str, ...]]]] = {
    "seccomp": {"Unconfined": _UNCONFINED, "RuntimeDefault": ("runtime/default", "docker/default")},
    "apparmor": {"Unconfined": _UNCONFINED, "RuntimeDefault": ("runtime/default",)},
}
"""The annotations that stand for a type of profile."""


def validate_profiles(
    errors: FieldErrors, path: str, annotations: Document, spec: Document
) -> None:
    """Check the values of the annotations.

    Parameters
    ----------
    path : str
        The path of the annotations.
    """
    if not _state_profiles(annotations):
        return
    for key, value in annotations.items():
        if key == _SECCOMP_POD or key.startswith(_SECCOMP):
            _validate_seccomp_annotation(errors, f"{path}.{key}", value)
    names = {container.get("name") for _, container in containers_of("spec", spec)}
    for key, value in annotations.items():
        if not key.startswith(_APPARMOR):
            continue
        name, at = key.removeprefix(_APPARMOR), f"{path}[{key}]"
        if name not in names:
            errors.invalid(at, name, "container not found")
        if value not in ("", "runtime/default", "unconfined") and not value.startswith(_LOCAL):
            errors.invalid(at, value, f"invalid AppArmor profile name: {printed(value)}")


def _state_profiles(annotations: Document) -> bool:
    return any(_SECURITY in key for key in annotations)


def _validate_seccomp_annotation(errors: FieldErrors, path: str, value: str) -> None:
    if value in ("runtime/default", "docker/default", "unconfined"):
        return
    if value.startswith(_LOCAL):
        relative_path(errors, path, value.removeprefix(_LOCAL))
    else:
        errors.invalid(path, value, "must be a valid seccomp profile")


def validate_matching_fields(
    errors: FieldErrors, path: str, annotations: Document, spec: Document
) -> None:
    """Check that annotations and fields state the same profiles.

    Parameters
    ----------
    path : str
        The path of the spec.
    """
    if not _state_profiles(annotations):
        return
    security: Document = spec.get("securityContext") or {}
    _validate_match(
        errors,
        f"{path}.securityContext.seccompProfile",
        annotations.get(_SECCOMP_POD),
        security.get("seccompProfile"),
        "seccomp",
    )
    containers = list(containers_of(path, spec))
    for at, container in containers:
        own: Document = container.get("securityContext") or {}
        _validate_match(
            errors,
            f"{at}.securityContext.seccompProfile",
            annotations.get(f"{_SECCOMP}{container.get('name')}"),
            own.get("seccompProfile"),
            "seccomp",
        )
    if (spec.get("os") or {}).get("name") == "windows":
        return
    for at, container in containers:
        own = container.get("securityContext") or {}
        _validate_match(
            errors,
            f"{at}.securityContext.appArmorProfile",
            annotations.get(f"{_APPARMOR}{container.get('name')}"),
            own.get("appArmorProfile") or security.get("appArmorProfile"),
            "apparmor",
        )


def _validate_match(
    errors: FieldErrors, path: str, value: str | None, profile: Document | None, what: str
) -> None:
    if value is None or profile is None:
        return
    kind = profile.get("type") or ""
    if kind == "Localhost" and value.startswith(_LOCAL):
        if value.removeprefix(_LOCAL) != profile.get("localhostProfile"):
            text = f"{what} profile in annotation and field must match"
            errors.forbidden(f"{path}.localhostProfile", text)
        return
    expected = _VALUES[what].get(kind, (value,))
    if kind == "Localhost" or value not in expected:
        errors.forbidden(f"{path}.type", f"{what} type in annotation and field must match")


# Validation of the options of containers on Windows.

_SPEC_KIB_MAX: Final = 64
_DOMAIN_MAX: Final = 256
_USER_MAX: Final = 104
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_NETBIOS: Final = re.compile(r'[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}')
_LABEL: Final = r"[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
_DNS: Final = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
_BAD_USER: Final = re.compile(r'["/\\:;|=,+*?<>@\[\]]')
_DOTS: Final = re.compile(r"[. ]+")


def _credential_problems(spec: str) -> Iterator[str]:
    if not spec:
        yield "gmsaCredentialSpec cannot be an empty string"
    elif len(spec.encode()) > _SPEC_KIB_MAX * 1024:
        yield f"gmsaCredentialSpec size must be under {_SPEC_KIB_MAX} KiB"


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


_USER_ID: Final = r.form(user_id)
_CONTAINER_IDS: Final = r.struct(
    runAsUser=_USER_ID, runAsGroup=_USER_ID, procMount=r.one_of("Default", "Unmasked")
)
_POD_IDS: Final = r.struct(
    fsGroup=_USER_ID,
    runAsUser=_USER_ID,
    runAsGroup=_USER_ID,
    supplementalGroups=r.each(_USER_ID),
)
_SECCOMP_TYPE: Final = r.struct(
    type=r.required(r.one_of(*_PROFILES), detail="type is required when seccompProfile is set")
)
_SECCOMP_PROFILE: Final = r.struct(seccompProfile=_validate_seccomp)
_OTHER_PROFILES: Final = r.struct(
    windowsOptions=r.struct(
        gmsaCredentialSpecName=r.SUBDOMAIN,
        gmsaCredentialSpec=r.form(_credential_problems),
        runAsUserName=r.form(_user_problems),
    ),
    appArmorProfile=_validate_app_armor,
)
_POD_POLICIES: Final = r.all_of(
    r.struct(
        fsGroupChangePolicy=r.one_of("Always", "OnRootMismatch"),
    ),
    _SECCOMP_PROFILE,
    _OTHER_PROFILES,
    r.struct(
        supplementalGroupsPolicy=r.one_of("Merge", "Strict"),
        seLinuxChangePolicy=r.one_of("Recursive"),
    ),
)


def validate_host_processes(errors: FieldErrors, path: str, spec: Document) -> None:
    """Check that either all containers of a pod are processes of the host, or none."""
    of_pod = _is_host_process(spec)
    found = count = 0
    for field in ALL_CONTAINERS:
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
        errors.invalid(f"{path}.hostNetwork", value=False, detail=text)


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
            for at, security in _security_contexts(path, spec):
                if security.get("windowsOptions") is not None:
                    text = "windows options cannot be set for a linux pod"
                    errors.forbidden(f"{at}.windowsOptions", text)
        case "windows":
            _validate_windows(errors, path, spec)
        case name:
            errors.unsupported(f"{path}.os", name, ("linux", "windows"))


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
    for at, container in containers_of(path, spec):
        yield f"{at}.securityContext", container.get("securityContext") or {}
