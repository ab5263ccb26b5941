"""Conditions of breakpoints as a whole: what is read, what is wrong, what they match."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pytest

from podwright.online.apiserver.breakpoints import (
    BREAKPOINTS_MAX,
    BreakCondition,
    Breakpoint,
    BreakpointHit,
    Breakpoints,
    read_condition,
)
from podwright.scheduler.framework import Decision, Status
from podwright.testing import make_pod


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("pod=web", {"pod": "default/web"}),
        ("pod=a/web", {"pod": "a/web"}),
        ("label=app=web", {"labels": (("app", "web"),)}),
        ("label=a=,label=b=c=d", {"labels": (("a", ""), ("b", "c=d"))}),
        ("plugin=Fit", {"plugin": "Fit", "outcome": "call"}),
        ("point=Score", {"point": "Score", "outcome": "call"}),
        ("score-above=90", {"score_above": 90, "outcome": "call"}),
        ("score-above=-1", {"score_above": -1, "outcome": "call"}),
        ("on=call", {"outcome": "call"}),
        ("on=error,pod=a/b", {"outcome": "error", "pod": "a/b"}),
        ("plugin=Fit,point=Filter,on=reject",
         {"plugin": "Fit", "point": "Filter", "outcome": "reject"}),
    ],
)  # fmt: skip
def test_a_condition_has_what_its_text_names(text, parts):
    found = read_condition(text, {"Fit"})
    assert found == BreakCondition(text=text, **parts)
    assert found.is_about_calls is ("outcome" in parts)


KEYS = "use pod, label, plugin, point, on, score-above, such as pod=default/web"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", f'"" is not a key of a condition: {KEYS}'),
        ("pods=a", f'"pods" is not a key of a condition: {KEYS}; did you mean "pod"?'),
        ("pod", '"pod" has no value; write pod=VALUE'),
        ("on=", '"on=" has no value; write on=VALUE'),
        ("label=app", '"label=app" has no value of the label; write label=KEY=VALUE'),
        ("pod=a,pod=b", '"pod" is given more than once'),
        ("pod=a/b/c", '"a/b/c" is not the name of a pod: write NAMESPACE/NAME'),
        ("pod=/a", '"/a" is not the name of a pod: write NAMESPACE/NAME'),
        ("pod=a/", '"a/" is not the name of a pod: write NAMESPACE/NAME'),
        ("score-above=high", '"high" is not an integer'),
        ("on=rejct",
         '"rejct" is not an outcome: use call, reject, error; did you mean "reject"?'),
        ("plugin=Fix",
         '"Fix" is not an enabled plugin: use Fit, Taint; did you mean "Fit"?'),
        ("plugin=Zzz", '"Zzz" is not an enabled plugin: use Fit, Taint'),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_condition(text, message):
    with pytest.raises(ValueError) as wrong:  # noqa: PT011 - the message is compared
        read_condition(text, {"Taint", "Fit"})
    assert str(wrong.value) == message


def test_a_point_is_one_of_those_that_are_observed():
    with pytest.raises(ValueError) as wrong:  # noqa: PT011 - the message is compared
        read_condition("point=Scor")
    text = str(wrong.value)
    assert text.startswith('"Scor" is not an extension point: use PreEnqueue, PreFilter, ')
    assert text.endswith('; did you mean "Score"?')
    assert read_condition("plugin=Anything").plugin == "Anything"


POD = make_pod("web", namespace="a", labels={"app": "web", "tier": ""})


def method(plugin: str = "Fit", point: str = "Filter") -> Any:
    return SimpleNamespace(plugin=plugin, point=point)


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("pod=a/web", True), ("pod=web", False), ("pod=a/other", False),
        ("label=app=web", True), ("label=app=x", False), ("label=none=", False),
        ("label=tier=,label=app=web", True), ("label=tier=,label=app=x", False),
        ("pod=a/web,label=app=web", True), ("pod=a/other,label=app=web", False),
    ],
)  # fmt: skip
def test_a_pod_matches_by_its_name_and_all_labels(text, matches):
    assert read_condition(text).matches_pod(POD) is matches


FITS, REJECTED, FAILED = Status(), Status.unschedulable("no"), Status.error("bad")


@pytest.mark.parametrize(
    ("text", "call", "status", "answer", "matches"),
    [
        ("plugin=Fit", method(), FITS, None, True),
        ("plugin=Fit", method("Taint"), FITS, None, False),
        ("point=Filter", method(), FITS, None, True),
        ("point=Score", method(), FITS, None, False),
        ("plugin=Fit,point=Score", method(point="Score"), FITS, 3, True),
        ("on=call", method("Any", "Bind"), FITS, None, True),
        ("on=reject", method(), REJECTED, None, True),
        ("on=reject", method(), FITS, None, False),
        ("on=reject", method(), FAILED, None, False),
        ("on=error", method(), FAILED, None, True),
        ("on=error", method(), REJECTED, None, False),
        ("score-above=5", method(point="Score"), FITS, 6, True),
        ("score-above=5", method(point="Score"), FITS, 5, False),
        ("score-above=5", method(point="ScoreExtensionNormalize"), FITS, 6, True),
        ("score-above=5", method(point="Filter"), FITS, 6, False),
        ("score-above=5", method(point="Score"), FITS, None, False),
        ("on=call,pod=a/other", method(), FITS, None, False),
    ],
)
def test_a_call_matches_by_all_that_is_named(text, call, status, answer, matches):
    condition = read_condition(text)
    assert condition.matches_call(call, (POD, None), status, answer) is matches


@pytest.mark.parametrize(
    ("codes", "rows", "matches"),
    [([0, 0], [0, 1], False), ([0, 2], [0, 1], True), ([0, 2], [0], False), ([2, 0], [], False)],
)
def test_a_filter_on_columns_rejects_by_its_rows(codes, rows, matches):
    verdicts = SimpleNamespace(codes=np.array(codes), rows=np.array(rows, dtype=np.int64))
    arguments = (POD, None, verdicts)
    condition = read_condition("on=reject")
    assert condition.matches_call(method(), arguments, FITS, None) is matches
    assert not condition.matches_call(method(), (POD, None, object()), FITS, None)


def decision(pod: Any) -> Decision:
    return SimpleNamespace(pod=pod)  # type: ignore[return-value]  # what is read of one


def test_a_cluster_stops_once_at_the_first_breakpoint_that_matches():
    points = Breakpoints()
    points.attempt_of = lambda pod: 3 if pod is POD else 9
    other = make_pod("other")
    assert points.list() == []
    added = [
        points.add(read_condition(text))
        for text in ("on=error", "pod=web", "pod=a/web", "pod=a/web")
    ]
    assert [each.number for each in added] == [1, 2, 3, 4]
    points.decided([decision(other)], 0)
    assert not points.until_hit(lambda: False)()
    points.decided([decision(other), decision(POD)], 0)
    assert points.hit == BreakpointHit(breakpoint=3, pod="a/web", attempt=3)
    points.decided([decision(POD)], 0)
    points.called(method(), (POD,), FAILED, None)
    assert [each.hit_count for each in points.list()] == [0, 0, 1, 0]
    points.release()
    points.called(method(), (POD, "n"), FAILED, None)
    assert points.hit is not None
    assert msgspec.structs.astuple(points.hit) == (1, "a/web", 3, "Fit", "Filter", "n", "bad")
    assert points.list() == [
        Breakpoint(number=1, condition="on=error", hit_count=1),
        Breakpoint(number=2, condition="pod=web"),
        Breakpoint(number=3, condition="pod=a/web", hit_count=1),
        Breakpoint(number=4, condition="pod=a/web"),
    ]


def test_breakpoints_are_removed_by_their_numbers_which_are_not_used_again():
    points = Breakpoints()
    about_calls = [points.has_call_conditions]
    for text in ("pod=a", "on=call"):
        points.add(read_condition(text))
        about_calls.append(points.has_call_conditions)
    assert [points.remove(2), points.remove(2)] == [True, False]
    assert [*about_calls, points.has_call_conditions] == [False, False, True, False]
    assert points.add(read_condition("pod=b")).number == 3
    assert [each.number for each in points.list()] == [1, 3]


def test_there_are_a_hundred_breakpoints_at_most():
    points = Breakpoints()
    for number in range(100):
        assert points.add(read_condition("pod=a")).number == number + 1
    with pytest.raises(ValueError, match=r"^there are 100 breakpoints; remove one of them first$"):
        points.add(read_condition("pod=a"))
    assert BREAKPOINTS_MAX == 100


def test_a_slice_ends_at_a_breakpoint():
    points = Breakpoints()

    def never() -> bool:
        return False

    assert points.until_hit(never) is never
    points.add(read_condition("pod=a/web"))
    is_over = points.until_hit(never)
    assert not is_over()
    points.decided([decision(POD)], 0)
    assert is_over()
    points.release()
    assert not is_over()
    assert points.until_hit(lambda: True)()
