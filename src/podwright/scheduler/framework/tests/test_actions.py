"""The bits of what happens to objects, and scores in the form that a plugin gives them."""

import numpy as np
import pytest

from podwright.scheduler.columns import Cluster
from podwright.scheduler.framework import Cycle, Plugin, Scores
from podwright.scheduler.framework.adapter import PluginFailure, run_score
from podwright.scheduler.framework.events import ActionType
from podwright.testing import make_node, make_pod


def test_all_has_the_bits_of_all_actions_and_no_other():
    assert ActionType.ALL.value == sum(action.value for action in ActionType)


def test_scores_of_a_plugin_that_scores_node_by_node_are_written_at_its_rows():
    class ByName(Plugin):
        name = "ByName"

        def score(self, cycle, node):
            return int(node.name[1:])

    cluster = Cluster()
    for i in (7, 5, 3):
        cluster.put(make_node(f"n{i}"))
    out = Scores(np.full(cluster.nodes.n_slots, -1, dtype=np.int64), cluster.live_slots()[1:])
    run_score(ByName(), Cycle(make_pod("p"), cluster), out)
    by_name = dict(zip(cluster.nodes.names, out.values.tolist(), strict=False))
    assert [by_name[name] for name in ("n7", "n5", "n3")] == [-1, 5, 3]


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(np.zeros, id="of floats"),
        pytest.param(lambda n: np.zeros(n + 1, dtype=np.int64), id="longer"),
        pytest.param(lambda n: np.zeros((n, 1), dtype=np.int64), id="of two dimensions"),
        pytest.param(lambda n: [0] * n, id="a list"),
    ],
)
def test_scores_keep_their_array_if_a_plugin_puts_another_in_its_place(other):
    class Replaces(Plugin):
        name = "Replaces"

        def score_columns(self, cycle, nodes, out):
            out.values = other(nodes.n_slots)

    cluster = Cluster()
    cluster.put(make_node("n1"))
    values = np.zeros(cluster.nodes.n_slots, dtype=np.int64)
    out = Scores(values, cluster.live_slots())
    with pytest.raises(PluginFailure, match=r"`out\.values` must stay an array of int64"):
        run_score(Replaces(), Cycle(make_pod("p"), cluster), out)
    assert out.values is values
