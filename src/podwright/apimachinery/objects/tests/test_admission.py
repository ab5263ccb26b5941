"""The fields that admission sets before a pod is scheduled."""

import pytest

from podwright.apimachinery.objects import (
    PriorityClass,
    admit,
    decode_as,
    default_priority_class,
    with_runtime_class,
)
from podwright.apimachinery.objects.pods.pod import Pod


def a_class(name: str, value: int, *, is_default: bool = True) -> PriorityClass:
    document = {"metadata": {"name": name}, "value": value, "globalDefault": is_default}
    return decode_as(document, PriorityClass)


@pytest.mark.parametrize(
    ("classes", "expected"),
    [
        pytest.param([], None, id="no class"),
        pytest.param([a_class("a", 1, is_default=False)], None, id="no global default"),
        pytest.param([a_class("a", 9), a_class("b", 3)], "b", id="the lowest value of several"),
        pytest.param([a_class("b", 3), a_class("a", 3)], "a", id="by name among equal values"),
    ],
)
def test_the_global_default_with_the_lowest_value_applies(classes, expected):
    found = default_priority_class(classes)
    assert (found and found.name) == expected


def test_a_pod_without_a_class_gets_the_priority_of_the_default_class():
    pod = decode_as({"metadata": {"name": "web"}, "spec": {}}, Pod)
    admitted = admit(pod, [a_class("a", 9), a_class("b", 3)])
    assert admitted.spec.priority == 3


CLASS = {
    "metadata": {"name": "sandbox"},
    "overhead": {"podFixed": {"cpu": "500m"}},
    "scheduling": {
        "nodeSelector": {"sandbox": "yes"},
        "tolerations": [{"key": "sandbox", "operator": "Exists"}],
    },
}


def test_a_runtime_class_completes_a_pod():
    pod = decode_as({"metadata": {"name": "web"}, "spec": {"nodeSelector": {"disk": "ssd"}}}, Pod)
    spec = with_runtime_class(pod, CLASS).spec
    expected = decode_as({"spec": {"overhead": {"cpu": "500m"}}, "metadata": {"name": "x"}}, Pod)
    assert spec.overhead == expected.spec.overhead
    assert spec.node_selector == {"disk": "ssd", "sandbox": "yes"}
    assert [each.key for each in spec.tolerations] == ["sandbox"]


def test_a_pod_keeps_the_overhead_that_it_has():
    pod = decode_as({"metadata": {"name": "web"}, "spec": {"overhead": {"cpu": "1"}}}, Pod)
    assert with_runtime_class(pod, CLASS).spec.overhead == pod.spec.overhead
    assert with_runtime_class(pod, {"metadata": {"name": "plain"}}) is pod


@pytest.mark.parametrize(
    ("fields", "overhead", "selector", "tolerations"),
    [
        pytest.param({"overhead": {"podFixed": {"cpu": "1"}}}, {"cpu"}, {}, 0, id="overhead alone"),
        pytest.param({"overhead": {}}, set(), {}, 0, id="no amounts"),
        pytest.param({"overhead": {"podFixed": None}}, set(), {}, 0, id="null amounts"),
        pytest.param(
            {"scheduling": {"nodeSelector": {"a": "b"}}}, set(), {"a": "b"}, 0, id="labels alone"
        ),
        pytest.param(
            {"scheduling": {"tolerations": [{"key": "k"}]}}, set(), {}, 1, id="tolerations alone"
        ),
        pytest.param(
            {"scheduling": {"nodeSelector": None, "tolerations": None}}, set(), {}, 0, id="null"
        ),
        pytest.param({"overhead": None, "scheduling": None}, set(), {}, 0, id="all null"),
    ],
)
def test_a_runtime_class_adds_what_it_has(fields, overhead, selector, tolerations):
    pod = decode_as({"metadata": {"name": "web"}, "spec": {}}, Pod)
    completed = with_runtime_class(pod, {"metadata": {"name": "c"}} | fields)
    spec = completed.spec
    assert set(spec.overhead) == overhead
    assert spec.node_selector == selector
    assert len(spec.tolerations) == tolerations
    assert (completed is pod) is not bool(overhead or selector or tolerations)
