"""Responses of a server in the form of recordings: marks instead of values that always differ."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

_UID = re.compile(
    r"\b(?!11111111-|22222222-)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"
)
_TOKEN = re.compile(r"\beyJ[\w-]+\.[\w-]+\.[\w-]+")
_POINTER = re.compile(r"\b0xc[0-9a-f]{9,11}\b")
_NUMBER = re.compile(r"\b\d+\b")
_CLUSTER_IP = re.compile(r"\b10\.0\.0\.\d{1,3}\b(?!/)")
_OBJECT = re.compile(r'Invalid value: "?[\[{].{200,}?[]}]"?: ', re.DOTALL)
"""A long printed object, with Go's names of fields."""
_CURRENT = re.compile(
    r"(too large resource version: \d+, current: |too old resource version: \d+ \()\d+",
    re.IGNORECASE,
)
"""The current version in messages; the requested one stays."""
_SCHEME = re.compile(r'in scheme \\?"[^"\\]*\\?"')
"""The file of the scheme depends on the folder of the build."""

_AGES = {"Age", "Last Seen", "First Seen", "Duration"}
_SMALL_VERSIONS_MAX = 20
"""Numbers up to this one in messages are never taken for a resource version."""


def present_days() -> list[str]:
    """Return today's date and the next one, since a comparison may pass midnight."""
    now = datetime.now(UTC)
    return [each.strftime("%Y-%m-%d") for each in (now, now + timedelta(days=1))]


class Marks:
    """Puts marks into the responses of one server.

    Parameters
    ----------
    days : str
        The dates of the server's clock, as in timestamps: times of other days stay.
    """

    def __init__(self, *days: str) -> None:
        dates = "|".join(map(re.escape, days))
        self._time = re.compile(rf"(?:{dates})" + r"T\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)")
        self._versions: set[str] = set()

    def marked(self, body: Any, sent: str) -> Any:
        """Return a body with marks.

        Parameters
        ----------
        body
            Parsed JSON, a text, or a list of watch events.
        sent : str
            The body of the request: cluster IPs and node ports in it stay.
        """
        self._add_versions(body)
        return self._value(body, "", sent)

    def _add_versions(self, value: Any) -> None:
        if isinstance(value, dict):
            version = value.get("resourceVersion")
            if isinstance(version, str):
                self._versions.add(version)
            for part in value.values():
                self._add_versions(part)
        elif isinstance(value, list):
            for part in value:
                self._add_versions(part)

    def _value(self, value: Any, name: str, sent: str) -> Any:
        if isinstance(value, dict):
            if value.get("kind") == "Table":
                value = _without_ages(value)
            marked = {key: self._value(part, key, sent) for key, part in value.items()}
            return _with_generated_name(marked)
        if isinstance(value, list):
            return [self._value(part, name, sent) for part in value]
        if isinstance(value, str):
            return self._text(value, name, sent)
        if name == "nodePort" and value and str(value) not in sent:
            return "<nodePort>"
        return value

    def _text(self, text: str, name: str, sent: str) -> str:
        if name == "resourceVersion" and text.isdigit() and text != "0":
            return "<rv>"
        if name == "continue" and text:
            return "<continue>"
        if name == "serverAddress":
            return "<addr>"
        text = self._time.sub("<time>", _UID.sub("<uid>", _TOKEN.sub("<token>", text)))
        text = _POINTER.sub("<object>", _SCHEME.sub('in scheme "<text>"', text))
        if name == "message":
            text = _CURRENT.sub(r"\1<rv>", text)
            text = _OBJECT.sub("Invalid value: <object>: ", text)
        text = _CLUSTER_IP.sub(
            lambda ip: ip[0] if ip[0] in sent or ip[0] == "10.0.0.1" else "<ip>", text
        )
        if name in ("message", ""):
            text = _NUMBER.sub(self._number, text)
        return text

    def _number(self, found: re.Match[str]) -> str:
        number = found[0]
        known = number in self._versions and int(number) > _SMALL_VERSIONS_MAX
        return "<rv>" if known else number


def without_owners(value: Any) -> Any:
    """Return a body without `managedFields`."""
    if isinstance(value, dict):
        return {
            name: without_owners(part) for name, part in value.items() if name != "managedFields"
        }
    if isinstance(value, list):
        return [without_owners(part) for part in value]
    return value


def _with_generated_name(value: dict[str, Any]) -> dict[str, Any]:
    start, name = value.get("generateName"), value.get("name")
    if not (isinstance(start, str) and isinstance(name, str) and start and name.startswith(start)):
        return value
    return value | {"name": f"{start}<gen5>"}


def _without_ages(table: dict[str, Any]) -> dict[str, Any]:
    columns = [each.get("name") for each in table.get("columnDefinitions") or ()]
    rows = table.get("rows")
    if not columns or not rows:
        return table
    marked = [row | {"cells": list(map(_cell, columns, row["cells"]))} for row in rows]
    return table | {"rows": marked}


def _cell(column: str, cell: Any) -> Any:
    is_age = column in _AGES and isinstance(cell, str) and cell[:1].isdigit()
    return "<age>" if is_age else cell
