"""`podwright parity`: the options."""

from __future__ import annotations

from podwright.cli.options import (
    Format,
    Judged,
    argument,
    command_app,
    option,
    output_option,
)

app = command_app()


class ParityOptions(Judged):
    """The options of `podwright parity`."""

    files: tuple[str, ...] = argument(
        "Golden vectors: JSON lines, optionally gzipped; folders of them; - for stdin.", "FILE"
    )
    differences: int = option("Number of differences to print.", "NUMBER", default=10, min=0)
    output: Format = output_option("the ids of cases that differ")


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
