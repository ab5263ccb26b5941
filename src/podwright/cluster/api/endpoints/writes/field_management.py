"""Which manager owns which field: `metadata.managedFields` of every write.

Upstream: staging/src/k8s.io/apiserver/pkg/endpoints/handlers/{create,update,patch}.go;
staging/src/k8s.io/apimachinery/pkg/util/managedfields
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Final, TypeAlias

from podwright._interludes import interlude
from podwright.apimachinery.objects import Document, api_group, timestamp_text
from podwright.apimachinery.patching import (
    ObjectType,
    applied,
    object_type,
    with_managed_fields,
    with_unchanged_times,
)
from podwright.apimachinery.schema import Kind
from podwright.cluster.api.endpoints.request import HttpRequest
from podwright.cluster.api.endpoints.resources import Resource, Resources

Convert: TypeAlias = Callable[[Document, str], "tuple[Document, ObjectType] | None"]

_MANAGER_MAX: Final = 128


def manager_of(request: HttpRequest, field_manager: str) -> str:
    """Return the manager of a request: the option, or the start of the User-Agent.

    Notes
    -----
    Upstream: endpoints/handlers/create.go, managerOrUserAgent
    """
    if field_manager:
        return field_manager
    return _of_agent(request.header("user-agent"))


@lru_cache(maxsize=1024)
def _of_agent(text: str) -> str:
    agent = text.partition("/")[0][:_MANAGER_MAX]
    printable = "".join(letter for letter in agent if letter.isprintable())
    return printable or "unknown"


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
        self._types: dict[Resource, ObjectType] = {}
        self._has_versions: dict[Resource, bool] = {}

    def type_of(self, resource: Resource) -> ObjectType:
        """Return the type of the objects of a resource."""
        if resource.object_type is not None:
            return resource.object_type
        known = self._types.get(resource)
        if known is None:
            kind = resource.kind
            assert isinstance(kind, Kind), f"{resource.name} has no type for apply"
            known = self._types[resource] = object_type(kind)
        return known

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
                self.type_of(resource),
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
            self.type_of(resource),
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
            version = api_version.rpartition("/")[2]
            group = api_group(api_version)
            target = self._resources.find(group, version, resource.plural)
            if target is None or target.storage != resource.storage:
                return None
            if resource.is_custom:
                # Neither pruned nor completed, so that it may not have the types of the version.
                return document | {"apiVersion": api_version}, self.type_of(target)
            return target.served(resource.stored(document)), self.type_of(target)

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
