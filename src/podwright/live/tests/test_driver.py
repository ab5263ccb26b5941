"""The loop around the machine, with an executor of the test."""

import asyncio
from collections.abc import Sequence

from podwright.assembly import machine_of
from podwright.config import parse_gates
from podwright.live import Executor, LiveDriver
from podwright.live.api_calls import ApiCall
from podwright.machine import CallDone, EmitEvent, Event, Machine, SchedulerOptions
from podwright.objects import encode
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


def machine(gates: str = "") -> Machine:
    return machine_of(SchedulerOptions(gates=parse_gates(gates)))


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
