"""Which manager owns which field: `metadata.managedFields` of every write.

Upstream: staging/src/k8s.io/apiserver/pkg/endpoints/handlers/{create,update,patch}.go;
staging/src/k8s.io/apimachinery/pkg/util/managedfields
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from podwright._interludes import interlude
from podwright.apimachinery.objects import (
    Document,
    KubernetesObject,
    api_group,
    encode,
    timestamp_text,
)
from podwright.apimachinery.patching import (
    ObjectType,
    applied,
    with_managed_fields,
    with_unchanged_times,
    with_update_as_apply,
)
from podwright.apimachinery.schema import Kind
from podwright.cluster.api.create_update import OwnersOf, Scope
from podwright.cluster.api.users import SCHEDULER_USER
from podwright.cluster.api.versions.resources import Resource, Resources
from podwright.cluster.store import GroupKind, kind_of

Convert: TypeAlias = Callable[[Document, str], "tuple[Document, ObjectType] | None"]


class FieldManagement:
    """Keeps `managedFields` of the objects of a server.

    Parameters
    ----------
    resources : Resources
        The served resources, which have the types of custom objects.
    is_on : bool
        Whether entries are kept; a server without them applies nothing.
    """

    def __init__(self, resources: Resources, *, is_on: bool = True) -> None:
        self._resources = resources
        self.is_on = is_on
        self._has_versions: dict[Resource, bool] = {}

    def updated(
        self,
        resource: Resource,
        live: Document | None,
        new: Document,
        *,
        manager: str,
        subresource: str,
        now_ns: int,
    ) -> Document:
        """Return an object of a create, update or patch with the owners of its fields.

        Parameters
        ----------
        live : dict or None
            The stored object, None for a new one.
        """
        if not self.is_on:
            return new
        with interlude():
            return with_managed_fields(
                resource.object_type,
                live,
                new,
                manager,
                now=timestamp_text(now_ns),
                subresource=subresource,
                convert=self._converter(resource),
            )

    def applied(
        self,
        resource: Resource,
        live: Document | None,
        configuration: Document,
        *,
        manager: str,
        force: bool,
        subresource: str,
        now_ns: int,
    ) -> Document:
        """Return an object after server-side apply.

        Raises
        ------
        PatchError
            The configuration does not fit, or conflicts with other managers.
        """
        return applied(
            resource.object_type,
            live,
            configuration,
            manager,
            force=force,
            now=timestamp_text(now_ns),
            subresource=subresource,
            convert=self._converter(resource),
        )

    def settled(self, old: Document, new: Document) -> Document:
        """Return the new object with the times of entries that did not change."""
        with interlude():
            return with_unchanged_times(old, new) if self.is_on else new

    def _converter(self, resource: Resource) -> Convert | None:
        if not resource.is_custom and not self._is_in_other_versions(resource):
            return None

        def convert(document: Document, api_version: str) -> tuple[Document, ObjectType] | None:
            # An apply also converts back what it has converted.
            source, target = (
                self._resources.find(api_group(each), each.rpartition("/")[2], resource.plural)
                for each in (document["apiVersion"], api_version)
            )
            if source is None or target is None or target.storage != resource.storage:
                return None
            if resource.is_custom:
                # Neither pruned nor completed, so that it may not have the types of the version.
                return document | {"apiVersion": api_version}, target.object_type
            return target.served(source.stored(document)), target.object_type

        return convert

    def _is_in_other_versions(self, resource: Resource) -> bool:
        """Whether a built-in kind is served in several versions."""
        known = self._has_versions.get(resource)
        if known is None:
            known = self._has_versions[resource] = any(
                each.storage == resource.storage and each is not resource
                for each in self._resources
            )
        return known


# The owners of the fields that podwright's own components write through the typed API.
#
# The entries are those that the components of upstream leave: `kube-scheduler`, `kube-controller-
# manager` and `kubelet` with the operation Update. Bindings, evictions and deletions own nothing,
# as upstream. What the user of `podwright up` adds has the manager `podwright`.

SERVER_USER: Final = "system:apiserver"
"""The user of what the server itself writes."""

_MANAGERS: Final = {
    SCHEDULER_USER: "kube-scheduler",
    "kubelet": "kubelet",
    "kubernetes-admin": "podwright",
    "drain": "kubectl",
    "csi-attacher": "csi-attacher",
    SERVER_USER: "kube-apiserver",
}
_STAGES: Final = "kwok:"
"""The start of the users of stages: those of nodes stand for a kubelet."""
_CONTROLLERS: Final = "kube-controller-manager"
_APPLIERS: Final = {
    "clusterrole-aggregation-controller": "clusterrole-aggregation-controller",
    "validatingadmissionpolicy-status-controller": "validatingadmissionpolicy-status",
}
"""The field managers of the controllers that write by server-side apply."""
_ENTRIES: Final = "managedFields"


def manager_of_user(user: str) -> str:
    """Return the field manager of the component that makes requests as a user."""
    known = _MANAGERS.get(user) or _APPLIERS.get(user)
    if known is not None:
        return known
    return "kubelet" if user.startswith(_STAGES) else _CONTROLLERS


class ComponentOwners:
    """Computes the entries of objects that components write.

    Parameters
    ----------
    resources : Resources
        The served resources.
    fields : FieldManagement
    """

    def __init__(self, resources: Resources, fields: FieldManagement) -> None:
        self._resources = resources
        self._fields = fields
        self._of_kind: dict[GroupKind, Resource | None] = {}
        self._revision = resources.revision

    def created(self, obj: KubernetesObject, user: str, now_ns: int) -> list[Document] | None:
        """Return the entries of a new object."""
        resource = self._resource(kind_of(obj))
        if resource is None:
            return None
        document = self._completed(resource, encode(obj))
        return _entries_of(self._updated(resource, None, document, user, "", now_ns))

    def of_update(self, scope: Scope, user: str, now_ns: int) -> OwnersOf:
        """Return what computes the entries for `ResourceStorage.update`."""

        def updated(old: KubernetesObject, new: KubernetesObject) -> list[Document] | None:
            with interlude():
                return self.updated(old, new, scope, user, now_ns)

        return updated

    def updated(
        self,
        old: KubernetesObject,
        new: KubernetesObject,
        scope: Scope,
        user: str,
        now_ns: int,
    ) -> list[Document] | None:
        """Return the entries of an object that is updated."""
        entries = _entries_of(old.raw)
        if not entries:
            return entries  # no manager has applied it
        resource = self._resource(kind_of(old))
        if resource is None:
            return entries
        before, after = old.raw, new.raw
        if scope == "status":
            return _entries_of(self._updated(resource, before, after, user, "status", now_ns))
        between = after
        if scope == "whole":
            between = {**after, "status": before.get("status")}
        written = self._updated(resource, before, between, user, "", now_ns)
        if scope == "whole" and before.get("status") != after.get("status"):
            after = {**after, "metadata": written["metadata"]}
            written = self._updated(resource, written, after, user, "status", now_ns)
        return _entries_of(written)

    def _updated(
        self,
        resource: Resource,
        old: Document | None,
        new: Document,
        user: str,
        subresource: str,
        now_ns: int,
    ) -> Document:
        manager = manager_of_user(user)
        written = self._fields.updated(
            resource, old, new, manager=manager, subresource=subresource, now_ns=now_ns
        )
        return with_update_as_apply(written, manager) if user in _APPLIERS else written

    @staticmethod
    def _completed(resource: Resource, document: Document) -> Document:
        """Return a document with defaults and in Go's form, as a request would have it."""
        if resource.is_custom:
            return document
        assert isinstance(resource.kind, Kind), "kinds that are not custom are built in"
        made = resource.completed(resource.kind.with_shared_spec(document))
        return document | {"spec": made.get("spec")} if "spec" in document else made

    def _resource(self, kind: GroupKind) -> Resource | None:
        """Return the resource of the stored version of a kind; None if it is not served."""
        if self._revision != self._resources.revision:
            self._of_kind.clear()
            self._revision = self._resources.revision
        if kind not in self._of_kind:
            self._of_kind[kind] = next(
                (
                    each
                    for each in self._resources
                    if each.storage == kind and each.kind is each.storage_kind
                ),
                None,
            )
        return self._of_kind[kind]


def _entries_of(document: Document) -> list[Document] | None:
    entries: list[Document] | None = document["metadata"].get(_ENTRIES)
    return entries
