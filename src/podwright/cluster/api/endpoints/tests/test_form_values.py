"""Which values of bodies may vary, by place and by text, and which bodies have one form."""

from __future__ import annotations

import json
from typing import Any

import pytest

from podwright.cluster.api.endpoints.forms.bodies import (
    ROLES,
    Shape,
    getter,
    shape_of,
    split_body,
)
from podwright.cluster.store import EVENT, POD

CONTAINER = ("spec", "containers", 0)
NAME = ("metadata", "name")
UID = b"0e0a3b1e-4b1d-4c7e-9d2f-4c6b8a10e001"


@pytest.mark.parametrize(
    ("kind", "place"),
    [
        (POD, ("metadata", "namespace")),
        (POD, ("metadata", "annotations", "a")),
        (POD, ("metadata", "labels", 0)),
        (POD, ("spec", "nodeName")),
        (POD, ("spec", "initContainers", 0, "image")),
        (POD, (*CONTAINER, "name")),
        (POD, (*CONTAINER, "env", 0, "x")),
        (POD, (*CONTAINER, "resources", "claims", "cpu")),
        (POD, (*CONTAINER, "resources", "requests", "example.com/x")),
        (POD, ("spec", "affinity", "podAffinity", "matchLabelKeys", "a")),
        (POD, ("spec", "nodeSelector", "a")),
        (POD, ("spec", "tolerations", "matchLabels", "a")),
        (EVENT, ("metadata", "namespace")),
        (EVENT, ("regarding", "kind")),
        (EVENT, ("reason",)),
        (EVENT, ("source", "component")),
        (EVENT, ("series", "lastObservedTime")),
    ],
)
def test_places_whose_values_do_not_vary(kind: Any, place: Any) -> None:
    assert ROLES[kind](place) is None


@pytest.mark.parametrize(
    ("kind", "place", "plain", "others"),
    [
        (POD, NAME, [b"a", b"a-1", b"0a"], [b"", b"A", b"-a", b"a-", b"a.b", b"a_b"]),
        (EVENT, NAME, [b"a", b"a.b", b"a-1.b2"], [b"", b"A", b"a.", b".a", b"a..b", b"a_b"]),
        (
            POD, ("metadata", "labels", "x"), [b"a", b"A_b.c-9", b"x" * 63],
            [b"", b"-a", b"a-", b"x" * 64, b"a b"],
        ),
        (
            POD, ("spec", "affinity", "podAffinity", 0, "labelSelector", "matchLabels", "x"),
            [b"a"], [b""],
        ),
        (
            POD, ("spec", "topologySpreadConstraints", 0, "labelSelector", "matchLabels", "x"),
            [b"a"], [b""],
        ),
        (
            POD, (*CONTAINER, "image"), [b"a:1", b"r/a:v1", b"r.io/a_b-c:1.2-x_Y"],
            [b"a", b"a:latest", b"a:", b"A:1", b"a:v", b"a@1", b"/a:1", b":1"],
        ),
        (
            POD, (*CONTAINER, "env", 0, "name"), [b"A", b"_a9", b"a" * 201],
            [b"", b"9a", b"a-b", b"a" * 202],
        ),
        (
            POD, (*CONTAINER, "env", 0, "value"), [b" ", b"a b!", b"x" * 1024],
            [b"", b'"', b"\\n", b"x" * 1025, b"\n", b"\x7f"],
        ),
        (
            POD, (*CONTAINER, "resources", "requests", "cpu"),
            [b"1", b"9999", b"1m", b"1500m", b"9999999m"],
            [b"0", b"1000m", b"12000m", b"0m", b"01", b"10000", b"1.5", b"1k", b"99999999m"],
        ),
        (
            POD, (*CONTAINER, "resources", "limits", "memory"),
            [b"1Mi", b"1023Ki", b"1025Gi", b"9999999Mi"],
            [b"1024Mi", b"2048Ki", b"0Mi", b"1M", b"1", b"99999999Mi", b"01Mi"],
        ),
        (EVENT, ("regarding", "uid"), [UID], [b"x", UID.upper(), UID + b"0", UID[1:]]),
        (EVENT, ("involvedObject", "resourceVersion"), [b"1", b"908"], [b"0", b"01", b"x", b""]),
        (EVENT, ("source", "host"), [b"n-1", b"n.a"], [b"", b"N"]),
        (EVENT, ("reportingInstance",), [b"a.b-c", b"-", b"9"], [b"", b"A", b"a b", b"a/b"]),
        (
            EVENT, ("eventTime",),
            [b"2026-01-31T23:59:59.123456Z", b"2024-04-30T00:00:00.000000Z"],
            [b"2026-01-31T23:59:59Z", b"2026-01-31T23:59:59.12345Z", b"2026-01-32T00:00:00.000000Z",
             b"2026-04-31T00:00:00.000000Z", b"2026-02-29T00:00:00.000000Z",
             b"2026-13-01T00:00:00.000000Z", b"2026-01-31T24:00:00.000000Z",
             b"2026-01-31T00:60:00.000000Z", b"2026-01-31T00:00:60.000000Z",
             b"1999-01-01T00:00:00.000000Z", b"2026-01-31T23:59:59.123456+00:00",
             b"2026-00-01T00:00:00.000000Z", b"2026-01-00T00:00:00.000000Z"],
        ),
        (
            EVENT, ("firstTimestamp",),
            [b"2026-12-31T00:00:00Z", b"2026-11-30T19:09:09Z", b"2026-02-28T20:00:00Z",
             b"2026-10-01T00:00:00Z"],
            [b"2026-11-31T00:00:00Z", b"2026-02-30T00:00:00Z", b"2026-12-31T00:00:00.000000Z",
             b"2026-12-31 00:00:00Z", b"2026-06-31T00:00:00Z", b"2026-09-31T00:00:00Z"],
        ),
        (EVENT, ("lastTimestamp",), [b"2026-12-31T00:00:00Z"], [b""]),
        (EVENT, ("message",), [b"a"], [b""]),
    ],
)  # fmt: skip
def test_which_values_may_vary(
    kind: Any, place: Any, plain: list[bytes], others: list[bytes]
) -> None:
    role = ROLES[kind](place)
    assert role is not None
    assert [each for each in plain if not role.is_plain(each)] == []
    assert [each for each in others if role.is_plain(each)] == []
    for number in (0, 999):
        assert role.is_plain(role.example.format(number).encode())


