"""What stages compute: template functions, finalizers, back-offs, exits, and devices of pods."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podwright.apimachinery.objects import ObjectDeleted, ObjectPut, with_fields
from podwright.apimachinery.schema import decode
from podwright.cluster.kubelets import Lifecycle, default_stages
from podwright.cluster.kubelets.addresses import Addresses
from podwright.cluster.kubelets.kubelet.containers import container_creation
from podwright.cluster.kubelets.kubelet.containers.container_creation import read_image
from podwright.cluster.kubelets.kubelet.sandbox import (
    PrepareError,
    SyncContext,
    _device_statuses,
    _usable_claim,
)
from podwright.cluster.kubelets.lifecycle import _node_of, prepare_claims
from podwright.cluster.kubelets.pod_statuses import EXIT_CODE, read_exit_code
from podwright.cluster.kubelets.stages.built_in_stages import (
    _backoff_left,
    _delay_until_second,
    _exit_patch,
    _restart_patch,
    backoff_ns,
    fast_stages,
    with_own_stages,
)
from podwright.cluster.kubelets.stages.stage import (
    FUNCTION_NAMES,
    NODE_CONDITIONS,
    FinalizersStep,
    Stage,
    StageContext,
    identity_of,
)
from podwright.cluster.kubelets.stages.stage_objects import StageObjects
from podwright.cluster.kubelets.stages.stage_play import scope_of
from podwright.cluster.kubelets.templates.go_values import is_equal
from podwright.cluster.kubelets.tests.lifecycle_driver import NOW, SECOND, a_node, a_pod, at
from podwright.testing import make_node, make_pod

MIB = 1 << 20

# --------------------------------------------------------------------------------- templates


def test_functions_of_templates_are_those_of_kwok():
    addresses = Addresses()
    context = StageContext(NOW, addresses)
    pod: dict[str, Any] = {
        "metadata": {"name": "web", "namespace": "default", "uid": "u"}, "spec": {"nodeName": "n1"}
    }  # fmt: skip
    found = context.functions(pod)
    node, own = addresses.of_node("n1"), addresses.of_pod("u")
    values = {name: found[name]() for name in found if name not in ("NodeIPWith", "NodeIPsWith")}
    assert values == {
        "NodeConditions": NODE_CONDITIONS, "NodeIP": node, "NodeName": "web", "NodePort": 0,
        "Now": at(0), "PodIP": own, "PodIPWith": own, "PodIPsWith": [own], "StartTime": at(0),
        "Version": values["Version"],
    }  # fmt: skip
    assert (found["NodeIPWith"]("n1"), found["NodeIPsWith"]("n1")) == (node, [node])
    for given, name in ((None, ""), (7, "7")):
        address = addresses.of_node(name)
        assert (found["NodeIPWith"](given), found["NodeIPsWith"](given)) == (address, [address])
    assert sorted(FUNCTION_NAMES) == sorted(found)
    assert context.functions({})["NodeName"]() == ""
    assert context.node_ip({"metadata": {"name": "n2"}}) == addresses.of_node("n2")
    host = pod | {"spec": {"nodeName": "n1", "hostNetwork": True}}
    assert (context.pod_ip(host), context.pod_ip(pod | {"status": {"podIP": "9.9.9.9"}})) == (
        node, "9.9.9.9",
    )  # fmt: skip


def test_objects_are_known_by_uid_or_by_name():
    assert identity_of({"metadata": {"uid": "u", "name": "a"}}) == "u"
    assert identity_of({"metadata": {"name": "a", "namespace": "b"}}) == "b/a"
    assert identity_of({"metadata": {"name": "a"}}) == "/a"
    assert identity_of({}) == "/"


@pytest.mark.parametrize(
    ("step", "after"),
    [
        (FinalizersStep(add=("a", "c", "c")), ("a", "b", "c")),
        (FinalizersStep(remove=("a",)), ("b",)),
        (FinalizersStep(add=("a",), remove=("a",)), ("b", "a")),
        (FinalizersStep(add=("d",), is_empty=True), ("d",)),
        (FinalizersStep(), ("a", "b")),
    ],
)
def test_finalizers_are_added_after_others_are_removed(step, after):
    assert step.after(("a", "b")) == after


# -------------------------------------------------------------------------- exits and back-offs


@pytest.mark.parametrize(
    ("restarts", "ran_s", "wait_s"),
    [
        (0, 1, 0), (1, 1, 10), (2, 1, 20), (3, 1, 40), (4, 1, 80), (5, 1, 160), (6, 1, 300),
        (60, 1, 300), (3, 599, 40), (3, 600, 0),
    ],
)  # fmt: skip
def test_restarts_wait_twice_as_long_each_time_up_to_five_minutes(restarts, ran_s, wait_s):
    assert backoff_ns(restarts, ran_s * SECOND) == wait_s * SECOND


def container_of(name, restarts=0, started=-5.0):
    running = {"running": {"startedAt": at(started)}}
    return {"name": name, "restartCount": restarts, "state": running, "ready": True}


def exited(*statuses, policy="Always", code="1"):
    document = {
        "metadata": {"name": "web", "namespace": "d", "uid": "u",
                     "annotations": {EXIT_CODE: code}},
        "spec": {"restartPolicy": policy, "containers": [{"name": "a"}, {"name": "b"}]},
        "status": {"containerStatuses": list(statuses)},
    }  # fmt: skip
    return _exit_patch(document, StageContext(NOW, Addresses()))


def test_containers_that_exit_start_again_or_wait():
    both = exited(container_of("a"), container_of("b"))
    assert "conditions" not in both
    assert [(one["ready"], one["restartCount"]) for one in both["containerStatuses"]] == [
        (True, 1), (True, 1),
    ]  # fmt: skip
    assert all(
        one["state"] == {"running": {"startedAt": at(0)}} for one in both["containerStatuses"]
    )
    mixed = exited(container_of("a", 2), container_of("b"), container_of("c", 3))
    first, second, third = mixed["containerStatuses"]
    assert first["state"]["waiting"]["reason"] == "CrashLoopBackOff"
    assert first["state"]["waiting"]["message"].startswith("back-off 20s restarting")
    assert third["state"]["waiting"]["message"].startswith("back-off 40s restarting")
    assert [one["restartCount"] for one in (first, second, third)] == [2, 1, 3]
    assert [(one["ready"], one["started"]) for one in (first, second, third)] == [
        (False, False), (True, True), (False, False),
    ]  # fmt: skip
    ended = first["lastState"]["terminated"]
    assert (ended["startedAt"], ended["finishedAt"], ended["exitCode"]) == (at(-5), at(0), 1)
    messages = {one.get("message") for one in mixed["conditions"]}
    assert messages == {"containers with unready status: [a c]"}
    assert {one["status"] for one in mixed["conditions"]} == {"False"}


@pytest.mark.parametrize(("ran_s", "is_ready"), [(5, False), (599, False), (600, True)])
def test_a_container_that_ran_for_ten_minutes_starts_again_at_once(ran_s, is_ready):
    (status,) = exited(container_of("a", 3, -ran_s))["containerStatuses"]
    assert (status["ready"], status["restartCount"]) == (is_ready, 4 if is_ready else 3)
    waiting = {**status, "restartCount": 3, "state": {"waiting": {}}}
    assert _backoff_left([waiting], NOW) == (0 if is_ready else 40 * SECOND)


def test_a_pod_without_a_spec_restarts_the_containers_of_its_status():
    status = {"containerStatuses": [container_of("a")]}
    documents: list[dict[str, Any]] = [
        {"metadata": {"name": "web"}, "status": status},
        {"metadata": {"name": "web"}, "spec": None, "status": status},
    ]
    for document in documents:
        (found,) = _exit_patch(document, StageContext(NOW, Addresses()))["containerStatuses"]
        assert (found["restartCount"], found["ready"]) == (1, True)


def test_only_containers_that_wait_start_again_together():
    statuses = exited(container_of("a", 2), container_of("b"))["containerStatuses"]
    document = {"status": {"containerStatuses": statuses}}
    later = StageContext(NOW + 20 * SECOND, Addresses())
    patch = _restart_patch(document, later)
    assert [
        (one["restartCount"], one["state"]["running"]["startedAt"])
        for one in patch["containerStatuses"]
    ] == [(3, at(20)), (1, at(0))]
    assert {one["status"] for one in patch["conditions"]} == {"True"}


def test_the_last_back_off_decides():
    statuses = exited(container_of("a", 2), container_of("b"), container_of("c", 3))
    waiting = statuses["containerStatuses"]
    assert [_backoff_left(waiting, NOW + after * SECOND) for after in (0, 15, 40, 50)] == [
        40 * SECOND, 25 * SECOND, 0, 0,
    ]  # fmt: skip
    assert _backoff_left([container_of("a")], NOW) == 0
    again = {**waiting[2], "state": {"running": {}}}
    assert _backoff_left([waiting[0], again], NOW) == _backoff_left([waiting[0]], NOW) > 0


@pytest.mark.parametrize(
    ("state", "waits"),
    [
        ({"waiting": {}}, True),
        ({"waiting": {"reason": "CrashLoopBackOff"}, "running": None}, True),
        ({"waiting": None, "running": {"startedAt": at(-5)}}, False),
        ({"running": {"startedAt": at(-5)}}, False),
        ({}, False),
        (None, False),
    ],
)
def test_a_container_whose_state_is_waiting_starts_again(state, waits):
    (ended,) = exited(container_of("a", 2))["containerStatuses"]
    status = {**ended, "state": state}
    assert _backoff_left([status], NOW) == (20 * SECOND if waits else 0)
    document = {"status": {"containerStatuses": [status]}}
    patch = _restart_patch(document, StageContext(NOW + 20 * SECOND, Addresses()))
    (found,) = patch["containerStatuses"]
    if waits:
        assert (found["restartCount"], found["state"]) == (3, {"running": {"startedAt": at(20)}})
    else:
        assert found == status


def test_stages_of_a_user_replace_the_built_in_ones_of_their_kinds():
    mine, other, node = (
        Stage(name=name, kind=kind, source=source, requirements=(), steps=())
        for name, kind, source in (
            ("mine", "Pod", "f"),
            ("pod-ready", "Pod", ""),
            ("n", "Node", ""),
        )
    )
    given = (*fast_stages(), mine)
    assert [each.name for each in with_own_stages(given, [])] == [each.name for each in given]
    assert with_own_stages(given, [other]) == (given[0], mine, other)
    assert with_own_stages(given, [node]) == (*given[1:], node)
    replaced = msgspec.structs.replace(mine, source="")
    assert with_own_stages(given, [replaced]) == (given[0], replaced)


def test_the_stages_of_a_cluster_replace_those_of_the_start_with_their_names():
    def document(name: str) -> Any:
        spec = {"resourceRef": {"kind": "Pod"}, "selector": {}, "steps": [{"delete": True}]}
        meta = {"apiVersion": "kwok.x-k8s.io/v1alpha1", "kind": "Stage", "metadata": {"name": name}}
        return decode({**meta, "spec": spec}, source="test")

    given = [
        Stage(name=name, kind=kind, source="f", steps=()) for name, kind in
        (("a", "Pod"), ("b", "Pod"), ("n", "Node"))
    ]  # fmt: skip
    stages = StageObjects(given, [document("a")])
    assert stages.put("c", document("c")) == ({("", "Pod")}, None, ())
    found = stages.by_kind()
    assert [(each.name, each.source) for each in found["", "Pod"]] == [
        ("b", "f"), ("a", ""), ("c", ""),
    ]  # fmt: skip
    assert found["", "Node"] == [given[2]]
    assert stages.put("c", document("c")) == (set(), None, ())
    assert stages.put("a", None) == ({("", "Pod")}, None, ())
    assert [each.name for each in stages.by_kind()["", "Pod"]] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("before", "after", "scope"),
    [
        ({"status": {"a": 1}, "spec": 1}, {"status": {"a": 1}, "spec": 2}, "main"),
        ({"status": {"a": 1}, "spec": 1}, {"status": {"a": 2}, "spec": 1}, "status"),
        ({"status": {"a": 1}, "spec": 1}, {"status": {"a": 2}, "spec": 2}, "whole"),
        ({"spec": 1}, {"status": {"a": 2}, "spec": 1}, "status"),
    ],
)
def test_only_what_differs_is_written(before, after, scope):
    assert scope_of(before, after) == scope


@pytest.mark.parametrize("value", ["-1", "1.5", "", "²", 5, None])
def test_a_time_of_a_deletion_is_a_number_of_seconds(value):
    assert _delay_until_second(NOW, "90", NOW + SECOND) == 89 * SECOND
    with pytest.raises(ValueError, match="invalid number of seconds"):
        _delay_until_second(NOW, value, NOW)


# -------------------------------------------------------------------------------------- images


@pytest.mark.parametrize(
    ("text", "name", "image_id"),
    [
        ("nginx", "docker.io/library/nginx:latest", "docker.io/library/nginx@sha256:"),
        ("nginx:1.2", "docker.io/library/nginx:1.2", "docker.io/library/nginx@sha256:"),
        ("team/app", "docker.io/team/app:latest", "docker.io/team/app@sha256:"),
        ("localhost/app", "localhost/app:latest", "localhost/app@sha256:"),
        ("host:5000/a/b:x", "host:5000/a/b:x", "host:5000/a/b@sha256:"),
        ("quay.io/app", "quay.io/app:latest", "quay.io/app@sha256:"),
        (f"app@sha256:{'a' * 64}", f"docker.io/library/app@sha256:{'a' * 64}",
         f"docker.io/library/app@sha256:{'a' * 64}"),
        (f"app:1@sha256:{'b' * 64}", f"docker.io/library/app:1@sha256:{'b' * 64}",
         f"docker.io/library/app@sha256:{'b' * 64}"),
    ],
)  # fmt: skip
def test_names_of_images_are_normalized(text, name, image_id):
    found = read_image(text)
    assert found is not None
    assert found.name == name
    assert found.image_id.startswith(image_id)
    assert (found.size_bytes - MIB) % 4096 == 0
    number = (found.size_bytes - MIB) // 4096
    assert 0 <= number < 1 << 16
    assert found.pull_ns == 200_000_000 + 10_000 * number


def test_names_that_are_none_have_no_image():
    for text in ("", "App", "a b", "app:", "app@sha256:12", "-app", "app:-x"):
        assert read_image(text) is None, text


class Node:
    """What a container's check reads of its node."""

    def __init__(self, *, runs_as_root: bool) -> None:
        class Behaviors:
            def value(self, *_: Any) -> bool:
                return runs_as_root

        self.behaviors = Behaviors()


