"""Validation of status updates: what upstream checks when only the status changes.

Metadata is validated by `metadata`. Kinds that are not listed have no rules for their status.

Upstream: pkg/apis/*/validation/validation.go, Validate*StatusUpdate and Validate*Status
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from podwright.apimachinery.objects import Document, timestamp_ns
from podwright.apimachinery.schema.validation import rules as r
from podwright.apimachinery.schema.validation.field_errors import FieldErrors, internal_form
from podwright.apimachinery.schema.validation.jobs import common_index, count_indexes
from podwright.apimachinery.schema.validation.names import (
    dns_label,
    dns_subdomain,
    ip_address,
    qualified_name,
    user_id,
    without_leading_zeros,
)

StatusRule: TypeAlias = Callable[[FieldErrors, Document, Document], None]
"""Adds the errors of a changed status; the last argument is the stored object."""


def _status(document: Document) -> Document:
    status: Document = document.get("status") or {}
    return status


def _counters(*names: str, most: Sequence[str] = (), ready: str = "") -> r.Rule:
    """Return the rule of the counters of a workload.

    Parameters
    ----------
    names : str
        Counters that are not negative.
    most : sequence of str
        Counters that are not above that of all replicas; the last is not above the ready ones.
    ready : str
        How the text names the counter of ready replicas.
    """
    not_negative = r.struct(**dict.fromkeys(names, r.NOT_NEGATIVE))

    def check(errors: FieldErrors, path: str, status: Document) -> None:
        not_negative(errors, path, status)
        for name, limit, of in (
            *((each, "replicas", "status.replicas") for each in most),
            *((each, "readyReplicas", ready) for each in most[-1:]),
        ):
            count = status.get(name) or 0
            if count > (status.get(limit) or 0):
                errors.invalid(f"{path}.{name}", count, f"cannot be greater than {of}")

    return check


def _collisions(errors: FieldErrors, new: Document, old: Document) -> None:
    before, after = _status(old).get("collisionCount"), _status(new).get("collisionCount")
    if before is not None and (after is None or after < before):
        errors.invalid("status.collisionCount", after or 0, "cannot be decremented")


# ---------------------------------------------------------------------------- workloads


_DEPLOYMENT: Final = _counters(
    "observedGeneration", "replicas", "updatedReplicas", "readyReplicas", "availableReplicas",
    "unavailableReplicas", "terminatingReplicas", "collisionCount",
    most=("updatedReplicas", "readyReplicas", "availableReplicas"),
    ready="readyReplicas",
)  # fmt: skip
_REPLICA_SET: Final = _counters(
    "replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas",
    "observedGeneration", "terminatingReplicas",
    most=("fullyLabeledReplicas", "readyReplicas", "availableReplicas"),
    ready="readyReplicas",
)  # fmt: skip
_STATEFUL_SET: Final = _counters(
    "replicas", "readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas",
    "observedGeneration", "collisionCount",
    most=("readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"),
    ready="status.readyReplicas",
)  # fmt: skip
_DAEMON_SET: Final = _counters(
    "currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady",
    "observedGeneration", "updatedNumberScheduled", "numberAvailable", "numberUnavailable",
    "collisionCount",
)  # fmt: skip
_BUDGET: Final = _counters("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")
_AUTOSCALER: Final = _counters("currentReplicas", "desiredReplicas")
_JOB: Final = _counters("active", "succeeded", "failed", "ready", "terminating")


def _workload(counters: r.Rule, *, has_collisions: bool = True) -> StatusRule:
    """Return the rule of a changed status of a workload."""

    def check(errors: FieldErrors, new: Document, old: Document) -> None:
        counters(errors, "status", _status(new))
        if has_collisions:
            _collisions(errors, new, old)

    return check


validate_deployment_status: Final = _workload(_DEPLOYMENT)
validate_replica_set_status: Final = _workload(_REPLICA_SET, has_collisions=False)
"""That of a ReplicationController, too."""
validate_stateful_set_status: Final = _workload(_STATEFUL_SET)
validate_daemon_set_status: Final = _workload(_DAEMON_SET)
validate_autoscaler_status: Final = _workload(_AUTOSCALER, has_collisions=False)


def validate_budget_status(errors: FieldErrors, new: Document, _old: Document) -> None:
    """Check the changed status of a PodDisruptionBudget."""
    status = _status(new)
    validate_conditions(errors, "status.conditions", status.get("conditions") or ())
    _BUDGET(errors, "status", status)


_CHECKED: Final = r.struct(
    typeChecking=r.struct(
        expressionWarnings=r.each(r.struct(warning=r.required(), fieldRef=r.required())),
    )
)


def validate_policy_status(errors: FieldErrors, new: Document, _old: Document) -> None:
    """Check the changed status of a ValidatingAdmissionPolicy; JSON paths are not parsed."""
    status = _status(new)
    _CHECKED(errors, "status", status)
    validate_conditions(errors, "status.conditions", status.get("conditions") or ())


_RULE_CONDITIONS_MAX: Final = 8


def validate_taint_rule_status(errors: FieldErrors, new: Document, _old: Document) -> None:
    """Check the changed status of a DeviceTaintRule.

    Upstream: pkg/apis/resource/validation/validation.go, ValidateDeviceTaintRuleStatusUpdate
    """
    conditions: list[Document] = _status(new).get("conditions") or []
    validate_conditions(errors, "status.conditions", conditions)
    if len(conditions) > _RULE_CONDITIONS_MAX:
        errors.too_many("status.conditions", len(conditions), _RULE_CONDITIONS_MAX)


_REASON: Final = "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?"
_REASON_ERROR: Final = (
    "a condition reason must start with alphabetic character, optionally followed by a string of"
    " alphanumeric characters or '_,:', and must end with an alphanumeric character or '_' (e.g."
    " 'my_name',  or 'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex"
    f" used for validation is '{_REASON}')"
)
_REASON_MAX_BYTES: Final = 1024
_MESSAGE_MAX_BYTES: Final = 32 * 1024


def validate_conditions(errors: FieldErrors, path: str, conditions: Iterable[Document]) -> None:
    """Check conditions of the form metav1.Condition.

    Upstream: staging/src/k8s.io/apimachinery/pkg/apis/meta/v1/validation/validation.go,
    ValidateConditions
    """
    seen: set[str] = set()
    for index, condition in enumerate(conditions):
        here = f"{path}[{index}]"
        name, reason = condition.get("type") or "", condition.get("reason") or ""
        if name in seen:
            errors.duplicate(f"{here}.type", name)
        seen.add(name)
        errors.each(f"{here}.type", name, qualified_name(name))
        if (condition.get("status") or "") not in ("True", "False", "Unknown"):
            values = ("False", "True", "Unknown")
            errors.unsupported(f"{here}.status", condition.get("status") or "", values)
        if (generation := condition.get("observedGeneration") or 0) < 0:
            text = "must be greater than or equal to zero"
            errors.invalid(f"{here}.observedGeneration", generation, text)
        if not condition.get("lastTransitionTime"):
            errors.required(f"{here}.lastTransitionTime")
        if not reason:
            errors.required(f"{here}.reason")
        elif not re.fullmatch(_REASON, reason):
            errors.invalid(f"{here}.reason", reason, _REASON_ERROR)
        if len(reason.encode()) > _REASON_MAX_BYTES:
            errors.too_long(f"{here}.reason", _REASON_MAX_BYTES)
        if len((condition.get("message") or "").encode()) > _MESSAGE_MAX_BYTES:
            errors.too_long(f"{here}.message", _MESSAGE_MAX_BYTES)


# --------------------------------------------------------------------------------- jobs


class _Job:
    """The state of a job that its conditions describe."""

    def __init__(self, job: Document) -> None:
        self.spec: Document = job.get("spec") or {}
        self.status = _status(job)
        self._conditions = {
            (each.get("type"), each.get("status")) for each in self.status.get("conditions") or ()
        }

    def has(self, condition: str) -> bool:
        """Whether a condition is true."""
        return (condition, "True") in self._conditions

    def lacks(self, condition: str) -> bool:
        """Whether a condition is false; one that is absent is not."""
        return (condition, "False") in self._conditions

    @property
    def is_finished(self) -> bool:
        """Whether the job is complete or failed."""
        return self.has("Complete") or self.has("Failed")


_CONDITIONS: Final = "status.conditions"
_TERMINAL: Final = ("Failed", "Complete", "FailureTarget")


def validate_job_status(errors: FieldErrors, new: Document, old: Document) -> None:
    """Check the changed status of a Job.

    Upstream applies most rules only if a condition or a field that they read has changed; see
    pkg/registry/batch/job/strategy.go, getStatusValidationOptions.
    """
    job, before = _Job(new), _Job(old)
    status, was = job.status, before.status
    _JOB(errors, "status", status)
    _job_uncounted(errors, status.get("uncountedTerminatedPods") or {})
    is_changed = {
        name: status.get(name) != was.get(name)
        for name in ("active", "startTime", "completionTime", "completedIndexes", "failedIndexes",
                     "ready", "terminating", "uncountedTerminatedPods")
    }  # fmt: skip
    finishes = {
        name: job.has(name) != before.has(name) for name in (*_TERMINAL, "SuccessCriteriaMet")
    }
    is_finish_changed = job.is_finished != before.is_finished
    _job_completion(errors, job, is_changed, finishes)
    _job_counts(errors, job, is_changed, is_finish_changed=is_finish_changed)
    _job_success(errors, job)
    _job_transition(errors, job, before)


def _job_completion(
    errors: FieldErrors,
    job: _Job,
    is_changed: Mapping[str, bool],
    finishes: Mapping[str, bool],
) -> None:
    status = job.status
    is_complete, is_failed = job.has("Complete"), job.has("Failed")
    is_target = job.has("FailureTarget")
    completion, start = status.get("completionTime"), status.get("startTime")
    if (finishes["Complete"] or finishes["Failed"]) and is_complete and is_failed:
        errors.invalid_object(_CONDITIONS, "cannot set Complete=True and Failed=true conditions")
    if (finishes["Complete"] or finishes["FailureTarget"]) and is_complete and is_target:
        text = "cannot set Complete=True and FailureTarget=true conditions"
        errors.invalid_object(_CONDITIONS, text)
    is_time_changed = is_changed["completionTime"] or finishes["Complete"]
    if is_time_changed and completion and not is_complete:
        text = "cannot set completionTime when there is no Complete=True condition"
        errors.invalid("status.completionTime", completion, text)
    if is_time_changed and is_complete and not completion:
        text = "completionTime is required for Complete jobs"
        errors.required("status.completionTime", text)
    is_time_changed = is_changed["completionTime"] or is_changed["startTime"]
    if is_time_changed and start and completion and _is_before(completion, start):
        errors.invalid("status.completionTime", completion, "must be equal to or after `startTime`")
    # Upstream reads the indexes here, not the condition FailureTarget.
    if (finishes["Failed"] or is_changed["failedIndexes"]) and is_failed and not is_target:
        text = "cannot set Failed=True condition without the FailureTarget=true condition"
        errors.invalid_object(_CONDITIONS, text)
    is_met = job.has("SuccessCriteriaMet")
    if (finishes["Complete"] or finishes["SuccessCriteriaMet"]) and is_complete and not is_met:
        text = "cannot set Complete=True condition without the SuccessCriteriaMet=true condition"
        errors.invalid_object(_CONDITIONS, text)


def _is_before(one: str, other: str) -> bool:
    return (timestamp_ns(one) or 0) < (timestamp_ns(other) or 0)


def _job_counts(
    errors: FieldErrors, job: _Job, is_changed: Mapping[str, bool], *, is_finish_changed: bool
) -> None:
    status, is_finished = job.status, job.is_finished
    active, uncounted = status.get("active") or 0, status.get("uncountedTerminatedPods") or {}
    if (is_finish_changed or is_changed["active"]) and active > 0 and is_finished:
        errors.invalid("status.active", active, "active>0 is invalid for finished job")
    is_never_started = job.spec.get("suspend") is True and job.spec.get("completions") == 0
    is_start_checked = (is_finish_changed or is_changed["startTime"]) and not is_never_started
    if is_start_checked and is_finished and not status.get("startTime"):
        errors.required("status.startTime", "startTime is required for finished job")
    is_checked = is_finish_changed or is_changed["uncountedTerminatedPods"]
    if is_checked and is_finished and (uncounted.get("failed") or uncounted.get("succeeded")):
        shown = internal_form(uncounted, "UncountedTerminatedPods")
        errors.invalid("status.uncountedTerminatedPods", shown, "must be empty for finished job")
    _job_indexes(errors, job, is_changed)
    terminating = status.get("terminating") or 0
    if (is_finish_changed or is_changed["terminating"]) and terminating > 0 and is_finished:
        text = "terminating>0 is invalid for finished job"
        errors.invalid("status.terminating", terminating, text)
    ready = status.get("ready")
    if (is_changed["ready"] or is_changed["active"]) and ready is not None and ready > active:
        errors.invalid("status.ready", ready, "cannot set more ready pods than active")


def _job_indexes(errors: FieldErrors, job: _Job, is_changed: Mapping[str, bool]) -> None:
    completed, failed = job.status.get("completedIndexes"), job.status.get("failedIndexes")
    completions = job.spec.get("completions")
    has_no_limit = job.spec.get("backoffLimitPerIndex") is None
    if is_changed["completedIndexes"] and completions is not None:
        _job_index_format(errors, "completedIndexes", completed or "", completions)
    is_parsed = is_changed["failedIndexes"] and not has_no_limit
    if is_parsed and completions is not None and failed is not None:
        _job_index_format(errors, "failedIndexes", failed, completions)
    if is_changed["completedIndexes"] and completed and job.spec.get("completionMode") != "Indexed":
        text = "cannot set non-empty completedIndexes when non-indexed completion mode"
        errors.invalid("status.completedIndexes", completed, text)
    if is_changed["failedIndexes"] and failed is not None and has_no_limit:
        text = "cannot set non-null failedIndexes when backoffLimitPerIndex is null"
        errors.invalid("status.failedIndexes", failed, text)
    is_changed_part = is_changed["completedIndexes"] or is_changed["failedIndexes"]
    if is_changed_part and completions is not None and failed is not None:
        common = common_index(completed or "", failed, completions)
        if common is not None:
            text = f"failedIndexes and completedIndexes overlap at index: {common}"
            errors.invalid("status.failedIndexes", failed, text)


def _job_index_format(errors: FieldErrors, name: str, indexes: str, completions: int) -> None:
    try:
        count_indexes(indexes, completions)
    except ValueError as error:
        errors.invalid(f"status.{name}", indexes, f"error parsing {name}: {error}")


def _job_uncounted(errors: FieldErrors, uncounted: Document) -> None:
    seen: set[str] = set()
    for name in ("succeeded", "failed"):
        for index, uid in enumerate(uncounted.get(name) or ()):
            at = f"status.uncountedTerminatedPods.{name}[{index}]"
            if not uid:
                errors.invalid(at, uid, "must not be empty")
            elif uid in seen:
                errors.duplicate(at, uid)
            seen.add(uid)


def _job_success(errors: FieldErrors, job: _Job) -> None:
    is_met = job.has("SuccessCriteriaMet")
    if is_met and job.has("Failed"):
        text = "cannot set SuccessCriteriaMet=True and Failed=true conditions"
        errors.invalid_object(_CONDITIONS, text)
    if is_met and job.has("FailureTarget"):
        text = "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions"
        errors.invalid_object(_CONDITIONS, text)
    if job.spec.get("successPolicy") is not None and not is_met and job.has("Complete"):
        text = "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True"
        errors.invalid_object(_CONDITIONS, text)


def _job_transition(errors: FieldErrors, job: _Job, before: _Job) -> None:
    status, was = job.status, before.status
    for name in _TERMINAL:
        if before.has(name) and not job.has(name):
            text = f"cannot disable the terminal {name}=True condition"
            errors.invalid_object(_CONDITIONS, text)
    spec = job.spec
    # An elastic job has fewer successes after it was scaled down.
    is_elastic = spec.get("completionMode") == "Indexed" and (
        spec.get("completions") == spec.get("parallelism")
    )
    for name in ("failed",) if is_elastic else ("failed", "succeeded"):
        if (status.get(name) or 0) < (was.get(name) or 0):
            text = f"cannot decrease the {name} counter"
            errors.invalid(f"status.{name}", status.get(name) or 0, text)
    completion, completed = status.get("completionTime"), was.get("completionTime")
    if completion and completed and completion != completed:
        errors.invalid("status.completionTime", completion, "field is immutable")
    start, started = status.get("startTime"), was.get("startTime")
    is_resumed = before.has("Suspended") and job.lacks("Suspended")
    if started and start != started and not spec.get("suspend") and not is_resumed:
        text = "field is immutable for unsuspended job once set"
        errors.invalid("status.startTime", start, text)
    name = "SuccessCriteriaMet"
    if before.has(name) and not job.has(name):
        text = "cannot disable the SuccessCriteriaMet=True condition"
        errors.invalid_object(_CONDITIONS, text)
    if before.has("Complete") and not before.has(name) and job.has(name):
        text = "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions"
        errors.invalid_object(_CONDITIONS, text)


# --------------------------------------------------------------------- pods, namespaces


def validate_pod_status(errors: FieldErrors, new: Document, old: Document) -> None:
    """Check the changed status of a Pod."""
    status, was = _status(new), _status(old)
    for index, condition in enumerate(status.get("conditions") or ()):
        name = condition.get("type") or ""
        if (generation := condition.get("observedGeneration") or 0) < 0:
            path = f"status.conditions[{index}].observedGeneration"
            errors.invalid(path, generation, "must be a non-negative integer")
        errors.each(f"status.conditions[{index}].Type", name, qualified_name(name))
    nominated = status.get("nominatedNodeName")
    if nominated and nominated != was.get("nominatedNodeName"):
        errors.each("status.nominatedNodeName", nominated, dns_subdomain(nominated))
        if (old.get("spec") or {}).get("nodeName"):
            text = "may not be set on pods that are already bound to a node"
            errors.forbidden("status.nominatedNodeName", text)
    if (status.get("observedGeneration") or 0) < 0:
        text = "must be a non-negative integer"
        errors.invalid("status.observedGeneration", status["observedGeneration"], text)
    if was.get("qosClass"):
        errors.immutable("status.qosClass", status.get("qosClass") or "", was.get("qosClass"))
    policy = (old.get("spec") or {}).get("restartPolicy")
    for name in ("containerStatuses", "initContainerStatuses"):
        _transitions(errors, f"status.{name}", status.get(name), was.get(name), policy)
    _claim_statuses(errors, new)
    if (found := status.get("extendedResourceClaimStatus")) is not None:
        _extended_resources(errors, found, new.get("spec") or {})
    for name in ("podIPs", "hostIPs"):
        _addresses(errors, name, status, was)
    _container_statuses(errors, status, new.get("spec") or {})


def _container_statuses(errors: FieldErrors, status: Document, spec: Document) -> None:
    """Check the users of containers, and the health of their devices.

    Upstream: pkg/apis/core/validation/validation.go, ValidatePodStatusUpdate
    """
    is_windows = (spec.get("os") or {}).get("name") == "windows"
    for name in ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"):
        for index, each in enumerate(status.get(name) or ()):
            user = (each.get("user") or {}).get("linux")
            _linux_user(errors, f"status.{name}[{index}].user.linux", user, is_windows=is_windows)
    for name, containers in (
        ("containerStatuses", "containers"),
        ("initContainerStatuses", "initContainers"),
    ):
        present = spec.get(containers) or ()
        _allocated_resources(errors, f"status.{name}", status.get(name) or (), present)
    for index, each in enumerate(status.get("ephemeralContainerStatuses") or ()):
        if each.get("allocatedResourcesStatus"):
            at = f"status.ephemeralContainerStatuses[{index}].allocatedResourcesStatus"
            errors.forbidden(at, "must not be specified in container status")


def _linux_user(errors: FieldErrors, path: str, user: Document | None, *, is_windows: bool) -> None:
    if user is None:
        return
    if is_windows:
        errors.forbidden(path, "cannot be set for a windows pod")
        return
    for name in ("uid", "gid"):
        if number := user.get(name):
            errors.each(f"{path}.{name}", number, user_id(number))
    for index, group in enumerate(user.get("supplementalGroups") or ()):
        errors.each(f"{path}.supplementalGroups[{index}]", group, user_id(group))


_HEALTH: Final = ("Healthy", "Unhealthy", "Unknown")
_HEALTH_MESSAGE_MAX: Final = 1024


def _allocated_resources(
    errors: FieldErrors,
    path: str,
    statuses: Sequence[Document],
    containers: Sequence[Document],
) -> None:
    """Check the health of the devices of containers.

    Upstream: validateContainerStatusAllocatedResourcesStatus
    """
    by_name = {each.get("name"): each.get("resources") or {} for each in reversed(containers)}
    for index, status in enumerate(statuses):
        for number, allocated in enumerate(status.get("allocatedResourcesStatus") or ()):
            at = f"{path}[{index}].allocatedResourcesStatus[{number}]"
            # A status may be of a container that the pod does not have.
            if (resources := by_name.get(status.get("name"))) is not None:
                _allocated_name(errors, f"{at}.name", allocated.get("name") or "", resources)
            seen: set[str] = set()
            for position, each in enumerate(allocated.get("resources") or ()):
                _health(errors, f"{at}.resources[{position}]", each, seen)


def _allocated_name(errors: FieldErrors, path: str, name: str, resources: Document) -> None:
    if name.startswith("claim:"):
        known = {
            "/".join(filter(None, (f"claim:{each.get('name')}", each.get("request"))))
            for each in resources.get("claims") or ()
        }
        text = (
            "must match one of the container's resource claims in a format"
            " 'claim:<claimName>/<request>' or 'claim:<claimName>' if request is empty"
        )
    else:
        known = set(resources.get("requests") or ())
        text = "must match one of the container's resource requests"
    if name not in known:
        errors.invalid(path, name, text)


def _health(errors: FieldErrors, path: str, resource: Document, seen: set[str]) -> None:
    if (health := resource.get("health") or "") not in _HEALTH:
        errors.unsupported(f"{path}.health", health, _HEALTH)
    message = resource.get("message")
    if message == "":
        errors.required(f"{path}.message", "must be non-empty if specified")
    elif message and len(message.encode()) > _HEALTH_MESSAGE_MAX:
        errors.too_long(f"{path}.message", _HEALTH_MESSAGE_MAX)
    identifier = resource.get("resourceID") or ""
    if identifier in seen:
        errors.duplicate(f"{path}.resourceID", identifier)
    seen.add(identifier)


def _extended_resources(errors: FieldErrors, status: Document, spec: Document) -> None:
    """Check the claim that was made for extended resources.

    Upstream: validatePodExtendedResourceClaimStatus
    """
    path = "status.extendedResourceClaimStatus"
    containers = {
        each.get("name") or "": each
        for field in ("initContainers", "containers")
        for each in spec.get(field) or ()
    }
    mappings = status.get("requestMappings") or ()
    if not mappings:
        errors.required(f"{path}.requestMappings", "at least one request mapping is required")
    seen: set[tuple[str, ...]] = set()
    names = ("containerName", "resourceName", "requestName")
    for index, each in enumerate(mappings):
        at = f"{path}.requestMappings[{index}]"
        container, resource, request = key = tuple(each.get(name) or "" for name in names)
        if container not in containers:
            text = "must match the name of an entry in spec.initContainers.name or"
            errors.invalid(f"{at}.containerName", container, f"{text} spec.containers.name")
        elif resource not in ((containers[container].get("resources") or {}).get("requests") or {}):
            text = (
                "must match the extended resource name of an entry in"
                " spec.initContainers.resources.requests or spec.containers.resources.requests"
            )
            errors.invalid(f"{at}.resourceName", resource, text)
        # Upstream's path has no index.
        errors.each(f"{path}.requestName", request, dns_label(request))
        if key in seen:
            for name, value in zip(names, key, strict=True):
                errors.duplicate(f"{at}.{name}", value)
        seen.add(key)
    if claim := status.get("resourceClaimName"):
        errors.each(f"{path}.resourceClaimName", claim, dns_subdomain(claim))
    else:
        errors.required(f"{path}.resourceClaimName")


def validate_service_status(errors: FieldErrors, new: Document, old: Document) -> None:
    """Check the changed status of a Service.

    Upstream: pkg/apis/core/validation/validation.go, ValidateLoadBalancerStatus
    """
    path = "status.loadBalancer.ingress"
    ingress = (_status(new).get("loadBalancer") or {}).get("ingress") or ()
    if ingress and (new.get("spec") or {}).get("type") != "LoadBalancer":
        errors.forbidden(path, "may only be used when `spec.type` is 'LoadBalancer'")
        return
    before = (_status(old).get("loadBalancer") or {}).get("ingress") or ()
    known = {each.get("ip") for each in before}
    for index, each in enumerate(ingress):
        at, address, mode = f"{path}[{index}]", each.get("ip") or "", each.get("ipMode")
        if address and address not in known:
            errors.each(f"{at}.ip", address, ip_address(address))
        if mode is None and address:
            errors.required(f"{at}.ipMode", "must be specified when `ip` is set")
        elif mode is not None and not address:
            errors.forbidden(f"{at}.ipMode", "may not be specified when `ip` is not set")
        elif mode is not None and mode not in ("Proxy", "VIP"):
            errors.unsupported(f"{at}.ipMode", mode, ("Proxy", "VIP"))
        _validate_hostname(errors, at, each)


def validate_ingress_status(errors: FieldErrors, new: Document, old: Document) -> None:
    """Check the changed status of an ingress.

    Upstream: pkg/apis/networking/validation/validation.go, ValidateIngressLoadBalancerStatus
    """
    before = (_status(old).get("loadBalancer") or {}).get("ingress") or ()
    known = {each.get("ip") for each in before}
    ingress = (_status(new).get("loadBalancer") or {}).get("ingress") or ()
    for index, each in enumerate(ingress):
        at, address = f"status.loadBalancer.ingress[{index}]", each.get("ip") or ""
        if address and address not in known:
            errors.each(f"{at}.ip", address, ip_address(address))
        _validate_hostname(errors, at, each)


def _validate_hostname(errors: FieldErrors, path: str, ingress: Document) -> None:
    if hostname := ingress.get("hostname"):
        errors.each(f"{path}.hostname", hostname, dns_subdomain(hostname))
        if not ip_address(hostname):
            text = "must be a DNS name, not an IP address"
            errors.invalid(f"{path}.hostname", hostname, text)


def _addresses(errors: FieldErrors, name: str, status: Document, was: Document) -> None:
    """Check the addresses of a pod or of its host: new ones are valid, one of each family."""
    found = [each.get("ip") or "" for each in status.get(name) or ()]
    known = {each.get("ip") or "" for each in was.get(name) or ()}
    if name == "hostIPs" and found and found[0] != (status.get("hostIP") or ""):
        errors.invalid("status.hostIPs[0].ip", found[0], "must be equal to `hostIP`")
    for index, address in enumerate(found):
        if address not in known:
            errors.each(f"status.{name}[{index}]", address, ip_address(address))
    if len(found) < 2:
        return
    # Upstream's parser accepts numbers with leading zeros.
    plain = map(without_leading_zeros, found)
    wrong = next((index for index, each in enumerate(plain) if ip_address(each)), None)
    if wrong is not None:
        text = f"failed to check for dual stack with error:invalid IP[{wrong}]: {found[wrong]}"
        errors.internal(f"status.{name}", text)
    families = {":" in address for address in found}
    if wrong is not None or len(families) < len(found):
        text = "may specify no more than one IP for each IP family"
        printed = [{"IP": address} for address in found]
        errors.invalid(f"status.{name}", printed, text)


def _claim_statuses(errors: FieldErrors, new: Document) -> None:
    known = {each.get("name") for each in (new.get("spec") or {}).get("resourceClaims") or ()}
    seen: set[str] = set()
    for index, each in enumerate(_status(new).get("resourceClaimStatuses") or ()):
        at = f"status.resourceClaimStatuses[{index}]"
        path, name = f"{at}.name", each.get("name") or ""
        if name not in known:
            text = "must match the name of an entry in `spec.resourceClaims`"
            errors.invalid(path, name, text)
        if name in seen:
            errors.duplicate(path, name)
        seen.add(name)
        if (claim := each.get("resourceClaimName")) is not None:
            errors.each(f"{at}.resourceClaimName", claim, dns_subdomain(claim))


def _transitions(errors: FieldErrors, path: str, new: Any, old: Any, policy: str | None) -> None:
    """Check that containers that are not restarted stay terminated.

    Upstream: ValidateContainerStateTransition
    """
    if policy not in ("OnFailure", "Never"):
        return
    before = {each.get("name"): each for each in old or ()}
    for index, each in enumerate(new or ()):
        ended = ((before.get(each.get("name")) or {}).get("state") or {}).get("terminated")
        if ended is None or (ended.get("exitCode") and policy == "OnFailure"):
            continue
        if (each.get("state") or {}).get("terminated") is None:
            text = "may not be transitioned to non-terminated state"
            errors.forbidden(f"{path}[{index}].state", text)


def validate_namespace_status(errors: FieldErrors, new: Document, old: Document) -> None:
    """Check the changed status of a Namespace."""
    phase = _status(new).get("phase") or ""
    is_terminating = (old.get("metadata") or {}).get("deletionTimestamp") is not None
    if is_terminating and phase != "Terminating":
        text = "may only be 'Terminating' if `deletionTimestamp` is not empty"
        errors.invalid("status.Phase", phase, text)
    if not is_terminating and phase != "Active":
        text = "may only be 'Active' if `deletionTimestamp` is empty"
        errors.invalid("status.Phase", phase, text)
