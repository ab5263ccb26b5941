"""`podwright up`: the options."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from podwright.cli.clusters.cluster_options import SelectionOptions
from podwright.cli.options import (
    DecisionOptions,
    Plugins,
    Setup,
    command_app,
    examples,
    given_on,
    reject_idle,
    size_in_bytes,
)
from podwright.cli.serving.up_input_options import InputOptions
from podwright.cli.serving.up_kss_options import KssOptions
from podwright.cli.serving.up_serving_options import ServingOptions
from podwright.cli.serving.up_ui_options import UiOptions

if TYPE_CHECKING:
    from podwright.online.apiserver import BreakCondition, LatencyRule

app = command_app()


@app.command(
    epilog=examples(
        "podwright up --nodes 3",
        "podwright up examples/quickstart --db cluster.db",
        "podwright up --demo",
        "podwright up examples/simulate --events examples/simulate/day.jsonl --speed 60",
        "podwright up --nodes 3 --tls",
        "podwright up --nodes 3 --kss-port 1212",
        "podwright up --nodes 3 --no-scheduler --record record.jsonl",
    )
)
def up(  # noqa: PLR0913 - the options of the command
    ctx: typer.Context,
    *,
    inputs: InputOptions,
    selection: SelectionOptions,
    serving: ServingOptions,
    kubeconfig: Annotated[
        Path | None,
        typer.Option(
            "--kubeconfig",
            metavar="FILE",
            help="Where to write the kubeconfig. Defaults to podwright.kubeconfig in the current "
            "folder.",
            show_default=False,
            rich_help_panel="Files",
        ),
    ] = None,
    db: Annotated[
        Path | None,
        typer.Option(
            "--db",
            metavar="FILE",
            help="Keep the objects in this file, and continue from it. In memory without it.",
            show_default=False,
            rich_help_panel="Files",
        ),
    ] = None,
    record: Annotated[
        Path | None,
        typer.Option(
            "--record",
            metavar="FILE",
            help="Write all changes to this new file, as a record for podwright shadow.",
            show_default=False,
            rich_help_panel="Files",
        ),
    ] = None,
    record_rotate: Annotated[
        int | None,
        typer.Option(
            "--record-rotate",
            metavar="SIZE",
            parser=size_in_bytes,
            help="Continue the record in another file, FILE-2 and so on, when one is as large, "
            "such as 100Mi. Each is a record by itself.",
            show_default=False,
            rich_help_panel="Files",
        ),
    ] = None,
    record_keep: Annotated[
        int | None,
        typer.Option(
            "--record-keep",
            metavar="NUMBER",
            min=1,
            help="With --record-rotate: the most files to keep; the oldest is deleted.",
            show_default=False,
            rich_help_panel="Files",
        ),
    ] = None,
    runs: Annotated[
        Path | None,
        typer.Option(
            "--runs",
            metavar="FOLDER",
            exists=True,
            file_okay=False,
            help="List, download and delete the runs in this folder over HTTP, at "
            "/podwright/v1/runs.",
            show_default=False,
            rich_help_panel="Files",
        ),
    ] = None,
    shadow: Annotated[
        Path | None,
        typer.Option(
            "--shadow",
            metavar="FOLDER",
            help="Compare the decisions of another scheduler with podwright's; with "
            "--no-scheduler. The record and the agreement are written to this folder.",
            show_default=False,
            rich_help_panel="Files",
        ),
    ] = None,
    annotate_results: Annotated[
        bool | None,
        typer.Option(
            "--annotate-results/--no-annotate-results",
            help="Store the results of each scheduling attempt, and their history, as annotations "
            "of the pods, as kube-scheduler-simulator does. The default with its API (--kss-port).",
            show_default=False,
            rich_help_panel="Decisions",
        ),
    ] = None,
    speed: Annotated[
        float,
        typer.Option(
            "--speed",
            metavar="FACTOR",
            help="How many seconds of the cluster a real second is.",
            rich_help_panel="Simulation",
        ),
    ] = 1.0,
    log_events: Annotated[
        int | None,
        typer.Option(
            "--log-events",
            metavar="NUMBER",
            min=1_000,
            help="How many of the scheduler's last events, at least, decisions are explained from. "
            "Memory holds up to twice as many. Defaults to 500000, or 12 MiB of them if these are "
            "fewer.",
            show_default=False,
            rich_help_panel="Decisions",
        ),
    ] = None,
    timeline: Annotated[
        bool,
        typer.Option(
            "--timeline/--no-timeline",
            help="Collect the timeline while the cluster runs, so that it needs no replay. Costs "
            "up to a tenth of the scheduler's time.",
            rich_help_panel="Decisions",
        ),
    ] = True,
    config: Annotated[
        list[Path] | None,
        typer.Option(
            "--config",
            "-c",
            metavar="FILE",
            help="A KubeSchedulerConfiguration. Defaults to the one among the files, if any. "
            "Repeatable: each further file adds a scheduler for pods of other schedulerNames.",
            show_default=False,
            rich_help_panel="Decisions",
        ),
    ] = None,
    plugin: Plugins = None,
    decisions: DecisionOptions,
    has_scheduler: Annotated[
        bool,
        typer.Option(
            "--scheduler/--no-scheduler",
            help="Whether podwright schedules the pods.",
            rich_help_panel="Simulation",
        ),
    ] = True,
    has_controllers: Annotated[
        bool,
        typer.Option(
            "--controllers/--no-controllers",
            help="Whether podwright's controllers run.",
            rich_help_panel="Simulation",
        ),
    ] = True,
    has_lifecycle: Annotated[
        bool,
        typer.Option(
            "--lifecycle/--no-lifecycle",
            help="Whether podwright simulates kubelets.",
            rich_help_panel="Simulation",
        ),
    ] = True,
    kss: KssOptions,
    api_latency: Annotated[
        list[str] | None,
        typer.Option(
            "--api-latency",
            metavar="[VERB[:RESOURCE]=]DURATION",
            help="Delay the requests of clients, for example 50ms, list=1s or create:pods=200ms. "
            "Repeatable; the last one that matches a request applies.",
            show_default=False,
            rich_help_panel="Serving",
        ),
    ] = None,
    reload: Annotated[
        bool,
        typer.Option(
            "--reload",
            help="Reload the files of --plugin when they change.",
            rich_help_panel="Decisions",
        ),
    ] = False,
    breakpoints: Annotated[
        list[str] | None,
        typer.Option(
            "--break",
            metavar="CONDITION",
            help="Stop after each scheduling cycle that matches, for example pod=default/web, "
            "label=app=web, plugin=NAME or on=error; as for podwright debug break. Repeatable.",
            show_default=False,
            rich_help_panel="Decisions",
        ),
    ] = None,
    ui: UiOptions,
    bare: Annotated[
        bool,
        typer.Option(
            "--bare",
            help="Only the API server: no scheduler, controllers or kubelets, and the tokens of "
            "the recorded API exchanges.",
            rich_help_panel="Simulation",
        ),
    ] = False,
) -> None:
    """Run a cluster that speaks the Kubernetes API, until it is interrupted.

    The command serves the API on 127.0.0.1, writes a kubeconfig with a token, schedules pods, and
    simulates the controllers and the kubelets.
    """
    from podwright.cli.serving.up_run import UpOptions, run_up
    from podwright.cli.serving.up_simulator import read_simulator_file
    from podwright.online.apiserver import SPEED_MAX, SPEED_MIN

    given = given_on(ctx)
    if kss.allow_extender and (bare or not has_scheduler):
        reject_idle(
            "--allow-extender",
            f"with --{'bare' if bare else 'no-scheduler'}",
            "podwright calls no extenders",
        )
    simulator = kss.simulator_options()
    configs = list(config or ())
    if kss.kss_config is not None:
        read = read_simulator_file(kss.kss_config, simulator, inputs, selection)
        simulator, inputs, selection = read.options, read.inputs, read.selection
        if not configs and read.scheduler_configuration is not None:
            configs.append(read.scheduler_configuration)
        if "port" not in given and read.kubernetes_port is not None:
            serving = replace(serving, port=read.kubernetes_port)
    if bare:
        for name, option in _PARTS.items():
            if name in given:
                reject_idle(option, "with --bare", "none of these parts runs")
    inputs.check_images(is_bare=bare, has_lifecycle=has_lifecycle)
    runs_scheduler = has_scheduler and not bare
    if not runs_scheduler:
        reason = f"with --{'bare' if bare else 'no-scheduler'}"
        _reject_idle_decisions(
            reason,
            log_events,
            breakpoints or (),
            annotates=bool(annotate_results),
            timeline="timeline" in given,
        )
        if len(configs) > 1:
            reject_idle("--config", f"more than once {reason}", "podwright schedules no pods")
    _check_reload(plugin or (), has_reload=reload, has_scheduler=runs_scheduler)
    _check_shadow(shadow, record, has_scheduler=runs_scheduler)
    _check_rotation(record, record_rotate, record_keep)
    serving.check(given, is_bare=bare)
    filling = inputs.filling(selection, is_shadow=shadow is not None)
    page = ui.page_options(given, is_bare=bare)
    setup = Setup(
        config=configs[0] if configs else None,
        plugins=tuple(plugin or ()),
        **decisions.values(),
        given=given,
        seeds_names=True,
    )
    if not SPEED_MIN <= speed <= SPEED_MAX:
        message = f"must be a number from {SPEED_MIN:g} to {SPEED_MAX:g}."
        raise typer.BadParameter(message, param_hint="'--speed'")
    options = UpOptions(
        latency=_latency(api_latency or ()),
        breakpoints=_conditions(breakpoints or ()),
        has_reload=reload,
        files=inputs.names(),
        images=tuple(inputs.images or ()),
        filling=filling,
        events=tuple(map(str, inputs.events or ())),
        simulator=simulator,
        more_configs=tuple(configs[1:]),
        is_demo=inputs.demo,
        nodes=inputs.nodes,
        has_storage_class=inputs.default_storage_class,
        serving=serving,
        kubeconfig=kubeconfig or Path("podwright.kubeconfig"),
        db=db,
        record=record,
        record_bytes=record_rotate or 0,
        record_files=record_keep or 0,
        runs=runs,
        shadow=shadow,
        annotates_results=(
            runs_scheduler and simulator.port is not None
            if annotate_results is None
            else annotate_results
        ),
        speed=speed,
        log_events=log_events,
        keeps_timelines=runs_scheduler and timeline,
        has_scheduler=runs_scheduler,
        has_controllers=has_controllers and not bare,
        has_lifecycle=has_lifecycle and not bare,
        is_bare=bare,
        page=page,
    )
    run_up(options, setup)


_PARTS = {
    "has_scheduler": "--scheduler",
    "has_controllers": "--controllers",
    "has_lifecycle": "--lifecycle",
}


def _latency(texts: Sequence[str]) -> tuple[LatencyRule, ...]:
    """Read the rules of --api-latency."""
    from podwright.online.apiserver import read_latency_rule

    try:
        return tuple(map(read_latency_rule, texts))
    except ValueError as error:
        raise typer.BadParameter(f"{error}.", param_hint="'--api-latency'") from None


def _conditions(texts: Sequence[str]) -> tuple[BreakCondition, ...]:
    """Read the conditions of --break."""
    from podwright.online.apiserver import read_condition

    try:
        return tuple(map(read_condition, texts))
    except ValueError as error:
        raise typer.BadParameter(f"{error}.", param_hint="'--break'") from None


def _reject_idle_decisions(
    reason: str,
    log_events: int | None,
    breakpoints: Sequence[str],
    *,
    annotates: bool,
    timeline: bool,
) -> None:
    """Reject options of decisions where no decisions are made."""
    if log_events is not None:
        reject_idle("--log-events", reason, "no decision is recorded")
    if timeline:
        reject_idle("--timeline", reason, "no decision is recorded")
    if breakpoints:
        reject_idle("--break", reason, "there are no scheduling cycles")
    if annotates:
        reject_idle("--annotate-results", reason, "there are no results")


def _check_reload(plugins: Sequence[Path], *, has_reload: bool, has_scheduler: bool) -> None:
    """Reject the reload of plugins where there is none, or none is called."""
    if has_reload and not plugins:
        reject_idle("--reload", "without --plugin", "there is no file that may change")
    if has_reload and not has_scheduler:
        reject_idle("--reload", "without a scheduler", "no plugin is called")


def _check_rotation(record: Path | None, rotate: int | None, keep: int | None) -> None:
    """Reject the rotation of a record that is not written."""
    if rotate is not None and record is None:
        reject_idle("--record-rotate", "without --record", "nothing is recorded")
    if keep is not None and rotate is None:
        reject_idle("--record-keep", "without --record-rotate", "there is one file")


def _check_shadow(shadow: Path | None, record: Path | None, *, has_scheduler: bool) -> None:
    """Reject a shadow of podwright's own decisions, and a second record."""
    if shadow is not None and record is not None:
        reject_idle("--record", "with --shadow", "the folder gets a record")
    if shadow is not None and has_scheduler:
        raise typer.BadParameter(
            "requires --no-scheduler: another scheduler makes the decisions.",
            param_hint="'--shadow'",
        )
