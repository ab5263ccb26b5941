"""A reflector on a small HTTP server that cuts connections and forgets versions."""

from __future__ import annotations

import asyncio
import json
import time
from contextlib import nullcontext

import pytest
from aiohttp import web
from tests.http_servers import serving_all_paths
from tests.waiting import SECONDS_MAX

from podwright.online.client.cluster import (
    ClusterAddress,
    ReadConnection,
    Reflector,
    RejectedRequest,
    UnreachableCluster,
    reflector as reflector_of_client,
)
from podwright.online.client.cluster.list_watch import (
    GetPage,
    ListWatch,
    Page,
    WatchFailed,
    _ListMeta,
)


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch):
    """Let no test wait as long as a reflector does after a failure."""
    real = asyncio.sleep
    monkeypatch.setattr(asyncio, "sleep", lambda seconds: real(min(seconds, 0.01)))


def obj(name, version):
    meta = {"name": name, "uid": name, "resourceVersion": str(version)}
    return {"metadata": meta}


def line(kind, body):
    return json.dumps({"type": kind, "object": body}).encode() + b"\n"


def followed(handler, count, path="/api/v1/nodes", **options):
    """Return the first changes that a reflector yields, and its failures."""

    options.setdefault("streams", False)

    async def run():
        seen = []
        async with (
            serving_all_paths(handler) as server,
            ReadConnection(ClusterAddress(server=server)) as one,
        ):
            reflector = Reflector(one, path, **options)
            async for batch in reflector.batches():
                seen += [(each.event, each.meta.name) for each in batch.changes]
                if len(seen) >= count:
                    return seen, reflector
        raise AssertionError("a reflector has no end")

    return asyncio.run(asyncio.wait_for(run(), SECONDS_MAX))


def test_a_cut_watch_continues_and_a_forgotten_version_is_listed_again():
    requests = []

    async def handler(request):
        query = request.query
        requests.append(query.get("resourceVersion", "list"))
        if "watch" not in query:
            objects = [obj("a", 1)] if len(requests) == 1 else [obj("b", 7)]
            body = {"metadata": {"resourceVersion": str(len(requests))}, "items": objects}
            return web.json_response(body)
        response = web.StreamResponse()
        await response.prepare(request)
        match requests.count("list"), query["resourceVersion"]:
            case 1, "1":
                await response.write(line("MODIFIED", obj("a", 2)))
                request.transport.abort()
            case 2, "2":
                await response.write(line("ERROR", {"code": 410, "message": "too old"}))
            case _:
                await response.write(line("ADDED", obj("c", 8)))
        return response

    seen, reflector = followed(handler, 5)
    assert seen == [
        ("Add", "a"), ("Update", "a"), ("Delete", "a"), ("Add", "b"), ("Add", "c"),
    ]  # fmt: skip
    # The second one is for the version of the server.
    assert requests[:5] == ["list", "1", "list", "2", "list"]
    assert reflector.failures == 2


def test_a_server_whose_state_was_restored_is_listed_again():
    requests = []

    async def handler(request):
        query = request.query
        requests.append(query.get("resourceVersion") or query["limit"])
        is_restored = len(requests) > 2
        if "watch" not in query:
            version, name = ("3", "b") if is_restored else ("9", "a")
            body = {"metadata": {"resourceVersion": version}, "items": [obj(name, version)]}
            return web.json_response(body)
        response = web.StreamResponse()
        await response.prepare(request)
        if is_restored:
            await response.write(line("ADDED", obj("c", 4)))
        else:
            request.transport.abort()
        return response

    failures: list[Exception] = []
    seen, reflector = followed(handler, 4, on_failure=failures.append)
    assert seen == [("Add", "a"), ("Delete", "a"), ("Add", "b"), ("Add", "c")]
    assert requests == ["500", "9", "1", "500", "3"]
    assert str(failures[1]) == (
        "the version of the server is 3, after 9 was seen: its state was restored or lost"
    )
    assert reflector.behind_since is None


@pytest.mark.parametrize(("path", "is_restored"), [
    ("/api/v1/namespaces/team/pods", True), ("/apis/apps/v1/replicasets", False),
    ("/apis/added.io/v1/things", False),
])  # fmt: skip
def test_the_versions_of_a_group_that_another_server_adds_are_its_own(path, is_restored):
    connection = ReadConnection(ClusterAddress(server="http://a"))
    seen_before = Reflector(connection, "/api/v1/nodes", streams=False).state
    state = Reflector(connection, path, streams=False).state
    for each, version in ((seen_before, "900"), (state, "3")):
        each.page(Page(metadata=_ListMeta(resourceVersion=version)))
    state.opened()
    state.lasted()
    state.failed(0)
    assert state.next_request() == GetPage("", 1)
    page = Page(metadata=_ListMeta(resourceVersion="3"))
    with pytest.raises(WatchFailed) if is_restored else nullcontext():
        state.page(page)