@pytest.mark.parametrize(
    ("of_pod", "own", "runs_as_root", "error"),
    [
        ({}, {}, True, None),
        ({"runAsNonRoot": True}, {}, True, "container has runAsNonRoot and image will run as root"),
        ({"runAsNonRoot": True}, {}, False, None),
        ({"runAsNonRoot": True, "runAsUser": 0}, {}, False,
         "container's runAsUser breaks non-root policy"),
        ({"runAsNonRoot": True, "runAsUser": 0}, {"runAsUser": 5}, True, None),
        ({"runAsNonRoot": True}, {"runAsNonRoot": False, "runAsUser": 0}, True, None),
        ({}, {"runAsNonRoot": True, "runAsUser": 0}, False,
         "container's runAsUser breaks non-root policy"),
    ],
)  # fmt: skip
def test_a_container_that_must_not_run_as_root(of_pod, own, runs_as_root, error):
    pod = a_pod(spec={"securityContext": of_pod})
    node: Any = Node(runs_as_root=runs_as_root)
    record: Any = None
    sync = SyncContext(pod, record, node, NOW)
    image = read_image("app:1")
    assert image is not None
    found = container_creation._user_error(sync, {"name": "main", "securityContext": own}, image)
    if error is None:
        assert found is None
    else:
        assert found == f'{error} (pod: "web_default(uid-web)", container: main)'


