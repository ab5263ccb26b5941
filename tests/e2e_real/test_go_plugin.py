"""A kube-scheduler that a user built with a Go plugin schedules the cluster of `podwright up`."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from tests.e2e.command_line import pod
from tests.e2e_real.cluster_processes import embedded, kubectl, scheduler
from tests.e2e_real.loads import items, wait_for_nodes
from tests.waiting import until

pytestmark = pytest.mark.e2e


def test_its_plugin_decides(tmp_path):
    with embedded(tmp_path, "--no-scheduler", "--nodes", "3") as kubeconfig:
        wait_for_nodes(kubeconfig)
        for name in ("node-0", "node-2"):
            done = kubectl(kubeconfig, "label", "node", name, "example.com/closed=true")
            assert done.returncode == 0, done.stderr
        config = tmp_path / "scheduler.yaml"
        profile = {
            "schedulerName": "default-scheduler",
            "plugins": {"multiPoint": {"enabled": [{"name": "OpenNodes"}]}},
        }
        document = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "clientConnection": {"kubeconfig": str(kubeconfig)},
            "leaderElection": {"leaderElect": False},
            "profiles": [profile],
        }
        config.write_text(yaml.safe_dump(document))
        with scheduler(tmp_path, kubeconfig, config=config, binary="scheduler-with-plugin"):
            elsewhere = pod("elsewhere", "1", spec="nodeSelector: {kubernetes.io/hostname: node-0}")
            manifest = pod("fits", "1") + elsewhere
            created = kubectl(kubeconfig, "create", "-f", "-", stdin=manifest)
            assert created.returncode == 0, created.stderr

            def status() -> dict[str, Any]:
                return {each["metadata"]["name"]: each for each in items(kubeconfig, "pods")}

            until(lambda: status()["fits"]["spec"].get("nodeName") == "node-1")
            until(lambda: "1 node(s) were closed" in str(status()["elsewhere"]["status"]))
