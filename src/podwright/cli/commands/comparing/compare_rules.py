"""`podwright compare-rules`: the options."""

from __future__ import annotations

from podwright.cli.decisions.options import CompareRulesOptions
from podwright.cli.options import (
    command_app,
)

app = command_app()


@app.command(
    examples=[
        "podwright compare-rules examples/quickstart --exit-zero",
        "podwright compare-rules examples/quickstart --same-cluster -o wide --exit-zero",
        "podwright compare-rules examples/quickstart "
        "--algorithm-provider ClusterAutoscalerProvider -o json --exit-zero",
    ]
)
def compare_rules(options: CompareRulesOptions) -> bool:
    """Schedule the same pods by the rules of Kubernetes v1.36 and v1.16.

    Each rule set schedules the pending pods of its own copy of the cluster in queue order. For
    each pod with different results, the output shows why each rule set does not choose the
    other's node: the filter or predicate that rejects it, or the score differences, the largest
    first. After the first difference the two copies of the cluster differ; later pods that
    differ are marked with a star. With --same-cluster the copies stay equal.

    The table lists the pods that differ, -o wide all pods. Exit status 1 if any differs.
    """
    from podwright.cli.decisions.compare_rules_run import run_compare_rules

    return run_compare_rules(options)
