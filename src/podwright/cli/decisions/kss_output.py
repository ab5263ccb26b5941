"""`podwright explain --run RUN -o kss`: prints the annotations of kube-scheduler-simulator."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from podwright.cli.console import announce_compilation, print_document, print_message
from podwright.cli.decisions.explain_recorded import find_recorded_pod
from podwright.cli.inputs import load_plugins
from podwright.cli.recorded.recorded_run import RecordedRun, open_for_command
from podwright.simulation.kss import annotations_after, kss_history
from podwright.simulation.recording import Cycles


def run_explain_kss(
    text: str,
    folder: Path,
    *,
    attempt: int | None,
    at: str,
    namespace: str,
    plugins: Sequence[Path],
) -> bool:
    """Print a Pod with its annotations after an attempt; return whether the pod fit."""
    run = RecordedRun(folder, load_plugins(plugins))
    own = run.plugins
    announce_compilation()
    with open_for_command(run):
        key = find_recorded_pod(text, run.log, Cycles(run.log), namespace=namespace, plugins=own)
        at_ns = run.moment(at) if at else None
        attempts = kss_history(run.log, key, attempt or -1, at_ns=at_ns, plugins=own)
    annotations = annotations_after(attempts)
    if not annotations:
        print_message("No annotations: the cluster had no nodes, so no plugin was called.")
        return False
    explanation = attempts[-1].explanation
    metadata = {
        "name": explanation.pod.name,
        "namespace": explanation.pod.namespace,
        "annotations": annotations,
    }
    print_document({"apiVersion": "v1", "kind": "Pod", "metadata": metadata}, "json")
    return bool(explanation.decision.node)
