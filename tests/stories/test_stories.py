"""Every story goes as it is written."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.stories.runner import stories, tell

pytestmark = pytest.mark.story


@pytest.mark.parametrize("path", stories(), ids=lambda path: path.stem)
def test_a_story_goes_as_it_is_written(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    told = tell(text)
    if os.environ.get("PODWRIGHT_UPDATE_STORIES"):
        path.write_text(told, encoding="utf-8")
    else:
        assert told == text


def test_there_are_stories() -> None:
    assert stories()
