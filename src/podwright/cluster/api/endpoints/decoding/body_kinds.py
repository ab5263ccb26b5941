"""The `apiVersion` and `kind` of a body, which must be those of the path.

The body of a custom resource may have any: it is decoded, and another one is not valid.

Upstream: staging/src/k8s.io/apiserver/pkg/endpoints/handlers/{create,rest}.go;
staging/src/k8s.io/apimachinery/pkg/runtime/serializer/json/meta.go;
staging/src/k8s.io/apiextensions-apiserver/pkg/registry/customresource/validator.go,
ValidateTypeMeta; staging/src/k8s.io/apiextensions-apiserver/pkg/crdserverscheme/unstructured.go
"""

from __future__ import annotations

from typing import Final

from podwright.apimachinery.objects import Document, api_group
from podwright.apimachinery.schema import built_in
from podwright.cluster.api.endpoints.decoding.body_fields import TypeMismatchError, check_fields
from podwright.cluster.api.endpoints.decoding.go_type_errors import go_kind
from podwright.cluster.api.rejections import bad_request, unrecognized
from podwright.cluster.api.versions.resources import ObjectKind

_TYPE_META: Final = {"apiversion": "apiVersion", "kind": "kind"}
_KINDS_OF_VERSIONS: Final = frozenset(
    {"CreateOptions", "DeleteOptions", "GetOptions", "ListOptions", "PatchOptions", "UpdateOptions",
     "WatchEvent"}
)  # fmt: skip
"""The kinds that upstream registers for each version of a group."""
_UNVERSIONED: Final = frozenset(
    {"APIGroup", "APIGroupList", "APIResourceList", "APIVersions", "Status"}
)
"""The kinds that upstream registers for any version."""


def other_kind_error(
    kind: ObjectKind, api_version: str, name: str, document: Document
) -> ValueError:
    """Return why a document of another kind is none of a kind.

    Upstream first decodes the document as what it says to be, and then converts it.
    """
    schema = built_in()
    version = api_version.rpartition("/")[2]
    other = schema.find(api_version, name)
    is_known = (
        other is not None
        or schema.is_replaced(api_version, name)
        or name in _UNVERSIONED
        or schema.find(api_version, name.removesuffix("List")) is not None
        or (name in _KINDS_OF_VERSIONS and any(each.api_version == api_version for each in schema))
    )
    if not is_known:
        return ValueError(
            f'no kind "{name}" is registered for version "{api_version}" in scheme'
            ' "pkg/api/legacyscheme/scheme.go:30"'
        )
    if other is not None:
        try:
            check_fields(document, other, validation="Ignore")
        except TypeMismatchError as error:
            return error
    shown = "v1" if name in _UNVERSIONED or name in _KINDS_OF_VERSIONS else version
    return ValueError(
        f"converting ({shown}.{name}) to"
        f" ({internal_package(kind.row.group)}.{kind.row.kind}): unknown conversion"
    )


def check_kind(document: Document, kind: ObjectKind, body: bytes = b"") -> Document:
    """Return a document with its apiVersion and kind, which must be those of the path.

    Parameters
    ----------
    body : bytes
        The encoded document, for errors.

    Raises
    ------
    Rejection
        The body is one of another kind or version.
    """
    row = kind.row
    own = (kind.api_version, row.kind)
    if (document.get("apiVersion"), document.get("kind")) == own:
        return document
    sent = type_meta(document, row.kind, body)
    api_version, name = sent["apiVersion"] or kind.api_version, sent["kind"] or row.kind
    if (api_version, name) == own:
        return document | {"apiVersion": api_version, "kind": name}
    version = api_version.rpartition("/")[2]
    start = f'{name} in version "{version}" cannot be handled as a {row.kind}'
    schema = built_in()
    is_former = schema.is_replaced(api_version, name)
    group = api_group(schema.successor(api_version, name) if is_former else api_version)
    is_known = is_former or schema.find(api_version, name) is not None
    if not is_known or (group, name) != (row.group, row.kind):
        error = other_kind_error(kind, api_version, name, document)
        raise bad_request(f"{start}: {error}")
    raise bad_request(
        f"the API version in the data ({api_version}) does not match the expected API version"
        f" ({kind.api_version})"
    )


def type_meta(document: Document, kind: str, body: bytes) -> dict[str, str]:
    """Return the `apiVersion` and `kind` of a document, "" where they are absent.

    Parameters
    ----------
    kind : str
        The expected kind, for errors.

    Raises
    ------
    Rejection
        A value is not a string, or the version has more than one slash.

    Notes
    -----
    Go's decoder, which reads only these two, ignores the case of names, and the last value applies.
    """
    found = {"apiVersion": "", "kind": ""}
    mistakes: list[str] = []
    for key, value in document.items():
        name = _TYPE_META.get(key.lower())
        if name is None or value is None:
            continue
        if isinstance(value, str):
            found[name] = value
            continue
        mistakes.append(
            f"json: cannot unmarshal {go_kind(value)} into Go struct field .{name} of type string"
        )
    if mistakes:
        text = f"couldn't get version/kind; json parse error: {mistakes[0]}"
        raise unrecognized(kind, text, body)
    if found["apiVersion"].count("/") > 1:
        text = f"unexpected GroupVersion string: {found['apiVersion']}"
        raise unrecognized(kind, text, body)
    return found


def internal_package(group: str) -> str:
    """Return the package of upstream's internal types of a group."""
    if group in ("", "events.k8s.io"):
        return "core"
    return group.partition(".")[0]


# ----------------------------------------------------------------------- bodies of custom resources


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
