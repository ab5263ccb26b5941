"""The choice of tests: what `make test`, `make ci` and `make rest` run.

A pytest plugin, with these options:

``--part ci``
    Every test that is not in ``heavy.toml``, of each suite there its share, at least the first
    test, and of each property a part of its examples (profile ``quick`` of Hypothesis).
``--part quick``
    What `make test` runs: of those, a few cases of each table, one in so many of the tests that
    take whole servers, processes or runs, and none of the suites of which `make ci` runs the first
    test alone; ``[quick]`` of ``heavy.toml`` has the numbers. Tests that are named, by a path or
    by ``-k``, all run.
``--part rest``
    What ``ci`` leaves out, and the properties with all their examples.
``--lines counted``
    Of the part only vectors, properties, stories, extenders, and the tests beside the rooms whose
    lines are counted, ``source`` of ``[tool.coverage.run]``; with ``none`` all others. Counting
    makes tests take twice as long.
``--collected FILE``
    Write the names of all tests there are, of every marker; ``tools/closing_line.py`` subtracts
    those that ran.
``--cpu N``
    Print the `N` tests that took most seconds of CPU, processes that they waited for included.
"""

from __future__ import annotations

import os
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
from hypothesis import is_hypothesis_test, settings

ROOT: Final = Path(__file__).parents[1]
HEAVY: Final = ROOT / "tests/heavy.toml"
_JUDGES: Final = ("tests/extenders", "tests/golden", "tests/properties", "tests/stories")
_CPU: Final = "cpu_seconds"
_COUNTS: Final = pytest.StashKey[dict[str, int]]()
_STARTED: Final = pytest.StashKey[float]()
_ELSEWHERE: Final = """\
Left out: tests with binaries of Kubernetes (make test-e2e), long suites (make test-all),
benchmarks (make bench)."""


