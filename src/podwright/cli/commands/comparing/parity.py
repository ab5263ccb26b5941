"""`podwright parity`: the options."""

from __future__ import annotations

from podwright.cli.decisions.options import ParityOptions
from podwright.cli.options import (
    command_app,
)

app = command_app()


@app.command(
    examples=[
        "podwright parity tests/golden/vectors/taints.jsonl.gz",
        "podwright parity tests/golden/vectors/quantities.jsonl.gz -o wide",
    ]
)
def parity(options: ParityOptions) -> bool:
    """Compare podwright with golden decisions of kube-scheduler.

    Prints the number of cases and of agreements per family and per field, the first
    differences, and the skipped cases with their reasons. Exit status 1 on any difference, or
    if nothing was compared.
    """
    from podwright.cli.decisions.parity_run import run_parity

    return run_parity(options)
