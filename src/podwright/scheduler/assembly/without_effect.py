"""Feature gates and plugins that are accepted and have no effect in podwright."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Final, NamedTuple

from podwright.apimachinery.objects import FieldError
from podwright.scheduler.config import (
    ARGS_TYPES,
    IN_TREE_POINTS,
    Effect,
    Gates,
    KubeSchedulerConfiguration,
    Plugins,
    meant_plugin,
    without_effect,
)
from podwright.scheduler.framework import TieRule
from podwright.scheduler.machine import SchedulerOptions

_READ_BY_V116_RULES = "PodLevelResources"
IDLE_GROUPS: Final = (
    "PodGroups of scheduling.x-k8s.io have no effect: no profile of the configuration enables the"
    " plugin Coscheduling, so their pods are scheduled one by one"
)
"""Said where such groups are and neither that plugin nor one of a user."""
# A group such as AllAlpha changes dozens of gates.
_MOST_NAMED = 10


def idle_choices(
    configuration: KubeSchedulerConfiguration | None,
    gates: Gates,
    *concerned: Effect,
    own: Collection[str] = (),
) -> tuple[str, ...]:
    """Return a warning about settings without effect, at most one.

    Parameters
    ----------
    configuration : KubeSchedulerConfiguration, optional
        As read: a plugin that only a gate enables is not listed beside the gate.
    concerned : Effect
        The effects of gates that apply.
    own : collection of str
        The names of user plugins, which may replace in-tree plugins.
    """
    idle = _USE_OF[_rules_name(configuration)].idle_gates(gates, concerned)
    parts = []
    if idle:
        hint = "see docs/reference/feature-gates.md"
        parts.append(f"{_named('feature gate', idle)} no effect here ({hint})")
    if configuration is not None:
        parts += _unused_entries(configuration, own)
    return ("; ".join(parts),) if parts else ()


def idle_arguments(options: SchedulerOptions, *, has_workers: bool = False) -> list[FieldError]:
    """Return an error for each option that the configured rules do not use."""
    use = _USE_OF[_rules_name(options.configuration)]
    return [
        FieldError(source=name, path="", message=use.why)
        for name, is_wrong in use.unused_options(options, has_workers).items()
        if is_wrong
    ]


def _rules_name(configuration: KubeSchedulerConfiguration | None) -> str:
    return (configuration or KubeSchedulerConfiguration()).rules_name


def _gates_unused_by_v116(gates: Gates, concerned: Collection[Effect]) -> tuple[str, ...]:
    # The v1.16 rules read no gate; pod-level resources are added before any rules run.
    is_read = "decisions" in concerned and "machine" not in concerned
    return tuple(name for name in gates.changed if not (is_read and name == _READ_BY_V116_RULES))


def _gates_unused_by_v136(gates: Gates, concerned: Collection[Effect]) -> tuple[str, ...]:
    return without_effect(gates, *concerned)


class _Use(NamedTuple):
    """The settings that a set of rules does not use.

    Attributes
    ----------
    idle_gates : callable
        Returns the gates that were changed and have no effect.
    unused_options : callable
        Returns by name whether an option that the rules do not use was set.
    why : str
        Why such an option has no effect.
    """

    idle_gates: Callable[[Gates, Collection[Effect]], tuple[str, ...]]
    unused_options: Callable[[SchedulerOptions, bool], dict[str, bool]]
    why: str


_USE_OF: Final[Mapping[str, _Use]] = {
    "modern": _Use(
        _gates_unused_by_v136,
        lambda _, has_workers: {"parallelize_until": has_workers},
        "has no effect with the v1.36 rules: only the v1.16 rules run work in parallel",
    ),
    "classic": _Use(
        _gates_unused_by_v116,
        lambda options, _: {
            "tie_rule": options.tie_rule is not TieRule.DRAWN,
            "draws_preemption_offset": not options.draws_preemption_offset,
        },
        "has no effect with the v1.16 rules, which always draw and evaluate every node",
    ),
}
"""By the name of the rules in a configuration."""


def _named(noun: str, names: tuple[str, ...]) -> str:
    has = "has" if len(names) == 1 else "have"
    listed = ", ".join(names[:_MOST_NAMED])
    if len(names) > _MOST_NAMED:
        listed += f" and {len(names) - _MOST_NAMED} more"
    return f"the {noun}{'s' * (len(names) != 1)} {listed} {has}"


def _unused_entries(
    configuration: KubeSchedulerConfiguration, own: Collection[str]
) -> Iterator[str]:
    """Yield what upstream ignores: entries of unknown plugins, arguments of plugins without any."""
    sets = [
        getattr(profile.plugins or Plugins(), field)
        for profile in configuration.profiles
        for field in Plugins.__struct_fields__
    ]
    # That a plugin is enabled and does not exist is an error.
    enabled = (entry.name for plugins in sets for entry in plugins.enabled)
    disabled = (entry.name for plugins in sets for entry in plugins.disabled)
    known = {*IN_TREE_POINTS, *own, *enabled, "*"}
    configured = [entry for profile in configuration.profiles for entry in profile.plugin_config]
    named = (entry.name for entry in configured)
    for field, names in (("disabled", disabled), ("pluginConfig", named)):
        unknown = dict.fromkeys(name for name in names if name not in known)
        if unknown:
            listed = ", ".join(_with_suggestion(name, own) for name in unknown)
            yield f"{field} has no effect for unknown plugins: {listed}"
    takes_none = IN_TREE_POINTS.keys() - ARGS_TYPES.keys() - {*own}
    idle = dict.fromkeys(one.name for one in configured if one.args and one.name in takes_none)
    if idle:
        yield f"pluginConfig has no effect for plugins without arguments: {', '.join(idle)}"


def _with_suggestion(name: str, own: Collection[str]) -> str:
    meant = meant_plugin(name, own)
    return f'"{name}"' + (f" (did you mean {meant}?)" if meant else "")
