"""`podwright completion`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from podwright.cli.options import command_app, examples

COMPLETION_VARIABLE = "_PODWRIGHT_COMPLETE"
"""Set by the completion script when it calls podwright for suggestions."""

app = command_app()


class Shell(StrEnum):
    """The shells with completion."""

    bash = "bash"
    zsh = "zsh"
    fish = "fish"


@app.command(epilog=examples("podwright completion bash"))
def completion(
    shell: Annotated[Shell, typer.Argument(metavar="SHELL", help="bash, zsh or fish.")],
) -> None:
    """Print the completion script of a shell.

    Load it in the current shell:

    \b
      bash: source <(podwright completion bash)
      zsh:  source <(podwright completion zsh)
      fish: podwright completion fish | source

    To load it in every shell, add the line to ~/.bashrc, ~/.zshrc or
    ~/.config/fish/config.fish.
    """  # noqa: D301 - the backspace prevents Typer from re-wrapping the lines
    from typer.completion import get_completion_script  # type: ignore[attr-defined]

    from podwright.cli.console import write

    script = get_completion_script(
        prog_name="podwright", complete_var=COMPLETION_VARIABLE, shell=shell.value
    )
    write(script)
