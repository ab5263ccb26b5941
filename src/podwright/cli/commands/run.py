"""`podwright run show` and `podwright run step`: the options."""

from __future__ import annotations

from podwright.cli.options import command_app
from podwright.cli.recorded.options import RunShowOptions, RunStepOptions

app = command_app()


@app.callback()
def _run() -> None:
    """Show a recorded run at one time, or step through its events."""


@app.command(
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


@app.command(examples=["podwright run step RUN --at 1m < /dev/null"])
def step(options: RunStepOptions) -> None:
    """Step through the events of a run, forward and backward.

    Reads commands, one per line: n (or an empty line) steps to the next event, b to the
    previous one, c to the next cycle, C to the previous cycle, "/ POD" to the next event of a
    pod, "g 42" or "g 10m" to an event or a time; e explains the cycle, s shows the queue,
    q quits, ? lists all commands.
    """
    from podwright.cli.recorded.run_step import run_step

    run_step(options)
