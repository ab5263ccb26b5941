"""Objects that a controller keeps in every namespace, such as the default service account."""

from __future__ import annotations

from podwright.apimachinery.objects import KubernetesObject
from podwright.cluster.api import section
from podwright.cluster.controllers.interface import Keys, Version


def namespace_to_sync(old: Version, new: Version, name: str) -> Keys:
    """Return the namespace that a change concerns.

    Parameters
    ----------
    old, new : KubernetesObject, optional
        A namespace, or an object of the kept kind.
    name : str
        The name of the kept object.
    """
    obj = new if new is not None else old
    assert obj is not None, "neither an old nor a new object"
    if obj.kind == "Namespace":
        return () if new is None else (obj.name,)
    # A new object of the name was created by the controller, or is checked for the first time.
    return (obj.metadata.namespace,) if obj.name == name else ()


def is_active(namespace: KubernetesObject | None) -> bool:
    """Whether objects can be created in a namespace."""
    if namespace is None or namespace.metadata.deletion_timestamp is not None:
        return False
    return section(namespace, "status").get("phase") == "Active"
