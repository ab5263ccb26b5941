"""How often a sync reports, looks and waits, in virtual time."""

from __future__ import annotations

import asyncio
import json
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from podwright.online.client import SyncPolicies
from podwright.online.client.cluster import RejectedRequest, UnreachableCluster
from podwright.online.client.cluster.list_watch import SeenVersion
from podwright.online.live.tests.test_lease_model import VirtualLoop
from podwright.online.sync.following import Destination
from podwright.online.sync.mirror import Mirror
from podwright.online.sync.placements import Placements
from podwright.online.sync.session import Sync
from podwright.online.sync.source import ChangeGroup, Scope, Source
from podwright.online.sync.source_kinds import later_kinds, source_kinds
from podwright.online.sync.tests.served_cluster import node, pod

KINDS = {kind.resource: kind for kind in source_kinds()}
GROUPS = later_kinds((), ())[0]


def run_virtually(monkeypatch: pytest.MonkeyPatch, main: Coroutine[Any, Any, None]) -> None:
    """Run until the end, without waiting; the time begins with 0."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        loop: Any = runner.get_loop()
        monkeypatch.setattr(time, "monotonic", loop.time)
        monkeypatch.setattr(time, "monotonic_ns", lambda: int(loop.time() * 1e9))
        runner.run(main)


class Cluster:
    """A source whose watches deliver, and end, at given times.

    Parameters
    ----------
    events : mapping of str to sequence
        By resource: times in seconds, each with an object, "cut", or "broken" for a defect.
    down_until : float
        Until when the watches of nodes are refused after a cut.
    """

    def __init__(self, events: Mapping[str, Sequence[Any]], down_until: float = 0.0) -> None:
        self.access = SimpleNamespace(name="a", server="http://a")
        self.seen = defaultdict[str, SeenVersion](SeenVersion)
        self.requested_at: dict[str, list[float]] = {}
        self._events = {resource: list(each) for resource, each in events.items()}
        self._down_until = down_until

    async def get(self, path: str, *_: Any, **__: Any) -> bytes:
        self._check(path)
        version = max(1, *(each.number for each in self.seen.values()))
        return b'{"metadata": {"resourceVersion": "%d"}, "items": []}' % version

    @asynccontextmanager
    async def stream(self, path: str, query: Any, **_: Any) -> AsyncIterator[AsyncIterator[bytes]]:
        self._check(path)
        if "sendInitialEvents" in query:
            raise RejectedRequest("no streamed lists", status=422)
        yield self._events_of(path)

    def _check(self, path: str) -> None:
        resource = path.rpartition("/")[2]
        self.requested_at.setdefault(resource, []).append(time.monotonic())
        if resource not in self._events:
            raise RejectedRequest("no such kind", status=404)
        if resource == "nodes" and 1 <= time.monotonic() < self._down_until:
            raise UnreachableCluster("down")

    async def _events_of(self, path: str) -> AsyncIterator[bytes]:
        left = self._events[path.rpartition("/")[2]]
        while left:
            at, obj = left.pop(0)
            await asyncio.sleep(max(0.0, at - time.monotonic()))
            if obj == "cut":
                raise UnreachableCluster("cut")
            if obj == "broken":
                raise ZeroDivisionError
            yield json.dumps({"type": "ADDED", "object": obj}).encode() + b"\n"
        await asyncio.Event().wait()


def versioned(obj: Any, version: int) -> Any:
    metadata = {**obj["metadata"], "resourceVersion": str(version), "uid": str(version)}
    return {**obj, "metadata": metadata}


def followed(
    monkeypatch: pytest.MonkeyPatch, cluster: Any, scope: Scope, seconds: float
) -> list[tuple[float, list[str]]]:
    """Follow a source for a time; return when which changes were yielded."""
    found: list[tuple[float, list[str]]] = []

    async def follow() -> None:
        groups = Source(cluster, scope).groups()
        try:
            async with asyncio.timeout(seconds):
                async for group in groups:
                    names = [each.change.meta.name for each in group.changes]
                    found.append((time.monotonic(), names))
        except TimeoutError:
            pass
        finally:
            await groups.aclose()

    run_virtually(monkeypatch, follow())
    return [(at, names) for at, names in found if names]


BOTH = Scope(kinds=[KINDS["nodes"], KINDS["pods"]])


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        pytest.param({"nodes": [], "pods": [(1, versioned(pod("p"), 5))]}, [(1.1, ["p"])],
                     id="a change waits a tenth of a second for earlier ones of other kinds"),
        pytest.param(
            {"nodes": [(1.09, versioned(node("n"), 4))], "pods": [(1, versioned(pod("p"), 5))]},
            [(1.1, ["n", "p"])], id="one that arrives meanwhile precedes it by its version",
        ),
        pytest.param(
            {"nodes": [(1.15, versioned(node("n"), 4))], "pods": [(1, versioned(pod("p"), 5))]},
            [(1.1, ["p"]), (1.25, ["n"])], id="a later one does not",
        ),
    ],
)  # fmt: skip
def test_changes_of_several_kinds_are_ordered_within_a_tenth_of_a_second(
    monkeypatch, events, expected
):
    found = followed(monkeypatch, Cluster(events), BOTH, 5)
    assert [names for _, names in found] == [names for _, names in expected]
    assert [at for at, _ in found] == pytest.approx([at for at, _ in expected], abs=0.005)


@pytest.mark.parametrize(
    ("down_until", "begin", "end"),
    [
        pytest.param(10.0, 10.0, 30.0, id="until the watch is open again"),
        pytest.param(1e9, 31.0, 31.2, id="for half a minute, so that one kind does not hold all"),
    ],
)
def test_changes_are_held_for_a_kind_whose_watch_was_interrupted(
    monkeypatch, down_until, begin, end
):
    events = {"nodes": [(1, "cut")], "pods": [(2, versioned(pod("p"), 5))]}
    ((at, names),) = followed(monkeypatch, Cluster(events, down_until), BOTH, 60)
    assert names == ["p"]
    assert begin <= at < end


@pytest.mark.parametrize("changes", [0, 200], ids=["nothing changes", "pods change all the time"])
def test_kinds_that_the_source_does_not_have_are_looked_up_every_five_seconds(monkeypatch, changes):
    pods = [(n / 10, versioned(pod(f"p{n}"), n + 2)) for n in range(1, changes)]
    cluster = Cluster({"pods": pods})
    followed(monkeypatch, cluster, Scope(kinds=[KINDS["pods"]], later=[GROUPS]), 18)
    asked_at = cluster.requested_at[GROUPS.resource]
    # A change, or the end of the wait, is followed by a tenth of a second for the order.
    assert asked_at == pytest.approx([5, 10, 15], abs=0.5)


def test_the_rest_of_a_source_is_what_has_not_waited_long_enough(monkeypatch):
    cluster: Any = Cluster({"nodes": [], "pods": [(1, versioned(pod("p"), 5))]})
    rest: list[str] = []

    async def follow() -> None:
        source = Source(cluster, BOTH)
        groups = source.groups()
        try:
            async with asyncio.timeout(1.05):
                async for _ in groups:
                    pass
        except TimeoutError:
            rest.extend(each.change.meta.name for each in source.rest())
        assert source.rest() == []

    run_virtually(monkeypatch, follow())
    assert rest == ["p"]


def test_a_defect_while_a_kind_is_followed_ends_the_source(monkeypatch):
    cluster = Cluster({"nodes": [], "pods": [(1, "broken")]})
    with pytest.raises(ZeroDivisionError):
        followed(monkeypatch, cluster, BOTH, 2)


class Reported:
    """A destination that takes reports, and all that a sync writes."""

    name = "here"
    last_error = ""

    def __init__(self) -> None:
        self.check_due = asyncio.Event()
        self.rejected: dict[tuple[str, str], Any] = {}
        self.written: list[str] = []
        self.phases: list[str] = []
        self.saved: list[Any] = []
        self.done: dict[str, int] = dict.fromkeys(
            ("created", "updated", "deleted", "ignored", "absent", "claims"), 0
        )
        self.errors: dict[tuple[str, str], int] = {}
        self.reported_at: list[float] = []

    async def report(self, status: Any) -> bool:
        self.reported_at.append(time.monotonic())
        self.phases.append(status.phase)
        return True

    def pods(self) -> Any:
        return self

    async def batches(self) -> AsyncIterator[Any]:
        await asyncio.Event().wait()
        yield

    async def check_same(self) -> None:
        pass

    async def save(self, state: Any) -> None:
        self.saved.append(state)

    async def objects(self, _: Any) -> dict[str, bytes]:
        return {}

    def supersede(self, *_: str) -> bool:
        return False

    def executes_together(self, _: Any) -> bool:
        return True

    async def execute_in_order(self, operations: Sequence[Any]) -> None:
        self.written += [each.key for each in operations]


def sync_of(target: Any, cluster: Cluster | None = None) -> tuple[Sync, Destination]:
    """Return a sync of a cluster with a destination."""
    connection: Any = cluster or Cluster({})
    found = Sync(
        connection, BOTH, SyncPolicies(), on_difference=lambda _: None,
        on_failure=lambda *_: None, on_listed=lambda _: None,
    )  # fmt: skip
    found._placements = Placements(2)
    each = Destination(target, Mirror(SyncPolicies()), 1)
    found.destinations.append(each)
    return found, each


@pytest.mark.parametrize(
    ("changes_at", "reported_at"),
    [
        pytest.param([], [0, 5, 10, 15], id="the same state every five seconds"),
        pytest.param([2.5], [0, 3, 8, 13, 18], id="a change within a second"),
        pytest.param([1.2, 1.4, 1.6, 6.9], [0, 2, 7, 12, 17], id="several changes at once"),
    ],
)
def test_a_state_is_reported_within_a_second_of_a_change_and_every_five_seconds(
    monkeypatch, changes_at, reported_at
):
    target = Reported()

    async def main() -> None:
        sync, each = sync_of(target)
        reports = asyncio.create_task(sync._report_regularly(each))
        for at in changes_at:
            await asyncio.sleep(at - time.monotonic())
            each.lag.add(1_000_000)
        await asyncio.sleep(18.5 - time.monotonic())
        reports.cancel()

    run_virtually(monkeypatch, main())
    assert target.reported_at == pytest.approx(reported_at, abs=0.01)


def test_a_sync_that_ends_saves_and_reports_its_state_and_leaves_nothing_behind(monkeypatch):
    target = Reported()
    events = {"nodes": [(1, versioned(node("n"), 4))], "pods": [(1, versioned(pod("p"), 5))]}

    async def main() -> None:
        sync, each = sync_of(target, Cluster(events))
        running = asyncio.create_task(sync.run())
        await asyncio.sleep(1.5)
        assert target.written == ["n", "default/p"]
        assert each.is_synced
        await sync.end()
        await asyncio.gather(running, return_exceptions=True)
        assert time.monotonic() < 1.6, "the end waits for nothing"
        assert asyncio.all_tasks() == {asyncio.current_task()}

    run_virtually(monkeypatch, main())
    (state,) = target.saved
    assert list(state.synced_last) == ["5"]
    assert target.phases == ["following", "stopped"]


def test_a_report_has_what_was_done_and_the_first_thousand_differences():
    target = Reported()
    numbers = {"created": 1, "updated": 2, "deleted": 4, "ignored": 8, "absent": 16, "claims": 32}
    target.done = dict(numbers)
    target.errors = {("Pod", "Forbidden"): 3, ("Node", "Invalid"): 5}
    sync, each = sync_of(target)
    each.mirror.rescheduled, each.mirror.kept_deleted = 64, 128
    each.put(ChangeGroup())
    for lag_ns in (1_500_000_000, 500_000_000):
        each.lag.add(lag_ns)
    for number in range(1_001):
        for side in (0, 1):
            sync._placements.put(side, f"default/p{number:04}", f"n{side}")
    status = sync.status(each)
    counts, lag = status.counts, status.lag
    assert (counts.created, counts.updated, counts.deleted, counts.ignored) == (1, 2, 4, 8)
    assert (counts.rescheduled, counts.kept_deleted) == (64, 128 + 16)
    assert (status.drift.pods, status.drift.claims) == (1_001, 32)
    assert (lag.changes, lag.waiting) == (2, 1)
    assert (lag.last_seconds, lag.mean_seconds, lag.longest_seconds) == (0.5, 1.0, 1.5)
    errors = [(error.kind, error.reason, error.count) for error in status.errors]
    assert errors == [("Node", "Invalid", 5), ("Pod", "Forbidden", 3)]
    assert [each.pod for each in status.differences] == [f"default/p{n:04}" for n in range(1_000)]
    assert (status.differences_left_out, status.phase) == (1, "listing")
    each.is_synced = True
    sync._placements.drop(1, "default/p0000")
    status = sync.status(each)
    assert (status.differences_left_out, status.phase) == (0, "following")
    assert (status.scope.kinds, list(status.sides), status.here) == (
        ["nodes", "pods"], ["source", "here"], 1
    )  # fmt: skip
