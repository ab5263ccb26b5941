import numpy as np
import pytest

from podwright.scheduler.kernels.division import EXACT, divide

INTERESTING = [
    *range(1, 12),
    99,
    100,
    101,
    4_000,
    8 << 30,
    10**15,
    EXACT // 100,
    EXACT - 1,
    EXACT,
    EXACT + 1,
    EXACT + 2,
    2**60 + 1,
    2**63 - 1,
]


def go_divide(dividend, divisor):
    quotient = abs(dividend) // abs(divisor)
    return quotient if (dividend < 0) == (divisor < 0) else -quotient


@pytest.mark.parametrize("divisor", INTERESTING)
def test_dividing_is_exact_around_every_multiple(divisor):
    for factor in (1, 2, 3, 7, 50, 99, 100, 2**31, 2**52 + 1):
        for offset in (-2, -1, 0, 1, 2):
            dividend = factor * divisor + offset
            if 0 <= dividend < 2**63:
                found = divide(np.int64(dividend), np.int64(divisor))
                assert found == dividend // divisor, (dividend, divisor)


def test_dividing_is_exact_where_the_quotient_is_all_but_an_integer():
    draws = np.random.default_rng(7)
    for bits in (20, 40, 52, 53, 54, 60, 62):
        for _ in range(300):
            divisor = int(draws.integers(1, 2**bits))
            factor = int(draws.integers(1, max(2, 2**62 // divisor)))
            dividend = factor * divisor - 1
            assert divide(np.int64(dividend), np.int64(divisor)) == factor - 1


@pytest.mark.parametrize(
    ("dividend", "divisor", "quotient"),
    [
        pytest.param(-1, 2, 0, id="minus a half is cut to zero, not rounded down"),
        pytest.param(-50, 2, -25, id="an exact negative quotient"),
        pytest.param(-51, 2, -25, id="towards zero"),
        pytest.param(0, 5, 0, id="zero"),
        pytest.param(1, -2, 0, id="a negative divisor"),
        pytest.param(51, -2, -25, id="towards zero, too"),
        pytest.param(-51, -2, 25, id="both are negative"),
        pytest.param(1 << 53, -(1 << 53) - 1, 0, id="a divisor that no float64 holds"),
        pytest.param(1 << 53, (1 << 53) + 1, 0, id="a positive one"),
        pytest.param((1 << 53) + 1, 1 << 53, 1, id="such a dividend"),
        pytest.param((1 << 53) + 1, 1, (1 << 53) + 1, id="divided by one"),
        pytest.param(-(1 << 53) - 1, 1, -(1 << 53) - 1, id="a negative one"),
    ],
)
def test_negative_dividends_are_cut_as_go_does(dividend, divisor, quotient):
    assert divide(np.int64(dividend), np.int64(divisor)) == quotient
    assert go_divide(dividend, divisor) == quotient
