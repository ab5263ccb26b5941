"""Feature gates and plugins that are accepted, as kube-scheduler accepts them, and do nothing."""

from __future__ import annotations

from collections.abc import Container

from podwright.assembly.registry import NOT_BUILT
from podwright.config import (
    Effect,
    Gates,
    KubeSchedulerConfiguration,
    Plugins,
    without_effect,
)
from podwright.framework import TieRule
from podwright.machine import SchedulerOptions
from podwright.objects import FieldError

_PLACEMENT = ("placement_generate", "placement_score")
_READ_BY_CLASSIC_RULES = "PodLevelResources"


def idle_choices(
    configuration: KubeSchedulerConfiguration | None,
    gates: Gates,
    *concerned: Effect,
    own: Container[str] = (),
) -> tuple[str, ...]:
    """Return what was chosen and has no effect, in at most one sentence.

    Parameters
    ----------
    configuration : KubeSchedulerConfiguration, optional
        As it is written: plugins that are enabled by a gate are not named beside it.
    concerned : Effect
        On what a gate may have an effect.
    own : container of str
        The names of the user's plugins, which may take the place of in-tree ones.
    """
    is_classic = configuration is not None and _is_classic(configuration)
    if is_classic:
        # Their queue and machine have no gates; pods are completed alike for all rules.
        is_read = "decisions" in concerned and "machine" not in concerned
        idle = tuple(
            name for name in gates.changed if not (is_read and name == _READ_BY_CLASSIC_RULES)
        )
    else:
        idle = without_effect(gates, *concerned)
    parts = []
    if idle:
        hint = "docs/reference/feature-gates.md says which do"
        parts.append(f"{_named('feature gate', idle)} no effect here ({hint})")
    plugins = () if configuration is None else _plugins_without_effect(configuration, own)
    if plugins:
        hint = "docs/reference/plugins.md says which do"
        parts.append(f"{_named('plugin', plugins)} no effect here ({hint})")
    return ("; ".join(parts),) if parts else ()


def idle_arguments(options: SchedulerOptions, *, has_workers: bool = False) -> list[FieldError]:
    """Return an error for each option that the rules of the configuration do not read."""
    if options.configuration is None or not _is_classic(options.configuration):
        wrong = {"parallelize_until": has_workers}
        why = "has no effect with the v1.36 rules: only the v1.16 rules divide their work"
    else:
        wrong = {
            "tie_rule": options.tie_rule is not TieRule.DRAWN,
            "draws_preemption_offset": not options.draws_preemption_offset,
        }
        why = "has no effect with the v1.16 rules, which always draw and try every node"
    return [
        FieldError(source=name, path="", message=why)
        for name, is_wrong in wrong.items()
        if is_wrong
    ]


def _is_classic(configuration: KubeSchedulerConfiguration) -> bool:
    return configuration.rules is not None and configuration.rules.name == "classic"


def _named(noun: str, names: tuple[str, ...]) -> str:
    has = "has" if len(names) == 1 else "have"
    return f"the {noun}{'s' * (len(names) != 1)} {', '.join(names)} {has}"


def _plugins_without_effect(
    configuration: KubeSchedulerConfiguration, own: Container[str]
) -> tuple[str, ...]:
    """Return the plugins that are enabled and not built, or at a point that is not."""
    found: dict[str, None] = {}
    for profile in configuration.profiles:
        plugins = profile.plugins or Plugins()
        for field in Plugins.__struct_fields__:
            for entry in getattr(plugins, field).enabled:
                if entry.name not in own and (field in _PLACEMENT or entry.name in NOT_BUILT):
                    is_built = entry.name not in NOT_BUILT
                    found[f"{entry.name} (at {_point(field)})" if is_built else entry.name] = None
    return tuple(found)


def _point(field: str) -> str:
    head, _, tail = field.partition("_")
    return head + tail.capitalize()
