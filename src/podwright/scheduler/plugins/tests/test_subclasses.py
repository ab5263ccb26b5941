"""What subclasses of the built-in plugins inherit."""

import pytest

from podwright.scheduler.columns import Cluster, Reads
from podwright.scheduler.framework import Plugin
from podwright.scheduler.plugins.node_resources_fit import NodeResourcesFit
from podwright.scheduler.plugins.node_volume_limits import NodeVolumeLimits


class FiltersByName(NodeResourcesFit):
    def filter_columns(self, cycle, nodes, out):
        super().filter_columns(cycle, nodes, out)


class ScoresByName(NodeResourcesFit):
    def score_columns(self, cycle, nodes, out):
        super().score_columns(cycle, nodes, out)


class Renamed(NodeResourcesFit):
    pass


class LimitsByName(NodeVolumeLimits):
    def filter_columns(self, cycle, nodes, out):
        super().filter_columns(cycle, nodes, out)


@pytest.mark.parametrize(
    ("subclass", "keeps_sums", "keeps_requests"),
    [(Renamed, True, True), (FiltersByName, False, True), (ScoresByName, True, False)],
)
def test_a_subclass_that_filters_or_scores_itself_loses_the_form_as_sums(
    subclass, keeps_sums, keeps_requests
):
    assert (subclass.filter_as_sums is not Plugin.filter_as_sums) is keeps_sums
    assert (subclass.score_as_requests is not Plugin.score_as_requests) is keeps_requests


def test_a_subclass_that_filters_itself_may_read_pods():
    assert NodeVolumeLimits.filter_ignores_pods is not Plugin.filter_ignores_pods
    assert LimitsByName.filter_ignores_pods is Plugin.filter_ignores_pods


def test_what_a_subclass_reads_counts_for_pods_that_use_it():
    class ReadsStorage(NodeResourcesFit):
        pre_filter_reads = Reads.STORAGE

    plugin, cluster = ReadsStorage(), Cluster()
    reads = [plugin.reads_for(key, cluster).preparation for key in (("cpu", 1), ())]
    assert reads == [Reads.STORAGE, Reads.NOTHING]
