"""PreScore: what plugins may answer, and what follows.

Upstream: pkg/scheduler/framework/runtime/framework.go, RunPreScorePlugins
"""

from __future__ import annotations

import pytest

from podwright.scheduler.columns import Cluster
from podwright.scheduler.framework import Cycle, Explanation, NodeView, Plugin, PluginRunner
from podwright.scheduler.framework.profile import Profile
from podwright.scheduler.framework.status import Status
from podwright.testing import make_node, make_pod


class Prepares(Plugin):
    """Scores a node by its name, after the answer of its PreScore."""

    name = "Prepares"

    def __init__(self, answer: object) -> None:
        self.answer = answer

    def pre_score(self, cycle: Cycle) -> Status:
        if isinstance(self.answer, Exception):
            raise self.answer
        answered: Status = self.answer  # type: ignore[assignment]
        return answered

    def score(self, cycle: Cycle, node: NodeView) -> int:
        return 10 if node.name == "n2" else 0


def runner(answer: object, *nodes: str) -> PluginRunner:
    cluster = Cluster()
    for name in nodes:
        cluster.put(make_node(name))
    plugin = Prepares(answer)
    profile = Profile(scheduler_name="s", pre_score=(plugin,), score=((plugin, 1),))
    return PluginRunner(profile, cluster)


def explained(answer: object, *nodes: str) -> Explanation:
    return runner(answer, *nodes).explain(make_pod("web"), cycle_number=1, now_ns=0)


@pytest.mark.parametrize(
    ("answer", "tie_count"), [(Status.OK, 1), (Status.skip(), 2)], ids=["success", "skip"]
)
def test_a_plugin_scores_unless_it_skips(answer: Status, tie_count: int) -> None:
    decision = runner(answer, "n1", "n2").decide(make_pod("web"), cycle_number=1)
    assert (decision.error, decision.tie_count) == (None, tie_count)
    found = explained(answer, "n1", "n2")
    assert bool(found.scores) is (tie_count == 1)
    assert found.pre_scores["Prepares"].code == answer.code


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        pytest.param(Status.unschedulable("no"), "no", id="a rejection"),
        pytest.param(Status.error("no"), "no", id="an error"),
        pytest.param(ValueError("no"), "ValueError: no (pod default/web)", id="an exception"),
        pytest.param(
            None,
            "TypeError: returned None, not a Status (pod default/web)",
            id="a forgotten return",
        ),
    ],
)
def test_other_answers_are_errors_of_the_cycle(answer: object, text: str) -> None:
    error = runner(answer, "n1", "n2").decide(make_pod("web"), cycle_number=1).error
    assert error is not None
    assert error.message == f'running PreScore plugin "Prepares": {text}'
    found = explained(answer, "n1", "n2")
    assert found.error == error
    # An explanation shows what the plugin itself said.
    shown = found.pre_scores["Prepares"]
    assert shown == Status.error(error.message.removeprefix('running PreScore plugin "Prepares": '))


def test_a_single_feasible_node_is_not_scored() -> None:
    assert runner(Status.error("no"), "n1").decide(make_pod("web"), cycle_number=1).node == "n1"
