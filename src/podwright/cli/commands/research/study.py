"""`podwright study fgd`: the options."""

from __future__ import annotations

from podwright.cli.options import command_app
from podwright.cli.research.options import FgdOptions

app = command_app()


@app.callback()
def _study() -> None:
    """Repeat a published experiment."""


@app.command(
    examples=[
        "podwright study fgd examples/gpu-trace --seeds 42-43 --jobs 1",
        "podwright study fgd examples/gpu-trace --only 04-GpuPacking --print-config",
    ]
)
def fgd(options: FgdOptions) -> None:
    """Repeat the study of GPU fragmentation on the openb trace.

    The pods of each list arrive in a random order until the GPUs are full, by each of six
    policies. The table has the allocated share of the GPUs when the pods that arrived request 100
    and 130 percent of them, as means over the seeds, beside the published means.

    With --out, the figures are drawn: allocation and fragments over the arrived load.
    """
    from podwright.cli.research.fgd_run import run_fgd_study

    run_fgd_study(options)
