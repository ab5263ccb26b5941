"""The status that a Scenario of kube-scheduler-simulator gets."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.objects import InputError
from podwright.cluster.api import SCHEDULER_USER, DeleteObject
from podwright.scheduler.machine import SchedulerOptions
from podwright.simulation.scenarios import run_kep140
from podwright.simulation.scenarios.kep140_status import _Timeline, no_files
from podwright.testing import make_pod

Document = dict[str, Any]


def creation(step: int, obj: Document, identity: str = "") -> Document:
    return {"id": identity, "step": step, "createOperation": {"object": obj}}


def node(name: str = "n1", cpu: str = "1") -> Document:
    amounts = {"cpu": cpu, "pods": "9"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name},
        "status": {"allocatable": amounts, "capacity": amounts},
    }


def pod(name: str, priority: int | None = None) -> Document:
    requests = {"resources": {"requests": {"cpu": "1"}}}
    spec: Document = {"containers": [{"name": "c", "image": "i", **requests}]}
    if priority is not None:
        spec["priorityClassName"] = "system-node-critical"
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def of(*operations: Document, **spec: Any) -> Document:
    return {
        "apiVersion": "simulation.kube-scheduler-simulator.x-k8s.io/v1alpha1",
        "kind": "Scenario",
        "metadata": {"name": "s"},
        "spec": {"operations": list(operations), **spec},
    }


def statuses_of(document: Document) -> list[Document]:
    reported: list[Document] = []
    last = run_kep140(document, SchedulerOptions(), reported.append)
    return [*reported, last]


def events(status: Document) -> list[tuple[str, str, int, int]]:
    found = []
    for listed in status["scenarioResult"]["timeline"].values():
        for each in listed:
            (name,) = each.keys() - {"id", "step"}
            found.append((each["id"], name, each["step"]["major"], each["step"]["minor"]))
    return found


DONE = {"id": "end", "step": 3, "doneOperation": {}}


def test_each_step_has_its_operations_with_results_and_what_the_scheduler_did() -> None:
    first, second, last = statuses_of(
        of(creation(1, node(), "a"), creation(2, pod("web"), "b"), DONE)
    )
    assert [one["phase"] for one in (first, second, last)] == ["Running", "Running", "Succeeded"]
    assert events(first) == [("a", "create", 1, 0)]
    assert events(second) == [("b", "create", 2, 0), ("event-1", "podScheduled", 2, 1)]
    assert events(last) == [("end", "done", 3, 0)]
    created, bound = second["scenarioResult"]["timeline"]["2"]
    assert created["create"]["operation"]["object"] == pod("web")
    assert created["create"]["result"]["spec"]["schedulerName"] == "default-scheduler"
    assert "nodeName" not in created["create"]["result"]["spec"]
    assert bound["podScheduled"]["result"]["spec"]["nodeName"] == "n1"
    assert last["stepStatus"] == {
        "step": {"major": 3, "minor": 0},
        "phase": "Finished",
        "runningSimulationController": "scheduler",
    }


def test_an_operation_without_a_step_is_of_the_step_0() -> None:
    """As the zero of Go's MajorStep; the first step is not reported before its end."""
    (last,) = statuses_of(of({"createOperation": {"object": node()}}))
    assert last["stepStatus"]["step"] == {"major": 0, "minor": 0}
    assert list(last["scenarioResult"]["timeline"]) == ["0"]
    assert events(last) == [("event-1", "create", 0, 0)]


def test_the_operation_that_ends_a_scenario_lets_its_step_finish() -> None:
    last = statuses_of(of({**DONE, "step": 1}, creation(1, node()), creation(1, pod("web"))))[-1]
    assert last["phase"] == "Succeeded"
    assert [each[1] for each in events(last)] == ["create", "create", "podScheduled", "done"]


def test_a_preemption_is_a_deletion_by_the_scheduler() -> None:
    last = statuses_of(
        of(creation(1, node()), creation(1, pod("low")), creation(2, pod("high", 1)), DONE)
    )[1]
    assert [each[1:] for each in events(last)] == [
        ("create", 2, 0),
        ("delete", 2, 1),
        ("podScheduled", 2, 2),
    ]
    _, victim, _ = last["scenarioResult"]["timeline"]["2"]
    reference = victim["delete"]["operation"]
    assert reference["typeMeta"] == {"apiVersion": "v1", "kind": "Pod"}
    assert reference["objectMeta"]["name"] == "low"


def test_a_pod_that_is_created_on_a_node_is_not_scheduled() -> None:
    placed = pod("web")
    placed["spec"]["nodeName"] = "n1"
    (last,) = statuses_of(of(creation(1, node()), creation(1, placed)))
    assert [each[1:] for each in events(last)] == [("create", 1, 0), ("create", 1, 0)]


