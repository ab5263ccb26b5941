from typing import Any

import pytest

from podwright.scheduler.preemption import Candidate, Criterion, Limits, choose, dry_run
from podwright.scheduler.preemption.tests.situations import (
    NOW_NS,
    cluster_of,
    failed_cycle,
    node,
    pod,
)

_LEAST = -(2**31)
LATE, EARLY = "2026-01-01T00:00:09Z", "2026-01-01T00:00:01Z"


def candidate(node, *victims, violations=0):
    pods = [pod(f"{node}-{i}", priority=p, started=s) for i, (p, s) in enumerate(victims)]
    return Candidate(node=node, victims=tuple(pods), pdb_violations=violations)


@pytest.mark.parametrize(
    ("worse", "better", "criterion"),
    [
        pytest.param(
            candidate("a", (1, LATE), violations=1),
            candidate("b", (9, EARLY), (9, EARLY)),
            Criterion.FEWEST_VIOLATIONS,
            id="budgets are the first criterion",
        ),
        pytest.param(
            candidate("a", (9, LATE)),
            candidate("b", (8, EARLY), (8, EARLY)),
            Criterion.LOWEST_FIRST_VICTIM,
            id="the most important victim is as unimportant as possible",
        ),
        pytest.param(
            candidate("a", (9, LATE), (8, LATE)),
            candidate("b", (9, EARLY), (-5, EARLY)),
            Criterion.SMALLEST_SUM,
            id="smaller sum of priorities",
        ),
        pytest.param(
            candidate("a", (9, LATE), (-5, LATE)),
            candidate("b", (9, EARLY)),
            Criterion.SMALLEST_SUM,
            id="one victim less is a smaller sum, also if its priority is negative",
        ),
        pytest.param(
            candidate("a", (9, LATE), (_LEAST, LATE)),
            candidate("b", (9, EARLY)),
            Criterion.FEWEST_VICTIMS,
            id="the number decides only with the least priority there is",
        ),
        pytest.param(
            candidate("a", (9, EARLY), (8, LATE)),
            candidate("b", (9, LATE), (8, EARLY)),
            Criterion.LATEST_START,
            id="the most important victims started later",
        ),
        pytest.param(
            candidate("a", (9, LATE)),
            candidate("b", (9, "")),
            Criterion.LATEST_START,
            id="not started is started now",
        ),
    ],
)
def test_the_criteria_are_applied_in_order(worse, better, criterion):
    choice = choose([worse, better], now_ns=NOW_NS)
    assert choice.candidate is better
    assert choice.criterion is criterion
    assert choice.acceptable == ("b",)


def test_equal_candidates_are_ordered_by_name():
    choice = choose([candidate(name, (1, LATE)) for name in "cab"], now_ns=NOW_NS)
    assert choice.candidate.node == "a"
    assert choice.acceptable == ("a", "b", "c")
    assert choice.criterion is Criterion.NAME


def test_a_single_candidate_needs_no_criterion():
    assert choose([candidate("a", (1, LATE))], now_ns=NOW_NS).criterion is None


def test_acceptable_nodes_are_equal_to_tuples_and_to_nothing_else():
    cluster = cluster_of(*(node(name, cpu="1") for name in "ba"))
    for name in "ab":
        cluster.place(pod(f"on-{name}", started=EARLY), cluster.nodes.slot_of[name])
    result = dry_run(failed_cycle(pod("p", priority=5), cluster), Limits())
    acceptable: Any = choose(result.candidates, now_ns=NOW_NS).acceptable
    again = choose(result.candidates, now_ns=NOW_NS).acceptable
    assert acceptable == again == ("a", "b")
    assert acceptable != ("a",)
    assert acceptable != ["a", "b"]
    assert (len(acceptable), acceptable[1], acceptable[:1]) == (2, "b", ("a",))
    assert repr(acceptable) == "('a', 'b')"
    assert acceptable[:] is acceptable[:], "the names are sorted once"
