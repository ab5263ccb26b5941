"""The authorizer of admission expressions: what the user of a request may do.

The answers come from a function that the caller passes in.

Upstream: staging/src/k8s.io/apiserver/pkg/cel/library/authz.go
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import ClassVar, Final, TypeAlias

import msgspec

from podwright.apimachinery.cel.types import library_of
from podwright.apimachinery.cel.values import ErrorValue, OpaqueValue, Value

_PREFIX = "kubernetes.authorization."
_LABEL = re.compile("[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LONGEST_SUBDOMAIN = 253


class Access(msgspec.Struct, frozen=True, kw_only=True):
    """The request that an expression checks.

    Attributes
    ----------
    service_account : tuple of str or None
        Namespace and name of the account; None for the user of the request.
    path : str
        Of a request that names no resource; otherwise empty.
    """

    verb: str = ""
    service_account: tuple[str, str] | None = None
    path: str = ""
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    field_selector: str = ""
    label_selector: str = ""


class Decision(msgspec.Struct, frozen=True):
    """The answer.

    Attributes
    ----------
    error : str or None
        Why the authorizer could not tell.
    """

    is_allowed: bool
    reason: str = ""
    error: str | None = None


Authorize: TypeAlias = Callable[[Access], Decision]
"""Answers whether an access is allowed."""


class _Value(OpaqueValue):
    """A value of this library; equal only to itself."""

    __slots__ = ("access", "authorize")

    def __init__(self, authorize: Authorize, access: Access) -> None:
        self.authorize = authorize
        self.access = access


class _Authorizer(_Value):
    type_name: ClassVar[str] = _PREFIX + "Authorizer"


class _PathCheck(_Value):
    type_name: ClassVar[str] = _PREFIX + "PathCheck"


class _GroupCheck(_Value):
    type_name: ClassVar[str] = _PREFIX + "GroupCheck"


class _ResourceCheck(_Value):
    type_name: ClassVar[str] = _PREFIX + "ResourceCheck"


class _DecisionValue(OpaqueValue):
    type_name: ClassVar[str] = _PREFIX + "Decision"
    __slots__ = ("decision",)

    def __init__(self, decision: Decision) -> None:
        self.decision = decision


def authorizer(authorize: Authorize) -> Value:
    """Return the value of `authorizer`."""
    return _Authorizer(authorize, Access())


def resource_authorizer(authorize: Authorize, access: Access) -> Value:
    """Return the value of `authorizer.requestResource`."""
    return _ResourceCheck(authorize, access)


def _narrowed(value: Value, kind: type[_Value], **fields: object) -> Value:
    return kind(value.authorize, msgspec.structs.replace(value.access, **fields))


def _path(value: Value, path: Value) -> Value:
    if not path.strip():
        return ErrorValue("path must not be empty")
    return _narrowed(value, _PathCheck, path=path)


def _resource(value: Value, resource: Value) -> Value:
    if not resource.strip():
        return ErrorValue("resource must not be empty")
    return _narrowed(value, _ResourceCheck, resource=resource)


def _service_account(value: Value, namespace: Value, name: Value) -> Value:
    if not _SUBDOMAIN.fullmatch(name) or len(name) > _LONGEST_SUBDOMAIN:
        return ErrorValue("Invalid service account name")
    if not _LABEL.fullmatch(namespace):
        return ErrorValue("Invalid service account namespace")
    return _narrowed(value, _Authorizer, service_account=(namespace, name))


def _with(field: str) -> Callable[[Value, Value], Value]:
    return lambda value, text: _narrowed(value, _ResourceCheck, **{field: text})


def _check(value: Value, verb: Value) -> Value:
    access = msgspec.structs.replace(value.access, verb=verb)
    return _DecisionValue(value.authorize(access))


AUTHORIZER_LIBRARY: Final = library_of(
    {
        "path": _path,
        "group": lambda value, group: _narrowed(value, _GroupCheck, group=group),
        "serviceAccount": _service_account,
        "resource": _resource,
        "subresource": _with("subresource"),
        "namespace": _with("namespace"),
        "name": _with("name"),
        "fieldSelector": _with("field_selector"),
        "labelSelector": _with("label_selector"),
        "check": _check,
        "errored": lambda value: value.decision.error is not None,
        "error": lambda value: value.decision.error or "",
        "allowed": lambda value: value.decision.is_allowed,
        "reason": lambda value: value.decision.reason,
    },
    """
    authorizer_path: Authorizer.path(string) -> PathCheck
    authorizer_group: Authorizer.group(string) -> GroupCheck
    authorizer_serviceaccount: Authorizer.serviceAccount(string, string) -> Authorizer
    groupcheck_resource: GroupCheck.resource(string) -> ResourceCheck
    resourcecheck_subresource: ResourceCheck.subresource(string) -> ResourceCheck
    resourcecheck_namespace: ResourceCheck.namespace(string) -> ResourceCheck
    resourcecheck_name: ResourceCheck.name(string) -> ResourceCheck
    authorizer_fieldselector: ResourceCheck.fieldSelector(string) -> ResourceCheck
    authorizer_labelselector: ResourceCheck.labelSelector(string) -> ResourceCheck
    pathcheck_check: PathCheck.check(string) -> Decision
    resourcecheck_check: ResourceCheck.check(string) -> Decision
    decision_errored: Decision.errored() -> bool
    decision_error: Decision.error() -> string
    decision_allowed: Decision.allowed() -> bool
    decision_reason: Decision.reason() -> string
    """.replace("Authorizer", _PREFIX + "Authorizer")
    .replace("PathCheck", _PREFIX + "PathCheck")
    .replace("GroupCheck", _PREFIX + "GroupCheck")
    .replace("ResourceCheck", _PREFIX + "ResourceCheck")
    .replace("Decision", _PREFIX + "Decision"),
)
"""Kubernetes' functions of authorization; only admission has the variables that they take."""
