"""Counts of the situations that a property has exercised, asserted and printed in the summary.

Generated histories pass easily if they contain few events. A property that depends on certain
situations counts them and asserts a minimum, so it fails if its generator no longer produces them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

import pytest
from hypothesis import settings
from tests.properties.effort import examples

PROPERTY = "exercised"
"""The name of the counts in a test's report; the root `conftest.py` prints them."""


class Exercised(Counter[str]):
    """Counts by name."""

    def __init__(self) -> None:
        super().__init__()
        self._is_paused = False

    def count(self, name: str, amount: int = 1) -> None:
        """Add to a count."""
        if not self._is_paused:
            self[name] += amount

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Count nothing within the block, as for clusters that serve only for comparison."""
        before, self._is_paused = self._is_paused, True
        try:
            yield
        finally:
            self._is_paused = before

    def watch(self, patch: pytest.MonkeyPatch, owner: type, method: str, name: str) -> None:
        """Count the calls of a method."""

        def count(_: Any, call: Callable[[], Any]) -> Any:
            self.count(name)
            return call()

        self._wrap(patch, owner, method, count)

    def watch_forgetting(
        self, patch: pytest.MonkeyPatch, owner: type, method: str, memory: str, name: str
    ) -> None:
        """Count the calls of a method that remove an entry of `memory`, a dictionary or set."""

        def compare(one: Any, call: Callable[[], Any]) -> Any:
            before = set(getattr(one, memory))
            found = call()
            if not before <= set(getattr(one, memory)):
                self.count(name)
            return found

        self._wrap(patch, owner, method, compare)

    def _wrap(
        self,
        patch: pytest.MonkeyPatch,
        owner: type,
        method: str,
        watched: Callable[[Any, Callable[[], Any]], Any],
    ) -> None:
        original = getattr(owner, method)

        @wraps(original)
        def wrapper(one: Any, *args: Any, **named: Any) -> Any:
            return watched(one, lambda: original(one, *args, **named))

        patch.setattr(owner, method, wrapper)

    def at_least(self, record: Callable[[str, object], None], needed: dict[str, int]) -> None:
        """Report all counts, and assert that those in `needed` were reached.

        Parameters
        ----------
        record : callable
            Pytest's `record_property`.
        needed : dict of str to int
            For the profile `repeatable`; others scale it as they scale the examples, but `quick`
            has too few to promise a situation: nothing is asserted.
        """
        record(PROPERTY, ", ".join(f"{name} {count:,}" for name, count in sorted(self.items())))
        if settings.get_current_profile_name() == "quick":
            return
        scaled = {name: examples(count) for name, count in needed.items()}
        missed = {
            name: f"{self[name]} of {count}" for name, count in scaled.items() if self[name] < count
        }
        assert not missed, (
            f"the histories exercise too little (profile {settings.get_current_profile_name()}):"
            f" {missed}"
        )
