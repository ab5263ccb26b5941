"""Executes the operations of a mirror on a destination, which is an API server.

Upstream: kube-scheduler-simulator simulator/resourceapplier/resourceapplier.go
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from http import HTTPStatus
from typing import Any, Final, Self

import msgspec

from podwright.apimachinery.objects import Document
from podwright.online.client import (
    WRITES,
    SyncRequest,
    SyncStatus,
    WriteReplies,
    WriteReply,
    Writes,
)
from podwright.online.client.cluster import (
    Backoff,
    ClusterAddress,
    ReadConnection,
    Reflector,
    RejectedRequest,
    UnreachableCluster,
    cluster_identity,
    is_same_cluster,
    server_version,
)
from podwright.online.client.cluster.write_connection import WriteConnection
from podwright.online.sync.mirror import BROUGHT_ALONG
from podwright.online.sync.object_copy import (
    allocated,
    claims_of,
    extended_status,
    has_devices,
    owned,
)
from podwright.online.sync.operations import (
    MERGE,
    NOW,
    AllocateClaim,
    AllocateExtended,
    BindPod,
    Create,
    Delete,
    Operation,
    Settle,
    is_separate,
    path_of,
    settling_writes,
    write_of,
)
from podwright.online.sync.placements import SeenPods
from podwright.online.sync.settlement import Settlement, source_uid
from podwright.online.sync.source_kinds import SourceKind, source_kinds

_PER_SECOND: Final = 5_000.0
_BURST: Final = 5_000
_STATE: Final = "/api/v1/namespaces/kube-system/configmaps"
_STATE_NAME: Final = "podwright-sync"
_REPORT: Final = "/podwright/v1/sync"
_UNKNOWN_PATH: Final = frozenset(
    {HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED}
)
_GROUPS: Final = "--feature-gates GenericWorkload=true,GangScheduling=true"
_PASSING: Final = frozenset({429, 500, 502, 503, 504})
_ATTEMPTS: Final = 5


class SavedState(msgspec.Struct, frozen=True):
    """What an earlier sync has left at its destination.

    Attributes
    ----------
    source : str
        The identity of the cluster.
    synced_until, synced_last : str, collection of str
        As of `SeenPods`.
    """

    source: str = ""
    synced_until: str = ""
    synced_last: Collection[str] = ()


def seen_pods(saved: SavedState, identity: str) -> SeenPods | None:
    """Return the pods that an earlier sync of the same source has seen; None without one."""
    return SeenPods(saved.synced_until, saved.synced_last) if saved.source == identity else None


_DONE: Final[dict[type[Operation], str]] = {
    Create: "created",
    Settle: "updated",
    BindPod: "bound",
    AllocateExtended: "created",
    AllocateClaim: "updated",
    Delete: "deleted",
}
"""What an operation is counted as."""


class ReplacedTarget(Exception):  # noqa: N818 - named for what it is
    """Another cluster has the address of a destination: nothing that is known of it is right."""


class Target:
    """A destination.

    Use it with `async with`.

    Parameters
    ----------
    address : ClusterAddress
    name : str
        In messages.
    on_rejected : callable
        Called with a line about the first rejection of each kind and reason.

    Attributes
    ----------
    address : ClusterAddress
    done : Counter
        By what was done: created, updated, deleted, and `absent` for changes of objects that the
        destination has deleted, `claims` for claims and volumes that it has bound otherwise.
    errors : Counter
        By kind and reason, such as Pod and Forbidden.
    last_error : str
    rejected : dict
        By resource and key: what was rejected, and is executed again.
    takes_several : bool
        Whether one request can execute several operations, as far as is known. A server that is not
        podwright's cannot.
    check_due : asyncio.Event
        Set when the destination requests a comparison with the source.
    """

    def __init__(
        self,
        address: ClusterAddress,
        name: str,
        *,
        on_rejected: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.name = name
        self._on_rejected = on_rejected
        self.address = address
        self.check_due = asyncio.Event()
        self.takes_several = True
        self.done: Counter[str] = Counter()
        self.errors: Counter[tuple[str, str]] = Counter()
        self.last_error = ""
        self.rejected: dict[tuple[str, str], list[Operation]] = {}
        self._retried: set[tuple[str, str]] = set()
        self._takes_reports = True
        self._identity = ""
        # By the key of a pod and its entry: what is allocated when its claims are made.
        self._waiting: dict[str, dict[str, AllocateClaim]] = {}
        self._connection = WriteConnection(address, per_second=_PER_SECOND, burst=_BURST)

    async def __aenter__(self) -> Self:
        await self._connection.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._connection.close()

    async def check(self) -> None:
        """Check that the destination can be reached, and is an API server.

        Raises
        ------
        RejectedRequest, UnreachableCluster
        """
        await server_version(self._connection)
        self._identity = await cluster_identity(self._connection)

    async def check_same(self) -> None:
        """Check that the destination is still the cluster that it was at an earlier `check`.

        Raises
        ------
        ReplacedTarget
            It is another one, such as a server in memory that was started again.
        RejectedRequest, UnreachableCluster
        """
        if self._identity and await cluster_identity(self._connection) != self._identity:
            raise ReplacedTarget(f"{self.name} is another cluster than before")

    async def is_source(self, source: ReadConnection) -> bool:
        """Whether the destination is the source itself.

        Raises
        ------
        RejectedRequest, UnreachableCluster
        """
        return await is_same_cluster(source, self._connection)

    def pods(self) -> Reflector:
        """Return the reflector of the destination's pods."""
        kind = source_kinds(["pods"])[0]
        return Reflector(self._connection, kind.path(), gives_up=False)

    async def objects(self, kind: SourceKind) -> dict[str, bytes]:
        """Return all objects of a kind as JSON, by key; none if it is not served.

        Raises
        ------
        RejectedRequest, UnreachableCluster
        """
        reflector = Reflector(self._connection, kind.path(), streams=False)
        found: dict[str, bytes] = {}
        try:
            async for batch in reflector.batches():
                found = {each.meta.key: each.body for each in batch.changes}
                break
        except RejectedRequest as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise
        return found

    async def state(self) -> SavedState:
        """Return what an earlier sync has saved of this cluster.

        Raises
        ------
        RejectedRequest, UnreachableCluster
        """
        obj = await self._present(f"{_STATE}/{_STATE_NAME}")
        data = (obj or {}).get("data") or {}
        # A save that was under way while the cluster was replaced says nothing about this one.
        if data.get("destination") != self._identity:
            return SavedState()
        return SavedState(
            data.get("source", ""), data.get("syncedUntil", ""), data.get("syncedLast", "").split()
        )

    async def save(self, state: SavedState) -> None:
        """Save what a later sync needs.

        Raises
        ------
        RejectedRequest, UnreachableCluster
        """
        obj = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": _STATE_NAME, "namespace": "kube-system"},
            "data": {
                "source": state.source,
                "destination": self._identity,
                "syncedUntil": state.synced_until,
                "syncedLast": " ".join(state.synced_last),
            },
        }
        path = f"{_STATE}/{_STATE_NAME}"
        try:
            await self._connection.write("PUT", path, msgspec.json.encode(obj))
        except RejectedRequest as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise
            await self._connection.write("POST", _STATE, msgspec.json.encode(obj))

    async def report(self, status: SyncStatus) -> bool:
        """Report the state of the sync; return whether the destination takes reports.

        A server that is not podwright's takes none.
        """
        if not self._takes_reports:
            return False
        try:
            reply = await self._connection.write("PUT", _REPORT, msgspec.json.encode(status))
            if msgspec.json.decode(reply, type=SyncRequest).check:
                self.check_due.set()
        except UnreachableCluster:
            return True
        except RejectedRequest as error:
            self._takes_reports = error.status in _PASSING
            if error.status != HTTPStatus.NOT_FOUND:
                self.last_error = str(error)
        return self._takes_reports

    def executes_together(self, operations: Iterable[Operation]) -> bool:
        """Whether one request can execute all these operations, as far as is known."""
        return self.takes_several and not any(map(is_separate, operations))

    async def execute_in_order(self, operations: Sequence[Operation]) -> None:
        """Execute operations one after the other, in few requests if the destination can."""
        together: list[Operation] = []
        for operation in operations:
            if self.takes_several and not is_separate(operation):
                together.append(operation)
                continue
            await self._execute_together(together)
            together = []
            await self.execute(operation)
        await self._execute_together(together)

    async def _execute_together(self, operations: Sequence[Operation]) -> None:
        if not operations:
            return
        body = msgspec.json.encode(Writes([write_of(each) for each in operations]))
        try:
            found = await self._connection.write("POST", WRITES, body)
        except (RejectedRequest, UnreachableCluster) as error:
            if isinstance(error, RejectedRequest) and error.status in _UNKNOWN_PATH:
                self.takes_several = False
            # Those that were executed are not executed twice: objects are there, or gone.
            for operation in operations:
                await self.execute(operation)
            return
        replies = msgspec.json.decode(found, type=WriteReplies).replies
        for operation, reply in zip(operations, replies, strict=True):
            if not self._is_done(operation, reply):
                await self.execute(operation)

    def _is_done(self, operation: Operation, reply: WriteReply) -> bool:
        """Count an operation that was executed with others; return whether nothing is left."""
        if reply.status == HTTPStatus.NOT_FOUND and not isinstance(operation, Create):
            self.done["absent"] += 1
            return True
        if reply.status >= HTTPStatus.BAD_REQUEST:
            return False
        self.done[_DONE[type(operation)]] += 1
        return True

    async def execute(self, operation: Operation) -> None:
        """Execute an operation, again and again while the destination does not answer.

        A rejection is counted, and executed again by `retry`.
        """
        backoff = Backoff(0)
        while True:
            try:
                await self._execute(operation)
            except UnreachableCluster as error:
                self.last_error = str(error)
            except RejectedRequest as error:
                if error.status not in _PASSING:
                    self._note_rejected(operation, error)
                    return
            else:
                return
            await asyncio.sleep(backoff.next_ns() / 1e9)

    def _note_rejected(self, operation: Operation, error: RejectedRequest) -> None:
        kind = operation.kind
        place = (kind.name, operation.key)
        self.rejected.setdefault(place, []).append(operation)
        if place in self._retried:
            return
        self.last_error = str(error)
        if error.status == HTTPStatus.NOT_FOUND and kind.is_group and not kind.definition:
            self.last_error += f"; a destination with groups is started with {_GROUPS}"
        reason = kind.kind, error.reason or str(error.status)
        self.errors[reason] += 1
        if self.errors[reason] == 1:
            self._on_rejected(f"{self.name}: {kind.name} {operation.key}: {self.last_error}")

    def supersede(self, resource: str, key: str) -> bool:
        """Drop what was rejected of an object, which has changed; return whether there was some."""
        self._retried.discard((resource, key))
        return self.rejected.pop((resource, key), None) is not None

    async def retry(self) -> None:
        """Execute again what was rejected: a namespace may be there now, or a right be given."""
        rejected, self.rejected = self.rejected, {}
        self._retried |= rejected.keys()
        for operations in rejected.values():
            for operation in operations:
                await self.execute(operation)
        self._retried &= self.rejected.keys()

    async def _execute(self, operation: Operation) -> None:
        match operation:
            case Create():
                await self._create(operation)
            case Settle():
                await self._settle(operation)
            case BindPod():
                await self._bind(operation)
            case AllocateClaim():
                await self._allocate_claim(operation)
            case AllocateExtended():
                await self._allocate_extended(operation)
            case Delete(kind, key):
                body = msgspec.json.encode(NOW) if kind.resource == "pods" else b""
                await self._if_present("DELETE", path_of(kind, key), body, done="deleted")

    async def _bind(self, operation: BindPod) -> None:
        write = write_of(operation)
        try:
            await self._if_present(write.method, write.path, bytes(write.body), done=_DONE[BindPod])
        except RejectedRequest as error:
            if error.status != HTTPStatus.CONFLICT:
                raise
            present = await self._present(path_of(operation.kind, operation.key)) or {}
            if present.get("spec", {}).get("nodeName") != operation.node:
                raise
            self.done[_DONE[BindPod]] += 1  # by an attempt whose reply was lost

    async def _create(self, operation: Create) -> None:
        kind, obj = operation.kind, operation.obj
        if kind.resource == "persistentvolumes":
            obj = await self._with_claim(obj)
        body = msgspec.json.encode(obj)
        path = kind.path(obj["metadata"].get("namespace", ""))
        try:
            try:
                reply = await self._connection.write("POST", path, body)
            except RejectedRequest as error:
                if error.status != HTTPStatus.CONFLICT:
                    raise
                # Finalizers may hold an object of the same name that was deleted before.
                if not await self._is_gone(kind, operation.key):
                    raise
                reply = await self._connection.write("POST", path, body)
        except RejectedRequest as error:
            if error.status != HTTPStatus.CONFLICT:
                raise
            await self._settle_present(operation, error)
            return
        self.done["created"] += 1
        if kind.resource == "nodes":
            # Admission taints new nodes as not ready; at the source that was taken back.
            await self._settle(operation.settling(msgspec.json.decode(reply)))

    async def _settle_present(self, operation: Create, error: RejectedRequest) -> None:
        """Settle what is there already: what every cluster has, and what a lost reply created."""
        kind = operation.kind
        present = await self._present(path_of(kind, operation.key))
        if present is None or "deletionTimestamp" in present["metadata"]:
            raise error
        here = source_uid(present)
        is_copy = here is not None and here == source_uid(operation.obj)
        is_brought_along = here is None and kind.resource in BROUGHT_ALONG
        if not (is_copy or is_brought_along):
            raise error
        self.done["created"] += here is not None
        await self._settle(operation.settling(present))
        node = operation.obj.get("spec", {}).get("nodeName")
        if kind.resource == "pods" and node and not present["spec"].get("nodeName"):
            # What was rejected of it may have been its binding.
            await self._bind(BindPod(kind, operation.key, node))

    async def compare(self, operation: Settle) -> tuple[Document, Settlement] | None:
        """Return an object of the destination and what it should be; None if it is not there.

        Raises
        ------
        RejectedRequest, UnreachableCluster
        """
        kind = operation.kind
        present = operation.present
        if present is None:
            present = await self._present(path_of(kind, operation.key))
        if present is None:
            return None
        if kind.resource == "persistentvolumes":
            operation = msgspec.structs.replace(
                operation, obj=await self._with_claim(operation.obj)
            )
        return present, operation.settled(present)

    async def _settle(self, operation: Settle) -> None:
        """Bring an object to the state of the source; an absent one is created, but for pods."""
        for attempts_left in reversed(range(_ATTEMPTS)):
            found = await self.compare(operation)
            if found is None:
                if operation.kind.resource == "pods":
                    self.done["absent"] += 1
                    return
                await self._create(Create(operation.kind, operation.key, operation.obj))
                return
            present, settlement = found
            self._count_kept(operation, settlement)
            try:
                for number, write in enumerate(settling_writes(operation, settlement, present)):
                    await self._connection.write(
                        write.method, write.path, bytes(write.body), content_type=write.content_type
                    )
                    self.done["statuses" if number else "updated"] += 1
            except RejectedRequest as error:
                if await self._is_replaced(operation, present, error.status):
                    await self._replace(operation, present)
                    return
                is_changed = error.status in (HTTPStatus.CONFLICT, HTTPStatus.NOT_FOUND)
                if not is_changed or not attempts_left:
                    raise
                operation = msgspec.structs.replace(operation, present=None)
            else:
                return

    async def _is_replaced(self, operation: Settle, present: Document, status: int) -> bool:
        """Whether an object is replaced, since a field that differs cannot be changed."""
        is_invalid = status == HTTPStatus.UNPROCESSABLE_ENTITY
        if operation.kind.resource != "pods":
            return is_invalid and operation.kind.resource not in _UNCHANGED
        node = present["spec"].get("nodeName")
        if not node:
            return is_invalid
        if operation.node or status != HTTPStatus.FORBIDDEN:
            return False
        # It waits at the source, and was placed here on a node that is gone: nothing can resize it.
        return await self._present(path_of(source_kinds(["nodes"])[0], node)) is None

    def _count_kept(self, operation: Settle, settlement: Settlement) -> None:
        if operation.kind.resource == "pods":
            fields = (each.path for each in settlement.kept)
            changed = any(not each.startswith(("spec.nodeName", "status")) for each in fields)
            self.done["ignored"] += changed
        elif settlement.kept and operation.kind.resource != "nodes":
            self.done["claims"] += 1

    async def _replace(self, operation: Settle, present: Document) -> None:
        """Delete an object and create it, since a field that differs cannot be changed."""
        path = path_of(operation.kind, operation.key)
        options: Document = {"preconditions": {"uid": present["metadata"]["uid"]}}
        obj = operation.obj
        if operation.kind.resource == "pods":
            options |= NOW
            spec = {k: v for k, v in obj["spec"].items() if k != "nodeName"}
            obj = {**obj, "spec": spec}
        await self._if_present("DELETE", path, msgspec.json.encode(options), done="deleted")
        await self._create(Create(operation.kind, operation.key, obj, operation.policies))

    async def pod_changed(self, key: str, *, is_gone: bool) -> None:
        """Allocate what waits for the claims of a pod, which the destination has changed."""
        waiting = self._waiting.pop(key, {})
        for operation in () if is_gone else tuple(waiting.values()):
            await self.execute(operation)

    async def _allocate_claim(self, operation: AllocateClaim) -> None:
        namespace = operation.key.rpartition("/")[0]
        key = f"{namespace}/{operation.pod}"
        # Before the pod is read: its next change may be delivered before the reply.
        self._waiting.setdefault(key, {})[operation.entry] = operation
        is_waiting = False
        try:
            pod = await self._present(source_kinds(["pods"])[0].path(namespace, operation.pod))
            if pod is None:
                self.done["absent"] += 1
            elif pod["spec"].get("nodeName") in (None, operation.node):
                name = claims_of(pod).get(operation.entry)
                # The controller of claims may not have made it yet.
                is_waiting = not name
                if name:
                    await self._allocate(operation.kind.path(namespace, name), operation.obj, pod)
        finally:
            if not is_waiting and key in self._waiting:
                self._waiting[key].pop(operation.entry, None)
                if not self._waiting[key]:
                    del self._waiting[key]

    async def _allocate(self, path: str, source: Document, pod: Document) -> None:
        """Give the claim of a path the devices of a claim of the source."""
        claim = await self._present(path)
        if claim is None or has_devices(claim):
            mine = (claim or {}).get("status", {}).get("allocation")
            self.done["claims"] += mine != source["status"]["allocation"]
            return
        body = msgspec.json.encode(allocated(claim, source, pod))
        if await self._if_present("PUT", path, body):
            await self._if_present("PUT", f"{path}/status", body, done="statuses")

    async def _allocate_extended(self, operation: AllocateExtended) -> None:
        kind, path = operation.kind, path_of(operation.kind, operation.key)
        namespace = operation.key.rpartition("/")[0]
        pod_path = source_kinds(["pods"])[0].path(namespace, operation.pod)
        pod = await self._present(pod_path)
        if pod is None:
            self.done["absent"] += 1
            return
        if extended_status(pod) or pod["spec"].get("nodeName") != operation.node:
            return
        claim = owned(operation.obj, pod)
        if await self._present(path) is None:
            await self._connection.write("POST", kind.path(namespace), msgspec.json.encode(claim))
            self.done["created"] += 1
        await self._if_present("PUT", f"{path}/status", msgspec.json.encode(claim), done="statuses")
        patch = {"status": {"extendedResourceClaimStatus": operation.status}}
        await self._if_present(
            "PATCH", f"{pod_path}/status", msgspec.json.encode(patch), MERGE, done="statuses"
        )

    async def _with_claim(self, volume: Document) -> Document:
        """Return a volume whose claim is that of the destination."""
        spec = volume.get("spec") or {}
        reference = spec.get("claimRef")
        if not reference:
            return volume
        kind = source_kinds(["persistentvolumeclaims"])[0]
        claim = await self._present(kind.path(reference.get("namespace", ""), reference["name"]))
        reference = {k: v for k, v in reference.items() if k not in ("uid", "resourceVersion")}
        if claim is not None:
            reference["uid"] = claim["metadata"]["uid"]
        return {**volume, "spec": {**spec, "claimRef": reference}}

    async def _present(self, path: str) -> Document | None:
        try:
            obj: Document = msgspec.json.decode(await self._connection.get(path))
        except RejectedRequest as error:
            if error.status == HTTPStatus.NOT_FOUND:
                return None
            raise
        return obj

    async def _if_present(
        self,
        verb: Any,
        path: str,
        body: bytes,
        content_type: str = "application/json",
        *,
        done: str = "updated",
    ) -> bool:
        """Send a request; what the destination has deleted stays deleted."""
        try:
            await self._connection.write(verb, path, body, content_type=content_type)
        except RejectedRequest as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise
            self.done["absent"] += 1
            return False
        self.done[done] += 1
        return True

    async def _is_gone(self, kind: SourceKind, key: str) -> bool:
        """Wait shortly for an object that is being deleted; return whether it is gone."""
        for attempt in range(6):
            found = await self._present(path_of(kind, key))
            if found is None:
                return True
            if "deletionTimestamp" not in found["metadata"]:
                return False
            await asyncio.sleep(0.02 * 2**attempt)
        return False


_UNCHANGED: Final = frozenset({
    "namespaces", "nodes", "persistentvolumes", "persistentvolumeclaims", "resourceclaims",
})  # fmt: skip
"""Kinds whose objects others depend on: they are not replaced."""
