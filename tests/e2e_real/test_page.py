"""The page about running a cluster: kubectl prints what it shows."""

from __future__ import annotations

import time

import pytest
from tests.e2e_real.cluster_processes import embedded, kubectl
from tests.test_docs import FENCE, commands_in, is_as_shown, read

pytestmark = pytest.mark.e2e

PAGE = "docs/howto/run-a-cluster.md"
SECONDS_MAX = 30


def test_the_commands_print_what_is_shown(tmp_path):
    blocks = [
        fence["text"] for fence in FENCE.finditer(read(PAGE)) if fence["language"] == "console"
    ]
    (start, printed), *others = [each for block in blocks for each in commands_in(block)]
    options = start.removeprefix("$ podwright up ").split()
    assert others
    with embedded(tmp_path, *options) as kubeconfig:
        assert is_as_shown(printed, (tmp_path / "up.log").read_text().splitlines())
        for command, shown in others:
            arguments = command.removeprefix("$ kubectl ").split(" ")
            deadline = time.monotonic() + SECONDS_MAX
            while True:
                result = kubectl(kubeconfig, *arguments)
                lines = [line.rstrip() for line in (result.stdout + result.stderr).splitlines()]
                # Events come after the command that leads to them.
                if is_as_shown(shown, lines) or time.monotonic() > deadline:
                    break
                time.sleep(0.3)
            assert is_as_shown(shown, lines), (command, lines)
