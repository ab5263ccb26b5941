"""`podwright page`: serves the page of a running cluster."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import threading
import time
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from typing import Final
from urllib.parse import urlsplit

import msgspec

from podwright.apimachinery.objects import PodwrightError
from podwright.cli.clusters.options import ServedOptions
from podwright.cli.console import print_message, write_at_once
from podwright.cli.serving.options import PageCommandOptions
from podwright.cli.serving.up_options import UiOptions
from podwright.online.apiserver import ServingError, bound_socket
from podwright.online.client import ClusterAccess, ClusterError, ConnectionSettingsError

RENEWAL_SECONDS: Final = 1.0


def run_page(options: PageCommandOptions) -> None:
    """Serve the page until the process is interrupted.

    Raises
    ------
    ConnectionSettingsError
        The kubeconfig cannot be used.
    ClusterError
        The address is none.
    MissingPageError
        The extra `ui` is not installed.
    ServingError
        The port is in use.
    """
    check_extra()
    cluster, compared = options.cluster, ServedOptions(kubeconfig=options.compare)
    access = cluster.access()
    _check_address(access.server)
    other = compared.access() if options.compare is not None else None
    if other is not None:
        _check_address(other.server)
    with page_socket(options.port) as listening:
        address = page_address(listening)
        write_at_once(f"Serving the page of {access.server} at {address}\nCtrl-C stops it.")
        if options.open:
            open_page(address)
        from podwright.online.ui.process import Upstream, serve_page

        serve_page(
            Upstream(access, RenewedAccess(cluster, access)),
            listening,
            compared=None if other is None else Upstream(other, RenewedAccess(compared, other)),
        )


def _check_address(server: str) -> None:
    try:
        url = urlsplit(server)
        is_address = url.scheme in {"http", "https"} and bool(url.hostname)
        is_address = is_address and (url.port is None or url.port > 0)
    except ValueError:
        is_address = False
    if not is_address:
        raise ClusterError(
            f'"{server}" is not the address of a server, such as http://127.0.0.1:8180'
        )


class RenewedAccess:
    """The access to a cluster, read again now and then: a server may start with another token.

    Parameters
    ----------
    cluster : ServedOptions
    access : ClusterAccess
        The one that was read first.
    """

    def __init__(self, cluster: ServedOptions, access: ClusterAccess) -> None:
        self._cluster = cluster
        self._access = access
        self._read_at = time.monotonic()

    def __call__(self) -> ClusterAccess:
        """Return the current access; the last one if the kubeconfig cannot be read."""
        now = time.monotonic()
        if now - self._read_at >= RENEWAL_SECONDS:
            self._read_at = now
            with suppress(ConnectionSettingsError):
                self._access = self._cluster.access()
        return self._access


# `podwright up`: the process of the page.

DEFAULT_PAGE_PORT: Final = 8181
LOOPBACK: Final = "127.0.0.1"
_INSTALL: Final = "pip install 'podwright[ui]'"
_END_SECONDS: Final = 5.0


class MissingPageError(PodwrightError):
    """The page is requested, and the extra `ui` is not installed."""


def has_extra() -> bool:
    """Return whether the extra `ui` is installed."""
    return find_spec("nicegui") is not None


def check_extra() -> None:
    """Check that the extra `ui` is installed.

    Raises
    ------
    MissingPageError
        It is not.
    """
    if not has_extra():
        raise MissingPageError(
            f"The page needs NiceGUI, which is not installed; install it with: {_INSTALL}"
        )


def page_socket(port: int | None, option: str = "--port") -> socket.socket:
    """Return a listening socket on loopback.

    Parameters
    ----------
    port : int, optional
        None for the default one, or any free one if that is in use.
    option : str
        The option that chooses another port.

    Raises
    ------
    ServingError
        The port is in use.
    """
    if port is not None:
        return bound_socket(LOOPBACK, port, option)
    try:
        return bound_socket(LOOPBACK, DEFAULT_PAGE_PORT)
    except ServingError:
        return bound_socket(LOOPBACK, 0)


def page_address(listening: socket.socket) -> str:
    """Return the address of the page."""
    return f"http://{LOOPBACK}:{listening.getsockname()[1]}"


@contextmanager
def page_of(options: UiOptions, access: ClusterAccess) -> Iterator[str]:
    """Serve the page of a cluster in a process of its own, for the time of a block.

    The port is open at once; the first request waits until the process has started.

    Parameters
    ----------
    options : UiOptions
    access : ClusterAccess
        How the process reaches the server.

    Yields
    ------
    str
        The address of the page; empty if there is none.

    Raises
    ------
    MissingPageError
        An option names the page, and the extra is not installed.
    ServingError
        The port is in use.
    """
    if not options.has_page:
        yield ""
        return
    if options.is_demanded:
        check_extra()
    if not has_extra():
        print_message(f"The page is not served: install it with {_INSTALL}.")
        yield ""
        return
    with page_socket(options.ui_port, "--ui-port") as listening:
        address = page_address(listening)
        process = _started(listening, access)
        is_ending = threading.Event()
        threading.Thread(target=_report_end, args=(process, is_ending), daemon=True).start()
        try:
            yield address
        finally:
            is_ending.set()
            _end(process)


def open_page(address: str) -> None:
    """Open the page in the user's browser."""
    if not webbrowser.open(address):
        print_message(f"No browser was found. The page is at {address}")


def _started(listening: socket.socket, access: ClusterAccess) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [sys.executable, "-m", "podwright.online.ui"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        pass_fds=(listening.fileno(),),
        start_new_session=True,  # Ctrl-C ends it through the end of its stdin
    )
    settings = {"access": access, "descriptor": listening.fileno()}
    assert process.stdin is not None
    with contextlib.suppress(BrokenPipeError):
        process.stdin.write(msgspec.json.encode(settings) + b"\n")
        process.stdin.flush()
    return process


def _report_end(process: subprocess.Popen[bytes], is_ending: threading.Event) -> None:
    status = process.wait()
    if not is_ending.is_set():
        print_message(f"The process of the page has ended with status {status}.")


def _end(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    with contextlib.suppress(BrokenPipeError):
        process.stdin.close()
    try:
        process.wait(_END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
