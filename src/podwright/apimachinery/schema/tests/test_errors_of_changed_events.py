"""Only the series of an event of events.k8s.io changes."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema import built_in

EVENT: Document = {
    "metadata": {"name": "e", "namespace": "n"},
    "regarding": {"kind": "Pod", "name": "p", "namespace": "n"},
    "reason": "r",
    "note": "t",
    "type": "Normal",
    "eventTime": "2026-01-01T00:00:00.000000Z",
    "action": "a",
    "reportingController": "c.io/x",
    "reportingInstance": "i",
}


def shown(**fields: str) -> str:
    """Return a reference to an object as upstream's errors show it."""
    names = ("Kind", "Namespace", "Name", "UID", "APIVersion", "ResourceVersion", "FieldPath")
    return "{" + ",".join(f'"{name}":"{fields.get(name, "")}"' for name in names) + "}"


def problems(new: Document, old: Document) -> list[str]:
    kind = built_in().find("events.k8s.io/v1", "Event")
    assert kind is not None
    found = kind.update_problems(new, old)
    return [f"{path}: {text}" for path, text, _ in found if text.endswith("field is immutable")]


@pytest.mark.parametrize(
    ("field", "value", "name", "added", "removed"),
    [
        ("regarding", {"kind": "Pod", "name": "q", "namespace": "n"}, "involvedObject",
         shown(Kind="Pod", Namespace="n", Name="q"), shown()),
        ("note", "u", "message", '"u"', '""'),
        ("deprecatedSource", {"host": "h"}, "source", '{"Component":"","Host":"h"}',
         '{"Component":"","Host":""}'),
        ("deprecatedFirstTimestamp", "2026-01-01T00:00:00Z", "firstTimestamp",
         '"2026-01-01T00:00:00Z"', "null"),
        ("deprecatedLastTimestamp", "2026-01-01T00:00:00Z", "lastTimestamp",
         '"2026-01-01T00:00:00Z"', "null"),
        ("deprecatedCount", 2, "count", "2", "0"),
        ("type", "Warning", "type", '"Warning"', '""'),
        ("eventTime", "2026-01-02T00:00:00.000000Z", "eventTime",
         '"2026-01-02T00:00:00.000000Z"', "null"),
        ("action", "b", "action", '"b"', '""'),
        ("related", {"name": "q"}, "related", shown(Name="q"), "null"),
        ("reportingController", "d.io/x", "reportingController", '"d.io/x"', '""'),
        ("reportingInstance", "j", "reportingInstance", '"j"', '""'),
    ],
)  # fmt: skip
def test_no_field_of_an_event_changes(
    field: str, value: Any, name: str, added: str, removed: str
) -> None:
    text = "field is immutable"
    changed = EVENT | {field: value}
    assert problems(changed, EVENT) == [f"{name}: Invalid value: {added}: {text}"]
    without = {key: part for key, part in changed.items() if key != field}
    assert problems(without, changed) == [f"{name}: Invalid value: {removed}: {text}"]


def test_a_changed_reason_is_an_error_twice() -> None:
    text = 'reason: Invalid value: "s": field is immutable'
    assert problems(EVENT | {"reason": "s"}, EVENT) == [text, text]
