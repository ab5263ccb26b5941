"""`podwright diff` of two recorded runs."""

from __future__ import annotations

from pathlib import Path

from podwright.cli.console import waiting
from podwright.cli.decisions.diff_run import print_diff
from podwright.cli.decisions.options import DiffOptions
from podwright.cli.inputs import load_plugins
from podwright.cli.recorded.recorded_run import RecordedRun, open_for_command
from podwright.simulation.recording import diff_runs, placements_of_run
from podwright.simulation.world import RunComparison, compare


def run_diff_of_runs(before: Path, after: Path, options: DiffOptions) -> bool:
    """Compare two recorded runs and print the differences; return whether there are none.

    The figures of runs are compared too; a log alone has none.
    """
    own = load_plugins(options.setup.plugins)
    figures: RunComparison | None = None
    runs = RecordedRun(before, own), RecordedRun(after, own)
    with open_for_command(runs[0]), open_for_command(runs[1]), waiting("comparing the runs"):
        sides = [placements_of_run(run.log, run.plugins) for run in runs]
        found = diff_runs(*sides)
        if all((path / "manifest.json").exists() for path in (before, after)):
            figures = compare(before, after, plugins=own)
    print_diff(found, options.output, figures)
    return found.is_same and (figures is None or figures.is_same)
