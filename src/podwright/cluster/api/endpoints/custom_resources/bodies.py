"""The kind in the body of a custom resource: any is decoded, and another one is not valid.

Upstream: staging/src/k8s.io/apiextensions-apiserver/pkg/registry/customresource/validator.go,
ValidateTypeMeta; staging/src/k8s.io/apiextensions-apiserver/pkg/crdserverscheme/unstructured.go
"""

from __future__ import annotations

from podwright.apimachinery.objects import Document
from podwright.cluster.api.endpoints.decoding.body_kinds import type_meta
from podwright.cluster.api.rejections import bad_request, unrecognized
from podwright.cluster.api.versions.resources import ObjectKind


def check_custom_kind(document: Document, kind: ObjectKind, body: bytes) -> Document:
    """Return a body that has a kind.

    Raises
    ------
    Rejection
        The kind is missing.
    """
    if kind.row.kind == document.get("kind") and kind.api_version == document.get("apiVersion"):
        return document
    type_meta(document, kind.row.kind, body)
    if not document.get("kind"):
        message = f"Object 'Kind' is missing in '{body.decode(errors='replace')}'"
        raise unrecognized(kind.row.kind, message, body)
    if "apiVersion" in document and document["apiVersion"] is None:
        message = ".apiVersion accessor error: <nil> is of the type <nil>, expected string"
        raise cannot_be_custom(kind, document, ValueError(message))
    return document


def check_custom_version(document: Document, kind: ObjectKind) -> None:
    """Reject a decoded body of another version.

    Raises
    ------
    Rejection
        The versions differ.
    """
    if (api_version := document.get("apiVersion") or "") != kind.api_version:
        raise bad_request(
            f"the API version in the data ({api_version}) does not match the expected API version"
            f" ({kind.api_version})"
        )


def cannot_be_custom(kind: ObjectKind, document: Document, error: ValueError) -> Exception:
    """Return the error of a body that cannot be decoded, with the kind that it says to be."""
    version = str(document.get("apiVersion") or "").rpartition("/")[2]
    return bad_request(
        f'{document.get("kind")} in version "{version}" cannot be handled as a {kind.row.kind}:'
        f" {error}"
    )
