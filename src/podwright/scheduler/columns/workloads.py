"""Services and owners of pods, for the default selector of spreading."""

from __future__ import annotations

from podwright.apimachinery.objects import (
    Object,
    ReplicaSet,
    ReplicationController,
    Service,
    StatefulSet,
)
from podwright.scheduler.columns.affinity.term_index import (
    SelectedLabels,
    keys_of_label_selector,
)

Workload = Service | ReplicationController | ReplicaSet | StatefulSet


class WorkloadIndex:
    """Services, ReplicationControllers, ReplicaSets and StatefulSets by namespace and name.

    `version` grows with every change of what selects pods.

    Parameters
    ----------
    selected : SelectedLabels, optional
        Receives the label keys that their selectors use.
    """

    def __init__(self, selected: SelectedLabels | None = None) -> None:
        self.version = 0
        self._selected = SelectedLabels() if selected is None else selected
        self.services: dict[str, dict[str, Service]] = {}
        self.controllers: dict[tuple[str, str, str], Workload] = {}

    def put(self, obj: Object) -> None:
        """Add or update an object; objects of other kinds are ignored."""
        if isinstance(obj, Service):
            of_namespace = self.services.setdefault(obj.metadata.namespace, {})
            old = of_namespace.get(obj.metadata.name)
            if old is None or old.spec != obj.spec:
                self.version += 1
                self._selected.add(obj.spec.selector)
            of_namespace[obj.metadata.name] = obj
        elif isinstance(obj, ReplicationController | ReplicaSet | StatefulSet):
            key = _key(obj)
            known = self.controllers.get(key)
            # Their status changes all the time and selects nothing.
            if known is None or known.spec != obj.spec:
                self.version += 1
                self._selected.add(
                    obj.spec.selector
                    if isinstance(obj, ReplicationController)
                    else keys_of_label_selector(obj.spec.selector)
                )
            self.controllers[key] = obj

    def delete(self, obj: Object) -> None:
        """Drop an object; unknown ones are ignored."""
        if isinstance(obj, Service):
            of_namespace = self.services.get(obj.metadata.namespace, {})
            if of_namespace.pop(obj.metadata.name, None) is not None:
                self.version += 1
        elif self.controllers.pop(_key(obj), None) is not None:
            self.version += 1


def _key(obj: Object) -> tuple[str, str, str]:
    return type(obj).__name__, obj.metadata.namespace, obj.metadata.name
