"""Durations in tables."""

import pytest

from podwright.cli.console import duration_text

SECOND = 10**9


@pytest.mark.parametrize(
    ("duration_ns", "text"),
    [
        pytest.param(0, "0s", id="none"),
        pytest.param(1_250_000_999, "1.25s", id="to the millisecond below 10 s"),
        pytest.param(9_999 * SECOND // 1000, "9.999s", id="just below 10 s"),
        pytest.param(10 * SECOND + 1, "10s", id="to the second from 10 s on"),
        pytest.param(330 * SECOND, "5m30s", id="minutes and seconds"),
        pytest.param(3 * 3600 * SECOND, "3h", id="hours"),
        pytest.param(52 * 3600 * SECOND, "2d4h", id="days and hours"),
    ],
)
def test_a_duration_has_two_or_three_significant_figures(duration_ns, text):
    assert duration_text(duration_ns) == text
