"""The rules of plans one by one: buying, filling, drains, reviews, stand-ins."""

from __future__ import annotations

from itertools import product
from typing import Any

import msgspec
import numpy as np
import pytest

import podwright as pw
from podwright.apimachinery.objects import (
    InputError,
    LabelSelector,
    ObjectMeta,
    PodDisruptionBudget,
    PodDisruptionBudgetSpec,
    PodDisruptionBudgetStatus,
    decode,
    with_fields,
    with_node_name,
)
from podwright.simulation.capacity import capacity_report, pool_types, read_node_types
from podwright.simulation.capacity.buying import (
    NodePurchase,
    _near,
    _plus,
    _usable,
    least_price,
    purchase_document,
)
from podwright.simulation.capacity.counting import (
    Capacity,
    CapacityQuestion,
    CapacityScope,
    Headroom,
    TemplateCapacity,
)
from podwright.simulation.capacity.drains import (
    BlockedNode,
    DrainPlan,
    DrainStep,
    Move,
    Unfit,
    _has_local_data,
    _remedy,
    moves_of,
)
from podwright.simulation.capacity.filling import CapacityStop, StopReason, fill, is_recreated
from podwright.simulation.capacity.losses import Loss, PendingAfter
from podwright.simulation.capacity.review import _text, capacity_review, review_text
from podwright.simulation.capacity.scaling import ScalingPlan
from podwright.simulation.capacity.stand_ins import with_stand_ins
from podwright.simulation.capacity.templates import Replicas, Template, as_new, templates_of
from podwright.testing import make_node, make_pod

# -------------------------------------------------------------------------------- buying


def test_what_whole_pods_can_use_of_a_node():
    amounts = np.array([[10, 100], [3, 100], [-5, 100]])
    requests = np.array([[4, 10], [3, 20]])
    # At most three, one and no pods, each at most (4, 20), and no more than there is.
    assert _usable(amounts, requests).tolist() == [[10, 60], [3, 20], [0, 0]]
    assert _usable(amounts, requests[:0]).tolist() == [[0, 0]] * 3
    assert _usable(np.array([[10, 7]]), np.array([[5, 0]])).tolist() == [[10, 0]]


def test_mixes_near_a_mix_have_nodes_removed_or_exchanged():
    assert _plus((1, 2, 3), 1, 4) == (1, 6, 3)
    found = set(_near((6, 0)))
    removed = {(5, 0), (4, 0), (3, 0), (6, -1), (6, -2)}
    exchanged = {(6 - less, more) for less, more in product((1, 2, 3), (1, 2))}
    back = {(6 + more, -less) for less, more in product((1, 2, 3), (1, 2))}
    assert found == removed | exchanged | back


@pytest.mark.parametrize("seed", range(6))
def test_no_mix_of_nodes_is_cheaper_than_the_bound(seed):
    draw = np.random.default_rng(seed)
    types = [
        pw.NodeType(
            name=f"t{index}", price=float(draw.integers(1, 9)), allocatable={"cpu": "1"},
            max=None if index else 3,
        )
        for index in range(3)
    ]  # fmt: skip
    rows = [([int(n) for n in draw.integers(1, 6, 3)], int(draw.integers(3, 12))) for _ in range(2)]
    bound = least_price(types, rows)
    mixes = (
        sum(t.price * n for t, n in zip(types, counts, strict=True))
        for counts in product(range(13), repeat=3)
        if counts[0] <= 3
        and all(sum(a * n for a, n in zip(of, counts, strict=True)) >= need for of, need in rows)
    )
    assert 0 < bound <= min(mixes) + 1e-9


