"""The loop around the machine in a real cluster.

Changes of objects are events; actions are requests that run side by side, and their replies are
events again. When no event waits and a pod is due, a cycle runs. All of it is one thread: only
requests are concurrent.

Upstream: pkg/scheduler/schedule_one.go, pkg/scheduler/eventhandlers.go
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator, Sequence
from typing import Any, Final

from podwright.apimachinery.objects import (
    Document,
    InvalidObject,
    KubernetesObject,
    Pod,
    api_group,
)
from podwright.apimachinery.schema import decode
from podwright.online.client import SteadyTime
from podwright.online.live.executors import Executor
from podwright.online.live.known_part import known_part
from podwright.scheduler.config import ExtenderCall, ExtenderReply
from podwright.scheduler.machine import (
    SELECTOR_KINDS,
    UNWATCHED_KINDS,
    Action,
    ApiCall,
    Bind,
    CallDone,
    CallExtender,
    CycleDue,
    EmitEvent,
    Event,
    ExtenderReplied,
    FlushBackoff,
    FlushUnschedulable,
    Machine,
    ObjectDeleted,
    ObjectPut,
    PatchPodStatus,
    TimerFired,
    WakeAt,
    changes_selector,
)

_CYCLES_AT_ONCE: Final = 64
"""How many cycles run before requests and replies get their turn."""

_CALLS_MAX: Final = 128
"""At how many unanswered calls no further cycle starts.

Without a limit, pods that are retried at once, as the members of a gang that does not fit, would
add calls faster than the server answers them.
"""

_COUNTED_CALLS: Final = {Bind: "pod_binding", PatchPodStatus: "pod_status_patch"}
"""The calls that metrics count, and upstream's names of them (`framework/api_calls`)."""


