"""The current state of nodes and queue as columns, and what changed since a version of it.

The fields of the nodes are those of a timeline. An update costs as much as the number of nodes that
changed, which the journals of the columns name; so does asking what changed since a version.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np

from podwright._arrays import I64Array, I64Matrix
from podwright.apimachinery.objects import Node
from podwright.scheduler.columns import Journal, NodeColumns
from podwright.scheduler.machine import Machine
from podwright.scheduler.queueing import QueueName
from podwright.simulation.recording.usage.utilization import NodeAmounts

NODE_FIELDS = ("present", "ready", "unschedulable", "taints")
"""The first fields of nodes; `allocatable/RESOURCE` and `requested/RESOURCE` follow for each
resource as it appears."""

CountPods: TypeAlias = Callable[[], dict[str, int]]

_READY, _TAINTS = NODE_FIELDS.index("ready"), NODE_FIELDS.index("taints")
_UNSCHEDULABLE = NODE_FIELDS.index("unschedulable")


@dataclass(frozen=True, eq=False, kw_only=True)
class StateChanges:
    """What changed since a version.

    Parameters
    ----------
    fields, nodes : tuple of str
        The names of the fields and slots that follow those of the version.
    slots, field_index : (n_cells,) int64
        The cells that changed.
    values : (n_cells,) int64
        Their present values.
    """

    fields: tuple[str, ...]
    nodes: tuple[str, ...]
    slots: I64Array
    field_index: I64Array
    values: I64Array


class PresentState:
    """The state of a machine's nodes and queue, as of the last update.

    Parameters
    ----------
    machine : Machine
    count_pods : callable, optional
        Counts the pods; `counted_pods` if left out.

    Attributes
    ----------
    version : int
        Grows with each change of the nodes.
    fields : list of str
        See `NODE_FIELDS`.
    nodes : list of str
        The name of each slot, those of removed nodes included.
    values : (n_slots, n_fields) int64
        All 0 in the slots of removed nodes.
    pods : dict of str to int
        As counted at the last update.
    """

    def __init__(self, machine: Machine, count_pods: CountPods | None = None) -> None:
        self._machine = machine
        self._count_pods = count_pods or partial(counted_pods, machine)
        self._amounts = NodeAmounts()
        self._numbering = machine.cluster.numbering
        self._changed_slots = Journal()
        self._conditions_version = machine.cluster.nodes.condition_journal.version
        self._nodes_since: list[int] = []
        self._fields_since: list[int] = []
        self._changed_in: I64Matrix = np.zeros((0, 0), dtype=np.int64)
        self.fields: list[str] = []
        self.nodes: list[str] = []
        self.values: I64Matrix = np.zeros((0, 0), dtype=np.int64)
        self.pods: dict[str, int] = {}

    @property
    def version(self) -> int:
        """The number of changes of slots so far."""
        return self._changed_slots.version

    def is_of(self, machine: Machine) -> bool:
        """Whether this is the state of a machine whose nodes still have the same slots."""
        return machine is self._machine and machine.cluster.numbering == self._numbering

    def update(self) -> bool:
        """Take over the changes of the machine; return whether there were any.

        The nodes must have the same slots as before; see `is_of`.
        """
        nodes = self._machine.cluster.nodes
        version = self.version
        slots = self._slots_to_compare(nodes)
        if len(slots) or not self.fields:
            has_new_names = self._lengthen(nodes)
            self._compare(nodes, slots)
            if has_new_names and self.version == version:
                # A resource that no node has yet: no cell differs, but later versions know it.
                self._changed_slots.record(0)
        pods = self._count_pods()
        is_changed = pods != self.pods or self.version != version
        self.pods = pods
        return is_changed

    def _slots_to_compare(self, nodes: NodeColumns) -> I64Array:
        changed = self._amounts.update(nodes)
        conditions = nodes.condition_journal.since(self._conditions_version)
        self._conditions_version = nodes.condition_journal.version
        if changed is None or conditions is None:
            return np.arange(nodes.n_slots, dtype=np.int64)
        if not len(conditions):
            return changed
        slots: I64Array = np.unique(np.concatenate((changed, conditions))).astype(np.int64)
        return slots

    def _lengthen(self, nodes: NodeColumns) -> bool:
        """Add the new slots and fields; return whether there are any."""
        version = self.version + 1
        known = len(self.nodes)
        self.nodes += nodes.names[known:]
        self._nodes_since += [version] * (len(self.nodes) - known)
        fields = [*NODE_FIELDS]
        for resource in self._amounts.columns:
            fields += (f"allocatable/{resource}", f"requested/{resource}")
        self._fields_since += [version] * (len(fields) - len(self.fields))
        self.fields = fields
        shape = (len(self.nodes), len(fields))
        if shape == self.values.shape:
            return False
        if shape[0] > known:
            self._changed_slots.keep(shape[0])
        self.values = _enlarged(self.values, shape)
        self._changed_in = _enlarged(self._changed_in, shape)
        return True

    def _compare(self, nodes: NodeColumns, slots: I64Array) -> None:
        found = self._values_of(nodes, slots)
        differs = found != self.values[slots]
        self.values[slots] = found
        for slot in slots[differs.any(axis=1)].tolist():
            self._changed_slots.record(slot)
        row, field = np.nonzero(differs)
        self._changed_in[slots[row], field] = self.version

    def _values_of(self, nodes: NodeColumns, slots: I64Array) -> I64Matrix:
        first = len(NODE_FIELDS)
        found: I64Matrix = np.zeros((len(slots), len(self.fields)), dtype=np.int64)
        alive = nodes.alive[slots]
        found[:, 0] = alive
        objects = nodes.objects
        found[:, _READY] = [is_node_ready(objects[slot]) for slot in slots.tolist()]
        found[:, _UNSCHEDULABLE] = nodes.unschedulable[slots] & alive
        taints = np.array([len(each) for each in nodes.taint_sets.values], dtype=np.int64)
        found[:, _TAINTS] = np.where(alive, taints[nodes.taint_set_ids[slots]], 0)
        found[:, first::2] = self._amounts.allocatable[slots]
        found[:, first + 1 :: 2] = self._amounts.requested[slots]
        return found

    def changes_since(self, version: int) -> StateChanges | None:
        """Return what changed since a version; None if it is too old or none of this state."""
        if version > self.version:
            return None
        journal = self._changed_slots.since(version)
        if journal is None:
            return None
        slots = np.unique(journal).astype(np.int64)
        slots = slots[slots < len(self.nodes)]
        row, field = np.nonzero(self._changed_in[slots] > version)
        return StateChanges(
            fields=tuple(_later(self.fields, self._fields_since, version)),
            nodes=tuple(_later(self.nodes, self._nodes_since, version)),
            slots=slots[row],
            field_index=field.astype(np.int64),
            values=self.values[slots[row], field],
        )


def counted_pods(machine: Machine) -> dict[str, int]:
    """Return the number of pods in each place of the queue, and on nodes (`placed`)."""
    queue = machine.queue
    counts = dict(queue.metrics().pending_pods)
    counts[QueueName.IN_FLIGHT.value] = len(queue.in_flight())
    counts["placed"] = len(machine.cluster.pods)
    return counts


def is_node_ready(node: Node | None) -> bool:
    """Return whether the condition Ready of a node is true."""
    conditions = () if node is None else node.status.conditions
    return any(each.type == "Ready" and each.status == "True" for each in conditions)


def _later(names: list[str], since: list[int], version: int) -> list[str]:
    """Return the last names, those that were added after a version."""
    first = len(names)
    while first and since[first - 1] > version:
        first -= 1
    return names[first:]


def _enlarged(array: I64Matrix, shape: tuple[int, int]) -> I64Matrix:
    larger: I64Matrix = np.zeros(shape, dtype=np.int64)
    larger[: array.shape[0], : array.shape[1]] = array
    return larger
