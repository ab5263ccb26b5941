"""Defaults of custom resource definitions.

Upstream: staging/src/k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1/defaults.go
"""

from __future__ import annotations

from typing import Final

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema.defaults.filling import with_absent, with_empty, with_part

_SERVICE_PORT: Final = 443


def set_definition_defaults(definition: Document) -> Document:
    """Set the defaults of a CustomResourceDefinition."""
    return with_part(definition, "spec", _spec)


def _spec(spec: Document) -> Document:
    spec = with_part(spec, "names", _names)
    spec = with_absent(spec, {"conversion": {"strategy": "None"}})
    return with_part(spec, "conversion", _conversion)


def _names(names: Document) -> Document:
    kind = names.get("kind") or ""
    names = with_empty(names, {"singular": kind.lower()})
    return with_empty(names, {"listKind": f"{kind}List"}) if kind else names


def _conversion(conversion: Document) -> Document:
    return with_part(conversion, "webhook", lambda hook: with_part(hook, "clientConfig", _client))


def _client(client: Document) -> Document:
    return with_part(client, "service", lambda each: with_absent(each, {"port": _SERVICE_PORT}))
