"""The write requests of one cluster: every change of an object goes through `Api.handle`.

Theory of operation
-------------------
A request becomes a `Write`, which passes the stages of its verb (`pipeline`): admission completes
or rejects new objects, validation rejects invalid ones, `ResourceStorage` computes the next
version, and the store commits it. The driver of the API delivers the committed changes to the
subscribers; the store never calls back into this room.

A rejection is a value: the reply contains the error. A rejected request writes nothing.

Upstream: staging/src/k8s.io/apiserver/pkg/endpoints/handlers/{create,update,patch,delete}.go
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from podwright._interludes import interlude
from podwright.apimachinery.objects import (
    InvalidObject,
    KubernetesObject,
    encode,
    timestamp_text,
    with_fields,
)
from podwright.cluster.api.admission import SERVED, Admission
from podwright.cluster.api.admission.typed_objects import prepared_change
from podwright.cluster.api.bootstrap_objects import namespace
from podwright.cluster.api.create_update import OwnersOf
from podwright.cluster.api.deletion import DeleteOptions
from podwright.cluster.api.field_management import ComponentOwners
from podwright.cluster.api.object_edits import (
    edited,
    merge_patched,
    with_defaults,
    with_fields_of_others,
)
from podwright.cluster.api.object_validation import ObjectValidation
from podwright.cluster.api.pipeline import (
    Allocator,
    Pipeline,
    Verb,
    Write,
    bare_pipeline,
    create,
)
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
from podwright.cluster.api.versions.resources import built_in_resources
from podwright.cluster.store import NAMESPACE, POD, GroupKind, ObjectError, ObjectStore, kind_of


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
        bare = bare_pipeline(store, limits_sizes=is_served)
        self._status = bare.server_status
        self.admission = Admission(
            store, added=SERVED if is_served else (), update_status=self._status.update
        )
        self._pipeline = msgspec.structs.replace(
            bare,
            admission=self.admission.chain,
            in_go_form=is_served,
            routes={
                **bare.routes,
                "create": (self._complete_new, create),
                "update": (self._update,),
                "apply": (self._make_namespace, self._apply),
            },
        )
        self.validation = ObjectValidation()
        self._writes: dict[type, tuple[Verb, Callable[[Any, int], Write]]] = {
            CreateObject: ("create", _creation),
            UpdateObject: ("update", _update_of),
            ApplyObject: ("apply", _update_of),
            PatchObject: ("update", self._patched),
            DeleteObject: ("delete", self._deletion),
            BindPod: ("bind", self._binding),
            EvictPod: ("evict", _eviction),
        }

    def keep_owners(self, owners: ComponentOwners) -> None:
        """Keep the `managedFields` of objects from now on."""
        self._status.owners = owners

    def allocate_by(self, allocators: Mapping[GroupKind, Allocator]) -> None:
        """Allocate to valid objects of these kinds what they need from now on."""
        self._pipeline = msgspec.structs.replace(self._pipeline, allocators=allocators)

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
        verb, write_of = self._writes[type(request)]
        try:
            done = self._pipeline.execute(verb, write_of(request, now_ns))
        except ObjectError as error:
            return Reply(error=of_object(error))
        except InvalidObject as error:
            return Reply(error=error)
        return Reply(error=done) if isinstance(done, Rejection) else Reply(done)

    # ------------------------------------------------------------------------------- stages

    def _complete_new(self, pipeline: Pipeline, write: Write) -> None:
        """Admit the new object; only one that no server has recorded is validated and owned."""
        sent, owners = write.body, self._status.owners
        write.body = self.admission.admit_new(sent, write.user, write.now_ns)
        if write.scope == "whole":
            return
        with interlude():
            self.validation.check_new(write.body)
            if owners is not None:
                write.owners = owners.created(sent, write.user, write.now_ns)
        write.body = _allocated(pipeline, write.body)

    def _owners_of(self, write: Write) -> OwnersOf | None:
        owners = self._status.owners
        return None if owners is None else owners.of_update(write.scope, write.user, write.now_ns)

    def _update(self, pipeline: Pipeline, write: Write) -> None:
        """Complete, validate and store the changed object."""
        obj, owners_of = write.body, self._owners_of(write)
        is_status = write.scope == "status"
        if not is_status:
            is_whole = write.scope == "whole"
            obj = self.admission.complete_update(obj, write.user, write.now_ns, is_whole=is_whole)
            if kind_of(obj) in pipeline.allocators:
                current = self.store.require(kind_of(obj), obj.key)
                self._check_update(obj, current)
                obj = _allocated(pipeline, obj, current)
        write.stored = pipeline.storage.update(
            obj,
            scope=write.scope,
            validate=None if is_status else self._check_update,
            owners_of=owners_of,
        )

    def _check_update(self, new: KubernetesObject, old: KubernetesObject) -> None:
        with interlude():
            self.validation.check_update(new, old)

    def _make_namespace(self, pipeline: Pipeline, write: Write) -> None:
        """Create the namespace of an applied object; a rejected object leaves none behind."""
        obj: KubernetesObject = write.body
        if not obj.namespace or self.store.get(NAMESPACE, obj.namespace) is not None:
            return
        is_recorded = write.scope == "whole"
        admit = self.admission.admit if is_recorded else self.admission.admit_new
        admitted = admit(with_defaults(obj))
        if not is_recorded:
            self.validation.check_new(admitted)
        pipeline.storage.create(namespace(obj.namespace), write.now_ns)

    def _apply(self, pipeline: Pipeline, write: Write) -> None:
        """Create or replace the applied object; the server of a recording has validated its own."""
        obj, scope = write.body, write.scope
        is_recorded = scope == "whole"
        current = self.store.get(kind_of(obj), obj.key)
        if current is not None:
            if scope == "main":
                obj = with_fields_of_others(obj, current)
            if not is_recorded:
                obj = with_defaults(obj)
            obj = self.admission.admit(obj, write.now_ns)
            if not is_recorded:
                obj = prepared_change(obj, current, write.now_ns)
            obj = with_fields(obj, "metadata", resource_version="", uid="")
            if not is_recorded:
                self.validation.check_new(obj)
                obj = _allocated(pipeline, obj, current)
            # A recorded object has the managed fields of its server.
            owners_of = None if is_recorded else self._owners_of(write)
            write.stored = pipeline.storage.update(obj, scope=scope, owners_of=owners_of)
        elif is_recorded and obj.uid:
            if obj.metadata.creation_timestamp is None:  # a file that no server wrote has no times
                obj = with_fields(obj, "metadata", creation_timestamp=timestamp_text(write.now_ns))
            write.stored = self.store.put(self.admission.admit(obj, write.now_ns))
        else:
            self._complete_new(pipeline, write)
            create(pipeline, write)

    # ------------------------------------------------------------------------------- writes

    def _patched(self, request: PatchObject, now_ns: int) -> Write:
        patched = merge_patched(self.store.require(request.object_kind, request.key), request.patch)
        return Write(now_ns=now_ns, body=patched, user=request.user, scope=request.scope)

    def _deletion(self, request: DeleteObject, now_ns: int) -> Write:
        kind, key = (request.group, request.object_kind), request.key
        return Write(
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

    def _binding(self, request: BindPod, now_ns: int) -> Write:
        labels = topology_labels(self.store, request.node) if self._is_served else NO_LABELS
        body = Binding(node=request.node, uid=request.uid, labels=labels)
        return Write(kind=POD, key=request.pod, now_ns=now_ns, body=body)


def _allocated(
    pipeline: Pipeline, obj: KubernetesObject, current: KubernetesObject | None = None
) -> KubernetesObject:
    """Return a valid object with what is allocated to it, such as the address of a Service."""
    if kind_of(obj) not in pipeline.allocators:
        return obj
    resource = built_in_resources()[obj.api_version, obj.kind]
    stored = None if current is None else encode(current)
    return edited(obj, pipeline.allocated(resource, encode(obj), stored, is_dry_run=False))


def _eviction(request: EvictPod, now_ns: int) -> Write:
    options = DeleteOptions(uid=request.uid or None)
    body = Eviction(uid=request.uid, read_options=lambda: options)
    return Write(kind=POD, key=request.pod, now_ns=now_ns, body=body)


def _creation(request: CreateObject, now_ns: int) -> Write:
    return Write(now_ns=now_ns, body=request.obj, user=request.user)


def _update_of(request: UpdateObject | ApplyObject, now_ns: int) -> Write:
    return Write(now_ns=now_ns, body=request.obj, user=request.user, scope=request.scope)
