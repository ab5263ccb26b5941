"""The spec of a job: its fields, the pods of its template, and the pod failure policy.

Upstream: staging/src/k8s.io/api/batch/v1/types.go; pkg/apis/batch/v1/defaults.go;
pkg/registry/batch/job/strategy.go, generateSelector; pkg/controller/job/indexed_job_utils.go,
pod_failure_policy.go
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from podwright.apimachinery.objects import (
    SECOND_NS,
    Document,
    KubernetesObject,
    NamespacedName,
    ObjectMeta,
    Pod,
    Selector,
    condition_of,
    decode_pod,
    parse_int64,
    timestamp_ns,
)
from podwright.cluster.api import section
from podwright.cluster.controllers.adoption import controller_reference_document, selector_of

TRACKING: Final = "batch.kubernetes.io/job-tracking"
COMPLETION_INDEX: Final = "batch.kubernetes.io/job-completion-index"
_GENERATED_PREFIX_MAX: Final = 58
_INDEX_ENV: Final = {
    "name": "JOB_COMPLETION_INDEX",
    "valueFrom": {
        "fieldRef": {"apiVersion": "v1", "fieldPath": f"metadata.labels['{COMPLETION_INDEX}']"}
    },
}


class JobSpec(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The `spec` of a job, with defaults for absent fields.

    Attributes
    ----------
    completions : int, optional
        None for a work queue: the first success completes the job.
    """

    parallelism: int = 1
    completions: int | None = None
    completion_mode: str = "NonIndexed"
    backoff_limit: int = 6
    active_deadline_seconds: int | None = None
    suspend: bool = False
    pod_replacement_policy: str = "TerminatingOrFailed"
    pod_failure_policy: dict[str, Any] | None = None
    backoff_limit_per_index: int | None = None
    max_failed_indexes: int | None = None
    success_policy: dict[str, Any] | None = None
    managed_by: str | None = None
    selector: dict[str, Any] | None = None
    template: dict[str, Any] = {}

    @property
    def is_indexed(self) -> bool:
        """Whether each pod has its own completion index."""
        return self.completion_mode == "Indexed"

    @property
    def replaces_only_failed(self) -> bool:
        """Whether a terminating pod is replaced only after it has terminated."""
        return self.pod_replacement_policy == "Failed" or self.pod_failure_policy is not None


def job_spec(job: KubernetesObject) -> JobSpec:
    """Read the `spec` of a job."""
    written = {name: value for name, value in section(job, "spec").items() if value is not None}
    return msgspec.convert(written, JobSpec)


class ParsedJob(msgspec.Struct):
    """The parsed spec of a job.

    Attributes
    ----------
    uid : str
        The uid of the job.
    written, spec
        The `spec` as a document, and parsed.
    selector : Selector
    pod : Pod, optional
        The decoded pod of a job without indexes, once it was needed.
    """

    uid: str
    written: Document
    spec: JobSpec
    selector: Selector
    pod: Pod | None = None


class ParsedJobs:
    """A cache of parsed specs, each parsed once for all versions that share the `spec`."""

    def __init__(self) -> None:
        self._known: dict[NamespacedName, ParsedJob] = {}

    def of(self, job: KubernetesObject) -> ParsedJob:
        """Return the parsed spec of a job."""
        written = section(job, "spec")
        known = self._known.get(job.key)
        if known is None or known.written is not written or known.uid != job.uid:
            known = ParsedJob(job.uid, written, job_spec(job), selector_of(job))
            self._known[job.key] = known
        return known

    def pod(self, job: KubernetesObject) -> Pod:
        """Return the pod of a job without indexes; see `pods_of`."""
        parsed = self.of(job)
        if parsed.pod is None:
            (parsed.pod,) = pods_of(job, parsed.spec, [None])
        return parsed.pod

    def forget(self, key: NamespacedName) -> None:
        """Forget a job that was removed."""
        self._known.pop(key, None)


