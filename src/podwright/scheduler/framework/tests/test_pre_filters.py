"""The order of PreFilter plugins, and the combination of their results.

Upstream: pkg/scheduler/framework/runtime/framework.go, RunPreFilterPlugins
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import pytest

from podwright.apimachinery.objects import Pod
from podwright.scheduler.columns import Cluster, Reads
from podwright.scheduler.framework import (
    Cycle,
    Decision,
    NodeView,
    Plugin,
    PluginRunner,
    Profile,
    Status,
)
from podwright.scheduler.framework.prepare import PreFilterOutcome, run_pre_filters
from podwright.scheduler.framework.status import PreFilterResult
from podwright.testing import make_node, make_pod


def plugin(name: str, answer: object) -> Plugin:
    made: Plugin = type(name, (Plugin,), {"name": name, "pre_filter": lambda *_: answer})()
    return made


def naming(name: str, *nodes: str) -> Plugin:
    return plugin(name, PreFilterResult(frozenset(nodes)))


def decided(*plugins: Plugin) -> Decision:
    cluster = Cluster()
    for name in ("n1", "n2"):
        cluster.put(make_node(name))
    runner = PluginRunner(Profile(scheduler_name="s", pre_filter=plugins), cluster)
    return runner.decide(make_pod("web"), cycle_number=1)


REJECTS = plugin("Rejects", Status.unschedulable("full"))
REFUSES = plugin("Refuses", Status.unresolvable("never"))


@pytest.mark.parametrize(
    ("plugins", "message", "rejected_by"),
    [
        pytest.param((REJECTS,), "full", {"Rejects"}, id="a rejection"),
        pytest.param((REJECTS, REFUSES), "never", {"Refuses"}, id="a final one after it"),
        pytest.param((REFUSES, REJECTS), "never", {"Refuses"}, id="nothing after a final one"),
        pytest.param(
            (REJECTS, plugin("Later", Status.unschedulable("late"))),
            "late",
            {"Later"},
            id="the last rejection",
        ),
        pytest.param(
            (naming("B", "n1"), REJECTS, naming("A", "n1", "n2")),
            "full",
            {"A", "B", "Rejects"},
            id="who restricts the nodes of a rejected pod may help it, too",
        ),
        pytest.param(
            (naming("B", "n1"), REFUSES), "never", {"Refuses"}, id="but not after a final one"
        ),
        pytest.param(
            (naming("B", "n1"), naming("A", "n2")),
            "node(s) didn't satisfy plugin(s) [A B] simultaneously",
            {"A", "B"},
            id="no node is left, with the plugins sorted",
        ),
        pytest.param(
            (REJECTS, naming("B")), "node(s) didn't satisfy plugin B", {"B"}, id="no node at all"
        ),
    ],
)
def test_a_pod_is_rejected_before_filtering(
    plugins: tuple[Plugin, ...], message: str, rejected_by: set[str]
) -> None:
    diagnosis = decided(*plugins).diagnosis
    assert diagnosis is not None
    assert diagnosis.message == f"0/2 nodes are available: {message}."
    assert set(diagnosis.rejected_by) == rejected_by
    assert not diagnosis.pending


def filtering(name: str, status: Status) -> Plugin:
    made: Plugin = type(name, (Plugin,), {"name": name, "filter": lambda *_: status})()
    return made


@pytest.mark.parametrize(
    ("pre_filters", "status", "rejected_by", "pending"),
    [
        pytest.param((), Status.unschedulable("full"), {"Full"}, set(), id="a filter"),
        pytest.param((), Status.pending("later"), set(), {"Full"}, id="one that waits"),
        pytest.param(
            (naming("B", "n1"),), Status.unschedulable("full"), {"B", "Full"}, set(),
            id="a filter, and who restricts the nodes",
        ),
        pytest.param(
            (naming("B", "n1", "n2"),), Status.unschedulable("full"), {"B", "Full"}, set(),
            id="also if that excludes none",
        ),
        pytest.param(
            (naming("B", "n1"),), Status.pending("later"), {"B"}, {"Full"}, id="one of them waits"
        ),
    ],
)  # fmt: skip
def test_those_that_leave_no_node_have_rejected_the_pod(
    pre_filters: tuple[Plugin, ...], status: Status, rejected_by: set[str], pending: set[str]
) -> None:
    cluster = Cluster()
    for name in ("n1", "n2"):
        cluster.put(make_node(name))
    full = filtering("Full", status)
    profile = Profile(scheduler_name="s", pre_filter=pre_filters, filter=(full,))
    diagnosis = PluginRunner(profile, cluster).decide(make_pod("web"), cycle_number=1).diagnosis
    assert diagnosis is not None
    assert diagnosis.rejected_by == rejected_by
    assert diagnosis.pending == pending


class Raises(Plugin):
    name = "Raises"

    def pre_filter(self, cycle: Cycle) -> Status:
        raise ValueError("no")


SKIPS = plugin("Skips", Status.skip())


@pytest.mark.parametrize(
    ("first", "calls_others", "nodes", "restricted_by"),
    [
        pytest.param((plugin("Passes", Status.OK),), True, None, (), id="nothing"),
        pytest.param((SKIPS,), True, None, (), id="a skip"),
        pytest.param((REJECTS,), True, None, (), id="a rejection that may be undone"),
        pytest.param((REFUSES,), False, None, (), id="a final one"),
        pytest.param((Raises(),), False, None, (), id="an exception"),
        pytest.param((naming("A", "n1"),), True, {"n1"}, ("A",), id="a node"),
        pytest.param((naming("A"),), False, set(), ("A",), id="no node"),
        pytest.param(
            (naming("B", "n1"), naming("A", "n2")), False, set(), ("A", "B"), id="no common node"
        ),
        pytest.param(
            (naming("B", "n1", "n2"), naming("A", "n2")),
            True,
            {"n2"},
            ("A", "B"),
            id="a common one",
        ),
        pytest.param((naming("B", "n1"), REFUSES), False, None, (), id="a node, then a final one"),
        pytest.param((plugin("Any", PreFilterResult()),), True, None, (), id="any node"),
    ],
)
def test_what_ends_the_calls_of_pre_filter(
    first: tuple[Plugin, ...],
    calls_others: bool,
    nodes: set[str] | None,
    restricted_by: tuple[str, ...],
) -> None:
    called = []

    class Records(Plugin):
        name = "Records"

        def pre_filter(self, cycle: Cycle) -> Status:
            called.append(cycle.pod.name)
            return Status.skip()

    cluster = Cluster()
    cluster.put(make_node("n1"))
    profile = Profile(scheduler_name="s", pre_filter=(*first, Records()))
    answers: dict[str, Any] = {}
    outcome = run_pre_filters(profile, Cycle(make_pod("web"), cluster), answers)
    assert len(called) == calls_others
    assert ("Records" in outcome.skipped) is calls_others
    assert outcome.node_names == nodes
    assert outcome.restricted_by == restricted_by
    assert (outcome.failure is not None) is isinstance(first[0], Raises)
    assert ("Skips" in outcome.skipped) is (first == (SKIPS,))
    assert list(answers) == [each.name for each in first] + ["Records"] * calls_others
    if outcome.failure is not None:
        assert answers[first[0].name] == Status.error(outcome.failure.text)
    again = run_pre_filters(profile, Cycle(make_pod("web"), cluster))
    assert (again.rejection, again.skipped) == (outcome.rejection, outcome.skipped)
    assert (again.failure is None) is (outcome.failure is None)


@pytest.mark.parametrize(
    ("plugins", "node"),
    [
        pytest.param((naming("A", "n1", "n2"), naming("B", "n2")), "n2", id="the nodes of all"),
        pytest.param((naming("A", "n1", "gone"),), "n1", id="some do not exist"),
        pytest.param(
            (plugin("A", Status.skip()), plugin("B", PreFilterResult()), naming("C", "n2")),
            "n2",
            id="without restriction",
        ),
    ],
)
def test_a_pod_gets_a_node_that_all_plugins_name(plugins: tuple[Plugin, ...], node: str) -> None:
    assert decided(*plugins).node == node


@pytest.mark.parametrize("status", [Status.error("no"), Status.pending("no"), Status.wait("no")])
def test_other_statuses_are_errors(status: Status) -> None:
    error = decided(plugin("Odd", status)).error
    assert error is not None
    assert error.message == 'running PreFilter plugin "Odd": no'


NOT_A_SET: Any = ["n1"]


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        pytest.param(
            PreFilterResult(NOT_A_SET),
            "restricted the nodes to something of type list, not a frozenset of names",
            id="a list of names",
        ),
        pytest.param(True, "returned True, not a Status or PreFilterResult", id="a truth value"),
        pytest.param(
            None, "returned None, not a Status or PreFilterResult", id="a forgotten return"
        ),
    ],
)
def test_other_answers_are_errors_that_say_what_is_expected(answer: object, text: str) -> None:
    error = decided(plugin("Odd", answer)).error
    assert error is not None
    assert error.message == f'running PreFilter plugin "Odd": TypeError: {text} (pod default/web)'


def test_an_explanation_shows_the_answers_up_to_the_one_that_fails() -> None:
    cluster = Cluster()
    cluster.put(make_node("n1"))
    plugins = (
        naming("A", "n1"),
        plugin("B", Status.skip()),
        REJECTS,
        plugin("Odd", Status.error("no")),
        plugin("Later", Status.OK),
    )
    runner = PluginRunner(Profile(scheduler_name="s", pre_filter=plugins), cluster)
    found = runner.explain(make_pod("web"), cycle_number=1, now_ns=0)
    assert found.error == found.decision.error
    assert found.pre_filters == {
        "A": PreFilterResult(frozenset({"n1"})),
        "B": Status.skip(),
        "Rejects": Status.unschedulable("full"),
        "Odd": Status.error("no"),
    }


class Finds(Plugin):
    """Leaves the nodes with a label, which it finds once for all pods."""

    name = "Finds"
    pre_filter_reads = filter_reads = Reads.NODE

    def __init__(self) -> None:
        self.run_count = 0

    def pod_key(self, pod: Pod) -> Hashable:
        return ("all",)

    def pre_filter(self, cycle: Cycle) -> PreFilterResult:
        self.run_count += 1
        nodes = cycle.cluster.nodes
        return PreFilterResult(
            frozenset(n for n, slot in nodes.slot_of.items() if "here" in nodes.labels_of(slot))
        )

    def filter(self, cycle: Cycle, node: NodeView) -> Status:
        return Status.OK


def test_a_pre_filter_that_reads_nodes_runs_again_when_one_has_changed():
    plugin, cluster = Finds(), Cluster()
    runner = PluginRunner(
        Profile(scheduler_name="s", pre_filter=(plugin,), filter=(plugin,)), cluster
    )
    found = []
    for number, labelled in enumerate("aabbccc"):
        for name in "abc":
            cluster.put(make_node(name, labels={"here": "yes"} if name == labelled else {}))
        decision = runner.decide(make_pod(f"p{number}"), cycle_number=number)
        found.append((decision.node, plugin.run_count))
    assert found == [("a", 1), ("a", 1), ("b", 2), ("b", 2), ("c", 3), ("c", 3), ("c", 3)]


def test_nodes_that_pre_filters_exclude_name_every_plugin_once_and_sorted():
    # Upstream: pkg/scheduler/schedule_one.go, findNodesThatFitPod, evaluateNominatedNode
    outcome = PreFilterOutcome(restricted_by=("A", "C", "E", "F", "H"))
    for against, names in (("B", "A B C E F H"), ("C", "A C E F H"), ("", "A C E F H")):
        status = outcome.absent_status(against)
        assert status == Status.unresolvable(f"node(s) didn't satisfy plugin(s) [{names}]")
