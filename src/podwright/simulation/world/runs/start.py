"""Starting runs: `simulate`, from files or objects, and `start_simulation`, from options."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, Unpack, get_args

import msgspec

from podwright._interrupts import deferred_signals
from podwright.apimachinery.documents import raise_errors, struct_errors
from podwright.apimachinery.objects import (
    CREATION_TIME,
    Duration,
    FieldError,
    InputError,
    KubernetesObject,
    Object,
    Pod,
    PodwrightError,
    Time,
    collecting,
    encode,
    invalid,
    length_ns,
    require_type,
    shortest_time_text,
    unsupported,
)
from podwright.scheduler.assembly import idle_arguments
from podwright.scheduler.config import (
    KubeSchedulerConfiguration,
    format_duration,
    read_configuration,
    to_document,
)
from podwright.scheduler.framework import CallExtender
from podwright.scheduler.machine import DecisionKeywords, SchedulerOptions, names_decision_keywords
from podwright.simulation.autoscaling import Autoscaling, parse_node_groups, read_node_groups
from podwright.simulation.files import (
    FieldValidation,
    LoadedObjects,
    OpenbGpus,
    PartialObjects,
    Place,
    change_lines,
    count_openb_gpus,
    load_bytes,
    read_paths,
    with_documents,
)
from podwright.simulation.recording import (
    InputFile,
    Manifest,
    RunFolder,
    class_name,
    require_arrow,
    sha256_of,
    sha256_of_file,
    sha256_of_lines,
)
from podwright.simulation.world.inputs.openb_arrivals import Ending
from podwright.simulation.world.inputs.run_inputs import (
    EventFile,
    Inputs,
    file_of_events,
    start_of,
)
from podwright.simulation.world.inputs.workload import Workload
from podwright.simulation.world.observers import Observer
from podwright.simulation.world.runs.run import Run
from podwright.simulation.world.runs.run_options import (
    PathLike,
    RunOptions,
    check_seed,
    duration_ns,
    moment_ns,
    option_error,
    time_ns,
)
from podwright.simulation.world.runs.simulation import Simulation
from podwright.simulation.world.timing.model import Timing, load_timing
from podwright.simulation.world.world import World


def start_simulation(
    options: RunOptions,
    inputs: Inputs,
    manifest: Manifest,
    *,
    output: str | None,
    resumes: bool = False,
) -> Simulation:
    """Start a run, or resume one.

    Parameters
    ----------
    options : RunOptions
        The options of the run.
    inputs : Inputs
        Its objects and files of events.
    manifest : Manifest
        The manifest of the run.
    output : str, optional
        The folder of the run.
    resumes : bool
        Whether the folder holds an interrupted run.

    Raises
    ------
    InputError
        If the configuration is not valid; nothing is written then.
    RunError
        If the folder cannot be used.
    """
    if output is None:
        return Simulation(options, inputs)
    checkpoint = None
    folder = RunFolder.open(output) if resumes else None
    if folder is None:
        # Invalid options are rejected before the folder is created.
        World(options.scheduler, controllers=())
    try:
        with deferred_signals():
            if folder is None:
                folder = RunFolder.create(output, manifest)
            else:
                checkpoint = folder.resume(manifest)
        return Simulation(options, inputs, folder=folder, checkpoint=checkpoint)
    except PodwrightError:
        if folder is not None:
            folder.release()
        raise
    except KeyboardInterrupt as interrupt:
        if folder is not None:
            with deferred_signals():
                folder.interrupt()
            interrupt.args = (folder.interruption,)
        raise


class RunArguments(msgspec.Struct, frozen=True, kw_only=True):
    """The keyword arguments of `simulate`, without those of the scheduler.

    Attributes
    ----------
    events, until, start, sample, ending, openb_gpus, job_duration, node_groups, timing
        As for `simulate`.
    call_extender, checkpoint_events, validate, output, resume, progress
        As for `simulate`.
    observers : tuple of Observer
        Receive what happens in the run.
    """

    events: Any = ()
    until: Time | None = None
    start: Time | None = None
    sample: Duration = "1m"
    ending: Ending = "at_deletion_time"
    openb_gpus: OpenbGpus | None = None
    job_duration: Duration | None = None
    node_groups: Any = None
    call_extender: CallExtender | None = None
    checkpoint_events: int | None = None
    validate: FieldValidation = "strict"
    output: Any = None
    resume: bool = False
    progress: bool | None = None
    observers: tuple[Observer, ...] = ()
    timing: Any = None


class PreparedRun(NamedTuple):
    """A run that can be started: its inputs are validated.

    Attributes
    ----------
    options : RunOptions
    inputs : Inputs
    manifest : Manifest
    warnings : tuple of str
        Remarks on the inputs.
    """

    options: RunOptions
    inputs: Inputs
    manifest: Manifest
    warnings: tuple[str, ...]


_BESIDE_A_PLAN: Final = (
    "call_extender", "checkpoint_events", "output", "resume", "progress", "validate",
)  # fmt: skip


def _simulate_plan(plan: Any, given: RunArguments, scheduler: SchedulerOptions) -> Run:
    """Simulate a plan; options that it determines are errors.

    Raises
    ------
    InputError
    """
    why = "is an option of the scenario"
    wrong = [
        option_error(name, why)
        for name in given.__struct_fields__
        if name not in _BESIDE_A_PLAN and getattr(given, name) != getattr(RunArguments(), name)
    ]
    if msgspec.structs.replace(scheduler, seed=0) != SchedulerOptions():
        wrong.append(option_error("configuration", why))
    if wrong:
        raise InputError(wrong)
    found: Run = plan.simulate(
        seed=scheduler.seed or None,
        **{name: getattr(given, name) for name in _BESIDE_A_PLAN if name != "validate"},
    )
    return found


@names_decision_keywords
def simulate(  # noqa: PLR0913 - the options of a run
    objects: Any,
    *,
    events: Any = (),
    until: Time | None = None,
    configuration: KubeSchedulerConfiguration | SchedulerOptions | None = None,
    start: Time | None = None,
    sample: Duration = "1m",
    ending: Ending = "at_deletion_time",
    openb_gpus: OpenbGpus | None = None,
    job_duration: Duration | None = None,
    node_groups: Any = None,
    timing: Any = None,
    call_extender: CallExtender | None = None,
    checkpoint_events: int | None = None,
    validate: FieldValidation = "strict",
    output: Any = None,
    resume: bool = False,
    progress: bool | None = None,
    **keywords: Unpack[DecisionKeywords],
) -> Run:
    """Simulate a cluster over time.

    Parameters
    ----------
    objects : path, object, or several of either; or ScenarioFile
        Files and folders of manifests, dumps, snapshots, KWOK's Stages, openb tables; objects.
    events : path, dict, Workload, or several of them
        Files of recorded changes and of lines of our own, such lines as dicts, or pods of a trace.
    until : Time, optional
        The end time: a duration since the start, such as `24h`, or a time. Without it the run
        ends when no event is left.
    seed : int
        Of all random draws.
    configuration : KubeSchedulerConfiguration or SchedulerOptions, optional
        As `read_configuration` gives it; without it the one among the files, or the default.
    plugins, gates, tie_rule, draws_preemption_offset
        As for `Scheduler`.
    start : Time, optional
        The initial virtual time. Without it, the start of the record, or the creation time of
        the youngest object of a dump, or 2026-01-01T00:00:00Z.
    sample : Duration
        The minimum time between two samples in tables.
    ending : str
        When pods of the openb trace end: `at_deletion_time` or `after_run_time`.
    openb_gpus : str, optional
        Makes the GPUs of the openb trace a resource: `milli` or `count`; see `load`.
    job_duration : Duration, optional
        How long the pods of Jobs run that have no duration, such as `10m`. Without it they
        complete as soon as they run.
    node_groups : path, dict or Autoscaling, optional
        The node groups of an autoscaler that takes part; see `read_node_groups`.
    timing : path or Timing, optional
        A timing model: what takes how long in virtual time. Without it, scheduling cycles and
        writes take no time. `podwright simulate --timing-from` fits one to a scheduler's log.
    call_extender : callable, optional
        Makes the calls to the extenders of the configuration.
    checkpoint_events : int, optional
        The number of scheduler events between checkpoints, with `output`; without it, 25,000,
        or more if there are many objects.
    validate : str
        What is done about unknown fields and invalid values in manifests; see `load`.
    output : path, optional
        The folder of the run.
    resume : bool
        Resume the run in that folder, which must be the same run.
    progress : bool, optional
        Whether to show the progress; by default in terminals and notebooks, if it takes long.

    Returns
    -------
    Run

    Raises
    ------
    InputError
        With all errors of all inputs; nothing is written then.
    RunError
        If the folder cannot be used, or holds another run.
    KeyboardInterrupt
        After Ctrl-C. The folder is marked as interrupted, has the results so far, and can be
        resumed.

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
    given = RunArguments(
        events=events,
        until=until,
        start=start,
        sample=sample,
        ending=ending,
        openb_gpus=openb_gpus,
        job_duration=job_duration,
        node_groups=node_groups,
        timing=timing,
        call_extender=call_extender,
        checkpoint_events=checkpoint_events,
        validate=validate,
        output=output,
        resume=resume,
        progress=progress,
    )
    scheduler = SchedulerOptions.of(configuration, **keywords)
    if hasattr(objects, "simulate"):
        return _simulate_plan(objects, given, scheduler)
    return started_run(prepared_run(objects, scheduler, given), given)