def test_pools_are_like_their_first_node_without_its_name():
    nodes = [
        make_node("n1", cpu="4", labels={"pool": "a", "x": "y"}, taints=["k=v:NoSchedule"]),
        make_node("n2", cpu="8", labels={"pool": "a"}),
        make_node("n3", cpu="2", labels={"team": "b"}),
    ]
    (found,) = pool_types([*nodes, make_pod("p")])
    assert (found.name, found.price, found.max) == ("a", 1.0, None)
    assert found.allocatable["cpu"] == "4"
    assert found.labels == {"pool": "a", "x": "y"}
    assert [(each["key"], each["value"], each["effect"]) for each in found.taints] == [
        ("k", "v", "NoSchedule")
    ]
    assert [each.name for each in pool_types(nodes, "team")] == ["b"]


def test_a_purchase_as_a_document():
    found = NodePurchase(
        nodes={"b": 2, "a": 1}, price=5.0, bound=4.0, is_cheapest=True, pending=9, scheduled=8,
        unplaced=(CapacityStop(type="Unschedulable", message="why", pod="default/p"),), mixes=7,
    )  # fmt: skip
    types = [pw.NodeType(name=name, price=price) for name, price in (("a", 1.0), ("b", 2.0))]
    assert purchase_document(found, types) == {
        "nodes": [
            {"type": "b", "count": 2, "price": 2.0}, {"type": "a", "count": 1, "price": 1.0},
        ],
        "price": 5.0, "bound": 4.0, "gap": 0.2, "isCheapest": True, "pending": 9, "scheduled": 8,
        "unplaced": [{"pod": "default/p", "failMessage": "why"}], "mixes": 7,
    }  # fmt: skip
    assert repr(found) == "<NodePurchase: 3 nodes for 5>"


def test_names_of_types_and_of_new_nodes_differ():
    with pytest.raises(InputError, match=r"types\[1\]\.name: Duplicate value"):
        read_node_types(
            "types: [{name: a, allocatable: {cpu: 1}}, {name: a, allocatable: {cpu: 1}}]", ""
        )
    old = make_node("small-new-0", cpu="1m")
    small = pw.NodeType(name="small", price=1, allocatable={"cpu": "2", "memory": "4Gi"})
    found = pw.buy_nodes([old, *(make_pod(f"p{n}", cpu="2") for n in range(2))], [small])
    assert [node.name for node in found.added] == ["small-new-1", "small-new-2"]
    assert found.placed == {"default/p0": "small-new-1", "default/p1": "small-new-2"} or (
        set(found.placed.values()) == {"small-new-1", "small-new-2"}
    )


def test_the_cheapest_mix_is_found_also_where_a_large_node_alone_is_dearer():
    types = [
        pw.NodeType(name="large", price=5, allocatable={"cpu": "8", "memory": "99Gi"}),
        pw.NodeType(name="small", price=2, allocatable={"cpu": "3", "memory": "99Gi"}),
    ]
    found = pw.buy_nodes([make_pod(f"p{n}", cpu="3") for n in range(3)], types)
    assert (found.nodes, found.price, found.is_cheapest) == ({"small": 3}, 6.0, True)
    assert (found.pending, found.scheduled, found.unplaced) == (3, 3, ())
    limited = [types[0], msgspec.structs.replace(types[1], max=1)]
    found = pw.buy_nodes([make_pod(f"p{n}", cpu="3") for n in range(3)], limited)
    assert found.nodes == {"large": 1, "small": 1}


# -------------------------------------------------------------------------------- drains


def budget(current, desired, expected, **spec):
    return PodDisruptionBudget(
        metadata=ObjectMeta(name="web", namespace="shop"),
        spec=PodDisruptionBudgetSpec(selector=LabelSelector(), **spec),
        status=PodDisruptionBudgetStatus(
            current_healthy=current, desired_healthy=desired, expected_pods=expected
        ),
    )


NEVER = "budget shop/web never allows an eviction: it needs all of its"


