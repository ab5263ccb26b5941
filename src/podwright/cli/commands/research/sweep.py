"""`podwright sweep`: the options."""

from __future__ import annotations

from podwright.cli.options import command_app, reject_idle
from podwright.cli.research.options import SweepOptions

app = command_app()


@app.command(examples=["podwright sweep examples/sweep/plan.yaml --out results --jobs 1"])
def sweep(options: SweepOptions) -> bool:
    """Simulate configurations x inputs x seeds, and compare their figures.

    Runs are executed by Dask, on processes of this machine or on the workers of a scheduler.
    Each result is one Parquet file of the folder; a sweep that is started again does what is
    missing. The first configuration of the plan is what the others are compared with, run by run
    with the same seed.

    Exit status 1 if runs failed.
    """
    if options.dask_scheduler:
        for name in ("jobs", "per_run_memory"):
            if name in options.given:
                why = "the workers are those of the scheduler"
                reject_idle(f"--{name.replace('_', '-')}", "with --dask-scheduler", why)
    from podwright.cli.research.sweep_run import run_sweep

    return run_sweep(options)