def started_run(prepared: PreparedRun, given: RunArguments) -> Run:
    """Run `prepared` to its end; `given` are the arguments that `prepared_run` got."""
    folder = None if given.output is None else str(given.output)
    simulation = start_simulation(
        prepared.options, prepared.inputs, prepared.manifest, output=folder, resumes=given.resume
    )
    simulation.complete(is_shown=given.progress)
    run = simulation.result()
    run.warnings = (*prepared.warnings, *simulation.warnings)
    return run


def prepared_run(objects: Any, scheduler: SchedulerOptions, given: RunArguments) -> PreparedRun:
    """Read and validate the inputs of a run.

    Parameters
    ----------
    objects : path, object, or several of either; or ScenarioFile
        As for `simulate`.
    scheduler : SchedulerOptions
        The options of the scheduler.
    given : RunArguments
        The other arguments of `simulate`.

    Raises
    ------
    InputError
        With all errors of all inputs.
    """
    errors: list[FieldError] = []
    output, validate, ending = given.output, given.validate, given.ending
    job_duration, checkpoint_events = given.job_duration, given.checkpoint_events
    if not str(output):
        errors.append(option_error("output", invalid(output, "must be the name of a folder")))
    if given.resume and output is None:
        detail = "name the folder of the run to resume"
        errors.append(option_error("output", f"Required value: {detail}, because of resume=True"))
    check_seed("seed", scheduler.seed, errors)
    sample_ns = duration_ns("sample", given.sample, errors)
    job_duration_ns = (
        None if job_duration is None else duration_ns("job_duration", job_duration, errors)
    )
    loaded, files, is_complete = _loaded(objects, validate, errors)
    if is_complete:
        field = option_error("openb_gpus", "")
        loaded = collecting(errors, loaded, count_openb_gpus, loaded, given.openb_gpus, field)
    event_files, more = _events(given.events, errors)
    autoscaling = collecting(errors, None, _autoscaling, given.node_groups, more)
    start_ns = (
        start_of(loaded, event_files)
        if given.start is None
        else time_ns("start", given.start, errors)
    )
    until_ns = None if given.until is None else moment_ns("until", given.until, start_ns, errors)
    if checkpoint_events is not None and output is None:
        why = "has no effect without output, the run folder"
        errors.append(option_error("checkpoint_events", why))
    if ending not in get_args(Ending):
        errors.append(option_error("ending", unsupported(ending, get_args(Ending))))
    elif ending != "at_deletion_time" and not has_openb_times(loaded):
        why = "has no effect without pods of the openb trace that have times"
        errors.append(option_error("ending", why))
    timing = collecting(errors, None, _timing, given.timing)
    scheduler = msgspec.structs.replace(
        scheduler, configuration=_configured(scheduler, loaded, errors), start_ns=start_ns
    )
    errors += idle_arguments(scheduler)
    inputs: Inputs | None = None
    try:
        inputs = Inputs(
            loaded,
            event_files,
            start_ns=start_ns,
            ending=ending,
            is_endless=until_ns is None,
            validate=validate,
            job_duration_ns=job_duration_ns,
            is_complete=is_complete,
        )
    except InputError as error:
        errors += error.errors
    if errors or inputs is None:
        raise InputError(errors)
    options = RunOptions(
        scheduler=scheduler,
        until_ns=until_ns,
        call_extender=given.call_extender,
        sample_ns=sample_ns,
        checkpoint_events=checkpoint_events,
        autoscaling=autoscaling,
        observers=given.observers,
        timing=timing,
    )
    # Before the run, so that it does not fail at its end.
    if output is not None:
        require_arrow()
    other_options: dict[str, Any] = {
        "ending": ending,
        "plugins": [class_name(plugin) for plugin in scheduler.plugins],
    }
    # Runs of versions without these options are the same runs.
    written = job_duration
    if job_duration_ns is not None and not isinstance(job_duration, str):
        written = format_duration(job_duration_ns)
    added = {"jobDuration": written, "openbGpus": given.openb_gpus}
    other_options |= {k: v for k, v in added.items() if v is not None}
    manifest = manifest_of(options, (*files, *more), other_options)
    return PreparedRun(options, inputs, manifest, (*loaded.warnings, *inputs.warnings))


