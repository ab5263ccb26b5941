"""Each v1.16 priority by itself: the scores of all nodes, before weights."""

from __future__ import annotations

import json
from typing import Any

import pytest

from podwright.apimachinery.objects import Object, with_fields
from podwright.apimachinery.schema import decode
from podwright.scheduler.classic import ClassicCluster
from podwright.scheduler.classic.failure import SchedulingError
from podwright.scheduler.classic.priorities import (
    REGISTERED,
    CapacityRatio,
    Priority,
    PriorityMetadata,
    ShapePoint,
    capacity_ratio,
    label_preference,
    service_anti_affinity,
)
from podwright.scheduler.classic.priorities.capacity_ratio import broken_line
from podwright.scheduler.classic.priorities.image_locality import image_score, with_tag
from podwright.scheduler.classic.priorities.priority import scale
from podwright.testing import make_node, make_pod

ZONE = "failure-domain.beta.kubernetes.io/zone"
MIB = 1024 * 1024
GPU = "example.com/gpu"


def scores(priority: Priority | str, pod: Any, *objects: Object, hard: int = 1) -> list[int]:
    """Return the scores of the nodes, by name."""
    cluster = ClassicCluster()
    for obj in objects:
        cluster.put(obj)
    rule = REGISTERED[priority] if isinstance(priority, str) else priority
    meta = PriorityMetadata(pod, cluster, hard)
    nodes = sorted(cluster.nodes(), key=lambda node: node.name)
    if rule.function is not None:
        return rule.function(meta, nodes)
    assert rule.prepare is not None
    score = rule.prepare(meta)
    row = [score(node) for node in nodes]
    if rule.reduce is not None:
        rule.reduce(meta, nodes, row)
    return row


# -------------------------------------------------------------------------------- resources


@pytest.mark.parametrize(
    ("pod", "used", "least", "most", "balanced"),
    [
        pytest.param({"cpu": "1", "memory": "1Gi"}, {}, 7, 2, 10, id="a quarter of both"),
        pytest.param({"cpu": "4", "memory": "4Gi"}, {}, 0, 10, 0, id="all of both"),
        pytest.param({"cpu": "5", "memory": "2Gi"}, {}, 2, 2, 0, id="more cpu than there is"),
        pytest.param({"cpu": "2", "memory": "5Gi"}, {}, 2, 2, 0, id="more memory"),
        pytest.param({"cpu": "4", "memory": "0"}, {}, 5, 5, 0, id="all of the cpu"),
        pytest.param({"cpu": "0", "memory": "4Gi"}, {}, 5, 5, 0, id="all of the memory"),
        pytest.param({"cpu": "3", "memory": "1Gi"}, {}, 4, 4, 5, id="half apart"),
        pytest.param(
            {"cpu": "1", "memory": "1Gi"}, {"cpu": "1", "memory": "2Gi"}, 3, 6, 7,
            id="with what is used",
        ),
        # 100m of 4 CPUs and 200 MiB of 4 GiB.
        pytest.param({}, {}, 9, 0, 9, id="without requests"),
        pytest.param({}, {"cpu": "3900m"}, 4, 5, 0, id="without requests beside others"),
    ],
)  # fmt: skip
def test_what_is_left_and_how_even_it_is(
    pod: dict[str, Any], used: dict[str, Any], least: int, most: int, balanced: int
) -> None:
    objects: list[Any] = [make_node("n", cpu="4", memory="4Gi")]
    objects += [make_pod("used", node="n", **used)] if used else []
    found = [
        scores(name, make_pod("p", **pod), *objects)
        for name in (
            "LeastRequestedPriority", "MostRequestedPriority", "BalancedResourceAllocation",
        )
    ]  # fmt: skip
    assert found == [[least], [most], [balanced]]


@pytest.mark.parametrize(("cpu", "memory"), [("4", "1Gi"), ("1", "4Gi"), ("4", "4Gi")])
def test_a_full_node_is_not_balanced(cpu: str, memory: str) -> None:
    node, pod = make_node("n", cpu="4", memory="4Gi"), make_pod("p", cpu=cpu, memory=memory)
    assert scores("BalancedResourceAllocation", pod, node) == [0]


