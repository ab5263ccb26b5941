"""A cluster that receives more work than it does goes on with everything, and time passes."""

import asyncio
import itertools

import pytest

from podwright.cluster.api.endpoints import HttpReply, HttpRequest, LongRequest, Watch
from podwright.online.apiserver import ClusterClock, TurnLoop
from podwright.online.apiserver.generated_nodes import generated_nodes
from podwright.online.apiserver.tests.conftest import START_NS, cluster_of, pod, request

SLICE_NS = 50_000_000
SLICES = 150
CREATED = 40
"""The pods of a slice, which schedules fewer."""

ROUNDS = 20
"""How many rounds a slice has, so that it delivers all changes of clients."""

NAMESPACES = "/api/v1/namespaces"


def rounds():
    """Return a function that says whether a slice has ended."""
    calls = itertools.count(1)
    return lambda: next(calls) >= ROUNDS


def created(cluster, namespace, names, now_ns):
    for name in names:
        reply = cluster.handle(request("POST", f"{NAMESPACES}/{namespace}/pods", pod(name)), now_ns)
        assert reply.status == 201


@pytest.fixture
def loaded():
    """Return a cluster with running pods, and its time."""
    cluster = cluster_of()
    cluster.world.add(*generated_nodes(20))
    doomed = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "doomed"}}
    cluster.handle(request("POST", NAMESPACES, doomed), START_NS)
    while not cluster.catch_up(START_NS, lambda: False):
        pass
    created(cluster, "doomed", [f"old-{number}" for number in range(10)], START_NS)
    now_ns = START_NS + 60 * 10**9
    while not cluster.catch_up(now_ns, lambda: False):
        pass
    return cluster, now_ns


def under_load(cluster, now_ns):
    """Yield the time after each slice under load."""
    for slice_ in range(SLICES):
        now_ns += SLICE_NS
        names = [f"web-{slice_}-{number}" for number in range(CREATED)]
        created(cluster, "default", names, now_ns)
        cluster.catch_up(now_ns, rounds())
        yield now_ns


def test_time_passes(loaded):
    cluster, now_ns = loaded
    lags = [now_ns - cluster.world.now_ns for now_ns in under_load(cluster, now_ns)]
    assert max(lags[SLICES // 2 :]) < 25 * SLICE_NS


def test_controllers_go_on_beside_the_scheduler(loaded):
    cluster, now_ns = loaded
    pods = [("", "Pod"), "doomed"]
    assert cluster.store.count(*pods) == 10
    cluster.handle(request("DELETE", f"{NAMESPACES}/doomed"), now_ns)
    assert min(cluster.store.count(*pods) for _ in under_load(cluster, now_ns)) == 0


def test_requests_wait_for_steps_of_a_world_that_is_late_but_not_for_long(monkeypatch):
    cluster = cluster_of()
    late_steps = iter([None, 1, *[1] * 20, 1, 1, 2, None])
    monkeypatch.setattr(type(cluster), "late_steps", property(lambda _: next(late_steps)))
    done: list[str] = []
    handle = cluster.handle

    def catch_up(*_: object) -> bool:
        done.append("world")
        return False

    def handled(sent: HttpRequest, now_ns: int) -> HttpReply | Watch | LongRequest:
        done.append("request")
        return handle(sent, now_ns)

    monkeypatch.setattr(cluster, "catch_up", catch_up)
    monkeypatch.setattr(cluster, "handle", handled)

    async def main():
        turns = TurnLoop(cluster, ClusterClock(start_ns=START_NS))
        running = asyncio.create_task(turns.run())
        for _ in range(5):
            assert (await turns.execute(request("GET", NAMESPACES))).status == 200
        turns.stop()
        await running

    asyncio.run(main())
    turns = "".join(each[0] for each in done)
    assert turns.replace("w" * (20 + 1), "W") == "rwrWrwwrwrw"
