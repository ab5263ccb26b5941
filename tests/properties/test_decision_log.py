"""Laws of the decision log: a replay from any point equals the recorded run."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, note, strategies as st
from tests.properties.effort import effort
from tests.properties.machine_variants import START_NS, Gate, Slow, Variant
from tests.properties.test_machine import HISTORIES, Surroundings, step

from podwright.apimachinery.objects import (
    Node,
    Pod,
    decode_pod,
    timestamp_text_nano,
    with_node_name,
)
from podwright.apimachinery.schema import decode
from podwright.scheduler.assembly import machine_of
from podwright.scheduler.config import read_configuration
from podwright.scheduler.framework import Plugin
from podwright.scheduler.framework.profile import TieRule
from podwright.scheduler.machine import (
    Bind,
    CallDone,
    CycleDue,
    DeletePod,
    Event,
    FlushBackoff,
    ObjectDeleted,
    ObjectPut,
    PatchPodStatus,
    TimerFired,
    UpdateClaim,
    UpdateVolume,
)
from podwright.simulation.recording.explanations.explain import find_cycle
from podwright.simulation.recording.folders.recorded_state import queue_of, resume
from podwright.simulation.recording.log import decision_log, log_files
from podwright.simulation.recording.log.decision_log import DecisionLog
from podwright.simulation.recording.log.log_format import decode_actions, encode_actions
from podwright.simulation.recording.log.record import Recorder, options_of, record
from podwright.simulation.recording.log.replay import Replay, verify
from podwright.testing import make_node

pytestmark = pytest.mark.property

SAMPLING = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "percentageOfNodesToScore": 50,
}
OWN: Sequence[type[Plugin]] = (Gate, Slow)


class Recorded:
    """A machine for `Surroundings` whose events are all recorded."""

    def __init__(self, recorder: Recorder) -> None:
        self.handle = recorder.handle
        self._machine = recorder.machine

    def __getattr__(self, name: str) -> Any:
        return getattr(self._machine, name)


def recorded(
    history: list[tuple[Any, ...]],
    plugins: Sequence[type[Plugin]],
    *,
    checkpoint_events: int = 3,
    memory_checkpoint_steps: int = 0,
) -> DecisionLog:
    variant = Variant("default")
    document = variant.configuration()
    configuration = read_configuration(document, source="test") if plugins else None
    recorder = record(
        None,
        configuration,
        plugins=plugins,
        start=timestamp_text_nano(START_NS),
        checkpoint_events=checkpoint_events,
    )
    around = Surroundings(variant)
    around.machine = Recorded(recorder)  # type: ignore[assignment]  # has the same interface
    for number, operation in enumerate(history):
        note(f"{number}: {operation}")
        step(around, number, *operation)
        if memory_checkpoint_steps and number % memory_checkpoint_steps == 0:
            keep_memory_checkpoint(recorder)
    return recorder.log


def keep_memory_checkpoint(recorder: Recorder) -> None:
    """Keep an encoded checkpoint, and every other time the objects themselves beside it."""
    log, machine = recorder.log, recorder.machine
    checkpoint = log.memory_checkpoint(machine)
    if checkpoint is not None:
        log.keep_memory_checkpoint(checkpoint)
        if len(log.memory_checkpoints) % 2:
            log.keep_state(machine)


@pytest.mark.parametrize("checkpoint_events", [7, 1 << 40], ids=["and checkpoints", "alone"])
@effort(30)
@given(history=HISTORIES, memory_checkpoint_steps=st.integers(1, 5))
def test_memory_checkpoints_change_nothing_and_a_run_goes_on_from_each(
    checkpoint_events, history, memory_checkpoint_steps
):
    log = recorded(
        history,
        (),
        checkpoint_events=checkpoint_events,
        memory_checkpoint_steps=memory_checkpoint_steps,
    )
    bare = recorded(history, (), checkpoint_events=checkpoint_events)
    entries = [(each.now_ns, each.event, each.actions) for each in bare.entries()]
    assert [(each.now_ns, each.event, each.actions) for each in log.entries()] == entries
    for first in (*log.memory_checkpoints, *log.states):
        late = [(each.now_ns, each.event, each.actions) for each in log.entries(first)]
        assert late == entries[first:]
        verification = verify(log, first=first)
        assert verification.is_same, f"from {first}: {verification.difference}"
        assert verification.event_count == len(log) - first
        restored = Replay(log, until=first).machine
        restored.validate()
        whole = Replay(bare, until=0)
        whole.run_to(first)
        assert queue_of(restored, 0) == queue_of(whole.machine, 0)
        assert restored.metrics_snapshot() == whole.machine.metrics_snapshot()


@pytest.mark.parametrize("plugins", [(), OWN], ids=["in-tree plugins", "own plugins"])
@effort(60)
@given(history=HISTORIES)
def test_a_run_goes_on_from_every_checkpoint_as_it_did(plugins, history):
    log = recorded(history, plugins)
    for first in (0, *log.checkpoints):
        verification = verify(log, first=first, plugins=plugins)
        assert verification.is_same, f"from {first}: {verification.difference}"
        assert verification.event_count == len(log) - first


@effort(40)
@given(history=HISTORIES)
def test_a_run_from_every_checkpoint_has_counted_the_same_in_the_end(history):
    log = recorded(history, OWN)
    ends = []
    for first in (0, *log.checkpoints):
        run = Replay(log, until=first, plugins=OWN)
        run.run_to(len(log))
        ends.append(run.machine.metrics_snapshot())
    assert ends == ends[:1] * len(ends)


@effort(40)
@given(history=HISTORIES)
def test_a_machine_from_a_checkpoint_is_sound_and_looks_the_same(history):
    log = recorded(history, ())
    for first in log.checkpoints:
        restored = Replay(log, until=first).machine
        restored.validate()
        whole = Replay(log, until=0)
        whole.run_to(first)
        assert queue_of(restored, 0) == queue_of(whole.machine, 0)
        assert restored.assumed() == whole.machine.assumed()
        assert restored.metrics_snapshot() == whole.machine.metrics_snapshot()
        assert [obj.key for obj in restored.objects()] == [
            obj.key for obj in whole.machine.objects()
        ]


@effort(40)
@given(history=HISTORIES)
def test_a_replay_that_repeats_the_recorded_nodes_acts_as_the_run_did(history):
    log = recorded(history, ())
    whole = Replay(log, until=0)
    whole.run_to(len(log))
    for first in (0, *log.checkpoints):
        run = Replay(log, until=first, is_repeated=True)
        while (taken := run.step()) is not None:
            entry, actions = taken
            assert encode_actions(actions) == entry.actions, f"event {entry.index}"
        run.machine.validate()
        assert queue_of(run.machine, 0) == queue_of(whole.machine, 0)


@pytest.mark.parametrize("plugins", [(), OWN], ids=["in-tree plugins", "own plugins"])
@effort(40)
@given(history=HISTORIES)
def test_every_past_cycle_is_explained_as_it_was_decided(plugins, history):
    log = recorded(history, plugins)
    attempts: dict[str, int] = {}
    for index, pod in log.cycles():
        attempts[pod] = attempts.get(pod, 0) + 1
        past = find_cycle(log, pod, attempts[pod], plugins=plugins)
        assert past.entry.index == index
        explanation = past.explain()
        past.machine.handle(past.entry.event, past.entry.now_ns)
        decision = past.machine.last_decision
        assert decision is not None
        assert explanation.decision.node == decision.node
        assert explanation.decision.message == decision.message


@effort(40)
@given(history=HISTORIES, share=st.floats(0, 1))
def test_what_was_written_before_a_crash_is_read_after_it(history, share, tmp_path_factory):
    whole = recorded(history, ())
    folder = tmp_path_factory.mktemp("log")
    log = DecisionLog.create(folder, whole.setup, block_events=5)
    for entry in whole.entries():
        log.append(entry.now_ns, entry.event, decode_actions(entry.actions), pod=entry.pod)
    log.close()
    (segment,) = folder.glob("*.pwlog")
    data = segment.read_bytes()
    header_bytes = _header_bytes(whole, folder)
    kept = header_bytes + round(share * (len(data) - header_bytes))
    segment.write_bytes(data[:kept])
    with DecisionLog.open(folder) as torn:
        entries = list(torn.entries())
        assert segment.stat().st_size == kept, "reading changes nothing"
    originals = list(whole.entries())[: len(entries)]
    assert [e.actions for e in entries] == [e.actions for e in originals]
    with DecisionLog.open(folder, append=True) as again:
        assert len(again) == len(entries)
        for entry in list(whole.entries())[len(entries) :]:
            again.append(entry.now_ns, entry.event, decode_actions(entry.actions))
    with DecisionLog.open(folder) as complete:
        assert len(complete) == len(whole)
        assert verify(complete).is_same


@pytest.mark.parametrize("plugins", [(), OWN], ids=["in-tree plugins", "own plugins"])
@effort(15)
@given(history=HISTORIES)
def test_a_run_that_was_cut_back_and_goes_on_makes_the_same_files(
    plugins, history, tmp_path_factory
):
    check_going_on(recorded(history, plugins), tmp_path_factory.mktemp("log"), plugins)


def check_going_on(
    original: DecisionLog,
    folder: Path,
    plugins: Sequence[type[Plugin]] = (),
    *,
    every: int = 1,
    checkpoint_events: int | None = 10,
) -> None:
    """Assert that an interrupted run writes the same files as an uninterrupted one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(log_files, "SEGMENT_LIMIT_BYTES", 3_000)
        log = DecisionLog.create(
            folder / "whole",
            original.setup,
            fingerprints=original.header.fingerprints,
            block_events=4,
            checkpoint_events=checkpoint_events,
        )
        recorder = Recorder(machine_of(options_of(original.setup, plugins=plugins)), log)
        for entry in original.entries():
            recorder.handle(entry.event, entry.now_ns)
        log.close()
        whole = DecisionLog.open(folder / "whole")
        for end in whole.ends[::every]:
            copy = folder / f"until-{end}"
            shutil.copytree(folder / "whole", copy)
            again = resume(str(copy), until=end, plugins=plugins)
            start = whole.start(end)
            start.objects.update(again.log.objects())
            for entry in whole.entries_from(start):
                if entry.index >= end:
                    again.handle(entry.event, entry.now_ns)
            again.log.close()
            assert content(copy) == content(folder / "whole"), f"cut back to {end}"


