import pytest
from msgspec.structs import replace

from podwright.apimachinery.objects import PodSpec, with_fields
from podwright.scheduler.framework.events import POD, UNSCHEDULABLE_TIMEOUT, ActionType, EventHint
from podwright.scheduler.queueing import (
    SECOND_NS,
    HintTable,
    QueuedPod,
    QueueName,
    QueueSettings,
)
from podwright.scheduler.queueing.tests.pods import (
    NODE_ADD,
    NODE_LABEL,
    at,
    make_pod,
    make_queue,
    names,
)


@pytest.fixture
def queue():
    queue = make_queue()
    yield queue
    queue.validate()


def fail(queue, name, seconds, **rejected):
    """Add, pop and park a pod, alone in active."""
    queue.add(make_pod(name), at(seconds))
    queued = queue.pop(at(seconds))
    queue.park(queued, at(seconds), **rejected)
    return queued


# ------------------------------------------------------------------ order


def test_pop_returns_the_highest_priority_and_the_oldest_of_equals(queue):
    for index, priority in enumerate([0, 5, 0, 5, -1]):
        queue.add(make_pod(f"p{index}", priority=priority), at(index))
    assert [queue.pop(at(9)).pod.metadata.name for _ in range(5)] == ["p1", "p3", "p0", "p2", "p4"]
    assert queue.pop(at(9)) is None


@pytest.mark.parametrize(
    "rejected",
    [
        pytest.param(None, id="active"),
        pytest.param({}, id="in backoff after an error"),
        pytest.param({"unschedulable_plugins": ["Fit"]}, id="unschedulable"),
    ],
)
def test_a_new_pod_replaces_a_waiting_one_of_its_name(queue, rejected):
    if rejected is None:
        queue.add(make_pod("p"), at(0))
    else:
        fail(queue, "p", 0, **rejected)
    assert queue.add(make_pod("p", priority=7), at(1)) is QueueName.ACTIVE
    assert (len(queue), queue.pop(at(2)).priority) == (1, 7)
    assert queue.pop(at(100)) is None


def test_each_popped_pod_is_one_scheduling_cycle(queue):
    for name in ("a", "b", "c"):
        queue.add(make_pod(name), at(0))
    popped = [
        queue.pop(at(0)),
        queue.pop_pod("default/c", at(0)),
        queue.pop(at(0)),
        queue.pop(at(0)),
    ]
    assert [each and each.key for each in popped] == ["default/a", "default/c", "default/b", None]
    assert queue.scheduling_cycle == 3
    queue.park(popped[0], at(0), unschedulable_plugins=["Fit"])
    assert queue.scheduling_cycle == 3


def test_pods_with_equal_timestamps_are_popped_in_order_of_entry(queue):
    for name in ("c", "a", "b"):
        queue.add(make_pod(name), at(0))
    assert names(queue.pods_in(QueueName.ACTIVE)) == ["c", "a", "b"]


def test_a_pod_that_fails_at_once_is_behind_one_that_came_at_the_same_time(queue):
    queue.add(make_pod("fails"), at(0))
    queued = queue.pop(at(0))
    queue.add(make_pod("comes"), at(0))
    queue.park(queued, at(0), unschedulable_plugins=["Fit"])
    queue.move(NODE_ADD, at(60))
    assert names(queue.pods_in(QueueName.ACTIVE)) == ["comes", "fails"]


def test_a_queue_sort_plugin_decides_the_order_and_entry_breaks_ties():
    def sort_key(queued):
        return len(queued.pod.metadata.name), queued.entered_index

    queue = make_queue(sort_key=sort_key)
    for name in ("ccc", "bb", "aa", "d"):
        queue.add(make_pod(name), at(0))
    assert [queue.pop(at(0)).pod.metadata.name for _ in range(4)] == ["d", "bb", "aa", "ccc"]


def test_an_update_moves_an_active_pod_to_its_new_priority(queue):
    queue.add(make_pod("low"), at(0))
    queue.add(make_pod("raised"), at(1))
    place = queue.update(make_pod("raised"), make_pod("raised", priority=9), at(2))
    assert place is QueueName.ACTIVE
    assert names(queue.pods_in(QueueName.ACTIVE)) == ["raised", "low"]


