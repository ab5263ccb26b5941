"""`podwright diff`: the options."""

from __future__ import annotations

import typer

from podwright.cli.decisions.options import DiffOptions
from podwright.cli.options import (
    command_app,
)

app = command_app()

_CHANGING = ("to_config", "to_plugin", "to_seed", "to_feature_gates", "from_files", "to_files")
"""The options that make the two sides different."""
_OF_SCENARIOS = {
    **{name: f"--{name.replace('_', '-')}" for name in _CHANGING},
    **{
        name: f"--{name.replace('_', '-')}"
        for name in (
            "config", "seed", "feature_gates", "tie_rule", "preemption_offset", "openb_gpus",
            "hpa", "reschedule", "reasons",
        )
    },
    "from_files": "--from",
    "to_files": "--to",
}  # fmt: skip
"""The options that have no effect on recorded runs."""


@app.command(
    examples=[
        "podwright diff examples/quickstart --to-config examples/diff/packed.yaml --exit-zero",
        "podwright diff examples/quickstart --to-seed 1 --reschedule -o wide --exit-zero",
        "podwright diff RUN RUN",
    ]
)
def diff(options: DiffOptions) -> bool:
    """Compare where the pods of two configurations or two runs are placed.

    Each side schedules the pending pods of the same files on its own. An option with --to-
    replaces that option on the second side; --from and --to add files to one side. For each pod
    that is placed differently, the output shows what each side has against the node of the
    other: the filter that rejects it, or the score differences. Emptied nodes, utilization and
    its spread over the nodes follow. With several configurations, the output shows where each
    places the pods that differ, and the figures of each.

    Exit status 1 if anything differs.
    """
    from podwright.cli.decisions.diff_run import run_diff, runs_among

    files, given = options.files, options.given
    runs = runs_among(files)
    if runs:
        for name in sorted(given & _OF_SCENARIOS.keys()):
            raise typer.BadParameter(
                "has no effect with the folders of two runs.", param_hint=f"'{_OF_SCENARIOS[name]}'"
            )
        from podwright.cli.decisions.diff_recorded import run_diff_of_runs

        return run_diff_of_runs(*runs, options)
    if given.isdisjoint(_CHANGING):
        raise typer.BadParameter(
            "the two sides are equal: give --to-config, --to-plugin, --to-seed,"
            " --to-feature-gates, or --from and --to, or the folders of two runs.",
            param_hint="'FILE'",
        )
    sides = (*files, *options.from_files), (*files, *options.to_files)
    if not all(sides):
        raise typer.BadParameter("are required on both sides.", param_hint="'FILE'")
    if sides[0] != sides[1] and "-" in sides[0] and "-" in sides[1]:
        raise typer.BadParameter("'-' can be given once.", param_hint="'FILE'")
    return run_diff(sides, options)
