import json

import pytest
from hypothesis import given, strategies as st

from podwright.apimachinery.objects import InputError, with_node_name
from podwright.apimachinery.schema import decode
from podwright.scheduler.machine import CycleDue, Event, ObjectDeleted, ObjectPut
from podwright.simulation.files.record import read_record
from podwright.simulation.recording.log.decision_log import DecisionLog
from podwright.simulation.recording.log.record import (
    initial_lines,
    record,
    record_line,
    record_of_log,
    write_record,
)
from podwright.testing import make_node, make_pod

SECOND = 1_000_000_000
NOW = 1_772_446_272 * SECOND  # 2026-03-02T10:11:12Z


def an_object(kind, name, api_version="v1", **metadata):
    document = {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, **metadata}}
    return decode(document, source="test")


def test_a_line_has_time_event_and_the_whole_object():
    node = an_object("Node", "n1", labels={"a": "b"})
    assert record_line(NOW + 123_456_789, "Add", node) == (
        b'{"time":"2026-03-02T10:11:12.123456789Z","event":"Add","resource":{"apiVersion":"v1",'
        b'"kind":"Node","metadata":{"name":"n1","labels":{"a":"b"}}}}\n'
    )


@pytest.mark.parametrize(
    ("obj", "metadata"),
    [
        pytest.param(
            an_object("Pod", "p", namespace="a", uid="u", labels={"x": "y"}),
            '{"name":"p","namespace":"a"}',
            id="in a namespace",
        ),
        pytest.param(
            an_object("Node", "n1", uid="u"), '{"name":"n1","namespace":""}', id="outside"
        ),
    ],
)
def test_a_delete_line_has_the_metadata_only(obj, metadata):
    line = record_line(NOW, "Delete", obj).decode()
    assert line == (
        '{"time":"2026-03-02T10:11:12.000000000Z","event":"Delete","resource":'
        f'{{"apiVersion":"v1","kind":"{obj.kind}","metadata":{metadata}}}}}\n'
    )


def test_initial_objects_are_in_the_order_of_the_recorder():
    objects = [
        make_pod("p"),
        an_object("Service", "s", namespace="default"),
        an_object("PersistentVolume", "v"),
        make_node("n2"),
        make_node("n1"),
        an_object("PersistentVolumeClaim", "c", namespace="default"),
        an_object("StorageClass", "fast", "storage.k8s.io/v1"),
        an_object("PriorityClass", "high", "scheduling.k8s.io/v1"),
        an_object("Namespace", "default"),
    ]
    lines = [json.loads(line) for line in initial_lines(objects, NOW)]
    assert [line["resource"]["metadata"]["name"] for line in lines] == [
        "default", "high", "fast", "c", "n2", "n1", "v", "s", "p",
    ]  # fmt: skip
    assert {(line["event"], line["time"]) for line in lines} == {
        ("Add", "2026-03-02T10:11:12.000000000Z")
    }


def test_a_recorded_run_is_written_as_the_changes_that_its_machine_received():
    log = DecisionLog.create()
    pod = make_pod("web")
    bound = with_node_name(pod, "n1")
    events: list[Event] = [
        ObjectPut(make_node("n1")),
        ObjectPut(pod),
        CycleDue(),
        ObjectPut(bound),
        ObjectPut(bound),
        ObjectPut(with_node_name(pod, "n1")),
        ObjectDeleted(bound),
        ObjectDeleted(make_pod("stranger")),
    ]
    for second, event in enumerate(events):
        log.append(NOW + second * SECOND, event, [])
    record = read_record(b"".join(record_of_log(log)), source="r")
    assert [(one.event, one.object.key, (one.time_ns - NOW) // SECOND) for one in record.lines] == [
        ("Add", "n1", 0),
        ("Add", "default/web", 1),
        ("Update", "default/web", 3),
        ("Delete", "default/web", 6),
    ]


histories = st.lists(
    st.tuples(
        st.sampled_from(["Add", "Update", "Delete"]),
        st.sampled_from(["a", "b"]),
        st.integers(0, 5),
        st.integers(0, 2 * SECOND),
    ),
    min_size=1,
    max_size=20,
)


@given(histories)
def test_a_record_is_written_with_the_values_that_were_read(history):
    there: set[str] = set()
    lines, now_ns = [], NOW
    for event, name, number, step_ns in history:
        now_ns += step_ns
        if event != "Add" and name not in there:
            event = "Add"  # noqa: PLW2901 - only what is there changes
        (there.discard if event == "Delete" else there.add)(name)
        resource = an_object("Pod", name, namespace="a", labels={"n": str(number)})
        lines.append(record_line(now_ns, event, resource))
    data = b"".join(lines)
    assert write_record(read_record(data, source="r").lines) == data


@pytest.mark.parametrize("seed", [2**63, -(2**63) - 1, 10**20])
def test_a_seed_that_a_log_cannot_store_is_rejected_before_there_is_a_log(seed, tmp_path):
    with pytest.raises(InputError) as error:
        record(str(tmp_path / "log"), seed=seed)
    assert str(error.value) == (f"seed: Invalid value: {seed}: must be a number of at most 64 bits")
    assert not (tmp_path / "log").exists()
    for fits in (2**63 - 1, -(2**63)):
        assert record(None, seed=fits).machine is not None
