"""Lines of events become operations at their times, or a list of all that is wrong with them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from podwright.apimachinery.objects import FIRST_NS, LAST_NS, KubernetesObject
from podwright.simulation.world.inputs.event_lines import EventLines
from podwright.simulation.world.inputs.operations import (
    Apply,
    Cordon,
    Create,
    Delete,
    Drain,
    FailNode,
    OnNodes,
    Patch,
    Put,
    RestoreNode,
    Scale,
    Update,
)
from podwright.testing import make_node, make_pod

START_NS = 1_000_000_000_000
SECOND = 1_000_000_000
HERE = (make_node("n1"),)

NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}
POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p", "namespace": "a", "uid": "u1"},
    "spec": {"containers": [{"name": "c", "image": "app"}]},
}


CLAIM = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "c"}}
LEASE = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "n1"}}


def place(line: int) -> str:
    return f"e.jsonl: line {line}"


def read(
    *lines: Any,
    there: tuple[KubernetesObject, ...] = HERE,
    end: str = "\n",
    start_ns: int = START_NS,
) -> EventLines:
    data = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines) + end
    numbered = [
        (number, text.encode(), number < data.count("\n") + 1)
        for number, text in enumerate(data.split("\n"), start=1)
        if text
    ]
    return EventLines(lambda: numbered, "e.jsonl", start_ns, there)


def errors_of(*lines: Any) -> list[str]:
    return list(map(str, read(*lines).errors))


def recorded(event: str, resource: dict[str, Any], second: int = 0) -> dict[str, Any]:
    return {"time": f"2026-03-02T10:00:{second:02}Z", "event": event, "resource": resource}


def with_parts(document: dict[str, Any], **parts: dict[str, Any]) -> dict[str, Any]:
    return document | {name: document.get(name, {}) | part for name, part in parts.items()}


@pytest.mark.parametrize("uid", ["u1", ""])
def test_a_pod_is_applied_or_created_as_its_line_says(uid):
    one, other = (with_parts(POD, metadata={"name": name, "uid": uid}) for name in "pq")
    lines = read({"at": "0s", "create": one}, {"at": "0s", "apply": other})
    found = [
        (type(each), each.obj.name) for _, each in lines if isinstance(each, Apply | Create | Put)
    ]
    assert found == [(Create, "p"), (Apply, "q")]


@pytest.mark.parametrize(
    ("metadata", "spec", "is_added"),
    [
        pytest.param({"uid": ""}, {}, False, id="a new one"),
        pytest.param({"uid": "u1"}, {}, True, id="one with a uid, which another may have"),
        pytest.param({"uid": ""}, {"nodeName": "n"}, True, id="of a node"),
        pytest.param({"uid": ""}, {"priorityClassName": "c"}, True, id="of a priority class"),
        pytest.param({"uid": ""}, {"runtimeClassName": "c"}, True, id="of a runtime class"),
    ],
)
def test_pods_are_reviewed_for_what_they_refer_to(metadata, spec, is_added):
    lines = read({"at": "0s", "create": with_parts(POD, metadata=metadata, spec=spec)})
    assert [each.object.name for each in lines.added] == ["p"] * is_added


@pytest.mark.parametrize(
    ("start_ns", "after", "is_possible"),
    [(FIRST_NS, "0s", True), (LAST_NS - 1, "0s", True), (LAST_NS - 1, "1ns", False)],
)
def test_lines_are_due_in_the_years_that_can_be_simulated(start_ns, after, is_possible):
    lines = read({"after": after, "drain": "n1"}, start_ns=start_ns)
    text = "e.jsonl: a line is due outside of the years that can be simulated, 1678 to 2261"
    assert list(map(str, lines.errors)) == ([] if is_possible else [text])


def test_lines_of_other_files_may_refer_to_what_no_controller_makes():
    """Objects that are there from the start are known to the other files too."""
    made = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}}
    pod = with_parts(POD, spec={"nodeName": "n1"})
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}
    other = with_parts(NODE, metadata={"name": "n2"})
    lines = read(*({"at": "0s", "create": each} for each in (made, pod, config, NODE, other)))
    assert lines.named == {(("", "ConfigMap"), "default/c"), (("", "Node"), "n2")}


@pytest.mark.parametrize(
    ("given", "patch", "found"),
    [
        ({}, {"spec": {}}, "strategic"),
        ({"type": None}, {"spec": {}}, "strategic"),
        ({"type": "strategic"}, {"spec": {}}, "strategic"),
        ({"type": "merge"}, {"spec": {}}, "merge"),
        ({"type": "json"}, [{"op": "test", "path": "/kind", "value": "Node"}], "json"),
    ],
)
def test_a_patch_has_the_type_of_its_line(given, patch, found):
    lines = read({"at": "1s", "patch": "node/n1", "with": patch} | given)
    assert [each for _, each in lines] == [Patch(("", "Node"), "n1", patch, found, place(1))]


def test_each_operation_has_its_time():
    template = {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "c", "image": "app"}]},
    }
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": template},
    }
    lines = read(
        {"at": "0s", "apply": deployment},
        {"at": "1s", "cordon": "n1"},
        {"at": "1s", "uncordon": "node/n1"},
        {"at": "2s", "drain": "n1"},
        {"at": "3s", "fail": "n1"},
        {"at": "3s", "fail": {"selector": "zone in (a, b)"}},
        {"at": "4s", "restore": "n1"},
        {"at": "5s", "scale": "deployment/web", "replicas": 3},
        {"at": "6s", "delete": "Pods/x", "namespace": "a", "gracePeriodSeconds": 0},
        {"at": "1970-01-01T00:16:47Z", "delete": "node/n1"},
    )
    timed = list(lines)
    assert [(due_ns - START_NS) // SECOND for due_ns, _ in timed] == [0, 1, 1, 2, 3, 3, 4, 5, 6, 7]
    assert isinstance(timed[0][1], Apply)
    assert [operation for _, operation in timed[1:]] == [
        Cordon("n1", place=place(2)),
        Cordon("n1", is_cordoned=False, place=place(3)),
        Drain("n1", place(4)),
        FailNode("n1", place(5)),
        OnNodes("fail", "zone in (a, b)"),
        RestoreNode("n1", place(7)),
        Scale(("apps", "Deployment"), "default/web", 3, place(8)),
        Delete(("", "Pod"), "a/x", grace_seconds=0, place=place(9)),
        Delete(("", "Node"), "n1", place=place(10)),
    ]
    assert list(lines) == timed
    assert lines.end_ns == START_NS + 7 * SECOND


@pytest.mark.parametrize(("fields", "second"), [({}, 1), ({"at": "5s"}, 6)])
def test_a_line_that_only_waits_has_no_operation(fields, second):
    wait = {"waitUntil": {"object": "pod/b", "exists": True}, **fields}
    lines = read(wait, {"after": "1s", "cordon": "n1"})
    assert lines.errors == []
    assert list(lines) == [(START_NS + second * SECOND, Cordon("n1", place=place(2)))]
    (error,) = errors_of({"waitUntil": {}, **fields})
    assert "waitUntil: Required value: specify one of scheduled" in error


@pytest.mark.parametrize(
    ("line", "message"),
    [
        pytest.param({"at": "soon", "drain": "n1"}, 'at: Invalid value: "soon"', id="no time"),
        pytest.param({"at": 5, "drain": "n1"}, "at: Invalid value: 5", id="a number as time"),
        pytest.param({"at": "-1s", "drain": "n1"}, "1s before the start", id="before the start"),
        pytest.param({"at": "1s"}, "one of apply, create, patch, delete", id="nothing to do"),
        pytest.param(
            {"at": "1s", "drain": "n1", "fail": "n1"}, "not drain and fail", id="two at once"
        ),
        pytest.param(
            {"at": "1s", "drain": "n1", "force": True},
            'force: unknown field "force"',
            id="unknown field",
        ),
        pytest.param(
            {"at": "1s", "drain": "n2"}, 'Node "n2" does not exist at that time', id="no such node"
        ),
        pytest.param({"at": "1s", "drain": 3}, "drain: Invalid value: 3", id="no name"),
        pytest.param({"at": "1s", "fail": {}}, "fail.selector: Required value", id="no selector"),
        pytest.param(
            {"at": "1s", "fail": {"selector": "a in b"}},
            "fail.selector: Invalid value",
            id="no label selector",
        ),
        pytest.param(
            {"at": "1s", "fail": {"selector": "a", "zone": "b"}},
            'fail.zone: unknown field "zone"',
            id="unknown field of a selection",
        ),
        pytest.param(
            {"at": "1s", "scale": "deployment/web", "replicas": 1},
            'Deployment "default/web" does not exist at that time',
            id="no such deployment",
        ),
        pytest.param(
            {"at": "1s", "scale": "replicaset/web"}, "replicas: Required value", id="no number"
        ),
        pytest.param(
            {"at": "1s", "scale": "pod/web", "replicas": 1},
            'scale: Unsupported value: "Pod"',
            id="not to be scaled",
        ),
        pytest.param(
            {"at": "1s", "scale": "replicaset/web", "replicas": -1},
            "replicas: Invalid value: -1",
            id="less than nothing",
        ),
        pytest.param(
            {"at": "1s", "scael": "deployment/web"},
            'scael: unknown field "scael"; did you mean "scale"?',
            id="a misspelt operation",
        ),
        pytest.param(
            {"at": "1s", "patch": "node/n1", "with": {"spec": {"$patch": "replace", "taint": []}}},
            'with.spec.taint: unknown field; did you mean "taints"?',
            id="a misspelt field of a patch",
        ),
        pytest.param(
            {"at": "1s", "patch": "node/n1", "with": {"spec": {"taints": [{"key": 1}]}}},
            "with.spec.taints[0].key: Invalid value: 1",
            id="a patch with a value of a wrong type",
        ),
        pytest.param({"at": "1s", "delete": "web"}, "must be kind/name", id="no kind"),
        pytest.param(
            {"at": "1s", "apply": NODE | {"status": {"allocatable": {"cpu": "many"}}}},
            "apply.status.allocatable",
            id="an object that cannot be read",
        ),
        pytest.param(
            {"at": "1s", "apply": NODE | {"kind": "Nod"}},
            'apply.kind: no matches for kind "Nod" in version "v1"; did you mean "Node"?',
            id="a misspelt kind",
        ),
        pytest.param(
            {"at": "1s", "apply": {"apiVersion": "v1", "kind": "Node", "metadata": {}}},
            "metadata.name",
            id="an object without a name",
        ),
        pytest.param("{broken", "not JSON", id="broken"),
    ],
)
def test_an_invalid_line_is_refused(line, message):
    (error,) = errors_of(line)
    assert error.startswith("e.jsonl: line 1: ")
    assert message in error


def test_all_errors_are_reported_with_their_lines():
    errors = errors_of(
        {"at": "2s", "drain": "n1"},
        "{broken",
        {"at": "1s", "drain": "n1"},
        recorded("Update", POD),
        {"at": "3s", "drain": "n7"},
    )
    assert [error.split(": ")[1] for error in errors] == ["line 2", "line 3", "line 4", "line 5"]
    assert "1s before the previous line" in errors[1]


def test_a_file_without_lines_is_refused():
    assert "no lines in this file" in errors_of("")[0]


def test_a_last_line_without_a_line_feed_is_ignored_and_reported():
    lines = read({"at": "1s", "drain": "n1"}, '{"at": "2s", "dra', end="")
    assert [operation for _, operation in lines] == [Drain("n1", place(1))]
    assert lines.unterminated_line == 2


def test_recorded_changes_keep_their_time_differences():
    lines = read(recorded("Add", NODE, 5), recorded("Add", POD, 9), {"at": "4s", "drain": "n1"})
    assert [due_ns - START_NS for due_ns, _ in lines] == [0, 4 * SECOND, 4 * SECOND]


def test_decreasing_times_are_refused_across_kinds_of_lines():
    errors = errors_of({"at": "10s", "drain": "n1"}, recorded("Add", NODE, 5))
    assert errors == ["e.jsonl: line 2: time: 10s before the previous line"]


@pytest.mark.parametrize(
    ("before", "change", "becomes"),
    [
        pytest.param([], recorded("Add", NODE), Put, id="a node is there"),
        pytest.param([], recorded("Add", POD), Put, id="a pod is there"),
        pytest.param(
            [recorded("Add", POD)], recorded("Update", POD), Update, id="a pending pod changes"
        ),
        pytest.param(
            [recorded("Add", POD)],
            recorded("Update", with_parts(POD, spec={"nodeName": "n1"})),
            None,
            id="their decision is not ours",
        ),
        pytest.param([recorded("Add", POD)], recorded("Delete", POD), Delete, id="a pod goes"),
        pytest.param(
            [],
            recorded(
                "Add", {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}}
            ),
            None,
            id="an owner is not copied",
        ),
        pytest.param(
            [recorded("Add", NODE)], recorded("Update", NODE), Put, id="a node is replaced"
        ),
        pytest.param([], recorded("Add", CLAIM), Put, id="a claim is there"),
        pytest.param(
            [recorded("Add", CLAIM)],
            recorded("Update", CLAIM),
            Update,
            id="a claim changes, and keeps the volume that it has here",
        ),
        pytest.param(
            [recorded("Add", CLAIM)], recorded("Delete", CLAIM), Delete, id="a claim goes"
        ),
        pytest.param([], recorded("Add", LEASE), None, id="a lease is no part of the run"),
    ],
)
def test_the_operation_of_a_recorded_change(before, change, becomes):
    operations = [operation for _, operation in read(*before, change, {"at": "1m", "drain": "n1"})]
    got = operations[len(before) : -1]
    assert [type(operation) for operation in got] == ([] if becomes is None else [becomes])


def test_a_recorded_pod_has_no_owners_and_no_status():
    owned = with_parts(
        POD,
        metadata={
            "ownerReferences": [
                {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "r1"}
            ]
        },
        status={"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False"}]},
    )
    ((_, put),) = read(recorded("Add", owned))
    assert isinstance(put, Put)
    assert "ownerReferences" not in put.obj.raw["metadata"]
    assert "status" not in put.obj.raw


def test_a_claim_that_was_created_for_a_pod_keeps_its_owner():
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "spec": {}}

    def claim_of(owner: str) -> dict[str, Any]:
        reference = {"apiVersion": "v1", "kind": "Pod", "name": owner, "uid": "u1"}
        metadata = {"name": f"{owner}-data", "namespace": "a", "ownerReferences": [reference]}
        return claim | {"metadata": metadata}

    lines = read(*(recorded("Add", each) for each in (POD, claim_of("p"), claim_of("missing"))))
    puts = [operation.obj for _, operation in lines if isinstance(operation, Put)]
    owners = {obj.name: [one.uid for one in obj.metadata.owner_references] for obj in puts}
    assert owners == {"p": [], "p-data": ["u1"], "missing-data": []}


def test_a_pod_with_a_node_in_its_first_line_keeps_it():
    bound = with_parts(POD, spec={"nodeName": "n1"}, status={"phase": "Running"})
    ((_, put),) = read(recorded("Add", bound))
    assert isinstance(put, Put)
    assert put.obj.raw["spec"]["nodeName"] == "n1"
    assert put.obj.raw["status"]["phase"] == "Running"


@pytest.mark.parametrize(("phase", "exit_code"), [("Succeeded", "0"), ("Failed", "1")])
def test_a_pod_that_ended_has_the_recorded_run_time(phase, exit_code):
    bound = with_parts(POD, spec={"nodeName": "n1"})
    ended = with_parts(bound, status={"phase": phase, "startTime": "2026-03-02T10:00:04Z"})
    lines = read(
        recorded("Add", POD, 1), recorded("Update", bound, 4), recorded("Update", ended, 34)
    )
    ((_, put),) = lines
    assert isinstance(put, Put)
    document = put.obj.raw
    assert document["metadata"]["annotations"] == {
        "pod-complete.stage.kwok.x-k8s.io/delay": "30s",
        "pod-complete.stage.kwok.x-k8s.io/exit-code": exit_code,
    }
    assert document["spec"]["restartPolicy"] == "Never"


def test_a_deleted_pod_has_no_recorded_end():
    bound = with_parts(POD, spec={"nodeName": "n1"})
    marked = with_parts(
        bound, metadata={"deletionTimestamp": "2026-03-02T10:00:09Z"}, status={"phase": "Failed"}
    )
    (_, put), (_, delete) = read(
        recorded("Add", POD, 1),
        recorded("Update", bound, 4),
        recorded("Update", marked, 9),
        recorded("Delete", marked, 10),
    )
    assert isinstance(put, Put)
    assert "annotations" not in put.obj.raw["metadata"]
    assert delete == Delete(("", "Pod"), "a/p", grace_seconds=0)


def test_operations_may_refer_to_recorded_objects():
    there = (make_pod("x"),)
    lines = read(recorded("Add", NODE), {"at": "1s", "drain": "n1"}, there=there)
    assert [operation for _, operation in lines][1:] == [Drain("n1", place(2))]
