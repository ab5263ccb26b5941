"""Orders and errors that clients of kube-apiserver see, which one would not expect."""

from typing import Any

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


def test_several_budgets_of_a_pod_are_an_internal_error(server: Server) -> None:
    budget_with_one_disruption(server)
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "a"}}}
    server.reply("POST", BUDGETS, {"metadata": {"name": "c"}, "spec": spec})
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}}
    status, found = server.reply("POST", f"{PODS}/p/eviction", body)
    assert (status, found) == (
        500,
        {
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": "This pod has more than one PodDisruptionBudget, which the eviction"
            " subresource does not support.",
            "code": 500,
        },
    )  # fmt: skip
    assert server.reply("GET", f"{PODS}/p")[0] == 200


def test_an_object_is_not_exported(server: Server) -> None:
    server.reply("POST", PODS, pod("p"))
    assert server.reply("GET", f"{PODS}/p?export=false")[0] == 200
    status, found = server.reply("GET", f"{PODS}/p?export=true")
    message = "the export parameter, deprecated since v1.14, is no longer supported"
    assert (status, found["message"]) == (400, message)


def test_an_eviction_deletes_with_all_its_options(server: Server) -> None:
    server.reply("POST", PODS, pod("p"))
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}}
    empty = body | {"deleteOptions": {"preconditions": {"uid": ""}}}
    status, found = server.reply("POST", f"{PODS}/p/eviction", empty)
    assert (status, "the UID in the precondition () does not match" in found["message"]) == (
        409,
        True,
    )
    orphans = body | {"deleteOptions": {"orphanDependents": True, "gracePeriodSeconds": 0}}
    assert server.reply("POST", f"{PODS}/p/eviction", orphans)[0] == 201
    assert server.reply("GET", f"{PODS}/p")[1]["metadata"]["finalizers"] == ["orphan"]


def test_a_version_that_is_no_number_is_not_parsed(server: Server) -> None:
    server.reply("POST", PODS, pod("p"))
    status, found = server.patch(f"{PODS}/p", {"metadata": {"resourceVersion": "x"}})
    text = 'strconv.ParseUint: parsing "x": invalid syntax'
    assert (status, found["message"]) == (500, text)


def test_an_applied_object_may_have_a_version(server: Server) -> None:
    metadata = {"name": "a", "resourceVersion": "1"}
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
    path = "/api/v1/namespaces/default/configmaps/a?fieldManager=m"
    assert server.patch(path, body, "apply-patch+yaml")[0] == 201


def test_a_status_is_applied_to_a_service_that_is_not_there(server: Server) -> None:
    body = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}, "status": {}}
    for name, expected in (("services", 422), ("nodes", 404)):
        path = f"/api/v1/namespaces/default/{name}" if name == "services" else f"/api/v1/{name}"
        sent = body if name == "services" else body | {"kind": "Node"}
        found = server.patch(f"{path}/a/status?fieldManager=m", sent, "apply-patch+yaml")
        assert found[0] == expected


def test_a_json_patch_that_nothing_checks_is_decoded_by_the_library(server: Server) -> None:
    server.reply("POST", PODS, pod("p"))
    for patch, go_type in (({}, "jsonpatch.Patch"), ([{}, 1], "jsonpatch.Operation")):
        status, found = server.patch(f"{PODS}/p?fieldValidation=Ignore", patch, "json-patch+json")
        kind = "number" if patch else "object"
        text = f"json: cannot unmarshal {kind} into Go value of type {go_type}"
        assert (status, found["message"]) == (400, text)


def test_empty_maps_that_were_sent_are_not_null_in_messages(server: Server) -> None:
    server.reply("POST", PODS, pod("p", nodeSelector={"a": "b"}))
    patch = [{"op": "replace", "path": "/spec/nodeSelector", "value": {}}]
    status, found = server.patch(f"{PODS}/p", patch, "json-patch+json")
    assert (status, '+ "NodeSelector": {},' in found["message"]) == (422, True)


