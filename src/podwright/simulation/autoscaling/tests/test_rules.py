"""The rules of the autoscaler one by one, with the values of cluster-autoscaler's flags."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import pytest

from podwright.apimachinery.objects import (
    LabelSelector,
    ObjectMeta,
    PodDisruptionBudget,
    PodDisruptionBudgetSpec,
    PodDisruptionBudgetStatus,
    decode,
    with_fields,
)
from podwright.cluster.api import RecordEvent
from podwright.cluster.controllers import Lister, SyncAt
from podwright.scheduler.machine import SchedulerOptions
from podwright.simulation.autoscaling import ClusterAutoscaler, parse_node_groups
from podwright.simulation.autoscaling.drainability import Budgets, DrainRules, Unremovable
from podwright.simulation.autoscaling.expanders import (
    _SCORES,
    Choice,
    best_option,
    equal_options,
    requested,
)
from podwright.simulation.autoscaling.group_sizes import GroupSizes, NodeGroupSizes
from podwright.simulation.autoscaling.node_groups import (
    AutoscalerOptions,
    NodeGroup,
    NodeTemplate,
    pool_of,
)
from podwright.simulation.autoscaling.scale_up import PodGroup, pod_groups, reasons_text
from podwright.simulation.autoscaling.tests.test_scale_down import QUICK, pod, removed, scaled
from podwright.simulation.autoscaling.tests.test_scale_up import (
    SECOND_NS,
    deployment,
    group,
    option,
    reasons,
    simulated,
)
from podwright.testing import make_node, make_pod

START_NS = 1_767_225_600 * SECOND_NS
MINUTE, HOUR = 60, 3_600


def test_the_defaults_are_those_of_the_flags():
    """Upstream: cluster-autoscaler/config/flags/flags.go"""
    options = AutoscalerOptions()
    seconds = {
        name.removesuffix("_ns"): value / SECOND_NS
        for name, value in msgspec.structs.asdict(options).items()
        if name.endswith("_ns")
    }
    assert seconds == {
        "scan_interval": 10,
        "new_pod_scale_up_delay": 0,
        "max_node_provision": 15 * MINUTE,
        "initial_backoff": 5 * MINUTE,
        "max_backoff": 30 * MINUTE,
        "backoff_reset": 3 * HOUR,
        "delay_after_add": 10 * MINUTE,
        "delay_after_delete": 0,
        "unneeded": 10 * MINUTE,
        "unready": 20 * MINUTE,
        "recheck": 5 * MINUTE,
        "delete_delay": 5,
        "max_pod_eviction": 2 * MINUTE,
    }
    others = {
        name: value
        for name, value in msgspec.structs.asdict(options).items()
        if not name.endswith(("_ns", "_price"))
    }
    assert others == {
        "expander": ("least-waste",),
        "priorities": {},
        "pool_label": "",
        "max_nodes_total": 0,
        "max_nodes_per_scaleup": 1_000,
        "enforce_node_group_min_size": False,
        "expendable_pods_priority_cutoff": -10,
        "ok_total_unready_count": 3,
        "max_total_unready_percentage": 45,
        "scale_down_enabled": True,
        "scale_down_unready_enabled": True,
        "utilization_threshold": 0.5,
        "gpu_utilization_threshold": 0.5,
        "ignore_daemonsets_utilization": False,
        "max_scale_down_parallelism": 10,
        "max_drain_parallelism": 1,
        "max_graceful_termination_sec": 600,
        "skip_nodes_with_system_pods": True,
        "skip_nodes_with_local_storage": True,
        "skip_nodes_with_custom_controller_pods": True,
        "min_replica_count": 0,
    }
    made = NodeGroup(name="a")
    assert (made.min_size, made.price, made.provisioning_ns) == (0, 0.0, 60 * SECOND_NS)


@pytest.mark.parametrize(
    ("labels", "label", "pool"),
    [
        ({"podwright.dev/node-group": "a", "karpenter.sh/nodepool": "b"}, "", "a"),
        ({"karpenter.sh/nodepool": "b", "cloud.google.com/gke-nodepool": "c"}, "", "b"),
        ({"cloud.google.com/gke-nodepool": "c", "eks.amazonaws.com/nodegroup": "d"}, "", "c"),
        ({"eks.amazonaws.com/nodegroup": "d", "kubernetes.azure.com/agentpool": "e"}, "", "d"),
        ({"kubernetes.azure.com/agentpool": "e", "agentpool": "f"}, "", "e"),
        ({"node.cluster.x-k8s.io/pool": "g", "agentpool": "f"}, "", "g"),
        ({"agentpool": "f", "pool": "h"}, "", "f"),
        ({"pool": "h"}, "", "h"),
        ({"team": "t", "pool": "h"}, "team", "t"),
        ({"pool": "h"}, "team", ""),
        ({}, "", ""),
    ],
)
def test_the_pool_of_a_node_is_that_of_its_first_known_label(labels, label, pool):
    assert pool_of(make_node("n", labels=labels), label) == pool


def test_a_new_node_has_what_its_template_says_and_the_label_of_its_group():
    template = NodeTemplate(
        allocatable={"cpu": 2, "memory": "4Gi"},
        labels={"a": "b", "kubernetes.io/os": "windows"},
        taints=({"key": "k", "effect": "NoSchedule"},),
    )
    made = NodeGroup(name="small", max_size=4, template=template)
    assert made.size_limit == 4
    assert NodeGroup(name="none").size_limit == 2**31 - 1, "no limit is known"
    for label, key in (("", "podwright.dev/node-group"), ("pool", "pool")):
        node = made.node_template(label).node("small-0")
        assert node.metadata.labels == {
            "a": "b", key: "small", "kubernetes.io/hostname": "small-0",
            "kubernetes.io/arch": "amd64", "kubernetes.io/os": "windows",
        }  # fmt: skip
        assert node.status.allocatable == {"cpu": "2", "memory": "4Gi", "pods": "110"}
        assert node.status.capacity == node.status.allocatable
        assert [(each.key, each.effect) for each in node.spec.taints] == [("k", "NoSchedule")]
    more = msgspec.structs.replace(template, allocatable={"pods": "7"}).node("n")
    assert more.status.allocatable == {"pods": "7"}
    bare = NodeGroup(name="bare").node_template("pool")
    assert (bare.labels, bare.allocatable, bare.taints) == ({"pool": "bare"}, {}, ())


def test_the_sizes_of_groups_and_what_they_cost():
    autoscaling = parse_node_groups({"groups": [group(price=3.0), group("b", price=1.0)]}, "")
    sizes = NodeGroupSizes(autoscaling, START_NS)
    first, second, other = (
        make_node(name, labels={"pool": pool})
        for name, pool in (("1", "a"), ("2", "a"), ("3", "x"))
    )
    hour = HOUR * SECOND_NS
    sizes.changed(None, first, START_NS)
    sizes.changed(None, other, START_NS)
    pod_there = make_pod("p", labels={"pool": "a"})
    sizes.changed(None, pod_there, START_NS + hour)
    sizes.changed(pod_there, None, START_NS + hour)
    sizes.changed(first, first, START_NS + hour)
    sizes.changed(None, second, START_NS + hour)
    sizes.changed(first, None, START_NS + 3 * hour)
    a, b = sizes.report(START_NS + 4 * hour)
    assert [(each.time[11:13], each.size) for each in a.sizes] == [("00", 1), ("01", 2), ("03", 1)]
    assert (a.node_hours, a.cost) == (1 + 4 + 1, 18.0)
    assert ([each.size for each in b.sizes], b.node_hours, b.cost) == ([0], 0, 0)
    none = GroupSizes(name="c")
    assert (none.sizes, none.node_hours, none.cost) == ((), 0, 0)


# --------------------------------------------------------------------------- what can move


def rules(*objects, now=0, budgets=(), **options):
    lister = Lister()
    for each in objects:
        lister.put(each)
    return DrainRules(
        options=AutoscalerOptions(**options),
        budgets=Budgets(budgets),
        now_ns=START_NS + now * SECOND_NS,
        lister=lister,
    )


def reason(rules, given):
    found = rules.pods_to_move([given])
    return (found.reason, found.message) if isinstance(found, Unremovable) else found


def owner(kind, replicas=None, api="apps/v1"):
    spec = {} if replicas is None else {"replicas": replicas}
    return decode(
        {
            "apiVersion": api, "kind": kind, "metadata": {"name": "o", "namespace": "default"},
            "spec": spec,
        }
    )  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "objects", "least", "expected"),
    [
        *(
            (kind, [], 0, ("ControllerNotFound", f"{kind} for default/p is not available"))
            for kind in ("ReplicaSet", "StatefulSet", "DaemonSet")
        ),
        ("ReplicaSet", [("ReplicaSet", 2)], 2, None),
        ("ReplicaSet", [("ReplicaSet", 1)], 2, (
            "MinReplicasReached", "ReplicaSet for default/p has too few replicas: 1")),
        ("ReplicaSet", [("ReplicaSet", None)], 1, None),
        ("ReplicaSet", [("ReplicaSet", None)], 2, (
            "MinReplicasReached", "ReplicaSet for default/p has too few replicas: 1")),
        ("StatefulSet", [("StatefulSet", 1)], 2, None),
    ],
)  # fmt: skip
def test_an_owner_that_is_gone_or_too_small_keeps_a_node(kind, objects, least, expected):
    present = [owner(*each) for each in objects]
    found = reason(rules(*present, min_replica_count=least), pod(kind))
    assert (found if isinstance(found, tuple) else None) == expected
    relaxed = rules(*present, min_replica_count=least, skip_nodes_with_custom_controller_pods=False)
    assert isinstance(reason(relaxed, pod(kind)), list)


def with_times(given, **times):
    raw = given.raw
    return decode({**raw, "metadata": {**raw["metadata"], **times}})


@pytest.mark.parametrize(
    ("now", "grace", "moves"),
    [(60, None, True), (61, None, False), (35, 5, True), (36, 5, False), (30, 0, True)],
)
def test_a_pod_that_should_have_ended_half_a_minute_ago_is_not_waited_for(now, grace, moves):
    spec: dict[str, Any] = {} if grace is None else {"terminationGracePeriodSeconds": grace}
    given = with_times(pod("", **spec), deletionTimestamp="2026-01-01T00:00:00Z")
    found = rules(now=now).pods_to_move([given])
    assert isinstance(found, Unremovable) is moves


@pytest.mark.parametrize(("now", "blocks"), [(HOUR, True), (HOUR + 1, False)])
def test_a_system_pod_keeps_its_node_for_an_hour(now, blocks):
    given = with_times(pod(namespace="kube-system"), creationTimestamp="2026-01-01T00:00:00Z")
    present = owner("ReplicaSet", 1).raw
    present = decode(present | {"metadata": {"name": "o", "namespace": "kube-system"}})
    found = rules(present, now=now).pods_to_move([given])
    assert isinstance(found, Unremovable) is blocks
    allowed = rules(present, now=now, skip_nodes_with_system_pods=False)
    assert allowed.pods_to_move([given]) == [given]


@pytest.mark.parametrize(
    ("allowed", "moves"),
    [
        pytest.param(None, False, id="without a budget"),
        pytest.param(1, True, id="with one that allows it"),
        pytest.param(0, False, id="with one that does not"),
    ],
)
def test_a_system_pod_with_a_budget_moves_as_others(allowed, moves):
    """Upstream: simulator/drainability/rules/system/rule.go"""
    given = pod(namespace="kube-system")
    budgets = [
        PodDisruptionBudget(
            metadata=ObjectMeta(name="b", namespace="kube-system"),
            spec=PodDisruptionBudgetSpec(selector=LabelSelector(match_labels={"app": "web"})),
            status=PodDisruptionBudgetStatus(disruptions_allowed=allowed),
        )
    ][allowed is None :]
    found = rules(budgets=budgets, skip_nodes_with_custom_controller_pods=False)
    assert (found.pods_to_move([given]) == [given]) is moves


@pytest.mark.parametrize(
    "options",
    [
        {"skip_nodes_with_local_storage": False},
        {"skip_nodes_with_system_pods": False, "skip_nodes_with_custom_controller_pods": False},
    ],
)
def test_an_option_lets_pods_with_local_storage_move(options):
    given = pod(volumes=[{"name": "v", "emptyDir": {}}])
    found = reason(rules(owner("ReplicaSet", 1), **options), given)
    assert (found == [given]) is ("skip_nodes_with_local_storage" in options)


def test_the_other_pods_of_a_node_are_listed_and_the_first_that_blocks_is_named():
    present = owner("ReplicaSet", 3)
    ended = pod("", annotations={})
    ended = decode({**ended.raw, "status": {"phase": "Succeeded"}})
    first, second = pod(), pod()
    daemon, alone = pod("DaemonSet"), pod("")
    with_daemon = rules(present, owner("DaemonSet"))
    assert with_daemon.pods_to_move([first, daemon, ended, second]) == [first, ended, second]
    found = with_daemon.pods_to_move([first, alone, second])
    assert found == Unremovable("NotReplicated", "default/p is not replicated")


# ------------------------------------------------------------------------------ scale-up


def owned(name, uid="u", namespace="default", **labels):
    reference = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "o", "uid": uid}
    made = make_pod(name, namespace=namespace, labels=labels, cpu=labels.get("cpu", "1"))
    metadata = {**made.raw["metadata"], "ownerReferences": [{**reference, "controller": True}]}
    return decode({**made.raw, "metadata": metadata})


def test_pods_of_one_controller_with_the_same_labels_and_spec_are_a_group():
    pods = [
        owned("a"), owned("b"), owned("c", uid="v"), owned("d", namespace="x"), owned("e", x="y"),
        owned("f", cpu="2"), make_pod("g", cpu="1"), make_pod("h", cpu="1"), owned("i"),
    ]  # fmt: skip
    names = [[each.name for each in group.pods] for group in pod_groups(pods)]
    assert names == [["a", "b", "i"], ["c"], ["d"], ["e"], ["f"], ["g"], ["h"]]


def test_ten_kinds_of_pods_of_a_controller_are_groups_and_further_ones_are_alone():
    pods = [owned(f"{kind}-{n}", x=str(kind)) for n in range(2) for kind in range(12)]
    sizes = [len(group.pods) for group in pod_groups(pods)]
    assert sorted(sizes) == [1] * 4 + [2] * 10


def test_the_reasons_of_all_groups_are_counted_and_sorted():
    rejections = {"a": ("Insufficient cpu", "taint"), "b": ("Insufficient cpu",)}
    found = PodGroup(pods=[], form="", rejections=rejections, accepted_by=[])
    skipped = {"c": "max node group size reached"}
    assert reasons_text(found, skipped) == (
        "1 max node group size reached, 1 taint, 2 Insufficient cpu"
    )
    assert not found.is_schedulable


def test_expanders_apply_in_their_order_and_a_group_without_a_priority_is_the_last():
    small, large, other = (
        option(name, "4", "16Gi", count, pods)
        for name, count, pods in (("small", 1, 2), ("large", 2, 2), ("other", 1, 1))
    )
    options = [small, large, other]

    def chosen(*expanders, **priorities):
        given = AutoscalerOptions(
            expander=expanders, priorities={name[1:]: value for name, value in priorities.items()}
        )
        found = equal_options(options, Choice(options=given, node_count=1))
        return [each.group.name for each in found]

    assert chosen("most-pods") == ["small", "large"]
    assert chosen("most-pods", "least-nodes") == ["small"]
    assert chosen("least-nodes", "most-pods") == ["small"]
    assert chosen("least-nodes") == ["small", "other"]
    assert chosen("priority", _1=("^o",), _9=("arg",)) == ["large"]
    assert chosen("priority", _0=("^o",)) == ["other"]
    assert chosen("priority", _1=("none",)) == ["small", "large", "other"]


@pytest.mark.parametrize(
    ("cpu", "memory", "count", "pods", "waste"),
    [
        ("1", "2000Mi", 1, 2, 0.0),
        ("2", "2000Mi", 1, 2, 0.5),
        ("2", "4000Mi", 1, 2, 1.0),
        ("2", "4000Mi", 2, 2, 1.5),
        ("2", "0", 1, 2, math.inf),
    ],
)
def test_the_waste_is_the_unused_share_of_cpu_and_of_memory(cpu, memory, count, pods, waste):
    """Upstream: expander/waste/waste.go"""
    score = _SCORES["least-waste"]
    choice = Choice(options=AutoscalerOptions(), node_count=1)
    assert score(option("a", cpu, memory, count, pods), choice) == waste


@pytest.mark.parametrize(
    ("cpu", "count", "unfitness"),
    [
        ("1", 1, 1.0),
        ("2", 1, 2.0),
        ("500m", 1, 2.0),
        ("4", 1, 4.0),
        ("0", 1, 1000.0),
        ("2", 16, 2.0 - 0.7615941559557649),
        ("4", 16, 4.0 - 3 * 0.7615941559557649),
        ("2", 31, 2.0 - 0.9640275800758169),
    ],
)
def test_a_size_that_does_not_fit_matters_less_with_many_nodes(cpu, count, unfitness):
    """Upstream: expander/price/price.go, nodeCountUnfitnessSuppression; tanh(1) and tanh(2)"""
    options = AutoscalerOptions(pod_cpu_price=1.0, pod_memory_price=0.0)
    given = option("a", cpu, "16Gi", count, 1, price=0.5 / count)
    # The pod costs a half, as does what stabilizes: both sums are one.
    found = _SCORES["price"](given, Choice(options=options, node_count=1))
    assert found == pytest.approx(unfitness)


@pytest.mark.parametrize(
    ("cpu_price", "memory_price", "pods", "price", "score"),
    [
        # 500 of 1500 mebibytes, of 2500, and with a node of 1000; 500 of 1000 milli-CPU.
        (0.0, 1.0, 1, 0.0, 500 / 1500),
        (0.0, 1.0, 2, 0.0, 500 / 2500),
        (0.0, 1.0, 1, 1000 / 1024, 1.0),
        (1.0, 0.0, 1, 0.0, 0.5),
        (1.0, 0.0, 3, 1.5, 1.0),
        (0.0, 0.0, 1, 1.0, 0.0),
    ],
)
def test_the_price_is_a_share_of_that_of_the_pods(cpu_price, memory_price, pods, price, score):
    """Upstream: expander/price/price.go, priceStabilizationPod"""
    options = AutoscalerOptions(pod_cpu_price=cpu_price, pod_memory_price=memory_price)
    given = option("a", "1", "16Gi", 1, pods, price=price)
    found = _SCORES["price"](given, Choice(options=options, node_count=1))
    assert found == pytest.approx(score, rel=1e-9)


def test_what_a_pod_does_not_request_is_nothing():
    pods = [make_pod("a", cpu="1"), make_pod("b", memory="1Gi")]
    assert requested(pods, "cpu") == 1000
    assert requested(pods, "memory") == 1 << 30
    assert requested(pods, "example.com/gpu") == 0


@pytest.mark.parametrize("expander", list(_SCORES))
def test_an_expander_leaves_nothing_of_nothing(expander):
    choice = Choice(options=AutoscalerOptions(expander=(expander,)), node_count=1)
    assert list(equal_options([], choice)) == []
    assert best_option([], choice) is None


def created(seen):
    return [(second, name) for second, sign, name in seen.nodes if sign == "+"]


def test_the_nodes_of_the_cluster_and_of_a_scale_up_are_limited():
    total = {"maxNodesTotal": 2}
    run, seen = simulated([deployment("web", 20)], [group()], total, until="20m")
    assert len(seen.nodes) == 2
    assert set(reasons(seen, "NotTriggerScaleUp")) == {
        "pod didn't trigger scale-up: max total nodes in cluster reached"
    }
    assert len(run.pending) == 12
    _, seen = simulated([deployment("web", 20)], [group()], {"maxNodesPerScaleup": 3}, until="20m")
    counts = [second for second, _ in created(seen)]
    assert (counts[:3], len(counts)) == ([counts[0]] * 3, 5)
    assert counts[3] > counts[0]


def test_similar_events_are_reported_again_after_five_minutes():
    _, seen = simulated([make_pod("huge", cpu="20")], [group()], until="11m")
    seconds = [second for second, reason, _ in seen.events if reason == "NotTriggerScaleUp"]
    assert [later - seconds[0] for later in seconds] in ([0], [0, 300], [0, 300, 600])


def test_new_pods_are_waited_for():
    delayed = {"newPodScaleUpDelay": "2m"}
    _, seen = simulated([deployment("web", 1)], [group()], delayed, until="10m")
    ((second, _),) = created(seen)
    assert 120 + 30 <= second <= 120 + 30 + 20


def test_a_group_that_fails_again_is_in_backoff_for_twice_as_long_up_to_the_limit():
    out = group(outages=[{"start": "0s", "end": "3h"}])
    options = {
        "maxNodeProvisionTime": "1m",
        "initialNodeGroupBackoffDuration": "2m",
        "maxNodeGroupBackoffDuration": "5m",
    }
    _, seen = simulated([deployment("web", 1)], [out], options, until="40m")
    tried = [second for second, reason, note in seen.events if reason == "TriggeredScaleUp"]
    timed_out = [second for second, reason, _ in seen.events if reason == "ScaleUpTimedOut"]
    waits = [later - end for end, later in zip(timed_out, tried[1:], strict=False)]
    assert waits[:3] == [130, 250, 310]
    assert set(waits[2:]) == {310}


def test_an_outage_ends_exactly_at_its_end():
    for end, works in (("10s", True), ("11s", False)):
        out = group(outages=[{"start": "0s", "end": end}])
        _, seen = simulated([deployment("web", 1)], [out], until="3m")
        assert bool(created(seen)) is works


def test_names_of_nodes_are_not_used_twice_and_those_of_others_are_left_out():
    apps = [deployment("web", 4), make_node("a-0", cpu="1m")]
    _, seen = simulated(apps, [group()], QUICK, [scaled(0), scaled(4, "15m")], until="20m")
    assert [name for _, name in created(seen)] == ["a-0", "a-1", "a-2"]
    assert seen.nodes[0] == (0, "+", "a-0"), "that of the input"


def test_least_sizes_are_reached_without_pods_and_only_on_request():
    groups = [group(minSize=2), group("b")]
    _, seen = simulated([], groups, {"enforceNodeGroupMinSize": True}, until="5m")
    assert [name for _, name in created(seen)] == ["a-0", "a-1"]
    _, seen = simulated([], groups, until="5m")
    assert created(seen) == []


# ---------------------------------------------------------------------------- scale-down


def test_pods_that_do_not_leave_keep_their_node_after_the_time_for_evictions():
    budget = decode(
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": "b", "namespace": "default"},
            "spec": {"minAvailable": 3, "selector": {"matchLabels": {"app": "web"}}},
        }
    )
    # The budget allows the disruption until the pods have moved.
    _, seen = simulated([deployment("web", 8), budget], [group()], QUICK, [scaled(3)], until="30m")
    assert not removed(seen)


@pytest.mark.parametrize(("delay", "is_apart"), [("0s", False), ("5m", True)])
def test_removals_wait_after_a_removal(delay, is_apart):
    options = {**QUICK, "scaleDownDelayAfterDelete": delay, "maxScaleDownParallelism": 1}
    _, seen = simulated([deployment("web", 8)], [group()], options, [scaled(0)], until="30m")
    (first, _), (second, _) = removed(seen)
    assert (second - first >= 300) is is_apart


def test_daemon_sets_count_for_the_utilization_unless_they_are_ignored():
    spec = dict(deployment("agent", 0, cpu="3").raw["spec"])
    spec.pop("replicas")
    metadata = {"name": "agent", "namespace": "default"}
    document = {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": metadata}
    objects = [decode({**document, "spec": spec}), deployment("web", 2)]
    for ignored, count in ((False, 0), (True, 2)):
        options = {**QUICK, "ignoreDaemonsetsUtilization": ignored}
        _, seen = simulated(objects, [group()], options, [scaled(0)], until="20m")
        assert len(removed(seen)) == count


@pytest.mark.parametrize(
    ("pool", "is_healthy"),
    [pytest.param("a", True, id="that start"), pytest.param("none", False, id="of no group")],
)
def test_new_nodes_of_groups_that_are_not_ready_start_and_others_are_unhealthy(pool, is_healthy):
    conditions = [{"type": "Ready", "status": "False"}]
    nodes = [make_node(f"n{number}", labels={"pool": pool}) for number in range(4)]
    unready = [
        decode({**node.raw, "status": {**node.raw["status"], "conditions": conditions}})
        for node in nodes
    ]
    options = {"okTotalUnreadyCount": 3, "maxTotalUnreadyPercentage": 45}
    autoscaling = parse_node_groups({"groups": [group()], "options": options}, "")
    lister = Lister()
    scaler = ClusterAutoscaler(lister, autoscaling=autoscaling, scheduler=SchedulerOptions())
    for node in unready:
        created = with_fields(node, "metadata", creation_timestamp="2026-01-01T00:00:00Z")
        lister.put(created)
        scaler.observe(None, created)
    found = scaler.sync("loop", START_NS)
    if not found or isinstance(found[0], SyncAt):
        found = scaler.sync("loop", START_NS + 10 * SECOND_NS)
    reported = [each.reason for each in found if isinstance(each, RecordEvent)]
    assert ("ClusterUnhealthy" in reported) is not is_healthy
