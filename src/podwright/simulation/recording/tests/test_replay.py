"""Going on with a recorded run: what it refuses, and that a full disk loses nothing."""

from __future__ import annotations

import errno
import os
from types import SimpleNamespace
from typing import Any

import pytest

from podwright.apimachinery.objects import Pod, with_node_name
from podwright.scheduler.assembly import machine_of
from podwright.scheduler.config import KubeSchedulerConfiguration, read_configuration
from podwright.scheduler.framework import Cycle, NodeView, Plugin, Status
from podwright.scheduler.machine import Action, Bind, CallDone, CycleDue, ObjectPut
from podwright.simulation.recording.folders.recorded_state import resume
from podwright.simulation.recording.log.decision_log import DecisionLog
from podwright.simulation.recording.log.log_format import LogError
from podwright.simulation.recording.log.record import Recorder, options_of, record
from podwright.simulation.recording.log.replay import Replay, _story, replay, verify, verify_replay
from podwright.simulation.recording.tests.recording import KIND, Recorded
from podwright.testing import make_node, make_pod


def put_pods(recorder: Recorder, first: int, end: int) -> list[Action]:
    returned: list[Action] = []
    for number in range(first, end):
        pod = make_pod(f"p{number}", cpu="1m")
        recorder.handle(ObjectPut(pod), number)
        actions = recorder.handle(CycleDue(), number)
        returned += actions
        for action in actions:
            if isinstance(action, Bind):
                recorder.handle(ObjectPut(with_node_name(pod, action.node)), number)
                recorder.handle(CallDone(action.call), number)
    return returned


def begin(folder: str) -> Recorder:
    recorder = record(folder)
    recorder.handle(ObjectPut(make_node("n1", cpu="8")), 0)
    put_pods(recorder, 0, 5)
    recorder.log.flush()
    return recorder


def test_a_resumed_run_uses_the_objects_of_the_log(tmp_path):
    begin(str(tmp_path)).log.close()
    again = resume(str(tmp_path))
    known = list(again.log.objects().values())
    for obj in again.machine.objects():
        assert any(obj is other for other in known), obj
    put_pods(again, 5, 9)
    again.log.close()
    with DecisionLog.open(tmp_path) as log:
        assert verify(log).is_same
        assert len(log) == 1 + 4 * 9


class Counting(Plugin):
    """Has state that no checkpoint has, so its runs are resumed from their first event."""

    name = "Counting"

    def __init__(self) -> None:
        self.seen = 0

    def filter(self, cycle: Cycle, node: NodeView) -> Status:
        self.seen += 1
        return Status.OK


def counting() -> KubeSchedulerConfiguration:
    profile = {"plugins": {"filter": {"enabled": [{"name": "Counting"}]}}}
    return read_configuration(KIND | {"profiles": [profile]}, source="c")


def test_a_run_resumed_from_its_begin_uses_the_objects_of_the_log_beyond_its_checkpoints(tmp_path):
    recorder = record(str(tmp_path), counting(), plugins=[Counting], checkpoint_events=1)
    recorder.handle(ObjectPut(make_node("n1", cpu="8")), 0)
    put_pods(recorder, 0, 5)
    assert recorder.log.checkpoints
    recorder.log.close()
    again = resume(str(tmp_path), plugins=[Counting])
    known = list(again.log.objects().values())
    for obj in again.machine.objects():
        assert any(obj is other for other in known), obj
    again.log.close()


def test_a_resumed_run_has_the_metrics_of_an_uninterrupted_run(tmp_path):
    whole = record(None, checkpoint_events=5)
    broken = record(str(tmp_path), checkpoint_events=5)
    for recorder in (whole, broken):
        recorder.handle(ObjectPut(make_node("n1", cpu="8m")), 0)
        put_pods(recorder, 0, 6)
    broken.log.close()
    again = resume(str(tmp_path))
    assert again.log.checkpoints[0] > 0
    for recorder in (whole, again):
        # Some of them find no room.
        put_pods(recorder, 6, 12)
    again.log.close()
    assert again.machine.metrics_snapshot() == whole.machine.metrics_snapshot()
    assert len(DecisionLog.open(tmp_path)) == len(whole.log)


def test_a_run_whose_replay_differs_is_not_resumed(tmp_path):
    recorder = begin(str(tmp_path))
    recorder.log.append(9, CycleDue(), [Bind(77, "default/p0", "u", "n1")])
    recorder.log.close()
    (segment,) = tmp_path.iterdir()
    data = segment.read_bytes()
    for _ in range(2):
        with pytest.raises(LogError, match="differ from the recorded ones; it was left as"):
            resume(str(tmp_path))
    assert segment.read_bytes() == data
    resume(str(tmp_path), until=21).log.close()


