"""The base class of plugins."""

import inspect

import numpy as np
import pytest

import podwright as pw
from podwright.framework import Plugin
from podwright.plugins.node_resources_fit import NodeResourcesFit

CALLED_ONLY_IF_DEFINED = [
    "sign_pod",
    "pre_enqueue",
    "queue_sort_key",
    "pre_filter",
    "filter",
    "filter_columns",
    "post_filter",
    "pre_score",
    "score",
    "score_columns",
    "normalize_score",
    "permit",
    "pre_bind",
    "bind",
]


@pytest.mark.parametrize("name", CALLED_ONLY_IF_DEFINED)
def test_a_method_that_a_plugin_does_not_define_is_an_error_to_call(name):
    parameters = list(inspect.signature(getattr(Plugin, name)).parameters)[1:]
    with pytest.raises(NotImplementedError):
        getattr(Plugin(), name)(*[None] * len(parameters))


class FiltersByName(NodeResourcesFit):
    def filter_columns(self, cycle, nodes, out):
        super().filter_columns(cycle, nodes, out)


class ScoresByName(NodeResourcesFit):
    def score_columns(self, cycle, nodes, out):
        super().score_columns(cycle, nodes, out)


class Renamed(NodeResourcesFit):
    pass


@pytest.mark.parametrize(
    ("subclass", "keeps_sums", "keeps_requests"),
    [(Renamed, True, True), (FiltersByName, False, True), (ScoresByName, True, False)],
)
def test_a_subclass_that_filters_or_scores_itself_loses_the_form_as_sums(
    subclass, keeps_sums, keeps_requests
):
    assert (subclass.filter_as_sums is not Plugin.filter_as_sums) is keeps_sums
    assert (subclass.score_as_requests is not Plugin.score_as_requests) is keeps_requests


class ReplacesCodes(pw.Plugin):
    """Replaces the array of verdicts instead of writing into it."""

    name = "ReplacesCodes"

    def filter_columns(self, cycle, nodes, out):
        out.reject(np.array([name == "n0" for name in nodes.names]), pw.Status.unschedulable("no"))
        out.codes = out.codes.copy()
        out.codes[nodes.slot_of["n1"]] = out.codes[nodes.slot_of["n0"]]


def test_verdicts_in_a_replaced_array_count():
    scheduler = pw.Scheduler(plugins=[ReplacesCodes])
    scheduler.add(*(pw.testing.make_node(f"n{i}") for i in range(3)))
    assert scheduler.schedule(pw.testing.make_pod("p")).node == "n2"
