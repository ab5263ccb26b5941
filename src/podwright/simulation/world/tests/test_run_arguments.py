"""The arguments of a run by themselves: plans, node groups, timings, and events of any form."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from podwright.apimachinery.objects import ArgumentError, FieldError, InputError, encode
from podwright.scheduler.machine import SchedulerOptions
from podwright.simulation.autoscaling import parse_node_groups
from podwright.simulation.recording.folders import tables
from podwright.simulation.world.inputs.run_inputs import EventFile
from podwright.simulation.world.runs.start import (
    RunArguments,
    _autoscaling,
    _encoded,
    _events,
    _simulate_plan,
    _timing,
    prepared_run,
)
from podwright.simulation.world.timing.model import Timing
from podwright.testing import make_node, make_pod


def plan() -> Any:
    return SimpleNamespace(simulate=lambda **given: given)


def test_a_plan_gets_what_it_does_not_determine():
    given = RunArguments(progress=False, validate="warn", output="out", checkpoint_events=7)
    found: Any = _simulate_plan(plan(), given, SchedulerOptions(seed=5))
    assert found == {
        "seed": 5,
        "call_extender": None,
        "checkpoint_events": 7,
        "output": "out",
        "resume": False,
        "progress": False,
    }
    unseeded: Any = _simulate_plan(plan(), RunArguments(), SchedulerOptions())
    assert unseeded["seed"] is None


def test_what_a_plan_determines_is_an_error():
    given = RunArguments(until="1h", job_duration="5m")
    with pytest.raises(InputError) as error:
        _simulate_plan(plan(), given, SchedulerOptions(start_ns=5))
    assert sorted(str(each) for each in error.value.errors) == [
        "configuration: is an option of the scenario",
        "job_duration: is an option of the scenario",
        "until: is an option of the scenario",
    ]


TEMPLATE = {"allocatable": {"cpu": "4", "memory": "8Gi"}}
GROUPS = {
    "groups": [
        {"name": "g", "minSize": 0, "maxSize": 3, "provisioningTime": "30s", "template": TEMPLATE}
    ]
}


def test_node_groups_are_a_path_a_dict_or_read_already(tmp_path):
    files: list[Any] = []
    assert (_autoscaling(None, files), files) == (None, [])
    read = parse_node_groups(GROUPS, "")
    path = tmp_path / "groups.yaml"
    path.write_bytes(msgspec.json.encode(GROUPS))
    for given in (GROUPS, read, path, str(path)):
        assert _autoscaling(given, files) == read
    assert [(each.role, each.path) for each in files] == [("nodeGroups", "node_groups")] * 4
    assert len({each.sha256 for each in files}) == 1
    with pytest.raises(ArgumentError, match="node_groups"):
        _autoscaling(5, files)


def test_a_timing_is_a_path_or_read_already():
    assert _timing(None) is None
    timing = Timing()
    assert _timing(timing) is timing
    with pytest.raises(ArgumentError, match="timing"):
        _timing(5)


def test_events_are_files_lines_or_paths(tmp_path):
    path = tmp_path / "events.jsonl"
    path.write_bytes(b'{"at": "1s", "deletePod": "default/p"}\n')
    errors: list[FieldError] = []
    own = EventFile("own", lambda: iter([(1, b'{"at": "2s"}', True)]))
    line = {"at": "3s", "deletePod": "default/q"}
    events, files = _events([own, path, line, line, tmp_path / "none"], errors)
    assert [each.source for each in events] == ["own", str(path), "events"]
    assert [(each.role, each.path) for each in files] == [
        ("events", "own"),
        ("events", str(path)),
        ("events", "events"),
    ]
    assert [number for number, _, _ in events[2].lines()] == [1, 2]
    assert [str(each) for each in errors] == [
        f"{tmp_path / 'none'}: cannot be read: No such file or directory"
    ]


def test_a_line_is_json_whatever_its_values_are():
    errors: list[FieldError] = []
    pod = make_pod("p")
    found = msgspec.json.decode(
        _encoded({"at": timedelta(seconds=2.5), "apply": pod}, "line 1", errors)
    )
    assert found["apply"]["metadata"]["name"] == "p"
    assert found["at"] == "2.5s"
    noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    assert msgspec.json.decode(_encoded({"at": noon}, "x", errors)) == {
        "at": "2026-01-01T12:00:00Z"
    }
    assert msgspec.json.decode(_encoded({"at": "1h"}, "line 1", errors)) == {"at": "1h"}
    assert not errors
    assert _encoded({"at": "1h", "apply": object()}, "line 2", errors) == b"{}"
    assert str(errors[0]).startswith("line 2: cannot be written as JSON: ")


def sha256(*lines: bytes) -> str:
    return hashlib.sha256(b"\n".join(lines)).hexdigest()


def test_a_manifest_has_the_digest_of_each_input(tmp_path):
    """A run is not resumed with other inputs: see `run_manifest.py`."""
    nodes, lines = tmp_path / "node.yaml", tmp_path / "events.jsonl"
    node, pod = make_node("n"), make_pod("p")
    nodes.write_bytes(msgspec.json.encode(node.raw))
    lines.write_bytes(b'{"at": "1s", "delete": "pod/default/p"}\n')
    line = {"at": "2s", "delete": "pod/default/p"}
    given = RunArguments(
        events=[str(lines), line, line], node_groups=GROUPS, until="1m", output=tmp_path / "run"
    )
    found = prepared_run([str(nodes), pod], SchedulerOptions(), given).manifest
    groups = msgspec.json.encode(parse_node_groups(GROUPS, ""))
    assert [(each.role, each.path, each.sha256) for each in found.inputs] == [
        ("objects", str(nodes), sha256(nodes.read_bytes())),
        ("objects", "objects", sha256(msgspec.json.encode([encode(pod)]))),
        ("events", str(lines), sha256(lines.read_bytes())),
        ("events", "events", sha256(*[msgspec.json.encode(line)] * 2)),
        ("nodeGroups", "node_groups", sha256(groups)),
    ]


def test_a_run_with_tables_needs_pyarrow_before_it_starts(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "find_spec", lambda _name: None)
    prepared_run([make_node("n")], SchedulerOptions(), RunArguments())
    with pytest.raises(tables.MissingExtra, match="tables need pyarrow"):
        prepared_run([make_node("n")], SchedulerOptions(), RunArguments(output=tmp_path / "run"))
