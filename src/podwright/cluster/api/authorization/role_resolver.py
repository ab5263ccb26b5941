"""From users to rules: which bindings name a user, and which rules the roles have.

Bindings are indexed by their subjects, so that a request costs what its user has. The answers are
kept until a role or a binding changes.

Upstream: pkg/registry/rbac/validation/rule.go
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeAlias

import msgspec

from podwright.apimachinery.objects import Document, go_quoted
from podwright.cluster.api.followed import Followed
from podwright.cluster.api.users import User, service_account_name
from podwright.cluster.store import GroupKind, ObjectStore

GROUP: Final = "rbac.authorization.k8s.io"
ROLE: Final[GroupKind] = (GROUP, "Role")
CLUSTER_ROLE: Final[GroupKind] = (GROUP, "ClusterRole")
ROLE_BINDING: Final[GroupKind] = (GROUP, "RoleBinding")
CLUSTER_ROLE_BINDING: Final[GroupKind] = (GROUP, "ClusterRoleBinding")

_REMEMBERED_MAX: Final = 4_096
_GROUPS_MAX: Final = 64

_Name: TypeAlias = tuple[str, str]
"""The kind and the name of a subject: a user or a group."""


class MissingRole(msgspec.Struct, frozen=True):
    """A role that a binding names and that does not exist.

    Attributes
    ----------
    kind, name : str
    """

    kind: str
    name: str

    @property
    def is_known_kind(self) -> bool:
        """Whether there are roles of the kind."""
        return self.kind in ("Role", "ClusterRole")

    @property
    def text(self) -> str:
        """What upstream's listers say."""
        if self.is_known_kind:
            return f"{self.kind.lower()}.{GROUP} {go_quoted(self.name)} not found"
        return f"unsupported role reference kind: {go_quoted(self.kind)}"


class Grant(msgspec.Struct, frozen=True):
    """The rules that one binding gives a user.

    Attributes
    ----------
    source : str
        The binding, the role and the subject, as upstream describes them.
    rules : list of dict
    """

    source: str
    rules: list[Document]


class Grants(msgspec.Struct, frozen=True):
    """Everything that a user has in a namespace.

    Attributes
    ----------
    grants : tuple of Grant
        Of cluster role bindings first, then of the bindings of the namespace.
    missing : tuple of MissingRole
    """

    grants: tuple[Grant, ...]
    missing: tuple[MissingRole, ...]

    @property
    def rules(self) -> list[Document]:
        """The rules of all grants."""
        return [rule for grant in self.grants for rule in grant.rules]


class RoleResolver:
    """Finds the rules of users.

    Parameters
    ----------
    store : ObjectStore
        The roles and the bindings.
    """

    def __init__(self, store: ObjectStore) -> None:
        self._store = store
        self._roles = (Followed(store, ROLE), Followed(store, CLUSTER_ROLE))
        self._cluster_bindings = _Bindings(store, CLUSTER_ROLE_BINDING)
        self._bindings = _Bindings(store, ROLE_BINDING)
        self._remembered: dict[tuple[str, tuple[str, ...], str], Grants] = {}

    def grants_of(self, user: User, namespace: str) -> Grants:
        """Return what a user has in a namespace; "" for the cluster only."""
        self._catch_up()
        key = (user.name, user.groups, namespace)
        found = self._remembered.get(key)
        if found is None:
            found = self._resolved(user, namespace)
            if len(user.groups) <= _GROUPS_MAX:  # a review can name thousands
                if len(self._remembered) >= _REMEMBERED_MAX:
                    self._remembered.clear()
                self._remembered[key] = found
        return found

    def rules_of(self, reference: Document, namespace: str) -> list[Document] | MissingRole:
        """Return the rules of the role that a binding names.

        Parameters
        ----------
        reference : dict
            `roleRef` of the binding.
        namespace : str
            The namespace of the binding.
        """
        kind, name = reference.get("kind") or "", reference.get("name") or ""
        if kind == "Role":
            role = self._store.get(ROLE, f"{namespace}/{name}") if namespace else None
        elif kind == "ClusterRole":
            role = self._store.get(CLUSTER_ROLE, name)
        else:
            role = None
        return MissingRole(kind, name) if role is None else role.raw.get("rules") or []

    def _catch_up(self) -> None:
        have_changed = [each.catch_up() for each in (self._cluster_bindings, self._bindings)]
        have_changed += [True for roles in self._roles for _ in roles.changes()]
        if any(have_changed):
            self._remembered.clear()

    def _resolved(self, user: User, namespace: str) -> Grants:
        grants: list[Grant] = []
        missing: list[MissingRole] = []
        found = [(binding, "") for binding in self._cluster_bindings.of(user, "")]
        if namespace:
            found += [(binding, namespace) for binding in self._bindings.of(user, namespace)]
        for (binding, subject), where in found:
            reference = binding.get("roleRef") or {}
            rules = self.rules_of(reference, where)
            if isinstance(rules, MissingRole):
                missing.append(rules)
            else:
                grants.append(Grant(_source(binding, subject, where), rules))
        return Grants(tuple(grants), tuple(missing))


