"""Field selectors in the version of a request: which fields, and what they are in the store.

Upstream: pkg/apis/*/v1/conversion.go (the conversions of field labels)
"""

from __future__ import annotations

from typing import Final

import msgspec

from podwright.apimachinery.objects import FieldSelector
from podwright.cluster.api.rejections import bad_request
from podwright.cluster.api.versions.resources import Resource

_EVENT_FIELDS: Final = {
    "reportingController": "reportingComponent",
}


def stored_fields(resource: Resource, selector: FieldSelector) -> FieldSelector:
    """Return a field selector with the names of the stored version.

    Raises
    ------
    Rejection
        The version does not have a field.
    """
    if resource.is_custom:
        _check_custom(resource, selector)
        return selector
    own = resource.kind.row.selectable
    known = {"metadata.name", *own}
    if resource.namespaced or not own:
        known.add("metadata.namespace")
    for each in selector.requirements:
        if each.field not in known:
            raise bad_request(_not_supported(resource, each.field))
    if selector.is_empty or resource.from_storage is None:
        return selector
    return FieldSelector(
        tuple(
            msgspec.structs.replace(each, field=_stored_name(resource, each.field))
            for each in selector.requirements
        )
    )


def _not_supported(resource: Resource, name: str) -> str:
    if not resource.kind.row.selectable:
        # Upstream: apimachinery/pkg/runtime/conversion.go, DefaultMetaV1FieldSelectorConversion
        return f'"{name}" is not a known field selector: only "metadata.name", "metadata.namespace"'
    if (resource.group, resource.name) == ("batch", "Job"):
        return f'field label "{name}" not supported for Job'
    if (resource.group, resource.name) == ("resource.k8s.io", "ResourceSlice"):
        kind = f"{resource.kind.api_version}, Kind={resource.name}"
        return f"field label not supported for {kind}: {name}"
    return f"field label not supported: {name}"


def _check_custom(resource: Resource, selector: FieldSelector) -> None:
    """Reject a field that the definition of a custom resource does not select by.

    Upstream: staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/conversion/converter.go
    """
    known = {"metadata.name", *resource.kind.row.selectable}
    if resource.namespaced:
        known.add("metadata.namespace")
    for each in selector.requirements:
        if each.field not in known:
            raise bad_request(f"field label not supported: {each.field}")


def _stored_name(resource: Resource, name: str) -> str:
    if resource.group != "events.k8s.io":
        return name
    if name.startswith("regarding."):
        return f"involvedObject.{name.removeprefix('regarding.')}"
    return _EVENT_FIELDS.get(name, name)
