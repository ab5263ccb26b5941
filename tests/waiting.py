"""Waits for what other processes or threads do."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

SECONDS_MAX = 120


def until(
    condition: Callable[[], T],
    seconds: float = SECONDS_MAX,
    *,
    pause_seconds: float = 0.1,
    describe: Callable[[], object] | None = None,
) -> T:
    """Return what a condition returns as soon as it is true.

    Parameters
    ----------
    seconds : float
        The longest wait: a limit for defects, never for slow machines.
    pause_seconds : float
        Between two calls of the condition.
    describe : callable, optional
        Returns what the error says of the state at the end.

    Raises
    ------
    AssertionError
        It is not true within the time.
    """
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        if time.monotonic() > deadline:
            state = "" if describe is None else f": {describe()}"
            raise AssertionError(f"not true within {seconds:g} s{state}")
        time.sleep(pause_seconds)
    return found


def until_steady(
    read: Callable[[], T],
    seconds: float = SECONDS_MAX,
    *,
    times: int = 2,
    pause_seconds: float = 1.0,
    describe: Callable[[], object] | None = None,
) -> T:
    """Return what a function returns as soon as it is true and the same several times in a row.

    For what no single state shows to be over, such as the work of controllers.

    Parameters
    ----------
    times : int
        How many equal values in a row.
    seconds, pause_seconds : float
        As for `until`.
    describe : callable, optional
        As for `until`; the default is the last value.

    Raises
    ------
    AssertionError
        It is not steady within the time.
    """
    last: list[T] = []

    def is_steady() -> bool:
        found = read()
        if last and found != last[0]:
            last.clear()
        last.append(found)
        return bool(found) and len(last) >= times

    described = describe or (lambda: last[-1])
    until(is_steady, seconds, pause_seconds=pause_seconds, describe=described)
    return last[-1]
