"""The choice of a node in a cycle with extenders: scores of what they leave, ties, and the record.

Upstream: pkg/scheduler/schedule_one.go, schedulePod and prioritizeNodes
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import msgspec
import pytest

import podwright as pw
from podwright.apimachinery.objects import (
    decode_pod,
    with_nominated_node_name as with_nomination,
)
from podwright.scheduler.assembly.build import build_profiles
from podwright.scheduler.assembly.registry import Registry
from podwright.scheduler.columns import Cluster
from podwright.scheduler.config import ExtenderReply, effective
from podwright.scheduler.framework import (
    EXTENDER,
    Cycle,
    NodeView,
    Plugin,
    Reads,
    Scores,
    Status,
)
from podwright.scheduler.framework.extenders.extender_calls import (
    extenders_of,
    pod_argument,
    run_steps,
)
from podwright.scheduler.framework.profile import TieRule
from podwright.scheduler.framework.run import PluginRunner
from podwright.scheduler.framework.tests.test_extenders import NAMES, OBJECTS, Answering, decide
from podwright.scheduler.machine import SchedulerOptions
from podwright.testing import make_node, make_pod

FILTER = {"filterVerb": "filter", "nodeCacheCapable": True}


class Relative(Plugin):
    """Scores nodes by the number in their names, as a share of the greatest one."""

    name = "Relative"
    score_reads = Reads.CLUSTER

    def score(self, cycle: Cycle, node: NodeView) -> int:
        return int(node.name[1:])

    def normalize_score(self, cycle: Cycle, out: Scores) -> None:
        scores = out.values[out.rows]
        out.values[out.rows] = scores * 100 // scores.max()


def runner_of(
    nodes: Iterable[str], *extenders: dict[str, Any], seed: int = 0, **options: Any
) -> PluginRunner:
    """Return a runner with no other score than that of `Relative`."""
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "extenders": [{"urlPrefix": f"http://e{i}/x/"} | e for i, e in enumerate(extenders)],
        "profiles": [
            {"plugins": {"score": {"enabled": [{"name": "Relative"}], "disabled": [{"name": "*"}]}}}
        ],
    }
    registry = Registry([Relative])
    configuration = effective(
        pw.read_configuration(document, source="config"),
        implements=registry.points_of,
    )
    profiles = build_profiles(configuration, registry, SchedulerOptions(**options))
    cluster = Cluster()
    for name in nodes:
        cluster.put(make_node(name))
    return PluginRunner(
        profiles["default-scheduler"], cluster, seed=seed, extenders=extenders_of(configuration)
    )


def keeps(*names: str) -> Any:
    body = json.dumps({"NodeNames": names}).encode()
    return lambda _call: ExtenderReply(status=200, body=body)


def test_scores_are_those_among_the_nodes_that_extenders_leave():
    runner = runner_of(["n10", "n20", "n100"], FILTER)
    pod = make_pod("web", cpu="1")
    found = runner.explain(pod, cycle_number=1, call_extender=keeps("n10", "n20"))
    assert found.decision.node == "n20"
    assert found.totals == {"n10": 50, "n20": 100}
    assert found.not_examined == ()


def test_the_record_of_a_cycle_says_that_the_nominated_node_was_enough():
    runner = runner_of(["n10", "n20", "n30"], FILTER)
    runner.cluster.put(make_node("n30", cpu="500m"))
    pod = with_nomination(make_pod("web", cpu="1"), "n10")
    found = runner.explain(pod, cycle_number=1, call_extender=keeps("n10"))
    assert found.decision.node == "n10"
    assert (found.feasible, found.not_examined) == (("n10",), ("n20", "n30"))
    assert (found.decision.tie_count, found.decision.total) == (1, None)
    assert dict(found.rejected) == {}


@pytest.mark.parametrize(("tie_rule", "count"), [(TieRule.FIRST, 1), (TieRule.DRAWN, 4)])
def test_a_node_is_drawn_among_equal_ones_by_the_seed(tie_rule: TieRule, count: int):
    names = [f"n{i}" for i in ("1", "01", "001", "0001")]
    chosen = set()
    for seed in range(30):
        runner = runner_of(names, FILTER, seed=seed, tie_rule=tie_rule)
        steps = runner.steps(make_pod("web", cpu="1"), cycle_number=1)
        chosen.add(run_steps(steps, keeps(*names)).node)
    assert len(chosen) == count


@pytest.mark.parametrize(
    ("cpu", "rejected_by"),
    [
        pytest.param("1", {EXTENDER}, id="what extenders remove, they have rejected"),
        pytest.param("100k", {"NodeResourcesFit"}, id="what filters reject, they never see"),
    ],
)
def test_extenders_reject_a_pod_only_where_they_remove_nodes(cpu: str, rejected_by: set[str]):
    # Upstream: pkg/scheduler/schedule_one.go, findNodesThatFitPod
    steps = runner_of(["n1", "n2"], FILTER).steps(make_pod("web", cpu=cpu), cycle_number=1)
    diagnosis = run_steps(steps, keeps()).diagnosis
    assert diagnosis is not None
    assert diagnosis.rejected_by == rejected_by


def test_the_record_of_a_cycle_has_all_nodes_if_extenders_remove_the_nominated_one():
    def without_n10(call: Any) -> ExtenderReply:
        names = [name for name in json.loads(call.body)["NodeNames"] if name != "n10"]
        return ExtenderReply(status=200, body=json.dumps({"NodeNames": names}).encode())

    pod = with_nomination(make_pod("web", cpu="1"), "n10")
    runner = runner_of(["n10", "n20", "n30"], FILTER)
    found = runner.explain(pod, cycle_number=1, call_extender=without_n10)
    assert found.decision.node == "n30"
    assert (found.feasible, found.not_examined) == (("n20", "n30"), ())


def test_of_equal_nodes_that_extenders_leave_the_scored_ones_are_shown_first():
    def call(asked: Any) -> ExtenderReply:
        of_verb = {
            "filter": {"NodeNames": ["n01", "n1"]},
            "prioritize": [{"Host": "n1", "Score": 0}],
        }
        return ExtenderReply(status=200, body=json.dumps(of_verb[asked.verb]).encode())

    runner = runner_of(["n01", "n1"], FILTER | {"prioritizeVerb": "score", "weight": 1})
    found = runner.explain(make_pod("web", cpu="1"), cycle_number=1, call_extender=call)
    assert (found.tied, found.winners) == (("n01", "n1"), ("n1",))
    assert [row[0] for row in found._best()] == ["n1", "n01"]


@pytest.mark.parametrize(
    "settings",
    [pytest.param(NAMES, id="names of nodes"), pytest.param(OBJECTS, id="nodes")],
)
def test_a_pod_is_sent_as_kubernetes_writes_it(settings):
    pod = make_pod("web", cpu="1", labels={"app": "web"}, priority=3)
    metadata = pod.raw["metadata"] | {"managedFields": [{"manager": "m"}]}
    pod = decode_pod(pod.raw | {"metadata": metadata})
    answering = Answering({"filter": {"NodeNames": ["n0"], "Nodes": None}})
    decide(answering, settings, pod=pod)
    body = json.loads(answering.calls[0].body)
    assert body["Pod"] == pod_argument(pod)
    assert body["Pod"]["metadata"] == {name: metadata[name] for name in body["Pod"]["metadata"]}
    assert "managedFields" not in body["Pod"]["metadata"]
    assert body["Pod"]["spec"]["priority"] == 3
    names = (
        None
        if body["Nodes"] is None
        else [node["metadata"]["name"] for node in body["Nodes"]["items"]]
    )
    sent = body["NodeNames"] if settings is NAMES else names
    assert sent == ["n0", "n1", "n2"]
    assert (body["Nodes"] is None, body["NodeNames"] is None) == (
        settings is NAMES, settings is OBJECTS,
    )  # fmt: skip


def scored_alike(call: Any) -> ExtenderReply:
    """Leave three of four nodes, name one that failed, and score all alike."""
    names = ["n1", "n01", "n001"]
    of_verb = {
        "filter": {"NodeNames": names, "FailedNodes": {"n0001": "no"}},
        "prioritize": [{"Host": name, "Score": 0} for name in names],
    }
    return ExtenderReply(status=200, body=json.dumps(of_verb[call.verb]).encode())


@pytest.mark.parametrize("tie_rule", TieRule)
def test_a_decision_counts_the_nodes_that_are_left_and_those_that_were_rejected(tie_rule: TieRule):
    extender = FILTER | {"prioritizeVerb": "score", "weight": 1}
    runner = runner_of(["n1", "n01", "n001", "n0001"], extender, tie_rule=tie_rule)
    found = run_steps(runner.steps(make_pod("web", cpu="1"), cycle_number=1), scored_alike)
    assert (found.feasible_count, found.evaluated_count) == (3, 4)
    assert (found.tie_count, found.total) == (3, 100)
    assert runner.cluster.nodes.names[found.slot] == found.node


@pytest.mark.parametrize(
    ("tie_rule", "nodes"),
    [
        (TieRule.FIRST, "001 001 001 001 001 001 001 001 001"),
        (TieRule.DRAWN, "1 01 01 01 01 001 01 01 01"),
        (TieRule.HEAP, "001 1 1 1 01 001 1 001 01"),
    ],
)
def test_a_recorded_cycle_is_drawn_as_it_was(tie_rule: TieRule, nodes: str):
    extender = FILTER | {"prioritizeVerb": "score", "weight": 1}
    runner = runner_of(["n1", "n01", "n001"], extender, seed=3, tie_rule=tie_rule)
    found = [
        run_steps(runner.steps(make_pod("web"), cycle_number=number), scored_alike).node
        for number in (*range(1, 9), 10**9)
    ]
    assert " ".join(found).replace("n", "") == nodes


def test_a_node_that_nominated_pods_take_counts_once_with_the_reason_of_an_extender():
    def call(_asked: Any) -> ExtenderReply:
        failed = dict.fromkeys(("n1", "n2", "n3"), "busy")
        body = json.dumps({"NodeNames": [], "FailedNodes": failed}).encode()
        return ExtenderReply(status=200, body=body)

    runner = runner_of(["n1", "n2", "n3"], FILTER)
    runner.cluster.put(make_node("n1", cpu="1"))
    runner.cluster.nominate(make_pod("first", cpu="1", priority=5), "n1")
    decision = run_steps(runner.steps(make_pod("web", cpu="1"), cycle_number=1), call)
    assert decision.message.startswith("0/3 nodes are available: 3 busy.")


@pytest.mark.parametrize(
    ("reply", "scores"),
    [
        pytest.param([{"Host": "n1", "Score": 2}], {"n1": 20}, id="a node"),
        pytest.param([{"Host": "n1"}], {"n1": 0}, id="without a score"),
        pytest.param([{"Score": 2}], {"": 20}, id="without a name"),
        pytest.param([{"Host": None, "Score": None}], {"": 0}, id="null counts as absent"),
        pytest.param([{"Host": "n1", "Score": 2}] * 2, {"n1": 40}, id="a node twice"),
        pytest.param([], {}, id="nothing"),
        pytest.param(None, {}, id="null"),
    ],
)
def test_the_scores_of_an_extender_are_recorded_as_it_gave_them(reply: Any, scores: dict[str, int]):
    def call(asked: Any) -> ExtenderReply:
        body = {"NodeNames": ["n1", "n2"]} if asked.verb == "filter" else reply
        return ExtenderReply(status=200, body=json.dumps(body).encode())

    runner = runner_of(["n1", "n2"], FILTER | {"prioritizeVerb": "score", "weight": 1})
    found = runner.explain(make_pod("web", cpu="1"), cycle_number=1, call_extender=call)
    (entry,) = found.extenders
    assert entry.scores == scores
    # What it said of filtering is in the same entry.
    assert (entry.candidates, entry.kept, entry.index) == (("n1", "n2"), ("n1", "n2"), 0)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        pytest.param(
            {"NodeNames": [], "FailedNodes": {"n3": "busy"}},
            "0/3 nodes are available: 1 Insufficient cpu, 1 busy, "
            "1 node(s) had untolerated taint(s).",
            id="one that no filter rejects",
        ),
        pytest.param(
            {"NodeNames": [], "FailedNodes": {"n1": "busy", "n2": "full", "n3": "busy"}},
            "0/3 nodes are available: 1 full, 2 busy.",
            id="all of them: its reasons replace others",
        ),
    ],
)
def test_a_node_that_several_reject_is_counted_once(answer: dict[str, Any], message: str) -> None:
    runner = runner_of(["n1", "n2", "n3"], FILTER)
    runner.cluster.put(make_node("n1", cpu="2", taints=["k=v:NoSchedule"]))
    runner.cluster.put(make_node("n2", cpu="2"))
    for name in ("n1", "n2"):
        runner.cluster.nominate(make_pod(f"on-{name}", cpu="2", priority=5), name)
    # There is no room for the pod beside this one, with and without the nominated pod.
    runner.cluster.put(make_pod("there", cpu="2", node="n2"))
    body = json.dumps(answer).encode()
    steps = runner.steps(make_pod("web", cpu="1", priority=5), cycle_number=1)
    decision = run_steps(steps, lambda _call: ExtenderReply(status=200, body=body))
    assert decision.message == message
    assert decision.diagnosis is not None
    plugins = {"NodeResourcesFit", "TaintToleration", EXTENDER}
    assert decision.diagnosis.rejected_by == plugins
    assert not decision.diagnosis.pending
    assert decision.evaluated_count == 3


class Waits(Plugin):
    """Rejects some nodes for now, and others until an event."""

    name = "Waits"

    def filter(self, cycle: Cycle, node: NodeView) -> Status:
        return Status.pending("later") if node.name == "n1" else Status.OK


@pytest.mark.parametrize("nominated", ["", "n1"])
def test_a_plugin_that_waits_is_pending_also_beside_an_extender(nominated: str) -> None:
    runner = runner_of(["n1", "n2"], FILTER)
    runner.profile = msgspec.structs.replace(runner.profile, filter=(Waits(),))
    made = PluginRunner(runner.profile, runner.cluster, extenders=runner.extenders)
    if nominated:
        made.cluster.nominate(make_pod("first", priority=5), nominated)
    steps = made.steps(make_pod("web", priority=5), cycle_number=1)
    decision = run_steps(steps, keeps())
    assert decision.diagnosis is not None
    assert decision.diagnosis.rejected_by == {EXTENDER}
    assert decision.diagnosis.pending == {"Waits"}
