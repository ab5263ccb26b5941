"""What extenders make of the candidates.

Upstream: pkg/scheduler/framework/preemption/preemption.go, callExtenders;
pkg/scheduler/extender.go, ProcessPreemption, convertToVictims
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from podwright.scheduler.config import Extender, ExtenderReply
from podwright.scheduler.framework import CalledExtender, PostFilterResult, pod_argument
from podwright.scheduler.framework.extenders.extender_calls import run_steps
from podwright.scheduler.framework.status import Status
from podwright.scheduler.preemption import Candidate, preempt_with_extenders
from podwright.scheduler.preemption.extenders import extender_steps
from podwright.scheduler.preemption.tests.situations import cluster_of, failed_cycle, node, pod

IMPORTANT = pod("important", "2", priority=100)
CLUSTER = cluster_of(
    node("n1"),
    node("n2"),
    pod("a", on="n1", priority=3),
    pod("b", on="n1", priority=2),
    pod("c", on="n1", priority=200),
    pod("d", "2", on="n2"),
)
BROKEN = ExtenderReply(status=500, body=b"")


def of(name: str) -> Any:
    return CLUSTER.pods[f"default/{name}"].pod


PROPOSED = Candidate(node="n1", victims=(of("b"),), spared=(of("a"),), pdb_violations=1)


def extender(**settings: Any) -> CalledExtender:
    usual: dict[str, Any] = {
        "url_prefix": "http://e",
        "preempt_verb": "preempt",
        "node_cache_capable": True,
    }
    return CalledExtender(settings=Extender(**(usual | settings)), index=0, managed=frozenset())


def answering(**nodes: Any) -> ExtenderReply:
    """Return an answer with the names of the victims of nodes, or their JSON."""
    by_node = {
        name: {"Pods": [{"UID": f"uid-{victim}"} for victim in victims], "NumPDBViolations": 1}
        if isinstance(victims, str)
        else victims
        for name, victims in nodes.items()
    }
    return ExtenderReply(status=200, body=json.dumps({"NodeNameToMetaVictims": by_node}).encode())


def outcome(reply: ExtenderReply, **settings: Any) -> Any:
    """Return the error; otherwise the victims and the spared pods by node."""
    steps = extender_steps([extender(**settings)], IMPORTANT, [PROPOSED], CLUSTER)
    found = run_steps(steps, lambda _: reply)
    if isinstance(found, Status):
        return found
    assert {candidate.pdb_violations for candidate in found} <= {1}
    return {
        candidate.node: [
            "".join(one.metadata.name for one in pods)
            for pods in (candidate.victims, candidate.spared)
        ]
        for candidate in found
    }


@pytest.mark.parametrize(
    ("reply", "found"),
    [
        pytest.param(answering(n1="b"), {"n1": ["b", "a"]}, id="what was proposed"),
        pytest.param(answering(n1="a"), {"n1": ["a", "b"]}, id="another victim"),
        pytest.param(answering(n1="ba"), {"n1": ["ba", ""]}, id="more victims"),
        pytest.param(answering(n2="d"), {"n2": ["d", ""]}, id="a node that was not proposed"),
        pytest.param(answering(), {}, id="no candidates"),
        pytest.param(ExtenderReply(status=200, body=b"{}"), {}, id="nothing"),
    ],
)
def test_an_extender_chooses_victims(reply: ExtenderReply, found: dict[str, list[str]]) -> None:
    assert outcome(reply) == found


GONE = (
    "extender: http://e claims to preempt pod (UID: &{uid-d}) on node: n1, but the pod is not"
    " found on that node"
)
MALFORMED = 'extender "http://e" gives a malformed answer to preempt: MetaVictims.Pods: '


@pytest.mark.parametrize(
    ("reply", "error", "left"),
    [
        pytest.param(
            BROKEN,
            "failed preempt with extender at URL http://e/preempt, code 500",
            {"n1": ["b", "a"]},
            id="it fails",
        ),
        pytest.param(
            answering(n1=""), 'expected at least one victim pod on node "n1"', {}, id="no victim"
        ),
        pytest.param(
            answering(n1={"Pods": None}),
            'expected at least one victim pod on node "n1"',
            {},
            id="null for no victims",
        ),
        pytest.param(
            answering(n3="a"),
            'nodeinfo not found for node name "n3"',
            {"n1": ["b", "a"]},
            id="an unknown node",
        ),
        pytest.param(answering(n1="d"), GONE, {"n1": ["b", "a"]}, id="a pod of another node"),
        pytest.param(
            answering(n1={"Pods": [{}]}),
            GONE.replace("uid-d", ""),
            {"n1": ["b", "a"]},
            id="a victim without a uid",
        ),
        pytest.param(
            answering(n1={"Pods": "a"}),
            MALFORMED + "must be an array, not a string",
            {"n1": ["b", "a"]},
            id="malformed",
        ),
    ],
)
def test_an_error_ends_preemption_unless_the_extender_may_be_ignored(
    reply: ExtenderReply, error: str, left: dict[str, list[str]]
) -> None:
    assert outcome(reply) == Status.error(error)
    assert outcome(reply, ignorable=True) == left


def test_the_answer_decides_between_dry_run_and_choice() -> None:
    failed = failed_cycle(IMPORTANT, CLUSTER)
    without = extender(preempt_verb="")
    failed.extenders = (without, extender(), without)
    calls: list[str] = []

    def answer(call: Any) -> ExtenderReply:
        calls.append(call.url)
        return answering(n2="d")

    result = run_steps(preempt_with_extenders(failed), answer)
    assert isinstance(result, PostFilterResult)
    assert result.nominated_node == "n2"
    assert len(calls) == 1


def test_an_extender_receives_the_preemptor_and_the_victims() -> None:
    # Upstream: k8s.io/kube-scheduler/extender/v1, ExtenderPreemptionArgs
    first, uids = pod_argument(of("b")), [{"UID": "uid-b"}]
    for is_cache_capable in (True, False):
        victims = {"Pods": uids if is_cache_capable else [first], "NumPDBViolations": 1}
        steps = extender_steps(
            [extender(node_cache_capable=is_cache_capable)], IMPORTANT, [PROPOSED], CLUSTER
        )
        assert json.loads(next(steps).body) == {
            "Pod": pod_argument(IMPORTANT),
            "NodeNameToVictims": None if is_cache_capable else {"n1": victims},
            "NodeNameToMetaVictims": {"n1": victims} if is_cache_capable else None,
        }


def test_without_a_candidate_no_extender_is_called() -> None:
    # Upstream: pkg/scheduler/framework/preemption/preemption.go, Preempt and callExtenders
    failed = failed_cycle(pod("low", "2", priority=-1), CLUSTER)
    failed.extenders = (extender(),)
    urls: list[str] = []

    def answer(call: Any) -> ExtenderReply:
        urls.append(call.url)
        return answering()

    assert run_steps(preempt_with_extenders(failed), answer).nominated_node == ""
    assert not urls
    extenders = [extender(url_prefix=f"http://{name}") for name in ("first", "second")]
    assert run_steps(extender_steps(extenders, IMPORTANT, [PROPOSED], CLUSTER), answer) == []
    assert urls == ["http://first/preempt"]


def test_an_extender_that_fails_and_may_be_ignored_is_passed_over() -> None:
    # Upstream: pkg/scheduler/framework/preemption/preemption.go, callExtenders
    extenders = [extender(ignorable=True), extender(url_prefix="http://second")]
    steps = extender_steps(extenders, IMPORTANT, [PROPOSED], CLUSTER)
    found = run_steps(steps, lambda call: answering(n2="d") if "second" in call.url else BROKEN)
    assert not isinstance(found, Status)
    assert [candidate.node for candidate in found] == ["n2"]


@pytest.mark.parametrize(
    ("victims", "violations"),
    [
        pytest.param({"NumPDBViolations": 2}, 2, id="the answer has it"),
        pytest.param({"NumPDBViolations": None}, 0, id="null"),
        pytest.param({}, 0, id="none"),
    ],
)
def test_the_violations_of_an_answer(victims: dict[str, Any], violations: int) -> None:
    reply = answering(n1={"Pods": [{"UID": "uid-b"}]} | victims)
    steps = extender_steps([extender()], IMPORTANT, [PROPOSED], CLUSTER)
    found = run_steps(steps, lambda _: reply)
    assert not isinstance(found, Status)
    (candidate,) = found
    assert candidate.pdb_violations == violations


def test_a_candidate_violates_no_budget_unless_it_says_so() -> None:
    assert Candidate(node="n1", victims=(of("b"),)).pdb_violations == 0