@pytest.mark.parametrize(
    ("given", "remedy"),
    [
        (budget(2, 2, 3), "1 more healthy pod of budget shop/web: it has 2 of 3"),
        (budget(1, 2, 3), "2 more healthy pods of budget shop/web: it has 1 of 3"),
        (budget(3, 3, 3), f"{NEVER} 3 pods; allow one disruption"),
        (budget(3, 3, 3, min_available=3),
         f"{NEVER} 3 pods; allow one disruption, or add a replica"),
        (budget(3, 3, 3, min_available="100%"), f"{NEVER} 3 pods; allow one disruption"),
        (budget(3, 3, 3, min_available="90%"), f"{NEVER} 3 pods; allow one disruption"),
        (budget(3, 3, 3, min_available="75%"),
         f"{NEVER} 3 pods; allow one disruption, or add a replica"),
    ],
)  # fmt: skip
def test_what_would_allow_an_eviction(given, remedy):
    assert _remedy(given) == remedy


def owned(name, node="", owner="ReplicaSet", number=1, **options):
    made = with_node_name(make_pod(name, **options), node)
    reference = {"apiVersion": "apps/v1", "kind": owner, "name": f"o{number}", "uid": f"u{number}"}
    metadata = {**made.raw["metadata"], "uid": name, "ownerReferences": [
        {**reference, "controller": True}]}  # fmt: skip
    return decode({**made.raw, "metadata": metadata})


def test_pods_that_left_are_paired_with_the_new_pods_of_their_owners():
    leaving = [owned("a", "n1", cpu="1"), owned("b", "n1"), owned("c", "n2", number=2),
               with_node_name(make_pod("alone"), "n1")]  # fmt: skip
    leaving.append(with_node_name(make_pod("again"), "n1"))
    after = [owned("x", "n3"), owned("y", number=2), owned("z", "n4", number=3)]
    after += [with_node_name(make_pod(name), "n5") for name in ("other", "again")]
    found = [(move.pod, move.node, move.replacement, move.to) for move in moves_of(leaving, after)]
    assert found == [
        ("default/a", "n1", "default/x", "n3"),
        ("default/b", "n1", "", ""),
        ("default/c", "n2", "default/y", ""),
        ("default/alone", "n1", "", ""),
        ("default/again", "n1", "default/again", "n5"),
    ]
    (move, *_) = moves_of(leaving, [])
    assert move.requests["cpu"] == 1_000


@pytest.mark.parametrize(
    ("volumes", "expected"),
    [([], False), ([{"name": "v", "emptyDir": {}}], True),
     ([{"name": "v", "configMap": {"name": "m"}}, {"name": "w", "emptyDir": {}}], True),
     ([{"name": "v", "hostPath": {"path": "/x"}}], False)],
)  # fmt: skip
def test_local_data_is_lost_with_an_empty_dir(volumes, expected):
    assert _has_local_data(make_pod("p", spec={"volumes": volumes})) is expected


MIRROR = {"kubernetes.io/config.mirror": "x"}


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        (owned("a"), True),
        (owned("a", owner="DaemonSet"), False),
        (make_pod("a"), False),
        (with_fields(owned("a"), "metadata", annotations=MIRROR), False),
    ],
    ids=["of a replica set", "of a daemon set", "alone", "a mirror pod"],
)  # fmt: skip
def test_only_pods_whose_controller_makes_new_ones_are_created_again(pod, expected):
    assert is_recreated(pod) is expected


# ------------------------------------------------------------------------------ counting


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"exclude_nodes": ("n2",)}, "excludeNodes[0]"),
        ({"exclude_nodes": ("n1", "q")}, "excludeNodes[1]"),  # a pod of that name is no node
        ({"max_limit": -1}, "maxLimit"),
        ({"pool_label": "team"}, "poolLabel"),
    ],
)
def test_a_question_that_makes_no_sense_has_its_path(fields, path):
    question = CapacityQuestion(pods=(make_pod("p"),), **fields)
    with pytest.raises(InputError) as raised:
        pw.capacity([make_node("n1", labels={"a": "b"}), make_pod("q", node="n1")], question)
    assert [each.path for each in raised.value.errors] == [path]
    with pytest.raises(InputError, match="the cluster has no nodes"):
        pw.capacity([], make_pod("p"))


