"""The headers `Impersonate-*`, which name the user as whom a request is executed.

Upstream: staging/src/k8s.io/apiserver/pkg/endpoints/filters/impersonation/
constrained_impersonation.go, processImpersonationHeaders
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from podwright.cluster.api.authorization import quoted
from podwright.cluster.api.endpoints.query import unescape
from podwright.cluster.api.rejections import bad_request
from podwright.cluster.api.users import User

_PREFIX: Final = "impersonate-"
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
    if not any(name.startswith(_PREFIX) for name in headers):
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
    values = ", ".join(f"{quoted(key)}:{_strings(each)}" for key, each in sorted(extra.items()))
    extra_text = f"{{{values}}}" if extra else "(nil)"
    return (
        f'&user.DefaultInfo{{Name:"", UID:{quoted(uid)}, Groups:{_strings(groups)},'
        f" Extra:map[string][]string{extra_text}}}"
    )


def _strings(values: tuple[str, ...]) -> str:
    return f"[]string{{{', '.join(map(quoted, values))}}}" if values else "[]string(nil)"