def test_an_empty_text_in_a_map_is_not_the_same_as_none(server: Server) -> None:
    server.reply("POST", PODS, pod("p", nodeSelector={"a": "b"}))
    assert server.patch(f"{PODS}/p", {"spec": {"nodeSelector": {"c": ""}}})[0] == 422


def test_ports_of_a_service_that_draws_none_may_be_given(server: Server) -> None:
    ports: list[Any] = [{"port": 1, "name": "a", "nodePort": 80}, {"port": 2, "name": "b"}]
    spec = {"type": "LoadBalancer", "allocateLoadBalancerNodePorts": False, "ports": ports}
    status, found = server.reply("POST", SERVICES, {"metadata": {"name": "s"}, "spec": spec})
    assert (status, found["details"]["causes"][0]["field"]) == (422, "spec.ports[0].nodePort")
    ports[0]["nodePort"] = 30_080
    status, found = server.reply("POST", SERVICES, {"metadata": {"name": "s"}, "spec": spec})
    assert [port.get("nodePort") for port in found["spec"]["ports"]] == [30_080, None]


def test_a_service_without_address_has_no_policy_inside_the_cluster(server: Server) -> None:
    spec = {"type": "ExternalName", "externalName": "a.b", "internalTrafficPolicy": "Cluster"}
    _, found = server.reply("POST", SERVICES, {"metadata": {"name": "s"}, "spec": spec})
    assert "internalTrafficPolicy" not in found["spec"]


@pytest.mark.parametrize(
    ("metadata", "text"), [({}, "Required value"), ({"name": "a/b"}, "may not contain '/'")]
)
def test_the_address_of_a_service_is_allocated_before_its_name_is_checked(
    server: Server, metadata, text
) -> None:
    body = {"metadata": metadata, "spec": {"ports": [{"port": 80}]}}
    status, found = server.reply("POST", SERVICES, body)
    assert (status, found["details"]["causes"][0]["field"]) == (422, "spec.clusterIPs")
    assert found["message"].endswith(text)


def test_the_labels_of_a_slice_are_counted(server: Server) -> None:
    path = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
    body = {"metadata": {"name": "a"}, "addressType": "IPv4", "endpoints": []}
    server.reply("POST", path, body)
    for metadata, expected in (({"labels": {"a": "b"}}, 2), ({"annotations": {"a": "b"}}, 2)):
        _, found = server.patch(f"{path}/a", {"metadata": metadata})
        assert found["metadata"]["generation"] == expected


def test_the_selector_of_a_budget_is_replaced(server: Server) -> None:
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"a": "b"}}}
    server.reply("POST", BUDGETS, {"metadata": {"name": "b"}, "spec": spec})
    patch = {"spec": {"selector": {"matchLabels": {"c": "d", "e": None}}}}
    _, found = server.patch(f"{BUDGETS}/b", patch, "strategic-merge-patch+json")
    assert found["spec"]["selector"]["matchLabels"] == {"c": "d", "e": ""}


def test_an_empty_reference_has_no_fields(server: Server) -> None:
    path = "/api/v1/namespaces/default/serviceaccounts"
    _, found = server.reply("POST", path, {"metadata": {"name": "a"}, "imagePullSecrets": [{}]})
    assert found["imagePullSecrets"] == [{}]


def test_a_dry_run_looks_for_no_free_address(server: Server) -> None:
    body = {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}}
    _, found = server.reply("POST", f"{SERVICES}?dryRun=All", body)
    assert found["spec"]["clusterIP"] == "10.0.0.0"


