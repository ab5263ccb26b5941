"""`podwright simulate`: a cluster, and what happens to it, played to the end."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from podwright.cli.options import (
    Config,
    Gates,
    Offset,
    OffsetName,
    Plugins,
    PolicyFile,
    Provider,
    Rules,
    Seed,
    Setup,
    TieRuleName,
    Ties,
    command_app,
    examples,
    given_on,
    refuse_idle,
)

app = command_app()


class SummaryFormat(StrEnum):
    """How the figures are printed."""

    table = "table"
    json = "json"
    yaml = "yaml"


class EndingName(StrEnum):
    """What ends the pods of the openb trace."""

    at_deletion_time = "at-deletion-time"
    after_run_time = "after-run-time"


def _folder(text: str) -> Path:
    """Read the name of a folder; as a `Path`, an empty one would be the folder one is in."""
    if not text:
        raise typer.BadParameter("the name of a folder is expected, not an empty one.")
    return Path(text)


_ALLOWED_WITH_RESUME = {"resume", "output", "exit_zero"}


@app.command(
    epilog=examples(
        "podwright simulate examples/quickstart --exit-zero",
        "podwright simulate examples/simulate --events examples/simulate/day.jsonl --until 24h",
    )
)
def simulate(  # noqa: PLR0913, PLR0917 - the options of the command
    ctx: typer.Context,
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILE",
            help="Manifests, dumps, snapshots, openb tables, KWOK's Stages; folders of them; "
            "- for stdin.",
            show_default=False,
        ),
    ] = None,
    events: Annotated[
        list[Path] | None,
        typer.Option(
            "--events",
            "-e",
            metavar="FILE",
            help="What happens: changes that were recorded, or lines such as "
            '{"at": "10m", "drain": "node-1"}. Repeatable.',
        ),
    ] = None,
    run: Annotated[
        Path | None,
        typer.Option(
            "--run",
            "-o",
            metavar="FOLDER",
            parser=_folder,
            help="Write the run into this folder, which is new.",
        ),
    ] = None,
    resume: Annotated[
        Path | None,
        typer.Option(
            "--resume",
            metavar="FOLDER",
            parser=_folder,
            help="Go on with the run in this folder, which was interrupted.",
        ),
    ] = None,
    until: Annotated[
        str,
        typer.Option(
            "--until",
            metavar="TIME",
            help="When to stop: 24h, or 2026-01-02T00:00:00Z. Without it, when nothing is left to "
            "happen.",
            show_default=False,
        ),
    ] = "",
    start: Annotated[
        str,
        typer.Option(
            "--start",
            metavar="TIME",
            help="When it begins, in simulated time; else when a record begins, or the youngest "
            "object of a dump was made, or 2026-01-01T00:00:00Z.",
            show_default=False,
        ),
    ] = "",
    config: Config = None,
    plugin: Plugins = None,
    rules: Rules = None,
    algorithm_provider: Provider = "",
    policy: PolicyFile = None,
    seed: Seed = 0,
    tie_rule: Ties = TieRuleName.drawn,
    preemption_offset: Offset = OffsetName.drawn,
    feature_gates: Gates = "",
    ending: Annotated[
        EndingName,
        typer.Option(
            "--ending",
            help="What ends pods of the openb trace: their time in the trace, or having run for as "
            "long as there.",
        ),
    ] = EndingName.at_deletion_time,
    sample: Annotated[
        str,
        typer.Option(
            "--sample",
            metavar="DURATION",
            help="The least time between two rows that say how full it is.",
        ),
    ] = "1m",
    checkpoint_events: Annotated[
        int | None,
        typer.Option(
            "--checkpoint-events",
            metavar="NUMBER",
            min=1,
            help="How many events of the scheduler there are between checkpoints, where a run can "
            "be gone on with; else 25,000, or more where there are many objects.",
            show_default=False,
        ),
    ] = None,
    no_tables: Annotated[
        bool, typer.Option("--no-tables", help="Write no tables: without pyarrow.")
    ] = False,
    output: Annotated[
        SummaryFormat, typer.Option("--output", help="How to print the figures.")
    ] = SummaryFormat.table,
    exit_zero: Annotated[
        bool, typer.Option("--exit-zero", help="Exit 0 although pods are left without a node.")
    ] = False,
) -> None:
    """Play a cluster, and what happens to it, to the end.

    Nodes and pods live and end, controllers make pods, the scheduler places them: on a virtual
    clock, as fast as the machine goes. With --run, everything that the scheduler did is in a
    folder, with tables; explain, run show and run step look back at it.

    Exit status 1 if pods are left that have no node, 130 after Ctrl-C: the folder is then good
    to be gone on with. Pods that another scheduler decides for, and pods that wait for a
    scheduling gate, are told but do not count.
    """
    if resume is None and run is None:
        _refuse_without_run(given_on(ctx))
    from podwright.cli.simulate_run import Chosen, run_simulate, run_simulate_again

    if resume is not None:
        _refuse_beside_resume(ctx)
        all_placed = run_simulate_again(resume, output=output.value)
    else:
        if not files and not events:
            raise typer.BadParameter("give files, or --events, or --resume.", param_hint="FILE")
        chosen = Chosen(
            files=tuple(files or ()),
            events=tuple(map(str, events or ())),
            until=until,
            start=start,
            sample=sample,
            ending=ending.name,
            checkpoint_events=checkpoint_events,
            with_tables=not no_tables,
            setup=Setup(
                config=config,
                plugins=tuple(plugin or ()),
                seed=seed,
                tie_rule=tie_rule,
                preemption_offset=preemption_offset,
                feature_gates=feature_gates,
                rules=rules,
                algorithm_provider=algorithm_provider,
                policy=policy,
                given=given_on(ctx),
                seeds_names=True,
            ),
        )
        all_placed = run_simulate(chosen, run, output=output.value)
    if not all_placed and not exit_zero:
        raise typer.Exit(1)


def _refuse_without_run(given: frozenset[str]) -> None:
    """Refuse what is about the folder of a run, if there is none."""
    if "no_tables" in given:
        refuse_idle("--no-tables", "without --run", "tables are written into the folder of a run")
    if "checkpoint_events" in given:
        why = "checkpoints are written into the folder of a run"
        refuse_idle("--checkpoint-events", "without --run", why)


def _refuse_beside_resume(ctx: typer.Context) -> None:
    """Refuse what the run in the folder says already."""
    for param in ctx.command.params:
        source = ctx.get_parameter_source(str(param.name))
        is_given = source is not None and source.name == "COMMANDLINE"
        if is_given and param.name not in _ALLOWED_WITH_RESUME:
            name = param.opts[0] if param.opts[0].startswith("-") else "FILE"
            raise typer.BadParameter(
                "the run in the folder says what it is made of: nothing else can be given.",
                param_hint=f"'{name}'",
            )
