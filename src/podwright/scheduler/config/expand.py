"""From plugin sets to the plugins that run at each extension point.

A profile lists plugins for single extension points and, under multiPoint, for all points that
they implement. The order at each point is: plugins of the specific list that are also in
multiPoint (the specific entry overrides it), the rest of multiPoint, the rest of the specific
list. A point with `*` in `disabled` takes no plugin from multiPoint.

Upstream: pkg/scheduler/framework/runtime/framework.go, expandMultiPointPlugins
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple, TypeAlias

from podwright.apimachinery.documents import DID_YOU_MEAN, join, problem
from podwright.apimachinery.objects import FieldError, nearest
from podwright.scheduler.config.schema import Plugin, Plugins, PluginSet

Implements: TypeAlias = Callable[[str], frozenset[str] | None]
"""The extension points of a plugin by name; None for an unknown plugin."""

POINT_TYPES: Mapping[str, str] = {
    "preFilter": "PreFilterPlugin",
    "filter": "FilterPlugin",
    "postFilter": "PostFilterPlugin",
    "reserve": "ReservePlugin",
    "preScore": "PreScorePlugin",
    "score": "ScorePlugin",
    "preBind": "PreBindPlugin",
    "bind": "BindPlugin",
    "postBind": "PostBindPlugin",
    "permit": "PermitPlugin",
    "preEnqueue": "PreEnqueuePlugin",
    "queueSort": "QueueSortPlugin",
    "placementGenerate": "PlacementGeneratePlugin",
    "placementScore": "PlacementScorePlugin",
}
"""Every extension point and its name in upstream's messages, in upstream's order."""


class InTreePlugin(NamedTuple):
    """A built-in plugin.

    Attributes
    ----------
    points : str
        The extension points that it implements.
    weight : int
        Its weight in the default profile; 0 where it does not score.
    gate : str
        The feature gate with which the default profile has it; "" without one.
    is_default : bool
        Whether the default profile has it.
    """

    name: str
    points: str
    weight: int = 0
    gate: str = ""
    is_default: bool = True


IN_TREE = (
    InTreePlugin("SchedulingGates", "preEnqueue"),
    InTreePlugin("PrioritySort", "queueSort"),
    InTreePlugin("NodeUnschedulable", "filter"),
    InTreePlugin("NodeName", "filter"),
    InTreePlugin("TaintToleration", "filter preScore score", 3),
    InTreePlugin("NodeAffinity", "preFilter filter preScore score", 2),
    InTreePlugin("NodePorts", "preFilter filter"),
    InTreePlugin("NodeResourcesFit", "preFilter filter preScore score placementScore", 1),
    InTreePlugin("VolumeRestrictions", "preFilter filter"),
    InTreePlugin("NodeVolumeLimits", "preFilter filter"),
    InTreePlugin("VolumeBinding", "preFilter filter preScore score reserve preBind"),
    InTreePlugin("VolumeZone", "preFilter filter"),
    InTreePlugin("PodTopologySpread", "preFilter filter preScore score", 2),
    InTreePlugin("InterPodAffinity", "preFilter filter preScore score", 2),
    # Before DefaultPreemption: freeing an unused device is preferred to evicting a pod.
    InTreePlugin(
        "DynamicResources", "preEnqueue preFilter filter postFilter score reserve preBind", 2
    ),
    InTreePlugin("DefaultPreemption", "preEnqueue postFilter"),
    InTreePlugin("NodeResourcesBalancedAllocation", "preScore score", 1),
    InTreePlugin("ImageLocality", "score", 1),
    InTreePlugin("DefaultBinder", "bind"),
    InTreePlugin("NodeDeclaredFeatures", "preFilter filter", gate="NodeDeclaredFeatures"),
    InTreePlugin("GangScheduling", "preEnqueue permit", gate="GangScheduling"),
    InTreePlugin(
        "TopologyPlacementGenerator", "placementGenerate", gate="TopologyAwareWorkloadScheduling"
    ),
    InTreePlugin("PodGroupPodsCount", "placementScore", 1, gate="TopologyAwareWorkloadScheduling"),
    InTreePlugin("Coscheduling", "queueSort preFilter postFilter reserve permit", is_default=False),
)
"""The built-in plugins, in the order of the default profile.

All are in-tree in 1.36 except Coscheduling, which belongs to scheduler-plugins.

