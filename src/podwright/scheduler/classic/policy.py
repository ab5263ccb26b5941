"""The scheduler policy of v1.16: predicates, priorities and extenders.

A policy is read completely, and all errors are collected with their paths. `PolicyError.upstream`
is the message of kube-scheduler, which stops at the first stage that fails (values, then names and
arguments, then the affinity weight, then sums).

Upstream: pkg/scheduler/api/types.go, pkg/scheduler/api/validation/validation.go,
pkg/scheduler/factory/plugins.go, pkg/scheduler/factory/factory.go (CreateFromConfig,
CreateFromKeys)
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple, TypeVar

import msgspec

from podwright.apimachinery.documents import decode
from podwright.apimachinery.objects import (
    FieldError,
    InputError,
    aggregated,
    decoding_problem,
    is_extended_resource,
    label_key_errors,
    nearest,
    without_nulls,
)
from podwright.scheduler.classic.extender import ExtenderSettings, ManagedResource
from podwright.scheduler.classic.predicates import REGISTERED as REGISTERED_PREDICATES
from podwright.scheduler.classic.priorities import (
    MAX_PRIORITY,
    REGISTERED as REGISTERED_PRIORITIES,
    CapacityRatio,
    ShapePoint,
)

T = TypeVar("T")

MAX_TOTAL: Final = 2**63 - 1
MAX_WEIGHT: Final = MAX_TOTAL // MAX_PRIORITY
_OF_CONDITIONS: Final = {
    "CheckNodeCondition",
    "CheckNodeDiskPressure",
    "CheckNodeMemoryPressure",
    "CheckNodePIDPressure",
}
_ALGORITHM_NAME: Final = "^[a-zA-Z0-9]([-a-zA-Z0-9]*[a-zA-Z0-9])$"


# ------------------------------------------------------------------------ the document


class _Part(msgspec.Struct, frozen=True, rename="camel"):
    """A part of a policy; unknown fields are ignored, as upstream does: see `ignored_fields`."""


class ServiceAffinity(_Part, frozen=True, kw_only=True):
    """The labels whose values the nodes of a service's pods share."""

    labels: tuple[str, ...] = ()


class LabelsPresence(_Part, frozen=True, kw_only=True):
    """Labels that must all be present, or all be absent."""

    labels: tuple[str, ...] = ()
    presence: bool = False


class CustomPredicate(_Part, frozen=True, kw_only=True):
    """The argument of a predicate; exactly one is set."""

    service_affinity: ServiceAffinity | None = None
    labels_presence: LabelsPresence | None = None


class PredicatePolicy(_Part, frozen=True, kw_only=True):
    """A predicate to run."""

    name: str = ""
    argument: CustomPredicate | None = None


class ServiceAntiAffinity(_Part, frozen=True, kw_only=True):
    """The label over whose values the pods of a service are spread."""

    label: str = ""


class LabelPreference(_Part, frozen=True, kw_only=True):
    """A label that is preferred or avoided."""

    label: str = ""
    presence: bool = False


class ResourceWeight(_Part, frozen=True, kw_only=True):
    """A resource in the ratio; weight 0 stands for 1."""

    name: str = ""
    weight: int = 0


class RatioPoint(_Part, frozen=True, kw_only=True):
    """A point of the shape."""

    utilization: int = 0
    score: int = 0


class CapacityRatioArguments(_Part, frozen=True, kw_only=True):
    """The shape and the resources; the default is cpu and memory with equal weights."""

    shape: tuple[RatioPoint, ...] = ()
    resources: tuple[ResourceWeight, ...] = ()

    def arguments(self) -> CapacityRatio:
        """Return the arguments of the priority."""
        points = tuple(ShapePoint(point.utilization, point.score) for point in self.shape)
        if not self.resources:
            return CapacityRatio(points)
        weights = {resource.name: resource.weight or 1 for resource in self.resources}
        return CapacityRatio(points, tuple(weights.items()))


class CustomPriority(_Part, frozen=True, kw_only=True):
    """The argument of a priority; exactly one is set."""

    service_anti_affinity: ServiceAntiAffinity | None = None
    label_preference: LabelPreference | None = None
    requested_to_capacity_ratio_arguments: CapacityRatioArguments | None = None


class PriorityPolicy(_Part, frozen=True, kw_only=True):
    """A priority and its weight."""

    name: str = ""
    weight: int = 0
    argument: CustomPriority | None = None


