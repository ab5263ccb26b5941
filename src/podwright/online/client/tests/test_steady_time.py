"""The time of day that does not go back."""

from __future__ import annotations

import pytest

from podwright.online.client import SteadyTime


@pytest.mark.parametrize(("clock", "monotonic", "expected"), [
    # The clock of the machine is followed, also forward.
    ((100, 110, 500), (0, 0, 10, 10), (100, 110, 500)),
    # It is set back by 50: half the pace, until it has caught up.
    ((100, 60, 100, 160, 170), (0, 0, 10, 50, 110, 120), (100, 105, 125, 160, 170)),
    # It is set back, and nothing has passed.
    ((100, 60, 60), (0, 0, 0, 0), (100, 100, 100)),
])  # fmt: skip
def test_the_time_never_goes_back_and_never_stands_still(clock, monotonic, expected):
    read, passed = iter(clock), iter(monotonic)
    time = SteadyTime(read_ns=lambda: next(read), read_monotonic_ns=lambda: next(passed))
    assert tuple(time() for _ in expected) == expected


def test_a_time_that_has_passed_is_not_earlier():
    assert SteadyTime(90, read_ns=lambda: 50, read_monotonic_ns=lambda: 0)() == 90
