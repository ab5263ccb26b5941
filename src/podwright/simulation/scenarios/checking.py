"""Checks: each configuration of a scenario is simulated, and compared with the expectations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from xml.etree import ElementTree as ET

import msgspec

from podwright.scheduler.config import KubeSchedulerConfiguration
from podwright.scheduler.framework import CallExtender
from podwright.simulation.scenarios.document import Expectation
from podwright.simulation.scenarios.expectations import (
    CheckedRun,
    CheckResult,
    RunObserver,
    expectation_names,
    found_by,
    same_placement,
)
from podwright.simulation.scenarios.scenario_file import ScenarioFile
from podwright.simulation.world import RunArguments, started_run

OPERATIONS = "operations"
"""The name of the expectation that the conditions of all operations came to hold."""


class CheckReport(msgspec.Struct, frozen=True):
    """The results of the checks of scenarios.

    Attributes
    ----------
    results : tuple of CheckResult
    """

    results: tuple[CheckResult, ...] = ()

    @property
    def failed(self) -> tuple[CheckResult, ...]:
        """The expectations that are not met."""
        return tuple(result for result in self.results if not result.passed)

    @property
    def passed(self) -> bool:
        """Whether all expectations are met."""
        return not self.failed

    def __repr__(self) -> str:
        return f"<CheckReport: {len(self.results)} expectations, {len(self.failed)} failed>"

    def junit(self) -> str:
        """Return the results as JUnit XML: a suite for each scenario and configuration."""
        root = ET.Element(
            "testsuites", tests=str(len(self.results)), failures=str(len(self.failed))
        )
        for name, results in self._groups().items():
            failures = sum(not one.passed for one in results)
            suite = ET.SubElement(
                root, "testsuite", name=name, tests=str(len(results)), failures=str(failures)
            )
            for one in results:
                case = ET.SubElement(suite, "testcase", classname=name, name=one.expectation)
                if not one.passed:
                    ET.SubElement(case, "failure", message=one.message).text = one.message
        ET.indent(root)
        return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, "unicode") + "\n"

    def markdown(self) -> str:
        """Return the results as Markdown, for the summary of a pull request."""
        count, failed = len(self.results), len(self.failed)
        verdict = f"{failed} of {count} expectations failed" if failed else f"{count} passed"
        lines = [f"### podwright check: {verdict}", "", "| | scenario | expectation | found |"]
        lines.append("|---|---|---|---|")
        for one in sorted(self.results, key=lambda one: one.passed):
            mark = "✅" if one.passed else "❌"
            cells = (f"{one.scenario} ({one.configuration})", one.expectation, one.message)
            shown = (cell.replace("|", "\\|").replace("\n", " ") for cell in cells)
            lines.append(f"| {mark} | {' | '.join(shown)} |")
        return "\n".join(lines) + "\n"

    def _groups(self) -> dict[str, list[CheckResult]]:
        found: dict[str, list[CheckResult]] = {}
        for one in self.results:
            found.setdefault(f"{one.scenario} ({one.configuration})", []).append(one)
        return found


ExtenderCaller = Callable[[KubeSchedulerConfiguration | None, str], CallExtender | None]
"""Returns what calls the extenders of a configuration, given its source."""


def check(
    *scenarios: ScenarioFile,
    seed: int | None = None,
    extender_caller: Callable[[KubeSchedulerConfiguration | None, str], CallExtender | None]
    | None = None,
) -> CheckReport:
    """Simulate scenarios with each of their configurations, and compare them with what is expected.

    Parameters
    ----------
    scenarios : ScenarioFile
    seed : int, optional
        In place of those of the scenarios.
    extender_caller : callable, optional
        Needed for configurations with extenders.

    Returns
    -------
    CheckReport

    Raises
    ------
    InputError
        With all errors of a scenario.
    """
    return CheckReport(
        tuple(one for each in scenarios for one in _results(each, seed, extender_caller))
    )


def _results(
    scenario: ScenarioFile, seed: int | None, extender_caller: ExtenderCaller | None
) -> Iterator[CheckResult]:
    runs: dict[str, CheckedRun] = {}
    expectations = scenario.document.spec.expectations
    named = list(zip(expectation_names(expectations), expectations, strict=True))
    for configuration in scenario.configurations:
        observer = RunObserver()
        prepared = scenario.prepare(configuration=configuration, seed=seed, observers=(observer,))
        if extender_caller is not None:
            call = extender_caller(prepared.options.scheduler.configuration, scenario.source)
            options = msgspec.structs.replace(prepared.options, call_extender=call)
            prepared = prepared._replace(options=options)
        run = started_run(prepared, RunArguments(progress=False))
        observer.end(run.end_ns)
        checked = runs[configuration] = CheckedRun(run, observer)
        found = [(OPERATIONS, False, unmet) for unmet in run.unmet]
        found += [
            (name, *found_by(expectation, checked))
            for name, expectation in named
            if not expectation.same_placement and _concerns(expectation, configuration)
        ]
        for name, passed, message in found:
            yield CheckResult(
                scenario=scenario.name,
                configuration=configuration,
                expectation=name,
                passed=passed,
                message=message,
            )
    yield from _same(scenario, named, runs)


def _same(
    scenario: ScenarioFile, named: Iterable[tuple[str, Expectation]], runs: dict[str, CheckedRun]
) -> Iterator[CheckResult]:
    for name, expectation in named:
        first, *others = expectation.same_placement or ("",)
        for other in others:
            passed, message = same_placement(runs[first].run, runs[other].run)
            yield CheckResult(
                scenario=scenario.name,
                configuration=f"{first}, {other}",
                expectation=name,
                passed=passed,
                message=message,
            )


def _concerns(expectation: Expectation, configuration: str) -> bool:
    return not expectation.configurations or configuration in expectation.configurations
