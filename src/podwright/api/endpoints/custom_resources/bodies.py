"""The kind in the body of a custom resource: any is decoded, and another one is not valid.

Upstream: staging/src/k8s.io/apiextensions-apiserver/pkg/registry/customresource/validator.go,
ValidateTypeMeta; pkg/crdserverscheme/unstructured.go
"""

from __future__ import annotations

from podwright.api.endpoints.bodies import go_kind
from podwright.api.endpoints.resources import ObjectKind, Resource
from podwright.api.endpoints.status_errors import bad_request, invalid
from podwright.objects import Document, api_group
from podwright.schema import printed


def check_custom_kind(document: Document, kind: ObjectKind) -> Document:
    """Return a body that has a kind, and the version of the path.

    Raises
    ------
    ApiError
        The kind is missing, or the version is another one.
    """
    api_version, name = document.get("apiVersion") or "", document.get("kind") or ""
    if not isinstance(api_version, str) or not isinstance(name, str):
        wrong = api_version if not isinstance(api_version, str) else name
        raise bad_request(
            "couldn't get version/kind; json parse error: json: cannot unmarshal"
            f" {go_kind(wrong)} into Go struct field .apiVersion of type string"
        )
    if not name:
        raise bad_request("Object 'Kind' is missing in 'object has no kind field '")
    if api_version != kind.api_version:
        raise bad_request(
            f"the API version in the data ({api_version}) does not match the expected API version"
            f" ({kind.api_version})"
        )
    return document


def check_kind_of_object(resource: Resource, document: Document) -> None:
    """Reject an object of another kind.

    Raises
    ------
    ApiError
        The kind differs from that of the resource.
    """
    sent = document.get("kind")
    if not resource.is_custom or sent == resource.name:
        return
    name = str((document.get("metadata") or {}).get("name") or "")
    group = api_group(str(document.get("apiVersion") or ""))
    message = f"Invalid value: {printed(sent)}: must be {resource.name}"
    raise invalid(group, str(sent), name, [("kind", message, sent)])
