"""What a write expects of the object that is there: its uid and its version."""

from __future__ import annotations

from podwright.objects import KubernetesObject
from podwright.store import Conflict, GroupKind, version_number


def check(kind: GroupKind, current: KubernetesObject, *, uid: str, expected: int | None) -> None:
    """Refuse a write of another object, or of another version; not given, they hold.

    Raises
    ------
    Conflict
        It is another one.
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
    """Refuse a write whose body was made from another version, as `check` does."""
    wanted, there = body.metadata, current.metadata
    # Mostly it was made from what is there, and nothing has to be read as a number.
    if expected is None and wanted.resource_version == there.resource_version:
        if wanted.uid == there.uid:
            return
    elif expected is None and wanted.resource_version:
        expected = version_number(wanted.resource_version)
    check(kind, current, uid=wanted.uid, expected=expected)
