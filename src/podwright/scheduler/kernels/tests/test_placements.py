import numpy as np
import pytest

from podwright.scheduler.kernels.placements import count_ordered, count_recorded

DOMAINS = np.array([1, 0, -1, 1], dtype=np.int32)
"""Of slots 0 to 3."""
TERMINATING = 1
AMOUNTS = np.array([10, 100, -1, 7], dtype=np.int64)
"""Of groups 0 to 3."""


def entries(*of_slots):
    return np.array(of_slots, dtype=np.int32)


def groups(*numbers):
    return np.array(numbers, dtype=np.int32)


ORDERED = entries(0 << 1, 1 << 1 | TERMINATING, 2 << 1, 3 << 1, 1 << 1)
"""Group 0 has a pod on slots 0 and 1, group 1 on slot 2 and 3, group 2 on slot 1."""
FIRST = np.array([0, 2, 4, 5], dtype=np.int64)


@pytest.mark.parametrize(
    ("asked", "of_live", "counts"),
    [
        pytest.param([0], False, [15, 16], id="each pod adds the amount of its group"),
        pytest.param([0], True, [5, 16], id="without terminating pods"),
        pytest.param([1], False, [5, 106], id="a slot without a domain is not counted"),
        pytest.param([1], True, [5, 106], id="a live pod"),
        pytest.param([2], True, [4, 6], id="a live pod on a slot with another number"),
        pytest.param([0, 1], True, [5, 116], id="live pods of two groups"),
        pytest.param([2, 0], False, [14, 16], id="several groups, in any order"),
        pytest.param([3, 2], False, [4, 6], id="a newer group has no pods"),
        pytest.param([], False, [5, 6], id="no group"),
    ],
)
def test_count_ordered(asked, of_live, counts):
    found = np.array([5, 6], dtype=np.int64)
    count_ordered(ORDERED, FIRST, groups(*asked), AMOUNTS, DOMAINS, of_live, found)
    assert found.tolist() == counts


@pytest.mark.parametrize(
    ("recorded", "of_groups", "of_live", "counts"),
    [
        pytest.param([0 << 1, 3 << 1], [0, 1], False, [5, 116], id="pods that came"),
        pytest.param([~(1 << 1)], [1], False, [-95, 6], id="a pod that left"),
        pytest.param([1 << 1 | 1, ~(0 << 1 | 1)], [0, 1], False, [15, -94], id="terminating"),
        pytest.param([1 << 1 | 1, ~(0 << 1 | 1)], [0, 1], True, [5, 6], id="live pods only"),
        pytest.param([0 << 1, 3 << 1], [0, 1], True, [5, 116], id="live pods that came"),
        pytest.param([~(1 << 1), 3 << 1], [1, 0], True, [-95, 16], id="live pods, one that left"),
        pytest.param([1 << 1, 1 << 1 | 1], [0, 0], True, [15, 6], id="one of two is live"),
        pytest.param([0 << 1 | 1, 0 << 1], [0, 0], False, [5, 26], id="both count"),
        pytest.param([~(1 << 1), 2 << 1, 1 << 1], [0, 1, 0], True, [5, 6], id="came and left"),
        pytest.param([0 << 1, 1 << 1], [3, 2], False, [4, 13], id="each group has its amount"),
        pytest.param([], [], False, [5, 6], id="nothing"),
    ],
)
def test_count_recorded(recorded, of_groups, of_live, counts):
    found = np.array([5, 6], dtype=np.int64)
    arguments = entries(*recorded), groups(*of_groups), AMOUNTS, DOMAINS
    count_recorded(*arguments, of_live, found)
    assert found.tolist() == counts


def test_a_group_that_adds_nothing_is_left_out():
    found = np.array([5, 6], dtype=np.int64)
    amounts = np.array([0, 1], dtype=np.int64)
    count_recorded(entries(0, 1 << 1), groups(0, 1), amounts, DOMAINS, False, found)
    assert found.tolist() == [6, 6]