def test_a_sync_is_due_at_the_earliest_time():
    record: Any = None
    node: Any = None
    sync = SyncContext(a_pod(), record, node, NOW)
    assert sync.due_ns is None
    for at_ns, due_ns in ((50, 50), (70, 50), (30, 30)):
        sync.sync_at(at_ns)
        assert sync.due_ns == due_ns


# ------------------------------------------------------------------------------------- devices


class Objects:
    """A store of one claim."""

    def __init__(self, claim: Any) -> None:
        self.claim = claim

    def get(self, kind: Any, key: str) -> Any:
        return self.claim if (kind, key) == (("resource.k8s.io", "ResourceClaim"), "d/c") else None


RESULT = {"request": "r", "driver": "x", "pool": "p", "device": "d0"}


def claim_of(*results, owner="", reserved=("u",), **status):
    metadata: dict[str, Any] = {"name": "c", "namespace": "d", "uid": "uc"}
    if owner:
        metadata["ownerReferences"] = [
            {"apiVersion": "v1", "kind": "Pod", "name": "web", "uid": owner, "controller": True}
        ]
    allocation = {"allocation": {"devices": {"results": list(results)}}} if results else {}
    users = [{"resource": "pods", "name": "web", "uid": uid} for uid in reserved]
    return decode({
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": metadata,
        "spec": {}, "status": allocation | {"reservedFor": users} | status,
    })  # fmt: skip


