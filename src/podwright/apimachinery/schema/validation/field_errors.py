"""The errors of one object, each with its field and upstream's text.

A rule adds errors to a `FieldErrors` and never raises, so that all errors of an object are found
together.

Upstream: staging/src/k8s.io/apimachinery/pkg/util/validation/field/errors.go; pkg/apis/*/types.go;
staging/src/k8s.io/apimachinery/pkg/util/diff/diff.go.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib import resources
from typing import Any, Final

import msgspec

from podwright.apimachinery.objects import (
    Document,
    RawObject,
    go_number,
    go_quoted,
    raw_text,
    write_go_json,
)
from podwright.apimachinery.schema.decoding import Problem

TEXT_MAX: Final = 4 << 20
"""How many characters of texts one object may have before values are left out of further ones.

Texts that contain a whole list, once for each of its items, would otherwise be quadratic."""


class FieldErrors:
    """Collects the errors of one object.

    Attributes
    ----------
    problems : list of Problem
        In the order in which upstream finds them; the entries of a map by key.
    """

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self._text_length = 0

    def __len__(self) -> int:
        return len(self.problems)

    def required(self, path: str, detail: str = "") -> None:
        """Add the error of a missing value."""
        self._add(path, "Required value", detail)

    def invalid(self, path: str, value: Any, detail: str) -> None:
        """Add the error of a value that violates a rule."""
        self._add(path, f"Invalid value: {self._printed(value)}", detail, value)

    def invalid_object(self, path: str, detail: str) -> None:
        """Add the error of a relation between fields; the text contains no value."""
        self._add(path, "Invalid value", detail)

    def each(self, path: str, value: Any, details: Iterable[str]) -> None:
        """Add an error for each detail about a value."""
        for detail in details:
            self.invalid(path, value, detail)

    def unsupported(self, path: str, value: Any, supported: Sequence[str]) -> None:
        """Add the error of a value outside an enumeration.

        Parameters
        ----------
        supported : sequence of str
            The valid values in the order of upstream's text.
        """
        listed = ", ".join(map(go_quoted, supported))
        text = f"Unsupported value: {self._printed(value)}"
        self._add(path, text, f"supported values: {listed}", value)

    def duplicate(self, path: str, value: Any, detail: str = "") -> None:
        """Add the error of a value that occurs twice."""
        self._add(path, f"Duplicate value: {self._printed(value)}", detail, value)

    def not_found(self, path: str, value: Any, detail: str = "") -> None:
        """Add the error of a reference to something that is absent."""
        self._add(path, f"Not found: {self._printed(value)}", detail, value)

    def forbidden(self, path: str, detail: str) -> None:
        """Add the error of a value that is valid, but not here."""
        self._add(path, "Forbidden", detail)

    def internal(self, path: str, detail: str) -> None:
        """Add the error of a check that failed itself."""
        self._add(path, "Internal error", detail)

    def too_long(self, path: str, limit_bytes: int) -> None:
        """Add the error of a value that is too long."""
        unit = "byte" if limit_bytes == 1 else "bytes"
        self._add(path, "Too long", f"may not be more than {limit_bytes} {unit}")

    def too_many(self, path: str, count: int, limit: int) -> None:
        """Add the error of a list with too many items."""
        unit = "item" if limit == 1 else "items"
        detail = f"must have at most {limit} {unit}"
        self._add(path, f"Too many: {count}", detail, count)

    def not_negative(self, path: str, number: int | None) -> None:
        """Add an error for a negative number; None passes."""
        if number is not None and number < 0:
            self.invalid(path, number, "must be greater than or equal to 0")

    def immutable(self, path: str, new: Any, old: Any, go_type: str = "") -> None:
        """Add an error for a field that an update may not change.

        Parameters
        ----------
        go_type : str
            The internal type of a struct, with whose names the error shows it.
        """
        if not same(new, old, go_type):
            shown = internal_form(new, go_type) if go_type else new
            self.invalid(path, shown, "field is immutable")

    def _printed(self, value: Any) -> str:
        return printed(value) if self._text_length <= TEXT_MAX else '"..."'

    def _add(self, path: str, text: str, detail: str, value: Any = None) -> None:
        if self._text_length > TEXT_MAX:
            detail = ""
        message = f"{text}: {detail}" if detail else text
        self._text_length += len(message)
        self.problems.append((path, message, value))


def repeats(values: Iterable[Any]) -> Iterator[bool]:
    """Return for each value of a list whether an equal one is before it.

    Parameters
    ----------
    values : iterable
        Values of JSON; of any number, and equal as JSON is.

    Examples
    --------
    >>> list(repeats([{"a": 1, "b": 2}, "a", {"b": 2, "a": 1}]))
    [False, False, True]
    """
    seen: set[str | bytes] = set()
    for value in values:
        key = value if isinstance(value, str) else equality_key(value)
        yield key in seen
        seen.add(key)


def _are_equal(new: Any, old: Any) -> bool:
    """Whether two values in the internal form are equal, where null is an empty list or map."""
    if new and old and isinstance(new, dict) and isinstance(old, dict):
        return new.keys() == old.keys() and all(_are_equal(new[key], old[key]) for key in new)
    if isinstance(new, list) and isinstance(old, list):
        return len(new) == len(old) and all(map(_are_equal, new, old))
    return bool(new == old) or all(each in (None, [], {}) for each in (new, old))


def equality_key(value: Any) -> bytes:
    """Return bytes that are the same for equal values of JSON only."""
    return msgspec.json.encode(value, order="deterministic")


def printed(value: Any) -> str:
    """Return a value as upstream prints it: text in quotes, numbers as %v, the rest as JSON.

    Examples
    --------
    >>> printed("1Gi")
    '"1Gi"'
    >>> printed({"matchLabels": {"app": "web"}})
    '{"matchLabels":{"app":"web"}}'
    """
    if isinstance(value, str):
        return go_quoted(value)
    if isinstance(value, float):
        return go_number(value)
    return write_go_json(value, sort_keys=False)


def same(new: Any, old: Any, go_type: str = "") -> bool:
    """Whether two values of a field are equal, where absent, null and empty are the same.

    Upstream compares semantically: an absent list equals an empty one.

    Parameters
    ----------
    go_type : str
        The internal type, as in `internal_form`, so that a pointer to an empty struct differs
        from none, the value itself included; "" if there is no such pointer.
    """
    if new is old:
        return True
    if go_type:
        is_of_none = go_type[0] == "*" and (new is None) != (old is None)
        # `==` alone would ignore the texts of free parts.
        forms = (internal_form(value, go_type) for value in (new, old))
        return not is_of_none and same(new, old) and (new == old or _are_equal(*forms))
    if isinstance(new, RawObject) or isinstance(old, RawObject):
        return raw_text(new) == raw_text(old)
    if isinstance(new, dict) or isinstance(old, dict):
        new, old = new or {}, old or {}
        if not (isinstance(new, dict) and isinstance(old, dict)):
            return False
        return all(
            same(new.get(name), old.get(name))
            and (name not in _TEXT_MAPS or set(new.get(name) or ()) == set(old.get(name) or ()))
            for name in {*new, *old}
        )
    if isinstance(new, list) and isinstance(old, list):
        return len(new) == len(old) and all(map(same, new, old))
    if new is None or old is None:
        return not new and not old and not isinstance(new, bool) and not isinstance(old, bool)
    return bool(new == old)


_TEXT_MAPS: Final = frozenset(
    {"annotations", "labels", "matchLabels", "nodeSelector", "volumeAttributes"}
)
"""The fields that are maps of texts: an empty text is not the same as none."""

_REASONS: Final = {
    "Required value": "FieldValueRequired",
    "Invalid value": "FieldValueInvalid",
    "Unsupported value": "FieldValueNotSupported",
    "Duplicate value": "FieldValueDuplicate",
    "Not found": "FieldValueNotFound",
    "Forbidden": "FieldValueForbidden",
    "Too long": "FieldValueTooLong",
    "Too many": "FieldValueTooMany",
    "Internal error": "InternalError",
}
_OF_WRONG_TYPE: Final = re.compile(r"Invalid value: .*: \S* in body must be of type ", re.DOTALL)
"""Errors of values of custom resources, which upstream reports with the same words."""


def reason_of(message: str) -> str:
    """Return upstream's reason for the message of a problem, as in the causes of a Status.

    Examples
    --------
    >>> reason_of("Required value: can not be empty")
    'FieldValueRequired'
    """
    found = _REASONS.get(message.partition(":")[0], "FieldValueInvalid")
    if found == "FieldValueInvalid" and _OF_WRONG_TYPE.match(message):
        return "FieldValueTypeInvalid"
    return found


# Structs as upstream prints them in messages: with the names of its internal Go fields.
#
# Upstream validates internal objects, most of which have no names for JSON: fields have their
# names in Go and the order of the struct, and those that are not set have their zero value.
# `internal_types.json` has these structs, one per line, with the fields `NAME TYPE` or `NAME TYPE
# NAME-IN-JSON`; `~` marks those that are left out if they are empty.
# `tests/real_parts/internal_types` made it.

_ZERO: Final[dict[str, Any]] = {
    "string": "",
    "bool": False,
    "int": 0,
    "bytes": None,
    "!Quantity": "0",
    "!IntOrString": 0,
    "!Time": None,
    "!MicroTime": None,
    "!RawExtension": None,
}
_IN_SECURITY_CONTEXT: Final = (
    "hostNetwork",
    "hostPID",
    "hostIPC",
    "shareProcessNamespace",
    "hostUsers",
)
"""Fields of a pod's spec that the internal object has in its security context."""


