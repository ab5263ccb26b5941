"""Comparison of a response with the recorded one, after the normalizations of the recordings.

Marks such as `<uid>` and `<time>` stand for any value. Text after the first newline of a message
is not compared, nor the wording of Go's JSON library. Any 400 or 422 equals a recorded 500 with
the same message, except for an eviction with several budgets.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

MARKS = ("uid", "rv", "time", "age", "continue", "ip", "gen5", "nodePort", "addr", "commit", "go",
         "token", "hash", "etag", "object", "text")  # fmt: skip
_HAS_MARK = re.compile(f"<({'|'.join(MARKS)})>")
_ESCAPED_MARK = re.compile(f"<({'|'.join(MARKS)})>")
_LIBRARY = ("json: ", "json parse error: ", "invalid character ", "unexpected end of JSON",
            "strict decoding error", "yaml: ", "parsing time ", "strconv.", "illegal base64",
            "error decoding patch: ")  # fmt: skip
"""Beginnings of texts by Go's libraries: the rest of a message is not compared."""
_COLUMN_TEXT = re.compile(r"columnDefinitions\[\d+\]\.description$")
_DOCUMENT_HASH = re.compile(r"(?<=\?hash=)[0-9A-F]{128}")
"""The hash in the address of an OpenAPI document, whose descriptions are podwright's own."""
_SEVERAL_BUDGETS = "This pod has more than one PodDisruptionBudget"
_BODY_COMPARED_MAX = 200


class Difference(msgspec.Struct, frozen=True):
    """A part that differs.

    Attributes
    ----------
    path : str
    expected, found : Any
    """

    path: str
    expected: Any
    found: Any

    def __str__(self) -> str:
        return f"{self.path}: expected {_short(self.expected)}, got {_short(self.found)}"


def _short(value: Any) -> str:
    return str(value)[:220]


def differences(
    expected: Any, found: Any, path: str = "", *, only: bool = False
) -> Iterator[Difference]:
    """Yield the parts of a value that differ from the recorded one.

    Parameters
    ----------
    only : bool
        Whether fields that the recording does not have are ignored.
    """
    if isinstance(expected, dict) and list(expected) == ["$has"]:
        yield from differences(expected["$has"], found, path, only=True)
    elif _COLUMN_TEXT.search(path):
        # Descriptions of columns are in podwright's own words; `<text>` in newer recordings.
        if not isinstance(found, str) or not found:
            yield Difference(path, expected, found)
    elif isinstance(expected, str) and isinstance(found, str | int):
        if not _same_text(expected, str(found), path):
            yield Difference(path, expected, found)
    elif type(expected) is not type(found):
        yield Difference(path, expected, found)
    elif isinstance(expected, dict):
        yield from _of_objects(expected, found, path, only=only)
    elif isinstance(expected, list):
        if len(expected) != len(found):
            yield Difference(path, f"{len(expected)} items", f"{len(found)} items")
            return
        for index, (one, other) in enumerate(zip(expected, found, strict=True)):
            yield from differences(one, other, f"{path}[{index}]")
    elif expected != found:
        yield Difference(path, expected, found)


def _of_objects(
    expected: dict[str, Any], found: dict[str, Any], path: str, *, only: bool
) -> Iterator[Difference]:
    names = expected if only else sorted(expected.keys() | found.keys())
    for name in names:
        if name == "storageVersionHash" or (
            name == "managedFields" and "managedFields" not in expected
        ):
            continue
        here = f"{path}.{name}"
        if name not in expected or name not in found:
            absent = "<absent>"
            yield Difference(here, expected.get(name, absent), found.get(name, absent))
        elif name == "managedFields" and isinstance(expected[name], list):
            # In a schema it is the name of a property.
            if _entries(expected[name]) != _entries(found[name]):
                yield Difference(here, expected[name], found[name])
        else:
            yield from differences(expected[name], found[name], here, only=only)


def _entries(entries: Iterable[dict[str, Any]]) -> list[str]:
    return sorted(json.dumps({**each, "time": ""}, sort_keys=True) for each in entries)


