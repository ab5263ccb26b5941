"""Decisions about devices: the fields of single decisions, and what DynamicResources did."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from podwright.apimachinery.objects import (
    Object,
    Pod,
    ResourceClaim,
    decode_pod,
    encode,
    with_fields,
    with_node_name,
)
from podwright.apimachinery.schema import decode
from podwright.scheduler.columns import Cluster
from podwright.scheduler.framework import (
    Answer,
    ApiCall,
    Cycle,
    Explanation,
    ExtendedClaimPatch,
    Pending,
    Plugin,
    PluginRunner,
    Profile,
    Progress,
    ResourceClaimWrite,
    Status,
    run_pre_filters,
)
from podwright.testing.parity.comparison import Case, Check, Comparison, equal, only
from podwright.testing.parity.decision import (
    compare_explanation,
    gated_by,
    nothing_else,
    pre_filter_of,
)
from podwright.testing.parity.sequence import (
    NOW_NS,
    STEP_FIELDS,
    ClusterHandle,
    Deciding,
    cluster_of,
    compare_step,
    profiles_of,
)

# What Reserve and PreBind of DynamicResources write, in the form of the vectors.

_GENERATED = "00001"


class Writes:
    """An API server that accepts everything, and remembers it.

    Attributes
    ----------
    found : list of dict
        The writes, as the vectors have them.
    claims : dict of str to ResourceClaim
        The claims as they were written, by `namespace/name`.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.found: list[_Document] = []
        self.claims: dict[str, ResourceClaim] = {}

    def answer(self, call: ApiCall, pod_key: str) -> Answer:
        """Execute a call."""
        match call:
            case ResourceClaimWrite("create", claim):
                written = {
                    key: value
                    for key, value in encode(claim).items()
                    if key in ("metadata", "spec")
                }
                self._note("create", namespace=claim.metadata.namespace, object=written)
                name = f"{claim.metadata.generate_name}{_GENERATED}"
                return self._keep(with_fields(claim, "metadata", name=name, uid=name))
            case ResourceClaimWrite("update", claim):
                self._note("update", name=claim.key, finalizers=list(claim.metadata.finalizers))
                return self._keep(claim)
            case ResourceClaimWrite("updateStatus", claim):
                status = normalized(encode(claim)["status"])
                self._note("update", name=claim.key, subresource="status", status=status)
                return self._keep(claim)
            case ExtendedClaimPatch(claim_name, mappings):
                status = {
                    "requestMappings": [mapping_document(mapping) for mapping in mappings],
                    "resourceClaimName": claim_name,
                }
                patch = {"status": {"extendedResourceClaimStatus": status}}
                self.found.append(
                    {"verb": "patch", "resource": "pods", "name": pod_key}
                    | {"subresource": "status", "patch": patch}
                )
                return Answer()
            case _:
                raise AssertionError(f"PreBind makes no {call}")

    def _note(self, verb: str, **fields: Any) -> None:
        self.found.append({"verb": verb, "resource": "resourceclaims"} | fields)

    def _keep(self, claim: ResourceClaim) -> Answer:
        self.claims[claim.key] = claim
        # The informer sees what was written before the plugin continues.
        self._cluster.put(claim)
        return Answer(obj=claim)


def mapping_document(mapping: tuple[str, ...]) -> _Document:
    """Return the mapping of a container's extended resource as the API has it."""
    container, resource, request = mapping
    return {"containerName": container, "resourceName": resource, "requestName": request}


def bind_on(plugin: Plugin, cycle: Cycle, node_name: str) -> tuple[Writes, bool, str]:
    """Run Reserve and PreBind.

    Returns
    -------
    writes, waits, error
        Whether PreBind then waits for binding conditions, and why it fails; "" if it does not.
    """
    writes = Writes(cycle.cluster)
    status = plugin.reserve(cycle, node_name)
    if not status.is_success:
        return writes, False, status.message
    answer = plugin.pre_bind(cycle, node_name)
    while isinstance(answer, Pending):
        if not answer.calls:
            return writes, True, ""
        answers = tuple(writes.answer(call, cycle.pod.key) for call in answer.calls)
        progress = Progress(now_ns=NOW_NS, answers=answers)
        answer = plugin.continue_pre_bind(cycle, node_name, progress)
    return writes, False, "" if answer.is_success else answer.message


