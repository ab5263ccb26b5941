"""A machine whose stages are objects: they come, change and go, and their failures are reported."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import pytest

from podwright.apimachinery.objects import (
    InputError,
    KubernetesObject,
    NamespacedName,
    ObjectDeleted,
    ObjectPut,
)
from podwright.apimachinery.schema import decode
from podwright.cluster.api import (
    ApplyObject,
    BindPod,
    CreateObject,
    DeleteObject,
    EvictPod,
    NodeDown,
    NodeUp,
    PatchObject,
    RecordEvent,
    UpdateObject,
)
from podwright.cluster.kubelets import STAGE, Lifecycle, ScheduleStage, StageDue
from podwright.cluster.kubelets.stages.stage_play import (
    decode_changed,
    failure_event,
    object_of,
    scope_of,
)
from podwright.cluster.kubelets.tests.lifecycle_driver import NOW, SECOND, a_node, a_pod
from podwright.cluster.store import GroupKind, kind_of
from podwright.cluster.store.history import change_of

POD: GroupKind = ("", "Pod")
WIDGET: GroupKind = ("example.com", "Widget")


def a_stage(name: str, phase: str = "Running", *, kind: str = "Pod", **spec: Any) -> Any:
    """Return a Stage that gives objects without a phase one, after a second."""
    reference = {"apiGroup": "v1" if kind == "Pod" else "example.com/v1", "kind": kind}
    spec = {
        "resourceRef": reference,
        "selector": {"matchExpressions": [{"key": ".status.phase", "operator": "DoesNotExist"}]},
        "delay": {"durationMilliseconds": 1000},
        "next": {"statusTemplate": f"phase: {phase}"},
    } | spec
    api = "kwok.x-k8s.io/v1alpha1"
    return decode({"apiVersion": api, "kind": "Stage",
                   "metadata": {"name": name, "uid": f"{name}-uid"}, "spec": spec})  # fmt: skip


def a_widget(name: str = "w") -> Any:
    metadata = {"name": name, "namespace": "default", "uid": f"{name}-uid"}
    return decode({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": metadata})


class Bench:
    """A machine with the stages of its objects, whose failures are kept if they are reported."""

    def __init__(self, *objects: KubernetesObject, reports: bool = True) -> None:
        self.objects = {(kind_of(each), each.key): each for each in objects}
        self.failures: list[tuple[str, NamespacedName, str]] = []
        self.versions = itertools.count(2)
        self.life = Lifecycle(
            (),
            objects_of=self.of_kind,
            report_failure=(
                (lambda what, key, error: self.failures.append((what, key, str(error))))
                if reports
                else None
            ),
        )

    def of_kind(self, kind: GroupKind) -> list[Any]:
        return [obj for (found, _), obj in self.objects.items() if found == kind]

    def put(self, obj: Any, now_ns: int = NOW) -> list[Any]:
        """Deliver a change of an object; return what is scheduled and requested, in short."""
        kind, key = kind_of(obj), obj.key
        change = change_of(next(self.versions), kind, key, self.objects.get((kind, key)), obj)
        self.objects[kind, key] = obj
        return [in_short(each) for each in self.life.handle_change(change, now_ns)]

    def remove(self, obj: Any) -> list[Any]:
        kind, key = kind_of(obj), obj.key
        old = self.objects.pop((kind, key))
        change = change_of(next(self.versions), kind, key, old, None)
        return [in_short(each) for each in self.life.handle_change(change, NOW)]

    def due(self, number: int, obj: Any, seconds: int = 1) -> list[Any]:
        event = StageDue(*kind_of(obj), obj.key, number)
        return [in_short(each) for each in self.life.handle(event, NOW + seconds * SECOND)]


def in_short(action: Any) -> Any:
    match action:
        case ScheduleStage():
            return (action.stage, action.event.number, (action.due_ns - NOW) / SECOND)
        case UpdateObject():
            return f"{action.obj.key} {action.obj.raw['status']['phase']}"
        case RecordEvent():
            return f"{action.key} {action.reason}: {action.note}"
        case _:
            raise AssertionError(f"unknown: {action}")


def test_the_objects_of_a_kind_have_stages_as_soon_as_there_is_one():
    bench = Bench(a_widget("b"), a_widget("a"))
    assert bench.life.kinds == [STAGE]
    made = a_stage("s", kind="Widget")
    assert bench.put(made) == [("s", 0, 1), ("s", 1, 1)]
    assert bench.life.kinds == [WIDGET, STAGE]
    assert bench.life.has_received(a_widget("a"))
    assert bench.due(0, a_widget("b")) == ["default/b Running"]
    # The next one is scheduled as the former would have been.
    assert bench.put(a_widget("c")) == [("s", 2, 1)]
    assert bench.put(a_widget("c")) == [], "nothing has changed"


def test_a_stage_that_is_as_it_was_changes_nothing():
    bench = Bench(a_widget())
    made = a_stage("s", kind="Widget")
    assert bench.put(made) == [("s", 0, 1)]
    assert bench.put(made) == []
    labelled = decode(made.raw | {"metadata": made.raw["metadata"] | {"labels": {"a": "b"}}})
    assert bench.put(labelled) == []


def test_a_stage_that_changes_schedules_the_objects_of_its_kind_again():
    bench = Bench(a_widget("w"), a_pod("p"))
    bench.put(a_stage("s", kind="Widget"))
    assert bench.put(a_stage("s", "Ready", kind="Widget")) == [("s", 1, 1)]
    assert bench.due(0, a_widget("w")) == [], "that one was replaced"
    assert bench.due(1, a_widget("w")) == ["default/w Ready"]
    # No stage of that one is scheduled any more, so a stage that applies to it is.
    always: Any = {"selector": {}}
    assert bench.put(a_stage("s", "Late", kind="Widget", **always)) == [("s", 2, 1)]


def test_a_stage_that_moves_to_another_kind_leaves_the_first_one():
    bench = Bench(a_widget(), a_pod())
    bench.put(a_stage("s", kind="Widget"))
    assert bench.put(a_stage("s")) == [("s", 1, 1)]
    assert bench.life.kinds == [POD, STAGE]
    assert not bench.life.has_received(a_widget())
    assert bench.due(0, a_widget()) == []
    assert bench.due(1, a_pod()) == ["default/web Running"]


def test_a_kind_without_stages_is_no_kind_of_the_machine():
    bench = Bench(a_widget())
    made = a_stage("s", kind="Widget")
    bench.put(made)
    assert bench.remove(made) == []
    assert bench.life.kinds == [STAGE]
    assert bench.due(0, a_widget()) == []
    assert bench.put(made) == [("s", 1, 1)], "numbers are not used twice"


def test_the_other_stages_of_a_kind_stay_when_one_goes():
    first = a_stage("a", kind="Widget")
    done = {"matchExpressions": [{"key": ".status.phase", "operator": "In", "values": ["Running"]}]}
    second = a_stage("b", "Done", kind="Widget", selector=done)
    bench = Bench(first, second, a_widget())
    assert bench.put(a_widget()) == [("a", 0, 1)]
    assert bench.due(0, a_widget()) == ["default/w Running"]
    running = decode(a_widget().raw | {"status": {"phase": "Running"}})
    assert bench.put(running) == [("b", 1, 1)]
    assert bench.remove(first) == [("b", 2, 1)]
    assert bench.due(2, running) == ["default/w Done"]


def test_stages_that_exist_at_the_start_are_read_and_wrong_ones_left_out():
    wrong = a_stage("wrong", kind="Widget", delay={"durationMilliseconds": "x"})
    bench = Bench(a_stage("s", kind="Widget"), wrong)
    assert bench.life.kinds == [WIDGET, STAGE]
    assert bench.failures == []
    assert bench.put(a_widget()) == [("s", 0, 1)]


WRONG = a_stage("s", kind="Widget", delay={"durationMilliseconds": "x"})


def test_a_stage_that_cannot_be_read_is_reported_and_has_no_objects():
    bench = Bench(a_widget())
    bench.put(a_stage("s", kind="Widget"))
    (event,) = bench.put(WRONG)
    assert event.startswith("s StageFailed: Stage s: spec.delay.durationMilliseconds: ")
    assert [each[:2] for each in bench.failures] == [("stages", "s")]
    assert bench.life.kinds == [STAGE], "its former content has no effect any more"
    assert bench.put(a_stage("s", kind="Widget")) == [("s", 1, 1)]


def test_a_stage_that_cannot_be_read_is_an_error_where_nothing_is_reported():
    bench = Bench(a_widget(), reports=False)
    with pytest.raises(InputError, match=r"Stage s: spec\.delay"):
        bench.put(WRONG)


def test_what_has_no_effect_in_a_stage_is_a_warning():
    idle = a_stage("s", kind="Widget", weightFrom={"expressionFrom": ".x"}, weight=3)
    bench = Bench(a_widget())
    found = bench.put(idle)
    assert found[0] == ("s", 0, 1)
    notes = found[1:]
    assert [each.partition(":")[0] for each in notes] == ["s StageWarning"] * len(notes)
    assert len(bench.failures) == len(notes)
    quiet = Bench(a_widget(), reports=False)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        quiet.put(idle)
    assert len(caught) == len(notes)


# -------------------------------------------------------------------------------- failures


def a_failing_stage(name: str = "s") -> Any:
    return a_stage(name, kind="Widget", next={"statusTemplate": "phase: {{ index .spec 3 }}"})


def test_the_failure_of_one_object_is_its_event_and_the_others_go_on():
    bench = Bench(a_failing_stage(), a_stage("pods"))
    assert bench.put(a_widget("a")) == [("s", 0, 1)]
    assert bench.put(a_pod("p")) == [("pods", 1, 1)]
    (event,) = bench.due(0, a_widget("a"))
    assert event.startswith("default/a StageFailed: Stage s: Widget default/a: ")
    assert [each[:2] for each in bench.failures] == [("stages", "default/a")]
    assert bench.due(0, a_widget("a")) == [], "it has no stage until it changes"
    assert bench.due(1, a_pod("p")) == ["default/p Running"]
    assert bench.put(a_widget("a")) == [("s", 2, 1)]


def test_a_failure_is_an_error_where_nothing_is_reported():
    bench = Bench(a_failing_stage(), reports=False)
    bench.put(a_widget())
    with pytest.raises(Exception, match="Stage s: Widget default/w: "):
        bench.due(0, a_widget())


@pytest.mark.parametrize("event", [NodeDown("n1"), NodeUp("n1"), ObjectDeleted(a_widget())])
def test_events_that_cannot_fail_do_nothing_where_there_is_nothing(event):
    bench = Bench()
    assert bench.life.handle(event, NOW) == []
    assert bench.life.handle(ObjectPut(a_widget()), NOW) == [], "its kind has no stages"
    assert list(bench.life.silent_nodes) == (["n1"] if isinstance(event, NodeDown) else [])


def test_objects_that_were_received_are_known_by_their_uid():
    bench = Bench(a_stage("s", kind="Widget"))
    assert not bench.life.has_received(a_widget())
    bench.put(a_widget())
    other = decode(a_widget().raw | {"metadata": a_widget().raw["metadata"] | {"uid": "other"}})
    found = [bench.life.has_received(each) for each in (a_widget(), other, a_widget("x"), a_pod())]
    assert found == [True, False, False, False]
    bench.remove(a_widget())
    assert not bench.life.has_received(a_widget())


REQUESTS: list[tuple[Any, Any]] = [
    (UpdateObject(a_widget(), "status", "u"), (WIDGET, "default/w")),
    (ApplyObject(a_pod(), "main", "u"), (POD, "default/web")),
    (CreateObject(a_node(), "u"), (("", "Node"), "n1")),
    (PatchObject(WIDGET, "default/w", {}, "u", "status"), (WIDGET, "default/w")),
    (DeleteObject("example.com", "Widget", "default/w", "w-uid", "u", 0), (WIDGET, "default/w")),
    (BindPod("default/web", "n1", "", "u"), None),
    (EvictPod("default/web", "", "u"), None),
]


@pytest.mark.parametrize(
    ("request_", "about"), REQUESTS, ids=[type(each).__name__ for each, _ in REQUESTS]
)
def test_the_object_of_a_request(request_, about):
    assert object_of(request_) == about


def test_a_write_that_the_api_rejects_is_an_event_of_its_object():
    bench = Bench(a_stage("s", kind="Widget"))
    bench.put(a_widget())
    (event,) = bench.life.rejected(UpdateObject(a_widget(), "status", "u"), ValueError("why"))
    assert (event.group, event.object_kind, event.key, event.uid) == (*WIDGET, "default/w", "w-uid")
    assert (event.type, event.reason, event.note) == ("Warning", "StageFailed", "ValueError: why")
    assert bench.failures == [("stages", "default/w", "why")]
    (unknown,) = bench.life.rejected(
        UpdateObject(a_widget("x"), "status", "u"), InputError.of("f", "why", "x")
    )
    assert (unknown.key, unknown.uid) == ("default/x", "")
    assert bench.life.rejected(EvictPod("default/web", "", "u"), ValueError("why")) == []
    quiet = Bench(reports=False)
    with pytest.warns(UserWarning, match=r"^stages: why$"):
        (event,) = quiet.life.rejected(UpdateObject(a_widget(), "status", "u"), ValueError("why"))
    assert event.uid == ""


@pytest.mark.parametrize(
    ("error", "reason", "note"),
    [
        (InputError.of("f", "wrong", "spec"), "StageFailed", "f: spec: wrong"),
        (KeyError("x"), "StageFailed", "KeyError: 'x'"),
        (UserWarning("no effect"), "StageWarning", "no effect"),
    ],
)
def test_the_note_of_a_failure_names_an_unexpected_type(error, reason, note):
    event = failure_event(WIDGET, "default/w", "u", error)
    assert (event.reason, event.note, event.type, event.uid) == (reason, note, "Warning", "u")


# -------------------------------------------------------------------- documents of changes


@pytest.mark.parametrize(
    ("before", "after", "scope"),
    [
        pytest.param({"a": 1}, {"a": 2}, "main", id="without a status"),
        pytest.param({"a": 1, "status": {}}, {"a": 2, "status": {}}, "main", id="all but it"),
        pytest.param({"a": 1, "status": {}}, {"a": 1, "status": {"b": 1}}, "status", id="only it"),
        pytest.param({"a": 1}, {"a": 1, "status": {"b": 1}}, "status", id="it is new"),
        pytest.param({"a": 1, "status": {"b": 1}}, {"a": 1}, "status", id="it is gone"),
        pytest.param({"a": 1}, {"a": 2, "status": {}}, "whole", id="both"),
        pytest.param({"status": {}}, {"status": {"b": 1}, "a": 1}, "whole", id="and a new field"),
    ],
)
def test_which_part_of_an_object_differs(before, after, scope):
    assert scope_of(before, after) == scope


@pytest.mark.parametrize(
    "status", [{"phase": "Running"}, {"resources": {"requests": {"cpu": 1}}}, {}, None]
)
def test_a_changed_object_is_as_one_that_is_decoded_whole(status):
    pod = a_pod()
    after = pod.raw | {"status": status}
    found = decode_changed(pod, after, "status", source="here")
    assert found == decode(after)


def test_a_changed_status_that_is_none_is_an_error_with_its_place():
    after = a_pod().raw | {"status": {"phase": 3}}
    with pytest.raises(InputError, match=r"^here: status\.phase: "):
        decode_changed(a_pod(), after, "status", source="here")


def test_an_object_that_a_stage_removes_is_not_scheduled_by_a_change_of_its_stages():
    bench = Bench(a_widget())
    removes: Any = {"next": {"delete": True}}
    assert bench.put(a_stage("s", kind="Widget", **removes)) == [("s", 0, 1)]
    event = StageDue(*WIDGET, "default/w", 0)
    (request,) = bench.life.handle(event, NOW + SECOND)
    assert isinstance(request, DeleteObject)
    assert bench.put(a_stage("t", kind="Widget", **removes)) == []


def test_a_failure_of_an_object_that_is_not_known_is_no_failure():
    bench = Bench()
    bench.put(a_stage("s"))
    assert bench.put(a_stage("s", selector={})) == []
    assert bench.failures == []
