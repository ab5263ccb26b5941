"""The kubelets of all nodes: a state machine that syncs pods.

Theory of operation
-------------------
`sync` takes a pod and the time, and returns the writes, the Events, and the time of the next sync.
A pod is synced when it changes, and when something is due: a container ends, a probe is executed, a
back-off is over. The status that a sync computes depends on the pod and on its record only, so a
sync that finds nothing new writes nothing.

A record is kept for each pod. It is lost when a server ends, and read from the status of the pod
then: back-offs start again, and a container that would have ended by itself keeps running. The
pods of a dump are restored in the same way. One that runs keeps the status that its kubelet wrote,
until something happens to it.

A pod whose phase was set to Succeeded or Failed by another client is finished.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from podwright.apimachinery.objects import NamespacedName, Pod
from podwright.cluster.api import DeleteObject, RecordEvent, UpdateObject
from podwright.cluster.kubelets.addresses import Addresses
from podwright.cluster.kubelets.kubelet.image_behaviors import ImageBehavior, ImageBehaviors
from podwright.cluster.kubelets.kubelet.kubelet_node import KubeletNode
from podwright.cluster.kubelets.kubelet.pod_records import (
    TERMINAL_PHASES,
    PodRecord,
    has_all_statuses,
    record_of,
)
from podwright.cluster.kubelets.kubelet.pod_status import rejected_status, status_of, with_status
from podwright.cluster.kubelets.kubelet.pod_sync import PodSync
from podwright.cluster.kubelets.kubelet.references import ObjectReader
from podwright.cluster.kubelets.kubelet.sandbox import SyncContext

USER: Final = "kubelet"


class PodSyncResult(msgspec.Struct, frozen=True):
    """The result of a sync.

    Attributes
    ----------
    actions : list
        In the order in which they are executed.
    pod : Pod
        With the new status.
    due_ns : int, optional
        When the next sync is due; None if the pod has to change before.
    is_removed : bool
        Whether the pod was removed.
    """

    actions: list[RecordEvent | UpdateObject | DeleteObject]
    pod: Pod
    due_ns: int | None
    is_removed: bool = False


class Kubelet:
    """The kubelets of a cluster.

    Parameters
    ----------
    addresses : Addresses
    reader : ObjectReader, optional
        Reads the objects that pods refer to; without it none is missing.
    seed : int
    images : sequence of ImageBehavior
        What is declared of images, before the built-in entries.
    """

    def __init__(
        self,
        addresses: Addresses,
        *,
        reader: ObjectReader | None = None,
        seed: int = 0,
        images: Sequence[ImageBehavior] = (),
    ) -> None:
        self._behaviors = ImageBehaviors(images)
        self._addresses = addresses
        self._reader = reader
        self._seed = seed
        self._records: dict[NamespacedName, PodRecord] = {}
        self._nodes: dict[str, KubeletNode] = {}

    def needs_sync(self, pod: Pod) -> bool:
        """Whether a pod differs from what the last sync read and wrote."""
        record = self._records.get(pod.key)
        return record is None or record.seen != _seen(pod) or record.status != pod.raw.get("status")

    def forget(self, key: NamespacedName) -> None:
        """Forget a pod that is gone."""
        record = self._records.pop(key, None)
        if record is not None and record.node in self._nodes:
            node = self._nodes[record.node]
            node.release(key)
            node.release_address(key)

    def forget_node(self, name: str) -> None:
        """Forget a node that is gone."""
        self._nodes.pop(name, None)

    def sync(self, pod: Pod, now_ns: int) -> PodSyncResult:
        """Sync a pod that is bound to a node."""
        node = self._node(pod.spec.node_name)
        record = self._records.get(pod.key)
        actions: list[RecordEvent | UpdateObject | DeleteObject] = []
        is_new = is_restored = False
        if record is None:
            record = self._restore(pod, node, now_ns)
            is_known = "startTime" in (pod.raw.get("status") or {}) or record.running
            is_new, is_restored = True, has_all_statuses(pod.raw)
            if is_known or record.is_finished:
                node.add_use(pod)
            elif "deletionTimestamp" not in pod.raw["metadata"]:
                rejection = node.admit(pod)
                if rejection is not None:
                    record.is_finished = True
                    event = node.event_of(pod, "Warning", rejection.reason, rejection.message)
                    status = rejected_status(pod.raw, rejection, now_ns)
                    return self._written([event], pod, record, status, None)
        if pod.status.phase in TERMINAL_PHASES:
            record.is_finished = True
        was_finished, running = record.is_finished, record.running
        sync = SyncContext(pod, record, node, now_ns)
        PodSync(sync, seed=self._seed).run(is_restored=is_new)
        actions += sync.events
        actions += sync.writes
        if record.is_finished:
            node.release(pod.key)
        if was_finished:
            result = self._written(actions, pod, record, pod.raw.get("status") or {}, None)
        else:
            # If nothing has happened since another kubelet wrote the status, it stays.
            is_kept = is_restored and not actions and record.running == running
            written = pod.raw.get("status") or {}
            status = written if is_kept else status_of(pod.raw, record, node.address, now_ns)
            result = self._written(actions, pod, record, status, sync.due_ns)
        if record.is_finished and "deletionTimestamp" in pod.raw["metadata"]:
            result.actions.append(DeleteObject("", "Pod", pod.key, pod.uid, USER, 0))
            return msgspec.structs.replace(result, is_removed=True, due_ns=None)
        return result

    def _restore(self, pod: Pod, node: KubeletNode, now_ns: int) -> PodRecord:
        """Return the record of a pod, as far as its status contains it."""
        record = self._records[pod.key] = record_of(pod.raw, now_ns)
        node.keep_address(pod, record.pod_ip)
        if record.has_sandbox and not record.pod_ip:
            is_host = pod.spec.host_network
            record.pod_ip = node.address if is_host else node.new_pod_address(pod)
        return record

    def _written(
        self,
        actions: list[RecordEvent | UpdateObject | DeleteObject],
        pod: Pod,
        record: PodRecord,
        status: dict[str, object],
        due_ns: int | None,
    ) -> PodSyncResult:
        """Return the result of a sync with a status, which is written if it is new."""
        record.seen, record.status = _seen(pod), status
        if status != pod.raw.get("status"):
            pod = with_status(pod, status, record)
            actions.append(UpdateObject(pod, "status", USER))
        return PodSyncResult(actions, pod, due_ns)

    def _node(self, name: str) -> KubeletNode:
        node = self._nodes.get(name)
        if node is None:
            node = self._nodes[name] = KubeletNode(
                name, self._addresses, self._reader, self._behaviors
            )
        return node


def _seen(pod: Pod) -> tuple[object, ...]:
    """Return what a sync reads besides the status."""
    metadata = pod.raw["metadata"]
    return (
        metadata.get("generation"),
        metadata.get("deletionTimestamp"),
        metadata.get("deletionGracePeriodSeconds"),
        metadata.get("annotations"),
    )
