"""`podwright check` with a chart that helm renders, and a kustomization that kubectl renders."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from tests.e2e.command_line import run
from tests.real_parts.binaries import AbsentBinaryError, find

pytestmark = pytest.mark.e2e

SCENARIO = """
apiVersion: podwright.dev/v1alpha1
kind: Scenario
spec:
  cluster:
    nodes: [{name: node, count: 2, cpu: "2"}]
  expectations:
    - {name: all scheduled, pendingAtMost: 0}
"""
DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: REPLICAS
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: web, image: web, resources: {requests: {cpu: "1"}}}]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a scenario, a chart and a kustomization."""
    (tmp_path / "scenario.yaml").write_text(SCENARIO)
    templates = tmp_path / "chart/templates"
    templates.mkdir(parents=True)
    (tmp_path / "chart/Chart.yaml").write_text("apiVersion: v2\nname: web\nversion: 1.0.0\n")
    (tmp_path / "chart/values.yaml").write_text("replicas: 3\n")
    (tmp_path / "many.yaml").write_text("replicas: 5\n")
    deployment = DEPLOYMENT.replace("REPLICAS", "{{ .Values.replicas }}")
    (templates / "deployment.yaml").write_text(deployment)
    base = tmp_path / "base"
    base.mkdir()
    (base / "web.yaml").write_text(DEPLOYMENT.replace("REPLICAS", "3"))
    (base / "kustomization.yaml").write_text("resources: [web.yaml]\nnamePrefix: shop-\n")
    return tmp_path


def test_a_chart_is_rendered_by_helm_with_its_values(folder):
    if shutil.which("helm") is None:
        pytest.skip("helm is not on the PATH")
    line = f"check {folder}/scenario.yaml --chart {folder}/chart"
    few = run(line)
    assert "web" in few.stdout + few.stderr
    run(f"{line} --values {folder}/many.yaml", status=1)


def test_a_kustomization_is_rendered_by_kubectl(folder, monkeypatch):
    try:
        kubectl = find("kubectl")
    except AbsentBinaryError as error:
        pytest.skip(str(error))
    monkeypatch.setenv("PATH", f"{kubectl.parent}{os.pathsep}{os.environ['PATH']}")
    found = run(f"check {folder}/scenario.yaml --kustomize {folder}/base")
    assert "shop-web" in found.stdout + found.stderr
