"""The commands about experiments and traces."""

from __future__ import annotations

from podwright.cli.options import command, command_group, reject_idle
from podwright.cli.research.options import (
    FgdOptions,
    SweepOptions,
    TraceChange,
    TraceCutOptions,
    TraceDescribeOptions,
    TraceGenerateOptions,
    TraceMergeOptions,
    TraceScaleOptions,
    TuneOptions,
)


@command(examples=["podwright sweep examples/sweep/plan.yaml --out results --jobs 1"])
def sweep(options: SweepOptions) -> bool:
    """Simulate configurations x inputs x seeds, and compare their figures.

    Runs are executed by Dask, on processes of this machine or on the workers of a scheduler.
    Each result is one Parquet file of the folder; a sweep that is started again does what is
    missing. The first configuration of the plan is what the others are compared with, run by run
    with the same seed.

    Exit status 1 if runs failed.
    """
    from podwright.cli.research.plan_run import run_sweep

    return run_sweep(options)


@command(
    examples=["podwright tune examples/sweep/tune.yaml --out tuned --jobs 1 --trials 4 || true"]
)
def tune(options: TuneOptions) -> bool:
    """Tune a scheduler configuration, and show the evidence for the result on held-out seeds.

    The plan is the plan of a sweep, with goals and a section `tune`: which weights, arguments and
    other fields of the first configuration vary, and how. Optuna proposes trials, whose runs are
    executed like those of a sweep. The best configuration is written to best.yaml, with the
    evidence for it: the differences from all configurations of the plan on seeds that no trial
    used, what it makes worse, and which pods it places differently.

    Exit status 1 if the result is not better than the first configuration.
    """
    from podwright.cli.research.plan_run import run_tune

    return run_tune(options)


study = command_group("Repeat a published experiment.")


@study.command(
    examples=[
        "podwright study fgd examples/gpu-trace --seeds 42-43 --jobs 1",
        "podwright study fgd examples/gpu-trace --only 04-GpuPacking --print-config",
    ]
)
def fgd(options: FgdOptions) -> None:
    """Repeat the study of GPU fragmentation on the openb trace.

    The pods of each list arrive in a random order until the GPUs are full, by each of six
    policies. The table has the allocated share of the GPUs when the pods that arrived request 100
    and 130 percent of them, as means over the seeds, beside the published means.

    With --out, the figures are drawn: allocation and fragments over the arrived load.
    """
    from podwright.cli.research.fgd_run import run_fgd_study

    run_fgd_study(options)


trace = command_group("Describe, change or generate a trace of pods that arrive over time.")


@trace.command(
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


@trace.command(
    examples=["podwright trace cut examples/trace/pods.csv --before 1h --out part.jsonl"]
)
def cut(options: TraceCutOptions) -> None:
    """Write a part of a trace: a span of time, a number of pods, a share of them."""
    if "seed" in options.given and "share" not in options.given:
        reject_idle("--seed", "without --share", "nothing is drawn")
    from podwright.cli.research.trace_run import run_cut

    run_cut(options)


@trace.command(
    examples=["podwright trace scale examples/trace/pods.csv --pod-factor 1.5 --out more.jsonl"]
)
def scale(options: TraceScaleOptions) -> None:
    """Write a trace with another load: more pods, a faster arrival, larger or longer pods."""
    if "seed" in options.given and "pod_factor" not in options.given:
        reject_idle("--seed", "without --pod-factor", "nothing is drawn")
    from podwright.cli.research.trace_run import run_scale

    run_scale(options)


@trace.command(
    examples=[
        "podwright trace merge examples/trace/pods.csv examples/trace/pods.csv"
        " --prefix a --prefix b --out both.jsonl"
    ]
)
def merge(options: TraceMergeOptions) -> None:
    """Merge several traces into one in which all of them start at the same time."""
    from podwright.cli.research.trace_run import run_merge

    run_merge(options)


@trace.command(examples=["podwright trace anonymize examples/trace/pods.csv --out shared.jsonl"])
def anonymize(options: TraceChange) -> None:
    """Write a trace with numbers in place of names, and only with what scheduling reads.

    Names of pods, namespaces, groups and priority classes, and keys and values of labels, become
    numbers; the keys of hostnames, zones, regions and instance types stay. Times, requests,
    priorities, tolerations and the names of schedulers and extended resources stay.
    """
    from podwright.cli.research.trace_run import run_anonymize

    run_anonymize(options)


@trace.command(
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
