"""A load on upstream's control plane is followed by a cluster of `podwright up`.

PODWRIGHT_LOAD_SECONDS says how long the load changes; `make load-sync` does it for ten minutes.
"""

from __future__ import annotations

import json
import os
import random
import ssl
import subprocess
import sys
import time
from functools import partial
from http.client import HTTPConnection, HTTPSConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml
from tests.e2e_real.cluster_processes import embedded, kubectl, kwok, process, upstream
from tests.e2e_real.test_sync import node, pod
from tests.waiting import until, until_steady

from podwright.apimachinery.objects import SOURCE_UID

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

LOAD_SECONDS = float(os.environ.get("PODWRIGHT_LOAD_SECONDS", "45"))
PAUSE_SECONDS = 0.25
READER = """
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: reader}
rules:
  - {apiGroups: ["*"], resources: ["*"], verbs: [get, list, watch]}
  - {nonResourceURLs: ["*"], verbs: [get]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: reader}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: reader}
subjects: [{kind: ServiceAccount, name: reader, namespace: default}]
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: reader, namespace: default}
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: high}
value: 1000
"""
APPS = "/apis/apps/v1/namespaces/default/deployments"
JOBS = "/apis/batch/v1/namespaces/default/jobs"
CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
PODS = "/api/v1/namespaces/default/pods"
COMPARED = ("/api/v1/nodes", "/api/v1/persistentvolumes", CLAIMS)


