"""Requests that kube-apiserver refuses: its status and message, or the start of the message."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.cluster.api.endpoints import BARE_TOKENS
from podwright.cluster.api.endpoints.tests.conftest import config_map, pod

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
UNRECOGNIZED = "the object provided is unrecognized (must be of type ConfigMap): "
NO_VERSION = f"{UNRECOGNIZED}couldn't get version/kind; json parse error: json: cannot unmarshal "


RFC = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.',"
    " and must start and end with an alphanumeric character (e.g. 'example.com', regex used for"
    r" validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)


def deployment(**template: Any) -> dict[str, Any]:
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": spec}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        pytest.param({"apiVersion": 7}, NO_VERSION + "number into Go struct field .apiVersion",
                     id="a version that is a number"),
        pytest.param({"kind": [], "apiVersion": 7}, NO_VERSION + "array into Go struct field .kind",
                     id="the first of two mistakes"),
        pytest.param({"apiVersion": "a/b/c"},
                     UNRECOGNIZED + 'unexpected GroupVersion string: a/b/c ({',
                     id="a version with two slashes"),
        pytest.param({"KIND": "Pod"}, 'Pod in version "v1" cannot be handled as a ConfigMap: ',
                     id="names in upper case"),
    ],
)  # fmt: skip
def test_a_body_of_another_kind(server, body, message):
    status, found = server.reply("POST", CONFIG_MAPS, {"metadata": {"name": "a"}, **body})
    assert status == 400
    assert found["message"].startswith(message)


def test_a_null_kind_is_the_expected_one(server):
    status, found = server.reply("POST", CONFIG_MAPS, config_map("a") | {"apiVersion": None})
    assert (status, found["apiVersion"]) == (201, "v1")


@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/nosuch"), ("GET", PODS), ("POST", PODS), ("DELETE", f"{PODS}/p")]
)
def test_a_timeout_that_is_no_duration(server, method, path):
    status, found = server.reply(method, f"{path}?timeout=5")
    assert status == 400
    assert found["message"] == (
        'invalid timeout specified in the request URL - time: missing unit in duration "5"'
    )


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("dryRun=", 'dryRun: Unsupported value: [""]: supported values: "All"'),
        ("fieldManager=a%0Ab",
         'fieldManager: Invalid value: "a\\nb": invalid character U+000A (at position 1)'),
    ],
)  # fmt: skip
def test_wrong_options_come_before_the_body(server, query, message):
    status, found = server.reply("POST", f"{CONFIG_MAPS}?{query}", b"no JSON")
    assert status == 422
    assert found["message"] == f'CreateOptions.meta.k8s.io "" is invalid: {message}'


def test_an_error_is_yaml_if_the_client_accepts_nothing_else(server):
    found = server.send("GET", f"{PODS}/nosuch/x", headers={"accept": "application/yaml"})
    assert (found.status, found.header("content-type")) == (404, "application/yaml")


def test_the_first_value_that_decodes_itself_is_reported(server):
    body = pod("p")
    body["spec"]["containers"][0] |= {"image": 7, "resources": {"limits": {"cpu": "x"}}}
    _, found = server.reply("POST", PODS, body)
    assert found["message"].startswith(
        'Pod in version "v1" cannot be handled as a Pod: quantities must match'
    )


def test_a_map_of_quantities_does_not_decode_itself(server):
    body = pod("p")
    body["spec"]["containers"][0] |= {"image": 7, "resources": {"limits": ["x"]}}
    _, found = server.reply("POST", PODS, body)
    assert "Go struct field Container.spec.containers.image of type string" in found["message"]


def test_a_field_selector_names_the_object_that_is_forbidden(server):
    path = "/api/v1/nodes?fieldSelector=metadata.name%3Da"
    _, found = server.reply("GET", path, user=BARE_TOKENS["alice-token"])
    assert found["message"].startswith('nodes "a" is forbidden: User "alice" cannot list')
    assert found["details"]["name"] == "a"


def test_a_method_without_a_verb_is_forbidden(server):
    _, found = server.reply("OPTIONS", PODS, user=BARE_TOKENS["alice-token"])
    assert 'User "alice" cannot  resource "pods"' in found["message"]


def test_options_of_another_kind(server):
    _, found = server.reply("DELETE", f"{PODS}/p", pod("p"))
    assert found["message"].startswith('no kind "Pod" is registered for version "v1" in scheme')


@pytest.mark.parametrize(
    ("metadata", "shown"), [({}, "null"), ({"labels": None}, "null"), ({"labels": {}}, "{}")]
)
def test_empty_labels_are_printed_as_they_were_sent(server, metadata, shown):
    _, found = server.reply("POST", DEPLOYMENTS, deployment(metadata=metadata))
    (message,) = [
        each["message"] for each in found["details"]["causes"] if "labels" in each["field"]
    ]
    assert message == f"Invalid value: {shown}: `selector` does not match template `labels`"


@pytest.mark.parametrize(
    ("metadata", "messages"),
    [
        pytest.param({"deletionGracePeriodSeconds": 5},
                     ["Invalid value: 5: field is immutable"] * 2, id="a grace period"),
        pytest.param({"generateName": "a/b"},
                     ["Invalid value: \"a/b\": may not contain '/'",
                      f'Invalid value: "a/b": {RFC}'], id="a prefix"),
    ],
)  # fmt: skip
def test_metadata_that_an_update_may_not_set(server, metadata, messages):
    server.reply("POST", CONFIG_MAPS, config_map("a"))
    status, found = server.patch(f"{CONFIG_MAPS}/a", {"metadata": metadata})
    assert status == 422
    assert [each["message"] for each in found["details"]["causes"]] == messages


def test_an_update_stores_no_self_link(server):
    server.reply("POST", CONFIG_MAPS, config_map("a"))
    _, found = server.patch(f"{CONFIG_MAPS}/a", {"metadata": {"selfLink": "x"}})
    assert "selfLink" not in found["metadata"]


def test_the_image_of_a_changed_pod_is_checked_twice(server):
    server.reply("POST", PODS, pod("p"))
    body = pod("p") | {"spec": {"containers": [{"name": "c", "image": ""}]}}
    _, found = server.reply("PUT", f"{PODS}/p", body)
    fields = [each["field"] for each in found["details"]["causes"]]
    assert fields.count("spec.containers[0].image") == 2


def test_a_strategic_merge_patch_may_name_any_version(server):
    server.reply("POST", CONFIG_MAPS, config_map("a"))
    patch = {"apiVersion": "a/b/c", "kind": "Pod", "data": {"k": "w"}}
    status, found = server.patch(f"{CONFIG_MAPS}/a", patch, "strategic-merge-patch+json")
    assert (status, found["apiVersion"], found["data"]) == (200, "v1", {"k": "w"})


def test_unknown_fields_of_a_patch_are_sorted(server):
    server.reply("POST", CONFIG_MAPS, config_map("a"))
    headers = {"content-type": "application/merge-patch+json"}
    found = server.send("PATCH", f"{CONFIG_MAPS}/a", {"y": 1, "x": 1}, headers=headers)
    assert found.header("warning") == (
        '299 - "unknown field \\"x\\"", 299 - "unknown field \\"y\\""'
    )


def test_an_operation_that_is_null_cannot_be_done(server):
    server.reply("POST", CONFIG_MAPS, config_map("a"))
    status, found = server.patch(f"{CONFIG_MAPS}/a", [None], "json-patch+json")
    assert (status, found["reason"]) == (422, "Invalid")


def test_an_applied_object_is_created_in_the_namespace_of_the_path(server):
    server.reply("POST", CONFIG_MAPS, config_map("a"))
    configuration = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    status, found = server.patch(
        "/api/v1/namespaces/kube-system/configmaps/a?fieldManager=m",
        configuration,
        "apply-patch+yaml",
    )
    assert (status, found["metadata"]["namespace"]) == (201, "kube-system")


def test_a_new_object_has_no_version_yet(server):
    body = config_map("a")
    body["metadata"]["resourceVersion"] = "7"
    status, found = server.reply("POST", CONFIG_MAPS, body)
    assert status == 500
    assert found["message"] == "resourceVersion should not be set on objects to be created"


def test_a_list_at_a_version_that_is_no_number(server):
    _, found = server.reply("GET", f"{PODS}?resourceVersion=x")
    assert found["message"].startswith(
        'invalid resource version: resourceVersion: Invalid value: "x"'
    )


def test_admission_names_an_object_without_a_name(server):
    body = pod("p") | {"metadata": {}}
    body["spec"]["priorityClassName"] = "nosuch"
    _, found = server.reply("POST", PODS, body)
    assert found["message"].startswith('pods "Unknown" is forbidden: no PriorityClass')
    assert found["details"]["name"] == "Unknown"


@pytest.mark.parametrize("query", ["resourceVersion=1", "uid=other"])
def test_preconditions_of_a_deletion_in_the_query(server, query):
    server.reply("POST", CONFIG_MAPS, config_map("a"))
    status, _ = server.reply("DELETE", f"{CONFIG_MAPS}/a?{query}")
    assert status == 409


def test_a_deleted_collection_is_returned_as_it_was(server):
    server.reply("POST", PODS, pod("p", node="n1"))
    _, found = server.reply("DELETE", PODS)
    assert "deletionTimestamp" not in found["items"][0]["metadata"]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        pytest.param({"apiVersion": "a/b"},
                     'Eviction in version "b" cannot be handled as a Eviction: no kind "Eviction"',
                     id="another version"),
        pytest.param({"kind": "Pod", "apiVersion": "v1"},
                     'Pod in version "v1" cannot be handled as a Eviction: converting (v1.Pod) to',
                     id="another kind"),
    ],
)  # fmt: skip
def test_an_eviction_of_another_kind(server, body, message):
    server.reply("POST", PODS, pod("p"))
    eviction = {"kind": "Eviction", "metadata": {"name": "p"}} | body
    status, found = server.reply("POST", f"{PODS}/p/eviction", eviction)
    assert status == 400
    assert found["message"].startswith(message)


IGNORES = {"ignoreStoreReadErrorWithClusterBreakingPotential": True}


@pytest.mark.parametrize(
    ("name", "options", "query", "status", "message"),
    [
        pytest.param("p", IGNORES, "", 422, "can not be set for pod eviction", id="not for pods"),
        pytest.param("none", IGNORES, "", 422, "can not be set", id="before the pod is looked up"),
        pytest.param("p", IGNORES | {"dryRun": ["x"]}, "", 422, "can not be set", id="before"),
        pytest.param(
            "p",
            {"dryRun": ["All", "All"]},
            "dryRun=All",
            500,
            "Non-matching dry-run options in request and content: [All] and [All All]",
            id="the dry runs differ",
        ),
        pytest.param("p", {"dryRun": ["x"]}, "", 422, "dryRun", id="an unknown dry run"),
        pytest.param("p", {"dryRun": ["All"]}, "dryRun=All", 201, "", id="the same dry run"),
        pytest.param("p", {"dryRun": []}, "dryRun=All", 201, "", id="that of the request"),
    ],
)
def test_the_options_of_an_eviction_are_checked_first(
    server, name, options, query, status, message
):
    server.reply("POST", PODS, pod("p"))
    eviction = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": name},
        "deleteOptions": options,
    }
    found = server.reply("POST", f"{PODS}/{name}/eviction?{query}", eviction)
    assert found[0] == status
    assert message in found[1].get("message", "")
    assert server.reply("GET", f"{PODS}/p")[0] == 200, "nothing was deleted"


def test_unknown_fields_of_an_eviction_are_reported(server):
    server.reply("POST", PODS, pod("p"))
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}, "x": 1}
    found = server.send("POST", f"{PODS}/p/eviction", body)
    assert found.header("warning") == '299 - "unknown field \\"x\\""'
    status, _ = server.reply("POST", f"{PODS}/p/eviction?fieldValidation=Strict", body)
    assert status == 400


@pytest.mark.parametrize(
    ("spec", "fields"),
    [
        pytest.param({"clusterIP": "http", "ports": [{"port": 0}]}, ["spec.clusterIPs[0]"],
                     id="no address"),
        pytest.param({"clusterIP": "192.0.2.1", "ports": [{"port": 0}]}, ["spec.clusterIPs"],
                     id="an address of another network"),
        pytest.param({"type": "NodePort", "ports": [{"port": 0, "nodePort": 80}]},
                     ["spec.ports[0].nodePort"], id="a port out of range"),
        pytest.param({"ports": [{"port": 0}]},
                     ["spec.ports[0].port", "spec.ports[0].targetPort"], id="nothing to allocate"),
    ],
)  # fmt: skip
def test_addresses_and_node_ports_of_a_service_are_checked_first(server, spec, fields):
    body = {"metadata": {"name": "s"}, "spec": spec}
    status, found = server.reply("POST", "/api/v1/namespaces/default/services", body)
    assert status == 422
    assert [each["field"] for each in found["details"]["causes"]] == fields


@pytest.mark.parametrize(
    ("containers", "messages"),
    [
        pytest.param([{"name": "x", "image": "a"}],
                     ["spec.containers[0].name: Forbidden: containers may not be renamed or"
                      " reordered on resize"], id="another name"),
        pytest.param([{"name": "c", "image": "a"}, {"name": "d", "image": "a"}],
                     ["spec.containers: Forbidden: containers may not be added or removed on"
                      " resize"], id="one more"),
    ],
)  # fmt: skip
def test_a_resize_keeps_the_containers(server, containers, messages):
    server.reply("POST", PODS, pod("p"))
    patch = {"spec": {"containers": containers}}
    status, found = server.patch(f"{PODS}/p/resize", patch)
    assert status == 422
    assert [f"{e['field']}: {e['message']}" for e in found["details"]["causes"]] == messages


def test_restart_rules_without_a_policy_are_checked_too(server):
    body = pod("p")
    body["spec"]["containers"][0]["restartPolicyRules"] = [{"action": "x"}]
    _, found = server.reply("POST", PODS, body)
    assert [each["field"].rpartition(".")[2] for each in found["details"]["causes"]] == [
        "restartPolicy", "action", "exitCodes",
    ]  # fmt: skip


def test_metadata_of_no_objects_is_null(server):
    accept = {"accept": "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"}
    assert server.reply("GET", PODS, headers=accept)[1]["items"] is None


def test_a_continue_token_is_read_before_the_version(server):
    _, found = server.reply("GET", f"{PODS}?continue=bogus&resourceVersion=5")
    assert found["message"].startswith("invalid continue token: ")


def test_a_page_that_a_selector_fills_may_have_a_next_one(server):
    for name in "abc":
        body = pod(name)
        body["metadata"]["labels"] = {"is-first": str(name == "a").lower()}
        server.reply("POST", PODS, body)
    _, found = server.reply("GET", f"{PODS}?labelSelector=is-first%3Dtrue&limit=1")
    token = found["metadata"]["continue"]
    assert [each["metadata"]["name"] for each in found["items"]] == ["a"]
    assert "remainingItemCount" not in found["metadata"]
    _, found = server.reply("GET", f"{PODS}?labelSelector=is-first%3Dtrue&limit=1&continue={token}")
    assert (found["items"], "continue" in found["metadata"]) == ([], False)


def test_a_page_of_all_matches_of_a_selector_has_no_next_one(server):
    server.reply("POST", PODS, pod("a"))
    _, found = server.reply("GET", f"{PODS}?fieldSelector=metadata.name%3Da&limit=1")
    assert "continue" not in found["metadata"]


@pytest.mark.parametrize("path", ["/api/v1/namespaces", "/api/v1/nodes"])
def test_objects_without_a_namespace_have_no_such_field(server, path):
    _, found = server.reply("GET", f"{path}?fieldSelector=metadata.namespace%3Dx")
    assert found["message"] == "field label not supported: metadata.namespace"


def test_preconditions_come_before_admission(server):
    status, found = server.reply("DELETE", "/api/v1/namespaces/default?resourceVersion=1")
    assert status == 409
    assert found["message"].startswith(
        'Operation cannot be fulfilled on namespaces "default": Precondition failed:'
        " ResourceVersion in precondition: 1, ResourceVersion in object meta: "
    )


@pytest.mark.parametrize(
    ("configuration", "message"),
    [
        ({"apiVersion": "a/b/c", "kind": "ConfigMap"}, "invalid object type: /, Kind="),
        ({"apiVersion": 7, "kind": "ConfigMap"}, "invalid object type: /, Kind=ConfigMap"),
        ({"apiVersion": "v1", "metadata": {"managedFields": []}},
         "invalid object type: /v1, Kind="),
    ],
)  # fmt: skip
def test_the_type_of_an_applied_configuration(server, configuration, message):
    path = f"{CONFIG_MAPS}/a?fieldManager=m"
    status, found = server.patch(path, configuration, "apply-patch+yaml")
    assert (status, found["message"]) == (400, message)


@pytest.mark.parametrize(
    ("status", "messages"),
    [
        ({"podIP": "x"}, ["status.podIPs[0]: Invalid value: \"x\": must be a valid IP address, "
                          "(e.g. 10.9.8.7 or 2001:db8::ffff)"]),
        ({"podIPs": [{"ip": "10.1.0.1"}, {"ip": "10.1.0.2"}]},
         ['status.podIPs: Invalid value: [{"IP":"10.1.0.1"},{"IP":"10.1.0.2"}]: may specify no'
          " more than one IP for each IP family"]),
        ({"hostIPs": [{"ip": "10.1.0.1"}]},
         ['status.hostIPs[0].ip: Invalid value: "10.1.0.1": must be equal to `hostIP`']),
        ({"nominatedNodeName": "n2"},
         ["status.nominatedNodeName: Forbidden: may not be set on pods that are already bound to"
          " a node"]),
    ],
)  # fmt: skip
def test_the_status_of_a_bound_pod(server, status, messages):
    server.reply("POST", PODS, pod("p", nodeName="n1"))
    _, found = server.patch(f"{PODS}/p/status", {"status": status})
    assert [f"{e['field']}: {e['message']}" for e in found["details"]["causes"]] == messages


def test_unknown_fields_below_keys_of_a_map(server):
    body = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": "s"},
        "spec": {"devices": [{"name": "d", "attributes": {"model": {"x": 1}}}]},
    }
    path = "/apis/resource.k8s.io/v1/resourceslices?fieldValidation=Strict"
    _, found = server.reply("POST", path, body)
    assert 'unknown field "spec.devices[0].attributes.model.x"' in found["message"]


def test_the_labels_of_a_stateful_set_s_template_are_checked_twice(server):
    template = {"metadata": {"labels": {"a": "-x"}}, "spec": pod("p")["spec"]}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    body = {"metadata": {"name": "s"}, "spec": spec}
    _, found = server.reply("POST", "/apis/apps/v1/namespaces/default/statefulsets", body)
    fields = [each["field"] for each in found["details"]["causes"]]
    assert fields.count("spec.template.labels") == 2


@pytest.mark.parametrize("value", [{}, [], True, "x"])
def test_a_quantity_of_any_wrong_form(server, value):
    body = pod("p")
    body["spec"]["containers"][0]["resources"] = {"limits": {"cpu": value}}
    _, found = server.reply("POST", PODS, body)
    assert "cannot be handled as a Pod: quantities must match" in found["message"]


def test_an_applied_new_object_has_no_uid(server):
    configuration = config_map("b")
    configuration["metadata"]["uid"] = "u"
    path = f"{CONFIG_MAPS}/a?fieldManager=m"
    status, found = server.patch(path, configuration, "apply-patch+yaml")
    assert status == 409
    assert "uid mismatch: the provided object specified uid u" in found["message"]


def test_a_name_of_a_wrong_type_in_an_applied_configuration(server):
    configuration = config_map("a") | {"metadata": {"name": {"a": 1}}}
    path = f"{CONFIG_MAPS}/a?fieldManager=m"
    _, found = server.patch(path, configuration, "apply-patch+yaml")
    assert found["message"] == (
        "failed to create typed patch object (/; /v1, Kind=ConfigMap): .metadata.name: expected"
        ' string, got &value.valueUnstructured{Value:map[string]interface {}{"a":1}}'
    )


def test_an_applied_container_without_a_name_is_invalid(server):
    spec = {"containers": [{"image": "a"}]}
    configuration = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}
    path = f"{PODS}/p?fieldManager=m"
    status, found = server.patch(path, configuration, "apply-patch+yaml")
    assert (status, found["message"]) == (
        422, 'Pod "p" is invalid: spec.containers[0].name: Required value',
    )  # fmt: skip


def test_the_strategy_of_a_deployment_is_printed_as_upstream_s_struct(server):
    body = deployment(metadata={"labels": {"a": "b"}}, spec=pod("p")["spec"])
    body["spec"]["strategy"] = {"type": "x", "rollingUpdate": {"maxSurge": "25%"}}
    _, found = server.reply("POST", DEPLOYMENTS, body)
    assert (
        'spec.strategy: Unsupported value: {"Type":"x","RollingUpdate":{"MaxUnavailable":0,'
        in (found["message"])
    )


def test_the_lists_of_a_patch_are_printed_with_sorted_keys(server):
    server.reply("POST", PODS, pod("p"))
    term = {"weight": 1, "preference": {}}
    affinity = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [term]}}
    _, found = server.patch(
        f"{PODS}/p?fieldValidation=Strict", {"spec": {"affinity": affinity, "x": 1}}
    )
    assert '{\\"preference\\":{},\\"weight\\":1}' in found["message"]


@pytest.mark.parametrize(
    ("path", "body", "counts"),
    [
        pytest.param(CONFIG_MAPS, config_map("a"), (4, 2), id="as a new one once more"),
        pytest.param("/api/v1/namespaces/default/secrets", {"metadata": {"name": "a"}}, (4, 2),
                     id="a secret"),
        pytest.param("/api/v1/namespaces/default/services",
                     {"metadata": {"name": "a"}, "spec": {"ports": [{"port": 1}]}}, (3, 1),
                     id="by kind"),
        pytest.param("/apis/policy/v1/namespaces/default/poddisruptionbudgets",
                     {"metadata": {"name": "a"}, "spec": {"selector": {}, "minAvailable": 1}},
                     (2, 0), id="by the registry only"),
    ],
)  # fmt: skip
def test_how_often_the_metadata_of_an_update_is_checked(server, path, body, counts):
    assert server.reply("POST", path, body)[0] == 201
    metadata = {"labels": {"a": " "}, "finalizers": ["nodomain"]}
    _, found = server.patch(f"{path}/a", {"metadata": metadata})
    fields = [each["field"] for each in found.get("details", {}).get("causes", [])]
    assert (fields.count("metadata.labels"), fields.count("metadata.finalizers[0]")) == counts


def test_the_name_of_a_budget_has_no_format(server):
    body = {"metadata": {"name": "Upper"}, "spec": {"selector": {}, "minAvailable": 1}}
    path = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
    assert server.reply("POST", path, body)[0] == 201
    _, found = server.reply("POST", path, {"metadata": {}, "spec": {"maxUnavailable": -1}})
    assert [each["field"] for each in found["details"]["causes"]] == ["spec.maxUnavailable"]


@pytest.mark.parametrize(
    ("time", "status"),
    [
        ("2021-01-01T00:00:00Z", 400),
        ("2021-01-01T00:00:00.123Z", 400),
        ("2021-01-01T00:00:00.123456789Z", 400),
        ("2021-01-01T00:00:00.123456Z", 201),
        ("2021-01-01T00:00:00.123456+00:00", 201),
    ],
)
def test_a_time_in_microseconds_has_six_decimals(server, time, status):
    body = {"metadata": {"name": "a"}, "spec": {"renewTime": time}}
    path = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
    assert server.reply("POST", path, body)[0] == status


@pytest.mark.parametrize(
    ("path", "kind", "spec", "field"),
    [
        ("deviceclasses", "DeviceClass", {"selectors": [{"cel": {"expression": "a.b"}}]},
         "spec.selectors[0].cel.expression"),
        ("namespaces/default/resourceclaims", "ResourceClaim",
         {"devices": {"requests": [{"name": "r", "exactly": {
             "deviceClassName": "c", "selectors": [{"cel": {"expression": "a.b"}}]}}]}},
         "spec.devices.requests[0].exactly.selectors[0].cel.expression"),
    ],
)  # fmt: skip
def test_the_expressions_that_select_devices(server, path, kind, spec, field):
    body = {"kind": kind, "metadata": {"name": "a"}, "spec": spec}
    _, found = server.reply("POST", f"/apis/resource.k8s.io/v1/{path}", body)
    (cause,) = found["details"]["causes"]
    assert cause["field"] == field
    assert cause["message"].startswith(
        'Invalid value: "a.b": compilation failed: ERROR: <input>:1:1: undeclared reference to'
    )


@pytest.mark.parametrize(
    ("method", "path", "code", "message"),
    [
        ("GET", "namespaces//pods/a", 400, "Namespace parameter required."),
        ("PUT", "namespaces//pods/a", 400, "Namespace parameter required."),
        ("DELETE", "namespaces//pods/a", 400, "Namespace parameter required."),
        ("GET", "nodes//status", 400, "name must be provided"),
        ("GET", "namespaces//status", 400, "name must be provided"),
        ("GET", "namespaces/a/pods//b", 404, "the server could not find the requested resource"),
    ],
)
def test_a_path_with_an_empty_part(server, method, path, code, message):
    status, found = server.reply(method, f"/api/v1/{path}")
    assert (status, found["message"]) == (code, message)


def test_an_object_without_a_namespace_is_invalid(server):
    status, found = server.reply("POST", "/api/v1/namespaces//configmaps", config_map("a"))
    assert status == 422
    assert found["details"]["causes"] == [
        {
            "reason": "FieldValueRequired",
            "message": "Required value",
            "field": "metadata.namespace",
        }
    ]


def test_the_collection_of_an_empty_namespace_is_that_of_all(server):
    server.reply("POST", CONFIG_MAPS, config_map("a"))
    path = "/api/v1/namespaces//configmaps?labelSelector="
    for selector, count in (("!x", 2), ("x", 0)):
        assert len(server.reply("GET", path + selector)[1]["items"]) == count
    status, found = server.reply("DELETE", f"{path}!x")
    assert (status, found["message"]) == (400, "Namespace parameter required.")
    assert len(server.reply("GET", f"{path}!x")[1]["items"]) == 2, "nothing is deleted"
    status, found = server.reply("DELETE", f"{path}x")
    assert (status, found["items"]) == (200, [])


@pytest.mark.parametrize("accept", ["application/yaml", "application/yaml,application/json"])
def test_a_watch_is_not_yaml(server, accept):
    status, found = server.reply(
        "GET", f"{CONFIG_MAPS}?watch=true&timeoutSeconds=1", headers={"accept": accept}
    )
    assert status == 406
    assert "only the following media types are accepted: application/json;stream=watch" in found
