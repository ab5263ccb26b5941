"""JSON texts to documents, with the keys that a mapping has twice.

The pods of a template have the same `spec`, byte by byte. A list of manifests is therefore read
item by item: a spec is cut out of its item and decoded once for each distinct text, and the items
share it. Later steps (defaults, validation, decoding to structs) recognize a shared spec by its
identity.

Decoders keep the last of two equal keys. Whether a key was lost shows in the number of quotation
marks: the decoded value, encoded again, has as many as the text, unless the text has escaped ones
by their number. Only a text that differs is examined in detail.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from math import isinf
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from podwright.apimachinery.objects import Document, YamlError, read_yaml

_DETAILED_MAX_BYTES: Final = 1_000_000
"""The length up to which a text is read once more, to find the lines of duplicate keys."""
_SHARED_MIN_BYTES: Final = 64
_FIRST_ITEM_MAX_BYTES: Final = 1_000_000
_FIRST_ITEM: Final = re.compile(rb'"items"\s*:\s*\[\s*')
_SPEC_KEY: Final = re.compile(rb'"spec"\s*:\s*')
_SURROGATE: Final = re.compile(rb"\\u[dD][89a-fA-F]")
_BETWEEN_ITEMS: Final = re.compile(rb"\s*,\s*")

Duplicate: TypeAlias = tuple[int, str]
"""The line of a key, or 0 if it is not known, and the key."""


class JsonList(NamedTuple):
    """A list of manifests.

    Attributes
    ----------
    document : dict
        The list; items with equal specs share them.
    spans : list of (int, int)
        The start and the end of each item in the text.
    duplicates : list of (int, str)
    """

    document: dict[str, Any]
    spans: list[tuple[int, int]]
    duplicates: list[Duplicate]


class _List(
    msgspec.Struct, rename="camel", frozen=True, kw_only=True, forbid_unknown_fields=True, gc=False
):
    kind: str
    items: list[msgspec.Raw]
    api_version: str = ""
    metadata: msgspec.Raw = msgspec.Raw(b"null")


class _Item(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    spec: msgspec.Raw = msgspec.Raw()


_LIST_DECODER: Final = msgspec.json.Decoder(_List)
_ESCAPED_QUOTE: Final = b"\\u0022"
_ENCODE: Final = msgspec.json.Encoder().encode
_DECODE: Final = msgspec.json.Decoder().decode
_ITEM_DECODER: Final = msgspec.json.Decoder(_Item)


def read_json_list(data: bytes) -> JsonList | None:
    """Read a list of manifests, such as `kubectl create --dry-run` prints it.

    Parameters
    ----------
    data : bytes
        The text.

    Returns
    -------
    JsonList or None
        None for every other text: what is not valid JSON, and the objects of a server, whose specs
        differ, and which have no key twice.
    """
    try:
        if _is_from_server(data):
            return None
        read = _LIST_DECODER.decode(data)
        if not read.kind.endswith("List") or not read.items:
            return None
        texts = [bytes(raw) for raw in read.items]
        spans = _spans(data, texts)
        if spans is None:
            return None
        start, end = spans[0][0], spans[-1][1]
        # The lines of the rest stay those of the file.
        around = data[:start] + b"\n" * data.count(b"\n", start, end) + data[end:]
        document = msgspec.json.decode(around)
        duplicates = duplicate_keys(around, document)
        document["items"], of_items = _items(texts)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    for index, key, line_in_item in of_items:
        line = line_at(data, spans[index][0])
        duplicates.append((line + line_in_item - 1 if line else 0, key))
    return JsonList(document, spans, duplicates)


def line_at(data: bytes, position: int) -> int:
    """Return the line of a position in a text, from 1; 0 if the text is one line."""
    if b"\n" not in data.strip():
        return 0
    return data.count(b"\n", 0, position) + 1


def _is_from_server(data: bytes) -> bool:
    """Whether the first item of a list has been in an API server."""
    found = _FIRST_ITEM.search(data)
    if found is None:
        return False
    text = data[found.end() : found.end() + _FIRST_ITEM_MAX_BYTES].decode(errors="replace")
    try:
        item, _ = json.JSONDecoder().raw_decode(text)
    except ValueError:
        return False
    return isinstance(item, dict) and is_from_server(item)


def is_record_line(value: Any) -> bool:
    """Whether a document is a line of a record of changes, not an object."""
    if not isinstance(value, dict) or "apiVersion" in value or "kind" in value:
        return False
    return "event" in value or isinstance(value.get("time"), str)


def is_from_server(document: Document) -> bool:
    """Whether an API server has stored an object, as `ObjectMeta.is_from_server`."""
    metadata = document.get("metadata")
    if not isinstance(metadata, dict):
        return False
    version = metadata.get("resourceVersion") or metadata.get("creationTimestamp")
    return bool(metadata.get("uid") and version)


def _spans(data: bytes, texts: list[bytes]) -> list[tuple[int, int]] | None:
    """Return where the items of a list are; None if they are not next to each other."""
    position = data.find(texts[0])
    found = []
    for text in texts:
        if not data.startswith(text, position):
            return None
        end = position + len(text)
        found.append((position, end))
        between = _BETWEEN_ITEMS.match(data, end)
        position = len(data) if between is None else between.end()
    return found


def _items(texts: list[bytes]) -> tuple[list[Any], list[tuple[int, str, int]]]:
    """Return the items, and their duplicate keys: the item's index, the key, the line in it."""
    specs = _Specs()
    items: list[Any] = []
    duplicates: list[tuple[int, str, int]] = []
    for index, text in enumerate(texts):
        rest, spec = specs.cut(text)
        item = _DECODE(rest)
        if spec and item.get("spec") != 0:  # the text that was cut is another field's
            rest, spec = text, b""
            item = _DECODE(text)
        found = [] if _is_lossless(rest, item) else duplicate_keys(rest, item)
        if spec:
            shared = specs.decoded.get(spec)
            if shared is None:
                shared = specs.decoded[spec] = _DECODE(spec)
                found += duplicate_keys(spec, shared)
            item["spec"] = shared
        if found:
            # The lines of the whole item are those of its file.
            detailed = _duplicates_in_yaml(text) or [(1, key) for _, key in found]
            duplicates += [(index, key, line) for line, key in detailed]
        items.append(item)
    return items, duplicates


