"""Pods with claims scheduled one after the other, with changes of objects in between."""

from __future__ import annotations

from typing import Any

import msgspec

from podwright.apimachinery.objects import (
    Object,
    Pod,
    ResourceClaim,
    decode_pod,
    with_fields,
    with_node_name,
)
from podwright.apimachinery.schema import decode
from podwright.scheduler.columns import Cluster
from podwright.scheduler.framework import Cycle, ResourceClaimWrite, run_pre_filters
from podwright.testing.parity.comparison import Case, Check, Comparison, equal, only
from podwright.testing.parity.decision import gated_by
from podwright.testing.parity.devices.dra import bind_on, normalized
from podwright.testing.parity.sequence import (
    NOW_NS,
    STEP_FIELDS,
    ClusterHandle,
    Deciding,
    compare_step,
)

_Document = dict[str, Any]
_FIELDS = STEP_FIELDS | {"allocations", "deallocated", "error", "pre_enqueue", "writes"}


def check_dra_sequence(case: Case) -> Check:
    """Compare each step, then apply what the vector's scheduler wrote."""
    sequence = _Sequence(case["objects"])
    for number, step in enumerate(case["steps"]):
        match step["op"]:
            case "schedule":
                yield from sequence.schedule(number, step)
            case "apply":
                sequence.put(decode(step["object"]))
            case "remove":
                sequence.remove(step["kind"], step["name"])
            case "delete":
                sequence.delete_pod(step["name"])
            case _:
                raise ValueError(f"unknown step {step['op']}")


class _Sequence:
    """The cluster, and the objects in it by kind and name."""

    def __init__(self, objects: list[_Document]) -> None:
        self._cluster = Cluster()
        self._deciding = Deciding(self._cluster)
        self._profile = self._deciding.profile
        self._objects: dict[tuple[str, str], Object] = {}
        for document in objects:
            self.put(decode(document))
        ClusterHandle(self._cluster, NOW_NS).give_to(self._profile)
        self._plugin = next(
            plugin for plugin in self._profile.reserve if plugin.name == "DynamicResources"
        )

    def put(self, obj: Object) -> None:
        """Add or replace an object."""
        self._objects[obj.kind, obj.key] = obj
        self._cluster.put(obj)

    def remove(self, kind: str, name: str) -> None:
        """Delete an object that is not a pod."""
        for key in ((kind, name), (kind, f"default/{name}")):
            obj = self._objects.pop(key, None)
            if obj is not None:
                self._cluster.delete(obj)

    def schedule(self, number: int, step: _Document) -> Check:
        """Compare one attempt."""
        expect = step["expect"]
        yield from only("", expect, _FIELDS)
        pod = decode_pod(step["pod"])
        held = gated_by(self._profile.pre_enqueue, pod)
        reasons = None if held is None else held["reasons"]
        yield equal("pre_enqueue", expect.get("pre_enqueue"), reasons)
        if held is not None:
            return
        decision, winners = self._deciding.decide(pod, number)
        error = None if decision.error is None else decision.error.message
        yield equal("error", expect.get("error"), error)
        if "error" not in expect:
            yield from compare_step(expect, decision, winners)
        result = decision.post_filter
        calls = () if result is None else result.calls
        freed = [call.claim for call in calls if isinstance(call, ResourceClaimWrite)]
        allowed = expect.get("deallocated")
        if allowed is None:
            yield equal("deallocated", [], [claim.key for claim in freed])
        else:
            names = [allowed] if isinstance(allowed, str) else allowed
            found = freed[0].key if freed else ""
            yield Comparison("deallocated", allowed, found, found in names)
            self._free(names[0])
        if expect["chosen"] is not None:
            yield from self._bind(pod, expect)

    def _bind(self, pod: Pod, expect: _Document) -> Check:
        """Compare the allocations and writes on the chosen node, and apply them."""
        cycle = Cycle(pod, self._cluster)
        run_pre_filters(self._profile, cycle)
        state: Any = cycle.state["DynamicResources"]
        plugin: Any = self._plugin
        allocations: list[_Document] = []
        if state.claims:
            found = plugin.allocate_on(cycle, expect["chosen"])
            if found is not None:
                allocations = [
                    {"claim": state.claims[index].key, "allocation": normalized(allocation)}
                    for index, allocation in zip(state.unallocated, found.results, strict=True)
                ]
        yield equal("allocations", expect.get("allocations", []), allocations)
        written: list[_Document] = []
        if state.claims:
            writes, _, error = bind_on(self._plugin, cycle, expect["chosen"])
            written = writes.found
            yield equal("writes.error", "", error)
            for claim in writes.claims.values():
                self._objects[claim.kind, claim.key] = claim
        yield equal("writes", expect.get("writes", []), written)
        self.put(with_node_name(pod, expect["chosen"]))

    def _free(self, key: str) -> None:
        claim = self._objects["ResourceClaim", key]
        assert isinstance(claim, ResourceClaim), claim
        self.put(with_fields(claim, "status", allocation=None, reserved_for=(), devices=()))

    def delete_pod(self, key: str) -> None:
        """Delete a placed pod: its claims go, and others that nothing else uses are freed."""
        placed = self._cluster.pods.get(key)
        if placed is None:
            return
        pod = placed.pod
        self._cluster.delete(pod)
        uid = pod.metadata.uid
        for obj in list(self._objects.values()):
            if not isinstance(obj, ResourceClaim) or obj.metadata.namespace != pod.namespace:
                continue
            owner = obj.metadata.controller
            if owner is not None and owner.uid == uid:
                self.remove(obj.kind, obj.key)
                continue
            users = tuple(user for user in obj.status.reserved_for if user.uid != uid)
            if len(users) == len(obj.status.reserved_for):
                continue
            changed = with_fields(obj, "status", reserved_for=users)
            if not users:
                changed = with_fields(changed, "status", allocation=None, devices=())
                metadata = msgspec.structs.replace(changed.metadata, finalizers=())
                changed = msgspec.structs.replace(changed, metadata=metadata)
            self.put(changed)
