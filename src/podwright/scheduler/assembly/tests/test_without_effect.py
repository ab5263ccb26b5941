"""Feature gates and plugins that are accepted and have no effect."""

from __future__ import annotations

import pytest

from podwright.scheduler.assembly.without_effect import idle_arguments, idle_choices
from podwright.scheduler.config import DEFAULT_GATES, Effect, Gates, parse_gates, read_configuration
from podwright.scheduler.framework import TieRule
from podwright.scheduler.machine import SchedulerOptions

EVERYTHING: tuple[Effect, ...] = ("configuration", "decisions", "machine")
HEAD = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
GATES = "(see docs/reference/feature-gates.md)"


def configured(**points: list[str]):
    """Make a configuration whose profile enables plugins at these points."""
    plugins = {
        point: {"enabled": [{"name": name} for name in names]} for point, names in points.items()
    }
    return read_configuration({**HEAD, "profiles": [{"plugins": plugins}]}, source="c")


def test_the_defaults_have_no_warning():
    assert idle_choices(None, DEFAULT_GATES, *EVERYTHING) == ()
    assert idle_choices(read_configuration(HEAD, source="c"), DEFAULT_GATES, *EVERYTHING) == ()


def test_gates_of_other_components_have_no_effect():
    (warning,) = idle_choices(None, parse_gates("SchedulerAsyncAPICalls=true"), *EVERYTHING)
    assert warning == f"the feature gate SchedulerAsyncAPICalls has no effect here {GATES}"


def test_the_classic_rules_read_one_gate_where_pods_are_decided_for():
    classic = read_configuration(
        {**HEAD, "rules": "classic"},
        source="c",
    )
    gates = Gates({"PodLevelResources": False, "VolumeLimitScaling": True})
    (warning,) = idle_choices(classic, gates, "configuration", "decisions")
    assert warning == f"the feature gate VolumeLimitScaling has no effect here {GATES}"
    for effects in (EVERYTHING, ("configuration",)):
        (warning,) = idle_choices(classic, gates, *effects)
        assert warning.startswith("the feature gates PodLevelResources, VolumeLimitScaling have")


@pytest.mark.parametrize(
    ("count", "listed"),
    [
        pytest.param(10, "{} have", id="all"),
        pytest.param(11, "{} and 1 more have", id="one more"),
        pytest.param(13, "{} and 3 more have", id="several more"),
    ],
)
def test_at_most_ten_gates_are_named(count, listed):
    classic = read_configuration({**HEAD, "rules": "classic"}, source="c")
    gates = Gates(dict.fromkeys(sorted(DEFAULT_GATES)[:count], False))
    shown = listed.format(", ".join(sorted(DEFAULT_GATES)[:10]))
    assert idle_choices(classic, gates, *EVERYTHING) == (
        f"the feature gates {shown} no effect here {GATES}",
    )


def test_unknown_plugins_that_are_disabled_are_named_once_with_the_nearest():
    disabled = {"disabled": [{"name": n} for n in ("NodeNam", "*", "Zzz", "Mine", "NodeName")]}
    profiles = [
        {"plugins": {"filter": disabled}},
        {"schedulerName": "s", "plugins": {"score": disabled}},
        {"schedulerName": "t"},
    ]
    configuration = read_configuration({**HEAD, "profiles": profiles}, source="c")
    assert idle_choices(configuration, DEFAULT_GATES, *EVERYTHING, own=["Mine"]) == (
        'disabled has no effect for unknown plugins: "NodeNam" (did you mean "NodeName"?), "Zzz"',
    )


def test_arguments_of_an_unknown_plugin_that_is_enabled_are_no_warning():
    score = {"enabled": [{"name": "Mine"}]}
    profile = {"plugins": {"score": score}, "pluginConfig": [{"name": "Mine", "args": {"a": 1}}]}
    configuration = read_configuration({**HEAD, "profiles": [profile]}, source="c")
    assert idle_choices(configuration, DEFAULT_GATES, *EVERYTHING) == ()


@pytest.mark.parametrize(
    ("entries", "listed"),
    [
        pytest.param(
            [{"name": "NodeResourceFit", "args": {"a": 1}}],
            'unknown plugins: "NodeResourceFit" (did you mean "NodeResourcesFit"?)',
            id="a misspelt plugin",
        ),
        pytest.param(
            [{"name": "NodeResourcesMostAllocated"}],
            'unknown plugins: "NodeResourcesMostAllocated" (did you mean "NodeResourcesFit" with'
            " scoringStrategy.type MostAllocated?)",
            id="a plugin of older versions",
        ),
        pytest.param(
            [{"name": "ImageLocality", "args": {"a": 1}}, {"name": "NodeName", "args": {}}],
            "plugins without arguments: ImageLocality",
            id="a plugin that takes no arguments",
        ),
    ],
)
def test_arguments_that_no_plugin_takes_are_named(entries, listed):
    profiles = [{"pluginConfig": [*entries, {"name": "Mine", "args": {"a": 1}}]}]
    configuration = read_configuration({**HEAD, "profiles": profiles}, source="c")
    assert idle_choices(configuration, DEFAULT_GATES, *EVERYTHING, own=["Mine"]) == (
        f"pluginConfig has no effect for {listed}",
    )


MODERN = "has no effect with the v1.36 rules: only the v1.16 rules run work in parallel"
CLASSIC = "has no effect with the v1.16 rules, which always draw and evaluate every node"


@pytest.mark.parametrize(
    ("rules", "options", "has_workers", "found"),
    [
        pytest.param({}, {}, False, [], id="modern rules, nothing set"),
        pytest.param(
            {}, {"tie_rule": TieRule.FIRST, "draws_preemption_offset": False}, False, [],
            id="modern rules read both options",
        ),
        pytest.param(
            {}, {}, True, [f"parallelize_until: {MODERN}"], id="modern rules have no workers"
        ),
        pytest.param({"rules": "classic"}, {}, True, [], id="classic rules have workers"),
        pytest.param(
            {"rules": "classic"}, {"tie_rule": TieRule.FIRST}, False, [f"tie_rule: {CLASSIC}"],
            id="classic rules draw among equals",
        ),
        pytest.param(
            {"rules": "classic"}, {"draws_preemption_offset": False}, False,
            [f"draws_preemption_offset: {CLASSIC}"], id="classic rules evaluate every node",
        ),
    ],
)  # fmt: skip
def test_options_that_the_rules_do_not_use_are_errors(rules, options, has_workers, found):
    configuration = read_configuration({**HEAD, **rules}, source="c")
    errors = idle_arguments(
        SchedulerOptions(configuration=configuration, **options), has_workers=has_workers
    )
    assert [str(error) for error in errors] == found
