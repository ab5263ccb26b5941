"""The counts of health checks, at `/metrics/slis`.

A check is counted when an endpoint with several checks makes it, not at the path of its own and not
while it is excluded.

Upstream: staging/src/k8s.io/component-base/metrics/prometheus/slis,
staging/src/k8s.io/apiserver/pkg/server/healthz/healthz.go
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Metric,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.registry import Collector

_START_TIME: Final = "process_start_time_seconds"


class _ProcessStart(Collector):
    """When the process began, by which readers of the counts recognize a new process."""

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
        self._last.labels(name, endpoint).set(int(passes))
        self._all.labels(name, "success" if passes else "error", endpoint).inc()

    def reset(self) -> None:
        """Forget the results so far."""
        self._last.clear()
        self._all.clear()

    def text(self) -> bytes:
        """Return the metrics in the text format of Prometheus."""
        return generate_latest(self._registry)
