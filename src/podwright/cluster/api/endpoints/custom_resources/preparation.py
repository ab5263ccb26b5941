"""How a CustomResourceDefinition is prepared for a write.

Upstream: staging/src/k8s.io/apiextensions-apiserver/pkg/registry/customresourcedefinition/
strategy.go
"""

from __future__ import annotations

from podwright.apimachinery.objects import Document


def new_definition(definition: Document, now_ns: int) -> Document:
    """Return a new definition, which has nothing but its stored version in the status."""
    del now_ns
    return _with_stored_version(definition | {"status": {}})


def changed_definition(new: Document, old: Document, now_ns: int) -> Document:
    """Return a changed definition with the stored status."""
    del now_ns
    return _with_stored_version(new | {"status": old.get("status") or {}})


def definition_with_status(new: Document, old: Document, now_ns: int) -> Document:
    """Return the stored definition with the sent status and metadata."""
    del now_ns
    return new | {"spec": old.get("spec") or {}}


def _with_stored_version(definition: Document) -> Document:
    versions = (definition.get("spec") or {}).get("versions") or ()
    status: Document = definition["status"]
    listed = list(status.get("storedVersions") or ())
    name = next((each.get("name") for each in versions if each.get("storage")), None)
    if name is None or name in listed:
        return definition
    return definition | {"status": status | {"storedVersions": [*listed, name]}}
