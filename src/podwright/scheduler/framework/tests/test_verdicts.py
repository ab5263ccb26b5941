"""Verdicts: codes of nodes, and the status behind each code."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from podwright.scheduler.framework import Code, Status
from podwright.scheduler.framework.rankings.scores import Scores
from podwright.scheduler.framework.rankings.verdicts import Verdicts

FULL, TAINTED = Status.unschedulable("full"), Status.unresolvable("tainted")


def verdicts(n_slots: int = 3, rows: tuple[int, ...] = (0, 1, 2)) -> Verdicts:
    return Verdicts(np.zeros(n_slots, dtype=np.int64), np.array(rows, dtype=np.int32))


def test_the_first_rejection_of_a_node_stays() -> None:
    out = verdicts()
    out.reject(np.array([True, False, False]), FULL)
    out.reject(np.array([True, True, False]), TAINTED)
    statuses = [out.status_of(code) for code in out.codes.tolist()]
    assert statuses == [FULL, TAINTED, Status.OK]
    assert out.code_of(Status.unschedulable("full")) == 1, "an equal status has the same code"
    assert not out.may_fail


def test_an_error_may_end_the_cycle() -> None:
    out = verdicts()
    out.reject_slot(1, Status.error("broken"))
    assert out.may_fail
    out.reject_slot(2, FULL)
    assert out.may_fail


@pytest.mark.parametrize(
    ("mask", "described"),
    [
        pytest.param(np.array([1, 0, 0]), "an array of int64 with shape (3,)", id="numbers"),
        pytest.param(
            np.array([True, False]), "an array of bool with shape (2,)", id="another length"
        ),
        pytest.param([True, False, False], "something of type list", id="a list"),
    ],
)
def test_a_mask_has_one_truth_value_per_slot(mask: Any, described: str) -> None:
    with pytest.raises(TypeError) as caught:
        verdicts().reject(mask, FULL)
    assert str(caught.value) == (
        f"reject takes a mask of bool with 3 entries, one per slot, not {described}"
    )


@pytest.mark.parametrize(
    "status",
    [
        pytest.param(Status.OK, id="success"),
        pytest.param(Status.skip(), id="skip"),
        pytest.param("full", id="a text"),
    ],
)
def test_only_a_rejection_rejects(status: Any) -> None:
    with pytest.raises(TypeError, match="a Status that rejects only"):
        verdicts().reject_slot(0, status)


@pytest.mark.parametrize(
    ("codes", "rows", "wrong"),
    [
        pytest.param([1, 0, 2], (0, 1, 2), 0, id="codes of statuses"),
        pytest.param([3, 0, 0], (0, 1, 2), 3, id="a code without a status"),
        pytest.param([0, -1, 0], (0, 1, 2), -1, id="a negative one"),
        pytest.param([3, 0, -1], (1,), 0, id="other rows are not checked"),
        pytest.param([3, 0, -1], (), 0, id="nor any if there is no row"),
    ],
)
def test_every_code_has_a_status(codes: list[int], rows: tuple[int, ...], wrong: int) -> None:
    out = verdicts(rows=rows)
    out.code_of(FULL)
    out.code_of(TAINTED)
    out.codes[:] = codes
    if not wrong:
        out.check()
        return
    with pytest.raises(ValueError, match=f"wrote the code {wrong}, which stands for no status"):
        out.check()


def test_codes_of_a_kernel_are_decoded_and_not_checked() -> None:
    out = verdicts()
    out.codes[:] = 0, 7, 8
    out.decode = {7: FULL, 8: TAINTED}.__getitem__
    out.check()
    assert [out.status_of(code) for code in out.codes.tolist()] == [Status.OK, FULL, TAINTED]


def test_codes_stay_integers() -> None:
    out = verdicts()
    replaced: Any = out
    replaced.codes = np.zeros(3)
    with pytest.raises(TypeError, match=r"`out\.codes` must stay an array of int64"):
        out.check()


@pytest.mark.parametrize(("n_slots", "codes"), [(5, [1, 1, 1, 0, 0]), (2, [1, 1])])
def test_codes_are_kept_as_nodes_come_and_go(n_slots: int, codes: list[int]) -> None:
    out = verdicts()
    out.reject(np.ones(3, dtype=np.bool_), FULL)
    out.lengthen(n_slots)
    assert out.codes.tolist() == codes


def test_cleared_verdicts_keep_the_codes_of_rejections_and_forget_failures():
    verdicts = Verdicts(np.zeros(2, dtype=np.int64), np.arange(2, dtype=np.int32))
    full = verdicts.code_of(Status.unschedulable("full"))
    verdicts.reject_slot(1, Status.unschedulable("full"))
    verdicts.clear()
    assert verdicts.codes.tolist() == [0, 0]
    assert verdicts.status_of(full) == Status.unschedulable("full")
    assert verdicts.code_of(Status.unschedulable("full")) == full
    for attempt in range(3):
        verdicts.reject_slot(0, Status.error(f"timeout {attempt}"))
        assert verdicts.may_fail
        verdicts.clear()
        assert not verdicts.may_fail
    assert verdicts.code_of(Status.error("timeout")) == 1


def test_equal_statuses_have_one_code_also_with_reasons_in_a_list():
    verdicts = Verdicts(np.zeros(1, dtype=np.int64), np.arange(1, dtype=np.int32))
    listed: Any = ["full"]
    code = verdicts.code_of(Status(Code.UNSCHEDULABLE, listed))
    assert verdicts.code_of(Status.unschedulable("full")) == code
    assert verdicts.status_of(code) == Status.unschedulable("full")


@pytest.mark.parametrize(
    ("rows", "values"),
    [
        pytest.param((0, 1, 2), [0, 0, 0], id="all slots"),
        pytest.param((2, 0), [0, 8, 0], id="some"),
        pytest.param((1,), [7, 0, 9], id="one"),
        pytest.param((), [7, 8, 9], id="none"),
    ],
)
def test_cleared_scores_are_those_of_the_rows(rows: tuple[int, ...], values: list[int]) -> None:
    scores = Scores(np.array([7, 8, 9], dtype=np.int64), np.array(rows, dtype=np.int32))
    scores.clear()
    assert scores.values.tolist() == values
