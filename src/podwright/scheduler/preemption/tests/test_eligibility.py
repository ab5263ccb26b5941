"""Who may preempt: the table of terminating pods on the nominated node."""

import pytest

from podwright.apimachinery.objects import Condition, with_fields
from podwright.scheduler.framework import Plugin, Status
from podwright.scheduler.preemption.preempt import (
    NEVER,
    WAITS,
    eligibility,
    is_terminating_by_preemption,
)
from podwright.scheduler.preemption.tests.situations import cluster_of, failed_cycle, node, pod

PREEMPTED = Condition(type="DisruptionTarget", status="True", reason="PreemptionByScheduler")
FULL = pod("full", "2", priority=1000, on="n1")


def going(name="going", *, priority, on="n1"):
    """Return a pod that was preempted and terminates; it has no requests."""
    return pod(name, "0", priority=priority, on=on, terminating=True)


def verdict(*objects, priority=100, nominated="n1", nodes=("n1", "n2"), **spec):
    preemptor = pod("high", "2", priority=priority, nominated=nominated, **spec)
    full = [with_fields(FULL, "metadata", name=f"full-{name}", uid=name) for name in nodes]
    full = [
        with_fields(there, "spec", node_name=name) for name, there in zip(nodes, full, strict=True)
    ]
    cluster = cluster_of(*[node(name) for name in nodes], *full, *objects)
    return eligibility(failed_cycle(preemptor, cluster))


@pytest.mark.parametrize(
    ("priority", "waits"),
    [
        pytest.param(-1, True, id="below zero"),
        pytest.param(0, True, id="of no priority"),
        pytest.param(99, True, id="one less"),
        pytest.param(100, False, id="equal"),
        pytest.param(101, False, id="one more"),
    ],
)
def test_only_a_terminating_pod_of_lower_priority_makes_room(priority, waits):
    assert (verdict(going(priority=priority)) is WAITS) is waits


def test_running_pods_and_pods_deleted_by_others_do_not_count_as_victims():
    running = pod("running", "0", priority=1, on="n1")
    leaving = with_fields(
        pod("leaving", "0", priority=1, on="n1"),
        "metadata",
        deletion_timestamp="2026-01-01T00:00:00Z",
    )
    assert verdict(running, leaving).is_success
    assert verdict(running, leaving, going(priority=1)) is WAITS


def test_pods_of_equal_priority_do_not_hide_a_lower_one():
    equal = [going(f"equal{i}", priority=100) for i in range(3)]
    lower = going("lower", priority=99)
    assert verdict(*equal).is_success
    assert verdict(*equal, lower) is WAITS
    assert verdict(lower, *equal) is WAITS
    assert verdict(equal[0], lower, *equal[1:]) is WAITS


def test_a_preemptor_without_priority_waits_for_pods_below_zero_only():
    assert verdict(going(priority=0), priority=None).is_success
    assert verdict(going(priority=-1), priority=None) is WAITS


@pytest.mark.parametrize("terminating_on", ["n2", "n3"])
def test_other_nodes_do_not_matter(terminating_on):
    assert verdict(going(priority=1, on=terminating_on)).is_success


@pytest.mark.parametrize("nominated", ["", "n2", "gone"])
def test_a_pod_nominated_to_another_node_or_none_may_preempt(nominated):
    assert verdict(going(priority=1), nominated=nominated).is_success


def test_a_deleted_nominated_node_does_not_prevent_preemption():
    preemptor = pod("high", "2", priority=100, nominated="n2")
    cluster = cluster_of(node("n1"), FULL, node("n2"), going(priority=1, on="n2"))
    cluster.delete(node("n2"))
    assert eligibility(failed_cycle(preemptor, cluster)).is_success


@pytest.mark.parametrize("nominated", ["", "n1"])
@pytest.mark.parametrize(
    ("policy", "never"), [("Never", True), ("PreemptLowerPriority", False), (None, False)]
)
def test_the_policy_never_is_checked_first(nominated, policy, never):
    found = verdict(going(priority=100), nominated=nominated, preemptionPolicy=policy)
    assert (found is NEVER) is never
    if nominated:
        waiting = verdict(going(priority=1), nominated=nominated, preemptionPolicy=policy)
        assert waiting is (NEVER if never else WAITS)


@pytest.mark.parametrize(
    ("deleted", "conditions", "expected"),
    [
        pytest.param(True, (PREEMPTED,), True, id="preempted"),
        pytest.param(False, (PREEMPTED,), False, id="not yet deleted"),
        pytest.param(True, (), False, id="deleted by another client"),
        pytest.param(
            True, (Condition(type="Ready", status="True"), PREEMPTED), True, id="the second one"
        ),
        pytest.param(
            True, (PREEMPTED, Condition(type="Ready", status="True")), True, id="the first one"
        ),
    ]
    + [
        pytest.param(True, (with_field,), False, id=f"{field}: {value}")
        for field, value, with_field in (
            ("type", "Ready", Condition(type="Ready", status="True", reason=PREEMPTED.reason)),
            (
                "status",
                "False",
                Condition(type=PREEMPTED.type, status="False", reason=PREEMPTED.reason),
            ),
            (
                "reason",
                "EvictionByEvictionAPI",
                Condition(type=PREEMPTED.type, status="True", reason="EvictionByEvictionAPI"),
            ),
        )
    ],
)
def test_terminating_by_preemption_is_a_deletion_with_its_condition(deleted, conditions, expected):
    victim = with_fields(pod("v"), "status", conditions=conditions)
    if deleted:
        victim = with_fields(victim, "metadata", deletion_timestamp="2026-01-01T00:00:00Z")
    assert is_terminating_by_preemption(victim) is expected


class Refuses(Plugin):
    """Rejects every pod before the nodes are looked at."""

    name = "Refuses"

    def pre_filter(self, cycle):
        return Status.unschedulable("refused")


@pytest.mark.parametrize("nominated", ["", "gone"])
def test_a_rejected_pod_without_its_nominated_node_waits_for_no_other(nominated):
    leaving = [going(f"on-{name}", priority=1, on=name) for name in ("n1", "n2")]
    cluster = cluster_of(node("n1"), node("n2"), *leaving)
    preemptor = pod("high", "2", priority=100, nominated=nominated)
    assert eligibility(failed_cycle(preemptor, cluster, plugins=[Refuses])).is_success
