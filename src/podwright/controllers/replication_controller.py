"""Replication controllers: replica sets from before there were replica sets.

Upstream: pkg/controller/replication/replication_controller.go
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from podwright.controllers.pod_counts import PodCounts
from podwright.controllers.replica_set import POD, PRIORITY_CLASS, ReplicaSetController
from podwright.objects import (
    NOTHING,
    Document,
    KubernetesObject,
    Pod,
    ReplicationController,
    Selector,
    labels_as_selector,
)
from podwright.store import GroupKind

REPLICATION_CONTROLLER: Final[GroupKind] = ("", "ReplicationController")


class ReplicationControllerController(ReplicaSetController):
    """Keeps the number of pods of each replication controller."""

    name = "replication-controller"
    kind = REPLICATION_CONTROLLER
    owner_kind = REPLICATION_CONTROLLER[1]
    kinds: Sequence[GroupKind] = (REPLICATION_CONTROLLER, POD, PRIORITY_CLASS)

    def selector_of(self, owner: KubernetesObject) -> Selector:
        """Return what an owner selects: the labels of its template if it does not say."""
        assert isinstance(owner, ReplicationController), f"{owner.kind} is none"
        template = owner.spec.template
        labels = owner.spec.selector or (template.metadata.labels if template else {})
        return labels_as_selector(labels) if labels else NOTHING

    def counts_of(self, counts: PodCounts) -> Document:
        """Return nothing more: pods that are being deleted are not counted."""
        del counts
        return {}

    def related(self, owner: KubernetesObject) -> Iterable[Pod]:
        """Return no pods: nobody controls replication controllers."""
        del owner
        return ()
