"""Rules of single kinds that recordings show in part: resizes, admin access, autoscalers."""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from typing import Any

import pytest

from podwright.cluster.api.endpoints.tests.conftest import Server, pod

CLAIMS = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
AUTOSCALERS = "/apis/autoscaling/{}/namespaces/default/horizontalpodautoscalers"
FORBIDDEN = "admin access to devices requires"


def amounts(**requests: str) -> dict[str, Any]:
    return {"requests": requests}


@pytest.mark.parametrize(
    ("sent", "message"),
    [
        pytest.param({"resources": amounts(cpu="2")}, "", id="the CPU"),
        pytest.param(
            {"resources": amounts(cpu="1", disk="1")},
            "spec.initContainers[0]: Forbidden: only cpu and memory resources for init or sidecar",
            id="another resource",
        ),
        pytest.param(
            {"resources": amounts(cpu="2"),
             "resizePolicy": [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}]},
            "non-sidecar init containers with a resize policy of RestartContainer cannot be",
            id="with a restart",
        ),
    ],
)  # fmt: skip
def test_an_init_container_is_resized(server: Server, sent: dict[str, Any], message: str) -> None:
    init = {"name": "i", "image": "i:1", "resources": amounts(cpu="1")}
    assert server.reply("POST", "/api/v1/namespaces/default/pods", pod("p", initContainers=[init]))
    patch = {"spec": {"initContainers": [{"name": "i", **sent}]}}
    path = "/api/v1/namespaces/default/pods/p/resize"
    status, found = server.patch(path, patch, "strategic-merge-patch+json")
    if message:
        assert status == 422
        assert message in found["message"]
    else:
        assert found["spec"]["initContainers"][0]["resources"] == sent["resources"]


CPU = {"cpu": "1"}


@pytest.mark.parametrize(
    ("resources", "messages"),
    [
        (None, ["spec.resources: Forbidden: pod-level resources cannot be removed"]),
        (
            {"limits": None},
            ["spec.resources.limits: Forbidden: pod-level resource limits cannot be removed"],
        ),
        ({"limits": {"cpu": "2"}, "requests": {"cpu": "2"}}, []),
    ],
)
def test_the_resources_of_a_pod_as_a_whole_are_resized(
    server: Server, resources: dict[str, Any] | None, messages: list[str]
) -> None:
    containers = [{"name": "c", "image": "i", "resources": {"requests": CPU}}]
    spec = {"containers": containers, "resources": {"limits": CPU, "requests": CPU}}
    server.reply(
        "POST", "/api/v1/namespaces/default/pods", {"metadata": {"name": "p"}, "spec": spec}
    )
    path = "/api/v1/namespaces/default/pods/p/resize"
    status, found = server.patch(path, {"spec": {"resources": resources}})
    assert status == (422 if messages else 200)
    if messages:
        assert found["message"] == f'Pod "p" is invalid: {messages[0]}'


def test_a_pod_is_not_resized_by_a_kubelet_that_reports_no_resources(server: Server) -> None:
    amounts = {"requests": CPU}
    spec = {"containers": [{"name": "c", "image": "i", "resources": amounts}]}
    pods = "/api/v1/namespaces/default/pods"
    server.reply("POST", pods, {"metadata": {"name": "p"}, "spec": spec})
    running = {"name": "c", "image": "i", "imageID": "", "ready": True, "restartCount": 0,
               "state": {"running": {"startedAt": None}}}  # fmt: skip
    server.patch(f"{pods}/p/status", {"status": {"containerStatuses": [running]}})
    change = {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "2"}}}]}}
    strategic = "strategic-merge-patch+json"
    status, found = server.patch(f"{pods}/p/resize", change, strategic)
    assert status == 422
    assert "Pod running on node without support for resize" in found["message"]
    running["resources"] = amounts
    server.patch(f"{pods}/p/status", {"status": {"containerStatuses": [running]}})
    assert server.patch(f"{pods}/p/resize", change, strategic)[0] == 200


