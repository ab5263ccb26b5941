"""The v1.16 rules in the machine, in `Scheduler`, and what a configuration may say of them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podwright.apimachinery.objects import (
    Affinity,
    InputError,
    Pod,
    Service,
    decode_as,
    with_fields,
    with_node_name,
    with_nominated_node_name,
)
from podwright.cli.worker_threads import ThreadedPieces
from podwright.scheduler.assembly import Registry, build_machine
from podwright.scheduler.assembly.classic import policy_extenders
from podwright.scheduler.assembly.scheduler import Scheduler
from podwright.scheduler.classic import ClassicQueue, ClassicRunner
from podwright.scheduler.config import (
    API_VERSION,
    KIND,
    Extender,
    ExtenderCall,
    ExtenderReply,
    KubeSchedulerConfiguration,
    KubeSchedulerProfile,
    Plugin,
    Plugins,
    PluginSet,
    Rules,
    effective,
    read_configuration,
    to_document,
)
from podwright.scheduler.framework.binding import CallError
from podwright.scheduler.framework.extenders.extender_calls import run_steps
from podwright.scheduler.framework.observing.explain import Explanation
from podwright.scheduler.machine import (
    Bind,
    CallExtender,
    DeletePod,
    ExtenderReplied,
    FlushBackoff,
    FlushUnschedulable,
    ObjectDeleted,
    ObjectPut,
    PatchPodStatus,
)
from podwright.scheduler.machine.tests.driving import SECOND_NS, Driver, pending
from podwright.scheduler.preemption import Preemption
from podwright.testing import make_node, make_pod

ALL = Plugin(name="*")


def configuration(**rules: Any) -> dict[str, Any]:
    return {"apiVersion": API_VERSION, "kind": KIND, "rules": {"name": "classic", **rules}}


def classic(**rules: Any) -> Scheduler:
    return Scheduler(read_configuration(configuration(**rules), source="test"))


# ------------------------------------------------------------------------- configuration


def test_the_name_alone_chooses_the_rules():
    read = read_configuration({**configuration(), "rules": "classic"}, source="test")
    assert read.rules == Rules(name="classic")


def test_a_configuration_without_rules_says_nothing_of_them():
    assert "rules" not in to_document(effective(KubeSchedulerConfiguration()).configuration)


def test_rules_survive_being_written_and_read():
    policy = {"kind": "Policy", "priorities": [{"name": "EqualPriority", "weight": 2}]}
    read = read_configuration(
        configuration(policy=policy, backoffFlushPeriod="2s", balancedAllocation="1.7"),
        source="test",
    )
    assert read_configuration(to_document(read), source="again") == read


def problems(written: KubeSchedulerConfiguration) -> list[str]:
    with pytest.raises(InputError) as refused:
        Scheduler(written, source="c")
    return [str(error) for error in refused.value.errors]


@pytest.mark.parametrize(
    ("written", "reported"),
    [
        pytest.param(
            KubeSchedulerConfiguration(rules=Rules(name="classic", algorithm_provider="Default")),
            [
                "c: rules.algorithmProvider: couldn't create scheduler using provider "
                '"Default": plugin "Default" has not been registered'
            ],
            id="a provider that there is not",
        ),
        pytest.param(
            KubeSchedulerConfiguration(
                rules=Rules(name="classic", hard_pod_affinity_symmetric_weight=101)
            ),
            [
                "c: rules.hardPodAffinitySymmetricWeight: invalid "
                "hardPodAffinitySymmetricWeight: 101, must be in the range 1-100"
            ],
            id="a weight out of range",
        ),
        pytest.param(
            KubeSchedulerConfiguration(
                rules=Rules(
                    name="classic",
                    policy={
                        "predicates": [{"name": "Nothing"}],
                        "priorities": [{"name": "EqualPriority", "weight": 0}],
                    },
                )
            ),
            [
                "c: rules.policy.priorities[0].weight: Priority EqualPriority should have a "
                "positive weight applied to it or it has overflown",
                "c: rules.policy.predicates[0].name: Invalid configuration: Predicate type not "
                "found for Nothing",
            ],
            id="a policy with two problems, reported together",
        ),
        pytest.param(
            KubeSchedulerConfiguration(
                rules=Rules(name="classic", algorithm_provider="DefaultProvider", policy={})
            ),
            ["c: rules.algorithmProvider: a policy is used instead of a provider"],
            id="both a policy and a provider",
        ),
        pytest.param(
            KubeSchedulerConfiguration(
                rules=Rules(name="classic"),
                profiles=(
                    KubeSchedulerProfile(
                        scheduler_name="a", plugins=Plugins(filter=PluginSet(disabled=(ALL,)))
                    ),
                ),
                extenders=(Extender(url_prefix="http://e", filter_verb="f", weight=1),),
            ),
            [
                "c: profiles[0].plugins: the v1.16 rules have predicates and "
                "priorities, not plugins: see rules.policy",
                "c: extenders: the v1.16 rules read extenders from rules.policy",
            ],
            id="what only the v1.36 rules have",
        ),
        pytest.param(
            KubeSchedulerConfiguration(rules=Rules(algorithm_provider="DefaultProvider")),
            ['c: rules: settings of the v1.16 rules, but not "name: classic"'],
            id="settings without the name",
        ),
        pytest.param(
            KubeSchedulerConfiguration(
                rules=Rules(name="classic", max_unschedulable_duration_ns=0)
            ),
            ['c: rules.maxUnschedulableDuration: Invalid value: "0s": must be greater than zero'],
            id="a duration of nothing",
        ),
    ],
)
def test_what_is_wrong_with_rules_is_told_with_its_path(
    written: KubeSchedulerConfiguration, reported: list[str]
) -> None:
    found = problems(written)
    assert len(found) == len(reported), found
    for actual, expected in zip(found, reported, strict=True):
        assert actual.startswith(expected), actual


# ------------------------------------------------------------------------- the machine


def driver(**rules: Any) -> Driver:
    return Driver(config=configuration(**rules))


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("DefaultProvidr", 'did you mean "DefaultProvider"?'),
        ("x", "available: DefaultProvider, ClusterAutoscalerProvider"),
    ],
)
def test_an_unknown_provider_is_told_with_those_that_there_are(name, hint):
    rules = Rules(name="classic", algorithm_provider=name)
    (problem,) = problems(KubeSchedulerConfiguration(rules=rules))
    assert problem.endswith(f'plugin "{name}" has not been registered; {hint}')


def test_the_extenders_of_a_policy_are_those_of_a_configuration():
    def found(policy: dict[str, Any] | None) -> list[str]:
        return [each.url_prefix for each in policy_extenders(Rules(name="classic", policy=policy))]

    extenders = [{"urlPrefix": f"http://{name}", "filterVerb": "f"} for name in "ab"]
    assert found({"kind": "Policy", "extenders": extenders}) == ["http://a", "http://b"]
    assert found({"kind": "Policy"}) == found(None) == []
    assert found({"kind": "Policy", "extenders": 3}) == []


@pytest.mark.parametrize(("balanced", "score"), [("1.16", 0), ("1.7", 1)])
def test_the_balance_is_that_of_a_release(balanced, score):
    scheduler = classic(balancedAllocation=balanced)
    scheduler.add(make_node("n1", cpu="1", memory="1000Gi"), make_node("n2"))
    scheduler.add(make_pod("a", cpu="900m", memory="0"))
    scores = {each.plugin: each.raw for each in scheduler.explain("default/a").scores}
    assert scores["BalancedResourceAllocation"]["n1"] == score


def test_a_pod_goes_through_the_same_machine():
    run = driver()
    run.put(make_node("n1", cpu="2"), pending("web", cpu="1"))
    run.cycle()
    assert run.node_of("default/web") == "n1"
    assert [action.node for action in run.all_of(Bind)] == ["n1"]
    assert isinstance(run.machine.queue, ClassicQueue)
    assert run.machine.queue.scheduling_cycle == 1


def test_a_pod_that_fits_nowhere_is_told_in_the_words_of_that_time():
    run = driver()
    run.put(make_node("n1", cpu="1"), make_node("n2", unschedulable=True), pending("big", cpu="2"))
    run.cycle()
    assert run.condition("default/big") == (
        "Unschedulable",
        "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) were unschedulable.",
    )
    assert run.place_of("default/big") == "unschedulable"


def test_a_cluster_without_nodes_is_told_as_it_was():
    run = driver()
    run.put(pending("web"))
    run.cycle()
    assert run.condition("default/web") == ("Unschedulable", "no nodes available to schedule pods")


def test_victims_go_in_the_cycle_itself_and_the_preemptor_is_not_held():
    run = driver()
    run.put(make_node("n1", cpu="2"), pending("low", cpu="2", priority=1))
    run.cycle()
    run.put(pending("high", cpu="2", priority=10))
    run.cycle()
    (deletion,) = run.all_of(DeletePod)
    actions: list[Any] = [*run.all_of(Bind), deletion, *run.all_of(PatchPodStatus)]
    calls = [action.call for action in actions]
    assert deletion.pod == "default/low"
    assert len({*calls}) == len(calls) == sum(isinstance(call, int) for call in calls)
    assert run.notes[-1] == "Preempted: Preempted by default/high on node n1"
    assert run.machine.preempting() == ()
    nominated = [patch.nominated_node for patch in run.all_of(PatchPodStatus)]
    assert nominated == ["n1"]
    # The deletion is a move request; the pod still backs off.
    assert run.place_of("default/high") == "backoff"
    run.now_ns += SECOND_NS
    run.deliver(FlushBackoff())
    run.cycle()
    assert run.node_of("default/high") == "n1"


def test_nominated_pods_of_lower_priority_lose_the_node():
    run = driver()
    run.put(make_node("n1", cpu="2"), make_pod("low", cpu="2", priority=1, node="n1"))
    run.holds.add("DeletePod")
    run.put(pending("middle", cpu="2", priority=5))
    run.cycle()
    run.put(pending("high", cpu="2", priority=10))
    run.cycle()
    cleared = [p.pod for p in run.all_of(PatchPodStatus) if p.nominated_node == ""]
    assert cleared == ["default/middle"]
    assert run.machine.queue.nominator.pods_on("n1")[0].name == "high"


def test_a_nomination_is_taken_back_where_no_node_can_be_helped():
    run = driver()
    run.put(make_node("n1", cpu="2", taints=["a:NoSchedule"]))
    run.put(with_nominated_node_name(pending("web"), "n1"))
    run.cycle()
    assert [patch.nominated_node for patch in run.all_of(PatchPodStatus)] == [""]


def test_a_new_node_moves_every_unschedulable_pod():
    run = driver()
    run.put(make_node("n1", cpu="1"), pending("big", cpu="4"), pending("huge", cpu="8"))
    run.cycle()
    run.cycle()
    run.now_ns += 2 * SECOND_NS
    run.put(make_node("n2", cpu="4"))
    assert run.place_of("default/big") == run.place_of("default/huge") == "active"
    assert run.machine.queue.move_request_cycle == 2  # type: ignore[attr-defined]  # the classic queue


def test_a_bound_pod_moves_only_those_that_must_be_near_it():
    run = driver()
    near = make_pod("db", labels={"app": "db"})
    run.put(
        make_node("n1", cpu="1"),
        pending("far", cpu="4"),
        _near_db(pending("near", cpu="1")),
    )
    run.cycle()
    run.cycle()
    run.now_ns += 2 * SECOND_NS
    run.put(with_fields(near, "spec", node_name="n1"))
    assert run.place_of("default/near") == "active"
    assert run.place_of("default/far") == "unschedulable"


def _near_db(pod: Pod) -> Pod:
    affinity = {
        "podAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"labelSelector": {"matchLabels": {"app": "db"}}, "topologyKey": "host"}
            ]
        }
    }
    return with_fields(pod, "spec", affinity=msgspec.convert(affinity, Affinity))


def test_pods_that_wait_for_more_than_a_minute_are_moved_by_the_flush():
    run = driver()
    run.put(make_node("n1", cpu="1"), pending("big", cpu="4"))
    run.cycle()
    run.now_ns += 60 * SECOND_NS
    run.deliver(FlushUnschedulable())
    assert run.place_of("default/big") == "unschedulable"
    run.now_ns += 1
    run.deliver(FlushUnschedulable())
    assert run.place_of("default/big") == "active"


def test_durations_are_configurable():
    run = driver(maxUnschedulableDuration="10s", unschedulableFlushPeriod="5s")
    run.put(make_node("n1", cpu="1"), pending("big", cpu="4"))
    run.cycle()
    run.now_ns += 11 * SECOND_NS
    run.deliver(FlushUnschedulable())
    assert run.place_of("default/big") == "active"


def test_an_update_that_changes_more_than_the_status_moves_a_pod():
    run = driver()
    run.put(make_node("n1", cpu="1"), pending("big", cpu="4"))
    run.cycle()
    pod = run.machine.pod("default/big")
    assert pod is not None
    run.put(with_fields(pod, "status", phase="Pending"))
    assert run.place_of("default/big") == "unschedulable"
    run.put(with_fields(pod, "metadata", labels={"a": "b"}))
    assert run.place_of("default/big") == "active"


def test_a_binding_that_fails_frees_the_node():
    run = driver()
    run.put(make_node("n1", cpu="1"), pending("web", cpu="1"))
    run.holds.add("Bind")
    run.cycle()
    (bind,) = run.held
    assert run.machine.assumed() == {"default/web": "n1"}
    run.errors["Bind"] = CallError("conflict")
    run.answer(bind)
    assert run.machine.assumed() == {}
    # No event reports that the node is free again.
    assert run.place_of("default/web") == "unschedulable"


def test_an_assumed_pod_that_is_deleted_frees_the_node():
    run = driver()
    run.put(make_node("n1", cpu="1"), pending("web", cpu="1"))
    run.holds.add("Bind")
    run.cycle()
    pod = run.machine.pod("default/web")
    assert pod is not None
    run.remove(pod)
    run.holds.clear()
    run.put(pending("next", cpu="1"))
    run.cycle()
    assert run.node_of("default/next") == "n1"


def assumed_pod(run: Driver) -> Pod:
    """Let a pod fill a node, with a binding that is not answered; return the pod."""
    run.put(make_node("n1", cpu="1"), pending("web", cpu="1"))
    run.holds.add("Bind")
    run.cycle()
    assert run.machine.assumed() == {"default/web": "n1"}
    pod = run.machine.pod("default/web")
    assert pod is not None
    return pod


def test_an_assumed_pod_that_changes_keeps_the_node():
    run = driver()
    run.put(with_fields(assumed_pod(run), "metadata", labels={"a": "b"}))
    assert run.machine.assumed() == {"default/web": "n1"}


def test_a_pod_whose_binding_was_not_observed_before_its_deletion_frees_the_node():
    run = driver()
    run.deliver(ObjectDeleted(with_node_name(assumed_pod(run), "n1")))
    assert run.machine.assumed() == {}
    run.holds.clear()
    run.put(pending("next", cpu="1"))
    run.cycle()
    assert run.node_of("default/next") == "n1"


def test_an_outdated_version_in_a_deletion_frees_the_node():
    run = driver()
    run.put(make_node("n1", cpu="1"), pending("web", cpu="1"))
    run.cycle()
    placed = run.machine.pod("default/web")
    assert placed is not None
    run.deliver(ObjectDeleted(with_node_name(placed, "")))
    run.put(pending("next", cpu="1"))
    run.cycle()
    assert run.node_of("default/next") == "n1"


def test_a_node_that_goes_moves_no_pod():
    run = driver()
    run.put(make_node("n1", cpu="1"), make_node("n2", cpu="1"), pending("big", cpu="4"))
    run.cycle()
    run.now_ns += 100 * SECOND_NS
    run.deliver(ObjectDeleted(make_node("n2", cpu="1")))
    assert run.place_of("default/big") == "unschedulable"


def test_pods_of_other_schedulers_count_once_they_are_placed():
    run = driver()
    run.put(make_node("n1", cpu="2"))
    run.put(make_pod("other", cpu="2", scheduler="other"))
    assert run.place_of("default/other") == ""
    run.put(make_pod("other", cpu="2", scheduler="other", node="n1"))
    run.put(pending("web", cpu="1"))
    run.cycle()
    assert run.place_of("default/web") == "unschedulable"


def test_a_node_that_goes_takes_its_pods_out_of_the_count():
    run = driver()
    node = make_node("n1", cpu="2")
    run.put(node, pending("web", cpu="1"))
    run.cycle()
    run.remove(node)
    run.put(make_node("n1", cpu="1"))
    run.put(pending("next", cpu="1"))
    run.cycle()
    assert run.place_of("default/next") == "unschedulable"


def waiting_pod(run: Driver) -> Pod:
    """Return a pod that waits for room on the only node, at its present version."""
    run.put(make_node("n1", cpu="1"), pending("big", cpu="4"))
    run.cycle()
    pod = run.machine.pod("default/big")
    assert pod is not None
    assert run.place_of("default/big") == "unschedulable"
    return pod


@pytest.mark.parametrize(
    "event",
    [
        pytest.param(
            lambda pod: ObjectPut(with_fields(pod, "metadata", labels={"a": "b"})),
            id="the version that is known, whatever it has",
        ),
        pytest.param(
            lambda pod: ObjectDeleted(with_fields(pod, "metadata", uid="earlier")),
            id="the deletion of an earlier pod of that name",
        ),
        pytest.param(lambda _: ObjectDeleted(make_pod("other")), id="the deletion of no pod"),
        pytest.param(lambda _: ObjectDeleted(service()), id="the deletion of no Service"),
        pytest.param(lambda _: ObjectDeleted(make_node("n2")), id="the deletion of no node"),
        pytest.param(
            lambda _: ObjectPut(with_fields(make_pod("other"), "status", phase="Failed")),
            id="an unknown pod that has ended",
        ),
    ],
)
def test_an_event_that_changes_nothing_moves_no_pod(event):
    run = driver()
    pod = waiting_pod(run)
    run.now_ns += 2 * SECOND_NS
    run.deliver(event(pod))
    assert run.machine.pod("default/big") is pod
    assert run.machine.pod("default/other") is None
    assert run.place_of("default/big") == "unschedulable"


def service() -> Service:
    return decode_as({"metadata": {"name": "s", "namespace": "default"}}, Service)


def test_a_service_moves_pods_when_it_is_changed_and_when_it_is_deleted():
    run = driver()
    waiting_pod(run)
    for event in (ObjectPut(service()), ObjectPut(service()), ObjectDeleted(service())):
        run.now_ns += 100 * SECOND_NS
        run.deliver(event)
        assert run.place_of("default/big") == "active"
        run.cycle()
        assert run.place_of("default/big") == "unschedulable"


def test_a_pod_that_ends_frees_its_node_and_moves_those_that_wait():
    run = driver()
    run.put(make_node("n1", cpu="1"), pending("web", cpu="1"))
    run.cycle()
    run.put(pending("next", cpu="1"))
    run.cycle()
    run.now_ns += 2 * SECOND_NS
    ended = run.machine.pod("default/web")
    assert ended is not None
    run.put(with_fields(ended, "status", phase="Succeeded"))
    assert run.machine.pod("default/web") is None
    assert run.place_of("default/next") == "active"
    run.cycle()
    assert run.node_of("default/next") == "n1"


def test_a_pending_pod_that_ends_leaves_the_queue():
    run = driver()
    pod = waiting_pod(run)
    run.put(with_fields(pod, "status", phase="Failed"))
    assert run.machine.pod("default/big") is None
    assert run.place_of("default/big") == ""


def test_a_pod_that_was_created_again_replaces_the_one_before():
    run = driver()
    run.put(make_node("n1", cpu="1"), pending("web", cpu="1"))
    run.cycle()
    run.put(with_fields(pending("web", cpu="1"), "metadata", uid="later"))
    assert run.place_of("default/web") == "active"
    run.cycle()
    assert run.node_of("default/web") == "n1"
    assert [action.uid for action in run.all_of(Bind)][-1] == "later"


def test_a_placed_pod_keeps_its_node_whatever_an_outdated_event_has():
    run = driver()
    run.put(make_node("n1", cpu="1"), pending("web", cpu="1"))
    run.cycle()
    run.put(pending("web", cpu="1"))
    assert (run.node_of("default/web"), run.place_of("default/web")) == ("n1", "")


def test_a_pending_pod_that_terminates_is_updated_in_the_queue():
    run = driver()
    pod = waiting_pod(run)
    run.put(with_fields(pod, "metadata", deletion_timestamp="2026-01-01T00:00:00Z"))
    queued = run.machine.queue.get("default/big")
    assert queued is not None
    assert queued.pod.is_terminating


@pytest.mark.parametrize("is_gone", [False, True])
def test_an_assumed_pod_that_terminates_frees_the_node_at_once(is_gone):
    run = driver()
    run.put(make_node("n1", cpu="1"), pending("web", cpu="1"))
    run.holds.add("Bind")
    run.cycle()
    pod = run.machine.pod("default/web")
    assert pod is not None
    going = with_fields(pod, "metadata", deletion_timestamp="2026-01-01T00:00:00Z")
    run.put(going)
    assert run.machine.assumed() == {}
    assert run.place_of("default/web") == ""
    if is_gone:
        run.remove(going)
    run.holds.clear()
    run.put(pending("next", cpu="1"))
    run.cycle()
    assert run.node_of("default/next") == "n1"


def test_a_bound_pod_that_changes_moves_those_that_must_be_near_it():
    run = driver()
    db = with_fields(make_pod("db"), "spec", node_name="n1")
    run.put(make_node("n1", cpu="1", labels={"host": "n1"}), db, _near_db(pending("near")))
    run.cycle()
    run.now_ns += 2 * SECOND_NS
    run.put(with_fields(db, "metadata", labels={"app": "other"}))
    assert run.place_of("default/near") == "unschedulable"
    run.put(with_fields(db, "metadata", labels={"app": "db"}))
    assert run.place_of("default/near") == "active"
    run.cycle()
    assert run.node_of("default/near") == "n1"


def test_a_bound_pod_that_is_deleted_moves_every_unschedulable_pod():
    run = driver()
    there = make_pod("there", cpu="1", node="n1", scheduler="other")
    run.put(make_node("n1", cpu="1"), there, pending("web", cpu="1"))
    run.cycle()
    run.now_ns += 2 * SECOND_NS
    run.remove(there)
    assert run.place_of("default/web") == "active"
    run.cycle()
    assert run.node_of("default/web") == "n1"


# ------------------------------------------------------------------------- extenders

POLICY = {
    "kind": "Policy",
    "apiVersion": "v1",
    "extenders": [
        {
            "urlPrefix": "http://e/",
            "filterVerb": "filter",
            "prioritizeVerb": "score",
            "preemptVerb": "preempt",
            "weight": 5,
            "nodeCacheCapable": True,
        }
    ],
}


def answer(call: ExtenderCall) -> ExtenderReply:
    body = msgspec.json.decode(call.body)
    match call.verb:
        case "filter":
            reply: Any = {"NodeNames": [n for n in body["NodeNames"] if n != "n1"]}
            reply["FailedNodes"] = {"n1": "not this one"}
        case "prioritize":
            reply = [{"Host": name, "Score": int(name == "n3")} for name in body["NodeNames"]]
        case _:
            victims = body["NodeNameToMetaVictims"]
            reply = {"NodeNameToMetaVictims": {"n2": victims["n2"]}}
    return ExtenderReply(status=200, body=msgspec.json.encode(reply))


def test_the_machine_suspends_a_cycle_that_asks_an_extender():
    run = driver(policy=POLICY)
    run.put(*(make_node(name, cpu="2") for name in ("n1", "n2", "n3")), pending("web"))
    run.cycle()
    while not run.node_of("default/web"):
        call = run.all_of(CallExtender)[-1]
        run.deliver(ExtenderReplied(call.call, answer(call.request)))
    assert run.node_of("default/web") == "n3"
    assert [call.request.verb for call in run.all_of(CallExtender)] == ["filter", "prioritize"]
    assert [call.request.url for call in run.all_of(CallExtender)] == [
        "http://e/filter",
        "http://e/score",
    ]


def test_extenders_have_a_say_about_victims():
    scheduler = Scheduler(
        read_configuration(configuration(policy=POLICY), source="test"), call_extender=answer
    )
    scheduler.add(*(make_node(name, cpu="2") for name in ("n1", "n2", "n3")))
    scheduler.add(
        *(make_pod(f"on-{name}", cpu="2", node=name, priority=1) for name in ("n1", "n2", "n3"))
    )
    decision = scheduler.schedule(make_pod("high", cpu="2", priority=10))
    result = decision.post_filter
    assert result is not None
    assert result.nominated_node == "n2"


def test_an_extender_that_fails_ends_the_cycle():
    scheduler = Scheduler(
        read_configuration(configuration(policy=POLICY), source="test"),
        call_extender=lambda _call: ExtenderReply(status=500),
    )
    scheduler.add(make_node("n1"), make_node("n2"))
    decision = scheduler.schedule(make_pod("web"))
    assert decision.message == "Failed filter with extender at URL http://e/filter, code 500"


# ------------------------------------------------------------------------- explaining


def crowded() -> Scheduler:
    scheduler = classic()
    scheduler.add(
        make_node("n1", cpu="2"),
        make_node("n2", cpu="4", taints=["spot:PreferNoSchedule"]),
        make_node("n3", cpu="4", unschedulable=True),
        make_pod("low", cpu="2", priority=1, node="n1"),
    )
    return scheduler


def test_an_explanation_has_predicates_priorities_and_the_table():
    scheduler = crowded()
    scheduler.add(make_node("n4", cpu="2"))
    explanation: Explanation = scheduler.explain(make_pod("web", cpu="1"))
    names = [answer.plugin for answer in explanation.filters]
    assert names[:2] == ["CheckNodeUnschedulable", "GeneralPredicates"]
    assert explanation.rejected["n1"].reasons == ("Insufficient cpu",)
    assert explanation.rejected["n1"].plugin == "GeneralPredicates"
    assert explanation.rejected["n3"].reasons == ("node(s) were unschedulable",)
    assert set(explanation.feasible) == {"n2", "n4"}
    taints = next(s for s in explanation.scores if s.plugin == "TaintTolerationPriority")
    assert taints.raw == {"n2": 1, "n4": 0}
    assert taints.normalized == {"n2": 0, "n4": 10}
    for node, total in explanation.totals.items():
        assert total == sum(s.weight * s.normalized[node] for s in explanation.scores)
    assert explanation.decision.node in explanation.winners


def test_explaining_changes_nothing():
    one, other = crowded(), crowded()
    for scheduler in (one, other):
        scheduler.add(*(make_node(f"m{n}", cpu="2") for n in range(5)))
    for _ in range(3):
        one.explain(make_pod("web", cpu="1"))
    for number in range(6):
        pod = make_pod(f"web-{number}", cpu="1")
        assert one.schedule(pod).node == other.schedule(pod).node


def test_an_explanation_tells_whom_preemption_would_evict():
    explanation = crowded().explain(make_pod("high", cpu="4", priority=9, node_selector={"a": "b"}))
    assert explanation.decision.post_filter is not None
    assert explanation.decision.post_filter.status.message == "no potential node"
    explanation = crowded().explain(make_pod("high", cpu="2", priority=9, tolerations=[]))
    assert explanation.decision.node == "n2"
    scheduler = crowded()
    scheduler.add(make_pod("other", cpu="4", priority=2, node="n2"))
    explanation = scheduler.explain(make_pod("high", cpu="2", priority=9))
    result = explanation.decision.post_filter
    assert result is not None
    assert isinstance(result.details, Preemption)
    assert result.nominated_node == "n1"
    assert result.details.describe()[-1] == "takes n1: lowest priority of the first victim"


def test_pods_without_a_uid_are_told_apart():
    scheduler = classic()
    scheduler.add(make_node("n1", cpu="2"), make_pod("low", cpu="2", priority=1, node="n1"))
    bare = with_fields(make_pod("high", cpu="2", priority=10), "metadata", uid="")
    scheduler.schedule(bare)
    scheduler.remove(make_pod("low"))
    later = with_fields(make_pod("later", cpu="1", priority=5), "metadata", uid="")
    assert scheduler.schedule(later).message == "0/1 nodes are available: 1 Insufficient cpu."


# ------------------------------------------------------------------------- the same results


def test_threads_and_a_loop_decide_alike():
    def decided(**options: Any) -> list[tuple[str, int | None]]:
        scheduler = Scheduler(read_configuration(configuration(), source="test"), seed=3, **options)
        scheduler.add(*(make_node(f"n{n}", cpu="4") for n in range(40)))
        scheduler.add(
            *(make_pod(f"p{n}", cpu=f"{300 + 7 * n}m", priority=n % 3) for n in range(90))
        )
        return [(decision.node, decision.total) for decision in scheduler.schedule_all()]

    with ThreadedPieces(4) as threads:
        assert decided(parallelize_until=threads) == decided()


def test_providers_differ_in_spreading_and_packing():
    chosen = {}
    for provider in ("DefaultProvider", "ClusterAutoscalerProvider"):
        scheduler = classic(algorithmProvider=provider)
        scheduler.add(make_node("empty", cpu="4"), make_node("used", cpu="4"))
        scheduler.add(make_pod("old", cpu="1", memory="2Gi", node="used"))
        chosen[provider] = scheduler.schedule(make_pod("new", cpu="1", memory="2Gi")).node
    assert chosen == {"DefaultProvider": "empty", "ClusterAutoscalerProvider": "used"}


def test_the_runner_asks_nobody_if_there_is_no_extender():
    written = effective(read_configuration(configuration(), source="test"))
    machine = build_machine(written, Registry())
    runner = machine.runner("default-scheduler")
    assert isinstance(runner, ClassicRunner)
    machine.cluster.put(make_node("n1"))
    assert run_steps(runner.steps(make_pod("web"), cycle_number=1), None).node == "n1"
    assert not machine.can_snapshot
