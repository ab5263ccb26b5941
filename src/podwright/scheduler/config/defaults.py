"""Defaults of a configuration, and its effective form.

`set_defaults` returns the v1 document with every default, as kube-scheduler would write it;
`effective` validates that and expands it to the plugins that run at each extension point.

Upstream: pkg/scheduler/apis/config/v1/defaults.go, default_plugins.go
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from podwright.apimachinery.documents import DID_YOU_MEAN, problem, raise_errors
from podwright.apimachinery.objects import DEFAULT_SCHEDULER_NAME, SECOND_NS, FieldError
from podwright.scheduler.config.expand import (
    IN_TREE,
    Implements,
    expand_plugins,
    in_tree_points,
    plugin_names,
    profile_problem,
)
from podwright.scheduler.config.gates import DEFAULT_GATES, Gates
from podwright.scheduler.config.schema import (
    ARGS_TYPES,
    ClientConnection,
    DynamicResourcesArgs,
    Extender,
    KubeSchedulerConfiguration,
    KubeSchedulerProfile,
    LeaderElection,
    NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs,
    Plugin,
    PluginConfig,
    Plugins,
    PluginSet,
    PodTopologySpreadArgs,
    ResourceSpec,
    ScoringStrategy,
    UtilizationShapePoint,
    VolumeBindingArgs,
)
from podwright.scheduler.config.validation import (
    validate,
    validate_node_resources_fit_args,
    validate_rules,
)

_RESOURCES = (ResourceSpec(name="cpu", weight=1), ResourceSpec(name="memory", weight=1))
_SHAPE = (
    UtilizationShapePoint(utilization=0, score=10),
    UtilizationShapePoint(utilization=100, score=0),
)
_EXTENDER_TIMEOUT_NS = 5 * SECOND_NS


class EffectiveProfile(msgspec.Struct, frozen=True, kw_only=True):
    """A profile after defaulting and expansion.

    Parameters
    ----------
    scheduler_name : str
        The schedulerName of its pods.
    percentage_of_nodes_to_score : int or None
        The profile's own, else the global one; None when nothing is configured (score every
        node), 0 for upstream's adaptive rule.
    plugins : dict of extension point to tuple of (name, weight)
        In run order, for every point. The weight is at least 1 for score and
        placementScore (unless configured negative) and 0 elsewhere.
    args : dict of plugin name to arguments
        One entry for each plugin that runs and takes arguments: a struct for the in-tree
        ones, the document as written for others.
    """

    scheduler_name: str
    percentage_of_nodes_to_score: int | None
    plugins: Mapping[str, tuple[tuple[str, int], ...]]
    args: Mapping[str, object]


class EffectiveConfiguration(msgspec.Struct, frozen=True, kw_only=True):
    """A configuration after defaulting, validation and expansion.

    Parameters
    ----------
    configuration : KubeSchedulerConfiguration
        The document with every default.
    gates : Gates
        The feature gates.
    pod_initial_backoff_ns, pod_max_backoff_ns : int
        Bounds of the queue's backoff.
    profiles : tuple of EffectiveProfile
        In the order of the configuration.
    extenders : tuple of Extender
        In call order: ignorable extenders last; with default timeouts.
    extender_indexes : tuple of int
        For each of `extenders`, its index in the configuration.
    """

    configuration: KubeSchedulerConfiguration
    gates: Gates
    parallelism: int
    pod_initial_backoff_ns: int
    pod_max_backoff_ns: int
    profiles: tuple[EffectiveProfile, ...]
    extenders: tuple[Extender, ...]
    extender_indexes: tuple[int, ...]

    @property
    def rules_name(self) -> str:
        """The selected scheduling rules: `modern` (v1.36) or `classic` (v1.16)."""
        return self.configuration.rules_name

    def profile(self, scheduler_name: str) -> EffectiveProfile | None:
        """Return the profile for pods with this schedulerName; None if there is none."""
        return next((p for p in self.profiles if p.scheduler_name == scheduler_name), None)


def default_plugins(gates: Gates = DEFAULT_GATES) -> tuple[Plugin, ...]:
    """Return the default multiPoint plugins of a profile."""
    return tuple(
        Plugin(name=plugin.name, weight=plugin.weight)
        for plugin in IN_TREE
        if plugin.is_default and (not plugin.gate or plugin.gate in gates)
    )


def merge_plugin_set(default: tuple[Plugin, ...], custom: PluginSet) -> PluginSet:
    """Merge a configured plugin set into the default list.

    A default plugin that is enabled again keeps its position and takes the configured weight; the
    other enabled plugins follow in their order, including duplicates (expansion rejects them).

    Notes
    -----
    Upstream: pkg/scheduler/apis/config/v1/default_plugins.go, mergePluginSet
    """
    disabled = {plugin.name for plugin in custom.disabled}
    # If a name is enabled twice, the last entry replaces the default.
    index_of = {plugin.name: index for index, plugin in enumerate(custom.enabled)}
    replaced: set[int] = set()
    enabled: list[Plugin] = []
    for plugin in () if "*" in disabled else default:
        if plugin.name in disabled:
            continue
        index = index_of.get(plugin.name)
        if index is None:
            enabled.append(plugin)
        else:
            replaced.add(index)
            enabled.append(custom.enabled[index])
    enabled.extend(p for index, p in enumerate(custom.enabled) if index not in replaced)
    return PluginSet(
        enabled=tuple(enabled),
        disabled=tuple(Plugin(name=plugin.name) for plugin in custom.disabled),
    )


def set_defaults(
    configuration: KubeSchedulerConfiguration, gates: Gates = DEFAULT_GATES
) -> KubeSchedulerConfiguration:
    """Return the configuration with every default; values are not validated.

    One difference from upstream: an absent percentageOfNodesToScore stays absent, because
    podwright then scores every node, while 0 selects upstream's adaptive rule.
    """
    profiles = configuration.profiles or (KubeSchedulerProfile(),)
    # With several profiles each must have a name; validation reports a missing one.
    if len(profiles) == 1 and profiles[0].scheduler_name is None:
        profiles = (replace(profiles[0], scheduler_name=DEFAULT_SCHEDULER_NAME),)
    contention = configuration.enable_contention_profiling
    if contention is None:
        contention = configuration.enable_profiling
    return replace(
        configuration,
        profiles=tuple(_default_profile(profile, gates) for profile in profiles),
        enable_contention_profiling=contention,
        leader_election=_zeros_to_defaults(
            configuration.leader_election,
            "lease_duration_ns",
            "renew_deadline_ns",
            "retry_period_ns",
            "resource_lock",
            "resource_name",
            "resource_namespace",
        ),
        client_connection=_zeros_to_defaults(
            configuration.client_connection, "content_type", "qps", "burst"
        ),
    )


def effective(
    configuration: KubeSchedulerConfiguration,
    gates: Gates = DEFAULT_GATES,
    *,
    implements: Implements = in_tree_points,
    source: str = KubeSchedulerConfiguration.__name__,
    earlier_errors: Sequence[FieldError] = (),
) -> EffectiveConfiguration:
    """Default, validate and expand a configuration.

    Parameters
    ----------
    configuration : KubeSchedulerConfiguration
        As read.
    gates : Gates
        They affect default plugins, some defaults and some validation.
    implements : callable
        The extension points of a plugin by name; None for an unknown plugin.
    source : str
        The source of the configuration, for errors.
    earlier_errors : sequence of FieldError
        Errors found before, such as those of a `PartialConfiguration`; they are raised with
        those found here.

    Raises
    ------
    InputError
        If validation finds errors, or a profile cannot be built; all errors together.
    """
    defaulted = set_defaults(configuration, gates)
    errors = [*validate_rules(configuration), *validate(defaulted, gates)]
    ready = _with_extender_defaults(defaulted, errors)
    profiles = tuple(
        _expand_profile(profile, ready, implements, path=f"profiles[{index}]", errors=errors)
        for index, profile in enumerate(ready.profiles)
    )
    if not errors:
        errors += _queue_sort_errors(ready.profiles, profiles)
    raise_errors([*earlier_errors, *_outside(earlier_errors, errors)], source=source)
    # Ignorable extenders are called last; the stable sort keeps the configured order otherwise.
    order = sorted(range(len(ready.extenders)), key=lambda i: ready.extenders[i].ignorable)
    return EffectiveConfiguration(
        configuration=replace(
            ready, profiles=tuple(_with_needed_args(profile) for profile in ready.profiles)
        ),
        gates=gates,
        parallelism=ready.parallelism,
        pod_initial_backoff_ns=ready.pod_initial_backoff_seconds * SECOND_NS,
        pod_max_backoff_ns=ready.pod_max_backoff_seconds * SECOND_NS,
        profiles=profiles,
        extenders=tuple(ready.extenders[index] for index in order),
        extender_indexes=tuple(order),
    )


def _queue_sort_errors(
    configured: Sequence[KubeSchedulerProfile], expanded: Sequence[EffectiveProfile]
) -> Iterator[FieldError]:
    """Yield the profiles that would sort the queue, which all share, otherwise than the first one.

    Arguments that are given to one of them only differ, even if they are empty. Upstream:
    pkg/scheduler/profile/profile.go, `cfgValidator.validate`
    """
    found = []
    for profile, result in zip(configured, expanded, strict=True):
        ((name, _),) = result.plugins["queueSort"]
        found.append((name, [e.args for e in profile.plugin_config if e.name == name][:1]))
    first, first_args = found[0]
    for index, (name, args) in enumerate(found):
        of_profile = f'for profile "{expanded[index].scheduler_name}"'
        if name != first:
            message = f'different queue sort plugins {of_profile}: "{name}", first: "{first}"'
        elif args != first_args:
            message = f"different queue sort plugin args {of_profile}"
        else:
            continue
        yield problem(f"profiles[{index}]", f"initializing profiles: {message}")


def _outside(
    earlier_errors: Sequence[FieldError], errors: Iterable[FieldError]
) -> Iterator[FieldError]:
    """Leave out errors of fields that were not decoded, and whose defaults were validated."""
    fields = tuple(error.path for error in earlier_errors if error.path)
    for error in errors:
        below = (f"{field}{separator}" for field in fields for separator in ".[")
        if error.path not in fields and not error.path.startswith(tuple(below)):
            yield error


def _with_needed_args(profile: KubeSchedulerProfile) -> KubeSchedulerProfile:
    """Keep the arguments of plugins that run, sorted by name.

    Upstream: pkg/scheduler/framework/runtime/framework.go, NewFramework
    """
    assert profile.plugins is not None, f"profile {profile.scheduler_name} without defaults"
    needed = plugin_names(profile.plugins)
    entries = [e for e in profile.plugin_config if e.name in needed and e.args is not None]
    entries.sort(key=lambda entry: entry.name)
    return replace(profile, plugin_config=tuple(entries))


# ------------------------------------------------------------------ filling in

_S = TypeVar("_S", LeaderElection, ClientConnection)


def _zeros_to_defaults(struct: _S, *names: str) -> _S:
    """Treat "" and 0 in these fields as absent, since Go does not distinguish them."""
    defaults = type(struct)()
    zeros = {name: getattr(defaults, name) for name in names if not getattr(struct, name)}
    return replace(struct, **zeros)


def _default_profile(profile: KubeSchedulerProfile, gates: Gates) -> KubeSchedulerProfile:
    custom = profile.plugins or Plugins()
    plugins = Plugins(
        **{
            field: merge_plugin_set((), getattr(custom, field))
            for field in Plugins.__struct_fields__
        }
    )
    # Only multiPoint has default plugins in v1; sets of single points start empty.
    multi_point = merge_plugin_set(default_plugins(gates), custom.multi_point)
    plugins = replace(plugins, multi_point=multi_point)
    configured = tuple(
        replace(entry, args=_default_args(entry.args, gates)) for entry in profile.plugin_config
    )
    names = {entry.name for entry in configured}
    added = tuple(
        PluginConfig(name=name, args=_default_args(ARGS_TYPES[name](), gates))
        for name in sorted(plugin_names(plugins))
        if name in ARGS_TYPES and name not in names
    )
    return replace(profile, plugins=plugins, plugin_config=configured + added)


def _default_args(args: object, gates: Gates) -> object:
    match args:
        case DynamicResourcesArgs():
            return _default_dynamic_resources(args, gates)
        case NodeResourcesBalancedAllocationArgs():
            return replace(args, resources=_default_resources(args.resources))
        case NodeResourcesFitArgs():
            strategy = args.scoring_strategy or ScoringStrategy(type="LeastAllocated")
            resources = _default_resources(strategy.resources)
            return replace(args, scoring_strategy=replace(strategy, resources=resources))
        case PodTopologySpreadArgs(defaulting_type=""):
            return replace(args, defaulting_type="System")
        case VolumeBindingArgs() if not args.shape and "StorageCapacityScoring" in gates:
            return replace(args, shape=_SHAPE)
    return args


def _default_dynamic_resources(args: DynamicResourcesArgs, gates: Gates) -> DynamicResourcesArgs:
    if args.filter_timeout_ns is None and "DRASchedulerFilterTimeout" in gates:
        args = replace(args, filter_timeout_ns=10 * SECOND_NS)
    if (
        args.binding_timeout_ns is None
        and "DRADeviceBindingConditions" in gates
        and "DRAResourceClaimDeviceStatus" in gates
    ):
        args = replace(args, binding_timeout_ns=600 * SECOND_NS)
    return args


def _default_resources(resources: tuple[ResourceSpec, ...]) -> tuple[ResourceSpec, ...]:
    return tuple(replace(r, weight=r.weight or 1) for r in resources) or _RESOURCES


# ------------------------------------------------------------------ expanding


def _with_extender_defaults(
    configuration: KubeSchedulerConfiguration, errors: list[FieldError]
) -> KubeSchedulerConfiguration:
    """Set the timeouts of extenders, and the resources that NodeResourcesFit ignores for them.

    Resources with `ignoredByScheduler` replace the configured `ignoredResources`.

    Upstream: pkg/scheduler/scheduler.go, buildExtenders
    """
    extenders = tuple(map(_with_timeout, configuration.extenders))
    ignored = tuple(
        resource.name
        for extender in extenders
        for resource in extender.managed_resources
        if resource.ignored_by_scheduler
    )
    profiles = configuration.profiles
    if ignored:
        profiles = tuple(
            _with_ignored_resources(profile, ignored, f"profiles[{index}]", errors)
            for index, profile in enumerate(profiles)
        )
    return replace(configuration, extenders=extenders, profiles=profiles)


def _with_ignored_resources(
    profile: KubeSchedulerProfile, ignored: tuple[str, ...], path: str, errors: list[FieldError]
) -> KubeSchedulerProfile:
    found = False
    entries = list(profile.plugin_config)
    for index, entry in enumerate(entries):
        if isinstance(entry.args, NodeResourcesFitArgs):
            entries[index] = replace(entry, args=replace(entry.args, ignored_resources=ignored))
            found = True
    if not found:
        message = "can't find NodeResourcesFitArgs in plugin config"
        errors.append(problem(path, f"couldn't build extenders: {message}"))
    return replace(profile, plugin_config=tuple(entries))


def _expand_profile(
    profile: KubeSchedulerProfile,
    configuration: KubeSchedulerConfiguration,
    implements: Implements,
    *,
    path: str,
    errors: list[FieldError],
) -> EffectiveProfile:
    plugins, scheduler_name = profile.plugins, profile.scheduler_name or ""
    assert plugins is not None, f"{path} was not defaulted"
    needed = plugin_names(plugins)
    args = {e.name: e.args for e in profile.plugin_config if e.name in needed}
    fit = args.get("NodeResourcesFit")
    if isinstance(fit, NodeResourcesFitArgs):
        # Upstream registers this validation under the wrong name, so that only the plugin
        # itself finds what is wrong.
        found = [
            str(error).partition(DID_YOU_MEAN)
            for error in validate_node_resources_fit_args("", fit)
        ]
        if found:
            texts = ", ".join(dict.fromkeys(text for text, _, _ in found))
            hints = "".join(hint + near for _, hint, near in found)
            message = f"[{texts}]" if len(found) > 1 else texts
            message = f'initializing plugin "NodeResourcesFit": {message}{hints}'
            errors.append(profile_problem(path, scheduler_name, message))
    percentage = profile.percentage_of_nodes_to_score
    if percentage is None:
        percentage = configuration.percentage_of_nodes_to_score
    return EffectiveProfile(
        scheduler_name=scheduler_name,
        percentage_of_nodes_to_score=percentage,
        plugins=expand_plugins(
            plugins, implements, scheduler_name=scheduler_name, path=path, errors=errors
        ),
        args=args,
    )


def _with_timeout(extender: Extender) -> Extender:
    return replace(extender, http_timeout_ns=extender.http_timeout_ns or _EXTENDER_TIMEOUT_NS)
