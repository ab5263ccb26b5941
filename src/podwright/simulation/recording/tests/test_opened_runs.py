"""Opened logs and run folders: what is refused, copied, followed and read again."""

from __future__ import annotations

import hashlib
import pickle
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
import pytest

from podwright._version import __version__
from podwright.apimachinery.objects import Pod, Service, decode_as, encode, with_fields
from podwright.apimachinery.schema import decode
from podwright.scheduler.config import KubeSchedulerConfiguration
from podwright.scheduler.framework import Plugin
from podwright.scheduler.machine import (
    CycleDue,
    ObjectDeleted,
    ObjectPut,
    UpdateClaim,
    UpdateVolume,
)
from podwright.simulation.files import STDIN_SOURCE
from podwright.simulation.recording.explanations.explain import Cycles, find_cycle
from podwright.simulation.recording.explanations.outcome import find_outcome
from podwright.simulation.recording.explanations.what_if import ImpossibleChange, WhatIf, what_if
from podwright.simulation.recording.folders import run_folder
from podwright.simulation.recording.folders.recorded_state import cluster_of, placed_objects
from podwright.simulation.recording.folders.run_contents import labels_of_nodes, timeline_of_run
from podwright.simulation.recording.folders.run_folder import RunFolder
from podwright.simulation.recording.folders.run_manifest import (
    FORMAT,
    InputFile,
    Manifest,
    RunError,
    check_inputs,
    check_same,
    read_manifest,
    sha256_of,
    sha256_of_file,
    sha256_of_lines,
)
from podwright.simulation.recording.log import record as recording
from podwright.simulation.recording.log.decision_log import DecisionLog
from podwright.simulation.recording.log.log_format import LogError, Setup, decode_actions
from podwright.simulation.recording.log.record import class_name
from podwright.simulation.recording.log.replay import Replay, replay
from podwright.simulation.recording.tests.recording import SECOND_NS, Recorded
from podwright.simulation.recording.timelines.columns import decode_chunks
from podwright.simulation.recording.timelines.feed import timeline_of_log
from podwright.simulation.recording.usage.utilization import NodeAmounts
from podwright.simulation.world.tests.quota import Quota
from podwright.testing import make_node, make_pod


def run_of(*names: str) -> Recorded:
    """Record pods of one CPU on a node with two, one after the other."""
    run = Recorded()
    run.put(make_node("n1", cpu="2", labels={"disk": "ssd"}))
    for name in names:
        run.attempt(make_pod(name, cpu="1"))
    return run


# ------------------------------------------------------------------------------ logs


def test_a_log_is_pickled_with_its_events_or_by_its_folder(tmp_path):
    log = run_of("a", "b", "c").run.log
    events = [entry.event for entry in log.entries()]
    again = pickle.loads(pickle.dumps(log))
    assert [entry.event for entry in again.entries()] == events
    assert repr(again) == repr(log) == f"<DecisionLog: {len(events)} events>"
    # The copy continues by itself.
    again.append(SECOND_NS, CycleDue(), [])
    assert (len(again), len(log)) == (len(events) + 1, len(events))
    log.save(tmp_path / "log")
    with DecisionLog.open(tmp_path / "log") as opened:
        by_folder = pickle.loads(pickle.dumps(opened))
        assert [entry.event for entry in by_folder.entries()] == events
        by_folder.close()


def test_a_log_is_followed_while_it_grows():
    log = DecisionLog.create(None, Setup(start_ns=7), block_events=2)
    rows = log.follow()
    assert next(rows) is None
    log.append(10, ObjectPut(make_pod("a")), [])
    log.append(11, CycleDue(), [])
    log.append(12, CycleDue(), [])
    assert [each and each.now_ns for each in islice(rows, 5)] == [10, 11, 12, None, None]
    log.append(13, CycleDue(), [])
    assert [each and each.index for each in islice(rows, 2)] == [3, None]
    assert [log.time_of(index) for index in range(4)] == [10, 11, 12, 13]
    assert log.first_ns == 10
    for index in (4, -1):
        with pytest.raises(IndexError, match=f"there is no event {index}; there are 4"):
            log.time_of(index)
    assert DecisionLog.create(None, Setup(start_ns=7)).first_ns == 7


def owned(kind: str, name: str) -> Any:
    metadata = {"name": name, "managedFields": [{"manager": "x"}], "uid": name}
    return decode({"apiVersion": "v1", "kind": kind, "metadata": metadata, "spec": {}})


