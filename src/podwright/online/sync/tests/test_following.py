"""The order in which a destination gets changes, and in how many requests."""

import asyncio
import time
from typing import Any

import pytest
from aiohttp import web
from tests.http_servers import serving_all_paths

from podwright.apimachinery.objects import Document
from podwright.online.client import SyncPolicies
from podwright.online.client.cluster import (
    Batch,
    ChangedObject,
    ClusterAddress,
    Meta,
    UnreachableCluster,
)
from podwright.online.sync.following import UNTRIED_SECONDS, Destination, Lag, note_placements
from podwright.online.sync.mirror import Mirror
from podwright.online.sync.operations import AllocateClaim, Create
from podwright.online.sync.placements import Placements
from podwright.online.sync.source import ChangeGroup, SourceChange
from podwright.online.sync.source_kinds import source_kinds
from podwright.online.sync.target import Target
from podwright.online.sync.tests.source_changes import change

WRITES = "/podwright/v1/writes"


class Server:
    """A destination that answers a request after others that were sent have arrived.

    Parameters
    ----------
    takes_several : bool
        Whether it has the endpoint of podwright for several writes.
    busy : sequence of str
        Pods whose first write is rejected, to be repeated.
    status : int
        Of such a rejection.
    absent : sequence of str
        Pods that it deletes as soon as they are created.
    """

    def __init__(self, *, takes_several=False, busy=(), status=429, absent=()):
        self.written: list[str] = []
        self.requests: list[str] = []
        self.has_ended = asyncio.Event()
        self.release = asyncio.Event()
        self.saved: dict[str, str] = {}
        self._takes_several = takes_several
        self._busy = set(busy)
        self._status = status
        self._absent = absent

    async def write(self, request: web.Request) -> web.Response:
        self.requests.append(request.path)
        body = await request.json() if request.can_read_body else {}
        if request.path == WRITES and not self._takes_several:
            return web.json_response({"message": "not found"}, status=404)
        if request.path == WRITES:
            if "stuck" in str(body):
                self.has_ended.set()
                await self.release.wait()
            replies = [self._reply(**each) for each in body["writes"]]
            return web.json_response({"replies": replies})
        if request.path.endswith("/podwright-sync"):
            self.saved = body["data"]
        # Of requests side by side, the later ones are answered first.
        await asyncio.sleep(0.1 / len(self.requests))
        reply = self._reply(request.method, request.path, body)
        return web.json_response(reply["body"], status=reply["status"])

    def _reply(self, method, path, body=None, **_):
        name = body["metadata"]["name"] if method == "POST" else path.rpartition("/")[2]
        if name in self._busy:
            self._busy.discard(name)
            return {"status": self._status, "body": {"message": "later"}}
        if name in self._absent and method != "POST":
            return {"status": 404, "body": {"message": "not found"}}
        if name == "end":
            self.has_ended.set()
        else:
            self.written.append(f"{method} {name}")
        return {"status": 200, "body": {"metadata": {"name": name}}}


async def _save_meanwhile(server, *groups):
    """Save the state while the destination does not answer."""
    async with (
        serving_all_paths(server.write) as address,
        Target(ClusterAddress(server=address), "here") as target,
    ):
        destination = Destination(target, Mirror(SyncPolicies()), 1)
        for changes in groups:
            destination.put(ChangeGroup(changes, is_end=not changes))
        follow = asyncio.create_task(destination.follow())
        await server.has_ended.wait()
        await destination.save_now("source")
        server.release.set()
        follow.cancel()


async def _execute(server, *groups):
    """Return what was done until the first list has ended, which a last group follows."""
    async with (
        serving_all_paths(server.write) as address,
        Target(ClusterAddress(server=address), "here") as target,
    ):
        destination = Destination(target, Mirror(SyncPolicies()), 1)
        for changes in (*groups, [], [change("Add", "end")]):
            destination.put(ChangeGroup(changes, is_end=not changes))
        follow = asyncio.create_task(destination.follow())
        await server.has_ended.wait()
        follow.cancel()
        return dict(target.done)


FIRST = [change("Add", f"p{i}") for i in range(3)]
SECOND = [change("Delete", "p1"), change("Add", "p3"), change("Delete", "p0")]
IN_ORDER = ["POST p0", "POST p1", "POST p2", "DELETE p1", "POST p3", "DELETE p0"]


