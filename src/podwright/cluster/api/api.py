"""The write requests of one cluster: every change of an object goes through `Api.handle`.

Theory of operation
-------------------
A request becomes a `Write`, which passes the stages that `pipeline` lists. The driver of the API
delivers the committed changes to the subscribers; the store never calls back into this room.

A rejection is a value: the reply contains the error. A rejected request writes nothing.

Upstream: staging/src/k8s.io/apiserver/pkg/endpoints/handlers/{create,update,patch,delete}.go
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from podwright.apimachinery.objects import InvalidObject, KubernetesObject
from podwright.cluster.api.create_update import Scope
from podwright.cluster.api.deletion import DeleteOptions
from podwright.cluster.api.field_management import ComponentOwners
from podwright.cluster.api.object_edits import merge_patched
from podwright.cluster.api.pipeline import SERVED, SIMULATED, Verb, execute
from podwright.cluster.api.pods.binding import NO_LABELS, Binding, topology_labels
from podwright.cluster.api.pods.eviction import Eviction
from podwright.cluster.api.rejections import Rejection, of_object
from podwright.cluster.api.requests import (
    ApplyObject,
    BindPod,
    CreateObject,
    DeleteObject,
    EvictPod,
    PatchObject,
    Reply,
    UpdateObject,
    WriteRequest,
)
from podwright.cluster.api.resource_storage import ResourceStorage
from podwright.cluster.api.stages.draft_admission import Admission, ComponentParts
from podwright.cluster.api.stages.write import (
    Allocator,
    DraftWrite,
    Form,
    StatusWrites,
    Write,
)
from podwright.cluster.store import POD, GroupKind, ObjectError, ObjectStore, kind_of


class Api:
    """Executes requests on the objects of one store.

    Parameters
    ----------
    store : ObjectStore
        The objects of the cluster.
    is_served : bool
        Whether an API server has the same store.

    Attributes
    ----------
    store : ObjectStore
        Read-only for callers.
    admission : Admission
    """

    def __init__(self, store: ObjectStore, *, is_served: bool = False) -> None:
        self.store = store
        profile = SERVED if is_served else SIMULATED
        storage = ResourceStorage(store, limits_sizes=profile.limits_sizes)
        status = StatusWrites(storage)
        self.admission = Admission(store, added=profile.added_plugins, update_status=status.update)
        self._parts = ComponentParts(
            profile=profile,
            storage=storage,
            server_status=status,
            admission=self.admission.admission,
            drafts=self.admission,
        )
        self._writes: dict[type, Callable[[Any, int], tuple[Verb, Write]]] = {
            CreateObject: self._creation,
            UpdateObject: self._update,
            ApplyObject: self._applied,
            PatchObject: self._patched,
            DeleteObject: self._deletion,
            BindPod: self._binding,
            EvictPod: self._eviction,
        }

    def keep_owners(self, owners: ComponentOwners) -> None:
        """Keep the `managedFields` of objects from now on."""
        self._parts.server_status.owners = owners
        profile = msgspec.structs.replace(self._parts.profile, keeps_fields=True)
        self._parts = msgspec.structs.replace(self._parts, profile=profile, owners=owners)

    def allocate_by(self, allocators: Mapping[GroupKind, Allocator]) -> None:
        """Allocate to valid objects of these kinds what they need from now on."""
        profile = msgspec.structs.replace(self._parts.profile, allocates=True)
        self._parts = msgspec.structs.replace(self._parts, profile=profile, allocators=allocators)

    def handle(self, request: WriteRequest, user: str, now_ns: int) -> Reply:
        """Execute a request.

        Parameters
        ----------
        request : WriteRequest
            The write.
        user : str
            The user that makes the request. There is no authorization yet.
        now_ns : int
            The time of the request, in nanoseconds since 1970.

        Returns
        -------
        Reply
            The stored object, or the error that rejects the request.
        """
        try:
            verb, write = self._writes[type(request)](request, now_ns)
            done = execute(self._parts, verb, write)
        except ObjectError as error:
            return Reply(error=of_object(error))
        except InvalidObject as error:
            return Reply(error=error)
        return Reply(error=done) if isinstance(done, Rejection) else Reply(done)

    # ------------------------------------------------------------------------------- writes

    def _creation(self, request: CreateObject, now_ns: int) -> tuple[Verb, Write]:
        return "create", _draft(request.obj, request.user, now_ns)

    def _update(self, request: UpdateObject, now_ns: int) -> tuple[Verb, Write]:
        return "update", _draft(request.obj, request.user, now_ns, request.scope)

    def _patched(self, request: PatchObject, now_ns: int) -> tuple[Verb, Write]:
        patched = merge_patched(self.store.require(request.object_kind, request.key), request.patch)
        return "update", _draft(patched, request.user, now_ns, request.scope)

    def _applied(self, request: ApplyObject, now_ns: int) -> tuple[Verb, Write]:
        obj, is_recorded = request.obj, request.scope == "whole"
        write = _draft(
            obj, request.user, now_ns, request.scope, "recorded" if is_recorded else "applied"
        )
        write.current = self.store.get(kind_of(obj), obj.key)
        if write.current is not None:
            return "update", write
        return "restore" if is_recorded and obj.uid else "create", write

    def _deletion(self, request: DeleteObject, now_ns: int) -> tuple[Verb, Write]:
        kind, key = (request.group, request.object_kind), request.key
        return "delete", Write(
            kind=kind,
            key=key,
            now_ns=now_ns,
            body=DeleteOptions(
                grace_seconds=request.grace_seconds,
                propagation=request.propagation,
                uid=request.uid or None,
            ),
            attributes=self.admission.of_deletion(kind, key, request.user, now_ns),
        )

    def _binding(self, request: BindPod, now_ns: int) -> tuple[Verb, Write]:
        labels = NO_LABELS
        if self._parts.profile.labels_pods:
            labels = topology_labels(self.store, request.node)
        body = Binding(node=request.node, uid=request.uid, labels=labels)
        return "bind", Write(kind=POD, key=request.pod, now_ns=now_ns, body=body)

    def _eviction(self, request: EvictPod, now_ns: int) -> tuple[Verb, Write]:
        options = DeleteOptions(uid=request.uid or None)
        body = Eviction(uid=request.uid, read_options=lambda: options)
        return "evict", Write(kind=POD, key=request.pod, now_ns=now_ns, body=body)


def _draft(
    obj: KubernetesObject, user: str, now_ns: int, scope: Scope = "main", form: Form = "draft"
) -> DraftWrite:
    if scope == "status" and form == "draft":
        form = "status"
    return DraftWrite(now_ns=now_ns, body=obj, sent=obj, user=user, scope=scope, form=form)
