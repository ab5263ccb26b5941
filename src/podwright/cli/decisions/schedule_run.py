"""`podwright schedule`: schedules pending pods and prints the decisions."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Sequence
from typing import Any

from rich.text import Text

from podwright.apimachinery.objects import (
    Condition,
    DeviceClass,
    Node,
    Pod,
    PodwrightError,
    encode,
    with_condition,
    with_node_name,
)
from podwright.cli.console import (
    NO_NODE,
    announce_compilation,
    print_data,
    print_document,
    print_heading,
    print_message,
    print_paragraph,
    print_table,
    progress,
)
from podwright.cli.decisions.options import ScheduleOptions
from podwright.cli.inputs import load_all, warn_of_missing_resources
from podwright.cli.options import Setup
from podwright.cli.workloads import expand_workloads, find_pods
from podwright.scheduler.assembly import Scheduler
from podwright.scheduler.framework import Decision
from podwright.simulation.recording import (
    decision_document,
    nomination_of,
    outcome_of,
    rejections_of,
)

_PODS_SHOWN = 4
_GATED = "Scheduling is blocked due to non-empty scheduling gates"


class NothingToSchedule(PodwrightError):  # noqa: N818 - named for what it is
    """There are no pending pods."""


def run_schedule(options: ScheduleOptions) -> bool:
    """Schedule pods and print the decisions; return whether all printed pods fit.

    Raises
    ------
    NothingToSchedule
        If there are no pending pods: a check that checked nothing must not succeed.
    """
    output, only_namespace = options.output, options.only_namespace
    namespace = options.namespace or only_namespace
    loaded, scheduler = load_all(options.files, options.setup)
    expansion = expand_workloads(loaded, options.setup.hpa)
    objects = expansion.with_objects(loaded.objects)
    scheduler.add(*objects)
    placed_count = len(scheduler.cluster.pods)
    pods = [obj for obj in objects if isinstance(obj, Pod)]
    if options.pods:
        found = [
            find_pods(text, pods, expansion.workloads, namespace=namespace)[0]
            for text in options.pods
        ]
        keys = dict.fromkeys(key for several in found for key in several)
        queue = [_pending(scheduler, key) for key in keys]
    else:
        queue = [
            pod
            for pod in scheduler.in_queue_order()
            if only_namespace in ("", pod.metadata.namespace)
        ]
    announce_compilation()
    decided = scheduler.schedule_each([pod.key for pod in queue])
    all_decisions = list(progress(decided, "scheduling", len(queue)))
    decisions = [d for d in all_decisions if namespace in ("", d.pod.metadata.namespace)]
    if not decisions:
        raise NothingToSchedule(_nothing_to_do(scheduler, len(pods), placed_count, namespace))
    _print(decisions, output, with_messages=not options.explain)
    if output in ("table", "wide"):
        if options.explain:
            _print_reasons(decisions)
        hidden = len(all_decisions) - len(decisions)
        print_message(summary(decisions, len(scheduler.cluster.live_slots())))
        if hidden:
            was = "was" if hidden == 1 else "were"
            print_message(
                f"{_count(hidden, 'pod')} of other namespaces {was} scheduled as well"
                " (--only-namespace leaves them out)."
            )
        unfit = [decision.pod for decision in decisions if outcome_of(decision) in _UNFIT]
        warn_of_missing_resources(unfit, loaded.of(Node), loaded.of(DeviceClass))
        if options.explain:
            _suggest(decisions, options.files, options.setup)
    is_within_quotas = not any(
        namespace in ("", key.partition("/")[0]) for key in expansion.rejected
    )
    return is_within_quotas and all(outcome_of(each) not in _UNFIT for each in decisions)


def _pending(scheduler: Scheduler, key: str) -> Pod:
    from podwright.scheduler.assembly import UnknownPod

    pod = scheduler.pending.get(key)
    if pod is not None:
        return pod
    placed = scheduler.cluster.pods.get(key)
    if placed is None:
        raise UnknownPod(f"pod {key} is neither pending nor on a node of these files")
    node = scheduler.cluster.nodes.names[placed.slot]
    raise UnknownPod(f"pod {key} is already on node {node}; see: podwright explain {key}")


def _nothing_to_do(scheduler: Scheduler, pod_count: int, placed_count: int, namespace: str) -> str:
    nodes = len(scheduler.cluster.live_slots())
    where = f" in namespace {namespace}" if namespace else ""
    return (
        f"nothing to schedule: no pending pods{where} among {_count(pod_count, 'pod')} "
        f"({placed_count} already placed, {_count(nodes, 'node')})"
    )


# ---------------------------------------------------------------- outcomes

_UNFIT = frozenset({"Unschedulable", "SchedulerError"})


def message_of(decision: Decision) -> str:
    """Return the message of a decision, with the effect of preemption."""
    node, victims = nomination_of(decision)
    if not node:
        return decision.message
    names = ", ".join(pod.key for pod in victims)
    what = f"preemption would evict {names} from {node}" if names else f"nominated to {node}"
    return f"{decision.message} {what}.".lstrip()


def summary(decisions: Sequence[Decision], node_count: int) -> str:
    """Return one sentence that counts the outcomes of all decisions."""
    counts: dict[str, int] = {}
    for decision in decisions:
        outcome = outcome_of(decision)
        counts[outcome] = counts.get(outcome, 0) + 1
    phrases = {
        "Unschedulable": ("does not fit", "do not fit"),
        "SchedulerError": ("failed", "failed"),
        "SchedulingGated": ("is gated", "are gated"),
        "Ignored": ("uses another scheduler", "use another scheduler"),
    }
    placed = counts.pop("Scheduled", 0)
    total = _count(len(decisions), "pending pod")
    parts = [f"{placed} of {total} scheduled on {_count(node_count, 'node')}"]
    parts += [f"{n} {phrases[outcome][n > 1]}" for outcome, n in counts.items()]
    return "; ".join(parts) + "."


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


# ---------------------------------------------------------------- printing


def _print(decisions: Sequence[Decision], output: str, *, with_messages: bool) -> None:
    placed = (decision.pod.key for decision in decisions if decision.node)
    if print_data(output, lambda: {"decisions": list(map(decision_document, decisions))}, placed):
        return
    if output == "pods":
        items = [_pod_document(decision) for decision in decisions]
        print_document({"apiVersion": "v1", "kind": "List", "items": items}, "yaml")
    elif output == "wide":
        print_table(_WIDE_HEADS, map(_wide, decisions))
    elif with_messages:
        heads = ("NAMESPACE", "POD", "NODE", "MESSAGE")
        print_table(heads, ((*_names(d), _node(d), message_of(d)) for d in decisions))
    else:
        print_table(("NAMESPACE", "POD", "NODE"), ((*_names(d), _node(d)) for d in decisions))


_WIDE_HEADS = (
    "NAMESPACE", "POD", "NODE", "PRIORITY", "FEASIBLE", "EXAMINED", "TIES", "SCORE", "MESSAGE",
)  # fmt: skip


def _names(decision: Decision) -> tuple[str, str]:
    return decision.pod.metadata.namespace, decision.pod.metadata.name


def _node(decision: Decision) -> Text:
    return Text(decision.node, style="green") if decision.node else Text(NO_NODE, style="red")


def _wide(decision: Decision) -> tuple[str | Text, ...]:
    return (
        *_names(decision),
        _node(decision),
        str(decision.pod.spec.priority or 0),
        str(decision.feasible_count),
        str(decision.evaluated_count),
        str(decision.tie_count) if decision.node else "",
        "" if decision.total is None else str(decision.total),
        message_of(decision),
    )


def _pod_document(decision: Decision) -> dict[str, Any]:
    pod = decision.pod
    if decision.node:
        return encode(with_node_name(pod, decision.node))
    outcome = outcome_of(decision)
    if outcome == "Ignored":
        return encode(pod)
    # kube-apiserver writes this message; the scheduler's plugin names the gates instead.
    message = _GATED if outcome == "SchedulingGated" else decision.message
    condition = Condition(type="PodScheduled", status="False", reason=outcome, message=message)
    return encode(with_condition(pod, condition))


def _print_reasons(decisions: Sequence[Decision]) -> None:
    """Print below the table why pods are unscheduled, one line per reason."""
    alike: dict[tuple[str, ...], list[Decision]] = {}
    for decision in decisions:
        if not decision.node:
            alike.setdefault(_reasons(decision), []).append(decision)
    if alike:
        print_heading("Reasons by pod:")
    for reasons, left in alike.items():
        names = [decision.pod.key for decision in left[:_PODS_SHOWN]]
        more = f" and {len(left) - _PODS_SHOWN} more" if len(left) > _PODS_SHOWN else ""
        print_paragraph(f"{', '.join(names)}{more}", indent=2, hanging=2)
        for reason in reasons:
            print_paragraph(reason, indent=4, hanging=4)


def _reasons(decision: Decision) -> tuple[str, ...]:
    """Return why a pod is unscheduled, one line per reason; pods with equal lines are grouped."""
    counts: dict[str, int] = {}
    for rejection in rejections_of(decision):
        # Statuses that differ only in their code have the same text.
        text = f"{rejection.status.message} ({rejection.status.plugin or 'PreFilter'})"
        counts[text] = counts.get(text, 0) + rejection.count
    lines = [f"{_count(count, 'node')}: {text}" for text, count in counts.items()]
    node, victims = nomination_of(decision)
    if node:
        names = ", ".join(pod.key for pod in victims) or "no pod"
        lines.append(f"preemption would nominate it to {node} and evict {names}")
    return tuple(lines) or (decision.message,)


def _suggest(decisions: Sequence[Decision], files: Sequence[str], setup: Setup) -> None:
    """Print `podwright explain` commands for two of the pods, with the options of this one."""
    if "-" in files:
        # What stdin had is gone when the command is pasted.
        return
    where = shlex.join([*files, *setup.arguments()])
    left = next((d for d in decisions if not d.node), None)
    placed = next((d for d in reversed(decisions) if d.total is not None), None)
    if left is not None or placed is not None:
        print_message("\nNext steps:")
    if left is not None:
        print_message(f"  # what would make {left.pod.key} fit")
        print_message(f"  {_program()} explain {left.pod.key} {where}")
    if placed is not None:
        print_message(f"  # why {placed.pod.key} is scheduled to {placed.node}")
        print_message(f"  {_program()} explain {placed.pod.key} {where}")


def _program() -> str:
    """Return the command to call podwright with; `make run` does not put it on PATH."""
    called = sys.argv[0]
    is_by_path = called.endswith("/podwright") and shutil.which("podwright") is None
    return shlex.quote(called) if is_by_path else "podwright"
