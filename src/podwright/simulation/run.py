"""A run that is over, and `simulate`, which plays one from files or objects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final

import msgspec

from podwright.assembly import idle_arguments
from podwright.config import (
    DEFAULT_GATES,
    Gates,
    KubeSchedulerConfiguration,
    parse_duration,
    read_configuration,
    to_document,
)
from podwright.files import LoadedObjects, file_lines, load_bytes, read_paths
from podwright.framework import CallExtender, Explanation, Plugin, TieRule
from podwright.objects import (
    CREATION_TIME,
    FieldError,
    InputError,
    KubernetesObject,
    NamespacedName,
    Object,
    Pod,
    PodwrightError,
    Sourced,
    encode,
    invalid,
    timestamp_ns,
)
from podwright.recording import (
    TABLES,
    DecisionLog,
    InputFile,
    Manifest,
    Rows,
    RunFolder,
    RunTables,
    arrow_table,
    explain_cycle,
    held_back,
    joined,
    require_arrow,
    sha256_of,
    sha256_of_file,
    tables_of_log,
)
from podwright.simulation.clock import FIRST_NS, LAST_NS, POSSIBLE_YEARS
from podwright.simulation.inputs import EventFile, Inputs, start_of
from podwright.simulation.openb_arrivals import Ending
from podwright.simulation.simulation import Rules, Simulation, warnings_of
from podwright.simulation.summary import Summary, summary_of
from podwright.simulation.world import START_NS, World

SAMPLE_NS: Final = 60_000_000_000
"""How often what lasts is sampled, unless one is told otherwise: once a minute."""


class Tables(Mapping[str, Any]):
    """The tables of a run, by name: each a `pyarrow.Table`, made when it is asked for.

    Parameters
    ----------
    rows : dict
        Per table its columns.
    """

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def __getitem__(self, name: str) -> Any:
        return arrow_table(TABLES[name], self._rows[name])

    def __iter__(self) -> Iterator[str]:
        return iter(TABLES)

    def __len__(self) -> int:
        return len(TABLES)


class Run:
    """A run that is over, or that came to the time at which it was to stop.

    Attributes
    ----------
    log : DecisionLog
        What the scheduler was told and what it wanted.
    node_of : dict of str to str
        Per pod (`namespace/name`) that is on a node, its name.
    pending : dict of str to str
        Per pod that has none, why, in kube-scheduler's words.
    warnings : tuple of str
        What is to be known of the run besides its results, such as a feature gate that has no
        effect, or a plugin with state that checkpoints do not have.
    """

    def __init__(self, world: World, simulation: Simulation | None = None) -> None:
        self._start_ns, self._end_ns = world.start_ns, world.now_ns
        self._plugins = world.parts.plugins
        self._simulation = simulation
        self.log: DecisionLog = world.log
        self.warnings: tuple[str, ...] = warnings_of(world.log)
        self.node_of: dict[NamespacedName, str] = world.node_of
        held = held_back(world.machine)
        self.pending: dict[NamespacedName, str] = {
            pod.key: 'PreEnqueue plugin "{}": {}'.format(*held[pod.key])
            if pod.key in held
            else _why(pod.status.conditions)
            for pod in world.pods
            if not pod.spec.node_name and pod.status.phase not in ("Succeeded", "Failed")
        }

    def __repr__(self) -> str:
        return f"<Run: {len(self.node_of)} pods on nodes, {len(self.pending)} pending>"

    @cached_property
    def _told(self) -> tuple[RunTables, Rows]:
        if self._simulation is not None:
            return self._simulation.tables, self._simulation.rows()
        tables = tables_of_log(self.log, SAMPLE_NS, self._end_ns, plugins=self._plugins)
        return tables, joined([tables.rows()])

    @cached_property
    def summary(self) -> Summary:
        """What was placed, what waits and why, how long it took, how full it was."""
        tables, rows = self._told
        return summary_of(tables, rows, start_ns=self._start_ns, end_ns=self._end_ns)

    @cached_property
    def tables(self) -> Tables:
        """The tables by name, each a `pyarrow.Table`; docs/reference/run-folder.md has them."""
        return Tables(self._told[1])

    def explain(self, pod: NamespacedName, attempt: int = -1) -> Explanation:
        """Explain an attempt to place a pod; print it to read why.

        Parameters
        ----------
        pod : str
            `namespace/name`.
        attempt : int
            1 is the first one, -1 the last.

        Raises
        ------
        UnknownCycle
            If the pod was not tried then.
        """
        return explain_cycle(self.log, pod, attempt, plugins=self._plugins)


def _why(conditions: Iterable[Any]) -> str:
    for condition in conditions:
        if condition.type == "PodScheduled":
            return str(condition.message)
    return ""


def begin(
    rules: Rules, inputs: Inputs, manifest: Manifest, *, output: str | None, goes_on: bool = False
) -> Simulation:
    """Begin a run, or go on with one.

    Parameters
    ----------
    manifest : Manifest
        What it is made of.
    output : str, optional
        The folder in which it is written down.
    goes_on : bool
        Whether there is one that was interrupted.

    Raises
    ------
    InputError
        If the configuration is not valid; nothing is written then.
    RunError
        If the folder cannot be used.
    """
    if output is None:
        return Simulation(rules, inputs)
    checkpoint = None
    if goes_on:
        folder = RunFolder.open(output)
        checkpoint = folder.go_on(manifest)
    else:
        # What cannot be made is refused before there is a folder.
        World(rules.configuration, plugins=rules.plugins, gates=rules.gates, controllers=())
        folder = RunFolder.create(output, manifest)
    try:
        return Simulation(rules, inputs, folder=folder, checkpoint=checkpoint)
    except PodwrightError:
        folder.release()
        raise


def simulate(  # noqa: PLR0913 - what a run can be told
    objects: Any,
    *,
    events: Any = (),
    until: str | None = None,
    seed: int = 0,
    configuration: KubeSchedulerConfiguration | None = None,
    plugins: Iterable[type[Plugin]] = (),
    gates: Gates = DEFAULT_GATES,
    tie_rule: TieRule = TieRule.DRAWN,
    draws_preemption_offset: bool = True,
    start: str | None = None,
    sample: str = "1m",
    ending: Ending = "at_deletion_time",
    call_extender: CallExtender | None = None,
    checkpoint_events: int | None = None,
    output: Any = None,
    resume: bool = False,
) -> Run:
    """Play objects and what happens to them to the end.

    Parameters
    ----------
    objects : path, object, or several of either
        Files and folders of manifests, dumps, snapshots, KWOK's Stages, openb tables; objects.
    events : path, dict, or several of either
        Files of recorded changes and of lines of our own, or such lines as dicts.
    until : str, optional
        When to stop: a duration since the beginning, such as `24h`, or a time. Without it the
        run is over when nothing is left to happen.
    seed : int
        Of all draws.
    configuration : KubeSchedulerConfiguration, optional
        As `read_configuration` gives it; without it the one among the files, or the default.
    plugins, gates, tie_rule, draws_preemption_offset
        As for `Scheduler`.
    start : str, optional
        When the world begins. Without it, when the record begins, or when the youngest object
        of a dump was made, or 2026-01-01T00:00:00Z.
    sample : str
        The least time between two samples in tables.
    ending : str
        What ends pods of the openb trace: `at_deletion_time` or `after_run_time`.
    call_extender : callable, optional
        Makes the calls to the extenders of the configuration.
    checkpoint_events : int, optional
        How many events of the scheduler there are between checkpoints, with `output`; without
        it, 25,000, or more where there are many objects.
    output : path, optional
        The folder in which the run is written down.
    resume : bool
        Go on with the run in that folder, which has to be the same one.

    Returns
    -------
    Run

    Raises
    ------
    InputError
        With everything that is wrong with any input; nothing is written then.
    RunError
        If the folder cannot be used, or has another run.

    Examples
    --------
    >>> import podwright as pw
    >>> nodes = [pw.testing.make_node("n1", cpu="2")]
    >>> pods = [pw.testing.make_pod("web", cpu="1"), pw.testing.make_pod("batch", cpu="4")]
    >>> run = pw.simulate([*nodes, *pods])
    >>> run.node_of
    {'default/web': 'n1'}
    >>> run.summary.pending
    {'Insufficient cpu': 1}
    """
    errors: list[FieldError] = []
    if output is not None and not str(output):
        errors.append(_error("output", invalid(output, "the name of a folder is expected")))
    if resume and output is None:
        detail = "the folder of the run to go on with is expected"
        errors.append(_error("output", f"Required value: {detail}, because of resume=True"))
    check_seed("seed", seed, errors)
    sample_ns = duration_ns("sample", sample, errors)
    loaded, files = _loaded(objects, errors)
    event_files, more = _events(events, errors)
    start_ns = time_ns("start", start, errors) if start else start_of(loaded, event_files)
    until_ns = None if until is None else moment_ns("until", until, start_ns, errors)
    if checkpoint_events is not None and output is None:
        why = "it has no effect without output, the folder of the run"
        errors.append(_error("checkpoint_events", why))
    if ending != "at_deletion_time" and not has_openb_times(loaded):
        why = "it has no effect without pods of the openb trace, with their times"
        errors.append(_error("ending", why))
    if errors:
        raise InputError(errors)
    if configuration is None and loaded.configuration is not None:
        found = loaded.configuration
        configuration = read_configuration(found.document, source=found.source)
    idle = idle_arguments(
        configuration, tie_rule=tie_rule, draws_preemption_offset=draws_preemption_offset
    )
    if idle:
        raise InputError(idle)
    inputs = Inputs(
        loaded, event_files, start_ns=start_ns, ending=ending, is_endless=until_ns is None
    )
    own = tuple(plugins)
    rules = Rules(
        configuration=configuration,
        plugins=own,
        gates=gates,
        seed=seed,
        start_ns=start_ns,
        until_ns=until_ns,
        tie_rule=tie_rule,
        draws_preemption_offset=draws_preemption_offset,
        call_extender=call_extender,
        sample_ns=sample_ns,
        checkpoint_events=checkpoint_events,
    )
    if output is not None:
        require_arrow()
    options = {
        "ending": ending,
        "plugins": [f"{plugin.__module__}:{plugin.__qualname__}" for plugin in own],
    }
    manifest = manifest_of(rules, (*files, *more), options)
    folder = None if output is None else str(output)
    simulation = begin(rules, inputs, manifest, output=folder, goes_on=resume)
    simulation.run()
    simulation.end()
    return Run(simulation.world, simulation)


def has_openb_times(loaded: LoadedObjects) -> bool:
    """Tell whether there are pods of the openb trace that something ends."""
    return any(CREATION_TIME in pod.metadata.annotations for pod in loaded.of(Pod))


def manifest_of(rules: Rules, files: Sequence[InputFile], options: Mapping[str, Any]) -> Manifest:
    """Say what a run is made of.

    Parameters
    ----------
    options : mapping
        What was chosen besides the rules.
    """
    return Manifest(
        seed=rules.seed,
        start_ns=rules.start_ns,
        until_ns=rules.until_ns,
        inputs=tuple(files),
        configuration={} if rules.configuration is None else dict(to_document(rules.configuration)),
        gates=dict(rules.gates.changed),
        options={
            "tie_rule": rules.tie_rule.value,
            "draws_preemption_offset": rules.draws_preemption_offset,
            "sample_ns": rules.sample_ns,
            "checkpoint_events": rules.checkpoint_events,
            **options,
        },
    )


def moment_ns(what: str, text: str, start_ns: int, errors: list[FieldError]) -> int:
    """Read a moment, a duration since the beginning or a time, or note that it is none."""
    found = timestamp_ns(text)
    if found is None:
        try:
            found = start_ns + parse_duration(text)
        except ValueError:
            detail = "a duration such as 24h is expected, or a time such as 2026-01-02T00:00:00Z"
            errors.append(_error(what, invalid(text, detail)))
            return start_ns
    if found < start_ns:
        errors.append(_error(what, invalid(text, "that is before the beginning")))
    return _in_range(what, text, found, errors)


def time_ns(what: str, text: str, errors: list[FieldError]) -> int:
    """Read a time, or note that it is none."""
    found = timestamp_ns(text)
    if found is None:
        detail = "a time is expected, such as 2026-01-01T00:00:00Z"
        errors.append(_error(what, invalid(text, detail)))
        return START_NS
    return _in_range(what, text, found, errors)


def check_seed(what: str, seed: int, errors: list[FieldError]) -> None:
    """Note if a seed is none that a run's log could say."""
    if not -(2**63) <= seed < 2**63:
        errors.append(_error(what, invalid(seed, "a number of at most 64 bits is expected")))


