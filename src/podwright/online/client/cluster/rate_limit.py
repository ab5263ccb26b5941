"""A token bucket for requests, without a clock of its own."""

from __future__ import annotations

from podwright.apimachinery.objects import SECOND_NS


class TokenBucket:
    """Limits how many requests start per second.

    Parameters
    ----------
    per_second : float
        The rate; positive.
    burst : int
        How many may start at once.

    Notes
    -----
    Upstream: staging/src/k8s.io/client-go/util/flowcontrol/throttle.go
    """

    def __init__(self, per_second: float, burst: int) -> None:
        self._interval_ns = int(SECOND_NS / per_second)
        self._ahead_ns = self._interval_ns * (burst - 1)
        # When the bucket is full again.
        self._full_ns = 0

    def reserve(self, now_ns: int) -> int:
        """Take a token, and return how long to wait for it, in nanoseconds."""
        full = max(self._full_ns, now_ns)
        self._full_ns = full + self._interval_ns
        return max(0, full - self._ahead_ns - now_ns)
