"""Coscheduling in a machine; the stories show how a group is placed and rejected."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.objects import CoschedulingPodGroup, Pod, PodGroup, decode_as
from podwright.apimachinery.objects.errors import InputError
from podwright.scheduler.columns import Cluster
from podwright.scheduler.config import CoschedulingArgs
from podwright.scheduler.framework import Cycle, Status
from podwright.scheduler.machine.tests.driving import SECOND_NS, Driver
from podwright.scheduler.plugins.coscheduling import Coscheduling
from podwright.testing import make_node, make_pod

LABEL = "scheduling.x-k8s.io/pod-group"


def configuration(**args: int) -> dict[str, Any]:
    sort = {"enabled": [{"name": "Coscheduling"}], "disabled": [{"name": "*"}]}
    plugins = {"multiPoint": {"enabled": [{"name": "Coscheduling"}]}, "queueSort": sort}
    profile = {
        "schedulerName": "default-scheduler",
        "plugins": plugins,
        "pluginConfig": [{"name": "Coscheduling", "args": args}],
    }
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [profile],
    }


def group(name: str, least: int, *, created: str = "", **spec: Any) -> CoschedulingPodGroup:
    meta = {"namespace": "default", "name": name, "creationTimestamp": created or None}
    document = {"metadata": meta, "spec": {"minMember": least, **spec}}
    return decode_as(document, CoschedulingPodGroup)


def member(name: str, of: str = "g", **fields: Any) -> Pod:
    return make_pod(name, scheduler="default-scheduler", labels={LABEL: of}, **fields)


@pytest.mark.parametrize(
    ("least_resources", "message"),
    [
        pytest.param({"cpu": "4"}, "", id="what all nodes have together is enough"),
        pytest.param({"cpu": "4500m"}, "resource gap: cpu: 500m", id="half a CPU is missing"),
        pytest.param({"example.com/gpu": "2"}, "resource gap: example.com/gpu: 2",
                     id="no node has any"),
    ],
)  # fmt: skip
def test_a_group_is_not_scheduled_where_nodes_lack_its_resources(least_resources, message):
    driver = Driver(config=configuration())
    driver.put(make_node("n1", cpu="2"), make_node("n2", cpu="2"))
    driver.put(group("g", 2, minResources=least_resources), member("a"), member("b"))
    driver.cycle()
    driver.cycle()
    if message:
        assert f"{message}." in driver.condition("default/a")[1]
    else:
        assert driver.node_of("default/a")
        assert driver.node_of("default/b")


GATED = "pre-filter pod m0 cannot proceed due to gated pods in the same PodGroup"
FEW = (
    "pre-filter pod m0 cannot find enough sibling pods, current pods number: 1, "
    "minMember of group: 2"
)


@pytest.mark.parametrize(
    ("members", "gated", "message"),
    [
        pytest.param(2, 0, "", id="as many as must be"),
        pytest.param(3, 0, "", id="more"),
        pytest.param(1, 0, FEW, id="one is missing"),
        pytest.param(1, 1, GATED, id="one is gated"),
        pytest.param(1, 2, GATED, id="two are"),
        pytest.param(2, 1, "", id="one of three is"),
    ],
)
def test_a_group_is_scheduled_with_as_many_members_that_are_not_gated(members, gated, message):
    driver = Driver(config=configuration())
    driver.put(make_node("n1", cpu="4"), group("g", 2))
    gates = {"schedulingGates": [{"name": "example.com/wait"}]}
    driver.put(*[member(f"gated{number}", spec=gates) for number in range(gated)])
    driver.put(*[member(f"m{number}") for number in range(members)])
    for _ in range(members):
        driver.cycle()
    if message:
        assert f"{message}." in driver.condition("default/m0")[1]
    else:
        assert {driver.node_of(f"default/m{number}") for number in range(members)} == {"n1"}


def test_what_other_pods_request_is_missing():
    driver = Driver(config=configuration())
    driver.put(make_node("n1", cpu="2"), make_node("n2", cpu="2"))
    driver.put(make_pod("other", cpu="1500m", node="n1"))
    driver.put(group("g", 2, minResources={"cpu": "4"}), member("a"), member("b"))
    driver.cycle()
    assert "resource gap: cpu: 1500m." in driver.condition("default/a")[1]


def test_requests_of_placed_members_count_as_free_for_their_group():
    driver = Driver(config=configuration())
    driver.put(make_node("n1", cpu="4"), group("g", 2, minResources={"cpu": "4"}))
    driver.put(member("a", cpu="2", node="n1"), member("b", cpu="2"))
    driver.cycle()
    assert driver.node_of("default/b") == "n1"


@pytest.mark.parametrize(
    ("least", "message"),
    [
        pytest.param(3, "", id="three places, of which the placed member has one"),
        pytest.param(4, "resource gap: pods: 1", id="one place is missing"),
    ],
)
def test_the_places_of_placed_members_count_as_free_for_their_group(least, message):
    driver = Driver(config=configuration())
    driver.put(make_node("n1", pods=3), group("g", least, minResources={"cpu": "1m"}))
    driver.put(member("a", node="n1"), *[member(name) for name in ("b", "c", "d")[: least - 1]])
    driver.cycle()
    driver.cycle()
    if message:
        assert f"{message}." in driver.condition("default/b")[1]
    else:
        assert driver.node_of("default/b") == driver.node_of("default/c") == "n1"


@pytest.mark.parametrize(
    ("percentage", "waits"),
    [
        pytest.param(50, True, id="half of the members are missing and half may be"),
        pytest.param(49, False, id="one per cent too few"),
    ],
)
def test_members_keep_their_nodes_if_nearly_all_have_one(percentage, waits):
    driver = Driver(config=configuration(podGroupRejectPercentage=percentage))
    driver.put(make_node("n1", cpu="1"), group("g", 2))
    driver.put(member("a", cpu="1"), member("b", cpu="1"))
    driver.cycle()
    driver.cycle()
    assert ("default/a" in driver.machine.waiting()) is waits


def test_members_are_tried_in_the_order_of_their_groups_and_not_of_their_own():
    driver = Driver(config=configuration())
    driver.put(group("new", 1, created="2023-01-02T00:00:00Z"))
    driver.put(group("old", 1, created="2023-01-01T00:00:00Z"))
    driver.put(member("a", "new"), member("b", "old"), member("c", "new"), member("d", "old"))
    queue = driver.machine.queue
    order = []
    while (queued := queue.pop(driver.now_ns)) is not None:
        order.append(queued.pod.metadata.name)
        queue.done(queued, driver.now_ns)
    assert order == ["b", "d", "a", "c"]


def test_a_pod_whose_group_does_not_exist_is_refused_at_permit():
    driver = Driver(config=configuration())
    driver.put(make_node("n1"), member("a"))
    driver.cycle()
    assert driver.condition("default/a")[1] == ("0/1 nodes are available: 1 PodGroup not found.")
    driver.put(group("g", 1))
    assert driver.place_of("default/a") in {"active", "backoff"}


def test_the_two_kinds_of_groups_with_one_name_are_distinct():
    driver = Driver(config=configuration())
    in_tree = decode_as({"metadata": {"namespace": "default", "name": "g"}}, PodGroup)
    driver.put(make_node("n1"), group("g", 1), in_tree, member("a"))
    driver.remove(in_tree)
    driver.cycle()
    assert driver.node_of("default/a") == "n1"


def test_a_rejected_group_is_not_tried_again_while_it_is_backed_off():
    driver = Driver(config=configuration(podGroupBackoffSeconds=60))
    driver.put(make_node("n1", cpu="1"), group("g", 2))
    driver.put(member("a", cpu="1"), member("b", cpu="1"))
    driver.cycle()
    driver.cycle()
    assert not driver.machine.can_snapshot
    driver.now_ns += 2 * SECOND_NS
    driver.put(make_node("n2", cpu="1"))
    driver.cycle()
    assert "podGroup default/g failed recently" in driver.notes[-1]


def test_without_a_machine_or_a_group_a_pod_has_its_own_place_in_the_queue():
    plugin = Coscheduling(CoschedulingArgs())
    pods = make_pod("a", priority=3), member("a", priority=3)
    cluster = Cluster()
    for pod in pods:
        assert plugin.queue_sort_key(pod, 7) == (-3, 7, "default/a")
        # Upstream: pkg/coscheduling/coscheduling.go of scheduler-plugins, PostFilter
        failed: Any = None
        result = plugin.post_filter(Cycle(pod, cluster), failed)
        assert result.status == Status.unschedulable("can not find pod group")
        plugin.unreserve(Cycle(pod, cluster), "n1")
    assert not plugin.remembers()


def test_pods_without_a_group_are_left_alone():
    driver = Driver(config=configuration())
    driver.put(make_node("n1"), make_pod("a", scheduler="default-scheduler"))
    driver.cycle()
    assert driver.node_of("default/a") == "n1"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("permitWaitingTimeSeconds", -1),
        ("podGroupBackoffSeconds", -1),
        ("podGroupRejectPercentage", 101),
    ],
)
def test_arguments_that_make_no_sense_are_refused_with_their_path(name, value):
    with pytest.raises(InputError, match=rf"args\.{name}"):
        Driver(config=configuration(**{name: value}))
    Driver(config=configuration(**{name: 1}))
