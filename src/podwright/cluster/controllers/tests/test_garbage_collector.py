"""Dependents of deleted owners are deleted, in the order of the propagation policy."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st
from tests.properties.effort import effort

from podwright.cluster.api.deletion import FOREGROUND
from podwright.cluster.controllers.core.garbage_collector import GarbageCollector
from podwright.cluster.controllers.tests.single_sync import SingleSync
from podwright.cluster.controllers.tests.staged_cluster import Cluster, at, document
from podwright.cluster.store.history import with_metadata

MAP = ("", "ConfigMap")


def owned(cluster: Cluster, name: str, *owners: str, blocks: bool = True, **metadata: Any) -> Any:
    references = [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "name": owner,
            "uid": cluster.get(MAP, f"default/{owner}").uid,
            "blockOwnerDeletion": blocks,
            "controller": index == 0,
        }
        for index, owner in enumerate(owners)
    ]
    metadata = {"ownerReferences": references, **metadata}
    cluster.add(document("ConfigMap", name, namespace="default", metadata=metadata))
    return cluster.get(MAP, f"default/{name}")


def a_family() -> Cluster:
    """Return a cluster of a grandparent `g`, a parent `p` and a child `c`."""
    cluster = Cluster((GarbageCollector,))
    owned(cluster, "g")
    owned(cluster, "p", "g")
    owned(cluster, "c", "p")
    return cluster


def names(cluster: Cluster) -> list[str]:
    return [obj.name for obj in cluster.all(MAP)]


def test_background_deletion_removes_the_owner_first():
    cluster = a_family()
    cluster.invariants.append(lambda c: seen.append(names(c)))
    seen: list[list[str]] = []
    cluster.delete(MAP, "default/g", propagation="Background")
    assert seen == [["c", "p"], ["c"], []]


def test_a_circle_of_owners_does_not_block_their_deletion():
    cluster = a_family()
    child = cluster.get(MAP, "default/c")
    circle = [
        {"apiVersion": "v1", "kind": "ConfigMap", "name": "c", "uid": child.uid,
         "blockOwnerDeletion": True}
    ]  # fmt: skip
    cluster.edit(MAP, "default/g", "metadata", ownerReferences=circle)
    cluster.delete(MAP, "default/g", propagation="Foreground")
    assert names(cluster) == []


def test_foreground_deletion_removes_the_owner_last():
    cluster = a_family()
    cluster.invariants.append(lambda c: seen.append(names(c)))
    seen: list[list[str]] = []
    cluster.delete(MAP, "default/g", propagation="Foreground")
    assert [after for before, after in zip([[], *seen], seen, strict=False) if before != after] == [
        ["c", "g", "p"],
        ["g", "p"],
        ["g"],
        [],
    ]


def test_an_owner_does_not_wait_for_a_non_blocking_dependent():
    cluster = Cluster((GarbageCollector,))
    owned(cluster, "g")
    owned(cluster, "p", "g", blocks=False, finalizers=["example.com/hold"])
    cluster.delete(MAP, "default/g", propagation="Foreground")
    assert names(cluster) == ["p"]
    assert cluster.get(MAP, "default/p").metadata.deletion_timestamp is not None


def test_an_owner_waits_for_a_dependent_with_a_finalizer():
    cluster = Cluster((GarbageCollector,))
    owned(cluster, "g")
    held = owned(cluster, "p", "g", finalizers=["example.com/hold"])
    cluster.delete(MAP, "default/g", propagation="Foreground")
    assert cluster.get(MAP, "default/g").metadata.finalizers == (FOREGROUND,)
    cluster.edit(MAP, held.key, "metadata", finalizers=None)
    assert names(cluster) == []


def test_orphaned_dependents_lose_their_owner_reference():
    cluster = a_family()
    cluster.delete(MAP, "default/g", propagation="Orphan")
    assert names(cluster) == ["c", "p"]
    assert cluster.get(MAP, "default/p").metadata.owner_references == ()
    assert cluster.get(MAP, "default/c").metadata.owner_references != ()


@pytest.mark.parametrize(
    ("namespace", "owner_goes", "stays"),
    [
        pytest.param("default", False, True, id="its owner exists"),
        pytest.param("default", True, False, id="its owner was removed"),
        pytest.param("other", False, False, id="its owner is in another namespace"),
    ],
)
def test_a_dependent_with_shared_references_is_checked_against_its_own_owner(
    namespace, owner_goes, stays
):
    cluster = Cluster((GarbageCollector,))
    owned(cluster, "g")
    child = owned(cluster, "c", "g")
    twin = with_metadata(child, name="d", namespace=namespace)
    assert twin.metadata.owner_references is child.metadata.owner_references
    if owner_goes:
        cluster.delete(MAP, "default/g")
    cluster.add(twin)
    assert cluster.has(MAP, f"{namespace}/d") == stays


def test_a_dependent_of_a_replaced_owner_is_deleted():
    cluster = Cluster((GarbageCollector,))
    owned(cluster, "g")
    twin = with_metadata(owned(cluster, "c", "g"), name="d")
    cluster.store.put(with_metadata(cluster.get(MAP, "default/g"), uid="another"))
    cluster.settle()
    cluster.add(twin)
    assert not cluster.has(MAP, "default/d")


def test_one_existing_owner_keeps_an_object():
    cluster = Cluster((GarbageCollector,))
    owned(cluster, "a")
    owned(cluster, "b")
    owned(cluster, "c", "a", "b")
    cluster.delete(MAP, "default/a")
    (left,) = cluster.get(MAP, "default/c").metadata.owner_references
    assert left.name == "b"
    cluster.delete(MAP, "default/b")
    assert names(cluster) == []


@pytest.mark.parametrize(
    ("api", "kind", "stays"),
    [
        pytest.param("apps/v1", "ReplicaSet", False, id="a kind that is served"),
        pytest.param("example.com/v1", "Widget", True, id="an unknown kind"),
        pytest.param("apps/v1beta1", "ReplicaSet", True, id="a version that is not served"),
    ],
)
def test_an_object_whose_owner_never_existed(api, kind, stays):
    cluster = Cluster((GarbageCollector,))
    owner = {"apiVersion": api, "kind": kind, "name": "o", "uid": "never"}
    cluster.add(
        document("ConfigMap", "x", namespace="default", metadata={"ownerReferences": [owner]})
    )
    assert names(cluster) == (["x"] if stays else [])


def test_an_owner_of_the_same_name_with_another_uid_does_not_count():
    cluster = Cluster((GarbageCollector,))
    owned(cluster, "a")
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": "another"}
    cluster.add(
        document("ConfigMap", "x", namespace="default", metadata={"ownerReferences": [owner]})
    )
    assert names(cluster) == ["a"]


def test_an_owner_may_be_added_after_its_dependents():
    cluster = Cluster((GarbageCollector,))
    owned(cluster, "a")
    parent = cluster.get(MAP, "default/a")
    other = Cluster((GarbageCollector,))
    child = {"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": parent.uid}
    other.store.put(
        document("ConfigMap", "x", namespace="default", metadata={"ownerReferences": [child]})
    )
    other.store.put(parent)
    other.settle()
    assert names(other) == ["a", "x"]


@effort(60)
@given(data=st.data())
def test_no_dependent_without_owner_remains_after_any_deletions(data):
    cluster = Cluster((GarbageCollector,))
    for number in range(data.draw(st.integers(1, 8))):
        present = names(cluster)
        owners = (
            data.draw(st.lists(st.sampled_from(present), unique=True, max_size=2))
            if present
            else []
        )
        owned(cluster, f"o{number}", *owners, blocks=data.draw(st.booleans()))
        if data.draw(st.booleans()) and names(cluster):
            key = f"default/{data.draw(st.sampled_from(names(cluster)))}"
            policy = data.draw(st.sampled_from([None, "Background", "Foreground", "Orphan"]))
            cluster.delete(MAP, key, propagation=policy)
        if data.draw(st.booleans()):
            cluster.replace_controllers()
        uids = {obj.uid for obj in cluster.all(MAP)}
        for obj in cluster.all(MAP):
            references = obj.metadata.owner_references
            assert {each.uid for each in references} <= uids, f"{obj.name} names a removed owner"
            assert obj.metadata.deletion_timestamp is None, f"{obj.name} is not removed"


@pytest.mark.parametrize("policy", ["Orphan", "Foreground"])
def test_many_dependents_are_written_in_several_syncs(policy):
    cluster = Cluster((GarbageCollector,))
    owned(cluster, "owner")
    for number in range(230):
        owned(cluster, f"child-{number:03}", "owner")
    counts = []
    sync = cluster.controllers.handle

    def counted(event: Any, now_ns: int) -> Any:
        actions = sync(event, now_ns)
        counts.append(len(actions))
        return actions

    cluster.controllers.handle = counted  # type: ignore[method-assign]
    cluster.delete(MAP, "default/owner", propagation=policy)
    cluster.run(5)
    left = names(cluster)
    assert left == ([] if policy == "Foreground" else [f"child-{i:03}" for i in range(230)])
    assert all(not cluster.get(MAP, f"default/{name}").metadata.owner_references for name in left)
    # One more write waits for the next sync.
    assert max(counts) == 101


def test_the_index_of_dependents_is_empty_when_they_are_gone():
    collectors: list[GarbageCollector] = []

    def make(lister):
        collectors.append(GarbageCollector(lister))
        return collectors[0]

    cluster = Cluster((make,))
    for name in ("a", "b"):
        owned(cluster, name)
    for name in ("c", "d", "e"):
        owned(cluster, name, "a", "b")
    (collector,) = collectors
    uids = {name: cluster.get(MAP, f"default/{name}").uid for name in ("a", "b")}
    index = collector._uncontrolled_dependents
    assert {uid: len(keys) for uid, keys in index.items()} == {uids["b"]: 3}
    cluster.delete(MAP, "default/c", propagation="Background")
    assert {uid: len(keys) for uid, keys in index.items()} == {uids["b"]: 2}
    # References that are taken away leave the index too, and new ones enter it.
    dependent = cluster.get(MAP, "default/d")
    first, second = dependent.raw["metadata"]["ownerReferences"]
    cluster.edit(MAP, "default/d", "metadata", ownerReferences=[first])
    assert {uid: len(keys) for uid, keys in index.items()} == {uids["b"]: 1}
    cluster.edit(MAP, "default/d", "metadata", ownerReferences=[first, second])
    assert {uid: len(keys) for uid, keys in index.items()} == {uids["b"]: 2}
    for name in ("a", "b"):
        cluster.delete(MAP, f"default/{name}", propagation="Foreground")
    assert names(cluster) == []
    assert index == {}
    assert collector._waiting == {}


def test_a_dependent_that_lost_its_reference_blocks_no_owner():
    cluster = a_family()
    owned(cluster, "held", "p", finalizers=["example.com/held"])
    cluster.delete(MAP, "default/p", propagation="Foreground")
    assert names(cluster) == ["g", "held", "p"]
    cluster.edit(MAP, "default/held", "metadata", ownerReferences=[])
    assert names(cluster) == ["g", "held"]


def test_a_second_deletion_in_the_foreground_changes_the_policy():
    cluster = a_family()
    owned(cluster, "held", "p", finalizers=["example.com/held"])
    cluster.edit(MAP, "default/p", "metadata", finalizers=["example.com/p"])
    cluster.delete(MAP, "default/p", propagation="Background")
    assert names(cluster) == ["c", "g", "held", "p"]
    cluster.delete(MAP, "default/p", propagation="Foreground")
    cluster.edit(MAP, "default/held", "metadata", finalizers=[])
    assert names(cluster) == ["g", "p"]
    cluster.edit(MAP, "default/p", "metadata", finalizers=[])
    assert names(cluster) == ["g"]


def test_a_dependent_whose_own_dependents_are_orphaned_is_deleted_so():
    cluster = Cluster((GarbageCollector,))
    owned(cluster, "g")
    owned(cluster, "p", "g", finalizers=["orphan"])
    owned(cluster, "c", "p")
    cluster.delete(MAP, "default/g", propagation="Background")
    assert names(cluster) == ["c"]
    assert cluster.get(MAP, "default/c").metadata.owner_references == ()


@pytest.mark.parametrize(
    ("api", "kind", "is_gone"),
    [
        pytest.param("v1", "ConfigMap", True, id="a kind that is known"),
        pytest.param("example.com/v1", "Widget", False, id="a kind that no server knows"),
    ],
)
def test_a_dependent_stays_while_the_kind_of_one_of_its_owners_is_not_known(api, kind, is_gone):
    cluster = Cluster((GarbageCollector,))
    owned(cluster, "g")
    other = {"apiVersion": api, "kind": kind, "name": "x", "uid": "gone"}
    first = {
        "apiVersion": "v1", "kind": "ConfigMap", "name": "g",
        "uid": cluster.get(MAP, "default/g").uid,
    }  # fmt: skip
    metadata = {"ownerReferences": [first, other]}
    cluster.add(document("ConfigMap", "c", namespace="default", metadata=metadata))
    cluster.delete(MAP, "default/g", propagation="Background")
    assert names(cluster) == ([] if is_gone else ["c"])


def in_namespace(namespace: str, name: str, *owners: Any) -> Any:
    references = [
        {"apiVersion": "v1", "kind": owner.kind, "name": owner.name, "uid": owner.uid}
        for owner in owners
    ]
    kind = "ConfigMap" if namespace else "Node"
    metadata = {"uid": f"uid-{name}", "ownerReferences": references}
    return document(kind, name, namespace=namespace, metadata=metadata)


@pytest.mark.parametrize("namespace", ["other", ""], ids=["a namespace", "a node"])
@pytest.mark.parametrize("is_first", [True, False], ids=["owner first", "dependent first"])
def test_an_owner_in_another_namespace_is_an_event(namespace, is_first):
    owner = in_namespace("default", "o")
    dependent = in_namespace(namespace, "d", owner)
    found = SingleSync(GarbageCollector)
    given = [owner, dependent] if is_first else [dependent, owner]
    keys = [key for each in given for key in found.put(each)]
    kind = dependent.kind
    event, *others = found.sync(f"|{kind}|{dependent.key}")
    assert f"|{kind}|{dependent.key}" in keys
    assert event == (
        f"Warning {kind} {dependent.key} OwnerRefInvalidNamespace by garbage-collector-controller:"
        f" ownerRef [v1/ConfigMap, namespace: {namespace}, name: o, uid: uid-o] does not exist in"
        f' namespace "{namespace}"'
    )
    # An object without a namespace stays, because an owner in one cannot be looked up.
    assert others == ([f"delete {kind} {dependent.key}"] if namespace else [])
    assert found.sync(f"|{kind}|{dependent.key}") == others, "the Event is written once"


def test_only_the_first_new_owner_in_another_namespace_is_reported():
    owners = [in_namespace("default", name) for name in "ab"]
    found = SingleSync(GarbageCollector, *owners, in_namespace("", "o"))
    key = "|ConfigMap|other/d"

    def reported(*of: Any) -> list[str]:
        found.put(in_namespace("other", "d", found.lister.get(("", "Node"), "o"), *of))
        events = [each for each in found.sync(key) if each.startswith("Warning")]
        return [each.partition(" name: ")[2][:1] for each in events]

    assert reported(*owners) == ["a"]
    assert reported(owners[0]) == []
    assert reported() == []
    assert reported(owners[1]) == ["b"]


def test_a_dependent_that_its_owner_deletes_is_reported_too():
    elsewhere = in_namespace("other", "e")
    owner = with_metadata(
        in_namespace("default", "o"), finalizers=(FOREGROUND,), deletion_timestamp=at(0)
    )
    dependent = in_namespace("default", "d", owner, elsewhere)
    found = SingleSync(GarbageCollector, elsewhere, owner, dependent)
    events = [each for each in found.sync("|ConfigMap|default/o") if each.startswith("Warning")]
    assert len(events) == 1
    found.remove(dependent)
    assert found.sync("|ConfigMap|default/d") == []


def test_objects_that_are_gone_await_no_owner():
    absent = in_namespace("default", "o")
    dependent = in_namespace("other", "d", absent)
    found = SingleSync(GarbageCollector, dependent)
    found.remove(dependent)
    assert found.put(absent) == []
    assert isinstance(found.controller, GarbageCollector)
    assert found.controller._awaited == {}


def test_a_change_of_an_owner_in_another_namespace_is_not_reported_again():
    owner = in_namespace("default", "o")
    dependent = in_namespace("other", "d", owner)
    found = SingleSync(GarbageCollector, owner, dependent)
    assert found.put(with_metadata(owner, resource_version="2")) == []
    assert found.sync("|ConfigMap|other/d")[0].startswith("Warning")
    assert found.put(owner) == []
    assert not any(each.startswith("Warning") for each in found.sync("|ConfigMap|other/d"))


def test_an_owner_in_another_namespace_may_replace_an_object_of_its_name():
    owner = in_namespace("default", "o")
    earlier = with_metadata(owner, uid="earlier")
    found = SingleSync(GarbageCollector, earlier, in_namespace("other", "d", owner))
    assert not any(each.startswith("Warning") for each in found.sync("|ConfigMap|other/d"))
    assert found.put(owner) == ["|ConfigMap|other/d"]
    assert found.sync("|ConfigMap|other/d")[0].startswith("Warning")


def test_only_the_blocking_references_of_a_circle_are_changed():
    going = {"finalizers": (FOREGROUND,), "deletion_timestamp": at(0)}
    owners = [with_metadata(in_namespace("default", name), **going) for name in "gh"]
    held = in_namespace("default", "p", *owners)
    held.raw["metadata"]["ownerReferences"][1]["blockOwnerDeletion"] = True
    held = document("ConfigMap", "p", namespace="default", metadata=held.raw["metadata"])
    child = with_metadata(in_namespace("default", "c", held), **going)
    found = SingleSync(GarbageCollector, *owners, held, child)
    requests: list[Any] = found.controller.sync("|ConfigMap|default/p", 0)
    update, delete = requests
    references = update.obj.raw["metadata"]["ownerReferences"]
    assert [each.get("blockOwnerDeletion") for each in references] == [None, False]
    assert delete.propagation == "Foreground"


def test_dependents_that_share_several_owners_each_wait_for_all_of_them():
    """The references of many objects may be one value, as those of a template are."""
    cluster = Cluster((GarbageCollector,))
    for name in ("g", "h"):
        owned(cluster, name)
    child = owned(cluster, "c", "g", "h")
    twin = with_metadata(child, name="d")
    assert twin.metadata.owner_references is child.metadata.owner_references
    cluster.add(twin)
    cluster.delete(MAP, "default/h")
    left = {
        name: [each.name for each in cluster.get(MAP, f"default/{name}").metadata.owner_references]
        for name in "cd"
    }
    assert left == {"c": ["g"], "d": ["g"]}
    cluster.delete(MAP, "default/g")
    assert names(cluster) == []


def test_dependents_that_share_an_owner_which_does_not_control_them_go_with_it():
    cluster = Cluster((GarbageCollector,))
    owned(cluster, "g")
    reference = {
        "apiVersion": "v1", "kind": "ConfigMap", "name": "g",
        "uid": cluster.get(MAP, "default/g").uid,
    }  # fmt: skip
    first = document(
        "ConfigMap", "c", namespace="default", metadata={"ownerReferences": [reference]}
    )
    cluster.add(first)
    child = cluster.get(MAP, "default/c")
    cluster.add(*[with_metadata(child, name=name) for name in "de"])
    cluster.delete(MAP, "default/g")
    assert names(cluster) == []
