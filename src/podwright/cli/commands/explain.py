"""`podwright explain`: the options."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Literal

import typer

from podwright.cli.options import (
    DECISIONS,
    RULES,
    Judged,
    Setup,
    argument,
    at_option,
    command_app,
    namespace_option,
    option,
    reject_idle,
)

app = command_app()


class ExplainOptions(Judged):
    """The options of `podwright explain`."""

    pod: str = argument(
        "name, namespace/name or pod/name of a pod; kind/name of a workload, such as "
        "deployment/web.",
        "POD",
    )
    files: tuple[str, ...] = argument(
        "Manifests, dumps, snapshots or openb tables; folders of them; - for stdin; cluster: or "
        "cluster:CONTEXT for a real cluster.  [default: cluster:, that of the current context]",
        "FILE",
        default=(),
    )
    run: Path | None = option(
        "Explain a past decision of the recorded run in this folder. Replaces FILE.",
        "RUN",
        default=None,
    )
    attempt: int | None = option(
        "With --run: the scheduling attempt to explain; 1 is the first, -1 the last.  "
        "[default: -1]",
        "NUMBER",
        default=None,
    )
    at: str = at_option()
    save_case: Path | None = option(
        "With --run: also write the attempt to this new file, as a test for pytest that runs it "
        "again offline and checks its outcome.",
        "FILE",
        default=None,
    )
    namespace: str = namespace_option()
    alone: bool = option(
        "Evaluate a pending pod against the cluster as given, without first scheduling the pods "
        "ahead of it in the queue.",
        default=False,
    )
    nodes: int = option(
        "Number of nodes to show side by side; -o wide shows all.", "NUMBER", default=5, min=1
    )
    node: tuple[str, ...] = option(
        "Show this node beside the chosen one. Repeatable.", "NODE", default=()
    )
    setup: Setup = Setup.group(
        "config", "plugins", "hpa", *RULES, "workers", *DECISIONS, "openb_gpus"
    )
    output: Literal["table", "wide", "json", "yaml", "name", "kss"] = option(
        "Output format. name: the node; kss (with --run): the annotations that "
        "kube-scheduler-simulator writes.",
        None,
        "-o",
        default="table",
    )

    @property
    def shown(self) -> int | None:
        """The number of nodes to show side by side; None for all."""
        return None if self.output == "wide" else self.nodes


@app.command(
    examples=[
        "podwright explain web-0 examples/quickstart",
        "podwright explain batch/train-3 examples/quickstart || true",
        "podwright explain web-0 examples/quickstart --node gpu-a1 --node general-a3",
        "podwright explain database-0 examples/quickstart -o wide",
        "podwright explain web-0 examples/quickstart --rules classic",
        "podwright explain deployment/web examples/simulate",
        "podwright explain pod/checkout-0 -n shop examples/quickstart -o json",
        "podwright explain batch --run RUN --attempt 1 || true",
        "podwright explain web --run RUN --save-case RUN/test_web.py",
        "podwright explain web --run RUN -o kss",
    ]
)
def explain(options: ExplainOptions) -> bool:
    """Explain why a pod is scheduled to a node, or why it is unschedulable.

    For a pending pod, the pods ahead of it in the scheduling queue are scheduled first. A pod
    that is already on a node is re-evaluated as if it were not yet placed. Of a workload, the
    first pod that does not fit is explained, or the first pod if all fit. With --run, the command
    explains one scheduling attempt of a recorded run and shows its outcome.

    The output lists the rejection reasons, grouped by possible fix and with node names, and
    then the result and score of every plugin for each node. A filter that skipped the pod is
    shown as skipped, not as passed.

    Exit status 1 if the pod does not fit on any node.
    """
    _check(options)
    if options.run is None:
        from podwright.cli.decisions.explain_run import run_explain

        return run_explain(options)
    from podwright.cli.decisions.explain_recorded import run_explain_kss, run_explain_recorded

    if options.output == "kss":
        return run_explain_kss(options, options.run)
    return run_explain_recorded(options, options.run)


_ONLY_WITH_RUN = {"attempt", "at", "save_case"}
_ONLY_WITH_FILES = {"alone", *(each.name for each in fields(Setup))} - {"plugins", "given"}


def _check(options: ExplainOptions) -> None:
    """Check that files and a run are not combined, with the options that apply to each.

    Raises
    ------
    BadParameter
        If both are given, or an option applies to the other one only.
    """
    if options.files and options.run is not None:
        raise typer.BadParameter("FILE cannot be combined with --run.", param_hint="FILE")
    given, output = options.given, options.output
    _check_nodes(given, output)
    if options.run is None and output == "kss":
        raise typer.BadParameter(
            "kss requires --run: the format includes what happened after the decision.",
            param_hint="'--output'",
        )
    for name in sorted(given):
        hint = f"'--{name.replace('_', '-')}'"
        if options.run is not None and name in _ONLY_WITH_FILES:
            raise typer.BadParameter(
                "cannot be combined with --run. To evaluate a change to a recorded decision, use"
                " pw.what_if.",
                param_hint=hint,
            )
        if options.run is None and name in _ONLY_WITH_RUN:
            raise typer.BadParameter("requires --run.", param_hint=hint)
    if {"attempt", "at"} <= given:
        raise typer.BadParameter("cannot be combined with --attempt.", param_hint="'--at'")
    if options.attempt == 0:
        raise typer.BadParameter("attempts are numbered from 1.", param_hint="'--attempt'")


def _check_nodes(given: frozenset[str], output: str) -> None:
    """Reject node options for formats that include all nodes."""
    name = next((name for name in ("nodes", "node") if name in given), "")
    if name and output in ("json", "yaml"):
        reject_idle(f"--{name}", f"with --output {output}", "it includes all nodes")
    if output == "kss" and "save_case" in given:
        reject_idle("--save-case", "with --output kss", "it prints annotations only")
    if name and output == "kss":
        raise typer.BadParameter("kss always includes all nodes.", param_hint="'--node'")
    if name and output == "name":
        name = "node" if "node" in given else "nodes"
        reject_idle(f"--{name}", "with --output name", "it is the chosen node alone")
    if "nodes" in given and output == "wide":
        reject_idle("--nodes", "with --output wide", "it includes all nodes")
