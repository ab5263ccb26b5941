"""The write requests of one cluster: every change of an object goes through `Api.handle`.

Theory of operation
-------------------
A request passes each layer once: admission completes or rejects new objects, validation rejects
invalid ones, `ResourceStorage` computes the next version, and the store commits it. The
driver of the API delivers the committed changes to the subscribers; the store never calls back
into this room.

A rejection is a value: the reply contains the error. A rejected request writes nothing.

Upstream: staging/src/k8s.io/apiserver/pkg/endpoints/handlers/{create,update,patch,delete}.go
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from podwright._interludes import interlude
from podwright.apimachinery.objects import (
    Document,
    InvalidObject,
    KubernetesObject,
    with_fields,
)
from podwright.cluster.api.admission import SERVED, Admission
from podwright.cluster.api.bootstrap_objects import namespace
from podwright.cluster.api.create_update import Scope
from podwright.cluster.api.deletion import DeleteOptions
from podwright.cluster.api.field_management import ComponentOwners
from podwright.cluster.api.object_edits import merge_patched, with_defaults, with_fields_of_others
from podwright.cluster.api.object_validation import ObjectValidation
from podwright.cluster.api.pipeline import Pipeline, Write
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
from podwright.cluster.api.resource_storage import OwnersOf, ResourceStorage
from podwright.cluster.api.status_writes import StatusWrites
from podwright.cluster.store import NAMESPACE, POD, ObjectError, ObjectStore, Stored, kind_of


class Api:
    """Executes requests on the objects of one store.

    Parameters
    ----------
    store : ObjectStore
        The objects of the cluster.
    is_served : bool
        Whether an API server has the same store: pods then have service accounts and the
        topology labels of their nodes, and quotas are counted.

    Attributes
    ----------
    store : ObjectStore
        Read-only for callers.
    admission : Admission
    validation : ObjectValidation
    """

    def __init__(self, store: ObjectStore, *, is_served: bool = False) -> None:
        self.store = store
        self._is_served = is_served
        self._storage = ResourceStorage(store, limits_sizes=is_served)
        self._status = StatusWrites(self._storage)
        self.admission = Admission(
            store, added=SERVED if is_served else (), update_status=self._status.update
        )
        self._pipeline = Pipeline(
            storage=self._storage,
            server_status=self._status,
            admission=self.admission.chain,
            in_go_form=is_served,
        )
        self.validation = ObjectValidation()
        self._verbs: dict[type, Callable[[Any, int], Stored | Rejection]] = {
            CreateObject: self._create,
            UpdateObject: self._update,
            ApplyObject: self._apply,
            PatchObject: self._patch,
            DeleteObject: self._delete,
            BindPod: self._bind,
            EvictPod: self._evict,
        }

    def keep_owners(self, owners: ComponentOwners) -> None:
        """Keep the `managedFields` of objects from now on."""
        self._status.owners = owners

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
            done = self._verbs[type(request)](request, now_ns)
        except ObjectError as error:
            return Reply(error=of_object(error))
        except (Rejection, InvalidObject) as error:
            return Reply(error=error)
        return Reply(error=done) if isinstance(done, Rejection) else Reply(done)

    def _create(self, request: CreateObject, now_ns: int) -> Stored:
        obj = self.admission.admit_new(request.obj, request.user, now_ns)
        with interlude():
            self.validation.check_new(obj)
            owners = self._new_owners(request, now_ns)
        return self._storage.create(obj, now_ns, owners=owners)

    def _new_owners(
        self, request: CreateObject | ApplyObject, now_ns: int
    ) -> list[Document] | None:
        if self._status.owners is None:
            return None
        return self._status.owners.created(request.obj, request.user, now_ns)

    def _owners_of(self, scope: Scope, user: str, now_ns: int) -> OwnersOf | None:
        owners = self._status.owners
        return None if owners is None else owners.of_update(scope, user, now_ns)

    def _update(self, request: UpdateObject, now_ns: int) -> Stored:
        obj, scope = request.obj, request.scope
        owners_of = self._owners_of(scope, request.user, now_ns)
        if scope == "status":
            return self._storage.update(obj, scope=scope, owners_of=owners_of)
        obj = self.admission.complete_update(obj, request.user, now_ns)
        return self._storage.update(
            obj, scope=scope, validate=self._check_update, owners_of=owners_of
        )

    def _check_update(self, new: KubernetesObject, old: KubernetesObject) -> None:
        with interlude():
            self.validation.check_update(new, old)

    def _apply(self, request: ApplyObject, now_ns: int) -> Stored:
        obj, scope = request.obj, request.scope
        # The server of a recording has validated its objects.
        is_recorded = scope == "whole"
        if obj.namespace and self.store.get(NAMESPACE, obj.namespace) is None:
            # A rejected object must not leave a new namespace behind.
            admit = self.admission.admit if is_recorded else self.admission.admit_new
            admitted = admit(with_defaults(obj))
            if not is_recorded:
                self.validation.check_new(admitted)
            self._storage.create(namespace(obj.namespace), now_ns)
        current = self.store.get(kind_of(obj), obj.key)
        if current is not None:
            if scope == "main":
                obj = with_fields_of_others(obj, current)
            if not is_recorded:
                obj = with_defaults(obj)
            body = with_fields(self.admission.admit(obj), "metadata", resource_version="", uid="")
            if not is_recorded:
                self.validation.check_new(body)
            # A recorded object has the managed fields of its server.
            owners_of = None if is_recorded else self._owners_of(scope, request.user, now_ns)
            return self._storage.update(body, scope=scope, owners_of=owners_of)
        if is_recorded and obj.uid:
            return self.store.put(self.admission.admit(obj))
        admitted = self.admission.admit_new(obj, now_ns=now_ns)
        if not is_recorded:
            self.validation.check_new(admitted)
        owners = None if is_recorded else self._new_owners(request, now_ns)
        return self._storage.create(admitted, now_ns, owners=owners)

    def _patch(self, request: PatchObject, now_ns: int) -> Stored:
        patched = merge_patched(self.store.require(request.object_kind, request.key), request.patch)
        return self._update(UpdateObject(patched, request.scope, request.user), now_ns)

    def _delete(self, request: DeleteObject, now_ns: int) -> Stored | Rejection:
        kind, key = (request.group, request.object_kind), request.key
        write = Write(
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
        return self._pipeline.execute("delete", write)

    def _bind(self, request: BindPod, now_ns: int) -> Stored | Rejection:
        labels = topology_labels(self.store, request.node) if self._is_served else NO_LABELS
        body = Binding(node=request.node, uid=request.uid, labels=labels)
        write = Write(kind=POD, key=request.pod, now_ns=now_ns, body=body)
        return self._pipeline.execute("bind", write)

    def _evict(self, request: EvictPod, now_ns: int) -> Stored | Rejection:
        options = DeleteOptions(uid=request.uid or None)
        body = Eviction(uid=request.uid, read_options=lambda: options)
        write = Write(kind=POD, key=request.pod, now_ns=now_ns, body=body)
        return self._pipeline.execute("evict", write)
