"""The machine: which stage is next, when, and what it does to the object."""

from __future__ import annotations

import msgspec
import pytest

from podwright.api import DeleteObject, UpdateObject
from podwright.api.node_faults import NodeDown, NodeUp
from podwright.machine import ObjectDeleted, ObjectPut
from podwright.objects import InputError, Object, decode
from podwright.stages import (
    FAST_STAGES,
    Lifecycle,
    LifecycleState,
    ScheduleStage,
    Stage,
    StageDue,
    StageError,
    default_stages,
    read_stages,
)
from podwright.stages.addresses import Addresses
from podwright.stages.annotation_stages import backoff_ns
from podwright.stages.tests.lifecycle_driver import NOW, SECOND, LifecycleDriver, a_node, a_pod, at
from podwright.store.history import change_of

RUN = "pod-complete.stage.kwok.x-k8s.io"
JOB = [{"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "u"}]


def stages_of(*parts: str, kind: str = "Pod") -> tuple[Stage, ...]:
    """Read stages from their `spec` without the reference."""
    return read_stages(
        "---\n".join(
            f"apiVersion: kwok.x-k8s.io/v1alpha1\nkind: Stage\nmetadata: {{name: s{index}}}\n"
            f"spec: {{resourceRef: {{kind: {kind}}}, {part}}}\n"
            for index, part in enumerate(parts)
        ),
        source="s.yaml",
    )


def restored(life: Lifecycle, *objects: Object) -> Lifecycle:
    """Return another machine that goes on where one is."""
    again = Lifecycle()
    text = msgspec.json.encode(life.state())
    again.restore(msgspec.json.decode(text, type=LifecycleState), objects)
    return again


# ----------------------------------------------------------------------- built-in stages


def test_a_node_becomes_ready_at_once():
    player = LifecycleDriver(Lifecycle())
    player.put(a_node(status={"allocatable": {"cpu": "4"}, "conditions": [{"type": "Mine"}]}))
    player.run()
    status = player.status("n1")
    assert player.story == [(0, "node-initialize", "n1")]
    assert [c["type"] for c in status["conditions"]] == [
        "Mine", "Ready", "MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable",
    ]  # fmt: skip
    assert status["allocatable"] == {"cpu": "4"}
    assert status["capacity"] == {"cpu": "1k", "memory": "1Ti", "pods": "1M"}
    assert status["addresses"][0] == {"type": "InternalIP", "address": "10.0.0.1"}


def test_a_pod_waits_until_it_is_bound():
    player = LifecycleDriver(Lifecycle())
    player.put(a_pod(spec={"nodeName": None}))
    player.run(10)
    assert player.story == []
    player.heap.advance(NOW + 10 * SECOND)
    player.put(a_pod())
    player.run()
    assert player.story == [(10, "pod-ready", "default/web")]
    assert player.status()["startTime"] == at(10)


def test_a_pod_of_a_job_is_done_at_once():
    player = LifecycleDriver(Lifecycle())
    player.put(a_pod(ownerReferences=JOB))
    player.run()
    assert [stage for _, stage, _ in player.story] == ["pod-ready", "pod-complete"]
    assert player.status()["phase"] == "Succeeded"


@pytest.mark.parametrize(
    ("policy", "exit_code", "story", "phase"),
    [
        pytest.param("Never", "0", [(60, "pod-exit")], "Succeeded", id="Never: done"),
        pytest.param("Never", "3", [(60, "pod-exit")], "Failed", id="Never: failed"),
        pytest.param("OnFailure", "0", [(60, "pod-exit")], "Succeeded", id="OnFailure: done"),
        pytest.param(
            "OnFailure", "1",
            [(60, "pod-exit"), (120, "pod-exit"), (130, "pod-restart"), (190, "pod-exit")],
            "Running", id="OnFailure: again, and later each time",
        ),
        pytest.param(
            None, "0",
            [(60, "pod-exit"), (120, "pod-exit"), (130, "pod-restart"), (190, "pod-exit")],
            "Running", id="Always: again whatever it was",
        ),
    ],
)  # fmt: skip
def test_the_restart_policy_says_what_an_exit_is(policy, exit_code, story, phase):
    player = LifecycleDriver(Lifecycle())
    annotations = {f"{RUN}/delay": "1m", f"{RUN}/exit-code": exit_code}
    player.put(a_pod(spec={"restartPolicy": policy}, annotations=annotations))
    player.run(200)
    assert [(time, stage) for time, stage, _ in player.story[1:]] == story
    assert player.status()["phase"] == phase


def test_a_container_that_is_backed_off_says_so():
    player = LifecycleDriver(Lifecycle())
    player.put(a_pod(annotations={f"{RUN}/delay": "1m", f"{RUN}/exit-code": "2"}))
    player.run(125)
    (container,) = player.status()["containerStatuses"]
    assert container["restartCount"] == 1
    assert container["state"]["waiting"]["reason"] == "CrashLoopBackOff"
    assert container["state"]["waiting"]["message"].startswith("back-off 10s restarting failed")
    assert container["lastState"]["terminated"]["exitCode"] == 2
    ready = {c["type"]: c for c in player.status()["conditions"]}["Ready"]
    assert (ready["status"], ready["reason"]) == ("False", "ContainersNotReady")
    player.run(131)
    ready = {c["type"]: c for c in player.status()["conditions"]}["Ready"]
    assert ready == {"type": "Ready", "status": "True", "lastTransitionTime": at(130)}


@pytest.mark.parametrize(
    ("restart_count", "ran_s", "wait_s"),
    [
        pytest.param(0, 1, 0, id="the first is at once"),
        pytest.param(1, 1, 10, id="then 10 s"),
        pytest.param(5, 1, 160, id="doubled each time"),
        pytest.param(6, 1, 300, id="up to five minutes"),
        pytest.param(9_999, 1, 300, id="and no longer"),
        pytest.param(9, 600, 0, id="at once after ten minutes without trouble"),
    ],
)
def test_back_off(restart_count, ran_s, wait_s):
    assert backoff_ns(restart_count, ran_s * SECOND) == wait_s * SECOND


def test_a_pod_of_the_trace_ends_at_its_second():
    life = Lifecycle(default_stages(trace_start_ns=NOW - 100 * SECOND))
    player = LifecycleDriver(life)
    player.put(a_pod("on-time", annotations={"alibabacloud.com/deletion-time": "250"}))
    player.put(a_pod("too-late", annotations={"alibabacloud.com/deletion-time": "90"}))
    player.run()
    assert (150, "pod-finish", "default/on-time") in player.story
    assert (0, "pod-finish", "default/too-late") in player.story
    assert player.status("default/on-time")["phase"] == "Succeeded"


def test_a_deleted_pod_goes_at_once_with_its_finalizers():
    player = LifecycleDriver(Lifecycle())
    player.put(a_pod(deletionTimestamp=at(30), finalizers=["a/b"]))
    (put, *_) = [event.event for event in player.heap.entries()]
    actions = player.life.handle(put, NOW)
    assert isinstance(actions[0], UpdateObject)
    assert (actions[0].obj.metadata.finalizers, actions[0].scope) == ((), "main")
    player.do(actions)
    assert not player.objects


def test_a_pod_may_take_its_time_to_stop_but_no_more_than_its_grace():
    annotations = {"pod-delete.stage.kwok.x-k8s.io/delay": "5s"}
    for seed in range(20):
        player = LifecycleDriver(Lifecycle(seed=seed))
        player.put(a_pod(deletionTimestamp=at(30), annotations=annotations))
        player.run()
        ((time, stage, _),) = player.story
        assert stage == "pod-stop"
        assert 5 <= time < 30
    player = LifecycleDriver(Lifecycle())
    player.put(a_pod(deletionTimestamp=at(3), annotations=annotations))
    player.run()
    assert player.story == [(3, "pod-stop", "default/web")]


@pytest.mark.parametrize(
    ("annotations", "said"),
    [
        pytest.param(
            {"alibabacloud.com/deletion-time": "soon"}, "invalid number of seconds", id="t"
        ),
        pytest.param(
            {f"{RUN}/delay": "1s", f"{RUN}/exit-code": "x"}, "invalid exit code", id="code"
        ),
    ],
)
def test_an_annotation_that_cannot_be_read_is_said(annotations, said):
    player = LifecycleDriver(Lifecycle())
    player.put(a_pod(annotations=annotations))
    with pytest.raises(StageError, match=f"^annotation stages: .*: Pod default/web: .*{said}"):
        player.run()


def test_playing_without_templates_is_the_same():
    pods = [
        a_pod(),
        a_pod(spec={"hostNetwork": True, "readinessGates": [{"conditionType": "x/y"}]}),
        a_pod(spec={"initContainers": [{"name": "i"}, {"name": "s", "restartPolicy": "Always"}]}),
        a_pod(spec={"containers": []}, ownerReferences=JOB),
        a_pod(ownerReferences=JOB, status={"conditions": [{"type": "PodScheduled"}]}),
        a_node(),
        a_node(status={"nodeInfo": {"kubeletVersion": "v1"}, "allocatable": {"cpu": 3}}),
        a_node(status={"addresses": [{"type": "InternalIP", "address": "1.2.3.4"}]}),
    ]
    for obj in pods:
        players = [
            LifecycleDriver(Lifecycle()),
            LifecycleDriver(Lifecycle(read_stages(FAST_STAGES, source="f"))),
        ]
        for player in players:
            player.put(obj)
            player.run()
        fast, plain = players
        assert fast.story
        assert fast.story == plain.story
        assert fast.objects == plain.objects


def test_a_delay_may_be_the_time_at_which_it_ends():
    player = LifecycleDriver(Lifecycle())
    annotations = {f"{RUN}/delay": at(60)}
    player.put(a_pod("early", spec={"restartPolicy": "Never"}, annotations=annotations))
    player.run(20)
    player.heap.advance(NOW + 20 * SECOND)
    player.put(a_pod("late", spec={"restartPolicy": "Never"}, annotations=annotations))
    player.run()
    assert [entry for entry in player.story if entry[1] == "pod-exit"] == [
        (60, "pod-exit", "default/early"),
        (60, "pod-exit", "default/late"),
    ]


def test_a_pod_keeps_the_address_that_it_was_given_before_it_was_written_down():
    addresses = Addresses()
    given = addresses.of_pod("a")
    assert addresses.of_pod("a") == given
    assert addresses.take_for_pod("a") == given
    assert addresses.state().pods == {}
    assert len({given, addresses.take_for_pod("b"), addresses.of_pod("c")}) == 3


# ---------------------------------------------------------------------------- the machine

WAIT = (
    "selector: {matchExpressions: [{key: .status.phase, operator: DoesNotExist}]}, "
    "delay: {durationMilliseconds: 60000, durationFrom: {expressionFrom: .metadata.labels.d}}, "
    "next: {statusTemplate: 'phase: Running'}"
)


def test_a_change_that_does_not_matter_leaves_the_time_as_it_is():
    player = LifecycleDriver(Lifecycle(stages_of(WAIT)))
    player.put(a_pod())
    player.run(40)
    player.heap.advance(NOW + 40 * SECOND)
    player.put(a_pod(labels={"x": "y"}))
    assert player.life.next_stage_of(a_pod()) == ("s0", NOW + 60 * SECOND)
    player.put(a_pod(labels={"d": "5s"}))
    assert player.life.next_stage_of(a_pod()) == ("s0", NOW + 45 * SECOND)
    player.run()
    assert player.story == [(45, "s0", "default/web")]


def test_a_plan_goes_when_its_stage_no_longer_applies():
    player = LifecycleDriver(Lifecycle(stages_of(WAIT)))
    player.put(a_pod())
    player.put(a_pod(status={"phase": "Pending"}))
    assert player.life.next_stage_of(a_pod()) is None
    player.put(a_pod())
    player.delete(a_pod())
    player.run()
    assert player.story == []


def test_an_object_that_was_removed_is_not_removed_again_for_what_is_said_of_its_end():
    life = Lifecycle()
    (plan,) = life.handle(ObjectPut(a_pod(deletionTimestamp=at(30))), NOW)
    assert isinstance(plan, ScheduleStage)
    (removal,) = life.handle(plan.event, NOW)
    assert isinstance(removal, DeleteObject)
    ending = a_pod(deletionTimestamp=at(0), deletionGracePeriodSeconds=0)
    assert life.next_stage_of(ending) is None
    for each in (life, restored(life, ending)):
        assert each.handle(ObjectPut(ending), NOW) == []
        assert each.handle(plan.event, NOW) == []
        each.validate()
    (again,) = life.handle(ObjectPut(a_pod(uid="another", deletionTimestamp=at(30))), NOW)
    assert isinstance(again, ScheduleStage)


def test_what_was_removed_on_a_silent_node_is_not_due_when_it_returns():
    life = Lifecycle()
    pod = a_pod(deletionTimestamp=at(30))
    (plan,) = life.handle(ObjectPut(pod), NOW)
    assert isinstance(plan, ScheduleStage)
    life.handle(plan.event, NOW)
    life.handle(NodeDown("n1"), NOW)
    assert restored(life, pod).handle(NodeUp("n1"), NOW) == []


def test_an_object_of_the_same_name_begins_anew():
    player = LifecycleDriver(Lifecycle(stages_of(WAIT)))
    player.put(a_pod())
    player.run(40)
    player.heap.advance(NOW + 40 * SECOND)
    player.put(a_pod(uid="another"))
    player.run()
    assert player.story == [(100, "s0", "default/web")]


def test_changes_of_a_store_are_heard_as_events_are():
    told, hearing = Lifecycle(), Lifecycle()
    pod, another = a_pod(), a_pod(uid="another")
    kind = ("", "Pod")
    for version, (old, new) in enumerate([(None, pod), (pod, another), (another, None)], start=2):
        event = ObjectDeleted(another) if new is None else ObjectPut(new)
        change = change_of(version, kind, pod.key, old, new)
        assert hearing.handle_change(change, NOW) == told.handle(event, NOW)
        assert hearing.state() == told.state()
    assert hearing.state().lives == ()
    assert hearing.state().plan_count == 2, "another pod of that name is planned for anew"


def test_kinds_without_stages_are_no_concern():
    life = Lifecycle(stages_of(WAIT))
    assert life.kinds == [("", "Pod")]
    assert life.handle(ObjectPut(a_node()), NOW) == []
    assert life.handle(ObjectDeleted(a_node()), NOW) == []
    assert life.handle(StageDue("", "Node", "n1", 0), NOW) == []


def test_a_stage_with_everything():
    stage = (
        "selector: {}, next: {"
        "event: {type: Normal, reason: Hi, message: 'I am {{ .metadata.name }}'},"
        " finalizers: {add: [{value: a/b}]}, statusTemplate: 'phase: {{ Now | Quote }}',"
        " patches: [{root: metadata, type: json,"
        " template: '[{op: add, path: /labels, value: {a: b}}]'}]}"
    )
    life = Lifecycle(stages_of(stage, kind="Custom"))
    document = {"apiVersion": "v1", "kind": "Custom", "metadata": {"name": "c", "uid": "1"}}
    player = LifecycleDriver(life)
    (plan,) = life.handle(ObjectPut(decode(document, source="t")), NOW)
    assert isinstance(plan, ScheduleStage)
    event, put = life.handle(plan.event, NOW)
    assert isinstance(put, UpdateObject)
    player.do([event])
    assert player.notes == ["Normal Hi: I am c"]
    assert put.scope == "whole"
    assert put.obj.raw == document | {
        "metadata": {"name": "c", "uid": "1", "finalizers": ["a/b"], "labels": {"a": "b"}},
        "status": {"phase": at(0)},
    }


def test_an_immediate_stage_goes_on_though_nothing_changed():
    beat = (
        "selector: {}, delay: {durationMilliseconds: 20000, jitterDurationMilliseconds: 25000}, "
        "immediateNextStage: true, next: {statusTemplate: 'beat: {{ Now | Quote }}'}"
    )
    player = LifecycleDriver(Lifecycle(stages_of(beat, kind="Node")))
    player.put(a_node())
    player.run(100)
    times = [time for time, _, _ in player.story]
    gaps = [later - earlier for earlier, later in zip([0, *times], times, strict=False)]
    assert len(times) in {4, 5}
    assert all(20 <= gap < 25 for gap in gaps)
    assert len(set(gaps)) == len(gaps)


def test_stages_that_never_come_to_rest_are_an_error():
    endless = "selector: {}, next: {statusTemplate: 'n: {{ add1 .status.n }}'}"
    player = LifecycleDriver(Lifecycle(stages_of(endless)))
    player.put(a_pod())
    with pytest.raises(
        StageError, match="Pod default/web: more than 100 stages at one time, the la"
    ):
        player.run()


@pytest.mark.parametrize(
    ("template", "error", "said"),
    [
        pytest.param("a: {{ index .spec.containers 9 }}", StageError, "line 1: index: 9", id="run"),
        pytest.param("conditions: [{a: 1}]", StageError, 'no "type" to find it by', id="patch"),
        pytest.param("a: [", StageError, "is not YAML", id="text"),
        pytest.param(
            "phase: Runing", InputError, 'status.phase: Unsupported value: "Runing"', id="object"
        ),
    ],
)
def test_a_stage_that_cannot_be_played_says_which_and_on_what(template, error, said):
    stages = stages_of(f'selector: {{}}, next: {{statusTemplate: "{template}"}}')
    player = LifecycleDriver(Lifecycle(stages))
    player.put(a_pod())
    with pytest.raises(error, match=said) as raised:
        player.run()
    place = "s.yaml: document 1 (line 1): Stage s0: Pod default/web: "
    assert str(raised.value).startswith(place)


def test_a_machine_goes_on_where_another_one_was():
    def begun() -> LifecycleDriver:
        player = LifecycleDriver(Lifecycle(seed=3))
        annotations = {f"{RUN}/delay": "1m", f"{RUN}/jitter-delay": "5m"}
        for name in "abc":
            player.put(a_pod(name, spec={"restartPolicy": "Never"}, annotations=annotations))
        player.put(a_node())
        player.run(90)
        return player

    whole, parts = begun(), begun()
    text = msgspec.json.encode(parts.life.state())
    parts.life = Lifecycle(seed=3)
    state = msgspec.json.decode(text, type=LifecycleState)
    parts.life.restore(state, parts.objects.values())
    assert msgspec.json.encode(parts.life.state()) == text
    whole.put(a_pod("late"))
    parts.put(a_pod("late"))
    whole.run()
    parts.run()
    assert whole.story == parts.story
    assert whole.objects == parts.objects
