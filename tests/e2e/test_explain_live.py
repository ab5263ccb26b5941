"""`podwright explain` and `kubectl podwright explain` of workloads on a running cluster."""

from __future__ import annotations

import json
import shlex
import urllib.request

import pytest
import yaml
from tests.e2e.command_line import NODES, run
from tests.e2e_real.cluster_processes import embedded
from tests.waiting import until
from typer.testing import CliRunner

from podwright.cli.clusters import kubectl_plugin


def workload(api: str, kind: str, name: str, spec: str, cpu: str = "5") -> str:
    selector = "" if kind == "Job" else f"selector: {{matchLabels: {{app: {name}}}}},"
    return f"""
---
apiVersion: {api}
kind: {kind}
metadata: {{name: {name}}}
spec: {{{selector} {spec}, template: {{metadata: {{labels: {{app: {name}}}}}, spec: {{
  restartPolicy: {"Never" if kind == "Job" else "Always"},
  containers: [{{name: main, image: app, resources: {{requests: {{cpu: "{cpu}"}}}}}}]}}}}}}
"""


WORKLOADS = (
    workload("apps/v1", "Deployment", "web", "replicas: 3")
    + workload("apps/v1", "StatefulSet", "db", "serviceName: db, replicas: 2", cpu="50")
    + workload("batch/v1", "Job", "train", "parallelism: 2, completions: 2", cpu="50")
)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """A cluster with the pods of workloads, of which one fits."""
    folder = tmp_path_factory.mktemp("explained")
    manifests = folder / "cluster.yaml"
    manifests.write_text(NODES + WORKLOADS)
    with embedded(folder / "up", str(manifests)) as kubeconfig:
        until(lambda: pending_count(kubeconfig) >= 4)
        yield kubeconfig


def listed(kubeconfig, path):
    """Return the objects of a list that the cluster of a kubeconfig serves."""
    server = yaml.safe_load(kubeconfig.read_text())["clusters"][0]["cluster"]["server"]
    with urllib.request.urlopen(f"{server}{path}", timeout=60) as response:
        return json.load(response)["items"]


def pending_count(kubeconfig):
    pods = listed(kubeconfig, "/api/v1/namespaces/default/pods")
    return len([pod for pod in pods if pod["status"]["phase"] == "Pending"])


@pytest.fixture(autouse=True)
def _current(cluster, monkeypatch):
    monkeypatch.setenv("KUBECONFIG", str(cluster))


def replica_set(cluster):
    (found,) = listed(cluster, "/apis/apps/v1/namespaces/default/replicasets")
    return found["metadata"]["name"]


def plugin(line):
    done = CliRunner().invoke(kubectl_plugin.app, shlex.split(line))
    assert done.exit_code == 1, f"{done.stderr}\n{done.exception!r}"
    return done


@pytest.mark.parametrize("name", ["deployment/web", "deploy/web", "statefulset/db", "job/train"])
def test_a_workload_of_the_current_context_is_explained(name):
    explain = f"explain {name}"
    for done in (run(explain, status=1), plugin(explain)):
        short = name.partition("/")[2]
        assert f"default/{short} (" in done.stdout
        assert f"Pod:      default/{short}-" in done.stdout
        assert "Insufficient cpu" in done.stdout


def test_a_replica_set_of_a_deployment_is_explained(cluster):
    name = replica_set(cluster)
    assert (
        f"Of:       ReplicaSet default/{name} (3 pods" in run(f"explain rs/{name}", status=1).stdout
    )


def test_a_pod_that_exists_precedes_those_that_are_created_later():
    assert "Pod:      default/db-0\n" in run("explain sts/db", status=1).stdout


def test_what_does_not_exist_is_missing_in_the_cluster():
    missing = 'no Deployment "shop" in namespace "default" in the cluster'
    assert missing in run("explain deployment/shop", status=2).stderr
    found = run("explain default/shop", status=2).stderr
    assert 'no pod "default/shop" in the cluster' in found