def test_a_node_without_capacity_scores_nothing() -> None:
    node = make_node("n", cpu="0", memory="0")
    pod = make_pod("p", cpu="0", memory="0")
    for name in ("LeastRequestedPriority", "MostRequestedPriority", "BalancedResourceAllocation"):
        assert scores(name, pod, node) == [0]


LINE = (ShapePoint(20, 2), ShapePoint(40, 10), ShapePoint(100, 1))


def test_a_shape_is_constant_outside_its_points_and_truncates_toward_zero() -> None:
    line = broken_line(LINE)
    assert [line(each) for each in (0, 20, 21, 22, 23, 39, 40, 46, 47, 53, 99, 100, 101)] == [
        2, 2, 2, 2, 3, 9, 10, 10, 9, 9, 2, 1, 1,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("resources", "pod", "score"),
    [
        pytest.param((("cpu", 1), ("memory", 1)), {"cpu": "1", "memory": "2Gi"}, 7, id="a mean"),
        pytest.param((("cpu", 3), ("memory", 1)), {"cpu": "1", "memory": "2Gi"}, 7, id="weights"),
        pytest.param((("cpu", 1),), {"cpu": "1"}, 8, id="one resource"),
        pytest.param((("cpu", 1),), {"cpu": "1161m"}, 7, id="what is free is truncated"),
        pytest.param((("cpu", 1),), {"cpu": "5"}, 0, id="more than there is"),
        pytest.param(
            (("cpu", 1), ("memory", 1)), {"cpu": "4", "memory": "2Gi"}, 5, id="zeros do not count"
        ),
        pytest.param(((GPU, 1),), {"resources": {GPU: 1}}, 5, id="an extended resource"),
        pytest.param((("example.com/none", 1),), {}, 0, id="a resource without capacity"),
        pytest.param(
            (("ephemeral-storage", 1),), {"resources": {"ephemeral-storage": "1Gi"}}, 9,
            id="storage",
        ),
        pytest.param((("cpu", 1), (GPU, 1)), {"cpu": "2"}, 8, id="rounded up from a half"),
        pytest.param((("cpu", -1), (GPU, 3)), {"cpu": "1"}, 11, id="a negative weight"),
        pytest.param(
            (("cpu", 3), ("memory", -1)), {"cpu": "3600m", "memory": "3.2Gi"}, 1,
            id="a half is rounded up",
        ),
        pytest.param(
            (("cpu", 3), ("memory", -1)), {"cpu": "3600m", "memory": "1Gi"}, -3,
            id="a half below zero is rounded down",
        ),
    ],
)  # fmt: skip
def test_the_ratio_of_requested_to_capacity(
    resources: tuple[tuple[str, int], ...], pod: dict[str, Any], score: int
) -> None:
    node = make_node(
        "n", cpu="4", memory="4Gi", resources={GPU: 2, "ephemeral-storage": "10Gi"}
    )  # fmt: skip
    shape = (ShapePoint(0, 10), ShapePoint(100, 0))
    rule = capacity_ratio("Ratio", CapacityRatio(shape, resources))
    assert scores(rule, make_pod("p", **pod), node) == [score]


def test_the_ratio_counts_what_the_pods_of_the_node_request() -> None:
    rule = capacity_ratio("Ratio", CapacityRatio(resources=((GPU, 1), ("ephemeral-storage", 1))))
    node = make_node("n", resources={GPU: 4, "ephemeral-storage": "4Gi"})
    used = make_pod("q", node="n", resources={GPU: 1, "ephemeral-storage": "2Gi"})
    assert scores(rule, make_pod("p", resources={GPU: 1}), node, used) == [5]
    assert rule.name == "Ratio"
    assert scores("RequestedToCapacityRatioPriority", make_pod("p", cpu="1", memory="1Gi"),
                  make_node("n", cpu="2", memory="2Gi")) == [5]  # fmt: skip


# ----------------------------------------------------------------------------- node properties


def test_equal_scores_and_preferred_labels() -> None:
    nodes = [make_node("a"), make_node("b", labels={"x": ""})]
    assert scores("EqualPriority", make_pod("p"), *nodes) == [1, 1]
    assert scores(label_preference("L", "x", presence=True), make_pod("p"), *nodes) == [0, 10]
    assert scores(label_preference("L", "x", presence=False), make_pod("p"), *nodes) == [10, 0]


