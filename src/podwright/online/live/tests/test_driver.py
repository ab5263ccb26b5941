"""The loop around the machine, with an executor of the test."""

import asyncio
import contextlib
import threading
from collections.abc import Sequence
from typing import Any

import pytest

from podwright.apimachinery.objects import encode, with_node_name
from podwright.online.live import Executor, LiveDriver
from podwright.scheduler.assembly import machine_of
from podwright.scheduler.config import ExtenderReply, parse_gates
from podwright.scheduler.framework import CallError
from podwright.scheduler.machine import (
    ApiCall,
    Bind,
    CallDone,
    CallExtender,
    CycleDue,
    EmitEvent,
    Event,
    ExtenderReplied,
    Machine,
    ObjectDeleted,
    ObjectPut,
    SchedulerOptions,
    TimerFired,
    WakeAt,
)
from podwright.scheduler.machine.metrics.metric_snapshot import Value
from podwright.testing import make_node, make_pod

GATES = "GenericWorkload=true,GangScheduling=true"


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


async def turns() -> None:
    """Let all tasks run until they wait."""
    for _ in range(20):
        await asyncio.sleep(0)


def machine(gates: str = "", **options: Any) -> Machine:
    return machine_of(SchedulerOptions(gates=parse_gates(gates), **options))


def test_a_gang_that_never_fits_adds_no_calls_without_end():
    async def run() -> tuple[int, int]:
        held = Held()
        made = machine(GATES)
        driver = LiveDriver(made, made.handle, held)
        driver.put(encode(make_node("n", cpu="2")))
        group = {
            "apiVersion": "scheduling.k8s.io/v1alpha2",
            "kind": "PodGroup",
            "metadata": {"name": "g", "namespace": "default"},
            "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}},
        }
        driver.put(group)
        spec = {"schedulingGroup": {"podGroupName": "g"}}
        for name in ("a", "b"):
            driver.put(encode(make_pod(name, cpu="9", spec=spec)))
        running = asyncio.create_task(driver.run())
        await turns()
        before = len(held.calls)
        held.answers.set()
        await turns()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        return before, len(held.calls)

    before, after = asyncio.run(run())
    assert 120 < before < 140
    assert after > before


def test_pods_are_bound_while_calls_are_under_way():
    async def run() -> int:
        held = Held()
        made = machine()
        driver = LiveDriver(made, made.handle, held)
        driver.put(encode(make_node("n", cpu="2")))
        for number in range(3):
            driver.put(encode(make_pod(f"p{number}", cpu="100m")))
        running = asyncio.create_task(driver.run())
        await turns()
        assert len(held.calls) == 3
        held.answers.set()
        await driver.finish(5)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        return driver.bindings

    assert asyncio.run(run()) == 3


def test_bindings_are_counted_while_they_wait_and_when_they_are_answered():
    """Count as upstream's dispatcher of calls, whose metrics are read."""

    class Refused(Held):
        async def call(self, call: ApiCall) -> Sequence[Event]:
            await super().call(call)
            error = CallError("bound elsewhere", "Conflict") if call.call % 2 else None
            return [CallDone(call.call, error)]

    async def run() -> tuple[list[float], list[float], dict[str, float]]:
        held = Refused()
        made = machine()
        driver = LiveDriver(made, made.handle, held)
        driver.put(encode(make_node("n", cpu="2")))
        for number in range(3):
            driver.put(encode(make_pod(f"p{number}", cpu="100m")))
        running = asyncio.create_task(driver.run())
        await turns()
        waiting = pending_calls(made)
        odd = sum(call.call % 2 for call in held.calls if isinstance(call, Bind))
        held.answers.set()
        running.cancel()
        await driver.finish(5)
        await asyncio.gather(running, return_exceptions=True)
        executed = "scheduler_async_api_call_execution_total"
        counts = {
            result: made.metrics_snapshot().count(executed, "pod_binding", result)
            for result in ("success", "error")
        }
        assert counts == {"success": 3 - odd, "error": odd}
        return waiting, pending_calls(made), counts

    waiting, after, counts = asyncio.run(run())
    assert waiting == [3]
    assert after[0] == 0
    assert all(counts.values())


def pending_calls(made: Machine) -> list[float]:
    """Return the levels of the gauge of calls without a reply."""
    families = made.metrics_snapshot().families
    return [
        one.value
        for family in families
        if family.name == "scheduler_pending_async_api_calls"
        for one in family.series
        if isinstance(one, Value) and one.labels == ("pod_binding",)
    ]


def test_a_driver_that_does_not_run_takes_changes_and_begins_no_calls():
    """Let a replica that waits for the Lease follow the cluster."""

    async def run() -> tuple[int, int]:
        held = Held()
        held.answers.set()
        made = machine()
        driver = LiveDriver(made, made.handle, held)
        node, pods = make_node("n", cpu="2"), [make_pod(f"p{n}", cpu="100m") for n in range(3)]
        for each in (node, *pods):
            driver.put(encode(each))
        driver.put(encode(with_node_name(pods[0], "n")))  # by the leader
        driver.delete("v1", "Pod", "default/p1")
        await turns()
        waiting = len(held.calls)
        running = asyncio.create_task(driver.run())
        await turns()
        await driver.finish(5)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        assert [pod.key for pod in driver.pods()] == ["default/p0", "default/p2"]
        return waiting, driver.bindings

    assert asyncio.run(run()) == (0, 1)


