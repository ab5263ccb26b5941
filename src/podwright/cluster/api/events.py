"""The action by which stages and controllers record a Kubernetes Event."""

from __future__ import annotations

import msgspec

from podwright.apimachinery.objects import (
    NamespacedName,
)


class RecordEvent(msgspec.Struct, frozen=True, tag=True, tag_field="kind", gc=False):
    """Record a Kubernetes Event about an object.

    Attributes
    ----------
    source : str
        The reporting component: the name of a controller, or `kwok` for a stage.
    host : str
        The node on which the component runs; empty for a component of the control plane.
    field_path : str
        The part of the object, such as `spec.containers{web}`; empty for the whole object.
    """

    group: str
    object_kind: str
    key: NamespacedName
    uid: str
    type: str
    reason: str
    note: str
    source: str = "kwok"
    host: str = ""
    field_path: str = ""
