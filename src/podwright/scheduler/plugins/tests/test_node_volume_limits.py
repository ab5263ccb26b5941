import pytest

from podwright.apimachinery.schema import decode
from podwright.scheduler.columns.tests.storage_objects import (
    attachment,
    claim,
    csi_driver,
    csi_node,
    storage_class,
    using,
    volume,
)
from podwright.scheduler.config import parse_gates
from podwright.scheduler.framework import Code, Hint, Status
from podwright.scheduler.plugins.node_volume_limits import (
    NodeVolumeLimits,
    after_csi_node_updated,
)
from podwright.scheduler.plugins.tests.one_node_at_a_time import cycle_of, filtered, node, pod

FULL = "node(s) exceed max volume count"


def disk(name, handle="", driver="csi.x"):
    source = {"driver": driver, "volumeHandle": handle or name}
    return volume(f"v-{name}", claim=name, csi=source)


def bound(*names):
    """Return claims and their volumes, of driver csi.x."""
    return [x for name in names for x in (claim(name, bound_to=f"v-{name}"), disk(name))]


def answer(incoming, *objects):
    """Return the result for n0; n1 has no CSINode and never rejects."""
    cycle = cycle_of(incoming, node("n0"), node("n1"), *objects)
    plugin = NodeVolumeLimits()
    assert plugin.pre_filter(cycle) == Status.OK
    answers = filtered(plugin, cycle)
    if answers["n0"].is_rejection and answers["n0"].message == FULL:
        assert answers["n1"].is_success
    return answers["n0"].message


@pytest.mark.parametrize(
    ("limit", "placed", "message"),
    [
        pytest.param(3, ["a", "b"], "", id="the last place"),
        pytest.param(2, ["a", "b"], FULL, id="one too many"),
        pytest.param(1, ["new"], "", id="a volume that is there already is no new one"),
        pytest.param(0, ["new"], "", id="even beyond the limit"),
        pytest.param(0, [], FULL, id="a limit of none"),
    ],
)
def test_volumes_count_once_per_node(limit, placed, message):
    others = [pod(f"q{i}", volumes=using(c), nodeName="n0") for i, c in enumerate(placed)]
    objects = [*bound("a", "b", "new"), csi_node("n0", csi_x=limit), *others]
    assert answer(pod(volumes=using("new")), *objects) == message


def test_a_volume_shared_by_two_pods_counts_once():
    others = [pod(f"q{i}", volumes=using("a"), nodeName="n0") for i in range(2)]
    objects = [*bound("a", "new"), csi_node("n0", csi_x=2), *others]
    assert answer(pod(volumes=using("new")), *objects) == ""


def test_two_claims_of_one_handle_count_once():
    objects = [*bound("new"), claim("c", bound_to="v-c"), disk("c", "new"), csi_node("n0", csi_x=1)]
    assert answer(pod(volumes=using("new", "c")), *objects) == ""


def test_each_driver_has_its_limit():
    objects = [*bound("a", "new"), csi_node("n0", csi_x=2, csi_y=0)]
    assert answer(pod(volumes=using("a", "new")), *objects) == ""
    other = [claim("y", bound_to="v-y"), disk("y", driver="csi.y")]
    assert answer(pod(volumes=using("a", "y")), *objects, *other) == FULL
    # Drivers without a limit on any node have no influence on the limits of others.
    unlimited = [claim("z", bound_to="v-z"), disk("z", driver="csi.z")]
    assert answer(pod(volumes=using("z", "a", "y")), *objects, *other, *unlimited) == FULL


def test_attachments_count_unless_a_pod_has_the_volume():
    objects = [*bound("a", "new"), csi_node("n0", csi_x=1)]
    attached = attachment("va", "csi.x", "n0", "v-a")
    assert answer(pod(volumes=using("new")), *objects) == ""
    assert answer(pod(volumes=using("new")), *objects, attached) == FULL
    user = pod("q", volumes=using("a"), nodeName="n0")
    both = [*bound("a", "new"), csi_node("n0", csi_x=2), attached, user]
    assert answer(pod(volumes=using("new")), *both) == ""


