"""Replication controllers: the predecessor of replica sets, with an equality-based selector.

Upstream: pkg/controller/replication/replication_controller.go
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from podwright.apimachinery.objects import (
    NOTHING,
    Document,
    KubernetesObject,
    Pod,
    ReplicationController,
    Selector,
    labels_as_selector,
)
from podwright.cluster.controllers.apps.replicas import ReplicasController
from podwright.cluster.controllers.kinds import (
    POD,
    PRIORITY_CLASS,
    REPLICATION_CONTROLLER,
    GroupKind,
)
from podwright.cluster.controllers.pod_counts import PodCounts


class ReplicationControllerController(ReplicasController):
    """Maintains the number of pods of each replication controller."""

    name = "replication-controller"
    kind = REPLICATION_CONTROLLER
    owner_kind = REPLICATION_CONTROLLER[1]
    kinds: Sequence[GroupKind] = (REPLICATION_CONTROLLER, POD, PRIORITY_CLASS)

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
