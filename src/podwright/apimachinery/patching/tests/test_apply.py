"""Server-side apply and the tracking of other writes, beyond what the recordings show."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.patching import (
    ApplyConflictError,
    ObjectType,
    PatchError,
    applied,
    custom_object_type,
    object_type,
    with_managed_fields,
)
from podwright.apimachinery.schema import built_in

Document = dict[str, Any]

NOW, LATER = "2026-01-02T03:04:05Z", "2026-01-02T03:04:06Z"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def type_of(api_version: str, kind: str) -> ObjectType:
    """Return the type of a built-in kind."""
    found = built_in().find(api_version, kind)
    assert found is not None
    return object_type(found)


CONFIG_MAP = type_of("v1", "ConfigMap")
POD = type_of("v1", "Pod")


def config_map(data: Any = None, **metadata: Any) -> Document:
    """Return a ConfigMap."""
    document: Document = {"apiVersion": "v1", "kind": "ConfigMap"}
    document["metadata"] = {"name": "c", **metadata}
    return document if data is None else document | {"data": data}


def stored(document: Document) -> Document:
    """Return an object as it is stored."""
    return {**document, "metadata": {**document["metadata"], "uid": "u"}}


def entries(document: Document) -> dict[str, Any]:
    """Return the fields of the managers of an object, by name and operation."""
    return {
        f"{one['manager']} {one['operation']}": one["fieldsV1"]
        for one in document["metadata"].get("managedFields", [])
    }


def apply(live: Document | None, document: Document, manager: str, **options: Any) -> Document:
    """Apply a ConfigMap."""
    return applied(CONFIG_MAP, live, document, manager, **({"now": NOW} | options))


def test_an_apply_that_creates_has_one_entry() -> None:
    assert apply(None, config_map({"a": "1"}), "m")["metadata"] == {
        "name": "c",
        "managedFields": [
            {
                "manager": "m",
                "operation": "Apply",
                "apiVersion": "v1",
                "time": NOW,
                "fieldsType": "FieldsV1",
                "fieldsV1": {"f:data": {"f:a": {}}},
            }
        ],
    }


def test_an_apply_of_nothing_has_no_entry() -> None:
    assert apply(None, config_map(), "m")["metadata"] == {"name": "c"}


def test_the_same_apply_again_gives_the_object_itself() -> None:
    live = stored(apply(None, config_map({"a": "1"}), "m"))
    assert apply(live, config_map({"a": "1"}), "m", now=LATER) is live


def test_a_change_renews_the_time_of_its_manager_only() -> None:
    live = stored(apply(None, config_map({"a": "1"}), "m"))
    live = stored(apply(live, config_map({"b": "1"}), "n"))
    after = apply(live, config_map({"a": "2"}), "m", now=LATER)
    times = {one["manager"]: one["time"] for one in after["metadata"]["managedFields"]}
    assert times == {"n": NOW, "m": LATER}
    assert [one["manager"] for one in after["metadata"]["managedFields"]] == ["n", "m"]


def test_a_manager_that_joins_without_a_change_has_no_time() -> None:
    live = stored(apply(None, config_map({"a": "1"}), "m"))
    after = apply(live, config_map({"a": "1"}), "n", now=LATER)
    assert [one.get("time") for one in after["metadata"]["managedFields"]] == [None, NOW]


def test_conflicts_name_their_managers_and_fields() -> None:
    live = stored(apply(None, config_map({"a": "1", "b": "1"}), "z"))
    live = with_managed_fields(
        CONFIG_MAP, live, {**live, "data": {"a": "1", "b": "1", "c": "1"}}, "e", now=NOW
    )
    with pytest.raises(ApplyConflictError) as caught:
        apply(live, config_map({"a": "2", "b": "2", "c": "2"}), "m")
    error = caught.value
    assert (error.code, error.reason) == (409, "Conflict")
    assert error.message == (
        'Apply failed with 3 conflicts: conflicts with "e" using v1:\n- .data.c\n'
        'conflicts with "z":\n- .data.a\n- .data.b'
    )
    assert error.causes == [
        {
            "reason": "FieldManagerConflict",
            "message": 'conflict with "e" using v1',
            "field": ".data.c",
        },
        {"reason": "FieldManagerConflict", "message": 'conflict with "z"', "field": ".data.a"},
        {"reason": "FieldManagerConflict", "message": 'conflict with "z"', "field": ".data.b"},
    ]


def test_force_takes_the_fields_of_others() -> None:
    live = stored(apply(None, config_map({"a": "1", "b": "1"}), "z"))
    after = apply(live, config_map({"a": "2"}), "m", force=True)
    assert after["data"] == {"a": "2", "b": "1"}
    assert entries(after) == {
        "m Apply": {"f:data": {"f:a": {}}},
        "z Apply": {"f:data": {"f:b": {}}},
    }


def test_the_last_field_of_a_map_that_is_given_up_removes_the_map() -> None:
    live = stored(apply(None, config_map({"a": "1"}), "m"))
    after = apply(live, config_map(), "m")
    assert "data" not in after
    assert after["metadata"] == {"name": "c", "uid": "u"}


def test_an_empty_list_that_is_applied_goes_with_the_items_that_were_given_up() -> None:
    live = stored(apply(None, config_map(finalizers=["a/b"]), "m"))
    assert "finalizers" not in apply(live, config_map(finalizers=[]), "m")["metadata"]
    assert (
        apply(stored(config_map()), config_map(finalizers=[]), "m")["metadata"]["finalizers"] == []
    )


def test_an_empty_map_that_is_applied_stays_without_the_fields_that_were_given_up() -> None:
    live = stored(apply(None, {**config_map(), "data": {"k": "v"}}, "m"))
    assert apply(live, {**config_map(), "data": {}}, "m")["data"] == {}


def test_metadata_without_managers_stays_when_the_last_field_of_a_manager_goes() -> None:
    live = stored(apply(None, config_map(finalizers=["a/b"]), "m"))
    found = apply(live, config_map({"k": "v"}), "m")
    assert found["metadata"]["uid"] == "u"
    assert "finalizers" not in found["metadata"]


def test_an_item_goes_if_its_item_is_given_up_though_another_has_a_field_of_it() -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}
    two = {"containers": [{"name": "a", "image": "1"}, {"name": "b", "image": "1"}]}
    live = stored(applied(POD, None, {**pod, "spec": two}, "m", now=NOW))
    changed = {"containers": [{"name": "a", "image": "1"}, {"name": "b", "image": "2"}]}
    live = with_managed_fields(POD, live, {**live, "spec": changed}, "e", now=NOW)
    assert entries(live)["e Update"] == {
        "f:spec": {"f:containers": {'k:{"name":"b"}': {"f:image": {}}}}
    }
    one = {**pod, "spec": {"containers": [{"name": "a", "image": "1"}]}}
    after = applied(POD, live, one, "m", now=LATER)
    assert after["spec"] == {"containers": [{"name": "a", "image": "1"}]}
    assert list(entries(after)) == ["m Apply"]


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({}, "invalid object type: /, Kind="),
        ({"apiVersion": "apps/v1", "kind": "X"}, "invalid object type: apps/v1, Kind=X"),
        ({"apiVersion": "a/b/c", "kind": "ConfigMap"}, "invalid object type: /, Kind="),
        ({"apiVersion": ["v1"], "kind": 5}, "invalid object type: /, Kind="),
        ({"apiVersion": "v2", "kind": "ConfigMap"}, "invalid object type: /v2, Kind=ConfigMap"),
        (config_map(managedFields=[]), "metadata.managedFields must be nil"),
        (config_map({"a": 1}, managedFields=[{}]), "metadata.managedFields must be nil"),
        (
            config_map({"a": 1}, managedFields={}),
            "failed to create typed patch object (/c; /v1, Kind=ConfigMap): errors:\n"
            "  .data.a: expected string, got &value.valueUnstructured{Value:1}\n"
            "  .metadata.managedFields: expected list, got &{map[]}",
        ),
        (
            config_map() | {"metadata": "c"},
            "failed to create typed patch object (/; /v1, Kind=ConfigMap): .metadata: expected map,"
            " got &{c}",
        ),
        (
            config_map(namespace="n") | {"bogus": 1},
            "failed to create typed patch object (n/c; /v1, Kind=ConfigMap): .bogus: field not "
            "declared in schema",
        ),
        (
            config_map({"a": 1, "b": 2}),
            "failed to create typed patch object (/c; /v1, Kind=ConfigMap): errors:\n"
            "  .data.a: expected string, got &value.valueUnstructured{Value:1}\n"
            "  .data.b: expected string, got &value.valueUnstructured{Value:2}",
        ),
    ],
)
def test_a_wrong_configuration_is_rejected(document: Document, message: str) -> None:
    with pytest.raises(PatchError) as caught:
        apply(None, document, "m")
    code = 500 if message.startswith("failed to create typed") else 400
    assert (caught.value.code, caught.value.message) == (code, message)


def test_an_object_that_was_not_tracked_belongs_to_before_first_apply() -> None:
    live = stored(config_map({"a": "1"}))
    after = apply(live, config_map({"b": "1"}), "m")
    assert entries(after) == {
        "m Apply": {"f:data": {"f:b": {}}},
        "before-first-apply Update": {"f:data": {".": {}, "f:a": {}}},
    }


# ------------------------------------------------------------------------- other writes


def update(live: Document, new: Document, manager: str = "e", **options: Any) -> Document:
    """Write a ConfigMap."""
    return with_managed_fields(CONFIG_MAP, live, new, manager, **({"now": NOW} | options))


def test_a_create_has_an_entry_of_what_it_sets() -> None:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"generateName": "p-", "name": "p-1", "labels": {"a": "b"}},
        "spec": {"containers": [{"name": "c", "resources": {}}], "securityContext": {}},
        "status": {"phase": "Pending"},
    }
    created = with_managed_fields(POD, None, pod, "", now=NOW)
    assert entries(created) == {
        "unknown Update": {
            "f:metadata": {"f:generateName": {}, "f:labels": {".": {}, "f:a": {}}},
            "f:spec": {
                "f:containers": {'k:{"name":"c"}': {".": {}, "f:name": {}, "f:resources": {}}},
                "f:securityContext": {},
            },
        }
    }


def test_creates_with_one_spec_share_its_fields() -> None:
    kind = built_in().find("v1", "Pod")
    assert kind is not None

    def created(name: str) -> Document:
        spec = {"containers": [{"name": "c"}]}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}
        return with_managed_fields(POD, None, kind.with_shared_spec(pod), "m", now=NOW)

    one, other = created("a"), created("b")
    fields = one["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"]
    assert other["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"] is fields


def test_a_write_that_changes_nothing_gives_the_object_itself() -> None:
    live = stored(apply(None, config_map({"a": "1"}), "m"))
    assert update(live, live) is live
    again = {**live, "metadata": dict(live["metadata"])}
    assert update(live, again) == live


def test_a_write_takes_what_it_changes_and_drops_what_it_removes() -> None:
    live = stored(apply(None, config_map({"a": "1", "b": "1", "c": "1"}), "m"))
    after = update(live, {**live, "data": {"a": "2", "b": "1"}})
    assert entries(after) == {
        "m Apply": {"f:data": {"f:b": {}}},
        "e Update": {"f:data": {"f:a": {}}},
    }


def test_the_entry_of_a_manager_grows() -> None:
    live = stored(with_managed_fields(CONFIG_MAP, None, config_map({"a": "1"}), "e", now=NOW))
    after = update(live, {**live, "data": {"a": "1", "b": "1"}}, now=LATER)
    assert entries(after) == {"e Update": {"f:data": {".": {}, "f:a": {}, "f:b": {}}}}
    assert after["metadata"]["managedFields"][0]["time"] == LATER


def test_an_object_without_entries_is_not_tracked() -> None:
    live = stored(config_map({"a": "1"}))
    assert update(live, {**live, "data": {"a": "2"}}) == {**live, "data": {"a": "2"}}


@pytest.mark.parametrize("given", [[], [{}]])
def test_a_request_can_clear_the_entries(given: Any) -> None:
    live = stored(apply(None, config_map({"a": "1"}), "m"))
    cleared = {**live, "metadata": {**live["metadata"], "managedFields": given}}
    assert "managedFields" not in update(live, cleared)["metadata"]


ENTRY = {
    "manager": "x",
    "operation": "Apply",
    "apiVersion": "v1",
    "fieldsType": "FieldsV1",
    "fieldsV1": {"f:data": {"f:a": {".": {}}}},
}


def with_given(live: Document, given: Any) -> Document:
    """Return an object of a request with entries."""
    return {**live, "metadata": {**live["metadata"], "managedFields": given}}


def test_a_request_can_write_the_entries() -> None:
    live = stored(apply(None, config_map({"a": "1"}), "m"))
    after = update(live, with_given(live, [ENTRY]))
    assert entries(after) == {"x Apply": {"f:data": {"f:a": {}}}}


@pytest.mark.parametrize(
    "given",
    [
        pytest.param([ENTRY | {"operation": "Delete"}], id="operation"),
        pytest.param([ENTRY | {"apiVersion": ""}], id="version"),
        pytest.param([ENTRY | {"fieldsType": ""}], id="no type of fields"),
        pytest.param([ENTRY | {"fieldsType": "FieldsV2"}], id="type of fields"),
        pytest.param([ENTRY | {"fieldsV1": {"a": {}}}], id="fields"),
        pytest.param(["x"], id="no object"),
        pytest.param(None, id="null"),
    ],
)
def test_wrong_entries_of_a_request_leave_those_of_the_object(given: Any) -> None:
    live = stored(apply(None, config_map({"a": "1"}), "m"))
    assert entries(update(live, with_given(live, given))) == entries(live)


def test_a_subresource_does_not_write_the_entries() -> None:
    live = stored(apply(None, config_map({"a": "1"}), "m"))
    after = update(live, with_given(live, [ENTRY]), subresource="status")
    assert entries(after) == entries(live)


def test_the_status_has_an_entry_of_its_own_and_the_spec_none() -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"hostname": "h"}}
    live = stored(with_managed_fields(POD, None, pod, "m", now=NOW))
    changed = {**live, "spec": {"hostname": "x"}, "status": {"phase": "Running"}}
    after = with_managed_fields(POD, live, changed, "m", now=NOW, subresource="status")
    assert [
        (one["fieldsV1"], one.get("subresource")) for one in after["metadata"]["managedFields"]
    ] == [({"f:spec": {"f:hostname": {}}}, None), ({"f:status": {"f:phase": {}}}, "status")]
    main = with_managed_fields(POD, live, {**live, "status": {"phase": "Failed"}}, "m", now=NOW)
    assert entries(main) == entries(live)


@pytest.mark.parametrize("subresource", ["ephemeralcontainers", "resize"])
def test_subresources_of_pods_track_what_is_sent(subresource: str) -> None:
    spec: Document = {"containers": [{"name": "c", "image": "1", "resources": {}}]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}
    live = stored(with_managed_fields(POD, None, pod, "m", now=NOW))
    changed = {
        "containers": [{"name": "c", "image": "2", "resources": {"requests": {"cpu": "1"}}}],
        "ephemeralContainers": [{"name": "e"}],
        "hostname": "h",
    }
    after = with_managed_fields(
        POD, live, {**live, "spec": changed}, "s", now=NOW, subresource=subresource
    )
    amounts: Document = {"f:requests": {".": {}, "f:cpu": {}}}
    assert entries(after)["s Update"] == {
        "f:spec": {
            "f:containers": {'k:{"name":"c"}': {"f:image": {}, "f:resources": amounts}},
            "f:ephemeralContainers": {".": {}, 'k:{"name":"e"}': {".": {}, "f:name": {}}},
            "f:hostname": {},
        }
    }


def test_more_than_ten_updaters_are_joined() -> None:
    live = stored(with_managed_fields(CONFIG_MAP, None, config_map({"k": "0"}), "u00", now=NOW))
    for number in range(1, 12):
        data = live["data"] | {f"k{number}": "1"}
        now = f"2026-01-02T03:05:{number:02d}Z"
        live = update(live, {**live, "data": data}, f"u{number:02d}", now=now)
    found = live["metadata"]["managedFields"]
    assert [one["manager"] for one in found] == [
        "ancient-changes", *(f"u{number:02d}" for number in range(3, 12))
    ]  # fmt: skip
    assert found[0]["fieldsV1"] == {"f:data": {".": {}, "f:k": {}, "f:k1": {}, "f:k2": {}}}
    assert found[0]["time"] == "2026-01-02T03:05:02Z"


# ------------------------------------------------------------------------------ versions


def test_entries_of_unknown_versions_are_dropped() -> None:
    live = stored(apply(None, config_map({"a": "1"}), "m"))
    old = with_given(live, [ENTRY | {"apiVersion": "v0"}, *live["metadata"]["managedFields"]])
    assert list(entries(update(old, {**old, "data": {"a": "1", "b": "1"}}))) == [
        "m Apply", "e Update"
    ]  # fmt: skip


ONE = custom_object_type("example.com/v1", "Thing", None)
TWO = custom_object_type("example.com/v2", "Thing", None)


def convert(document: Document, api_version: str) -> tuple[Document, ObjectType] | None:
    """Convert between v1 and v2, where `size` of v1 is `length` of v2."""
    target = {"example.com/v1": ONE, "example.com/v2": TWO}.get(api_version)
    if target is None:
        return None
    names = {"size": "length"} if target is TWO else {"length": "size"}
    spec = {names.get(key, key): value for key, value in (document.get("spec") or {}).items()}
    return {**document, "apiVersion": api_version, "spec": spec}, target


def thing(version: str, **spec: Any) -> Document:
    """Return an object of a kind with two versions."""
    return {
        "apiVersion": f"example.com/{version}",
        "kind": "Thing",
        "metadata": {"name": "t"},
        "spec": spec,
    }


def test_conflicts_are_found_in_the_version_of_the_owner() -> None:
    live = stored(applied(ONE, None, thing("v1", size=1), "m", now=NOW))
    seen = convert(live, "example.com/v2")
    assert seen is not None
    with pytest.raises(ApplyConflictError) as caught:
        applied(TWO, seen[0], thing("v2", length=2), "n", now=NOW, convert=convert)
    assert caught.value.message.endswith('conflict with "m": .spec.size')


def test_a_field_of_another_version_is_given_up() -> None:
    live = stored(applied(ONE, None, thing("v1", size=1, color="red"), "m", now=NOW))
    seen = convert(live, "example.com/v2")
    assert seen is not None
    after = applied(TWO, seen[0], thing("v2", color="red"), "m", now=NOW, convert=convert)
    assert after["spec"] == {"color": "red"}
    assert after["metadata"]["managedFields"][0]["apiVersion"] == "example.com/v2"


def test_a_field_that_another_owns_in_another_version_stays() -> None:
    live = stored(applied(ONE, None, thing("v1", size=1), "m", now=NOW))
    seen = convert(live, "example.com/v2")
    assert seen is not None
    live = stored(applied(TWO, seen[0], thing("v2", length=1), "n", now=NOW, convert=convert))
    after = applied(TWO, live, thing("v2"), "n", now=NOW, convert=convert)
    assert after["spec"] == {"length": 1}


# ----------------------------------------------------------- from client-side apply


def client_applied(text: str) -> Document:
    """Return an object of client-side apply with two data."""
    document = config_map({"a": "1", "b": "1"}, annotations={LAST_APPLIED: text})
    return stored(
        with_managed_fields(CONFIG_MAP, None, document, "kubectl-client-side-apply", now=NOW)
    )


LAST = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"},"data":{"a":"1","b":"0"}}'


def test_kubectl_takes_over_what_it_applied_as_a_client() -> None:
    after = apply(client_applied(LAST), config_map({"a": "2"}), "kubectl")
    assert after["data"] == {"a": "2", "b": "1"}
    assert after["metadata"]["annotations"] == {
        LAST_APPLIED: '{"apiVersion":"v1","data":{"a":"2"},"kind":"ConfigMap",'
        '"metadata":{"name":"c"}}\n'
    }


def test_a_field_that_has_another_value_since_is_a_conflict() -> None:
    with pytest.raises(ApplyConflictError) as caught:
        apply(client_applied(LAST), config_map({"a": "2", "b": "2"}), "kubectl")
    assert [one.field for one in caught.value.conflicts] == [".data.b"]


@pytest.mark.parametrize(
    ("manager", "text"),
    [
        pytest.param("m", LAST, id="another manager"),
        pytest.param("kubectl", "", id="no annotation"),
        pytest.param("kubectl", "{", id="no JSON"),
        pytest.param("kubectl", LAST.replace('"v1"', '"v0"'), id="another version"),
        pytest.param("kubectl", LAST.replace('"1"', "1"), id="a wrong type"),
    ],
)
def test_other_applies_conflict_with_the_client(manager: str, text: str) -> None:
    with pytest.raises(ApplyConflictError) as caught:
        apply(client_applied(text), config_map({"a": "2"}), manager)
    assert [one.field for one in caught.value.conflicts] == [".data.a"]


def test_the_annotation_is_left_out_of_itself_and_dropped_if_it_is_too_long() -> None:
    own = config_map({"a": "2"}, annotations={LAST_APPLIED: "x", "y": "z"})
    after = apply(client_applied(LAST), own, "kubectl", force=True)
    assert after["metadata"]["annotations"] == {
        LAST_APPLIED: '{"apiVersion":"v1","data":{"a":"2"},"kind":"ConfigMap",'
        '"metadata":{"annotations":{"y":"z"},"name":"c"}}\n',
        "y": "z",
    }
    long = apply(client_applied(LAST), config_map({"a": "2" * 300_000}), "kubectl", force=True)
    assert LAST_APPLIED not in long["metadata"]["annotations"]
