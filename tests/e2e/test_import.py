"""`podwright import` reads a running cluster, here one of `podwright up`."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from tests.e2e.command_line import NODES, pod, run
from tests.e2e.read_only_proxy import HeldRequests, read_only
from tests.e2e_real.cluster_processes import embedded
from tests.waiting import SECONDS_MAX
from typer.testing import CliRunner

from podwright.cli.clusters import kubectl_plugin

CLASS = """
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: high}
value: 100
"""


ATTACHMENT = """
---
apiVersion: storage.k8s.io/v1
kind: VolumeAttachment
metadata: {name: attached}
spec: {attacher: csi.example.com, nodeName: large, source: {persistentVolumeName: data}}
"""

OFF = ("--no-scheduler", "--no-controllers", "--no-lifecycle")


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """The address of a cluster with two nodes, a placed and a pending pod."""
    folder = tmp_path_factory.mktemp("source")
    manifests = folder / "cluster.yaml"
    manifests.write_text(
        NODES
        + CLASS
        + ATTACHMENT
        + pod("web", "1", spec="nodeName: large")
        + pod("big", "100")
        + pod("other", "1", namespace="kube-system", spec="nodeName: small")
    )
    with embedded(folder, *OFF, str(manifests)) as kubeconfig:
        yield yaml.safe_load(kubeconfig.read_text())["clusters"][0]["cluster"]["server"]


def test_an_import_is_input_of_other_commands_and_writes_nothing(source):
    with read_only(source) as (address, writes):
        done = run(f"import --server {address}")
    assert writes == []
    assert "2 nodes" in done.stderr
    assert "3 pods" in done.stderr
    assert "1 volumeattachments" in done.stderr
    assert "podgroups" not in done.stderr, "the server has none"
    items = json.loads(done.stdout)["items"]
    by_name = {item["metadata"]["name"]: item for item in items}
    assert by_name["web"]["spec"]["nodeName"] == "large"
    assert "managedFields" not in by_name["web"]["metadata"]
    scheduled = run("schedule -", stdin=done.stdout, status=1)
    assert "2 Insufficient cpu" in scheduled.stdout


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ("--kinds nodes", ["node/large", "node/small"]),
        ("--kinds pods", ["pod/default/big", "pod/default/web", "pod/kube-system/other"]),
        ("--kinds volumeattachments", ["volumeattachment/attached"]),
        ("--kinds pods --namespace default", ["pod/default/big", "pod/default/web"]),
        ("--kinds pods --exclude-running", ["pod/default/big"]),
        ("--kinds pods --selector app=none", []),
        ("--kinds namespaces --namespace default", ["namespace/default"]),
    ],
)
def test_what_is_read(source, options, names):
    assert sorted(run(f"import --server {source} {options} -o name").stdout.split()) == names


@pytest.fixture
def kubeconfig(source, tmp_path, monkeypatch):
    """A kubeconfig with the contexts `ours` and `empty`."""
    path = tmp_path / "kubeconfig"
    contexts = [
        {"name": "ours", "context": {"cluster": "ours", "namespace": "kube-system"}},
        {"name": "empty", "context": {"cluster": "absent"}},
    ]
    clusters = [
        {"name": "ours", "cluster": {"server": source}},
        {"name": "absent", "cluster": {"server": "http://127.0.0.1:9"}},
    ]
    document = {"contexts": contexts, "clusters": clusters, "users": [], "current-context": "ours"}
    path.write_text(yaml.safe_dump(document))
    monkeypatch.setenv("KUBECONFIG", str(path))
    return path


@pytest.mark.usefixtures("kubeconfig")
def test_a_cluster_is_named_among_the_files():
    assert "2 Insufficient cpu" in run("schedule cluster:ours", status=1).stdout
    assert "pod/default/web" in run("convert cluster: -o name").stdout
    assert "Connection refused" in run("schedule cluster:empty", status=3).stderr
    assert "does not exist" in run("schedule cluster:oursx", status=2).stderr


def plugin(line, *, status=0):
    done = CliRunner().invoke(kubectl_plugin.app, shlex.split(line), prog_name="kubectl podwright")
    assert done.exit_code == status, f"{done.stdout}\n{done.stderr}"
    return done


@pytest.mark.usefixtures("kubeconfig")
def test_kubectl_explains_placed_and_pending_pods_of_the_context():
    assert plugin("explain default/web -o name").stdout == "large\n"
    assert "Insufficient cpu" in plugin("explain big -n default", status=1).stdout
    # The namespace is that of the context.
    assert "kube-system/other" in plugin("explain other").stdout


def test_kubectl_compares_with_another_configuration(kubeconfig, tmp_path):
    config = tmp_path / "scheduler.yaml"
    config.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "profiles: [{schedulerName: default-scheduler, plugins: {score: {disabled: "
        "[{name: '*'}]}}}]\n"
    )
    done = plugin(f"diff -c {config} --kubeconfig {kubeconfig}")
    assert "Nodes in use: 2 before, 2 after" in done.stdout


def test_a_record_has_all_objects_and_later_changes(source, tmp_path):
    path = tmp_path / "record.jsonl"
    with read_only(source) as (address, writes):
        done = run(f"record --server {address} --out {path} --duration 2s")
    assert writes == []
    assert "recorded" in done.stderr
    names = run(f"convert {path} -o name").stdout.split()
    assert {"node/small", "node/large", "pod/default/web", "priorityclass/high"} <= set(names)
    again = run(f"record --server {source} --out {path} --duration 1s --resume").stderr
    assert "recorded 0 changes" in again
    assert "exists already" in run(f"record --server {source} --out {path}", status=2).stderr


def test_the_duration_of_a_record_begins_when_it_has_all_objects(source, tmp_path):
    path = tmp_path / "record.jsonl"
    run(f"record --server {source} --out {path} --duration 1ms")
    names = run(f"convert {path} -o name").stdout.split()
    assert {"node/small", "node/large", "pod/default/web", "priorityclass/high"} <= set(names)


def test_a_record_that_is_interrupted_before_it_has_all_objects_says_so(source, tmp_path):
    podwright, held = Path(sys.executable).with_name("podwright"), HeldRequests("/api/v1/pods")
    with read_only(source, held) as (address, _):
        command = [str(podwright), "record", "--server", address, "--out", "record.jsonl"]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=tmp_path) as process:
            assert held.have_come.wait(SECONDS_MAX)
            process.send_signal(signal.SIGINT)
            _, stderr = process.communicate()
    assert process.returncode == 0
    warning, last = stderr.splitlines()
    assert warning == (
        "warning: record.jsonl is incomplete: it ended before all objects were listed"
    )
    assert last.startswith("recorded ")


def test_a_full_disk_ends_a_record_with_one_line(source, tmp_path):
    path = tmp_path / "record.jsonl"
    podwright = Path(sys.executable).with_name("podwright")
    # A limit of the size of files: the write after it fails, as on a full disk.
    limited = f"ulimit -f 2; exec {podwright} record --server {source} --out {path}"
    done = subprocess.run(
        ["bash", "-c", limited], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 3, done.stderr
    (message,) = done.stderr.splitlines()
    assert message == f"error: {path}: cannot be written: File too large"
    # What was written is a record, whose last line is cut off; it can be continued.
    assert not path.read_bytes().endswith(b"\n")
    done = run(f"record --server {source} --out {path} --duration 1s --resume")
    assert path.read_bytes().endswith(b"\n")
    names = run(f"convert {path} -o name").stdout.split()
    assert {"node/small", "node/large", "pod/default/web", "priorityclass/high"} <= set(names)
    assert len(names) == len(set(names))


def test_a_record_that_is_killed_is_continued(source, tmp_path):
    path = tmp_path / "record.jsonl"
    podwright = Path(sys.executable).with_name("podwright")
    command = [str(podwright), "record", "--server", source, "--out", str(path)]
    whole = []
    for number in range(3):
        options = [] if number == 0 else ["--resume"]
        with subprocess.Popen([*command, *options], stderr=subprocess.PIPE, text=True) as process:
            assert process.stderr is not None
            assert "recording to" in process.stderr.readline()
            process.kill()
        whole = path.read_bytes().splitlines(keepends=True)
        # The last line as it is after a kill in the middle of its write.
        path.write_bytes(b"".join(whole)[: -5 - number])
    run(f"record --server {source} --out {path} --duration 1s --resume")
    assert len(path.read_bytes().splitlines()) == len(whole)
    names = run(f"convert {path} -o name").stdout.split()
    assert len(names) == len(set(names))
    assert {"node/small", "pod/default/web"} <= set(names)


def test_options_of_a_record_without_effect_are_rejected():
    assert "without --rotate" in run("record --out x --keep 3", status=2).stderr
    assert "with --rotate" in run("record --out x --resume --rotate 1Mi", status=2).stderr
    assert "not a size" in run("record --out x --rotate much", status=2).stderr


def test_a_snapshot_is_read_by_up_and_schedule(source, tmp_path):
    path = tmp_path / "snapshot.json"
    run(f"import --server {source} -o kss --out {shlex.quote(str(path))}")
    snapshot = json.loads(path.read_text())
    assert [each["metadata"]["name"] for each in snapshot["priorityClasses"]] == ["high"]
    assert {each["metadata"]["name"] for each in snapshot["pods"]} == {"web", "big", "other"}
    assert run(f"schedule {path}", status=1)


@pytest.mark.parametrize(
    ("options", "status", "message"),
    [
        ("--server http://127.0.0.1:9", 3, "cannot be reached: Connection refused"),
        ("--kubeconfig absent.yaml", 2, "there is no such kubeconfig"),
        ("--server SOURCE --kinds podz", 2, 'did you mean "pods"'),
    ],
)
def test_what_is_wrong_is_one_line(source, options, status, message):
    done = run(f"import {options.replace('SOURCE', source)}", status=status)
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