def pods_of(
    job: KubernetesObject,
    spec: JobSpec,
    indexes: Sequence[int | None],
    annotations: Mapping[int, Mapping[str, str]] | None = None,
) -> list[Pod]:
    """Return new pods of a job, with a `generateName` and no name.

    The template is decoded once.

    Parameters
    ----------
    indexes : sequence of int or None
        One per pod. A pod of an indexed job has its index in an annotation, a label, the host
        name and the variable JOB_COMPLETION_INDEX; for other jobs it is None.
    annotations : mapping, optional
        Additional annotations, by index.
    """
    own = annotations or {}
    template = spec.template
    plain: Document = template.get("spec") or {}
    indexed: Document = plain | {
        name: [_with_index(each) for each in plain[name]]
        for name in ("containers", "initContainers")
        if plain.get(name)
    }
    pods: list[Pod] = []
    for index in indexes:
        document: Document = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": _pod_metadata(job, template.get("metadata") or {}, index, own),
            "spec": plain if index is None else {"hostname": f"{job.name}-{index}"} | indexed,
        }
        if not pods:
            pods.append(decode_pod(document, source=f"the template of Job {job.key}"))
            continue
        metadata = msgspec.convert(document["metadata"], ObjectMeta)
        pods.append(msgspec.structs.replace(pods[0], metadata=metadata, raw=document))
    return pods


def _pod_metadata(
    job: KubernetesObject,
    given: Document,
    index: int | None,
    own: Mapping[int, Mapping[str, str]],
) -> Document:
    metadata: Document = {
        "generateName": f"{job.name}-",
        "namespace": job.namespace,
        "labels": given.get("labels") or {},
        "finalizers": [*(given.get("finalizers") or ()), TRACKING],
        "ownerReferences": [controller_reference_document(job)],
    }
    if given.get("annotations"):
        metadata["annotations"] = given["annotations"]
    if index is not None:
        tail = f"-{index}-"
        metadata["generateName"] = job.name[: _GENERATED_PREFIX_MAX - len(tail)] + tail
        for field in ("annotations", "labels"):
            metadata[field] = {**(given.get(field) or {}), COMPLETION_INDEX: str(index)}
        metadata["annotations"].update(own.get(index, {}))
    return metadata


def _with_index(container: Document) -> Document:
    env = container.get("env") or []
    if any(entry.get("name") == _INDEX_ENV["name"] for entry in env):
        return container
    return container | {"env": [*env, _INDEX_ENV]}


def index_of(pod: Pod, completions: int | None) -> int | None:
    """Return the index of a pod, None if it has none within the completions."""
    index = parse_int64(pod.metadata.annotations.get(COMPLETION_INDEX, ""))
    if index is None or completions is None:
        return None
    return index if 0 <= index < completions else None


def finished_condition(job: KubernetesObject) -> Document | None:
    """Return the condition Complete or Failed of a finished job."""
    return condition_among(job, ("Complete", "Failed"))


def lacks_pods(job: KubernetesObject) -> bool:
    """Return whether a job is to get more pods, such as after the backoff of a failed one."""
    spec, status = job_spec(job), section(job, "status")
    succeeded: int = status.get("succeeded") or 0
    if spec.suspend or finished_condition(job) or (spec.completions is None and succeeded):
        return False
    left = spec.parallelism if spec.completions is None else spec.completions - succeeded
    return (status.get("active") or 0) < min(spec.parallelism, left)


def condition_among(job: KubernetesObject, types: Sequence[str]) -> Document | None:
    """Return the first condition of the given types whose status is True."""
    for condition in section(job, "status").get("conditions") or ():
        if condition.get("type") in types and condition.get("status") == "True":
            found: Document = condition
            return found
    return None


# ----------------------------------------------------------------------------- indexes


def parse_indexes(text: str) -> set[int]:
    """Parse indexes such as `0-2,5`; entries that are not numbers are ignored."""
    indexes: set[int] = set()
    for entry in filter(None, text.split(",")):
        first, _, last = entry.partition("-")
        if first.isdigit() and (last or first).isdigit():
            indexes.update(range(int(first), int(last or first) + 1))
    return indexes