def content(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def _header_bytes(log: DecisionLog, folder: Path) -> int:
    """Return the length of a log with the same setup that has only its header."""
    other = folder.with_name(f"{folder.name}-empty")
    DecisionLog.create(other, log.setup, block_events=5).close()
    (segment,) = other.glob("*.pwlog")
    return segment.stat().st_size


RUN = """
import hashlib, pathlib, random, shutil, tempfile
from podwright.apimachinery.objects import ObjectDeleted, ObjectPut, with_node_name
from podwright.scheduler.machine import Bind, CallDone, CycleDue, FlushBackoff
from podwright.testing import make_node, make_pod
from podwright.simulation.recording.log.record import record
from podwright.simulation.recording.explanations.explain import explain_cycle

chance = random.Random(7)
folder = tempfile.mkdtemp()
recorder = record(folder, checkpoint_events=50)
now_ns = 0
def send(event):
    global now_ns
    now_ns += 10**8
    return recorder.handle(event, now_ns)
for i in range(8):
    send(ObjectPut(make_node(f"n{i}", cpu=3, zone="abc"[i % 3], taints=["a=b:NoSchedule"][i % 2:])))
for i in range(120):
    pod = make_pod(f"p{i}", cpu=1, priority=chance.choice([0, 0, 5]), labels={"app": "abc"[i % 3]})
    send(ObjectPut(pod))
    for action in send(CycleDue()):
        if isinstance(action, Bind):
            send(CallDone(action.call))
            bound = with_node_name(pod, action.node)
            send(ObjectPut(bound))
            if chance.random() < 0.4:
                send(ObjectDeleted(bound))
    if i % 7 == 0:
        send(FlushBackoff())
digest = hashlib.sha256()
for entry in recorder.log.entries():
    digest.update(entry.actions)
explanation = explain_cycle(recorder.log, "default/p60")
digest.update(repr((explanation.totals, explanation.decision.message)).encode())
recorder.log.flush()
for file in sorted(pathlib.Path(folder).iterdir()):
    digest.update(file.read_bytes())
shutil.rmtree(folder)
print(len(recorder.log), recorder.log.checkpoints, digest.hexdigest())
"""


def test_the_hash_seed_changes_nothing():
    printed = {
        subprocess.run(
            [sys.executable, "-c", RUN],
            env={"PYTHONHASHSEED": seed, "PATH": ""},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "4242")
    }
    assert len(printed) == 1, printed


# -------------------------------------------------------------------- other kinds of objects


class Rich:
    """A cluster with zones, selectors, volumes, budgets and services, changed by a seed."""

    def __init__(self, seed: int, tie_rule: TieRule) -> None:
        self.chance = random.Random(seed)
        configuration = read_configuration(SAMPLING, source="test")
        self.recorder = record(
            None, configuration, seed=seed, tie_rule=tie_rule, checkpoint_events=9
        )
        self.now_ns = START_NS
        self.bound: list[Pod] = []
        self.nodes: dict[str, Node] = {}
        self.count = 0

    def send(self, event: Event) -> None:
        self.now_ns += self.chance.choice([10**6, 10**8, 3 * 10**9])
        for action in self.recorder.handle(event, self.now_ns):
            match action:
                case Bind(call, key, _, node):
                    pod = self.recorder.machine.pod(key)
                    assert pod is not None
                    self.send(CallDone(call))
                    self.bound.append(with_node_name(pod, node))
                    if self.chance.random() < 0.8:
                        self.send(ObjectPut(self.bound[-1]))
                case DeletePod(call, key, _):
                    victim = self.recorder.machine.pod(key)
                    self.send(CallDone(call))
                    if victim is not None:
                        self.send(ObjectDeleted(victim))
                case UpdateVolume(call, volume):
                    self.send(CallDone(call, obj=volume))
                    self.send(ObjectPut(volume))
                case UpdateClaim(call, claim):
                    self.send(CallDone(call, obj=claim))
                    self.send(ObjectPut(claim))
                case PatchPodStatus(call):
                    self.send(CallDone(call))
                case _:
                    pass

    def step(self) -> None:
        chance = self.chance
        self.count += 1
        match chance.randrange(9):
            case 0 | 1:
                name = f"n{chance.randrange(9)}"
                node = make_node(
                    name,
                    cpu=chance.choice(["2", "4"]),
                    zone=chance.choice("abc"),
                    gpu=chance.randrange(2),
                    taints=["k=v:PreferNoSchedule"] * chance.randrange(2),
                )
                self.nodes[name] = node
                self.send(ObjectPut(node))
            case 2:
                if self.nodes and chance.random() < 0.5:
                    _, node = self.nodes.popitem()
                    self.send(ObjectDeleted(node))
            case 3:
                if self.bound:
                    self.send(ObjectDeleted(self.bound.pop(chance.randrange(len(self.bound)))))
            case 4:
                for document in self.documents():
                    self.send(ObjectPut(decode(document)))
            case _:
                self.send(ObjectPut(decode_pod(self.pod())))
                self.send(CycleDue())
                self.send(TimerFired())
        if chance.random() < 0.2:
            self.send(FlushBackoff())
            self.send(CycleDue())

    def documents(self) -> list[dict[str, Any]]:
        number = self.count
        meta = {"name": f"o{number}", "namespace": "default", "uid": f"o{number}"}
        return [
            {
                "apiVersion": "storage.k8s.io/v1",
                "kind": "StorageClass",
                "metadata": {"name": "late"},
                "provisioner": "kubernetes.io/no-provisioner",
                "volumeBindingMode": "WaitForFirstConsumer",
            },
            {
                "apiVersion": "v1",
                "kind": "PersistentVolume",
                "metadata": {"name": f"v{number}", "resourceVersion": str(number)},
                "spec": {
                    "capacity": {"storage": "5Gi"},
                    "accessModes": ["ReadWriteOnce"],
                    "storageClassName": "late",
                },
                "status": {"phase": "Available"},
            },
            {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "metadata": meta | {"resourceVersion": str(number)},
                "spec": {
                    "accessModes": ["ReadWriteOnce"],
                    "resources": {"requests": {"storage": "1Gi"}},
                    "storageClassName": "late",
                },
            },
            {
                "apiVersion": "policy/v1",
                "kind": "PodDisruptionBudget",
                "metadata": meta,
                "spec": {"selector": {"matchLabels": {"app": "a"}}, "minAvailable": 1},
                "status": {"disruptionsAllowed": 1},
            },
            {
                "apiVersion": "v1",
                "kind": "Service",
                "metadata": meta,
                "spec": {"selector": {"app": "b"}},
            },
        ]

    def pod(self) -> dict[str, Any]:
        chance, number = self.chance, self.count
        app = chance.choice("abc")
        term = {
            "labelSelector": {"matchLabels": {"app": app}},
            "topologyKey": chance.choice(["kubernetes.io/hostname", "topology.kubernetes.io/zone"]),
        }
        requests = {"cpu": chance.choice(["100m", "1", "3"])}
        if chance.random() < 0.2:
            requests[chance.choice(["nvidia.com/gpu", "example.com/b", "example.com/a"])] = "1"
        spec: dict[str, Any] = {
            "schedulerName": "default-scheduler",
            "priority": chance.choice([0, 0, 10]),
            "containers": [{"name": "c", "image": "i", "resources": {"requests": requests}}],
        }
        match chance.randrange(6):
            case 0:
                constraint = {"maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}
                spec["topologySpreadConstraints"] = [term | constraint]
            case 1:
                required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
                spec["affinity"] = {"podAntiAffinity": required}
            case 2:
                weighted = {"weight": 5, "podAffinityTerm": term}
                preferred = {"preferredDuringSchedulingIgnoredDuringExecution": [weighted]}
                spec["affinity"] = {"podAffinity": preferred}
            case 3:
                claim = {"claimName": f"o{chance.randrange(1, number + 1)}"}
                spec["volumes"] = [{"name": "v", "persistentVolumeClaim": claim}]
            case _:
                pass
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"p{number}", "uid": f"p{number}", "labels": {"app": app}},
            "spec": spec,
        }


