"""Device taint eviction: pods are deleted if one of their devices gets a NoExecute taint.

The taints are those in ResourceSlices of the newest generation of a pool and, with the feature gate
DRADeviceTaintRules, those of DeviceTaintRules. A taint that the request of the device tolerates for
a time is followed by the deletion when that time, counted from the `timeAdded` of the taint, is
over. The deletion is canceled if the taint goes. The status of a rule shows the eviction; see
`eviction_condition`.

Upstream: pkg/controller/devicetainteviction/device_taint_eviction.go;
pkg/controller/devicetainteviction/device_taint_eviction.go, maybeUpdateRuleStatus.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

import msgspec
from msgspec.structs import replace

from podwright._checkpointed import Saved
from podwright.apimachinery.devices import (
    DeviceId,
    PoolId,
    generated_claims,
    is_reserved_for,
    tolerates_taint,
)
from podwright.apimachinery.objects import (
    SECOND_NS,
    DeviceRequestAllocationResult,
    DeviceTaint,
    DeviceTaintRule,
    Document,
    NamespacedName,
    Pod,
    ResourceClaim,
    ResourceSlice,
    condition_of,
    timestamp_ns,
    timestamp_text,
    with_fields,
)
from podwright.cluster.api import RecordEvent, patched, section, with_disruption_target
from podwright.cluster.controllers.interface import (
    Actions,
    Controller,
    ControllerAction,
    Keys,
    PodChange,
    Version,
)
from podwright.cluster.controllers.kinds import DEVICE_TAINT_RULE, RESOURCE_CLAIM, RESOURCE_SLICE
from podwright.cluster.controllers.lister import Lister
from podwright.cluster.store import POD

_REASON: Final = "DeletionByDeviceTaintManager"
_EVENT: Final = "DeviceTaintManagerEviction"
_NO_EXECUTE: Final = "NoExecute"
_RULE: Final = "rule:"
"""Starts the key of a DeviceTaintRule; others are those of pods."""


class _Eviction(NamedTuple):
    """When a pod has to be deleted, and the rules that require it."""

    due_ns: int
    rules: tuple[str, ...]


class DeviceTaintEvictionController(Controller):
    """Deletes pods that use tainted devices.

    Parameters
    ----------
    reads_rules : bool
        Feature gate DRADeviceTaintRules.
    """

    name = "device-taint-eviction-controller"
    kinds = (POD, RESOURCE_CLAIM, RESOURCE_SLICE, DEVICE_TAINT_RULE)
    pod_changes = PodChange.ADDED | PodChange.SPEC | PodChange.DELETED
    only_with_devices = True
    _scheduled: Saved[dict[NamespacedName, tuple[str, int]]]
    _evicted: Saved[dict[str, int]]

    def __init__(self, lister: Lister, *, reads_rules: bool = False) -> None:
        super().__init__(lister)
        self._reads_rules = reads_rules
        self._rules: dict[str, DeviceTaintRule] = {}
        # By the uid of a rule: how many pods were deleted for it.
        self._evicted = {}
        # By pool: its slices by name.
        self._slices: dict[PoolId, dict[str, ResourceSlice]] = {}
        # Of the newest generation of each pool; most clusters have none.
        self._tainted: dict[DeviceId, tuple[DeviceTaint, ...]] = {}
        # By the key of a pod: its uid, and the time of the deletion.
        self._scheduled = {}

    # ------------------------------------------------------------ changes

    def observe(self, old: Version, new: Version) -> Keys:
        """Return the pods whose devices became tainted, or are no longer."""
        changed = self.latest_of(old, new)
        if isinstance(changed, ResourceSlice):
            return self._observe_slice(old, new)
        if isinstance(changed, DeviceTaintRule):
            return self._observe_rule(old, new) if self._reads_rules else ()
        if not self._tainted and not self._scheduled and not self._rules:
            return ()
        if isinstance(changed, Pod):
            return (changed.key,)
        found: dict[NamespacedName, None] = {}
        for claim in (old, new):
            if isinstance(claim, ResourceClaim):
                found.update(dict.fromkeys(_users_of(claim)))
        return found

    def _observe_slice(self, old: Version, new: Version) -> Keys:
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
        return self._users_where(changed.__contains__) if changed else ()

    def _observe_rule(self, old: Version, new: Version) -> Keys:
        """Return a rule whose status is to be written, and then the pods that it concerns.

        Upstream: handleRuleChange
        """
        before = old if isinstance(old, DeviceTaintRule) else None
        after = new if isinstance(new, DeviceTaintRule) else None
        if before is not None and (after is None or after.uid != before.uid):
            self._rules.pop(before.name, None)
            self._evicted.pop(before.uid, None)
        keys: list[NamespacedName] = []
        if after is not None:
            self._rules[after.name] = after
            if before is not None and (before.uid, before.spec) == (after.uid, after.spec):
                return ()
            keys.append(_RULE + after.name)
        evicting = [
            rule
            for rule in (before, after)
            if rule is not None and rule.spec.taint.effect == _NO_EXECUTE
        ]
        if evicting:
            keys += self._users_where(lambda of: any(_taints(rule, of) for rule in evicting))
        return keys

    def _users_where(self, is_concerned: Callable[[DeviceId], bool]) -> Keys:
        """Return the pods that use a device of some kind."""
        return {
            user: None
            for claim in self._lister.all(RESOURCE_CLAIM).values()
            if isinstance(claim, ResourceClaim)
            and any(is_concerned(_device_of(result)) for result in _results_of(claim))
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
        now = {
            DeviceId(pool.driver, pool.pool, device.name): taints
            for each in _newest(slices)
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

    def sync(self, key: NamespacedName, now_ns: int) -> Actions:
        """Delete a pod, schedule its deletion, or cancel it; or write the status of a rule.

        Upstream: handlePod, maybeDeletePod
        """
        if key.startswith(_RULE):
            return self._sync_rule(key, now_ns)
        pod = self._lister.get(POD, key)
        scheduled = self._scheduled.pop(key, None)
        if not isinstance(pod, Pod) or pod.is_terminating:
            return []
        if scheduled is not None and scheduled[0] != pod.uid:
            scheduled = None
        eviction = self._eviction(pod, now_ns, None if scheduled is None else scheduled[1])
        if eviction is None:
            return [] if scheduled is None else [_cancel_event(self.name, pod)]
        later: Actions = [
            self.sync_at(_RULE + name, now_ns + STATUS_PERIOD_NS) for name in eviction.rules
        ]
        if eviction.due_ns <= now_ns:
            for name in eviction.rules:
                uid = self._rules[name].uid
                self._evicted[uid] = self._evicted.get(uid, 0) + 1
            return [*self._evict(pod, now_ns), *later]
        self._scheduled[key] = pod.uid, eviction.due_ns
        return [self.sync_at(key, eviction.due_ns), *later]

    def _eviction(self, pod: Pod, now_ns: int, known_ns: int | None) -> _Eviction | None:
        """Return when a pod has to be deleted, and why; None: no taint requires it.

        Parameters
        ----------
        known_ns : int, optional
            The time found before, which stays for taints without the time of their addition.
        """
        if not pod.spec.node_name:
            return None
        times = [
            (time_ns, rule)
            for claim in self._claims_of(pod)
            for result in _results_of(claim)
            for taint, rule in self._taints_of(_device_of(result))
            if (time_ns := _due_ns(result, taint, now_ns, known_ns)) is not None
        ]
        if not times:
            return None
        rules = tuple(sorted({rule for _, rule in times if rule}))
        return _Eviction(min(time_ns for time_ns, _ in times), rules)

    def _taints_of(self, device: DeviceId) -> Iterator[tuple[DeviceTaint, str]]:
        """Yield the NoExecute taints of a device, with the name of their rule or "".

        Upstream: allEvictingDeviceTaints
        """
        for taint in self._tainted.get(device, ()):
            yield taint, ""
        for name, rule in self._rules.items():
            if rule.spec.taint.effect == _NO_EXECUTE and _taints(rule, device):
                yield rule.spec.taint, name

    def _claims_of(self, pod: Pod) -> Iterator[ResourceClaim]:
        generated = generated_claims(pod)
        for entry in pod.spec.resource_claims:
            name = entry.resource_claim_name or generated.get(entry.name)
            claim = self._lister.get(RESOURCE_CLAIM, f"{pod.namespace}/{name}")
            if isinstance(claim, ResourceClaim) and is_reserved_for(claim, pod):
                yield claim

    def _evict(self, pod: Pod, now_ns: int) -> Actions:
        actions: Actions = [self.event(pod, _EVENT, "Marking for deletion")]
        known = condition_of(pod, "DisruptionTarget")
        if known is None or known.reason != _REASON:
            target = with_disruption_target(
                pod,
                _REASON,
                "Device Taint manager: deleting due to NoExecute taint",
                now_ns,
                sets_observed_generation=False,
            )
            actions.append(self.update(target, "status"))
        return [*actions, self.delete(pod)]

    # ------------------------------------------------------------ rules

    def _sync_rule(self, key: NamespacedName, now_ns: int) -> Actions:
        """Write the status of a rule, at most once in ten seconds.

        Upstream: maybeUpdateRuleStatus
        """
        rule = self._rules.get(key.removeprefix(_RULE))
        if rule is None:
            return []
        known = known_condition(rule)
        if known is not None and known.get("observedGeneration", 0) == rule.metadata.generation:
            since_ns = timestamp_ns(known.get("lastTransitionTime")) or 0
            if now_ns < since_ns + STATUS_PERIOD_NS:
                return [self.sync_at(key, since_ns + STATUS_PERIOD_NS)]
        condition = eviction_condition(rule, self._count(rule, now_ns), now_ns)
        if condition is None:
            return []
        others = [each for each in section(rule, "status").get("conditions") or () if each != known]
        updated = patched(rule, status={"conditions": [*others, condition]})
        return [self.update(updated, "status")]

    def _count(self, rule: DeviceTaintRule, now_ns: int) -> EvictionCount:
        """Count the devices that a rule selects, and the pods that it evicts.

        A rule without an effect is counted as if it evicted.
        """
        evicted_count = self._evicted.get(rule.uid, 0)
        effect = rule.spec.taint.effect
        if effect not in (_NO_EXECUTE, "None"):
            return EvictionCount(evicted=evicted_count)
        before = self._rules[rule.name]
        taint = replace(rule.spec.taint, effect=_NO_EXECUTE)
        self._rules[rule.name] = with_fields(rule, "spec", taint=taint)
        pods = [
            pod
            for key in self._users_where(lambda device: _taints(rule, device))
            if isinstance(pod := self._lister.get(POD, key), Pod) and not pod.is_terminating
        ]
        evictions = [(pod, self._eviction(pod, now_ns, None)) for pod in pods]
        self._rules[rule.name] = before
        pending = [
            pod for pod, found in evictions if found is not None and rule.name in found.rules
        ]
        return EvictionCount(
            pods=len(pending),
            namespaces=len({pod.namespace for pod in pending}),
            evicted=evicted_count,
            published=sum(
                _taints(rule, DeviceId(*pool, device.name))
                for pool, slices in self._slices.items()
                for each in _newest(slices)
                for device in each.spec.devices
            ),
            allocated=sum(
                _taints(rule, _device_of(result))
                for claim in self._lister.all(RESOURCE_CLAIM).values()
                if isinstance(claim, ResourceClaim)
                for result in _results_of(claim)
            ),
        )


def _newest(slices: dict[str, ResourceSlice]) -> list[ResourceSlice]:
    """Return the slices of the newest generation of a pool."""
    newest = max((each.spec.pool.generation for each in slices.values()), default=0)
    return [each for each in slices.values() if each.spec.pool.generation == newest]


def _taints(rule: DeviceTaintRule, device: DeviceId) -> bool:
    """Return whether a rule taints a device; without a selector it taints none.

    Upstream: ruleMatchesDevice
    """
    selector = rule.spec.device_selector
    return selector is not None and selector.matches(*device)


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


# The status of DeviceTaintRules: whether an eviction is in progress, and how many pods it takes.

STATUS_PERIOD_NS: Final = 10 * SECOND_NS
"""The least time between two writes of one status."""

_IN_PROGRESS: Final = "EvictionInProgress"


class EvictionCount(msgspec.Struct, frozen=True, kw_only=True):
    """What a rule selects.

    Parameters
    ----------
    pods, namespaces : int
        The pods that are to be deleted because of it, and how many namespaces they are in.
    evicted : int
        The pods that were deleted because of it.
    published, allocated : int
        The selected devices in slices, and in allocations.
    """

    pods: int = 0
    namespaces: int = 0
    evicted: int = 0
    published: int = 0
    allocated: int = 0


def known_condition(rule: DeviceTaintRule) -> Document | None:
    """Return the condition EvictionInProgress that a rule has."""
    for condition in section(rule, "status").get("conditions") or ():
        if condition.get("type") == _IN_PROGRESS:
            found: Document = condition
            return found
    return None


def eviction_condition(rule: DeviceTaintRule, count: EvictionCount, now_ns: int) -> Document | None:
    """Return the condition EvictionInProgress of a rule; None if it has it already."""
    status, reason, message = "False", "OtherEffect", ""
    match rule.spec.taint.effect:
        case "NoExecute" if count.pods:
            status, reason = "True", "PodsPendingEviction"
            need = "pod needs" if count.pods == 1 else "pods need"
            message = f"{count.pods} {need} to be evicted in {_namespaces(count)}."
        case "NoExecute":
            reason = "Completed" if count.evicted else "NotStarted"
        case "None":
            reason = "NoEffect"
            message = (
                f"{_counted(count.published, 'published device')} selected."
                f" {_counted(count.allocated, 'allocated device')} selected."
                f" {_counted(count.pods, 'pod')} would be evicted in {_namespaces(count)} if the"
                " effect was NoExecute. This information will not be updated again. Recreate the"
                " DeviceTaintRule to trigger an update."
            )
        case _:
            message = "Eviction only happens for the NoExecute effect."
    if count.evicted:
        evicted = f"{_counted(count.evicted, 'pod')} evicted since starting the controller."
        message = f"{message} {evicted}".lstrip()
    condition: Document = {
        "type": _IN_PROGRESS,
        "status": status,
        "reason": reason,
        "message": message,
        "observedGeneration": rule.metadata.generation,
    }
    known = known_condition(rule)
    if known is not None and all(known.get(name) == value for name, value in condition.items()):
        return None
    return condition | {"lastTransitionTime": timestamp_text(now_ns)}


def _counted(count: int, name: str) -> str:
    return f"{count} {name}{'s' * (count != 1)}"


def _namespaces(count: EvictionCount) -> str:
    if count.namespaces == 1:
        return "1 namespace"
    return f"{count.namespaces} different namespaces"