def user(uid="u"):
    return a_pod(
        spec={"resourceClaims": [{"name": "r", "resourceClaimName": "c"}]}, namespace="d", uid=uid
    )


@pytest.mark.parametrize(
    ("claim", "is_generated", "error"),
    [
        (None, False, 'fetch ResourceClaim c: resourceclaims.resource.k8s.io "c" not found'),
        (claim_of(RESULT), True,
         "ResourceClaim d/c was not created for Pod d/web (Pod is not owner)"),
        (claim_of(RESULT, owner="other"), True,
         "ResourceClaim d/c was not created for Pod d/web (Pod is not owner)"),
        (claim_of(RESULT, reserved=("x",)), False,
         "pod web (u) is not allowed to use ResourceClaim c (uc)"),
        (claim_of(), False, "ResourceClaim c: not allocated"),
        (claim_of(RESULT), False, ""),
        (claim_of(RESULT, owner="u"), True, ""),
    ],
)  # fmt: skip
def test_a_claim_that_a_pod_may_use(claim, is_generated, error):
    reader: Any = Objects(claim)
    if not error:
        assert _usable_claim(user(), ("c", is_generated), reader) == claim
        return
    with pytest.raises(PrepareError) as raised:
        _usable_claim(user(), ("c", is_generated), reader)
    assert str(raised.value) == error


