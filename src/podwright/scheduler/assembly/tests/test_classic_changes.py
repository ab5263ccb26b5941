"""What the v1.16 rules take from a configuration, and changes of pods that are assumed or end."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.objects import (
    InputError,
    Pod,
    with_fields,
    with_nominated_node_name,
)
from podwright.scheduler.assembly.classic import ClassicEvictions, classic_setup
from podwright.scheduler.assembly.tests.test_classic import (
    assumed_pod,
    configuration,
    driver,
)
from podwright.scheduler.config import KubeSchedulerConfiguration, Rules, effective
from podwright.scheduler.framework import CallError
from podwright.scheduler.machine import (
    Bind,
    CallDone,
    Distribution,
    EmitEvent,
    ObjectPut,
    PatchPodStatus,
)
from podwright.scheduler.machine.tests.driving import SECOND_NS, Driver, pending
from podwright.scheduler.machine.tests.test_expiry import wait
from podwright.scheduler.preemption import Candidate, Choice, DryRun, Preemption
from podwright.testing import make_node, make_pod


@pytest.mark.parametrize(("written", "percentage"), [(None, 0), (0, 0), (30, 30)])
def test_the_percentage_of_nodes_is_that_of_the_configuration(written, percentage):
    given = KubeSchedulerConfiguration(
        rules=Rules(name="classic"), percentage_of_nodes_to_score=written
    )
    assert classic_setup(effective(given)).percentage_of_nodes_to_score == percentage


def refused(**rules: Any) -> list[tuple[str, str]]:
    with pytest.raises(InputError) as caught:
        classic_setup(effective(KubeSchedulerConfiguration(rules=Rules(name="classic", **rules))))
    return [(error.path, error.message.split(",")[0]) for error in caught.value.errors]


def test_a_policy_beside_an_invalid_weight_is_read_and_the_weight_is_reported_once():
    wrong = "invalid hardPodAffinitySymmetricWeight: "
    nothing = (
        "rules.policy.predicates[0].name",
        "Invalid configuration: Predicate type not found for Nothing",
    )
    path = "rules.hardPodAffinitySymmetricWeight"
    unknown = {"predicates": [{"name": "Nothing"}]}
    assert refused(hard_pod_affinity_symmetric_weight=0, policy=unknown) == [
        (path, f"{wrong}0"), nothing,
    ]  # fmt: skip
    assert refused(hard_pod_affinity_symmetric_weight=101, policy=unknown) == [
        (path, f"{wrong}101"), nothing,
    ]  # fmt: skip
    assert refused(policy={"hardPodAffinitySymmetricWeight": 101}) == [
        ("rules.policy.hardPodAffinitySymmetricWeight", f"{wrong}101")
    ]


def test_a_policy_that_is_not_an_object_is_refused_at_its_own_path():
    assert refused(policy=[]) == [("rules.policy", "a policy is an object")]


def evicting(*victims: Pod) -> Choice:
    candidate = Candidate(node="n1", victims=victims)
    return Choice(candidate=candidate, criterion=None, acceptable=())


@pytest.mark.parametrize(
    ("choice", "cleared", "is_needed"),
    [
        pytest.param(None, (), False, id="neither"),
        pytest.param(evicting(pending("a")), (), True, id="a victim"),
        pytest.param(evicting(), (pending("a"),), True, id="only a nomination to clear"),
    ],
)
def test_calls_are_needed_for_victims_and_for_nominations(choice, cleared, is_needed):
    evictions = ClassicEvictions.__new__(ClassicEvictions)
    preemption = Preemption(dry_run=DryRun(), choice=choice, cleared_nominations=cleared)
    assert evictions.is_needed(preemption) is is_needed


def test_a_preemption_counts_its_victims():
    run = driver()
    low = (make_pod(name, cpu="1", priority=1, node="n1") for name in ("a", "b"))
    run.put(make_node("n1", cpu="2"), *low, pending("high", cpu="2", priority=9))
    run.cycle()
    families = {each.name: each.series for each in run.machine.metrics_snapshot().families}
    (victims,) = families["scheduler_preemption_victims"]
    assert isinstance(victims, Distribution)
    assert (victims.count, victims.total) == (1, 2)


# ------------------------------------------------------------------------- assumed pods


def bound_but_not_seen(expiry_ns: int = 0) -> Driver:
    """Bind a pod that fills the only node, and deliver no later update of it."""
    run = Driver(config=configuration(), assumed_pod_expiry_ns=expiry_ns)
    assumed_pod(run)
    (bind,) = run.held
    assert isinstance(bind, Bind)
    run.deliver(CallDone(bind.call))
    return run


@pytest.mark.parametrize(("written", "seconds"), [(0, 30), (5 * SECOND_NS, 5)])
def test_a_bound_pod_that_is_not_seen_is_assumed_for_the_time_of_1_16_or_a_given_one(
    written, seconds
):
    run = bound_but_not_seen(written)
    wait(run, seconds * SECOND_NS - 1)
    assert run.machine.expired() == ()
    wait(run, 1)
    assert (run.machine.expired(), run.machine.assumed()) == (("default/web",), {})
    pod = run.machine.pod("default/web")
    assert pod is not None
    run.remove(pod)
    assert run.machine._state.expired == set()


def test_a_pod_that_is_seen_with_its_node_is_not_assumed_any_longer():
    run = driver()
    run.put(make_node("n1", cpu="1"), pending("web", cpu="1"))
    run.cycle()
    assert (run.node_of("default/web"), run.machine.assumed()) == ("n1", {})


@pytest.mark.parametrize(
    ("changed", "place"),
    [
        pytest.param({"annotations": {"a": "b"}}, "", id="annotations: as its own binding"),
        pytest.param({"labels": {"a": "b"}}, "active", id="labels: it is queued again"),
    ],
)
def test_an_assumed_pod_is_queued_again_by_a_change_that_the_scheduler_did_not_make(changed, place):
    run = driver()
    run.put(with_fields(assumed_pod(run), "metadata", **changed))
    assert run.place_of("default/web") == place
    assert run.machine.assumed() == {"default/web": "n1"}


def test_objects_without_a_version_are_new_versions():
    run = driver()
    run.put(make_node("n1", cpu="1"))
    pod = pending("big", cpu="4")
    run.deliver(ObjectPut(pod))
    run.cycle()
    assert run.place_of("default/big") == "unschedulable"
    run.deliver(ObjectPut(with_fields(pod, "metadata", labels={"a": "b"}, resource_version="")))
    run.deliver(ObjectPut(with_fields(pod, "metadata", labels={"a": "c"}, resource_version="")))
    kept = run.machine.pod("default/big")
    assert kept is not None
    assert kept.metadata.labels == {"a": "c"}


def test_no_pod_is_placed_on_a_node_that_is_gone():
    run = driver()
    node = make_node("n1")
    run.put(node)
    run.remove(node)
    run.put(pending("web"))
    run.cycle()
    assert run.condition("default/web") == ("Unschedulable", "no nodes available to schedule pods")


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ([make_node("n1")], "Binding rejected: Operation cannot be fulfilled"),
        ([], "no nodes available to schedule pods"),
    ],
)
def test_only_preemption_clears_the_nomination_of_a_pod(nodes, message):
    """Upstream: pkg/scheduler/scheduler.go, recordSchedulingFailure."""
    run = driver()
    run.errors["Bind"] = CallError("Operation cannot be fulfilled", "Conflict")
    run.put(*nodes, with_nominated_node_name(pending("web"), "n1"))
    run.cycle()
    (event,) = run.all_of(EmitEvent)
    assert (event.reason, event.note) == ("FailedScheduling", message)
    assert [patch.nominated_node for patch in run.all_of(PatchPodStatus)] == [None]
    pod = run.machine.pod("default/web")
    assert pod is not None
    assert pod.status.nominated_node_name == "n1"
    assert [each.name for each in run.machine.queue.nominator.pods_on("n1")] == ["web"]