@pytest.mark.parametrize("omits", [True, False])
def test_owners_of_fields_are_left_out_of_objects_and_actions(omits):
    log = DecisionLog.create(None, Setup())
    volume, claim = owned("PersistentVolume", "v"), owned("PersistentVolumeClaim", "c")
    if omits:
        log.omit_owners()
    actions: list[Any] = [UpdateVolume(1, volume), UpdateClaim(2, claim)]
    log.append(1, ObjectPut(volume), actions)
    log.append(2, ObjectPut(owned("PersistentVolume", "w")), [])
    entries: list[Any] = [*log.entries()]
    written: list[Any] = decode_actions(entries[0].actions)
    found = [entry.event.obj for entry in entries]
    found += [written[0].volume, written[1].claim]
    assert len(found) == 4
    kept = ["managedFields" in encode(each)["metadata"] for each in found]
    assert kept == [not omits] * 4
    assert [each.metadata.name for each in found] == ["v", "w", "v", "c"]
    # The objects that were given are as they were.
    assert "managedFields" in encode(volume)["metadata"]


class Other(Plugin):
    name = "Quota"

    def pre_enqueue(self, pod: object) -> Any:
        raise NotImplementedError


class Beside(Plugin):
    name = "Beside"

    def pre_enqueue(self, pod: object) -> Any:
        return None


def test_a_run_is_repeated_with_the_plugins_that_it_was_recorded_with():
    run = Recorded(Quota)
    run.attempt(make_node("n1"), make_pod("a"))
    log = run.run.log
    name = class_name(Quota)
    assert name.endswith(".quota:Quota")
    for given, text in (
        ((), f"give it plugins=[...] with Quota ({name})"),
        (
            (Other,),
            f"give it plugins=[...] with Quota ({name}); it was recorded without Quota"
            f" ({class_name(Other)})",
        ),
    ):
        with pytest.raises(LogError) as error:
            replay(log, plugins=given)
        assert str(error.value) == f"the run cannot be repeated with these plugins: {text}"
    with pytest.raises(LogError, match=r"these plugins: it was recorded without Quota \("):
        replay(run_of("a").run.log, plugins=(Quota,))
    assert len(replay(log, plugins=(Quota,)).cluster.pods) == 1
    beside = Recorded(Quota, Beside).run.log
    text = rf"these plugins: give it plugins=\[\.\.\.\] with Beside \({class_name(Beside)}\)$"
    with pytest.raises(LogError, match=text):
        replay(beside, plugins=(Quota,))


def test_a_log_of_other_plugins_at_a_point_is_refused(monkeypatch):
    log = run_of("a").run.log
    found = recording.fingerprints_of

    def other(machine: Any, before: Any) -> Any:
        return {
            name: points | {"score": "other", "filter": "other"}
            for name, points in found(machine, before).items()
        }

    monkeypatch.setattr(recording, "fingerprints_of", other)
    with pytest.raises(LogError) as error:
        replay(log)
    assert str(error.value) == (
        f"the run was recorded by podwright {__version__}, and this is {__version__}: profile"
        " default-scheduler has other plugins at filter, score, so it would not come out the same"
    )


# ------------------------------------------------------------------------------ what if


def test_what_a_change_makes_of_a_cycle_in_words():
    log = run_of("a", "b", "c").run.log
    found = what_if(log, "default/c", add_nodes=[make_node("n2", cpu="1")])
    assert repr(found) == "<WhatIf for default/c: no node, after the change n2>"
    assert not found.is_same
    shown = found._repr_html_()
    assert shown.index("As recorded") < shown.index("no node") < shown.index("After the change")
    same = WhatIf(found.before, found.before)
    assert same.is_same
    assert repr(same) == "<WhatIf for default/c: no node, after the change no node>"


def test_a_change_of_the_configuration_needs_plugins_without_state():
    run = Recorded(Quota)
    run.put(make_node("n1", cpu="64"))
    for name in "ab":
        run.attempt(make_pod(name))
    log, plugins = run.run.log, [Quota]
    with pytest.raises(ImpossibleChange) as error:
        what_if(log, "default/b", configuration=KubeSchedulerConfiguration(), plugins=plugins)
    assert str(error.value) == (
        "another configuration creates new plugins without the state that Quota had before the"
        " cycle; change weights, taints or nodes instead"
    )
    found = what_if(log, "default/b", weights={"ImageLocality": 3}, plugins=plugins)
    assert found.is_same
    assert found.after.decision.node == "n1"


