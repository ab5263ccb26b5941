"""A sync of a cluster with others, whose connections fail."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import pairwise
from typing import Any

import pytest
from tests.waiting import SECONDS_MAX

from podwright.apimachinery.objects import SECOND_NS, SOURCE_UID, Document, timestamp_ns
from podwright.online.client import BoundPods, SyncDifference, SyncPolicies
from podwright.online.client.cluster import Backoff, ConnectionSettingsError, ReadConnection
from podwright.online.sync import (
    ReplacedTarget,
    Scope,
    Sync,
    Target,
    following,
    mirrored_kinds,
    served_kinds,
    session,
)
from podwright.online.sync.tests.served_cluster import (
    LOST,
    UNANSWERED,
    ServedCluster,
    lines,
    node,
    pod,
)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Repeat what failed after milliseconds."""
    defaults: Any = Backoff.__init__.__kwdefaults__
    monkeypatch.setitem(defaults, "first_ns", 1_000_000)
    for name in ("_RETRY_SECONDS", "_SAVE_SECONDS"):
        monkeypatch.setattr(following, name, 0.02)
    for name in ("_REPORT_SECONDS", "_REPEAT_SECONDS"):
        monkeypatch.setattr(session, name, 0.02)


MERGE = "merge-patch+json"
PODS = "/api/v1/namespaces/default/pods"
CONFIG_MAPS = "/api/v1/namespaces/kube-system/configmaps"


