"""Service accounts: each active namespace has the account `default`.

Upstream: pkg/controller/serviceaccount/serviceaccounts_controller.go
"""

from __future__ import annotations

from typing import Final

from podwright.apimachinery.objects import NamespacedName
from podwright.apimachinery.schema import decode
from podwright.cluster.controllers.core.namespaces_of import is_active, namespace_to_sync
from podwright.cluster.controllers.interface import Actions, Controller, Keys, Version
from podwright.cluster.controllers.kinds import NAMESPACE, SERVICE_ACCOUNT

NAME: Final = "default"


class ServiceAccountsController(Controller):
    """Creates the default service account of each active namespace; its keys are namespaces."""

    name = "service-account-controller"
    kinds = (NAMESPACE, SERVICE_ACCOUNT)

    def observe(self, old: Version, new: Version) -> Keys:
        """Return a namespace that was added or changed, or whose default account was removed."""
        return namespace_to_sync(old, new, NAME)

    def sync(self, key: NamespacedName, now_ns: int) -> Actions:
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
        return [self.create(decode(account))]
