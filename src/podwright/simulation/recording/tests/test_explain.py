"""The moment before a cycle that was held up by an extender."""

from __future__ import annotations

import json
from typing import ClassVar

import msgspec
import pytest

from podwright.apimachinery.objects import ArgumentError
from podwright.scheduler.config import ExtenderReply
from podwright.scheduler.framework import Plugin, Status
from podwright.scheduler.machine import (
    CallExtender,
    CycleDue,
    ExtenderReplied,
    FlushBackoff,
    ObjectPut,
)
from podwright.simulation.kss.annotations import kss_history
from podwright.simulation.recording.explanations import explain
from podwright.simulation.recording.explanations.explain import (
    Cycles,
    UnknownCycle,
    explain_cycle,
    explain_cycles,
    find_cycle,
    select_cycles,
)
from podwright.simulation.recording.explanations.outcome import OutcomeKind, find_outcome
from podwright.simulation.recording.explanations.recorded import recorded_view
from podwright.simulation.recording.explanations.what_if import what_if
from podwright.simulation.recording.folders.recorded_state import cluster_at, queue_at
from podwright.simulation.recording.log.log_format import LogError
from podwright.simulation.recording.log.replay import Replay, replay, verify
from podwright.simulation.recording.tests.recording import SECOND_NS, Recorded
from podwright.testing import make_node, make_pod

EXTENDER = {
    "urlPrefix": "http://127.0.0.1:9/gpu",
    "filterVerb": "filter",
    "nodeCacheCapable": True,
}


@pytest.fixture
def asked():
    """A run in which the cycle of pod `one` waits for an extender that knows node n1 only."""
    recorded = Recorded(extenders=[EXTENDER])
    recorded.holds = {"CallExtender"}
    recorded.put(make_node("n1"), make_pod("one"), make_pod("two"))
    recorded.cycle()
    return recorded


def reply(recorded, *names):
    """Let the extender answer that these nodes will do."""
    (call,) = recorded.held
    assert isinstance(call, CallExtender)
    recorded.held.clear()
    recorded.now_ns += 1
    body = json.dumps({"nodenames": list(names)}).encode()
    recorded.tell(ExtenderReplied(call.call, ExtenderReply(status=200, body=body)))


def facts_of(recorded, pod):
    """Tell which nodes were there, which one was chosen, when it began and what came of it."""
    past = find_cycle(recorded.run.log, f"default/{pod}")
    explanation = past.explain()
    nodes = sorted(past.machine.cluster.nodes.slot_of)
    return nodes, explanation.decision.node, past.entry.now_ns, find_outcome(past).kind


def test_a_cycle_that_is_due_while_another_one_waits_is_not_taken_for_its_beginning(asked):
    began_ns = asked.now_ns
    asked.cycle()
    asked.put(make_node("n2"))
    reply(asked, "n1")
    assert facts_of(asked, "one") == (["n1"], "n1", began_ns, OutcomeKind.BOUND)


def test_a_cycle_begins_when_the_one_that_it_waited_for_has_ended(asked):
    asked.put(make_node("n2"))
    asked.cycle()
    asked.put(make_node("n3"))
    reply(asked, "n1")
    began_ns = asked.now_ns
    reply(asked, "n2")
    assert facts_of(asked, "two") == (["n1", "n2"], "n2", began_ns, OutcomeKind.BOUND)
    assert facts_of(asked, "one")[:2] == (["n1"], "n1")
    assert kss_history(asked.run.log, "default/two")[-1].explanation.decision.node == "n2"


def test_what_happens_while_a_cycle_waits_may_come_before_its_answer(asked):
    for event in (ObjectPut(make_node("n2")), CycleDue(), CycleDue()):
        asked.tell(event)
    reply(asked, "n1")
    reply(asked, "n1", "n2")
    for pod, nodes in (("one", ["n1"]), ("two", ["n1", "n2"])):
        assert facts_of(asked, pod)[0] == nodes


def test_each_attempt_that_waited_is_found_with_its_own_replies(asked):
    reply(asked)
    asked.put(make_node("n2"))
    for _ in range(2):
        asked.now_ns += 600 * SECOND_NS
        asked.tell(FlushBackoff())
        asked.cycle()
        while asked.held:
            reply(asked, "n2")
    nodes = [
        find_cycle(asked.run.log, "default/one", number).explain().decision.node
        for number in (1, 2)
    ]
    assert nodes == ["", "n2"]


