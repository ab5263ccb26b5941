"""The scheduler of a served cluster: its configuration, changes of it, and the way back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from functools import partial
from typing import Final, TypeAlias

import msgspec

from podwright.apiserver.initial_state import InitialState
from podwright.apiserver.received_configuration import (
    called_extenders,
    check_options,
    host_of,
    read_received,
)
from podwright.apiserver.served_scheduler import ServedScheduler
from podwright.apiserver.turn_loop import TurnLoop
from podwright.assembly import source_of
from podwright.config import (
    EffectiveConfiguration,
    KubeSchedulerConfiguration,
    PartialConfiguration,
    to_document,
)
from podwright.files import DEFAULT_CONFIGURATION
from podwright.framework import CallExtender, Plugin
from podwright.machine import SchedulerOptions
from podwright.objects import Document, FieldError, PodwrightError

NewCaller: TypeAlias = Callable[[KubeSchedulerConfiguration, str], CallExtender | None]
"""Makes the function that calls the extenders of a configuration, which has a source."""

_TAKEN: Final = ("profiles", "extenders")


class ExternalScheduler(PodwrightError):  # noqa: N818 - named for what it is
    """Another scheduler schedules the pods, so it has no configuration here."""


class RunningScheduler:
    """The scheduler of a cluster.

    Parameters
    ----------
    turns : TurnLoop
        Of the cluster.
    new_caller : callable, optional
        Makes the function that calls the extenders of a configuration. Without it, no extender is
        called.
    allowed_hosts : collection of str
        The hosts of extenders, each with a port or without, that a later configuration may name
        besides those of the configuration at the start.

    Attributes
    ----------
    turns : TurnLoop
    """

    def __init__(
        self,
        turns: TurnLoop,
        new_caller: NewCaller | None = None,
        *,
        allowed_hosts: Collection[str] = (),
    ) -> None:
        self.turns = turns
        self._new_caller = new_caller
        cluster = turns.cluster
        self._initial = InitialState(cluster)
        written = cluster.scheduler.configuration
        self._document: Document = dict(
            DEFAULT_CONFIGURATION if written is None else to_document(written)
        )
        self._initial_document = self._document
        started = called_extenders(written or KubeSchedulerConfiguration())
        self._allowed = {*allowed_hosts, *(host_of(each) for _, each in started)}

    @property
    def options(self) -> SchedulerOptions:
        """The options of the present scheduler."""
        return self.turns.cluster.scheduler

    def configuration(self) -> Document:
        """Return the KubeSchedulerConfiguration as it was written.

        Raises
        ------
        ExternalScheduler
        """
        self.require_own()
        return self._document

    def read(
        self, document: Document | bytes, *, source: str = "configuration"
    ) -> tuple[SchedulerOptions, EffectiveConfiguration]:
        """Return the present options with another configuration, and that with all defaults.

        Parameters
        ----------
        document : Document or bytes
            The decoded document, or its JSON.
        source : str
            The source of the configuration, for errors.

        Raises
        ------
        InputError
            The configuration is not valid, names files, or extenders that are not allowed; with
            all errors.
        """
        errors: Collection[FieldError] = ()
        try:
            given = read_received(document, allowed_hosts=self._allowed, source=source)
        except PartialConfiguration as error:
            given, errors = error.configuration, error.errors
        options = self._options_with(given, source)
        return options, check_options(options, errors)

    def new_caller(self, options: SchedulerOptions) -> CallExtender | None:
        """Return a function that calls the extenders of options; None if there are none."""
        if self._new_caller is None:
            return None
        return self._new_caller(
            options.configuration or KubeSchedulerConfiguration(), options.source
        )

    async def apply(self, document: Document, *, source: str = "configuration") -> None:
        """Continue with the profiles and extenders of another configuration.

        All other fields keep their values, as in kube-scheduler-simulator.

        Raises
        ------
        ExternalScheduler
        InputError
            As for `read`. The present configuration stays.
        """
        self.require_own()
        given = read_received(document, allowed_hosts=self._allowed, source=source)
        present = self.options.configuration or KubeSchedulerConfiguration()
        changed = msgspec.structs.replace(
            present, profiles=given.profiles, extenders=given.extenders
        )
        options = self._options_with(changed, source)
        check_options(options)
        taken = {key: document[key] for key in _TAKEN if key in document}
        rest = {k: v for k, v in self._document.items() if k not in _TAKEN}
        await self._continue_with(options, rest | taken)

    async def replace(self, document: Document, *, source: str = "configuration") -> None:
        """Continue with another configuration.

        Raises
        ------
        ExternalScheduler
        InputError
            As for `read`. The present configuration stays.
        """
        self.require_own()
        options, _ = self.read(document, source=source)
        await self._continue_with(options, dict(document))

    async def change_plugins(self, plugins: Collection[type[Plugin]]) -> None:
        """Continue with other classes of plugin files, in all schedulers of the cluster.

        The plugins of installed packages stay. A reset keeps the new plugins.

        Raises
        ------
        ExternalScheduler
        InputError
            The configuration is not valid with them. The present plugins stay.
        """
        self.require_own()
        others = self.turns.cluster.schedulers[1:]
        options, *changed = (
            msgspec.structs.replace(
                each, plugins=(*plugins, *(one for one in each.plugins if source_of(one) is None))
            )
            for each in (self.options, *(other.options for other in others))
        )
        for each in (options, *changed):
            check_options(each)
        await self._continue_with(options, self._document)
        for other, its_options in zip(others, changed, strict=True):
            await self.turns.call(partial(_change, other, its_options))
        self._initial.scheduler = msgspec.structs.replace(
            self._initial.scheduler, plugins=options.plugins
        )

    async def reset(self) -> int:
        """Restore the objects and the configuration of the start; return the number of objects."""
        cluster = self.turns.cluster
        await self.turns.call(lambda _: self._initial.restore(cluster))
        self._document = self._initial_document
        return len(self._initial)

    def require_own(self) -> None:
        """Check that podwright schedules the pods.

        Raises
        ------
        ExternalScheduler
        """
        if not self.turns.cluster.has_scheduler:
            raise ExternalScheduler("an external scheduler is used, so it has no configuration")

    def _options_with(
        self, configuration: KubeSchedulerConfiguration, source: str
    ) -> SchedulerOptions:
        return msgspec.structs.replace(self.options, configuration=configuration, source=source)

    async def _continue_with(self, options: SchedulerOptions, document: Document) -> None:
        # Certificates are read and connections are prepared outside the loop.
        caller = await asyncio.to_thread(self.new_caller, options)
        cluster = self.turns.cluster
        await self.turns.call(lambda _: cluster.change_scheduler(options, caller))
        self._document = document


def _change(scheduler: ServedScheduler, options: SchedulerOptions, _: int) -> None:
    scheduler.change(options, scheduler.call_extender)
