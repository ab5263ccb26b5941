"""Reading files: a dump of a large cluster as YAML, and what strict reading costs.

The dump is that of `kubectl get nodes,pods -o yaml`: 5,000 nodes and 5,000 pending pods with their
managed fields, 54 MB. Manifests are 20,000 pods of 40 templates.

The dump of a second question has 1,000 nodes and 20,000 pods, all but one of which are bound.

The figures are CPU time, which other processes disturb less than elapsed time. The cost of strict
reading is that of pairs of runs, with and without checks, one after the other.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import yaml
from tests.perf.case import SECONDS, TIMES, Case

from podwright.apimachinery.schema import decode
from podwright.simulation.files import LoadedObjects, documents, load_bytes
from podwright.simulation.files.object_reader import ObjectReader

_NODES, _PODS = 5_000, 5_000
_MANIFESTS, _TEMPLATES = 20_000, 40
_BOUND_NODES, _BOUND_PODS = 1_000, 20_000
_PAIRS = 5
_IMAGES = 15
_DUMP_MEGABYTES = 54

Document = dict[str, Any]


def dump_scheduled() -> float:
    """Return the CPU seconds of a command that reads the dump and schedules its pods."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "cluster.yaml"
        write_dump(file)
        megabytes = file.stat().st_size / 1e6
        assert abs(megabytes - _DUMP_MEGABYTES) <= 0.5, megabytes
        output, seconds = _command("schedule", str(file), "-o", "name")
    assert len(output.splitlines()) == _PODS, output[:200]
    return seconds


