"""What a rejected node lacks, in words: the pods, labels and numbers that a reason leaves out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Any

import pytest

from podwright.apimachinery.objects import Node, Object, Pod, decode_pod
from podwright.apimachinery.schema import decode
from podwright.scheduler.assembly import Scheduler
from podwright.scheduler.config import read_configuration
from podwright.scheduler.framework import Cycle, NodeView, Plugin, Status, rejection_details
from podwright.scheduler.machine import SchedulerOptions
from podwright.testing import make_node, make_pod

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
WEB = {"labelSelector": {"matchLabels": {"app": "web"}}}
NODES = {"a1": "a", "a2": "a", "b": "b", "c": "c", "none": ""}


def nodes() -> list[Object]:
    return [
        make_node(name, labels={HOST: name} | ({ZONE: zone} if zone else {}))
        for name, zone in NODES.items()
    ]


def web(name: str, on: str = "", *, namespace: str = "default", **spec: Any) -> Pod:
    return make_pod(name, namespace=namespace, node=on, labels={"app": "web"}, spec=spec)


def spreading(*keys: str, **more: Any) -> dict[str, Any]:
    hard = {"maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", **WEB, **more}
    return {"topologySpreadConstraints": [{"topologyKey": key, **hard} for key in keys]}


def requiring(kind: str, *keys: str, **term: Any) -> dict[str, Any]:
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    return {"affinity": {kind: {required: [{"topologyKey": key, **WEB, **term} for key in keys]}}}


def lacks(
    pod: Pod, *objects: Object, options: SchedulerOptions | None = None
) -> dict[str, Sequence[str]]:
    """Return what each node lacks that rejects the pod."""
    scheduler = Scheduler(SchedulerOptions() if options is None else options)
    scheduler.add(*objects, pod)
    near = scheduler.nearest_nodes(scheduler.explain(pod), limit=None)
    return {each.node: each.lacks for each in near}


IN_A, ON_A1 = f"{ZONE}=a", f"{HOST}=a1"
NO_ZONE = f"label {ZONE} (it has none)"
PLACED = [web("one", "a1"), web("two", "a2"), web("three", "b"), web("x", "c", namespace="shop")]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param(
            spreading(ZONE),
            {
                "a1": [f"{IN_A} has 2 matching pods, and {ZONE}=c has 0: maxSkew is 1"],
                "a2": [f"{IN_A} has 2 matching pods, and {ZONE}=c has 0: maxSkew is 1"],
                "b": [f"{ZONE}=b has 1 matching pod, and {ZONE}=c has 0: maxSkew is 1"],
                "none": [NO_ZONE],
            },
            id="spreading over zones",
        ),
        pytest.param(
            spreading(ZONE, maxSkew=2, minDomains=5),
            {
                "a1": [f"{IN_A} has 2 matching pods: maxSkew is 2, minDomains is 5, 3 exist"],
                "a2": [f"{IN_A} has 2 matching pods: maxSkew is 2, minDomains is 5, 3 exist"],
                "none": [NO_ZONE],
            },
            id="fewer domains than minDomains",
        ),
        pytest.param(
            spreading(ZONE, HOST, maxSkew=2) | {"nodeSelector": {HOST: "a1"}},
            {
                "none": [f"label {HOST}=a1 (it has {HOST}=none)", NO_ZONE],
                **{
                    name: [f"label {HOST}=a1 (it has {HOST}={name})"]
                    for name in ("a2", "b", "c")
                },
            },
            id="only nodes that the pod selects are counted",
        ),
        pytest.param(
            spreading(ZONE, HOST, "rack"),
            {name: [NO_ZONE] * (name == "none") + ["label rack (it has none)"] for name in NODES},
            id="each missing label is named",
        ),
        pytest.param(
            requiring("podAntiAffinity", ZONE),
            {
                name: [
                    f"pod default/one in {IN_A} matches the pod's anti-affinity (as does 1 more)"
                ]
                for name in ("a1", "a2")
            }
            | {"b": [f"pod default/three in {ZONE}=b matches the pod's anti-affinity"]},
            id="anti-affinity to zones",
        ),
        pytest.param(
            requiring("podAntiAffinity", HOST, ZONE, namespaces=["shop"]),
            {
                "c": [
                    f"pod shop/x in {HOST}=c matches the pod's anti-affinity",
                    f"pod shop/x in {ZONE}=c matches the pod's anti-affinity",
                ]
            },
            id="each term is named",
        ),
        pytest.param(
            requiring("podAffinity", ZONE),
            {"c": [f"a pod in {ZONE}=c that matches the pod's affinity"], "none": [NO_ZONE]},
            id="affinity to zones",
        ),
    ],
)  # fmt: skip
def test_pods_and_labels_are_named(spec, expected):
    found = lacks(web("new", **spec), *nodes(), *PLACED)
    assert {name: list(texts) for name, texts in found.items()} == expected


def test_the_first_pod_of_an_affinity_to_its_own_labels_needs_only_the_label():
    found = lacks(web("new", **requiring("podAffinity", ZONE)), *nodes())
    assert found == {"none": (NO_ZONE,)}


def test_a_placed_pod_whose_anti_affinity_means_the_pod_is_named():
    owners = [web("near", "a1", **requiring("podAntiAffinity", HOST)),
              web("wide", "b", **requiring("podAntiAffinity", ZONE)),
              web("soft", "c"),
              web("away", "c", namespace="shop", **requiring("podAntiAffinity", ZONE))]  # fmt: skip
    has = "has anti-affinity that matches the pod"
    assert lacks(web("new"), *nodes(), *owners) == {
        "a1": (f"pod default/near in {ON_A1} {has}",),
        "b": (f"pod default/wide in {ZONE}=b {has}",),
    }


@pytest.mark.parametrize(
    ("count", "more"), [(1, ""), (2, " (as does 1 more)"), (3, " (as do 2 more)")]
)
def test_one_of_several_pods_is_named(count, more):
    placed = [web(f"p{number}", "b") for number in range(count)]
    found = lacks(web("new", **requiring("podAntiAffinity", ZONE)), *nodes(), *placed)
    text = f"pod default/p0 in {ZONE}=b matches the pod's anti-affinity{more}"
    assert found == {"b": (text,)}


def test_a_pod_is_named_once_for_each_direction_of_anti_affinity():
    both = web("both", "b", **requiring("podAntiAffinity", ZONE))
    assert lacks(web("new", **requiring("podAntiAffinity", ZONE, ZONE)), *nodes(), both) == {
        "b": (
            f"pod default/both in {ZONE}=b matches the pod's anti-affinity",
            f"pod default/both in {ZONE}=b has anti-affinity that matches the pod",
        )
    }


def with_port(name: str, on: str = "", **port: Any) -> Pod:
    container = {"name": "a", "ports": [{"containerPort": 1, "hostPort": 80, **port}]}
    document = {"metadata": {"name": name, "namespace": "default"},
                "spec": {"containers": [container], "nodeName": on}}  # fmt: skip
    pod = decode({"apiVersion": "v1", "kind": "Pod", **document})
    assert isinstance(pod, Pod)
    return pod


def test_the_pod_that_has_a_host_port_is_named():
    taken = [
        with_port("tcp", "a1"),
        with_port("udp", "a1", protocol="UDP"),
        with_port("there", "a2", hostIP="10.0.0.1"),
        with_port("other", "b", hostPort=81),
    ]
    text = "host port 80/TCP is taken by pod default"
    assert lacks(with_port("new"), *nodes(), *taken) == {
        "a1": (f"{text}/tcp",), "a2": (f"{text}/there",),
    }  # fmt: skip


# ------------------------------------------------------------------ details and the filters

OF_PODS = ("InterPodAffinity", "NodePorts", "PodTopologySpread")


def drawn_selector(draw: Random) -> dict[str, Any]:
    if draw.random() < 0.5:
        return {"matchLabels": {"app": draw.choice("abc")}}
    operator, values = draw.choice(["In", "NotIn"]), draw.sample("abc", 2)
    some = {"matchExpressions": [{"key": "app", "operator": operator, "values": values}]}
    return some if draw.random() < 0.7 else {}


def drawn_term(draw: Random) -> dict[str, Any]:
    places: list[dict[str, Any]] = [{}, {}, {"namespaces": ["shop"]}, {"namespaceSelector": {}}]
    selector = {"labelSelector": drawn_selector(draw)}
    return {"topologyKey": draw.choice(["zone", "host", "rack"]), **selector, **draw.choice(places)}


def drawn_constraint(draw: Random, key: str) -> dict[str, Any]:
    found = {
        "topologyKey": key,
        "maxSkew": draw.randint(1, 2),
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": drawn_selector(draw),
    }
    more = {
        "minDomains": draw.randint(1, 4),
        "nodeAffinityPolicy": draw.choice(["Honor", "Ignore"]),
        "nodeTaintsPolicy": draw.choice(["Honor", "Ignore"]),
        "matchLabelKeys": ["version"],
    }
    return found | {name: value for name, value in more.items() if draw.random() < 0.3}


def drawn_pod(draw: Random, name: str, on: str = "") -> Pod:
    port: dict[str, Any] = {"containerPort": 1, "hostPort": draw.choice([80, 81])}
    port |= draw.choice([{}, {"hostIP": "10.0.0.1"}, {"hostIP": "0.0.0.0"}, {"protocol": "UDP"}])
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    affinity = {
        kind: {required: [drawn_term(draw) for _ in range(draw.randint(1, 2))]}
        for kind in ("podAffinity", "podAntiAffinity")
        if draw.random() < 0.4
    }
    keys = draw.sample(["zone", "host", "rack"], draw.choice([0, 0, 1, 2]))
    document = {
        "metadata": {
            "name": name,
            "namespace": draw.choice(["default", "default", "shop"]),
            "labels": {"app": draw.choice("abc"), "version": draw.choice("12")},
        },
        "spec": {
            "nodeName": on,
            "nodeSelector": draw.choice([{}, {}, {"zone": "a"}]),
            "affinity": affinity,
            "topologySpreadConstraints": [drawn_constraint(draw, key) for key in keys],
            "containers": [{"name": "a", "ports": draw.choice([[], [port]])}],
        },
    }
    return decode_pod({"apiVersion": "v1", "kind": "Pod", **document})


def drawn_node(draw: Random, name: str) -> Node:
    labels = {"host": name, "zone": draw.choice("ab"), "rack": draw.choice("xyz")}
    kept = {key: value for key, value in labels.items() if draw.random() < 0.8}
    return make_node(name, labels=kept, taints=draw.choice([[], [], ["t=1:NoSchedule"]]))


def test_nodes_have_details_exactly_where_the_plugin_rejects_them():
    """In 300 drawn clusters; each plugin rejects nodes in many of them."""
    counts: Counter[tuple[str, bool]] = Counter()
    for seed in range(300):
        draw = Random(seed)
        names = [f"n{number}" for number in range(draw.randint(1, 6))]
        placed = [drawn_pod(draw, f"p{i}", draw.choice(names)) for i in range(draw.randint(0, 8))]
        pod = drawn_pod(draw, "new")
        scheduler = Scheduler()
        scheduler.add(*[drawn_node(draw, name) for name in names], *placed, pod)
        (runner,) = scheduler._runners.values()
        details = rejection_details(runner.profile, scheduler.cluster, pod)
        for answer in scheduler.explain(pod).filters:
            if answer.applies and answer.plugin in OF_PODS:
                for name in names:
                    has_details = bool(details(answer.plugin, name))
                    assert has_details is (name in answer.rejected), (seed, answer.plugin, name)
                    counts[answer.plugin, has_details] += 1
    assert min(counts[plugin, found] for plugin in OF_PODS for found in (True, False)) > 30, counts


class Picky(Plugin):
    """Rejects all nodes, and says why in several ways."""

    name = "Picky"

    def filter(self, cycle: Cycle, node: NodeView) -> Status:
        """Reject the node."""
        return Status.unschedulable("no")

    def rejection_details(self, cycle: Cycle, node: NodeView) -> Any:
        """Return what the name of the node asks for."""
        if node.name == "b":
            raise KeyError(cycle.pod.name)
        return {"a1": ["a better smell", 3], "a2": "one text", "c": (), "none": None}[node.name]


def test_details_of_an_own_plugin_replace_its_reason():
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"plugins": {"multiPoint": {"enabled": [{"name": "Picky"}]}}}],
    }
    configuration = read_configuration(document, source="test")
    options = SchedulerOptions(configuration=configuration, plugins=(Picky,))
    assert lacks(web("new"), *nodes(), options=options) == {
        "a1": ("a better smell", "3"),
        "a2": ("one text",),
        "b": ("rejection_details of Picky failed: KeyError: 'new'",),
        "c": ("no",),
        "none": (
            "rejection_details of Picky failed: TypeError: 'NoneType' object is not iterable",
        ),
    }
