"""Syncs of the simulated kubelets: of the pods of a node, and of its lease."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from podwright.apimachinery.objects import KubernetesObject, Node, Pod, PodwrightError
from podwright.cluster.kubelets.addresses import Addresses
from podwright.cluster.kubelets.kubelet import ImageBehavior, Kubelet, NodeLeases, ObjectReader
from podwright.cluster.kubelets.object_state import KUBELET, ScheduledStage
from podwright.cluster.kubelets.stages.stage_play import StageAction, StageError


class ObjectSync(msgspec.Struct, frozen=True):
    """The result of a sync.

    Attributes
    ----------
    obj : KubernetesObject
        The object as the requests write it.
    requests : sequence of StageAction
        What is written.
    due_ns : int, optional
        When the next sync is due without a change of the object.
    is_removed : bool
        Whether the object is removed.
    """

    obj: KubernetesObject
    requests: Sequence[StageAction]
    due_ns: int | None
    is_removed: bool = False


class KubeletSyncs:
    """Syncs bound pods by the kubelets of their nodes, and renews the leases of nodes.

    Parameters
    ----------
    addresses : Addresses
        Of nodes and pods.
    reader : ObjectReader
        Reads the objects that pods refer to.
    seed : int
        The seed of all draws.
    has_heartbeats : bool
        Whether the leases of nodes are renewed, without end.
    images : sequence of ImageBehavior
        What is declared of images.
    """

    def __init__(
        self,
        addresses: Addresses,
        reader: ObjectReader,
        *,
        seed: int,
        has_heartbeats: bool,
        images: Sequence[ImageBehavior] = (),
    ) -> None:
        self._kubelet = Kubelet(addresses, reader=reader, seed=seed, images=images)
        self._leases = NodeLeases(reader) if has_heartbeats else None

    def has_kubelet(self, obj: KubernetesObject) -> bool:
        """Tell whether a kubelet syncs the object: a bound pod, or a node that has a lease."""
        if isinstance(obj, Pod):
            return bool(obj.spec.node_name)
        return isinstance(obj, Node) and self._leases is not None

    def is_needed(
        self, obj: KubernetesObject, scheduled: ScheduledStage | None, now_ns: int
    ) -> bool:
        """Tell whether an object with a kubelet has to be synced now, and not when scheduled.

        Parameters
        ----------
        obj : KubernetesObject
        scheduled : ScheduledStage, optional
            The scheduled sync of the object, or a stage that no longer applies.
        now_ns : int
        """
        if not isinstance(obj, Pod):
            # A lease is renewed at its times only.
            return scheduled is None or scheduled.stage != KUBELET
        if scheduled is None:
            return self._kubelet.needs_sync(obj)
        if scheduled.stage != KUBELET:
            return True
        return scheduled.due_ns > now_ns and self._kubelet.needs_sync(obj)

    def sync(self, obj: KubernetesObject, now_ns: int) -> ObjectSync:
        """Sync a pod, or renew the lease of a node.

        Raises
        ------
        StageError
            The pod cannot be synced.
        """
        if not isinstance(obj, Pod):
            assert isinstance(obj, Node), f"{obj.kind} {obj.key} has no kubelet"
            assert self._leases is not None, f"{obj.kind} {obj.key} has no lease"
            renewal = self._leases.renew(obj, now_ns)
            return ObjectSync(obj, renewal.requests, renewal.due_ns)
        try:
            result = self._kubelet.sync(obj, now_ns)
        except ValueError as error:
            if isinstance(error, PodwrightError):
                raise
            raise StageError(f"kubelet: {obj.kind} {obj.key}: {error}") from None
        due_ns = result.due_ns
        if due_ns is not None:
            # A sync that is due again at the same time would be a loop.
            due_ns = max(due_ns, now_ns + 1)
        return ObjectSync(result.pod, result.actions, due_ns, result.is_removed)

    def forget(self, obj: Node | Pod) -> None:
        """Forget a node or a pod that was deleted."""
        if isinstance(obj, Node):
            self._kubelet.forget_node(obj.name)
        else:
            self._kubelet.forget(obj.key)
