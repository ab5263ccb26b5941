"""What authorizers decide about, and their decisions.

Upstream: staging/src/k8s.io/apiserver/pkg/authorization/authorizer/interfaces.go
"""

from __future__ import annotations

from typing import Final, Protocol

import msgspec

from podwright.apimachinery.objects import Document, FieldSelector, go_quoted
from podwright.cluster.api.rejections import Rejection, forbidden
from podwright.cluster.api.users import User

NO_FIELDS = FieldSelector()


class Access(msgspec.Struct, frozen=True, kw_only=True):
    """An access of a user, to a resource or to a path.

    Attributes
    ----------
    user : User
    verb : str
        A verb of resources, or the method of a path in lower case.
    is_resource : bool
        Whether the access is one to a resource.
    group, version, resource, subresource, namespace, name : str
        Of a resource; "" where they do not apply.
    path : str
        Of other accesses.
    fields : FieldSelector
        The fields to which a list or a watch is restricted.
    """

    user: User
    verb: str
    is_resource: bool = True
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""
    fields: FieldSelector = NO_FIELDS

    @property
    def resource_path(self) -> str:
        """The resource with its subresource, such as `pods/binding`."""
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource

    def requires(self, field: str, value: str) -> bool:
        """Whether a list or a watch is restricted to a value of a field."""
        return any(
            each.field == field and each.value == value and not each.is_negated
            for each in self.fields.requirements
        )


class Decision(msgspec.Struct, frozen=True):
    """The decision of an authorizer.

    Attributes
    ----------
    is_allowed : bool or None
        None for no opinion.
    reason : str
    """

    is_allowed: bool | None
    reason: str = ""


ALLOWED = Decision(is_allowed=True)
NO_OPINION = Decision(is_allowed=None)


class Rules(msgspec.Struct, frozen=True):
    """What a user may do in a namespace.

    Attributes
    ----------
    rules : list of dict
        As in roles.
    is_incomplete : bool
        Whether the authorizer cannot list everything.
    errors : tuple of str
        What the authorizer did not find.
    """

    rules: list[Document]
    is_incomplete: bool = False
    errors: tuple[str, ...] = ()


class Authorizer(Protocol):
    """Decides about accesses."""

    def authorize(self, access: Access) -> Decision:
        """Decide about an access."""

    def rules_for(self, user: User, namespace: str) -> Rules:
        """Return what a user may do in a namespace, as far as the authorizer knows."""


def allows(authorizer: Authorizer, access: Access) -> bool:
    """Whether an authorizer allows an access."""
    return authorizer.authorize(access).is_allowed is True


_HTML: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def denied(access: Access, reason: str) -> Rejection:
    """Return the error of an access that is not allowed.

    Upstream: staging/src/k8s.io/apiserver/pkg/endpoints/handlers/responsewriters/errors.go
    """
    who = f"User {go_quoted(access.user.name)} cannot {access.verb}"
    if not access.is_resource:
        text = f"{who} path {go_quoted(access.path)}"
    else:
        where = (
            f" in the namespace {go_quoted(access.namespace)}"
            if access.namespace
            else " at the cluster scope"
        )
        text = (
            f"{who} resource {go_quoted(access.resource_path)} in API group"
            f" {go_quoted(access.group)}{where}"
        )
    text = text.translate(_HTML)
    if reason:
        text = f"{text}: {reason}"
    return forbidden(access.group, access.resource, access.name, text)
