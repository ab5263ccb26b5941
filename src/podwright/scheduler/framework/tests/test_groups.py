"""Soft spreading decided by groups of nodes, against going over all nodes."""

from __future__ import annotations

from collections import Counter

import msgspec
import pytest

from podwright.apimachinery.objects import Pod
from podwright.scheduler.assembly.build import build_profiles
from podwright.scheduler.assembly.registry import Registry
from podwright.scheduler.columns import Cluster
from podwright.scheduler.config import DEFAULT_GATES, effective, read_configuration
from podwright.scheduler.framework.profile import Profile
from podwright.scheduler.framework.rankings.groups import Scratch
from podwright.scheduler.framework.run import PluginRunner
from podwright.testing import make_node, make_pod

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"


def profile(document: dict[str, object] | None = None) -> Profile:
    head = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    written = read_configuration(head | (document or {}), source="config")
    configuration = effective(written, DEFAULT_GATES)
    return build_profiles(configuration, Registry())["default-scheduler"]


def cluster_of(count: int) -> Cluster:
    """Return nodes in three zones; the last one has no zone."""
    cluster = Cluster()
    for number in range(count):
        name = f"n{number}"
        labels = {HOST: name} | ({ZONE: "abc"[number % 3]} if number < count - 1 else {})
        cluster.put(make_node(name, cpu="64", labels=labels))
    return cluster


def test_a_recipe_is_known_from_its_second_use_on() -> None:
    scratch = Scratch()
    uses = (b"a", b"b", b"a", b"b", b"c")
    assert [scratch.is_recipe_known(recipe) for recipe in uses] == [False, False, True, True, False]


def scoring(strategy: str) -> dict[str, object]:
    """Return a configuration in which NodeResourcesFit scores by another strategy."""
    resources = [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 2}]
    args: dict[str, object] = {"scoringStrategy": {"type": strategy, "resources": resources}}
    return {"profiles": [{"pluginConfig": [{"name": "NodeResourcesFit", "args": args}]}]}


def constraint(key: str, app: str, *, is_hard: bool = False) -> dict[str, object]:
    return {
        "maxSkew": 1,
        "topologyKey": key,
        "whenUnsatisfiable": "DoNotSchedule" if is_hard else "ScheduleAnyway",
        "labelSelector": {"matchLabels": {"app": app}},
    }


def template(app: str, *keys: str, hard: str = "") -> Pod:
    constraints = [constraint(key, app) for key in keys]
    if hard:
        constraints.append(constraint(hard, app, is_hard=True))
    spec = {"topologySpreadConstraints": constraints}
    return make_pod(app, cpu="100m", labels={"app": app}, spec=spec)


class Pair:
    """One runner with caches, and one that evaluates all slots."""

    def __init__(self, cluster: Cluster, document: dict[str, object] | None = None) -> None:
        self.cluster = cluster
        self.quick = PluginRunner(profile(document), cluster, seed=3)
        self.plain = PluginRunner(profile(document), cluster, seed=3)
        self.plain._is_plain = False
        self.number = 0
        self.slots: list[int] = []

    def place(self, like: Pod) -> bool:
        """Let both decide, and place the pod; return whether there was a short way."""
        self.number += 1
        name = f"p{self.number}"
        metadata = msgspec.structs.replace(like.metadata, name=name, uid=name)
        pod = msgspec.structs.replace(like, metadata=metadata)
        found = self.quick.decide(pod, cycle_number=self.number)
        assert found == self.plain.decide(pod, cycle_number=self.number)
        assert found.slot >= 0, found
        self.cluster.place(pod, found.slot)
        self.slots.append(found.slot)
        return self.quick.ranking.is_settled


@pytest.mark.parametrize(
    "keys",
    [
        pytest.param((ZONE,), id="over zones"),
        pytest.param((HOST,), id="over hosts"),
        pytest.param((ZONE, HOST), id="over both"),
    ],
)
def test_groups_are_built_at_the_second_pod_of_a_template_and_grow_with_the_counts(
    keys: tuple[str, ...],
) -> None:
    pair = Pair(cluster_of(7))
    like = template("web", *keys)
    # Seven nodes get nine of the pods each, which is more than the groups first allow for.
    short_ways = [pair.place(like) for _ in range(60)]
    assert short_ways[0] is False, "a key that may never come again is not kept"
    assert all(short_ways[1:])


@pytest.mark.parametrize(
    ("hard", "keys"),
    [
        pytest.param(ZONE, (), id="over zones"),
        pytest.param(HOST, (), id="over hosts"),
        pytest.param(ZONE, (HOST,), id="over zones, and soft over hosts"),
    ],
)
def test_groups_that_hard_spreading_rejects_get_no_pod(hard: str, keys: tuple[str, ...]) -> None:
    pair = Pair(cluster_of(7))
    like = template("web", *keys, hard=hard)
    short_ways = [pair.place(like) for _ in range(30)]
    assert all(short_ways[1:])
    labels = [pair.cluster.nodes.labels_of(slot)[hard] for slot in pair.slots]
    assert len(set(Counter(labels).values())) <= 2
    assert set(labels) == {"a", "b", "c"} if hard == ZONE else len(set(labels)) == 7


@pytest.mark.parametrize("strategy", ["LeastAllocated", "MostAllocated"])
def test_totals_of_requests_are_those_of_the_strategy(strategy: str) -> None:
    cluster = cluster_of(7)
    cluster.place(make_pod("first", cpu="8"), 2)
    pair = Pair(cluster, scoring(strategy))
    for number in range(12):
        # No two request the same, so that only the nodes are remembered.
        pair.place(make_pod("web", cpu=f"{1_000 + number}m", memory=f"{100 + number}Mi"))
    assert (2 in pair.slots) is (strategy == "MostAllocated")


def test_groups_of_the_only_node_grow_with_its_count() -> None:
    cluster = Cluster()
    cluster.put(make_node("n0", cpu="64", labels={HOST: "n0"}))
    pair = Pair(cluster)
    short_ways = [pair.place(template("web", HOST)) for _ in range(60)]
    assert all(short_ways[1:])


def test_added_and_deleted_nodes_rebuild_the_groups() -> None:
    pair = Pair(cluster_of(7))
    like = template("web", ZONE, HOST)
    for number in range(30):
        if number % 10 == 4:
            pair.cluster.put(make_node(f"new{number}", cpu="64", labels={ZONE: "d", HOST: "x"}))
        if number % 10 == 8:
            node = pair.cluster.nodes.objects[number % 7]
            assert node is not None
            pair.cluster.delete(node)
        pair.place(like)


def test_counters_that_were_dropped_meanwhile_count_over_domains_with_other_numbers() -> None:
    pair = Pair(cluster_of(9))
    # Only the counters of the last few templates are kept.
    pair.cluster.selectors._counter_bytes = 0
    templates = [template(f"app{number}", ZONE, HOST) for number in range(12)]
    for number in range(120):
        if number == 50:
            # Numbered last by those who were there, and not by those who come later.
            pair.cluster.put(make_node("a-late", cpu="64", labels={ZONE: "a0", HOST: "a-late"}))
        pair.place(templates[number % len(templates)])


def test_too_many_domains_are_swept() -> None:
    cluster = Cluster()
    for number in range(140):
        cluster.put(make_node(f"n{number}", cpu="64", labels={ZONE: f"z{number}"}))
    pair = Pair(cluster)
    assert [pair.place(template("web", ZONE)) for _ in range(3)] == [False] * 3
