"""`podwright parity`: the options."""

from __future__ import annotations

from typing import Annotated

import typer

from podwright.cli.options import (
    ExitZero,
    Format,
    command_app,
    examples,
    output_option,
)

app = command_app()


@app.command(
    epilog=examples(
        "podwright parity tests/golden/vectors/taints.jsonl.gz",
        "podwright parity tests/golden/vectors/quantities.jsonl.gz -o wide",
    )
)
def parity(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE",
            help="Golden vectors: JSON lines, optionally gzipped; folders of them; - for stdin.",
        ),
    ],
    differences: Annotated[
        int,
        typer.Option(
            "--differences", metavar="NUMBER", min=0, help="Number of differences to print."
        ),
    ] = 10,
    output: Annotated[Format, output_option("the ids of cases that differ")] = Format.table,
    exit_zero: ExitZero = False,
) -> None:
    """Compare podwright with golden decisions of kube-scheduler.

    Prints the number of cases and of agreements per family and per field, the first
    differences, and the skipped cases with their reasons. Exit status 1 on any difference, or
    if nothing was compared.
    """
    from podwright.cli.decisions.parity_run import run_parity

    is_equal = run_parity(files, differences=differences, output=output.value)
    if not is_equal and not exit_zero:
        raise typer.Exit(1)
