import json
from typing import Any

import pytest

from podwright.apimachinery.objects import InputError, timestamp_ns
from podwright.simulation.files.scheduler_log import read_scheduler_log

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
            "ts: a number of milliseconds since 1970 is expected",
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
