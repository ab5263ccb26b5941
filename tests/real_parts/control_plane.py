"""kube-apiserver with etcd in the set-up of the recordings: ``python -m tests.real_parts``.

Every start has new data in a temporary folder, which goes with it. Upstream's controllers do not
run; service account admission is off; bearer tokens are static.
"""

from __future__ import annotations

import http.client
import json
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from tests.real_parts.binaries import find

TOKENS: Final = """\
admin-token,admin,admin-uid,"system:masters"
alice-token,alice,alice-uid,"dev"
sched-token,system:kube-scheduler,
"""
_START_SECONDS_MAX = 120
_STOP_SECONDS_MAX = 20
_STARTS_MAX = 3
_TAKEN = "address already in use"


class FailedStartError(Exception):
    """A component ended, or was not ready in time."""


class ControlPlane:
    """A running kube-apiserver with its etcd.

    Attributes
    ----------
    port : int
        Of kube-apiserver, TLS, on 127.0.0.1.
    folder : Path
        Data, logs and certificates.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = 0
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._etcd = ""

    @property
    def address(self) -> str:
        """The URL of kube-apiserver."""
        return f"https://127.0.0.1:{self.port}"

    def start(self, *flags: str, port: int = 0, has_service_accounts: bool = False) -> None:
        """Start etcd and kube-apiserver, and wait until the server is ready.

        Parameters
        ----------
        flags : str
            Further flags of kube-apiserver.
        port : int
            Of kube-apiserver; 0 for a free one.
        has_service_accounts : bool
            Whether admission gives pods their service account.

        Raises
        ------
        FailedStartError
        AbsentBinaryError
        """
        for starts_left in reversed(range(_STARTS_MAX)):
            try:
                self._start(flags, port, has_service_accounts=has_service_accounts)
            except FailedStartError as error:
                # Another process may get a port before the component listens on it.
                if _TAKEN not in str(error) or not starts_left:
                    raise
                self.stop()
                shutil.rmtree(self.folder / "etcd-data", ignore_errors=True)
            else:
                return

    def _start(self, flags: Sequence[str], port: int, *, has_service_accounts: bool) -> None:
        client, peer = free_port(), free_port()
        self.port = port or free_port()
        etcd = self._etcd = f"http://127.0.0.1:{client}"
        self._run("etcd", f"--data-dir={self.folder / 'etcd-data'}", "--unsafe-no-fsync",
                  "--log-level=error", f"--listen-client-urls={etcd}",
                  f"--advertise-client-urls={etcd}",
                  f"--listen-peer-urls=http://127.0.0.1:{peer}",
                  f"--initial-advertise-peer-urls=http://127.0.0.1:{peer}",
                  f"--initial-cluster=default=http://127.0.0.1:{peer}")  # fmt: skip
        tokens, key = self.folder / "tokens.csv", self.folder / "service-accounts.key"
        tokens.write_text(TOKENS)
        key.write_bytes(_private_key())
        key.chmod(0o600)
        left_out = () if has_service_accounts else ("--disable-admission-plugins=ServiceAccount",)
        self._run("kube-apiserver", f"--etcd-servers={etcd}", f"--secure-port={self.port}",
                  "--bind-address=127.0.0.1", f"--cert-dir={self.folder / 'certificates'}",
                  "--service-cluster-ip-range=10.0.0.0/24", f"--token-auth-file={tokens}",
                  "--authorization-mode=RBAC", *left_out,
                  "--allow-privileged=true",
                  "--service-account-issuer=https://kubernetes.default.svc",
                  f"--service-account-key-file={key}", f"--service-account-signing-key-file={key}",
                  "--endpoint-reconciler-type=none", "--v=0", *flags)  # fmt: skip
        self.wait_until_ready()

    def stop(self) -> None:
        """End the processes."""
        running = list(reversed(self._processes.values()))
        for process in running:
            process.send_signal(signal.SIGTERM)
        for process in running:
            try:
                process.wait(_STOP_SECONDS_MAX)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._processes.clear()

    def restart_server(self) -> None:
        """Kill kube-apiserver, start it again, and wait until it is ready."""
        self.kill("kube-apiserver")
        self.start_again("kube-apiserver")
        self.wait_until_ready()

    def kill(self, name: str) -> None:
        """Kill a component, as a lost machine does: a graceful end would wait for open watches."""
        self._processes[name].kill()
        self._processes[name].wait()

    def start_again(self, name: str) -> None:
        """Start a killed component with its data and its flags, without waiting for it."""
        words = list(map(str, self._processes[name].args))  # type: ignore[arg-type]  # a list of words
        self._run(name, *words[1:])

    def compact(self) -> None:
        """Remove all versions but the present ones from etcd: older watches cannot resume."""
        found = self._ask_etcd("range", {"key": "AA==", "limit": "1"})
        self._ask_etcd("compaction", {"revision": found["header"]["revision"], "physical": True})

    def _ask_etcd(self, method: str, body: dict[str, Any]) -> dict[str, Any]:
        connection = http.client.HTTPConnection(self._etcd.removeprefix("http://"), timeout=60)
        connection.request("POST", f"/v3/kv/{method}", json.dumps(body))
        reply = connection.getresponse()
        found: dict[str, Any] = json.loads(reply.read())
        connection.close()
        if reply.status != http.HTTPStatus.OK:
            raise FailedStartError(f"etcd: {method}: {found}")
        return found

    def log(self, name: str) -> str:
        """Return what a component has logged."""
        return (self.folder / f"{name}.log").read_text(errors="replace")

    def _run(self, name: str, *flags: str) -> None:
        with (self.folder / f"{name}.log").open("ab") as log:
            process = subprocess.Popen(
                [str(find(name)), *flags], stdout=log, stderr=log, cwd=self.folder
            )
        self._processes[name] = process

    def wait_until_ready(self) -> None:
        """Wait until kube-apiserver says that it is ready.

        Raises
        ------
        FailedStartError
            A component has ended, or the wait takes too long.
        """
        deadline = time.monotonic() + _START_SECONDS_MAX
        while time.monotonic() < deadline:
            for name, process in self._processes.items():
                if process.poll() is not None:
                    raise FailedStartError(f"{name} ended:\n{self.log(name)[-2000:]}")
            with suppress(OSError, http.client.HTTPException):
                connection = http.client.HTTPSConnection(
                    "127.0.0.1", self.port, timeout=5, context=ssl._create_unverified_context()
                )
                connection.request(
                    "GET", "/readyz", headers={"Authorization": "Bearer admin-token"}
                )
                ready = connection.getresponse().status == http.HTTPStatus.OK
                connection.close()
                if ready:
                    return
            time.sleep(0.1)
        raise FailedStartError(
            f"kube-apiserver was not ready after {_START_SECONDS_MAX} s:\n"
            + self.log("kube-apiserver")[-2000:]
        )


@contextmanager
def running(
    *flags: str, port: int = 0, has_service_accounts: bool = False
) -> Iterator[ControlPlane]:
    """Start a control plane with new data; end it and remove the data afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="real-parts-"))
    plane = ControlPlane(folder)
    try:
        plane.start(*flags, port=port, has_service_accounts=has_service_accounts)
        yield plane
    finally:
        plane.stop()
        shutil.rmtree(folder, ignore_errors=True)


def free_port() -> int:
    """Return a port of 127.0.0.1 on which nothing listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def _private_key() -> bytes:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048).private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )
