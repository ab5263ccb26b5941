"""The move of an object from client-side apply to server-side apply.

`kubectl apply` without `--server-side` keeps the configuration in an annotation. When kubectl
applies the same object at the server, fields of that configuration are no conflicts, and the
annotation is kept up to date.

Upstream: k8s.io/apimachinery/pkg/util/managedfields/internal: lastappliedmanager.go,
lastappliedupdater.go
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from podwright.apimachinery.objects import Document
from podwright.apimachinery.patching.field_sets import difference, paths
from podwright.apimachinery.patching.object_types import ObjectType
from podwright.apimachinery.patching.typed_values import difference_of, field_set, type_errors

LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
"""The annotation with the configuration of client-side apply."""
_MOST_ANNOTATION_BYTES: Final = 256 * 1024


def allowed_conflicts(of: ObjectType, live: Document) -> frozenset[str] | None:
    """Return the fields that client-side apply set and that have these values still.

    None if the object was not applied by the client, or in another version.
    """
    text = _annotations(live).get(LAST_APPLIED)
    if not text:
        return None
    try:
        last = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return None
    if not isinstance(last, dict) or last.get("apiVersion") != of.api_version:
        return None
    if type_errors(last, of.root):
        return None
    changed, removed = difference_of(last, live, of.root)
    fields = difference(difference(field_set(last, of.root), changed), removed)
    return frozenset(paths(fields))


def with_last_applied(document: Document, configuration: Document) -> Document:
    """Return an object with the configuration in its annotation, if it has that annotation."""
    annotations = _annotations(document)
    if not annotations.get(LAST_APPLIED):
        return document
    metadata = configuration.get("metadata") or {}
    own = metadata.get("annotations")
    if isinstance(own, dict):
        kept = {key: one for key, one in own.items() if key != LAST_APPLIED}
        configuration = {**configuration, "metadata": {**metadata, "annotations": kept}}
    text = msgspec.json.encode(configuration, order="sorted").decode() + "\n"
    changed = {**annotations, LAST_APPLIED: text}
    size = sum(len(key.encode()) + len(one.encode()) for key, one in changed.items())
    if size > _MOST_ANNOTATION_BYTES:
        del changed[LAST_APPLIED]
    if changed == annotations:
        return document
    return {**document, "metadata": {**document["metadata"], "annotations": changed}}


def _annotations(document: Document) -> dict[str, Any]:
    return (document.get("metadata") or {}).get("annotations") or {}
