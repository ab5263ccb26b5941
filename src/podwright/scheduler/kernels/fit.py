"""Whether a node's free resources cover a pod's requests.

Upstream: pkg/scheduler/framework/plugins/noderesources/fit.go, `fitsRequest`
"""

from __future__ import annotations

import numpy as np

from podwright._arrays import I32Array, I64Array, I64Matrix
from podwright.scheduler.kernels._jit import kernel

TOO_MANY_PODS = 1
"""Bit of a verdict code: the node takes no more pods."""

FIRST_RESOURCE_BIT = 1
"""Position of the bit of the first requested resource."""

MOST_RESOURCE_BITS = 60
"""The number of resources with their own bit; all further ones share the last."""

UNRESOLVABLE = 1 << 62
"""Bit of a verdict code: a request exceeds all that the node has."""

_PODS = 3


@kernel
def _fit_codes_of_two(
    allocatable: I64Matrix,
    requested: I64Matrix,
    request: I64Array,
    rows: I32Array,
    codes: I64Array,
) -> None:
    """Do the same as `fit_codes` for two requested resources: mostly cpu and memory."""
    first, second = np.uintp(request[0]), np.uintp(request[2])
    first_amount, second_amount = request[1], request[3]
    for row in rows:
        slot = np.uintp(row)
        is_full = requested[slot, _PODS] + 1 > allocatable[slot, _PODS]
        first_there, second_there = allocatable[slot, first], allocatable[slot, second]
        lacks_first = first_amount > first_there - requested[slot, first]
        lacks_second = second_amount > second_there - requested[slot, second]
        code = np.int64(0)
        # Combined with `|`, a slot with room costs one branch instead of three.
        if is_full | lacks_first | lacks_second:
            if is_full:
                code |= TOO_MANY_PODS
            if lacks_first:
                code |= 1 << FIRST_RESOURCE_BIT
                if first_amount > first_there:
                    code |= UNRESOLVABLE
            if lacks_second:
                code |= 1 << FIRST_RESOURCE_BIT + 1
                if second_amount > second_there:
                    code |= UNRESOLVABLE
        codes[slot] = code


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
        The slots to check.
    codes : (n_slots,) int64, written at `rows`
        0 if the pod fits; otherwise the bits `TOO_MANY_PODS`, one from `FIRST_RESOURCE_BIT`
        up for each lacking resource in the order of `request`, and `UNRESOLVABLE`.

    Notes
    -----
    A node without room for pods is not unresolvable, even if it takes none at all.
    """
    n_requested = len(request) // 2
    if n_requested == 2:
        _fit_codes_of_two(allocatable, requested, request, rows, codes)
        return
    for row in rows:
        # An unsigned index saves the check for a negative index.
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
