"""Objects of single kinds, prepared for a write at one time."""

from __future__ import annotations

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema import built_in
from podwright.cluster.api.strategies.preparation import prepared_for_create, prepared_for_update
from podwright.cluster.api.versions.resources import Resource, built_in_resource

NOW_NS = 1_767_225_600 * 1_000_000_000
NOW, EARLIER = "2026-01-01T00:00:00Z", "2025-01-01T00:00:00Z"


def resource(kind: str, group: str = "") -> Resource:
    found = built_in().of(group, kind)
    assert found is not None, kind
    return built_in_resource(found)


def create(kind: str, document: Document, group: str = "") -> Document:
    return prepared_for_create(resource(kind, group), document, NOW_NS)


def update(
    kind: str, new: Document, old: Document, group: str = "", subresource: str = ""
) -> Document:
    return prepared_for_update(resource(kind, group), new, old, NOW_NS, subresource)
