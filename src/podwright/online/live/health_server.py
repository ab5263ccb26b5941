"""Serves metrics, those of the process included, and health, as kube-scheduler does.

Upstream: cmd/kube-scheduler/app/server.go, `newEndpointsHandler`;
staging/src/k8s.io/component-base/metrics/prometheus/slis,
staging/src/k8s.io/apiserver/pkg/server/healthz/healthz.go;
staging/src/k8s.io/component-base/metrics/prometheus/restclient/metrics.go,
staging/src/k8s.io/component-base/metrics/prometheus/clientgo/leaderelection/metrics.go;
cmd/kube-scheduler/app/server.go, `Run`; staging/src/k8s.io/apiserver/pkg/server/healthz/healthz.go.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from typing import Final, Protocol, Self
from urllib.parse import urlsplit

import msgspec
from aiohttp import web
from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    Metric,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.registry import Collector

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
        Those of each endpoint, by its path. Each check is also at a separate path.
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
                application.router.add_get(f"{path}/{check.name}", _single(check))
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


def _health(path: str, checks: Sequence[Check], observe: Observe) -> _Handler:
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


def _single(check: Check) -> _Handler:
    async def reply(_: web.Request) -> web.StreamResponse:
        if check.passes():
            return web.Response(text="ok")
        return web.Response(text=f"internal server error: {check.failure}\n", status=500)

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


# The counts of health checks, at `/metrics/slis`.
#
# A check is counted when an endpoint with several checks makes it, not at the path of its own and
# not while it is excluded.

_START_TIME: Final = "process_start_time_seconds"


class _ProcessStart(Collector):
    """When the process started, by which readers of the counts recognize a new process."""

    def __init__(self) -> None:
        self._process = ProcessCollector(registry=None)

    def collect(self) -> Iterator[Metric]:
        """Yield the time; nothing where the system does not report it."""
        yield from (each for each in self._process.collect() if each.name == _START_TIME)


class HealthMetrics:
    """The results of health checks."""

    def __init__(self) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]  # as the library has it
        self._registry = CollectorRegistry()
        self._last = Gauge(
            "kubernetes_healthcheck",
            "The last result of a health check: 1 if it passed.",
            ("name", "type"),
            registry=self._registry,
        )
        self._all = Counter(
            "kubernetes_healthchecks",
            "Health checks by their result.",
            ("name", "status", "type"),
            registry=self._registry,
        )
        self._registry.register(_ProcessStart())

    def observe(self, name: str, endpoint: str, *, passes: bool) -> None:
        """Count a check.

        Parameters
        ----------
        name : str
        endpoint : str
            `healthz`, `livez` or `readyz`.
        passes : bool
        """
        self._last.labels(name, endpoint).set(passes)
        self._all.labels(name, "success" if passes else "error", endpoint).inc()

    def reset(self) -> None:
        """Forget the results so far."""
        self._last.clear()
        self._all.clear()

    def text(self) -> bytes:
        """Return the metrics in the text format of Prometheus."""
        return generate_latest(self._registry)


# Metrics of the process and of its requests, with the names of Kubernetes' components.
#
# Those of the machine are counted by the machine.

_SECONDS: Final = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)


class ProcessMetrics:
    """What is counted of the process.

    Parameters
    ----------
    lease : str
        The name of the Lease; "" without an election.
    """

    def __init__(self, lease: str) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]  # as the library has it
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        self._requests = Counter(
            "rest_client_requests",
            "Requests to the API server, by status code, method and host.",
            ("code", "method", "host"),
            registry=self._registry,
        )
        self._durations = Histogram(
            "rest_client_request_duration_seconds",
            "Latency of requests to the API server, by verb and host.",
            ("verb", "host"),
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._leads: Gauge | None = None
        if lease:
            status = Gauge(
                "leader_election_master_status",
                "Whether this process holds the lease (1) or waits for it (0).",
                ("name",),
                registry=self._registry,
            )
            self._leads = status.labels(lease)

    def replied(self, verb: str, server: str, status: int, seconds: float) -> None:
        """Count a request.

        Parameters
        ----------
        verb : str
            Of HTTP.
        server : str
            The address of the API server.
        status : int
            The HTTP status.
        seconds : float
            From its sending to the headers of the reply.
        """
        host = urlsplit(server).netloc
        self._requests.labels(status, verb, host).inc()
        self._durations.labels(verb, host).observe(seconds)

    def lead(self, *, leads: bool) -> None:
        """Take note that this process is the leader, or is no longer."""
        if self._leads is not None:
            self._leads.set(leads)

    def text(self) -> bytes:
        """Return the metrics in the text format of Prometheus."""
        return generate_latest(self._registry)


# The health checks of the scheduler, and how their results are written.


class Check(msgspec.Struct, frozen=True):
    """A check.

    Attributes
    ----------
    name : str
    passes : callable
    failure : str
        What the path of the check replies if it does not pass.
    """

    name: str
    passes: Callable[[], bool]
    failure: str = ""


class Observe(Protocol):
    """Receives the name of a check, that of its endpoint without the slash, and the result."""

    def __call__(self, name: str, endpoint: str, *, passes: bool) -> None:
        """Take the result of a check."""


def health_checks(
    is_listed: Callable[[], bool],
    is_stopping: Callable[[], bool],
    is_renewed: Callable[[], bool] | None,
) -> Mapping[str, Sequence[Check]]:
    """Return the checks of each endpoint, by its path.

    Parameters
    ----------
    is_listed : callable
        Whether all objects of the cluster were listed.
    is_stopping : callable
        Whether the process is about to end.
    is_renewed : callable, optional
        Whether the Lease is renewed by a leader; None without an election.
    """
    ping = Check("ping", lambda: True)
    failure = "failed election to renew leadership on the lease"
    election = () if is_renewed is None else (Check("leaderElection", is_renewed, failure),)
    return {
        "/healthz": election or (ping,),
        "/livez": (ping,),
        "/readyz": (
            *election,
            Check("shutdown", lambda: not is_stopping(), "process is shutting down"),
            Check("sched-handler-sync", is_listed, "handlers are not fully synchronized"),
        ),
    }


def health_text(
    path: str,
    checks: Sequence[Check],
    *,
    excluded: Collection[str] = (),
    is_verbose: bool = False,
    observe: Observe | None = None,
) -> tuple[bool, str]:
    """Return whether all checks pass, and the text of the reply.

    Parameters
    ----------
    path : str
        Of the endpoint, such as `/readyz`.
    checks : sequence of Check
    excluded : collection of str
        The names of checks that are not made.
    is_verbose : bool
        Whether the results are listed though all checks pass.
    observe : callable, optional
        Receives the result of each check that is made.
    """
    name = path.removeprefix("/")
    lines, failed = [], False
    for check in checks:
        if check.name in excluded:
            lines.append(f"[+]{check.name} excluded: ok\n")
            continue
        passes = check.passes()
        if observe is not None:
            observe(check.name, name, passes=passes)
        if passes:
            lines.append(f"[+]{check.name} ok\n")
        else:
            failed = True
            lines.append(f"[-]{check.name} failed: reason withheld\n")
    unknown = sorted(set(excluded) - {check.name for check in checks})
    if unknown:
        names = ",".join(f'"{each}"' for each in unknown)
        lines.append(f"warn: some health checks cannot be excluded: no matches for {names}\n")
    if failed:
        return False, "".join([*lines, f"{name} check failed\n"])
    return True, "".join([*lines, f"{name} check passed\n"]) if is_verbose else "ok"