def shape(document: Any, kind: Any = POD, **options: Any) -> tuple[Shape, tuple[bytes, ...]]:
    texts, values = split_body(json.dumps(document).encode())
    found = shape_of(kind, texts, values, **options)
    assert found is not None
    return found, values


def pod(*, env: Any = (), name: str = "p", spec: Any = None, **resources: Any) -> Any:
    container = {"name": "c", "image": "i:1", "env": [*env], "resources": resources}
    return {"metadata": {"name": name}, "spec": {"containers": [container]} | (spec or {})}


def is_alike(first: Any, second: Any) -> bool:
    """Whether two bodies of one shape have one form, also if many are expected."""
    found, values = shape(first)
    others = shape(second)[1]
    before = found.form_of(values) == found.form_of(others)
    found.expect_many()
    assert (found.form_of(values) == found.form_of(others)) is before
    return before


@pytest.mark.parametrize(
    ("first", "second", "alike"),
    [
        (pod(), pod(name="q"), True),
        (pod(), pod(name="Q"), False),
        (pod(requests={"cpu": "1"}), pod(requests={"cpu": "2"}), True),
        (pod(requests={"cpu": "1"}), pod(requests={"cpu": "1000m"}), False),
        (pod(limits={"cpu": "1"}), pod(limits={"cpu": "2"}), True),
        # A request that equals its limit varies with it.
        (
            pod(requests={"cpu": "1"}, limits={"cpu": "1"}),
            pod(requests={"cpu": "2"}, limits={"cpu": "2"}), True,
        ),
        (
            pod(requests={"cpu": "1"}, limits={"cpu": "1"}),
            pod(requests={"cpu": "1"}, limits={"cpu": "2"}), False,
        ),
        (
            pod(requests={"cpu": "1"}, limits={"cpu": "2"}),
            pod(requests={"cpu": "1"}, limits={"cpu": "3"}), False,
        ),
        (
            pod(requests={"cpu": "1", "memory": "1Mi"}, limits={"cpu": "1", "memory": "1Mi"}),
            pod(requests={"cpu": "2", "memory": "3Mi"}, limits={"cpu": "2", "memory": "3Mi"}), True,
        ),
        (
            pod(requests={"cpu": "1", "memory": "1Mi"}, limits={"cpu": "1", "memory": "1Mi"}),
            pod(requests={"cpu": "2", "memory": "3Mi"}, limits={"cpu": "2", "memory": "4Mi"}),
            False,
        ),
        # An amount beside one that is a number does not have its own place.
        (
            pod(requests={"cpu": "1"}, limits={"cpu": 1}),
            pod(requests={"cpu": "2"}, limits={"cpu": 1}), False,
        ),
        (
            pod(requests={"cpu": "1"}, spec={"resources": {"requests": {"x": 1}}}),
            pod(requests={"cpu": "2"}, spec={"resources": {"requests": {"x": 1}}}), False,
        ),
        # The names of variables vary in their order.
        (
            pod(env=[{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]),
            pod(env=[{"name": "C", "value": "3"}, {"name": "D", "value": "4"}]), True,
        ),
        (
            pod(env=[{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]),
            pod(env=[{"name": "D", "value": "1"}, {"name": "C", "value": "2"}]), False,
        ),
        (
            pod(env=[{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]),
            pod(env=[{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]), False,
        ),
        (
            pod(env=[{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]),
            pod(env=[{"name": "A", "value": "1"}, {"name": "A", "value": "3"}]), True,
        ),
        (
            pod(env=[{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]),
            pod(env=[{"name": "B", "value": "1"}, {"name": "B", "value": "2"}]), False,
        ),
        (pod(spec={"nodeName": "a"}), pod(spec={"nodeName": "b"}), False),
    ],
)  # fmt: skip
def test_bodies_of_one_form(first: Any, second: Any, *, alike: bool) -> None:
    assert is_alike(first, second) is alike


def varying(document: Any) -> list[list[str]]:
    found, values = shape(document)
    return [[values[index].decode() for index in each.indices] for each in found.varying(values)]


def test_the_values_that_vary_in_a_body() -> None:
    assert varying(pod(name="z")) == [["i:1"], ["z"]]
    equal = pod(requests={"cpu": "1"}, limits={"cpu": "1"})
    assert varying(equal) == [["1", "1"], ["i:1"], ["p"]]
    assert varying(pod(requests={"cpu": "1"}, limits={"cpu": "2"})) == [["i:1"], ["p"]]
    twice = [{"name": "A", "value": "x"}, {"name": "A", "value": "y"}]
    assert varying(pod(env=twice)) == [["i:1"], ["p"], ["x"], ["y"]]
    once = [{"name": "B", "value": "x"}, {"name": "A", "value": "y"}]
    assert varying(pod(env=once)) == [["A"], ["B"], ["i:1"], ["p"], ["x"], ["y"]]


def test_the_shapes_of_bodies() -> None:
    found, values = shape(pod())
    assert found.name_index is not None
    assert values[found.name_index] == b"p"
    generated = {"metadata": {"generateName": "p-"}, "spec": pod()["spec"]}
    assert shape(generated)[0].name_index is None
    only_name, values = shape(pod(), varies=False)
    assert [values[i] for each in only_name.varying(values) for i in each.indices] == [b"p"]
    # One name of a variable that may not vary keeps all of them.
    mixed = pod(env=[{"name": "A", "value": "x"}, {"name": 3, "value": "y"}])
    assert ["A"] in varying(mixed)
    names: list[int | None] = []
    for body in (b'{"metadata":{"name":"a","name":"b"}}', b'{"metadata":{"name":3}}'):
        made = shape_of(POD, *split_body(body))
        assert made is not None
        names.append(made.name_index)
    assert names == [1, None]
    assert shape_of(POD, *split_body(b"{")) is None
    assert [getter(indices)((b"a", b"b", b"c")) for indices in ([], [1], [2, 0])] == [
        (), (b"b",), (b"c", b"a"),
    ]  # fmt: skip
