"""How one field is compared, and what a difference says of it."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.objects import encode
from podwright.testing import make_node, make_pod
from podwright.testing.parity.comparison import (
    Comparison,
    compared,
    nanoseconds,
    only,
    start_time,
    time_of,
)
from podwright.testing.parity.sequence import Deciding, cluster_of, compare_preemption, compare_step


@pytest.mark.parametrize(("place", "prefix"), [("", ""), ("steps", "steps.")])
def test_fields_that_are_not_compared_are_differences_in_the_order_of_their_names(
    place: str, prefix: str
) -> None:
    expect = {name: f"value of {name}" for name in "gbfcead"}
    found = list(only(place, expect, ["b", "never"]))
    text = "a field that is not compared"
    assert found == [
        Comparison(f"{prefix}{name}", f"value of {name}", text, agrees=False) for name in "acdefg"
    ]


def test_a_field_that_is_left_out_stands_for_none_or_for_what_the_caller_says() -> None:
    actual: dict[str, Any] = {"a": 1, "b": None, "c": None, "d": "", "e": ""}
    found = list(compared("x", {"a": 2, "f": 3, "g": 4}, actual, also=["f"], c=0, d=""))
    assert found == [
        Comparison("x.g", 4, "a field that is not compared", agrees=False),
        Comparison("x.a", 2, 1, agrees=False),
        Comparison("x.b", None, None, agrees=True),
        Comparison("x.c", 0, None, agrees=False),
        Comparison("x.d", "", "", agrees=True),
        Comparison("x.e", None, "", agrees=False),
    ]


def test_times_of_vectors_are_exact() -> None:
    assert time_of("2000-01-01T00:00:00.000000001Z") == 946_684_800_000_000_001
    # As a float, the last product would be one less.
    assert [nanoseconds(each) for each in (0, 2, 0.5, 1.001, 4.35, 1e-9)] == [
        0, 2_000_000_000, 500_000_000, 1_001_000_000, 4_350_000_000, 1,
    ]  # fmt: skip
    assert [start_time(number) for number in (0, 1, 61)] == [
        "2026-01-02T00:00:00Z", "2026-01-02T00:00:01Z", "2026-01-02T00:01:01Z",
    ]  # fmt: skip
    with pytest.raises(AssertionError, match="invalid time 'soon'"):
        time_of("soon")


# ------------------------------------------------------------------------ preemption


def decided(*, room: bool, cpu: str = "4") -> Any:
    """Return the decision for a pod that has more priority than the one on the only node."""
    placed = make_pod("low", cpu="1" if room else "3", node="n")
    cluster = cluster_of([encode(each) for each in (make_node("n", cpu="4"), placed)])
    pod = make_pod("high", cpu=cpu if not room else "1", priority=7)
    cluster.put(pod)
    return Deciding(cluster).decide(pod, 0)


def preemption_fields(expect: dict[str, Any] | None, decision: Any) -> dict[str, Any]:
    """Return what differs, by field."""
    found = compare_preemption(expect, decision)
    return {each.field: each.actual for each in found if not each.agrees}  # type: ignore[union-attr]


def test_a_preemption_on_one_side_only_is_a_difference_of_the_whole() -> None:
    preempting, _ = decided(room=False)
    fitting, _ = decided(room=True)
    assert preemption_fields(None, preempting) == {"preemption": "Success"}
    assert preemption_fields(None, fitting) == {}
    assert preemption_fields({"status": "Success"}, fitting) == {"preemption": None}


def test_each_field_of_a_preemption_is_compared() -> None:
    preempting, winners = decided(room=False)
    assert winners == []
    fields = preemption_fields({}, preempting)
    assert fields == {
        "preemption.status": "Success",
        "preemption.message": "",
        "preemption.nominated_node": "n",
        "preemption.acceptable": ["n"],
        "preemption.candidates": {"n": {"victims": ["default/low"], "pdb_violations": 0}},
        "preemption.victims": ["default/low"],
    }
    same = {name.removeprefix("preemption."): value for name, value in fields.items()}
    assert preemption_fields(same, preempting) == {}


def test_a_preemption_without_candidates_has_no_fields_but_its_status() -> None:
    too_large, _ = decided(room=False, cpu="5")
    fields = preemption_fields({}, too_large)
    # The node is "" where none is nominated, and a vector says so.
    assert fields == {
        "preemption.status": "Unschedulable",
        "preemption.message": (
            "no new claims to deallocate, preemption: 0/1 nodes are available:"
            " 1 Preemption is not helpful for scheduling."
        ),
        "preemption.nominated_node": "",
    }


# ------------------------------------------------------------------------ steps


@pytest.mark.parametrize(
    ("changes", "fields"),
    [
        pytest.param({}, [], id="as it is"),
        pytest.param({"chosen": None}, ["chosen"], id="no node, with winners"),
        pytest.param({"chosen": "m"}, ["chosen"], id="a node that is no winner"),
        pytest.param(
            {"winners": ["m"]}, ["winners", "node"], id="other winners, among them not ours"
        ),
        pytest.param({"winners": ["m", "n"]}, ["winners", "winner_count"], id="one winner more"),
        pytest.param({"feasible": 2}, ["feasible"], id="one feasible node more"),
        pytest.param({"max_score": 0}, ["max_score"], id="another score"),
        pytest.param({"message": "no"}, ["message"], id="a message although it fits"),
    ],
)
def test_a_step_is_compared_field_by_field(changes: dict[str, Any], fields: list[str]) -> None:
    decision, winners = decided(room=True)
    expect = {
        "chosen": "n", "winners": ["n"], "feasible": 1, "max_score": decision.total,
    }  # fmt: skip
    found = compare_step(expect | changes, decision, winners)
    assert [each.field for each in found if not each.agrees] == fields  # type: ignore[union-attr]
