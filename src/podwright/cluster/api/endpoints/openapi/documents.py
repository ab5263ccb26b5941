"""Whole documents of version 3: of group versions, groups, and the roots.

Upstream: k8s.io/kube-openapi/pkg/builder3;
staging/src/k8s.io/apiserver/pkg/server/routes/openapi.go
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema import KindRow, built_in
from podwright.cluster.api.endpoints.openapi.names import META, GroupVersionNames
from podwright.cluster.api.endpoints.openapi.operations import (
    OBJECT_TYPES,
    Operation,
    ResourcePaths,
    path_item,
)
from podwright.cluster.api.endpoints.openapi.plain_schemas import VERSION
from podwright.cluster.api.endpoints.openapi.schemas import Schemas, references

_INFO: Final = {"title": "Kubernetes", "version": "1.36"}
SECURITY: Final = {
    "BearerToken": {
        "type": "apiKey",
        "description": "Bearer Token authentication",
        "name": "authorization",
        "in": "header",
    }
}
_JSON: Final = ("application/json",)

PLAIN_PATHS: Final = {
    "api": (
        "/api/", "getCoreAPIVersions", "core", "get available API versions",
        f"{META}.APIVersions", OBJECT_TYPES,
    ),
    "apis": (
        "/apis/", "getAPIVersions", "apis", "get available API versions",
        f"{META}.APIGroupList", OBJECT_TYPES,
    ),
    "version": (
        "/version/", "getCodeVersion", "version", "get the version information for this server",
        VERSION, _JSON,
    ),
    ".well-known/openid-configuration": (
        "/.well-known/openid-configuration/", "getServiceAccountIssuerOpenIDConfiguration",
        "WellKnown",
        "get service account issuer OpenID configuration, also known as the 'OIDC discovery doc'",
        "", _JSON,
    ),
    "openid/v1/jwks": (
        "/openid/v1/jwks/", "getServiceAccountIssuerOpenIDKeyset", "openid",
        "get service account issuer OpenID JSON Web Key Set (contains public token verification"
        " keys)",
        "", ("application/jwk-set+json",),
    ),
}  # fmt: skip
"""Documents of one path: the path, its operation id, its tag, its description, the schema and types
of the reply."""


def document(
    paths: Document, schemas: Document, info: Document = _INFO, *, is_secured: bool = True
) -> Document:
    """Return a document from its paths and schemas."""
    components: Document = {"schemas": schemas} if schemas else {}
    if is_secured:
        components["securitySchemes"] = SECURITY
    return {
        "openapi": "3.0.0",
        "info": info,
        "paths": dict(sorted(paths.items())),
        "components": components,
    }


def plain_document(key: str) -> Document:
    """Return one of `PLAIN_PATHS`."""
    path, operation_id, tag, sentence, answer, types = PLAIN_PATHS[key]
    get = Operation(
        method="get",
        id=operation_id,
        tag=tag,
        description=sentence,
        answer=answer,
        answer_types=types,
    )
    return _with_schemas({path: path_item(path, [get])}, "", "")


def group_document(group: str) -> Document:
    """Return the document of `/apis/GROUP/`."""
    names = GroupVersionNames(group, "")
    path = f"/apis/{group}/"
    get = Operation(
        method="get",
        id=f"get{names.infix}APIGroup",
        tag=names.tag,
        description="get information of a group",
        answer=f"{META}.APIGroup",
    )
    return _with_schemas({path: path_item(path, [get])}, "", "")


def version_document(group: str, version: str, rows: Iterable[KindRow]) -> Document:
    """Return the document of a group version with built-in resources."""
    names = GroupVersionNames(group, version)
    root = f"/apis/{group}/{version}/" if group else f"/api/{version}/"
    get = Operation(
        method="get",
        id=f"get{names.infix}APIResources",
        tag=names.tag,
        description="get available resources",
        answer=f"{META}.APIResourceList",
    )
    paths = {root: path_item(root, [get])}
    for row in rows:
        paths.update(ResourcePaths(row).items())
    return _with_schemas(paths, group, version)


def _with_schemas(paths: Document, group: str, version: str) -> Document:
    versions = dict.fromkeys([("", "v1"), (group, version or "v1")])
    schemas = Schemas(built_in(), versions)
    return document(paths, schemas.closure(references(paths)))
