"""The stream of the state of nodes and queue."""

import asyncio
import contextlib
import json
from typing import Any

import pytest
from tests.waiting import SECONDS_MAX

from podwright.online.apiserver import Application
from podwright.online.apiserver.control.state import StateFeed, _Stream
from podwright.online.apiserver.tests.conftest import cluster_of, pod, with_turns
from podwright.online.apiserver.wire.hosts import AllowedHosts
from podwright.scheduler.machine import SchedulerOptions

pytestmark = pytest.mark.usefixtures("answering")
V1 = "/podwright/v1"
PODS = "/api/v1/namespaces/default/pods"


class Stream:
    """A client of the stream, with the state that it has."""

    def __init__(self, served, last_id="", query=""):
        self.connection = served.connection()
        headers = {"Last-Event-ID": last_id} if last_id else {}
        self.connection.request("GET", f"{V1}/state{query}", headers=headers)
        self.response = self.connection.getresponse()
        self.status = self.response.status
        self.id = ""
        self.fields, self.nodes, self.cells, self.pods = [], [], {}, {}

    def take(self):
        """Apply the next event, and return its kind and data; None at the end."""
        lines = {}
        while line := self.response.readline().decode().rstrip("\n"):
            name, _, text = line.partition(": ")
            lines[name] = text
        if not lines:
            return None
        self.id = lines["id"]
        self.data = data = json.loads(lines["data"])
        self.pods = data["pods"]
        if lines["event"] == "snapshot":
            self.fields, self.nodes = data["fields"], data["nodes"]
            self.cells = {
                (node, field): value
                for field, column in zip(self.fields, data["columns"], strict=True)
                for node, value in zip(self.nodes, column, strict=True)
            }
        else:
            self.fields += data["fields"]
            self.nodes += data["nodes"]
            cells = zip(data["slotIndex"], data["fieldIndex"], data["values"], strict=True)
            for slot, field, value in cells:
                self.cells[self.nodes[slot], self.fields[field]] = value
        return lines["event"], data

    def take_until(self, condition):
        """Apply events until a condition of the state holds; return their kinds."""
        kinds: list[str] = []
        while not condition(self):
            event = self.take()
            assert event is not None, f"the stream ended: {kinds}"
            kinds.append(event[0])
        return kinds


@pytest.fixture
def follow():
    with contextlib.ExitStack() as stack:

        def begin(*args, **keywords):
            stream = Stream(*args, **keywords)
            stack.callback(stream.connection.close)
            return stream

        yield begin


def requesting(name, cpu):
    resources = {"resources": {"requests": {"cpu": cpu}}}
    return pod(name, containers=[{"name": "main", "image": "app", **resources}])


def test_a_stream_begins_with_the_state_and_continues_with_changes(serve, follow):
    served = serve(cluster_of(3))
    stream = follow(served)
    assert stream.response.getheader("content-type") == "text/event-stream"
    kind, data = stream.take()
    assert kind == "snapshot"
    assert list(data) == ["time", "pods", "fields", "nodes", "columns"]
    assert data["time"].startswith("2027-01-15T08:00:0")
    assert len(data["nodes"]) == 3
    assert all(stream.cells[node, "present"] == 1 for node in stream.nodes)
    served.send("POST", PODS, requesting("a", "3"))
    kinds = stream.take_until(lambda has: has.pods["placed"] == 1)
    assert set(kinds) == {"changes"}
    assert stream.data["time"].startswith("2027-01-15T08:00:0")
    assert set(stream.data) == {
        "time", "pods", "fields", "nodes", "slotIndex", "fieldIndex", "values",
    }  # fmt: skip
    assert sorted(stream.cells[node, "requested/cpu"] for node in stream.nodes) == [0, 0, 3000]
    served.send("POST", PODS, requesting("large", "9000"))
    stream.take_until(lambda has: has.pods["unschedulable"] == 1)


def test_nodes_come_go_and_are_cordoned(serve, follow):
    served = serve(cluster_of(1))
    stream = follow(served)
    (name,) = stream.take()[1]["nodes"]
    path = f"/api/v1/nodes/{name}"
    node = served.send("GET", path)[1]
    node["spec"]["unschedulable"] = True
    assert served.send("PUT", path, node)[0] == 200
    stream.take_until(lambda has: has.cells[name, "unschedulable"] == 1)
    status = {"capacity": {"cpu": "8"}, "allocatable": {"cpu": "8", "example.com/gpu": "2"}}
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "new"}, "status": status}
    assert served.send("POST", "/api/v1/nodes", node)[0] == 201
    stream.take_until(lambda has: has.cells.get(("new", "allocatable/example.com/gpu")) == 2)
    assert stream.nodes == [name, "new"]
    served.send("DELETE", path)
    stream.take_until(lambda has: has.cells[name, "present"] == 0)
    assert stream.cells[name, "allocatable/cpu"] == 0


