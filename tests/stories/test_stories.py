"""Every story reproduces its recorded output."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from tests.stories.runner import rerun, stories

pytestmark = pytest.mark.story

DOCS = Path(__file__).parents[2] / "docs"
QUOTED = re.compile(r"^```text\n(# .*?\n----\n.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("path", stories(), ids=lambda path: path.stem)
def test_a_story_reproduces_its_output(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    output = rerun(text)
    if os.environ.get("PODWRIGHT_UPDATE_STORIES"):
        path.write_text(output, encoding="utf-8")
    else:
        assert output == text


def test_there_are_stories() -> None:
    assert stories()


def test_quoted_stories_reproduce_their_output() -> None:
    quoted = [
        story
        for page in sorted(DOCS.rglob("*.md"))
        for story in QUOTED.findall(page.read_text(encoding="utf-8"))
    ]
    assert quoted
    for story in quoted:
        assert rerun(story) == story
