import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

from podwright.scheduler.kernels.spread import (
    _distinct_digits,
    _slots_without,
    add_counted,
    add_digits,
    add_group_scores,
    add_spread_scores,
    common_counts,
    filled_groups,
    normalize_groups,
    normalize_spread,
    reject_groups,
    reject_skewed,
    round_scores,
)


def ints(*values, dtype=np.int64):
    return np.array(values, dtype=dtype)


def slots(*values):
    return ints(*values, dtype=np.int32)


@pytest.mark.parametrize(
    ("domain_of", "counts", "expected"),
    [
        pytest.param([2, 0, -1, 1], [4, 6, 10], [2, 4, 10], id="a host each, one without"),
        pytest.param([0, 1], [0, 0], [0, 0, 0], id="nothing is counted"),
        pytest.param([0, 1, 2], [-100, 0, 50], [50, -100, 50], id="weights of both signs"),
        pytest.param([1], [7, -9], [9, -9, -9], id="a domain without a slot has no part"),
        pytest.param([0, 1, 0], [1, 2], None, id="two slots in one domain"),
        pytest.param([-1, -2], [3], None, id="no slot has a domain"),
    ],
)
def test_common_counts(domain_of, counts, expected):
    found = np.empty(3, dtype=np.int64)
    is_found = common_counts(slots(*domain_of), ints(*counts), found)
    assert (found.tolist() if is_found else None) == expected


@pytest.mark.parametrize(
    ("counts", "eligible", "min_domains", "most", "codes"),
    [
        pytest.param([2, 1], 2, 1, 1, [0, 0, 1], id="at the limit"),
        pytest.param([3, 1], 2, 1, 1, [2, 0, 1], id="one too many"),
        pytest.param([3, 1], 1, 1, 1, [0, 0, 1], id="only eligible domains make the least"),
        pytest.param([2, 2], 2, 3, 1, [2, 2, 1], id="too few domains: the least is 0"),
        pytest.param([2, 2], 0, 1, 1, [2, 2, 1], id="no domain: the least is 0"),
        pytest.param([2, 2], 0, 0, 1, [2, 2, 1], id="also if none is required"),
    ],
)
def test_reject_skewed(counts, eligible, min_domains, most, codes):
    found = np.zeros(3, dtype=np.int64)
    reject_skewed(
        slots(0, 1, -1), ints(*counts), eligible, min_domains, most, slots(0, 1, 2), found
    )
    assert found.tolist() == codes


def test_rejections_stay():
    codes = ints(7)
    reject_skewed(slots(0), ints(9), 1, 1, 0, slots(0), codes)
    assert codes.tolist() == [7]


def scored(domains, counts, settings, rows, *, requires_all):
    values = np.full(len(domains[0]), -7, dtype=np.int64)
    sums = np.zeros(len(rows))
    for domain_of, count_of, setting in zip(domains, counts, settings, strict=True):
        add_spread_scores(
            slots(*domain_of), ints(*count_of), ints(*setting), requires_all, slots(*rows), sums
        )
    round_scores(sums, slots(*rows), values)
    return values.tolist()


def test_only_domains_of_the_rows_are_counted():
    found = scored([[0, 1, 2]], [[10, 20, 30]], [[0, 0, -1]], [0, 1], requires_all=True)
    assert found == [round(10 * math.log(4)), round(20 * math.log(4)), -7]


def test_nodes_without_a_domain_make_one_together():
    found = scored([[0, -1, -1]], [[10, 5]], [[4, 0, 1]], [0, 1, 2], requires_all=False)
    assert found == [round(10 * math.log(4) + 4), 0, 0]


def test_every_node_is_a_domain():
    settings = [[2, 1, -1]]
    assert scored([[0, 1, -1]], [[1, 3]], settings, [0, 1, 2], requires_all=True) == [
        round(math.log(4) + 2),
        round(3 * math.log(4) + 2),
        0,
    ]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        pytest.param([4, 1, 0], [25, 100, 0], id="ignored nodes get 0 and do not count"),
        pytest.param([0, 0, 9], [100, 100, 0], id="no pods: all nodes score 100"),
        pytest.param([-4, -1, 9], [100, 100, 0], id="negative ones: the greatest counts as 0"),
        pytest.param([3, 2, 9], [66, 100, 0], id="cut off"),
        pytest.param([2**55, 2**54, 9], [50, 100, 0], id="beyond what a float64 holds"),
    ],
)
def test_normalize_spread(values, expected):
    found = ints(*values)
    normalize_spread(slots(0, 1, -1), True, slots(0, 1, 2), found)
    assert found.tolist() == expected


@st.composite
def soft_constraints(draw):
    """Slots with domains of up to three constraints, of which some are of hosts."""
    n_slots = draw(st.integers(1, 8))
    requires_all = draw(st.booleans())
    ignored = draw(st.sets(st.integers(0, n_slots - 1))) if requires_all else set()
    domains, counts, settings, bases = [], [], [], []
    for is_per_node in draw(st.lists(st.booleans(), min_size=1, max_size=3)):
        n_domains = n_slots if is_per_node else draw(st.integers(1, 4))
        numbers = st.integers(0 if requires_all else -1, n_domains - 1)
        of_slot = [
            slot if is_per_node and requires_all else draw(numbers) for slot in range(n_slots)
        ]
        domains.append([-1 if slot in ignored else d for slot, d in enumerate(of_slot)])
        counts.append(draw(st.lists(st.integers(0, 5), min_size=n_domains, max_size=n_domains)))
        absent = -1 if requires_all else draw(st.integers(-1, n_domains - 1))
        settings.append([draw(st.integers(0, 4)), is_per_node, absent])
        bases.append(7 if is_per_node else n_domains + 1)
    rows = draw(st.lists(st.integers(0, n_slots - 1), min_size=1, unique=True))
    return domains, counts, settings, bases, requires_all, sorted(rows)


