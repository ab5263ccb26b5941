import gzip
import json
from typing import Any

import pytest

from podwright.apimachinery.objects import InputError, Node, Pod, with_node_name
from podwright.apimachinery.schema import decode
from podwright.cluster.store import FreshChange
from podwright.simulation.files.manifests import load_bytes
from podwright.simulation.files.object_reader import ObjectReader
from podwright.simulation.files.record import (
    Record,
    RecordReader,
    added_line,
    change_line,
    change_lines,
    file_lines,
    is_recorded,
    load_record,
    numbered_lines,
    read_record,
)

NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p", "namespace": "a"},
    "spec": {"containers": [{"name": "c"}]},
}
NAME_ONLY: dict[str, Any] = {
    "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "a"},
}  # fmt: skip


def line(event, resource, time="2026-03-02T10:11:12Z"):
    return json.dumps({"time": time, "event": event, "resource": resource})


def record(*lines, end="\n"):
    return ("\n".join(lines) + end).encode()


def with_node(pod, node):
    return pod | {"spec": pod["spec"] | {"nodeName": node}}


def errors_of(*lines):
    with pytest.raises(InputError) as caught:
        read_record(record(*lines), source="r.jsonl")
    return [str(error) for error in caught.value.errors]


def test_lines_are_changes_with_the_previous_object():
    read = read_record(
        record(line("Add", NODE), line("Add", POD), line("Update", with_node(POD, "n1"))),
        source="r",
    )
    assert [(one.line, one.event, one.object.key) for one in read.lines] == [
        (1, "Add", "n1"),
        (2, "Add", "a/p"),
        (3, "Update", "a/p"),
    ]
    assert isinstance(read.lines[0].object, Node)
    before, after = read.lines[2].old, read.lines[2].object
    assert isinstance(before, Pod)
    assert isinstance(after, Pod)
    assert (before.spec.node_name, after.spec.node_name) == ("", "n1")


def test_a_record_may_be_compressed_and_have_empty_lines(tmp_path):
    path = tmp_path / "r.jsonl.gz"
    path.write_bytes(gzip.compress(record(line("Add", NODE), "", line("Add", POD))))
    read = load_record(path)
    assert [one.line for one in read.lines] == [1, 3]
    assert read.source == str(path)


def test_a_deletion_by_name_has_the_last_state_of_the_object():
    read = read_record(record(line("Add", POD), line("Delete", NAME_ONLY)), source="r")
    assert read.lines[1].object == read.lines[0].object


def test_an_update_without_more_than_a_name_is_an_object_without_more():
    cordoned = NODE | {"spec": {"unschedulable": True}}
    read = read_record(record(line("Add", cordoned), line("Update", NODE)), source="r")
    before, after = read.lines[1].old, read.lines[1].object
    assert isinstance(before, Node)
    assert isinstance(after, Node)
    assert (before.spec.unschedulable, after.spec.unschedulable) == (True, False)


def test_an_object_that_is_added_after_its_deletion_is_new():
    read = read_record(record(line("Add", POD), line("Delete", POD), line("Add", POD)), source="r")
    assert read.lines[2].old is None
    assert errors_of(line("Add", POD), line("Delete", POD), line("Update", POD)) == [
        "r.jsonl: line 3: resource.metadata.name: Update of Pod a/p, which does not exist: no "
        "earlier line adds it"
    ]


def test_a_record_without_a_file_has_no_steps_back():
    empty = Record(source="r")
    assert (empty.steps_back, empty.largest_step_back_ns, empty.unterminated_line) == (0, 0, 0)


def test_a_namespace_that_is_no_text_is_an_error():
    numbered = POD | {"metadata": {"name": "p", "namespace": 7}}
    assert errors_of(line("Add", numbered)) == [
        "r.jsonl: line 1: resource.metadata.namespace: Invalid value: 7: must be a string"
    ]


def test_a_deletion_with_the_whole_object_has_that_object():
    last = with_node(POD, "n1")
    read = read_record(record(line("Add", POD), line("Delete", last)), source="r")
    deleted = read.lines[1].object
    assert isinstance(deleted, Pod)
    assert deleted.spec.node_name == "n1"


def test_a_pod_without_a_namespace_is_in_default():
    bare = POD | {"metadata": {"name": "p"}}
    named = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "default"}}
    read = read_record(record(line("Add", bare), line("Delete", named)), source="r")
    assert [one.object.key for one in read.lines] == ["default/p", "default/p"]


