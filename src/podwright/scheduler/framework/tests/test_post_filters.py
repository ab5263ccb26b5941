"""PostFilter plugins in their order: whose result is that of the pod.

Upstream: pkg/scheduler/framework/runtime/framework.go, RunPostFilterPlugins
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

from podwright.scheduler.framework import (
    Code,
    Cycle,
    Plugin,
    PluginRunner,
    PostFilterResult,
    Profile,
    Status,
)
from podwright.scheduler.framework.adapter import PluginFailure
from podwright.scheduler.framework.binding import PodMetadataPatch
from podwright.scheduler.framework.post_filter import run_post_filters
from podwright.scheduler.preemption.tests.situations import cluster_of, pod
from podwright.testing import make_node


class Full(Plugin):
    """Rejects every node."""

    name = "Full"

    def filter(self, cycle: Cycle, node: object) -> Status:
        return Status.unschedulable("full")


class After(Plugin):
    """Answers PostFilter, and counts the calls."""

    name = "P0"

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.calls = 0

    def post_filter(self, cycle: Cycle, failed: object) -> Any:
        self.calls += 1
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


class Second(After):
    """Another plugin."""

    name = "P1"


class Third(After):
    """And one more."""

    name = "P2"


PLUGINS = (After, Second, Third)


def result_of(*plugins: After) -> PostFilterResult:
    profile = Profile(scheduler_name="s", filter=(Full(),), post_filter=plugins)
    runner = PluginRunner(profile, cluster_of(make_node("n")))
    runner.decide(pod("p"), cycle_number=1)
    failed = runner._failed
    assert failed is not None
    return run_post_filters(failed)


def answering(status: Status, **fields: Any) -> PostFilterResult:
    return PostFilterResult(status=status, **fields)


NO, OK, NEVER = Status.unschedulable("no"), Status.OK, Status.unresolvable("never")
BROKEN = Status.error("broken")
FAILURE = PluginFailure(Full(), "Filter", "it is full")
PATCHES = tuple(PodMetadataPatch(labels={"a": value}) for value in ("1", "2"))


def in_steps(answer: PostFilterResult) -> Generator[Any, Any, PostFilterResult]:
    """Answer as a generator that calls no extender."""
    yield from ()
    return answer


@pytest.mark.parametrize(
    ("answers", "status", "nominated", "calls"),
    [
        pytest.param([], (Code.UNSCHEDULABLE, (), ""), None, 0, id="no plugin"),
        pytest.param(
            [answering(NO), answering(Status.unschedulable("nor this"))],
            (Code.UNSCHEDULABLE, ("no", "nor this"), "P0"),
            None,
            2,
            id="all reject: the first one signs",
        ),
        pytest.param(
            [answering(NO), answering(OK, nominated_node="n"), answering(NO)],
            (Code.SUCCESS, (), "P1"),
            "n",
            2,
            id="the first that succeeds ends it",
        ),
        pytest.param(
            [answering(NEVER, nominated_node="n"), answering(OK)],
            (Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ("never",), "P0"),
            "n",
            1,
            id="so does one that cannot be resolved",
        ),
        pytest.param(
            [answering(BROKEN, nominated_node="n"), answering(OK)],
            (Code.ERROR, ("broken",), "P0"),
            None,
            1,
            id="and an error, whose nomination does not count",
        ),
        pytest.param(
            [answering(NO, nominated_node="n"), answering(NO, nominated_node=""), answering(NO)],
            (Code.UNSCHEDULABLE, ("no", "no", "no"), "P0"),
            "",
            3,
            id="the last nomination counts, also an empty one",
        ),
        pytest.param(
            [in_steps(answering(OK, nominated_node="n"))],
            (Code.SUCCESS, (), "P0"),
            "n",
            1,
            id="an answer in steps",
        ),
        pytest.param(
            [FAILURE, answering(OK)],
            (Code.ERROR, FAILURE.status.reasons, FAILURE.status.plugin),
            None,
            1,
            id="the failure of another plugin is named as such",
        ),
        pytest.param(
            [ValueError("no such thing")],
            (
                Code.ERROR,
                ('running PostFilter plugin "P0": ValueError: no such thing (pod default/p)',),
                "P0",
            ),
            None,
            1,
            id="an exception",
        ),
        pytest.param(
            [OK],
            (
                Code.ERROR,
                (
                    'running PostFilter plugin "P0": TypeError: returned something of type Status, '
                    "not a PostFilterResult (pod default/p)",
                ),
                "P0",
            ),
            None,
            1,
            id="another type",
        ),
    ],
)
def test_the_result_of_plugins(
    answers: list[Any], status: tuple[Code, tuple[str, ...], str], nominated: str | None, calls: int
) -> None:
    plugins = [cls(answer) for cls, answer in zip(PLUGINS, answers, strict=False)]
    result = result_of(*plugins)
    found = result.status
    assert (found.code, found.reasons, found.plugin) == status
    assert result.nominated_node == nominated
    assert sum(plugin.calls for plugin in plugins) == calls


@pytest.mark.parametrize("last", [OK, NO, NEVER, BROKEN])
def test_the_calls_and_the_details_of_all_plugins_are_kept(last: Status) -> None:
    first = answering(NO, calls=PATCHES[:1], details="first")
    result = result_of(After(first), Second(answering(last, calls=PATCHES[1:])))
    assert result.calls == PATCHES
    assert result.details == ("first" if last is NO else None)
    alone = result_of(After(answering(last)))
    assert alone.calls == ()


def asking() -> Any:
    """Answer as a generator that calls an extender."""
    yield "a call"
    return answering(OK)


def test_calls_of_extenders_need_the_steps() -> None:
    with pytest.raises(AssertionError, match="an extender call needs the steps: 'a call'"):
        result_of(After(asking()))
