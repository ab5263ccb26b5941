"""Volumes are attached to the nodes of their pods, and detached after the last of them."""

from __future__ import annotations

from functools import partial
from hashlib import sha256

import pytest

from podwright.cluster.controllers.nodes import AttachDetachController
from podwright.cluster.controllers.tests.staged_cluster import Cluster, a_pod, document

NODE, POD, CLAIM = ("", "Node"), ("", "Pod"), ("", "PersistentVolumeClaim")
ATTACHMENT = ("storage.k8s.io", "VolumeAttachment")
DRIVER, STORAGE = "disk.example.com", "storage.k8s.io/v1"
USES_DATA = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]


@pytest.fixture
def cluster():
    made = Cluster((AttachDetachController,), stages=(), schedules=False)
    made.add(document("Node", "n1"), document("Node", "n2"))
    return made


def a_volume(mode="ReadWriteOnce", **source):
    source = source or {"csi": {"driver": DRIVER, "volumeHandle": "vol-1"}}
    spec = {"capacity": {"storage": "1Gi"}, "accessModes": [mode], **source}
    return document("PersistentVolume", "pv-1", spec=spec)


def a_claim(**spec):
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
        "volumeName": "pv-1",
    } | spec
    kept = {key: value for key, value in spec.items() if value is not None}
    return document("PersistentVolumeClaim", "data", namespace="default", spec=kept)


def user(name, node="n1", **uses):
    uses = uses or {"volumeMounts": [{"name": "data", "mountPath": "/data"}]}
    containers = [{"name": "main", "image": "app", **uses}]
    return a_pod(name, nodeName=node, volumes=USES_DATA, containers=containers)


def name_on(node):
    return f"csi-{sha256(f'vol-1{DRIVER}{node}'.encode()).hexdigest()}"


def attached(cluster, node):
    found = cluster.get(NODE, node).raw.get("status", {}).get("volumesAttached") or ()
    return [each["name"] for each in found]


def in_use(cluster, node):
    return cluster.get(NODE, node).raw.get("status", {}).get("volumesInUse")


def notes(cluster, expected):
    return [note for _, _, reason, note in cluster.events if reason == expected]


def test_a_volume_is_attached_while_a_pod_uses_it(cluster):
    cluster.add(a_volume(), a_claim(), user("web"), user("second"))
    (found,) = cluster.all(ATTACHMENT)
    assert found.name == name_on("n1")
    assert (found.spec.attacher, found.spec.node_name) == (DRIVER, "n1")
    assert found.spec.source.persistent_volume_name == "pv-1"
    assert found.status.attached
    assert attached(cluster, "n1") == [f"kubernetes.io/csi/{DRIVER}^vol-1"]
    assert in_use(cluster, "n1") == attached(cluster, "n1")
    note = 'AttachVolume.Attach succeeded for volume "pv-1" '
    assert notes(cluster, "SuccessfulAttachVolume")[0] == note
    cluster.delete(POD, "default/web", grace_seconds=0)
    assert attached(cluster, "n1")
    cluster.delete(POD, "default/second", grace_seconds=0)
    assert (cluster.all(ATTACHMENT), attached(cluster, "n1")) == ([], [])
    assert in_use(cluster, "n1") is None


def test_kubelets_outside_report_the_volumes_in_use():
    maker = partial(AttachDetachController, has_kubelets=False)
    cluster = Cluster((maker,), stages=(), schedules=False)
    cluster.add(document("Node", "n1"), a_volume(), a_claim(), user("web"))
    assert attached(cluster, "n1")
    assert in_use(cluster, "n1") is None


@pytest.mark.parametrize(
    ("uses", "is_in_use"),
    [
        ({"volumeMounts": [{"name": "data", "mountPath": "/data"}]}, True),
        ({"volumeDevices": [{"name": "data", "devicePath": "/dev/data"}]}, True),
        ({"volumeMounts": []}, False),
    ],
)
def test_volumes_that_no_container_uses_are_attached_but_not_in_use(cluster, uses, is_in_use):
    cluster.add(a_volume(), a_claim(), user("web", **uses))
    assert attached(cluster, "n1") == [f"kubernetes.io/csi/{DRIVER}^vol-1"]
    assert in_use(cluster, "n1") == (attached(cluster, "n1") if is_in_use else None)


def test_a_status_that_is_overwritten_is_written_again(cluster):
    cluster.add(a_volume(), a_claim(), user("web"))
    cluster.edit(NODE, "n1", "status", volumesAttached=[{"name": "other", "devicePath": ""}])
    assert attached(cluster, "n1") == [f"kubernetes.io/csi/{DRIVER}^vol-1"]


def test_a_volume_of_one_node_waits_for_the_other(cluster):
    cluster.add(a_volume(), a_claim(), user("web"), user("late", "n2"))
    assert [each.spec.node_name for each in cluster.all(ATTACHMENT)] == ["n1"]
    assert in_use(cluster, "n2") == attached(cluster, "n1")
    (note,) = notes(cluster, "FailedAttachVolume")
    assert note == 'Multi-Attach error for volume "pv-1" Volume is already used by pod(s) web'
    cluster.delete(POD, "default/web", grace_seconds=0)
    assert [each.spec.node_name for each in cluster.all(ATTACHMENT)] == ["n2"]
    assert attached(cluster, "n2")


def test_a_shared_volume_is_attached_to_both(cluster):
    cluster.add(a_volume("ReadWriteMany"), a_claim(), user("web"), user("late", "n2"))
    assert {each.spec.node_name for each in cluster.all(ATTACHMENT)} == {"n1", "n2"}


def test_a_volume_is_attached_when_its_claim_is_bound(cluster):
    cluster.add(a_volume(), a_claim(volumeName=None), user("web"))
    assert cluster.all(ATTACHMENT) == []
    cluster.edit(CLAIM, "default/data", "spec", volumeName="pv-1")
    assert [each.name for each in cluster.all(ATTACHMENT)] == [name_on("n1")]


@pytest.mark.parametrize("source", [{"hostPath": {"path": "/data"}}, {}])
def test_other_volumes_are_not_attached(cluster, source):
    if not source:
        cluster.add(document("CSIDriver", DRIVER, api=STORAGE, spec={"attachRequired": False}))
    cluster.add(a_volume(**source), a_claim(), user("web"))
    assert (cluster.all(ATTACHMENT), attached(cluster, "n1")) == ([], [])


def test_the_attachments_of_users_are_left_alone(cluster):
    spec = {
        "attacher": DRIVER,
        "nodeName": "n1",
        "source": {"persistentVolumeName": "pv-1"},
    }
    cluster.add(a_volume(), document("VolumeAttachment", "mine", api=STORAGE, spec=spec))
    cluster.add(a_claim(), user("web"))
    cluster.delete(POD, "default/web", grace_seconds=0)
    (found,) = cluster.all(ATTACHMENT)
    assert (found.name, found.status.attached) == ("mine", False)


def test_a_restarted_controller_detaches(cluster):
    cluster.add(a_volume(), a_claim(), user("web"))
    cluster.replace_controllers()
    assert len(cluster.all(ATTACHMENT)) == 1
    cluster.delete(POD, "default/web", grace_seconds=0)
    assert cluster.all(ATTACHMENT) == []
