"""Devices and volumes of node groups: what new nodes have, and how much of a node is in use."""

from __future__ import annotations

import pytest

from podwright.apimachinery.objects import ResourceSlice, decode
from podwright.scheduler.columns.tests.storage_objects import claim, csi_node, volume
from podwright.scheduler.machine import SchedulerOptions
from podwright.simulation.autoscaling.tests.test_node_removals import removals
from podwright.simulation.autoscaling.tests.test_scale_down import QUICK, removed, scaled
from podwright.simulation.autoscaling.tests.test_scale_up import (
    deployment,
    group,
    reasons,
    simulated,
)
from podwright.simulation.autoscaling.trial_cluster import TrialCluster
from podwright.testing import make_node, make_pod

DRIVER = "gpu.example.com"
TYPE = "node.kubernetes.io/instance-type"
GPUS = {"template": {"labels": {"gpu": "yes"}}}


def resource(kind, name, spec, **fields):
    metadata = {"name": name}
    version = "podwright.dev/v1" if kind == "DeviceCards" else "resource.k8s.io/v1"
    return decode(
        {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec, **fields}
    )


def cards(name="cards", count=2, **spec):
    given = {"driver": DRIVER, "nodeSelector": {"gpu": "yes"}, "count": count, **spec}
    return resource("DeviceCards", name, given)


CLASS = resource(
    "DeviceClass", "gpu", {"selectors": [{"cel": {"expression": f'device.driver == "{DRIVER}"'}}]}
)
EXACTLY = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}
ONE = {"devices": {"requests": [{"name": "gpu", "exactly": EXACTLY}]}}
TEMPLATE = decode(
    {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "one", "namespace": "default"},
        "spec": {"spec": ONE},
    }
)


def train(count):
    claims = [{"name": "gpu", "resourceClaimTemplateName": "one"}]
    return [CLASS, TEMPLATE, deployment("web", count, cpu="100m", resourceClaims=claims)]


def test_a_group_gets_the_nodes_whose_described_devices_pods_need():
    run, seen = simulated([cards(), *train(5)], [group("cpu"), group("gpu", **GPUS)])
    # The slices of a node are published after it: until then it counts as upcoming.
    assert [name for _, _, name in seen.nodes] == ["gpu-0", "gpu-1", "gpu-2"]
    assert not run.pending


def test_devices_that_no_node_of_a_group_has_trigger_nothing():
    _, seen = simulated([cards(), *train(1)], [group("cpu")])
    assert not seen.nodes
    assert set(reasons(seen, "NotTriggerScaleUp")) == {
        "pod didn't trigger scale-up: 1 cannot allocate all claims"
    }


def test_nodes_are_removed_by_the_use_of_their_devices():
    groups = [group("gpu", **GPUS)]
    run, seen = simulated([cards(), *train(6)], groups, QUICK, [scaled(2)], until="30m")
    assert len(run.node_of) == 2
    assert len(set(run.node_of.values())) == 3 - len(removed(seen))
    assert removed(seen)
    notes = [note for note in reasons(seen, "ScaleDown") if "utilization" in note]
    assert all(f"{{0 0 0 0.5 {DRIVER}/" in note for note in notes), notes


class Slices:
    """Collects the nodes and the pools of slices."""

    def __init__(self):
        self.nodes = set()

    def changed(self, old, new, now_ns):
        for obj, change in ((old, self.nodes.discard), (new, self.nodes.add)):
            if isinstance(obj, ResourceSlice):
                change((obj.spec.node_name, obj.spec.pool.name))


def allocated(*devices, admin=False):
    results = [
        {"request": "r", "driver": DRIVER, "pool": "n", "device": name}
        | ({"adminAccess": True} if admin else {})
        for name in devices
    ]
    return resource(
        "ResourceClaim", "c", {}, status={"allocation": {"devices": {"results": results}}}
    )


def part(name, amount, of="s"):
    uses = {"counterSet": of, "counters": {"memory": {"value": amount}, "cores": {"value": "1"}}}
    return {"name": name, "consumesCounters": [uses]}


def use_of(devices, *claims, sets=("s",), memory="40Gi", cores="8"):
    """Return the use of a node with one pool."""
    pool = {"name": "n", "generation": 1, "resourceSliceCount": 2}
    common = {"driver": DRIVER, "nodeName": "n", "pool": pool}
    counters = {"memory": {"value": memory}, "cores": {"value": cores}}
    shared = [{"name": name, "counters": counters} for name in sets]
    trial = TrialCluster(SchedulerOptions())
    trial.add(
        [
            make_node("n"),
            resource("ResourceSlice", "a", common | {"devices": devices}),
            resource("ResourceSlice", "b", common | {"sharedCounters": shared}),
            *claims,
        ]
    )
    return trial.device_use("n")


W = [{"name": "w0"}, {"name": "w1"}]
P = [part("p0", "10Gi"), part("p1", "20Gi")]
NOTHING = [{"counterSet": "s", "counters": {"memory": {"value": "0"}}}]


