"""What happened after the choice of a node, by the calls of plugins and the events."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from podwright.apimachinery.objects import Pod, with_fields
from podwright.scheduler.config import Extender, ExtenderReply
from podwright.scheduler.framework import CalledExtender, PluginCall, PostFilterResult, Status
from podwright.scheduler.machine import (
    Bind,
    CallExtender,
    CycleDue,
    EmitEvent,
    ExtenderReplied,
    ObjectDeleted,
)
from podwright.simulation.kss import results
from podwright.simulation.kss.results import AttemptTrace, PlacementOutcome
from podwright.simulation.recording import Entry
from podwright.testing import make_pod

SECOND = 1_000_000_000
NO = Status.unschedulable("no")
WAIT = Status.wait()


def profile(point: str) -> Any:
    plugins = tuple(SimpleNamespace(name=name) for name in "AB")
    return SimpleNamespace(**{point: plugins})


def call(point: Any, plugin: str, status: Status | None, **fields: Any) -> PluginCall:
    return PluginCall(uid="u", point=point, plugin=plugin, status=status, **fields)


def permit(plugin: str, status: Status | None, timeout_ns: int = 0) -> PluginCall:
    return call("permit", plugin, status, timeout_ns=timeout_ns)


@pytest.mark.parametrize(
    ("node", "calls", "statuses", "timeouts"),
    [
        pytest.param("", [permit("A", NO)], {}, {}, id="no node"),
        pytest.param("n", [call("reserve", "A", NO)], {}, {}, id="Reserve failed"),
        pytest.param(
            "n",
            [call("reserve", "A", None), call("reserve", "B", Status.OK)],
            {"A": "success", "B": "success"},
            {"A": "0s", "B": "0s"},
            id="Reserve succeeded",
        ),
        pytest.param(
            "n",
            [permit("A", WAIT, 5 * SECOND)],
            {"A": "wait", "B": "success"},
            {"A": "5s", "B": "0s"},
            id="one waits",
        ),
        pytest.param("n", [permit("A", NO)], {"A": "no"}, {"A": "0s"}, id="the first rejects"),
        pytest.param(
            "n",
            [permit("A", None), permit("B", NO)],
            {"A": "success", "B": "no"},
            {"A": "0s", "B": "0s"},
            id="the second rejects",
        ),
        pytest.param(
            "n",
            [permit("A", NO), permit("A", Status.OK)],
            {"A": "success", "B": "success"},
            {"A": "0s", "B": "0s"},
            id="the last call counts",
        ),
    ],
)
def test_results_of_permit(node, calls, statuses, timeouts):
    placed = PlacementOutcome(node=node, calls=tuple(calls))
    assert results._permit(profile("permit"), placed) == (statuses, timeouts)


@pytest.mark.parametrize(
    ("has_begun", "calls", "expected"),
    [
        pytest.param(False, [], {}, id="not begun"),
        pytest.param(True, [], {"A": "success", "B": "success"}, id="no plugin reports more"),
        pytest.param(False, [("A", Status.OK)], {"A": "success", "B": "success"}, id="called"),
        pytest.param(True, [("A", NO)], {"A": "no"}, id="the first failed"),
        pytest.param(True, [("B", NO)], {"A": "success", "B": "no"}, id="the second failed"),
        pytest.param(True, [("A", None)], {}, id="the first has not finished"),
        pytest.param(True, [("B", None)], {"A": "success"}, id="the second has not finished"),
    ],
)
def test_results_of_a_point_end_at_what_failed(has_begun, calls, expected):
    made = tuple(call("reserve", *each) for each in calls)
    placed = PlacementOutcome(node="n", calls=(*made, call("pre_bind", "A", NO)))
    found = results._point_results(profile("reserve"), "reserve", placed, has_begun=has_begun)
    assert found == expected


@pytest.mark.parametrize(
    ("status", "end", "expected"),
    [
        (Status.OK, {}, {"A": "success"}),
        (NO, {}, {"A": "no"}),
        (None, {"is_bound": True}, {"A": "success"}),
        (None, {}, {}),
    ],
)
def test_a_binder_has_succeeded_once_the_pod_is_bound(status, end, expected):
    """Upstream: simulator/scheduler/plugin/wrappedplugin.go, Bind: it records what was returned."""
    placed = PlacementOutcome(node="n", calls=(call("bind", "A", status),), **end)
    assert results._bind(placed) == expected


FITS_SOON = msgspec.structs.replace(Status.OK, plugin="P")


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        pytest.param(None, {}, id="not called"),
        pytest.param((FITS_SOON, "n1"), {"n1": {"P": "preemption victim"}, "n2": {}}, id="one"),
        pytest.param((FITS_SOON, ""), {"n1": {}, "n2": {}}, id="none is nominated"),
        pytest.param((FITS_SOON, "n9"), {"n1": {}, "n2": {}}, id="one that was not rejected"),
        pytest.param((NO, "n1"), {"n1": {}, "n2": {}}, id="it has failed"),
    ],
)
def test_the_nominated_node_has_a_result_among_those_that_were_rejected(result, expected):
    """Upstream: simulator/scheduler/plugin/wrappedplugin.go, PostFilter; AddPostFilterResult."""
    found = result and PostFilterResult(status=result[0], nominated_node=result[1])
    explanation: Any = SimpleNamespace(
        decision=SimpleNamespace(post_filter=found), rejected={"n1": NO, "n2": NO}
    )
    assert results._post_filters(explanation) == expected


# ------------------------------------------------------------------------ the trace


def pod_of(uid: str) -> Pod:
    return with_fields(make_pod("p"), "metadata", uid=uid)


def emitted(reason: str, uid: str = "u") -> EmitEvent:
    return EmitEvent(
        pod="default/p",
        uid=uid,
        reason=reason,
        type="Normal",
        action="Binding",
        note="",
        controller="",
    )


def entry(index: int, event: Any = None) -> Entry:
    return Entry(
        index=index, now_ns=0, event=CycleDue() if event is None else event, actions=b"", pods=()
    )


def bind(uid: str = "u") -> Bind:
    return Bind(call=1, pod="default/p", uid=uid, node="n")


@pytest.mark.parametrize(
    ("node", "calls", "steps", "is_decided", "reserved"),
    [
        pytest.param("", [], [(5, None, [])], True, "", id="no node"),
        pytest.param("n", [], [(4, None, [])], False, "", id="before the end of the cycle"),
        pytest.param("n", [], [(5, None, [])], False, "n", id="a node"),
        pytest.param("n", [], [(5, None, [emitted("FailedScheduling")])], True, "", id="failed"),
        pytest.param(
            "n",
            [call("reserve", "A", NO)],
            [(5, None, [emitted("FailedScheduling")])],
            True,
            "n",
            id="failed at Reserve",
        ),
        pytest.param(
            "n", [], [(5, None, []), (6, None, [emitted("Scheduled")])], True, "n", id="bound"
        ),
        pytest.param(
            "n", [], [(5, None, []), (6, None, [emitted("Preempted")])], False, "n", id="another"
        ),
        pytest.param(
            "n", [], [(5, None, []), (6, None, [emitted("Scheduled", "v")])], False, "n",
            id="of another pod",
        ),
        pytest.param(
            "n", [], [(5, None, []), (6, ObjectDeleted(pod_of("u")), [])], True, "n", id="gone"
        ),
        pytest.param(
            "n", [], [(5, None, []), (6, ObjectDeleted(pod_of("v")), [])], False, "n",
            id="another one is gone",
        ),
    ],
)  # fmt: skip
def test_an_attempt_is_decided_when_its_pod_is_bound_has_failed_or_is_gone(
    node, calls, steps, is_decided, reserved
):
    trace = AttemptTrace("u", 5, node)
    for each in calls:
        trace.record_call(each)
    trace.record_call(PluginCall(uid="v", point="reserve", plugin="A", status=NO))
    for index, event, actions in steps:
        trace.process(entry(index, event), actions)
    assert trace.is_decided is is_decided
    placed = trace.placed()
    assert (placed.node, placed.calls) == (reserved, tuple(calls))


@pytest.mark.parametrize(
    ("calls", "actions", "is_binding"),
    [
        pytest.param([], [], False, id="nothing"),
        pytest.param([], [bind()], True, id="the binding of the pod"),
        pytest.param([], [bind("v")], False, id="of another pod"),
        pytest.param([call("bind", "A", Status.OK)], [], True, id="a plugin"),
        pytest.param([call("reserve", "A", Status.OK)], [], False, id="another point"),
    ],
)
def test_a_pod_is_being_bound_once_a_binder_was_called(calls, actions, is_binding):
    trace = AttemptTrace("u", 5, "n")
    for each in calls:
        trace.record_call(each)
    trace.process(entry(5), actions)
    placed = trace.placed()
    assert (placed.is_binding, placed.is_bound) == (is_binding, False)


def test_answers_of_extenders_about_the_pod_are_kept():
    settings = Extender(url_prefix="http://x", filter_verb="f", bind_verb="b", weight=3)
    extender = CalledExtender(settings=settings, index=0, managed=frozenset())
    trace = AttemptTrace("u", 5, "n", [extender])

    def calls(number: int, verb: Any, body: bytes = b"{}") -> CallExtender:
        return CallExtender(number, extender.forwarded(verb, body))

    def replied(number: int, body: bytes) -> ExtenderReplied:
        return ExtenderReplied(number, ExtenderReply(status=200, body=body))

    trace.process(entry(3), [calls(1, "filter")])
    trace.process(entry(4, replied(9, b"of no call")), [])
    trace.process(entry(5, replied(1, b"1")), [calls(2, "bind", b'{"PodUID":"v"}')])
    assert not trace.placed().is_binding, "another pod is bound"
    trace.process(entry(6, replied(2, b"2")), [calls(3, "filter")])
    trace.process(entry(7, replied(3, b"3")), [calls(4, "bind", b'{"PodUID":"u"}')])
    assert trace.placed().is_binding
    trace.process(entry(8, replied(4, b"4")), [])
    trace.process(entry(9, replied(4, b"5")), [])
    assert [(one.name, one.weight, one.verb, one.reply.body) for one in trace.answers] == [
        ("http://x", 3, "filter", b"1"),
        ("http://x", 3, "bind", b"4"),
    ]