@pytest.mark.parametrize(
    ("kind", "metadata", "spec"),
    [
        ("ipaddresses", {"name": "FE80::1"}, {"parentRef": {"resource": "pods", "name": "a"}}),
        ("servicecidrs", {"name": "a"}, {"cidrs": ["FE80::/64"]}),
    ],
)
def test_addresses_have_their_canonical_form(server, kind, metadata, spec) -> None:
    path = f"/apis/networking.k8s.io/v1/{kind}"
    status, found = server.reply("POST", path, {"metadata": metadata, "spec": spec})
    assert (status, "must be in canonical form" in found["message"]) == (422, True)


def test_the_status_of_a_node_has_no_removed_configuration(server: Server) -> None:
    server.reply("POST", "/api/v1/nodes", {"metadata": {"name": "n"}})
    status = {"config": {"error": "x"}, "phase": "Running"}
    _, found = server.patch("/api/v1/nodes/n/status", {"status": status})
    assert (found["status"]["phase"], "config" in found["status"]) == ("Running", False)


def test_texts_of_parameters_are_parsed_before_selectors(server: Server) -> None:
    status, found = server.reply("GET", f"{PODS}?labelSelector=a%20b&limit=x")
    assert (status, found["message"]) == (400, 'strconv.ParseInt: parsing "x": invalid syntax')


def test_options_of_a_deletion_have_the_error_of_the_decoder(server: Server) -> None:
    options = {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": "x"}
    status, found = server.reply("DELETE", f"{PODS}/p", options)
    text = "cannot unmarshal string into Go struct field DeleteOptions.gracePeriodSeconds"
    assert (status, found["message"]) == (400, f"json: {text} of type int64")


def test_every_value_of_a_repeated_field_is_decoded(server: Server) -> None:
    metadata = b'{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p"},"spec":{'
    body = metadata + b'"containers":{},"containers":[{"name":"c","image":"i","tty":1}]}}'
    status, found = server.reply("POST", PODS, body)
    text = "json: cannot unmarshal object into Go struct field PodSpec.spec.containers of type"
    assert (status, text in found["message"]) == (400, True)
    body = metadata + b'"containers":[{"name":1,"name":"c","image":"i"}]}}'
    status, found = server.reply("POST", PODS, body)
    assert (status, "field Container.spec.containers.name of" in found["message"]) == (400, True)


@pytest.mark.parametrize(
    ("path", "document", "count"),
    [
        ("/api/v1/persistentvolumes", {"spec": {"capacity": {"storage": "1Gi"},
         "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/a"}}}, 4),
        ("/api/v1/namespaces/default/limitranges", {"spec": {"limits": []}}, 3),
        ("/apis/apps/v1/namespaces/default/controllerrevisions", {"revision": 1, "data": {}}, 4),
        ("/apis/networking.k8s.io/v1/ingressclasses", {"spec": {"controller": "a.b/c"}}, 3),
    ],
)  # fmt: skip
def test_metadata_is_checked_as_often_as_upstream_does(server, path, document, count) -> None:
    assert server.reply("POST", path, {"metadata": {"name": "x"}, **document})[0] == 201
    status, found = server.patch(f"{path}/x", {"metadata": {"labels": {"a b": "c"}}})
    assert (status, len(found["details"]["causes"])) == (422, count)


