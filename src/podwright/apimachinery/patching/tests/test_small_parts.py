"""Small parts of patches: operations, directives, path elements, entries, messages."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.patching import (
    PatchError,
    applied_rest,
    json_patch_warnings,
    json_patched,
    merge_difference,
    merge_patched,
    with_entries,
    with_unchanged_times,
)
from podwright.apimachinery.patching.errors import (
    ApplyConflictError,
    Conflict,
    FailedTestError,
    printed,
    printed_in_full,
    wrong_json,
)
from podwright.apimachinery.patching.field_sets import (
    ElementError,
    canonical,
    contains,
    difference,
    intersection,
    is_member,
    paths,
    union,
    without,
)
from podwright.apimachinery.patching.managed_fields import (
    EntriesError,
    Manager,
    is_reset,
    read_entries,
    seconds,
    with_update_as_apply,
    written_entries,
)
from podwright.apimachinery.patching.object_types import _Results, gvk_text, owned
from podwright.apimachinery.patching.strategic_merge import strategic_merged
from podwright.apimachinery.patching.typed_values import difference_of, field_set, removed_from
from podwright.apimachinery.patching.value_types import struct_type
from podwright.apimachinery.schema import built_in

Document = dict[str, Any]
LEAF: Document = {}
LONG = "9" * 5_000
MIB = 1024 * 1024


def operation(op: str, path: str, **others: Any) -> Document:
    return {"op": op, "path": path, **others}


# ---------------------------------------------------------------------------- JSON patches


@pytest.mark.parametrize(
    ("document", "patch", "patched"),
    [
        ({"~1": 1}, operation("replace", "/~01", value=2), {"~1": 2}),
        ({"a/b": 1}, operation("remove", "/a~1b"), {}),
        ({"": 1}, operation("replace", "/", value=2), {"": 2}),
        ({"a": {"": 1}}, operation("remove", "/a/"), {"a": {}}),
        ({"a": [1, 2]}, operation("replace", "/a/-1", value=3), {"a": [1, 3]}),
        ({"a": [1, 2]}, operation("remove", "/a/+1"), {"a": [1]}),
        ({"a": [1, 2]}, operation("remove", "/a/-1"), {"a": [1]}),
        ({"a": [[1], 2]}, operation("add", "/a/-2/-", value=3), {"a": [[1, 3], 2]}),
        ({"a": [1, 2]}, operation("add", "/a/-3", value=3), {"a": [3, 1, 2]}),
        ({"a": {"b": [{"c": 1}]}}, operation("add", "/a/b/0/d", value=2),
         {"a": {"b": [{"c": 1, "d": 2}]}}),
        ({"a": 1}, operation("replace", "", value={"b": 2}), {"b": 2}),
        ({"a": {"b": 1, "c": 2}}, operation("test", "/a", value={"c": 2, "b": 1}),
         {"a": {"b": 1, "c": 2}}),
        ({"a": 1.5}, operation("test", "/a", value=1.5), {"a": 1.5}),
    ],
)  # fmt: skip
def test_paths_of_operations(document: Document, patch: Document, patched: Document) -> None:
    assert json_patched(document, [patch]) == patched


@pytest.mark.parametrize(
    ("patch", "is_test"),
    [
        (operation("test", "/a", value=2), True),
        (operation("test", "", value={}), True),
        (operation("test", "/b/c", value=2), False),
        (operation("remove", "/b"), False),
        (operation("test", "a", value=1), False),
        (operation("remove", "/l/-"), False),
        (operation("replace", "/l/-", value=1), False),
        (operation("add", "/l/1.0", value=1), False),
        (operation("copy", "/b"), False),
    ],
)
def test_a_failed_test_differs_from_other_failures(patch: Document, is_test: bool) -> None:
    with pytest.raises(PatchError) as refused:
        json_patched({"a": 1, "l": [1]}, [patch])
    assert isinstance(refused.value, FailedTestError) == is_test


@pytest.mark.parametrize(("more", "is_refused"), [(0, False), (1, True)])
def test_copies_have_a_limit_together(more: int, is_refused: bool) -> None:
    text = "x" * (MIB - 2 + more)  # and two quotes
    patch = [operation("copy", f"/b{index}", **{"from": "/a"}) for index in range(3)]
    if is_refused:
        with pytest.raises(PatchError):
            json_patched({"a": text}, patch)
    else:
        assert json_patched({"a": text}, patch) == dict.fromkeys(("a", "b0", "b1", "b2"), text)


def test_a_list_may_have_null_operations_until_they_are_done() -> None:
    assert json_patch_warnings([None, {"op": "add", "x": 1, "y": 2}, {}]) == [  # type: ignore[list-item]
        'json patch unknown field "[1].x"', 'json patch unknown field "[1].y"',
    ]  # fmt: skip
    with pytest.raises(PatchError) as refused:
        json_patched({}, [None])
    assert refused.value.code == 422


def test_a_container_is_copied_once_and_before_its_first_change() -> None:
    document: Document = {"a": {"b": [1]}, "c": {}}
    patch = [operation("add", "/a/b/-", value=2), operation("add", "/a/b/-", value=3)]
    made = json_patched(document, patch)
    assert made == {"a": {"b": [1, 2, 3]}, "c": {}}
    assert made["c"] is document["c"]
    assert document == {"a": {"b": [1]}, "c": {}}


def test_merges_share_what_they_do_not_change() -> None:
    document: Document = {"a": {"b": {"c": 1}}, "l": [1]}
    assert merge_patched(document, {"a": {"b": {}}, "l": document["l"]}) is document
    changed = merge_patched(document, {"l": [{"x": None}, {"y": [None, {"z": None}]}]})
    assert changed == {"a": {"b": {"c": 1}}, "l": [{}, {"y": [None, {}]}]}
    assert changed["a"] is document["a"]
    assert merge_difference({"a": {}, "b": [1]}, {"a": {}, "b": [2], "c": {}}) == {
        "b": [2], "c": {},
    }  # fmt: skip
    assert merge_difference({"a": {"b": 1}}, {"a": 1}) == {"a": 1}


# ----------------------------------------------------------------------- strategic merges


def of_pod(pod: Document, patch: Document) -> Document:
    kind = built_in().find("v1", "Pod")
    assert kind is not None
    return strategic_merged(kind, pod, patch)


@pytest.mark.parametrize(
    ("present", "patch", "left"),
    [
        (["a", "b"], {"$deleteFromPrimitiveList/finalizers": ["b", "b"]}, ["a"]),
        (["a"], {"$deleteFromPrimitiveList/finalizers": "a"}, ["a"]),
        ([], {"$deleteFromPrimitiveList/finalizers": []}, []),
        (["a"], {"finalizers": ["b"], "$deleteFromPrimitiveList/finalizers": ["a"]}, ["b"]),
        (["a"], {"finalizers": []}, ["a"]),
        ([], {"finalizers": []}, []),
        (["a", "b", "c"], {"$setElementOrder/finalizers": ["c", "a"]}, ["b", "c", "a"]),
        (["a", "a", "b"], {"finalizers": ["b"]}, ["a", "b"]),
        (["a"], {"finalizers": None, "$setElementOrder/finalizers": []}, None),
    ],
)
def test_lists_of_texts(present: Any, patch: Document, left: Any) -> None:
    document = {"metadata": {"finalizers": present}}
    if left is None:
        with pytest.raises(PatchError):
            of_pod(document, {"metadata": patch})
    else:
        assert of_pod(document, {"metadata": patch}) == {"metadata": {"finalizers": left}}


def test_a_struct_that_is_replaced_has_what_the_patch_says() -> None:
    pod: Document = {"spec": {"affinity": {"podAffinity": {}, "nodeAffinity": {}}}}
    patch: Document = {"spec": {"affinity": {"$patch": "replace", "podAffinity": {}}}}
    assert of_pod(pod, patch) == {"spec": {"affinity": {"podAffinity": {}}}}
    assert of_pod(pod, {"spec": {"affinity": {"nodeAffinity": None}}}) == {
        "spec": {"affinity": {"podAffinity": {}}}
    }
    assert of_pod(pod, {"spec": {"affinity": {"podAffinity": {}}}}) is pod


@pytest.mark.parametrize(
    ("spec", "patch", "patched"),
    [
        ({"nodeSelector": {"a": "1"}}, {"nodeSelector": {"$retainKeys": ["a", "b"], "b": "2"}},
         {"nodeSelector": {"a": "1", "b": "2"}}),
        ({"nodeSelector": {"a": "1"}}, {"nodeSelector": {"$retainKeys": ["a"], "b": None}},
         {"nodeSelector": {"a": "1"}}),
        ({"nodeSelector": {"a": "1"}}, {"nodeSelector": {"$retainKeys": [1]}},
         "invalid patch format of retainKeys"),
        ({"volumes": [{"name": "v", "emptyDir": {}}]},
         {"volumes": [{"name": "v", "$retainKeys": ["name", "hostPath"],
                       "hostPath": {"path": "/a"}}]},
         {"volumes": [{"name": "v", "hostPath": {"path": "/a"}}]}),
        ({"tolerations": [{"key": "a"}]}, {"$deleteFromPrimitiveList/tolerations": [{"key": "b"}]},
         {"tolerations": [{"key": "b"}]}),
        ({"containers": []}, {"$deleteFromPrimitiveList/containers": []}, {"containers": []}),
        ({"containers": [{"name": "a"}]}, {"$deleteFromPrimitiveList/containers": [{"name": "b"}]},
         {"containers": [{"name": "b"}, {"name": "a"}]}),
        ({"containers": []}, {"containers": [], "$setElementOrder/containers": [{"name": "a"}]},
         "no elements in any of the given slices"),
        ({"containers": [{"name": "a"}]},
         {"containers": [{"name": "b"}], "$setElementOrder/containers": []},
         {"containers": [{"name": "a"}, {"name": "b"}]}),
        ({"containers": [{"name": "a"}]},
         {"containers": ["b"], "$setElementOrder/containers": [{"name": "a"}]},
         "expected a map[string]interface {}, but received a string"),
        ({"containers": [{"name": "a"}]},
         {"containers": [{"name": "b"}], "$setElementOrder/containers": ["b"]},
         "expected a map[string]interface {}, but received a string"),
        ({"containers": [{"name": "a"}, {"name": "b"}]},
         {"containers": [{"$patch": "replace"}, {"name": "b"}],
          "$setElementOrder/containers": [{"name": "b"}]}, {"containers": [{"name": "b"}]}),
        ({}, {"containers": [{"name": "a", "$patch": "merge"}, {"name": "b"}],
              "$setElementOrder/containers": [{"name": "a"}, {"name": "b"}]},
         {"containers": [{"name": "b"}]}),
        ({"containers": [{"name": "a"}]}, {"containers": [{"name": {"x": 1}}]},
         "must be a value without parts, got map[x:1]"),
    ],
)  # fmt: skip
def test_further_directives(spec: Document, patch: Document, patched: Any) -> None:
    if isinstance(patched, str):
        with pytest.raises(PatchError) as refused:
            of_pod({"spec": spec}, {"spec": patch})
        assert refused.value.message == patched
    else:
        assert of_pod({"spec": spec}, {"spec": patch}) == {"spec": patched}


@pytest.mark.parametrize(
    ("api_version", "name", "document", "patch", "patched"),
    [
        ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration",
         {"webhooks": [{"name": "a"}]}, {"webhooks": [{"name": "b"}]},
         {"webhooks": [{"name": "b"}, {"name": "a"}]}),
        ("apps/v1", "Deployment",
         {"spec": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}}},
         {"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}},
         {"spec": {"strategy": {"type": "Recreate"}}}),
        ("apps/v1", "ControllerRevision", {"data": {"f": ["a"]}}, {"data": {"f": ["b"]}},
         {"data": {"f": ["b"]}}),
        ("apps/v1", "ControllerRevision", {"data": {"f": {"a": 1}}}, {"data": {"f": {"b": 2}}},
         'unable to find api field in struct RawExtension for the json field "f"'),
    ],
)  # fmt: skip
def test_patches_of_other_kinds(
    api_version: str, name: str, document: Document, patch: Document, patched: Any
) -> None:
    kind = built_in().find(api_version, name)
    assert kind is not None
    if isinstance(patched, str):
        with pytest.raises(PatchError) as refused:
            strategic_merged(kind, document, patch)
        assert refused.value.message == patched
    else:
        assert strategic_merged(kind, document, patch) == patched


@pytest.mark.parametrize(
    ("document", "patch", "rest"),
    [
        ({}, "x", "x"),
        ({"spec": {"a": 1}}, {"spec": "x"}, {"spec": "x"}),
        ({"spec": {"hostname": "a"}}, {"spec": {"hostname": "b", "priority": 3}},
         {"spec": {"hostname": "b", "priority": 3}}),
        ({}, {"spec": {"containers": [{"name": "a", "env": [
            {"$patch": "delete", "name": "x"}, {"name": "y"}]}]}},
         {"spec": {"containers": [{"name": "a", "env": [{"name": "y"}]}]}}),
        ({"metadata": {"labels": {"a": "1"}}},
         {"metadata": {"labels": {"a": "2", "b": {"$patch": "delete"}}}},
         {"metadata": {"labels": {"a": "2", "b": {"$patch": "delete"}}}}),
    ],
)  # fmt: skip
def test_what_upstream_leaves_of_a_patch(document: Document, patch: Any, rest: Any) -> None:
    kind = built_in().find("v1", "Pod")
    assert kind is not None
    assert applied_rest(kind, document, patch) == rest


# ------------------------------------------------------------------------------ field sets


def test_members_and_operations_on_empty_sets() -> None:
    nested: Document = {"f:a": {".": LEAF, "f:b": LEAF}}
    assert [is_member(node) for node in (LEAF, {".": LEAF}, {"f:a": LEAF})] == [True, True, False]
    assert union(nested, {}) is nested
    assert union(nested, nested) is nested
    assert union({"f:a": {"f:b": LEAF}}, {"f:a": {"f:b": LEAF}}) == {"f:a": {"f:b": LEAF}}
    assert intersection({".": LEAF, "f:a": LEAF}, {".": LEAF, "f:a": LEAF}) == {"f:a": LEAF}
    assert difference({".": LEAF, "f:a": LEAF}, {".": LEAF, "f:a": LEAF}) == {".": LEAF}
    assert without({".": LEAF, "f:a": LEAF}, {".": LEAF, "f:a": LEAF}) == {".": LEAF}
    assert without({"f:a": LEAF}, {"f:a": {"f:b": LEAF}}) == {"f:a": LEAF}
    assert without({"f:a": {"f:b": LEAF, "f:c": LEAF}}, {"f:a": {"f:b": LEAF}}) == {
        "f:a": {"f:c": LEAF}
    }
    assert contains({"f:a": {".": LEAF, "f:b": LEAF}}, {"f:a": {".": LEAF}})
    assert not contains({"f:a": {"f:c": LEAF}}, {"f:a": {"f:b": LEAF}})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "must be an object"),
        ({"f:a": []}, "must be an object"),
        ({"f": {}}, "key must be 2 characters long:"),
        ({"ab": {}}, "missing colon: ab"),
        ({"i:1.5": {}}, 'strconv.Atoi: parsing "1.5": invalid syntax'),
        ({"i:": {}}, 'strconv.Atoi: parsing "": invalid syntax'),
        ({"i:++5": {}}, 'strconv.Atoi: parsing "++5": invalid syntax'),
        ({f"i:{LONG}": {}}, f'strconv.Atoi: parsing "{LONG}": value out of range'),
        ({"k:5": {}}, "not an object: k:5"),
    ],
)
def test_a_malformed_set_says_why(given: Any, message: str) -> None:
    with pytest.raises(ElementError) as refused:
        canonical(given)
    assert str(refused.value) == message


def test_elements_that_are_in_the_form_stay_and_their_children_are_sorted() -> None:
    given: Document = {"f:b": {"f:z": {}, "f:y": {".": {}, "f:x": {}}}, "f:": {}, "i:-1": {}}
    assert canonical(given) == {
        "f:": {}, "f:b": {"f:y": {".": {}, "f:x": {}}, "f:z": {}}, "i:-1": {},
    }  # fmt: skip
    assert [*canonical(given)] == ["f:", "f:b", "i:-1"]


def test_values_of_several_types_have_an_order() -> None:
    names = (
        "v:null", "v:true", "v:false", 'v:"b"', 'v:"a"', "v:2", "v:-1.5", "i:10", "i:9",
        'k:{"a":true}', 'k:{"a":"x"}', 'k:{"a":1,"b":2}', "f:z", "f:a",
    )  # fmt: skip
    assert list(paths(dict.fromkeys(names, LEAF))) == [
        ".a", ".z", "[a=1,b=2]", '[a="x"]', "[a=true]", "[=-1.5]", "[=2]", '[="a"]', '[="b"]',
        "[=false]", "[=true]", "[=null]", "[9]", "[10]",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("found", "left"),
    [
        ({"f:spec": LEAF}, {"f:spec": LEAF}),
        ({"f:apiVersion": LEAF, "f:kind": LEAF, "f:data": LEAF}, {"f:data": LEAF}),
        ({"f:metadata": {".": LEAF, "f:name": LEAF}}, {}),
        ({"f:metadata": {".": LEAF, "f:labels": {".": LEAF, "f:name": LEAF}, "f:uid": LEAF}},
         {"f:metadata": {"f:labels": {".": LEAF, "f:name": LEAF}}}),
        ({"f:metadata": {"f:name": {"f:x": LEAF}}}, {"f:metadata": {"f:name": {"f:x": LEAF}}}),
    ],
)  # fmt: skip
def test_some_fields_have_no_managers(found: Document, left: Document) -> None:
    assert owned(found) == left


META, SPEC = struct_type("meta.v1.ObjectMeta"), struct_type("core.v1.PodSpec")


def keys_of(found: Document) -> list[str]:
    """Return the keys of a set at all levels, in their order."""
    return [each for key, inside in found.items() for each in (key, *keys_of(inside))]


def test_sets_of_fields_are_sorted() -> None:
    metadata = {"labels": {"b": "1", "a": "1"}, "finalizers": ["b", "a"], "annotations": {"c": ""}}
    expected = [
        "f:annotations", ".", "f:c", "f:finalizers", ".", 'v:"a"', 'v:"b"', "f:labels", ".",
        "f:a", "f:b",
    ]  # fmt: skip
    changed = difference_of({}, metadata, META).changed
    assert keys_of(dict(sorted(changed.items()))) == expected
    assert keys_of(difference_of(metadata, {}, META).removed["f:finalizers"]) == [
        ".", 'v:"a"', 'v:"b"',
    ]  # fmt: skip
    assert keys_of(field_set(metadata, META)) == [
        "f:annotations", "f:c", "f:finalizers", 'v:"a"', 'v:"b"', "f:labels", "f:a", "f:b",
    ]  # fmt: skip
    before, after = {"finalizers": ["d", "c"]}, {"finalizers": ["b", "a"]}
    found = difference_of(before, after, META)
    assert (keys_of(found.changed), keys_of(found.removed)) == (
        ["f:finalizers", 'v:"a"', 'v:"b"'], ["f:finalizers", 'v:"c"', 'v:"d"'],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("value", "items", "left"),
    [
        ({"nodeSelector": ["a"]}, {"f:nodeSelector": {"f:x": LEAF}}, {"nodeSelector": []}),
        ({"tolerations": [{"key": "a"}]}, {"f:tolerations": {"f:x": LEAF}}, {"tolerations": []}),
        ({"hostname": "a"}, {"f:hostname": {"f:x": LEAF}}, {"hostname": "a"}),
        ({"hostname": "a"}, {}, {"hostname": "a"}),
        ({"hostname": "a"}, {"f:hostname": LEAF}, None),
        ({"nodeSelector": {"a": "1"}}, {"f:nodeSelector": {"f:a": LEAF}}, {"nodeSelector": {}}),
        ({"affinity": "x"}, {"f:affinity": {"f:a": LEAF}}, {"affinity": "x"}),
    ],
)
def test_what_is_left_of_values_of_another_form(value: Any, items: Document, left: Any) -> None:
    assert removed_from(value, items, SPEC) == left


def test_results_are_kept_up_to_a_number_and_a_size() -> None:
    results: _Results[int] = _Results()
    half = b"x" * (2 * MIB)
    assert results.keep(("a", half), 1) == 1
    results.keep(("b", half), 2)
    assert len(results) == 2
    results.keep(("c", b"x"), 3)
    assert results == {("c", b"x"): 3}
    results.keep(("d", half), 4)
    results.keep(("e", half[1:]), 5)
    assert len(results) == 3
    many: _Results[int] = _Results()
    for number in range(256):
        many.keep((str(number), b""), number)
    assert len(many) == 256
    many.keep(("last", b""), 0)
    assert len(many) == 1


def test_a_kind_is_named_as_go_prints_it() -> None:
    assert gvk_text("apps/v1", "Deployment") == "apps/v1, Kind=Deployment"
    assert gvk_text("v1", "Pod") == "/v1, Kind=Pod"


# --------------------------------------------------------------------------------- entries


def entry(manager: str, operation: str = "Update", **others: Any) -> Document:
    plain = {"apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"f:a": {}}}
    return {"manager": manager, "operation": operation, **plain, **others}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (3, "must be an object"),
        (entry("a", "Patch"), "operation must be `Apply` or `Update`"),
        (entry("a", apiVersion=""), "apiVersion must not be empty"),
        (entry("a", fieldsType=""), "missing fieldsType in managed fields entry 1"),
        (entry("a", fieldsType="V2"), 'invalid fieldsType "V2" in managed fields entry 1'),
        (entry("a", fieldsV1={"f": {}}), "error decoding set: key must be 2 characters long:"),
    ],
)
def test_entries_of_a_client_are_checked(given: Any, message: str) -> None:
    with pytest.raises(EntriesError) as refused:
        read_entries([entry("b"), given], is_stored=False)
    assert str(refused.value) == message


def test_entries_of_a_client_are_brought_into_form() -> None:
    given = entry("", fieldsV1={"f:b": {}, "f:a": {".": {}}})
    (manager,) = found = read_entries([given], is_stored=False)
    assert manager == Manager("", "Update", "v1", "")
    assert found[manager].fields == {"f:a": {}, "f:b": {}}
    assert written_entries(found) == [given | {"fieldsV1": {"f:a": {}, "f:b": {}}}]
    assert read_entries([entry("a", fieldsV1=None)])[Manager("a", "Update", "v1", "")].fields == {}
    assert read_entries(None) == {}


def test_times_are_whole_seconds() -> None:
    assert seconds(None) == 0
    assert seconds("soon") == 0
    assert seconds("1970-01-01T00:01:00.9Z") == 60


@pytest.mark.parametrize(
    ("entries", "resets"),
    [([], True), ([{}], True), ([{}, {}], False), ([{"manager": "a"}], False), (None, False)],
)
def test_entries_are_cleared_by_an_empty_list_or_entry(entries: Any, *, resets: bool) -> None:
    assert is_reset(entries) == resets


def test_what_was_updated_counts_as_applied() -> None:
    one, two = entry("m", time="2026-01-01T00:00:00Z"), entry("other")
    status = entry("m", subresource="status", fieldsV1={"f:s": {}})
    applied = entry("m", "Apply", fieldsV1={"f:b": {}})
    made = with_update_as_apply(with_entries({}, [one, two, status, applied]), "m")
    assert made["metadata"]["managedFields"] == [
        entry("m", "Apply", fieldsV1={"f:s": {}}, subresource="status"),
        entry("m", "Apply", fieldsV1={"f:a": {}, "f:b": {}}, time="2026-01-01T00:00:00Z"),
        two,
    ]


def test_only_equal_entries_keep_their_times() -> None:
    def of(**others: Any) -> Document:
        return with_entries({"data": {}}, [entry("a", **others)])

    old = of(time="1")
    assert with_unchanged_times(old, of(time="2")) is old
    assert with_unchanged_times(old, same := of(time="1")) is same
    changed = of(time="2", fieldsV1={"f:b": {}})
    assert with_unchanged_times(old, changed) is changed
    assert with_unchanged_times({}, changed) is changed
    other = of(time="2") | {"data": {"b": 1}}
    assert with_unchanged_times(old, other) is other


# -------------------------------------------------------------------------------- messages


def test_conflicts_are_listed_by_manager() -> None:
    one = Conflict(manager='"a"', field=".x")
    assert (
        ApplyConflictError([one]).message == 'Apply failed with 1 conflict: conflict with "a": .x'
    )
    several = ApplyConflictError(
        [one, Conflict(manager='"b"', field=".y"), Conflict(manager='"a"', field=".z")]
    )
    assert several.message == (
        'Apply failed with 3 conflicts: conflicts with "a":\n- .x\n- .z\nconflicts with "b":\n- .y'
    )
    assert (several.code, several.reason, several.has_details) == (409, "Conflict", False)
    assert several.causes[1] == {
        "reason": "FieldManagerConflict", "message": 'conflict with "b"', "field": ".y",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ('é"', r'"é\""'),
        (None, "interface {}(nil)"),
        ([], "[]interface {}{}"),
        ({}, "map[string]interface {}{}"),
        ({"b": [True], "a": 1.5}, 'map[string]interface {}{"a":1.5, "b":[]interface {}{true}}'),
    ],
)
def test_values_are_printed_in_full(value: Any, text: str) -> None:
    assert printed_in_full(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (False, "false"),
        (123456.0, "123456"),
        (999999.5, "999999.5"),
        (0.00012, "0.00012"),
        (0.000012, "1.2e-05"),
        (-1e100, "-1e+100"),
        ([None, {}], "[<nil> map[]]"),
    ],
)
def test_values_are_printed(value: Any, text: str) -> None:
    assert printed(value) == text


def test_a_value_that_does_not_fit_is_named_by_its_form() -> None:
    values: tuple[Any, ...] = ([], "x", True, 1, 1.5, {}, None)
    texts = [wrong_json(value, "T") for value in values]
    forms = ("array", "string", "bool", "number", "number", "object", "object")
    assert texts == [f"json: cannot unmarshal {form} into Go T" for form in forms]
