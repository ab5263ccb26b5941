"""Long work is done in slices, with the same results."""

import asyncio
import contextlib
import json
from typing import Any

import pytest

from podwright.cluster.api.endpoints import HttpReply, HttpRequest, LongRequest
from podwright.cluster.store import pages
from podwright.online.apiserver import ClusterClock, TurnLoop, turn_loop
from podwright.online.apiserver.tests.conftest import START_NS, cluster_of, pod, request

PODS = "/api/v1/namespaces/default/pods"
COUNT = 250
PARTIAL = ";as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"


@pytest.fixture(scope="module")
def full():
    cluster = cluster_of()
    for number in range(COUNT):
        cluster.handle(request("POST", PODS, pod(f"web-{number:03}")), START_NS)
    return cluster


def in_pages(cluster, accept):
    """Return the list of all pods in pages, none of which has parts."""
    pages: list[dict[str, Any]] = []
    token = ""
    while not pages or token:
        found = listed(cluster, accept, f"limit=50&continue={token}")
        pages.append(json.loads(found))
        token = pages[-1]["metadata"].get("continue", "")
    return pages


def listed(cluster, accept, query=""):
    sent = HttpRequest("GET", PODS, query, {"accept": accept})
    reply = cluster.handle(sent, START_NS)
    assert isinstance(reply, HttpReply)
    return b"".join((reply.body, *(reply.rest or ())))


@pytest.mark.parametrize(
    ("accept", "field"),
    [
        ("application/json", "items"),
        ("application/json;as=Table;v=v1;g=meta.k8s.io", "rows"),
        ("application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io", "items"),
        ("application/yaml", ""),
        ("application/json;pretty=1", "items"),
    ],
)
def test_a_list_in_parts_is_the_whole_list(full, accept, field):
    body = listed(full, accept)
    if not field:
        assert body.count(b"web-") >= COUNT
        return
    found = json.loads(body)
    pages = in_pages(full, accept)
    assert found[field] == [each for page in pages for each in page[field]]
    assert {name: part for name, part in found.items() if name not in (field, "metadata")} == {
        name: part for name, part in pages[0].items() if name not in (field, "metadata")
    }


@pytest.mark.parametrize("as_", ["", ";as=Table;v=v1;g=meta.k8s.io", PARTIAL])
@pytest.mark.parametrize("selector", ["none!=x", "app!=web"])
def test_a_list_with_conditions_that_begins_without_objects(full, monkeypatch, as_, selector):
    monkeypatch.setattr(pages, "EXAMINED_MAX", 20)
    accept = f"application/json{as_}"
    found = listed(full, accept, f"labelSelector={selector}")
    assert found == listed(full, accept, f"labelSelector={selector}&limit=1000")


def test_a_list_shows_one_state_although_objects_change_while_it_is_sent(full):
    reply = full.handle(request("GET", PODS), START_NS)
    assert isinstance(reply, HttpReply)
    assert reply.rest is not None
    created = full.handle(request("POST", PODS, pod("web-later")), START_NS)
    assert isinstance(created, HttpReply)
    assert created.status == 201
    found = json.loads(b"".join((reply.body, *reply.rest)))
    assert len(found["items"]) == COUNT
    full.handle(request("DELETE", f"{PODS}/web-later", query="gracePeriodSeconds=0"), START_NS)


def test_the_deletion_of_a_collection_goes_on_over_many_turns():
    cluster = cluster_of(has_scheduler=False, has_lifecycle=False)
    for number in range(COUNT):
        cluster.handle(request("POST", PODS, pod(f"web-{number:03}")), START_NS)
    begun = cluster.handle(request("DELETE", PODS), START_NS)
    assert isinstance(begun, LongRequest)
    steps = []

    def is_over():
        steps.append(cluster.store.count(("", "Pod")))
        return True

    while (reply := begun.advance(is_over)) is None:
        pass
    assert len(steps) == COUNT
    assert steps == sorted(steps, reverse=True)
    found = json.loads(b"".join((reply.body, *(reply.rest or ()))))
    assert len(found["items"]) == COUNT
    assert cluster.store.count(("", "Pod")) == 0


def test_requests_are_answered_while_a_collection_is_deleted(monkeypatch):
    # A turn deletes one object, however fast the computer is.
    monkeypatch.setattr(turn_loop, "LONG_REQUEST_NS", 0)
    cluster = cluster_of(has_scheduler=False, has_lifecycle=False)
    for number in range(COUNT):
        cluster.handle(request("POST", PODS, pod(f"web-{number:03}")), START_NS)

    async def main():
        turns = TurnLoop(cluster, ClusterClock(start_ns=START_NS))
        running = asyncio.create_task(turns.run())
        deletion = asyncio.create_task(turns.execute(request("DELETE", PODS)))
        counts = []
        while not deletion.done():
            await turns.execute(request("GET", "/api/v1/namespaces/default"))
            counts.append(cluster.store.count(("", "Pod")))
        turns.stop()
        await running
        assert len(set(counts)) > COUNT // 2
        assert counts[-1] == 0

    asyncio.run(main())


def test_a_long_list_is_sent_over_http_and_the_connection_is_kept(serve, full):
    served = serve(full)
    with contextlib.closing(served.connection()) as connection:
        for _ in range(2):
            connection.request("GET", PODS)
            response = connection.getresponse()
            assert len(json.loads(response.read())["items"]) == COUNT


def test_a_watch_with_many_initial_events_ends_them_with_a_bookmark(serve, full):
    served = serve(full)
    query = "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
    with contextlib.closing(served.connection()) as connection:
        connection.request("GET", f"{PODS}?{query}&allowWatchBookmarks=true")
        response = connection.getresponse()
        types = [json.loads(response.readline())["type"] for _ in range(COUNT + 1)]
    assert types == ["ADDED"] * COUNT + ["BOOKMARK"]
