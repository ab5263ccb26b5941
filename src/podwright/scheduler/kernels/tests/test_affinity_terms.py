import numpy as np
import pytest

from podwright.scheduler.kernels.affinity_terms import (
    add_counts,
    is_any_counted,
    normalize_between,
    reject_counted,
    require_counted,
)

DOMAINS = np.array([0, 1, -1], dtype=np.int32)
ROWS = np.array([0, 1, 2], dtype=np.int32)
COUNTS = np.array([0, 2], dtype=np.int64)


@pytest.mark.parametrize(
    ("label_is_enough", "codes"),
    [
        pytest.param(False, [5, 0, 5], id="a pod is needed"),
        pytest.param(True, [0, 0, 5], id="the label is enough"),
    ],
)
def test_require_counted(label_is_enough, codes):
    found = np.zeros(3, dtype=np.int64)
    require_counted(DOMAINS, COUNTS, label_is_enough, 5, ROWS, found)
    assert found.tolist() == codes


def test_reject_counted_passes_nodes_without_the_label():
    found = np.zeros(3, dtype=np.int64)
    reject_counted(DOMAINS, COUNTS, 5, ROWS, found)
    assert found.tolist() == [0, 5, 0]


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
    assert not is_any_counted(np.array([0, -1], dtype=np.int64))
