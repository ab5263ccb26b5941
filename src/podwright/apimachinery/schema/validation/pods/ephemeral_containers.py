"""Validation of ephemeral containers.

Upstream: pkg/apis/core/validation/validation.go, validateEphemeralContainers
"""

from __future__ import annotations

from typing import Final

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema.validation.field_errors import FieldErrors
from podwright.apimachinery.schema.validation.pods.containers import validate_container

_EPHEMERAL_FIELDS: Final = frozenset(
    {"args", "command", "env", "envFrom", "image", "imagePullPolicy", "name", "resources",
     "securityContext", "stdin", "stdinOnce", "targetContainerName", "terminationMessagePath",
     "terminationMessagePolicy", "tty", "volumeDevices", "volumeMounts", "workingDir"}
)  # fmt: skip
_NOT_EPHEMERAL: Final = "cannot be set for an Ephemeral Container"


def validate_ephemeral_containers(errors: FieldErrors, path: str, spec: Document) -> None:
    """Check the ephemeral containers of a pod."""
    others = {
        each.get("name")
        for each in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ()))
    }
    taken = set(others)
    volumes = {each.get("name") or "": each for each in spec.get("volumes") or ()}
    claims = {each.get("name") or "" for each in spec.get("resourceClaims") or ()}
    for index, container in enumerate(spec.get("ephemeralContainers") or ()):
        at = f"{path}[{index}]"
        common = {name: one for name, one in container.items() if name in _EPHEMERAL_FIELDS}
        validate_container(errors, at, common, spec, volumes, claims)
        image = container.get("image") or ""
        if image != image.strip():
            text = "must not have leading or trailing whitespace"
            errors.invalid(f"{at}.image", image, text)
        name = container.get("name")
        if name in taken:
            errors.duplicate(f"{at}.name", name)
        taken.add(name)
        target = container.get("targetContainerName")
        if target and target not in others:
            errors.not_found(f"{at}.targetContainerName", target)
        for field, value in container.items():
            if field not in _EPHEMERAL_FIELDS or (field == "resources" and value):
                errors.forbidden(f"{at}.{field}", _NOT_EPHEMERAL)
        for number, mount in enumerate(container.get("volumeMounts") or ()):
            for field in ("subPath", "subPathExpr"):
                if mount.get(field):
                    errors.forbidden(f"{at}.volumeMounts[{number}].{field}", _NOT_EPHEMERAL)
