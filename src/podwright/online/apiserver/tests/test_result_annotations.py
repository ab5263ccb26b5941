"""The results of scheduling are written into the annotations of pods."""

import asyncio
import json
import logging

import pytest
import uvloop
from tests.waiting import SECONDS_MAX

from podwright.apimachinery.objects import PodwrightError
from podwright.online.apiserver import ClusterClock, ResultAnnotations, TurnLoop
from podwright.online.apiserver.scheduling import result_annotations
from podwright.online.apiserver.tests.conftest import START_NS, cluster_of, pod, request

PODS = "/api/v1/namespaces/default/pods"
RESULT = "kube-scheduler-simulator.sigs.k8s.io/"
FILTERS = f"{RESULT}filter-result"
RIGHTS = {"authorization": "Bearer secret"}


def annotated(use):
    """Return what `use` returns of the turn loop of a cluster whose pods are annotated."""
    cluster = cluster_of()

    async def main():
        results = ResultAnnotations(RIGHTS)
        turns = TurnLoop(cluster, ClusterClock(start_ns=START_NS), [results])
        running = asyncio.create_task(turns.run())
        keeping = asyncio.create_task(results.keep_up(turns))
        try:
            async with asyncio.timeout(SECONDS_MAX):
                return await use(turns)
        finally:
            keeping.cancel()
            turns.stop()
            await running

    return uvloop.run(main())


async def send(turns, method, path, body=None):
    reply = await turns.execute(request(method, path, body))
    return reply.status, json.loads(b"".join((reply.body, *(reply.rest or ()))))


async def reached(turns, name, holds):
    while True:
        _, found = await send(turns, "GET", f"{PODS}/{name}")
        if holds(found):
            return found
        await asyncio.sleep(0.005)


def has_results(found):
    return any(key.startswith(RESULT) for key in found["metadata"].get("annotations", ()))


def large(name):
    requests = {"resources": {"requests": {"cpu": "1000"}}}
    return pod(name, containers=[{"name": "main", "image": "app", **requests}])


def huge_node():
    """Return a node with room for a large pod."""
    room = {"cpu": "2000", "memory": "64Gi", "pods": "110"}
    status = {"capacity": room, "allocatable": room}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "huge"}, "status": status}


def test_a_pod_that_is_bound_and_one_that_cannot_be_are_annotated():
    async def use(turns):
        for body in (pod("web"), large("large"), pod("other", schedulerName="another")):
            assert (await send(turns, "POST", PODS, body))[0] == 201
        web = await reached(turns, "web", has_results)
        failed = await reached(turns, "large", has_results)
        return web, failed, (await send(turns, "GET", f"{PODS}/other"))[1]

    web, failed, other = annotated(use)
    annotations = web["metadata"]["annotations"]
    assert annotations[f"{RESULT}selected-node"] == web["spec"]["nodeName"]
    managers = {each["manager"] for each in web["metadata"]["managedFields"]}
    assert "podwright-results" in managers
    assert "Insufficient cpu" in failed["metadata"]["annotations"][f"{RESULT}filter-result"]
    assert failed["metadata"]["annotations"][f"{RESULT}selected-node"] == ""
    assert not has_results(other)


def test_each_attempt_is_added_to_those_before():
    async def use(turns):
        await send(turns, "POST", PODS, large("large"))
        first = await reached(turns, "large", has_results)
        await send(turns, "POST", "/api/v1/nodes", huge_node())
        key = f"{RESULT}selected-node"
        done = await reached(
            turns, "large", lambda found: found["metadata"].get("annotations", {}).get(key)
        )
        return first, done

    first, done = annotated(use)
    history = f"{RESULT}result-history"
    before, after = (
        json.loads(each["metadata"]["annotations"].get(history, "[]")) for each in (first, done)
    )
    assert len(after) > len(before)
    assert after[: len(before)] == before
    assert done["metadata"]["annotations"][f"{RESULT}selected-node"] == "huge"


class Broken:
    """Results that cannot be found."""

    def __init__(self, turns):
        del turns

    async def annotations(self, key):
        raise PodwrightError(f"no results of {key}")


class Wrong(Broken):
    """Results that are no annotations."""

    async def annotations(self, key):
        return {"not a valid key/ /": key}