def test_the_time_of_decisions_is_measured():
    async def run() -> Machine:
        held = Held()
        held.answers.set()
        made = machine()
        driver = LiveDriver(made, made.handle, held)
        driver.put(encode(make_node("n", cpu="2")))
        driver.put(encode(make_pod("p", cpu="100m")))
        running = asyncio.create_task(driver.run())
        await turns()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        return made

    name = "scheduler_scheduling_algorithm_duration_seconds"
    found = asyncio.run(run()).metrics_snapshot().distribution(name)
    assert found.count == 1
    assert found.total > 0


def bound_once(expiry_ns: int, *, is_shown: bool, expires: bool) -> tuple[Machine, list[str]]:
    """Bind a pod that fills its node, then add a second one; return the machine and the bound."""

    async def run() -> tuple[Machine, list[str]]:
        held = Held()
        held.answers.set()
        made = machine(assumed_pod_expiry_ns=expiry_ns)
        driver = LiveDriver(made, made.handle, held)
        driver.put(encode(make_node("n", cpu="2")))
        pod = make_pod("first", cpu="2")
        driver.put(encode(pod))
        running = asyncio.create_task(driver.run())
        await turns()
        if is_shown:
            driver.put(encode(with_node_name(pod, "n")))
        while expires and not made.expired():  # noqa: ASYNC110 - a timer of the driver
            await asyncio.sleep(0.01)
        driver.put(encode(make_pod("second", cpu="1")))
        await turns()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        return made, [call.pod for call in held.calls if isinstance(call, Bind)]

    return asyncio.run(run())


def test_an_assumed_pod_that_the_cluster_never_shows_bound_expires():
    made, bound = bound_once(20_000_000, is_shown=False, expires=True)
    assert bound == ["default/first", "default/second"]
    assert made.expired()[0] == "default/first"


@pytest.mark.parametrize(
    ("expiry_ns", "is_shown"),
    [
        pytest.param(0, False, id="none expires, as in kube-scheduler"),
        pytest.param(3_600_000_000_000, False, id="not yet"),
        pytest.param(3_600_000_000_000, True, id="the cluster shows it"),
    ],
)
def test_a_bound_pod_occupies_its_node(expiry_ns, is_shown):
    made, bound = bound_once(expiry_ns, is_shown=is_shown, expires=False)
    assert bound == ["default/first"]
    assert not made.expired()
    assert set(made.assumed()) == (set() if is_shown else {"default/first"})


class Answering(Executor):
    """Answers each call at once, with an error to the calls of a type."""

    def __init__(self, failing: type | None = None) -> None:
        self.failing = failing

    async def call(self, call: ApiCall) -> Sequence[Event]:
        error = CallError("no", "Conflict") if type(call) is self.failing else None
        return [CallDone(call.call, error)]

    async def emit(self, event: EmitEvent, now_ns: int) -> None:
        """Write nothing."""


def test_only_bindings_that_succeed_are_counted():
    async def run(executor: Executor) -> int:
        made = machine()
        driver = LiveDriver(made, made.handle, executor)
        driver.put(encode(make_node("n", cpu="2")))
        driver.put(encode(make_pod("small", cpu="1")))
        driver.put(encode(make_pod("large", cpu="8")))
        running = asyncio.create_task(driver.run())
        await turns()
        await turns()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        return driver.bindings

    assert asyncio.run(run(Answering())) == 1
    assert asyncio.run(run(Answering(failing=Bind))) == 0


def test_queues_are_flushed_each_second_and_each_half_minute(monkeypatch):
    seconds = 0

    async def run() -> list[str]:
        made = machine()
        delivered: list[str] = []

        def handle(event: Event, now_ns: int) -> Any:
            delivered.append(type(event).__name__)
            return made.handle(event, now_ns)

        driver = LiveDriver(made, handle, Answering())
        pause = asyncio.sleep

        async def slept(delay: float) -> None:
            nonlocal seconds
            seconds += delay == 1
            await (asyncio.Event().wait() if seconds > 61 else pause(0))

        monkeypatch.setattr("podwright.online.live.driver.asyncio.sleep", slept)
        running = asyncio.create_task(driver.run())
        while seconds <= 61:
            await pause(0)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        return delivered

    delivered = asyncio.run(run())
    flushes = [each for each in delivered if each.startswith("Flush")]
    half_a_minute = ["FlushBackoff"] * 30 + ["FlushUnschedulable"]
    assert flushes == [*half_a_minute, *half_a_minute, "FlushBackoff"]


def service(selector: dict[str, str], **status: Any) -> dict[str, Any]:
    metadata = {"name": "s", "namespace": "default", "uid": "s"}
    spec = {"selector": selector}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec, **status}


