"""The scheduler of a served cluster: its configuration, changes of it, and the way back.

A configuration that comes over HTTP is not trusted as one on the command line is: it cannot name
files, and it cannot make the server call hosts that were not allowed at its start.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterator
from typing import Final, TypeAlias
from urllib.parse import urlsplit

import msgspec

from podwright.apiserver.initial_state import InitialState
from podwright.apiserver.turn_loop import TurnLoop
from podwright.config import (
    Extender,
    ExtenderTLSConfig,
    KubeSchedulerConfiguration,
    read_configuration,
    to_document,
)
from podwright.files import DEFAULT_CONFIGURATION
from podwright.framework import CallExtender
from podwright.machine import SchedulerOptions
from podwright.objects import Document, FieldError, InputError, PodwrightError

NewCaller: TypeAlias = Callable[[KubeSchedulerConfiguration, str], CallExtender | None]
"""Makes the function that calls the extenders of a configuration, which has a source."""

_TAKEN: Final = ("profiles", "extenders")
_FILES: Final = ("certFile", "keyFile", "caFile")


class ExternalScheduler(PodwrightError):  # noqa: N818 - named for what it is
    """Another scheduler schedules the pods, so it has no configuration here."""


class RunningScheduler:
    """The scheduler of a cluster.

    Parameters
    ----------
    turns : TurnLoop
        Of the cluster.
    options : SchedulerOptions
        Of the scheduler at the start.
    new_caller : callable
        Makes the function that calls extenders.
    allowed_hosts : collection of str
        The hosts of extenders, each with a port or without, that a later configuration may name
        besides those of the configuration at the start.
    has_scheduler : bool
        Whether podwright schedules the pods.
    """

    def __init__(
        self,
        turns: TurnLoop,
        options: SchedulerOptions,
        new_caller: NewCaller,
        *,
        allowed_hosts: Collection[str] = (),
        has_scheduler: bool = True,
    ) -> None:
        self._turns = turns
        self._options = options
        self._new_caller = new_caller
        self._has_scheduler = has_scheduler
        cluster = turns.cluster
        self._initial = InitialState(cluster, options, cluster.call_extender)
        started = _written(options).extenders
        written = options.configuration
        self._document: Document = dict(
            DEFAULT_CONFIGURATION if written is None else to_document(written)
        )
        self._initial_document = self._document
        self._allowed = {*allowed_hosts, *(_host(each) for each in started)}

    @property
    def options(self) -> SchedulerOptions:
        """The options of the present scheduler."""
        return self._options

    def configuration(self) -> Document:
        """Return the KubeSchedulerConfiguration as it was written.

        Raises
        ------
        ExternalScheduler
        """
        self._require_own()
        return self._document

    async def apply(self, document: Document, *, source: str = "configuration") -> None:
        """Continue with the profiles and extenders of another configuration.

        All other fields keep their values, as in kube-scheduler-simulator.

        Raises
        ------
        ExternalScheduler
        InputError
            The configuration is not valid, names files, or extenders that are not allowed. The
            present one stays.
        """
        self._require_own()
        given = read_configuration(document, source=source)
        problems = list(self._rejected(given, source))
        if problems:
            raise InputError(problems)
        changed = msgspec.structs.replace(
            _written(self._options), profiles=given.profiles, extenders=given.extenders
        )
        options = msgspec.structs.replace(self._options, configuration=changed, source=source)
        # Certificates are read and connections are prepared outside the loop.
        caller = await asyncio.to_thread(self._new_caller, changed, source)
        cluster = self._turns.cluster
        await self._turns.call(lambda _: cluster.change_scheduler(options, caller))
        self._options = options
        taken = {key: document[key] for key in _TAKEN if key in document}
        self._document = {k: v for k, v in self._document.items() if k not in _TAKEN} | taken

    async def reset(self) -> None:
        """Restore the objects and the configuration of the start."""
        cluster = self._turns.cluster
        await self._turns.call(lambda _: self._initial.restore(cluster))
        self._options = self._initial.scheduler
        self._document = self._initial_document

    def _require_own(self) -> None:
        if not self._has_scheduler:
            raise ExternalScheduler("an external scheduler is used, so it has no configuration")

    def _rejected(self, given: KubeSchedulerConfiguration, source: str) -> Iterator[FieldError]:
        for index, extender in enumerate(given.extenders):
            path = f"extenders[{index}]"
            tls = extender.tls_config or ExtenderTLSConfig()
            named = msgspec.to_builtins(tls)
            for field in _FILES:
                if named[field]:
                    yield FieldError(
                        source=source,
                        path=f"{path}.tlsConfig.{field}",
                        message="a configuration that is sent over HTTP cannot name files; "
                        f"use {field.removesuffix('File')}Data",
                    )
            host = _host(extender)
            if host not in self._allowed and host.rpartition(":")[0] not in self._allowed:
                yield FieldError(
                    source=source,
                    path=f"{path}.urlPrefix",
                    message=f"{host} is not allowed; start the server with --allow-extender {host}",
                )


def _written(options: SchedulerOptions) -> KubeSchedulerConfiguration:
    return options.configuration or KubeSchedulerConfiguration()


def _host(extender: Extender) -> str:
    """Return the host and port of an extender."""
    try:
        parts = urlsplit(extender.url_prefix)
        port = parts.port or (443 if parts.scheme == "https" or extender.enable_https else 80)
    except ValueError:
        return extender.url_prefix
    return f"{parts.hostname}:{port}"
