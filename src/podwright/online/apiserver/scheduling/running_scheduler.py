"""The schedulers of a served cluster: their configurations, changes of them, and the way back.

A reset leads to the state of the cluster at its start.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Final, TypeAlias

import msgspec

from podwright.apimachinery.objects import (
    Document,
    FieldError,
    KubernetesObject,
    PodwrightError,
)
from podwright.cluster.store import EVENT, GroupKind, ObjectStore, kind_of
from podwright.online.apiserver.cluster import Cluster
from podwright.online.apiserver.scheduling.received_configuration import (
    called_extenders,
    check_options,
    host_of,
    read_received,
)
from podwright.online.apiserver.scheduling.served_scheduler import ServedScheduler, repeated_names
from podwright.online.apiserver.turn_loop import TurnLoop
from podwright.scheduler.assembly import source_of
from podwright.scheduler.config import (
    EffectiveConfiguration,
    KubeSchedulerConfiguration,
    PartialConfiguration,
    to_document,
)
from podwright.scheduler.framework import CallExtender, Plugin
from podwright.scheduler.machine import SchedulerOptions
from podwright.simulation.files import DEFAULT_CONFIGURATION

# ---------------------------------------------------------------------------------- initial state

_LEASE: Final[GroupKind] = ("coordination.k8s.io", "Lease")
_HEARTBEATS: Final = "kube-node-lease"
"""The namespace of the leases of nodes."""


def with_plugins(options: SchedulerOptions, plugins: Collection[type[Plugin]]) -> SchedulerOptions:
    """Return options with other classes of plugin files; those of installed packages stay."""
    installed = (each for each in options.plugins if source_of(each) is None)
    return msgspec.structs.replace(options, plugins=(*plugins, *installed))


class InitialState:
    """The objects of a cluster at a time, and the configurations of its schedulers.

    Events are not a part of it: a reset removes them. Nor are the leases that nodes renew, which it
    leaves as they are.

    Parameters
    ----------
    cluster : Cluster
    """

    def __init__(self, cluster: Cluster) -> None:
        store = cluster.store
        self._schedulers = [(each.options, each.call_extender) for each in cluster.schedulers]
        # Their keys are not kept: with those of 50,000 pods and their Events it took 60 MiB.
        self._objects = [_objects_of(store, kind) for kind in store.kinds() if kind != EVENT]

    def __len__(self) -> int:
        return sum(map(len, self._objects))

    def change_plugins(self, plugins: Collection[type[Plugin]]) -> None:
        """Replace the classes of plugin files; those of installed packages stay."""
        self._schedulers = [
            (with_plugins(options, plugins), call_extender)
            for options, call_extender in self._schedulers
        ]

    def restore(self, cluster: Cluster) -> None:
        """Put back the objects, remove all others, and restart the schedulers.

        Objects that are put back keep their uids; clients see the changes as others.
        """
        store = cluster.store
        restored = [obj for objects in self._objects for obj in objects]
        kept = {(kind_of(obj), obj.key) for obj in restored}
        present = [obj for kind in store.kinds() for obj in _objects_of(store, kind)]
        for obj in present:
            if (kind_of(obj), obj.key) not in kept:
                store.drop(kind_of(obj), obj.key)
        for obj in restored:
            store.put(obj)
        # All at once: the names of one may be those that another one has now.
        for each, (options, call_extender) in zip(
            cluster.schedulers, self._schedulers, strict=True
        ):
            each.change(options, call_extender)


def _objects_of(store: ObjectStore, kind: GroupKind) -> Sequence[KubernetesObject]:
    """Return the objects of a kind without heartbeats."""
    found = store.list(kind).objects
    if kind != _LEASE:
        return found
    return [lease for lease in found if lease.metadata.namespace != _HEARTBEATS]


NewCaller: TypeAlias = Callable[[KubeSchedulerConfiguration, str], CallExtender | None]
"""Makes the function that calls the extenders of a configuration, which has a source."""

_TAKEN: Final = ("profiles", "extenders")


class ExternalScheduler(PodwrightError):  # noqa: N818 - named for what it is
    """Another scheduler schedules the pods, so it has no configuration here."""


class SchedulerChoice(msgspec.Struct, frozen=True):
    """The options of a scheduler, and its configuration as it was written."""

    options: SchedulerOptions
    document: Document


class RunningScheduler:
    """The schedulers of a cluster, of which one is meant unless another is named.

    Methods that receive a `served` scheduler concern the first one of the cluster without it.

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
        schedulers = turns.cluster.schedulers
        self._initial = InitialState(turns.cluster)
        written = [each.options.configuration for each in schedulers]
        self._documents: dict[ServedScheduler, Document] = {
            each: dict(DEFAULT_CONFIGURATION if its is None else to_document(its))
            for each, its in zip(schedulers, written, strict=True)
        }
        self._initial_documents = dict(self._documents)
        self._allowed = set(allowed_hosts)
        for each in written:
            self._allowed.update(host_of(extender) for _, extender in called_extenders(each))

    @property
    def first(self) -> ServedScheduler:
        """The first scheduler of the cluster."""
        return self.turns.cluster.schedulers[0]

    def configuration(self, served: ServedScheduler | None = None) -> Document:
        """Return the KubeSchedulerConfiguration of a scheduler as it was written.

        Raises
        ------
        ExternalScheduler
        """
        self.require_own()
        return self._documents[served or self.first]

    def read(
        self,
        document: Document | bytes,
        served: ServedScheduler | None = None,
        *,
        source: str = "configuration",
    ) -> tuple[SchedulerOptions, EffectiveConfiguration]:
        """Return the current options with another configuration, and that with all defaults.

        Parameters
        ----------
        document : Document or bytes
            The decoded document, or its JSON.
        served : ServedScheduler, optional
        source : str
            The source of the configuration, for errors.

        Raises
        ------
        InputError
            The configuration is not valid, has a schedulerName of another scheduler, or names
            files or extenders that are not allowed; with all errors.
        """
        errors: Collection[FieldError] = ()
        try:
            given = read_received(document, allowed_hosts=self._allowed, source=source)
        except PartialConfiguration as error:
            given, errors = error.configuration, error.errors
        served = served or self.first
        options = _options_with(served.options, given, source)
        others = [each.options for each in self.turns.cluster.schedulers if each is not served]
        return options, check_options(options, (*errors, *repeated_names(options, others)))

    def new_caller(self, options: SchedulerOptions) -> CallExtender | None:
        """Return a function that calls the extenders of options; None if there are none."""
        if self._new_caller is None:
            return None
        return self._new_caller(
            options.configuration or KubeSchedulerConfiguration(), options.source
        )

    async def apply(self, document: Document, *, source: str = "configuration") -> None:
        """Continue with the profiles and extenders of another configuration; see `changed`."""
        await self.continue_with(self.changed(document, source=source))

    @property
    def present(self) -> SchedulerChoice:
        """The current choice, to come back to it."""
        return SchedulerChoice(self.first.options, self._documents[self.first])

    def changed(self, document: Document, *, source: str = "configuration") -> SchedulerChoice:
        """Return a choice with the profiles and extenders of another configuration.

        All other fields keep their values, as in kube-scheduler-simulator.

        Raises
        ------
        ExternalScheduler
        InputError
            As for `read`.
        """
        self.require_own()
        given = read_received(document, allowed_hosts=self._allowed, source=source)
        first = self.first
        present = first.options.configuration or KubeSchedulerConfiguration()
        changed = msgspec.structs.replace(
            present, profiles=given.profiles, extenders=given.extenders
        )
        options = _options_with(first.options, changed, source)
        check_options(options)
        taken = {key: document[key] for key in _TAKEN if key in document}
        rest = {k: v for k, v in self._documents[first].items() if k not in _TAKEN}
        return SchedulerChoice(options, rest | taken)

    async def continue_with(self, choice: SchedulerChoice) -> None:
        """Continue with other options of the first scheduler, which were checked."""
        await self._continue_with(self.first, choice.options, choice.document)

    async def replace(
        self,
        document: Document,
        served: ServedScheduler | None = None,
        *,
        source: str = "configuration",
    ) -> None:
        """Continue with another configuration of a scheduler.

        Raises
        ------
        ExternalScheduler
        InputError
            As for `read`. The current configuration stays.
        """
        self.require_own()
        served = served or self.first
        options, _ = self.read(document, served, source=source)
        await self._continue_with(served, options, dict(document))

    async def change_plugins(self, plugins: Collection[type[Plugin]]) -> None:
        """Continue with other classes of plugin files, in all schedulers of the cluster.

        The plugins of installed packages stay. A reset keeps the new plugins.

        Raises
        ------
        ExternalScheduler
        InputError
            The configuration is not valid with them. The current plugins stay.
        """
        self.require_own()
        schedulers = self.turns.cluster.schedulers
        changed = {each: with_plugins(each.options, plugins) for each in schedulers}
        for options in changed.values():
            check_options(options)
        for each, options in changed.items():
            await self._continue_with(each, options, self._documents[each])
        self._initial.change_plugins(plugins)

    async def reset(self) -> int:
        """Restore the objects and configurations of the start; return the number of objects."""
        cluster = self.turns.cluster
        await self.turns.call(lambda _: self._initial.restore(cluster))
        self._documents = dict(self._initial_documents)
        return len(self._initial)

    def require_own(self) -> None:
        """Check that podwright schedules the pods.

        Raises
        ------
        ExternalScheduler
        """
        if not self.turns.cluster.has_scheduler:
            raise ExternalScheduler("an external scheduler is used, so it has no configuration")

    async def _continue_with(
        self, served: ServedScheduler, options: SchedulerOptions, document: Document
    ) -> None:
        # Certificates are read and connections are prepared outside the loop.
        caller = await asyncio.to_thread(self.new_caller, options)
        cluster = self.turns.cluster
        await self.turns.call(lambda _: cluster.change_scheduler(options, caller, served=served))
        self._documents[served] = document


