"""kubectl shows the usage that pods declare, as from a metrics server."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.e2e_real.cluster_processes import embedded, kubectl
from tests.waiting import until

pytestmark = pytest.mark.e2e

NODES = Path(__file__).parent / "manifests" / "nodes.yaml"


def lines(kubeconfig: Path, *arguments: str) -> list[list[str]]:
    found = kubectl(kubeconfig, *arguments)
    return [line.split() for line in found.stdout.splitlines()]


@pytest.mark.share
def test_kubectl_top_shows_what_pods_declare(tmp_path):
    usage = ("kwok.x-k8s.io/usage-cpu=900m", "kwok.x-k8s.io/usage-memory=1Gi")
    pods = {"one": usage, "two": usage[:1], "silent": ()}
    with embedded(tmp_path, str(NODES)) as kubeconfig:
        for name, declared in pods.items():
            annotations = [f"--annotations={each}" for each in declared]
            made = kubectl(kubeconfig, "run", name, "--image=app", *annotations)
            assert made.returncode == 0, made.stderr
        until(lambda: len(lines(kubeconfig, "top", "pods", "--no-headers")) == 2)
        top = lines(kubeconfig, "top", "pods", "--sort-by=memory")
        assert top == [
            ["NAME", "CPU(cores)", "MEMORY(bytes)"],
            ["one", "900m", "1024Mi"],
            ["two", "900m", "0Mi"],
        ]
        nodes = lines(kubeconfig, "top", "nodes", "--no-headers")
        assert {row[0] for row in nodes} == {"node-a", "node-b"}
        assert sum(int(row[1].removesuffix("m")) for row in nodes) == 1800
        containers = lines(kubeconfig, "top", "pods", "--containers", "-l", "run=one")
        assert containers[1] == ["one", "one", "900m", "1024Mi"]
        resources = lines(kubeconfig, "api-resources", "--api-group=metrics.k8s.io", "--no-headers")
        assert resources == [
            ["nodes", "metrics.k8s.io/v1beta1", "false", "NodeMetrics"],
            ["pods", "metrics.k8s.io/v1beta1", "true", "PodMetrics"],
        ]
        found = kubectl(kubeconfig, "top", "pod", "silent")
        assert 'podmetrics.metrics.k8s.io "default/silent" not found' in found.stderr
