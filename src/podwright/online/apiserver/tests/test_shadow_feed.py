"""The decisions of another scheduler are compared while a cluster is served."""

import asyncio

import pytest
import uvloop

from podwright.online.apiserver import ClusterClock, ShadowFeed, TurnLoop
from podwright.online.apiserver.readers import ReaderFailed
from podwright.online.apiserver.scheduling import shadow_feed
from podwright.online.apiserver.tests.conftest import START_NS, cluster_of, pod, request
from podwright.simulation.shadow import LiveShadow

PODS = "/api/v1/namespaces/default/pods"


async def bound(turns, name, node):
    target = {"apiVersion": "v1", "kind": "Node", "name": node}
    body = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": target}
    for path, sent in ((PODS, pod(name)), (f"{PODS}/{name}/binding", body)):
        assert (await turns.execute(request("POST", path, sent))).status == 201


def compared(use):
    """Return what `use` returns of a feed and the turn loop of a cluster with another scheduler."""
    cluster = cluster_of(2, has_scheduler=False, has_lifecycle=False, has_controllers=False)
    cluster.catch_up(START_NS, lambda: False)

    async def main():
        feed = ShadowFeed(LiveShadow())
        turns = TurnLoop(cluster, ClusterClock(start_ns=START_NS), [feed])
        running = asyncio.create_task(turns.run())
        try:
            return await use(feed, turns)
        finally:
            turns.stop()
            await running

    return uvloop.run(main())


def test_decisions_that_are_final_are_reported_while_it_runs():
    async def use(feed, turns):
        first = await feed.report(turns)
        await bound(turns, "web", "node-0")
        await turns.call(lambda _: None)
        turns.clock.step(3_600_000_000_000)
        return first, await feed.report(turns)

    first, report = compared(use)
    assert first.bindings.total == 0
    assert report.bindings.total == 1


def test_decisions_that_are_left_at_the_end_are_compared_once():
    feeds = []

    async def use(feed, turns):
        feeds.append(feed)
        await bound(turns, "web", "node-0")
        await bound(turns, "second", "node-1")
        await turns.call(lambda _: None)
        return await feed.report(turns)

    assert compared(use).bindings.total < 2
    assert feeds[0].finish().bindings.total == 2
    assert feeds[0].finish().bindings.total == 2


def test_a_reader_that_crashes_does_not_end_the_comparison(monkeypatch):
    monkeypatch.setattr(shadow_feed, "INTERVAL_SECONDS", 0.001)
    defects = []
    monkeypatch.setattr(shadow_feed, "logged_defect", lambda *found: defects.append(found))

    async def use(feed, turns):
        reports, report = [], feed.report

        async def failing(turns):
            reports.append(await report(turns))
            raise ReaderFailed("crashed")

        monkeypatch.setattr(feed, "report", failing)
        keeping = asyncio.create_task(feed.keep_up(turns))
        while len(reports) < 2:
            await turns.call(lambda _: None)
        keeping.cancel()
        with pytest.raises(asyncio.CancelledError):
            await keeping

    compared(use)
    assert {(str(error), where) for error, where in defects} == {
        ("crashed", "comparing decisions"),
    }
