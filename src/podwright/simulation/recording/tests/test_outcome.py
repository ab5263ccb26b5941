"""What became of pods after their cycles."""

from __future__ import annotations

import pytest

from podwright.apimachinery.objects import with_fields, with_node_name
from podwright.scheduler.config import ExtenderReply
from podwright.scheduler.framework import Code, Plugin, Status
from podwright.scheduler.framework.binding import CallError
from podwright.scheduler.machine import (
    Bind,
    CallDone,
    CycleDue,
    ExtenderReplied,
    FlushBackoff,
    ObjectDeleted,
    ObjectPut,
)
from podwright.simulation.recording.explanations.explain import (
    UnknownCycle,
    find_cycle,
    past_cycles,
)
from podwright.simulation.recording.explanations.outcome import (
    AttemptOutcome,
    OutcomeKind,
    find_outcome,
)
from podwright.simulation.recording.log.decision_log import DecisionLog
from podwright.simulation.recording.log.record import record
from podwright.simulation.recording.tests.recorded import MINUTE, SECOND, START, recorded_log
from podwright.simulation.recording.tests.recording import Recorded
from podwright.simulation.recording.tests.test_explain import EXTENDER
from podwright.testing import make_node, make_pod


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> DecisionLog:
    return recorded_log(tmp_path_factory.mktemp("run") / "log", checkpoint_events=20)


def after(log: DecisionLog, pod: str, attempt: int = -1) -> AttemptOutcome:
    return find_outcome(find_cycle(log, f"default/{pod}", attempt))


def test_a_placed_pod_is_bound(log):
    found = after(log, "web")
    assert (found.kind, found.node, found.now_ns) == (
        OutcomeKind.BOUND,
        "large",
        START + 10 * SECOND,
    )


def test_a_pod_that_fits_nowhere_goes_back_into_the_queue(log):
    found = after(log, "batch", 1)
    assert (found.kind, found.place, found.waits_for, found.backoff_end_ns) == (
        OutcomeKind.QUEUED, "unschedulable", ("NodeResourcesFit",), START + 31 * SECOND,
    )  # fmt: skip


def test_a_pod_that_preempts_is_nominated(log):
    found = after(log, "urgent", 1)
    assert (found.kind, found.nominated_node) == (OutcomeKind.QUEUED, "large")


def test_attempts_are_counted_from_both_ends_and_by_time(log):
    attempts = [find_cycle(log, "default/batch", n).attempt for n in (1, 2, 3, 4, -1, -4)]
    assert attempts == [1, 2, 3, 4, 4, 1]
    assert find_cycle(log, "default/batch", at_ns=START + 5 * MINUTE).attempt == 2
    with pytest.raises(UnknownCycle, match=r"before .*:00:29Z; its first was at .*:00:30Z"):
        find_cycle(log, "default/batch", at_ns=START + 29 * SECOND)


def bound(*events: object) -> DecisionLog:
    """Record a pod's cycle and what comes after it; a text stands for the answer to Bind."""
    run = record()
    run.handle(ObjectPut(make_node("n1", cpu="4")), SECOND)
    run.handle(ObjectPut(make_pod("web", cpu="1")), 2 * SECOND)
    (bind,) = run.handle(CycleDue(), 3 * SECOND)
    assert isinstance(bind, Bind)
    for event in events:
        if isinstance(event, str):
            run.handle(CallDone(bind.call, CallError(event)), 4 * SECOND)
        else:
            assert isinstance(event, ObjectDeleted)
            run.handle(event, 4 * SECOND)
    return run.log


def test_a_binding_that_fails_says_why_and_where_the_pod_went():
    found = after(bound("no such node"), "web")
    assert (found.kind, found.error, found.node) == (OutcomeKind.QUEUED, "no such node", "n1")
    assert found.place == "error_backoff"


def test_a_binding_that_goes_on_at_the_end_of_the_run_is_neither():
    found = after(bound(), "web")
    assert (found.kind, found.node) == (OutcomeKind.BINDING, "n1")


def test_a_pod_that_is_deleted_while_it_is_bound_is_gone():
    found = after(bound(ObjectDeleted(make_pod("web", cpu="1"))), "web")
    assert found.kind is OutcomeKind.GONE


@pytest.mark.parametrize("node", ["n1", ""], ids=["with a node", "pending"])
def test_a_pod_of_another_uid_is_not_the_one_that_was_tried(node):
    run = record()
    run.handle(ObjectPut(make_node("n1", cpu="4")), SECOND)
    run.handle(ObjectPut(make_pod("web", cpu="1")), 2 * SECOND)
    run.handle(CycleDue(), 3 * SECOND)
    run.handle(ObjectPut(with_fields(make_pod("web", node=node), "metadata", uid="b")), 4 * SECOND)
    found = after(run.log, "web", 1)
    assert (found.kind, found.now_ns) == (OutcomeKind.GONE, 4 * SECOND)
    assert (found.place, found.waits_for, found.backoff_end_ns) == ("", (), -1)


