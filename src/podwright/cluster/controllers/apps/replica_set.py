"""Replica sets: a stable number of pods of one template.

Upstream: pkg/controller/replicaset/replica_set.go;
pkg/controller/replication/replication_controller.go.
"""

from __future__ import annotations

from collections.abc import Iterable

from podwright.apimachinery.objects import (
    NOTHING,
    Document,
    KubernetesObject,
    Pod,
    ReplicaSet,
    ReplicationController,
    Selector,
    labels_as_selector,
)
from podwright.cluster.controllers.adoption import compiled_selector
from podwright.cluster.controllers.apps.replicas import ReplicasController
from podwright.cluster.controllers.kinds import (
    POD,
    PRIORITY_CLASS,
    REPLICA_SET,
    REPLICATION_CONTROLLER,
)
from podwright.cluster.controllers.pod_state import PodCounts


class ReplicaSetController(ReplicasController):
    """Maintains the number of pods of each replica set."""

    name = "replicaset-controller"
    kind = REPLICA_SET
    owner_kind = REPLICA_SET[1]
    kinds = (REPLICA_SET, POD, PRIORITY_CLASS)

    def selector_of(self, owner: KubernetesObject) -> Selector:
        """Return the selector of a replica set."""
        assert isinstance(owner, ReplicaSet), f"{owner.kind} is not a ReplicaSet"
        return compiled_selector(owner.spec.selector)

    def extra_counts(self, counts: PodCounts) -> Document:
        """Return the number of terminating pods."""
        return {"terminatingReplicas": counts.terminating}

    def related_pods(self, owner: KubernetesObject) -> Iterable[Pod]:
        """Return the pods of all replica sets that have the same controller.

        Notes
        -----
        Upstream: replica_set.go, getIndirectlyRelatedPods
        """
        controller = owner.metadata.controller
        if controller is None:
            return
        for sibling in self._lister.controlled_by(controller.uid, self.kind).values():
            yield from self._pods_of(sibling.uid)


# Replication controllers: the predecessor of replica sets, with an equality-based selector.


class ReplicationControllerController(ReplicasController):
    """Maintains the number of pods of each replication controller."""

    name = "replication-controller"
    kind = REPLICATION_CONTROLLER
    owner_kind = REPLICATION_CONTROLLER[1]
    kinds = (REPLICATION_CONTROLLER, POD, PRIORITY_CLASS)

    def selector_of(self, owner: KubernetesObject) -> Selector:
        """Return the selector; without one, the labels of the template."""
        assert isinstance(owner, ReplicationController), (
            f"{owner.kind} is not a ReplicationController"
        )
        template = owner.spec.template
        labels = owner.spec.selector or (template.metadata.labels if template else {})
        return labels_as_selector(labels) if labels else NOTHING

    def extra_counts(self, counts: PodCounts) -> Document:
        """Return nothing: the status has no further counts."""
        del counts
        return {}

    def related_pods(self, owner: KubernetesObject) -> Iterable[Pod]:
        """Return no pods: a replication controller has no controlling owner."""
        del owner
        return ()