class _Field(msgspec.Struct, frozen=True):
    go_name: str
    type: str
    path: tuple[str, ...]
    is_omitted: bool


def internal_form(value: Any, go_type: str) -> Any:
    """Return a value with the names of Go's fields, as `json.Marshal` writes it.

    Parameters
    ----------
    value : object
        A value of a document.
    go_type : str
        Its internal type: `PodSpec`, `[NAME]` for a list, `*NAME` for a pointer.
    """
    if go_type in _ZERO:
        return _ZERO[go_type] if value is None else value
    if value is None and go_type[0] in "*[{":
        return None
    match go_type[0]:
        case "*":
            return internal_form(value, go_type[1:])
        case "[":
            return [internal_form(each, go_type[1:-1]) for each in value]
        case "{":
            return {key: internal_form(value[key], go_type[1:-1]) for key in sorted(value)}
        case _:
            return _go_struct(value or {}, go_type)


def _go_struct(document: Document, go_type: str) -> Document:
    if go_type == "PodSpec":
        moved = {name: document[name] for name in _IN_SECURITY_CONTEXT if name in document}
        document = document | {"securityContext": (document.get("securityContext") or {}) | moved}
    found = {}
    for field in _fields(go_type):
        part = _at(document, field.path)
        if part or not field.is_omitted:
            found[field.go_name] = internal_form(part, field.type)
    return found


