"""Decisions about copies of pods are those about the pods themselves."""

from __future__ import annotations

import json

import pytest

from podwright.apimachinery.schema import decode
from podwright.online.client import SyncPolicies
from podwright.online.client.cluster import ChangedObject, Meta
from podwright.online.sync.mirror import Mirror
from podwright.online.sync.operations import Create
from podwright.online.sync.source import SourceChange
from podwright.online.sync.source_kinds import source_kinds
from podwright.scheduler.assembly import Scheduler
from podwright.scheduler.machine import SchedulerOptions

KINDS = {kind.resource: kind for kind in source_kinds(has_workloads=True)}


def cluster(zones):
    """Nodes of three sizes, two ReplicaSets, and the pods of both in turns."""
    objects = []
    for number in range(9):
        labels = {"kubernetes.io/hostname": f"n{number}"}
        if zones and number < 6:
            labels["topology.kubernetes.io/zone"] = f"z{number % 3}"
        objects.append(("nodes", {
            "metadata": {"name": f"n{number}", "uid": f"n{number}", "labels": labels},
            "status": {"allocatable": {"cpu": str(4 + number % 3 * 4), "memory": "16Gi",
                                       "pods": "20"}},
        }))  # fmt: skip
    objects += [
        ("replicasets", {
            "metadata": {"name": name, "namespace": "default", "uid": name},
            "spec": {"selector": {"matchLabels": {"app": name}}, "template": {}},
        })
        for name in ("a", "b")
    ]  # fmt: skip
    objects.append(("services", {
        "metadata": {"name": "s", "namespace": "default", "uid": "s"},
        "spec": {"selector": {"tier": "web"}},
    }))  # fmt: skip
    for number in range(40):
        owner = "ab"[number % 3 == 0]
        labels = {"app": owner} | ({"tier": "web"} if number % 4 == 0 else {})
        objects.append(("pods", {
            "metadata": {
                "name": f"p{number}", "namespace": "default", "uid": f"p{number}", "labels": labels,
                "creationTimestamp": f"2030-01-01T00:00:{number:02}Z",
                "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": owner,
                                     "uid": owner, "controller": True}],
            },
            "spec": {"containers": [{"name": "c", "image": "i", "resources": {
                "requests": {"cpu": "100m", "memory": "64Mi"}}}]},
        }))  # fmt: skip
    return objects


def typed(resource, document):
    kind = KINDS[resource]
    return decode({"apiVersion": kind.api_version, "kind": kind.kind, **document})


def mirrored(objects):
    mirror = Mirror(SyncPolicies())
    for resource, document in objects:
        metadata = document["metadata"]
        meta = Meta(name=metadata["name"], namespace=metadata.get("namespace", ""),
                    uid=metadata["uid"], resource_version="1")  # fmt: skip
        body = json.dumps(document).encode()
        change = ChangedObject("Add", meta, body, is_initial=True)
        for operation in mirror.take(SourceChange(KINDS[resource], change, 0)):
            assert isinstance(operation, Create)
            copy = operation.obj
            copy["metadata"]["uid"] = metadata["uid"]
            yield decode(copy)


def placements(objects):
    scheduler = Scheduler(SchedulerOptions(seed=3))
    scheduler.add(*objects)
    return {decision.pod.key: decision.node for decision in scheduler.schedule_all()}


@pytest.mark.parametrize("zones", [False, True])
def test_copies_are_placed_as_the_pods_of_the_source(zones):
    objects = cluster(zones)
    ours = placements([typed(*each) for each in objects])
    copies = placements(list(mirrored(objects)))
    assert all(ours.values())
    assert copies == ours
    # Without what they imply, the placements would differ.
    alone = placements([typed(*each) for each in objects if each[0] in ("nodes", "pods")])
    assert alone != ours
