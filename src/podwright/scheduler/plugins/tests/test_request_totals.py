"""Totals without rows, compared with the rows of the same plugins."""

from __future__ import annotations

import msgspec
import pytest

from podwright.apimachinery.objects import Pod
from podwright.scheduler.assembly.build import build_profiles
from podwright.scheduler.assembly.registry import Registry
from podwright.scheduler.columns import Cluster, NodeColumns
from podwright.scheduler.config import DEFAULT_GATES, KubeSchedulerConfiguration, effective
from podwright.scheduler.framework import Cycle, Plugin, Scores, Verdicts
from podwright.scheduler.framework.profile import Profile
from podwright.scheduler.framework.rankings.ranking import Ranking
from podwright.scheduler.framework.run import PluginRunner
from podwright.scheduler.plugins.node_resources_fit import NodeResourcesFit
from podwright.testing import make_node, make_pod

IMAGE = "registry.example/app:v1"


class RowsOnly(NodeResourcesFit):
    """The same in every respect, but it does not promise so."""

    def filter_columns(self, cycle: Cycle, nodes: NodeColumns, out: Verdicts) -> None:
        """Filter as the class that this one is made from."""
        super().filter_columns(cycle, nodes, out)

    def score_columns(self, cycle: Cycle, nodes: NodeColumns, out: Scores) -> None:
        """Score as the class that this one is made from."""
        super().score_columns(cycle, nodes, out)


class Zero:
    """A mixin with scores; not a plugin."""

    def score_columns(self, cycle: Cycle, nodes: NodeColumns, out: Scores) -> None:
        """Give every node the same."""
        del cycle, nodes
        out.values[out.rows] = 0


class MixedIn(Zero, NodeResourcesFit):
    """Scores as `Zero` does."""


def profile() -> Profile:
    configuration = effective(KubeSchedulerConfiguration(), DEFAULT_GATES)
    return build_profiles(configuration, Registry())["default-scheduler"]


def with_rows(profile: Profile) -> Profile:
    """Return the profile with `RowsOnly` in the place of NodeResourcesFit."""
    own = RowsOnly()

    def replaced(plugin: Plugin) -> Plugin:
        return own if plugin.name == own.name else plugin

    return msgspec.structs.replace(
        profile,
        pre_filter=tuple(map(replaced, profile.pre_filter)),
        filter=tuple(map(replaced, profile.filter)),
        pre_score=tuple(map(replaced, profile.pre_score)),
        score=tuple((replaced(plugin), weight) for plugin, weight in profile.score),
    )


def cluster_of(count: int) -> Cluster:
    """Return nodes of three sizes, of which some have an image and some a taint."""
    cluster = Cluster()
    for number in range(count):
        node = make_node(
            f"n{number}",
            cpu=str(1 + number % 3),
            memory=f"{1 + number % 5}Gi",
            pods=9,
            images={IMAGE: "800Mi"} if number % 4 == 0 else None,
            taints=["gone:NoExecute"] if number % 7 == 0 else (),
        )
        cluster.put(node)
    return cluster


def named(like: Pod, name: str) -> Pod:
    metadata = msgspec.structs.replace(like.metadata, name=name, uid=name)
    return msgspec.structs.replace(like, metadata=metadata)


def is_without_rows(ranking: Ranking) -> bool:
    return ranking._requests is not None


@pytest.mark.parametrize(
    "like",
    [
        pytest.param(make_pod("p", cpu="100m", memory="200Mi"), id="cpu and memory"),
        pytest.param(make_pod("p", cpu="150m"), id="cpu alone"),
        pytest.param(make_pod("p"), id="no requests"),
        pytest.param(
            make_pod("p", cpu="100m", memory="200Mi", node_selector={"a": "b"}),
            id="no node fits",
        ),
        pytest.param(
            make_pod("p", cpu="100m", memory="200Mi", image=IMAGE),
            id="an image that some nodes have",
        ),
    ],
)
def test_totals_without_rows_decide_as_rows_do_until_no_node_fits(like: Pod) -> None:
    cluster = cluster_of(90)
    quick = PluginRunner(profile(), cluster, seed=5)
    rows = PluginRunner(with_rows(profile()), cluster, seed=5)
    gone = 0
    for number in range(1_000):
        pod = named(like, f"p{number}")
        found = quick.decide(pod, cycle_number=number)
        assert found == rows.decide(pod, cycle_number=number)
        assert is_without_rows(quick.ranking)
        assert not is_without_rows(rows.ranking)
        if found.slot >= 0:
            cluster.place(pod, found.slot)
            if number % 5 == 4:
                # Some go again, from other nodes than the last one.
                cluster.remove(f"default/p{gone}")
                gone += 3
        elif number > 50:
            break
    else:
        pytest.fail("the nodes were never full")


def test_pods_of_different_keys_with_equal_requests_decide_as_rows_do_while_nodes_change() -> None:
    cluster = cluster_of(90)
    quick = PluginRunner(profile(), cluster, seed=5)
    rows = PluginRunner(with_rows(profile()), cluster, seed=5)
    decided = 0
    for number in range(300):
        pod = make_pod(f"p{number}", cpu=f"{number % 3}00m", memory="50Mi", image=f"app:{number}")
        found = quick.decide(pod, cycle_number=number)
        assert found == rows.decide(pod, cycle_number=number)
        assert is_without_rows(quick.ranking)
        if found.slot >= 0:
            decided += 1
            cluster.place(pod, found.slot)
        if number % 4 == 0:
            name = f"n{number * 7 % 90}"
            cluster.put(make_node(name, cpu=str(1 + number % 4), memory="2Gi", pods=9))
        if number % 50 == 49:
            cluster.put(make_node(f"more-{number}", cpu="8", memory="8Gi", pods=110))
        if number == 120:
            cluster.delete(make_node("n11"))
    assert decided == 300


def test_a_subclass_that_overrides_filter_or_score_must_declare_again() -> None:
    cycle = Cycle(make_pod("p", cpu="1"), cluster_of(1))
    for plugin in (NodeResourcesFit(), RowsOnly()):
        plugin.pre_filter(cycle)
        plugin.pre_score(cycle)
        is_own = type(plugin) is RowsOnly
        assert (plugin.filter_as_sums(cycle) is None) == is_own
        assert (plugin.score_as_requests(cycle) is None) == is_own


def test_a_subclass_that_scores_by_another_base_must_declare_again() -> None:
    cycle = Cycle(make_pod("p", cpu="1"), cluster_of(1))
    plugin = MixedIn()
    plugin.pre_filter(cycle)
    plugin.pre_score(cycle)
    assert plugin.filter_as_sums(cycle) is not None
    assert plugin.score_as_requests(cycle) is None


def test_a_plugin_without_its_pre_filter_declares_nothing() -> None:
    cycle = Cycle(make_pod("p", cpu="1"), cluster_of(1))
    assert NodeResourcesFit().filter_as_sums(cycle) is None
    assert NodeResourcesFit().score_as_requests(cycle) is None
