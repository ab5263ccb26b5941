"""kubectl shows the usage that pods declare, as from a metrics server."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.e2e_real.cluster_processes import embedded, kubectl
from tests.real_parts.binaries import AbsentBinaryError, kwok_files
from tests.waiting import until

pytestmark = pytest.mark.e2e

USAGE = """
apiVersion: kwok.x-k8s.io/v1alpha1
kind: ClusterResourceUsage
metadata: {name: all}
spec:
  selector: {matchNamespaces: [default]}
  usages:
  - usage: {cpu: {value: 100m}, memory: {value: 64Mi}}
"""
OF_ONE_POD = """
apiVersion: kwok.x-k8s.io/v1alpha1
kind: ResourceUsage
metadata: {name: POD}
spec:
  usages:
  - usage: {cpu: {expression: 'Quantity("20m")'}}
"""
AUTOSCALER = "autoscale deployment api --cpu=50% --min=1 --max=4"
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


def test_usage_that_kubectl_edits_is_that_of_top_and_of_autoscalers(tmp_path):
    try:
        definitions = kwok_files("crd/bases")
    except AbsentBinaryError as error:
        pytest.skip(str(error))

    def done(*arguments: str, text: str | None = None) -> str:
        found = kubectl(kubeconfig, *arguments, stdin=text)
        assert found.returncode == 0, found.stderr
        return str(found.stdout)

    def used() -> list[list[str]]:
        return [row[1:] for row in lines(kubeconfig, "top", "pods", "--no-headers")]

    with embedded(tmp_path, str(NODES)) as kubeconfig:
        done("apply", *(f"--filename={path}" for path in definitions))
        done("create", "deployment", "api", "--image=app", "--replicas=2")
        done("set", "resources", "deployment", "api", "--requests=cpu=100m")
        done("rollout", "status", "deployment", "api")
        assert lines(kubeconfig, "top", "pods") == []
        done("apply", "-f", "-", text=USAGE)
        until(lambda: used() == [["100m", "64Mi"]] * 2)
        pod = done("get", "pods", "-o", "jsonpath={.items[0].metadata.name}")
        done("apply", "-f", "-", text=OF_ONE_POD.replace("POD", pod))
        until(lambda: sorted(used()) == [["100m", "64Mi"], ["20m", "0Mi"]])
        done("delete", "resourceusage", pod)
        wrong = '{"spec": {"usages": [{"usage": {"cpu": {"value": "9x"}}}]}}'
        refused = kubectl(
            kubeconfig, "patch", "clusterresourceusage", "all", "--type=merge", "-p", wrong
        )
        assert 'spec.usages[0].usage.cpu.value: Invalid value: "9x"' in refused.stderr
        # 100m of 100m are twice the target of 50%.
        done(*AUTOSCALER.split())
        replicas = ("get", "deployment", "api", "-o", "jsonpath={.spec.replicas}")
        until(lambda: done(*replicas) == "4", seconds=60)
        less = wrong.replace("9x", "10m")
        done("patch", "clusterresourceusage", "all", "--type=merge", "-p", less)
        until(lambda: used() == [["10m", "0Mi"]] * 4)
        until(lambda: "cpu: 10%/50%" in done("get", "hpa", "api"), seconds=60)
