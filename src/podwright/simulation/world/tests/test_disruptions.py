"""What is counted of removed pods, from the requests that remove them."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.cluster.api import SCHEDULER_USER, DeleteObject, EvictPod, Rejection
from podwright.cluster.controllers import DrainNode
from podwright.cluster.store import ObjectStore
from podwright.simulation.world.inputs.input_review import InputReview
from podwright.simulation.world.runs.disruptions import Disruptions
from podwright.simulation.world.runs.report import ReportObservers
from podwright.testing import make_pod

MINUTE = 60_000_000_000


class _World:
    def __init__(self) -> None:
        self.store = ObjectStore()
        self.draining_nodes: tuple[str, ...] = ()


def observed() -> Disruptions:
    return Disruptions(_World(), {})


def evict(disruptions: Disruptions, pod: Any, error: Exception | None = None) -> None:
    request = EvictPod(pod.key, "", "admin")
    disruptions.removal_handled(pod, request, error, MINUTE)


def rejected(*budgets: str) -> Rejection:
    causes = [{"message": "it needs 2 healthy pods"}]
    return Rejection(429, "TooManyRequests", "no", {"causes": causes}, about=budgets)


def test_an_eviction_from_a_node_that_is_not_drained_is_counted() -> None:
    disruptions = observed()
    evict(disruptions, make_pod("a", node="n1"))
    assert (disruptions.evictions.evicted, disruptions.evictions.rejected) == (1, 0)
    evict(disruptions, make_pod("b", node="n1"), rejected("web"))
    assert (disruptions.evictions.evicted, disruptions.evictions.rejected) == (1, 1)


def test_a_drain_has_the_evictions_of_its_node_and_what_blocks_it() -> None:
    disruptions = observed()
    disruptions.node_event(DrainNode("n1"), MINUTE)
    disruptions.node_event(DrainNode("n1"), 2 * MINUTE)
    blocked, other = make_pod("a", node="n1"), make_pod("b", node="n2")
    evict(disruptions, blocked, rejected("web", "all"))
    evict(disruptions, other, rejected("web"))
    (drain,) = disruptions._drains
    assert (drain.node, drain.since_ns, drain.evicted) == ("n1", MINUTE, 0)
    (found,) = drain.blocked.values()
    assert (found.pod, found.budgets) == ("default/a", ("default/web", "default/all"))
    assert found.message.endswith("no it needs 2 healthy pods")
    evict(disruptions, blocked)
    assert (drain.evicted, drain.blocked) == (1, {})


@pytest.mark.parametrize("user", ["taint-eviction-controller", SCHEDULER_USER])
def test_other_removals_are_no_evictions(user: str) -> None:
    disruptions = observed()
    pod = make_pod("a", node="n1")
    disruptions.removal_handled(pod, DeleteObject("", "Pod", pod.key, "", user), None, MINUTE)
    counts = disruptions.evictions
    assert (counts.evicted, counts.rejected) == (0, 0)
    assert counts.by_taint == (user == "taint-eviction-controller")


def test_a_report_does_not_change_when_its_world_continues() -> None:
    observers = ReportObservers(_World(), {"default/a": "ReplicaSet/gone"})
    evict(observers.disruptions, make_pod("a", node="n1"))
    first = observers.report(InputReview(missing_owners={"default/b": "Job/gone"}), MINUTE)
    evict(observers.disruptions, make_pod("b", node="n1"), rejected("web"))
    second = observers.report(InputReview(), MINUTE)
    counts = [(each.evictions.evicted, each.evictions.rejected) for each in (first, second)]
    assert counts == [(1, 0), (1, 1)]
    assert (first.missing_owners, second.missing_owners) == ({"default/b": "Job/gone"}, {})
    assert [each.cause for each in first.lost_pods] == ["evicted"]


def test_a_drain_that_is_over_has_ended_in_a_report() -> None:
    observers = ReportObservers(_World(), {})
    observers.disruptions.node_event(DrainNode("n1"), MINUTE)
    (drain,) = observers.report(InputReview(), 3 * MINUTE).drains
    assert drain.status == "done"
