"""Dry runs on sums, against plain Python."""

from __future__ import annotations

from random import Random
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, strategies as st

from podwright.scheduler.kernels.fit import TOO_MANY_PODS, UNRESOLVABLE, fit_codes
from podwright.scheduler.kernels.preemption import (
    BLOCKED_AFTER,
    BLOCKED_BEFORE,
    END,
    HAS_ROOM,
    LOWER,
    N_RESULTS,
    NO_LOWER_PRIORITY,
    NOT_STARTED,
    KnownResults,
    Ranked,
    Room,
    add_reserved,
    fit_codes_with_reserved,
    least_ranked,
    measures_at,
    narrow,
    settled,
    slots_with,
    try_slots,
    visit,
)

CPU, PODS, GPU, N_RESOURCES = 0, 3, 4, 5
randoms = st.integers(0, 2**32).map(Random)


@given(st.lists(st.integers(0, 3), max_size=20), st.integers(0, 3))
def test_slots_are_found_by_their_code_in_the_order_given(codes: list[int], code: int) -> None:
    slots = np.arange(len(codes), dtype=np.int32)[::-1].copy()
    found = slots_with(np.array(codes, dtype=np.int64), slots, code)
    assert found.tolist() == [slot for slot in slots.tolist() if codes[slot] == code]


@given(randoms, st.integers(0, 8))
def test_requests_of_nominated_pods_are_summed_per_slot(random: Random, n: int) -> None:
    slots = [random.randint(-1, 3) for _ in range(n)]
    priorities = [random.randint(-2, 2) for _ in range(n)]
    requests = [[random.randint(0, 9) for _ in range(N_RESOURCES)] for _ in range(n)]
    own, priority = random.randint(-1, max(n - 1, 0)), random.randint(-2, 2)
    touched, row_of, sums = add_reserved(
        np.array(slots, dtype=np.int32),
        np.array(priorities, dtype=np.int64),
        np.array(requests, dtype=np.int64).reshape(n, N_RESOURCES),
        own,
        priority,
        4,
    )
    expected: dict[int, list[int]] = {}
    for i, slot in enumerate(slots):
        if slot >= 0 and i != own and priorities[i] >= priority:
            total = expected.setdefault(slot, [0] * N_RESOURCES)
            expected[slot] = [a + b for a, b in zip(total, requests[i], strict=True)]
    assert touched.tolist() == list(expected)
    assert [row_of[slot] for slot in expected] == list(range(len(expected)))
    assert sums.tolist() == list(expected.values())
    assert [slot for slot in range(4) if row_of[slot] < 0] == sorted({0, 1, 2, 3} - set(expected))


# ---------------------------------------------------------------- a small cluster


class PlainPod(NamedTuple):
    """A pod on a slot."""

    priority: int
    start: int
    requests: tuple[int, ...]
    budgets: tuple[int, ...] = ()


class Situation(NamedTuple):
    """What the kernels are given, in plain values."""

    allocatable: list[list[int]]
    pods: list[list[PlainPod]]
    pairs: list[tuple[int, int]]
    reserved: dict[int, list[int]]
    blocked: list[int]
    left: list[int]
    priority: int
    now: int
    required: int

    def requested(self, slot: int) -> list[int]:
        """Return the sum of the requests of the pods on a slot."""
        return [sum(pod.requests[c] for pod in self.pods[slot]) for c in range(N_RESOURCES)]

    def room(self) -> Room:
        """Return it as the kernels take it."""
        n = len(self.allocatable)
        rows: list[int] = [-1] * n if self.reserved else []
        for row, slot in enumerate(self.reserved):
            rows[slot] = row
        sums = np.array(list(self.reserved.values()), dtype=np.int64)
        return Room(
            np.array(self.allocatable, dtype=np.int64),
            np.array([self.requested(slot) for slot in range(n)], dtype=np.int64),
            np.array([value for pair in self.pairs for value in pair], dtype=np.int64),
            np.array(rows, dtype=np.int32),
            sums.reshape(len(self.reserved), N_RESOURCES),
        )

    def ranked(self) -> Ranked:
        """Return the pods as the kernels take them."""
        pool = [pod for pods in self.pods for pod in pods]
        counts = [len(pods) for pods in self.pods]
        sets = sorted({pod.budgets for pod in pool} | {()}, key=lambda one: (len(one), one))
        members = [budget for one in sets for budget in one]
        return Ranked(
            np.cumsum([0, *counts])[:-1].astype(np.int64),
            np.array(counts, dtype=np.int64),
            np.array([pod.priority for pod in pool], dtype=np.int64),
            np.array([pod.start for pod in pool], dtype=np.int64),
            np.array([pod.requests for pod in pool], dtype=np.int64).reshape(-1, N_RESOURCES),
            np.array([sets.index(pod.budgets) for pod in pool], dtype=np.int32),
            np.cumsum([0, *map(len, sets)]).astype(np.int64),
            np.array(members, dtype=np.int64),
            np.arange(1, len(counts) + 1),
        )

    def tried(self) -> KnownResults:
        """Return the results before any dry run: none."""
        return KnownResults(
            np.zeros((len(self.pods), N_RESULTS), dtype=np.int64),
            np.empty(sum(map(len, self.pods)), dtype=np.int8),
        )


