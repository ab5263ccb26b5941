"""The real control plane and processes on it that can be killed, with a story of what happened."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import yaml
from tests.e2e_real.cluster_processes import controller_manager, kubeconfig_of
from tests.real_parts.chaos.client import Client
from tests.real_parts.control_plane import ControlPlane, running

_END_SECONDS: Final = 30
PODWRIGHT: Final = Path(sys.executable).with_name("podwright")


class Story:
    """What happened in a run, with seconds since its start."""

    def __init__(self) -> None:
        self._start = time.monotonic()
        self.lines: list[str] = []

    def add(self, line: str) -> None:
        """Add a line."""
        self.lines.append(f"{time.monotonic() - self._start:6.1f} s  {line}")

    def __str__(self) -> str:
        return "\n".join(self.lines)


class Part:
    """A process that can be killed and started again; its output is one file.

    Parameters
    ----------
    name : str
    command : sequence of str or Path
    folder : Path
        Of the output.
    """

    def __init__(self, name: str, command: Sequence[str | Path], folder: Path) -> None:
        self.name = name
        self.log = folder / f"{name}.log"
        self._command = [str(word) for word in command]
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def is_running(self) -> bool:
        """Whether it was started, and has not ended."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start it, unless it runs."""
        if not self.is_running:
            with self.log.open("ab") as output:
                self._process = subprocess.Popen(self._command, stdout=output, stderr=output)

    def kill(self) -> None:
        """Kill it, as a lost machine does."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def end(self) -> None:
        """Let it end; kill it if that takes long."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()

    def output(self) -> str:
        """Return what it has written since its first start."""
        return self.log.read_text(errors="replace") if self.log.exists() else ""


class ChaosCluster:
    """A control plane with faults.

    Attributes
    ----------
    plane : ControlPlane
    kubeconfig : Path
        Of an administrator.
    folder : Path
    story : Story
    """

    def __init__(self, plane: ControlPlane, folder: Path) -> None:
        self.plane = plane
        self.folder = folder
        self.story = Story()
        self.kubeconfig = folder / "kubeconfig"
        self.kubeconfig.write_text(yaml.safe_dump(kubeconfig_of(plane.address)))
        self._parts: list[Part] = []
        self._clients: list[Client] = []

    def client(self, kubeconfig: Path | None = None) -> Client:
        """Return a client of an administrator, or of another cluster; each thread needs its own."""
        client = Client(kubeconfig or self.kubeconfig)
        self._clients.append(client)
        return client

    def part(self, name: str, *command: str | Path) -> Part:
        """Start a process, which ends with the cluster."""
        part = Part(name, command, self.folder)
        part.start()
        self._parts.append(part)
        return part

    def end_parts(self) -> None:
        """End the processes and the connections."""
        for part in self._parts:
            part.end()
        for client in self._clients:
            client.close()


@contextmanager
def chaos_cluster(folder: Path, *, controllers: str | None = None) -> Iterator[ChaosCluster]:
    """Run a control plane with faults for the time of a block.

    Parameters
    ----------
    folder : Path
        Of logs and kubeconfigs; it is made if it is not there.
    controllers : str, optional
        Those of kube-controller-manager, which does not run without them.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with running() as plane, ExitStack() as stack:
        cluster = ChaosCluster(plane, folder)
        if controllers is not None:
            stack.enter_context(controller_manager(folder, cluster.kubeconfig, controllers))
        stack.callback(cluster.end_parts)
        yield cluster
