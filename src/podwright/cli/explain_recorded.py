"""What `podwright explain --run` does, once it is called."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from podwright.assembly import UnknownPod, nearest_nodes
from podwright.assembly.remedies import remedies
from podwright.cli.console import announce_compilation
from podwright.cli.explain_run import PastTold, Told, print_told
from podwright.cli.inputs import find_key, find_node, load_plugins
from podwright.cli.recorded_run import PastRun, looking_at, when
from podwright.config import Gates, format_duration
from podwright.framework import Plugin
from podwright.queueing import QueueName
from podwright.recording import (
    AttemptOutcome,
    Cycles,
    DecisionLog,
    OutcomeKind,
    PastCycle,
    find_cycle,
    find_outcome,
)
from podwright.recording.replay import replay

IN_WORDS = {
    "active": "active",
    "backoff": "backoff",
    "error_backoff": "backoff after an error",
    "unschedulable": "unschedulable",
    "gated": "gated",
    "in_flight": "in flight",
}
"""The places of the queue."""


def run_explain_past(  # noqa: PLR0913 - the options of the command
    text: str,
    folder: Path,
    *,
    attempt: int | None,
    at: str,
    namespace: str,
    plugins: Sequence[Path],
    nodes: Sequence[str],
    shown: int | None,
    output: str,
) -> bool:
    """Explain one past cycle and print it; tell whether the pod fitted."""
    run = PastRun(folder, load_plugins(plugins))
    own = run.plugins
    announce_compilation()
    with looking_at(run):
        cycles = Cycles(run.log)
        key = find_past(text, run.log, cycles, namespace=namespace, plugins=own)
        at_ns = run.moment(at) if at else None
        past = find_cycle(run.log, key, attempt or -1, at_ns=at_ns, plugins=own, cycles=cycles)
        told = tell_past(run, past, nodes=nodes)
        return print_told(told, shown=shown, output=output)


def find_past(
    text: str,
    log: DecisionLog,
    cycles: Cycles,
    *,
    namespace: str = "",
    plugins: Sequence[type[Plugin]] = (),
) -> str:
    """Return the `namespace/name` of a pod that was tried in a run.

    Raises
    ------
    UnknownPod
        If none was; it says whether there is such a pod at the end of the run, and where.
    """
    try:
        return find_key(text, cycles.pods, namespace=namespace, where="was tried in this run")
    except UnknownPod:
        machine = replay(log, plugins=plugins)
        pods = {obj.key for obj in machine.objects() if obj.kind == "Pod"}
        known = sorted(pods.union(cycles.pods))
        key = find_key(text, known, namespace=namespace, where="is in this run")
        if key in cycles.pods:
            raise
    pod, queued = machine.pod(key), machine.queue.get(key)
    assert pod is not None, f"{key} was there"
    if queued is not None and queued.place is QueueName.GATED:
        why = f"it is gated: {', '.join(queued.gating_reasons) or queued.gating_plugin}"
    elif pod.spec.node_name:
        why = f"it came with node {pod.spec.node_name}"
    elif machine.runner(pod.spec.scheduler_name) is None:
        why = f'it is for the scheduler "{pod.spec.scheduler_name}"'
    else:
        why = "its turn had not come when the run ended"
    raise UnknownPod(f"pod {key} was never tried in this run: {why}")


def tell_past(run: PastRun, past: PastCycle, *, nodes: Sequence[str] = ()) -> Told:
    """Explain a past cycle, and let the run go on to see what came of it."""
    setup, cluster = run.log.setup, past.machine.cluster
    known = cluster.nodes.slot_of
    wanted = tuple(find_node(name, known, where="was there then") for name in nodes)
    explanation = past.explain()
    # Before the machine goes on: this looks at the cluster as it was.
    to_change = remedies(explanation, cluster)
    near = nearest_nodes(explanation, cluster, limit=None, gates=Gates(setup.gates))
    return Told(
        explanation=explanation,
        remedies=to_change,
        near=near,
        seed=setup.seed,
        tie_rule=setup.tie_rule,
        nodes=wanted,
        past=_past_told(run, past, find_outcome(past)),
    )


def _past_told(run: PastRun, past: PastCycle, after: AttemptOutcome) -> PastTold:
    began_ns, count, number = past.entry.now_ns, len(past.ends), past.attempt
    next_ns = run.log.time_of(past.ends[number]) if number < count else None
    then = _then(after, began_ns)
    if next_ns is not None:
        then += f"; attempt {number + 1} came {_later(next_ns - began_ns)}"
    elif after.kind is OutcomeKind.QUEUED:
        then += f"; not tried again in this run, which ended {_later(run.end_ns - began_ns)}"
    document: dict[str, Any] = {
        "event": past.end + 1,
        "time": when(began_ns),
        "sinceStart": run.since_start(began_ns),
        "attempt": number,
        "attempts": count,
        "then": {
            "fate": after.kind.value,
            "time": when(after.now_ns),
            "node": after.node or None,
            "error": after.error or None,
            "queue": after.place or None,
            "waitsFor": list(after.waits_for),
            "backoffEnd": None if after.backoff_end_ns < 0 else when(after.backoff_end_ns),
            "nominatedNode": after.nominated_node or None,
        },
        "nextAttempt": None if next_ns is None else when(next_ns),
    }
    text = f"{number} of {count}, {run.told(began_ns)}, event {past.end + 1}"
    return PastTold(when=text, then=then, document=document)


def _then(after: AttemptOutcome, began_ns: int) -> str:
    later = _later(after.now_ns - began_ns)
    match after.kind:
        case OutcomeKind.BOUND:
            return f"bound to {after.node} {later}"
        case OutcomeKind.GONE:
            return f"the pod was deleted {later}"
        case OutcomeKind.BINDING:
            where = f" to {after.node}" if after.node else ""
            return f"it was still to be bound{where} {later}, as far as was looked"
        case OutcomeKind.QUEUED:
            return _requeued(after, began_ns)


def _requeued(after: AttemptOutcome, began_ns: int) -> str:
    text = f"back in the queue as {IN_WORDS.get(after.place, after.place)}"
    if after.error:
        text = f"the attempt on {after.node} failed: {after.error}; {text}"
    if after.waits_for:
        text += f", waiting for {', '.join(after.waits_for)}"
    if after.backoff_end_ns > began_ns:
        text += f", with a backoff of {format_duration(after.backoff_end_ns - began_ns)}"
    if after.nominated_node:
        text += f", nominated to {after.nominated_node}"
    return text


def _later(duration_ns: int) -> str:
    return f"{format_duration(duration_ns)} later" if duration_ns else "at once"