def test_a_pod_that_loses_its_priority_has_0(queue):
    for index, priority in enumerate((0, -1)):
        queue.add(make_pod(f"p{index}", priority=priority), at(index))
    queue.add(make_pod("lowered", priority=7), at(2))
    queue.update(make_pod("lowered", priority=7), make_pod("lowered", priority=None), at(3))
    assert names(queue.pods_in(QueueName.ACTIVE)) == ["p0", "lowered", "p1"]
    assert queue.get("default/lowered").priority == 0


@pytest.mark.parametrize("pending_count", [1_000, 100_000])
def test_a_pop_compares_few_pods_regardless_of_the_number_pending(pending_count):
    comparisons = 0

    class Key:
        def __init__(self, queued):
            self.order = (queued.entered_index * 7919) % pending_count

        def __lt__(self, other):
            nonlocal comparisons
            comparisons += 1
            return self.order < other.order

    queue = make_queue(sort_key=Key)
    for index in range(pending_count):
        queue.add(make_pod(f"p{index}"), at(0))
    comparisons = 0
    for _ in range(100):
        queue.done(queue.pop(at(1)), at(1))
    assert comparisons <= 100 * 2 * pending_count.bit_length()


# ------------------------------------------------------------------ backoff


def test_pop_takes_from_backoff_if_active_is_empty(queue):
    fail(queue, "waits", 0, unschedulable_plugins=["Fit"])
    queue.move(NODE_ADD, at(0.1))
    assert names(queue.pods_in(QueueName.BACKOFF)) == ["waits"]
    assert queue.has_next is True
    assert queue.pop(at(0.2)).attempts == 2
    assert queue.has_next is False


def test_without_the_feature_pop_does_not_take_from_backoff():
    queue = make_queue(QueueSettings(pop_from_backoff=False))
    fail(queue, "waits", 0, unschedulable_plugins=["Fit"])
    queue.move(NODE_ADD, at(0.1))
    assert not queue.has_next
    assert queue.pop(at(0.2)) is None


def test_metrics_can_be_read_again_and_count_hints_once(queue):
    fail(queue, "p", 0, unschedulable_plugins=["Stubborn"])
    queue.move(NODE_ADD, at(1))
    for _ in range(2):
        executions = queue.metrics().queueing_hint_executions_total
        assert executions == {("Stubborn", "NodeAdd", "QueueSkip"): 1}


def test_a_hint_of_a_plugin_that_rejected_and_is_pending_runs_once(queue):
    plugins = ["Stubborn"]
    fail(queue, "p", 0, unschedulable_plugins=plugins, pending_plugins=plugins)
    queue.move(NODE_ADD, at(1))
    executions = queue.metrics().queueing_hint_executions_total
    assert executions == {("Stubborn", "NodeAdd", "QueueSkip"): 1}


def test_an_update_moves_the_nomination_of_a_waiting_pod(queue):
    queue.add(make_pod("p", nominated="n1"), at(0))
    queue.update(None, make_pod("p", nominated="n2"), at(1))
    assert list(queue.nominator.nodes()) == ["n2"]
    queue.update(None, make_pod("p"), at(2))
    assert queue.nominator.nodes() == {}


def test_an_update_of_a_pod_in_flight_is_in_its_story(queue):
    queue.add(make_pod("p"), at(0))
    queue.pop(at(0))
    assert queue.update(None, make_pod("p", priority=1), at(1)) is QueueName.IN_FLIGHT
    assert [touch.step for touch in queue.story("default/p")] == ["active", "pop", "update"]


def test_a_pod_whose_gate_has_ended_has_no_reason_of_the_gate(queue):
    queue.add(make_pod("p", gates=["g"]), at(0))
    queued = queue.get("default/p")
    assert (queued.gating_plugin, queued.gating_reasons) == ("SchedulingGates", ("gated",))
    assert queue.update(queued.pod, make_pod("p"), at(1)) is QueueName.ACTIVE
    assert (queued.gating_plugin, queued.gating_reasons) == ("", ())


def test_a_queue_has_its_nominations_and_passes_them_on():
    pod, gone, calls = make_pod("p"), make_pod("gone"), []

    class Mirror:
        def nominate(self, pod, node_name):
            calls.append((pod.key, node_name))

        def clear_nomination(self, pod):
            calls.append((pod.key, ""))

    queue = make_queue(lookup={pod.key: pod}.get, mirror=Mirror())
    for one in (pod, gone):
        queue.nominate(one, "n1")
    assert queue.nominator.nodes() == {"n1": (pod,)}
    queue.nominate(pod, "")
    assert calls == [("default/p", "n1"), ("default/p", "")]