@pytest.mark.parametrize(
    ("row", "straight", "reversed_"),
    [
        ([], [], []),
        ([0, 0], [0, 0], [10, 10]),
        ([1, 0], [10, 0], [0, 10]),
        ([3, 2, 1], [10, 6, 3], [0, 4, 7]),
        ([20, 10], [10, 5], [0, 5]),
    ],
)
def test_rows_are_scaled_by_their_greatest_score(
    row: list[int], straight: list[int], reversed_: list[int]
) -> None:
    one, other = [*row], [*row]
    scale(one, reverse=False)
    scale(other, reverse=True)
    assert (one, other) == (straight, reversed_)


def preferred(*terms: tuple[int, str, Any]) -> dict[str, Any]:
    field = "preferredDuringSchedulingIgnoredDuringExecution"
    listed = [
        {"weight": weight, "preference": {"matchExpressions": [{
            "key": key, "operator": "In" if values else "Exists"} | (
                {"values": values} if values else {})]}}
        for weight, key, values in terms
    ]  # fmt: skip
    return {"affinity": {"nodeAffinity": {field: listed}}}


def test_preferred_node_affinity_adds_the_weights_of_matching_terms() -> None:
    nodes = [make_node("a"), make_node("b", labels={"x": "1"}), make_node("c", labels={"x": "2"})]
    spec = preferred((3, "x", None), (1, "x", ["2"]))
    assert scores("NodeAffinityPriority", make_pod("p", spec=spec), *nodes) == [0, 7, 10]
    assert scores("NodeAffinityPriority", make_pod("p"), *nodes) == [0, 0, 0]
    # Fields of nodes are not read, and a term without expressions matches all of them.
    field = "preferredDuringSchedulingIgnoredDuringExecution"
    by_name = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a"]}]}
    term = {"weight": 5, "preference": by_name}
    spec = {"affinity": {"nodeAffinity": {field: [term]}}}
    assert len({*scores("NodeAffinityPriority", make_pod("p", spec=spec), *nodes)}) == 1


def test_preferred_node_affinity_that_cannot_be_read_ends_the_cycle() -> None:
    spec = preferred((1, "x", ["-"]))
    with pytest.raises(SchedulingError):
        scores("NodeAffinityPriority", make_pod("p", spec=spec), make_node("a"))


def test_taints_that_are_not_tolerated_count_against_a_node() -> None:
    nodes = [
        make_node("a"),
        make_node("b", taints=["x:PreferNoSchedule"]),
        make_node("c", taints=["x:PreferNoSchedule", "y=1:PreferNoSchedule"]),
        make_node("d", taints=["z:NoSchedule"]),
    ]
    for tolerations, found in (
        ([], [10, 5, 0, 10]),
        ([{"key": "x", "operator": "Exists"}], [10, 10, 0, 10]),
        ([{"key": "x", "operator": "Exists", "effect": "PreferNoSchedule"}], [10, 10, 0, 10]),
        ([{"key": "x", "operator": "Exists", "effect": "NoSchedule"}], [10, 5, 0, 10]),
        ([{"operator": "Exists"}], [10, 10, 10, 10]),
    ):
        pod = make_pod("p", spec={"tolerations": tolerations})
        assert scores("TaintTolerationPriority", pod, *nodes) == found, tolerations


@pytest.mark.parametrize(
    ("image", "name"),
    [
        ("app", "app:latest"),
        ("app:1", "app:1"),
        ("r:5000/app", "r:5000/app:latest"),
        ("r:5000/app:1", "r:5000/app:1"),
    ],
)
def test_an_image_without_a_tag_is_the_latest(image: str, name: str) -> None:
    assert with_tag(image) == name