@pytest.mark.parametrize("is_labeled", [False, True])
def test_admin_access_is_granted_in_a_namespace_with_the_label(
    server: Server, *, is_labeled: bool
) -> None:
    labels = {"resource.kubernetes.io/admin-access": "true"} if is_labeled else {}
    server.patch("/api/v1/namespaces/default", {"metadata": {"labels": labels}})
    exactly = {"deviceClassName": "gpu", "adminAccess": True}
    spec = {"devices": {"requests": [{"name": "r", "exactly": exactly}]}}
    version = "resource.k8s.io/v1"
    template = {
        "apiVersion": version,
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "t"},
        "spec": {"spec": spec},
    }
    status, found = server.reply(
        "POST", "/apis/resource.k8s.io/v1/namespaces/default/resourceclaimtemplates", template
    )
    assert (status == 201) is is_labeled, found
    claim = {
        "apiVersion": version,
        "kind": "ResourceClaim",
        "metadata": {"name": "c"},
        "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]}},
    }
    server.reply("POST", CLAIMS, claim)
    result = {"request": "r", "driver": "a.b", "pool": "p", "device": "d", "adminAccess": True}
    allocation = {"devices": {"results": [result]}}
    status, found = server.patch(f"{CLAIMS}/c/status", {"status": {"allocation": allocation}})
    if is_labeled:
        assert status == 200, found
    else:
        assert FORBIDDEN in found["message"]


def test_an_autoscaler_keeps_its_metrics_in_another_version(server: Server) -> None:
    metrics = [
        {"type": "Pods", "pods": {"metric": {"name": "m"},
         "target": {"type": "AverageValue", "averageValue": "2"}}},
        {"type": "Object", "object": {"describedObject": {"kind": "Service", "name": "x"},
         "metric": {"name": "x"}, "target": {"type": "AverageValue", "averageValue": "3"}}},
        {"type": "External", "external": {"metric": {"name": "e"},
         "target": {"type": "Value", "value": "4"}}},
        {"type": "ContainerResource", "containerResource": {"name": "cpu", "container": "c",
         "target": {"type": "Utilization", "averageUtilization": 50}}},
        {"type": "Resource", "resource": {"name": "memory",
         "target": {"type": "AverageValue", "averageValue": "1Gi"}}},
    ]  # fmt: skip
    rules = {"selectPolicy": "Max", "policies": [{"type": "Pods", "value": 1, "periodSeconds": 9}]}
    document = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "h"},
        "spec": {
            "maxReplicas": 5,
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"},
            "metrics": metrics,
            "behavior": {"scaleUp": rules},
        },
    }
    assert server.reply("POST", AUTOSCALERS.format("v2"), document)[0] == 201
    current = {"resource": {"name": "cpu", "current": {"averageUtilization": 4}}}
    seen = {
        "currentReplicas": 1,
        "conditions": [{"type": "AbleToScale", "status": "True"}],
        "currentMetrics": [{"type": "Resource", **current}],
    }
    server.patch(AUTOSCALERS.format("v2") + "/h/status", {"status": seen})
    before = server.reply("GET", AUTOSCALERS.format("v2") + "/h")[1]
    status, old = server.patch(AUTOSCALERS.format("v1") + "/h", {"spec": {"maxReplicas": 6}})
    assert status == 200, old
    prefix = "autoscaling.alpha.kubernetes.io"
    kept = {f"{prefix}/{name}": old["metadata"]["annotations"][f"{prefix}/{name}"]
            for name in ("metrics", "behavior")}  # fmt: skip
    bare = old | {"metadata": {"name": "h", "annotations": kept}}
    assert server.reply("PUT", AUTOSCALERS.format("v1") + "/h", bare)[0] == 200
    written = json.loads(old["metadata"]["annotations"]["autoscaling.alpha.kubernetes.io/metrics"])
    assert [each["type"] for each in written] == [each["type"] for each in metrics]
    after = server.reply("GET", AUTOSCALERS.format("v2") + "/h")[1]
    assert after["spec"]["metrics"] == before["spec"]["metrics"]
    assert after["spec"]["behavior"] == before["spec"]["behavior"]
    # Another version has conditions and metrics of the status in annotations only.
    assert after["status"] == before["status"]
    assert after["status"].keys() == {"desiredReplicas", *seen}


