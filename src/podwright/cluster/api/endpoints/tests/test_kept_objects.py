"""The objects that a server creates itself: at its start, and beside Services and definitions."""

from __future__ import annotations

import pytest

from podwright.apimachinery.schema import decode
from podwright.cluster.api.endpoints.served.bare import add_missing_objects
from podwright.cluster.api.endpoints.tests.conftest import START_NS
from podwright.cluster.api.endpoints.tests.test_custom_resources import (
    DEFINITIONS,
    definition,
    version,
)

SERVICES = "/api/v1/namespaces/default/services"
ADDRESSES = "/apis/networking.k8s.io/v1/ipaddresses"
API_SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
NETWORK = "/apis/networking.k8s.io/v1/servicecidrs/kubernetes"
FLOW = "/apis/flowcontrol.apiserver.k8s.io/v1"


def names(server, path):
    _, found = server.reply("GET", path)
    return [each["metadata"]["name"] for each in found["items"]]


def test_the_default_network_is_ready(server):
    _, network = server.reply("GET", NETWORK)
    assert network["spec"]["cidrs"] == ["10.0.0.0/24"]
    (condition,) = network["status"]["conditions"]
    assert (condition["type"], condition["status"]) == ("Ready", "True")
    applied, created = network["metadata"]["managedFields"]
    assert (applied["manager"], applied["operation"]) == (
        "kubernetes-service-cidr-controller",
        "Apply",
    )
    assert (created["manager"], list(created["fieldsV1"])) == ("kube-apiserver", ["f:spec"])


def test_each_flow_schema_has_its_priority_level(server):
    levels = names(server, f"{FLOW}/prioritylevelconfigurations")
    assert levels == sorted(levels)
    assert len(levels) == 8
    _, found = server.reply("GET", f"{FLOW}/flowschemas")
    assert len(found["items"]) == 11
    for each in found["items"]:
        assert each["spec"]["priorityLevelConfiguration"]["name"] in levels
        assert each["status"]["conditions"][0]["status"] == "False"


