"""Metrics of the process and of its requests, with the names of Kubernetes' components.

Those of the machine are counted by the machine.

Upstream: staging/src/k8s.io/component-base/metrics/prometheus/restclient/metrics.go,
staging/src/k8s.io/component-base/metrics/prometheus/clientgo/leaderelection/metrics.go
"""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)

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
        self._requests.labels(str(status), verb, host).inc()
        self._durations.labels(verb, host).observe(seconds)

    def lead(self, *, leads: bool) -> None:
        """Take note that this process is the leader, or is no longer."""
        if self._leads is not None:
            self._leads.set(int(leads))

    def text(self) -> bytes:
        """Return the metrics in the text format of Prometheus."""
        return generate_latest(self._registry)
