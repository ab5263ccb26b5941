"""Cells of workloads and autoscalers.

Upstream: pkg/printers/internalversion/printers.go, printDeployment, printJob and others;
pkg/printers/internalversion/printers.go, printEvent.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce
from operator import add
from typing import Any, Final

from podwright.apimachinery.objects import (
    Document,
    api_group,
    format_quantity,
    parse_quantity,
    timestamp_ns,
)
from podwright.apimachinery.schema.printing.cells import (
    NONE,
    UNKNOWN,
    age,
    human_duration,
    shortened,
    text_of,
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
    conditions: Document = {}
    for condition in (job.get("status") or {}).get("conditions") or ():
        conditions.setdefault(condition.get("type"), condition.get("status"))
    true = {name for name, status in conditions.items() if status == "True"}
    for name in ("Complete", "Failed"):
        if name in true:
            return name
    if (job.get("metadata") or {}).get("deletionTimestamp"):
        return "Terminating"
    for name in ("Suspended", "FailureTarget", "SuccessCriteriaMet"):
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


def _usage(pod_metrics: Document, resource: str) -> str:
    """Return what the containers of a pod use of a resource together."""
    usages = [each.get("usage") or {} for each in pod_metrics.get("containers") or ()]
    used = [parse_quantity(usage[resource]) for usage in usages if resource in usage]
    return format_quantity(reduce(add, used)) if used else ""


pod_cpu_metrics: Final = partial(_usage, resource="cpu")
pod_memory_metrics: Final = partial(_usage, resource="memory")


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
    return "<nil>" if value is None else format_quantity(value)


def _percent(value: int | None, absent: str) -> str:
    return absent if value is None else f"{value}%"


_METRICS: Final[dict[Any, Callable[[Document, Document], str]]] = {
    "ContainerResource": _resource("containerResource"),
    "External": _value("external"),
    "Object": _value("object"),
    "Pods": _pods,
    "Resource": _resource("resource"),
}


# Cells of events, of both groups: events.k8s.io has other names for the fields.


def last_seen(event: Document, now_ns: int) -> str:
    """Return the time since the last occurrence."""
    if (series := event.get("series")) is not None:
        return age(series.get("lastObservedTime"), now_ns)
    if last := _first_of(event, "lastTimestamp", "deprecatedLastTimestamp"):
        return age(last, now_ns)
    return first_seen(event, now_ns)


def first_seen(event: Document, now_ns: int) -> str:
    """Return the time since the first occurrence."""
    first = _first_of(event, "firstTimestamp", "deprecatedFirstTimestamp")
    return age(first or event.get("eventTime"), now_ns)


def count(event: Document) -> int:
    """Return the number of occurrences."""
    if (series := event.get("series")) is not None:
        return int(series.get("count") or 0)
    found: int = _first_of(event, "count", "deprecatedCount") or 1
    return found


def subject(event: Document) -> str:
    """Return the kind and the name of the object that an event is about."""
    reference = _first_of(event, "involvedObject", "regarding") or {}
    kind = text_of(reference.get("kind")).lower()
    return f"{kind}/{reference['name']}" if reference.get("name") else kind


def subobject(event: Document) -> str:
    """Return the part of the object that an event is about."""
    reference = _first_of(event, "involvedObject", "regarding") or {}
    return text_of(reference.get("fieldPath"))


def source(event: Document) -> str:
    """Return the component that reported an event, and its host or instance."""
    found = _first_of(event, "source", "deprecatedSource") or {}
    reporter = _first_of(event, "reportingComponent", "reportingController")
    component = found.get("component") or reporter or ""
    host = found.get("host") or event.get("reportingInstance")
    return f"{component}, {host}" if host else text_of(component)


def message(event: Document) -> str:
    """Return the text of an event without white space around it."""
    return text_of(_first_of(event, "message", "note")).strip()


def _first_of(event: Document, *names: str) -> Any:
    return next((event[name] for name in names if event.get(name)), None)


# Cells of groups of pods, and of requests for the status of device pools.


def group_policy(group: Document) -> str:
    """Return whether the pods of a group are scheduled together."""
    policy = (group.get("spec") or {}).get("schedulingPolicy") or {}
    return "Basic" if policy.get("gang") is None else "Gang"


def group_workload(group: Document) -> str:
    """Return the Workload of a group."""
    reference = (group.get("spec") or {}).get("podGroupTemplateRef")
    if reference is None:
        return NONE
    return text_of((reference.get("workload") or {}).get("workloadName"))


def group_status(group: Document) -> str:
    """Return whether a group is scheduled, or why it is disrupted."""
    conditions = (group.get("status") or {}).get("conditions") or ()
    found = {each.get("type"): each for each in conditions}
    if disruption := found.get("DisruptionTarget"):
        return text_of(disruption.get("reason"))
    scheduled = found.get("PodGroupScheduled")
    if scheduled is None:
        return "Pending"
    return "Scheduled" if scheduled.get("status") == "True" else "Unschedulable"


def pool_request_state(request: Document) -> str:
    """Return whether a request was answered, and with how many of the pools."""
    state, _ = _end(request)
    status = request.get("status") or {}
    shown, count = len(status.get("pools") or ()), status.get("poolCount") or 0
    return f"Complete ({shown}/{count} pools)" if state == "Complete" and count > shown else state


def pool_request_completion(request: Document, now_ns: int) -> str:
    """Return how long ago a request was answered."""
    state, time = _end(request)
    return age(time, now_ns) if state == "Complete" else NONE


def pool_count(request: Document) -> int:
    """Return the number of pools that a request is about."""
    return int((request.get("status") or {}).get("poolCount") or 0)


def pool_errors(request: Document) -> str:
    """Return the number of pools that are not valid."""
    pools = _pools(request)
    if pools is None:
        return "-"
    return str(sum(pool.get("validationError") is not None for pool in pools))


def _sum(request: Document, field: str) -> str:
    pools = _pools(request)
    return "-" if pools is None else str(sum(pool.get(field) or 0 for pool in pools))


total_devices: Final = partial(_sum, field="totalDevices")
available_devices: Final = partial(_sum, field="availableDevices")
allocated_devices: Final = partial(_sum, field="allocatedDevices")
unavailable_devices: Final = partial(_sum, field="unavailableDevices")


def _pools(request: Document) -> list[Document] | None:
    """Return the pools of an answer; None without an answer, or if it failed."""
    status = request.get("status")
    if status is None or _end(request)[0] == "Failed":
        return None
    return status.get("pools") or []


def _end(request: Document) -> tuple[str, str]:
    """Return how a request ended, and when."""
    for condition in (request.get("status") or {}).get("conditions") or ():
        if condition.get("type") in ("Complete", "Failed") and condition.get("status") == "True":
            return condition["type"], condition.get("lastTransitionTime") or ""
    return "Pending", ""