Upstream: pkg/scheduler/apis/config/v1/default_plugins.go, getDefaultPlugins
"""

IN_TREE_POINTS: Mapping[str, frozenset[str]] = {
    plugin.name: frozenset(plugin.points.split()) for plugin in sorted(IN_TREE)
}
"""The built-in plugins and the extension points each implements."""

REPLACED_BY: Mapping[str, str] = {
    **{
        plugin: f'"NodeResourcesFit" with scoringStrategy.type {strategy}'
        for plugin, strategy in (
            ("NodeResourcesLeastAllocated", "LeastAllocated"),
            ("NodeResourcesMostAllocated", "MostAllocated"),
            ("RequestedToCapacityRatio", "RequestedToCapacityRatio"),
        )
    },
    "NodeLabel": '"NodeAffinity"',
    "NodePreferAvoidPods": '"TaintToleration", with taints of the nodes',
    "SelectorSpread": '"PodTopologySpread"',
    "ServiceAffinity": '"InterPodAffinity"',
    **dict.fromkeys(
        ("AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits"), '"NodeVolumeLimits"'
    ),
}
"""What replaces plugins of older versions, by the page on migrations of configurations of 1.25."""

_FIELDS = {
    point: "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in point)
    for point in POINT_TYPES
}
_WEIGHTED = ("score", "placementScore")
_MAX_NODE_SCORE = 100
_MAX_TOTAL_SCORE = 2**63 - 1


def in_tree_points(plugin: str) -> frozenset[str] | None:
    """Return the extension points of an in-tree plugin; None for any other name."""
    return IN_TREE_POINTS.get(plugin)


def set_at(plugins: Plugins, point: str) -> PluginSet:
    """Return the plugin set of an extension point."""
    plugin_set = getattr(plugins, _FIELDS[point])
    assert isinstance(plugin_set, PluginSet), point
    return plugin_set


def plugin_names(plugins: Plugins) -> frozenset[str]:
    """Return the names of all enabled plugins."""
    sets = (plugins.multi_point, *(set_at(plugins, point) for point in POINT_TYPES))
    return frozenset(plugin.name for plugin_set in sets for plugin in plugin_set.enabled)


def expand_plugins(
    plugins: Plugins,
    implements: Implements,
    *,
    scheduler_name: str,
    path: str,
    errors: list[FieldError],
) -> dict[str, tuple[tuple[str, int], ...]]:
    """Return the plugins of every extension point in run order, with weights.

    Parameters
    ----------
    plugins : Plugins
        With the defaults merged in.
    implements : callable
        The extension points of a plugin by name; None for an unknown plugin.
    path : str
        The path of the profile, for errors.
    errors : list of FieldError, written
        Receives the errors of the profile; the result is then invalid.
    """
    points_of = {name: implements(name) for name in plugin_names(plugins)}
    found: list[tuple[str, str]] = []
    by_point: dict[str, tuple[tuple[str, int], ...]] = {}
    duplicates: dict[str, str] = {}
    for point in POINT_TYPES:
        found += _errors_at(point, set_at(plugins, point), points_of)
        names = _names_at(plugins, point, points_of, duplicates)
        weights = _weights_at(plugins, point) if point in _WEIGHTED else {}
        by_point[point] = tuple((name, weights.get(name, 0)) for name in names)
    found += _multi_point_errors(plugins, points_of)
    found += [("plugins.multiPoint", message) for message in duplicates.values()]
    found += _count_errors(by_point, scheduler_name)
    found += _weight_errors(plugins, points_of)
    errors.extend(
        profile_problem(join(path, field) if field else path, scheduler_name, message)
        for field, message in found
    )
    return by_point


def profile_problem(path: str, scheduler_name: str, message: str) -> FieldError:
    """Return an error that prevents a profile from being built, with upstream's prefixes."""
    prefix = f"initializing profiles: creating profile for scheduler name {scheduler_name}"
    return problem(path, f"{prefix}: {message}")


_PointsOf: TypeAlias = Mapping[str, frozenset[str] | None]


def _errors_at(
    point: str, plugin_set: PluginSet, points_of: _PointsOf
) -> Iterator[tuple[str, str]]:
    """Yield the fields and messages of the plugins that are enabled at one extension point."""
    seen: set[str] = set()
    for plugin in plugin_set.enabled:
        points = points_of[plugin.name]
        if points is None:
            yield f"plugins.{point}", _does_not_exist(POINT_TYPES[point], plugin, points_of)
        elif point not in points:
            message = f'plugin "{plugin.name}" does not extend {POINT_TYPES[point]} plugin'
            yield f"plugins.{point}", message
        elif plugin.name in seen:
            yield f"plugins.{point}", _already_registered(plugin, point)
        seen.add(plugin.name)


