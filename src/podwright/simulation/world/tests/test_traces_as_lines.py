"""Usage traces and tables as event lines: each value, each limit, and each error with its text."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import numpy as np
import pandas as pd
import pytest

import podwright as pw
from podwright.apimachinery.objects import InputError
from podwright.simulation.world.inputs.frame_columns import is_missing, text_of, time_value_ns
from podwright.simulation.world.inputs.usage_trace import usage_lines


def lines_of(text: str) -> list[tuple[int, Any]]:
    rows = ((number, line.encode(), True) for number, line in enumerate(text.splitlines(), 1))
    return [(number, json.loads(line)) for number, line, _ in usage_lines(rows, source="u.csv")]


def problems(text: str) -> list[str]:
    with pytest.raises(InputError) as raised:
        lines_of(text)
    return [str(error) for error in raised.value.errors]


HEADS = "the first line has the names of columns"


@pytest.mark.parametrize(
    ("heads", "missing"),
    [
        ("time,pod,cpu", []),
        ("memory,workload,time", []),
        ("pod,cpu", ["time: Required value"]),
        ("time,cpu", ["pod or workload: Required value"]),
        ("time,namespace,pod", ["cpu or memory: Required value"]),
        ("namespace", ["time: Required value", "pod or workload: Required value",
                       "cpu or memory: Required value"]),
    ],
)  # fmt: skip
def test_a_trace_has_a_time_an_object_and_an_amount(heads, missing):
    if not missing:
        assert lines_of(heads) == []
        return
    assert problems(heads) == [f"u.csv: line 1: {each}: {HEADS}" for each in missing]


def test_an_empty_trace_lacks_all_columns():
    for text in ("", "\n  \n"):
        assert len(problems(text)) == 3


def test_an_unknown_column_is_named_with_those_there_are():
    (error,) = problems("time,pod,cpu,gpu")
    assert error == (
        'u.csv: line 1: gpu: Unsupported value: "gpu": supported values: "time", "namespace", '
        '"pod", "workload", "cpu", "memory"; did you mean "cpu"?'
    )


OBJECT = "a row has a pod or a workload"
AMOUNT = "a row has an amount of cpu or memory"


@pytest.mark.parametrize(
    ("row", "errors"),
    [
        pytest.param("1,a,,1,,b", [], id="all columns"),
        pytest.param("1,a,,1", [], id="fewer cells than columns"),
        pytest.param("1,a,,1,,b,", ["has 7 cells for 6 columns"], id="a cell too many"),
        pytest.param("1,,,1", [OBJECT], id="neither"),
        pytest.param("1,a,deployment/b,1", [OBJECT], id="both"),
        pytest.param("1,a", [AMOUNT], id="no amount"),
        pytest.param("1,a,,,,b", [AMOUNT], id="empty amounts"),
        pytest.param("1", [OBJECT, AMOUNT], id="nothing but a time"),
        pytest.param("1.5.2,a,,1", ["time"], id="two points"),
        pytest.param(",a,,1", ["time"], id="no time"),
        pytest.param("-1,a,,1", ["time"], id="before the start"),
        pytest.param("1,a,,x,-1", ["cpu", "memory"], id="both amounts wrong"),
        pytest.param("1,a,,0,0", [], id="nothing is used"),
    ],
)
def test_what_a_row_must_have(row, errors):
    text = f"time,pod,workload,cpu,memory,namespace\n{row}"
    if not errors:
        assert len(lines_of(text)) == 1
        return
    found = problems(text)
    assert len(found) == len(errors)
    for error, words in zip(found, errors, strict=True):
        assert error.startswith(f"u.csv: line 2: {words}"), error


@pytest.mark.parametrize(
    ("time", "at"),
    [
        ("0", "0s"), ("1.5", "1.5s"), ("90", "90s"), (".5", ".5s"), ("5.", "5.s"), ("2m", "2m"),
        ("1h30m", "1h30m"), ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"),
    ],
)  # fmt: skip
def test_a_number_is_of_seconds_and_other_times_stay(time, at):
    ((_, line),) = lines_of(f"time,pod,cpu\n{time},a,1")
    assert line["at"] == at


def test_rows_of_one_time_keep_their_order_and_blank_lines_their_numbers():
    rows = lines_of(
        "time,pod,workload,cpu\n\n10,b,,1\n5,,deployment/w,2\n  \n10s,a,,3\n0h,c,,4\n10,b,,5"
    )
    shown = [
        (number, line.get("patch") or line["apply"]["metadata"]["name"]) for number, line in rows
    ]
    assert shown == [(7, "c"), (4, "deployment/w"), (3, "b"), (6, "a"), (8, "b")]


def test_a_row_of_a_workload_sets_what_it_names_and_no_more():
    rows = lines_of("time,workload,cpu,memory\n0,deployment/w,1,2Gi\n1,deployment/w,,3Gi")
    first, second = (line for _, line in rows)
    assert first == {
        "at": "0s", "patch": "deployment/w", "namespace": "default",
        "with": {"metadata": {"annotations": {
            "podwright.dev/usage-cpu": "1", "podwright.dev/usage-memory": "2Gi"}}},
    }  # fmt: skip
    assert second["with"]["metadata"]["annotations"] == {"podwright.dev/usage-memory": "3Gi"}


def test_a_row_of_a_pod_is_a_usage_of_kwok():
    ((_, line),) = lines_of("time,pod,cpu\n0,a,1")
    expression = 'Quantity("1") / size(pod.spec.containers)'
    assert line == {
        "at": "0s",
        "apply": {
            "apiVersion": "kwok.x-k8s.io/v1alpha1",
            "kind": "ResourceUsage",
            "metadata": {"name": "a", "namespace": "default"},
            "spec": {"usages": [{"usage": {"cpu": {"expression": expression}}}]},
        },
    }


# ---------------------------------------------------------------------------------- values


@pytest.mark.parametrize(
    ("value", "missing"),
    [
        (None, True), (float("nan"), True), (np.float32("nan"), True), (pd.NaT, True),
        (pd.NA, True), (np.datetime64("NaT"), True), (np.timedelta64("NaT"), True),
        (0, False), ("", False), (False, False), (0.0, False), (float("inf"), False),
        ("nan", False),
        ([], False), ([1], False), (np.array([1, 2]), False), (np.array([]), False),
    ],
)  # fmt: skip
def test_values_that_are_missing(value, missing):
    assert is_missing(value) is missing


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"), (np.bool_(False), "false"), (1.0, "1"), (np.float32(2), "2"), (-3.0, "-3"),
        (0.0, "0"), (1.5, "1.5"), (np.float64(0.25), "0.25"), (float("inf"), "inf"), (7, "7"),
        (np.int8(7), "7"), ("1.0", "1.0"), ("", ""), (1e20, "100000000000000000000"),
    ],
)  # fmt: skip
def test_texts_of_values(value, text):
    assert text_of(value) == text


SECOND = 10**9
INDIA = timezone(timedelta(hours=5, minutes=30))


@pytest.mark.parametrize(
    ("value", "time_ns"),
    [
        ("1970-01-01", 0),
        ("1970-01-01T00:00:01Z", SECOND),
        ("1970-01-01t00:00:01z", SECOND),
        (" 1970-01-01 00:00:01 ", SECOND),
        ("1970-01-01T05:30:01+05:30", SECOND),
        ("1969-12-31T23:59:59Z", -SECOND),
        ("19700101", None),
        ("-5", None),
        ("a-b", None),
        ("1970-13-01", None),
        ("", None),
        (5, None),
        (None, None),
        (pd.NaT, None),
        (timedelta(seconds=1), None),
        (datetime(1970, 1, 1, 0, 0, 1), SECOND),  # noqa: DTZ001 - a time without a zone
        (datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC), SECOND),
        (datetime(1970, 1, 1, 5, 30, 1, 5, tzinfo=INDIA), SECOND + 5_000),
        (np.datetime64("1970-01-01T00:00:01"), SECOND),
        (pd.Timestamp(1_000_000_001, unit="ns", tz="UTC"), SECOND + 1),
    ],
)
def test_which_values_are_times(value, time_ns):
    assert time_value_ns(value) == time_ns


# ---------------------------------------------------------------------------------- groups


def shown(workload: pw.Workload) -> list[tuple[str, str, str, Any]]:
    """Return time, kind, name and (group, or the number of its members) of each line."""
    found = []
    for line in workload:
        document = line["apply"]
        labels = document["metadata"].get("labels") or {}
        group = labels.get("scheduling.x-k8s.io/pod-group")
        members = document["spec"].get("minMember")
        place = f"{document['metadata']['namespace']}/{document['metadata']['name']}"
        found.append((line["at"], document["kind"], place, members or group))
    return found


def test_a_group_comes_with_its_first_pod_and_has_all_its_members():
    frame = {
        "t": [30, 10, 10, 20, 5], "g": ["a", "b", "a", "a", None], "r": [2, 1, 1, 3, 1],
        "n": ["x", "x", "x", "y", "x"], "name": ["p1", "p2", "p3", "p4", "p5"],
    }  # fmt: skip
    workload = pw.Workload.from_frame(
        frame, arrival="t", unit={"arrival": "s"}, group="g", replicas="r", namespace="n",
        name="name",
    )  # fmt: skip
    assert shown(workload) == [
        ("5s", "Pod", "x/p5-0", None),
        ("10s", "PodGroup", "x/a", 3),
        ("10s", "PodGroup", "x/b", 1),
        ("10s", "Pod", "x/p2-0", "b"),
        ("10s", "Pod", "x/p3-0", "a"),
        ("20s", "PodGroup", "y/a", 3),
        ("20s", "Pod", "y/p4-0", "a"),
        ("20s", "Pod", "y/p4-1", "a"),
        ("20s", "Pod", "y/p4-2", "a"),
        ("30s", "Pod", "x/p1-0", "a"),
        ("30s", "Pod", "x/p1-1", "a"),
    ]
    assert repr(workload) == "<Workload: 8 pods>"


def test_a_row_of_no_pods_makes_no_group_and_lasts_no_time():
    frame = {"t": [0, 5, 9], "g": ["a", "b", "b"], "r": [0, 0, 1]}
    workload = pw.Workload.from_frame(
        frame, arrival="t", unit={"arrival": "s"}, group="g", replicas="r"
    )
    assert [line[1:] for line in shown(workload)] == [
        ("PodGroup", "default/b", 1), ("Pod", "default/pod-2-0", "b"),
    ]  # fmt: skip


@pytest.mark.parametrize(("prefix", "group"), [(None, "job-1"), ("t1", "t1-job-1")])
def test_groups_have_the_prefix_that_was_given(prefix, group):
    workload = pw.Workload.from_frame(
        {"t": ["0s"], "g": ["Job 1"]}, arrival="t", group="g", prefix=prefix
    )
    assert shown(workload)[0][2:] == (f"default/{group}", 1)
    assert workload.has_default_names is (prefix is None)
    assert workload.is_from_frame


def test_another_prefix_replaces_that_of_default_names_alone():
    workload = pw.Workload.from_frame(
        {"t": ["0s", "1s", "2s"], "g": ["a", None, "a"], "l": ["pod", "x", None]},
        arrival="t", group="g", labels={"app": "l"}, namespace="l",
    )  # fmt: skip
    other = workload.with_prefix("pod2")
    assert shown(other) == [
        ("0s", "PodGroup", "pod/pod2-a", 1), ("0s", "Pod", "pod/pod2-0", "pod2-a"),
        ("1s", "Pod", "x/pod2-1", None), ("2s", "PodGroup", "default/pod2-a", 1),
        ("2s", "Pod", "default/pod2-2", "pod2-a"),
    ]  # fmt: skip
    assert [line["apply"]["metadata"].get("labels", {}).get("app") for line in other] == [
        None, "pod", "x", None, None,
    ]  # fmt: skip
    assert list(other.times_ns) == list(workload.times_ns)
    assert other.is_from_frame
    assert not other.has_default_names


@pytest.mark.parametrize(
    ("priority", "field", "value"),
    [
        (5, "priority", 5), (5.0, "priority", 5), ("5", "priority", 5), ("-5", "priority", -5),
        ("+5", "priority", 5), (0, "priority", 0), (2**31 - 1, "priority", 2**31 - 1),
        ("high", "priorityClassName", "high"), ("5a", "priorityClassName", "5a"),
        ("1.5", "priorityClassName", "1.5"), (None, "", None),
    ],
)  # fmt: skip
def test_a_priority_is_a_whole_number_or_the_name_of_a_class(priority, field, value):
    workload = pw.Workload.from_frame({"t": ["0s"], "p": [priority]}, arrival="t", priority="p")
    spec = dict(workload[0]["apply"]["spec"])
    assert spec.pop("restartPolicy") == "Never"
    assert spec.pop("containers") == [{"name": "main", "image": "main"}]
    assert spec == ({field: value} if field else {})


@pytest.mark.parametrize("priority", [1.5, -(2**31) - 1, timedelta(1), True])
def test_other_priorities_are_errors(priority):
    frame = {"t": ["0s"], "p": [priority]}
    with pytest.raises(InputError, match=r"^p\[0\]: Invalid value: "):
        pw.Workload.from_frame(frame, arrival="t", priority="p")


@pytest.mark.parametrize(
    ("resource", "has_limit"),
    [("cpu", False), ("memory", False), ("ephemeral-storage", True), ("a.b/gpu", True)],
)
def test_what_is_not_overcommitted_has_a_limit_too(resource, has_limit):
    workload = pw.Workload.from_frame(
        {"t": ["0s"], "r": ["2k"]}, arrival="t", cpu=None, resources={resource: "r"}
    )
    (container,) = workload[0]["apply"]["spec"]["containers"]
    limits = {"limits": {resource: "2k"}} if has_limit else {}
    assert container["resources"] == {"requests": {resource: "2k"}, **limits}


# ----------------------------------------------------------------------------------- nodes

HOST = "kubernetes.io/hostname"


def nodes_of(frame: dict[str, Any], **columns: Any) -> list[tuple[str, dict[str, Any]]]:
    return [
        (node.name, dict(node.status.allocatable)) for node in pw.nodes_from_frame(frame, **columns)
    ]


@pytest.mark.parametrize(
    ("frame", "columns", "expected"),
    [
        pytest.param({"c": [2]}, {"cpu": "c"}, [("node-0", {"pods": "110", "cpu": "2"})], id="cpu"),
        pytest.param(
            {"c": [2], "p": [30]}, {"cpu": "c", "pods": "p"},
            [("node-0", {"pods": "30", "cpu": "2"})], id="pods",
        ),
        pytest.param(
            {"n": ["a", "b"]}, {"name": "n"},
            [("a", {"pods": "110"}), ("b", {"pods": "110"})], id="names alone",
        ),
        pytest.param(
            {"n": ["a", "b"]}, {"name": "n", "prefix": "x"},
            [("x-a", {"pods": "110"}), ("x-b", {"pods": "110"})], id="names behind a prefix",
        ),
        pytest.param(
            {"r": [2, 0, None]}, {"replicas": "r"},
            [("node-0-0", {"pods": "110"}), ("node-0-1", {"pods": "110"}),
             ("node-2-0", {"pods": "110"})], id="copies",
        ),
        pytest.param(
            {"r": [1]}, {"replicas": "r", "prefix": "x"}, [("x-0-0", {"pods": "110"})],
            id="copies behind a prefix",
        ),
        pytest.param(
            {"g": [None, 8]}, {"resources": {"a.b/gpu": "g"}},
            [("node-0", {"pods": "110"}), ("node-1", {"pods": "110", "a.b/gpu": "8"})],
            id="devices of some",
        ),
        pytest.param({"c": []}, {"cpu": "c"}, [], id="no rows"),
    ],
)  # fmt: skip
def test_the_nodes_of_a_table(frame, columns, expected):
    assert nodes_of(frame, **columns) == expected


def test_the_labels_of_a_node_have_its_name_unless_they_are_given():
    frame = {"n": ["A", "b"], "z": ["x", None], "h": [None, "host"]}
    first, second = pw.nodes_from_frame(frame, name="n", labels={"zone": "z", HOST: "h"})
    assert first.metadata.labels == {HOST: "a", "zone": "x"}
    assert first.metadata.annotations == {"podwright.dev/original-name": "A"}
    assert second.metadata.labels == {HOST: "host"}
    assert second.metadata.annotations == {}
    assert first.status.capacity == first.status.allocatable


@pytest.mark.parametrize(
    ("columns", "error"),
    [
        ({"cpu": "x"}, "x: no such column"),
        ({}, "frame: no column is read; name at least one, such as cpu= or name="),
        ({"replicas": "r"}, 'r[1]: Invalid value: "-1": must be a whole number of 0 or more'),
        ({"name": "n"}, 'n[1]: Duplicate value: "a": also in n[0]'),
        ({"cpu": "c"}, 'c[1]: Invalid value: "much": must be a quantity of 0 or more, such as'
         " 2, 500m or 1Gi"),
        ({"memory": "r"}, 'r[0]: 1 has no unit; give that of the column, such as unit={"memory":'
         ' "GiB"}'),
        ({"labels": {"a b": "n"}}, "labels['a b']: Invalid value: \"a b\": "),
    ],
)  # fmt: skip
def test_a_table_of_nodes_that_is_wrong_says_where(columns, error):
    frame = {"n": ["a", "a"], "r": [1, -1], "c": [1, "much"]}
    with pytest.raises(InputError) as raised:
        pw.nodes_from_frame(frame, **columns)
    assert str(raised.value.errors[0]).startswith(error)