def test_pods_are_written_in_the_order_of_the_source():
    server = Server()
    asyncio.run(_execute(server, FIRST, SECOND))
    assert server.written == IN_ORDER
    # A server that does not take several writes is asked once.
    assert server.requests.count(WRITES) == 1


def test_podwright_gets_many_writes_with_one_request():
    server = Server(takes_several=True)
    asyncio.run(_execute(server, FIRST + SECOND))
    assert server.written == IN_ORDER
    assert server.requests == [WRITES, WRITES]  # the second is that of the last group


@pytest.mark.parametrize("status", [400, 429])
def test_a_rejected_write_of_several_is_repeated_alone(status):
    server = Server(takes_several=True, busy=["p1"], status=status)
    done = asyncio.run(_execute(server, FIRST[:2]))
    assert server.written == ["POST p0", "POST p1"]
    assert server.requests == [WRITES, "/api/v1/namespaces/default/pods", WRITES]
    assert done["created"] == 2


def test_what_the_destination_has_deleted_is_counted():
    server = Server(takes_several=True)
    done = asyncio.run(_execute(server, [*FIRST, *SECOND, change("Delete", "p3")]))
    assert (done["created"], done["deleted"]) == (4, 3)
    server = Server(takes_several=True, absent=["p0"])
    done = asyncio.run(_execute(server, FIRST, SECOND))
    assert (done["created"], done["deleted"], done["absent"]) == (4, 1, 1)


def test_a_pod_is_saved_as_seen_when_it_was_written():
    server = Server(takes_several=True)
    stuck = change("Add", "stuck", uid="u2", created="2030-01-01T00:00:07Z")
    asyncio.run(_save_meanwhile(server, [change("Add", "p0", uid="u1")], [], [stuck]))
    assert server.saved == {
        "source": "source", "destination": "",
        "syncedUntil": "2030-01-01T00:00:05Z", "syncedLast": "u1",
    }  # fmt: skip


class Deleting:
    """A destination that deletes a pod when a test says so."""

    rejected = ()

    def __init__(self):
        self.deletes = asyncio.Event()

    def pods(self):
        return self

    async def batches(self):
        await self.deletes.wait()
        yield Batch([change("Delete", "p0").change], 0, is_synced=True)
        await asyncio.Event().wait()

    async def pod_changed(self, key, *, is_gone):
        pass

    async def check_same(self):
        pass


@pytest.mark.parametrize("turns", range(6))
def test_a_sync_that_ends_while_the_destination_deletes_a_pod_ends(turns):
    async def main() -> None:
        target: Any = Deleting()
        mirror = Mirror(SyncPolicies())
        mirror.take(change("Add", "p0"))
        destination = Destination(target, mirror, 1)
        watching = destination.watch_pods(Placements(2), lambda _: None)
        tasks = [asyncio.create_task(each) for each in (destination.save("source"), watching)]
        await asyncio.sleep(0.01)
        target.deletes.set()
        for _ in range(turns):
            await asyncio.sleep(0)
        for each in tasks:
            each.cancel()
        _, pending = await asyncio.wait(tasks, timeout=5)
        for each in pending:
            each.cancel()
        assert not pending
        assert all(each.cancelled() for each in tasks)

    asyncio.run(main())


