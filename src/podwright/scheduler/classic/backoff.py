"""Backoff records: the failures of each pod, and the end of its backoff.

A record is kept while the pod is in no queue, so the second backoff is longer than the first. Two
upstream rules are unexpected. The number of attempts increases only after the previous backoff has
ended. And the failure of any pod drops all records that were not updated for longer than the
maximum backoff. Therefore a pod that waited for more than ten seconds starts at one second again,
and no pod exceeds the fifth attempt: its record is dropped after that backoff of ten seconds.

Upstream: pkg/scheduler/internal/queue/pod_backoff.go
"""

from __future__ import annotations

from collections import OrderedDict

import msgspec


class BackoffRecord(msgspec.Struct, frozen=True, gc=False):
    """The backoff of one pod.

    Attributes
    ----------
    attempts : int
        The number of counted failures.
    updated_ns : int
        The time of the last counted failure.
    end_ns : int
        The end of the backoff.
    """

    attempts: int
    updated_ns: int
    end_ns: int


class BackoffRecords:
    """Records by `namespace/name`.

    Parameters
    ----------
    initial_ns, max_ns : int
        The initial and the maximum backoff. A record that is not updated is kept for the maximum
        backoff.
    """

    def __init__(self, initial_ns: int, max_ns: int) -> None:
        self._initial_ns = initial_ns
        self._max_ns = max_ns
        # Ordered by the last update, because a renewed record moves to the end. Removing old
        # records therefore costs only the number of removed records.
        self._records: OrderedDict[str, BackoffRecord] = OrderedDict()

    def get(self, name: str) -> BackoffRecord | None:
        """Return the pod's record, or None."""
        return self._records.get(name)

    def all(self) -> dict[str, BackoffRecord]:
        """Return all records, the least recently updated first."""
        return dict(self._records)

    def is_backing_off(self, name: str, now_ns: int) -> bool:
        """Whether the pod is backing off; false at the exact end of the backoff."""
        record = self._records.get(name)
        return record is not None and record.end_ns > now_ns

    def fail(self, name: str, now_ns: int) -> BackoffRecord:
        """Record a failure, unless the pod's backoff has not ended; return the record."""
        self._clear_up(now_ns)
        record = self._records.get(name)
        if record is not None:
            if record.end_ns >= now_ns:
                return record
            del self._records[name]
        attempts = 1 if record is None else record.attempts + 1
        record = BackoffRecord(attempts, now_ns, now_ns + self._duration_ns(attempts))
        self._records[name] = record
        return record

    def drop(self, name: str) -> None:
        """Drop the record of the pod."""
        self._records.pop(name, None)

    def _duration_ns(self, attempts: int) -> int:
        duration_ns = self._initial_ns
        for _ in range(1, attempts):
            duration_ns *= 2
            if duration_ns > self._max_ns:
                return self._max_ns
        return duration_ns

    def _clear_up(self, now_ns: int) -> None:
        old = []
        for name, record in self._records.items():
            if now_ns - record.updated_ns <= self._max_ns:
                break
            old.append(name)
        for name in old:
            del self._records[name]
