"""Scale-down: what can move, timers, limits, budgets, annotations; by upstream's rules."""

from __future__ import annotations

import random
from typing import Any

import pytest

from podwright.apimachinery.objects import (
    LabelSelector,
    ObjectMeta,
    PodDisruptionBudget,
    PodDisruptionBudgetSpec,
    PodDisruptionBudgetStatus,
    decode,
    encode,
    with_fields,
)
from podwright.simulation.autoscaling.drainability import Budgets, DrainRules, Unremovable
from podwright.simulation.autoscaling.node_groups import AutoscalerOptions
from podwright.simulation.autoscaling.tests.test_scale_up import (
    deployment,
    group,
    reasons,
    simulated,
)
from podwright.testing import make_node, make_pod

QUICK = {
    "scaleDownUnneededTime": "1m", "scaleDownDelayAfterAdd": "1m", "scaleDownUnreadyTime": "1m",
    "unremovableNodeRecheckTimeout": "1m",
}  # fmt: skip


def removed(seen):
    return [(second, name) for second, sign, name in seen.nodes if sign == "-"]


def scaled(replicas, at="5m", name="web"):
    return {"at": at, "scale": f"deployment/{name}", "replicas": replicas}


def test_an_empty_node_is_removed_after_the_unneeded_time_and_the_delay_of_the_deletion():
    _, seen = simulated([deployment("web", 8)], [group()], QUICK, [scaled(0)])
    # Unneeded from the loop at 310 s on; more than a minute later tainted, and deleted after 5 s.
    assert removed(seen) == [(385, "a-0"), (385, "a-1")]
    assert len(reasons(seen, "ScaleDownEmpty")) == 4
    assert "marked the node as toBeDeleted/unschedulable" in reasons(seen, "ScaleDown")
    of_groups = ("", "ConfigMap", "kube-system/cluster-autoscaler-status")
    assert {tuple(about) for reason, *about in seen.about if reason.startswith("ScaleDown")} == {
        ("", "Node", "a-0"), ("", "Node", "a-1"), of_groups
    }  # fmt: skip


def test_the_minimum_size_is_kept():
    _, seen = simulated([deployment("web", 12)], [group(minSize=2)], QUICK, [scaled(0)])
    assert len(removed(seen)) == 1


def test_a_node_is_drained_if_its_pods_fit_elsewhere():
    run, seen = simulated([deployment("web", 8)], [group()], QUICK, [scaled(3)])
    assert len(removed(seen)) == 1
    assert len(set(run.node_of.values())) == 1
    assert not run.pending
    (note,) = [each for each in reasons(seen, "ScaleDown") if "utilization" in each]
    assert "removing node a-" in note
    assert ", utilization: {0.25 0.0 0 0 cpu 0.25}, pods to reschedule: web-" in note


def test_no_node_is_removed_soon_after_a_scale_up():
    late = {**QUICK, "scaleDownDelayAfterAdd": "30m"}
    _, seen = simulated([deployment("web", 8)], [group()], late, [scaled(4)], until="25m")
    assert not removed(seen)


def test_a_node_above_the_threshold_stays():
    events = [scaled(5)]  # 3 and 2 of 4 CPU, or 4 and 1
    options = {**QUICK, "scaleDownUtilizationThreshold": 0.2}
    _, seen = simulated([deployment("web", 8)], [group()], options, events)
    assert not removed(seen)


def test_nodes_are_removed_in_parallel_up_to_the_limit():
    options = {**QUICK, "maxScaleDownParallelism": 2}
    _, seen = simulated([deployment("web", 20)], [group()], options, [scaled(0)])
    seconds = [second for second, _ in removed(seen)]
    assert len(seconds) == 5
    assert max(map(seconds.count, seconds)) == 2


def test_scale_down_can_be_disabled_for_all_nodes_and_for_one():
    disabled = {**QUICK, "scaleDownEnabled": False}
    _, seen = simulated([deployment("web", 8)], [group()], disabled, [scaled(0)])
    assert not removed(seen)
    key = "cluster-autoscaler.kubernetes.io/scale-down-disabled"
    other = make_node("other", cpu="4", labels={"pool": "a"})
    kept = with_fields(other, "metadata", name="kept", annotations={key: "true"})
    _, seen = simulated([kept, other], [group()], QUICK)
    assert [name for _, name in removed(seen)] == ["other"]


def budget(allowed):
    return decode(
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {"selector": {"matchLabels": {"app": "web"}}, "maxUnavailable": allowed},
        }
    )


