"""JSON texts to documents, with the keys that a mapping has twice.

The pods of a template have the same `spec`, byte by byte. A list of manifests is therefore read
item by item: a spec is cut out of its item and decoded once for each distinct text, and the items
share it. Later steps (defaults, validation, decoding to structs) recognize a shared spec by its
identity.

Decoders keep the last of two equal keys. Whether a key was lost shows in the length: the decoded
value, encoded again, is as long as the text without white space. A difference can have other
reasons, such as an escape that is not necessary, so that the text is then examined in detail.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from podwright.objects import YamlError, read_yaml

_DETAILED_MAX_BYTES: Final = 1_000_000
"""The length up to which a text is read once more, to find the lines of duplicate keys."""
_SHARED_MIN_BYTES: Final = 64
_FIRST_ITEM_MAX_BYTES: Final = 1_000_000
_FIRST_ITEM: Final = re.compile(rb'"items"\s*:\s*\[\s*')
_SPEC_KEY: Final = re.compile(rb'"spec"\s*:\s*')
_BETWEEN_ITEMS: Final = re.compile(rb"\s*,\s*")

Duplicate: TypeAlias = tuple[int, str]
"""The line of a key, or 0 if it is not known, and the key."""


class JsonList(NamedTuple):
    """A list of manifests.

    Attributes
    ----------
    document : dict
        The list; items with equal specs share them.
    item_lines : tuple of int
        The line of each item, from 1; empty if the text is one line.
    duplicates : list of (int, str)
    """

    document: dict[str, Any]
    item_lines: tuple[int, ...]
    duplicates: list[Duplicate]


class _List(msgspec.Struct, rename="camel", frozen=True, forbid_unknown_fields=True, gc=False):
    kind: str
    items: list[msgspec.Raw]
    api_version: str = ""
    metadata: msgspec.Raw = msgspec.Raw(b"null")


class _Item(msgspec.Struct, frozen=True, gc=False):
    spec: msgspec.Raw = msgspec.Raw()


_LIST_DECODER: Final = msgspec.json.Decoder(_List)
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
        starts = _starts(data, texts)
        if starts is None:
            return None
        end = starts[-1] + len(texts[-1])
        # The lines of the rest stay those of the file.
        line_feeds = b"\n" * data.count(b"\n", starts[0], end)
        around = data[: starts[0]] + line_feeds + data[end:]
        document = msgspec.json.decode(around)
        duplicates = duplicate_keys(around, document)
        lines = _lines_at(data, starts)
        items, of_items = _items(texts, lines)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    document["items"] = items
    duplicates += of_items
    if lines[-1] == 1:
        return JsonList(document, (), [(0, key) for _, key in duplicates])
    return JsonList(document, tuple(lines), duplicates)


def _is_from_server(data: bytes) -> bool:
    """Whether the first item of a list has been in an API server."""
    found = _FIRST_ITEM.search(data)
    if found is None:
        return False
    text = data[found.end() : found.end() + _FIRST_ITEM_MAX_BYTES].decode(errors="replace")
    try:
        item, _ = json.JSONDecoder().raw_decode(text)
    except json.JSONDecodeError:
        return False
    metadata = item.get("metadata") if isinstance(item, dict) else None
    if not isinstance(metadata, dict):
        return False
    return bool(metadata.get("uid") and metadata.get("resourceVersion"))


def _starts(data: bytes, texts: list[bytes]) -> list[int] | None:
    """Return where the items of a list begin; None if they are not next to each other."""
    position = data.find(texts[0])
    found = []
    for text in texts:
        if not data.startswith(text, position):
            return None
        found.append(position)
        between = _BETWEEN_ITEMS.match(data, position + len(text))
        position = len(data) if between is None else between.end()
    return found


def _lines_at(data: bytes, starts: list[int]) -> list[int]:
    line, position, found = 1, 0, []
    for start in starts:
        line += data.count(b"\n", position, start)
        position = start
        found.append(line)
    return found


def _items(texts: list[bytes], lines: list[int]) -> tuple[list[Any], list[Duplicate]]:
    specs = _Specs()
    items: list[Any] = []
    duplicates: list[Duplicate] = []
    for text, line in zip(texts, lines, strict=True):
        rest, spec = specs.cut(text)
        item = msgspec.json.decode(rest)
        if spec and item.get("spec") != 0:  # the text that was cut is another field's
            rest, spec = text, b""
            item = msgspec.json.decode(text)
        found = duplicate_keys(rest, item)
        if spec:
            shared = specs.decoded.get(spec)
            if shared is None:
                shared = specs.decoded[spec] = msgspec.json.decode(spec)
                found += duplicate_keys(spec, shared)
            item["spec"] = shared
        if found:
            # The lines of the whole item are those of its file.
            detailed = _duplicates_in_yaml(text) or found
            duplicates += [(line + at - 1 if at else line, key) for at, key in detailed]
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
        return b"%b0%b" % (text[:start], text[start + len(spec) :]), spec


def json_values(data: bytes) -> list[Any] | None:
    """Return the JSON values in a text; None if the text is not entirely JSON."""
    try:
        return [msgspec.json.decode(data)]
    except (msgspec.DecodeError, UnicodeDecodeError):
        pass
    # Several values in a row need a decoder that returns where each of them ends.
    try:
        return [value for value, _ in _values_in_a_row(data.decode(), json.JSONDecoder())]
    except (json.JSONDecodeError, UnicodeDecodeError):
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
    if _compact_length(text) == sum(len(msgspec.json.encode(value)) for value in values):
        return []  # nothing was lost when the text was decoded
    found: list[str] = []

    def note(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        names = [name for name, _ in pairs]
        if len(set(names)) < len(names):
            found.extend(sorted({name for name in names if names.count(name) > 1}))
        return dict(pairs)

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


def _compact_length(text: bytes) -> int:
    """Return the size of a JSON text without space; 0 if it is more than one value."""
    try:
        return len(msgspec.json.format(text, indent=-1))
    except msgspec.DecodeError:
        return 0
