"""Upstream's components take their parts in the embedded cluster."""

from __future__ import annotations

import json

import pytest
from tests.e2e_real.cluster_processes import controller_manager, embedded, kubectl, scheduler
from tests.waiting import until

pytestmark = pytest.mark.e2e

POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"generateName": "web-"},
    "spec": {
        "containers": [
            {
                "name": "main",
                "image": "nginx",
                "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}},
            }
        ]
    },
}


def items(kubeconfig, *resource):
    result = kubectl(kubeconfig, "get", *resource, "-o", "json")
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)["items"]


@pytest.mark.share
def test_kube_scheduler_schedules_a_thousand_pods(tmp_path):
    with (
        embedded(tmp_path, "--nodes", "100", "--no-scheduler") as kubeconfig,
        scheduler(tmp_path, kubeconfig),
    ):
        pods = "\n---\n".join([json.dumps(POD)] * 1_000)
        created = kubectl(kubeconfig, "create", "-f", "-", stdin=pods)
        assert created.returncode == 0, created.stderr

        def all_bound():
            found = items(kubeconfig, "pods")
            nodes = [each["spec"].get("nodeName") for each in found]
            return nodes if len(nodes) == 1_000 and all(nodes) else None

        nodes = until(all_bound)
        # 8 CPUs hold 80 of these pods.
        assert max(map(nodes.count, set(nodes))) <= 80
        (event, *_) = items(kubeconfig, "events", "--field-selector=reason=Scheduled")
        assert event["source"].get("component") or event["reportingComponent"]


def test_kube_controller_manager_runs_the_workloads(tmp_path):
    with (
        embedded(tmp_path, "--nodes", "3", "--no-controllers") as kubeconfig,
        controller_manager(tmp_path, kubeconfig),
    ):
        for command in (
            "create deployment web --image=nginx --replicas=5",
            "create job once --image=busybox",
            "create namespace team",
        ):
            result = kubectl(kubeconfig, *command.split())
            assert result.returncode == 0, result.stderr
        for wait in (
            "rollout status deployment/web --timeout=180s",
            "wait job/once --for=condition=Complete --timeout=180s",
        ):
            result = kubectl(kubeconfig, *wait.split())
            assert result.returncode == 0, result.stdout + result.stderr
        until(lambda: [each["metadata"]["name"] for each in items(kubeconfig, "sa")])
        # The garbage collector follows owner references; the namespace controller empties.
        kubectl(kubeconfig, "delete", "deployment", "web")
        until(lambda: not items(kubeconfig, "pods", "-l", "app=web"))
        deleted = kubectl(kubeconfig, "delete", "namespace", "team", "--timeout=180s")
        assert deleted.returncode == 0, deleted.stderr
