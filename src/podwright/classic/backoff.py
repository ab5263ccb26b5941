"""Backoff records: how often each pod failed, and when its backoff ends.

A record is kept while the pod is in no queue, so the second backoff is longer than the first. Two
upstream rules are surprising: the number of attempts grows only after the last backoff is over,
and at the failure of any pod, records that were not updated for longer than the longest backoff
are dropped. So a pod that waited for more than ten seconds starts at one second again, and no pod
gets beyond the fifth attempt: its record is dropped after the ten seconds of that backoff.

Upstream: pkg/scheduler/internal/queue/pod_backoff.go
"""

from __future__ import annotations

from collections import OrderedDict

import msgspec

__all__ = ["BackoffRecord", "BackoffRecords"]


class BackoffRecord(msgspec.Struct, frozen=True, gc=False):
    """What is known of one pod.

    Attributes
    ----------
    attempts : int
        Failures that counted.
    updated_ns : int
        When the last of them was.
    end_ns : int
        Until when the pod waits.
    """

    attempts: int
    updated_ns: int
    end_ns: int


class BackoffRecords:
    """Records by `namespace/name`.

    Parameters
    ----------
    initial_ns, max_ns : int
        The first wait, and the longest; also how long an untouched record is kept.
    """

    def __init__(self, initial_ns: int, max_ns: int) -> None:
        self._initial_ns = initial_ns
        self._max_ns = max_ns
        # Ordered by last update, because a renewed record goes to the end: the old ones are
        # in front, and clearing up costs what it clears.
        self._records: OrderedDict[str, BackoffRecord] = OrderedDict()

    def get(self, name: str) -> BackoffRecord | None:
        """Return the pod's record, or None."""
        return self._records.get(name)

    def all(self) -> dict[str, BackoffRecord]:
        """Return all records, the longest untouched first."""
        return dict(self._records)

    def is_backing_off(self, name: str, now_ns: int) -> bool:
        """Whether the pod must wait; at the very end of its backoff it need not."""
        record = self._records.get(name)
        return record is not None and record.end_ns > now_ns

    def fail(self, name: str, now_ns: int) -> BackoffRecord:
        """Note a failure, unless the pod's backoff is still running; return the record."""
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
        """Forget the pod."""
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