def test_what_is_no_json_in_an_annotation_of_an_autoscaler_is_ignored(server: Server) -> None:
    annotations = {
        f"autoscaling.alpha.kubernetes.io/{name}": "{"
        for name in ("metrics", "behavior", "current-metrics", "conditions")
    }
    document = {
        "apiVersion": "autoscaling/v1",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "h", "annotations": annotations},
        "spec": {
            "maxReplicas": 5,
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"},
        },
    }
    status, made = server.reply("POST", AUTOSCALERS.format("v1"), document)
    assert status == 201, made
    assert made["spec"]["targetCPUUtilizationPercentage"] == 80
    assert "annotations" not in made["metadata"]


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ('{"v":"meta.k8s.io/v1","rv":0,"start":"a"}', "incorrect encoded start resourceVersion"),
        ('{"v":"meta.k8s.io/v1","rv":1,"start":""}', "encoded start key empty"),
        ('{"v":"meta.k8s.io/v1","rv":1,"start":"../a"}', "continue key is not valid: ../a"),
        ('{"v":"meta.k8s.io/v1","rv":"x"}', "continue key is not valid"),
    ],
)
def test_a_token_of_somebody_else(server: Server, written: str, message: str) -> None:
    token = urlsafe_b64encode(written.encode()).rstrip(b"=").decode()
    status, found = server.reply("GET", f"/api/v1/namespaces/default/pods?continue={token}")
    assert status == 400
    assert message in found["message"]


@pytest.mark.parametrize("has_labels", [False, True])
def test_a_job_without_labels_has_those_of_its_template(
    server: Server,
    has_labels: bool,
) -> None:
    template = {
        "metadata": {"labels": {"a": "b"}},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]},
    }
    document = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "j"} | ({"labels": {"a": "b"}} if has_labels else {}),
        "spec": {"template": template},
    }
    status, made = server.reply("POST", "/apis/batch/v1/namespaces/default/jobs", document)
    assert status == 201
    labels = made["spec"]["template"]["metadata"]["labels"]
    assert labels["job-name"] == "j"
    # The default shares the map to which the generated ones are added.
    assert made["metadata"]["labels"] == ({"a": "b"} if has_labels else labels)


MAPS = "/api/v1/namespaces/default/configmaps"


@pytest.mark.parametrize(
    ("sent", "message"),
    [
        ({"kind": "DeleteOptions"}, "converting (v1.DeleteOptions) to (core.ConfigMap): unknown"),
        ({"kind": "Status", "apiVersion": "apps/v1"}, "converting (v1.Status) to (core.ConfigMap)"),
        ({"kind": "PodList"}, "converting (v1.PodList) to (core.ConfigMap): unknown conversion"),
        ({"kind": "Table"}, 'no kind "Table" is registered for version "v1"'),
        ({"kind": "ConfigMap", "apiVersion": "v0"}, 'no kind "ConfigMap" is registered for'),
        ({"kind": "Pod", "spec": {"containers": "x"}}, "json: cannot unmarshal string into Go"),
    ],
)
def test_another_kind_is_decoded_before_it_is_converted(
    server: Server, sent: dict[str, Any], message: str
) -> None:
    status, found = server.reply("POST", MAPS, {"apiVersion": "v1", **sent})
    assert status == 400
    assert message in found["message"]


def test_errors_of_a_service_beside_those_of_its_addresses(server: Server) -> None:
    services = "/api/v1/namespaces/default/services"
    spec: dict[str, Any] = {
        "type": "ExternalName",
        "clusterIPs": ["10.0.0.9"],
        "externalName": "Bad_Host",
    }
    _, found = server.reply("POST", services, {"metadata": {"name": "s"}, "spec": spec})
    fields = [each["field"] for each in found["details"]["causes"]]
    assert fields == ["spec.clusterIPs", "spec.externalName"]
    spec = {"clusterIP": "10.0.0.0", "ports": [{"port": 80}]}
    _, found = server.reply("POST", services, {"metadata": {"name": "s"}, "spec": spec})
    assert "is not in the valid range. The range of valid IPs is 10.0.0.0/24" in found["message"]


def test_a_wrong_name_of_a_definition_is_before_its_labels(server: Server) -> None:
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    metadata = {"name": "x", "labels": {"a b": "c"}}
    _, found = server.reply("POST", path, {"metadata": metadata, "spec": {}})
    fields = [each["field"] for each in found["details"]["causes"]]
    assert fields[:2] == ["metadata.name", "metadata.labels"]


def test_a_number_that_is_too_large_for_a_float(server: Server) -> None:
    headers = {"content-type": "application/merge-patch+json"}
    server.reply("POST", MAPS, {"metadata": {"name": "a"}})
    _, found = server.reply("PATCH", f"{MAPS}/a", b'{"x":1e400}', headers=headers)
    assert found["message"].endswith("cannot unmarshal number 1e400 into Go value of type float64")