def test_a_client_continues_after_the_last_event_that_it_received(serve, follow):
    served = serve(cluster_of(2))
    other, first = follow(served), follow(served)
    other.take()
    first.take()
    first.connection.close()
    served.send("POST", PODS, requesting("a", "3"))
    other.take_until(lambda has: has.pods["placed"] == 1)
    again = follow(served, last_id=first.id)
    again.fields, again.nodes, again.cells = first.fields, first.nodes, first.cells
    assert again.take()[0] == "changes"
    assert again.cells == other.cells


def test_clients_that_continue_after_one_event_at_different_times_get_what_is_new_by_then(
    serve, follow
):
    served = serve(cluster_of(2))
    other, first = follow(served), follow(served)
    other.take()
    first.take()
    first.connection.close()
    for count, name in enumerate(("a", "b"), 1):
        served.send("POST", PODS, requesting(name, "1"))
        other.take_until(lambda has, count=count: has.pods["placed"] == count)
        again = follow(served, last_id=first.id)
        again.fields, again.nodes, again.cells = first.fields, first.nodes, dict(first.cells)
        assert again.take()[0] == "changes"
        assert (again.id, again.pods["placed"]) == (other.id, count)
        assert again.cells == other.cells


@pytest.mark.parametrize("last_id", ["deadbeef-1", "nonsense", "-"])
def test_what_is_no_state_of_this_server_is_answered_with_all_of_it(serve, follow, last_id):
    stream = follow(serve(cluster_of(2)), last_id=last_id)
    assert stream.take()[0] == "snapshot"


@pytest.mark.parametrize(
    ("version", "kind"),
    [
        ("{}", "changes"),
        ("9{}", "snapshot"),
        ("{}x", "snapshot"),
        pytest.param("9" * 5_000, "snapshot", id="a number too long to be read"),
    ],
)
def test_changes_are_sent_since_a_version_that_there_was(serve, follow, version, kind):
    served = serve(cluster_of(2))
    first = follow(served)
    first.take()
    name, _, number = first.id.partition("-")
    again = follow(served, last_id=f"{name}-{version.format(number)}")
    again.fields, again.nodes, again.cells = first.fields, first.nodes, dict(first.cells)
    assert (again.take()[0], again.id) == (kind, first.id)


def test_a_client_may_leave_when_the_updates_have_ended():
    nothing: Any = None
    feed = StateFeed(nothing, nothing)
    feed.leave(asyncio.Event())
    assert not feed.is_updated


def test_after_a_change_of_the_scheduler_the_state_is_sent_whole(serve, follow):
    served = serve(cluster_of(2))
    stream = follow(served)
    stream.take()

    async def change():
        await served.turns.call(lambda _: served.cluster.change_scheduler(SchedulerOptions()))

    asyncio.run_coroutine_threadsafe(change(), served.loop).result(20)
    served.send("POST", PODS, requesting("a", "3"))
    kinds = stream.take_until(lambda has: has.pods["placed"] == 1)
    assert "snapshot" in kinds


def test_a_stream_that_does_not_follow_ends_after_the_state(serve, follow):
    stream = follow(serve(cluster_of(2)), query="?follow=false")
    assert stream.take()[0] == "snapshot"
    assert stream.take() is None


def test_a_request_for_the_headers_of_the_stream_ends(serve):
    with contextlib.closing(serve(cluster_of(2)).connection()) as connection:
        for _ in range(2):
            connection.request("HEAD", f"{V1}/state")
            response = connection.getresponse()
            assert (response.status, response.read()) == (200, b"")
            assert response.getheader("content-type") == "text/event-stream"


def bound(served, name, node):
    target = {"apiVersion": "v1", "kind": "Node", "name": node}
    body = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": target}
    status, found = served.send("POST", f"{PODS}/{name}/binding", body)
    assert status == 201, found


def test_nodes_are_streamed_while_another_scheduler_schedules_the_pods(serve, follow):
    served = serve(cluster_of(300, has_scheduler=False))
    served.send("POST", PODS, requesting("before", "2"))
    first = served.send("GET", "/api/v1/nodes?limit=1")[1]["items"][0]["metadata"]["name"]
    bound(served, "before", first)
    served.send("POST", PODS, requesting("after", "3"))
    stream = follow(served)
    kind, data = stream.take()
    assert (kind, len(data["nodes"])) == ("snapshot", 300)
    assert data["pods"] == {"pending": 1, "placed": 1}
    assert stream.cells[first, "requested/cpu"] == 2_000
    bound(served, "after", first)
    kinds = stream.take_until(lambda has: has.pods == {"pending": 0, "placed": 2})
    assert set(kinds) == {"changes"}
    assert stream.cells[first, "requested/cpu"] == 5_000
    served.send("DELETE", f"{PODS}/before?gracePeriodSeconds=0")
    stream.take_until(lambda has: has.cells[first, "requested/cpu"] == 3_000)
    served.send("DELETE", f"/api/v1/nodes/{first}")
    stream.take_until(lambda has: has.cells[first, "present"] == 0)


