"""Changes of the objects of a cluster for a comparison."""

import pytest

from podwright.apimachinery.objects import InputError, with_nominated_node_name
from podwright.apimachinery.schema import decode
from podwright.online.apiserver.records.object_changes import (
    NodeTaint,
    ObjectName,
    ObjectPatch,
    changed_objects,
)
from podwright.online.apiserver.tests.conftest import pod
from podwright.testing import make_node, make_pod


def by_name(objects):
    return {(each.kind, each.key): each for each in objects}


def sides(objects, **changes):
    found = changed_objects(objects, **changes)
    return by_name(found.before), by_name(found.after)


def errors_of(objects, **changes):
    with pytest.raises(InputError) as raised:
        changed_objects(objects, **changes)
    return [(each.path, each.message) for each in raised.value.errors]


def on_node(name, node="n1", **options):
    return make_pod(name, node=node, **options)


NODE = ObjectName(kind="Node", name="n1")


def test_without_changes_both_sides_are_the_objects_as_they_are():
    objects = [make_node("n1"), on_node("web")]
    found = changed_objects(objects)
    assert found.before == found.after == objects


def test_pods_of_a_removed_node_are_scheduled_again_but_not_those_that_go_with_it():
    owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "agent", "uid": "u"}
    owned = pod("agent", nodeName="n1")
    owned["metadata"] |= {"namespace": "default", "ownerReferences": [owner | {"controller": True}]}
    mirror = {"kubernetes.io/config.mirror": "x"}
    objects = [
        make_node("n1"), make_node("n2"), on_node("web"), on_node("other", "n2"),
        decode(owned), on_node("static", annotations=mirror),
    ]  # fmt: skip
    before, after = sides(objects, removed=[NODE])
    assert before == by_name(objects)
    assert set(after) == {
        ("Node", "n2"), ("Pod", "default/web"), ("Pod", "default/other"),
    }  # fmt: skip
    assert after["Pod", "default/web"].spec.node_name == ""
    assert after["Pod", "default/other"].spec.node_name == "n2"


def test_a_pod_that_is_scheduled_again_has_no_node_on_both_sides():
    waits = with_nominated_node_name(on_node("web"), "n1")
    for given in ({"rescheduled": "default/web"}, {"put": [pod("web")]}):
        before, after = sides([make_node("n1"), waits, on_node("other")], **given)
        for side in (before, after):
            assert side["Pod", "default/web"].spec.node_name == ""
            assert side["Pod", "default/web"].status.nominated_node_name in ("", None)
            assert side["Pod", "default/other"].spec.node_name == "n1"


@pytest.mark.parametrize(
    ("node", "expected"),
    [pytest.param("n1", "", id="the node that it has"), pytest.param("n2", "n2", id="another")],
)
def test_a_changed_pod_keeps_only_the_node_that_the_change_gives_it(node, expected):
    _, after = sides([make_node("n1"), on_node("web")], put=[pod("web", nodeName=node)])
    assert after["Pod", "default/web"].spec.node_name == expected


def test_an_object_that_is_replaced_keeps_its_identity_and_a_new_one_is_added():
    node = make_node("n1", cpu="2")
    manifest = {
        "apiVersion": "v1", "kind": "Node",
        "metadata": {
            "name": "n1", "uid": "other", "resourceVersion": "9", "generation": 3,
            "managedFields": [{"manager": "x"}], "selfLink": "/x", "labels": {"a": "b"},
        },
    }  # fmt: skip
    before, after = sides([node], put=[manifest, pod("new")])
    found = after["Node", "n1"]
    assert (found.metadata.uid, found.metadata.resource_version) == (
        node.metadata.uid, node.metadata.resource_version,
    )  # fmt: skip
    assert found.metadata.labels == {"a": "b"}
    assert before["Node", "n1"] == node
    assert set(after) - set(before) == {("Pod", "default/new")}


def test_changes_are_made_in_the_order_of_the_parameters():
    manifest = {
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": "new"},
        "spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]},
    }  # fmt: skip
    taints = [{"key": key, "effect": "NoExecute"} for key in "ab"]
    patch = {"spec": {"taints": taints}}
    _, after = sides(
        [],
        put=[manifest],
        patches=[ObjectPatch(kind="Node", name="new", patch=patch)],
        without_taints=[NodeTaint(node="new", key="a")],
    )
    left = [(each.key, each.effect) for each in after["Node", "new"].spec.taints]
    assert left == [("b", "NoExecute")]


