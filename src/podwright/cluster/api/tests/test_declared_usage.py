"""What pods use by KWOK's objects and by annotations; upstream: metrics_resource_usage.go."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.objects import Pod, decode, format_quantity
from podwright.cluster.api.pods.declared_usage import (
    DeclaredUsages,
    UsageError,
    UsageValue,
    usage_problem,
    usage_spec,
)
from podwright.cluster.store import kind_of

START_NS = 1_767_225_600 * 10**9


def pod(name="p", phase="Running", containers=("c",), owner="", annotations=None, **fields):
    metadata: dict[str, Any] = {
        "name": name, "namespace": fields.pop("namespace", "default"),
        "annotations": annotations or {},
    }  # fmt: skip
    if owner:
        metadata["ownerReferences"] = [reference("ReplicaSet", owner)]
    requests = {"requests": {"cpu": "400m", "memory": "1Gi"}}
    made = decode(
        {
            "apiVersion": "v1", "kind": "Pod", "metadata": metadata, "status": {"phase": phase},
            "spec": {
                "nodeName": "n1",
                "containers": [
                    {"name": each, "image": "i", "resources": requests} for each in containers
                ],
                **fields,
            },
        }
    )  # fmt: skip
    assert isinstance(made, Pod)
    return made


def reference(kind, name, controller=True):
    return {
        "apiVersion": "apps/v1", "kind": kind, "name": name, "uid": name, "controller": controller,
    }  # fmt: skip


def workload(kind, name, owner=None, **annotations):
    names = {key.replace("_", "-"): value for key, value in annotations.items()}
    metadata = {
        "name": name, "namespace": "default",
        "annotations": {f"podwright.dev/{key}": value for key, value in names.items()},
        "ownerReferences": [] if owner is None else [owner],
    }  # fmt: skip
    return decode({"apiVersion": "apps/v1", "kind": kind, "metadata": metadata})


def entry(*containers, **amounts):
    usage = {
        name: {"expression": each} if "(" in each or "." in each or "-" in each else {"value": each}
        for name, each in amounts.items()
    }
    return {"containers": list(containers), "usage": usage}


def usages(*entries, name="p", kind="ResourceUsage", selector=None):
    spec: dict[str, Any] = {"usages": list(entries)}
    if selector is not None:
        spec["selector"] = selector
    metadata = {"name": name}
    if kind == "ResourceUsage":
        metadata["namespace"] = "default"
    document = {"apiVersion": "kwok.x-k8s.io/v1alpha1", "kind": kind, "metadata": metadata}
    return decode({**document, "spec": spec})


def of_cluster(*entries, name="u", **selector):
    return usages(*entries, name=name, kind="ClusterResourceUsage", selector=selector)


def found(given, *objects, resources=("cpu", "memory")):
    """Return what a pod uses, as texts."""
    by_key = {(kind_of(each), each.key): each for each in (given, *objects)}

    def objects_of(kind, namespace):
        return [
            obj
            for (of, _), obj in by_key.items()
            if of == kind and (not namespace or obj.namespace == namespace)
        ]

    def get(kind, key):
        return by_key.get((kind, key))

    usage = DeclaredUsages(get, objects_of, START_NS).of(given, resources)
    return {
        container: {resource: format_quantity(amount) for resource, amount in of.items()}
        for container, of in usage.items()
    }


OWN = {"kwok.x-k8s.io/usage-cpu": "100m", "kwok.x-k8s.io/usage-memory": "1Mi"}


def test_each_container_of_a_running_pod_uses_what_its_annotations_say():
    given = pod(containers=("a", "b"), annotations=OWN)
    each = {"cpu": "100m", "memory": "1Mi"}
    assert found(given) == {"a": each, "b": each}
    assert found(given, resources=["cpu"]) == {"a": {"cpu": "100m"}, "b": {"cpu": "100m"}}
    assert found(pod()) == {}
    for phase in ("Pending", "Succeeded", "Failed", ""):
        assert found(pod(phase=phase, annotations=OWN)) == {}


def test_an_object_with_the_name_of_a_pod_is_the_first_source():
    given = pod(containers=("a", "b", "c"), annotations=OWN)
    own = usages(entry("a", cpu="1"), entry("a", "b", cpu="2", memory="2Gi"))
    cluster = of_cluster(entry(cpu="9"))
    # The first entry with the name of the container; without one, the annotations.
    assert found(given, own, cluster) == {
        "a": {"cpu": "1"},
        "b": {"cpu": "2", "memory": "2Gi"},
        "c": {"cpu": "100m", "memory": "1Mi"},
    }
    assert found(given, usages(entry(cpu="9"), name="other"))["a"]["cpu"] == "100m"


def test_an_entry_without_containers_is_for_those_that_no_other_names():
    given = pod(containers=("a", "b"))
    own = usages(entry(cpu="5"), entry("b", cpu="2"), entry(cpu="7"))
    assert found(given, own) == {"a": {"cpu": "5"}, "b": {"cpu": "2"}}


@pytest.mark.parametrize(
    ("selector", "selects"),
    [
        ({}, True),
        ({"matchNamespaces": ["default"]}, True),
        ({"matchNamespaces": ["other", "default"]}, True),
        ({"matchNamespaces": ["other"]}, False),
        ({"matchNames": ["p"]}, True),
        ({"matchNames": ["q"]}, False),
        ({"matchNamespaces": ["default"], "matchNames": ["q"]}, False),
        ({"matchNamespaces": ["other"], "matchNames": ["p"]}, False),
    ],
)
def test_an_object_of_the_cluster_is_for_the_pods_that_it_selects(selector, selects):
    assert found(pod(), of_cluster(entry(cpu="1"), **selector)) == (
        {"c": {"cpu": "1"}} if selects else {}
    )


def test_the_first_object_of_the_cluster_by_name_that_has_an_entry_decides():
    objects = [
        of_cluster(entry("a", cpu="3"), name="z"), of_cluster(entry("b", cpu="2"), name="m"),
        of_cluster(entry(cpu="1"), name="n"),
        of_cluster(entry(cpu="9"), name="a", matchNames=["q"]),
    ]  # fmt: skip
    assert found(pod(containers=("a", "b")), *objects) == {"a": {"cpu": "1"}, "b": {"cpu": "2"}}


def test_the_usage_of_a_workload_is_shared_by_its_running_pods():
    deployment = workload("Deployment", "d", usage_cpu="1", usage_memory="1Mi")
    sets = [
        workload("ReplicaSet", name, reference("Deployment", "d"), usage_cpu="7")
        for name in ("r", "s")
    ]
    given = pod(containers=("a", "b"), owner="r", annotations=OWN)
    others = [
        pod("q", containers=("a", "b"), owner="s"), pod("ended", phase="Succeeded", owner="r"),
        pod("alone"), pod("elsewhere", owner="r", namespace="other"),
    ]  # fmt: skip
    # One CPU for two pods of two containers; a mebibyte by four is 256 KiB.
    each = {"cpu": "250m", "memory": "256Ki"}
    assert found(given, deployment, *sets, *others) == {"a": each, "b": each}
    third = pod("third", owner="r")
    thirds = found(given, deployment, *sets, *others, third)["a"]
    assert thirds == {"cpu": "166m", "memory": "174762"}, "rounded down"


def test_an_owner_that_is_missing_or_does_not_control_shares_nothing():
    sets = workload("ReplicaSet", "r", reference("Deployment", "gone"), usage_cpu="1")
    assert found(pod(owner="r"), sets) == {"c": {"cpu": "1"}}
    no_control = workload(
        "ReplicaSet", "r", reference("Deployment", "d", controller=False), usage_cpu="1"
    )
    deployment = workload("Deployment", "d", usage_cpu="9")
    assert found(pod(owner="r"), no_control, deployment) == {"c": {"cpu": "1"}}
    assert found(pod(owner="gone", annotations=OWN))["c"]["cpu"] == "100m"


@pytest.mark.parametrize(
    ("resource", "expression", "amount"),
    [
        ("cpu", 'Quantity("1500u")', "1m"),
        ("cpu", 'Quantity("10m") * 2.0', "20m"),
        ("memory", 'Quantity("1.9")', "1"),
        ("memory", 'Quantity("2Mi")', "2Mi"),
        ("cpu", 'Quantity("0")', "0"),
    ],
)
def test_expressions_give_thousandths_of_a_cpu_and_whole_bytes(resource, expression, amount):
    given = usages({"usage": {resource: {"expression": expression}}})
    assert found(pod(), given) == {"c": {resource: amount}}


@pytest.mark.parametrize(
    ("objects", "message"),
    [
        ([usages({"usage": {"cpu": {"value": "x"}}})],
         "ResourceUsage default/p: spec.usages[0].usage[cpu].value: "),
        ([of_cluster({"usage": {"cpu": {"value": "-1"}}})],
         "ClusterResourceUsage u: spec.usages[0].usage[cpu].value: "),
        ([usages({"usage": {"cpu": {"expression": "Quantity("}}})],
         "ResourceUsage default/p: spec.usages[0].usage[cpu].expression: "),
        ([usages(entry("other", cpu="1"), {"usage": {"cpu": {"expression": 'Quantity("-1")'}}})],
         "ResourceUsage default/p: spec.usages[1].usage[cpu].expression: pod default/p:"
         ' Quantity("-1"): is negative'),
        # The first of several, and an expression that fails for this pod.
        ([usages({"usage": {"cpu": {"value": "x"}}}, {"usage": {"memory": {"value": "y"}}})],
         "ResourceUsage default/p: spec.usages[0].usage[cpu].value: "),
        ([usages({"usage": {"cpu": {"expression": 'Quantity(pod.metadata.labels["no"])'}}})],
         "ResourceUsage default/p: spec.usages[0].usage[cpu].expression: pod default/p: "),
    ],
)  # fmt: skip
def test_a_usage_that_is_no_amount_is_named(objects, message):
    with pytest.raises(UsageError) as caught:
        found(pod(), *objects)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("text", ["x", "-1"])
def test_an_annotation_that_is_no_amount_is_named(text):
    start = f'Invalid value: "{text}": '
    with pytest.raises(UsageError) as caught:
        found(pod(annotations={"kwok.x-k8s.io/usage-cpu": text}))
    name = "metadata.annotations[kwok.x-k8s.io/usage-cpu]"
    assert str(caught.value).startswith(f"pod default/p: {name}: {start}")
    with pytest.raises(UsageError) as caught:
        found(pod(owner="r"), workload("ReplicaSet", "r", usage_cpu=text))
    name = "metadata.annotations[podwright.dev/usage-cpu]"
    assert str(caught.value).startswith(f"ReplicaSet default/r: {name}: {start}")


def test_what_is_a_usage():
    for good in ("0", "1", "100m", "1Gi", 1, 0.5):
        assert usage_problem(good) == ""
    assert usage_problem("-1m") == "must be greater than or equal to 0"
    assert usage_problem("one")
    assert list(UsageValue(value="1", expression="(").problems("f")) == [], "the value decides"
    assert [each.path for each in UsageValue(expression="(").problems("f")] == ["f.expression"]
    assert [each.path for each in UsageValue(value="-1").problems("f")] == ["f.value"]
    assert list(UsageValue().problems("f")) == []


def test_only_objects_of_the_cluster_have_a_selector():
    errors: list[Any] = []
    assert usage_spec(of_cluster(entry(cpu="1"), matchNames=["p"]), errors).usages
    assert errors == []
    usage_spec(usages(entry(cpu="1"), selector={"matchNames": ["p"]}), errors)
    assert [each.path for each in errors] == ["spec.selector"]
