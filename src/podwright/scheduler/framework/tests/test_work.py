"""The work of a cycle: plugins are called for the nodes that changed, and for no others.

A decision is the same however often a plugin is called, so that only the calls show this.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import pytest

from podwright.apimachinery.objects import Pod
from podwright.apimachinery.schema import decode
from podwright.scheduler.columns import Cluster, NodeColumns, Reads
from podwright.scheduler.framework import (
    Cycle,
    Plugin,
    PluginRunner,
    Profile,
    Scores,
    Status,
    Verdicts,
)
from podwright.testing import make_node, make_pod

PODS, CLASSES = Reads.NODE | Reads.PODS, Reads.NODE | Reads.STORAGE
NODES = [f"n{number:02}" for number in range(30)]
ALL = frozenset(NODES)


class Counts(Plugin):
    """Filters and scores all nodes alike, and records for which it is called."""

    def __init__(self) -> None:
        self.prepared = 0
        self.filtered: list[str] = []
        self.scored: list[str] = []

    def pod_key(self, pod: Pod) -> Hashable:
        return pod.metadata.labels["app"]

    def filter_columns(self, cycle: Cycle, nodes: NodeColumns, out: Verdicts) -> None:
        self.filtered += [nodes.names[slot] for slot in out.rows.tolist()]

    def score_columns(self, cycle: Cycle, nodes: NodeColumns, out: Scores) -> None:
        self.scored += [nodes.names[slot] for slot in out.rows.tolist()]
        out.values[out.rows] = 7


class Prepares(Counts):
    """Has a PreFilter and a PreScore, too."""

    def pre_filter(self, cycle: Cycle) -> Status:
        self.prepared += 1
        return Status.OK

    def pre_score(self, cycle: Cycle) -> Status:
        self.prepared += 1
        return Status.OK


READS = {"nodes": Reads.NODE, "pods": PODS, "classes": CLASSES}


def plugins(kind: type[Counts]) -> dict[str, Counts]:
    made = {}
    for name, reads in READS.items():
        fields = {"name": name, "filter_reads": reads, "score_reads": reads}
        if kind is Prepares:
            prepared = Reads.STORAGE if name == "classes" else Reads.NOTHING
            fields |= {"pre_filter_reads": prepared, "pre_score_reads": prepared}
        made[name] = type(name, (kind,), fields)()
    return made


def runner_of(made: dict[str, Counts], cluster: Cluster, kind: type[Counts]) -> PluginRunner:
    every = tuple(made.values())
    prepares = every if kind is Prepares else ()
    return PluginRunner(
        Profile(
            scheduler_name="s",
            pre_filter=prepares,
            filter=every,
            pre_score=prepares,
            score=tuple((plugin, 1) for plugin in every),
        ),
        cluster,
    )


def place(cluster: Cluster, *names: str) -> None:
    for name in names:
        placed = make_pod(f"on-{name}-{len(cluster.pods)}", labels={"app": "placed"})
        cluster.place(placed, cluster.nodes.slot_of[name])


def come_and_go(cluster: Cluster, name: str, times: int) -> None:
    for _ in range(times):
        cluster.place(make_pod("moved"), cluster.nodes.slot_of[name])
        cluster.remove("default/moved")


def put(cluster: Cluster, *names: str, **labels: str) -> None:
    for name in names:
        cluster.put(make_node(name, labels=labels))


def other(kind: str, version: str, **fields: Any) -> Any:
    return decode({"apiVersion": version, "kind": kind, "metadata": {"name": "o"}} | fields)


STORAGE_CLASS = other("StorageClass", "storage.k8s.io/v1", provisioner="p")
NAMESPACE = other("Namespace", "v1")


@pytest.mark.parametrize("kind", [Counts, Prepares])
@pytest.mark.parametrize(
    ("change", "nodes", "pods", "classes"),
    [
        pytest.param(lambda _: None, (), (), (), id="nothing"),
        pytest.param(lambda c: place(c, "n03"), (), ("n03",), (), id="a pod is placed"),
        pytest.param(lambda c: place(c, "n03", "n03"), (), ("n03",), (), id="two on a node"),
        pytest.param(
            lambda c: place(c, "n03", "n08", "n03", "n08"),
            (),
            ("n03", "n08"),
            (),
            id="two on each of two nodes",
        ),
        pytest.param(lambda c: come_and_go(c, "n04", 1), (), ("n04",), (), id="it comes and goes"),
        pytest.param(lambda c: come_and_go(c, "n04", 11), (), ("n04",), (), id="many times"),
        pytest.param(
            lambda c: place(c, *NODES[:23]), (), NODES[:23], (), id="pods on as many as are single"
        ),
        pytest.param(lambda c: place(c, *NODES[:24]), (), ALL, (), id="pods on one more"),
        pytest.param(
            lambda c: come_and_go(c, "n04", 1_100), (), ALL, (), id="more than a journal keeps"
        ),
        pytest.param(
            lambda c: put(c, "n05", a="b"), ("n05",), ("n05",), ("n05",), id="a label of a node"
        ),
        pytest.param(lambda c: put(c, "n05"), (), (), (), id="a node as it is"),
        pytest.param(lambda c: put(c, "n30"), ("n30",), ("n30",), ("n30",), id="a new node"),
        pytest.param(
            lambda c: put(c, *NODES[:23], a="b"),
            NODES[:23],
            NODES[:23],
            NODES[:23],
            id="labels of as many as are single",
        ),
        pytest.param(lambda c: put(c, *NODES[:24], a="b"), ALL, ALL, ALL, id="of one more"),
        pytest.param(lambda c: c.delete(make_node("n06")), (), (), (), id="a node is deleted"),
        pytest.param(lambda c: c.put(STORAGE_CLASS), (), (), ALL, id="an object that is read"),
        pytest.param(lambda c: c.put(NAMESPACE), (), (), (), id="one that is not"),
    ],
)
def test_kept_results_are_found_again_for_changed_nodes_only(
    kind: type[Counts],
    change: Callable[[Cluster], None],
    nodes: Any,
    pods: Any,
    classes: Any,
) -> None:
    cluster = Cluster()
    put(cluster, *NODES)
    made = plugins(kind)
    runner = runner_of(made, cluster, kind)
    incoming = make_pod("p", labels={"app": "a"})
    for number in range(4):
        runner.decide(incoming, cycle_number=number)
    change(cluster)
    for expected in ({"nodes": nodes, "pods": pods, "classes": classes}, {}):
        for plugin in made.values():
            plugin.prepared, plugin.filtered, plugin.scored = 0, [], []
        runner.decide(incoming, cycle_number=5)
        for name, plugin in made.items():
            slots = sorted(expected.get(name, ()))
            assert sorted(set(plugin.filtered)) == slots, name
            assert sorted(set(plugin.scored)) == slots, name
            # A node that has changed twice may be listed twice.
            assert len(plugin.filtered) <= 2 * len(slots) + 1, name
            # PreFilter and PreScore of what reads the changed objects.
            is_outdated = classes == ALL and nodes == () and name in expected
            of_classes = name == "classes" and kind is Prepares
            assert plugin.prepared == (2 if is_outdated and of_classes else 0), name


class Varying(Prepares):
    """Has another key for nearly every pod, as requests have."""

    key_varies = True

    def pod_key(self, pod: Pod) -> Hashable:
        return pod.metadata.labels["cpu"]


def like(app: str, cpu: str) -> Pod:
    return make_pod("p", labels={"app": app, "cpu": cpu})


@pytest.mark.parametrize(
    ("before", "pod", "steady", "varying"),
    [
        pytest.param([], ("a", "1"), (2, 30), (2, 30), id="the first pod"),
        pytest.param(["a1"], ("a", "1"), (0, 30), (0, 30), id="it is worth keeping from now on"),
        pytest.param(["a1", "a1"], ("a", "1"), (0, 0), (0, 0), id="it is known"),
        pytest.param(["a1", "a1"], ("a", "2"), (0, 0), (2, 30), id="other requests"),
        pytest.param(["a1", "a1", "a2"], ("a", "3"), (0, 0), (2, 30), id="and others again"),
        pytest.param(["a1", "a1", "a2"], ("a", "2"), (0, 0), (2, 30), id="requests come again"),
        pytest.param(["a1", "a1", "a2", "a2"], ("a", "2"), (0, 0), (0, 0), id="they are known"),
        pytest.param(["a1", "a1"], ("b", "1"), (2, 30), (0, 0), id="known requests of another app"),
        pytest.param(["a1", "a1"], ("b", "2"), (2, 30), (2, 30), id="another app with its own"),
        pytest.param(["a1", "b1"], ("a", "1"), (0, 30), (0, 0), id="an app that comes again"),
        pytest.param(["a1", "b1", "a1", "b1"], ("a", "1"), (0, 0), (0, 0), id="two known apps"),
        pytest.param(
            ["a1", "a1", "a2", "a3"], ("a", "1"), (0, 0), (0, 0), id="others leave what is kept"
        ),
    ],
)
def test_pods_share_what_their_keys_have_in_common(
    before: list[str], pod: tuple[str, str], steady: tuple[int, int], varying: tuple[int, int]
) -> None:
    cluster = Cluster()
    put(cluster, *NODES)
    reads = dict.fromkeys(("filter_reads", "score_reads"), Reads.NODE)
    reads |= dict.fromkeys(("pre_filter_reads", "pre_score_reads"), Reads.NOTHING)
    fields = {"key_reads_all_labels": True}
    made: dict[str, Counts] = {
        name: type(name, (kind,), {"name": name} | reads | fields)()
        for name, kind in (("steady", Prepares), ("varying", Varying))
    }
    runner = runner_of(made, cluster, Prepares)
    for number, known in enumerate(before):
        runner.decide(like(known[0], known[1]), cycle_number=number)
    for plugin in made.values():
        plugin.prepared, plugin.filtered, plugin.scored = 0, [], []
    runner.decide(like(*pod), cycle_number=9)
    found = {name: (each.prepared, len(each.filtered)) for name, each in made.items()}
    assert found == {"steady": steady, "varying": varying}
    assert all(each.scored == each.filtered for each in made.values())