def test_a_cycle_that_failed_is_not_taken_for_the_next_one_of_its_pod(asked):
    """The cycle of another pod starts in the event in which it ends."""
    began_ns = asked.now_ns
    asked.cycle()
    reply(asked)
    reply(asked, "n1")
    asked.now_ns += 600 * SECOND_NS
    asked.put(make_node("n2"))
    asked.tell(FlushBackoff())
    asked.cycle()
    reply(asked, "n2")
    found = [find_cycle(asked.run.log, "default/one", number) for number in (1, 2)]
    assert [past.explain().decision.node for past in found] == ["", "n2"]
    assert [past.entry.now_ns for past in found] == [began_ns, asked.now_ns - 1]


def test_a_cycle_that_starts_when_another_one_resumes_is_explained_by_its_own_start():
    recorded = Recorded(extenders=[{**EXTENDER, "managedResources": [{"name": "example.com/gpu"}]}])
    recorded.holds = {"CallExtender"}
    node = make_node("n1", cpu="1", resources={"example.com/gpu": "1"})
    one = make_pod("one", cpu="1", resources={"example.com/gpu": "1"})
    recorded.put(node, one, make_pod("two", cpu="1"))
    recorded.cycle()
    recorded.cycle()
    reply(recorded, "n1")
    log = recorded.run.log
    ((pod, found),) = explain_cycles(log, [(Cycles(log).of("default/two")[0], "default/two")])
    assert (pod, found.decision.node) == ("default/two", "")
    assert found.decision.message.startswith("0/1 nodes are available: 1 Insufficient cpu.")


def test_the_replies_of_a_cycle_are_those_of_its_own_runner(asked):
    reply(asked, "n1")
    past = find_cycle(asked.run.log, "default/one")
    past.explain(past.runner)
    assert past.replies == {}
    past.explain()
    assert len(past.replies) == 1


def logged():
    """A log in which pod `a` has attempts at 1 s and 9 s, and `b` one at 2 s."""
    recorded = Recorded()
    recorded.attempt(make_node("small", cpu="100m"), make_pod("a", cpu="1"))
    recorded.attempt(make_pod("b", namespace="other", cpu="1"))
    recorded.now_ns = 8 * SECOND_NS
    recorded.attempt(make_node("n1", cpu="4"))
    return recorded.run.log


@pytest.mark.parametrize(
    ("pod", "options", "message"),
    [
        (
            "default/a",
            {"attempt": 3},
            "pod default/a has 2 scheduling attempts: there is no attempt 3",
        ),
        (
            "default/a",
            {"attempt": -3},
            "pod default/a has 2 scheduling attempts: there is no attempt -3",
        ),
        (
            "default/a",
            {"attempt": 0},
            "pod default/a has 2 scheduling attempts: there is no attempt 0",
        ),
        (
            "default/a",
            {"at_ns": 0},
            "pod default/a has no scheduling attempt before 1970-01-01T00:00:00Z; its first was"
            " at 1970-01-01T00:00:01Z",
        ),
        ("other/b", {"attempt": 2}, "pod other/b has 1 scheduling attempt: there is no attempt 2"),
        ("a", {}, "pod a has no scheduling attempt in this log; did you mean default/a?"),
        (
            "other/bb",
            {},
            "pod other/bb has no scheduling attempt in this log; did you mean other/b?",
        ),
        ("x/y", {}, "pod x/y has no scheduling attempt in this log"),
    ],
)
def test_an_attempt_that_there_is_not_is_an_error_that_says_what_there_is(pod, options, message):
    with pytest.raises(UnknownCycle) as error:
        find_cycle(logged(), pod, **options)
    assert str(error.value) == message


@pytest.mark.parametrize(
    "read",
    [find_cycle, lambda log, pod: [*explain_cycles(log, [(1, pod)])]],
    ids=["alone", "among others"],
)
def test_a_cycle_of_a_pod_that_was_not_in_the_queue_is_unknown(read):
    recorded = Recorded()
    recorded.put(make_node("n1"))
    log = recorded.run.log
    log.append(0, CycleDue(), [], pod="default/never")
    with pytest.raises(UnknownCycle) as error:
        read(log, "default/never")
    assert str(error.value) == "pod default/never was not in the queue before event 1"


@pytest.mark.parametrize(
    ("namespaces", "near"),
    [("wx", "w/a or x/a"), ("wxy", "w/a or x/a or y/a"), ("wxyz", "w/a or x/a or y/a")],
)
def test_up_to_three_pods_of_the_name_are_suggested(namespaces, near):
    recorded = Recorded()
    for namespace in namespaces:
        recorded.attempt(make_pod("a", namespace=namespace))
    with pytest.raises(UnknownCycle) as error:
        find_cycle(recorded.run.log, "a")
    assert str(error.value) == f"pod a has no scheduling attempt in this log; did you mean {near}?"


