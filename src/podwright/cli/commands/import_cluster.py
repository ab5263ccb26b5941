"""`podwright import`: the options."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from podwright.cli.clusters.cluster_options import (
    ConnectionOptions,
    SelectionOptions,
    names_in,
)
from podwright.cli.options import command_app, examples

app = command_app()


class ImportedFormat(StrEnum):
    """The output formats."""

    json = "json"
    yaml = "yaml"
    name = "name"
    kss = "kss"


@app.command(
    "import",
    epilog=examples(
        "podwright import --out cluster.json",
        "podwright import --kinds nodes,pods -o name",
    ),
)
def import_cluster(
    *,
    connection: ConnectionOptions,
    selection: SelectionOptions,
    exclude_running: Annotated[
        bool,
        typer.Option("--exclude-running", help="Leave out pods that have a node."),
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FILE",
            help="Write to this file instead of stdout.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        ImportedFormat,
        typer.Option(
            "--output",
            "-o",
            help="Output format. json, yaml: a List that other commands read; name: the objects, "
            "such as pod/default/web; kss: a snapshot that kube-scheduler-simulator imports.",
        ),
    ] = ImportedFormat.json,
) -> None:
    """Read the objects of a real cluster, as input of other commands.

    The command only sends requests that read; the rights get, list and watch are enough. It writes
    what decisions depend on: nodes, pods, volumes, classes, budgets and devices, but no secrets
    and no workloads. Pods keep their nodes; their owners and service accounts are left out.

    Other commands read the result: podwright import | podwright schedule -
    """
    from podwright.cli.clusters.import_run import run_import
    from podwright.online.sync import ImportOptions

    options = ImportOptions(
        kinds=names_in(selection.kinds),
        namespaces=tuple(selection.namespaces or ()),
        selector=selection.selector,
        excludes_running=exclude_running,
    )
    run_import(connection.address(), options, out=out, output=output.value)
