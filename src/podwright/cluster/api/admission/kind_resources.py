"""The resources of built-in kinds, for writes that do not come by HTTP."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, cached_property

import msgspec

from podwright.apimachinery.objects import Document
from podwright.apimachinery.patching import ObjectType, object_type
from podwright.apimachinery.schema import Kind, built_in
from podwright.cluster.store import GroupKind


class KindResource(msgspec.Struct, frozen=True, dict=True, eq=False):
    """The resource of a kind, whose objects are stored in its own version.

    Attributes
    ----------
    kind : Kind
    """

    kind: Kind

    @property
    def group(self) -> str:
        """The API group."""
        return self.kind.row.group

    @property
    def version(self) -> str:
        """The version."""
        return self.kind.row.version

    @property
    def plural(self) -> str:
        """The name in URLs."""
        return self.kind.row.resource

    @property
    def name(self) -> str:
        """The kind, such as `Pod`."""
        return self.kind.row.kind

    @property
    def namespaced(self) -> bool:
        """Whether the objects are in namespaces."""
        return self.kind.row.namespaced

    @property
    def storage(self) -> GroupKind:
        """The kind under which the store keeps the objects."""
        return self.kind.group_kind

    @cached_property
    def object_type(self) -> ObjectType:
        """The type of the objects for configurations."""
        return object_type(self.kind)

    def served(self, document: Document) -> Document:
        """Return a stored document in this version."""
        return document

    def stored(self, document: Document) -> Document:
        """Return a document of this version in the stored version."""
        return document


@cache
def kind_resources() -> Mapping[tuple[str, str], KindResource]:
    """Return the resources of all built-in kinds, by `apiVersion` and kind."""
    return {
        (kind.api_version, kind.row.kind): KindResource(kind)
        for kind in built_in()
        if kind.row.resource
    }
