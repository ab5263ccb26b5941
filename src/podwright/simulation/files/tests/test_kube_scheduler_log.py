import json
from typing import Any

import pytest

from podwright.apimachinery.objects import InputError, timestamp_ns
from podwright.simulation.files.scheduler_log import (
    _value,
    is_json_line,
    load_scheduler_log,
    read_scheduler_log,
)


@pytest.mark.parametrize(
    ("value", "is_line"),
    [
        ({"ts": 1, "msg": "a"}, True),
        ({"ts": 1}, False),
        ({"msg": 5}, False),
        ({"msg": "a", "what": "bound"}, False),
        (["msg"], False),
    ],
)
def test_a_line_of_the_json_format_has_a_message(value: object, is_line: bool) -> None:
    assert is_json_line(value) is is_line


@pytest.mark.parametrize(
    ("written", "value"),
    [
        (b'"a \\"b\\""', 'a "b"'),
        (b"12", 12),
        (b"n1", "n1"),
        (b"1.5s", "1.5s"),
        (b"<\n\ttwo\n\tlines\n >", "two\nlines"),
    ],
)
def test_a_value_of_a_text_line_is_a_text_or_a_number(written: bytes, value: object) -> None:
    assert _value(written) == value


NEAR_NS = timestamp_ns("2026-03-02T10:00:00Z") or 0

TEXT = """\
Usage of a flag that is deprecated
I0302 10:00:01.000002   20317 eventhandlers.go:214] "Add event for unscheduled pod" pod="a/p"
I0302 10:00:01.001000   20317 schedule_one.go:123] "Attempting to schedule pod" pod="a/p"
I0302 10:00:01.002000   20317 preemption.go:162] \
"the target node for the preemption is determined" logger="PostFilter.DefaultPreemption" \
pod="a/p" node="n1"
I0302 10:00:01.003000   20317 schedule_one.go:1239] "Unable to schedule pod; no fit; waiting" \
pod="a/p" err="0/2 nodes are available: persistentvolumeclaim \\"c\\" not found."
I0302 10:00:01.004000   20317 schedule_one.go:1325] \
"Updating pod condition and nominated node name" pod="a/p" conditionType="PodScheduled" \
conditionStatus="False" conditionReason="Unschedulable" \
nominatedNodeName="n1" nominatingMode=1
I0302 10:00:01.005000   20317 executor.go:152] "Preemptor Pod preempted victim Pod" \
preemptor="a/p" victim="a/q" node="n1"
I0302 10:00:02.000000   20317 schedule_one.go:123] "Attempting to schedule pod" pod="a/p"
I0302 10:00:02.001000   20317 schedule_one.go:481] "Successfully bound pod to node" pod="a/p" \
node="n1" evaluatedNodes=2 feasibleNodes=1
I0302 10:00:02.002000   20317 eventhandlers.go:374] "Add event for scheduled pod" pod="a/p"
I0302 10:00:02.003000   20317 eventhandlers.go:443] "Delete event for scheduled pod" pod="a/q"
W0302 10:00:03.000000   20317 warnings.go:70] a line without a message
"""

EXPECTED = [
    ("queue", "a/p", ""),
    ("attempt", "a/p", ""),
    ("preempt", "a/p", "n1"),
    ("unschedulable", "a/p", ""),
    ("condition", "a/p", "n1"),
    ("victim", "a/p", "n1"),
    ("attempt", "a/p", ""),
    ("bound", "a/p", "n1"),
    ("observed", "a/p", ""),
    ("observed", "a/q", ""),
]


def read(text, near_ns=NEAR_NS):
    return read_scheduler_log(text.encode(), source="s", near_ns=near_ns)


def test_the_text_of_kube_scheduler_is_a_log():
    lines = read(TEXT).lines
    assert [(one.what, one.pod, one.node) for one in lines] == EXPECTED
    assert lines[0].event == "UnschedulablePodAdd"
    assert lines[0].time_ns == timestamp_ns("2026-03-02T10:00:01.000002Z")
    assert lines[3].message == '0/2 nodes are available: persistentvolumeclaim "c" not found.'
    assert (lines[4].is_nominating, lines[4].is_failure) == (True, True)
    assert lines[5].victim == "a/q"
    assert (lines[7].line, lines[7].evaluated_count, lines[7].feasible_count) == (9, 2, 1)
    assert [one.event for one in lines[8:]] == ["AssignedPodAdd", "AssignedPodDelete"]


def test_the_json_of_kube_scheduler_is_a_log():
    p = {"name": "p", "namespace": "a"}
    values: list[dict[str, Any]] = [
        {"msg": "Add event for unscheduled pod", "pod": p},
        {"msg": "Attempting to schedule pod", "pod": p},
        {"msg": "Preemptor rejected a pod in preBind", "preemptor": p, "node": "n1",
         "podInPreBind": {"name": "q", "namespace": "a"}},
        {"msg": "Successfully bound pod to node", "pod": p, "node": "n1", "evaluatedNodes": 2},
        {"msg": "Another message", "pod": 3},
    ]  # fmt: skip
    text = "".join(json.dumps({"ts": 1772445601000.5, **one}) + "\n" for one in values)
    lines = read("Flag --x has been deprecated\n" + text).lines
    assert [(one.what, one.pod, one.node, one.victim) for one in lines] == [
        ("queue", "a/p", "", ""),
        ("attempt", "a/p", "", ""),
        ("victim", "a/p", "n1", "a/q"),
        ("bound", "a/p", "n1", ""),
    ]
    assert lines[0].time_ns == timestamp_ns("2026-03-02T10:00:01.0005Z")