def test_an_attempt_is_found_by_its_number_or_the_time_but_not_by_both():
    log = logged()
    cycles = Cycles(log)
    assert list(cycles.pods) == ["default/a", "other/b"]
    assert cycles.ends == sorted([*cycles.of("default/a"), *cycles.of("other/b")])
    assert cycles.of("default/c") == ()
    first, second = cycles.of("default/a")
    assert [find_cycle(log, "default/a", n).end for n in (1, 2, -1, -2)] == [
        first, second, second, first
    ]  # fmt: skip
    # Cycles at the time count.
    for at, end in ((1, first), (8, first), (9, second)):
        assert find_cycle(log, "default/a", at_ns=at * SECOND_NS).end == end
    with pytest.raises(ArgumentError, match="specify one of them, not both"):
        find_cycle(log, "default/a", 1, at_ns=SECOND_NS)


def test_the_cycles_that_a_caller_has_are_not_read_again(monkeypatch):
    log = logged()
    cycles = Cycles(log)
    monkeypatch.setattr(explain, "Cycles", None)
    assert find_cycle(log, "default/a", cycles=cycles).attempt == 2


def test_cycles_that_call_no_extender_are_found_by_one_quick_replay(monkeypatch):
    flags: list[bool] = []

    class Noted(Replay):
        def __init__(self, log, *, is_repeated=False, **options):
            flags.append(is_repeated)
            super().__init__(log, is_repeated=is_repeated, **options)

    log = logged()
    monkeypatch.setattr(explain, "Replay", Noted)
    monkeypatch.setattr(explain, "_suspended_start", None)
    assert find_cycle(log, "default/a").explain().decision.node == "n1"
    assert len([*explain_cycles(log, select_cycles(log))]) == 3
    assert flags == [True, True]


def test_a_past_cycle_draws_the_node_that_the_pod_got():
    recorded = Recorded(seed=5)
    recorded.put(*(make_node(f"n{number:02}") for number in range(20)))
    names = ("a", "b", "c")
    for name in names:
        recorded.attempt(make_pod(name))
    placed = [recorded.pods[f"default/{name}"].spec.node_name for name in names]
    log = recorded.run.log
    assert [find_cycle(log, f"default/{name}").explain().decision.node for name in names] == placed


@pytest.mark.parametrize(
    "read",
    [
        replay,
        lambda log: explain_cycle(log, "default/a"),
        lambda log: what_if(log, "default/a"),
        lambda log: cluster_at(log, "1s"),
        lambda log: queue_at(log, "1s"),
        verify,
    ],
)
def test_only_a_log_is_read(read):
    with pytest.raises(ArgumentError, match=r"^log: .*DecisionLog.open"):
        read("run/log")


class Moody(Plugin):
    """Rejects nodes by a variable that a log does not hold."""

    name = "Moody"
    is_rejecting: ClassVar[bool] = False

    def filter(self, cycle, node):
        return Status.unschedulable("no") if self.is_rejecting else Status()


def test_an_explanation_is_refused_where_a_plugin_decides_differently_than_recorded(monkeypatch):
    recorded = Recorded(Moody)
    recorded.attempt(make_node("n1"), make_pod("a"))
    log = recorded.run.log
    assert explain_cycle(log, "default/a", plugins=[Moody]).decision.node == "n1"
    monkeypatch.setattr(Moody, "is_rejecting", True)
    with pytest.raises(LogError, match="differ from the recorded ones"):
        explain_cycle(log, "default/a", plugins=[Moody])


class Grouped:
    """A log in which the cycles of two pods of a group end in one event."""

    def cycles(self, _: str) -> list[tuple[int, str]]:
        return [(3, "default/a"), (3, "default/b"), (5, "default/a")]


def test_the_cycle_of_a_group_ends_once_for_all_its_pods():
    cycles = Cycles(Grouped())  # type: ignore[arg-type]
    assert cycles.ends == [3, 5]
    assert [cycles.of(pod) for pod in ("default/a", "default/b")] == [[3, 5], [3]]


@pytest.mark.parametrize(
    ("options", "attempt"),
    [({}, 2), ({"attempt": 1}, 1), ({"at": "8s"}, 1), ({"at": "9s"}, 2)],
)
def test_one_cycle_is_explained_by_its_number_or_a_time_since_the_start(options, attempt):
    recorded = Recorded()
    recorded.put(make_node("small", cpu="100m"))
    recorded.attempt(make_pod("a", cpu="1"))
    recorded.now_ns = 8 * SECOND_NS
    recorded.attempt(make_node("n1", cpu="4"))
    assert explain_cycle(recorded.run.log, "default/a", **options).attempt == attempt


