"""`podwright tune`: the options."""

from __future__ import annotations

from podwright.cli.options import command_app, reject_idle
from podwright.cli.research.options import TuneOptions

app = command_app()


@app.command(
    examples=["podwright tune examples/sweep/tune.yaml --out tuned --jobs 1 --trials 4 || true"]
)
def tune(options: TuneOptions) -> bool:
    """Tune a scheduler configuration, and show what speaks for it on held-out seeds.

    The plan is that of a sweep with goals and a section `tune`: which weights, arguments and
    other fields of the first configuration vary, and how. Optuna proposes trials, whose runs are
    executed as those of a sweep. The best configuration is written to best.yaml, with its
    evidence: the differences from all configurations of the plan on seeds that no trial had, what
    it makes worse, and which pods are placed differently.

    Exit status 1 if the result is not better than the first configuration.
    """
    if options.dask_scheduler:
        for name in ("jobs", "per_run_memory"):
            if name in options.given:
                why = "the workers are those of the scheduler"
                reject_idle(f"--{name.replace('_', '-')}", "with --dask-scheduler", why)
    from podwright.cli.research.tune_run import run_tune

    return run_tune(options)