def test_a_value_of_several_lines_is_read_whole():
    text = (
        'I0302 10:00:01.000000 1 schedule_one.go:123] "Attempting to schedule pod" pod="a/p"\n'
        'I0302 10:00:01.000000 1 schedule_one.go:1239] "Unable to schedule pod; no fit; waiting" '
        'pod="a/p" err=<\n\tfirst\n\tsecond\n >\n'
    )
    assert read(text).lines[1].message == "first\nsecond"


@pytest.mark.parametrize(
    ("near", "date", "expected"),
    [
        pytest.param("2026-01-01T00:00:01Z", "1231", "2025-12-31", id="before the new year"),
        pytest.param("2025-12-31T23:59:59Z", "0101", "2026-01-01", id="after the new year"),
        pytest.param("2026-03-01T00:00:00Z", "0301", "2026-03-01", id="same year"),
        pytest.param("2024-03-01T00:00:00Z", "0229", "2024-02-29", id="leap year"),
    ],
)
def test_the_year_of_a_line_is_that_nearest_to_the_record(near, date, expected):
    text = f'I{date} 10:00:00.000000 1 a.go:1] "Attempting to schedule pod" pod="a/p"\n'
    near_ns = timestamp_ns(near)
    assert near_ns is not None
    (line,) = read(text, near_ns).lines
    assert line.time_ns == timestamp_ns(f"{expected}T10:00:00Z")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        pytest.param(
            'I1331 10:00:00.000000 1 a.go:1] "Attempting to schedule pod" pod="a/p"',
            "s: line 1: not a line of a log: the date at its start is invalid",
            id="month 13",
        ),
        pytest.param(
            '{"msg": "Attempting to schedule pod", "pod": {"name": "p", "namespace": "a"}}',
            "ts: must be a number of milliseconds since 1970",
            id="no time",
        ),
        pytest.param(
            'I0302 10:00:00.000000 1 a.go:1] "Successfully bound pod to node" pod="a/p"',
            "s: line 1: node: Required value",
            id="no node",
        ),
        pytest.param(
            'I0302 10:00:00.000000 1 a.go:1] "Successfully bound pod to node" pod="a/p" node="n"',
            "with -v=3 or more",
            id="too quiet",
        ),
    ],
)
def test_wrong_lines_are_reported(line, message):
    with pytest.raises(InputError) as caught:
        read(line + "\n")
    assert message in str(caught.value)


def read_one(fields: str, message: str = "Attempting to schedule pod") -> dict[str, Any]:
    """Return what a line of text says beyond its number and its time, without empty fields."""
    head = "I0302 10:00:01.000002   20317 schedule_one.go:123] "
    attempt = f'{head}"Attempting to schedule pod" pod="x/x"\n'
    *_, line = read(f'{attempt}{head}"{message}"{fields}\n').lines
    values = {name: getattr(line, name) for name in line.__struct_fields__}
    assert (values.pop("line"), values.pop("time_ns")) == (2, NEAR_NS + 1_000_002_000)
    return {name: value for name, value in values.items() if value}


