"""The lifecycle: the next stage of an object, its due time and its effect."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from podwright.apimachinery.objects import (
    InputError,
    Object,
    ObjectDeleted,
    ObjectPut,
    PodwrightError,
)
from podwright.apimachinery.schema import decode
from podwright.cluster.api import DeleteObject, UpdateObject
from podwright.cluster.api.requests import NodeDown, NodeUp
from podwright.cluster.kubelets import (
    STAGE,
    Lifecycle,
    LifecycleAction,
    LifecycleState,
    RecordEvent,
    ScheduleStage,
    Stage,
    StageDue,
    StageError,
    default_stages,
    read_stages,
)
from podwright.cluster.kubelets.addresses import Addresses
from podwright.cluster.kubelets.stages.built_in_stages import backoff_ns
from podwright.cluster.kubelets.tests.lifecycle_driver import (
    NOW,
    SECOND,
    LifecycleDriver,
    a_node,
    a_pod,
    at,
)
from podwright.cluster.store.history import change_of

RUN = "pod-complete.stage.kwok.x-k8s.io"
JOB = [{"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "u"}]


def stages_of(*parts: str, kind: str = "Pod") -> tuple[Stage, ...]:
    """Read stages from their `spec`, given without resourceRef."""
    return read_stages(
        "---\n".join(
            f"apiVersion: kwok.x-k8s.io/v1alpha1\nkind: Stage\nmetadata: {{name: s{index}}}\n"
            f"spec: {{resourceRef: {{kind: {kind}}}, {part}}}\n"
            for index, part in enumerate(parts)
        ),
        source="s.yaml",
    )


def restored(life: Lifecycle, *objects: Object) -> Lifecycle:
    """Return a new machine restored from the state of another."""
    again = Lifecycle()
    text = msgspec.json.encode(life.state())
    again.restore(msgspec.json.decode(text, type=LifecycleState), objects)
    return again


# ----------------------------------------------------------------------- built-in stages


def test_a_node_becomes_ready_immediately():
    driver = LifecycleDriver(Lifecycle())
    driver.put(a_node(status={"allocatable": {"cpu": "4"}, "conditions": [{"type": "Mine"}]}))
    driver.run()
    status = driver.status("n1")
    assert driver.story == [(0, "node-initialize", "n1")]
    assert [c["type"] for c in status["conditions"]] == [
        "Mine", "Ready", "MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable",
    ]  # fmt: skip
    assert status["allocatable"] == {"cpu": "4"}
    assert status["capacity"] == {"cpu": "1k", "memory": "1Ti", "pods": "1M"}
    assert status["addresses"][0] == {"type": "InternalIP", "address": "10.0.0.1"}


def test_a_node_keeps_the_capacity_that_it_has():
    driver = LifecycleDriver(Lifecycle())
    driver.put(a_node(status={"capacity": {"cpu": "4"}}))
    driver.run()
    assert driver.status("n1")["capacity"] == {"cpu": "4"}


def test_a_pod_waits_until_it_is_bound():
    driver = LifecycleDriver(Lifecycle())
    driver.put(a_pod(spec={"nodeName": None}))
    driver.run(10)
    assert driver.story == []
    driver.heap.advance(NOW + 10 * SECOND)
    driver.put(a_pod())
    driver.run()
    assert driver.story == [(10, "pod-ready", "default/web")]
    assert driver.status()["startTime"] == at(10)


def test_a_pod_of_a_job_succeeds_immediately():
    driver = LifecycleDriver(Lifecycle())
    driver.put(a_pod(ownerReferences=JOB))
    driver.run()
    assert [stage for _, stage, _ in driver.story] == ["pod-ready", "pod-complete"]
    assert driver.status()["phase"] == "Succeeded"


@pytest.mark.parametrize(
    ("policy", "exit_code", "story", "phase"),
    [
        pytest.param("Never", "0", [(60, "pod-exit")], "Succeeded", id="Never: done"),
        pytest.param("Never", "3", [(60, "pod-exit")], "Failed", id="Never: failed"),
        pytest.param("OnFailure", "0", [(60, "pod-exit")], "Succeeded", id="OnFailure: done"),
        pytest.param(
            "OnFailure", "1",
            [(60, "pod-exit"), (120, "pod-exit"), (130, "pod-restart"), (190, "pod-exit")],
            "Running", id="OnFailure: restarts, with increasing delay",
        ),
        pytest.param(
            None, "0",
            [(60, "pod-exit"), (120, "pod-exit"), (130, "pod-restart"), (190, "pod-exit")],
            "Running", id="Always: restarts with any exit code",
        ),
    ],
)  # fmt: skip
def test_the_restart_policy_decides_the_result_of_an_exit(policy, exit_code, story, phase):
    driver = LifecycleDriver(Lifecycle())
    annotations = {f"{RUN}/delay": "1m", f"{RUN}/exit-code": exit_code}
    driver.put(a_pod(spec={"restartPolicy": policy}, annotations=annotations))
    driver.run(200)
    assert [(time, stage) for time, stage, _ in driver.story[1:]] == story
    assert driver.status()["phase"] == phase


def test_a_container_in_backoff_has_the_waiting_reason():
    driver = LifecycleDriver(Lifecycle())
    driver.put(a_pod(annotations={f"{RUN}/delay": "1m", f"{RUN}/exit-code": "2"}))
    driver.run(125)
    (container,) = driver.status()["containerStatuses"]
    assert container["restartCount"] == 1
    assert container["state"]["waiting"]["reason"] == "CrashLoopBackOff"
    assert container["state"]["waiting"]["message"].startswith("back-off 10s restarting failed")
    assert container["lastState"]["terminated"]["exitCode"] == 2
    ready = {c["type"]: c for c in driver.status()["conditions"]}["Ready"]
    assert (ready["status"], ready["reason"]) == ("False", "ContainersNotReady")
    driver.run(131)
    ready = {c["type"]: c for c in driver.status()["conditions"]}["Ready"]
    assert ready == {"type": "Ready", "status": "True", "lastTransitionTime": at(130)}


def test_a_backoff_of_more_than_a_minute_is_written_as_go_writes_it():
    driver = LifecycleDriver(Lifecycle())
    driver.put(a_pod(annotations={f"{RUN}/delay": "1m", f"{RUN}/exit-code": "2"}))
    driver.run(440)  # the fifth exit: 5 runs of a minute, and back-offs of 0, 10, 20, 40 s
    (container,) = driver.status()["containerStatuses"]
    message = container["state"]["waiting"]["message"]
    assert message.startswith("back-off 1m20s restarting failed container=")


@pytest.mark.parametrize(
    ("restart_count", "ran_s", "wait_s"),
    [
        pytest.param(0, 1, 0, id="the first restart is immediate"),
        pytest.param(1, 1, 10, id="then 10 s"),
        pytest.param(5, 1, 160, id="doubled each time"),
        pytest.param(6, 1, 300, id="up to five minutes"),
        pytest.param(9_999, 1, 300, id="and no longer"),
        pytest.param(9, 600, 0, id="immediate after ten minutes without a restart"),
    ],
)
def test_backoff(restart_count, ran_s, wait_s):
    assert backoff_ns(restart_count, ran_s * SECOND) == wait_s * SECOND


def test_a_pod_of_the_trace_ends_at_its_second():
    life = Lifecycle(default_stages(trace_start_ns=NOW - 100 * SECOND))
    driver = LifecycleDriver(life)
    driver.put(a_pod("on-time", annotations={"alibabacloud.com/deletion-time": "250"}))
    driver.put(a_pod("too-late", annotations={"alibabacloud.com/deletion-time": "90"}))
    driver.run()
    assert (150, "pod-finish", "default/on-time") in driver.story
    assert (0, "pod-finish", "default/too-late") in driver.story
    assert driver.status("default/on-time")["phase"] == "Succeeded"


def test_a_trace_starts_at_1970_by_default():
    driver = LifecycleDriver(Lifecycle())
    second = NOW // SECOND + 7
    driver.put(a_pod(annotations={"alibabacloud.com/deletion-time": f"{second}"}))
    driver.run()
    assert driver.story[-1] == (7, "pod-finish", "default/web")


def test_a_pod_of_the_trace_that_runs_without_statuses_ends_with_them():
    driver = LifecycleDriver(Lifecycle(default_stages(trace_start_ns=NOW - 100 * SECOND)))
    spec = {"containers": [{"name": "c", "image": "i"}]}
    annotations = {"alibabacloud.com/deletion-time": "250"}
    driver.put(a_pod("web", spec=spec, annotations=annotations, status={"phase": "Running"}))
    driver.run()
    (container,) = driver.status("default/web")["containerStatuses"]
    assert (container["name"], container["image"]) == ("c", "i")
    assert container["state"]["terminated"]["finishedAt"] == at(150)


@pytest.mark.parametrize(
    ("first", "second", "played"), [(1, 1, "s0 s1"), (1, 0, "s0"), (0, 5, "s1")]
)
def test_stages_without_a_delay_are_drawn_by_their_weights(first, second, played):
    parts = (
        f"selector: {{}}, weight: {weight}, next: {{delete: true}}" for weight in (first, second)
    )
    driver = LifecycleDriver(Lifecycle(stages_of(*parts)))
    for index in range(40):
        driver.put(a_pod(f"p{index}"))
    driver.run()
    assert sorted({stage for _, stage, _ in driver.story}) == played.split()


def test_a_deleted_pod_is_removed_immediately_with_its_finalizers():
    driver = LifecycleDriver(Lifecycle())
    driver.put(a_pod(deletionTimestamp=at(30), finalizers=["a/b"]))
    (put, *_) = [event.event for event in driver.heap.entries()]
    actions = driver.life.handle(put, NOW)
    assert isinstance(actions[0], UpdateObject)
    assert (actions[0].obj.metadata.finalizers, actions[0].scope) == ((), "main")
    driver.execute(actions)
    assert not driver.objects
    driver.run()
    assert len(driver.story) == 2, "its changed finalizers do not remove it again"


def test_a_stop_delay_is_limited_by_the_grace_period():
    annotations = {"pod-delete.stage.kwok.x-k8s.io/delay": "5s"}
    for seed in range(20):
        driver = LifecycleDriver(Lifecycle(seed=seed))
        driver.put(a_pod(deletionTimestamp=at(30), annotations=annotations))
        driver.run()
        ((time, stage, _),) = driver.story
        assert stage == "pod-stop"
        assert 5 <= time < 30
    driver = LifecycleDriver(Lifecycle())
    driver.put(a_pod(deletionTimestamp=at(3), annotations=annotations))
    driver.run()
    assert driver.story == [(3, "pod-stop", "default/web")]


@pytest.mark.parametrize(
    ("annotations", "error"),
    [
        pytest.param(
            {"alibabacloud.com/deletion-time": "soon"}, "invalid number of seconds", id="t"
        ),
        pytest.param(
            {f"{RUN}/delay": "1s", f"{RUN}/exit-code": "x"}, "invalid exit code", id="code"
        ),
    ],
)
def test_an_invalid_annotation_is_reported(annotations, error):
    driver = LifecycleDriver(Lifecycle())
    driver.put(a_pod(annotations=annotations))
    with pytest.raises(StageError, match=f"^annotation stages: .*: Pod default/web: .*{error}"):
        driver.run()


FAST_STAGES = Path(__file__).with_name("fast_stages.yaml").read_text(encoding="utf-8")


def test_fast_stages_equal_their_templates():
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
        for driver in players:
            driver.put(obj)
            driver.run()
        fast, plain = players
        assert fast.story
        assert fast.story == plain.story
        assert fast.objects == plain.objects


def test_a_delay_may_be_the_time_at_which_it_ends():
    driver = LifecycleDriver(Lifecycle())
    annotations = {f"{RUN}/delay": at(60)}
    driver.put(a_pod("early", spec={"restartPolicy": "Never"}, annotations=annotations))
    driver.run(20)
    driver.heap.advance(NOW + 20 * SECOND)
    driver.put(a_pod("late", spec={"restartPolicy": "Never"}, annotations=annotations))
    driver.run()
    assert [entry for entry in driver.story if entry[1] == "pod-exit"] == [
        (60, "pod-exit", "default/early"),
        (60, "pod-exit", "default/late"),
    ]


def test_a_pod_keeps_an_address_assigned_before_it_was_in_the_status():
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


def test_an_irrelevant_change_does_not_reschedule_the_stage():
    driver = LifecycleDriver(Lifecycle(stages_of(WAIT)))
    driver.put(a_pod())
    driver.run(40)
    driver.heap.advance(NOW + 40 * SECOND)
    assert driver.life.handle(ObjectPut(a_pod(labels={"x": "y"})), driver.heap.now_ns) == []
    driver.put(a_pod(labels={"d": "5s"}))
    driver.run()
    assert driver.story == [(45, "s0", "default/web")]


def test_values_that_are_no_texts_give_the_delays_that_are_set():
    for field in ("durationFrom", "jitterDurationFrom"):
        delay = f"durationMilliseconds: 5000, {field}: {{expressionFrom: .metadata.finalizers}}"
        stage = f"selector: {{}}, delay: {{{delay}}}, next: {{statusTemplate: 'phase: Running'}}"
        driver = LifecycleDriver(Lifecycle(stages_of(stage)))
        driver.put(a_pod(finalizers=["a/b"]))
        driver.run(8)
        assert driver.story == [(5, "s0", "default/web")]


def test_another_choice_of_stages_is_drawn_again():
    def stage(labels: str, seconds: int) -> str:
        delay = f"delay: {{durationMilliseconds: {seconds * 1000}}}"
        return f"selector: {{matchLabels: {labels}}}, weight: 1, {delay}, next: {{delete: true}}"

    driver = LifecycleDriver(
        Lifecycle(stages_of(stage("{a: x}", 60), stage("{a: x}", 60), stage("{b: x}", 9)))
    )
    driver.put(a_pod(labels={"a": "x"}))
    assert driver.heap.next_ns == NOW + 60 * SECOND
    for labels in ({"a": "x", "b": "x"}, {"b": "x"}):
        before = len(driver.heap)
        driver.put(a_pod(labels=labels))
        assert len(driver.heap) == before + 1, "another one is scheduled"
        driver.put(a_pod(labels=labels, annotations={"c": "d"}))
        assert len(driver.heap) == before + 1, "not for what the choice does not depend on"
    driver.run()
    assert [at_s for at_s, _, _ in driver.story] == [9]


def test_a_scheduled_stage_is_canceled_when_it_no_longer_applies():
    driver = LifecycleDriver(Lifecycle(stages_of(WAIT)))
    driver.put(a_pod())
    driver.put(a_pod(status={"phase": "Pending"}))
    driver.run(60)
    assert driver.story == []
    driver.put(a_pod())
    driver.delete(a_pod())
    driver.run()
    assert driver.story == []


def test_a_removed_object_is_not_removed_again_by_changes_during_its_deletion():
    life = Lifecycle()
    (plan,) = life.handle(ObjectPut(a_pod(deletionTimestamp=at(30))), NOW)
    assert isinstance(plan, ScheduleStage)
    (removal,) = life.handle(plan.event, NOW)
    assert isinstance(removal, DeleteObject)
    ending = a_pod(deletionTimestamp=at(0), deletionGracePeriodSeconds=0)
    for each in (life, restored(life, ending)):
        assert each.handle(ObjectPut(ending), NOW) == []
        assert each.handle(plan.event, NOW) == []
        each.validate()
    (again,) = life.handle(ObjectPut(a_pod(uid="another", deletionTimestamp=at(30))), NOW)
    assert isinstance(again, ScheduleStage)


def test_a_pod_removed_on_a_down_node_is_not_due_when_the_node_is_up():
    life = Lifecycle()
    pod = a_pod(deletionTimestamp=at(30))
    (plan,) = life.handle(ObjectPut(pod), NOW)
    assert isinstance(plan, ScheduleStage)
    life.handle(plan.event, NOW)
    life.handle(NodeDown("n1"), NOW)
    assert restored(life, pod).handle(NodeUp("n1"), NOW) == []


def test_a_stage_that_was_deferred_is_due_when_the_node_is_up():
    life = Lifecycle()
    (plan,) = life.handle(ObjectPut(a_pod()), NOW)
    assert isinstance(plan, ScheduleStage)
    life.handle(NodeDown("n1"), NOW)
    assert life.handle(plan.event, NOW) == []
    assert life.handle(NodeUp("n1"), NOW) == [plan]


def test_a_stage_that_is_still_to_come_is_not_scheduled_again_when_the_node_is_up():
    life = Lifecycle()
    (plan,) = life.handle(ObjectPut(a_pod()), NOW)
    assert isinstance(plan, ScheduleStage)
    assert plan.due_ns == NOW
    life.handle(NodeDown("n1"), NOW)
    assert life.handle(NodeUp("n1"), NOW) == []


def test_a_new_object_of_the_same_name_has_a_new_state():
    driver = LifecycleDriver(Lifecycle(stages_of(WAIT)))
    driver.put(a_pod())
    driver.run(40)
    driver.heap.advance(NOW + 40 * SECOND)
    driver.put(a_pod(uid="another"))
    driver.run()
    assert driver.story == [(100, "s0", "default/web")]


def test_changes_of_a_store_are_handled_like_events():
    by_event, by_change = Lifecycle(), Lifecycle()
    pod, another = a_pod(), a_pod(uid="another")
    kind = ("", "Pod")
    for version, (old, new) in enumerate([(None, pod), (pod, another), (another, None)], start=2):
        event = ObjectDeleted(another) if new is None else ObjectPut(new)
        change = change_of(version, kind, pod.key, old, new)
        assert by_change.handle_change(change, NOW) == by_event.handle(event, NOW)
        assert by_change.state() == by_event.state()
    assert by_change.state().objects == ()
    assert by_change.state().schedule_count == 2, "another pod of that name is scheduled again"


def test_kinds_without_stages_are_ignored():
    life = Lifecycle(stages_of(WAIT))
    assert life.kinds == [("", "Pod")]
    assert life.handle(ObjectPut(a_node()), NOW) == []
    assert life.handle(ObjectDeleted(a_node()), NOW) == []
    assert life.handle(StageDue("", "Node", "n1", 0), NOW) == []


def test_a_stage_with_everything():
    stage = (
        "selector: {}, next: {"
        "event: {type: Normal, reason: Hi, message: 'I am {{ .metadata.name }}'},"
        " finalizers: {add: [{value: a/b}]},"
        " patches: [{root: status, subresource: status, template: 'phase: {{ Now | Quote }}'},"
        " {root: metadata, type: json,"
        " template: '[{op: add, path: /labels, value: {a: b}}]'}]}"
    )
    life = Lifecycle(stages_of(stage, kind="Custom"))
    document = {"apiVersion": "v1", "kind": "Custom", "metadata": {"name": "c", "uid": "1"}}
    driver = LifecycleDriver(life)
    (plan,) = life.handle(ObjectPut(decode(document, source="t")), NOW)
    assert isinstance(plan, ScheduleStage)
    event, put = life.handle(plan.event, NOW)
    assert isinstance(put, UpdateObject)
    driver.execute([event])
    assert driver.notes == ["Normal Hi: I am {{ .metadata.name }}"]
    assert put.scope == "whole"
    assert put.obj.raw == document | {
        "metadata": {"name": "c", "uid": "1", "finalizers": ["a/b"], "labels": {"a": "b"}},
        "status": {"phase": at(0)},
    }


def test_a_stage_may_be_played_often_at_different_times():
    beat = (
        "selector: {}, delay: {durationMilliseconds: 1000},"
        " immediateNextStage: true, next: {statusTemplate: 'beat: {{ Now | Quote }}'}"
    )
    driver = LifecycleDriver(Lifecycle(stages_of(beat, kind="Node")))
    driver.put(a_node())
    driver.run(150)
    assert [time for time, _, _ in driver.story] == list(range(1, 151))


def test_an_immediate_stage_continues_although_nothing_changed():
    beat = (
        "selector: {}, delay: {durationMilliseconds: 20000, jitterDurationMilliseconds: 25000}, "
        "immediateNextStage: true, next: {statusTemplate: 'beat: {{ Now | Quote }}'}"
    )
    driver = LifecycleDriver(Lifecycle(stages_of(beat, kind="Node")))
    driver.put(a_node())
    driver.run(100)
    times = [time for time, _, _ in driver.story]
    gaps = [later - earlier for earlier, later in zip([0, *times], times, strict=False)]
    assert len(times) in {4, 5}
    assert all(20 <= gap < 25 for gap in gaps)
    assert len(set(gaps)) == len(gaps)


def test_an_endless_loop_of_stages_is_an_error():
    endless = "selector: {}, next: {statusTemplate: 'n: {{ add1 .status.n }}'}"
    driver = LifecycleDriver(Lifecycle(stages_of(endless)))
    driver.put(a_pod())
    with pytest.raises(
        StageError, match="Pod default/web: more than 100 stages at one time, the la"
    ):
        driver.run()


@pytest.mark.parametrize(
    ("template", "error", "message"),
    [
        pytest.param("a: {{ index .spec.containers 9 }}", StageError, "line 1: index: 9", id="run"),
        pytest.param("$patch: drop", StageError, "unknown patch type: drop", id="patch"),
        pytest.param("a: [", StageError, "is not YAML", id="text"),
        pytest.param(
            "phase: Runing", InputError, 'status.phase: Unsupported value: "Runing"', id="object"
        ),
    ],
)
def test_the_error_of_a_stage_names_the_stage_and_the_object(template, error, message):
    stages = stages_of(f'selector: {{}}, next: {{statusTemplate: "{template}"}}')
    driver = LifecycleDriver(Lifecycle(stages))
    driver.put(a_pod(status={"phase": "Pending"}))
    with pytest.raises(error, match=message) as raised:
        driver.run()
    place = "s.yaml: document 1 (line 1): Stage s0: Pod default/web: "
    assert str(raised.value).startswith(place)


def first_write(life: Lifecycle) -> UpdateObject:
    (scheduled,) = life.handle(ObjectPut(a_pod("p")), NOW)
    assert isinstance(scheduled, ScheduleStage)
    (update,) = life.handle(scheduled.event, NOW)
    assert isinstance(update, UpdateObject)
    return update


def test_a_rejected_write_is_an_event_and_a_warning_where_it_was_delivered():
    life = Lifecycle()
    update = first_write(life)
    with pytest.warns(UserWarning, match="stages: no quota") as caught:
        (event,) = life.rejected(update, PodwrightError("no quota"))
    assert (event.key, event.type, event.note) == ("default/p", "Warning", "no quota")
    assert [warning.filename for warning in caught] == [__file__]


def test_an_object_that_fails_has_no_stage_until_it_changes():
    reports = []
    life = Lifecycle(report_failure=lambda *report: reports.append(report))
    driver = LifecycleDriver(life)
    status = {"phase": "Running", "containerStatuses": [{"name": "main", "state": {"running": {}}}]}
    exits, never = {f"{RUN}/delay": "100s"}, {"restartPolicy": "Never"}
    for given in (exits, {"alibabacloud.com/deletion-time": "soon"}):
        driver.put(a_pod(status=status, spec=never, annotations=given))
    driver.run(200)
    assert len(reports) == 1
    assert driver.story == []
    driver.put(a_pod(status=status, spec=never, annotations=exits))
    driver.run(300)
    assert [stage for _, stage, _ in driver.story] == ["pod-exit"]


def test_a_rejected_write_is_reported_where_failures_are():
    reports: list[tuple[object, ...]] = []
    life = Lifecycle(report_failure=lambda *report: reports.append(report))
    update, error = first_write(life), ValueError("no quota")
    (event,) = life.rejected(update, error)
    assert (event.uid, event.note) == ("uid-p", "ValueError: no quota")
    assert reports == [("stages", "default/p", error)]


@pytest.mark.parametrize("is_change", [False, True])
def test_the_error_of_a_new_object_is_an_event_where_failures_are_reported(is_change):
    reports: list[tuple[object, ...]] = []
    running = {"phase": "Running", "podIP": "10.1.0.1", "hostIP": "10.0.0.1"}
    pod = a_pod(annotations={"alibabacloud.com/deletion-time": "soon"}, status=running)

    def put(life: Lifecycle) -> list[LifecycleAction]:
        if is_change:
            return life.handle_change(change_of(2, ("", "Pod"), pod.key, None, pod), NOW)
        return life.handle(ObjectPut(pod), NOW)

    (event,) = put(Lifecycle(report_failure=lambda *report: reports.append(report)))
    assert isinstance(event, RecordEvent)
    assert (event.key, event.uid, event.reason) == ("default/web", "uid-web", "StageFailed")
    assert [report[:2] for report in reports] == [("stages", "default/web")]
    with pytest.raises(StageError, match="invalid number of seconds"):
        put(Lifecycle())


def test_an_object_of_the_kind_stage_replaces_the_stage_of_its_name():
    def of_phase(phase: str) -> Object:
        status = {"statusTemplate": f"phase: {phase}"}
        spec = {"resourceRef": {"apiGroup": "v1", "kind": "Pod"}, "selector": {}, "next": status}
        api = {"apiVersion": "kwok.x-k8s.io/v1alpha1", "kind": "Stage"}
        return decode({**api, "metadata": {"name": "s"}, "spec": spec})

    life, pod = Lifecycle(stages=(), objects_of=lambda _: ()), a_pod()
    former = None
    for phase in ("Running", "Failed"):
        stage = of_phase(phase)
        assert life.handle_change(change_of(2, STAGE, "s", former, stage), NOW) == []
        former = stage
    assert life.kinds == [("", "Pod"), STAGE]
    (scheduled,) = life.handle(ObjectPut(pod), NOW)
    assert isinstance(scheduled, ScheduleStage)
    (update,) = life.handle(scheduled.event, NOW)
    assert isinstance(update, UpdateObject)
    assert update.obj.raw["status"]["phase"] == "Failed"
    assert life.handle_change(change_of(3, STAGE, "s", former, None), NOW) == []
    assert life.kinds == [STAGE]


def test_a_stage_may_become_one_of_another_kind():
    def of_kind(kind: str) -> Object:
        spec = {"resourceRef": {"apiGroup": "v1", "kind": kind}, "selector": {},
                "next": {"statusTemplate": "phase: x"}}  # fmt: skip
        return decode({**STAGE_API, "metadata": {"name": "s"}, "spec": spec})

    life = Lifecycle(stages=(), objects_of=lambda _: ())
    former = None
    for kind in ("Pod", "Service", "Node"):
        stage = of_kind(kind)
        life.handle_change(change_of(2, STAGE, "s", former, stage), NOW)
        assert life.kinds == sorted([("", kind), STAGE])
        former = stage


def test_a_restored_machine_has_the_stages_of_the_objects():
    spec = {"resourceRef": {"apiGroup": "v1", "kind": "Pod"}, "selector": {},
            "delay": {"durationMilliseconds": 5000},
            "next": {"statusTemplate": "phase: x"}}  # fmt: skip
    stage, pod = decode({**STAGE_API, "metadata": {"name": "s"}, "spec": spec}), a_pod()
    life, again = (Lifecycle(stages=(), objects_of=lambda _: ()) for _ in range(2))
    life.handle_change(change_of(2, STAGE, "s", None, stage), NOW)
    life.handle(ObjectPut(pod), NOW)
    assert [each.key for each in life.state().objects] == [pod.key]
    # A node of the same name is not a stage.
    again.restore(life.state(), [pod, stage, a_node("s")])
    assert (again.kinds, again.state()) == (sorted([("", "Pod"), STAGE]), life.state())
    again.handle_change(change_of(3, STAGE, "s", stage, None), NOW)
    assert again.kinds == [STAGE]


def test_a_machine_whose_stages_are_given_reads_none_from_objects():
    spec = {"resourceRef": {"apiGroup": "v1", "kind": "Service"}, "selector": {},
            "next": {"statusTemplate": "phase: x"}}  # fmt: skip
    stage, pod = decode({**STAGE_API, "metadata": {"name": "s"}, "spec": spec}), a_pod()
    life, again = Lifecycle(default_stages()), Lifecycle(default_stages())
    life.handle(ObjectPut(pod), NOW)
    again.restore(life.state(), [pod, stage])
    assert (again.kinds, again.state()) == (life.kinds, life.state())


STAGE_API = {"apiVersion": "kwok.x-k8s.io/v1alpha1", "kind": "Stage"}
JITTER = {"delay": {"jitterDurationFrom": {"cel": {"expression": "1"}}}}


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        pytest.param({"next": {"statusTemplate": "{{"}}, "statusTemplate", id="an error"),
        pytest.param({"next": {"delete": True}, **JITTER}, "KWOK ignores it here", id="a note"),
    ],
)
def test_a_stage_that_is_not_valid_or_has_notes_is_reported_where_failures_are(spec, text):
    head = {"resourceRef": {"apiGroup": "v1", "kind": "Pod"}, "selector": {}}
    stage = decode({**STAGE_API, "metadata": {"name": "s", "uid": "u"}, "spec": {**head, **spec}})
    reports: list[Any] = []
    life = Lifecycle(
        stages=(), objects_of=lambda _: (), report_failure=lambda *each: reports.append(each)
    )
    (event,) = life.handle_change(change_of(2, STAGE, "s", None, stage), NOW)
    assert isinstance(event, RecordEvent)
    assert (event.object_kind, event.key, event.uid, event.type) == ("Stage", "s", "u", "Warning")
    ((room, key, problem),) = reports
    assert (room, key) == ("stages", "s")
    assert text in str(problem)
    assert type(problem) is (InputError if "statusTemplate" in spec["next"] else UserWarning)
    silent = Lifecycle(stages=(), objects_of=lambda _: ())
    if "next" in spec and "delete" in spec["next"]:
        with pytest.warns(UserWarning, match=text) as caught:
            silent.handle_change(change_of(2, STAGE, "s", None, stage), NOW)
        assert [warning.filename for warning in caught] == [__file__]
    else:
        with pytest.raises(InputError, match=text):
            silent.handle_change(change_of(2, STAGE, "s", None, stage), NOW)


def test_a_restored_machine_continues_like_the_original():
    def begun() -> LifecycleDriver:
        driver = LifecycleDriver(Lifecycle(seed=3))
        annotations = {f"{RUN}/delay": "1m", f"{RUN}/jitter-delay": "5m"}
        for name in "abc":
            driver.put(a_pod(name, spec={"restartPolicy": "Never"}, annotations=annotations))
        driver.put(a_node())
        driver.run(90)
        return driver

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
