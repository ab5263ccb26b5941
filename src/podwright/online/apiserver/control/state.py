"""The stream of the current state of nodes and queue, as server-sent events.

One feed of each scheduler serves all clients of a server. If another scheduler schedules the pods,
the feed has the nodes of the API and no queue. It is updated after a turn in which something
changed, at most ten times a second; between two parts that a client takes, changes are combined. A
client that was disconnected continues with the changes since the last event that it received.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Iterator
from typing import Any, Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from podwright.apimachinery.objects import format_duration, timestamp_text_nano
from podwright.online.apiserver.control.endpoints import Endpoint, declared, endpoint, long_reply
from podwright.online.apiserver.control.problems import Problem
from podwright.online.apiserver.control.scheduling.configuration import (
    NO_LOG,
    UNKNOWN,
    SchedulerParameter,
    chosen_scheduler,
    own_scheduler,
)
from podwright.online.apiserver.readers import Readers
from podwright.online.apiserver.scheduling.present_scheduler import FollowedNodes
from podwright.online.apiserver.scheduling.served_scheduler import ServedScheduler
from podwright.online.apiserver.turn_loop import TurnLoop
from podwright.online.apiserver.wire.defects import logged_defect
from podwright.online.apiserver.wire.latency import ANY, ApiLatency, LatencyRule, read_latency_rule
from podwright.online.apiserver.wire.sending import ABORT, STALL_SECONDS, Connection, start_message
from podwright.scheduler.machine import Machine
from podwright.simulation.recording import (
    TIMELINE_MEDIA_TYPE,
    CountPods,
    PresentState,
    counted_pods,
    encode_chunks,
    timeline_of_log,
)

EVENT_STREAM: Final = "text/event-stream"
INTERVAL_SECONDS: Final = 0.1
"""The least time between two updates."""

LAST_EVENT_ID: Final = "last-event-id"
_VERSION_DIGITS_MAX: Final = 19

_HEADERS: Final = (("content-type", EVENT_STREAM), ("cache-control", "no-store"))


class StateFeed:
    """The state of a cluster as one of its schedulers has it, updated while there are clients.

    Parameters
    ----------
    turns : TurnLoop
        Of the cluster.
    scheduler : ServedScheduler
    """

    def __init__(self, turns: TurnLoop, scheduler: ServedScheduler) -> None:
        self.turns = turns
        self._scheduler = scheduler
        self._followed: FollowedNodes | None = None
        self._state: PresentState | None = None
        self._is_current = False
        self._name = ""
        self._clients: set[asyncio.Event] = set()
        self._updating: asyncio.Task[None] | None = None
        self._time_ns = 0
        self._encoded: tuple[str, dict[int, bytes]] = ("", {})

    def join(self, changed: asyncio.Event) -> None:
        """Set an event when the state is there, and after each change, until `leave`."""
        self._clients.add(changed)
        if self._updating is None:
            self._updating = asyncio.ensure_future(self._keep_updating())
        elif self._is_current:
            changed.set()

    def leave(self, changed: asyncio.Event) -> None:
        """Set an event no more; the updates end with the last client."""
        self._clients.discard(changed)
        if not self._clients and self._updating is not None:
            self._updating.cancel()
            self._updating = None
            self._is_current = False

    @property
    def is_updated(self) -> bool:
        """Whether further changes follow."""
        return self._updating is not None

    async def _keep_updating(self) -> None:
        turned = asyncio.Event()
        self.turns.listen(turned)
        try:
            while not self.turns.is_stopping:
                turned.clear()
                source = await self._source()
                await self.turns.settle_world()
                is_changed = self._update(source)
                if is_changed or not self._is_current:
                    self._is_current = True
                    for client in self._clients:
                        client.set()
                await asyncio.sleep(INTERVAL_SECONDS)
                await turned.wait()
        except Exception as error:  # noqa: BLE001 - a defect, which must not stop the server
            logged_defect(error, "the stream of the state")
        finally:
            self.turns.unlisten(turned)
            if self._updating is asyncio.current_task():
                self._updating = None
                self._is_current = False
                for client in self._clients:
                    client.set()

    async def _source(self) -> tuple[Machine, CountPods]:
        """Return the machine with the current nodes, and what counts the pods."""
        turns = self.turns
        if turns.cluster.has_scheduler:
            machine = self._scheduler.world.machine
            return machine, lambda: counted_pods(machine)
        if self._followed is None:
            self._followed = FollowedNodes(turns.cluster.store, self._scheduler.options)
        is_behind = True
        while is_behind:
            is_behind = self._followed.take(turns.clock.now_ns())
            await asyncio.sleep(0)
        return self._followed.machine, self._followed.count_pods

    def _update(self, source: tuple[Machine, CountPods]) -> bool:
        """Update the state; return whether anything changed."""
        machine, count_pods = source
        if self._state is None or not self._state.is_of(machine):
            self._state = PresentState(machine, count_pods)
            # Versions of another state, or of the server before, must not be taken for its own.
            self._name = secrets.token_hex(4)
        is_changed = self._state.update()
        if is_changed:
            self._time_ns = self.turns.clock.now_ns()
        return is_changed

    def parts(self, last_id: str) -> tuple[str, Iterator[bytes]]:
        """Return the identifier of the current state, and an event with what leads to it.

        Parameters
        ----------
        last_id : str
            The identifier of the state that the client has; "" for none.
        """
        state = self._state
        assert state is not None, "updated before the first client is notified"
        present_id = f"{self._name}-{state.version}"
        name, _, version = last_id.partition("-")
        if name == self._name and version.isdecimal() and len(version) <= _VERSION_DIGITS_MAX:
            event = self._changes(state, present_id, int(version))
            if event is not None:
                return present_id, iter((event,))
        return present_id, _snapshot(state, present_id, self._time_ns)

    def _changes(self, state: PresentState, present_id: str, version: int) -> bytes | None:
        key = f"{present_id} {self._time_ns}"
        if self._encoded[0] != key:
            self._encoded = (key, {})
        encoded = self._encoded[1].get(version)
        if encoded is None:
            changes = state.changes_since(version)
            if changes is None:
                return None
            found = {
                "time": timestamp_text_nano(self._time_ns),
                "pods": state.pods,
                "fields": changes.fields,
                "nodes": changes.nodes,
                "slotIndex": changes.slots.tolist(),
                "fieldIndex": changes.field_index.tolist(),
                "values": changes.values.tolist(),
            }
            encoded = b"".join(_event("changes", present_id, (msgspec.json.encode(found),)))
            self._encoded[1][version] = encoded
        return encoded


def _snapshot(state: PresentState, present_id: str, time_ns: int) -> Iterator[bytes]:
    """Yield an event with the whole state, a column at a time."""
    head = {
        "time": timestamp_text_nano(time_ns),
        "pods": state.pods,
        "fields": state.fields,
        "nodes": state.nodes,
    }
    # Before the first part is taken: the state may change between two parts.
    begin, columns = msgspec.json.encode(head)[:-1], state.values.T.copy()

    def body() -> Iterator[bytes]:
        yield begin + b',"columns":['
        for index, column in enumerate(columns):
            yield b"," * (index > 0) + msgspec.json.encode(column.tolist())
        yield b"]}"

    return _event("snapshot", present_id, body())


def _event(kind: str, identifier: str, data: Any) -> Iterator[bytes]:
    yield f"event: {kind}\nid: {identifier}\ndata: ".encode()
    yield from data
    yield b"\n\n"


class StateParameters(SchedulerParameter, frozen=True, kw_only=True):
    """The parameters of the stream.

    Attributes
    ----------
    follow : bool
        Whether to send the changes after the first event; otherwise the stream ends there.
    """

    follow: bool = True


class _Stream(Response):
    """A reply that sends the events of a feed until the client leaves or the server stops."""

    def __init__(self, feed: StateFeed, last_id: str, *, follows: bool) -> None:
        super().__init__(media_type=EVENT_STREAM)
        self._feed = feed
        self._last_id = last_id
        self._follows = follows

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Send the events."""
        connection = Connection(receive, send, scope["state"].get(ABORT), STALL_SECONDS)
        changed = asyncio.Event()
        self._feed.join(changed)
        connection.gone.add_done_callback(lambda _: changed.set())
        try:
            await connection.send(start_message(200, _HEADERS))
            while True:
                await changed.wait()
                changed.clear()
                if connection.gone.done() or not self._feed.is_updated:
                    break
                self._last_id, parts = self._feed.parts(self._last_id)
                for part in parts:
                    if not await connection.send_part(part):
                        return
                    await asyncio.sleep(0)
                if not self._follows:
                    break
            await connection.send({"type": "http.response.body", "body": b""})
        finally:
            self._feed.leave(changed)
            connection.close()


