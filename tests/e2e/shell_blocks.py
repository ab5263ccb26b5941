"""Runs the `sh` blocks of a page of the documentation, as a user pastes them.

Commands that do not end by themselves run until the block ends.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.test_docs import COMPILING, FENCE, read
from tests.waiting import until

CLUSTER = "podwright up"
ENDLESS = (CLUSTER, "podwright sync", "podwright scheduler", "podwright page")
SECONDS_MAX = 240
UNTIL_INTERRUPTED = ("podwright record",)
"""Interrupted as soon as they print: each line of a block is another way to use them."""

_PORT = re.compile(r"\b(?:81[0-9]{2}|102[0-9]{2})\b")
_OWN = re.compile(r"podwright |kubectl (?:podwright|get) ")
_COMMANDS = str(Path(sys.executable).parent)


def blocks(page: str) -> list[list[str]]:
    """Return the `sh` blocks of a page whose commands are podwright's, or kubectl's that read."""
    fences = [fence["text"] for fence in FENCE.finditer(read(page)) if fence["language"] == "sh"]
    found = [text.replace("\\\n", " ").splitlines() for text in fences]
    return [lines for lines in found if all(map(_OWN.match, lines))]


def configuration_in(page: str) -> str:
    """Return the KubeSchedulerConfiguration that a page shows."""
    (text,) = [
        fence["text"]
        for fence in FENCE.finditer(read(page))
        if fence["language"] == "yaml" and "KubeSchedulerConfiguration" in fence["text"]
    ]
    return text


class Ports:
    """Free ports in place of those that pages name."""

    def __init__(self, known: Mapping[int, int] | None = None) -> None:
        self._ports = dict(known or {})

    def replace(self, command: str) -> str:
        """Return a command with free ports."""
        return _PORT.sub(lambda match: str(self._free(int(match[0]))), command)

    def _free(self, shown: int) -> int:
        if shown not in self._ports:
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                self._ports[shown] = probe.getsockname()[1]
        return self._ports[shown]


def run_block(lines: list[str], folder: Path, ports: Ports) -> None:
    """Run the commands of a block, each until it succeeds or does not end."""
    with ExitStack() as stack:
        for number, line in enumerate(lines):
            # kubectl runs its plugin by this name.
            command = ports.replace(line.replace("kubectl podwright ", "kubectl-podwright "))
            is_alternative = command.startswith(UNTIL_INTERRUPTED)
            if command.startswith(CLUSTER) and "--port" not in command:
                # Others of the block have the default port, too; so may another process.
                command, is_alternative = f"{command} --port 0", True
            if is_alternative:
                with _running(command, folder, folder / f"{number}.log"):
                    pass
            elif command.startswith(ENDLESS):
                stack.enter_context(_running(command, folder, folder / f"{number}.log"))
            else:
                _run(command, folder)


def _run(command: str, folder: Path) -> None:
    """Run a command; repeat it while what runs beside it has not got far enough."""
    errors = ""

    def succeeds() -> bool:
        nonlocal errors
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", command],
            cwd=folder,
            env=_environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        errors = done.stderr
        if done.returncode == 0:
            assert ">" in command or done.stdout or done.stderr, f"{command} prints nothing"
        return done.returncode == 0

    until(succeeds, SECONDS_MAX, pause_seconds=1, describe=lambda: f"{command}\n{errors}")


@contextmanager
def _running(command: str, folder: Path, log: Path):
    with log.open("wb") as output:
        process = subprocess.Popen(
            ["bash", "-c", f"exec {command}"],
            cwd=folder,
            env=_environment(),
            stdout=output,
            stderr=output,
        )
    try:
        started = "Serving" if command.startswith(CLUSTER) else "\n"
        # While kernels are compiled, an interruption ends the command with another status.
        until(lambda: started in printed(log) or process.poll() is not None)
        assert process.poll() is None, f"{command}\n{log.read_text()}"
        yield
        assert process.poll() is None, f"{command}\n{log.read_text()}"
    finally:
        process.send_signal(signal.SIGINT)
        status = process.wait(SECONDS_MAX)
    assert status == 0, f"{command}\n{log.read_text()}"


def printed(log: Path) -> str:
    """Return what a command has printed for this use of it, wherever it runs the first time."""
    return COMPILING.sub("", log.read_text())


def _environment() -> dict[str, str]:
    return {**os.environ, "PATH": f"{_COMMANDS}{os.pathsep}{os.environ['PATH']}"}
