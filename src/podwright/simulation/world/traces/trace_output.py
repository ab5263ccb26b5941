"""What a trace consists of, and traces as files that commands read."""

from __future__ import annotations

import heapq
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from math import ceil
from typing import Any, Final

import msgspec
import numpy as np

from podwright.apimachinery.objects import (
    CREATION_TIME,
    DELETION_TIME,
    GPU_CARD_MODEL,
    GPU_COUNT,
    GPU_MILLI,
    SCHEDULED_TIME,
    Document,
    InputError,
    unsupported,
)
from podwright.cluster.api import pod_amounts
from podwright.cluster.kubelets import RUN_DELAY
from podwright.simulation.files import write_trace
from podwright.simulation.world.inputs.frame_columns import ORIGINAL_NAME
from podwright.simulation.world.inputs.workload import PackedLines, Workload
from podwright.simulation.world.runs.run_options import PathLike
from podwright.simulation.world.traces.trace_changes import SCHEDULED, run_ns_of
from podwright.simulation.world.traces.trace_lines import (
    SECOND_NS,
    TraceLine,
    TraceLines,
    columns_named,
    read_trace_lines,
)
from podwright.simulation.world.traces.trace_model import generate, load_model

_MEBIBYTE: Final = 2**20
_HEADER: Final = (
    b"name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,"
    b"deletion_time,scheduled_time\n"
)
_NOTES: Final = ("alibabacloud.com/qos", "alibabacloud.com/pod-phase")
_IN_TABLE: Final = frozenset({*SCHEDULED, *_NOTES, ORIGINAL_NAME})
_SPEC_IN_TABLE: Final = frozenset({"containers", "restartPolicy", "schedulerName"})


