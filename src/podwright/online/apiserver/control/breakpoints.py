"""Breakpoints over HTTP: list, add, remove. The clock lets a stopped cluster continue."""

from __future__ import annotations

import msgspec

from podwright.online.apiserver.breakpoints import Breakpoint, BreakpointHit, read_condition
from podwright.online.apiserver.control.endpoints import Endpoint, declared, endpoint
from podwright.online.apiserver.control.problems import Problem
from podwright.online.apiserver.turn_loop import TurnLoop


class NewBreakpoint(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
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
