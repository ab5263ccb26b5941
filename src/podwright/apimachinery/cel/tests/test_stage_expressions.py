"""Expressions of KWOK: operators of quantities, functions of the time, usage of containers."""

from __future__ import annotations

import pytest

from podwright.apimachinery.cel.functions.formats import parse_timestamp
from podwright.apimachinery.cel.uses.stage_expressions import (
    StageExpressionError,
    self_of,
    stage_expression,
    usage_expression,
)

SECOND = 1_000_000_000
POD = {
    "metadata": {"name": "a", "creationTimestamp": "1970-01-01T00:00:10Z"},
    "spec": {"priority": 3, "size": "1500m"},
}


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ('Quantity("1500m") * 2 == Quantity("3")', True),
        ('Quantity("1500m") * 2u == Quantity("3")', True),
        ('Quantity("1500m") * 0.5 == Quantity("750m")', True),
        ('Quantity("1n") * 1.5 == Quantity("1n")', True),
        ('Quantity("3n") * 0.5 == Quantity("1n")', True),
        ('Quantity("3") / 2 == Quantity("1500m")', True),
        ('Quantity("3") / 0.5 == Quantity("6")', True),
        ('Quantity("3") - Quantity("1") == Quantity("2")', True),
        ('Quantity("3") + Quantity("1") == Quantity("4")', True),
        ('-Quantity("3") < Quantity("-2")', True),
        ('Quantity("1") < Quantity("1")', False),
        ('Quantity("1") <= Quantity("1")', True),
        ('Quantity("2") > Quantity("1")', True),
        ('Quantity("1") > Quantity("1")', False),
        ('Quantity("1") >= Quantity("1k")', False),
        ('"1Ki".Quantity() == Quantity("1024")', True),
        ("Quantity(self.spec.size) * self.spec.priority == Quantity('4.5')", True),
        ("SinceSecond(self)", 5.0),
        ("self.SinceSecond()", 5.0),
        ("UnixSecond(Now())", 15.0),
        ("Now().UnixSecond()", 15.0),
    ],
)
def test_the_functions_of_kwok_compute(source: str, value: object) -> None:
    assert stage_expression(source).evaluate(POD, 15 * SECOND) == value


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ('Quantity("3") / 0', "division by zero"),
        ('Quantity("3") / 0.0', "division by zero"),
        ('Quantity("3") * dyn(true)', "no such overload"),
        ('Quantity("3") * dyn("2")', "no such overload"),
        ('Quantity("3") + dyn(1)', "no such overload"),
        ("SinceSecond(self.spec)", "no such key: creationTimestamp"),
    ],
)
def test_an_operand_of_another_type_is_an_error(source: str, message: str) -> None:
    with pytest.raises(StageExpressionError) as error:
        stage_expression(source).evaluate(POD, 0)
    assert str(error.value) == f"{source}: {message}"


@pytest.mark.parametrize(
    ("source", "is_true", "duration_ns", "integer"),
    [
        ("true", True, None, 1),
        ("false", False, None, 0),
        ("7", None, 7, 7),
        ("-1.9", None, -1, -1),
        ("1e300", None, 2**63 - 1, 2**63 - 1),
        ("-1e300", None, -(2**63), -(2**63)),
        ("duration('1.5s')", None, 1_500_000_000, 1_500_000_000),
        ("'1500ms'", None, 1_500_000_000, None),
        ("'soon'", None, None, None),
        ("self.spec.priority", None, 3, 3),
        ("[1]", None, None, None),
    ],
)
def test_a_value_is_a_condition_a_duration_or_a_number(
    source: str, is_true: object, duration_ns: object, integer: object
) -> None:
    expression = stage_expression(source)
    for method, expected, problem in (
        ("is_true", is_true, "neither true nor false"),
        ("duration_ns", duration_ns, "not a duration"),
        ("integer", integer, "not a number"),
    ):
        try:
            found = getattr(expression, method)(POD, 0)
        except StageExpressionError as error:
            found = str(error)
        right = f"{source}: {problem}" if expected is None else expected
        assert (found, type(found)) == (right, type(right)), method


def test_random_values_are_refused() -> None:
    with pytest.raises(StageExpressionError, match=r"Rand\(\) is not supported"):
        stage_expression("Rand()")


@pytest.mark.parametrize(
    ("source", "nano"),
    [
        ('Quantity("250m")', SECOND // 4),
        ("2", 2 * SECOND),
        ("1.5", 3 * SECOND // 2),
        ('duration("2ns")', 2 * SECOND),
        ('Quantity("1") * pod.spec.priority', 3 * SECOND),
        ('"size" in pod.metadata.annotations ? 1 : 2', 2 * SECOND),
        ('"zone" in node.metadata.labels ? 1 : 2', SECOND),
        ('container.name == "main" ? 1 : 2', SECOND),
        ('container.resources.requests["cpu"]', SECOND // 4),
    ],
)
def test_a_usage_is_an_amount(source: str, nano: int) -> None:
    node = {"metadata": {"name": "n", "labels": {"zone": "a"}}}
    container = {"name": "main", "resources": {"requests": {"cpu": "250m"}}}
    found = usage_expression(source).nano(
        pod=POD, node=node, container=container, now_ns=15 * SECOND
    )
    assert found == nano


@pytest.mark.parametrize("source", ['"a"', "1.0 / 0.0", "[1]"])
def test_a_usage_that_is_no_amount_is_an_error(source: str) -> None:
    with pytest.raises(StageExpressionError, match="not an amount"):
        usage_expression(source).nano(pod=POD, node={}, container={"name": "main"}, now_ns=0)


def test_pods_and_nodes_have_times_and_quantities_as_values() -> None:
    pod = {
        "kind": "Pod",
        "metadata": {"creationTimestamp": "1970-01-01T00:00:10Z", "deletionTimestamp": None},
        "status": {"startTime": "soon"},
        "spec": {
            "overhead": {"cpu": "1500m"},
            "containers": [{"name": "a", "resources": {"requests": {"cpu": "2"}}}, 5],
            "initContainers": [{"resources": {"limits": {"cpu": "3"}, "claims": []}}],
        },
    }
    found = self_of(pod)
    created = parse_timestamp("1970-01-01T00:00:10Z")
    assert created is not None
    assert found["metadata"] == {"creationTimestamp": created, "deletionTimestamp": None}
    assert found["status"] == {"startTime": "soon"}, "other texts stay"
    assert found["spec"]["overhead"]["cpu"] != "1500m"
    two, three = (stage_expression(f'Quantity("{n}")').evaluate(POD, 0) for n in "23")
    assert found["spec"]["containers"] == [
        {"name": "a", "resources": {"requests": {"cpu": two}}}, 5
    ]  # fmt: skip
    assert found["spec"]["initContainers"] == [
        {"resources": {"limits": {"cpu": three}, "claims": []}}
    ]
    assert pod["metadata"]["creationTimestamp"] == "1970-01-01T00:00:10Z"  # type: ignore[index]
    node = {"kind": "Node", "status": {"allocatable": {"cpu": "1"}, "capacity": [1]}}
    assert self_of(node)["status"]["allocatable"]["cpu"] != "1"
    assert self_of(node)["status"]["capacity"] == [1]
    other = {"kind": "Job", "metadata": {"creationTimestamp": "1970-01-01T00:00:10Z"}}
    assert self_of(other) is other
    assert self_of({"kind": "Pod", "metadata": "x"}) == {"kind": "Pod", "metadata": "x"}