@pytest.mark.parametrize(
    ("fields", "field", "text"),
    [
        ({"ipFamilies": ["IPv6"]}, "spec.ipFamilies[0]", "not configured on this cluster"),
        ({"ipFamilyPolicy": "RequireDualStack"}, "spec.ipFamilyPolicy",
         "this cluster is not configured for dual-stack services"),
        ({"clusterIP": "fe80::1"}, "spec.clusterIPs[0]", "IPv6 is not configured on this cluster"),
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


def causes(found: dict[str, Any]) -> list[tuple[str, str]]:
    return [(each["field"], each["message"]) for each in found["details"]["causes"]]


def test_a_struct_without_fields_is_not_the_same_as_none(server: Server) -> None:
    server.reply("POST", PODS, pod("p"))
    status, found = server.patch(f"{PODS}/p", {"spec": {"dnsConfig": {}}})
    assert (status, '+ "DNSConfig": {' in found["message"]) == (422, True)
    assert server.patch(f"{PODS}/p", {"spec": {"nodeSelector": {}, "tolerations": []}})[0] == 200


def test_a_bound_claim_keeps_what_it_requests_besides_storage(server: Server) -> None:
    path = "/api/v1/namespaces/default/persistentvolumeclaims"
    resources = {"requests": {"storage": "1Gi"}, "limits": {"storage": "2Gi"}}
    spec = {"accessModes": ["ReadWriteOnce"], "resources": resources}
    server.reply("POST", path, {"metadata": {"name": "c"}, "spec": spec})
    capacity = {"storage": "1Gi"}
    server.patch(f"{path}/c/status", {"status": {"phase": "Bound", "capacity": capacity}})
    status, found = server.patch(f"{path}/c", {"spec": {"resources": {"limits": None}}})
    assert (status, causes(found)[0][0]) == (422, "spec")


def test_addresses_of_a_pod_are_checked_after_its_claims(server: Server) -> None:
    server.reply("POST", PODS, pod("p"))
    claim = {"requestMappings": [], "resourceClaimName": "c"}
    addresses = [{"ip": "nonsense"}, {"ip": "10.0.0.1"}]
    body = {"status": {"podIPs": addresses, "extendedResourceClaimStatus": claim}}
    body["status"]["podIP"] = "nonsense"
    _, found = server.patch(f"{PODS}/p/status", body)
    claimed, first, internal, last = found["details"]["causes"]
    assert claimed["field"] == "status.extendedResourceClaimStatus.requestMappings"
    assert first["field"] == "status.podIPs[0]"
    assert (internal["reason"], internal["message"]) == (
        "InternalError",
        "Internal error: failed to check for dual stack with error:invalid IP[0]: nonsense",
    )
    assert last["message"].endswith("may specify no more than one IP for each IP family")


def test_ports_of_a_number_share_their_node_port(server: Server) -> None:
    def create(name: str, *protocols: str) -> tuple[int, dict[str, Any]]:
        ports = [{"name": f"p{i}", "port": 53, "protocol": each}
                 for i, each in enumerate(protocols)]  # fmt: skip
        spec = {"type": "NodePort", "ports": ports}
        return server.reply("POST", SERVICES, {"metadata": {"name": name}, "spec": spec})

    _, found = create("dns", "TCP", "UDP")
    numbers = {port["nodePort"] for port in found["spec"]["ports"]}
    assert len(numbers) == 1
    # Upstream validates what it has allocated.
    status, found = create("twice", "TCP", "TCP")
    fields = [field for field, _ in causes(found)]
    assert (status, fields) == (422, ["spec.ports[1].nodePort", "spec.ports[1]"])


def test_only_one_of_two_fields_of_addresses_follows_the_other(server: Server) -> None:
    spec = {"ports": [{"port": 80}]}
    server.reply("POST", SERVICES, {"metadata": {"name": "s"}, "spec": spec})
    _, found = server.patch(f"{SERVICES}/s", {"spec": {"clusterIPs": ["http"]}})
    assert causes(found)[0] == (
        "spec.clusterIPs",
        'Invalid value: ["http"]: first value must match `clusterIP`',
    )


def test_a_service_is_created_by_a_put_of_its_status(server: Server) -> None:
    spec = {"ports": [{"port": 80}]}
    body = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": spec}
    known = body | {"metadata": {"name": "s", "uid": ABSENT_UID}}
    status, found = server.reply("PUT", f"{SERVICES}/s/status", known)
    assert (status, "Precondition failed: UID in precondition" in found["message"]) == (409, True)
    status, found = server.reply("PUT", f"{SERVICES}/s/status", body)
    assert (status, "clusterIP" in found["spec"]) == (201, False)


def test_the_version_of_a_new_object_is_a_number(server: Server) -> None:
    metadata = {"name": "a", "resourceVersion": "x"}
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
    path = "/api/v1/namespaces/default/configmaps/a?fieldManager=m"
    status, found = server.patch(path, body, "apply-patch+yaml")
    text = 'strconv.ParseUint: parsing "x": invalid syntax'
    assert (status, found["message"]) == (500, text)


def test_finalizers_of_some_groups_need_no_domain(server: Server) -> None:
    metadata = {"name": "a", "finalizers": ["mine"]}
    leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
    assert server.reply("POST", leases, {"metadata": metadata, "spec": {}})[0] == 201
    assert server.patch(f"{leases}/a", {"metadata": {"labels": {"a": "b"}}})[0] == 200
    maps = "/api/v1/namespaces/default/configmaps"
    assert server.reply("POST", maps, {"metadata": metadata})[0] == 422


def test_events_are_listed_without_a_time_to_try_again(server: Server) -> None:
    query = "?resourceVersion=999999999"
    for name, expected in (("events", None), ("pods", 1)):
        status, found = server.reply("GET", f"/api/v1/namespaces/default/{name}{query}")
        assert (status, found["details"].get("retryAfterSeconds")) == (504, expected)


def test_the_expressions_of_a_device_class_are_checked_before_its_other_fields(
    server: Server,
) -> None:
    spec = {"selectors": [{"cel": {"expression": "a"}}, {"cel": {"expression": "b"}}],
            "config": [{}], "extendedResourceName": "1Gi"}  # fmt: skip
    _, found = server.reply(
        "POST", "/apis/resource.k8s.io/v1/deviceclasses", {"metadata": {"name": "d"}, "spec": spec}
    )
    assert [field for field, _ in causes(found)] == [
        "spec.selectors[0].cel.expression",
        "spec.selectors[1].cel.expression",
        "spec.config[0].opaque",
        "spec.extendedResourceName",
    ]


def test_patched_data_of_a_revision_have_sorted_keys(server: Server) -> None:
    path = "/apis/apps/v1/namespaces/default/controllerrevisions"
    body = {"metadata": {"name": "r"}, "revision": 1, "data": {"z": 1}}
    server.reply("POST", path, body)
    for kind in ("merge-patch+json", "strategic-merge-patch+json"):
        _, found = server.patch(f"{path}/r", {"data": {"a": 2}}, kind)
        assert causes(found) == [("data", 'Invalid value: {"a":2,"z":1}: field is immutable')]
    server.reply("POST", path, body | {"metadata": {"name": "s"}, "data": {"spec": {"z": 1}}})
    patch = {"data": {"spec": {"a": 1}}}
    status, found = server.patch(f"{path}/s", patch, "strategic-merge-patch+json")
    text = 'unable to find api field in struct RawExtension for the json field "spec"'
    assert (status, found["message"]) == (500, text)


def test_a_time_of_a_wrong_type_is_no_string(server: Server) -> None:
    path = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
    body = {"metadata": {"name": "a"}, "spec": {"renewTime": []}}
    _, found = server.reply("POST", path, body)
    assert found["message"].endswith(
        "json: cannot unmarshal array into Go struct field LeaseSpec.spec.renewTime of type string"
    )


def test_the_status_of_a_claim_is_checked(server: Server) -> None:
    path = "/api/v1/namespaces/default/persistentvolumeclaims"
    resources = {"requests": {"storage": "1Gi"}}
    spec = {"accessModes": ["ReadWriteOnce"], "resources": resources}
    server.reply("POST", path, {"metadata": {"name": "c"}, "spec": spec})
    status = {
        "capacity": {"storage": "-1"},
        "allocatedResourceStatuses": {"storage": "Growing"},
        "allocatedResources": {"a": "1", "example.com/a": "1", "storage": "-2"},
    }
    _, found = server.patch(f"{path}/c/status", {"status": status})
    assert causes(found) == [
        ("status.capacity[storage]", "Invalid value: -1: must be a valid resource quantity"),
        (
            "status.allocatedResourceStatuses",
            'Unsupported value: "storage": supported values: "ControllerResizeInProgress",'
            ' "ControllerResizeInfeasible", "NodeResizeInProgress", "NodeResizeInfeasible",'
            ' "NodeResizePending"',
        ),
        ("status.allocatedResources", 'Unsupported value: "a": supported values: "storage"'),
        (
            "status.allocatedResources[storage]",
            "Invalid value: -2: must be a valid resource quantity",
        ),
    ]
    status = {"allocatedResourceStatuses": {"storage": "NodeResizePending"}}
    assert server.patch(f"{path}/c/status", {"status": status})[0] == 200


def test_addresses_of_a_slice_need_no_canonical_form_if_they_are_of_ipv4(server: Server) -> None:
    path = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
    for kind, expected in (("IPv4", "must be an IPv4 address"), ("IPv6", "must be in canonical")):
        body = {"metadata": {"name": "s"}, "addressType": kind}
        _, found = server.reply("POST", path, body | {"endpoints": [{"addresses": ["FE80::1"]}]})
        assert expected in causes(found)[0][1]


@pytest.mark.parametrize(
    ("kind", "annotation", "text", "error"),
    [
        pytest.param(
            "DaemonSet", "deprecated.daemonset.template.generation", "x",
            'strconv.ParseInt: parsing "x": invalid syntax', id="no number",
        ),
        pytest.param(
            "DaemonSet", "deprecated.daemonset.template.generation", "",
            'strconv.ParseInt: parsing "": invalid syntax', id="an empty text",
        ),
        pytest.param(
            "Deployment", "deprecated.deployment.rollback.to", "9" * 20,
            f"failed to parse annotation[deprecated.deployment.rollback.to]={'9' * 20} as int64:"
            f' strconv.ParseInt: parsing "{"9" * 20}": value out of range', id="a revision",
        ),
        pytest.param(
            "Deployment", "deprecated.deployment.rollback.to", "", "", id="no revision",
        ),
    ],
)  # fmt: skip
def test_an_annotation_that_is_a_field_of_the_internal_version_is_a_number(
    server: Server, kind: str, annotation: str, text: str, error: str
) -> None:
    """Upstream: pkg/apis/apps/v1/conversion.go."""
    path = f"/apis/apps/v1/namespaces/default/{kind.lower()}s"
    spec = {"selector": {"matchLabels": {"a": "b"}},
            "template": {"metadata": {"labels": {"a": "b"}},
                         "spec": {"containers": [{"name": "c", "image": "i"}]}}}  # fmt: skip
    assert server.reply("POST", path, {"metadata": {"name": "a"}, "spec": spec})[0] == 201
    notes = {"annotations": {annotation: text}}
    body = {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "a", **notes}, "spec": spec}
    other = body | {"metadata": {"name": "b", **notes}}
    found = [
        server.reply("POST", f"{path}?dryRun=All", other),
        server.reply("PUT", f"{path}/a", body),
        server.patch(f"{path}/a", {"metadata": notes}, "merge-patch+json"),
        server.patch(f"{path}/a", {"metadata": notes}, "strategic-merge-patch+json"),
        server.patch(f"{path}/a?fieldManager=m&force=true", body, "apply-patch+yaml"),
    ]
    if not error:
        assert [status for status, _ in found] == [201, 200, 200, 200, 200]
        assert all(annotation not in str(reply["metadata"]) for _, reply in found[:4])
        return
    of_body = f'{kind} in version "v1" cannot be handled as a {kind}: {error}'
    of_apply = f"failed to convert to unversioned (/a; apps/v1, Kind={kind}): {error}"
    assert [status for status, _ in found] == [400, 400, 422, 500, 500]
    messages = [reply["message"] for _, reply in found]
    assert messages == [of_body, of_body, messages[2], error, of_apply]
    assert messages[2].endswith(f": {error}")
