"""The number of examples of properties.

A property states its number for the profile `repeatable`, depending on the cost of one example.
Every other profile scales that number, so `HYPOTHESIS_PROFILE=explore` tries twenty times as many
examples of each property. A plain `settings(max_examples=...)` would override the profile.
"""

from __future__ import annotations

from typing import Any

from hypothesis import settings

_HYPOTHESIS_USUAL = 100
"""`max_examples` of Hypothesis and of the profile `repeatable`: the unscaled number."""


def examples(usual: int) -> int:
    """Return the current profile's number of examples if `repeatable` has `usual`."""
    return max(1, usual * settings().max_examples // _HYPOTHESIS_USUAL)


def effort(usual: int, **others: Any) -> settings:
    """Return settings with that many examples, and the other arguments of `settings`."""
    return settings(max_examples=examples(usual), **others)
