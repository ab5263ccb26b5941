"""`podwright check`: checks scenarios and prints the results, or writes a new scenario."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec

from podwright.apimachinery.objects import FieldError, InputError
from podwright.cli.console import (
    announce_compilation,
    append_to_file,
    print_data,
    print_message,
    print_table,
    write,
    write_file,
)
from podwright.cli.decisions.save_case import write_case
from podwright.cli.file_reading import ErrorCollector
from podwright.cli.inputs import extender_caller, find_key, load_plugins, read_scenario_files
from podwright.cli.recorded.options import CheckOptions
from podwright.cli.recorded.recorded_run import RecordedRun, open_for_command
from podwright.cli.recorded.rendered_manifests import rendered_manifests, with_rendered
from podwright.simulation.files import load
from podwright.simulation.recording import Cycles, find_cycle
from podwright.simulation.scenarios import (
    SNAPSHOT_END,
    CheckReport,
    ScenarioFile,
    check,
    decision_scenario,
    load_scenario,
    snapshot_scenario,
)
from podwright.simulation.world import endless_inputs, simulate


def run_check(options: CheckOptions) -> bool:
    """Check scenarios; return whether all expectations are met.

    Raises
    ------
    InputError
        With all errors of all scenarios.
    """
    collected = ErrorCollector()
    scenarios: list[ScenarioFile] = []
    rendered = [*rendered_manifests(options)]
    for path in options.files:
        with collected:
            scenarios.append(load_scenario(path, read=read_scenario_files))
    for scenario in scenarios:
        with collected:
            # All errors of all scenarios come before the first run.
            for name in scenario.configurations:
                scenario.prepare(configuration=name)
        with collected:
            _require_expectations(scenario)
    collected.raise_all()
    changes: list[str] = []
    for manifests in rendered:
        for index, scenario in enumerate(scenarios):
            scenarios[index], lines = with_rendered(scenario, manifests)
            changes += lines
    for line in changes:
        print_message(line)
    announce_compilation()
    report = check(*scenarios, seed=options.seed, extender_caller=extender_caller)
    if options.junit is not None:
        write_file(options.junit, report.junit().encode())
    if options.summary is not None:
        listed = ["", "```text", *changes, "```", ""] if changes else []
        append_to_file(options.summary, report.markdown() + "\n".join(listed))
    if options.report is not None:
        write_file(options.report, report.html().encode())
    _print(report, options.output)
    return report.passed


def _require_expectations(scenario: ScenarioFile) -> None:
    """Refuse a scenario that nothing is expected of: its check could not fail.

    Raises
    ------
    InputError
    """
    spec = scenario.document.spec
    if spec.expectations or any(each.when or each.wait_until for each in spec.operations):
        return
    message = "Required value: what is to be checked; podwright simulate runs a scenario without"
    error = FieldError(source=scenario.source, path="spec.expectations", message=message)
    raise InputError([error])


def _print(report: CheckReport, output: str) -> None:
    names = (f"{one.scenario}/{one.configuration}/{one.expectation}" for one in report.failed)
    if print_data(output, lambda: {"results": msgspec.to_builtins(report.results)}, names):
        return
    # The failed ones are what a reader looks for.
    shown = report.results if output == "wide" else report.failed or report.results
    rows = [
        (
            "passed" if one.passed else "FAILED",
            one.scenario,
            one.configuration,
            one.expectation,
            one.message,
        )
        for one in shown
    ]
    for run in report.runs:
        found = run.summary.report
        for kind in found.ignored_kinds if found else ():
            print_message(f"warning: {run.scenario}: {kind.count} {kind.kind}: {kind.effect}")
        for each in found.failed_creations if found else ():
            # What does not exist is not pending.
            what = f"{each.owner} could not create a {each.created_kind}"
            print_message(f"warning: {run.scenario}: {what}: {each.message}")
        for warning in run.warnings:
            # Operations that were left out are among the failed expectations.
            if all(warning != one.message for one in report.failed):
                print_message(f"warning: {run.scenario}: {warning}")
    if rows:
        print_table(("RESULT", "SCENARIO", "CONFIGURATION", "EXPECTATION", "FOUND"), rows)
    count, failed = len(report.results), len(report.failed)
    write(f"{count - failed} of {count} expectations are met.")


# -------------------------------------------------------------------------- new scenarios


def run_create(options: CheckOptions) -> bool:
    """Write a new scenario.

    Raises
    ------
    InputError
        If the file exists or cannot be written, or the cluster cannot be read.
    """
    assert options.create is not None, "no file to write"
    if options.from_run is None:
        folder = options.create.parent
        files = [os.path.relpath(name, folder) for name in options.files]
        loaded = load(list(options.files))
        end = SNAPSHOT_END if any(endless_inputs(loaded.sourced)) else ""
        run = simulate(loaded, until=end or None, progress=False)
        document = snapshot_scenario(files, options.create.stem, len(run.pending), end=end)
    else:
        document = _of_decision(options, options.from_run, options.create.parent)
    write_case(options.create, msgspec.yaml.encode(document).decode())
    print_message(f"written; check it with: podwright check {options.create}")
    return True


def _of_decision(options: CheckOptions, run_folder: Path, folder: Path) -> dict[str, Any]:
    run = RecordedRun(run_folder, load_plugins(options.plugins))
    with open_for_command(run):
        cycles = Cycles(run.log)
        key = find_key(options.decision, cycles.pods, where="in the run")
        past = find_cycle(run.log, key, options.attempt, plugins=run.plugins, cycles=cycles)
        files = [os.path.relpath(path, folder) for path in options.plugins]
        return decision_scenario(past, run.log.setup, files)
