"""Questions about rights, and requests of users who have some."""

from __future__ import annotations

import pytest

from podwright.cluster.api.endpoints import BARE_TOKENS
from podwright.cluster.api.endpoints.access.authentication import with_authenticated
from podwright.cluster.api.endpoints.tests.conftest import Server
from podwright.cluster.api.users import User

ALICE = with_authenticated(BARE_TOKENS["alice-token"])
ROLES = "/apis/rbac.authorization.k8s.io/v1/namespaces/default"
CORE = "/api/v1/namespaces/default"
REVIEWS = "/apis/authorization.k8s.io/v1"


def grant(server, name, *rules):
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name}
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "alice"}
    server.reply("POST", f"{ROLES}/roles", {"metadata": {"name": name}, "rules": list(rules)})
    binding = {"metadata": {"name": name}, "roleRef": reference, "subjects": [subject]}
    assert server.reply("POST", f"{ROLES}/rolebindings", binding)[0] == 201


def rule(resource, *verbs, group="", **more):
    return {"apiGroups": [group], "resources": [resource], "verbs": list(verbs), **more}


def test_a_list_of_one_name_is_an_access_to_it(server):
    grant(server, "one", rule("configmaps", "list", resourceNames=["only"]))
    path = "/api/v1/namespaces/default/configmaps"
    assert server.reply("GET", path, user=ALICE)[0] == 403
    assert server.reply("GET", f"{path}?fieldSelector=metadata.name%3Donly", user=ALICE)[0] == 200
    status, body = server.reply("GET", f"{path}?fieldSelector=metadata.name%3Dx", user=ALICE)
    assert (status, body["details"]["name"]) == (403, "x")


def test_discovery_is_for_authenticated_users(server):
    review = {"spec": {"nonResourceAttributes": {"path": "/apis", "verb": "get"}}}
    path = f"{REVIEWS}/selfsubjectaccessreviews"
    assert server.reply("POST", path, review, user=ALICE)[1]["status"]["allowed"]


def test_a_review_with_a_bad_selector_is_answered_with_a_warning(server):
    attributes = {
        "verb": "list",
        "resource": "pods",
        "labelSelector": {"rawSelector": "a in ("},
        "fieldSelector": {
            "requirements": [
                {"key": "a", "operator": "In", "values": ["b"]},
                {"key": "c", "operator": "Exists"},
            ]
        },
    }
    spec = {"user": "alice", "resourceAttributes": attributes}
    _, body = server.reply("POST", f"{REVIEWS}/subjectaccessreviews", {"spec": spec})
    assert body["status"] == {
        "allowed": False,
        "evaluationError": (
            "spec.resourceAttributes.fieldSelector partially ignored due to parse error;"
            " spec.resourceAttributes.labelSelector ignored due to parse error"
        ),
    }


def test_nobody_updates_a_role_beyond_their_rights(server):
    grant(server, "own", rule("pods", "get"), rule(
        "roles", "create", "update", "patch", group="rbac.authorization.k8s.io"))  # fmt: skip
    role = {"metadata": {"name": "mine"}, "rules": [rule("pods", "get")]}
    assert server.reply("POST", f"{ROLES}/roles", role, user=ALICE)[0] == 201
    more = role | {"rules": [rule("secrets", "get")]}
    status, body = server.reply("PUT", f"{ROLES}/roles/mine", more, user=ALICE)
    assert status == 403
    assert "attempting to grant" in body["message"]
    patch = {"rules": [rule("secrets", "get")]}
    headers = {"content-type": "application/merge-patch+json"}
    found = server.reply("PATCH", f"{ROLES}/roles/mine", patch, headers=headers, user=ALICE)
    assert found[0] == 403


def test_requests_as_another_user(server):
    headers = {"impersonate-user": "bob", "impersonate-group": "ops\ndev"}
    path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    _, body = server.reply("POST", path, {}, headers=headers)
    assert body["status"]["userInfo"] == {
        "username": "bob",
        "groups": ["ops", "dev", "system:authenticated"],
    }
    status, body = server.reply("POST", path, {}, headers=headers, user=ALICE)
    assert status == 403
    assert 'User "alice" cannot impersonate-on:user-info:create resource' in body["message"]
    assert server.reply("POST", path, {}, headers={"impersonate-uid": "1"})[0] == 400


