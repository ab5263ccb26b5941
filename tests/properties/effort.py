"""How many examples a property tries.

A property states its number for the profile `repeatable`, according to what one example costs.
Every other profile scales that number, so `HYPOTHESIS_PROFILE=explore` tries twenty times as
many examples of each property. A plain `settings(max_examples=...)` would override the profile.
"""

from __future__ import annotations

from typing import Any

from hypothesis import settings

_HYPOTHESIS_USUAL = 100
"""`max_examples` of Hypothesis and of the profile `repeatable`: the number that scales nothing."""


def examples(usual: int) -> int:
    """Return how many examples the current profile tries where `repeatable` tries `usual`."""
    return max(1, usual * settings().max_examples // _HYPOTHESIS_USUAL)


def effort(usual: int, **others: Any) -> settings:
    """Return settings with that many examples, and `others` as `settings` takes them."""
    return settings(max_examples=examples(usual), **others)
