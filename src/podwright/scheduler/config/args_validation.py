"""Validation of plugin arguments, with kube-scheduler's error texts.

One generator of errors per kind of arguments; `validation` calls them after defaulting.

Upstream: pkg/scheduler/apis/config/validation/validation_pluginargs.go
"""

from collections.abc import Iterator, Sequence

from podwright.apimachinery.documents import (
    duplicate,
    forbidden,
    invalid,
    join,
    not_supported,
    required,
)
from podwright.apimachinery.objects import (
    SECOND_NS,
    FieldError,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    format_duration,
    label_key_errors,
    requirement_problems,
)
from podwright.scheduler.config.gates import Gates
from podwright.scheduler.config.schema import (
    CoschedulingArgs,
    DefaultPreemptionArgs,
    DynamicResourcesArgs,
    InterPodAffinityArgs,
    NodeAffinityArgs,
    NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs,
    PodTopologySpreadArgs,
    UtilizationShapePoint,
    VolumeBindingArgs,
)

_STRATEGIES = ("LeastAllocated", "MostAllocated", "RequestedToCapacityRatio")
_FIELD_OPERATORS = ("In", "NotIn")
_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
_ACTIONS = ("DoNotSchedule", "ScheduleAnyway")


def validate_coscheduling_args(
    path: str, args: CoschedulingArgs, _gates: Gates
) -> Iterator[FieldError]:
    """Validate CoschedulingArgs.

    Upstream: scheduler-plugins pkg/coscheduling/coscheduling.go, `New`
    """
    for name, seconds in (
        ("permitWaitingTimeSeconds", args.permit_waiting_time_seconds),
        ("podGroupBackoffSeconds", args.pod_group_backoff_seconds),
    ):
        if seconds < 0:
            yield invalid(join(path, name), seconds, "cannot be negative")
    percentage = args.pod_group_reject_percentage
    if not 0 <= percentage <= 100:
        percentage_path = join(path, "podGroupRejectPercentage")
        yield invalid(percentage_path, percentage, "not in valid range [0, 100]")


def validate_default_preemption_args(
    path: str, args: DefaultPreemptionArgs, _gates: Gates
) -> Iterator[FieldError]:
    """Validate DefaultPreemptionArgs."""
    percentage, absolute = args.min_candidate_nodes_percentage, args.min_candidate_nodes_absolute
    percentage_path = join(path, "minCandidateNodesPercentage")
    absolute_path = join(path, "minCandidateNodesAbsolute")
    if not 0 <= percentage <= 100:
        yield invalid(percentage_path, percentage, "not in valid range [0, 100]")
    if absolute < 0:
        yield invalid(absolute_path, absolute, "not in valid range [0, inf)")
    if percentage == 0 and absolute == 0:
        detail = "cannot be zero at the same time as "
        yield invalid(percentage_path, percentage, f"{detail}minCandidateNodesAbsolute")
        yield invalid(absolute_path, absolute, f"{detail}minCandidateNodesPercentage")


def validate_dynamic_resources_args(
    path: str, args: DynamicResourcesArgs, gates: Gates
) -> Iterator[FieldError]:
    """Validate DynamicResourcesArgs; a field of a disabled gate must be absent."""
    filter_ns, binding_ns = args.filter_timeout_ns, args.binding_timeout_ns
    if filter_ns is not None:
        filter_path = join(path, "filterTimeout")
        if "DRASchedulerFilterTimeout" not in gates:
            # Upstream's text has the gate's name wrong.
            yield forbidden(filter_path, "DRASchedulingFilterTimeout feature gate is disabled")
        elif filter_ns < 0:
            value = format_duration(filter_ns)
            yield invalid(filter_path, value, "must be zero or positive")
    if binding_ns is not None:
        binding_path = join(path, "bindingTimeout")
        required_gates = ("DRADeviceBindingConditions", "DRAResourceClaimDeviceStatus")
        if not all(gate in gates for gate in required_gates):
            detail = f"{' or '.join(required_gates)} feature gate is disabled"
            yield forbidden(binding_path, detail)
        elif binding_ns < SECOND_NS:
            value = format_duration(binding_ns)
            yield invalid(binding_path, value, "must be at least 1 second")


