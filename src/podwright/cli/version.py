"""`podwright version`."""

from __future__ import annotations

from typing import Annotated

import typer

from podwright.cli.options import Format, command_app, examples

UPSTREAM = "1.36"

app = command_app()


@app.command(epilog=examples("podwright version", "podwright version -o json"))
def version(
    output: Annotated[Format, typer.Option("--output", "-o", help="Output format.")] = Format.table,
) -> None:
    """Print the version of podwright and of the Kubernetes release it follows."""
    import platform
    from importlib.metadata import version as version_of

    from podwright._version import __version__
    from podwright.cli.console import print_document, print_table

    versions = {
        "podwright": __version__,
        "kube-scheduler": UPSTREAM,
        "python": platform.python_version(),
        "numba": version_of("numba"),
        "numpy": version_of("numpy"),
        "msgspec": version_of("msgspec"),
    }
    if output in (Format.json, Format.yaml):
        print_document(versions, output.value)
        return
    shown = versions if output is Format.wide else dict(list(versions.items())[:3])
    print_table(("COMPONENT", "VERSION"), list(shown.items()))
