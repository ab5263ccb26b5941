"""Classes, claims and nodes that pods name, and that do not exist; namespaces of documents."""

from __future__ import annotations

import json
from typing import Any

import pytest

from podwright.apimachinery.objects import (
    InputError,
    ObjectMeta,
    Pod,
    PodSpec,
    PriorityClass,
    Unknown,
    with_fields,
)
from podwright.simulation.files import Sourced
from podwright.simulation.files.manifests import load_bytes
from podwright.simulation.files.references import missing_classes, missing_nodes
from podwright.testing import make_node, make_pod

CONTAINERS = [{"name": "c", "image": "i"}]


def pod(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "a"},
        "spec": {"containers": CONTAINERS, **spec},
    }  # fmt: skip


def deployment(**spec: Any) -> dict[str, Any]:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": CONTAINERS, **spec}}
    return {
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d", "namespace": "a"},
        "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template},
    }  # fmt: skip


def priority_class(name: str) -> dict[str, Any]:
    kind = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
    return {**kind, "metadata": {"name": name}, "value": 7}


def runtime_class(name: str) -> dict[str, Any]:
    kind = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass"}
    return {**kind, "metadata": {"name": name}, "handler": "h"}


def stored(document: dict[str, Any]) -> dict[str, Any]:
    metadata = {**document["metadata"], "uid": "u", "resourceVersion": "7"}
    return {**document, "metadata": metadata}


def errors_of(*documents: dict[str, Any]) -> list[tuple[str, str]]:
    loaded = load_bytes([("f", b"".join(json.dumps(each).encode() for each in documents))])
    errors = [*missing_classes(loaded.sourced)]
    assert all(each.source.startswith("f") for each in errors)
    return [(each.path, each.message) for each in errors]


NO_PRIORITY = 'there is no PriorityClass "high"'
NO_RUNTIME = 'there is no RuntimeClass "gvisor"'


@pytest.mark.parametrize(
    ("documents", "errors"),
    [
        ([pod(priorityClassName="high")], [("spec.priorityClassName", NO_PRIORITY)]),
        ([pod(priorityClassName="high"), priority_class("high")], []),
        ([pod(priorityClassName="system-node-critical")], []),
        ([pod(priorityClassName="high"), priority_class("higher")],
         [("spec.priorityClassName", f'{NO_PRIORITY}; did you mean "higher"?')]),
        # Its priority is known.
        ([stored(pod(priorityClassName="high", priority=7))], []),
        # A server does not check templates.
        ([stored(deployment(priorityClassName="high"))], []),
        # A class of another kind is none.
        ([pod(priorityClassName="high"), runtime_class("high")],
         [("spec.priorityClassName", NO_PRIORITY)]),
        ([pod(runtimeClassName="gvisor")], [("spec.runtimeClassName", NO_RUNTIME)]),
        ([pod(runtimeClassName="gvisor"), runtime_class("gvisor")], []),
        ([stored(pod(runtimeClassName="gvisor"))], []),
        ([stored(pod(runtimeClassName="gvisor")), runtime_class("x")],
         [("spec.runtimeClassName", NO_RUNTIME)]),
        ([deployment(priorityClassName="high", runtimeClassName="gvisor")],
         [("spec.template.spec.priorityClassName", NO_PRIORITY),
          ("spec.template.spec.runtimeClassName", NO_RUNTIME)]),
        # What has no pods, and pods after a stored one, are examined, too.
        ([{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}},
          stored(pod(runtimeClassName="gvisor")), deployment(runtimeClassName="gvisor")],
         [("spec.template.spec.runtimeClassName", NO_RUNTIME)]),
    ],
)  # fmt: skip
def test_a_class_that_does_not_exist_is_an_error_with_its_path(documents, errors):
    assert errors_of(*documents) == errors


def pod_of_class(uid: str, name: str, priority: int, created: str = "") -> dict[str, Any]:
    shown = stored(pod(priorityClassName=name, priority=priority, preemptionPolicy="Never"))
    own = {"name": uid, "uid": uid, "creationTimestamp": created or None}
    return {**shown, "metadata": {**shown["metadata"], **own}}


