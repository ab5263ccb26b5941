"""Requests to the API server: the one vocabulary of writes for every component.

Controllers, stages, the scheduler's calls and a user's operations all make these requests, and
`api.Api.handle` executes them. A write names the user that makes it.

Upstream: the verbs of staging/src/k8s.io/apiserver/pkg/endpoints/handlers, and the subresources
status, binding, eviction and scale.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from podwright.api.lifecycle import Propagation, Scope
from podwright.objects import Document, KubernetesObject, NamespacedName, PodwrightError
from podwright.store import GroupKind, Stored


class CreateObject(msgspec.Struct, frozen=True, tag=True, tag_field="kind", gc=False):
    """Create an object.

    Attributes
    ----------
    obj : KubernetesObject
        With a name, or a `generateName`.
    user : str
        Who makes the request, such as the name of a controller.
    """

    obj: KubernetesObject
    user: str


class UpdateObject(msgspec.Struct, frozen=True, tag=True, tag_field="kind", gc=False):
    """Replace an object that exists, or its status.

    Attributes
    ----------
    obj : KubernetesObject
        The object as it will be. A uid and a resourceVersion in it are preconditions.
    scope : str
        What changes: `status`, `main` (all but the status) or `whole`.
    user : str
        Who makes the request.
    """

    obj: KubernetesObject
    scope: Scope
    user: str


class ApplyObject(msgspec.Struct, frozen=True, tag=True, tag_field="kind", gc=False):
    """Create an object, or replace the one of its name; its namespace is created if needed.

    Attributes
    ----------
    obj : KubernetesObject
        The object as a manifest has it; its uid and resourceVersion are no preconditions.
    scope : str
        What an existing object takes from it. With `whole`, a new object keeps the uid, the times
        and the generation that it has, as a recorded object does.
    user : str
        Who makes the request.
    """

    obj: KubernetesObject
    scope: Scope
    user: str


class PatchObject(msgspec.Struct, frozen=True, tag=True, tag_field="kind", gc=False):
    """Change some fields of an object, by a JSON merge patch.

    Attributes
    ----------
    object_kind : GroupKind
    key : NamespacedName
    patch : Document
        As RFC 7386 has it: None removes a field.
    user : str
        Who makes the request.
    """

    object_kind: GroupKind
    key: NamespacedName
    patch: Document
    user: str


class DeleteObject(msgspec.Struct, frozen=True, tag=True, tag_field="kind", gc=False):
    """Delete an object, or begin to.

    Attributes
    ----------
    group, object_kind, key
        The object.
    uid : str
        A precondition; empty for none.
    user : str
        Who makes the request.
    grace_seconds : int, optional
        How long a pod has to stop; its own grace period without it.
    propagation : str, optional
        What becomes of its dependents.
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
        Who makes the request.
    """

    pod: NamespacedName
    node: str
    uid: str
    user: str


class EvictPod(msgspec.Struct, frozen=True, tag=True, tag_field="kind", gc=False):
    """Delete a pod if its disruption budget allows it: `pods/eviction`.

    Attributes
    ----------
    pod : NamespacedName
    uid : str
        A precondition; empty for none.
    user : str
        Who makes the request.
    """

    pod: NamespacedName
    uid: str
    user: str


class ScaleObject(msgspec.Struct, frozen=True, tag=True, tag_field="kind", gc=False):
    """Set the replicas of a workload: the subresource `scale`."""

    object_kind: GroupKind
    key: NamespacedName
    replicas: int
    user: str


WriteRequest: TypeAlias = (
    CreateObject
    | UpdateObject
    | ApplyObject
    | PatchObject
    | DeleteObject
    | BindPod
    | EvictPod
    | ScaleObject
)


class Reply(msgspec.Struct, frozen=True, gc=False):
    """The answer to a write request.

    Attributes
    ----------
    stored : Stored, optional
        What the write came to.
    error : PodwrightError, optional
        Why it was refused; then nothing has changed.
    """

    stored: Stored | None = None
    error: PodwrightError | None = None

    def raise_for_error(self) -> None:
        """Raise the error, if there is one."""
        if self.error is not None:
            raise self.error
