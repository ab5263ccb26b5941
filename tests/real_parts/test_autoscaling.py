"""What the comparison with cluster-autoscaler says about loads whose sizes differ."""

from __future__ import annotations

from tests.real_parts.autoscaling.compare import Choice, explanation, turning_points

EQUAL = Choice("10:00:01", {"small": 3}, {"small": 3})
OTHER = Choice("10:00:02", {"small": -2}, {"small": -1, "large": -1})


def test_equal_decisions_are_those_of_another_cluster():
    found = explanation([EQUAL, EQUAL])
    assert found.startswith("all 2 decisions are equal for the same objects: pods were on other")


def test_a_decision_that_differs_is_named():
    found = explanation([EQUAL, OTHER, EQUAL])
    assert found == "1 of 3 decisions differ for the same objects, first at 10:00:02"


def test_a_removal_in_two_loops_is_one_decision():
    ours = {"small": -2, "large": -1}
    parts = [Choice("10:00:02", {"small": -2}, ours), Choice("10:00:03", {"large": -1}, ours)]
    found = explanation([EQUAL, *parts])
    assert found.startswith("all 2 decisions are equal for the same objects (some removals a loop")


def test_sizes_are_compared_where_they_turn():
    assert turning_points([0, 0, 2, 5, 5, 4, 1, 3]) == [0, 5, 1, 3]
