"""From plugin sets to the plugins that run at each extension point.

A profile lists plugins for single extension points and, under multiPoint, for all points that
they implement. The order at each point is: plugins of the specific list that are also in
multiPoint (the specific entry overrides it), the rest of multiPoint, the rest of the specific
list. A point with `*` in `disabled` takes no plugin from multiPoint.

Upstream: pkg/scheduler/framework/runtime/framework.go, expandMultiPointPlugins
"""

from collections.abc import Callable, Mapping
from typing import TypeAlias

from podwright.config.field import did_you_mean, join, problem
from podwright.config.schema import Plugin, Plugins, PluginSet
from podwright.objects import FieldError

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

_FIELDS = {
    "preFilter": "pre_filter",
    "postFilter": "post_filter",
    "preScore": "pre_score",
    "preBind": "pre_bind",
    "postBind": "post_bind",
    "preEnqueue": "pre_enqueue",
    "queueSort": "queue_sort",
    "placementGenerate": "placement_generate",
    "placementScore": "placement_score",
}

_POINTS_OF: Mapping[str, str] = {
    "Coscheduling": "queueSort preFilter postFilter reserve permit",
    "DefaultBinder": "bind",
    "DefaultPreemption": "preEnqueue postFilter",
    "DynamicResources": "preEnqueue preFilter filter postFilter score reserve preBind",
    "GangScheduling": "preEnqueue permit",
    "ImageLocality": "score",
    "InterPodAffinity": "preFilter filter preScore score",
    "NodeAffinity": "preFilter filter preScore score",
    "NodeDeclaredFeatures": "preFilter filter",
    "NodeName": "filter",
    "NodePorts": "preFilter filter",
    "NodeResourcesBalancedAllocation": "preScore score",
    "NodeResourcesFit": "preFilter filter preScore score placementScore",
    "NodeUnschedulable": "filter",
    "NodeVolumeLimits": "preFilter filter",
    "PodGroupPodsCount": "placementScore",
    "PodTopologySpread": "preFilter filter preScore score",
    "PrioritySort": "queueSort",
    "SchedulingGates": "preEnqueue",
    "TaintToleration": "filter preScore score",
    "TopologyPlacementGenerator": "placementGenerate",
    "VolumeBinding": "preFilter filter preScore score reserve preBind",
    "VolumeRestrictions": "preFilter filter",
    "VolumeZone": "preFilter filter",
}
IN_TREE_POINTS: Mapping[str, frozenset[str]] = {
    name: frozenset(points.split()) for name, points in _POINTS_OF.items()
}
"""The built-in plugins and the extension points each implements.

All are in-tree in 1.36 except Coscheduling, which belongs to scheduler-plugins and is not in the
default profile.
"""

_WEIGHTED = ("score", "placementScore")
_MAX_NODE_SCORE = 100
_MAX_TOTAL_SCORE = 2**63 - 1


def in_tree_points(plugin: str) -> frozenset[str] | None:
    """Return the extension points of an in-tree plugin; None for any other name."""
    return IN_TREE_POINTS.get(plugin)


def set_at(plugins: Plugins, point: str) -> PluginSet:
    """Return the plugin set of an extension point."""
    plugin_set = getattr(plugins, _FIELDS.get(point, point))
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
    by_point: dict[str, tuple[tuple[str, int], ...]] = {}
    for point in POINT_TYPES:
        _check_specific(set_at(plugins, point), point, points_of, path, errors)
        names = _names_at(plugins, point, points_of, path, errors)
        weights = _weights_at(plugins, point) if point in _WEIGHTED else {}
        by_point[point] = tuple((name, weights.get(name, 0)) for name in names)
    _check_multi_point(plugins, points_of, path, errors)
    _check_counts(by_point, scheduler_name, path, errors)
    return by_point


def _check_specific(
    plugin_set: PluginSet,
    point: str,
    points_of: Mapping[str, frozenset[str] | None],
    path: str,
    errors: list[FieldError],
) -> None:
    seen: set[str] = set()
    for plugin in plugin_set.enabled:
        points = points_of[plugin.name]
        message = None
        if points is None:
            message = _does_not_exist(POINT_TYPES[point], plugin, points_of)
        elif point not in points:
            message = f'plugin "{plugin.name}" does not extend {POINT_TYPES[point]} plugin'
        elif plugin.name in seen:
            message = _already_registered(plugin, point)
        if message:
            errors.append(problem(join(path, f"plugins.{point}"), message))
        seen.add(plugin.name)


def _check_multi_point(
    plugins: Plugins,
    points_of: Mapping[str, frozenset[str] | None],
    path: str,
    errors: list[FieldError],
) -> None:
    # Upstream notices at the first point that it expands, and names that one although the
    # plugin may have no part in it; it is silent if no point takes anything from multiPoint.
    if all(_is_closed(set_at(plugins, point)) for point in POINT_TYPES):
        return
    errors.extend(
        problem(join(path, "plugins.multiPoint"), _does_not_exist("plugin", plugin, points_of))
        for plugin in plugins.multi_point.enabled
        if points_of[plugin.name] is None
    )


def _does_not_exist(
    kind: str, plugin: Plugin, points_of: Mapping[str, frozenset[str] | None]
) -> str:
    known = [name for name, points in points_of.items() if points is not None]
    hint = did_you_mean(plugin.name, [*IN_TREE_POINTS, *known])
    return f'{kind} "{plugin.name}" does not exist{hint}'


def _names_at(
    plugins: Plugins,
    point: str,
    points_of: Mapping[str, frozenset[str] | None],
    path: str,
    errors: list[FieldError],
) -> list[str]:
    specific = set_at(plugins, point)
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
            errors.append(
                problem(join(path, "plugins.multiPoint"), _already_registered(plugin, point))
            )
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


def _check_counts(
    by_point: Mapping[str, tuple[tuple[str, int], ...]],
    scheduler_name: str,
    path: str,
    errors: list[FieldError],
) -> None:
    profile = f'profile with scheduler name "{scheduler_name}"'
    sorts, generators = len(by_point["queueSort"]), len(by_point["placementGenerate"])
    if sorts != 1:
        message = f"only one queue sort plugin required for {profile}, but got {sorts}"
        errors.append(problem(path, message))
    if not by_point["bind"]:
        errors.append(problem(path, f"at least one bind plugin is needed for {profile}"))
    if generators > 1:
        message = f"at most one placement generate plugin is allowed for {profile}"
        errors.append(problem(path, f"{message}, but got {generators}"))
    total = sum(weight for _, weight in by_point["score"])
    if total * _MAX_NODE_SCORE > _MAX_TOTAL_SCORE:
        errors.append(problem(path, "total score of Score plugins could overflow"))


def _is_closed(plugin_set: PluginSet) -> bool:
    return any(plugin.name == "*" for plugin in plugin_set.disabled)


def _already_registered(plugin: Plugin, point: str) -> str:
    return f'plugin "{plugin.name}" already registered as "{POINT_TYPES[point]}"'
