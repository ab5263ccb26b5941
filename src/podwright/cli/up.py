"""`podwright up`: the options."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from podwright.cli.options import (
    Gates,
    Offset,
    OffsetName,
    Plugins,
    Seed,
    Setup,
    TieRuleName,
    Ties,
    Validate,
    ValidationName,
    command_app,
    examples,
    given_on,
    reject_idle,
)

if TYPE_CHECKING:
    from podwright.apiserver import BreakCondition, LatencyRule
    from podwright.cli.up_page import PageOptions
    from podwright.cli.up_sync import Filling, ReplayPace

app = command_app()

DEFAULT_PORT = 8180


def _ip_address(text: str) -> str:
    """Read an IP address; `localhost` is the one of IPv4."""
    try:
        return str(ipaddress.ip_address("127.0.0.1" if text == "localhost" else text))
    except ValueError:
        raise typer.BadParameter(f'"{text}" is not an IP address, such as 127.0.0.1.') from None


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
def up(  # noqa: PLR0913, PLR0917 - the options of the command
    ctx: typer.Context,
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILE",
            help="Manifests, dumps or snapshots of the initial objects; folders of them; - for "
            "stdin.",
            show_default=False,
        ),
    ] = None,
    snapshot: Annotated[
        Path | None,
        typer.Option(
            "--snapshot",
            metavar="FILE",
            help="A snapshot of the initial objects, of kube-scheduler-simulator or podwright.",
        ),
    ] = None,
    events: Annotated[
        list[Path] | None,
        typer.Option(
            "--events",
            "-e",
            metavar="FILE",
            help="Events to apply while the cluster runs, as for simulate: a record of changes, "
            'or lines such as {"at": "10m", "drain": "node-1"}. Repeatable.',
        ),
    ] = None,
    imported: Annotated[
        str,
        typer.Option(
            "--import",
            metavar="CLUSTER",
            help="Read the initial objects of another cluster, as podwright import: cluster:, that "
            "of the current context; cluster:CONTEXT; or an address that needs no credentials.",
            show_default=False,
        ),
    ] = "",
    sync: Annotated[
        str,
        typer.Option(
            "--sync",
            metavar="CLUSTER",
            help="Follow another cluster, named as for --import: its changes are mirrored, and new "
            "pods are scheduled here, as with podwright sync.",
            show_default=False,
        ),
    ] = "",
    sync_policy: Annotated[
        list[str] | None,
        typer.Option(
            "--sync-policy",
            metavar="POLICY",
            help="With --sync: an option of podwright sync, such as bound=none, pod-status, "
            "follow-labels or exclude-running. Repeatable.",
            show_default=False,
        ),
    ] = None,
    replay: Annotated[
        Path | None,
        typer.Option(
            "--replay",
            metavar="FILE",
            exists=True,
            dir_okay=False,
            help="Apply a record of changes while the cluster runs, as podwright replay; --speed "
            "is its pace.",
            show_default=False,
        ),
    ] = None,
    immediate: Annotated[
        bool,
        typer.Option(
            "--immediate",
            help="With --replay: apply one change after the other, without waiting.",
        ),
    ] = False,
    step: Annotated[
        bool,
        typer.Option(
            "--step",
            help="With --replay: print each change, and apply it when a line is entered.",
        ),
    ] = False,
    demo: Annotated[
        bool,
        typer.Option("--demo", help="Create an example cluster with a pending pod."),
    ] = False,
    nodes: Annotated[
        int,
        typer.Option("--nodes", metavar="NUMBER", min=0, help="Create this many equal nodes."),
    ] = 0,
    port: Annotated[
        int,
        typer.Option("--port", metavar="PORT", min=0, max=65535, help="0: any free port."),
    ] = DEFAULT_PORT,
    address: Annotated[
        str,
        typer.Option(
            "--address",
            metavar="IP",
            parser=_ip_address,
            help="The IP address to serve. One that other machines reach needs --tls.",
        ),
    ] = "127.0.0.1",
    tls: Annotated[
        bool,
        typer.Option(
            "--tls",
            help="Serve over TLS, with certificates that are made once and kept. Needs "
            "podwright[tls].",
        ),
    ] = False,
    tls_san: Annotated[
        list[str] | None,
        typer.Option(
            "--tls-san",
            metavar="NAME",
            help="A further name or address in the certificate. Repeatable.",
        ),
    ] = None,
    tls_cert: Annotated[
        Path | None,
        typer.Option(
            "--tls-cert",
            metavar="FILE",
            help="The server's own certificate and its chain, in PEM; with --tls-key.",
        ),
    ] = None,
    tls_key: Annotated[
        Path | None,
        typer.Option("--tls-key", metavar="FILE", help="The key of --tls-cert, in PEM."),
    ] = None,
    kubeconfig: Annotated[
        Path | None,
        typer.Option(
            "--kubeconfig",
            metavar="FILE",
            help="Where to write the kubeconfig. Defaults to podwright.kubeconfig in the current "
            "folder.",
            show_default=False,
        ),
    ] = None,
    db: Annotated[
        Path | None,
        typer.Option(
            "--db",
            metavar="FILE",
            help="Keep the objects in this file, and continue from it. In memory without it.",
            show_default=False,
        ),
    ] = None,
    record: Annotated[
        Path | None,
        typer.Option(
            "--record",
            metavar="FILE",
            help="Write all changes to this new file, as a record for podwright shadow.",
            show_default=False,
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
        ),
    ] = None,
    annotate_results: Annotated[
        bool,
        typer.Option(
            "--annotate-results",
            help="Store the results of each scheduling attempt, and their history, as annotations "
            "of the pods, as kube-scheduler-simulator does.",
        ),
    ] = False,
    speed: Annotated[
        float,
        typer.Option(
            "--speed", metavar="FACTOR", help="How many seconds of the cluster a real second is."
        ),
    ] = 1.0,
    log_events: Annotated[
        int | None,
        typer.Option(
            "--log-events",
            metavar="NUMBER",
            min=1_000,
            help="How many of the scheduler's last events, at least, decisions are explained from. "
            "Memory holds up to twice as many. Defaults to 500000.",
            show_default=False,
        ),
    ] = None,
    timeline: Annotated[
        bool,
        typer.Option(
            "--timeline/--no-timeline",
            help="Collect the timeline while the cluster runs, so that it needs no replay. Costs "
            "up to a tenth of the scheduler's time.",
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
        ),
    ] = None,
    plugin: Plugins = None,
    seed: Seed = 0,
    tie_rule: Ties = TieRuleName.drawn,
    preemption_offset: Offset = OffsetName.drawn,
    feature_gates: Gates = "",
    validate: Validate = ValidationName.strict,
    has_scheduler: Annotated[
        bool,
        typer.Option("--scheduler/--no-scheduler", help="Whether podwright schedules the pods."),
    ] = True,
    has_controllers: Annotated[
        bool,
        typer.Option("--controllers/--no-controllers", help="Whether podwright's controllers run."),
    ] = True,
    has_lifecycle: Annotated[
        bool,
        typer.Option("--lifecycle/--no-lifecycle", help="Whether podwright simulates kubelets."),
    ] = True,
    kss_port: Annotated[
        int | None,
        typer.Option(
            "--kss-port",
            metavar="PORT",
            min=0,
            max=65535,
            help="Serve the HTTP API of kube-scheduler-simulator on this port of 127.0.0.1 as "
            "well. 0: any free port.",
            show_default=False,
        ),
    ] = None,
    kss_config: Annotated[
        Path | None,
        typer.Option(
            "--kss-config",
            metavar="FILE",
            help="Read a SimulatorConfiguration of kube-scheduler-simulator, and its environment "
            "variables. Options of the command line override it.",
            show_default=False,
        ),
    ] = None,
    cors_origin: Annotated[
        list[str] | None,
        typer.Option(
            "--cors-origin",
            metavar="ORIGIN",
            help="Let pages of this origin use the APIs, for example http://localhost:3000. "
            "May be repeated.",
            show_default=False,
        ),
    ] = None,
    allow_extender: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-extender",
            metavar="HOST",
            help="Let a configuration that is sent over HTTP name extenders on this host, with a "
            "port or without. May be repeated.",
            show_default=False,
        ),
    ] = None,
    api_latency: Annotated[
        list[str] | None,
        typer.Option(
            "--api-latency",
            metavar="[VERB[:RESOURCE]=]DURATION",
            help="Delay the requests of clients, for example 50ms, list=1s or create:pods=200ms. "
            "Repeatable; the last one that matches a request applies.",
            show_default=False,
        ),
    ] = None,
    reload: Annotated[
        bool,
        typer.Option(
            "--reload", help="Load the files of --plugin anew when they change, and go on."
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
        ),
    ] = None,
    has_page: Annotated[
        bool,
        typer.Option("--ui/--no-ui", help="Whether to serve the web page on 127.0.0.1 as well."),
    ] = True,
    ui_port: Annotated[
        int | None,
        typer.Option(
            "--ui-port",
            metavar="PORT",
            min=0,
            max=65535,
            help="The port of the page. Defaults to 8181, or any free one if that is in use.",
            show_default=False,
        ),
    ] = None,
    is_opened: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    bare: Annotated[
        bool,
        typer.Option(
            "--bare",
            help="Only the API server: no scheduler, controllers or kubelets, and the tokens of "
            "the recorded API exchanges.",
        ),
    ] = False,
) -> None:
    """Run a cluster that speaks the Kubernetes API, until it is interrupted.

    The command serves the API on 127.0.0.1, writes a kubeconfig with a token, schedules pods, and
    simulates the controllers and the kubelets.
    """
    from podwright.apiserver import SPEED_MAX, SPEED_MIN
    from podwright.cli.up_address import AddressOptions
    from podwright.cli.up_inputs import DEMO
    from podwright.cli.up_run import UpOptions, run_up
    from podwright.cli.up_simulator import SimulatorOptions, read_simulator_file

    given = given_on(ctx)
    if allow_extender and (bare or not has_scheduler):
        reject_idle(
            "--allow-extender",
            f"with --{'bare' if bare else 'no-scheduler'}",
            "podwright calls no extenders",
        )
    simulator = SimulatorOptions(
        port=kss_port,
        origins=_origins(cors_origin or ()),
        allowed_hosts=_extender_hosts(allow_extender or ()),
    )
    event_paths, configs = list(events or ()), list(config or ())
    if kss_config is not None:
        read = read_simulator_file(kss_config, simulator)
        simulator = read.options
        if not configs and read.scheduler_configuration is not None:
            configs.append(read.scheduler_configuration)
        if "port" not in given and read.kubernetes_port is not None:
            port = read.kubernetes_port
        if read.record is not None:
            event_paths.append(read.record)
    if bare:
        for name, option in _PARTS.items():
            if name in given:
                reject_idle(option, "with --bare", "none of these parts runs")
    runs_scheduler = has_scheduler and not bare
    if not runs_scheduler:
        reason = f"with --{'bare' if bare else 'no-scheduler'}"
        _reject_idle_decisions(
            reason,
            log_events,
            breakpoints or (),
            annotates=annotate_results,
            timeline="timeline" in given,
        )
        if len(configs) > 1:
            reject_idle("--config", f"more than once {reason}", "podwright schedules no pods")
    _check_reload(plugin or (), has_reload=reload, has_scheduler=runs_scheduler)
    _check_shadow(shadow, record, has_scheduler=runs_scheduler)
    has_tls = tls or tls_cert is not None or tls_key is not None
    _check_address(ctx, address, has_tls=has_tls, is_bare=bare)
    pace = _pace(replay, files or (), immediate=immediate, step=step)
    filling = _filling(
        imported, sync, sync_policy or (), replay, pace, is_shadow=shadow is not None
    )
    page = _page_options(given, has_page=has_page, port=ui_port, is_opened=is_opened, is_bare=bare)
    setup = Setup(
        config=configs[0] if configs else None,
        plugins=tuple(plugin or ()),
        seed=seed,
        tie_rule=tie_rule,
        preemption_offset=preemption_offset,
        feature_gates=feature_gates,
        validate=validate,
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
        files=(
            *(files or ()),
            *(() if snapshot is None else (str(snapshot),)),
            *((DEMO,) if demo else ()),
            *((_cluster_file(imported),) if imported else ()),
        ),
        filling=filling,
        events=tuple(map(str, event_paths)),
        simulator=simulator,
        more_configs=tuple(configs[1:]),
        is_demo=demo,
        nodes=nodes,
        port=port,
        address=AddressOptions(
            host=address,
            has_tls=has_tls,
            certificate=tls_cert,
            key=tls_key,
            names=tuple(tls_san or ()),
        ),
        kubeconfig=kubeconfig or Path("podwright.kubeconfig"),
        db=db,
        record=record,
        runs=runs,
        shadow=shadow,
        annotates_results=annotate_results,
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
_OF_THE_PAGE = {"has_page": "--ui", "ui_port": "--ui-port", "is_opened": "--open"}


def _page_options(
    given: frozenset[str], *, has_page: bool, port: int | None, is_opened: bool, is_bare: bool
) -> PageOptions:
    """Read the options of the page."""
    from podwright.cli.up_page import PageOptions

    if is_bare or not has_page:
        for name, option in _OF_THE_PAGE.items():
            if name in given and (has_page or name != "has_page"):
                reason = f"with --{'bare' if is_bare else 'no-ui'}"
                reject_idle(option, reason, "the page is not served")
    return PageOptions(
        is_served=has_page and not is_bare,
        port=port,
        is_opened=is_opened,
        is_demanded=not given.isdisjoint(_OF_THE_PAGE),
    )


def _cluster_file(name: str) -> str:
    """Return a cluster as it is named among files."""
    from podwright.cli.cluster_options import CLUSTER_PREFIX

    return name if name.startswith(CLUSTER_PREFIX) else f"{CLUSTER_PREFIX}{name}"


def _filling(
    imported: str,
    source: str,
    policies: Sequence[str],
    replay: Path | None,
    pace: ReplayPace,
    *,
    is_shadow: bool,
) -> Filling:
    """Read what fills the cluster; it has one source."""
    from podwright.cli.up_sync import Filling, read_policies

    if policies and not source:
        reject_idle("--sync-policy", "without --sync", "no cluster is followed")
    if source and imported:
        reject_idle("--import", "with --sync", "the objects are read anyway")
    if source and replay is not None:
        raise typer.BadParameter("cannot be combined with --sync.", param_hint="'--replay'")
    for name, option in ((imported, "--import"), (source, "--sync")):
        if name and not name.startswith("cluster:") and "://" not in name:
            raise typer.BadParameter(
                f'"{name}" must be cluster:, cluster:CONTEXT or an address such as '
                "http://127.0.0.1:8001.",
                param_hint=f"'{option}'",
            )
    # What is compared is the source's choice, in the source's state.
    implied = ("bound=source", "pod-status") if is_shadow and source else ()
    found = read_policies((*implied, *policies))
    return Filling(source=source, policies=found, replay=replay, pace=pace)


def _pace(replay: Path | None, files: Sequence[str], *, immediate: bool, step: bool) -> ReplayPace:
    """Read what the changes of a record wait for."""
    from podwright.cli.up_sync import ReplayPace

    for is_given, option in ((immediate, "--immediate"), (step, "--step")):
        if is_given and replay is None:
            reject_idle(option, "without --replay", "no record is applied")
    if immediate and step:
        raise typer.BadParameter("cannot be combined with --step.", param_hint="'--immediate'")
    if step and "-" in files:
        raise typer.BadParameter(
            "cannot be combined with a file from stdin.", param_hint="'--step'"
        )
    if step:
        return ReplayPace.steps
    return ReplayPace.immediate if immediate else ReplayPace.recorded


def _origins(texts: Sequence[str]) -> tuple[str, ...]:
    """Check the origins of --cors-origin."""
    from podwright.cli.up_simulator import is_origin

    for text in texts:
        if not is_origin(text):
            message = f'"{text}" is not an origin, such as http://localhost:3000.'
            raise typer.BadParameter(message, param_hint="'--cors-origin'")
    return tuple(texts)


def _extender_hosts(texts: Sequence[str]) -> tuple[str, ...]:
    """Check the hosts of --allow-extender."""
    if "" in texts:
        raise typer.BadParameter("must not be empty.", param_hint="'--allow-extender'")
    return tuple(texts)


def _latency(texts: Sequence[str]) -> tuple[LatencyRule, ...]:
    """Read the rules of --api-latency."""
    from podwright.apiserver import read_latency_rule

    try:
        return tuple(map(read_latency_rule, texts))
    except ValueError as error:
        raise typer.BadParameter(f"{error}.", param_hint="'--api-latency'") from None


def _conditions(texts: Sequence[str]) -> tuple[BreakCondition, ...]:
    """Read the conditions of --break."""
    from podwright.apiserver import read_condition

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


def _check_shadow(shadow: Path | None, record: Path | None, *, has_scheduler: bool) -> None:
    """Reject a shadow of podwright's own decisions, and a second record."""
    if shadow is not None and record is not None:
        reject_idle("--record", "with --shadow", "the folder gets a record")
    if shadow is not None and has_scheduler:
        raise typer.BadParameter(
            "requires --no-scheduler: another scheduler makes the decisions.",
            param_hint="'--shadow'",
        )


def _check_address(ctx: typer.Context, address: str, *, has_tls: bool, is_bare: bool) -> None:
    """Reject an address that others reach without protection, and options without effect."""
    given = given_on(ctx)
    if ("tls_cert" in given) != ("tls_key" in given):
        raise typer.BadParameter("must be given together.", param_hint="'--tls-cert', '--tls-key'")
    if "tls_san" in given and "tls_cert" in given:
        reject_idle("--tls-san", "with --tls-cert", "that certificate has its names")
    if "tls_san" in given and not has_tls:
        reject_idle("--tls-san", "without --tls", "there is no certificate")
    if ipaddress.ip_address(address).is_loopback:
        return
    if not has_tls:
        raise typer.BadParameter(
            f"other machines reach {address}, so it is served over TLS only: add --tls.",
            param_hint="'--address'",
        )
    if is_bare:
        raise typer.BadParameter(
            f"the tokens of --bare are known, so it is served on loopback only, not on {address}.",
            param_hint="'--address'",
        )
