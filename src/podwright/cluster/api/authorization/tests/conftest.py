"""A store with roles and bindings."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.schema import decode
from podwright.cluster.api.authorization import (
    GROUP,
    Access,
    AuthorizerChain,
    RoleResolver,
    authorizer_chain,
)
from podwright.cluster.api.resource_storage import ResourceStorage
from podwright.cluster.api.users import User
from podwright.cluster.store import ObjectStore

ALICE = User("alice", groups=("dev", "system:authenticated"))


class Policy:
    """Roles and bindings, and the authorizers over them."""

    def __init__(self) -> None:
        self.store = ObjectStore()
        self.storage = ResourceStorage(self.store)
        self.resolver = RoleResolver(self.store)
        self.authorizers: AuthorizerChain = authorizer_chain(
            ["RBAC"], self.store, self.resolver, frozenset()
        )

    def role(self, name: str, *rules: dict[str, list[str]], namespace: str = "") -> None:
        """Add a Role, or without a namespace a ClusterRole."""
        kind = "Role" if namespace else "ClusterRole"
        self._add(kind, name, namespace, rules=list(rules))

    def bind(self, name: str, role: str, *subjects: str, namespace: str = "") -> None:
        """Bind a role, named as `Kind/name`, to subjects, named as `Kind/name[/namespace]`."""
        role_kind, role_name = role.split("/", 1)
        named = [
            dict(zip(("kind", "name", "namespace"), each.split("/"), strict=False))
            for each in subjects
        ]
        kind = "RoleBinding" if namespace else "ClusterRoleBinding"
        reference = {"apiGroup": GROUP, "kind": role_kind, "name": role_name}
        self._add(kind, name, namespace, subjects=named, roleRef=reference)

    def _add(self, kind: str, name: str, namespace: str, **fields: Any) -> None:
        metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
        document = {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": metadata, **fields}
        self.storage.create(decode(document), 0)

    def may(self, user: User, verb: str, resource: str, **more: Any) -> bool:
        """Whether a user may do something; a resource is `name[.group][/subresource]`."""
        resource, _, subresource = resource.partition("/")
        resource, _, group = resource.partition(".")
        access = Access(
            user=user, verb=verb, resource=resource, group=group, subresource=subresource, **more
        )
        return self.authorizers.allows(access)


@pytest.fixture
def policy() -> Policy:
    return Policy()
