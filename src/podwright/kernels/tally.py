"""How often each code occurs."""

from __future__ import annotations

import numpy as np

from podwright._arrays import I32Array, I64Array
from podwright.kernels._jit import kernel


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
    passed = 0
    last = 0
    for i in range(len(slots)):
        code = codes[slots[i]]
        if code == 0:
            passing[passed] = slots[i]
            passed += 1
            continue
        # Neighbours mostly say the same.
        if found == 0 or distinct[last] != code:
            last = -1
            for j in range(found):
                if distinct[j] == code:
                    last = j
                    break
            if last == -1:
                if found == len(distinct):
                    longer = np.empty(2 * found, dtype=np.int64)
                    longer[:found] = distinct
                    distinct = longer
                    longer_counts = np.zeros(2 * found, dtype=np.int64)
                    longer_counts[:found] = counts
                    counts = longer_counts
                last = found
                distinct[found] = code
                found += 1
        counts[last] += 1
    return distinct[:found], counts[:found], passing[:passed]
