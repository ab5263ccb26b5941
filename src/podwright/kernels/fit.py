"""Whether a node has room for what a pod asks for.

Upstream: pkg/scheduler/framework/plugins/noderesources/fit.go, `fitsRequest`
"""

from __future__ import annotations

import numpy as np

from podwright._arrays import I32Array, I64Array, I64Matrix
from podwright.kernels._jit import kernel

TOO_MANY_PODS = 1
"""Bit of a verdict code: the node takes no more pods."""

FIRST_RESOURCE_BIT = 1
"""Position of the bit of the first requested resource."""

MOST_RESOURCE_BITS = 60
"""Resources that have a bit of their own; all further ones share the last."""

UNRESOLVABLE = 1 << 62
"""Bit of a verdict code: a request exceeds all that the node has."""

_PODS = 3


@kernel
def fit_codes(
    allocatable: I64Matrix,
    requested: I64Matrix,
    request: I64Array,
    rows: I32Array,
    codes: I64Array,
) -> None:
    """Write for each slot which of the requested resources it lacks.

    Parameters
    ----------
    allocatable, requested : (n_slots, n_resources) int64
        Base units; column 3 counts pods.
    request : (2 * n_requested,) int64
        Pairs of resource column and amount; amounts are positive.
    rows : (k,) int32
        The slots that are asked for.
    codes : (n_slots,) int64, written at `rows`
        0 if the pod fits; otherwise the bits `TOO_MANY_PODS`, one from `FIRST_RESOURCE_BIT`
        up for each lacking resource in the order of `request`, and `UNRESOLVABLE`.

    Notes
    -----
    A node without room for pods is not unresolvable, even if it takes none at all.
    """
    n_requested = len(request) // 2
    for row in rows:
        # An unsigned index needs no look at whether it counts from the end.
        slot = np.uintp(row)
        code = np.int64(0)
        if requested[slot, _PODS] + 1 > allocatable[slot, _PODS]:
            code |= TOO_MANY_PODS
        for i in range(n_requested):
            column = np.uintp(request[2 * i])
            amount = request[2 * i + 1]
            there = allocatable[slot, column]
            if amount > there - requested[slot, column]:
                code |= np.int64(1) << min(FIRST_RESOURCE_BIT + i, MOST_RESOURCE_BITS)
                if amount > there:
                    code |= UNRESOLVABLE
        codes[slot] = code
