"""The openb trace (Alibaba's GPU cluster) as Kubernetes documents.

Two tables: nodes (`sn,cpu_milli,memory_mib,gpu,model`) and pods (`name,cpu_milli,memory_mib,
num_gpu,gpu_milli` and, in most variants, `gpu_spec,qos,pod_phase,creation_time,deletion_time,
scheduled_time`). A node's GPUs are allocatable resources, and their model is a label. A pod's GPUs
are annotations only, because they are assigned per device and not summed per node.

Upstream: hkust-adsl/kubernetes-scheduler-simulator data/csv
"""

from __future__ import annotations

import csv
from typing import Any

import msgspec

from podwright.apimachinery.objects.errors import FieldError, InputError, invalid
from podwright.apimachinery.objects.pods.pod import Pod
from podwright.apimachinery.objects.texts.times import SECOND_NS

GPU_PREFIX = "alibabacloud.com/"
GPU_COUNT = f"{GPU_PREFIX}gpu-count"
GPU_MILLI = f"{GPU_PREFIX}gpu-milli"
GPU_CARD_MODEL = f"{GPU_PREFIX}gpu-card-model"
GPU_INDEX = f"{GPU_PREFIX}gpu-index"
CREATION_TIME = f"{GPU_PREFIX}creation-time"
DELETION_TIME = f"{GPU_PREFIX}deletion-time"
SCHEDULED_TIME = f"{GPU_PREFIX}scheduled-time"
PODS_PER_NODE = "1001"

_NODE_COLUMNS = ("sn", "cpu_milli", "memory_mib", "gpu", "model")
_POD_COLUMNS = ("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli")
OPENB_HEADERS = f"{','.join(_NODE_COLUMNS)} or {','.join(_POD_COLUMNS)}"
"""How the two tables start."""
_NUMBERS = frozenset({"cpu_milli", "memory_mib", "gpu", "num_gpu", "gpu_milli"})
_TIMES = frozenset({"creation_time", "deletion_time", "scheduled_time"})
_KEPT = ("qos", "pod_phase", "creation_time", "deletion_time", "scheduled_time")


class TableError(ValueError):
    """An invalid row."""

    def __init__(self, message: str, line: int, column: str, value: str) -> None:
        super().__init__(message)
        self.line = line
        self.column = column
        self.value = value


def is_openb(text: str) -> bool:
    """Whether the text starts with the header of one of the two tables."""
    head = tuple(text.split("\n", 1)[0].strip().split(","))
    return head[:5] in {_NODE_COLUMNS, _POD_COLUMNS}


def read_openb(text: str) -> list[tuple[int, dict[str, Any] | TableError]]:
    """Return the line and the document of every row, or the error of an invalid row."""
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
        is_needed = column in _NUMBERS or (column in _TIMES and bool(value))
        if is_needed and not is_number:
            return TableError("must be a whole number", line, column, value or "")
        if column in {"sn", "name"} and not value:
            return TableError("must be a name", line, column, "")
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


class OpenbTimes(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The times of one pod, relative to the start of the trace.

    Parameters
    ----------
    created_ns : int
    ended_ns : int, optional
        When the pod was removed, whether it had run or not.
    scheduled_ns : int, optional
        When the pod was bound; None if the trace's scheduler never bound it.
    """

    created_ns: int
    ended_ns: int | None = None
    scheduled_ns: int | None = None

    @property
    def run_ns(self) -> int | None:
        """How long the pod ran; for a pod that never ran, how long it existed."""
        if self.ended_ns is None:
            return None
        began_ns = self.created_ns if self.scheduled_ns is None else self.scheduled_ns
        return max(self.ended_ns - began_ns, 0)


def openb_times(pod: Pod) -> OpenbTimes | None:
    """Read the times of a pod of the trace; None if it has none.

    Raises
    ------
    InputError
        With every time that is not a whole number of seconds or precedes the creation.
    """
    annotations = pod.metadata.annotations
    if CREATION_TIME not in annotations:
        return None
    errors: list[FieldError] = []
    created_ns = _time_ns(pod, CREATION_TIME, 0, errors) or 0
    ended_ns = _time_ns(pod, DELETION_TIME, created_ns, errors)
    scheduled_ns = _time_ns(pod, SCHEDULED_TIME, created_ns, errors)
    if errors:
        raise InputError(errors)
    return OpenbTimes(created_ns=created_ns, ended_ns=ended_ns, scheduled_ns=scheduled_ns)


def _time_ns(pod: Pod, key: str, least_ns: int, errors: list[FieldError]) -> int | None:
    text = pod.metadata.annotations.get(key)
    if text is None:
        return None
    detail = ""
    if not (text.isascii() and text.isdigit()):
        detail = "must be a whole number of seconds"
    elif int(text) * SECOND_NS < least_ns:
        detail = f"before its creation, at second {least_ns // SECOND_NS}"
    if not detail:
        return int(text) * SECOND_NS
    errors.append(
        FieldError(
            source=f"pod {pod.key}",
            path=f"metadata.annotations[{key}]",
            message=invalid(text, detail),
            value=text,
        )
    )
    return None
