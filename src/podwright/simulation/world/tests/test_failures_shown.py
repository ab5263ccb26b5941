"""Failures after a node was chosen, and before any was looked for, are shown as what they are."""

from __future__ import annotations

import re
from typing import Any

import pytest

import podwright as pw
from podwright.apimachinery.objects import decode
from podwright.scheduler.framework import CallError, Plugin, Status
from podwright.scheduler.machine import Bind, CallDone
from podwright.simulation.recording import OutcomeKind, find_cycle, find_outcome
from podwright.simulation.world import START_NS, world_rounds
from podwright.simulation.world.scheduler_requests import execute
from podwright.testing import make_node, make_pod

pytest.importorskip("pyarrow")

SECOND = 1_000_000_000


def plugin_with(point: str, answer: Any) -> type[Plugin]:
    def method(*_: Any) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer

    return type("Broken", (Plugin,), {"name": "Broken", point: method})


REFUSED = Status.unschedulable("no licence is left")
CASES = [
    ("reserve", REFUSED, "Unschedulable", "no licence is left"),
    ("reserve", ValueError("oops"), "SchedulerError", "oops"),
    ("permit", (REFUSED, "0s"), "Unschedulable", "no licence is left"),
    ("permit", ValueError("oops"), "SchedulerError", "oops"),
    ("permit", (Status.wait("later"), "1s"), "Unschedulable", "timeout"),
    ("pre_bind", REFUSED, "Unschedulable", "no licence is left"),
    ("pre_bind", ValueError("oops"), "SchedulerError", "oops"),
]


@pytest.mark.parametrize(("point", "answer", "result", "text"), CASES)
def test_an_attempt_that_fails_on_its_node_is_not_shown_as_scheduled(point, answer, result, text):
    run = pw.simulate(
        [make_node("n"), make_pod("p")], plugins=[plugin_with(point, answer)], until="5s"
    )
    table = run.tables["decisions"].to_pylist()
    failed = [row for row in table if row["result"] == result]
    assert failed
    assert all(text in row["message"] for row in failed)
    assert {row["node"] for row in failed} == {"n"}
    # An attempt has one row. One that waits at Permit has no outcome yet when the run ends.
    assert [row["attempt"] for row in table] == list(range(1, len(table) + 1))
    assert [row["result"] for row in table] in (
        [result] * len(failed),
        [*[result] * len(failed), "Binding"],
    )
    assert run.summary.counts.decisions == len(table)
    assert text in run.pending["default/p"]
    assert "not tried yet" not in run.summary.pending
    assert sum(run.summary.pending.values()) == 1
    assert run.summary.counts.failed_decisions == len(failed)
    if result == "SchedulerError":
        assert run.summary.pending == {"SchedulerError": 1}
        assert run.warnings == (f"pod default/p is not scheduled: {failed[-1]['message']}",)
    else:
        assert run.warnings == ()


def test_one_pod_stands_for_all_that_failed_with_an_error():
    run = pw.simulate(
        [make_node("n"), make_pod("p"), make_pod("q")],
        plugins=[plugin_with("filter", ValueError("oops"))],
        until="5s",
    )
    (warning,) = run.warnings
    assert warning.startswith("pod default/p (and 1 more with errors) is not scheduled: running")


@pytest.mark.parametrize(
    ("broken", "text"),
    [
        pytest.param(
            {"post_bind": ValueError("oops")},
            'running PostBind plugin "Broken": ValueError: oops (pod default/p, node n)',
            id="PostBind",
        ),
        pytest.param(
            {"reserve": REFUSED, "unreserve": ValueError("oops")},
            'running Unreserve plugin "Broken": ValueError: oops (pod default/p, node n)',
            id="Unreserve",
        ),
    ],
)
def test_an_error_that_has_no_effect_is_a_warning(broken, text):
    methods = {name: getattr(plugin_with(name, answer), name) for name, answer in broken.items()}
    plugin = type("Broken", (Plugin,), {"name": "Broken"} | methods)
    nodes_and_pods = [make_node("n"), make_pod("p"), make_pod("q")]
    (one,) = pw.simulate(nodes_and_pods[:2], plugins=[plugin], until="500ms").warnings
    assert one.startswith(f"{text}, which has no effect")
    (several,) = pw.simulate(nodes_and_pods, plugins=[plugin], until="500ms").warnings
    assert re.fullmatch(re.escape(f"{text}, which has no effect") + r" \(\d such errors\)", several)


class Metered(Plugin):
    """Rejects nodes without a NodeMetric, which it finds and whose changes it registers."""

    name = "Metered"

    def filter(self, cycle: pw.Cycle, node: pw.NodeView) -> Status:
        found = self.handle is not None and self.handle.find("NodeMetric.example.com", node.name)
        return Status.OK if found else Status.unschedulable("no metric")

    def events_to_register(self) -> tuple[pw.EventHint, ...]:
        return (pw.EventHint("NodeMetric.example.com", pw.ActionType.ADD),)


