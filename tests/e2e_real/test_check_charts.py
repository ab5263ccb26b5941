"""`podwright check` with a chart that helm renders, and a kustomization that kubectl renders."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.command_line import run
from tests.real_parts.binaries import AbsentBinaryError, find

pytestmark = pytest.mark.e2e
INPUTS = Path(__file__).parent / "shop"


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with scenarios, a chart and kustomizations; the programs are on the PATH."""
    try:
        folders = [str(find(name).parent) for name in ("helm", "kubectl")]
    except AbsentBinaryError as error:
        pytest.skip(str(error))
    monkeypatch.setenv("PATH", os.pathsep.join([*folders, os.environ["PATH"]]))
    folder = tmp_path / "shop"
    shutil.copytree(INPUTS, folder)
    monkeypatch.chdir(folder)
    return folder


def errors_of(arguments: str) -> Any:
    return run(f"check empty.yaml {arguments}", status=2).stderr


@pytest.mark.usefixtures("shop")
def test_a_chart_with_the_usual_features_is_installed():
    done = run("check empty.yaml --chart chart --namespace prod")
    title, *lists = done.stderr.splitlines()[:13]
    command = "helm template --include-crds --kube-version v1.36.0 chart chart --namespace prod"
    assert title == f"{command}, empty: creates 14 objects"
    # Neither the pod of `helm test` nor the Job that deletes a release.
    assert lists == [
        "  creates CustomResourceDefinition baskets.shop.example.com",
        "  creates PriorityClass chart-high",
        "  creates PodDisruptionBudget prod/chart-web",
        "  creates ServiceAccount prod/chart",
        "  creates Secret prod/chart-secret",
        "  creates ConfigMap prod/chart-config",
        "  creates Service prod/chart-db",
        "  creates Deployment prod/chart-cache, prod/chart-web, prod/chart-worker",
        "  creates HorizontalPodAutoscaler prod/chart-web",
        "  creates StatefulSet prod/chart-db",
        "  creates Basket first",
        "  creates Job prod/chart-migrate",
    ]
    # 3 of the Deployment web: the least number of its HorizontalPodAutoscaler.
    assert "0 of 9 pods are pending" in done.stdout
    assert "HorizontalPodAutoscaler: scales to its bounds only: no usage is declared" in done.stderr


def test_an_upgrade_prints_each_field_that_differs(shop):
    summary = shop / "summary.md"
    line = "check present.yaml --chart chart --values many.yaml --set db.cpu=1500m"
    done = run(f"{line} --summary {summary}", status=1)
    title, *lines = done.stderr.splitlines()
    assert title == (
        "helm template --include-crds --kube-version v1.36.0 chart chart --values many.yaml"
        " --set db.cpu=1500m, present: creates 11 objects; changes 3 objects; deletes 1 object"
    )
    assert [line for line in lines if line.startswith(("  changes", "  deletes"))] == [
        "  changes Deployment default/chart-web, default/chart-worker",
        "  changes StatefulSet default/chart-db",
        "  deletes Deployment default/chart-old",
    ]
    changes = [line for line in lines if re.match("  [A-Z]", line)]
    # The 4 replicas that an autoscaler set stay: the chart has none.
    web, worker, db = "Deployment default/chart-web", "Deployment default/chart-worker", "chart-db"
    assert changes == [
        f'  {web}: spec.template.spec.containers[web].image: "web:4.0" -> "web:4.1"',
        f"  {worker}: spec.replicas: 2 -> 20",
        f'  {worker}: spec.template.spec.containers[worker].resources.requests.cpu: "500m" -> "1"',
        f"  StatefulSet default/{db}: spec.replicas: 1 -> 2",
        f"  StatefulSet default/{db}: spec.template.spec.containers[db].resources.requests.cpu:"
        ' "1" -> "1500m"',
    ]
    assert "of 28 pods are pending" in done.stdout
    assert changes[1] in summary.read_text()


@pytest.mark.usefixtures("shop")
@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("--chart absent", "--kube-version v1.36.0 absent absent failed: "),
        ("--chart chart --values absent.yaml", "open absent.yaml: no such file or directory"),
        ("--chart chart --set replicas=-3", "at '/replicas': minimum: got -3, want 0"),
        ("--chart chart --set db.cpu=1x", 'resources.requests[cpu]: Invalid value: "1x"'),
        ("--chart chart --set broken=true", "<.Values.none.of>: nil pointer evaluating"),
        ("--chart chart --release A_B", 'release name "A_B": invalid release name'),
        ("--kustomize chart", "unable to find one of 'kustomization.yaml'"),
        ("--kustomize overlays/broken", 'unknown field "replica"'),
    ],
)
def test_what_cannot_be_rendered_is_one_error(arguments, expected):
    found = errors_of(arguments)
    assert found.count("error: ") == 1
    assert expected in found
    assert "--debug" not in found


def test_a_program_that_is_not_on_the_path_is_named(shop, monkeypatch):
    monkeypatch.setenv("PATH", str(shop))
    assert "helm is not on the PATH; helm template" in errors_of("--chart chart")
    assert "kubectl is not on the PATH; kubectl kustomize" in errors_of("--kustomize base")


def test_an_overlay_changes_what_its_base_deployed(shop):
    base = run("check empty.yaml --kustomize base")
    assert "creates ConfigMap default/settings-4h2mbtbbt6, Deployment default/web" in base.stderr
    assert "0 of 3 pods are pending" in base.stdout
    rendered = shop / "rendered.yaml"
    assert run("check empty.yaml --kustomize overlays/prod", status=1)
    text = (shop / "empty.yaml").read_text()
    rendered.write_text((shop / "base/web.yaml").read_text())
    deployed = text.replace("cluster:\n", "cluster:\n    files: [rendered.yaml]\n")
    (shop / "deployed.yaml").write_text(deployed)
    lines = run("check deployed.yaml --kustomize overlays/prod", status=1).stderr.splitlines()
    assert lines[0].endswith(
        "creates ConfigMap default/settings-4h2mbtbbt6, PodDisruptionBudget default/web;"
        " changes Deployment default/web"
    )
    assert lines[1:4] == [
        '  Deployment default/web: metadata.labels: null -> {"env":"prod"}',
        "  Deployment default/web: spec.replicas: 3 -> 5",
        "  Deployment default/web: spec.template.spec.containers[web].resources.requests.cpu:"
        ' "1" -> "1500m"',
    ]