class _Bindings:
    """The bindings of a kind by their subjects."""

    def __init__(self, store: ObjectStore, kind: GroupKind) -> None:
        self._followed = Followed(store, kind)
        self._bindings: dict[str, Document] = {}
        self._of_subject: dict[tuple[str, _Name], set[str]] = {}

    def catch_up(self) -> bool:
        """Read the changes; return whether there are any."""
        has_changed = False
        for key, binding in self._followed.changes():
            has_changed = True
            old = self._bindings.pop(key, None)
            if old is not None:
                for place in _places(old):
                    self._of_subject[place].discard(key)
            if binding is not None:
                self._bindings[key] = binding
                for place in _places(binding):
                    self._of_subject.setdefault(place, set()).add(key)
        return has_changed

    def of(self, user: User, namespace: str) -> Iterator[tuple[Document, Document]]:
        """Yield the bindings that apply to a user, and the first subject that does."""
        names: set[_Name] = {("User", user.name), *(("Group", group) for group in user.groups)}
        keys: set[str] = set()
        for name in names:
            keys |= self._of_subject.get((namespace, name), frozenset())
        for key in sorted(keys):
            binding = self._bindings[key]
            for subject in binding.get("subjects") or ():
                if _name_of(subject, namespace) in names:
                    yield binding, subject
                    break


def _places(binding: Document) -> set[tuple[str, _Name]]:
    namespace = binding["metadata"].get("namespace") or ""
    names = (_name_of(subject, namespace) for subject in binding.get("subjects") or ())
    return {(namespace, name) for name in names if name is not None}


def _name_of(subject: Document, namespace: str) -> _Name | None:
    """Return the user or the group that a subject is; None for one of an unknown kind."""
    kind, name = subject.get("kind"), subject.get("name") or ""
    if kind in ("User", "Group"):
        return kind, name
    if kind == "ServiceAccount":
        own = subject.get("namespace") or namespace
        return ("User", service_account_name(own, name)) if own else None
    return None


def _source(binding: Document, subject: Document, namespace: str) -> str:
    metadata, role = binding["metadata"], binding.get("roleRef") or {}
    name, kind = metadata["name"], "ClusterRoleBinding"
    if namespace:
        name, kind = f"{name}/{namespace}", "RoleBinding"
    subject_name = subject.get("name") or ""
    if subject.get("kind") == "ServiceAccount":
        subject_name = f"{subject_name}/{subject.get('namespace') or namespace}"
    return (
        f"{kind} {go_quoted(name)} of {role.get('kind', '')} {go_quoted(role.get('name', ''))}"
        f" to {subject.get('kind', '')} {go_quoted(subject_name)}"
    )
