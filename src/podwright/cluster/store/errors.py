"""The errors of a store.

The API server turns them into Status responses; their attributes have the values it needs.
"""

from __future__ import annotations

from typing import TypeAlias

from podwright.apimachinery.objects import (
    KubernetesObject,
    NamespacedName,
    PodwrightError,
    Unknown,
    api_group,
)


class StoreError(PodwrightError):
    """The base class of all errors of a store."""


class ObjectError(StoreError):
    """An error that concerns one object.

    Attributes
    ----------
    kind : GroupKind
        Group and kind.
    key : NamespacedName
        The object's key.
    """

    def __init__(self, kind: GroupKind, key: NamespacedName, message: str) -> None:
        super().__init__(f"{kind[1]} {key}: {message}")
        self.kind = kind
        self.key = key


class NotFound(ObjectError):  # noqa: N818 - named as the API names it
    """The object does not exist."""

    def __init__(self, kind: GroupKind, key: NamespacedName) -> None:
        super().__init__(kind, key, "not found")


class AlreadyExists(ObjectError):  # noqa: N818 - named as the API names it
    """The object already exists.

    Attributes
    ----------
    is_terminating : bool
        Whether the existing object is being deleted.
    """

    def __init__(self, kind: GroupKind, key: NamespacedName, *, is_terminating: bool) -> None:
        what = "already exists, and is being deleted" if is_terminating else "already exists"
        super().__init__(kind, key, what)
        self.is_terminating = is_terminating


class Expired(StoreError):  # noqa: N818 - named as the API names it
    """A version whose history was discarded (the API's 410).

    Attributes
    ----------
    requested, oldest, current : int
        The requested version, the oldest available one, and the newest.
    continue_token : str
        For a list in pages: continues it with the current state, which is not consistent.
    """

    def __init__(
        self, requested: int, *, oldest: int, current: int, continue_token: str = ""
    ) -> None:
        super().__init__(
            f"too old resource version: {requested} "
            f"(history goes back to {oldest}, the newest is {current}); list again"
        )
        self.requested = requested
        self.oldest = oldest
        self.current = current
        self.continue_token = continue_token


class FutureVersion(StoreError):  # noqa: N818 - named for what it is
    """A version that the store has not reached.

    Attributes
    ----------
    requested, current : int
        The requested version and the newest.
    """

    def __init__(self, requested: int, *, current: int) -> None:
        super().__init__(f"too large resource version: {requested}, current: {current}")
        self.requested = requested
        self.current = current


class InvalidContinue(StoreError, ValueError):  # noqa: N818 - named for what it is
    """A continue token that no list of this store has returned."""


class UnusableStore(StoreError):  # noqa: N818 - named for what it is
    """A file that cannot be opened as a store, or that can no longer be written.

    The message names the file, the problem and the remedy; the file stays unchanged.
    """


# Group and kind: how the store identifies kinds.

GroupKind: TypeAlias = tuple[str, str]
"""API group and kind, independent of the API version."""

KindLike: TypeAlias = GroupKind | type[KubernetesObject]
"""Group and kind, or the struct of a typed kind."""

NAMESPACE: GroupKind = ("", "Namespace")
POD: GroupKind = ("", "Pod")
EVENT: GroupKind = ("", "Event")
"""The stored kind of the Events of both groups."""

_OF_CLASS: dict[type[KubernetesObject], GroupKind] = {}


def group_kind(kind: KindLike) -> GroupKind:
    """Return the group and kind of a struct class; a GroupKind is returned as it is."""
    if isinstance(kind, tuple):
        return kind
    found = _OF_CLASS.get(kind)
    if found is None:
        found = _OF_CLASS[kind] = (api_group(kind.api_version), kind.kind)
    return found


def kind_of(obj: KubernetesObject) -> GroupKind:
    """Return the group and kind of an object."""
    found = _OF_CLASS.get(type(obj))
    if found is not None:
        return found
    if type(obj) is Unknown:
        return (api_group(obj.api_version), obj.kind)
    return group_kind(type(obj))
