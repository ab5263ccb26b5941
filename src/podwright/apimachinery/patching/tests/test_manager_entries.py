"""Entries of managers: what is refused, how they are written, joined and carried over."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.patching import with_entries, with_unchanged_times
from podwright.apimachinery.patching.managed_fields import (
    EntriesError,
    Manager,
    Owned,
    capped,
    is_reset,
    object_entries,
    quoted,
    read_entries,
    scale_entries,
    seconds,
    with_update_as_apply,
    written_entries,
)

Document = dict[str, Any]
A: Document = {"f:a": {}}
B: Document = {"f:b": {}}


def entry(manager: str, operation: str = "Update", fields: Any = None, **others: Any) -> Document:
    plain = {
        "apiVersion": "v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": A if fields is None else fields,
    }
    return {"manager": manager, "operation": operation, **plain, **others}


def at(second: int) -> str:
    return f"2026-01-01T00:{second // 60:02}:{second % 60:02}Z"


@pytest.mark.parametrize(
    ("given", "error"),
    [
        pytest.param("x", "must be an object", id="no object"),
        pytest.param({}, "operation must be `Apply` or `Update`", id="empty"),
        pytest.param({"operation": "apply"}, "operation must be `Apply` or `Update`", id="case"),
        pytest.param({"operation": "Apply"}, "apiVersion must not be empty", id="no version"),
        pytest.param(entry("a", apiVersion=""), "apiVersion must not be empty", id="empty version"),
        pytest.param(entry("a", fieldsType=""), "missing fieldsType in managed fields entry 1",
                     id="no type"),
        pytest.param(entry("a", fieldsType='V"2'),
                     'invalid fieldsType "V\\"2" in managed fields entry 1', id="another type"),
    ],
)  # fmt: skip
def test_what_is_refused_of_entries(given, error) -> None:
    with pytest.raises(EntriesError) as found:
        read_entries([entry("a"), given], is_stored=False)
    assert str(found.value) == error


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"x": {}}, "key must be 2 characters long:"),
        ({"fa": {}}, "missing colon: fa"),
        ({"i:x": {}}, 'strconv.Atoi: parsing "x": invalid syntax'),
        ({"k:[1]": {}}, "not an object: k:[1]"),
        ({"f:a": {"f:b": 1}}, "must be an object"),
        ("x", "must be an object"),
    ],
)
def test_a_field_set_that_cannot_be_read_is_refused(fields, error) -> None:
    with pytest.raises(EntriesError) as found:
        read_entries([entry("a", fields=fields)], is_stored=False)
    assert str(found.value) == f"error decoding set: {error}"


def test_entries_are_read_with_what_they_lack() -> None:
    given = {"operation": "Apply", "apiVersion": "v2", "fieldsType": "FieldsV1"}
    for is_stored in (True, False):
        (item,) = read_entries([given], is_stored=is_stored).items()
        expected: Document = given if is_stored else given | {"fieldsV1": {}}
        assert item == (Manager("", "Apply", "", ""), Owned({}, "v2", None, expected))
    full = entry("a", time=at(1), subresource="status")
    assert read_entries([full]) == {
        Manager("a", "Update", "v1", "status"): Owned(A, "v1", at(1), full)
    }
    assert read_entries(None) == {}


def test_an_entry_is_written_in_the_order_of_upstreams_fields() -> None:
    managers = {
        Manager("a", "Apply", "", ""): Owned(A, "v1", None),
        Manager("b", "Update", "v2", "status"): Owned(B, "v2", at(1)),
    }
    found = written_entries(managers)
    assert found == [
        entry("a", "Apply"),
        entry("b", "Update", B, apiVersion="v2", time=at(1), subresource="status"),
    ]
    assert [list(each) for each in found] == [
        ["manager", "operation", "apiVersion", "fieldsType", "fieldsV1"],
        ["manager", "operation", "apiVersion", "time", "fieldsType", "fieldsV1", "subresource"],
    ]


def test_the_order_of_a_manager_is_its_identity_as_json() -> None:
    assert Manager("a", "Apply", "", "").order == '{"manager":"a","operation":"Apply"}'
    assert Manager("a", "Update", "v1", "s").order == (
        '{"manager":"a","operation":"Update","apiVersion":"v1","subresource":"s"}'
    )
    assert quoted('a\\"b') == '"a\\\\\\"b"'


@pytest.mark.parametrize(
    ("time", "found"), [(None, 0), (at(7), 1_767_225_607), ("x", 0), ("1970-01-01T00:00:01Z", 1)]
)
def test_a_time_in_seconds(time, found) -> None:
    assert seconds(time) == found


@pytest.mark.parametrize(
    ("entries", "expected"),
    [([], True), ([{}], True), ([{}, {}], False), ([{"manager": "a"}], False), (None, False),
     ({}, False)],
)  # fmt: skip
def test_an_empty_list_or_entry_clears_the_entries(entries, expected) -> None:
    assert is_reset(entries) is expected


def test_an_object_with_other_entries() -> None:
    entries: list[Document] = [entry("a")]
    given: Document = {"kind": "X", "metadata": {"name": "x", "managedFields": entries}}
    bare: Document = {"kind": "X", "metadata": {"name": "x"}}
    assert with_entries(given, entries) is given
    assert with_entries(bare, None) is bare
    assert with_entries(bare, []) is bare
    assert with_entries(given, None) == with_entries(given, []) == bare
    assert with_entries(bare, entries) == given
    assert with_entries({"kind": "X"}, entries) == {
        "kind": "X", "metadata": {"managedFields": entries},
    }  # fmt: skip
    assert list(with_entries(given, [entry("b")])["metadata"]) == ["name", "managedFields"]


def test_what_a_manager_updated_becomes_what_it_applied() -> None:
    given = [
        entry("c", "Apply", A, time=at(1)),
        entry("c", "Update", B, time=at(2)),
        entry("c", "Update", B, time=at(3), subresource="status"),
        entry("d", "Update", B, time=at(4)),
    ]
    document = {"metadata": {"managedFields": given}}
    assert with_update_as_apply(document, "c")["metadata"]["managedFields"] == [
        entry("c", "Apply", A | B, time=at(2)),
        entry("c", "Apply", B, time=at(3), subresource="status"),
        entry("d", "Update", B, time=at(4)),
    ]
    assert with_update_as_apply(document, "x") == document
    assert with_update_as_apply({}, "c") == {}
    assert with_update_as_apply({"metadata": None}, "c") == {"metadata": None}


# ------------------------------------------------------------------------- many updaters


def updaters(*rows: tuple[str, str, int]) -> Any:
    return {
        Manager(name, "Update", version, ""): Owned({f"f:{name}": {}}, version, at(time))
        for name, version, time in rows
    }


def capped_names(managers: Any) -> list[tuple[str, str, list[str], str | None]]:
    return [
        (one.name, owned.api_version, sorted(owned.fields), owned.time)
        for one, owned in capped(managers).items()
    ]


PLAIN = [(f"m{number}", "v1", 10 + number) for number in range(9)]


def test_ten_updaters_are_kept_and_any_number_of_appliers() -> None:
    ten = updaters(("a", "v1", 1), *PLAIN)
    assert capped(ten) is ten
    appliers = {
        Manager(f"p{number}", "Apply", "", ""): Owned(A, "v1", at(0)) for number in range(5)
    }
    assert capped(ten | appliers) == ten | appliers


def test_the_oldest_updaters_of_a_version_are_joined() -> None:
    """Upstream: fieldmanager/capmanagers.go: the bucket counts as one of the ten."""
    found = capped_names(updaters(("b", "v1", 2), ("a", "v1", 1), *PLAIN))
    kept = [(name, version, [f"f:{name}"], at(time)) for name, version, time in PLAIN]
    assert found == [*kept, ("ancient-changes", "v1", ["f:a", "f:b"], at(2))]
    three = updaters(("c", "v1", 3), ("b", "v1", 2), ("a", "v1", 1), *PLAIN)
    assert capped_names(three)[-1] == ("ancient-changes", "v1", ["f:a", "f:b", "f:c"], at(3))


def test_updaters_of_different_versions_are_not_joined() -> None:
    found = capped_names(updaters(("a", "v2", 1), ("b", "v1", 2), ("c", "v1", 3), *PLAIN[1:]))
    assert [each[0] for each in found][:1] == ["a"]
    assert found[-1] == ("ancient-changes", "v1", ["f:b", "f:c"], at(3))
    single = updaters(*[(f"m{number}", f"v{number}", number) for number in range(12)])
    assert len(capped(single)) == 12


def test_of_equally_old_updaters_the_first_by_identity_is_joined() -> None:
    same = updaters(*[(name, "v1", 1) for name in "lkjihgfedcba"])
    assert capped_names(same)[-1] == ("ancient-changes", "v1", ["f:a", "f:b", "f:c"], at(1))
    # Times count by the second, not as texts.
    zones = updaters(("b", "v1", 3), *PLAIN)
    early = {Manager("a", "Update", "v1", ""): Owned(A, "v1", "2026-01-01T01:00:01+01:00")}
    assert capped_names(zones | early)[-1][2] == ["f:a", "f:b"]


# ---------------------------------------------------------------------------------- times


def test_times_alone_change_nothing() -> None:
    def document(*entries: Document, **fields: Any) -> Document:
        return {"metadata": {"name": "x", "managedFields": list(entries)}, **fields}

    old = document(entry("a", time=at(1)), entry("b", time=at(1)))
    later = document(entry("a", time=at(2)), entry("b", time=at(1)))
    assert with_unchanged_times(old, later) is old
    rows: dict[str, Document] = {
        "another field": document(entry("a", time=at(2)), entry("b", time=at(1)), spec={}),
        "an entry more": document(*later["metadata"]["managedFields"], entry("c")),
        "an entry less": document(entry("a", time=at(2))),
        "another manager": document(entry("a", time=at(2)), entry("c", time=at(1))),
        "other fields": document(entry("a", fields=B, time=at(2)), entry("b", time=at(1))),
        "no entries": {"metadata": {"name": "x"}},
        "no metadata": {"spec": {}},
    }
    for row, new in rows.items():
        assert with_unchanged_times(old, new) is new, row
    equal = document(entry("a", time=at(1)), entry("b", time=at(1)))
    assert with_unchanged_times(old, equal) is equal


# --------------------------------------------------------------------------------- scales

PATHS = {"apps/v1": ("spec", "replicas"), "custom/v1": ("spec", "size"), "none/v1": ()}
REPLICAS: Document = {"f:spec": {"f:replicas": {}}}
SIZE: Document = {"f:spec": {"f:size": {}}}


def test_a_scale_has_the_entries_of_those_who_set_the_replicas() -> None:
    given = [
        entry("applier", "Apply", REPLICAS, apiVersion="apps/v1", time=at(1)),
        entry("updater", "Update", {"f:spec": {"f:replicas": {}, "f:x": {}}}, apiVersion="apps/v1"),
        entry("sizer", "Update", SIZE, apiVersion="custom/v1", subresource="scale"),
        entry("parent", "Update", {"f:spec": {".": {}}}, apiVersion="apps/v1"),
        entry("other", "Update", {"f:x": {}}, apiVersion="apps/v1"),
        entry("unknown", "Update", REPLICAS, apiVersion="apps/v9"),
        entry("without", "Update", REPLICAS, apiVersion="none/v1"),
        entry("deep", "Update", {"f:spec": {"f:replicas": {"f:x": {}}}}, apiVersion="apps/v1"),
    ]
    scale = {"apiVersion": "autoscaling/v1"}
    assert scale_entries(given, PATHS) == [
        entry("applier", "Apply", REPLICAS, time=at(1), **scale),
        entry("sizer", "Update", REPLICAS, subresource="scale", **scale),
        entry("updater", "Update", REPLICAS, **scale),
    ]


def carried(parents: list[Document], scale: list[Document], version: str = "apps/v1") -> Any:
    return object_entries(parents, scale, version, PATHS)


def test_what_a_write_of_a_scale_leaves_of_the_owners() -> None:
    both: Document = {"f:spec": {"f:replicas": {}, "f:x": {}}}
    v1, scale = {"apiVersion": "apps/v1"}, {"apiVersion": "autoscaling/v1"}
    parents = [
        entry("keeps", "Apply", both, time=at(2), **v1),
        entry("again", "Update", both, time=at(1), **v1),
        entry("loses", "Update", both, time=at(1), **v1),
        entry("only", "Update", REPLICAS, **v1),
        entry("other", "Update", B, **v1),
        entry("stale", "Update", both, apiVersion="apps/v9"),
        entry("none", "Update", both, apiVersion="none/v1"),
    ]
    written = [
        entry("keeps", "Apply", REPLICAS, time=at(2), **scale),
        entry("again", "Update", REPLICAS, time=at(1), **scale),
        entry("new", "Update", REPLICAS, time=at(9), **scale),
        entry("applier", "Apply", REPLICAS, **scale),
        entry("without", "Update", B, **scale),
    ]
    assert carried(parents, written) == [
        entry("applier", "Apply", REPLICAS, **v1),
        entry("keeps", "Apply", both, time=at(2), **v1),
        entry("again", "Update", REPLICAS, **v1),
        entry("new", "Update", REPLICAS, **v1),
        entry("none", "Update", both, apiVersion="none/v1"),
        entry("other", "Update", B, **v1),
        entry("again", "Update", {"f:spec": {"f:x": {}}}, time=at(1), **v1),
        entry("loses", "Update", {"f:spec": {"f:x": {}}}, time=at(1), **v1),
    ]
    assert carried([], written[2:3], "custom/v1") == [
        entry("new", "Update", SIZE, apiVersion="custom/v1")
    ]
