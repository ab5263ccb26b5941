"""What `podwright explain --run RUN -o kss` does, once it is called."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from podwright.cli.console import announce_compilation, print_document, say
from podwright.cli.explain_recorded import find_past
from podwright.cli.inputs import load_plugins
from podwright.cli.recorded_run import PastRun, looking_at
from podwright.kss import annotations_after, kss_history
from podwright.recording import Cycles


def run_annotate(
    text: str,
    folder: Path,
    *,
    attempt: int | None,
    at: str,
    namespace: str,
    plugins: Sequence[Path],
) -> bool:
    """Print a Pod with its annotations after an attempt; tell whether the pod fitted then."""
    run = PastRun(folder, load_plugins(plugins))
    own = run.plugins
    announce_compilation()
    with looking_at(run):
        key = find_past(text, run.log, Cycles(run.log), namespace=namespace, plugins=own)
        at_ns = run.moment(at) if at else None
        attempts = kss_history(run.log, key, attempt or -1, at_ns=at_ns, plugins=own)
    annotations = annotations_after(attempts)
    if not annotations:
        say("There are no annotations: no plugin was asked, because there was no node.")
        return False
    explanation = attempts[-1].explanation
    metadata = {
        "name": explanation.pod.name,
        "namespace": explanation.pod.namespace,
        "annotations": annotations,
    }
    print_document({"apiVersion": "v1", "kind": "Pod", "metadata": metadata}, "json")
    return bool(explanation.decision.node)
