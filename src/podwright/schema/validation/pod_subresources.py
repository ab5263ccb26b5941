"""Validation of the pod subresources `ephemeralcontainers` and `resize`.

Upstream: pkg/apis/core/validation/validation.go, ValidatePodEphemeralContainersUpdate,
validateEphemeralContainers, ValidatePodResize
"""

from __future__ import annotations

from typing import Final

from podwright.objects import Document
from podwright.schema.decoding import Problem
from podwright.schema.validation.differences import difference
from podwright.schema.validation.ephemeral_containers import validate_ephemeral_containers
from podwright.schema.validation.field_errors import FieldErrors
from podwright.schema.validation.pod import validate_pod_parts

_MIRROR: Final = "kubernetes.io/config.mirror"
_RESIZABLE: Final = frozenset({"cpu", "memory"})


def ephemeral_container_problems(new: Document, old: Document) -> list[Problem]:
    """Return what is wrong with a pod whose ephemeral containers changed."""
    errors = FieldErrors()
    path = "spec.ephemeralContainers"
    spec: Document = new.get("spec") or {}
    validate_ephemeral_containers(errors, path, spec)
    if _MIRROR in ((old.get("metadata") or {}).get("annotations") or {}):
        errors.forbidden("", "static pods do not support ephemeral containers")
    present = {each.get("name"): each for each in spec.get("ephemeralContainers") or ()}
    for container in (old.get("spec") or {}).get("ephemeralContainers") or ():
        name = container.get("name")
        if name not in present:
            text = f'existing ephemeral containers "{name}" may not be removed\n'
            errors.forbidden(path, text)
        elif present[name] != container:
            text = f'existing ephemeral containers "{name}" may not be changed'
            found = difference(container, present[name], "EphemeralContainer")
            errors.forbidden(path, f"{text}\n{found}")
    return errors.problems


def resize_problems(new: Document, old: Document, *, qos_class: str) -> list[Problem]:
    """Return what is wrong with a pod whose resources changed.

    Parameters
    ----------
    qos_class : str
        The class that follows from the new resources.
    """
    errors = FieldErrors()
    spec, stored = new.get("spec") or {}, old.get("spec") or {}
    if _MIRROR in ((old.get("metadata") or {}).get("annotations") or {}):
        errors.forbidden("", "static pods cannot be resized")
        return errors.problems
    if (stored.get("os") or {}).get("name") == "windows":
        errors.forbidden("", "windows pods cannot be resized")
        return errors.problems
    validate_pod_parts(errors, new)
    current = (old.get("status") or {}).get("qosClass")
    if current and current != qos_class:
        text = "Pod QOS Class may not change as a result of resizing"
        errors.invalid("spec", current, text)
    if _validate_same_containers(errors, spec, stored):
        for field in ("containers", "initContainers"):
            _validate_resources(errors, field, new, old)
    return errors.problems


def _validate_same_containers(errors: FieldErrors, spec: Document, stored: Document) -> bool:
    """Check that no container was added, removed, renamed or moved; whether to go on."""
    found = len(errors)
    for field in ("containers", "initContainers"):
        names = [each.get("name") for each in spec.get(field) or ()]
        before = [each.get("name") for each in stored.get(field) or ()]
        if len(names) != len(before):
            errors.forbidden(f"spec.{field}", f"{field} may not be added or removed on resize")
            continue
        for index, (name, former) in enumerate(zip(names, before, strict=True)):
            if name != former:
                text = f"{field} may not be renamed or reordered on resize"
                errors.forbidden(f"spec.{field}[{index}].name", text)
    return len(errors) == found


def _validate_resources(errors: FieldErrors, field: str, new: Document, old: Document) -> None:
    before = {
        each.get("name"): each.get("resources") or {}
        for each in (old.get("spec") or {}).get(field) or ()
    }
    for index, container in enumerate((new.get("spec") or {}).get(field) or ()):
        resources = container.get("resources") or {}
        stored = before.get(container.get("name"), {})
        at = f"spec.{field}[{index}].resources"
        for part in ("requests", "limits"):
            present, was = resources.get(part) or {}, stored.get(part) or {}
            if was.keys() - present.keys():
                errors.forbidden(f"{at}.{part}", f"resource {part} cannot be removed")
            changed = {name for name in present.keys() | was if present.get(name) != was.get(name)}
            # Upstream compares the resources without their claims to the stored ones with them.
            has_claims = part == "limits" and bool(stored.get("claims"))
            if changed - _RESIZABLE or has_claims:
                which = " for sidecar containers" if field == "initContainers" else ""
                errors.forbidden("spec", f"only cpu and memory resources{which} are mutable")