class Syncing:
    """A sync under way, and the clusters."""

    def __init__(self, source: ServedCluster, *destinations: ServedCluster) -> None:
        self.source, self.destinations = source, destinations
        self.here = destinations[0]
        self.differences: list[SyncDifference] = []
        self.failures: list[str] = []
        self.listed: list[Any] = []
        self.sync: Sync = None  # type: ignore[assignment]  # while it runs
        self.running: asyncio.Future[None] = None  # type: ignore[assignment]

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait for a condition."""
        async with asyncio.timeout(SECONDS_MAX):
            while not condition():
                if self.running.done():
                    self.running.result()
                await asyncio.sleep(0.005)

    async def quiet(self) -> None:
        """Wait until the destinations have all that the source has."""
        places = [(here, path) for here in self.destinations for path in (PODS, "/api/v1/nodes")]
        await self.until(
            lambda: all(self.uids(path) == copied(*each) for each in places for path in each[1:])
        )

    def uids(self, path: str) -> dict[str, str]:
        items = self.source.send("GET", path)["items"]
        return {each["metadata"]["name"]: each["metadata"]["uid"] for each in items}


def copied(cluster: ServedCluster, path: str) -> dict[str, str]:
    """Return the uids at the source of the copies in a collection, by name."""
    items = cluster.send("GET", path)["items"]
    return {
        each["metadata"]["name"]: each["metadata"].get("annotations", {}).get(SOURCE_UID, "")
        for each in items
    }


@asynccontextmanager
async def syncing(
    source: ServedCluster, *destinations: ServedCluster, **policies: Any
) -> AsyncIterator[Syncing]:
    """Sync for the time of a block."""
    found = Syncing(source, *destinations)
    async with AsyncExitStack() as stack:
        address = await stack.enter_async_context(source.serve())
        connection = await stack.enter_async_context(ReadConnection(address))
        kinds = mirrored_kinds(("nodes", "pods", "services"), await served_kinds(connection))
        targets = []
        for number, each in enumerate(destinations):
            here = await stack.enter_async_context(each.serve())
            target = Target(here, f"here-{number}")
            targets.append(await stack.enter_async_context(target))
        found.sync = Sync(
            connection,
            Scope(kinds=kinds),
            SyncPolicies(**policies),
            on_difference=found.differences.append,
            on_failure=lambda resource, _: found.failures.append(resource),
            on_listed=found.listed.append,
        )
        await found.sync.open(targets)
        found.running = asyncio.ensure_future(found.sync.run())
        try:
            yield found
        finally:
            source.heal()
            for each in destinations:
                each.heal()
            await found.sync.end()
            await asyncio.gather(found.running, return_exceptions=True)


def test_a_copy_follows_its_source():
    async def main() -> None:
        source, here = ServedCluster(1), ServedCluster(2)
        source.create(node("n1"), pod("a", on="n1"), pod("b"))
        source.send("PATCH", "/api/v1/nodes/n1", {"spec": {"taints": None}}, MERGE)
        async with syncing(source, here) as found:
            await found.quiet()
            assert here.send("GET", f"{PODS}/a")["spec"]["nodeName"] == "n1"
            assert "taints" not in here.send("GET", "/api/v1/nodes/n1")["spec"]
            source.create(node("n2"), pod("c"))
            source.send("DELETE", f"{PODS}/b?gracePeriodSeconds=0")
            await found.quiet()
            labels = {"metadata": {"labels": {"k": "v"}}}
            source.send("PATCH", "/api/v1/nodes/n1", labels, MERGE)
            await found.until(
                lambda: (
                    here.send("GET", "/api/v1/nodes/n1")["metadata"].get("labels", {}).get("k")
                    == "v"
                )
            )
            (destination,) = found.sync.destinations
            await found.until(lambda: destination.lag.count >= 4)
            assert destination.is_synced
            status = found.sync.status(destination)
            assert (status.sides, status.here) == (("source", "here-0"), 1)
            assert status.last_error == ""
            assert destination.target.done["deleted"] == 1

    asyncio.run(main())


def creations(cluster: ServedCluster) -> list[str]:
    return [each for each in lines(cluster.requests, "POST") if each.endswith(("/pods", "/nodes"))]


@pytest.mark.parametrize("fault", [410, 500, 429, LOST, UNANSWERED])
def test_what_changes_while_nothing_is_watched_is_neither_missed_nor_doubled(fault: str | int):
    async def main() -> None:
        source, here = ServedCluster(1), ServedCluster(2)
        source.create(node("n1"), pod("same"), pod("gone"), pod("replaced"), pod("changed"))
        async with syncing(source, here) as found:
            await found.quiet()
            created = len(creations(here))
            source.fail("WATCH", fault, times=4)
            source.cut_watches()
            for name in ("gone", "replaced"):
                source.send("DELETE", f"{PODS}/{name}?gracePeriodSeconds=0")
            source.create(pod("replaced"), pod("new"), node("n2"))
            labels = {"metadata": {"labels": {"k": "v"}}}
            source.send("PATCH", f"{PODS}/changed", labels, MERGE)
            await found.quiet()
            await found.until(
                lambda: "labels" in here.send("GET", f"{PODS}/changed")["metadata"],
            )
            assert here.names(PODS) == {"same", "replaced", "changed", "new"}
            assert len(creations(here)) == created + 3
            assert found.failures
            assert found.sync.status(found.sync.destinations[0]).errors == []

    asyncio.run(main())


@pytest.mark.parametrize("fault", [500, 502, 503, 504, 429, LOST, UNANSWERED])
def test_a_failed_write_is_repeated_until_it_is_there(fault: str | int):
    async def main() -> None:
        source, here = ServedCluster(1), ServedCluster(2)
        source.create(node("n1"), pod("a"))
        here.fail("POST /api/v1/n", fault, times=3)
        async with syncing(source, here) as found:
            await found.quiet()
            here.fail("DELETE", fault, times=3)
            source.send("DELETE", f"{PODS}/a?gracePeriodSeconds=0")
            source.create(pod("b"))
            await found.quiet()
            here.fail("PUT /api/v1/nodes/n1", fault, times=2)
            labels = {"metadata": {"labels": {"k": "v"}}}
            source.send("PATCH", "/api/v1/nodes/n1", labels, MERGE)
            await found.until(
                lambda: "k" in here.send("GET", "/api/v1/nodes/n1")["metadata"].get("labels", {})
            )
            (destination,) = found.sync.destinations
            assert not destination.target.errors
            assert not destination.target.rejected

    asyncio.run(main())


@pytest.mark.parametrize("fault", [503, LOST, UNANSWERED])
def test_a_binding_of_the_source_is_mirrored_although_its_reply_is_lost(fault: str | int):
    async def main() -> None:
        source, here = ServedCluster(1), ServedCluster(2)
        source.create(node("n1"), pod("a"))
        async with syncing(source, here, bound=BoundPods.source) as found:
            await found.quiet()
            here.fail("/binding", fault)
            bind(source, "a", "n1")
            await found.until(lambda: node_of(here, "a") == "n1")
            source.create(pod("later"))
            await found.quiet()
            (destination,) = found.sync.destinations
            assert not destination.target.errors
            assert not destination.target.rejected

    asyncio.run(main())


def bind(cluster: ServedCluster, name: str, to: str) -> None:
    target = {"apiVersion": "v1", "kind": "Node", "name": to}
    cluster.send("POST", f"{PODS}/{name}/binding", {"metadata": {"name": name}, "target": target})


def labels_of(cluster: ServedCluster, name: str) -> Document:
    labels: Document = cluster.send("GET", f"{PODS}/{name}")["metadata"].get("labels", {})
    return labels


def node_of(cluster: ServedCluster, name: str) -> str:
    return str(cluster.send("GET", f"{PODS}/{name}")["spec"].get("nodeName", ""))


def test_an_object_of_the_destination_with_the_name_of_a_copy_stays_as_it_is():
    async def main() -> None:
        source, here = ServedCluster(1), ServedCluster(2)
        source.create(pod("a"), pod("b"))
        here.create(pod("a", metadata={"labels": {"own": "1"}}))
        async with syncing(source, here) as found:
            await found.until(lambda: here.names(PODS) == {"a", "b"})
            (destination,) = found.sync.destinations
            await found.until(lambda: bool(destination.target.errors))
            assert dict(destination.target.errors) == {("Pod", "AlreadyExists"): 1}
            source.send("PATCH", f"{PODS}/a", {"metadata": {"labels": {"x": "1"}}}, MERGE)
            await found.until(lambda: destination.target.errors["Pod", "AlreadyExists"] >= 1)
            assert here.send("GET", f"{PODS}/a")["metadata"]["labels"] == {"own": "1"}
            # Once it is gone, the copy takes its place.
            here.send("DELETE", f"{PODS}/a?gracePeriodSeconds=0")
            await found.quiet()
            await found.until(lambda: labels_of(here, "a") == {"x": "1"})
            await found.until(lambda: not destination.target.rejected)
            # It goes with that of the source, since it is a copy now.
            source.send("DELETE", f"{PODS}/a?gracePeriodSeconds=0")
            await found.quiet()

    asyncio.run(main())


def test_what_is_rejected_is_counted_once_and_tried_again_until_it_is_allowed():
    async def main() -> None:
        source, here = ServedCluster(1), ServedCluster(2)
        source.create(pod("a"))
        here.fail("POST /api/v1/namespaces/default/pods", 403, times=5, reason="Forbidden")
        async with syncing(source, here) as found:
            await found.quiet()
            (destination,) = found.sync.destinations
            assert dict(destination.target.errors) == {("Pod", "Forbidden"): 1}
            assert len(lines(here.requests, "POST")) >= 6
            await found.until(lambda: not destination.target.rejected)
            (error,) = found.sync.status(destination).errors
            assert (error.kind, error.reason, error.count) == ("Pod", "Forbidden", 1)

    asyncio.run(main())


def test_a_pod_on_a_node_that_is_gone_is_replaced_where_it_cannot_be_resized():
    async def main() -> None:
        source, here = ServedCluster(1), ServedCluster(2)
        requested = {
            "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "2"}}}]
        }
        source.create(node("n1"), pod("a", spec=requested))
        async with syncing(source, here) as found:
            await found.quiet()
            bind(here, "a", "n1")
            source.send("DELETE", "/api/v1/nodes/n1")
            await found.until(lambda: not here.names("/api/v1/nodes"))
            resources = {"requests": {"cpu": "3"}}
            change = {"spec": {"containers": [{"name": "c", "resources": resources}]}}
            strategic = "strategic-merge-patch+json"
            source.send("PATCH", f"{PODS}/a/resize", change, strategic)

            def cpu_and_node() -> tuple[str, str]:
                (found,) = here.send("GET", PODS)["items"] or [pod("a", spec=requested)]
                (container,) = found["spec"]["containers"]
                return container["resources"]["requests"]["cpu"], found["spec"].get("nodeName", "")

            # It waits again, for a node that is there.
            await found.until(lambda: cpu_and_node() == ("3", ""))
            (destination,) = found.sync.destinations
            assert not destination.target.rejected

    asyncio.run(main())


def test_what_the_destination_deletes_stays_deleted_also_after_a_restart():
    async def main() -> None:
        source, here = ServedCluster(1), ServedCluster(2)
        source.create(pod("a"), pod("b"))
        async with syncing(source, here) as found:
            await found.quiet()
            here.send("DELETE", f"{PODS}/a?gracePeriodSeconds=0")
            source.send("PATCH", f"{PODS}/a", {"metadata": {"labels": {"x": "1"}}}, MERGE)
            source.create(pod("c"))
            await found.until(lambda: here.names(PODS) == {"b", "c"})
            (destination,) = found.sync.destinations
            await found.until(lambda: destination.target.done["absent"] == 1)
            seen = destination.mirror.seen
            await found.until(lambda: destination._executed == (seen.until, seen.recent))
            assert found.sync.status(destination).counts.kept_deleted == 1
        state = here.send("GET", "/api/v1/namespaces/kube-system/configmaps/podwright-sync")
        pods = [each["metadata"] for each in source.send("GET", PODS)["items"]]
        created = {each["uid"]: timestamp_ns(each["creationTimestamp"]) or 0 for each in pods}
        # On a slow machine the first two are older than the pods that are kept by uid.
        begin_ns = max(created.values()) - 5 * SECOND_NS
        recent = {uid for uid, created_ns in created.items() if created_ns >= begin_ns}
        assert set(state["data"]["syncedLast"].split()) == recent
        async with syncing(source, here) as found:
            await found.until(lambda: found.sync.destinations[0].is_synced)
            assert here.names(PODS) == {"b", "c"}
            assert found.sync.destinations[0].mirror.kept_deleted == 1
        async with syncing(source, here, restores_deleted=True) as found:
            await found.quiet()

    asyncio.run(main())


def test_a_restart_follows_what_has_changed_meanwhile():
    async def main() -> None:
        source, here = ServedCluster(1), ServedCluster(2)
        source.create(node("n1"), node("n2"), pod("a"), pod("gone"))
        async with syncing(source, here) as found:
            await found.quiet()
        writes = len(lines(here.requests, "POST", "DELETE"))
        source.send("DELETE", f"{PODS}/gone?gracePeriodSeconds=0")
        source.send("DELETE", "/api/v1/nodes/n2")
        source.create(node("n2", cpu="8"), pod("new"))
        async with syncing(source, here) as found:
            await found.quiet()
            assert here.send("GET", "/api/v1/nodes/n2")["status"]["capacity"]["cpu"] == "8"
        found_writes = lines(here.requests, "POST", "DELETE")[writes:]
        # The state of the sync is written when its time has come, in either session.
        others = ("podwright", "/configmaps")
        found_writes = [each for each in found_writes if not any(map(each.__contains__, others))]
        assert sorted(each.split("?")[0] for each in found_writes) == [
            "DELETE /api/v1/namespaces/default/pods/gone", "DELETE /api/v1/nodes/n2",
            f"POST {PODS}", "POST /api/v1/nodes",
        ]  # fmt: skip

    asyncio.run(main())


def test_a_destination_that_was_replaced_ends_the_sync():
    async def main() -> None:
        source, here = ServedCluster(1), ServedCluster(2)
        source.create(pod("a"))
        async with syncing(source, here) as found:
            await found.until(lambda: "podwright-sync" in here.names(CONFIG_MAPS))
            saved = here.send("GET", f"{CONFIG_MAPS}/podwright-sync")
            here.api = ServedCluster(3).api
            with pytest.raises(ReplacedTarget, match="here-0"):
                async with asyncio.timeout(SECONDS_MAX):
                    await found.running
        # A write that was under way may still have reached the new cluster, which has no pod yet:
        # the next sync does not take it for a cluster that has deleted its pods.
        if "podwright-sync" not in here.names(CONFIG_MAPS):
            del saved["metadata"]["resourceVersion"], saved["metadata"]["uid"]
            here.send("POST", CONFIG_MAPS, saved)
        async with syncing(source, here) as found:
            await found.quiet()

    asyncio.run(main())


def test_the_source_is_not_a_destination():
    async def main() -> None:
        source = ServedCluster(1)
        with pytest.raises(ConnectionSettingsError, match="here-0 is the source itself"):
            async with syncing(source, source):
                raise AssertionError
        assert lines(source.requests, "POST", "PUT", "PATCH", "DELETE") == []

    asyncio.run(main())


def test_pods_that_are_placed_otherwise_are_the_differences_of_each_destination():
    async def main() -> None:
        source, here, there = ServedCluster(1), ServedCluster(2), ServedCluster(3)
        source.create(node("n1"), node("n2"), pod("a"), pod("b"))
        async with syncing(source, here, there) as found:
            await found.quiet()
            for cluster, nodes in ((source, "1 1"), (here, "1 2"), (there, "1 1")):
                for name, number in zip("ab", nodes.split(), strict=True):
                    bind(cluster, name, f"n{number}")
            await found.until(lambda: bool(found.differences))
            one, two = found.sync.destinations
            await found.until(lambda: len(found.sync.status(one).differences) == 1)
            (each,) = found.sync.status(one).differences
            assert (each.pod, each.nodes) == ("default/b", ["n1", "n2", "n1"])
            assert found.sync.status(one).drift.pods == 1
            assert found.sync.status(two).drift.pods == 0
            assert found.sync.status(two).differences_left_out == 0
            here.send("DELETE", f"{PODS}/b?gracePeriodSeconds=0")
            await found.until(lambda: not found.sync.status(one).differences)

    asyncio.run(main())


@pytest.mark.parametrize(
    ("faults", "least", "most"),
    [
        pytest.param([], 1, 1, id="a server that is not podwright's gets one"),
        pytest.param([503, LOST], 3, 3, id="one that fails gets further ones"),
        pytest.param([403], 1, 1, id="one that forbids them gets no more"),
    ],
)
def test_who_gets_reports(faults: list[str | int], least: int, most: int):
    async def main() -> None:
        source, here = ServedCluster(1), ServedCluster(2)
        for each in faults:
            here.fail("/podwright/v1/sync", each)
        async with syncing(source, here) as found:
            await found.until(lambda: found.sync.destinations[0].is_synced)
            sent = lambda: [r for r in here.requests if "/podwright/v1/sync" in r]  # noqa: E731
            await found.until(lambda: len(sent()) >= least)
            await asyncio.sleep(0.1)
            assert len(sent()) <= most

    asyncio.run(main())


@pytest.mark.parametrize(
    ("repeat_seconds", "repeats"),
    [pytest.param(0.02, True, id="old"), pytest.param(1e6, False, id="recent")],
)
def test_a_state_is_reported_when_it_changes_and_again_when_it_is_old(
    monkeypatch: pytest.MonkeyPatch, repeat_seconds: float, repeats: bool
):
    monkeypatch.setattr(session, "_REPEAT_SECONDS", repeat_seconds)
    reports: list[Document] = []

    async def main() -> None:
        source, here = ServedCluster(1), ServedCluster(2, reports=reports)
        source.create(node("n1"))
        async with syncing(source, here) as found:
            await found.quiet()
            (each,) = found.sync.destinations
            await found.until(lambda: each.is_synced and bool(reports))
            assert found.sync.status(each).phase == "following"
            await asyncio.sleep(0.2)
            count = len(reports)
            source.create(node("n2"))
            await found.until(lambda: len(reports) > count)

    asyncio.run(main())
    phases = [each["phase"] for each in reports]
    assert phases[-1] == "stopped"
    assert phases == sorted(phases, key=["listing", "following", "stopped"].index)
    states = [{**each, "reportedAt": ""} for each in reports]
    assert any(one == other for one, other in pairwise(states)) is repeats


def test_the_destination_is_compared_with_its_source_when_that_is_requested():
    async def main() -> None:
        source, here = ServedCluster(1), ServedCluster(2)
        source.create(node("n1"), pod("a", on="n1"), pod("b"))
        async with syncing(source, here) as found:
            await found.quiet()
            (each,) = found.sync.destinations
            await found.until(lambda: each.is_synced)
            here.send("PATCH", "/api/v1/nodes/n1", {"spec": {"unschedulable": True}}, MERGE)
            each.target.check_due.set()
            await found.until(lambda: bool(each.check))
            check = found.sync.status(each).check
            assert check
            counts = [(kind.kind, kind.source, kind.here) for kind in check.kinds]
            assert counts == [("nodes", 1, 1), ("pods", 2, 2)]
            assert (check.unexplained, check.differences_left_out) == (1, 0)
            (difference,) = check.differences
            assert (difference.kind, difference.key, difference.path) == (
                "nodes",
                "n1",
                "spec.unschedulable",
            )
            assert (difference.source, difference.here, difference.policy) == ("<none>", "true", "")
            source.fail("/api/v1/nodes", 403, times=2)
            each.target.check_due.set()
            await found.until(lambda: bool(each.check and each.check.error))
            failed = found.sync.status(each).check
            assert failed
            assert "status 403" in failed.error
            assert failed.checked_at > check.checked_at

    asyncio.run(main())
