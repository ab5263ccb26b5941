"""Build profiles from an effective configuration."""

from __future__ import annotations

from typing import Any

import msgspec

from podwright.scheduler.assembly.registry import Registry
from podwright.scheduler.config import (
    EffectiveConfiguration,
    EffectiveProfile,
    Gates,
    KubeSchedulerConfiguration,
    effective,
)
from podwright.scheduler.framework import Plugin, Profile
from podwright.scheduler.machine import DEFAULT_OPTIONS, SchedulerOptions

_POINTS = {
    "preEnqueue": "pre_enqueue",
    "queueSort": "queue_sort",
    "preFilter": "pre_filter",
    "filter": "filter",
    "postFilter": "post_filter",
    "preScore": "pre_score",
    "reserve": "reserve",
    "permit": "permit",
    "preBind": "pre_bind",
    "bind": "bind",
    "postBind": "post_bind",
    "placementGenerate": "placement_generate",
}

_PLACEMENTS = "TopologyAwareWorkloadScheduling"


def prepare(options: SchedulerOptions) -> tuple[EffectiveConfiguration, Registry]:
    """Return the effective configuration of options, and the registry of their plugins.

    Raises
    ------
    InputError
        If the configuration is not valid.
    """
    registry = Registry(options.plugins)
    configuration = effective(
        registry.enable_own(
            options.configuration or KubeSchedulerConfiguration(), source=options.source
        ),
        options.gates,
        implements=registry.points_of,
        source=options.source,
    )
    return configuration, registry


def build_profiles(
    configuration: EffectiveConfiguration,
    registry: Registry,
    options: SchedulerOptions = DEFAULT_OPTIONS,
) -> dict[str, Profile]:
    """Build the profiles of a configuration, by schedulerName.

    One instance of each plugin per profile serves all extension points of the plugin.

    Parameters
    ----------
    options : SchedulerOptions
        Of these, `tie_rule`, `draws_preemption_offset` and `source` matter here.

    Raises
    ------
    InputError
        If a plugin rejects its arguments.
    """
    return {
        profile.scheduler_name: msgspec.structs.replace(
            _build(profile, registry, configuration.gates, options.source),
            tie_rule=options.tie_rule,
            draws_preemption_offset=options.draws_preemption_offset,
        )
        for profile in configuration.profiles
    }


def _build(profile: EffectiveProfile, registry: Registry, gates: Gates, source: str) -> Profile:
    names = dict.fromkeys(name for entries in profile.plugins.values() for name, _ in entries)
    made: dict[str, Plugin] = {}
    for name in names:
        plugin = registry.make(name, profile.args.get(name), gates=gates, source=source)
        if plugin is not None:
            made[name] = plugin
    implemented = {name: plugin.extension_points() for name, plugin in made.items()}
    # Without the gate nothing asks for placements.
    scoring = profile.plugins.get("placementScore", ()) if _PLACEMENTS in gates else ()
    points: dict[str, Any] = {
        field: tuple(
            made[name]
            for name, _ in profile.plugins.get(point, ())
            # In-tree names are configured at the points where upstream's plugins are; some of
            # ours do not implement all of them.
            if point in implemented.get(name, ())
        )
        for point, field in _POINTS.items()
    }
    return Profile(
        scheduler_name=profile.scheduler_name,
        score=tuple((made[name], weight) for name, weight in profile.plugins.get("score", ())),
        placement_score=tuple((made[name], weight) for name, weight in scoring),
        percentage_of_nodes_to_score=profile.percentage_of_nodes_to_score,
        holding=tuple(plugin for name, plugin in made.items() if name == "DefaultPreemption"),
        **points,
    )
