"""What pods use of volumes: disks that exclude each other, and volumes of CSI drivers."""

from typing import Any

import pytest

from podwright.apimachinery.objects import decode_pod, with_fields
from podwright.scheduler.columns.tests.storage_objects import (
    attachment,
    claim,
    storage_class,
    volume,
)
from podwright.scheduler.columns.volumes.class_volumes import is_bound_to, is_fully_bound
from podwright.scheduler.columns.volumes.csi_migration import CSIVolume
from podwright.scheduler.columns.volumes.volume_use import (
    ClaimUse,
    DiskUse,
    claim_names,
    claim_uses,
    disk_uses,
    has_ephemeral_claims,
    inline_volumes,
    ownership_error,
)
from podwright.scheduler.preemption.tests.situations import cluster_of, node


def pod(*volumes, name="p", on=""):
    named = [{"name": f"v{i}"} | source for i, source in enumerate(volumes)]
    metadata = {"name": name, "namespace": "default", "uid": name}
    spec = {"containers": [], "volumes": named, "nodeName": on}
    return decode_pod({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})


GCE = {"gcePersistentDisk": {"pdName": "d"}}
GCE_READ = {"gcePersistentDisk": {"pdName": "d", "readOnly": True}}
EBS = {"awsElasticBlockStore": {"volumeID": "d"}}
EBS_READ = {"awsElasticBlockStore": {"volumeID": "d", "readOnly": True}}
ISCSI = {"iscsi": {"iqn": "d", "lun": 1}}
ISCSI_READ = {"iscsi": {"iqn": "d", "lun": 2, "readOnly": True}}
EPHEMERAL: dict[str, Any] = {"ephemeral": {"volumeClaimTemplate": {"spec": {}}}}
CLAIM = {"persistentVolumeClaim": {"claimName": "c"}}


def rbd(*monitors, pool="a", image="i", **fields):
    return {"rbd": {"monitors": monitors, "pool": pool, "image": image} | fields}


@pytest.mark.parametrize(
    ("source", "uses"),
    [
        pytest.param({"emptyDir": {}}, [], id="no disk"),
        pytest.param(CLAIM, [], id="a claim"),
        pytest.param(GCE, [DiskUse(("gce", "d"), read_only=False)], id="GCE"),
        pytest.param(GCE_READ, [DiskUse(("gce", "d"), read_only=True)], id="GCE, read-only"),
        pytest.param(EBS, [DiskUse(("ebs", "d"), read_only=False)], id="EBS"),
        pytest.param(
            EBS_READ, [DiskUse(("ebs", "d"), read_only=False)], id="EBS excludes when read-only too"
        ),
        pytest.param(ISCSI, [DiskUse(("iscsi", "d"), read_only=False)], id="iSCSI"),
        pytest.param(ISCSI_READ, [DiskUse(("iscsi", "d"), read_only=True)], id="iSCSI, read-only"),
        pytest.param(
            rbd("y", "x", "y"),
            [DiskUse(("rbd", "a", "i", m), read_only=False) for m in "xy"],
            id="RBD, once per monitor",
        ),
        pytest.param(
            rbd("x", readOnly=True),
            [DiskUse(("rbd", "a", "i", "x"), read_only=True)],
            id="RBD, read-only",
        ),
    ],
)
def test_the_disks_of_a_pod(source, uses):
    assert disk_uses(pod(source)) == tuple(uses)


