import math

import numpy as np
import pytest

from podwright.kernels.spread import normalize_spread, reject_skewed, spread_scores


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
    ("values", "wanted"),
    [
        pytest.param([4, 1, 0], [25, 100, 0], id="ignored nodes get 0 and do not count"),
        pytest.param([0, 0, 9], [100, 100, 0], id="no pods: everyone is best"),
        pytest.param([3, 2, 9], [66, 100, 0], id="cut off"),
        pytest.param([2**55, 2**54, 9], [50, 100, 0], id="beyond what a float64 holds"),
    ],
)
def test_normalize_spread(values, wanted):
    found = ints(*values)
    normalize_spread(slots(0, 1, -1), True, slots(0, 1, 2), found)
    assert found.tolist() == wanted
