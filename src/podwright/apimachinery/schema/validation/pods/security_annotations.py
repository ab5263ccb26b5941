"""Validation of the annotations that stated security profiles before fields did.

Upstream: pkg/apis/core/validation/validation.go, ValidateSeccompPodAnnotations,
ValidateAppArmorPodAnnotations, validateSeccompAnnotationsAndFields,
validateAppArmorAnnotationsAndFieldsMatchOnCreate
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema.validation.field_errors import FieldErrors, printed
from podwright.apimachinery.schema.validation.names import relative_path

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
            _validate_seccomp(errors, f"{path}.{key}", value)
    names = {container.get("name") for _, container in _containers("spec", spec)}
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


def _validate_seccomp(errors: FieldErrors, path: str, value: str) -> None:
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
    if not annotations or not _state_profiles(annotations):
        return
    security: Document = spec.get("securityContext") or {}
    _validate_match(
        errors,
        f"{path}.securityContext.seccompProfile",
        annotations.get(_SECCOMP_POD),
        security.get("seccompProfile"),
        "seccomp",
    )
    containers = list(_containers(path, spec))
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


def _containers(path: str, spec: Document) -> Iterator[tuple[str, Document]]:
    for field in ("initContainers", "containers", "ephemeralContainers"):
        for index, container in enumerate(spec.get(field) or ()):
            yield f"{path}.{field}[{index}]", container
