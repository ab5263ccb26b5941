"""Capacity is how many pods the real kube-scheduler binds before one stays Pending.

``make capacity-real SEEDS=0-49`` compares as many generated clusters as one likes, one after the
other on the same kube-apiserver.
"""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any

import pytest
from tests.e2e_real.cluster_processes import kubectl, scheduler, upstream
from tests.e2e_real.loads import items
from tests.e2e_real.test_foreign_scheduler import create
from tests.waiting import until

import podwright as pw
from podwright.apimachinery.objects import decode

pytestmark = pytest.mark.e2e

SEEDS = os.environ.get("PODWRIGHT_CAPACITY_SEEDS", "0-4")
SECONDS_MAX = 120
HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
ROOMS = ["2", "4", "8"]

Document = dict[str, Any]


def generated(seed: int) -> tuple[list[Document], Document]:
    """Return nodes and placed pods, and the pod that is counted.

    The count must not depend on which of two equal nodes a pod gets, since upstream draws it: all
    counted pods are alike.
    """
    draw = random.Random(seed)
    objects: list[Document] = []
    zones = {zone: draw.choice(ROOMS) for zone in "abc"}
    names = [f"n{index}" for index in range(draw.randint(3, 9))]
    for index, name in enumerate(names):
        zone = "abc"[index % 3]
        amounts = {"cpu": zones[zone], "memory": "16Gi", "pods": str(draw.choice([6, 110]))}
        node: Document = {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": {HOST: name, ZONE: zone}},
            "spec": {},
            "status": {"allocatable": amounts, "capacity": amounts},
        }
        if draw.random() < 0.2:
            node["spec"]["taints"] = [{"key": "own", "value": "x", "effect": "NoSchedule"}]
        objects.append(node)
    for index in range(draw.randint(0, 6)):
        pod = _pod(f"old-{index}", draw, {"app": draw.choice(["web", "db"])})
        pod["spec"]["nodeName"] = draw.choice(names)
        objects.append(pod)
    counted = _pod("web", draw, {"app": "web"})
    counted["spec"].update(draw.choice(_forms()))
    if draw.random() < 0.3:
        counted["spec"]["tolerations"] = [{"key": "own", "operator": "Exists"}]
    return objects, counted


def _pod(name: str, draw: random.Random, labels: dict[str, str]) -> Document:
    requests = {"cpu": f"{draw.randint(3, 12)}00m", "memory": f"{draw.choice([256, 1024])}Mi"}
    container = {"name": "c", "image": "i", "resources": {"requests": requests}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "labels": labels},
        "spec": {"containers": [container], "terminationGracePeriodSeconds": 0},
    }


def _forms() -> list[Document]:
    web = {"matchLabels": {"app": "web"}}

    def spread(key: str, when: str) -> Document:
        constraint = {"topologyKey": key, "maxSkew": 1, "labelSelector": web}
        return {"topologySpreadConstraints": [{**constraint, "whenUnsatisfiable": when}]}

    def away(key: str) -> Document:
        term = {"topologyKey": key, "labelSelector": web}
        return {
            "affinity": {
                "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
            }
        }

    return [
        {},
        {"nodeSelector": {ZONE: "a"}},
        spread(HOST, "DoNotSchedule"),
        spread(ZONE, "DoNotSchedule"),
        spread(ZONE, "ScheduleAnyway"),
        away(HOST),
        away(ZONE),
    ]


def seeds() -> range:
    first, _, last = SEEDS.partition("-")
    return range(int(first), int(last or first) + 1)


@pytest.mark.share
def test_capacity_is_what_kube_scheduler_binds(tmp_path: Path) -> None:
    different = {}
    with (
        upstream(tmp_path, controllers=None, has_scheduler=False) as kubeconfig,
        scheduler(tmp_path, kubeconfig),
    ):
        for seed in seeds():
            objects, counted = generated(seed)
            found = pw.capacity(map(decode, objects), decode(counted)).count
            bound = _bound(kubeconfig, objects, counted, found)
            if bound != found:
                different[seed] = (found, bound)
    assert not different, f"seed: (capacity, bound) {different}"


def _bound(kubeconfig: Path, objects: list[Document], counted: Document, expected: int) -> int:
    """Create more pods than fit; return how many are bound when one stays Pending."""
    clear = ("delete", "pods,nodes", "--all", "--force", "--grace-period=0", "--wait=false")
    pods = [
        {**counted, "metadata": {**counted["metadata"], "name": f"web-{number:03}"}}
        for number in range(expected + 3)
    ]
    nodes = [each for each in objects if each["kind"] == "Node"]
    _create(kubeconfig, nodes)
    for node in nodes:
        # Admission adds a taint, which a controller would remove once the node is ready.
        patch = json.dumps({"spec": {"taints": node["spec"].get("taints", [])}})
        name = node["metadata"]["name"]
        patched = kubectl(kubeconfig, "patch", "node", name, "--type=merge", "-p", patch)
        assert patched.returncode == 0, patched.stderr
    _create(kubeconfig, [each for each in objects if each["kind"] == "Pod"])
    _create(kubeconfig, pods)

    def attempted() -> list[Document] | None:
        mine = [
            pod for pod in items(kubeconfig, "pods") if pod["metadata"]["name"].startswith("web-")
        ]
        done = [p for p in mine if p["spec"].get("nodeName") or p["status"].get("conditions")]
        return mine if len(done) == len(pods) else None

    found = until(attempted, SECONDS_MAX, pause_seconds=0.3)
    assert found is not None
    kubectl(kubeconfig, *clear)
    until(lambda: not items(kubeconfig, "pods") and not items(kubeconfig, "nodes"), SECONDS_MAX)
    return sum(bool(pod["spec"].get("nodeName")) for pod in found)


def _create(kubeconfig: Path, documents: list[Document]) -> None:
    if documents:
        create(kubeconfig, json.dumps({"apiVersion": "v1", "kind": "List", "items": documents}))
