"""Serves metrics and health, as kube-scheduler does.

Upstream: cmd/kube-scheduler/app/server.go, `newHealthEndpointsAndMetricsHandler`
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Self

from aiohttp import web

from podwright.machine import CONTENT_TYPE, Machine, render_text


class HealthServer:
    """`/healthz`, `/livez`, `/readyz` and `/metrics` over HTTP; use it with `async with`.

    Parameters
    ----------
    host, port : str, int
        0 for a free port.
    machine : Machine
    is_ready : callable
        Whether the objects of the cluster were listed.
    """

    def __init__(
        self, host: str, port: int, machine: Machine, is_ready: Callable[[], bool]
    ) -> None:
        self._host = host
        self._port = port
        self._machine = machine
        self._is_ready = is_ready
        application = web.Application()
        for path in ("/healthz", "/livez"):
            application.router.add_get(path, self._healthy)
        application.router.add_get("/readyz", self._ready)
        application.router.add_get("/metrics", self._metrics)
        self._runner = web.AppRunner(application)

    @property
    def port(self) -> int:
        """The port that is served."""
        return int(self._runner.addresses[0][1])

    async def __aenter__(self) -> Self:
        await self._runner.setup()
        await web.TCPSite(self._runner, self._host, self._port).start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    async def _healthy(self, _: web.Request) -> web.Response:
        return web.Response(text="ok")

    async def _ready(self, _: web.Request) -> web.Response:
        if self._is_ready():
            return web.Response(text="ok")
        return web.Response(text="[-]informer-sync failed\n", status=500)

    async def _metrics(self, _: web.Request) -> web.Response:
        text = render_text(self._machine.metrics_snapshot())
        return web.Response(body=text.encode(), headers={"Content-Type": CONTENT_TYPE})
