"""`podwright parity`: runs golden vectors and prints the agreement."""

from __future__ import annotations

import sys
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from podwright.apimachinery.objects import FieldError, InputError
from podwright.cli.console import (
    announce_compilation,
    print_data,
    print_heading,
    print_message,
    print_paragraph,
    print_table,
    progress,
)
from podwright.cli.decisions.options import ParityOptions
from podwright.simulation.files import unpacked
from podwright.testing.parity import Case, FamilyReport, check_cases, problem_of

_SUFFIXES = (".jsonl", ".jsonl.gz", ".ndjson")


def run_parity(options: ParityOptions) -> bool:
    """Check all vectors and print the agreement; return whether any were compared and all agree."""
    differences, output = options.differences, options.output
    cases = list(_read(options.files))
    announce_compilation()
    reports: dict[str, FamilyReport] = {}
    for case in progress(cases, "comparing", len(cases)):
        check_cases([case], reports)
    differing = dict.fromkeys(m.case for report in reports.values() for m in report.mismatches)
    families = (_document(report, differences) for report in reports.values())
    if not print_data(output, lambda: {"families": list(families)}, differing):
        _print(reports, differences, is_wide=output == "wide")
        print_message(_summary(reports))
    is_compared = any(report.cases for report in reports.values())
    return is_compared and not any(report.mismatches for report in reports.values())


# ---------------------------------------------------------------- reading


def _read(files: Sequence[str]) -> Iterator[Case]:
    errors: list[FieldError] = []
    cases: list[Case] = []
    for source, data in _contents(files, errors):
        if not data.strip():
            errors.append(FieldError(source=source, path="", message="contains no vectors"))
        for number, line in enumerate(data.split(b"\n"), start=1):
            if not line.strip():
                continue
            message = ""
            try:
                case = msgspec.json.decode(line)
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                message = f"not JSON: {error}"
            except RecursionError:
                message = "nested too deeply"
            else:
                message = problem_of(case if isinstance(case, dict) else {})
                if not message:
                    cases.append(case)
            if message:
                place = f"{source}: line {number}"
                errors.append(FieldError(source=place, path="", message=message))
                break  # After an invalid line, the others of the file are usually invalid too.
    if errors:
        raise InputError(errors)
    yield from cases


def _contents(files: Sequence[str], errors: list[FieldError]) -> Iterator[tuple[str, bytes]]:
    for name in files:
        if name == "-":
            yield "stdin", sys.stdin.buffer.read()
            continue
        path = Path(name)
        inside = sorted(p for p in path.rglob("*") if p.name.endswith(_SUFFIXES) and p.is_file())
        if path.is_dir() and not inside:
            message = f"contains no vectors (files that end in {', '.join(_SUFFIXES)})"
            errors.append(FieldError(source=name, path="", message=message))
        for file in inside if path.is_dir() else [path]:
            try:
                data = file.read_bytes()
                yield str(file), unpacked(data)
            except (OSError, EOFError, zlib.error) as error:
                reason = getattr(error, "strerror", None) or error
                message = f"cannot be read: {reason}"
                errors.append(FieldError(source=str(file), path="", message=message))


# ---------------------------------------------------------------- printing


def _document(report: FamilyReport, differences: int) -> dict[str, Any]:
    return {
        "family": report.family,
        "cases": report.cases,
        "agreeingCases": report.agreeing_cases,
        "fields": {
            field: {"compared": count, "agreeing": report.agreeing_fields[field]}
            for field, count in report.fields.items()
        },
        "leftOut": dict(report.left_out),
        "differenceCount": len(report.mismatches),
        "differences": [
            {"case": m.case, "field": m.field, "expected": m.expected, "actual": m.actual}
            for m in report.mismatches[:differences]
        ],
    }


def _print(reports: dict[str, FamilyReport], differences: int, *, is_wide: bool) -> None:
    heads = ("FAMILY", "CASES", "AGREE", "FIELDS", "AGREE", "SKIPPED")
    print_table(heads, [_family_row(report) for report in reports.values()])
    differing = [report for report in reports.values() if report.mismatches]
    _print_fields(reports, differing, is_wide=is_wide)
    left_out = [
        (report.family, str(count), reason)
        for report in reports.values()
        for reason, count in report.left_out.items()
    ]
    if left_out:
        print_heading("Skipped (not compared and not counted above):")
        print_table(("FAMILY", "TIMES", "REASON"), left_out)
    _print_differences(differing, differences)


def _print_fields(
    reports: dict[str, FamilyReport], differing: Sequence[FamilyReport], *, is_wide: bool
) -> None:
    """Print agreements per field, for all families together or for each family."""
    if not is_wide:
        compared, agreeing = Counter[str](), Counter[str]()
        for report in reports.values():
            compared.update(report.fields)
            agreeing.update(report.agreeing_fields)
        rows = [(field, str(n), str(agreeing[field])) for field, n in compared.items()]
        if rows:
            print_heading("Per field, all families together (-o wide: per family):")
            print_table(("FIELD", "COMPARED", "AGREE"), rows)
    shown = list(reports.values()) if is_wide else differing
    by_family = [
        (report.family, field, str(n), str(report.agreeing_fields[field]))
        for report in shown
        for field, n in report.fields.items()
    ]
    if by_family:
        print_heading("Per field:" if is_wide else "Per field, in families with differences:")
        print_table(("FAMILY", "FIELD", "COMPARED", "AGREE"), by_family)


def _family_row(report: FamilyReport) -> tuple[str, ...]:
    return (
        report.family,
        str(report.cases),
        str(report.agreeing_cases),
        str(report.fields.total()),
        str(report.agreeing_fields.total()),
        str(report.left_out.total()),
    )


def _print_differences(differing: Sequence[FamilyReport], limit: int) -> None:
    mismatches = [mismatch for report in differing for mismatch in report.mismatches]
    if not mismatches or not limit:
        return
    print_heading(f"First differences ({min(limit, len(mismatches))} of {len(mismatches)}):")
    for mismatch in mismatches[:limit]:
        print_paragraph(f"{mismatch.case}: {mismatch.field}", indent=2)
        print_paragraph(f"kube-scheduler: {_shown(mismatch.expected)}", indent=4, hanging=2)
        print_paragraph(f"podwright:      {_shown(mismatch.actual)}", indent=4, hanging=2)


def _shown(value: object) -> str:
    try:
        return msgspec.json.encode(value).decode()
    except TypeError:
        return repr(value)


def _summary(reports: dict[str, FamilyReport]) -> str:
    cases = sum(report.cases for report in reports.values())
    agreeing = sum(report.agreeing_cases for report in reports.values())
    left_out = sum(report.left_out.total() for report in reports.values())
    text = f"{agreeing} of {cases} cases agree in every field"
    return f"{text}; {left_out} skipped." if left_out else f"{text}."
