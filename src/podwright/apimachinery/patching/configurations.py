"""Apply configurations without owners, as admission policies set them.

Upstream: staging/src/k8s.io/apiserver/pkg/admission/plugin/policy/mutating/patch/smd.go
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from podwright.apimachinery.objects import Document
from podwright.apimachinery.patching.errors import PatchError
from podwright.apimachinery.patching.object_types import ObjectType
from podwright.apimachinery.patching.typed_values import joined_errors, merged
from podwright.apimachinery.patching.value_types import ValueType


def configured(of: ObjectType, document: Document, configuration: Document) -> Document:
    """Return a document with what a configuration sets; nothing is removed.

    Parameters
    ----------
    of : ObjectType
    document : dict
        An object of the type.
    configuration : dict
        Fields of the same kind.

    Raises
    ------
    PatchError
        The configuration has other fields, or sets values that can only be replaced as a whole.
    """
    _, errors = of.applied_fields(configuration)
    if errors:
        raise PatchError(
            "failed to convert patch object to typed object: failed to create typed patch object"
            f" (/; {of.gvk}): {joined_errors(errors)}"
        )
    atomic = list(_atomic_paths(configuration, of.root, ""))
    if atomic:
        raise PatchError(
            "invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs:"
            f" {', '.join(atomic)}"
        )
    found: Document = merged(document, configuration, of.root)
    return found


def _atomic_paths(value: Any, of: ValueType, path: str) -> Iterator[str]:
    if isinstance(value, dict) and of.form == "map":
        if of.is_atomic:
            yield path
        for name, part in value.items():
            child = of.fields.get(name)
            if child is not None:
                yield from _atomic_paths(part, child, f"{path}.{name}")
    elif isinstance(value, list) and of.form == "list":
        if of.is_atomic:
            yield path
        if of.element is not None:
            for index, part in enumerate(value):
                yield from _atomic_paths(part, of.element, f"{path}[{index}]")
