"""What recordings do in states that are rare: half done, damaged, or with parts left out."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from podwright.apimachinery.objects import (
    ArgumentError,
    Condition,
    Duration,
    KubernetesObject,
    Object,
    PodGroup,
    decode_as,
    encode,
    with_nominated_node_name,
)
from podwright.apimachinery.schema import decode
from podwright.scheduler.advice.remedies import Remedy
from podwright.scheduler.assembly import Scheduler
from podwright.scheduler.config import ExtenderReply, Gates, read_configuration
from podwright.scheduler.framework import Cycle, Plugin, Status
from podwright.scheduler.machine import (
    CallExtender,
    CycleDue,
    ExtenderReplied,
    ObjectDeleted,
    ObjectPut,
    PatchPodStatus,
    SchedulerOptions,
)
from podwright.scheduler.queueing import QueueName
from podwright.simulation.recording import RemedyRequests, remedy_changes
from podwright.simulation.recording.explanations import explain
from podwright.simulation.recording.explanations.attempts import _OpenAttempt
from podwright.simulation.recording.explanations.explain import (
    Cycles,
    UnknownCycle,
    _suspended_start,
    explain_cycles,
    find_cycle,
)
from podwright.simulation.recording.explanations.outcome import (
    OutcomeKind,
    find_outcome,
    gated_pods,
    main_reason,
)
from podwright.simulation.recording.explanations.present import present_view
from podwright.simulation.recording.explanations.remedy_changes import _patch_options
from podwright.simulation.recording.explanations.replicas import owner_text
from podwright.simulation.recording.folders.recorded_state import cluster_at, queue_at
from podwright.simulation.recording.folders.run_folder import RunFolder
from podwright.simulation.recording.folders.run_manifest import Manifest
from podwright.simulation.recording.log.log_format import (
    EVENTS,
    EventBlock,
    FrameHead,
    LogError,
    Outcome,
    decode_payload,
)
from podwright.simulation.recording.log.log_objects import ObjectWriter
from podwright.simulation.recording.log.log_reading import outcomes_of
from podwright.simulation.recording.log.record import record
from podwright.simulation.recording.log.replay import _named, replay
from podwright.simulation.recording.tests.recording import (
    KIND,
    SECOND_NS,
    Recorded,
    named_state,
)
from podwright.simulation.recording.timelines.columns import _HEAD, _MAGIC, decode_chunks
from podwright.simulation.recording.timelines.feed import TimelineFeed, timeline_of_log
from podwright.simulation.recording.usage import fragmentation_meter
from podwright.simulation.recording.usage.fragmentation_meter import TypicalPods
from podwright.testing import make_node, make_pod

EXTENDER = {"urlPrefix": "http://127.0.0.1:9", "filterVerb": "filter", "nodeCacheCapable": True}
CLAIM = {"name": "p", "namespace": "default"}


# ------------------------------------------------------------------------------ logs


def test_while_a_cycle_waits_for_an_extender_its_machine_is_not_saved():
    run = Recorded(extenders=[EXTENDER])
    run.holds = {"CallExtender"}
    run.attempt(make_node("n1"), make_pod("p"))
    log, machine = run.run.log, run.run.machine
    assert [type(each) for each in run.held] == [CallExtender]
    assert not machine.can_snapshot
    assert log.memory_checkpoint(machine) is None
    before = len(log)
    assert not log.checkpoint(machine)
    assert log.checkpoints == ()
    # It is tried again 64 events later.
    for number in range(64):
        assert not log.is_checkpoint_due, number
        run.put(make_node("n1", labels={"a": str(number)}))
    assert log.is_checkpoint_due
    assert len(log) == before + 64


def test_events_wait_until_a_block_is_full_or_a_checkpoint_is_due():
    made = record(None, checkpoint_events=5)
    log, machine = made.log, made.machine
    assert log.catch_up(machine) == 5
    for number in range(3):
        made.handle(ObjectPut(make_node(f"n{number}")), 0)
    log.flush()
    assert log.catch_up(machine) == 2
    log.block_events = 1
    assert log.catch_up(machine) == 1


def test_a_copy_goes_on_with_the_numbers_of_its_objects():
    run = Recorded()
    run.attempt(make_node("n1", cpu="4"), make_pod("p", cpu="1"))
    log = run.run.log
    copy = log.copy()
    assert copy.catch_up(run.run.machine) == log.catch_up(run.run.machine)
    copy.append(run.now_ns, ObjectPut(make_node("n2")), [])
    copy.append(run.now_ns, ObjectPut(make_node("n1", cpu="8")), [])
    events = [entry.event for entry in copy.entries()]
    assert events[: len(log)] == [entry.event for entry in log.entries()]
    added = [event.obj for event in events[len(log) :] if isinstance(event, ObjectPut)]
    assert added == [make_node("n2"), make_node("n1", cpu="8")]
    assert len(copy) == len(log) + 2


def test_what_is_said_about_a_pod_is_read_from_the_block_of_an_event_on():
    run = Recorded()
    log = run.run.log
    starts = []
    for _ in range(3):
        log.flush()
        starts.append(len(log))
        run.attempt(make_pod("p", cpu="1"))
        run.remove(make_pod("p"))
    every = [each.index for each in outcomes_of(log, "default/p", 0)]
    assert [any(start <= index for index in every) for start in starts] == [True] * 3
    for start in starts:
        found = [each.index for each in outcomes_of(log, "default/p", start)]
        assert found == [index for index in every if index >= start]


def test_a_recorder_shows_how_many_events_it_has():
    run = Recorded()
    run.put(make_node("n1"), make_node("n2"))
    assert repr(run.run) == "<Recorder: 2 events>"


def test_a_recorded_run_names_the_plugins_of_each_profile():
    less = {"plugins": {"multiPoint": {"disabled": [{"name": "ImageLocality"}]}}}
    profiles = [{"schedulerName": "default-scheduler"}, {"schedulerName": "less", **less}]
    found = Recorded(profiles=profiles).run.log.header.fingerprints
    assert list(found) == ["default-scheduler", "less"]
    scores = [set(found[name]["score"]) for name in found]
    assert len(scores[0]) == len(scores[1]) + 1


def test_a_replay_ends_at_an_event_or_at_a_time():
    run = Recorded()
    run.attempt(make_node("n1"), make_pod("p"))
    with pytest.raises(ArgumentError) as error:
        replay(run.run.log, until=1, at="1s")
    assert str(error.value) == "until and at: specify one of them, not both"


def test_events_without_objects_are_shown_as_they_are():
    assert _named(ObjectPut(make_pod("p"))) == "ObjectPut Pod default/p"
    assert _named(CycleDue()) == str(CycleDue())


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        pytest.param(b"no stream", "incorrect header check", id="not compressed"),
        pytest.param(zlib.compress(b"\xff"), "", id="not encoded"),
    ],
)
def test_a_block_with_a_right_checksum_and_a_wrong_content_is_named(content, reason):
    head = FrameHead(
        kind=EVENTS,
        first=7,
        count=1,
        length=len(content),
        checksum=zlib.crc32(content),
        first_ns=0,
        last_ns=0,
    )
    with pytest.raises(LogError) as error:
        decode_payload(content, head, EventBlock, source="the log")
    text = str(error.value)
    assert text.startswith("the log: the block of event 7 cannot be read: ")
    assert reason in text
    assert text.endswith("; it was left as it is")


def test_an_object_that_was_never_written_is_not_forgotten():
    writer = ObjectWriter()
    pod = make_pod("p")
    number = writer.of(pod)
    writer.forget(make_pod("q"))
    assert (len(writer), writer.numbers) == (1, {id(pod): number})
    writer.forget(pod)
    assert (len(writer), writer.numbers) == (0, {})


def test_the_queue_and_the_cluster_at_a_time_have_what_happened_until_then():
    run = Recorded()
    run.attempt(make_node("n1", cpu="1"), make_pod("a", cpu="1"))
    run.attempt(make_pod("b", cpu="1"))
    log = run.run.log
    before, after = (queue_at(log, f"{seconds}s") for seconds in (1, 2))
    assert [after.now_ns - log.start_ns, before.now_ns - log.start_ns] == [
        2 * SECOND_NS,
        SECOND_NS,
    ]
    # It came after the first cycle, at the same time.
    assert [pod.pod for pod in before.places["active"]] == ["default/b"]
    assert [pod.pod for pod in after.places["unschedulable"]] == ["default/b"]
    assert dict(cluster_at(log, "2s").node_of) == {"default/a": "n1"}
    assert dict(cluster_at(log, "0s").node_of) == {}


# ------------------------------------------------------------------------------ folders


def test_the_folder_of_a_run_has_the_path_of_its_log(tmp_path: Path):
    folder = RunFolder.create(str(tmp_path / "run"), Manifest(seed=1, start_ns=0))
    folder.release()
    assert folder.log_path == str(tmp_path / "run" / "log")
    # It has no input files that could have changed.
    folder.check_files()


# ------------------------------------------------------------------------------ explanations


def scheduler_of(*objects: Object) -> Scheduler:
    made = Scheduler(SchedulerOptions())
    made.add(*objects)
    return made


def test_a_pod_that_fits_has_neither_remedies_nor_requests():
    scheduler = scheduler_of(make_node("n1", cpu="1"), make_pod("p", cpu="1"))
    explanation = scheduler.explain("default/p")
    view = present_view(scheduler, explanation, present=lambda *_: None)
    assert view.requests == ()
    assert present_view(scheduler, explanation).requests is None


def test_the_reason_of_a_cycle_that_found_a_node_is_its_message():
    scheduler = scheduler_of(make_node("n1", cpu="1"), make_pod("p", cpu="1"))
    decision = scheduler.explain("default/p").decision
    assert decision.diagnosis is None
    assert main_reason(decision) == decision.message
    failed = msgspec.structs.replace(decision, error=ValueError("x"))
    assert main_reason(failed) == "SchedulerError"


def owned(**reference: Any) -> KubernetesObject:
    document = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "p",
            "namespace": "shop",
            "ownerReferences": [{"apiVersion": "x/v1", "uid": "u", **reference}],
        },
        "spec": {"containers": [{"name": "a", "image": "x"}]},
    }
    return decode(document)


def test_the_owner_of_a_pod_is_named_if_it_does_not_control_it():
    assert owner_text(owned(kind="Job", name="j", controller=True)) == "Job shop/j"
    assert owner_text(owned(kind="Thing", name="t")) == "Thing shop/t"


def test_an_unknown_cycle_is_an_error():
    run = Recorded()
    run.attempt(make_node("n1"), make_pod("p"))
    with pytest.raises(UnknownCycle):
        find_cycle(run.run.log, "default/q")


def test_a_suspended_cycle_has_a_start_only_for_the_pod_that_it_placed():
    run = Recorded(extenders=[EXTENDER])
    run.call_extender = lambda _: ExtenderReply(status=200, body=b'{"NodeNames":["n1"]}')
    run.attempt(make_node("n1"), make_pod("p"))
    log = run.run.log
    (end, pod), *_ = log.cycles()
    start = _suspended_start(log, pod, end, ())
    assert isinstance(start.entry.event, CycleDue)
    assert [type(entry.event) for entry in start.replies] == [CycleDue, ExtenderReplied]
    with pytest.raises(UnknownCycle) as error:
        _suspended_start(log, "default/q", end, ())
    assert str(error.value) == f"the cycle that ended with event {end} started before the log"


def test_the_progress_of_explanations_counts_those_that_were_used(monkeypatch):
    run = Recorded()
    run.put(make_node("n1", cpu="4"))
    for name in ("a", "b"):
        run.attempt(make_pod(name, cpu="1"))
    calls: list[Any] = []

    @contextmanager
    def metered(*given: Any, **keywords: Any) -> Iterator[Any]:
        calls.append((given, keywords))
        yield SimpleNamespace(advance=calls.append)

    monkeypatch.setattr(explain, "metered", metered)
    log = run.run.log
    for _, explanation in explain_cycles(log, log.cycles(), is_shown=False):
        calls.append(explanation.decision.pod.key)
    assert calls == [(("explaining", 2), {"is_shown": False}), "default/a", 1, "default/b", 2]


class Waiting(Plugin):
    """Asks pods to wait, which each do that are not named after it."""

    name = "Waiting"

    def permit(self, cycle: Cycle, node_name: str) -> Status | tuple[Status, Duration]:
        return Status.OK if cycle.pod.name == "quick" else (Status.wait("later"), "1h")


def test_the_binding_of_another_pod_is_not_that_of_one_that_waits():
    profile = {"plugins": {"permit": {"enabled": [{"name": "Waiting"}]}}}
    run = Recorded(Waiting, profiles=[profile])
    run.holds = {"Bind"}
    run.put(make_node("n1", cpu="4"))
    run.attempt(make_pod("quick", cpu="1"))
    run.attempt(make_pod("slow", cpu="1"))
    (bind,) = run.held
    assert bind.call == 1
    run.answer(bind)
    past = find_cycle(run.run.log, "default/slow", plugins=[Waiting])
    found = find_outcome(past)
    assert (found.kind, found.node) == (OutcomeKind.BINDING, "n1")


def test_a_pod_of_a_group_that_waits_has_its_own_node():
    profile = {"plugins": {"permit": {"enabled": [{"name": "Waiting"}]}}}
    configuration = read_configuration(KIND | {"profiles": [profile]}, source="c")
    gates = Gates({"GenericWorkload": True, "GangScheduling": True})
    run = Recorded()
    run.run = record(None, configuration, plugins=[Waiting], gates=gates)
    group = {"metadata": CLAIM, "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}}}
    run.put(decode_as(group, PodGroup), make_node("n1", cpu="1"), make_node("n2", cpu="1"))
    member = {"schedulingGroup": {"podGroupName": "p"}}
    run.attempt(make_pod("first", cpu="2"))
    run.put(make_pod("quick", cpu="1", spec=member), make_pod("slow", cpu="1", spec=member))
    run.cycle()
    nodes = {each.pod.name: each.node for each in run.run.machine.last_decisions}
    assert sorted(nodes.values()) == ["n1", "n2"]
    cycles = Cycles(run.run.log)
    assert [len(cycles.of(pod)) for pod in cycles.pods] == [1, 1, 1]
    assert len(cycles.ends) == 2, "the cycle of the group is one for both"
    for name, node in nodes.items():
        past = find_cycle(run.run.log, f"default/{name}", plugins=[Waiting])
        assert find_outcome(past).node == node


class Refusing(Plugin):
    name = "Refusing"

    def permit(self, cycle: Cycle, node_name: str) -> Status:
        return Status.unschedulable(f"not on {node_name}")


def test_an_attempt_that_fails_after_a_node_was_chosen_has_its_node_and_reason():
    profile = {"plugins": {"permit": {"enabled": [{"name": "Refusing"}]}}}
    run = Recorded(Refusing, profiles=[profile])
    run.attempt(make_node("n1", cpu="4"), make_pod("p", cpu="1"))
    found = find_outcome(find_cycle(run.run.log, "default/p", plugins=[Refusing]))
    assert (found.kind, found.node) == (OutcomeKind.QUEUED, "n1")
    assert found.error == "not on n1"


def test_a_preemptor_whose_victims_are_being_deleted_is_not_gated():
    run = Recorded()
    run.holds = {"DeletePod"}
    run.put(make_node("n1", cpu="1"), make_pod("low", cpu="1", node="n1"))
    run.attempt(make_pod("high", cpu="1", priority=10))
    assert [each.pod for each in run.held] == ["default/low"]
    run.put(make_pod("gate", gates=["x/y"]), make_node("n2", cpu="1"))
    machine = run.run.machine
    held = [queued.key for queued in machine.queue.pods_in(QueueName.GATED)]
    assert sorted(held) == ["default/gate", "default/high"]
    assert gated_pods(machine) == {}


def test_a_nomination_alone_leaves_the_reason_of_an_attempt():
    end = Outcome(index=3, now_ns=0, call=None, actions=[])
    attempt = _OpenAttempt("default/p", 1, end, "Unschedulable")
    attempt.read(PatchPodStatus(1, "default/p", "u", nominated_node="n1"))
    assert (attempt.reason, attempt.attempt().nominated_node) == ("Unschedulable", "n1")
    attempt.read(PatchPodStatus(1, "default/p", "u", condition=Condition(type="t", reason="r")))
    assert (attempt.reason, attempt.attempt().nominated_node) == ("r", "n1")


def test_objects_of_other_kinds_are_patched_by_a_merge():
    thing = decode({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "t"}})
    options = _patch_options(thing, {"spec": {"a": 1}})
    assert options == """--type=merge -p '{"spec":{"a":1}}'"""
    node = make_node("n1")
    assert _patch_options(node, {"spec": {"unschedulable": True}}) == (
        """-p '{"spec":{"unschedulable":true}}'"""
    )


def test_a_remedy_without_changes_needs_no_requests():
    pod = make_pod("p")
    remedy = Remedy(text="", edits=(), node="n1", node_count=1, pod=pod)
    assert remedy_changes(remedy, lambda *_: pod) == RemedyRequests([])
    gone = RemedyRequests(None, "pod default/p does not exist")
    assert remedy_changes(remedy, lambda *_: None) == gone


def test_other_objects_of_a_remedy_are_created_or_patched_before_the_pod():
    pod, node = make_pod("p"), make_node("n1")
    cordoned, added = make_node("n1", unschedulable=True), make_node("n2")
    remedy = Remedy(
        text="", edits=(), node="n1", node_count=1, pod=pod, put=(cordoned, added), drop=(node,)
    )
    present = {"p": pod, "n1": node}
    found = remedy_changes(remedy, lambda _, key: present.get(key.rpartition("/")[2]))
    assert found.changes is not None, found.note
    assert [(each.action, each.name) for each in found.changes] == [
        ("patch", "n1"),
        ("create", "n2"),
        ("delete", "n1"),
    ]
    body = found.changes[1].body
    assert isinstance(body, dict)
    assert set(body) == {"apiVersion", "kind", "metadata", "spec", "status"}
    assert body["metadata"] == encode(added)["metadata"]
    assert body["status"] == encode(added)["status"]


# ------------------------------------------------------------------------------ timelines


def test_a_chunk_without_a_header_is_named():
    with pytest.raises(LogError, match=r"^byte 16: the header is not valid: "):
        decode_chunks(_HEAD.pack(_MAGIC, 0, 0))
    with pytest.raises(LogError, match=r"^byte 0: the timeline ends within a chunk$"):
        decode_chunks(_HEAD.pack(_MAGIC, 0, 0)[:-1])


def test_the_timeline_of_a_machine_without_events_has_no_rows():
    run = Recorded()
    run.put(make_node("n1", cpu="4"), make_pod("p", node="n1"))
    timeline = TimelineFeed(run.run.machine).timeline()
    assert (timeline.state_at(run.now_ns), timeline.first_ns) == ({}, 0)


def test_a_timeline_that_begins_with_a_nomination_has_it():
    run = Recorded()
    nominated = with_nominated_node_name(make_pod("high"), "n1")
    run.put(make_node("n1", cpu="1"), nominated)
    machine = run.run.machine
    assert machine.cluster.nominations.version == 1
    feed = TimelineFeed(machine)
    feed.advance(run.now_ns)
    state = named_state(feed.timeline(), run.now_ns)
    assert state[("pod", "default/high"), "nominatedTo"] == ("node", "n1")


def test_the_deletion_of_another_kind_leaves_the_pod_of_that_name():
    run = Recorded()
    claim = decode({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": CLAIM})
    run.put(claim, make_pod("p"))
    before = named_state(timeline_of_log(run.run.log), run.now_ns)
    run.now_ns += SECOND_NS
    run.tell(ObjectDeleted(claim))
    assert named_state(timeline_of_log(run.run.log), run.now_ns) == before
    assert before[("pod", "default/p"), "phase"] == 1


# ------------------------------------------------------------------------------ usage


def test_the_shapes_of_pods_are_counted_beyond_those_that_are_kept(monkeypatch):
    monkeypatch.setattr(fragmentation_meter, "_CACHED_SPECS", 2)
    typical = TypicalPods()
    for cpu in ("1", "2", "3", "1", "2"):
        typical.add(make_pod(f"p{cpu}", cpu=cpu))
        assert len(typical._shape_of) <= 2
    counts = {dict(shape)["cpu"]: count for shape, count in typical._counts.items()}
    assert counts == {1000: 2, 2000: 2, 3000: 1}
