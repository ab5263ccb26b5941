"""What somebody does to a cluster from outside: objects, deletions, nodes that fail, drains."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from podwright.objects import KubernetesObject, NamespacedName

GroupKind: TypeAlias = tuple[str, str]


class Apply(msgspec.Struct, frozen=True, tag=True, gc=False):
    """Create an object, or replace the one of its name but for its status.

    Attributes
    ----------
    obj : KubernetesObject
        As somebody would give it to kubectl.
    """

    obj: KubernetesObject


class Put(msgspec.Struct, frozen=True, tag=True, gc=False):
    """Make an object as it is given, its status included, as somebody else has recorded it."""

    obj: KubernetesObject


class Delete(msgspec.Struct, frozen=True, tag=True, gc=False):
    """Delete an object; one that is not there is left alone.

    Attributes
    ----------
    object_kind : GroupKind
    key : str
    grace_seconds : int, optional
        How long a pod has to stop.
    """

    object_kind: GroupKind
    key: NamespacedName
    grace_seconds: int | None = None


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


Operation: TypeAlias = Apply | Put | Delete | Cordon | Drain | FailNode | RestoreNode | Scale
