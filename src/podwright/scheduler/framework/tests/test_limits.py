"""Values at their limits, and methods that a plugin or a row must override."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import podwright as pw
from podwright.apimachinery.objects import with_fields
from podwright.scheduler.assembly.build import build_profiles
from podwright.scheduler.assembly.registry import Registry
from podwright.scheduler.columns import Cluster, Reads
from podwright.scheduler.columns.nodes import Journal
from podwright.scheduler.config import DEFAULT_GATES, KubeSchedulerConfiguration, effective
from podwright.scheduler.framework import Cycle, Plugin
from podwright.scheduler.framework.extenders.extender_calls import MalformedJSON, typed_field
from podwright.scheduler.framework.nominated import counting_nominated
from podwright.scheduler.framework.rankings.groups import Followed, Scratch
from podwright.scheduler.framework.rankings.ranking_cache import RankingCache
from podwright.scheduler.framework.rankings.rows import Row
from podwright.scheduler.framework.rankings.scores import FilterGroups, RequestScore, ScoreGroups
from podwright.scheduler.framework.run import PluginRunner
from podwright.scheduler.kernels.resource_scores import LEAST_ALLOCATED
from podwright.scheduler.preemption.tests import situations
from podwright.testing import make_node, make_pod


@pytest.mark.parametrize("value", [-(2**63), 2**63 - 1])
def test_integers_of_64_bits_are_accepted(value: int) -> None:
    assert typed_field({"count": value}, "Result", "count", int) == value


@pytest.mark.parametrize("value", [-(2**63) - 1, 2**63])
def test_greater_integers_are_rejected(value: int) -> None:
    with pytest.raises(MalformedJSON, match="out of range"):
        typed_field({"count": value}, "Result", "count", int)


class Scores(Plugin):
    """Returns a fixed score for every node."""

    name = "Scores"
    value = 0

    def score(self, cycle: pw.Cycle, node: pw.NodeView) -> int:
        return self.value

    def normalize_score(self, cycle: pw.Cycle, scores: pw.Scores) -> None:
        scores.values[scores.rows] = np.sign(scores.values[scores.rows])


def scored(value: int) -> pw.Decision:
    cls = type("Scores", (Scores,), {"value": value})
    scheduler = pw.Scheduler(plugins=[cls])
    scheduler.add(make_node("n1"), make_node("n2"))
    return scheduler.schedule(make_pod("web", cpu="1"))


def test_the_greatest_score_of_64_bits_is_accepted() -> None:
    assert scored(2**63 - 1).node


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1])
def test_a_score_of_more_bits_is_an_error_of_the_plugin(value: int) -> None:
    decision = scored(value)
    assert not decision.node
    assert decision.error is not None
    assert "Scores" in decision.error.message


ROW = Row(Plugin(), Reads.NODE, Cycle(make_pod("p"), Cluster()))
ABSTRACT: list[tuple[Any, str]] = [
    (Plugin(), "sign_pod"),
    (ROW, "_lengthen"),
    (ROW, "_evaluate"),
    (FilterGroups(), "assign"),
    (FilterGroups(), "rejected"),
    (ScoreGroups(), "scores"),
]


@pytest.mark.parametrize(("on", "method"), ABSTRACT)
def test_a_method_without_a_default_raises(on: Any, method: str) -> None:
    function = getattr(on, method)
    given = {"n_slots": 1, "is_everything": False}  # compiled code checks types first
    with pytest.raises(NotImplementedError):
        function(**{name: given.get(name) for name in inspect.signature(function).parameters})


@pytest.mark.parametrize(
    ("nominated_priority", "fits"),
    [pytest.param(-1, True, id="lower"), pytest.param(0, False, id="equal")],
)
def test_nominated_pods_count_from_the_priority_of_the_pod_on(
    nominated_priority: int, fits: bool
) -> None:
    registry = Registry()
    configuration = effective(
        KubeSchedulerConfiguration(), DEFAULT_GATES, implements=registry.points_of
    )
    cluster = Cluster()
    cluster.put(make_node("n1", cpu="1"))
    cluster.nominate(make_pod("other", cpu="1", priority=nominated_priority), "n1")
    profile = build_profiles(configuration, registry)["default-scheduler"]
    pod = make_pod("web", cpu="1")
    assert pod.spec.priority is None
    assert bool(PluginRunner(profile, cluster).decide(pod, cycle_number=1).node) is fits


@pytest.mark.parametrize(
    ("name", "uid", "priority", "counts"),
    [
        pytest.param("web", "1", 5, False, id="the pod itself"),
        pytest.param("web", "1", 9, False, id="itself, with another priority"),
        pytest.param("web", "2", 5, True, id="an earlier pod of its name"),
        pytest.param("web", "2", 4, False, id="one of lower priority"),
        pytest.param("other", "1", 5, True, id="another pod with the same uid"),
        pytest.param("other", "2", 6, True, id="another pod of higher priority"),
        pytest.param("other", "2", None, False, id="one without a priority, which is 0"),
    ],
)
def test_other_pods_that_are_nominated_to_a_node_count(
    name: str, uid: str, priority: int | None, counts: bool
) -> None:
    cluster = Cluster()
    cluster.put(make_node("n1"))
    pod, other = (
        with_fields(make_pod(name, priority=priority), "metadata", uid=uid)
        for name, uid, priority in (("web", "1", 5), (name, uid, priority))
    )
    cluster.nominate(other, "n1")
    assert counting_nominated(cluster, pod, "n1") == ([other] if counts else [])
    assert counting_nominated(cluster, pod, "n2") == []


def test_values_of_slots_follow_until_a_journal_is_lost() -> None:
    cluster = Cluster()
    for number in range(32):
        cluster.put(make_node(f"n{number}"))
    nodes = cluster.nodes

    def changed(*forgotten: Journal) -> list[list[int]] | None:
        followed = Followed(np.zeros(nodes.n_slots, dtype=np.int64), cluster)
        nodes.node_journal.record(2)
        nodes.pods_journal.record(5)
        for journal in forgotten:
            journal.forget()
        found = followed.changed(cluster)
        return None if found is None else [slots.tolist() for slots in found]

    assert changed() == [[2], [5]]
    cluster.put(make_node("another"))
    for forgotten in (
        (nodes.node_journal,),
        (nodes.pods_journal,),
        (nodes.node_journal, nodes.pods_journal),
    ):
        assert changed(*forgotten) is None


@pytest.mark.parametrize(
    ("node_count", "changes", "follows"),
    [
        pytest.param(32, 2, True, id="a sixteenth of the nodes"),
        pytest.param(31, 2, False, id="more than a sixteenth"),
        pytest.param(48, 3, True, id="a sixteenth of more nodes"),
        pytest.param(4, 0, True, id="no change"),
    ],
)
def test_values_of_slots_follow_few_changes(node_count: int, changes: int, follows: bool) -> None:
    cluster = Cluster()
    for number in range(node_count):
        cluster.put(make_node(f"n{number}"))
    nodes = cluster.nodes
    followed = Followed(np.zeros((2, node_count), dtype=np.int64), cluster)
    for slot in range(changes):
        nodes.node_journal.record(slot)
    found = followed.changed(cluster)
    if not follows:
        assert found is None
        return
    assert found is not None
    assert [slots.tolist() for slots in found] == ([[*range(changes)]] if changes else [])
    # What was returned is not returned again.
    assert followed.changed(cluster) == []
    cluster.put(make_node("another"))
    assert followed.changed(cluster) is None, "there are more slots"


REMEMBERED: list[tuple[str, Callable[[RankingCache], Any]]] = [
    ("keys._MOST_TEMPLATES", lambda cache: cache._keys._templates),
    ("prepare._MOST_KEPT", lambda cache: cache._preparation._pre_filters._kept),
    ("rankings.groups._MOST_RECIPES", lambda cache: cache._scratch.by_recipe),
    ("rankings.groups._MOST_RECIPES_KNOWN", lambda cache: cache._scratch._known_recipes),
    ("rankings.ranking_cache._MOST_FRAMES", lambda cache: cache._frames),
    ("rankings.ranking_cache._MOST_SEEN", lambda cache: cache._seen),
]


@pytest.mark.parametrize(("limit", "remembered"), REMEMBERED, ids=[row[0] for row in REMEMBERED])
def test_what_is_remembered_of_pods_is_limited(
    limit: str, remembered: Callable[[RankingCache], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"podwright.scheduler.framework.{limit}", 30)
    cluster = Cluster()
    cluster.put(make_node("n1", cpu="1"))
    cluster.put(make_node("n2", cpu="64"))
    runner = PluginRunner(situations.profile(), cluster)
    most = 0
    for number in range(140):
        # Pods come in pairs with their own request, and every second pair has its own selector.
        pair = number // 2
        selector = {"nodeSelector": {f"no-{pair}": ""}} if pair % 2 else {}
        pod = make_pod("p", cpu=f"{100 + pair}m", spec=selector)
        found = runner.decide(pod, cycle_number=number)
        assert bool(found.node) is not bool(selector)
        most = max(most, len(remembered(runner._rankings)))
    # Several are added in a cycle, some of them after the others were forgotten.
    assert 28 <= most <= 30


@pytest.mark.parametrize("name", ["_rankings", "_filter_rows", "_score_rows"])
@pytest.mark.parametrize(
    ("limits", "node_count", "kept_count"),
    [
        pytest.param({}, 2, None, id="not nearly"),
        pytest.param({"_MOST_ROWS": 30}, 2, 30, id="a number"),
        pytest.param({"_ROWS_OF_FEW_NODES": 20}, 2, 20, id="at least so many"),
        pytest.param({"_ROWS_OF_FEW_NODES": 20}, 25, 25, id="one for each node"),
        pytest.param({"_ROW_BYTES": 0}, 2, 16, id="memory"),
        pytest.param({"_ROW_BYTES": 25 * (8 * 2 + 4_096), "_GROUPS_BYTES": 0}, 2, 25, id="of rows"),
        pytest.param(
            {"_ROW_BYTES": 100_000, "_GROUPS_BYTES": 0}, 150, 18, id="of rows of many nodes"
        ),
    ],
)
def test_the_oldest_results_go_first(
    name: str,
    limits: dict[str, int],
    node_count: int,
    kept_count: int | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for limit, value in limits.items():
        monkeypatch.setattr(f"podwright.scheduler.framework.rankings.ranking_cache.{limit}", value)
    cluster = Cluster()
    for number in range(node_count):
        cluster.put(make_node(f"n{number}", cpu="64"))
    profile = situations.profile()
    rankings = RankingCache(profile, cluster)
    # Every pod has requests and ports of its own, so rows of filters and of a score.
    containers = [
        {"name": "c", "image": f"i{number}", "ports": [{"hostPort": 1 + number}]}
        for number in range(40)
    ]
    pods = [make_pod("p", spec={"containers": [container]}) for container in containers]
    found = []
    for pod in pods:
        rankings.of(pod)
        found.append(rankings.of(pod))
    assert kept_count is None or len(getattr(rankings, name)) == kept_count
    assert rankings.of(pods[-1]) is found[-1]
    assert (rankings.of(pods[1]) is found[1]) is (kept_count is None)


def test_arrays_over_slots_are_made_again_for_another_number_of_nodes() -> None:
    scratch = Scratch()
    for n_slots in (3, 5, 0, 5):
        scratch.fit(n_slots)
        arrays = [getattr(scratch, name) for name in ("totals", "swept", "values", "feasible")]
        assert {len(array) for array in arrays} == {n_slots}
        assert scratch.by_slot.shape == (3, n_slots)
        assert scratch.all_slots.tolist() == list(range(n_slots))
        scratch.fit(n_slots)
        assert scratch.totals is arrays[0]
        assert scratch.swept is arrays[1]


def test_a_score_of_requests_is_equal_to_itself_only() -> None:
    # Arrays have no truth, so that their structs are not compared by content.
    scores = [RequestScore(np.arange(2)) for _ in range(2)]
    assert scores[0] != scores[1]
    assert len({*scores, *scores}) == 2


def test_a_score_of_requests_is_by_default_that_of_the_least_allocated_node() -> None:
    score = RequestScore(np.zeros(0, dtype=np.int64))
    assert (score.is_balance, score.strategy) == (False, LEAST_ALLOCATED)