@pytest.mark.parametrize(
    ("placed", "incoming", "is_excluded"),
    [
        pytest.param(GCE, GCE, True, id="two that write"),
        pytest.param(GCE, GCE_READ, True, id="one that writes is there"),
        pytest.param(GCE_READ, GCE, True, id="one that writes comes"),
        pytest.param(GCE_READ, GCE_READ, False, id="two that read"),
        pytest.param(EBS_READ, EBS_READ, True, id="EBS is never shared"),
        pytest.param(ISCSI, ISCSI_READ, True, id="iSCSI of one name"),
        pytest.param(rbd("x", "y"), rbd("y", "z"), True, id="RBD with a common monitor"),
        pytest.param(rbd("x"), rbd("z"), False, id="RBD without one"),
        pytest.param(rbd("x"), rbd("x", pool="b"), False, id="RBD of another pool"),
        pytest.param(rbd("x"), rbd("x", image="j"), False, id="RBD of another image"),
        pytest.param(GCE, EBS, False, id="disks of two kinds with one name"),
    ],
)
def test_pods_that_exclude_each_other(placed, incoming, is_excluded):
    cluster = cluster_of(node("n0"), node("n1"), pod(placed, name="a", on="n1"))
    use = cluster.storage.use
    assert use.disk_conflicts(disk_uses(pod(incoming))) == ([1] if is_excluded else [])
    cluster.put(pod(placed, name="b", on="n1"))
    cluster.delete(pod(placed, name="a", on="n1"))
    assert use.disk_conflicts(disk_uses(pod(incoming))) == ([1] if is_excluded else [])
    cluster.delete(pod(placed, name="b", on="n1"))
    assert use.disk_conflicts(disk_uses(pod(incoming))) == []


def test_readers_that_are_left_share_a_disk():
    cluster = cluster_of(node("n"), pod(GCE_READ, name="r", on="n"), pod(GCE, name="w", on="n"))
    use, reader = cluster.storage.use, disk_uses(pod(GCE_READ))
    assert use.disk_conflicts([*reader, *reader]) == [0]
    cluster.delete(pod(GCE, name="w", on="n"))
    assert use.disk_conflicts(reader) == []
    assert use.disk_conflicts(disk_uses(pod(GCE))) == [0]


@pytest.mark.parametrize(
    ("volumes", "uses", "names", "is_ephemeral"),
    [
        pytest.param([], [], [], False, id="no volume"),
        pytest.param([GCE], [], [], False, id="no claim"),
        pytest.param([CLAIM], [ClaimUse("c", is_ephemeral=False)], ["c"], False, id="a claim"),
        pytest.param(
            [EPHEMERAL, CLAIM],
            [ClaimUse("p-v0", is_ephemeral=True), ClaimUse("c", is_ephemeral=False)],
            ["c"],
            True,
            id="an ephemeral volume has the claim of its pod",
        ),
        pytest.param(
            [EPHEMERAL | CLAIM],
            [ClaimUse("c", is_ephemeral=False)],
            ["c"],
            False,
            id="a volume with both has the named one",
        ),
    ],
)
def test_the_claims_of_a_pod(volumes, uses, names, is_ephemeral):
    user = pod(*volumes)
    assert claim_uses(user) == tuple(uses)
    assert claim_names(user) == tuple(names)
    assert has_ephemeral_claims(user.spec) is is_ephemeral


WRONG = {"awsElasticBlockStore": {"volumeID": "aws://z/disk-1"}}
WRONG_TEXT = (
    "converting volume(v0) from inline to csi: failed to translate Kubernetes ID to EBS Volume ID "
    "Invalid format for AWS volume (aws://z/disk-1)"
)
CINDER = {"cinder": {"volumeID": "i"}}


@pytest.mark.parametrize(
    ("source", "volumes"),
    [
        pytest.param(CINDER, [CSIVolume("cinder.csi.openstack.org", "i")], id="a cloud disk"),
        pytest.param(CINDER | CLAIM, [], id="a claim takes precedence"),
        pytest.param(CINDER | EPHEMERAL, [], id="an ephemeral volume takes precedence"),
        pytest.param({"emptyDir": {}}, [], id="no disk"),
        pytest.param(WRONG, [WRONG_TEXT], id="a wrong name"),
    ],
)
def test_cloud_disks_in_a_pod(source, volumes):
    assert inline_volumes(pod(source)) == tuple(volumes)


def owned(uid, *, is_controller=True):
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": uid}
    return claim("p-v0", meta={"ownerReferences": [owner | {"controller": is_controller}]})