@pytest.mark.parametrize("is_in_flight", [False, True])
@pytest.mark.parametrize(("old", "moves"), [("x", False), ("y", True)])
def test_an_update_is_the_change_from_the_version_that_is_named(old, moves, is_in_flight):
    # The version in the queue has no label.
    hint = EventHint(POD, ActionType.UPDATE_POD_LABEL)
    queue = make_queue(hints={"default-scheduler": HintTable({"Label": (hint,)})})
    versions = [with_fields(make_pod("p"), "metadata", labels={"app": app}) for app in (old, "x")]
    queue.add(make_pod("p"), at(0))
    queued = queue.pop(at(0))
    if is_in_flight:
        queue.update(*versions, at(0.1))
    queue.park(queued, at(0.2), unschedulable_plugins=["Label"])
    if not is_in_flight:
        queue.update(*versions, at(0.3))
    assert queued.place is (QueueName.BACKOFF if moves else QueueName.UNSCHEDULABLE)


def test_pop_never_takes_from_error_backoff(queue):
    fail(queue, "broken", 0.5)
    assert names(queue.pods_in(QueueName.ERROR_BACKOFF)) == ["broken"]
    assert queue.pop(at(0.9)) is None
    assert not queue.has_next
    assert queue.flush_backoff(at(2)) == ["default/broken"]
    assert queue.pop(at(2)).consecutive_errors == 1


def test_backoff_is_over_only_after_the_second_in_which_it_ends(queue):
    # Fails at 0.7, waits 1 s, is cut from 1.7 to 1: released at 2, not before.
    queued = fail(queue, "p", 0.7)
    assert queue.backoff_end_ns(queued) == at(1)
    assert queue.flush_backoff(at(1.999)) == []
    assert queue.next_due_ns() == at(2)
    assert queue.flush_backoff(at(2)) == ["default/p"]


def test_an_unschedulable_failure_resets_earlier_errors(queue):
    queued = fail(queue, "p", 0)
    queue.flush_backoff(at(10))
    assert queue.pop(at(10)) is queued
    queue.park(queued, at(10), unschedulable_plugins=["Fit"])
    assert (queued.consecutive_errors, queued.unschedulable_count) == (0, 1)


def test_without_the_feature_gate_pop_waits_for_the_end_of_backoff():
    queue = make_queue(QueueSettings(pop_from_backoff=False))
    fail(queue, "p", 0.7, unschedulable_plugins=["Fit"])
    queue.move(NODE_ADD, at(0.8))
    assert queue.pop(at(1.0)) is None
    assert queue.flush_backoff(at(1.7)) == []
    assert queue.flush_backoff(at(1.7) + 1) == ["default/p"]
    assert queue.pop(at(1.8)).key == "default/p"


def test_a_maximum_of_zero_disables_backoff():
    queue = make_queue(QueueSettings(max_backoff_ns=0))
    fail(queue, "p", 0, unschedulable_plugins=["Fit"])
    queue.move(NODE_ADD, at(0))
    assert names(queue.pods_in(QueueName.ACTIVE)) == ["p"]


# ------------------------------------------------------------------ events


@pytest.mark.parametrize(
    ("rejected", "place"),
    [
        pytest.param({"unschedulable_plugins": ["Fit"]}, QueueName.BACKOFF, id="Queue"),
        pytest.param({"unschedulable_plugins": ["Stubborn"]}, QueueName.UNSCHEDULABLE, id="Skip"),
        pytest.param(
            {"unschedulable_plugins": ["Other"]}, QueueName.UNSCHEDULABLE, id="not registered"
        ),
        pytest.param({"pending_plugins": ["Fit"]}, QueueName.ACTIVE, id="pending skips backoff"),
        pytest.param(
            {"unschedulable_plugins": ["Fit"], "pending_plugins": ["Stubborn"]},
            QueueName.BACKOFF,
            id="a pending plugin that skips does not help",
        ),
    ],
)
@pytest.mark.parametrize("is_in_flight", [False, True])
def test_an_event_requeues_pods_by_the_hints_of_their_rejectors(
    queue, rejected, place, is_in_flight
):
    queue.add(make_pod("p"), at(0))
    queued = queue.pop(at(0))
    if is_in_flight:
        queue.move(NODE_ADD, at(0.1))
        queue.park(queued, at(0.2), **rejected)
    else:
        queue.park(queued, at(0.1), **rejected)
        moved = queue.move(NODE_ADD, at(0.2))
        assert moved == ([] if place is QueueName.UNSCHEDULABLE else ["default/p"])
    assert queued.place is place