def test_a_node_reads_what_its_pods_use(server):
    assert server.reply("POST", f"{CORE}/secrets", {"metadata": {"name": "keys"}})[0] == 201
    volumes = [{"name": "v", "secret": {"secretName": "keys"}}]

    def read_by(node):
        headers = {"impersonate-user": f"system:node:{node}", "impersonate-group": "system:nodes"}
        return server.reply("GET", f"{CORE}/secrets/keys", headers=headers)

    status, body = read_by("n1")
    assert status == 403
    assert body["message"].endswith("no relationship found between node 'n1' and this object")
    pod = {
        "metadata": {"name": "web"},
        "spec": {
            "nodeName": "n1",
            "volumes": volumes,
            "containers": [{"name": "c", "image": "a:1"}],
        },
    }
    assert server.reply("POST", f"{CORE}/pods", pod)[0] == 201
    assert [read_by(node)[0] for node in ("n1", "n2", "")] == [200, 403, 403]


def reviewed(server, spec, kind="subjectaccessreviews", sender=None):
    """Return the status of a review."""
    given = {} if sender is None else {"user": sender}
    status, body = server.reply("POST", f"{REVIEWS}/{kind}", {"spec": spec}, **given)
    assert status == 201, body
    return body["status"]


RIGHT = {
    "namespace": "default", "verb": "get", "group": "apps", "resource": "deployments",
    "subresource": "scale", "name": "web",
}  # fmt: skip


@pytest.mark.parametrize(
    "other",
    [{}, {"namespace": "other"}, {"verb": "list"}, {"group": ""}, {"resource": "replicasets"},
     {"subresource": ""}, {"name": "db"}],
    ids=lambda other: next(iter(other), "all"),
)  # fmt: skip
def test_a_review_is_about_each_attribute(server, other):
    given = rule("deployments/scale", "get", group="apps", resourceNames=["web"])
    grant(server, "one", given)
    spec = {"user": "alice", "resourceAttributes": RIGHT | other}
    assert reviewed(server, spec)["allowed"] is (not other)
    attributes = {"resourceAttributes": RIGHT | other}
    own = reviewed(server, attributes, "selfsubjectaccessreviews", ALICE)
    assert own["allowed"] is (not other)


@pytest.mark.parametrize(
    ("metadata", "status"),
    [
        ({"uid": "7", "creationTimestamp": "2026-01-01T00:00:00Z"}, 201),
        ({"uid": "7", "labels": {"a": "b"}}, 422),
    ],
)
def test_a_review_has_no_metadata_but_what_the_server_sets(server, metadata, status):
    body = {"metadata": metadata, "spec": {"user": "x", "resourceAttributes": RIGHT}}
    found, reply = server.reply("POST", f"{REVIEWS}/subjectaccessreviews", body)
    assert found == status
    if status == 201:
        assert reply["metadata"].keys() <= {"managedFields", "creationTimestamp"}


def test_a_review_is_about_the_user_and_the_groups_that_it_names(server):
    attributes = {"resourceAttributes": RIGHT}
    assert reviewed(server, {"user": "nobody", **attributes})["allowed"] is False
    masters = {"user": "nobody", "groups": ["system:masters"], **attributes}
    assert reviewed(server, masters)["allowed"] is True
    paths = {"nonResourceAttributes": {"path": "/metrics", "verb": "get"}}
    assert reviewed(server, {"user": "nobody", **paths})["allowed"] is False
    assert reviewed(server, {"user": "x", "groups": ["system:masters"], **paths})["allowed"] is True


@pytest.mark.parametrize(
    ("requirement", "is_allowed"),
    [
        ({"key": "spec.nodeName", "operator": "In", "values": ["n1"]}, True),
        ({"key": "spec.nodeName", "operator": "In", "values": ["n2"]}, False),
        ({"key": "spec.nodeName", "operator": "NotIn", "values": ["n1"]}, False),
        ({"key": "n1", "operator": "In", "values": ["spec.nodeName"]}, False),
    ],
)
def test_a_review_of_a_list_is_about_the_selected_fields(server, requirement, is_allowed):
    attributes = {
        "verb": "list",
        "resource": "pods",
        "fieldSelector": {"requirements": [requirement]},
    }
    user = {"user": "system:node:n1", "groups": ["system:nodes"]}
    assert reviewed(server, user | {"resourceAttributes": attributes})["allowed"] is is_allowed