def test_nodes_that_cannot_be_removed_at_different_times_do_not_keep_a_run_from_ending():
    nodes = [make_node(f"n{i}", cpu="4", memory="16Gi", labels={"pool": "a"}) for i in range(2)]
    pods = [make_pod(f"p{i}", cpu="1", node=f"n{i}") for i in range(2)]
    pod = make_pod("p2", cpu="1", node_selector={"disk": "ssd"})
    later = {"at": "40s", "apply": encode(pod)}
    ssd = group(template={"labels": {"disk": "ssd"}})
    run, seen = simulated([*nodes, *pods], [ssd], events=[later])
    assert not run.pending
    assert [name for _, change, name in seen.nodes if change == "-"] == []


@pytest.mark.parametrize(("allowed", "count"), [(0, 0), (1, 1)])
def test_a_budget_without_disruptions_keeps_a_node(allowed, count):
    objects = [deployment("web", 8), budget(allowed)]
    _, seen = simulated(objects, [group()], QUICK, [scaled(3)])
    assert len(removed(seen)) == count


def test_evictions_count_for_all_budgets_of_a_pod_and_for_no_other():
    def of(name, namespace, labels, allowed):
        return PodDisruptionBudget(
            metadata=ObjectMeta(name=name, namespace=namespace),
            spec=PodDisruptionBudgetSpec(selector=LabelSelector(match_labels=labels)),
            status=PodDisruptionBudgetStatus(disruptions_allowed=allowed),
        )

    web = make_pod("a", labels={"app": "web", "tier": "front"})
    other, db = make_pod("b", labels={"app": "web"}), make_pod("c", labels={"app": "db"})
    budgets = Budgets(
        [
            of("web", "default", {"app": "web"}, 2),
            of("front", "default", {"tier": "front"}, 1),
            of("elsewhere", "other", {"app": "web"}, 0),
            of("db", "default", {"app": "db"}, 5),
        ]
    )
    assert [budgets.allowed(each) for each in (web, other, db)] == [[2, 1], [2], [5]]
    assert budgets.allows_in_parallel([web, other])
    assert not budgets.allows_in_parallel([web, other, other])
    assert not budgets.allows_in_parallel([web, web])
    budgets.remove([web, db, db])
    assert [budgets.allowed(each) for each in (web, other, db)] == [[1, 0], [1], [3]]
    assert not budgets.allows_in_parallel([web])
    assert budgets.allows_in_parallel([other])


def test_a_node_that_is_needed_again_is_not_removed():
    events = [scaled(4), scaled(8, "5m50s")]
    _, seen = simulated([deployment("web", 8)], [group()], QUICK, events)
    assert not removed(seen)


def test_a_run_without_an_end_ends_after_the_last_removal():
    run, seen = simulated([deployment("web", 8)], [group()], QUICK, [scaled(0)])
    assert len(removed(seen)) == 2
    assert run.summary.simulated_ns < 20 * 60 * 1_000_000_000


def test_the_least_size_is_enforced_on_request():
    options = {**QUICK, "enforceNodeGroupMinSize": True}
    _, seen = simulated([make_pod("web", cpu="1")], [group(minSize=3)], options)
    assert len([name for _, sign, name in seen.nodes if sign == "+"]) == 3
    assert not removed(seen)


@pytest.mark.parametrize("seed", range(4))
def test_sizes_stay_within_their_limits_and_no_helpful_group_is_left_out(seed):
    draw = random.Random(seed)
    groups = [
        group(name, cpu=str(draw.choice([2, 4, 8])), size=draw.choice([1, 3, 6]), minSize=1)
        for name in "abc"
    ]
    apps = [deployment(f"app{i}", 0, cpu=draw.choice(["300m", "1", "3"])) for i in range(3)]
    events = [
        scaled(draw.choice([0, 4, 9]), f"{5 * n}m", f"app{i}")
        for n in range(1, 6)
        for i in range(3)
    ]
    run, _ = simulated(apps, groups, {**QUICK, "enforceNodeGroupMinSize": True}, events)
    assert run.summary.report is not None
    for each, given in zip(run.summary.report.node_groups, groups, strict=True):
        sizes = [change.size for change in each.sizes]
        assert max(sizes) <= given["maxSize"]
        assert sizes[-1] >= 1
    is_full = [
        each.sizes[-1].size == given["maxSize"]
        for each, given in zip(run.summary.report.node_groups, groups, strict=True)
        if int(given["template"]["allocatable"]["cpu"]) > 3
    ]
    assert not run.pending or all(is_full)


