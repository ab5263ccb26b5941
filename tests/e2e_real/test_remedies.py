"""The kubectl commands of remedies, run as printed: the pods of each kind of workload fit then."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.e2e_real.cluster_processes import embedded, kubectl, upstream
from tests.e2e_real.test_sync import add_nodes, apply
from tests.real_parts.binaries import find
from tests.waiting import until

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

Document = dict[str, Any]

SELECTING = "remove disk=ssd from nodeSelector"
CPU = "reduce the cpu request"


def workload(api: str, kind: str, **own: Any) -> Document:
    """Return a workload whose pods select a label that no node has."""
    name = kind.lower()
    labels = {"app": name}
    container: Document = {
        "name": "c",
        "image": "i",
        "command": ["run"],
        "env": [{"name": "A", "value": "b"}],
    }
    spec: Document = {
        "containers": [container],
        "nodeSelector": {"disk": "ssd"},
        "restartPolicy": "Never" if "Job" in kind else "Always",
    }
    if kind == "ReplicaSet":
        del spec["nodeSelector"]
        container["resources"] = {"requests": {"cpu": "50"}}
    selector = {} if "Job" in kind else {"selector": {"matchLabels": labels}}
    template = {"metadata": {"labels": labels}, "spec": spec}
    if kind == "Pod":
        return {
            **named(api, kind),
            "metadata": {**named(api, kind)["metadata"], "labels": labels},
            "spec": spec,
        }
    return {**named(api, kind), "spec": {**own, **selector, "template": template}}


def named(api: str, kind: str) -> Document:
    return {
        "apiVersion": api,
        "kind": kind,
        "metadata": {"name": kind.lower(), "namespace": "default"},
    }


WORKLOADS = (
    (workload("apps/v1", "Deployment", replicas=2), SELECTING),
    (workload("apps/v1", "StatefulSet", replicas=2, serviceName="w"), SELECTING),
    (workload("apps/v1", "ReplicaSet", replicas=1), CPU),
    (workload("batch/v1", "Job", parallelism=2, completions=2), SELECTING),
    (workload("v1", "Pod"), SELECTING),
)


def remedy_of(kubeconfig: Path, name: str, begins: str) -> Document:
    done = subprocess.run(
        [Path(sys.executable).with_name("podwright"), "explain", name, "-o", "json"],
        env=os.environ | {"KUBECONFIG": str(kubeconfig)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    remedies: list[Document] = json.loads(done.stdout)["remedies"]
    return next(each for each in remedies if each["remedy"].startswith(begins))


def run_as_printed(kubeconfig: Path, remedy: Document, folder: Path) -> None:
    path = f"{Path(find('kubectl')).parent}{os.pathsep}{os.environ['PATH']}"
    for command in (*remedy["commands"], *(each["command"] for each in remedy["changes"])):
        done = subprocess.run(
            ["sh", "-ec", command],
            env=os.environ | {"KUBECONFIG": str(kubeconfig), "PATH": path, "HOME": str(folder)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, (command, done.stderr)


def pods_of(kubeconfig: Path, name: str) -> list[Document]:
    found = kubectl(kubeconfig, "get", "pods", "-l", f"app={name}", "-o", "json").stdout
    items: list[Document] = json.loads(found)["items"]
    return [each for each in items if not each["metadata"].get("deletionTimestamp")]


@pytest.mark.parametrize("kind", ["embedded", "upstream"])
def test_the_printed_commands_make_the_pods_of_each_workload_fit(kind, tmp_path):
    with embedded(tmp_path / "c") if kind == "embedded" else upstream(tmp_path / "c") as cluster:
        add_nodes(cluster)
        apply(cluster, *(manifest for manifest, _ in WORKLOADS))
        for manifest, begins in WORKLOADS:
            check_commands(cluster, manifest, begins, tmp_path)


def check_commands(cluster: Path, manifest: Document, begins: str, folder: Path) -> None:
    name = manifest["metadata"]["name"]
    until(lambda: pods_of(cluster, name))
    reference = name if manifest["kind"] == "Pod" else f"{manifest['kind'].lower()}/{name}"
    remedy = remedy_of(cluster, reference, begins)
    assert any(each["effect"] for each in remedy["changes"]), "pods are replaced"
    run_as_printed(cluster, remedy, folder)
    # Without kubelets no pod becomes ready, so a rollout replaces the first pod only.
    (placed, *_) = until(
        lambda: [each for each in pods_of(cluster, name) if each["spec"].get("nodeName")],
        describe=lambda: pods_of(cluster, name),
    )
    (container,) = placed["spec"]["containers"]
    assert (container["command"], container["env"][0]["value"]) == (["run"], "b")
