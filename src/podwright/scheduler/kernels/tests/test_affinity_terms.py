import numpy as np
import pytest

from podwright.scheduler.kernels.affinity_terms import (
    add_counts,
    is_any_counted,
    normalize_between,
    reject_counted,
    reject_groups,
    require_counted,
)

DOMAINS = np.array([0, 1, -1], dtype=np.int32)
ROWS = np.array([0, 1, 2], dtype=np.int32)
COUNTS = np.array([0, 2], dtype=np.int64)
ONE = np.array([0, 1], dtype=np.int64)


@pytest.mark.parametrize(
    ("label_is_enough", "codes"),
    [
        pytest.param(False, [5, 0, 5], id="a pod is needed"),
        pytest.param(True, [0, 0, 5], id="the label is enough"),
    ],
)
def test_require_counted(label_is_enough, codes):
    for one in (COUNTS, ONE):
        found = np.zeros(3, dtype=np.int64)
        require_counted(DOMAINS, one, label_is_enough, 5, ROWS, found)
        assert found.tolist() == codes
    rejected = np.array([7, 8, 9], dtype=np.int64)
    require_counted(DOMAINS, COUNTS, label_is_enough, 5, ROWS, rejected)
    assert rejected.tolist() == [7, 8, 9], "an earlier rejection stays"


def test_reject_counted_passes_nodes_without_the_label():
    for one in (COUNTS, ONE):
        found = np.zeros(3, dtype=np.int64)
        reject_counted(DOMAINS, one, 5, ROWS, found)
        assert found.tolist() == [0, 5, 0]
        reject_counted(DOMAINS, one, 6, ROWS, found)
        assert found.tolist() == [0, 5, 0], "an earlier rejection stays"


# Digits 0 and 1 of a zone (2: none), then no pod or some on a host (2: no host).
ZONES, HOSTS = np.array([0, 0, 3, 1, 0]), np.array([1, 0, 3, 3, 1])


@pytest.mark.parametrize(
    ("counts", "digits", "requires", "label_is_enough", "passed"),
    [
        pytest.param([0, 2], ZONES, True, False, [1, 4, 7], id="a pod in the zone is needed"),
        pytest.param([0, 1], ZONES, False, False, [0, 2, 3, 5, 6, 8], id="not even one"),
        pytest.param([0, 0], ZONES, True, True, [0, 1, 3, 4, 6, 7], id="any zone is enough"),
        pytest.param([0, 2], ZONES, False, False, [0, 2, 3, 5, 6, 8], id="no pod in the zone"),
        pytest.param([1, 1, 7], HOSTS, True, False, [3, 4, 5], id="a pod on the host is needed"),
        pytest.param([1], HOSTS, False, False, [0, 1, 2, 6, 7, 8], id="no pod on the host"),
    ],
)
def test_groups_are_rejected_by_their_digit(counts, digits, requires, label_is_enough, passed):
    rejected = np.zeros(9, dtype=np.bool_)
    reject_groups(np.array(counts, dtype=np.int64), digits, requires, label_is_enough, rejected)
    assert np.flatnonzero(~rejected).tolist() == passed
    reject_groups(np.array([0, 0, 0]), ZONES, True, False, rejected)
    assert rejected.all(), "what was rejected before stays"


def test_add_counts_adds_up_the_domains_of_a_slot():
    values = np.zeros(3, dtype=np.int64)
    other = np.array([-1, 0, 0], dtype=np.int32)
    add_counts(DOMAINS, COUNTS, ROWS, values)
    add_counts(other, np.array([-5], dtype=np.int64), ROWS, values)
    assert values.tolist() == [0, -3, -5]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        pytest.param([-10, 0, 5], [0, 66, 100], id="cut off"),
        pytest.param([3, 4], [0, 100], id="the least difference"),
        pytest.param([5, 5, 5], [0, 0, 0], id="all equal gives 0"),
        pytest.param([], [], id="no slot"),
    ],
)
def test_normalize_between(values, expected):
    found = np.array(values, dtype=np.int64)
    normalize_between(np.arange(len(values), dtype=np.int32), found)
    assert found.tolist() == expected


def test_is_any_counted():
    assert is_any_counted(COUNTS)
    assert is_any_counted(ONE)
    assert not is_any_counted(np.array([0, -1], dtype=np.int64))
