"""Column plugins that fail again and again, and profiles in which no plugin decides."""

from podwright.columns import Reads
from podwright.framework import Cycle, NodeColumns, Plugin, Scores
from podwright.machine import EmitEvent
from podwright.machine.tests.driving import Driver
from podwright.testing import make_node, make_pod


class Failing(Plugin):
    """Raises instead of writing scores, which the machine would cache."""

    name = "Failing"
    score_reads = Reads.NODE
    scores_in_range = True

    def pod_key(self, pod: object) -> tuple[()]:
        return ()

    def score_columns(self, cycle: Cycle, nodes: NodeColumns, out: Scores) -> None:
        raise ValueError("no idea")


def test_a_score_that_fails_for_every_pod_is_reported_for_every_pod() -> None:
    driver = Driver(Failing)
    driver.put(make_node("n1"), make_node("n2"))
    for name in ("a", "b", "c", "d"):
        driver.put(make_pod(name, cpu="1"))
        driver.cycle()
    notes = [action.note for action in driver.all_of(EmitEvent)]
    assert len(notes) == 4
    assert all("no idea" in note for note in notes)


def test_a_profile_without_filters_and_scores_takes_any_node() -> None:
    plugins = {
        "multiPoint": {"disabled": [{"name": "*"}]},
        "queueSort": {"enabled": [{"name": "PrioritySort"}]},
        "bind": {"enabled": [{"name": "DefaultBinder"}]},
    }
    head = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
    }
    driver = Driver(config=head | {"profiles": [{"plugins": plugins}]})
    driver.put(make_node("n1"), make_pod("web", cpu="100"))
    driver.cycle()
    decision = driver.machine.last_decision
    assert decision is not None
    assert decision.node == "n1"