def test_a_custom_resource_requeues_the_pods_of_a_plugin_that_registers_it():
    world = pw.World(plugins=[Metered])
    world.add(make_node("n"), make_pod("p"))
    world.run_until("10s")
    assert not world.pods[0].spec.node_name
    metric = {"apiVersion": "example.com/v1", "kind": "NodeMetric"}
    world.add(decode(metric | {"metadata": {"name": "other"}}))
    world.add(
        decode(
            {"apiVersion": "v2.example.com/v1", "kind": "NodeMetric"} | {"metadata": {"name": "n"}}
        )
    )
    world.run_until("11s")
    assert not world.pods[0].spec.node_name
    world.add(decode(metric | {"metadata": {"name": "n"}}))
    world.run_until("12s")
    assert [pod.spec.node_name for pod in world.pods] == ["n"]


def test_pods_that_one_error_holds_back_at_pre_enqueue_have_one_reason():
    run = pw.simulate(
        [make_node("n"), make_pod("p"), make_pod("q")],
        plugins=[plugin_with("pre_enqueue", ValueError("oops"))],
        until="5s",
    )
    assert run.summary.pending == {"ValueError: oops": 2}


@pytest.mark.parametrize(
    ("answer", "reason"),
    [(REFUSED, "no licence is left"), (ValueError("oops"), "oops")],
)
def test_a_pod_that_is_held_back_at_pre_enqueue_says_by_whom_and_why(answer, reason):
    run = pw.simulate(
        [make_node("n"), make_pod("p")], plugins=[plugin_with("pre_enqueue", answer)], until="5s"
    )
    assert run.pending["default/p"].startswith('PreEnqueue plugin "Broken": ')
    assert reason in run.pending["default/p"]
    (shown,) = run.summary.pending
    assert reason in shown
    assert run.summary.pending_count == 1


@pytest.mark.parametrize(
    ("point", "answer", "reason", "message"),
    [
        pytest.param(
            "permit",
            (Status.wait("later"), "1h"),
            "waits at Permit for Broken",
            "waits at Permit for Broken",
            id="Permit",
        ),
        pytest.param("pre_bind", pw.Pending(delay_ns=60 * SECOND), "Binding", "", id="PreBind"),
        pytest.param("bind", Status.OK, "Binding", "", id="a Bind that binds nothing"),
    ],
)
def test_a_pod_whose_attempt_is_not_over_was_tried(point, answer, reason, message):
    run = pw.simulate(
        [make_node("n"), make_pod("p")], plugins=[plugin_with(point, answer)], until="5s"
    )
    assert run.summary.pending == {reason: 1}
    assert run.pending == {"default/p": message}


def test_a_bind_that_the_api_server_rejects_is_the_result_of_its_attempt(monkeypatch):
    def reject_binds(api: Any, action: Any, now_ns: int) -> CallDone:
        if isinstance(action, Bind) and now_ns < START_NS + SECOND:
            return CallDone(action.call, CallError("etcd is not available"))
        return execute(api, action, now_ns)

    monkeypatch.setattr(world_rounds, "execute", reject_binds)
    run = pw.simulate([make_node("n"), make_pod("p")], until="90s")
    rows = [
        (row["attempt"], row["result"], row["node"]) for row in run.tables["decisions"].to_pylist()
    ]
    assert rows == [(1, "SchedulerError", "n"), (2, "Scheduled", "n")]
    assert "etcd is not available" in run.tables["decisions"].to_pylist()[0]["message"]
    counts = run.summary.counts
    assert (counts.decisions, counts.failed_decisions, counts.placed) == (2, 1, 1)
    found = find_outcome(find_cycle(run.log, "default/p", 1))
    assert (found.kind, found.node) == (OutcomeKind.QUEUED, "n")
    assert "etcd is not available" in found.error
    over = pw.simulate([make_node("n"), make_pod("p")], until="500ms")
    assert "etcd is not available" in over.pending["default/p"]
    assert over.summary.pending == {"SchedulerError": 1}


@pytest.mark.parametrize(
    ("point", "answer"),
    [
        ("reserve", REFUSED),
        ("permit", (REFUSED, "0s")),
        ("permit", (Status.wait("later"), "1s")),
        ("pre_bind", REFUSED),
    ],
)
def test_the_outcome_of_an_attempt_has_the_reason_of_its_failure(point, answer):
    plugin = plugin_with(point, answer)
    run = pw.simulate([make_node("n"), make_pod("p")], plugins=[plugin], until="5s")
    found = find_outcome(find_cycle(run.log, "default/p", 1, plugins=[plugin]))
    assert (found.kind, found.node) == (OutcomeKind.QUEUED, "n")
    reason = "timeout" if answer == (Status.wait("later"), "1s") else "no licence is left"
    assert reason in found.error


def test_a_cycle_that_waits_for_its_victims_deletion_is_a_row_too():
    gates = pw.parse_gates("SchedulerAsyncPreemption=false")
    world_run = pw.simulate(
        [make_node("n", cpu="1"), make_pod("low", cpu="1")],
        events=[{"at": "5s", "apply": make_pod("high", cpu="1", priority=10).raw}],
        gates=gates,
        until="60s",
    )
    rows = [
        (row["pod"], row["attempt"], row["result"], row["nominated_node"])
        for row in world_run.tables["decisions"].to_pylist()
    ]
    assert rows == [
        ("low", 1, "Scheduled", None),
        ("high", 1, "Unschedulable", "n"),
        ("high", 2, "Scheduled", None),
    ]
    assert world_run.summary.counts.preemptions == 1
    times_ns = world_run.tables["decisions"].column("time").cast("int64").to_pylist()
    assert times_ns[1] == START_NS + 5 * SECOND
