"""The back-off of syncs that fail.

Upstream: staging/src/k8s.io/client-go/util/workqueue/default_rate_limiters.go,
DefaultTypedControllerRateLimiter
"""

from __future__ import annotations

from typing import Final, TypeAlias

from podwright.apimachinery.objects import NamespacedName

Item: TypeAlias = tuple[str, NamespacedName]
"""The name of a controller, and the key that it syncs."""

FIRST_NS: Final = 5_000_000
LONGEST_NS: Final = 1_000_000_000_000


class Failures:
    """How often each item failed since it last succeeded.

    Attributes
    ----------
    present : Item, optional
        The item whose writes are executed now.
    """

    def __init__(self) -> None:
        self.present: Item | None = None
        self._counts: dict[Item, int] = {}
        self._has_failed = False

    def begin(self, item: Item, *, is_waiting: bool) -> None:
        """Begin to sync an item, and forget the failures of the one before if it succeeded.

        Parameters
        ----------
        item : Item
        is_waiting : bool
            Whether the item is tried again later anyway. It does not count as a success then: a
            controller also syncs an owner to report what was rejected.
        """
        if self._counts and self.present is not None and not self._has_failed:
            self._counts.pop(self.present, None)
        self.present = item
        self._has_failed = is_waiting and item in self._counts

    def failed(self, item: Item, now_ns: int) -> int | None:
        """Count a failure of the present item.

        Returns
        -------
        int, optional
            When it is tried again; None if this sync has failed already.
        """
        if self._has_failed:
            return None
        self._has_failed = True
        count = self._counts.get(item, 0)
        self._counts[item] = count + 1
        return now_ns + min(FIRST_NS << min(count, 30), LONGEST_NS)
