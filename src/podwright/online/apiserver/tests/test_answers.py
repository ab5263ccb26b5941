"""Answers of readers in this process: whole replies of plans, queues, explanations and imports."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from podwright.apimachinery.objects import InputError, encode
from podwright.apimachinery.schema import decode
from podwright.cluster.api.endpoints import HttpReply
from podwright.online.apiserver import Application, ClusterClock, TurnLoop, new_cluster
from podwright.online.apiserver.cluster import Cluster
from podwright.online.apiserver.cluster_client import RequestFailed
from podwright.online.apiserver.control.problems import Problem
from podwright.online.apiserver.control.scheduling import explanation, progress, queue
from podwright.online.apiserver.control.scheduling.explanation import ExplanationParameters
from podwright.online.apiserver.control.scheduling.progress import reply
from podwright.online.apiserver.records.snapshots import Snapshots, _EarlierObjects
from podwright.online.apiserver.scheduling.running_scheduler import (
    InitialState,
    RunningScheduler,
    with_plugins,
)
from podwright.online.apiserver.tests.conftest import SERVER, START_NS, pod, with_turns
from podwright.online.apiserver.wire.hosts import AllowedHosts
from podwright.scheduler.assembly import plugins_from
from podwright.scheduler.framework import Plugin
from podwright.scheduler.machine import SchedulerOptions
from podwright.scheduler.queueing import QueueName
from podwright.simulation.kss import SnapshotImport, snapshot_kinds
from podwright.simulation.recording import UnknownCycle
from podwright.testing import make_node, make_pod

SECOND_NS = 10**9


def cluster_with(*objects: Any, **options: Any) -> Cluster:
    cluster = new_cluster(SchedulerOptions(**options), now_ns=START_NS, server_options=SERVER)
    cluster.world.add(*objects)
    return cluster


def advanced(cluster: Cluster, seconds: int = 0) -> Cluster:
    """Let the world handle what is due."""
    with cluster.store.batch():
        cluster.catch_up(START_NS + seconds * SECOND_NS, lambda: False)
    return cluster


# ------------------------------------------------------------------------------ queue


def owned_pod(name: str) -> Any:
    owner = {"apiVersion": "example.com/v1", "kind": "Set", "name": "web", "uid": "u"}
    requests = {"resources": {"requests": {"cpu": "4"}}}
    document = pod(name, containers=[{"name": "main", "image": "app", **requests}])
    document["metadata"] |= {
        "namespace": "default", "ownerReferences": [{**owner, "controller": True}],
    }  # fmt: skip
    return decode(document)


@pytest.fixture(scope="module")
def waiting() -> Cluster:
    """A full cluster: two pods of a workload, one of its own, and a gated one."""
    cluster = cluster_with(make_node("n1", cpu="1"))
    for number, each in enumerate(
        [
            owned_pod("web-a"),
            make_pod("alone", cpu="4", priority=7),
            owned_pod("web-b"),
            make_pod("gated", cpu="4", gates=["later"]),
            make_pod("other", namespace="team", cpu="4"),
        ]
    ):
        cluster.world.add(each)
        advanced(cluster, number)
    return cluster


def groups(cluster: Cluster, **parameters: Any) -> Any:
    found = queue._groups(
        cluster.world.machine.queue, queue.GroupParameters(**parameters), START_NS + SECOND_NS
    )
    return msgspec.to_builtins(found)


def shown(each: Any) -> tuple[Any, ...]:
    names = ("place", "workload", "namespace", "count", "pods", "created")
    return (*(each[name] for name in names), each["first"]["pod"])


CREATED = [f"2027-01-15T08:00:0{second}Z" for second in range(5)]


def test_pods_that_wait_are_grouped_by_workload_namespace_and_cause(waiting):
    found = groups(waiting, pods=2)
    assert {name: found[name] for name in ("time", "counts", "groupCount")} == {
        "time": "2027-01-15T08:00:01.000000000Z",
        "counts": {
            "active": 0, "backoff": 0, "errorBackoff": 0, "unschedulable": 4, "gated": 1,
            "inFlight": 0,
        },
        "groupCount": 4,
    }  # fmt: skip
    rows = sorted(shown(each) for each in found["groups"])
    web = ["default/web-a", "default/web-b"]
    assert rows == [
        ("gated", "", "default", 1, ["default/gated"], CREATED[2], "default/gated"),
        ("unschedulable", "", "default", 1, ["default/alone"], CREATED[0], "default/alone"),
        ("unschedulable", "", "team", 1, ["team/other"], CREATED[3], "team/other"),
        ("unschedulable", "Set/web", "default", 2, web, CREATED[0], "default/web-a"),
    ]
    assert found["groups"][-1]["place"] == "gated", "those that need attention come first"


def test_a_limit_of_groups_leaves_out_the_last_and_one_pod_is_named_by_default(waiting):
    everything = groups(waiting)["groups"]
    assert [len(each["pods"]) for each in everything] == [1, 1, 1, 1]
    for limit in range(5):
        found = groups(waiting, limit=limit)
        assert (found["groups"], found["groupCount"]) == (everything[:limit], 4)


def test_a_pod_that_waits_is_shown_with_all_that_is_known(waiting):
    machine_queue = waiting.world.machine.queue
    found = queue._state(machine_queue, queue.QueueParameters(), START_NS)
    document = msgspec.to_builtins(found)
    assert document["time"] == "2027-01-15T08:00:00.000000000Z"
    assert list(document["pods"]) == list(document["counts"]) == [
        "active", "backoff", "errorBackoff", "unschedulable", "gated", "inFlight",
    ]  # fmt: skip
    (gated,) = document["pods"]["gated"]
    gated.pop("since")
    assert gated == {
        "pod": "default/gated",
        "priority": 0,
        "attempts": 0,
        "backoffEnd": None,
        "latestAttempt": None,
        "rejectedBy": ["SchedulingGates"],
        "gatedBy": "SchedulingGates",
        "reasons": ["waiting for scheduling gates: [later]"],
        "message": "Scheduling is blocked due to non-empty scheduling gates",
        "nominatedNode": "",
        "movedBy": [
            {
                "event": "AssignedPodUpdatePodSchedulingGatesEliminated",
                "plugins": ["SchedulingGates"],
            },
            {
                "event": "UnschedulablePodUpdatePodSchedulingGatesEliminated",
                "plugins": ["SchedulingGates"],
            },
        ],
    }
    by_name = {each["pod"]: each for each in document["pods"]["unschedulable"]}
    alone = by_name["default/alone"]
    assert (alone["priority"], alone["attempts"], alone["rejectedBy"]) == (
        7, 1, ["NodeResourcesFit"],
    )  # fmt: skip
    assert alone["message"].startswith("0/1 nodes are available: 1 Insufficient cpu.")
    assert alone["since"] == "2027-01-15T08:00:00.000000000Z"
    assert alone["latestAttempt"] == "2027-01-15T08:05:00.000000000Z"
    assert alone["backoffEnd"] is None
    for limit in (0, 1, 4):
        found = queue._state(machine_queue, queue.QueueParameters(limit=limit), START_NS)
        assert len(found.pods["unschedulable"]) == limit
    only = queue._state(machine_queue, queue.QueueParameters(place="gated"), START_NS)
    assert list(only.pods) == ["gated"]
    assert only.counts["unschedulable"] == 4


def test_a_pod_in_backoff_has_its_end():
    cluster = advanced(cluster_with(make_node("n1", cpu="1"), make_pod("p", cpu="4")))
    cluster.world.add(make_node("n2", cpu="4"))
    machine_queue = cluster.world.machine.queue
    found = queue._state(machine_queue, queue.QueueParameters(place="backoff"), START_NS)
    (row,) = found.pods["backoff"]
    assert (row.backoff_end, row.latest_attempt) == ("2027-01-15T08:00:01.000000000Z", None)


def test_a_moved_pod_is_shown_with_its_places(waiting):
    before = QueueName.GATED
    found = queue._moved(waiting, "default/gated", before, START_NS)
    assert (found.pod, found.time, found.place_before, found.place, found.node) == (
        "default/gated", "2027-01-15T08:00:00.000000000Z", "gated", "gated", "",
    )  # fmt: skip
    assert found.waiting is not None
    assert found.waiting.pod == "default/gated"
    placed = advanced(cluster_with(make_node("n1"), make_pod("p", cpu="1")), 2)
    found = queue._moved(placed, "default/p", QueueName.BACKOFF, START_NS)
    assert (found.place_before, found.place, found.node, found.waiting) == (
        "backoff", None, "n1", None,
    )  # fmt: skip


def test_a_pod_that_does_not_wait_cannot_be_moved():
    placed = advanced(cluster_with(make_node("n1"), make_pod("p", cpu="1")), 2)
    for cluster, name, status, text in [
        (placed, "default/q", 404, "there is no pod default/q"),
        (
            placed, "default/p", 409,
            "pod default/p is not in the scheduling queue: it has a node, has finished, or uses"
            " another scheduler",
        ),
    ]:  # fmt: skip
        with pytest.raises(Problem) as raised:
            queue._activated(cluster, name)
        assert (raised.value.status, raised.value.detail) == (status, text)


def test_the_condition_of_a_pod_that_does_not_fit_has_all_fields_of_an_api_server():
    cluster = advanced(cluster_with(make_node("n1", cpu="1"), make_pod("p", cpu="4")))
    found = cluster.store.get(("", "Pod"), "default/p")
    assert found is not None
    (condition,) = encode(found)["status"]["conditions"]
    assert list(condition) == [
        "type", "observedGeneration", "status", "lastProbeTime", "lastTransitionTime", "reason",
        "message",
    ]  # fmt: skip
    assert condition["lastProbeTime"] is None
    (entry,) = [each for each in encode(found)["metadata"]["managedFields"]
                if each["manager"] == "kube-scheduler"]  # fmt: skip
    fields = entry["fieldsV1"]["f:status"]["f:conditions"]
    assert "f:lastProbeTime" in fields['k:{"type":"PodScheduled"}']


# ------------------------------------------------------------------------------ explanations


def parameters(**given: Any) -> ExplanationParameters:
    return ExplanationParameters(**given)


def test_the_time_of_an_explanation_is_read_with_the_start():
    assert parameters().at_ns(START_NS) is None
    assert parameters(at="5s").at_ns(START_NS) == START_NS + 5 * SECOND_NS
    assert parameters(at="2027-01-15T08:00:05Z").at_ns(0) == START_NS + 5 * SECOND_NS
    both: list[tuple[dict[str, Any], str]] = [
        ({"at": "soon", "attempt": 1}, "attempt and at: specify one of them, not both"),
        ({"at": "5s", "attempt": "now"}, "attempt and at: specify one of them, not both"),
    ]
    for given, text in both:
        with pytest.raises(Problem) as raised:
            parameters(**given).at_ns(START_NS)
        found = raised.value
        assert (found.status, found.detail, found.field) == (422, text, "at")
    with pytest.raises(Problem) as raised:
        parameters(at="soon").at_ns(START_NS)
    assert (raised.value.status, raised.value.field) == (422, "at")
    assert "soon" in raised.value.detail


def explained(cluster: Cluster, name: str, at_ns: int | None = None, **given: Any) -> Any:
    """Return the document of an explanation an hour after the start."""
    body = explanation._explained(
        cluster, name, parameters(**given), at_ns, START_NS + 3600 * SECOND_NS
    )
    assert body.endswith(b"\n")
    return json.loads(body)


@pytest.fixture(scope="module")
def tried() -> Cluster:
    """A pod whose first attempt fails, and whose second one succeeds on a node added later."""
    cluster = advanced(cluster_with(make_node("n1", cpu="1"), make_pod("p", cpu="4")))
    advanced(cluster, 20)
    cluster.world.add(make_node("n2", cpu="8"))
    advanced(cluster, 30)
    cluster.world.add(make_pod("q", cpu="64"))
    return advanced(cluster, 31)


def test_an_attempt_is_chosen_by_number_or_time(tried):
    for given, attempt, node in [
        ({}, 2, "n2"),
        ({"attempt": 1}, 1, ""),
        ({"attempt": 2}, 2, "n2"),
    ]:
        found = explained(tried, "default/p", **given)
        assert (found["run"]["attempt"], found["node"] or "") == (attempt, node), given
    found = explained(tried, "default/p", START_NS)
    assert found["run"]["attempt"] == 1
    found = explained(tried, "default/p", START_NS + 30 * SECOND_NS)
    assert found["run"]["attempt"] == 2


def test_the_views_of_an_attempt(tried):
    summary, full, matrix = (
        explained(tried, "default/p", attempt=1, view=view)
        for view in ("summary", "full", "matrix")
    )
    assert explained(tried, "default/p", attempt=1) == summary
    assert "rejected" not in summary
    assert list(full["rejected"]) == ["n1"]
    assert [each["node"] for each in full["nearest"]] == ["n1"]
    assert summary["nearest"] == full["nearest"]
    assert matrix["nodes"] == ["n1"]
    present = explained(tried, "default/q", attempt="now", view="matrix")
    assert present["nodes"] == ["n1", "n2"]
    full = explained(tried, "default/q", attempt="now", view="full")
    assert sorted(full["rejected"]) == ["n1", "n2"]
    assert sorted(each["node"] for each in full["nearest"]) == ["n1", "n2"]
    summary = explained(tried, "default/q", attempt="now")
    assert "rejected" not in summary
    assert summary["nearest"] == full["nearest"]


def test_the_attempts_of_a_pod_and_the_log_that_has_them(tried):
    found = explanation._attempts(tried, "default/p")
    assert [(each.attempt, each.node or "") for each in found] == [(1, ""), (2, "n2")]
    assert explanation._attempts(tried, "default/none") == []
    scheduler, log = explanation.recorded_attempts(tried, "default/none")
    assert (scheduler, log) == (tried.schedulers[0], tried.schedulers[0].logs[-1])


def test_a_pod_of_no_scheduler_has_no_attempts_and_names_those_that_there_are():
    stranger = make_pod("p", scheduler="mine")
    cluster = advanced(cluster_with(make_node("n1"), stranger))
    assert explanation.responsible_scheduler(cluster, "default/p") is None
    assert explanation.responsible_scheduler(cluster, "default/q") is cluster.schedulers[0]
    assert explanation._attempts(cluster, "default/p") == []
    with pytest.raises(UnknownCycle) as raised:
        explanation.recorded_attempts(cluster, "default/p")
    assert str(raised.value) == (
        "pod default/p has no scheduling attempt: no scheduler of this cluster has its"
        " schedulerName; there are default-scheduler"
    )


# ------------------------------------------------------------------------------ progress


class Here:
    """Calls in this process, with the reports in a list."""

    async def call(self, function: Callable[[Any], Any]) -> Any:
        return function(lambda _: None)

    async def reports(self, function: Callable[[Any], Any]) -> Any:
        found: list[Any] = []
        function(found.append)
        for each in found:
            yield each


def replied(answer: Any, *, has_progress: bool) -> tuple[str | None, list[Any]]:
    async def main() -> tuple[str | None, list[Any]]:
        here: Any = Here()
        found: Any = await reply(here, answer, has_progress=has_progress)
        if has_progress:
            body = b"".join([part async for part in found.body_iterator])
        else:
            body = found.body
        assert body.endswith(b"\n")
        return found.media_type, [json.loads(line) for line in body.splitlines()]

    return asyncio.run(main())


def test_progress_is_reported_four_times_a_second_and_the_answer_last(monkeypatch):
    now = 100.0
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: now))

    def answer(advance: Any) -> dict[str, int]:
        nonlocal now
        for done in range(1, 6):
            advance(done, 5)
            now += 0.125
        return {"found": 1}

    lines = [{"done": done, "total": 5} for done in (1, 3, 5)]
    stream = ("application/x-ndjson", [*lines, {"found": 1}])
    assert replied(answer, has_progress=True) == stream
    assert replied(answer, has_progress=False) == ("application/json", [{"found": 1}])


def test_an_error_is_a_status_before_the_first_progress_and_a_line_after_it():
    def fails(_: Any) -> Any:
        raise InputError.of("pods", "too many")

    def fails_late(advance: Any) -> Any:
        advance(1, 2)
        raise InputError.of("pods", "too many")

    for has_progress in (False, True):
        with pytest.raises(Problem) as raised:
            replied(fails, has_progress=has_progress)
        assert raised.value.status == 422
    _, lines = replied(fails_late, has_progress=True)
    assert lines == [{"done": 1, "total": 2}, {"detail": "pods: too many"}]
    with pytest.raises(Problem):
        replied(fails_late, has_progress=False)


# ------------------------------------------------------------------------------ the start


class Installed(Plugin):
    """A plugin of an installed package."""

    name = "Installed"


TEXT = "import podwright as pw\n\nclass Own(pw.Plugin):\n    name = 'Own'\n"


def test_new_plugin_files_replace_the_old_ones_and_installed_plugins_stay():
    (old,) = plugins_from(TEXT, source="own.py")
    (new,) = plugins_from(TEXT, source="own.py")
    options = with_plugins(SchedulerOptions(plugins=(old, Installed)), [new])
    assert options.plugins == (new, Installed)
    cluster = cluster_with(plugins=(old, Installed))
    initial = InitialState(cluster)
    initial.change_plugins([new])
    initial.restore(cluster)
    assert cluster.schedulers[0].options.plugins == (new, Installed)


LEASE = ("coordination.k8s.io", "Lease")


def test_a_reset_puts_back_what_was_there_and_removes_the_rest():
    cluster = cluster_with(make_node("n1"), make_node("n2"))
    initial = InitialState(cluster)
    kept = {(kind, obj.key): obj.uid for kind in cluster.store.kinds()
            for obj in cluster.store.list(kind).objects}  # fmt: skip
    heartbeats = cluster.store.list(LEASE, namespace="kube-node-lease").objects
    assert [lease.name for lease in heartbeats] == ["n1", "n2"]
    assert len(initial) == len(kept) - len(heartbeats)
    cluster.world.add(make_pod("p", cpu="1"))
    advanced(cluster, 1)
    cluster.store.drop(("", "Node"), "n2")
    with cluster.store.batch():
        initial.restore(cluster)
    found = {(kind, obj.key): obj.uid for kind in cluster.store.kinds()
             for obj in cluster.store.list(kind).objects}  # fmt: skip
    assert found.items() <= kept.items()
    # The garbage collector removes the lease of the node that was gone.
    assert kept.keys() - found.keys() <= {(LEASE, "kube-node-lease/n2")}


# ------------------------------------------------------------------- imports of a snapshot


class Recorded:
    """A client that records what is applied, and refuses one object."""

    def __init__(self, refused: str = "") -> None:
        self.requests: list[str] = []
        self._refused = refused

    async def body_of(self, sent: Any) -> bytes:
        name = sent.path.rpartition("/")[2]
        is_dry_run = "dryRun" in sent.query
        self.requests.append(f"{'try ' if is_dry_run else ''}{name}")
        if name == self._refused:
            raise RequestFailed(sent, HttpReply(403, (), b'{"message": "no"}'))
        return b"{}"


SNAPSHOT = {
    "namespaces": [{"metadata": {"name": "team"}}],
    "nodes": [{"metadata": {"name": "n9"}}],
    "pods": [{**pod("p"), "metadata": {"name": "p", "namespace": "team"}}],
}


@pytest.mark.parametrize(
    ("refused", "requests"),
    [
        ("", ["team", "try n9", "try p", "n9", "p"]),
        ("team", ["team"]),
        ("n9", ["team", "try n9", "try p"]),
        ("p", ["team", "try n9", "try p"]),
    ],
)
def test_what_an_import_needs_is_applied_first_and_the_rest_tried_before(refused, requests):
    client = Recorded(refused)

    async def use(turns: TurnLoop) -> list[str]:
        sender: Any = client
        given = SnapshotImport(json.dumps(SNAPSHOT).encode())
        loading = Snapshots(RunningScheduler(turns)).load(sender, given)
        if refused:
            with pytest.raises(RequestFailed):
                await loading
        else:
            assert await loading is False
        return client.requests

    assert with_turns(use) == requests


def test_what_was_there_before_an_import_is_put_back_with_what_came_into_its_namespace():
    earlier_node = make_node("n1", cpu="1")
    cluster = cluster_with(earlier_node, make_pod("stays", cpu="8"))
    store, kinds = cluster.store, {each.kind: each for each in snapshot_kinds().values()}
    before = store.get(("", "Node"), "n1")
    earlier = _EarlierObjects(store)
    with store.batch():
        earlier.keep([(kinds["Namespace"], {"metadata": {"name": "team"}})])
        store.put(decode({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}}))
        earlier.keep([(kinds["Node"], {"metadata": {"name": "n1"}})])
        store.put(make_node("n1", cpu="2"))
        earlier.keep([(kinds["Node"], {"metadata": {"name": "n1"}})])
        earlier.keep([(kinds["Node"], {"metadata": {"name": "n7"}})])
        store.put(make_pod("in-it", namespace="team"))
        inside = {"metadata": {"name": "in-it", "namespace": "team"}}
        earlier.keep([(kinds["Pod"], inside)])
        earlier.restore()
    after = store.get(("", "Node"), "n1")
    assert before is not None
    assert after is not None
    assert getattr(after, "status", None) == getattr(before, "status", None)
    assert [each.key for each in store.list(("", "Pod")).objects] == ["default/stays"]
    assert store.get(("", "Namespace"), "team") is None
    assert store.get(("", "Node"), "n7") is None


def owner(kind: str, name: str, uid: str, api_version: str = "apps/v1") -> dict[str, str]:
    return {"apiVersion": api_version, "kind": kind, "name": name, "uid": uid}


def test_owners_that_do_not_exist_are_left_out_of_an_import():
    present = {
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "d", "namespace": "team", "uid": "d-uid"},
    }  # fmt: skip

    async def use(turns: TurnLoop) -> list[list[str]]:
        cluster = turns.cluster
        with cluster.store.batch():
            cluster.store.put(decode(present))
            cluster.store.put(make_node("n9"))
        node = cluster.store.get(("", "Node"), "n9")
        assert node is not None
        stored = cluster.store.get(("apps", "Deployment"), "team/d")
        assert stored is not None
        rows = [
            owner("Deployment", "d", stored.uid),
            owner("Deployment", "d", "other"),
            owner("Deployment", "e", stored.uid),
            owner("Node", "n9", node.uid, "v1"),
            owner("Node", "n8", node.uid, "v1"),
            owner("Thing", "x", "u", "example.com/v1"),
        ]
        snapshots = Snapshots(RunningScheduler(turns))
        left = []
        for namespace in ("team", "default"):
            metadata = {"name": "p", "namespace": namespace, "ownerReferences": rows}
            found = snapshots._kept({"metadata": metadata})
            owners = found["metadata"].get("ownerReferences", ())
            left.append([str(rows.index(each)) for each in owners])
        return left

    assert with_turns(use) == [["0", "3", "5"], ["3", "5"]]


# ------------------------------------------------------------------------------ the wire


def test_a_request_to_a_server_that_stops_is_unavailable():
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {"type": "http.request", "body": b""}

    async def main() -> None:
        turns = TurnLoop(cluster_with(), ClusterClock(start_ns=START_NS))
        turns.stop()
        await turns.run()
        scope = {
            "type": "http", "method": "GET", "path": "/api/v1/nodes", "raw_path": b"/api/v1/nodes",
            "scheme": "http", "query_string": b"", "headers": [(b"host", b"127.0.0.1")],
            "state": {},
        }  # fmt: skip
        application: Any = Application(turns, AllowedHosts())
        await application(scope, receive, send)

    asyncio.run(main())
    assert sent[0]["status"] == 503
    status = json.loads(sent[1]["body"])
    assert status == {
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": "the server is stopping", "reason": "ServiceUnavailable", "code": 503,
    }  # fmt: skip


def test_a_changed_clock_starts_a_turn():
    async def main() -> None:
        clock = ClusterClock(start_ns=START_NS)
        clock.pause()
        turns = TurnLoop(cluster_with(), clock)
        running = asyncio.create_task(turns.run())
        await turns.call(lambda _: None)
        turned = asyncio.Event()
        while not turns.is_caught_up:  # noqa: ASYNC110 - the turn loop has no event for it
            await asyncio.sleep(0)
        for _ in range(5):
            await asyncio.sleep(0)
        turns.listen(turned)
        for _ in range(20):
            await asyncio.sleep(0)
        assert not turned.is_set(), "nothing is due"
        turns.wake()
        async with asyncio.timeout(60):
            await turned.wait()
        turns.stop()
        await running

    asyncio.run(main())