def _multi_point_errors(plugins: Plugins, points_of: _PointsOf) -> Iterator[tuple[str, str]]:
    # Upstream reports an unknown plugin with the type of the first point that takes plugins
    # from multiPoint, whether or not the plugin is meant for it.
    first = next((p for p in POINT_TYPES if not _is_closed(set_at(plugins, p))), None)
    if first is None:
        return
    for plugin in plugins.multi_point.enabled:
        if points_of[plugin.name] is None:
            message = _does_not_exist(POINT_TYPES[first], plugin, points_of)
            yield "plugins.multiPoint", message


def _does_not_exist(kind: str, plugin: Plugin, points_of: _PointsOf) -> str:
    known = [name for name, points in points_of.items() if points is not None]
    meant = meant_plugin(plugin.name, known)
    hint = f"{DID_YOU_MEAN}{meant}?" if meant else ""
    return f'{kind} "{plugin.name}" does not exist{hint}'


def meant_plugin(name: str, own: Iterable[str] = ()) -> str:
    """Return what an unknown plugin may stand for, quoted; "" if no name is near.

    Parameters
    ----------
    name : str
        Of the unknown plugin.
    own : iterable of str
        The names of plugins that are not built in.
    """
    near = nearest(name, [*IN_TREE_POINTS, *own])
    return REPLACED_BY.get(name) or (f'"{near}"' if near else "")


def _names_at(
    plugins: Plugins, point: str, points_of: _PointsOf, duplicates: dict[str, str]
) -> list[str]:
    """Return the plugins of one extension point in run order.

    Parameters
    ----------
    duplicates : dict of str to str, written
        For each duplicate name in multiPoint, the message of its first extension point.
    """
    specific = set_at(plugins, point)
    # Duplicates are errors of `_errors_at`; here each name counts once.
    enabled = list(dict.fromkeys(plugin.name for plugin in specific.enabled))
    if _is_closed(specific):
        return enabled
    disabled = {plugin.name for plugin in specific.disabled}
    multi_point: list[str] = []
    overrides: set[str] = set()
    for plugin in plugins.multi_point.enabled:
        if point not in (points_of[plugin.name] or ()) or plugin.name in disabled:
            continue
        if plugin.name in enabled:
            overrides.add(plugin.name)
        elif plugin.name in multi_point:
            duplicates.setdefault(plugin.name, _already_registered(plugin, point))
        else:
            multi_point.append(plugin.name)
    return [
        *(name for name in enabled if name in overrides),
        *multi_point,
        *(name for name in enabled if name not in overrides),
    ]


def _weights_at(plugins: Plugins, point: str) -> dict[str, int]:
    """Return weights by name: a specific entry overrides multiPoint, and 0 means 1."""
    weights: dict[str, int] = {}
    for plugin in (*set_at(plugins, point).enabled, *plugins.multi_point.enabled):
        weights.setdefault(plugin.name, plugin.weight or 1)
    return weights


def _count_errors(
    by_point: Mapping[str, tuple[tuple[str, int], ...]], scheduler_name: str
) -> Iterator[tuple[str, str]]:
    profile = f'profile with scheduler name "{scheduler_name}"'
    sorts = len(by_point["queueSort"])
    if sorts != 1:
        yield "", f"only one queue sort plugin required for {profile}, but got {sorts}"
    if not by_point["bind"]:
        yield "", f"at least one bind plugin is needed for {profile}"
    if len(by_point["placementGenerate"]) > 1:
        yield "", f"at most one placement generate plugin is allowed for {profile}"


def _weight_errors(plugins: Plugins, points_of: _PointsOf) -> Iterator[tuple[str, str]]:
    """Yield the errors of weights whose sum could overflow.

    Go's integers wrap: after a negative sum, any positive weight is an error.

    Upstream: pkg/scheduler/framework/runtime/framework.go, getValidScoreWeights
    """
    for point, name in (("score", "score"), ("placementScore", "placement score")):
        total = 0
        for plugin, weight in _weights_at(plugins, point).items():
            if point not in (points_of[plugin] or ()):
                continue
            score = weight * _MAX_NODE_SCORE
            if score > _wrapped(_MAX_TOTAL_SCORE - total):
                yield "", f"{name} plugins: total score of Score plugins could overflow"
                break
            total += score


def _wrapped(number: int) -> int:
    """Return an integer as Go's int64 has it."""
    return (number + 2**63) % 2**64 - 2**63


def _is_closed(plugin_set: PluginSet) -> bool:
    return any(plugin.name == "*" for plugin in plugin_set.disabled)


def _already_registered(plugin: Plugin, point: str) -> str:
    return f'plugin "{plugin.name}" already registered as "{POINT_TYPES[point]}"'
