"""A timeline without its beginning has the same states as the whole one from then on."""

from __future__ import annotations

import json

import pytest

import podwright as pw
from podwright.scheduler.machine import Event, ObjectDeleted, ObjectPut
from podwright.simulation.recording.log.decision_log import DecisionLog
from podwright.simulation.recording.tests.recording import SECOND_NS, Recorded, named_state
from podwright.simulation.recording.timelines.feed import TimelineFeed, shortened, timeline_of_log
from podwright.testing import make_node, make_pod


@pytest.fixture(scope="module")
def timeline():
    pods = [make_pod(f"p{number}", cpu="1", priority=number) for number in range(8)]
    run = pw.simulate(
        [make_node("n1", cpu="2"), make_node("n2", cpu="2")],
        events=[
            *({"at": f"{number + 1}s", "apply": each.raw} for number, each in enumerate(pods)),
            {"at": "20s", "delete": "node/n2"},
            {"at": "30s", "apply": make_node("n3", cpu="2").raw},
            {"at": "40s", "delete": "pod/p7", "gracePeriodSeconds": 0},
        ],
        until="3m",
    )
    return timeline_of_log(run.log)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.6, 0.9, 1.0])
def test_the_states_after_the_beginning_are_the_same(timeline, share):
    times = timeline.times_ns.tolist()
    first_ns = times[round(share * (len(times) - 1))]
    found = shortened(timeline, first_ns)
    assert found.first_ns == first_ns == found.times_ns[0]
    assert found.state_at(first_ns - 1) == {}
    for at_ns in {time for time in times if time >= first_ns}:
        expected = named_state(timeline, at_ns)
        assert named_state(found, at_ns) == expected
        rewound = found.state_at(at_ns, is_rewound=True)
        assert rewound == found.state_at(at_ns)


def test_the_values_of_a_state_can_be_written_as_json(timeline):
    values = list(timeline.state_at(int(timeline.times_ns[-1])).values())
    assert json.loads(json.dumps(values)) == values != []


def test_subjects_that_are_gone_are_dropped(timeline):
    found = shortened(timeline, int(timeline.times_ns[-1]))
    gone = {("node", "n2"), ("pod", "default/p7")}
    assert gone < set(timeline.subjects)
    assert not gone & set(found.subjects)
    assert ("node", "n3") in found.subjects


def test_nothing_happened_before(timeline):
    found = shortened(timeline, timeline.first_ns - 1)
    assert found.first_ns == timeline.first_ns
    for name in ("times_ns", "subject_index", "field_index", "deltas"):
        assert getattr(found, name).tolist() == getattr(timeline, name).tolist()


def test_an_empty_timeline_stays_empty():
    empty = timeline_of_log(DecisionLog.create())
    assert len(shortened(empty, 1).deltas) == 0


def test_a_feed_that_drops_its_past_goes_on_as_one_that_keeps_it():
    recorded = Recorded()
    whole, dropping = (TimelineFeed(recorded.run.machine) for _ in range(2))
    for each in (whole, dropping):
        recorded.run.add_feed(each)
    recorded.put(make_node("n1", cpu="4"), make_node("n2", cpu="4"), make_node("gone", cpu="1"))
    for number in range(12):
        recorded.attempt(make_pod(f"p{number:02}", cpu="1"))
        if number == 3:
            recorded.tell(ObjectDeleted(make_node("gone", cpu="1")))
        if number % 4 == 3:
            recorded.remove(recorded.pods[f"default/p{number - 2:02}"])
            dropping.drop_before(recorded.now_ns)
    first_ns = recorded.now_ns
    recorded.now_ns += SECOND_NS
    recorded.put(make_node("n3", cpu="8"))
    kept, short = whole.timeline(), dropping.timeline()
    assert short.first_ns == first_ns > kept.first_ns
    assert len(short.deltas) < len(kept.deltas)
    for at_ns in (first_ns, first_ns + 1, recorded.now_ns):
        assert named_state(short, at_ns) == named_state(kept, at_ns)
    assert ("node", "gone") not in short.subjects


@pytest.mark.parametrize("drops", [False, True], ids=["whole", "without its past"])
def test_what_a_pod_refers_to_is_named(drops):
    recorded = Recorded()
    feed = TimelineFeed(recorded.run.machine)
    recorded.run.add_feed(feed)
    recorded.holds = {"DeletePod"}
    recorded.put(make_node("n0", cpu="1"), make_node("n1", cpu="4"), make_node("gone", cpu="1"))
    recorded.put(make_pod("low", cpu="4", node="n1"))
    recorded.attempt(make_pod("high", cpu="4", priority=9))
    recorded.now_ns += SECOND_NS
    recorded.tell(ObjectDeleted(make_node("gone", cpu="1")))
    if drops:
        feed.drop_before(recorded.now_ns)
        recorded.now_ns += SECOND_NS
        recorded.put(make_node("n2"))
    found = feed.timeline()
    state = named_state(found, recorded.now_ns)
    assert state[("pod", "default/high"), "nominatedTo"] == ("node", "n1")
    assert state[("pod", "default/low"), "node"] == ("node", "n1")
    assert (("pod", "default/high"), "node") not in state


def test_a_feed_receives_each_event_until_it_is_removed():
    class Feed:
        def __init__(self) -> None:
            self.received: list[object] = []

        def advance(self, now_ns: int) -> None:
            self.received.append(now_ns)

        def handled(self, event: Event) -> None:
            self.received.append(event)

    recorded, feed = Recorded(), Feed()
    recorded.run.add_feed(feed)
    recorded.now_ns = 7
    node = make_node("n1")
    recorded.put(node)
    recorded.run.remove_feed(feed)
    recorded.put(make_node("n2"))
    assert feed.received == [7, ObjectPut(node)]
