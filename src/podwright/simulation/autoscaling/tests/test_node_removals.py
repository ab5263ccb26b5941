"""Explanations: which nodes would be removed, and what keeps the others."""

from __future__ import annotations

import pytest

import podwright as pw
from podwright.apimachinery.objects import decode, encode, with_fields, with_node_name
from podwright.cluster.api.pods.eviction import VIOLATION
from podwright.simulation.autoscaling import parse_node_groups
from podwright.simulation.autoscaling.tests.test_scale_down import (
    LOCAL,
    QUICK,
    budget,
    pod,
    removed,
)
from podwright.simulation.autoscaling.tests.test_scale_up import deployment, group, simulated
from podwright.simulation.world import START_NS
from podwright.testing import make_node, make_pod

HOUR_NS = 3_600_000_000_000
MINUTE_S = 60


def node(name, pool="a", **annotations):
    made = make_node(name, cpu="4", memory="16Gi", labels={"pool": pool} if pool else {})
    return with_fields(made, "metadata", annotations=annotations)


def on(name, given, created="2026-01-01T00:00:00Z"):
    metadata = {"name": f"on-{name}", "creationTimestamp": created, "uid": f"u-{name}"}
    document = encode(with_node_name(given, name))
    return decode({**document, "metadata": {**document["metadata"], **metadata}})


def removals(objects, *groups, now_ns=0, **options):
    autoscaling = parse_node_groups({"groups": list(groups), "options": options}, "groups")
    return pw.explain_scale_down(objects, autoscaling, now_ns=now_ns)


DISABLED = {"cluster-autoscaler.kubernetes.io/scale-down-disabled": "true"}
BIG = pod(containers=[{"name": "c", "resources": {"requests": {"cpu": "3", "memory": "1Gi"}}}])
OF_B = pod(
    nodeSelector={"pool": "b"},
    containers=[{"name": "c", "resources": {"requests": {"cpu": "1500m"}}}],
)
PINNED = pod(nodeSelector={"kubernetes.io/hostname": "n"})
SYSTEM = pod(namespace="kube-system")


@pytest.mark.parametrize(
    ("objects", "reason", "message"),
    [
        ([node("n")], "", ""),
        ([node("n"), on("n", pod())], "", ""),
        ([node("n", "")], "NotAutoscaled", "it is of no node group"),
        ([node("n", **DISABLED)], "ScaleDownDisabledAnnotation", f"annotation {min(DISABLED)}"),
        (
            [node("n"), on("n", BIG)],
            "NotUnderutilized",
            "75.00% of its cpu is requested; scaleDownUtilizationThreshold is 0.5",
        ),
        ([node("n"), on("n", pod(""))], "NotReplicated", "default/on-n is not replicated"),
        (
            [node("n"), on("n", pod(**LOCAL))],
            "LocalStorageRequested",
            "pod with local storage present: on-n",
        ),
        (
            [node("n"), on("n", PINNED)],
            "NoPlaceToMovePods",
            "default/on-n fits on no other node that stays:"
            " 1 node(s) didn't match Pod's node affinity/selector",
        ),
        (
            [node("n"), node("full", "b"), on("full", BIG), on("n", OF_B)],
            "NoPlaceToMovePods",
            "default/on-n fits on no other node that stays:"
            " 1 Insufficient cpu, 1 node(s) didn't match Pod's node affinity/selector",
        ),
        (
            [node("n"), on("n", SYSTEM)],
            "UnmovableKubeSystemPod",
            "non-daemonset, non-mirrored, non-pdb-assigned kube-system pod present: on-n",
        ),
    ],
)
def test_a_node_has_the_reason_of_upstream(objects, reason, message):
    """Upstream: simulator/cluster.go, UnremovableReason"""
    found = removals([*objects, node("other", **DISABLED)], group())[0]
    assert (found.node, found.reason, found.message) == ("n", reason, message)


def test_pods_of_other_schedulers_are_tried_as_those_of_the_first_profile():
    objects = [node("n"), on("n", pod(schedulerName="volcano")), node("other", "b")]
    assert removals(objects, group())[0].moves == ("default/on-n",)
    autoscaling = parse_node_groups({"groups": [group()]}, "groups")
    waiting = make_pod("p", cpu="3", spec={"schedulerName": "volcano"})
    (found,) = pw.explain_autoscaling([waiting], autoscaling)
    assert (found.chosen, found.groups[0].reasons) == (("a",), ())


@pytest.mark.parametrize(
    ("gpus", "labels", "requested", "reason", "message"),
    [
        pytest.param(
            4, {}, 2, "NotUnderutilized",
            "50.00% of its nvidia.com/gpu is requested; scaleDownGpuUtilizationThreshold is 0.5",
            id="half of its GPUs",
        ),
        pytest.param(4, {}, 1, "", "", id="its cpu, which is in use, does not count"),
        pytest.param(
            0, {"cloud.google.com/gke-accelerator": "nvidia-a100-80gb"}, 0, "", "",
            id="GPUs that are not ready, or divided",
        ),
    ],
)  # fmt: skip
def test_of_a_node_with_gpus_only_these_count(gpus, labels, requested, reason, message):
    """Upstream: simulator/utilization/info.go, Calculate; utils/gpu/gpu.go, NodeHasGpu"""
    requests = {"cpu": "3"} | ({"nvidia.com/gpu": str(requested)} if requested else {})
    user = pod(containers=[{"name": "c", "resources": {"requests": requests}}])
    other = make_node("other", cpu="8", memory="16Gi", gpu=4)
    user_node = make_node("n", cpu="4", memory="16Gi", gpu=gpus, labels={"pool": "a", **labels})
    (found, _) = removals([user_node, on("n", user), other], group())
    assert (found.reason, found.message) == (reason, message)