def normalized(document: Any) -> Any:
    """Return a document with `*` for share ids, and without times of allocation."""
    if isinstance(document, msgspec.Struct):
        document = msgspec.json.decode(msgspec.json.encode(document))
    if isinstance(document, dict):
        return {
            key: "*" if key == "shareID" else normalized(value)
            for key, value in document.items()
            if key != "allocationTimestamp"
        }
    if isinstance(document, list):
        return [normalized(value) for value in document]
    return document


_Document = dict[str, Any]
_NAME = "DynamicResources"


def check_dra(case: Case) -> Check:
    """Compare one decision, the allocation on every feasible node, and the writes on one."""
    expect = case["expect"]
    pod = decode_pod(case["pod"])
    profile = profiles_of(case.get("config"))[pod.spec.scheduler_name]
    cluster = cluster_of(case["objects"])
    ClusterHandle(cluster, NOW_NS).give_to(profile)
    held = gated_by(profile.pre_enqueue, pod)
    yield equal("pre_enqueue", expect.get("pre_enqueue"), held)
    if held is not None:
        yield from nothing_else(expect, "pre_enqueue")
        return
    runner = PluginRunner(profile, cluster)
    explanation = runner.explain(pod, cycle_number=1, now_ns=NOW_NS)
    if "error" in expect:
        yield from _check_error(expect, profile, cluster, pod, explanation)
        return
    yield from compare_explanation(expect, explanation, also=("dra",))
    yield from _check_devices(expect.get("dra"), profile, cluster, pod, explanation)


def _plugin_of(profile: Profile) -> Plugin:
    return next(plugin for plugin in profile.reserve if plugin.name == _NAME)


def _check_error(
    expect: _Document, profile: Profile, cluster: Cluster, pod: Pod, found: Explanation
) -> Check:
    """Compare the error of each node on its own, and that of the cycle with any of them."""
    yield from only(
        "", expect, ("error", "error_by_node", "feasible", "filter", *_BEFORE, "winners")
    )
    errors: dict[str, str] = {}
    rejected: dict[str, Status] = {}
    for name in found.node_names:
        alone = Cluster()
        for obj in _objects_without_other_nodes(cluster, name):
            alone.put(obj)
        of_node = PluginRunner(profile, alone).explain(pod, cycle_number=1, now_ns=NOW_NS)
        if of_node.error is not None:
            errors[name] = of_node.error.message
        else:
            rejected |= of_node.rejected
    yield equal("error_by_node", expect.get("error_by_node"), errors)
    error = found.decision.error
    message = None if error is None else error.message
    yield Comparison("error", expect["error"], message, message in errors.values())
    given = expect["error"]
    yield Comparison("error", given, list(errors.values()), given in errors.values())
    yield equal("prefilter", expect["prefilter"], pre_filter_of(found))
    yield equal("skipped_filter", expect["skipped_filter"], sorted(found.skipped_filters))
    yield equal("feasible", expect["feasible"], sorted(found.feasible))
    reasons = {
        name: {
            "plugin": status.plugin,
            "code": status.code.label,
            "reasons": list(status.reasons),
        }
        for name, status in rejected.items()
    }
    yield equal("filter", expect.get("filter", {}), reasons)
    yield equal("winners", expect["winners"], sorted(found.winners))


_BEFORE = ("prefilter", "skipped_filter")


