"""The removal of a node, action by action: the plan, taints, evictions, time limits."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.objects import decode
from podwright.cluster.api import DeleteObject, EvictPod, RecordEvent, UpdateObject
from podwright.cluster.controllers import Lister
from podwright.scheduler.machine import SchedulerOptions
from podwright.simulation.autoscaling.node_groups import AutoscalerOptions
from podwright.simulation.autoscaling.scale_down import ScaleDown
from podwright.simulation.autoscaling.tests.test_loop import (
    START_NS,
    STATUS,
    at,
    brief,
    pooled,
    ready,
)
from podwright.simulation.autoscaling.tests.test_scale_up import SECOND_NS
from podwright.simulation.autoscaling.trial_cluster import TrialCluster
from podwright.testing import make_node, make_pod

PREFIX = "cluster-autoscaler.kubernetes.io/"
SOFT = ("DeletionCandidateOfClusterAutoscaler", "PreferNoSchedule")
HARD = ("ToBeDeletedByClusterAutoscaler", "NoSchedule")
SECONDS = {
    "unneeded": 60, "unready": 120, "delay_after_delete": 0, "recheck": 300, "delete_delay": 5,
    "max_pod_eviction": 20,
}  # fmt: skip


def owned(name, kind="Job", uid="", **fields):
    """Return a pod that may move."""
    given = make_pod(name, **{"cpu": "1", **fields}).raw
    owner = {"apiVersion": "apps/v1", "kind": kind, "name": "o", "uid": "u", "controller": True}
    return decode(
        {**given, "metadata": {**given["metadata"], "ownerReferences": [owner], "uid": uid}}
    )


def ending(pod, second=0):
    times = {"deletionTimestamp": at(second), "deletionGracePeriodSeconds": 30}
    return decode({**pod.raw, "metadata": {**pod.raw["metadata"], **times}})


class Removals:
    """A scale-down with the objects that it sees; nodes named after a group belong to it."""

    def __init__(self, *objects, **options):
        times = {f"{key}_ns": options.pop(key, n) * SECOND_NS for key, n in SECONDS.items()}
        options = {"skip_nodes_with_custom_controller_pods": False, **options, **times}
        self.lister, self.trial = Lister(), TrialCluster(SchedulerOptions())
        self.down = ScaleDown(self.lister, AutoscalerOptions(**options), self.trial)
        self.nodes = [each for each in objects if each.kind == "Node"]
        for each in objects:
            self.put(each)

    def put(self, obj):
        self.lister.put(obj)
        self.trial.change(None, obj)

    def delete(self, obj):
        self.lister.remove(("", obj.kind), obj.key, obj)
        self.trial.change(obj, None)
        self.down.count_change()

    def waits(self):
        return self.down.has_timers

    def update(self, second, candidates=None):
        """Plan, and return the nodes that are not needed."""
        names = [each.name for each in self.nodes]
        nodes = [each for each in self.nodes if candidates is None or each.name in candidates]
        with self.trial.forked():
            self.down.update(nodes, names, START_NS + second * SECOND_NS)
        return [each.node.name for each in self.down.candidates]

    def start(self, second, **spare):
        groups = {each.name: each.metadata.labels.get("pool", "") for each in self.nodes}
        given = {"a": 9, **spare}
        actions = self.down.start(groups, given, START_NS + second * SECOND_NS)
        return brief(actions)

    def started(self, second, **spare):
        """Return the nodes whose removal is started."""
        return [each[1] for each in self.start(second, **spare) if each[0] == "taints"]

    def sync(self, name, second):
        return brief(self.down.continued(name, START_NS + second * SECOND_NS))

    def tainted(self):
        return brief(self.down.soft_taints(self.nodes))


# --------------------------------------------------------------------------------- the plan


@pytest.mark.parametrize(
    ("node", "options", "is_unneeded"),
    [
        pytest.param(pooled("n"), {}, True, id="empty"),
        pytest.param(pooled("n", is_ready=False), {}, True, id="unready"),
        pytest.param(
            pooled("n", is_ready=False), {"scale_down_unready_enabled": False}, False,
            id="unready, but these stay",
        ),
        pytest.param(
            pooled("n"), {"scale_down_unready_enabled": False}, True, id="ready, unready ones stay"
        ),
        *(
            pytest.param(
                ready(make_node("n"), annotations={f"{PREFIX}{key}": value}),
                {}, is_unneeded, id=f"{key}={value}",
            )
            for key, value, is_unneeded in (
                ("scale-down-disabled", "true", False), ("scale-down-disabled", "false", True),
                ("scale-up-disabled", "true", True),
            )
        ),
    ],
)  # fmt: skip
def test_which_nodes_may_be_removed(node, options, is_unneeded):
    """Upstream: eligibility/eligibility.go"""
    removals = Removals(node, **options)
    assert removals.update(0) == (["n"] if is_unneeded else [])
    assert removals.waits() is is_unneeded


@pytest.mark.parametrize(
    ("cpu", "memory", "is_unneeded"),
    [("1999m", "1Gi", True), ("2", "1Gi", False), ("1", "8191Mi", True), ("1", "8Gi", False)],
)
def test_a_node_of_half_its_cpu_or_memory_is_needed(cpu, memory, is_unneeded):
    """Upstream: eligibility/eligibility.go, isNodeBelowUtilizationThreshold"""
    pod = owned("p", cpu=cpu, memory=memory, node="n")
    removals = Removals(pooled("n"), pooled("other"), pod)
    assert removals.update(0, ["n"]) == (["n"] if is_unneeded else [])


@pytest.mark.parametrize(
    ("ignores", "cpu", "is_unneeded"),
    [(False, "1900m", False), (True, "1900m", True), (True, "2500m", True), (True, "3500m", True)],
)
def test_ignored_daemon_sets_are_neither_used_nor_offered(ignores, cpu, is_unneeded):
    """Upstream: simulator/utilization/info.go, Calculate"""
    daemon = owned("d", "DaemonSet", cpu=cpu, node="n")
    pods = [daemon, owned("p", cpu="200m", node="n")]
    options = {"ignore_daemonsets_utilization": ignores}
    removals = Removals(pooled("n"), pooled("other"), *pods, **options)
    assert removals.update(0, ["n"]) == (["n"] if is_unneeded else [])


@pytest.mark.parametrize("ignores", [False, True])
def test_other_pods_count_whether_or_not_daemon_sets_are_ignored(ignores):
    pods = [owned("d", "DaemonSet", cpu="100m", node="n"), owned("p", cpu="2500m", node="n")]
    options = {"ignore_daemonsets_utilization": ignores}
    removals = Removals(pooled("n"), pooled("other"), *pods, **options)
    assert removals.update(0, ["n"]) == []


def test_a_node_that_is_needed_is_looked_at_again_after_a_time():
    pod = owned("p", node="n", node_selector={"kubernetes.io/hostname": "n"})
    removals = Removals(pooled("n"), pod)
    assert removals.update(0) == []
    assert not removals.waits()
    assert removals.update(10) == []
    assert not removals.waits(), "nothing has changed since"
    removals.delete(pod)
    assert removals.update(299) == []
    assert removals.waits(), "the node is looked at later"
    assert removals.update(300) == ["n"]


def test_a_node_that_is_no_candidate_meanwhile_is_not_looked_at_sooner():
    """Upstream: core/scaledown/unremovable/nodes.go, Update"""
    pod = owned("p", node="n", node_selector={"kubernetes.io/hostname": "n"})
    removals = Removals(pooled("n"), pod)
    assert removals.update(0) == []
    removals.delete(pod)
    removals.update(10, [])
    assert removals.update(20) == []
    removals.nodes, nodes = [], removals.nodes
    removals.update(30)
    removals.nodes = nodes
    assert removals.update(40) == ["n"], "it was not in the cluster"


def test_pods_of_unneeded_nodes_take_the_room_of_one_another():
    nodes = [pooled(name, cpu="4") for name in ("n", "m", "o")]
    pods = [owned(f"p-{each.name}", cpu="1900m", node=each.name) for each in nodes]
    # Two fit on one node, three do not; and no pod moves to a node that is to go.
    removals = Removals(*nodes, *pods)
    assert len(removals.update(0)) == 1


def test_empty_nodes_are_first_and_then_those_that_were_unneeded_before():
    nodes = [pooled(name) for name in ("n", "m", "o")]
    pods = [owned("p", cpu="1500m", node="n"), owned("q", cpu="1500m", node="m")]
    removals = Removals(*nodes, *pods)
    assert removals.update(0) == ["o", "n"]
    removals = Removals(*nodes, *pods)
    assert removals.update(0, ["m"]) == ["m"]
    assert removals.update(10)[:2] == ["o", "m"]


def test_a_node_that_has_only_pods_of_daemon_sets_is_an_empty_one():
    nodes = [pooled(name) for name in ("m", "n", "o")]
    pods = [
        owned("p", cpu="1", node="m"),
        owned("d", kind="DaemonSet", cpu="100m", node="n"),
        owned("q", cpu="2500m", node="o"),
    ]
    assert Removals(*nodes, *pods).update(0) == ["n", "m"]


@pytest.mark.parametrize(
    ("parallelism", "unneeded", "interval", "counts"),
    [
        pytest.param(2, 60, 10, [4, 8, 12, 14, 14], id="those of all loops until the removal"),
        pytest.param(1, 15, 10, [2, 2, 2], id="whole loops"),
        pytest.param(1, 5, 10, [2, 2], id="a loop at least"),
        pytest.param(3, 20, 10, [6, 9, 9], id="and those of one loop more"),
    ],
)
def test_so_many_unneeded_nodes_are_looked_for(parallelism, unneeded, interval, counts):
    """Upstream: planner.go, unneededNodesLimit"""
    nodes = [pooled(f"n{number:02}") for number in range(20)]
    options = {"scan_interval_ns": interval * SECOND_NS, "unneeded": unneeded}
    removals = Removals(*nodes, max_scale_down_parallelism=parallelism, **options)
    assert [len(removals.update(10 * loop)) for loop in range(len(counts))] == counts


def test_pods_do_not_move_to_a_node_that_is_being_removed():
    tolerant = {"tolerations": [{"operator": "Exists"}]}
    pod = owned("p", node="m", spec=tolerant)
    removals = Removals(pooled("n"), pooled("m"), pod)
    removals.update(0, ["n"])
    assert removals.started(100) == ["n"]
    assert removals.update(110, ["m"]) == []


def budget(allowed):
    return decode(
        {
            "apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
            "metadata": {"name": "b", "namespace": "default"},
            "spec": {"selector": {"matchLabels": {"app": "web"}}},
            "status": {"disruptionsAllowed": allowed},
        }
    )  # fmt: skip


@pytest.mark.parametrize(("allowed", "count"), [(0, 0), (1, 1), (2, 2), (3, 2)])
def test_the_budgets_of_all_unneeded_nodes_are_counted_together(allowed, count):
    nodes = [pooled(name) for name in ("n", "m", "o")]
    pods = [owned(f"p-{name}", labels={"app": "web"}, node=name) for name in ("n", "m", "o")]
    removals = Removals(*nodes, *pods, budget(allowed))
    assert len(removals.update(0)) == count


def test_pods_that_want_to_be_together_move_together():
    term = {
        "labelSelector": {"matchLabels": {"app": "web"}},
        "topologyKey": "kubernetes.io/hostname",
    }
    near = {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}
    web = {"labels": {"app": "web"}, "cpu": "500m", "node": "n", "spec": near}
    removals = Removals(pooled("n"), pooled("m"), owned("p", **web), owned("q", **web))
    # The first of them goes anywhere as soon as none of them is left.
    assert removals.update(0, ["n"]) == ["n"]


# -------------------------------------------------------------------------------- the start


@pytest.mark.parametrize(
    ("is_ready", "second", "starts"),
    [(True, 60, False), (True, 61, True), (False, 120, False), (False, 121, True)],
)
def test_a_node_is_removed_after_the_time_of_its_kind(is_ready, second, starts):
    removals = Removals(pooled("n", is_ready=is_ready))
    removals.update(0)
    removals.update(second)
    assert bool(removals.start(second)) is starts


def test_the_time_begins_again_when_a_node_was_needed():
    node, pod = pooled("n"), owned("p", cpu="3", node="n")
    removals = Removals(node)
    removals.update(0)
    removals.put(pod)
    assert removals.update(50) == []
    removals.delete(pod)
    removals.update(55)
    removals.update(100)
    assert not removals.start(100)
    removals.update(116)
    assert removals.started(116) == ["n"]


def test_the_removal_of_an_empty_node_says_what_it_does():
    taints = [{"key": "k", "effect": "NoExecute"}, {"key": HARD[0], "effect": HARD[1]}]
    removals = Removals(decode({**pooled("n").raw, "spec": {"taints": taints}}))
    removals.update(0)
    actions = removals.start(100)
    assert actions == [
        ("Normal", STATUS, "ScaleDownEmpty", 'Scale-down: removing empty node "n"'),
        ("taints", "n", ("k", "NoExecute"), HARD),
        ("Normal", "n", "ScaleDown", "marked the node as toBeDeleted/unschedulable"),
        ("sync", "node/n", 105),
    ]
    removals.update(110)
    assert removals.start(200) == [], "it is under way"


def test_the_removal_of_a_node_with_pods_says_how_much_they_use():
    pods = [owned("p", memory="4Gi", node="n"), owned("q", memory="2Gi", cpu="500m", node="n")]
    removals = Removals(pooled("n"), pooled("m"), *pods)
    removals.update(0, ["n"])
    assert removals.start(100)[0] == (
        "Normal", STATUS, "ScaleDown",
        "Scale-down: removing node n, utilization: {0.375 0.375 0 0 memory 0.375}, "
        "pods to reschedule: p,q",
    )  # fmt: skip


@pytest.mark.parametrize(("spare", "count"), [(0, 0), (1, 1), (2, 2), (9, 3)])
def test_groups_keep_their_least_size(spare, count):
    removals = Removals(*(pooled(name) for name in ("n", "m", "o")))
    removals.update(0)
    assert len(removals.started(100, a=spare)) == count


def test_removals_under_way_count_for_the_least_size():
    removals = Removals(*(pooled(name) for name in ("n", "m", "o")))
    removals.update(0, ["n"])
    assert removals.started(100, a=2) == ["n"]
    removals.update(100)
    removals.update(200)
    assert len(removals.started(200, a=2)) == 1


@pytest.mark.parametrize(
    ("parallelism", "drains", "expected"),
    [
        pytest.param(10, 1, ["e", "f", "n"], id="one drain"),
        pytest.param(10, 2, ["e", "f", "n", "m"], id="two drains"),
        pytest.param(10, 0, ["e", "f"], id="no drain"),
        pytest.param(3, 2, ["e", "f", "n"], id="drains take what empty nodes leave"),
        pytest.param(2, 2, ["e", "f"], id="empty nodes first"),
        pytest.param(1, 2, ["e"], id="one in all"),
    ],
)
def test_so_many_nodes_are_removed_at_a_time(parallelism, drains, expected):
    """Upstream: budgets/budgets.go, CropNodes"""
    nodes = [pooled(name) for name in ("n", "m", "e", "f")] + [pooled("big", "b", cpu="9")]
    pods = [owned(f"p-{name}", node=name) for name in ("n", "m")]
    limits = {"max_scale_down_parallelism": parallelism, "max_drain_parallelism": drains}
    removals = Removals(*nodes, *pods, **limits)
    for second in (0, 10, 20):
        removals.update(second, ["n", "m", "e", "f"])
    assert removals.started(100) == expected


@pytest.mark.parametrize(
    ("parallelism", "drains", "expected"),
    [(10, 2, ["e", "m"]), (10, 1, ["e"]), (2, 2, ["e"]), (1, 1, [])],
)
def test_removals_under_way_count_for_these_limits(parallelism, drains, expected):
    nodes = [pooled(name) for name in ("n", "m", "e")] + [pooled("big", "b", cpu="9")]
    pods = [owned(f"p-{name}", node=name) for name in ("n", "m")]
    limits = {"max_scale_down_parallelism": parallelism, "max_drain_parallelism": drains}
    removals = Removals(*nodes, *pods, **limits)
    removals.update(0, ["n"])
    assert removals.started(100) == ["n"]
    for second in (100, 110):
        removals.update(second, ["n", "m", "e"])
    assert removals.started(200) == expected


def test_nodes_whose_pods_budgets_hold_up_are_the_last():
    nodes = [pooled("big", "b", cpu="9"), pooled("n"), pooled("m")]
    web = {"labels": {"app": "web"}, "cpu": "100m", "node_selector": {"pool": "b"}}
    pods = [owned("p", node="n", **web), owned("q", node="n", **web), owned("r", node="m")]
    # Both evictions of n are allowed one after the other only.
    removals = Removals(*nodes, *pods, budget(1))
    assert removals.update(0, ["n", "m"]) == ["n", "m"]
    assert removals.started(100) == ["m"]


@pytest.mark.parametrize(("second", "starts"), [(109, False), (110, True)])
def test_removals_wait_for_the_delay_after_a_removal(second, starts):
    removals = Removals(pooled("n"), pooled("m"), delay_after_delete=10)
    removals.update(0, ["n"])
    removals.start(100)
    removals.update(30, ["m"])
    removals.update(100, ["m"])
    assert bool(removals.start(second)) is starts


# ---------------------------------------------------------------------------- the deletion


def removal(*pods, node=None, **options):
    """Return the removal of the node n, which begins at 100 s."""
    removals = Removals(node or pooled("n", uid="n-uid"), pooled("m"), *pods, **options)
    removals.update(0, ["n"])
    assert removals.started(100) == ["n"]
    return removals


def test_an_empty_node_is_deleted_after_the_delay():
    removals = removal()
    assert removals.sync("n", 104) == [("sync", "node/n", 105)]
    assert removals.sync("n", 105) == [
        ("delete", "n"),
        ("Normal", "n", "ScaleDown", "nodes removed by cluster autoscaler"),
        ("Normal", STATUS, "ScaleDownEmpty", "Scale-down: empty node n removed"),
    ]
    assert removals.sync("n", 110) == [], "it is over"


@pytest.mark.parametrize(
    ("name", "owners", "deleted"),
    [("n", [], 2), ("m", [], 1), ("n", [{"apiVersion": "v1", "kind": "Node", "name": "n"}], 1)],
)
def test_a_csi_node_that_nothing_owns_goes_with_its_node(name, owners, deleted):
    removals = removal()
    metadata = {"name": name, "ownerReferences": [{**each, "uid": "u"} for each in owners]}
    head = {"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": metadata}
    removals.put(decode({**head, "spec": {"drivers": []}}))
    found = removals.sync("n", 105)
    assert [each for each in found if each[0] == "delete"] == [("delete", "n")] * deleted


def test_a_node_that_is_gone_is_forgotten():
    removals = removal()
    removals.delete(removals.nodes[0])
    assert removals.sync("n", 105) == []
    assert removals.down.removals == {}


def test_an_empty_node_that_got_pods_stays():
    removals = removal()
    removals.put(owned("new", node="n"))
    note = 'failed to delete empty node: failed to delete empty node "n", new pods scheduled'
    assert removals.sync("n", 105) == [
        ("Warning", "n", "ScaleDownFailed", note), ("taints", "n"),
    ]  # fmt: skip
    assert removals.down.removals == {}


def test_pods_of_daemon_sets_do_not_keep_an_empty_node():
    removals = removal()
    removals.put(owned("daemon", "DaemonSet", node="n"))
    assert removals.sync("n", 105)[0] == ("delete", "n")


@pytest.mark.parametrize(("has_pod", "how"), [(False, "delete empty"), (True, "drain and delete")])
def test_a_pod_that_cannot_move_ends_the_removal(has_pod, how):
    removals = removal(*[owned("p", node="n")] * has_pod)
    removals.put(make_pod("alone", node="n"))
    note = f"failed to {how} node: default/alone is not replicated"
    assert removals.sync("n", 105) == [("Warning", "n", "ScaleDownFailed", note), ("taints", "n")]
    assert removals.down.removals == {}


def drain(**options):
    static = make_pod("mirror", node="n").raw
    annotations = {"kubernetes.io/config.mirror": "x"}
    mirror = decode({**static, "metadata": {**static["metadata"], "annotations": annotations}})
    pod, daemon = (
        owned(name, kind, uid=name, node="n", cpu="100m")
        for name, kind in (("p", "Job"), ("d", "DaemonSet"))
    )
    pods = [pod, daemon, mirror]
    return removal(*pods, **options), pods


def test_a_node_with_pods_is_drained_and_deleted_when_they_are_gone():
    removals, (pod, _, _) = drain()
    note = "deleting pod for node scale down"
    assert removals.sync("n", 105) == [
        ("Normal", "default/d", "ScaleDown", note), ("Normal", "default/p", "ScaleDown", note),
        ("evict", "default/d"), ("evict", "default/p"), ("sync", "node/n", 110),
    ]  # fmt: skip
    assert removals.sync("n", 110) == [("sync", "node/n", 115)]
    assert removals.sync("n", 115) == [("evict", "default/p"), ("sync", "node/n", 120)]
    assert removals.sync("n", 120) == [("sync", "node/n", 125)]
    removals.delete(pod)
    assert removals.sync("n", 120) == [
        ("delete", "n"),
        ("Normal", "n", "ScaleDown", "nodes removed by cluster autoscaler"),
        ("Normal", STATUS, "ScaleDown", "Scale-down: node n removed with drain"),
    ]
    assert not removals.waits()


def test_evictions_deletions_and_events_are_about_the_objects_that_were_seen():
    node, pod = pooled("n", uid="n-uid"), owned("p", uid="p-uid", node="n")
    removals = Removals(node, pooled("m"), pod)
    down, start_ns = removals.down, START_NS

    def seen(actions):
        return [
            (type(each).__name__, each.uid)
            for each in actions
            if isinstance(each, DeleteObject | EvictPod | RecordEvent)
        ]

    removals.update(0, ["n"])
    actions = down.start({"n": "a"}, {"a": 1}, start_ns + 100 * SECOND_NS)
    assert seen(actions) == [("RecordEvent", ""), ("RecordEvent", "n-uid")]
    tainted: Any = next(each.obj for each in actions if isinstance(each, UpdateObject))
    (taint,) = tainted.spec.taints
    assert taint.value == str(start_ns // SECOND_NS + 100), "the time of the removal"
    eviction = ("EvictPod", "p-uid")
    assert seen(down.continued("n", start_ns + 105 * SECOND_NS)) == [
        ("RecordEvent", "p-uid"), eviction,
    ]  # fmt: skip
    assert seen(down.continued("n", start_ns + 115 * SECOND_NS)) == [eviction]
    removals.delete(pod)
    assert seen(down.continued("n", start_ns + 120 * SECOND_NS)) == [
        ("DeleteObject", "n-uid"), ("RecordEvent", "n-uid"), ("RecordEvent", ""),
    ]  # fmt: skip


def test_a_pod_of_another_uid_is_not_waited_for():
    removals, _ = drain()
    removals.sync("n", 105)
    removals.lister.put(owned("p", uid="new", node="m"))
    assert removals.sync("n", 110)[0] == ("delete", "n")


def test_evictions_that_are_rejected_are_given_up_after_their_time():
    removals, _ = drain()
    removals.sync("n", 105)
    assert removals.sync("n", 124) == [("sync", "node/n", 129)]
    note = "failed to drain and delete node: pods remaining after timeout: default/p"
    assert removals.sync("n", 125) == [
        ("Warning", "default/p", "ScaleDownFailed", "failed to delete pod for ScaleDown"),
        ("Warning", "n", "ScaleDownFailed", note),
        ("taints", "n"),
    ]


def test_pods_that_end_have_their_grace_period_and_half_a_minute_more():
    removals, (pod, _, _) = drain(max_graceful_termination_sec=60)
    removals.sync("n", 105)
    removals.lister.put(ending(pod, 105))
    assert removals.sync("n", 115) == [("sync", "node/n", 120)], "no second eviction"
    assert removals.sync("n", 105 + 20 + 60 + 29) == [("sync", "node/n", 219)]
    note = "failed to drain and delete node: pods remaining after timeout: default/p"
    assert removals.sync("n", 105 + 20 + 60 + 30) == [
        ("Warning", "n", "ScaleDownFailed", note), ("taints", "n"),
    ]  # fmt: skip


# --------------------------------------------------------------------------- the soft taint


def soft(node, *more):
    taints = [*more, {"key": SOFT[0], "effect": SOFT[1]}]
    return decode({**node.raw, "spec": {"taints": taints}})


def test_unneeded_nodes_have_a_soft_taint_and_others_lose_it():
    """Upstream: core/scaledown/actuation/softtaint.go"""
    busy = [owned("p", cpu="3", node="busy"), owned("q", cpu="3", node="was")]
    key = {"key": "k", "effect": "NoSchedule"}
    new = decode({**pooled("new").raw, "spec": {"taints": [key]}})
    nodes = [new, soft(pooled("is")), pooled("busy"), soft(pooled("was"), key)]
    removals = Removals(*nodes, *busy)
    removals.update(0)
    assert removals.tainted() == [
        ("taints", "new", ("k", "NoSchedule"), SOFT), ("taints", "was", ("k", "NoSchedule")),
    ]  # fmt: skip
    assert removals.started(100) == ["new", "is"]
    assert removals.tainted() == [("taints", "was", ("k", "NoSchedule"))]


def test_ten_nodes_get_a_soft_taint_at_a_time():
    removals = Removals(*(pooled(f"n{number:02}") for number in range(12)))
    removals.update(0)
    assert [each[1] for each in removals.tainted()] == [f"n{number:02}" for number in range(10)]
