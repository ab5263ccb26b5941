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
