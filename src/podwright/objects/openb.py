"""The openb trace (Alibaba's GPU cluster) as Kubernetes documents.

Two tables: nodes (`sn,cpu_milli,memory_mib,gpu,model`) and pods (`name,cpu_milli,memory_mib,
num_gpu,gpu_milli` and, in most variants, `gpu_spec,qos,pod_phase,creation_time,deletion_time,
scheduled_time`). A node's GPUs are allocatable resources and, for their model, a label; a
pod's are annotations only, because what they take is a matter of devices and not of sums.

Upstream: data/csv of hkust-adsl/kubernetes-scheduler-simulator
"""

from __future__ import annotations

import csv
from typing import Any

GPU_PREFIX = "alibabacloud.com/"
GPU_COUNT = f"{GPU_PREFIX}gpu-count"
GPU_MILLI = f"{GPU_PREFIX}gpu-milli"
GPU_CARD_MODEL = f"{GPU_PREFIX}gpu-card-model"
PODS_PER_NODE = "1001"

_NODE_COLUMNS = ("sn", "cpu_milli", "memory_mib", "gpu", "model")
_POD_COLUMNS = ("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli")
_NUMBERS = frozenset({"cpu_milli", "memory_mib", "gpu", "num_gpu", "gpu_milli"})
_KEPT = ("qos", "pod_phase", "creation_time", "deletion_time", "scheduled_time")


class TableError(ValueError):
    """A row that is not as it should be."""

    def __init__(self, message: str, line: int, column: str, value: str) -> None:
        super().__init__(message)
        self.line = line
        self.column = column
        self.value = value


def is_openb(text: str) -> bool:
    """Whether the text begins like one of the two tables."""
    head = tuple(text.split("\n", 1)[0].strip().split(","))
    return head[:5] in {_NODE_COLUMNS, _POD_COLUMNS}


def read_openb(text: str) -> list[tuple[int, dict[str, Any] | TableError]]:
    """Return line and document of every row; for a row that cannot be read, what is wrong."""
    reader = csv.DictReader(text.splitlines())
    make = _node if reader.fieldnames and reader.fieldnames[0] == "sn" else _pod
    documents: list[tuple[int, dict[str, Any] | TableError]] = []
    for row in reader:
        line = reader.line_num
        problem = _problem(row, line)
        documents.append((line, problem or make(row)))
    return documents


def _problem(row: dict[str, Any], line: int) -> TableError | None:
    if row.get(None):  # type: ignore[call-overload]  # csv's name for cells past the header
        return TableError("more cells than columns", line, "", "")
    for column, value in row.items():
        is_number = isinstance(value, str) and value.isascii() and value.isdigit()
        if column in _NUMBERS and not is_number:
            return TableError("a whole number is expected", line, column, value or "")
        if column in {"sn", "name"} and not value:
            return TableError("a name is expected", line, column, "")
    return None


def _node(row: dict[str, str]) -> dict[str, Any]:
    name, gpus = row["sn"], int(row["gpu"])
    labels = {"kubernetes.io/hostname": name}
    resources = {
        "cpu": f"{row['cpu_milli']}m",
        "memory": f"{row['memory_mib']}Mi",
        "pods": PODS_PER_NODE,
    }
    if gpus:
        resources |= {GPU_COUNT: str(gpus), GPU_MILLI: str(1000 * gpus)}
    if row["model"]:
        labels[GPU_CARD_MODEL] = row["model"]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": {"allocatable": resources, "capacity": resources},
    }


def _pod(row: dict[str, str]) -> dict[str, Any]:
    annotations = {}
    if int(row["num_gpu"]):
        annotations = {GPU_MILLI: row["gpu_milli"], GPU_COUNT: row["num_gpu"]}
        if row.get("gpu_spec"):
            annotations[GPU_CARD_MODEL] = row["gpu_spec"]
    for column in _KEPT:
        if row.get(column):
            annotations[GPU_PREFIX + column.replace("_", "-")] = row[column]
    resources = {"cpu": f"{row['cpu_milli']}m", "memory": f"{row['memory_mib']}Mi"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": row["name"], "namespace": "default", "annotations": annotations},
        "spec": {
            "schedulerName": "default-scheduler",
            "containers": [
                {
                    "name": "main",
                    "image": "pause",
                    "resources": {"requests": resources, "limits": resources},
                }
            ],
        },
    }