def test_a_patch_merges_lists_by_key_if_the_api_server_has_the_kind_itself():
    group = {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup",
        "metadata": {"name": "g", "namespace": "default", "finalizers": ["example.com/a"]},
        "spec": {"minMember": 2},
    }  # fmt: skip
    own = pod("own")
    own["metadata"]["finalizers"] = ["example.com/a"]
    added = {"metadata": {"finalizers": ["example.com/b"]}}
    _, after = sides(
        [],
        put=[group, own],
        patches=[
            ObjectPatch(
                kind="PodGroup", name="default/g", patch=added | {"spec": {"minMember": 3}}
            ),
            ObjectPatch(kind="Pod", name="default/own", patch=added),
        ],
    )
    found = after["PodGroup", "default/g"]
    assert (found.spec.min_member, list(found.metadata.finalizers)) == (3, ["example.com/b"])
    both = sorted(after["Pod", "default/own"].metadata.finalizers)
    assert both == ["example.com/a", "example.com/b"]


def test_a_patch_that_cannot_be_applied_is_named_and_the_others_are_read():
    wrong = {"spec": {"containers": [{"image": "without a name"}]}}
    found = errors_of(
        [on_node("a"), on_node("b")],
        patches=[ObjectPatch(kind="Pod", name=f"default/{name}", patch=wrong) for name in "ab"],
    )
    assert [path for path, _ in found] == ["patches[0].patch", "patches[1].patch"]


@pytest.mark.parametrize(
    ("effect", "left"),
    [
        (None, ["b:NoSchedule"]),
        ("NoExecute", ["a:NoSchedule", "b:NoSchedule"]),
        ("NoSchedule", ["a:NoExecute", "b:NoSchedule"]),
    ],
)
def test_taints_of_a_key_are_removed_or_the_one_with_the_effect(effect, left):
    node = make_node("n1", taints=["a:NoSchedule", "a:NoExecute", "b:NoSchedule"])
    _, after = sides([node], without_taints=[NodeTaint(node="n1", key="a", effect=effect)])
    assert [f"{each.key}:{each.effect}" for each in after["Node", "n1"].spec.taints] == left


def test_what_is_wrong_is_named_with_its_path():
    node = make_node("n1", taints=["a:NoSchedule"])
    objects = [node, make_node("n2"), on_node("web")]
    found = errors_of(
        objects,
        patches=[ObjectPatch(kind="Node", name="n1", patch={"metadata": {"name": "n3"}})],
        removed=[ObjectName(kind="Node", name="n9"), ObjectName(kind="Nod", name="n1")],
        without_taints=[
            NodeTaint(node="n1", key="a", effect="NoExecute"),
            NodeTaint(node="n2", key="a"),
            NodeTaint(node="n3", key="a"),
        ],
        rescheduled="default/wed",
    )
    expected = [
        ("patches[0].patch.metadata", "the name of an object cannot be changed"),
        ("removed[0].name", "there is no Node n9"),
        ("removed[1].kind", 'does not read objects of kind "Nod"; did you mean Node?'),
        ("withoutTaints[0].key", "node n1 has no taint a:NoExecute; it has a:NoSchedule"),
        ("withoutTaints[1].key", "node n2 has no taint a; it has no taints"),
        ("pod", "there is no pod default/wed; did you mean default/web?"),
    ]
    assert [path for path, _ in found if path != "withoutTaints[2].node"] == [
        path for path, _ in expected
    ]
    for path, message in expected:
        assert any(path == at and message in text for at, text in found), path


def test_a_kind_of_several_groups_is_found_by_its_version():
    claim = {
        "apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "gpu"},
        "spec": {},
    }  # fmt: skip
    added = changed_objects([], put=[claim]).after
    for version in (None, "resource.k8s.io/v1"):
        name = ObjectName(kind="DeviceClass", name="gpu", api_version=version)
        assert changed_objects(added, removed=[name]).after == []
    other = ObjectName(kind="DeviceClass", name="gpu", api_version="apps/v1")
    ((path, message),) = errors_of(added, removed=[other])
    assert path == "removed[0].kind"
    assert "does not read" in message
