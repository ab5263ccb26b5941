"""`podwright explain --run`: explains one attempt of a recorded run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from podwright.advice import nearest_nodes, rejection_groups
from podwright.assembly import UnknownPod
from podwright.cli.console import announce_compilation
from podwright.cli.explanation_output import print_view
from podwright.cli.explanation_view import ExplanationView, RecordedOutcome
from podwright.cli.inputs import find_key, find_node, load_plugins
from podwright.cli.recorded_run import RecordedRun, open_for_command
from podwright.cli.workloads import kind_named
from podwright.config import Gates, format_duration
from podwright.framework import Plugin
from podwright.objects import NamespacedName, Pod, shortest_time_text, workload_of
from podwright.queueing import QueueName
from podwright.recording import (
    AttemptOutcome,
    Cycles,
    DecisionLog,
    OutcomeKind,
    PastCycle,
    camel_case,
    find_cycle,
    find_outcome,
    past_advice,
)
from podwright.recording.replay import replay

QUEUE_LABELS = {
    "active": "active",
    "backoff": "backoff",
    "error_backoff": "backoff after an error",
    "unschedulable": "unschedulable",
    "gated": "gated",
    "in_flight": "in flight",
}
"""The printed name of each subqueue of the scheduling queue."""


def run_explain_recorded(  # noqa: PLR0913 - the options of the command
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
    """Explain one recorded attempt and print it; return whether the pod fit."""
    run = RecordedRun(folder, load_plugins(plugins))
    own = run.plugins
    announce_compilation()
    with open_for_command(run):
        cycles = Cycles(run.log)
        key = find_recorded_pod(text, run.log, cycles, namespace=namespace, plugins=own)
        at_ns = run.moment(at) if at else None
        past = find_cycle(run.log, key, attempt or -1, at=at_ns, plugins=own, cycles=cycles)
        view = recorded_view(run, past, nodes=nodes)
        return print_view(view, shown=shown, output=output)


def find_recorded_pod(
    text: str,
    log: DecisionLog,
    cycles: Cycles,
    *,
    namespace: str = "",
    plugins: Sequence[type[Plugin]] = (),
) -> str:
    """Return the `namespace/name` of a pod that has a scheduling attempt in a run.

    Raises
    ------
    UnknownPod
        If there is none; the message has the state of the pod at the end of the run, if it exists.
    """
    try:
        return find_key(
            text, cycles.pods, namespace=namespace, where="with a scheduling attempt in this run"
        )
    except UnknownPod:
        machine = replay(log, plugins=plugins)
        known_pods = [obj for obj in machine.objects() if isinstance(obj, Pod)]
        if own := _pod_of_workload(text, known_pods, cycles, namespace=namespace):
            return own
        pods = {pod.key for pod in known_pods}
        known = sorted(pods.union(cycles.pods))
        key = find_key(text, known, namespace=namespace, where="in this run")
        if key in cycles.pods:
            raise
    pod, queued = machine.pod(key), machine.queue.get(key)
    assert pod is not None, f"{key} was there"
    if queued is not None and queued.place is QueueName.GATED:
        why = f"it is gated by {', '.join(queued.gating_reasons) or queued.gating_plugin}"
    elif pod.spec.node_name:
        why = f"it was created with node {pod.spec.node_name}"
    elif machine.runner(pod.spec.scheduler_name) is None:
        why = f'it uses another scheduler, "{pod.spec.scheduler_name}"'
    else:
        why = "the run ended before its first attempt"
    raise UnknownPod(f"pod {key} has no scheduling attempt in this run: {why}")


def _pod_of_workload(
    text: str, pods: Iterable[Pod], cycles: Cycles, *, namespace: str
) -> NamespacedName:
    """Return a pod of the workload that ``kind/name`` refers to; "" if the text names no kind.

    A pod without a node comes first.

    Raises
    ------
    UnknownPod
        If there is no such workload, or the name is ambiguous; with suggestions.
    """
    head, slash, name = text.partition("/")
    kind = kind_named(head) if slash else ""
    if not kind:
        return ""
    of_kind: dict[NamespacedName, list[Pod]] = {}
    for pod in pods:
        workload = workload_of(pod)
        if workload is not None and workload[0] == kind and pod.key in cycles.pods:
            of_kind.setdefault(workload[1], []).append(pod)
    where = "with a scheduling attempt in this run"
    key = find_key(name, of_kind, namespace=namespace, what=kind, where=where)
    return min(of_kind[key], key=lambda pod: bool(pod.spec.node_name)).key


def recorded_view(
    run: RecordedRun, past: PastCycle, *, nodes: Sequence[str] = ()
) -> ExplanationView:
    """Explain a recorded cycle, and replay the events after it to find its outcome."""
    setup, cluster = run.log.setup, past.machine.cluster
    known = cluster.nodes.slot_of
    requested = tuple(find_node(name, known, where="in the cluster at that time") for name in nodes)
    explanation = past.explain()
    # Before the replay continues: these read the cluster as it was in the cycle.
    gates = Gates(setup.gates)
    near = nearest_nodes(explanation, cluster, limit=None, gates=gates)
    advice = past_advice(
        past,
        explanation,
        gates=gates,
        custom_plugins={plugin.name for plugin in setup.plugins},
    )
    return ExplanationView(
        explanation=explanation,
        reasons=rejection_groups(explanation),
        advice=advice,
        near=near,
        seed=setup.seed,
        tie_rule=setup.tie_rule,
        nodes=requested,
        past=_recorded_outcome(run, past, find_outcome(past)),
    )


def _recorded_outcome(run: RecordedRun, past: PastCycle, after: AttemptOutcome) -> RecordedOutcome:
    began_ns, count, number = past.entry.now_ns, len(past.ends), past.attempt
    next_ns = run.log.time_of(past.ends[number]) if number < count else None
    then = _then(after, began_ns)
    if next_ns is not None:
        then += f"; attempt {number + 1} followed {_later(next_ns - began_ns)}"
    elif after.kind is OutcomeKind.QUEUED:
        then += f"; no further attempt before the end of the run, {_later(run.end_ns - began_ns)}"
    document: dict[str, Any] = {
        "event": past.end + 1,
        "time": shortest_time_text(began_ns),
        "sinceStart": run.since_start(began_ns),
        "attempt": number,
        "attempts": count,
        "then": {
            "fate": after.kind.value,
            "time": shortest_time_text(after.now_ns),
            "node": after.node or None,
            "error": after.error or None,
            "queue": camel_case(after.place) or None,
            "waitsFor": list(after.waits_for),
            "backoffEnd": None
            if after.backoff_end_ns < 0
            else shortest_time_text(after.backoff_end_ns),
            "nominatedNode": after.nominated_node or None,
        },
        "nextAttempt": None if next_ns is None else shortest_time_text(next_ns),
    }
    text = f"{number} of {count}, {run.describe(began_ns)}, event {past.end + 1}"
    return RecordedOutcome(when=text, then=then, document=document)


def _then(after: AttemptOutcome, began_ns: int) -> str:
    later = _later(after.now_ns - began_ns)
    match after.kind:
        case OutcomeKind.BOUND:
            return f"bound to {after.node} {later}"
        case OutcomeKind.GONE:
            return f"the pod was deleted {later}"
        case OutcomeKind.BINDING:
            where = f" to {after.node}" if after.node else ""
            return f"binding{where} had not completed {later}"
        case OutcomeKind.QUEUED:
            return _requeued(after, began_ns)


def _requeued(after: AttemptOutcome, began_ns: int) -> str:
    text = f"requeued as {QUEUE_LABELS.get(after.place, after.place)}"
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
    return f"{format_duration(duration_ns)} later" if duration_ns else "immediately"
