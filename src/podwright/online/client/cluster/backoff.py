"""Waits between attempts that double, with jitter.

The jitter is a function of the seed and of the number of the attempt, so tests are reproducible.

Upstream: staging/src/k8s.io/client-go/tools/cache/reflector.go, `NewReflectorWithOptions`
"""

from __future__ import annotations

from random import Random
from typing import Final

FIRST_NS: Final = 800_000_000
LONGEST_NS: Final = 30_000_000_000


class Backoff:
    """Counts attempts, and returns the wait before the next one.

    Parameters
    ----------
    seed : int
        Of the jitter: clients with different seeds do not return at the same time.
    first_ns, longest_ns : int
        The first and the longest wait, without jitter.
    """

    def __init__(
        self, seed: int, *, first_ns: int = FIRST_NS, longest_ns: int = LONGEST_NS
    ) -> None:
        self._draw = Random(seed)
        self._first_ns = first_ns
        self._longest_ns = longest_ns
        self._attempts = 0

    def next_ns(self) -> int:
        """Return the next wait, in nanoseconds: once to twice the doubled one."""
        doubled = min(self._first_ns << min(self._attempts, 10), self._longest_ns)
        self._attempts += 1
        return int(doubled * (1.0 + self._draw.random()))

    def reset(self) -> None:
        """Begin with the first wait again."""
        self._attempts = 0