class Claims:
    """A destination whose controller makes the claim of a pod after its binding is mirrored."""

    def __init__(self):
        self.pod = {"metadata": {"name": "p", "namespace": "default", "uid": "own"}, "spec": {
            "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "t"}]}}  # fmt: skip
        self.written: list[tuple[str, Document]] = []

    async def answer(self, request: web.Request) -> web.Response:
        if request.method != "GET":
            self.written.append((request.path, await request.json()))
            return web.json_response({})
        is_pod = "/pods/" in request.path
        return web.json_response(self.pod if is_pod else {"metadata": {"name": "made"}})


def test_devices_wait_until_the_claim_is_made():
    server = Claims()
    kind = next(each for each in source_kinds() if each.resource == "resourceclaims")
    allocation = {"devices": {"results": [{"device": "gpu-0"}]}}
    claim = {"metadata": {"name": "p-gpu-x7"}, "status": {"allocation": allocation}}
    operation = AllocateClaim(kind, "default/p-gpu-x7", claim, "p", "n1", "gpu")

    async def execute():
        async with (
            serving_all_paths(server.answer) as address,
            Target(ClusterAddress(server=address), "here") as target,
        ):
            await target.execute(operation)
            await target.pod_changed("default/p", is_gone=False)
            assert server.written == []
            made = [{"name": "gpu", "resourceClaimName": "made"}]
            server.pod["status"] = {"resourceClaimStatuses": made}
            await target.pod_changed("default/other", is_gone=False)
            assert server.written == []
            for _ in range(2):  # the second time nothing is left
                await target.pod_changed("default/p", is_gone=False)

    asyncio.run(execute())
    path = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/made"
    assert [where for where, _ in server.written] == [path, f"{path}/status"]
    assert server.written[1][1]["status"] == {
        "allocation": allocation, "reservedFor": [{"resource": "pods", "name": "p", "uid": "own"}],
    }  # fmt: skip


class Executing:
    """A destination in memory that notes what it is given, and rejects what a test names."""

    def __init__(self, *, together=True):
        self.name = "here"
        self.together = together
        self.rejected: dict[tuple[str, str], Any] = {}
        self.given: list[Any] = []
        self.last_error = ""
        self.changed: list[tuple[str, bool]] = []
        self.batches_of_pods: list[Any] = []
        self.failures: list[Exception] = []

    def executes_together(self, operations):
        return self.together

    async def execute_in_order(self, operations):
        self.given.append([(type(each).__name__, each.key) for each in operations])

    async def execute(self, operation):
        self.given.append((type(operation).__name__, operation.key))

    def supersede(self, resource, key):
        return self.rejected.pop((resource, key), None) is not None

    async def objects(self, kind):
        if self.failures:
            raise self.failures.pop()
        return {}

    async def pod_changed(self, key, *, is_gone):
        self.changed.append((key, is_gone))

    def pods(self):
        return self

    async def batches(self):
        for each in self.batches_of_pods:
            yield Batch([each.change], 0, is_synced=True)


def destination(target: Any, policies: SyncPolicies | None = None) -> Destination:
    return Destination(target, Mirror(policies or SyncPolicies()), 1)


@pytest.mark.parametrize("event", ["Update", "Delete"])
def test_a_change_of_what_was_rejected_is_a_new_attempt(event):
    target = Executing()
    each = destination(target)
    asyncio.run(each._execute([change("Add", "c", kind="runtimeclasses", handler="h")]))
    target.rejected["runtimeclasses", "c"] = []
    asyncio.run(each._execute([change(event, "c", kind="runtimeclasses", handler="h")]))
    # It was not created, so an unchanged object is created; it may be there, so it is deleted.
    expected = "Create" if event == "Update" else "Delete"
    assert target.given == [[("Create", "c")], [(expected, "c")]]


def test_kinds_are_executed_in_their_order_and_pods_in_theirs():
    target = Executing(together=False)
    changes = [
        change("Add", "c", kind="runtimeclasses"), change("Add", "d", kind="runtimeclasses"),
        change("Add", "p"), change("Add", "q", uid="u2"), change("Add", "e", kind="runtimeclasses"),
    ]  # fmt: skip
    asyncio.run(destination(target)._execute(changes))
    assert target.given == [
        ("Create", "c"), ("Create", "d"), [("Create", "default/p"), ("Create", "default/q")],
        ("Create", "e"),
    ]  # fmt: skip
    # Pods that keep their node need no order: no scheduler tries them.
    target = Executing(together=False)
    bound = [change("Add", name, uid=name, node="n1", initial=True) for name in "ab"]
    asyncio.run(destination(target)._execute(bound))
    assert target.given == [("Create", "default/a"), ("Create", "default/b")]


def test_at_most_two_hundred_changes_are_executed_together():
    target = Executing()
    changes = [change("Add", f"p{n}", uid=f"u{n}") for n in range(401)]
    asyncio.run(destination(target)._execute(changes))
    assert [len(each) for each in target.given] == [200, 200, 1]
    target.given.clear()
    kind = changes[0].kind
    asyncio.run(destination(target)._compare(kind, changes))
    assert [len(each) for each in target.given] == [200, 200, 1]


def test_at_most_thirty_two_objects_are_written_side_by_side():
    class Slow(Executing):
        """It notes how many operations are under way."""

        under_way, most = 0, 0

        async def execute(self, operation):
            self.under_way += 1
            self.most = max(self.most, self.under_way)
            await asyncio.sleep(0)
            self.under_way -= 1

    target = Slow(together=False)
    changes = [change("Add", f"c{n}", kind="runtimeclasses") for n in range(70)]
    asyncio.run(destination(target)._execute(changes))
    assert target.most == 32
    # The changes of one object follow each other.
    target.most = 0
    several = [change("Update", "c", kind="runtimeclasses", handler=f"h{n}") for n in range(3)]
    asyncio.run(destination(target)._execute(several))
    assert target.most == 1


def test_a_list_waits_until_the_destination_can_be_read(monkeypatch):
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    target = Executing()
    target.failures = [UnreachableCluster("cut"), UnreachableCluster("cut")]
    first = change("Add", "p")
    asyncio.run(destination(target)._compare(first.kind, [first]))
    assert target.given == [[("Create", "default/p")]]
    assert target.last_error == "cut"
    assert len(waits) == 2
    assert 0.1 < waits[0] < waits[1] < 10


def test_a_state_is_saved_when_all_is_there_and_an_error_is_kept():
    class Saving(Executing):
        """It notes what is saved, and cannot be reached at the second attempt."""

        def __init__(self):
            super().__init__()
            self.saved: list[Any] = []

        async def check_same(self):
            if self.saved:
                raise UnreachableCluster("cut")

        async def save(self, state):
            self.saved.append(state)

    target = Saving()
    each = destination(target)
    asyncio.run(each.save_now("s"))
    assert target.saved == [], "what is not there yet would look deleted"
    each.is_synced = True
    for _ in range(2):
        asyncio.run(each.save_now("s"))
    assert [state.source for state in target.saved] == ["s"]
    assert target.last_error == "cut"


@pytest.mark.parametrize(
    ("is_settled", "together"),
    [
        pytest.param(False, False, id="claims that are created may be at once"),
        pytest.param(True, True, id="devices precede the pods that share them"),
    ],
)
def test_claims_with_devices_are_executed_in_order(is_settled, together):
    target = Executing(together=False)
    kind = next(each for each in source_kinds() if each.resource == "resourceclaims")
    pods = source_kinds(["pods"])[0]
    bound = Create(pods, "default/p", {"metadata": {"name": "p"}, "spec": {"nodeName": "n1"}})
    claim = Create(kind, "default/c", {"metadata": {"name": "c"}, "spec": {}})
    operations = [claim.settling() if is_settled else claim, bound]
    asyncio.run(destination(target)._execute_taken("pods", [(change("Add", "p"), operations)]))
    assert isinstance(target.given[0], list) is together


def test_services_are_read_and_not_written():
    target = Executing()
    target.failures = [UnreachableCluster("it is not read")]
    kind = next(each for each in source_kinds(has_workloads=True) if each.resource == "services")
    body = b'{"metadata": {"name": "s", "namespace": "default"}, "spec": {"selector": {"a": "b"}}}'
    added = ChangedObject("Add", Meta(name="s", namespace="default", uid="s"), body)
    each = destination(target)
    asyncio.run(each._compare(kind, [SourceChange(kind, added, 0)]))
    assert target.given == []
    (created,) = each.mirror.take(change("Add", "p", metadata={"labels": {"a": "b"}}))
    assert "a=b" in str(created)


def unschedulable(**fields):
    conditions = [{"type": "PodScheduled", "reason": "Unschedulable", "status": "False"}]
    return {"status": {"conditions": conditions}, **fields}


def test_the_pods_of_the_destination_are_placed_and_deleted():
    target = Executing()
    each, placements = destination(target), Placements(2)
    reports: list[Any] = []
    for name in ("p", "q", "foreign"):
        placements.put(0, f"default/{name}", "n1")
    each.mirror.take(change("Add", "p"))
    each.mirror.take(change("Add", "q", uid="u2"))
    target.batches_of_pods = [
        change("Add", "p"), change("Update", "p", **unschedulable()),
        change("Update", "q", node="n2"), change("Delete", "foreign"),
    ]  # fmt: skip
    asyncio.run(each.watch_pods(placements, reports.append))
    assert [(found.pod, found.nodes) for found in reports] == [
        ("default/p", ["n1", ""]), ("default/q", ["n1", "n2"])
    ]  # fmt: skip
    assert target.changed == [
        ("default/p", False), ("default/p", False), ("default/q", False), ("default/foreign", True)
    ]  # fmt: skip
    # A pod that sync has not created says nothing about what a later sync must know.
    assert not each._has_deleted.is_set()
    # One with a node is compared with its selector no longer, one without is.
    assert set(each.mirror._waiting["default"]) == {"default/p"}
    target.batches_of_pods = [change("Delete", "q", uid="u2")]
    asyncio.run(each.watch_pods(placements, reports.append))
    assert each._has_deleted.is_set()
    assert [found.pod for found in placements.different()] == ["default/p"]
    assert not placements.is_placed(1, "default/q")


def test_a_scheduler_that_does_not_run_at_the_destination_is_named(monkeypatch):
    target = Executing()
    each, placements = destination(target), Placements(2)
    names = ("p", "q", "tried", "gated", "placed", "gone", "pending")
    for name in names:
        placements.put(0, f"default/{name}", "" if name == "pending" else "n1")
    spec = {"schedulerName": "other"}
    gated = {**spec, "schedulingGates": [{"name": "g"}]}
    target.batches_of_pods = [
        *(change("Add", name, spec=gated if name == "gated" else spec) for name in names),
        change("Update", "tried", **unschedulable(spec=spec)),
        change("Update", "placed", node="n1", spec=spec), change("Delete", "gone"),
    ]  # fmt: skip
    asyncio.run(each.watch_pods(placements, lambda _: None))
    assert each.untried(placements) == {}
    later = time.monotonic() + UNTRIED_SECONDS
    monkeypatch.setattr(time, "monotonic", lambda: later)
    assert each.untried(placements) == {
        (1, "other"): 'here: no scheduler "other" has tried pod default/p, which has a node at the '
        "source; run one there"
    }


def test_the_pods_of_the_source_are_placed_and_deleted():
    placements, reports = Placements(2), list[Any]()
    placements.put(1, "default/p", "n1")
    note_placements(
        [change("Add", "n", kind="nodes"), change("Add", "p"),
         change("Update", "p", node="n1"), change("Update", "p", node="n2")],
        placements, reports.append,
    )  # fmt: skip
    assert [found.nodes for found in reports] == [["n2", "n1"]]
    note_placements([change("Delete", "p")], placements, reports.append)
    assert len(reports) == 1
    assert placements.different() == []
    assert [placements.is_placed(side, "default/p") for side in (0, 1)] == [False, True]
    conditions = [{"type": "Ready", "reason": "Unschedulable"}, {"type": "PodScheduled"}]
    note_placements(
        [change("Add", "p", status={"conditions": conditions})], placements, reports.append
    )
    assert len(reports) == 1, "it was not tried yet"


def test_the_lag_is_that_of_changes_that_were_written_after_the_first_list():
    lag = Lag()
    assert (lag.count, lag.mean_ns, lag.last_ns, lag.longest_ns) == (0, 0, 0, 0)
    for each in (5, 8, 2):
        lag.add(each)
    assert (lag.count, lag.last_ns, lag.longest_ns, lag.mean_ns) == (3, 2, 8, 5)
    for together in (True, False):
        one = destination(Executing(together=together))
        first = change("Add", "c", kind="runtimeclasses", handler="h")
        asyncio.run(one._execute([first]))
        assert one.lag.count == 0
        one.is_synced = True
        asyncio.run(one._execute([first]))
        assert one.lag.count == 0, "nothing was written"
        asyncio.run(one._execute([change("Update", "c", kind="runtimeclasses", handler="i")]))
        assert one.lag.count == 1
        assert one.lag.last_ns > 0


@pytest.mark.parametrize("work", ["save", "retry"])
def test_the_state_is_saved_and_what_was_rejected_repeated_every_two_seconds(monkeypatch, work):
    waits: list[Any] = []
    timeout = asyncio.timeout

    def at_once(seconds: float | None) -> asyncio.Timeout:
        waits.append(seconds)
        return timeout(0)

    class Repeating(Executing):
        """It ends the test with the third attempt."""

        async def retry(self) -> None:
            if len(waits) == 3:
                raise EOFError

        async def check_same(self) -> None:
            await self.retry()

    target = Repeating()
    target.rejected["pods", "default/p"] = []
    monkeypatch.setattr(asyncio, "timeout", at_once)
    each = destination(target)
    with pytest.raises(EOFError):
        asyncio.run(each.save("source") if work == "save" else each.follow())
    first = 2.0 if work == "save" else 0.0
    assert waits == [first, pytest.approx(2.0, abs=0.5), pytest.approx(2.0, abs=0.5)]
