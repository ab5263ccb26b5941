"""What is wrong with a patch, as the API server answers it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Final

import msgspec

REJECTED: Final = "the server rejected our request due to an error in our request"
"""The message of an error whose own text upstream does not pass on."""

_JSON_KIND: Final = {list: "array", str: "string", bool: "bool", int: "number", float: "number"}


class PatchError(Exception):
    """A patch that cannot be applied.

    Attributes
    ----------
    code : int
        The status code of HTTP.
    reason : str
        The reason of the Status, such as `BadRequest`.
    message : str
        The text of the Status.
    has_details : bool
        Whether the Status has (empty) details.
    cause : str
        The error behind a message that does not show it; "" for none.
    """

    def __init__(
        self,
        message: str,
        *,
        code: int = 400,
        reason: str = "BadRequest",
        has_details: bool = False,
        cause: str = "",
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.has_details = has_details
        self.cause = cause


class FailedTestError(PatchError):
    """A `test` of a JSON patch does not hold."""

    def __init__(self) -> None:
        super().__init__(REJECTED, code=422, reason="Invalid", has_details=True)


class Conflict(msgspec.Struct, frozen=True, kw_only=True):
    """One field of a configuration that another manager owns.

    Attributes
    ----------
    manager : str
        The owner as messages name it, such as `"hpa" with subresource "scale" using apps/v1`.
    field : str
        The path, such as `.spec.template.spec.containers[name="c"].image`.
    """

    manager: str
    field: str


class ApplyConflictError(PatchError):
    """Fields of a configuration that other managers own with other values.

    Parameters
    ----------
    conflicts : sequence of Conflict
        In the order of the managers, those of one manager together.

    Notes
    -----
    Upstream: staging/src/k8s.io/apimachinery/pkg/util/managedfields/internal/conflict.go
    """

    def __init__(self, conflicts: Sequence[Conflict]) -> None:
        super().__init__(_conflict_message(conflicts), code=409, reason="Conflict")
        self.conflicts = tuple(conflicts)

    @property
    def causes(self) -> list[dict[str, str]]:
        """The causes in the details of the Status."""
        return [
            {
                "reason": "FieldManagerConflict",
                "message": f"conflict with {one.manager}",
                "field": one.field,
            }
            for one in self.conflicts
        ]


def _conflict_message(conflicts: Sequence[Conflict]) -> str:
    if len(conflicts) == 1:
        (one,) = conflicts
        return f"Apply failed with 1 conflict: conflict with {one.manager}: {one.field}"
    fields: dict[str, list[str]] = {}
    for one in conflicts:
        fields.setdefault(one.manager, []).append(f"- {one.field}")
    lines = [
        line for manager, paths in fields.items() for line in (f"conflicts with {manager}:", *paths)
    ]
    return f"Apply failed with {len(conflicts)} conflicts: " + "\n".join(lines)


def rejected(cause: str = "") -> PatchError:
    """Return the error of a patch that does not fit the object."""
    return PatchError(REJECTED, code=422, reason="Invalid", has_details=True, cause=cause)


def unclassified(message: str) -> PatchError:
    """Return an error that upstream passes on as it is: an internal error without a reason.

    Upstream: staging/src/k8s.io/apiserver/pkg/endpoints/handlers/patch.go,
    interpretStrategicMergePatchError, which names the few errors that are the client's
    """
    return PatchError(message, code=500, reason="")


def wrong_json(value: Any, go_type: str) -> str:
    """Return encoding/json's message for a value that does not fit a type of Go."""
    kind = _JSON_KIND.get(type(value), "object")
    return f"json: cannot unmarshal {kind} into Go {go_type}"


# Values as Go prints them, for messages that quote a value.

GO_TYPE: Final = {
    dict: "map[string]interface {}", list: "[]interface {}", str: "string", bool: "bool",
    int: "int64", float: "float64", type(None): "%!s(<nil>)",
}  # fmt: skip
"""The types of Go that decoded JSON has, by the types of Python."""


def printed(value: Any) -> str:
    """Return a value as `fmt.Sprintf("%v", value)` prints it.

    Examples
    --------
    >>> printed({"name": "web", "ports": [80, None]})
    'map[name:web ports:[80 <nil>]]'
    """
    match value:
        case None:
            return "<nil>"
        case bool():
            return "true" if value else "false"
        case dict():
            return f"map[{' '.join(f'{key}:{printed(value[key])}' for key in sorted(value))}]"
        case list():
            return f"[{' '.join(map(printed, value))}]"
        case float():
            return _float(value)
        case _:
            return str(value)


def printed_in_full(value: Any) -> str:
    """Return a value as `fmt.Sprintf("%#v", value)` prints it.

    Examples
    --------
    >>> printed_in_full({"a": [1, "b", None]})
    'map[string]interface {}{"a":[]interface {}{1, "b", interface {}(nil)}}'
    """
    match value:
        case None:
            return "interface {}(nil)"
        case str():
            return json.dumps(value, ensure_ascii=False)
        case dict():
            inside = ", ".join(
                f"{json.dumps(key, ensure_ascii=False)}:{printed_in_full(value[key])}"
                for key in sorted(value)
            )
            return f"{GO_TYPE[dict]}{{{inside}}}"
        case list():
            return f"{GO_TYPE[list]}{{{', '.join(map(printed_in_full, value))}}}"
        case _:
            return printed(value)


def _float(value: float) -> str:
    """Return a float in Go's shortest form, with an exponent from 1e+06 on and below 1e-04."""
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    assert isinstance(exponent, int), value  # JSON has no infinity
    power = len(digits) + exponent - 1
    if -4 <= power < 6:
        return f"{Decimal((sign, digits, exponent)):f}"
    first, *rest = map(str, digits)
    fraction = f".{''.join(rest)}" if rest else ""
    return f"{'-' if sign else ''}{first}{fraction}e{power:+03d}"