@pytest.mark.parametrize("rest", [line("Add", POD), line("Add", POD)[:40]], ids=["whole", "half"])
def test_a_last_line_without_a_line_feed_is_skipped_and_reported(rest):
    read = read_record(record(line("Add", NODE), rest, end=""), source="r")
    assert len(read.lines) == 1
    assert read.unterminated_line == 2


def test_a_small_step_back_in_time_is_tolerated_and_counted():
    times = ["2026-03-02T10:11:12.5Z", "2026-03-02T10:11:12.3Z", "2026-03-02T12:11:12.6+02:00"]
    resources = [NODE, POD, POD | {"metadata": {"name": "q"}}]
    lines = [line("Add", one, time) for one, time in zip(resources, times, strict=True)]
    read = read_record(record(*lines), source="r")
    start = read.lines[0].time_ns
    assert [one.time_ns - start for one in read.lines] == [0, 0, 100_000_000]
    assert [one.seen_ns - start for one in read.lines] == [0, -200_000_000, 100_000_000]
    assert (read.steps_back, read.largest_step_back_ns) == (1, 200_000_000)


def test_all_errors_are_reported_with_line_and_path():
    bad_pod = POD | {"spec": {"containers": [{"name": 7}], "priority": "high"}}
    errors = errors_of(
        line("Add", NODE),
        "{not json",
        '["a list"]',
        json.dumps({"event": "Added", "resource": []}),
        line("Add", POD, "yesterday"),
        line("Add", bad_pod),
        line("Add", {"kind": "Pod", "metadata": {}}),
        line("Add", NODE, "2026-03-02T10:11:10.9Z"),
        line("Update", POD | {"metadata": {"name": "ghost"}}),
        line("Delete", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n2"}}),
    )
    assert errors == [
        "r.jsonl: line 2: not JSON: JSON is malformed: object keys must be strings (byte 1)",
        'r.jsonl: line 3: must be an object, not ["a list"]',
        "r.jsonl: line 4: time: Required value",
        'r.jsonl: line 4: event: Unsupported value: "Added": supported values: "Add", "Delete", '
        '"Update"; did you mean "Add"?',
        "r.jsonl: line 4: resource: Invalid value: []: must be an object",
        'r.jsonl: line 5: time: Invalid value: "yesterday": must be a time, such as '
        "2026-03-02T10:11:12.5Z",
        "r.jsonl: line 6: resource.spec.containers[0].name: Invalid value: 7: must be a string"
        "; put it in quotes",
        'r.jsonl: line 6: resource.spec.priority: Invalid value: "high": must be an integer',
        "r.jsonl: line 7: resource.apiVersion: Required value",
        "r.jsonl: line 7: resource.metadata.name: Required value",
        'r.jsonl: line 8: time: Invalid value: "2026-03-02T10:11:10.9Z": 1.100 s before an '
        "earlier line; changes must be in the order in which they happened (up to 1 s is "
        "tolerated)",
        "r.jsonl: line 9: resource.metadata.name: Update of Pod default/ghost, which does "
        "not exist: no earlier line adds it",
        "r.jsonl: line 10: resource.metadata.name: Delete of Node n2, which does not exist: "
        "no earlier line adds it",
    ]


def test_an_invalid_object_is_reported_once():
    bad = POD | {"spec": {"containers": 7}}
    errors = errors_of(line("Add", bad), line("Update", POD), line("Delete", NAME_ONLY))
    assert errors == ["r.jsonl: line 1: resource.spec.containers: Invalid value: 7: must be a list"]


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param([("Add", POD, "yesterday"), ("Update", POD)], id="added"),
        pytest.param([("Add", POD), ("Delete", POD, ""), ("Add", POD)], id="deleted"),
        pytest.param(
            [("Add", POD), ("Add", NODE, "2026-03-02T10:11:10Z"), ("Delete", NODE)],
            id="added too early",
        ),
    ],
)
def test_an_object_whose_time_alone_is_wrong_exists_for_the_lines_that_follow(lines):
    reader = RecordReader("r.jsonl")
    read = [reader.take(n, line(*each).encode()) for n, each in enumerate(lines, start=1)]
    assert [one is not None for one in read] == [each[2:] == () for each in lines]
    assert [error.path for error in reader.errors] == ["time"]