class Policy(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A policy that is valid.

    Attributes
    ----------
    predicates, priorities : tuple or None
        None selects those of the default provider, an empty tuple none but the mandatory ones.
    extenders : tuple of ExtenderSettings
        In the order of the policy.
    hard_pod_affinity_symmetric_weight : int
        0 selects the scheduler's own setting.
    always_check_all_predicates : bool
        Whether all predicates are evaluated after one has failed.
    """

    predicates: tuple[PredicatePolicy, ...] | None = None
    priorities: tuple[PriorityPolicy, ...] | None = None
    extenders: tuple[ExtenderSettings, ...] = ()
    hard_pod_affinity_symmetric_weight: int = 0
    always_check_all_predicates: bool = False


class PolicyError(InputError):
    """An invalid policy.

    Parameters
    ----------
    errors : iterable of FieldError
        All errors, with their paths.
    upstream : str
        The error message of kube-scheduler.
    """

    def __init__(self, errors: Iterable[FieldError], upstream: str) -> None:
        super().__init__(errors)
        self.upstream = upstream


# ----------------------------------------------------------------------------- decoding


class _Problem(NamedTuple):
    """An error: the path, upstream's text, and podwright's addition to it."""

    path: str
    message: str
    hint: str = ""


def read_policy(
    document: Mapping[str, Any],
    *,
    source: str = "policy",
    hard_pod_affinity_weight: int = 1,
) -> Policy:
    """Read and validate a policy.

    Parameters
    ----------
    document : mapping
        The policy as JSON.
    source : str
        The source of the policy, for errors.
    hard_pod_affinity_weight : int
        The scheduler's own setting, which applies if the policy has none.

    Raises
    ------
    PolicyError
        With all errors.
    """
    malformed: list[_Problem] = []
    policy = _decode(document, malformed)
    if malformed:
        _refuse(source, [malformed])
    weight = policy.hard_pod_affinity_symmetric_weight or hard_pod_affinity_weight
    weight_problem = affinity_weight_problem(weight)
    _refuse(
        source,
        [
            list(_value_problems(policy)),
            list(_name_problems(policy)),
            [_Problem("hardPodAffinitySymmetricWeight", weight_problem)] if weight_problem else [],
            list(_sum_problems(policy)),
        ],
    )
    return policy


def ignored_fields(document: Mapping[str, Any], *, source: str) -> tuple[str, ...]:
    """Return a sentence about each unknown field of a valid policy."""
    errors: list[FieldError] = []
    parts = {name: part for name, part in document.items() if name not in ("kind", "apiVersion")}
    decode(parts, Policy, "", errors)
    return tuple(f"{source}: {each} (ignored, as by kube-scheduler v1.16)" for each in errors)


def affinity_weight_problem(weight: int) -> str:
    """Return the error of a hardPodAffinitySymmetricWeight; empty if it is valid."""
    if 1 <= weight <= 100:
        return ""
    return f"invalid hardPodAffinitySymmetricWeight: {weight}, must be in the range 1-100"


def _refuse(source: str, stages: Sequence[Sequence[_Problem]]) -> None:
    """Raise if a stage has errors; upstream reports the first such stage only."""
    failing = [stage for stage in stages if stage]
    if not failing:
        return
    raise PolicyError(
        [
            FieldError(source=source, path=problem.path, message=problem.message + problem.hint)
            for stage in failing
            for problem in stage
        ],
        aggregated(problem.message for problem in failing[0]),
    )


def _decode(document: Mapping[str, Any], problems: list[_Problem]) -> Policy:
    if not isinstance(document, dict):
        problems.append(_Problem("", "a policy is an object"))
        return Policy()
    for field, expected in (("kind", "Policy"), ("apiVersion", "v1")):
        if document.get(field, expected) != expected:
            problems.append(_Problem(field, f'must be "{expected}", not "{document[field]}"'))
    weight = _entry(document.get("hardPodAffinitySymmetricWeight") or 0, int,
                    "hardPodAffinitySymmetricWeight", problems)  # fmt: skip
    check_all = _entry(document.get("alwaysCheckAllPredicates") or False, bool,
                       "alwaysCheckAllPredicates", problems)  # fmt: skip
    return Policy(
        predicates=_entries(document, "predicates", PredicatePolicy, problems),
        priorities=_entries(document, "priorities", PriorityPolicy, problems),
        extenders=_entries(document, "extenders", ExtenderSettings, problems) or (),
        hard_pod_affinity_symmetric_weight=weight or 0,
        always_check_all_predicates=bool(check_all),
    )


def _entries(
    document: Mapping[str, Any], field: str, cls: type[T], problems: list[_Problem]
) -> tuple[T, ...] | None:
    entries = document.get(field)
    if entries is None:
        return None
    if not isinstance(entries, list):
        problems.append(_Problem(field, "must be a list"))
        return None
    read = [_entry(e, cls, f"{field}[{index}]", problems) for index, e in enumerate(entries)]
    return tuple(entry for entry in read if entry is not None)


def _entry(value: Any, cls: type[T], path: str, problems: list[_Problem]) -> T | None:
    try:
        return msgspec.convert(without_nulls(value), cls)
    except msgspec.ValidationError as error:
        inner, message = decoding_problem(error)
        problems.append(_Problem(f"{path}.{inner}" if inner else path, message))
        return None


# -------------------------------------------------------------------------- validating


def _value_problems(policy: Policy) -> Iterator[_Problem]:
    """Upstream: ValidatePolicy."""
    for index, priority in enumerate(policy.priorities or ()):
        if not 0 < priority.weight < MAX_WEIGHT:
            yield _Problem(
                f"priorities[{index}].weight",
                f"Priority {priority.name} should have a positive weight applied to it "
                "or it has overflown",
            )
    binders_count = 0
    managed: set[str] = set()
    for index, extender in enumerate(policy.extenders):
        path = f"extenders[{index}]"
        if extender.prioritize_verb and extender.weight <= 0:
            yield _Problem(
                f"{path}.weight",
                f"Priority for extender {extender.url_prefix} should have a positive weight "
                "applied to it",
            )
        binders_count += bool(extender.bind_verb)
        for number, resource in enumerate(extender.managed_resources):
            at = f"{path}.managedResources[{number}].name"
            yield from (_Problem(at, message) for message in _resource_name_errors(resource))
            if resource.name in managed:
                yield _Problem(at, f"Duplicate extender managed resource name {resource.name}")
            managed.add(resource.name)
    if binders_count > 1:
        yield _Problem("extenders", f"Only one extender can implement bind, found {binders_count}")


def _resource_name_errors(resource: ManagedResource) -> list[str]:
    if errors := label_key_errors(resource.name):
        return errors
    if not is_extended_resource(resource.name):
        return [f"{resource.name} is an invalid extended resource name"]
    return []


def _name_problems(policy: Policy) -> Iterator[_Problem]:
    """Upstream: RegisterCustomFitPredicate, RegisterCustomPriorityFunction (fatal there)."""
    for index, predicate in enumerate(policy.predicates or ()):
        yield from _named(
            f"predicates[{index}]", "Predicate", predicate, tuple(REGISTERED_PREDICATES)
        )
    for index, priority in enumerate(policy.priorities or ()):
        path = f"priorities[{index}]"
        yield from _named(path, "Priority", priority, tuple(REGISTERED_PRIORITIES))
        argument = priority.argument
        if argument is not None and argument.requested_to_capacity_ratio_arguments is not None:
            shape = argument.requested_to_capacity_ratio_arguments.shape
            for problem_path, message, _ in _shape_problems(shape):
                yield _Problem(
                    f"{path}.argument.requestedToCapacityRatioArguments.{problem_path}",
                    f"invalid RequestedToCapacityRatioPriority arguments: {message}",
                )


def _named(
    path: str, kind: str, entry: PredicatePolicy | PriorityPolicy, known: Sequence[str]
) -> Iterator[_Problem]:
    if entry.argument is None:
        if entry.name not in known:
            yield _Problem(
                f"{path}.name",
                f"Invalid configuration: {kind} type not found for {entry.name}",
                _why_unknown(entry.name, known),
            )
        return
    count = sum(argument is not None for argument in msgspec.structs.astuple(entry.argument))
    if count != 1:
        yield _Problem(
            f"{path}.argument",
            f"Exactly 1 {kind.lower()} argument is required, numArgs: {count}, "
            f"{kind}: {entry.name}",
        )
    if not re.fullmatch(_ALGORITHM_NAME[1:-1], entry.name):
        yield _Problem(
            f"{path}.name",
            f"Algorithm name {entry.name} does not match the name validation regexp "
            f'"{_ALGORITHM_NAME}".',
        )


def _why_unknown(name: str, known: Sequence[str]) -> str:
    if name in _OF_CONDITIONS:
        return "; conditions of nodes are taints, which PodToleratesNodeTaints checks"
    near = nearest(name, known)
    return f'; did you mean "{near}"?' if near else ""


def _shape_problems(shape: Sequence[RatioPoint]) -> Iterator[_Problem]:
    """Upstream: requested_to_capacity_ratio.go, NewFunctionShape."""
    if not shape:
        yield _Problem("shape", "at least one point must be specified")
    for index, (before, point) in enumerate(pairwise(shape), start=1):
        if before.utilization >= point.utilization:
            yield _Problem(
                f"shape[{index}].utilization",
                f"utilization values must be sorted. Utilization[{index - 1}]=="
                f"{before.utilization} >= Utilization[{index}]=={point.utilization}",
            )
    for index, point in enumerate(shape):
        bounded = (
            ("utilization", "Utilization", point.utilization, 100),
            ("score", "Score", point.score, MAX_PRIORITY),
        )
        for field, label, value, most in bounded:
            if not 0 <= value <= most:
                bound = "less than 0" if value < 0 else f"greater than {most}"
                yield _Problem(
                    f"shape[{index}].{field}",
                    f"{field} values must not be {bound}. {label}[{index}]=={value}",
                )


def _sum_problems(policy: Policy) -> Iterator[_Problem]:
    """Upstream: validateSelectedConfigs."""
    weights = {priority.name: priority.weight for priority in policy.priorities or ()}
    if sum(weight * MAX_PRIORITY for weight in weights.values()) > MAX_TOTAL:
        yield _Problem("priorities", "total priority of priority functions has overflown")
