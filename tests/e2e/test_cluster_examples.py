"""The examples in the help of the commands that reach a cluster over its API."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.e2e.command_line import NODES, pod
from tests.e2e.shell_blocks import printed
from tests.e2e.test_cli import examples
from tests.e2e_real.cluster_processes import embedded
from tests.waiting import SECONDS_MAX, until

OFF = ("--no-scheduler", "--no-controllers", "--no-lifecycle")
PODWRIGHT = Path(sys.executable).with_name("podwright")
ENDING = ("import", "record", "replay")
ENDLESS = ("sync", "scheduler")
"""What follows a cluster until it is interrupted."""


def lines_of(*commands: str) -> list[str]:
    """Return the examples of commands, in the order of the commands."""
    return [line for name in commands for line in examples() if line.split()[0] == name]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the kubeconfigs of a source and a destination."""
    folder = tmp_path_factory.mktemp("examples")
    manifests = folder / "cluster.yaml"
    manifests.write_text(NODES + pod("web", "1"))
    with (
        embedded(folder / "source", *OFF, str(manifests)) as source,
        embedded(folder / "destination") as destination,
    ):
        (folder / "source.kubeconfig").write_text(source.read_text())
        (folder / "podwright.kubeconfig").write_text(destination.read_text())
        yield folder


@pytest.fixture(autouse=True)
def _source(folder, monkeypatch):
    monkeypatch.setenv("KUBECONFIG", str(folder / "source.kubeconfig"))


def test_examples_that_end_run_one_after_the_other(folder):
    lines = lines_of(*ENDING)
    assert {line.split()[0] for line in lines} == set(ENDING)
    for line in lines:
        done = subprocess.run(
            [PODWRIGHT, *line.split()], cwd=folder, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, (line, done.stderr)
        assert done.stdout or done.stderr


@pytest.mark.parametrize("line", lines_of(*ENDLESS))
def test_examples_that_follow_a_cluster_run_until_they_are_interrupted(folder, line, tmp_path):
    log = tmp_path / "log"
    with log.open("w") as output:
        process = subprocess.Popen(
            [PODWRIGHT, *line.split()], cwd=folder, stdout=output, stderr=output
        )
    try:
        until(lambda: printed(log) or process.poll() is not None)
        assert process.poll() is None, log.read_text()
    finally:
        process.send_signal(signal.SIGINT)
        status = process.wait(SECONDS_MAX)
    assert status == 0, log.read_text()


def test_every_command_that_follows_a_cluster_has_an_example():
    assert {line.split()[0] for line in lines_of(*ENDLESS)} == set(ENDLESS)
