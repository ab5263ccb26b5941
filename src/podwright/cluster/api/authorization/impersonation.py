"""Requests as another user: who may act as whom.

There are five modes, which are tried in order; the last is the original one, with the verb
`impersonate`. The others need two rights: `impersonate:MODE` for the user, and
`impersonate-on:MODE:VERB` for the request. If none allows the request, the error is that of the
first mode that applies, or of the mode by which the requestor succeeded before.

Upstream: staging/src/k8s.io/apiserver/pkg/endpoints/filters/impersonation/
{constrained_impersonation,mode}.go
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

import msgspec

from podwright.apimachinery.objects import go_quoted
from podwright.cluster.api.authorization.access import Access
from podwright.cluster.api.authorization.authorizers import AuthorizerChain
from podwright.cluster.api.users import (
    ANONYMOUS_NAME,
    AUTHENTICATED,
    MASTERS,
    NODE_PREFIX,
    NODES,
    UNAUTHENTICATED,
    User,
    service_account_groups,
    service_account_of,
)

_AUTHENTICATION: Final = "authentication.k8s.io"
_NODE_NAME: Final = "authentication.kubernetes.io/node-name"
_SUBDOMAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_SUBDOMAIN_MAX: Final = 253
_MANY: Final = 4
"""From so many groups or values on, one right to all of them is tried first."""
_REMEMBERED_MAX: Final = 10_000


class NotImpersonated(Exception):  # noqa: N818 - an outcome, which the caller turns into a Status
    """An impersonation that is not allowed.

    Attributes
    ----------
    access : Access
        The right that the requestor does not have.
    reason : str
    """

    def __init__(self, access: Access, reason: str = "") -> None:
        super().__init__(reason)
        self.access = access
        self.reason = reason


class Impersonation:
    """Decides who may act as whom.

    Parameters
    ----------
    authorizers : AuthorizerChain
    """

    def __init__(self, authorizers: AuthorizerChain) -> None:
        self._authorizers = authorizers
        self._last_mode: dict[str, int] = {}

    def user_for(self, requested: User, access: Access) -> User:
        """Return the user as whom a request is executed.

        Parameters
        ----------
        requested : User
        access : Access
            The access of the request, by the requestor.

        Raises
        ------
        NotImpersonated
            The requestor may not impersonate the user.
        """
        last = self._last_mode.get(access.user.name)
        order = list(range(len(_MODES)))
        if last is not None:
            order.remove(last)
            order.insert(0, last)
        first: NotImpersonated | None = None
        for index in order:
            mode = _MODES[index]
            if not mode.applies(requested, access.user):
                continue
            try:
                user = self._impersonated(mode, requested, access)
            except NotImpersonated as error:
                first = first or error
                continue
            if index != last:
                if len(self._last_mode) >= _REMEMBERED_MAX:
                    self._last_mode.clear()
                self._last_mode[access.user.name] = index
            return user
        assert first is not None, "the original mode always applies"
        raise first

    def _impersonated(self, mode: _Mode, requested: User, access: Access) -> User:
        if mode.name:
            verb = f"impersonate-on:{mode.name}:{access.verb}"
            self._require(msgspec.structs.replace(access, verb=verb))
        for needed in _needed(mode, requested, access.user):
            self._require(needed)
        if len(requested.groups) >= _MANY and mode.name:
            self._require_all_or_each(_groups_of(mode, requested, access.user))
        else:
            for needed in _groups_of(mode, requested, access.user):
                self._require(needed)
        extra = list(_extra_of(mode, requested, access.user))
        if len(extra) >= _MANY and mode.name:
            self._require_all_or_each(extra)
        else:
            for needed in extra:
                self._require(needed)
        return _completed(mode, requested)

    def _require_all_or_each(self, needed: list[Access] | Iterator[Access]) -> None:
        each = list(needed)
        subresource = "*" if each[0].subresource else ""
        every = msgspec.structs.replace(each[0], name="*", subresource=subresource)
        if not self._authorizers.allows(every):
            for one in each:
                self._require(one)

    def _require(self, access: Access) -> None:
        decision = self._authorizers.authorize(access)
        if decision.is_allowed is not True:
            raise NotImpersonated(access, decision.reason)


class _Mode(msgspec.Struct, frozen=True):
    """A mode; the original one has no name."""

    name: str
    applies: Callable[[User, User], bool]

    @property
    def verb(self) -> str:
        """The verb of the right to a user."""
        return f"impersonate:{self.name}" if self.name else "impersonate"


def _is_plain(user: User) -> bool:
    return not user.uid and not user.groups and not user.extra


def _node_name(user_name: str) -> str | None:
    name = user_name.removeprefix(NODE_PREFIX)
    is_node = name != user_name and len(name) <= _SUBDOMAIN_MAX and _SUBDOMAIN.fullmatch(name)
    return name if is_node else None


def _is_own_node(requested: User, requestor: User) -> bool:
    name = _node_name(requested.name)
    if name is None or not _is_plain(requested) or service_account_of(requestor.name) is None:
        return False
    return tuple(requestor.extra.get(_NODE_NAME, ())) == (name,)


def _is_node(requested: User, _requestor: User) -> bool:
    return _is_plain(requested) and _node_name(requested.name) is not None


def _is_account(requested: User, _requestor: User) -> bool:
    return _is_plain(requested) and service_account_of(requested.name) is not None


def _is_other(requested: User, _requestor: User) -> bool:
    return _node_name(requested.name) is None and service_account_of(requested.name) is None


_ASSOCIATED: Final = "associated-node"
_MODES: Final = (
    _Mode(_ASSOCIATED, _is_own_node),
    _Mode("arbitrary-node", _is_node),
    _Mode("serviceaccount", _is_account),
    _Mode("user-info", _is_other),
    _Mode("", lambda _wanted, _requestor: True),
)


def _right(mode: _Mode, requestor: User, resource: str, name: str) -> Access:
    """Return the right to a part of a user."""
    is_core = not mode.name and resource in ("users", "groups", "serviceaccounts")
    return Access(
        user=requestor,
        verb=mode.verb,
        group="" if is_core else _AUTHENTICATION,
        version="v1",
        resource=resource,
        name=name,
    )


def _needed(mode: _Mode, requested: User, requestor: User) -> Iterator[Access]:
    """Yield the rights to the name and the uid of a user."""
    right = _right(mode, requestor, "users", requested.name)
    node = _node_name(requested.name)
    if mode.name and node is not None:
        own = "*" if mode.name == _ASSOCIATED else node
        right = msgspec.structs.replace(right, resource="nodes", name=own)
    account = service_account_of(requested.name)
    if account is not None:
        namespace, name = account
        right = msgspec.structs.replace(
            right, resource="serviceaccounts", namespace=namespace, name=name
        )
    yield right
    if requested.uid:
        yield _right(mode, requestor, "uids", requested.uid)


def _groups_of(mode: _Mode, requested: User, requestor: User) -> Iterator[Access]:
    """Yield the rights to the groups of a user."""
    if mode.name and "" in requested.groups:
        text = "impersonating the empty string group is not allowed"
        raise NotImpersonated(_right(mode, requestor, "groups", ""), text)
    if mode.name and MASTERS in requested.groups:
        text = "impersonating the system:masters group is not allowed"
        raise NotImpersonated(_right(mode, requestor, "groups", MASTERS), text)
    for group in requested.groups:
        yield _right(mode, requestor, "groups", group)


def _extra_of(mode: _Mode, requested: User, requestor: User) -> Iterator[Access]:
    """Yield the rights to the extra facts of a user."""
    right = _right(mode, requestor, "userextras", "")
    if mode.name and (problem := _extra_problem(requested.extra)):
        raise NotImpersonated(right, problem)
    for key, values in requested.extra.items():
        for value in values:
            yield msgspec.structs.replace(right, subresource=key, name=value)


def _extra_problem(extra: Mapping[str, tuple[str, ...]]) -> str | None:
    for key, values in extra.items():
        if not key:
            return "impersonating the empty string key in extra is not allowed"
        domain, slash, path = key.partition("/")
        if not slash or not path or not _SUBDOMAIN.fullmatch(domain):
            return (
                "impersonating an invalid key in extra is not allowed: extra.key: Invalid value:"
                f' {go_quoted(key)}: must be a domain-prefixed path (such as "acme.io/foo")'
            )
        if "" in values:
            return "impersonating the empty string value in extra is not allowed"
    return None


def _completed(mode: _Mode, requested: User) -> User:
    """Return an impersonated user with the groups that every such user has."""
    groups = requested.groups
    account = service_account_of(requested.name)
    if mode.name and _node_name(requested.name) is not None:
        groups = (NODES,)
    elif account is not None and not groups:
        groups = service_account_groups(account[0])
    if requested.name == ANONYMOUS_NAME:
        added = UNAUTHENTICATED
    else:
        added = "" if UNAUTHENTICATED in groups else AUTHENTICATED
    if added and added not in groups:
        groups = (*groups, added)
    return msgspec.structs.replace(requested, groups=groups)