def test_an_event_before_the_pop_is_not_kept(queue):
    queue.add(make_pod("early"), at(0))
    queue.pop(at(0))
    queue.move(NODE_ADD, at(1))
    queued = fail(queue, "late", 2, unschedulable_plugins=["Fit"])
    assert queued.place is QueueName.UNSCHEDULABLE


def test_an_unregistered_event_is_not_kept(queue):
    queue.add(make_pod("p"), at(0))
    queue.pop(at(0))
    assert queue.move(NODE_LABEL, at(0)) == []
    assert queue.metrics().inflight_events == {"PodPopped": 1}


def test_a_pre_check_limits_the_pods_that_an_event_requeues(queue):
    fail(queue, "a", 0, unschedulable_plugins=["Fit"])
    fail(queue, "b", 0, unschedulable_plugins=["Fit"])
    moved = queue.move(NODE_ADD, at(1), pre_check=lambda pod: pod.metadata.name == "b")
    assert moved == ["default/b"]


def test_every_event_requeues_a_pod_of_a_profile_without_hints(queue):
    pod = make_pod("stray")
    pod = type(pod)(metadata=pod.metadata, spec=PodSpec(scheduler_name="unknown"))
    queue.add(pod, at(0))
    queue.park(queue.pop(at(0)), at(0), unschedulable_plugins=["Fit"])
    assert queue.move(NODE_ADD, at(5)) == ["default/stray"]


def test_a_group_member_is_retried_after_its_backoff_without_an_event(queue):
    queue.add(make_pod("p"), at(0))
    queued = queue.pop(at(0))
    place = queue.park(queued, at(0), unschedulable_plugins=["Fit"], always_backoff=True)
    assert place is QueueName.BACKOFF


# ------------------------------------------------------------------ flushes


def test_a_pod_is_requeued_without_an_event_after_exactly_five_minutes(queue):
    queued = fail(queue, "p", 0, unschedulable_plugins=["Stubborn"])
    assert queue.flush_unschedulable(at(300)) == []
    assert queue.next_due_ns() > at(300)
    assert queue.flush_unschedulable(at(300) + 1) == ["default/p"]
    assert queue.pop(at(301)).was_flushed
    assert queued.place is QueueName.IN_FLIGHT
    # Upstream: pkg/scheduler/backend/queue/scheduling_queue.go, AddUnschedulableIfNotPresent
    queue.park(queued, at(302), unschedulable_plugins=["Fit"])
    assert not queued.was_flushed


@pytest.mark.parametrize("start_seconds", [0, 7, 29.5])
def test_the_next_flush_is_at_a_tick_of_thirty_seconds_after_the_start(start_seconds):
    queue = make_queue(start_ns=at(start_seconds))
    fail(queue, "p", 100, unschedulable_plugins=["Stubborn"])
    due_ns = queue.next_due_ns()
    assert (due_ns - at(start_seconds)) % (30 * SECOND_NS) == 0
    assert at(400) < due_ns <= at(430)
    assert queue.flush_unschedulable(due_ns) == ["default/p"]


def test_an_idle_queue_has_nothing_due(queue):
    queue.add(make_pod("active"), at(0))
    queue.add(make_pod("gated", gates=["g"]), at(0))
    assert queue.next_due_ns() is None


# ------------------------------------------------------------------ gates


def test_a_gated_pod_waits_until_its_last_gate_is_gone(queue):
    assert queue.add(make_pod("p", gates=["g"]), at(0)) is QueueName.GATED
    assert queue.move(NODE_ADD, at(1)) == []
    assert queue.move(UNSCHEDULABLE_TIMEOUT, at(1)) == []
    place = queue.update(make_pod("p", gates=["g"]), make_pod("p"), at(2))
    assert place is QueueName.ACTIVE
    assert queue.pop(at(3)).initial_attempt_ns == at(2)


def test_every_change_of_an_update_is_considered_until_one_requeues_the_pod(queue):
    old, new = make_pod("p", gates=["g"]), make_pod("p")
    new = replace(new, metadata=replace(new.metadata, labels={"team": "red"}))
    queue.add(old, at(0))
    assert queue.update(old, new, at(1)) is QueueName.ACTIVE


