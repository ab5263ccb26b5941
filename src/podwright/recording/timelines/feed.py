"""The feed of a timeline: the differences between states of a machine, as rows.

The state is compared at each time at which events were handled, so changes within one time are one
row. A comparison costs as much as what changed: the journals of the columns name the nodes; the
events and the operations of the queue name the pods.
"""

from __future__ import annotations

from array import array

import numpy as np

from podwright._arrays import I64Array
from podwright.machine import Event, Machine, ObjectDeleted, ObjectPut
from podwright.objects import Pod, condition_of
from podwright.queueing import QueuedPod, QueueName, SchedulingQueue
from podwright.recording.node_amounts import NodeAmounts
from podwright.recording.timelines.columns import PHASES, PLACES, Subject, Timeline
from podwright.recording.timelines.present_state import is_node_ready

_PLACE_NUMBERS = {QueueName(place): index + 1 for index, place in enumerate(PLACES)}
_PHASE_NUMBERS = {phase: index + 1 for index, phase in enumerate(PHASES)}


class TimelineFeed:
    """Collects the differences between the states of a machine.

    Call `handled` after each event, and `compare` when time advances.
    """

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._amounts = NodeAmounts()
        self._conditions_version = 0
        self._subjects: dict[Subject, int] = {}
        self._fields: dict[str, int] = {}
        self._name_of: dict[int, str] = {}
        self._pods_on: dict[int, tuple[str, set[str]]] = {}
        self._last_touch: tuple[int, str, str, str] | None = None
        self._nodes: dict[str, dict[str, int]] = {}
        self._pods: dict[str, dict[str, int]] = {}
        self._nominated: dict[str, str] = {}
        self._nominations_version = -1
        self._written: dict[str, None] = {}
        # Ended pods are no longer known to the machine.
        self._last_versions = {obj.key: obj for obj in machine.objects() if isinstance(obj, Pod)}
        self._rows = array("q")

    def handled(self, event: Event) -> None:
        """Receive an event that the machine has handled."""
        match event:
            case ObjectPut(obj) if isinstance(obj, Pod):
                key = obj.key
                self._last_versions[key] = obj
                self._written[key] = None
            case ObjectDeleted(obj) if isinstance(obj, Pod):
                self._last_versions.pop(obj.key, None)
                self._written[obj.key] = None
            case _:
                pass

    def compare(self, now_ns: int) -> None:
        """Add a row for each value that differs from the last comparison."""
        nodes = self._machine.cluster.nodes
        changed = self._amounts.update(nodes)
        if changed is None:
            slots = list(range(nodes.n_slots))
            gone = dict.fromkeys(self._nodes)
            self._name_of.clear()
            self._pods_on.clear()
        else:
            slots = sorted({*changed.tolist(), *self._changed_conditions()})
            # Another node may have taken the slot within the same time.
            gone = dict.fromkeys(self._name_of.pop(s) for s in slots if s in self._name_of)
        current: dict[str, dict[str, int]] = {}
        for slot in slots:
            if nodes.alive[slot]:
                name = self._name_of[slot] = nodes.names[slot]
                current[name] = self._node(slot)
        for name in {**gone, **current}:
            self._set(("node", name), self._nodes, current.get(name, {}), now_ns)
        self._compare_pods(slots, now_ns, is_whole=changed is None)

    def _changed_conditions(self) -> list[int]:
        """Return the slots whose conditions changed, or all, since the last comparison."""
        nodes = self._machine.cluster.nodes
        changed = nodes.condition_journal.since(self._conditions_version)
        self._conditions_version = nodes.condition_journal.version
        return list(range(nodes.n_slots)) if changed is None else changed.tolist()

    def _node(self, slot: int) -> dict[str, int]:
        amounts = self._amounts
        values = {"present": 1}
        node = self._machine.cluster.nodes.objects[slot]
        assert node is not None, f"slot {slot} is alive"
        if is_node_ready(node):
            values["ready"] = 1
        if node.spec.unschedulable:
            values["unschedulable"] = 1
        if node.spec.taints:
            values["taints"] = len(node.spec.taints)
        for resource, column in amounts.columns.items():
            values[f"allocatable/{resource}"] = int(amounts.allocatable[slot, column])
            values[f"requested/{resource}"] = int(amounts.requested[slot, column])
        return values

    def _compare_pods(self, slots: list[int], now_ns: int, *, is_whole: bool) -> None:
        machine = self._machine
        touched = self._touched()
        names = dict.fromkeys(touched or ())
        names.update(self._written)
        names.update(dict.fromkeys(self._changed_nominations()))
        if touched is None or is_whole:
            names.update(dict.fromkeys((*self._pods, *machine.cluster.pods)))
            names.update(dict.fromkeys(self._last_versions))
        pods_on, nodes = machine.cluster.pods_on, machine.cluster.nodes
        for slot in slots:
            there = set(pods_on[slot])
            node, before = self._pods_on.get(slot, ("", set()))
            # All of them if another node has taken the slot.
            moved = there ^ before if node == nodes.names[slot] else there | before
            names.update(dict.fromkeys(sorted(moved)))
            self._pods_on[slot] = (nodes.names[slot], there)
        self._written.clear()
        in_flight = {queued.key: queued for queued in machine.queue.in_flight()} if names else {}
        for name in names:
            queued = in_flight.get(name) or machine.queue.get(name)
            self._set(("pod", name), self._pods, self._pod(name, queued), now_ns)

    def _changed_nominations(self) -> list[str]:
        """Return the pods that were nominated, or lost their nomination, since the last call."""
        nominations = self._machine.cluster.nominations
        if nominations.version == self._nominations_version:
            return []
        self._nominations_version = nominations.version
        before, self._nominated = self._nominated, nominations.node_of()
        changed = before.items() ^ self._nominated.items()
        return sorted({pod for pod, _ in changed})

    def _touched(self) -> list[str] | None:
        """Return the pods that the queue operated on since the last call; None if not known."""
        queue = self._machine.queue
        if not isinstance(queue, SchedulingQueue):
            return None
        touches = queue.touches_since(self._last_touch)
        if touches is None:
            latest = queue.latest_touch()
        else:
            latest = touches[0] if touches else self._last_touch
        self._last_touch = latest
        return None if touches is None else [touch[1] for touch in reversed(touches)]

    def _pod(self, name: str, queued: QueuedPod | None) -> dict[str, int]:
        values: dict[str, int] = {}
        pod = self._last_versions.get(name)
        if pod is not None:
            values["phase"] = _PHASE_NUMBERS.get(pod.status.phase, 1)
            if pod.metadata.deletion_timestamp is not None:
                values["deleting"] = 1
            disrupted = condition_of(pod, "DisruptionTarget")
            if disrupted is not None and disrupted.status == "True":
                values["disruptedBy"] = self._index(("reason", disrupted.reason)) + 1
        nominated = self._nominated.get(name)
        if nominated is not None:
            values["nominatedTo"] = self._index(("node", nominated)) + 1
        placed = self._machine.cluster.pods.get(name)
        if placed is not None:
            node = self._machine.cluster.nodes.names[placed.slot]
            values["node"] = self._index(("node", node)) + 1
        if queued is not None:
            values["queue"] = _PLACE_NUMBERS[queued.place]
            values["attempts"] = queued.attempts
            if queued.rejectors:
                reason = ", ".join(sorted(queued.rejectors))
                values["waitsFor"] = self._index(("reason", reason)) + 1
        return values

    def _set(
        self,
        subject: Subject,
        known: dict[str, dict[str, int]],
        values: dict[str, int],
        now_ns: int,
    ) -> None:
        name = subject[1]
        before = known.get(name, {})
        if before == values:
            return
        for field in {**before, **values}:
            delta = values.get(field, 0) - before.get(field, 0)
            if delta:
                column = self._fields.setdefault(field, len(self._fields))
                self._rows.extend((now_ns, self._index(subject), column, delta))
        if values:
            known[name] = values
        else:
            known.pop(name, None)

    def _index(self, subject: Subject) -> int:
        return self._subjects.setdefault(subject, len(self._subjects))

    def timeline(self, first_ns: int) -> Timeline:
        """Return the rows as columns."""
        rows: I64Array = np.array(self._rows, dtype=np.int64).reshape(-1, 4)
        return Timeline(
            subjects=tuple(self._subjects),
            fields=tuple(self._fields),
            first_ns=first_ns,
            times_ns=rows[:, 0].copy(),
            subject_index=rows[:, 1].astype(np.int32),
            field_index=rows[:, 2].astype(np.int32),
            deltas=rows[:, 3].copy(),
        )
