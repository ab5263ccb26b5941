"""Paths of fields below a schema: `fieldPath` of rules, and `jsonPath` of selectable fields.

Upstream: staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/validation.go,
ValidFieldPath; staging/src/k8s.io/client-go/util/jsonpath/{jsonpath,parser}.go;
staging/src/k8s.io/apiextensions-apiserver/pkg/registry/customresource/tableconvertor;
staging/src/k8s.io/apiextensions-apiserver/pkg/registry/customresource/etcd.go, validator.go;
staging/src/k8s.io/apimachinery/pkg/apis/meta/v1/unstructured/helpers.go.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import msgspec

from podwright.apimachinery.objects import Document, go_number
from podwright.apimachinery.schema.printing.cells import Cell, age
from podwright.apimachinery.schema.structural.shape import Schema
from podwright.apimachinery.schema.table import Column
from podwright.apimachinery.schema.validation.field_errors import FieldErrors

if TYPE_CHECKING:
    import jsonpath

_ESCAPES = {"\\": "\\", "'": "'", "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r",
            "t": "\t", "v": "\v"}  # fmt: skip


class FieldPathError(ValueError):
    """A path that leads nowhere; the message is upstream's."""


def schema_at(path: str, schema: Schema, *, allows_brackets: bool = True) -> tuple[str, Schema]:
    """Return a path as errors write it, and the schema at it.

    Parameters
    ----------
    path : str
        Such as `.spec.name` or `.spec['a.b']`.
    schema : mapping
        Where the path starts.
    allows_brackets : bool
        Whether names in brackets are allowed.

    Raises
    ------
    FieldPathError
        The path cannot be parsed, or the schema does not have the field.
    """
    shown = ""
    tokens = _tokens(path)
    for token in tokens:
        if token == "[":
            if not allows_brackets:
                raise FieldPathError("array notation is not allowed")
            quoted = _next(tokens)
            if len(quoted) < 2 or quoted[0] != "'" or quoted[-1] != "'":
                raise FieldPathError(f"expected single quoted string but got {quoted}")
            name = _unescaped(quoted[1:-1])
            shown, schema = _step(shown, name, schema)
            if (closing := _next(tokens)) != "]":
                raise FieldPathError(f"expected ] but got {closing}")
        elif token == ".":
            shown, schema = _step(shown, _next(tokens), schema)
        else:
            raise FieldPathError(f"expected [ or . but got: {token}")
    return shown, schema


def _next(tokens: Iterator[str]) -> str:
    token = next(tokens, None)
    if token is None:
        raise FieldPathError("unexpected end of JSON path")
    return token


def _step(shown: str, name: str, schema: Schema) -> tuple[str, Schema]:
    properties: Mapping[str, Any] | None = schema.get("properties")
    values = schema.get("additionalProperties")
    if properties:
        if name not in properties:
            raise FieldPathError("does not refer to a valid field")
        return (f"{shown}.{name}" if shown else name), properties[name]
    if isinstance(values, Mapping):
        return f"{shown}[{name}]", values
    raise FieldPathError("does not refer to a valid field")


def _tokens(path: str) -> Iterator[str]:
    position = 0
    while position < len(path):
        end = position + 1
        if path[position] == "'":
            while end < len(path) and (path[end] != "'" or path[end - 1] == "\\"):
                end += 1
            end += 1
        elif path[position] not in ".[]":
            while end < len(path) and path[end] not in ".[]":
                end += 1
        yield path[position:end]
        position = end


def _unescaped(text: str) -> str:
    if text.endswith("\\") and not text.endswith("\\\\"):
        raise FieldPathError("invalid string literal: invalid escape sequence")
    found, position = "", 0
    while position < len(text):
        letter = text[position]
        if letter == "\\":
            position += 1
            if text[position] not in _ESCAPES:
                raise FieldPathError("invalid string literal: invalid escape sequence")
            letter = _ESCAPES[text[position]]
        found += letter
        position += 1
    return found


# JSONPath as Kubernetes spells it: no leading `$`, names with dashes, dots escaped by `\\`.
#
# The library python-jsonpath evaluates the paths. Printer columns of custom resources and `kubectl
# -o jsonpath=...` have them.

JsonPath: TypeAlias = "jsonpath.JSONPath | jsonpath.CompoundJSONPath"
"""A compiled path; `findall` returns what it finds in a document."""

_STEP = re.compile(
    r"""
    (?P<bracket>\[(?:[^\[\]"']|"[^"]*"|'[^']*'|\[[^\]]*\])*\])
    |(?P<deep>\.\.)
    |\.?(?P<name>\*|(?:[^.\[\]\\\s]|\\.)+)
    """,
    re.VERBOSE,
)


_QUOTED: Final = re.compile(r"\[\s*'([^']*)'\s*\]")
"""Upstream reads `['a.b']` as `.a.b`, `dictKeyRex` in parser.go; `['a\\.b']` is one name."""


_QUERIES_MAX: Final = 256
"""Each union in a path multiplies them."""


class JsonPathError(ValueError):
    """A path that cannot be parsed."""