def test_devices_become_ready_once():
    second = RESULT | {"device": "d1", "shareID": "s"}
    found = _device_statuses(claim_of(RESULT, second), NOW)
    ready = {
        "type": "Ready", "status": "True", "reason": "Prepared", "message": "",
        "lastTransitionTime": at(0),
    }  # fmt: skip
    of = {"driver": "x", "pool": "p"}
    assert found == [
        of | {"device": "d0", "conditions": [ready]},
        of | {"device": "d1", "shareID": "s", "conditions": [ready]},
    ]
    assert _device_statuses(claim_of(RESULT, second, devices=found), NOW + SECOND) is None
    other = {"type": "Attached", "status": "True"}
    known = [of | {"device": "d0", "conditions": [other]}, of | {"device": "old"}]
    both: Any = _device_statuses(claim_of(RESULT, devices=known), NOW)
    first, old = both
    assert [one["type"] for one in first["conditions"]] == ["Attached", "Ready"]
    assert old == of | {"device": "old"}
    assert _device_statuses(claim_of(RESULT, devices=[found[0]]), NOW) is None


def test_the_preparation_of_claims_is_tried_six_times():
    reader: Any = Objects(None)
    basis, waits = "any", []
    for _ in range(6):
        found: Any = prepare_claims(user(), basis, reader, NOW)
        (event,) = found.actions
        assert (event.reason, event.type, event.object_kind, event.key) == (
            "FailedPrepareDynamicResources", "Warning", "Pod", "d/web",
        )  # fmt: skip
        assert event.note.startswith("Failed to prepare dynamic resources: fetch ResourceClaim c")
        waits.append(found.retry_ns)
        basis = found.basis
    assert waits == [NOW + 10 * SECOND] * 5 + [0]
    assert basis == "prepare 6"
    assert prepare_claims(a_pod(), "any", reader, NOW) == ([], None, "")
    for phase in ("Running", "Succeeded"):
        running = with_fields(user(), "status", phase=phase)
        assert prepare_claims(running, "any", reader, NOW) == ([], None, "")
    prepared: Any = prepare_claims(user(), "any", Objects(claim_of(RESULT)), NOW)
    (write,) = prepared.actions
    assert (prepared.retry_ns, write.obj.raw["status"]["devices"][0]["device"]) == (None, "d0")
    done = claim_of(RESULT, devices=write.obj.raw["status"]["devices"])
    again: Any = prepare_claims(user(), "any", Objects(done), NOW)
    assert again == ([], None, "")