@pytest.mark.parametrize("results", [Broken, Wrong])
def test_a_pod_that_cannot_be_annotated_is_a_line_of_the_log_and_others_follow(
    results, monkeypatch, caplog
):
    monkeypatch.setattr(result_annotations, "FollowedResults", results)

    async def use(turns):
        # In one turn, so that both are annotated after it.
        await asyncio.gather(*(send(turns, "POST", PODS, pod(name)) for name in ("a", "b")))
        while len(caplog.records) < 2:
            await turns.call(lambda _: None)

    with caplog.at_level(logging.ERROR, logger=result_annotations.__name__):
        annotated(use)
    assert [record.getMessage().partition(":")[0] for record in caplog.records] == [
        "pod default/a is not annotated",
        "pod default/b is not annotated",
    ]


def test_pods_that_are_gone_or_have_no_results_are_left_out_and_others_follow(monkeypatch, caplog):
    class Some(Broken):
        def __init__(self, turns):
            self.turns = turns

        async def annotations(self, key):
            if key == "default/gone":
                await send(self.turns, "DELETE", f"{PODS}/gone", {"gracePeriodSeconds": 0})
            return {} if key == "default/none" else {FILTERS: "{}"}

    monkeypatch.setattr(result_annotations, "FollowedResults", Some)

    async def use(turns):
        names = ("gone", "none", "web")
        await asyncio.gather(*(send(turns, "POST", PODS, pod(name)) for name in names))
        await reached(turns, "web", has_results)
        return (await send(turns, "GET", f"{PODS}/none"))[1]

    with caplog.at_level(logging.ERROR, logger=result_annotations.__name__):
        none = annotated(use)
    managers = {each["manager"] for each in none["metadata"]["managedFields"]}
    assert "podwright-results" not in managers
    assert caplog.records == []


def test_results_that_are_too_long_are_left_out_also_where_an_attempt_before_had_them(
    monkeypatch, caplog
):
    class Growing(Broken):
        size = 10

        async def annotations(self, key):
            found = {FILTERS: "x" * self.size, f"{RESULT}selected-node": key}
            self.size = 262_144
            return found

    monkeypatch.setattr(result_annotations, "FollowedResults", Growing)

    async def use(turns):
        await send(turns, "POST", PODS, large("large"))
        first = await reached(turns, "large", has_results)
        await send(turns, "POST", PODS, pod("web"))
        web = await reached(turns, "web", has_results)
        await send(turns, "POST", "/api/v1/nodes", huge_node())
        done = await reached(
            turns, "large", lambda found: FILTERS not in found["metadata"]["annotations"]
        )
        return first, web, done

    with caplog.at_level(logging.WARNING, logger=result_annotations.__name__):
        first, web, done = annotated(use)
    assert set(first["metadata"]["annotations"]) == {FILTERS, f"{RESULT}selected-node"}
    assert web["metadata"]["annotations"] == {f"{RESULT}selected-node": "default/web"}
    assert done["metadata"]["annotations"] == {f"{RESULT}selected-node": "default/large"}
    assert [record.getMessage() for record in caplog.records] == [
        "pod default/web is annotated without filter-result: annotations may take 262144 bytes. "
        "Further pods with as many results are not reported; explanations have all results"
    ]


def test_a_pod_that_is_gone_or_another_one_is_not_annotated(monkeypatch, caplog):
    replaced = asyncio.Event()

    class Replaced(Broken):
        def __init__(self, turns):
            self.turns = turns

        async def annotations(self, key):
            if not replaced.is_set():
                await send(self.turns, "DELETE", f"{PODS}/web", {"gracePeriodSeconds": 0})
                await send(self.turns, "POST", PODS, pod("web", schedulerName="another"))
                replaced.set()
                return {"a": "b"}
            return {}

    monkeypatch.setattr(result_annotations, "FollowedResults", Replaced)

    async def use(turns):
        await send(turns, "POST", PODS, pod("web"))
        await replaced.wait()
        for _ in range(5):
            await asyncio.sleep(0)
            await turns.reach(turns.clock.now_ns())
        return (await send(turns, "GET", f"{PODS}/web"))[1]

    with caplog.at_level(logging.ERROR, logger=result_annotations.__name__):
        found = annotated(use)
    assert "annotations" not in found["metadata"]
    assert caplog.records == []
