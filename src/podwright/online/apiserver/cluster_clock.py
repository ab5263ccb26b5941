"""The clock of a cluster: real time, which can be paused, stepped and run at another speed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from podwright.cluster.api.endpoints import HttpReply, HttpRequest
from podwright.online.client import SteadyTime

SPEED_MIN: Final = 1e-6
SPEED_MAX: Final = 1e6
"""Eleven days a second."""

END_NS: Final = 7_258_118_400 * 1_000_000_000
"""2200-01-01T00:00:00Z, at which the time stops; times of 64 bits end in 2262."""


class ClusterClock:
    """The time of a cluster, as a function of real time.

    Parameters
    ----------
    start_ns : int, optional
        The initial time of the cluster; the real time if left out.
    speed : float
        How many seconds of the cluster a real second is, `SPEED_MIN` to `SPEED_MAX`.
    read_ns : callable, optional
        Returns the real time in nanoseconds since 1970; a `SteadyTime` if left out.

    Examples
    --------
    >>> from podwright.online.apiserver import ClusterClock
    >>> clock = ClusterClock(start_ns=0, read_ns=lambda: 5)
    >>> clock.pause()
    >>> clock.step(1_000)
    >>> clock.now_ns(), clock.is_paused
    (1000, True)
    """

    def __init__(
        self,
        *,
        start_ns: int | None = None,
        speed: float = 1.0,
        read_ns: Callable[[], int] | None = None,
    ) -> None:
        self._read_ns = read_ns or SteadyTime()
        self._real_ns = self._read_ns()
        self._cluster_ns = self._real_ns if start_ns is None else start_ns
        self._speed = _checked(speed)
        self._is_paused = False
        self._last_ns = self._cluster_ns

    @property
    def speed(self) -> float:
        """How many seconds of the cluster a real second is, while the clock is not paused."""
        return self._speed

    @property
    def is_paused(self) -> bool:
        """Whether only `step` and `run_to` advance the time."""
        return self._is_paused

    def now_ns(self) -> int:
        """Return the time of the cluster, in nanoseconds since 1970.

        It never goes back, and never passes `END_NS`.
        """
        if not self._is_paused:
            passed_ns = self._read_ns() - self._real_ns
            if self._speed == 1.0:
                now_ns = self._cluster_ns + passed_ns
            else:
                now_ns = self._cluster_ns + int(passed_ns * self._speed)
            # A real clock may be set back.
            self._last_ns = max(self._last_ns, min(now_ns, END_NS))
        return self._last_ns

    def pause(self) -> None:
        """Stop the time."""
        self.now_ns()
        self._is_paused = True

    def resume(self) -> None:
        """Let the time pass again from where it is."""
        self._begin()
        self._is_paused = False

    def set_to_real_time(self) -> None:
        """Advance the time to the real time, if a pause has let it fall behind."""
        self._last_ns = max(self.now_ns(), min(self._read_ns(), END_NS))
        self._begin()

    def set_speed(self, speed: float) -> None:
        """Let the time pass at another speed from now on.

        Raises
        ------
        ValueError
            If the speed is not between `SPEED_MIN` and `SPEED_MAX`.
        """
        speed = _checked(speed)
        self._begin()
        self._speed = speed

    def step(self, duration_ns: int) -> None:
        """Advance the time at once.

        Raises
        ------
        ValueError
            If the duration is negative, or leads past `END_NS`.
        """
        if duration_ns < 0:
            raise ValueError(f"a step of {duration_ns} ns would go back in time")
        if self.now_ns() + duration_ns > END_NS:
            raise ValueError("the time of a cluster ends at 2200-01-01T00:00:00Z")
        self._last_ns = self.now_ns() + duration_ns
        self._begin()

    def run_to(self, time_ns: int) -> None:
        """Advance the time at once to a later time.

        Raises
        ------
        ValueError
            If that time has passed, or is after `END_NS`.
        """
        self.step(time_ns - self.now_ns())

    def real_seconds_until(self, time_ns: int) -> float | None:
        """Return in how many real seconds a time of the cluster is; None while it is paused."""
        remaining_ns = time_ns - self.now_ns()
        if remaining_ns <= 0:
            return 0.0
        return None if self._is_paused else remaining_ns / self._speed / 1e9

    def _begin(self) -> None:
        """Count from the current times."""
        self._cluster_ns = self._last_ns if self._is_paused else max(self._last_ns, self.now_ns())
        self._real_ns = self._read_ns()


def _checked(speed: float) -> float:
    if not SPEED_MIN <= speed <= SPEED_MAX:
        raise ValueError(f"a speed is a number from {SPEED_MIN:g} to {SPEED_MAX:g}, not {speed:g}")
    return speed


# A warning to those who hold leases while the clock of the cluster is not real time.
#
# Leader election compares times of a lease with the clock of the client's own machine. In a
# cluster at another speed, or paused, a lease may seem expired, or never expire.

_LEASES = "/apis/coordination.k8s.io/"


def with_lease_warning(request: HttpRequest, reply: HttpReply, clock: ClusterClock) -> HttpReply:
    """Return the reply to a write of a lease, with a warning unless the clock is real time."""
    if request.method == "GET" or not request.path.startswith(_LEASES):
        return reply
    if clock.is_paused:
        state = "is paused"
    elif clock.speed != 1.0:
        state = f"runs at {clock.speed:g} times the speed of real time"
    else:
        return reply
    text = f'299 - "the clock of this cluster {state}: leases end by the clocks of their holders"'
    return msgspec.structs.replace(reply, headers=(*reply.headers, ("warning", text)))
