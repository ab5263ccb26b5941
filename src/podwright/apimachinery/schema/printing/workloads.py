"""Cells of workloads and autoscalers.

Upstream: pkg/printers/internalversion/printers.go, printDeployment, printJob and others
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from podwright.apimachinery.objects import Document, api_group, format_quantity, timestamp_ns
from podwright.apimachinery.schema.printing.conversions import (
    NONE,
    UNKNOWN,
    human_duration,
    shortened,
)

_MOST_METRICS = 2


def ready(workload: Document) -> str:
    """Return the number of ready pods, and of pods that there should be."""
    count = (workload.get("status") or {}).get("readyReplicas") or 0
    return f"{count}/{(workload.get('spec') or {}).get('replicas') or 0}"


def controller(revision: Document) -> str:
    """Return the kind, with its group, and the name of the controller of an object."""
    for owner in (revision.get("metadata") or {}).get("ownerReferences") or ():
        if owner.get("controller"):
            kind, group = owner.get("kind") or "", api_group(owner.get("apiVersion") or "")
            return f"{f'{kind}.{group}' if group else kind}".lower() + f"/{owner.get('name') or ''}"
    return NONE


# -------------------------------------------------------------------------------- jobs


def job_status(job: Document) -> str:
    """Return the state of a job according to its conditions."""
    conditions: dict[str, str] = {}
    for condition in (job.get("status") or {}).get("conditions") or ():
        conditions.setdefault(condition.get("type") or "", condition.get("status") or "")
    true = {name for name, status in conditions.items() if status == "True"}
    for name in ("Complete", "Failed"):
        if name in true:
            return name
    if (job.get("metadata") or {}).get("deletionTimestamp"):
        return "Terminating"
    for name in ("Suspended", "FailureTarget"):
        if name in true:
            return name
    return "Running"


def job_completions(job: Document) -> str:
    """Return the number of pods that succeeded, and that should."""
    spec = job.get("spec") or {}
    succeeded = (job.get("status") or {}).get("succeeded") or 0
    completions, parallelism = spec.get("completions"), spec.get("parallelism") or 0
    if completions is not None:
        return f"{succeeded}/{completions}"
    return f"{succeeded}/1 of {parallelism}" if parallelism > 1 else f"{succeeded}/1"


def job_duration(job: Document, now_ns: int) -> str:
    """Return how long a job ran, or has been running; "" if it has not started."""
    status = job.get("status") or {}
    start_ns = timestamp_ns(status.get("startTime"))
    if start_ns is None:
        return ""
    end_ns = timestamp_ns(status.get("completionTime"))
    return human_duration((now_ns if end_ns is None else end_ns) - start_ns)


# ------------------------------------------------------------------------- autoscalers


def scale_target(autoscaler: Document) -> str:
    """Return the kind and the name of the workload that an autoscaler scales."""
    target = (autoscaler.get("spec") or {}).get("scaleTargetRef") or {}
    return f"{target.get('kind') or ''}/{target.get('name') or ''}"


def metrics(autoscaler: Document) -> str:
    """Return the current and the target values of an autoscaler's metrics."""
    current = (autoscaler.get("status") or {}).get("currentMetrics") or ()
    texts = []
    for index, spec in enumerate((autoscaler.get("spec") or {}).get("metrics") or ()):
        text = _METRICS.get(spec.get("type"))
        status = current[index] if index < len(current) else {}
        texts.append(text(spec, status) if text else "<unknown type>")
    return shortened(texts, _MOST_METRICS, separator=", ", empty=NONE)


def metrics_v1(autoscaler: Document) -> str:
    """Return the CPU utilization and its target of an autoscaler of version v1."""
    target = (autoscaler.get("spec") or {}).get("targetCPUUtilizationPercentage")
    if target is None:
        return NONE
    current = (autoscaler.get("status") or {}).get("currentCPUUtilizationPercentage")
    return f"cpu: {UNKNOWN if current is None else f'{current}%'}/{target}%"


def _resource(field: str) -> Callable[[Document, Document], str]:
    def text(spec: Document, status: Document) -> str:
        source, current = spec.get(field) or {}, status.get(field)
        target = source.get("target") or {}
        values = (current or {}).get("current") or {}
        if target.get("averageValue") is not None:
            now = UNKNOWN if current is None else _quantity(values.get("averageValue"))
            target_value = _quantity(target["averageValue"])
        else:
            percent = target.get("averageUtilization")
            now = _percent(values.get("averageUtilization"), UNKNOWN)
            target_value = _percent(percent, "<auto>")
        return f"{source.get('name') or ''}: {now}/{target_value}"

    return text


def _value(field: str) -> Callable[[Document, Document], str]:
    def text(spec: Document, status: Document) -> str:
        target = (spec.get(field) or {}).get("target") or {}
        current = status.get(field)
        values = (current or {}).get("current") or {}
        if target.get("averageValue") is not None:
            average = values.get("averageValue")
            now = UNKNOWN if average is None else _quantity(average)
            return f"{now}/{_quantity(target['averageValue'])} (avg)"
        now = UNKNOWN if current is None else _quantity(values.get("value"))
        return f"{now}/{_quantity(target.get('value'))}"

    return text


def _pods(spec: Document, status: Document) -> str:
    target = (spec.get("pods") or {}).get("target") or {}
    current = status.get("pods")
    values = (current or {}).get("current") or {}
    now = UNKNOWN if current is None else _quantity(values.get("averageValue"))
    return f"{now}/{_quantity(target.get('averageValue'))}"


def _quantity(value: Any) -> str:
    return format_quantity(value or "0")


def _percent(value: int | None, absent: str) -> str:
    return absent if value is None else f"{value}%"


_METRICS: Final[dict[Any, Callable[[Document, Document], str]]] = {
    "ContainerResource": _resource("containerResource"),
    "External": _value("external"),
    "Object": _value("object"),
    "Pods": _pods,
    "Resource": _resource("resource"),
}
