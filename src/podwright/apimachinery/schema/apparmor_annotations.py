"""AppArmor profiles that the annotations of a new pod state, moved into its fields.

Upstream: pkg/registry/core/pod/strategy.go, applyAppArmorVersionSkew
"""

from __future__ import annotations

from typing import Any, Final

from podwright.apimachinery.objects import Document

_PREFIX: Final = "container.apparmor.security.beta.kubernetes.io/"
USE_APPARMOR: Final = 'deprecated since v1.30; use the "appArmorProfile" field instead'
_PROFILE_MAX: Final = 4_095
_CONTAINERS: Final = ("initContainers", "containers", "ephemeralContainers")


def with_apparmor_profiles(pod: Document) -> tuple[Document, list[str]]:
    """Return a new pod with the profiles of its annotations, and the warnings about them."""
    notes: Document = (pod.get("metadata") or {}).get("annotations") or {}
    if not any(key.startswith(_PREFIX) for key in notes):
        return pod, []
    spec: Document = pod.get("spec") or {}
    if (spec.get("os") or {}).get("name") == "windows":
        return pod, []
    of_pod = (spec.get("securityContext") or {}).get("appArmorProfile")
    warnings: list[str] = []

    def with_profile(container: Document) -> Document:
        key = f"{_PREFIX}{container.get('name') or ''}"
        security: Document = container.get("securityContext") or {}
        if key not in notes or security.get("appArmorProfile") is not None:
            return container
        profile = apparmor_profile(notes[key])
        if profile is not None and profile == of_pod:
            return container
        warnings.append(f"metadata.annotations[{key}]: {USE_APPARMOR}")
        if profile is None:
            return container
        return container | {"securityContext": security | {"appArmorProfile": profile}}

    changes: dict[str, Any] = {
        field: [with_profile(each) for each in spec[field]]
        for field in _CONTAINERS
        if spec.get(field)
    }
    return pod | {"spec": spec | changes}, warnings


def apparmor_profile(annotation: str) -> Document | None:
    """Return the profile that an annotation states; None if it states no valid one.

    Upstream: pkg/api/pod/util.go, ApparmorFieldForAnnotation
    """
    if annotation == "unconfined":
        return {"type": "Unconfined"}
    if annotation == "runtime/default":
        return {"type": "RuntimeDefault"}
    kind, _, name = annotation.partition("/")
    if kind == "localhost" and name and name == name.strip() and len(name) <= _PROFILE_MAX:
        return {"type": "Localhost", "localhostProfile": name}
    return None
