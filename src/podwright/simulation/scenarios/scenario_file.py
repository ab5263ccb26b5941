"""A scenario that was read: complete, and ready to be simulated."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cached_property, partial
from typing import Any, Final

import msgspec

from podwright.apimachinery.documents import join
from podwright.apimachinery.objects import (
    PLATFORM_LABELS,
    FieldError,
    InputError,
    read_time,
)
from podwright.scheduler.assembly import (
    plugins_from,
    prepare,
    with_installed,
    with_plugin_field,
)
from podwright.scheduler.config import (
    KubeSchedulerConfiguration,
    parse_gates,
    read_configuration,
)
from podwright.scheduler.framework import Plugin
from podwright.scheduler.machine import SchedulerOptions
from podwright.simulation.files import (
    LoadedObjects,
    PartialObjects,
    Place,
    load_bytes,
    numbered_lines,
    with_documents,
)
from podwright.simulation.scenarios.document import Configuration, Document, NodeGroup
from podwright.simulation.scenarios.kep140 import kep140_path
from podwright.simulation.scenarios.load import Line, load_lines, trace_workload
from podwright.simulation.world import (
    SET_UNTIL,
    EventFile,
    PreparedRun,
    Run,
    RunArguments,
    Timing,
    file_of_events,
    prepared_run,
    start_of,
    started_run,
)

Files = tuple[tuple[str, bytes], ...]
"""Names and contents."""

_OPTION_PATHS: Final = {
    "until": "spec.stop.at",
    "start": "spec.options.start",
    "sample": "spec.options.sample",
    "job_duration": "spec.options.jobDuration",
    "ending": "spec.options.ending",
    "openb_gpus": "spec.options.openbGpus",
    "seed": "spec.seed",
    "node_groups": "spec.autoscaling",
}
"""The fields of what `simulate` calls by other names in its errors."""


class ScenarioFile(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """A scenario, with the contents of the files that it names; `load_scenario` reads one.

    Attributes
    ----------
    source : str
        The name of the file.
    document : Document
        What it says.
    operations : tuple of (int, bytes)
        The operations as lines of event files, each with its number in the list, from 1.
    files, events : tuple of (str, bytes)
        The files of the cluster, and of events.
    others : dict of str to bytes
        The contents of configurations, plugins and traces, by name.
    timing : Timing, optional
        The timing model.
    warnings : tuple of str
        What has no effect, a sentence each.
    is_kep140 : bool
        Whether it was written in the form of kube-scheduler-simulator.
    """

    source: str
    document: Document
    operations: tuple[tuple[int, bytes], ...] = ()
    files: Files = ()
    events: Files = ()
    others: dict[str, bytes] = {}
    timing: Timing | None = None
    warnings: tuple[str, ...] = ()
    is_kep140: bool = False

    def __repr__(self) -> str:
        return f"<ScenarioFile: {self.name}>"

    @property
    def name(self) -> str:
        """The name of the scenario, or else of its file."""
        return self.document.metadata.name or self.source

    @property
    def configurations(self) -> tuple[str, ...]:
        """The names of its configurations; the first one is the default."""
        return tuple(each.name for each in self._configurations)

    @property
    def _configurations(self) -> tuple[Configuration, ...]:
        return self.document.spec.configurations or (Configuration(),)

    @cached_property
    def digest(self) -> str:
        """The hash of the scenario and of the contents of its files."""
        digest = hashlib.sha256(msgspec.json.encode([self.document, self.operations, self.timing]))
        others = tuple(sorted(self.others.items()))
        for name, content in (*self.files, *self.events, *others):
            digest.update(f"{name.rsplit('/', 1)[-1]} {len(content)} ".encode())
            digest.update(content)
        return digest.hexdigest()

    # ------------------------------------------------------------------------ running

    def simulate(
        self,
        *,
        configuration: str = "",
        seed: int | None = None,
        scheduler: SchedulerOptions | None = None,
        **keywords: Any,
    ) -> Run:
        """Simulate the scenario.

        Parameters
        ----------
        configuration : str
            The name of one of its configurations; the first one if empty.
        seed : int, optional
            In place of that of the scenario.
        scheduler : SchedulerOptions, optional
            In place of a configuration of the scenario.
        keywords
            `call_extender`, `checkpoint_events`, `output`, `resume` and `progress`, as for
            `podwright.simulate`.

        Returns
        -------
        Run

        Raises
        ------
        InputError
            With all errors.
        """
        prepared = self.prepare(
            configuration=configuration, seed=seed, scheduler=scheduler, **keywords
        )
        return started_run(prepared, RunArguments(**keywords))

    def prepare(
        self,
        *,
        configuration: str = "",
        seed: int | None = None,
        scheduler: SchedulerOptions | None = None,
        **keywords: Any,
    ) -> PreparedRun:
        """Return the run of `simulate`, which is not started.

        `configuration`, `seed`, `scheduler` and `keywords` are those of `simulate`.
        """
        spec = self.document.spec
        chosen_seed = spec.seed if seed is None else seed
        options = spec.options
        if scheduler is None:
            scheduler = self.scheduler_options(configuration, chosen_seed)
        given = RunArguments(
            events=self.event_files(chosen_seed),
            until=spec.stop.at or None,
            start=options.start or None,
            sample=options.sample,
            ending=options.ending,
            openb_gpus=options.openb_gpus or None,
            job_duration=options.job_duration or None,
            node_groups=spec.autoscaling,
            timing=self.timing,
            **keywords,
        )
        try:
            prepared = prepared_run(self.loaded, scheduler, given)
        except InputError as error:
            raise InputError(map(self._with_path, error.errors)) from error
        return prepared._replace(warnings=(*self.warnings, *prepared.warnings))

    def _with_path(self, error: FieldError) -> FieldError:
        path = _OPTION_PATHS.get(error.source)
        if path is not None:
            path = join(path, error.path) if error.path else path
            error = msgspec.structs.replace(error, source=self.source, path=path)
        # The end of a scenario is not an option of a command.
        message = error.message.replace(SET_UNTIL, "set spec.stop.at")
        return self.as_written(msgspec.structs.replace(error, message=message))

    def as_written(self, error: FieldError) -> FieldError:
        """Return `error` with the path in the file, in whose form operations may differ."""
        if not self.is_kep140:
            return error
        return msgspec.structs.replace(error, path=kep140_path(error.path))

    # ------------------------------------------------------------------------- inputs

    @cached_property
    def loaded(self) -> LoadedObjects:
        """The initial objects.

        Raises
        ------
        PartialObjects
            With all errors.
        """
        errors: list[FieldError] = []
        is_complete = True
        try:
            found = load_bytes(self.files)
        except PartialObjects as error:
            errors += error.errors
            found, is_complete = error.loaded, error.is_complete
        loaded, all_read = with_documents(found, self._manifests(), errors)
        if errors:
            raise PartialObjects(errors, loaded, is_complete=is_complete and all_read)
        return loaded

    def _manifests(self) -> Iterator[tuple[Place, str, Line]]:
        place, cluster = Place(self.source), self.document.spec.cluster
        for index, document in enumerate(cluster.objects):
            if isinstance(document, dict):  # another value is an error of the scenario
                yield place, f"spec.cluster.objects[{index}]", document
        for index, group in enumerate(cluster.nodes):
            for number in range(group.count):
                yield place, f"spec.cluster.nodes[{index}]", _node(group, number)

    def event_files(self, seed: int) -> list[EventFile]:
        """Return the operations, event files and loads, drawn with `seed`, as files of events.

        Raises
        ------
        InputError
            If a trace has errors.
        """
        spec = self.document.spec
        found = []
        if self.operations:
            lines = [(number, line, True) for number, line in self.operations]
            found.append(EventFile(self.source, lambda: lines, list_path="spec.operations"))
        if spec.stop.when is not None:
            stop = msgspec.json.encode({"when": spec.stop.when, "done": True})
            found.append(EventFile(self.source, lambda: [(1, stop, True)], list_path="spec.stop"))
        found += [
            file_of_events(name, partial(numbered_lines, data, source=name))
            for name, data in self.events
        ]
        traces: dict[int, EventFile] = {}
        for index, entry in enumerate(spec.load):
            if entry.trace is not None and (
                workload := trace_workload(entry, entry.trace, self.others[entry.trace.file])
            ):
                place = f"{self.source}: load {entry.name}"
                traces[index] = _events_of(place, workload, start_ns=workload.start_ns)
        end_ns = self._end_ns([*found, *traces.values()])
        for index, entry in enumerate(spec.load):
            if index in traces:
                found.append(traces[index])
            elif entry.trace is None:
                place = f"{self.source}: load {entry.name}"
                found.append(_events_of(place, load_lines(entry, seed, end_ns)))
        return found

    def _end_ns(self, files: Iterable[EventFile]) -> int | None:
        """Return the end of the scenario, since its start, which depends on its other inputs."""
        spec = self.document.spec
        with suppress(InputError):  # if there is none; the options of the run report a wrong one
            start = spec.options.start
            if start:
                start_ns = read_time(start, "", start_ns=None)
            else:
                start_ns = start_of(self.loaded, files)
            return max(read_time(spec.stop.at, "", start_ns=start_ns) - start_ns, 0)
        return None

    def scheduler_options(self, name: str, seed: int) -> SchedulerOptions:
        """Return the options of the configuration `name` of the scenario, with the seed `seed`.

        Raises
        ------
        InputError
            If there is no such configuration, or it is not valid.
        """
        by_name = {each.name: each for each in self._configurations}
        chosen = by_name.get(name) if name else self._configurations[0]
        if chosen is None:
            message = f'"{name}" is not a configuration; there are {", ".join(by_name)}'
            raise InputError.of(self.source, message, "spec.configurations")
        configuration: KubeSchedulerConfiguration | None = None
        source = chosen.file or self.source
        path = f"spec.configurations[{self._configurations.index(chosen)}]"
        if chosen.file:
            configuration = read_configuration(self.others[chosen.file], source=source)
        elif chosen.configuration is not None:
            source = f"{self.source}: {path}.configuration"
            configuration = read_configuration(chosen.configuration, source=source)
        plugins: list[type[Plugin]] = []
        for file in chosen.plugins:
            plugins += plugins_from(self.others[file].decode(), source=file)
        configuration, installed = with_installed(configuration, plugins)
        plugins += (one.cls for one in installed)
        options = SchedulerOptions(
            configuration=configuration,
            plugins=tuple(plugins),
            gates=parse_gates(chosen.feature_gates, source=self.source),
            seed=seed,
            source=source,
        )
        try:
            prepare(options)
        except InputError as error:
            raise InputError(
                with_plugin_field(each, f"{path}.plugins") for each in error.errors
            ) from error
        return options


def _events_of(source: str, lines: Iterable[Any], *, start_ns: int | None = None) -> EventFile:
    numbered = [
        (number, msgspec.json.encode(line), True) for number, line in enumerate(lines, start=1)
    ]
    return EventFile(source, lambda: numbered, start_ns, is_generated=True)


def _node(group: NodeGroup, number: int) -> Line:
    name = f"{group.name}-{number}"
    resources = {"cpu": group.cpu, "memory": group.memory, "pods": group.pods, **group.resources}
    labels = {**PLATFORM_LABELS, "kubernetes.io/hostname": name, **group.labels}
    if group.zones:
        labels["topology.kubernetes.io/zone"] = group.zones[number % len(group.zones)]
    node: Line = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": {"capacity": resources, "allocatable": resources},
    }
    if group.taints:
        node["spec"] = {"taints": list(group.taints)}
    return node
