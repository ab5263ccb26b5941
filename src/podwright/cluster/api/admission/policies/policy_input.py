"""What the expressions of policies read of a request.

Upstream: staging/src/k8s.io/apiserver/pkg/admission/plugin/cel/condition.go,
CreateAdmissionRequest
"""

from __future__ import annotations

from functools import cache
from typing import Final

from podwright.apimachinery.cel import Access, AdmissionInput, Decision
from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema import built_in
from podwright.cluster.api.admission.attributes import Attributes
from podwright.cluster.api.admission.plugin import AdmissionContext
from podwright.cluster.api.authorization.access import Access as UserAccess
from podwright.cluster.api.users import User
from podwright.cluster.api.versions.resources import Resource, built_in_resource
from podwright.cluster.store import NAMESPACE

_UNREVIEWED: Final = frozenset({"authentication.k8s.io", "authorization.k8s.io"})
"""Groups of requests that no policy sees: they store nothing."""

_CONFIGURATION: Final = "admissionregistration.k8s.io"
"""The group of the policies themselves, which must stay changeable."""


def is_reviewed(attributes: Attributes) -> bool:
    """Whether policies apply to a request at all."""
    group = attributes.resource.group
    return group not in _UNREVIEWED and group != _CONFIGURATION


def policy_input(
    context: AdmissionContext,
    attributes: Attributes,
    resource: Resource,
    params: Document | None,
) -> AdmissionInput:
    """Return a request in the version as which it matches."""
    is_namespace = attributes.group_kind == ("", "Namespace")
    namespace = None
    if attributes.namespace and not is_namespace:
        found = context.store.get(NAMESPACE, attributes.namespace)
        namespace = None if found is None else found.raw
    source, target = versions_of(attributes, resource)
    return AdmissionInput(
        object=converted(attributes.object, source, target),
        old_object=converted(attributes.old, source, target),
        request=_request(attributes, resource),
        params=params,
        namespace=namespace,
        authorize=lambda access: _decision(context, attributes.user, access),
    )


def versions_of(attributes: Attributes, resource: Resource) -> tuple[Resource, Resource]:
    """Return the resource of the object of a request, and that as which a policy sees it.

    Parameters
    ----------
    resource : Resource
        The resource as which the request matches. The body of a subresource, such as a Binding or
        a Scale, has one version only.
    """
    name = attributes.resource.kind.row.subresources.get(attributes.subresource)
    body = _body_resource(name) if name else None
    return (attributes.resource, resource) if body is None else (body, body)


@cache
def _body_resource(name: str) -> Resource | None:
    version, _, kind = name.rpartition("/")
    found = built_in().find(version or "v1", kind)
    return None if found is None else built_in_resource(found)


def converted(document: Document | None, source: Resource, target: Resource) -> Document | None:
    """Return a document in the version of another resource of the same objects."""
    if document is None or source is target:
        return document
    return target.served(source.stored(document))


def _request(attributes: Attributes, resource: Resource) -> Document:
    user, own = attributes.user, attributes.resource
    return {
        "uid": "",
        "kind": _kind(resource, attributes.subresource),
        "resource": _resource(resource),
        "subResource": attributes.subresource,
        "requestKind": _kind(own, attributes.subresource),
        "requestResource": _resource(own),
        "requestSubResource": attributes.subresource,
        "name": attributes.name,
        "namespace": attributes.namespace,
        "operation": attributes.operation,
        "userInfo": {
            "username": user.name,
            "uid": user.uid,
            "groups": list(user.groups),
            "extra": {name: list(values) for name, values in user.extra.items()},
        },
        "dryRun": attributes.is_dry_run,
        "options": attributes.options,
    }


def _kind(resource: Resource, subresource: str) -> Document:
    """Return the kind of the bodies of requests."""
    name = resource.kind.row.subresources.get(subresource) if subresource else None
    if not name:
        return {"group": resource.group, "version": resource.version, "kind": resource.name}
    group_version, _, kind = name.rpartition("/")
    group, _, version = group_version.rpartition("/")
    return {"group": group, "version": version or "v1", "kind": kind}


def _resource(resource: Resource) -> Document:
    return {"group": resource.group, "version": resource.version, "resource": resource.plural}


def _decision(context: AdmissionContext, user: User, access: Access) -> Decision:
    if access.service_account is not None:
        namespace, name = access.service_account
        user = User(
            f"system:serviceaccount:{namespace}:{name}",
            groups=(
                "system:serviceaccounts",
                f"system:serviceaccounts:{namespace}",
                "system:authenticated",
            ),
        )
    found = context.authorizer.authorize(
        UserAccess(
            user=user,
            verb=access.verb,
            is_resource=not access.path,
            group=access.group,
            version="*",
            resource=access.resource,
            subresource=access.subresource,
            namespace=access.namespace,
            name=access.name,
            path=access.path,
        )
    )
    return Decision(is_allowed=bool(found.is_allowed), reason=found.reason)
