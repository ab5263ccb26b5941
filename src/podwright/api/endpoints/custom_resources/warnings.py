"""Warnings about writes of custom resources.

Upstream: staging/src/k8s.io/apiextensions-apiserver/pkg/registry/customresource/
{strategy,validator}.go
"""

from __future__ import annotations

from typing import Final

from podwright.objects import Document, label_key_errors
from podwright.schema import printed

_STANDARD: Final = frozenset({"orphan", "foregroundDeletion", "kubernetes"})


def finalizer_warnings(new: Document, old: Document | None) -> list[str]:
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
