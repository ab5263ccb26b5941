"""The plugins that read only the pod: gates, queue order, claims, binding."""

from podwright.scheduler.framework import Code
from podwright.scheduler.framework.binding import BIND_BY_API
from podwright.scheduler.plugins.default_binder import DefaultBinder
from podwright.scheduler.plugins.dynamic_resources import DynamicResources
from podwright.scheduler.plugins.priority_sort import PrioritySort
from podwright.scheduler.plugins.scheduling_gates import SchedulingGates
from podwright.scheduler.plugins.tests.one_node_at_a_time import cycle_of, node, pod, scored


def test_gates_hold_a_pod_back_and_are_named():
    held = SchedulingGates().pre_enqueue(pod(schedulingGates=[{"name": "a"}, {"name": "b"}]))
    assert held.code == Code.UNSCHEDULABLE_AND_UNRESOLVABLE
    assert held.reasons == ("waiting for scheduling gates: [a b]",)
    assert SchedulingGates().pre_enqueue(pod()).is_success


def test_the_queue_is_ordered_by_priority_and_then_by_time():
    key = PrioritySort().queue_sort_key
    queued = [("late", 0, 2), ("early", 0, 1), ("urgent", 5, 3), ("negative", -1, 0)]
    ordered = sorted(queued, key=lambda entry: key(pod(priority=entry[1]), entry[2]))
    assert [name for name, _, _ in ordered] == ["urgent", "early", "late", "negative"]


def test_a_pod_without_its_resource_claim_is_rejected_with_a_reason():
    incoming = pod(resourceClaims=[{"name": "gpu", "resourceClaimName": "one"}])
    answer = DynamicResources().pre_filter(cycle_of(incoming, node("n")))
    assert answer.code == Code.UNSCHEDULABLE_AND_UNRESOLVABLE
    assert answer.reasons == ('could not find ResourceClaim "default/one"',)


def test_a_pod_without_resource_claims_passes_and_scores_zero():
    cycle = cycle_of(pod(), node("n"))
    assert DynamicResources().pre_filter(cycle).is_skip
    assert scored(DynamicResources(), cycle) == {"n": 0}


def test_binding_is_left_to_the_machine():
    assert DefaultBinder().bind(cycle_of(pod(), node("n")), "n") is BIND_BY_API