def test_a_pod_can_be_gated_on_its_way_to_backoff():
    held = set()
    queue = make_queue(pre_enqueue=lambda pod: ("Hold", ()) if pod.key in held else None)
    fail(queue, "p", 0, unschedulable_plugins=["Fit"])
    held.add("default/p")
    assert queue.move(NODE_ADD, at(0.5)) == []
    assert names(queue.pods_in(QueueName.GATED)) == ["p"]
    held.clear()
    assert queue.activate([make_pod("p")], at(1)) == ["default/p"]
    queue.validate()


@pytest.mark.parametrize(
    ("pops_from_backoff", "activates", "count"),
    [
        pytest.param(True, False, 2, id="when it is added and when it begins to back off"),
        pytest.param(True, True, 2, id="and not when it is activated"),
        pytest.param(False, False, 2, id="when it is added and when it becomes active"),
        pytest.param(False, True, 2, id="also when it is activated"),
    ],
)
def test_a_pod_is_checked_for_gates_once_between_rejection_and_attempt(
    pops_from_backoff, activates, count
):
    """Upstream: pkg/scheduler/backend/queue/scheduling_queue.go, moveToActiveQ"""
    checked = []
    queue = make_queue(
        QueueSettings(pop_from_backoff=pops_from_backoff),
        pre_enqueue=lambda pod: checked.append(pod.key),
    )
    fail(queue, "p", 0, unschedulable_plugins=["Fit"])
    assert queue.move(NODE_ADD, at(0.1)) == ["default/p"]
    assert names(queue.pods_in(QueueName.BACKOFF)) == ["p"]
    assert len(checked) == 1 + pops_from_backoff
    moved = queue.activate([make_pod("p")], at(9)) if activates else queue.flush_backoff(at(9))
    assert moved == ["default/p"]
    assert len(checked) == count
    assert queue.pop(at(10)).key == "default/p"


# ------------------------------------------------------------------ activate, delete, done


def test_activate_skips_backoff_and_is_kept_for_pods_in_flight(queue):
    fail(queue, "backing-off", 0)
    assert queue.activate([make_pod("backing-off")], at(0.1)) == ["default/backing-off"]
    queued = queue.pop(at(0.2))
    assert queue.activate([make_pod("backing-off"), make_pod("unknown")], at(0.3)) == []
    queue.park(queued, at(0.4), unschedulable_plugins=["Stubborn"])
    assert queued.place is QueueName.BACKOFF
    assert [(touch.step, touch.cause) for touch in queue.story("default/backing-off")] == [
        ("active", "UnschedulablePodAdd"),
        ("pop", ""),
        ("error_backoff", "ScheduleAttemptFailure"),
        ("active", "ForceActivate"),
        ("pop", ""),
        ("activate in flight", "ForceActivate"),
        ("backoff", "ScheduleAttemptFailure"),
    ]
    assert queue.story("default/unknown") == []


def test_a_pod_that_is_active_already_is_not_activated_for_the_pods_in_flight(queue):
    for name in ("flight", "active"):
        queue.add(make_pod(name), at(0))
    queued = queue.pop(at(0))
    assert queue.activate([make_pod("active")], at(1)) == []
    assert queue.metrics().inflight_events == {"PodPopped": 1}
    assert queue.park(queued, at(2), unschedulable_plugins=["Fit"]) is QueueName.UNSCHEDULABLE


def test_the_end_of_an_attempt_is_recorded_once(queue):
    queue.add(make_pod("p"), at(0))
    queued = queue.pop(at(0))
    for _ in range(2):
        queue.done(queued, at(1))
        assert queued.place is QueueName.NOWHERE
    assert [touch.step for touch in queue.story("default/p")] == ["active", "pop", "done"]


def test_a_deleted_pod_is_removed_from_every_place(queue):
    queue.add(make_pod("active", nominated="n1"), at(0))
    queue.add(make_pod("gated", gates=["g"]), at(0))
    active = queue.get("default/active")
    queue.delete(make_pod("active"), at(1))
    assert active.place is QueueName.NOWHERE
    queue.delete(make_pod("gated"), at(1))
    queue.delete(make_pod("unknown"), at(1))
    assert len(queue) == 0
    assert queue.nominator.nodes() == {}


def test_events_are_dropped_with_the_last_pod_that_needed_them(queue):
    for name in ("a", "b"):
        queue.add(make_pod(name), at(0))
    first, second = queue.pop(at(0)), queue.pop(at(0))
    queue.move(NODE_ADD, at(1))
    queue.done(first, at(2))
    assert queue.metrics().inflight_events == {"NodeAdd": 1, "PodPopped": 1}
    queue.done(second, at(2))
    assert queue.metrics().inflight_events == {"PodPopped": 0}