class Client:
    """Sends requests to the cluster of a kubeconfig."""

    def __init__(self, kubeconfig: Path) -> None:
        document = yaml.safe_load(kubeconfig.read_text())
        self._url = urlsplit(document["clusters"][0]["cluster"]["server"])
        self._token = document["users"][0]["user"]["token"]

    def send(self, verb: str, path: str, body: object = None, kind: str = "json") -> Any:
        """Return the reply to a request; a rejection is one, too."""
        if self._url.scheme == "https":
            context = ssl._create_unverified_context()
            connection: HTTPConnection = HTTPSConnection(self._url.netloc, context=context)
        else:
            connection = HTTPConnection(self._url.netloc)
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": f"application/{kind}"}
        connection.request(verb, path, None if body is None else json.dumps(body), headers)
        found = json.loads(connection.getresponse().read())
        connection.close()
        return found

    def items(self, path: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.send("GET", path)["items"]
        return found


class Load:
    """Random changes of a cluster; the same for the same seed."""

    def __init__(self, client: Client, seed: int) -> None:
        self._client = client
        self._random = random.Random(seed)
        self._count = 0
        self._deployments: list[str] = []
        self._nodes = [f"n{number}" for number in range(6)]
        self.lost: set[str] = set()

    def run(self, seconds: float) -> int:
        """Change the cluster for a time; returns how many changes were made."""
        choices = (self.deploy, self.scale, self.undeploy, self.job, self.taint, self.claim,
                   self.add_node, self.lose_node)  # fmt: skip
        weights = (5, 6, 2, 4, 3, 2, 1, 1)
        end = time.monotonic() + seconds
        done = 0
        while time.monotonic() < end:
            self._random.choices(choices, weights)[0]()
            done += 1
            time.sleep(PAUSE_SECONDS)  # the rate of the load
        return done

    def _name(self, prefix: str) -> str:
        self._count += 1
        return f"{prefix}-{self._count}"

    def _template(self, app: str, **spec: Any) -> dict[str, Any]:
        containers = pod("x", cpu=self._random.choice(("50m", "100m")))["spec"]["containers"]
        tolerates = {"tolerations": [{"operator": "Exists"}]} if self._random.random() < 0.3 else {}
        priority = {"priorityClassName": "high"} if self._random.random() < 0.3 else {}
        return {
            "metadata": {"labels": {"app": app}},
            "spec": {"containers": containers, **tolerates, **priority, **spec},
        }

    def deploy(self) -> None:
        if len(self._deployments) >= 8:
            return
        name = self._name("web")
        self._deployments.append(name)
        spec = {
            "replicas": self._random.randint(1, 5),
            "selector": {"matchLabels": {"app": name}},
            "template": self._template(name),
        }
        self._client.send("POST", APPS, {"metadata": {"name": name}, "spec": spec})

    def scale(self) -> None:
        if self._deployments:
            name = self._random.choice(self._deployments)
            patch = {"spec": {"replicas": self._random.randint(0, 6)}}
            self._client.send("PATCH", f"{APPS}/{name}", patch, "merge-patch+json")

    def undeploy(self) -> None:
        if self._deployments:
            name = self._deployments.pop(self._random.randrange(len(self._deployments)))
            self._client.send("DELETE", f"{APPS}/{name}")

    def job(self) -> None:
        name = self._name("job")
        template = self._template(name, restartPolicy="Never")
        spec = {"completions": 2, "parallelism": 2, "template": template}
        self._client.send("POST", JOBS, {"metadata": {"name": name}, "spec": spec})

    def taint(self) -> None:
        name = self._random.choice(self._nodes)
        effect = self._random.choice(("NoSchedule", "PreferNoSchedule", None))
        taints = None if effect is None else [{"key": "k", "value": "v", "effect": effect}]
        patch = {"spec": {"taints": taints}}
        self._client.send("PATCH", f"/api/v1/nodes/{name}", patch, "merge-patch+json")

    def claim(self) -> None:
        name = self._name("data")
        shared = {"accessModes": ["ReadWriteOnce"], "storageClassName": "static"}
        volume = {**shared, "capacity": {"storage": "1Gi"}, "hostPath": {"path": "/tmp"},
                  "claimRef": {"namespace": "default", "name": name}}  # fmt: skip
        self._client.send(
            "POST", "/api/v1/persistentvolumes", {"metadata": {"name": name}, "spec": volume}
        )
        requests = {"resources": {"requests": {"storage": "1Gi"}}}
        spec = {**shared, **requests, "volumeName": name}
        self._client.send("POST", CLAIMS, {"metadata": {"name": name}, "spec": spec})
        user = pod(name)
        user["spec"]["volumes"] = [{"name": "d", "persistentVolumeClaim": {"claimName": name}}]
        self._client.send("POST", PODS, user)

    def add_node(self) -> None:
        name = self._name("added")
        self._nodes.append(name)
        self._client.send("POST", "/api/v1/nodes", node(name))

    def lose_node(self) -> None:
        if len(self._nodes) > 4:
            name = self._nodes.pop(self._random.randrange(len(self._nodes)))
            self.lost.add(name)
            self._client.send("DELETE", f"/api/v1/nodes/{name}")


def names(client: Client, path: str) -> set[str]:
    return {each["metadata"]["name"] for each in client.items(path)}


def have_same_names(one: Client, other: Client, path: str) -> bool:
    return names(one, path) == names(other, path)


def uids(client: Client, *, of_source: bool) -> dict[str, str]:
    """Return the pods and their uids at the source; those that are being deleted are left out."""
    found = {}
    for each in client.items(PODS):
        metadata = each["metadata"]
        if "deletionTimestamp" not in metadata:
            annotations = metadata.get("annotations", {})
            found[metadata["name"]] = metadata["uid"] if of_source else annotations[SOURCE_UID]
    return found


def nodes_before_deletion(record: Path) -> dict[str, str]:
    """Return where the pods were that a cluster has deleted, by its record."""
    nodes: dict[str, str] = {}
    deleted: dict[str, str] = {}
    for line in record.read_text().splitlines():
        change = json.loads(line)
        resource = change["resource"]
        if resource["kind"] != "Pod":
            continue
        name = resource["metadata"]["name"]
        if change["event"] == "Delete":
            deleted[name] = nodes.pop(name, "")
        else:
            nodes[name] = resource["spec"].get("nodeName", "")
    return deleted


def reader_of(source: Path, path: Path) -> Path:
    """Write a kubeconfig of an account that can only read."""
    applied = kubectl(source, "apply", "-f", "-", stdin=READER)
    assert applied.returncode == 0, applied.stderr
    token = kubectl(source, "create", "token", "reader").stdout.strip()
    assert token
    document = yaml.safe_load(source.read_text())
    document["users"][0]["user"] = {"token": token}
    path.write_text(yaml.safe_dump(document))
    return path


def test_a_load_on_the_real_control_plane_is_followed(tmp_path):
    record = tmp_path / "record.jsonl"
    with (
        upstream(tmp_path / "real") as source,
        kwok(tmp_path, source),
        embedded(tmp_path / "ours", "--record", str(record)) as target,
    ):
        theirs, ours = Client(source), Client(target)
        reader = reader_of(source, tmp_path / "reader")
        for number in range(6):
            theirs.send("POST", "/api/v1/nodes", node(f"n{number}"))
        podwright = Path(sys.executable).with_name("podwright")
        command = (podwright, "sync", "--kubeconfig", reader, "--to", target, "--pod-status")
        with process(*command, folder=tmp_path, name="sync") as log:
            until(lambda: "created" in log.read_text())
            load = Load(theirs, seed=7)
            changes = load.run(LOAD_SECONDS)

            until_steady(lambda: uids(theirs, of_source=True), pause_seconds=3)

            doubtful: list[str] = []

            def is_followed():
                expected, found = uids(theirs, of_source=True), uids(ours, of_source=False)
                wrong = {n for n in found if found[n] != expected.get(n)}
                missing = expected.keys() - found.keys()
                places = nodes_before_deletion(record)
                # The garbage collector of the destination deletes the pods of lost nodes.
                unexplained = {n for n in missing if places.get(n, "?") not in load.lost}
                doubtful.append(f"wrong: {sorted(wrong)}, missing: {sorted(unexplained)}")
                return None if wrong or unexplained else (expected, missing)

            try:
                expected, missing = until(is_followed)
            except AssertionError as error:
                raise AssertionError(doubtful[-1]) from error
            for path in COMPARED:
                until(partial(have_same_names, ours, theirs, path))
            status = ours.send("GET", "/podwright/v1/sync")
    print(f"{changes} changes, {len(expected)} pods at the end, {len(missing)} lost with a node")
    print(json.dumps({key: status[key] for key in ("lag", "counts", "drift", "errors")}))
    assert status["phase"] == "following"
    assert expected


def test_an_account_that_only_reads_is_enough_and_writes_are_refused(tmp_path):
    with upstream(tmp_path, controllers=None, has_scheduler=False) as source:
        reader = reader_of(source, tmp_path / "reader")
        refused = kubectl(reader, "create", "configmap", "x")
        assert "forbidden" in refused.stderr
        podwright = Path(sys.executable).with_name("podwright")
        command = [str(podwright), "import", "--kubeconfig", str(reader), "-o", "name"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert "namespace/kube-system" in done.stdout
