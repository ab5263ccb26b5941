"""Every story goes as it is written."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from tests.stories.runner import stories, tell

pytestmark = pytest.mark.story

DOCS = Path(__file__).parents[2] / "docs"
QUOTED = re.compile(r"^```text\n(# .*?\n----\n.*?)^```$", re.MULTILINE | re.DOTALL)


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


def test_stories_that_pages_quote_go_as_they_are_written() -> None:
    quoted = [
        story
        for page in sorted(DOCS.rglob("*.md"))
        for story in QUOTED.findall(page.read_text(encoding="utf-8"))
    ]
    assert quoted
    for story in quoted:
        assert tell(story) == story
