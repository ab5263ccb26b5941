"""`podwright up`: where the cluster is served, with or without TLS."""

from __future__ import annotations

import ipaddress
import os
import socket
import ssl
from collections.abc import Collection
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from podwright.apimachinery.objects import PodwrightError
from podwright.cli.serving.up_options import ServingOptions
from podwright.cluster.controllers import SignRequest
from podwright.online.apiserver import LOOPBACK, AllowedHosts, TlsData, server_context

if TYPE_CHECKING:
    from podwright.online.apiserver.access.certificates import CertificateFiles


class MissingTlsError(PodwrightError):
    """TLS is requested, and the package for certificates is not installed."""


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """How clients reach the server.

    Attributes
    ----------
    host : str
        The address in URLs of this machine.
    hosts : AllowedHosts
        Which requests of browsers are served.
    context : SSLContext, optional
        None without TLS.
    tls : TlsData, optional
        What a client needs.
    sign : callable, optional
        Makes certificates for certificate requests.
    """

    host: str
    hosts: AllowedHosts
    context: ssl.SSLContext | None = None
    tls: TlsData | None = None
    sign: SignRequest | None = None

    def url(self, port: int) -> str:
        """Return the address of the server."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'http' if self.context is None else 'https'}://{host}:{port}"


def is_loopback(host: str) -> bool:
    """Return whether only this machine reaches an IP address."""
    return ipaddress.ip_address(host).is_loopback


def endpoint_of(
    options: ServingOptions, db: Path | None, origins: Collection[str] = ()
) -> Endpoint:
    """Return the endpoint; the certificates of a cluster with a file are kept beside it.

    Parameters
    ----------
    options : ServingOptions
    db : Path, optional
        The file of the cluster.
    origins : collection of str
        Origins of other pages that may use the server.

    Raises
    ------
    MissingTlsError
        The extra `tls` is not installed.
    CertificateError
        Certificates cannot be read or written.
    ServingError
        Certificates cannot be used.
    """
    address = ipaddress.ip_address(options.address)
    host = options.address
    if address.is_unspecified:
        host = "::1" if address.version == 6 else "127.0.0.1"
    names = [*(options.tls_san or ()), host, *_own_names(options.address)]
    others = not is_loopback(options.address)
    hosts = AllowedHosts(
        {*LOOPBACK, *names, options.address}, allows_addresses=others, origins=origins
    )
    if not options.has_tls:
        return Endpoint(host=host, hosts=hosts)
    if find_spec("cryptography") is None:
        raise MissingTlsError(
            "TLS needs cryptography, which is not installed; install it with: pip install"
            " 'podwright[tls]'"
        )
    from podwright.online.apiserver.access import certificates
    from podwright.online.apiserver.access.certificates import (
        SERVICE_NAMES,
        Authority,
        check_pair,
        kept_certificates,
        names_of,
    )

    kept = kept_certificates(
        certificate_folder(db),
        [*sorted(name.strip("[]") for name in LOOPBACK), *names, *SERVICE_NAMES],
    )
    sign = certificates.RequestSigner(Authority.read(kept.authority, kept.authority_key))
    certificate, key = options.tls_cert, options.tls_key
    if certificate is None or key is None:
        context = server_context(kept.server, kept.server_key, kept.authority)
        return Endpoint(host=host, hosts=hosts, context=context, tls=_tls_data(kept), sign=sign)
    check_pair(certificate, key)
    context = server_context(certificate, key, kept.authority)
    served = names_of(certificate)
    hosts = AllowedHosts(
        {*LOOPBACK, *names, options.address, *served}, allows_addresses=others, origins=origins
    )
    other = next((name for name in sorted(served) if "*" not in name), "")
    return Endpoint(
        host=host,
        hosts=hosts,
        context=context,
        sign=sign,
        tls=_tls_data(
            kept,
            authority=certificate.read_bytes(),
            server_name="" if host in served else other,
        ),
    )


def certificate_folder(db: Path | None) -> Path:
    """Return the folder of the certificates of a cluster."""
    if db is not None:
        return db.with_name(f"{db.name}-certificates")
    state = os.environ.get("XDG_STATE_HOME")
    root = Path(state) if state else Path.home() / ".local" / "state"
    return root / "podwright" / "certificates"


def _own_names(host: str) -> tuple[str, ...]:
    """Return the names of this machine, if other machines reach the address."""
    if is_loopback(host):
        return ()
    name = socket.gethostname()
    own = (name,) if name and name.isascii() else ()
    return own if ipaddress.ip_address(host).is_unspecified else (host, *own)


def _tls_data(
    kept: CertificateFiles, *, authority: bytes | None = None, server_name: str = ""
) -> TlsData:
    return TlsData(
        authority=kept.authority.read_bytes() if authority is None else authority,
        certificate=kept.admin.read_bytes(),
        key=kept.admin_key.read_bytes(),
        server_name=server_name,
    )
