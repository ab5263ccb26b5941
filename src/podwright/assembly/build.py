"""From an effective configuration to profiles that can run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from podwright.assembly.registry import Registry
from podwright.config import EffectiveConfiguration, EffectiveProfile, Gates
from podwright.framework import Plugin, Profile, TieRule

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
}


def build_profiles(
    configuration: EffectiveConfiguration,
    registry: Registry,
    *,
    tie_rule: TieRule = TieRule.DRAWN,
    draws_preemption_offset: bool = True,
    source: str = "configuration",
) -> dict[str, Profile]:
    """Make the profiles of a configuration, by schedulerName.

    Each plugin is made once per profile and serves all its extension points.

    Parameters
    ----------
    tie_rule : TieRule
        How a node is chosen among equals.
    draws_preemption_offset : bool
        Whether a search for preemption's candidates begins at a drawn node; False: at the
        first. It matters where the search ends before all nodes are tried.

    Raises
    ------
    InputError
        If a plugin does not take its arguments.
    """
    return {
        profile.scheduler_name: msgspec.structs.replace(
            _build(profile, registry, configuration.gates, source),
            tie_rule=tie_rule,
            draws_preemption_offset=draws_preemption_offset,
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
    points: dict[str, Any] = {
        field: _in_order(point, profile.plugins.get(point, ()), made)
        for point, field in _POINTS.items()
    }
    return Profile(
        scheduler_name=profile.scheduler_name,
        score=tuple(
            (made[name], weight)
            for name, weight in profile.plugins.get("score", ())
            if name in made
        ),
        percentage_of_nodes_to_score=profile.percentage_of_nodes_to_score,
        **points,
    )


def _in_order(
    point: str, entries: tuple[tuple[str, int], ...], made: Mapping[str, Plugin]
) -> tuple[Plugin, ...]:
    """Return the plugins of one extension point that have something to do there.

    In-tree plugins are named where upstream's are; where ours does nothing, it is not asked.
    """
    return tuple(
        made[name] for name, _ in entries if name in made and point in made[name].extension_points()
    )
