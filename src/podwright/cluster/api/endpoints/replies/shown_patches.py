"""The patched object in the message of a failed patch, and why it is not one of the kind.

Upstream: staging/src/k8s.io/apiserver/pkg/endpoints/handlers/patch.go;
gopkg.in/evanphx/json-patch.v4
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from podwright.apimachinery.objects import Document, api_group, write_go_json
from podwright.apimachinery.patching import json_patched, merge_patched
from podwright.apimachinery.schema import Kind, TypeRef, built_in, go_ordered
from podwright.cluster.api.endpoints.decoding.body_kinds import other_kind_error
from podwright.cluster.api.endpoints.decoding.go_type_errors import go_kind
from podwright.cluster.api.versions.resources import ObjectKind, Resource


def shown_json_patched(kind: ObjectKind, document: Document, patch: list[Document] | None) -> str:
    """Return a document after a JSON patch as upstream's library encodes it.

    The library sorts the fields of the objects on the path of an operation. The others have the
    order of Go's structs, and values of the patch have their own.

    Parameters
    ----------
    kind : ObjectKind
    document : dict
        The document before the patch.
    patch : list of dict or None
        The operations; the patch is one that can be applied.
    """
    shown = json_patched(in_go_order(kind, document), patch)
    for operation in patch or ():
        for field in ("path", "from"):
            shown = _sorted_on_path(shown, str(operation.get(field) or "").split("/")[1:-1])
    return write_go_json(shown, sort_keys=False)


def shown_merge_patched(kind: ObjectKind, document: Document, patch: Any) -> str:
    """Return a document after a merge patch as upstream's library encodes it.

    The library sorts the fields of the objects that are in the patch, too.
    """
    shown = merge_patched(in_go_order(kind, document), patch)
    return write_go_json(_sorted_by_patch(shown, patch), sort_keys=False)


def shown_applied(kind: ObjectKind, document: Document) -> str:
    """Return an applied document in messages."""
    ordered = in_go_order(kind, document)
    return write_go_json(dict(sorted(ordered.items())), sort_keys=False)


def in_go_order(kind: ObjectKind, document: Document) -> Document:
    """Return a document in the order of Go's encoder: fields as in structs, keys of maps sorted."""
    if not isinstance(kind, Kind):
        ordered: Document = _all_sorted(document)
        return ordered
    return _struct_in_order(document, kind.struct.name)


def _in_order(value: Any, ref: TypeRef) -> Any:
    if isinstance(value, list):
        element = ref.element or ref
        return [_in_order(each, element) for each in value]
    if not isinstance(value, dict):
        return value
    if ref.is_struct:
        return _struct_in_order(value, ref.name)
    if ref.element is None:
        return _all_sorted(value)
    return {key: _in_order(value[key], ref.element) for key in sorted(value)}


def _struct_in_order(value: Document, struct: str) -> Document:
    fields = go_ordered(built_in().type(struct))
    known = {field.name for field in fields}
    shown = {
        field.name: _in_order(value[field.name], field.type)
        for field in fields
        if field.name in value
    }
    return shown | {name: value[name] for name in value if name not in known}


def _all_sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _all_sorted(value[name]) for name in sorted(value)}
    if isinstance(value, list):
        return [_all_sorted(each) for each in value]
    return value


def _sorted_by_patch(document: Any, patch: Any) -> Any:
    if isinstance(patch, list):
        # A list of the patch replaces that of the document.
        return _all_sorted(document)
    if not isinstance(document, dict) or not isinstance(patch, dict):
        return document
    return {name: _sorted_by_patch(document[name], patch.get(name)) for name in sorted(document)}


def _sorted_on_path(document: Any, names: Sequence[str]) -> Any:
    if not isinstance(document, dict):
        return document
    first = names[0].replace("~1", "/").replace("~0", "~") if names else None
    return {
        name: _sorted_on_path(document[name], names[1:]) if name == first else document[name]
        for name in sorted(document)
    }


# ------------------------------------------------------------------------ another kind


def of_other_kind(resource: Resource, patched: Document) -> ValueError:
    """Return why a patched document of another apiVersion or kind cannot be decoded."""
    kind = resource.kind
    api_version, name = patched.get("apiVersion"), patched.get("kind")
    for field, value in (("apiVersion", api_version), ("kind", name)):
        if not isinstance(value, str):
            return ValueError(
                f"couldn't get version/kind; json parse error: json: cannot unmarshal"
                f" {go_kind(value)} into Go struct field .{field} of type string"
            )
    assert isinstance(api_version, str), "checked above"
    assert isinstance(name, str), "checked above"
    is_own = (api_group(api_version), name) == (kind.row.group, kind.row.kind)
    schema = built_in()
    is_known = schema.is_replaced(api_version, name) or schema.find(api_version, name) is not None
    if resource.is_custom or (is_own and is_known):
        return ValueError(
            f"unable to decode {api_version}, Kind={name} into {kind.api_version},"
            f" Kind={resource.name}"
        )
    return other_kind_error(kind, api_version, name, patched)