def a_pod(random: Random) -> PlainPod:
    requests = [0] * N_RESOURCES
    requests[CPU], requests[PODS], requests[GPU] = random.randint(0, 3), 1, random.randint(0, 1)
    start = random.choice([100, 200, 200, NOT_STARTED])
    budgets = random.choice([(), (), (0,), (1,), (0, 1)])
    return PlainPod(random.choice([0, 1, 1, 5, 9]), start, tuple(requests), budgets)


def a_situation(random: Random) -> Situation:
    n = random.randint(1, 5)
    pods = [
        sorted(
            (a_pod(random) for _ in range(random.randint(0, 4))),
            key=lambda pod: (-pod.priority, pod.start),
        )
        for _ in range(n)
    ]
    allocatable = []
    for _ in range(n):
        of_slot = [0] * N_RESOURCES
        of_slot[CPU] = random.randint(2, 8)
        of_slot[PODS] = random.choice([0, 2, 9, 9])
        of_slot[GPU] = random.randint(0, 3)
        allocatable.append(of_slot)
    pairs = [(CPU, random.randint(1, 6))]
    if random.random() < 0.4:
        pairs.append((GPU, random.randint(1, 3)))
    reserved: dict[int, list[int]] = {}
    for slot in random.sample(range(n), random.randint(0, n)):
        reserved[slot] = [random.randint(0, 2), 0, 0, random.randint(0, 1), random.randint(0, 1)]
    return Situation(
        allocatable,
        pods,
        pairs,
        reserved,
        random.choice([[], [random.choice([0, 0, 1, 2]) for _ in range(n)]]),
        [random.randint(-1, 2) for _ in range(random.choice([0, 2]))],
        priority=random.choice([1, 5, 7]),
        now=1_000,
        required=random.randint(1, n),
    )


def free_on(it: Situation, slot: int, pods: list[PlainPod]) -> list[int]:
    """Return what is free on a slot with these pods and the reserved amounts on it."""
    reserved = it.reserved.get(slot, [0] * N_RESOURCES)
    return [
        it.allocatable[slot][c] - sum(pod.requests[c] for pod in pods) - reserved[c]
        for c in range(N_RESOURCES)
    ]


def fits(it: Situation, slot: int, pods: list[PlainPod]) -> bool:
    free = free_on(it, slot, pods)
    return free[PODS] >= 1 and all(free[column] >= amount for column, amount in it.pairs)


def code_of(it: Situation, slot: int, pods: list[PlainPod]) -> int:
    """Return the code of the fit filter."""
    free = free_on(it, slot, pods)
    code = TOO_MANY_PODS if free[PODS] < 1 else 0
    for i, (column, amount) in enumerate(it.pairs):
        if free[column] < amount:
            code |= 2 << i
            if amount > it.allocatable[slot][column]:
                code |= UNRESOLVABLE
    return code


# ---------------------------------------------------------------- the twins


