"""`podwright up`: the HTTP API of kube-scheduler-simulator beside the Kubernetes API."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from podwright.apiserver import ClusterClient, RunningScheduler, Site, bound_socket
from podwright.cli.console import print_message
from podwright.objects import FieldError, InputError

HOST = "127.0.0.1"
"""Its clients send no token, so other machines must not reach it."""


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
    """What a SimulatorConfiguration gives besides the options of its API."""

    options: SimulatorOptions
    kubernetes_port: int | None
    scheduler_configuration: Path | None
    record: Path | None


def read_simulator_file(path: Path, options: SimulatorOptions) -> ReadSimulatorConfiguration:
    """Read a SimulatorConfiguration and the environment; options of the command come first.

    Raises
    ------
    InputError
        The file cannot be read, is not valid, or requests what `up` does not do.
    """
    from podwright.kss import read_simulator_configuration

    try:
        text = path.read_bytes()
    except OSError as error:
        message = f"cannot be read: {error.strerror}"
        raise InputError([FieldError(source=str(path), path="", message=message)]) from error
    found = read_simulator_configuration(text, os.environ, source=str(path))
    for key, is_on in (
        ("externalImportEnabled", found.external_import_enabled),
        ("resourceSyncEnabled", found.resource_sync_enabled),
    ):
        if is_on:
            message = (
                "podwright up does not read other clusters; export a snapshot and use --snapshot"
            )
            raise InputError([FieldError(source=str(path), path=key, message=message)])
    unused = dict(found.without_effect)
    if found.kube_config:
        unused["kubeConfig"] = "nothing is imported or followed"
    if found.resource_import_label_selector:
        unused["resourceImportLabelSelector"] = "nothing is imported"
    if found.record_file_path and not found.replay_enabled:
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
        kubernetes_port=urlsplit(found.kube_api_server_url).port,
        scheduler_configuration=Path(scheduler) if scheduler else None,
        record=Path(found.record_file_path) if found.replay_enabled else None,
    )


def simulator_sites(
    options: SimulatorOptions,
    stack: ExitStack,
    *,
    token: str,
) -> tuple[Callable[[RunningScheduler], Sequence[Site]], str]:
    """Return what makes the sites of a scheduler, and the address of the API; "" without it.

    Parameters
    ----------
    options : SimulatorOptions
    stack : ExitStack
        Closes the socket.
    token : str
        Of the administrator.

    Raises
    ------
    ServingError
        The port cannot be served.
    """
    if options.port is None:
        return (lambda _: ()), ""
    from podwright.apiserver.kss_api import simulator_application

    listening = stack.enter_context(bound_socket(HOST, options.port))

    def sites(running: RunningScheduler) -> Sequence[Site]:
        client = ClusterClient(running.turns, {"authorization": f"Bearer {token}"})
        application = simulator_application(client, running, cors_origins=options.origins)
        return [Site(application, listening)]

    return sites, f"http://{HOST}:{listening.getsockname()[1]}/api/v1"