def test_images_score_by_their_size_and_by_how_many_nodes_have_them() -> None:
    assert [image_score(each * MIB) for each in (0, 22, 23, 121, 1000, 1001)] == [
        0,
        0,
        0,
        1,
        10,
        10,
    ]
    assert image_score(1000 * MIB - 1) == 9
    containers = [{"name": name, "image": f"{name}:1"} for name in "xy"]
    pod = make_pod("p", spec={"containers": containers})
    nodes = [
        make_node("a", images={"x:1": "1000Mi", "y:1": "1000Mi"}),
        make_node("b", images={"x:1": "1000Mi"}),
        make_node("c", images={"z:1": "1000Mi"}),
        make_node("d"),
    ]
    latest = make_pod("q", spec={"containers": [{"name": "v", "image": "v"}]})
    tagged = make_node("a", images={"v:latest": "500Mi"})
    assert scores("ImageLocalityPriority", latest, tagged) == [4]
    # x is on 2 of 4 nodes and counts a half, y a quarter.
    assert scores("ImageLocalityPriority", pod, *nodes) == [7, 4, 0, 0]
    assert scores("ImageLocalityPriority", make_pod("q"), *nodes) == [0, 0, 0, 0]


# ------------------------------------------------------------------------------- other pods


def service(name: str, **selector: str) -> Any:
    metadata = {"name": name, "namespace": "default"}
    document = {"apiVersion": "v1", "kind": "Service", "metadata": metadata}
    return decode(document | {"spec": {"selector": selector}})


def placed(*nodes: str, **fields: Any) -> list[Any]:
    values = {"labels": {"app": "web"}} | fields
    return [make_pod(f"{values['labels']}{number}{node}", node=node, **values)
            for number, node in enumerate(nodes)]  # fmt: skip


def in_zones(**zones: str) -> list[Any]:
    return [make_node(name, labels={ZONE: zone} if zone else {}) for name, zone in zones.items()]


WEB = make_pod("p", labels={"app": "web"})


@pytest.mark.parametrize(
    ("nodes", "pods", "found"),
    [
        pytest.param(in_zones(a="", b=""), [], [10, 10], id="none of them"),
        pytest.param(in_zones(a="", b="", c=""), placed("a", "a", "b"), [0, 5, 10], id="counts"),
        pytest.param(
            in_zones(a="z1", b="z1", c="z2", d=""), placed("a", "a", "c"), [0, 3, 5, 10],
            id="two thirds are those of the zone",
        ),
        pytest.param(
            in_zones(a="z", b="", c=""), placed("b", "b"), [10, 0, 10], id="a zone without any",
        ),
        pytest.param(
            in_zones(a="z1", b="z2", c=""), placed("a", "c", "c"), [1, 10, 0],
            id="nodes without a zone are no zone",
        ),
        pytest.param(
            in_zones(a="", b=""), placed("a", labels={"app": "db"}), [10, 10], id="others"
        ),
        pytest.param(
            in_zones(a="", b=""), placed("a", namespace="other"), [10, 10], id="another namespace"
        ),
        pytest.param(
            in_zones(a="", b=""),
            [with_fields(each, "metadata", deletion_timestamp="2026-01-01T00:00:00Z")
             for each in placed("a")], [10, 10], id="pods that are being deleted",
        ),
    ],
)  # fmt: skip
def test_the_pods_of_a_service_are_spread(nodes: Any, pods: Any, found: list[int]) -> None:
    objects = [*nodes, *pods, service("s", app="web")]
    assert scores("SelectorSpreadPriority", WEB, *objects) == found
    assert scores("ServiceSpreadingPriority", WEB, *objects) == found
    assert scores("SelectorSpreadPriority", WEB, *nodes, *pods) == [10] * len(nodes)


def test_a_pod_of_two_services_is_spread_from_pods_of_both() -> None:
    nodes = in_zones(a="", b="")
    pods = placed("a") + placed("b", labels={"app": "web", "tier": "x"})
    objects = [*nodes, *pods, service("s", app="web"), service("t", tier="x")]
    both = make_pod("p", labels={"app": "web", "tier": "x"})
    assert scores("SelectorSpreadPriority", both, *objects) == [10, 0]
    assert scores("SelectorSpreadPriority", WEB, *objects) == [0, 0]