def test_cycles_of_a_part_of_a_name_and_the_outcome_of_the_last():
    run = run_of("web-1", "db-1", "web-2")
    found = Cycles(run.run.log, "web")
    assert {"default/web-1", "default/web-2"} <= set(found.pods)
    assert find_outcome(find_cycle(run.run.log, "default/web-1")).node == "n1"


# ------------------------------------------------------------------------------ states


def test_pods_that_are_being_bound_are_placed():
    run = run_of("a")
    run.holds = {"Bind"}
    run.attempt(make_pod("b", cpu="1"))
    machine = run.run.machine
    # A service of the name of a pod that is being bound.
    service = decode_as({"metadata": {"name": "b", "namespace": "default"}}, Service)
    run.put(service)
    objects = placed_objects(machine)
    assert service in objects
    run.tell(ObjectDeleted(service))
    placed = {obj.key: obj.spec.node_name for obj in objects if isinstance(obj, Pod)}
    assert placed == {"default/a": "n1", "default/b": "n1"}
    cluster = cluster_of(machine, 5)
    assert cluster.now_ns == 5
    assert cluster.node_of == {"default/a": "n1", "default/b": "n1"}
    assert cluster.assumed == {"default/b"}
    assert sorted(obj.key for obj in cluster.objects) == ["default/a", "default/b", "n1"]
    assert labels_of_nodes(machine) == {"n1": {"disk": "ssd", "kubernetes.io/hostname": "n1"}}


def test_the_timeline_of_a_run_is_the_one_that_it_has_written(tmp_path):
    log = run_of("a", "b").run.log
    made = decode_chunks(timeline_of_run(tmp_path, log))
    expected = timeline_of_log(log)
    assert made.subjects == expected.subjects
    assert made.deltas.tolist() == expected.deltas.tolist()
    (tmp_path / "timeline").write_bytes(b"written")
    assert timeline_of_run(tmp_path, log) == b"written"


def test_a_replay_of_a_part_ends_before_the_event():
    log = run_of("a", "b").run.log
    run = Replay(log, until=3)
    run.run_to(3)
    # Event 2 was the cycle of `a`.
    assert (run.index, list(run.machine.cluster.pods)) == (3, ["default/a"])
    run.run_to(len(log))
    assert sorted(run.machine.cluster.pods) == ["default/a", "default/b"]
    assert run.peek() is None
    assert run.step() is None


# ------------------------------------------------------------------------------ manifests


def test_the_hash_of_lines_is_that_of_the_file(tmp_path):
    for lines in ([], [b"a"], [b"a", b"", b"b"]):
        content = b"\n".join(lines)
        path = tmp_path / "f"
        path.write_bytes(content)
        expected = hashlib.sha256(content).hexdigest()
        assert sha256_of(content) == sha256_of_lines(iter(lines)) == expected
        assert sha256_of_file(path) == expected


MANIFEST = Manifest(
    seed=3,
    start_ns=5,
    inputs=(InputFile("objects", "a.yaml", "1"), InputFile("events", "b.jsonl", "2")),
    configuration={"profiles": []},
    gates={"A": True},
    options={"until": "1h", "x": 1},
)


@pytest.mark.parametrize(
    ("changes", "differences"),
    [
        ({}, ""),
        ({"status": "finished", "warnings": ("w",)}, ""),
        ({"seed": 4}, "seed was 3 and is 4"),
        (
            {"start_ns": 6, "until_ns": 9, "podwright": "0"},
            f'podwright was "{__version__}" and is "0"; startNs was 5 and is 6; untilNs was null'
            " and is 9",
        ),
        ({"gates": {}}, 'gates was {"A":true} and is {}'),
        ({"configuration": {}}, 'configuration was {"profiles":[]} and is {}'),
        (
            {"options": {"until": "2h", "y": 2}},
            'until was "1h" and is "2h"; x was 1 and is null; y was null and is 2',
        ),
        # What was read from a changed file is not reported as well.
        (
            {
                "inputs": (InputFile("objects", "a.yaml", "9"), InputFile("plugin", "c.py", "3")),
                "configuration": {},
            },
            "a.yaml has changed; c.py is new; b.jsonl is missing",
        ),
        (
            {"inputs": (InputFile("events", "a.yaml", "1"), InputFile("events", "b.jsonl", "2"))},
            "a.yaml is new; a.yaml is missing",
        ),
    ],
)
def test_a_run_with_other_inputs_or_options_is_named(changes, differences):
    expected = msgspec.structs.replace(MANIFEST, **changes)
    if not differences:
        check_same(Path("run"), MANIFEST, expected)
        return
    with pytest.raises(RunError) as error:
        check_same(Path("run"), MANIFEST, expected)
    assert str(error.value) == (
        f"run cannot be resumed, because the inputs or options differ: {differences}. It was left"
        " as it is"
    )