@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize("ending", [
    pytest.param(b"<html>bad gateway</html>\n", id="what is no event"),
    pytest.param(line("ADDED", {"kind": "Node"}), id="an object without metadata"),
    pytest.param(line("ERROR", {"code": 410}), id="a version that is gone"),
    pytest.param(line("ERROR", {"code": 500}), id="an error"),
])  # fmt: skip
def test_events_that_arrive_together_with_a_failure_are_delivered(ending, streams):
    watches = 0

    async def handler(request):
        nonlocal watches
        objects = [obj("a", 1), *([obj("b", 2)] if watches else [])]
        meta = {"resourceVersion": str(1 + bool(watches))}
        if "watch" not in request.query:
            return web.json_response({"metadata": meta, "items": objects})
        events = [line("ADDED", obj("c", 3))] if watches else [line("ADDED", obj("b", 2)), ending]
        if "sendInitialEvents" in request.query:
            end = {"metadata": meta | {"annotations": {"k8s.io/initial-events-end": "true"}}}
            events = [*(line("ADDED", each) for each in objects), line("BOOKMARK", end), *events]
        watches += 1
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"".join(events))
        return response

    seen, _ = followed(handler, 3, streams=streams)
    assert seen == [("Add", "a"), ("Add", "b"), ("Add", "c")]


@pytest.mark.parametrize(("lasting_seconds", "failures"), [(0.0, 0), (60.0, 1)])
def test_a_watch_that_a_proxy_cut_after_some_time_is_no_failure_to_report(
    monkeypatch, lasting_seconds, failures
):
    monkeypatch.setattr(reflector_of_client, "LASTING_SECONDS", lasting_seconds)
    reported: list[Exception] = []
    watches = 0

    async def handler(request):
        nonlocal watches
        if "watch" not in request.query:
            meta = {"resourceVersion": str(watches + 1)}
            return web.json_response({"metadata": meta, "items": []})
        watches += 1
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(line("ADDED", obj("a" if watches == 1 else "b", watches + 1)))
        if watches == 1:
            request.transport.abort()
        return response

    seen, reflector = followed(handler, 2, on_failure=reported.append)
    assert seen == [("Add", "a"), ("Add", "b")]
    assert len(reported) == failures
    assert (reflector.failures, reflector.behind_since) == (1, None)


def test_the_first_request_is_repeated_unless_the_reflector_gives_up():
    count = 0

    async def handler(request):
        nonlocal count
        count += 1
        if count <= 2:  # aiohttp repeats a request once
            request.transport.abort()
            raise web.HTTPInternalServerError
        return web.json_response({"metadata": {"resourceVersion": "1"}, "items": [obj("a", 1)]})

    assert followed(handler, 1, gives_up=False)[0] == [("Add", "a")]
    count = 0
    with pytest.raises(UnreachableCluster, match="cut"):
        followed(handler, 1)


def test_the_first_list_may_be_refused_for_good_and_a_later_one_not():
    requests: list[str] = []

    async def handler(request):
        requests.append("watch" if "watch" in request.query else "list")
        if request.path.endswith("pods") or len(requests) in (2, 3):
            return web.json_response({"message": "no", "reason": "Forbidden"}, status=403)
        version = str(len(requests))
        if requests[-1] == "list":
            items = [obj("a", version)]
            return web.json_response({"metadata": {"resourceVersion": version}, "items": items})
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(line("MODIFIED", obj("a", version)))
        return response

    assert followed(handler, 2)[0] == [("Add", "a"), ("Update", "a")]
    assert requests[:4] == ["list", "watch", "watch", "watch"]
    with pytest.raises(RejectedRequest):
        followed(handler, 1, path="/api/v1/pods")


def test_lines_that_arrive_in_halves_are_joined():
    async def handler(request):
        if "watch" not in request.query:
            return web.json_response({"metadata": {"resourceVersion": "1"}, "items": []})
        response = web.StreamResponse()
        await response.prepare(request)
        sent = line("ADDED", obj("a", 2)) + line("ADDED", obj("b", 3))
        for begin in range(0, len(sent), 50):
            await response.write(sent[begin : begin + 50])
            await asyncio.sleep(0.01)
        return response

    seen, reflector = followed(handler, 2)
    assert seen == [("Add", "a"), ("Add", "b")]
    assert reflector.failures == 0


