"""`podwright up` that is filled from another cluster, or from a record."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.e2e.command_line import NODES, ROOT, pod, run
from tests.e2e.read_only_proxy import read_only
from tests.e2e.test_sync import PODS, new_pod, node_of, send, server_of
from tests.e2e_real.cluster_processes import embedded
from tests.test_docs import FENCE
from tests.waiting import SECONDS_MAX, until

pytestmark = [pytest.mark.slow, pytest.mark.share]

OFF = ("--no-controllers", "--no-lifecycle")
EXAMPLE = ROOT / "examples/sync"
TUTORIAL = ROOT / "docs/tutorial/follow-a-cluster.md"


@pytest.fixture(scope="module")
def kubeconfig(tmp_path_factory):
    """The kubeconfig of a cluster with two nodes and a placed pod; nothing schedules there."""
    folder = tmp_path_factory.mktemp("source")
    manifests = folder / "cluster.yaml"
    manifests.write_text(NODES + pod("old", "1", spec="nodeName: small"))
    with embedded(folder, "--no-scheduler", *OFF, str(manifests)) as kubeconfig:
        yield kubeconfig


@pytest.fixture(scope="module")
def source(kubeconfig):
    """The address of that cluster."""
    return server_of(kubeconfig)


def test_up_follows_a_cluster_and_shows_how(source, tmp_path):
    with (
        read_only(source) as (address, writes),
        embedded(tmp_path, "--sync", address, "--sync-policy", "pod-status") as kubeconfig,
    ):
        here = server_of(kubeconfig)
        until(lambda: node_of(here, "old") == "small")
        assert send(source, "POST", PODS, new_pod("web", "4"))[0] == 201
        until(lambda: node_of(here, "web") == "large")
        binding = {"metadata": {"name": "web"}, "target": {"kind": "Node", "name": "small"}}
        assert send(source, "POST", f"{PODS}/web/binding", binding)[0] == 201

        def reported():
            status, found = send(here, "GET", "/podwright/v1/sync")
            return found if status == 200 and found["differences"] else None

        found = until(reported)
        assert found["differences"] == [{"pod": "default/web", "nodes": ["small", "large"]}]
        assert (found["phase"], found["drift"]["pods"]) == ("following", 1)
        assert found["source"]["server"] == address
        assert found["policies"]["mirrorsPodStatus"]
        assert (found["sourceFailures"], found["errors"]) == (0, [])
    assert writes == []
    send(source, "DELETE", f"{PODS}/web", {"gracePeriodSeconds": 0})


def test_a_scheduler_is_compared_with_podwright_by_the_bindings_of_the_source(source, tmp_path):
    options = ("--no-scheduler", "--shadow", tmp_path / "decisions", "--sync", source)
    with embedded(tmp_path, *map(str, options)) as kubeconfig:
        here = server_of(kubeconfig)
        until(lambda: node_of(here, "old") == "small")
        assert send(source, "POST", PODS, new_pod("odd", "2"))[0] == 201
        until(lambda: send(here, "GET", f"{PODS}/odd")[0] == 200)
        binding = {"metadata": {"name": "odd"}, "target": {"kind": "Node", "name": "small"}}
        assert send(source, "POST", f"{PODS}/odd/binding", binding)[0] == 201
        until(lambda: node_of(here, "odd") == "small")

        def compared():
            report = send(here, "GET", "/podwright/v1/shadow")[1]
            found = [each for each in report["differences"] if each["pod"] == "default/odd"]
            return found or None

        (finding,) = until(compared)
        assert (finding["node"], finding["ourNode"]) == ("small", "large")
        assert finding["outcome"] == "unexplained"


def test_up_begins_with_the_objects_of_a_cluster(source, tmp_path):
    with embedded(tmp_path, *OFF, "--import", source, "--kinds", "nodes") as kubeconfig:
        here = server_of(kubeconfig)
        assert send(here, "GET", "/api/v1/nodes/large")[0] == 200
        assert send(here, "GET", f"{PODS}/old")[0] == 404
        assert send(here, "GET", "/podwright/v1/sync")[0] == 404


def test_a_configuration_of_the_simulator_names_the_cluster_to_follow(kubeconfig, tmp_path):
    source = server_of(kubeconfig)
    node = send(source, "GET", "/api/v1/nodes/large")[1]
    node["metadata"]["labels"] = {"team": "a"}
    assert send(source, "PUT", "/api/v1/nodes/large", node)[0] == 200
    configuration = tmp_path / "config.yaml"
    configuration.write_text(
        "apiVersion: kube-scheduler-simulator-config/v1alpha1\nkind: SimulatorConfiguration\n"
        "port: 1212\netcdURL: http://127.0.0.1:2379\nkubeApiServerUrl: http://127.0.0.1:3131\n"
        f"kubeConfig: {kubeconfig}\nresourceSyncEnabled: true\n"
        "resourceImportLabelSelector: {matchLabels: {team: a}}\n"
    )
    options = ("--kss-config", str(configuration), "--kss-port", "0")
    with embedded(tmp_path, *OFF, *options) as own:
        here = server_of(own)
        until(lambda: send(here, "GET", "/api/v1/nodes/large")[0] == 200)
        until(lambda: send(here, "GET", "/podwright/v1/sync")[1]["phase"] == "following")
        assert send(here, "GET", "/api/v1/nodes/small")[0] == 404
        assert send(here, "GET", f"{PODS}/old")[0] == 404


def test_up_applies_a_record(tmp_path):
    manifests = tmp_path / "cluster.yaml"
    manifests.write_text(NODES)
    record = EXAMPLE / "workers.jsonl"
    with embedded(tmp_path, str(manifests), "--replay", str(record)) as kubeconfig:
        here = server_of(kubeconfig)
        assert until(lambda: node_of(here, "worker-1"))
        until(lambda: "applied 3 changes" in (tmp_path / "up.log").read_text())


def test_up_applies_a_record_without_waiting(tmp_path):
    lines = (EXAMPLE / "workers.jsonl").read_text().splitlines()
    late = [
        json.loads(line) | {"time": f"20{30 + i}-01-01T00:00:00Z"} for i, line in enumerate(lines)
    ]
    record = tmp_path / "record.jsonl"
    record.write_text("".join(json.dumps(line) + "\n" for line in late))
    with embedded(tmp_path, "--replay", str(record), "--immediate"):
        until(lambda: "applied 3 changes" in (tmp_path / "up.log").read_text())


def test_up_applies_a_record_step_by_step_and_ends_while_it_waits(tmp_path):
    record = EXAMPLE / "workers.jsonl"
    kubeconfig = tmp_path / "kubeconfig"
    options = f"--no-ui --port 0 --nodes 1 --kubeconfig {kubeconfig} --replay {record} --step"
    command = [str(Path(sys.executable).with_name("podwright")), "up", *options.split()]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        printed = iter(process.stdout.readline, "")
        first = next(line for line in printed if line.startswith("Add Pod"))
        here = server_of(kubeconfig)
        assert send(here, "GET", PODS)[1]["items"] == []
        process.stdin.write("\n")
        process.stdin.flush()
        second = next(line for line in printed if line.startswith("Add Pod"))
        assert first != second
        # The second change is printed when the first one was applied.
        names = [each["metadata"]["name"] for each in send(here, "GET", PODS)[1]["items"]]
        assert [f"Add Pod default/{name}\n" for name in names] == [first]
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=SECONDS_MAX)
        assert process.returncode == 0, errors


@pytest.mark.parametrize(
    ("options", "message", "status"),
    [
        ("--step", "has no effect without --replay", 2),
        ("--immediate", "has no effect without --replay", 2),
        (f"--replay {EXAMPLE}/workers.jsonl --step --immediate", "cannot be combined with", 2),
        (f"- --replay {EXAMPLE}/workers.jsonl --step", "with a file from stdin", 2),
        ("--sync prod", "must be cluster:, cluster:CONTEXT, an address such as", 2),
        ("--selector team=a", "has no effect without --import or --sync", 2),
        ("--sync cluster: --import cluster:", "with --sync", 2),
        ("--sync-policy pod-status", "without --sync", 2),
        ("--sync cluster: --sync-policy pod-state", "did you mean pod-status?", 2),
        ("--sync http://127.0.0.1:9", "Connection refused", 3),
    ],
)
def test_a_source_that_cannot_be_followed_is_one_line(options, message, status, tmp_path):
    kubeconfig = tmp_path / "kubeconfig"
    done = run(f"up --no-ui --port 0 --kubeconfig {kubeconfig} {options}", status=status)
    assert message in " ".join(done.stderr.split())
    assert not kubeconfig.exists()


def test_two_configurations_differ_as_the_tutorial_shows():
    command = [sys.executable, str(EXAMPLE / "demo.py"), "--no-ui", "--once"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=1_200)
    assert done.returncode == 0, done.stderr
    shown = next(
        block["text"].splitlines()
        for block in FENCE.finditer(TUTORIAL.read_text(encoding="utf-8"))
        if "A and B follow" in block["text"]
    )
    printed = done.stdout.splitlines()
    assert [line.partition(":")[0] for line in printed[:4]] == [
        line.partition(":")[0] for line in shown[:4]
    ]
    assert sorted(printed[4:]) == shown[4:]