# ----------------------------------------------------------------------------- the lifecycle


def test_the_node_of_an_object():
    assert _node_of(make_pod("p", node="n")) == "n"
    assert _node_of(make_node("m")) == "m"
    assert _node_of(decode({"apiVersion": "v1", "kind": "Namespace",
                            "metadata": {"name": "x"}})) == ""  # fmt: skip


def test_the_address_of_a_node_is_its_internal_one():
    life = Lifecycle(default_stages())
    addresses = [
        {"type": "Hostname", "address": "n1"}, {"type": "InternalIP", "address": "10.1.1.1"},
        {"type": "InternalIP", "address": "10.2.2.2"},
    ]  # fmt: skip
    life.handle(ObjectPut(a_node(status={"addresses": addresses})), NOW)
    assert life._addresses.of_node("n1") == "10.1.1.1"
    life.handle(ObjectDeleted(a_node()), NOW)
    assert life._addresses.of_node("n1") != "10.1.1.1"


@pytest.mark.parametrize(
    ("text", "code"),
    [(None, 0), ("0", 0), ("7", 7), ("254", 254), ("255", 255), ("256", None), ("-1", None),
     ("", None), ("1.0", None), ("\u0661", None), ("a", None)],
)  # fmt: skip
def test_an_exit_code_is_a_number_below_256(text, code):
    annotations = {"other": "300"} | ({} if text is None else {EXIT_CODE: text})
    if code is not None:
        assert read_exit_code(annotations) == code
        return
    with pytest.raises(ValueError, match="must be a number below 256") as error:
        read_exit_code(annotations)
    assert str(error.value).startswith(f'{EXIT_CODE}: invalid exit code "{text}": ')


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        ({"a": 1, "b": 2}, {"a": 1, "b": 2}, True),
        ({"a": 1, "b": 2}, {"a": 1, "b": 3}, False),
        ({"a": 1, "b": 2}, {"a": 2, "b": 2}, False),
        ({"a": 1}, {"a": 1, "b": None}, False),
        ({}, {}, True),
        ([1, 2], [1, 3], False),
        ([1, 2], [1], False),
        ([1, [2]], [1, [2]], True),
        (1, 1.0, False),
        (1, True, False),
        ("1", 1, False),
        (None, None, True),
    ],
)
def test_values_are_equal_with_their_types(left, right, same):
    assert is_equal(left, right) is is_equal(right, left) is same
