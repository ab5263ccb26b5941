"""Admission plugins, each as upstream's of the same name.

A plugin reads objects by `CurrentObjects`, which follows the store.
"""

from podwright.api.endpoints.admission.current_objects import CurrentObjects
from podwright.api.endpoints.admission.default_tolerations import DefaultTolerationSeconds
from podwright.api.endpoints.admission.namespace_lifecycle import NamespaceLifecycle
from podwright.api.endpoints.admission.plugins import default_plugins
from podwright.api.endpoints.admission.pod_priority import Priority
from podwright.api.endpoints.admission.storage_protection import StorageObjectInUseProtection
from podwright.api.endpoints.admission.taint_nodes import TaintNodesByCondition

__all__ = [
    "CurrentObjects",
    "DefaultTolerationSeconds",
    "NamespaceLifecycle",
    "Priority",
    "StorageObjectInUseProtection",
    "TaintNodesByCondition",
    "default_plugins",
]
