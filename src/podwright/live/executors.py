"""Who executes the calls of the machine: an API server, or a dry run.

A request to bind whose reply is lost is not repeated: the pod is read, and its node is the answer.
So no pod is bound twice, and none is forgotten.

Upstream: pkg/scheduler/framework/plugins/defaultbinder/default_binder.go
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from podwright.client.cluster import RejectedRequest, UnreachableCluster
from podwright.client.cluster.write_connection import WriteConnection
from podwright.framework import CallError
from podwright.live.api_calls import (
    STRATEGIC,
    ApiCall,
    ApiRequest,
    object_path,
    pod_path,
    request_of,
)
from podwright.live.event_writer import EventWriter
from podwright.machine import (
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
from podwright.objects import KubernetesObject, Pod, encode, with_node_name
from podwright.schema import decode

_PARALLEL: Final = 64
_PARALLEL_EVENTS: Final = 16
_WAITING_EVENTS_MAX: Final = 1_000
"""Upstream: staging/src/k8s.io/client-go/tools/events/interfaces.go, maxQueuedEvents"""
_FINALIZER: Final = "resource.kubernetes.io/delete-protection"


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
        Called with what was rejected for want of rights: a line for an operator, once per right.

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
    ) -> None:
        self.failures: Counter[str] = Counter()
        self._report = report
        self._reported: set[str] = set()
        self._connection = connection
        self._event_connection = event_connection
        self._events = events
        self._limit = asyncio.Semaphore(_PARALLEL)
        self._event_limit = asyncio.Semaphore(_PARALLEL_EVENTS)
        self._waiting_events = 0

    async def call(self, call: ApiCall) -> Sequence[Event]:
        """Execute a call."""
        async with self._limit:
            try:
                if isinstance(call, WriteResourceClaim):
                    return [CallDone(call.call, obj=await self._write_claim(call))]
                return [await self._send(call, request_of(call))]
            except RejectedRequest as error:
                self._failed(call, error)
                reason = error.reason or str(error.status)
                return [CallDone(call.call, CallError(str(error), reason))]
            except UnreachableCluster as error:
                self._failed(call, error)
                if isinstance(call, Bind):
                    return [await self._looked_up(call, error)]
                return [CallDone(call.call, CallError(str(error)))]

    async def emit(self, event: EmitEvent, now_ns: int) -> None:
        """Write an Event; one that is rejected, or waits behind too many, is lost."""
        if self._waiting_events >= _WAITING_EVENTS_MAX:
            self.failures["EmitEvent"] += 1
            return
        self._waiting_events += 1
        try:
            async with self._event_limit:
                await _write(self._event_connection, self._events.request(event, now_ns))
        except (RejectedRequest, UnreachableCluster) as error:
            self._failed(event, error)
            self._events.failed(event)
        finally:
            self._waiting_events -= 1

    def _failed(
        self, call: ApiCall | EmitEvent, error: RejectedRequest | UnreachableCluster
    ) -> None:
        self.failures[type(call).__name__] += 1
        right = error.missing_right if isinstance(error, RejectedRequest) else ""
        # Each pod that needs an absent right would repeat the line.
        if right and right not in self._reported and self._report is not None:
            self._reported.add(right)
            self._report(str(error))

    async def _send(self, call: ApiCall, request: ApiRequest) -> CallDone:
        body = await _write(self._connection, request)
        if not request.has_object:
            return CallDone(call.call)
        obj: Any = decode(msgspec.json.decode(body))
        return CallDone(call.call, obj=obj)

    async def _looked_up(self, call: Bind, error: UnreachableCluster) -> CallDone:
        """Return the result of a binding whose reply was lost."""
        for attempt in range(6):
            try:
                body = await self._connection.get(pod_path(call.pod))
            except UnreachableCluster:
                await asyncio.sleep(0.2 * 2**attempt)
                continue
            except RejectedRequest as rejected:
                self._failed(call, rejected)
                return CallDone(call.call, CallError(str(rejected), rejected.reason))
            pod = msgspec.json.decode(body)
            is_same = pod["metadata"].get("uid") == call.uid
            if is_same and (pod.get("spec") or {}).get("nodeName") == call.node:
                return CallDone(call.call)
            break
        return CallDone(call.call, CallError(str(error)))

    async def _write_claim(self, call: WriteResourceClaim) -> Any:
        claim = call.claim
        path = object_path(claim)
        body = b""
        match call.operation:
            case "get":
                body = await self._connection.get(path)
            case "create":
                collection = object_path(claim, is_collection=True)
                body = await _write(self._connection, ApiRequest("POST", collection, encode(claim)))
            case "update":
                body = await _write(self._connection, ApiRequest("PUT", path, encode(claim)))
            case "updateStatus":
                body = await _write(
                    self._connection, ApiRequest("PUT", f"{path}/status", encode(claim))
                )
            case "release":
                users = [{"$patch": "delete", "uid": call.pod_uid}]
                patch = {"metadata": {"uid": claim.uid}, "status": {"reservedFor": users}}
                body = await _write(
                    self._connection, ApiRequest("PATCH", f"{path}/status", patch, STRATEGIC)
                )
            case "delete":
                await self._delete_claim(path, claim.uid)
        return decode(msgspec.json.decode(body)) if body else None

    async def _delete_claim(self, path: str, uid: str) -> None:
        present = msgspec.json.decode(await self._connection.get(path))
        metadata = present["metadata"]
        if _FINALIZER in (metadata.get("finalizers") or ()):
            kept = [each for each in metadata["finalizers"] if each != _FINALIZER]
            freed = {**present, "metadata": {**metadata, "finalizers": kept}}
            await _write(self._connection, ApiRequest("PUT", path, freed))
        await _write(self._connection, ApiRequest("DELETE", path, {"preconditions": {"uid": uid}}))


async def _write(connection: WriteConnection, request: ApiRequest) -> bytes:
    return await connection.write(
        request.verb,
        request.path,
        msgspec.json.encode(request.body),
        content_type=request.content_type,
    )
