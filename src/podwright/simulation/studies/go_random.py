"""Go's seeded generator of random numbers, so that a published experiment can be repeated.

It is an additive lagged Fibonacci generator with 607 words of state. `go_random.json` has the
constants that seeding combines with the seed.

Upstream: Go src/math/rand/rng.go, src/math/rand/rand.go
"""

from __future__ import annotations

import json
from collections.abc import MutableSequence
from importlib import resources
from typing import Any, Final

_LENGTH: Final = 607
_TAP: Final = 273
_MASK: Final = 2**64 - 1
_SEED_MODULUS: Final = 2**31 - 1
_SEED_FACTOR: Final = 48271
_ZERO_SEED: Final = 89482311
_DISCARDED: Final = 20
"""So many numbers of the seeding generator are dropped first."""


class GoRandom:
    """The stream of `math/rand` for a seed.

    Parameters
    ----------
    seed : int
    """

    def __init__(self, seed: int) -> None:
        self._tap = 0
        self._state: list[int] = []
        number = seed % _SEED_MODULUS or _ZERO_SEED
        for _ in range(_DISCARDED):
            number = number * _SEED_FACTOR % _SEED_MODULUS
        constants = resources.files(__package__).joinpath("go_random.json").read_bytes()
        for constant in json.loads(constants):
            word = 0
            for _ in range(3):
                number = number * _SEED_FACTOR % _SEED_MODULUS
                word = (word << 20) ^ number
            self._state.append((word ^ constant) & _MASK)

    def uint64(self) -> int:
        """Return the next number of the stream, in [0, 2**64)."""
        self._tap = (self._tap - 1) % _LENGTH
        feed = (self._tap - _TAP) % _LENGTH
        self._state[feed] = (self._state[feed] + self._state[self._tap]) & _MASK
        return self._state[feed]

    def int63(self) -> int:
        """Return a number in [0, 2**63)."""
        return self.uint64() & (2**63 - 1)

    def below(self, limit: int) -> int:
        """Return a number in [0, limit), as `Intn` does; the limit is less than 2**31."""
        greatest = 2**31 - 1 - 2**31 % limit
        while (number := self.int63() >> 32) > greatest:
            continue
        return number % limit

    def shuffle(self, items: MutableSequence[Any]) -> None:
        """Shuffle in place, as `Shuffle` does, which draws otherwise than `Intn`."""
        for last in range(len(items) - 1, 0, -1):
            least = 2**32 % (last + 1)
            while (product := (self.int63() >> 31) * (last + 1)) & 0xFFFFFFFF < least:
                continue
            other = product >> 32
            items[last], items[other] = items[other], items[last]

    def permutation(self, length: int) -> list[int]:
        """Return a permutation of the numbers below `length`, as `Perm` does."""
        numbers = [0] * length
        for index in range(length):
            other = self.below(index + 1)
            numbers[index] = numbers[other]
            numbers[other] = index
        return numbers