def test_pods_are_counted_by_node_zone_and_pool_and_those_of_left_out_nodes_are_gone():
    nodes = [
        make_node(name, cpu=cpu, zone=zone, labels={"pool": pool})
        for name, cpu, zone, pool in (
            ("n1", "4", "a", "x"),
            ("n2", "2", "b", "x"),
            ("n3", "9", "b", "y"),
        )
    ]
    placed = make_pod("old", cpu="1", node="n1")
    question = CapacityQuestion(pods=(make_pod("p", cpu="1"),), exclude_nodes=("n3",))
    found = pw.capacity([*nodes, placed], question)
    (template,) = found.templates
    assert (found.count, found.node_count) == (5, 2)
    assert template.nodes == {"n1": 3, "n2": 2}
    assert (template.zones, template.pools) == ({"a": 3, "b": 2}, {"x": 5})
    assert repr(found) == "<Capacity: 5 pods on 2 nodes>"
    lost = pw.capacity([*nodes, placed], CapacityQuestion(loss=("zone", "pool")))
    assert {(each.of, each.name, each.nodes) for each in lost.losses} == {
        ("zone", "a", 1), ("zone", "b", 2), ("pool", "x", 2), ("pool", "y", 1),
    }  # fmt: skip


def test_headroom_of_a_controller_without_a_template_is_that_of_its_pods():
    metadata = {"name": "o1", "namespace": "default", "uid": "u1"}
    cluster = decode({"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": metadata})
    pods = [owned(name, "n1", owner="RayCluster", cpu="1") for name in "ab"]
    found = pw.capacity([make_node("n1", cpu="5"), cluster, *pods], CapacityQuestion(headroom=True))
    assert [(each.kind, each.key, each.running, each.count) for each in found.headroom] == [
        ("RayCluster", "default/o1", 2, 3)
    ]


def test_static_pods_are_neither_created_again_nor_gone():
    static = with_fields(make_pod("static", node="n1"), "metadata", annotations=MIRROR)
    pods = [static, make_pod("alone", node="n1"), owned("a", "n1"), owned("b", "n2")]
    question = CapacityQuestion(loss=("node",))
    found = pw.capacity([make_node("n1"), make_node("n2"), *pods], question)
    assert {each.name: (each.recreated, each.gone) for each in found.losses} == {
        "n1": (1, ("default/alone",)), "n2": (1, ()),
    }  # fmt: skip


@pytest.mark.parametrize(("expands", "expected"), [(True, (2, 1)), (False, (0, 3))])
def test_pods_of_the_workloads_of_the_cluster_are_counted_if_they_are_expanded(expands, expected):
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [container]}}
    spec = {"replicas": 2, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    metadata = {"name": "w", "namespace": "default"}
    workload = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}
    cluster, pod = [make_node("n1", cpu="3"), decode(workload)], make_pod("p", cpu="1")
    found = pw.capacity(cluster, pod, expands_workloads=expands)
    assert (found.pending_scheduled, found.count) == expected


def test_the_smallest_headroom_is_the_first_and_counts_each_workload_alone():
    nodes = [make_node("n1", cpu="10")]
    pods = [
        owned("a", "n1", cpu="1"),
        owned("b", "n1", cpu="1"),
        owned("c", "n1", number=2, cpu="3"),
    ]
    found = pw.capacity(
        [*nodes, *pods, make_pod("alone", node="n1")], CapacityQuestion(headroom=True)
    )
    assert [(each.key, each.running, each.count) for each in found.headroom] == [
        ("default/o2", 1, 1), ("default/o1", 2, 5),
    ]  # fmt: skip


# ------------------------------------------------------------------------------- reviews


