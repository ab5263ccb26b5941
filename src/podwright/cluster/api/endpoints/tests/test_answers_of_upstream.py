"""Orders and errors that clients of kube-apiserver see, which one would not expect."""

import pytest

from podwright.cluster.api.endpoints.tests.conftest import Server, pod

PODS = "/api/v1/namespaces/default/pods"
SERVICES = "/api/v1/namespaces/default/services"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
ABSENT_UID = "11111111-1111-1111-1111-111111111111"


def budget_with_one_disruption(server: Server) -> None:
    labeled = pod("p")
    labeled["metadata"]["labels"] = {"app": "a"}
    server.reply("POST", PODS, labeled)
    server.patch(
        f"{PODS}/p/status",
        {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}},
    )
    selector = {"matchLabels": {"app": "a"}}
    spec = {"minAvailable": 1, "selector": selector}
    server.reply("POST", BUDGETS, {"metadata": {"name": "b"}, "spec": spec})
    status = {"disruptionsAllowed": 1, "observedGeneration": 1, "expectedPods": 2}
    status |= {"currentHealthy": 2, "desiredHealthy": 1}
    server.patch(f"{BUDGETS}/b/status", {"status": status})


def test_an_eviction_of_another_uid_uses_up_the_budget(server: Server) -> None:
    budget_with_one_disruption(server)
    options = {"preconditions": {"uid": ABSENT_UID}}
    body = {"metadata": {"name": "p"}, "deleteOptions": options}
    body |= {"apiVersion": "policy/v1", "kind": "Eviction"}
    status, found = server.reply("POST", f"{PODS}/p/eviction", body)
    assert (status, found["details"]["kind"]) == (409, "Pod")
    assert server.reply("GET", f"{BUDGETS}/b")[1]["status"]["disruptionsAllowed"] == 0
    del body["deleteOptions"]
    assert server.reply("POST", f"{PODS}/p/eviction", body)[0] == 429


@pytest.mark.parametrize(
    ("fields", "field", "text"),
    [
        ({"ipFamilies": ["IPv6"]}, "spec.ipFamilies[0]", "not configured on this cluster"),
        ({"ipFamilyPolicy": "RequireDualStack"}, "spec.ipFamilyPolicy",
         "this cluster is not configured for dual-stack services"),
    ],
)  # fmt: skip
def test_a_service_has_the_families_of_the_cluster(server: Server, fields, field, text) -> None:
    spec = {"ports": [{"port": 80}], **fields}
    status, found = server.reply("POST", SERVICES, {"metadata": {"name": "s"}, "spec": spec})
    (cause,) = found["details"]["causes"]
    assert (status, cause["field"]) == (422, field)
    assert cause["message"].endswith(text)


def test_a_null_is_an_object_without_fields(server: Server) -> None:
    status, found = server.reply("POST", "/api/v1/namespaces/default/configmaps", b"null")
    assert (status, found["details"]["causes"][0]["field"]) == (422, "metadata.name")


@pytest.mark.parametrize(("name", "text"), [("..", "may not be '..'"), ("a%b", "contain '%'")])
def test_a_name_that_no_path_has_is_a_bad_request(server: Server, name: str, text: str) -> None:
    status, found = server.reply("GET", f"{PODS}/{name}")
    assert (status, text in found["message"]) == (400, True)
