r"""Formats documents as `kubectl -o jsonpath=...` and `-o custom-columns=...` do.

A JSONPath template is text with expressions in braces: `{.items[*].metadata.name}`, literals
`{"\n"}`, and loops `{range .items[*]}...{end}`. `schema.structural` compiles the paths.

Upstream: staging/src/k8s.io/client-go/util/jsonpath/parser.go;
staging/src/k8s.io/kubectl/pkg/cmd/get/customcolumn.go
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from podwright.apimachinery.objects import FieldError, InputError
from podwright.apimachinery.schema.structural import JsonPath, JsonPathError, compiled_path

JSONPATH = "jsonpath="
CUSTOM_COLUMNS = "custom-columns="

MISSING = "<none>"

_EXPRESSION = re.compile(r"""\{((?:[^{}"']|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')*)\}""", re.DOTALL)
_LITERAL = re.compile(r"""("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')""", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}


def render_jsonpath(template: str, document: object) -> str:
    """Return a document rendered by a JSONPath template.

    Parameters
    ----------
    template : str
        As behind ``-o jsonpath=``; a path without braces is accepted.
    document : object
        Mappings, sequences and scalars.

    Raises
    ------
    InputError
        The template cannot be parsed.
    """
    if not {"{", "}"} & set(template):
        template = f"{{{template}}}"
    return "".join(_render(_parse(template), document, document))


def custom_columns(spec: str, document: object) -> tuple[list[str], list[list[str]]]:
    """Return the heads and rows of a table by a specification `HEAD:.path,HEAD:.path`.

    A list of objects, or the only list of objects in a document, has one row for each of them.

    Raises
    ------
    InputError
        The specification cannot be parsed.
    """
    heads: list[str] = []
    paths: list[JsonPath] = []
    for column in spec.split(","):
        head, colon, path = column.partition(":")
        if not head or not colon or not path:
            raise _error(
                CUSTOM_COLUMNS, f'"{column}" is not a column; write HEAD:.path, such as POD:.pod'
            )
        heads.append(head)
        paths.append(_compiled(path.strip("{}"), CUSTOM_COLUMNS))
    rows = [[_cell(path.findall(row)) for path in paths] for row in _rows_of(document)]
    return heads, rows


def _cell(found: Sequence[object]) -> str:
    return ",".join(map(_text, found)) or MISSING


def _rows_of(document: object) -> Sequence[Any]:
    if isinstance(document, Mapping):
        lists = [
            value
            for value in document.values()
            if isinstance(value, Sequence) and value and isinstance(value[0], Mapping)
        ]
        return lists[0] if len(lists) == 1 else [document]
    return document if isinstance(document, Sequence) else [document]


# ---------------------------------------------------------------- templates


class _Loop:
    """A `range`: its path and the template inside."""

    def __init__(self, path: JsonPath, *, is_absolute: bool) -> None:
        self.path = path
        self.is_absolute = is_absolute
        self.parts: list[Any] = []


class _Path:
    """An expression that is replaced by the values that it finds."""

    def __init__(self, path: JsonPath, *, is_absolute: bool) -> None:
        self.path = path
        self.is_absolute = is_absolute


def _parse(template: str) -> list[Any]:
    top: list[Any] = []
    open_loops: list[list[Any]] = [top]
    end = 0
    for match in _EXPRESSION.finditer(template):
        text, end = template[end : match.start()], match.end()
        _reject_braces(text)
        if text:
            open_loops[-1].append(text)
        expression = match[1].strip()
        if _LITERAL.fullmatch(expression):
            open_loops[-1].append(_unquoted(expression))
        elif expression == "end":
            if len(open_loops) == 1:
                raise _error(JSONPATH, "{end} without {range ...}")
            open_loops.pop()
        elif expression.startswith("range "):
            path = expression.removeprefix("range ").strip()
            loop = _Loop(_compiled(path), is_absolute=path.startswith("$"))
            open_loops[-1].append(loop)
            open_loops.append(loop.parts)
        else:
            path = _Path(_compiled(expression), is_absolute=expression.startswith("$"))
            open_loops[-1].append(path)
    _reject_braces(template[end:])
    open_loops[-1].append(template[end:])
    if len(open_loops) > 1:
        raise _error(JSONPATH, "{range ...} without {end}")
    return top


def _reject_braces(text: str) -> None:
    if "{" in text or "}" in text:
        raise _error(JSONPATH, f"unclosed or nested braces near {text.strip()!r}")


def _render(parts: Sequence[Any], current: object, root: object) -> Iterator[str]:
    for part in parts:
        if isinstance(part, str):
            yield part
            continue
        found = part.path.findall(root if part.is_absolute else current)
        if isinstance(part, _Loop):
            for item in found:
                yield from _render(part.parts, item, root)
        else:
            yield " ".join(map(_text, found))


def _compiled(path: str, option: str = JSONPATH) -> JsonPath:
    """Compile a path in kubectl's spelling."""
    try:
        return compiled_path(path)
    except JsonPathError as error:
        raise _error(option, str(error)) from error


def _unquoted(literal: str) -> str:
    return re.sub(r"\\(.)", lambda match: _ESCAPES.get(match[1], match[1]), literal[1:-1])


def _text(value: object) -> str:
    """Return a value as kubectl prints it: strings as they are, everything else as JSON."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _error(option: str, message: str) -> InputError:
    return InputError([FieldError(source=f"-o {option.rstrip('=')}", path="", message=message)])
