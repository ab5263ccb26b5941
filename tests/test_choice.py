"""Which tests `make test` runs, and what the closing line of `.ci/run` says of the others."""

from __future__ import annotations

import ast
import runpy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.choice import (
    Quick,
    Suite,
    choice,
    ci_part,
    counting_folders,
    pytest_ignore_collect,
    quick_part,
    suites,
)

ROOT = Path(__file__).parents[1]
closing_line = runpy.run_path(str(ROOT / "tools/closing_line.py"))["main"]


@pytest.mark.parametrize(
    ("path", "counts"),
    [
        ("src/podwright/scheduler/plugins/tests/test_hints.py", True),
        ("tests/golden/test_parity.py", True),
        ("src/podwright/cluster/api/tests/test_deletion.py", False),
        ("docs/howto/look-back.md", False),
    ],
)
def test_a_file_is_with_the_tests_that_count_lines_or_with_the_others(path, counts) -> None:
    def is_left_out(lines: str, at: Path) -> bool:
        config: Any = SimpleNamespace(option=SimpleNamespace(lines=lines))
        return bool(pytest_ignore_collect(at, config))

    assert (is_left_out("none", ROOT / path), is_left_out("counted", ROOT / path)) == (
        counts,
        not counts,
    )
    assert not is_left_out("counted", ROOT / "src/podwright/cluster"), "a room is below it"
    assert all(each.is_dir() for each in counting_folders())


def test_every_heavy_suite_is_a_test() -> None:
    for name in suites():
        file, *parts = name.partition("[")[0].split("::")
        body: list[ast.stmt] = ast.parse((ROOT / file).read_text(encoding="utf-8")).body
        defined = {each.name for each in body if isinstance(each, ast.FunctionDef)}
        # Hypothesis makes `TestHistories` of a class `Histories`.
        assigned = {ast.unparse(each.targets[0]) for each in body if isinstance(each, ast.Assign)}
        assert not parts or parts[0] in defined | assigned, name


def test_the_heavy_suites_are_the_slowest_with_the_slowest_first() -> None:
    seconds = [each.cpu_seconds for each in suites().values()]
    assert seconds == sorted(seconds, reverse=True)
    assert len(seconds) >= 50


@pytest.mark.parametrize(
    ("one_in", "run"),
    [
        (1, ["a::plain", "b::heavy[0]", "b::heavy[1]", "b::heavy[2]", "b::heavy_too"]),
        (2, ["a::plain", "b::heavy[0]", "b::heavy[2]", "b::heavy_too"]),
        (0, ["a::plain", "b::heavy[0]", "b::heavy_too"]),
    ],
)
def test_of_a_heavy_suite_ci_runs_one_case_in_so_many(one_in: int, run: list[str]) -> None:
    names = ["a::plain", "b::heavy[0]", "b::heavy[1]", "b::heavy[2]", "b::heavy_too"]
    heavy = {"b::heavy": Suite(test="b::heavy", cpu_seconds=9.0, buys="x", one_in=one_in)}
    assert list(ci_part(names, heavy)) == run


def test_a_single_case_may_be_heavy() -> None:
    heavy = {"b::t[1]": Suite(test="b::t[1]", cpu_seconds=9.0, buys="x", one_in=0)}
    quick = Quick(cases=9, one_in=1, folders=())
    assert list(quick_part(["b::t[0]", "b::t[1]"], heavy, quick)) == ["b::t[0]"]


def test_a_file_may_be_heavy_and_a_test_of_it_has_its_own_share() -> None:
    heavy = {
        "b": Suite(test="b", cpu_seconds=9.0, buys="x", one_in=2),
        "b::t": Suite(test="b::t", cpu_seconds=9.0, buys="x", one_in=1),
    }
    names = ["b::r", "b::s[0]", "b::s[1]", "b::t[0]", "b::t[1]"]
    assert list(ci_part(names, heavy)) == ["b::r", "b::s[1]", "b::t[0]", "b::t[1]"]


def test_quick_are_a_few_cases_of_each_table_and_one_in_so_many_tests_of_whole_runs() -> None:
    quick = Quick(cases=3, one_in=2, folders=("b", "c/d.py"))
    names = [
        "a/t.py::plain", *(f"a/t.py::table[{case}]" for case in range(7)), "a/t.py::two[x]",
        "b/t.py::r", "b/t.py::s", "b/t.py::table[0]", "b/t.py::table[1]", "b/u.py::r",
        "bc/t.py::r", "bc/t.py::s", "c/d.py::r", "c/d.py::s", "c/e.py::r", "c/e.py::s",
    ]  # fmt: skip
    assert list(quick_part(names, {}, quick)) == [
        "a/t.py::plain", "a/t.py::table[0]", "a/t.py::table[2]", "a/t.py::table[4]",
        "a/t.py::two[x]",
        "b/t.py::r", "b/t.py::table[0]", "b/u.py::r",
        "bc/t.py::r", "bc/t.py::s", "c/d.py::r", "c/e.py::r", "c/e.py::s",
    ]  # fmt: skip


def test_the_folders_of_whole_runs_are_there() -> None:
    assert all((ROOT / folder).exists() for folder in choice().quick.folders)


def test_of_a_suite_without_a_share_ci_runs_the_first_test_and_quick_none() -> None:
    heavy = {
        "b": Suite(test="b", cpu_seconds=9.0, buys="x", one_in=0),
        "c::t": Suite(test="c::t", cpu_seconds=9.0, buys="x", one_in=0),
        "d": Suite(test="d", cpu_seconds=9.0, buys="x", one_in=2),
    }
    names = ["a::r", "b::s[0]", "b::t", "c::s", "c::t[0]", "c::t[1]", "d::s", "d::t"]
    assert list(ci_part(names, heavy)) == ["a::r", "b::s[0]", "c::s", "c::t[0]", "d::s"]
    quick = Quick(cases=9, one_in=1, folders=())
    assert list(quick_part(names, heavy, quick)) == ["a::r", "c::s", "d::s"]


CASES = """\
<testsuites><testsuite tests="4" failures="1" errors="0" skipped="1" time="2.5">
<testcase classname="src.podwright.online.ui.tests.test_x" name="test_a[1/2-b.py]" />
<testcase classname="tests.ui.test_y.TestIt" name="test_b"><failure /></testcase>
<testcase classname="tests.ui.test_y" name="test_c"><skipped /></testcase>
<testcase classname="docs.x.md" name="line:3,column:1" />
</testsuite></testsuites>"""
COLLECTED = """\
src/podwright/online/ui/tests/test_x.py::test_a[1/2-b.py]
src/podwright/online/ui/tests/test_x.py::test_a[1/2-c.py]
tests/ui/test_y.py::TestIt::test_b
tests/ui/test_y.py::test_c
tests/ui/test_y.py::test_d
docs/x.md::line:3,column:1
"""


def test_the_closing_line_counts_what_did_not_run(tmp_path, capsys) -> None:
    (tmp_path / "one.xml").write_text(CASES, encoding="utf-8")
    (tmp_path / "collected.txt").write_text(COLLECTED, encoding="utf-8")
    assert closing_line(tmp_path) == 1
    assert capsys.readouterr().out == (
        "2 passed, 1 failed, 1 skipped in 2 s; "
        "not run: 1 of 2 tests in src/podwright/online, 2 of 3 tests in tests/ui\n"
    )


def test_the_closing_line_does_not_hide_that_nothing_was_collected(tmp_path, capsys) -> None:
    assert closing_line(tmp_path) == 1
    assert "not run: unknown" in capsys.readouterr().out
