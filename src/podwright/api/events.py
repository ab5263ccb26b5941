"""Kubernetes Events as actions: what stages and controllers record."""

from __future__ import annotations

import msgspec

from podwright.objects import (
    NamespacedName,
)


class RecordEvent(msgspec.Struct, frozen=True, tag=True, tag_field="kind", gc=False):
    """Record a Kubernetes Event about an object.

    Attributes
    ----------
    source : str
        Who says so: a controller's name, or `kwok` for a stage.
    """

    group: str
    object_kind: str
    key: NamespacedName
    uid: str
    type: str
    reason: str
    note: str
    source: str = "kwok"
