"""`podwright run show`: prints the cluster and the scheduling queue at a time of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from rich.text import Text

from podwright.apimachinery.documents import first_names
from podwright.apimachinery.objects import NamespacedName, Node, Pod, shortest_time_text
from podwright.apimachinery.schema import human_duration
from podwright.cli.console import (
    announce_compilation,
    duration_text,
    print_data,
    print_heading,
    print_message,
    print_paragraph,
    print_table,
)
from podwright.cli.inputs import load_plugins
from podwright.cli.recorded.options import RunShowOptions
from podwright.cli.recorded.recorded_run import RecordedRun, open_for_command
from podwright.scheduler.advice import format_amount
from podwright.scheduler.columns import PODS, NodeColumns
from podwright.scheduler.machine import Machine
from podwright.simulation.recording import (
    QUEUE_LABELS,
    ClusterAt,
    PendingPod,
    QueueAt,
    RunFolder,
    camel_case,
    cluster_of,
    queue_of,
    replay,
)

_NODES_SHOWN = 10
_PODS_SHOWN = 10
_ALWAYS = ("cpu", "memory")

Slots: TypeAlias = Sequence[int] | NDArray[np.intp]


def run_show(options: RunShowOptions) -> None:
    """Print the cluster and the queue at a time."""
    at, output = options.at, options.output
    run = RecordedRun(options.run, load_plugins(options.setup.plugins))
    announce_compilation()
    with open_for_command(run):
        now_ns = run.moment(at) if at else run.end_ns
        if now_ns > run.end_ns:
            print_message(f"the run ends at {run.describe(run.end_ns)}; showing its final state")
            now_ns = run.end_ns
        index = run.log.index_at_ns(now_ns)
        machine = replay(run.log, until=index, plugins=run.plugins)
        shown = MomentView(run, machine, now_ns, index)
        if not print_data(output, shown.document, shown.names()):
            shown.print(is_wide=output == "wide")


class MomentView:
    """The state of a run at one time, to be printed.

    Parameters
    ----------
    run : RecordedRun
    machine : Machine
        Its state at that time.
    now_ns : int
    index : int
        Number of events that it had handled.
    """

    def __init__(self, run: RecordedRun, machine: Machine, now_ns: int, index: int) -> None:
        self._run = run
        self._now_ns = now_ns
        self._index = index
        self._machine = machine
        self._cluster: ClusterAt = cluster_of(machine, now_ns)
        self._queue: QueueAt = queue_of(machine, now_ns)
        self._pods = [obj for obj in self._cluster.objects if isinstance(obj, Pod)]
        self._nodes = _by_use(machine.cluster.nodes)
        self._place_of = {
            pending.pod: place for place, pods in self._queue.places.items() for pending in pods
        }

    # ------------------------------------------------------------ documents

    def names(self) -> Iterator[str]:
        """Yield the names of all nodes and pods."""
        for slot in self._nodes:
            yield f"node/{self._machine.cluster.nodes.names[slot]}"
        for pod in self._pods:
            yield f"pod/{pod.key}"

    def document(self) -> dict[str, Any]:
        """Return the state as a plain document, untruncated."""
        columns = self._machine.cluster.nodes
        resources = _used_resources(columns)
        return {
            "run": str(self._run.path),
            "status": self._run.status or None,
            "time": shortest_time_text(self._now_ns),
            "sinceStart": self._run.since_start(self._now_ns),
            "event": self._index,
            "events": len(self._run.log),
            "summary": {
                "nodes": columns.n_alive,
                "pods": len(self._pods),
                "podsByPhase": dict(sorted(_phases(self._pods).items())),
                "podsOnNodes": len(self._cluster.node_of),
                "assumedPods": len(self._cluster.assumed),
                "queue": {
                    camel_case(place): len(pods) for place, pods in self._queue.places.items()
                },
                "resources": _use_document(columns, columns.alive.nonzero()[0], resources),
            },
            "nodes": [
                {
                    "name": columns.names[slot],
                    "status": _node_status(columns.objects[slot]),
                    "pods": int(columns.requested[slot, PODS]),
                    "podsAllowed": int(columns.allocatable[slot, PODS]),
                    "resources": _use_document(columns, [slot], resources),
                }
                for slot in self._nodes
            ],
            "pods": [
                {
                    "pod": pod.key,
                    "phase": _phase(pod),
                    "node": self._cluster.node_of.get(pod.key),
                    "queue": camel_case(self._place_of.get(pod.key, "")) or None,
                }
                for pod in self._pods
            ],
            "queue": {
                camel_case(place): [self._pending_document(pending) for pending in pods]
                for place, pods in self._queue.places.items()
            },
            "nominated": {node: list(pods) for node, pods in self._queue.nominated.items()},
        }

    def _pending_document(self, pending: PendingPod) -> dict[str, Any]:
        end_ns = pending.backoff_end_ns
        return {
            "pod": pending.pod,
            "priority": pending.priority,
            "attempts": pending.attempts,
            "since": shortest_time_text(pending.since_ns),
            "backoffEnd": None if end_ns < 0 else shortest_time_text(end_ns),
            "waitsFor": list(pending.waits_for),
        }

    # ------------------------------------------------------------ text

    def print(self, *, is_wide: bool) -> None:
        """Print the state as text; truncated unless `is_wide`."""
        self._print_summary()
        self._print_nodes(None if is_wide else _NODES_SHOWN)
        self.print_queue(None if is_wide else _PODS_SHOWN)
        if is_wide:
            self._print_pods()

    def _print_summary(self) -> None:
        columns = self._machine.cluster.nodes
        phases = _phases(self._pods)
        rows = [
            *self._status_rows(),
            ("Time:", self._run.describe(self._now_ns)),
            ("Events:", f"{self._index} of {len(self._run.log)}"),
            ("Nodes:", _counted(Counter(map(_node_status, _live(columns))), columns.n_alive)),
            ("Pods:", _counted(phases, len(self._pods))),
            ("Placed:", self._placed()),
            (
                "Queue:",
                queue_sizes_text({place: len(pods) for place, pods in self._queue.places.items()}),
            ),
        ]
        live = columns.alive.nonzero()[0]
        rows += [
            ("Used:" if number == 0 else "", f"{resource} {_use(columns, live, resource)}")
            for number, resource in enumerate(_used_resources(columns))
        ]
        for name, value in rows:
            print_paragraph(f"{name:10}{value}", hanging=10)

    def _status_rows(self) -> list[tuple[str, str]]:
        """Return the row that says why a run has no end."""
        status = self._run.status
        if status == "interrupted":
            return [("Status:", RunFolder.open(self._run.path).interruption)]
        return [("Status:", status)] if status == "running" else []

    def _placed(self) -> str:
        assumed = len(self._cluster.assumed)
        text = f"{len(self._cluster.node_of)} on nodes"
        return f"{text} ({assumed} of them assumed)" if assumed else text

    def _print_nodes(self, shown: int | None) -> None:
        columns = self._machine.cluster.nodes
        if not self._nodes:
            return
        resources = _used_resources(columns)
        others = [name for name in resources if name not in _ALWAYS]
        heads = ["NODE", "STATUS", "PODS", *(name.upper() for name in _ALWAYS)]
        heads += ["OTHER"] if others else []
        print_heading("Nodes (most utilized first):")
        rows: list[tuple[str, ...]] = []
        for slot in self._nodes[:shown]:
            count, allowed = columns.requested[slot, PODS], columns.allocatable[slot, PODS]
            cells = [columns.names[slot], _node_status(columns.objects[slot])]
            cells += [f"{count}/{allowed}", *(_use(columns, [slot], name) for name in _ALWAYS)]
            if others:
                amounts = [
                    f"{name} {_use(columns, [slot], name)}"
                    for name in others
                    if any(_amounts(columns, [slot], name))
                ]
                cells.append(", ".join(amounts))
            rows.append(tuple(cells))
        print_table(heads, rows, indent=2)
        _print_remainder(len(self._nodes), shown, "node")

    def print_queue(self, shown: int | None) -> None:
        """Print the subqueues and the nominated pods."""
        if not any(self._queue.places.values()):
            print_heading("The queue is empty.")
        for place, pods in self._queue.places.items():
            if not pods:
                continue
            name = QUEUE_LABELS.get(place, place)
            print_heading(f"{name[0].upper()}{name[1:]}:")
            heads = ("POD", "PRIORITY", "ATTEMPTS", "AGE", "BACKOFF", "WAITS FOR")
            print_table(heads, map(self._row, pods[:shown]), indent=2)
            _print_remainder(len(pods), shown, "pod")
        nominated = self._queue.nominated
        if nominated:
            print_heading("Nominated:")
            rows = [(node, _names(pods, shown)) for node, pods in islice(nominated.items(), shown)]
            print_table(("NODE", "PODS"), rows, indent=2)
            _print_remainder(len(nominated), shown, "node")

    def _row(self, pending: PendingPod) -> tuple[str | Text, ...]:
        left_ns = pending.backoff_end_ns - self._now_ns
        return (
            pending.pod,
            str(pending.priority),
            str(pending.attempts),
            human_duration(self._now_ns - pending.since_ns),
            duration_text(left_ns) if left_ns > 0 else "",
            ", ".join(pending.waits_for),
        )

    def _print_pods(self) -> None:
        if not self._pods:
            return
        print_heading("Pods:")
        rows = [
            (pod.key, _phase(pod), self._cluster.node_of.get(pod.key, ""), self._where(pod.key))
            for pod in self._pods
        ]
        print_table(("POD", "PHASE", "NODE", "QUEUE"), rows, indent=2)

    def _where(self, pod: NamespacedName) -> str:
        place = self._place_of.get(pod, "")
        return QUEUE_LABELS.get(place, place)


def _print_remainder(count: int, shown: int | None, noun: str) -> None:
    if shown is not None and count > shown:
        more = count - shown
        print_paragraph(f"and {more} more {noun}{'s' * (more != 1)} (-o wide)", indent=2)


def _names(pods: Sequence[str], shown: int | None) -> str:
    return first_names(pods, len(pods) if shown is None else shown)


def queue_sizes_text(sizes: Mapping[str, int]) -> str:
    """Return the number of pods in each subqueue as text."""
    found = [f"{count} {QUEUE_LABELS.get(place, place)}" for place, count in sizes.items() if count]
    return ", ".join(found) or "empty"


def _counted(counts: Mapping[str, int], total: int) -> str:
    parts = ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
    return f"{total}: {parts}" if parts else str(total)


# ---------------------------------------------------------------- pods and nodes


def _phase(pod: Pod) -> str:
    return pod.status.phase or "Pending"


def _phases(pods: Iterable[Pod]) -> Counter[str]:
    return Counter(map(_phase, pods))


def _live(columns: NodeColumns) -> list[Node]:
    return [node for node in columns.objects if node is not None]


def _node_status(node: Node | None) -> str:
    """Return the STATUS column of `kubectl get nodes`."""
    assert node is not None, "the slot is empty"
    ready = next((c.status for c in node.status.conditions if c.type == "Ready"), "Unknown")
    status = {"True": "Ready", "False": "NotReady"}.get(ready, "Unknown")
    return f"{status},SchedulingDisabled" if node.spec.unschedulable else status


def _by_use(columns: NodeColumns) -> list[int]:
    """Return the slots of the nodes, by decreasing share of their most utilized resource."""
    live = columns.alive.nonzero()[0]
    allowed, used = columns.allocatable[live], columns.requested[live]
    shares = np.divide(used, allowed, out=np.zeros(used.shape), where=allowed > 0)
    order = np.argsort(-shares.max(axis=1, initial=0.0), kind="stable")
    return [int(slot) for slot in live[order]]


def _used_resources(columns: NodeColumns) -> list[str]:
    """Return the resources to print: cpu, memory, and others that a pod requests."""
    return [
        name
        for name, place in columns.resources.items()
        if name in _ALWAYS or (place != PODS and columns.requested[columns.alive, place].any())
    ]


def _amounts(columns: NodeColumns, slots: Slots, resource: str) -> tuple[int, int]:
    place = columns.resources[resource]
    return int(columns.requested[slots, place].sum()), int(columns.allocatable[slots, place].sum())


def _use(columns: NodeColumns, slots: Slots, resource: str) -> str:
    used, allowed = _amounts(columns, slots, resource)
    share = f" {100 * used // allowed}%" if allowed else ""
    return f"{format_amount(resource, used)}/{format_amount(resource, allowed)}{share}"


def _use_document(columns: NodeColumns, slots: Slots, resources: Iterable[str]) -> dict[str, Any]:
    document = {}
    for resource in resources:
        used, allowed = _amounts(columns, slots, resource)
        unit = "m" if resource == "cpu" else ""
        document[resource] = {
            "requested": f"{used}{unit}",
            "allocatable": f"{allowed}{unit}",
            "share": used / allowed if allowed else None,
        }
    return document
