"""The same load on a cluster, and the objects that it comes to."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any, Final

from tests.e2e_real.cluster_processes import kubectl
from tests.e2e_real.kubectl_outputs import HERE
from tests.waiting import until, until_steady

LOADS: Final = HERE / "manifests" / "loads.yaml"
NODE_COUNT: Final = 10
NODE_MILLI_CPU: Final = 4_000
_KINDS: Final = ",".join((
    "deployments", "replicasets", "statefulsets", "daemonsets", "jobs", "cronjobs",
    "poddisruptionbudgets", "controllerrevisions", "services", "pods",
))  # fmt: skip


def nodes() -> str:
    """Return the manifest of the nodes."""
    resources = {"cpu": f"{NODE_MILLI_CPU}m", "memory": "16Gi", "pods": "110"}
    documents = [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": f"node-{number}",
                "labels": {"kubernetes.io/hostname": f"node-{number}", "kubernetes.io/os": "linux"},
            },
            "status": {"capacity": resources, "allocatable": resources},
        }
        for number in range(NODE_COUNT)
    ]
    return "\n---\n".join(map(json.dumps, documents))


def run_load(kubeconfig: Path) -> list[dict[str, Any]]:
    """Create the load in a cluster, wait until it is steady, and return its objects."""
    _apply(kubeconfig, nodes())
    # If nodes become ready while the load is scheduled, the first one can get the pods `single` and
    # `store-0`. The Deployment's spread then leaves its last pod no node, on either control plane.
    wait_for_nodes(kubeconfig)
    _apply(kubeconfig, LOADS.read_text())

    def found() -> list[dict[str, Any]] | None:
        return items(kubeconfig, _KINDS) if _is_complete(kubeconfig) else None

    steady = until_steady(found, describe=lambda: items(kubeconfig, _KINDS))
    assert steady is not None
    return steady


def wait_for_nodes(kubeconfig: Path) -> None:
    """Wait until all nodes are ready, and the controller of their lifecycle has seen it."""
    until(
        lambda: all(map(_is_ready, items(kubeconfig, "nodes"))),
        describe=lambda: [each for each in items(kubeconfig, "nodes") if not _is_ready(each)],
    )


def overcommitted(kubeconfig: Path) -> list[str]:
    """Return the nodes whose pods request more CPU than they have."""
    used: Counter[str] = Counter()
    for pod in items(kubeconfig, "pods"):
        if pod["status"]["phase"] not in ("Succeeded", "Failed"):
            for container in pod["spec"]["containers"]:
                cpu = container.get("resources", {}).get("requests", {}).get("cpu", "0")
                amount = int(cpu[:-1]) if cpu.endswith("m") else 1_000 * int(cpu)
                used[pod["spec"].get("nodeName", "")] += amount
    return [name for name, amount in used.items() if name and amount > NODE_MILLI_CPU]


def items(kubeconfig: Path, resource: str) -> list[dict[str, Any]]:
    """Return the objects of all namespaces, with their managers."""
    result = kubectl(kubeconfig, "get", resource, "-A", "-o", "json", "--show-managed-fields")
    assert result.returncode == 0, result.stderr
    found: list[dict[str, Any]] = json.loads(result.stdout)["items"]
    return found


def _apply(kubeconfig: Path, manifest: str) -> None:
    created = kubectl(kubeconfig, "apply", "--server-side", "-f", "-", stdin=manifest)
    assert created.returncode == 0, created.stderr


def _is_ready(node: dict[str, Any]) -> bool:
    conditions = {each["type"]: each["status"] for each in node["status"].get("conditions", ())}
    taints = [each["key"] for each in node["spec"].get("taints", ())]
    return conditions.get("Ready") == "True" and "node.kubernetes.io/not-ready" not in taints


def _is_complete(kubeconfig: Path) -> bool:
    pods = items(kubeconfig, "pods")
    jobs = items(kubeconfig, "jobs")
    return sum(pod["status"]["phase"] == "Running" for pod in pods) == 20 + 3 + NODE_COUNT + 1 and (
        all(job["status"].get("succeeded") == 6 for job in jobs) and bool(jobs)
    )
