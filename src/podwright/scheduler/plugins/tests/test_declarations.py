"""What in-tree plugins declare of themselves.

Results are kept for as long as nothing changes that the plugin reads, so a plugin that reads more
than it declares decides by outdated results, and one that declares too much is evaluated in every
cycle. Upstream evaluates all of them in every cycle; the kind of normalization is that of
`NormalizeScore` in pkg/scheduler/framework/plugins.
"""

from __future__ import annotations

from typing import NamedTuple

import pytest

from podwright.scheduler.columns import Reads
from podwright.scheduler.framework import Normalization, Plugin
from podwright.scheduler.plugins.tests.test_registered_events import PLUGINS

NOTHING, NODE, PODS, CLUSTER = Reads.NOTHING, Reads.NODE, Reads.PODS, Reads.CLUSTER
STORAGE = Reads.STORAGE


class Filtering(NamedTuple):
    """What PreFilter and Filter read; None: the plugin does not take part in it."""

    pre_filter: int | None
    each_node: int | None


class Scoring(NamedTuple):
    """What Score reads, and what becomes of its points."""

    each_node: int
    normalization: Normalization


FILTERS = {
    "Coscheduling": Filtering(CLUSTER, None),
    "DynamicResources": Filtering(CLUSTER, CLUSTER),
    "InterPodAffinity": Filtering(Reads.NAMESPACES | Reads.TERMS, CLUSTER),
    "NodeAffinity": Filtering(NOTHING, NODE),
    "NodeDeclaredFeatures": Filtering(NOTHING, NODE),
    "NodeName": Filtering(None, NODE),
    "NodePorts": Filtering(NOTHING, NODE | PODS),
    "NodeResourcesFit": Filtering(NOTHING, NODE | PODS),
    "NodeUnschedulable": Filtering(None, NODE),
    "NodeVolumeLimits": Filtering(STORAGE, NODE | PODS | STORAGE),
    "PodTopologySpread": Filtering(Reads.WORKLOADS, CLUSTER),
    "TaintToleration": Filtering(None, NODE),
    "VolumeBinding": Filtering(STORAGE, NODE | STORAGE),
    "VolumeRestrictions": Filtering(STORAGE, PODS | STORAGE),
    "VolumeZone": Filtering(STORAGE, NODE | STORAGE),
}
SCORES = {
    "DynamicResources": Scoring(NODE, Normalization.DEFAULT),
    "ImageLocality": Scoring(NODE | Reads.IMAGES, Normalization.NONE),
    "InterPodAffinity": Scoring(CLUSTER, Normalization.CUSTOM),
    "NodeAffinity": Scoring(NODE, Normalization.DEFAULT),
    "NodeResourcesBalancedAllocation": Scoring(NODE | PODS, Normalization.NONE),
    "NodeResourcesFit": Scoring(NODE | PODS, Normalization.NONE),
    "PodTopologySpread": Scoring(CLUSTER, Normalization.CUSTOM),
    "TaintToleration": Scoring(NODE, Normalization.DEFAULT_REVERSED),
    "VolumeBinding": Scoring(NODE | STORAGE, Normalization.NONE),
}


def filters(plugin: Plugin) -> Filtering:
    return Filtering(
        plugin.pre_filter_reads if plugin.implements("pre_filter") else None,
        plugin.filter_reads if plugin.filters_columns else None,
    )


@pytest.mark.parametrize(("name", "plugin"), PLUGINS.items())
def test_what_the_results_of_a_plugin_depend_on(name: str, plugin: Plugin) -> None:
    assert filters(plugin) == FILTERS.get(name, (None, None))
    assert plugin.scores_columns is (name in SCORES)
    if name in SCORES:
        assert (plugin.score_reads, plugin.normalization) == SCORES[name]
        assert plugin.scores_in_range, "the framework need not check any score"


@pytest.mark.parametrize(("name", "plugin"), PLUGINS.items())
def test_only_labels_that_something_selects_divide_pods(name: str, plugin: Plugin) -> None:
    # Groups are made by a label, and a preemptor has no key.
    assert plugin.key_reads_all_labels is (name in {"Coscheduling", "DefaultPreemption"})


def test_plugins_of_which_a_pod_needs_nothing_are_not_called_when_it_is_placed() -> None:
    """Upstream: pkg/scheduler/framework/runtime/framework.go, RunReservePluginsReserve."""
    resting = {name for name, plugin in PLUGINS.items() if plugin.rests_when_skipped}
    assert resting == {"Coscheduling", "DynamicResources", "VolumeBinding"}


def test_plugins_that_depend_on_feature_gates_receive_them() -> None:
    """Upstream: pkg/scheduler/framework/plugins/registry.go, runtime.FactoryAdapter."""
    assert {name for name, plugin in PLUGINS.items() if plugin.takes_gates} == {
        "DefaultPreemption",
        "DynamicResources",
        "NodeDeclaredFeatures",
        "NodeResourcesFit",
        "NodeVolumeLimits",
        "PodTopologySpread",
        "TaintToleration",
        "VolumeBinding",
    }


def test_only_requests_make_most_keys_different() -> None:
    varying = {name for name, plugin in PLUGINS.items() if plugin.key_varies}
    assert varying == {"NodeResourcesBalancedAllocation", "NodeResourcesFit"}


PRE_SCORES = {
    "InterPodAffinity": Reads.NAMESPACES | Reads.TERMS,
    "NodeAffinity": NOTHING,
    "NodeResourcesBalancedAllocation": NOTHING,
    "NodeResourcesFit": NOTHING,
    "PodTopologySpread": Reads.WORKLOADS,
    "TaintToleration": NOTHING,
    "VolumeBinding": NOTHING,
}


def test_what_is_prepared_for_scores_depends_on_few_objects() -> None:
    found = {
        name: plugin.pre_score_reads
        for name, plugin in PLUGINS.items()
        if plugin.implements("pre_score")
    }
    assert found == PRE_SCORES
