"""`podwright trace`: reads traces, changes them line by line, and writes or describes them."""

from __future__ import annotations

from pathlib import Path

import msgspec

from podwright.apimachinery.objects import parse_duration
from podwright.cli.console import (
    duration_text,
    print_data,
    print_document,
    print_message,
    print_table,
    write,
)
from podwright.cli.research.options import (
    TraceChange,
    TraceCutOptions,
    TraceDescribeOptions,
    TraceGenerateOptions,
    TraceInput,
    TraceMergeOptions,
    TraceScaleOptions,
    wrong,
)
from podwright.simulation.world import (
    TraceFigure,
    TraceLines,
    anonymize,
    columns_named,
    cut,
    describe,
    fit,
    generate,
    load_model,
    merge,
    read_trace_lines,
    scale,
    write_lines,
)

_HEADS = ("FIGURE", "PODS", "MEAN", "MIN", "P50", "P90", "P99", "MAX", "PEAK")
_TIMES = ("time between arrivals", "run time")
_MEBIBYTE = 2**20


def run_describe(options: TraceDescribeOptions) -> None:
    """Print what a trace consists of."""
    found = describe(_lines(options.file, options))
    if print_data(options.output, lambda: msgspec.to_builtins(found), found.figures):
        return
    span = duration_text(round(found.span_seconds * 1e9))
    write(f"{found.pods} pods arrive in {span}; {found.endless} of them do not end.")
    if found.others:
        others = ", ".join(f"{number} {kind}" for kind, number in found.others.items())
        write(f"Besides pods: {others}.")
    print_table(_HEADS, [_row(name, each) for name, each in found.figures.items()])


def _row(name: str, figure: TraceFigure) -> tuple[str, ...]:
    values = (figure.mean, figure.minimum, figure.p50, figure.p90, figure.p99, figure.maximum)
    peak = "" if figure.peak is None else _text(name, figure.peak)
    label = f"{name} (MiB)" if name == "memory" else name
    return (label, str(figure.pods), *(_text(name, each) for each in values), peak)


def _text(name: str, value: float) -> str:
    if name in _TIMES:
        return duration_text(round(value * 1e9))
    return f"{value / _MEBIBYTE if name == 'memory' else value:.6g}"


def run_cut(options: TraceCutOptions) -> None:
    """Write a part of a trace."""
    if not 0 < options.share <= 1:
        raise wrong("--share", "must be a share above 0 and at most 1.")
    start_ns = _duration("--after", options.after)
    end_ns = _duration("--before", options.before) if options.before else None
    if end_ns is not None and end_ns <= start_ns:
        raise wrong("--before", "is not after the start of the part.")
    lines = cut(
        _lines(options.file, options),
        from_ns=start_ns,
        to_ns=end_ns,
        first=options.pods,
        share=options.share,
        seed=options.seed,
        with_running=options.with_running,
    )
    _write(lines, options.out)


def run_scale(options: TraceScaleOptions) -> None:
    """Write a trace with another load."""
    for name in ("rate", "pod", "request", "duration"):
        if getattr(options, f"{name}_factor") <= 0:
            raise wrong(f"--{name}-factor", "must be a number above 0.")
    lines = scale(
        _lines(options.file, options),
        rate=options.rate_factor,
        pods=options.pod_factor,
        requests=options.request_factor,
        duration=options.duration_factor,
        seed=options.seed,
    )
    _write(lines, options.out)


def run_merge(options: TraceMergeOptions) -> None:
    """Write several traces as one."""
    if options.prefix and len(options.prefix) != len(options.files):
        message = f"{len(options.prefix)} for {len(options.files)} files; specify one for each."
        raise wrong("--prefix", message)
    traces = [_lines(file, options) for file in options.files]
    _write(merge(traces, options.prefix), options.out)


def run_anonymize(options: TraceChange) -> None:
    """Write a trace without names."""
    _write(anonymize(_lines(options.file, options), warn=print_message), options.out)


def run_generate(options: TraceGenerateOptions) -> None:
    """Write the pods of a model, or print the model."""
    if (options.model is None) == (not options.like):
        raise wrong("--model", "specify one of --model and --like.")
    model = load_model(options.model) if options.model else fit(_lines(options.like, options))
    if options.print_model:
        print_document(model.document(), "yaml")
        return
    if options.out is None:
        raise wrong("--out", "specify a file, or --print-model.")
    until_ns = _duration("--before", options.before) if options.before else None
    if options.pods is None and until_ns is None:
        raise wrong("--pods", "specify --pods or --before.")
    lines = generate(model, pods=options.pods, until_ns=until_ns, seed=options.seed)
    _write(lines, options.out)


def _lines(file: str, given: TraceInput) -> TraceLines:
    columns = columns_named(given.columns) if given.columns else None
    return read_trace_lines(file, columns, is_sorted=not given.sort, warn=print_message)


def _write(lines: TraceLines, path: Path) -> None:
    pods = write_lines(lines, str(path), warn=print_message)
    print_message(f"{path}: {pods} pods")


def _duration(name: str, text: str) -> int:
    try:
        found = parse_duration(text)
    except ValueError:
        found = -1
    if found < 0:
        raise wrong(name, f'"{text}" is not a duration such as 90s or 24h.')
    return found
