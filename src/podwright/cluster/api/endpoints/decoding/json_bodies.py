"""JSON bodies: from text to a document, with its duplicate fields and the errors of Go's decoder.

Upstream: staging/src/k8s.io/apimachinery/pkg/runtime/serializer/json/json.go
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from podwright.apimachinery.objects import Document, go_json_error

NESTING_MAX: Final = 200
"""The deepest nesting of objects and lists."""

_SPACED_KEY: Final = re.compile(rb'"[ \t\r\n]+:')
_DUPLICATE: Final = 'duplicate field "{}"'


class Decoded(msgspec.Struct, frozen=True):
    """A decoded body.

    Attributes
    ----------
    document : Any
        The value of the body.
    duplicates : list of str
        The errors about fields that occur twice; the last value applies.
    overwritten : sequence of object
        For each value before the last one of a field, an object that has only this value.
    order : mapping, optional
        The place in the text of each field, by path, and of each of these errors; only of JSON
        with duplicates.
    """

    document: Any
    duplicates: list[str]
    order: Mapping[str, int] | None = None
    overwritten: Sequence[Any] = ()


class JsonError(ValueError):
    """A text that is not JSON; the message is that of Go's decoder."""


_LARGE: Final = re.compile(rb"\d{19}")
_INT64: Final = range(-(2**63), 2**63)


def with_go_numbers(document: Document, body: bytes) -> Document:
    """Return a document without a type as Go decodes it: integers beyond 64 bits are floats.

    Parameters
    ----------
    document : dict
    body : bytes
        The text that the document, or a part of it, was decoded from.

    Raises
    ------
    JsonError
        An integer is larger than any float.

    Notes
    -----
    Upstream: vendor/sigs.k8s.io/json/internal/golang/encoding/json/decode.go, convertNumber
    """
    if _LARGE.search(body) is None:
        return document
    found: Document = _with_floats(document)
    return found


def _with_floats(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _with_floats(inside) for name, inside in value.items()}
    if isinstance(value, list):
        return [_with_floats(item) for item in value]
    if type(value) is not int or value in _INT64:
        return value
    try:
        return float(value)
    except OverflowError:
        text = f"json: cannot unmarshal number {value} into Go value of type float64"
        raise JsonError(text) from None


def read_json(body: bytes) -> Decoded:
    """Return a JSON text as a document with its duplicate fields.

    Raises
    ------
    JsonError
        The text is not JSON, or is nested too deeply.
    """
    if body.count(b"[") + body.count(b"{") > NESTING_MAX and nesting_depth(body) > NESTING_MAX:
        raise JsonError("exceeded max depth")
    try:
        document = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise JsonError(go_json_error(body, error)) from None
    if _has_each_once(body, document):
        return Decoded(document, [])
    return _with_duplicates(document, json.loads(body, object_pairs_hook=_Pairs))


def _has_each_once(body: bytes, document: Any) -> bool:
    """Whether no field occurs twice; False if that is not sure.

    Most clients send what encoding the document again gives. Otherwise the count of key tokens
    decides in almost all cases that there are none: it is the same number, unless a key was lost or
    a text has an escaped quotation mark.
    """
    written = msgspec.json.encode(document)
    if written == body or written == body[:-1]:
        return True
    return (
        b"\\u" not in body
        and not _SPACED_KEY.search(body)
        and body.count(b'":') == written.count(b'":')
    )


def _with_duplicates(document: Any, pairs: Any) -> Decoded:
    """Return a document with the errors about its duplicate fields."""
    found: list[str] = []
    order: dict[str, int] = {}
    for path, is_duplicate in _field_paths(pairs, ""):
        name = _DUPLICATE.format(path) if is_duplicate else path
        if is_duplicate:
            found.append(name)
        order.setdefault(name, len(order))
    if not found:
        return Decoded(document, [])
    return Decoded(document, found, order=order, overwritten=list(_overwritten(pairs)))


class _Pairs(list[tuple[str, Any]]):
    """The fields of an object in order, duplicates included."""


def _field_paths(value: Any, path: str) -> Iterator[tuple[str, bool]]:
    """Yield the path of each field of a value in order, and whether it occurred before."""
    if isinstance(value, _Pairs):
        seen: set[str] = set()
        for name, inner in value:
            here = f"{path}.{name}" if path else name
            yield here, name in seen
            seen.add(name)
            yield from _field_paths(inner, here)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _field_paths(inner, f"{path}[{index}]")


def _overwritten(value: Any) -> Iterator[Any]:
    """Yield an object for each value before the last one of a field, which has only this value."""
    if isinstance(value, _Pairs):
        last = {name: index for index, (name, _) in enumerate(value)}
        for index, (name, inner) in enumerate(value):
            yield from ({name: each} for each in _overwritten(inner))
            if last[name] != index:
                yield {name: _plain(inner)}
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from ([*[None] * index, each] for each in _overwritten(inner))


def _plain(value: Any) -> Any:
    if isinstance(value, _Pairs):
        return {name: _plain(inner) for name, inner in value}
    return [_plain(inner) for inner in value] if isinstance(value, list) else value


def nesting_depth(body: bytes) -> int:
    """Return the deepest nesting of a JSON text, without decoding it."""
    depth = deepest = 0
    is_text = is_escaped = False
    for byte in body:
        if is_text:
            if is_escaped:
                is_escaped = False
            elif byte == 0x5C:
                is_escaped = True
            elif byte == 0x22:
                is_text = False
        elif byte == 0x22:
            is_text = True
        elif byte in b"[{":
            depth += 1
            deepest = max(deepest, depth)
        elif byte in b"]}":
            depth -= 1
    return deepest
