"""Turns: what happens to requests when a turn fails."""

import asyncio
import threading
import time
from collections import deque
from types import SimpleNamespace
from typing import Any, cast

import pytest

from podwright.cluster.api.endpoints import LongRequest
from podwright.cluster.store import ObjectStore, UnusableStore
from podwright.online.apiserver import ClusterClock, TurnLoop, turn_loop
from podwright.online.apiserver.tests.conftest import ADMIN, START_NS, cluster_of, pod, request

PODS = "/api/v1/namespaces/default/pods"
MAPS = "/api/v1/namespaces/default/configmaps"
SECRETS = "/api/v1/namespaces/default/secrets"
PATIENCE_SECONDS = 60


class FullDisk:
    """A journal that cannot write any more once `is_full` is set."""

    is_full = False

    def append(self, *_: object) -> None:
        if self.is_full:
            raise UnusableStore("no space left")

    def discard(self, *_: object) -> None:
        """Keep nothing."""

    def read(self, version):
        """Read nothing: no object rests so soon."""
        raise AssertionError(version)

    def keep(self, version, kind, text):
        """Keep nothing."""

    def forget(self, version):
        """Release nothing."""

    def leave(self) -> None:
        """Leave nothing."""

    def close(self) -> None:
        """Close nothing."""


async def caught_up(turns):
    """Return when the world has handled everything, without a call that ends its pause."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not turns.is_caught_up:  # noqa: ASYNC110 - the turn loop has no event for it
            await asyncio.sleep(0)


def test_a_request_whose_write_is_not_durable_is_not_answered():
    journal = FullDisk()
    cluster = cluster_of(store=ObjectStore(journal=journal))
    clock = ClusterClock(start_ns=START_NS)

    async def main():
        turns = TurnLoop(cluster, clock)
        running = asyncio.create_task(turns.run())
        assert (await turns.execute(request("POST", PODS, pod("first")))).status == 201
        journal.is_full = True
        with pytest.raises(asyncio.CancelledError):
            await turns.execute(request("POST", PODS, pod("second")))
        with pytest.raises(UnusableStore, match="no space left"):
            await running
        assert turns.is_stopping

    asyncio.run(main())


def unreadable(*_: object) -> Any:
    raise UnusableStore("read by another process")


@pytest.mark.parametrize("what", ["a call", "a request", "a long request"])
def test_what_finds_the_store_unusable_is_cancelled_as_all_that_waits(what, monkeypatch):
    cluster = cluster_of()
    steps: Any = map(unreadable, "1")
    long = LongRequest(steps)
    found = {"a request": unreadable, "a long request": lambda *_: long}
    if what in found:
        monkeypatch.setattr(cluster, "handle", found[what])

    async def main():
        turns = TurnLoop(cluster, ClusterClock(start_ns=START_NS))
        first = turns.call(unreadable) if what == "a call" else turns.execute(request("GET", PODS))
        waiting = [asyncio.create_task(each) for each in (first, turns.call(lambda _: 1))]
        await asyncio.sleep(0)
        with pytest.raises(UnusableStore, match="by another process"):
            await turns.run()
        async with asyncio.timeout(PATIENCE_SECONDS):
            await asyncio.wait(waiting)
        assert all(each.cancelled() for each in waiting)

    asyncio.run(main())


def test_a_request_whose_client_has_left_before_its_turn_is_not_executed():
    cluster = cluster_of()

    async def main():
        turns = TurnLoop(cluster, ClusterClock(start_ns=START_NS))
        called: list[int] = []
        left = [
            asyncio.create_task(turns.execute(request("POST", PODS, pod("left")))),
            asyncio.create_task(turns.call(called.append)),
        ]
        stays = asyncio.create_task(turns.execute(request("POST", PODS, pod("stays"))))
        await asyncio.sleep(0)
        for task in left:
            task.cancel()
        running = asyncio.create_task(turns.run())
        assert (await stays).status == 201
        await turns.call(lambda _: None)
        assert [each.name for each in cluster.store.list(("", "Pod")).objects] == ["stays"]
        assert not called
        turns.stop()
        await running

    asyncio.run(main())


def test_the_requests_after_that_of_a_client_who_has_left_are_answered_in_the_same_turn():
    async def main():
        turns = TurnLoop(cluster_of(), ClusterClock(start_ns=START_NS))
        left, stays = (asyncio.create_task(turns.execute(request("GET", PODS))) for _ in "ab")
        await asyncio.sleep(0)
        left.cancel()
        turned = asyncio.Event()
        turns.listen(turned)
        running = asyncio.create_task(turns.run())
        async with asyncio.timeout(PATIENCE_SECONDS):
            await turned.wait()
        assert stays.done()
        turns.stop()
        await running

    asyncio.run(main())


def test_long_requests_take_turns(monkeypatch):
    monkeypatch.setattr(turn_loop, "LONG_REQUEST_NS", 0)
    cluster = cluster_of()

    async def main():
        turns = TurnLoop(cluster, ClusterClock(start_ns=START_NS))
        running = asyncio.create_task(turns.run())
        for number in range(9):
            await turns.execute(request("POST", PODS, pod(f"p{number}")))
        await turns.execute(request("POST", MAPS, {"metadata": {"name": "a"}}))
        ended: list[str] = []

        async def delete(path: str) -> None:
            await turns.execute(request("DELETE", path))
            ended.append(path)

        await asyncio.gather(delete(PODS), delete(MAPS))
        assert ended == [MAPS, PODS]
        turns.stop()
        await running

    asyncio.run(main())


def test_something_is_left_until_a_long_request_has_ended(monkeypatch):
    monkeypatch.setattr(turn_loop, "LONG_REQUEST_NS", 0)
    cluster = cluster_of()

    async def main():
        clock = ClusterClock(start_ns=START_NS)
        clock.pause()
        turns = TurnLoop(cluster, clock)
        for name in "abc":
            made = request("POST", SECRETS, {"metadata": {"name": name}})
            assert cluster.server.handle(made, ADMIN, START_NS).status == 201
        assert any(turns._turn() for _ in range(100)), "the world has its slices"
        deleting = asyncio.create_task(turns.execute(request("DELETE", SECRETS)))
        await asyncio.sleep(0)
        before = []
        while not deleting.done():
            before.append(turns._turn())
            await asyncio.sleep(0)
        assert (await deleting).status == 200
        assert len(before) > 1
        assert before[:-1] == [False] * (len(before) - 1)
        assert any(turns._turn() for _ in range(100))

    asyncio.run(main())


def test_waiting_requests_are_cancelled_when_the_server_stops():
    async def main():
        turns = TurnLoop(cluster_of(), ClusterClock(start_ns=START_NS))
        waiting = [
            asyncio.create_task(turns.execute(request("GET", PODS))),
            asyncio.create_task(turns.call(lambda now_ns: now_ns)),
            asyncio.create_task(turns.reach(START_NS + 10**12)),
        ]
        await asyncio.sleep(0)
        turns.stop()
        await turns.run()
        for each in waiting:
            with pytest.raises(asyncio.CancelledError):
                await each

    asyncio.run(main())


def test_a_world_that_is_late_gets_a_step_between_requests():
    async def main():
        turns = TurnLoop(cluster_of(), ClusterClock(start_ns=START_NS))
        late: Any = SimpleNamespace(late_steps=3)
        turns.cluster = late
        assert turns._takes_requests()
        taken = [turns._takes_requests() for _ in range(20 + 1)]
        assert taken == [False] * 20 + [True], "not without end"
        assert not turns._takes_requests()
        late.late_steps = 4
        assert turns._takes_requests()
        late.late_steps = None
        assert turns._takes_requests()
        assert turns._takes_requests()

    asyncio.run(main())


class FakeWatch:
    """A watch that is due at a time."""

    def __init__(self, next_due_ns, *, is_behind=False):
        self.next_due_ns, self.is_behind = next_due_ns, is_behind


def test_a_turn_wakes_the_watches_that_have_changes_or_are_due():
    async def main():
        clock = ClusterClock(start_ns=START_NS)
        clock.pause()
        turns = TurnLoop(cluster_of(), clock)
        now_ns = clock.now_ns()
        watches: list[Any] = [
            FakeWatch(now_ns),
            FakeWatch(now_ns + 10**15, is_behind=True),
            FakeWatch(now_ns + 10**15),
        ]
        woken = [turns.subscribe(each).wake for each in watches]
        for wake in woken:
            wake.clear()
        running = asyncio.create_task(turns.run())
        await turns.call(lambda _: None)
        await asyncio.sleep(0)
        assert [wake.is_set() for wake in woken] == [True, True, False]
        turns.stop()
        await running
        assert all(wake.is_set() for wake in woken)

    asyncio.run(main())


def test_a_new_watch_starts_a_turn_of_a_loop_that_sleeps():
    async def main():
        clock = ClusterClock(start_ns=START_NS)
        clock.pause()
        turns = TurnLoop(cluster_of(), clock)
        running = asyncio.create_task(turns.run())
        await turns.call(lambda _: None)
        await caught_up(turns)
        for _ in range(10):
            await asyncio.sleep(0)
        watch: Any = FakeWatch(clock.now_ns() + 10**15, is_behind=True)
        wake = turns.subscribe(watch).wake
        wake.clear()
        for _ in range(10):
            await asyncio.sleep(0)
        assert wake.is_set()
        turns.stop()
        await running

    asyncio.run(main())


def test_a_function_is_called_in_a_turn_and_its_error_is_raised():
    cluster = cluster_of()

    async def main():
        turns = TurnLoop(cluster, ClusterClock(start_ns=START_NS))
        running = asyncio.create_task(turns.run())
        assert await turns.call(lambda now_ns: now_ns >= START_NS)
        with pytest.raises(ZeroDivisionError):
            await turns.call(lambda _: 1 // 0)
        assert (await turns.execute(request("GET", PODS))).status == 200
        turns.stop()
        await running

    asyncio.run(main())


def test_the_world_waits_only_while_several_clients_send_requests_at_once(monkeypatch):
    # On a busy computer two requests would not fit into one turn.
    monkeypatch.setattr(turn_loop, "REQUESTS_NS", 60 * 10**9)
    cluster = cluster_of()

    async def main():
        hour_ns = 3_600 * 10**9
        turns = TurnLoop(cluster, ClusterClock(start_ns=START_NS), world_pause_ns=hour_ns)
        running = asyncio.create_task(turns.run())
        handled = [len(cluster.world.log)]
        for name in ("first", "second"):
            assert (await turns.execute(request("POST", PODS, pod(name)))).status == 201
            await caught_up(turns)
            handled.append(len(cluster.world.log))
        assert handled == sorted(set(handled)), "the scheduler handles each of them"
        await turns.reach(START_NS)
        handled.append(len(cluster.world.log))
        together = [turns.execute(request("POST", PODS, pod(name))) for name in ("third", "fourth")]
        assert {reply.status for reply in await asyncio.gather(*together)} == {201}
        assert (await turns.execute(request("POST", PODS, pod("fifth")))).status == 201
        assert len(cluster.world.log) == handled[-1]
        # A call ends the pause, and sees the consequences of the requests before it.
        assert await turns.call(lambda _: len(cluster.world.log)) > handled[-1]
        turns.stop()
        await running

    asyncio.run(main())


def test_the_pause_of_the_world_ends_without_a_request():
    cluster = cluster_of()

    async def main():
        turns = TurnLoop(cluster, ClusterClock(start_ns=START_NS), world_pause_ns=10**6)
        running = asyncio.create_task(turns.run())
        together = [turns.execute(request("POST", PODS, pod(name))) for name in ("a", "b")]
        await asyncio.gather(*together)
        await caught_up(turns)
        assert len(cluster.world.log) > 0
        turns.stop()
        await running

    asyncio.run(main())


def test_a_request_after_the_last_turn_is_cancelled():
    async def main():
        turns = TurnLoop(cluster_of(), ClusterClock(start_ns=START_NS))
        turns.stop()
        await turns.run()
        for late in (
            turns.execute(request("GET", PODS)),
            turns.call(lambda now_ns: now_ns),
            turns.reach(START_NS),
        ):
            with pytest.raises(asyncio.CancelledError):
                await late

    asyncio.run(main())


@pytest.mark.parametrize(
    ("what", "waits"),
    [
        pytest.param({}, True, id="several clients, soon after a slice"),
        pytest.param({"_are_clients_concurrent": False}, False, id="one client"),
        pytest.param({"_is_stopping": True}, False, id="the end"),
        pytest.param({"_calls": deque([None])}, False, id="a call"),
        pytest.param({"_reached": [None]}, False, id="somebody waits for a time"),
        pytest.param({"_long": deque([None])}, False, id="a long request"),
        pytest.param({"_world_ended_ns": -(10**18)}, False, id="long after a slice"),
    ],
)
def test_the_world_does_not_wait_for_what_waits_for_it(what, waits):
    turns = TurnLoop(cluster_of(), ClusterClock(start_ns=START_NS), world_pause_ns=10**12)
    present = {"_are_clients_concurrent": True, "_world_ended_ns": time.perf_counter_ns()}
    for name, value in (present | what).items():
        setattr(turns, name, value)
    assert turns._is_world_waiting is waits


@pytest.mark.parametrize(
    ("what", "is_caught_up"),
    [
        pytest.param({}, True, id="nothing is left"),
        pytest.param({"_is_caught_up": False}, False, id="something is due"),
        pytest.param({"_queue": deque([None])}, False, id="a request"),
        pytest.param({"_calls": deque([None])}, False, id="a call"),
        pytest.param(
            {"_calls": deque([None]), "is_resting": True}, True, id="a call after the checkpoint"
        ),
        pytest.param({"_is_caught_up": False, "is_resting": True}, False, id="a checkpoint"),
    ],
)
def test_nothing_is_left_without_requests_and_calls_that_can_be_executed(what, is_caught_up):
    turns = TurnLoop(cluster_of(), ClusterClock(start_ns=START_NS))
    for name, value in ({"_is_caught_up": True} | what).items():
        setattr(turns.cluster if name == "is_resting" else turns, name, value)
    assert turns.is_caught_up is is_caught_up


def test_only_reads_are_answered_while_a_thread_computes(monkeypatch):
    async def main():
        turns = TurnLoop(cluster_of(), ClusterClock(start_ns=START_NS))
        server: Any = turns.cluster.server
        found = []
        monkeypatch.setattr(turns, "_execute_queued", lambda *_: found.append(server.only_reads))
        turns._turn()
        found.append(server.only_reads)
        thread: Any = SimpleNamespace(advance=lambda _: False)
        turns._beside = turn_loop._Beside(thread, lambda *_: None)
        assert turns._turn() is False
        found.append(server.only_reads)
        assert found == [False, False, True, False]

    asyncio.run(main())


def test_what_waited_for_a_thread_is_executed_in_its_order_before_what_came_later():
    async def main():
        turns = TurnLoop(cluster_of(), ClusterClock(start_ns=START_NS))
        *earlier, later = (
            (request("POST", PODS, pod(name)), asyncio.get_running_loop().create_future())
            for name in "abc"
        )
        thread: Any = SimpleNamespace(advance=lambda _: True, result=None)
        turns._beside = turn_loop._Beside(thread, lambda *_: None)
        turns._after_beside.extend(earlier)
        turns._queue.append(later)
        turns._advance_beside([])
        assert [*turns._queue] == [*earlier, later]
        assert not turns._after_beside

    asyncio.run(main())


def test_a_thread_that_fails_is_over_and_its_request_is_cancelled():
    async def main():
        turns = TurnLoop(cluster_of(), ClusterClock(start_ns=START_NS))

        def fail(_: float) -> bool:
            raise ZeroDivisionError

        request_: Any = asyncio.get_running_loop().create_future()
        thread: Any = SimpleNamespace(advance=fail)
        for future in (request_, None):
            turns._beside = turn_loop._Beside(thread, lambda *_: None, future)
            with pytest.raises(ZeroDivisionError):
                turns._advance_beside([])
            assert turns._beside is None
        assert request_.cancelled()

    asyncio.run(main())


def test_a_loop_that_ends_shares_with_no_thread_any_longer():
    async def main():
        turns = TurnLoop(cluster_of(), ClusterClock(start_ns=START_NS))
        never = threading.Event()
        for _ in range(2):
            turns._share(never, 0.0001)
        (share,) = turns._shares.values()
        await asyncio.sleep(0)
        turns.stop()
        await turns.run()
        await asyncio.sleep(0)
        assert (share.cancelled(), turns._shares) == (True, {})

    asyncio.run(main())


def test_calls_of_extenders_start_in_threads_and_their_late_replies_are_dropped(monkeypatch):
    shared: list[Any] = []

    async def share(is_done, **slices):
        shared.append((is_done.is_set(), slices))

    monkeypatch.setattr(turn_loop, "share_with_thread", share)

    async def main():
        turns = TurnLoop(cluster_of(), ClusterClock(start_ns=START_NS))
        replies: list[Any] = []
        world = SimpleNamespace(extender_replied=lambda *reply: replies.append(reply))
        scheduler: Any = type("Scheduler", (), {})()  # which is a key
        scheduler.world = world
        scheduler.extender_calls = [(1, "a"), (2, "b")]
        scheduler.call_extender = lambda call: f"re {call}"
        cluster: Any = SimpleNamespace(schedulers=[scheduler])
        turns.cluster = cluster
        turns._begin_extender_calls()
        assert scheduler.extender_calls == []
        threads = turns._extenders[scheduler]
        async with asyncio.timeout(PATIENCE_SECONDS):
            while len(replies) < 2:  # noqa: ASYNC110 - replies of threads
                await asyncio.sleep(0.001)
        assert sorted(replies) == [(1, "re a"), (2, "re b")]
        assert turns._wake.is_set()
        slices = {"slice_seconds": 0.0001, "pause_seconds": 0.005}
        assert [each for _, each in shared] == [slices]
        turns._begin_extender_calls()
        assert len(shared) == 1, "there are no calls"
        scheduler.extender_calls.append((3, "c"))
        turns._begin_extender_calls()
        assert turns._extenders[scheduler] is threads
        scheduler.call_extender = lambda call: f"other {call}"
        scheduler.extender_calls.append((4, "d"))
        scheduler.world = SimpleNamespace(extender_replied=lambda *reply: replies.append(reply))
        turns._begin_extender_calls()
        assert turns._extenders[scheduler] is not threads
        of_before, late = cast("tuple[Any, Any]", (world, "late"))
        turns._take_reply(scheduler, of_before, 5, late)
        async with asyncio.timeout(PATIENCE_SECONDS):
            while (4, "other d") not in replies:  # noqa: ASYNC110 - replies of threads
                await asyncio.sleep(0.001)
        assert (5, "late") not in replies

    asyncio.run(main())


def test_a_cluster_that_continues_after_a_breakpoint_has_something_to_do():
    turns = TurnLoop(cluster_of(), ClusterClock(start_ns=START_NS))
    hit: Any = object()
    turns.cluster.breakpoints.hit, turns._is_caught_up = hit, True
    turns.go_on()
    found = (turns.cluster.breakpoints.hit, turns.is_caught_up, turns._wake.is_set())
    assert found == (None, False, True)
