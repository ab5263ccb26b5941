"""`podwright up`: the HTTP API of kube-scheduler-simulator beside the Kubernetes API."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from podwright.apimachinery.objects import FieldError, InputError
from podwright.cli.console import print_message
from podwright.cli.serving.up_address import Endpoint
from podwright.cli.serving.up_options import InputOptions, KssOptions, UpOptions
from podwright.online.apiserver import ClusterClient, RunningScheduler, Site, bound_socket

if TYPE_CHECKING:
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
