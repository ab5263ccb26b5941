"""Write requests to the API server, which all components share, Events, and faults of nodes.

Controllers, stages, the scheduler and users make these requests, and `Api.handle` executes them.
Each request names its user.

Upstream: staging/src/k8s.io/apiserver/pkg/endpoints/handlers (the verbs, and the subresources
status, binding and eviction).
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from podwright.apimachinery.objects import (
    Document,
    KubernetesObject,
    NamespacedName,
    PodwrightError,
)
from podwright.cluster.api.create_update import Scope
from podwright.cluster.api.deletion import Propagation
from podwright.cluster.store import GroupKind, Stored


class CreateObject(msgspec.Struct, frozen=True, tag=True, tag_field="kind", gc=False):
    """Create an object.

    Attributes
    ----------
    obj : KubernetesObject
        An object with a name or a `generateName`.
    user : str
        The user that makes the request, such as the name of a controller.
    """

    obj: KubernetesObject
    user: str


class UpdateObject(msgspec.Struct, frozen=True, tag=True, tag_field="kind", gc=False):
    """Replace an object that exists, or its status.

    Attributes
    ----------
    obj : KubernetesObject
        The new object. Its uid and resourceVersion, if set, are preconditions.
    scope : str
        The part to replace: `status`, `main` (all but the status) or `whole`.
    user : str
        The user that makes the request.
    """

    obj: KubernetesObject
    scope: Scope
    user: str


class ApplyObject(msgspec.Struct, frozen=True, tag=True, tag_field="kind", gc=False):
    """Create or replace an object; its namespace is created if it does not exist.

    With `main`, an existing object keeps the fields that other clients set and that the object does
    not have, such as the node of a pod; see `object_edits.with_fields_of_others`.

    Attributes
    ----------
    obj : KubernetesObject
        The object of a manifest; its uid and resourceVersion are not preconditions.
    scope : str
        The part of an existing object to replace. With `whole`, a new object that has a uid is
        stored as it is, with its timestamps and generation, for objects of a recording.
    user : str
        The user that makes the request.
    """

    obj: KubernetesObject
    scope: Scope
    user: str


class PatchObject(msgspec.Struct, frozen=True, tag=True, tag_field="kind", gc=False):
    """Apply a JSON merge patch to an object.

    Attributes
    ----------
    object_kind : GroupKind
    key : NamespacedName
    patch : Document
        A patch according to RFC 7386: None removes a field.
    user : str
        The user that makes the request.
    scope : str
        `main` for the object, `status` for its subresource.
    """

    object_kind: GroupKind
    key: NamespacedName
    patch: Document
    user: str
    scope: Scope = "main"


class DeleteObject(msgspec.Struct, frozen=True, tag=True, tag_field="kind", gc=False):
    """Delete an object, or mark it as terminating.

    Attributes
    ----------
    group, object_kind, key
        The object to delete.
    uid : str
        A precondition; empty for none.
    user : str
        The user that makes the request.
    grace_seconds : int, optional
        The grace period of a pod; its own one by default.
    propagation : str, optional
        How the garbage collector deletes the dependents.
    """

    group: str
    object_kind: str
    key: NamespacedName
    uid: str
    user: str
    grace_seconds: int | None = None
    propagation: Propagation | None = None


class BindPod(msgspec.Struct, frozen=True, tag=True, tag_field="kind", gc=False):
    """Bind a pod to a node: `pods/binding`.

    Attributes
    ----------
    pod : NamespacedName
    node : str
    uid : str
        A precondition; empty for none.
    user : str
        The user that makes the request.
    """

    pod: NamespacedName
    node: str
    uid: str
    user: str


class EvictPod(msgspec.Struct, frozen=True, tag=True, tag_field="kind", gc=False):
    """Evict a pod, if its disruption budget allows it: `pods/eviction`.

    Attributes
    ----------
    pod : NamespacedName
    uid : str
        A precondition; empty for none.
    user : str
        The user that makes the request.
    """

    pod: NamespacedName
    uid: str
    user: str


WriteRequest: TypeAlias = (
    CreateObject | UpdateObject | ApplyObject | PatchObject | DeleteObject | BindPod | EvictPod
)


class Reply(msgspec.Struct, frozen=True, gc=False):
    """The reply to a write request.

    Attributes
    ----------
    stored : Stored, optional
        The result of an accepted write.
    error : PodwrightError, optional
        The reason for a rejection; nothing was written then.
    """

    stored: Stored | None = None
    error: PodwrightError | None = None

    def raise_for_error(self) -> None:
        """Raise the error, if there is one."""
        if self.error is not None:
            raise self.error


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


class NodeDown(msgspec.Struct, frozen=True, tag=True, tag_field="kind", gc=False):
    """The kubelet of a node stops reporting, and the status of its pods no longer changes."""

    node: str


class NodeUp(msgspec.Struct, frozen=True, tag=True, tag_field="kind", gc=False):
    """The kubelet of a node reports again."""

    node: str
