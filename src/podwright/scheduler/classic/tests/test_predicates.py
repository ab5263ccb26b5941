"""Each v1.16 predicate by itself: the nodes that it rejects, with its reasons."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.objects import with_fields
from podwright.scheduler.classic import ClassicCluster
from podwright.scheduler.classic.failure import is_unresolvable
from podwright.scheduler.classic.predicates import REGISTERED, PredicateMetadata
from podwright.scheduler.classic.predicates.label_presence import label_presence
from podwright.scheduler.classic.predicates.predicate import PairTable
from podwright.scheduler.classic.tests.single_predicates import rejected
from podwright.testing import make_node, make_pod

ZONE, REGION = "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region"


def insufficient(*names: str) -> dict[str, list[str]]:
    return {"n": [f"Insufficient {name}" for name in names]}


GPU = "example.com/gpu"


@pytest.mark.parametrize(
    ("pod", "used", "lacking"),
    [
        pytest.param({"cpu": "2"}, {}, (), id="exactly what there is"),
        pytest.param({"cpu": "2001m"}, {}, ("cpu",), id="a milli-core more"),
        pytest.param({"cpu": "1"}, {"cpu": "1001m"}, ("cpu",), id="with what is used"),
        pytest.param({"memory": "1Gi"}, {"memory": "1025Mi"}, ("memory",), id="memory"),
        pytest.param({"memory": "1Gi"}, {"memory": "1Gi"}, (), id="all of the memory"),
        pytest.param(
            {"resources": {"ephemeral-storage": "6Gi"}}, {}, ("ephemeral-storage",), id="storage"
        ),
        pytest.param({"resources": {"ephemeral-storage": "5Gi"}}, {}, (), id="all of the storage"),
        pytest.param(
            {"resources": {"ephemeral-storage": "3Gi"}},
            {"resources": {"ephemeral-storage": "3Gi"}}, ("ephemeral-storage",),
            id="storage with what is used",
        ),
        pytest.param({"resources": {GPU: "2"}}, {}, (), id="an extended resource"),
        pytest.param({"resources": {GPU: "2"}}, {"resources": {GPU: "1"}}, (GPU,), id="one less"),
        pytest.param(
            {"resources": {"example.com/x": "1", "example.com/a": "1"}}, {},
            ("example.com/a", "example.com/x"), id="unknown ones by name",
        ),
        pytest.param({"resources": {"example.com/x": "0"}}, {}, (), id="none of an unknown one"),
        pytest.param(
            {"cpu": "3", "memory": "3Gi", "resources": {"ephemeral-storage": "6Gi", GPU: "3"}}, {},
            ("cpu", "memory", "ephemeral-storage", GPU), id="all of them in order",
        ),
        pytest.param({}, {"cpu": "9", "memory": "9Gi"}, (), id="nothing on a node that is full"),
        pytest.param(
            {"resources": {GPU: "0"}}, {"cpu": "9"}, ("cpu",), id="none of one is a request"
        ),
    ],
)  # fmt: skip
def test_resources(pod: dict[str, Any], used: dict[str, Any], lacking: tuple[str, ...]) -> None:
    node = make_node(
        "n", cpu="2", memory="2Gi", resources={"ephemeral-storage": "5Gi", GPU: "2"}, pods=3
    )
    taken = [make_pod("used", node="n", **used)] if used else []
    expected = insufficient(*lacking) if lacking else {}
    assert rejected("PodFitsResources", make_pod("p", **pod), node, *taken) == expected


def test_the_number_of_pods_comes_before_the_amounts() -> None:
    full = [make_pod(f"p{number}", node="n", cpu="1") for number in range(2)]
    node = make_node("n", cpu="2", pods=2)
    assert rejected("PodFitsResources", make_pod("x"), node, *full) == insufficient("pods")
    both = insufficient("pods", "cpu")
    assert rejected("PodFitsResources", make_pod("x", cpu="1"), node, *full) == both
    assert rejected("PodFitsResources", make_pod("x"), node, full[0]) == {}
    # The last place is one.
    assert rejected("PodFitsResources", make_pod("x", cpu="3"), node, full[0]) == insufficient(
        "cpu"
    )


def test_resources_that_an_extender_manages_are_not_compared() -> None:
    pod = make_pod("p", resources={GPU: "1", "example.com/x": "1"})
    found = rejected("PodFitsResources", pod, make_node("n"), ignored=GPU)
    assert found == insufficient("example.com/x")


def with_init(cpu: str, **fields: Any) -> Any:
    container = {"name": "i", "image": "i", "resources": {"requests": {"cpu": cpu} | fields}}
    return make_pod("p", cpu="1", spec={"initContainers": [container, container]})


@pytest.mark.parametrize(
    ("pod", "is_rejected"),
    [
        (with_init("2"), False),
        (with_init("2001m"), True),
        (with_init("500m", memory="3Gi"), True),
        (with_init("500m", memory="2Gi"), False),
        (with_init("1", **{"ephemeral-storage": "6Gi"}), True),
        (with_init("1", **{GPU: "3"}), True),
        (with_init("1", **{GPU: "2"}), False),
    ],
)
def test_the_largest_init_container_counts_alone(pod: Any, is_rejected: bool) -> None:
    node = make_node("n", cpu="2", memory="2Gi", resources={"ephemeral-storage": "5Gi", GPU: "2"})
    assert bool(rejected("PodFitsResources", pod, node)) is is_rejected


# --------------------------------------------------------------------- nodes that are accepted


@pytest.mark.parametrize(
    ("predicate", "spec", "node", "reason"),
    [
        ("HostName", {}, {}, ""),
        ("HostName", {"nodeName": "n"}, {}, ""),
        ("HostName", {"nodeName": "m"}, {}, "node(s) didn't match the requested hostname"),
        ("CheckNodeUnschedulable", {}, {}, ""),
        ("CheckNodeUnschedulable", {}, {"unschedulable": True}, "node(s) were unschedulable"),
        (
            "CheckNodeUnschedulable",
            {"tolerations": [{"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}]},
            {"unschedulable": True}, "",
        ),
        (
            "CheckNodeUnschedulable",
            {"tolerations": [{"key": "node.kubernetes.io/unschedulable", "operator": "Exists",
                              "effect": "NoExecute"}]},
            {"unschedulable": True}, "node(s) were unschedulable",
        ),
        ("PodToleratesNodeTaints", {}, {}, ""),
        ("PodToleratesNodeTaints", {}, {"taints": ["k:PreferNoSchedule"]}, ""),
        (
            "PodToleratesNodeTaints", {}, {"taints": ["k=v:NoSchedule"]},
            "node(s) had taints that the pod didn't tolerate",
        ),
        (
            "PodToleratesNodeTaints", {}, {"taints": ["k=v:NoExecute"]},
            "node(s) had taints that the pod didn't tolerate",
        ),
        (
            "PodToleratesNodeTaints", {"tolerations": [{"key": "k", "value": "v"}]},
            {"taints": ["k=v:NoSchedule", "k=v:NoExecute"]}, "",
        ),
        (
            "PodToleratesNodeTaints", {"tolerations": [{"key": "k", "value": "w"}]},
            {"taints": ["k=v:NoSchedule"]}, "node(s) had taints that the pod didn't tolerate",
        ),
        ("MatchNodeSelector", {}, {}, ""),
        ("MatchNodeSelector", {"nodeSelector": {"a": "b"}}, {"labels": {"a": "b"}}, ""),
        (
            "MatchNodeSelector", {"nodeSelector": {"a": "b"}}, {"labels": {"a": "c"}},
            "node(s) didn't match node selector",
        ),
    ],
)  # fmt: skip
def test_nodes_that_a_pod_accepts(
    predicate: str, spec: dict[str, Any], node: dict[str, Any], reason: str
) -> None:
    pod = make_pod("p", spec=spec)
    assert rejected(predicate, pod, make_node("n", **node)) == ({"n": [reason]} if reason else {})


def required(*terms: Any) -> dict[str, Any]:
    field = "requiredDuringSchedulingIgnoredDuringExecution"
    return {"affinity": {"nodeAffinity": {field: {"nodeSelectorTerms": [*terms]}}}}


@pytest.mark.parametrize(
    ("spec", "accepted"),
    [
        (required({"matchExpressions": [{"key": "a", "operator": "Exists"}]}), ["n1", "n2"]),
        (
            required(
                {"matchExpressions": [{"key": "a", "operator": "In", "values": ["1"]}]},
                {"matchFields": [
                    {"key": "metadata.name", "operator": "In", "values": ["n3"]}]},
            ),
            ["n1", "n3"],
        ),
        (
            required({"matchExpressions": [{"key": "a", "operator": "Exists"}]})
            | {"nodeSelector": {"a": "2"}},
            ["n2"],
        ),
        (required(), []),
        (required({}), []),
    ],
)  # fmt: skip
def test_required_node_affinity(spec: dict[str, Any], accepted: list[str]) -> None:
    nodes = [make_node(f"n{number}", labels={"a": str(number)}) for number in (1, 2)]
    found = rejected("MatchNodeSelector", make_pod("p", spec=spec), *nodes, make_node("n3"))
    assert [name for name in ("n1", "n2", "n3") if name not in found] == accepted


@pytest.mark.parametrize(
    ("labels", "presence", "accepted"),
    [
        (["a"], True, ["one", "both"]),
        (["a"], False, ["none"]),
        (["a", "b"], True, ["both"]),
        (["a", "b"], False, ["none"]),
        ([], True, ["none", "one", "both"]),
    ],
)
def test_the_presence_of_labels(labels: list[str], presence: bool, accepted: list[str]) -> None:
    nodes = [
        make_node("none"), make_node("one", labels={"a": ""}),
        make_node("both", labels={"a": "", "b": ""}),
    ]  # fmt: skip
    rule = label_presence("CheckNodeLabelPresence", labels, presence=presence)
    found = rejected(rule, make_pod("p"), *nodes)
    assert [node.name for node in nodes if node.name not in found] == accepted
    texts = {reason for reasons in found.values() for reason in reasons}
    assert texts <= {"node(s) didn't have the requested labels"}


# --------------------------------------------------------------------------------- host ports


def with_port(name: str, number: int, address: str = "", protocol: str = "", **fields: Any) -> Any:
    port: dict[str, Any] = {"containerPort": 1, "hostPort": number}
    port |= {"hostIP": address} if address else {}
    port |= {"protocol": protocol} if protocol else {}
    container = {"name": "c", "image": "i", "ports": [port]}
    return make_pod(name, spec={"containers": [container]}, **fields)


@pytest.mark.parametrize(
    ("mine", "other", "conflicts"),
    [
        ((80,), (80,), True),
        ((80,), (81,), False),
        ((80, "1.1.1.1"), (80, "1.1.1.1"), True),
        ((80, "1.1.1.1"), (80, "2.2.2.2"), False),
        ((80, "1.1.1.1"), (80,), True),
        ((80,), (80, "1.1.1.1"), True),
        ((80, "0.0.0.0"), (80, "1.1.1.1"), True),
        ((80, "", "UDP"), (80,), False),
        ((80, "", "TCP"), (80,), True),
        ((0,), (0,), False),
    ],
)
def test_host_ports(mine: Any, other: Any, conflicts: bool) -> None:
    found = rejected(
        "PodFitsHostPorts", with_port("p", *mine), make_node("n"), with_port("q", *other, node="n")
    )
    text = "node(s) didn't have free ports for the requested pod ports"
    assert found == ({"n": [text]} if conflicts else {})


def test_general_predicates_collect_the_reasons_of_all_their_parts() -> None:
    pod = with_fields(with_port("p", 80), "spec", node_name="m", node_selector={"a": "b"})
    other = with_port("q", 80, node="n")
    node = make_node("n", pods=1)
    assert rejected("GeneralPredicates", pod, node, other) == {
        "n": [
            "Insufficient pods",
            "node(s) didn't match the requested hostname",
            "node(s) didn't have free ports for the requested pod ports",
            "node(s) didn't match node selector",
        ]
    }
    assert rejected("GeneralPredicates", make_pod("p"), make_node("n")) == {}


# --------------------------------------------------------------------------------- other pods


def near(kind: str, *apps: str, key: str = "zone", **fields: Any) -> dict[str, Any]:
    terms = [
        {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}} | fields
        for app in apps
    ]
    return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": terms}}}


ZONES = [make_node(name, labels={"zone": name[0]}) for name in ("a1", "a2", "b1")]
GROUP = "node(s) didn't match pod affinity/anti-affinity"
OF_OTHERS = [GROUP, "node(s) didn't satisfy existing pods anti-affinity rules"]
NOT_NEAR = [GROUP, "node(s) didn't match pod affinity rules"]
TOO_NEAR = [GROUP, "node(s) didn't match pod anti-affinity rules"]


@pytest.mark.parametrize(
    ("spec", "labels", "others", "found"),
    [
        pytest.param({}, {}, [("web", "a1", {})], {}, id="nothing is required"),
        pytest.param(
            near("podAffinity", "web"), {}, [("web", "a1", {})], {"b1": NOT_NEAR, "x": NOT_NEAR},
            id="the zone of a pod",
        ),
        pytest.param(
            near("podAffinity", "web"), {}, [("db", "a1", {})],
            dict.fromkeys(("a1", "a2", "b1", "x"), NOT_NEAR), id="no such pod",
        ),
        pytest.param(
            near("podAffinity", "web"), {"app": "web"}, [], {}, id="the first pod of the group"
        ),
        pytest.param(
            near("podAffinity", "web", "db"), {"app": "web"}, [],
            dict.fromkeys(("a1", "a2", "b1", "x"), NOT_NEAR),
            id="a pod that matches one of its terms only",
        ),
        pytest.param(
            near("podAffinity", "web", "db"), {}, [("web", "a1", {}), ("db", "a2", {})],
            dict.fromkeys(("a1", "a2", "b1", "x"), NOT_NEAR),
            id="two pods that match a term each",
        ),
        pytest.param(
            near("podAffinity", "web"), {"app": "web"}, [("web", "a1", {})],
            dict.fromkeys(("b1", "x"), NOT_NEAR), id="not the first one of its group",
        ),
        pytest.param(
            near("podAntiAffinity", "web"), {}, [("web", "a1", {})],
            {"a1": TOO_NEAR, "a2": TOO_NEAR}, id="away from a pod",
        ),
        pytest.param(
            near("podAntiAffinity", "db", "web"), {}, [("web", "b1", {}), ("db", "x", {})],
            {"b1": TOO_NEAR}, id="away from either, with a node without the label",
        ),
        pytest.param(
            {}, {"app": "web"}, [("db", "b1", near("podAntiAffinity", "web"))],
            {"b1": OF_OTHERS}, id="a pod that others keep away",
        ),
        pytest.param(
            {}, {"app": "x"}, [("db", "b1", near("podAntiAffinity", "web"))], {},
            id="a pod that others do not mind",
        ),
        pytest.param(
            near("podAffinity", "web", namespaces=["other"]), {"app": "web"}, [("web", "a1", {})],
            dict.fromkeys(("a1", "a2", "b1", "x"), NOT_NEAR), id="pods of another namespace",
        ),
        pytest.param(
            near("podAffinity", "web", labelSelector=None), {}, [("web", "a1", {})],
            dict.fromkeys(("a1", "a2", "b1", "x"), NOT_NEAR), id="no selector selects nothing",
        ),
        pytest.param(
            near("podAntiAffinity", "web", labelSelector={}), {}, [("web", "a1", {})],
            {"a1": TOO_NEAR, "a2": TOO_NEAR}, id="an empty selector selects all",
        ),
        pytest.param(
            near("podAntiAffinity", "web", labelSelector={"matchExpressions": [
                {"key": "app", "operator": "In"}]}), {}, [("web", "a1", {})],
            {}, id="a selector that is not valid selects nothing",
        ),
    ],
)  # fmt: skip
def test_affinity_between_pods(
    spec: Any, labels: dict[str, str], others: Any, found: dict[str, list[str]]
) -> None:
    pods = [
        make_pod(f"o{number}", labels={"app": app}, node=node, spec=other)
        for number, (app, node, other) in enumerate(others)
    ]
    pod = make_pod("p", labels=labels, spec=spec)
    assert rejected("MatchInterPodAffinity", pod, *ZONES, make_node("x"), *pods) == found


def test_the_metadata_follow_pods_that_a_dry_run_adds_and_removes() -> None:
    cluster = ClassicCluster()
    placed = make_pod("web", labels={"app": "web"}, node="a1")
    for obj in (*ZONES, placed):
        cluster.put(obj)
    rule = REGISTERED["MatchInterPodAffinity"]
    nodes = {node.name: node for node in cluster.nodes()}

    def fitting(meta: PredicateMetadata) -> list[str]:
        return [name for name, node in nodes.items() if not rule.check(meta, node)]

    meta = PredicateMetadata(make_pod("p", spec=near("podAffinity", "web")), cluster)
    copy = meta.copy()
    copy.remove_pod(placed)
    assert (fitting(copy), fitting(meta)) == ([], ["a1", "a2"])
    copy.add_pod(make_pod("other", labels={"app": "web"}, node="b1"), nodes["b1"])
    assert fitting(copy) == ["b1"]
    # A nominated pod is not on a node yet, so others cannot be near it.
    copy.add_pod(make_pod("promised", labels={"app": "web"}), nodes["a1"])
    assert fitting(copy) == ["b1"]
    anti = PredicateMetadata(make_pod("p", labels={"app": "x"}, spec=near(
        "podAntiAffinity", "web")), cluster)  # fmt: skip
    assert fitting(anti) == ["b1"]
    copy = anti.copy()
    copy.add_pod(make_pod("other", labels={"app": "web"}, node="b1"), nodes["b1"])
    assert (fitting(copy), fitting(anti)) == ([], ["b1"])
    anti.remove_pod(placed)
    assert fitting(anti) == ["a1", "a2", "b1"]
    anti.add_pod(make_pod("other", labels={"app": "web"}, node="b1"), nodes["b1"])
    assert fitting(anti) == ["a1", "a2"]
    anti.add_pod(make_pod("db", labels={"app": "db"}, node="a1"), nodes["a1"])
    assert fitting(anti) == ["a1", "a2"]
    # But it keeps others away.
    hostile = make_pod("promised", labels={"app": "web"}, spec=near("podAntiAffinity", "x"))
    anti.add_pod(hostile, nodes["a1"])
    assert fitting(anti) == []
    anti.remove_pod(hostile)
    assert fitting(anti) == ["a1", "a2"]
    copy = anti.copy()
    copy.add_pod(hostile, nodes["a1"])
    assert (fitting(copy), fitting(anti)) == ([], ["a1", "a2"])


@pytest.mark.parametrize(
    ("kind", "fitting"), [("podAffinity", []), ("podAntiAffinity", ["a1", "a2"])]
)
def test_a_pod_that_a_dry_run_adds_has_to_match_all_terms_or_one(
    kind: str, fitting: list[str]
) -> None:
    """Upstream: predicates/metadata.go, AddPod."""
    cluster = ClassicCluster()
    for node in ZONES:
        cluster.put(node)
    nodes = {node.name: node for node in cluster.nodes()}
    meta = PredicateMetadata(make_pod("p", spec=near(kind, "web", "db")), cluster)
    meta.add_pod(make_pod("one", labels={"app": "web"}, node="b1"), nodes["b1"])
    rule = REGISTERED["MatchInterPodAffinity"]
    assert [name for name, node in nodes.items() if not rule.check(meta, node)] == fitting


def test_the_pods_of_a_pair_are_counted() -> None:
    table = PairTable()
    pair = ("zone", "a")
    assert (bool(table), pair in table, table.holds_any({"zone": "a"})) == (False, False, False)
    table.add(pair, "p")
    table.add(pair, "q")
    table.add(("rack", "r"), "q")
    copy = table.copy()
    table.remove_pod("p")
    table.remove_pod("unknown")
    assert pair in table
    table.remove_pod("q")
    assert (bool(table), pair in table) == (False, False)
    assert (bool(copy), pair in copy, ("rack", "r") in copy) == (True, True, True)
    for labels, holds in (
        ({}, False), ({"zone": "a"}, True), ({"zone": "b"}, False), ({"x": "a"}, False),
        ({"zone": "b", "rack": "r", "x": "y"}, True), ({"zone": "b", "rack": "a", "x": "y"}, False),
    ):  # fmt: skip
        assert copy.holds_any(labels) is holds, labels


def test_which_reasons_no_eviction_resolves() -> None:
    def reasons(predicate: str, pod: Any, *objects: Any) -> Any:
        cluster = ClassicCluster()
        for obj in objects:
            cluster.put(obj)
        meta = PredicateMetadata(pod, cluster)
        return [
            each for node in cluster.nodes() for each in REGISTERED[predicate].check(meta, node)
        ]

    other = make_pod("q", labels={"app": "x"}, node="a1", spec=near("podAntiAffinity", "p"))
    pod = make_pod("p", labels={"app": "p"})
    for predicate, given, objects, is_final in (
        ("PodFitsResources", make_pod("p", cpu="9"), [make_node("n")], False),
        ("HostName", make_pod("p", node="m"), [make_node("n")], True),
        ("CheckNodeUnschedulable", pod, [make_node("n", unschedulable=True)], True),
        ("PodToleratesNodeTaints", pod, [make_node("n", taints=["k:NoSchedule"])], True),
        ("MatchNodeSelector", make_pod("p", node_selector={"a": "b"}), [make_node("n")], True),
        ("MatchInterPodAffinity", make_pod("p", spec=near("podAffinity", "q")), ZONES, True),
        ("MatchInterPodAffinity", pod, [*ZONES[:1], other], False),
        (
            "MatchInterPodAffinity", make_pod("r", spec=near("podAntiAffinity", "x")),
            [*ZONES[:1], make_pod("q", labels={"app": "x"}, node="a1")], False,
        ),
    ):  # fmt: skip
        found = reasons(predicate, given, *objects)
        assert found, predicate
        assert is_unresolvable(found) is is_final, predicate
    assert not is_unresolvable(())
