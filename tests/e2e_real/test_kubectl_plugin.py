"""`kubectl podwright` on upstream's kube-apiserver, with pods of kube-scheduler."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from tests.e2e_real.cluster_processes import kubectl, upstream
from tests.e2e_real.test_sync import add_nodes, apply, pod, pods
from tests.waiting import until

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

NO_SCORES = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  plugins: {score: {disabled: [{name: '*'}]}}
"""


def test_placed_and_pending_pods_are_explained_and_compared(tmp_path, monkeypatch):
    # kubectl finds the plugin on PATH.
    programs = Path(sys.executable).parent
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    with upstream(tmp_path / "real", controllers=None) as cluster:
        add_nodes(cluster)
        apply(cluster, pod("web"), pod("big", cpu="100"))
        until(lambda: pods(cluster)["web"])
        until(lambda: "Insufficient cpu" in kubectl(cluster, "describe", "pod", "big").stdout)
        before = kubectl(cluster, "get", "pods,nodes", "-o", "json").stdout

        placed = kubectl(cluster, "podwright", "explain", "web")
        assert placed.returncode == 0, placed.stderr
        assert pods(cluster)["web"] in placed.stdout
        pending = kubectl(cluster, "podwright", "explain", "big", "-n", "default")
        assert pending.returncode == 1, pending.stderr
        assert "4 Insufficient cpu" in pending.stdout
        config = tmp_path / "scheduler.yaml"
        config.write_text(NO_SCORES)
        compared = kubectl(cluster, "podwright", "diff", "-c", str(config), "--reschedule")
        assert compared.returncode in {0, 1}, compared.stderr
        assert "Nodes in use" in compared.stdout
        absent = kubectl(cluster, "podwright", "explain", "absent")
        assert absent.returncode == 2
        assert "absent" in absent.stderr
        assert kubectl(cluster, "get", "pods,nodes", "-o", "json").stdout == before
