"""`podwright shadow`: compares a record with podwright's decisions and prints the differences."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from podwright.apimachinery.objects import FieldError, InputError, quoted
from podwright.cli.clusters.options import ShadowOptions
from podwright.cli.console import (
    announce_compilation,
    print_data,
    print_heading,
    print_message,
    print_paragraph,
    print_table,
    print_warnings,
    progress,
    write,
)
from podwright.cli.file_reading import ErrorCollector, reading_files
from podwright.cli.inputs import inputs_of, warn_of_idle
from podwright.simulation.files import (
    LoadedObjects,
    Record,
    SchedulerLog,
    load_record,
    load_scheduler_log,
)
from podwright.simulation.shadow import Finding, Shadow, ShadowReport, report_of

RECORD = "record.jsonl"
_LOG = "scheduler.jsonl"


def run_shadow(options: ShadowOptions) -> bool:
    """Compare and print; return whether at most the allowed share is unexplained."""
    path, output = options.record, options.output
    collected = ErrorCollector()
    record, log = Record(source=""), None
    with reading_files() as watch:
        with collected:
            file = _record_in(path)
            record = load_record(file, watch=watch)
        with collected:
            near_ns = record.lines[0].seen_ns if record.lines else 0
            log = _log_of(options, near_ns)
            if "delay" in options.given and log is not None:
                message = (
                    f"has no effect with {log.source}, which has the times; add --no-scheduler-log"
                )
                raise InputError([FieldError(source="options", path="--delay", message=message)])
        inputs = inputs_of(LoadedObjects(), options.setup, collected)
        collected.raise_all()
        print_warnings(record.warnings)
        warn_of_idle(inputs, "configuration", "decisions")
        shadow = Shadow(
            record,
            log,
            delay_ns=round(options.delay * 1e9),
            configuration=inputs.configuration,
            gates=inputs.gates,
            plugins=inputs.plugins,
            source=inputs.source,
        )
    if record.unterminated_line:
        print_message(
            f"warning: {record.source}: line {record.unterminated_line}: "
            "ignored, since it has no line feed"
        )
    warn_of_others(path, shadow.other_bindings)
    announce_compilation()
    looked_at = progress(shadow.findings(), "comparing decisions", shadow.attempt_count)
    findings = [finding for finding in looked_at if finding is not None]
    report = report_of(
        findings, failed_count=shadow.failed_count, same_message_count=shadow.same_message_count
    )
    heads = {"record": record.source, "schedulerLog": None if log is None else log.source}
    differing = dict.fromkeys(one.pod for one in findings if one.outcome != "agreed")
    if not print_data(output, lambda: heads | msgspec.to_builtins(report), differing):
        _print(report, record, log, findings, shows_all=output == "wide")
    counted = (report.bindings, report.preemptions)
    return all(100 * one.unexplained <= options.allow * one.total for one in counted)


def warn_of_others(path: Path, bindings: Mapping[str, int]) -> None:
    """Warn of the bindings that are not compared, by the schedulers that made them."""
    print_warnings(
        f"{path}: {count} bindings of pods with the schedulerName {quoted(name)} are not compared; "
        "give the configuration of this scheduler with --config"
        for name, count in sorted(bindings.items())
    )


# ---------------------------------------------------------------- finding the files


def _record_in(path: Path) -> Path:
    return _packed_or_not(path / RECORD) if path.is_dir() else path


def _log_of(options: ShadowOptions, near_ns: int) -> SchedulerLog | None:
    """Read the given scheduler log, or the one next to the record."""
    path, log_path = options.record, options.scheduler_log
    if log_path is not None and options.no_scheduler_log:
        message = "--scheduler-log cannot be combined with --no-scheduler-log"
        raise InputError([FieldError(source=str(log_path), path="", message=message)])
    if log_path is None:
        log_path = _packed_or_not((path if path.is_dir() else path.parent) / _LOG)
        if options.no_scheduler_log or not log_path.exists():
            return None
    return load_scheduler_log(log_path, near_ns=near_ns)


def _packed_or_not(path: Path) -> Path:
    packed = path.with_name(f"{path.name}.gz")
    return packed if packed.exists() and not path.exists() else path


# ---------------------------------------------------------------- printing


def _print(
    report: ShadowReport,
    record: Record,
    log: SchedulerLog | None,
    findings: list[Finding],
    *,
    shows_all: bool,
) -> None:
    log_text = "without a scheduler log" if log is None else f"with {log.source}"
    print_paragraph(f"{record.source}: {len(record.lines)} changes, {log_text}")
    shown = [one for one in findings if shows_all or one.outcome != "agreed"]
    if shown:
        print_heading("Decisions:" if shows_all else "Differences:")
    for one in shown:
        print_paragraph(f"line {one.line}: {one.what} of {one.pod}: {one.outcome}", indent=2)
        for text in _describe(one):
            print_paragraph(text, indent=4, hanging=2)
    print_agreement(report)


def print_agreement(report: ShadowReport) -> None:
    """Print the counts of a report, ending with a line for scripts."""
    print_heading("Agreement:")
    counted = {"bindings": report.bindings, "preemptions": report.preemptions}
    print_table(
        ("WHAT", "TOTAL", "AGREED", "EXPLAINED", "UNEXPLAINED", "AGREED OR EXPLAINED"),
        [
            (
                what,
                str(one.total),
                str(one.agreed),
                str(one.explained),
                str(one.unexplained),
                _percentage(one.total - one.unexplained, one.total),
            )
            for what, one in counted.items()
        ],
    )
    reasons = [
        (what, reason, str(times))
        for what, one in counted.items()
        for reason, times in one.explained_by.items()
    ]
    if reasons:
        print_heading("Explained by:")
        print_table(("WHAT", "REASON", "TIMES"), reasons)
    failed = report.failed_attempts
    if failed.total:
        print_heading("Attempts without a feasible node:")
        same, total = failed.same_message, failed.total
        share = _percentage(same, total)
        print_paragraph(f"{same} of {total} failed for the same reasons in podwright ({share})")
    write("")
    write(
        f"bindings={report.bindings.total} agreed={report.bindings.agreed} "
        f"explained={report.bindings.explained} unexplained={report.bindings.unexplained}"
    )


def _describe(finding: Finding) -> list[str]:
    """Return the choices of both schedulers, the difference of scores, and its explanation."""
    lines = [f"chosen:    {finding.node}"]
    if finding.best and finding.best != finding.node:
        lines.append(f"podwright: {finding.best}")
    victims, our_victims = (each or () for each in (finding.victims, finding.our_victims))
    if victims:
        lines.append(f"victims: {', '.join(victims)}")
    if our_victims and set(our_victims) != set(victims):
        lines.append(f"podwright's victims there: {', '.join(our_victims)}")
    if finding.rejection:
        lines.append(f"podwright rejects it: {finding.rejection}")
    if finding.scores:
        given = [f"{one.plugin} {one.chosen}, not {one.best}" for one in finding.scores]
        behind = sum(one.best - one.chosen for one in finding.scores)
        points = "point" if behind == 1 else "points"
        lines.append(f"{behind} {points} behind: {'; '.join(given)}")
    if finding.explanation:
        reasons = f"{' + '.join(finding.reasons)}: " if finding.reasons else ""
        lines.append(f"{reasons}{finding.explanation}")
    return lines


def _percentage(part: int, whole: int) -> str:
    return f"{100 * part / whole:.2f} %" if whole else "-"
