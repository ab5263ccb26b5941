"""State that a queue keeps between attempts, and events during an attempt."""

from podwright.scheduler.framework.events import FORCE_ACTIVATE, UNSCHEDULABLE_TIMEOUT
from podwright.scheduler.queueing import SECOND_NS, HintTable, QueuedPod
from podwright.scheduler.queueing.events import InFlight
from podwright.scheduler.queueing.hints import HintTables, Requeue
from podwright.scheduler.queueing.tests.pods import NODE_ADD, NODE_LABEL, at, make_pod, make_queue


def entry(name):
    return QueuedPod(make_pod(name), entered_index=0, now_ns=0)


def test_a_pod_in_flight_has_the_events_since_its_own_pop():
    in_flight = InFlight()
    first, second = entry("first"), entry("second")
    in_flight.begin(first)
    in_flight.record(NODE_ADD, None, 1)
    assert in_flight.end(first.uid) is not None
    in_flight.begin(second)
    assert in_flight.events_since_pop(second.uid) == []
    in_flight.begin(entry("first"))
    in_flight.record(NODE_LABEL, None, 2)
    for queued in (entry("first"), entry("second")):
        assert [event.new for event in in_flight.events_since_pop(queued.uid)] == [2]
    in_flight.validate()


def test_a_pod_in_flight_is_found_by_its_uid():
    in_flight, queued = InFlight(), entry("p")
    found = [in_flight.get("uid-p")]
    assert in_flight.begin(queued)
    assert not in_flight.begin(queued)
    found += [in_flight.get("uid-p"), in_flight.get("other"), in_flight.end("uid-p")]
    found += [in_flight.get("uid-p"), in_flight.end("uid-p")]
    assert found == [None, queued, None, queued, None, None]


def test_every_event_moves_a_pod_that_no_plugin_rejected():
    table, queued = HintTable({"Fit": ()}), entry("p")
    assert table.requeue(queued, NODE_ADD, None, None) is Requeue.AFTER_BACKOFF
    assert table.requeue(queued, FORCE_ACTIVATE, None, make_pod("q")) is Requeue.AFTER_BACKOFF


def test_a_pod_of_a_profile_without_hints_is_moved_by_all_but_events_of_others():
    tables, queued = HintTables({}), entry("p")
    queued.unschedulable_plugins = frozenset({"Fit"})
    assert tables.watched(queued) == ()
    found = [tables.verdict(queued, FORCE_ACTIVATE, None, make_pod(name)) for name in "pq"]
    assert found == [Requeue.AFTER_BACKOFF, Requeue.SKIP]
    assert tables.verdict(queued, NODE_ADD, None, None) is Requeue.AFTER_BACKOFF
    assert not tables.can_ungate(queued, NODE_ADD), "nothing says that it ends the gate"


def test_a_wildcard_event_with_a_pod_concerns_that_pod_only():
    table = HintTable({"Fit": ()})
    queued = entry("p")
    queued.unschedulable_plugins = frozenset({"Fit"})
    requeue = table.requeue
    assert requeue(queued, FORCE_ACTIVATE, None, make_pod("q")) is Requeue.SKIP
    assert requeue(queued, FORCE_ACTIVATE, None, make_pod("p")) is Requeue.AFTER_BACKOFF
    assert requeue(queued, UNSCHEDULABLE_TIMEOUT, None, None) is Requeue.AFTER_BACKOFF


def test_the_backoff_doubles_with_consecutive_errors_and_a_rejection_resets_it():
    queue = make_queue()
    queue.add(make_pod("p"), at(0))
    waits = []
    for plugins in ((), (), (), ("Fit",), ()):
        queued = queue.pop_pod("default/p", at(0))
        assert queued is not None
        queue.park(queued, at(0), unschedulable_plugins=plugins)
        waits.append((queue.backoff_end_ns(queued) - at(0)) // SECOND_NS)
    assert waits == [1, 2, 4, 1, 1]
