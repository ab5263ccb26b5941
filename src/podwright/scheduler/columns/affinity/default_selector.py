"""The default selector of topology spreading, from Services and owners of a pod.

Upstream: pkg/scheduler/framework/plugins/helper/spread.go, `DefaultSelector`
"""

from __future__ import annotations

from collections.abc import Mapping

from podwright.apimachinery.objects import (
    OwnerReference,
    ReplicaSet,
    ReplicationController,
    Requirement,
    Selector,
    SelectorError,
    StatefulSet,
    label_selector,
    labels_as_selector,
)
from podwright.scheduler.columns.workloads import WorkloadIndex

_KINDS = {
    ("v1", "ReplicationController"),
    ("apps/v1", "ReplicaSet"),
    ("apps/v1", "StatefulSet"),
}


def default_selector(
    workloads: WorkloadIndex,
    namespace: str,
    labels: Mapping[str, str],
    controller: OwnerReference | None,
) -> Selector:
    """Deduce a selector from the services that select a pod and the controller that owns it.

    Returns
    -------
    Selector
        Empty if nothing selects the pod.
    """
    merged: dict[str, str] = {}
    for service in workloads.services.get(namespace, {}).values():
        required = service.spec.selector
        # A service without a selector passes, and adds nothing.
        if all(labels.get(key) == value for key, value in required.items()):
            merged.update(required)
    owner: object = None
    if controller is not None and (controller.api_version, controller.kind) in _KINDS:
        owner = workloads.controllers.get((controller.kind, namespace, controller.name))
    if isinstance(owner, ReplicationController):
        merged.update(owner.spec.selector)
    selector = labels_as_selector(merged)
    if isinstance(owner, ReplicaSet | StatefulSet):
        try:
            other = label_selector(owner.spec.selector)
        except SelectorError:
            return selector
        return conjunction(selector, other.requirements)
    return selector


def conjunction(selector: Selector, requirements: tuple[Requirement, ...]) -> Selector:
    """Return a selector that also demands `requirements`; "nothing" demands them alone."""
    both = {*selector.requirements, *requirements}
    return Selector(tuple(sorted(both, key=lambda r: (r.key, r.operator, r.values))))