def test_the_pods_of_a_service_are_spread_over_the_values_of_a_label() -> None:
    racks = {"a": "1", "b": "1", "c": "2", "d": "", "e": "3"}
    nodes = [make_node(name, labels={"rack": rack} if rack else {}) for name, rack in racks.items()]
    rule = service_anti_affinity("S", "rack")
    pods = placed("a", "b", "c", "d")
    objects = [*nodes, *pods, service("s", app="web")]
    # Two of four in rack 1, one in rack 2; the node without the label is never preferred.
    assert scores(rule, WEB, *objects) == [5, 5, 7, 0, 10]
    assert scores(rule, WEB, *nodes, *pods) == [10, 10, 10, 0, 10]


def term(kind: str, app: str, weight: int = 0, key: str = "zone") -> dict[str, Any]:
    inner = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}}
    if not weight:
        return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [inner]}}}
    listed = [{"weight": weight, "podAffinityTerm": inner}]
    return {"affinity": {kind: {"preferredDuringSchedulingIgnoredDuringExecution": listed}}}


ZONES = [make_node(name, labels={"zone": name[0]}) for name in ("a1", "a2", "b1")] + [
    make_node("x")
]


@pytest.mark.parametrize(
    ("spec", "others", "hard", "found"),
    [
        pytest.param({}, [("a1", {})], 1, [0, 0, 0, 0], id="nothing is preferred"),
        pytest.param(term("podAffinity", "o", 5), [("a1", {})], 1, [10, 10, 0, 0], id="near"),
        pytest.param(
            term("podAffinity", "o", 5), [("a1", {}), ("b1", {}), ("b1", {})], 1, [5, 5, 10, 0],
            id="near more of them",
        ),
        pytest.param(
            term("podAntiAffinity", "o", 5), [("a1", {})], 1, [0, 0, 10, 10], id="away"
        ),
        pytest.param(term("podAffinity", "z", 5), [("a1", {})], 1, [0, 0, 0, 0], id="no such pod"),
        pytest.param(
            {}, [("a1", term("podAffinity", "p", 5))], 1, [10, 10, 0, 0], id="others prefer it"
        ),
        pytest.param(
            {}, [("a1", term("podAffinity", "z", 5)), ("b1", term("podAffinity", "z"))], 1,
            [0, 0, 0, 0], id="others prefer and require another one",
        ),
        pytest.param(
            {}, [("a1", term("podAntiAffinity", "p", 5))], 1, [0, 0, 10, 10], id="others avoid it"
        ),
        pytest.param(
            {}, [("a1", term("podAffinity", "p"))], 1, [10, 10, 0, 0], id="others require it"
        ),
        pytest.param(
            {}, [("a1", term("podAffinity", "p")), ("b1", term("podAffinity", "p", 10))], 5,
            [5, 5, 10, 0], id="the weight of what others require",
        ),
        pytest.param(
            {}, [("a1", term("podAffinity", "p", 4)), ("b1", term("podAntiAffinity", "p", 2))], 1,
            [10, 10, 0, 3], id="both have their weights",
        ),
        pytest.param(
            {}, [("a1", term("podAntiAffinity", "p"))], 1, [0, 0, 0, 0],
            id="what others forbid is a predicate's",
        ),
        pytest.param(
            term("podAffinity", "o", 5, key="rack"), [("a1", {})], 1, [0, 0, 0, 0],
            id="a label that no node has",
        ),
        pytest.param(
            term("podAffinity", "o", 5), [("x", {})], 1, [0, 0, 0, 0],
            id="on a node without the label",
        ),
        pytest.param(
            {}, [("a1", term("podAffinity", "p", 5)), ("a2", term("podAntiAffinity", "p", 5))], 1,
            [0, 0, 0, 0], id="one zone, as much as it is avoided",
        ),
        pytest.param(
            {}, [("gone", term("podAffinity", "p", 5))], 1, [0, 0, 0, 0],
            id="others on a node that is gone",
        ),
        pytest.param(
            {}, [("gone", term("podAffinity", "p", 9)), ("b1", term("podAffinity", "p", 5))], 1,
            [0, 0, 10, 0], id="and on one that is there",
        ),
        pytest.param(
            term("podAffinity", "o", 5), [("gone", {}), ("b1", {})], 1, [0, 0, 10, 0],
            id="near those whose node is there",
        ),
        pytest.param(
            term("podAntiAffinity", "o", 5), [(name, {}) for name in ("a1", "b1", "x")], 1,
            [0, 0, 0, 10], id="away from each zone alike",
        ),
    ],
)  # fmt: skip
def test_preferred_affinity_between_pods(
    spec: Any, others: Any, hard: int, found: list[int]
) -> None:
    pods = [
        make_pod(f"o{number}", labels={"app": "o"}, node=node, spec=other)
        for number, (node, other) in enumerate(others)
    ]
    pod = make_pod("p", labels={"app": "p"}, spec=spec)
    assert scores("InterPodAffinityPriority", pod, *ZONES, *pods, hard=hard) == found


