"""`podwright scheduler` on a cluster that a thread serves."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from http.client import HTTPConnection
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import pytest

from podwright.apimachinery.objects import encode
from podwright.cli import console
from podwright.cli.clusters import scheduler_run
from podwright.cli.clusters.options import SchedulerCommandOptions
from podwright.cli.clusters.remote_work import FailureLines
from podwright.cli.tests.served import command, command_until, served
from podwright.online.live import Executor, LostLease
from podwright.online.live.tests.test_lease_model import VirtualLoop
from podwright.online.sync.tests.served_cluster import ServedCluster, node, pod
from podwright.scheduler.assembly import machine_of
from podwright.scheduler.config import read_configuration
from podwright.scheduler.machine import Bind, DeletePod, Failure, SchedulerOptions
from podwright.simulation.recording import DecisionLog, LogError, RotatingRecorder
from podwright.testing import make_node, make_pod

LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"


def requesting(cpu):
    return {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}]}


@pytest.fixture
def cluster(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cluster = ServedCluster()
    cluster.create(
        node("n1"),
        pod("big", spec=requesting("10")),
        pod("other", spec={"schedulerName": "another"}),
        pod("web", spec=requesting("1")),
    )
    made = cluster.send("GET", "/api/v1/nodes/n1")
    del made["spec"]["taints"]  # as the controller of nodes does when it is ready
    cluster.send("PUT", "/api/v1/nodes/n1", made)
    return cluster


def node_of(cluster, name):
    return cluster.send("GET", f"/api/v1/namespaces/default/pods/{name}")["spec"].get("nodeName")


STARTED = "all objects are listed\nscheduling\n"
STOPPED = "stopped; 1 pods were bound\n"


def test_a_dry_run_prints_the_decisions_and_only_reads(cluster):
    bound = []

    def keep(decision, *, _report=scheduler_run._report):
        _report(decision)
        bound.append(decision)

    with served(cluster) as address, pytest.MonkeyPatch.context() as patched:
        patched.setattr(scheduler_run, "_report", keep)
        printed, errors, status = command_until(
            lambda: bound, f"scheduler --server {address} --dry-run"
        )
    assert (printed, errors, status) == ("bind     default/web  n1\n", STARTED + STOPPED, 0)
    assert {each.split()[0] for each in cluster.requests} == {"GET", "WATCH"}
    assert node_of(cluster, "web") is None


def test_without_a_lease_every_replica_schedules_its_own_pods(cluster):
    with served(cluster) as address:
        line = f"scheduler --server {address} --no-leader-elect --out log --seed 5"
        found = command_until(lambda: node_of(cluster, "web"), line)
        assert found == ("", STARTED + STOPPED, 0)
        assert [node_of(cluster, name) for name in ("web", "big", "other")] == ["n1", None, None]
        assert [each for each in cluster.requests if LEASES in each] == []
        condition = cluster.send("GET", "/api/v1/namespaces/default/pods/big")["status"]
        assert condition["conditions"][0]["reason"] == "Unschedulable"
    assert command("explain web --run log -o name") == ("n1\n", "", 0)
    assert json.loads(command("run show log -o json")[0])["summary"]["podsOnNodes"] == 1
    assert command("explain other --run log")[1].endswith('it uses another scheduler, "another"\n')


def test_the_leader_schedules_and_gives_the_lease_away(cluster):
    with served(cluster) as address:
        found = command_until(lambda: node_of(cluster, "web"), f"scheduler --server {address}")
    text = "waiting for the lease\nthis replica is the leader\n"
    assert sorted(found[1].splitlines()) == sorted((text + STARTED + STOPPED).splitlines())
    assert found[1].startswith("waiting for the lease\n")
    assert found[1].index("scheduling") > found[1].index("leader")
    lease = cluster.send("GET", f"{LEASES}/kube-scheduler")["spec"]
    assert lease["holderIdentity"] == ""
    assert lease["leaseDurationSeconds"] == 1


def test_decisions_continue_in_other_runs_and_the_last_ones_are_kept(cluster):
    with served(cluster) as address:
        line = f"scheduler --server {address} --no-leader-elect --out runs --rotate 1Mi --keep 1"
        for _ in range(2):
            assert command_until(lambda: node_of(cluster, "web"), line)[2] == 0
    assert [each.name for each in sorted(Path("runs").iterdir())] == ["000002"]


WARM = """
import podwright as pw

