"""What somebody does to a cluster from outside: objects, deletions, nodes that fail, drains."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from podwright.objects import KubernetesObject, NamespacedName, PersistentVolumeClaim, Pod
from podwright.store import GroupKind


class Apply(msgspec.Struct, frozen=True, tag=True, gc=False):
    """Create an object, or replace the one of its name but for its status.

    Attributes
    ----------
    obj : KubernetesObject
        As somebody would give it to kubectl.
    """

    obj: KubernetesObject


class Put(msgspec.Struct, frozen=True, tag=True, gc=False):
    """Make an object as it is given, its status included, as somebody else has recorded it.

    If it has a uid it keeps it when it is new.
    """

    obj: KubernetesObject


class Update(msgspec.Struct, frozen=True, tag=True, gc=False):
    """Replace an object but for its status, if it is there and nothing was decided about it.

    A pod that has a node, or a claim that has a volume, is left as it is: somebody else's
    decision does not replace ours.
    """

    obj: KubernetesObject


class Delete(msgspec.Struct, frozen=True, tag=True, gc=False):
    """Delete an object; one that is not there is left alone.

    Attributes
    ----------
    object_kind : GroupKind
    key : str
    grace_seconds : int, optional
        How long a pod has to stop.
    only_pending : bool
        Leave a pod alone that has a node, or has ended.
    """

    object_kind: GroupKind
    key: NamespacedName
    grace_seconds: int | None = None
    only_pending: bool = False


class Cordon(msgspec.Struct, frozen=True, tag=True, gc=False):
    """Let no more pods come to a node, or let them again.

    Attributes
    ----------
    is_cordoned : bool
        False: `kubectl uncordon`.
    """

    node: str
    is_cordoned: bool = True


class Drain(msgspec.Struct, frozen=True, tag=True, gc=False):
    """Cordon a node and evict its pods as budgets allow, like `kubectl drain`."""

    node: str


class FailNode(msgspec.Struct, frozen=True, tag=True, gc=False):
    """A node's kubelet stops to report."""

    node: str


class RestoreNode(msgspec.Struct, frozen=True, tag=True, gc=False):
    """A node's kubelet reports again."""

    node: str


class Scale(msgspec.Struct, frozen=True, tag=True, gc=False):
    """Set `spec.replicas`; an object that is not there is left alone."""

    object_kind: GroupKind
    key: NamespacedName
    replicas: int


Operation: TypeAlias = (
    Apply | Put | Update | Delete | Cordon | Drain | FailNode | RestoreNode | Scale
)


class InputOperation(msgspec.Struct, frozen=True, gc=False):
    """An operation after which the next one is to be asked for."""

    operation: Operation


def is_placed(obj: KubernetesObject) -> bool:
    """Tell whether an object is a pod that has a node, or has ended."""
    return isinstance(obj, Pod) and (
        bool(obj.spec.node_name) or obj.status.phase in ("Succeeded", "Failed")
    )


def may_update(there: KubernetesObject | None) -> bool:
    """Tell whether an `Update` changes the object that is there."""
    if there is None or is_placed(there):
        return False
    return not (isinstance(there, PersistentVolumeClaim) and there.spec.volume_name)
