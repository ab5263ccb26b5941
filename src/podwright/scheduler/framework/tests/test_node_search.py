import numpy as np
import pytest

from podwright.apimachinery.objects import with_nominated_node_name
from podwright.scheduler.classic import nodes_to_find as classic_nodes_to_find
from podwright.scheduler.columns import Cluster
from podwright.scheduler.config import Extender
from podwright.scheduler.framework import Plugin, Profile, Status
from podwright.scheduler.framework.extenders.extender_calls import CalledExtender
from podwright.scheduler.framework.node_search import NodeSearch, Search, nodes_to_find
from podwright.scheduler.framework.prepare import PreFilterOutcome
from podwright.scheduler.framework.profile import TieRule
from podwright.testing import make_node, make_pod

ADAPTIVE = [
    pytest.param(0, 0, id="none"),
    pytest.param(1, 1, id="one"),
    pytest.param(99, 99, id="fewer than a hundred: all"),
    pytest.param(100, 100, id="a hundred, of which 50 % would be fewer"),
    pytest.param(124, 100, id="50 % of 124"),
    pytest.param(200, 100, id="49 % of 200"),
    pytest.param(208, 101, id="49 % of 208, cut down"),
    pytest.param(209, 102, id="49 % of 209, cut down"),
    pytest.param(1_000, 420, id="42 %"),
    pytest.param(4_999, 549, id="11 %, the last node of it"),
    pytest.param(5_000, 500, id="10 %"),
    pytest.param(5_499, 384, id="7 %, the last node of it"),
    pytest.param(5_500, 330, id="6 %"),
    pytest.param(5_624, 337, id="6 %, the last node of it"),
    pytest.param(5_625, 281, id="5 %"),
    pytest.param(5_749, 287, id="5 %, by the rule itself"),
    pytest.param(5_750, 287, id="5 % and not 4"),
    pytest.param(5_875, 293, id="5 % and not 3"),
    pytest.param(6_125, 306, id="5 % and not 1"),
    pytest.param(6_250, 312, id="5 % and not 0"),
    pytest.param(6_375, 318, id="5 %, the lower limit"),
    pytest.param(10_000, 500, id="5 % of many"),
    pytest.param(100_000, 5_000, id="5 % of very many"),
]

SET = [
    pytest.param(99, 1, 99, id="fewer than a hundred: all"),
    pytest.param(100, 1, 100, id="at least a hundred"),
    pytest.param(1_000, 1, 100, id="1 % is fewer than a hundred"),
    pytest.param(2_000, 5, 100, id="5 % is exactly a hundred"),
    pytest.param(2_020, 5, 101, id="5 % is one more"),
    pytest.param(2_039, 5, 101, id="cut down"),
    pytest.param(10_000, 1, 100, id="1 %: the floor of 5 % is for the adaptive share only"),
    pytest.param(20_000, 4, 800, id="4 %: likewise"),
    pytest.param(150, 99, 148, id="99 %"),
    pytest.param(150, 100, 150, id="all"),
    pytest.param(101, 100, 101, id="all, of hardly more than a hundred"),
]


@pytest.mark.parametrize("function", [nodes_to_find, classic_nodes_to_find])
@pytest.mark.parametrize(("node_count", "expected"), ADAPTIVE)
def test_without_a_percentage_the_size_of_the_cluster_decides(function, node_count, expected):
    assert function(node_count, 0) == expected


@pytest.mark.parametrize("function", [nodes_to_find, classic_nodes_to_find])
@pytest.mark.parametrize(("node_count", "percentage", "expected"), SET)
def test_a_percentage_is_taken_as_it_is_with_a_floor_of_a_hundred_nodes(
    function, node_count, percentage, expected
):
    assert function(node_count, percentage) == expected


@pytest.mark.parametrize("node_count", [0, 99, 100, 5_000, 10_000])
def test_without_sampling_every_node_is_evaluated(node_count):
    assert nodes_to_find(node_count, None) == node_count


@pytest.mark.parametrize("node_count", [100, 1_000, 5_750, 10_000])
def test_negative_percentages_of_the_classic_rules_are_adaptive(node_count):
    assert classic_nodes_to_find(node_count, -1) == classic_nodes_to_find(node_count)


SCORED = ((Plugin(), 1),)


@pytest.mark.parametrize(
    ("options", "examined", "next_start"),
    [
        pytest.param({"score": SCORED}, [0, 1, 2, 3], 1, id="all nodes, in any order"),
        pytest.param(
            {"score": SCORED, "tie_rule": TieRule.HEAP}, [1, 2, 3, 0], 1, id="the order breaks ties"
        ),
        pytest.param(
            {"score": SCORED, "percentage_of_nodes_to_score": 50},
            [1, 2, 3, 0],
            1,
            id="a sample is taken in the order, too",
        ),
        pytest.param({}, [1, 2], 3, id="up to the first feasible node, which needs no score"),
    ],
)
def test_a_search_starts_where_the_last_one_ended(options, examined, next_start):
    # Upstream: pkg/scheduler/schedule_one.go, nextStartNodeIndex
    cluster = Cluster()
    for name in ("a", "b", "c", "d"):
        cluster.put(make_node(name))
    search = NodeSearch(Profile(scheduler_name="s", **options), cluster, ())
    search.next_start = 1
    found = search.run(np.array([5, -1, 5, 5]), PreFilterOutcome())
    assert (found.examined.tolist(), found.next_start) == (examined, next_start)


