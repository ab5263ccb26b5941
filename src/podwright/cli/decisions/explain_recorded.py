"""`podwright explain --run`: explains one attempt of a recorded run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from podwright.apimachinery.objects import NamespacedName, Pod
from podwright.cli.console import announce_compilation, print_document, print_message
from podwright.cli.decisions.explanation_output import print_view
from podwright.cli.decisions.options import ExplainOptions
from podwright.cli.inputs import find_key, find_node, load_plugins
from podwright.cli.recorded.recorded_run import RecordedRun, open_for_command
from podwright.scheduler.assembly import UnknownPod
from podwright.scheduler.framework import Plugin
from podwright.scheduler.queueing import QueueName
from podwright.simulation.recording import (
    Cycles,
    DecisionLog,
    find_cycle,
    recorded_view,
    replay,
)


def run_explain_recorded(options: ExplainOptions, folder: Path) -> bool:
    """Explain one recorded attempt and print it; return whether the pod fit.

    With `--save-case`, the attempt is also written as a test.
    """
    run = RecordedRun(folder, load_plugins(options.setup.plugins))
    announce_compilation()
    with open_for_command(run):
        key, at_ns, cycles = _attempt_of(options, run)
        past = find_cycle(
            run.log, key, options.attempt or -1, at_ns=at_ns, plugins=run.plugins, cycles=cycles
        )
        if options.save_case is not None:
            from podwright.cli.decisions.save_case import save_case

            # First: a view replays the run beyond the cycle.
            save_case(run, past, options.save_case, options.setup.plugins)
        known = past.machine.cluster.nodes.slot_of
        where = "in the cluster at that time"
        requested = [find_node(name, known, where=where) for name in options.node]
        view = recorded_view(past, run.log, start_ns=run.start_ns, end_ns=run.end_ns)
        view = msgspec.structs.replace(view, nodes=tuple(requested))
        return print_view(view, shown=options.shown, output=options.output)


def run_explain_kss(options: ExplainOptions, folder: Path) -> bool:
    """Print a Pod with kube-scheduler-simulator's annotations; return whether the pod fit."""
    from podwright.simulation.kss import annotations_after, kss_history

    run = RecordedRun(folder, load_plugins(options.setup.plugins))
    announce_compilation()
    with open_for_command(run):
        key, at_ns, _ = _attempt_of(options, run)
        attempts = kss_history(
            run.log, key, options.attempt or -1, at_ns=at_ns, plugins=run.plugins
        )
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


def _attempt_of(options: ExplainOptions, run: RecordedRun) -> tuple[str, int | None, Cycles]:
    """Return the pod, the time of its attempt if that was given, and cycles with all of the pod."""
    text, namespace = options.pod, options.namespace
    cycles = Cycles(run.log, naming=text.rpartition("/")[2])
    try:
        key = find_key(text, cycles.pods, namespace=namespace)
    except UnknownPod:  # what is like it is searched among all
        cycles = Cycles(run.log)
        key = find_recorded_pod(text, run.log, cycles, namespace=namespace, plugins=run.plugins)
    return key, run.moment(options.at) if options.at else None, cycles


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
        why = f"it is gated: {', '.join(queued.gating_reasons) or queued.gating_plugin}"
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
    from podwright.cli.workloads import find_workload, owners_of

    known = {pod.key: pod for pod in pods if pod.key in cycles.pods}
    where = "with a scheduling attempt in this run"
    found = find_workload(text, owners_of(known.values()), namespace=namespace, where=where)
    return min(found.pods, key=lambda key: bool(known[key].spec.node_name)) if found else ""
