import gzip
import json

import pytest

from podwright.apimachinery.objects import InputError
from podwright.simulation.files.scheduler_log import load_scheduler_log, read_scheduler_log

TIME = "2026-03-02T10:11:12.5Z"


def line(what, **fields):
    return json.dumps({"time": TIME, "what": what} | fields)


def lines(*texts, end="\n"):
    return ("\n".join(texts) + end).encode()


def test_lines_are_read_in_order_and_unknown_ones_are_ignored():
    log = read_scheduler_log(
        lines(
            line("queue", pod="a/p", event="UnschedulablePodAdd", queue="Active"),
            line("attempt", pod="a/p"),
            line("weather", is_fine=True),
            line("bound", pod="a/p", node="n1", evaluatedNodes=120, feasibleNodes=100),
            line("victim", preemptor="a/q", victim="a/p", node="n1"),
            line("condition", pod="a/q", nominatedNodeName="n1", nominatingMode=1),
            line("condition", pod="a/q"),
            line("unschedulable", pod="a/q", err="0/1 nodes are available"),
        ),
        source="s",
    )
    assert [(one.line, one.what, one.pod, one.node) for one in log.lines] == [
        (1, "queue", "a/p", ""),
        (2, "attempt", "a/p", ""),
        (4, "bound", "a/p", "n1"),
        (5, "victim", "a/q", "n1"),
        (6, "condition", "a/q", "n1"),
        (7, "condition", "a/q", ""),
        (8, "unschedulable", "a/q", ""),
    ]
    assert [one.evaluated_count for one in log.lines] == [0, 0, 120, 0, 0, 0, 0]
    assert [one.feasible_count for one in log.lines] == [0, 0, 100, 0, 0, 0, 0]
    assert log.lines[3].victim == "a/p"
    assert all(isinstance(each.event, str) for each in log.lines)
    assert [one.is_nominating for one in log.lines[4:6]] == [True, False]
    assert log.lines[6].message == "0/1 nodes are available"


def test_lines_of_spaces_are_no_lines_of_a_log():
    attempts = [line("attempt", pod=pod) for pod in ("a/p", "a/q")]
    log = read_scheduler_log(lines("  ", attempts[0], " \t", attempts[1], " "), source="s")
    assert [(one.line, one.pod) for one in log.lines] == [(2, "a/p"), (4, "a/q")]


def test_a_log_may_be_compressed_and_its_last_line_truncated(tmp_path):
    path = tmp_path / "s.jsonl.gz"
    path.write_bytes(gzip.compress(lines(line("attempt", pod="a/p"), '{"time":', end="")))
    assert [one.what for one in load_scheduler_log(path).lines] == ["attempt"]


def test_all_errors_are_reported_with_line_and_path():
    with pytest.raises(InputError) as caught:
        read_scheduler_log(
            lines(
                "{",
                '"7"',
                json.dumps({"what": "attempt"}),
                line("bound", pod="a/p", evaluatedNodes="many"),
                json.dumps({"time": "noon", "what": "attempt", "pod": ["a/p"]}),
            ),
            source="s",
        )
    said = [str(error) for error in caught.value.errors]
    assert said[0].startswith("s: line 1: not JSON")
    assert said[1:] == [
        's: line 2: must be an object, not "7"',
        "s: line 3: time: Required value",
        "s: line 3: pod: Required value",
        "s: line 4: node: Required value",
        's: line 4: evaluatedNodes: Invalid value: "many": must be an integer',
        's: line 5: pod: Invalid value: ["a/p"]: must be a string',
        's: line 5: time: Invalid value: "noon": must be a time, such as 2026-03-02T10:11:12.5Z',
    ]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        pytest.param(lines(line("queue", pod="a/p")), "no attempts in this file", id="no attempts"),
        pytest.param(b"", "no attempts in this file", id="an empty file"),
        pytest.param(lines(line("weather")), "no attempts in this file", id="other lines only"),
        pytest.param(
            b"kind: Node\nmetadata:\n  name: n\n",
            "^s: not the log of a scheduler; its first line: not JSON: ",
            id="a manifest",
        ),
        pytest.param(
            b'{"a": 1\n[1\n"x\n',
            "first line: not JSON: Input data was truncated$",
            id="cut lines",
        ),
        pytest.param(b"tru\n[1,,\n", "first line: not JSON: .*truncated$", id="another first line"),
        pytest.param(gzip.compress(b"x" * 999)[:-9], "cannot be unpacked", id="half an archive"),
    ],
)
def test_a_file_that_is_not_a_log_is_rejected(data, message):
    with pytest.raises(InputError, match=message):
        read_scheduler_log(data, source="s")