# ---------------------------------------------------------------------------- drainability


def pod(owner="ReplicaSet", annotations=None, namespace="default", **spec: Any):
    metadata: dict[str, Any] = {
        "name": "p", "namespace": namespace, "labels": {"app": "web"},
        "annotations": annotations or {},
    }  # fmt: skip
    if owner:
        reference = {"apiVersion": "apps/v1", "kind": owner, "name": "o", "uid": "u"}
        metadata["ownerReferences"] = [{**reference, "controller": True}]
    document = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}
    return decode({**document, "spec": {"containers": [{"name": "c", "image": "i"}], **spec}})


SAFE = "cluster-autoscaler.kubernetes.io/safe-to-evict"
LOCAL = {"volumes": [{"name": "v", "emptyDir": {}}]}
HOST = {"volumes": [{"name": "v", "hostPath": {"path": "/x"}}]}
MEMORY = {"volumes": [{"name": "v", "emptyDir": {"medium": "Memory"}}]}
EMPTY = {"volumes": [{"name": "v", "emptyDir": None}]}
SEVERAL = {"volumes": [{"name": "v", "emptyDir": {}}, {"name": "w", "hostPath": {"path": "/"}}]}
SAFE_VOLUMES = {"cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes": "v"}


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        # Upstream: simulator/drain_test.go, TestGetPodsToMove; utils/drain/drain_test.go
        pytest.param(pod(), "", id="of a ReplicaSet"),
        pytest.param(pod("Job"), "", id="of a Job"),
        pytest.param(pod("StatefulSet"), "", id="of a StatefulSet"),
        pytest.param(pod(""), "NotReplicated", id="without an owner"),
        pytest.param(pod("Custom"), "NotReplicated", id="of an unknown kind"),
        pytest.param(pod("", {SAFE: "true"}), "", id="without an owner, but safe"),
        pytest.param(pod(annotations={SAFE: "false"}), "NotSafeToEvictAnnotation", id="not safe"),
        pytest.param(pod(**LOCAL), "LocalStorageRequested", id="emptyDir"),
        pytest.param(pod(**HOST), "LocalStorageRequested", id="hostPath"),
        pytest.param(pod(**MEMORY), "", id="emptyDir in memory"),
        pytest.param(pod(**EMPTY), "LocalStorageRequested", id="emptyDir without settings"),
        pytest.param(pod(**SEVERAL), "LocalStorageRequested", id="one of several"),
        pytest.param(
            pod(annotations=dict.fromkeys(SAFE_VOLUMES, "v, w,x"), **SEVERAL),
            "LocalStorageRequested",
            id="names are not trimmed",
        ),
        pytest.param(
            pod(annotations=dict.fromkeys(SAFE_VOLUMES, "v,w"), **SEVERAL), "", id="all are safe"
        ),
        pytest.param(pod(annotations=SAFE_VOLUMES, **LOCAL), "", id="safe emptyDir"),
        pytest.param(pod(annotations={SAFE: "true"}, **LOCAL), "", id="safe, with emptyDir"),
        pytest.param(pod(namespace="kube-system"), "UnmovableKubeSystemPod", id="kube-system"),
        pytest.param(
            pod(annotations={SAFE: "true"}, namespace="kube-system"), "", id="safe kube-system"
        ),
    ],
)
def test_pods_move_by_upstreams_rules(given, reason):
    rules = DrainRules(options=AutoscalerOptions(), budgets=Budgets(()), now_ns=0)
    found = rules.pods_to_move([given])
    assert (found.reason if isinstance(found, Unremovable) else "") == reason


def test_pods_of_an_unknown_kind_move_if_controllers_of_users_are_not_skipped():
    options = AutoscalerOptions(skip_nodes_with_custom_controller_pods=False)
    rules = DrainRules(options=options, budgets=Budgets(()), now_ns=0)
    assert rules.pods_to_move([pod("Custom")]) == [pod("Custom")]
    found = rules.pods_to_move([pod("")])
    assert isinstance(found, Unremovable)
    assert found.reason == "NotReplicated"


def test_pods_of_daemon_sets_and_mirror_pods_do_not_move():
    rules = DrainRules(options=AutoscalerOptions(), budgets=Budgets(()), now_ns=0)
    mirror = pod("", {"kubernetes.io/config.mirror": "x"})
    assert rules.pods_to_move([pod("DaemonSet"), mirror]) == []
