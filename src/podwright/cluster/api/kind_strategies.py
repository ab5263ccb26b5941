"""The strategy of each kind: whether it has a status, a generation, a grace period.

Upstream: pkg/registry/*/*/strategy.go
"""

from __future__ import annotations

from functools import cache

import msgspec

from podwright.apimachinery.schema import built_in
from podwright.cluster.store import GroupKind


class KindStrategy(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """How the objects of a kind are written.

    Attributes
    ----------
    has_status : bool
        Whether `status` is a subresource, which an update of the object does not change.
    has_generation : bool
        Whether `metadata.generation` counts changes of the spec.
    is_graceful : bool
        Whether deletion has a grace period (pods).
    counted_metadata : tuple of str
        The parts of the metadata whose change increments the generation, too.
    """

    has_status: bool = False
    has_generation: bool = False
    is_graceful: bool = False
    counted_metadata: tuple[str, ...] = ()


CUSTOM = KindStrategy(has_generation=True)
"""The strategy of custom resources without subresources."""


@cache
def strategy_of(kind: GroupKind) -> KindStrategy:
    """Return the strategy of a kind, from its row in the schema."""
    known = built_in().of(*kind)
    if known is None:
        return CUSTOM
    row = known.row
    return KindStrategy(
        has_status=known.has_status,
        has_generation=row.has_generation,
        is_graceful=row.is_graceful,
        counted_metadata=row.counted_metadata,
    )
