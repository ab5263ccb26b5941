"""Folders and files as users have them: charts, kustomizations, bundles, snapshots."""

from __future__ import annotations

import pytest
from tests.e2e.command_line import NODES, pod, run

CHART = {
    "shop/Chart.yaml": "apiVersion: v2\nname: shop\nversion: 1.0.0\n",
    "shop/values.yaml": "replicas: 2\n",
    "shop/templates/_helpers.tpl": '{{- define "shop.name" }}shop{{ end }}\n',
    "shop/templates/deployment.yaml": "kind: Deployment\nmetadata: {name: {{ .Chart.Name }}}\n",
}
KUSTOMIZE = {
    "base/kustomization.yaml": "resources: [pod.yaml]\n",
    "base/pod.yaml": pod("web", "1"),
    "overlay/kustomization.yaml": (
        "resources: [../base]\npatchesStrategicMerge: [bigger.yaml]\nnamespace: shop\n"
    ),
    "overlay/bigger.yaml": pod("web", "2"),
}
OTHERS = {"package.json": '{"name": "shop"}', ".github/ci.yaml": "on: push\n"}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def written(files):
        for name, text in {"cluster/nodes.yaml": NODES, **files}.items():
            file = tmp_path / "cluster" / name if "/nodes" not in name else tmp_path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        return "cluster"

    return written


@pytest.mark.parametrize("command", ["schedule", "simulate", "convert"])
def test_a_folder_with_other_files_is_read(folder, command):
    result = run(f"{command} {folder(CHART | KUSTOMIZE | OTHERS)}")
    assert result.stderr.splitlines()[:4] == [
        "cluster/base: skipped a kustomization (kustomization.yaml); render it first:"
        " kubectl kustomize cluster/base",
        "cluster/overlay: skipped a kustomization (bigger.yaml, kustomization.yaml); render it"
        " first: kubectl kustomize cluster/overlay",
        "cluster: skipped files without apiVersion and kind (package.json)",
        "cluster/shop: skipped a Helm chart (Chart.yaml, templates/deployment.yaml, values.yaml);"
        " render it first: helm template cluster/shop",
    ]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("shop", "no manifests in this folder, only a Helm chart"),
        ("shop/values.yaml", "part of a Helm chart, not a manifest"),
        ("shop/templates/deployment.yaml", "part of a Helm chart, not a manifest"),
    ],
)
def test_the_sources_of_a_chart_by_name_are_an_error(folder, name, expected):
    folder(CHART)
    assert run(f"schedule cluster/{name}", status=2).stderr == (
        f"cluster/{name}: {expected}; render it first: helm template cluster/shop\n"
    )


def test_a_rendered_chart_is_read(folder):
    rendered = f"---\n# Source: shop/templates/pod.yaml{pod('web', '1')}---\n# Source: empty.yaml\n"
    result = run(f"schedule {folder({'rendered.yaml': rendered})} -o name")
    assert result.stdout == "default/web\n"
    assert "skipped" not in result.stderr
