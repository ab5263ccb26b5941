"""Filters that depend on other pods only through the sums of their requests.

With such filters, neither nominated pods nor preemption need to change a slot: additions and
subtractions give the result.
"""

from __future__ import annotations

import numpy as np

from podwright._arrays import I8Array, I32Array, I64Array, I64Matrix
from podwright.apimachinery.objects import Pod
from podwright.scheduler.columns import Cluster
from podwright.scheduler.framework.rankings.ranking import Ranking
from podwright.scheduler.framework.rankings.rows import VerdictRow
from podwright.scheduler.framework.status import Status
from podwright.scheduler.kernels import preemption as preemption_kernels
from podwright.scheduler.kernels.preemption import Room

_BEFORE, _AFTER = 1, 2
_NO_BLOCKS: I8Array = np.empty(0, dtype=np.int8)
_NO_ROWS: I32Array = np.empty(0, dtype=np.int32)
_NO_SUMS: I64Matrix = np.empty((0, 0), dtype=np.int64)


class SumFilters:
    """The filters of a ranking, if one compares sums and pods do not change the others.

    Attributes
    ----------
    row : VerdictRow
        The filter that adds up.
    pairs : (2 * n,) int64
        Resource column and amount.
    """

    __slots__ = ("_after", "_before", "_room", "pairs", "row")

    def __init__(
        self, row: VerdictRow, pairs: I64Array, before: list[VerdictRow], after: list[VerdictRow]
    ) -> None:
        self.row = row
        self.pairs = pairs
        self._before = before
        self._after = after
        self._room: tuple[Room, I32Array] | None = None

    @classmethod
    def of(cls, ranking: Ranking) -> SumFilters | None:
        """Return the filters of a ranking in this form; None if they do not have it."""
        if ranking.outcome.rejection is not None:
            return None
        before: list[VerdictRow] = []
        after: list[VerdictRow] = []
        row: VerdictRow | None = None
        pairs: I64Array | None = None
        for other in ranking.filters:
            if not isinstance(other, VerdictRow):
                return None
            if other.reads_pods and not other.plugin.filter_ignores_pods(ranking.cycle):
                if row is not None:
                    return None
                row = other
                pairs = other.plugin.filter_as_sums(ranking.cycle)
                if pairs is None:
                    return None
            else:
                (before if row is None else after).append(other)
        if row is None or pairs is None:
            return None
        ranking.write_rows(ranking.cycle.cluster)
        return cls(row, pairs, before, after)

    def blocked(self, n_slots: int) -> I8Array:
        """Return where a filter rejects that does not read pods.

        Returns
        -------
        (n_slots,) int8
            1: before the sums are checked; 2: after; 0: nowhere. Empty if that is everywhere.
        """
        if not any(row.rejects_any for row in (*self._before, *self._after)):
            return _NO_BLOCKS
        blocked: I8Array = np.zeros(n_slots, dtype=np.int8)
        # The earlier filters overwrite the later ones: the first rejection gives the status.
        for rows, mark in ((self._after, _AFTER), (self._before, _BEFORE)):
            for row in rows:
                if row.rejects_any:
                    blocked[row.verdicts.codes != 0] = mark
        return blocked

    def blocking_status(self, slot: int) -> Status:
        """Return the status of the first such filter that rejects `slot`."""
        for row in (*self._before, *self._after):
            code = row.verdicts.codes.item(slot)
            if code:
                return row.verdicts.status_of(code).by(row.plugin.name)
        return Status.OK

    def status_of(self, code: int) -> Status:
        """Return the status of a code of the sums."""
        return self.row.verdicts.status_of(code).by(self.row.plugin.name)

    def room_for(self, pod: Pod, cluster: Cluster) -> tuple[Room, I32Array]:
        """Return allocatable and requested amounts, nominated pods included.

        It is found once and good for one cycle of one pod, as these filters are.

        Returns
        -------
        (Room, (k,) int32)
            The slots on which nominated pods count for `pod`.
        """
        if self._room is not None:
            return self._room
        nodes, nominations = cluster.nodes, cluster.nominations
        touched, reserved_row, reserved = _NO_ROWS, _NO_ROWS, _NO_SUMS
        if nominations.by_node:
            slots, priorities, requests = nominations.columns()
            own, priority = nominations.row_of(pod), pod.spec.priority or 0
            touched, reserved_row, reserved = preemption_kernels.add_reserved(
                slots, priorities, requests, own, priority, nodes.n_slots
            )
        room = Room(nodes.allocatable, nodes.requested, self.pairs, reserved_row, reserved)
        self._room = room, touched
        return self._room
