"""`podwright simulate`: runs or resumes a simulation and prints its summary."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

import msgspec
import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from podwright._interrupts import PendingSignal, deferred_signals
from podwright._private_files import exposures
from podwright.apimachinery.objects import FieldError, InputError, Pod
from podwright.cli.clusters.cluster_inputs import read_named
from podwright.cli.console import (
    announce_compilation,
    duration_text,
    print_data,
    print_document,
    print_heading,
    print_message,
    print_table,
    print_warnings,
    stderr,
    write,
)
from podwright.cli.file_reading import ErrorCollector, document_cache, reading_files
from podwright.cli.inputs import (
    extender_caller,
    has_no_workload,
    inputs_of,
    read_scenario_files,
    require_objects,
    scheduler_options,
    warn_of_kinds,
    warn_of_missing_resources,
    warn_of_uncounted_gpus,
    with_counted_gpus,
)
from podwright.cli.options import Setup, reject_idle
from podwright.cli.process_exit import BY_SIGNAL
from podwright.cli.recorded.options import SimulateOptions
from podwright.cli.recorded.simulate_report import (
    print_evictions,
    print_report,
    print_timing,
    times_table,
    warnings_of_review,
)
from podwright.scheduler.config import (
    format_duration,
)
from podwright.simulation.autoscaling import Autoscaling, read_node_groups
from podwright.simulation.files import (
    LoadedObjects,
    PartialObjects,
    disabled_fields,
    load_bytes,
    load_scheduler_log,
)
from podwright.simulation.recording import (
    InputFile,
    Manifest,
    RunError,
    RunFolder,
    require_arrow,
    sha256_of,
    sha256_of_file,
)
from podwright.simulation.scenarios import SCENARIO_HEAD_BYTES, is_scenario, load_scenario
from podwright.simulation.world import (
    SET_UNTIL,
    START_NS,
    Ending,
    EventFile,
    Inputs,
    RunOptions,
    Simulation,
    Summary,
    Timing,
    World,
    check_seed,
    duration_ns,
    event_file,
    fit_timing,
    has_openb_times,
    load_timing,
    manifest_of,
    moment_ns,
    start_of,
    start_simulation,
    time_ns,
)

_NOT_STORED = {"out", "resume", "output", "timings", "exit_zero", "given", "others", "print_timing"}
"""What does not belong to a run: it may be resumed with other values."""


def stored_document(options: SimulateOptions) -> dict[str, Any]:
    """Return the options as plain values, as the manifest stores them."""
    values = msgspec.json.decode(msgspec.json.encode(options, enc_hook=str))
    values |= values.pop("setup")
    for name in ("node_groups", "timing", "timing_from"):
        if values.get(name) is None:  # as in the manifests of earlier versions
            values.pop(name, None)
    return {_key(name): value for name, value in values.items() if name not in _NOT_STORED}


def _key(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


def stored_options(manifest: Manifest, folder: Path) -> SimulateOptions:
    """Return the options with which a run was started.

    Raises
    ------
    RunError
        If the run was not started by the command line.
    """
    stored = manifest.options
    of_run, of_setup = (
        {each.name: stored[key] for each in fields(cls) if (key := _key(each.name)) in stored}
        for cls in (SimulateOptions, Setup)
    )
    with suppress(msgspec.ValidationError):
        if "files" in of_run:
            document = of_run | {"setup": of_setup}
            return msgspec.convert(document, SimulateOptions, dec_hook=_path)
    raise RunError(
        f"{folder} was written from Python, not by podwright simulate: resume it with"
        " pw.simulate(..., output=..., resume=True). The folder was not changed"
    )


def _path(_: type, text: str) -> Path:
    return Path(text)


def run_simulate(options: SimulateOptions, folder: Path | None) -> bool:
    """Run a simulation and print its summary; return whether all pods are scheduled."""
    return _run(options, folder, is_resumed=False, output=options.output)


def resume_simulate(folder: Path, *, output: str) -> bool:
    """Resume an interrupted run and print its summary, as `run_simulate` does."""
    there = RunFolder.open(folder)
    if there.manifest.status == "finished":
        print_message(f"{folder} is already finished.")
        summary = there.read_summary(Summary)
        _print(summary, there.read_pods() if output == "name" else (), output)
        return not summary.pending_count
    options = stored_options(there.manifest, folder)
    there.check_files()
    return _run(options, folder, is_resumed=True, output=output)


def _run(options: SimulateOptions, folder: Path | None, *, is_resumed: bool, output: str) -> bool:
    with_tables = not options.no_tables and folder is not None
    if with_tables:
        require_arrow()
    _warn(exposures(folder))
    read = _read_scenario if is_scenario_file(options.files) else _read
    rules, inputs, manifest = read(options)
    for place in inputs.unterminated:
        print_message(f"{place} is incomplete and was ignored")
    announce_compilation()
    path = None if folder is None else str(folder)
    # A signal ends the run between two steps; the second one, immediately.
    with deferred_signals() as pending:
        simulation = start_simulation(rules, inputs, manifest, output=path, resumes=is_resumed)
        known = simulation.warnings
        _warn(known)
        is_over = _steps(simulation, inputs, rules, pending)
        summary = simulation.end(is_interrupted=not is_over, with_tables=with_tables)
        signal_number = pending.take()
    _warn(warning for warning in simulation.warnings if warning not in known)
    timings = msgspec.to_builtins(simulation.plugin_timings) if options.timings else None
    _print(summary, simulation.world.pods, output, timings)
    if output in ("table", "wide"):
        world = simulation.world
        classes = world.machine.cluster.devices.classes.values()
        warn_of_missing_resources(_pods_left(world), world.nodes, classes)
    if signal_number is not None:
        when = "at the end of" if is_over else f"{format_duration(summary.simulated_ns)} into"
        hint = f"; resume with: podwright simulate --resume {folder}" if folder else ""
        print_message(f"interrupted {when} the run{'' if is_over else hint}")
        raise typer.Exit(BY_SIGNAL + signal_number)
    return not summary.pending_count


def _warn(warnings: Iterable[str]) -> None:
    for warning in warnings:
        print_message(f"warning: {warning}")


# -------------------------------------------------------------------------- reading


def _read(options: SimulateOptions) -> tuple[RunOptions, Inputs, Manifest]:
    """Read all inputs; raise the errors of all of them together."""
    setup = options.setup
    collected = ErrorCollector()
    errors: list[FieldError] = collected.errors
    files: list[InputFile] = []
    loaded, is_complete = LoadedObjects(), False
    inputs: Inputs | None = None
    with reading_files() as watch:
        with collected:
            stdin = sys.stdin.buffer if "-" in options.files else None
            contents = read_named(options.files, stdin=stdin, report=print_message)
            files += [InputFile("objects", name, sha256_of(data)) for name, data in contents]
            try:
                loaded = load_bytes(
                    contents, validate=setup.validate, watch=watch, cache=document_cache()
                )
                is_complete = True
                loaded = with_counted_gpus(loaded, setup)
            except PartialObjects as error:
                loaded, is_complete = error.loaded, error.is_complete
                raise
            if "ending" in options.given:
                _require_openb_pods(loaded, options.files)
            if not options.events:
                require_objects(loaded, options.files)
        read = inputs_of(loaded, setup, collected)
        with collected:
            files += _hashed(options)
        events = _events(options.events, errors)
        start_ns = START_NS
        with collected:
            start_ns = (
                time_ns("--start", options.start, errors)
                if options.start
                else start_of(loaded, events)
            )
        until_ns = moment_ns("--until", options.until, start_ns, errors) if options.until else None
        sample_ns = duration_ns("--sample", options.sample, errors)
        check_seed("--seed", setup.seed, errors)
        job_duration_ns = (
            duration_ns("--job-duration", options.job_duration, errors)
            if options.job_duration
            else None
        )
        autoscaling = _node_groups(options.node_groups, collected)
        timing = _timing(options, collected)
        with collected:
            inputs = Inputs(
                loaded,
                events,
                start_ns=start_ns,
                ending=_ENDINGS[options.ending],
                is_endless=until_ns is None,
                validate=setup.validate,
                job_duration_ns=job_duration_ns,
                is_complete=is_complete,
            )
        collected.errors = [
            msgspec.structs.replace(each, message=each.message.replace(SET_UNTIL, "set --until"))
            for each in collected.errors
        ]
        collected.raise_all()
    assert inputs is not None, "no inputs and no error"
    print_warnings((*loaded.warnings, *inputs.warnings))
    print_warnings(disabled_fields(loaded.sourced, read.gates))
    print_warnings(warnings_of_review(inputs.review))
    warn_of_kinds(loaded, {(stage.group, stage.kind) for stage in inputs.stages})
    warn_of_uncounted_gpus(read, setup)
    if not options.events and has_no_workload(loaded):
        print_message("Nothing to simulate: no pods, no workloads and no events.")
    rules = RunOptions(
        scheduler=msgspec.structs.replace(scheduler_options(read, setup), start_ns=start_ns),
        until_ns=until_ns,
        call_extender=extender_caller(read.configuration, read.source),
        sample_ns=sample_ns,
        checkpoint_events=options.checkpoint_events,
        autoscaling=autoscaling,
        has_timeline=options.timeline,
        read_ns=time.perf_counter_ns if options.timings else None,
        timing=timing,
    )
    packages = {"packages": dict(read.packages)} if read.packages else {}
    return rules, inputs, manifest_of(rules, files, stored_document(options) | packages)


def _node_groups(path: Path | None, collected: ErrorCollector) -> Autoscaling | None:
    with collected:
        return None if path is None else read_node_groups(path)
    return None


_BESIDE_SCENARIO: Final = {
    "files", "out", "resume", "output", "timings", "exit_zero", "no_tables", "timeline",
    "checkpoint_events", "seed",
}  # fmt: skip


def is_scenario_file(files: Sequence[str]) -> bool:
    """Tell whether the file of a command is a scenario; several files are none."""
    if len(files) != 1 or files[0] == "-":
        return False
    try:
        with Path(files[0]).open("rb") as file:
            return is_scenario(file.read(SCENARIO_HEAD_BYTES))
    except OSError:
        return False  # the reader of the files reports it


def _read_scenario(options: SimulateOptions) -> tuple[RunOptions, Inputs, Manifest]:
    """Read a scenario; raise all its errors together."""
    for name in sorted(options.given - _BESIDE_SCENARIO):
        known = {"plugins": "--plugin"}
        hint = known.get(name, f"--{name.replace('_', '-')}")
        reject_idle(hint, "with a scenario", "it is part of the scenario")
    (path,) = options.files
    scenario = load_scenario(path, read=read_scenario_files)
    seed = options.setup.seed if "seed" in options.given else None
    prepared = scenario.prepare(
        seed=seed, checkpoint_events=options.checkpoint_events, output=options.out
    )
    if len(scenario.configurations) > 1:
        first, *others = scenario.configurations
        print_message(f"configuration {first} is simulated, not {', '.join(others)}")
    print_warnings(prepared.warnings)
    for warning in warnings_of_review(prepared.inputs.review):
        print_message(f"warning: {warning}")
    configuration = prepared.options.scheduler.configuration
    rules = msgspec.structs.replace(
        prepared.options,
        call_extender=extender_caller(configuration, scenario.source),
        has_timeline=options.timeline,
        read_ns=time.perf_counter_ns if options.timings else None,
    )
    document = stored_document(options) | {"scenario": scenario.digest}
    files = [InputFile("objects", path, sha256_of_file(path))]
    return rules, prepared.inputs, manifest_of(rules, files, document)


def _require_openb_pods(loaded: LoadedObjects, files: Sequence[str]) -> None:
    """Reject --ending if there are no pods that it applies to.

    Raises
    ------
    InputError
    """
    if has_openb_times(loaded):
        return
    where = f"; there are none in {', '.join(files)}" if files else ""
    message = f"has no effect without pods of the openb trace that have times{where}"
    raise InputError([FieldError(source="options", path="--ending", message=message)])


_ENDINGS: Final[dict[str, Ending]] = {
    "at-deletion-time": "at_deletion_time",
    "after-run-time": "after_run_time",
}


def _events(paths: Sequence[str], errors: list[FieldError]) -> list[EventFile]:
    """Return the files that can be read; `_hashed` reports the others."""
    missing = {error.source for error in errors}
    return [event_file(path) for path in paths if path not in missing]


def _timing(options: SimulateOptions, collected: ErrorCollector) -> Timing | None:
    with collected:
        timing = None if options.timing is None else load_timing(options.timing)
        if options.timing_from is None:
            return timing
        return fit_timing(load_scheduler_log(options.timing_from), base=timing)
    return None


def print_timing_model(options: SimulateOptions) -> bool:
    """Print the timing model of the options."""
    collected = ErrorCollector()
    timing = _timing(options, collected)
    collected.raise_all()
    if timing is None:
        reject_idle("--print-timing", "without --timing or --timing-from", "there is no model")
    print_document(timing.document(), "yaml")
    return True


def _hashed(options: SimulateOptions) -> list[InputFile]:
    setup = options.setup
    named = [("events", path) for path in options.events]
    named += [("config", str(path)) for path in (setup.config,) if path is not None]
    named += [("policy", str(path)) for path in (setup.policy,) if path is not None]
    models = (options.timing, options.timing_from)
    named += [("timing", str(path)) for path in models if path is not None]
    named += [("plugin", str(path)) for path in setup.plugins]
    named += [("nodeGroups", str(path)) for path in (options.node_groups,) if path is not None]
    found, errors = [], []
    for role, path in named:
        try:
            found.append(InputFile(role, path, sha256_of_file(path)))
        except OSError as error:
            message = f"cannot be read: {error.strerror or error}"
            if role == "events":  # the readers of the other files report their errors
                errors.append(FieldError(source=path, path="", message=message))
    if errors:
        raise InputError(errors)
    return found


# -------------------------------------------------------------------------- running


def _pods_left(world: World) -> list[Pod]:
    """Return the pods that are not scheduled."""
    return [
        pod
        for pod in world.pods
        if _is_pending(pod) and pod.spec.scheduler_name in world.machine.profiles
    ]


def _is_pending(pod: Pod) -> bool:
    return not pod.spec.node_name and pod.status.phase not in ("Succeeded", "Failed")


def _steps(
    simulation: Simulation, inputs: Inputs, rules: RunOptions, pending: PendingSignal
) -> bool:
    """Run to the end; return False if a signal stopped the run before."""
    if stderr().is_terminal:
        end_ns = rules.until_ns if rules.until_ns is not None else inputs.end_ns
        steps = _shown_steps(simulation, rules.scheduler.start_ns, end_ns)
    else:
        steps = simulation.steps()
    return all(pending.number is None for _ in steps)


def _shown_steps(simulation: Simulation, start_ns: int, end_ns: int) -> Iterator[int]:
    """Yield the times of a run, and show how far it is."""
    columns = (
        TextColumn("simulated {task.fields[when]}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%  {task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=stderr(), transient=True) as bar:
        task = bar.add_task("", total=max(end_ns - start_ns, 1), when="0s", rate="")
        for now_ns in simulation.steps():
            counts, clock = simulation.tables.counts, bar.tasks[0].elapsed or 0.0
            per_second = counts.decisions / clock if clock else 0.0
            bar.update(
                task,
                completed=now_ns - start_ns,
                when=format_duration(now_ns - start_ns),
                rate=f"{counts.decisions:,} decisions, {per_second:,.0f}/s",
            )
            yield now_ns


# -------------------------------------------------------------------------- printing


_WAIT_HEADS = ("MEAN", "P50", "P90", "P99", "MAX")
_USE_HEADS = ("RESOURCE", "MEAN", "PEAK", "FRAGMENTED")


def _print(
    summary: Summary,
    pods: Iterable[Pod],
    output: str,
    timings: list[dict[str, Any]] | None = None,
) -> None:
    """Print the summary of a run.

    Parameters
    ----------
    timings : list of dict, optional
        Documents of `PluginTiming`; None if they were not requested.
    """
    beside = {} if timings is None else {"timings": timings}
    pending = (pod.key for pod in pods if _is_pending(pod))
    if print_data(output, lambda: msgspec.to_builtins(summary) | beside, pending):
        return
    counts = summary.counts
    decisions = f"{counts.decisions} decision{'s' * (counts.decisions != 1)}"
    created = f"{counts.created} pod{'s' * (counts.created != 1)}"
    write(
        f"Simulated {format_duration(summary.simulated_ns)}: {decisions} for {created},"
        f" {counts.placed} placed, {counts.succeeded} succeeded, {counts.failed} failed,"
        f" {counts.deleted} deleted."
    )
    if counts.preemptions:
        write(f"Preemptions: {counts.preemptions}, victims: {counts.victims}.")
    if summary.report is not None:
        print_timing(summary.report)
        print_evictions(summary.report.evictions)
    waits = summary.waits
    if waits.count:
        print_heading("Waiting times of scheduled pods:")
        values = (waits.mean_s, waits.p50_s, waits.p90_s, waits.p99_s, waits.max_s)
        print_table(_WAIT_HEADS, [tuple(map(_seconds, values))], indent=2)
    if summary.utilization:
        print_heading("Utilization:")
        used = [
            (name, _percent(use.mean), _percent(use.peak), _percent(use.fragmentation))
            for name, use in summary.utilization.items()
        ]
        print_table(_USE_HEADS, used, indent=2)
        write("  FRAGMENTED: the share of the free amount that typical pods of the run cannot use.")
    if summary.pending:
        print_heading("Unscheduled pods:")
        reasons = sorted(summary.pending.items(), key=lambda entry: (-entry[1], entry[0]))
        rows = [(str(count), reason) for reason, count in reasons]
        print_table(("PODS", "REASON"), rows, indent=2)
    else:
        write("All pods are scheduled.")
    if summary.report is not None:
        print_report(summary.report, summary.start, shows_all=output == "wide")
    if timings is not None:
        print_heading("Calls of plugins:")
        print_table(*times_table(timings, is_wide=output == "wide"), indent=2)


def _seconds(value: float) -> str:
    return duration_text(round(value * 1e9))


def _percent(share: float) -> str:
    return f"{100 * share:.2f}%"
