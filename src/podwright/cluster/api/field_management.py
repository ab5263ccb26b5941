"""Which manager owns which field: `metadata.managedFields` of every write.

Upstream: staging/src/k8s.io/apiserver/pkg/endpoints/handlers/{create,update,patch}.go;
staging/src/k8s.io/apimachinery/pkg/util/managedfields
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from podwright._interludes import interlude
from podwright.apimachinery.objects import Document, api_group, timestamp_text
from podwright.apimachinery.patching import (
    ObjectType,
    applied,
    with_managed_fields,
    with_unchanged_times,
)
from podwright.cluster.api.versions.resources import Resource, Resources

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
            version = api_version.rpartition("/")[2]
            group = api_group(api_version)
            target = self._resources.find(group, version, resource.plural)
            if target is None or target.storage != resource.storage:
                return None
            if resource.is_custom:
                # Neither pruned nor completed, so that it may not have the types of the version.
                return document | {"apiVersion": api_version}, target.object_type
            return target.served(resource.stored(document)), target.object_type

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
