"""A cluster with temporary changes.

The changes are made in the cluster itself and reverted at the end, so that cached results stay in
use: a trial costs the nodes that it changes, not a copy of the cluster.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from podwright.apimachinery.devices import released_claim
from podwright.apimachinery.objects import (
    DeviceClass,
    DeviceTaintRule,
    NamespacedName,
    Node,
    Object,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    ResourceClaim,
    StorageClass,
)
from podwright.scheduler.columns import Cluster, PlacedPod


class PlacedPods:
    """The placed and the nominated pods of a cluster at one time.

    Parameters
    ----------
    cluster : Cluster
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._pods: dict[str, PlacedPod] = dict(cluster.pods)
        self._pods_on = [dict(pods) for pods in cluster.pods_on]
        # By name: slots are renumbered when many nodes were deleted.
        self._names = list(cluster.nodes.names)
        self._numbering = cluster.numbering
        self._version = cluster.nodes.pods_journal.version
        self._nominated = {node: dict(pods) for node, pods in cluster.nominations.by_node.items()}

    def is_current(self) -> bool:
        """Return whether nothing has changed since, or all changes were reverted by `restore`."""
        return (
            self._changed_slots() == []
            and self._has_same_slots()
            and self._nominated == self._cluster.nominations.by_node
        )

    def since(self) -> list[str]:
        """Return the pods that were placed since, in order of placement."""
        new = self._new()
        return [key for key in self._cluster.pods if key in new] if new else []

    def remove_new(self) -> None:
        """Remove the pods that were placed since."""
        for key in self._new():
            self._cluster.remove(key)

    def restore(self) -> None:
        """Place exactly the pods that were placed at that time, and nominate likewise."""
        cluster = self._cluster
        self.remove_new()
        touched: dict[int, int] = {}
        missing = self._missing()
        for key in [key for key in self._pods if key in missing] if missing else ():
            placed = self._pods[key]
            name = self._names[placed.slot]
            slot = cluster.nodes.slot_of[name]
            new = cluster.place(placed.pod, slot, key)
            self._pods[key] = self._pods_on[placed.slot][key] = new
            touched[slot] = placed.slot
        self._restore_order(touched)
        if cluster.nominations.by_node != self._nominated:
            for pods in [dict(pods) for pods in cluster.nominations.by_node.values()]:
                for pod in pods.values():
                    cluster.clear_nomination(pod)
            for node, pods in self._nominated.items():
                for pod in pods.values():
                    cluster.nominate(pod, node)
        if self._has_same_slots():
            self._version = cluster.nodes.pods_journal.version

    def _has_same_slots(self) -> bool:
        """Return whether each node has its slot: one that was deleted and put again may not."""
        cluster = self._cluster
        return cluster.numbering == self._numbering and cluster.nodes.names == self._names

    def _changed_slots(self) -> list[int] | None:
        """Return the slots whose pods changed; None if they have to be compared one by one."""
        # A renumbering forgets the journal, too.
        changed = self._cluster.nodes.pods_journal.since(self._version)
        return None if changed is None else list(set(changed.tolist()))

    def _new(self) -> set[str]:
        """Return the pods that were placed since."""
        slots = self._changed_slots()
        if slots is None:
            now = self._cluster.pods
            return {key for key, placed in now.items() if self._pods.get(key) is not placed}
        pods_on, before = self._cluster.pods_on, self._pods
        return {
            key
            for slot in slots
            for key, placed in pods_on[slot].items()
            if before.get(key) is not placed
        }

    def _missing(self) -> set[str]:
        """Return the pods that were removed since, or placed again."""
        slots, now = self._changed_slots(), self._cluster.pods
        if slots is None:
            return {key for key, placed in self._pods.items() if now.get(key) is not placed}
        return {
            key
            for slot in slots
            if slot < len(self._pods_on)
            for key, placed in self._pods_on[slot].items()
            if now.get(key) is not placed
        }

    def _restore_order(self, slots: Mapping[int, int]) -> None:
        """Restore the order of placement on some slots: preemption breaks ties by it.

        Parameters
        ----------
        slots : mapping of int to int
            The slots at that time. A node that was deleted and put again has another one.
        """
        if self._cluster.numbering != self._numbering:
            return
        for slot, before in slots.items():
            pods = self._cluster.pods_on[slot]
            pods.clear()
            pods.update(self._pods_on[before])


