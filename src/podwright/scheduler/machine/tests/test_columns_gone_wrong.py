"""Column plugins that fail again and again, and profiles in which no plugin decides."""

from typing import Any

import numpy as np
import pytest

from podwright.scheduler.columns import Reads
from podwright.scheduler.framework import Cycle, NodeColumns, Plugin, Scores
from podwright.scheduler.machine import EmitEvent
from podwright.scheduler.machine.tests.driving import Driver
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


class Replaces(Plugin):
    """Replaces the array of scores, or returns one."""

    name = "Replaces"

    def score_columns(self, cycle: Cycle, nodes: NodeColumns, out: Any) -> Any:
        match cycle.pod.metadata.name:
            case "fractions":
                out.values = np.full(nodes.n_slots, 0.5)
            case "too-few":
                out.values = out.values[:1]
            case "list":
                out.values = [1, 2]
            case "returned":
                return np.full(nodes.n_slots, 7)
            case _:
                out.values[out.rows] = np.int32(7)
        return None


MUST_STAY = (
    "TypeError: `out.values` must stay an array of int64 with 2 entries, one per slot;"
    " write to out.values[out.rows]"
)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("fractions", MUST_STAY),
        ("too-few", MUST_STAY),
        ("list", MUST_STAY),
        (
            "returned",
            "TypeError: returned an array of int64; write the scores to `out`, for example"
            " out.values[out.rows] = scores, and return nothing",
        ),
    ],
)
def test_scores_that_are_not_written_in_place_are_an_error(name: str, expected: str) -> None:
    driver = Driver(Replaces)
    driver.put(make_node("n1"), make_node("n2"), make_pod(name), make_pod("in-place"))
    driver.cycle()
    driver.cycle()
    text = f'running Score plugins: plugin "Replaces" failed with: {expected} (pod default/{name})'
    assert driver.notes[0] == f"FailedScheduling: {text}"
    assert driver.node_of("default/in-place")