def test_addresses_with_leading_zeros_have_a_family(server: Server) -> None:
    pods = "/api/v1/namespaces/default/pods"
    server.reply("POST", pods, pod("p"))
    status = {"podIPs": [{"ip": "01.2.3.4"}, {"ip": "fe80::1"}]}
    _, found = server.patch(f"{pods}/p/status", {"status": status})
    assert [each["message"] for each in found["details"]["causes"]] == [
        'Invalid value: "01.2.3.4": must not have leading 0s'
    ]


def test_ephemeral_containers_of_a_template_are_checked_after_the_others(server: Server) -> None:
    spec = {"ephemeralContainers": [{"name": "e", "image": "i", "targetContainerName": "x"}],
            "containers": [{"name": "c", "image": "i"}], "restartPolicy": "X"}  # fmt: skip
    template = {"metadata": {"labels": {"a": "b"}}, "spec": spec}
    deployment = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    path = "/apis/apps/v1/namespaces/default/deployments"
    _, found = server.reply("POST", path, {"metadata": {"name": "d"}, "spec": deployment})
    start = "spec.template.spec."
    assert [each["field"].removeprefix(start) for each in found["details"]["causes"]][:3] == [
        "ephemeralContainers[0].targetContainerName",
        "restartPolicy",
        "ephemeralContainers",
    ]


def test_the_length_of_a_name_of_a_device_class_is_in_bytes(server: Server) -> None:
    path = "/apis/resource.k8s.io/v1/deviceclasses"
    _, found = server.reply("POST", path, {"metadata": {"name": "a" * 254}, "spec": {}})
    assert found["message"].endswith("must be no more than 253 bytes")


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", f"{MAPS}/..?resourceVersion=x", 400),
        ("POST", f"{MAPS}?fieldValidation=Foo", 415),
        ("DELETE", f"{MAPS}?dryRun=Foo&limit=x", 400),
    ],
)
def test_which_error_of_several_is_the_first(
    server: Server, method: str, path: str, status: int
) -> None:
    headers = {"content-type": "text/plain"} if method == "POST" else {}
    assert server.reply(method, path, headers=headers)[0] == status


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("x" * 247, "Always"),
        ("x" * 248, "IfNotPresent"),
        (f"x.io/{'x' * 255}", "Always"),
        (f"x.io/{'x' * 256}", "IfNotPresent"),
    ],
)
def test_an_image_with_too_long_a_name_is_pulled_if_absent(
    server: Server, image: str, policy: str
) -> None:
    pods = "/api/v1/namespaces/default/pods"
    made = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": image}]}}
    _, found = server.reply("POST", pods, made)
    assert found["spec"]["containers"][0]["imagePullPolicy"] == policy


@pytest.mark.parametrize(("amount", "start"), [("1kk", "unable to parse"), ("1.2.3", "quantities")])
def test_a_quantity_has_no_such_suffix(server: Server, amount: str, start: str) -> None:
    pods = "/api/v1/namespaces/default/pods"
    limits = {"resources": {"limits": {"cpu": amount}}}
    made = {"spec": {"containers": [{"name": "c", "image": "i", **limits}]}}
    _, found = server.reply("POST", pods, made)
    assert f"handled as a Pod: {start}" in found["message"]


def test_a_stored_group_of_a_data_source_is_not_checked_again(server: Server) -> None:
    claims = "/api/v1/namespaces/default/persistentvolumeclaims"
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}},
            "dataSourceRef": {"apiGroup": "a.io", "kind": "K", "name": "n"}}  # fmt: skip
    server.reply("POST", claims, {"metadata": {"name": "c"}, "spec": spec})
    _, found = server.patch(f"{claims}/c", {"spec": {"dataSource": {"apiGroup": "A_"}}})
    assert [each["field"] for each in found["details"]["causes"]] == ["spec", "spec"]


def test_a_patch_to_an_unknown_version_of_the_kind(server: Server) -> None:
    server.reply("POST", MAPS, {"metadata": {"name": "a"}})
    _, found = server.patch(f"{MAPS}/a", {"apiVersion": "b"})
    assert 'no kind "ConfigMap" is registered for version "b"' in found["message"]
