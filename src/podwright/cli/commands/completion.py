"""`podwright completion`."""

from __future__ import annotations

from typing import Literal

from podwright.cli.options import Options, argument, command_app

COMPLETION_VARIABLE = "_PODWRIGHT_COMPLETE"
"""Set by the completion script when it calls podwright for suggestions."""

app = command_app()


class CompletionOptions(Options):
    """The options of `podwright completion`."""

    shell: Literal["bash", "zsh", "fish"] = argument("bash, zsh or fish.", "SHELL")


@app.command(examples=["podwright completion bash"])
def completion(options: CompletionOptions) -> None:
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
        prog_name="podwright", complete_var=COMPLETION_VARIABLE, shell=options.shell
    )
    write(script)
