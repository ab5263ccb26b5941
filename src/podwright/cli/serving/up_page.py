"""`podwright up`: the process of the page."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import threading
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Final

import msgspec

from podwright.apimachinery.objects import PodwrightError
from podwright.cli.console import print_message
from podwright.cli.serving.up_options import UiOptions
from podwright.online.apiserver import ServingError, bound_socket
from podwright.online.client import ClusterAccess

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