class WarmNodes(pw.Plugin):
    name = "WarmNodes"

    def filter(self, cycle, node):
        metric = self.handle.find("NodeMetric.example.com", node.name)
        if metric is None or metric.raw["status"]["celsius"] > 30:
            return pw.Status.unschedulable("node(s) whose temperature is unknown or high")
        return pw.Status()

    def post_bind(self, cycle, node_name):
        raise ValueError("no thermometer")

    def events_to_register(self):
        changed = pw.ActionType.ADD | pw.ActionType.UPDATE
        return [pw.EventHint(f"{kind}.example.com", changed) for kind in ("NodeMetric", "Other")]
"""


def test_the_custom_resources_that_plugins_register_are_followed(cluster):
    Path("warm.py").write_text(WARM, encoding="utf-8")
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema},
    }  # fmt: skip
    names = {"plural": "nodemetrics", "kind": "NodeMetric"}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "nodemetrics.example.com"},
        "spec": {
            "group": "example.com", "scope": "Cluster", "names": names, "versions": [version],
        },
    }  # fmt: skip
    cluster.send("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
    metrics = "/apis/example.com/v1/nodemetrics"
    metric = {"apiVersion": "example.com/v1", "kind": "NodeMetric", "metadata": {"name": "n1"}}
    hot = metric | {"status": {"celsius": 40}}
    made = cluster.send("POST", metrics, hot)
    assert made["kind"] == "NodeMetric", made

    def is_bound():
        status = cluster.send("GET", "/api/v1/namespaces/default/pods/web")["status"]
        if any("temperature" in each.get("message", "") for each in status.get("conditions", ())):
            cool = cluster.send("GET", f"{metrics}/n1") | {"status": {"celsius": 20}}
            cluster.send("PUT", f"{metrics}/n1", cool)
        return node_of(cluster, "web")

    with served(cluster) as address:
        line = f"scheduler --server {address} --no-leader-elect --plugin warm.py --out log"
        _, errors, status = command_until(is_bound, line)
    assert status == 0
    assert errors.splitlines() == [
        "warning: plugins register Other.example.com, which the cluster does not serve: they find"
        " no such objects until this process is started again",
        *STARTED.splitlines(),
        'running PostBind plugin "WarmNodes": ValueError: no thermometer (pod default/web, node n1)'
        ", which has no effect",
        STOPPED.strip(),
    ]
    explain = "explain web --run log --plugin warm.py -o name"
    assert command(f"{explain} --attempt 1")[::2] == ("", 1)
    assert command(explain)[::2] == ("n1\n", 0)


def test_metrics_and_checks_of_health_are_served(cluster):
    replies: dict[str, tuple[int, str]] = {}

    def has_metrics():
        if not node_of(cluster, "web") or not printed:
            return False
        port = urlsplit(printed[0].split()[-1]).port
        for path in ("/healthz", "/livez", "/readyz", "/metrics", "/metrics/resources"):
            connection = HTTPConnection("127.0.0.1", port, timeout=10)
            connection.request("GET", path)
            response = connection.getresponse()
            replies[path] = response.status, response.read().decode()
            connection.close()
        return True

    printed = []

    def keep(text, *, _print=console.print_message):
        _print(text)
        printed.append(text)

    with served(cluster) as address, pytest.MonkeyPatch.context() as patched:
        patched.setattr(scheduler_run, "print_message", keep)
        line = f"scheduler --server {address} --no-leader-elect --metrics-port 0"
        _, errors, status = command_until(has_metrics, line)
    assert (errors.splitlines()[1:], status) == ((STARTED + STOPPED).splitlines(), 0)
    assert printed[0].startswith("serving metrics at http://127.0.0.1:")
    assert printed[0].endswith("/metrics")
    assert {status for status, _ in replies.values()} == {200}
    metrics = replies["/metrics"][1]
    assert "scheduler_schedule_attempts_total" in metrics
    assert "rest_client_requests_total" in metrics
    assert "kube_pod_resource_request" in replies["/metrics/resources"][1]


def test_a_configuration_that_is_invalid_is_an_error_before_anything_is_read(tmp_path):
    file = tmp_path / "config.yaml"
    file.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "parallelism: -1\n"
    )
    text = f"error: {file}: parallelism: Invalid value: -1: should be an integer value greater than"
    _, errors, status = command(f"scheduler --server http://127.0.0.1:1 -c {file}")
    assert errors == f"{text} zero\n"
    assert status == 2


HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


@pytest.mark.parametrize(
    ("text", "option", "name"),
    [
        ("", None, "kube-scheduler"),
        ("", False, ""),
        ("leaderElection: {leaderElect: false}\n", None, ""),
        ("leaderElection: {leaderElect: false}\n", True, "kube-scheduler"),
        ("profiles: [{schedulerName: packing}]\n", None, "podwright-scheduler"),
        ("profiles: [{schedulerName: packing}, {schedulerName: default-scheduler}]\n", None,
         "kube-scheduler"),
        ("profiles: [{}]\n", None, "kube-scheduler"),
        ("leaderElection: {resourceName: own}\nprofiles: [{schedulerName: packing}]\n", None,
         "own"),
    ],
)  # fmt: skip
def test_the_lease_of_kube_scheduler_is_for_what_takes_its_place(text, option, name):
    configuration = read_configuration(HEAD + text, source="c")
    assert scheduler_run._lease(configuration, SchedulerCommandOptions(leader_elect=option)) == name


def test_the_times_of_a_lease_are_those_of_the_configuration():
    text = "leaderElection: {leaseDuration: 9s, renewDeadline: 5s, retryPeriod: 1s}\n"
    configuration = read_configuration(HEAD + text, source="c")
    election = scheduler_run._election(None, configuration, "own")  # type: ignore[arg-type]
    times = election._state.times
    seconds = times.lease_duration_ns, times.renew_deadline_ns, times.retry_period_ns
    assert seconds == (9 * 10**9, 5 * 10**9, 10**9)


# ---------------------------------------------------------------- parts


def test_a_dry_run_prints_bindings_and_preemptions(capsys):
    scheduler_run._report(Bind(call=1, pod="a/b", uid="u", node="n1"))
    scheduler_run._report(DeletePod(call=2, pod="a/c", uid="u"))
    assert capsys.readouterr().out == "bind     a/b  n1\npreempt  a/c\n"


@pytest.mark.parametrize(
    ("is_rejected", "text"),
    [
        (True, ""),
        (
            False,
            "scheduling pod default/p failed, and is tried again later: ValueError: cold\n",
        ),
    ],
)
def test_attempts_that_fail_by_an_error_are_reported(is_rejected, text, capsys):
    failure = Failure(message="ValueError: cold", is_rejected=is_rejected)
    scheduler_run._report_failure(make_pod("p"), failure, 0)
    assert capsys.readouterr().err == text


def test_a_failed_request_is_repeated_and_reported(capsys):
    times_s = iter([0.0, 1.0, 2.0, 9.9, 10.0, 11.0])
    report = FailureLines(lambda: next(times_s))
    report("pods", ValueError("gone"))
    report("nodes", ValueError("gone"))  # of the same server, within ten seconds
    report("nodes", ValueError("forbidden"))
    report("pods", ValueError("gone"))
    report("nodes", ValueError("gone"))
    report("pods", ValueError("gone"))
    assert capsys.readouterr().err == (
        "pods: gone; retrying\nnodes: forbidden; retrying\nnodes: gone; retrying\n"
    )


@pytest.mark.parametrize(("options", "files"), [
    ({}, ["log"]), ({"rotate": 1000}, ["000001"]), ({"rotate": 1000, "keep": 2}, ["000001"])
])  # fmt: skip
def test_decisions_are_recorded_in_one_folder_or_many(options, files, tmp_path):
    scheduler = SchedulerOptions(seed=4, draws_preemption_offset=False)
    recorder = scheduler_run._recorder(scheduler, tmp_path, SchedulerCommandOptions(**options))
    scheduler_run._close(recorder)
    assert sorted(each.name for each in tmp_path.iterdir()) == files
    log = tmp_path / files[0]
    with DecisionLog.open(log if files == ["log"] else log / "log") as found:
        assert (found.setup.seed, found.setup.draws_preemption_offset) == (4, False)
    assert isinstance(recorder, RotatingRecorder) is bool(options)
    if isinstance(recorder, RotatingRecorder):
        limits = recorder._largest_bytes, recorder._kept_count
        assert limits == (1000, options.get("keep", 0))


class FailingLog:
    """A log whose flushes fail or not, in an order; then it ends the loop."""

    def __init__(self, *fails: bool) -> None:
        self.log = self
        self._fails = list(fails)

    def flush(self) -> None:
        """Flush, or fail."""
        if not self._fails:
            raise asyncio.CancelledError
        if self._fails.pop(0):
            raise LogError("log: cannot be written: No space left on device")


def test_a_full_disk_is_reported_once_until_it_is_written_again(monkeypatch, capsys):
    monkeypatch.setattr(scheduler_run, "_FLUSH_SECONDS", 0.0)
    recorder: Any = FailingLog(False, True, True, False, False, True)
    with suppress(asyncio.CancelledError):
        asyncio.run(scheduler_run._flush_regularly(recorder))
    warning = (
        "warning: log: cannot be written: No space left on device; the process will exit if"
        " this continues\n"
    )
    text = f"{warning}the decision log is being written again\n{warning}"
    assert capsys.readouterr().err == text


class Rotating:
    """A recorder whose log is full, or not, in an order; then it ends the loop."""

    def __init__(self, *is_full: bool) -> None:
        self.log = SimpleNamespace(flush=lambda: None)
        self.path = Path("runs/1")
        self._is_full = list(is_full)

    def rotate_if_due(self) -> bool:
        if not self._is_full:
            raise asyncio.CancelledError
        is_due = self._is_full.pop(0)
        if is_due:
            self.path = self.path.with_name(f"{int(self.path.name) + 1}")
        return is_due


def test_the_next_folder_of_decisions_is_named_when_it_begins(monkeypatch, capsys):
    monkeypatch.setattr(scheduler_run, "_FLUSH_SECONDS", 0.0)
    monkeypatch.setattr(scheduler_run, "RotatingRecorder", Rotating)
    recorder: Any = Rotating(False, True, False, True)
    with suppress(asyncio.CancelledError):
        asyncio.run(scheduler_run._flush_regularly(recorder))
    assert capsys.readouterr().err == (
        "decisions are recorded in runs/2\ndecisions are recorded in runs/3\n"
    )


class Noted(Executor):
    """Notes what it is to send."""

    def __init__(self) -> None:
        self.calls: list[object] = []

    async def call(self, call: object) -> Any:
        self.calls.append(call)
        await asyncio.Event().wait()

    async def emit(self, event: object, now_ns: int) -> None:
        """Write nothing."""


@pytest.mark.parametrize("last", ["_listed", "_leads"])
def test_a_replica_schedules_when_it_leads_and_all_objects_are_listed(last, capsys):
    machine, executor = machine_of(SchedulerOptions()), Noted()
    connection: Any = None
    live = scheduler_run.LiveScheduler(
        connection, machine, machine.handle, executor, None, is_delayed=False
    )

    async def run() -> None:
        live._driver.put(encode(make_node("n")))
        live._driver.put(encode(make_pod("p")))
        task = asyncio.create_task(live._schedule())
        for name in sorted(("_listed", "_leads"), key=last.__eq__):
            await asyncio.sleep(1)
            assert (executor.calls, capsys.readouterr().err) == ([], "")
            getattr(live, name).set()
        await asyncio.sleep(1)
        assert [type(call) for call in executor.calls] == [Bind]
        task.cancel()

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(run())
    assert capsys.readouterr().err == "scheduling\n"


def test_a_replica_that_loses_its_lease_leads_no_longer(capsys):
    machine = machine_of(SchedulerOptions())
    connection: Any = None
    live = scheduler_run.LiveScheduler(
        connection, machine, machine.handle, Noted(), None, is_delayed=True
    )

    class Lost:
        async def acquire(self) -> None:
            assert not live._leads.is_set()

        async def wait_until_lost(self) -> None:
            raise LostLease("it was not renewed")

    election: Any = Lost()
    leads: list[bool] = []
    with pytest.raises(LostLease):
        asyncio.run(live._elect(election, leads.append))
    assert leads == [True, False]
    assert live._leads.is_set()
    assert capsys.readouterr().err == "waiting for the lease\nthis replica is the leader\n"


class Unanswered(Executor):
    """Sends requests that are never answered."""

    async def call(self, call: object) -> Any:
        await asyncio.Event().wait()

    async def emit(self, event: object, now_ns: int) -> None:
        """Write nothing."""


@pytest.mark.parametrize(("has_call", "seconds"), [(True, 10), (False, 0)])
def test_the_end_waits_ten_seconds_for_requests_that_are_under_way(has_call, seconds, capsys):
    machine = machine_of(SchedulerOptions())
    connection: Any = None
    live = scheduler_run.LiveScheduler(
        connection, machine, machine.handle, Unanswered(), None, is_delayed=False
    )

    async def end() -> float:
        if has_call:
            live._driver.put(encode(make_node("n")))
            live._driver.put(encode(make_pod("p")))
        running = asyncio.create_task(live._driver.run())
        await asyncio.sleep(0)
        begun = asyncio.get_running_loop().time()
        await live.end(None)
        running.cancel()
        return asyncio.get_running_loop().time() - begun

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        assert runner.run(end()) == pytest.approx(seconds, abs=0.01)
    assert capsys.readouterr().err == ""
