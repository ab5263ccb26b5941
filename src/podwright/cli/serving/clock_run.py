"""`podwright clock`: requests to a running cluster."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

from podwright.cli.console import print_document, print_table, write
from podwright.online.client import ClusterAccess, read_access, send

_PATH: Final = "/podwright/v1/clock"
_LONG_SECONDS: Final = 3_600.0
"""How long a step may take: as long as what is due in it."""


def run_clock(
    kubeconfig: Path | None,
    server: str,
    *,
    action: str,
    body: dict[str, object] | None,
    output: str,
) -> None:
    """Send one request to the clock, and print its state.

    Raises
    ------
    ClusterError
        The cluster cannot be reached, or rejected the request.
    """
    access = cluster_access(kubeconfig, server)
    if action:
        path = f"{_PATH}/{action}"
        state = send(access, "POST", path, body, timeout_seconds=_LONG_SECONDS)
    else:
        state = send(access, "GET", _PATH)
    if output == "name":
        write(state["time"])
    elif output in {"json", "yaml"}:
        print_document(state, output)
    else:
        print_table(("TIME", "SPEED", "STATE", "DUE"), [_row(state)])


def _row(state: Any) -> tuple[str, str, str, str]:
    return (
        state["time"],
        f"{state['speed']:g}",
        _state_text(state),
        "nothing" if state["isCaughtUp"] else "being processed",
    )


def _state_text(state: Any) -> str:
    if state["stoppedAt"] is not None:
        return f"at breakpoint {state['stoppedAt']}"
    return "paused" if state["isPaused"] else "running"


def cluster_access(kubeconfig: Path | None, server: str, context: str = "") -> ClusterAccess:
    """Return how the cluster of the options is reached.

    Parameters
    ----------
    kubeconfig : Path, optional
        That of $KUBECONFIG, or podwright.kubeconfig, if left out.
    server : str
        The address instead of that in the kubeconfig; alone, without a kubeconfig.
    context : str, optional
        The current one of the kubeconfig if left out.

    Raises
    ------
    ClusterError
        The kubeconfig cannot be read.
    """
    if server and kubeconfig is None and not context:
        return ClusterAccess(server=server)
    if kubeconfig is None:
        named = os.environ.get("KUBECONFIG", "").split(os.pathsep)[0]
        kubeconfig = Path(named or "podwright.kubeconfig")
    access = read_access(kubeconfig, context)
    if not server:
        return access
    return ClusterAccess(
        server=server,
        token=access.token,
        authority=access.authority,
        server_name=access.server_name,
        is_unverified=access.is_unverified,
    )
