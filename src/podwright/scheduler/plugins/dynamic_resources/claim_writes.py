"""PreBind: writes the allocations into the claims, and waits for binding conditions.

The steps for each claim that is not reserved for the pod, in order: the claim for extended
resources is created; a new allocation needs the finalizer; the status gets the allocation and the
reservation. A conflict repeats the last two on the version that the API server has then.

Upstream: pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go, `bindClaim` and
`PreBind`
"""

from __future__ import annotations

from collections.abc import Generator
from typing import NamedTuple, TypeAlias

import msgspec

from podwright.apimachinery.devices import (
    claim_name,
    has_binding_conditions,
    has_timed_out,
    is_reserved_for,
    readiness as readiness_of,
)
from podwright.apimachinery.objects import (
    DELETE_PROTECTION,
    SECOND_NS,
    AllocationResult,
    Pod,
    ResourceClaim,
    ResourceClaimConsumerReference,
    decode_as,
    encode,
    timestamp_text,
    with_fields,
)
from podwright.scheduler.framework import (
    Answer,
    ApiCall,
    CallError,
    Cycle,
    ExtendedClaimPatch,
    Handle,
    Pending,
    Progress,
    ResourceClaimWrite,
    StateKey,
    Status,
    is_in_memory,
)
from podwright.scheduler.plugins.dynamic_resources.pod_devices import PodDevices, Reserved

_WAIT_METRIC = "scheduler_dra_bindingconditions_wait_duration_seconds"
_ALLOCATIONS_METRIC = "scheduler_dra_bindingconditions_allocations_total"
_MOST_TRIES = 5
_RETRY_NS = 10_000_000
_POLL_NS = 5 * SECOND_NS
_SEEN_POLL_NS = SECOND_NS
_MOST_SEEN_POLLS = 120

_Steps: TypeAlias = Generator[Pending, Progress, str]
"""Yields what to wait for, is sent the progress, and returns an error or ""."""


class _Failure(NamedTuple):
    """Why a claim could not be written; a conflict is tried again."""

    error: str
    is_conflict: bool = False


