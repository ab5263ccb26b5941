"""`podwright explain`: the options."""

from __future__ import annotations

from dataclasses import fields

import typer

from podwright.cli.decisions.options import ExplainOptions
from podwright.cli.options import (
    Setup,
    command_app,
    reject_idle,
)

app = command_app()


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
