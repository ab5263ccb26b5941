"""Which creations are executed from a template; that they give the same is a property."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from podwright.cluster.api.endpoints import (
    BARE_TOKENS,
    ApiServer,
    HttpReply,
    HttpRequest,
    User,
    bare_options,
)
from podwright.cluster.api.endpoints.forms import LEARNED_AT, KnownForms
from podwright.cluster.api.endpoints.tests.conftest import ADMIN, START_NS, Server, pod

PODS = "/api/v1/namespaces/default/pods"
ALICE = BARE_TOKENS["alice-token"]
_LEARNING = LEARNED_AT + 2


def body(name: str, **metadata: Any) -> bytes:
    document = pod(name, nodeSelector={"disk": "a-text-that-makes-the-spec-long-enough"})
    document["metadata"] = {**metadata, "name": name}
    return json.dumps(document).encode()


def send(server: Server, data: bytes, user: User = ADMIN, **headers: str) -> int:
    request = HttpRequest("POST", PODS, "", {"user-agent": "test/1", **headers}, data)
    found = server.api.handle(request, user, START_NS)
    assert isinstance(found, HttpReply), found
    return found.status


def prepared(server: Server) -> KnownForms:
    return server.api._forms


def learn(server: Server, *, user: User = ADMIN, **metadata: Any) -> None:
    """Create pods of a template until it is known."""
    for number in range(_LEARNING):
        assert send(server, body(f"known-{number}", **metadata), user) == 201
    assert prepared(server).executed_count, "the last one is executed from the template"


def is_prepared(server: Server, data: bytes, user: User = ADMIN, **headers: str) -> bool:
    before = prepared(server).executed_count
    assert send(server, data, user, **headers) == 201
    return prepared(server).executed_count > before


def test_another_name_is_the_same_template(server):
    learn(server)
    assert is_prepared(server, body("other"))
    assert is_prepared(server, body("a-b-c"))
    # A name that is no label gets a warning.
    assert not is_prepared(server, body("a.b-c"))


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(body("x", labels={"a": "b"}), id="labels"),
        pytest.param(body("x", generateName="x-"), id="a prefix besides the name"),
        pytest.param(body("x").replace(b"disk", b"zone"), id="the spec"),
        pytest.param(body("x")[:-1] + b' ,"status": {}}', id="a status"),
    ],
)
def test_any_other_difference_is_not(server, data):
    learn(server)
    assert not is_prepared(server, data)


def test_other_headers_are_not(server):
    learn(server)
    assert not is_prepared(server, body("x"), accept="application/yaml")


def test_a_generated_name_is_a_template(server):
    data = json.dumps({**json.loads(body("")), "metadata": {"generateName": "web-"}}).encode()
    for _ in range(_LEARNING):
        send(server, data)
    assert is_prepared(server, data)


@pytest.mark.parametrize(
    ("name", "status"),
    [
        pytest.param("Upper", 422, id="upper case"),
        pytest.param("-x", 422, id="a hyphen at the start"),
        pytest.param("x-", 422, id="a hyphen at the end"),
        pytest.param("a..b", 422, id="an empty part"),
        pytest.param("x" * 254, 422, id="too long"),
        pytest.param("known-0", 409, id="a name in use"),
    ],
)
def test_a_bad_name_is_rejected_in_full(server, name, status):
    learn(server)
    assert send(server, body(name)) == status


def test_a_name_elsewhere_is_not_taken_for_the_name(server):
    for number in range(_LEARNING * 2):
        assert send(server, body(f"pod-{number}", labels={"name": "fixed"})) == 201
        found = server.store.get(("", "Pod"), f"default/pod-{number}")
        assert found.metadata.labels == {"name": "fixed"}


def test_a_name_in_a_text_is_not_taken_for_the_name(server):
    for number in range(_LEARNING * 2):
        data = body(f"pod-{number}", annotations={"text": '"name": "fixed"'})
        assert send(server, data) == 201


def test_the_user_is_authorized_each_time(server):
    rules = [{"verbs": ["create"], "apiGroups": [""], "resources": ["pods"]}]
    group = "rbac.authorization.k8s.io"
    path = f"/apis/{group}/v1/namespaces/default"
    role = {"apiVersion": f"{group}/v1", "kind": "Role", "metadata": {"name": "r"}, "rules": rules}
    binding = {
        "apiVersion": f"{group}/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "b"},
        "roleRef": {"apiGroup": group, "kind": "Role", "name": "r"},
        "subjects": [{"apiGroup": group, "kind": "User", "name": "alice"}],
    }
    server.reply("POST", f"{path}/roles", role)
    server.reply("POST", f"{path}/rolebindings", binding)
    learn(server, user=ALICE)
    server.reply("DELETE", f"{path}/rolebindings/b")
    assert send(server, body("x"), ALICE) == 403


def test_the_template_of_another_user_is_not_used(server):
    learn(server)
    assert send(server, body("x"), ALICE) == 403
    assert not is_prepared(server, body("y"), User("other", groups=("system:masters",)))


@pytest.mark.parametrize(
    ("path", "document"),
    [
        pytest.param(
            "/api/v1/namespaces/default/limitranges",
            {"apiVersion": "v1", "kind": "LimitRange", "spec": {"limits": []}},
            id="a limit range",
        ),
        pytest.param(
            "/apis/scheduling.k8s.io/v1/priorityclasses",
            {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": 1},
            id="a priority class",
        ),
        pytest.param(
            "/apis/node.k8s.io/v1/runtimeclasses",
            {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "handler": "h"},
            id="a runtime class",
        ),
    ],
)
def test_a_change_of_what_admission_reads_discards_the_template(server, path, document):
    learn(server)
    status, _ = server.reply("POST", path, document | {"metadata": {"name": "x"}})
    assert status == 201
    assert not is_prepared(server, body("y"))
    # A limit range bounds values that vary elsewhere, so that other pods are of one form.
    found = [is_prepared(server, body(f"z-{number}")) for number in range(LEARNED_AT)]
    assert found[-1]
    assert found[0] or document["kind"] == "LimitRange"


def test_a_form_is_learned_at_its_sixth_creation(server):
    found = [is_prepared(server, body(f"a-{number}")) for number in range(9)]
    assert found == [False] * 6 + [True] * 3


def test_other_forms_of_its_shape_count_for_the_first_four_creations_of_a_form(server):
    policies = ["Never", "OnFailure", "Never", "OnFailure", *["Always"] * 5]
    found = []
    for number, policy in enumerate(policies):
        document = json.loads(body(f"a-{number}"))
        document["spec"]["restartPolicy"] = policy
        found.append(is_prepared(server, json.dumps(document).encode()))
    # Of the other four, the last one is counted as one of its own form.
    assert found == [False] * 7 + [True] * 2


def test_a_server_may_keep_no_templates():
    server = Server()
    server.api = ApiServer(server.store, msgspec.structs.replace(bare_options(), templates_max=0))
    assert not any(is_prepared(server, body(f"a-{number}")) for number in range(2 * _LEARNING))


def test_a_dry_run_is_not_counted(server):
    for number in range(2 * _LEARNING):
        assert server.reply("POST", f"{PODS}?dryRun=All", body(f"a-{number}"))[0] == 201
    assert not any(is_prepared(server, body(f"a-{number}")) for number in range(6))


def test_a_change_in_another_namespace_does_not(server):
    learn(server)
    document = {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "x"}}
    server.reply("POST", "/api/v1/namespaces/kube-public/limitranges", document)
    assert is_prepared(server, body("y"))


def test_a_quota_counts_every_pod(server):
    learn(server)
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "q"},
        "spec": {"hard": {"pods": "9"}},
    }
    path = "/api/v1/namespaces/default/resourcequotas"
    server.reply("POST", path, quota)
    status = {"status": {"hard": {"pods": "9"}, "used": {"pods": "4"}}}
    server.patch(f"{path}/q/status", status)
    found = [send(server, body(f"counted-{number}")) for number in range(7)]
    assert found == [201] * 5 + [403] * 2


def test_a_dry_run_teaches_nothing(server):
    for number in range(_LEARNING * 2):
        request = HttpRequest("POST", PODS, "dryRun=All", {}, body(f"dry-{number}"))
        server.api.handle(request, ADMIN, START_NS)
    assert prepared(server).executed_count == 0
    assert server.store.count(("", "Pod")) == 0


def test_without_admission_no_change_of_another_object_discards_a_template(server):
    options = msgspec.structs.replace(bare_options(), admission=lambda _: ())
    server.api = ApiServer(server.store, options)
    learn(server)
    zone = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default-2"}}
    assert server.reply("POST", "/api/v1/namespaces", zone)[0] == 201
    limits = {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "x"}}
    assert server.reply("POST", "/api/v1/namespaces/default/limitranges", limits)[0] == 201
    assert is_prepared(server, body("y"))