@pytest.mark.parametrize(
    ("name", "amount", "text"),
    [
        ("cpu", 1_500, "1500m"), ("cpu", 2_000, "2"), ("memory", 1 << 30, "1Gi"),
        ("memory", 1_000, "1k"), ("memory", 1_536, "1536"), ("memory", 512 << 10, "512Ki"),
    ],
)  # fmt: skip
def test_amounts_of_a_review_are_as_kubernetes_writes_them(name, amount, text):
    assert _text(name, amount) == text


def test_a_review_has_what_stopped_the_pod_that_was_stopped():
    nodes = [make_node("n1", cpu="2")]
    pods = [make_pod("a", cpu="1", gpu=0, node_selector={}), make_pod("b", cpu="1", memory="1Gi")]
    found = pw.capacity(nodes, pods)
    review = capacity_review(found, max_limit=7, now="2026-01-01T00:00:00Z")
    status, spec = review["status"], review["spec"]
    assert (review["kind"], spec["replicas"]) == ("ClusterCapacityReview", 7)
    assert set(spec) == {"templates", "replicas", "podRequirements"}
    templates = [
        (each["kind"], each["metadata"]["name"], each["spec"]) for each in spec["templates"]
    ]
    assert templates == [("Pod", pod.name, pod.raw["spec"]) for pod in pods]
    assert (status["creationTimestamp"], status["replicas"], status["nodes"]) == (
        "2026-01-01T00:00:00Z", 2, 1,
    )  # fmt: skip
    assert status["failReason"]["failType"] == "Unschedulable"
    assert [each["replicas"] for each in status["pods"]] == [1, 1]
    stopped = [each["failSummary"] for each in status["pods"]]
    assert stopped == [[{"reason": "Insufficient cpu", "count": 1}], None]
    assert spec["podRequirements"][1]["resources"] == {
        "primaryResources": {"cpu": "1", "memory": "1Gi"}, "scalarResources": None,
    }  # fmt: skip
    assert "evicted" not in status
    lines = list(review_text(review))
    assert lines[:3] == ["a pod requirements:", "\t- CPU: 1", "\t- Memory: 0"]
    assert "The cluster can schedule 1 instance(s) of the pod b." in lines
    assert "fit failure summary on nodes: Insufficient cpu (1), " in lines
    assert lines[lines.index("Pod distribution among nodes:") + 1 :] == [
        "a", "\t- n1: 1 instance(s)", "b", "\t- n1: 1 instance(s)",
    ]  # fmt: skip


def test_a_review_of_nothing_and_of_a_preemption():
    review = capacity_review(Capacity(node_count=3))
    assert review["status"] == {
        "creationTimestamp": None, "replicas": 0, "failReason": None, "pods": [], "sets": 0,
        "nodes": 3, "pending": {"scheduled": 0, "unscheduled": 0},
    }  # fmt: skip
    stop = CapacityStop(
        type="Unschedulable", message="m", nominated_node="n1", victims=("default/v",),
        reasons=(StopReason(reason="r", plugin="p", nodes=2),),
    )  # fmt: skip
    status = capacity_review(Capacity(node_count=1, stop=stop, evicted=("default/x",)))["status"]
    assert status["preemption"] == {"node": "n1", "victims": ["default/v"]}
    assert status["evicted"] == ["default/x"]
    spec = {
        "podName": "p",
        "nodeSelectors": {"b": "c", "a": "d"},
        "resources": {
            "primaryResources": {"cpu": "0", "memory": "0"},
            "scalarResources": {"y/z": 1, "x/y": 2},
        },
    }
    text = review_text(
        {"spec": {"podRequirements": [spec]}, "status": {
            "pods": [], "failReason": None, "replicas": 0}}
    )  # fmt: skip
    assert list(text) == [
        "p pod requirements:", "\t- CPU: 0", "\t- Memory: 0",
        "\t- ScalarResources: map[x/y:2 y/z:1]", "\t- NodeSelector: a=d,b=c", "",
    ]  # fmt: skip


