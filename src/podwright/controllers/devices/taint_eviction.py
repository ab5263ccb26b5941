"""Device taint eviction: pods are deleted if one of their devices gets a NoExecute taint.

The taints are those in ResourceSlices of the newest generation of a pool. A taint that the request
of the device tolerates for a time is followed by the deletion when that time, counted from the
`timeAdded` of the taint, is over. The deletion is canceled if the taint goes.

Upstream: pkg/controller/devicetainteviction/device_taint_eviction.go
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, Literal

from podwright.api import RecordEvent, with_disruption_target
from podwright.controllers.actions import deletion_by, event_by
from podwright.controllers.interface import (
    ControllerAction,
    PodChange,
    SyncAt,
    SyncDue,
    UpdateObject,
)
from podwright.controllers.kinds import POD, RESOURCE_CLAIM, RESOURCE_SLICE, GroupKind
from podwright.controllers.lister import Lister
from podwright.devices import DeviceId, PoolId, generated_claims, is_reserved_for, tolerates_taint
from podwright.objects import (
    SECOND_NS,
    DeviceRequestAllocationResult,
    DeviceTaint,
    KubernetesObject,
    NamespacedName,
    Pod,
    ResourceClaim,
    ResourceSlice,
    condition_of,
    timestamp_ns,
)

_REASON: Final = "DeletionByDeviceTaintManager"
_EVENT: Final = "DeviceTaintManagerEviction"
_NO_EXECUTE: Final = "NoExecute"


class DeviceTaintEvictionController:
    """Deletes pods that use tainted devices."""

    name = "device-taint-eviction-controller"
    kinds: Sequence[GroupKind] = (POD, RESOURCE_CLAIM, RESOURCE_SLICE)
    pod_changes = PodChange.ADDED | PodChange.SPEC | PodChange.DELETED
    only_with_devices: Literal[True] = True

    def __init__(self, lister: Lister) -> None:
        self._lister = lister
        # By pool: its slices by name.
        self._slices: dict[PoolId, dict[str, ResourceSlice]] = {}
        # Of the newest generation of each pool; most clusters have none.
        self._tainted: dict[DeviceId, tuple[DeviceTaint, ...]] = {}
        # By the key of a pod: its uid, and the time of the deletion.
        self._scheduled: dict[NamespacedName, tuple[str, int]] = {}

    # ------------------------------------------------------------ changes

    def observe(
        self, old: KubernetesObject | None, new: KubernetesObject | None
    ) -> Iterable[NamespacedName]:
        """Return the pods whose devices became tainted, or are no longer."""
        changed = new if new is not None else old
        if isinstance(changed, ResourceSlice):
            return self._observe_slice(old, new)
        if not self._tainted and not self._scheduled:
            return ()
        if isinstance(changed, Pod):
            return (changed.key,)
        found: dict[NamespacedName, None] = {}
        for claim in (old, new):
            if isinstance(claim, ResourceClaim):
                found.update(dict.fromkeys(_users_of(claim)))
        return found

    def _observe_slice(
        self, old: KubernetesObject | None, new: KubernetesObject | None
    ) -> Iterable[NamespacedName]:
        pools: dict[PoolId, None] = {}
        for each, is_present in ((old, False), (new, True)):
            if not isinstance(each, ResourceSlice):
                continue
            pool = PoolId(each.spec.driver, each.spec.pool.name)
            pools[pool] = None
            slices = self._slices.setdefault(pool, {})
            slices.pop(each.name, None)
            if is_present:
                slices[each.name] = each
        changed: set[DeviceId] = set()
        for pool in pools:
            changed |= self._update_taints(pool)
        if not changed:
            return ()
        return {
            user: None
            for claim in self._lister.all(RESOURCE_CLAIM).values()
            if isinstance(claim, ResourceClaim)
            and any(_device_of(result) in changed for result in _results_of(claim))
            for user in _users_of(claim)
        }

    def _update_taints(self, pool: PoolId) -> set[DeviceId]:
        """Read the taints of a pool again; return the devices whose taints changed."""
        before = {
            device: taints
            for device, taints in self._tainted.items()
            if (device.driver, device.pool) == pool
        }
        slices = self._slices[pool]
        newest = max((each.spec.pool.generation for each in slices.values()), default=0)
        now = {
            DeviceId(pool.driver, pool.pool, device.name): taints
            for each in slices.values()
            if each.spec.pool.generation == newest
            for device in each.spec.devices
            if (taints := tuple(t for t in device.taints if t.effect == _NO_EXECUTE))
        }
        if not slices:
            del self._slices[pool]
        for device in before:
            del self._tainted[device]
        self._tainted.update(now)
        return {
            device for device in before.keys() | now.keys() if before.get(device) != now.get(device)
        }

    # ------------------------------------------------------------ pods

    def sync(self, key: NamespacedName, now_ns: int) -> list[ControllerAction]:
        """Delete a pod, schedule its deletion, or cancel it.

        Upstream: handlePod, maybeDeletePod
        """
        pod = self._lister.get(POD, key)
        scheduled = self._scheduled.pop(key, None)
        if not isinstance(pod, Pod) or pod.is_terminating:
            return []
        if scheduled is not None and scheduled[0] != pod.uid:
            scheduled = None
        due_ns = self._eviction_ns(pod, now_ns, None if scheduled is None else scheduled[1])
        if due_ns is None:
            return [] if scheduled is None else [_cancel_event(self.name, pod)]
        if due_ns <= now_ns:
            return self._evict(pod, now_ns)
        self._scheduled[key] = pod.uid, due_ns
        return [SyncAt(due_ns, SyncDue(self.name, key))]

    def _eviction_ns(self, pod: Pod, now_ns: int, known_ns: int | None) -> int | None:
        """Return when a pod has to be deleted; None: no taint requires it.

        Parameters
        ----------
        known_ns : int, optional
            The time found before, which stays for taints without the time of their addition.
        """
        if not pod.spec.node_name:
            return None
        times = [
            time_ns
            for claim in self._claims_of(pod)
            for result in _results_of(claim)
            for taint in self._tainted.get(_device_of(result), ())
            if (time_ns := _due_ns(result, taint, now_ns, known_ns)) is not None
        ]
        return min(times, default=None)

    def _claims_of(self, pod: Pod) -> Iterator[ResourceClaim]:
        generated = generated_claims(pod)
        for entry in pod.spec.resource_claims:
            name = entry.resource_claim_name or generated.get(entry.name)
            claim = self._lister.get(RESOURCE_CLAIM, f"{pod.namespace}/{name}")
            if isinstance(claim, ResourceClaim) and is_reserved_for(claim, pod):
                yield claim

    def _evict(self, pod: Pod, now_ns: int) -> list[ControllerAction]:
        actions: list[ControllerAction] = [event_by(self.name, pod, _EVENT, "Marking for deletion")]
        known = condition_of(pod, "DisruptionTarget")
        if known is None or known.reason != _REASON:
            target = with_disruption_target(
                pod,
                _REASON,
                "Device Taint manager: deleting due to NoExecute taint",
                now_ns,
                sets_observed_generation=False,
            )
            actions.append(UpdateObject(target, "status", self.name))
        return [*actions, deletion_by(self.name, pod)]

    def state(self) -> dict[str, Any]:
        """Return the scheduled deletions; the objects show the taints."""
        return {"leaving": {key: list(entry) for key, entry in self._scheduled.items()}}

    def restore(self, state: dict[str, Any]) -> None:
        """Restore the result of `state`."""
        self._scheduled = {key: (uid, due_ns) for key, (uid, due_ns) in state["leaving"].items()}


def _results_of(claim: ResourceClaim) -> tuple[DeviceRequestAllocationResult, ...]:
    allocation = claim.status.allocation
    return () if allocation is None else allocation.devices.results


def _device_of(result: DeviceRequestAllocationResult) -> DeviceId:
    return DeviceId(result.driver, result.pool, result.device)


def _users_of(claim: ResourceClaim) -> Iterator[NamespacedName]:
    for user in claim.status.reserved_for:
        if not user.api_group and user.resource == "pods":
            yield f"{claim.namespace}/{user.name}"


def _due_ns(
    result: DeviceRequestAllocationResult, taint: DeviceTaint, now_ns: int, known_ns: int | None
) -> int | None:
    """Return when a taint of an allocated device requires the deletion; None: it is tolerated.

    Upstream: claimEvictionTime
    """
    seconds: list[int] = []
    for toleration in result.tolerations:
        if toleration.effect != _NO_EXECUTE or not tolerates_taint(toleration, taint):
            continue
        if toleration.toleration_seconds is None:
            return None
        seconds.append(max(toleration.toleration_seconds, 0))
    added_ns = timestamp_ns(taint.time_added)
    if added_ns is None:
        # The API server sets it; a taint from a file counts from when it is first seen.
        if known_ns is not None:
            return known_ns
        added_ns = now_ns
    return added_ns + min(seconds, default=0) * SECOND_NS


def _cancel_event(source: str, pod: Pod) -> ControllerAction:
    """Return the cancellation Event.

    Upstream: emitCancelPodDeletionEvent
    """
    return RecordEvent(*POD, pod.key, pod.uid, "Normal", _EVENT, "Cancelling deletion", source)
