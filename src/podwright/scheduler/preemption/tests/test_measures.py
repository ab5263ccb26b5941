"""The values of the criteria, and the message if preemption does not help."""

import pytest

from podwright.scheduler.framework.status import Code
from podwright.scheduler.preemption.preempt import Preemption, conclude
from podwright.scheduler.preemption.tests.situations import (
    NOW_NS,
    attempt,
    cluster_of,
    failed_cycle,
    node,
    pod,
)
from podwright.scheduler.preemption.victims import Candidate, DryRun, measures_of

EACH = 1 << 31
SECOND_NS = 1_000_000_000
JANUARY_NS = 1_767_225_600 * SECOND_NS


def victim(name, priority, second=None):
    started = "" if second is None else f"2026-01-01T00:00:{second:02}Z"
    return pod(name, priority=priority, started=started)


def measured(*victims, violations=0):
    candidate = Candidate(node="n", victims=victims, pdb_violations=violations)
    (row,) = measures_of([candidate], NOW_NS).tolist()
    return row


@pytest.mark.parametrize(
    ("victims", "first", "total", "start_ns"),
    [
        pytest.param([victim("a", 5, 10)], 5, 5, JANUARY_NS + 10 * SECOND_NS, id="one"),
        pytest.param(
            [victim("a", 5, 20), victim("b", 5, 10)],
            5,
            10,
            JANUARY_NS + 10 * SECOND_NS,
            id="the earliest of the most important",
        ),
        pytest.param(
            [victim("a", 5, 20), victim("b", 4, 10)],
            5,
            9,
            JANUARY_NS + 20 * SECOND_NS,
            id="not the earliest of all",
        ),
        pytest.param(
            [victim("a", 4, 10), victim("b", 5, 20)],
            4,
            9,
            JANUARY_NS + 20 * SECOND_NS,
            id="the first named counts as such, also if it is not the most important",
        ),
        pytest.param([victim("a", -3)], -3, -3, NOW_NS, id="not started"),
        pytest.param(
            [victim("a", 5), victim("b", 5, 10)],
            5,
            10,
            JANUARY_NS + 10 * SECOND_NS,
            id="one of two not started",
        ),
    ],
)
def test_measures_of_a_candidate(victims, first, total, start_ns):
    n = len(victims)
    assert measured(*victims) == [0, first, total + EACH * n, n, -start_ns]
    assert measured(*victims, violations=2)[0] == 2


def test_every_candidate_has_its_row():
    found = measures_of(
        [Candidate(node=f"n{i}", victims=(victim("a", i, i),)) for i in range(3)], NOW_NS
    )
    assert found[:, 1].tolist() == [0, 1, 2]
    assert measures_of([], NOW_NS).shape == (0, 5)


# -------------------------------------------------------------------- no candidate


@pytest.mark.parametrize(
    ("errors", "message"),
    [
        pytest.param(("broken",), "broken", id="one"),
        pytest.param(("broken", "broken"), "broken", id="the same twice"),
        pytest.param(("broken", "worse", "broken"), "[broken, worse]", id="several"),
    ],
)
def test_errors_of_the_dry_run_are_reported_if_there_is_no_candidate(errors, message):
    failed = failed_cycle(pod("high", "3", priority=9), cluster_of(node("n1")))
    run = DryRun(errors=errors)
    result = conclude(failed, run, run.candidates)
    assert (result.status.code, result.status.message) == (Code.ERROR, message)
    assert result.nominated_node is None
    assert isinstance(result.details, Preemption)
    assert result.details.choice is None


def test_errors_do_not_matter_where_there_is_a_candidate():
    there = pod("low", "2", priority=1, on="n1")
    failed = failed_cycle(pod("high", "2", priority=9), cluster_of(node("n1"), there))
    run = DryRun(errors=("broken",), candidates=[Candidate(node="n1", victims=(there,))])
    result = conclude(failed, run, run.candidates)
    assert result.status.is_success
    assert result.nominated_node == "n1"


def test_the_message_omits_the_rest_if_all_nodes_were_tried():
    decision = attempt(
        pod("high", "2", priority=9),
        *[node(name) for name in ("n1", "n2")],
        *[pod(f"on-{name}", "1", priority=9, on=name) for name in ("n1", "n2")],
    )
    assert decision.post_filter.message.endswith(
        "preemption: 0/2 nodes are available: 2 No preemption victims found for incoming pod."
    )


@pytest.mark.parametrize(
    ("priority", "ends"),
    [
        pytest.param(8, True, id="lower"),
        pytest.param(9, False, id="equal"),
        pytest.param(10, False, id="higher"),
    ],
)
def test_only_nominations_of_lower_priority_to_the_chosen_node_end(priority, ends):
    decision = attempt(
        pod("high", "2", priority=9),
        node("n1"),
        pod("low", "2", priority=1, on="n1"),
        pod("nominated", "0", priority=priority, nominated="n1"),
        pod("elsewhere", "0", priority=1, nominated="n2"),
    )
    assert decision.post_filter.nominated_node == "n1"
    found = [one.metadata.name for one in decision.post_filter.details.cleared_nominations]
    assert found == (["nominated"] if ends else [])