def _timing(given: Any) -> Timing | None:
    """Return the timing model of an argument."""
    if given is None or isinstance(given, Timing):
        raise_errors(struct_errors(given, "") if given else (), source="timing")
        return given
    require_type(given, (str, PathLike), "timing", "a path or a Timing")
    return load_timing(given)


def _configured(
    scheduler: SchedulerOptions, loaded: LoadedObjects, errors: list[FieldError]
) -> KubeSchedulerConfiguration | None:
    """Return the configuration of the options, or else the one among the files."""
    found = loaded.configuration
    if scheduler.configuration is not None or found is None:
        return scheduler.configuration
    return collecting(errors, None, read_configuration, found.document, source=found.source)


def has_openb_times(loaded: LoadedObjects) -> bool:
    """Tell whether there are pods of the openb trace in `loaded` that something ends."""
    return any(CREATION_TIME in pod.metadata.annotations for pod in loaded.of(Pod))


def manifest_of(
    options: RunOptions, files: Sequence[InputFile], other_options: Mapping[str, Any]
) -> Manifest:
    """Return the manifest of a run.

    Parameters
    ----------
    options : RunOptions
        The options of the run.
    files : sequence of InputFile
        Its inputs.
    other_options : mapping
        Options that only the caller knows, such as those of the inputs.
    """
    scheduler = options.scheduler
    configuration: dict[str, Any] = {}
    if scheduler.configuration is not None:
        configuration = dict(to_document(scheduler.configuration))
    timing = {} if options.timing is None else {"timingModel": options.timing.document()}
    return Manifest(
        seed=scheduler.seed,
        start_ns=scheduler.start_ns,
        until_ns=options.until_ns,
        inputs=tuple(files),
        configuration=configuration,
        gates=dict(scheduler.gates.changed),
        options={
            "tieRule": scheduler.tie_rule.value,
            "drawsPreemptionOffset": scheduler.draws_preemption_offset,
            "sampleNs": options.sample_ns,
            "checkpointEvents": options.checkpoint_events,
            **timing,
            **other_options,
        },
    )


