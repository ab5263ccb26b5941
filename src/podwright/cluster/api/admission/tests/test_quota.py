"""ResourceQuota rejects what exceeds a quota, and counts the rest."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from podwright.apimachinery.schema import decode
from podwright.cluster.api.admission.amounts import texts_of
from podwright.cluster.api.admission.quota.device_claims import DeviceClaims
from podwright.cluster.api.admission.quota.evaluators import selects
from podwright.cluster.api.admission.quota.pods import Pods, _is_best_effort
from podwright.cluster.api.admission.quota.resource_quota import QuotaEvaluators
from podwright.cluster.api.endpoints.tests.conftest import config_map, pod
from podwright.cluster.store import ObjectStore

DEFAULT = "/api/v1/namespaces/default"
QUOTAS = f"{DEFAULT}/resourcequotas"
CLAIMS = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"


def restrict(
    server: Any, hard: dict[str, str], used: dict[str, str] | None = None, **spec: Any
) -> None:
    """Create a quota as the quota controller leaves it."""
    server.reply("POST", QUOTAS, {"metadata": {"name": "q"}, "spec": {"hard": hard, **spec}})
    status = {"hard": hard, "used": used or dict.fromkeys(hard, "0")}
    found, made = server.patch(f"{QUOTAS}/q/status", {"status": status})
    assert found == 200, made


def used(server: Any) -> dict[str, str]:
    found: dict[str, str] = server.reply("GET", f"{QUOTAS}/q")[1]["status"]["used"]
    return found


def with_resources(name: str, **resources: Any) -> dict[str, Any]:
    return pod(name, containers=[{"name": "c", "image": "app:1", "resources": resources}])


def a_service(kind: str, **spec: Any) -> dict[str, Any]:
    ports = [{"name": "a", "port": 80}, {"name": "b", "port": 81}]
    return {"metadata": {"name": "s"}, "spec": {"type": kind, "ports": ports, **spec}}


def a_claim(**spec: Any) -> dict[str, Any]:
    size = {"requests": {"storage": "1500m"}}
    return {
        "metadata": {"name": "c"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": size, **spec},
    }


def devices(*requests: dict[str, Any]) -> dict[str, Any]:
    named = [{"name": f"r{index}", **request} for index, request in enumerate(requests)]
    return {"metadata": {"name": "d"}, "spec": {"devices": {"requests": named}}}


@pytest.mark.parametrize(
    ("path", "body", "counted"),
    [
        pytest.param(
            f"{DEFAULT}/pods",
            with_resources(
                "p",
                requests={"cpu": "1500m", "hugepages-2Mi": "4Mi", "example.com/gpu": "2"},
                limits={"memory": "1Gi", "hugepages-2Mi": "4Mi", "example.com/gpu": "2"},
            ),
            {
                "pods": "1",
                "count/pods": "1",
                "cpu": "1500m",
                "requests.cpu": "1500m",
                "memory": "1Gi",
                "limits.memory": "1Gi",
                "hugepages-2Mi": "4Mi",
                "requests.hugepages-2Mi": "4Mi",
                "requests.example.com/gpu": "2",
            },
            id="a pod",
        ),
        pytest.param(
            f"{DEFAULT}/services",
            a_service("NodePort"),
            {"services": "1", "services.nodeports": "2", "services.loadbalancers": "0"},
            id="a service with node ports",
        ),
        pytest.param(
            f"{DEFAULT}/services",
            a_service("LoadBalancer", allocateLoadBalancerNodePorts=False),
            {"services.nodeports": "0", "services.loadbalancers": "1", "count/services": "1"},
            id="a load balancer without node ports",
        ),
        pytest.param(
            f"{DEFAULT}/persistentvolumeclaims",
            a_claim(storageClassName="gold"),
            {
                "persistentvolumeclaims": "1",
                "requests.storage": "2",
                "gold.storageclass.storage.k8s.io/requests.storage": "2",
                "gold.storageclass.storage.k8s.io/persistentvolumeclaims": "1",
                "iron.storageclass.storage.k8s.io/persistentvolumeclaims": "0",
            },
            id="a claim of a class, rounded up to bytes",
        ),
        pytest.param(
            CLAIMS,
            devices(
                {"exactly": {"deviceClassName": "gpu", "count": 3}},
                {"exactly": {"deviceClassName": "gpu", "allocationMode": "All"}},
                {
                    "firstAvailable": [
                        {"name": "x", "deviceClassName": "gpu", "count": 2},
                        {"name": "y", "deviceClassName": "fpga", "count": 1},
                    ]
                },
            ),
            {
                "count/resourceclaims.resource.k8s.io": "1",
                "gpu.deviceclass.resource.k8s.io/devices": "37",
                "fpga.deviceclass.resource.k8s.io/devices": "1",
            },
            id="devices, at worst",
        ),
        pytest.param(
            f"{DEFAULT}/services",
            a_service("LoadBalancer"),
            {"services": "1", "services.loadbalancers": "1", "services.nodeports": "2"},
            id="a load balancer",
        ),
        pytest.param(
            f"{DEFAULT}/services",
            a_service("LoadBalancer", allocateLoadBalancerNodePorts=False),
            {"services": "1", "services.loadbalancers": "1", "services.nodeports": "0"},
            id="a load balancer without node ports",
        ),
        pytest.param(
            f"{DEFAULT}/services",
            a_service("ClusterIP"),
            {"services": "1", "services.loadbalancers": "0", "services.nodeports": "0"},
            id="a service without node ports",
        ),
        pytest.param(
            f"{DEFAULT}/secrets",
            {"metadata": {"name": "s"}},
            {"secrets": "1", "count/secrets": "1", "configmaps": "0"},
            id="objects",
        ),
        pytest.param(
            "/apis/coordination.k8s.io/v1/namespaces/default/leases",
            {"metadata": {"name": "s"}, "spec": {}},
            {"count/leases.coordination.k8s.io": "1"},
            id="objects of a group",
        ),
    ],
)
def test_what_objects_use_is_added_to_the_status(server, path, body, counted):
    restrict(server, dict.fromkeys(counted, "100Gi"))
    status, made = server.reply("POST", path, body)
    assert status == 201, made
    assert used(server) == counted


def test_a_dry_run_is_checked_and_not_counted(server):
    restrict(server, {"configmaps": "1"})
    assert server.reply("POST", f"{DEFAULT}/configmaps?dryRun=All", config_map("a"))[0] == 201
    assert used(server) == {"configmaps": "0"}
    assert server.reply("POST", f"{DEFAULT}/configmaps", config_map("a"))[0] == 201
    status, error = server.reply("POST", f"{DEFAULT}/configmaps?dryRun=All", config_map("b"))
    assert (status, error["message"]) == (
        403,
        'configmaps "b" is forbidden: exceeded quota: q, requested: configmaps=1, used:'
        " configmaps=1, limited: configmaps=1",
    )


def test_all_exceeded_resources_are_named(server):
    restrict(server, {"requests.cpu": "1", "requests.memory": "1Gi", "pods": "5"})
    requests = {"cpu": "2", "memory": "2Gi"}
    _, error = server.reply("POST", f"{DEFAULT}/pods", with_resources("p", requests=requests))
    assert error["message"] == (
        'pods "p" is forbidden: exceeded quota: q, requested: requests.cpu=2,requests.memory=2Gi,'
        " used: requests.cpu=0,requests.memory=0, limited: requests.cpu=1,requests.memory=1Gi"
    )


def test_containers_specify_what_is_limited(server):
    restrict(
        server, {"limits.cpu": "1", "requests.memory": "1Gi", "requests.ephemeral-storage": "1"}
    )
    spec = {
        "containers": [
            {"name": name, "image": "app:1", "resources": {"limits": {"cpu": "1m"}}}
            for name in ("b", "a")
        ],
        "initContainers": [{"name": "i", "image": "app:1"}],
    }
    _, error = server.reply("POST", f"{DEFAULT}/pods", pod("p", **spec))
    assert error["message"] == (
        'pods "p" is forbidden: failed quota: q: must specify limits.cpu for: i; requests.memory'
        " for: a,b,i"
    )


def test_an_unknown_usage_rejects(server):
    restrict(server, {"pods": "1", "count/pods": "1"}, {"pods": "0"})
    _, error = server.reply("POST", f"{DEFAULT}/pods", pod("p"))
    assert error["message"] == (
        'pods "p" is forbidden: status unknown for quota: q, resources: count/pods,pods'
    )


AFFINITY = {
    "podAntiAffinity": {
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {
                "weight": 1,
                "podAffinityTerm": {"topologyKey": "zone", "namespaceSelector": {}},
            }
        ]
    }
}


@pytest.mark.parametrize(
    ("scope", "inside", "outside"),
    [
        pytest.param({"scopes": ["Terminating"]}, {"activeDeadlineSeconds": 5}, {}, id="deadline"),
        pytest.param({"scopes": ["NotTerminating"]}, {}, {"activeDeadlineSeconds": 5}, id="none"),
        pytest.param(
            {"scopes": ["CrossNamespacePodAffinity"]}, {"affinity": AFFINITY}, {}, id="affinity"
        ),
        pytest.param(
            {"scopes": ["PriorityClass"]},
            {"priorityClassName": "system-node-critical"},
            {},
            id="any priority class",
        ),
        pytest.param(
            {
                "scopeSelector": {
                    "matchExpressions": [
                        {
                            "scopeName": "PriorityClass",
                            "operator": "NotIn",
                            "values": ["system-node-critical"],
                        }
                    ]
                }
            },
            {},
            {"priorityClassName": "system-node-critical"},
            id="not this priority class",
        ),
    ],
)
def test_only_pods_in_scope_count(server, scope, inside, outside):
    restrict(server, {"pods": "1"}, **scope)
    assert server.reply("POST", f"{DEFAULT}/pods", pod("out", **outside))[0] == 201
    assert used(server) == {"pods": "0"}
    assert server.reply("POST", f"{DEFAULT}/pods", pod("in", **inside))[0] == 201
    assert used(server) == {"pods": "1"}
    assert server.reply("POST", f"{DEFAULT}/pods", pod("more", **inside))[0] == 403


@pytest.mark.parametrize("known", ["Burstable", "BestEffort"])
def test_the_quality_of_a_pod_is_that_of_its_status(known):
    amounts = {"requests": {"cpu": "1"}} if known == "BestEffort" else {}
    spec = {"containers": [{"name": "c", "resources": amounts}]}
    is_best_effort = known == "BestEffort"
    recorded = {"spec": spec, "status": {"qosClass": known}}
    assert _is_best_effort(recorded) is is_best_effort
    assert _is_best_effort({"spec": spec}) is not is_best_effort


def test_an_update_counts_what_it_adds(server):
    restrict(server, {"services.nodeports": "3", "services": "1"})
    server.reply("POST", f"{DEFAULT}/services", a_service("ClusterIP"))
    patch = {"spec": {"type": "NodePort"}}
    assert server.patch(f"{DEFAULT}/services/s", patch)[0] == 200
    assert used(server) == {"services": "1", "services.nodeports": "2"}
    # What an update no longer uses is given back by the quota controller only.
    assert server.patch(f"{DEFAULT}/services/s", {"spec": {"type": "ClusterIP"}})[0] == 200
    assert used(server) == {"services": "1", "services.nodeports": "2"}


@pytest.mark.parametrize(
    ("claim", "status", "counted"),
    [
        pytest.param({}, {}, "1", id="the pod counts two of them"),
        pytest.param({"uid": "other"}, {}, "3", id="the claim of an earlier pod"),
        pytest.param({"annotations": {}}, {}, "3", id="a claim of its own"),
        pytest.param({"controller": False}, {}, "3", id="a pod that does not control it"),
        pytest.param({"created": "2026-03-02T10:00:09Z"}, {}, "3", id="a later claim of the pod"),
        pytest.param({}, {"resourceClaimName": "c"}, "1", id="the claim that the pod names"),
        pytest.param({}, {"resourceClaimName": "x"}, "3", id="another claim than the pod names"),
    ],
)
def test_devices_that_a_pod_counts_count_once(server, claim, status, counted):
    device_class = {"metadata": {"name": "gpu"}, "spec": {"extendedResourceName": "e.com/gpu"}}
    classes = "/apis/resource.k8s.io/v1/deviceclasses"
    assert server.reply("POST", classes, device_class)[0] == 201
    limits = {"limits": {"e.com/gpu": "2"}}
    _, made = server.reply("POST", f"{DEFAULT}/pods", with_resources("p", **limits))
    if status:
        mapping = {"containerName": "c", "resourceName": "e.com/gpu", "requestName": "r"}
        status = {"extendedResourceClaimStatus": {"requestMappings": [mapping], **status}}
        assert server.patch(f"{DEFAULT}/pods/p/status", {"status": status})[0] == 200
    first = {"name": "a", "created": "2026-03-02T10:00:05Z"}
    found = {"name": "c", "created": "2026-03-02T10:00:01Z", **claim}

    def made_for_pod(name: str, created: str, **other: Any) -> dict[str, Any]:
        owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "controller": True,
                 "uid": made["metadata"]["uid"]}  # fmt: skip
        owner |= {key: other[key] for key in ("uid", "controller") if key in other}
        annotation = {"resource.kubernetes.io/extended-resource-claim": "true"}
        request = {"name": "r", "exactly": {"deviceClassName": "gpu", "count": 3,
                                            "allocationMode": "ExactCount"}}  # fmt: skip
        metadata = {"name": name, "namespace": "default", "creationTimestamp": created,
                    "annotations": other.get("annotations", annotation),
                    "ownerReferences": [owner]}  # fmt: skip
        return {"metadata": metadata, "spec": {"devices": {"requests": [request]}}}

    head = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim"}
    earlier = decode(head | made_for_pod(**first), source="test")
    server.store.put(earlier)
    used = DeviceClaims(server.store).usage(made_for_pod(**found), server.now_ns)
    assert texts_of(used).get("requests.e.com/gpu") == counted
    assert texts_of(used)["gpu.deviceclass.resource.k8s.io/devices"] == "3"


@pytest.mark.parametrize(
    ("operator", "selected"),
    [
        ("In", ["high"]),
        ("NotIn", ["low", ""]),
        ("Exists", ["high", "low"]),
        ("DoesNotExist", [""]),
        ("Other", []),
    ],
)
def test_a_scope_selects_by_the_value_and_by_its_absence(operator, selected):
    requirement = {"operator": operator, "values": ["high", ""] if operator == "In" else ["high"]}
    assert [each for each in ("high", "low", "") if selects(requirement, each)] == selected


def test_a_resized_pod_counts_with_its_new_requests(server):
    restrict(server, {"requests.cpu": "3"})
    server.reply("POST", f"{DEFAULT}/pods", with_resources("p", requests={"cpu": "1"}))
    path = f"{DEFAULT}/pods/p/resize"

    def resize(cpu: str) -> int:
        container = {"name": "c", "resources": {"requests": {"cpu": cpu}}}
        patch = {"spec": {"containers": [container]}}
        status: int = server.patch(path, patch, "strategic-merge-patch+json")[0]
        return status

    assert resize("2") == 200
    assert used(server) == {"requests.cpu": "2"}
    assert resize("4") == 403
    assert used(server) == {"requests.cpu": "2"}


def test_storage_that_is_allocated_beyond_a_quota_is_counted_and_not_rejected(server):
    restrict(server, {"requests.storage": "3"})
    path = f"{DEFAULT}/persistentvolumeclaims"
    assert server.reply("POST", path, a_claim())[0] == 201
    assert used(server) == {"requests.storage": "2"}
    status = {"allocatedResources": {"storage": "5"}}
    assert server.patch(f"{path}/c/status", {"status": status})[0] == 200
    assert used(server) == {"requests.storage": "5"}


def test_the_uid_in_a_job_stays_the_one_of_the_job(server):
    restrict(server, {"count/jobs.batch": "1"})
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "a:1"}]}}
    path = "/apis/batch/v1/namespaces/default/jobs"
    _, job = server.reply("POST", path, {"metadata": {"name": "j"}, "spec": {"template": template}})
    assert job["spec"]["selector"]["matchLabels"] == {
        "batch.kubernetes.io/controller-uid": job["metadata"]["uid"]
    }
    assert used(server) == {"count/jobs.batch": "1"}


def test_the_status_of_a_quota_is_validated(server):
    restrict(server, {"pods": "1"})
    bad = {"status": {"hard": {"a": "1"}, "used": {"pods": "-1"}}}
    status, error = server.patch(f"{QUOTAS}/q/status", bad)
    assert status == 422
    assert [each["field"] for each in error["details"]["causes"]] == [
        "status.hard[a]",
        "status.hard[a]",
        "status.used[pods]",
    ]


class _Unordered(frozenset[str]):
    """Names that can be looked up, not iterated over."""

    def __iter__(self) -> Iterator[str]:
        raise AssertionError("all names of a quota are read for each of them")


def test_many_counted_resources_are_looked_up_by_their_names():
    names = _Unordered({f"count/kind-{number}.example.com" for number in range(3)})
    evaluators = QuotaEvaluators(ObjectStore())
    found = evaluators.of("example.com", "kind-2").matching(names)
    assert found == ["count/kind-2.example.com"]
    assert evaluators.of("example.com", "other").matching(names) == []


def test_a_pod_that_enters_a_scope_by_an_update_counts_there(server):
    restrict(server, {"pods": "1"}, scopes=["Terminating"])
    for name in ("a", "b"):
        assert server.reply("POST", f"{DEFAULT}/pods", pod(name))[0] == 201
    assert used(server) == {"pods": "0"}
    patch = {"spec": {"activeDeadlineSeconds": 5}}
    assert server.patch(f"{DEFAULT}/pods/a", patch)[0] == 200
    assert used(server) == {"pods": "1"}
    assert server.patch(f"{DEFAULT}/pods/a", {"spec": {"activeDeadlineSeconds": 4}})[0] == 200
    assert used(server) == {"pods": "1"}
    status, error = server.patch(f"{DEFAULT}/pods/b", patch)
    assert (status, "exceeded quota: q, requested: pods=1, used: pods=1" in error["message"]) == (
        403,
        True,
    )


GRACE_NS = 30 * 10**9


@pytest.mark.parametrize(
    ("metadata", "phase", "after_ns", "counts"),
    [
        pytest.param({}, "Running", 0, True, id="runs"),
        pytest.param({}, "Succeeded", 0, False, id="has ended"),
        pytest.param({}, "Failed", 0, False, id="has failed"),
        pytest.param({"grace": 30}, "Running", 0, True, id="terminates"),
        pytest.param({"grace": 30}, "Running", GRACE_NS, True, id="at the end of its time"),
        pytest.param({"grace": 30}, "Running", GRACE_NS + 1, False, id="after its time"),
        pytest.param({"grace": 0}, "Running", 1, False, id="without time"),
        pytest.param({"grace": None}, "Running", GRACE_NS * 9, True, id="without a period"),
    ],
)
def test_a_pod_counts_until_its_grace_period_is_over(metadata, phase, after_ns, counts):
    body = with_resources("a", requests={"cpu": "1"})
    if "grace" in metadata:
        body["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        if metadata["grace"] is not None:
            body["metadata"]["deletionGracePeriodSeconds"] = metadata["grace"]
    body["status"] = {"phase": phase}
    now_ns = 1_767_225_600 * 10**9 + after_ns
    found = texts_of(Pods().usage(body, now_ns))
    always = {"count/pods": "1"}
    shown = {"pods": "1", "cpu": "1", "requests.cpu": "1"}
    assert found == (always | shown if counts else always)


@pytest.mark.parametrize(
    ("requests", "counted"),
    [
        pytest.param([[("gpu", 2), ("gpu", 3), ("gpu", 1)]], {"gpu": 3}, id="most of a class"),
        pytest.param([[("gpu", 2), ("fpga", 1)]], {"gpu": 2, "fpga": 1}, id="of each class"),
        pytest.param([[("gpu", 2)], [("gpu", 3)]], {"gpu": 5}, id="the sum of the requests"),
        pytest.param([[("gpu", 2), ("gpu", None)]], {"gpu": 32}, id="all devices"),
    ],
)
def test_alternatives_of_devices_count_at_worst(requests, counted):
    body = devices(
        *(
            {
                "firstAvailable": [
                    {"name": f"a{index}", "deviceClassName": name}
                    | (
                        {"allocationMode": "All"}
                        if count is None
                        else {"allocationMode": "ExactCount", "count": count}
                    )
                    for index, (name, count) in enumerate(alternatives)
                ]
            }
            for alternatives in requests
        )
    )
    found = texts_of(DeviceClaims(ObjectStore()).usage(body, 0))
    suffix = ".deviceclass.resource.k8s.io/devices"
    shown = {name.removesuffix(suffix): int(text) for name, text in found.items() if suffix in name}
    assert shown == counted