@pytest.mark.parametrize(
    ("devices", "used", "share"),
    [
        pytest.param(W, [], 0, id="nothing is in use"),
        pytest.param(P, [], 0, id="no partition is in use"),
        pytest.param(W, ["w1"], 0.5, id="one of two devices"),
        pytest.param(P, ["p0"], 0.25, id="the counter of which most is taken"),
        pytest.param(P, ["p0", "p1"], 0.75, id="two partitions of a set"),
        # Upstream: utilization.go, the example of calculatePoolUtil
        pytest.param([*W, *P], ["w0", "w1"], 1, id="whole devices alone"),
        pytest.param([*W, part("p", "40Gi")], ["p"], 1, id="partitions alone"),
        pytest.param([*W, *P], ["w0", "p1"], 0.5, id="weighted by the number of devices"),
        pytest.param([*W, *P], ["p0"], 0.25, id="whole devices that are free do not count"),
    ],
)
def test_the_use_of_a_pool_is_upstreams(devices, used, share):
    """Upstream: simulator/dynamicresources/utils/utilization.go, calculatePoolUtil"""
    claims = [allocated(*used)] if used else []
    assert use_of(devices, *claims) == (f"{DRIVER}/n", pytest.approx(share))


def test_two_counter_sets_count_as_two_devices():
    parts = [part("p0", "40Gi"), part("p1", "40Gi", "t")]
    assert use_of(parts, allocated("p0"), sets=("s", "t")) == (f"{DRIVER}/n", 0.5)


@pytest.mark.parametrize(
    ("amounts", "share"),
    [
        pytest.param({"memory": "0"}, 0.125, id="one counter of none"),
        pytest.param({"memory": "0", "cores": "0"}, 0, id="no counter of any"),
    ],
)
def test_a_counter_without_an_amount_is_not_in_use(amounts, share):
    parts = [part("p0", "0") if len(amounts) == 1 else {"name": "p0", "consumesCounters": NOTHING}]
    assert use_of(parts, allocated("p0"), **amounts) == (f"{DRIVER}/n", share)


def test_admin_access_uses_nothing_and_nodes_without_slices_have_no_use():
    assert use_of(W, allocated("w0", admin=True)) == (f"{DRIVER}/n", 0)
    trial = TrialCluster(SchedulerOptions())
    trial.add([make_node("n"), CLASS])
    assert trial.device_use("n") is None


def published(name, node="", driver=DRIVER, pool="", **spec):
    named = {"name": pool or node, "generation": 1, "resourceSliceCount": 1}
    where = {"nodeName": node} if node else {"allNodes": True}
    spec = {"driver": driver, "pool": named, "devices": W, **where, **spec}
    return resource("ResourceSlice", name, spec)


def test_the_pool_of_which_most_is_used_counts_of_those_of_the_node_alone():
    """Upstream: utilization.go, HighestDynamicResourceUtilization"""
    trial = TrialCluster(SchedulerOptions())
    trial.add([make_node("n"), published("all", pool="shared")])
    assert trial.device_use("n") is None
    trial.add([published("other", "n", driver="a.io"), published("s", "n"), allocated("w0")])
    assert trial.device_use("n") == (f"{DRIVER}/n", 0.5)


@pytest.mark.parametrize(
    ("labels", "given", "copied"),
    [
        pytest.param({"pool": "a"}, [published("s", "a1")], ["s-new"], id="of its group"),
        pytest.param(
            {"pool": "a"},
            [published("s", "a2"), published("t", "a1"), published("u", "a1", "b.io")],
            ["t-new", "u-new"], id="of the first node that has some",
        ),
        pytest.param({"pool": "a"}, [published("s", "b1")], [], id="of another group"),
        pytest.param({}, [published("s", "none")], [], id="of no group"),
        pytest.param(
            {"pool": "a", TYPE: "large"}, [published("s", "large"), published("t", "a1", "b.io")],
            ["t-new"], id="of its instance type or of an unknown one",
        ),
        pytest.param(
            {"pool": "a", TYPE: "small"}, [published("s", "large")], [],
            id="of another instance type",
        ),
        pytest.param({"pool": "a"}, [published("s", pool="p")], [], id="of all nodes"),
        pytest.param({"pool": "a"}, [published("s", "gone")], [], id="of a node that is gone"),
        pytest.param({"pool": "a"}, [published("s", "new")], [], id="of the node itself"),
        pytest.param(
            {"pool": "a", "gpu": "yes"},
            [cards(), published("s", "a1"), published("t", "a1", "b.io")],
            ["t-new"], id="of a driver that is not described",
        ),
    ],
)  # fmt: skip
def test_a_new_node_has_the_devices_of_a_node_of_its_group(labels, given, copied):
    """Upstream: simulator/node_info_utils.go, SanitizedNodeInfo"""
    trial = TrialCluster(SchedulerOptions())
    pools = {"a2": {"pool": "a"}, "a1": {"pool": "a"}, "b1": {"pool": "b"}, "none": {}}
    pools["large"] = {"pool": "a", TYPE: "large"}
    nodes = [make_node(name, labels=given) for name, given in pools.items()]
    new = make_node("new", labels=labels)
    trial.add([*nodes, new, *given])
    found = trial.companions.copied(new)
    slices = [each for each in found if isinstance(each, ResourceSlice)]
    assert [(each.name, each.spec.node_name) for each in slices] == [
        (each, "new") for each in copied
    ]


