"""Soft spreading decided by groups of nodes, against going over all nodes."""

from __future__ import annotations

import msgspec
import pytest

from podwright.apimachinery.objects import Pod
from podwright.scheduler.assembly.build import build_profiles
from podwright.scheduler.assembly.registry import Registry
from podwright.scheduler.columns import Cluster
from podwright.scheduler.config import DEFAULT_GATES, KubeSchedulerConfiguration, effective
from podwright.scheduler.framework.profile import Profile
from podwright.scheduler.framework.run import PluginRunner
from podwright.testing import make_node, make_pod

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"


def profile() -> Profile:
    configuration = effective(KubeSchedulerConfiguration(), DEFAULT_GATES)
    return build_profiles(configuration, Registry())["default-scheduler"]


def cluster_of(count: int) -> Cluster:
    """Return nodes in three zones; the last one has no zone."""
    cluster = Cluster()
    for number in range(count):
        name = f"n{number}"
        labels = {HOST: name} | ({ZONE: "abc"[number % 3]} if number < count - 1 else {})
        cluster.put(make_node(name, cpu="64", labels=labels))
    return cluster


def soft(key: str, app: str) -> dict[str, object]:
    return {
        "maxSkew": 1,
        "topologyKey": key,
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": {"app": app}},
    }


def template(app: str, *keys: str) -> Pod:
    constraints = [soft(key, app) for key in keys]
    spec = {"topologySpreadConstraints": constraints}
    return make_pod(app, cpu="100m", labels={"app": app}, spec=spec)


class Pair:
    """One runner with caches, and one that evaluates all slots."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.quick = PluginRunner(profile(), cluster, seed=3)
        self.plain = PluginRunner(profile(), cluster, seed=3)
        self.plain._is_plain = False
        self.number = 0

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
