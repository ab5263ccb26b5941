"""The loop of the autoscaler, action by action: the times of its loops, its requests and Events."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.objects import decode
from podwright.cluster.api import (
    CreateObject,
    DeleteObject,
    EvictPod,
    RecordEvent,
    UpdateObject,
)
from podwright.cluster.controllers import Lister, SyncAt
from podwright.scheduler.machine import SchedulerOptions
from podwright.simulation.autoscaling import ClusterAutoscaler, parse_node_groups
from podwright.simulation.autoscaling.cluster_autoscaler import Arrival, Backoff, ScaleUpRequest
from podwright.simulation.autoscaling.drainability import DrainRules
from podwright.simulation.autoscaling.expanders import Choice, ScaleUpOption
from podwright.simulation.autoscaling.explaining import AutoscalingExplanation, GroupHelp
from podwright.simulation.autoscaling.group_sizes import GroupSizes, SizeChange
from podwright.simulation.autoscaling.node_groups import (
    AutoscalerOptions,
    Autoscaling,
    NodeGroup,
    NodeTemplate,
    Outage,
)
from podwright.simulation.autoscaling.scale_down import Candidate, Removal
from podwright.simulation.autoscaling.scale_up import GroupOffer, PodGroup
from podwright.simulation.autoscaling.tests.test_scale_up import SECOND_NS, group
from podwright.testing import make_node, make_pod

START_NS = 1_767_225_600 * SECOND_NS  # 2026-01-01T00:00:00Z
STATUS = "kube-system/cluster-autoscaler-status"


def seconds_of(time_ns):
    return (time_ns - START_NS) / SECOND_NS


def brief(actions):
    """Return actions as tuples: what is done, and to which object."""
    found: list[tuple[Any, ...]] = []
    for each in actions:
        if isinstance(each, SyncAt):
            found.append(("sync", each.event.key, seconds_of(each.due_ns)))
        elif isinstance(each, CreateObject):
            found.append(("create", each.obj.name))
        elif isinstance(each, UpdateObject):
            node: Any = each.obj
            taints = [(taint.key, taint.effect) for taint in node.spec.taints]
            found.append(("taints", node.name, *taints))
        elif isinstance(each, DeleteObject):
            found.append(("delete", each.key))
        elif isinstance(each, EvictPod):
            found.append(("evict", each.pod))
        else:
            assert isinstance(each, RecordEvent)
            found.append((each.type, each.key, each.reason, each.note))
    return found


def at(second):
    """Return a time of a run as objects have it."""
    return f"2026-01-01T{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}Z"


def ready(node, *, is_ready=True, created=0, uid="", annotations=None):
    conditions = [{"type": "Ready", "status": str(is_ready)}]
    metadata = {"creationTimestamp": at(created), "uid": uid, "annotations": annotations or {}}
    return decode(
        {
            **node.raw,
            "metadata": {**node.raw["metadata"], **metadata},
            "status": {**node.raw["status"], "conditions": conditions},
        }
    )


def pooled(name, pool="a", **fields):
    """Return a node of a group, ready from the start."""
    extra = {key: fields.pop(key) for key in ("is_ready", "created", "uid") if key in fields}
    return ready(make_node(name, labels={"pool": pool}, **fields), **extra)


def waiting(name, *, created=0, reason="Unschedulable", status="False", **fields):
    """Return a pod that the scheduler has found unschedulable."""
    made = make_pod(name, **{"cpu": "1", **fields})
    condition = {"type": "PodScheduled", "status": status, "reason": reason}
    return decode(
        {
            **made.raw,
            "metadata": {**made.raw["metadata"], "creationTimestamp": at(created)},
            "status": {**made.raw.get("status", {}), "conditions": [condition]},
        }
    )


class Scaler:
    """An autoscaler with the objects that it sees."""

    def __init__(self, groups, objects=(), **options):
        autoscaling = parse_node_groups({"groups": groups, "options": options}, "groups")
        self.lister = Lister()
        self.autoscaler = ClusterAutoscaler(
            self.lister, autoscaling=autoscaling, scheduler=SchedulerOptions()
        )
        self.add(*objects)

    def add(self, *objects):
        for each in objects:
            self.lister.put(each)
            self.autoscaler.observe(None, each)

    def sync(self, second, key="loop"):
        return brief(self.autoscaler.sync(key, START_NS + int(second * SECOND_NS)))


def test_leases_and_events_start_no_loop_and_every_other_change_does():
    scaler = Scaler([group()])
    node, pod = pooled("n"), make_pod("p")
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "n"}}
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "d"}}
    observe = scaler.autoscaler.observe
    assert observe(None, decode(lease)) == ()
    for kind in ("v1", "events.k8s.io/v1"):
        event = {"apiVersion": kind, "kind": "Event", "metadata": {"name": "e", "namespace": "d"}}
        assert observe(decode(event), None) == ()
    for old, new in ((None, node), (node, node), (None, pod), (pod, None), (None, decode(config))):
        assert observe(old, new) == ("loop",)


def test_pods_of_higher_priority_take_the_room_that_there_is_first():
    pods = [waiting("low", cpu="4"), waiting("high", cpu="4", priority=1)]
    scaler = Scaler([group()], [pooled("n", cpu="4"), *pods])
    noted = [each[1] for each in scaler.sync(60) if each[2:3] == ("TriggeredScaleUp",)]
    assert noted == ["default/low"]


@pytest.mark.parametrize("start", [0, 7])
def test_loops_are_at_multiples_of_the_scan_interval_since_the_first_once_each(start):
    scaler = Scaler([group()], scanInterval="20s")
    assert scaler.sync(start) == []
    assert scaler.sync(start) == [("sync", "loop", start + 20)]
    assert scaler.sync(start + 7) == [("sync", "loop", start + 20)]
    assert scaler.sync(start + 19.5) == [("sync", "loop", start + 20)]
    assert scaler.sync(start + 20.5) == [], "a real clock is late"
    assert scaler.sync(start + 25) == [("sync", "loop", start + 40)]
    assert scaler.sync(start + 40) == []
    assert scaler.sync(start + 100) == [], "the first change for long"


@pytest.mark.parametrize(("now", "is_new"), [(10, True), (11.999, True), (12, False)])
def test_pods_of_the_last_two_seconds_are_waited_for(now, is_new):
    """Upstream: core/static_autoscaler.go, unschedulablePodTimeBuffer"""
    pods = [waiting("older", created=13), waiting("new", created=10)]
    found = Scaler([group()], pods[1:], scanInterval="1ms").sync(now)
    assert (found == [("sync", "loop", now + 0.001)]) is is_new
    assert ("sync", "arrivals", now + 30) in found or is_new
    found = Scaler([group()], pods, scanInterval="1ms").sync(14)
    assert ("sync", "arrivals", 44) in found, "the oldest pod counts"


def test_a_scale_up_says_what_it_does_and_nodes_come_after_the_provisioning_time():
    scaler = Scaler([group()], [pooled("old", cpu="1"), waiting("p", cpu="3")])
    to = "2 instead of 1"
    assert scaler.sync(10) == [
        ("Normal", STATUS, "ScaledUpGroup", f"Scale-up: setting group a size to {to} (max: 10)"),
        ("Normal", STATUS, "ScaledUpGroup", f"Scale-up: group a size set to {to} (max: 10)"),
        ("sync", "arrivals", 40),
        ("Normal", "default/p", "TriggeredScaleUp", "pod triggered scale-up: [{a 1->2 (max: 10)}]"),
        ("sync", "loop", 20),
    ]
    assert [each for each in scaler.sync(20) if each[0] != "taints"] == [("sync", "loop", 30)]
    assert scaler.sync(39, "arrivals") == [("sync", "arrivals", 40)]
    assert scaler.sync(40, "arrivals") == [("create", "a-0")]
    assert scaler.sync(41, "arrivals") == []


def test_nodes_without_a_provisioning_time_are_created_at_once():
    scaler = Scaler([group(provisioningTime="0s")], [waiting("p"), waiting("q", cpu="4")])
    found = scaler.sync(10)
    assert [each for each in found if each[0] in ("create", "sync")] == [
        ("create", "a-0"), ("create", "a-1"),
    ]  # fmt: skip


def test_nodes_of_an_outage_never_come_while_those_of_other_requests_do():
    out = group(outages=[{"start": "0s", "end": "15s"}], provisioningTime="20s")
    scaler = Scaler([out], [waiting("p", cpu="3")])
    scaler.sync(0)
    assert not [each for each in scaler.sync(10) if each[:2] == ("sync", "arrivals")]
    scaler.add(waiting("q", created=10, cpu="3"))
    assert ("sync", "arrivals", 40) in scaler.sync(20)
    assert scaler.sync(39, "arrivals") == [("sync", "arrivals", 40)]
    assert scaler.sync(40, "arrivals") == [("create", "a-0")]
    scaler.add(pooled("a-0", created=40))
    # The node that never comes is waited for until it is late, and then the group is in backoff.
    assert not [each for each in scaler.sync(20 + 15 * 60) if each[0] == "Warning"]
    note = "Nodes added to group a failed to register within 15m10s"
    assert ("Warning", STATUS, "ScaleUpTimedOut", note) in scaler.sync(30 + 15 * 60)


def late(second, scaler):
    return [each[3] for each in scaler.sync(second) if each[2] == "ScaleUpTimedOut"]


def test_only_the_nodes_of_the_late_request_that_never_come_are_given_up():
    """Upstream: core/static_autoscaler.go, removeOldUnregisteredNodes"""
    out = {"size": 1, "outages": [{"start": "0s", "end": "1h"}]}
    pods = [waiting("p", cpu="4")]
    scaler = Scaler([group("a", **out), group("b", **out)], pods, maxNodeProvisionTime="1m")
    scaler.sync(10)
    scaler.add(waiting("q", created=10, cpu="4"))
    scaler.sync(30)
    first, second = sorted(scaler.autoscaler._requests, key=lambda name: name == "b")
    note = "Nodes added to group {} failed to register within 1m10s"
    assert [late(at, scaler) for at in (70, 80, 90, 100)] == [
        [], [note.format(first)], [], [note.format(second)],
    ]  # fmt: skip
    slow = Scaler([group(provisioningTime="5m")], pods, maxNodeProvisionTime="1m")
    slow.sync(10)
    assert late(80, slow) == [note.format("a")]
    assert slow.sync(310, "arrivals") == [("create", "a-0")], "it comes nevertheless"


def test_the_arrivals_that_are_still_to_come_are_waited_for():
    groups = [group("a", size=1), group("b", cpu="8", provisioningTime="60s")]
    scaler = Scaler(groups, [waiting("p", cpu="4")], expander=["priority"], priorities={"9": ["a"]})
    assert ("sync", "arrivals", 40) in scaler.sync(10)
    scaler.add(waiting("q", created=10, cpu="4"))
    assert ("sync", "arrivals", 80) in scaler.sync(20)
    assert scaler.sync(40, "arrivals") == [("create", "a-0"), ("sync", "arrivals", 80)]
    assert scaler.sync(80, "arrivals") == [("create", "b-0")]


@pytest.mark.parametrize(
    ("settings", "further"),
    [
        pytest.param({}, [("sync", "arrivals", 120)], id="a later one"),
        pytest.param({"outages": [{"start": "0s", "end": "1h"}]}, [], id="one that never comes"),
    ],
)
def test_the_next_of_several_arrivals_is_waited_for(settings, further):
    groups = [
        group("a", size=1),
        group("b", size=1, provisioningTime="60s"),
        group("c", provisioningTime="90s", **settings),
    ]
    priorities = {"9": ["a"], "5": ["b"], "1": ["c"]}
    scaler = Scaler(groups, expander=["priority"], priorities=priorities)
    for second, first in ((10, "a"), (20, "b"), (30, "c")):
        scaler.add(waiting(f"p{second}", created=second - 10, cpu="4"))
        assert scaler.sync(second)[0][3].startswith(f"Scale-up: setting group {first} size to 1")
    assert scaler.sync(40, "arrivals") == [("create", "a-0"), ("sync", "arrivals", 80)]
    assert scaler.sync(80, "arrivals") == [("create", "b-0"), *further]


def test_nodes_of_all_requests_of_a_group_may_still_come():
    scaler = Scaler([group(size=30)], [waiting(f"p{n}", cpu="4") for n in range(3)])
    for second, size in ((10, 3), (20, 6), (30, 9)):
        found = scaler.sync(second)
        assert found[0][3].endswith(f"size to {size} instead of {size - 3} (max: 30)")
        scaler.add(*(waiting(f"p{second}-{n}", cpu="4", created=10) for n in range(3)))


def not_triggered(second, scaler):
    return [each[1:4:2] for each in scaler.sync(second) if each[2] == "NotTriggerScaleUp"]


def test_a_pod_that_triggers_no_scale_up_gets_one_event_in_five_minutes():
    scaler = Scaler([group()], [waiting("p", cpu="5")])
    event = ("default/p", "pod didn't trigger scale-up: 1 Insufficient cpu")
    assert not_triggered(10, scaler) == [event]
    assert not_triggered(20, scaler) == []
    assert not_triggered(300, scaler) == []
    assert not_triggered(310, scaler) == [event]
    assert not_triggered(600, scaler) == []


def test_a_pod_whose_reason_changes_gets_an_event_at_once():
    scaler = Scaler([group(size=1)], [waiting("p", cpu="5")])
    assert len(not_triggered(10, scaler)) == 1
    scaler.add(pooled("n", cpu="1"))
    full = "pod didn't trigger scale-up: 1 max node group size reached"
    assert not_triggered(20, scaler) == [("default/p", full)]
    assert not_triggered(30, scaler) == []


@pytest.mark.parametrize(
    ("ready_count", "unready_count", "is_healthy"),
    [
        pytest.param(0, 3, True, id="three may be unready"),
        pytest.param(0, 4, False, id="four of four"),
        pytest.param(10, 8, True, id="44 percent"),
        pytest.param(11, 9, True, id="exactly 45 percent"),
        pytest.param(10, 9, False, id="47 percent"),
    ],
)
def test_a_cluster_with_too_many_unready_nodes_is_left_alone(
    ready_count, unready_count, is_healthy
):
    """Upstream: clusterstate/clusterstate.go, IsClusterHealthy"""
    nodes = [pooled(f"r{n}", "other") for n in range(ready_count)]
    nodes += [pooled(f"u{n}", "other", is_ready=False) for n in range(unready_count)]
    found = Scaler([group()], [*nodes, waiting("p", cpu="4", node_selector={"x": "y"})]).sync(10)
    unhealthy = ("Warning", STATUS, "ClusterUnhealthy", "Cluster is unhealthy")
    assert (unhealthy not in found) is is_healthy
    assert (len(found) == 1) is not is_healthy or found[0][2] == "NotTriggerScaleUp"


@pytest.mark.parametrize(("now", "starts"), [(899, True), (900, False)])
def test_a_node_of_a_group_may_start_for_fifteen_minutes(now, starts):
    """Upstream: clusterstate/clusterstate.go, MaxNodeStartupTime"""
    nodes = [pooled(f"n{number}", is_ready=False) for number in range(4)]
    found = Scaler([group()], nodes, scanInterval="1s").sync(now)
    assert ("ClusterUnhealthy" not in {each[2] for each in found}) is starts


@pytest.mark.parametrize(
    ("ready_count", "unready_count", "is_healthy"),
    [(0, 3, True), (0, 4, False), (4, 4, False), (5, 4, True)],
)
def test_a_group_with_too_many_unready_nodes_does_not_grow(ready_count, unready_count, is_healthy):
    """Upstream: clusterstate/clusterstate.go, IsNodeGroupHealthy"""
    nodes = [pooled(f"other-{n}", "other", cpu="1m") for n in range(10)]
    nodes += [pooled(f"r{n}", cpu="1m") for n in range(ready_count)]
    nodes += [pooled(f"u{n}", cpu="1m", is_ready=False) for n in range(unready_count)]
    found = Scaler([group(size=30)], [*nodes, waiting("p")]).sync(1000)
    notes = [each[3] for each in found if each[2] == "NotTriggerScaleUp"]
    assert notes == ["pod didn't trigger scale-up: 1 not ready for scale-up"] * (not is_healthy)
    assert any(each[2] == "TriggeredScaleUp" for each in found) is is_healthy


@pytest.mark.parametrize(
    ("most", "count"),
    [(0, 3), (6, 3), (5, 3), (4, 2), (3, 1), (2, None), (1, None)],
)
def test_the_nodes_of_the_cluster_are_limited(most, count):
    nodes = [pooled(name, "other", cpu="1m") for name in "xy"]
    pods = [waiting(f"p{n}", cpu="4") for n in range(3)]
    found = Scaler([group()], [*nodes, *pods], maxNodesTotal=most).sync(10)
    notes = [each[3] for each in found if each[2] == "NotTriggerScaleUp"]
    if count is None:
        assert notes == ["pod didn't trigger scale-up: max total nodes in cluster reached"] * 3
    else:
        assert notes == []
        assert any(f"set to {count} instead of 0" in each[3] for each in found if len(each) > 3)


def test_nodes_that_come_count_for_the_limit_of_the_cluster():
    scaler = Scaler([group()], [waiting("p", cpu="4")], maxNodesTotal=2)
    assert "TriggeredScaleUp" in {each[2] for each in scaler.sync(10)}
    scaler.add(*(waiting(f"q{n}", cpu="4", created=10) for n in range(3)))
    assert any("set to 2 instead of 1" in each[-1] for each in scaler.sync(20)[:2])
    assert not [each for each in scaler.sync(30) if each[0] != "sync"], "some have been helped"


def test_unready_nodes_do_not_reach_the_limit_of_the_cluster_but_leave_no_room():
    """Upstream: core/static_autoscaler.go, RunOnce; estimator/cluster_capacity_threshold.go"""
    nodes = [pooled("x", "other", cpu="1m"), pooled("y", "other", cpu="1m", is_ready=False)]
    assert Scaler([group()], [*nodes, waiting("p")], maxNodesTotal=2).sync(10) == []


@pytest.mark.parametrize(
    ("pod", "needs_nodes"),
    [
        pytest.param(waiting("p"), True, id="unschedulable"),
        pytest.param(waiting("p", reason="SchedulingGated"), False, id="gated"),
        pytest.param(waiting("p", status="True"), False, id="scheduled"),
        pytest.param(make_pod("p", cpu="1"), False, id="not yet tried"),
        pytest.param(waiting("p", priority=-10), True, id="at the cutoff"),
        pytest.param(waiting("p", priority=-11), False, id="expendable"),
        pytest.param(
            waiting("p", priority=-11, spec={"preemptionPolicy": "Never"}), True,
            id="below the cutoff without preemption",
        ),
    ],
)  # fmt: skip
def test_the_pods_that_need_nodes(pod, needs_nodes):
    """Upstream: utils/kubernetes/listers.go; core/utils/expendable.go, IsExpendablePod"""
    found = Scaler([group()], [pod]).sync(10)
    assert any(each[2] == "TriggeredScaleUp" for each in found) is needs_nodes


@pytest.mark.parametrize(
    ("metadata", "needs_nodes"),
    [
        ({"deletionTimestamp": at(5), "deletionGracePeriodSeconds": 30}, False),
        ({"ownerReferences": [("ReplicaSet", True)]}, True),
        ({"ownerReferences": [("DaemonSet", True)]}, False),
        ({"ownerReferences": [("DaemonSet", False)]}, True),
    ],
)
def test_pods_that_end_and_those_of_daemon_sets_need_no_nodes(metadata, needs_nodes):
    given = waiting("p").raw
    references = [
        {"apiVersion": "apps/v1", "kind": kind, "name": "o", "uid": "u", "controller": controls}
        for kind, controls in metadata.get("ownerReferences", ())
    ]
    metadata = {**given["metadata"], **metadata, "ownerReferences": references}
    found = Scaler([group()], [decode({**given, "metadata": metadata})]).sync(10)
    assert any(each[2] == "TriggeredScaleUp" for each in found) is needs_nodes


@pytest.mark.parametrize(("nominated", "needs_nodes"), [("n", False), ("gone", True), ("", True)])
def test_a_pod_with_a_nominated_node_needs_none(nominated, needs_nodes):
    """Upstream: core/podlistprocessor/filter_out_schedulable.go"""
    given = waiting("p", cpu="3").raw
    status = {**given["status"], "nominatedNodeName": nominated}
    pods = [decode({**given, "status": status}), make_pod("victim", cpu="4", node="n")]
    found = Scaler([group()], [pooled("n", "other"), *pods]).sync(10)
    assert any(each[2] == "TriggeredScaleUp" for each in found) is needs_nodes


def test_a_pod_that_is_being_deleted_needs_no_nodes():
    """Upstream: utils/kubernetes/listers.go, isUnschedulable"""
    given = waiting("p", cpu="3").raw
    times = {"deletionTimestamp": at(5), "deletionGracePeriodSeconds": 30}
    ending = decode({**given, "metadata": given["metadata"] | times})
    for each, needs_nodes in ((ending, False), (decode(given), True)):
        found = Scaler([group()], [pooled("n", "other", cpu="1"), each]).sync(10)
        assert [event[2] for event in found if event[1] == "default/p"] == [
            "TriggeredScaleUp"
        ] * needs_nodes


def test_the_room_that_a_nominated_pod_takes_is_not_given_to_another():
    given = waiting("p", cpu="3").raw
    nominated = decode({**given, "status": {**given["status"], "nominatedNodeName": "n"}})
    scaler = Scaler([group()], [pooled("n", "other"), nominated, waiting("q", cpu="2")])
    found = [each[1] for each in scaler.sync(10) if each[2] == "TriggeredScaleUp"]
    assert found == ["default/q"]


@pytest.mark.parametrize(("low", "high"), [(0, 5), (None, 5), (-1, 0), (-1, None), (-2, -1)])
def test_pods_of_higher_priority_take_the_room_that_is_left(low, high):
    pods = [
        waiting(name, cpu="3", **({} if priority is None else {"priority": priority}))
        for name, priority in (("low", low), ("high", high))
    ]
    scaler = Scaler([group()], [pooled("n", "other"), *pods])
    assert [each[1] for each in scaler.sync(10) if each[2] == "TriggeredScaleUp"] == ["default/low"]


@pytest.mark.parametrize(("now", "is_due"), [(69, False), (70, True)])
def test_pods_are_helped_after_the_delay_of_new_pods_and_loops_wait_for_it(now, is_due):
    pods = [waiting("p", created=10)]
    found = Scaler([group()], pods, newPodScaleUpDelay="1m", scanInterval="1s").sync(now)
    assert any(each[2] == "TriggeredScaleUp" for each in found) is is_due
    assert ("sync", "loop", now + 1) in found


@pytest.mark.parametrize(
    ("reset", "second_try", "third_try"),
    [
        pytest.param("3h", 210, 530, id="twice as long"),
        pytest.param("200s", 210, 490, id="at its end the failure counts, and no longer after it"),
        pytest.param("199s", 210, 410, id="it is forgotten before the next one"),
    ],
)
def test_a_group_that_fails_is_in_backoff_until_the_failure_is_forgotten(
    reset, second_try, third_try
):
    """Upstream: utils/backoff/exponential_backoff.go"""
    out = group(outages=[{"start": "0s", "end": "3h"}])
    options = {
        "maxNodeProvisionTime": "1m", "initialNodeGroupBackoffDuration": "2m",
        "maxNodeGroupBackoffDuration": "5m", "nodeGroupBackoffResetTimeout": reset,
    }  # fmt: skip
    scaler = Scaler([out], [waiting("p")], **options)
    tried, noted = [], []
    for second in range(10, 600, 10):
        found = scaler.sync(second)
        tried += [second for each in found if each[2] == "TriggeredScaleUp"]
        noted += [each[3] for each in found if each[2] == "NotTriggerScaleUp"]
        assert ("sync", "loop", second + 10) in found, "a timer is running"
    assert tried == [10, second_try, third_try]
    assert set(noted) == {"pod didn't trigger scale-up: 1 in backoff after failed scale-up"}


def test_a_request_ends_when_its_nodes_are_ready():
    scaler = Scaler([group(size=2)], [waiting("p", cpu="4")], maxNodeProvisionTime="1m")
    scaler.sync(10)
    scaler.sync(40, "arrivals")
    scaler.add(pooled("a-0", created=40, is_ready=False))
    assert not [each for each in scaler.sync(70) if each[0] == "Warning"], "exactly in time"
    assert [each[3] for each in scaler.sync(80) if each[0] == "Warning"] == [
        "Nodes added to group a failed to register within 1m10s"
    ]
    scaler = Scaler([group(size=2)], [waiting("p", cpu="4")], maxNodeProvisionTime="1m")
    scaler.sync(10)
    scaler.sync(40, "arrivals")
    scaler.add(pooled("a-0", created=40))
    scaler.sync(50)
    assert not [each for each in scaler.sync(80) if each[0] == "Warning"]


def test_least_sizes_are_requested_of_groups_that_may_grow():
    groups = [group("a", minSize=2), group("b", minSize=1), group("c")]
    to = "2 instead of 0"
    found = Scaler(groups, [pooled("n", "b")], enforceNodeGroupMinSize=True).sync(10)
    assert found == [
        ("Normal", STATUS, "ScaledUpGroup", f"Scale-up: setting group a size to {to} (max: 10)"),
        ("Normal", STATUS, "ScaledUpGroup", f"Scale-up: group a size set to {to} (max: 10)"),
        ("sync", "arrivals", 40),
        ("sync", "loop", 20),
    ]  # fmt: skip
    assert not Scaler(groups[2:], enforceNodeGroupMinSize=True).sync(10)


def of_controller(kind, name, **fields):
    given = make_pod(name, **{"cpu": "1", "node": "n", **fields}).raw
    owner = {"apiVersion": "apps/v1", "kind": kind, "name": "o", "uid": "u", "controller": True}
    return decode({**given, "metadata": {**given["metadata"], "ownerReferences": [owner]}})


def taint(scaler, second):
    """Run a loop that starts a removal, and write its taint."""
    actions = scaler.autoscaler.sync("loop", START_NS + second * SECOND_NS)
    (tainted,) = [
        each.obj
        for each in actions
        if isinstance(each, UpdateObject) and "ToBeDeletedByClusterAutoscaler" in str(each.obj.raw)
    ]
    scaler.add(tainted)


def test_pods_of_a_node_that_is_drained_are_about_to_be_pending():
    """Upstream: core/podlistprocessor/currently_drained_nodes.go"""
    quick = {"scaleDownUnneededTime": "5s", "scaleDownDelayAfterAdd": "0s"}
    relaxed = {"skipNodesWithCustomControllerPods": False}
    nodes = [pooled("n"), pooled("m", "other")]
    scaler = Scaler([group()], [*nodes, of_controller("Job", "p")], **quick, **relaxed)
    scaler.sync(0)
    taint(scaler, 10)
    assert not [each for each in scaler.sync(20) if each[2] == "TriggeredScaleUp"]
    ending = of_controller("Job", "ending").raw
    times = {"deletionTimestamp": at(25), "deletionGracePeriodSeconds": 30}
    ending = decode({**ending, "metadata": {**ending["metadata"], **times}})
    scaler.add(make_pod("other", cpu="4", node="m"), of_controller("DaemonSet", "daemon"), ending)
    found = [each[1] for each in scaler.sync(30) if each[2] == "TriggeredScaleUp"]
    assert found == ["default/p"], "neither pods that end nor those that stay with their node"


def test_pods_that_come_to_a_node_that_was_empty_are_not_about_to_be_pending():
    quick = {"scaleDownUnneededTime": "5s", "skipNodesWithCustomControllerPods": False}
    full = make_pod("other", cpu="4", node="m")
    scaler = Scaler([group()], [pooled("n"), pooled("m", "other"), full], **quick)
    scaler.sync(0)
    taint(scaler, 10)
    scaler.add(of_controller("Job", "p"))
    assert "TriggeredScaleUp" not in {each[2] for each in scaler.sync(20)}


def test_a_pod_that_is_about_to_be_pending_no_longer_keeps_others_from_its_zone():
    anti = {
        "labelSelector": {"matchLabels": {"app": "web"}},
        "topologyKey": "topology.kubernetes.io/zone",
    }
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    apart = {"affinity": {"podAntiAffinity": {required: [anti]}}}
    zone = {"topology.kubernetes.io/zone": "z"}
    nodes = [ready(make_node(name, labels={**zone, "pool": name})) for name in "am"]
    pod = of_controller("Job", "p", node="a", labels={"app": "web"}, spec=apart)
    quick = {"scaleDownUnneededTime": "5s", "skipNodesWithCustomControllerPods": False}
    scaler = Scaler([group("a")], [*nodes, pod], **quick)
    scaler.sync(0)
    assert "ScaleDown" in {each[2] for each in scaler.sync(10)}
    assert "TriggeredScaleUp" not in {each[2] for each in scaler.sync(20)}, "it moves to m"


def test_each_scale_up_draws_again_among_equal_groups():
    """Upstream: expander/random/random.go"""
    scaler = Scaler([group(name) for name in "abc"], expander=["random"])
    chosen = set()
    for second in range(10, 90, 10):
        scaler.add(waiting(f"p{second}", cpu="4"))
        chosen |= {each[3].split()[3] for each in scaler.sync(second)[:1]}
    assert chosen == {"a", "b", "c"}


def test_a_pod_is_tried_again_once_another_one_has_found_room():
    term = {
        "labelSelector": {"matchLabels": {"app": "db"}},
        "topologyKey": "kubernetes.io/hostname",
    }
    near = {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}
    front, again = (waiting(name, spec=near) for name in ("front", "again"))
    scaler = Scaler([group()], [pooled("n"), front, waiting("db", labels={"app": "db"}), again])
    notes = [each[1] for each in scaler.sync(10) if each[2] == "NotTriggerScaleUp"]
    assert notes == ["default/front"], "the one that was tried before the database"


@pytest.mark.parametrize(("second", "starts"), [(60, False), (69, False), (70, True)])
def test_no_removal_starts_soon_after_a_scale_up(second, starts):
    quick = {"scaleDownUnneededTime": "1s", "scaleDownDelayAfterAdd": "1m", "scanInterval": "1s"}
    scaler = Scaler([group()], [pooled("n", cpu="1m"), waiting("p")], **quick)
    assert "TriggeredScaleUp" in {each[2] for each in scaler.sync(10)}
    scaler.sync(40, "arrivals")
    scaler.add(pooled("a-0", created=40), make_pod("p", cpu="1", node="a-0"))
    for loop in range(41, second):
        found = scaler.sync(loop)
    found = scaler.sync(second)
    assert ("taints", "n", ("ToBeDeletedByClusterAutoscaler", "NoSchedule")) in [
        (*each[:2], each[-1]) for each in found
    ] or not starts
    assert ("ScaleDownEmpty" in {each[2] for each in found}) is starts


@pytest.mark.parametrize(
    ("created", "starts"),
    [
        pytest.param(9, False, id="a new pod is waited for"),
        pytest.param(0, True, id="a pod that no group helps is not"),
    ],
)
def test_no_removal_starts_while_new_pods_are_waited_for(created, starts):
    """Upstream: core/static_autoscaler.go, DisableScaleDownForLoop"""
    scaler = Scaler([group()], [pooled("n")], scaleDownUnneededTime="5s")
    scaler.sync(0)
    scaler.add(waiting("p", cpu="9", created=created))
    assert ("ScaleDownEmpty" in {each[2] for each in scaler.sync(10)}) is starts


def empty_removals(scaler, *seconds):
    """Return when loops at these seconds start to remove an empty node."""
    return [
        second
        for second in seconds
        if "ScaleDownEmpty" in {each[2] for each in scaler.sync(second)}
    ]


@pytest.mark.parametrize("name", ["scaleDownDelayAfterAdd", "scaleDownDelayAfterDelete"])
@pytest.mark.parametrize(("delay", "first"), [("1h", 10), ("1h30s", 30), ("1h31s", 40)])
def test_the_last_changes_before_the_start_are_an_hour_ago(name, delay, first):
    """Upstream: core/static_autoscaler.go, NewStaticAutoscaler"""
    scaler = Scaler([group()], [pooled("n")], **{name: delay, "scaleDownUnneededTime": "5s"})
    assert empty_removals(scaler, 0, 10, 20, 30, 40)[:1] == [first]


def test_a_scale_up_to_the_least_size_delays_removals_as_any_other():
    quick = {"scaleDownUnneededTime": "5s", "scaleDownDelayAfterAdd": "40s"}
    groups = [group("a", minSize=1), group("b")]
    scaler = Scaler(groups, [pooled("n", "b")], enforceNodeGroupMinSize=True, **quick)
    assert empty_removals(scaler, 0, 10, 20, 30, 40) == [40]


def test_a_group_in_backoff_is_not_brought_to_its_least_size():
    """Upstream: orchestrator.go, ScaleUpToNodeGroupMinSize"""
    out = group(minSize=1, outages=[{"start": "0s", "end": "1h"}])
    options = {"maxNodeProvisionTime": "1m", "initialNodeGroupBackoffDuration": "2m"}
    scaler = Scaler([out], enforceNodeGroupMinSize=True, **options)
    tried = [
        second
        for second in range(10, 300, 10)
        if "ScaledUpGroup" in {each[2] for each in scaler.sync(second)}
    ]
    assert tried == [10, 210]


def test_a_node_that_is_gone_while_it_is_drained_ends_no_loop():
    quick = {"scaleDownUnneededTime": "5s", "skipNodesWithCustomControllerPods": False}
    pod, node = of_controller("Job", "p"), pooled("n")
    scaler = Scaler([group()], [node, pooled("m", "other"), pod], **quick)
    scaler.sync(0)
    assert "ScaleDown" in {each[2] for each in scaler.sync(10)}
    for obj in (pod, node):
        scaler.lister.remove(("", obj.kind), obj.key, obj)
        scaler.autoscaler.observe(obj, None)
    assert scaler.sync(20) == [("sync", "loop", 30)], "its removal is not over"
    assert scaler.sync(20, "node/n") == []
    assert scaler.sync(30) == []


@pytest.mark.parametrize(("priority", "needs_nodes"), [(-11, False), (-10, True)])
def test_the_room_of_expendable_pods_is_free(priority, needs_nodes):
    pods = [make_pod("low", cpu="4", priority=priority, node="n"), waiting("p")]
    found = Scaler([group()], [pooled("n", "other"), *pods]).sync(10)
    assert any(each[2] == "TriggeredScaleUp" for each in found) is needs_nodes


@pytest.mark.parametrize(
    "struct",
    [
        Arrival, AutoscalerOptions, Autoscaling, AutoscalingExplanation, Backoff, Candidate, Choice,
        DrainRules, GroupHelp, GroupOffer, GroupSizes, NodeGroup, NodeTemplate, Outage, PodGroup,
        Removal, ScaleUpOption, ScaleUpRequest, SizeChange,
    ],
)  # fmt: skip
def test_records_are_made_by_keyword_and_stay_as_they_are(struct):
    """Numbers and names of one type after another are mistaken for each other by position."""
    names = struct.__struct_fields__
    made = struct(**dict.fromkeys(names, 1))
    with pytest.raises(TypeError):
        struct(*[1] * len(names))
    with pytest.raises(AttributeError):
        setattr(made, names[0], 2)