def validate_inter_pod_affinity_args(
    path: str, args: InterPodAffinityArgs, _gates: Gates
) -> Iterator[FieldError]:
    """Validate InterPodAffinityArgs."""
    weight = args.hard_pod_affinity_weight
    if not 0 <= weight <= 100:
        yield invalid(join(path, "hardPodAffinityWeight"), weight, "not in valid range [0, 100]")


def validate_balanced_allocation_args(
    path: str, args: NodeResourcesBalancedAllocationArgs, _gates: Gates
) -> Iterator[FieldError]:
    """Validate NodeResourcesBalancedAllocationArgs."""
    seen: set[str] = set()
    for index, resource in enumerate(args.resources):
        resource_path = join(path, f"resources[{index}]")
        if resource.name in seen:
            yield duplicate(f"{resource_path}.name", resource.name)
        seen.add(resource.name)
        if resource.weight != 1:
            yield invalid(f"{resource_path}.weight", resource.weight, "must be 1")


def validate_node_resources_fit_args(path: str, args: NodeResourcesFitArgs) -> Iterator[FieldError]:
    """Validate NodeResourcesFitArgs."""
    for index, name in enumerate(args.ignored_resources):
        yield from _label_name(join(path, f"ignoredResources[{index}]"), name)
    for index, group in enumerate(args.ignored_resource_groups):
        group_path = join(path, f"ignoredResourceGroups[{index}]")
        if "/" in group:
            yield invalid(group_path, group, "resource group name can't contain '/'")
        yield from _label_name(group_path, group)
    strategy, strategy_path = args.scoring_strategy, join(path, "scoringStrategy")
    if strategy is None:
        yield required(strategy_path, "ScoringStrategy field is required")
        return
    if strategy.type not in _STRATEGIES:
        yield not_supported(f"{strategy_path}.type", strategy.type, _STRATEGIES)
    for index, resource in enumerate(strategy.resources):
        if not 0 < resource.weight <= 100:
            detail = f"resource weight of {resource.name} not in valid range (0, 100]"
            weight_path = f"{strategy_path}.resources[{index}].weight"
            yield invalid(weight_path, resource.weight, detail)
    ratio, ratio_path = (
        strategy.requested_to_capacity_ratio,
        f"{strategy_path}.requestedToCapacityRatio",
    )
    if strategy.type == "RequestedToCapacityRatio":
        if ratio is None:
            yield required(ratio_path, "must be specified when type is RequestedToCapacityRatio")
        else:
            yield from _shape(f"{ratio_path}.shape", ratio.shape)
    elif ratio is not None:
        yield forbidden(ratio_path, "must be nil when type is not RequestedToCapacityRatio")


def validate_pod_topology_spread_args(
    path: str, args: PodTopologySpreadArgs, _gates: Gates
) -> Iterator[FieldError]:
    """Validate PodTopologySpreadArgs."""
    type_path = join(path, "defaultingType")
    if args.defaulting_type not in {"System", "List"}:
        yield not_supported(type_path, args.defaulting_type, ("System", "List"))
    elif args.defaulting_type == "System" and args.default_constraints:
        yield invalid(type_path, args.defaulting_type, "when .defaultConstraints are not empty")
    seen: set[tuple[str, str]] = set()
    for index, constraint in enumerate(args.default_constraints):
        constraint_path = join(path, f"defaultConstraints[{index}]")
        if constraint.max_skew <= 0:
            detail = "not in valid range (0, inf)"
            yield invalid(f"{constraint_path}.maxSkew", constraint.max_skew, detail)
        if not constraint.topology_key:
            yield required(f"{constraint_path}.topologyKey", "can not be empty")
        else:
            yield from _label_name(f"{constraint_path}.topologyKey", constraint.topology_key)
        action: str = constraint.when_unsatisfiable
        action_path = f"{constraint_path}.whenUnsatisfiable"
        if not action:
            yield required(action_path, "can not be empty")
        elif action not in _ACTIONS:
            yield not_supported(action_path, action, _ACTIONS)
        if constraint.label_selector is not None:
            detail = "constraint must not define a selector, as they deduced for each pod"
            yield forbidden(f"{constraint_path}.labelSelector", detail)
        key = (constraint.topology_key, constraint.when_unsatisfiable)
        if key in seen:
            yield duplicate(constraint_path, f"{{{key[0]}, {key[1]}}}")
        seen.add(key)


