"""`podwright up`: the HTTP API of kube-scheduler-simulator beside the Kubernetes API."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from podwright.apimachinery.objects import FieldError, InputError
from podwright.cli.clusters.cluster_options import SelectionOptions
from podwright.cli.console import print_message
from podwright.cli.serving.up_address import Endpoint
from podwright.cli.serving.up_input_options import InputOptions
from podwright.online.apiserver import ClusterClient, RunningScheduler, Site, bound_socket

if TYPE_CHECKING:
    from podwright.simulation.kss import SimulatorConfiguration


@dataclass(frozen=True, kw_only=True)
class SimulatorOptions:
    """The options of the command that concern kube-scheduler-simulator.

    Attributes
    ----------
    port : int, optional
        None if its API is not served.
    origins : tuple of str
        Origins whose pages may use both APIs.
    allowed_hosts : tuple of str
        Hosts of extenders that a configuration over HTTP may name.
    """

    port: int | None
    origins: tuple[str, ...]
    allowed_hosts: tuple[str, ...]


def is_origin(text: str) -> bool:
    """Whether a text is an origin as browsers send it: a scheme and a host, with a port or not."""
    return (
        re.fullmatch(r"https?://[a-z0-9.-]+(:[0-9]+)?|https?://\[[0-9a-f:]+\](:[0-9]+)?", text)
        is not None
    )


@dataclass(frozen=True, kw_only=True)
class ReadSimulatorConfiguration:
    """The options of the command together with those of a SimulatorConfiguration."""

    options: SimulatorOptions
    inputs: InputOptions
    selection: SelectionOptions
    kubernetes_port: int | None
    scheduler_configuration: Path | None


def read_simulator_file(
    path: Path, options: SimulatorOptions, inputs: InputOptions, selection: SelectionOptions
) -> ReadSimulatorConfiguration:
    """Read a SimulatorConfiguration and the environment; options of the command come first.

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
    inputs, selection = _with_source(found, inputs, selection, path, unused)
    if found.replay_enabled:
        inputs = replace(inputs, events=[*(inputs.events or ()), Path(found.record_file_path)])
    elif found.record_file_path:
        unused["recordFilePath"] = "replayEnabled is false"
    for key, reason in unused.items():
        print_message(f"warning: {path}: {key} has no effect: {reason}")
    scheduler = found.kube_scheduler_config_path
    return ReadSimulatorConfiguration(
        options=replace(
            options,
            port=found.port if options.port is None else options.port,
            origins=(*options.origins, *found.cors_allowed_origin_list),
        ),
        inputs=inputs,
        selection=selection,
        kubernetes_port=urlsplit(found.kube_api_server_url).port,
        scheduler_configuration=Path(scheduler) if scheduler else None,
    )


def _with_source(
    found: SimulatorConfiguration,
    inputs: InputOptions,
    selection: SelectionOptions,
    path: Path,
    unused: dict[str, str],
) -> tuple[InputOptions, SelectionOptions]:
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
    if (switch or given) and not selection.selector:
        selection = replace(selection, selector=found.selector)
    return inputs, selection


def simulator_sites(
    options: SimulatorOptions,
    stack: ExitStack,
    *,
    address: str,
    endpoint: Endpoint,
    token: str,
) -> tuple[Callable[[RunningScheduler], Sequence[Site]], str]:
    """Return what makes the sites of a scheduler, and the address of the API; "" without it.

    Parameters
    ----------
    options : SimulatorOptions
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
    if options.port is None:
        return (lambda _: ()), ""
    from podwright.online.apiserver.kss_api import simulator_application

    listening = stack.enter_context(bound_socket(address, options.port, "--kss-port"))

    def sites(running: RunningScheduler) -> Sequence[Site]:
        client = ClusterClient(running.turns, {"authorization": f"Bearer {token}"})
        application = simulator_application(client, running, endpoint.hosts)
        return [Site(application, listening)]

    return sites, f"{endpoint.url(listening.getsockname()[1])}/api/v1"
