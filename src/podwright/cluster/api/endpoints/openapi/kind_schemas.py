"""The schemas of served kinds without references, for the types of expressions.

Upstream: staging/src/k8s.io/apiserver/pkg/cel/openapi/resolver/refs.go;
staging/src/k8s.io/apimachinery/pkg/api/meta
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from podwright.apimachinery.cel import MatchedKind
from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema import built_in
from podwright.cluster.api.endpoints.openapi.custom import custom_schemas
from podwright.cluster.api.endpoints.openapi.names import custom_schema_name, schema_name
from podwright.cluster.api.endpoints.openapi.plain_schemas import (
    INT_OR_STRING,
    REGISTERED_FOR_CUSTOM,
)
from podwright.cluster.api.endpoints.openapi.schemas import Schemas, references
from podwright.cluster.api.versions.resources import Resource, Resources


class KindSchemas:
    """Finds the kinds of resources, and their schemas.

    Parameters
    ----------
    resources : Resources
        The served resources; they may change between calls.
    """

    def __init__(self, resources: Resources) -> None:
        self._resources = resources

    def kinds_of(self, group: str, version: str, resource: str) -> list[MatchedKind]:
        """Return the kinds of a resource; without a group, those of all groups.

        Parameters
        ----------
        resource : str
            The name in URLs, or the kind in lower case.
        """
        return [
            _matched(each)
            for each in self._resources
            if each.version == version
            and group in ("", each.group)
            and resource in (each.plural, each.name.lower())
        ]

    def kind(self, group: str, version: str, kind: str) -> MatchedKind:
        """Return a kind; it has no schema if it is not served."""
        for each in self._resources:
            if (each.group, each.version, each.name) == (group, version, kind):
                return _matched(each)
        return MatchedKind(group, version, kind, None)


def _matched(resource: Resource) -> MatchedKind:
    return MatchedKind(resource.group, resource.version, resource.name, _schema(resource))


def _schema(resource: Resource) -> Document | None:
    schemas = Schemas(built_in(), REGISTERED_FOR_CUSTOM)
    row = resource.kind.row
    if resource.is_custom:
        name = custom_schema_name(row.group, row.version, row.kind)
        own = custom_schemas(resource)
    else:
        name = schema_name(row.type)
        own = {}
    known = own | schemas.closure(references(own) if own else [name])
    return _resolved(known[name], known.get, {name}) if name in known else None


def _resolved(
    schema: Document, schema_of: Callable[[str], Document | None], within: set[str]
) -> Document:
    """Return a schema in whose parts each reference is replaced by its schema."""
    names = [*references({key: schema.get(key) for key in ("$ref", "allOf")})]
    if names:
        name = names[0]
        if name == INT_OR_STRING:
            return {"x-kubernetes-int-or-string": True}
        found = schema_of(name)
        if name in within or found is None:
            # The type of a schema that contains itself ends here.
            return {"type": "object"}
        return _resolved(found, schema_of, within | {name})

    def inner(part: Any) -> Any:
        return _resolved(part, schema_of, within) if isinstance(part, dict) else part

    made = dict(schema)
    if isinstance(made.get("properties"), dict):
        made["properties"] = {key: inner(part) for key, part in made["properties"].items()}
    for key in ("items", "additionalProperties"):
        if key in made:
            made[key] = inner(made[key])
    return made
