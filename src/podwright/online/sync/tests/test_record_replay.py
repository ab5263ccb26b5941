"""The changes of a record, and what a mirror makes of them."""

import json

import pytest

from podwright.apimachinery.objects import InputError
from podwright.online.client import BoundPods, SyncPolicies
from podwright.online.sync.cluster_record import recorded_changes
from podwright.online.sync.mirror import Mirror
from podwright.online.sync.operations import Create
from podwright.scheduler.columns import SPREAD_SELECTOR

OWNER = {
    "apiVersion": "apps/v1",
    "kind": "ReplicaSet",
    "name": "web",
    "uid": "r",
    "controller": True,
}


def line(event, kind, name, *, api_version="v1", **fields):
    metadata = {"name": name, "namespace": "default", "uid": name, **fields.pop("metadata", {})}
    resource = {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}
    return {"time": "2026-11-20T08:48:37.403691Z", "event": event, "resource": resource}


def written(tmp_path, *lines):
    path = tmp_path / "record.jsonl"
    path.write_text("".join(f"{json.dumps(each)}\n" for each in lines))
    return path


def pod(name, **metadata):
    return line("Add", "Pod", name, metadata=metadata, spec={"containers": [{"name": "c"}]})


def test_pods_are_spread_as_the_services_and_owners_of_the_record_imply(tmp_path):
    selector = {"matchLabels": {"app": "web"}}
    path = written(
        tmp_path,
        line("Add", "Service", "web", spec={"selector": {"tier": "front"}}),
        line("Add", "ReplicaSet", "web", api_version="apps/v1", spec={"selector": selector}),
        pod("web-1", labels={"app": "web", "tier": "front"}, ownerReferences=[OWNER]),
        line("Delete", "Service", "web"),
        pod("web-2", labels={"app": "web", "tier": "front"}, ownerReferences=[OWNER]),
        pod("alone", labels={"app": "web"}),
    )
    mirror = Mirror(SyncPolicies(bound=BoundPods.kss))
    created = [
        operation.obj["metadata"]
        for recorded in recorded_changes(path)
        if recorded.change is not None
        for operation in mirror.take(recorded.change)
        if isinstance(operation, Create)
    ]
    assert {each["name"]: each["annotations"].get(SPREAD_SELECTOR) for each in created} == {
        "web-1": "app=web,tier=front",
        "web-2": "app=web",
        "alone": None,
    }


def test_kinds_that_are_not_replayed_differ_from_unknown_objects(tmp_path):
    changes = line("Update", "Node", "n1"), line("Add", "ConfigMap", "c"), line("Add", "Node", "n2")
    found = list(recorded_changes(written(tmp_path, *changes)))
    assert [(each.kind, each.is_replayed, each.change is not None) for each in found] == [
        ("Node", True, False),
        ("ConfigMap", False, False),
        ("Node", True, True),
    ]


def test_groups_of_pods_are_replayed_each_kind_for_itself(tmp_path):
    own, other = "scheduling.k8s.io/v1alpha2", "scheduling.x-k8s.io/v1alpha1"
    path = written(
        tmp_path,
        line("Add", "PodGroup", "g", api_version=own),
        line("Update", "PodGroup", "g", api_version=other),
        line("Add", "PodGroup", "g", api_version=other),
        line("Delete", "PodGroup", "g", api_version=own),
        line("Update", "PodGroup", "g", api_version=other),
    )
    found = [each.change for each in recorded_changes(path)]
    assert [each and (each.kind.api_version, each.change.event) for each in found] == [
        (own, "Add"), None, (other, "Add"), (own, "Delete"), (other, "Update"),
    ]  # fmt: skip


def test_a_line_that_is_no_change_is_named(tmp_path):
    path = written(tmp_path, line("Add", "Node", "n1"), line("Added", "Node", "n1"))
    with pytest.raises(InputError, match="line 2: this is not a change of an object"):
        list(recorded_changes(path))


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param({"time": "yesterday"}, id="no time"),
        pytest.param({"resource": {"apiVersion": "v1", "kind": "Node"}}, id="no name"),
    ],
)
def test_a_change_has_a_time_and_a_name(tmp_path, wrong):
    path = written(tmp_path, line("Add", "Node", "n1"), line("Add", "Node", "n2") | wrong)
    with pytest.raises(InputError, match="line 2: a change needs a time and the name"):
        list(recorded_changes(path))


def test_a_deletion_is_that_of_the_object_that_was_added(tmp_path):
    def named(event, uid):
        return line(event, "Node", "n1", metadata={"uid": uid})

    lines = [named("Add", "u1"), named("Update", "u1"), named("Delete", ""), named("Delete", "")]
    path = written(tmp_path, *lines, named("Add", "u2"))
    found = list(recorded_changes(path))
    changes = [each.change and each.change.change for each in found]
    assert [each and (each.event, each.meta.uid) for each in changes] == [
        ("Add", "u1"), ("Update", "u1"), ("Delete", "u1"), None, ("Add", "u2")
    ]  # fmt: skip
    assert [each.line for each in found] == [1, 2, 3, 4, 5]
    assert found[2].text == "Delete Node default/n1"
    assert found[0].time_ns == 1_795_164_517_403_691_000


def test_a_line_that_is_cut_off_and_empty_lines_are_skipped(tmp_path):
    path = tmp_path / "record.jsonl"
    one = json.dumps(line("Add", "Node", "n1"))
    path.write_text(f"{one}\n\n  \n{one.replace('n1', 'n2')}\n{one.replace('n1', 'n3')[:-1]}")
    assert [(each.line, each.text) for each in recorded_changes(path)] == [
        (1, "Add Node default/n1"), (4, "Add Node default/n2")
    ]  # fmt: skip
