"""The roles and bindings that an API server creates at its first start.

`bootstrap_policy.json` has them with one object a line, without the label and the annotation that
all have. It follows upstream's defaults of the feature gates.

Upstream: plugin/pkg/auth/authorizer/rbac/bootstrappolicy/{policy,controller_policy,
namespace_policy}.go; pkg/registry/rbac/rest/storage_rbac.go
"""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Any, Final

import msgspec

from podwright.apimachinery.objects import Document
from podwright.cluster.api.authorization.role_resolver import GROUP

_LABELS: Final = {"kubernetes.io/bootstrapping": "rbac-defaults"}
_ANNOTATIONS: Final = {"rbac.authorization.kubernetes.io/autoupdate": "true"}


class _File(msgspec.Struct, frozen=True):
    objects: list[dict[str, Any]]


@cache
def bootstrap_policy() -> tuple[Document, ...]:
    """Return the objects in the order of their creation; read-only."""
    data = resources.files("podwright.cluster.api.authorization").joinpath("bootstrap_policy.json")
    return tuple(map(_document, msgspec.json.decode(data.read_bytes(), type=_File).objects))


def _document(found: dict[str, Any]) -> Document:
    rest = dict(found)
    metadata: Document = {"name": rest.pop("name")}
    if namespace := rest.pop("namespace", ""):
        metadata["namespace"] = namespace
    metadata["labels"] = _LABELS | rest.pop("labels", {})
    metadata["annotations"] = _ANNOTATIONS
    return {"apiVersion": f"{GROUP}/v1", **rest, "metadata": metadata}