def test_selectors_are_sent_with_each_request():
    queries: list[dict[str, str]] = []

    async def handler(request):
        queries.append(dict(request.query))
        if "watch" in request.query:
            response = web.StreamResponse()
            await response.prepare(request)
            await response.write(line("ADDED", obj("b", 8)))
            return response
        token = "" if "continue" in request.query else "more"
        metadata = {"resourceVersion": "7", "continue": token}
        items = [] if token else [obj("a", 7)]
        return web.json_response({"metadata": metadata, "items": items})

    followed(handler, 2, query={"labelSelector": "x"})
    assert [each["labelSelector"] for each in queries] == ["x"] * 3
    assert [each.get("continue") for each in queries] == [None, "more", None]
    assert queries[2]["resourceVersion"] == "7"


def test_a_server_that_demands_a_wait_gets_it(monkeypatch):
    waits: list[float] = []
    real = ListWatch.failed

    def failed(self, status, *, retry_after_seconds=0.0):
        waits.append(retry_after_seconds)
        real(self, status)

    monkeypatch.setattr(ListWatch, "failed", failed)

    async def handler(_):
        if not waits:
            return web.json_response({}, status=429, headers={"retry-after": "3"})
        return web.json_response({"metadata": {"resourceVersion": "1"}, "items": [obj("a", 1)]})

    followed(handler, 1)
    assert waits == [3.0]


@pytest.mark.parametrize("status", [400, 406, 422])
def test_a_server_that_does_not_stream_lists_is_read_in_pages(status):
    failures: list[Exception] = []

    async def handler(request):
        if "sendInitialEvents" in request.query:
            return web.json_response({"message": "not streamed"}, status=status)
        return web.json_response({"metadata": {"resourceVersion": "1"}, "items": [obj("a", 1)]})

    seen, reflector = followed(handler, 1, streams=True, on_failure=failures.append)
    assert seen == [("Add", "a")]
    assert (reflector.failures, failures) == (0, [])


def test_a_streamed_list_that_is_cut_is_a_failure_until_a_list_is_whole():
    failures: list[Exception] = []

    async def handler(request):
        response = web.StreamResponse()
        await response.prepare(request)
        if "sendInitialEvents" in request.query:
            await response.write(line("ADDED", obj("a", 1)))
            if len(failures) == 2:
                annotations = {"k8s.io/initial-events-end": "true"}
                end = {"metadata": {"resourceVersion": "2", "annotations": annotations}}
                await response.write(line("BOOKMARK", end))
                await response.write(line("ADDED", obj("b", 3)))
        return response

    seen, reflector = followed(handler, 2, streams=True, on_failure=failures.append)
    assert seen == [("Add", "a"), ("Add", "b")]
    assert (reflector.failures, len(failures)) == (2, 2)
    assert reflector.behind_since is None


def test_a_reflector_is_behind_since_the_first_of_several_failures(monkeypatch):
    times: list[float | None] = []

    async def handler(_):
        if len(times) < 3:
            raise web.HTTPInternalServerError
        return web.json_response({"metadata": {"resourceVersion": "1"}, "items": [obj("a", 1)]})

    real = Reflector._failed

    def failed(self, *arguments):
        real(self, *arguments)
        times.append(self.behind_since)

    monkeypatch.setattr(Reflector, "_failed", failed)
    before = time.monotonic()
    _, reflector = followed(handler, 1)
    assert len(times) == 3
    assert times[0] is not None
    assert before <= times[0] <= time.monotonic()
    assert set(times) == {times[0]}
    assert reflector.behind_since is None


def test_a_reflector_is_behind_until_it_has_a_whole_streamed_list():
    behind: list[float | None] = []

    async def handler(request):
        if not behind:
            raise web.HTTPInternalServerError
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(line("ADDED", obj("a", 1)))
        if len(behind) > 1:
            meta = {"resourceVersion": "1", "annotations": {"k8s.io/initial-events-end": "true"}}
            await response.write(line("BOOKMARK", {"metadata": meta}))
        return response

    async def run():
        async with (
            serving_all_paths(handler) as server,
            ReadConnection(ClusterAddress(server=server)) as one,
        ):
            reflector = Reflector(
                one,
                "/api/v1/nodes",
                on_failure=lambda _: behind.append(reflector.behind_since),
                gives_up=False,
            )
            async for batch in reflector.batches():
                return batch.is_synced, reflector.behind_since
        raise AssertionError("a reflector has no end")

    assert asyncio.run(asyncio.wait_for(run(), SECONDS_MAX)) == (True, None)
    first, second = behind
    assert first is not None
    assert first == second


