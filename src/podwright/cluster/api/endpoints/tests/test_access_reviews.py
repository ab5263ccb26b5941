"""Questions about rights, and requests of users who have some."""

from __future__ import annotations

from podwright.cluster.api.endpoints import BARE_TOKENS
from podwright.cluster.api.endpoints.access.authentication import with_authenticated

ALICE = with_authenticated(BARE_TOKENS["alice-token"])
ROLES = "/apis/rbac.authorization.k8s.io/v1/namespaces/default"
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
