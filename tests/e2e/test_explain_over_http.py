"""The pages about podwright's own API: curl prints what they show."""

from __future__ import annotations

import os
import subprocess

import pytest
from tests.e2e.test_up import PODWRIGHT, up
from tests.test_docs import COMPILING, FENCE, SAVE_AS, commands_in, is_as_shown, read
from tests.waiting import until

pytestmark = pytest.mark.e2e

PAGES = ("docs/howto/explain-over-http.md", "docs/howto/configure-over-http.md")


def prints(line, shown, folder):
    """Run a shell command until it prints what a page shows."""
    lines = []

    def is_shown():
        nonlocal lines
        result = subprocess.run(
            ["/bin/sh", "-c", line], capture_output=True, text=True, check=False, cwd=folder
        )
        lines = (result.stdout + result.stderr).splitlines()
        return is_as_shown(shown, lines)

    # The pods of the example are scheduled after the start.
    until(is_shown, pause_seconds=0.3, describe=lambda: "\n".join((line, *lines)))


@pytest.mark.parametrize("page", PAGES)
def test_the_commands_print_what_is_shown(tmp_path, monkeypatch, page):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{PODWRIGHT.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    text = read(page)
    commands: list[tuple[str, list[str]]] = []
    for fence in FENCE.finditer(text):
        if saved := SAVE_AS.search(text[: fence.start()]):
            (tmp_path / saved["name"]).write_text(fence["text"], encoding="utf-8")
        if fence["language"] == "console":
            commands += commands_in(fence["text"])
    if commands[0][0].startswith("$ mkdir "):
        (tmp_path / commands.pop(0)[0].removeprefix("$ mkdir ")).mkdir()
    (start, printed), *others = commands
    assert len(others) > 8
    with up(tmp_path, *start.removeprefix("$ podwright up ").split()) as started:
        assert is_as_shown(printed, COMPILING.sub("", started.text()).splitlines())
        for command, shown in others:
            line = command.removeprefix("$ ").replace("localhost:8180", f"127.0.0.1:{started.port}")
            prints(line, shown, tmp_path)
