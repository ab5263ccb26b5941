"""Outcomes that are kept as texts beside tests, in sections with a title each.

A text says that an outcome has changed, and not whether it was right. With
`PODWRIGHT_UPDATE_STORIES=1` a test writes its section again; the difference is reviewed.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from pathlib import Path


class RecordedText:
    """The text of a test module.

    Parameters
    ----------
    path : Path
    titles : collection of str
        Of all sections; the text has no others.
    """

    def __init__(self, path: Path, titles: Collection[str]) -> None:
        self._path = path
        self._titles = frozenset(titles)

    def check(self, title: str, found: Iterable[str]) -> None:
        """Compare lines with those of a section, or write them there."""
        assert title in self._titles, f"{title} is a section that is not declared"
        lines, sections = [*found], self._read()
        if os.environ.get("PODWRIGHT_UPDATE_STORIES"):
            kept = {name: each for name, each in sections.items() if name in self._titles}
            written = sorted((kept | {title: lines}).items())
            texts = ("\n".join([f"# {name}", *each, ""]) for name, each in written)
            self._path.write_text("".join(texts), "utf-8")
            return
        assert sections.keys() == self._titles, "sections of other tests, or missing ones"
        assert lines == sections[title]

    def _read(self) -> dict[str, list[str]]:
        if not self._path.exists():
            return {}
        _, *parts = f"\n{self._path.read_text('utf-8')}".split("\n# ")
        return {
            title: lines.splitlines()
            for title, _, lines in (part.partition("\n") for part in parts)
        }
