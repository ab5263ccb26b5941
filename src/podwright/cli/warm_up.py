"""`podwright warm-up`: compile ahead of time what is compiled at first use."""

from __future__ import annotations

from podwright.cli.options import command_app, examples

app = command_app()


@app.command(epilog=examples("podwright warm-up"))
def warm_up() -> None:
    """Compile everything that is compiled at first use, and keep it on disk.

    Makes a few decisions on a small made-up cluster that every plugin has something to say
    about. What is compiled already is only loaded.
    """
    from podwright.cli.warm_up_run import run_warm_up

    run_warm_up()
