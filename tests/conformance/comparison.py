"""Strict comparison of a response with the recorded one.

Values and their types are compared, and of the headers `content-type`, `warning`, `retry-after` and
those that the recording names. What two runs of the same real server answer differently is left out
by the normalizations of one table, `NORMALIZATIONS`; `Counts` counts how often each one mattered.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, Final

import msgspec

_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
MARKS: Final = {
    "uid": _UUID,
    "rv": r"\d+",
    "time": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)",
    "age": r"(?:\d+[ydhms])+|<invalid>",
    "continue": r"[\w=-]+",
    "ip": r"\d+\.\d+\.\d+\.\d+",
    "gen5": r"[bcdfghjklmnpqrstvwxz2456789]{5}",
    "nodePort": r"3[0-2]\d{3}",
    "addr": r"[\w.:\[\]-]+",
    "commit": r"\w*",
    "go": r"\S*",
    "token": r"[\w-]+\.[\w-]+\.[\w-]+",
    "hash": r"[\w=+/-]+",
    "etag": r'"?\w+"?',
    "object": r"(?s:.+)",
    "text": r"(?s:.*)",
}
"""The marks of recordings, each with the form of the values that it stands for."""

NORMALIZATIONS: Final = {
    "mark": "the recording has a mark for a value that differs between two runs of a server",
    "version in YAML": "recordings have marks for resourceVersions in JSON only",
    "one of several warnings": "most recordings have the last value of a repeated header",
    "managedFields dropped": "most recordings do not have managedFields",
    "managedFields order": "entries are ordered by time, to the second, and runs differ in it",
    "struct diff": "the diffs of go-cmp have spaces and line breaks that are drawn at random",
    "column text": "descriptions of columns are podwright's own words",
    "document hash": "the hash of an OpenAPI document includes descriptions, which are own words",
    "documentation": "descriptions of OpenAPI schemas are own words; recordings have a few",
    "set": "a list in the order of a Go map, or one that the recording calls a set",
    "periodic bookmark": "the number of bookmarks depends on the time that a watch is open",
    "partial": "the recording names a part of the answer only ($has)",
    "age of a literal date": "the age of a date that a request wrote depends on the day of the run",
    "date of the run": "a ConfigMap has the date of the server's first start",
    "port of the server": "the Service kubernetes leads to the port of the recorded server",
    "rewritten rows": "recordings that mark the texts of columns have written null rows as []; "
    "of tables with the general columns only, which kube-apiserver answers with null",
    "build folder": "the file of a scheme has the folder of the build",
}
"""What is not compared, and why. A name that is not here is a KeyError."""

_HEADERS: Final = ("content-type", "warning", "retry-after")
_MARK = re.compile(f"<({'|'.join(MARKS)})>")
_COLUMN_TEXT = re.compile(r"columnDefinitions\[\d+\]\.description$")
_DOCUMENT_HASH = re.compile(r"(?<=\?hash=)[0-9A-F]{128}")
_DOCUMENTATION = re.compile(r"^\.components\.schemas\..*\.description$")
_AGE = re.compile(r"(?:\d+[ydhms])+")
_TABLE_CELL = re.compile(r"\.cells\[\d+\]$")
_SCHEME = re.compile(r'(in scheme \\?")[^"\\]*?(pkg/[^"\\]*\\?")')
_WARNING_START = re.compile(r", (?=299 - )")
_YAML_VERSION = re.compile(r"(?<=resourceVersion: )[\"']\d+[\"']")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_SERVICE_PORTS: Final = frozenset({"6443", "6444"})


class Counts:
    """How often each normalization made values equal that were not."""

    def __init__(self) -> None:
        self.by_name: Counter[str] = Counter()

    def add(self, name: str) -> bool:
        """Count a use of a normalization; return True.

        Raises
        ------
        KeyError
            If `NORMALIZATIONS` does not have it.
        """
        NORMALIZATIONS[name]
        self.by_name[name] += 1
        return True

    def lines(self) -> Iterator[str]:
        """Yield a line for each normalization: how often it mattered, its name, the reason."""
        for name, reason in NORMALIZATIONS.items():
            yield f"{self.by_name[name]:7}  {name}: {reason}"


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
    return repr(value)[:400]


class Comparison:
    """Compares responses, and counts which normalizations mattered.

    Parameters
    ----------
    counts : Counts
    """

    def __init__(self, counts: Counts | None = None) -> None:
        self.counts = Counts() if counts is None else counts
        self._is_rewritten = False

    def responses(
        self, expected: dict[str, Any], status: int, headers: dict[str, str], body: Any
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
        if status != expected["status"]:
            found.append(Difference("status", expected["status"], status))
        for name in dict.fromkeys((*_HEADERS, *expected.get("check", ()))):
            here = f"header {name}"
            recorded_header, header = expected["headers"].get(name), headers.get(name)
            if name == "warning" and name not in expected.get("check", ()):
                header = self._last_warning(recorded_header, header)
            found += self.differences(recorded_header, header, here)
        if isinstance(recorded, dict) and "watch" in recorded:
            recorded = self._without_bookmarks(recorded["watch"])
            body = self._without_bookmarks(body) if isinstance(body, list) else body
        self._is_rewritten = _is_rewritten(recorded)
        unordered = list(expected.get("sets", ()))
        if isinstance(recorded, dict) and recorded.get("kind") == "SelfSubjectRulesReview":
            unordered += ["status.resourceRules", "status.nonResourceRules"]
        if recorded != body:
            recorded, body = self._sorted(recorded, unordered), self._sorted(body, unordered)
        return found + list(self.differences(recorded, body))

    def differences(
        self, expected: Any, found: Any, path: str = "", *, only: bool = False
    ) -> Iterator[Difference]:
        """Yield the parts of a value that differ from the recorded one.

        Parameters
        ----------
        only : bool
            Whether fields that the recording does not have are ignored.
        """
        if isinstance(expected, dict) and list(expected) == ["$has"]:
            yield from self.differences(expected["$has"], found, path, only=True)
        elif isinstance(expected, str) and isinstance(found, str):
            if not self._is_same_text(expected, found, path):
                yield Difference(path, expected, found)
        elif expected == "<nodePort>" and isinstance(found, int):
            # The one mark that stands for a number.
            self.counts.add("mark")
        elif path.endswith(".rows") and expected == [] and found is None and self._is_rewritten:
            self.counts.add("rewritten rows")
        elif type(expected) is not type(found):
            if not self._is_service_port(expected, found, path):
                yield Difference(path, expected, found)
        elif isinstance(expected, dict):
            yield from self._of_objects(expected, found, path, only=only)
        elif isinstance(expected, list):
            yield from self._of_lists(expected, found, path)
        elif expected != found and not self._is_service_port(expected, found, path):
            yield Difference(path, expected, found)

    def _of_lists(self, expected: list[Any], found: list[Any], path: str) -> Iterator[Difference]:
        if len(expected) != len(found):
            yield Difference(path, f"{len(expected)} items", f"{len(found)} items")
            return
        for index, (one, other) in enumerate(zip(expected, found, strict=True)):
            yield from self.differences(one, other, f"{path}[{index}]")

    def _of_objects(
        self, expected: dict[str, Any], found: dict[str, Any], path: str, *, only: bool
    ) -> Iterator[Difference]:
        names: Iterable[str] = expected
        if not only:
            names = sorted(expected.keys() | found.keys())
        elif found.keys() - expected.keys():
            self.counts.add("partial")
        for name in names:
            here = f"{path}.{name}"
            is_dropped = name == "managedFields" and name not in expected
            # In a schema it is the name of a property.
            if is_dropped and isinstance(found[name], list):
                self.counts.add("managedFields dropped")
                continue
            if name not in expected or name not in found:
                if _DOCUMENTATION.match(here):
                    self.counts.add("documentation")
                    continue
                absent = "<absent>"
                yield Difference(here, expected.get(name, absent), found.get(name, absent))
            elif name == "managedFields" and isinstance(expected[name], list):
                yield from self._of_entries(expected[name], found[name], here)
            else:
                yield from self.differences(expected[name], found[name], here, only=only)

    def _of_entries(
        self, expected: list[dict[str, Any]], found: list[dict[str, Any]], path: str
    ) -> Iterator[Difference]:
        if list(map(_without_time, expected)) == list(map(_without_time, found)):
            return
        in_order = sorted(expected, key=_without_time), sorted(found, key=_without_time)
        if list(map(_without_time, in_order[0])) == list(map(_without_time, in_order[1])):
            self.counts.add("managedFields order")
            return
        yield Difference(path, in_order[0], in_order[1])

    def _is_same_text(self, expected: str, found: str, path: str) -> bool:
        if expected == found:
            return True
        return any(each(self, expected, found, path) for each in _TEXT_RULES)

    def _is_marked(self, expected: str, found: str, path: str) -> bool:
        if not _MARK.search(expected) or re.fullmatch(_pattern(expected), found) is None:
            return False
        return self.counts.add("mark")

    def _is_column_text(self, expected: str, found: str, path: str) -> bool:
        is_one = _COLUMN_TEXT.search(path) is not None and bool(found)
        return is_one and self.counts.add("column text")

    def _is_document_hash(self, expected: str, found: str, path: str) -> bool:
        same = _DOCUMENT_HASH.sub("", expected) == _DOCUMENT_HASH.sub("", found)
        return same and self.counts.add("document hash")

    def _is_documentation(self, expected: str, found: str, path: str) -> bool:
        return _DOCUMENTATION.match(path) is not None and self.counts.add("documentation")

    def _is_age(self, expected: str, found: str, path: str) -> bool:
        if _TABLE_CELL.search(path) is None:
            return False
        same = _AGE.fullmatch(expected) is not None and _AGE.fullmatch(found) is not None
        return same and self.counts.add("age of a literal date")

    def _is_date_of_run(self, expected: str, found: str, path: str) -> bool:
        if not path.endswith(".data.since"):
            return False
        return _DATE.fullmatch(found) is not None and self.counts.add("date of the run")

    def _is_service_port(self, expected: Any, found: Any, path: str) -> bool:
        is_one = path.endswith(".targetPort") and {str(expected), str(found)} == _SERVICE_PORTS
        return is_one and type(expected) is type(found) and self.counts.add("port of the server")

    def _is_same_message(self, expected: str, found: str, path: str) -> bool:
        """Whether two texts are equal without what a build or go-cmp draws."""
        for name, normalized in _MESSAGE_FORMS:
            before = expected, found
            expected, found = normalized(expected), normalized(found)
            if before != (expected, found) and expected == found:
                return self.counts.add(name)
        if _MARK.search(expected) and re.fullmatch(_pattern(expected), found) is not None:
            return self.counts.add("struct diff")
        return False

    def _last_warning(self, recorded: str | None, header: str | None) -> str | None:
        if recorded is None or header is None or header == recorded:
            return header
        self.counts.add("one of several warnings")
        return _WARNING_START.split(header)[-1]

    def _is_yaml_version(self, expected: str, found: str, path: str) -> bool:
        same = _YAML_VERSION.sub("", expected), _YAML_VERSION.sub("", found)
        if "\n" not in expected or same == (expected, found):
            return False
        return re.fullmatch(_pattern(same[0]), same[1]) is not None and self.counts.add(
            "version in YAML"
        )

    def _without_bookmarks(self, events: list[dict[str, Any]]) -> list[dict[str, Any]]:
        kept = without_bookmarks(events)
        if len(kept) < len(events):
            self.counts.add("periodic bookmark")
        return kept

    def _sorted(self, value: Any, paths: Collection[str]) -> Any:
        """Return a value with the lists at some paths sorted."""
        if not isinstance(value, dict) or not paths:
            return value
        if list(value) == ["$has"]:
            return {"$has": self._sorted(value["$has"], paths)}
        value = json.loads(json.dumps(value))
        for path in paths:
            holder: Any = value
            *outer, last = path.split(".")
            for name in outer:
                holder = holder.get(name) if isinstance(holder, dict) else None
            if isinstance(holder, dict) and isinstance(holder.get(last), list):
                in_order = sorted(holder[last], key=_order)
                if in_order != holder[last]:
                    self.counts.add("set")
                holder[last] = in_order
        return value


_TEXT_RULES: Final[tuple[Callable[[Comparison, str, Any, str], bool], ...]] = (
    Comparison._is_column_text,
    Comparison._is_document_hash,
    Comparison._is_documentation,
    Comparison._is_marked,
    Comparison._is_age,
    Comparison._is_yaml_version,
    Comparison._is_date_of_run,
    Comparison._is_service_port,
    Comparison._is_same_message,
)


def _pattern(text: str) -> str:
    parts = _MARK.split(text)
    # Every second part is the name of a mark.
    return "".join(
        f"(?:{MARKS[part]})" if index % 2 else re.escape(part) for index, part in enumerate(parts)
    )


_SPACES = re.compile(r"[\s\u00a0]+")


def _without_drawn_spaces(text: str) -> str:
    first, line_break, rest = text.partition("\n")
    return first + line_break + _SPACES.sub(" ", rest)


_MESSAGE_FORMS: Final[tuple[tuple[str, Callable[[str], str]], ...]] = (
    ("build folder", lambda text: _SCHEME.sub(r"\1\2", text)),
    ("struct diff", _without_drawn_spaces),
)


def _is_rewritten(body: Any) -> bool:
    """Whether a recorded table has the marks of a recorder that wrote null rows as [].

    kube-apiserver answers an empty list with null if the kind has no columns of its own. Upstream:
    staging/src/k8s.io/apiserver/pkg/registry/rest/table.go, defaultTableConvertor
    """
    columns = (body.get("columnDefinitions") if isinstance(body, dict) else None) or []
    names = [each.get("name") for each in columns]
    is_marked = all(each.get("description") == "<text>" for each in columns)
    return names == ["Name", "Created At"] and is_marked


def _without_time(entry: dict[str, Any]) -> str:
    return json.dumps({**entry, "time": ""}, sort_keys=True)


def without_bookmarks(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the events of a watch without its periodic bookmarks."""
    return [
        event
        for event in events
        if event.get("type") != "BOOKMARK"
        or "annotations" in (event.get("object") or {}).get("metadata", {})
    ]


def _order(value: Any) -> tuple[str, str]:
    name = value.get("metadata", {}).get("name", "") if isinstance(value, dict) else ""
    return str(name), json.dumps(value, sort_keys=True)