# ---------------------------------------------------------------------------- avoided pods

ANNOTATION = "scheduler.alpha.kubernetes.io/preferAvoidPods"


def avoiding(*controllers: Any) -> Any:
    entries = [{"podSignature": {"podController": each}} for each in controllers]
    text = json.dumps({"preferAvoidPods": entries})
    return with_fields(make_node("n"), "metadata", annotations={ANNOTATION: text})


def owned(kind: str, uid: str = "u", *, is_controller: bool = True) -> Any:
    reference = {
        "apiVersion": "v1", "kind": kind, "name": "o", "uid": uid, "controller": is_controller,
    }  # fmt: skip
    metadata = {"name": "p", "namespace": "default", "ownerReferences": [reference]}
    spec = {"containers": [{"name": "c", "image": "i"}]}
    return decode({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})


@pytest.mark.parametrize(
    ("pod", "node", "score"),
    [
        (owned("ReplicaSet"), avoiding({"kind": "ReplicaSet", "uid": "u"}), 0),
        (
            owned("ReplicationController"),
            avoiding({"kind": "X"}, {"kind": "ReplicationController", "uid": "u"}), 0,
        ),
        (owned("ReplicaSet"), avoiding({"kind": "ReplicaSet", "uid": "v"}), 10),
        (owned("ReplicaSet"), avoiding({"kind": "ReplicationController", "uid": "u"}), 10),
        (owned("Job"), avoiding({"kind": "Job", "uid": "u"}), 10),
        (
            owned("ReplicaSet", is_controller=False), avoiding({"kind": "ReplicaSet", "uid": "u"}),
            10,
        ),
        (make_pod("p"), avoiding({"kind": "ReplicaSet", "uid": "u"}), 10),
        (owned("ReplicaSet"), make_node("n"), 10),
        (owned("ReplicaSet", ""), avoiding({"kind": "ReplicaSet"}), 0),
        (owned("ReplicaSet"), avoiding(None), 10),
        (owned("ReplicaSet"), avoiding({"kind": 1, "uid": "u"}), 10),
        (
            owned("ReplicaSet"),
            with_fields(make_node("n"), "metadata", annotations={ANNOTATION: "{"}), 10,
        ),
        (
            owned("ReplicaSet"),
            with_fields(make_node("n"), "metadata", annotations={
                ANNOTATION: '{"preferAvoidPods": [{}]}'}), 10,
        ),
        (
            owned("ReplicaSet"),
            with_fields(make_node("n"), "metadata", annotations={ANNOTATION: "{}"}), 10,
        ),
    ],
)  # fmt: skip
def test_nodes_that_prefer_to_avoid_the_pods_of_a_controller(
    pod: Any, node: Any, score: int
) -> None:
    assert scores("NodePreferAvoidPodsPriority", pod, node) == [score]


def test_pods_whose_domain_no_node_has_do_not_count_for_affinity() -> None:
    term = {
        "weight": 5,
        "podAffinityTerm": {
            "topologyKey": "rack", "labelSelector": {"matchLabels": {"app": "db"}},
        },
    }  # fmt: skip
    affinity = {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [term]}}
    pod = make_pod("p", spec={"affinity": affinity})
    nodes = [make_node(name, labels={"rack": rack}) for name, rack in (("a", "1"), ("b", "2"))]
    bare = make_node("c")
    there, removed, without = (
        make_pod("db", labels={"app": "db"}, node=name) for name in ("a", "gone", "c")
    )
    assert scores("InterPodAffinityPriority", pod, *nodes, bare, there) == [10, 0, 0]
    for each in (removed, without):
        assert scores("InterPodAffinityPriority", pod, *nodes, bare, each) == [0, 0, 0]
