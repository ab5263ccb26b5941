"""Operations of users on a cluster: objects, deletions, failing nodes, drains."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Literal, TypeAlias

import msgspec

from podwright.apimachinery.objects import (
    KubernetesObject,
    NamespacedName,
    PersistentVolumeClaim,
    Pod,
)
from podwright.cluster.store import GroupKind


class Apply(msgspec.Struct, frozen=True, tag=True, gc=False):
    """Create an object, or replace the one of the same name except its status.

    Attributes
    ----------
    obj : KubernetesObject
        As a user would pass it to kubectl.
    subresource : str
        `status` to merge the status of the object into that of an existing one, and change nothing
        else.
    """

    obj: KubernetesObject
    subresource: str = ""


class Create(msgspec.Struct, frozen=True, tag=True, gc=False):
    """Create the object `obj`; one of the same name is an error."""

    obj: KubernetesObject


PatchType: TypeAlias = Literal["merge", "strategic", "json"]
"""The types of patches, as `kubectl patch --type` names them."""


class Patch(msgspec.Struct, frozen=True, tag=True, gc=False):
    """Patch an object; a missing one is ignored.

    Attributes
    ----------
    object_kind : GroupKind
    key : str
    patch : object
        As decoded from JSON.
    patch_type : str
    place : str
        Where a user wrote it: a missing object is reported then.
    """

    object_kind: GroupKind
    key: NamespacedName
    patch: Any
    patch_type: PatchType = "strategic"
    place: str = ""


class Stop(msgspec.Struct, frozen=True, tag=True, gc=False):
    """End the run."""


class Put(msgspec.Struct, frozen=True, tag=True, gc=False):
    """Create or replace `obj` with its status, as it was recorded in another cluster.

    A new object keeps the UID that it has.
    """

    obj: KubernetesObject


class Update(msgspec.Struct, frozen=True, tag=True, gc=False):
    """Replace `obj` except its status, if it exists and is not placed.

    A pod that has a node and a claim that has a volume stay unchanged: a recorded decision does
    not replace a simulated one.
    """

    obj: KubernetesObject


class Delete(msgspec.Struct, frozen=True, tag=True, gc=False):
    """Delete an object; a missing one is ignored.

    Attributes
    ----------
    object_kind : GroupKind
    key : str
    grace_seconds : int, optional
        The grace period of a pod.
    only_pending : bool
        Ignore a pod that has a node or has terminated.
    place : str
        As for `Patch`.
    """

    object_kind: GroupKind
    key: NamespacedName
    grace_seconds: int | None = None
    only_pending: bool = False
    place: str = ""


class Cordon(msgspec.Struct, frozen=True, tag=True, gc=False):
    """Mark a node unschedulable, or schedulable again.

    Attributes
    ----------
    node : str
        Its name.
    is_cordoned : bool
        False: `kubectl uncordon`.
    place : str
        As for `Patch`.
    """

    node: str
    is_cordoned: bool = True
    place: str = ""


class Drain(msgspec.Struct, frozen=True, tag=True, gc=False):
    """Cordon the node named `node` and evict its pods as budgets allow, like `kubectl drain`.

    `place` is as for `Patch`.
    """

    node: str
    place: str = ""


class FailNode(msgspec.Struct, frozen=True, tag=True, gc=False):
    """The kubelet of the node named `node` stops reporting; `place` is as for `Patch`."""

    node: str
    place: str = ""


class RestoreNode(msgspec.Struct, frozen=True, tag=True, gc=False):
    """The kubelet of the node named `node` reports again; `place` is as for `Patch`."""

    node: str
    place: str = ""


class Scale(msgspec.Struct, frozen=True, tag=True, gc=False):
    """Set `spec.replicas`; a missing object is ignored.

    Attributes
    ----------
    object_kind : (str, str)
        The group and the kind, such as ("apps", "Deployment").
    key : str
        The object's `namespace/name`.
    replicas : int
        The new number.
    place : str
        As for `Patch`.
    """

    object_kind: GroupKind
    key: NamespacedName
    replicas: int
    place: str = ""


ON_NODE: Final[dict[str, Callable[[str, str], Cordon | Drain | FailNode | RestoreNode]]] = {
    "cordon": lambda node, place: Cordon(node, place=place),
    "uncordon": lambda node, place: Cordon(node, is_cordoned=False, place=place),
    "drain": Drain,
    "fail": FailNode,
    "restore": RestoreNode,
}
"""The operations on one node and a place, by the names that event lines have for them."""


class OnNodes(msgspec.Struct, frozen=True, tag=True, gc=False):
    """An operation on each node whose labels match a selector when the operation is due.

    Attributes
    ----------
    operation : str
        A key of `ON_NODE`.
    selector : str
        As kubectl writes it: `topology.kubernetes.io/zone=a`.
    """

    operation: str
    selector: str


Operation: TypeAlias = (
    Apply | Create | Put | Update | Patch | Delete | Scale
    | Cordon | Drain | FailNode | RestoreNode | OnNodes | Stop
)  # fmt: skip


class InputOperation(msgspec.Struct, frozen=True, gc=False):
    """An operation from the inputs of a run; the next one is read after it."""

    operation: Operation


def is_placed(obj: KubernetesObject) -> bool:
    """Tell whether an object is a pod that has a node or has terminated."""
    return isinstance(obj, Pod) and (
        bool(obj.spec.node_name) or obj.status.phase in ("Succeeded", "Failed")
    )


def may_update(there: KubernetesObject | None) -> bool:
    """Tell whether an `Update` changes the existing object."""
    if there is None or is_placed(there):
        return False
    return not (isinstance(there, PersistentVolumeClaim) and there.spec.volume_name)
