"""Waits for what other processes do."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

SECONDS_MAX = 120


def until(condition: Callable[[], T], seconds: float = SECONDS_MAX) -> T:
    """Return what a condition returns as soon as it is true.

    Raises
    ------
    AssertionError
        It is not true within the time.
    """
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, f"not true within {seconds:g} s"
        time.sleep(0.1)
    return found
