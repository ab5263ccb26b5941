"""`podwright trace`: the options."""

from __future__ import annotations

from podwright.cli.options import command_app, reject_idle
from podwright.cli.research.options import (
    TraceAnonymizeOptions,
    TraceCutOptions,
    TraceDescribeOptions,
    TraceGenerateOptions,
    TraceMergeOptions,
    TraceScaleOptions,
)

app = command_app()


@app.callback()
def _trace() -> None:
    """Describe, change or generate a trace of pods that arrive over time."""


@app.command(
    examples=[
        "podwright trace describe examples/trace/jobs.csv --columns examples/trace/columns.yaml"
    ]
)
def describe(options: TraceDescribeOptions) -> None:
    """Print what a trace consists of: times between arrivals, run times and requests.

    PEAK is the greatest sum of a request if each pod ran at its arrival.
    """
    from podwright.cli.research.trace_run import run_describe

    run_describe(options)


@app.command(examples=["podwright trace cut examples/trace/pods.csv --before 1h --out part.jsonl"])
def cut(options: TraceCutOptions) -> None:
    """Write a part of a trace: a span of time, a number of pods, a share of them."""
    if "seed" in options.given and "share" not in options.given:
        reject_idle("--seed", "without --share", "nothing is drawn")
    from podwright.cli.research.trace_run import run_cut

    run_cut(options)


@app.command(
    examples=["podwright trace scale examples/trace/pods.csv --pod-factor 1.5 --out more.jsonl"]
)
def scale(options: TraceScaleOptions) -> None:
    """Write a trace with another load: more pods, a faster arrival, larger or longer pods."""
    if "seed" in options.given and "pod_factor" not in options.given:
        reject_idle("--seed", "without --pod-factor", "nothing is drawn")
    from podwright.cli.research.trace_run import run_scale

    run_scale(options)


@app.command(
    examples=[
        "podwright trace merge examples/trace/pods.csv examples/trace/pods.csv"
        " --prefix a --prefix b --out both.jsonl"
    ]
)
def merge(options: TraceMergeOptions) -> None:
    """Write several traces as one; each starts at the start."""
    from podwright.cli.research.trace_run import run_merge

    run_merge(options)


@app.command(examples=["podwright trace anonymize examples/trace/pods.csv --out shared.jsonl"])
def anonymize(options: TraceAnonymizeOptions) -> None:
    """Write a trace with numbers for names, and with nothing that scheduling does not read.

    Names of pods, namespaces and groups, and keys and values of labels, become numbers. Times,
    requests, priorities, tolerations and the names of extended resources stay.
    """
    from podwright.cli.research.trace_run import run_anonymize

    run_anonymize(options)


@app.command(
    examples=[
        "podwright trace generate --model examples/trace/model.yaml --pods 100 --out new.jsonl",
        "podwright trace generate --like examples/trace/pods.csv --print-model",
    ]
)
def generate(options: TraceGenerateOptions) -> None:
    """Write pods drawn from a model, which is in a file or fitted to a trace.

    The same model and seed make the same pods.
    """
    from podwright.cli.research.trace_run import run_generate

    run_generate(options)
