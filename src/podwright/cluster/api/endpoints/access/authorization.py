"""Authorization of requests: what a request accesses, and the errors of what is not allowed.

The headers `Impersonate-*` name another user as whom a request is executed.

Upstream: staging/src/k8s.io/apiserver/pkg/endpoints/filters/authorization.go;
staging/src/k8s.io/apiserver/pkg/endpoints/request/requestinfo.go;
staging/src/k8s.io/apiserver/pkg/endpoints/filters/impersonation/
constrained_impersonation.go, processImpersonationHeaders
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from podwright._interludes import interlude
from podwright.apimachinery.objects import (
    FieldSelector,
    SelectorError,
    go_quoted,
    parse_field_selector,
    parse_label_selector,
)
from podwright.cluster.api.authorization import (
    Access,
    Impersonation,
    NotImpersonated,
    denied,
)
from podwright.cluster.api.endpoints.options import integer
from podwright.cluster.api.endpoints.paths import RequestInfo
from podwright.cluster.api.endpoints.request import IMPERSONATION, HttpRequest, unescape
from podwright.cluster.api.rejections import Rejection, bad_request
from podwright.cluster.api.users import User

_WITH_SELECTORS: Final = frozenset({"list", "watch", "deletecollection"})


def access_of(info: RequestInfo, user: User, request: HttpRequest) -> Access:
    """Return what a request accesses.

    Notes
    -----
    A list or a watch that a field selector restricts to one name is an access to that name.
    """
    if not info.is_resource:
        return Access(user=user, verb=info.verb, is_resource=False, path=info.path)
    name, fields = info.name, _NO_FIELDS
    if info.verb in _WITH_SELECTORS and (text := request.parameter("fieldSelector")):
        fields = _field_selector(text)
        if not name and info.verb != "deletecollection" and _has_list_options(request):
            name = _required_name(fields)
    return Access(
        user=user,
        verb=info.verb,
        group=info.group,
        version=info.version,
        resource=info.resource,
        subresource=info.subresource,
        namespace=info.namespace,
        name=name,
        path=info.path,
        fields=fields,
    )


_NO_FIELDS: Final = FieldSelector()


def _has_list_options(request: HttpRequest) -> bool:
    """Whether the options of a list can be read; upstream drops them all otherwise."""
    try:
        if labels := request.parameter("labelSelector"):
            with interlude():
                parse_label_selector(labels)
        integer(request, "limit")
        integer(request, "timeoutSeconds")
    except (SelectorError, Rejection):
        return False
    return True


def _field_selector(text: str) -> FieldSelector:
    try:
        return parse_field_selector(text)
    except SelectorError:
        return _NO_FIELDS


def _required_name(fields: FieldSelector) -> str:
    for each in fields.requirements:
        if each.field == "metadata.name" and not each.is_negated:
            is_segment = each.value not in (".", "..") and not set(each.value) & {"/", "%"}
            return each.value if is_segment else ""
    return ""


def impersonated(impersonation: Impersonation, access: Access, request: HttpRequest) -> Access:
    """Return the access by the user that the headers of the request name.

    Raises
    ------
    Rejection
        The user of the request may not act as that one.
    """
    requested = impersonated_user(request.headers)
    if requested is None:
        return access
    try:
        return msgspec.structs.replace(access, user=impersonation.user_for(requested, access))
    except NotImpersonated as error:
        raise denied(error.access, error.reason) from None


# -------------------------------------------------------------------------- impersonation headers

_EXTRA: Final = "impersonate-extra-"


def impersonated_user(headers: Mapping[str, str]) -> User | None:
    """Return the user that the headers of a request name; None for none.

    Parameters
    ----------
    headers : mapping of str to str
        Names in lower case. The values of a repeated header are separated by newlines.

    Raises
    ------
    Rejection
        The headers name a group, a uid or extra facts, but no user.
    """
    if not any(name.startswith(IMPERSONATION) for name in headers):
        return None
    name = headers.get("impersonate-user", "").partition("\n")[0]
    uid = headers.get("impersonate-uid", "").partition("\n")[0]
    group_text = headers.get("impersonate-group")
    groups = () if group_text is None else tuple(group_text.split("\n"))
    extra = {
        _key(header[len(_EXTRA) :]): tuple(value.split("\n"))
        for header, value in headers.items()
        if header.startswith(_EXTRA)
    }
    if name:
        return User(name, uid, groups, extra)
    if uid or groups or extra:
        shown = _printed(uid, groups, extra)
        raise bad_request(f"requested {shown} without impersonating a user name")
    return None


def _key(text: str) -> str:
    found = unescape(text, plus_is_space=False)
    return text if found is None else found


def _printed(uid: str, groups: tuple[str, ...], extra: Mapping[str, tuple[str, ...]]) -> str:
    """Return a user without a name as Go prints the struct."""
    values = ", ".join(f"{go_quoted(key)}:{_strings(each)}" for key, each in sorted(extra.items()))
    extra_text = f"{{{values}}}" if extra else "(nil)"
    return (
        f'&user.DefaultInfo{{Name:"", UID:{go_quoted(uid)}, Groups:{_strings(groups)},'
        f" Extra:map[string][]string{extra_text}}}"
    )


def _strings(values: tuple[str, ...]) -> str:
    return f"[]string{{{', '.join(map(go_quoted, values))}}}" if values else "[]string(nil)"