@contextmanager
def edited(
    cluster: Cluster,
    *,
    put: Sequence[Object] = (),
    delete: Sequence[Pod] = (),
    drop: Sequence[Object] = (),
    before: PlacedPods | None = None,
) -> Iterator[PlacedPods]:
    """Change objects of a cluster, and revert everything at the end.

    Pods that are placed or nominated inside are reverted as well.

    Parameters
    ----------
    put : sequence of Object
        Nodes, claims of volumes and devices, volumes, storage classes and device classes, new or
        changed, new CSINodes, and new priority classes, which no column has.
    delete : sequence of Pod
        Placed pods.
    drop : sequence of Object
        Other objects of the cluster.
    before : PlacedPods, optional
        The pods as they are now, if the caller has them: a copy takes longer than most trials.

    Yields
    ------
    PlacedPods
        The pods as they were before.
    """
    before = before or PlacedPods(cluster)
    reverts: list[tuple[bool, Object]] = []
    claims = assumed_claims(cluster)
    try:
        for obj in put:
            old = _current(cluster, obj)
            reverts.append((old is None, obj if old is None else old))
            cluster.put(obj)
        for pod in delete:
            cluster.remove(pod.key)
        release_claims(cluster, delete)
        for obj in drop:
            reverts.append((False, obj))
            cluster.delete(obj)
        yield before
    finally:
        # The pods first: a node that was added is then deleted without pods on it.
        before.remove_new()
        restore_claims(cluster, claims)
        # Backward, so that an object that was put twice gets its original version.
        for is_new, obj in reversed(reverts):
            if is_new:
                cluster.delete(obj)
            else:
                cluster.put(obj)
        before.restore()


def release_claims(cluster: Cluster, pods: Sequence[Pod]) -> None:
    """Free the devices that only these pods use, as the controller of claims does."""
    devices = cluster.devices
    uids = {pod.uid for pod in pods if pod.uid and _has_claims(pod)}
    if not uids:
        return
    for key in list(devices.claims):
        claim = devices.claim(key)
        if claim is not None and (left := released_claim(claim, uids)) is not claim:
            devices.assume(left)


def _has_claims(pod: Pod) -> bool:
    status = pod.raw.get("status") or {}
    return bool(pod.spec.resource_claims) or "extendedResourceClaimStatus" in status


def assumed_claims(cluster: Cluster) -> dict[NamespacedName, ResourceClaim]:
    """Return the claims of devices that are assumed, for `restore_claims`."""
    return {claim.key: claim for claim in cluster.devices.assumptions()}


def restore_claims(cluster: Cluster, claims: Mapping[NamespacedName, ResourceClaim]) -> None:
    """Assume exactly the claims that were assumed at an earlier time."""
    now = assumed_claims(cluster)
    for key in now.keys() - claims.keys():
        cluster.devices.restore(key)
    for key, claim in claims.items():
        if now.get(key) is not claim:
            cluster.devices.assume(claim)


def _current(cluster: Cluster, obj: Object) -> Object | None:
    """Return the object of the cluster that `obj` replaces."""
    match obj:
        case Node():
            slot = cluster.nodes.slot_of.get(obj.name)
            return None if slot is None else cluster.nodes.objects[slot]
        case PersistentVolumeClaim():
            return cluster.storage.claims.get(obj.key)
        case PersistentVolume():
            return cluster.storage.volumes.get(obj.name)
        case StorageClass():
            return cluster.storage.classes.get(obj.name)
        case ResourceClaim():
            return cluster.devices.claims.get(obj.key)
        case DeviceClass():
            return cluster.devices.classes.get(obj.name)
        case DeviceTaintRule():
            return cluster.devices.taint_rules.get(obj.name)
        case _:
            return None
