"""Which results are outdated by which changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from podwright.apimachinery.objects import Object
from podwright.apimachinery.schema import decode
from podwright.scheduler.columns import Cluster, Reads
from podwright.scheduler.columns.tests.storage_objects import (
    capacity,
    claim,
    csi_driver,
    csi_node,
    storage_class,
    volume,
)

FLAGS = [flag for flag in Reads if flag is not Reads.CLUSTER]


def made(kind: str, group: str = "v1", spec: dict[str, Any] | None = None, **more: Any) -> Object:
    metadata = {"name": "o", "namespace": "default", "uid": "o"} | more.pop("metadata", {})
    head = {"apiVersion": group, "kind": kind, "metadata": metadata}
    return decode(head | {"spec": spec or {}} | more)


def pod(**spec: Any) -> Object:
    return made("Pod", spec={"containers": [{"name": "c"}], "nodeName": "n"} | spec)


def node(name: str = "n", *images: str, **labels: str) -> Object:
    found = [{"names": [image], "sizeBytes": 1} for image in ("a:1", *images)]
    metadata = {"name": name, "labels": {"zone": "z"} | labels}
    return made("Node", metadata=metadata, status={"images": found})


TERM = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "a"}}}
AVOIDING = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [TERM]}}
DEVICES = "resource.k8s.io/v1"
SLICE = {
    "driver": "d.example.com",
    "nodeName": "n",
    "pool": {"name": "n", "generation": 1, "resourceSliceCount": 1},
    "devices": [{"name": "a"}],
}


@pytest.mark.parametrize(
    ("obj", "outdated"),
    [
        pytest.param(node(a="b"), {Reads.NODE}, id="labels"),
        pytest.param(node("n", "b:1"), {Reads.NODE, Reads.IMAGES}, id="images"),
        pytest.param(node("m"), {Reads.NODE, Reads.IMAGES}, id="number of nodes"),
        pytest.param(pod(), {Reads.PODS}, id="pod on a node"),
        pytest.param(pod(affinity=AVOIDING), {Reads.PODS, Reads.TERMS}, id="pod with a term"),
        pytest.param(
            made("PersistentVolumeClaim", metadata={"name": "c"}), {Reads.STORAGE}, id="claim"
        ),
        pytest.param(
            made("Service", spec={"selector": {"app": "a"}}), {Reads.WORKLOADS}, id="Service"
        ),
        pytest.param(
            made("Namespace", metadata={"name": "m", "labels": {"a": "b"}}),
            {Reads.NAMESPACES},
            id="namespace",
        ),
        pytest.param(
            made("DeviceClass", DEVICES),
            # It backs the resource that is called after it, at least.
            {Reads.DEVICES, Reads.DEVICE_CLASSES},
            id="device class",
        ),
        pytest.param(made("ResourceSlice", DEVICES, SLICE), {Reads.DEVICES}, id="devices"),
        pytest.param(made("ConfigMap"), set(), id="what scheduling does not read"),
    ],
)
def test_a_result_is_outdated_by_changes_of_what_it_reads(
    obj: Object, outdated: set[Reads]
) -> None:
    cluster = Cluster()
    cluster.put(node())
    before = {flag: cluster.version_of(flag) for flag in FLAGS}
    together = cluster.version_of(sum(FLAGS))
    cluster.put(obj)
    assert {flag for flag in FLAGS if cluster.version_of(flag) != before[flag]} == outdated
    assert (cluster.version_of(sum(FLAGS)) != together) is bool(outdated)


RWOP = {"accessModes": ["ReadWriteOncePod"]}


def using(name: str, **labels: str) -> Object:
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "only"}}]
    spec = {"containers": [{"name": "c"}], "nodeName": "n", "volumes": volumes}
    return made("Pod", metadata={"name": name, "uid": name, "labels": labels}, spec=spec)


def controller(ready: int = 0, **selector: str) -> Object:
    spec = {"selector": {"matchLabels": selector}}
    return made("ReplicaSet", "apps/v1", spec=spec, status={"replicas": ready})


POOL = capacity("p", "local", {}, capacity="1Gi")
SERVICE = made("Service", spec={"selector": {"app": "a"}})
CLASS = made("DeviceClass", DEVICES)
STEPS: list[tuple[str, Callable[[Cluster], None], set[Reads]]] = [
    ("a node", lambda c: c.put(node()), {Reads.NODE, Reads.IMAGES}),
    ("the same again", lambda c: c.put(node()), set()),
    ("a label", lambda c: c.put(node(a="b")), {Reads.NODE}),
    ("another image", lambda c: c.put(node("n", "b:1")), {Reads.NODE, Reads.IMAGES}),
    ("a second node", lambda c: c.put(node("m")), {Reads.NODE, Reads.IMAGES}),
    ("it goes", lambda c: c.delete(node("m")), {Reads.NODE, Reads.IMAGES}),
    ("it is gone", lambda c: c.delete(node("m")), set()),
    ("a claim for one pod", lambda c: c.put(claim("only", **RWOP)), {Reads.STORAGE}),
    ("its first user", lambda c: c.put(using("a")), {Reads.PODS, Reads.STORAGE}),
    ("its second user", lambda c: c.put(using("b")), {Reads.PODS}),
    ("a label of a user", lambda c: c.put(using("b", x="y")), {Reads.PODS}),
    ("one user goes", lambda c: c.delete(using("b")), {Reads.PODS}),
    ("it is gone", lambda c: c.delete(using("b")), set()),
    ("the last user goes", lambda c: c.delete(using("a")), {Reads.PODS, Reads.STORAGE}),
    ("its first user comes again", lambda c: c.put(using("a")), {Reads.PODS, Reads.STORAGE}),
    ("a claim that is shared", lambda c: c.put(claim("only")), {Reads.STORAGE}),
    ("its last user goes", lambda c: c.delete(using("a")), {Reads.PODS}),
    ("a volume", lambda c: c.put(volume("v")), {Reads.STORAGE}),
    (
        "a claim is assumed",
        lambda c: c.storage.assume_claim(claim("only", bound_to="v")),
        {Reads.STORAGE},
    ),
    (
        "a volume is assumed",
        lambda c: c.storage.assume_volume(volume("v", claim="only")),
        {Reads.STORAGE},
    ),
    ("a claim is restored", lambda c: c.storage.restore_claim("default/only"), {Reads.STORAGE}),
    ("none is left", lambda c: c.storage.restore_claim("default/only"), set()),
    ("a volume is restored", lambda c: c.storage.restore_volume("v"), {Reads.STORAGE}),
    ("no volume is left", lambda c: c.storage.restore_volume("v"), set()),
    ("a volume goes", lambda c: c.delete(volume("v")), {Reads.STORAGE}),
    ("it is gone", lambda c: c.delete(volume("v")), set()),
    ("a claim goes", lambda c: c.delete(claim("only")), {Reads.STORAGE}),
    ("a class", lambda c: c.put(storage_class("local")), {Reads.STORAGE}),
    ("the class goes", lambda c: c.delete(storage_class("local")), {Reads.STORAGE}),
    ("a driver", lambda c: c.put(csi_driver("csi.x")), {Reads.STORAGE}),
    ("the driver goes", lambda c: c.delete(csi_driver("csi.x")), {Reads.STORAGE}),
    ("what a node attaches", lambda c: c.put(csi_node("n", csi_x=1)), {Reads.STORAGE}),
    ("nothing any more", lambda c: c.delete(csi_node("n", csi_x=1)), {Reads.STORAGE}),
    ("a pool", lambda c: c.put(POOL), {Reads.STORAGE}),
    ("the pool goes", lambda c: c.delete(POOL), {Reads.STORAGE}),
    (
        "all of another cluster",
        lambda c: c.storage.put_all_of(Cluster().storage),
        {Reads.STORAGE},
    ),
    ("a Service", lambda c: c.put(SERVICE), {Reads.WORKLOADS}),
    ("the same Service", lambda c: c.put(SERVICE), set()),
    ("the Service goes", lambda c: c.delete(SERVICE), {Reads.WORKLOADS}),
    ("the Service is gone", lambda c: c.delete(SERVICE), set()),
    ("a ReplicaSet", lambda c: c.put(controller(a="b")), {Reads.WORKLOADS}),
    ("its status", lambda c: c.put(controller(1, a="b")), set()),
    ("its selector", lambda c: c.put(controller(1, a="c")), {Reads.WORKLOADS}),
    ("the ReplicaSet goes", lambda c: c.delete(controller(a="c")), {Reads.WORKLOADS}),
    ("the ReplicaSet is gone", lambda c: c.delete(controller(a="c")), set()),
    ("a namespace", lambda c: c.put(made("Namespace")), {Reads.NAMESPACES}),
    ("the namespace goes", lambda c: c.delete(made("Namespace")), {Reads.NAMESPACES}),
    ("the namespace is gone", lambda c: c.delete(made("Namespace")), set()),
    ("a term", lambda c: c.put(pod(affinity=AVOIDING)), {Reads.PODS, Reads.TERMS}),
    ("the term goes", lambda c: c.delete(pod()), {Reads.PODS, Reads.TERMS}),
    ("a device class", lambda c: c.put(CLASS), {Reads.DEVICES, Reads.DEVICE_CLASSES}),
    ("the device class goes", lambda c: c.delete(CLASS), {Reads.DEVICES, Reads.DEVICE_CLASSES}),
    ("devices", lambda c: c.put(made("ResourceSlice", DEVICES, SLICE)), {Reads.DEVICES}),
    ("devices go", lambda c: c.delete(made("ResourceSlice", DEVICES, SLICE)), {Reads.DEVICES}),
    ("the last node goes", lambda c: c.delete(node()), {Reads.NODE, Reads.IMAGES}),
]


def test_versions_grow_by_one_with_each_change_of_what_they_stand_for() -> None:
    cluster = Cluster()
    before, objects_version = {flag: sum(cluster.version_of(flag)) for flag in FLAGS}, 0
    for name, change, outdated in STEPS:
        change(cluster)
        after = {flag: sum(cluster.version_of(flag)) for flag in FLAGS}
        grown = {flag: after[flag] - before[flag] for flag in FLAGS if after[flag] != before[flag]}
        assert grown == dict.fromkeys(outdated, 1), name
        assert (cluster.objects_version > objects_version) is bool(
            outdated - {Reads.NODE, Reads.PODS}
        ), name
        before, objects_version = after, cluster.objects_version


def test_what_a_result_reads_are_separate_bits() -> None:
    assert [int(flag) for flag in Reads] == [1 << bit for bit in range(len(Reads))]


def test_changes_of_conditions_alone_have_a_journal_of_their_own() -> None:
    cluster = Cluster()
    cluster.put(node())
    nodes = cluster.nodes
    before, conditions = nodes.node_journal.version, nodes.condition_journal.version
    cluster.put(node())
    changed = nodes.condition_journal.since(conditions)
    assert changed is not None
    assert changed.tolist() == [0]
    assert nodes.node_journal.version == before
    cluster.put(node(a="b"))
    assert nodes.condition_journal.version == conditions + 1
    assert nodes.node_journal.version == before + 1


def test_the_labels_that_workloads_select_are_those_that_selectors_use() -> None:
    cluster = Cluster()
    spec = {"selector": {"of-service": "a"}}
    cluster.put(made("Service", spec=spec))
    assert cluster.selected_labels.keys == {"of-service"}
    version = cluster.selected_labels.version
    cluster.put(made("Service", spec=spec))
    assert cluster.selected_labels.version == version
    cluster.put(made("Service", spec={"selector": {"of-service": "a", "more": "b"}}))
    assert cluster.selected_labels.keys == {"of-service", "more"}
    cluster.put(made("ReplicationController", spec={"selector": {"of-controller": "a"}}))
    assert cluster.selected_labels.keys == {"of-service", "more", "of-controller"}


def test_a_new_cluster_has_seen_no_changes() -> None:
    cluster = Cluster()
    seen = {flag for flag in FLAGS if any(cluster.version_of(flag))}
    assert seen <= {Reads.TERMS}, "terms have a first numbering"
    assert (cluster.budgets.version, cluster.nominations.version) == (0, 0)
