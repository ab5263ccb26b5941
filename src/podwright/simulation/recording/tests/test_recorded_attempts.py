"""Recorded attempts as documents, trials of changes in them, and pods of a present cluster."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from podwright.apimachinery.objects import KubernetesObject
from podwright.cluster.store import GroupKind
from podwright.scheduler.advice import Change, Outcome
from podwright.scheduler.assembly import Scheduler
from podwright.scheduler.config import DEFAULT_GATES, ExtenderCall, ExtenderReply, parse_gates
from podwright.scheduler.framework import Cycle, NodeView, Plugin, PostFilterResult, Status
from podwright.scheduler.framework.binding import CallError
from podwright.scheduler.machine import SchedulerOptions
from podwright.simulation.recording import find_cycle
from podwright.simulation.recording.explanations.attempts import attempts_of
from podwright.simulation.recording.explanations.document import explanation_document
from podwright.simulation.recording.explanations.past_advice import _PastTrial, past_advice
from podwright.simulation.recording.explanations.present import present_view, view_of_pod
from podwright.simulation.recording.explanations.recorded import recorded_view
from podwright.simulation.recording.explanations.replicas import Present
from podwright.simulation.recording.log.record import record
from podwright.simulation.recording.tests.recording import SECOND_NS, Recorded
from podwright.testing import make_node, make_pod


def plain(document: object) -> Any:
    """Return a document as a client reads it."""
    return json.loads(msgspec.json.encode(document))


@pytest.fixture(scope="module")
def recorded() -> Recorded:
    """A run in which pod `p` fits nowhere after 1 s, and on the new node `n3` after 21 s."""
    run = Recorded(seed=7)
    run.attempt(
        make_node("n1", cpu="1"),
        make_node("n2", cpu="4", taints=["a=b:NoSchedule"]),
        make_pod("p", cpu="2"),
    )
    run.now_ns = 20 * SECOND_NS
    run.attempt(make_node("n3", cpu="4"))
    return run


PLAIN_PODS = "PodLevelResources=false,InPlacePodLevelResourcesVerticalScaling=false"
MESSAGE = (
    "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint(s). no new claims"
    " to deallocate, preemption: 0/2 nodes are available: 2 Preemption is not helpful for"
    " scheduling."
)
NEAREST = [
    {
        "node": "n2",
        "plugins": ["TaintToleration"],
        "lacks": ["toleration for taint a=b:NoSchedule"],
        "devices": [],
    },
    {
        "node": "n1",
        "plugins": ["NodeResourcesFit"],
        "lacks": ["cpu: requests 2, 1 free of 1"],
        "devices": [],
    },
]


def view_of(run: Recorded, attempt: int) -> Any:
    log = run.run.log
    past = find_cycle(log, "default/p", attempt)
    return recorded_view(past, log, start_ns=SECOND_NS // 2, end_ns=60 * SECOND_NS)


def test_an_attempt_that_fails_has_reasons_remedies_and_what_followed(recorded):
    view = view_of(recorded, 1)
    assert (view.seed, view.tie_rule, view.requests, view.replicas) == (7, "drawn", None, ())
    assert view.past.when == "1 of 2, 500ms into the run (1970-01-01T00:00:01Z), event 4"
    assert view.past.then == (
        "requeued as unschedulable, waiting for NodeResourcesFit, TaintToleration, with a backoff"
        " of 1s; attempt 2 followed 20s later"
    )
    document = plain(explanation_document(view))
    assert document["message"] == MESSAGE
    assert document["run"] == {
        "event": 4,
        "time": "1970-01-01T00:00:01Z",
        "sinceStart": "500ms",
        "attempt": 1,
        "attempts": 2,
        "then": {
            "outcome": "queued",
            "time": "1970-01-01T00:00:01Z",
            "node": None,
            "error": None,
            "queue": "unschedulable",
            "waitsFor": ["NodeResourcesFit", "TaintToleration"],
            "backoffEnd": "1970-01-01T00:00:02Z",
            "nominatedNode": None,
        },
        "nextAttempt": "1970-01-01T00:00:21Z",
    }
    assert [each["remedy"] for each in document["remedies"]] == [
        "add a toleration for taint a=b:NoSchedule",
        "reduce the cpu request from 2 to 1",
        "remove taint a=b:NoSchedule from node n2",
    ]
    assert [(each["reason"], each["nodes"]) for each in document["reasons"]] == [
        ("node(s) had untolerated taint(s)", ["n2"]),
        ("Insufficient cpu", ["n1"]),
    ]
    # All rejecting nodes, not a selection.
    assert document["nearest"] == NEAREST


def test_an_attempt_that_succeeds_has_its_node_and_nothing_to_change(recorded):
    view = view_of(recorded, 2)
    assert view.past.when == "2 of 2, 20.5s into the run (1970-01-01T00:00:21Z), event 8"
    assert view.past.then == "bound to n3 immediately"
    document = plain(explanation_document(view))
    assert document["run"]["then"] == {
        "outcome": "bound",
        "time": "1970-01-01T00:00:21Z",
        "node": "n3",
        "error": None,
        "queue": None,
        "waitsFor": [],
        "backoffEnd": None,
        "nominatedNode": None,
    }
    found = (document["node"], document["remedies"], document["adviceLimits"], document["nearest"])
    assert found == ("n3", [], [], NEAREST)


def test_a_preemptor_has_the_node_that_it_is_nominated_to_and_gates_are_those_of_the_run():
    run = Recorded()
    run.run = record(gates=parse_gates(PLAIN_PODS))
    resources = {"resources": {"requests": {"cpu": "9"}}}
    run.attempt(make_node("n1", cpu="1"), make_pod("low", cpu="1", node="n1"))
    run.attempt(make_pod("high", cpu="1", priority=9, spec=resources))
    log = run.run.log
    view = recorded_view(find_cycle(log, "default/high"), log, start_ns=0, end_ns=9 * SECOND_NS)
    assert view.past is not None
    assert view.past.document.then.nominated_node == "n1"
    assert [near.lacks for near in view.near] == [("cpu: requests 1, 0 free of 1",)]


def test_a_binding_that_fails_has_its_error_and_the_part_of_the_queue():
    run = Recorded()
    run.errors = {"Bind": CallError("no quorum")}
    run.attempt(make_node("n1", cpu="4"), make_pod("p", cpu="1"))
    view = view_of(run, 1)
    assert view.past.then == (
        "the attempt on n1 failed: no quorum; requeued as backoff after an error, with a backoff of"
        " 1s; no further attempt before the end of the run, 59s later"
    )
    assert plain(view.past.document)["then"] == {
        "outcome": "queued",
        "time": "1970-01-01T00:00:01Z",
        "node": "n1",
        "error": "no quorum",
        "queue": "errorBackoff",
        "waitsFor": [],
        "backoffEnd": "1970-01-01T00:00:02Z",
        "nominatedNode": None,
    }
    (attempt,) = attempts_of(run.run.log, "default/p")
    assert plain(attempt) == {
        "attempt": 1,
        "event": 3,
        "time": "1970-01-01T00:00:01Z",
        "outcome": "SchedulerError",
        "node": "n1",
        "nominatedNode": None,
        "message": 'running Bind plugin "DefaultBinder": no quorum',
    }


def test_the_attempts_of_a_pod_are_those_of_its_log_in_all_their_parts(recorded):
    assert [plain(attempt) for attempt in attempts_of(recorded.run.log, "default/p")] == [
        {
            "attempt": 1,
            "event": 4,
            "time": "1970-01-01T00:00:01Z",
            "outcome": "Unschedulable",
            "node": None,
            "nominatedNode": None,
            "message": MESSAGE,
        },
        {
            "attempt": 2,
            "event": 8,
            "time": "1970-01-01T00:00:21Z",
            "outcome": "Scheduled",
            "node": "n3",
            "nominatedNode": None,
            "message": "",
        },
    ]


# ------------------------------------------------------------------------------ trials


class Reservations(Plugin):
    """Refuses node `n1` when the pod is reserved there, and notes what it was called for."""

    name = "Reservations"
    calls: list[tuple[str, str, bool]]

    def reserve(self, cycle: Cycle, node_name: str) -> Status:
        self.calls.append(("reserve", node_name, cycle.pod.key in cycle.cluster.pods))
        return Status.unschedulable("not n1") if node_name == "n1" else Status()

    def unreserve(self, cycle: Cycle, node_name: str) -> None:
        self.calls.append(("unreserve", node_name, cycle.pod.key in cycle.cluster.pods))


def test_a_trial_runs_to_reserve_with_the_pod_assumed_and_leaves_nothing_behind():
    Reservations.calls = []
    enabled = {"multiPoint": {"enabled": [{"name": "Reservations"}]}}
    run = Recorded(Reservations, profiles=[{"plugins": enabled}])
    pod = make_pod("p", cpu="2", priority=9)
    low = make_pod("low", cpu="2", node="n2")
    run.attempt(*(make_node(n, cpu="2", unschedulable=True) for n in ("n1", "n2")), low, pod)
    past = find_cycle(run.run.log, "default/p", plugins=run.plugins)
    past.explain()
    trial = _PastTrial(past)
    first, second = (make_node(name, cpu="2") for name in ("n1", "n2"))
    victims = ("default/low",)
    for change, outcome, reserved in (
        (Change(pod), None, ""),
        (Change(make_pod("p", cpu="3"), put=(first,)), None, ""),
        # The plugin refuses at Reserve.
        (Change(pod, put=(first,)), None, "n1"),
        # Preemption makes room; the next cycle is the one that is reserved.
        (Change(pod, put=(second,)), Outcome("n2", 1, victims), "n2"),
        (Change(pod, put=(second,), delete=(low,)), Outcome("n2", 1), "n2"),
        # The cycle without the victims has a choice, and takes the node that is free already.
        (Change(pod, put=(first, second)), None, "n1"),
        # Without the priority nothing is preempted.
        (Change(make_pod("p", cpu="2"), put=(second,)), None, ""),
    ):
        Reservations.calls.clear()
        assert trial.run(change) == outcome
        expected = [("reserve", reserved, True), ("unreserve", reserved, True)]
        assert Reservations.calls == (expected if reserved else [])
        assert trial.confirm(change) == outcome
        assert sorted(past.machine.cluster.pods) == ["default/low"]
        assert [*past.machine.cluster.nodes.slot_of] == ["n1", "n2"]
    # An explanation does not preempt.
    found = trial.explain(Change(pod, put=(second,)))
    assert found.decision.node == ""
    assert {node: status.plugin for node, status in found.rejected.items()} == {
        "n1": "NodeUnschedulable",
        "n2": "NodeResourcesFit",
    }
    assert trial.explain(Change(pod, put=(second,), delete=(low,))).decision.node == "n2"
    assert trial.pods_ahead == 0


class Nominates(Plugin):
    """Nominates node `n1`, by itself; from the second cycle on it fits there."""

    name = "Nominates"

    def filter(self, cycle: Cycle, node: NodeView) -> Status:
        fits = node.name == "n2" or cycle.pod.priority > 0
        return Status() if fits else Status.unschedulable("not yet")

    def post_filter(self, cycle: Cycle, statuses: object) -> PostFilterResult:
        return PostFilterResult(status=Status(), nominated_node="n1", details="of a plugin")


def test_a_nomination_of_another_plugin_has_no_victims():
    enabled = {"multiPoint": {"enabled": [{"name": "Nominates"}]}}
    disabled = {"postFilter": {"disabled": [{"name": "*"}], "enabled": [{"name": "Nominates"}]}}
    run = Recorded(Nominates, profiles=[{"plugins": enabled | disabled}])
    run.attempt(make_node("n1", cpu="2"), make_pod("p", cpu="1"))
    past = find_cycle(run.run.log, "default/p", plugins=run.plugins)
    past.explain()
    trial = _PastTrial(past)
    # The next cycle, without victims, does not fit either.
    assert trial.run(Change(make_pod("p", cpu="1"))) is None
    assert trial.run(Change(make_pod("p", cpu="1"), put=(make_node("n2"),))) == Outcome("n2", 1)


def test_every_trial_starts_its_search_where_the_recorded_cycle_did():
    """With 100 nodes evaluated of 300, the start decides which nodes are found."""
    run = Recorded(percentageOfNodesToScore=10)
    pod = make_pod("p", cpu="1")
    run.put(*(make_node(f"n{number}", cpu="1") for number in range(300)))
    run.attempt(make_pod("other", cpu="1"))
    run.attempt(pod)
    past = find_cycle(run.run.log, "default/p")
    explanation = past.explain()
    position = past.runner.search_position()
    assert (position, len(explanation.feasible)) == (100, 100)
    trial = _PastTrial(past)
    found = trial.run(Change(pod))
    assert found == Outcome(explanation.decision.node, 100)
    assert trial.run(Change(pod)) == found
    assert past.runner.search_position() == position
    assert trial.explain(Change(pod)).feasible == explanation.feasible


EXTENDER = {
    "urlPrefix": "http://x",
    "filterVerb": "filter",
    "prioritizeVerb": "prioritize",
    "weight": 1,
    "nodeCacheCapable": True,
}
NO_REPLY = (
    " could not be tried, because an extender would have to be called again, and a recorded run has"
    " only the replies to its own calls: "
)


@pytest.mark.parametrize(
    ("count", "remedies", "limit"),
    [
        pytest.param(
            1,
            ["make extenders[0] (http://x) accept the node"],
            f"1 change{NO_REPLY}add a node like n0",
            id="one node needs no scores",
        ),
        pytest.param(
            2,
            [],
            f"3 changes{NO_REPLY}make extenders[0] (http://x) accept the node; add a node like n0",
            id="an extender that accepts has still to score",
        ),
    ],
)
def test_an_extender_that_accepts_all_nodes_is_still_called_for_scores(count, remedies, limit):
    def refuse(call: ExtenderCall) -> ExtenderReply:
        names = json.loads(call.body)["NodeNames"]
        body = {"NodeNames": [], "FailedNodes": dict.fromkeys(names, "no")}
        return ExtenderReply(status=200, body=json.dumps(body).encode())

    run = Recorded(extenders=[EXTENDER])
    run.call_extender = refuse
    run.attempt(*(make_node(f"n{n}", cpu="4") for n in range(count)), make_pod("p", cpu="1"))
    past = find_cycle(run.run.log, "default/p")
    found = past_advice(past, past.explain(), gates=DEFAULT_GATES)
    assert [remedy.text for remedy in found.remedies] == remedies
    assert found.limits == (limit,)


# ------------------------------------------------------------------------------ the present


@pytest.fixture
def scheduler() -> Scheduler:
    made = Scheduler(SchedulerOptions())
    made.add(
        make_node("n1", cpu="1"),
        make_node("n2", cpu="4", unschedulable=True),
        make_node("n3", cpu="2"),
        make_pod("low", cpu="2", node="n3"),
        make_pod("p", cpu="2"),
    )
    return made


def finder(known: dict[str, KubernetesObject]) -> Present:
    """Return what finds objects by their names alone."""

    def find(_kind: GroupKind, key: str) -> KubernetesObject | None:
        return known.get(key)

    return find


def test_the_nearest_nodes_of_a_view_are_all_unless_they_are_limited(scheduler):
    explanation = scheduler.explain("default/p")
    counts = {
        limit: len(present_view(scheduler, explanation, nearest_max=limit).near)
        for limit in (None, 2, 1, 0)
    }
    assert counts == {None: 3, 2: 2, 1: 1, 0: 0}
    view = present_view(scheduler, explanation)
    assert sorted(near.node for near in view.near) == ["n1", "n2", "n3"]
    assert view.requests is None
    assert (view.replicas, view.taken, view.is_alone) == ((), None, False)
    assert {group.reason: group.nodes for group in view.reasons} == {
        "Insufficient cpu": ("n1", "n3"),
        "node(s) were unschedulable": ("n2",),
    }


def test_a_view_has_requests_for_each_remedy_if_the_objects_are_known(scheduler):
    known = {"default/p": make_pod("p", cpu="2"), "n2": make_node("n2")}
    explanation = scheduler.explain("default/p")
    view = present_view(scheduler, explanation, present=finder(known), seed=3)
    assert view.seed == 3
    assert view.advice.remedies
    assert view.requests is not None
    assert len(view.requests) == len(view.replicas) == len(view.advice.remedies)
    # A pod without a workload has no other replicas.
    assert {*view.replicas} == {None}
    # Nothing helps a pod that needs more than any node has: then there is nothing to request.
    scheduler.add(make_pod("q", spec={"nodeName": "", "nodeSelector": {"a": "b"}}, cpu="900"))
    none = scheduler.explain("default/q")
    advice = scheduler.advice(none)
    view = present_view(scheduler, none, present=finder({}))
    assert (view.advice.remedies == (), view.requests == ()) == (not advice.remedies,) * 2


def test_a_pod_on_a_node_is_explained_as_if_it_were_not_there(scheduler):
    view = view_of_pod(scheduler, "default/low", seed=5)
    assert (view.current_node, view.is_alone, view.seed) == ("n3", False, 5)
    assert view.explanation.decision.node == "n3"
    # The pod is still there afterwards.
    assert scheduler.cluster.pods["default/low"].pod.spec.node_name == "n3"
    pending = view_of_pod(scheduler, "default/p")
    assert (pending.current_node, pending.is_alone, pending.seed) == ("", True, 0)
    assert pending.explanation.decision.node == ""


def test_what_the_pods_ahead_took_is_part_of_a_view():
    made = Scheduler(SchedulerOptions())
    made.add(
        make_node("n1", cpu="2"), make_pod("first", cpu="2", priority=9), make_pod("p", cpu="1")
    )
    state = made.state()
    made.schedule("default/first")
    view = present_view(made, made.explain("default/p"), since=state, placed_before=1)
    assert view.taken is not None
    assert (view.taken.node, view.taken.node_count, view.taken.pods) == (
        "n1",
        1,
        ("default/first",),
    )
    assert view.placed_before == 1
