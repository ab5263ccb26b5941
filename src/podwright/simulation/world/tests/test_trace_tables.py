"""Tables of traces, row by row: groups, events, columns of any name, and what is said of them."""

from __future__ import annotations

from pathlib import Path

import pytest

import podwright as pw
from podwright.simulation.world.traces import trace_lines
from podwright.simulation.world.traces.trace_lines import columns_named, read_trace_lines

ARRIVAL = "arrival: {column: t, unit: s}\n"


def read(
    folder: Path, columns: str, table: str, *, is_sorted: bool = True, name: str = "jobs.csv"
) -> tuple[list[tuple[int, str, str]], list[str]]:
    """Return second, kind and name of what a table has, and the warnings."""
    (folder / "columns.yaml").write_text(columns)
    (folder / name).write_text(table)
    warnings: list[str] = []
    lines = read_trace_lines(
        str(folder / name),
        columns_named(str(folder / "columns.yaml")),
        is_sorted=is_sorted,
        warn=warnings.append,
    )
    found = [
        (
            line.at_ns // 10**9,
            line.action["apply"]["kind"],
            line.action["apply"]["metadata"]["name"],
        )
        for line in lines
    ]
    return found, warnings


def test_all_rows_of_a_group_are_read_before_its_first_pod(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trace_lines, "ROWS_AT_ONCE", 2)
    columns = f"{ARRIVAL}group: g\nname: own\n"
    found, _ = read(tmp_path, columns, "t,g,own\n1,a,x\n2,a,y\n3,a,z\n")
    assert found == [(1, "PodGroup", "a"), (1, "Pod", "x"), (2, "Pod", "y"), (3, "Pod", "z")]


def test_names_that_are_changed_are_reported_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trace_lines, "ROWS_AT_ONCE", 2)
    _, warnings = read(tmp_path, f"{ARRIVAL}name: own\n", "t,own\n1,A_b\n2,C_d\n3,E_f\n")
    assert len(warnings) == 1


def test_a_pod_that_is_submitted_again_arrives_once(tmp_path: Path) -> None:
    columns = (
        f"{ARRIVAL}duration: {{column: end, since: t, unit: s}}\nname: id\n"
        "events: {column: kind, start: [submit], end: [end], key: [id], time: t}\n"
    )
    table = "t,kind,id\n1,submit,a\n2,submit,b\n3,submit,a\n4,end,a\n"
    found, _ = read(tmp_path, columns, table)
    assert found == [(1, "Pod", "a"), (2, "Pod", "b")]


def test_a_column_may_have_a_dot_in_its_name(tmp_path: Path) -> None:
    found, _ = read(tmp_path, f"{ARRIVAL}name: job.id\n", "t,job.id\n1,a\n")
    assert found == [(1, "Pod", "a")]


def test_a_missing_column_that_is_read_twice_is_reported_once(tmp_path: Path) -> None:
    with pytest.raises(pw.InputError) as caught:
        read(tmp_path, f"{ARRIVAL}name: {{columns: [q, q]}}\n", "t,u\n1,2\n")
    assert len(caught.value.errors) == 1
