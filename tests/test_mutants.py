"""The mutation tests: operators, draws, and failures."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from cosmic_ray.mutating import mutate_code
from tests.mutants import report
from tests.mutants.__main__ import known_killers, needed, share_of
from tests.mutants.areas import ROOT, modules_of, read_settings
from tests.mutants.equivalent import (
    Equivalent,
    UnknownEquivalentError,
    declared_among,
    read_equivalents,
)
from tests.mutants.in_memory import Collected, codes_of, only_functions_differ
from tests.mutants.operators import OURS, operators
from tests.mutants.reach import Reach, digest_of_tests, is_beside
from tests.mutants.report import Tally
from tests.mutants.sample import Mutant, all_of, draw, possible, source_of, statements_in
from tests.mutants.workers import STOPPED, Observer, Outcome, Run, Trace

SETTINGS = read_settings()
FLOORS = ("apimachinery", "scheduler", "cluster", "simulation", "online")
MODULE = Path("src/podwright/scheduler/queueing/subqueues.py")


def mutants_of_module(seed: int = 1) -> list[Mutant]:
    found = possible("queueing", "backoff.py", MODULE, seed)
    return sorted(found, key=lambda mutant: mutant.rank)


@pytest.mark.parametrize(
    ("operator", "example"),
    [(operator, example) for operator in OURS for example in operator.examples()],
)
def test_an_operator_of_our_own_does_what_its_examples_show(operator, example) -> None:
    assert mutate_code(example.pre_mutation_code, operator(), 0) == example.post_mutation_code


def test_a_seed_draws_the_same_mutants_each_time() -> None:
    first, again = ([mutant.key for mutant in draw(mutants_of_module(), 10)] for _ in range(2))
    other = [mutant.key for mutant in draw(mutants_of_module(seed=2), 10)]
    assert len(first) == 10
    assert first == again
    assert first != other


def test_a_mutant_differs_from_its_module_in_the_line_it_names() -> None:
    for mutant in draw(mutants_of_module(), 10):
        before, after = MODULE.read_text().splitlines(), mutant.source.splitlines()
        assert before[: mutant.line - 1] == after[: mutant.line - 1]
        assert before[mutant.line - 1] != after[mutant.line - 1]
        compile(mutant.source, "mutant", "exec", dont_inherit=True)


def test_a_change_is_what_cosmic_ray_writes_and_leaves_the_others_as_they_are() -> None:
    one_of_each = {mutant.operator: mutant for mutant in mutants_of_module()}.values()
    assert len(one_of_each) > 20
    for mutant in one_of_each:
        operator = operators()[mutant.operator]
        written = mutate_code(source_of(mutant.path), operator, mutant.occurrence)
        assert mutant.source == written, mutant.operator


def test_a_share_is_drawn_from_the_modules_with_killers_and_declarations() -> None:
    entries, killers = read_equivalents(), known_killers()
    modules = needed("queueing", SETTINGS, entries)
    declared = {entry.module for entry in entries if entry.area == "queueing"}
    assert declared <= modules < set(modules_of(SETTINGS.areas["queueing"]))
    some, every = ({"queueing": all_of("queueing", SETTINGS, 36, of)} for of in (modules, None))
    keys = [mutant.key for mutant in share_of(some, killers, 20)]
    assert keys
    assert keys == [mutant.key for mutant in share_of(every, killers, 20)]


def test_annotations_and_assertions_are_not_mutated(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("tests.mutants.sample.ROOT", tmp_path)
    module = Path("annotated.py")
    (tmp_path / module).write_text(
        "if TYPE_CHECKING:\n"
        "    first()\n"
        "def first(a: int | None, *, b: str | None = None) -> int | None:\n"
        "    assert a < 3 and b is None\n"
        "    c: int | None = a\n"
        "    return c\n"
    )
    assert list(possible("queueing", "annotated.py", module, 1)) == []


def test_how_many_results_a_cache_keeps_is_not_mutated(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("tests.mutants.sample.ROOT", tmp_path)
    decorators = ["@lru_cache(maxsize=8, typed=True)", "@cache_short(8)", "@chosen(8)"]
    module = Path("cached.py")
    (tmp_path / module).write_text("".join(f"{each}\ndef f(): ...\n" for each in decorators))
    found = {mutant.mutated for mutant in possible("queueing", "cached.py", module, 1)}
    assert found == {"@lru_cache(maxsize=8, typed=False)", "@chosen( 7)", "@chosen( 9)"}


def keys_of(folder: Path, name: str, text: str) -> set[str]:
    """Return the identities of all mutants of a module, by its text."""
    path = folder / name / "rule.py"
    path.parent.mkdir()
    path.write_text(text, encoding="utf-8")
    return {mutant.key for mutant in possible("machine", "rule.py", path, seed=1)}


def test_a_mutant_is_the_same_after_a_change_of_prose(tmp_path) -> None:
    code = 'def less(a, b):\n    """{doc}"""\n    return a {sign} b  # {comment}\n'
    texts = {
        "before": code.format(doc="Compare.", sign="<", comment="why"),
        "prose": code.format(doc="Return whether a is less.", sign="<", comment="because"),
        "code": code.format(doc="Compare.", sign="<=", comment="why"),
    }
    found = {name: keys_of(tmp_path, name, text) for name, text in texts.items()}
    assert found["before"]
    assert found["before"] == found["prose"]
    assert found["before"].isdisjoint(found["code"])


def test_every_module_is_in_one_area() -> None:
    source = ROOT / "src/podwright"
    modules = {path for path in source.rglob("*.py") if "tests" not in path.parts}
    found = [path for area in SETTINGS.areas.values() for path in modules_of(area).values()]
    # A floor has a face, which only says what its rooms are.
    faces = {source / floor / "__init__.py" for floor in FLOORS}
    assert sorted(found) == sorted(modules - faces - {source / "_version.py"})


def test_an_area_draws_mutants_by_its_size() -> None:
    counts = {name: SETTINGS.mutants_of(name) for name in SETTINGS.areas}
    assert 20 <= min(counts.values()) <= max(counts.values()) <= 60
    assert counts["preemption"] < counts["schema"]


def test_the_lines_of_a_statement_are_its_own() -> None:
    path = Path("tests/mutants/workers.py")
    lines = (ROOT / path).read_text(encoding="utf-8").splitlines()
    found = {lines[part.start - 1].strip(): len(part) for part in statements_in(path)}
    assert found["if not run.path:"] == 1
    assert found["self._coverage = coverage.Coverage("] == 6


def test_a_test_runs_lines_by_their_bits() -> None:
    trace = Trace(lines={"a.py": (1 << 3 | 1 << 20).to_bytes(4, "little")})
    assert trace.runs("a.py", range(20, 21))
    assert trace.runs("a.py", range(1, 4))
    assert not trace.runs("a.py", range(4, 20))
    assert not trace.runs("a.py", range(21, 30))
    assert not trace.runs("b.py", range(1, 30))


def test_a_test_module_that_does_not_end_is_left_out_and_the_others_are_recorded(
    tmp_path, monkeypatch
) -> None:
    path, statement = MODULE.as_posix(), next(iter(mutants_of_module())).statement
    lines = (1 << statement.start).to_bytes(64, "little")
    hanging, ending = "tests/test_times.py", "tests/test_mutants.py"

    def perform(run: Run) -> Outcome:
        if run.files == (hanging,):
            return Outcome(failed=STOPPED, log="waits for a lock")
        return Outcome(traces={"": Trace(), f"{ending}::test": Trace(lines={path: lines})})

    monkeypatch.setattr("tests.mutants.reach.perform", perform)
    reach = Reach(tmp_path / "reach.msgpack", is_compiled=True)
    with ThreadPoolExecutor(1) as pool:
        failing = reach.learn([hanging, ending], [path], pool)
    assert failing == []
    assert reach.unfinished == {hanging: f"{STOPPED}\nwaits for a lock"}
    mutant = next(iter(mutants_of_module()))
    assert reach.tests_for(mutant, [hanging, ending], 1) == {f"{ending}::test": 0.0}


def test_a_line_that_no_test_runs_is_tested_by_those_that_run_its_module(
    tmp_path, monkeypatch
) -> None:
    mutant = mutants_of_module()[0]
    path, other = MODULE.as_posix(), (1 << mutant.statement.stop).to_bytes(64, "little")
    monkeypatch.setattr("tests.mutants.reach.digest_of", lambda file: file)
    traces = {
        "": Trace(),
        "t::forks": Trace(seconds=2, lines={path: other}),
        "t::fast": Trace(seconds=1, lines={"a.py": other}),
    }
    monkeypatch.setattr("tests.mutants.reach.perform", lambda _: Outcome(traces=traces))
    reach = Reach(tmp_path / "reach.msgpack", is_compiled=True)
    file = "tests/test_mutants.py"
    with ThreadPoolExecutor(1) as pool:
        reach.learn([file], [path], pool)
    assert list(reach.tests_for(mutant, [file], 9)) == ["t::forks", "t::fast"]
    seen = (1 << mutant.statement.start).to_bytes(64, "little")
    traces["t::fast"].lines[path] = seen
    assert list(reach.tests_for(mutant, [file], 9)) == ["t::fast", "t::forks"]


def test_tests_that_may_read_what_runs_at_import_come_before_long_ones(
    tmp_path, monkeypatch
) -> None:
    mutant = mutants_of_module()[0]
    path, seen = MODULE.as_posix(), (1 << mutant.statement.start).to_bytes(64, "little")
    other = (1 << mutant.statement.stop).to_bytes(64, "little")
    monkeypatch.setattr("tests.mutants.reach.digest_of", lambda file: file)
    traces = {
        "": Trace(lines={path: seen}),
        "t::calls": Trace(seconds=6, lines={path: other}),
        "t::long": Trace(seconds=1),
        "t::reads": Trace(seconds=0.001),
    }
    structs = {"": Trace(), "s::all": Trace(seconds=3, lines={path: seen})}
    files = {"tests/test_mutants.py": traces, "tests/test_structs.py": structs}
    monkeypatch.setattr(
        "tests.mutants.reach.perform", lambda run: Outcome(traces=files[run.files[0]])
    )
    reach = Reach(tmp_path / "reach.msgpack", is_compiled=True)
    with ThreadPoolExecutor(1) as pool:
        reach.learn(files, [path], pool)
    found = reach.tests_for(mutant, files, 9.5, {}, ["tests/test_structs.py"])
    assert list(found) == ["s::all", "t::reads", "t::calls"]


def test_cases_of_a_table_that_has_changed_are_run() -> None:
    run = Run(files=("t.py",), tests={"t.py::b": 1, "t.py::a[1]": 1, "t.py::a[2]": 1})
    items: Any = [SimpleNamespace(nodeid=f"t.py::{name}") for name in ("a[1]", "a[3]", "b", "c[1]")]
    Observer(run).pytest_collection_modifyitems(items)
    assert [item.nodeid for item in items] == ["t.py::b", "t.py::a[1]", "t.py::a[3]"]
    unchanged: Any = [SimpleNamespace(nodeid=f"t.py::{name}") for name in ("a[1]", "a[2]", "a[3]")]
    present = Run(files=run.files, tests={"t.py::a[1]": 1, "t.py::a[2]": 1})
    Observer(present).pytest_collection_modifyitems(unchanged)
    assert [item.nodeid for item in unchanged] == ["t.py::a[1]", "t.py::a[2]"]


def test_a_record_depends_on_the_data_beside_the_tests(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("tests.mutants.reach.ROOT", tmp_path)
    (tmp_path / "test_a.py").write_text("")
    digests = []
    for name, text in (("test_a.py", ""), ("cases.txt", "1"), ("cases.txt", "2"), ("b.py", "")):
        (tmp_path / name).write_text(text)
        digest_of_tests.cache_clear()
        digests.append(digest_of_tests("test_a.py"))
    first, with_data, changed, with_module = digests
    assert len({first, with_data, changed}) == 3
    assert with_module == changed


def test_tests_beside_a_module_are_near() -> None:
    assert is_beside(Path("src/podwright/scheduler/queueing/tests/test_backoff.py"), MODULE)
    assert not is_beside(Path("src/podwright/scheduler/machine/tests/test_cycle.py"), MODULE)
    assert not is_beside(Path("tests/stories/test_stories.py"), MODULE)
    of_package = Path("src/podwright/tests/test_faces.py")
    assert is_beside(of_package, Path("src/podwright/_faces.py"))
    assert not is_beside(of_package, MODULE)


def test_a_declared_mutant_is_found_wherever_its_line_stands() -> None:
    mutant = mutants_of_module()[0]
    entry = Equivalent(
        area="queueing",
        module="backoff.py",
        line=mutant.text,
        mutated=mutant.mutated,
        reason="for this test",
    )
    assert mutant.key in declared_among(mutants_of_module(), [entry])


@pytest.mark.parametrize(
    ("line", "reason", "complaint"),
    [
        ("no such line", "for this test", "no mutant makes it"),
        ("no such line", " ", "it has no reason"),
    ],
)
def test_a_declaration_without_a_mutant_or_a_reason_is_refused(line, reason, complaint) -> None:
    entry = Equivalent(
        area="queueing", module="backoff.py", line=line, mutated="pass", reason=reason
    )
    with pytest.raises(UnknownEquivalentError, match=complaint):
        declared_among(mutants_of_module(), [entry])


def test_every_declared_mutant_has_a_reason_and_an_area() -> None:
    for entry in read_equivalents():
        assert entry.reason.strip()
        assert entry.area in SETTINGS.areas


def test_every_declared_line_is_in_the_module_that_is_named() -> None:
    modules = {name: modules_of(area) for name, area in SETTINGS.areas.items()}
    for entry in read_equivalents():
        path = modules[entry.area].get(entry.module)
        assert path is not None, f"{entry.area}: {entry.module}: there is no such module"
        lines = {" ".join(line.split()) for line in path.read_text(encoding="utf-8").splitlines()}
        assert entry.line in lines, f"{path}: {entry.line}"


@pytest.mark.parametrize(
    ("counts", "share", "complaints"),
    [
        ({"one": Tally(drawn=100, killed=95, survived=5)}, False, []),
        ({"one": Tally(drawn=100, killed=94, survived=6)}, False, ["one: 94.0 %"]),
        (
            {
                "one": Tally(drawn=100, killed=100),
                "two": Tally(drawn=10, killed=8, survived=2),
            },
            False,
            ["two: 80.0 %"],
        ),
        ({"one": Tally(drawn=10, declared=1, killed=9)}, False, ["1 of 10 are declared"]),
        ({"one": Tally(drawn=10, killed=9)}, False, ["1 mutants were not tried"]),
        ({"one": Tally(drawn=20, killed=19, survived=1)}, True, ["1 survived"]),
        ({"one": Tally(drawn=20, killed=20)}, True, []),
        ({"one": Tally(drawn=1, declared=1)}, False, ["no mutant was tried"]),
        ({}, True, ["no mutant was tried"]),
    ],
)
def test_a_run_fails_when_too_few_are_killed_or_none_was_tried(counts, share, complaints) -> None:
    found = list(report.shortcomings(counts, SETTINGS, none_may_survive=share))
    assert len(found) == len(complaints), found
    for line, start in zip(found, complaints, strict=True):
        assert line.startswith(start)


RULE = """\
LIMIT = 3


