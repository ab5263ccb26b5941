"""Strategic merge patches: keys, order, directives, and wrong ones."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.patching import PatchError, applied_rest, strategic_merged
from podwright.apimachinery.patching.errors import REJECTED
from podwright.apimachinery.schema import Kind, built_in

Patch = dict[str, Any]


def kind(name: str) -> Kind:
    """Return a kind of v1."""
    found = built_in().find("v1", name)
    assert found is not None
    return found


def patched_spec(spec: Patch, patch: Patch) -> Any:
    """Return the spec of a pod after a patch of it."""
    return strategic_merged(kind("Pod"), {"spec": spec}, {"spec": patch})["spec"]


def names(items: list[Patch]) -> str:
    """Return the names of items."""
    return "".join(item["name"] for item in items)


def containers(text: str) -> list[Patch]:
    """Return containers, each named by a letter."""
    return [{"name": name, "image": f"{name}:1"} for name in text]


def keys(text: str) -> list[Patch]:
    """Return the items of `$setElementOrder/containers`."""
    return [{"name": name} for name in text]


ABC = {"containers": containers("abc")}


def test_an_item_is_merged_by_its_key() -> None:
    spec = patched_spec(ABC, {"containers": [{"name": "b", "image": "b:2"}]})
    assert [item["image"] for item in spec["containers"]] == ["a:1", "b:2", "c:1"]
    assert spec["containers"][0] is ABC["containers"][0]


@pytest.mark.parametrize(
    ("patch", "order"),
    [
        pytest.param({"containers": containers("x")}, "xabc", id="a new item stands first"),
        pytest.param({"containers": containers("bx")}, "abxc", id="after the one it follows"),
        pytest.param({"containers": containers("xc")}, "xabc", id="before the one it precedes"),
        pytest.param({"containers": containers("ca")}, "bca", id="the order of the patch"),
        pytest.param(
            {"containers": containers("x"), "$setElementOrder/containers": keys("abcx")},
            "abcx", id="the order that the patch names",
        ),
        pytest.param({"$setElementOrder/containers": keys("cba")}, "cba", id="order alone"),
        pytest.param({"$setElementOrder/containers": keys("ca")}, "bca", id="order of some"),
        pytest.param(
            {
                "containers": [{"name": "a", "$patch": "delete"}, *containers("x")],
                "$setElementOrder/containers": keys("xbc"),
            },
            "xbc", id="order after deletion",
        ),
        pytest.param({"containers": [{"name": "b", "$patch": "delete"}]}, "ac", id="delete"),
        pytest.param({"containers": [{"name": "x", "$patch": "delete"}]}, "abc",
                     id="delete what is not there"),
        pytest.param({"containers": [{"$patch": "replace"}, *containers("xy")]}, "xy",
                     id="replace the list"),
        pytest.param({"containers": []}, "abc", id="an empty list merges nothing"),
    ],
)  # fmt: skip
def test_order_of_a_merged_list(patch: Patch, order: str) -> None:
    assert names(patched_spec(ABC, patch)["containers"]) == order


def test_the_same_new_key_twice_is_one_item() -> None:
    patch = {"containers": [{"name": "x", "image": "1"}, {"name": "x", "image": "2"}]}
    spec = patched_spec(ABC, patch)
    assert spec["containers"][0] == {"name": "x", "image": "2"}
    assert names(spec["containers"]) == "xabc"


def test_a_list_is_replaced_whatever_it_has() -> None:
    spec = {"containers": [{"image": "noname"}]}
    patch = {"containers": [{"$patch": "replace"}, *containers("ab")]}
    assert patched_spec(spec, patch) == {"containers": containers("ab")}


def test_a_list_without_keys_is_replaced() -> None:
    spec = {"tolerations": [{"key": "a"}], "containers": []}
    assert patched_spec(spec, {"tolerations": [{"key": "b"}]})["tolerations"] == [{"key": "b"}]
    dns = {"nameservers": ["1.1.1.1", "8.8.8.8"]}
    patch = {"nameservers": ["9.9.9.9"], "$setElementOrder/nameservers": ["9.9.9.9"]}
    found = patched_spec({"dnsConfig": dns, "containers": []}, {"dnsConfig": patch})
    assert found["dnsConfig"] == {"nameservers": ["9.9.9.9"]}


@pytest.mark.parametrize(
    ("patch", "finalizers"),
    [
        ({"finalizers": ["c", "a"]}, ["c", "a", "b"]),
        ({"finalizers": ["a"]}, ["a", "b"]),
        ({"$deleteFromPrimitiveList/finalizers": ["a", "x"]}, ["b"]),
        ({"$deleteFromPrimitiveList/finalizers": ["x"]}, ["a", "b"]),
        ({"finalizers": ["c"], "$deleteFromPrimitiveList/finalizers": ["a"],
          "$setElementOrder/finalizers": ["b", "c"]}, ["b", "c"]),
        ({"$retainKeys": ["finalizers"], "$deleteFromPrimitiveList/finalizers": ["b"],
          "$setElementOrder/finalizers": ["c", "a"], "finalizers": ["c"]}, ["c", "a"]),
    ],
)  # fmt: skip
def test_scalars_of_a_merged_list(patch: Patch, finalizers: list[str]) -> None:
    document = {"metadata": {"finalizers": ["a", "b"]}}
    patched = strategic_merged(kind("Pod"), document, {"metadata": patch})
    assert patched["metadata"]["finalizers"] == finalizers


def test_deletion_from_a_list_that_is_not_there_changes_nothing() -> None:
    document = {"metadata": {"name": "a"}}
    patch = {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a"]}}
    assert strategic_merged(kind("Pod"), document, patch) is document


@pytest.mark.parametrize(
    ("patch", "node_selector"),
    [
        pytest.param({"nodeSelector": {"c": "3"}}, {"a": "1", "b": "2", "c": "3"}, id="merge"),
        pytest.param({"nodeSelector": {"a": None}}, {"b": "2"}, id="null deletes"),
        pytest.param({"nodeSelector": {"x": None}}, {"a": "1", "b": "2"}, id="null of nothing"),
        pytest.param({"nodeSelector": {"$patch": "replace", "z": "1"}}, {"z": "1"}, id="replace"),
        pytest.param({"nodeSelector": {"$patch": "delete"}}, {}, id="delete"),
        pytest.param({"nodeSelector": {"$retainKeys": ["a", "c"], "c": "3"}},
                     {"a": "1", "c": "3"}, id="retain keys"),
        pytest.param({"nodeSelector": {"$retainKeys": ["c"], "c": "3"}}, {"c": "3"},
                     id="retain no key that is there"),
        pytest.param({"nodeSelector": None}, None, id="null of the whole"),
    ],
)  # fmt: skip
def test_maps(patch: Patch, node_selector: Any) -> None:
    spec = patched_spec({"nodeSelector": {"a": "1", "b": "2"}}, patch)
    assert spec.get("nodeSelector") == node_selector


@pytest.mark.parametrize(
    ("patch", "spec"),
    [
        pytest.param({"nodeSelector": {"a": None, "b": "1"}}, {"nodeSelector": {"b": "1"}},
                     id="nulls are left out"),
        pytest.param({"nodeSelector": {"$patch": "delete"}}, {}, id="a directive for nothing"),
        pytest.param({"affinity": {"podAffinity": {"$patch": "delete"}}}, {"affinity": {}},
                     id="a directive for nothing inside"),
        pytest.param({"containers": [{"name": "a", "$patch": "delete"}, *containers("b")]},
                     {"containers": containers("b")}, id="a directive in a new list"),
        pytest.param(
            {
                "$setElementOrder/containers": keys("ba"),
                "containers": [*containers("ba"), {"name": "c", "$patch": "delete"}],
            },
            {"containers": containers("ba")}, id="a new list with an order",
        ),
        pytest.param({"$setElementOrder/containers": keys("a")}, {}, id="order of nothing"),
    ],
)  # fmt: skip
def test_fields_that_were_not_set(patch: Patch, spec: Patch) -> None:
    assert patched_spec({"hostname": "h"}, patch) == {"hostname": "h"} | spec


def test_a_value_of_another_form_replaces() -> None:
    assert patched_spec({"nodeSelector": "wrong"}, {"nodeSelector": {"a": "1"}}) == {
        "nodeSelector": {"a": "1"}
    }
    assert patched_spec({"priority": "1"}, {"priority": 2}) == {"priority": 2}


@pytest.mark.parametrize("patch", [{}, None, {"spec": {}}, {"spec": {"containers": keys("a")}}])
def test_a_patch_that_changes_nothing_gives_an_equal_document(patch: Any) -> None:
    document = {"metadata": {"name": "a"}, "spec": ABC}
    patched = strategic_merged(kind("Pod"), document, patch)
    assert patched == document
    assert patched["metadata"] is document["metadata"]


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        pytest.param({"containers": [{"image": "noname"}]},
                     "map: map[image:noname] does not contain declared merge key: name",
                     id="no key"),
        pytest.param({"containers": [{"$patch": "delete"}]},
                     "map: map[$patch:delete] does not contain declared merge key: name",
                     id="no key to delete"),
        pytest.param({"containers": [{"name": "a", "$patch": "bogus"}]},
                     "unknown patch type: bogus in map: map[$patch:bogus name:a]",
                     id="an unknown directive in a list"),
        pytest.param({"containers": [{"name": "a", "$patch": "merge"}]},
                     "merging lists cannot yet be specified in the patch", id="merge in a list"),
        pytest.param({"nodeSelector": {"$patch": "merge", "a": "1"}},
                     "unknown patch type: merge in map: map[$patch:merge a:1]",
                     id="merge in a map"),
        pytest.param({"nodeSelector": {"$retainKeys": "a"}},
                     "invalid patch format of retainKeys", id="retain keys is no list"),
        pytest.param({"nodeSelector": {"$retainKeys": ["a", 1]}},
                     "invalid patch format of retainKeys", id="a key to retain is no text"),
        pytest.param({"nodeSelector": {"$retainKeys": ["a"], "b": "1"}},
                     "invalid patch format of retainKeys", id="retain keys without a key"),
        pytest.param({"$setElementOrder/containers": {}},
                     "expected a []interface {}, but received a map[string]interface {}",
                     id="the order is no list"),
        pytest.param({"$setElementOrder": []},
                     "invalid patch format of setElementOrder list", id="the order of no list"),
        pytest.param({"$deleteFromPrimitiveList": []},
                     "invalid patch format of primitive list", id="deletion from no list"),
        pytest.param({"$setElementOrder/containers": keys("ab"), "containers": containers("ba")},
                     "The order in patch list:\n"
                     "[map[image:b:1 name:b] map[image:a:1 name:a]]\n"
                     " doesn't match $setElementOrder list:\n[map[name:a] map[name:b]]\n",
                     id="two orders"),
        pytest.param({"$setElementOrder/containers": keys("ab"),
                      "containers": [{"$patch": "replace"}, *containers("ba")]},
                     "The order in patch list:\n[map[$patch:replace] map[image:b:1 name:b] "
                     "map[image:a:1 name:a]]\n"
                     " doesn't match $setElementOrder list:\n[map[name:a] map[name:b]]\n",
                     id="two orders of what replaces"),
        pytest.param({"$setElementOrder/containers": [{"image": "x"}],
                      "containers": containers("a")},
                     "map: map[image:x] does not contain declared merge key: name",
                     id="an order without keys"),
        pytest.param({"$setElementOrder/containers": keys("a"), "containers": "x"},
                     "expected a []interface {}, but received a string",
                     id="the list is no list"),
        pytest.param({"containers": ["x"]},
                     "list element types are not identical: [[map[image:a:1 name:a] "
                     "map[image:b:1 name:b] map[image:c:1 name:c]] [x]]",
                     id="items of another form"),
    ],
)  # fmt: skip
def test_wrong_directives(patch: Patch, message: str) -> None:
    spec = ABC | {"nodeSelector": {"a": "1"}}
    with pytest.raises(PatchError) as caught:
        patched_spec(spec, patch)
    # Upstream classifies only errors about the format of a directive; others are internal errors.
    is_format = message.startswith("invalid patch format")
    expected = (400, "BadRequest") if is_format else (500, "")
    assert (caught.value.code, caught.value.reason) == expected
    assert caught.value.message == message


def test_lists_of_lists_are_rejected() -> None:
    with pytest.raises(PatchError) as caught:
        patched_spec({"containers": [["y"]]}, {"containers": [["x"]]})
    assert (caught.value.code, caught.value.message) == (422, REJECTED)


@pytest.mark.parametrize(
    ("directive", "shown"), [(None, "%!s(<nil>)"), (1, "%!s(int64=1)"), (["a"], "[a]")]
)
def test_a_directive_of_another_type_is_printed_as_go_does(directive: Any, shown: str) -> None:
    with pytest.raises(PatchError) as caught:
        patched_spec({"nodeSelector": {"a": "1"}}, {"nodeSelector": {"$patch": directive}})
    assert caught.value.message.startswith(f"unknown patch type: {shown} in map: ")


def test_a_deletion_list_that_is_null_deletes_the_list() -> None:
    pod = {"metadata": {"finalizers": ["a"]}}
    patch = {"metadata": {"$deleteFromPrimitiveList/finalizers": None}}
    assert strategic_merged(kind("Pod"), pod, patch) == {"metadata": {}}


@pytest.mark.parametrize(
    ("metadata", "patch", "rest"),
    [
        pytest.param({"labels": {}}, {"labels": {"$patch": "replace", "b": "1"}},
                     {"labels": {"b": "1"}}, id="a map that was replaced"),
        pytest.param({"labels": {}}, {"labels": {"$patch": "delete"}},
                     {"labels": {"$patch": "delete"}}, id="a map that was deleted"),
        pytest.param({}, {"labels": {"$patch": "replace"}}, {"labels": {"$patch": "replace"}},
                     id="a map that is not there"),
        pytest.param({}, {"$retainKeys": ["labels"], "labels": {"a": None, "b": "1"}},
                     {"labels": {"b": "1"}}, id="nulls that delete nothing"),
        pytest.param({}, {"$setElementOrder/finalizers": ["a"], "finalizers": ["a"]}, {},
                     id="a list that was ordered"),
        pytest.param({"labels": {"a": "1"}}, {"labels": {"a": None}, "name": None},
                     {"labels": {"a": None}, "name": None}, id="nulls that delete"),
        pytest.param({"ownerReferences": [{"uid": "x"}]},
                     {"ownerReferences": [{"uid": "x", "$retainKeys": ["uid"]},
                                          {"uid": "y", "$retainKeys": ["uid"]},
                                          {"uid": "z", "$patch": "delete"}]},
                     {"ownerReferences": [{"uid": "x"}, {"uid": "y", "$retainKeys": ["uid"]},
                                          {"uid": "z", "$patch": "delete"}]},
                     id="items that are there, new, and gone"),
    ],
)  # fmt: skip
def test_what_was_applied_is_not_printed(
    metadata: dict[str, Any], patch: dict[str, Any], rest: dict[str, Any]
) -> None:
    found = applied_rest(kind("Pod"), {"metadata": metadata}, {"metadata": patch})
    assert found == {"metadata": rest}


def test_an_unknown_field_cannot_be_merged() -> None:
    with pytest.raises(PatchError) as caught:
        patched_spec({"bogus": {"a": 1}}, {"bogus": {"b": 1}})
    assert caught.value.message == (
        'unable to find api field in struct PodSpec for the json field "bogus"'
    )


def test_a_patch_must_be_an_object() -> None:
    with pytest.raises(PatchError) as caught:
        strategic_merged(kind("Pod"), {}, [])
    assert caught.value.message == (
        "json: cannot unmarshal array into Go value of type map[string]interface {}"
    )


def test_no_argument_is_changed() -> None:
    document = {"spec": {"containers": containers("ab"), "nodeSelector": {"a": "1"}}}
    patch = {
        "spec": {
            "containers": [{"name": "a", "$patch": "delete"}, {"name": "b", "image": "b:2"}],
            "nodeSelector": {"$retainKeys": ["b"], "b": "2"},
        }
    }
    before = repr((document, patch))
    strategic_merged(kind("Pod"), document, patch)
    assert repr((document, patch)) == before
