"""Which plugins an event consults, and when the flush of unschedulable pods is due."""

import pytest
from msgspec import to_builtins

from podwright.apimachinery.objects import PodResourceClaim, Toleration, with_fields
from podwright.scheduler.framework.events import (
    ASSIGNED_POD,
    NODE,
    POD,
    ActionType,
    ClusterEvent,
    Concerned,
    EventHint,
    Hint,
)
from podwright.scheduler.queueing import HintTable, QueueName, QueueSettings
from podwright.scheduler.queueing.tests.pods import (
    NODE_ADD,
    NODE_LABEL,
    always_skip,
    at,
    make_pod,
    make_queue,
)


def make_queue_of_two_plugins(**options):
    """A queue whose plugins `OnAdd` and `OnLabel` register one event of nodes each."""
    table = HintTable(
        {
            "OnAdd": (EventHint(NODE, ActionType.ADD),),
            "OnLabel": (EventHint(NODE, ActionType.UPDATE_NODE_LABEL),),
            "Hold": (EventHint(NODE, ActionType.ADD),),
        }
    )
    return make_queue(hints={"default-scheduler": table}, **options)


def fail(queue, name, **rejected):
    queue.add(make_pod(name), at(0))
    queue.park(queue.pop(at(0)), at(0), **rejected)


@pytest.mark.parametrize("events", [(NODE_ADD, NODE_LABEL), (NODE_LABEL, NODE_ADD)])
def test_a_pending_plugin_decides_regardless_of_the_order_of_events(events):
    queue = make_queue_of_two_plugins()
    queue.add(make_pod("p"), at(0))
    queued = queue.pop(at(0))
    for event in events:
        queue.move(event, at(0.1))
    place = queue.park(
        queued, at(0.2), unschedulable_plugins=["OnAdd"], pending_plugins=["OnLabel"]
    )
    assert place is QueueName.ACTIVE


@pytest.mark.parametrize(
    ("answers", "rejected", "place", "call_count"),
    [
        pytest.param(
            [Hint.QUEUE, Hint.QUEUE, Hint.QUEUE],
            {"unschedulable_plugins": ["Asked"]},
            QueueName.BACKOFF,
            1,
            id="the first answer decides",
        ),
        pytest.param(
            [Hint.SKIP, Hint.QUEUE, Hint.QUEUE],
            {"unschedulable_plugins": ["Asked"]},
            QueueName.BACKOFF,
            2,
            id="the first that requeues it",
        ),
        pytest.param(
            [Hint.SKIP] * 3,
            {"unschedulable_plugins": ["Asked"]},
            QueueName.UNSCHEDULABLE,
            3,
            id="none does",
        ),
        pytest.param(
            [Hint.SKIP, Hint.QUEUE, Hint.QUEUE],
            {"pending_plugins": ["Asked"]},
            QueueName.ACTIVE,
            2,
            id="a plugin that it waits for",
        ),
        pytest.param(
            [Hint.QUEUE, Hint.SKIP, Hint.SKIP],
            {"unschedulable_plugins": ["Asked"], "pending_plugins": ["OnAdd"]},
            QueueName.BACKOFF,
            3,
            id="a plugin that it waits for may still requeue it at once",
        ),
    ],
)
def test_events_of_an_attempt_are_tried_until_one_decides(answers, rejected, place, call_count):
    """Upstream: scheduling_queue.go, determineSchedulingHintForInFlightPod."""
    asked: list[Hint] = []

    def hint(_pod, _old, _new):
        asked.append(answers[len(asked)])
        return asked[-1]

    table = HintTable(
        {
            "Asked": (EventHint(NODE, ActionType.UPDATE_NODE_LABEL, hint),),
            "OnAdd": (EventHint(NODE, ActionType.ADD),),
        }
    )
    queue = make_queue(hints={"default-scheduler": table})
    queue.add(make_pod("p"), at(0))
    queued = queue.pop(at(0))
    for _ in answers:
        queue.move(NODE_LABEL, at(0.1))
    assert queue.park(queued, at(0.2), **rejected) is place
    assert len(asked) == call_count


def test_each_event_consults_the_plugins_that_registered_it():
    queue = make_queue_of_two_plugins()
    fail(queue, "add", unschedulable_plugins=["OnAdd"])
    fail(queue, "label", unschedulable_plugins=["OnLabel"])
    assert queue.move(NODE_LABEL, at(1)) == ["default/label"]
    assert queue.move(NODE_LABEL, at(1)) == []
    assert queue.move(NODE_ADD, at(1)) == ["default/add"]