def test_a_volume_that_is_only_attached_counts_again_for_its_pod():
    # Upstream takes volumes off the new ones for the pods of the node only.
    objects = [*bound("new"), csi_node("n0", csi_x=1), attachment("va", "csi.x", "n0", "v-new")]
    assert answer(pod(volumes=using("new")), *objects) == FULL


def test_a_claim_without_a_volume_counts_for_its_provisioner():
    objects = [claim("c"), csi_node("n0", csi_x=0)]
    assert answer(pod(volumes=using("c")), *objects, storage_class("local", "csi.x")) == FULL
    assert answer(pod(volumes=using("c")), *objects, storage_class("local", "csi.y")) == ""
    assert answer(pod(volumes=using("c")), *objects) == ""


def test_cloud_disks_count_for_the_driver_that_took_over():
    inline = [{"name": "v", "awsElasticBlockStore": {"volumeID": "aws://z/vol-1"}}]
    objects = [csi_node("n0", ebs_csi_aws_com=1)]
    assert answer(pod(volumes=inline), *objects) == ""
    other = pod("q", volumes=[{"name": "v", "awsElasticBlockStore": {"volumeID": "vol-2"}}])
    assert answer(other, *objects, pod("r", volumes=inline, nodeName="n0")) == FULL
    same = pod("q", volumes=[{"name": "v", "awsElasticBlockStore": {"volumeID": "vol-1"}}])
    assert answer(same, *objects, pod("r", volumes=inline, nodeName="n0")) == ""


def test_later_changes_are_counted():
    user = pod("q", volumes=using("a"), nodeName="n0")
    cycle = cycle_of(pod(volumes=using("new")), node("n0"), *bound("new"), user)
    cluster, plugin = cycle.cluster, NodeVolumeLimits()
    plugin.pre_filter(cycle)

    def message():
        return filtered(plugin, cycle)["n0"].message

    assert message() == ""
    cluster.put(csi_node("n0", csi_x=1))
    assert message() == ""
    cluster.put(claim("a", bound_to="v-a"))
    assert message() == ""
    cluster.put(disk("a"))
    assert message() == FULL
    cluster.put(csi_node("n0", csi_x=2))
    assert message() == ""
    cluster.put(attachment("va", "csi.x", "n0", "v-b"))
    cluster.put(disk("b"))
    assert message() == FULL
    cluster.delete(user)
    assert message() == ""
    cluster.delete(node("n0"))
    cluster.put(node("n0"))
    cluster.put(user)
    assert message() == FULL


def test_a_missing_claim_is_unresolvable():
    cycle = cycle_of(pod(volumes=using("c")), node("n0"))
    plugin = NodeVolumeLimits()
    assert plugin.pre_filter(cycle) == Status.OK
    status = filtered(plugin, cycle)["n0"]
    assert status.code == Code.UNSCHEDULABLE_AND_UNRESOLVABLE
    assert status.message == ('looking up PVC default/c: persistentvolumeclaim "c" not found')


def test_an_ephemeral_volume_of_a_placed_pod_that_is_not_its_own_is_an_error():
    foreign = pod("q", volumes=[{"name": "s", "ephemeral": {}}], nodeName="n0")
    objects = [*bound("new"), claim("q-s"), csi_node("n0", csi_x=9), foreign]
    assert answer(pod(volumes=using("new")), *objects) == (
        "PVC default/q-s was not created for pod default/q (pod is not owner)"
    )