@pytest.mark.parametrize(
    ("made", "is_own"),
    [
        pytest.param(owned("p"), True, id="the pod controls it"),
        pytest.param(owned("other"), False, id="a pod of the same name did"),
        pytest.param(owned("p", is_controller=False), False, id="the pod only owns it"),
        pytest.param(claim("p-v0"), False, id="without owner"),
    ],
)
def test_the_claim_of_an_ephemeral_volume_must_be_the_pods_own(made, is_own):
    error = "PVC default/p-v0 was not created for pod default/p (pod is not owner)"
    assert ownership_error(made, pod(EPHEMERAL)) == ("" if is_own else error)
    cluster = cluster_of(node("n"), pod(EPHEMERAL, on="n"), made)
    assert cluster.storage.use.errors() == ({} if is_own else {0: error})
    cluster.delete(made)
    assert cluster.storage.use.errors() == {}


VOLUME_V = volume("v", csi={"driver": "csi.x", "volumeHandle": "h"})


@pytest.mark.parametrize(
    ("earlier", "errors"),
    [
        pytest.param({"persistentVolumeClaim": {"claimName": "gone"}}, 0, id="no such claim"),
        pytest.param({"persistentVolumeClaim": {"claimName": ""}}, 1, id="a claim without a name"),
        pytest.param(EPHEMERAL, 1, id="a claim of another pod"),
        pytest.param(WRONG, 1, id="a wrong name"),
        pytest.param({"persistentVolumeClaim": {"claimName": "unbound"}}, 0, id="no driver"),
        pytest.param({"emptyDir": {}}, 0, id="no disk"),
    ],
)
def test_the_other_volumes_of_a_pod_are_counted(earlier, errors):
    objects = [owned("other"), claim("c", bound_to="v"), claim("unbound", of_class=""), VOLUME_V]
    cluster = cluster_of(node("n"), *objects, pod(earlier, CLAIM, on="n"))
    assert list(cluster.storage.use.holders(CSIVolume("csi.x", "h"))) == [0]
    assert len(cluster.storage.use.errors()) == errors


def test_the_first_error_of_a_node_is_kept_until_its_pod_is_gone():
    nameless = pod({"persistentVolumeClaim": {"claimName": ""}}, name="b", on="n")
    cluster = cluster_of(node("n"), pod(WRONG, name="a", on="n"), nameless, node("other"))
    use = cluster.storage.use
    assert use.errors() == {0: WRONG_TEXT}
    cluster.delete(pod(WRONG, name="a", on="n"))
    assert use.errors() == {0: "PersistentVolumeClaim had no name"}
    cluster.delete(nameless)
    assert use.errors() == {}


CSI = {"csi": {"driver": "csi.x", "volumeHandle": "h"}}
HANDLE = CSIVolume("csi.x", "h")


def test_nodes_hold_a_volume_once_however_many_pods_use_it():
    pods = [pod(CLAIM, name=name, on=on) for name, on in (("a", "n0"), ("b", "n0"), ("c", "n1"))]
    cluster = cluster_of(
        node("n0"), node("n1"), claim("c", bound_to="v"), volume("v", claim="c", **CSI), *pods
    )
    use = cluster.storage.use
    assert sorted(use.holders(HANDLE)) == [0, 1]
    assert use.attached("csi.x").tolist() == [1, 1]
    cluster.delete(pods[0])
    assert sorted(use.holders(HANDLE)) == [0, 1]
    cluster.delete(pods[1])
    assert sorted(use.holders(HANDLE)) == [1]
    cluster.put(claim("c", bound_to="w"))
    assert sorted(use.holders(HANDLE)) == []
    cluster.put(volume("w", claim="c", **CSI))
    assert sorted(use.holders(HANDLE)) == [1]
    cluster.delete(pods[2])
    assert list(use.holders(HANDLE)) == []
    cluster.put(pod({"persistentVolumeClaim": {"claimName": ""}}, CLAIM, name="d", on="n0"))
    assert list(use.holders(HANDLE)) == [0], "a volume without the name of a claim hides no other"
    assert list(use.holders(CSIVolume("csi.x", "unknown"))) == []