def _objects_without_other_nodes(cluster: Cluster, name: str) -> list[Any]:
    devices = cluster.devices
    objects: list[Any] = [*devices.classes.values(), *devices.claims.values()]
    objects += devices.slice_objects()
    node = cluster.nodes.objects[cluster.nodes.slot_of[name]]
    objects.append(node)
    objects += [placed.pod for placed in cluster.pods.values()]
    return objects


def _check_devices(
    expect: _Document | None,
    profile: Profile,
    cluster: Cluster,
    pod: Pod,
    found: Explanation,
) -> Check:
    plugin = _plugin_of(profile)
    cycle = Cycle(pod, cluster)
    outcome = run_pre_filters(profile, cycle)
    state: Any = cycle.state.get(_NAME)
    if outcome.rejection is not None or state is None or not state.claims:
        yield equal("dra", expect, None)
        return
    assert expect is not None, "the vector has no devices"
    yield from only("dra", expect, _FIELDS)
    claims = [claim.key for claim in state.claims]
    unallocated = [claims[index] for index in state.unallocated]
    yield equal("dra.claims", expect["claims"], claims)
    yield equal("dra.to_allocate", expect.get("to_allocate", []), unallocated)
    yield from _check_allocations(expect, plugin, cycle, found, unallocated)
    yield from _check_post_filter(expect.get("post_filter"), found)
    bind = expect.get("bind")
    yield equal("dra.bind.node", None if bind is None else bind["node"], _first(found.winners))
    if bind is None:
        return
    yield from only("dra.bind", bind, ("error", "node", "waits_for_conditions", "writes"))
    writes, waits, error = bind_on(plugin, cycle.own(pod), bind["node"])
    yield equal("dra.bind.writes", bind["writes"], writes.found)
    yield equal("dra.bind.error", bind.get("error", ""), error)
    yield equal("dra.bind.waits", bind.get("waits_for_conditions", False), waits)


_FIELDS = ("allocations", "bind", "claims", "extended", "post_filter", "to_allocate")


def _first(names: tuple[str, ...]) -> str | None:
    return min(names) if names else None


def _check_allocations(
    expect: _Document,
    plugin: Any,
    cycle: Cycle,
    found: Explanation,
    unallocated: list[str],
) -> Check:
    allocations: dict[str, list[_Document]] = {}
    extended: dict[str, _Document] = {}
    for name in found.feasible:
        result = plugin.allocate_on(cycle, name)
        if result is None:
            continue
        allocations[name] = [
            {"claim": claim, "allocation": normalized(allocation)}
            for claim, allocation in zip(unallocated, result.results, strict=True)
        ]
        if result.special is not None:
            extended[name] = {
                "requests": [normalized(r) for r in result.special.spec.devices.requests],
                "mappings": [mapping_document(mapping) for mapping in result.mappings],
            }
    yield equal("dra.allocations", expect.get("allocations", {}), allocations)
    yield equal("dra.extended", expect.get("extended", {}), extended)


def _check_post_filter(expect: Mapping[str, Any] | None, found: Explanation) -> Check:
    result = found.decision.post_filter
    calls: tuple[Any, ...] = () if result is None else result.calls
    # The vectors leave it out if preemption succeeds after it.
    is_rejected = result is not None and not result.status.is_success
    yield equal("dra.post_filter", expect is not None, is_rejected)
    if expect is None:
        return
    yield from only("dra.post_filter", expect, ("action", "any_of"))
    actions = [
        ("deallocate" if call.operation == "updateStatus" else call.operation, call.claim.key)
        for call in calls
    ]
    action, key = actions[0] if actions else ("none", "")
    yield equal("dra.post_filter.action", expect["action"], action)
    allowed = expect.get("any_of", [""])
    yield Comparison("dra.post_filter.any_of", allowed, key, key in allowed)


# Pods with claims scheduled one after the other, with changes of objects in between.

_STEP = STEP_FIELDS | {"allocations", "deallocated", "error", "pre_enqueue", "writes"}


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
        yield from only("", expect, _STEP)
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
                changed = with_fields(changed, "metadata", finalizers=())
            self.put(changed)
