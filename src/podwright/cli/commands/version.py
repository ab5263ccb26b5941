"""`podwright version`."""

from __future__ import annotations

from podwright.cli.options import Format, Options, command_app, output_option

UPSTREAM = "1.36"

app = command_app()


class VersionOptions(Options):
    """The options of `podwright version`."""

    output: Format = output_option("the components")


@app.command(examples=["podwright version", "podwright version -o json"])
def version(options: VersionOptions) -> None:
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
    if options.output in ("json", "yaml"):
        print_document(versions, options.output)
        return
    if options.output == "name":
        write("\n".join(versions))
        return
    shown = versions if options.output == "wide" else dict(list(versions.items())[:3])
    print_table(("COMPONENT", "VERSION"), list(shown.items()))