def state_endpoints(turns: TurnLoop) -> list[Endpoint]:
    """Return the endpoint of the stream."""
    feeds = {each: StateFeed(turns, each) for each in turns.cluster.schedulers}

    @endpoint("GET", "/state", media_type=EVENT_STREAM, problems={404: UNKNOWN})
    async def show(request: Request, query: StateParameters) -> Response:
        """Stream the state of nodes and queue, and then its changes."""
        feed = feeds[chosen_scheduler(turns.cluster, query)]
        if request.method == "HEAD":
            return Response(headers=dict(_HEADERS))
        last_id = request.headers.get(LAST_EVENT_ID, "")
        return _Stream(feed, last_id, follows=query.follow)

    return declared(show)


# The latency of the Kubernetes API over HTTP: show the rules, or replace them.


class LatencyRules(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The rules, in the form of the option `--api-latency`.

    Attributes
    ----------
    rules : list of str
        The last one that matches a request applies.
    """

    rules: list[str]


class _Latency:
    """The endpoints."""

    def __init__(self, latency: ApiLatency) -> None:
        self._latency = latency

    @endpoint("GET", "/latency")
    async def show(self) -> LatencyRules:
        """Show the delays of requests of the Kubernetes API."""
        return LatencyRules([_text(rule) for rule in self._latency.rules])

    @endpoint("PUT", "/latency")
    async def replace(self, body: LatencyRules) -> LatencyRules:
        """Replace the delays of requests of the Kubernetes API."""
        rules: list[LatencyRule] = []
        for index, text in enumerate(body.rules):
            try:
                rules.append(read_latency_rule(text))
            except ValueError as error:
                raise Problem(422, str(error), field=f"rules[{index}]") from error
        self._latency.rules = tuple(rules)
        return await self.show()


def _text(rule: LatencyRule) -> str:
    duration = format_duration(rule.delay_ns)
    if rule.resource != ANY:
        return f"{rule.verb}:{rule.resource}={duration}"
    return duration if rule.verb == ANY else f"{rule.verb}={duration}"


def latency_endpoints(latency: ApiLatency) -> list[Endpoint]:
    """Return the endpoints of the latency."""
    return declared(_Latency(latency))


# The timeline of the scheduler's run, made by a reader process.


def timeline_endpoints(turns: TurnLoop) -> list[Endpoint]:
    """Return the endpoint of the timeline."""
    readers = Readers(turns)

    @endpoint(
        "GET", "/timeline", media_type=TIMELINE_MEDIA_TYPE, problems={404: UNKNOWN, 409: NO_LOG}
    )
    async def show(request: Request, query: SchedulerParameter) -> Response:
        """Get every change of nodes, pods and queue as columns of deltas."""
        scheduler = own_scheduler(turns.cluster, query)

        def content() -> bytes:
            world = scheduler.world
            if scheduler.timeline is not None:
                timeline = scheduler.timeline.timeline()
            else:
                timeline = timeline_of_log(world.log, plugins=world.components.options.plugins)
            return b"".join(encode_chunks(timeline))

        return await long_reply(request, readers, content, TIMELINE_MEDIA_TYPE)

    return declared(show)