@pytest.mark.parametrize(
    ("source", "error"),
    [
        pytest.param(
            {"persistentVolumeClaim": {"claimName": ""}},
            "PersistentVolumeClaim had no name",
            id="a claim without a name",
        ),
        pytest.param(
            {"ephemeral": {}},
            "PVC default/p-s was not created for pod default/p (pod is not owner)",
            id="an ephemeral volume that is not its own",
        ),
        pytest.param(
            {"awsElasticBlockStore": {"volumeID": "aws://z/disk-1"}},
            "converting volume(s) from inline to csi: failed to translate Kubernetes ID to EBS "
            "Volume ID Invalid format for AWS volume (aws://z/disk-1)",
            id="a disk with a wrong name",
        ),
    ],
)
def test_volumes_of_the_pod_that_cannot_be_counted_are_an_error(source, error):
    incoming = pod(volumes=[{"name": "s", **source}])
    cycle = cycle_of(incoming, node("n0"), claim("p-s"), csi_node("n0", csi_x=9))
    plugin = NodeVolumeLimits()
    assert plugin.pre_filter(cycle) == Status.OK
    assert filtered(plugin, cycle)["n0"] == Status.error(error)


def test_pods_without_volumes_that_could_count_are_skipped():
    cycle = cycle_of(pod(volumes=[{"name": "t", "projected": {}}]), node("n0"))
    assert NodeVolumeLimits().pre_filter(cycle) == Status.SKIPPED


MISSING = "csi.x CSI driver is not installed on the node"
SCALES = parse_gates("VolumeLimitScaling=true")


@pytest.mark.parametrize(
    ("gates", "spec", "messages"),
    [
        pytest.param(
            SCALES, {"preventPodSchedulingIfMissing": True}, ["", MISSING, MISSING], id="missing"
        ),
        pytest.param(
            SCALES, {"preventPodSchedulingIfMissing": False}, ["", "", ""], id="not required"
        ),
        pytest.param(SCALES, {}, ["", "", ""], id="the driver does not set it"),
        pytest.param(SCALES, None, ["", "", ""], id="there is no CSIDriver"),
        pytest.param(
            parse_gates(""),
            {"preventPodSchedulingIfMissing": True},
            ["", "", ""],
            id="the gate is off",
        ),
    ],
)
def test_a_driver_may_be_required(gates, spec, messages):
    drivers = [] if spec is None else [csi_driver("csi.x", **spec)]
    # n0 has the driver, n1 another one, n2 no CSINode.
    csi_nodes = [csi_node("n0", csi_x=5), csi_node("n1", csi_y=5)]
    nodes = [node(f"n{i}") for i in range(3)]
    incoming = pod(volumes=using("a"))
    cycle = cycle_of(incoming, *nodes, *bound("a"), *csi_nodes, *drivers)
    plugin = NodeVolumeLimits(gates=gates)
    assert plugin.pre_filter(cycle) == Status.OK
    answers = filtered(plugin, cycle)
    assert [answers[f"n{i}"].message for i in range(3)] == messages
    assert {answer.code for answer in answers.values()} <= {Code.SUCCESS, Code.UNSCHEDULABLE}


def test_a_driver_that_is_there_still_has_its_limit():
    objects = [*bound("a"), csi_driver("csi.x", preventPodSchedulingIfMissing=True)]
    cycle = cycle_of(
        pod(volumes=using("a")), node("n0"), node("n1"), *objects, csi_node("n0", csi_x=0)
    )
    plugin = NodeVolumeLimits(gates=SCALES)
    plugin.pre_filter(cycle)
    answers = filtered(plugin, cycle)
    assert [answers[name].message for name in ("n0", "n1")] == [FULL, MISSING]


def test_a_required_driver_after_one_that_is_not_required_is_still_required():
    objects = [
        *bound("a"),
        claim("b", bound_to="v-b"),
        disk("b", driver="csi.y"),
        csi_driver("csi.x"),
        csi_driver("csi.y", preventPodSchedulingIfMissing=True),
    ]
    cycle = cycle_of(pod(volumes=using("a", "b")), node("n0"), *objects)
    plugin = NodeVolumeLimits(gates=SCALES)
    assert plugin.pre_filter(cycle) == Status.OK
    assert filtered(plugin, cycle)["n0"].message == MISSING.replace("csi.x", "csi.y")