# ----------------------------------------------------------------------------- stand-ins


def stand_in(*pods):
    (found,) = (obj for obj in with_stand_ins(pods) if obj.kind != "Pod")
    return found


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("ReplicaSet", {"replicas": 2}),
        ("Job", {"parallelism": 2, "completions": 2, "backoffLimit": 2**31 - 1,
                 "manualSelector": True}),
        ("DaemonSet", {"updateStrategy": {"type": "OnDelete"}}),
    ],
)  # fmt: skip
def test_a_missing_owner_of_pods_has_a_stand_in_with_their_common_labels(kind, expected):
    pods = [
        owned(name, "n1", owner=kind, labels={"app": "web", "own": name,
                                              "controller-revision-hash": "x"})
        for name in "ab"
    ]  # fmt: skip
    found: Any = stand_in(*pods)
    assert (found.kind, found.key, found.uid) == (kind, "default/o1", "u1")
    spec = found.raw["spec"]
    assert spec["selector"] == {"matchLabels": {"app": "web"}}
    assert spec["template"]["metadata"]["labels"] == {"app": "web"}
    assert "nodeName" not in spec["template"]["spec"]
    assert {name: spec.get(name) for name in expected} == expected


def test_no_stand_in_for_owners_that_exist_and_pods_that_ended():
    ended = with_fields(owned("a"), "status", phase="Succeeded")
    others = [ended, owned("b", owner="Custom", number=2), make_pod("c")]
    assert [obj.kind for obj in with_stand_ins(others)] == ["ReplicaSet", *["Pod"] * 3]


def test_a_stand_in_of_a_stateful_set_has_its_ordinals_and_claims():
    claim = {"name": "data", "persistentVolumeClaim": {"claimName": "data-db-3"}}
    shared = {"name": "other", "persistentVolumeClaim": {"claimName": "other"}}
    pods = [
        owned("db-3", "n1", owner="StatefulSet", spec={"volumes": [claim, shared]}),
        owned("db-5", "n1", owner="StatefulSet"),
    ]
    spec = stand_in(*pods).raw["spec"]
    assert (spec["replicas"], spec["ordinals"]) == (3, {"start": 3})
    assert [each["metadata"]["name"] for each in spec["volumeClaimTemplates"]] == ["data"]
    assert spec["template"]["spec"]["volumes"] == [shared]
    assert spec["updateStrategy"] == {"type": "OnDelete"}
    assert spec["podManagementPolicy"] == "Parallel"


def test_a_stand_in_of_a_daemon_set_is_for_the_nodes_that_have_its_pods():
    pods = [
        owned(name, node, owner="DaemonSet") for name, node in (("a", "n2"), ("b", "n1"), ("c", ""))
    ]
    spec = stand_in(*pods).raw["spec"]["template"]["spec"]
    required = spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert [
        (field["key"], field["operator"], field["values"])
        for term in required["nodeSelectorTerms"]
        for field in term["matchFields"]
    ] == [("metadata.name", "In", ["n1"]), ("metadata.name", "In", ["n2"])]


# ----------------------------------------------------------------------------- templates


def test_a_template_is_as_a_user_would_create_it():
    given = make_pod("x")
    metadata = {"generateName": "web-", "uid": "u", "resourceVersion": "7"}
    found = as_new(decode({**given.raw, "metadata": metadata}))
    assert (found.key, found.uid, found.metadata.resource_version) == ("default/web", "", "")
    named = as_new(decode({**given.raw, "metadata": {"name": "a", "namespace": "team"}}))
    assert named.key == "team/a"
    nameless = as_new(decode({**given.raw, "metadata": {}}))
    assert nameless.name == "pod"