def test_a_pod_that_an_operation_deletes_is_not_preempted() -> None:
    reference = {"typeMeta": {"apiVersion": "v1", "kind": "Pod"}, "objectMeta": {"name": "low"}}
    deletion = {"step": 2, "deleteOperation": reference}
    last = statuses_of(of(creation(1, node()), creation(1, pod("low")), deletion, DONE))[1]
    assert [each[1:] for each in events(last)] == [("delete", 2, 0)]
    assert last["scenarioResult"]["timeline"]["2"][0]["delete"] == {"operation": reference}


@pytest.mark.parametrize(
    ("user", "error", "is_preemption"),
    [
        pytest.param(SCHEDULER_USER, None, True, id="the scheduler deletes its victim"),
        pytest.param(SCHEDULER_USER, ValueError("gone"), False, id="which is gone already"),
        pytest.param("system:node:n1", None, False, id="the kubelet ends the pod"),
    ],
)
def test_only_what_the_scheduler_has_deleted_is_preempted(user, error, *, is_preemption) -> None:
    timeline = _Timeline(lambda _: None)
    request = DeleteObject("", "Pod", "default/low", "", user)
    timeline.removal_handled(make_pod("low"), request, error, 0)
    assert events(timeline.status("Running")) == [("event-1", "delete", 0, 1)] * is_preemption


def test_patches_have_results_and_deletions_have_none() -> None:
    reference = {"typeMeta": {"apiVersion": "v1", "kind": "Node"}, "objectMeta": {"name": "n1"}}
    patch = {**reference, "patch": '{"metadata":{"labels":{"a":"b"}}}'}
    found = statuses_of(
        of(
            creation(1, node()),
            {"step": 2, "patchOperation": patch},
            {"step": 3, "deleteOperation": reference},
        )
    )
    patched = found[1]["scenarioResult"]["timeline"]["2"][0]["patch"]
    assert patched["result"]["metadata"]["labels"] == {"a": "b"}
    deleted = found[2]["scenarioResult"]["timeline"]["3"][0]["delete"]
    assert deleted == {"operation": reference}
    assert found[2]["phase"] == "Paused"


def test_a_rejected_operation_fails_the_scenario() -> None:
    last = statuses_of(of(creation(1, node()), creation(2, node()), DONE))[-1]
    assert last["phase"] == "Failed"
    assert 'nodes "n1" already exists' in last["message"]
    assert events(last) == [("event-2", "create", 2, 0)]


def test_operations_without_an_effect_are_in_the_message() -> None:
    reference = {"typeMeta": {"apiVersion": "v1", "kind": "Pod"}, "objectMeta": {"name": "low"}}
    deletion = {"step": 3, "deleteOperation": reference}
    preemption = (creation(1, node()), creation(1, pod("low")), creation(2, pod("high", 1)))
    last = statuses_of(of(*preemption, deletion, DONE))[-1]
    assert (last["phase"], last["message"]) == (
        "Succeeded",
        'Scenario: spec.operations[3]: Pod "default/low" does not exist when it is due;'
        " the operation had no effect",
    )


@pytest.mark.parametrize("operation", ["patchOperation", "deleteOperation"])
@pytest.mark.parametrize(
    ("reference", "message"),
    [
        pytest.param(
            {"typeMeta": {"apiVersion": "v1", "kind": "Node"}, "objectMeta": {}},
            "objectMeta.name: Required value",
            id="no name",
        ),
        pytest.param(
            {"typeMeta": {"apiVersion": "v1", "kind": "Nod"}, "objectMeta": {"name": "n1"}},
            'typeMeta: Invalid value: "v1 Nod": is not a known kind',
            id="no kind",
        ),
    ],
)
def test_an_operation_names_an_object(operation: str, reference: Document, message: str) -> None:
    patch = {"patch": "{}"} if operation == "patchOperation" else {}
    last = statuses_of(of(creation(1, node()), {"step": 2, operation: reference | patch}))[-1]
    assert last["phase"] == "Failed"
    assert last["message"] == f"Scenario: spec.operations[1].{operation}.{message}"


def test_a_scenario_of_a_server_reads_no_files() -> None:
    with pytest.raises(InputError) as caught:
        no_files(["a.yaml", "b.yaml"])
    assert list(map(str, caught.value.errors)) == [
        f"{name}: a scenario that a server runs has no files" for name in ("a.yaml", "b.yaml")
    ]


def test_mistakes_fail_the_scenario_all_at_once() -> None:
    last = statuses_of(of(creation(1, {"kind": "Pod"}), {"step": 2}))[-1]
    assert last["phase"] == "Failed"
    assert "spec.operations[0].createOperation.object" in last["message"]
    assert "spec.operations[1]" in last["message"]
