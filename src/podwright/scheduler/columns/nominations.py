"""Nominated pods: pending pods, the node of each, and their requests."""

from __future__ import annotations

import numpy as np

from podwright._arrays import I32Array, I64Array, I64Matrix
from podwright.apimachinery.objects import Pod
from podwright.scheduler.columns.nodes import NodeColumns
from podwright.scheduler.columns.placement import priority_of
from podwright.scheduler.columns.pod_keys import PodKeysCache

_LEAST_ROWS = 16


class Nominations:
    """Pending pods by the node that they are nominated to, and the same as columns.

    Attributes
    ----------
    by_node : dict of str to dict
        Per node name, the pods by "namespace/name".
    version : int
        Grows with each change.
    """

    def __init__(self, nodes: NodeColumns, keys: PodKeysCache) -> None:
        self._nodes = nodes
        self._keys = keys
        self.by_node: dict[str, dict[str, Pod]] = {}
        self.version = 0
        self._row_of: dict[str, int] = {}
        self._pods: list[Pod] = []
        self._names: list[str] = []
        self._slot_rows: I32Array = np.empty(_LEAST_ROWS, dtype=np.int32)
        self._priority_rows: I64Array = np.empty(_LEAST_ROWS, dtype=np.int64)
        self._request_rows: I64Matrix = np.zeros((_LEAST_ROWS, 4), dtype=np.int64)
        self._node_version: int | None = None

    def put(self, pod: Pod, node_name: str) -> None:
        """Nominate a pod; an earlier nomination is forgotten."""
        self.remove(pod)
        key = pod.key
        self.by_node.setdefault(node_name, {})[key] = pod
        self.version += 1
        row = len(self._pods)
        self._row_of[key] = row
        self._pods.append(pod)
        self._names.append(node_name)
        requests = self._keys.of(pod).requests
        if row == len(self._slot_rows) or len(requests) > self._request_rows.shape[1]:
            self._grow()
        self._slot_rows[row] = self._nodes.slot_of.get(node_name, -1)
        self._priority_rows[row] = priority_of(pod)
        self._request_rows[row] = 0
        self._request_rows[row, : len(requests)] = requests

    def remove(self, pod: Pod) -> None:
        """Forget where a pod was nominated to."""
        if not self._row_of:
            return
        key = pod.key
        row = self._row_of.pop(key, None)
        if row is None:
            return
        self.version += 1
        name = self._names[row]
        there = self.by_node[name]
        del there[key]
        if not there:
            del self.by_node[name]
        last = len(self._pods) - 1
        if row != last:
            # The last one takes the free row: the order of rows is irrelevant.
            self._pods[row], self._names[row] = self._pods[last], self._names[last]
            self._row_of[self._pods[row].key] = row
            self._slot_rows[row] = self._slot_rows[last]
            self._priority_rows[row] = self._priority_rows[last]
            self._request_rows[row] = self._request_rows[last]
        self._pods.pop()
        self._names.pop()

    def node_of(self) -> dict[str, str]:
        """Return the name of the nominated node of each pod, by "namespace/name"."""
        return {key: self._names[row] for key, row in self._row_of.items()}

    def row_of(self, pod: Pod) -> int:
        """Return the row of a pod's own nomination; -1 if it has none."""
        row = self._row_of.get(pod.key, -1)
        return row if row >= 0 and self._pods[row].metadata.uid == pod.metadata.uid else -1

    def columns(self) -> tuple[I32Array, I64Array, I64Matrix]:
        """Return the same as columns, one row per pod.

        Returns
        -------
        (slots, priorities, requests)
            The slot of each nominated node, -1 if the node does not exist: (n,) int32; the
            pod's priority: (n,) int64; its requests: (n, n_resources) int64.
        """
        nodes = self._nodes
        n = len(self._pods)
        if self._node_version != nodes.node_journal.version:
            self._node_version = nodes.node_journal.version
            slot_of = nodes.slot_of
            self._slot_rows[:n] = [slot_of.get(name, -1) for name in self._names]
        if len(nodes.resources) > self._request_rows.shape[1]:
            self._grow()
        return self._slot_rows[:n], self._priority_rows[:n], self._request_rows[:n]

    def _grow(self) -> None:
        n = len(self._slot_rows)
        rows = max(n, 2 * len(self._pods))
        slots: I32Array = np.full(rows, -1, dtype=np.int32)
        priorities: I64Array = np.zeros(rows, dtype=np.int64)
        requests: I64Matrix = np.zeros((rows, len(self._nodes.resources)), dtype=np.int64)
        slots[:n] = self._slot_rows
        priorities[:n] = self._priority_rows
        requests[:n, : self._request_rows.shape[1]] = self._request_rows
        self._slot_rows, self._priority_rows, self._request_rows = slots, priorities, requests
