import numpy as np
import pytest

from podwright.scheduler.classic import nodes_to_find as classic_nodes_to_find
from podwright.scheduler.columns import Cluster
from podwright.scheduler.framework import Plugin, Profile
from podwright.scheduler.framework.node_search import NodeSearch, nodes_to_find
from podwright.scheduler.framework.prepare import PreFilterOutcome
from podwright.scheduler.framework.profile import TieRule
from podwright.testing import make_node

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
