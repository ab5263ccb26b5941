"""Rules and warnings of custom resources and of their definitions.

Upstream: staging/src/k8s.io/apiextensions-apiserver/pkg/registry/customresource/validator.go;
staging/src/k8s.io/apiextensions-apiserver/pkg/registry/customresourcedefinition/strategy.go
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from podwright.apimachinery.objects import Document, api_group, label_key_errors
from podwright.apimachinery.schema import Problem, printed
from podwright.apimachinery.schema.structural import CustomKind, all_schemas, known_format
from podwright.cluster.api.rejections import invalid
from podwright.cluster.api.versions.resources import Resource
from podwright.cluster.store import GroupKind

DEFINITION: Final[GroupKind] = ("apiextensions.k8s.io", "CustomResourceDefinition")

_STANDARD: Final = frozenset({"orphan", "foregroundDeletion", "kubernetes"})


def check_kind_of_object(
    resource: Resource, document: Document, old: Document | None = None
) -> None:
    """Reject an object of another kind, with what else is wrong with it but for its values.

    Parameters
    ----------
    old : dict or None
        The stored object; None for a new one.

    Raises
    ------
    Rejection
        The kind differs from that of the resource.
    """
    sent, kind = document.get("kind"), resource.kind
    version = str(document.get("apiVersion") or "")
    if not isinstance(kind, CustomKind) or (sent, version) == (resource.name, kind.api_version):
        return
    wrong: list[Problem] = []
    for field, given, right in (
        ("kind", sent, resource.name),
        ("apiVersion", version, kind.api_version),
    ):
        if given != right:
            message = f"Invalid value: {printed(given)}: must be {right}"
            wrong.append((field, message, given))
    name = str((document.get("metadata") or {}).get("name") or "")
    found = kind.problems_of_other_kind(wrong, document, old)
    raise invalid(api_group(version), str(sent), name, found)


def write_warnings(
    resource: Resource, new: Document, old: Document | None, *, subresource: str = ""
) -> list[str]:
    """Return the warnings about a write, if it is one of a custom resource or of a definition.

    Parameters
    ----------
    old : dict or None
        The stored object; None for a new one.
    """
    if resource.is_custom:
        kind = resource.kind
        found = kind.rule_warnings(new) if isinstance(kind, CustomKind) else []
        return found if subresource else [*found, *_finalizer_warnings(new, old)]
    if resource.storage != DEFINITION or subresource:
        return []
    before = set() if old is None else {*_unknown_formats(old)}
    added = [name for name in _unknown_formats(new) if name not in before]
    return [f"unrecognized format {printed(name)}" for name in added]


def _unknown_formats(definition: Document) -> Iterator[str]:
    """Yield the formats in the schemas of a definition that are not checked."""
    for version in (definition.get("spec") or {}).get("versions") or ():
        for schema in all_schemas((version.get("schema") or {}).get("openAPIV3Schema") or {}):
            name = schema.get("format")
            if name and not known_format(name, schema.get("type") or ""):
                yield name


def _finalizer_warnings(new: Document, old: Document | None) -> list[str]:
    """Return the warnings about finalizers that a write adds."""
    before = ((old or {}).get("metadata") or {}).get("finalizers") or ()
    after = (new.get("metadata") or {}).get("finalizers") or ()
    found: list[str] = []
    for name in sorted({*after} - {*before}):
        start = f"metadata.finalizers: {printed(name)}: "
        found += [f"{start}{problem}" for problem in label_key_errors(name)]
        if "/" in name or name in _STANDARD:
            continue
        text = "prefer a domain-qualified finalizer name"
        if "." in name:
            text += " including a path (/)"
        found.append(f"{start}{text} to avoid accidental conflicts with other finalizer writers")
    return found
