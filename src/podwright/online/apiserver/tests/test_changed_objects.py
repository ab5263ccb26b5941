"""Changes of objects for a comparison: whole messages, identities, and what is read."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.objects import InputError, Node, Pod
from podwright.apimachinery.schema import decode
from podwright.online.apiserver.records.object_changes import (
    NodeTaint,
    ObjectName,
    ObjectPatch,
    changed_objects,
)
from podwright.online.apiserver.tests.conftest import pod
from podwright.testing import make_node, make_pod

NODES = [make_node("n1", taints=["a:NoSchedule", "b:NoExecute"]), make_node("n2")]
DEVICE_CLASS = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "DeviceClass",
    "metadata": {"name": "gpu"},
    "spec": {},
}
CUSTOM = {
    "apiVersion": "scheduling.podwright.dev/v1",
    "kind": "Thing",
    "metadata": {"name": "x"},
}


def node_patch(name: str, **patch: Any) -> dict[str, Any]:
    return {"patches": [ObjectPatch(kind="Node", name=name, patch=patch)]}


def put(**document: Any) -> dict[str, Any]:
    return {"put": [{"apiVersion": "v1", "kind": "Node", **document}]}


@pytest.mark.parametrize(
    ("changes", "errors"),
    [
        (
            {"put": [{**CUSTOM, "apiVersion": "apps/v1", "kind": "Deployment"}]},
            ["objects[0].kind: the scheduler does not read objects of apps/v1 Deployment"],
        ),
        (
            {"put": [{"kind": "Node", "metadata": {"name": "n"}}]},
            ["objects[0].apiVersion: Required value"],
        ),
        (
            {"put": [{"apiVersion": "v1", "metadata": {"name": "n"}}]},
            ["objects[0].kind: Required value"],
        ),
        (
            {"put": [{"apiVersion": ["v1"], "kind": "Node", "metadata": {"name": "n"}}]},
            ["objects[0].apiVersion: Required value"],
        ),
        (
            {"put": [{"apiVersion": "v1", "kind": {}, "metadata": {"name": "n"}}]},
            ["objects[0].kind: Required value"],
        ),
        (
            put(metadata={"generateName": "n-"}),
            ["objects[0].metadata.name: Required value: generateName makes no name here"],
        ),
        (
            put(metadata={"name": "n"}, spec={"unschedulabel": True}),
            ['objects[0].spec.unschedulabel: unknown field; did you mean "unschedulable"?'],
        ),
        (
            node_patch("n1", metadata={"name": "n3"}),
            ["patches[0].patch.metadata: the name of an object cannot be changed"],
        ),
        (
            node_patch("n1", metadata={"name": "n3"}, spec={"unschedulable": "x"}),
            ['patches[0].patch.spec.unschedulable: Invalid value: "x": must be true or false'],
        ),
        (
            node_patch("n3", spec={}),
            ["patches[0].name: there is no Node n3"],
        ),
        (
            {"removed": [ObjectName(kind="Node", name="n1"), ObjectName(kind="Node", name="n1")]},
            ["removed[1].name: there is no Node n1"],
        ),
        (
            {"removed": [ObjectName(kind="Job", name="default/x")]},
            ['removed[0].kind: the scheduler does not read objects of kind "Job"'],
        ),
        (
            {"removed": [ObjectName(kind="Nodes", name="n1")]},
            [
                'removed[0].kind: the scheduler does not read objects of kind "Nodes";'
                " did you mean Node?"
            ],
        ),
        (
            {"without_taints": [NodeTaint(node="n9", key="a")]},
            ["withoutTaints[0].node: there is no Node n9"],
        ),
        (
            {
                "without_taints": [
                    NodeTaint(node="n1", key="c"),
                    NodeTaint(node="n1", key="a", effect="NoExecute"),
                    NodeTaint(node="n2", key="a"),
                ]
            },
            [
                "withoutTaints[0].key: node n1 has no taint c; it has a:NoSchedule, b:NoExecute",
                "withoutTaints[1].key: node n1 has no taint a:NoExecute;"
                " it has a:NoSchedule, b:NoExecute",
                "withoutTaints[2].key: node n2 has no taint a; it has no taints",
            ],
        ),
        (
            {"rescheduled": "default/wen"},
            ["pod: there is no pod default/wen; did you mean default/web?"],
        ),
        (node_patch("team-node", spec={}), ["patches[0].name: there is no Node team-node"]),
        ({"rescheduled": "n1"}, ["pod: there is no pod n1"]),
    ],
)
def test_what_is_wrong_is_named_in_one_line_each(changes, errors):
    with pytest.raises(InputError) as raised:
        changed_objects([*NODES, make_pod("web")], **changes)
    assert [f"{each.path}: {each.message}" for each in raised.value.errors] == errors
    assert {each.source for each in raised.value.errors} == {"the request"}


def test_a_manifest_without_a_namespace_is_in_default_if_its_kind_has_namespaces():
    given = [
        pod("a"),
        {**pod("b"), "metadata": {"name": "b", "namespace": "team"}},
        DEVICE_CLASS,
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}},
    ]
    found = changed_objects([], put=given).after
    assert [(each.kind, each.key) for each in found] == [
        ("Pod", "default/a"), ("Pod", "team/b"), ("DeviceClass", "gpu"), ("Node", "n"),
    ]  # fmt: skip


def test_what_the_server_sets_is_not_read():
    sent = {
        "name": "n", "uid": "u", "resourceVersion": "7", "generation": 4, "selfLink": "/n",
        "managedFields": [{"manager": "x", "operation": "Apply"}], "labels": {"a": "b"},
    }  # fmt: skip
    (found,) = changed_objects([], **put(metadata=sent)).after
    metadata = found.metadata
    assert (metadata.uid, metadata.resource_version, metadata.labels) == ("", "", {"a": "b"})
    assert not metadata.generation


def test_a_patch_is_a_strategic_merge_patch_and_a_patched_pod_is_scheduled_again():
    web = make_pod("web", node="n1", labels={"a": "b"})
    patch = {"spec": {"containers": [{"name": "c2", "image": "i"}]}}
    changes = [ObjectPatch(kind="Pod", name="default/web", patch=patch)]
    before, after = changed_objects([*NODES, web], patches=changes)
    earlier, later = before[-1], after[-1]
    assert isinstance(earlier, Pod)
    assert isinstance(later, Pod)
    assert sorted(each.name for each in later.spec.containers) == sorted(
        [web.spec.containers[0].name, "c2"]
    )
    assert (earlier.spec.node_name, later.spec.node_name) == ("", "")
    assert later.metadata.labels == {"a": "b"}
    assert before[:2] == after[:2] == NODES


def test_an_object_that_was_removed_or_added_is_found_by_later_changes():
    added = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n3"}}
    found = changed_objects(
        NODES,
        put=[added],
        patches=[ObjectPatch(kind="Node", name="n3", patch={"spec": {"unschedulable": True}})],
        removed=[ObjectName(kind="Node", name="n2")],
    )
    after = {each.key: each for each in found.after if isinstance(each, Node)}
    assert list(after) == ["n1", "n3"]
    assert after["n3"].spec.unschedulable
    assert [each.key for each in found.before] == ["n1", "n2"]


def test_a_pod_that_only_one_side_has_keeps_what_it_has():
    web = make_pod("web", node="n1")
    found = changed_objects([web], removed=[ObjectName(kind="Pod", name="default/web")])
    assert (found.before, found.after) == ([web], [])
    found = changed_objects([web], rescheduled="default/web")
    assert [each.key for each in found.before] == [each.key for each in found.after]
    assert found.before == found.after


def test_a_pod_that_is_moved_by_a_change_and_rescheduled_keeps_the_given_node():
    web = make_pod("web", node="n1")
    patch = ObjectPatch(kind="Pod", name="default/web", patch={"spec": {"nodeName": "n2"}})
    found = changed_objects([*NODES, web], patches=[patch], rescheduled="default/web").after[-1]
    assert isinstance(found, Pod)
    assert found.spec.node_name == "n2"


def test_the_pods_of_a_removed_node_leave_it_on_the_side_after_only():
    nominated = decode(
        {**pod("p", nodeName="n1"), "status": {"nominatedNodeName": "n2"},
         "metadata": {"name": "p", "namespace": "default"}}
    )  # fmt: skip
    removed = [ObjectName(kind="Node", name="n1")]
    before, after = changed_objects([*NODES, nominated], removed=removed)
    assert before == [*NODES, nominated]
    (_, left) = after
    assert isinstance(left, Pod)
    assert (left.spec.node_name, left.status.nominated_node_name or "") == ("", "")
