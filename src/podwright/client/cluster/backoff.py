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
    """

    def __init__(self, seed: int) -> None:
        self._draw = Random(seed)
        self._attempts = 0

    def next_ns(self) -> int:
        """Return the next wait, in nanoseconds: once to twice the doubled one."""
        doubled = min(FIRST_NS << min(self._attempts, 10), LONGEST_NS)
        self._attempts += 1
        return int(doubled * (1.0 + self._draw.random()))

    def reset(self) -> None:
        """Begin with the first wait again."""
        self._attempts = 0
