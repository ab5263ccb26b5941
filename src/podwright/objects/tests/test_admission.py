"""The fields that admission sets before a pod is scheduled."""

import pytest

from podwright.objects import PriorityClass, admit, decode_as, default_priority_class
from podwright.objects.pod import Pod


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
