"""Who executes the calls of the machine: an API server, or a dry run.

Theory of operation
-------------------
A request to bind has three outcomes: the pod is bound, it is not, or that is not known, since the
reply was lost or the server failed while it wrote. The machine gets the first two. Until the third
is resolved, the call is not answered, so the pod stays assumed and keeps its room: the pod is read
until the server says which node it has, however long that takes. A pod without a node is bound by
another request, to the same node.

A request that the server refuses because it has just started, or is overloaded, is repeated for a
while, with waits that double. All other calls may be executed twice without harm: patches and
deletions name the uid, updates the version. The
exception is a claim whose name the server generates.

An Event is repeated as long as client-go does. Its object has its own name, so an Event that
exists already was written by an attempt whose reply was lost.

Upstream: pkg/scheduler/framework/plugins/defaultbinder/default_binder.go,
staging/src/k8s.io/client-go/tools/events/event_broadcaster.go, `attemptRecording`
"""

from __future__ import annotations

import asyncio
import itertools
import secrets
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from http import HTTPStatus
from typing import Any, Final

import msgspec

from podwright.apimachinery.objects import (
    DELETE_PROTECTION,
    Document,
    KubernetesObject,
    Pod,
    with_node_name,
)
from podwright.apimachinery.schema import decode
from podwright.online.client.cluster import RejectedRequest, UnreachableCluster
from podwright.online.client.cluster.write_connection import WriteConnection
from podwright.online.live.api_calls import (
    ApiRequest,
    Attempts,
    EventWriter,
    FailedRequest,
    RetryTimes,
    call_error,
    is_passing,
    may_be_executed,
    pod_path,
    request_of,
)
from podwright.scheduler.framework import CallError
from podwright.scheduler.machine import (
    ApiCall,
    Bind,
    CallDone,
    DeletePod,
    EmitEvent,
    Event,
    ObjectPut,
    UpdateClaim,
    UpdateVolume,
    WriteResourceClaim,
)

_PARALLEL: Final = 64
_PARALLEL_EVENTS: Final = 16
_WAITING_EVENTS_MAX: Final = 50_000
"""Upstream bounds only those that are not attempted yet: each attempt is a goroutine."""
_EVENT_ATTEMPTS_MAX: Final = 12
"""Upstream: event_broadcaster.go, maxTriesPerEvent"""


class Executor(ABC):
    """Executes the calls of the machine."""

    @abstractmethod
    async def call(self, call: ApiCall) -> Sequence[Event]:
        """Execute a call, and return the events that follow; the last one is its result."""

    @abstractmethod
    async def emit(self, event: EmitEvent, now_ns: int) -> None:
        """Write an Event."""

    def seen(self, obj: KubernetesObject) -> KubernetesObject:
        """Return an object of the cluster as the machine gets it."""
        return obj


class DryRun(Executor):
    """Writes nothing: what the machine decides is only reported, and holds for the machine.

    Parameters
    ----------
    report : callable
        Called with each binding, and each preemption.
    """

    def __init__(self, report: Callable[[Bind | DeletePod], None]) -> None:
        self._report = report
        self._pods: dict[str, Pod] = {}
        self._nodes: dict[str, str] = {}

    async def call(self, call: ApiCall) -> Sequence[Event]:
        """Pretend that the call has succeeded."""
        if isinstance(call, DeletePod):
            self._report(call)
        if isinstance(call, Bind):
            self._report(call)
            self._nodes[call.uid] = call.node
            pod = self._pods.get(call.uid)
            if pod is not None:
                return [ObjectPut(with_node_name(pod, call.node)), CallDone(call.call)]
        match call:
            case UpdateVolume(volume=obj):
                return [CallDone(call.call, obj=obj)]
            case UpdateClaim(claim=obj) | WriteResourceClaim(claim=obj):
                return [CallDone(call.call, obj=obj)]
            case _:
                return [CallDone(call.call)]

    async def emit(self, event: EmitEvent, now_ns: int) -> None:
        """Write nothing."""

    def seen(self, obj: KubernetesObject) -> KubernetesObject:
        """Keep pods where the machine has placed them, until the cluster has placed them."""
        if not isinstance(obj, Pod):
            return obj
        if obj.spec.node_name:
            self._nodes.pop(obj.uid, None)
            self._pods.pop(obj.uid, None)
            return obj
        self._pods[obj.uid] = obj
        node = self._nodes.get(obj.uid)
        return obj if node is None else with_node_name(obj, node)