@given(soft_constraints())
def test_groups_get_the_points_that_their_slots_get(drawn):
    domains, counts, settings, bases, requires_all, rows = drawn
    n_slots = len(domains[0])
    expected = ints(*scored(domains, counts, settings, rows, requires_all=requires_all))
    normalize_spread(slots(*domains[0]), requires_all, slots(*rows), expected)

    groups = np.full(n_slots, 99, dtype=np.int32)
    all_slots = slots(*range(n_slots), n_slots - 1)  # slots may occur twice
    strides = [math.prod(bases[:index]) for index in range(len(bases))]
    for domain_of, count_of, setting, base, stride in zip(
        domains, counts, settings, bases, strides, strict=True
    ):
        is_per_node = bool(setting[1])
        digits = ints(int(is_per_node), 0, base, stride, 0)
        assert add_digits(slots(*domain_of), ints(*count_of), digits, all_slots, groups)
    sizes = np.bincount(groups[rows], minlength=math.prod(bases))
    filled = np.flatnonzero(sizes).astype(np.int32)
    sums = np.zeros(len(filled))
    points = np.zeros(len(sizes), dtype=np.int64)
    for count_of, setting, base, stride in zip(counts, settings, bases, strides, strict=True):
        add_group_scores(
            ints(*count_of), ints(*setting), base, stride, requires_all, sizes, filled, sums
        )
    normalize_groups(sums, bases[0], requires_all, filled, points)
    assert points[groups[rows]].tolist() == expected[rows].tolist()


def test_a_slot_with_more_pods_than_there_are_digits_is_in_no_group():
    groups = slots(0, 0)
    arguments = slots(0, 1), ints(1, 2), ints(1, 0, 3, 1, 0)
    assert add_digits(*arguments, slots(0), groups)
    assert not add_digits(*arguments, slots(0, 1), groups)


@pytest.mark.parametrize(
    ("count", "digit"),
    [
        pytest.param(3, None, id="below the lowest"),
        pytest.param(4, 0, id="the lowest"),
        pytest.param(5, None, id="between two"),
        pytest.param(6, 1, id="the highest"),
        pytest.param(8, None, id="above the highest"),
    ],
)
def test_a_count_must_have_a_digit(count, digit):
    groups = np.full(1, 9, dtype=np.int32)
    has_digit = add_digits(slots(0), ints(count), ints(2, 4, 3, 1, 0), slots(0), groups)
    assert has_digit is (digit is not None)
    assert groups.tolist() == [9 if digit is None else digit]


def test_the_last_capped_digit_means_all_greater_counts():
    groups = np.ones(5, dtype=np.int32)
    capped = ints(1, 0, 3, 2, 1)
    assert add_digits(slots(0, 1, 2, 3, -1), ints(0, 1, 2, 9), capped, slots(*range(5)), groups)
    # Beside a digit of 1 from another counter: none, one, more, many, and no domain.
    assert groups.tolist() == [1, 3, 3, 3, 5]


# Digits 0 and 1 of a zone (2: none), then counts of 4, 6 and 8 on hosts (3: none).
ZONES, HOSTS = ints(0, 0, 3, 1, 0), ints(2, 4, 4, 3, 0)


def test_groups_are_rejected_where_their_slots_are():
    rejected = np.zeros(12, dtype=np.bool_)
    reject_groups(ints(5, 7), ZONES, 2, 1, 1, rejected)
    assert np.flatnonzero(~rejected).tolist() == [0, 3, 6, 9]
    rejected[:] = False
    reject_groups(ints(5, 7), ZONES, 2, 3, 5, rejected)  # too few domains: the least is 0
    assert np.flatnonzero(~rejected).tolist() == [0, 3, 6, 9]
    rejected[:] = False
    reject_groups(ints(4, 8, 6), HOSTS, 3, 1, 2, rejected)
    assert np.flatnonzero(~rejected).tolist() == [0, 1, 2, 3, 4, 5]


def test_counts_are_added_to_the_groups_that_have_them():
    values = np.zeros(12, dtype=np.int64)
    add_counted(ints(5, 7), ZONES, values)
    add_counted(ints(4, 8, 6), HOSTS, values)
    assert values.tolist() == [9, 11, 4, 11, 13, 6, 13, 15, 8, 5, 7, 0]


def test_filled_groups_are_listed_from_the_front():
    rows = slots(9, 9, 9, 9)
    assert filled_groups(ints(0, 3, 0, 1), rows) == 2
    assert rows.tolist()[:2] == [1, 3]
    assert filled_groups(ints(0, 0), rows) == 0


def test_groups_and_slots_are_counted_by_one_digit():
    # Base 3 beside a digit of 2: groups 0 and 1 have digit 0, 2 and 3 have 1, 4 and 5 have none.
    groups, sizes = slots(0, 1, 3, 4, 9), ints(1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
    assert _distinct_digits(-1, 3, 2, groups) == 2
    assert _distinct_digits(1, 3, 2, groups) == 2
    assert _distinct_digits(2, 3, 2, groups) == 3
    assert _slots_without(0, 3, 2, groups, sizes) == 8 + 16 + 512
    assert _slots_without(1, 3, 2, groups, sizes) == 1 + 2 + 16
    assert _slots_without(2, 3, 2, groups, sizes) == 1 + 2 + 8 + 512
