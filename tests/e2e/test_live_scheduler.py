"""`podwright scheduler` in a cluster of `podwright up` that has no scheduler."""

from __future__ import annotations

import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from prometheus_client.parser import text_string_to_metric_families
from tests.e2e.command_line import NODES, run
from tests.e2e.forgetful_proxy import forgetful
from tests.e2e.read_only_proxy import read_only
from tests.e2e.test_sync import PODS, new_pod, node_of, send, server_of
from tests.e2e_real.cluster_processes import embedded
from tests.waiting import SECONDS_MAX, until
from typer.testing import CliRunner

from podwright.cli import app

pytestmark = [pytest.mark.slow, pytest.mark.share]

LISTED = "all objects are listed"
OFF = ("--no-scheduler", "--no-controllers", "--no-lifecycle")


@pytest.fixture
def cluster(tmp_path):
    """The address of a cluster with two nodes and without a scheduler."""
    manifests = tmp_path / "nodes.yaml"
    manifests.write_text(NODES)
    with embedded(tmp_path / "up", *OFF, str(manifests)) as kubeconfig:
        yield server_of(kubeconfig)


@contextmanager
def scheduling(
    folder: Path, name: str, *options: str
) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """Run `podwright scheduler` for the time of a block; yields it and its output."""
    log = folder / f"{name}.log"
    command = (Path(sys.executable).with_name("podwright"), "scheduler", *options)
    with log.open("wb") as output:
        process = subprocess.Popen([*map(str, command)], stdout=output, stderr=output)
    try:
        yield process, log
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        process.wait(SECONDS_MAX)


def events_of(cluster, namespace="default"):
    """Return the names of objects and the reasons of their Events."""
    found = send(cluster, "GET", f"/apis/events.k8s.io/v1/namespaces/{namespace}/events")[1]
    return {(each["regarding"]["name"], each["reason"]) for each in found["items"]}


def test_pods_are_bound_and_what_does_not_fit_says_so(cluster, tmp_path):
    folder = tmp_path / "run"
    send(cluster, "POST", PODS, new_pod("early", "4"))
    options = ("--server", cluster, "--out", str(folder), "--metrics-port", "0")
    with scheduling(tmp_path, "one", *options) as (_, log):
        assert until(lambda: node_of(cluster, "early")) == "large"
        send(cluster, "POST", PODS, new_pod("web"))
        send(cluster, "POST", PODS, new_pod("big", "100"))
        assert until(lambda: node_of(cluster, "web"))
        conditions = until(
            lambda: send(cluster, "GET", f"{PODS}/big")[1].get("status", {}).get("conditions")
        )
        assert conditions[0]["reason"] == "Unschedulable"
        assert "2 Insufficient cpu" in conditions[0]["message"]

        until(lambda: len(events_of(cluster)) == 3)
        assert events_of(cluster) == {
            ("early", "Scheduled"), ("web", "Scheduled"), ("big", "FailedScheduling"),
        }  # fmt: skip
        address = log.read_text().partition("metrics at ")[2].split()[0]
        connection = HTTPConnection(urlsplit(address).netloc)
        connection.request("GET", "/metrics")
        metrics = connection.getresponse().read().decode()
        name = "scheduler_schedule_attempts_total"
        assert f'{name}{{profile="default-scheduler",result="scheduled"}} 2' in metrics
        families = {each.name: each for each in text_string_to_metric_families(metrics)}
        leads = families["leader_election_master_status"].samples
        assert [(each.labels, each.value) for each in leads] == [({"name": "kube-scheduler"}, 1)]
        host = urlsplit(cluster).netloc
        created = {"code": "201", "method": "POST", "host": host}
        counted = families["rest_client_requests"].samples
        assert any(each.labels == created and each.value >= 2 for each in counted)
        assert families["process_cpu_seconds"].samples[0].value > 0
        assert 'kube_pod_resource_request{namespace="default",node="large",pod="early"' in got(
            connection, "/metrics/resources"
        )
        assert got(connection, "/readyz") == "ok"
        assert got(connection, "/readyz?verbose").startswith("[+]leaderElection ok")
        assert got(connection, "/readyz/leaderElection?verbose") == "ok"
        connection.close()
    assert "stopped; 2 pods were bound" in log.read_text()
    assert events_of(cluster, "kube-system") == {("kube-scheduler", "LeaderElection")}
    # The production decision is explained from the log.
    assert run(f"explain early --run {folder} -o name").stdout == "large\n"


