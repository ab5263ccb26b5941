"""`podwright explain`: evaluates one pod."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from podwright.apimachinery.objects import FieldError, InputError, KubernetesObject, Pod
from podwright.cli.clusters.options import CLUSTER_PREFIX
from podwright.cli.console import (
    announce_compilation,
    print_heading,
    print_message,
    print_paragraph,
    progress,
    waiting,
)
from podwright.cli.decisions.explanation_output import print_view
from podwright.cli.decisions.options import ExplainOptions
from podwright.cli.inputs import (
    find_node,
    read_inputs,
    scheduler_of,
    scheduler_options,
    warn_of_idle_groups,
)
from podwright.cli.options import Setup
from podwright.cli.workloads import (
    expand_workloads,
    find_pods,
    namespace_in,
    reject_swapped,
)
from podwright.cluster.controllers import ExpandedWorkload
from podwright.cluster.store import GroupKind, kind_of
from podwright.scheduler.assembly import Scheduler, UnknownPod
from podwright.simulation.recording import ExplanationView, WorkloadView, present_view, view_of_pod


def run_explain(options: ExplainOptions) -> bool:
    """Explain one pod and print the explanation; return whether the pod fits."""
    text, files, setup, namespace = options.pod, options.files, options.setup, options.namespace
    reject_swapped(text, files)
    if not files:
        print_message("no FILE is given: reading the cluster of the current context")
        files = (CLUSTER_PREFIX,)
        namespace = namespace or namespace_in(text, CLUSTER_PREFIX)
    is_cluster = all(name.startswith(CLUSTER_PREFIX) for name in files)
    where = "in the cluster" if is_cluster else "in these files"
    # Imported where it is used: it has 82 modules that other explanations do not need.
    autoscaling = None
    if options.node_groups:
        from podwright.simulation.autoscaling import read_node_groups

        autoscaling = read_node_groups(options.node_groups)
    inputs = read_inputs(files, setup)
    loaded, scheduler = inputs.loaded, scheduler_of(inputs, setup)
    warn_of_idle_groups(inputs, scheduler)
    expansion = expand_workloads(loaded, setup.hpa)
    objects = expansion.with_objects(loaded.objects)
    pods = [obj for obj in objects if isinstance(obj, Pod)]
    if not pods and not expansion.workloads:
        have = "it has" if is_cluster else "they contain"
        raise UnknownPod(f'no pod "{text}" {where}: {have} no pods and no workloads')
    keys, workload = find_pods(text, pods, expansion.workloads, namespace=namespace, where=where)
    scheduler.add(*objects)
    known = scheduler.cluster.nodes.slot_of
    requested = [find_node(name, known, where=where) for name in options.node]
    announce_compilation()
    key, of = keys[0], None
    if workload is not None:
        key, of = _pod_of(scheduler, workload, is_alone=options.alone)
    by_key = {(kind_of(obj), obj.key): obj for obj in objects}
    view = _explain(
        scheduler, key, setup, is_alone=options.alone, present=lambda *each: by_key.get(each)
    )
    view = msgspec.structs.replace(view, nodes=tuple(requested), workload=of)
    fits = print_view(view, shown=options.shown, output=options.output)
    if options.output in ("table", "wide"):
        _print_other_scheduler(view.explanation.pod, scheduler.scheduler_names)
    if autoscaling is not None and not fits and not view.explanation.pod.spec.node_name:
        from podwright.cli.planning.autoscale_run import print_groups
        from podwright.simulation.autoscaling import explain_autoscaling

        print_heading("Node groups:")
        how = scheduler_options(inputs, setup)
        found = explain_autoscaling(objects, autoscaling, [key], how, expands_workloads=False)
        print_groups(found)
    return fits


def _print_other_scheduler(pod: Pod, known: Sequence[str]) -> None:
    """Print which scheduler schedules a pod that no profile of the configuration matches."""
    name = pod.spec.scheduler_name
    if name in known:
        return
    profiles = f"has only the profile{'s' * (len(known) != 1)} {', '.join(known)}"
    print_heading(f"Another scheduler schedules this pod: {name}.")
    print_paragraph(
        f"The configuration {profiles}. To explain the pod, pass the configuration of {name} with"
        " -c/--config.",
        indent=2,
    )


def _pod_of(
    scheduler: Scheduler, workload: ExpandedWorkload, *, is_alone: bool
) -> tuple[str, WorkloadView]:
    """Return the pod of a workload to explain: the first that does not fit, or the first.

    With ``--alone``, no other pods are scheduled before: then it is the first pending pod.
    """
    pending = [key for key in workload.pods if key in scheduler.pending]
    unfit: set[str] = set()
    if pending and not is_alone:
        before = scheduler.state()
        own = set(pending)
        decided = progress(scheduler.schedule_all(), "scheduling", len(scheduler.pending))
        unfit = {d.pod.key for d in decided if d.pod.key in own and not d.node}
        before.restore()
    # Pods that exist precede those that the controllers have yet to create.
    ordered = [key for key in workload.pods if key in unfit]
    key = next(iter((*ordered, *pending, *workload.pods)))
    return key, WorkloadView(
        kind=workload.kind,
        key=workload.key,
        pod_count=len(workload.pods),
        unfit=None if is_alone else tuple(ordered),
    )


def _explain(
    scheduler: Scheduler,
    key: str,
    setup: Setup,
    *,
    is_alone: bool,
    present: Callable[[GroupKind, str], KubernetesObject | None],
) -> ExplanationView:
    placed = scheduler.cluster.pods.get(key)
    draw: dict[str, Any] = {
        "seed": setup.seed,
        "tie_rule": setup.tie_rule,
        "present": present,
    }
    if placed is not None and is_alone:
        node = scheduler.cluster.nodes.names[placed.slot]
        message = f"has no effect with POD {key}, which is on node {node}"
        raise InputError([FieldError(source="options", path="--alone", message=message)])
    if placed is None and key not in scheduler.pending:
        raise UnknownPod(
            f"pod {key} is neither pending nor on a known node: it has finished, or its node is "
            "missing"
        )
    if placed is not None or is_alone:
        with waiting("trying changes"):
            return view_of_pod(scheduler, key, **draw)
    since = scheduler.state()
    before = scheduler.schedule_before(key)
    decided = progress(before, "scheduling the pods ahead", len(scheduler.pending))
    placed_before = sum(bool(decision.node) for decision in decided)
    explanation = scheduler.explain(key)
    with waiting("trying changes"):
        return present_view(
            scheduler, explanation, since=since, placed_before=placed_before, **draw
        )