def test_attachments_count_where_no_pod_uses_the_volume():
    volumes = [
        volume(name, csi={"driver": "csi.x", "volumeHandle": name}) for name in ("v", "w", "x")
    ]
    cluster = cluster_of(node("n"), claim("c", bound_to="v"), *volumes, pod(CLAIM, on="n"))
    use, attached = cluster.storage.use, []
    for name in ("v", "w", "x"):
        cluster.put(attachment(f"of-{name}", "csi.x", "n", name))
        attached += use.attached("csi.x").tolist()
    assert attached == [1, 2, 3], "the first one is that of the pod"
    cluster.delete(pod(CLAIM, on="n"))
    assert use.attached("csi.x").tolist() == [3]
    cluster.delete(attachment("of-v", "csi.x", "n", "v"))
    assert use.attached("csi.x").tolist() == [2]
    cluster.put(volume("w", hostPath={"path": "/"}))
    assert use.attached("csi.x").tolist() == [1]


def test_attachments_are_known_by_node_attacher_and_csi_volume():
    csi = {"csi": {"driver": "csi.x", "volumeHandle": "v"}}
    cluster = cluster_of(
        node("n"), volume("v", **csi), volume("same", **csi), volume("d", hostPath={"path": "/"})
    )
    of_attacher = {
        "first": attachment("first", "csi.x", "n", "v"),
        "second": attachment("second", "csi.x", "n", "same"),
        "other": attachment("other", "csi.y", "n", "v"),
        "unmanaged": attachment("unmanaged", "", "n", "v"),
        "elsewhere": attachment("elsewhere", "csi.x", "m", "v"),
        "gone": attachment("gone", "csi.x", "n", "unknown"),
        "unnamed": attachment("unnamed", "csi.x", "n", ""),
        "disk": attachment("disk", "csi.x", "n", "d"),
    }
    for each in of_attacher.values():
        cluster.put(each)

    def found(name):
        attached = cluster.storage.attached_to(name)
        return {
            (volume.driver, volume.handle): [each.metadata.name for each in attachments]
            for volume, attachments in attached.items()
        }

    assert found("n") == {("csi.x", "v"): ["first", "second"], ("csi.y", "v"): ["other"]}
    assert found("m") == {("csi.x", "v"): ["elsewhere"]}
    assert found("none") == {}


def test_users_of_a_claim_are_counted_without_ephemeral_volumes():
    cluster = cluster_of(node("n"), pod(EPHEMERAL, CLAIM, CLAIM, name="a", on="n"))
    use = cluster.storage.use
    assert use.claim_users == {"default/c": 2}
    first = use.count(pod({"persistentVolumeClaim": {"claimName": "d"}}, name="b"), 0, 1)
    assert first == ["default/d"], "its first user"
    assert use.count(pod(CLAIM, name="c"), 0, 1) == []
    assert use.count(pod(CLAIM, name="d"), 0, 1) == []
    assert use.count(pod(CLAIM, name="d"), 0, -1) == []
    assert use.count(pod(CLAIM, CLAIM, name="a"), 0, -1) == [], "one of two is left"
    assert use.count(pod(CLAIM, CLAIM, name="a"), 0, 1) == []
    assert use.count(pod(CLAIM, CLAIM, CLAIM, name="c"), 0, -1) == ["default/c"], "its last user"
    assert dict(use.claim_users) == {"default/d": 1}, "what has no user is not listed"


def test_a_volume_that_changes_changes_what_all_its_claims_hold():
    cluster = cluster_of(
        node("n"), claim("c", bound_to="v"), claim("d", bound_to="v"), volume("v", **CSI),
        pod(CLAIM, on="n"),
    )  # fmt: skip
    use = cluster.storage.use
    assert use.attached("csi.x").tolist() == [1]
    cluster.delete(claim("d", bound_to="v"))
    cluster.put(volume("v", csi={"driver": "csi.y", "volumeHandle": "h"}))
    assert (use.attached("csi.x").tolist(), use.attached("csi.y").tolist()) == ([0], [1])


