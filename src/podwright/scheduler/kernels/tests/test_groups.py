"""Totals kept per group, against a scan over all slots."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from podwright.scheduler.kernels.groups import (
    BEST,
    BLOCK,
    SIZE,
    add_digit,
    close_groups,
    count_groups,
    open_points,
    open_sizes,
    pick_of_groups,
    regroup,
)
from podwright.scheduler.kernels.select import pick_drawn

LEAST, GREATEST, GROUPS = 10, 14, 3
places = st.tuples(st.one_of(st.just(-1), st.integers(LEAST, GREATEST)), st.integers(0, GROUPS - 1))
some_scores = st.lists(st.integers(-1, 4), min_size=GROUPS, max_size=GROUPS)
draws = st.integers(0, 2**31 - 1)


class Grouped:
    def __init__(self, slots: list[tuple[int, int]], least: int = LEAST) -> None:
        self.totals = np.array([total for total, _ in slots], dtype=np.int32)
        self.groups = np.array([group for _, group in slots], dtype=np.int32)
        # What they contain does not matter: all of it is written.
        self.counts = np.full((GROUPS, GREATEST - LEAST + 1), 7, dtype=np.int32)
        self.state = np.full((2, GROUPS), 7, dtype=np.int64)
        count_groups(self.totals, self.groups, least, self.counts, self.state)


@given(
    st.lists(places, max_size=12), st.sampled_from([1, 60]), some_scores, st.integers(0, 3), draws
)
def test_groups_give_the_slot_that_a_scan_over_all_totals_gives(
    slots, times, scores, weight, number
):
    slots *= times
    grouped = Grouped(slots)
    slot, total, ties, feasible = pick_of_groups(
        grouped.totals,
        grouped.groups,
        LEAST,
        grouped.counts,
        grouped.state,
        np.array(scores, dtype=np.int64),
        weight,
        number,
    )
    whole = [
        t + weight * scores[group] if t >= 0 and scores[group] >= 0 else -1 for t, group in slots
    ]
    found = np.zeros(3, dtype=np.int64)
    assert slot == pick_drawn(np.array(whole, dtype=np.int64), number, found)
    assert [total, ties, feasible] == found.tolist()


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        pytest.param(0, 3, id="the first"),
        pytest.param(1, 70, id="in a later block"),
        pytest.param(2, 71, id="the next one in that block"),
        pytest.param(3, BLOCK + 80, id="behind all whole blocks"),
        pytest.param(4, BLOCK + 81, id="the last"),
    ],
)
def test_one_of_several_best_slots_is_drawn_however_far_apart_they_are(number, expected):
    length = 2 * BLOCK - 1
    slots = [(LEAST, 0)] * length
    # Of two groups with different scores; slots of a group that is closed are no candidates.
    for slot, place in {
        2: (GREATEST, 2),
        3: (GREATEST, 0),
        70: (GREATEST - 1, 1),
        71: (GREATEST, 0),
        BLOCK + 80: (GREATEST - 1, 1),
        BLOCK + 81: (GREATEST, 0),
    }.items():
        slots[slot] = place
    grouped = Grouped(slots)
    scores = np.array([1, 2, -1], dtype=np.int64)
    draw = -(-(number << 31) // 5)
    found = pick_of_groups(
        grouped.totals, grouped.groups, LEAST, grouped.counts, grouped.state, scores, 1, draw
    )
    assert found == (expected, GREATEST + 1, 5, length - 1)


@given(
    st.lists(places, min_size=1, max_size=12),
    st.lists(st.tuples(st.integers(0, 11), places), max_size=8),
)
def test_regrouping_equals_counting_from_scratch(slots, changes):
    grouped = Grouped(slots)
    changes = [(slot % len(slots), place) for slot, place in changes]
    # A slot that is named twice has one new place.
    new = dict(changes)
    new_groups = np.zeros(len(slots), dtype=np.int32)
    for slot, (_, group) in new.items():
        new_groups[slot] = group
    regroup(
        np.array([slot for slot, _ in changes], dtype=np.int32),
        np.array([new[slot][0] for slot, _ in changes], dtype=np.int32),
        new_groups,
        grouped.totals,
        grouped.groups,
        LEAST,
        grouped.counts,
        grouped.state,
    )
    expected = Grouped([new.get(slot, place) for slot, place in enumerate(slots)])
    assert grouped.totals.tolist() == expected.totals.tolist()
    assert grouped.counts.tolist() == expected.counts.tolist()
    assert grouped.state[SIZE].tolist() == expected.state[SIZE].tolist()
    assert grouped.state[BEST].tolist() == expected.state[BEST].tolist()


@pytest.mark.parametrize("least", [0, 1, LEAST])
@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({0: (-1, 0)}, id="one of the least is not feasible any more"),
        pytest.param({0: (-1, 0), 1: (-1, 0)}, id="both of a group are not"),
        pytest.param({0: (0, 1)}, id="the least joins another group"),
        pytest.param({2: (0, 1)}, id="the best becomes the least"),
        pytest.param({3: (0, 2)}, id="the first of a group has the least"),
        pytest.param({3: (2, 2), 2: (-1, 1)}, id="one comes and one goes"),
        pytest.param({0: (0, 0)}, id="nothing changes"),
    ],
)
def test_the_least_total_counts_like_any_other(least, changes):
    slots = [(least, 0), (least, 0), (least + 1, 1), (-1, 2)]
    grouped = Grouped(slots, least)
    placed = {
        slot: (total + least if total >= 0 else -1, group)
        for slot, (total, group) in changes.items()
    }
    new_groups = np.zeros(len(slots), dtype=np.int32)
    new_groups[[*placed]] = [group for _, group in placed.values()]
    regroup(
        np.array([*placed], dtype=np.int32),
        np.array([total for total, _ in placed.values()], dtype=np.int32),
        new_groups,
        grouped.totals,
        grouped.groups,
        least,
        grouped.counts,
        grouped.state,
    )
    expected = Grouped([placed.get(slot, place) for slot, place in enumerate(slots)], least)
    assert grouped.counts.tolist() == expected.counts.tolist()
    assert grouped.state.tolist() == expected.state.tolist()
    scores = np.zeros(GROUPS, dtype=np.int64)
    found = pick_of_groups(
        grouped.totals, grouped.groups, least, grouped.counts, grouped.state, scores, 1, 0
    )
    totals = expected.totals.tolist()
    best = max(totals)
    assert found == (totals.index(best), best, totals.count(best), sum(t >= 0 for t in totals))


@pytest.mark.parametrize("total", range(4))
@pytest.mark.parametrize("closed", [0, 1, 2])
def test_a_slot_of_a_closed_group_is_not_chosen_whatever_its_total(total, closed):
    # Each slot has another group, and that of the last one is open.
    order = [closed, *(group for group in range(GROUPS) if group != closed)]
    grouped = Grouped([(total, group) for group in order], 0)
    scores = np.full(GROUPS, -1, dtype=np.int64)
    scores[order[-1]] = 3
    found = pick_of_groups(
        grouped.totals, grouped.groups, 0, grouped.counts, grouped.state, scores, 2, 0
    )
    assert found == (GROUPS - 1, total + 6, 1, 1)


def test_the_digits_of_two_plugins_are_one_group():
    groups = np.array([1, 0, 1, 9], dtype=np.int32)
    slots = np.array([2, 0, 2], dtype=np.int32)
    # A slot that is named twice gets its digit once, in place of the one before.
    add_digit(slots, np.array([2, 9, 1, 9], dtype=np.int32), 2, groups)
    assert groups.tolist() == [5, 0, 3, 9]
    add_digit(slots, np.array([0, 9, 2, 9], dtype=np.int32), 2, groups)
    assert groups.tolist() == [1, 0, 5, 9]


def test_groups_with_a_rejected_digit_are_closed():
    # Three digits of a plugin with the stride 2, below the two of another one.
    closed = np.array([True] + [False] * 11)
    close_groups(np.array([False, True, False]), 2, closed)
    assert np.flatnonzero(closed).tolist() == [0, 2, 3, 8, 9]
    sizes, found = np.arange(12, dtype=np.int64), np.full(2, 99, dtype=np.int64)
    open_sizes(sizes, closed, 6, found)
    assert found.tolist() == [1 + 4 + 5, 6 + 7 + 10 + 11]
    points = np.zeros(12, dtype=np.int64)
    open_points(np.array([30, 70], dtype=np.int64), closed, 6, points)
    assert points.tolist() == [-1, 30, -1, -1, 30, 30, 70, 70, -1, -1, 70, 70]
    open_points(np.zeros(0, dtype=np.int64), closed, 6, points)
    assert points.tolist() == [-1 if each else 0 for each in closed.tolist()]