def test_what_only_an_own_scheduler_has_is_not_there_with_another_one(serve):
    served = serve(cluster_of(1, has_scheduler=False))
    served.send("POST", PODS, pod("web"))
    for path in ("queue", "timeline", "decisions", "utilization", "pending"):
        status, problem = served.send("GET", f"{V1}/{path}")
        assert (status, "does not schedule" in problem["detail"]) == (409, True)
    status, problem = served.send("POST", f"{V1}/queue/default/web/move")
    assert (status, "does not schedule" in problem["detail"]) == (409, True)


def test_streams_end_with_the_server(serve, follow):
    served = serve(cluster_of(2))
    stream = follow(served)
    stream.take()
    served.loop.call_soon_threadsafe(served.turns.stop)
    assert stream.take() is None


def test_the_updates_end_with_the_last_client(serve, follow):
    served = serve(cluster_of(2))
    stream = follow(served)
    stream.take()
    assert served.turns._listeners
    stream.connection.close()
    stream.response.close()
    served.send("POST", PODS, requesting("a", "3"))
    while served.turns._listeners:
        assert served.send("GET", f"{V1}/queue")[0] == 200


def test_nothing_waits_for_the_client_of_a_stream_that_has_ended():
    scope = {
        "type": "http", "method": "GET", "path": f"{V1}/state", "query_string": b"follow=false",
        "headers": [(b"host", b"localhost")], "state": {}, "scheme": "http", "http_version": "1.1",
        "raw_path": f"{V1}/state".encode(), "server": ("localhost", 80), "client": None,
        "asgi": {"version": "3.0"}, "root_path": "",
    }  # fmt: skip

    async def use(turns):
        requests = iter([{"type": "http.request", "body": b"", "more_body": False}])
        messages = []

        async def receive():
            return next(requests, None) or await asyncio.Event().wait()

        async def send(message):
            messages.append(message)

        before = asyncio.all_tasks()
        await Application(turns, AllowedHosts())(scope, receive, send)
        for _ in range(20):
            await asyncio.sleep(0)
        return messages[0]["status"], messages[-1], asyncio.all_tasks() - before

    end = {"type": "http.response.body", "body": b""}
    assert with_turns(use) == (200, end, set())


def test_a_defect_of_the_updates_is_logged_and_ends_the_streams(monkeypatch, caplog):
    async def use(turns):
        feed = StateFeed(turns, turns.cluster.schedulers[0])
        monkeypatch.setattr(feed, "_update", lambda _: 1 // 0)
        changed = asyncio.Event()
        feed.join(changed)
        found = [feed.is_updated]
        async with asyncio.timeout(SECONDS_MAX):
            await changed.wait()
        return [*found, feed.is_updated, turns._listeners]

    assert with_turns(use) == [True, False, set()]
    (record,) = caplog.records
    assert "the stream of the state" in record.getMessage()


def test_a_client_that_joins_a_current_state_gets_it_at_once():
    async def use(turns):
        feed = StateFeed(turns, turns.cluster.schedulers[0])
        first, second = asyncio.Event(), asyncio.Event()
        feed.join(first)
        async with asyncio.timeout(SECONDS_MAX):
            await first.wait()
        feed.join(second)
        found = [second.is_set()]
        feed.leave(first)
        found.append(feed.is_updated)
        feed.leave(second)
        return [*found, feed.is_updated]

    assert with_turns(use) == [True, True, False]


def test_clients_that_join_before_there_is_a_state_wait_for_it():
    async def use(turns):
        feed = StateFeed(turns, turns.cluster.schedulers[0])
        for _ in range(2):  # the second time after all have left
            clients = [asyncio.Event(), asyncio.Event()]
            for each in clients:
                feed.join(each)
            assert not any(each.is_set() for each in clients)
            async with asyncio.timeout(SECONDS_MAX):
                for each in clients:
                    await each.wait()
            for each in clients:
                feed.leave(each)

    with_turns(use)


def test_a_stream_ends_when_its_client_leaves_although_nothing_changes():
    class Feed(StateFeed):
        def __init__(self):
            self.clients = []

        def join(self, changed):
            self.clients.append(changed)

        def leave(self, changed):
            self.clients.remove(changed)

    async def receive():
        return {"type": "http.disconnect"}

    async def send(message):
        pass

    feed = Feed()
    stream = _Stream(feed, "", follows=True)
    scope = {"type": "http", "state": {}}
    asyncio.run(asyncio.wait_for(stream(scope, receive, send), SECONDS_MAX))
    assert feed.clients == []
