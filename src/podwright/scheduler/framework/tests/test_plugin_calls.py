"""The calls of plugins from Reserve to Bind, passed on without a change."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.scheduler.columns import Cluster
from podwright.scheduler.framework import (
    Code,
    Cycle,
    Pending,
    Plugin,
    PluginCall,
    Profile,
    add_custom_result,
    trace_plugins,
)
from podwright.scheduler.framework.status import Status
from podwright.testing import make_pod


class Answers(Plugin):
    """Gives one answer at every point, and records a separate result."""

    name = "Answers"

    def __init__(self, answer: object) -> None:
        self.answer = answer

    def reserve(self, cycle: Cycle, node_name: str, progress: Any = None) -> Any:
        add_custom_result(cycle, "last", node_name)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    permit = pre_bind = bind = continue_pre_bind = continue_bind = reserve


def called(answer: object, method: str) -> Any:
    """Return the one call that was passed on, and what the plugin returned or raised."""
    plugin, calls = Answers(answer), list[PluginCall]()
    trace_plugins(Profile(scheduler_name="s", reserve=(plugin,)), calls.append)
    cycle = Cycle(make_pod("web"), Cluster())
    add_custom_result(cycle, "first", "kept")
    try:
        returned = getattr(plugin, method)(cycle, "n1")
    except ValueError as error:
        returned = error
    (call,) = calls
    return call, returned


@pytest.mark.parametrize(
    ("method", "point"),
    [
        ("reserve", "reserve"),
        ("permit", "permit"),
        ("pre_bind", "pre_bind"),
        ("continue_pre_bind", "pre_bind"),
        ("bind", "bind"),
        ("continue_bind", "bind"),
    ],
)
def test_a_call_is_passed_on_with_its_point_and_what_it_added(method: str, point: str) -> None:
    call, returned = called(Status.OK, method)
    assert returned is Status.OK
    assert (call.point, call.plugin, call.status) == (point, "Answers", Status.OK)
    assert (call.uid, call.timeout_ns) == (make_pod("web").uid, 0)
    assert call.custom_results == {"last": "n1"}


PENDING = Pending()
WAITS = (Status.wait(), "5s")


@pytest.mark.parametrize(
    ("answer", "method", "code", "timeout_ns"),
    [
        pytest.param(PENDING, "pre_bind", None, 0, id="PreBind is not done"),
        pytest.param(PENDING, "bind", None, 0, id="Bind is not done"),
        pytest.param(PENDING, "reserve", Code.ERROR, 0, id="Reserve has no second step"),
        pytest.param(WAITS, "permit", Code.WAIT, 5 * 10**9, id="Permit waits"),
        pytest.param(WAITS, "reserve", Code.ERROR, 0, id="Reserve has no timeout"),
        pytest.param((Status.wait(), "soon"), "permit", Code.ERROR, 0, id="no duration"),
        pytest.param(None, "bind", Code.ERROR, 0, id="a forgotten return"),
        pytest.param(Status.unschedulable("no"), "permit", Code.UNSCHEDULABLE, 0, id="a no"),
    ],
)
def test_the_status_of_an_answer(
    answer: object, method: str, code: Code | None, timeout_ns: int
) -> None:
    call, returned = called(answer, method)
    assert returned is answer
    assert (call.status and call.status.code, call.timeout_ns) == (code, timeout_ns)


def test_an_exception_is_passed_on_and_raised_again() -> None:
    call, raised = called(ValueError("broken"), "reserve")
    assert str(raised) == "broken"
    assert call.status.code == Code.ERROR
    assert "ValueError: broken" in call.status.message
    assert "pod default/web, node n1" in call.status.message
    assert call.custom_results == {"last": "n1"}


def test_methods_that_a_plugin_does_not_have_are_not_traced() -> None:
    plugin = Plugin()
    trace_plugins(Profile(scheduler_name="s", reserve=(plugin,)), print)
    assert {"reserve", "permit", "pre_bind", "bind"}.isdisjoint(vars(plugin))
    assert not plugin.implements("bind")
