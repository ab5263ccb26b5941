"""Parts of worlds and traces that few runs need: measured handling, places in tables, drains."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

import podwright as pw
from podwright.apimachinery.objects import InputError, parse_quantity
from podwright.apimachinery.schema import decode
from podwright.scheduler.machine import SchedulerOptions, render_text
from podwright.simulation.world import World, with_scheduler
from podwright.simulation.world.inputs.event_lines import EventLines
from podwright.simulation.world.inputs.input_review import ignored_kinds
from podwright.simulation.world.traces.trace_changes import run_ns_of
from podwright.simulation.world.traces.trace_lines import columns_named, read_trace_lines
from podwright.testing import make_node, make_pod

SECOND = 1_000_000_000
HANDLING = "scheduler_scheduling_algorithm_duration_seconds"

# ------------------------------------------------------------------------------------ worlds


def measured(read_ns: Any) -> str:
    """Return a metric of a world that schedules one pod: the duration of the algorithm."""
    world = World(stages=(), controllers=(), read_ns=read_ns)
    world.add(make_node("n1"), make_pod("a"))
    world.run_until_ns(world.now_ns + SECOND)
    assert world.node_of == {"default/a": "n1"}
    text = render_text(world.machine.metrics_snapshot())
    (line,) = [each for each in text.splitlines() if each.startswith(f"{HANDLING}_sum")]
    return line.split()[-1]


def test_the_duration_of_a_cycle_is_what_the_clock_says_that_its_handling_took():
    ticks = itertools.count(0, 3_000_000)
    assert float(measured(None)) == 0.0
    assert float(measured(ticks.__next__)) == pytest.approx(0.003)


def test_a_world_says_which_nodes_are_drained():
    world = World()
    budget = {
        "apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
        "metadata": {"name": "b", "namespace": "default"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "a"}}},
    }  # fmt: skip
    world.add(make_node("n1"), make_node("n2"), decode(budget))
    world.add(make_pod("a", labels={"app": "a"}, node="n1"))
    world.run_until_ns(world.now_ns + SECOND)
    assert list(world.draining_nodes) == []
    world.do(pw.Drain("n1"))
    world.run_until_ns(world.now_ns + SECOND)
    assert list(world.draining_nodes) == ["n1"]
    world.do(pw.Drain("n2"))
    world.run_until_ns(world.now_ns + SECOND)
    assert list(world.draining_nodes) == ["n1"], "a node without pods is drained at once"


def test_the_story_of_a_pod_is_that_of_the_queue():
    world = World(stages=(), controllers=())
    world.add(make_node("n1"), make_pod("a"), make_pod("large", cpu="99"))
    world.run_until_ns(world.now_ns + SECOND)
    assert [each.pod for each in world.story("default/large")] == ["default/large"] * len(
        world.story("default/large")
    )
    assert len(world.story("default/large")) > len(world.story("default/none")) == 0


def test_a_new_scheduler_receives_what_was_just_written():
    """Objects that no component has received yet are delivered to the old one first."""
    world = World()
    world.add(make_node("n1"))
    world.add(make_pod("a"))
    changed = with_scheduler(world, SchedulerOptions())
    changed.run_until_ns(changed.now_ns + SECOND)
    assert changed.node_of == {"default/a": "n1"}


# ------------------------------------------------------------------------------------ inputs


def test_what_ends_the_reading_of_lines_is_the_only_error():
    def lines() -> Any:
        yield 1, b'{"at": "1s", "drain": "n1"}', True
        raise InputError.of("e: line 2", "is not text")

    found = EventLines(lines, "e", 0, (make_node("n1"),))
    assert [str(error) for error in found.errors] == ["e: line 2: is not text"]
    assert (found.added, found.missing) == ([], {})


@pytest.mark.parametrize(
    ("kind", "version", "effects"),
    [
        ("DeviceCards", "podwright.dev/v1alpha1", []),
        ("Widget", "podwright.dev/v1alpha1", ["is not a known kind"]),
        ("Widget", "example.com/v1", ["is not a known kind"]),
        ("ResourceQuota", "v1", []),
        ("Pod", "v1", []),
        ("ConfigMap", "v1", []),
    ],
)
def test_kinds_that_have_an_effect_are_not_ignored(kind, version, effects):
    metadata = {"name": "a", "namespace": "default"}
    obj = decode({"apiVersion": version, "kind": kind, "metadata": metadata})
    assert [each.effect for each in ignored_kinds([obj])] == effects


# ------------------------------------------------------------------------------------ tables


def table(tmp_path: Path, columns: str, rows: str, name: str = "t.csv") -> tuple[str, Any]:
    (tmp_path / "columns.yaml").write_text(columns)
    (tmp_path / name).write_text(rows)
    return str(tmp_path / name), columns_named(str(tmp_path / "columns.yaml"))


def lines_of(tmp_path: Path, columns: str, rows: str, *, is_sorted: bool = True) -> list[Any]:
    path, read = table(tmp_path, columns, rows)
    return list(read_trace_lines(path, read, is_sorted=is_sorted))


def errors_of(tmp_path: Path, columns: str, rows: str, *, is_sorted: bool = True) -> list[str]:
    with pytest.raises(InputError) as raised:
        lines_of(tmp_path, columns, rows, is_sorted=is_sorted)
    return [str(error).replace(f"{tmp_path}/", "") for error in raised.value.errors]


TIMES = "arrival: {column: t, unit: s}\nname: id\n"
SPAN = f"{TIMES}duration: {{column: end, since: t, unit: s}}\n"


def test_the_duration_since_another_column_is_missing_with_either_of_them(tmp_path):
    found = lines_of(tmp_path, SPAN, "t,id,end\n5,a,9\n6,b,\n")
    assert [run_ns_of(line.pod) for line in found] == [4 * SECOND, None]
    other = f"{TIMES}duration: {{column: end, since: start, unit: s}}\n"
    found = lines_of(tmp_path, other, "t,id,start,end\n5,a,7,9\n6,b,,9\n7,c,9,\n8,d,9,9\n")
    assert [run_ns_of(line.pod) for line in found] == [2 * SECOND, None, None, 0]


@pytest.mark.parametrize(("times", "factor"), [("", 1), (", times: 2", 2), (", times: 0.5", 0.5)])
def test_a_duration_since_another_column_is_exact(tmp_path, times, factor):
    columns = f"{TIMES}duration: {{column: end, since: start, unit: ns{times}}}\n"
    run_ns = 2**54 + 2
    found = lines_of(tmp_path, columns, f"t,id,start,end\n5,a,3,{run_ns + 3}\n")
    exact = run_ns * 2 if factor == 2 else run_ns // 2 if factor == 0.5 else run_ns
    assert [run_ns_of(line.pod) for line in found] == [exact]


@pytest.mark.parametrize(
    ("end", "shown"), [("soon", "soon - 5"), ("4", "-1000000000"), ("1:5", "1:5 - 5")]
)
def test_a_duration_that_is_none_is_named_with_its_line(tmp_path, end, shown):
    (error,) = errors_of(tmp_path, SPAN, f"t,id,end\n5,b,6\n5,a,{end}\n")
    detail = "must be a duration of 0 or more"
    assert error == f't.csv: line 3: end - t: Invalid value: "{shown}": {detail}'


@pytest.mark.parametrize(
    ("source", "value", "expected"),
    [
        ("{column: g}", "2", "2"),
        ("{column: g}", "1.2", "2"),
        ("{column: g}", "2.0", "2"),
        ("{column: g}", "0.001", "1"),
        ("{column: g, times: 0.5}", "3", "2"),
        ("{column: g, times: 0.01}", "100", "1"),
        ("{column: g, times: 0.01}", "101", "2"),
        ("{column: g, times: 2}", "1.5", "3"),
    ],
)
def test_extended_resources_of_a_table_are_whole(tmp_path, source, value, expected):
    columns = f"{TIMES}resources: {{example.com/gpu: {source}}}\n"
    (line,) = lines_of(tmp_path, columns, f"t,id,g\n1,a,{value}\n")
    (container,) = line.pod["spec"]["containers"]
    assert container["resources"]["requests"] == {"example.com/gpu": expected}


@pytest.mark.parametrize(
    ("replicas", "gpus", "expected"), [(1, 5, "5"), (2, 4, "2"), (2, 5, "3"), (3, 1, "1")]
)
def test_a_replica_has_its_share_of_the_devices_as_a_whole_number(
    tmp_path, replicas, gpus, expected
):
    share = "{column: g, perReplica: true}"
    columns = f"{TIMES}replicas: count\nresources: {{example.com/gpu: {share}}}\n"
    found = lines_of(tmp_path, columns, f"t,id,count,g\n1,a,{replicas},{gpus}\n")
    assert [line.pod["spec"]["containers"][0]["resources"]["requests"] for line in found] == [
        {"example.com/gpu": expected}
    ] * replicas


@pytest.mark.parametrize(
    ("name", "source", "value", "expected"),
    [
        ("cpu", "{column: g}", "1.2", "1200m"),
        ("cpu", "{column: g, times: 0.5}", "3", "1500m"),
        ("cpu", "{column: g, unit: m}", "1500", "1500m"),
        ("memory", "{column: g, unit: GiB}", "1.5", "1536Mi"),
        ("memory", "{column: g, unit: GiB, times: 0.5}", "3", "1536Mi"),
    ],
)
def test_other_resources_of_a_table_need_not_be_whole(tmp_path, name, source, value, expected):
    columns = f"{TIMES}resources: {{{name}: {source}}}\n"
    (line,) = lines_of(tmp_path, columns, f"t,id,g\n1,a,{value}\n")
    (container,) = line.pod["spec"]["containers"]
    found = container["resources"]["requests"][name]
    assert parse_quantity(found).nano == parse_quantity(expected).nano


def test_rows_that_are_not_in_order_are_an_error_unless_they_are_sorted(tmp_path):
    rows = "t,id\n5,a\n5,b\n4,c\n"
    found = lines_of(tmp_path, TIMES, rows, is_sorted=False)
    assert [(line.at_ns // SECOND, line.pod["metadata"]["name"]) for line in found] == [
        (4, "c"), (5, "a"), (5, "b"),
    ]  # fmt: skip


@pytest.mark.parametrize("rows", ["t,id\n", "t,id\n1,a\n2,b\n"])
def test_a_table_of_which_no_row_is_selected_is_an_error(tmp_path, rows):
    columns = f"{TIMES}where: {{id: [x]}}\n"
    (error,) = errors_of(tmp_path, columns, rows)
    assert error == "t.csv: no rows that the columns select"


@pytest.mark.parametrize(
    ("rows", "line", "message"),
    [
        ("1,a\n2,b\n3,a\n", 4, '"a": also in line 2'),
        ("1,b\n2,a\n3,a\n", 4, '"a": also in line 3'),
        ("1,b\n\n2,a\n3,a\n", 5, '"a": also in line 4'),
        ("1,a_1\n2,A-1\n", 3, '"A-1": also in line 2, whose name "a_1" becomes the same'),
    ],
)
def test_a_name_that_two_rows_have_is_an_error_with_both_lines(tmp_path, rows, line, message):
    (error,) = errors_of(tmp_path, TIMES, f"t,id\n{rows}")
    assert error == f"t.csv: line {line}: id: Duplicate value: {message}"


@pytest.mark.parametrize("gpus", ["count", "x"])
def test_the_gpus_of_openb_without_its_pods_are_an_error_of_the_option(gpus):
    with pytest.raises(InputError) as raised:
        pw.simulate([make_node("n"), make_pod("p")], openb_gpus=gpus)
    (error,) = raised.value.errors
    assert (error.source, error.path) == ("openb_gpus", "")
