"""The same load on a cluster: what it comes to, without names that are drawn and without times."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any, Final

import msgspec
from tests.e2e_real.cluster_processes import kubectl
from tests.e2e_real.kubectl_outputs import HERE
from tests.waiting import until, until_steady

LOADS: Final = HERE / "manifests" / "loads.yaml"
NODE_COUNT: Final = 10
NODE_MILLI_CPU: Final = 4_000
_KINDS: Final = (
    "deployments", "replicasets", "statefulsets", "daemonsets", "jobs", "cronjobs",
    "poddisruptionbudgets", "controllerrevisions", "services",
)  # fmt: skip
_STATUS_LEFT_OUT: Final = frozenset(
    {"startTime", "completionTime", "collisionCount", "currentRevision", "updateRevision"}
)


class Outcome(msgspec.Struct, frozen=True):
    """What a load came to.

    Attributes
    ----------
    counts : mapping of str to int
        Objects of each kind.
    pods : mapping of str to int
        How many pods of an owner have a phase and conditions.
    pods_as_kwok : mapping of str to int
        The same without what kwok never writes, but kubelets do: the condition
        PodReadyToStartContainers, and the conditions of pods that ended.
    statuses : mapping of str to object
        The status of each workload.
    """

    counts: dict[str, int]
    pods: dict[str, int]
    pods_as_kwok: dict[str, int]
    statuses: dict[str, Any]


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


def run_load(kubeconfig: Path) -> Outcome:
    """Create the load in a cluster, wait until it is steady, and return what it came to."""
    _apply(kubeconfig, nodes())
    # If nodes become ready while the load is scheduled, the first one can get the pods `single` and
    # `store-0`. The Deployment's spread then leaves its last pod no node, on either control plane.
    wait_for_nodes(kubeconfig)
    _apply(kubeconfig, LOADS.read_text())

    def outcome() -> Outcome | None:
        found = _outcome(kubeconfig)
        return found if _is_complete(kubeconfig) else None

    steady = until_steady(outcome, describe=lambda: _outcome(kubeconfig))
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
    """Return the objects of all namespaces."""
    result = kubectl(kubeconfig, "get", resource, "-A", "-o", "json")
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


def _outcome(kubeconfig: Path) -> Outcome:
    objects = {kind: items(kubeconfig, kind) for kind in _KINDS}
    pods = items(kubeconfig, "pods")
    return Outcome(
        counts={kind: len(found) for kind, found in objects.items()} | {"pods": len(pods)},
        pods=dict(sorted(Counter(map(_described, pods)).items())),
        pods_as_kwok=dict(sorted(Counter(_described(_as_kwok(pod)) for pod in pods).items())),
        statuses={
            f"{kind}/{_name(each)}": _plain(each.get("status") or {})
            for kind, found in objects.items()
            for each in found
            if not each["metadata"].get("ownerReferences") or kind == "replicasets"
        },
    )


def _is_complete(kubeconfig: Path) -> bool:
    pods = items(kubeconfig, "pods")
    jobs = items(kubeconfig, "jobs")
    return sum(pod["status"]["phase"] == "Running" for pod in pods) == 20 + 3 + NODE_COUNT + 1 and (
        all(job["status"].get("succeeded") == 6 for job in jobs) and bool(jobs)
    )


def _name(document: dict[str, Any]) -> str:
    owners = document["metadata"].get("ownerReferences")
    if not owners:
        return str(document["metadata"]["name"])
    name = str(owners[0]["name"])
    if owners[0]["kind"] == "ReplicaSet":
        # The hash of the template, which upstream computes from the form of its structs in memory.
        name = name.rpartition("-")[0]
    return f"of {owners[0]['kind']} {name}"


def _as_kwok(pod: dict[str, Any]) -> dict[str, Any]:
    status = pod["status"]
    kept = [
        each
        for each in status.get("conditions", ())
        if status["phase"] in ("Pending", "Running") and each["type"] != "PodReadyToStartContainers"
    ]
    return pod | {"status": status | {"conditions": kept}}


def _described(pod: dict[str, Any]) -> str:
    status = pod["status"]
    conditions = ", ".join(
        sorted(
            f"{each['type']}={each['status']} {each.get('reason', '')}".strip()
            for each in status.get("conditions", ())
        )
    )
    states = sorted(
        f"{'/'.join(each['state'])} ready={each['ready']} restarts={each['restartCount']}"
        for each in status.get("containerStatuses", ())
    )
    is_bound = "bound" if pod["spec"].get("nodeName") else "not bound"
    quality = status.get("qosClass")
    return f"{_name(pod)}: {status['phase']}, {is_bound}, {quality}; {conditions}; {states}"


def _plain(status: dict[str, Any]) -> dict[str, Any]:
    plain = {name: value for name, value in status.items() if name not in _STATUS_LEFT_OUT}
    if "conditions" in plain:
        plain["conditions"] = sorted(
            f"{each['type']}={each['status']} {each.get('reason', '')}"
            for each in plain["conditions"]
        )
    return plain