def test_a_pod_recreated_during_the_attempt_replaces_the_old_one(queue):
    queue.add(make_pod("p", uid="old"), at(0))
    queued = queue.pop(at(0))
    queue.add(make_pod("p", uid="new"), at(1))
    assert queue.park(queued, at(2), unschedulable_plugins=["Fit"]) is QueueName.ACTIVE
    assert queue.get("default/p").uid == "new"
    assert queue.in_flight() == []


def test_the_same_pod_is_not_popped_twice(queue):
    queue.add(make_pod("p"), at(0))
    queue.pop(at(0))
    queue.add(make_pod("p"), at(1))
    assert queue.pop(at(1)) is None


def test_pop_pod_pops_a_pod_from_any_place_unless_gated(queue):
    queue.add(make_pod("active"), at(0))
    queue.add(make_pod("gated", gates=["g"]), at(0))
    assert queue.pop_pod("default/gated", at(1)) is None
    assert queue.pop_pod("default/missing", at(1)) is None
    assert queue.pop_pod("default/active", at(1)).attempts == 1

    assert names(queue.in_flight()) == ["active"]


def test_pop_pod_pops_a_gated_pod_whose_gate_has_ended_without_an_event():
    # Upstream: pkg/scheduler/backend/queue/scheduling_queue.go, PopSpecificPod
    held = {"default/p"}
    queue = make_queue(pre_enqueue=lambda pod: ("Hold", ()) if pod.key in held else None)
    queue.add(make_pod("p"), at(0))
    assert queue.pop_pod("default/p", at(1)) is None
    held.clear()
    assert queue.pop_pod("default/p", at(2)) is queue.in_flight()[0]


@pytest.mark.parametrize("knows_the_old_version", [True, False])
@pytest.mark.parametrize(
    ("change", "place"),
    [
        pytest.param({"gates": ()}, QueueName.BACKOFF, id="what its rejector waits for"),
        pytest.param({"priority": 1, "gates": "g"}, QueueName.UNSCHEDULABLE, id="another change"),
    ],
)
def test_a_change_during_the_attempt_counts_when_the_pod_is_parked(
    change, place, knows_the_old_version
):
    """Upstream: pkg/scheduler/backend/queue/scheduling_queue.go, Update, inFlightPods."""
    queue = make_queue(pre_enqueue=None)
    old = make_pod("p", gates="g")
    queue.add(old, at(0))
    queued = queue.pop(at(0))
    new = make_pod("p", **change)
    before = old if knows_the_old_version else None
    assert queue.update(before, new, at(1)) is QueueName.IN_FLIGHT
    assert queue.park(queued, at(2), unschedulable_plugins=["SchedulingGates"]) is place


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        pytest.param("nowhere", QueueName.ACTIVE, id="a pod that is not there is added"),
        pytest.param("active", QueueName.ACTIVE, id="active"),
        pytest.param("backoff", QueueName.BACKOFF, id="it backs off until the same time"),
        pytest.param("error", QueueName.ERROR_BACKOFF, id="also after an error"),
        pytest.param("unschedulable", QueueName.UNSCHEDULABLE, id="no event that helps"),
    ],
)
def test_an_update_replaces_the_pod_in_its_place(queue, place, expected):
    """Upstream: pkg/scheduler/backend/queue/scheduling_queue.go, Update."""
    if place == "active":
        queue.add(make_pod("p"), at(0))
    elif place != "nowhere":
        fail(queue, "p", 0, **({} if place == "error" else {"unschedulable_plugins": ["Fit"]}))
    if place == "backoff":
        queue.move(NODE_ADD, at(0.1))
    due_ns = queue.next_due_ns()
    assert queue.update(None, make_pod("p", priority=7), at(0.2)) is expected
    if place != "nowhere":
        assert queue.next_due_ns() == due_ns
    queued = queue.get("default/p")
    assert (queued.priority, queued.pod.spec.priority, queued.place) == (7, 7, expected)
    assert queue.count_in(expected) == len(queue) == 1


def test_an_unschedulable_pod_times_out_after_five_minutes_unless_the_settings_say_otherwise():
    for seconds in (300, 60):
        settings = QueueSettings(max_unschedulable_ns=seconds * SECOND_NS)
        queue = make_queue(settings if seconds != 300 else None)
        queued = fail(queue, "p", 0, unschedulable_plugins=["Fit"])
        assert queue.timeout_ns(queued) == at(seconds)
        assert queue.moving_events(queued) == {"NodeAdd": ("Fit",)}


