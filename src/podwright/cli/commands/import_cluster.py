"""`podwright import`: the options."""

from __future__ import annotations

from podwright.cli.clusters.options import ImportClusterOptions
from podwright.cli.options import command_app

app = command_app()


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
