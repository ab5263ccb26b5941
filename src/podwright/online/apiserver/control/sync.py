"""The sync that fills the cluster: it reports its state, which is shown and measured."""

from __future__ import annotations

from collections.abc import Iterator

from starlette.responses import Response

from podwright.online.apiserver.control.endpoints import Endpoint, declared, endpoint
from podwright.online.apiserver.control.problems import Problem
from podwright.online.client import SyncStatus
from podwright.scheduler.machine import CONTENT_TYPE, Family, MetricsSnapshot, Value, render_text

_NONE = "no sync has reported to this cluster; start podwright sync --to it"


class _Sync:
    """The endpoints."""

    def __init__(self) -> None:
        self._status: SyncStatus | None = None

    @endpoint("GET", "/sync", problems={404: "no sync has reported to this cluster"})
    async def show(self) -> SyncStatus:
        """Show the state of the sync that fills the cluster."""
        if self._status is None:
            raise Problem(404, _NONE)
        return self._status

    @endpoint("PUT", "/sync")
    async def take(self, body: SyncStatus) -> SyncStatus:
        """Report the state of the sync that fills the cluster."""
        self._status = body
        return body

    @endpoint("GET", "/metrics/sync", media_type=CONTENT_TYPE, is_at_root=True)
    async def show_metrics(self) -> Response:
        """Show lag, drift and errors of the sync, as metrics."""
        families = () if self._status is None else tuple(_families(self._status))
        text = render_text(MetricsSnapshot(families))
        return Response(text, headers={"content-type": CONTENT_TYPE})


def _families(status: SyncStatus) -> Iterator[Family]:
    """Yield the metrics, sorted by name."""
    counts, lag, drift = status.counts, status.lag, status.drift
    done = {
        "created": counts.created,
        "deleted": counts.deleted,
        "ignored": counts.ignored,
        "kept_deleted": counts.kept_deleted,
        "rescheduled": counts.rescheduled,
        "updated": counts.updated,
    }
    errors = sorted(((each.kind, each.reason), each.count) for each in status.errors)
    yield _family("podwright_sync_changes_total", *(((name,), n) for name, n in done.items()))
    yield _family("podwright_sync_drift", (("claims",), drift.claims), (("pods",), drift.pods))
    if errors:
        yield _family("podwright_sync_errors_total", *errors)
    yield _family(
        "podwright_sync_lag_seconds",
        (("last",), lag.last_seconds),
        (("longest",), lag.longest_seconds),
        (("mean",), lag.mean_seconds),
    )
    yield _family("podwright_sync_source_failures_total", ((), status.source_failures))
    yield _family("podwright_sync_unfreed_pods", ((), status.unfreed.pods))
    yield _family("podwright_sync_waiting_changes", ((), lag.waiting))


def _family(name: str, *series: tuple[tuple[str, ...], int | float]) -> Family:
    return Family(name, tuple(Value(labels, value) for labels, value in series))


def sync_endpoints() -> list[Endpoint]:
    """Return the endpoints of the sync."""
    return declared(_Sync())
