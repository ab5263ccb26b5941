"""Profiles determine the number of examples of properties; no property overrides them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings
from tests.properties.effort import effort, examples

PROJECT = Path(__file__).parents[2]


@pytest.mark.parametrize(("profile", "expected"), [("repeatable", 40), ("explore", 800)])
def test_a_profile_scales_the_number_of_examples(profile: str, expected: int) -> None:
    before = settings.get_current_profile_name()
    settings.load_profile(profile)
    try:
        assert effort(40).max_examples == expected
        assert examples(40) == expected
    finally:
        settings.load_profile(before)


def test_no_property_overrides_its_profile() -> None:
    overriding = [
        path.relative_to(PROJECT).as_posix()
        for folder in ("src", "tests")
        for path in (PROJECT / folder).rglob("test_*.py")
        if path != Path(__file__) and "max_examples=" in path.read_text()
    ]
    assert not overriding, "state the number of examples with tests.properties.effort"
