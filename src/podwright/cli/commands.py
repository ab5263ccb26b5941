"""The commands about podwright itself."""

from __future__ import annotations

from typing import Literal

from podwright.cli.options import Format, Options, argument, command, output_option

UPSTREAM = "1.36"


class CompletionOptions(Options):
    """The options of `podwright completion`."""

    shell: Literal["bash", "zsh", "fish"] = argument("bash, zsh or fish.", "SHELL")


@command(examples=["podwright completion bash"])
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

    from podwright.cli import COMPLETION_VARIABLE
    from podwright.cli.console import write

    script = get_completion_script(
        prog_name="podwright", complete_var=COMPLETION_VARIABLE, shell=options.shell
    )
    write(script)


class VersionOptions(Options):
    """The options of `podwright version`."""

    output: Format = output_option("the components")


@command(examples=["podwright version", "podwright version -o json"])
def version(options: VersionOptions) -> None:
    """Print the version of podwright and of the Kubernetes release it follows."""
    import platform
    from importlib.metadata import version as version_of

    from podwright._version import __version__
    from podwright.cli.console import print_data, print_table

    versions = {
        "podwright": __version__,
        "kube-scheduler": UPSTREAM,
        "python": platform.python_version(),
        "numba": version_of("numba"),
        "numpy": version_of("numpy"),
        "msgspec": version_of("msgspec"),
    }
    if print_data(options.output, lambda: versions, versions):
        return
    shown = versions if options.output == "wide" else dict(list(versions.items())[:3])
    print_table(("COMPONENT", "VERSION"), list(shown.items()))
