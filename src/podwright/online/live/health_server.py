"""Serves metrics and health, as kube-scheduler does.

Upstream: cmd/kube-scheduler/app/server.go, `newEndpointsHandler`
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final, Self

from aiohttp import web

from podwright.online.live.health_checks import Check, Observe, health_text
from podwright.online.live.health_metrics import HealthMetrics
from podwright.scheduler.machine import CONTENT_TYPE

MetricsText = Callable[[], bytes]
_COUNTS_PATH: Final = "/metrics/slis"
_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class HealthServer:
    """`/healthz`, `/livez`, `/readyz` and metrics over HTTP; use it with `async with`.

    The results of the health checks are counted at `/metrics/slis`.

    Parameters
    ----------
    host, port : str, int
        0 for a free port.
    checks : mapping of str to sequence of Check
        Those of each endpoint, by its path. Each check is also at a path of its own.
    metrics : mapping of str to callable
        What returns the text of metrics, by path.
    """

    def __init__(
        self,
        host: str,
        port: int,
        checks: Mapping[str, Sequence[Check]],
        metrics: Mapping[str, MetricsText],
    ) -> None:
        self._host = host
        self._port = port
        counts = HealthMetrics()
        application = web.Application()
        application.router.add_get(_COUNTS_PATH, _metrics(counts.text))
        application.router.add_delete(_COUNTS_PATH, _reset(counts))
        for path, own in checks.items():
            application.router.add_get(path, _health(path, own, counts.observe))
            for check in own:
                application.router.add_get(f"{path}/{check.name}", _health(path, (check,)))
        for path, text in metrics.items():
            application.router.add_get(path, _metrics(text))
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


def _health(path: str, checks: Sequence[Check], observe: Observe | None = None) -> _Handler:
    async def reply(request: web.Request) -> web.StreamResponse:
        passes, text = health_text(
            path,
            checks,
            excluded=request.query.getall("exclude", []),
            is_verbose="verbose" in request.query,
            observe=observe,
        )
        return web.Response(text=text, status=200 if passes else 500)

    return reply


def _reset(counts: HealthMetrics) -> _Handler:
    async def reply(_: web.Request) -> web.StreamResponse:
        counts.reset()
        return web.Response(text="metrics reset\n")

    return reply


def _metrics(text: MetricsText) -> _Handler:
    async def reply(_: web.Request) -> web.StreamResponse:
        return web.Response(body=text(), headers={"Content-Type": CONTENT_TYPE})

    return reply