class ClaimWrites:
    """How far PreBind has come.

    Parameters
    ----------
    binding_timeout_ns : int, optional
        How long to wait for binding conditions; None: they are not looked at.
    """

    def __init__(
        self,
        cycle: Cycle,
        state: PodDevices,
        reserved: Reserved,
        *,
        node_name: str,
        binding_timeout_ns: int | None,
        handle: Handle | None,
    ) -> None:
        self._pod = cycle.pod
        self._devices = cycle.cluster.devices
        self._state = state
        self._reserved = reserved
        self._node_name = node_name
        self._binding_timeout_ns = binding_timeout_ns
        self._handle = handle
        self._now_ns = 0
        self._steps = self._run()

    def begin(self, now_ns: int) -> Status | Pending:
        """Make the first call."""
        self._now_ns = now_ns
        return self._next(None)

    def go_on(self, progress: Progress) -> Status | Pending:
        """Continue."""
        self._now_ns = progress.now_ns
        return self._next(progress)

    def _next(self, progress: Progress | None) -> Status | Pending:
        try:
            return next(self._steps) if progress is None else self._steps.send(progress)
        except StopIteration as end:
            error: str = end.value
            return Status.error(error) if error else Status.OK

    # ------------------------------------------------------------ steps

    def _run(self) -> _Steps:
        claims = self._reserved.claims
        for index, claim in enumerate(claims):
            if is_reserved_for(claim, self._pod):
                continue
            error = yield from self._bind(index)
            if error:
                return error
        if self._binding_timeout_ns is None or not any(map(has_binding_conditions, claims)):
            return ""
        return (yield from self._wait_for_conditions(self._binding_timeout_ns))

    def _call(self, call: ApiCall) -> Generator[Pending, Progress, Answer]:
        progress = yield Pending(calls=(call,))
        return progress.answers[0]

    def _bind(self, index: int) -> _Steps:
        """Write one claim; its allocation is not pending afterwards, whatever the outcome."""
        error = yield from self._write(index)
        self._devices.remove_pending(self._reserved.pending.pop(index, ""))
        return error

    def _write(self, index: int) -> _Steps:
        reserved = self._reserved
        claim, allocation = reserved.claims[index], reserved.allocations.get(index)
        is_special = self._state.special is not None and index == len(reserved.claims) - 1
        if is_special and allocation is None and not claim.spec.devices.requests:
            return ""
        if is_special and is_in_memory(claim):
            created = yield from self._create()
            if isinstance(created, str):
                return created
            reserved.claims[index] = claim = created
        for tries in range(1, _MOST_TRIES + 1):
            outcome = yield from self._write_once(claim, allocation)
            if isinstance(outcome, ResourceClaim):
                reserved.claims[index] = claim = outcome
                break
            if not outcome.is_conflict or tries == _MOST_TRIES:
                return outcome.error
            yield Pending(delay_ns=_RETRY_NS)
            answer = yield from self._call(ResourceClaimWrite("get", claim))
            if answer.error is not None:
                name = claim_name(claim)
                return f"get updated claim {name} after conflict: {answer.error.message}"
            assert isinstance(answer.obj, ResourceClaim), answer
            claim = answer.obj
        error = (yield from self._patch_pod(claim)) if is_special else ""
        yield from self._assume(claim, is_special=is_special)
        return error

    def _create(self) -> Generator[Pending, Progress, ResourceClaim | str]:
        special = self._reserved.special
        if special is None:
            return f"extended resource claim not found for node {self._node_name}"
        document = encode(with_fields(special, "metadata", name="", uid=""))
        # The API requires both fields, also without any request.
        spec = {"devices": {}} | document.get("spec", {})
        new = decode_as(document | {"spec": spec}, ResourceClaim)
        answer = yield from self._call(ResourceClaimWrite("create", new))
        if self._handle is not None:
            outcome = "success" if answer.error is None else "failure"
            self._handle.count("scheduler_resourceclaim_creates_total", (outcome,))
        if answer.error is not None:
            return f"create claim for extended resources {claim_name(new)}: {answer.error.message}"
        assert isinstance(answer.obj, ResourceClaim), answer
        return answer.obj

    def _write_once(
        self, claim: ResourceClaim, allocation: AllocationResult | None
    ) -> Generator[Pending, Progress, ResourceClaim | _Failure]:
        name = claim_name(claim)
        if claim.metadata.deletion_timestamp is not None:
            return _Failure(f"claim {name} got deleted in the meantime")
        written = claim.status.allocation
        if allocation is not None:
            if written is not None:
                return _Failure(f"claim {name} got allocated elsewhere in the meantime")
            if DELETE_PROTECTION not in claim.metadata.finalizers:
                finalizers = (*claim.metadata.finalizers, DELETE_PROTECTION)
                protected = with_fields(claim, "metadata", finalizers=finalizers)
                answer = yield from self._call(ResourceClaimWrite("update", protected))
                if answer.error is not None:
                    return _failure(f"add finalizer to claim {name}", answer.error)
                assert isinstance(answer.obj, ResourceClaim), answer
                claim = answer.obj
            written = allocation
        if self._binding_timeout_ns is not None:
            if written is None:
                return _Failure(f"claim {name} got deallocated elsewhere in the meantime")
            if written.allocation_timestamp is None:
                written = msgspec.structs.replace(
                    written, allocation_timestamp=timestamp_text(self._now_ns)
                )
        updated = with_user(claim, self._pod, written)
        answer = yield from self._call(ResourceClaimWrite("updateStatus", updated))
        if answer.error is not None:
            what = "reservation" if allocation is None else "allocation and reservation"
            return _failure(f"add {what} to claim {name}", answer.error)
        assert isinstance(answer.obj, ResourceClaim), answer
        return answer.obj

    def _assume(self, claim: ResourceClaim, *, is_special: bool) -> Generator[Pending, Progress]:
        """Read the claim as it was written; one that was created has to be seen before."""
        if is_special:
            for _ in range(_MOST_SEEN_POLLS):
                if claim.key in self._devices.claims:
                    break
                yield Pending(delay_ns=_SEEN_POLL_NS)
        self._devices.assume(claim)

    def _patch_pod(self, claim: ResourceClaim) -> _Steps:
        pod, mappings = self._pod.metadata, self._reserved.mappings
        name = f"{pod.namespace}/{pod.name} ExtendedResourceClaimStatus"
        if not mappings:
            return f"nil or empty request mappings, no update of pod {name}"
        patch = ExtendedClaimPatch(claim.metadata.name, mappings)
        answer = yield from self._call(patch)
        return "" if answer.error is None else f"update pod {name}: {answer.error.message}"

    # ------------------------------------------------------------ conditions

    def _wait_for_conditions(self, timeout_ns: int) -> _Steps:
        if self._handle is not None:
            self._handle.record_event(
                self._pod,
                "BindingConditionsPending",
                f"waiting for binding conditions for device on node {self._node_name}",
            )
        started_ns = self._now_ns
        error = yield from self._poll(timeout_ns)
        self._count_wait(error, self._now_ns - started_ns)
        return error

    def _poll(self, timeout_ns: int) -> _Steps:
        deadline_ns = self._now_ns + timeout_ns
        while True:
            outcome = self._check(timeout_ns)
            if outcome is not None:
                return outcome
            if self._now_ns >= deadline_ns:
                return "device binding timeout: context deadline exceeded"
            yield Pending(delay_ns=min(_POLL_NS, deadline_ns - self._now_ns))

    def _count_wait(self, error: str, waited_ns: int) -> None:
        """Count the allocations with binding conditions, and how long all devices were waited for.

        Notes
        -----
        As upstream, the duration counts once for each device of the claims, also for those
        without binding conditions.
        """
        handle = self._handle
        if handle is None:
            return
        profile = self._pod.spec.scheduler_name
        outcome = "success"
        if error:
            starts = (("device binding timeout", "timeout"), ("device binding failed", "failure"))
            outcome = next((label for start, label in starts if error.startswith(start)), "error")
        for claim in self._reserved.claims:
            allocation = claim.status.allocation
            for result in () if allocation is None else allocation.devices.results:
                labels = (profile, result.driver, outcome)
                handle.observe(_WAIT_METRIC, labels, waited_ns)
                if result.binding_conditions:
                    handle.count(_ALLOCATIONS_METRIC, labels)

    def _check(self, timeout_ns: int) -> str | None:
        """Return "" if all claims are ready, None if they are not yet, otherwise the error."""
        claims = self._reserved.claims
        for index, claim in enumerate(claims):
            present = self._devices.claim(claim.key)
            if present is None:
                return f'could not find ResourceClaim "{claim_name(claim)}"'
            claims[index] = present
            ready = readiness_of(present)
            if ready.failure:
                return ready.failure
            if not ready.is_ready:
                if has_timed_out(present, timeout_ns, self._now_ns):
                    return f"device binding timeout: claim={present.metadata.name}"
                return None
        return ""


def _failure(what: str, error: CallError) -> _Failure:
    return _Failure(f"{what}: {error.message}", is_conflict=error.reason == "Conflict")


def with_user(claim: ResourceClaim, pod: Pod, allocation: AllocationResult | None) -> ResourceClaim:
    """Return a claim with an allocation, reserved for one more pod."""
    user = ResourceClaimConsumerReference(
        resource="pods", name=pod.metadata.name, uid=pod.metadata.uid
    )
    users = (*claim.status.reserved_for, user)
    if allocation is claim.status.allocation:
        return with_fields(claim, "status", reserved_for=users)
    return with_fields(claim, "status", reserved_for=users, allocation=allocation)


WORK: StateKey[ClaimWrites] = StateKey("DynamicResources/Work")
