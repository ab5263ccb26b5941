from itertools import pairwise

import pytest

from podwright.scheduler.columns.tests.storage_objects import claim, using
from podwright.scheduler.framework import Code, Cycle, Hint, Status
from podwright.scheduler.plugins.tests.one_node_at_a_time import (
    cluster_of,
    cycle_of,
    node,
    pod,
    reasons,
)
from podwright.scheduler.plugins.volume_restrictions import VolumeRestrictions, after_pod_deleted

NO_DISK = ("node(s) had no available disk",)
IN_USE = (
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode "
    "already in-use by another pod",
)
EXCLUSIVE = ["ReadWriteOncePod"]


def prepared(incoming, *objects):
    cycle = cycle_of(incoming, node("n0"), node("n1"), *objects)
    return cycle, VolumeRestrictions().pre_filter(cycle)


def gce(name, *, read_only=False):
    return {"name": "v", "gcePersistentDisk": {"pdName": name, "readOnly": read_only}}


def ebs(name, *, read_only=False):
    return {"name": "v", "awsElasticBlockStore": {"volumeID": name, "readOnly": read_only}}


def iscsi(iqn, *, lun=0, read_only=False):
    source = {"targetPortal": "t", "iqn": iqn, "lun": lun, "readOnly": read_only}
    return {"name": "v", "iscsi": source}


def rbd(*monitors, image="i", pool="p", read_only=False):
    source = {"monitors": list(monitors), "image": image, "pool": pool, "readOnly": read_only}
    return {"name": "v", "rbd": source}


@pytest.mark.parametrize(
    ("ours", "theirs", "conflict"),
    [
        pytest.param(gce("d"), gce("e"), False, id="two GCE disks"),
        pytest.param(ebs("d"), ebs("e"), False, id="two EBS volumes"),
        pytest.param(gce("d"), ebs("d"), False, id="one name, two clouds"),
        pytest.param(ebs("d"), iscsi("d"), False, id="an EBS volume and an iSCSI target"),
        pytest.param(iscsi("d"), rbd("d"), False, id="an iSCSI target and an RBD image"),
        pytest.param(rbd("d"), gce("d"), False, id="an RBD image and a GCE disk"),
        pytest.param(iscsi("a"), iscsi("b"), False, id="two iSCSI targets"),
        pytest.param(iscsi("a"), iscsi("a", lun=1), True, id="iSCSI is compared by IQN alone"),
        pytest.param(rbd("x", "y"), rbd("y", "z"), True, id="RBD with one common monitor"),
        pytest.param(rbd("x"), rbd("z"), False, id="RBD without a common monitor"),
        pytest.param(rbd("x"), rbd("x", image="j"), False, id="two RBD images"),
        pytest.param(rbd("x"), rbd("x", pool="q"), False, id="two RBD pools"),
    ],
)
def test_disks_that_two_pods_of_a_node_cannot_share(ours, theirs, conflict):
    placed = pod("q", volumes=[theirs], nodeName="n0")
    cycle, status = prepared(pod(volumes=[ours]), placed)
    assert status.is_success
    plugin = VolumeRestrictions()
    assert reasons(plugin, cycle) == ({"n0": NO_DISK} if conflict else {})
    # The deletion of the other pod can help if, and only if, they conflict.
    hint = after_pod_deleted(cycle.pod, placed, None)
    assert hint is (Hint.QUEUE if conflict else Hint.SKIP)
    cycle.cluster.delete(placed)
    assert reasons(plugin, cycle) == {}