def second_question() -> float:
    """Return the CPU seconds of a command on a large dump that another command has read before."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "cluster.yaml"
        write_bound_dump(file)
        command = ("explain", "default/web-10000", str(file))
        bytecode = Path(folder) / "bytecode"
        first, _ = _command(*command, bytecode=bytecode)
        assert list(Path(folder).glob(".cluster.yaml*")), "the dump was not cached"
        second, seconds = _command(*command, bytecode=bytecode)
    assert first == second, second[:200]
    return seconds


def _command(*arguments: str, bytecode: Path | None = None) -> tuple[str, float]:
    """Run podwright, and return its output and its CPU seconds.

    Parameters
    ----------
    bytecode : Path, optional
        The folder of the compiled sources, which an installed package has.
    """
    environment = os.environ | ({"PYTHONPYCACHEPREFIX": str(bytecode)} if bytecode else {})
    if bytecode:
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-c", "from podwright.cli import main; main()", *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return done.stdout, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def strict(data: Callable[[], bytes]) -> float:
    """Return the CPU time of reading a file strictly, as a multiple of that without checks."""
    file = data()
    ratios = []
    for _ in range(_PAIRS + 1):
        unchecked_s, checked_s = _seconds(_unchecked, file), _seconds(_read, file)
        ratios.append(checked_s / unchecked_s)
    return statistics.median(ratios[1:])  # the first pair compiles the kinds


def _seconds(read: Callable[[bytes], LoadedObjects], data: bytes) -> float:
    gc.collect()
    gc.disable()
    try:
        start_s = time.process_time()
        loaded = read(data)
        elapsed_s = time.process_time() - start_s
    finally:
        gc.enable()
    assert len(loaded.sourced) == _MANIFESTS, len(loaded.sourced)
    return elapsed_s


def _read(data: bytes) -> LoadedObjects:
    return load_bytes([("file", data)])


def _unchecked(data: bytes) -> LoadedObjects:
    """Decode the objects of a file, without a search for duplicate keys and without validation."""
    with (
        mock.patch.object(ObjectReader, "read", lambda _, document, *__, **___: decode(document)),
        mock.patch.object(documents, "duplicate_keys", return_value=[]),
        mock.patch.object(documents, "read_json_list", return_value=None),
    ):
        return load_bytes([("file", data)])


# ----------------------------------------------------------------------------- the cluster


def write_dump(file: Path) -> None:
    """Write the nodes and pods of a cluster as YAML, as kubectl does."""
    with file.open("w", encoding="utf-8") as lines:
        lines.write("apiVersion: v1\nitems:\n")
        for template, count in ((_stored_node(), _NODES), (_stored_pod(), _PODS)):
            text = _yaml([template])
            for index in range(count):
                # Numbers of five digits stand for the index, so that texts have one length.
                lines.write(text.replace("54321", f"{10_000 + index}"))
        lines.write("kind: List\nmetadata:\n  resourceVersion: ''\n")


def write_bound_dump(file: Path) -> None:
    """Write the nodes and pods of a cluster in which one pod is pending."""
    pod = _stored_pod()
    pod["metadata"]["labels"]["pod-template-hash"] = "5d4f8c7b9"
    bound = pod | {"spec": pod["spec"] | {"nodeName": "node-98765"}}
    with file.open("w", encoding="utf-8") as lines:
        lines.write("apiVersion: v1\nitems:\n")
        node = _yaml([_stored_node()])
        for index in range(_BOUND_NODES):
            lines.write(node.replace("54321", f"{10_000 + index}"))
        pending_text, bound_text = _yaml([pod]), _yaml([bound])
        for index in range(_BOUND_PODS):
            text = bound_text if index else pending_text
            numbered = text.replace("54321", f"{10_000 + index}")
            lines.write(numbered.replace("98765", f"{10_000 + index % _BOUND_NODES}"))
        lines.write("kind: List\nmetadata:\n  resourceVersion: ''\n")


def _dump_json() -> bytes:
    return _numbered([_stored_pod()])


def _manifests_json() -> bytes:
    return _numbered([_manifest(index) for index in range(_TEMPLATES)])


def _numbered(templates: list[Document]) -> bytes:
    """Return a list of as many objects as there are manifests."""
    texts = [json.dumps(template, indent=4) for template in templates]
    items = (
        texts[index % len(texts)].replace("54321", f"{10_000 + index}")
        for index in range(_MANIFESTS)
    )
    return '{{"apiVersion": "v1", "kind": "List", "items": [\n{}\n]}}'.format(
        ",\n".join(items)
    ).encode()


def _manifests_yaml() -> bytes:
    texts = [_yaml(_manifest(index)) for index in range(_TEMPLATES)]
    made = (
        texts[index % _TEMPLATES].replace("54321", f"{10_000 + index}")
        for index in range(_MANIFESTS)
    )
    return "---\n".join(made).encode()


class _Dumper(yaml.CSafeDumper):
    def ignore_aliases(self, data: object) -> bool:
        return True


def _yaml(value: object) -> str:
    return yaml.dump(value, Dumper=_Dumper, default_flow_style=False)


def _stored_node() -> Document:
    name = "node-54321"
    zone = {"topology.kubernetes.io/zone": "a", "kubernetes.io/hostname": name}
    labels = zone | {f"example.com/label-{index}": "value" for index in range(18)}
    amounts = {"cpu": "16", "memory": "65536Mi", "pods": "110", "ephemeral-storage": "100Gi"}
    conditions = [
        {
            "lastHeartbeatTime": "2026-01-01T00:54:21Z",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
            "message": f"kubelet reports {kind}",
            "reason": f"Kubelet{kind}",
            "status": "True" if kind == "Ready" else "False",
            "type": kind,
        }
        for kind in ("MemoryPressure", "DiskPressure", "PIDPressure", "Ready")
    ]
    images = [
        {
            "names": [
                f"registry.example/app-{index}@sha256:{'0123456789abcdef' * 4}",
                f"registry.example/app-{index}:v1",
            ],
            "sizeBytes": 54_321_000 + index,
        }
        for index in range(_IMAGES)
    ]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": _metadata(name, labels) | {"annotations": {"node.example/ttl": "0"}},
        "spec": {"podCIDR": "10.0.0.0/24", "podCIDRs": ["10.0.0.0/24"]},
        "status": {
            "addresses": [{"address": "10.0.0.1", "type": "InternalIP"}],
            "allocatable": amounts,
            "capacity": amounts,
            "conditions": conditions,
            "images": images,
            "nodeInfo": {"architecture": "amd64", "kubeletVersion": "v1.36.0"},
        },
    }


def _stored_pod() -> Document:
    labels = {"app": "web", "pod-template-hash": "5432154321"}
    owner = {
        "apiVersion": "apps/v1",
        "blockOwnerDeletion": True,
        "controller": True,
        "kind": "ReplicaSet",
        "name": "web-5d4f8c7b9",
        "uid": "6f1d7a52-0000-4000-8000-000000000001",
    }
    token = {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}}
    root = {
        "configMap": {"items": [{"key": "ca.crt", "path": "ca.crt"}], "name": "kube-root-ca.crt"}
    }
    volume = {"name": "token-54321", "projected": {"defaultMode": 420, "sources": [token, root]}}
    mount = {"mountPath": "/var/run/secrets", "name": "token-54321", "readOnly": True}
    container = {
        "env": [
            {
                "name": "POD",
                "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}},
            }
        ],
        "image": "registry.example/app-1:v1",
        "imagePullPolicy": "IfNotPresent",
        "name": "main",
        "ports": [{"containerPort": 8080, "name": "http", "protocol": "TCP"}],
        "resources": {
            "limits": {"memory": "512Mi"},
            "requests": {"cpu": "500m", "memory": "512Mi"},
        },
        "volumeMounts": [mount],
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": _metadata("web-54321", labels)
        | {"namespace": "default", "ownerReferences": [owner]},
        "spec": {
            "containers": [container],
            "dnsPolicy": "ClusterFirst",
            "enableServiceLinks": True,
            "priority": 0,
            "restartPolicy": "Always",
            "schedulerName": "default-scheduler",
            "serviceAccountName": "default",
            "terminationGracePeriodSeconds": 30,
            "volumes": [volume],
        },
        "status": {"phase": "Pending", "qosClass": "Burstable"},
    }


def _metadata(name: str, labels: dict[str, str]) -> Document:
    def fields(depth: int) -> Document:
        inner: Document = {".": {}} if not depth else fields(depth - 1)
        return {f"f:field-{number}": inner for number in range(3)}

    entry = {
        "apiVersion": "v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:metadata": fields(1), "f:spec": fields(1)},
        "operation": "Update",
        "time": "2026-01-01T00:00:00Z",
    }
    managers = ("kubelet", "kube-controller-manager")
    return {
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "labels": labels,
        "managedFields": [entry | {"manager": manager} for manager in managers],
        "name": name,
        "resourceVersion": "54321",
        "uid": f"00000000-0000-4000-8000-{len(name):07d}54321",
    }


def _manifest(index: int) -> Document:
    number = index % _TEMPLATES
    name, labels = f"app-{number}", {"app": f"app-{number}", "tier": "web"}
    spread = {
        "maxSkew": 1,
        "topologyKey": "topology.kubernetes.io/zone",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": labels},
    }
    container = {
        "name": "main",
        "image": f"registry.example/{name}:v1",
        "ports": [{"containerPort": 8080, "name": "http"}],
        "env": [
            {"name": "NUMBER", "value": f"{number}"},
            {"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        ],
        "resources": {
            "requests": {"cpu": f"{100 + number}m", "memory": "256Mi"},
            "limits": {"memory": "512Mi"},
        },
        "readinessProbe": {"httpGet": {"path": "/ready", "port": "http"}},
        "livenessProbe": {"httpGet": {"path": "/live", "port": "http"}, "periodSeconds": 5},
        "volumeMounts": [{"name": "configuration", "mountPath": "/etc/app", "readOnly": True}],
    }
    toleration = {"key": "dedicated", "value": "web", "effect": "NoSchedule"}
    volume = {"name": "configuration", "configMap": {"name": name}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"{name}-54321", "namespace": "default", "labels": labels},
        "spec": {
            "containers": [container],
            "tolerations": [toleration],
            "topologySpreadConstraints": [spread],
            "volumes": [volume],
        },
    }


def _yaml_manifests_strict() -> float:
    """Return the CPU time of reading 20,000 pods as YAML, over that without checks."""
    return strict(_manifests_yaml)


def _json_manifests_strict() -> float:
    """Return the CPU time of reading 20,000 pods as JSON, over that without checks."""
    return strict(_manifests_json)


def _json_dump_strict() -> float:
    """Return the CPU time of reading a dump of 20,000 pods as JSON, over that without checks."""
    return strict(_dump_json)


CASES = (
    Case(
        name="files_dump_scheduled_seconds",
        unit=SECONDS,
        measure=dump_scheduled,
        target=10,
        runs=3,
        is_process_per_run=True,
    ),
    Case(
        name="files_second_question_seconds",
        unit=SECONDS,
        measure=second_question,
        target=2,
        runs=3,
        is_process_per_run=True,
    ),
    Case(
        name="files_strict_yaml_manifests",
        unit=TIMES,
        measure=_yaml_manifests_strict,
        target=1.15,
        runs=1,
        is_process_per_run=True,
    ),
    Case(
        name="files_strict_json_manifests",
        unit=TIMES,
        measure=_json_manifests_strict,
        target=1.15,
        runs=1,
        is_process_per_run=True,
    ),
    Case(
        name="files_strict_json_dump",
        unit=TIMES,
        measure=_json_dump_strict,
        target=1.15,
        runs=1,
        is_process_per_run=True,
    ),
)
