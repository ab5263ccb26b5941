"""Going through a recorded run, forward and back."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from podwright.apimachinery.objects import with_fields
from podwright.scheduler.machine import CycleDue, ObjectPut, PatchPodStatus
from podwright.simulation.recording.folders.recorded_state import queue_of
from podwright.simulation.recording.folders.stepping import Stepper
from podwright.simulation.recording.log.decision_log import DecisionLog
from podwright.simulation.recording.log.record import record
from podwright.simulation.recording.log.replay import Replay, replay
from podwright.simulation.recording.tests.recorded import MINUTE, SECOND, START, recorded_log
from podwright.simulation.recording.tests.recording import Recorded
from podwright.simulation.recording.tests.test_explain import EXTENDER
from podwright.testing import make_node, make_pod


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> DecisionLog:
    folder: Path = tmp_path_factory.mktemp("run")
    return recorded_log(folder / "log", checkpoint_events=20)


def positions_of_cycles(log: DecisionLog) -> list[int]:
    return [index + 1 for index, _ in log.cycles()]


def test_positions_range_from_before_the_first_event_to_after_the_last(log):
    stepper = Stepper(log)
    assert (stepper.position, stepper.moment) == (0, None)
    assert not stepper.back()
    count = 0
    while stepper.forward():
        count += 1
        assert stepper.moment is not None
        assert stepper.moment.entry.index == count - 1
    assert count == stepper.position == len(log)
    assert not stepper.forward()


def test_a_step_backward_shows_the_same_moment_again(log):
    stepper = Stepper(log)
    seen = [stepper.moment]
    while stepper.forward():
        seen.append(stepper.moment)
    for moment in reversed(seen[:-1]):
        assert stepper.back()
        assert stepper.moment == moment


@given(data=st.data())
def test_every_position_equals_a_replay_up_to_it(log, data):
    stepper = Stepper(log, kept=data.draw(st.integers(1, 12)))
    for _ in range(data.draw(st.integers(1, 8))):
        position = data.draw(st.integers(0, len(log)))
        stepper.go_to(position)
        assert stepper.position == position
        if position:
            assert stepper.moment is not None
            assert stepper.moment.entry == next(log.entries(position - 1))
        if data.draw(st.booleans()):
            machine = replay(log, until=position)
            assert stepper.machine.objects() == machine.objects()
            assert queue_of(stepper.machine, 0) == queue_of(machine, 0)
            if stepper.moment is not None:
                machine.queue.metrics()
                assert stepper.moment.sizes["active"] == len(queue_of(machine, 0).places["active"])


def test_a_log_without_checkpoints_is_gone_through_from_its_begin():
    run = record(None)
    for name in ("n1", "n2", "n3"):
        run.handle(ObjectPut(make_node(name)), 0)
    stepper = Stepper(run.log, kept=1)
    for position in (3, 1, 2):
        stepper.go_to(position)
        assert stepper.moment is not None
        assert stepper.moment.node_count == position


def test_the_machine_is_at_the_position_after_steps_back(log):
    stepper = Stepper(log)
    stepper.go_to(9)
    for position in (8, 3):
        stepper.go_to(position)
        assert stepper.machine.objects() == replay(log, until=position).objects()


def test_a_moment_counts_the_pods_in_flight_and_those_on_nodes():
    recorded = Recorded(extenders=[EXTENDER])
    recorded.holds = {"CallExtender"}
    recorded.attempt(make_node("n1"), make_pod("placed", node="n1"), make_pod("a"))
    stepper = Stepper(recorded.run.log)
    found = []
    while stepper.forward():
        assert stepper.moment is not None
        found.append((stepper.moment.sizes["in_flight"], stepper.moment.placed_count))
    assert found == [(0, 0), (0, 1), (0, 1), (1, 1)]


def test_cycles_are_found_forward_and_backward(log):
    stepper = Stepper(log)
    assert stepper.cycles is stepper.cycles
    ends = []
    while stepper.next_cycle():
        assert stepper.moment is not None
        assert isinstance(stepper.moment.entry.event, CycleDue)
        ends.append(stepper.position)
    assert ends == positions_of_cycles(log)
    back = []
    while stepper.previous_cycle():
        back.append(stepper.position)
    assert back == ends[-2::-1]


def test_the_events_of_a_pod_include_the_replies_to_its_calls(log):
    stepper = Stepper(log)
    event_types = []
    while stepper.next_about("default/batch"):
        assert stepper.moment is not None
        event_types.append(type(stepper.moment.entry.event).__name__)
    assert event_types == [
        "ObjectPut", "CycleDue", "ObjectPut", "CallDone",  # tried, and its status
        "CycleDue", "CycleDue",
        "CycleDue", "ObjectPut", "CallDone", "ObjectPut",  # bound, and it runs
    ]  # fmt: skip
    assert not stepper.next_about("default/bat")


def test_the_next_event_of_a_pod_is_the_same_from_every_position(log):
    stepper = Stepper(log)
    places = []
    while stepper.next_about("default/batch"):
        places.append(stepper.position)
    # Calls about the pod that have been answered later are found in the moments that are kept.
    for position in reversed(range(places[-1] + 1)):
        stepper.go_to(position)
        assert stepper.next_about("default/batch") is (position < places[-1])
        later = [place for place in places if place > position]
        assert stepper.position == (later[0] if later else position)
        stepper.go_to(places[-1])


def test_a_reply_has_its_request(log):
    stepper = Stepper(log)
    stepper.next_about("default/batch")
    for _ in range(3):
        stepper.next_about("default/batch")
    assert stepper.moment is not None
    assert isinstance(stepper.moment.request, PatchPodStatus)
    assert stepper.moment.request.pod == "default/batch"


def test_a_pod_is_new_only_once(log):
    stepper = Stepper(log)
    new = []
    while stepper.forward():
        moment = stepper.moment
        assert moment is not None
        if moment.is_new:
            assert isinstance(moment.entry.event, ObjectPut)
            new.append(moment.entry.event.obj.key)
    names = ("web", "db", "batch", "held", "urgent", "hopeless")
    assert new == [f"default/{name}" for name in names]


def test_a_pod_that_has_ended_is_not_new_again():
    run = Recorded()
    pod = make_pod("done", cpu="1")
    ended = with_fields(pod, "status", phase="Succeeded")
    run.put(pod, ended, with_fields(ended, "metadata", labels={"seen": "yes"}))
    stepper, new = Stepper(run.run.log), list[bool | None]()
    while stepper.forward():
        assert stepper.moment is not None
        new.append(stepper.moment.is_new)
    assert new == [True, False, None]


def test_a_time_is_the_position_after_all_events_up_to_it(log):
    stepper = Stepper(log)
    stepper.go_to_time(START + 10 * SECOND)
    assert stepper.moment is not None
    assert stepper.moment.entry.now_ns == START + 10 * SECOND
    assert next(log.entries(stepper.position)).now_ns == START + 20 * SECOND
    stepper.go_to_time(START + 10 * MINUTE - 1)
    assert stepper.moment.node_count == 2
    stepper.go_to_time(START + 10 * MINUTE)
    assert stepper.moment is not None
    assert stepper.moment.node_count == 3


def test_the_attempt_of_a_cycle_is_known(log):
    stepper = Stepper(log)
    for position in [index + 1 for index in log.cycles_of("default/batch")]:
        stepper.go_to(position)
        found = log.cycles_of("default/batch")
        assert stepper.attempt_of("default/batch") == found.index(position - 1) + 1


def test_a_configured_checkpoint_distance_does_not_depend_on_the_objects(tmp_path):
    def checkpoints(name: str, distance: int | None) -> tuple[int, ...]:
        run = record(str(tmp_path / name), checkpoint_events=distance)
        for number in range(100):
            run.handle(ObjectPut(make_node(f"n{number}")), number)
        run.log.close()
        return DecisionLog.open(tmp_path / name).checkpoints

    assert checkpoints("asked", 30) == (30, 60, 90)
    assert checkpoints("left", None) == ()


def test_an_event_that_evicts_a_pod_is_about_it(log):
    stepper = Stepper(log)
    found = []
    while stepper.next_about("default/web"):
        assert stepper.moment is not None
        found.append(stepper.moment.entry)
    (evicting,) = [each for each in found if each.pods == ("default/urgent",)]
    assert isinstance(evicting.event, CycleDue)
    stepper.go_to(evicting.index + 1)
    assert stepper.moment is not None
    assert "default/web" in {getattr(action, "pod", "") for action in stepper.moment.actions}
    # From the middle, the replies to earlier calls are found as well, and on the way back.
    indexes = [each.index for each in found]
    for index in reversed(indexes[:-1]):
        stepper.go_to(index + 1)
        assert stepper.next_about("default/web")
        assert stepper.position == indexes[indexes.index(index) + 1] + 1
    for index in indexes[:-1]:
        again = Stepper(log)
        again.go_to(index + 1)
        assert again.next_about("default/web")
        assert again.position == indexes[indexes.index(index) + 1] + 1


def test_a_replay_that_yields_events_is_at_the_next_one(log):
    run = Replay(log, until=0)
    for entry, index in run.processed():
        assert run.index == entry.index + 1 == index + 1
    assert run.index == len(log)
    whole = replay(log)
    assert run.machine.objects() == whole.objects()