class _Specs:
    """The specs of a list.

    Attributes
    ----------
    decoded : dict
        By text.
    """

    def __init__(self) -> None:
        self.decoded: dict[bytes, Any] = {}
        self._tail = 0
        """The length of the text after the last spec."""

    def cut(self, text: bytes) -> tuple[bytes, bytes]:
        """Return an object with 0 in the place of its spec, and the spec, if it is long enough."""
        key = _SPEC_KEY.search(text)
        if key is None:
            return text, b""
        start = key.end()
        # Items of one layout have the same text after the spec, so that it need not be parsed.
        spec = text[start : len(text) - self._tail]
        if spec not in self.decoded:
            spec = bytes(_ITEM_DECODER.decode(text).spec)
            if len(spec) < _SHARED_MIN_BYTES or not text.startswith(spec, start):
                return text, b""
            self._tail = len(text) - start - len(spec)
        return text[:start] + b"0" + text[start + len(spec) :], spec


def json_values(data: bytes) -> list[Any] | None:
    """Return the JSON values in a text; None if the text is not entirely JSON."""
    try:
        return [msgspec.json.decode(data)]
    except (msgspec.DecodeError, UnicodeDecodeError):
        pass
    # Several values in a row need a decoder that returns where each of them ends.
    decoder = json.JSONDecoder(parse_float=_number, parse_constant=_refused)
    try:
        values = [value for value, _ in _values_in_a_row(data.decode(), decoder)]
    except ValueError:  # also of an integer of thousands of digits
        return None
    return list(map(_encodable, values)) if _SURROGATE.search(data) else values


def _number(text: str) -> float | str:
    """Return a number; one that is too large is text, as in YAML."""
    value = float(text)
    return text if isinf(value) else value


def _refused(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def _encodable(value: Any) -> Any:
    """Return a value with U+FFFD for each half of a surrogate pair, as Go reads it."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return list(map(_encodable, value))
    if isinstance(value, dict):
        return {_encodable(key): _encodable(inner) for key, inner in value.items()}
    return value


def json_error(data: bytes) -> tuple[int, str] | None:
    """Return the line of the first error of a JSON text, and a message; None if it has none."""
    try:
        list(_values_in_a_row(data.decode(), json.JSONDecoder()))
    except json.JSONDecodeError as error:
        message = error.msg.removesuffix(" at").removesuffix(" starting")
        return error.lineno, f"not JSON: {message[0].lower()}{message[1:]} (column {error.colno})"
    except (ValueError, RecursionError):
        pass
    return None


def _values_in_a_row(text: str, decoder: json.JSONDecoder) -> Iterator[tuple[Any, int]]:
    position, end = 0, len(text)
    while position < end:
        if text[position].isspace():
            position += 1
        else:
            value, position = decoder.raw_decode(text, position)
            yield value, position


def duplicate_keys(text: bytes, *values: Any) -> list[Duplicate]:
    """Return the keys that a mapping of a JSON text has twice.

    Parameters
    ----------
    text : bytes
        The text.
    *values
        The values that were decoded from it.
    """
    if len(values) == 1 and _is_lossless(text, values[0]):
        return []
    found: list[str] = []

    def note(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(pairs)
        if len(value) < len(pairs):
            counts = Counter(name for name, _ in pairs)
            found.extend(sorted(name for name, count in counts.items() if count > 1))
        return value

    list(_values_in_a_row(text.decode(), json.JSONDecoder(object_pairs_hook=note)))
    if not found:
        return []
    detailed = _duplicates_in_yaml(text) if b"\n" in text.strip() else []
    return detailed or [(0, key) for key in found]


def _duplicates_in_yaml(text: bytes) -> list[Duplicate]:
    """Return the duplicate keys of a JSON text with their lines: JSON is YAML."""
    found: list[Duplicate] = []
    if len(text) <= _DETAILED_MAX_BYTES:
        with suppress(YamlError):
            for document in read_yaml(text.decode(), allow_duplicates=True):
                found += document.duplicates
    return found


def _is_lossless(text: bytes, value: Any) -> bool:
    """Whether a value has all keys of its text; False if that takes a detailed examination.

    A key that is lost takes its two quotation marks along. No other difference between the text
    and the encoded value changes their number, but an escaped quotation mark.
    """
    if text.count(b'"') != _ENCODE(value).count(b'"'):
        return False
    return b"\\" not in text or _ESCAPED_QUOTE not in text
