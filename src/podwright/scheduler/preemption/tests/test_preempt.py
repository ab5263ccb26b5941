import json

import pytest

from podwright.apimachinery.objects import with_fields
from podwright.scheduler.config import Extender, ExtenderReply
from podwright.scheduler.framework import CalledExtender
from podwright.scheduler.framework.extenders.extender_calls import run_steps
from podwright.scheduler.framework.run import PluginRunner
from podwright.scheduler.framework.status import Code, Status
from podwright.scheduler.preemption import (
    Criterion,
    Limits,
    Preemption,
    dry_run,
    preempt,
    preempt_steps,
)
from podwright.scheduler.preemption.extenders import _arguments, extender_steps
from podwright.scheduler.preemption.tests.situations import (
    NOW_NS,
    attempt,
    budget,
    cluster_of,
    failed_cycle,
    node,
    pod,
    profile,
)
from podwright.scheduler.preemption.victims import Candidate

IMPORTANT = pod("important", "2", priority=100)


def found(decision):
    assert isinstance(decision.post_filter.details, Preemption)
    return decision.post_filter.details


def test_the_least_important_pods_make_room():
    decision = attempt(
        pod("important", "1", priority=100),
        node("n1"),
        pod("older", priority=5, on="n1", started="2026-01-01T00:00:00Z"),
        pod("younger", priority=5, on="n1", started="2026-01-01T00:00:01Z"),
    )
    assert decision.post_filter.nominated_node == "n1"
    assert decision.post_filter.status.is_success
    (candidate,) = found(decision).candidates
    assert [victim.metadata.name for victim in candidate.victims] == ["younger"]
    assert [spared.metadata.name for spared in candidate.spared] == ["older"]
    assert decision.message == "0/1 nodes are available: 1 Insufficient cpu."


def test_preempt_evicts_no_pod():
    cluster = cluster_of(node("n1"), pod("a", on="n1"), pod("b", on="n1"))
    runner = PluginRunner(profile(), cluster)
    decision = runner.decide(IMPORTANT, cycle_number=1)
    before = cluster.nodes.requested.tolist()
    decision = runner.post_filter(decision, cycle_number=1, now_ns=NOW_NS)
    assert len(found(decision).victims) == 2
    assert cluster.nodes.requested.tolist() == before
    assert list(cluster.pods) == ["default/a", "default/b"]


@pytest.mark.parametrize(
    ("spec", "others", "message"),
    [
        pytest.param(
            {"preemptionPolicy": "Never"},
            [],
            "preemption: not eligible due to preemptionPolicy=Never.",
            id="the policy is Never",
        ),
        pytest.param(
            {},
            [pod("going", on="n1", terminating=True)],
            "preemption: not eligible due to a terminating pod on the nominated node.",
            id="others are making room already",
        ),
    ],
)
def test_who_may_not_preempt_keeps_its_nomination(spec, others, message):
    preemptor = pod("important", "2", priority=100, nominated="n1", **spec)
    decision = attempt(preemptor, node("n1"), pod("full", on="n1"), *others)
    assert decision.post_filter.nominated_node is None
    assert decision.post_filter.status.code == Code.UNSCHEDULABLE
    assert decision.post_filter.message == f"no new claims to deallocate, {message}"


def test_an_impossible_nominated_node_does_not_prevent_preemption():
    preemptor = pod("important", "2", priority=100, nominated="n1")
    decision = attempt(
        preemptor,
        node("n1", unschedulable=True),
        pod("going", on="n1", terminating=True),
        node("n2"),
        pod("full", on="n2"),
    )
    assert decision.post_filter.nominated_node == "n2"


def test_the_nomination_is_cleared_if_preemption_does_not_help():
    decision = attempt(
        IMPORTANT,
        node("n1"),
        pod("equal", priority=100, on="n1"),
        node("small", "1"),
    )
    assert decision.post_filter.nominated_node == ""
    assert decision.message == (
        "0/2 nodes are available: 2 Insufficient cpu. no new claims to deallocate, preemption: "
        "0/2 nodes are available: 1 No preemption victims found for incoming pod, "
        "1 Preemption is not helpful for scheduling."
    )


def test_a_budget_protects_where_another_node_will_do():
    decision = attempt(
        IMPORTANT,
        node("n1"),
        pod("guarded", priority=1, on="n1", labels={"app": "a"}),
        node("n2"),
        pod("free", priority=9, on="n2"),
        budget("b", 0, {"app": "a"}),
    )
    preemption = found(decision)
    assert decision.post_filter.nominated_node == "n2"
    assert preemption.choice.criterion is Criterion.FEWEST_VIOLATIONS
    assert [c.pdb_violations for c in sorted(preemption.candidates, key=lambda c: c.node)] == [1, 0]