def test_the_pods_that_move_are_named_and_the_least_size_is_kept():
    objects = [node("n0"), node("n1"), node("n2"), on("n0", pod())]
    first, second, third = removals(objects, group(minSize=2))
    # Nodes without pods are the first.
    assert first.reason == "NoPlaceToMovePods"
    assert (second.reason, third.reason) == ("", "NodeGroupMinSizeReached")
    found = removals([node("n0", "b"), node("n1"), on("n0", pod())], group("b"))
    assert [(each.group, each.moves, each.reason) for each in found] == [
        ("b", ("default/on-n0",), ""), ("", (), "NotAutoscaled"),
    ]  # fmt: skip
    (found,) = removals([node("n0")], group(minSize=1))
    assert (found.reason, found.message) == ("NodeGroupMinSizeReached", "minSize is 1")


def test_nodes_whose_pods_may_be_evicted_at_once_come_before_the_others():
    """Upstream: planner.go, NodesToDelete: nodes with risky pods are the last"""
    other = with_fields(pod(), "metadata", labels={"app": "db"})
    web = on("n0", pod(nodeSelector={"kubernetes.io/hostname": "kept"}))
    two = [web, with_fields(web, "metadata", name="two", uid="u2")]
    kept = node("kept", **DISABLED)
    objects = [kept, node("n0"), node("n1"), *two, on("n1", other), budget(2)]
    for least, reasons in (2, ["NodeGroupMinSizeReached", ""]), (1, ["", ""]):
        found = removals(objects, group(minSize=least))
        assert [each.reason for each in found[1:]] == reasons


@pytest.mark.parametrize(("allowed", "reason"), [(0, "NotEnoughPdb"), (1, "")])
def test_a_budget_without_a_status_gets_one(allowed, reason):
    labelled = with_fields(pod(), "metadata", labels={"app": "web"})
    objects = [node("n0"), on("n0", labelled), budget(allowed), node("n1", **DISABLED)]
    assert removals(objects, group())[0].reason == reason


def test_a_budget_of_a_server_allows_what_its_status_says():
    conditions = [{"type": "DisruptionAllowed", "status": "False", "reason": "InsufficientPods"}]
    written = {"observedGeneration": 1, "disruptionsAllowed": 0, "conditions": conditions}
    objects = [node("n0"), on("n0", pod()), node("n1", **DISABLED)]
    given = decode(encode(budget(1)) | {"status": written})
    assert removals([*objects, given], group())[0].reason == "NotEnoughPdb"


def test_a_budget_of_pods_without_a_controller_keeps_none():
    objects = [node("n0"), on("n0", pod("")), budget(1), node("n1", **DISABLED)]
    assert removals(objects, group())[0].reason == "NotReplicated"


def test_a_pod_that_is_not_ready_counts_for_its_budget_as_it_is():
    waiting = {"phase": "Running", "conditions": [{"type": "Ready", "status": "False"}]}
    given = decode(encode(on("n0", pod())) | {"status": waiting})
    found = removals([node("n0"), given, budget(1), node("n1", **DISABLED)], group())[0]
    assert found.reason == "NotEnoughPdb"


@pytest.mark.parametrize("allowed", [0, 1])
def test_a_pod_that_is_safe_to_evict_moves_only_if_its_eviction_is_not_rejected(allowed):
    """Upstream: simulator/drainability/rules/rules.go, Default"""
    safe = pod(annotations={"cluster-autoscaler.kubernetes.io/safe-to-evict": "true"})
    labelled = with_fields(safe, "metadata", labels={"app": "web"})
    objects = [node("n0"), node("n1"), on("n0", labelled), on("n1", labelled), budget(allowed)]
    found = removals([*objects, node("n2", **DISABLED)], group())
    assert [each.reason for each in found[:2]] == ["" if allowed else "FailedToEvictPods"] * 2
    start = "its removal is tried and fails"
    messages = [f"{start}: default/on-{name}: {VIOLATION}" for name in ("n0", "n1")]
    assert [each.message for each in found[:2]] == (["", ""] if allowed else messages)
    moves = [("default/on-n0",), ("default/on-n0", "default/on-n1")] if allowed else [(), ()]
    assert [tuple(sorted(each.moves)) for each in found[:2]] == moves


def test_a_pending_pod_is_not_healthy_for_its_budget():
    waiting = with_fields(pod(nodeSelector={"no": "node"}), "metadata", name="waits", uid="w")
    objects = [node("n0"), on("n0", pod()), waiting, budget(1), node("n1", **DISABLED)]
    assert removals(objects, group())[0].reason == "NotEnoughPdb"


