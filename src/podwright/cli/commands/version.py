"""`podwright version`."""

from __future__ import annotations

from typing import Annotated

from podwright.cli.options import Format, command_app, examples, output_option

UPSTREAM = "1.36"

app = command_app()


@app.command(epilog=examples("podwright version", "podwright version -o json"))
def version(
    output: Annotated[Format, output_option("the components")] = Format.table,
) -> None:
    """Print the version of podwright and of the Kubernetes release it follows."""
    import platform
    from importlib.metadata import version as version_of

    from podwright._version import __version__
    from podwright.cli.console import print_document, print_table, write

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
    if output is Format.name:
        write("\n".join(versions))
        return
    shown = versions if output is Format.wide else dict(list(versions.items())[:3])
    print_table(("COMPONENT", "VERSION"), list(shown.items()))