@pytest.mark.parametrize(
    ("limit", "nominated", "is_roomy"),
    [
        pytest.param(2, 0, True, id="the new volume gets the last place"),
        pytest.param(1, 0, False, id="there is none"),
        pytest.param(3, 1, True, id="the nominated pod's volume gets it"),
        pytest.param(2, 1, False, id="there is none for it"),
        pytest.param(None, 9, True, id="without a limit"),
    ],
)
def test_pods_do_not_matter_where_every_node_has_room_for_all_volumes(limit, nominated, is_roomy):
    limits = [] if limit is None else [csi_node("n0", csi_x=limit)]
    there = pod("there", volumes=using("a"), nodeName="n0")
    cycle = cycle_of(
        pod(volumes=using("new")), node("n0"), node("n1"), *bound("a", "new"), there, *limits
    )
    waiting = pod("waiting", volumes=using(*(f"w{i}" for i in range(nominated))))
    cycle.cluster.nominate(waiting, "n0")
    plugin = NodeVolumeLimits()
    assert plugin.pre_filter(cycle) == Status.OK
    assert plugin.filter_ignores_pods(cycle) is is_roomy
    if is_roomy:
        assert filtered(plugin, cycle)["n0"].is_success


@pytest.mark.parametrize(
    ("before", "after", "hint"),
    [
        pytest.param({"csi_x": 1}, {"csi_x": 2}, Hint.QUEUE, id="more"),
        pytest.param({"csi_x": 2}, {"csi_x": 2}, Hint.SKIP, id="the same"),
        pytest.param({"csi_x": 2}, {"csi_x": 1}, Hint.SKIP, id="less"),
        pytest.param({}, {"csi_x": 1}, Hint.QUEUE, id="a driver that had no limit"),
        pytest.param({}, {"csi_x": 0}, Hint.SKIP, id="the same, with a limit of none"),
        pytest.param({"csi_x": 1}, {}, Hint.SKIP, id="a driver that has none any more"),
        pytest.param(
            {"csi_x": 2, "csi_y": 1}, {"csi_x": 1, "csi_y": 2}, Hint.QUEUE, id="more of one"
        ),
    ],
)
def test_a_limit_that_grows_helps(before, after, hint):
    """Upstream: csi.go, isSchedulableAfterCSINodeUpdated."""
    old, new = csi_node("n0", **before), csi_node("n0", **after)
    assert after_csi_node_updated(pod(), old, new) is hint


def test_a_driver_without_a_limit_has_none_to_grow():
    """A driver may be listed without an amount, or with an empty one."""
    head = {"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": {"name": "n0"}}
    drivers = [
        {"name": "csi.x", "nodeID": "n0"},
        {"name": "csi.y", "nodeID": "n0", "allocatable": {}},
    ]
    unlimited = decode(head | {"spec": {"drivers": drivers}})
    assert after_csi_node_updated(pod(), unlimited, unlimited) is Hint.SKIP
    limited = csi_node("n0", csi_x=1)
    assert after_csi_node_updated(pod(), unlimited, limited) is Hint.QUEUE
    assert after_csi_node_updated(pod(), limited, unlimited) is Hint.SKIP


def test_volumes_that_never_count_stand_beside_others():
    volumes = [*using("new"), {"name": "scratch", "emptyDir": {}}]
    objects = [*bound("new"), csi_node("n0", csi_x=0)]
    assert answer(pod(volumes=volumes), *objects) == FULL
    assert answer(pod(volumes=volumes[::-1]), *objects) == FULL
    plugin, scratch = NodeVolumeLimits(), pod(volumes=volumes[1:])
    assert plugin.pre_filter(cycle_of(scratch, node("n0"))) == Status.SKIPPED


def test_pods_matter_before_volumes_are_prepared_and_not_where_they_cannot_be_counted():
    plugin = NodeVolumeLimits()
    objects = [node("n0"), *bound("a"), csi_node("n0", csi_x=9)]
    unprepared = cycle_of(pod(volumes=using("a")), *objects)
    assert plugin.filter_ignores_pods(unprepared) is False
    gone = cycle_of(pod(volumes=using("gone")), *objects)
    plugin.pre_filter(gone)
    assert not filtered(plugin, gone)["n0"].is_success
    assert plugin.filter_ignores_pods(gone) is True
