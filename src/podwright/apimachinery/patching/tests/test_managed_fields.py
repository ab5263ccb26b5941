"""Entries of managers: identity, order, times."""

from __future__ import annotations

import tracemalloc
from typing import Any

from podwright.apimachinery.patching import with_entries, with_unchanged_times
from podwright.apimachinery.patching.managed_fields import Manager, read_entries, written_entries
from podwright.apimachinery.patching.object_types import custom_object_type

Document = dict[str, Any]


def entry(manager: str, operation: str = "Update", **others: Any) -> Document:
    """Return an entry."""
    plain = {"apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"f:a": {}}}
    return {"manager": manager, "operation": operation, **plain, **others}


def test_entries_are_sorted_as_by_upstream() -> None:
    early, late = {"time": "2026-01-01T00:00:00Z"}, {"time": "2026-01-01T00:00:01Z"}
    ordered = [
        entry("b", "Apply"),
        entry("a", "Apply", **early),
        entry("c", **early),
        entry("a", **late),
        entry("a", **late, apiVersion="v2"),
        entry("a", **late, apiVersion="v2", subresource="status"),
        entry("b", **late),
    ]
    assert written_entries(read_entries(list(reversed(ordered)))) == ordered


def test_an_apply_is_identified_without_its_version() -> None:
    managers = read_entries([entry("a", "Apply", apiVersion="v2"), entry("a", apiVersion="v2")])
    assert list(managers) == [Manager("a", "Apply", "", ""), Manager("a", "Update", "v2", "")]


def test_an_entry_that_does_not_change_is_kept_as_it_was_read() -> None:
    given = entry("a", unknown="x")
    assert written_entries(read_entries([given]))[0] is given


def test_the_name_of_a_manager_in_messages() -> None:
    assert Manager("a", "Apply", "", "").printed == '"a"'
    assert Manager('a"b', "Apply", "", "status").printed == r'"a\"b" with subresource "status"'
    assert Manager("a", "Update", "v1", "scale").printed == (
        '"a" with subresource "scale" using v1'
    )


def test_entries_of_an_object_are_replaced() -> None:
    document = {"metadata": {"name": "a"}, "data": {}}
    changed = with_entries(document, [entry("a")])
    assert changed["metadata"] == {"name": "a", "managedFields": [entry("a")]}
    assert with_entries(changed, None) == document
    assert with_entries(document, None) is document
    assert with_entries(changed, changed["metadata"]["managedFields"]) is changed


def test_the_field_sets_of_large_objects_are_released() -> None:
    kind = custom_object_type("v1", "Blob", None)

    def create(number: int) -> None:
        kind.created_fields({"apiVersion": "v1", "data": f"{number:0{1 << 20}}"})

    create(0)
    tracemalloc.start()
    try:
        for number in range(12):
            create(number)
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 5 << 20


def test_a_write_that_changes_only_times_changes_nothing() -> None:
    old = with_entries({"metadata": {}, "data": {"a": "1"}}, [entry("a", time="1")])
    new = with_entries({"metadata": {}, "data": {"a": "1"}}, [entry("a", time="2")])
    assert with_unchanged_times(old, new) is old


def test_times_of_a_changed_object_are_new() -> None:
    old = with_entries({"metadata": {}, "data": {"a": "1"}}, [entry("a", time="1")])
    cases: list[Document] = [
        {"metadata": {"managedFields": [entry("a", time="2")]}, "data": {"a": "2"}},
        {"metadata": {"managedFields": [entry("b", time="2")]}, "data": {"a": "1"}},
        {"metadata": {"managedFields": [entry("a"), entry("b")]}, "data": {"a": "1"}},
        {"metadata": {}, "data": {"a": "1"}},
    ]
    # With equal entries the new object has the times of the old one, whatever else changed.
    found = [with_unchanged_times(old, new) for new in cases]
    assert found[1:] == cases[1:]
    assert found[0]["data"] == {"a": "2"}
