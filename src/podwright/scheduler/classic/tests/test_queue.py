"""One rule of the v1.16 queue per test."""

from __future__ import annotations

import pytest

from podwright.apimachinery.objects import with_fields, with_nominated_node_name
from podwright.scheduler.classic import ClassicQueue, ClassicQueueSettings
from podwright.scheduler.classic.backoff import BackoffRecord
from podwright.scheduler.framework.events import (
    ASSIGNED_POD_ADD,
    ASSIGNED_POD_DELETE,
    NODE,
    POD,
    UNSCHEDULABLE_POD_ADD,
    WILDCARD,
    ActionType,
    ClusterEvent,
)
from podwright.scheduler.queueing import PodQueue, QueueName
from podwright.testing import make_pod

S = 1_000_000_000


@pytest.fixture
def queue():
    return ClassicQueue()


def keys(queue, place):
    return [queued.key for queued in queue.pods_in(place)]


def fail(queue, pod, now_ns):
    """Add, pop and park a pod."""
    queue.add(pod, now_ns)
    while (queued := queue.pop(now_ns)).key != pod.key:
        pass
    return queue.park(queued, now_ns)


def near(app):
    term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": "zone"}
    return {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def test_it_implements_the_pod_queue(queue):
    doors: PodQueue = queue
    assert doors.pop(0) is None


def test_greater_priority_first_then_the_earlier_entry(queue):
    for name, priority in (("late", 5), ("low", 0), ("later", 5)):
        queue.add(make_pod(name, priority=priority), S)
    assert [queue.pop(S).key for _ in range(3)] == ["default/late", "default/later", "default/low"]


def test_pop_counts_cycles_and_leaves_nomination_and_record_alone(queue):
    pod = with_nominated_node_name(make_pod("a"), "n1")
    fail(queue, pod, 0)
    queue.move_all_to_active_queue(2 * S)
    queue.pop(2 * S)
    assert queue.scheduling_cycle == 2
    assert [p.key for p in queue.nominator.pods_on("n1")] == ["default/a"]
    assert "default/a" in queue.backoff_records()


def test_a_failed_pod_waits_as_unschedulable_if_nothing_happened(queue):
    assert fail(queue, make_pod("a"), S) is QueueName.UNSCHEDULABLE


def test_a_move_request_in_the_same_cycle_sends_a_failed_pod_to_backoff(queue):
    queue.add(make_pod("a"), 0)
    queued = queue.pop(0)
    queue.move_all_to_active_queue(S)
    assert queue.move_request_cycle == queue.scheduling_cycle == 1
    assert queue.park(queued, 2 * S) is QueueName.BACKOFF


def test_a_cycle_newer_than_the_move_request_makes_unschedulable(queue):
    queue.add(make_pod("a"), 0)
    queue.add(make_pod("b"), 1)
    queue.pop(2)
    queue.move_all_to_active_queue(3)
    assert queue.park(queue.pop(4), 5) is QueueName.UNSCHEDULABLE


@pytest.mark.parametrize("place", ["active", "backoff", "unschedulable"])
def test_a_pod_that_is_already_waiting_is_rejected_without_a_change(queue, place):
    pod = make_pod("a")
    if place == "active":
        queue.add(pod, 0)
    elif place == "backoff":
        queue.move_all_to_active_queue(0)
        assert queue.add_unschedulable_if_not_present(pod, 0, 0) == ""
    else:
        assert queue.add_unschedulable_if_not_present(pod, 1, 0) == ""
    before = queue.backoff_records(), queue.get(pod.key).timestamp_ns
    assert "already present" in queue.add_unschedulable_if_not_present(pod, 9, S)
    assert (queue.backoff_records(), queue.get(pod.key).timestamp_ns) == before


def test_backoff_doubles_up_to_ten_seconds_and_then_starts_again(queue):
    pod, now_ns, waits = make_pod("a"), 0, []
    for _ in range(6):
        assert queue.add_unschedulable_if_not_present(pod, 99, now_ns) == ""
        record = queue.backoff_records()[pod.key]
        waits.append((record.end_ns - record.updated_ns) // S)
        queue.move_all_to_active_queue(record.end_ns)
        assert queue.pop(record.end_ns).key == pod.key
        now_ns = record.end_ns + 1
    # After the fifth, the record is older than ten seconds when the pod fails again.
    assert waits == [1, 2, 4, 8, 10, 1]


def test_attempts_count_only_after_the_last_backoff_has_ended(queue):
    pod = make_pod("a")
    fail(queue, pod, 0)
    fail(queue, pod, S // 2)
    assert queue.backoff_records()[pod.key] == BackoffRecord(1, 0, S)
    fail(queue, pod, S)  # a backoff that ends now still counts here
    assert queue.backoff_records()[pod.key].attempts == 1
    fail(queue, pod, S + 1)
    assert queue.backoff_records()[pod.key].attempts == 2


def test_any_failure_drops_the_records_not_updated_for_ten_seconds(queue):
    fail(queue, make_pod("old"), 0)
    fail(queue, make_pod("other"), 10 * S)
    assert "default/old" in queue.backoff_records()
    fail(queue, make_pod("another"), 10 * S + 1)
    assert "default/old" not in queue.backoff_records()


def test_a_move_request_takes_pods_that_back_off_to_backoff_and_others_to_active(queue):
    fail(queue, make_pod("early"), 0)
    fail(queue, make_pod("late"), S)
    assert queue.move_all_to_active_queue(S) == ["default/early", "default/late"]
    assert keys(queue, QueueName.ACTIVE) == ["default/early"]  # has ended
    assert keys(queue, QueueName.BACKOFF) == ["default/late"]


def test_moves_keep_the_time_of_entry(queue):
    fail(queue, make_pod("a"), 0)
    queue.add(make_pod("b"), S)
    queue.move_all_to_active_queue(2 * S)
    assert keys(queue, QueueName.ACTIVE) == ["default/a", "default/b"]


def test_a_bound_pod_moves_only_those_that_must_be_near_it(queue):
    fail(queue, make_pod("wants-web", spec=near("web")), 0)
    fail(queue, make_pod("wants-db", spec=near("db")), 1)
    fail(queue, make_pod("indifferent"), 2)
    bound = make_pod("x", labels={"app": "web"}, node="n1")
    assert queue.assigned_pod_added(bound, 5 * S) == ["default/wants-web"]


def test_a_bound_pod_is_a_move_request_even_if_no_pod_moves(queue):
    queue.add(make_pod("a"), 0)
    queue.pop(0)
    assert queue.assigned_pod_updated(make_pod("x", node="n1"), 1) == []
    assert queue.move_request_cycle == 1


def test_the_first_backoff_to_end_leaves_first(queue):
    first, second = make_pod("entered-first"), make_pod("entered-second")
    fail(queue, first, 0)
    queue.add(first, S + 1)
    queue.pop(S + 1)
    queue.move_all_to_active_queue(S + 1)
    cycle = queue.scheduling_cycle
    assert queue.add_unschedulable_if_not_present(first, cycle, S + 1) == ""  # for 2 s
    assert queue.add_unschedulable_if_not_present(second, cycle, S + 2) == ""  # for 1 s
    assert keys(queue, QueueName.BACKOFF) == ["default/entered-second", "default/entered-first"]
    assert queue.flush_backoff(2 * S + 2) == ["default/entered-second"]


def test_flushes_are_counted_from_the_start():
    queue = ClassicQueue(start_ns=S // 4)
    fail(queue, make_pod("a"), S // 4)
    queue.move_all_to_active_queue(S // 4)
    assert queue.next_due_ns() == S + S // 4, "at the very end of the backoff"
    queue = ClassicQueue(start_ns=S // 4)
    fail(queue, make_pod("a"), S // 4 + 1)
    queue.move_all_to_active_queue(S // 4 + 1)
    assert queue.next_due_ns() == 2 * S + S // 4


def test_the_backoff_flush_stops_at_the_first_that_still_waits(queue):
    queue.move_all_to_active_queue(0)
    for second, name in enumerate("abc"):
        queue.add_unschedulable_if_not_present(make_pod(name), 0, second * S)
    assert queue.flush_backoff(2 * S) == ["default/a", "default/b"]
    assert keys(queue, QueueName.BACKOFF) == ["default/c"]


def test_the_backoff_flush_releases_a_pod_whose_record_is_gone(queue):
    queue.move_all_to_active_queue(0)
    queue.add_unschedulable_if_not_present(make_pod("a"), 0, 0)
    fail(queue, make_pod("b"), 11 * S)
    assert "default/a" not in queue.backoff_records()
    assert queue.flush_backoff(11 * S) == ["default/a"]


def test_the_leftover_flush_moves_what_waited_for_more_than_a_minute(queue):
    fail(queue, make_pod("a"), 0)
    cycle = queue.move_request_cycle
    assert queue.flush_unschedulable(60 * S) == []
    assert queue.move_request_cycle == cycle, "no move request without a pod"
    assert queue.flush_unschedulable(60 * S + 1) == ["default/a"]
    assert queue.move_request_cycle == queue.scheduling_cycle


def test_an_update_in_backoff_moves_to_active_at_once(queue):
    pod = make_pod("a")
    queue.move_all_to_active_queue(0)
    queue.add_unschedulable_if_not_present(pod, 0, 0)
    assert queue.update(pod, pod, 1) is QueueName.ACTIVE
    assert pod.key in queue.backoff_records()


def test_an_update_of_the_status_leaves_an_unschedulable_pod_where_it_is(queue):
    pod = make_pod("a")
    fail(queue, pod, 0)
    newer = with_fields(pod, "metadata", resource_version="7", generation=3)
    newer = with_fields(newer, "status", phase="Pending")
    assert queue.update(pod, newer, 1) is QueueName.UNSCHEDULABLE
    assert queue.get(pod.key).pod is newer


def test_a_real_update_of_an_unschedulable_pod_drops_its_record(queue):
    pod = make_pod("a")
    fail(queue, pod, 0)
    newer = make_pod("a", labels={"x": "y"})
    assert queue.update(pod, newer, 1) is QueueName.ACTIVE
    assert queue.get(pod.key).pod is newer
    assert queue.pop(1).pod is newer
    assert queue.backoff_records() == {}


def test_an_update_of_an_unknown_pod_adds_it(queue):
    assert queue.update(None, make_pod("a"), 1) is QueueName.ACTIVE


def test_delete_keeps_the_record_of_an_active_pod_only(queue):
    active, parked = make_pod("active"), make_pod("parked")
    fail(queue, active, 0)
    fail(queue, parked, 0)
    queue.add(active, 1)
    queue.delete(active, 2)
    queue.delete(parked, 2)
    assert list(queue.backoff_records()) == ["default/active"]
    assert len(queue) == 0


def test_a_pod_that_is_added_again_waits_once(queue):
    versions = [make_pod("a", labels={"v": each}) for each in "12"]
    for pod in versions:
        queue.add(pod, 0)
    popped = queue.pop(1)
    assert (popped.pod, queue.pop(1)) == (versions[1], None)


def test_a_deleted_pod_is_nowhere(queue):
    queue.add(make_pod("a"), 0)
    (queued,) = queue.pods_in(QueueName.ACTIVE)
    queue.delete(make_pod("a"), 1)
    assert queued.place is QueueName.NOWHERE


def test_an_update_with_a_nomination_replaces_the_earlier_one(queue):
    first, second = (with_nominated_node_name(make_pod("a"), node) for node in ("n1", "n2"))
    queue.add(first, 0)
    queue.update(first, second, 1)
    assert [[p.key for p in queue.nominator.pods_on(node)] for node in ("n1", "n2")] == [
        [], ["default/a"],
    ]  # fmt: skip


def test_an_update_without_a_nomination_keeps_the_one_in_memory(queue):
    pod = make_pod("a")
    queue.add(pod, 0)
    queue.update_nominated_pod_for_node(pod, "n1")
    queue.update(pod, make_pod("a", labels={"x": "y"}), 1)
    assert [p.key for p in queue.nominator.pods_on("n1")] == ["default/a"]
    queue.delete_nominated_pod_if_exists(pod)
    assert queue.nominator.nodes() == {}


def test_add_if_not_present_leaves_a_waiting_pod_alone(queue):
    pod = make_pod("a")
    fail(queue, pod, 0)
    assert queue.add_if_not_present(pod, 1) is QueueName.UNSCHEDULABLE
    assert queue.add_if_not_present(make_pod("b"), 1) is QueueName.ACTIVE


@pytest.mark.parametrize(
    ("event", "new", "moved"),
    [
        pytest.param(ASSIGNED_POD_DELETE, None, ["default/a"], id="a deleted pod moves all"),
        pytest.param(ASSIGNED_POD_ADD, make_pod("x", node="n"), [], id="a bound pod"),
        pytest.param(ClusterEvent(NODE, ActionType.ADD), None, ["default/a"], id="node added"),
        pytest.param(ClusterEvent(NODE, ActionType.DELETE), None, [], id="node deleted"),
        pytest.param(UNSCHEDULABLE_POD_ADD, None, [], id="a pending pod moves none"),
    ],
)
def test_events_of_later_schedulers_are_understood(queue, event, new, moved):
    fail(queue, make_pod("a"), 0)
    assert queue.move(event, 2 * S, new=new) == moved


def test_a_pod_that_was_bound_moves_those_that_must_be_near_it_also_as_an_event(queue):
    fail(queue, make_pod("wants-web", spec=near("web")), 0)
    fail(queue, make_pod("wants-db", spec=near("db")), 1)
    bound = make_pod("x", labels={"app": "web"}, node="n1")
    assert queue.move(ASSIGNED_POD_ADD, 5 * S, new=bound) == ["default/wants-web"]


def test_a_failed_pod_comes_back_as_its_newest_version(queue):
    queue.add(make_pod("a"), 0)
    queue.pop(0)
    newer = make_pod("a", labels={"x": "y"})
    assert queue.add_unschedulable_if_not_present(newer, 1, 1) == ""
    assert queue.get("default/a").pod is newer
    assert queue.in_flight() == []


def test_next_due_is_the_next_flush_that_moves_a_pod(queue):
    assert queue.next_due_ns() is None
    fail(queue, make_pod("a"), S // 2)
    assert queue.next_due_ns() == 90 * S  # 60 s are over at 60.5 s, flushed every 30 s
    queue.move_all_to_active_queue(S)
    assert queue.next_due_ns() == 2 * S  # backoff ends at 1.5 s, flushed every second


def test_a_pod_that_is_old_enough_just_before_a_flush_is_due_at_it(queue):
    fail(queue, make_pod("a"), 30 * S - 1)
    assert queue.next_due_ns() == 90 * S
    assert queue.flush_unschedulable(90 * S) == ["default/a"]


def test_the_durations_are_those_of_upstream():
    settings = ClassicQueueSettings()
    assert (settings.initial_backoff_ns, settings.max_backoff_ns) == (S, 10 * S)
    assert (settings.backoff_flush_ns, settings.unschedulable_flush_ns) == (S, 30 * S)
    assert settings.max_unschedulable_ns == 60 * S


def test_every_duration_can_be_set():
    queue = ClassicQueue(
        ClassicQueueSettings(
            initial_backoff_ns=3, max_backoff_ns=5, backoff_flush_ns=2,
            unschedulable_flush_ns=7, max_unschedulable_ns=11,
        )
    )  # fmt: skip
    fail(queue, make_pod("a"), 0)
    assert queue.backoff_records()["default/a"].end_ns == 3
    assert queue.next_due_ns() == 14
    queue.move_all_to_active_queue(1)
    assert queue.next_due_ns() == 4


def test_a_pod_recreated_while_its_forerunner_was_tried_stays(queue):
    queue.add(make_pod("a"), 0)
    queued = queue.pop(0)
    queue.add(make_pod("a"), 1)
    assert queue.park(queued, 2) is QueueName.ACTIVE
    assert len(queue) == 1
    queue.validate()


def test_pods_can_be_taken_and_activated_by_name(queue):
    fail(queue, make_pod("a"), 0)
    assert queue.activate([make_pod("a"), make_pod("unknown")], 1) == ["default/a"]
    taken = queue.pop_pod("default/a", 1)
    assert taken.key == "default/a"
    assert queue.pop_pod("default/a", 1) is None
    queue.done(taken, 2)
    assert taken.place is QueueName.NOWHERE
    assert queue.in_flight() == []
    queue.validate()


def test_metrics_and_story_have_every_step(queue):
    fail(queue, make_pod("a"), 0)
    assert queue.metrics().pending_pods["unschedulable"] == 1
    assert [touch.step for touch in queue.story("default/a")] == [
        "active", "pop", "unschedulable",
    ]  # fmt: skip


@pytest.fixture
def filled():
    """Return a queue with pods in each place."""
    queue = ClassicQueue(start_ns=7)
    for name in ("e1", "e2"):
        queue.add(make_pod(name), 7)
        queue.pop(7)
    for number, name in enumerate(("d1", "d2", "c1", "c2")):
        fail(queue, make_pod(name), 7 + number)
        if name == "c1":
            queue.pop_pod("default/c1", 9)
    queue.delete(make_pod("c2"), 10)
    queue.move_all_to_active_queue(11)
    for name in ("u1", "u2"):
        fail(queue, make_pod(name, spec=near("web")), 8 * S)
    for name in ("a1", "a2"):
        queue.add(make_pod(name), 9 * S)
    return queue


@pytest.mark.parametrize(
    ("place", "names"),
    [
        (QueueName.ACTIVE, ["a1", "a2"]),
        (QueueName.BACKOFF, ["d1", "d2"]),
        (QueueName.UNSCHEDULABLE, ["u1", "u2"]),
        (QueueName.IN_FLIGHT, ["e1", "e2", "c1"]),
        (QueueName.NOWHERE, []),
    ],
)
def test_the_pods_of_a_place_are_listed_in_the_order_in_which_they_leave_it(filled, place, names):
    assert [queued.pod.name for queued in filled.pods_in(place)] == names
    assert [queued.pod.name for queued in filled.first_in(place, 1)] == names[:1]
    assert filled.count_in(place) == len(names)
    filled.validate()


def test_the_numbers_of_a_queue_are_those_of_its_places(filled):
    assert (len(filled), filled.unschedulable_count, filled.has_next) == (6, 2, True)
    assert filled.metrics().pending_pods == {
        "active": 2, "backoff": 2, "unschedulable": 2, "gated": 0,
    }  # fmt: skip
    assert dict(filled.metrics().queue_incoming_pods_total) == {
        ("active", "PodAdd"): 10,
        ("unschedulable", "ScheduleAttemptFailure"): 6,
        ("backoff", "MoveRequest"): 2,
    }
    (parked, waiting) = (filled.get(f"default/{name}") for name in ("u1", "d1"))
    assert filled.moving_events(parked) == {WILDCARD: ()}
    assert filled.moving_events(waiting) == {}
    assert filled.timeout_ns(parked) == 68 * S
    assert filled.backoff_end_ns(parked) == 9 * S
    assert filled.backoff_end_ns(filled.get("default/a1")) == -1
    assert filled.get("default/e1") is None


def test_flushes_are_counted_from_the_start_of_the_queue(filled):
    # The backoff of the first pod ends one second after its failure.
    assert filled.next_due_ns() == S + 7
    filled.flush_backoff(2 * S)
    assert keys(filled, QueueName.BACKOFF) == []
    assert filled.next_due_ns() == 90 * S + 7


def test_each_step_of_a_pod_has_its_cause(queue):
    pod = make_pod("a")
    fail(queue, pod, 0)
    queue.assigned_pod_added(make_pod("x"), 1)
    queue.move_all_to_active_queue(1)
    queue.flush_backoff(S)
    queue.done(queue.pop(2 * S), 3 * S)
    queue.update(None, pod, 4 * S)
    queue.park(queue.pop(5 * S), 5 * S)
    queue.flush_unschedulable(70 * S)
    queue.delete(pod, 71 * S)
    fail(queue, pod, 72 * S)
    queue.activate([pod], 72 * S)
    queued = queue.pop(73 * S)
    queue.add(pod, 74 * S)
    queue.park(queued, 75 * S)
    assert [(touch.step, touch.cause, touch.now_ns // S) for touch in queue.story(pod.key)] == [
        ("active", "PodAdd", 0), ("pop", "", 0), ("unschedulable", "ScheduleAttemptFailure", 0),
        ("backoff", "MoveRequest", 0), ("active", "BackoffComplete", 1), ("pop", "", 2),
        ("done", "", 3), ("active", "PodUpdate", 4), ("pop", "", 5),
        ("unschedulable", "ScheduleAttemptFailure", 5), ("active", "UnschedulableTimeout", 70),
        ("delete", "", 71), ("active", "PodAdd", 72), ("pop", "", 72),
        ("unschedulable", "ScheduleAttemptFailure", 72), ("active", "ForceActivate", 72),
        ("pop", "", 73), ("active", "PodAdd", 74), ("drop", "already present", 75),
    ]  # fmt: skip


def test_a_parked_pod_counts_its_attempts_and_takes_over_its_new_version(queue):
    pod, newer = make_pod("a"), make_pod("a", labels={"x": "y"})
    queue.add(pod, S)
    queued = queue.pop(2 * S)
    assert (queued.attempts, queued.initial_attempt_ns) == (1, S)
    queue.park(queued, 3 * S, pod=newer)
    assert (queued.pod, queued.unschedulable_count, queued.timestamp_ns) == (newer, 1, 3 * S)
    queue.activate([pod], 4 * S)
    assert queue.pop(5 * S) is queued
    assert (queued.attempts, queued.initial_attempt_ns) == (2, S)
    queue.park(queued, 6 * S)
    assert (queued.pod, queued.unschedulable_count) == (newer, 2)


def test_an_attempt_that_another_one_replaced_ends_without_effect(queue):
    queue.add(make_pod("a"), 0)
    first = queue.pop(0)
    queue.add(make_pod("a"), 1)
    second = queue.pop(1)
    queue.done(first, 2)
    assert queue.in_flight() == [second]
    assert first.place is QueueName.IN_FLIGHT
    queue.park(first, 3)
    assert queue.in_flight() == [second]


@pytest.mark.parametrize(
    ("event", "new", "moved"),
    [
        (ClusterEvent(NODE, ActionType.ADD), None, ["default/b"]),
        (ASSIGNED_POD_DELETE, make_pod("x", labels={"app": "web"}), ["default/b"]),
        (ASSIGNED_POD_ADD, make_pod("x", labels={"app": "web"}), ["default/a"]),
        (ClusterEvent(POD, ActionType.UPDATE), make_pod("x", labels={"app": "web"}), ["default/a"]),
        (ClusterEvent(POD, ActionType.UPDATE), None, []),
        (UNSCHEDULABLE_POD_ADD, make_pod("x", labels={"app": "web"}), []),
    ],
)
def test_an_event_with_a_check_moves_the_pods_that_pass_it(queue, event, new, moved):
    fail(queue, make_pod("a", spec=near("web")), 0)
    fail(queue, make_pod("b"), 0)
    assert queue.move(event, 2 * S, new=new, pre_check=lambda pod: pod.name == "b") == moved


def test_the_terms_of_an_unschedulable_pod_are_those_of_its_present_version(queue):
    fail(queue, make_pod("a", spec=near("web")), 0)
    newer = make_pod("a", spec=near("db"))
    # The version before is known from the API server; the queue had an older one.
    assert queue.update(newer, newer, 1) is QueueName.UNSCHEDULABLE
    bound = [make_pod("x", labels={"app": app}, node="n1") for app in ("web", "db")]
    assert [queue.assigned_pod_added(pod, 2) for pod in bound] == [[], ["default/a"]]
    fail(queue, make_pod("b", spec=near("web")), 3)
    plain = make_pod("b", spec={"affinity": {"nodeAffinity": {}}})
    assert queue.update(plain, plain, 4) is QueueName.UNSCHEDULABLE
    assert queue.assigned_pod_added(bound[0], 5) == []


def test_a_nomination_follows_the_status_unless_a_node_is_given(queue):
    pod = with_nominated_node_name(make_pod("a"), "n1")
    for nominate, node, found in (
        (queue.nominate, "n2", {"n2": ["a"]}),
        (queue.nominate, "", {}),
        (queue.nominate, None, {"n1": ["a"]}),
        (queue.update_nominated_pod_for_node, "n3", {"n3": ["a"]}),
        (queue.update_nominated_pod_for_node, "", {"n1": ["a"]}),
    ):
        nominate(pod, node)
        nodes = queue.nominator.nodes()
        assert {node: [each.name for each in nodes[node]] for node in nodes} == found
    queue.delete(pod, 0)
    assert queue.nominator.nodes() == {}


@pytest.mark.parametrize(
    ("options", "kept"), [({}, 10_000), ({"story_limit_count": 3}, 3)], ids=["default", "given"]
)
def test_a_story_keeps_the_last_steps(options, kept):
    queue, pod = ClassicQueue(**options), make_pod("a")
    for now_ns in range(kept + 2):
        queue.add(pod, now_ns)
    assert [touch.now_ns for touch in queue.story(pod.key)] == list(range(2, kept + 2))
