"""Service accounts: each active namespace has the account `default`.

Upstream: pkg/controller/serviceaccount/serviceaccounts_controller.go
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from podwright.apimachinery.objects import KubernetesObject, NamespacedName
from podwright.apimachinery.schema import decode
from podwright.cluster.controllers.core.namespaces_of import is_active, namespace_to_sync
from podwright.cluster.controllers.interface import (
    ControllerAction,
    CreateObject,
    StatelessController,
)
from podwright.cluster.controllers.kinds import NAMESPACE, SERVICE_ACCOUNT, GroupKind
from podwright.cluster.controllers.lister import Lister

NAME: Final = "default"


class ServiceAccountsController(StatelessController):
    """Creates the default service account of each active namespace; its keys are namespaces."""

    name = "service-account-controller"
    kinds: Sequence[GroupKind] = (NAMESPACE, SERVICE_ACCOUNT)

    def __init__(self, lister: Lister) -> None:
        self._lister = lister

    def observe(
        self, old: KubernetesObject | None, new: KubernetesObject | None
    ) -> Iterable[NamespacedName]:
        """Return a namespace that was added or changed, or whose default account was removed."""
        return namespace_to_sync(old, new, NAME)

    def sync(self, key: NamespacedName, now_ns: int) -> list[ControllerAction]:
        """Create the account if it is missing."""
        if not is_active(self._lister.get(NAMESPACE, key)):
            return []
        if self._lister.get(SERVICE_ACCOUNT, f"{key}/{NAME}") is not None:
            return []
        account = {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": NAME, "namespace": key},
        }
        return [CreateObject(decode(account), self.name)]
