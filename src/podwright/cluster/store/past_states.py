"""The state of a kind at an older version: what changed since, on top of the current objects.

The pages of one list show one version. Its state is kept from page to page and takes up only the
changes since the page before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from heapq import merge

from podwright.apimachinery.objects import KubernetesObject, NamespacedName
from podwright.cluster.store.history import Change
from podwright.cluster.store.kinds import GroupKind
from podwright.cluster.store.sorted_keys import SortedKeys

_KEPT_MAX = 16
"""The most states that are kept; lists beyond it read all changes since their version."""


class PastState:
    """The objects of a kind that changed since a version.

    Parameters
    ----------
    version : int
        The version of the state.

    Attributes
    ----------
    until : int
        The version up to which changes are known.
    before : dict
        The changed objects as they were at the version; None if they did not exist.
    """

    def __init__(self, version: int) -> None:
        self.until = version
        self.before: dict[NamespacedName, KubernetesObject | None] = {}
        self._existed = SortedKeys()
        self._added = SortedKeys()

    def take_up(self, changes: Iterable[Change], until: int) -> None:
        """Add the next changes."""
        for change in changes:
            if change.key not in self.before:
                self.before[change.key] = change.old
                (self._added if change.old is None else self._existed).add(change.key)
        self.until = until

    def keys(
        self,
        current: Iterator[NamespacedName],
        after: NamespacedName | None,
        namespace: str | None,
    ) -> Iterator[NamespacedName]:
        """Yield the keys after a key that existed at the version, in order.

        Parameters
        ----------
        current : iterator
            The current keys after that key, in order.
        """
        last: NamespacedName | None = None
        for key in merge(current, self._existed.after(after)):
            if key == last:
                continue
            last = key
            if key in self.before and not _is_in(self.before[key], namespace):
                continue
            yield key

    def count_change(
        self,
        after: NamespacedName,
        namespace: str | None,
        current: Callable[[NamespacedName], KubernetesObject | None],
    ) -> int:
        """Return how many more objects after a key there were at the version than there are now."""
        gone = sum(
            current(key) is None and _is_in(self.before[key], namespace)
            for key in self._existed.after(after)
        )
        new = (current(key) for key in self._added.after(after))
        return gone - sum(obj is not None and _is_in(obj, namespace) for obj in new)


def _is_in(obj: KubernetesObject | None, namespace: str | None) -> bool:
    return obj is not None and (namespace is None or obj.metadata.namespace == namespace)


class PastStates:
    """The states that lists in pages have used last."""

    def __init__(self) -> None:
        self._kept: dict[tuple[GroupKind, int], PastState] = {}

    def find(self, kind: GroupKind, version: int) -> PastState:
        """Return the state of a kind at a version; the caller adds the missing changes."""
        state = self._kept.pop((kind, version), None) or PastState(version)
        self._kept[kind, version] = state
        if len(self._kept) > _KEPT_MAX:
            del self._kept[next(iter(self._kept))]
        return state

    def discard_before(self, oldest: int) -> None:
        """Discard the states of versions that cannot be listed any more."""
        for kind, version in [key for key in self._kept if key[1] < oldest]:
            del self._kept[kind, version]
