"""Field selectors in the version of a request: which fields, and what they are in the store.

Upstream: the conversions of field labels in pkg/apis/*/v1/conversion.go
"""

from __future__ import annotations

from typing import Final

import msgspec

from podwright.api.endpoints.resources import Resource
from podwright.api.endpoints.status_errors import bad_request
from podwright.objects import FieldSelector

_EVENT_FIELDS: Final = {
    "reportingController": "reportingComponent",
}


def stored_fields(resource: Resource, selector: FieldSelector) -> FieldSelector:
    """Return a field selector with the names of the stored version.

    Raises
    ------
    ApiError
        The version does not have a field.
    """
    own = resource.kind.row.selectable
    if own and not resource.namespaced:
        for each in selector.requirements:
            if each.field == "metadata.namespace":
                raise bad_request(f"field label not supported: {each.field}")
    if selector.is_empty or resource.from_storage is None:
        return selector
    if resource.is_custom:
        _check_custom(resource, selector)
        return selector
    requirements = []
    for each in selector.requirements:
        name = each.field
        if own and name not in own and not name.startswith("metadata."):
            raise bad_request(f"field label not supported: {name}")
        requirements.append(msgspec.structs.replace(each, field=_stored_name(resource, name)))
    return FieldSelector(tuple(requirements))


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
