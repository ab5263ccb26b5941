"""A `podwright up` in a separate process, for benchmarks over HTTP."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

COMMAND: Final = (sys.executable, "-c", "from podwright.cli import main; main()")
NODES: Final = 5_000
_ROOT: Final = Path(__file__).parents[2]
_SERVING: Final = re.compile(r"https?://([\d.]+):(\d+)")
_TICKS: Final = os.sysconf("SC_CLK_TCK")
_CPU_CLOCK: Final = 2
_WAIT_SECONDS: Final = 120.0
_IDLE_CORES: Final = 0.1
_BUSY_SHARE: Final = 0.7
"""How much of a second a server runs or waits for a core at least while it has work."""

_NS: Final = 1_000_000_000


class Server:
    """A running `podwright up`.

    Attributes
    ----------
    process : Popen
    address : (str, int)
    """

    def __init__(self, process: subprocess.Popen[str], address: tuple[str, int]) -> None:
        self.process = process
        self.address = address

    @property
    def cpu_seconds(self) -> float:
        """The processor time that the process has used."""
        return sum(self._ticks()[:2]) / _TICKS

    @property
    def cpu_ns(self) -> int:
        """The processor time that the process has used, in nanoseconds; while it runs."""
        # The clock of a process; Linux: include/linux/posix-timers.h, make_process_cpuclock
        return time.clock_gettime_ns(~self.process.pid << 3 | _CPU_CLOCK)

    @property
    def cpu_seconds_of_all(self) -> float:
        """The processor time of the process and of its children that have ended."""
        return sum(self._ticks()) / _TICKS

    def memory(self, name: str = "VmRSS") -> int:
        """Return the bytes of memory that the process has; with VmHWM the most that it has had."""
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        return int(status.partition(f"{name}:")[2].split()[0]) * 1024

    def settle(self) -> float:
        """Wait until the server has nothing to do but what recurs, as heartbeats; nodes are there.

        Returns
        -------
        float
            The cores that the server uses then.
        """
        deadline = time.monotonic() + _WAIT_SECONDS
        before, was_busy, spent = time.monotonic(), self._busy_seconds, self.cpu_seconds
        while time.monotonic() < deadline:
            time.sleep(2)
            now, busy, used = time.monotonic(), self._busy_seconds, self.cpu_seconds
            cores = (used - spent) / (now - before)
            if cores < _IDLE_CORES or busy - was_busy < _BUSY_SHARE * (now - before):
                return cores
            before, was_busy, spent = now, busy, used
        raise AssertionError(f"podwright up is still busy after {_WAIT_SECONDS} s")

    @property
    def _busy_seconds(self) -> float:
        """How long the first thread has run, or waited for a core that other processes have."""
        text = Path(f"/proc/{self.process.pid}/schedstat").read_text(encoding="ascii")
        return sum(int(field) for field in text.split()[:2]) / _NS

    def _ticks(self) -> list[int]:
        text = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="ascii")
        return [int(field) for field in text.rpartition(")")[2].split()[11:15]]


@contextlib.contextmanager
def started(command: Sequence[str], env: Mapping[str, str] | None = None) -> Iterator[Server]:
    """Run a command that serves a cluster until the end of the block; what it prints is dropped."""
    with subprocess.Popen(
        command, cwd=_ROOT, stdout=subprocess.PIPE, text=True, env=env
    ) as process:
        try:
            assert process.stdout is not None, "the output is a pipe"
            found = None
            while found is None:
                line = process.stdout.readline()
                assert line, "podwright up has ended"
                found = _SERVING.search(line)
            yield Server(process, (found[1], int(found[2])))
        finally:
            process.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.communicate(timeout=_WAIT_SECONDS)
            process.kill()


@contextlib.contextmanager
def served(*options: str, nodes: int = NODES) -> Iterator[Server]:
    """Run `podwright up` with nodes, by default 5,000; `{folder}` is a temporary folder."""
    with tempfile.TemporaryDirectory() as folder:
        command = [
            *(*COMMAND, "up", "--no-ui", "--port", "0", "--nodes", str(nodes)),
            *("--kubeconfig", f"{folder}/kubeconfig"),
            *(option.format(folder=folder) for option in options),
        ]
        with started(command) as server:
            yield server
