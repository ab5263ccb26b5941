"""Groups of nodes that a plugin declares, and what happens if it cannot."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from podwright._arrays import I32Array, I64Array, Mask
from podwright.apimachinery.objects import Pod
from podwright.scheduler.columns import Cluster, NodeColumns, Reads
from podwright.scheduler.framework import Cycle, NodeView, Plugin, PluginRunner, Profile, Scores
from podwright.scheduler.framework.rankings.scores import FilterGroups, ScoreGroups
from podwright.scheduler.framework.rankings.verdicts import Verdicts
from podwright.scheduler.framework.status import MissingStateError, Status
from podwright.testing import make_node, make_pod

COLORS = ("red", "green", "blue")


class Colored:
    """The groups of nodes by the label `color`, with what goes wrong.

    The text says what: ``assign``, ``result`` or ``outdated``, and after a colon how often.
    """

    def __init__(self, nodes: NodeColumns, wrong: dict[str, int]) -> None:
        self.n_groups = len(COLORS)
        self.nodes = nodes
        self.wrong = wrong

    def goes(self, what: str) -> bool:
        if not self.wrong.get(what):
            return False
        self.wrong[what] -= 1
        return True

    def assign(self, slots: I32Array, out: I32Array) -> bool:
        if self.goes("assign"):
            raise ValueError("no color")
        for slot in slots.tolist():
            out[slot] = COLORS.index(self.nodes.labels_of(slot)["color"])
        return not self.goes("strange")


class RejectedColors(Colored, FilterGroups):
    def rejected(self) -> Mask | None:
        if self.goes("result"):
            raise ValueError("no result")
        return None if self.goes("outdated") else np.array([True, False, False])


class ScoredColors(Colored, ScoreGroups):
    def scores(self, sizes: I64Array) -> I64Array | None:
        if self.goes("result"):
            raise ValueError("no result")
        return None if self.goes("outdated") else np.array([90, 20, 10], dtype=np.int64)


class ByColor(Plugin):
    """Rejects red nodes, or prefers them to green and blue ones."""

    name = "ByColor"
    filter_reads = score_reads = Reads.CLUSTER
    scores_in_range = True

    def __init__(self, **wrong: int) -> None:
        self.wrong = wrong
        self.built = 0

    def pod_key(self, pod: Pod) -> object:
        return ("all",)

    def filter_columns(self, cycle: Cycle, nodes: NodeColumns, out: Verdicts) -> None:
        out.reject(nodes.has_label("color", "red"), Status.unschedulable("red"))

    def score_columns(self, cycle: Cycle, nodes: NodeColumns, out: Scores) -> None:
        for slot in out.rows.tolist():
            color = nodes.labels_of(slot)["color"]
            out.values[slot] = {"red": 90, "green": 20, "blue": 10}[color]

    def _groups(self, made: Any, cycle: Cycle) -> Any:
        self.built += 1
        if self.wrong.get("none"):
            return None
        if self.wrong.get("unprepared"):
            raise MissingStateError("not prepared")
        if self.wrong.get("groups"):
            self.wrong["groups"] -= 1
            raise ValueError("no groups")
        return made(cycle.cluster.nodes, self.wrong)

    def filter_groups(self, cycle: Cycle) -> FilterGroups | None:
        found: FilterGroups | None = self._groups(RejectedColors, cycle)
        return found

    def score_groups(self, cycle: Cycle) -> ScoreGroups | None:
        found: ScoreGroups | None = self._groups(ScoredColors, cycle)
        return found


def runner(point: str, plugin: ByColor, colors: tuple[str, ...] = COLORS * 2) -> PluginRunner:
    cluster = Cluster()
    for number, color in enumerate(colors):
        cluster.put(make_node(f"n{number}", labels={"color": color}))
    other = type("Other", (ByColor,), {"name": "Other"})()
    score = ((plugin, 2),) if point == "Score" else ((other, 2),)
    filters = (plugin,) if point == "Filter" else ()
    return PluginRunner(Profile(scheduler_name="s", filter=filters, score=score), cluster)


BEST = {"Filter": ({"n1", "n4"}, 40, 4), "Score": ({"n0", "n3"}, 180, 6)}


def decided(made: PluginRunner, point: str, number: int) -> None:
    decision = made.decide(make_pod(f"p{number}"), cycle_number=number)
    names, total, feasible_count = BEST[point]
    assert decision.error is None, decision.error.message
    assert decision.node in names
    assert (decision.total, decision.feasible_count) == (total, feasible_count)


@pytest.mark.parametrize("point", ["Filter", "Score"])
@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param({}, id="nothing"),
        pytest.param({"none": 1}, id="there are no groups"),
        pytest.param({"unprepared": 1}, id="what they need was not prepared"),
        pytest.param({"strange": 1}, id="a node belongs to none"),
        pytest.param({"outdated": 1}, id="they are outdated once"),
        pytest.param({"outdated": 3}, id="they are outdated several times"),
    ],
)
def test_groups_change_no_decision(point: str, wrong: dict[str, int]) -> None:
    made = runner(point, ByColor(**wrong))
    for number in range(6):
        decided(made, point, number)
    made.cluster.delete(make_node("n0"))
    made.cluster.put(make_node("n0", labels={"color": COLORS[0]}))
    decided(made, point, 6)


@pytest.mark.parametrize("point", ["Filter", "Score"])
@pytest.mark.parametrize(
    ("wrong", "text"), [("groups", "no groups"), ("assign", "no color"), ("result", "no result")]
)
def test_groups_that_fail_are_an_error_of_one_cycle(point: str, wrong: str, text: str) -> None:
    made = runner(point, ByColor(**{wrong: 1}))
    decisions = [made.decide(make_pod(f"p{number}"), cycle_number=number) for number in range(4)]
    errors = [decision.error.message for decision in decisions if decision.error is not None]
    assert len(errors) == 1
    assert f"ValueError: {text}" in errors[0]
    assert "ByColor" in errors[0]
    assert ("filter" in errors[0]) is (point == "Filter")
    for number in range(5, 8):
        decided(made, point, number)


@pytest.mark.parametrize("point", ["Filter", "Score"])
@pytest.mark.parametrize("colors", [("green",), ("green", "blue")])
def test_outdated_groups_are_built_again(point: str, colors: tuple[str, ...]) -> None:
    plugin = ByColor()
    made = runner(point, plugin, colors)
    built = []
    for number in range(8):
        plugin.wrong["outdated"] = 1 if number == 5 else 0
        assert made.decide(make_pod(f"p{number}"), cycle_number=number).node == "n0"
        built.append(plugin.built)
    assert built[3] == built[5]
    assert built[6] == built[7] == built[5] + 1


class Emptier(Plugin):
    """Prefers nodes without pods."""

    name = "Emptier"
    score_reads = Reads.NODE | Reads.PODS

    def pod_key(self, pod: Pod) -> object:
        return ()

    def score(self, cycle: Cycle, node: NodeView) -> int:
        return 0 if node.pods else 50


@pytest.mark.parametrize("strange_at", [None, 2, 3, 4])
def test_a_changed_node_that_belongs_to_no_group_gets_its_new_total(strange_at: int | None) -> None:
    cluster = Cluster()
    for number in range(5):
        cluster.put(make_node(f"n{number}", labels={"color": "green"}))
    plugin = ByColor()
    profile = Profile(scheduler_name="s", score=((plugin, 1), (Emptier(), 1)))
    made = PluginRunner(profile, cluster)
    found = []
    for number in range(5):
        plugin.wrong["strange"] = int(number == strange_at)
        decision = made.decide(make_pod(f"p{number}"), cycle_number=number)
        assert (decision.total, decision.tie_count) == (70, 5 - number)
        cluster.place(make_pod(f"p{number}"), decision.slot)
        found.append(decision.node)
    assert sorted(found) == [f"n{number}" for number in range(5)]


def test_two_scores_that_all_nodes_normalize_are_not_grouped() -> None:
    cluster = Cluster()
    for number, color in enumerate(COLORS):
        cluster.put(make_node(f"n{number}", labels={"color": color}))
    plugin, other = ByColor(), type("Other", (ByColor,), {"name": "Other"})()
    profile = Profile(scheduler_name="s", score=((plugin, 1), (other, 3)))
    made = PluginRunner(profile, cluster)
    for number in range(4):
        decision = made.decide(make_pod(f"p{number}"), cycle_number=number)
        assert (decision.node, decision.total, decision.tie_count) == ("n0", 360, 1)


def test_the_effort_of_groups_is_one_search_for_all_nodes() -> None:
    plugin = ByColor()
    made = runner("Score", plugin, COLORS * 6)
    for number in range(6):
        node = made.decide(make_pod(f"p{number}", cpu="1"), cycle_number=number).node
        made.cluster.put(make_pod(f"p{number}", cpu="1", node=node))
    assert plugin.built == 1


def test_scores_that_may_be_out_of_range_have_no_groups() -> None:
    wide = type("Wide", (ByColor,), {"name": "Wide", "scores_in_range": False})()
    made = runner("Score", wide)
    for number in range(3):
        decided(made, "Score", number)
    assert wide.built == 0


class Unprepared(Plugin):
    """Fails at PreScore."""

    name = "Unprepared"
    score_reads = Reads.NODE

    def pod_key(self, pod: Pod) -> object:
        return ()

    def pre_score(self, cycle: Cycle) -> Status:
        return Status.error("not now")

    def score(self, cycle: Cycle, node: NodeView) -> int:
        return 1


def test_no_groups_are_built_for_a_cycle_that_fails_anyway() -> None:
    plugin, unprepared = ByColor(), Unprepared()
    cluster = Cluster()
    for number, color in enumerate(COLORS * 2):
        cluster.put(make_node(f"n{number}", labels={"color": color}))
    profile = Profile(
        scheduler_name="s",
        filter=(plugin,),
        pre_score=(unprepared,),
        score=((unprepared, 1),),
    )
    made = PluginRunner(profile, cluster)
    for number in range(4):
        error = made.decide(make_pod(f"p{number}"), cycle_number=number).error
        assert error is not None
        assert "not now" in error.message
    assert plugin.built == 0


@pytest.mark.parametrize("point", ["Filter", "Score"])
def test_outdated_groups_give_no_slot(point: str) -> None:
    plugin = ByColor()
    made = runner(point, plugin)
    for number in range(3):
        decided(made, point, number)
    ranking = made.ranking_of(make_pod("p3"))
    assert ranking.pick(0) in {0, 1}
    plugin.wrong["outdated"] = 1
    assert ranking.pick(0) == -1
    decided(made, point, 4)
