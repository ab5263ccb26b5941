"""kube-scheduler schedules the cluster of `podwright up`; `podwright shadow` compares it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.e2e.command_line import run
from tests.e2e_real.cluster_processes import embedded, kubectl, scheduler
from tests.e2e_real.loads import items, wait_for_nodes
from tests.e2e_real.mixed_pods import nodes_manifest, pods_manifest, urgent_pods_manifest
from tests.waiting import until_steady

pytestmark = pytest.mark.e2e

SECONDS_MAX = 300
PLUGIN = "NodeResourcesBalancedAllocation"


def schedule(
    folder: Path, node_count: int, weights: dict[str, int] | None = None
) -> tuple[Path, Path]:
    """Let kube-scheduler schedule mixed pods; return the record of the cluster and its log."""
    record = folder / "record.jsonl"
    with embedded(folder, "--no-scheduler", "--record", str(record)) as kubeconfig:
        create(kubeconfig, nodes_manifest(node_count))
        # A node that becomes ready later is empty when the others are full.
        wait_for_nodes(kubeconfig)
        config = None
        if weights is not None:
            config = folder / "scheduler.yaml"
            config.write_text(yaml.safe_dump(configuration(kubeconfig, weights)))
        with scheduler(folder, kubeconfig, config=config, verbosity=3) as log:
            create(kubeconfig, pods_manifest(node_count))
            wait_until_steady(kubeconfig)
            # Created when the nodes are full, so that preemptions do not depend on timing.
            create(kubeconfig, urgent_pods_manifest(node_count))
            wait_until_steady(kubeconfig)
    return record, log


def create(kubeconfig: Path, manifest: str) -> None:
    created = kubectl(kubeconfig, "create", "-f", "-", stdin=manifest)
    assert created.returncode == 0, created.stderr


def wait_until_steady(kubeconfig: Path) -> None:
    """Wait until each pod is bound or unschedulable, twice in the same way."""

    def places() -> dict[str, str | None] | None:
        pods = items(kubeconfig, "pods")
        if not all(map(is_attempted, pods)):
            return None
        return {pod["metadata"]["uid"]: pod["spec"].get("nodeName") for pod in pods}

    until_steady(places, SECONDS_MAX, pause_seconds=2)


def is_attempted(pod: dict[str, Any]) -> bool:
    is_deleted = "deletionTimestamp" in pod["metadata"]
    is_bound = bool(pod["spec"].get("nodeName"))
    return not is_deleted and (is_bound or bool(pod["status"].get("conditions")))


def configuration(kubeconfig: Path, weights: dict[str, int]) -> dict[str, Any]:
    """Return a configuration of kube-scheduler with other weights."""
    enabled = [{"name": name, "weight": weight} for name, weight in weights.items()]
    disabled = [{"name": name} for name in weights]
    score = {"disabled": disabled, "enabled": enabled}
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"kubeconfig": str(kubeconfig), "qps": 1_000, "burst": 2_000},
        "leaderElection": {"leaderElect": False},
        "profiles": [{"schedulerName": "default-scheduler", "plugins": {"score": score}}],
    }


def compare(record: Path, log: Path, *options: str) -> dict[str, Any]:
    # Its log has the order of its decisions, and what it had observed before each.
    command = f"shadow {record} --scheduler-log {log} -o json --allow 100"
    result = run(" ".join([command, *options]))
    compared: dict[str, Any] = json.loads(result.stdout)
    return compared


@pytest.mark.parametrize(
    "node_count", [pytest.param(20, id="share", marks=pytest.mark.share), pytest.param(100)]
)
def test_kube_scheduler_chooses_one_of_the_best_nodes(tmp_path, node_count):
    compared = compare(*schedule(tmp_path, node_count))
    assert compared["bindings"]["total"] > 7 * node_count
    assert compared["preemptions"]["total"] > 0
    unexplained = [one for one in compared["differences"] if one["outcome"] == "unexplained"]
    assert not unexplained
    assert compared["bindings"]["agreed"] > 0.9 * compared["bindings"]["total"]


@pytest.mark.share
def test_differences_name_the_plugin_whose_weight_differs(tmp_path):
    record, log = schedule(tmp_path, 20, {PLUGIN: 30})
    same = compare(record, log, "--config", str(tmp_path / "scheduler.yaml"))
    assert same["bindings"]["unexplained"] == 0, same["differences"]
    # The others were made in the most likely state, whose scores are shown.
    delayed = {one["pod"] for one in same["differences"]}
    differences = [
        one
        for one in compare(record, log)["differences"]
        if one["what"] == "binding"
        and one["outcome"] == "unexplained"
        and one["pod"] not in delayed
    ]
    assert differences
    for one in differences:
        given = {each["plugin"]: each["node"] - each["ourNode"] for each in one["scores"]}
        assert given[PLUGIN] > 0, one
