"""Loops over independent pieces of work.

The v1.16 scheduler evaluates and scores nodes on 16 goroutines. Here the loop is an argument:
`in_order` executes the pieces one after the other, and a thread pool executes them on threads. The
results are the same, because no two pieces write the same cells.

Upstream: staging/src/k8s.io/client-go/util/workqueue/parallelizer.go
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

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