class Suite(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A heavy file, a heavy test with all its cases, or one heavy case.

    Attributes
    ----------
    test : str
        Its node id, without parameters for all cases; the name of a file for all of its tests.
    cpu_seconds : float
        User and system time of all its cases, child processes included.
    buys : str
        What no quicker test shows.
    one_in : int
        Of so many cases or tests, `make ci` runs the first; 0: it runs the first of all alone.
    """

    test: str
    cpu_seconds: float
    buys: str
    one_in: int = 1


class Quick(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What `make test` takes of the tests that `make ci` runs.

    Attributes
    ----------
    cases : int
        At most so many of the cases of a table, evenly spread, the first one of them.
    one_in : int
        Of so many tests of a file in `folders`, the first.
    folders : tuple of str
        Where a test takes a whole server, process or run.
    """

    cases: int
    one_in: int
    folders: tuple[str, ...]


class Choice(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The contents of ``heavy.toml``."""

    quick: Quick
    suite: tuple[Suite, ...]


@cache
def choice() -> Choice:
    """Return the contents of ``heavy.toml``."""
    return msgspec.convert(tomllib.loads(HEAVY.read_text(encoding="utf-8")), Choice)


def suites() -> dict[str, Suite]:
    """Return the heavy suites by their test."""
    return {each.test: each for each in choice().suite}


def suite_of(name: str, heavy: Mapping[str, Suite]) -> Suite | None:
    """Return the heavy suite of a test."""
    function = name.partition("[")[0]
    return heavy.get(name) or heavy.get(function) or heavy.get(function.partition("::")[0])


def ci_part(names: Iterable[str], heavy: Mapping[str, Suite]) -> Iterator[str]:
    """Yield the names of the tests that `make ci` runs: of each suite one in so many."""
    seen = Counter[str]()
    for name in names:
        suite = suite_of(name, heavy)
        if suite is None:
            yield name
            continue
        number = seen[suite.test]
        if not number or (suite.one_in and number % suite.one_in == 0):
            yield name
        seen[suite.test] += 1


def quick_part(names: Iterable[str], heavy: Mapping[str, Suite], quick: Quick) -> Iterator[str]:
    """Yield the names of the tests that `make test` runs."""
    tables: dict[str, list[str]] = {}
    for name in ci_part(names, heavy):
        suite = suite_of(name, heavy)
        if suite is None or suite.one_in:
            tables.setdefault(name.partition("[")[0], []).append(name)
    seen = Counter[str]()
    for table, cases in tables.items():
        file = Path(table.partition("::")[0])
        is_whole = any(file.is_relative_to(folder) for folder in quick.folders)
        count = min(len(cases), quick.cases)
        for number in range(count):
            if not is_whole or seen[str(file)] % quick.one_in == 0:
                yield cases[number * len(cases) // count]
            seen[str(file)] += 1


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Return one worker more than there are cores: a tenth of the time tests only wait."""
    return (os.cpu_count() or 1) + 1


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options."""
    parser.addoption(
        "--part", choices=("quick", "ci", "rest"), help="of the tests (tests/choice.py)"
    )
    parser.addoption(
        "--lines", choices=("counted", "none"), help="tests that count lines, or the others"
    )
    parser.addoption("--collected", metavar="FILE", help="write the names of all tests")
    parser.addoption("--cpu", type=int, metavar="N", help="print the N tests that took most CPU")


def pytest_configure(config: pytest.Config) -> None:
    """Take fewer examples of properties for these parts; run all tests that are named."""
    if config.option.keyword or names_tests(config):
        config.option.part = None
    if config.option.part not in (None, "rest") and "HYPOTHESIS_PROFILE" not in os.environ:
        settings.load_profile("quick")


@cache
def counting_folders() -> tuple[Path, ...]:
    """Return the folders of the tests that count: the rooms, and what judges them."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    rooms = settings["tool"]["coverage"]["run"]["source"]
    return tuple(ROOT / each for each in (*rooms, *_JUDGES))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out the tests that do not count lines, or those that do."""
    if config.option.lines is None:
        return None
    is_inside = any(collection_path.is_relative_to(each) for each in counting_folders())
    if config.option.lines == "none":
        return is_inside or None
    is_above = any(each.is_relative_to(collection_path) for each in counting_folders())
    return None if is_inside or is_above else True


def names_tests(config: pytest.Config) -> bool:
    """Whether the command line names tests, by a path."""
    return config.args_source is pytest.Config.ArgsSource.ARGS


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> Iterator[None]:
    """Write what was collected; after the markers have chosen, leave the other part out."""
    worker = getattr(config, "workerinput", {"workerid": "gw0"})["workerid"]
    if config.option.collected and worker == "gw0":
        file = Path(config.option.collected)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(f"{item.nodeid}\n" for item in items), encoding="utf-8")
    yield
    if config.option.part is None:
        return
    before = len(items)
    part, names, heavy = config.option.part, [item.nodeid for item in items], suites()
    is_quick = part == "quick"
    chosen = set(quick_part(names, heavy, choice().quick) if is_quick else ci_part(names, heavy))
    if part == "rest":
        items[:] = [item for item in items if item.nodeid not in chosen or _is_property(item)]
    else:
        items[:] = [item for item in items if item.nodeid in chosen]
    config.stash[_COUNTS] = {"all": before, "run": len(items)}


def _is_property(item: pytest.Item) -> bool:
    """Whether the profile of Hypothesis decides how much a test tries."""
    is_generated = is_hypothesis_test(getattr(item, "obj", None))
    return is_generated or item.get_closest_marker("property") is not None


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Send the counts from a worker."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["counts"] = session.config.stash.get(_COUNTS, None)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take the counts of a worker: all have the same."""
    counts = getattr(node, "workeroutput", {}).get("counts")
    if counts is not None:
        node.config.stash[_COUNTS] = counts


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Take the time."""
    item.stash[_STARTED] = _cpu_seconds()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    """Note the time that a test has taken, for its last report."""
    yield
    if item.config.option.cpu:
        item.user_properties.append((_CPU, _cpu_seconds() - item.stash[_STARTED]))


def _cpu_seconds() -> float:
    """Return user and system time of this process and of those that it has waited for."""
    return sum(os.times()[:4])


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Print what took long, and what a run of all tests leaves out."""
    if config.option.cpu:
        taken = Counter[str]()
        for report in (one for each in terminalreporter.stats.values() for one in each):
            taken[getattr(report, "nodeid", "")] += dict(
                getattr(report, "user_properties", ())
            ).get(_CPU, 0)
        terminalreporter.section(f"{taken.total():,.0f} s of CPU")
        for name, seconds in taken.most_common(config.option.cpu):
            terminalreporter.write_line(f"{seconds:8.2f} s  {name}")
    counts = config.stash.get(_COUNTS, None)
    if counts is not None and config.option.part == "quick":
        terminalreporter.write_line(
            f"{counts['all'] - counts['run']:,} of {counts['all']:,} tests were left to `make ci`"
            " and `make rest`, and most examples of the properties (tests/heavy.toml)."
        )
    if not names_tests(config) and "not e2e" in (config.option.markexpr or ""):
        terminalreporter.write_line(_ELSEWHERE)