def _options_with(
    present: SchedulerOptions, configuration: KubeSchedulerConfiguration, source: str
) -> SchedulerOptions:
    return msgspec.structs.replace(present, configuration=configuration, source=source)


# Reloads plugin files that change on disk: `podwright up --reload`.
#
# The scheduler restarts with the changed plugins. A file with an error changes nothing. Decisions
# of before can still be explained: their logs keep the classes that made them.

POLL_SECONDS: Final = 0.3
"""How often the files are compared; a change takes effect when a file is the same twice."""

Signature: TypeAlias = tuple[tuple[int, int, int] | None, ...]


class PluginReload:
    """Watches plugin files, and gives the scheduler their new plugins.

    Parameters
    ----------
    files : sequence of Path
        The files, as they were when the plugins of the scheduler were loaded.
    load : callable
        Executes the files and returns their plugins; raises `PodwrightError`. It is called in a
        thread.
    report : callable
        Receives a line about each reload.
    """

    def __init__(
        self,
        files: Sequence[Path],
        load: Callable[[], list[type[Plugin]]],
        report: Callable[[str], None],
    ) -> None:
        self._files = tuple(files)
        self._load = load
        self._report = report
        self._seen = self._signature()

    async def run(self, scheduler: RunningScheduler) -> None:
        """Reload the files whenever one has changed, until the task is cancelled."""
        while True:
            await asyncio.sleep(POLL_SECONDS)
            found = await asyncio.to_thread(self._signature)
            if found == self._seen or None in found:
                continue  # an editor may remove a file before it writes the new one
            await asyncio.sleep(POLL_SECONDS)
            if found != await asyncio.to_thread(self._signature):
                continue  # it is still being written
            self._seen = found
            await self._reload(scheduler)

    async def _reload(self, scheduler: RunningScheduler) -> None:
        try:
            loaded = await asyncio.to_thread(self._load)
            await scheduler.change_plugins(loaded)
        except PodwrightError as error:
            self._report(f"{error}\nthe plugins of before stay")
            return
        names = ", ".join(plugin.name for plugin in loaded)
        self._report(f"reloaded {', '.join(map(str, self._files))}: {names}")

    def _signature(self) -> Signature:
        """Return time, size and inode of each file; None for a file that cannot be read."""
        found: list[tuple[int, int, int] | None] = []
        for file in self._files:
            try:
                status = file.stat()
            except OSError:
                found.append(None)
            else:
                found.append((status.st_mtime_ns, status.st_size, status.st_ino))
        return tuple(found)
