"""Which places of a body differ between the objects of a template, and which values are plain.

The text of a body is split at values of some fields. What is left is the template; the values are
its holes. The value of a hole is plain if it is written in a way that the server keeps, and if no
rule distinguishes it from other plain values: then the body with any plain value is decoded,
defaulted, validated and encoded alike.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

import msgspec

from podwright.apimachinery.objects import Document
from podwright.cluster.store import GroupKind

Path: TypeAlias = tuple[str, ...]
Texts: TypeAlias = tuple[bytes, ...]

_LABEL: Final = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN: Final = rf"{_LABEL}(?:\.{_LABEL})*"
_UID: Final = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_VERSION: Final = r"[1-9][0-9]{0,17}"
# Runs of characters, since an alternative for each of them takes several times as long.
_SENTENCE: Final = r"[!#-\[\]-~][ !#-\[\]-~]*(?:\\\"[ !#-\[\]-~]*)*"
_DAY: Final = (
    r"2\d{3}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\d|30)"
    r"|02-(?:0[1-9]|1\d|2[0-8]))"
)
_SECOND: Final = rf"{_DAY}T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d"


class Hole(msgspec.Struct, frozen=True):
    """A place whose values may differ.

    Attributes
    ----------
    plain : str
        A regular expression without groups: the plain values, if they are not too long.
    max_bytes : int, optional
        The length of the longest plain value; None if the expression limits it.
    example : str
        A format that makes a plain value from a number below 100, which occurs nowhere else.
    """

    plain: str
    max_bytes: int | None
    example: str


_NAME: Final = Hole(_SUBDOMAIN, 253, "podwright-example-{:02d}")
# Other names of pods get a warning.
POD_NAME: Final = Hole(_LABEL, 63, "podwright-example-{:02d}")
_UID_HOLE: Final = Hole(_UID, None, "0e0a3b1e-4b1d-4c7e-9d2f-4c6b8a10ee{:02d}")
_VERSION_HOLE: Final = Hole(_VERSION, None, "9081726354536271{:02d}")
_INSTANCE_HOLE: Final = Hole("[-.a-z0-9]{1,128}", None, "podwright-example-{:02d}")
_SENTENCE_HOLE: Final = Hole(_SENTENCE, 1_023, "podwright example {:02d}.")
_SECOND_HOLE: Final = Hole(rf"{_SECOND}Z", None, "2999-12-31T23:{:02d}:00Z")
_MICRO_HOLE: Final = Hole(rf"{_SECOND}\.\d{{6}}Z", None, "2999-12-31T23:{:02d}:00.123456Z")

_REFERENCE: Final = {"name": _NAME, "uid": _UID_HOLE, "resourceVersion": _VERSION_HOLE}

HOLES: Final[dict[GroupKind, dict[Path, Hole]]] = {
    ("", "Pod"): {("metadata", "name"): POD_NAME},
    ("", "Event"): {
        ("metadata", "name"): _NAME,
        **{("regarding", field): hole for field, hole in _REFERENCE.items()},
        **{("involvedObject", field): hole for field, hole in _REFERENCE.items()},
        ("source", "host"): _NAME,
        ("reportingInstance",): _INSTANCE_HOLE,
        ("note",): _SENTENCE_HOLE,
        ("message",): _SENTENCE_HOLE,
        ("eventTime",): _MICRO_HOLE,
        ("firstTimestamp",): _SECOND_HOLE,
        ("lastTimestamp",): _SECOND_HOLE,
    },
}
"""The holes of the stored kinds, by their path in a body of any version."""

_FIRST_NAME: Final = re.compile(rb'"name": ?"([^"\\]*)"')
_GENERATED: Final = b'"generateName"'
_EVENT_VALUES: Final = re.compile(
    rb'"(?:name|uid|resourceVersion|host|reportingInstance|note|message|eventTime|firstTimestamp'
    rb'|lastTimestamp)":"([^"\\]*(?:\\"[^"\\]*)*)"'
)


def _split_at_name(body: bytes) -> tuple[Texts, Texts]:
    """Split the body of a pod at its first name, or nowhere if the server makes the name."""
    found = None if _GENERATED in body else _FIRST_NAME.search(body)
    if found is None:
        return (body,), ()
    start, end = found.span(1)
    return (body[:start], body[end:]), (found[1],)


def _split_event(body: bytes) -> tuple[Texts, Texts]:
    """Split the body of an Event at all fields that are holes."""
    texts: list[bytes] = []
    values: list[bytes] = []
    last = 0
    for found in _EVENT_VALUES.finditer(body):
        start, end = found.span(1)
        texts.append(body[last:start])
        values.append(found[1])
        last = end
    texts.append(body[last:])
    return tuple(texts), tuple(values)


SPLITS: Final[dict[str, Callable[[bytes], tuple[Texts, Texts]]]] = {
    "pods": _split_at_name,
    "events": _split_event,
}
"""How bodies are split into texts and the values between them, by the resource in the path."""


def text_of(value: bytes) -> str:
    """Return a plain value as the text that its JSON means; it has no escape but that of quotes."""
    text = value.decode()
    return text.replace('\\"', '"') if "\\" in text else text


def joined(texts: Texts, values: Texts) -> bytes:
    """Return the body of texts and values."""
    parts = [texts[0]]
    for value, text in zip(values, texts[1:], strict=True):
        parts += (value, text)
    return b"".join(parts)


class BodyPattern:
    """Matches the bodies of a template.

    Parameters
    ----------
    texts : tuple of bytes
    holes : sequence of Hole
        Between the texts.
    """

    __slots__ = ("_between", "_first", "_last", "_least_max", "_limited", "_plain")

    def __init__(self, texts: Texts, holes: Sequence[Hole]) -> None:
        # A pattern of all texts would take Python some milliseconds to compile.
        self._first, *self._between = texts
        self._last = self._between.pop() if holes else None
        # No plain value has a line break.
        self._plain = re.compile(b"\n".join(hole.plain.encode() for hole in holes))
        self._limited = [
            (index, hole.max_bytes)
            for index, hole in enumerate(holes)
            if hole.max_bytes is not None
        ]
        self._least_max = min((longest for _, longest in self._limited), default=0)

    def values_of(self, body: bytes) -> Texts | None:
        """Return the values of a body; None if it is not of the template, or one is not plain."""
        last = self._last
        if last is None:
            return () if body == self._first else None
        end = len(body) - len(last)
        at = len(self._first)
        if end < at or not (body.startswith(self._first) and body.endswith(last)):
            return None
        values: list[bytes] = []
        for text in self._between:
            # A text starts with the quote that ends a value, and no plain value has one.
            found = body.find(text, at, end)
            if found < 0:
                return None
            values.append(body[at:found])
            at = found + len(text)
        values.append(body[at:end])
        all_values = tuple(values)
        return all_values if self.are_plain(all_values) else None

    def encoded(self, texts: Sequence[str]) -> Texts | None:
        """Return texts as they are written in JSON between quotes; None if one is not plain."""
        text = "\n".join(texts)
        if '"' in text or "\\" in text:
            text = text.replace("\\", "\\\\").replace('"', '\\"')
        joined_values = text.encode()
        values = tuple(joined_values.split(b"\n"))
        return values if self._are_plain(joined_values, values) else None

    def are_plain(self, values: Texts) -> bool:
        """Whether values are plain."""
        return self._are_plain(b"\n".join(values), values)

    def _are_plain(self, text: bytes, values: Texts) -> bool:
        has_form = self._plain.fullmatch(text) is not None
        return has_form and (len(text) <= self._least_max or self._are_short(values))

    def _are_short(self, values: Texts) -> bool:
        return all(len(values[index]) <= longest for index, longest in self._limited)


def places(document: object, values: dict[str, int], path: Path = ()) -> list[tuple[Path, int]]:
    """Return the paths of the given texts in a document, and their numbers.

    A text in a list has the path of the list with `[]`.
    """
    if isinstance(document, str):
        return [(path, values[document])] if document in values else []
    found: list[tuple[Path, int]] = []
    if isinstance(document, dict):
        for name, value in document.items():
            found += places(value, values, (*path, str(name)))
    elif isinstance(document, list):
        for value in document:
            found += places(value, values, (*path, "[]"))
    return found


def paths_of(kind: GroupKind, texts: Texts, values: Texts) -> tuple[Path, ...] | None:
    """Return the paths of the holes that the values of a body are; None if one is not a hole.

    A value may not occur twice, and its replacement by another must change its place only.
    """
    known = HOLES[kind]
    count = len(values)
    numbers = {f"\ufdd0{number}": number for number in range(count)}
    try:
        document = msgspec.json.decode(joined(texts, values))
        marked = msgspec.json.decode(joined(texts, tuple(mark.encode() for mark in numbers)))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    found = {number: path for path, number in places(marked, numbers)}
    if len(found) != count or len(set(found.values())) != count:
        return None
    if not set(found.values()) <= known.keys():
        return None
    for number, path in found.items():
        _set(marked, path, text_of(values[number]))
    if marked != document:
        return None
    return tuple(found[number] for number in range(count))


def _set(document: Document, path: Path, value: str) -> None:
    for name in path[:-1]:
        document = document[name]
    document[path[-1]] = value
