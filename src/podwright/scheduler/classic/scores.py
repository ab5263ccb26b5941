"""Scores of all nodes by all priorities, and the choice among the best.

The scores are in one table, a row per priority and a column per node. The map step fills the table
by columns: each piece of work writes one column. The reduce step rewrites it by rows: each piece
writes one row. No cell has two writers, so nothing is locked, and threads return the same table as
a loop.

               n1  n2  n3
    Least       3   5   0   <- reduced by the piece of this row
    Balanced    9   7   2
                ^
                mapped by the piece of this column

Upstream: pkg/scheduler/core/generic_scheduler.go, PrioritizeNodes and selectHost;
staging/src/k8s.io/client-go/util/workqueue/parallelizer.go.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Protocol

from podwright.scheduler.classic.algorithm import Algorithm
from podwright.scheduler.classic.extender import Extender
from podwright.scheduler.classic.node_info import NodeInfo
from podwright.scheduler.classic.priorities import Map, PriorityMetadata

# Loops over independent pieces of work.
#
# The v1.16 scheduler evaluates and scores nodes on 16 goroutines. Here the loop is an argument:
# `in_order` executes the pieces one after the other, and a thread pool executes them on threads.
# The results are the same, because no two pieces write the same cells.

WORKERS: Final = 16
"""The number of workers upstream."""


class ParallelizeUntil(Protocol):
    """Calls `do_piece(0)` to `do_piece(pieces - 1)` in any order, and returns when all have ended.

    An exception of a piece is raised after the started pieces have ended.
    """

    def __call__(self, workers: int, pieces: int, do_piece: Callable[[int], None], /) -> None:
        """Execute all pieces, at most `workers` at a time."""


def in_order(_workers: int, pieces: int, do_piece: Callable[[int], None], /) -> None:
    """Execute the pieces one after the other; the number of workers has no effect."""
    for piece in range(pieces):
        do_piece(piece)


class ScoreTable:
    """Scores in two dimensions.

    Attributes
    ----------
    node_names : list of str
        One per column.
    names, weights : list
        One per row.
    mapped : list of (list of int or None)
        The results of the map step, for rows that have a map and a reduce.
    rows : list of list of int
        The final scores.
    totals : list of int
        Per node the weighted sum, including the scores of extenders.
    """

    def __init__(self, algorithm: Algorithm, node_names: list[str]) -> None:
        self.node_names = node_names
        self.names = [entry.priority.name for entry in algorithm.priorities]
        self.weights = [entry.weight for entry in algorithm.priorities]
        self.mapped: list[list[int] | None] = [None] * len(self.names)
        self.rows: list[list[int]] = [[0] * len(node_names) for _ in self.names]
        self.totals: list[int] = [0] * len(node_names)

    def best(self) -> list[str]:
        """Return the nodes with the greatest total, in order."""
        greatest = max(self.totals, default=0)
        return [
            name
            for name, total in zip(self.node_names, self.totals, strict=True)
            if total == greatest
        ]


def prioritize(
    algorithm: Algorithm,
    meta: PriorityMetadata,
    nodes: Sequence[NodeInfo],
    extenders: Sequence[Extender] = (),
    *,
    parallelize_until: ParallelizeUntil = in_order,
    workers: int = WORKERS,
) -> ScoreTable:
    """Score the nodes.

    Parameters
    ----------
    algorithm : Algorithm
        The priorities and their weights.
    meta : PriorityMetadata
        The pod.
    nodes : sequence of NodeInfo
        The nodes to score, in the order of the table's columns.
    extenders : sequence of Extender
        Their scores are added to the totals.
    parallelize_until : ParallelizeUntil
        The loop over pieces of work.
    workers : int
        The number of concurrent pieces.

    Returns
    -------
    ScoreTable
        Without priorities and extenders every node has the total 1.
    """
    table = ScoreTable(algorithm, [node.name for node in nodes])
    priorities = [entry.priority for entry in algorithm.priorities]
    maps: list[tuple[list[int], Map]] = []
    for index, priority in enumerate(priorities):
        if priority.function is not None:
            table.rows[index] = priority.function(meta, nodes)
        else:
            assert priority.prepare is not None, priority
            maps.append((table.rows[index], priority.prepare(meta)))

    def map_node(column: int) -> None:
        node = nodes[column]
        for row, score in maps:
            row[column] = score(node)

    def reduce_row(index: int) -> None:
        reduce = priorities[index].reduce
        if reduce is not None:
            table.mapped[index] = list(table.rows[index])
            reduce(meta, nodes, table.rows[index])

    parallelize_until(workers, len(nodes), map_node)
    parallelize_until(workers, len(priorities), reduce_row)
    _add_up(table, meta, extenders)
    return table


def _add_up(table: ScoreTable, meta: PriorityMetadata, extenders: Sequence[Extender]) -> None:
    if not table.rows and not extenders:
        table.totals = [1] * len(table.node_names)
        return
    totals = table.totals
    for row, weight in zip(table.rows, table.weights, strict=True):
        totals = [total + score * weight for total, score in zip(totals, row, strict=True)]
    for extender in extenders:
        if extender.settings.is_interested(meta.pod):
            added = extender.scores(meta.pod, table.node_names)
            totals = [
                total + added.get(name, 0)
                for name, total in zip(table.node_names, totals, strict=True)
            ]
    table.totals = totals


def select_host(totals: Sequence[int], draw: Callable[[int], int]) -> int:
    """Choose among the best by reservoir sampling in one pass.

    Parameters
    ----------
    totals : sequence of int
        At least one.
    draw : callable
        `draw(n)` returns an integer in [0, n); called once for each node after the first that
        equals the best so far.

    Returns
    -------
    int
        The index of the chosen node; each of the best nodes is equally likely.

    Examples
    --------
    >>> select_host([3, 7, 7, 5, 7], lambda n: 0)
    4
    >>> select_host([3, 7, 7, 5, 7], lambda n: n - 1)
    1
    """
    chosen, count = 0, 1
    for index in range(1, len(totals)):
        if totals[index] > totals[chosen]:
            chosen, count = index, 1
        elif totals[index] == totals[chosen]:
            count += 1
            if draw(count) == 0:
                chosen = index
    return chosen
