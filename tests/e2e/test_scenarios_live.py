"""Scenarios and a running cluster: one starts with its objects, others are objects in it."""

from __future__ import annotations

import json
import urllib.request
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.e2e.command_line import NODES, run
from tests.e2e_real.cluster_processes import embedded
from tests.waiting import until

EXAMPLES = Path("examples/kube-scheduler-simulator")
GROUP = "/apis/simulation.kube-scheduler-simulator.x-k8s.io/v1alpha1"
SCENARIO = """
apiVersion: podwright.dev/v1alpha1
kind: Scenario
metadata: {name: live}
spec:
  cluster: {files: ["cluster:"]}
  operations:
  - apply: {apiVersion: v1, kind: Pod, metadata: {name: new},
      spec: {containers: [{name: c, image: i}]}}
  expectations: [{name: fits, pendingAtMost: 0}]
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    folder = tmp_path_factory.mktemp("scenarios")
    (folder / "nodes.yaml").write_text(NODES)
    with embedded(folder / "up", str(folder / "nodes.yaml")) as kubeconfig:
        yield kubeconfig


def send(kubeconfig: Path, path: str, document: Path | None = None) -> Any:
    server = yaml.safe_load(kubeconfig.read_text())["clusters"][0]["cluster"]["server"]
    body = None if document is None else document.read_bytes()
    request = urllib.request.Request(server + path, body, {"content-type": "application/yaml"})
    with urllib.request.urlopen(request, timeout=60) as response:
        return json.load(response)


def test_a_scenario_starts_with_the_objects_of_a_live_cluster(cluster, tmp_path, monkeypatch):
    monkeypatch.setenv("KUBECONFIG", str(cluster))
    path = tmp_path / "live.yaml"
    path.write_text(SCENARIO)
    assert "0 of 1 pods are pending" in run(f"check {path}").stdout
    assert send(cluster, "/api/v1/pods")["items"] == []


def test_up_runs_the_scenarios_of_kube_scheduler_simulator(cluster):
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    name = send(cluster, definitions, EXAMPLES / "scenario-crd.yaml")["metadata"]["name"]

    def is_established():
        status = send(cluster, f"{definitions}/{name}").get("status", {})
        return len(status.get("conditions", ())) > 1

    until(is_established)
    send(cluster, f"{GROUP}/scenarios", EXAMPLES / "scenario.yaml")

    def succeeded():
        status = send(cluster, f"{GROUP}/scenarios/sample").get("status", {})
        return status if status.get("phase") == "Succeeded" else None

    timeline = until(succeeded)["scenarioResult"]["timeline"]
    bound = timeline["2"][1]["podScheduled"]["result"]
    assert bound["spec"]["nodeName"] == "node-1"
    assert send(cluster, "/api/v1/pods")["items"] == []
