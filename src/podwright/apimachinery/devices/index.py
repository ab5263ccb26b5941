"""The devices of the cluster: slices, classes, claims, and which devices are allocated.

A claim is read as it will be: what the scheduler wrote or is about to write counts before it is
seen. An allocation is *pending* from Reserve until it is written; a written claim is *assumed*
until it is seen.

Upstream: pkg/scheduler/framework/plugins/dynamicresources/dra_manager.go
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable

import msgspec

from podwright.apimachinery.devices.requests import EXTENDED_RESOURCE_CLAIM
from podwright.apimachinery.devices.slices import (
    AllocatedDevices,
    DeviceSlice,
    Pool,
    PoolId,
    Selection,
    SliceDevice,
    gather_pools,
    problem_of_counters,
)
from podwright.apimachinery.devices.solutions import NodeState, in_use, shape_of
from podwright.apimachinery.objects import (
    AllocationResult,
    DeviceClass,
    DeviceTaintRule,
    Object,
    Pod,
    ResourceClaim,
    ResourceClaimSpec,
    ResourceSlice,
)

EVERY_NODE = ""
"""In the changes: all nodes may be affected."""

_MOST_CHANGES = 65_536
_MOST_SPECS = 65_536
_MOST_SHAPES = 65_536


class _NodePools:
    """The pools of one node, and what they were gathered from."""

    __slots__ = (
        "allocation_count",
        "labels",
        "local_version",
        "pools",
        "shape",
        "shared_version",
        "state",
        "with_partitions",
    )

    def __init__(self, found_for: tuple[dict[str, str], int, int, bool], pools: tuple[Pool, ...]):
        self.labels, self.local_version, self.shared_version, self.with_partitions = found_for
        self.pools = pools
        self.shape = -1
        self.state: NodeState | None = None
        self.allocation_count = -1


class DeviceIndex:
    """Slices, classes and claims, and the devices that are allocated.

    Parameters
    ----------
    reads_taint_rules : bool
        Feature gate DRADeviceTaintRules: DeviceTaintRules add taints to the devices of slices.

    Attributes
    ----------
    version : int
        Grows with every change.
    classes : dict of str to DeviceClass
    classes_version : int
        Grows with every change of a class.
    claims : dict of str to ResourceClaim
        By `namespace/name`, as last seen.
    allocated : AllocatedDevices
        Of all claims, pending allocations included.
    selection : Selection
        Cached results of selectors.
    taint_rules : dict of str to DeviceTaintRule
        Empty unless they are read.
    taints_version : int
        Grows when a rule changes the taints of published devices.
    """

    def __init__(self, *, reads_taint_rules: bool = False) -> None:
        self._reads_taint_rules = reads_taint_rules
        self.taint_rules: dict[str, DeviceTaintRule] = {}
        self.taints_version = 0
        self.version = 0
        self.classes: dict[str, DeviceClass] = {}
        self.classes_version = 0
        self.claims: dict[str, ResourceClaim] = {}
        self.allocated = AllocatedDevices()
        self.selection = Selection()
        self._assumed: dict[str, ResourceClaim] = {}
        self._counted: dict[str, AllocationResult] = {}
        self._pending: dict[str, AllocationResult] = {}
        # By the uid of a claim with a pending allocation that is written: the claim's key.
        self._taken_over: dict[str, str] = {}
        self._special: dict[str, dict[str, str]] = {}
        self._objects: dict[str, ResourceSlice] = {}
        self._slices: dict[str, DeviceSlice] = {}
        self._slices_of_pool: dict[PoolId, dict[str, DeviceSlice]] = {}
        self._local: dict[str, dict[str, DeviceSlice]] = {}
        self._shared: dict[str, DeviceSlice] = {}
        self._problems: dict[PoolId, Pool] = {}
        self._local_versions: dict[str, int] = {}
        self._shared_version = 0
        self._pools: dict[str, _NodePools] = {}
        self._changes: list[str] = []
        self._first_change = 0
        # How many allocations changed of devices that any node may have.
        self._count_of_all = 0
        self._spec_numbers: dict[bytes, int] = {}
        self._shapes: dict[Hashable, int] = {}
        self._next_shape = 0
        self._known_specs: dict[int, tuple[ResourceClaimSpec, int]] = {}

    # ---------------------------------------------------------------- objects

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing that concerns devices."""
        return not (self.claims or self.classes or self._slices)

    def put(self, obj: Object) -> None:
        """Add or update an object; objects of other kinds are ignored."""
        match obj:
            case ResourceClaim():
                self.put_claim(obj)
            case ResourceSlice():
                self._remove_slice(obj.metadata.name)
                self._objects.pop(obj.metadata.name, None)
                self._objects[obj.metadata.name] = obj
                self._add_slice(DeviceSlice(obj, self._rules_in_order()))
            case DeviceTaintRule() if self._reads_taint_rules:
                self.taint_rules[obj.metadata.name] = obj
                self._taint_rules_changed()
            case DeviceClass():
                old = self.classes.get(obj.metadata.name)
                self.classes[obj.metadata.name] = obj
                if old is None or old.spec != obj.spec:
                    self._classes_changed()
            case _:
                pass

    def delete(self, obj: Object) -> None:
        """Drop an object; unknown ones are ignored."""
        match obj:
            case ResourceClaim():
                self._delete_claim(obj.key)
            case ResourceSlice():
                self._remove_slice(obj.metadata.name)
                self._objects.pop(obj.metadata.name, None)
            case DeviceTaintRule():
                if self.taint_rules.pop(obj.metadata.name, None) is not None:
                    self._taint_rules_changed()
            case DeviceClass():
                if self.classes.pop(obj.metadata.name, None) is not None:
                    self._classes_changed()
            case _:
                pass

    def _rules_in_order(self) -> list[DeviceTaintRule]:
        # Upstream's order is that of a map, which is random.
        return [self.taint_rules[name] for name in sorted(self.taint_rules)]

    def _taint_rules_changed(self) -> None:
        """Read the slices again whose devices get other taints."""
        rules = self._rules_in_order()
        has_changed = False
        for name, obj in self._objects.items():
            old, new = self._slices[name], DeviceSlice(obj, rules)
            if all(
                (before.device.taints, before.rules) == (after.device.taints, after.rules)
                for before, after in zip(old.devices, new.devices, strict=True)
            ):
                continue
            self._remove_slice(name)
            self._add_slice(new)
            has_changed = True
        if has_changed:
            self.taints_version += 1

    def _classes_changed(self) -> None:
        self.classes_version += 1
        self._changed(EVERY_NODE)

    # ---------------------------------------------------------------- changes

    @property
    def change_count(self) -> int:
        """How many changes there were; see `changes_since`."""
        return self._first_change + len(self._changes)

    def changes_since(self, count: int) -> Iterable[str] | None:
        """Return the nodes whose devices changed since there were `count` changes.

        Returns
        -------
        iterable of str, or None
            None: every node may be affected.
        """
        if count < self._first_change:
            return None
        names = self._changes[count - self._first_change :]
        return None if EVERY_NODE in names else names

    def _changed(self, node_name: str) -> None:
        self.version += 1
        if len(self._changes) >= _MOST_CHANGES:
            half = _MOST_CHANGES // 2
            del self._changes[:half]
            self._first_change += half
        self._changes.append(node_name)

    # ---------------------------------------------------------------- slices

    def _add_slice(self, of: DeviceSlice) -> None:
        before = self._view_of(of.pool)
        self._slices[of.name] = of
        self._slices_of_pool.setdefault(of.pool, {})[of.name] = of
        if not of.counter_sets:
            if of.nodes.name:
                self._local.setdefault(of.nodes.name, {})[of.name] = of
            else:
                self._shared[of.name] = of
        self._slices_changed(of.pool, before)

    def _remove_slice(self, name: str) -> None:
        old = self._slices.pop(name, None)
        if old is None:
            return
        before = self._view_of(old.pool)
        of_pool = self._slices_of_pool[old.pool]
        del of_pool[name]
        if not of_pool:
            del self._slices_of_pool[old.pool]
        if not old.counter_sets:
            if old.nodes.name:
                of_node = self._local[old.nodes.name]
                del of_node[name]
                if not of_node:
                    del self._local[old.nodes.name]
            else:
                del self._shared[name]
        self._slices_changed(old.pool, before)

    def _view_of(self, pool: PoolId) -> tuple[frozenset[str], bool]:
        """Return the nodes of a pool, and whether it has a problem that all nodes see."""
        return self._nodes_of_pool(pool), pool in self._problems

    def _slices_changed(self, pool: PoolId, before: tuple[frozenset[str], bool]) -> None:
        """Follow a changed slice.

        Slices with counters matter to every node, but a pool without devices for a node changes
        nothing there unless it is incomplete or invalid.
        """
        problem = problem_of_counters(self._slices_of_pool.get(pool, {}))
        if problem is None:
            self._problems.pop(pool, None)
        else:
            self._problems[pool] = problem
        nodes_before, had_problem = before
        nodes = nodes_before | self._nodes_of_pool(pool)
        if had_problem or problem is not None or EVERY_NODE in nodes:
            self._shared_version += 1
            self._changed(EVERY_NODE)
            return
        for node_name in sorted(nodes):
            self._local_versions[node_name] = self._local_versions.get(node_name, 0) + 1
            self._changed(node_name)

    def slice_objects(self) -> tuple[ResourceSlice, ...]:
        """Return all slices, in order of arrival."""
        return tuple(self._objects.values())

    def _nodes_of_pool(self, pool: PoolId) -> frozenset[str]:
        """Return the nodes with devices of a pool; `EVERY_NODE` among them: any node may have."""
        slices = self._slices_of_pool.get(pool, {})
        return frozenset([of.nodes.name for of in slices.values() if not of.counter_sets])

    def pools_of(
        self, node_name: str, labels: dict[str, str], *, with_partitions: bool = True
    ) -> tuple[Pool, ...]:
        """Return the pools of a node in the order in which they are tried.

        Parameters
        ----------
        with_partitions : bool
            Feature gate DRAPartitionableDevices.
        """
        return self._pools_of(node_name, labels, with_partitions=with_partitions).pools

    def state_of(
        self, node_name: str, labels: dict[str, str], *, with_partitions: bool = True
    ) -> tuple[tuple[Pool, ...], NodeState]:
        """Return the pools of a node, and what a search reads of it."""
        known = self._pools_of(node_name, labels, with_partitions=with_partitions)
        if known.shape < 0:
            if len(self._shapes) >= _MOST_SHAPES:
                self._shapes.clear()
            shape = shape_of(node_name, labels, known.pools)
            number = self._shapes.get(shape)
            if number is None:
                # A number is not given again, also after the shapes were cleared.
                number = self._shapes[shape] = self._next_shape
                self._next_shape += 1
            known.shape = number
        if known.allocation_count != self._count_of_all or known.state is None:
            known.state = NodeState(known.shape, in_use(known.pools, self.allocated))
            known.allocation_count = self._count_of_all
        return known.pools, known.state

    def _pools_of(
        self, node_name: str, labels: dict[str, str], *, with_partitions: bool
    ) -> _NodePools:
        local_version = self._local_versions.get(node_name, 0)
        known = self._pools.get(node_name)
        if (
            known is not None
            and known.local_version == local_version
            and known.shared_version == self._shared_version
            and known.with_partitions == with_partitions
            and (known.labels is labels or known.labels == labels)
        ):
            return known
        slices = [*self._local.get(node_name, {}).values(), *self._shared.values()]
        near = {of.pool for of in slices}
        for pool in near:
            slices += [of for of in self._slices_of_pool[pool].values() if of.counter_sets]
        problems = self._problems if with_partitions else {}
        pools = gather_pools(
            slices,
            self._slices_of_pool,
            node_name,
            labels,
            with_partitions=with_partitions,
            problems=[pool for pool_id, pool in problems.items() if pool_id not in near],
        )
        found_for = labels, local_version, self._shared_version, with_partitions
        known = self._pools[node_name] = _NodePools(found_for, pools)
        return known

    def devices_near(self, node_name: str) -> Iterable[SliceDevice]:
        """Return the devices of all slices that may be for a node, whatever their generation."""
        for of in (*self._local.get(node_name, {}).values(), *self._shared.values()):
            yield from of.devices

    # ---------------------------------------------------------------- claims

    def claim(self, key: str) -> ResourceClaim | None:
        """Return a claim; the assumed version if there is one."""
        return self._assumed.get(key) or self.claims.get(key)

    def special_claim_of(self, pod: Pod) -> ResourceClaim | None:
        """Return the claim that the scheduler created earlier for a pod's extended resources."""
        for key, name in self._special.get(pod.metadata.uid, {}).items():
            if name == pod.metadata.name:
                return self.claim(key)
        return None

    def spec_number(self, claim: ResourceClaim) -> int:
        """Return a number that claims with equal specs share."""
        spec = claim.spec
        known = self._known_specs.get(id(spec))
        if known is not None and known[0] is spec:
            return known[1]
        text = msgspec.json.encode(spec, order="sorted")
        number = self._spec_numbers.setdefault(text, len(self._spec_numbers))
        if len(self._known_specs) >= _MOST_SPECS:
            self._known_specs.clear()
        self._known_specs[id(spec)] = spec, number
        return number

    def put_claim(self, claim: ResourceClaim) -> None:
        """Add or update a claim."""
        key = claim.key
        old = self.claims.get(key)
        if old is not None and old.metadata.uid != claim.metadata.uid:
            self._delete_claim(key)
        self.claims[key] = claim
        assumed = self._assumed.get(key)
        if assumed is not None and _is_newer(claim, assumed):
            del self._assumed[key]
        if claim.metadata.annotations.get(EXTENDED_RESOURCE_CLAIM) == "true":
            for owner in claim.metadata.owner_references:
                if owner.controller:
                    self._special.setdefault(owner.uid, {})[key] = owner.name
        self._follow(key)

    def _delete_claim(self, key: str) -> None:
        claim = self.claims.pop(key, None)
        if claim is None:
            return
        self._assumed.pop(key, None)
        for owner in claim.metadata.owner_references:
            special = self._special.get(owner.uid)
            if special is not None:
                special.pop(key, None)
                if not special:
                    del self._special[owner.uid]
        self._follow(key)

    def _follow(self, key: str) -> None:
        """Count the allocation of a claim as it is now.

        Notes
        -----
        Allocations do not change, so another one in its place is not read, as upstream.
        """
        self.version += 1
        claim = self.claim(key)
        allocation = None if claim is None else claim.status.allocation
        counted = self._counted.get(key)
        if (allocation is None) == (counted is None):
            return
        if allocation is not None:
            assert claim is not None, f"{key} has an allocation"
            self._counted[key] = allocation
            uid = claim.metadata.uid
            pending = self._pending.get(uid)
            if pending is not None and pending.devices == allocation.devices:
                # The same devices stay allocated; they would be counted twice for a moment.
                self._taken_over[uid] = key
            else:
                self._count(allocation, 1)
        else:
            assert counted is not None, f"the allocation of {key} is not counted"
            del self._counted[key]
            for uid, taken in self._taken_over.items():
                if taken == key:
                    del self._taken_over[uid]
                    return
            self._count(counted, -1)

    def _count(self, allocation: AllocationResult, sign: int) -> None:
        for device in self.allocated.count(allocation, sign):
            nodes = self._nodes_of_pool(PoolId(device.driver, device.pool))
            if EVERY_NODE in nodes:
                self._count_of_all += 1
                self._changed(EVERY_NODE)
                continue
            for node_name in sorted(nodes):
                known = self._pools.get(node_name)
                if known is not None:
                    known.state = None
                self._changed(node_name)

    # ---------------------------------------------------------------- assuming

    def pending(self, uid: str) -> AllocationResult | None:
        """Return the pending allocation of a claim."""
        return self._pending.get(uid)

    def set_pending(self, uid: str, allocation: AllocationResult) -> None:
        """Count an allocation that is about to be written."""
        self._pending[uid] = allocation
        self._count(allocation, 1)

    def remove_pending(self, uid: str) -> bool:
        """Stop counting a pending allocation; return whether there was one."""
        allocation = self._pending.pop(uid, None)
        if allocation is None:
            return False
        if self._taken_over.pop(uid, None) is None:
            self._count(allocation, -1)
        return True

    def assume(self, claim: ResourceClaim) -> None:
        """Read a claim as it was written, until it is seen; unknown ones are ignored."""
        present = self.claims.get(claim.key)
        if present is None or not _is_newer(claim, present):
            return
        self._assumed[claim.key] = claim
        self._follow(claim.key)

    def restore(self, key: str) -> None:
        """Read a claim as it was last seen."""
        if self._assumed.pop(key, None) is not None:
            self._follow(key)

    def assumptions(self) -> tuple[ResourceClaim, ...]:
        """Return the assumed claims, in order."""
        return tuple(self._assumed.values())


def _is_newer(claim: ResourceClaim, than: ResourceClaim) -> bool:
    """Return whether a version replaces another; versions without numbers always do."""
    new, old = claim.metadata.resource_version, than.metadata.resource_version
    return not (new.isdecimal() and old.isdecimal()) or int(new) >= int(old)