class LiveDriver:
    """Drives a machine by the changes of a cluster.

    Parameters
    ----------
    machine : Machine
        To read: whether a pod is due.
    handle : callable
        The `handle` of the machine, or of what records it.
    executor : Executor
    call_extender : callable, optional
        Calls an extender, in a thread.

    Attributes
    ----------
    bindings : int
        How many pods were bound.
    """

    def __init__(
        self,
        machine: Machine,
        handle: Callable[[Event, int], list[Action]],
        executor: Executor,
        *,
        call_extender: Callable[[ExtenderCall], ExtenderReply] | None = None,
    ) -> None:
        self.bindings = 0
        self._machine = machine
        self._handle = handle
        self._executor = executor
        self._call_extender = call_extender
        self._time = SteadyTime()
        self._now_ns = 0
        self._objects: dict[tuple[tuple[str, str], str], KubernetesObject] = {}
        self._wake = asyncio.Event()
        self._work: set[asyncio.Task[None]] = set()
        self._timers: set[asyncio.TimerHandle] = set()
        self._failed: BaseException | None = None
        self._call_count = 0
        self._waiting = Counter[str]()

    def pods(self) -> Iterator[Pod]:
        """Yield the pods of the cluster."""
        return (obj for obj in self._objects.values() if isinstance(obj, Pod))

    def put(self, document: Document) -> InvalidObject | None:
        """Deliver an object as it is now, with `kind` and `apiVersion`.

        Returns
        -------
        InvalidObject or None
            Why only its known part was delivered.

        Raises
        ------
        InvalidObject
            It has a value that is not known, and no part can be delivered.
        """
        kind = _kind_of(document)
        if kind in UNWATCHED_KINDS:
            return None
        unknown: InvalidObject | None = None
        try:
            obj: Any = decode(document)
        except InvalidObject as error:
            obj, unknown = known_part(document, error), error
        obj = self._executor.seen(obj)
        place = (kind, obj.key)
        before, self._objects[place] = self._objects.get(place), obj
        if kind in SELECTOR_KINDS and not changes_selector(before, obj):
            return unknown
        self.deliver(ObjectPut(obj))
        return unknown

    def delete(self, api_version: str, kind: str, key: str) -> None:
        """Deliver that an object was deleted."""
        obj: Any = self._objects.pop(((api_group(api_version), kind), key), None)
        if obj is not None:
            self.deliver(ObjectDeleted(obj))

    def deliver(self, event: Event) -> None:
        """Let the machine handle an event, and start its actions."""
        now_ns = self._now()
        began_ns = time.perf_counter_ns()
        actions = self._handle(event, now_ns)
        self._machine.metrics.report_spent(time.perf_counter_ns() - began_ns)
        for action in actions:
            self._begin(action, now_ns)
        self._wake.set()

    async def run(self) -> None:
        """Run cycles while pods are due, until cancelled."""
        flushes = asyncio.create_task(self._flush())
        try:
            while True:
                await self._wake.wait()
                self._wake.clear()
                if self._run_cycles():  # which has woken the next round, too
                    await asyncio.sleep(0)  # requests and replies get their turn
                self._raise_failure()
        finally:
            flushes.cancel()
            for timer in self._timers:
                timer.cancel()
            await asyncio.gather(flushes, return_exceptions=True)

    def _run_cycles(self) -> bool:
        """Run some cycles; return whether more are due."""
        for _ in range(_CYCLES_AT_ONCE):
            if not self._is_cycle_due:
                return False
            self.deliver(CycleDue())
        return self._is_cycle_due

    @property
    def _is_cycle_due(self) -> bool:
        # The answer to a call wakes the driver.
        return self._call_count < _CALLS_MAX and self._machine.has_next

    def _raise_failure(self) -> None:
        if self._failed is not None:
            raise self._failed

    async def finish(self, seconds: float) -> None:
        """Wait for the requests that are under way, at most a time."""
        if self._work:
            await asyncio.wait(self._work, timeout=seconds)

    def _begin(self, action: Action, now_ns: int) -> None:
        match action:
            case WakeAt(due_ns=due_ns):
                self._at(due_ns, now_ns)
            case EmitEvent():
                self._start(self._executor.emit(action, now_ns))
            case CallExtender():
                self._start(self._extend(action))
            case _:
                self._call_count += 1
                self._start(self._call(action))

    async def _call(self, call: ApiCall) -> None:
        try:
            events = await self._executed(call)
        finally:
            self._call_count -= 1
        for event in events:
            if isinstance(call, Bind) and isinstance(event, CallDone) and event.error is None:
                self.bindings += 1
            self.deliver(event)

    async def _executed(self, call: ApiCall) -> Sequence[Event]:
        """Execute a call, and count it if it is one that metrics count."""
        name = _COUNTED_CALLS.get(type(call))
        if name is None:
            return await self._executor.call(call)
        began_ns = time.perf_counter_ns()
        self._count_waiting(name, 1)
        try:
            events = await self._executor.call(call)
        finally:
            self._count_waiting(name, -1)
        has_failed = any(isinstance(each, CallDone) and each.error is not None for each in events)
        self._machine.metrics.observe(
            "scheduler_async_api_call_execution_duration_seconds",
            (name, "error" if has_failed else "success"),
            time.perf_counter_ns() - began_ns,
        )
        return events

    def _count_waiting(self, name: str, by: int) -> None:
        self._waiting[name] += by
        self._machine.metrics.set_gauge(
            "scheduler_pending_async_api_calls", (name,), self._waiting[name]
        )

    async def _extend(self, action: CallExtender) -> None:
        assert self._call_extender is not None, "a configuration with extenders has a caller"
        reply = await asyncio.to_thread(self._call_extender, action.request)
        self.deliver(ExtenderReplied(action.call, reply))

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._work.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._work.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._failed = error
            self._wake.set()

    def _at(self, due_ns: int, now_ns: int) -> None:
        def fire() -> None:
            self._timers.discard(timer)
            self.deliver(TimerFired())

        delay = max(0.0, (due_ns - now_ns) / 1e9) + 0.001
        timer = asyncio.get_running_loop().call_later(delay, fire)
        self._timers.add(timer)

    async def _flush(self) -> None:
        seconds = 0
        while True:
            await asyncio.sleep(1)
            seconds += 1
            self.deliver(FlushBackoff())
            if seconds % 30 == 0:
                self.deliver(FlushUnschedulable())

    def _now(self) -> int:
        self._now_ns = max(self._now_ns + 1, self._time())
        return self._now_ns


def _kind_of(document: Document) -> tuple[str, str]:
    return api_group(str(document["apiVersion"])), str(document["kind"])