def test_a_reflector_is_behind_until_it_has_all_pages():
    behind: list[float | None] = []

    async def handler(request):
        token = request.query.get("continue", "")
        if not behind:
            raise web.HTTPInternalServerError
        number = int(token or 1)
        meta = {"resourceVersion": "1"} | ({"continue": str(number + 1)} if number < 3 else {})
        return web.json_response({"metadata": meta, "items": [obj(f"n{number}", 1)]})

    async def run():
        async with (
            serving_all_paths(handler) as server,
            ReadConnection(ClusterAddress(server=server)) as one,
        ):
            reflector = Reflector(
                one,
                "/api/v1/nodes",
                streams=False,
                on_failure=lambda _: behind.append(reflector.behind_since),
                on_page=lambda _: behind.append(reflector.behind_since),
            )
            async for batch in reflector.batches():
                return [each.meta.name for each in batch.changes if batch.is_synced]
        raise AssertionError("a reflector has no end")

    assert asyncio.run(asyncio.wait_for(run(), SECONDS_MAX)) == ["n1", "n2", "n3"]
    failed, *pages, last = behind
    assert failed is not None
    assert (pages, last) == ([failed, failed], None)


def test_the_pauses_of_a_reflector_are_those_of_seed_0_by_default():
    connection = ReadConnection(ClusterAddress(server="http://a"))

    def pauses(state):
        for _ in range(3):
            state.failed(500)
            yield state.next_request()
            state.next_request()

    found, expected, other = (
        list(pauses(state))
        for state in (Reflector(connection, "/x").state, ListWatch(seed=0), ListWatch(seed=1))
    )
    assert found == expected != other


def test_a_reflector_does_not_give_up_once_the_server_has_replied():
    count = 0

    async def handler(request):
        nonlocal count
        count += 1
        if 1 < count <= 3:  # aiohttp repeats a request once
            request.transport.abort()
            raise web.HTTPInternalServerError
        token = "more" if count == 1 else ""
        metadata = {"resourceVersion": "1", "continue": token}
        return web.json_response({"metadata": metadata, "items": [obj(f"n{count}", 1)]})

    seen, reflector = followed(handler, 1)
    assert seen == [("Add", "n1"), ("Add", "n4")]
    assert reflector.failures == 1


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308, 400, 401, 403, 404, 405, 500])
def test_a_first_list_is_given_up_where_no_later_attempt_changes_the_answer(status):
    count = 0

    async def handler(_):
        nonlocal count
        count += 1
        if count <= (2 if status == 401 else 1):  # which is asked for again at once
            return web.json_response({"message": "no"}, status=status)
        return web.json_response({"metadata": {"resourceVersion": "1"}, "items": [obj("a", 1)]})

    if status != 500:
        with pytest.raises(RejectedRequest):
            followed(handler, 1)
    else:
        assert followed(handler, 1)[0] == [("Add", "a")]


@pytest.mark.parametrize("body", [b"<html>log in</html>", b"[]", b'{"items": []}'])
def test_a_first_reply_that_is_something_else_ends_with_the_reason(body):
    async def handler(_):
        return web.Response(body=body)

    with pytest.raises(
        UnreachableCluster, match="/api/v1/nodes is not from a Kubernetes API server: "
    ):
        followed(handler, 1)


@pytest.mark.parametrize("text", [b"<html>\n", b"{}\n", b'{"type": "ADDED", "object": {}}\n'])
def test_a_watch_with_something_else_continues_with_another_one(text):
    """Upstream: staging/src/k8s.io/apimachinery/pkg/watch/streamwatcher.go, `receive`."""
    watches = 0

    async def handler(request):
        nonlocal watches
        if "watch" not in request.query:
            return web.json_response({"metadata": {"resourceVersion": "1"}, "items": [obj("a", 1)]})
        watches += 1
        body = text if watches == 1 else line("ADDED", obj("b", 2))
        return web.Response(body=body)

    seen, reflector = followed(handler, 2)
    assert (seen, reflector.failures) == ([("Add", "a"), ("Add", "b")], 1)
