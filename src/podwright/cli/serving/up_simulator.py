"""`podwright up`: the HTTP API of kube-scheduler-simulator beside the Kubernetes API."""

from __future__ import annotations

import ipaddress
import os
import socket
import ssl
from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from podwright.apimachinery.objects import FieldError, InputError, PodwrightError
from podwright.cli.console import print_message
from podwright.cli.serving.up_options import InputOptions, KssOptions, ServingOptions, UpOptions
from podwright.cluster.controllers import SignRequest
from podwright.online.apiserver import (
    LOOPBACK,
    AllowedHosts,
    ClusterClient,
    RunningScheduler,
    Site,
    TlsData,
    bound_socket,
    server_context,
)

if TYPE_CHECKING:
    from podwright.online.apiserver.access.certificates import CertificateFiles
    from podwright.simulation.kss import SimulatorConfiguration


def with_simulator_file(options: UpOptions, path: Path) -> UpOptions:
    """Return the options with those of a SimulatorConfiguration and of the environment.

    Options of the command line come first.

    Raises
    ------
    InputError
        The file cannot be read or is not valid, or the kubeconfig that it names is absent.
    """
    from podwright.simulation.kss import read_simulator_configuration

    try:
        text = path.read_bytes()
    except OSError as error:
        message = f"cannot be read: {error.strerror}"
        raise InputError([FieldError(source=str(path), path="", message=message)]) from error
    found = read_simulator_configuration(text, os.environ, source=str(path))
    unused = dict(found.without_effect)
    inputs = _with_source(found, options.inputs, path, unused)
    if found.replay_enabled:
        inputs = replace(inputs, events=(*inputs.events, Path(found.record_file_path)))
    elif found.record_file_path:
        unused["recordFilePath"] = "replayEnabled is false"
    for key, reason in unused.items():
        print_message(f"warning: {path}: {key} has no effect: {reason}")
    kss, serving, scheduling = options.kss, options.serving, options.scheduling
    port = urlsplit(found.kube_api_server_url).port
    if "port" not in options.given and port is not None:
        serving = replace(serving, port=port)
    if not scheduling.configs and found.kube_scheduler_config_path:
        scheduling = replace(scheduling, configs=(Path(found.kube_scheduler_config_path),))
    kss = replace(
        kss,
        kss_port=found.port if kss.kss_port is None else kss.kss_port,
        cors_origin=(*kss.cors_origin, *found.cors_allowed_origin_list),
    )
    return replace(options, inputs=inputs, serving=serving, scheduling=scheduling, kss=kss)


def _with_source(
    found: SimulatorConfiguration,
    inputs: InputOptions,
    path: Path,
    unused: dict[str, str],
) -> InputOptions:
    """Return the options with the cluster that is imported or followed; adds what is unused."""
    switches = {
        "externalImportEnabled": found.external_import_enabled,
        "resourceSyncEnabled": found.resource_sync_enabled,
    }
    switch = next((key for key, is_on in switches.items() if is_on), "")
    given = "--import" if inputs.imported else "--sync" if inputs.sync else ""
    if not switch or given:
        reason = f"{given} is given" if given else "nothing is imported or followed"
        keys = {switch: switch, "kubeConfig": found.kube_config}
        if not given:
            keys["resourceImportLabelSelector"] = found.selector
        unused |= {key: reason for key, value in keys.items() if value}
    elif not Path(found.kube_config).is_file():
        message = f'"{found.kube_config}" is not a file'
        raise InputError([FieldError(source=str(path), path="kubeConfig", message=message)])
    elif found.external_import_enabled:
        inputs = replace(inputs, imported=found.kube_config)
    else:
        inputs = replace(inputs, sync=found.kube_config)
    if (switch or given) and not inputs.selection.selector:
        inputs = replace(inputs, selection=replace(inputs.selection, selector=found.selector))
    return inputs


def simulator_sites(
    options: KssOptions,
    stack: ExitStack,
    *,
    address: str,
    endpoint: Endpoint,
    token: str,
) -> tuple[Callable[[RunningScheduler], Sequence[Site]], str]:
    """Return what makes the sites of a scheduler, and the address of the API; "" without it.

    Parameters
    ----------
    options : KssOptions
    stack : ExitStack
        Closes the socket.
    address : str
        The IP address that is served.
    endpoint : Endpoint
        How clients reach it, as for the Kubernetes API.
    token : str
        Of the administrator.

    Raises
    ------
    ServingError
        The port cannot be served.
    """
    if options.kss_port is None:
        return (lambda _: ()), ""
    from podwright.online.apiserver.kss_api import simulator_application

    listening = stack.enter_context(bound_socket(address, options.kss_port, "--kss-port"))

    def sites(running: RunningScheduler) -> Sequence[Site]:
        client = ClusterClient(running.turns, {"authorization": f"Bearer {token}"})
        application = simulator_application(client, running, endpoint.hosts)
        return [Site(application, listening)]

    return sites, f"{endpoint.url(listening.getsockname()[1])}/api/v1"


# `podwright up`: where the cluster is served, with or without TLS.


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
    missing = [name for name in ("cryptography", "h2") if find_spec(name) is None]
    if missing:
        raise MissingTlsError(
            f"TLS needs {missing[0]}, which is not installed; install it with: pip install"
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