@pytest.mark.parametrize(
    ("selectors", "errors"),
    [
        ({"fieldSelector": {"rawSelector": "a=b"}}, []),
        ({"fieldSelector": {"rawSelector": "a"}}, ["fieldSelector ignored"]),
        ({"labelSelector": {"rawSelector": "a=b"}}, []),
        ({"labelSelector": {"requirements": [{"key": "a", "operator": "Exists"}]}}, []),
        ({"labelSelector": {"requirements": [{"key": "a", "operator": "Gt", "values": ["1"]}]}},
         ["labelSelector ignored"]),
        ({"labelSelector": {"requirements": [
            {"key": "a", "operator": "Exists"},
            {"key": "a", "operator": "Gt", "values": ["1"]}]}},
         ["labelSelector partially ignored"]),
        ({"fieldSelector": {"requirements": [
            {"key": "a", "operator": "In", "values": ["b", "c"]}]}},
         ["fieldSelector ignored"]),
        ({"fieldSelector": {"requirements": [{"key": "a", "operator": "NotIn", "values": ["b"]}]}},
         []),
        # The operator of a later version.
        ({"fieldSelector": {"requirements": [{"key": "a", "operator": "Gt", "values": ["1"]}]}},
         ["fieldSelector ignored"]),
    ],
)  # fmt: skip
def test_a_selector_of_a_review_that_is_not_understood_is_said(server, selectors, errors):
    spec = {
        "user": "alice",
        "resourceAttributes": {"verb": "list", "resource": "pods", **selectors},
    }
    found = reviewed(server, spec).get("evaluationError", "")
    expected = [f"spec.resourceAttributes.{error} due to parse error" for error in errors]
    assert found == "; ".join(expected)


def test_the_rules_of_a_user_in_a_namespace_are_listed(server):
    grant(server, "one", rule("configmaps", "get", "list", resourceNames=["only"]))
    path = f"{REVIEWS}/selfsubjectrulesreviews"
    status, body = server.reply("POST", path, {"spec": {"namespace": "default"}}, user=ALICE)
    assert (status, body["kind"], body["metadata"]) == (
        201, "SelfSubjectRulesReview", {},
    )  # fmt: skip
    found = body["status"]
    assert {
        "verbs": ["get", "list"], "apiGroups": [""], "resources": ["configmaps"],
        "resourceNames": ["only"],
    } in found["resourceRules"]  # fmt: skip
    assert any("/healthz" in each["nonResourceURLs"] for each in found["nonResourceRules"])
    assert all("resources" not in each for each in found["nonResourceRules"])
    other = {"spec": {"namespace": "other"}}
    elsewhere = server.reply("POST", path, other, user=ALICE)[1]["status"]["resourceRules"]
    assert all(each["resources"] != ["configmaps"] for each in elsewhere)
    status, body = server.reply("POST", path, {"spec": {}}, user=ALICE)
    assert (status, body["message"]) == (400, "no namespace on request")


def test_roles_that_are_missing_are_said_beside_the_rules(server):
    expected = []
    for name in ("a", "b"):
        grant(server, name, rule("pods", "get"))
        server.reply("DELETE", f"{ROLES}/roles/{name}")
        expected.append(f'role.rbac.authorization.k8s.io "{name}" not found')
        path, body = f"{REVIEWS}/selfsubjectrulesreviews", {"spec": {"namespace": "default"}}
        found = server.reply("POST", path, body, user=ALICE)[1]["status"]
        shown = f"[{', '.join(expected)}]" if len(expected) > 1 else expected[0]
        assert (found["evaluationError"], found["incomplete"]) == (shown, False)


def test_a_write_that_creates_an_absent_object_needs_the_right_to_create(server: Server) -> None:
    user, group = User("eve"), "rbac.authorization.k8s.io"
    rbac = f"/apis/{group}/v1"
    rule = {"verbs": ["patch", "update"], "apiGroups": ["*"], "resources": ["*"]}
    server.reply("POST", f"{rbac}/clusterroles", {"metadata": {"name": "r"}, "rules": [rule]})
    binding = {
        "metadata": {"name": "b"},
        "roleRef": {"kind": "ClusterRole", "name": "r", "apiGroup": group},
        "subjects": [{"kind": "User", "name": "eve", "apiGroup": group}],
    }
    server.reply("POST", f"{rbac}/clusterrolebindings", binding)
    space = "/api/v1/namespaces/x?fieldManager=m"
    lease = "/apis/coordination.k8s.io/v1/namespaces/default/leases/x"
    sent = {"metadata": {"name": "x"}}
    applied = sent | {"apiVersion": "v1", "kind": "Namespace"}
    denied = 'is forbidden: User "eve" cannot create resource'
    for creates in (False, True):
        for method, path, body, message in (
            ("PATCH", space, applied,
             f'namespaces "x" {denied} "namespaces" in API group "" at the cluster scope'),
            ("PUT", lease, sent,
             f'leases.coordination.k8s.io "x" {denied} "leases" in API group "coordination.k8s.io"'
             ' in the namespace "default"'),
        ):  # fmt: skip
            headers = {"content-type": "application/apply-patch+yaml"} if method == "PATCH" else {}
            status, found = server.reply(method, path, body, headers=headers, user=user)
            assert (status, found.get("message")) == ((201, None) if creates else (403, message))
        rules = [rule | {"verbs": ["create", *rule["verbs"]]}]
        server.patch(f"{rbac}/clusterroles/r", {"rules": rules})