@pytest.mark.parametrize(
    ("message", "fields", "expected"),
    [
        (
            "Add event for unscheduled pod",
            'pod="a/p"',
            {"what": "queue", "event": "UnschedulablePodAdd"},
        ),
        (
            "Add event for scheduled pod",
            'pod="a/p"',
            {"what": "observed", "event": "AssignedPodAdd"},
        ),
        (
            "Delete event for scheduled pod",
            'pod="a/p"',
            {"what": "observed", "event": "AssignedPodDelete"},
        ),
        ("Attempting to schedule pod", 'pod="a/p" node="n"', {"what": "attempt"}),
        (
            "Successfully bound pod to node",
            'pod="a/p" node="n1" evaluatedNodes=12 feasibleNodes=7',
            {"what": "bound", "node": "n1", "evaluated_count": 12, "feasible_count": 7},
        ),
        (
            "Unable to schedule pod; no fit; waiting",
            'pod="a/p" err="0/1 \\"x\\""',
            {"what": "unschedulable", "message": '0/1 "x"'},
        ),
        (
            "Unable to schedule pod belonging to a pod group; waiting",
            'podGroup="g" pod="a/p" err="no"',
            {"what": "unschedulable", "message": "no"},
        ),
        (
            "Unable to schedule pod; no nodes are registered to the cluster; waiting",
            'pod="a/p"',
            {"what": "unschedulable", "message": "no nodes available to schedule pods"},
        ),
        (
            "the target node for the preemption is determined",
            'pod="a/p" node="n1"',
            {"what": "preempt", "node": "n1"},
        ),
        (
            "Preemptor Pod preempted victim Pod",
            'preemptor="a/p" victim="a/q" node="n1"',
            {"what": "victim", "victim": "a/q", "node": "n1"},
        ),
        (
            "Victim Pod is already deleted",
            'preemptor="a/p" victim="a/q" node="n1"',
            {"what": "victim", "victim": "a/q", "node": "n1"},
        ),
        (
            "Preemptor preempted a waiting pod",
            'preemptor="a/p" waitingPod="a/q" node="n1"',
            {"what": "victim", "victim": "a/q", "node": "n1"},
        ),
        (
            "Preemptor rejected a pod in preBind",
            'preemptor="a/p" podInPreBind="a/q" node="n1"',
            {"what": "victim", "victim": "a/q", "node": "n1"},
        ),
        (
            "Updating pod condition and nominated node name",
            'pod="a/p" conditionType="PodScheduled" conditionStatus="False" nominatedNodeName="n1"'
            " nominatingMode=1",
            {"what": "condition", "node": "n1", "is_nominating": True, "is_failure": True},
        ),
        (
            "Updating pod condition and nominated node name",
            'pod="a/p" conditionType="PodScheduled" conditionStatus="True" nominatedNodeName=""'
            " nominatingMode=0",
            {"what": "condition"},
        ),
        (
            "Updating pod condition and nominated node name",
            'pod="a/p" conditionType="Ready" conditionStatus="False" nominatingMode=2',
            {"what": "condition"},
        ),
    ],
)
def test_each_message_of_kube_scheduler_that_is_read(message, fields, expected):
    assert read_one(f" {fields}", message) == {"pod": "a/p"} | expected


def test_other_messages_and_lines_without_one_are_ignored():
    attempt = TEXT.splitlines()[2]
    others = [
        'I0302 10:00:01.000000 1 a.go:1] "Starting" pod="a/p"',
        'I0302 10:00:01.000000 1 a.go:1] Attempting to schedule pod="a/p"',
        '{"ts": 1, "msg": "Starting"}',
        "  a trace of goroutines",
        "",
    ]
    lines = read("\n".join([*others, attempt, *others]) + "\n").lines
    assert [(one.line, one.what) for one in lines] == [(6, "attempt")]


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        ({"name": "p", "namespace": "a"}, "a/p"),
        ({"name": "p", "namespace": ""}, "p"),
        ({"name": "p"}, "p"),
        ("a/p", "a/p"),
    ],
)
def test_the_reference_of_an_object_is_its_name_with_its_namespace(pod, expected):
    value = {"ts": 1772445601000.5, "msg": "Attempting to schedule pod", "pod": pod}
    (line,) = read(json.dumps(value) + "\n").lines
    assert (line.what, line.pod, line.time_ns) == ("attempt", expected, NEAR_NS + 1_000_500_000)


@pytest.mark.parametrize(
    ("near", "date", "expected"),
    [
        ("2025-03-01T00:00:00Z", "0229", "2024-02-29"),
        ("2023-12-01T00:00:00Z", "0229", "2024-02-29"),
        ("2026-03-01T00:00:00Z", "0229", None),
        ("2027-01-01T00:00:00Z", "0229", "2028-02-29"),
        ("2026-12-31T23:59:59Z", "0229", None),
        ("2026-07-02T11:00:00Z", "0101", "2026-01-01"),
        ("2026-07-02T13:00:00Z", "0101", "2027-01-01"),
    ],
)
def test_a_date_is_of_the_nearest_year_that_has_it(near, date, expected):
    text = f'I{date} 00:00:00.000000 1 a.go:1] "Attempting to schedule pod" pod="a/p"\n'
    near_ns = timestamp_ns(near) or 0
    if expected is None:
        with pytest.raises(InputError, match="the date at its start is invalid"):
            read(text, near_ns)
        return
    (line,) = read(text, near_ns).lines
    assert line.time_ns == timestamp_ns(f"{expected}T00:00:00Z")


def test_without_a_record_a_date_is_one_nearest_to_1970(tmp_path):
    # Both years are equally near to the start of 1970; the earlier one is chosen.
    text = 'I0702 12:00:00.000000 1 a.go:1] "Attempting to schedule pod" pod="a/p"\n'
    path = tmp_path / "scheduler.log"
    path.write_text(text)
    for log in (read_scheduler_log(text.encode(), source="s"), load_scheduler_log(path)):
        assert [line.time_ns for line in log.lines] == [timestamp_ns("1969-07-02T12:00:00Z")]


def test_a_log_that_is_loaded_is_of_the_year_of_its_record(tmp_path):
    path = tmp_path / "scheduler.log"
    path.write_text('I0302 10:00:00.000000 1 a.go:1] "Attempting to schedule pod" pod="a/p"\n')
    log = load_scheduler_log(path, near_ns=timestamp_ns("2019-03-02T10:00:00Z") or 0)
    assert log.source == str(path)
    assert [line.time_ns for line in log.lines] == [timestamp_ns("2019-03-02T10:00:00Z")]