def csi_volume(name):
    """Return a volume of the driver csi.x that is bound to the claim of its name."""
    owner = {"kind": "PersistentVolumeClaim", "namespace": "default", "name": name, "uid": name}
    return volume(name, claimRef=owner, csi={"driver": "csi.x", "volumeHandle": name})


def attached(count):
    """Return pods with a volume each of the driver csi.x."""
    made = []
    for name in (f"p{number}" for number in range(count)):
        volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": name}}]
        pod = make_pod(name, cpu="100m").raw
        made += [
            csi_volume(name),
            claim(name, bound_to=name),
            decode(pod | {"spec": pod["spec"] | {"volumes": volumes}}),
        ]
    return made


def test_a_new_node_has_a_csi_node_like_one_of_its_group():
    """Upstream: simulator/node_info_utils.go, CreateSanitizedCSINode"""
    trial = TrialCluster(SchedulerOptions())
    nodes = [make_node(name, labels={"pool": name[0]}) for name in ("a1", "a2", "b1")]
    limited = [csi_node("gone", csi_x=9), csi_node("a2", csi_x=2), csi_node("b1", csi_x=5)]
    trial.add([*nodes, published("s", "a1"), *limited])
    pools = {"a": 2, "b": 5, "c": None}
    for pool, limit in pools.items():
        with trial.forked():
            trial.add_node(make_node("new", labels={"pool": pool}), ())
            storage = trial.scheduler.cluster.storage.csi_nodes
            slot = trial.scheduler.cluster.nodes.slot_of["new"]
            assert storage.has_limits(slot) == (limit is not None)
            limits = storage.limits("csi.x")
            assert limits is not None
            assert limits[slot] == (-1 if limit is None else limit)
        assert "new" not in storage.names()


def test_volumes_that_may_be_attached_decide_how_many_nodes_a_group_gets():
    node = make_node("a-old", labels={"podwright.dev/node-group": "a"})
    given = [node, csi_node("a-old", csi_x=2), *attached(7)]
    run, seen = simulated(given, [group("a")])
    assert [name for _, _, name in seen.nodes] == ["a-old", "a-0", "a-1", "a-2"]
    assert not run.pending


def test_the_pool_that_keeps_a_node_is_named():
    pool = {"name": "n", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": DRIVER, "nodeName": "n", "pool": pool, "devices": W}
    node = make_node("n", labels={"pool": "a"})
    objects = [node, resource("ResourceSlice", "s", spec), allocated("w0")]
    (found,) = removals(objects, group())
    text = f"50.00% of its {DRIVER}/n is allocated; scaleDownUtilizationThreshold is 0.5"
    assert (found.reason, found.message) == ("NotUnderutilized", text)


def test_cards_that_are_changed_or_deleted_are_followed():
    trial = TrialCluster(SchedulerOptions())
    node = make_node("n", labels={"gpu": "yes"})
    trial.change(None, cards())
    assert trial.waits_for_devices(node)
    trial.change(cards(), cards(nodeSelector={"gpu": "no"}))
    assert not trial.waits_for_devices(node)
    trial.change(None, cards())
    trial.change(cards(), resource("DeviceCards", "cards", {"driver": 7}))
    assert not trial.waits_for_devices(node)
    trial.change(None, cards())
    trial.change(make_node("cards"), None)
    assert trial.waits_for_devices(node), "another object of the name"
    trial.change(cards(), None)
    assert not trial.waits_for_devices(node)


@pytest.mark.parametrize("names", ["ab", "ba"])
def test_of_several_descriptions_of_a_driver_the_first_by_name_holds(names):
    trial = TrialCluster(SchedulerOptions())
    trial.add([cards(name, count=1 + (name == "b")) for name in names])
    with trial.forked():
        trial.add_node(make_node("n", labels={"gpu": "yes"}), [])
        (pool,) = trial.scheduler.cluster.devices.pools_of("n", {})
        assert len(pool.devices) == 1


def test_without_cards_new_nodes_have_the_devices_of_another_node_of_their_group():
    pool = {"name": "n", "generation": 3, "resourceSliceCount": 1}
    spec = {"driver": DRIVER, "nodeName": "n", "pool": pool, "devices": W}
    node = make_node("n", cpu="4", memory="16Gi", labels={"pool": "gpu"})
    objects = [node, resource("ResourceSlice", "s", spec), *train(5)]
    groups = [group("cpu"), group("gpu")]
    slices = Slices()
    run, seen = simulated(objects, groups, QUICK, [scaled(2)], until="30m", observers=(slices,))
    assert [name for _, sign, name in seen.nodes if sign == "+"] == ["n", "gpu-0", "gpu-1"]
    assert not run.pending
    gone = {name for _, name in removed(seen)}
    assert gone
    assert slices.nodes == {(name, name) for name in {"n", "gpu-0", "gpu-1"} - gone}