def _several(given: Any, what: str) -> list[Any]:
    if isinstance(given, str | KubernetesObject | Mapping | PathLike | Workload | EventFile):
        return [given]
    require_type(given, Iterable, what, "a path or several")
    return list(given)


class _Loaded(NamedTuple):
    """What `objects` stands for; `is_complete` as in `PartialObjects`."""

    objects: LoadedObjects
    files: list[InputFile]
    is_complete: bool


def _loaded(given: Any, validate: FieldValidation, errors: list[FieldError]) -> _Loaded:
    if isinstance(given, LoadedObjects):
        return _Loaded(given, [_digest(given.objects)], is_complete=True)
    objects: list[Object] = []
    paths: list[Any] = []
    for index, one in enumerate(_several(given, "objects")):
        is_object = isinstance(one, KubernetesObject)
        if not is_object:
            require_type(one, (str, PathLike), f"objects[{index}]", "a path or an object")
        (objects if is_object else paths).append(one)
    files: list[InputFile] = []
    loaded, is_complete = LoadedObjects(), True
    try:
        contents = read_paths(paths)
        files = [InputFile("objects", name, sha256_of(data)) for name, data in contents]
        loaded = load_bytes(contents, validate=validate)
    except PartialObjects as error:
        errors += error.errors
        loaded, is_complete = error.loaded, error.is_complete
    except InputError as error:
        errors += error.errors
        is_complete = False
    if objects:
        files.append(_digest(objects))
    given_documents = (
        (Place(f"objects[{index}] ({obj.kind} {obj.key})"), "", encode(obj))
        for index, obj in enumerate(objects)
    )
    found, all_read = with_documents(loaded, given_documents, errors, validate)
    return _Loaded(found, files, is_complete and all_read)


