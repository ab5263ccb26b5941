"""Options of a scheduler with other weights of score plugins."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from podwright.apimachinery.objects import FieldError, InputError, nearest
from podwright.scheduler.assembly import assemble, prepare
from podwright.scheduler.config import KubeSchedulerProfile, PluginSet
from podwright.scheduler.machine import SchedulerOptions


def with_weights(options: SchedulerOptions, weights: Mapping[str, int]) -> SchedulerOptions:
    """Return options with other weights in all profiles that have the plugins.

    Parameters
    ----------
    options : SchedulerOptions
    weights : mapping of str to int
        By score plugin; the others keep theirs.

    Raises
    ------
    InputError
        No profile scores with a plugin, the configuration uses the v1.16 rules, or is not valid
        with the weights; the paths are the names of plugins.
    """
    if not weights:
        return options
    ready, registry = prepare(options)
    source = options.source
    if ready.rules_name == "classic":
        message = "the v1.16 rules have priorities of a policy instead; send a configuration"
        raise InputError([FieldError(source=source, path="", message=message)])
    profiles = assemble(ready, registry, options).profiles.values()
    known = {plugin.name for profile in profiles for plugin, _ in profile.score}
    errors = []
    for name in weights:
        if name not in known:
            near = nearest(name, known)
            hint = f"; did you mean {near}?" if near else ""
            message = f"no profile scores with {name}{hint}"
            errors.append(FieldError(source=source, path=name, message=message))
    if errors:
        raise InputError(errors)
    written = ready.configuration
    changed = msgspec.structs.replace(
        written, profiles=tuple(_reweighted(each, weights) for each in written.profiles)
    )
    found = msgspec.structs.replace(options, configuration=changed)
    prepare(found)  # the weights can be too large together
    return found


def _reweighted(profile: KubeSchedulerProfile, weights: Mapping[str, int]) -> KubeSchedulerProfile:
    plugins = profile.plugins
    if plugins is None:
        return profile
    return msgspec.structs.replace(
        profile,
        plugins=msgspec.structs.replace(
            plugins,
            score=_reweighted_set(plugins.score, weights),
            multi_point=_reweighted_set(plugins.multi_point, weights),
        ),
    )


def _reweighted_set(plugins: PluginSet, weights: Mapping[str, int]) -> PluginSet:
    return msgspec.structs.replace(
        plugins,
        enabled=tuple(
            msgspec.structs.replace(each, weight=weights.get(each.name, each.weight))
            for each in plugins.enabled
        ),
    )