def test_decisions_are_explained_from_rotated_runs_after_a_restart(cluster, tmp_path):
    folder = tmp_path / "runs"
    options = ("--server", cluster, "--out", str(folder), "--rotate", "1", "--keep", "50")
    for name in ("first", "second"):
        with scheduling(tmp_path, name, *options, "--no-leader-elect") as (_, log):
            send(cluster, "POST", PODS, new_pod(name, "3"))
            until(lambda: node_of(cluster, name))  # noqa: B023 - called at once
            until(lambda: "decisions are recorded in" in log.read_text())
    runs = sorted(folder.iterdir())
    assert [each.name for each in runs] == [f"{n:06}" for n in range(1, len(runs) + 1)]
    assert len(runs) >= 4
    for name in ("first", "second"):
        found = [each for each in runs if (each / "log").is_dir() and explains(each, name)]
        assert len(found) == 1, name


def test_a_full_disk_delays_the_log_and_not_the_decisions(cluster, tmp_path):
    folder = tmp_path / "run"
    options = ("--server", cluster, "--out", str(folder), "--no-leader-elect")
    with scheduling(tmp_path, "full", *options) as (process, log):
        until(lambda: "scheduling" in log.read_text())
        largest = max(file.stat().st_size for file in folder.rglob("*") if file.is_file())
        unlimited = resource.prlimit(process.pid, resource.RLIMIT_FSIZE)
        # Its own output is shorter than the log.
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (largest, unlimited[1]))
        send(cluster, "POST", PODS, new_pod("web", "3"))
        assert until(lambda: node_of(cluster, "web")) == "large"
        until(lambda: "cannot be written" in log.read_text())
        send(cluster, "POST", PODS, new_pod("api", "3"))
        assert until(lambda: node_of(cluster, "api")) == "large"
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, unlimited)
        until(lambda: "the decision log is being written again" in log.read_text())
    assert process.returncode == 0
    for name in ("web", "api"):
        assert run(f"explain {name} --run {folder} -o name").stdout == "large\n"


def got(connection: HTTPConnection, path: str) -> str:
    connection.request("GET", path)
    return connection.getresponse().read().decode()


def explains(folder: Path, pod: str) -> bool:
    done = CliRunner().invoke(app, ["explain", pod, "--run", str(folder), "-o", "name"])
    assert done.exit_code in {0, 2}, done.stderr
    return done.stdout == "large\n"


def test_a_dry_run_decides_and_writes_nothing(cluster, tmp_path):
    for number in range(3):
        send(cluster, "POST", PODS, new_pod(f"p{number}", "3"))
    with (
        read_only(cluster) as (address, writes),
        scheduling(tmp_path, "dry", "--server", address, "--dry-run") as (_, log),
    ):
        until(lambda: log.read_text().count("bind  ") == 2)
    assert writes == []
    # The third one has no room beside the others, which the machine counts as placed.
    bound = [line.split() for line in log.read_text().splitlines() if line.startswith("bind")]
    assert [node for _, _, node in bound] == ["large", "large"]
    assert node_of(cluster, "p0") == ""


@pytest.mark.parametrize(
    "is_delayed",
    [
        pytest.param(False, id="that has followed the cluster"),
        pytest.param(True, id="that lists the cluster then"),
    ],
)
def test_another_replica_takes_over_when_the_leader_is_killed(cluster, tmp_path, is_delayed):
    config = tmp_path / "scheduler.yaml"
    config.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "leaderElection: {leaseDuration: 8s, renewDeadline: 7s, retryPeriod: 500ms}\n"
        f"delayCacheUntilActive: {str(is_delayed).lower()}\n"
    )
    options = ("--server", cluster, "--config", str(config))
    with scheduling(tmp_path, "a", *options) as (first, log):
        until(lambda: "scheduling" in log.read_text())
        with scheduling(tmp_path, "b", *options) as (_, other):
            said = "waiting for the lease" if is_delayed else LISTED
            until(lambda: said in other.read_text())
            for number in range(20):
                send(cluster, "POST", PODS, new_pod(f"p{number}", "100m"))
                if number == 10:
                    first.kill()
            until(lambda: all(node_of(cluster, f"p{number}") for number in range(20)))
            lines = other.read_text().splitlines()
            order = [lines.index(each) for each in ("this replica is the leader", LISTED)]
            assert order == sorted(order, reverse=not is_delayed)