def _autoscaling(given: Any, files: list[InputFile]) -> Autoscaling | None:
    """Return the node groups that an option names or has."""
    if given is None:
        return None
    if isinstance(given, str | PathLike):
        given = read_node_groups(given)
    elif isinstance(given, Mapping):
        given = parse_node_groups(dict(given), "node_groups")
    require_type(given, Autoscaling, "node_groups", "a path, a dict or an Autoscaling")
    found: Autoscaling = given
    raise_errors(struct_errors(found, "node_groups"), source="")
    files.append(InputFile("nodeGroups", "node_groups", sha256_of(msgspec.json.encode(found))))
    return found


def _digest(objects: Iterable[Object]) -> InputFile:
    data = msgspec.json.encode([encode(obj) for obj in objects])
    return InputFile("objects", "objects", sha256_of(data))


def _events(given: Any, errors: list[FieldError]) -> tuple[list[EventFile], list[InputFile]]:
    lines: list[Mapping[str, Any]] = []
    events: list[EventFile] = []
    files: list[InputFile] = []
    unnamed = 0
    for index, one in enumerate(_several(given, "events")):
        if isinstance(one, Mapping):
            lines.append(one)
        elif isinstance(one, EventFile):
            events.append(one)
            digest = sha256_of(b"\n".join(line for _, line, _ in one.lines()))
            files.append(InputFile("events", one.source, digest))
        elif isinstance(one, Workload):
            workload = one
            if one.has_default_names:
                unnamed += 1
                workload = one if unnamed == 1 else one.with_prefix(f"pod{unnamed}")
            if not workload:
                continue
            source = f"workload {index}"
            packed = workload.packed()
            if packed is None:
                made = _file_of_lines(source, workload, errors, start_ns=workload.start_ns)
            else:
                made = _file_of_encoded(source, packed.encoded, start_ns=workload.start_ns)
            notes = tuple(f"{source}: {note}" for note in workload.warnings)
            events.append(
                msgspec.structs.replace(made[0], is_workload=workload.is_from_frame, warnings=notes)
            )
            files.append(made[1])
        else:
            require_type(one, (str, PathLike), f"events[{index}]", "a path or a dict")
            try:
                files.append(InputFile("events", str(one), sha256_of_file(str(one))))
            except OSError as error:
                errors.append(option_error(str(one), f"cannot be read: {error.strerror or error}"))
                continue
            events.append(event_file(str(one)))
    if lines:
        made = _file_of_lines("events", lines, errors)
        events.append(made[0])
        files.append(made[1])
    return events, files


def _file_of_lines(
    source: str,
    lines: Iterable[Mapping[str, Any]],
    errors: list[FieldError],
    *,
    start_ns: int | None = None,
) -> tuple[EventFile, InputFile]:
    """Return lines that are dicts as a file."""
    encoded = [
        _encoded(line, f"{source}: line {number}", errors)
        for number, line in enumerate(lines, start=1)
    ]
    return _file_of_encoded(source, lambda: encoded, start_ns=start_ns)


def _file_of_encoded(
    source: str, lines: Callable[[], Iterable[bytes]], *, start_ns: int | None
) -> tuple[EventFile, InputFile]:
    def numbered() -> Iterator[tuple[int, bytes, bool]]:
        return ((number, line, True) for number, line in enumerate(lines(), start=1))

    digest = sha256_of_lines(lines())
    return EventFile(source, numbered, start_ns), InputFile("events", source, digest)


def _encoded(line: Mapping[str, Any], place: str, errors: list[FieldError]) -> bytes:
    """Return a line as JSON; its time and its object may be Python objects."""
    written = dict(line)
    at, applied = line.get("at"), line.get("apply")
    if (since_ns := length_ns(at)) is not None:
        written["at"] = format_duration(since_ns)
    elif at is not None and not isinstance(at, str):
        written["at"] = shortest_time_text(time_ns(f"{place}: at", at, errors))
    if isinstance(applied, KubernetesObject):
        written["apply"] = encode(applied)
    try:
        return msgspec.json.encode(written)
    except (TypeError, ValueError) as error:
        errors.append(option_error(place, f"cannot be written as JSON: {error}"))
        return b"{}"


def event_file(path: str) -> EventFile:
    """Return the file of event lines at `path`, which is read during the run."""
    return file_of_events(path, lambda: change_lines(path))
