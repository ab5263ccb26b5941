"""The base class of plugins."""

import inspect

import numpy as np
import pytest

import podwright as pw
from podwright.scheduler.framework import Plugin

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


class ReplacesScores(pw.Plugin):
    """Replaces the array of scores for one pod, and writes into it for others."""

    name = "ReplacesScores"

    def score_columns(self, cycle, nodes, out):
        if cycle.pod.name == "p":
            out.values = np.zeros(nodes.n_slots)
        else:
            out.values[nodes.slot_of["n1"]] = 100


@pytest.mark.parametrize("reads", [pw.Reads.NODE, pw.Reads.CLUSTER])
def test_an_array_that_replaces_the_scores_fails_that_cycle_only(reads):
    plugin = type("Mine", (ReplacesScores,), {"name": "Mine", "score_reads": reads})
    scheduler = pw.Scheduler(plugins=[plugin])
    scheduler.add(*(pw.testing.make_node(f"n{i}") for i in range(3)))
    error = scheduler.schedule(pw.testing.make_pod("p", cpu="1")).error
    assert error is not None
    assert "`out.values` must stay an array of int64" in error.message
    assert scheduler.schedule(pw.testing.make_pod("q", cpu="1")).node == "n1"


class Breaks(pw.Plugin):
    """Returns an error for one node instead of a rejection."""

    name = "Breaks"

    def filter(self, cycle, node):
        return pw.Status.error("no disk") if node.name == "n1" else pw.Status.OK


def test_an_error_for_one_node_ends_the_cycle():
    scheduler = pw.Scheduler(plugins=[Breaks])
    scheduler.add(*(pw.testing.make_node(f"n{i}") for i in range(3)))
    decision = scheduler.schedule(pw.testing.make_pod("p"))
    assert not decision.node
    assert decision.error is not None
    assert "no disk" in decision.error.message


class BreaksColumns(pw.Plugin):
    """Writes an error for one node into the columns."""

    name = "BreaksColumns"

    def filter_columns(self, cycle, nodes, out):
        out.reject_slot(nodes.slot_of["n1"], pw.Status.error("no disk"))


def test_an_error_in_the_columns_ends_the_cycle():
    scheduler = pw.Scheduler(plugins=[BreaksColumns])
    scheduler.add(*(pw.testing.make_node(f"n{i}") for i in range(3)))
    decision = scheduler.schedule(pw.testing.make_pod("p"))
    assert not decision.node
    assert decision.error is not None
    assert "no disk" in decision.error.message


def test_a_removed_node_is_not_feasible_in_an_explanation():
    scheduler = pw.Scheduler()
    nodes = [pw.testing.make_node(f"n{i}") for i in range(3)]
    scheduler.add(*nodes)
    scheduler.remove(nodes[1])
    explanation = scheduler.explain(pw.testing.make_pod("p", cpu="1"))
    assert sorted(explanation.feasible) == sorted(explanation.totals) == ["n0", "n2"]
