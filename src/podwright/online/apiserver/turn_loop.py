"""The turn loop: requests in, the world in slices, one commit, then replies and watches.

Theory of operation
-------------------
A turn
1. executes the requests that have arrived, for at most a slice of time, and some steps of a request
   that takes long, such as the deletion of a collection;
2. lets the world catch up with the clock, for at most a slice of time;
3. commits all writes of both together;
4. releases the replies, wakes the watches that have something to send, and starts the calls to
   extenders, which run in threads and come back as events.

Between two turns the event loop reads and writes connections. The loop sleeps when no request has
arrived and nothing of the world is due. A write with a large body, and a slice of the world that
may take long, are executed in a thread, see `computing_threads`; meanwhile, turns execute reads
only.

A slice of the world costs little more for ten pods than for one. While several clients send
requests at once, steps 2 and the watches therefore wait for a short time after the last slice, and
these turns execute requests only. A single client, whose requests follow each other, finds the
consequences of its last request as soon as without this.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, NamedTuple, Protocol, TypeAlias, TypeVar

from podwright._garbage import frozen_creations
from podwright.cluster.api.endpoints import HttpReply, HttpRequest, LongRequest, Watch
from podwright.cluster.store import ObjectStore, UnusableStore
from podwright.online.apiserver.cluster import Cluster
from podwright.online.apiserver.cluster_clock import ClusterClock, with_lease_warning
from podwright.online.apiserver.computing_threads import (
    SLICE_SECONDS,
    ComputingThread,
    ExtenderThreads,
    LongSlices,
    share_with_thread,
)
from podwright.online.apiserver.free_memory import collect_young
from podwright.online.apiserver.scheduling.served_scheduler import ServedScheduler
from podwright.online.apiserver.wire.defects import answered as answered_by
from podwright.scheduler.config import ExtenderReply
from podwright.simulation.world import World

T = TypeVar("T")

REQUESTS_NS: Final = 4_000_000
LONG_REQUEST_NS: Final = 2_000_000
WORLD_NS: Final = 6_000_000
"""How long new requests, a request that takes long, and the world may take in one turn before the
others have their turn; each may exceed it by one step."""

WORLD_PAUSE_NS: Final = 3_000_000
"""The default of `world_pause_ns`."""

WITHOUT_MAX: Final = 20
"""The most turns in a row without requests, while the world is late."""

CHECKPOINT_SLICE_SECONDS: Final = 0.002
"""How long the event loop waits at once for the thread that writes a checkpoint."""

CALL_SLICE_SECONDS: Final = 0.0001
CALL_PAUSE_SECONDS: Final = 0.005
"""How long the event loop waits at once for the threads that call extenders, which compute little,
and how long it continues in between."""

_READS: Final = ("GET", "HEAD")

Waiting: TypeAlias = "asyncio.Future[HttpReply | Watch]"
Begun: TypeAlias = HttpReply | Watch | LongRequest
Answered: TypeAlias = list[tuple[Waiting, HttpReply | Watch]]


class _Beside(NamedTuple):
    """What a thread executes beside the event loop.

    Attributes
    ----------
    thread : ComputingThread
    end : callable
        Receives the result, and the requests that are answered in this turn.
    request : Future, optional
        Of a request.
    """

    thread: ComputingThread[Any]
    end: Callable[[Any, Answered], None]
    request: Waiting | None = None


class WatchSubscription:
    """A watch that is sent on a connection.

    Attributes
    ----------
    watch : Watch
    wake : asyncio.Event
        Set by the turn loop when the watch has something to send, or ends.
    """

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self.wake = asyncio.Event()


class ChangeFollower(Protocol):
    """Receives the changes of a store, for example to record them."""

    def begin(self, store: ObjectStore, now_ns: int) -> None:
        """Take the current objects, and follow the later changes."""

    def append(self, now_ns: int) -> None:
        """Take the changes since the last call, which become visible to clients now."""


class TurnLoop:
    """Executes the requests of all connections on one cluster.

    Parameters
    ----------
    cluster : Cluster
    clock : ClusterClock
        Of the cluster.
    followers : sequence of ChangeFollower
        Receive the changes of each turn after its commit. They start when the loop is created.
    world_pause_ns : int
        How long after its last slice the world waits while several clients send requests at once.
    """

    def __init__(
        self,
        cluster: Cluster,
        clock: ClusterClock,
        followers: Sequence[ChangeFollower] = (),
        *,
        world_pause_ns: int = WORLD_PAUSE_NS,
    ) -> None:
        self.cluster = cluster
        self.clock = clock
        self._followers = followers
        for each in followers:
            each.begin(cluster.store, clock.now_ns())
        self._queue: deque[tuple[HttpRequest, Waiting]] = deque()
        self._calls: deque[tuple[Callable[[int], Any], asyncio.Future[Any]]] = deque()
        self._subscriptions: set[WatchSubscription] = set()
        self._listeners: set[asyncio.Event] = set()
        self._wake = asyncio.Event()
        self._is_stopping = self._has_ended = False
        self._is_caught_up = False
        self._are_clients_concurrent = False
        self._has_paused = False
        self._world_ended_ns = 0
        self._late_steps: int | None = None
        self._turns_without: int
        self._world_pause_ns = world_pause_ns
        self._failure: Exception | None = None
        self._reached: list[tuple[int, asyncio.Future[None]]] = []
        self._long: deque[tuple[LongRequest, HttpRequest, Waiting]] = deque()
        self._beside: _Beside | None = None
        self._after_beside: deque[tuple[HttpRequest, Waiting]] = deque()
        self._executed: asyncio.Future[Any] | None = None
        """Of the latest request or call; waits for ever if what it needs ends the loop."""
        self._long_slices = LongSlices(cluster.store.large)
        self._extenders: dict[ServedScheduler, ExtenderThreads] = {}
        self._shares: dict[threading.Event, asyncio.Task[None]] = {}
        self._checkpoint: threading.Thread | None = None

    async def execute(self, request: HttpRequest) -> HttpReply | Watch:
        """Execute a request in the next turn, and return its reply once it is durable.

        Raises
        ------
        CancelledError
            The server stops, for example because the store cannot write.
        """
        future: Waiting = self._new_future()
        self._queue.append((request, future))
        self._wake.set()
        return await future

    async def call(self, function: Callable[[int], T]) -> T:
        """Call a function in the next turn, and return its result once its writes are durable.

        Parameters
        ----------
        function : callable
            Receives the time of the cluster. It may read and change the cluster; what it raises
            is raised here.

        Raises
        ------
        CancelledError
            As for `execute`.
        """
        future: asyncio.Future[T] = self._new_future()
        self._calls.append((function, future))
        self._wake.set()
        return await future

    def _new_future(self) -> asyncio.Future[Any]:
        """Return a future of the next turn, which is cancelled if there is none any more.

        Clients send requests on open connections until these are closed.
        """
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        if self._has_ended:
            future.cancel()
        return future

    def subscribe(self, watch: Watch) -> WatchSubscription:
        """Add a watch, which is woken when it has something to send."""
        subscription = WatchSubscription(watch)
        subscription.wake.set()
        self._subscriptions.add(subscription)
        self._wake.set()
        return subscription

    def unsubscribe(self, subscription: WatchSubscription) -> None:
        """Remove a watch whose connection has ended."""
        self._subscriptions.discard(subscription)

    def listen(self, turned: asyncio.Event) -> None:
        """Set an event after each turn, and when the loop ends, until `unlisten`."""
        self._listeners.add(turned)

    def unlisten(self, turned: asyncio.Event) -> None:
        """Set an event no more."""
        self._listeners.discard(turned)

    def stop(self) -> None:
        """End `run` after the current turn, and all watches."""
        self._is_stopping = True
        self._wake.set()

    @property
    def is_caught_up(self) -> bool:
        """Whether nothing that was due in the last turn is left."""
        has_calls = self._calls and not self.cluster.is_resting
        return self._is_caught_up and not self._queue and not has_calls

    def go_on(self) -> None:
        """Let a cluster that has stopped at a breakpoint continue with the next turn."""
        self.cluster.breakpoints.release()
        self._is_caught_up = False
        self._wake.set()

    def wake(self) -> None:
        """Start a turn, for example because the clock has changed."""
        self._wake.set()

    async def settle_world(self) -> None:
        """Wait until no thread executes a slice of the world.

        The schedulers can be read until the caller waits for something else.
        """
        turned = asyncio.Event()
        self.listen(turned)
        while self._beside is not None and self._beside.request is None:
            turned.clear()
            await turned.wait()
        self.unlisten(turned)

    async def reach(self, time_ns: int) -> None:
        """Wait until everything is processed that is due until a time of the cluster.

        Raises
        ------
        CancelledError
            The server stops.
        """
        future: asyncio.Future[None] = self._new_future()
        self._reached.append((time_ns, future))
        self._wake.set()
        await future

    @property
    def is_stopping(self) -> bool:
        """Whether the server ends, so that watches should."""
        return self._is_stopping

    async def run(self) -> None:
        """Process turns until `stop` is called.

        Raises
        ------
        UnusableStore
            The store cannot write. Requests that wait are cancelled.
        """
        try:
            while not self._is_stopping:
                if self.is_caught_up or (self._beside is not None and not self._queue):
                    await self._sleep()
                elif not self._queue and self._is_world_waiting:
                    await self._wait_for_requests()
                self._wake.clear()
                if self._failure is not None:
                    raise self._failure
                self._is_caught_up = self._turn()
                self._release_reached()
                # Connections read and write here.
                await asyncio.sleep(0)
        finally:
            self._is_stopping = self._has_ended = True
            self._wake_all()
            for share in list(self._shares.values()):
                share.cancel()
            for _, future in (*self._queue, *self._after_beside, *self._calls):
                future.cancel()
            for *_, future in self._long:
                future.cancel()
            if self._executed is not None:
                self._executed.cancel()
            self._end_beside()
            if self._checkpoint is not None:  # whoever reads the log next must find all of it
                self._checkpoint.join()
            for _, reached in self._reached:
                reached.cancel()

    async def _sleep(self) -> None:
        # The thread beside the loop ends the sleep; all else waits for it.
        seconds = self._seconds_to_sleep() if self._beside is None else None
        if seconds is not None and seconds <= 0:
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._wake.wait()

    @property
    def _is_world_waiting(self) -> bool:
        """Whether the world leaves the turn to clients; its next slice then processes more."""
        if not self._are_clients_concurrent or self._is_stopping:
            return False
        if self._calls or self._reached or self._long or self.cluster.late_steps is not None:
            return False
        return time.perf_counter_ns() - self._world_ended_ns < self._world_pause_ns

    def _takes_requests(self) -> bool:
        """Whether a turn executes requests: while the world is late, only after a step of it.

        Otherwise the changes of requests would be all that it receives, on a busy computer.
        """
        steps = self.cluster.late_steps
        if self._beside is not None:
            return True
        if steps is not None and steps == self._late_steps and self._turns_without < WITHOUT_MAX:
            self._turns_without += 1
            return False
        self._late_steps, self._turns_without = steps, 0
        return True

    async def _wait_for_requests(self) -> None:
        """Wait for a request, or until the next slice of the world is due."""
        waited_ns = time.perf_counter_ns() - self._world_ended_ns
        seconds = max(self._world_pause_ns - waited_ns, 0) / 1e9
        timer = asyncio.get_running_loop().call_later(seconds, self._wake.set)
        await self._wake.wait()
        timer.cancel()

    def _seconds_to_sleep(self) -> float | None:
        due = [sub.watch.next_due_ns for sub in self._subscriptions]
        world_ns = self.cluster.next_due_ns
        if world_ns is not None:
            due.append(world_ns)
        return self.clock.real_seconds_until(min(due)) if due else None

    def _turn(self) -> bool:
        """Process one turn; return whether nothing that is due is left."""
        now_ns = self.clock.now_ns()
        answered: Answered = []
        called: list[tuple[asyncio.Future[Any], Callable[[], Any]]] = []
        is_committed = False
        begin_ns = time.perf_counter_ns()
        try:
            with self.cluster.store.batch():
                if self._beside is None:
                    self.cluster.begin_turn(now_ns)
                self.cluster.server.only_reads = self._beside is not None
                self._execute_queued(now_ns, answered, _until(begin_ns + REQUESTS_NS))
                self.cluster.server.only_reads = False
                # A read that is answered does not wait for the thread that computes.
                self._advance_beside(answered, 0.0 if answered else SLICE_SECONDS)
                if len(answered) > 1:
                    self._are_clients_concurrent = True
                is_caught_up = self._beside is None and self._advance_all(now_ns, answered, called)
            if self.cluster.breakpoints.hit is not None:
                self.clock.pause()
            for each in self._followers:
                # Clients see the changes from now on, not from the start of the turn.
                each.append(self.clock.now_ns())
            is_committed = True
        finally:
            if not is_committed:
                for future, _ in (*answered, *called):
                    future.cancel()
        for future, reply in answered:
            if not future.done():  # the connection has not ended meanwhile
                future.set_result(reply)
        for future, settle in called:
            if not future.done():
                settle()
        if (
            not self._has_paused
        ):  # watches send the changes of all turns since the last slice at once
            self._wake_due(now_ns)
        self._begin_extender_calls()
        self._begin_checkpoint()
        collect_young()
        return is_caught_up

    def _advance_all(
        self,
        now_ns: int,
        answered: Answered,
        called: list[tuple[asyncio.Future[Any], Callable[[], Any]]],
    ) -> bool:
        """Execute calls and a long request, and the world; return whether nothing due is left."""
        if not self._has_paused:  # calls see the consequences of earlier requests
            self._execute_calls(now_ns, called)
        self._advance_long(now_ns, answered)
        return self._beside is None and self._advance_world(now_ns) and not self._long

    def _advance_world(self, now_ns: int) -> bool:
        """Let the world catch up unless it waits; return whether nothing that is due is left."""
        self._has_paused = self._is_world_waiting
        if self._has_paused:
            return False
        results: list[bool] = []

        def catch_up() -> None:
            begin_ns = time.thread_time_ns()
            # However much the requests took.
            is_over = _until(time.perf_counter_ns() + WORLD_NS)
            results.append(self.cluster.catch_up(now_ns, is_over))
            self._long_slices.add(time.thread_time_ns() - begin_ns)

        def end(*_: object) -> None:
            self._are_clients_concurrent = False
            self._world_ended_ns = time.perf_counter_ns()

        if self._long_slices.is_next_long:
            self._compute(catch_up, end)
            self._advance_beside([], WORLD_NS / 1e9)
        else:
            catch_up()
            end()
        return self._beside is None and results[0]

    def _compute(
        self,
        execute: Callable[[], T],
        end: Callable[[T, Answered], None],
        request: Waiting | None = None,
    ) -> None:
        """Start to execute something beside the loop; see `_Beside`."""
        loop = asyncio.get_running_loop()

        def wake() -> None:
            with contextlib.suppress(RuntimeError):  # the server has ended
                loop.call_soon_threadsafe(self._wake.set)

        self._beside = _Beside(ComputingThread(execute, wake), end, request)

    def _advance_beside(self, answered: Answered, seconds: float = SLICE_SECONDS) -> None:
        """Let the thread beside the loop use the cluster, until it computes after a slice."""
        beside = self._beside
        if beside is None:
            return
        try:
            has_ended = beside.thread.advance(seconds)
        except BaseException:
            self._beside = None
            if beside.request is not None:
                beside.request.cancel()
            raise
        if has_ended:
            self._beside = None
            self._queue.extendleft(reversed(self._after_beside))
            self._after_beside.clear()
            beside.end(beside.thread.result, answered)

    def _end_beside(self) -> None:
        """End the thread beside the loop; a step of the world is completed."""
        beside, self._beside = self._beside, None
        if beside is None:
            return
        if beside.request is not None:
            beside.thread.abandon()
            beside.request.cancel()
            return
        # What it raises comes after what has ended the loop.
        with contextlib.suppress(Exception), self.cluster.store.batch():
            beside.thread.advance(-1)

    def _begin_checkpoint(self) -> None:
        """Write a checkpoint of the decision log in a thread, while the world rests."""
        cluster = self.cluster
        if self._beside is not None or cluster.is_resting or not cluster.is_checkpoint_due:
            return
        cluster.is_resting = True
        loop, is_done = asyncio.get_running_loop(), threading.Event()

        def end(failure: Exception | None) -> None:
            cluster.is_resting = False
            self._failure = failure
            self._wake.set()

        def write() -> None:
            failure: Exception | None = None
            try:
                with frozen_creations():
                    cluster.write_checkpoint()
            except Exception as error:  # noqa: BLE001 - raised in the loop
                failure = error
            is_done.set()
            with contextlib.suppress(RuntimeError):  # the server has ended
                loop.call_soon_threadsafe(end, failure)

        self._checkpoint = threading.Thread(target=write, name="checkpoint")
        self._checkpoint.start()
        self._share(is_done, CHECKPOINT_SLICE_SECONDS)

    def _share(
        self, is_done: threading.Event, slice_seconds: float, pause_seconds: float = 0.0
    ) -> None:
        """Let a thread have slices of the event loop until it is done; see `share_with_thread`."""

        async def share() -> None:
            try:
                await share_with_thread(
                    is_done, slice_seconds=slice_seconds, pause_seconds=pause_seconds
                )
            finally:
                del self._shares[is_done]

        if is_done not in self._shares:
            self._shares[is_done] = asyncio.create_task(share())

    def _release_reached(self) -> None:
        """Release those who wait for a time, once nothing is left that is due until then."""
        if not self._reached or self.cluster.is_resting or self._beside is not None:
            return
        due_ns = self.cluster.next_due_ns
        waiting, self._reached = self._reached, []
        for time_ns, future in waiting:
            worlds_ns = min(each.world.now_ns for each in self.cluster.schedulers)
            is_reached = worlds_ns >= time_ns or self._is_caught_up
            if is_reached and (due_ns is None or due_ns > time_ns):
                if not future.done():
                    future.set_result(None)
            else:
                self._reached.append((time_ns, future))

    def _begin_extender_calls(self) -> None:
        """Start the calls to extenders of this turn, whose writes are durable now."""
        for scheduler in self.cluster.schedulers:
            # A thread beside the loop may add some.
            if self._beside is None and scheduler.extender_calls:
                self._begin_calls(scheduler)

    def _begin_calls(self, scheduler: ServedScheduler) -> None:
        call_extender, world = scheduler.call_extender, scheduler.world
        assert call_extender is not None, "a configuration with extenders and no call_extender"
        threads = self._extenders.get(scheduler)
        if threads is None or threads.call is not call_extender:
            loop = asyncio.get_running_loop()

            def replied(number: int, reply: ExtenderReply) -> None:
                with contextlib.suppress(RuntimeError):  # the server has ended
                    loop.call_soon_threadsafe(self._take_reply, scheduler, world, number, reply)

            threads = self._extenders[scheduler] = ExtenderThreads(call_extender, replied)
        for number, call in scheduler.extender_calls:
            threads.begin(number, call)
        scheduler.extender_calls.clear()
        self._share(threads.is_idle, CALL_SLICE_SECONDS, CALL_PAUSE_SECONDS)

    def _take_reply(
        self, scheduler: ServedScheduler, world: World, number: int, reply: ExtenderReply
    ) -> None:
        # Replies to a configuration that was replaced meanwhile are late.
        if world is scheduler.world:
            world.extender_replied(number, reply)
            self._wake.set()

    def _execute_queued(
        self,
        now_ns: int,
        answered: Answered,
        is_over: Callable[[], bool],
    ) -> None:
        while self._queue and (answered or self._takes_requests()):
            request, future = self._queue.popleft()
            if future.done():
                continue
            is_long = self.cluster.server.computes_long(request)
            if self._beside is not None:
                if is_long or request.method not in _READS:
                    self._after_beside.append((request, future))
                    continue
            elif is_long:
                # Reads that have arrived after it are answered before it uses the cluster.
                self._begin_large(request, future, now_ns)
                self.cluster.server.only_reads = True
                continue
            self._executed = future
            self._answer(self.cluster.handle(request, now_ns), request, future, answered)
            if is_over():
                return

    def _begin_large(self, request: HttpRequest, future: Waiting, now_ns: int) -> None:
        def end(reply: Begun, answered: Answered) -> None:
            self._answer(reply, request, future, answered)

        self._compute(partial(self.cluster.handle, request, now_ns), end, future)

    def _answer(
        self, reply: Begun, request: HttpRequest, future: Waiting, answered: Answered
    ) -> None:
        if isinstance(reply, LongRequest):
            self._long.append((reply, request, future))
            return
        if isinstance(reply, HttpReply):
            reply = with_lease_warning(request, reply, self.clock)
        answered.append((future, reply))

    def _advance_long(self, now_ns: int, answered: Answered) -> None:
        """Execute some steps of one of the requests that take long, each in turn.

        A request whose client has left continues, as a transaction of etcd would.
        """
        if not self._long:
            return
        long, request, future = self._long.popleft()
        self._executed = future
        is_over = _until(time.perf_counter_ns() + LONG_REQUEST_NS)

        def advance() -> HttpReply | None:
            return answered_by(lambda *_: long.advance(is_over), request, now_ns)

        def end(reply: HttpReply | None, answered: Answered) -> None:
            if reply is None:
                self._long.append((long, request, future))
            else:
                answered.append((future, reply))

        if self.cluster.server.has_policies:
            self._compute(advance, end, future)
            self._advance_beside(answered)
        else:
            end(advance(), answered)

    def _execute_calls(
        self, now_ns: int, called: list[tuple[asyncio.Future[Any], Callable[[], Any]]]
    ) -> None:
        # These may use the scheduler, of which a checkpoint is being written while it rests.
        while self._calls and not self.cluster.is_resting:
            function, future = self._calls.popleft()
            if future.done():
                continue
            self._executed = future
            try:
                settle = partial(future.set_result, function(now_ns))
            except UnusableStore:
                raise
            except Exception as error:  # noqa: BLE001 - the caller receives it
                settle = partial(future.set_exception, error)
            called.append((future, settle))

    def _wake_due(self, now_ns: int) -> None:
        for subscription in self._subscriptions:
            watch = subscription.watch
            if watch.is_behind or watch.next_due_ns <= now_ns:
                subscription.wake.set()
        for turned in self._listeners:
            turned.set()

    def _wake_all(self) -> None:
        for subscription in self._subscriptions:
            subscription.wake.set()
        for turned in self._listeners:
            turned.set()


def _until(end_ns: int) -> Callable[[], bool]:
    """Return a function that says whether a slice of real time has ended."""
    return lambda: time.perf_counter_ns() >= end_ns