def test_input_files_that_changed_since_are_named(tmp_path):
    same, changed = tmp_path / "same", tmp_path / "changed"
    for path in (same, changed):
        path.write_bytes(path.name.encode())
    inputs = [InputFile("objects", STDIN_SOURCE, "0")]
    inputs += [InputFile("objects", str(path), sha256_of(b"same")) for path in (same, changed)]
    inputs.append(InputFile("events", str(tmp_path / "gone"), "0"))
    manifest = msgspec.structs.replace(MANIFEST, inputs=tuple(inputs))
    with pytest.raises(RunError) as error:
        check_inputs(tmp_path, manifest)
    assert str(error.value) == (
        f"{tmp_path} cannot be resumed, because the inputs or options differ: {changed} has"
        f" changed; {tmp_path / 'gone'} cannot be read: No such file or directory. It was left as"
        " it is"
    )
    check_inputs(tmp_path, msgspec.structs.replace(MANIFEST, inputs=tuple(inputs[:2])))


def test_a_manifest_of_another_format_says_what_to_do():
    data = msgspec.json.encode(MANIFEST)
    file = Path("run/manifest.json")
    assert read_manifest(data, file) == MANIFEST
    document = msgspec.json.decode(data)
    for found, remedy in ((FORMAT + 1, "use that version"), (1, "run it again in another folder")):
        other = msgspec.json.encode(document | {"format": found, "podwright": "9.9"})
        with pytest.raises(RunError) as error:
            read_manifest(other, file)
        assert str(error.value) == (
            f"run is in format {found}, written by podwright 9.9; podwright {__version__} reads"
            f" format {FORMAT}: {remedy}. It was left as it is"
        )
    for wrong in (b"{", b"[]", b"\xff", b'{"format": 6}'):
        with pytest.raises(RunError, match=r"^run/manifest.json cannot be read: .*; it was left"):
            read_manifest(wrong, file)


@pytest.mark.parametrize("reason", [(28, "No space left on device"), ("without a number",)])
def test_a_folder_that_cannot_be_written_has_the_reason(tmp_path, monkeypatch, reason):
    folder = RunFolder.create(tmp_path / "run", MANIFEST)
    folder.release()
    opened = RunFolder.open(tmp_path / "run")

    def full(*_args: Any, **_options: Any) -> Any:
        raise OSError(*reason)

    monkeypatch.setattr(RunFolder, "_write_manifest", full)
    with pytest.raises(RunError, match=f"cannot be written: {reason[-1]}$"):
        opened.resume(MANIFEST)
    assert not (tmp_path / "run/.lock").exists()
    # The lock is free again.
    monkeypatch.undo()
    again = RunFolder.open(tmp_path / "run")
    assert again.resume(MANIFEST) is None
    again.release()
    monkeypatch.setattr(run_folder, "make_private_folder", full)
    with pytest.raises(RunError, match=f"{tmp_path / 'other'}.*{reason[-1]}"):
        RunFolder.create(tmp_path / "other", MANIFEST)


def test_a_pod_that_differs_from_the_last_in_its_metadata_only_is_the_same_when_read():
    log = DecisionLog.create(None, Setup())
    one = make_pod("a", cpu="1", labels={"x": "1"})
    two = with_fields(one, "metadata", labels={"x": "2"})
    for number, pod in enumerate((one, two, one, two)):
        log.append(number, ObjectPut(pod), [])
    assert [entry.event for entry in log.entries()] == [*map(ObjectPut, (one, two, one, two))]


def test_a_folder_without_a_manifest_is_no_run(tmp_path):
    with pytest.raises(RunError) as error:
        RunFolder.open(tmp_path)
    file = tmp_path / "manifest.json"
    assert str(error.value) == f"{tmp_path} is not a run folder: {file}: No such file or directory"


def test_amounts_of_no_nodes_are_empty():
    amounts = NodeAmounts()
    assert dict(amounts.columns) == {}
    assert [each.shape for each in (amounts.allocatable, amounts.requested)] == [(0, 0)] * 2
    sums = (amounts.allocatable_sums, amounts.requested_sums)
    assert [each.tolist() for each in sums] == [[], []]
