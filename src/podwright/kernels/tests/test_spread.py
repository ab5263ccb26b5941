import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podwright.kernels.spread import (
    normalize_spread,
    reject_skewed,
    score_spread_groups,
    spread_groups,
    spread_scores,
)


def ints(*values, dtype=np.int64):
    return np.array(values, dtype=dtype)


def slots(*values):
    return ints(*values, dtype=np.int32)


@pytest.mark.parametrize(
    ("counts", "eligible", "min_domains", "most", "codes"),
    [
        pytest.param([2, 1], 2, 1, 1, [0, 0, 1], id="at the limit"),
        pytest.param([3, 1], 2, 1, 1, [2, 0, 1], id="one too many"),
        pytest.param([3, 1], 1, 1, 1, [0, 0, 1], id="only eligible domains make the least"),
        pytest.param([2, 2], 2, 3, 1, [2, 2, 1], id="too few domains: the least is 0"),
        pytest.param([2, 2], 0, 1, 1, [2, 2, 1], id="no domain: the least is 0"),
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
    spread_scores(
        tuple(slots(*d) for d in domains),
        tuple(ints(*c) for c in counts),
        np.array(settings, dtype=np.int64),
        requires_all,
        slots(*rows),
        values,
    )
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
    domain_columns = tuple(slots(*d) for d in domains)
    count_columns = tuple(ints(*c) for c in counts)
    settings = np.array(settings, dtype=np.int64)
    n_slots = len(domains[0])

    expected = np.zeros(n_slots, dtype=np.int64)
    spread_scores(domain_columns, count_columns, settings, requires_all, slots(*rows), expected)
    normalize_spread(domain_columns[0], requires_all, slots(*rows), expected)

    groups = np.zeros(n_slots, dtype=np.int32)
    all_slots = slots(*range(n_slots))
    assert spread_groups(domain_columns, count_columns, settings, ints(*bases), all_slots, groups)
    sizes = np.bincount(groups[rows], minlength=math.prod(bases))
    points = np.zeros(len(sizes), dtype=np.int64)
    score_spread_groups(count_columns, settings, ints(*bases), requires_all, sizes, points)
    assert points[groups[rows]].tolist() == expected[rows].tolist()


def test_a_slot_with_more_pods_than_there_are_digits_is_in_no_group():
    settings = np.array([[0, 1, -1]], dtype=np.int64)
    groups = slots(0, 0)
    arguments = (slots(0, 1),), (ints(1, 2),), settings, ints(3)
    assert spread_groups(*arguments, slots(0), groups)
    assert not spread_groups(*arguments, slots(0, 1), groups)
