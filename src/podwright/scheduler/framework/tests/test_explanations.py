"""What an explanation records beside the results of plugins."""

from __future__ import annotations

import pytest

from podwright.apimachinery.objects import with_nominated_node_name
from podwright.scheduler.columns import Cluster
from podwright.scheduler.framework import (
    Cycle,
    Explanation,
    NodeView,
    Plugin,
    PluginRunner,
    Profile,
    Status,
    add_custom_result,
)
from podwright.testing import make_node, make_pod


class Tiny(Plugin):
    """Accept all nodes but one, and say which node was the last."""

    name = "Tiny"

    def filter(self, cycle: Cycle, node: NodeView) -> Status:
        add_custom_result(cycle, "last", node.name)
        return Status() if node.name != "n3" else Status.unschedulable("no")

    def score(self, cycle: Cycle, node: NodeView) -> int:
        return 1


def explained(*, nominated: str = "", scores: bool = True) -> Explanation:
    cluster = Cluster()
    for name in ("n1", "n2", "n3"):
        cluster.put(make_node(name))
    plugin = Tiny()
    profile = Profile(scheduler_name="s", filter=(plugin,), score=((plugin, 1),) if scores else ())
    pod = with_nominated_node_name(make_pod("web"), nominated)
    return PluginRunner(profile, cluster).explain(pod, cycle_number=1, now_ns=0)


def test_an_explanation_has_the_custom_results_of_its_cycle() -> None:
    assert explained().custom_results == {"last": "n3"}


@pytest.mark.parametrize(
    ("nominated", "scores", "not_examined", "reason"),
    [
        pytest.param("", True, (), None, id="every node is examined"),
        pytest.param(
            "n2", True, ("n1", "n3"), "nominatedNodeFits", id="a nominated node that fits"
        ),
        pytest.param("n3", True, (), None, id="one that does not"),
        pytest.param("", False, ("n2", "n3"), "enoughFeasibleNodes", id="one node is enough"),
    ],
)
def test_an_explanation_says_why_nodes_were_not_examined(
    nominated: str, scores: bool, not_examined: tuple[str, ...], reason: str | None
) -> None:
    found = explained(nominated=nominated, scores=scores)
    assert (found.not_examined, found.not_examined_reason) == (not_examined, reason)