def _at(document: Document, path: tuple[str, ...]) -> Any:
    value: Any = document
    for name in path:
        value = (value or {}).get(name)
    return value


@cache
def _fields(go_type: str) -> tuple[_Field, ...]:
    """Return the fields of a struct, in their order."""
    written = _structs()[go_type]
    return tuple(map(_field, written.split(","))) if written else ()


def _field(text: str) -> _Field:
    marked, go_type, *names = text.split(" ")
    go_name = marked.removeprefix("~")
    path = names[0] if names else go_name[0].lower() + go_name[1:]
    return _Field(go_name, go_type, tuple(path.split(".")), is_omitted=go_name != marked)


@cache
def _structs() -> dict[str, str]:
    data = (
        resources.files("podwright.apimachinery.schema")
        .joinpath("internal_types.json")
        .read_bytes()
    )
    return msgspec.json.decode(data, type=dict[str, str])


# Differences between specs, for the messages of fields that an update may not change.

_CONTEXT_LINES: Final = 3
_ESCAPED: Final = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})


def difference(old: Any, new: Any, go_type: str) -> str:
    """Return a unified diff of two values as indented JSON, without the names of files.

    Parameters
    ----------
    old, new : Any
        Values of documents.
    go_type : str
        Their internal type: `PodSpec`, or `[NAME]` for a list.
    """
    before, after = (_lines(internal_form(value, go_type)) for value in (old, new))
    found = difflib.unified_diff(before, after, n=_CONTEXT_LINES, lineterm="")
    return "\n".join([*list(found)[2:], ""])


def _lines(value: Any) -> list[str]:
    # Go escapes these characters for HTML.
    return json.dumps(value, indent=1, ensure_ascii=False).translate(_ESCAPED).splitlines()
