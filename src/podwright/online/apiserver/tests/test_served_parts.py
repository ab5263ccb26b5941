"""Parts of a served cluster with given logs, queues, requests and replies."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from podwright.apimachinery.schema import decode
from podwright.cluster.api.endpoints import HttpReply, HttpRequest, User
from podwright.cluster.store import ObjectStore
from podwright.online.apiserver.cluster_client import ClusterClient, RequestFailed
from podwright.online.apiserver.control.problems import Problem
from podwright.online.apiserver.control.runs import called_with_runs
from podwright.online.apiserver.control.scheduling import queue as queue_module
from podwright.online.apiserver.control.scheduling.configuration import (
    SchedulerParameter,
    chosen_scheduler,
    own_scheduler,
)
from podwright.online.apiserver.control.scheduling.explanation import (
    ExplanationParameters,
    recorded_attempts,
)
from podwright.online.apiserver.control.scheduling.queue import (
    GroupParameters,
    QueueParameters,
    _groups,
    _state,
)
from podwright.online.apiserver.control.snapshot import _identity
from podwright.online.apiserver.control.state import _text
from podwright.online.apiserver.control.tables import (
    SampleParameters,
    TableParameters,
    _is_sampled,
    _sample_ns,
    _times,
)
from podwright.online.apiserver.control.writes import _reply
from podwright.online.apiserver.generated_nodes import generated_nodes, standard_storage_class
from podwright.online.apiserver.records.run_collection import (
    RunCollection,
    RunEntry,
    RunFile,
    UnknownRun,
)
from podwright.online.apiserver.scheduling.served_scheduler import (
    ServedScheduler,
    repeated_names,
    scheduler_names,
)
from podwright.online.apiserver.wire.latency import LatencyRule
from podwright.scheduler.config import KubeSchedulerConfiguration, KubeSchedulerProfile
from podwright.scheduler.machine import SchedulerOptions
from podwright.scheduler.queueing import QueueName
from podwright.simulation.recording import RunError, UnknownCycle
from podwright.testing import make_pod

SECOND = 1_000_000_000

# ---------------------------------------------------------------------------- schedulers


def configured(*names: str, source: str = "c.yaml") -> SchedulerOptions:
    profiles = tuple(KubeSchedulerProfile(scheduler_name=name) for name in names)
    return SchedulerOptions(
        configuration=KubeSchedulerConfiguration(profiles=profiles), source=source
    )


def test_a_scheduler_has_the_names_of_its_profiles():
    assert scheduler_names(None) == ("default-scheduler",)
    assert scheduler_names(KubeSchedulerConfiguration()) == ("default-scheduler",)
    assert scheduler_names(configured("a", "", "b").configuration) == (
        "a",
        "default-scheduler",
        "b",
    )


def test_a_name_is_of_one_scheduler():
    errors = repeated_names(
        configured("a", "b", "c", source="new"),
        [configured("b", source="one"), configured("x", "c", source="two")],
    )
    assert [str(each) for each in errors] == [
        f'new: profiles[{index}].schedulerName: Duplicate value: "{name}": the scheduler of'
        f" {source} has it already"
        for index, name, source in ((1, "b", "one"), (2, "c", "two"))
    ]
    assert repeated_names(configured("a"), []) == []


def served(**log: Any) -> Any:
    """Return a scheduler, as far as checkpoints are concerned."""
    found: Any = object.__new__(ServedScheduler)
    objects = log.pop("objects", 0)
    machine = {"can_snapshot": True, "unrestorable": (), **log.pop("machine", {})}
    cluster = SimpleNamespace(pods=range(objects), nodes=SimpleNamespace(slot_of={}))

    class Log(SimpleNamespace):
        def __len__(self) -> int:
            return int(self.length)

    found.world = SimpleNamespace(
        log=Log(**{"length": 0, "last_start": 0, "last_state": 0, "size_bytes": 0} | log),
        machine=SimpleNamespace(cluster=cluster, **machine),
    )
    found._log_events, found._checkpoint_bytes = 1_000, 500
    found._last_checkpoint = found._last_size = 0
    return found


@pytest.mark.parametrize(
    ("log", "is_due"),
    [
        ({"length": 10_000}, True), ({"length": 9_999}, False),
        ({"length": 10_100, "last_start": 100}, True),
        ({"length": 10_099, "last_start": 100}, False),
        ({"length": 20_000, "objects": 40_000}, True),
        ({"length": 19_999, "objects": 40_000}, False),
        ({"length": 90_000, "objects": 40_001}, False),
        ({"length": 10_000, "machine": {"can_snapshot": False}}, False),
        ({"length": 10_000, "machine": {"unrestorable": ("p",)}}, False),
    ],
)  # fmt: skip
def test_when_an_explanation_has_too_many_events_to_replay(log, is_due):
    assert served(**log).is_memory_checkpoint_due is is_due


@pytest.mark.parametrize(
    ("log", "is_due"),
    [
        ({"length": 4_000}, True), ({"length": 3_999}, False),
        ({"length": 4_100, "last_state": 101}, False),
        ({"length": 10_000, "objects": 40_000}, True),
        ({"length": 9_999, "objects": 40_000}, False),
    ],
)  # fmt: skip
def test_when_a_state_is_kept(log, is_due):
    found = served(**log)
    kept: list[Any] = []
    found.world.log.keep_state = kept.append
    assert found.is_state_due is is_due
    found.keep_state()
    assert kept == ([found.world.machine] if is_due else [])


@pytest.mark.parametrize(
    ("log", "is_due"),
    [
        ({"length": 1_000}, True), ({"length": 999}, False),
        ({"length": 1, "size_bytes": 500}, True), ({"length": 1, "size_bytes": 499}, False),
        ({"length": 1_000, "machine": {"can_snapshot": False}}, False),
        ({"length": 1_000, "machine": {"unrestorable": ("p",)}}, False),
    ],
)  # fmt: skip
def test_when_a_checkpoint_of_the_log_is_written(log, is_due):
    found = served(**log)
    assert found.is_checkpoint_due is is_due
    found._last_checkpoint, found._last_size = 5_000, 400
    # A log that is shorter is that of another configuration.
    assert found.is_checkpoint_due is is_due
    assert (found._last_checkpoint, found._last_size) == (0, 0)


def cluster_of(*names: tuple[str, ...], has_scheduler: bool = True) -> Any:
    schedulers = [SimpleNamespace(names=each, logs=[]) for each in names]

    def scheduler_of(name: str) -> Any:
        return next((each for each in schedulers if name in each.names), None)

    return SimpleNamespace(
        schedulers=schedulers, scheduler_of=scheduler_of, has_scheduler=has_scheduler,
        scheduler_names=tuple(name for each in names for name in each), store=ObjectStore(),
    )  # fmt: skip


def test_a_request_chooses_a_scheduler_by_one_of_its_names():
    cluster = cluster_of(("a", "b"), ("c",))
    first, second = cluster.schedulers
    for name, found in ((None, first), ("b", first), ("c", second)):
        assert chosen_scheduler(cluster, SchedulerParameter(name)) is found
        assert own_scheduler(cluster, SchedulerParameter(name)) is found
    with pytest.raises(Problem) as unknown:
        chosen_scheduler(cluster, SchedulerParameter("d"))
    assert (unknown.value.status, unknown.value.field) == (404, "schedulerName")
    assert unknown.value.detail == (
        "no scheduler of the cluster has the schedulerName 'd'; there are a, b, c"
    )
    with pytest.raises(Problem) as external:
        own_scheduler(cluster_of(("a",), has_scheduler=False), SchedulerParameter())
    assert external.value.status == 409
    assert external.value.detail == (
        "podwright does not schedule the pods, so there are no decisions of it; omit --no-scheduler"
    )


class Cycles:
    """A log with cycles of pods at given times."""

    def __init__(self, **cycles: list[int]) -> None:
        self.cycles = cycles

    def cycles_of(self, pod: str) -> list[int]:
        return self.cycles.get(pod.partition("/")[2], [])

    def time_of(self, index: int) -> int:
        return index * 10


@pytest.mark.parametrize(
    ("at_ns", "place"),
    [
        (None, (1, 0)),
        (70, (1, 0)),
        (69, (0, 1)),
        (50, (0, 1)),
        (49, (0, 0)),
        (10, (0, 0)),
        (9, None),
    ],
)
def test_an_attempt_is_that_of_the_scheduler_that_tried_last(at_ns, place):
    cluster = cluster_of(("default-scheduler",), ("b",))
    cluster.schedulers[0].logs = [Cycles(p=[1, 4]), Cycles(p=[5])]
    cluster.schedulers[1].logs = [Cycles(p=[7]), Cycles()]
    found = recorded_attempts(cluster, "default/p", at_ns)
    if place is None:  # that of the present, of the first scheduler
        place = (0, 1)
    scheduler = cluster.schedulers[place[0]]
    assert found == (scheduler, scheduler.logs[place[1]])


def test_a_pod_of_no_scheduler_has_no_attempt():
    cluster = cluster_of(("a",), ("b",))
    for each in cluster.schedulers:
        each.logs = [Cycles()]
    cluster.store.put(make_pod("p", spec={"schedulerName": "b"}))
    cluster.store.put(make_pod("q", spec={"schedulerName": "z"}))
    assert recorded_attempts(cluster, "default/p")[0] is cluster.schedulers[1]
    assert recorded_attempts(cluster, "default/gone")[0] is cluster.schedulers[0]
    with pytest.raises(UnknownCycle) as unknown:
        recorded_attempts(cluster, "default/q")
    assert str(unknown.value) == (
        "pod default/q has no scheduling attempt: no scheduler of this cluster has its"
        " schedulerName; there are a, b"
    )


@pytest.mark.parametrize(
    ("parameters", "found"),
    [
        ({}, None),
        ({"attempt": 3}, None),
        ({"at": "5s"}, 105 * SECOND),
        ({"at": "1970-01-01T00:00:07Z"}, 7 * SECOND),
        ({"at": "5s", "attempt": 1}, "attempt and at: specify one of them, not both"),
        ({"at": "5s", "attempt": "now"}, "attempt and at: specify one of them, not both"),
    ],
)
def test_the_time_of_an_explanation(parameters, found):
    given = ExplanationParameters(**parameters)
    if isinstance(found, str):
        with pytest.raises(Problem) as wrong:
            given.at_ns(100 * SECOND)
        assert (wrong.value.status, wrong.value.field, wrong.value.detail) == (422, "at", found)
    else:
        assert given.at_ns(100 * SECOND) == found
    with pytest.raises(Problem) as unreadable:
        ExplanationParameters(at="soon").at_ns(0)
    assert (unreadable.value.status, unreadable.value.field) == (422, "at")


# -------------------------------------------------------------------------------- the queue


class Queue:
    """A queue with given pods."""

    def __init__(self, **places: list[Any]) -> None:
        self.places = {QueueName(name): pods for name, pods in places.items()}

    def count_in(self, place: QueueName) -> int:
        return len(self.places.get(place, ()))

    def pods_in(self, place: QueueName) -> list[Any]:
        return self.places.get(place, [])

    def first_in(self, place: QueueName, limit: int) -> list[Any]:
        return self.pods_in(place)[:limit]

    def backoff_end_ns(self, queued: Any) -> int:
        return int(queued.timestamp_ns) + 2 * SECOND

    def timeout_ns(self, queued: Any) -> int:
        return int(queued.timestamp_ns) + 300 * SECOND

    def moving_events(self, queued: Any) -> dict[str, tuple[str, ...]]:
        return {"NodeAdd": ("Fit", "Taint")} if queued.rejectors else {}


def queued(name: str, place: QueueName, **more: Any) -> Any:
    pod = make_pod(name, namespace="a")
    given: dict[str, Any] = {
        "key": pod.key, "pod": pod, "place": place, "priority": 5, "attempts": 2,
        "timestamp_ns": 10 * SECOND, "rejectors": frozenset(), "gating_plugin": "",
        "gating_reasons": (),
    }  # fmt: skip
    return SimpleNamespace(**given | more)


UNSCHEDULABLE, BACKOFF, GATED = QueueName.UNSCHEDULABLE, QueueName.BACKOFF, QueueName.GATED
WAITS = {
    "priority": 5, "attempts": 2, "since": "1970-01-01T00:00:10.000000000Z", "backoffEnd": None,
    "latestAttempt": None, "rejectedBy": [], "gatedBy": "", "reasons": [], "message": "",
    "nominatedNode": "", "movedBy": [],
}  # fmt: skip


def shown(value: Any) -> Any:
    return json.loads(msgspec.json.encode(value))


def test_each_pod_of_the_queue_has_when_and_why_it_waits():
    queue: Any = Queue(
        unschedulable=[queued("p", UNSCHEDULABLE, rejectors=frozenset({"Taint", "Fit"}))],
        backoff=[queued("q", BACKOFF)],
        error_backoff=[queued("r", QueueName.ERROR_BACKOFF)],
        gated=[queued("s", GATED, gating_plugin="G", gating_reasons=("x", "y"))],
        active=[queued("t", QueueName.ACTIVE), queued("u", QueueName.ACTIVE)],
    )
    state = shown(_state(queue, QueueParameters(limit=1), 7 * SECOND))
    moved = [{"event": "NodeAdd", "plugins": ["Fit", "Taint"]}]
    end = "1970-01-01T00:00:12.000000000Z"
    assert state == {
        "time": "1970-01-01T00:00:07.000000000Z",
        "counts": {"active": 2, "backoff": 1, "errorBackoff": 1, "unschedulable": 1, "gated": 1,
                   "inFlight": 0},
        "pods": {
            "active": [WAITS | {"pod": "a/t"}],
            "backoff": [WAITS | {"pod": "a/q", "backoffEnd": end}],
            "errorBackoff": [WAITS | {"pod": "a/r", "backoffEnd": end}],
            "unschedulable": [WAITS | {"pod": "a/p",
                                       "latestAttempt": "1970-01-01T00:05:10.000000000Z",
                                       "rejectedBy": ["Fit", "Taint"], "movedBy": moved}],
            "gated": [WAITS | {"pod": "a/s", "gatedBy": "G", "reasons": ["x", "y"]}],
            "inFlight": [],
        },
    }  # fmt: skip
    one = shown(_state(queue, QueueParameters(place="gated"), 0))
    assert list(one["pods"]) == ["gated"]
    assert one["counts"] == state["counts"]


def test_groups_of_the_queue_are_of_one_workload_place_and_cause():
    def of(name: str, place: QueueName, workload: str = "", **more: Any) -> Any:
        owners = [{"apiVersion": "batch/v1", "kind": "Job", "name": workload, "uid": "u",
                   "controller": True}]  # fmt: skip
        document: Any = {"apiVersion": "v1", "kind": "Pod",
                         "metadata": {"name": name, "namespace": "a",
                                      "creationTimestamp": more.pop("made", None)}}  # fmt: skip
        if workload:
            document["metadata"]["ownerReferences"] = owners
        found = queued(name, place, **more)
        found.pod = decode(document | {"spec": {"containers": [{"name": "c", "image": "i"}]}})
        return found

    queue: Any = Queue(
        active=[of("z", QueueName.ACTIVE)],
        unschedulable=[
            of("p", UNSCHEDULABLE, "j", made="1970-01-01T00:00:03Z"),
            of("q", UNSCHEDULABLE, "j", made="1970-01-01T00:00:02Z"),
            of("r", UNSCHEDULABLE, "j", rejectors=frozenset({"Fit"})),
            of("s", UNSCHEDULABLE), of("t", UNSCHEDULABLE),
        ],
    )  # fmt: skip
    found = _groups(queue, GroupParameters(pods=1), 7 * SECOND)
    rows = [
        (each.place, each.workload, each.namespace, each.count, each.created, each.pods)
        for each in found.groups
    ]
    assert rows == [
        ("unschedulable", "Job/j", "a", 2, "1970-01-01T00:00:02Z", ["a/p"]),
        ("unschedulable", "Job/j", "a", 1, "", ["a/r"]),
        ("unschedulable", "", "a", 2, "", ["a/s"]),
        ("active", "", "a", 1, "", ["a/z"]),
    ]
    assert (found.group_count, found.time) == (4, "1970-01-01T00:00:07.000000000Z")
    assert found.groups[0].first.pod == "a/p"
    assert found.counts == {"active": 1, "backoff": 0, "errorBackoff": 0, "unschedulable": 5,
                            "gated": 0, "inFlight": 0}  # fmt: skip
    few = _groups(queue, GroupParameters(limit=2, pods=9), 0)
    assert [each.pods for each in few.groups] == [["a/p", "a/q"], ["a/r"]]
    assert few.group_count == 4
    assert queue_module._GROUPED == (
        "unschedulable", "backoff", "errorBackoff", "gated", "active", "inFlight"
    )  # fmt: skip


# --------------------------------------------------------------------------------- tables


@pytest.mark.parametrize(
    ("parameters", "found"),
    [
        (TableParameters(), 60 * SECOND), (SampleParameters(), 60 * SECOND),
        (SampleParameters(sample="1ms"), 1_000_000),
        (SampleParameters(sample="0s"), "must be positive"),
        (SampleParameters(sample="-1s"), "must be positive"), (SampleParameters(sample="x"), None),
    ],
)  # fmt: skip
def test_the_time_between_samples(parameters, found):
    if isinstance(found, int):
        assert _sample_ns(parameters) == found
        return
    with pytest.raises(Problem) as wrong:
        _sample_ns(parameters)
    assert (wrong.value.status, wrong.value.field) == (422, "sample")
    assert found is None or wrong.value.detail == found


def test_which_tables_are_sampled_and_which_columns_are_times():
    sampled = {name for name in ("decisions", "waits", "utilization", "nodeShares", "fragmentation",
                                 "pending", "preemptions") if _is_sampled(name)}  # fmt: skip
    assert sampled == {"utilization", "nodeShares", "fragmentation", "pending"}
    assert "time" in _times("decisions")


# --------------------------------------------------------------------- requests and replies


def test_who_imports_is_who_sends_the_request():
    headers = {"authorization": "t", "impersonate-user": "u", "impersonate-extra-x": "y",
               "content-type": "j", "x-impersonate-user": "no"}  # fmt: skip
    assert _identity(headers) == {
        "authorization": "t", "impersonate-user": "u", "impersonate-extra-x": "y"
    }  # fmt: skip


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (LatencyRule("*", "*", 50_000_000), "50ms"),
        (LatencyRule("get", "*", SECOND), "get=1s"),
        (LatencyRule("*", "pods", 0), "*:pods=0s"),
        (LatencyRule("create", "pods/binding", 60 * SECOND), "create:pods/binding=1m0s"),
    ],
)
def test_rules_of_latency_are_shown_as_they_are_written(rule, text):
    assert _text(rule) in (text, text.replace("1m0s", "1m"))


def reply_of(status: int, body: bytes = b"", kind: str = "", *rest: bytes) -> HttpReply:
    headers = (("content-type", kind),) if kind else ()
    return HttpReply(status, headers, body, iter(rest) if rest else None)


@pytest.mark.parametrize(
    ("reply", "body"),
    [
        (reply_of(200, b'{"a":1}', "application/json"), b'{"a":1}'),
        (reply_of(200, b'{"a":', "application/json;x", b"1", b"}"), b'{"a":1}'),
        (reply_of(404, b"no", "text/plain"), b'"no"'),
        (reply_of(204, b"", ""), b"null"),
    ],
)  # fmt: skip
def test_the_reply_of_each_write_is_json(reply, body):
    found = _reply(reply)
    assert (found.status, bytes(found.body)) == (reply.status, body)


class Turns:
    """Notes requests, and replies by a list."""

    def __init__(self, *replies: Any) -> None:
        self.requests: list[HttpRequest] = []
        self.replies = list(replies)

    async def execute(self, request: HttpRequest) -> Any:
        self.requests.append(request)
        return self.replies.pop(0)


def test_a_client_sends_as_its_user_and_says_what_was_refused():
    user = User("u")
    turns: Any = Turns(
        reply_of(200, b"a", "", b"b"), reply_of(403, b'{"message": "no"}'), reply_of(500, b"plain"),
        reply_of(400, b"{}"),
    )  # fmt: skip
    client = ClusterClient(turns, {"authorization": "t"}, certified=user)
    request = HttpRequest("PUT", "/x", "", {"authorization": "mine", "accept": "j"}, b"")
    assert asyncio.run(client.body_of(request)) == b"ab"
    (sent,) = turns.requests
    assert dict(sent.headers) == {"authorization": "t", "accept": "j"}
    assert (sent.certified, sent.path) == (user, "/x")
    for status, message in ((403, "no"), (500, "status 500"), (400, "status 400")):
        with pytest.raises(RequestFailed) as failed:
            asyncio.run(client.body_of(request))
        assert (failed.value.status, str(failed.value)) == (status, f"PUT /x: {message}")

    async def lines() -> None:
        async for _ in client.lines_of(request):
            pass

    turns.replies = [reply_of(200, b'{"message": "no watch"}')]
    with pytest.raises(RequestFailed, match="no watch"):
        asyncio.run(lines())


# ------------------------------------------------------------------------------------ runs


@pytest.mark.parametrize(
    ("error", "status", "detail"),
    [
        (UnknownRun("there is no run 'x'"), 404, "there is no run 'x'"),
        (RunError("broken"), 409, "broken"),
        (OSError(13, "Permission denied"), 409, "the folder of runs: Permission denied"),
    ],
)
def test_errors_of_runs_are_problems(error, status, detail):
    def failing(_: object) -> None:
        raise error

    runs: Any = object()
    with pytest.raises(Problem) as problem:
        asyncio.run(called_with_runs(runs, failing))
    assert (problem.value.status, problem.value.detail) == (status, detail)
    assert asyncio.run(called_with_runs(runs, lambda found: found is runs))
    with pytest.raises(Problem) as none:
        asyncio.run(called_with_runs(None, failing))
    assert none.value.status == 409
    assert none.value.detail == "there is no folder of runs; start the server with --runs FOLDER"


def test_only_folders_with_a_manifest_are_runs(tmp_path: Path):
    (tmp_path / "b" / "log").mkdir(parents=True)
    (tmp_path / "b" / "manifest.json").write_text("{}")
    (tmp_path / "a").mkdir()
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to(tmp_path / "b")
    runs = RunCollection(tmp_path)
    (entry,) = runs.list()
    assert entry.id == "b"
    assert entry.problem
    assert msgspec.structs.replace(entry, problem="") == RunEntry(id="b", problem="")
    assert runs.path("b") == tmp_path / "b"
    for name in ("a", "link", "file", "..", ""):
        with pytest.raises(UnknownRun) as unknown:
            runs.path(name)
        assert str(unknown.value) == f"there is no run {name!r}"
    assert RunFile(name="x", size_bytes=1) == RunFile(name="x", size_bytes=1)


# ----------------------------------------------------------------------------- what is made


def test_generated_nodes_as_a_whole():
    resources = {"cpu": "8", "memory": "32Gi", "ephemeral-storage": "100Gi", "pods": "110"}
    nodes = [each.raw for each in generated_nodes(4)]
    assert nodes[1] == {
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": "node-1", "labels": {
            "kubernetes.io/arch": "amd64", "kubernetes.io/hostname": "node-1",
            "kubernetes.io/os": "linux", "topology.kubernetes.io/region": "region-1",
            "topology.kubernetes.io/zone": "zone-b"}},
        "spec": {},
        "status": {"capacity": resources, "allocatable": resources,
                   "daemonEndpoints": {"kubeletEndpoint": {"Port": 0}}},
    }  # fmt: skip
    zones = [each["metadata"]["labels"]["topology.kubernetes.io/zone"] for each in nodes]
    assert zones == ["zone-a", "zone-b", "zone-c", "zone-a"]
    assert standard_storage_class().raw == {
        "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
        "metadata": {"name": "standard", "annotations": {
            "storageclass.kubernetes.io/is-default-class": "true"}},
        "provisioner": "simulated.podwright.dev", "reclaimPolicy": "Delete",
        "volumeBindingMode": "WaitForFirstConsumer",
    }  # fmt: skip
