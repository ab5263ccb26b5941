"""Operations as requests, lines of operations, and what they wait for, with given objects."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from podwright.apimachinery.documents import decode as decode_struct
from podwright.apimachinery.objects import (
    Condition as ObjectCondition,
    FieldError,
    KubernetesObject,
    PodwrightError,
    encode,
    with_condition,
    with_fields,
)
from podwright.apimachinery.schema import decode
from podwright.cluster.api import (
    ApplyObject,
    CreateObject,
    DeleteObject,
    PatchObject,
    UpdateObject,
)
from podwright.cluster.store import NotFound, ObjectStore
from podwright.scheduler.machine import PatchPodGroupStatus
from podwright.simulation.world.inputs.conditions import (
    Condition,
    OperationSequence,
    Step,
    identity_of,
)
from podwright.simulation.world.inputs.operation_line import OperationLine
from podwright.simulation.world.inputs.operation_requests import (
    USER,
    MissingObject,
    request_of,
    require_object,
)
from podwright.simulation.world.inputs.operations import (
    ON_NODE,
    Apply,
    Cordon,
    Create,
    Delete,
    Drain,
    FailNode,
    Patch,
    Put,
    RestoreNode,
    Scale,
    Stop,
    Update,
    is_placed,
    may_update,
)
from podwright.simulation.world.scheduler_requests import _request_of
from podwright.testing import make_node, make_pod

POD, NODE, DEPLOYMENT = ("", "Pod"), ("", "Node"), ("apps", "Deployment")
CLAIM = ("", "PersistentVolumeClaim")


def claim(name: str, volume: str = "") -> KubernetesObject:
    spec: dict[str, Any] = {"accessModes": ["ReadWriteOnce"]}
    if volume:
        spec["volumeName"] = volume
    return decode(
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": name, "namespace": "default"},
            "spec": spec,
        }
    )


def deployment(name: str = "web", **status: Any) -> KubernetesObject:
    return decode(
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": name, "namespace": "default", "labels": {"a": "1", "b": "2"}},
            "spec": {
                "replicas": 1,
                "selector": {"matchLabels": {"app": "w"}},
                "template": {
                    "metadata": {"labels": {"app": "w"}},
                    "spec": {"containers": [{"name": "c", "image": "i"}]},
                },
            },
            **({"status": status} if status else {}),
        }
    )


PENDING, ON_N1 = make_pod("pending"), make_pod("placed", node="n1")
ENDED = with_fields(make_pod("ended"), "status", phase="Succeeded")


@pytest.fixture
def store() -> ObjectStore:
    made = ObjectStore()
    for obj in (
        make_node("n1"), PENDING, ON_N1, ENDED, claim("bound", "v"), claim("free"), deployment(),
    ):  # fmt: skip
        made.put(obj)
    return made


ABSENT = make_pod("absent")


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        (Apply(PENDING), ApplyObject(PENDING, "main", "kubernetes-admin")),
        (Apply(ABSENT), ApplyObject(ABSENT, "main", "kubernetes-admin")),
        (
            Apply(deployment(replicas=3), "status"),
            PatchObject(
                DEPLOYMENT, "default/web", {"status": {"replicas": 3}}, "kubernetes-admin", "status"
            ),
        ),
        (
            Apply(deployment(), "status"),
            PatchObject(DEPLOYMENT, "default/web", {"status": {}}, USER, "status"),
        ),
        (Apply(deployment("other", replicas=3), "status"), None),
        (Create(ABSENT), CreateObject(ABSENT, USER)),
        (Put(ON_N1), ApplyObject(ON_N1, "whole", USER)),
        (Update(PENDING), ApplyObject(PENDING, "main", USER)),
        (Update(claim("free")), ApplyObject(claim("free"), "main", USER)),
        (Update(ON_N1), None),
        (Update(ENDED), None),
        (Update(ABSENT), None),
        (Update(claim("bound")), None),
        (
            Delete(POD, "default/placed", 3),
            DeleteObject("", "Pod", "default/placed", "", USER, 3, "Background"),
        ),
        (
            Delete(DEPLOYMENT, "default/web"),
            DeleteObject("apps", "Deployment", "default/web", "", USER, None, "Background"),
        ),
        (
            Delete(POD, "default/pending", only_pending=True),
            DeleteObject("", "Pod", "default/pending", "", USER, None, "Background"),
        ),
        (Delete(POD, "default/placed", only_pending=True), None),
        (Delete(POD, "default/ended", only_pending=True), None),
        (Delete(POD, "default/absent"), None),
        (Cordon("n1"), PatchObject(NODE, "n1", {"spec": {"unschedulable": True}}, USER)),
        (
            Cordon("n1", is_cordoned=False),
            PatchObject(NODE, "n1", {"spec": {"unschedulable": None}}, USER),
        ),
        (Cordon("n2"), None),
        (
            Scale(DEPLOYMENT, "default/web", 0),
            PatchObject(DEPLOYMENT, "default/web", {"spec": {"replicas": 0}}, USER),
        ),
        (Scale(DEPLOYMENT, "default/x", 2), None),
        (Patch(POD, "default/absent", {}), None),
    ],
)
def test_the_request_of_an_operation(store, operation, expected):
    assert request_of(store, operation) == expected


LABELS = {"metadata": {"labels": {"a": None, "c": "3"}}}


@pytest.mark.parametrize(
    ("patch_type", "patch", "labels", "containers"),
    [
        ("merge", LABELS, {"b": "2", "c": "3"}, ["c"]),
        ("strategic", LABELS, {"b": "2", "c": "3"}, ["c"]),
        (
            "json",
            [{"op": "remove", "path": "/metadata/labels/a"}],
            {"b": "2"},
            ["c"],
        ),
        (
            "strategic",
            {"spec": {"template": {"spec": {"containers": [{"name": "d", "image": "j"}]}}}},
            {"a": "1", "b": "2"},
            ["d", "c"],
        ),
        (
            "merge",
            {"spec": {"template": {"spec": {"containers": [{"name": "d", "image": "j"}]}}}},
            {"a": "1", "b": "2"},
            ["d"],
        ),
    ],
)
def test_a_patch_is_an_update_by_its_type(store, patch_type, patch, labels, containers):
    found = request_of(store, Patch(DEPLOYMENT, "default/web", patch, patch_type))
    assert isinstance(found, UpdateObject)
    assert (found.scope, found.user) == ("main", USER)
    document = encode(found.obj)
    assert document["metadata"]["labels"] == labels
    names = [each["name"] for each in document["spec"]["template"]["spec"]["containers"]]
    assert names == containers


def test_a_patch_that_does_not_apply_is_an_error_that_names_the_object(store):
    patch = Patch(DEPLOYMENT, "default/web", [{"op": "remove", "path": "/x"}], "json")
    with pytest.raises(PodwrightError, match=r'^Deployment "default/web" cannot be patched: '):
        request_of(store, patch)


@pytest.mark.parametrize(
    ("obj", "has_place", "may_change"),
    [
        (PENDING, False, True),
        (ON_N1, True, False),
        (ENDED, True, False),
        (with_fields(make_pod("p"), "status", phase="Failed"), True, False),
        (with_fields(make_pod("p"), "status", phase="Running"), False, True),
        (make_node("n"), False, True),
        (claim("c"), False, True),
        (claim("c", "v"), False, False),
    ],
)
def test_a_recorded_decision_does_not_replace_a_simulated_one(obj, has_place, may_change):
    assert is_placed(obj) is has_place
    assert may_update(obj) is may_change
    assert not may_update(None)


def test_operations_on_a_node_by_their_names():
    assert {name: made("n", "e: line 1") for name, made in ON_NODE.items()} == {
        "cordon": Cordon("n", is_cordoned=True, place="e: line 1"),
        "uncordon": Cordon("n", is_cordoned=False, place="e: line 1"),
        "drain": Drain("n", "e: line 1"),
        "fail": FailNode("n", "e: line 1"),
        "restore": RestoreNode("n", "e: line 1"),
    }


@pytest.mark.parametrize(
    ("operation", "text"),
    [
        (Patch(POD, "a/x", {}, place="e"), 'e: Pod "a/x" does not exist'),
        (Delete(DEPLOYMENT, "a/x", place="e"), 'e: Deployment "a/x" does not exist'),
        (Scale(DEPLOYMENT, "a/x", 1, "e"), 'e: Deployment "a/x" does not exist'),
        (Cordon("n2", place="e"), 'e: Node "n2" does not exist'),
        (Drain("n2", "e"), 'e: Node "n2" does not exist'),
        (FailNode("n2", "e"), 'e: Node "n2" does not exist'),
        (RestoreNode("n2", "e"), 'e: Node "n2" does not exist'),
        (Delete(POD, "a/x"), ""),
        (Drain("n2"), ""),
        (Drain("n1", "e"), ""),
        (Delete(POD, "default/placed", place="e"), ""),
        (Stop(), ""),
    ],
)
def test_an_operation_that_a_user_wrote_needs_its_object(store, operation, text):
    found = ""
    try:
        require_object(store, operation)
    except MissingObject as error:
        found = str(error)
    assert found == text


# ------------------------------------------------------------------------------ lines

ONE_OF = (
    "specify one of apply, create, patch, delete, scale, cordon, uncordon, drain, fail, restore,"
    " waitUntil, done"
)


@pytest.mark.parametrize(
    ("line", "problems"),
    [
        ({}, [f"x: Required value: {ONE_OF}"]),
        ({"at": "1s"}, [f"x: Required value: {ONE_OF}"]),
        ({"drain": "a", "done": True}, [f"x: Required value: {ONE_OF}, not drain and done"]),
        ({"done": True}, []),
        ({"done": False}, ["x.done: Invalid value: false: must be true"]),
        ({"scale": "deployment/a"}, ["x.replicas: Required value"]),
        ({"scale": "deployment/a", "replicas": 0, "namespace": "n"}, []),
        ({"delete": "pod/a", "gracePeriodSeconds": 0, "namespace": "n"}, []),
        (
            {"delete": "pod/a", "replicas": 1},
            [
                'x.replicas: Unsupported value: "replicas": supported values: "at", "after",'
                ' "when", "step", "delete", "gracePeriodSeconds", "namespace"'
            ],
        ),
        ({"apply": {}, "subresource": "status", "step": 1, "when": {"settled": True}}, []),
        (
            {"create": {}, "subresource": "status"},
            [
                'x.subresource: Unsupported value: "subresource": supported values: "at", "after",'
                ' "when", "step", "create"'
            ],
        ),
        ({"patch": "pod/a", "with": {}}, []),
        ({"patch": "pod/a", "with": [], "type": "json"}, []),
        (
            {"patch": "pod/a"},
            ["x.with: Invalid value: null: must be an object: the patch"],
        ),
        (
            {"patch": "pod/a", "with": [], "type": "merge"},
            ["x.with: Invalid value: []: must be an object: the patch"],
        ),
        (
            {"patch": "pod/a", "with": {}, "type": "json"},
            ["x.with: Invalid value: {}: must be a list: the patch"],
        ),
    ],
)
def test_what_is_wrong_with_the_fields_of_a_line_together(line, problems):
    wrong: list[FieldError] = []
    decode_struct(line, OperationLine, "x", wrong)
    assert [str(each) for each in wrong] == problems


@pytest.mark.parametrize(
    ("condition", "problems"),
    [
        (
            {},
            [
                "x: Required value: specify one of scheduled, ready, gone, pendingAtMost,"
                " object, drained, settled"
            ],
        ),
        ({"scheduled": ""}, []),
        ({"ready": "", "count": 0}, []),
        ({"gone": "", "count": 1}, ["x.count: Forbidden: needs scheduled or ready"]),
        ({"drained": "n", "cel": "true"}, ["x.cel: Forbidden: needs object"]),
        (
            {"settled": True, "exists": True, "condition": "A"},
            ["x.exists: Forbidden: needs object", "x.condition: Forbidden: needs object"],
        ),
        (
            {"object": "web", "exists": True},
            ['x.object: Invalid value: "web": must be kind/name, such as deployment/web'],
        ),
        (
            {"object": "deployment/web"},
            ["x: Required value: an object needs one of exists, condition, cel"],
        ),
        ({"object": "deployment/web", "exists": False}, []),
        ({"pendingAtMost": 0, "timeout": "5s"}, []),
    ],
)
def test_what_is_wrong_with_the_fields_of_a_condition_together(condition, problems):
    wrong: list[FieldError] = []
    decode_struct(condition, Condition, "x", wrong)
    assert [str(each) for each in wrong] == problems


def test_an_expression_that_is_none_is_an_error_of_its_field():
    wrong: list[FieldError] = []
    decode_struct({"object": "pod/a", "cel": "self."}, Condition, "x", wrong)
    (error,) = wrong
    assert str(error).startswith('x.cel: Invalid value: "self.": ')


@pytest.mark.parametrize(
    ("text", "identity"),
    [
        ("deployment/web", (DEPLOYMENT, "s/web")),
        ("deploy/web", (DEPLOYMENT, "s/web")),
        ("node/n1", (NODE, "n1")),
        ("pod/a/b", (POD, "s/a/b")),
        ("pod/", None),
        ("pod", None),
        ("/a", None),
        ("thing/a", None),
        ("", None),
    ],
)
def test_the_object_that_a_text_names(text, identity):
    assert identity_of(text, "s") == identity


READY = ObjectCondition(type="Ready", status="True")


def pod(name: str, *, app: str = "w", node: str = "", phase: str = "", ready: bool = False) -> Any:
    made = make_pod(name, labels={"app": app}, node=node)
    if phase:
        made = with_fields(made, "status", phase=phase)
    return with_condition(made, READY) if ready else made


@pytest.fixture
def cluster() -> ObjectStore:
    """Two pods `w` with nodes, one of which is ready, a pending one, and one `e` that has ended."""
    made = ObjectStore()
    for obj in (
        pod("w1", node="n1", ready=True),
        pod("w2", node="n1"),
        pod("w3"),
        pod("e", app="e", node="n1", phase="Succeeded"),
        with_fields(pod("other"), "metadata", namespace="x"),
        make_node("n1"),
        deployment(
            "web",
            replicas=2,
            conditions=[{"type": "Available", "status": "True"}, {"type": "B", "status": "False"}],
        ),
    ):
        made.put(obj)
    return made


@pytest.mark.parametrize(
    ("condition", "why"),
    [
        ({"scheduled": "app=w", "namespace": "default"}, "2 of 3 pods with app=w are scheduled"),
        ({"scheduled": "app=w", "namespace": "default", "count": 2}, ""),
        ({"scheduled": "app=w", "count": 3}, "2 of 3 pods with app=w are scheduled"),
        ({"scheduled": ""}, "3 of 5 pods are scheduled"),
        ({"scheduled": "app=none"}, "0 of 1 pods with app=none are scheduled"),
        ({"scheduled": "app=none", "count": 0}, ""),
        ({"ready": "app=w", "count": 1}, ""),
        ({"ready": "app=w", "count": 2}, "1 of 2 pods with app=w are ready"),
        ({"ready": "app=e"}, ""),
        ({"gone": "app=e"}, ""),
        ({"gone": "app=none"}, ""),
        ({"gone": "app=w", "namespace": "x"}, "1 pods with app=w are left"),
        ({"gone": ""}, "4 pods are left"),
        ({"pendingAtMost": 2}, ""),
        ({"pendingAtMost": 1}, "2 pods are pending"),
        ({"pendingAtMost": 1, "namespace": "x"}, ""),
        ({"pendingAtMost": 0, "namespace": "x"}, "1 pods are pending"),
        ({"object": "deployment/web", "exists": True}, ""),
        ({"object": "deployment/web", "exists": False}, "deployment/web still exists"),
        ({"object": "deployment/web", "namespace": "x", "exists": False}, ""),
        (
            {"object": "deployment/web", "namespace": "x", "exists": True},
            "deployment/web does not exist",
        ),
        ({"object": "deployment/x", "condition": "A"}, "deployment/x does not exist"),
        ({"object": "deployment/web", "condition": "Available"}, ""),
        (
            {"object": "deployment/web", "condition": "B"},
            "condition B of deployment/web is not true",
        ),
        (
            {"object": "deployment/web", "condition": "C"},
            "condition C of deployment/web is not true",
        ),
        (
            {"object": "node/n1", "condition": "Ready"},
            "condition Ready of node/n1 is not true",
        ),
        ({"object": "deployment/web", "cel": "self.status.replicas == 2"}, ""),
        (
            {"object": "deployment/web", "cel": "self.status.replicas == 3"},
            "self.status.replicas == 3 is not true of deployment/web",
        ),
        ({"object": "deployment/web", "cel": "1"}, "1 is not true of deployment/web"),
        ({"drained": "n1"}, "the drain of node n1 is in progress"),
        ({"drained": "n2"}, ""),
        ({"settled": True}, "the cluster has work left"),
        ({"settled": False, "pendingAtMost": 9}, ""),
        # The first that does not hold, of all that are given.
        ({"pendingAtMost": 9, "gone": "app=w", "namespace": "x"}, "1 pods with app=w are left"),
    ],
)
def test_why_a_condition_does_not_hold(cluster, condition, why):
    found = msgspec.convert(condition, Condition)
    assert found.unmet(cluster, {"n1"}, is_settled=False, now_ns=0) == why
    if condition.get("settled"):
        assert found.unmet(cluster, (), is_settled=True, now_ns=0) == ""


def test_an_expression_that_fails_is_false_with_its_error(cluster):
    condition = Condition(object="deployment/web", cel="self.status.missing == 1")
    why = condition.unmet(cluster, (), is_settled=True, now_ns=0)
    assert why.startswith("self.status.missing == 1: ")


def test_how_long_a_condition_is_waited_for():
    assert Condition(settled=True).timeout_ns is None
    assert Condition(settled=True, timeout="90s").timeout_ns == 90_000_000_000


def test_lines_are_the_same_after_they_were_written():
    line = {"at": "1s", "patch": "pod/a", "with": {"a": 1}, "type": "merge"}
    wrong: list[FieldError] = []
    found = decode_struct(line, OperationLine, "", wrong)
    assert (wrong, found.with_, found.type, found.replicas) == ([], {"a": 1}, "merge", None)
    assert json.loads(msgspec.json.encode(found))["with"] == {"a": 1}


# ------------------------------------------------------------------------------ sequences


LEFT_OUT = "; this operation and those after it were left out"


def test_a_sequence_waits_until_its_condition_holds_or_says_what_it_left_out():
    wait = Condition(settled=True, timeout="5ns")
    steps = [
        Step(place="a", at_ns=3),
        Step(place="b", after_ns=4, wait=wait),
        Step(place="c", at_ns=50, after_ns=1),
        Step(place="d", wait=Condition(settled=True)),
    ]
    sequence = OperationSequence(iter(steps))
    assert (sequence.is_waiting, sequence.deadline_ns, sequence.failure) == (False, None, "")
    assert sequence.next_due_ns(1) == 3
    assert sequence.step is steps[0]
    sequence.start(3)
    assert (sequence.is_waiting, sequence.deadline_ns) == (False, None)
    assert sequence.next_due_ns(10) == 14
    sequence.start(14)
    assert (sequence.is_waiting, sequence.deadline_ns) == (True, 19)
    assert sequence.failure == f"b:  at the end of the run{LEFT_OUT}"
    asked: list[Condition] = []

    def unmet(condition: Condition) -> str:
        asked.append(condition)
        return "work is left"

    assert not sequence.try_release(unmet)
    assert asked == [wait]
    assert sequence.failure == f"b: work is left at the end of the run{LEFT_OUT}"
    assert sequence.try_release(lambda _: "")
    assert (sequence.is_waiting, sequence.deadline_ns, sequence.failure) == (False, None, "")
    # The later of the time and the time after the last step.
    assert sequence.next_due_ns(60) == 61
    assert sequence.next_due_ns(70) == 70
    sequence.start(70)
    # A wait without a timeout has no end.
    assert (sequence.is_waiting, sequence.deadline_ns) == (True, None)
    assert not sequence.try_release(unmet)
    sequence.give_up("after 5s")
    assert (sequence.is_waiting, sequence.deadline_ns) == (False, None)
    assert sequence.failure == f"d: work is left after 5s{LEFT_OUT}"
    assert sequence.next_due_ns(80) is None
    assert sequence.step is steps[3]


@pytest.mark.parametrize(
    ("status", "others"),
    [
        ({}, []),
        ({"conditions": []}, []),
        ({"conditions": [{"type": "PodGroupScheduled", "status": "True"}]}, []),
        (
            {"conditions": [{"type": kind, "status": "True"} for kind in ("A", "Z")]},
            [{"type": "A", "status": "True"}, {"type": "Z", "status": "True"}],
        ),
    ],
)
def test_a_condition_of_a_group_replaces_the_one_of_its_type(status, others):
    group = {
        "apiVersion": "scheduling.k8s.io/v1alpha3",
        "kind": "PodGroup",
        "metadata": {"name": "g", "namespace": "default"},
        "spec": {"schedulingPolicy": {"basic": {}}},
    }
    call = PatchPodGroupStatus(
        7,
        "default/g",
        ObjectCondition(type="PodGroupScheduled", status="False", reason="Unschedulable"),
    )
    made = ObjectStore()
    with pytest.raises(NotFound, match=r"^PodGroup default/g: not found$"):
        _request_of(made, call)
    made.put(decode(group | {"status": status}))
    request: Any = _request_of(made, call)
    assert (request.scope, request.user) == ("status", "system:kube-scheduler")
    assert encode(request.obj)["status"]["conditions"] == [
        *others, {"type": "PodGroupScheduled", "status": "False", "reason": "Unschedulable"}
    ]  # fmt: skip
