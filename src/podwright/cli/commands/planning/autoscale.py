"""`podwright autoscale`: the options."""

from __future__ import annotations

from podwright.cli.options import command_app
from podwright.cli.planning.options import AutoscaleOptions

app = command_app()


@app.command(
    examples=[
        "podwright autoscale examples/autoscaling/groups.yaml examples/autoscaling/shop.yaml",
        "podwright autoscale examples/autoscaling/groups.yaml examples/quickstart --exit-zero",
    ]
)
def autoscale(options: AutoscaleOptions) -> bool:
    """Say which node groups would help pending pods, and why the others would not.

    Each pending pod of the cluster is offered a new node of each group; the filters of the
    scheduler decide. The file of groups is that of simulate --node-groups. Nothing is changed.

    Exit status 1 if no group helps a pod that fits nowhere.
    """
    from podwright.cli.planning.autoscale_run import run_autoscale

    return run_autoscale(options)
