"""Plugins that raise, or answer what they may not: the pod hears of it, and is retried."""

from __future__ import annotations

from typing import Any, TypeVar

import pytest

from podwright.framework import Cycle, NodeView, Plugin, Status
from podwright.machine import FlushBackoff
from podwright.machine.tests.driving import SECOND_NS, Driver, pending
from podwright.testing import make_node

T = TypeVar("T")


class Broken(Plugin):
    """Goes wrong once, at the point that a test names."""

    name = "Broken"
    point = ""
    answer: Any = None

    def _go_wrong(self, point: str, otherwise: T) -> T:
        if type(self).point != point:
            return otherwise
        type(self).point = ""
        if isinstance(self.answer, Exception):
            raise self.answer
        wrong: T = self.answer
        return wrong

    def filter(self, cycle: Cycle, node: NodeView) -> Status:
        return self._go_wrong("filter", Status.OK)

    def score(self, cycle: Cycle, node: NodeView) -> int:
        return self._go_wrong("score", 0)

    def reserve(self, cycle: Cycle, node_name: str) -> Status:
        return self._go_wrong("reserve", Status.OK)

    def unreserve(self, cycle: Cycle, node_name: str) -> None:
        raise RuntimeError("unreserve must not fail, but does")

    def permit(self, cycle: Cycle, node_name: str) -> tuple[Status, int]:
        return self._go_wrong("permit", (Status.OK, 0))

    def pre_bind_pre_flight(self, cycle: Cycle, node_name: str) -> Status:
        return self._go_wrong("pre_bind_pre_flight", Status.OK)

    def pre_bind(self, cycle: Cycle, node_name: str) -> Status:
        return self._go_wrong("pre_bind", Status.OK)

    def bind(self, cycle: Cycle, node_name: str) -> Status:
        return self._go_wrong("bind", Status.SKIPPED)

    def post_bind(self, cycle: Cycle, node_name: str) -> None:
        raise RuntimeError("nobody cares")


WHERE = "(pod default/a, node n1)"
CONFIG = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [
        {
            "schedulerName": "default-scheduler",
            "plugins": {
                "multiPoint": {"enabled": [{"name": "Broken"}]},
                "bind": {
                    "disabled": [{"name": "*"}],
                    "enabled": [{"name": "Broken"}, {"name": "DefaultBinder"}],
                },
            },
        }
    ],
}


@pytest.mark.parametrize(
    ("point", "answer", "said"),
    [
        pytest.param(
            "filter",
            ValueError("oops"),
            f'running Filter plugin "Broken": ValueError: oops {WHERE}',
            id="an exception in a filter names the plugin, the point, the pod and the node",
        ),
        pytest.param(
            "reserve",
            ValueError("oops"),
            f'running Reserve plugin "Broken": ValueError: oops {WHERE}',
            id="an exception at Reserve",
        ),
        pytest.param(
            "reserve",
            "fine",
            f"running Reserve plugin \"Broken\": returned 'fine', not a Status {WHERE}",
            id="rubbish at Reserve",
        ),
        pytest.param(
            "permit",
            Status.OK,
            None,
            id="a status without a time-out is as good as one with",
        ),
        pytest.param(
            "permit",
            (Status.OK, "soon"),
            'running Permit plugin "Broken": returned (Status(code=<Code.SUCCESS: 0>, reasons=(),'
            f" plugin=''), 'soon'), not a Status {WHERE}",
            id="a time-out that is no number",
        ),
        pytest.param(
            "pre_bind_pre_flight",
            KeyError("disk"),
            f"running PreBindPreFlight \"Broken\": KeyError: 'disk' {WHERE}",
            id="an exception before PreBind",
        ),
        pytest.param(
            "pre_bind",
            None,
            f'running PreBind plugin "Broken": returned None, not a Status {WHERE}',
            id="PreBind without an answer",
        ),
        pytest.param(
            "bind",
            OSError("no route"),
            f'running Bind plugin "Broken": OSError: no route {WHERE}',
            id="an exception at Bind",
        ),
    ],
)
def test_the_pod_hears_what_went_wrong_and_is_bound_later(
    point: str, answer: object, said: str | None
) -> None:
    Broken.point, Broken.answer = point, answer
    driver = Driver(Broken, config=CONFIG)
    driver.put(make_node("n1"), pending("a", cpu="1"))
    driver.cycle()
    if said is not None:
        assert driver.notes == [f"FailedScheduling: {said}"]
        assert driver.condition("default/a") == ("SchedulerError", said)
        assert driver.place_of("default/a") == "error_backoff"
        assert not driver.machine.cluster.pods
        driver.now_ns += 3 * SECOND_NS
        driver.tell(FlushBackoff())
        driver.cycle()
    assert driver.node_of("default/a") == "n1"
    assert driver.notes[-1] == "Scheduled: Successfully assigned default/a to n1"


class Gatekeeper(Plugin):
    """Raises at PreEnqueue until told otherwise."""

    name = "Gatekeeper"
    is_broken = True

    def pre_enqueue(self, pod: Any) -> Status:
        if type(self).is_broken:
            raise RuntimeError("who are you")
        return Status.OK


def test_a_pod_that_cannot_be_let_in_is_held_back_and_hears_why() -> None:
    Gatekeeper.is_broken = True
    driver = Driver(Gatekeeper)
    driver.put(pending("a"))
    assert driver.place_of("default/a") == "gated"
    assert driver.notes == [
        'FailedScheduling: running PreEnqueue plugin "Gatekeeper": RuntimeError: who are you'
        " (pod default/a)"
    ]
    # It registered no events, so every event may help.
    Gatekeeper.is_broken = False
    driver.put(make_node("n1"))
    driver.cycle()
    assert driver.node_of("default/a") == "n1"
