"""How much is under way at once, in the loop around the machine and at the API server."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from podwright.apimachinery.objects import encode, with_node_name
from podwright.apimachinery.schema import decode
from podwright.online.client import SteadyTime
from podwright.online.live import DryRun, EventWriter, Executor, LiveDriver, RetryTimes, Writes
from podwright.online.live.api_calls import ApiRequest
from podwright.online.live.executors import _write
from podwright.scheduler.machine import (
    ApiCall,
    Bind,
    CallDone,
    CycleDue,
    DeletePod,
    EmitEvent,
    Event,
    ObjectPut,
    PatchPodMetadata,
    TimerFired,
    UpdateClaim,
    UpdateVolume,
    WriteResourceClaim,
)
from podwright.testing import make_node, make_pod

EVENT = EmitEvent("a/p", "u", "Normal", "Scheduled", "Binding", "assigned", "s")


async def turns(count: int = 20) -> None:
    """Let all tasks run until they wait."""
    for _ in range(count):
        await asyncio.sleep(0)


class Machine:
    """Always has a pod that is due, and answers events by given actions."""

    def __init__(self, *actions: Any) -> None:
        self.has_next = True
        self.actions = list(actions)
        self.events: list[Event] = []
        self.times_ns: list[int] = []
        self.spent_ns: list[int] = []
        self.metrics = SimpleNamespace(
            report_spent=self.spent_ns.append,
            set_gauge=lambda *_: None,
            observe=lambda *_: None,
        )

    def handle(self, event: Event, now_ns: int) -> list[Any]:
        self.events.append(event)
        self.times_ns.append(now_ns)
        return list(self.actions) if isinstance(event, CycleDue) else []

    @property
    def cycles(self) -> int:
        return sum(isinstance(event, CycleDue) for event in self.events)


class Held(Executor):
    """Answers no call before it may."""

    def __init__(self) -> None:
        self.calls: list[ApiCall] = []
        self.answers = asyncio.Event()

    async def call(self, call: ApiCall) -> Sequence[Event]:
        self.calls.append(call)
        await self.answers.wait()
        return [CallDone(call.call)]

    async def emit(self, event: EmitEvent, now_ns: int) -> None:
        """Write nothing."""


def driven(machine: Any, executor: Executor) -> LiveDriver:
    return LiveDriver(machine, machine.handle, executor)


def test_requests_get_their_turn_after_each_64_cycles():
    async def run() -> list[int]:
        machine = Machine()
        driver = driven(machine, Held())
        running = asyncio.create_task(driver.run())
        driver.deliver(TimerFired())
        found = []
        for _ in range(4):
            await asyncio.sleep(0)
            found.append(machine.cycles)
        machine.has_next = False
        await turns()
        found.append(machine.cycles)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        return found

    found = asyncio.run(run())
    assert found[0] == 64
    assert set(found) <= {64, 128, 192, 256}
    assert found[-1] == found[-2], "no cycle runs that is not due"


def test_no_cycle_starts_while_128_calls_have_no_answer():
    async def run() -> tuple[int, int, int]:
        held = Held()
        machine = Machine(Bind(1, "a/p", "u", "n"))
        driver = driven(machine, held)
        driver.deliver(TimerFired())
        running = asyncio.create_task(driver.run())
        await turns()
        before = machine.cycles
        driver.deliver(TimerFired())  # another event changes nothing
        await turns()
        again = machine.cycles
        machine.has_next = False
        held.answers.set()
        await turns()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        return before, again, driver.bindings

    assert asyncio.run(run()) == (128, 128, 128)


def test_the_clock_of_the_machine_never_goes_back():
    times_ns = iter([-5, 1_000, 900, 1_000, 5_000])

    async def run() -> list[int]:
        machine = Machine()
        driver = driven(machine, Held())
        driver._time = SteadyTime(read_ns=lambda: next(times_ns), read_monotonic_ns=lambda: 0)
        for _ in range(5):
            driver.deliver(TimerFired())
        assert len(machine.spent_ns) == 5
        assert all(0 <= spent < 60 * 10**9 for spent in machine.spent_ns)
        return machine.times_ns

    assert asyncio.run(run()) == [1, 1_000, 1_001, 1_002, 5_000]


def test_a_driver_that_ends_leaves_no_timers_and_waits_for_its_requests_at_most_a_time():
    async def run() -> None:
        held = Held()
        machine = Machine(Bind(1, "a/p", "u", "n"))
        driver = driven(machine, held)
        driver._at(10**18, 0)
        (timer,) = driver._timers
        running = asyncio.create_task(driver.run())
        await turns()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        assert timer.cancelled()
        assert asyncio.all_tasks() == {asyncio.current_task()}, "the flushes have ended"
        driver.deliver(CycleDue())
        await turns()
        await driver.finish(0.001)
        assert (len(driver._work), driver.bindings) == (1, 0)
        held.answers.set()
        await driver.finish(60)
        await turns()
        assert (len(driver._work), driver.bindings) == (0, 1)
        await driver.finish(60)  # nothing is under way

    asyncio.run(run())


class Connection:
    """Counts the requests that are under way, and lets none end before it may."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, str, Any, str]] = []
        self.replies = asyncio.Event()

    async def get(self, path: str, query: Any = None) -> bytes:
        self.sent.append(("GET", path, query, ""))
        return b"read"

    async def write(self, verb: str, path: str, body: bytes, *, content_type: str) -> bytes:
        self.sent.append((verb, path, msgspec.json.decode(body), content_type))
        await self.replies.wait()
        return b"{}"