class TraceFigure(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The distribution of a value over the pods that have it.

    Attributes
    ----------
    pods : int
        How many pods have it.
    mean, minimum, p50, p90, p99, maximum : float
        Over these pods.
    peak : float, optional
        The most of all pods at once, in a cluster where each pod runs at its arrival.
    """

    pods: int
    mean: float
    minimum: float
    p50: float
    p90: float
    p99: float
    maximum: float
    peak: float | None = None


class TraceDescription(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What a trace consists of.

    Attributes
    ----------
    pods, endless : int
        The number of pods, and of those that do not end.
    others : dict of str to int
        Other objects by kind, and other actions.
    span_seconds : float
        From the start to the last arrival.
    figures : dict of str to TraceFigure
        Of the run time in seconds, the time between arrivals in seconds, and requests: cores,
        bytes, units.
    """

    pods: int
    endless: int
    others: dict[str, int]
    span_seconds: float
    figures: dict[str, TraceFigure]


def describe(lines: Iterable[TraceLine]) -> TraceDescription:
    """Describe the trace `lines`; 8 bytes for each value stay in memory."""
    gaps, runs = array("d"), array("d")
    amounts: dict[str, array[float]] = {}
    present: dict[str, float] = {}
    peaks: dict[str, float] = {}
    ends: list[tuple[int, int, dict[str, float]]] = []
    others: Counter[str] = Counter()
    pods, last_ns = 0, 0
    for line in lines:
        pod = line.pod
        if pod is None:
            others[line.what] += 1
            continue
        if pods:
            gaps.append((line.at_ns - last_ns) / SECOND_NS)
        pods, last_ns = pods + 1, line.at_ns
        while ends and ends[0][0] <= line.at_ns:
            for name, amount in heapq.heappop(ends)[2].items():
                present[name] -= amount
        requests = {
            name: amount.nano / 10**9 for name, amount in pod_amounts(pod, "requests").items()
        }
        annotations = (pod.get("metadata") or {}).get("annotations") or {}
        gpus = annotations.get(GPU_COUNT, ""), annotations.get(GPU_MILLI, "1000")
        if all(map(str.isdigit, gpus)):  # others count as none, as upstream
            requests[GPU_MILLI] = float(gpus[0]) * float(gpus[1])
        for name, amount in requests.items():
            amounts.setdefault(name, array("d")).append(amount)
            present[name] = present.get(name, 0.0) + amount
            peaks[name] = max(peaks.get(name, 0.0), present[name])
        run_ns = run_ns_of(pod)
        if run_ns is not None:
            runs.append(run_ns / SECOND_NS)
            heapq.heappush(ends, (line.at_ns + run_ns, pods, requests))
    values = {"time between arrivals": gaps, "run time": runs, **dict(sorted(amounts.items()))}
    return TraceDescription(
        pods=pods,
        endless=pods - len(runs),
        others=dict(sorted(others.items())),
        span_seconds=last_ns / SECOND_NS,
        figures={name: _figure(each, peaks.get(name)) for name, each in values.items() if each},
    )


def _figure(values: array[float], peak: float | None) -> TraceFigure:
    found = np.frombuffer(values, dtype=np.float64)
    shares = [0, 0.5, 0.9, 0.99, 1]
    low, p50, p90, p99, high = np.quantile(found, shares, method="inverted_cdf").tolist()
    mean = float(found.mean())
    return TraceFigure(
        pods=len(values), mean=mean, minimum=low, p50=p50, p90=p90, p99=p99, maximum=high, peak=peak
    )


def write_lines(
    lines: Iterable[TraceLine], path: str, *, warn: Callable[[str], object] = lambda _: None
) -> int:
    """Write a trace; the suffix decides the format. Return the number of pods.

    `.jsonl` has event lines, for `simulate --events` and sweeps. `.json` has a List of pods with
    their times, and `.csv` the pod table of openb: every command reads these two.

    Parameters
    ----------
    lines : iterable of TraceLine
        The trace.
    path : str
        The file.
    warn : callable
        Receives a sentence about what the format cannot hold.

    Raises
    ------
    InputError
        If it cannot be written, or its suffix is another one. There is no file then.
    """
    suffix = next((each for each in _WRITERS if path.endswith(each)), None)
    if suffix is None:
        message = unsupported(path.rpartition("/")[2], [f"*{each}" for each in _WRITERS])
        raise InputError.of(path, message)
    counts: Counter[str] = Counter()
    left_out: Counter[str] = Counter()
    write_trace(path, _WRITERS[suffix](_counted(lines, counts), left_out))
    for what, number in sorted((+left_out).items()):
        warn(f"{what} of {number} left out: {suffix} has no place for it; .jsonl has")
    return counts["Pod"]


def _counted(lines: Iterable[TraceLine], counts: Counter[str]) -> TraceLines:
    for line in lines:
        counts[line.what] += 1
        yield line


def _event_lines(lines: TraceLines, _: Counter[str]) -> Iterator[bytes]:
    return (line.encoded() for line in lines)


def _manifest(lines: TraceLines, left_out: Counter[str]) -> Iterator[bytes]:
    yield b'{"apiVersion": "v1", "kind": "List", "items": [\n'
    separator = b""
    for line in lines:
        applied = line.applied
        if not applied:
            left_out[f"action {line.what}"] += 1
            continue
        if line.pod is not None:
            applied = _with_times(line.at_ns, applied, left_out)
        elif line.at_ns:
            left_out[f"time of {line.what}"] += 1
        yield separator + msgspec.json.encode(applied)
        separator = b",\n"
    yield b"\n]}\n"


def _with_times(at_ns: int, pod: Document, left_out: Counter[str]) -> Document:
    metadata = pod["metadata"]
    created, ended = _seconds(at_ns, pod, left_out)
    given = dict(metadata.get("annotations") or {})
    given.pop(RUN_DELAY, None)
    times = {CREATION_TIME: created, SCHEDULED_TIME: created}
    times |= {DELETION_TIME: ended} if ended else {}
    return {**pod, "metadata": {**metadata, "annotations": given | times}}


def _seconds(at_ns: int, pod: Document, left_out: Counter[str]) -> tuple[str, str]:
    """Return when a pod is created and when it ends, in whole seconds; empty if it does not."""
    created, run_ns = at_ns // SECOND_NS, run_ns_of(pod)
    if at_ns % SECOND_NS or (run_ns or 0) % SECOND_NS:
        left_out["part of a second"] += 1
    return str(created), "" if run_ns is None else str(created + -(-run_ns // SECOND_NS))


def _table(lines: TraceLines, left_out: Counter[str]) -> Iterator[bytes]:
    yield _HEADER
    for line in lines:
        pod = line.pod
        if pod is None:
            left_out[line.what] += 1
            continue
        metadata = pod["metadata"]
        requests = {
            name: Fraction(each.nano, 10**9) for name, each in pod_amounts(pod, "requests").items()
        }
        annotations = metadata.get("annotations") or {}
        created, ended = _seconds(line.at_ns, pod, left_out)
        cells: list[Any] = [
            metadata["name"],
            ceil(requests.pop("cpu", 0) * 1000),
            ceil(requests.pop("memory", Fraction(0)) / _MEBIBYTE),
            annotations.get(GPU_COUNT, 0),
            annotations.get(GPU_MILLI, 0),
            *(annotations.get(each, "") for each in (GPU_CARD_MODEL, *_NOTES)),
            *(created, ended, created),
        ]
        left_out.update(f"request for {name}" for name in requests)
        left_out.update(f"spec.{name}" for name in pod["spec"] if name not in _SPEC_IN_TABLE)
        left_out.update(f"annotation {name}" for name in annotations if name not in _IN_TABLE)
        left_out["namespace"] += metadata.get("namespace", "default") != "default"
        left_out["labels"] += bool(metadata.get("labels"))
        yield ",".join(map(str, cells)).encode() + b"\n"


_WRITERS: Final = {".jsonl": _event_lines, ".json": _manifest, ".csv": _table}


# -------------------------------------------------------------------------- Python


def read_trace(
    path: str | PathLike, *, columns: str | PathLike | None = None, is_sorted: bool = True
) -> Workload:
    """Read a trace from a file, for `simulate(..., events=...)`.

    Parameters
    ----------
    path : path
        An openb table, a manifest, a SimKube trace, a file of events; or with `columns` another
        table: CSV, JSON, JSON lines, Parquet or SQLite.
    columns : str or path, optional
        The name of shipped columns, such as `helios`, or a file: see docs/howto/traces.md.
    is_sorted : bool
        Whether the rows of a table are in the order of arrival.

    Returns
    -------
    Workload

    Raises
    ------
    InputError
        With all mistakes of the columns, or of a part of the rows.
    """
    found = None if columns is None else columns_named(str(columns))
    warnings: list[str] = []
    lines = read_trace_lines(str(path), found, is_sorted=is_sorted, warn=warnings.append)
    workload = _workload(lines)
    workload.warnings = tuple(warnings)
    return workload


def generate_trace(
    model: str | PathLike | Mapping[str, Any], *, pods: int, seed: int = 0, prefix: str = "pod"
) -> Workload:
    """Generate the pods of a model, for `simulate(..., events=...)`.

    Parameters
    ----------
    model : path or mapping
        The file of a model, or what it has: see docs/howto/traces.md.
    pods : int
        The number of pods.
    seed : int
        Of all draws.
    prefix : str
        What the names of the pods start with.

    Returns
    -------
    Workload

    Raises
    ------
    InputError
        With all mistakes of the model.
    """
    return _workload(generate(load_model(model), pods=pods, seed=seed, prefix=prefix))


def _workload(lines: TraceLines) -> Workload:
    return Workload(PackedLines([line.encoded().rstrip() for line in lines]))
