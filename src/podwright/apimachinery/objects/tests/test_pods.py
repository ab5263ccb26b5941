"""What a pod's status says of it, and which names are those of extended resources."""

from __future__ import annotations

import pickle
import weakref
from typing import Any

import pytest

from podwright.apimachinery.objects import (
    InvalidObject,
    Node,
    Pod,
    Specs,
    decode_pod,
    is_extended_resource,
)
from podwright.apimachinery.objects.admission import admit, default_priority_class, with_allocatable
from podwright.apimachinery.objects.decode import decode, decode_as
from podwright.apimachinery.objects.names import subdomain_errors
from podwright.apimachinery.objects.pods.pod import condition_of, deletion_cost, is_ready
from podwright.apimachinery.objects.pods.requests import (
    assigned_request_millis,
    has_actual_resources,
    has_same_actual_resources,
    is_scalar_resource,
)
from podwright.testing import make_node


def _pod(**status: Any) -> Pod:
    def containers(name: str) -> list[dict[str, Any]]:
        return [{"name": name, "resources": {"requests": {"cpu": "1"}}}]

    spec = {"containers": containers("c"), "initContainers": containers("i")}
    metadata = {"name": "p", "namespace": "default"}
    return decode_pod({"metadata": metadata, "spec": spec, "status": status})


def _container(name: str, cpu: str = "1", **more: Any) -> list[dict[str, Any]]:
    return [{"name": name, "resources": {"requests": {"cpu": cpu}}} | more]


def test_a_pod_is_ready_if_its_condition_is_true() -> None:
    for status, expected in (("True", True), ("False", False), ("Unknown", False)):
        conditions = [{"type": "Other", "status": "True"}, {"type": "Ready", "status": status}]
        assert is_ready(_pod(conditions=conditions)) is expected
    assert not is_ready(_pod(conditions=[{"type": "Other", "status": "True"}]))
    assert condition_of(_pod(), "Ready") is None


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ({}, False),
        ({"containerStatuses": _container("c")}, False),
        ({"containerStatuses": _container("c", allocatedResources={"cpu": "1"})}, False),
        ({"containerStatuses": _container("c", allocatedResources={"cpu": "2"})}, True),
        ({"containerStatuses": _container("c", "2")}, True),
        ({"containerStatuses": [{"name": "c"}]}, False),
        ({"containerStatuses": _container("x")}, True),
        ({"initContainerStatuses": _container("i")}, False),
        ({"initContainerStatuses": _container("i", "2")}, True),
        ({"resources": {"requests": {"cpu": "1"}}}, True),
        ({"allocatedResources": {"cpu": "1"}}, True),
    ],
)
def test_a_status_may_have_other_resources(
    status: dict[str, Any],
    expected: bool,
) -> None:
    assert has_actual_resources(_pod(**status)) is expected
    assert has_same_actual_resources(_pod(**status), _pod()) is not expected
    assert has_same_actual_resources(_pod(**status), _pod(**status))


@pytest.mark.parametrize(
    "other",
    [
        {"containerStatuses": _container("c", "3")},
        {"initContainerStatuses": _container("i", "3")},
        {"resources": {"requests": {"cpu": "3"}}},
        {"allocatedResources": {"cpu": "3"}},
        {
            "conditions": [
                {"type": "PodResizePending", "status": "True", "reason": "Infeasible"},
            ]
        },
    ],
)
def test_each_of_the_resources_tells_statuses_apart(other: dict[str, Any]) -> None:
    status = {
        "containerStatuses": _container("c", "2"),
        "initContainerStatuses": _container("i", "2"),
        "resources": {"requests": {"cpu": "2"}},
        "allocatedResources": {"cpu": "2"},
    }
    assert not has_same_actual_resources(_pod(**status), _pod(**status | other))


@pytest.mark.parametrize(
    ("name", "is_extended", "is_scalar"),
    [
        ("example.com/gpu", True, True),
        ("cpu", False, False),
        ("kubernetes.io/gpu", False, True),
        ("sub.kubernetes.io/gpu", False, True),
        ("requests.example.com/gpu", False, False),
        ("hugepages-2Mi", False, True),
        ("attachable-volumes-aws-ebs", False, True),
        ("example.com/not a name", False, False),
        ("Example.com/gpu", False, False),
    ],
)
def test_resources_are_told_by_name(
    name: str,
    is_extended: bool,
    is_scalar: bool,
) -> None:
    assert is_extended_resource(name) is is_extended
    assert is_scalar_resource(name) is is_scalar


def test_allocatable_defaults_to_the_capacity() -> None:
    def node(**status: Any) -> Any:
        document = {"metadata": {"name": "n"}, "status": status}
        return decode({"apiVersion": "v1", "kind": "Node"} | document)

    both = node(capacity={"cpu": "4"}, allocatable={"cpu": "3"})
    assert with_allocatable(both) is both
    assert with_allocatable(node(capacity={"cpu": "4"})).status.allocatable == {"cpu": "4"}
    neither = node()
    assert with_allocatable(neither) is neither
    assert with_allocatable(make_node("n")).status.allocatable


