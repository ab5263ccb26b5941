"""`podwright simulate`: the options."""

from __future__ import annotations

import typer

from podwright.cli.options import (
    command_app,
    reject_idle,
)
from podwright.cli.recorded.options import SimulateOptions

app = command_app()


_ALLOWED_WITH_RESUME = {"resume", "output", "exit_zero"}


@app.command(
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
