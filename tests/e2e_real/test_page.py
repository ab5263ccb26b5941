"""The pages about running a cluster: kubectl prints what they show."""

from __future__ import annotations

from itertools import pairwise

import pytest
from tests.e2e_real.cluster_processes import embedded, kubectl
from tests.test_docs import (
    CLUSTER_PAGES,
    CLUSTER_START,
    FENCE,
    ROOT,
    commands_in,
    is_as_shown,
    read,
)
from tests.waiting import until

pytestmark = [pytest.mark.e2e, pytest.mark.share]


def sessions():
    """Return the commands of each cluster of the pages: its start, and what follows."""
    found = []
    for page in CLUSTER_PAGES:
        shown = [
            each
            for fence in FENCE.finditer(read(page))
            if fence["language"] == "console"
            for each in commands_in(fence["text"])
        ]
        shown = [each for each in shown if each[0].startswith((CLUSTER_START, "$ kubectl "))]
        starts = [
            place for place, (command, _) in enumerate(shown) if command.startswith(CLUSTER_START)
        ]
        assert starts[0] == 0
        found += [shown[begin:end] for begin, end in pairwise([*starts, len(shown)])]
    return found


def prints(kubeconfig, arguments, shown):
    """Run kubectl until it prints what the page shows."""
    lines = []

    def is_shown():
        nonlocal lines
        result = kubectl(kubeconfig, *arguments)
        lines = [line.rstrip() for line in (result.stdout + result.stderr).splitlines()]
        return is_as_shown(shown, lines)

    # Events come after the command that leads to them.
    until(is_shown, pause_seconds=0.3, describe=lambda: (arguments, lines))


@pytest.mark.parametrize("number", range(len(sessions())))
def test_the_commands_print_what_is_shown(tmp_path, number, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (start, printed), *others = sessions()[number]
    assert others
    has_page = any("web page" in line for line in printed)
    options = start.removeprefix(CLUSTER_START).split()
    with embedded(tmp_path, *options, has_page=has_page) as kubeconfig:
        assert is_as_shown(printed, (tmp_path / "up.log").read_text().splitlines())
        for command, shown in others:
            arguments = command.removeprefix("$ kubectl ").split(" ")
            prints(kubeconfig, arguments, shown)
