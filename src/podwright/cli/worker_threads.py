"""A thread pool for the v1.16 rules, which take a `parallelize_until`.

Threads run Python code concurrently only in a build without the global interpreter lock. In other
builds the pool is not faster; it shows that results do not depend on the order of the pieces.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Self


class ThreadedPieces:
    """A `parallelize_until` that runs pieces of work on a pool of threads.

    Parameters
    ----------
    limit_count : int
        Maximum number of threads.

    Examples
    --------
    >>> squares = [0] * 5
    >>> def square(index: int) -> None:
    ...     squares[index] = index * index
    >>> with ThreadedPieces() as parallelize_until:
    ...     parallelize_until(4, len(squares), square)
    >>> squares
    [0, 1, 4, 9, 16]
    """

    def __init__(self, limit_count: int = 16) -> None:
        self._pool = ThreadPoolExecutor(limit_count)
        self._limit_count = limit_count

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._pool.shutdown()

    def __call__(self, workers: int, pieces: int, do_piece: Callable[[int], None], /) -> None:
        """Run all pieces, each on the next free thread; raise the first error afterwards."""
        lock = threading.Lock()
        left = iter(range(pieces))

        def work() -> None:
            while True:
                with lock:
                    piece = next(left, None)
                if piece is None:
                    return
                do_piece(piece)

        count = min(workers, pieces, self._limit_count)
        running = [self._pool.submit(work) for _ in range(count)]
        errors = [future.exception() for future in running]
        for error in errors:
            if error is not None:
                raise error