def test_the_pods_of_a_template_have_the_names_that_their_controller_gives_them():
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [container]}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template, "serviceName": "s"}
    metadata = {"name": "db", "namespace": "default"}
    workload = {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": metadata, "spec": spec}
    found = pw.capacity([make_node("n1", cpu="2")], decode(workload))
    assert found.stop is not None
    assert (found.count, found.stop.pod) == (2, "default/db-2")
    alone = pw.capacity([make_node("n1", cpu="2")], make_pod("web", cpu="1"))
    assert alone.stop is not None
    assert (alone.count, alone.stop.pod) == (2, "default/web-2")


@pytest.mark.parametrize(
    ("kind", "counts", "weight"),
    [
        ("Job", {"parallelism": 3, "completions": 7}, 3),
        ("Job", {"completions": 7}, 1),
        ("Deployment", {"replicas": 4}, 4),
        ("Deployment", {"replicas": 0}, 1),
        ("Deployment", {}, 1),
    ],
)
def test_a_set_has_as_many_pods_of_a_workload_as_it_runs_at_once(kind, counts, weight):
    container = {"name": "c", "image": "i"}
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [container]}}
    metadata = {"name": "w", "namespace": "default"}
    api = "batch/v1" if kind == "Job" else "apps/v1"
    document = {"apiVersion": api, "kind": kind, "metadata": metadata}
    workload = decode({**document, "spec": {"template": template, **counts}})
    assert [each.weight for each in templates_of([workload, make_pod("p")])] == [weight, 1]
    assert [each.weight for each in templates_of([workload])] == [1], "alone it is counted by one"
    assert [each.weight for each in templates_of([workload], (5,))] == [5]


def test_filling_has_no_limit_unless_one_is_given():
    scheduler = pw.Scheduler()
    scheduler.add(make_node("n1", cpu="3"))
    found = fill(scheduler, [Replicas(scheduler, Template(make_pod("p", cpu="1")))])
    assert (found.nodes, found.stop.type, found.stopped_source) == (
        ({"n1": 3},),
        "Unschedulable",
        0,
    )


@pytest.mark.parametrize(
    "struct",
    [
        BlockedNode, Capacity, CapacityQuestion, CapacityScope, CapacityStop, DrainPlan, DrainStep,
        Headroom, Loss, Move, NodePurchase, PendingAfter, ScalingPlan, StopReason, TemplateCapacity,
        Unfit,
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


# ------------------------------------------------------------------------------- reports


@pytest.mark.parametrize(
    ("pods", "fields", "present", "absent"),
    [
        ([], {"headroom": True}, "No workload of the cluster has pods on nodes.", "No more pods"),
        ([owned("a", "n1", cpu="1")], {"headroom": True},
         "No more pods of these workloads fit: replicaset/default/o1.", "No workload"),
        ([], {"loss": ("zone", "pool")}, "No node has a label that names its zone or pool.",
         "No pod is pending"),
        ([], {"pods": tuple(make_pod(name, cpu="1") for name in "pq")}, "(0 sets).", "No workload"),
        ([make_pod("old", cpu="1")], {"pods": (make_pod("p", cpu="1"),)},
         "1 of 1 pending pods of the cluster were scheduled before.", "evicted"),
    ],
)  # fmt: skip
def test_the_findings_of_a_report(pods, fields, present, absent):
    question = CapacityQuestion(**fields)
    found = pw.capacity([make_node("n1", cpu="1"), *pods], question)
    text = capacity_report(found, question).html()
    assert present in text
    assert absent not in text


def test_a_report_says_what_preemption_would_evict_and_has_evicted():
    low = make_pod("low", cpu="1", priority=1, node="n1")
    high = make_pod("high", cpu="1", priority=9)
    for preemption, text in (
        (False, "Preemption would evict default/low from n1: --preemption."),
        (True, "1 pods of lower priority are evicted."),
    ):
        question = CapacityQuestion(pods=(high,), preemption=preemption)
        found = pw.capacity([make_node("n1", cpu="1"), low], question)
        assert text in capacity_report(found, question).html()