def test_pods_that_would_violate_a_budget_are_reprieved_first():
    decision = attempt(
        pod("important", "1", priority=100),
        node("n1"),
        pod("more", priority=9, on="n1"),
        pod("guarded", priority=1, on="n1", labels={"app": "a"}),
        budget("b", 0, {"app": "a"}),
    )
    assert [victim.metadata.name for victim in found(decision).victims] == ["more"]


def test_less_important_nominations_to_the_chosen_node_end():
    decision = attempt(
        IMPORTANT,
        node("n1"),
        pod("a", on="n1"),
        pod("lower", priority=99, nominated="n1"),
        pod("equal", priority=100, nominated="n2"),
    )
    assert [p.metadata.name for p in found(decision).cleared_nominations] == ["lower"]


def test_an_equally_important_nominated_pod_needs_room_too():
    decision = attempt(
        pod("important", "1", priority=100),
        node("n1"),
        pod("a", on="n1"),
        pod("b", on="n1"),
        pod("equal", "1", priority=100, nominated="n1"),
    )
    assert len(found(decision).victims) == 2


def test_a_host_port_is_free_after_one_of_its_users_is_removed():
    # Two pods on one port are a mistake; upstream's set removes the port with the first.
    port = {"name": "c", "image": "i", "ports": [{"hostPort": 80, "containerPort": 80}]}
    decision = attempt(
        pod("important", priority=100, containers=[port]),
        node("n1"),
        pod("low", priority=1, on="n1", containers=[port]),
        pod("high", priority=200, on="n1", containers=[port]),
    )
    assert [victim.metadata.name for victim in found(decision).victims] == ["low"]


def full_nodes(count):
    return [obj for i in range(count) for obj in (node(f"n{i}"), pod(f"p{i}", "2", on=f"n{i}"))]


@pytest.mark.parametrize(
    ("limits", "nodes", "expected"),
    [
        pytest.param(Limits(), 5_000, 500, id="a tenth"),
        pytest.param(Limits(), 300, 100, id="at least a hundred"),
        pytest.param(Limits(), 7, 7, id="never more than there are"),
        pytest.param(Limits(0, 1), 5, 1, id="one"),
    ],
)
def test_the_required_number_of_candidates(limits, nodes, expected):
    assert limits.required(nodes) == expected


def test_the_search_begins_at_a_drawn_node_and_ends_when_it_has_enough():
    cluster = cluster_of(*full_nodes(40))
    starts = set()
    for number in range(30):
        run = dry_run(failed_cycle(IMPORTANT, cluster, number), Limits(10, 2))
        assert (run.visited_count, run.helpable_count, len(run.candidates)) == (4, 40, 4)
        names = [candidate.node for candidate in run.candidates]
        assert names == [f"n{(run.offset + i) % 40}" for i in range(4)]
        starts.add(run.offset)
    assert len(starts) > 10


def test_no_node_is_tried_where_preemption_cannot_help():
    decision = attempt(IMPORTANT, node("n1", unschedulable=True), pod("low", "2", on="n1"))
    tried = found(decision).dry_run
    assert (tried.visited_count, tried.helpable_count, tried.offset) == (0, 0, 0)
    assert not tried.candidates
    assert found(decision).describe() == (
        "tried 0 of 0 nodes where preemption may help: 0 candidates",
    )


def extenders_answer(answer):
    steps = preempt_steps(failed_cycle(IMPORTANT, cluster_of(*full_nodes(3))))
    question = next(steps)
    assert question.pod is IMPORTANT
    with pytest.raises(StopIteration) as end:
        steps.send(answer(question.candidates))
    return end.value.value


def test_extenders_keep_some_candidates():
    result = extenders_answer(lambda candidates: [c for c in candidates if c.node == "n2"])
    assert result.nominated_node == "n2"
    assert result.details.choice.criterion is None
    assert len(result.details.dry_run.candidates) == 3


def test_extenders_keep_no_candidate():
    result = extenders_answer(lambda _: [])
    assert result.status == Status.unschedulable("no candidate node for preemption")
    assert result.nominated_node is None
    assert len(result.details.dry_run.candidates) == 3
    assert result.details.choice is None


