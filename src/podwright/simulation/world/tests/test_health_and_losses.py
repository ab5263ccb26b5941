"""Rollouts, availability and lost pods, change by change, by upstream's rules."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any

import pytest

from podwright.apimachinery.objects import decode
from podwright.cluster.api import SCHEDULER_USER, DeleteObject, EvictPod, Rejection
from podwright.cluster.controllers import (
    DrainNode,
    GarbageCollector,
    PodGarbageCollector,
    TaintEvictionController,
)
from podwright.cluster.store import ObjectStore
from podwright.simulation.world.runs.disruptions import Disruptions
from podwright.simulation.world.runs.workload_health import WorkloadHealth, _is_complete
from podwright.simulation.world.timing.distributions import (
    Distribution,
    Draws,
    parse_duration_ns,
    sampler,
)
from podwright.testing import make_node, make_pod

START_NS = 1_767_225_600 * 10**9
SECOND_NS = 10**9


def at(second):
    return f"2026-01-01T00:{second // 60:02}:{second % 60:02}Z"


def nano(second):
    """Return a time as reports have it."""
    return f"{at(second)[:-1]}.000000000Z"


def ns(second):
    return START_NS + second * SECOND_NS


# ----------------------------------------------------------------------------- what is complete


def status_of(updated=3, replicas=3, available=3, observed=2):
    return {
        "updatedReplicas": updated, "replicas": replicas, "availableReplicas": available,
        "observedGeneration": observed,
    }  # fmt: skip


def daemons(updated=3, desired=3, available=3, observed=2):
    return {
        "updatedNumberScheduled": updated, "desiredNumberScheduled": desired,
        "numberAvailable": available, "observedGeneration": observed,
    }  # fmt: skip


def partition(number):
    return {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": number}}}


@pytest.mark.parametrize(
    ("kind", "spec", "status", "is_complete"),
    [
        ("Deployment", {"replicas": 3}, status_of(), True),
        ("Deployment", {"replicas": 3}, {}, False),
        ("Deployment", {"replicas": 3}, status_of(observed=1), False),
        ("Deployment", {"replicas": 3}, status_of(observed=3), True),
        ("Deployment", {"replicas": 3}, status_of(updated=2), False),
        ("Deployment", {"replicas": 3}, status_of(replicas=4), False),
        ("Deployment", {"replicas": 3}, status_of(available=2), False),
        ("Deployment", {"replicas": 3}, status_of(updated=4, replicas=4, available=3), False),
        ("Deployment", {}, status_of(1, 1, 1), True),
        ("Deployment", {"replicas": 0}, status_of(0, 0, 0), True),
        ("DaemonSet", {}, daemons(), True),
        ("DaemonSet", {}, daemons(updated=2), False),
        ("DaemonSet", {}, daemons(available=2), False),
        ("DaemonSet", {}, daemons(desired=2), True),
        ("DaemonSet", {}, daemons(observed=1), False),
        ("StatefulSet", {"replicas": 3}, status_of(), True),
        ("StatefulSet", {"replicas": 3}, status_of(available=2), False),
        ("StatefulSet", {"replicas": 3}, status_of(updated=2), False),
        ("StatefulSet", {}, status_of(1, 1, 1), True),
        ("StatefulSet", {"replicas": 3, **partition(1)}, status_of(updated=2), True),
        ("StatefulSet", {"replicas": 3, **partition(1)}, status_of(updated=1), False),
        ("StatefulSet", {"replicas": 3, "updateStrategy": {"type": "OnDelete"}},
         status_of(updated=0), True),
        ("StatefulSet", {"replicas": 3, "updateStrategy": {"type": "OnDelete"}},
         status_of(updated=0, available=2), False),
    ],
)  # fmt: skip
def test_a_rollout_is_complete_as_kubectl_says(kind, spec, status, is_complete):
    """Upstream: kubectl/pkg/polymorphichelpers/rollout_status.go"""
    document = {"metadata": {"generation": 2}, "spec": spec, "status": status}
    assert _is_complete(kind, document) is is_complete


# -------------------------------------------------------------------------------- availability


def workload(kind="Deployment", replicas=3, image="a", group="apps/v1", owner=False, status=None):
    metadata: dict[str, Any] = {"name": "w", "namespace": "default", "uid": "u", "generation": 1}
    if owner:
        metadata["ownerReferences"] = [
            {"apiVersion": "apps/v1", "kind": "X", "name": "x", "uid": "x", "controller": True}
        ]
    template = {"spec": {"containers": [{"name": "c", "image": image}]}}
    document = {"apiVersion": group, "kind": kind, "metadata": metadata, "status": status or {}}
    return decode({**document, "spec": {"replicas": replicas, "template": template}})


def replicas(available, updated=None, **fields):
    updated = available if updated is None else updated
    return workload(**fields, status=status_of(updated, updated, available, 1))


def followed(*versions):
    """Return the health after versions of one workload, each from a second on."""
    health, old = WorkloadHealth(), None
    for second, new in versions:
        health.changed(old, new, ns(second))
        old = new
    return health


def test_the_time_below_the_target_counts_from_when_it_was_reached():
    health = followed(
        (0, workload()), (5, replicas(1)), (10, replicas(3)), (20, replicas(1)), (24, replicas(2)),
        (30, replicas(3)), (40, replicas(2)),
    )  # fmt: skip
    (found,) = health.availability(ns(47))
    assert found.workload == "deployment/default/w"
    assert (found.available, found.target, found.is_deleted) == (2, 3, False)
    assert found.reached_ns == 10 * SECOND_NS
    assert found.below_target_ns == (10 + 7) * SECOND_NS
    assert (found.lowest, found.lowest_target) == (1, 3)
    assert found.lowest_at == nano(20)
    (later,) = health.availability(ns(50))
    assert later.below_target_ns == 20 * SECOND_NS, "reading counts nothing twice"


def test_a_workload_that_never_reached_its_target_counts_from_its_creation():
    (found,) = followed((3, replicas(1)), (5, replicas(2))).availability(ns(9))
    assert found.reached_ns is None
    assert found.below_target_ns == 6 * SECOND_NS
    assert (found.lowest, found.lowest_at) == (1, nano(3))


def test_a_workload_without_replicas_in_its_spec_has_one():
    (found,) = followed((1, workload(replicas=None))).availability(ns(2))
    assert (found.target, found.available) == (1, 0)


def test_a_workload_that_was_available_for_no_time_was_lowest_when_its_target_was_known():
    known = workload(kind="DaemonSet", status={"desiredNumberScheduled": 2, "numberAvailable": 1})
    for versions, lowest_at in (
        ([(1, workload(kind="DaemonSet"))], nano(1)),
        ([(1, workload(kind="DaemonSet")), (4, known)], nano(4)),
    ):
        (found,) = followed(*versions).availability(ns(4))
        assert found.lowest_at == lowest_at


def test_states_that_last_no_time_do_not_count():
    (found,) = followed(
        (0, replicas(3)), (5, replicas(0)), (5, replicas(3)), (9, replicas(3))
    ).availability(ns(10))
    assert (found.lowest, found.below_target_ns) == (3, 0)


@pytest.mark.parametrize(
    ("first", "second", "lowest"),
    [
        ((1, 2), (2, 3), (1, 2)), ((2, 3), (1, 2), (1, 2)), ((1, 2), (2, 4), (1, 2)),
        ((3, 3), (0, 0), (3, 3)), ((0, 0), (2, 3), (2, 3)), ((4, 3), (3, 3), (3, 3)),
    ],
)  # fmt: skip
def test_the_lowest_is_that_of_the_least_share(first, second, lowest):
    versions = [
        (10 * number, replicas(available, replicas=target))
        for number, (available, target) in enumerate((first, second))
    ]
    (found,) = followed(*versions).availability(ns(30))
    assert (found.lowest, found.lowest_target) == lowest


def test_a_deleted_workload_ends_with_its_last_state():
    health = followed((0, replicas(3)), (10, replicas(1)), (14, None))
    (found,) = health.availability(ns(60))
    assert (found.available, found.is_deleted, found.below_target_ns) == (1, True, 4 * SECOND_NS)


def test_a_daemon_set_without_a_status_has_no_target_yet():
    given = {"desiredNumberScheduled": 2, "numberAvailable": 2, "updatedNumberScheduled": 1}
    health = followed((0, workload("DaemonSet")), (5, workload("DaemonSet", status=given)))
    (found,) = health.availability(ns(9))
    assert (found.available, found.target, found.reached_ns) == (2, 2, 5 * SECOND_NS)
    (rollout,) = health.rollouts(ns(9))
    assert (rollout.updated, rollout.target) == (1, 2)


@pytest.mark.parametrize(
    ("given", "is_followed", "has_rollouts"),
    [
        (workload(), True, True),
        (workload(owner=True), False, False),
        (workload("ReplicaSet"), True, False),
        (workload("ReplicationController", group="v1"), True, False),
        (workload("StatefulSet"), True, True),
        (workload("Job", group="batch/v1"), False, False),
        (workload("ConfigMap", group="v1"), False, False),
    ],
)
def test_which_workloads_are_followed(given, is_followed, has_rollouts):
    health = followed((0, given))
    assert bool(health.availability(ns(1))) is is_followed
    assert bool(health.rollouts(ns(1))) is has_rollouts


@pytest.mark.parametrize("spec", [None, {}], ids=["null", "empty"])
def test_a_workload_without_a_spec_has_one_replica_and_a_rollout_when_it_gets_a_template(spec):
    """As in a record of another cluster, whose objects are put as they are."""
    metadata = {"name": "w", "namespace": "default", "uid": "u", "generation": 1}
    given = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata}
    bare = decode({**given, **({} if spec is None else {"spec": spec})})
    health = followed((0, bare), (5, bare), (9, workload()))
    assert [(each.reason, each.status) for each in health.rollouts(ns(10))] == [
        ("created", "superseded"), ("updated", "in progress")
    ]  # fmt: skip
    (found,) = followed((0, bare), (4, bare)).availability(ns(9))
    assert (found.target, found.available, found.is_deleted) == (1, 0, False)


def test_rollouts_follow_the_template():
    health = followed(
        (0, workload()), (4, replicas(3)), (10, replicas(3, 0, image="b")),
        (12, replicas(2, 1, image="b")), (15, replicas(2, 1, image="c")),
        (16, replicas(2, 1, image="c", replicas=4)), (20, replicas(4, image="c", replicas=4)),
        (30, replicas(4, 1, image="d", replicas=4)),
    )  # fmt: skip
    found = [
        (each.reason, each.started[14:19], each.duration_ns // SECOND_NS, each.status,
         each.updated, each.target)
        for each in health.rollouts(ns(33))
    ]  # fmt: skip
    assert found == [
        ("created", "00:00", 4, "complete", 3, 3),
        ("updated", "00:10", 5, "superseded", 1, 3),
        ("updated", "00:15", 5, "complete", 4, 4),
        ("updated", "00:30", 3, "in progress", 1, 4),
    ]
    (ended,) = followed((0, workload()), (7, None)).rollouts(ns(9))
    assert (ended.status, ended.duration_ns, ended.workload) == (
        "deleted", 7 * SECOND_NS, "deployment/default/w",
    )  # fmt: skip


def test_a_workload_of_which_only_the_deletion_is_seen_had_nothing():
    health = WorkloadHealth()
    health.changed(workload(), None, ns(5))
    (ended,) = health.rollouts(ns(9))
    assert (ended.reason, ended.status, ended.duration_ns) == ("created", "deleted", 0)
    assert (ended.updated, ended.target) == (0, 0)
    (found,) = health.availability(ns(9))
    assert (found.available, found.target, found.lowest, found.lowest_target) == (0, 0, 0, 0)
    assert (found.reached_ns, found.below_target_ns, found.is_deleted) == (None, 0, True)
    assert found.lowest_at.endswith("00:00:05.000000000Z")


# ------------------------------------------------------------------------------------- losses


class World:
    def __init__(self, *objects):
        self.store = ObjectStore()
        self.draining_nodes: tuple[str, ...] = ()
        for each in objects:
            self.store.put(each)


def pod(name="p", node="n", owner="", uid="owner-uid", status=None, **times):
    given = make_pod(name, node=node).raw
    metadata = {**given["metadata"], "uid": f"{name}-uid", **times}
    if owner:
        metadata["ownerReferences"] = [
            {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": owner, "uid": uid,
             "controller": True}
        ]  # fmt: skip
    return decode({**given, "metadata": metadata, "status": status or {}})


def removed(given, user, *objects, missing=None, error=None):
    disruptions = Disruptions(World(*objects), missing or {})
    request: Any = (
        EvictPod(given.key, "", "admin")
        if user == "evict"
        else DeleteObject("", "Pod", given.key, "", user)
    )
    disruptions.removal_handled(given, request, error, ns(1))
    return disruptions


TAINT, POD_GC, GC = (
    each.name for each in (TaintEvictionController, PodGarbageCollector, GarbageCollector)
)
ENDING = {"deletionTimestamp": at(0), "deletionGracePeriodSeconds": 30}
BY_GC = {
    "phase": "Failed",
    "conditions": [{"type": "DisruptionTarget", "status": "True", "reason": "DeletionByPodGC"}],
}


@pytest.mark.parametrize(
    ("given", "user", "objects", "cause", "counts"),
    [
        (pod(), "evict", [], "evicted", (1, 0, 0)),
        (pod(status={"phase": "Succeeded"}), "evict", [], "", (1, 0, 0)),
        (pod(), TAINT, [], "evicted by taint", (0, 1, 0)),
        (pod(), "device-taint-eviction-controller", [], "evicted by taint", (0, 1, 0)),
        (pod(**ENDING), TAINT, [], "evicted by taint", (0, 0, 0)),
        (pod(status={"phase": "Failed"}), TAINT, [], "", (0, 0, 0)),
        (pod(), POD_GC, [], "node deleted", (0, 0, 1)),
        (pod(**ENDING), POD_GC, [], "node deleted", (0, 0, 0)),
        (pod(status=BY_GC), POD_GC, [], "node deleted", (0, 0, 1)),
        (pod(status={"phase": "Failed"}), POD_GC, [], "", (0, 0, 0)),
        (pod(), POD_GC, [make_node("n")], "", (0, 0, 0)),
        (pod(node=""), POD_GC, [], "", (0, 0, 0)),
        (pod(), SCHEDULER_USER, [], "preempted", (0, 0, 0)),
        (pod(owner="gone"), GC, [], "owner missing", (0, 0, 0)),
        (pod(), GC, [], "", (0, 0, 0)),
        (pod(), "admin", [], "", (0, 0, 0)),
    ],
)
def test_who_removes_a_pod_decides_how_it_was_lost(given, user, objects, cause, counts):
    found = removed(given, user, *objects)
    assert [each.cause for each in found.lost] == [cause] * bool(cause)
    evictions = found.evictions
    assert (evictions.evicted, evictions.by_taint, evictions.node_deleted) == counts
    failed = removed(given, user, *objects, error=ValueError())
    assert (failed.lost, failed.evictions.evicted, failed.evictions.rejected) == ((), 0, 0)


def owner(uid="owner-uid", namespace="default"):
    metadata = {"name": "o", "namespace": namespace, "uid": uid}
    return decode({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": metadata})


@pytest.mark.parametrize(
    ("given", "objects", "missing", "lost"),
    [
        (pod(owner="o"), [owner()], {}, None),
        (pod(owner="o"), [owner("new")], {}, "ReplicaSet default/o"),
        (pod(owner="o"), [owner(namespace="other")], {}, "ReplicaSet default/o"),
        (pod(owner="o"), [], {}, "ReplicaSet default/o"),
        (pod(), [], {}, ""),
        (pod(), [], {"default/p": "Job default/j"}, "Job default/j"),
    ],
)
def test_a_pod_is_lost_without_a_controller_that_replaces_it(given, objects, missing, lost):
    found = removed(given, SCHEDULER_USER, *objects, missing=missing).lost
    assert [each.owner for each in found] == ([] if lost is None else [lost])
    for each in found:
        assert (each.pod, each.node, each.time) == ("default/p", "n", nano(1))


def test_a_pod_is_lost_once_and_dependents_of_deleted_objects_are_not():
    disruptions = removed(pod(), SCHEDULER_USER)
    disruptions.removal_handled(pod(), EvictPod("default/p", "", "admin"), None, ns(5))
    assert [each.cause for each in disruptions.lost] == ["preempted"]
    disruptions = Disruptions(World(), {})
    disruptions.changed(owner(), None, ns(0))
    disruptions.changed(None, owner("other"), ns(0))
    for uid in ("owner-uid", "other"):
        request = DeleteObject("", "Pod", "default/p", "", GC)
        disruptions.removal_handled(pod(f"of-{uid}", owner="o", uid=uid), request, None, ns(1))
    assert [each.pod for each in disruptions.lost] == ["default/of-other"]


def rejection(*budgets):
    return Rejection(429, "TooManyRequests", "no", {"causes": []}, about=budgets)


def test_the_state_of_a_drain():
    world = World()
    disruptions = Disruptions(world, {})
    world.draining_nodes = ("n",)
    disruptions.node_event(DrainNode("n"), ns(0))
    evict = EvictPod("", "", "admin")
    for second, name, budgets in ((3, "b", ("x",)), (2, "a", ("y", "x")), (9, "a", ("z",))):
        disruptions.removal_handled(pod(name), evict, rejection(*budgets), ns(second))
    (found,) = disruptions.drains
    assert (found.node, found.status, found.since, found.ended) == ("n", "blocked", nano(0), None)
    assert found.blocked_by == ("default/x", "default/y")
    assert found.blocked_since == nano(2)
    assert [each.pod for each in found.blocked_pods] == ["default/a", "default/b"]
    assert disruptions.evictions.rejected == 3
    disruptions.removal_handled(pod("c"), evict, rejection(), ns(9))
    assert disruptions.evictions.rejected == 3, "not by a budget"
    disruptions.passed(ns(10))
    assert disruptions.drains[0].status == "blocked"
    disruptions.changed(pod("a"), None, ns(11))
    disruptions.changed(pod("b", node="m"), None, ns(11))
    assert [each.pod for each in disruptions.drains[0].blocked_pods] == ["default/b"]
    disruptions.removal_handled(pod("b"), evict, None, ns(12))
    assert (disruptions.drains[0].status, disruptions.drains[0].evicted) == ("in progress", 1)
    world.draining_nodes = ()
    disruptions.passed(ns(15))
    (found,) = disruptions.drains
    assert (found.status, found.ended) == ("done", nano(15))
    disruptions.node_event(DrainNode("n"), ns(20))
    assert [each.status for each in disruptions.drains] == ["done", "in progress"]
    disruptions.removal_handled(pod("d"), evict, rejection("x"), ns(21))
    disruptions.changed(make_node("m"), None, ns(22))
    assert disruptions.drains[1].status == "blocked"
    disruptions.changed(make_node("n"), None, ns(22))
    found = disruptions.drains[1]
    assert (found.status, found.blocked_by, found.blocked_since) == ("node deleted", (), None)


# ------------------------------------------------------------------------------ distributions


@pytest.mark.parametrize(
    ("fields", "share", "seconds"),
    [
        ({"value": "7s"}, 0.9, 7),
        ({"distribution": "uniform", "min": "10s", "max": "20s"}, 0.25, 12.5),
        ({"distribution": "exponential", "mean": "10s"}, 1 - 1 / math.e, 10),
        ({"distribution": "exponential", "mean": "10s", "max": "4s"}, 0.9, 4),
        ({"distribution": "exponential", "mean": "10s", "min": "4s"}, 0.01, 4),
        ({"distribution": "lognormal", "median": "8s"}, 0.5, 8),
        ({"distribution": "lognormal", "median": "8s", "sigma": 0.5}, NormalDist().cdf(2),
         8 * math.e),
        ({"distribution": "pareto", "min": "8s", "shape": 3}, 1 - 1 / 8, 16),
        ({"distribution": "pareto", "min": "8s", "shape": 3, "max": "9s"}, 1 - 1 / 8, 9),
        *(
            ({"distribution": "choice", "values": ("1s", "2s", "3s", "4s")}, share, second)
            for share, second in ((0.01, 1), (0.24, 1), (0.26, 2), (0.74, 3), (0.99, 4))
        ),
        *(
            ({"distribution": "choice", "values": ("1s", "2s", "3s"), "weights": (1.0, 0.0, 3.0)},
             share, second)
            for share, second in ((0.24, 1), (0.26, 3), (0.99, 3))
        ),
        *(
            ({"distribution": "quantiles", "values": ("0s", "10s", "30s"),
              "percents": (0.0, 50.0, 100.0)}, share, second)
            for share, second in ((0.25, 5), (0.5, 10), (0.75, 20), (0.999, 29.96))
        ),
    ],
)  # fmt: skip
def test_samples_are_the_inverse_of_the_distribution(fields, share, seconds):
    sample = sampler(Distribution(**fields), parse_duration_ns)
    assert sample(share) == pytest.approx(seconds * SECOND_NS, abs=2)


def test_draws_depend_on_their_number_name_and_seed_alone():
    entry = Distribution(distribution="uniform", min="0s", max="1h")
    draws = Draws(entry, "a", 1)
    values = [draws.at(number) for number in range(1, 6)]
    assert len(set(values)) == 5
    assert [draws.next() for _ in range(5)] == values
    assert [Draws(entry, "a", 1).at(3), Draws(entry, "a", 1).at(3)] == [values[2]] * 2
    assert Draws(entry, "b", 1).at(3) != values[2]
    assert Draws(entry, "a", 2).at(3) != values[2]
    none = Draws(None, "a", 1)
    assert [none.next(), none.at(7)] == [0, 0]
