"""Checks: each configuration of a scenario is simulated, and compared with the expectations."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import groupby
from os import PathLike
from xml.etree import ElementTree as ET

import msgspec

from podwright._html import bars, page, section, whole_table
from podwright.scheduler.config import KubeSchedulerConfiguration
from podwright.scheduler.framework import CallExtender
from podwright.simulation.scenarios.expectations import (
    CheckedRun,
    CheckResult,
    Found,
    RunObserver,
    expectation_names,
    found_by,
    same_placement,
)
from podwright.simulation.scenarios.reading import load_scenario
from podwright.simulation.scenarios.scenario_file import ScenarioFile
from podwright.simulation.world import Observer, RunArguments, Summary, started_run

OPERATIONS = "operations"
"""The name of the expectation that the conditions of all operations came to hold."""


class ScenarioRun(msgspec.Struct, frozen=True, kw_only=True):
    """What a run of a scenario came to.

    Attributes
    ----------
    scenario, configuration : str
        Their names.
    summary : Summary
    warnings : tuple of str
    """

    scenario: str
    configuration: str
    summary: Summary
    warnings: tuple[str, ...] = ()

    @property
    def where(self) -> str:
        """The scenario and its configuration."""
        return f"{self.scenario} ({self.configuration})"


class CheckReport(msgspec.Struct, frozen=True):
    """The results of the checks of scenarios.

    Attributes
    ----------
    results : tuple of CheckResult
    runs : tuple of ScenarioRun
        Of each scenario with each of its configurations.
    """

    results: tuple[CheckResult, ...] = ()
    runs: tuple[ScenarioRun, ...] = ()

    @property
    def failed(self) -> tuple[CheckResult, ...]:
        """The expectations that are not met."""
        return tuple(result for result in self.results if not result.passed)

    @property
    def passed(self) -> bool:
        """Whether scenarios were run, and all expectations are met."""
        return bool(self.runs) and not self.failed

    def __repr__(self) -> str:
        return f"<CheckReport: {len(self.results)} expectations, {len(self.failed)} failed>"

    def junit(self) -> str:
        """Return the results as JUnit XML: a suite for each scenario and configuration."""
        root = ET.Element(
            "testsuites", tests=str(len(self.results)), failures=str(len(self.failed))
        )
        for name, group in groupby(self.results, lambda one: one.where):
            results = list(group)
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
            cells = (one.where, one.expectation, one.message)
            shown = (cell.replace("|", "\\|").replace("\n", " ") for cell in cells)
            lines.append(f"| {mark} | {' | '.join(shown)} |")
        return "\n".join(lines) + "\n"

    def html(self) -> str:
        """Return the results and the figures of the runs as a page: findings first."""
        summaries = {one.where: one.summary for one in self.runs}
        resources = dict.fromkeys(name for one in summaries.values() for name in one.utilization)
        figures: dict[str, dict[str, float]] = {
            "Pending pods": {name: one.pending_count for name, one in summaries.items()},
            "Longest wait, in seconds": {name: one.waits.max_s for name, one in summaries.items()},
        }
        figures |= {
            f"Mean utilization of {resource}, in percent": {
                name: round(100 * one.utilization[resource].mean, 2)
                for name, one in summaries.items()
                if resource in one.utilization
            }
            for resource in resources
        }
        expectations = [
            (
                "passed" if one.passed else "failed",
                one.scenario,
                one.configuration,
                one.expectation,
                one.message,
            )
            for one in sorted(self.results, key=lambda one: one.passed)
        ]
        heads = ("Result", "Scenario", "Configuration", "Expectation", "Found")
        parts = [bars(title, counts) for title, counts in figures.items()]
        parts.append(whole_table("Expectations", heads, expectations))
        for name, one in summaries.items():
            parts += [section(name), one._repr_html_()]
            parts += [] if one.report is None else [one.report._repr_html_()]
        return page("Scenarios", self._findings(), parts)

    def _findings(self) -> Iterator[str]:
        if self.results:
            met = len(self.results) - len(self.failed)
            yield f"{met} of {len(self.results)} expectations are met."
        for one in self.failed:
            yield f"{one.where}, {one.expectation}: {one.message}"
        for run in self.runs:
            name, summary = run.where, run.summary
            yield (
                f"{name}: {summary.counts.placed} of {summary.counts.created} pods were placed,"
                f" {summary.pending_count} are pending at the end;"
                f" the longest wait was {summary.waits.max_s:.6g} s."
            )
            for reason, count in summary.pending.items():
                yield f"{name}: {count} pods are pending: {reason}"
            yield from (f"{name}: {warning}" for warning in run.warnings)


ExtenderCaller = Callable[[KubeSchedulerConfiguration | None, str], CallExtender | None]
"""Returns what calls the extenders of a configuration, given its source."""


def check(
    *scenarios: ScenarioFile | str | PathLike[str],
    seed: int | None = None,
    extender_caller: Callable[[KubeSchedulerConfiguration | None, str], CallExtender | None]
    | None = None,
    observers: tuple[Observer, ...] = (),
) -> CheckReport:
    """Simulate scenarios with each of their configurations, and compare them with what is expected.

    Parameters
    ----------
    scenarios : ScenarioFile or path
    seed : int, optional
        In place of those of the scenarios.
    extender_caller : callable, optional
        Needed for configurations with extenders.
    observers : tuple of Observer
        Of the worlds of all runs.

    Returns
    -------
    CheckReport

    Raises
    ------
    InputError
        With all errors of a scenario.
    """
    results: list[CheckResult] = []
    runs: list[ScenarioRun] = []
    for each in scenarios:
        scenario = each if isinstance(each, ScenarioFile) else load_scenario(each)
        checked = {
            name: _checked_run(scenario, name, seed, extender_caller, observers)
            for name in scenario.configurations
        }
        results += _results(scenario, checked)
        runs += (
            ScenarioRun(
                scenario=scenario.name,
                configuration=name,
                summary=one.run.summary,
                warnings=tuple(one.run.warnings),
            )
            for name, one in checked.items()
        )
    return CheckReport(tuple(results), tuple(runs))


def _checked_run(
    scenario: ScenarioFile,
    configuration: str,
    seed: int | None,
    extender_caller: ExtenderCaller | None,
    observers: tuple[Observer, ...],
) -> CheckedRun:
    observer = RunObserver()
    prepared = scenario.prepare(
        configuration=configuration, seed=seed, observers=(observer, *observers)
    )
    if extender_caller is not None:
        call = extender_caller(prepared.options.scheduler.configuration, scenario.source)
        options = msgspec.structs.replace(prepared.options, call_extender=call)
        prepared = prepared._replace(options=options)
    run = started_run(prepared, RunArguments(progress=False))
    observer.end(run.end_ns)
    return CheckedRun(run, observer)


def _results(scenario: ScenarioFile, runs: dict[str, CheckedRun]) -> Iterator[CheckResult]:
    expectations = scenario.document.spec.expectations
    named = list(zip(expectation_names(expectations), expectations, strict=True))

    def result(configuration: str, name: str, found: Found) -> CheckResult:
        return CheckResult(
            scenario=scenario.name,
            configuration=configuration,
            expectation=name,
            passed=found[0],
            message=found[1],
        )

    for configuration, checked in runs.items():
        for unmet in checked.run.unmet:
            yield result(configuration, OPERATIONS, (False, unmet))
        for name, expectation in named:
            concerns = configuration in (expectation.configurations or runs)
            if concerns and not expectation.same_placement:
                yield result(configuration, name, found_by(expectation, checked))
    for name, expectation in named:
        for other in expectation.same_placement[1:]:
            first = expectation.same_placement[0]
            found = same_placement(runs[first], runs[other])
            yield result(f"{first}, {other}", name, found)
