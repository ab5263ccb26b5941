"""`podwright import`: the options."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from podwright.cli.clusters.cluster_options import ConnectionOptions, SelectionOptions
from podwright.cli.options import Options, command_app, option

app = command_app()


class ImportClusterOptions(Options):
    """The options of `podwright import`."""

    connection: ConnectionOptions = ConnectionOptions.group()
    selection: SelectionOptions = SelectionOptions.group()
    exclude_running: bool = option("Leave out pods that have a node.", default=False)
    out: Path | None = option("Write to this file instead of stdout.", "FILE", default=None)
    output: Literal["json", "yaml", "name", "kss"] = option(
        "Output format. json, yaml: a List that other commands read; name: the objects, such as "
        "pod/default/web; kss: a snapshot that kube-scheduler-simulator imports.",
        None,
        "-o",
        default="json",
    )


@app.command(
    "import",
    examples=["podwright import --out cluster.json", "podwright import --kinds nodes,pods -o name"],
)
def import_cluster(options: ImportClusterOptions) -> None:
    """Read the objects of a real cluster, as input of other commands.

    The command only sends requests that read; the rights get, list and watch are enough. It writes
    what decisions depend on: nodes, pods, volumes, classes, budgets and devices, but no secrets
    and no workloads. Pods keep their nodes; their owners and service accounts are left out.

    Other commands read the result: podwright import | podwright schedule -
    """
    options.connection.address()  # before the imports, which need the extra `live`
    from podwright.cli.clusters.import_run import run_import

    run_import(options)