class Machines:
    """Notes the events that a machine gets."""

    def __init__(self) -> None:
        self.machine = machine()
        self.events: list[Event] = []
        self.actions: list[Any] = []

    def handle(self, event: Event, now_ns: int) -> list[Any]:
        self.events.append(event)
        actions, self.actions = self.actions, []
        return actions


def test_the_machine_gets_what_it_decides_by():
    made = Machines()
    driver = LiveDriver(made.machine, made.handle, Held())
    for document in (
        service({"a": "b"}), service({"a": "b"}, status={"loadBalancer": {}}), service({"a": "c"}),
        encode(make_node("n")), encode(make_node("n")),
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "d"}},
    ):  # fmt: skip
        driver.put(document)
    kinds = [event.obj.kind for event in made.events if isinstance(event, ObjectPut)]
    assert [each for each in kinds if each != "ConfigMap"] == ["Service"] * 2 + ["Node"] * 2
    made.events.clear()
    driver.delete("v1", "Node", "n")
    driver.delete("v1", "Node", "n")
    driver.delete("v1", "Pod", "default/unknown")
    (gone,) = made.events
    assert isinstance(gone, ObjectDeleted)
    assert (gone.obj.kind, gone.obj.key) == ("Node", "n")


def test_a_failed_task_ends_the_driver():
    class Failing(Held):
        async def emit(self, event: EmitEvent, now_ns: int) -> None:
            assert (type(event), type(now_ns)) == (EmitEvent, int)
            raise ZeroDivisionError

    async def run() -> None:
        made = Machines()
        driver = LiveDriver(made.machine, made.handle, Failing())
        made.actions = [EmitEvent("default/p", "u", "Normal", "Scheduled", "Binding", "on n", "s")]
        running = asyncio.create_task(driver.run())
        await turns()
        driver.deliver(TimerFired())
        async with asyncio.timeout(60):
            await running

    with pytest.raises(ZeroDivisionError):
        asyncio.run(run())


def test_a_call_that_is_cancelled_ends_no_driver_and_is_no_error():
    async def run() -> list[Any]:
        reported: list[Any] = []
        asyncio.get_running_loop().set_exception_handler(
            lambda _, context: reported.append(context)
        )
        made = Machines()
        driver = LiveDriver(made.machine, made.handle, Held())
        running = asyncio.create_task(driver.run())
        await turns()
        before = asyncio.all_tasks()
        made.actions = [Bind(1, "default/p", "u", "n")]
        driver.deliver(TimerFired())
        (call,) = asyncio.all_tasks() - before
        await turns()
        call.cancel()
        await turns()
        driver.deliver(TimerFired())
        await turns()
        assert not running.done()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        return reported

    assert asyncio.run(run()) == []


def test_nothing_of_a_driver_runs_when_it_has_ended():
    async def run() -> None:
        made = Machines()
        driver = LiveDriver(made.machine, made.handle, Held())
        running = asyncio.create_task(driver.run())
        await turns()
        made.actions = [WakeAt(due_ns=driver._now() + 1_000_000)]
        driver.deliver(TimerFired())
        running.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await running
        assert asyncio.all_tasks() == {asyncio.current_task()}
        count = len(made.events)
        await asyncio.sleep(0.01)
        assert len(made.events) == count, "the timer does not fire"

    asyncio.run(run())


def test_a_timer_fires_once_a_millisecond_after_it_is_due(monkeypatch):
    async def run() -> list[float]:
        delays: list[float] = []
        loop = asyncio.get_running_loop()
        later = loop.call_later

        def call_later(delay: float, fire: Any, *_: Any) -> Any:
            delays.append(delay)
            return later(0, fire)

        monkeypatch.setattr(loop, "call_later", call_later)
        made = Machines()
        driver = LiveDriver(made.machine, made.handle, Held())
        for wait_ns in (3_000_000_000, -5):
            made.actions = [WakeAt(due_ns=driver._now() + wait_ns)]
            driver.deliver(CycleDue())
            assert len(driver._timers) == 1
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            assert not driver._timers
            assert isinstance(made.events[-1], TimerFired)
        return delays

    first, second = asyncio.run(run())
    assert 2.5 < first <= 3.001
    assert second == 0.001


def test_an_extender_is_called_in_a_thread_and_its_reply_delivered():
    call: Any = "the request"
    reply = ExtenderReply(status=200, body=b"{}")
    calls: list[Any] = []

    def call_extender(request: Any) -> ExtenderReply:
        calls.append((request, threading.current_thread() is threading.main_thread()))
        return reply

    async def run() -> list[Event]:
        made = Machines()
        driver = LiveDriver(made.machine, made.handle, Held(), call_extender=call_extender)
        made.actions = [CallExtender(7, call)]
        driver.deliver(CycleDue())
        await driver.finish(60)
        return made.events

    _, event = asyncio.run(run())
    assert event == ExtenderReplied(7, reply)
    assert calls == [(call, False)]
