"""Dry runs of preemption on nodes whose pods only add up."""

from __future__ import annotations

import numpy as np

from podwright._arrays import I32Array, I64Array
from podwright.kernels._jit import kernel


@kernel
def slots_with(codes: I64Array, slots: I32Array, wanted: int) -> I32Array:
    """Return the slots that have one code, in the order given.

    Parameters
    ----------
    codes : (n_slots,) int64
    slots : (k,) int32
    """
    found = np.empty(len(slots), dtype=np.int32)
    n = 0
    for slot in slots:
        if codes[slot] == wanted:
            found[n] = slot
            n += 1
    return found[:n]