def _in_range(what: str, text: str, found_ns: int, errors: list[FieldError]) -> int:
    if FIRST_NS <= found_ns < LAST_NS:
        return found_ns
    errors.append(_error(what, invalid(text, f"{POSSIBLE_YEARS} can be simulated")))
    return START_NS


def duration_ns(what: str, text: str, errors: list[FieldError]) -> int:
    """Read a duration of more than nothing, or note that it is none."""
    try:
        found = parse_duration(text)
    except ValueError:
        found = 0
    if found <= 0:
        errors.append(_error(what, invalid(text, "a duration is expected, such as 1m")))
    return found


def _error(source: str, message: str) -> FieldError:
    return FieldError(source=source, path="", message=message)


def _several(given: Any) -> list[Any]:
    if isinstance(given, str | KubernetesObject | Mapping) or hasattr(given, "__fspath__"):
        return [given]
    return list(given)


def _loaded(given: Any, errors: list[FieldError]) -> tuple[LoadedObjects, list[InputFile]]:
    objects: list[Object] = []
    paths: list[Any] = []
    for one in _several(given):
        (objects if isinstance(one, KubernetesObject) else paths).append(one)
    files: list[InputFile] = []
    loaded = LoadedObjects()
    try:
        contents = read_paths(paths)
        loaded = load_bytes(contents)
        files = [InputFile("objects", name, sha256_of(data)) for name, data in contents]
    except InputError as error:
        errors += error.errors
    if objects:
        data = msgspec.json.encode([encode(obj) for obj in objects])
        files.append(InputFile("objects", "objects", sha256_of(data)))
    sourced = [Sourced(f"object {index}", obj) for index, obj in enumerate(objects)]
    return msgspec.structs.replace(loaded, sourced=(*loaded.sourced, *sourced)), files


def _events(given: Any, errors: list[FieldError]) -> tuple[list[EventFile], list[InputFile]]:
    lines: list[bytes] = []
    events: list[EventFile] = []
    files: list[InputFile] = []
    for one in _several(given):
        if isinstance(one, Mapping):
            lines.append(msgspec.json.encode(one))
        else:
            try:
                files.append(InputFile("events", str(one), sha256_of_file(str(one))))
            except OSError as error:
                errors.append(_error(str(one), f"cannot be read: {error.strerror or error}"))
                continue
            events.append(event_file(str(one)))
    if lines:
        numbered = [(number, line, True) for number, line in enumerate(lines, start=1)]
        events.append(EventFile("events", lambda: numbered))
        files.append(InputFile("events", "events", sha256_of(b"\n".join(lines))))
    return events, files


def event_file(path: str) -> EventFile:
    """Return a file of lines of events, to be read as it is played."""
    return EventFile(path, lambda: file_lines(path))
