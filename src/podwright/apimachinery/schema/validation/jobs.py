"""Validation of jobs and cron jobs.

Upstream: pkg/apis/batch/validation/validation.go
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Final

from podwright.apimachinery.objects import Document, parse_int64, parse_schedule, time_zone
from podwright.apimachinery.schema.validation import rules as r
from podwright.apimachinery.schema.validation.field_errors import (
    FieldErrors,
    internal_form,
    repeats,
    same,
)
from podwright.apimachinery.schema.validation.metadata import (
    selector_is_valid,
    selector_matches,
    validate_label_selector,
)
from podwright.apimachinery.schema.validation.names import (
    dns_label,
    domain_prefixed_path,
)
from podwright.apimachinery.schema.validation.pods.pod import validate_template

_PARALLELISM_MAX: Final = 100_000
_FAILED_INDEXES_MAX: Final = 100_000
_MANY_COMPLETIONS: Final = 100_000
_MANY_LIMIT: Final = 10_000
_RULES_MAX: Final = 20
_ACTIONS: Final = ("Count", "FailIndex", "FailJob", "Ignore")
_STATUSES: Final = ("False", "True", "Unknown")
_LABELS: Final = (
    "controller-uid",
    "job-name",
    "batch.kubernetes.io/controller-uid",
    "batch.kubernetes.io/job-name",
)
_ZONE_PREFIX: Final = re.compile(r"^(CRON_)?TZ=(?P<zone>\S*)\s+")
_ZONE_PART: Final = re.compile(r"[A-Za-z.\-_0-9+]{1,14}")


def validate_job(errors: FieldErrors, job: Document) -> None:
    """Check a new job; a job without a selector gets one when it is stored."""
    metadata, spec = job.get("metadata") or {}, job.get("spec") or {}
    name = metadata.get("name") or ""
    _validate_generated_selector(errors, metadata, spec)
    validate_job_spec(errors, "spec", spec)
    _validate_selector(errors, metadata, spec)
    completions = spec.get("completions") or 0
    if spec.get("completionMode") == "Indexed" and completions > 0:
        host = f"{name}-{completions - 1}"
        if dns_label(host):
            text = f"will not able to create pod with invalid DNS label: {host}"
            errors.invalid("metadata.name", name, text)


def _validate_generated_selector(errors: FieldErrors, metadata: Document, spec: Document) -> None:
    selector = spec.get("selector")
    if spec.get("manualSelector") or selector is None:
        return
    uid, name = metadata.get("uid") or "", metadata.get("name") or ""
    if not uid:
        # The labels of the pods contain the uid, which the server sets.
        return
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels") or {}
    expected = dict(zip(_LABELS, (uid, name, uid, name), strict=True))
    for key, value in expected.items():
        at = f"spec.template.metadata.labels[{key}]"
        if key not in labels:
            errors.required(at, f"must be '{value}'")
        elif labels[key] != value:
            errors.invalid(at, dict(sorted(labels.items())), f"must be '{value}'")
    if selector_is_valid(selector) and not selector_matches(selector, expected):
        text = "`selector` not auto-generated"
        errors.invalid("spec.selector", internal_form(selector, "LabelSelector"), text)


def _validate_selector(errors: FieldErrors, metadata: Document, spec: Document) -> None:
    selector = spec.get("selector")
    if selector is None:
        if not (spec.get("manualSelector") or metadata.get("uid")):
            return
        errors.required("spec.selector")
    validate_label_selector(errors, "spec.selector", selector or {})
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels") or {}
    if selector_is_valid(selector or {}) and not selector_matches(selector, labels):
        text = "`selector` does not match template `labels`"
        printed = dict(sorted(labels.items())) or None
        errors.invalid("spec.template.metadata.labels", printed, text)


def validate_job_spec(errors: FieldErrors, path: str, spec: Document) -> None:
    """Check the spec of a job or of a job template."""
    _NUMBERS(errors, path, spec)
    per_index = spec.get("backoffLimitPerIndex")
    if spec.get("maxFailedIndexes") is not None and per_index is None:
        errors.required(f"{path}.backoffLimitPerIndex", "when maxFailedIndexes is specified")
    _MANAGER(errors, path, spec)
    _validate_mode(errors, path, spec)
    if (policy := spec.get("podFailurePolicy")) is not None:
        _validate_failure_policy(errors, f"{path}.podFailurePolicy", policy, spec)
    if (policy := spec.get("successPolicy")) is not None:
        if spec.get("completionMode") != "Indexed":
            shown, text = internal_form(policy, "SuccessPolicy"), "requires indexed completion mode"
            errors.invalid(f"{path}.successPolicy", shown, text)
        else:
            _validate_success_policy(errors, f"{path}.successPolicy", policy, spec)
    _validate_replacement(errors, path, spec)
    template = spec.get("template") or {}
    validate_template(errors, f"{path}.template", template)
    _validate_restart(errors, f"{path}.template.spec.restartPolicy", template, spec)


def _validate_mode(errors: FieldErrors, path: str, spec: Document) -> None:
    mode = spec.get("completionMode", "NonIndexed")
    if mode not in ("NonIndexed", "Indexed"):
        errors.unsupported(f"{path}.completionMode", mode, ("NonIndexed", "Indexed"))
    if mode == "Indexed":
        _validate_indexed(errors, path, spec)
    elif mode == "NonIndexed":
        for name in ("backoffLimitPerIndex", "maxFailedIndexes"):
            if spec.get(name) is not None:
                errors.invalid(f"{path}.{name}", spec[name], "requires indexed completion mode")


def _validate_indexed(errors: FieldErrors, path: str, spec: Document) -> None:
    completions, parallelism = spec.get("completions"), spec.get("parallelism")
    failed = spec.get("maxFailedIndexes")
    if completions is None:
        errors.required(f"{path}.completions", "when completion mode is Indexed")
    if parallelism is not None and parallelism > _PARALLELISM_MAX:
        text = f"must be less than or equal to {_PARALLELISM_MAX} when completion mode is Indexed"
        errors.invalid(f"{path}.parallelism", parallelism, text)
    if failed is not None:
        if completions is not None and failed > completions:
            text = "must be less than or equal to completions"
            errors.invalid(f"{path}.maxFailedIndexes", failed, text)
        if failed > _FAILED_INDEXES_MAX:
            text = f"must be less than or equal to {_FAILED_INDEXES_MAX}"
            errors.invalid(f"{path}.maxFailedIndexes", failed, text)
    has_limits = spec.get("backoffLimitPerIndex") is not None
    if completions is None or completions <= _MANY_COMPLETIONS or not has_limits:
        return
    if failed is None:
        text = f"must be specified when completions is above {_MANY_COMPLETIONS}"
        errors.required(f"{path}.maxFailedIndexes", text)
    for name, value in (("parallelism", parallelism), ("maxFailedIndexes", failed)):
        if value is not None and value > _MANY_LIMIT:
            errors.invalid(
                f"{path}.{name}",
                value,
                f"must be less than or equal to {_MANY_LIMIT} when completions are above"
                f" {_MANY_COMPLETIONS} and used with backoff limit per index",
            )


def _validate_replacement(errors: FieldErrors, path: str, spec: Document) -> None:
    allowed = _ONLY_FAILED if spec.get("podFailurePolicy") is not None else _REPLACEMENT
    allowed(errors, path, spec)


def _validate_restart(errors: FieldErrors, path: str, template: Document, spec: Document) -> None:
    policy = (template.get("spec") or {}).get("restartPolicy") or "Always"
    if policy == "Always":
        errors.required(path, 'valid values: "OnFailure", "Never"')
    elif policy not in ("OnFailure", "Never"):
        errors.unsupported(path, policy, ("OnFailure", "Never"))
    elif spec.get("podFailurePolicy") is not None and policy != "Never":
        text = 'only "Never" is supported when podFailurePolicy is specified'
        errors.invalid(path, policy, text)


def _listed(values: tuple[str, ...]) -> str:
    """Return the text of a Go list of strings."""
    return "valid values: [" + " ".join(f'"{each}"' for each in values) + "]"


_NUMBERS: Final = r.struct(
    parallelism=r.NOT_NEGATIVE,
    completions=r.NOT_NEGATIVE,
    activeDeadlineSeconds=r.NOT_NEGATIVE,
    backoffLimit=r.NOT_NEGATIVE,
    ttlSecondsAfterFinished=r.NOT_NEGATIVE,
    backoffLimitPerIndex=r.NOT_NEGATIVE,
    maxFailedIndexes=r.NOT_NEGATIVE,
)
_MANAGER: Final = r.struct(managedBy=r.all_of(domain_prefixed_path, r.max_bytes(63)))
_ONLY_FAILED: Final = r.struct(podReplacementPolicy=r.one_of("Failed"))
_REPLACEMENT: Final = r.struct(podReplacementPolicy=r.one_of("Failed", "TerminatingOrFailed"))
_ACTION: Final = r.struct(action=r.required(r.one_of(*_ACTIONS), detail=_listed(_ACTIONS)))
_RULES: Final = r.struct(rules=r.max_items(_RULES_MAX))
_OPERATOR: Final = r.struct(
    operator=r.required(r.one_of("In", "NotIn"), detail=_listed(("In", "NotIn")))
)
_CONDITIONS: Final = r.all_of(
    r.max_items(_RULES_MAX),
    # The default status is True.
    r.each(r.struct(type=r.always(r.QUALIFIED, ""), status=r.optional(r.one_of(*_STATUSES)))),
)


def _validate_failure_policy(
    errors: FieldErrors, path: str, policy: Document, spec: Document
) -> None:
    _RULES(errors, path, policy)
    pod = (spec.get("template") or {}).get("spec") or {}
    names = {
        each.get("name")
        for field in ("containers", "initContainers")
        for each in pod.get(field) or ()
    }
    for index, rule in enumerate(policy.get("rules") or ()):
        at, action = f"{path}.rules[{index}]", rule.get("action") or ""
        _ACTION(errors, at, rule)
        if action == "FailIndex" and spec.get("backoffLimitPerIndex") is None:
            text = "requires the backoffLimitPerIndex to be set"
            errors.invalid(f"{at}.action", action, text)
        codes, conditions = rule.get("onExitCodes"), rule.get("onPodConditions") or []
        if codes is not None:
            _validate_exit_codes(errors, f"{at}.onExitCodes", codes, names)
        if conditions:
            _CONDITIONS(errors, f"{at}.onPodConditions", conditions)
        if codes is not None and conditions:
            text = "specifying both OnExitCodes and OnPodConditions is not supported"
            errors.invalid_object(at, text)
        if codes is None and not conditions:
            text = "specifying one of OnExitCodes and OnPodConditions is required"
            errors.invalid_object(at, text)


def _validate_exit_codes(
    errors: FieldErrors, path: str, codes: Document, names: set[str | None]
) -> None:
    operator, values = codes.get("operator"), codes.get("values") or []
    _OPERATOR(errors, path, codes)
    if (name := codes.get("containerName")) is not None and name not in names:
        text = "must be one of the container or initContainer names in the pod template"
        errors.invalid(f"{path}.containerName", name, text)
    if not values:
        errors.invalid(f"{path}.values", codes.get("values"), "at least one value is required")
    elif len(values) > 255:
        errors.too_many(f"{path}.values", len(values), 255)
    for index, (value, is_repeated) in enumerate(zip(values, repeats(values), strict=True)):
        if operator == "In" and value == 0:
            errors.invalid(f"{path}.values[{index}]", value, "must not be 0 for the In operator")
        if is_repeated:
            errors.duplicate(f"{path}.values[{index}]", value)
    if values != sorted(values):
        errors.invalid(f"{path}.values", values, "must be ordered")


def _validate_success_policy(
    errors: FieldErrors, path: str, policy: Document, spec: Document
) -> None:
    rules, completions = policy.get("rules"), spec.get("completions") or 0
    if not rules:
        text = "at least one rules must be specified when the successPolicy is specified"
        errors.required(f"{path}.rules", text)
    _RULES(errors, path, policy)
    for index, rule in enumerate(rules or ()):
        at = f"{path}.rules[{index}]"
        count, indexes = rule.get("succeededCount"), rule.get("succeededIndexes")
        if count is None and indexes is None:
            text = "at least one of succeededCount or succeededIndexes must be specified"
            errors.required(at, text)
        total = 0
        if indexes is not None:
            if len(indexes.encode()) > 64 * 1024:
                errors.too_long(f"{at}.succeededIndexes", 64 * 1024)
            try:
                total = count_indexes(indexes, completions)
            except ValueError as error:
                text = f"error parsing succeededIndexes: {error}"
                errors.invalid(f"{at}.succeededIndexes", indexes, text)
        if count is None:
            continue
        errors.not_negative(f"{at}.succeededCount", count)
        if count > completions:
            text = (
                f"must be less than or equal to {completions} (the number of specified completions)"
            )
            errors.invalid(f"{at}.succeededCount", count, text)
        if indexes is not None and count > total:
            text = (
                f"must be less than or equal to {total} (the number of indexes in the specified"
                " succeededIndexes field)"
            )
            errors.invalid(f"{at}.succeededCount", count, text)


def count_indexes(text: str, completions: int) -> int:
    """Return the number of indexes in a text such as `0-2,5`.

    Raises
    ------
    ValueError
        The text is malformed, not in increasing order, or beyond the completions.
    """
    total, last = 0, -1
    for interval in text.split(",") if text else ():
        first, end = _interval(interval, completions)
        if last >= first:
            raise ValueError(f"non-increasing order, previous: {last}, current: {first}")
        total, last = total + end - first + 1, end
    return total


def _interval(text: str, completions: int) -> tuple[int, int]:
    """Return the first and the last index of an interval such as `0-2`.

    Raises
    ------
    ValueError
        The text is malformed, or beyond the completions.
    """
    bounds = text.split("-")
    if len(bounds) > 2:
        raise ValueError(
            f'the fragment "{text}" violates the requirement that an index interval can'
            " have at most two parts separated by '-'"
        )
    numbers = [_index(bound, completions) for bound in bounds]
    first, end = numbers[0], numbers[-1]
    if len(numbers) == 2 and first >= end:
        raise ValueError(f"non-increasing order, previous: {first}, current: {end}")
    return first, end


def common_index(completed: str, failed: str, completions: int) -> int | None:
    """Return the first index that two texts such as `0-2,5` have in common; None if none.

    Malformed intervals are left out. Upstream: validateFailedIndexesNotOverlapCompleted
    """
    one, other = (_intervals(text, completions) for text in (completed, failed))
    while one and other:
        (start, end), (failed_start, failed_end) = one[0], other[0]
        if start <= failed_end and failed_start <= end:
            return max(start, failed_start)
        del (one if start <= failed_start else other)[0]
    return None


def _intervals(text: str, completions: int) -> list[tuple[int, int]]:
    found = []
    for interval in text.split(",") if text else ():
        with suppress(ValueError):
            found.append(_interval(interval, completions))
    return found


def _index(text: str, completions: int) -> int:
    index = parse_int64(text)
    if index is None:
        raise ValueError(f'cannot convert string to integer for index: "{text}"')
    if index >= completions:
        raise ValueError(f'too large index: "{text}"')
    return index


# ------------------------------------------------------------------------------- job updates


def validate_job_update(errors: FieldErrors, new: Document, old: Document) -> None:
    """Check a changed job: its selector and template are immutable, unless it is suspended."""
    spec, before = new.get("spec") or {}, old.get("spec") or {}
    # Upstream has validated the new job, and does so with its spec once more.
    validate_job_spec(errors, "spec", spec)
    _validate_selector(errors, new.get("metadata") or {}, spec)
    _validate_completions(errors, spec, before)
    errors.immutable("spec.selector", spec.get("selector"), before.get("selector"))
    _validate_template_update(errors, spec, before, old.get("status") or {})


def _validate_completions(errors: FieldErrors, spec: Document, before: Document) -> None:
    completions, former = spec.get("completions"), before.get("completions")
    if spec.get("completionMode") != "Indexed":
        errors.immutable("spec.completions", completions, former)
    elif completions not in (former, None) and completions != spec.get("parallelism"):
        text = "can only be modified in tandem with spec.parallelism"
        errors.invalid("spec.completions", completions, text)


def _validate_template_update(
    errors: FieldErrors, spec: Document, before: Document, status: Document
) -> None:
    template, former = spec.get("template") or {}, before.get("template") or {}
    # Upstream: pkg/registry/batch/job/strategy.go, shouldAllowMutablePodTemplate, as of 1.36.2;
    # 1.36.0 had not thought of suspended jobs that never started.
    is_suspended = not status.get("startTime") or any(
        each.get("type") == "Suspended" and each.get("status") == "True"
        for each in status.get("conditions") or ()
    )
    if before.get("suspend") and is_suspended and not status.get("active"):
        former = _with_resources(_with_directives(former, template), template)
        if not same(template.get("spec"), former.get("spec")):
            shown = internal_form(template.get("spec"), "PodSpec")
            errors.invalid("spec.template.spec", shown, "field is immutable")
        return
    errors.immutable("spec.template", template, former, "PodTemplateSpec")


def _with_directives(former: Document, template: Document) -> Document:
    """Return the former template with the scheduling directives of the new one."""
    pod, spec = dict(former.get("spec") or {}), template.get("spec") or {}
    for name in ("nodeSelector", "tolerations", "schedulingGates"):
        pod[name] = spec.get(name)
    affinity = spec.get("affinity")
    kept = {n: v for n, v in (pod.get("affinity") or {}).items() if n != "nodeAffinity"}
    if affinity is None:
        pod["affinity"] = kept or None
    else:
        pod["affinity"] = kept | {"nodeAffinity": affinity.get("nodeAffinity")}
    metadata = dict(former.get("metadata") or {})
    for name in ("labels", "annotations"):
        metadata[name] = (template.get("metadata") or {}).get(name)
    return former | {"spec": pod, "metadata": metadata}


def _with_resources(former: Document, template: Document) -> Document:
    """Return the former template with the resources of the containers of the new one."""
    pod, spec = dict(former.get("spec") or {}), template.get("spec") or {}
    for field in ("containers", "initContainers"):
        old, new = pod.get(field) or [], spec.get(field) or []
        if old and len(old) == len(new):
            pod[field] = [
                a | {"resources": b.get("resources")} if a.get("name") == b.get("name") else a
                for a, b in zip(old, new, strict=True)
            ]
    return former | {"spec": pod}


# --------------------------------------------------------------------------------- cron jobs


def validate_cron_job(errors: FieldErrors, cron_job: Document) -> None:
    """Check a new cron job."""
    _validate_cron_spec(errors, cron_job.get("spec") or {}, None)
    name = (cron_job.get("metadata") or {}).get("name") or ""
    if len(name) > 52:
        errors.invalid("metadata.name", name, "must be no more than 52 characters")


def validate_cron_job_update(errors: FieldErrors, new: Document, old: Document) -> None:
    """Check a changed cron job."""
    _validate_cron_spec(errors, new.get("spec") or {}, old.get("spec") or {})


def _validate_cron_spec(errors: FieldErrors, spec: Document, before: Document | None) -> None:
    schedule, zone = spec.get("schedule"), spec.get("timeZone")
    if not schedule:
        errors.required("spec.schedule")
    else:
        _validate_schedule(errors, schedule, zone, before)
    _DEADLINE(errors, "spec", spec)
    if zone is not None and (before is None or before.get("timeZone") != zone):
        _validate_zone(errors, zone)
    _CONCURRENCY(errors, "spec", spec)
    job = (spec.get("jobTemplate") or {}).get("spec") or {}
    validate_job_spec(errors, "spec.jobTemplate.spec", job)
    if (selector := job.get("selector")) is not None:
        text = "`selector` will be auto-generated"
        errors.invalid(
            "spec.jobTemplate.spec.selector", internal_form(selector, "LabelSelector"), text
        )
    if job.get("manualSelector"):
        at = "spec.jobTemplate.spec.manualSelector"
        errors.unsupported(at, job["manualSelector"], ("nil", "false"))
    _HISTORY(errors, "spec", spec)


_DEADLINE: Final = r.struct(startingDeadlineSeconds=r.NOT_NEGATIVE)
_CONCURRENCY: Final = r.struct(concurrencyPolicy=r.optional(r.one_of("Allow", "Forbid", "Replace")))
_HISTORY: Final = r.struct(
    successfulJobsHistoryLimit=r.NOT_NEGATIVE, failedJobsHistoryLimit=r.NOT_NEGATIVE
)


def _validate_schedule(
    errors: FieldErrors, schedule: str, zone: str | None, before: Document | None
) -> None:
    try:
        if prefix := _ZONE_PREFIX.match(schedule):
            _check_zone_of_schedule(prefix["zone"])
            parse_schedule(schedule[prefix.end() :].strip())
        else:
            parse_schedule(schedule)
    except ValueError as error:
        errors.invalid("spec.schedule", schedule, str(error))
    if "TZ" not in schedule:
        return
    if before is None or "TZ" not in (before.get("schedule") or ""):
        text = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
        errors.invalid("spec.schedule", schedule, text)
    elif zone is not None:
        text = "cannot use both timeZone field and TZ or CRON_TZ in schedule"
        errors.invalid("spec.schedule", schedule, text)


def _check_zone_of_schedule(zone: str) -> None:
    try:
        time_zone(zone)
    except ValueError as error:
        raise ValueError(f"provided bad location {zone}: {error}") from None


def _validate_zone(errors: FieldErrors, zone: str) -> None:
    if not zone:
        errors.invalid("spec.timeZone", zone, "timeZone must be nil or non-empty string")
        return
    for part in zone.split("/"):
        if part in (".", "..") or part.startswith("-") or not _ZONE_PART.fullmatch(part):
            errors.invalid("spec.timeZone", zone, f"unknown time zone {zone}")
            return
    if zone.lower() == "local":
        text = (
            "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
        )
        errors.invalid("spec.timeZone", zone, text)
    if zone == "Local":
        return
    try:
        time_zone(zone)
    except ValueError:
        errors.invalid("spec.timeZone", zone, f"unknown time zone {zone}")