def test_cycles_are_selected_by_pods_and_by_times():
    log = logged()
    a1, b, a2 = Cycles(log).ends
    assert select_cycles(log) == [(a1, "default/a"), (b, "other/b"), (a2, "default/a")]
    assert select_cycles(log, ["other/b", "other/b"]) == [(b, "other/b")]
    one, two = 2 * SECOND_NS, 9 * SECOND_NS
    assert select_cycles(log, first_ns=one) == [(b, "other/b"), (a2, "default/a")]
    assert select_cycles(log, first_ns=one + 1, last_ns=two) == [(a2, "default/a")]
    assert select_cycles(log, last_ns=two - 1) == [(a1, "default/a"), (b, "other/b")]
    with pytest.raises(UnknownCycle, match="pod x/y has no scheduling attempt"):
        select_cycles(log, ["x/y"])


def test_many_cycles_are_explained_in_their_order_each_as_alone():
    log = logged()
    a1, b, a2 = Cycles(log).ends
    found = [*explain_cycles(log, [(a2, "default/a"), (a1, "default/a"), (b, "other/b")])]
    assert [pod for pod, _ in found] == ["default/a", "other/b", "default/a"]
    assert [each.attempt for _, each in found] == [1, 1, 2]
    assert [each.decision.node for _, each in found] == ["", "", "n1"]
    assert found[2][1].decision == find_cycle(log, "default/a").explain().decision
    with pytest.raises(UnknownCycle, match=f"no cycle of pod other/b ended in event {a1}"):
        [*explain_cycles(log, [(a1, "other/b")])]


def test_a_cycle_that_waited_is_explained_among_others(asked):
    reply(asked, "n1")
    asked.holds = set()
    log = asked.run.log
    (end,) = Cycles(log).ends
    ((pod, found),) = explain_cycles(log, [(end, "default/one")])
    assert (pod, found.attempt, found.decision.node) == ("default/one", 1, "n1")


@pytest.mark.parametrize(
    ("attempt", "then"),
    [
        (1, {"outcome": "queued", "node": None, "error": None, "queue": "unschedulable",
             "nominatedNode": None}),
        (2, {"outcome": "bound", "node": "n1", "error": None, "queue": None, "waitsFor": [],
             "backoffEnd": None, "nominatedNode": None}),
    ],
)  # fmt: skip
def test_a_recorded_attempt_has_its_place_in_the_run_and_what_followed(attempt, then):
    log = logged()
    past = find_cycle(log, "default/a", attempt)
    event, number = past.end + 1, past.attempt
    found = recorded_view(past, log, start_ns=0, end_ns=20 * SECOND_NS).past
    assert found is not None
    document = msgspec.to_builtins(found.document)
    assert (document["event"], document["attempt"], document["attempts"]) == (event, number, 2)
    assert document["sinceStart"] == ("1s" if attempt == 1 else "9s")
    assert then.items() <= document["then"].items()
    assert found.when.startswith(f"{number} of 2, {document['sinceStart']} into the run (1970")
    assert found.when.endswith(f"event {event}")
    if attempt == 1:
        assert document["nextAttempt"] == "1970-01-01T00:00:09Z"
        assert found.then.endswith("; attempt 2 followed 8s later")
        assert "requeued as unschedulable, waiting for " in found.then
    else:
        assert document["nextAttempt"] is None
        assert found.then == "bound to n1 immediately"


def test_an_attempt_without_another_one_says_how_long_the_run_went_on():
    log = logged()
    past = find_cycle(log, "other/b")
    found = recorded_view(past, log, start_ns=0, end_ns=20 * SECOND_NS).past
    assert found is not None
    text = "; no further attempt before the end of the run, 18s later"
    assert found.then.endswith(text)


class Bounded:
    """A log whose first events are dropped."""

    def __init__(self, first: int, count: int) -> None:
        self.first = first
        self._count = count

    def __len__(self) -> int:
        return self._count

    def time_of(self, index: int) -> int:
        return index * 1_000_000_000


@pytest.mark.parametrize(
    ("first", "count", "since"),
    [(0, 9, ""), (9, 9, ""), (1, 9, "1970-01-01T00:00:01"), (8, 9, "1970-01-01T00:00:08")],
)
def test_a_message_says_what_a_bounded_log_has_no_more(first, count, since):
    found = explain._dropped(Bounded(first, count))  # type: ignore[arg-type]
    assert found.startswith(f"; the attempts before {since}") if since else found == ""
