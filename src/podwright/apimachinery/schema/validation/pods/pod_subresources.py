"""Validation of the pod subresources `ephemeralcontainers` and `resize`.

Upstream: pkg/apis/core/validation/validation.go, ValidatePodEphemeralContainersUpdate,
validateEphemeralContainers, ValidatePodResize
"""

from __future__ import annotations

from typing import Final

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema.decoding import Problem
from podwright.apimachinery.schema.validation.field_errors import FieldErrors, same
from podwright.apimachinery.schema.validation.internal_structs import difference
from podwright.apimachinery.schema.validation.pods.ephemeral_containers import (
    validate_ephemeral_containers,
)
from podwright.apimachinery.schema.validation.pods.pod import validate_pod_parts

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
        for field in ("initContainers", "containers"):
            _validate_removals(errors, field, new, old)
        _validate_resized(errors, new, old)
    return errors.problems


def _validate_same_containers(errors: FieldErrors, spec: Document, stored: Document) -> bool:
    """Check that no container was added, removed, renamed or moved; whether to continue."""
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


def _pairs(field: str, new: Document, old: Document) -> list[tuple[Document, Document]]:
    """Return the containers of a changed pod, each with the stored one."""
    specs = [each.get("spec") or {} for each in (new, old)]
    return list(zip(*(each.get(field) or () for each in specs), strict=True))


def _validate_removals(errors: FieldErrors, field: str, new: Document, old: Document) -> None:
    for index, (container, before) in enumerate(_pairs(field, new, old)):
        resources, stored = container.get("resources") or {}, before.get("resources") or {}
        for part in ("requests", "limits"):
            if (stored.get(part) or {}).keys() - (resources.get(part) or {}).keys():
                at = f"spec.{field}[{index}].resources.{part}"
                errors.forbidden(at, f"resource {part} cannot be removed")


def _validate_resized(errors: FieldErrors, new: Document, old: Document) -> None:
    """Check that nothing but requests and limits of the CPU and the memory changes."""
    for container, before in _pairs("containers", new, old):
        if not same(_with_former_amounts(container, before), before):
            errors.forbidden("spec", "only cpu and memory resources are mutable")
    for index, (container, before) in enumerate(_pairs("initContainers", new, old)):
        at = f"spec.initContainers[{index}]"
        if not same(_with_former_amounts(container, before), before):
            text = "only cpu and memory resources for init or sidecar containers are mutable"
            errors.forbidden(at, text)
        if same(container, before) or container.get("restartPolicy") == "Always":
            continue
        for policy in container.get("resizePolicy") or ():
            if policy.get("restartPolicy") == "RestartContainer":
                text = "non-sidecar init containers with a resize policy of RestartContainer"
                errors.forbidden(at, f"{text} cannot be resized")


def _with_former_amounts(container: Document, before: Document) -> Document:
    """Return a container with the amounts of CPU and memory that it had, and without claims."""
    made: Document = {}
    for part in ("requests", "limits"):
        amounts, former = (
            (each.get("resources") or {}).get(part) or {} for each in (container, before)
        )
        kept = {name: amount for name, amount in amounts.items() if name not in _RESIZABLE}
        made[part] = kept | {name: former[name] for name in _RESIZABLE if name in former}
    return container | {"resources": made}
