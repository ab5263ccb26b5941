"""`podwright warm-up`: the command."""

from __future__ import annotations

from podwright.cli.options import command_app

app = command_app()


@app.command(examples=["podwright warm-up"])
def warm_up() -> None:
    """Compile all kernels ahead of time and cache them on disk.

    Kernels are otherwise compiled at first use. The command schedules pods on a small generated
    cluster that every plugin evaluates. Kernels that are already cached are only loaded.
    """
    from podwright.cli.decisions.warm_up_run import run_warm_up

    run_warm_up()