def test_extenders_fail():
    error = Status.error("extender is out")
    result = extenders_answer(lambda _: error)
    assert result.status == error
    assert len(result.details.dry_run.candidates) == 3


def test_the_result_has_a_description():
    decision = attempt(
        pod("important", "1", priority=100),
        node("n1"),
        pod("a", priority=1, on="n1"),
        pod("b", priority=2, on="n1"),
        node("n2"),
        pod("c", "2", priority=3, on="n2"),
    )
    assert found(decision).describe() == (
        "tried 2 of 2 nodes where preemption may help: 2 candidates",
        "n1: evicts default/a (priority 1), spares default/b (priority 2)",
        "n2: evicts default/c (priority 3)",
        "takes n1: lowest priority of the most important victim",
    )


def test_candidates_do_not_change_with_the_cluster():
    cluster = cluster_of(
        *[node(name) for name in ("b", "a", "c")],
        *[pod(f"on-{name}", "2", on=name) for name in ("a", "b", "c")],
    )
    found = preempt(failed_cycle(pod("high", "2", priority=5), cluster)).details
    again = preempt(failed_cycle(pod("high", "2", priority=5), cluster)).details
    assert isinstance(found, Preemption)
    assert isinstance(again, Preemption)
    expected = {(c.node, tuple(p.key for p in c.victims)) for c in list(again.candidates)}
    assert expected == {(name, (f"default/on-{name}",)) for name in ("a", "b", "c")}
    cluster.delete(pod("on-b", on="b"))
    cluster.put(pod("other", "2", on="b"))
    cluster.put(pod("on-a", "2", priority=1, on="a"))
    cluster.put(node("0", cpu="0"))
    cluster.delete(node("c"))
    preempt(failed_cycle(pod("high", "2", priority=5), cluster, 2))
    assert {(c.node, tuple(p.key for p in c.victims)) for c in found.candidates} == expected
    assert found.choice is not None
    assert found.choice.acceptable == ("a", "b", "c")
    assert found.choice.candidate.node == found.choice.acceptable[0]


@pytest.mark.parametrize("is_cache_capable", [True, False])
def test_an_extender_without_a_cache_of_pods_receives_them(is_cache_capable):
    settings = Extender(node_cache_capable=is_cache_capable)
    extender = CalledExtender(settings=settings, index=0, managed=frozenset())
    candidate = Candidate(node="n1", victims=(with_uid(pod("low", "1")),), pdb_violations=1)
    sent = _arguments(extender, IMPORTANT, {"n1": candidate})
    used, other = "NodeNameToMetaVictims", "NodeNameToVictims"
    if not is_cache_capable:
        used, other = other, used
    assert sent[other] is None
    assert sent[used]["n1"]["NumPDBViolations"] == 1
    (victim,) = sent[used]["n1"]["Pods"]
    if is_cache_capable:
        assert victim == {"UID": "u"}
    else:
        assert victim["metadata"]["uid"] == "u"
        assert victim["spec"]["containers"]


def with_uid(victim):
    return with_fields(victim, "metadata", uid="u")


def test_each_extender_receives_the_candidates_that_the_one_before_left():
    cluster = cluster_of(*(node(name, cpu="2") for name in ("n1", "n2", "n3")))
    for name in ("n1", "n2", "n3"):
        cluster.place(pod(f"on-{name}", "2"), cluster.nodes.slot_of[name])
    candidates = [
        Candidate(node=name, victims=(cluster.pods[f"default/on-{name}"].pod,))
        for name in ("n1", "n2", "n3")
    ]
    called = []
    for index, verb in enumerate(("preempt", "", "preempt", "preempt")):
        settings = Extender(
            url_prefix=f"http://e{index}", preempt_verb=verb, node_cache_capable=True
        )
        called.append(CalledExtender(settings=settings, index=index, managed=frozenset()))
    steps = extender_steps(called, IMPORTANT, candidates, cluster)
    received = []

    def answer(call):
        sent = json.loads(call.body)["NodeNameToMetaVictims"]
        received.append((call.extender, sorted(sent)))
        kept = {name: sent[name] for name in sorted(sent)[1:]}
        body = json.dumps({"NodeNameToMetaVictims": kept}).encode()
        return ExtenderReply(status=200, body=body)

    # After the third one no candidate is left.
    assert run_steps(steps, answer) == []
    assert received == [(0, ["n1", "n2", "n3"]), (2, ["n2", "n3"]), (3, ["n3"])]