@pytest.mark.parametrize(
    ("documents", "classes"),
    [
        # What a dump without classes shows of them is what its workloads need.
        ([pod_of_class("1", "high", 7), stored(deployment(priorityClassName="high"))],
         [("high", 7)]),
        ([pod(priorityClassName="low"), pod_of_class("1", "low", -3), pod_of_class("2", "high", 7)],
         [("low", -3)]),
        ([pod_of_class("1", "high", 0), stored(deployment(priorityClassName="high"))],
         [("high", 0)]),
        # A class may have been replaced.
        ([pod_of_class("1", "high", 7, "2026-01-01T00:00:00Z"),
          pod_of_class("2", "high", 8, "2026-01-03T00:00:00Z"),
          pod_of_class("3", "high", 9, "2026-01-02T00:00:00Z"),
          deployment(priorityClassName="high")],
         [("high", 8)]),
        ([pod_of_class("1", "high", 7)], []),
        ([pod_of_class("1", "high", 7), deployment(priorityClassName="low")], []),
        ([pod_of_class("1", "high", 8), priority_class("high"),
          deployment(priorityClassName="high")], [("high", 7)]),
        ([pod_of_class("1", "system-node-critical", 8),
          deployment(priorityClassName="system-node-critical")], []),
        # The priority of a manifest is not one that a server found.
        ([pod(priorityClassName="high", priority=7),
          stored(deployment(priorityClassName="high"))], []),
    ],
)  # fmt: skip
def test_the_pods_of_a_server_show_the_values_of_missing_priority_classes(documents, classes):
    loaded = load_bytes([(f"f{i}", json.dumps(each).encode()) for i, each in enumerate(documents)])
    found = loaded.of(PriorityClass)
    assert [(each.name, each.value) for each in found] == classes
    made = [] if any(each["kind"] == "PriorityClass" for each in documents) else classes
    listed = ", ".join(f"{name} ({value})" for name, value in made)
    lines = [f"PriorityClasses that are missing have the values of pods: {listed}"] if made else []
    assert [*loaded.warnings] == lines


def test_a_class_that_pods_show_preempts_as_its_pods_do():
    documents = [pod_of_class("1", "high", 7), stored(deployment(priorityClassName="high"))]
    loaded = load_bytes([("f", b"".join(json.dumps(each).encode() for each in documents))])
    (found,) = loaded.of(PriorityClass)
    assert found.preemption_policy == "Never"


def using(name: str, *, volume: bool = True, **spec: Any) -> dict[str, Any]:
    """Return a pod of a server that uses a claim of one of the two kinds."""
    claim = {"name": "data", "persistentVolumeClaim": {"claimName": name}}
    own = {"resourceClaims": [{"name": "gpu", "resourceClaimName": name}]}
    used: dict[str, Any] = {"volumes": [claim]} if volume else own
    document = stored(pod(**used, **spec))
    return {**document, "metadata": {**document["metadata"], "name": name}}


def of_kind(api_version: str, kind: str) -> dict[str, Any]:
    return stored({"apiVersion": api_version, "kind": kind, "metadata": {"name": "x"}})


VOLUMES = "persistentvolumeclaims, persistentvolumes and storageclasses"
DEVICES = "resourceclaims, resourceslices and deviceclasses"


