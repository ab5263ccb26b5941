"""The places of pods in the queue.

In a module of its own because it stays as it is where others are compiled: mypyc makes no enum
whose members have attributes.
"""

from __future__ import annotations

import enum


class QueueName(enum.Enum):
    """The place of a pod; every pod in the queue is in exactly one place."""

    ACTIVE = "active"
    BACKOFF = "backoff"
    ERROR_BACKOFF = "error_backoff"
    UNSCHEDULABLE = "unschedulable"
    GATED = "gated"
    IN_FLIGHT = "in_flight"
    NOWHERE = "nowhere"

    def __init__(self, text: str) -> None:
        # The same as `value`, whose lookup is implemented in Python and slow.
        self.text = text

    # Members are compared by identity; the default hash is implemented in Python and slow.
    __hash__ = object.__hash__
