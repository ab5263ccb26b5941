"""The tables of a run: decisions, waits, utilization, fragmentation, pending pods, preemptions.

`RunTables` observes a world while it runs and fills six tables (`TABLES` has their columns);
docs/reference/run-folder.md describes each column.

Events have a row each: an attempt, the end of a wait, a victim. States (utilization,
fragmentation, pending pods) are sampled: a row holds from its time until the next row. A sample is
taken where the state has changed, but at most one per interval of virtual time; changes in between
are in the next sample.

`fragmentation` defines the fragmentation of a resource.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

import msgspec
import numpy as np

from podwright._arrays import I64Array
from podwright._checkpointed import Checkpointed, Saved
from podwright.apimachinery.objects import KubernetesObject, NamespacedName, Node, Pod
from podwright.scheduler.columns import Cluster
from podwright.scheduler.framework import Decision
from podwright.scheduler.machine import Failure, Machine
from podwright.scheduler.preemption import Preemption
from podwright.simulation.recording.explanations.outcome import (
    FAILED,
    gated_pods,
    main_reason,
    permit_waits,
)
from podwright.simulation.recording.usage.fragmentation_meter import (
    FragmentationMeter,
    TypicalPods,
)
from podwright.simulation.recording.usage.utilization import (
    DeviceShares,
    NodeAmounts,
    UtilizationMeter,
)

# The rows of a table during a run, column by column.

ColumnType: TypeAlias = Literal["time", "int", "maybe", "float", "name", "text"]
"""`time`: nanoseconds since 1970. `maybe`: an int or None. `name`: a text with few
distinct values, or None.
"""

Columns: TypeAlias = dict[str, list[Any]]


class TableRows:
    """The rows of one table, column by column."""

    def __init__(self, types: Mapping[str, ColumnType]) -> None:
        self._names = tuple(types)
        self._columns: list[Any] = [_empty(kind) for kind in types.values()]
        self._append = [column.append for column in self._columns]

    def __len__(self) -> int:
        return len(self._columns[0])

    def add(self, *values: Any) -> None:
        """Add a row, in the order of the columns."""
        for append, value in zip(self._append, values, strict=True):
            append(value)

    def amend(self, index: int, **values: Any) -> None:
        """Replace values of a row, by the names of their columns."""
        for name, value in values.items():
            self._columns[self._names.index(name)][index] = value

    def extend(self, columns: Columns) -> None:
        """Add the rows of another table of the same columns."""
        for name, column in zip(self._names, self._columns, strict=True):
            column.extend(columns[name])

    def take(self, count: int) -> Columns:
        """Remove the first rows and return them."""
        taken = {}
        for name, column in zip(self._names, self._columns, strict=True):
            taken[name] = list(column[:count])
            del column[:count]
        return taken

    def columns(self) -> Columns:
        """Return all rows."""
        return {name: list(column) for name, column in zip(self._names, self._columns, strict=True)}


def _empty(kind: ColumnType) -> Any:
    # Eight bytes for each value; a list needs a reference and an object.
    if kind in ("time", "int"):
        return array("q")
    return array("d") if kind == "float" else []


TABLES: Final[Mapping[str, Mapping[str, ColumnType]]] = {
    "decisions": {
        "time": "time",
        "namespace": "name",
        "pod": "text",
        "attempt": "int",
        "result": "name",
        "node": "name",
        "nominated_node": "name",
        "evaluated_nodes": "int",
        "feasible_nodes": "int",
        "tied_nodes": "int",
        "score": "maybe",
        "message": "name",
    },
    "waits": {
        "created": "time",
        "ended": "time",
        "namespace": "name",
        "pod": "text",
        "priority": "int",
        "outcome": "name",
        "node": "name",
        "attempts": "int",
        "wait_ns": "int",
    },
    "utilization": {
        "time": "time",
        "resource": "name",
        "allocatable": "int",
        "requested": "int",
        "share": "float",
    },
    "fragmentation": {
        "time": "time",
        "resource": "name",
        "free": "int",
        "unusable": "float",
        "share": "float",
    },
    "pending": {"time": "time", "reason": "name", "pods": "int"},
    "preemptions": {
        "time": "time",
        "namespace": "name",
        "pod": "text",
        "priority": "int",
        "node": "name",
        "victim_namespace": "name",
        "victim": "text",
        "victim_priority": "int",
    },
}
"""The columns of each table, with their types."""

NOT_TRIED: Final = "not tried yet"
GATED: Final = "SchedulingGated"
FOREIGN: Final = "for another scheduler"
BINDING: Final = "Binding"
"""The result of an attempt that was not over at the end of the run, and the reason of its pod."""

_ENDED: Final = ("Succeeded", "Failed")


class Waiting(msgspec.Struct):
    """A pod without a node.

    Attributes
    ----------
    created_ns : int
        The time of its creation.
    reason : str
        The main reason: what most nodes lack.
    message : str
        The full message, in upstream's words.
    attempts : int
        The number of scheduling attempts.
    """

    created_ns: int
    priority: int
    reason: str
    message: str = ""
    attempts: int = 0


class Counts(msgspec.Struct, kw_only=True, rename="camel"):
    """The counts of a run."""

    created: int = 0
    placed: int = 0
    succeeded: int = 0
    failed: int = 0
    deleted: int = 0
    decisions: int = 0
    failed_decisions: int = 0
    preemptions: int = 0
    victims: int = 0


class RunTables(Checkpointed):
    """Observes a world while it runs, and fills the tables.

    Parameters
    ----------
    sample_ns : int
        The minimum time between two samples.
    sampled : callable, optional
        Receives the time and the amounts of the nodes of each sample.

    Attributes
    ----------
    counts : Counts
    waiting : dict
        The reason for each pod without a node.
    utilization : UtilizationMeter
    fragmentation : FragmentationMeter
        Their means and peaks do not depend on samples.
    """

    counts: Saved[Counts]
    waiting: Saved[dict[NamespacedName, Waiting]]
    _typical_pods: Saved[TypicalPods]
    utilization: Saved[UtilizationMeter]
    fragmentation: Saved[FragmentationMeter]
    _sampled_ns: Saved[int | None]
    _shown_reasons: Saved[tuple[str, ...]]
    _is_changed: Saved[bool]
    _ignored_count: Saved[int]
    _first_ignored: Saved[str]
    _open: Saved[dict[tuple[NamespacedName, str], int]]

    def __init__(
        self, sample_ns: int, *, sampled: Callable[[int, NodeAmounts], None] | None = None
    ) -> None:
        self._sample_ns = sample_ns
        self._report_sample = sampled
        self._machine: Machine | None = None
        self._rows = {name: TableRows(types) for name, types in TABLES.items()}
        self.counts = Counts()
        self.waiting = {}
        self._typical_pods = TypicalPods()
        self._amounts = NodeAmounts(only_ready=True)
        self._shares = DeviceShares()
        self.utilization = UtilizationMeter()
        self.fragmentation = FragmentationMeter(self._typical_pods)
        self._sampled_ns = None
        self._shown_reasons = ()
        self._is_changed = True
        self._failed: dict[NamespacedName, Failure] = {}
        self._ignored_count = 0
        self._first_ignored = ""
        # An attempt is open from its decision until the pod is bound or the attempt fails:
        # name and UID of the pod, and the index of the row.
        self._open = {}

    def attach(self, machine: Machine) -> None:
        """Set the machine whose cluster is sampled."""
        self._machine = machine
        machine.watch_failures(self.failed, self._note_ignored)

    # ------------------------------------------------------------------- observing

    def changed(
        self, old: KubernetesObject | None, new: KubernetesObject | None, now_ns: int
    ) -> None:
        """Receive a created, updated or deleted object."""
        obj = new if new is not None else old
        if isinstance(obj, Pod):
            assert old is None or isinstance(old, Pod), "a pod was something else"
            if new is None:
                self._gone(obj, now_ns)
            elif old is None:
                self._appeared(obj, now_ns)
            else:
                self._changed(old, obj, now_ns)
        elif isinstance(obj, Node):
            self._is_changed = True

    def was_there(self, pod: Pod, created_ns: int, attempts: int) -> None:
        """Receive a pod that was created before the first event.

        Parameters
        ----------
        created_ns : int
        attempts : int
            The number of its attempts so far.
        """
        self._add(pod, created_ns)
        waiting = self.waiting.get(pod.key)
        if waiting is not None:
            waiting.attempts = attempts

    def _appeared(self, pod: Pod, now_ns: int) -> None:
        self.counts.created += 1
        self._add(pod, now_ns)

    def _add(self, pod: Pod, created_ns: int) -> None:
        devices = None if self._machine is None else self._machine.cluster.devices
        self._typical_pods.add(pod, devices)
        if pod.spec.node_name:
            self._is_changed = True
        elif pod.status.phase not in _ENDED:
            reason = GATED if pod.spec.scheduling_gates else NOT_TRIED
            if self._machine is not None and self._machine.runner(pod.spec.scheduler_name) is None:
                reason = FOREIGN
            self.waiting[pod.key] = Waiting(created_ns, pod.spec.priority or 0, reason)

    def _changed(self, old: Pod, new: Pod, now_ns: int) -> None:
        if new.spec.node_name and not old.spec.node_name:
            self.counts.placed += 1
            self._open.pop((new.key, new.metadata.uid), None)
            self._stop_waiting(new, "Scheduled", now_ns)
            self._is_changed = True
        elif not new.spec.node_name and old.spec.scheduling_gates:
            waiting = self.waiting.get(new.key)
            if waiting is not None and not new.spec.scheduling_gates:
                waiting.reason = NOT_TRIED
        phase = new.status.phase
        if phase != old.status.phase and phase in _ENDED:
            self._is_changed = True
            if phase == "Succeeded":
                self.counts.succeeded += 1
            else:
                self.counts.failed += 1
            self._stop_waiting(new, phase, now_ns)

    def _gone(self, pod: Pod, now_ns: int) -> None:
        self.counts.deleted += 1
        self._is_changed = True
        self._stop_waiting(pod, "Deleted", now_ns)

    def _stop_waiting(self, pod: Pod, outcome: str, now_ns: int) -> None:
        waiting = self.waiting.pop(pod.key, None)
        if waiting is not None:
            node = pod.spec.node_name or ""
            self._end_wait(pod.key, waiting, outcome, node, now_ns)

    def _end_wait(
        self, key: NamespacedName, waiting: Waiting, outcome: str, node: str, now_ns: int
    ) -> None:
        namespace, _, name = key.partition("/")
        self._rows["waits"].add(
            waiting.created_ns,
            now_ns,
            namespace,
            name,
            waiting.priority,
            outcome,
            node or None,
            waiting.attempts,
            now_ns - waiting.created_ns,
        )

    def decided(self, decisions: Sequence[Decision], now_ns: int) -> None:
        """Receive the decisions of a scheduling cycle that ended."""
        for decision in decisions:
            self._decided(decision, now_ns)
        for key, failure in self._failed.items():
            if key in self.waiting:
                _note_failure(self.waiting[key], failure)
        self._failed.clear()

    def failed(self, pod: Pod, failure: Failure, now_ns: int) -> None:
        """Receive a failed attempt: of the cycle that is ending, or after its decision.

        An attempt that fails after its decision keeps its row, which gets the result.
        """
        row = self._open.pop((pod.key, pod.metadata.uid), None)
        if row is None:
            self._failed[pod.key] = failure
            return
        self.counts.failed_decisions += 1
        self._rows["decisions"].amend(row, result=_result_of(failure), message=failure.message)
        waiting = self.waiting.get(pod.key)
        if waiting is not None and waiting.attempts:
            _note_failure(waiting, failure)

    def _note_ignored(self, text: str) -> None:
        self._ignored_count += 1
        self._first_ignored = self._first_ignored or text

    def _decided(self, decision: Decision, now_ns: int) -> None:
        pod = decision.pod
        waiting = self.waiting.get(pod.key)
        failure = self._failed.pop(pod.key, None)
        attempt = 0
        if waiting is not None:
            waiting.attempts += 1
            attempt = waiting.attempts
        self.counts.decisions += 1
        result, message = "Scheduled", ""
        if not decision.node:
            self.counts.failed_decisions += 1
            result = "Unschedulable" if decision.error is None else FAILED
            message = decision.message
            if waiting is not None:
                waiting.reason, waiting.message = main_reason(decision), message
        elif failure is not None:
            self.counts.failed_decisions += 1
            result, message = _result_of(failure), failure.message
            if waiting is not None:
                _note_failure(waiting, failure)
        else:
            self._open[pod.key, pod.metadata.uid] = len(self._rows["decisions"])
            if waiting is not None:
                waiting.reason, waiting.message = BINDING, ""
        self._rows["decisions"].add(
            now_ns,
            pod.namespace,
            pod.name,
            attempt,
            result,
            decision.node or None,
            self._note_preemption(decision, now_ns) or None,
            decision.evaluated_count,
            decision.feasible_count,
            decision.tie_count,
            decision.total,
            message or None,
        )

    def _note_preemption(self, decision: Decision, now_ns: int) -> str:
        """Add the victims to the table, and return the nominated node."""
        result = decision.post_filter
        if result is None or not result.nominated_node:
            return ""
        if isinstance(result.details, Preemption) and result.details.victims:
            pod = decision.pod
            self.counts.preemptions += 1
            for victim in result.details.victims:
                self.counts.victims += 1
                self._rows["preemptions"].add(
                    now_ns,
                    pod.namespace,
                    pod.name,
                    pod.spec.priority or 0,
                    result.nominated_node,
                    victim.namespace,
                    victim.name,
                    victim.spec.priority or 0,
                )
        return result.nominated_node

    # ---------------------------------------------------------------------- sampling

    def passed(self, before_ns: int, now_ns: int) -> None:
        """Receive that time advances; take a sample of the state before, if one is due."""
        assert self._machine is not None, "attach a machine before time advances"
        self._advance(self._machine.cluster, before_ns, now_ns)
        if not self._is_changed:
            return
        due_ns = before_ns
        if self._sampled_ns is not None:
            due_ns = max(before_ns, self._sampled_ns + self._sample_ns)
        if due_ns < now_ns:
            self.sample(due_ns)

    def _advance(self, cluster: Cluster, before_ns: int, now_ns: int) -> None:
        """Count the current state from a time until another one."""
        changed = self._amounts.update(cluster.nodes)
        self.utilization.advance(self._amounts, changed, before_ns, now_ns)
        changed = self._with_devices(changed, cluster)
        self.fragmentation.advance(self._amounts, changed, before_ns, self._shares.free)

    def _with_devices(self, changed: I64Array | None, cluster: Cluster) -> I64Array | None:
        """Return the changed slots, those with changed shares of devices included."""
        slots = self._shares.update(cluster)
        if slots is None or changed is None:
            return None
        return np.union1d(changed, slots) if len(slots) else changed

    def end(self, now_ns: int) -> None:
        """Take the last sample, and add the pods that still wait."""
        assert self._machine is not None, "attach a machine before the end"
        cluster = self._machine.cluster
        changed = self._amounts.update(cluster.nodes)
        self.utilization.end(self._amounts, changed, now_ns)
        changed = self._with_devices(changed, cluster)
        self.fragmentation.end(self._amounts, changed, now_ns, self._shares.free)
        if self._sampled_ns is None or self._sampled_ns < now_ns:
            self.sample(now_ns)
        for key, waiting in self.waiting.items():
            self._end_wait(key, waiting, "Pending", "", now_ns)
        for row in self._open.values():
            self._rows["decisions"].amend(row, result=BINDING)

    def sample(self, at_ns: int) -> None:
        """Take a sample of the state."""
        assert self._machine is not None, "attach a machine before sampling"
        self._sampled_ns, self._is_changed = at_ns, False
        self._advance(self._machine.cluster, at_ns, at_ns)
        amounts, fragmentation = self._amounts, self.fragmentation
        sums: list[int] = amounts.allocatable_sums.tolist()
        taken: list[int] = amounts.requested_sums.tolist()
        left, unusable = fragmentation.free, fragmentation.unusable
        for resource, index in amounts.columns.items():
            if not sums[index]:
                continue
            share = taken[index] / sums[index]
            self._rows["utilization"].add(at_ns, resource, sums[index], taken[index], share)
            lost = unusable[index]
            share = lost / left[index] if left[index] else 0.0
            self._rows["fragmentation"].add(at_ns, resource, left[index], lost, share)
        if self._report_sample is not None:
            self._report_sample(at_ns, amounts)
        self._sample_pending(at_ns)

    def _sample_pending(self, at_ns: int) -> None:
        counts = self.pending_by_reason()
        # A row holds until the next one, so a reason that has no more pods gets a zero once.
        for reason in sorted({*counts, *self._shown_reasons}):
            self._rows["pending"].add(at_ns, reason, counts.get(reason, 0))
        self._shown_reasons = tuple(counts)

    def pending_by_reason(self) -> dict[str, int]:
        """Return the number of pods without a node, by main reason."""
        counts: dict[str, int] = {}
        held: dict[NamespacedName, str] = {}
        if self._machine is not None:
            held = permit_waits(self._machine)
            held |= {key: reason for key, (_, reason) in gated_pods(self._machine).items()}
        for key, waiting in self.waiting.items():
            reason = held.get(key, waiting.reason)
            counts[reason] = counts.get(reason, 0) + 1
        return dict(sorted(counts.items()))

    def errors(self) -> tuple[str, ...]:
        """Return sentences about pending pods with errors, and errors that have no effect."""
        found = []
        failed = {key: one.message for key, one in self.waiting.items() if one.reason == FAILED}
        if failed:
            key, message = next(iter(failed.items()))
            more = f" (and {len(failed) - 1} more with errors)" if len(failed) > 1 else ""
            found.append(f"pod {key}{more} is not scheduled: {message}")
        if self._ignored_count:
            more = f" ({self._ignored_count} such errors)" if self._ignored_count > 1 else ""
            found.append(f"{self._first_ignored}, which has no effect{more}")
        return tuple(found)

    def never_tried(self) -> tuple[NamespacedName, ...]:
        """Return the pending pods without a scheduling attempt that no plugin gates."""
        held = {} if self._machine is None else gated_pods(self._machine)
        return tuple(
            key
            for key, waiting in self.waiting.items()
            if waiting.reason == NOT_TRIED and not waiting.attempts and key not in held
        )

    # ------------------------------------------------------------------ rows and state

    def take_rows(self) -> dict[str, Columns]:
        """Remove the rows so far and return them.

        Rows of `decisions` stay from the first open attempt on, so that it can be amended and the
        order of the rows does not depend on when they are taken.
        """
        rows = self._rows
        closed = min(self._open.values(), default=len(rows["decisions"]))
        self._open = {attempt: row - closed for attempt, row in self._open.items()}
        return {
            name: table.take(closed if name == "decisions" else len(table))
            for name, table in rows.items()
        }

    def rows(self) -> dict[str, Columns]:
        """Return the rows that were not taken."""
        return {name: rows.columns() for name, rows in self._rows.items()}

    def state(self) -> dict[str, Any]:
        """Return what is needed to continue, after `take_rows`."""
        return super().state() | {"rows": self.rows()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore the result of `state`."""
        super().restore(state)
        for name, columns in state["rows"].items():
            self._rows[name].extend(columns)


def _result_of(failure: Failure) -> str:
    return "Unschedulable" if failure.is_rejected else FAILED


def _note_failure(waiting: Waiting, failure: Failure) -> None:
    waiting.message = failure.message
    waiting.reason = (failure.reason or failure.message) if failure.is_rejected else FAILED