@pytest.mark.parametrize(
    ("documents", "warnings"),
    [
        ([using("a")], [f"the dump lacks claims of a/a: it needs {VOLUMES}, too"]),
        ([using("a", volume=False)], [f"the dump lacks claims of a/a: it needs {DEVICES}, too"]),
        ([using("a"), using("b", volume=False)],
         [f"the dump lacks claims of a/a: it needs {VOLUMES}, too",
          f"the dump lacks claims of a/b: it needs {DEVICES}, too"]),
        ([using(name) for name in "abcde"],
         [f"the dump lacks claims of a/a, a/b, a/c and 2 more: it needs {VOLUMES}, too"]),
        # One that is missing among others is missing in the cluster.
        ([using("a"), of_kind("v1", "PersistentVolumeClaim")], []),
        ([using("a", volume=False), of_kind("resource.k8s.io/v1", "ResourceClaim")], []),
        ([using("a"), of_kind("resource.k8s.io/v1", "ResourceClaim")],
         [f"the dump lacks claims of a/a: it needs {VOLUMES}, too"]),
        ([using("a", nodeName="n")], [f"the dump lacks claims of a/a: it needs {VOLUMES}, too"]),
        ([stored(pod()) | {"status": {"extendedResourceClaimStatus": {"resourceClaimName": "c"}}}],
         [f"the dump lacks claims of a/p: it needs {DEVICES}, too"]),
        # Pods that have ended, those of manifests, and those without claims.
        ([{**using("a"), "status": {"phase": "Succeeded"}}], []),
        ([pod(volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "v"}}])], []),
        ([stored(pod(volumes=[{"name": "v", "emptyDir": {}}]))], []),
    ],
)  # fmt: skip
def test_a_dump_without_the_claims_of_its_pods_is_warned_of(documents, warnings):
    loaded = load_bytes([(f"f{i}", json.dumps(each).encode()) for i, each in enumerate(documents)])
    assert [*loaded.warnings] == warnings


def on(*nodes: str, phase: str = "Running") -> list[Sourced]:
    pods = [make_pod(f"p{index}", node=node) for index, node in enumerate(nodes)]
    return [Sourced("f", with_fields(each, "status", phase=phase)) for each in pods]


@pytest.mark.parametrize(
    ("entries", "warnings"),
    [
        (on("n", ""), []),
        (on("m"), ["1 pod is left out, on nodes that are not in the input: m"]),
        (on("n", "m", "l", "m"),
         ["3 pods are left out, on nodes that are not in the input: l, m"]),
        (on(*"edcbax"),
         ["6 pods are left out, on nodes that are not in the input: a, b, c and 3 more"]),
        (on("m", phase="Failed"), []),
    ],
)  # fmt: skip
def test_pods_on_nodes_that_are_not_there_are_warned_of(entries, warnings):
    node = Sourced("f", make_node("n"))
    assert [*missing_nodes([node, *entries])] == warnings


def test_an_object_without_a_document_names_its_classes_too():
    made = Pod(
        metadata=ObjectMeta(name="p", namespace="a"), spec=PodSpec(priority_class_name="high")
    )
    (error,) = missing_classes([Sourced("f", made)])
    assert (error.path, error.message) == ("spec.priorityClassName", NO_PRIORITY)


@pytest.mark.parametrize(
    ("document", "namespace"),
    [
        (pod(), "a"),
        ({**pod(), "metadata": {"name": "p"}}, "team"),
        ({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}, ""),
    ],
)
def test_an_object_of_a_namespaced_kind_is_in_the_namespace_that_is_given(document, namespace):
    (obj,) = load_bytes([("f", json.dumps(document).encode())], namespace="team").objects
    assert obj.namespace == namespace


@pytest.mark.parametrize(
    ("metadata", "is_error"), [({"generateName": "p-"}, False), ({"labels": {"a": "b"}}, True)]
)
def test_an_object_has_a_name_or_the_start_of_one(metadata, is_error):
    document = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": metadata}
    data = json.dumps(document).encode()
    if not is_error:
        assert len(load_bytes([("f", data)]).objects) == 1
        return
    with pytest.raises(InputError) as error:
        load_bytes([("f", data)])
    (one,) = error.value.errors
    assert (one.path, one.message) == ("metadata.name", "Required value: name or generateName")


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({}, id="no template"),
        pytest.param({"template": None}, id="null"),
        pytest.param({"template": "web"}, id="a text"),
        pytest.param({"template": {"spec": 3}}, id="no spec"),
    ],
)
def test_a_workload_without_a_template_names_no_class(spec: dict[str, Any]) -> None:
    metadata = ObjectMeta(namespace="a", name="d")
    document = {**deployment(), "spec": spec}
    workload = Unknown(api_version="apps/v1", kind="Deployment", metadata=metadata, raw=document)
    assert not [*missing_classes([Sourced("f", workload)])]