def test_64_calls_and_16_events_are_under_way_at_once():
    async def run() -> tuple[int, int, int, int]:
        calls: Any = Connection()
        events: Any = Connection()
        writes = Writes(calls, events, EventWriter("me"), times=RetryTimes())
        tasks = [
            asyncio.ensure_future(writes.call(DeletePod(n, f"a/p{n}", "u"))) for n in range(100)
        ]
        for number in range(40):
            event = msgspec.structs.replace(EVENT, reason=f"R{number}")
            tasks.append(asyncio.ensure_future(writes.emit(event, number)))  # type: ignore[arg-type]
        await turns()
        before = len(calls.sent), len(events.sent)
        calls.replies.set()
        events.replies.set()
        await asyncio.gather(*tasks)
        return *before, len(calls.sent), len(events.sent)

    assert asyncio.run(run()) == (64, 16, 100, 40)


def test_a_read_has_no_body_and_a_write_its_type():
    async def run() -> list[Any]:
        connection: Any = Connection()
        connection.replies.set()
        assert await _write(connection, ApiRequest("GET", "/a", {}, has_object=True)) == b"read"
        verbs: list[Any] = ["POST", "PUT", "PATCH", "DELETE"]
        for verb in verbs:
            request = ApiRequest(verb, f"/{verb}", {"x": verb}, f"type/{verb}")
            assert await _write(connection, request) == b"{}"
        return list(connection.sent)

    assert asyncio.run(run()) == [
        ("GET", "/a", None, ""),
        ("POST", "/POST", {"x": "POST"}, "type/POST"),
        ("PUT", "/PUT", {"x": "PUT"}, "type/PUT"),
        ("PATCH", "/PATCH", {"x": "PATCH"}, "type/PATCH"),
        ("DELETE", "/DELETE", {"x": "DELETE"}, "type/DELETE"),
    ]


def named(kind: str, version: str) -> Any:
    return decode({"apiVersion": version, "kind": kind, "metadata": {"name": "o"}})


def test_a_dry_run_reports_bindings_and_preemptions_and_returns_what_was_to_be_written():
    claim = named("ResourceClaim", "resource.k8s.io/v1")
    volume, volume_claim = (
        named("PersistentVolume", "v1"), named("PersistentVolumeClaim", "v1")
    )  # fmt: skip
    unknown = Bind(7, "a/unknown", "x", "n")
    reported: list[Any] = []

    async def run() -> list[Any]:
        dry = DryRun(reported.append)
        await dry.emit(EVENT, 1)
        calls: list[ApiCall] = [
            UpdateVolume(1, volume), UpdateClaim(2, volume_claim),
            WriteResourceClaim(3, "create", claim), PatchPodMetadata(4, "a/p", "u", {}, {}),
            DeletePod(5, "a/p", "u"), unknown,
        ]  # fmt: skip
        return [await dry.call(call) for call in calls]

    assert asyncio.run(run()) == [
        [CallDone(1, obj=volume)], [CallDone(2, obj=volume_claim)], [CallDone(3, obj=claim)],
        [CallDone(4)], [CallDone(5)], [CallDone(7)],
    ]  # fmt: skip
    assert reported == [DeletePod(5, "a/p", "u"), unknown]


def test_what_a_dry_run_has_placed_is_forgotten_once_the_cluster_has_placed_it():
    async def run() -> None:
        dry = DryRun(print)
        node, pod, other = make_node("n"), make_pod("p"), make_pod("q")
        assert dry.seen(node) is node
        for each in (pod, other):
            assert dry.seen(each) is each
        placed = with_node_name(pod, "m")
        await dry.call(Bind(1, pod.key, pod.uid, "m"))
        assert dry.seen(pod) == placed
        assert dry.seen(placed) is placed
        assert dry.seen(pod) is pod
        dry.seen(placed)
        # A pod that the cluster has placed is not put again by a late binding.
        assert await dry.call(Bind(2, pod.key, pod.uid, "m")) == [CallDone(2)]
        put, done = await dry.call(Bind(3, other.key, other.uid, "n"))
        assert (put, done) == (ObjectPut(with_node_name(other, "n")), CallDone(3))

    asyncio.run(run())


def test_another_object_of_a_name_is_a_separate_object():
    """Kinds of two groups have one name; keys are of namespace and name."""

    async def run() -> list[str]:
        machine = Machine()
        driver = driven(machine, Held())
        for document in (encode(make_node("a")), encode(make_pod("a")), encode(make_pod("b"))):
            driver.put(document)
        driver.delete("v1", "Node", "default/a")
        driver.delete("apps/v1", "Pod", "default/a")
        driver.delete("v1", "Pod", "a")
        driver.delete("v1", "Pod", "default/a")
        assert [type(event).__name__ for event in machine.events] == [
            "ObjectPut", "ObjectPut", "ObjectPut", "ObjectDeleted"
        ]  # fmt: skip
        return [pod.key for pod in driver.pods()]

    assert asyncio.run(run()) == ["default/b"]


@pytest.mark.parametrize(
    ("due_ns", "seconds"),
    [(10_000_000_007, 9.001), (1_000_000_007, 0.001), (7, 0.001), (0, 0.001)],
    ids=["later", "now", "before", "long before"],
)
def test_a_timer_is_set_a_millisecond_after_what_is_due(
    monkeypatch: pytest.MonkeyPatch, due_ns: int, seconds: float
):
    async def run() -> list[float]:
        delays: list[float] = []
        machine = Machine()
        driver = driven(machine, Held())
        loop = asyncio.get_running_loop()
        timer = loop.call_later(3600, list)

        def call_later(delay: float, _: Any) -> asyncio.TimerHandle:
            delays.append(delay)
            return timer

        monkeypatch.setattr(loop, "call_later", call_later)
        driver._at(due_ns, 1_000_000_007)
        timer.cancel()
        return delays

    assert asyncio.run(run()) == [pytest.approx(seconds, abs=1e-12)]
