"""`podwright page`: serves the page of a running cluster."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Final
from urllib.parse import urlsplit

from podwright.cli.clusters.cluster_options import ServedOptions
from podwright.cli.console import write_at_once
from podwright.cli.serving.options import PageCommandOptions
from podwright.cli.serving.up_page import check_extra, open_page, page_address, page_socket
from podwright.online.client import ClusterAccess, ClusterError

RENEWAL_SECONDS: Final = 1.0


def run_page(options: PageCommandOptions) -> None:
    """Serve the page until the process is interrupted.

    Raises
    ------
    ClusterError
        The kubeconfig cannot be read, or the address is none.
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
        """Return the present access; the last one if the kubeconfig cannot be read."""
        now = time.monotonic()
        if now - self._read_at >= RENEWAL_SECONDS:
            self._read_at = now
            with suppress(ClusterError):
                self._access = self._cluster.access()
        return self._access