def _same_text(expected: str, found: str, path: str) -> bool:
    expected, found = expected.split("\n", maxsplit=1)[0], found.split("\n", maxsplit=1)[0]
    expected, found = _DOCUMENT_HASH.sub("hash", expected), _DOCUMENT_HASH.sub("hash", found)
    if path.endswith("message"):
        expected, found = _without_fields(expected), _without_fields(found)
    if expected == found or _matches_marks(expected, found):
        return True
    if not path.endswith("message"):
        return False
    return any(_same_before(expected, found, library) for library in _LIBRARY)


def _same_before(expected: str, found: str, library: str) -> bool:
    """Whether two messages are equal up to the words of a library."""
    end = expected.find(library)
    if end < 0:
        return False
    start = expected[:end]
    if library == "strict decoding error":
        return False
    if start in found[: len(start)]:
        return True
    pattern = _pattern(start)
    return re.match(pattern, found) is not None


def _matches_marks(expected: str, found: str) -> bool:
    if not _HAS_MARK.search(expected):
        return False
    return re.fullmatch(_pattern(expected), found) is not None


def _pattern(text: str) -> str:
    return _ESCAPED_MARK.sub(".+?", re.escape(text))


_MANAGED = re.compile(r',?(\\*)"managedFields\1":\[')


def _without_fields(text: str) -> str:
    """Return a message without the `managedFields` of an object that is printed in it."""
    while (found := _MANAGED.search(text)) is not None:
        depth, position = 1, found.end()
        while depth and position < len(text):
            depth += {"[": 1, "]": -1}.get(text[position], 0)
            position += 1
        text = text[: found.start()] + text[position:]
    return text


def compare(
    expected: dict[str, Any], status: int, headers: dict[str, str], body: Any
) -> list[Difference]:
    """Return what differs between a response and the recorded one.

    Parameters
    ----------
    expected : dict
        The recorded response.
    status, headers, body
        The response; a watch is a list of events.
    """
    recorded = expected["body"]
    found: list[Difference] = []
    if status != expected["status"] and not _is_improved(expected, status):
        found.append(Difference("status", expected["status"], status))
    for name in expected.get("check", ()):
        here = f"header {name}"
        found += differences(expected["headers"].get(name), headers.get(name), here)
    if isinstance(recorded, str) and len(recorded) > _BODY_COMPARED_MAX:
        return found
    if isinstance(recorded, dict) and "watch" in recorded:
        recorded = without_bookmarks(recorded["watch"])
        body = without_bookmarks(body) if isinstance(body, list) else body
    unordered = list(expected.get("sets", ()))
    if isinstance(recorded, dict) and recorded.get("kind") == "SelfSubjectRulesReview":
        unordered += ["status.resourceRules", "status.nonResourceRules"]
    recorded, body = _sorted(recorded, unordered), _sorted(body, unordered)
    if status != expected["status"] and _is_improved(expected, status):
        recorded, body = _message(recorded), _message(body)
    return found + list(differences(recorded, body))


def _message(body: Any) -> Any:
    return {"message": body.get("message")} if isinstance(body, dict) else body


def _is_improved(expected: dict[str, Any], status: int) -> bool:
    """Whether a client's mistake is answered as one, where upstream reports an internal error."""
    body = expected["body"]
    if expected["status"] != 500 or status not in (400, 422):
        return False
    return not (isinstance(body, dict) and _SEVERAL_BUDGETS in str(body.get("message")))


def without_bookmarks(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the events of a watch without its periodic bookmarks."""
    return [
        event
        for event in events
        if event.get("type") != "BOOKMARK"
        or "annotations" in (event.get("object") or {}).get("metadata", {})
    ]


def _sorted(value: Any, paths: Iterable[str]) -> Any:
    """Return a value with the lists at some paths sorted."""
    if not isinstance(value, dict):
        return value
    if list(value) == ["$has"]:
        return {"$has": _sorted(value["$has"], paths)}
    value = json.loads(json.dumps(value))
    for path in paths:
        holder: Any = value
        *outer, last = path.split(".")
        for name in outer:
            holder = holder.get(name) if isinstance(holder, dict) else None
        if isinstance(holder, dict) and isinstance(holder.get(last), list):
            holder[last].sort(key=_order)
    return value


def _order(value: Any) -> tuple[str, str]:
    name = value.get("metadata", {}).get("name", "") if isinstance(value, dict) else ""
    return str(name), json.dumps(value, sort_keys=True)
