"""The commands about runs and files."""

from __future__ import annotations

import typer

from podwright.cli.options import (
    command,
    command_group,
    reject_idle,
)
from podwright.cli.recorded.options import (
    CheckOptions,
    ConvertOptions,
    ReportOptions,
    RunShowOptions,
    RunStepOptions,
    SimulateOptions,
)

_ALLOWED_WITH_RESUME = {"resume", "output", "exit_zero"}


@command(
    examples=[
        "podwright simulate examples/quickstart --exit-zero",
        "podwright simulate examples/simulate --events examples/simulate/day.jsonl --until 24h",
        "podwright simulate examples/scenarios/rollout.yaml",
        "podwright simulate examples/autoscaling/shop.yaml --node-groups "
        "examples/autoscaling/groups.yaml",
        "podwright simulate examples/simulate --until 1h --timing examples/timing/busy.yaml",
    ]
)
def simulate(options: SimulateOptions) -> bool:
    """Simulate a cluster over time.

    The simulation runs nodes, pods, controllers and the scheduler on a virtual clock. With
    --out, all scheduling decisions and summary tables are written to a folder, which the
    commands explain, run show and run step read.

    Exit status 1 if pods remain unscheduled; 130 after Ctrl-C, and the run in the folder can
    be resumed. Pods of other schedulers and pods with scheduling gates are reported but do
    not affect the exit status.
    """
    if options.timings and options.output == "name":
        reject_idle("--timings", "with --output name", "only the names of pods are printed")
    if options.resume is None and options.out is None:
        for name, why in _OF_THE_FOLDER.items():
            if name in options.given:
                reject_idle(f"--{name.replace('_', '-')}", "without --out", why)
    from podwright.cli.recorded.simulate_run import (
        print_timing_model,
        resume_simulate,
        run_simulate,
    )

    if options.resume is not None:
        for name in sorted(options.given - _ALLOWED_WITH_RESUME):
            known = {"files": "FILE", "plugins": "--plugin"}
            hint = known.get(name, f"--{name.replace('_', '-')}")
            raise typer.BadParameter("cannot be combined with --resume.", param_hint=f"'{hint}'")
        return resume_simulate(options.resume, output=options.output)
    if options.print_timing:
        return print_timing_model(options)
    if not options.files and not options.events:
        raise typer.BadParameter("specify FILE, --events or --resume.", param_hint="FILE")
    return run_simulate(options, options.out)


_OF_THE_FOLDER = {
    "no_tables": "tables are written to the run folder",
    "timeline": "the timeline is written to the run folder",
    "checkpoint_events": "checkpoints are written to the run folder",
}
"""Why options have no effect without a run folder."""


_OF_DECISIONS = ("attempt", "plugins")
_OF_CREATE = ("from_run", "decision", *_OF_DECISIONS)
_OF_CHARTS = ("values", "settings", "release", "namespace")
_OF_CHECKS = ("junit", "summary", "seed", "charts", *_OF_CHARTS, "kustomize", "output")
_NAMES = {"charts": "--chart", "settings": "--set", "plugins": "--plugin"}


@command(
    examples=[
        "podwright check examples/scenarios/rollout.yaml",
        "podwright check examples/scenarios/rollout.yaml -o json --exit-zero",
    ]
)
def check(options: CheckOptions) -> bool:
    """Check what scenarios expect, for CI.

    Each configuration of each scenario is simulated, and compared with its expectations.
    With --create, a scenario is written instead: of a snapshot of a cluster, or of one decision
    of a recorded run.

    Exit status 1 if an expectation is not met.
    """
    idle = _OF_CREATE if options.create is None else _OF_CHECKS
    for name in idle:
        if name in options.given:
            shown = _NAMES.get(name, f"--{name.replace('_', '-')}")
            condition = "without --create" if options.create is None else "with --create"
            reject_idle(shown, condition, "it is an option of the other use of this command")
    for name in () if options.charts else _OF_CHARTS:
        if name in options.given:
            reject_idle(_NAMES.get(name, f"--{name}"), "without --chart", "it is about charts")
    for name in () if options.from_run else _OF_DECISIONS:
        if name in options.given:
            shown = _NAMES.get(name, f"--{name}")
            reject_idle(shown, "without --from-run", "it is about decisions")
    if (options.from_run is None) != (not options.decision):
        raise typer.BadParameter("needs --from-run RUN and --decision POD.", param_hint="--create")
    if options.create is not None and bool(options.files) == bool(options.decision):
        raise typer.BadParameter("specify FILE, or --from-run and --decision.", param_hint="FILE")
    if not options.files and options.create is None:
        raise typer.BadParameter("specify a scenario.", param_hint="SCENARIO")
    from podwright.cli.recorded.check_run import run_check, run_create

    return run_check(options) if options.create is None else run_create(options)


@command(
    examples=[
        "podwright convert examples/quickstart -o kss",
        "podwright convert examples/quickstart -o record --start 2026-03-02T10:11:12Z",
    ]
)
def convert(options: ConvertOptions) -> None:
    """Convert a cluster to manifests, a snapshot or a record of changes.

    The command reads the files that other commands read, and records of changes. A record is
    converted to the cluster at its end, or at the time --at. A cluster is converted to a record
    that adds all objects at --start; pods of openb tables are added and deleted at their times.

    Objects that the output format does not support are omitted and reported on stderr.
    """
    if "start" in options.given and options.output != "record":
        reject_idle("--start", f"with --output {options.output}", "only records have times")
    from podwright.cli.recorded.convert_run import run_convert

    run_convert(options)


run = command_group("Show a recorded run at one time, or step through its events.")


@run.command(
    examples=[
        "podwright run show RUN",
        "podwright run show RUN --at 5m",
        "podwright run show RUN --at 2026-01-01T00:01:00Z -o json",
    ]
)
def show(options: RunShowOptions) -> None:
    """Show the cluster and the scheduling queue at a time of a run; by default, at its end.

    The output has a summary, the most utilized nodes, and the pods of each subqueue in the
    order in which they leave it, with the number of attempts, the age in the subqueue and the
    plugins that each pod waits for. Long lists are truncated; -o wide, json and yaml show
    everything, including the other pods.
    """
    from podwright.cli.recorded.run_show import run_show

    run_show(options)


@run.command(examples=["podwright run step RUN --at 1m < /dev/null"])
def step(options: RunStepOptions) -> None:
    """Step through the events of a run, forward and backward.

    Reads commands, one per line: n (or an empty line) steps to the next event, b to the
    previous one, c to the next cycle, C to the previous cycle, "/ POD" to the next event of a
    pod, "g 42" or "g 10m" to an event or a time; e explains the cycle, s shows the queue,
    q quits, ? lists all commands.
    """
    from podwright.cli.recorded.run_step import run_step

    run_step(options)


@command(examples=["podwright report RUN --out report.html"])
def report(options: ReportOptions) -> None:
    """Write a run as one HTML file that shows it in a browser, without a server.

    The file has the views of the web page: nodes, pending pods, the time bar, and explanations of
    pods. It has at most 64 MiB; a larger one is not written.
    """
    from podwright.cli.recorded.report_run import run_report

    run_report(options)