@pytest.mark.parametrize(
    ("least", "owners", "reason"),
    [
        pytest.param(2, [], "", id="as many as there are pods"),
        pytest.param(3, [], "MinReplicasReached", id="more than there are pods"),
        pytest.param(2, [1], "MinReplicasReached", id="more than the owner has"),
        pytest.param(3, [3], "", id="as many as the owner has"),
    ],
)
def test_an_owner_that_is_left_out_has_as_many_replicas_as_there_are_pods(least, owners, reason):
    """Upstream: simulator/drainability/rules/replicacount/rule.go"""
    metadata = {"name": "o", "namespace": "default", "uid": "u"}
    sets = [
        decode({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": metadata}
               | {"spec": {"replicas": count}})
        for count in owners
    ]  # fmt: skip
    objects = [node("n0"), node("n1", **DISABLED), on("n0", pod()), on("n1", pod()), *sets]
    assert removals(objects, group(), minReplicaCount=least)[0].reason == reason


def test_the_time_decides_about_pods_of_the_system():
    objects = [node("n0"), on("n0", SYSTEM), node("n1", **DISABLED)]
    assert removals(objects, group(), now_ns=START_NS + HOUR_NS)[0].reason
    assert not removals(objects, group(), now_ns=START_NS + HOUR_NS + 1)[0].reason
    later = on("n1", pod(), created="2026-01-01T02:00:00Z")
    assert not removals([*objects, later], group())[0].reason
    autoscaling = parse_node_groups({"groups": [group()]}, "groups")
    assert not pw.explain_scale_down([*objects, later], autoscaling)[0].reason
    other = with_fields(node("n3", ""), "metadata", creation_timestamp="2026-01-01T02:00:00Z")
    assert removals([*objects, other], group())[0].reason, "only pods and conditions count"
    ready = {"type": "Ready", "status": "True", "lastHeartbeatTime": "2026-01-01T02:00:00Z"}
    alive = decode(encode(node("n2", "")) | {"status": {"conditions": [ready]}})
    assert not removals([*objects, alive], group())[0].reason


def test_pods_that_fit_take_the_room_first():
    objects = [node("n0"), node("n1"), make_pod("web", cpu="3", memory="1Gi")]
    assert sorted(each.reason for each in removals(objects, group())) == ["", "NotUnderutilized"]


@pytest.mark.parametrize(
    ("nominated", "priority", "used"),
    [
        pytest.param("n1", 0, "n1", id="on the node that waits for it"),
        pytest.param("gone", 0, "n0", id="on a node where it fits"),
        pytest.param("", -10, "n0", id="as important as the cutoff"),
        pytest.param("", -11, "", id="an expendable one takes none"),
        pytest.param("n1", -11, "n1", id="unless it is nominated"),
    ],
)
def test_pending_pods_take_room(nominated, priority, used):
    """Upstream: core/podlistprocessor/filter_out_expendable.go"""
    pending = make_pod("web", cpu="3", memory="1Gi", priority=priority)
    pending = with_fields(pending, "status", nominated_node_name=nominated)
    found = removals([node("n0"), node("n1"), pending], group())
    assert [each.node for each in found if each.reason == "NotUnderutilized"] == [used] * bool(used)


@pytest.mark.parametrize(
    ("options", "is_used"),
    [
        ({}, True),
        ({"expands_workloads": True}, True),
        ({"expands_workloads": False}, False),
    ],
)
def test_pods_that_workloads_lack_take_room_unless_they_are_not_expanded(options, is_used):
    autoscaling = parse_node_groups({"groups": [group()]}, "groups")
    objects = [node("n0"), deployment("web", 1, "3")]
    (found,) = pw.explain_scale_down(objects, autoscaling, **options)
    assert (found.reason == "NotUnderutilized") is is_used


def test_expendable_pods_neither_keep_a_node_nor_take_room():
    low = with_fields(make_pod("low", cpu="3", node="n0"), "spec", priority=-11)
    found = removals([node("n0"), node("n1", **DISABLED), low], group())[0]
    assert (found.reason, found.moves) == ("", ())


def test_no_more_nodes_are_looked_for_than_upstream_does():
    found = removals(
        [node(f"n{i}") for i in range(5)],
        group(),
        maxScaleDownParallelism=1,
        scaleDownUnneededTime="20s",
    )
    assert [each.reason for each in found] == [*[""] * 3, *["NotUnneededOtherReason"] * 2]
    assert found[4].message == "3 other nodes are unneeded, and no more are looked for"


def test_a_node_is_removed_when_its_pod_of_the_system_is_old_enough():
    given = on("n0", pod("Custom", namespace="kube-system"))
    options = {**QUICK, "skipNodesWithCustomControllerPods": False}
    _, seen = simulated([given, node("n0"), node("n1", **DISABLED)], [group()], options, until="3h")
    ((second, name),) = removed(seen)
    assert name == "n0"
    assert second == pytest.approx(62 * MINUTE_S, abs=MINUTE_S)
