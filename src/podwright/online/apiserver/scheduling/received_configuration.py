"""Configurations that come over HTTP: what they may not contain, and whether they are valid.

They are not trusted as one on the command line is: they cannot name files, and cannot make the
server call hosts that were not allowed at its start. Plugins are those of the start.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final
from urllib.parse import urlsplit

import msgspec

from podwright.apimachinery.objects import Document, FieldError
from podwright.scheduler.assembly import Registry, assemble, idle_choices, policy_extenders
from podwright.scheduler.config import (
    EFFECTS,
    EffectiveConfiguration,
    Extender,
    ExtenderTLSConfig,
    KubeSchedulerConfiguration,
    PartialConfiguration,
    effective,
    read_configuration,
    tls_errors,
)
from podwright.scheduler.machine import SchedulerOptions

_FILES: Final = ("certFile", "keyFile", "caFile")


def read_received(
    document: Document | bytes, *, allowed_hosts: Collection[str], source: str
) -> KubeSchedulerConfiguration:
    """Read a configuration that came over HTTP, before defaulting and validation.

    Parameters
    ----------
    document : Document or bytes
        The decoded document, or its JSON.
    allowed_hosts : collection of str
        The hosts of extenders, each with a port or without, that it may name.
    source : str
        The source of the configuration, for errors.

    Raises
    ------
    PartialConfiguration
        Fields are not valid, or not allowed; with the rest of the configuration.
    InputError
        It is not a configuration.
    """
    errors: tuple[FieldError, ...] = ()
    try:
        found = read_configuration(document, source=source)
    except PartialConfiguration as error:
        found, errors = error.configuration, error.errors
    errors = (*errors, *_rejected(found, allowed_hosts, source))
    if errors:
        raise PartialConfiguration(errors, found)
    return found


def check_options(
    options: SchedulerOptions, earlier: Collection[FieldError] = ()
) -> EffectiveConfiguration:
    """Validate the configuration of options, and return it with all defaults.

    Plugins are made, because they validate their arguments when they are made.

    Parameters
    ----------
    options : SchedulerOptions
    earlier : collection of FieldError
        The errors of reading it.

    Raises
    ------
    InputError
        With all errors.
    """
    source = options.source
    registry = Registry(options.plugins)
    configuration = options.configuration or KubeSchedulerConfiguration()
    # Files are rejected earlier.
    with_data = [each for each in configuration.extenders if not any(_files(each))]
    made = effective(
        registry.enable_own(configuration, source=source),
        options.gates,
        implements=registry.points_of,
        source=source,
        earlier_errors=(*earlier, *tls_errors(tuple(with_data), _no_file)),
    )
    assemble(made, registry, options)
    return made


def warnings_of(options: SchedulerOptions) -> tuple[str, ...]:
    """Return warnings about settings without effect."""
    own = {plugin.name for plugin in options.plugins}
    return idle_choices(options.configuration, options.gates, *EFFECTS, own=own)


def host_of(extender: Extender) -> str:
    """Return the host and port of an extender; "" without a host."""
    try:
        parts = urlsplit(extender.url_prefix)
        port = parts.port or (443 if parts.scheme == "https" or extender.enable_https else 80)
    except ValueError:
        return extender.url_prefix
    return f"{parts.hostname}:{port}" if parts.hostname else ""


def called_extenders(
    configuration: KubeSchedulerConfiguration | None,
) -> Iterator[tuple[str, Extender]]:
    """Yield the extenders of a configuration with their paths, those of a Policy included."""
    if configuration is None:
        return
    for index, extender in enumerate(configuration.extenders):
        yield f"extenders[{index}]", extender
    if configuration.rules is not None:
        for index, extender in enumerate(policy_extenders(configuration.rules)):
            yield f"rules.policy.extenders[{index}]", extender


def _rejected(
    given: KubeSchedulerConfiguration, allowed_hosts: Collection[str], source: str
) -> Iterator[FieldError]:
    if given.client_connection.kubeconfig:
        path = "clientConnection.kubeconfig"
        message = "a configuration that is sent over HTTP cannot name files; leave it out"
        yield FieldError(source=source, path=path, message=message)
    for path, extender in called_extenders(given):
        for field in _files(extender):
            yield FieldError(
                source=source,
                path=f"{path}.tlsConfig.{field}",
                message="a configuration that is sent over HTTP cannot name files; "
                f"use {field.removesuffix('File')}Data",
            )
        host = host_of(extender)
        if host not in allowed_hosts and host.rpartition(":")[0] not in allowed_hosts:
            message = f"{host} is not allowed; start the server with --allow-extender {host}"
            yield FieldError(
                source=source,
                path=f"{path}.urlPrefix",
                message=message if host else "Required value: must be a URL with a host",
            )


def _files(extender: Extender) -> list[str]:
    """Return the fields of an extender's TLS settings that name files."""
    named = msgspec.to_builtins(extender.tls_config or ExtenderTLSConfig())
    return [field for field in _FILES if named[field]]


def _no_file(name: str) -> bytes:
    raise AssertionError(f"{name}: extenders with files are left out")