def test_a_claim_without_a_volume_counts_for_the_driver_of_its_class_while_there_is_one():
    cluster = cluster_of(node("n"), claim("c"), pod(CLAIM, on="n"))
    use, attached = cluster.storage.use, []

    def look():
        attached.append([use.attached(driver).tolist()[0] for driver in ("csi.x", "csi.y")])

    look()
    for provisioner in ("csi.x", "csi.y"):
        cluster.put(storage_class("local", provisioner))
        look()
    cluster.delete(storage_class("local"))
    look()
    assert attached == [[0, 0], [1, 0], [0, 1], [0, 0]]


CLAIM = {"persistentVolumeClaim": {"claimName": "c"}}
EPHEMERAL = {"ephemeral": {"volumeClaimTemplate": {"spec": {}}}}


@pytest.mark.parametrize("before", [CLAIM, EPHEMERAL, {"emptyDir": {}}, ISCSI])
def test_an_inline_volume_counts_behind_others_that_are_none(before):
    (alone,) = inline_volumes(pod(GCE))
    for sources in ((before, GCE), (GCE, before)):
        assert inline_volumes(pod(*sources)) == (alone,)
    assert inline_volumes(pod(before)) == ()
    # In each order both are found.
    assert len(inline_volumes(pod(GCE, before, EBS))) == 2


BOUND = {"pv.kubernetes.io/bind-completed": "yes"}


@pytest.mark.parametrize(
    ("volume_name", "annotations", "is_bound"),
    [
        pytest.param("v", BOUND, True, id="a volume, and the binding is complete"),
        pytest.param("v", {}, False, id="a volume alone"),
        pytest.param("", BOUND, False, id="an annotation alone"),
        pytest.param("", {}, False, id="neither"),
        pytest.param("v", {"other": "yes"}, False, id="another annotation"),
        pytest.param("v", dict.fromkeys(BOUND, ""), True, id="an empty annotation"),
    ],
)
def test_a_claim_is_bound_if_its_binding_is_complete(volume_name, annotations, is_bound):
    made = claim("c", volumeName=volume_name, meta={"annotations": annotations})
    assert is_fully_bound(made) is is_bound


@pytest.mark.parametrize(
    ("reference", "is_bound"),
    [
        pytest.param(None, False, id="no reference"),
        pytest.param({"name": "c", "namespace": "default"}, True, id="by name"),
        pytest.param({"name": "c", "namespace": "default", "uid": "c"}, True, id="by uid"),
        pytest.param({"name": "c", "namespace": "default", "uid": "d"}, False, id="another uid"),
        pytest.param({"name": "d", "namespace": "default"}, False, id="another name"),
        pytest.param({"name": "c", "namespace": "other"}, False, id="another namespace"),
    ],
)
def test_the_claim_to_which_a_volume_is_bound(reference, is_bound):
    made = volume("v") if reference is None else volume("v", claimRef=reference)
    assert is_bound_to(made, claim("c")) is is_bound


def test_the_pods_that_use_a_claim_are_known_by_name():
    other = {"persistentVolumeClaim": {"claimName": "other"}}
    users = [pod(CLAIM, name="b", on="n"), pod(other, CLAIM, name="a", on="m")]
    elsewhere = with_fields(pod(CLAIM, name="x", on="n"), "metadata", namespace="shop")
    cluster = cluster_of(
        node("n"), node("m"), *users, pod(other, name="o", on="n"), elsewhere, pod(CLAIM, name="w")
    )
    use = cluster.storage.use
    assert use.users(claim("c")) == ["default/b", "default/a"]
    assert use.users(claim("none")) == []
    cluster.remove("default/b")
    assert use.users(claim("c")) == ["default/a"]