def test_a_run_of_own_plugins_whose_replay_differs_is_described_as_others(tmp_path):
    recorder = record(str(tmp_path), counting(), plugins=[Counting])
    recorder.log.append(9, CycleDue(), [Bind(77, "default/p0", "u", "n1")])
    recorder.log.close()
    with pytest.raises(LogError, match="differ from the recorded ones; it was left as"):
        resume(str(tmp_path), plugins=[Counting])


def test_a_run_that_is_being_recorded_is_not_resumed(tmp_path):
    recorder = begin(str(tmp_path))
    with pytest.raises(LogError, match="is locked: another process is writing to it"):
        resume(str(tmp_path))
    recorder.log.close()


class Full:
    """A file on a full disk."""

    def __init__(self, file):
        self.file = file

    def write(self, data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def __getattr__(self, name):
        return getattr(self.file, name)


def test_an_event_that_cannot_be_written_is_not_recorded(tmp_path):
    log = DecisionLog.create(tmp_path / "full", block_events=4)
    recorder = Recorder(machine_of(options_of(log.setup)), log)
    recorder.handle(ObjectPut(make_node("n1", cpu="8")), 0)
    medium: Any = log._medium
    file = medium._file
    medium._file = Full(file)
    pods: list[Pod] = [make_pod(f"p{number}") for number in range(6)]
    for pod in pods[:3]:
        recorder.handle(ObjectPut(pod), 1)
    for _ in range(2):
        with pytest.raises(LogError, match="cannot be written: No space left on device"):
            recorder.handle(ObjectPut(pods[3]), 1)
        assert recorder.machine.pod("default/p3") is None
        assert len(log) == 4
    medium._file = file
    for pod in pods[3:]:
        recorder.handle(ObjectPut(pod), 1)
    log.close()
    with DecisionLog.open(tmp_path / "full") as whole:
        assert verify(whole).is_same
        assert len(whole) == 7


class Alternating(Plugin):
    """Rejects every second pod that it sees, in any run: no log has its state."""

    name = "Alternating"
    seen = 0

    def filter(self, cycle: Cycle, node: NodeView) -> Status:
        Alternating.seen += 1
        return Status.unschedulable("even") if Alternating.seen % 2 else Status.OK


def test_a_verification_shows_where_a_plugin_differs_and_a_replay_ends_there():
    profile = {"plugins": {"filter": {"enabled": [{"name": "Alternating"}]}}}
    run = Recorded(Alternating, profiles=[profile])
    run.put(make_node("n1", cpu="4"))
    run.attempt(make_pod("p", cpu="1"))
    log = run.run.log
    found = verify(log, plugins=[Alternating])
    assert found.difference is not None
    assert found.event_count == found.difference.index == 2
    assert [type(each).__name__ for each in found.difference.recorded] == [
        "EmitEvent", "PatchPodStatus"
    ]  # fmt: skip
    assert "Bind" in [type(each).__name__ for each in found.difference.repeated]
    Alternating.seen = 1
    with pytest.raises(LogError, match=r"the actions of event 2 differ .*\(Alternating\) depends"):
        replay(log, plugins=[Alternating])


def test_the_progress_of_a_verification_is_counted_from_its_start():
    class Counted:
        def __init__(self) -> None:
            self.done: list[int] = []

        def advance(self, count: int) -> None:
            self.done.append(count)

    run = Recorded()
    run.run = record(None, checkpoint_events=1 << 40)
    run.attempt(make_node("n1", cpu="2"), make_pod("a", cpu="1"))
    assert run.run.log.checkpoint(run.run.machine, is_whole=True)
    run.attempt(make_pod("b", cpu="1"))
    log = run.run.log
    meter = Counted()
    replayed = Replay(log, until=len(log), is_checked=False)
    begin = replayed.index
    assert begin > 0
    found = verify_replay(replayed, meter)  # type: ignore[arg-type]
    assert meter.done == [*range(1, len(log) - begin + 1)]
    assert (found.event_count, found.difference) == (len(log) - begin, None)


def test_the_story_of_a_difference_is_that_of_the_first_pod_of_its_actions():
    steps = [SimpleNamespace(now_ns=number, step="cycle", cause="") for number in range(9)]
    machine: Any = SimpleNamespace(story=lambda name: steps if name == "d/p" else [])
    actions: Any = [SimpleNamespace(), SimpleNamespace(pod="d/p"), SimpleNamespace(pod="d/q")]
    shown = _story(machine, actions)
    assert shown[-1] == "8 ns d/p: cycle"
    assert len(shown) <= len(steps)
    assert _story(machine, actions[:1]) == ()