def test_rows_of_flow_schemas_are_in_the_order_of_precedence(server):
    accept = {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
    _, found = server.reply("GET", f"{FLOW}/flowschemas", headers=accept)
    precedences = [row["cells"][2] for row in found["rows"]]
    assert precedences == sorted(precedences)
    assert precedences[0] == 1


def test_objects_of_an_edited_dump_may_lack_their_spec(server):
    metadata = {"labels": {"kube-aggregator.kubernetes.io/automanaged": "true"}}
    for kind, group in (("FlowSchema", FLOW), ("APIService", API_SERVICES.rpartition("/")[0])):
        head = {"apiVersion": group.removeprefix("/apis/"), "kind": kind}
        server.store.put(decode({**head, "metadata": {"name": "bare", **metadata}}))
    assert server.reply("POST", DEFINITIONS, definition())[0] == 201
    accept = {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
    _, found = server.reply("GET", f"{FLOW}/flowschemas", headers=accept)
    assert found["rows"][0]["cells"][0] == "bare"
    assert "bare" in names(server, API_SERVICES)


@pytest.mark.parametrize(
    ("path", "rows"),
    [
        pytest.param("/api/v1/limitranges", None, id="a kind with the usual columns"),
        pytest.param("/api/v1/pods", [], id="a kind with its own columns"),
    ],
)
def test_a_table_without_rows(server, path, rows):
    accept = {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
    assert server.reply("GET", path, headers=accept)[1]["rows"] == rows


def test_a_version_that_is_served_has_an_api_service(server):
    found = names(server, API_SERVICES)
    assert len(found) == 21
    assert {"v1.", "v1.apps", "v2.autoscaling"} <= set(found)
    add_missing_objects(
        server.store, START_NS, group_versions=["scheduling.k8s.io/v1alpha2/podgroups"]
    )
    assert "v1alpha2.scheduling.k8s.io" in names(server, API_SERVICES)


def test_an_address_of_a_service_is_an_object(server):
    body = {"kind": "Service", "metadata": {"name": "a"}, "spec": {"ports": [{"port": 80}]}}
    _, made = server.reply("POST", SERVICES, body)
    address = made["spec"]["clusterIP"]
    assert names(server, ADDRESSES) == sorted(["10.0.0.1", address])
    _, found = server.reply("GET", f"{ADDRESSES}/{address}")
    parent = {"resource": "services", "namespace": "default", "name": "a"}
    assert found["spec"]["parentRef"] == parent
    server.reply("DELETE", f"{SERVICES}/a")
    assert names(server, ADDRESSES) == ["10.0.0.1"]


def test_a_redacted_address_has_no_object(server):
    head = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a", "namespace": "b"}}
    server.store.put(decode({**head, "spec": {"clusterIP": "x", "clusterIPs": ["x", "10.0.0.9"]}}))
    assert names(server, ADDRESSES) == ["10.0.0.1", "10.0.0.9"]


def test_deletions_of_services_are_seen_after_the_history_is_discarded(server):
    body = {"kind": "Service", "metadata": {"name": "a"}, "spec": {"ports": [{"port": 80}]}}
    server.reply("POST", SERVICES, body)
    assert len(names(server, ADDRESSES)) == 2
    server.store.drop(("", "Service"), "default/a")
    server.store.compact(server.store.resource_version)
    assert names(server, ADDRESSES) == ["10.0.0.1"]


def test_a_service_without_an_address_has_no_object(server):
    spec = {"clusterIP": "None", "ports": [{"port": 80}]}
    server.reply("POST", SERVICES, {"kind": "Service", "metadata": {"name": "a"}, "spec": spec})
    assert names(server, ADDRESSES) == ["10.0.0.1"]


def test_versions_of_definitions_have_api_services_as_long_as_they_are_served(server):
    body = definition()
    group, name = body["spec"]["group"], body["spec"]["versions"][0]["name"]
    status, made = server.reply("POST", DEFINITIONS, body)
    assert status == 201, made
    path = f"{API_SERVICES}/{name}.{group}"
    _, found = server.reply("GET", path)
    assert found["metadata"]["labels"] == {"kube-aggregator.kubernetes.io/automanaged": "true"}
    assert (found["spec"]["groupPriorityMinimum"], found["spec"]["versionPriority"]) == (1000, 100)
    # What others registered for versions of the group stays.
    foreign = {
        "metadata": {"name": f"v9.{group}"},
        "spec": {"group": group, "version": "v9", "groupPriorityMinimum": 1, "versionPriority": 1},
    }
    status, added = server.reply("POST", API_SERVICES, foreign)
    assert status == 201, added
    server.reply("DELETE", f"{DEFINITIONS}/{made['metadata']['name']}")
    assert server.reply("GET", path)[0] == 404
    assert server.reply("GET", f"{API_SERVICES}/v9.{group}")[0] == 200


def test_versions_of_definitions_are_those_of_their_group(server):
    own, other = definition(), definition(version("v1"), version("v7", storage=False))
    other["metadata"]["name"] = "trains.other.example.com"
    other["spec"]["group"] = "other.example.com"
    for body in (other, own):
        status, made = server.reply("POST", DEFINITIONS, body)
        assert status == 201, made
    kept = ["v1.example.com", "v1.other.example.com", "v7.other.example.com"]
    assert [each for each in names(server, API_SERVICES) if "example.com" in each] == kept
    server.reply("DELETE", f"{DEFINITIONS}/trains.example.com")
    assert [each for each in names(server, API_SERVICES) if "example.com" in each] == kept[1:]


def test_the_policy_of_a_store_gets_what_a_later_version_adds(server):
    roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
    bindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
    _, role = server.reply("GET", f"{roles}/system:basic-user")
    own = {"verbs": ["get"], "apiGroups": ["example.com"], "resources": ["things"]}
    server.reply("PUT", f"{roles}/system:basic-user", role | {"rules": [own]})
    _, binding = server.reply("GET", f"{bindings}/system:basic-user")
    server.reply("DELETE", f"{bindings}/system:basic-user")
    other = {"roleRef": binding["roleRef"] | {"name": "edit"}}
    server.reply("POST", bindings, {"metadata": {"name": "system:basic-user"}} | other)
    add_missing_objects(server.store, START_NS)
    _, found = server.reply("GET", f"{roles}/system:basic-user")
    assert found["rules"][0] == own
    assert len(found["rules"]) > len(role["rules"])
    _, made = server.reply("GET", f"{bindings}/system:basic-user")
    assert (made["roleRef"], made["subjects"]) == (binding["roleRef"], binding["subjects"])
    version = server.store.resource_version
    add_missing_objects(server.store, START_NS)
    assert server.store.resource_version == version