def test_a_binding_whose_reply_is_lost_is_neither_repeated_nor_forgotten(cluster, tmp_path):
    with forgetful(cluster) as (address, cut):
        options = ("--server", address, "--no-leader-elect")
        with scheduling(tmp_path, "lossy", *options) as (_, log):
            for number in range(5):
                send(cluster, "POST", PODS, new_pod(f"p{number}"))
            # The Event of a binding is written after its result is known.
            done = {(f"p{number}", "Scheduled") for number in range(5)}
            until(lambda: done <= events_of(cluster))
    assert len(cut) == 5
    assert {each.rpartition(" ")[2] for each in cut} == {"201"}
    assert "stopped; 5 pods were bound" in log.read_text()


LINES = """\
{"time":"2030-01-01T00:00:00Z","event":"Add","resource":{"apiVersion":"v1","kind":"Node","metadata":{"name":"extra"},"status":{"allocatable":{"cpu":"4","pods":"9"}}}}
{"time":"2030-01-01T00:00:00Z","event":"Add","resource":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"placed","namespace":"default"},"spec":{"nodeName":"extra","containers":[{"name":"c","image":"i"}]}}}
{"time":"2030-01-01T00:01:00Z","event":"Add","resource":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"pending","namespace":"default"},"spec":{"containers":[{"name":"c","image":"i"}]}}}
{"time":"2030-01-01T00:01:00Z","event":"Update","resource":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"pending","namespace":"default"},"spec":{"nodeName":"x","containers":[{"name":"c","image":"i"}]}}}
{"time":"2030-01-01T00:01:00Z","event":"Update","resource":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"unknown","namespace":"default"}}}
{"time":"2030-01-01T00:02:00Z","event":"Delete","resource":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"placed","namespace":"default"}}}
{"time":"2030-01-01T00:02
"""


def test_a_record_is_replayed_at_its_pace(cluster, tmp_path):
    path = tmp_path / "record.jsonl"
    path.write_text(LINES.rstrip("\n"))
    begun = time.monotonic()
    done = run(f"replay {path} --to {cluster} --speed 60")
    assert time.monotonic() - begun >= 2
    assert "line 5: Update Pod default/unknown: the object is not known" in done.stderr
    # The node loses the taint that the destination gave it.
    assert "applied 5 changes: created 3, updated 1, deleted 1; 1 of unknown" in done.stderr
    assert send(cluster, "GET", f"{PODS}/placed")[0] == 404
    assert send(cluster, "GET", f"{PODS}/pending")[0] == 200
    assert node_of(cluster, "pending") == ""

    assert "already exists" in run(f"replay {path} --to {cluster} --immediate").stderr
    strict = run(f"replay {path} --to {cluster} --immediate --strict", status=1)
    assert "line 1: Add Node extra" in strict.stderr
    stepped = run(f"replay {path} --to {cluster} --step", stdin="\n" * 9)
    assert stepped.stdout.splitlines()[0] == "Add Node extra"
    assert "applied 5 changes" in stepped.stderr
    ended = run(f"replay {path} --to {cluster} --step", stdin="\n")
    assert ended.stdout.splitlines() == ["Add Node extra", "Add Pod default/placed"]
    assert "line 2: the input has ended; the rest is not applied" in ended.stderr
    path.write_text("{}\n")
    assert "line 1: this is not a change" in run(f"replay {path} --to {cluster}", status=2).stderr
    both = run(f"replay {path} --to {cluster} --step --speed 2", status=2)
    assert "--speed" in both.stderr