@pytest.mark.parametrize("tie_rule", [TieRule.DRAWN, TieRule.HEAP])
@effort(15)
@given(seed=st.integers(0, 1_000_000))
def test_all_kinds_of_objects_survive_a_checkpoint(tie_rule, seed, tmp_path_factory):
    rich = Rich(seed, tie_rule)
    for number in range(70):
        rich.step()
        if number % 10 == 0:
            keep_memory_checkpoint(rich.recorder)
    log = rich.recorder.log
    for first in (0, *log.checkpoints[::3], *log.memory_checkpoints, *log.states):
        verification = verify(log, first=first)
        assert verification.is_same, f"from {first}: {verification.difference}"
    check_going_on(log, tmp_path_factory.mktemp("log"), every=7)


@effort(8)
@given(seed=st.integers(0, 1_000_000), object_events=st.integers(2, 4))
def test_a_run_whose_first_checkpoint_is_put_off_goes_on_and_makes_the_same_files(
    seed, object_events, tmp_path_factory
):
    rich = Rich(seed, TieRule.DRAWN)
    for _ in range(40):
        rich.step()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decision_log, "CHECKPOINT_EVENTS", 20)
        patch.setattr(decision_log, "EVENTS_PER_OBJECT", object_events)
        folder = tmp_path_factory.mktemp("log")
        check_going_on(rich.recorder.log, folder, every=2, checkpoint_events=None)