def test_an_object_stays_as_it_was_if_a_change_of_it_cannot_be_read():
    term = {"matchExpressions": [{"key": "zone", "operator": "Is"}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    broken = POD | {"spec": {"containers": [{"name": "c"}], "affinity": {"nodeAffinity": required}}}
    changes = [("Add", POD), ("Update", broken), ("Update", with_node(POD, "n1"))]
    reader = RecordReader("r")
    first, none, last = [
        reader.take(number, line(*change).encode()) for number, change in enumerate(changes, 1)
    ]
    assert first is not None
    assert none is None
    assert last is not None
    assert last.old is first.object
    assert ["line 2: resource.spec.affinity" in str(error) for error in reader.errors] == [True]
    # One that was never read does not exist, which is no further error.
    reader = RecordReader("r")
    assert reader.take(1, line("Add", broken).encode()) is None
    assert reader.take(2, line("Update", POD).encode()) is None
    assert len(reader.errors) == 1


@pytest.mark.parametrize(
    "written",
    [
        pytest.param(line("Add", {"kind": "Pod"}), id="no key"),
        pytest.param(line("Update", POD), id="an object that does not exist"),
        pytest.param("{not json", id="no JSON"),
    ],
)
def test_a_line_whose_errors_leave_no_object_is_no_change(written):
    reader = RecordReader("r.jsonl")
    assert reader.take(1, written.encode()) is None
    assert reader.errors


@pytest.mark.parametrize(
    ("data", "message"),
    [
        pytest.param(b"", "^r: no changes in this file; a record has", id="empty"),
        pytest.param(b"\n\n", "no changes in this file", id="only empty lines"),
        pytest.param(gzip.compress(b"x" * 999)[:-9], "cannot be unpacked", id="half an archive"),
        pytest.param(b'{"time":"\xff"}\n', "line 1: not JSON", id="not text"),
        pytest.param(b'{"a":' * 100_000 + b"\n", "line 1: nested too deeply", id="very deep"),
        pytest.param(b"\xff\xfe\0", "not UTF-16 text", id="not UTF-16 text"),
        pytest.param(
            b"apiVersion: v1\nkind: Pod\n",
            "^r: line 1: not a record, which has one JSON object per line$",
            id="a manifest",
        ),
    ],
)
def test_a_file_that_is_not_a_record_is_rejected(data, message):
    with pytest.raises(InputError, match=message):
        read_record(data, source="r")


def test_a_missing_file_is_reported(tmp_path):
    with pytest.raises(InputError, match=r"none\.jsonl: cannot be read"):
        load_record(tmp_path / "none.jsonl")


@pytest.mark.parametrize("is_packed", [False, True])
def test_reading_line_by_line_equals_reading_the_whole_file(tmp_path, is_packed):
    data = b"\xef\xbb\xbf" + record(line("Add", NODE), "", line("Add", POD), end="\n{cut")
    path = tmp_path / "r.jsonl"
    path.write_bytes(gzip.compress(data) if is_packed else data)
    assert list(file_lines(path)) == list(numbered_lines(data, source="r"))
    reader = RecordReader("r")
    for number, text, is_whole in file_lines(path):
        if is_whole and text.strip():
            assert reader.take(number, text) is not None
    assert reader.errors == []


@pytest.mark.parametrize("before", [b"", b"\n", b"\n \n"])
def test_changes_are_read_line_by_line_whatever_is_in_later_lines(tmp_path, before):
    path = tmp_path / "r.jsonl"
    path.write_bytes(before + record(line("Add", NODE)) + b"\xff\xff\n")
    found = [text for _, text, _ in change_lines(path) if text.strip()]
    assert found == [line("Add", NODE).encode(), b"\xff\xff"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(None, "cannot be read: No such file or directory", id="not there"),
        pytest.param(b"\x1f\x8bnot packed", "cannot be unpacked", id="not packed"),
        pytest.param(gzip.compress(b"a\n" * 99)[:-9], "cannot be unpacked", id="cut"),
    ],
)
def test_an_unreadable_file_is_named_when_read_line_by_line(tmp_path, content, message):
    path = tmp_path / "r.jsonl.gz"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        list(file_lines(path))


@pytest.mark.parametrize(
    ("kind", "is_written"),
    [
        (("", "Event"), False), (("events.k8s.io", "Event"), False), (("", "Secret"), False),
        (("coordination.k8s.io", "Lease"), False), (("", "ConfigMap"), False),
        (("", "Pod"), True), (("example.com", "Secret"), True),
    ],
)  # fmt: skip
def test_confidential_and_frequent_objects_are_not_recorded(kind, is_written):
    assert is_recorded(kind) is is_written


def test_a_written_line_is_read_as_the_change_that_it_was():
    metadata = {"name": "p", "namespace": "a", "managedFields": [{}], "labels": {"a": "b"}}
    pod, node = decode(POD | {"metadata": metadata}), decode(NODE)
    assert isinstance(pod, Pod)
    bound, place = with_node_name(pod, "n1"), (("", "Pod"), "a/p")
    changes = [
        FreshChange(1, *place, None, pod, pod),
        FreshChange(2, *place, pod, bound, bound),
        FreshChange(3, *place, bound, None, bound),
    ]
    lines = [added_line(node, 5 * 10**9), *(change_line(each, 6 * 10**9) for each in changes)]
    read = read_record(b"".join(lines), source="r")
    assert [(one.event, one.object.key, one.time_ns) for one in read.lines] == [
        ("Add", "n1", 5 * 10**9), ("Add", "a/p", 6 * 10**9), ("Update", "a/p", 6 * 10**9),
        ("Delete", "a/p", 6 * 10**9),
    ]  # fmt: skip
    assert b"managedFields" not in lines[1]
    assert b'"labels":{"a":"b"}' in lines[1]
    assert lines[0].startswith(b'{"time":"1970-01-01T00:00:05.000000000Z","event":"Add",')
    assert all(each.endswith(b"}\n") and each.count(b"\n") == 1 for each in lines)


def test_an_object_whose_lines_are_wrong_is_reported_until_it_is_added():
    unknown = line("Update", POD)
    errors = errors_of(unknown, unknown, line("Delete", POD), line("Add", POD), unknown)
    assert errors == [
        "r.jsonl: line 1: resource.metadata.name: Update of Pod a/p, which does not exist: "
        "no earlier line adds it"
    ]
    broken = line("Add", POD | {"spec": {"containers": 7}})
    errors = errors_of(broken, unknown, line("Add", POD), line("Delete", POD), unknown)
    assert [each.split(": ")[1] for each in errors] == ["line 1", "line 5"]


def test_the_share_that_is_read_is_reported_every_thousand_lines():
    lines = [line("Add", NODE | {"metadata": {"name": f"n{n}"}}) for n in range(2_001)]
    shares: list[float] = []
    data = record(*lines)
    read_record(data, source="r", watch=lambda _, share: shares.append(share))
    first = len(lines[0]) + 1
    assert len(shares) == 3
    assert shares[0] == first / len(data)
    assert shares == sorted(shares)
    assert shares[2] == 1.0


def test_steps_back_are_counted_with_the_largest():
    times = ["12.5", "12.5", "12.4", "13.0", "12.0", "12.999"]
    lines = [
        line("Add", NODE | {"metadata": {"name": f"n{n}"}}, f"2026-03-02T10:11:{each}Z")
        for n, each in enumerate(times)
    ]
    read = read_record(record(*lines), source="r")
    assert (read.steps_back, read.largest_step_back_ns) == (3, 10**9)
    offsets = [one.time_ns - read.lines[0].time_ns for one in read.lines]
    assert offsets == [0, 0, 0, 500_000_000, 500_000_000, 500_000_000]
    late = line("Add", POD, "2026-03-02T10:11:11.9Z")
    assert "1.100 s before an earlier line" in errors_of(*lines, late)[0]
    assert "(up to 1 s is tolerated)" in errors_of(*lines, late)[0]


@pytest.mark.parametrize(
    ("written", "errors"),
    [
        ({}, ["time: Required value", "event: Required value", "resource: Required value"]),
        (
            {"time": 5, "event": 6, "resource": 7},
            [
                "time: Invalid value: 5: must be a string",
                "event: Invalid value: 6: must be a string",
                "resource: Invalid value: 7: must be an object",
            ],
        ),
        (
            {"time": None, "event": "add", "resource": NODE},
            [
                "time: Required value",
                'event: Unsupported value: "add": supported values: "Add", "Delete", "Update"; did'
                ' you mean "Add"?',
            ],
        ),
    ],
)
def test_each_field_of_a_line_has_its_type(written, errors):
    assert errors_of(json.dumps(written)) == [f"r.jsonl: line 1: {error}" for error in errors]
    with pytest.raises(InputError) as caught:
        read_record(record(json.dumps(written)), source="r")
    assert [each.value for each in caught.value.errors] == [
        written.get(each.path) for each in caught.value.errors
    ]


@pytest.mark.parametrize(
    ("fields", "value"),
    [
        ({"time": "yesterday"}, "yesterday"),
        ({"resource": NODE | {"apiVersion": ""}}, ""),
        ({"resource": NODE | {"kind": 3}}, 3),
        ({"resource": NODE | {"metadata": {"name": ["n"]}}}, ["n"]),
    ],
)
def test_an_error_has_the_wrong_value(fields, value):
    written = {"time": "2026-03-02T10:11:12Z", "event": "Add", "resource": NODE} | fields
    with pytest.raises(InputError) as caught:
        read_record(record(json.dumps(written)), source="r")
    assert [each.value for each in caught.value.errors] == [value]


@pytest.mark.parametrize(
    ("document", "is_last_state"),
    [
        (NAME_ONLY, True),
        (NAME_ONLY | {"metadata": NAME_ONLY["metadata"] | {"uid": "u", "resourceVersion": "3"}},
         True),
        (NAME_ONLY | {"metadata": NAME_ONLY["metadata"] | {"labels": {"a": "b"}}}, False),
        (NAME_ONLY | {"status": {}}, False),
    ],
)  # fmt: skip
def test_a_deleted_object_is_its_last_state_if_the_line_has_its_name_only(document, is_last_state):
    read = read_record(record(line("Add", POD), line("Delete", document)), source="r")
    assert (read.lines[1].object is read.lines[0].object) is is_last_state


def test_the_last_line_may_have_spaces_only(tmp_path):
    data = record(line("Add", NODE), end="\n  ")
    read = read_record(data, source="r")
    assert (len(read.lines), read.unterminated_line) == (1, 0)
    (tmp_path / "r").write_bytes(data)
    assert [number for number, _, _ in file_lines(tmp_path / "r")] == [1]


def test_the_warnings_of_a_record_are_those_of_its_objects():
    read = read_record(record(line("Add", POD | {"x-new": 1})), source="r")
    assert read.warnings == (
        "r: line 1: v1 Pod: unknown field x-new ignored (newer than Kubernetes 1.36 or misspelled)",
    )


def test_a_long_step_back_is_shown_in_seconds():
    times = ("2026-03-13T00:00:00Z", "2026-03-01T10:13:20Z")
    lines = [line("Add", one, at) for one, at in zip((NODE, POD), times, strict=True)]
    assert errors_of(*lines) == [
        'r.jsonl: line 2: time: Invalid value: "2026-03-01T10:13:20Z": 1000000.000 s before an'
        " earlier line; changes must be in the order in which they happened (up to 1 s is"
        " tolerated)"
    ]


def test_a_reader_of_lines_is_given_or_its_own():
    written = line("Add", POD).encode()
    own, given = RecordReader("r"), RecordReader("r", reader := ObjectReader(validate="ignore"))
    for each in (own, given):
        each.take(1, written)
        assert (each.steps_back, each.largest_step_back_ns) == (0, 0)
    assert given.errors is reader.errors


@pytest.mark.parametrize(
    ("line", "is_record"),
    [
        ({"time": "2026-05-01T00:00:00Z", "event": "Add", "resource": {}}, True),
        ({"event": "Delete", "resource": {}}, True),
        ({"time": "2026-05-01T00:00:00Z"}, True),
        ({"time": 1}, False),
        ({"time": "2026-05-01T00:00:00Z", "kind": "Pod"}, False),
        ({"event": "Add", "apiVersion": "v1"}, False),
    ],
)
def test_a_record_among_objects_is_one_error(line, is_record):
    text = json.dumps(line).encode() + b"\n"
    with pytest.raises(InputError) as caught:
        load_bytes([("r.jsonl", text * 2)])
    messages = [str(one) for one in caught.value.errors]
    assert any("a record of changes" in each for each in messages) is is_record
    assert (len(messages) == 1) is is_record


@pytest.mark.parametrize("year", [1700, 1960, 1969, 1970])
def test_a_record_may_begin_at_any_time(year):
    read = read_record(record(line("Add", NODE, f"{year}-12-31T23:59:59.5Z")), source="r")
    assert (len(read.lines), read.steps_back) == (1, 0)
    assert read.lines[0].time_ns == read.lines[0].seen_ns