def indexes_text(indexes: Iterable[int]) -> str:
    """Format indexes as the status of a job does.

    Examples
    --------
    >>> indexes_text([5, 0, 1, 2])
    '0-2,5'
    >>> indexes_text([7, 6])  # upstream: two indexes are listed, not an interval
    '6,7'
    """
    spans: list[list[int]] = []
    for index in sorted(indexes):
        if spans and spans[-1][1] == index - 1:
            spans[-1][1] = index
        else:
            spans.append([index, index])
    return ",".join(
        str(a) if a == b else f"{a},{b}" if b == a + 1 else f"{a}-{b}" for a, b in spans
    )


# ---------------------------------------------------------------------------- failures


def finish_time_ns(pod: Pod) -> int:
    """Return when the last container of a pod terminated, or when the pod did at the latest.

    Notes
    -----
    Upstream: pkg/controller/job/backoff_utils.go, getFinishedTime
    """
    sidecars = {each.name for each in pod.spec.init_containers if each.is_sidecar}
    status = section(pod, "status")
    times = [
        timestamp_ns(((each.get("state") or {}).get("terminated") or {}).get("finishedAt"))
        for each in (
            *(status.get("containerStatuses") or ()),
            *(s for s in status.get("initContainerStatuses") or () if s.get("name") in sidecars),
        )
    ]
    known = [time for time in times if time is not None]
    if known and len(known) == len(times):
        return max(known)
    ready = condition_of(pod, "Ready")
    if ready is not None and ready.status == "False":
        since_ns = timestamp_ns(ready.last_transition_time)
        if since_ns is not None:
            return since_ns
    metadata = pod.metadata
    deleted_ns = timestamp_ns(metadata.deletion_timestamp)
    if deleted_ns is not None:
        return deleted_ns - (metadata.deletion_grace_period_seconds or 0) * SECOND_NS
    return timestamp_ns(metadata.creation_timestamp) or 0


class FailureVerdict(msgspec.Struct, frozen=True):
    """The result of the pod failure policy for a failed pod.

    Attributes
    ----------
    action : str
        Count, Ignore, FailIndex or FailJob.
    message : str
        The matched rule, for the condition of the job.
    """

    action: str = "Count"
    message: str = ""


def failure_verdict(policy: Document | None, pod: Pod) -> FailureVerdict:
    """Apply the first rule of a failure policy that matches a failed pod.

    Upstream: pkg/controller/job/pod_failure_policy.go, matchPodFailurePolicy
    """
    if policy is None:
        return FailureVerdict()
    for number, rule in enumerate(policy.get("rules") or ()):
        reason = _matched(rule, pod)
        if reason:
            action = str(rule.get("action", "Count"))
            message = f"{reason} matching {action} rule at index {number}"
            return FailureVerdict(action, message)
    return FailureVerdict()


def _matched(rule: Document, pod: Pod) -> str:
    where = f"pod {pod.namespace}/{pod.name}"
    codes = rule.get("onExitCodes")
    if codes is not None:
        values, only = codes.get("values") or (), codes.get("containerName")
        for status in _container_statuses(pod):
            ended = (status.get("state") or {}).get("terminated") or {}
            code = ended.get("exitCode")
            if not code or (only and status.get("name") != only):
                continue
            if (code in values) == (codes.get("operator") == "In"):
                return f"Container {status.get('name')} for {where} failed with exit code {code}"
        return ""
    for pattern in rule.get("onPodConditions") or ():
        for condition in pod.status.conditions:
            status = pattern.get("status", "True")
            if (condition.type, condition.status) == (pattern.get("type"), status):
                return f"Pod {pod.namespace}/{pod.name} has condition {condition.type}"
    return ""


def _container_statuses(pod: Pod) -> list[Document]:
    status = section(pod, "status")
    return [
        *(status.get("containerStatuses") or ()),
        *(status.get("initContainerStatuses") or ()),
    ]