# ------------------------------------------------------------------ looking


def test_the_pods_of_a_place_are_listed_in_the_order_in_which_they_leave_it(queue):
    for second, name in enumerate(("first", "second")):
        fail(queue, f"late-{name}", second, unschedulable_plugins=["Fit"])
        queue.add(make_pod(f"gated-{name}", gates="g"), at(second))
    for second, name in enumerate("xy"):
        fail(queue, name, second, unschedulable_plugins=["Fit"])
    queue.add(make_pod("low"), at(4))
    queue.add(make_pod("high", priority=1), at(4))
    expected = {
        QueueName.ACTIVE: ["high", "low"],
        QueueName.UNSCHEDULABLE: ["late-first", "late-second", "x", "y"],
        QueueName.GATED: ["gated-first", "gated-second"],
        QueueName.BACKOFF: [],
        QueueName.NOWHERE: [],
    }
    assert {place: names(queue.pods_in(place)) for place in expected} == expected
    for place, all_of_it in expected.items():
        assert names(queue.first_in(place, 1)) == all_of_it[:1]
        assert queue.count_in(place) == len(all_of_it)
    running = [queue.pop(at(5)), queue.pop(at(5))]
    assert queue.pods_in(QueueName.IN_FLIGHT) == running
    assert queue.first_in(QueueName.IN_FLIGHT, 1) == running[:1]
    assert queue.count_in(QueueName.IN_FLIGHT) == 2
    fail(queue, "late", 6, unschedulable_plugins=["Fit"])
    queue.move(NODE_ADD, at(6.5))
    assert names(queue.pods_in(QueueName.BACKOFF)) == ["late"]


def test_pods_whose_attempt_failed_are_listed_in_the_order_in_which_their_backoff_ends(queue):
    for second, name in enumerate(("first", "second")):
        fail(queue, name, second)
    assert names(queue.pods_in(QueueName.ERROR_BACKOFF)) == ["first", "second"]
    assert names(queue.first_in(QueueName.ERROR_BACKOFF, 1)) == ["first"]
    assert queue.count_in(QueueName.ERROR_BACKOFF) == 2
    assert queue.count_in(QueueName.BACKOFF) == 0


def test_gated_pods_are_listed_in_the_order_in_which_they_entered_the_queue():
    held = {"default/new"}
    queue = make_queue(pre_enqueue=lambda pod: ("Hold", ()) if pod.key in held else None)
    fail(queue, "old", 0, unschedulable_plugins=["Fit"])
    queue.add(make_pod("new"), at(0))
    held.add("default/old")
    queue.move(NODE_ADD, at(0.5))
    assert names(queue.pods_in(QueueName.GATED)) == ["old", "new"]
    assert names(queue.first_in(QueueName.GATED, 1)) == ["old"]
    queue.validate()


def test_the_story_of_a_pod_lists_its_operations(queue):
    fail(queue, "p", 0, unschedulable_plugins=["Fit"])
    queue.move(NODE_ADD, at(1))
    assert [(touch.step, touch.cause) for touch in queue.story("default/p")] == [
        ("active", "UnschedulablePodAdd"),
        ("pop", ""),
        ("unschedulable", "ScheduleAttemptFailure"),
        ("backoff", "NodeAdd"),
    ]


@pytest.mark.parametrize("is_parked", [False, True])
def test_an_update_of_a_waiting_pod_is_in_its_story(queue, is_parked):
    if is_parked:
        fail(queue, "p", 0, unschedulable_plugins=["Fit"])
    else:
        queue.add(make_pod("p"), at(0))
    queue.update(make_pod("p"), make_pod("p", priority=3), at(7))
    (update,) = [touch for touch in queue.story("default/p") if touch.step == "update"]
    assert (update.now_ns, update.cause) == (at(7), "UnschedulablePodUpdate")


def test_a_pod_that_is_in_flight_already_is_dropped(queue):
    queue.add(make_pod("p"), at(0))
    first = queue.pop(at(0))
    queue.add(make_pod("p"), at(1))
    twin = queue.get("default/p")
    assert twin.place is QueueName.ACTIVE
    assert queue.pop(at(2)) is None
    assert (first.place, twin.place) == (QueueName.IN_FLIGHT, QueueName.NOWHERE)
    assert [(touch.step, touch.cause) for touch in queue.story("default/p")][-1] == (
        "drop",
        "already in flight",
    )
    assert queue.scheduling_cycle == 1