@given(randoms)
def test_codes_with_reserved_amounts_are_those_of_a_fuller_node(random: Random) -> None:
    it = a_situation(random)
    slots = np.array(list(it.reserved), dtype=np.int32)
    codes = np.full(len(slots), -7, dtype=np.int64)
    fit_codes_with_reserved(it.room(), slots, np.array(it.blocked, dtype=np.int8), codes)
    assert codes.tolist() == [
        0 if it.blocked and it.blocked[slot] == 1 else code_of(it, slot, it.pods[slot])
        for slot in slots.tolist()
    ]


@given(randoms)
def test_codes_are_those_of_the_filter_where_nothing_is_reserved(random: Random) -> None:
    it = a_situation(random)._replace(reserved={})
    room = it.room()
    slots = np.arange(len(it.allocatable), dtype=np.int32)
    by_filter = np.zeros(len(slots), dtype=np.int64)
    fit_codes(room.allocatable, room.requested, room.pairs, slots, by_filter)
    assert by_filter.tolist() == [code_of(it, slot, it.pods[slot]) for slot in slots.tolist()]


def violating(pods: list[PlainPod], left: list[int]) -> list[bool]:
    """Return which pods a budget would keep, the most important ones being the first to go."""
    rest, found = list(left), []
    for pod in pods:
        budgets = pod.budgets if left else ()
        for budget in budgets:
            rest[budget] -= 1
        found.append(any(rest[budget] < 0 for budget in budgets))
    return found


def plain_candidate(it: Situation, slot: int) -> int | tuple[list[int], list[int]]:
    """Return a code, or the measures and the marks of the pods of lower priority."""
    staying = [pod for pod in it.pods[slot] if pod.priority >= it.priority]
    lower = [pod for pod in it.pods[slot] if pod.priority < it.priority]
    block = it.blocked[slot] if it.blocked else 0
    if not lower:
        return NO_LOWER_PRIORITY
    if block == 1:
        return BLOCKED_BEFORE
    if not fits(it, slot, staying):
        return code_of(it, slot, staying)
    if block == 2:
        return BLOCKED_AFTER
    keeps = violating(lower, it.left)
    marks, violations = [0] * len(lower), 0
    for violates in (True, False):
        for i, pod in enumerate(lower):
            if keeps[i] is not violates:
                continue
            if fits(it, slot, [*staying, pod]):
                staying.append(pod)
            else:
                marks[i] = 1
                violations += violates
    victims = [pod for pod, mark in zip(lower, marks, strict=True) if mark]
    if not victims:
        return HAS_ROOM
    greatest = victims[0].priority
    earliest = min(pod.start for pod in victims if pod.priority == greatest)
    total = sum(pod.priority + 2**31 for pod in victims)
    start = it.now if earliest == NOT_STARTED else earliest
    return [violations, greatest, total, len(victims), -start], marks


def check_dry_run(it: Situation, random: Random, known: KnownResults) -> None:
    order = random.sample(range(len(it.allocatable)), len(it.allocatable))
    slots, left = np.array(order, dtype=np.int32), np.array(it.left, dtype=np.int64)
    blocked, ranked = np.array(it.blocked, dtype=np.int8), it.ranked()
    goal = np.array([it.required, 0, 0], dtype=np.int64)
    codes = np.full(len(order), -7, dtype=np.int64)
    candidates = np.empty(len(order), dtype=np.int32)
    visited = 0
    # Results with nominated pods are good for one search.
    known.rows[list(it.reserved), 0] = 0
    for _ in range(len(order) + 1):  # each turn visits a slot
        visited = visit(
            slots, visited, blocked, ranked.written, known.rows, goal, codes, candidates
        )
        if visited == len(order) or (goal[2] > 0 and goal[1] >= it.required):
            break
        reach = random.randint(1, len(order))
        chunk = slots[visited : visited + reach]
        arguments: Any = (chunk, *it.room(), *ranked, *known, left, it.priority)
        try_slots(*arguments)
    else:
        raise AssertionError("the search does not end")
    known.rows[list(it.reserved), 0] = 0
    found = candidates[: goal[1]]
    measures = measures_at(known.rows, found, it.now)
    expected: list[tuple[int, list[int], list[int]]] = []
    expected_codes = [-7] * len(order)
    tried = 0
    for slot in order:
        tried += 1
        candidate = plain_candidate(it, slot)
        if isinstance(candidate, int):
            expected_codes[slot] = candidate
            continue
        expected_codes[slot] = 0
        expected.append((slot, *candidate))
        harmless = sum(measure[0] == 0 for _, measure, _ in expected)
        if harmless and len(expected) >= it.required:
            break
    assert visited == tried
    assert codes.tolist() == expected_codes
    assert found.tolist() == [slot for slot, _, _ in expected]
    assert measures.tolist() == [measure for _, measure, _ in expected]
    stretches = [known.rows[slot, LOWER : END + 1].tolist() for slot in found]
    assert [known.marks[end - lower : end].tolist() for lower, end in stretches] == [
        marked for _, _, marked in expected
    ]
    assert left.tolist() == it.left, "budgets are changed for a moment only"
    assert goal[2] == sum(measure[0] == 0 for _, measure, _ in expected)


