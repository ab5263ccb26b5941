"""Traces of SimKube: their version, and the order of their events."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from podwright.apimachinery.objects import InputError
from podwright.simulation.files import read_simkube, trace_format
from podwright.simulation.files.trace_files import (
    SimkubeEvent,
    without_server_fields,
    write_trace,
)


def written(folder: Path, *times: int, **fields: Any) -> str:
    document = {"version": 2, "events": [{"ts": ts} for ts in times], **fields}
    path = folder / "trace.mp"
    path.write_bytes(msgspec.msgpack.encode(document))
    return str(path)


def test_events_of_one_second_keep_their_order(tmp_path: Path) -> None:
    trace = read_simkube(written(tmp_path, 5, 7, 7, 9))
    assert [event.ts for event in trace.events] == [5, 7, 7, 9]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"times": (5, 4)}, r"events\[1\]\.ts: 1s before the previous event"),
        ({"times": (1, 9, 6)}, r"events\[2\]\.ts: 3s before the previous event"),
        ({"times": (), "version": 1}, "version: must be 2, not 1; export the trace"),
        ({"times": (), "version": 0}, "must be 2, not none"),
    ],
)
def test_a_trace_of_another_version_or_order_is_an_error(
    tmp_path: Path, fields: dict[str, Any], message: str
) -> None:
    times = fields.pop("times")
    with pytest.raises(InputError, match=message):
        read_simkube(written(tmp_path, *times, **fields))


def test_a_file_that_is_no_trace_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "trace.mp"
    with pytest.raises(InputError, match="cannot be read: No such file"):
        read_simkube(str(path))
    path.write_bytes(b"\xc1")
    with pytest.raises(InputError, match="not a SimKube trace"):
        read_simkube(str(path))


@pytest.mark.parametrize(
    ("lives", "seconds"),
    [
        ([(10, 14), (20, 26), (30, 31)], 4),
        ([(10, 14), (20, 26)], 4),
        ([(10, 14), (20, None)], None),
        ([], None),
    ],
)
def test_pods_run_as_long_as_the_lower_median_of_their_owner(
    tmp_path: Path, lives: list[tuple[int, int | None]], seconds: int | None
) -> None:
    pods = [{"start_ts": start, "end_ts": end} for start, end in lives]
    lifecycles = {("batch/v1.Job", "a/j"): {7: pods[:1], 8: pods[1:]}}
    trace = read_simkube(written(tmp_path, pod_lifecycles=lifecycles))
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j", "namespace": "a"}}
    assert trace.run_seconds(job) == seconds
    other = job | {"metadata": {"name": "k", "namespace": "a"}}
    assert trace.run_seconds(other) is None


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("t.mp", msgspec.msgpack.encode({"version": 2}), "simkube"),
        ("t.jsonl", b"", "lines"),
        ("t.jsonl.gz", b"\x1f\x8b", "lines"),
        ("t.txt", b'{"at": "1s", "delete": "pod/a"}\n', "lines"),
        ("t.json", b'{"kind": "Pod"}\n', "objects"),
        ("t.yaml", b"at: 1s\n", "objects"),
        ("empty", b"", "objects"),
        ("t.mp", b"\x8f\xa7version", "simkube"),
        ("t.mp", b"\x80", "objects"),
        ("t.mp", b"\x90\xa7version", "objects"),
        ("t.mp", b"\x7fversion", "objects"),
        ("t.txt", b'\n  {"at": 1}\nnot JSON', "lines"),
        ("t.txt", b'["at"]\n', "objects"),
    ],
)
def test_the_format_of_a_trace_is_known_by_its_start_or_name(
    tmp_path: Path, name: str, content: bytes, expected: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    assert trace_format(str(path)) == expected


def test_an_object_is_as_its_user_wrote_it_without_a_node():
    metadata = {"name": "p", "labels": {"a": "b"}}
    server = dict.fromkeys(("uid", "resourceVersion", "creationTimestamp", "managedFields"), "x")
    spec = {"containers": [], "nodeName": "n1"}
    kept = without_server_fields(
        {"kind": "Pod", "metadata": metadata | server, "spec": spec, "status": {"phase": "x"}}
    )
    assert kept == {"kind": "Pod", "metadata": metadata, "spec": {"containers": []}}
    other = without_server_fields({"kind": "Thing", "spec": spec, "status": {}})
    assert other == {"kind": "Thing", "metadata": {}, "spec": spec}
    assert without_server_fields({"kind": "Pod", "metadata": None})["spec"] == {}


def test_selectors_are_as_before_keys_of_labels_were_added():
    def pod(*expressions: dict[str, object]) -> dict[str, object]:
        term = {"matchLabelKeys": ["rev"], "labelSelector": {"matchExpressions": [*expressions]}}
        metadata = {"name": "p", "labels": {"rev": "7"}}
        return {"kind": "Pod", "metadata": metadata, "spec": {"topologySpreadConstraints": [term]}}

    stored = pod({"key": "rev", "operator": "In", "values": ["7"]})
    assert without_server_fields(stored) == pod()


def test_a_trace_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    place = tmp_path / "t.jsonl"
    write_trace(str(place), [b"one", b"two"])
    assert place.read_bytes() == b"onetwo"

    def parts() -> Iterator[bytes]:
        yield b"half"
        raise OSError(28, "No space left on device")

    with pytest.raises(InputError, match=r"t\.jsonl: cannot be written: No space left on device"):
        write_trace(str(place), parts())
    assert place.read_bytes() == b"onetwo"
    assert [each.name for each in tmp_path.iterdir()] == ["t.jsonl"]
    with pytest.raises(InputError, match="absent: cannot be read: No such file or directory"):
        trace_format(str(tmp_path / "absent"))


def test_what_the_server_writes_is_left_out():
    server = (
        "uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink",
        "ownerReferences",
    )  # fmt: skip
    kept = without_server_fields({"kind": "Job", "metadata": {"name": "j"} | dict.fromkeys(server)})
    assert kept == {"kind": "Job", "metadata": {"name": "j"}}


def test_a_trace_may_be_compressed_and_has_the_objects_of_its_events(tmp_path: Path) -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}
    events = [{"ts": 5, "applied_objs": [pod]}, {"ts": 6, "deleted_objs": [pod, pod]}]
    path = tmp_path / "trace.mp.gz"
    path.write_bytes(gzip.compress(msgspec.msgpack.encode({"version": 2, "events": events})))
    trace = read_simkube(str(path))
    assert trace.events == (
        SimkubeEvent(ts=5, applied_objs=(pod,)),
        SimkubeEvent(ts=6, deleted_objs=(pod, pod)),
    )
    assert trace.run_seconds(pod) is None


@pytest.mark.parametrize(
    ("document", "seconds"),
    [
        ({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}, 3),
        ({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "a"}}, None),
        ({"apiVersion": "v2", "kind": "Pod", "metadata": {"name": "p"}}, None),
        ({"apiVersion": "v1", "kind": "Pod", "metadata": None}, None),
    ],
)
def test_the_pods_of_an_object_are_known_by_its_kind_namespace_and_name(
    tmp_path: Path, document: dict[str, Any], seconds: int | None
) -> None:
    ran = {7: [{"start_ts": 0, "end_ts": 3}]}
    trace = read_simkube(written(tmp_path, pod_lifecycles={("v1.Pod", "/p"): ran}))
    assert trace.run_seconds(document) == seconds


def test_a_pod_that_never_started_has_no_time(tmp_path: Path) -> None:
    ran = {7: [{"start_ts": None, "end_ts": 3}]}
    trace = read_simkube(written(tmp_path, pod_lifecycles={("v1.Pod", "/p"): ran}))
    assert trace.run_seconds({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}) is None


def test_a_trace_has_its_name_when_it_is_complete(tmp_path: Path) -> None:
    def parts() -> Iterator[bytes]:
        yield b"one"
        assert [each.name for each in tmp_path.iterdir()] == [".t.jsonl.new"]

    write_trace(str(tmp_path / "t.jsonl"), parts())
    assert [each.name for each in tmp_path.iterdir()] == ["t.jsonl"]
    with pytest.raises(InputError, match=r"none/t: cannot be written: No such file or directory"):
        write_trace(str(tmp_path / "none/t"), [b"one"])
