"""Breakpoints over HTTP: list, add, remove. The clock lets a stopped cluster go on."""

from __future__ import annotations

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from podwright.online.apiserver.breakpoints import Breakpoint, BreakpointHit, read_condition
from podwright.online.apiserver.control.endpoints import Endpoint, json_response
from podwright.online.apiserver.control.problems import Problem, read_body
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

    def _state(self) -> Response:
        found = self._cluster.breakpoints
        return json_response(BreakpointList(breakpoints=found.list(), stopped_at=found.hit))

    async def show(self, _: Request) -> Response:
        return self._state()

    async def add(self, request: Request) -> Response:
        text = (await read_body(request, NewBreakpoint)).condition

        def add(_: int) -> Breakpoint:
            if not self._cluster.world.components.options.has_scheduler:
                raise Problem(409, "an external scheduler is used, so there are no cycles")
            try:
                condition = read_condition(text, self._cluster.plugin_names())
                return self._cluster.add_breakpoint(condition)
            except ValueError as error:
                raise Problem(422, str(error), field="condition") from error

        return json_response(await self._turns.call(add))

    async def remove(self, request: Request) -> Response:
        text = request.path_params["number"]
        is_number = text.isascii() and text.isdecimal() and len(text) < 10

        def remove(_: int) -> bool:
            return is_number and self._cluster.breakpoints.remove(int(text))

        if not await self._turns.call(remove):
            raise Problem(404, f"there is no breakpoint {text}")
        return self._state()


def breakpoint_endpoints(turns: TurnLoop) -> list[Endpoint]:
    """Return the endpoints of the breakpoints."""
    endpoints = _Breakpoints(turns)
    return [
        Endpoint(
            method="GET",
            path="/breakpoints",
            summary="Show the breakpoints, and where the cluster has stopped",
            handler=endpoints.show,
            reply=BreakpointList,
        ),
        Endpoint(
            method="POST",
            path="/breakpoints",
            summary="Add a breakpoint on a pod or on the calls of a plugin",
            handler=endpoints.add,
            body=NewBreakpoint,
            reply=Breakpoint,
            problems={409: "an external scheduler is used"},
        ),
        Endpoint(
            method="DELETE",
            path="/breakpoints/{number}",
            summary="Remove a breakpoint; a cluster that has stopped at it stays stopped",
            handler=endpoints.remove,
            reply=BreakpointList,
            problems={404: "there is no such breakpoint"},
        ),
    ]