def test_an_event_moves_the_pods_of_each_plugin_that_registered_it_in_order_of_entry():
    queue = make_queue_of_two_plugins()
    rejected_by = {"c": ["Hold"], "a": ["OnAdd"], "label": ["OnLabel"], "b": ["Hold", "OnAdd"]}
    for name, plugins in rejected_by.items():
        fail(queue, name, unschedulable_plugins=plugins)
    assert queue.move(NODE_ADD, at(1)) == ["default/c", "default/a", "default/b"]


def test_a_pod_that_fails_at_a_tick_is_due_at_the_tick_after_five_minutes():
    queue = make_queue(start_ns=at(0))
    fail(queue, "p", unschedulable_plugins=["Stubborn"])
    assert queue.next_due_ns() == at(330)
    assert queue.flush_unschedulable(at(330)) == ["default/p"]


def test_a_plugin_that_gated_a_pod_stays_a_rejector_until_the_next_attempt():
    held = {"default/p"}
    queue = make_queue_of_two_plugins(
        pre_enqueue=lambda pod: ("Hold", ()) if pod.key in held else None
    )
    queue.add(make_pod("p"), at(0))
    assert queue.metrics().unschedulable_pods["Hold", "default-scheduler"] == 1
    held.clear()
    assert queue.move(NODE_ADD, at(1)) == ["default/p"]
    queued = queue.get("default/p")
    assert queued.rejectors == {"Hold"}
    assert queue.metrics().unschedulable_pods["Hold", "default-scheduler"] == 1
    queue.pop(at(2))
    assert queue.metrics().unschedulable_pods["Hold", "default-scheduler"] == 0


def test_the_events_that_may_move_a_pod_are_those_of_its_rejectors():
    queue = make_queue_of_two_plugins()
    fail(queue, "both", unschedulable_plugins=["OnAdd", "OnLabel"])
    fail(queue, "add", unschedulable_plugins=["Hold", "OnAdd"])
    fail(queue, "failed")
    both, added, failed = (queue.get(f"default/{name}") for name in ("both", "add", "failed"))
    # A plugin that registers new nodes is also consulted for taints, see `from_plugins`.
    assert queue.moving_events(both) == {"NodeAdd": ("OnAdd",), "NodeUpdateNodeLabel": ("OnLabel",)}
    assert queue.moving_events(added) == {"NodeAdd": ("Hold", "OnAdd")}
    assert failed.place is QueueName.ERROR_BACKOFF
    assert queue.moving_events(failed) == {}
    assert queue.activate([both.pod], at(1)) == ["default/both"]
    assert queue.moving_events(both) == {}


def test_a_gated_pod_waits_for_the_events_of_the_plugin_that_gates_it():
    queue = make_queue()
    queue.add(make_pod("p", gates=["a"]), at(0))
    gated = queue.get("default/p")
    label = "UpdatePodSchedulingGatesEliminated"
    assert queue.moving_events(gated) == {
        f"AssignedPod{label}": ("SchedulingGates",),
        f"UnschedulablePod{label}": ("SchedulingGates",),
    }


def test_a_pod_of_a_profile_without_hints_is_moved_by_every_event():
    queue = make_queue(hints={})
    fail(queue, "p", unschedulable_plugins=["Fit"])
    assert queue.moving_events(queue.get("default/p")) == {"*": ()}


POD_CLAIM = ClusterEvent(POD, ActionType.UPDATE_POD_GENERATED_RESOURCE_CLAIM)


def of_uid_or_claim(pod, _old, new):
    """Queue the pod of the event, and pods that name the claim of its annotation."""
    named = [each.resource_claim_name for each in pod.spec.resource_claims]
    is_itself = pod.metadata.uid == new.metadata.uid
    return Hint.QUEUE if is_itself or new.metadata.annotations.get("claim") in named else Hint.SKIP


def concern(_old, new):
    claim = new.metadata.annotations.get("claim")
    return None if claim == "all" else Concerned(new.metadata.uid, f"default/{claim}")


def test_an_event_is_about_all_pods_if_it_is_for_one_of_the_plugins():
    table = HintTable(
        {
            "Narrow": (EventHint(POD_CLAIM.resource, POD_CLAIM.action, of_uid_or_claim, concern),),
            "Wide": (EventHint(POD_CLAIM.resource, POD_CLAIM.action),),
        }
    )
    queue = make_queue(hints={"default-scheduler": table})
    for plugin in ("Narrow", "Wide"):
        fail(queue, plugin.lower(), unschedulable_plugins=[plugin])
    assert queue.move(POD_CLAIM, at(1), new=make_pod("other")) == ["default/wide"]


def other_concern(_old, _new):
    return Concerned()