def fits(count):
    def within():
        return count < LIMIT
    return within()


def ends(count):
    while count:
        count -= 1


PAIR = (lambda: 1, lambda: 2)


class Room:
    size = 2

    def has(self, count):
        return count <= self.size
"""


@pytest.mark.parametrize(
    ("old", "new", "is_replaced"),
    [
        ("count < LIMIT", "count <= LIMIT", True),
        ("count <= self.size", "not self.size", True),
        ("return within()", "pass", True),
        ("count < LIMIT", "1 < LIMIT", True),
        ("LIMIT = 3", "LIMIT = 4", False),
        ("size = 2", "size = 1", False),
        ("def fits(count)", "def fits(count=1)", False),
        ("def has(", "def had(", False),
        ("count <= self.size", "count  <=  self.size", False),
    ],
)
def test_only_the_code_of_functions_is_replaced(old, new, is_replaced) -> None:
    before, after = codes_of(RULE, "rule.py"), codes_of(RULE.replace(old, new), "rule.py")
    assert only_functions_differ(before, after) == is_replaced


def test_a_collected_test_finds_mutants_in_memory(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "rule_to_mutate.py").write_text(RULE)
    (tmp_path / "test_rule.py").write_text(
        "import os, rule_to_mutate as rule\n"
        "def test_fits(): assert rule.fits(2) and not rule.fits(4)\n"
        "def test_ends(): assert rule.ends(3) is None\n"
        "def test_room(): assert rule.Room().has(1)\n"
        "def test_room_of_two(): assert not rule.Room().has(3)\n"
        "def test_always_fails(): assert False\n"
        "def test_always_ends(): os._exit(3)\n"
        "def test_pair(): assert [each() for each in rule.PAIR] == [1, 2]\n"
    )
    collected = Collected(("test_rule.py",), tmp_path / "log", is_compiled=True)

    def failed_test(old: str, new: str, names: tuple[str, ...]) -> str | None:
        tests = {f"test_rule.py::test_{name}": 0.0 for name in names}
        run = Run(
            path="rule_to_mutate.py",
            source=RULE.replace(old, new),
            files=("test_rule.py",),
            tests=tests,
        )
        outcome = collected.perform(run)
        return None if outcome is None else outcome.failed.partition("::test_")[2] or outcome.failed

    try:
        every = ("fits", "ends", "room", "room_of_two")
        assert failed_test("count < LIMIT", "count >= LIMIT", every) == "fits"
        # Between 2 and 4 nothing is tested.
        assert failed_test("count < LIMIT", "count <= LIMIT", every) is None
        assert failed_test("LIMIT = 3", "LIMIT = 9", every) is None
        assert failed_test("count <= self.size", "count or self.size", ("room",)) is None
        assert failed_test("count <= self.size", "count or self.size", every) == "room_of_two"
        assert failed_test("count -= 1", "pass", ("ends",)) == STOPPED
        assert failed_test("count < LIMIT", "count < (", every) == "not a module"
        # What fails or ends without a change is left to a run of its own.
        for name in ("always_fails", "always_ends"):
            assert failed_test("count < LIMIT", "count >= LIMIT", (name, *every)) is None
        # Which of the two is changed cannot be known.
        assert failed_test("lambda: 2", "lambda: 3", ("pair",)) is None
        assert failed_test("count < LIMIT", "count >= LIMIT", ("pair", "fits")) == "fits"
    finally:
        collected.close()
    assert failed_test("count < LIMIT", "count >= LIMIT", every) is None
