"""Preconditions of a write: the uid and the resourceVersion of the stored object."""

from __future__ import annotations

from podwright.apimachinery.objects import KubernetesObject
from podwright.cluster.store import Conflict, GroupKind, version_number


def check(kind: GroupKind, current: KubernetesObject, *, uid: str, expected: int | None) -> None:
    """Check the preconditions of a write; an empty uid and a missing version always hold.

    Raises
    ------
    Conflict
        A precondition does not hold.
    """
    if uid and uid != current.uid:
        raise Conflict(kind, current.key, field="uid", expected=uid, found=current.uid)
    found = current.metadata.resource_version
    if expected is not None and str(expected) != found:
        raise Conflict(
            kind, current.key, field="resourceVersion", expected=str(expected), found=found
        )


def check_body(
    kind: GroupKind, current: KubernetesObject, body: KubernetesObject, expected: int | None
) -> None:
    """Check the uid and the resourceVersion in the body of a write, as `check` does."""
    sent, stored = body.metadata, current.metadata
    # The common case, a body made from the stored version, needs no parsing of the version.
    if expected is None and sent.resource_version == stored.resource_version:
        if sent.uid == stored.uid:
            return
    elif expected is None and sent.resource_version:
        expected = version_number(sent.resource_version)
    check(kind, current, uid=sent.uid, expected=expected)
