"""The manifests of the live scheduler on upstream's kube-apiserver."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from tests.e2e_real.cluster_processes import kubectl, upstream
from tests.e2e_real.test_sync import add_nodes, apply, pod, pods, running
from tests.waiting import until

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

ROOT = Path(__file__).parents[2]
MANIFESTS = ROOT / "deploy" / "scheduler"
CONFIGURATION = yaml.safe_load((MANIFESTS / "configuration.yaml").read_text())


def test_the_manifests_are_valid_and_their_rights_are_enough(tmp_path):
    with upstream(tmp_path / "real", controllers=None, has_scheduler=False) as cluster:
        done = kubectl(cluster, "apply", "--dry-run=server", "-k", str(MANIFESTS))
        assert done.returncode == 0, done.stderr
        assert "deployment.apps/podwright-scheduler" in done.stdout
        applied = kubectl(cluster, "apply", "-k", str(MANIFESTS))
        assert applied.returncode == 0, applied.stderr

        account = ("create", "token", "podwright-scheduler", "-n", "kube-system")
        document = yaml.safe_load(cluster.read_text())
        document["users"][0]["user"] = {"token": kubectl(cluster, *account).stdout.strip()}
        own = tmp_path / "own"
        own.write_text(yaml.safe_dump(document))
        config = tmp_path / "scheduler.yaml"
        config.write_text(CONFIGURATION["data"]["scheduler.yaml"])

        add_nodes(cluster)
        ours, other, big = pod("ours"), pod("other"), pod("big", cpu="100")
        for each in (ours, big):
            each["spec"]["schedulerName"] = "podwright"
        apply(cluster, ours, other, big)
        options = ("--kubeconfig", str(own), "--config", str(config))
        with running(tmp_path, "scheduler", "scheduler", *options) as log:
            until(lambda: pods(cluster)["ours"])
            described = kubectl(cluster, "describe", "pod", "big")
            until(lambda: "Insufficient cpu" in kubectl(cluster, "describe", "pod", "big").stdout)
            lease = kubectl(cluster, "get", "lease", "podwright-scheduler", "-n", "kube-system")
            assert lease.returncode == 0, lease.stderr
        assert described.returncode == 0
        assert pods(cluster)["other"] == ""
        text = log.read_text()
        assert "forbidden" not in text
        assert "warning" not in text