@pytest.mark.parametrize("ours", [False, True])
@pytest.mark.parametrize("theirs", [False, True])
@pytest.mark.parametrize(
    ("disk", "readers_share"),
    [
        pytest.param(gce, True, id="GCE"),
        pytest.param(iscsi, True, id="iSCSI"),
        pytest.param(rbd, True, id="RBD"),
        pytest.param(ebs, False, id="EBS"),
    ],
)
def test_only_readers_share_a_disk(disk, readers_share, ours, theirs):
    placed = pod("q", volumes=[disk("d", read_only=theirs)], nodeName="n0")
    cycle, _ = prepared(pod(volumes=[disk("d", read_only=ours)]), placed)
    conflict = not (readers_share and ours and theirs)
    assert reasons(VolumeRestrictions(), cycle) == ({"n0": NO_DISK} if conflict else {})
    hint = after_pod_deleted(cycle.pod, placed, None)
    assert hint is (Hint.QUEUE if conflict else Hint.SKIP)


def test_a_claim_for_one_pod_is_in_use_on_every_node():
    placed = pod("q", volumes=using("c"), nodeName="n0")
    cycle, _ = prepared(pod(volumes=using("c")), claim("c", accessModes=EXCLUSIVE), placed)
    assert reasons(VolumeRestrictions(), cycle) == {"n0": IN_USE, "n1": IN_USE}


@pytest.mark.parametrize(
    ("objects", "code", "reason"),
    [
        pytest.param([claim("c")], Code.SKIP, "", id="a claim that can be shared"),
        pytest.param([claim("c", accessModes=EXCLUSIVE)], Code.SKIP, "", id="an unused one"),
        pytest.param(
            [],
            Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
            'persistentvolumeclaim "c" not found',
            id="one that is missing",
        ),
    ],
)
def test_claims_that_need_no_filter(objects, code, reason):
    _, status = prepared(pod(volumes=using("c")), *objects)
    assert (status.code, status.message) == (code, reason)


def test_preemption_of_the_user_frees_the_claim():
    placed = pod("q", volumes=using("c"), nodeName="n0")
    cycle, _ = prepared(pod(volumes=using("c")), claim("c", accessModes=EXCLUSIVE), placed)
    plugin, simulated = VolumeRestrictions(), cycle.clone()
    user = cycle.cluster.pods[placed.key]
    plugin.remove_pod(simulated, user)
    assert reasons(plugin, simulated) == {}
    assert set(reasons(plugin, cycle)) == {"n0", "n1"}
    for _ in range(2):
        plugin.add_pod(simulated, user)
        assert set(reasons(plugin, simulated)) == {"n0", "n1"}
        plugin.remove_pod(simulated, user)
        assert reasons(plugin, simulated) == {}


def test_only_users_of_claims_for_one_pod_are_counted_in_a_dry_run():
    others = [
        pod("q", volumes=using("c"), nodeName="n0"),
        pod("r", volumes=using("shared"), nodeName="n0"),
        pod("s", nodeName="n0"),
    ]
    claims = [claim("c", accessModes=EXCLUSIVE), claim("shared")]
    cycle, _ = prepared(pod(volumes=using("shared", "c")), *claims, *others)
    plugin = VolumeRestrictions()
    for name, is_free in (("r", False), ("s", False), ("q", True)):
        plugin.remove_pod(cycle, cycle.cluster.pods[f"default/{name}"])
        assert (reasons(plugin, cycle) == {}) is is_free, name
    # Nothing is counted for a pod that is skipped.
    without, status = prepared(pod(volumes=using("shared")), *claims, *others)
    assert status == Status.SKIPPED
    plugin.remove_pod(without, without.cluster.pods["default/q"])


def test_using_and_releasing_a_read_write_once_pod_claim_outdates_results():
    cluster = cluster_of(node("n0"), claim("c", accessModes=EXCLUSIVE), claim("shared"))
    versions = [cluster.storage.version]
    for placed in [
        pod("q", volumes=using("shared"), nodeName="n0"),
        pod("r", volumes=using("c"), nodeName="n0"),
    ]:
        cluster.put(placed)
        versions.append(cluster.storage.version)
    cluster.delete(placed)
    versions.append(cluster.storage.version)
    assert [b - a for a, b in pairwise(versions)] == [0, 1, 1]
    cycle = Cycle(pod(volumes=using("c")), cluster)
    assert VolumeRestrictions().pre_filter(cycle) == Status.SKIPPED