def validate_volume_binding_args(
    path: str, args: VolumeBindingArgs, gates: Gates
) -> Iterator[FieldError]:
    """Validate VolumeBindingArgs."""
    timeout = args.bind_timeout_seconds
    if timeout < 0:
        detail = "invalid BindTimeoutSeconds, should not be a negative value"
        yield invalid(join(path, "bindTimeoutSeconds"), timeout, detail)
    shape_path = join(path, "shape")
    if "StorageCapacityScoring" in gates:
        yield from _shape(shape_path, args.shape or ())
    elif args.shape is not None:
        points = [{"Utilization": p.utilization, "Score": p.score} for p in args.shape]
        yield invalid(
            shape_path,
            points,
            "unexpected field `shape`, remove it or turn on the feature gate "
            "StorageCapacityScoring",
        )


def validate_node_affinity_args(
    path: str, args: NodeAffinityArgs, _gates: Gates
) -> Iterator[FieldError]:
    """Validate NodeAffinityArgs.

    Notes
    -----
    Terms without expressions, and preferred terms of weight 0, are not checked.
    Upstream: staging/src/k8s.io/component-helpers/scheduling/corev1/nodeaffinity
    """
    affinity = args.added_affinity
    if affinity is None:
        return
    added_path = join(path, "addedAffinity")
    selector = affinity.required
    for index, term in enumerate(selector.node_selector_terms if selector else ()):
        name = "requiredDuringSchedulingIgnoredDuringExecution"
        yield from _term(f"{added_path}.{name}.nodeSelectorTerms[{index}]", term)
    for index, preferred in enumerate(affinity.preferred):
        name = "preferredDuringSchedulingIgnoredDuringExecution"
        if preferred.weight:
            yield from _term(f"{added_path}.{name}[{index}]", preferred.preference)


def _term(path: str, term: NodeSelectorTerm) -> Iterator[FieldError]:
    for index, expression in enumerate(term.match_expressions):
        yield from _requirement(f"{path}.matchExpressions[{index}]", expression)
    for index, expression in enumerate(term.match_fields):
        field_path = f"{path}.matchFields[{index}]"
        if expression.operator not in _FIELD_OPERATORS:
            yield not_supported(f"{field_path}.operator", expression.operator, _FIELD_OPERATORS)
        elif len(expression.values) != 1:
            yield invalid(f"{field_path}.values", expression.values, "must have one element")


def _requirement(path: str, requirement: NodeSelectorRequirement) -> Iterator[FieldError]:
    if requirement.operator not in _OPERATORS:
        yield not_supported(f"{path}.operator", requirement.operator, _OPERATORS)
        return
    for field, value, detail in requirement_problems(
        requirement.key, requirement.operator, requirement.values
    ):
        yield invalid(f"{path}.{field}", value, detail)


def _shape(path: str, shape: Sequence[UtilizationShapePoint]) -> Iterator[FieldError]:
    if not shape:
        yield required(path, "at least one point must be specified")
        return
    for index in range(1, len(shape)):
        if shape[index - 1].utilization >= shape[index].utilization:
            detail = "values must be sorted in increasing order"
            yield invalid(f"{path}[{index}].utilization", shape[index].utilization, detail)
            # Upstream stops at the first point out of order.
            break
    for index, point in enumerate(shape):
        if not 0 <= point.utilization <= 100:
            detail = "not in valid range [0, 100]"
            yield invalid(f"{path}[{index}].utilization", point.utilization, detail)
        if not 0 <= point.score <= 10:
            yield invalid(f"{path}[{index}].score", point.score, "not in valid range [0, 10]")


def _label_name(path: str, name: str) -> Iterator[FieldError]:
    for problem in label_key_errors(name):
        yield invalid(path, name, problem)
