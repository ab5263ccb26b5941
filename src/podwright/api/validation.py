"""Validation of workloads and disruption budgets.

The API server rejects invalid objects, so that controllers never process them. Validation has
two parts: the structs below declare the type of each field that controllers read, and the
functions after them check the relations between fields.

Upstream: staging/src/k8s.io/api/{apps,batch}/v1/types.go; pkg/apis/apps/validation/validation.go;
pkg/apis/batch/validation/validation.go; pkg/apis/policy/validation/validation.go
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Annotated, Any, Final, Literal, TypeAlias

import msgspec

from podwright.objects import (
    Document,
    FieldError,
    InvalidObject,
    KubernetesObject,
    LabelSelector,
    ObjectMeta,
    PersistentVolumeClaim,
    PodTemplateSpec,
    Struct,
    encode,
    invalid,
    label_selector,
    parse_schedule,
    required,
    time_zone,
    unsupported,
    wrong_with,
)
from podwright.store import GroupKind, kind_of

Problem: TypeAlias = tuple[str, str, Any]
"""The path of an error, its message, and the value."""

_Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
_Seconds: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
_Share: TypeAlias = int | str
_PERCENT: Final = re.compile(r"[0-9]+%")


class _Rolling(Struct, frozen=True, kw_only=True):
    max_surge: _Share | None = None
    max_unavailable: _Share | None = None
    partition: _Count | None = None


class _Strategy(Struct, frozen=True, kw_only=True):
    type: Literal["", "RollingUpdate", "Recreate"] = ""
    rolling_update: _Rolling | None = None


class _SetStrategy(Struct, frozen=True, kw_only=True):
    type: Literal["", "RollingUpdate", "OnDelete"] = ""
    rolling_update: _Rolling | None = None


class _Owner(Struct, frozen=True, kw_only=True):
    replicas: _Count | None = None
    min_ready_seconds: _Count | None = None
    revision_history_limit: _Count | None = None
    selector: LabelSelector | None = None
    template: PodTemplateSpec | None = None


class _ControllerSpec(Struct, frozen=True, kw_only=True):
    replicas: _Count | None = None
    min_ready_seconds: _Count | None = None
    selector: dict[str, str] | None = None
    template: PodTemplateSpec | None = None


class _DeploymentSpec(_Owner, frozen=True, kw_only=True):
    strategy: _Strategy | None = None
    progress_deadline_seconds: _Count | None = None
    paused: bool | None = None


class _DaemonSetSpec(_Owner, frozen=True, kw_only=True):
    update_strategy: _SetStrategy | None = None


class _Ordinals(Struct, frozen=True, kw_only=True):
    start: _Count | None = None


class _Retention(Struct, frozen=True, kw_only=True):
    when_deleted: Literal["", "Retain", "Delete"] = ""
    when_scaled: Literal["", "Retain", "Delete"] = ""


class _StatefulSetSpec(_Owner, frozen=True, kw_only=True):
    service_name: str | None = None
    pod_management_policy: Literal["", "OrderedReady", "Parallel"] = ""
    update_strategy: _SetStrategy | None = None
    ordinals: _Ordinals | None = None
    volume_claim_templates: tuple[PersistentVolumeClaim, ...] = ()
    persistent_volume_claim_retention_policy: _Retention | None = None


class _OnExitCodes(Struct, frozen=True, kw_only=True):
    container_name: str | None = None
    operator: Literal["In", "NotIn"]
    values: tuple[int, ...]


class _OnPodCondition(Struct, frozen=True, kw_only=True):
    type: str
    status: str = ""


class _FailureRule(Struct, frozen=True, kw_only=True):
    action: Literal["Count", "FailIndex", "FailJob", "Ignore"]
    on_exit_codes: _OnExitCodes | None = None
    on_pod_conditions: tuple[_OnPodCondition, ...] = ()


class _FailurePolicy(Struct, frozen=True, kw_only=True):
    rules: tuple[_FailureRule, ...]


class _SuccessRule(Struct, frozen=True, kw_only=True):
    succeeded_indexes: str | None = None
    succeeded_count: _Count | None = None


class _SuccessPolicy(Struct, frozen=True, kw_only=True):
    rules: tuple[_SuccessRule, ...]


class _JobSpec(Struct, frozen=True, kw_only=True):
    parallelism: _Count | None = None
    completions: _Count | None = None
    completion_mode: Literal["", "NonIndexed", "Indexed"] = ""
    backoff_limit: _Count | None = None
    backoff_limit_per_index: _Count | None = None
    max_failed_indexes: _Count | None = None
    active_deadline_seconds: _Seconds | None = None
    ttl_seconds_after_finished: _Count | None = None
    suspend: bool | None = None
    manual_selector: bool | None = None
    managed_by: str | None = None
    pod_replacement_policy: Literal["", "TerminatingOrFailed", "Failed"] = ""
    pod_failure_policy: _FailurePolicy | None = None
    success_policy: _SuccessPolicy | None = None
    selector: LabelSelector | None = None
    template: PodTemplateSpec | None = None


class _JobTemplate(Struct, frozen=True, kw_only=True):
    metadata: ObjectMeta | None = None
    spec: _JobSpec | None = None


class _CronJobSpec(Struct, frozen=True, kw_only=True):
    schedule: str
    time_zone: str | None = None
    starting_deadline_seconds: _Seconds | None = None
    concurrency_policy: Literal["", "Allow", "Forbid", "Replace"] = ""
    suspend: bool | None = None
    job_template: _JobTemplate | None = None
    successful_jobs_history_limit: _Count | None = None
    failed_jobs_history_limit: _Count | None = None


def validate_workload(obj: KubernetesObject) -> Iterator[Problem]:
    """Yield the errors of a workload or a disruption budget; nothing for other kinds."""
    found = _KINDS.get(kind_of(obj))
    if found is None:
        return
    cls, rules = found
    spec = encode(obj).get("spec")
    if spec is None:
        yield "spec", required(), None
        return
    problems = list(wrong_with(spec, cls, "spec")) if cls is not None else []
    # The relations are checked only if the types are right.
    yield from problems or rules(spec)


def check_workloads(objects: Iterable[KubernetesObject]) -> None:
    """Reject invalid workloads and disruption budgets.

    Raises
    ------
    InvalidObject
        With all errors of all objects.
    """
    errors = [
        FieldError(source=f"{obj.kind} {obj.key}", path=path, message=message, value=value)
        for obj in objects
        for path, message, value in validate_workload(obj)
    ]
    if errors:
        raise InvalidObject(errors)


# ----------------------------------------------------------- relations between fields


def _of_owner(spec: Document) -> Iterator[Problem]:
    template = spec.get("template")
    if template is None:
        yield "spec.template", required(), None
    selector = spec.get("selector")
    if selector is None:
        yield "spec.selector", required(), None
        return
    if not selector.get("matchLabels") and not selector.get("matchExpressions"):
        yield "spec.selector", invalid(selector, "an empty selector is not valid here"), selector
        return
    try:
        compiled = label_selector(msgspec.convert(_without_nulls(selector), LabelSelector))
    except ValueError as error:
        yield "spec.selector", invalid(selector, str(error)), selector
        return
    if template is not None:
        yield from _matching(compiled.matches, template)
        yield from _always(template)


def _matching(matches: Callable[[dict[str, str]], bool], template: Document) -> Iterator[Problem]:
    labels = (template.get("metadata") or {}).get("labels") or {}
    if not matches(labels):
        message = invalid(labels, "`selector` does not match template `labels`")
        yield "spec.template.metadata.labels", message, labels


def _always(template: Document) -> Iterator[Problem]:
    policy = (template.get("spec") or {}).get("restartPolicy")
    if policy not in (None, "", "Always"):
        yield "spec.template.spec.restartPolicy", unsupported(policy, ["Always"]), policy


def _of_controller(spec: Document) -> Iterator[Problem]:
    template, selector = spec.get("template"), spec.get("selector")
    if template is None:
        yield "spec.template", required(), None
        return
    if selector:
        yield from _matching(lambda labels: selector.items() <= labels.items(), template)
    yield from _always(template)


def _of_deployment(spec: Document) -> Iterator[Problem]:
    yield from _of_owner(spec)
    yield from _of_strategy(spec, "strategy", is_surge_default=True)


def _of_set(spec: Document) -> Iterator[Problem]:
    yield from _of_owner(spec)
    yield from _of_strategy(spec, "updateStrategy", is_surge_default=False)


def _of_strategy(spec: Document, name: str, *, is_surge_default: bool) -> Iterator[Problem]:
    rolling: Document = (spec.get(name) or {}).get("rollingUpdate") or {}
    path = f"spec.{name}.rollingUpdate"
    for field in ("maxSurge", "maxUnavailable"):
        yield from _of_share(rolling.get(field), f"{path}.{field}")
    unavailable, surge = rolling.get("maxUnavailable"), rolling.get("maxSurge")
    has_no_surge = surge in (0, "0%") or (surge is None and not is_surge_default)
    if unavailable in (0, "0%") and has_no_surge:
        message = invalid(unavailable, "may not be 0 when `maxSurge` is 0")
        yield f"{path}.maxUnavailable", message, unavailable


def _of_share(value: _Share | None, path: str) -> Iterator[Problem]:
    if isinstance(value, str) and not _PERCENT.fullmatch(value):
        yield path, invalid(value, "a number or a percentage such as 25% is expected"), value
    elif isinstance(value, int) and value < 0:
        yield path, invalid(value, "must be greater than or equal to 0"), value


def _of_job(spec: Document, path: str = "spec") -> Iterator[Problem]:
    template = spec.get("template")
    if template is None:
        yield f"{path}.template", required(), None
        return
    policy = (template.get("spec") or {}).get("restartPolicy")
    if policy == "Always":
        message = unsupported(policy, ["Never", "OnFailure"])
        yield f"{path}.template.spec.restartPolicy", message, policy
    if spec.get("completionMode") == "Indexed" and spec.get("completions") is None:
        yield f"{path}.completions", required("when completionMode is Indexed"), None


def _of_cron_job(spec: Document) -> Iterator[Problem]:
    for name, parse in (("schedule", parse_schedule), ("timeZone", time_zone)):
        written = spec.get(name)
        try:
            if written is not None:
                parse(written)
        except ValueError as error:
            yield f"spec.{name}", invalid(written, str(error)), written
    job = (spec.get("jobTemplate") or {}).get("spec")
    if job is None:
        yield "spec.jobTemplate.spec", required(), None
        return
    yield from _of_job(job, "spec.jobTemplate.spec")


def _of_budget(spec: Document) -> Iterator[Problem]:
    least, most = spec.get("minAvailable"), spec.get("maxUnavailable")
    for name, value in (("minAvailable", least), ("maxUnavailable", most)):
        yield from _of_share(value, f"spec.{name}")
    if least is not None and most is not None:
        yield "spec", "minAvailable and maxUnavailable cannot be both set", None


def _without_nulls(selector: Document) -> Document:
    return {name: value for name, value in selector.items() if value is not None}


_Rules: TypeAlias = Callable[[Document], Iterator[Problem]]
_KINDS: Final[dict[GroupKind, tuple[type[Struct] | None, _Rules]]] = {
    ("", "ReplicationController"): (_ControllerSpec, _of_controller),
    ("apps", "DaemonSet"): (_DaemonSetSpec, _of_set),
    ("apps", "Deployment"): (_DeploymentSpec, _of_deployment),
    ("apps", "ReplicaSet"): (_Owner, _of_owner),
    ("apps", "StatefulSet"): (_StatefulSetSpec, _of_owner),
    ("batch", "CronJob"): (_CronJobSpec, _of_cron_job),
    ("batch", "Job"): (_JobSpec, _of_job),
    # Decoding as PodDisruptionBudget has checked the types; only the relations are left.
    ("policy", "PodDisruptionBudget"): (None, _of_budget),
}
