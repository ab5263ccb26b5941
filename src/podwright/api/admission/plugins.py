"""The plugins that upstream runs by default, in its order.

Upstream: pkg/kubeapiserver/options/plugins.go
"""

from __future__ import annotations

from podwright.api.admission.chain import AdmissionPlugin
from podwright.api.admission.default_storage_class import DefaultStorageClass
from podwright.api.admission.default_tolerations import DefaultTolerationSeconds
from podwright.api.admission.namespace_lifecycle import NamespaceLifecycle
from podwright.api.admission.pod_priority import Priority
from podwright.api.admission.storage_protection import StorageObjectInUseProtection
from podwright.api.admission.taint_nodes import TaintNodesByCondition
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