def test_a_missing_log_is_reported(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        load_scheduler_log(tmp_path / "none.jsonl")


@pytest.mark.parametrize(
    ("fields", "messages"),
    [
        pytest.param({"what": "unknown"}, [], id="a line of another kind needs no pod"),
        pytest.param({"what": "unknown", "pod": 3}, ["pod: Invalid value: 3: must be a string"],
                     id="but its fields have their types"),
        pytest.param({"what": ""}, ["what: Required value"], id="no kind"),
        pytest.param({"what": 3, "pod": "a/p"}, ["what: Invalid value: 3: must be a string"],
                     id="a kind that is a number"),
        pytest.param({"what": "attempt", "pod": ""}, ["pod: Required value"], id="no pod"),
        pytest.param({"what": "bound", "pod": "a/p", "node": ""}, ["node: Required value"],
                     id="no node"),
        pytest.param({"what": "preempt", "pod": "a/p"}, ["node: Required value"],
                     id="no target node"),
        pytest.param(
            {"what": "victim", "pod": "a/p"},
            ["preemptor: Required value", "victim: Required value", "node: Required value"],
            id="a victim has its preemptor and node",
        ),
        pytest.param(
            {"what": "attempt", "pod": "a/p", "nominatingMode": True, "feasibleNodes": 1.5},
            ["feasibleNodes: Invalid value: 1.5: must be an integer",
             "nominatingMode: Invalid value: true: must be an integer"],
            id="whole numbers",
        ),
        pytest.param({"what": "attempt", "pod": "a/p", "err": None, "evaluatedNodes": None}, [],
                     id="null is not a value"),
        pytest.param({"what": "attempt", "pod": "a/p", "time": 5},
                     ["time: Invalid value: 5: must be a string"], id="a number as a time"),
        pytest.param({"what": "attempt", "pod": "a/p", "time": "5"},
                     ['time: Invalid value: "5": must be a time, such as'
                      " 2026-03-02T10:11:12.5Z"], id="a number in place of a time"),
        pytest.param({"what": "attempt", "pod": "a/p", "time": ""}, ["time: Required value"],
                     id="no time"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_line_is_reported_field_by_field(fields, messages):
    texts = lines(line("attempt", pod="a/q"), json.dumps({"time": TIME} | fields))
    if not messages:
        assert read_scheduler_log(texts, source="s").lines[0].line == 1
        return
    with pytest.raises(InputError) as caught:
        read_scheduler_log(texts, source="s")
    assert [f"{each.path}: {each.message}" for each in caught.value.errors] == messages
    assert {each.source for each in caught.value.errors} == {"s: line 2"}
    given = {"time": TIME} | fields
    assert [each.value for each in caught.value.errors] == [
        given.get(each.path) for each in caught.value.errors
    ]


def test_errors_have_the_order_of_the_lines():
    texts = ["x", line("attempt"), "y", "7", line("attempt", pod="a/p")] + ["z"] * 7
    with pytest.raises(InputError) as caught:
        read_scheduler_log(lines(*texts), source="s")
    numbers = [int(each.source.rpartition(" ")[2]) for each in caught.value.errors]
    assert numbers == [1, 2, 3, 4, *range(6, 13)]


def test_a_failed_condition_is_one_that_pods_are_not_scheduled():
    given = [
        {"conditionType": "PodScheduled", "conditionStatus": "False", "nominatingMode": 0},
        {"conditionType": "PodScheduled", "conditionStatus": "True", "nominatingMode": 1},
        {"conditionType": "Ready", "conditionStatus": "False", "nominatingMode": 2},
    ]
    texts = [line("condition", pod="a/p", **each) for each in given]
    log = read_scheduler_log(lines(line("attempt", pod="a/p"), *texts), source="s")
    found = [(one.is_failure, one.is_nominating) for one in log.lines[1:]]
    assert found == [(True, False), (False, True), (False, False)]


def test_lines_that_begin_with_a_tab_are_joined_to_lines_of_text_only():
    texts = [line("attempt", pod="a/p"), "\t" + line("attempt", pod="a/q"), "  "]
    log = read_scheduler_log(lines(*texts), source="s")
    assert [(one.line, one.pod) for one in log.lines] == [(1, "a/p"), (2, "a/q")]