@given(randoms)
def test_a_dry_run_on_sums_is_a_dry_run(random: Random) -> None:
    it = a_situation(random)
    check_dry_run(it, random, it.tried())


def test_settled_results_are_copies_with_a_pool_of_their_own() -> None:
    rows = np.zeros((3, N_RESULTS), dtype=np.int64)
    rows[:, LOWER], rows[:, END], rows[:, -1] = [2, 0, 1], [3, 5, 9], [7, 8, 9]
    marks = np.array([0, 1, 0, 1, 0, 1, 0, 0, 1], dtype=np.int8)
    own_rows, own_marks = settled(np.array([2, 0], dtype=np.int32), rows, marks)
    rows[:], marks[:] = -1, -1
    assert own_rows[:, [LOWER, END, -1]].tolist() == [[1, 1, 9], [2, 3, 7]]
    assert own_marks.tolist() == [1, 1, 0]


@given(randoms)
def test_earlier_results_are_reused(random: Random) -> None:
    it = a_situation(random)
    known = it.tried()
    check_dry_run(it, random, known)
    other = a_situation(random)
    later = it._replace(now=it.now + 1, required=other.required, reserved={}, blocked=[])
    check_dry_run(later, random, known)
    check_dry_run(it, random, known)


@pytest.mark.parametrize(
    ("measures", "rows", "column"),
    [
        pytest.param([[1, 2]], [0], 0, id="one alone"),
        pytest.param([[1, 9], [0, 9], [2, 0]], [1], 0, id="the first column decides"),
        pytest.param([[0, 9], [0, 3], [2, 0]], [1], 1, id="the second one does"),
        pytest.param([[0, 3], [1, 0], [0, 3]], [0, 2], 2, id="no column does"),
    ],
)
def test_columns_are_compared_one_after_the_other(
    measures: list[list[int]], rows: list[int], column: int
) -> None:
    left, decided = narrow(np.array(measures, dtype=np.int64))
    assert (left.tolist(), decided) == (rows, column)


@given(randoms, st.integers(1, 8))
def test_the_remaining_rows_are_those_that_sort_first(random: Random, n: int) -> None:
    measures = [[random.randint(0, 1) for _ in range(3)] for _ in range(n)]
    left, column = narrow(np.array(measures, dtype=np.int64))
    best = min(measures)
    assert left.tolist() == [i for i, row in enumerate(measures) if row == best]
    assert (column == 3) is (measures.count(best) > 1)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=9, unique=True), randoms)
def test_the_least_rank_is_found_among_some_rows(ranks: list[int], random: Random) -> None:
    slots = random.sample(range(len(ranks)), len(ranks))
    rows = sorted(random.sample(range(len(ranks)), random.randint(1, len(ranks))))
    found = least_ranked(
        np.array(rows, dtype=np.int64),
        np.array(slots, dtype=np.int32),
        np.array(ranks, dtype=np.int32),
    )
    assert found == min(rows, key=lambda row: ranks[slots[row]])
