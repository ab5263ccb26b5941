"""Where a custom resource has its replicas.

Upstream: staging/src/k8s.io/apiextensions-apiserver/pkg/registry/customresource/etcd.go,
validator.go; staging/src/k8s.io/apimachinery/pkg/apis/meta/v1/unstructured/helpers.go
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema.structural.values import go_number
from podwright.apimachinery.schema.validation.field_errors import FieldErrors

_INT32_MAX: Final = 2**31 - 1
_GO_NAMES: Final = {
    str: "string", bool: "bool", int: "int64", float: "float64", type(None): "<nil>",
    list: "[]interface {}", dict: "map[string]interface {}",
}  # fmt: skip


class AccessError(ValueError):
    """A value of a wrong type on a path; the message is upstream's."""


class ScalePaths(msgspec.Struct, frozen=True):
    """The paths of the subresource `scale`.

    Attributes
    ----------
    replicas, status_replicas : str
        As in the definition, such as `.spec.replicas`.
    selector : str
        The path of the label selector as text; "" for none.
    """

    replicas: str
    status_replicas: str
    selector: str = ""

    @property
    def replicas_path(self) -> tuple[str, ...]:
        """The names of the fields down to the replicas."""
        return steps(self.replicas)


def steps(path: str) -> tuple[str, ...]:
    """Return the names of the fields of a path."""
    return tuple(path.removeprefix(".").split("."))


def integer_at(document: Document, path: str) -> int | None:
    """Return the integer at a path; None if it is absent.

    Raises
    ------
    AccessError
        The value is not an integer.
    """
    found, value = _value_at(document, path)
    if not found:
        return None
    if isinstance(value, bool) or not isinstance(value, int):
        raise _type_error(path, value, "int64")
    return value


def text_at(document: Document, path: str) -> str:
    """Return the text at a path; "" if it is absent.

    Raises
    ------
    AccessError
        The value is not text.
    """
    found, value = _value_at(document, path)
    if not found:
        return ""
    if not isinstance(value, str):
        raise _type_error(path, value, "string")
    return value


def _value_at(document: Document, path: str) -> tuple[bool, Any]:
    value: Any = document
    names = steps(path)
    for index, name in enumerate(names):
        if value is None:
            return False, None
        if not isinstance(value, dict):
            raise _type_error("." + ".".join(names[: index + 1]), value, "map[string]interface{}")
        if name not in value:
            return False, None
        value = value[name]
    return True, value


def _type_error(path: str, value: Any, expected: str) -> AccessError:
    shown = path if path.startswith(".") else f".{path}"
    go_type = _GO_NAMES.get(type(value), "int64")
    return AccessError(
        f"{shown} accessor error: {_shown(value)} is of the type {go_type}, expected {expected}"
    )


def _shown(value: Any) -> str:
    """Return a value as Go's verb %v prints it."""
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return f"[{' '.join(map(_shown, value))}]"
    if isinstance(value, dict):
        return f"map[{' '.join(f'{name}:{_shown(value[name])}' for name in sorted(value))}]"
    return value if isinstance(value, str) else go_number(value)


def validate_scale(
    errors: FieldErrors, document: Document, paths: ScalePaths, *, only_status: bool = False
) -> None:
    """Check the replicas of an object and of its status, and the type of its selector."""
    checked = [paths.status_replicas] if only_status else [paths.replicas, paths.status_replicas]
    for path in checked:
        try:
            count = integer_at(document, path) or 0
        except AccessError as error:
            errors.invalid(path, 0, str(error))
            continue
        if count < 0:
            errors.invalid(path, count, "should be a non-negative integer")
        elif count > _INT32_MAX:
            errors.invalid(path, count, f"should be less than or equal to {_INT32_MAX}")
    if paths.selector:
        try:
            text_at(document, paths.selector)
        except AccessError as error:
            errors.invalid(paths.selector, "", str(error))
