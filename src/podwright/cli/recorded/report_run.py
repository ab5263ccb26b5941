"""`podwright report`: collects the data of a run, and writes the file."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any
from urllib.parse import quote

import msgspec
import typer

from podwright.apimachinery.objects import NamespacedName, Pod
from podwright.cli.console import announce_compilation, print_message, write_file
from podwright.cli.inputs import load_plugins
from podwright.cli.recorded.options import ReportOptions
from podwright.cli.recorded.recorded_run import RecordedRun, open_for_command
from podwright.online.ui import REPORT_MAX_BYTES, ReportData, report_html
from podwright.scheduler.machine import Machine
from podwright.simulation.recording import (
    Cycles,
    attempts_of,
    explanation_document,
    explanation_matrix,
    labels_of_nodes,
    past_cycles,
    recorded_view,
    replay,
    timeline_of_run,
)


def run_report(options: ReportOptions) -> None:
    """Write the report of a run."""
    folder, output = options.run, options.out
    run = RecordedRun(folder, load_plugins(options.setup.plugins))
    announce_compilation()
    with open_for_command(run):
        summary = run.path / "summary.json"  # not in a folder of a log alone
        machine = replay(run.log, plugins=run.plugins)
        data = ReportData(
            title=folder.resolve().name,
            timeline=timeline_of_run(run.path, run.log, plugins=run.plugins),
            labels=labels_of_nodes(machine),
            replies=dict(_replies(run, machine, options.pods)),
            results=msgspec.json.decode(summary.read_bytes()) if summary.is_file() else None,
        )
    content = report_html(data)
    if len(content) > REPORT_MAX_BYTES:
        raise typer.BadParameter(
            f"the report would have {len(content) >> 20} MiB, and has at most"
            f" {REPORT_MAX_BYTES >> 20}: explain fewer pods, or report a shorter run",
            param_hint="'--pods'",
        )
    write_file(output, content)
    print_message(f"wrote {output}; open it in a browser")


def _replies(run: RecordedRun, machine: Machine, count: int) -> Iterator[tuple[str, Any]]:
    """Yield what the HTTP API would reply for the pods that are explained, by path."""
    cycles = Cycles(run.log)
    pods = list(islice(_by_interest(machine, cycles), count))
    for pod in pods:
        attempts = attempts_of(run.log, pod)
        document = {"pod": pod, "attempts": msgspec.to_builtins(attempts)}
        yield f"{_path_of(pod)}/attempts", document
    last_cycles = [(cycles.of(pod)[-1], pod) for pod in pods]
    for past in past_cycles(run.log, last_cycles, plugins=run.plugins):
        last = f"{_path_of(past.pod.key)}/explanation?attempt={past.attempt}"
        matrix = explanation_matrix(past.explain())
        yield f"{last}&view=matrix", msgspec.to_builtins(matrix)
        view = recorded_view(past, run.log, start_ns=run.start_ns, end_ns=run.end_ns)
        yield last, explanation_document(view)


def _path_of(pod: NamespacedName) -> str:
    return f"/podwright/v1/pods/{quote(pod)}"


def _by_interest(machine: Machine, cycles: Cycles) -> Iterator[NamespacedName]:
    """Yield the pods with attempts: those without a node at the end first, then the last ones."""
    waiting = {
        obj.key for obj in machine.objects() if isinstance(obj, Pod) and not obj.spec.node_name
    }
    tried = list(cycles.pods)
    yield from (pod for pod in tried if pod in waiting)
    yield from (pod for pod in reversed(tried) if pod not in waiting)
