"""How often each code occurs."""

from __future__ import annotations

import numpy as np

from podwright._arrays import I32Array, I64Array
from podwright.scheduler.kernels._jit import kernel


@kernel
def tally(codes: I64Array, slots: I32Array) -> tuple[I64Array, I64Array, I32Array]:
    """Count the codes at `slots`, and return the slots that have none.

    Parameters
    ----------
    codes : (n_slots,) int64
        0 means: passes.
    slots : (k,) int32

    Returns
    -------
    (distinct, counts, passing)
        Distinct codes in the order in which they first appear, how many slots have each, and
        the slots with code 0.
    """
    distinct = np.empty(16, dtype=np.int64)
    counts = np.zeros(16, dtype=np.int64)
    passing = np.empty(len(slots), dtype=np.int32)
    found = 0
    passed = np.uintp(0)
    current, run = np.int64(0), 0
    for slot in slots:
        code = codes[np.uintp(slot)]
        if code == 0:
            passing[passed] = slot
            passed += np.uintp(1)
        elif code == current:
            # Adjacent slots mostly have the same code.
            run += 1
        else:
            distinct, counts, found = _note(distinct, counts, found, current, run)
            current, run = code, 1
    distinct, counts, found = _note(distinct, counts, found, current, run)
    return distinct[:found], counts[:found], passing[:passed]


@kernel
def _note(
    distinct: I64Array, counts: I64Array, found: int, code: np.int64, run: int
) -> tuple[I64Array, I64Array, int]:
    """Count a code `run` times more; the arrays are replaced when they are full."""
    if run == 0:
        return distinct, counts, found
    for j in range(found):
        if distinct[j] == code:
            counts[j] += run
            return distinct, counts, found
    if found == len(distinct):
        distinct = np.concatenate((distinct, np.empty_like(distinct)))
        counts = np.concatenate((counts, np.zeros_like(counts)))
    distinct[found] = code
    counts[found] = run
    return distinct, counts, found + 1
