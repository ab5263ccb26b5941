"""The run in the stored run folders."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import podwright as pw
from podwright.apimachinery.objects import KubernetesObject
from podwright.apimachinery.schema import decode
from podwright.testing import make_node, make_pod


def _template(name: str, **spec: Any) -> dict[str, Any]:
    containers = [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}]
    return {
        "metadata": {"labels": {"app": name}},
        "spec": {"containers": containers, **spec},
    }


def _deployment(name: str, replicas: int) -> KubernetesObject:
    selector = {"matchLabels": {"app": name}}
    spec = {"replicas": replicas, "selector": selector, "template": _template(name)}
    metadata = {"name": name}
    return decode(
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}
    )


def _job(name: str, completions: int, parallelism: int) -> KubernetesObject:
    template = _template(name, restartPolicy="Never")
    template["metadata"]["annotations"] = {"pod-complete.stage.kwok.x-k8s.io/delay": "2m"}
    spec = {"completions": completions, "parallelism": parallelism, "template": template}
    return decode(
        {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": spec}
    )


def _urgent_pod(name: str) -> dict[str, Any]:
    document = dict(make_pod(name, cpu="3").raw)
    return document | {"spec": document["spec"] | {"priorityClassName": "system-cluster-critical"}}


def play(folder: Path) -> None:
    """Simulate nodes that fail and are drained, a Deployment, a Job, a preemption."""
    pw.simulate(
        [
            *(make_node(f"n{number}", cpu="4") for number in range(4)),
            _deployment("web", 6),
            _job("train", 4, 3),
            make_pod("huge", cpu="64"),
        ],
        events=[
            {"at": "2m", "scale": "deployment/web", "replicas": 12},
            {"at": "5m", "fail": "n1"},
            {"at": "9m", "apply": _urgent_pod("first")},
            {"at": "12m", "drain": "n2"},
            {"at": "20m", "restore": "n1"},
            {"at": "25m", "uncordon": "n2"},
            {"at": "40m", "scale": "deployment/web", "replicas": 2},
            {"at": "50m", "delete": "pod/huge"},
        ],
        seed=7,
        output=folder,
    )