def test_of_several_default_classes_the_lowest_applies() -> None:
    def named(name: str, value: int, *, is_default: bool = True) -> Any:
        document = {"metadata": {"name": name}, "value": value, "globalDefault": is_default}
        return decode({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"} | document)

    several = [named("c", 2), named("b", 1), named("a", 1), named("z", 0, is_default=False)]
    assert default_priority_class(several) is several[2]
    assert default_priority_class(several[3:]) is None


@pytest.mark.parametrize(
    ("document", "text"), [("x", '"x"'), ([1], "[1]"), ([], "[]"), (None, "null"), (5, "5")]
)
def test_only_objects_are_read(document: Any, text: str) -> None:
    for read in (decode, lambda each: decode_as(each, Pod)):
        with pytest.raises(InvalidObject) as raised:
            read(document)
        assert str(raised.value) == f"must be an object, not {text}"


def test_equal_documents_share_their_spec() -> None:
    specs, content = Specs(), {"containers": [{"name": "c"}]}
    spec = specs.of(content)
    assert specs.of({"containers": [{"name": "c"}]}) is spec
    assert specs.of({"containers": [{"name": "d"}]}) is not spec
    assert specs.of({"containers": [{"name": "c" * 70_000}]}) is None

    def read(name: str, **more: Any) -> Pod:
        document = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}
        found = decode(document | more)
        assert isinstance(found, Pod)
        return found

    first = read("a")
    second = read("b")
    assert second.spec is first.spec
    assert (second.metadata.name, second.metadata.namespace) == ("b", "default")
    assert second.raw["metadata"]["name"] == "b"
    assert read("c", status={"phase": "Running"}).status.phase == "Running"
    assert decode_as({"metadata": {"name": "d"}, "spec": content}, Pod).spec is not first.spec
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "spec": spec}
    assert isinstance(decode(node), Node)
    assert type(pickle.loads(pickle.dumps(spec))) is dict


def test_a_content_has_a_spec_when_it_occurs_again() -> None:
    specs = Specs()
    assert specs.of({"number": 1}, only_repeated=True) is None
    assert specs.of({"number": 2}, only_repeated=True) is None
    again = specs.of({"number": 1}, only_repeated=True)
    assert again == {"number": 1}
    assert specs.of({"number": 1}, only_repeated=True) is again
    assert specs.of({"number": 2}) == {"number": 2}
    for _ in range(2):
        assert specs.of({"name": "c" * 70_000}, only_repeated=True) is None


def test_specs_that_no_object_has_are_forgotten_in_time() -> None:
    specs = Specs()
    first = weakref.ref(specs.of({"number": 0}))
    held = specs.of({"number": 1})
    for number in range(2, 2_100):
        specs.of({"number": number})
    assert first() is None
    assert specs.of({"number": 1}) is held


def test_admission_completes_requests_and_names_the_scheduler() -> None:
    limits = {"limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": "1"}}
    spec = {"containers": [{"name": "c", "resources": limits}], "resources": limits}
    admitted = admit(decode_pod({"metadata": {"name": "p"}, "spec": spec}), ())
    assert admitted.spec.scheduler_name == "default-scheduler"
    for resources in (admitted.spec.containers[0].resources, admitted.spec.resources):
        assert resources is not None
        assert resources.requests == {"cpu": "1", "memory": "1Gi"}
    assert admit(admitted, ()) is admitted


def test_a_subdomain_has_at_most_253_bytes() -> None:
    name = ".".join(["a" * 49] * 5)
    assert subdomain_errors(name + ".abc") == []
    assert len(name + ".abc") == 253
    assert subdomain_errors(name + ".abcd") == ["must be no more than 253 bytes"]


def test_what_a_pod_occupies_is_in_thousandths() -> None:
    assert assigned_request_millis(_pod()) == {"cpu": 1_000}


@pytest.mark.parametrize(
    ("text", "cost"),
    [
        ("0", 0), ("-0", 0), ("10", 10), ("-10", -10), ("-05", -5), ("-00000000000000000001", -1),
        ("2147483647", 2**31 - 1), ("2147483648", None),
        ("-2147483648", -(2**31)), ("-2147483649", None), ("9" * 5000, None),
        ("", None), ("-", None), ("+5", None), ("05", None), ("00", None), ("5 ", None),
        ("5\n", None), ("1.5", None), ("\u0665", None),
    ],
)  # fmt: skip
def test_the_cost_of_a_deletion_is_a_number_of_32_bits(text: str, cost: int | None) -> None:
    assert deletion_cost(text) == cost
