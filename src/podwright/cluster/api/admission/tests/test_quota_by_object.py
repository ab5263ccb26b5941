"""What single objects use of quotas, and which names and scopes count: whole amounts."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.objects import Document
from podwright.cluster.api.admission.amounts import (
    add,
    amounts_of,
    difference_of,
    growth,
    masked,
    raise_to,
    rounded_up,
    sum_of,
    texts_of,
    without_zeros,
)
from podwright.cluster.api.admission.quota.device_claims import DeviceClaims
from podwright.cluster.api.admission.quota.evaluators import (
    Claims,
    Evaluator,
    Services,
    scope_requirements,
)
from podwright.cluster.api.admission.quota.pods import Pods
from podwright.cluster.api.admission.quota.resource_quota import QuotaEvaluators, exceeded_text
from podwright.cluster.api.admission.tests.contexts import a_store, a_write, named
from podwright.cluster.store import ObjectStore

NOW, NOW_NS = "2026-01-01T00:00:00Z", 1_767_225_600 * 1_000_000_000
SPARSE: tuple[Document, ...] = ({}, {"metadata": None, "spec": None, "status": None})


def usage(evaluator: Evaluator, obj: Document) -> Document:
    return texts_of(evaluator.usage(obj, NOW_NS))


# ------------------------------------------------------------------------------- amounts


def test_arithmetic_on_amounts() -> None:
    some = amounts_of({"cpu": "1500m", "memory": "1Gi", "x": "0"})
    assert texts_of(some) == {"cpu": "1500m", "memory": "1Gi", "x": "0"}
    assert amounts_of(None) == {}
    one, half, gib, none = (amounts_of({"a": text})["a"] for text in ("1", "500m", "1Gi", "0"))
    assert texts_of({"a": sum_of(one, half)}) == {"a": "1500m"}
    assert texts_of({"a": sum_of(gib, one)}) == {"a": "1073741825"}
    assert texts_of({"a": sum_of(none, gib)}) == {"a": "1Gi"}
    assert texts_of({"a": difference_of(one, half)}) == {"a": "500m"}
    assert texts_of({"a": difference_of(none, gib)}) == {"a": "-1Gi"}
    assert texts_of({"a": difference_of(one, one)}) == {"a": "0"}
    assert texts_of({"a": rounded_up(half)}) == {"a": "1"}
    assert rounded_up(one) is one
    assert texts_of({"a": rounded_up(amounts_of({"a": "1500m"})["a"])}) == {"a": "2"}
    into = amounts_of({"cpu": "1"})
    add(into, amounts_of({"cpu": "1", "x": "2"}))
    assert texts_of(into) == {"cpu": "2", "x": "2"}
    raise_to(into, amounts_of({"cpu": "1", "x": "3", "y": "4"}))
    assert texts_of(into) == {"cpu": "2", "x": "3", "y": "4"}
    grown = growth(
        amounts_of({"a": "3", "b": "1", "c": "2", "d": "1"}),
        amounts_of({"a": "1", "b": "2", "d": "1", "e": "4"}),
    )
    assert texts_of(grown) == {"a": "2", "b": "0", "c": "2", "d": "0", "e": "0"}
    assert texts_of(masked(into, {"x", "z"})) == {"x": "3"}
    assert texts_of(without_zeros(grown)) == {"a": "2", "c": "2"}


# ------------------------------------------------------------------------------- objects


def test_objects_are_counted_by_their_resource() -> None:
    for group, resource, names in (
        ("", "configmaps", {"configmaps": "1", "count/configmaps": "1"}),
        ("", "secrets", {"secrets": "1", "count/secrets": "1"}),
        ("", "resourcequotas", {"resourcequotas": "1", "count/resourcequotas": "1"}),
        ("", "replicationcontrollers",
         {"replicationcontrollers": "1", "count/replicationcontrollers": "1"}),
        ("", "endpoints", {"count/endpoints": "1"}),
        ("apps", "deployments", {"count/deployments.apps": "1"}),
        ("example.com", "secrets", {"count/secrets.example.com": "1"}),
    ):  # fmt: skip
        evaluator = Evaluator(group, resource)
        assert usage(evaluator, {}) == names
        assert evaluator.matching({*names, "x"}) == sorted(names)
        assert not evaluator.matches_scope({"scopeName": "Terminating"}, {})
        assert evaluator.missing(["x"], {}) == ""
    for facts, is_handled in (
        ({}, True),
        ({"operation": "UPDATE"}, False),
        ({"operation": "DELETE"}, False),
        ({"subresource": "status"}, False),
    ):
        assert Evaluator("", "secrets").handles(a_write("v1 Secret", {}, **facts)) is is_handled


@pytest.mark.parametrize(
    ("spec", "balancers", "ports"),
    [
        ({"type": "ClusterIP", "ports": [{"port": 1}]}, "0", "0"),
        ({"type": "NodePort", "ports": [{"port": 1}, {"port": 2}]}, "0", "2"),
        ({"type": "NodePort"}, "0", "0"),
        ({"type": "LoadBalancer", "ports": [{"port": 1}, {"port": 2}]}, "1", "2"),
        (
            {"type": "LoadBalancer", "allocateLoadBalancerNodePorts": True,
             "ports": [{"port": 1}]}, "1", "1",
        ),
        (
            {"type": "LoadBalancer", "allocateLoadBalancerNodePorts": False,
             "ports": [{"port": 1}, {"port": 2, "nodePort": 5}]}, "1", "1",
        ),
        ({"type": "ExternalName"}, "0", "0"),
    ],
)  # fmt: skip
def test_what_a_service_uses(spec: Document, balancers: str, ports: str) -> None:
    expected = {
        "count/services": "1",
        "services": "1",
        "services.loadbalancers": balancers,
        "services.nodeports": ports,
    }
    assert usage(Services(), {"spec": spec}) == expected
    assert Services().matching({*expected, "x"}) == sorted(expected)
    assert [usage(Services(), each)["services"] for each in SPARSE] == ["1", "1"]


@pytest.mark.parametrize("evaluator", [Services(), DeviceClaims(ObjectStore())])
def test_changed_services_and_device_claims_are_counted_again(evaluator: Evaluator) -> None:
    for facts, is_handled in (
        ({}, True),
        ({"operation": "UPDATE"}, True),
        ({"operation": "DELETE"}, False),
        ({"operation": "UPDATE", "subresource": "status"}, False),
    ):
        assert evaluator.handles(a_write("v1 Service", {}, **facts)) is is_handled


STORAGE = ".storageclass.storage.k8s.io/"


@pytest.mark.parametrize(
    ("claim", "used"),
    [
        ({}, {}),
        ({"spec": {"resources": {"requests": {"storage": "1Gi"}}}}, {"requests.storage": "1Gi"}),
        ({"spec": {"resources": {"requests": {"storage": "1500m"}}}}, {"requests.storage": "2"}),
        (
            {"spec": {"storageClassName": "a", "resources": {"requests": {"storage": "2"}}}},
            {"requests.storage": "2", f"a{STORAGE}persistentvolumeclaims": "1",
             f"a{STORAGE}requests.storage": "2"},
        ),
        ({"spec": {"storageClassName": "a"}}, {f"a{STORAGE}persistentvolumeclaims": "1"}),
        (
            {"spec": {"resources": {"requests": {"storage": "2"}}},
             "status": {"allocatedResources": {"storage": "3"}}},
            {"requests.storage": "3"},
        ),
        (
            {"spec": {"resources": {"requests": {"storage": "2"}}},
             "status": {"allocatedResources": {"storage": "1"}}},
            {"requests.storage": "2"},
        ),
        ({"status": {"allocatedResources": {"storage": "1"}}}, {}),
    ],
)  # fmt: skip
def test_what_a_claim_uses(claim: Document, used: Document) -> None:
    own = {"persistentvolumeclaims": "1", "count/persistentvolumeclaims": "1"}
    assert usage(Claims(), claim) == own | used


def test_the_names_and_the_writes_of_claims() -> None:
    names = {
        "persistentvolumeclaims", "requests.storage", "count/persistentvolumeclaims",
        f"a{STORAGE}persistentvolumeclaims", f"a{STORAGE}requests.storage",
    }  # fmt: skip
    others = {f"a{STORAGE}x", "persistentvolumeclaims.x", "requests.cpu"}
    assert Claims().matching(names | others) == sorted(names)
    for operation, subresource, is_handled in (
        ("CREATE", "", True), ("UPDATE", "", True), ("UPDATE", "status", True),
        ("DELETE", "", False), ("UPDATE", "x", False),
    ):  # fmt: skip
        write = a_write(
            "v1 PersistentVolumeClaim", {}, operation=operation, subresource=subresource
        )
        assert Claims().handles(write) is is_handled


@pytest.mark.parametrize(
    ("claim", "classes"),
    [
        ({}, []),
        ({"spec": {"volumeAttributesClassName": "a"}}, ["a"]),
        ({"status": {"currentVolumeAttributesClassName": "b"}}, ["b"]),
        ({"status": {"modifyVolumeStatus": {"targetVolumeAttributesClassName": "c"}}}, ["c"]),
        (
            {"spec": {"volumeAttributesClassName": "a"},
             "status": {"currentVolumeAttributesClassName": "b", "modifyVolumeStatus": None}},
            ["a", "b"],
        ),
    ],
)  # fmt: skip
def test_the_attributes_classes_of_a_claim(claim: Document, classes: list[str]) -> None:
    def is_in(operator: str, *values: str, name: str = "VolumeAttributesClass") -> bool:
        requirement = {"scopeName": name, "operator": operator, "values": list(values)}
        return Claims().matches_scope(requirement, claim)

    assert [is_in("In", each) for each in "abc"] == [each in classes for each in "abc"]
    assert is_in("Exists") is bool(classes)
    assert is_in("DoesNotExist") is (not classes)
    assert not is_in("Exists", name="PriorityClass")
    assert not is_in("DoesNotExist", name="PriorityClass")


# ---------------------------------------------------------------------------------- pods


def pod(requests: Document | None = None, limits: Document | None = None, **parts: Any) -> Document:
    resources = {"requests": requests or {}, "limits": limits or {}}
    spec = {"containers": [{"name": "c", "resources": resources}]} | parts.pop("spec", {})
    return {"metadata": {"name": "p"}, "spec": spec} | parts


@pytest.mark.parametrize(
    ("obj", "used"),
    [
        (pod(), {}),
        (
            pod({"cpu": "1", "memory": "1Gi", "ephemeral-storage": "2"}),
            {"cpu": "1", "requests.cpu": "1", "memory": "1Gi", "requests.memory": "1Gi",
             "ephemeral-storage": "2", "requests.ephemeral-storage": "2"},
        ),
        (
            pod({}, {"cpu": "1", "memory": "1Gi", "ephemeral-storage": "2", "x.y/z": "3"}),
            {"limits.cpu": "1", "limits.memory": "1Gi", "limits.ephemeral-storage": "2"},
        ),
        (
            pod({"hugepages-2Mi": "2Mi", "example.com/gpu": "3", "pods": "1",
                 "deviceclass.resource.kubernetes.io/a": "4", "kubernetes.io/x": "5"}),
            {"hugepages-2Mi": "2Mi", "requests.hugepages-2Mi": "2Mi",
             "requests.example.com/gpu": "3", "requests.deviceclass.resource.kubernetes.io/a": "4"},
        ),
    ],
)  # fmt: skip
def test_what_a_pod_uses(obj: Document, used: Document) -> None:
    assert usage(Pods(), obj) == {"count/pods": "1", "pods": "1"} | used
    for phase in ("Failed", "Succeeded"):
        assert usage(Pods(), obj | {"status": {"phase": phase}}) == {"count/pods": "1"}
    assert len(usage(Pods(), obj | {"status": {"phase": "Running"}})) == 2 + len(used)


def test_the_names_of_pods() -> None:
    names = {
        "pods", "count/pods", "cpu", "requests.cpu", "limits.cpu", "memory", "requests.memory",
        "limits.memory", "ephemeral-storage", "requests.ephemeral-storage",
        "limits.ephemeral-storage", "hugepages-2Mi", "requests.hugepages-2Mi",
        "requests.example.com/gpu", "requests.deviceclass.resource.kubernetes.io/a",
    }  # fmt: skip
    others = {
        "requests.storage", "example.com/gpu", "limits.example.com/gpu", "limits.hugepages-2Mi",
        "requests.kubernetes.io/x", "requests.x", "count/podtemplates",
    }  # fmt: skip
    assert Pods().matching(names | others) == sorted(names)


DEADLINE = {"spec": {"activeDeadlineSeconds": 0}}


@pytest.mark.parametrize(
    ("operation", "subresource", "new", "old", "is_handled"),
    [
        ("CREATE", "", {}, None, True),
        ("UPDATE", "", {}, {}, False),
        ("UPDATE", "", DEADLINE, {}, True),
        ("UPDATE", "", {}, DEADLINE, True),
        ("UPDATE", "", DEADLINE, DEADLINE, False),
        ("UPDATE", "", DEADLINE, None, True),
        ("UPDATE", "", {"spec": {"activeDeadlineSeconds": -1}}, {}, False),
        ("UPDATE", "resize", {}, {}, True),
        ("CREATE", "resize", {}, {}, False),
        ("UPDATE", "status", DEADLINE, {}, False),
        ("CREATE", "binding", {}, None, False),
        ("DELETE", "", None, {}, False),
    ],
)
def test_which_writes_of_pods_count(
    operation: Any, subresource: str, new: Any, old: Any, *, is_handled: bool
) -> None:
    write = a_write("v1 Pod", new, old, operation=operation, subresource=subresource)
    assert Pods().handles(write) is is_handled


OTHERS: tuple[dict[str, Any], ...] = ({"namespaces": ["x"]}, {"namespaceSelector": {}})


def affinity(kind: str, preferred: bool = False, **term: Any) -> Document:
    name = "preferredDuring" if preferred else "requiredDuring"
    terms = [{"podAffinityTerm": term}] if preferred else [term]
    return {"affinity": {kind: {f"{name}SchedulingIgnoredDuringExecution": terms}}}


@pytest.mark.parametrize(
    ("obj", "scopes"),
    [
        ({}, ["NotTerminating", "BestEffort"]),
        (DEADLINE, ["Terminating", "BestEffort"]),
        (pod({"cpu": "1"}), ["NotTerminating", "NotBestEffort"]),
        (pod({"cpu": "1"}, status={"qosClass": "BestEffort"}), ["NotTerminating", "BestEffort"]),
        (pod(status={"qosClass": "Burstable"}), ["NotTerminating", "NotBestEffort"]),
        (
            pod(spec={"priorityClassName": "high"}),
            ["NotTerminating", "BestEffort", "PriorityClass"],
        ),
        *(
            (pod(spec=affinity(kind, preferred, **term)),
             ["NotTerminating", "BestEffort", "CrossNamespacePodAffinity"])
            for kind in ("podAffinity", "podAntiAffinity")
            for preferred in (False, True)
            for term in OTHERS
        ),
        (pod(spec=affinity("podAffinity", topologyKey="z")), ["NotTerminating", "BestEffort"]),
        (pod(spec=affinity("podAffinity", namespaces=[])), ["NotTerminating", "BestEffort"]),
        (pod(spec=affinity("nodeAffinity", namespaces=["x"])), ["NotTerminating", "BestEffort"]),
    ],
)  # fmt: skip
def test_the_scopes_of_a_pod(obj: Document, scopes: list[str]) -> None:
    every = (
        "Terminating", "NotTerminating", "BestEffort", "NotBestEffort", "PriorityClass",
        "CrossNamespacePodAffinity", "VolumeAttributesClass", "",
    )  # fmt: skip
    found = [
        name
        for name in every
        if Pods().matches_scope({"scopeName": name, "operator": "Exists"}, obj)
    ]
    assert found == scopes


@pytest.mark.parametrize(
    ("spec", "required", "text"),
    [
        (pod()["spec"], ["cpu", "pods", "limits.memory"],
         "must specify cpu for: c; limits.memory for: c"),
        (pod({"cpu": "1"})["spec"], ["cpu", "requests.cpu"], ""),
        (pod({}, {"cpu": "1"})["spec"], ["cpu"], "must specify cpu for: c"),
        (pod({}, {"cpu": "1"})["spec"], ["limits.cpu"], ""),
        (pod()["spec"], ["ephemeral-storage", "requests.example.com/gpu"], ""),
        (pod()["spec"] | {"resources": {"limits": {"cpu": "1"}}}, ["memory"], ""),
        (pod()["spec"] | {"resources": {"limits": {"x/y": "1"}}}, ["cpu"],
         "must specify cpu for: c"),
        (
            {"containers": [{"name": "b"}, {"name": "a"}], "initContainers": [{"name": "i"}]},
            ["cpu"], "must specify cpu for: a,b,i",
        ),
        ({}, ["cpu"], ""),
    ],
)  # fmt: skip
def test_what_containers_must_specify(spec: Document, required: list[str], text: str) -> None:
    assert Pods().missing(required, {"spec": spec}) == text


# ------------------------------------------------------------------------------- devices

OF_CLASS = ".deviceclass.resource.k8s.io/devices"
DEVICE = "requests.deviceclass.resource.kubernetes.io/"
COUNT = "count/resourceclaims.resource.k8s.io"


def device_class(name: str, extended: str = "") -> Document:
    spec = {"extendedResourceName": extended} if extended else {}
    return named("resource.k8s.io/v1 DeviceClass", name, spec=spec)


def exactly(name: str, count: int | None = 1, mode: str = "ExactCount") -> Document:
    found: Document = {"deviceClassName": name, "allocationMode": mode}
    return found if count is None else found | {"count": count}


@pytest.mark.parametrize(
    ("requests", "used"),
    [
        ([], {}),
        ([{"exactly": exactly("a", 2)}], {f"a{OF_CLASS}": "2", f"{DEVICE}a": "2"}),
        ([{"exactly": exactly("a", None, "All")}], {f"a{OF_CLASS}": "32", f"{DEVICE}a": "32"}),
        ([{"exactly": exactly("a", None)}], {f"a{OF_CLASS}": "0"}),
        ([{"exactly": exactly("a", 3, "Other")}], {f"a{OF_CLASS}": "0"}),
        (
            [{"exactly": exactly("a", 2)}, {"exactly": exactly("a", 3)}],
            {f"a{OF_CLASS}": "5", f"{DEVICE}a": "5"},
        ),
        (
            [{"exactly": exactly("gpu", 2)}],
            {f"gpu{OF_CLASS}": "2", f"{DEVICE}gpu": "2", "requests.example.com/gpu": "2"},
        ),
        (
            [{"firstAvailable": [exactly("a", 2), exactly("a", 1), exactly("b", 3)]}],
            {f"a{OF_CLASS}": "2", f"{DEVICE}a": "2", f"b{OF_CLASS}": "3", f"{DEVICE}b": "3"},
        ),
        ([{"firstAvailable": [exactly("a", 0)]}], {}),
        ([{"exactly": exactly("", 2)}], {OF_CLASS: "2"}),
        ([{}], {}),
    ],
)  # fmt: skip
def test_what_a_device_claim_uses(requests: list[Document], used: Document) -> None:
    evaluator = DeviceClaims(a_store(device_class("a"), device_class("gpu", "example.com/gpu")))
    claim = {"metadata": {"name": "c"}, "spec": {"devices": {"requests": requests}}}
    assert usage(evaluator, claim) == {COUNT: "1"} | used
    assert [usage(evaluator, each) for each in SPARSE] == [{COUNT: "1"}] * 2


def test_the_names_of_device_claims() -> None:
    evaluator = DeviceClaims(a_store(device_class("a"), device_class("gpu", "example.com/gpu")))
    names = {
        COUNT, f"x{OF_CLASS}", f"{DEVICE}a", f"{DEVICE}gpu", "requests.example.com/gpu",
    }  # fmt: skip
    others = {f"{DEVICE}x", "requests.example.com/x", "example.com/gpu", "count/x", "requests.cpu"}
    assert evaluator.matching(names | others) == sorted(names)


def extended(name: str, created: str = NOW, *, owner: str = "u", flag: str = "true") -> Document:
    owners = [{"kind": "Pod", "apiVersion": "v1", "name": "p", "uid": owner, "controller": True}]
    metadata = {
        "annotations": {"resource.kubernetes.io/extended-resource-claim": flag},
        "ownerReferences": owners,
        "creationTimestamp": created,
    }
    spec = {"devices": {"requests": [{"name": "r", "exactly": exactly("gpu", 3)}]}}
    return named("resource.k8s.io/v1 ResourceClaim", name, "default", metadata=metadata, spec=spec)


BOTH = {f"gpu{OF_CLASS}": "3", f"{DEVICE}gpu": "3", "requests.example.com/gpu": "3"}
OF_POD = BOTH | {"requests.example.com/gpu": "1"}


@pytest.mark.parametrize(
    ("claim", "others", "status", "used"),
    [
        pytest.param(extended("c"), [], None, OF_POD, id="the pod counts two of them"),
        pytest.param(extended("c", flag="false"), [], None, BOTH, id="not made by the scheduler"),
        pytest.param(extended("c", owner="v"), [], None, BOTH, id="of another pod"),
        pytest.param(extended("c"), [], {"resourceClaimName": "c"}, OF_POD, id="the pod's own"),
        pytest.param(extended("c"), [], {"resourceClaimName": "d"}, BOTH, id="the pod has another"),
        pytest.param(
            extended("c"), [extended("d", "2025-01-01T00:00:00Z")], None, BOTH, id="not the first"
        ),
        pytest.param(
            extended("c"), [extended("d", "2027-01-01T00:00:00Z")], None, OF_POD, id="the first"
        ),
        pytest.param(extended("c"), [extended("b")], None, BOTH, id="the second by name"),
        pytest.param(
            extended("c"),
            [extended("b", flag="false"), extended("a", owner="v")],
            None,
            OF_POD,
            id="others are not of the scheduler and the pod",
        ),
    ],
)
def test_a_claim_for_what_a_pod_counts(
    claim: Document, others: list[Document], status: Document | None, used: Document
) -> None:
    resources = {"limits": {"example.com/gpu": "2"}, "requests": {"example.com/gpu": "2"}}
    owner = named(
        "v1 Pod", "p", "default", metadata={"uid": "u"},
        spec={"containers": [{"name": "c", "image": "i", "resources": resources}]},
        status={} if status is None else {"extendedResourceClaimStatus": status},
    )  # fmt: skip
    store = a_store(device_class("gpu", "example.com/gpu"), owner, claim, *others)
    assert usage(DeviceClaims(store), claim) == {COUNT: "1"} | used


def test_owners_of_claims_for_extended_resources() -> None:
    owner = named(
        "v1 Pod", "p", "default", metadata={"uid": "u"},
        spec={"containers": [{"name": "c", "image": "i", "resources": {
            "requests": {"example.com/gpu": "2"}, "limits": {"example.com/gpu": "2"},
        }}]},
    )  # fmt: skip
    store = a_store(device_class("gpu", "example.com/gpu"), owner)
    pod_owner = extended("c")["metadata"]["ownerReferences"][0]
    for owners, used in (
        ([pod_owner], OF_POD),
        ([pod_owner | {"controller": False}, pod_owner], OF_POD),
        ([pod_owner | {"controller": False}], BOTH),
        ([pod_owner | {"kind": "Job"}, pod_owner], BOTH),
        ([pod_owner | {"apiVersion": "v2"}], BOTH),
        ([pod_owner | {"name": "x"}], BOTH),
        ([], BOTH),
        (None, BOTH),
    ):
        claim = extended("c")
        claim["metadata"]["ownerReferences"] = owners
        assert usage(DeviceClaims(store), claim) == {COUNT: "1"} | used, owners


# -------------------------------------------------------------------------------- quotas


def test_the_resources_that_a_quota_counts() -> None:
    evaluators = QuotaEvaluators(ObjectStore())
    assert evaluators.resources_of({"pods"}) == [("", "pods")]
    assert evaluators.resources_of({"count/jobs.batch"}) == [("batch", "jobs")]
    assert evaluators.resources_of({"count/a.b.c"}) == [("b.c", "a")]
    assert evaluators.resources_of({"count/endpoints"}) == [("", "endpoints")]
    assert evaluators.resources_of({"secrets"}) == [("", "secrets")]
    assert evaluators.resources_of({"services.nodeports"}) == [("", "services")]
    assert evaluators.resources_of({"requests.storage"}) == [("", "persistentvolumeclaims")]
    assert evaluators.resources_of({"x", "endpoints"}) == []
    assert isinstance(evaluators.of("", "pods"), Pods)
    assert evaluators.of("example.com", "pods").count == "count/pods.example.com"


def test_what_the_objects_of_a_namespace_use() -> None:
    quota: Document = {
        "spec": {
            "hard": {"pods": "9", "requests.cpu": "9", "count/jobs.batch": "9", "x": "1"},
            "scopes": ["NotTerminating"],
        }
    }
    objects: dict[tuple[str, str], list[Document]] = {
        ("", "pods"): [pod({"cpu": "1"}), pod({"cpu": "2", "memory": "1"}), DEADLINE],
        ("batch", "jobs"): [{}, {}],
    }
    calls: list[tuple[str, str]] = []

    def listed(group: str, plural: str) -> list[Document]:
        calls.append((group, plural))
        return objects[group, plural]

    used = QuotaEvaluators(ObjectStore()).usage(quota, listed, NOW_NS)
    # Jobs are in no scope.
    assert texts_of(used) == {"count/jobs.batch": "0", "pods": "2", "requests.cpu": "3"}
    assert sorted(calls) == [("", "pods"), ("batch", "jobs")]
    without = {"spec": {"hard": quota["spec"]["hard"]}}
    used = QuotaEvaluators(ObjectStore()).usage(without, listed, NOW_NS)
    assert texts_of(used) == {"count/jobs.batch": "2", "pods": "3", "requests.cpu": "3"}


def test_the_scopes_of_a_quota() -> None:
    expression = {"scopeName": "PriorityClass", "operator": "In", "values": ["a"]}
    quota = {"spec": {"scopes": ["A", "B"], "scopeSelector": {"matchExpressions": [expression]}}}
    assert scope_requirements(quota) == [
        {"scopeName": "A", "operator": "Exists"}, {"scopeName": "B", "operator": "Exists"},
        expression,
    ]  # fmt: skip
    assert [scope_requirements(each) for each in SPARSE] == [[], []]


def test_what_exceeds_a_quota() -> None:
    hard = amounts_of({"cpu": "2", "memory": "1Gi", "pods": "5"})
    used = amounts_of({"cpu": "1", "memory": "512Mi", "pods": "5"})
    assert exceeded_text("q", amounts_of({"cpu": "1"}), used, hard) == ""
    assert exceeded_text("q", amounts_of({"memory": "1Gi", "cpu": "1100m"}), used, hard) == (
        "exceeded quota: q, requested: cpu=1100m,memory=1Gi, used: cpu=1,memory=512Mi, limited:"
        " cpu=2,memory=1Gi"
    )
    assert exceeded_text("q", amounts_of({"memory": "1Gi", "cpu": "1"}), used, hard) == (
        "exceeded quota: q, requested: memory=1Gi, used: memory=512Mi, limited: memory=1Gi"
    )