def compiled_path(path: str) -> JsonPath:
    """Compile a path.

    Raises
    ------
    JsonPathError
        The path cannot be parsed.
    """
    import jsonpath

    queries = _queries(path.strip().removeprefix("$").removeprefix("@"), path)
    try:
        return jsonpath.compile(" | ".join(f"${each}" for each in queries))
    except jsonpath.JSONPathError as error:
        raise JsonPathError(f"{path!r}: {str(error).splitlines()[0]}") from error


def _queries(rest: str, path: str) -> list[str]:
    """Return the queries of a path, without `$`: one for each member of a union.

    Upstream finds all values of the first member before those of the second, evalUnion in
    jsonpath.go.
    """
    queries, position = [""], 0
    while position < len(rest):
        if quoted := _QUOTED.match(rest, position):
            rest = f"{rest[:position]}.{quoted[1]}{rest[quoted.end() :]}"
        step = _STEP.match(rest, position)
        if step is None or (rest[position] != "." and step["name"] and position):
            raise JsonPathError(f"{path!r}: unexpected {rest[position:]!r}")
        position = step.end()
        if step["bracket"]:
            found = _selections(step["bracket"], path)
        elif step["deep"]:
            following = _STEP.match(f".{rest[position:]}")
            if following is None or not following["name"]:
                raise JsonPathError(f"{path!r}: a name is missing after ..")
            position += following.end() - 1
            found = [f"..{_name(following['name'])}"]
        else:
            found = [_name(step["name"])]
        queries = [f"{query}{each}" for each in found for query in queries]
        if len(queries) > _QUERIES_MAX:
            raise JsonPathError(f"{path!r}: its unions have more than {_QUERIES_MAX} combinations")
    return queries


def _selections(bracket: str, path: str) -> list[str]:
    """Return the queries of a bracket; as upstream, commas within quotes separate members, too."""
    inside = bracket[1:-1]
    if "," not in inside or inside.lstrip().startswith("?"):
        return [bracket.replace("\\.", ".")]
    return [query for each in inside.split(",") for query in _queries(f"[{each.strip()}]", path)]


def _name(name: str) -> str:
    if name == "*":
        return "[*]"
    plain = re.sub(r"\\(.)", r"\1", name).replace("\\", "\\\\").replace("'", "\\'")
    return f"['{plain}']"


# The columns of custom resources in kubectl's tables.

_NAME: Final = Column("Name", "string", "name", 0, "", "Name of the object.")
_AGE: Final = {
    "name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp",
    "description": "Time at which the object was created.",
}  # fmt: skip

CellOf = Callable[[Document, int], Cell]


def columns_of(definitions: Sequence[Document]) -> tuple[tuple[Column, ...], list[CellOf]]:
    """Return the columns of a version, and the functions that compute their cells.

    Parameters
    ----------
    definitions : sequence of dict
        `additionalPrinterColumns`; without any there is the age.
    """
    columns = [_NAME]
    cells: list[CellOf] = [_name_printer_columns]
    for each in definitions or (_AGE,):
        path = str(each.get("jsonPath") or "")
        try:
            compiled = compiled_path(path)
        except JsonPathError:
            break  # upstream prints the columns before an invalid one
        text = each.get("description") or (
            f"Custom resource definition column (in JSONPath format): {path}"
        )
        type_ = str(each.get("type") or "")
        form = str(each.get("format") or "")
        priority = int(each.get("priority") or 0)
        columns.append(Column(str(each.get("name") or ""), type_, form, priority, path, text))
        cells.append(_cell_function(compiled, type_))
    return tuple(columns), cells


def _name_printer_columns(document: Document, _now_ns: int) -> Cell:
    return str((document.get("metadata") or {}).get("name") or "")


def _cell_function(path: JsonPath, type_: str) -> CellOf:
    def cell(document: Document, now_ns: int) -> Cell:
        found = next((match.obj for match in path.finditer(document)), _ABSENT)
        return None if found is _ABSENT else _cell(found, type_, now_ns)

    return cell


_ABSENT: Final = object()


def _cell(value: Any, type_: str, now_ns: int) -> Cell:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    match type_:
        case "string":
            return _text(value)
        case "integer" if is_number and math.isfinite(value):
            # The conversion of Go on amd64, where the number does not fit.
            return int(value) if -(2**63) <= value < 2**63 else -(2**63)
        case "number" if is_number:
            return float(value)
        case "boolean" if isinstance(value, bool):
            return bool(value)
        case "date" if isinstance(value, str):
            text = age(value, now_ns)
            return "<invalid>" if value not in ("", "null") and text == "<unknown>" else text
        case _:
            return None


def _text(value: Any) -> str:
    """Return a value as upstream prints a result of JSONPath."""
    if isinstance(value, str):
        return value
    if value is None:
        return "<no value>"
    if isinstance(value, dict | list):
        return msgspec.json.encode(value, order="deterministic").decode()
    if isinstance(value, bool):
        return "true" if value else "false"
    return go_number(value)


# Where a custom resource has its replicas.

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
