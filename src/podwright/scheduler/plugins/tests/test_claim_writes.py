"""Reserve, PreBind, Unreserve and PostFilter of DynamicResources, and the calls that they make.

Upstream: pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go, Reserve, PreBind,
bindClaim, Unreserve, PostFilter; extendeddynamicresources.go, createExtendedResourceClaimInAPI
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from podwright.apimachinery.objects import (
    Object,
    Pod,
    ResourceClaim,
    decode_as,
    decode_pod,
    with_fields,
)
from podwright.apimachinery.schema import decode
from podwright.scheduler.config import DEFAULT_GATES, DynamicResourcesArgs, Gates, set_gates
from podwright.scheduler.framework import (
    Answer,
    ApiCall,
    CallError,
    Cycle,
    ExtendedClaimPatch,
    Pending,
    Progress,
    ResourceClaimWrite,
    Status,
)
from podwright.scheduler.machine import WriteResourceClaim
from podwright.scheduler.machine.tests.driving import Driver
from podwright.scheduler.plugins.dynamic_resources import DynamicResources
from podwright.scheduler.plugins.dynamic_resources.pod_devices import RESERVED
from podwright.scheduler.plugins.tests.one_node_at_a_time import cycle_of, node
from podwright.testing.parity.sequence import ClusterHandle

SECOND_NS = 1_000_000_000
NOW_NS = 1_700_000_000 * SECOND_NS
NOW = "2023-11-14T22:13:20Z"
DRIVER = "gpu.example.com"
PROTECTED = ("resource.kubernetes.io/delete-protection",)
CONFLICT = CallError("it has changed", "Conflict")
REFUSED = CallError("no")
UNCONDITIONAL = set_gates({"DRADeviceBindingConditions": False})
Document = dict[str, Any]


def made(kind: str, name: str, spec: Document, **more: Any) -> Object:
    metadata = {"name": name, "uid": name, "resourceVersion": "1"}
    head = {"apiVersion": "resource.k8s.io/v1", "kind": kind, "metadata": metadata}
    return decode(head | {"spec": spec} | more)


def devices(*names: str) -> Object:
    pool = {"name": "n", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": DRIVER, "nodeName": "n", "pool": pool}
    return made("ResourceSlice", "n", spec | {"devices": [{"name": name} for name in names]})


def claim(name: str = "c", *, users: tuple[str, ...] = (), **metadata: Any) -> ResourceClaim:
    exactly = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}
    head = {"name": name, "namespace": "default", "uid": name, "resourceVersion": "1"}
    status = {"reservedFor": [{"resource": "pods", "name": user, "uid": user} for user in users]}
    spec = {"devices": {"requests": [{"name": "r", "exactly": exactly}]}}
    return decode_as({"metadata": head | metadata, "spec": spec, "status": status}, ResourceClaim)


def allocated(
    of: ResourceClaim, node_name: str = "n", *conditions: str, since: str = ""
) -> ResourceClaim:
    own = [{"key": "metadata.name", "operator": "In", "values": [node_name]}]
    result: Document = {"driver": DRIVER, "pool": node_name, "device": "a", "request": "r"}
    if conditions:
        result |= {"bindingConditions": ["Ready"], "bindingFailureConditions": ["Failed"]}
    allocation: Document = {
        "devices": {"results": [result]},
        "nodeSelector": {"nodeSelectorTerms": [{"matchFields": own}]},
    }
    if since:
        allocation["allocationTimestamp"] = since
    kept = [{"resource": "pods", "name": u.name, "uid": u.uid} for u in of.status.reserved_for]
    status: Document = {"allocation": allocation, "reservedFor": kept}
    if set(conditions) - {"?"}:
        known = [{"type": t, "status": "True", "reason": "R", "message": "m"} for t in conditions]
        place = {"driver": DRIVER, "pool": node_name, "device": "a"}
        status["devices"] = [place | {"conditions": known}]
    head = {
        "name": of.metadata.name,
        "namespace": "default",
        "uid": of.metadata.uid,
        "resourceVersion": of.metadata.resource_version,
    }
    whole = decode_as({"metadata": head, "status": status}, ResourceClaim)
    return with_fields(whole, "metadata", finalizers=PROTECTED)


def using(*claims: str, gpus: int = 0) -> Pod:
    entries = [{"name": name, "resourceClaimName": name} for name in claims]
    container: Document = {"name": "main"}
    if gpus:
        requests = {"example.com/gpu": str(gpus)}
        container["resources"] = {"requests": requests, "limits": requests}
    spec = {"containers": [container], "resourceClaims": entries}
    return decode_pod({"metadata": {"name": "p", "namespace": "default", "uid": "p"}, "spec": spec})


class Recorder(ClusterHandle):
    """Keeps what the plugin requests beside its calls."""

    def __init__(self, cycle: Cycle, *, binds: bool) -> None:
        super().__init__(cycle.cluster, NOW_NS)
        self._binds = binds
        self.requested: list[ApiCall] = []
        self.notes: list[str] = []
        self.counted: list[tuple[str, ...]] = []
        self.observed: list[tuple[str, ...]] = []

    @property
    def binds(self) -> bool:
        return self._binds

    def request(self, call: ApiCall, pod: Pod | None = None) -> None:
        self.requested.append(call)

    def record_event(self, pod: Pod, reason: str, note: str) -> None:
        self.notes.append(f"{reason}: {note}")

    def count(self, metric: str, labels: tuple[str, ...]) -> None:
        self.counted.append((metric, *labels))

    def observe(self, metric: str, labels: tuple[str, ...], duration_ns: int) -> None:
        self.observed.append((metric, *labels, f"{duration_ns / SECOND_NS:g}s"))


class Situation(NamedTuple):
    """A pod for which PreFilter and Reserve succeeded."""

    plugin: DynamicResources
    cycle: Cycle
    handle: Recorder


def reserved(
    pod: Pod,
    *objects: Object,
    gates: Gates = DEFAULT_GATES,
    seconds: int = 600,
    binds: bool = True,
) -> Situation:
    gpus = made("DeviceClass", "gpu", {"extendedResourceName": "example.com/gpu"})
    cycle = cycle_of(pod, node("n"), gpus, devices("a", "b"), *objects)
    plugin = DynamicResources(
        DynamicResourcesArgs(binding_timeout_ns=seconds * SECOND_NS), gates=gates
    )
    plugin.handle = handle = Recorder(cycle, binds=binds)
    assert plugin.pre_filter(cycle) == Status.OK
    assert plugin.reserve(cycle, "n") == Status.OK
    return Situation(plugin, cycle, handle)


def pre_bound(
    of: Situation, *answers: CallError | ResourceClaim | None, arrives_at: int = 0
) -> tuple[list[str], Status]:
    """Run PreBind; return its calls and delays, and the status.

    The API server accepts what has no other answer, and the claim that it creates is seen by the
    scheduler after `arrives_at` delays.
    """
    plugin, cycle, _ = of
    steps: list[str] = []
    script: Iterator[CallError | ResourceClaim | None] = iter(answers)
    now_ns = NOW_NS
    created: ResourceClaim | None = None
    delays = 0
    assert plugin.pre_bind_pre_flight(cycle, "n") == Status.OK
    step = plugin.pre_bind(cycle, "n")
    while isinstance(step, Pending):
        given = []
        for call in step.calls:
            steps.append(_text_of(call))
            answer = next(script, None)
            obj: Object | None = answer if isinstance(answer, ResourceClaim) else None
            if answer is None and isinstance(call, ResourceClaimWrite):
                obj = accepted = _next_version(call.claim)
                if call.operation == "create":
                    obj = created = with_fields(accepted, "metadata", name="made", uid="made")
            given.append(Answer(answer if isinstance(answer, CallError) else None, obj))
        if step.delay_ns is not None:
            now_ns += step.delay_ns
            delays += 1
            steps.append(f"{step.delay_ns / SECOND_NS:g}s")
        if created is not None and delays >= arrives_at:
            cycle.cluster.put(created)
        step = plugin.continue_pre_bind(cycle, "n", Progress(now_ns=now_ns, answers=tuple(given)))
    return steps, step


def _text_of(call: ApiCall) -> str:
    if isinstance(call, ResourceClaimWrite):
        return call.operation
    assert isinstance(call, ExtendedClaimPatch)
    return f"{call.claim_name}: {[tuple(mapping) for mapping in call.mappings]}"


def _next_version(of: ResourceClaim) -> ResourceClaim:
    version = int(of.metadata.resource_version or 0) + 1
    return with_fields(of, "metadata", resource_version=str(version))


def users(of: ResourceClaim | None) -> list[str]:
    return [] if of is None else [user.uid for user in of.status.reserved_for]


# ------------------------------------------------------------ the user's claims

TRY_AGAIN = ["0.01s", "get"]
DELETED: Document = {"deletionTimestamp": NOW, "finalizers": ["example.com/hold"]}


@pytest.mark.parametrize(
    ("present", "answers", "steps", "error"),
    [
        pytest.param(claim(), (), ["update", "updateStatus"], "", id="the finalizer comes first"),
        pytest.param(
            claim(finalizers=PROTECTED), (), ["updateStatus"], "", id="it has the finalizer"
        ),
        pytest.param(
            allocated(claim(users=("q",))), (), ["updateStatus"], "", id="it is shared with a pod"
        ),
        pytest.param(
            allocated(claim(users=("p",))), (), [], "", id="it was reserved by an earlier attempt"
        ),
        pytest.param(
            claim(),
            (CONFLICT,),
            ["update", *TRY_AGAIN, "update", "updateStatus"],
            "",
            id="a conflict is tried again on the new version",
        ),
        pytest.param(
            claim(),
            (None, CONFLICT, claim(finalizers=PROTECTED)),
            ["update", "updateStatus", *TRY_AGAIN, "updateStatus"],
            "",
            id="and what was written before is not repeated",
        ),
        pytest.param(
            claim(),
            (CONFLICT, None) * 5,
            ["update", *TRY_AGAIN] * 4 + ["update"],
            "add finalizer to claim default/c: it has changed",
            id="the fifth conflict is an error",
        ),
        pytest.param(
            claim(),
            (REFUSED,),
            ["update"],
            "add finalizer to claim default/c: no",
            id="another error is not tried again",
        ),
        pytest.param(
            claim(),
            (None, REFUSED),
            ["update", "updateStatus"],
            "add allocation and reservation to claim default/c: no",
            id="the allocation is refused",
        ),
        pytest.param(
            allocated(claim()),
            (REFUSED,),
            ["updateStatus"],
            "add reservation to claim default/c: no",
            id="the reservation is refused",
        ),
        pytest.param(
            claim(),
            (CONFLICT, CallError("gone", "NotFound")),
            ["update", *TRY_AGAIN],
            "get updated claim default/c after conflict: gone",
            id="the new version cannot be read",
        ),
        pytest.param(
            claim(),
            (CONFLICT, claim(**DELETED)),
            ["update", *TRY_AGAIN],
            "claim default/c got deleted in the meantime",
            id="it is being deleted",
        ),
        pytest.param(
            claim(),
            (CONFLICT, allocated(claim())),
            ["update", *TRY_AGAIN],
            "claim default/c got allocated elsewhere in the meantime",
            id="another scheduler was faster",
        ),
        pytest.param(
            allocated(claim()),
            (CONFLICT, claim()),
            ["updateStatus", *TRY_AGAIN],
            "claim default/c got deallocated elsewhere in the meantime",
            id="its devices were freed",
        ),
    ],
)
def test_how_a_claim_is_written(
    present: ResourceClaim,
    answers: tuple[CallError | ResourceClaim | None, ...],
    steps: list[str],
    error: str,
) -> None:
    situation = reserved(using("c"), present)
    index = situation.cycle.cluster.devices
    assert (index.pending("c") is None) is (present.status.allocation is not None)
    assert pre_bound(situation, *answers) == (steps, Status.error(error) if error else Status.OK)
    assert index.pending("c") is None, "written or refused, the allocation is not pending"
    found = index.claim("default/c")
    assert found is not None
    assert (found.status.allocation is not None, "p" in users(found)) == (
        (present.status.allocation is not None, "p" in users(present)) if error else (True, True)
    ), "what was written is read at once"


def test_a_claim_without_an_allocation_is_reserved_without_the_gate_all_the_same() -> None:
    situation = reserved(using("c"), allocated(claim()), gates=UNCONDITIONAL)
    steps = ["updateStatus", *TRY_AGAIN, "updateStatus"]
    assert pre_bound(situation, CONFLICT, claim()) == (steps, Status.OK)


@pytest.mark.parametrize(
    ("gates", "since", "time"),
    [
        pytest.param(DEFAULT_GATES, "", NOW, id="the time of the write"),
        pytest.param(
            DEFAULT_GATES, "2023-01-01T00:00:00Z", "2023-01-01T00:00:00Z", id="it stays as it is"
        ),
        pytest.param(UNCONDITIONAL, "", None, id="without the gate nothing reads it"),
    ],
)
def test_the_time_of_an_allocation(gates: Gates, since: str, time: str | None) -> None:
    situation = reserved(using("c"), allocated(claim(), since=since), gates=gates)
    pre_bound(situation)
    found = situation.cycle.cluster.devices.claim("default/c")
    assert found is not None
    assert found.status.allocation is not None
    assert found.status.allocation.allocation_timestamp == time


def test_a_claim_that_is_reserved_already_does_not_end_prebind() -> None:
    situation = reserved(using("c", "d"), allocated(claim(users=("p",))), claim("d"))
    steps, status = pre_bound(situation)
    assert (steps, status) == (["update", "updateStatus"], Status.OK)
    assert users(situation.cycle.cluster.devices.claim("default/d")) == ["p"]


def test_the_first_claim_that_cannot_be_written_ends_prebind() -> None:
    situation = reserved(using("c", "d"), claim(), claim("d"))
    index = situation.cycle.cluster.devices
    steps, status = pre_bound(situation, REFUSED)
    assert (steps, status.is_success) == (["update"], False)
    assert (index.pending("c") is None, index.pending("d") is None) == (True, False)
    situation.plugin.unreserve(situation.cycle, "n")
    assert index.pending("d") is None


# ------------------------------------------------------------ the claim for extended resources

WRITTEN = ["create", "update", "updateStatus"]
MAPPED = "made: [('main', 'example.com/gpu', 'container-0-request-0')]"


@pytest.mark.parametrize(
    ("answers", "arrives_at", "steps", "error", "creation"),
    [
        pytest.param((), 0, [*WRITTEN, MAPPED], "", "success", id="it is seen at once"),
        pytest.param((), 2, [*WRITTEN, MAPPED, "1s", "1s"], "", "success", id="seen later"),
        pytest.param(
            (), 999, [*WRITTEN, MAPPED, *["1s"] * 120], "", "success", id="not seen in two minutes"
        ),
        pytest.param(
            (REFUSED,),
            0,
            ["create"],
            "create claim for extended resources default/: no",
            "failure",
            id="it is refused",
        ),
        pytest.param(
            (None, REFUSED),
            0,
            ["create", "update"],
            "add finalizer to claim default/made: no",
            "success",
            id="its allocation is refused",
        ),
        pytest.param(
            (None, None, None, REFUSED),
            0,
            [*WRITTEN, MAPPED],
            "update pod default/p ExtendedResourceClaimStatus: no",
            "success",
            id="the pod cannot be changed",
        ),
    ],
)
def test_the_claim_for_extended_resources_is_created_and_the_pod_names_it(
    answers: tuple[CallError | None, ...],
    arrives_at: int,
    steps: list[str],
    error: str,
    creation: str,
) -> None:
    situation = reserved(using(gpus=1))
    outcome = pre_bound(situation, *answers, arrives_at=arrives_at)
    assert outcome == (steps, Status.error(error) if error else Status.OK)
    assert situation.handle.counted == [("scheduler_resourceclaim_creates_total", creation)]


def test_a_node_that_provides_the_resource_itself_needs_no_claim() -> None:
    """Upstream: extendeddynamicresources.go, filterExtendedResources."""
    own = {"cpu": "4", "pods": "110", "example.com/gpu": "1"}
    situation = reserved(using(gpus=1), node("n", status={"allocatable": own}))
    assert pre_bound(situation) == ([], Status.OK)
    assert situation.handle.counted == []


def test_beside_a_claim_of_the_pod_such_a_node_gets_an_empty_claim_and_fails() -> None:
    """Upstream allocates nothing for the claim in memory, creates it, and has no mappings.

    Upstream: dynamicresources.go, Reserve, bindClaim; extendeddynamicresources.go,
    patchPodExtendedResourceClaimStatus
    """
    own = {"cpu": "4", "pods": "110", "example.com/gpu": "1"}
    situation = reserved(using("c", gpus=1), claim(), node("n", status={"allocatable": own}))
    steps, status = pre_bound(situation)
    assert steps == ["update", "updateStatus", *WRITTEN]
    assert status == Status.error(
        "nil or empty request mappings, no update of pod default/p ExtendedResourceClaimStatus"
    )


# ------------------------------------------------------------ binding conditions


@pytest.mark.parametrize(
    ("conditions", "seconds", "steps", "error", "outcome"),
    [
        pytest.param(("Ready",), 12, [], "", "success", id="ready at once"),
        pytest.param(
            ("Failed",),
            12,
            [],
            'device binding failed: claim=c, reason=R, message="m"',
            "failure",
            id="the driver gave up",
        ),
        pytest.param(
            ("?",),
            12,
            ["5s", "5s", "2s"],
            "device binding timeout: context deadline exceeded",
            "timeout",
            id="every five seconds, the last time at the end",
        ),
    ],
)
def test_a_pod_waits_for_the_binding_conditions_of_its_devices(
    conditions: tuple[str, ...], seconds: int, steps: list[str], error: str, outcome: str
) -> None:
    present = allocated(claim(users=("p",)), "n", *conditions)
    situation = reserved(using("c"), present, seconds=seconds)
    assert pre_bound(situation) == (steps, Status.error(error) if error else Status.OK)
    handle, labels = situation.handle, ("", DRIVER, outcome)
    assert handle.notes == [
        "BindingConditionsPending: waiting for binding conditions for device on node n"
    ]
    waited = f"{sum(int(step[:-1]) for step in steps)}s"
    assert handle.observed == [
        ("scheduler_dra_bindingconditions_wait_duration_seconds", *labels, waited)
    ]
    assert handle.counted == [("scheduler_dra_bindingconditions_allocations_total", *labels)]


NEXT_LOOK = Pending(delay_ns=5 * SECOND_NS)
WAITED = "scheduler_dra_bindingconditions_wait_duration_seconds"


@pytest.mark.parametrize(
    ("later", "since", "result", "outcome"),
    [
        pytest.param("Ready", "", Status.OK, "success", id="ready at the second look"),
        pytest.param("Other", "", NEXT_LOOK, "", id="a condition that is not a binding condition"),
        pytest.param(
            None,
            "",
            Status.error('could not find ResourceClaim "default/c"'),
            "error",
            id="the claim is gone",
        ),
        pytest.param(
            "Other",
            "2023-11-14T22:03:22Z",
            Status.error("device binding timeout: claim=c"),
            "timeout",
            id="the timeout counts from the allocation",
        ),
    ],
)
def test_what_a_pod_sees_of_its_claims_while_it_waits(
    later: str | None, since: str, result: Status | Pending, outcome: str
) -> None:
    waiting = allocated(claim(users=("p",)), "n", "?", since=since)
    without_conditions = allocated(claim("d", users=("p",)))
    plugin, cycle, handle = reserved(using("d", "c"), without_conditions, waiting)
    assert plugin.pre_bind(cycle, "n") == NEXT_LOOK
    cycle.cluster.delete(waiting)
    if later:
        cycle.cluster.put(allocated(claim(users=("p",)), "n", later, since=since))
    assert plugin.continue_pre_bind(cycle, "n", Progress(now_ns=NOW_NS + 5 * SECOND_NS)) == result
    present = cycle.cluster.devices.claim("default/c")
    assert cycle.read(RESERVED).claims[1] is (waiting if present is None else present)
    labels = ("", DRIVER, outcome)
    # Upstream observes the wait for every device, and counts those with binding conditions.
    assert handle.observed == ([(WAITED, *labels, "5s")] * 2 if outcome else [])
    assert len(handle.counted) == bool(outcome)


@pytest.mark.parametrize("gates", [UNCONDITIONAL, DEFAULT_GATES])
def test_only_devices_with_binding_conditions_are_waited_for(gates: Gates) -> None:
    conditions = ("?",) if gates is UNCONDITIONAL else ()
    present = allocated(claim(users=("p",)), "n", *conditions)
    situation = reserved(using("c"), present, gates=gates)
    assert pre_bound(situation) == ([], Status.OK)
    assert (situation.handle.notes, situation.handle.observed) == ([], [])


# ------------------------------------------------------------ Unreserve


@pytest.mark.parametrize(
    ("present", "writes", "requested"),
    [
        pytest.param(claim(), False, [], id="the allocation was not written"),
        pytest.param(claim(), True, ["release c"], id="it was"),
        pytest.param(allocated(claim(users=("q",))), False, [], id="the claim is another pod's"),
        pytest.param(allocated(claim(users=("q", "p"))), False, ["release c"], id="it is shared"),
    ],
)
def test_a_claim_is_released_if_it_was_reserved(
    present: ResourceClaim, writes: bool, requested: list[str]
) -> None:
    situation = reserved(using("c"), present)
    plugin, cycle, handle = situation
    if writes:
        pre_bound(situation)
    plugin.unreserve(cycle, "n")
    calls = [call for call in handle.requested if isinstance(call, ResourceClaimWrite)]
    assert [f"{call.operation} {call.claim.metadata.name}" for call in calls] == requested
    assert {call.pod_uid for call in calls} <= {"p"}
    assert cycle.cluster.devices.pending("c") is None


@pytest.mark.parametrize("writes", [False, True])
def test_the_claim_for_extended_resources_is_deleted_if_it_was_created(writes: bool) -> None:
    situation = reserved(using("c", gpus=1), claim())
    plugin, cycle, handle = situation
    if writes:
        pre_bound(situation)
    plugin.unreserve(cycle, "n")
    calls = [call for call in handle.requested if isinstance(call, ResourceClaimWrite)]
    assert [(call.operation, call.claim.metadata.name) for call in calls] == (
        [("release", "c"), ("delete", "made")] if writes else []
    )


def test_the_devices_of_a_pod_that_is_not_bound_can_be_used_by_the_next() -> None:
    plugin, cycle, _ = reserved(using("c"), claim(), claim("d"), claim("e"))
    others = [Cycle(using(name), cycle.cluster) for name in "de"]
    outcomes = []
    for other in others:
        assert plugin.pre_filter(other) == Status.OK
        outcomes.append(plugin.reserve(other, "n"))
    assert outcomes == [Status.OK, Status.error("claim allocation not found for node")]
    plugin.unreserve(cycle, "n")
    assert plugin.reserve(others[1], "n") == Status.OK


# ------------------------------------------------------------ without an API server


@pytest.mark.parametrize(
    ("present", "after_reserve", "after_unreserve"),
    [
        pytest.param(claim(), (True, ["p"]), (False, []), id="its devices are free again"),
        pytest.param(
            allocated(claim(users=("q",))),
            (True, ["q", "p"]),
            (True, ["q"]),
            id="another pod still uses it",
        ),
    ],
)
def test_a_claim_counts_as_written_where_nothing_writes_it(
    present: ResourceClaim,
    after_reserve: tuple[bool, list[str]],
    after_unreserve: tuple[bool, list[str]],
) -> None:
    plugin, cycle, handle = reserved(using("c"), present, binds=False)
    index = cycle.cluster.devices
    seen = []
    for _ in range(2):
        found = index.claim("default/c")
        assert found is not None
        seen.append((found.status.allocation is not None, users(found)))
        assert index.pending("c") is None
        plugin.unreserve(cycle, "n")
    assert seen == [after_reserve, after_unreserve]
    assert handle.requested == []


def test_the_other_claims_count_as_written_if_one_is_deleted_in_the_cycle() -> None:
    plugin, cycle, _ = reserved(using("c", "d"), claim(), claim("d"), binds=False)
    plugin.unreserve(cycle, "n")
    index = cycle.cluster.devices
    cycle.cluster.delete(index.claims["default/c"])
    assert plugin.reserve(cycle, "n") == Status.OK
    assert index.claim("default/c") is None
    found = index.claim("default/d")
    assert found is not None
    assert (found.status.allocation is not None, users(found)) == (True, ["p"])


def test_a_claim_for_extended_resources_that_nothing_writes_stays_pending() -> None:
    plugin, cycle, _ = reserved(using(gpus=2), binds=False)
    other = Cycle(using("c"), cycle.cluster)
    cycle.cluster.put(claim())
    assert plugin.pre_filter(other) == Status.OK
    assert not plugin.reserve(other, "n").is_success
    plugin.unreserve(cycle, "n")
    assert plugin.reserve(other, "n") == Status.OK


# ------------------------------------------------------------ PostFilter

ELSEWHERE = allocated(claim(), "other")
STALE: Document = {
    "annotations": {"resource.kubernetes.io/extended-resource-claim": "true"},
    "ownerReferences": [
        {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "p", "controller": True}
    ],
}


@pytest.mark.parametrize(
    ("pod", "present", "calls"),
    [
        pytest.param(using("c"), [ELSEWHERE], ["updateStatus c"], id="no pod uses it"),
        pytest.param(
            using("c"),
            [allocated(claim(users=("p",)), "other")],
            ["updateStatus c"],
            id="the pod itself does",
        ),
        pytest.param(using("c"), [allocated(claim(users=("q",)), "other")], [], id="another does"),
        pytest.param(
            using("c"), [allocated(claim(users=("p", "q")), "other")], [], id="another does, too"
        ),
        pytest.param(
            using("c", "d"),
            [allocated(claim(users=("q",)), "other"), allocated(claim("d"), "other")],
            ["updateStatus d"],
            id="the first that can be freed",
        ),
        pytest.param(
            using("c", "d"), [claim(), allocated(claim("d"))], [], id="other claims are the reason"
        ),
        pytest.param(using("c", gpus=1), [ELSEWHERE], ["updateStatus c"], id="beside a new one"),
        pytest.param(
            using(gpus=1), [claim(**STALE)], ["delete c"], id="left by an earlier attempt"
        ),
        pytest.param(using(gpus=3), [], [], id="there are too few devices"),
    ],
)
def test_a_claim_that_no_node_can_use_is_freed(
    pod: Pod, present: list[ResourceClaim], calls: list[str]
) -> None:
    driver = Driver()
    gpus = made("DeviceClass", "gpu", {"extendedResourceName": "example.com/gpu"})
    driver.put(node("n"), gpus, devices("a"), *present)
    driver.put(with_fields(pod, "spec", scheduler_name="default-scheduler"))
    driver.cycle()
    written = driver.all_of(WriteResourceClaim)
    assert [f"{action.operation} {action.claim.metadata.name}" for action in written] == calls
    for action in written:
        status = action.claim.status
        assert action.operation == "delete" or (status.allocation, users(action.claim)) == (
            None,
            [],
        )


def test_a_pod_that_another_plugin_rejects_frees_no_claim() -> None:
    driver = Driver()
    full = node("n", spec={"unschedulable": True})
    driver.put(full, made("DeviceClass", "gpu", {}), devices("a"), ELSEWHERE)
    driver.put(with_fields(using("c"), "spec", scheduler_name="default-scheduler"))
    driver.cycle()
    assert driver.all_of(WriteResourceClaim) == []
