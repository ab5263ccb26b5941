"""Recorded objects in a world of another time."""

from __future__ import annotations

import pytest

from podwright.apimachinery.objects import Pod, encode
from podwright.apimachinery.schema import decode
from podwright.simulation.world.inputs.recorded_times import with_times_moved

HOUR = 3_600_000_000_000


@pytest.mark.parametrize(
    ("written", "moved"),
    [
        pytest.param("2026-01-01T23:30:00Z", "2026-01-02T00:30:00Z", id="a time"),
        pytest.param("2026-01-01T23:30:00+01:00", "2026-01-01T23:30:00Z", id="another time zone"),
        pytest.param(
            "2026-01-01T00:00:00.250000Z",
            "2026-01-01T01:00:00.250000000Z",
            id="a fraction of a second",
        ),
        pytest.param("9999-12-31T23:30:00Z", "9999-12-31T23:30:00Z", id="not past the last year"),
        pytest.param("2026-02-30T00:00:00Z", "2026-02-30T00:00:00Z", id="an invalid day"),
        pytest.param(
            "since 2026-01-01T00:00:00Z", "since 2026-01-01T00:00:00Z", id="in a sentence"
        ),
    ],
)
def test_every_time_in_an_object_is_moved(written, moved):
    def document(time: str) -> dict[str, object]:
        taint = {"key": "k", "effect": "NoExecute", "timeAdded": time}
        metadata = {"name": "n", "creationTimestamp": time}
        return {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": metadata,
            "spec": {"taints": [taint]},
        }

    node = decode(document(written))
    assert encode(with_times_moved(node, HOUR)) == document(moved)
    # What is less than a second does not count, so times do not drift apart.
    assert encode(with_times_moved(node, HOUR + 999_999_999)) == document(moved)
    assert with_times_moved(node, 0) is node


@pytest.mark.parametrize(
    ("written", "shift_seconds", "moved"),
    [
        ("0001-01-01T00:00:01Z", -1, "0001-01-01T00:00:00Z"),
        ("0001-01-01T00:00:01Z", -2, "0001-01-01T00:00:01Z"),
        ("9999-12-31T23:59:58Z", 1, "9999-12-31T23:59:59Z"),
        ("9999-12-31T23:59:58Z", 2, "9999-12-31T23:59:58Z"),
    ],
)
def test_a_time_stays_if_it_would_leave_the_years_of_rfc_3339(written, shift_seconds, moved):
    document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "n"}}
    obj = decode(document | {"data": {"at": written}})
    found = encode(with_times_moved(obj, shift_seconds * 1_000_000_000))
    assert found["data"] == {"at": moved}


def test_keys_and_quotations_in_strings_stay():
    time, later = "2026-01-01T00:00:00Z", "2026-01-01T01:00:00Z"
    data = {time: time, "json": f'{{"a":"{time}"}}', "open": f'"{time}'}
    document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "n"}, "data": data}
    made = encode(with_times_moved(decode(document), HOUR))
    assert made["data"] == data | {time: later}


def test_parts_without_times_are_shared_with_the_original():
    spec = {"nodeName": "n", "containers": [{"name": "main", "image": "web:1"}]}
    status = {"phase": "Running", "startTime": "2026-01-01T00:00:00Z"}
    metadata = {"name": "web", "namespace": "default"}
    document = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}
    pod = decode(document | {"spec": spec, "status": status})
    moved = with_times_moved(pod, HOUR)
    assert encode(moved)["status"]["startTime"] == "2026-01-01T01:00:00Z"
    assert isinstance(pod, Pod)
    assert isinstance(moved, Pod)
    assert moved.spec is pod.spec
    assert encode(moved)["spec"] is spec
    timeless = decode(document | {"spec": spec})
    assert with_times_moved(timeless, HOUR) is timeless
