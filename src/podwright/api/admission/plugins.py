"""The plugins that upstream runs by default, in its order.

Upstream: pkg/kubeapiserver/options/plugins.go
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Final, TypeAlias

from podwright.api.admission.chain import AdmissionPlugin
from podwright.api.admission.claim_resize import PersistentVolumeClaimResize
from podwright.api.admission.context import AdmissionContext
from podwright.api.admission.default_ingress_class import DefaultIngressClass
from podwright.api.admission.default_storage_class import DefaultStorageClass
from podwright.api.admission.default_tolerations import DefaultTolerationSeconds
from podwright.api.admission.limit_ranges import LimitRanger
from podwright.api.admission.namespace_lifecycle import NamespaceLifecycle
from podwright.api.admission.pod_priority import Priority
from podwright.api.admission.pod_resize import PodResizeValidator
from podwright.api.admission.pod_security import PodSecurity
from podwright.api.admission.policies import (
    MutatingAdmissionPolicy,
    ValidatingAdmissionPolicy,
)
from podwright.api.admission.quota import ResourceQuota
from podwright.api.admission.runtime_classes import RuntimeClass
from podwright.api.admission.storage_protection import StorageObjectInUseProtection
from podwright.api.admission.taint_nodes import TaintNodesByCondition
from podwright.api.admission.topology_labels import PodTopologyLabels

MakePlugin: TypeAlias = Callable[[AdmissionContext], AdmissionPlugin]

PLUGINS: Final[dict[str, MakePlugin]] = {
    "NamespaceLifecycle": lambda context: NamespaceLifecycle(context.store),
    "LimitRanger": lambda context: LimitRanger(context.store),
    "TaintNodesByCondition": lambda _: TaintNodesByCondition(),
    "PodSecurity": lambda context: PodSecurity(context.store),
    "Priority": lambda context: Priority(context.store),
    "DefaultTolerationSeconds": lambda _: DefaultTolerationSeconds(),
    "DefaultStorageClass": lambda context: DefaultStorageClass(context.store),
    "StorageObjectInUseProtection": lambda _: StorageObjectInUseProtection(),
    "PersistentVolumeClaimResize": lambda context: PersistentVolumeClaimResize(context.store),
    "RuntimeClass": lambda context: RuntimeClass(context.store),
    "DefaultIngressClass": lambda context: DefaultIngressClass(context.store),
    "PodTopologyLabels": lambda context: PodTopologyLabels(context.store),
    "PodResizeValidator": lambda context: PodResizeValidator(context.store),
    "MutatingAdmissionPolicy": MutatingAdmissionPolicy,
    "ValidatingAdmissionPolicy": ValidatingAdmissionPolicy,
    "ResourceQuota": lambda context: ResourceQuota(context.store, context.update_status),
}
"""How each plugin is made, by its name, in the order in which they run."""


def default_plugins(
    context: AdmissionContext, *, disabled: Collection[str] = ()
) -> list[AdmissionPlugin]:
    """Return the default plugins of a server.

    Parameters
    ----------
    context : AdmissionContext
    disabled : collection of str
        The names of plugins that are left out.

    Raises
    ------
    ValueError
        A name is not one of a plugin.
    """
    unknown = sorted(set(disabled) - PLUGINS.keys())
    if unknown:
        raise ValueError(
            f"admission plugins {', '.join(unknown)} do not exist; known are {', '.join(PLUGINS)}"
        )
    return [make(context) for name, make in PLUGINS.items() if name not in disabled]