@pytest.mark.parametrize(
    ("options", "names", "examined", "next_start"),
    [
        pytest.param(
            {"score": SCORED}, {"d", "b", "gone"}, [3, 1], 3, id="those that there are, by name"
        ),
        pytest.param({}, {"d", "b"}, [3, 1], 3, id="up to the first feasible one"),
        pytest.param({}, {"c", "d"}, [3], 2, id="which may be the first"),
        pytest.param({}, {"gone"}, [], 1, id="none of them"),
    ],
)
def test_a_search_among_named_nodes_moves_the_start_of_the_next_one(
    options, names, examined, next_start
):
    # Upstream: pkg/scheduler/schedule_one.go, findNodesThatFitPod
    cluster = Cluster()
    for name in ("a", "b", "c", "d"):
        cluster.put(make_node(name))
    search = NodeSearch(Profile(scheduler_name="s", **options), cluster, ())
    search.next_start = 1
    found = search.run(np.array([5, -1, 5, 5]), PreFilterOutcome(node_names=frozenset(names)))
    assert (found.examined.tolist(), found.start, found.next_start) == (examined, 1, next_start)


@pytest.mark.parametrize(
    ("verbs", "stops_at_one"),
    [
        pytest.param({}, True, id="no extender scores or filters"),
        pytest.param({"bind_verb": "b"}, True, id="one that binds"),
        pytest.param({"preempt_verb": "p"}, True, id="one that preempts"),
        pytest.param({"filter_verb": "f"}, False, id="one that filters"),
        pytest.param({"prioritize_verb": "p"}, False, id="one that scores"),
    ],
)
def test_one_node_is_enough_where_nothing_compares_nodes(verbs, stops_at_one):
    # Upstream: pkg/scheduler/schedule_one.go, findNodesThatPassFilters
    settings = Extender(url_prefix="http://e/", **verbs)
    extender = CalledExtender(settings=settings, index=0, managed=frozenset({"a.com/x"}))
    profile = Profile(scheduler_name="s")
    assert NodeSearch(profile, Cluster(), (extender,)).stops_at_one is stops_at_one
    scoring = Profile(scheduler_name="s", score=SCORED)
    assert not NodeSearch(scoring, Cluster(), (extender,)).stops_at_one


@pytest.mark.parametrize(
    ("options", "nominated", "names", "may"),
    [
        pytest.param({}, "", None, True, id="the first feasible node ends the search"),
        pytest.param({"score": SCORED}, "", None, False, id="every node is evaluated"),
        pytest.param({"score": SCORED}, "a", None, True, id="a nominated node is tried alone"),
        pytest.param({"score": SCORED}, "", {"a"}, True, id="some nodes are named"),
        pytest.param(
            {"score": SCORED, "percentage_of_nodes_to_score": 0}, "", None, True, id="a sample"
        ),
    ],
)
def test_when_nodes_may_be_left_out(options, nominated, names, may):
    search = NodeSearch(Profile(scheduler_name="s", **options), Cluster(), ())
    outcome = PreFilterOutcome(node_names=None if names is None else frozenset(names))
    pod = with_nominated_node_name(make_pod("p"), nominated)
    assert search.may_leave_out(pod, outcome) is may


@pytest.mark.parametrize(
    ("first", "status", "evaluated"),
    [
        pytest.param("", Status.OK, [2], id="no node comes first"),
        pytest.param("gone", Status.OK, [2], id="one that is gone"),
        pytest.param("a", Status.unschedulable("full"), [2, 0], id="one that was rejected before"),
        pytest.param("a", Status.error("broken"), [2], id="one at which a filter failed"),
        pytest.param("c", Status.unschedulable("full"), [2], id="one that the search came to"),
    ],
)
def test_the_node_that_comes_first_is_evaluated_besides(first, status, evaluated):
    # Upstream: pkg/scheduler/schedule_one.go, evaluateNominatedNode
    cluster = Cluster()
    for name in ("a", "b", "c"):
        cluster.put(make_node(name))
    search = NodeSearch(Profile(scheduler_name="s"), cluster, ())
    examined = np.array([2], dtype=np.int32)
    found = Search(examined=examined, start=0, next_start=0, target_count=1)
    assert search.evaluated_slots(first, found, lambda _slot: status).tolist() == evaluated
