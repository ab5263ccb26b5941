"""Decisions of a runner: ties, kept totals, nodes tried first, and known decisions repeated."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.objects import with_nominated_node_name
from podwright.scheduler.columns import Cluster, Reads
from podwright.scheduler.framework import (
    Cycle,
    NodeView,
    Plugin,
    PluginRunner,
    Profile,
    StateKey,
    Status,
)
from podwright.scheduler.framework.profile import TieRule
from podwright.testing import make_node, make_pod


class Rates(Plugin):
    """Scores nodes by a label, and rejects those without it."""

    name = "Rates"
    filter_reads = score_reads = Reads.NODE

    def pod_key(self, pod: Any) -> object:
        return ()

    def filter(self, cycle: Cycle, node: NodeView) -> Status:
        return Status.OK if "rate" in node.labels else Status.unschedulable("no rate")

    def score(self, cycle: Cycle, node: NodeView) -> int:
        return int(node.labels["rate"])


class Halves(Rates):
    """Scores all nodes alike."""

    name = "Halves"

    def score(self, cycle: Cycle, node: NodeView) -> int:
        return 50


def runner(rates: dict[str, str], *, weight: int = 1, **options: Any) -> PluginRunner:
    """Return a runner over nodes with these rates; an empty one is none."""
    cluster = Cluster()
    for name, rate in rates.items():
        cluster.put(make_node(name, labels={"rate": rate} if rate else {}))
    rates_plugin, halves = Rates(), Halves()
    settings = ("tie_rule", "percentage_of_nodes_to_score")
    given = {key: options.pop(key) for key in settings if key in options}
    profile = Profile(
        scheduler_name="s",
        filter=(rates_plugin,),
        score=((rates_plugin, weight), (halves, 1)),
        **given,
    )
    return PluginRunner(profile, cluster, **options)


EQUAL = {"b": "7", "c": "7", "a": "7", "0": "1"}


def test_the_first_of_equals_is_the_one_with_the_smallest_name() -> None:
    decision = runner(EQUAL, tie_rule=TieRule.FIRST).decide(make_pod("p"), cycle_number=1)
    assert (decision.node, decision.tie_count, decision.total) == ("a", 3, 57)


@pytest.mark.parametrize("tie_rule", [TieRule.DRAWN, TieRule.HEAP])
def test_a_node_with_the_greatest_total_is_taken(tie_rule: TieRule) -> None:
    made = runner(EQUAL, tie_rule=tie_rule)
    decisions = [made.decide(make_pod("p"), cycle_number=number) for number in range(20)]
    assert {decision.tie_count for decision in decisions} == {3}
    assert {decision.node for decision in decisions} <= {"a", "b", "c"}
    assert len({decision.node for decision in decisions}) > 1 or tie_rule is TieRule.HEAP


@pytest.mark.parametrize("tie_rule", [TieRule.DRAWN, TieRule.HEAP])
@pytest.mark.parametrize(
    ("percentage", "count"),
    [
        pytest.param(0, 100, id="a share that the number of nodes decides: 49 %"),
        pytest.param(60, 120, id="a share that is set"),
        pytest.param(100, 200, id="all, by a share"),
    ],
)
def test_a_share_of_the_nodes_is_searched_from_where_the_last_search_ended(
    tie_rule: TieRule, percentage: int, count: int
) -> None:
    # Upstream: pkg/scheduler/schedule_one.go, findNodesThatPassFilters
    nodes = {f"n{number:03}": str(number // 4) for number in range(200)}
    made = runner(nodes, tie_rule=tie_rule, percentage_of_nodes_to_score=percentage)
    start = 0
    for number in range(4):
        assert made.repeat(make_pod("p"), "n199") is None, "a decision moves the start"
        searched = [place % 200 for place in range(start, start + count)]
        decision = made.decide(make_pod("p"), cycle_number=number)
        assert (decision.feasible_count, decision.evaluated_count) == (count, count)
        assert decision.total == 50 + max(searched) // 4
        start = (start + count) % 200
        assert made.search_position() == start


def test_totals_are_kept_and_passed_on() -> None:
    made = runner({"a": "10", "b": "", "c": "30"}, keeps_totals=True)
    received = []
    made.on_scored = lambda pod, totals, slots: received.append((pod, totals, slots))
    pod = make_pod("p")
    assert made.decide(pod, cycle_number=1).node == "c"
    ((of, totals, slots),) = received
    assert of is pod
    assert totals.tolist() == [60, -1, 80]
    assert slots.tolist() == [0, 2]
    made.cluster.put(make_node("c"))
    assert made.decide(pod, cycle_number=2).node == "a"
    assert made.scored is None, "one feasible node needs no score"
    assert len(received) == 1


@pytest.mark.parametrize(
    ("nominated", "suggested", "node", "feasible_count"),
    [
        pytest.param("", "a", "a", 1, id="a suggested node that passes is taken"),
        pytest.param("", "b", "c", 2, id="one that does not is not"),
        pytest.param("", "gone", "c", 2, id="nor one that does not exist"),
        pytest.param("", "", "c", 2, id="no suggestion"),
        pytest.param("a", "c", "a", 1, id="a nominated node comes first"),
        pytest.param("b", "a", "c", 2, id="also if it does not pass"),
    ],
)
def test_a_node_is_tried_first(
    nominated: str, suggested: str, node: str, feasible_count: int
) -> None:
    made = runner({"a": "10", "b": "", "c": "30"}, keeps_totals=True)
    statuses: dict[str, Status | None] = {}

    def suggest(filter_node: Any) -> str:
        statuses.update({name: filter_node(name) for name in ("a", "b", "gone")})
        return suggested

    pod = with_nominated_node_name(make_pod("p"), nominated)
    for number in range(3):
        decision = made.decide(pod, cycle_number=number, suggest=suggest)
        assert (decision.node, decision.feasible_count) == (node, feasible_count)
        assert decision.evaluated_count == (1 if feasible_count == 1 else 3)
    if not nominated:
        assert statuses["a"] == Status.OK
        assert statuses["b"] == Status.unschedulable("no rate").by("Rates")
        assert statuses["gone"] is None


def test_other_weights_change_totals_and_nothing_else() -> None:
    made = runner({"a": "10", "c": "30"}, weight=2)
    made.node_search.next_start = 1
    other = made.with_weights({"Rates": 5})
    assert made.weights == {"Rates": 2, "Halves": 1}
    assert other.weights == {"Rates": 5, "Halves": 1}
    assert other.search_position() == 1
    decisions = [one.decide(make_pod("p"), cycle_number=1) for one in (made, other)]
    assert [(one.node, one.total) for one in decisions] == [("c", 110), ("c", 200)]


def test_a_known_decision_is_repeated_without_filters() -> None:
    made = runner({"a": "10", "b": ""})
    known = made.repeat(make_pod("p"), "b")
    assert known is not None
    assert (known.node, known.slot) == ("b", 1)
    assert (known.feasible_count, known.evaluated_count, known.tie_count, known.total) == (-1,) * 4


@pytest.mark.parametrize("why", ["no such node", "nominated", "nominations", "ties", "position"])
def test_a_decision_that_may_change_the_runner_is_not_repeated(why: str) -> None:
    made = runner({"a": "10", "b": "20"}, tie_rule=TieRule.HEAP if why == "ties" else TieRule.DRAWN)
    pod = with_nominated_node_name(make_pod("p"), "a" if why == "nominated" else "")
    if why == "nominations":
        made.cluster.nominate(make_pod("other"), "a")
    if why == "position":
        made.restore_search_position(1)
    assert made.repeat(pod, "gone" if why == "no such node" else "a") is None


@pytest.mark.parametrize("keeps_totals", [False, True])
def test_the_totals_of_the_last_cycle_are_kept_on_request(keeps_totals: bool) -> None:
    made = runner({"a": "10", "b": "20", "c": ""}, keeps_totals=keeps_totals)
    shown: list[object] = []
    made.on_scored = lambda pod, totals, slots: shown.append((pod.name, totals, slots))
    made.decide(make_pod("p"), cycle_number=1)
    assert (made.scored is not None) is keeps_totals
    assert len(shown) == keeps_totals
    if made.scored is not None:
        totals, slots = made.scored
        assert shown == [("p", totals, slots)]
        assert (totals.tolist(), sorted(slots.tolist())) == ([60, 70, -1], [0, 1])
    made.cluster.put(make_node("b"))
    made.decide(make_pod("q"), cycle_number=2)
    assert made.scored is None, "one feasible node is not scored"


class Unprepared(Rates):
    """Fails before it looks at a node."""

    name = "Unprepared"

    def pre_filter(self, cycle: Cycle) -> Status:
        raise ValueError("no")


def test_a_decision_is_not_repeated_where_it_would_fail() -> None:
    plugin = Unprepared()
    profile = Profile(
        scheduler_name="s", pre_filter=(plugin,), filter=(plugin,), score=((plugin, 1),)
    )
    cluster = Cluster()
    cluster.put(make_node("a", labels={"rate": "1"}))
    made = PluginRunner(profile, cluster)
    assert made.repeat(make_pod("p"), "a") is None
    assert made.decide(make_pod("p"), cycle_number=1).error is not None


def test_draws_are_those_of_seed_0_unless_another_is_given() -> None:
    def chosen(**options: Any) -> list[str]:
        found = runner(EQUAL, **options)
        return [found.decide(make_pod("web"), cycle_number=number).node for number in range(1, 21)]

    assert runner(EQUAL).seed == 0
    assert chosen() == chosen(seed=0)
    assert chosen() != chosen(seed=1)
    assert chosen() != chosen(seed=-1)


class Replaces(Plugin):
    """Rejects nodes in its own array."""

    name = "Replaces"
    filter_reads = Reads.NODE

    def filter_columns(self, cycle: Cycle, nodes: Any, out: Any) -> None:
        out.codes = out.codes.copy()
        rejected = ~nodes.has_label("rate", "7")
        out.reject(rejected, Status.unschedulable("another rate"))


def test_a_plugin_may_replace_the_array_of_its_verdicts() -> None:
    cluster = Cluster()
    for name, rate in EQUAL.items():
        cluster.put(make_node(name, labels={"rate": rate}))
    found = PluginRunner(Profile(scheduler_name="s", filter=(Replaces(),)), cluster)
    for number in range(8):
        decision = found.decide(make_pod(f"web{number}"), cycle_number=number)
        assert decision.node in {"a", "b", "c"}
    explanation = found.explain(make_pod("web"), cycle_number=1, now_ns=0)
    assert explanation.rejected.keys() == {"0"}
    assert explanation.attempt == 0, "of no recorded run"


def test_the_cycle_of_a_pod_alone_has_a_copy_of_the_state() -> None:
    key: StateKey[str] = StateKey("test/own")
    cluster = Cluster()
    cluster.put(make_node("n"))
    made = PluginRunner(Profile(scheduler_name="s"), cluster)
    one = make_pod("p")
    made.decide(one, cycle_number=1)
    made.ranking.cycle.write(key, "shared")
    own = made.own_cycle(one)
    assert (own.pod, own.read(key)) == (one, "shared")
    own.write(key, "own")
    assert made.ranking.cycle.read(key) == "shared"
    assert made.own_cycle(one).read(key) == "shared"