CLAIMED = EventHint(POD_CLAIM.resource, POD_CLAIM.action, of_uid_or_claim, concern)
ADDED = EventHint(NODE, ActionType.ADD, always_skip, other_concern)


@pytest.mark.parametrize(
    ("registrations", "functions", "concerns"),
    [
        pytest.param({}, {}, (), id="none"),
        pytest.param({"A": (CLAIMED,)}, {"A": (of_uid_or_claim,)}, (concern,), id="one"),
        pytest.param({"A": (ADDED,)}, {}, (), id="another event"),
        pytest.param(
            {"A": (ADDED, CLAIMED)},
            {"A": (of_uid_or_claim,)},
            (concern,),
            id="of several hints those of the event",
        ),
        pytest.param(
            {"B": (CLAIMED,), "A": (CLAIMED,)},
            {"B": (of_uid_or_claim,), "A": (of_uid_or_claim,)},
            (concern, concern),
            id="two plugins, in their order",
        ),
        pytest.param(
            {"A": (CLAIMED, EventHint(POD, ActionType.ALL))},
            {"A": (of_uid_or_claim, None)},
            (),
            id="one of the hints is for any pod",
        ),
        pytest.param(
            {"A": (CLAIMED, EventHint(NODE, ActionType.ALL))},
            {"A": (of_uid_or_claim,)},
            (concern,),
            id="a hint for any pod at another event",
        ),
    ],
)
def test_an_event_has_the_hints_and_the_concerns_that_were_registered_for_it(
    registrations, functions, concerns
):
    table = HintTable(registrations)
    for _ in range(2):
        found = table.registered(POD_CLAIM)
        assert (found.label, found.functions_of, found.concerns) == (
            POD_CLAIM.label,
            functions,
            concerns,
        )
        assert {name for name in "AB" if table.concerns(name, POD_CLAIM)} == functions.keys()
        # Others in between change nothing.
        assert table.registered(ClusterEvent(NODE, ActionType.DELETE)).label == "NodeDelete"


@pytest.mark.parametrize(
    ("claim", "others"), [("a", ["p0"]), ("none", []), ("all", ["p0", "p1", "p2"])]
)
def test_the_effort_of_an_event_about_some_pods_are_the_hints_of_these(claim, others):
    tried = []

    def hint(pod, _old, _new):
        tried.append(pod.metadata.name)
        return Hint.SKIP

    hints = (EventHint(POD_CLAIM.resource, POD_CLAIM.action, hint, concern),)
    queue = make_queue(hints={"default-scheduler": HintTable({"Claims": hints})})
    for name, own in (("p0", "a"), ("p1", "b"), ("p2", "b"), ("new", "b")):
        claims = (PodResourceClaim(name="c", resource_claim_name=own),)
        queue.add(with_fields(make_pod(name), "spec", resource_claims=claims), at(0))
        queue.park(queue.pop(at(0)), at(0), unschedulable_plugins=["Claims"])
    new = with_fields(make_pod("new"), "metadata", annotations={"claim": claim})
    assert queue.move(POD_CLAIM, at(1), new=new) == []
    assert tried == [*others, "new"]


@pytest.mark.parametrize("claim", ["a", "b", "none", "all"])
@pytest.mark.parametrize("name", ["p0", "p3", "other", "unblamed"])
def test_an_event_about_some_pods_has_the_effect_that_it_has_when_all_are_tried(claim, name):
    outcomes = []
    for known in (None, concern):
        hint = EventHint(
            POD, ActionType.UPDATE_POD_GENERATED_RESOURCE_CLAIM, of_uid_or_claim, known
        )
        table = HintTable({"Claims": (hint,), "Fit": (EventHint(NODE, ActionType.ADD),)})
        queue = make_queue(hints={"default-scheduler": table})
        for index in range(6):
            claims = [PodResourceClaim(name="c", resource_claim_name="ab"[index % 2])][: index % 3]
            pod = with_fields(make_pod(f"p{index}"), "spec", resource_claims=tuple(claims))
            queue.add(pod, at(0))
            plugins = ["Claims"] if index != 5 else ["Fit"]
            queue.park(queue.pop(at(0)), at(0), unschedulable_plugins=plugins)
        fail(queue, "unblamed")
        new = with_fields(make_pod(name), "metadata", annotations={"claim": claim})
        moved = queue.move(POD_CLAIM, at(1), new=new)
        queue.validate()
        again = queue.move(POD_CLAIM, at(2), new=new)
        outcomes.append((moved, again, dict(table.executions)))
    assert outcomes[0] == outcomes[1]


def test_an_empty_queue_counts_no_pod_from_the_backoff() -> None:
    queue = make_queue()
    assert queue.pop(at(0)) is None
    assert queue.metrics().queue_incoming_pods_total == {}


