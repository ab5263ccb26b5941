"""Scores by a shape, and what identifies a profile."""

from __future__ import annotations

import pytest

from podwright.scheduler.config import UtilizationShapePoint
from podwright.scheduler.framework import Plugin, Profile
from podwright.scheduler.framework.profile import TieRule, shape_table


@pytest.mark.parametrize(
    ("points", "utilization", "score"),
    [
        # Upstream: plugins/helper/shape_score_test.go, TestBrokenLinearFunction
        pytest.param([(10, 1), (90, 9)], 0, 10, id="before the first point"),
        pytest.param([(10, 1), (90, 9)], 10, 10, id="at the first point"),
        pytest.param([(10, 1), (90, 9)], 15, 15, id="between two points"),
        pytest.param([(10, 1), (90, 9)], 89, 89, id="hardly before the last one"),
        pytest.param([(10, 1), (80, 9)], 80, 90, id="at the last point"),
        pytest.param([(10, 1), (80, 9)], 100, 90, id="behind it"),
        pytest.param([(0, 2), (40, 10), (100, 0)], 20, 60, id="the first of two lines"),
        pytest.param([(0, 2), (40, 10), (100, 0)], 41, 99, id="a fall is cut towards zero"),
        pytest.param([(0, 2), (40, 10), (100, 0)], 70, 50, id="the second of two lines"),
        pytest.param([(0, 0), (30, 1)], 29, 9, id="a rise is cut down"),
        pytest.param([(0, 2), (40, 2), (100, 2)], 70, 20, id="a flat line"),
    ],
)
def test_the_score_of_a_utilization(
    points: list[tuple[int, int]], utilization: int, score: int
) -> None:
    shape = [UtilizationShapePoint(utilization=at, score=value) for at, value in points]
    table = shape_table(shape)
    assert (len(table), table[utilization]) == (101, score)


class Filters(Plugin):
    name = "Filters"


class Scores(Plugin):
    name = "Scores"


def test_the_plugins_of_a_profile() -> None:
    filters, scores = Filters(), Scores()
    profile = Profile(
        scheduler_name="s", pre_filter=(filters,), filter=(filters,), score=((scores, 3),)
    )
    assert profile.deciding == (filters, scores)
    assert profile.all_plugins() == (filters, scores)
    names = {point: names for point, names in profile.fingerprint() if names}
    assert names == {"pre_filter": ("Filters",), "filter": ("Filters",), "score": ("Scores",)}


def test_plugins_of_no_decision_are_part_of_a_profile() -> None:
    binds, scores = Filters(), Scores()
    profile = Profile(scheduler_name="s", bind=(binds,), pre_score=(scores,))
    assert profile.deciding == (scores,)
    assert set(profile.all_plugins()) == {binds, scores}


def test_a_profile_draws_among_equals_and_evaluates_every_node_unless_it_says_otherwise():
    profile = Profile(scheduler_name="s")
    assert profile.tie_rule is TieRule.DRAWN
    assert profile.percentage_of_nodes_to_score is None
    assert profile.draws_preemption_offset is True
    assert (profile.deciding, profile.all_plugins()) == ((), ())
