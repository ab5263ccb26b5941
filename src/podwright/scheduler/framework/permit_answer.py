"""The answer of a Permit plugin: a status and, if the pod waits, for how long."""

from __future__ import annotations

import numpy as np

from podwright.apimachinery.objects import ArgumentError, read_duration
from podwright.scheduler.framework.adapter import described
from podwright.scheduler.framework.status import Code, Status

_PARTS = 2


def read_permit(answer: object) -> tuple[Status, int]:
    """Return the status of an answer, and how long it holds the pod, in nanoseconds.

    Upstream's plugins return a timeout with every status; a 0 with one that is not Wait is none.

    Raises
    ------
    ArgumentError
        If the answer is neither a status nor a pair of a status and a timeout, or the timeout has
        no unit.
    InputError
        If the timeout is not a duration.
    """
    if isinstance(answer, Status):
        return answer, 0
    if not (isinstance(answer, tuple) and len(answer) == _PARTS and isinstance(answer[0], Status)):
        raise ArgumentError(f"returned {described(answer)}, not a Status")
    status, timeout = answer
    if status.code is not Code.WAIT and isinstance(timeout, int | np.integer) and not timeout:
        return status, 0
    return status, read_duration(timeout, f"the timeout of {status.code.label}", least_ns=0)