def test_operations_on_all_pods_are_known_since_the_last_one_read(queue):
    assert queue.latest_touch() is None
    queue.add(make_pod("a"), at(0))
    last = queue.latest_touch()
    assert last is not None
    assert last[1:] == ("default/a", "active", "UnschedulablePodAdd")
    queue.pop(at(1))
    queue.add(make_pod("b"), at(2))
    later = queue.touches_since(last)
    assert later is not None
    assert [touch[1:3] for touch in later] == [("default/b", "active"), ("default/a", "pop")]
    assert later[0] == queue.latest_touch()


def test_a_pod_that_changed_during_its_attempt_is_parked_as_it_is_now(queue):
    queue.add(make_pod("p"), at(0))
    queued = queue.pop(at(0))
    queue.park(queued, at(1), unschedulable_plugins=["Fit"], pod=make_pod("p", priority=7))
    assert queue.get("default/p").pod.spec.priority == 7
    queue.move(NODE_ADD, at(60))
    queue.add(make_pod("other", priority=5), at(60))
    assert queue.pop(at(61)).pod.metadata.name == "p"


def test_metrics_count_incoming_and_pending_pods(queue):
    fail(queue, "p", 0, unschedulable_plugins=["Fit"])
    queue.add(make_pod("gated", gates=["g"]), at(0))
    metrics = queue.metrics()
    assert metrics.pending_pods == {"active": 0, "backoff": 0, "unschedulable": 1, "gated": 1}
    assert metrics.unschedulable_pods["Fit", "default-scheduler"] == 1
    assert metrics.unschedulable_pods["SchedulingGates", "default-scheduler"] == 1
    queue.move(NODE_ADD, at(1))
    queue.pop(at(1))
    metrics = queue.metrics()
    assert metrics.queue_incoming_pods_total["backoff", "NodeAdd"] == 1
    assert metrics.queue_incoming_pods_total["active", "PopFromBackoffQ"] == 1
    assert metrics.unschedulable_pods["Fit", "default-scheduler"] == 0
    assert metrics.queueing_hint_executions_total["Fit", "NodeAdd", "Queue"] == 1


def test_validate_finds_a_pod_in_two_places(queue):
    queue.add(make_pod("p"), at(0))
    queued = queue.get("default/p")
    again = QueuedPod(queued.pod, 1, at(0))
    queue._subqueues.backoff.errors.push(again, (0, 0))
    with pytest.raises(AssertionError, match="default/p"):
        queue.validate()
    queue._subqueues.backoff.errors.remove(again)


def test_a_deleted_pod_is_no_longer_counted_as_unschedulable(queue):
    fail(queue, "p", 0, unschedulable_plugins=["Fit"])
    assert queue.metrics().unschedulable_pods["Fit", "default-scheduler"] == 1
    queue.delete(make_pod("p"), at(1))
    assert queue.metrics().unschedulable_pods["Fit", "default-scheduler"] == 0


def test_a_plain_update_that_activates_a_pod_ends_a_nomination_of_the_queue():
    """Upstream: pkg/scheduler/backend/queue/scheduling_queue.go, moveToActiveQ."""
    table = HintTable({"Fit": (EventHint(POD, ActionType.UPDATE),)})
    queue = make_queue(hints={"default-scheduler": table})
    old = make_pod("a")
    queue.add(old, at(0))
    queue.park(queue.pop(at(0)), at(0), unschedulable_plugins=("Fit",))
    queue.nominate(old, "n1")
    assert queue.update(old, make_pod("a"), at(20)) is QueueName.ACTIVE
    assert queue.nominator.nodes() == {}


def test_another_update_that_activates_a_pod_keeps_a_nomination_of_the_queue():
    """Upstream: pkg/scheduler/backend/queue/scheduling_queue.go, moveToActiveQ."""
    table = HintTable({"Fit": (EventHint(POD, ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED),)})
    queue = make_queue(hints={"default-scheduler": table}, pre_enqueue=None)
    old = make_pod("a", gates=("g",))
    queue.add(old, at(0))
    queue.park(queue.pop(at(0)), at(0), unschedulable_plugins=("Fit",))
    queue.nominate(old, "n1")
    assert queue.update(old, make_pod("a"), at(20)) is QueueName.ACTIVE
    assert list(queue.nominator.nodes()) == ["n1"]
