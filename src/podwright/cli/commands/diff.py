"""`podwright diff`: the options."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from podwright.cli.options import (
    Config,
    ExitZero,
    Gates,
    Hpa,
    HpaReplicas,
    Offset,
    OffsetName,
    OpenbGpus,
    Plugins,
    Seed,
    Setup,
    TieRuleName,
    Ties,
    command_app,
    examples,
    given_on,
)

app = command_app()


class DiffFormat(StrEnum):
    """The output formats of differences."""

    table = "table"
    wide = "wide"
    json = "json"
    yaml = "yaml"
    name = "name"


_OF_SCENARIOS = {
    "config": "--config", "to_config": "--to-config", "to_plugin": "--to-plugin",
    "seed": "--seed", "to_seed": "--to-seed", "feature_gates": "--feature-gates",
    "to_feature_gates": "--to-feature-gates", "tie_rule": "--tie-rule",
    "preemption_offset": "--preemption-offset", "from_files": "--from", "to_files": "--to",
    "reschedule": "--reschedule", "reasons": "--reasons", "openb_gpus": "--openb-gpus",
    "hpa": "--hpa",
}  # fmt: skip
"""The options that have no effect on recorded runs."""
_CHANGING = ("to_config", "to_plugin", "to_seed", "to_feature_gates", "from_files", "to_files")
"""The options that make the two sides different."""


@app.command(
    epilog=examples(
        "podwright diff examples/quickstart --to-config examples/diff/packed.yaml --exit-zero",
        "podwright diff examples/quickstart --to-seed 1 --reschedule -o wide --exit-zero",
        "podwright diff RUN RUN",
    )
)
def diff(  # noqa: PLR0913, PLR0917 - the options of the command
    ctx: typer.Context,
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILE",
            help="Manifests, dumps or snapshots of both sides; folders of them; - for stdin. Or "
            "the folders of two runs.",
            show_default=False,
        ),
    ] = None,
    from_files: Annotated[
        list[str] | None,
        typer.Option("--from", metavar="FILE", help="Objects of the first side only. Repeatable."),
    ] = None,
    to_files: Annotated[
        list[str] | None,
        typer.Option("--to", metavar="FILE", help="Objects of the second side only. Repeatable."),
    ] = None,
    config: Config = None,
    to_config: Annotated[
        list[Path] | None,
        typer.Option(
            "--to-config",
            metavar="FILE",
            help="The configuration of the second side. Repeatable: all are compared with the "
            "first side, in one table.",
        ),
    ] = None,
    plugin: Plugins = None,
    to_plugin: Annotated[
        list[Path] | None,
        typer.Option(
            "--to-plugin", metavar="FILE", help="The plugins of the second side. Repeatable."
        ),
    ] = None,
    seed: Seed = 0,
    to_seed: Annotated[
        int | None,
        typer.Option("--to-seed", metavar="NUMBER", help="The seed of the second side."),
    ] = None,
    feature_gates: Gates = "",
    to_feature_gates: Annotated[
        str | None,
        typer.Option(
            "--to-feature-gates",
            metavar="GATES",
            help="The feature gates of the second side.",
        ),
    ] = None,
    tie_rule: Ties = TieRuleName.drawn,
    preemption_offset: Offset = OffsetName.drawn,
    openb_gpus: OpenbGpus = None,
    hpa: Hpa = HpaReplicas.min,
    reschedule: Annotated[
        bool,
        typer.Option(
            "--reschedule",
            help="Schedule the pods on nodes again too, except pods of daemon sets, mirror pods "
            "and terminating pods.",
        ),
    ] = False,
    reasons: Annotated[
        int,
        typer.Option(
            "--reasons",
            metavar="NUMBER",
            min=0,
            help="Find the reasons of this many pods that differ, the first ones.",
        ),
    ] = 500,
    output: Annotated[
        DiffFormat,
        typer.Option("--output", "-o", help="Output format. name: the keys of pods that differ."),
    ] = DiffFormat.table,
    exit_zero: ExitZero = False,
) -> None:
    """Compare where the pods of two configurations or two runs are placed.

    Each side schedules the pending pods of the same files on its own. An option with --to-
    replaces that option on the second side; --from and --to add files to one side. For each pod
    that is placed differently, the output shows what each side has against the node of the
    other: the filter that rejects it, or the score differences. Emptied nodes, utilization and
    its spread over the nodes follow. With several configurations, the output shows where each
    places the pods that differ, and the figures of each.

    Exit status 1 if anything differs.
    """
    from podwright.cli.decisions.diff_run import run_diff, run_diff_of_runs, runs_among

    given = given_on(ctx)
    runs = runs_among(files or ())
    if runs:
        for name in sorted(given & _OF_SCENARIOS.keys()):
            raise typer.BadParameter(
                "has no effect with the folders of two runs.", param_hint=f"'{_OF_SCENARIOS[name]}'"
            )
        is_same = run_diff_of_runs(*runs, plugins=plugin or (), output=output.value)
    else:
        if not given & set(_CHANGING):
            raise typer.BadParameter(
                "the two sides are equal: give --to-config, --to-plugin, --to-seed,"
                " --to-feature-gates, or --from and --to, or the folders of two runs.",
                param_hint="'FILE'",
            )
        sides = [[*(files or ()), *(from_files or ())], [*(files or ()), *(to_files or ())]]
        if not all(sides):
            raise typer.BadParameter("are required on both sides.", param_hint="'FILE'")
        if sides[0] != sides[1] and "-" in sides[0] and "-" in sides[1]:
            raise typer.BadParameter("'-' can be given once.", param_hint="'FILE'")
        before = Setup(
            config=config,
            plugins=tuple(plugin or ()),
            seed=seed,
            tie_rule=tie_rule,
            preemption_offset=preemption_offset,
            feature_gates=feature_gates,
            openb_gpus=openb_gpus,
            hpa=hpa,
            given=given,
        )
        after = replace(
            before,
            plugins=before.plugins if to_plugin is None else tuple(to_plugin),
            seed=seed if to_seed is None else to_seed,
            feature_gates=feature_gates if to_feature_gates is None else to_feature_gates,
        )
        is_same = run_diff(
            (sides[0], sides[1]),
            before,
            [replace(after, config=each) for each in to_config or (config,)],
            reschedule=reschedule,
            reasons=reasons,
            output=output.value,
        )
    if not is_same and not exit_zero:
        raise typer.Exit(1)
