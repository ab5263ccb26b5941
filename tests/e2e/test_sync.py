"""`podwright sync` between two clusters of `podwright up`, the source behind a proxy."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from contextlib import ExitStack, contextmanager
from http import HTTPStatus
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml
from tests.e2e.command_line import NODES, pod, run
from tests.e2e.read_only_proxy import read_only
from tests.e2e_real.cluster_processes import embedded
from tests.waiting import SECONDS_MAX, until

from podwright.apimachinery.objects import SOURCE_UID

OFF = ("--no-scheduler", "--no-controllers", "--no-lifecycle")


def server_of(kubeconfig: Path) -> str:
    cluster = yaml.safe_load(kubeconfig.read_text())["clusters"][0]["cluster"]
    return str(cluster["server"])


def send(server: str, verb: str, path: str, body: object = None, kind: str = "application/json"):
    connection = HTTPConnection(urlsplit(server).netloc, timeout=SECONDS_MAX)
    data = None if body is None else json.dumps(body)
    connection.request(verb, path, data, {"Content-Type": kind} if data else {})
    reply = connection.getresponse()
    found = json.loads(reply.read())
    connection.close()
    return reply.status, found


def new_pod(name: str, cpu: str = "1"):
    requests = {"requests": {"cpu": cpu}}
    spec = {"containers": [{"name": "c", "image": "i", "resources": requests}]}
    return {"metadata": {"name": name}, "spec": spec}


def node_of(server: str, name: str) -> str:
    """Return the node of a pod; "" without one."""
    found = send(server, "GET", f"{PODS}/{name}")[1].get("spec", {})
    return str(found.get("nodeName", ""))


PODS = "/api/v1/namespaces/default/pods"
STATE = "/api/v1/namespaces/kube-system/configmaps/podwright-sync"


@contextmanager
def syncing(folder: Path, *options: str):
    """Run `podwright sync` for the time of a block; yields the files of its outputs."""
    out, err = folder / "sync.out", folder / "sync.err"
    command = (Path(sys.executable).with_name("podwright"), "sync", *options)
    with out.open("wb") as stdout, err.open("wb") as stderr:
        process = subprocess.Popen([*map(str, command)], stdout=stdout, stderr=stderr)
    try:
        yield out, err
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(SECONDS_MAX) == 0, err.read_text()


@pytest.fixture(scope="module")
def clusters(tmp_path_factory):
    """The addresses of a source without a scheduler, and of a destination with one."""
    folder = tmp_path_factory.mktemp("clusters")
    manifests = folder / "cluster.yaml"
    manifests.write_text(NODES + pod("old", "1", spec="nodeName: small"))
    with (
        embedded(folder / "source", *OFF, str(manifests)) as source,
        embedded(folder / "target") as target,
    ):
        yield server_of(source), server_of(target)


def test_a_destination_follows_its_source(clusters, tmp_path):
    source, target = clusters
    with (
        read_only(source) as (address, writes),
        syncing(tmp_path, "--server", address, "--to", target) as (out, err),
    ):
        until(lambda: "created" in err.read_text())
        assert node_of(target, "old") == "small", err.read_text()
        assert send(target, "GET", "/api/v1/nodes/large")[0] == 200

        # A new pod is scheduled by the destination, and the source decides otherwise.
        assert send(source, "POST", PODS, new_pod("web", "4"))[0] == 201
        placed = until(
            lambda: send(target, "GET", f"{PODS}/web")[1].get("spec", {}).get("nodeName")
        )
        assert placed == "large"
        ours = send(target, "GET", f"{PODS}/web")[1]["metadata"]["annotations"][SOURCE_UID]
        assert ours == send(source, "GET", f"{PODS}/web")[1]["metadata"]["uid"]
        binding = {"metadata": {"name": "web"}, "target": {"kind": "Node", "name": "small"}}
        assert send(source, "POST", f"{PODS}/web/binding", binding)[0] == 201
        until(lambda: "default/web  source=small" in out.read_text())

        # What the destination has deleted stays deleted, whatever happens at the source.
        send(target, "DELETE", f"{PODS}/old", {"gracePeriodSeconds": 0})
        until(lambda: send(target, "GET", f"{PODS}/old")[0] == 404)
        patch = {"metadata": {"labels": {"a": "b"}}}
        send(source, "PATCH", f"{PODS}/old", patch, "application/merge-patch+json")
        send(source, "PATCH", "/api/v1/nodes/small", patch, "application/merge-patch+json")
        until(
            lambda: (
                send(target, "GET", "/api/v1/nodes/small")[1]["metadata"].get("labels", {}).get("a")
            )
        )
        assert send(target, "GET", f"{PODS}/old")[0] == 404

        send(source, "DELETE", f"{PODS}/web", {"gracePeriodSeconds": 0})
        until(lambda: send(target, "GET", f"{PODS}/web")[0] == 404)
    assert writes == []

    # The same after a restart: `old` stays deleted, what is new is created.
    assert send(source, "POST", PODS, new_pod("later"))[0] == 201
    with syncing(tmp_path, "--server", source, "--to", target) as (out, err):
        until(lambda: send(target, "GET", f"{PODS}/later")[0] == 200)
    assert send(target, "GET", f"{PODS}/old")[0] == 404
    assert "1 that were deleted here stay deleted" in err.read_text()


CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
VOLUMES = "/api/v1/persistentvolumes"
MERGE = "application/merge-patch+json"


def claim(name: str, volume: str = ""):
    spec = {
        "accessModes": ["ReadWriteOnce"], "storageClassName": "static",
        "resources": {"requests": {"storage": "1Gi"}},
    }  # fmt: skip
    return {"metadata": {"name": name}, "spec": spec | ({"volumeName": volume} if volume else {})}


def volume(name: str, reference: dict[str, str]):
    spec = {
        "accessModes": ["ReadWriteOnce"], "storageClassName": "static",
        "capacity": {"storage": "1Gi"}, "hostPath": {"path": "/data"},
    }  # fmt: skip
    return {
        "metadata": {"name": name},
        "spec": spec | ({"claimRef": reference} if reference else {}),
    }


def test_volumes_have_the_claims_of_the_destination(clusters, tmp_path):
    source, target = clusters
    uid = send(source, "POST", CLAIMS, claim("bound", "v1"))[1]["metadata"]["uid"]
    reference = {"namespace": "default", "name": "bound", "uid": uid}
    send(source, "POST", VOLUMES, volume("v1", reference))
    send(source, "POST", CLAIMS, claim("open"))
    with syncing(tmp_path, "--server", source, "--to", target):
        until(lambda: send(target, "GET", f"{VOLUMES}/v1")[0] == 200)
        ours = send(target, "GET", f"{CLAIMS}/bound")[1]["metadata"]["uid"]
        assert ours != uid
        assert send(target, "GET", f"{VOLUMES}/v1")[1]["spec"]["claimRef"]["uid"] == ours

        # What the destination has bound by itself is not overwritten.
        until(lambda: send(target, "GET", f"{CLAIMS}/open")[0] == 200)
        here, there = {"spec": {"volumeName": "here"}}, {"spec": {"volumeName": "there"}}
        assert send(target, "PATCH", f"{CLAIMS}/open", here, MERGE)[0] == 200
        assert send(source, "PATCH", f"{CLAIMS}/open", there, MERGE)[0] == 200

        def drift():
            status, found = send(target, "GET", "/podwright/v1/sync")
            return status == 200 and found["drift"]["claims"]

        until(drift)
        assert send(target, "GET", f"{CLAIMS}/open")[1]["spec"]["volumeName"] == "here"


def test_a_source_is_not_its_own_destination(clusters):
    done = run(f"sync --server {clusters[0]} --to {clusters[0]} --duration 5s", status=2)
    assert "is the source itself" in done.stderr
    done = run(f"sync --server {clusters[0]} --to http://127.0.0.1:9 --duration 5s", status=3)
    assert "Connection refused" in done.stderr
    message = "cannot be combined with --reschedule-all"
    assert message in run("sync --to x --bound kss --reschedule-all", status=2).stderr
    assert "names a destination twice" in run("sync --to x --to x", status=2).stderr


def test_a_destination_that_is_started_again_empty_gets_everything_again(clusters, tmp_path):
    source, _ = clusters
    with ExitStack() as stack:
        first = stack.enter_context(ExitStack())
        target = server_of(first.enter_context(embedded(tmp_path / "first", *OFF)))
        _, err = stack.enter_context(syncing(tmp_path, "--server", source, "--to", target))

        def has_old() -> bool:
            return bool(send(target, "GET", f"{PODS}/old")[0] == HTTPStatus.OK)

        until(has_old, describe=err.read_text)
        # Saved: a later sync would take what is missing for deleted by the destination.
        until(lambda: send(target, "GET", STATE)[0] == HTTPStatus.OK, describe=err.read_text)
        first.close()
        port = str(urlsplit(target).port)
        stack.enter_context(embedded(tmp_path / "second", *OFF, "--port", port))
        until(has_old, describe=err.read_text)
    assert "it is being brought to the state of the source again" in err.read_text()
