"""The clock of the cluster over HTTP: show, pause, resume, step, speed, run to a time.

A step is answered when everything that is due until its end has been processed.
"""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

from podwright.apimachinery.objects import (
    InputError,
    parse_duration,
    read_time,
    timestamp_text_nano,
)
from podwright.online.apiserver.breakpoints import Breakpoint, BreakpointHit, read_condition
from podwright.online.apiserver.cluster_clock import SPEED_MAX, SPEED_MIN
from podwright.online.apiserver.control.endpoints import Endpoint, declared, endpoint
from podwright.online.apiserver.control.problems import Problem
from podwright.online.apiserver.turn_loop import TurnLoop

STEP_MAX_NS: Final = 10 * 366 * 24 * 3_600 * 1_000_000_000
"""Ten years; a longer step is a mistake."""


class ClockState(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The state of the clock.

    Attributes
    ----------
    time : str
        The time of the cluster.
    speed : float
        How many seconds of the cluster a real second is, while it is not paused.
    is_paused : bool
    is_caught_up : bool
        Whether everything that is due by now has been processed.
    stopped_at : int, optional
        The number of the breakpoint at which the cluster has stopped; null while it runs.
    """

    time: str
    speed: float
    is_paused: bool
    is_caught_up: bool
    stopped_at: int | None


class ClockStep(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How far to step the clock."""

    duration: str


class ClockSpeed(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The speed of the clock."""

    speed: Annotated[float, msgspec.Meta(ge=SPEED_MIN, le=SPEED_MAX)]


class ClockTarget(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The time to run to."""

    time: str


class _Clock:
    """The endpoints."""

    def __init__(self, turns: TurnLoop) -> None:
        self._turns = turns
        self._clock = turns.clock

    @endpoint("GET", "/clock")
    async def show(self) -> ClockState:
        """Show the clock."""
        clock, hit = self._clock, self._turns.cluster.breakpoints.hit
        return ClockState(
            time=timestamp_text_nano(clock.now_ns()),
            speed=clock.speed,
            is_paused=clock.is_paused,
            is_caught_up=self._turns.is_caught_up and hit is None,
            stopped_at=None if hit is None else hit.breakpoint,
        )

    @endpoint("POST", "/clock/pause")
    async def pause(self) -> ClockState:
        """Pause the clock."""
        self._clock.pause()
        await self._turns.reach(self._clock.now_ns())
        return await self.show()

    @endpoint("POST", "/clock/resume")
    async def resume(self) -> ClockState:
        """Let the clock continue."""
        self._clock.resume()
        self._turns.go_on()
        return await self.show()

    @endpoint("POST", "/clock/step")
    async def step(self, body: ClockStep) -> ClockState:
        """Step the clock by a duration."""
        try:
            duration_ns = parse_duration(body.duration)
        except ValueError as error:
            raise Problem(422, str(error), field="duration") from error
        if not 0 < duration_ns <= STEP_MAX_NS:
            raise Problem(422, "must be positive, and at most ten years", field="duration")
        return await self._advance(self._clock.now_ns() + duration_ns, field="duration")

    @endpoint("POST", "/clock/speed")
    async def set_speed(self, body: ClockSpeed) -> ClockState:
        """Set the speed of the clock."""
        self._clock.set_speed(body.speed)
        self._turns.wake()
        return await self.show()

    @endpoint("POST", "/clock/run-to")
    async def run_to(self, body: ClockTarget) -> ClockState:
        """Run to a time."""
        now_ns = self._clock.now_ns()
        try:
            time_ns = read_time(body.time, "time", start_ns=None)
        except InputError as error:
            raise Problem(422, error.errors[0].message, field="time") from error
        if time_ns < now_ns:
            now = timestamp_text_nano(now_ns)
            raise Problem(422, f"has passed: it is {now} in the cluster", field="time")
        if time_ns - now_ns > STEP_MAX_NS:
            raise Problem(422, "is more than ten years ahead", field="time")
        return await self._advance(time_ns, field="time")

    async def _advance(self, time_ns: int, *, field: str) -> ClockState:
        try:
            self._clock.run_to(max(time_ns, self._clock.now_ns()))
        except ValueError as error:
            raise Problem(422, str(error), field=field) from error
        self._turns.go_on()
        await self._turns.reach(time_ns)
        return await self.show()


def clock_endpoints(turns: TurnLoop) -> list[Endpoint]:
    """Return the endpoints of the clock."""
    return declared(_Clock(turns))


# Breakpoints over HTTP: list, add, remove. The clock lets a stopped cluster continue.


class NewBreakpoint(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The condition of a breakpoint, in the form of the option `--break`."""

    condition: str


class BreakpointList(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The breakpoints.

    Attributes
    ----------
    breakpoints : list of Breakpoint
    stopped_at : BreakpointHit, optional
        Where the cluster has stopped; null while it runs.
    """

    breakpoints: list[Breakpoint]
    stopped_at: BreakpointHit | None


class _Breakpoints:
    """The endpoints."""

    def __init__(self, turns: TurnLoop) -> None:
        self._turns = turns
        self._cluster = turns.cluster

    @endpoint("GET", "/breakpoints")
    async def show(self) -> BreakpointList:
        """Show the breakpoints, and where the cluster has stopped."""
        found = self._cluster.breakpoints
        return BreakpointList(breakpoints=found.list(), stopped_at=found.hit)

    @endpoint("POST", "/breakpoints", problems={409: "an external scheduler is used"})
    async def add(self, body: NewBreakpoint) -> Breakpoint:
        """Add a breakpoint on a pod or on the calls of a plugin."""

        def add(_: int) -> Breakpoint:
            if not self._cluster.world.components.options.has_scheduler:
                raise Problem(409, "an external scheduler is used, so there are no cycles")
            try:
                condition = read_condition(body.condition, self._cluster.plugin_names())
                return self._cluster.add_breakpoint(condition)
            except ValueError as error:
                raise Problem(422, str(error), field="condition") from error

        return await self._turns.call(add)

    @endpoint("DELETE", "/breakpoints/{number}", problems={404: "there is no such breakpoint"})
    async def remove(self, number: str) -> BreakpointList:
        """Remove a breakpoint; a cluster that has stopped at it stays stopped."""
        is_number = number.isascii() and number.isdecimal() and len(number) < 10

        def remove(_: int) -> bool:
            return is_number and self._cluster.breakpoints.remove(int(number))

        if not await self._turns.call(remove):
            raise Problem(404, f"there is no breakpoint {number}")
        return await self.show()


def breakpoint_endpoints(turns: TurnLoop) -> list[Endpoint]:
    """Return the endpoints of the breakpoints."""
    return declared(_Breakpoints(turns))