def test_a_pod_that_the_api_server_shows_on_a_node_is_bound_there():
    run = record()
    run.handle(ObjectPut(make_node("n1", cpu="4")), SECOND)
    pod = make_pod("web", cpu="1")
    run.handle(ObjectPut(pod), 2 * SECOND)
    run.handle(CycleDue(), 3 * SECOND)
    run.handle(ObjectPut(make_node("n2", cpu="4")), 4 * SECOND)
    run.handle(ObjectPut(with_node_name(pod, "n2")), 5 * SECOND)
    found = after(run.log, "web")
    assert (found.kind, found.node, found.now_ns) == (OutcomeKind.BOUND, "n2", 5 * SECOND)


class Holds(Plugin):
    """Lets pods wait at Permit."""

    name = "Holds"

    def permit(self, cycle, node_name):
        return Status(Code.WAIT), "1m"


def test_a_pod_that_is_deleted_while_it_waits_has_no_error():
    run = Recorded(Holds)
    pod = make_pod("web")
    run.attempt(make_node("n1"), pod)
    run.remove(pod)
    found = find_outcome(find_cycle(run.run.log, "default/web", plugins=[Holds]))
    assert (found.kind, found.node, found.error) == (OutcomeKind.GONE, "n1", "")


def test_the_binding_of_another_pod_in_between_is_not_that_of_the_attempt():
    run = Recorded()
    run.holds = {"Bind"}
    run.attempt(make_node("n1", cpu="1"), make_pod("web", cpu="1"))
    run.attempt(make_node("n2", cpu="1"), make_pod("other", cpu="1"))
    first, second = run.held
    for call in (second.call, first.call):
        run.now_ns += SECOND
        run.tell(CallDone(call))
    found = after(run.run.log, "web")
    assert (found.kind, found.node, found.now_ns) == (OutcomeKind.BOUND, "n1", 4 * SECOND)
    found = after(run.run.log, "other")
    assert (found.kind, found.node, found.now_ns) == (OutcomeKind.BOUND, "n2", 3 * SECOND)


def test_outcomes_are_found_on_the_way_through_many_cycles():
    run = Recorded()
    run.holds = {"Bind"}
    for name in ("one", "two", "three"):
        run.attempt(make_node(f"n-{name}", cpu="1"), make_pod(name, cpu="1"))
    for call in reversed(run.held):
        run.now_ns += SECOND
        run.tell(CallDone(call.call))
    log = run.run.log
    # The outcome of each pod comes after the cycles of the others.
    found = [(past.pod.name, find_outcome(past)) for past in past_cycles(log, log.cycles())]
    assert found == [(name, after(log, name)) for name in ("one", "two", "three")]


def test_a_suspended_attempt_has_not_the_node_of_the_one_before():
    body = {"n1": '{"nodenames": ["n1"]}', "": '{"nodenames": []}'}
    run = Recorded(extenders=[EXTENDER])
    run.call_extender = lambda _: ExtenderReply(status=200, body=body["n1"].encode())
    run.errors = {"Bind": CallError("no quorum")}
    run.attempt(make_node("n1"), make_pod("web"))
    run.now_ns += 600 * SECOND
    run.tell(FlushBackoff())
    run.holds = {"CallExtender"}
    run.cycle()
    run.put(make_node("n2"))
    (call,) = run.held
    run.tell(ExtenderReplied(call.call, ExtenderReply(status=200, body=body[""].encode())))
    found = after(run.run.log, "web")
    assert (found.kind, found.node, found.error) == (OutcomeKind.QUEUED, "", "")


def test_a_pod_that_waits_has_neither_a_node_nor_an_error(log):
    found = after(log, "hopeless", 1)
    assert (found.node, found.error, found.nominated_node) == ("", "", "")
    placed = after(log, "db")
    assert (placed.place, placed.waits_for, placed.backoff_end_ns, placed.error) == ("", (), -1, "")
    # Another pod's failure is not this one's.
    nominated = after(log, "urgent")
    assert nominated.kind is OutcomeKind.BOUND
    assert nominated.error == ""


def test_the_nomination_of_another_pod_is_not_this_ones():
    """It comes while the binding of this one is going on."""
    run = record()
    run.handle(ObjectPut(make_node("n1", cpu="4")), SECOND)
    run.handle(ObjectPut(make_pod("low", cpu="3", node="n1")), SECOND)
    run.handle(ObjectPut(make_pod("web", cpu="1")), 2 * SECOND)
    (bind,) = run.handle(CycleDue(), 3 * SECOND)
    assert isinstance(bind, Bind)
    run.handle(ObjectPut(make_pod("high", cpu="3", priority=9)), 4 * SECOND)
    run.handle(CycleDue(), 5 * SECOND)
    run.handle(CallDone(bind.call), 6 * SECOND)
    assert after(run.log, "high").nominated_node == "n1"
    web = after(run.log, "web")
    assert (web.kind, web.node, web.nominated_node) == (OutcomeKind.BOUND, "n1", "")