def test_the_first_of_the_flushes_is_due() -> None:
    queue = make_queue(start_ns=at(0))
    queue.add(make_pod("unschedulable"), at(0))
    queue.park(queue.pop(at(0)), at(0), unschedulable_plugins=["Stubborn"])
    overdue_ns = queue.next_due_ns()
    queue.add(make_pod("failed"), at(1))
    queue.park(queue.pop(at(1)), at(1))
    assert queue.next_due_ns() == at(3)
    assert queue.flush_backoff(at(3)) == ["default/failed"]
    assert queue.next_due_ns() == overdue_ns == at(330)


def test_the_first_attempt_stays_the_first_one() -> None:
    queue = make_queue()
    pod = make_pod("p")
    queue.add(pod, at(5))
    for second in (6, 20, 40):
        queued = queue.pop(at(second))
        assert queued.initial_attempt_ns == at(5)
        queue.park(queued, at(second), unschedulable_plugins=["Stubborn"])
        assert queue.activate([pod], at(second + 1)) == ["default/p"]


def test_pods_that_have_left_are_not_found_by_their_claim() -> None:
    hints = (EventHint(POD_CLAIM.resource, POD_CLAIM.action, of_uid_or_claim, concern),)
    queue = make_queue(hints={"default-scheduler": HintTable({"Claims": hints})})
    claims = (PodResourceClaim(name="c", resource_claim_name="a"),)
    pods = [with_fields(make_pod(f"p{i}"), "spec", resource_claims=claims) for i in range(3)]
    for pod in pods:
        queue.add(pod, at(0))
        queue.park(queue.pop(at(0)), at(0), unschedulable_plugins=["Claims"])
    queue.activate(pods[:1], at(1))
    queue.delete(pods[1], at(1))
    new = with_fields(make_pod("new"), "metadata", annotations={"claim": "a"})
    assert queue.move(POD_CLAIM, at(2), new=new) == ["default/p2"]
    assert queue.move(POD_CLAIM, at(3), new=new) == []
    assert not queue._subqueues.unschedulable._by_claim
    queue.validate()


def test_the_durations_of_a_queue_are_those_of_upstream() -> None:
    """Upstream: pkg/scheduler/backend/queue/scheduling_queue.go."""
    assert to_builtins(QueueSettings()) == {
        "initial_backoff_ns": 10**9,
        "max_backoff_ns": 10 * 10**9,
        "backoff_window_ns": 10**9,
        "max_unschedulable_ns": 5 * 60 * 10**9,
        "unschedulable_flush_ns": 30 * 10**9,
        "pop_from_backoff": True,
    }


def test_an_update_that_is_several_events_requeues_a_pod_once() -> None:
    """Upstream: pkg/scheduler/backend/queue/scheduling_queue.go, Update."""
    both = ActionType.UPDATE_POD_LABEL | ActionType.UPDATE_POD_TOLERATION
    queue = make_queue(hints={"default-scheduler": HintTable({"Fit": (EventHint(POD, both),)})})
    old = make_pod("p")
    queue.add(old, at(0))
    queue.park(queue.pop(at(0)), at(0), unschedulable_plugins=["Fit"])
    before = dict(queue.metrics().queue_incoming_pods_total)
    new = with_fields(old, "metadata", labels={"app": "a"})
    new = with_fields(new, "spec", tolerations=(Toleration(key="k"),))
    assert queue.update(old, new, at(20)) is QueueName.ACTIVE
    counts = queue.metrics().queue_incoming_pods_total
    arrivals = {key: count - before.get(key, 0) for key, count in counts.items()}
    assert [key for key, count in arrivals.items() for _ in range(count)] == [
        ("active", "UnschedulablePodUpdatePodLabel")
    ]
    queue.validate()


def test_an_event_is_registered_if_a_plugin_of_any_profile_registers_it() -> None:
    tables = {
        "first": HintTable({"A": (EventHint(NODE, ActionType.ADD),)}),
        "second": HintTable({"B": (EventHint(NODE, ActionType.DELETE),), "C": ()}),
    }
    queue = make_queue(hints=tables)
    events = [
        ClusterEvent(NODE, action)
        for action in (ActionType.ADD, ActionType.DELETE, ActionType.UPDATE_NODE_LABEL)
    ]
    assert [queue.registers(event) for event in events] == [True, True, False]


def test_the_resources_of_a_table_are_those_of_all_its_registrations() -> None:
    node, pod = EventHint(NODE, ActionType.ADD), EventHint(ASSIGNED_POD, ActionType.DELETE)
    assert HintTable({"A": (node, pod), "B": (), "C": (node,)}).resources == {NODE, ASSIGNED_POD}
