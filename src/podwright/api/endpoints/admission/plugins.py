"""The plugins that upstream runs by default, in its order.

Upstream: pkg/kubeapiserver/options/plugins.go
"""

from __future__ import annotations

from podwright.api.endpoints.admission.default_storage_class import DefaultStorageClass
from podwright.api.endpoints.admission.default_tolerations import DefaultTolerationSeconds
from podwright.api.endpoints.admission.namespace_lifecycle import NamespaceLifecycle
from podwright.api.endpoints.admission.pod_priority import Priority
from podwright.api.endpoints.admission.storage_protection import StorageObjectInUseProtection
from podwright.api.endpoints.admission.taint_nodes import TaintNodesByCondition
from podwright.api.endpoints.admission_chain import AdmissionPlugin
from podwright.store import ObjectStore


def default_plugins(store: ObjectStore) -> list[AdmissionPlugin]:
    """Return the default plugins of a server over a store."""
    return [
        NamespaceLifecycle(store),
        TaintNodesByCondition(),
        Priority(store),
        DefaultTolerationSeconds(),
        DefaultStorageClass(store),
        StorageObjectInUseProtection(),
    ]
