"""Feature gates and plugins that are accepted and have no effect."""

from __future__ import annotations

import pytest

from podwright.scheduler.assembly.registry import NOT_BUILT
from podwright.scheduler.assembly.without_effect import idle_choices
from podwright.scheduler.config import DEFAULT_GATES, Effect, Gates, parse_gates, read_configuration

EVERYTHING: tuple[Effect, ...] = ("configuration", "decisions", "machine")
HEAD = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
GATES = "(see docs/reference/feature-gates.md)"
PLUGINS = "(see docs/reference/plugins.md)"


def configured(**points: list[str]):
    """Make a configuration whose profile enables plugins at these points."""
    plugins = {
        point: {"enabled": [{"name": name} for name in names]} for point, names in points.items()
    }
    return read_configuration({**HEAD, "profiles": [{"plugins": plugins}]}, source="c")


def test_the_plugins_that_are_not_built_are_these():
    assert {"PodGroupPodsCount", "TopologyPlacementGenerator"} == NOT_BUILT


def test_the_defaults_have_no_warning():
    assert idle_choices(None, DEFAULT_GATES, *EVERYTHING) == ()
    assert idle_choices(read_configuration(HEAD, source="c"), DEFAULT_GATES, *EVERYTHING) == ()


def test_a_gate_that_enables_plugins_which_are_not_built_is_named_once():
    gates = parse_gates("GenericWorkload=true,TopologyAwareWorkloadScheduling=true")
    (warning,) = idle_choices(None, gates, *EVERYTHING)
    assert warning == (
        f"the feature gate TopologyAwareWorkloadScheduling has no effect here {GATES}"
    )


@pytest.mark.parametrize(
    ("points", "listed"),
    [
        ({"multiPoint": ["PodGroupPodsCount"]}, "the plugin PodGroupPodsCount has"),
        (
            {"placementGenerate": ["TopologyPlacementGenerator"]},
            "the plugin TopologyPlacementGenerator has",
        ),
        (
            {
                "multiPoint": ["TopologyPlacementGenerator"],
                "placementScore": ["PodGroupPodsCount", "NodeResourcesFit"],
            },
            "the plugins TopologyPlacementGenerator, PodGroupPodsCount,"
            " NodeResourcesFit (at placementScore) have",
        ),
    ],
)
def test_plugins_that_are_not_built_are_named(points, listed):
    configuration = configured(**points)
    assert idle_choices(configuration, DEFAULT_GATES, *EVERYTHING) == (
        f"{listed} no effect here {PLUGINS}",
    )


def test_gates_and_plugins_make_one_warning():
    gates = parse_gates("SchedulerAsyncAPICalls=true")
    (warning,) = idle_choices(configured(multiPoint=["PodGroupPodsCount"]), gates, *EVERYTHING)
    assert warning == (
        f"the feature gate SchedulerAsyncAPICalls has no effect here {GATES}; "
        f"the plugin PodGroupPodsCount has no effect here {PLUGINS}"
    )


def test_a_plugin_of_the_users_own_takes_the_place_of_one_that_is_not_built():
    configuration = configured(multiPoint=["PodGroupPodsCount"])
    own = {"PodGroupPodsCount"}
    assert idle_choices(configuration, DEFAULT_GATES, *EVERYTHING, own=own) == ()


def test_the_classic_rules_read_one_gate_where_pods_are_decided_for():
    classic = read_configuration(
        {**HEAD, "rules": "classic"},
        source="c",
    )
    gates = Gates({"PodLevelResources": False, "VolumeLimitScaling": True})
    (warning,) = idle_choices(classic, gates, "configuration", "decisions")
    assert warning == f"the feature gate VolumeLimitScaling has no effect here {GATES}"
    (warning,) = idle_choices(classic, gates, *EVERYTHING)
    assert warning.startswith("the feature gates PodLevelResources, VolumeLimitScaling have")