class Writes(Executor):
    """Writes to the cluster.

    Parameters
    ----------
    connection : WriteConnection
    event_connection : WriteConnection
        For Events: they neither delay bindings, nor count against their rate.
    events : EventWriter
    report : callable, optional
        Called with what was forbidden by RBAC: a line for an operator, once per right.
    check_leads : callable, optional
        Called before each call is sent; raises if another replica may schedule.
    times : RetryTimes

    Attributes
    ----------
    failures : Counter
        Rejected and unanswered requests, and Events that were dropped, by the class of the call.
    """

    def __init__(
        self,
        connection: WriteConnection,
        event_connection: WriteConnection,
        events: EventWriter,
        *,
        report: Callable[[str], None] | None = None,
        check_leads: Callable[[], None] | None = None,
        times: RetryTimes = RetryTimes(),  # noqa: B008 - it is frozen
    ) -> None:
        self.failures: Counter[str] = Counter()
        self._report = report
        self._reported: set[str] = set()
        self._check_leads = check_leads
        self._connection = connection
        self._event_connection = event_connection
        self._events = events
        self._times = times
        self._limit = asyncio.Semaphore(_PARALLEL)
        self._event_limit = asyncio.Semaphore(_PARALLEL_EVENTS)
        self._waiting_events = 0
        # Replicas with equal waits would all return at the same time.
        self._seeds = itertools.count(secrets.randbits(32))

    async def call(self, call: ApiCall) -> Sequence[Event]:
        """Execute a call."""
        async with self._limit:
            if isinstance(call, Bind):
                return [await self._bind(call)]
            attempts = self._attempts(self._times.call_ns)
            while True:
                try:
                    return [await self._once(call)]
                except (RejectedRequest, UnreachableCluster) as error:
                    self._failed(call, error)
                    is_final = not is_passing(error) or _creates_twice(call, error)
                    if is_final or not await attempts.wait(error):
                        return [CallDone(call.call, call_error(error))]

    async def emit(self, event: EmitEvent, now_ns: int) -> None:
        """Write an Event; one that waits behind too many, or fails too often, is lost."""
        if self._waiting_events >= _WAITING_EVENTS_MAX:
            self.failures["EmitEvent"] += 1
            return
        self._waiting_events += 1
        try:
            await self._emit(event, now_ns)
        finally:
            self._waiting_events -= 1

    async def _emit(self, event: EmitEvent, now_ns: int) -> None:
        # Both before anything is awaited: the Events of a pod are in their order.
        counts, request = self._events.counts_due(now_ns), self._events.request(event, now_ns)
        if request is not None and not await self._is_recorded(event, request, now_ns):
            self._events.failed(event)
        for each in counts:
            with suppress(RejectedRequest, UnreachableCluster):
                async with self._event_limit:
                    await _write(self._event_connection, each)

    async def _is_recorded(self, event: EmitEvent, first: ApiRequest, now_ns: int) -> bool:
        """Write an Event, in at most as many attempts as client-go makes."""
        times = self._times
        attempts = self._attempts(0, times.event_first_ns, times.event_longest_ns)
        request = first
        for _ in range(_EVENT_ATTEMPTS_MAX):
            try:
                async with self._event_limit:
                    await _write(self._event_connection, request)
            except (RejectedRequest, UnreachableCluster) as error:
                if _has_status(error, HTTPStatus.CONFLICT) and request.verb == "POST":
                    if request is first:
                        return True  # an earlier attempt has written it
                    request = first  # the object of the series is there by now
                elif _has_status(error, HTTPStatus.NOT_FOUND) and request.verb == "PATCH":
                    # The object of the series has expired, or is not written yet.
                    request = self._events.creation(event, request, now_ns)
                    continue
                else:
                    self._failed(event, error)
                    if not is_passing(error):
                        return False
                await attempts.wait(error)
            else:
                return True
        return False

    def _attempts(self, limit_ns: int, first_ns: int = 0, longest_ns: int = 0) -> Attempts:
        return Attempts(
            next(self._seeds),
            first_ns=first_ns or self._times.first_ns,
            longest_ns=longest_ns or self._times.longest_ns,
            limit_ns=limit_ns,
        )

    def _failed(self, call: ApiCall | EmitEvent, error: FailedRequest) -> None:
        self.failures[type(call).__name__] += 1
        right = error.missing_right if isinstance(error, RejectedRequest) else ""
        # Each pod that needs an absent right would repeat the line.
        if right and right not in self._reported and self._report is not None:
            self._reported.add(right)
            self._report(str(error))

    async def _once(self, call: ApiCall) -> CallDone:
        if self._check_leads is not None:
            self._check_leads()
        request = request_of(call)
        if isinstance(call, WriteResourceClaim) and call.operation == "delete":
            await self._free_claim(request.path)
        body = await _write(self._connection, request)
        if not request.has_object:
            return CallDone(call.call)
        obj: Any = decode(msgspec.json.decode(body))
        return CallDone(call.call, obj=obj)

    async def _bind(self, call: Bind) -> CallDone:
        """Bind a pod; return as soon as it is known which node it has."""
        attempts = self._attempts(self._times.call_ns)
        while True:
            try:
                return await self._once(call)
            except (RejectedRequest, UnreachableCluster) as error:
                self._failed(call, error)
                failure: FailedRequest = error
            if may_be_executed(failure) or _has_status(failure, HTTPStatus.CONFLICT):
                # A conflict: the pod has a node, perhaps by an earlier attempt.
                pod = await self._read_pod(call)
                if pod is None:
                    return CallDone(call.call, CallError(f"pod {call.pod} is gone", "NotFound"))
                node = (pod.get("spec") or {}).get("nodeName")
                if node == call.node:
                    return CallDone(call.call)
                if node:
                    error_text = f"pod {call.pod} is already assigned to node {node}"
                    return CallDone(call.call, CallError(error_text, "Conflict"))
            if not is_passing(failure) or not await attempts.wait(failure):
                return CallDone(call.call, call_error(failure))

    async def _read_pod(self, call: Bind) -> Document | None:
        """Return a pod as soon as the server answers; None if it is gone, or was replaced."""
        collection, _, name = pod_path(call.pod).rpartition("/")
        query = {"fieldSelector": f"metadata.name={name}"}
        attempts = self._attempts(0)
        while True:
            try:
                body = await self._connection.get(collection, query)
            except (RejectedRequest, UnreachableCluster) as error:
                self._failed(call, error)
                await attempts.wait(error)
                continue
            found: list[Document] = msgspec.json.decode(body).get("items") or []
            return next((pod for pod in found if pod["metadata"].get("uid") == call.uid), None)

    async def _free_claim(self, path: str) -> None:
        """Take the finalizer off a claim, which is deleted then."""
        present = msgspec.json.decode(await self._connection.get(path))
        metadata = present["metadata"]
        if DELETE_PROTECTION in (metadata.get("finalizers") or ()):
            kept = [each for each in metadata["finalizers"] if each != DELETE_PROTECTION]
            freed = {**present, "metadata": {**metadata, "finalizers": kept}}
            await _write(self._connection, ApiRequest("PUT", path, freed))


def _creates_twice(call: ApiCall, error: FailedRequest) -> bool:
    """Whether a repeated call may create a second object: the server generates the name.

    The next attempt to schedule the pod finds the claim, if it is there.
    """
    is_creation = isinstance(call, WriteResourceClaim) and call.operation == "create"
    return is_creation and may_be_executed(error)


def _has_status(error: FailedRequest, status: HTTPStatus) -> bool:
    return isinstance(error, RejectedRequest) and error.status == status


async def _write(connection: WriteConnection, request: ApiRequest) -> bytes:
    if request.verb == "GET":
        return await connection.get(request.path)
    return await connection.write(
        request.verb,
        request.path,
        msgspec.json.encode(request.body),
        content_type=request.content_type,
    )
